/* SPDX-License-Identifier: MIT */

/* What is found, kept as it is found, for programs that do not come to their end.
 *
 * `./gpuval run` names a file by GPUVAL_MARK, and each process of the program keeps a journal
 * beside it, MARK.PID.jsonl: lines of JSON Lines that are only ever appended, each by one write().
 * A failure's latest line holds, and so does the latest summary. A process that ends normally
 * removes its journal. What is left tells `run` which processes did not, and `gpuval-report
 * --ended` writes their reports from it.
 *
 * With GPUVAL_RECORD=manual a line {"session":N} stands where a session begins, and {"session":0}
 * where none is open any more, which is how such a journal begins. What is in front of the latter
 * is in the session's own reports.
 */

#ifndef GPUVAL_JOURNAL_H
#define GPUVAL_JOURNAL_H

#include "gpuval_event.h"
#include "gpuval_summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Begins the journal of this process, if `run` wants one. Of a forked child it is a new one. */
void gpuval_journal_begin(void);

/** Appends @event as it is now. Does nothing where there is no journal. */
void gpuval_journal_add(const struct gpuval_event *event);

/** Appends @summary. Does nothing where there is no journal. */
void gpuval_journal_add_summary(const struct gpuval_summary *summary);

/** Appends that @session begins; 0: that none is open. Does nothing where there is no journal. */
void gpuval_journal_add_session(unsigned session);

/** Removes the journal: the process has written its reports. */
void gpuval_journal_end(void);

/**
 * Appends the line of @event to a report, by one write(). Returns false, with errno, where the file
 * cannot be written.
 */
bool gpuval_journal_append_row(const char *file, const struct gpuval_event *event);

#ifdef __cplusplus
}
#endif

#endif
