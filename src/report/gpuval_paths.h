/* SPDX-License-Identifier: MIT */

/* Files of sources as other tools want them: relative to where the sources lie, since
 * that is another folder on each machine.
 */

#ifndef GPUVAL_PATHS_H
#define GPUVAL_PATHS_H

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A file below @map's first half is named as if it were below its second half: FROM=TO. Returns
 * false where there is no "=", or nothing in front of it.
 */
bool gpuval_paths_add_map(const char *map);

/**
 * Paths below @folder become relative. The first such folder is where relative ones are;
 * without one, it is GITHUB_WORKSPACE or the current folder of the first use.
 */
void gpuval_paths_add_root(const char *folder);

/** The first folder; it ends in a slash. */
const char *gpuval_paths_root(void);

/**
 * @path with slashes and without dots, relative where it is below one of the folders.
 * Of @mem_ctx.
 */
char *gpuval_paths_relative(void *mem_ctx, const char *path);

/** C:/a or /a */
bool gpuval_paths_is_absolute(const char *path);

/** @path without dots, below what gpuval_paths_add_map() names. Of @mem_ctx. */
char *gpuval_paths_map(void *mem_ctx, const char *path);

/** The URI of what gpuval_paths_relative() gives, without quotes. */
void gpuval_paths_write_uri(FILE *f, const char *path);

#ifdef __cplusplus
}
#endif

#endif
