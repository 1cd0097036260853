/* SPDX-License-Identifier: MIT */

/* Patterns that users write: of names, of files. */

#ifndef GPUVAL_GLOB_H
#define GPUVAL_GLOB_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Does all of @text match? `*` stands for any bytes, a slash too, `?` for one, and a
 * backslash takes from the next character what it means. Unlike fnmatch(), whatever the
 * locale, and whether or not @text is UTF-8. Time: the product of the lengths at most.
 */
bool gpuval_glob_matches(const char *glob, const char *text);

/** The same of a file: of all its path, or of what is behind one of its slashes. */
bool gpuval_glob_matches_file(const char *glob, const char *path);

#ifdef __cplusplus
}
#endif

#endif
