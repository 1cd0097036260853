/* SPDX-License-Identifier: MIT */

/* What the user does not want to hear of: GPUVAL_SUPPRESSIONS. docs/usage.rst has the
 * format.
 */

#ifndef GPUVAL_SUPPRESSIONS_H
#define GPUVAL_SUPPRESSIONS_H

#include "gpuval_event.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Reads the files, NULL behind the last; @files is NULL if there are none. */
void gpuval_suppressions_init(const char *const *files);

/**
 * Is @event suppressed? The entries that match count as used, and the first of them
 * counts the event. It is freed never. gpuval_report_lock() is held.
 */
bool gpuval_suppressions_take(const struct gpuval_event *event);

/** Nothing has been suppressed yet: a child that was forked begins. */
void gpuval_suppressions_begin_process(void);

/** How many events there were, and their counts by now. */
void gpuval_suppressions_count(uint64_t *events, uint64_t *occurrences);

/** One line for each entry: how often it was used, or that it was not. */
void gpuval_suppressions_write(FILE *f);

/** An entry that suppresses @event, and comments that say more. */
void gpuval_suppressions_generate(FILE *f, const struct gpuval_event *event);

#ifdef __cplusplus
}
#endif

#endif
