/* SPDX-License-Identifier: MIT */

/* Many reports as one: equal failures, by their fingerprint, counted together.
 *
 * Memory holds some 60 bytes a distinct failure, and while one of them is written 16 for each run
 * that it was in. All else waits in files without names: a line of each failure, and the runs
 * (gpuval_merge_runs.h).
 */

#ifndef GPUVAL_MERGE_H
#define GPUVAL_MERGE_H

#include <stdio.h>

#include "gpuval_summary.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_merge;

/** For gpuval_merge_destroy(). NULL: there is no place for the lines, see errno. */
struct gpuval_merge *gpuval_merge_create(void);
void gpuval_merge_destroy(struct gpuval_merge *merge);

/**
 * Takes in one report, or several that were put one behind the other. What cannot be
 * read is counted, and said on stderr: a line for a file.
 */
void gpuval_merge_read(struct gpuval_merge *merge, FILE *f, const char *name);
/** The same of a file that cannot be opened: errno. */
void gpuval_merge_unreadable(struct gpuval_merge *merge, const char *name);

/**
 * Takes in the journal (gpuval_journal.h) of a process that has not come to its end, instead of
 * gpuval_merge_read(): what is written then is the report of that process. @ended: how it ended,
 * gpuval_run::ended.
 */
void gpuval_merge_read_journal(struct gpuval_merge *merge, FILE *f, const char *name,
                               const char *ended);

/** The failures of this report are known. Before the first gpuval_merge_read(). */
void gpuval_merge_read_baseline(struct gpuval_merge *merge, FILE *f, const char *name);

/** When all are read; once. False: the lines could not be kept, see errno. */
bool gpuval_merge_finish(struct gpuval_merge *merge);

/** Was there something that could not be read? Says what was not said yet. */
bool gpuval_merge_has_complaints(struct gpuval_merge *merge);

/** The merge's. */
const struct gpuval_summary *gpuval_merge_summary(const struct gpuval_merge *merge);

/**
 * Gives each failure to @row, in the order in which they were seen. The row is the
 * callee's until it returns. False: the lines could not be read back.
 */
bool gpuval_merge_for_each(struct gpuval_merge *merge,
                           void (*row)(void *data, const struct gpuval_row *row, unsigned index),
                           void *data);

/** The same of errors that only the baseline has. */
bool gpuval_merge_for_each_gone(struct gpuval_merge *merge,
                                void (*row)(void *data, const struct gpuval_row *row,
                                            unsigned index),
                                void *data);

#ifdef __cplusplus
}
#endif

#endif
