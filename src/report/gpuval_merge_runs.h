/* SPDX-License-Identifier: MIT */

/* The runs of the reports that are merged, and which failure was in which run.
 *
 * Both grow with what is read, so they wait in files without names. Memory holds names of machines
 * and drivers, and 16 bytes a distinct failure.
 */

#ifndef GPUVAL_MERGE_RUNS_H
#define GPUVAL_MERGE_RUNS_H

#include <stdio.h>

#include "gpuval_row.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_merge_runs;

/** Makes a file below TMPDIR that has no name. NULL: see errno. */
FILE *gpuval_open_nameless(void);

/** For gpuval_merge_runs_destroy(). NULL: there is no place for the files, see errno. */
struct gpuval_merge_runs *gpuval_merge_runs_create(void);
void gpuval_merge_runs_destroy(struct gpuval_merge_runs *runs);

/** Appends a copy of @run. */
void gpuval_merge_runs_add(struct gpuval_merge_runs *runs, const struct gpuval_run *run);
/** Says of the run that was added last that its report is incomplete. */
void gpuval_merge_runs_mark_incomplete(struct gpuval_merge_runs *runs);
uint32_t gpuval_merge_runs_count(const struct gpuval_merge_runs *runs);

/** The program that all runs are of. NULL: there are several, or it is not known. */
const char *gpuval_merge_runs_program(const struct gpuval_merge_runs *runs);

/** Notes that @failure was @count times in @run, which may be added later. */
void gpuval_merge_runs_see(struct gpuval_merge_runs *runs, uint32_t failure, uint32_t run,
                           uint64_t count);
uint64_t gpuval_merge_runs_num_seen(const struct gpuval_merge_runs *runs);
/** Makes the notes from @first_seen on that name none of the runs from @first_run on name the last.
 */
void gpuval_merge_runs_limit(struct gpuval_merge_runs *runs, uint64_t first_seen,
                             uint32_t first_run);

/** Sorts the notes by failure, when all is read; once. False: the files cannot be written. */
bool gpuval_merge_runs_finish(struct gpuval_merge_runs *runs, uint32_t num_failures);

/** The runs that @failure was in, in their order, until the next call. NULL: they cannot be read. */
const struct gpuval_seen *gpuval_merge_runs_of(struct gpuval_merge_runs *runs, uint32_t failure,
                                               unsigned *count);
/** The machines of those runs, in the order in which any run has named them. Once */
const struct gpuval_seen_machine *gpuval_merge_runs_machines(struct gpuval_merge_runs *runs,
                                                             unsigned *count);

/** A run; its strings stay until the next call, host and driver for good. gpuval_summary::get_run */
const struct gpuval_run *gpuval_merge_runs_get(void *runs, unsigned index);

#ifdef __cplusplus
}
#endif

#endif
