/* SPDX-License-Identifier: MIT */

/* Files that are there as a whole or not at all. */

#ifndef GPUVAL_BESIDE_H
#define GPUVAL_BESIDE_H

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A file beside @name, of this process alone: others may write the same report, and in
 * containers even have the same id. *beside, its name, is the caller's. NULL: see errno.
 */
FILE *gpuval_open_beside(const char *name, char **beside);

/** Closes it, puts it in the place of @name, and frees @beside. False: see errno; it is gone. */
bool gpuval_close_beside(FILE *f, const char *name, char *beside);

#ifdef __cplusplus
}
#endif

#endif
