/* SPDX-License-Identifier: MIT */

/* The report files that GPUVAL_REPORT names. Callers hold the lock of gpuval_report.h. */

#ifndef GPUVAL_REPORT_FILES_H
#define GPUVAL_REPORT_FILES_H

#include <stdbool.h>

#include "gpuval_event.h"
#include "gpuval_summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Says which of them cannot be written, and takes those of an earlier run away. */
void gpuval_report_files_init(void);

/**
 * The same in a child that was forked, with its options (gpuval_options_begin_process()): a name
 * that has no process id gets one, as the parent's file has the name.
 */
void gpuval_report_files_begin_process(void);

/** Can any be written? */
bool gpuval_report_files_exist(void);

/**
 * Appends @event to those of JSON Lines, where it stays until they are written anew with final
 * counts: a program that is killed leaves what was found.
 */
void gpuval_report_files_append(const struct gpuval_event *event,
                                const struct gpuval_summary *summary);

/** Writes all of them anew. */
void gpuval_report_files_write(struct gpuval_event *const *list, unsigned num_events,
                               const struct gpuval_summary *summary);

#ifdef __cplusplus
}
#endif

#endif
