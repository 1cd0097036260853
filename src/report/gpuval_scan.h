/* SPDX-License-Identifier: MIT */

/* Scans JSON, one value after the other, in the text itself. Functions return false, or NULL, after
 * an error, which gpuval_scan::error describes.
 */

#ifndef GPUVAL_SCAN_H
#define GPUVAL_SCAN_H

#include <stdbool.h>
#include <stdint.h>

struct gpuval_scan {
   char *at, *end; /* a NUL is at the end */
   const char *error;
};

/** Notes @error unless there is one already. Returns false. */
bool gpuval_scan_fail(struct gpuval_scan *r, const char *error);
void gpuval_scan_skip_space(struct gpuval_scan *r);
/** Takes @byte if it is next, and the space around it. */
bool gpuval_scan_accept(struct gpuval_scan *r, char byte);
/** The same; that it is not next is an error. */
bool gpuval_scan_expect(struct gpuval_scan *r, char byte);
/** Returns a string, which takes the place of its quoted form. */
char *gpuval_scan_string(struct gpuval_scan *r);
/** Takes one of true, false and null. */
bool gpuval_scan_word(struct gpuval_scan *r, const char *word);
/** *is_integer: the number is *integer exactly. */
bool gpuval_scan_number(struct gpuval_scan *r, double *number, int64_t *integer, bool *is_integer);
/** Skips a value of any kind. @depth: 0 */
bool gpuval_scan_skip(struct gpuval_scan *r, unsigned depth);

#endif
