/* SPDX-License-Identifier: MIT */

/* Which memory has been written: what shaders and host share of the check `init`.
 *
 * Memory that the driver places in the window of shadow memory (gpuval_shadow.h) has one
 * byte for each word of four bytes, at an address that arithmetic gives. Everything else
 * (imported, exported, sparse) counts as written.
 *
 * Buffers have all their words looked at: a byte is ALL where something was written to
 * its word, or to a part of that. Of an image only the byte of each subresource's first
 * word counts, which stands for all of the subresource: so a mip level of a layer has its
 * state, there is no limit to how many of them there are (seed 004 had 32), and what is
 * bound to memory of others, or to the same as another image, sees what these have
 * written.
 */

#ifndef GPUVAL_INIT_H
#define GPUVAL_INIT_H

#include <stdint.h>

#define GPUVAL_INIT_WORD_LOG2 2

/* What a byte has */
#define GPUVAL_INIT_ALL     0xffu
#define GPUVAL_INIT_COLOR   0x01u /* or depth */
#define GPUVAL_INIT_STENCIL 0x02u

#endif
