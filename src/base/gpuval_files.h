/* SPDX-License-Identifier: MIT */

/* Files whose names are in the environment. */

#ifndef GPUVAL_FILES_H
#define GPUVAL_FILES_H

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Returns whether the process has rights that its user has not, as set-user-ID programs have:
 * then a user's environment must not name files to read or to write.
 */
bool gpuval_files_are_forbidden(void);

/**
 * Opens @name for writing, or for appending if @append, as fopen() does; but a link in its last
 * component that belongs to another user, unless that is root, is not followed: folders like /tmp
 * have room for anybody's links. NULL: errno says why.
 */
FILE *gpuval_files_open(const char *name, bool append);

#ifdef __cplusplus
}
#endif

#endif
