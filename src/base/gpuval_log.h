/* SPDX-License-Identifier: MIT */

/* The text log: one for the process, shared by its devices and threads. */

#ifndef GPUVAL_LOG_H
#define GPUVAL_LOG_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Says where lines go: @file, or NULL for stdout or stderr. To be called before
 * the first line; without it, stderr. A file that cannot be opened is named there.
 */
void gpuval_log_open(const char *file, bool to_stdout);

/** One line, after `gpuval: error: ` or `gpuval: warning: `. */
void gpuval_log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gpuval_log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** How many lines gpuval_log_error() has written. */
unsigned gpuval_log_num_errors(void);

/** The same after `gpuval: note: `: nothing is wrong. */
void gpuval_log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Can gpuval_log_show_status() show anything? */
bool gpuval_log_has_terminal(void);

/**
 * The line that stands below everything else on a terminal, until the next one, or the
 * next line of the log on the same terminal. NULL: none.
 */
void gpuval_log_show_status(const char *text);

/** Whole lines, written at once and as they are. */
void gpuval_log_write(const char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
