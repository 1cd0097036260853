/* SPDX-License-Identifier: MIT */

/* "Did you mean": the known name that is nearest to what a user has typed. */

#ifndef GPUVAL_SUGGEST_H
#define GPUVAL_SUGGEST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Returns the number of insertions, deletions, replacements and swaps of neighbouring characters
 * that turn @word, of @length bytes, into @known, of @known_length. Of either the first 63 bytes
 * count.
 */
unsigned gpuval_suggest_distance(const char *word, size_t length, const char *known,
                                 size_t known_length);

/**
 * Returns the name in @names that is nearest to @word, of @length bytes, and its length in
 * @found_length. Names are separated by blanks, commas and semicolons. NULL: none is so near, a
 * third of the word away, that it can have been meant.
 */
const char *gpuval_suggest(const char *word, size_t length, const char *names,
                           size_t *found_length);

#ifdef __cplusplus
}
#endif

#endif
