/* SPDX-License-Identifier: MIT */

/* A run: the process that a report is of, and what was checked in it. */

#ifndef GPUVAL_RUN_H
#define GPUVAL_RUN_H

#include <stdio.h>

#include "gpuval_summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Fills in @run: what tells this process from others, on other machines too, and its checks. */
void gpuval_run_describe(struct gpuval_run *run);

/** What was checked in all of several runs */
struct gpuval_scope {
   uint32_t checks;    /* that each of them had; 0: not known */
   const char *driver; /* NULL: not known, or not the same */
   double seconds;     /* together; 0: not known */
};

struct gpuval_scope gpuval_summary_scope(const struct gpuval_summary *summary);

/** ["assume","bounds"] */
void gpuval_checks_write_json(FILE *f, uint32_t checks);

/**
 * Writes of what "no errors" is said: "3 shaders, 12 commands; checks: ...; driver; 0.4 s". Nothing
 * where it is not known.
 */
void gpuval_scope_write(FILE *f, const struct gpuval_summary *summary);

/** Writes a line about what no check has looked for, if there is such. */
void gpuval_scope_write_missing(FILE *f, const struct gpuval_summary *summary);

#ifdef __cplusplus
}
#endif

#endif
