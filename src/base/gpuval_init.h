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
 * state, their number has no limit, and what is
 * bound to memory of others, or to the same as another image, sees what these have
 * written.
 *
 * Where there is no such window, which is so in video memory, a table has the memory that is
 * looked after, each with bytes of its own somewhere else: one for a granule of 16 bytes,
 * since these are taken from what the program has, too. What is written in memory
 * is never taken back there but with it.
 *
 * Images have marks of their own there, which say nothing of memory (gpuval_image_marks.h). A
 * layer has a word for each level that there may be, and behind these the same once more: the
 * first for colour or depth, the other one for stencil, both for what is written without such a
 * difference. They are words, as that is what a GPU writes by command. A level of a
 * three-dimensional image is one subresource. The table of objects (gpuval_descriptor.h) says
 * where the marks of a view begin.
 */

#ifndef GPUVAL_INIT_H
#define GPUVAL_INIT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Where a window is that has no address in it */
#define GPUVAL_INIT_NO_WINDOW (1ull << 62)

#define GPUVAL_INIT_WORD_LOG2    2
#define GPUVAL_INIT_GRANULE_LOG2 4

/* What a byte has */
#define GPUVAL_INIT_ALL     0xffu
#define GPUVAL_INIT_COLOR   0x01u /* or depth */
#define GPUVAL_INIT_STENCIL 0x02u

/* Marks of an image */
#define GPUVAL_INIT_MAX_LEVELS     16
#define GPUVAL_INIT_LEVEL_SIZE     4 /* bytes */
#define GPUVAL_INIT_STENCIL_OFFSET (GPUVAL_INIT_MAX_LEVELS * GPUVAL_INIT_LEVEL_SIZE)
#define GPUVAL_INIT_LAYER_SIZE     (2 * GPUVAL_INIT_STENCIL_OFFSET)

struct gpuval_marked_range {
   uint64_t begin;
   uint64_t size;  /* bytes */
   uint64_t marks; /* the byte of a granule at A is at this plus A / 16, modulo 2^64 */
};

/** Of gpuval_command_data::marks_address */
struct gpuval_marked_table {
   uint32_t count; /* first */
   uint32_t reserved;
   uint64_t no_size; /* 0: as a range that ends before all others */
   uint64_t no_marks;
   struct gpuval_marked_range ranges[]; /* disjoint, ascending */
};
static_assert(offsetof(struct gpuval_marked_table, ranges) == sizeof(struct gpuval_marked_range),
              "the range before the first one");
static_assert(offsetof(struct gpuval_marked_table, no_size) ==
                 offsetof(struct gpuval_marked_range, size),
              "is empty");

#endif
