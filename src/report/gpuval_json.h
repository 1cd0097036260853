/* SPDX-License-Identifier: MIT */

/* Reads back the lines of a JSON Lines report.
 *
 * A farm's night is a million lines, so they go straight into rows, strings in place:
 * no tree is built of them, which is what Mesa's util/parson.h does.
 */

#ifndef GPUVAL_JSON_H
#define GPUVAL_JSON_H

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval_summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a line says. Its strings lie in the text, all else is mem_ctx's. */
struct gpuval_line {
   bool is_summary;
   struct gpuval_row row;         /* num_seen: how many `seen` has */
   struct gpuval_summary summary; /* num_runs: how many `runs` has */
   struct util_dynarray seen;     /* struct gpuval_seen */
   struct util_dynarray runs;     /* struct gpuval_run */
   const char *unknown;           /* a key that no table has, or NULL */
};

void gpuval_line_init(struct gpuval_line *line);
void gpuval_line_finish(struct gpuval_line *line);

/**
 * Reads @text, which is changed. What is in @line from before is forgotten; @mem_ctx has
 * to live as long as what is there now. NULL: it is a failure or a summary; else what is
 * wrong.
 */
const char *gpuval_line_read(struct gpuval_line *line, void *mem_ctx, char *text, size_t length);

#ifdef __cplusplus
}
#endif

#endif
