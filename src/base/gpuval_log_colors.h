/* SPDX-License-Identifier: MIT */

/* The text log on a terminal. */

#ifndef GPUVAL_LOG_COLORS_H
#define GPUVAL_LOG_COLORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Is @f a terminal that shows colors, and does the user want them? NO_COLOR (no-color.org) says no.
 */
bool gpuval_log_wants_colors(FILE *f);

/** Writes lines of the log with colors. Returns false where fwrite() would have failed. */
bool gpuval_log_write_colored(FILE *f, const char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
