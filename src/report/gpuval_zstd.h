/* SPDX-License-Identifier: MIT */

/* Reads what zstd has compressed, as what it was before. */

#ifndef GPUVAL_ZSTD_H
#define GPUVAL_ZSTD_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Returns @f, or, where it begins as a zstd frame does, a stream of what it decompresses to, whose
 * fclose() closes @f, too. Reading from that fails with EBADMSG where the data is broken or cut
 * off, and with ENOTSUP in a build without zstd. NULL: there is no memory.
 */
FILE *gpuval_open_zstd(FILE *f);

#ifdef __cplusplus
}
#endif

#endif
