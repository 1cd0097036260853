/* SPDX-License-Identifier: MIT */

/* The table of live buffers that have device addresses: written by core/, read by
 * shaders.
 */

#ifndef GPUVAL_ADDRESS_TABLE_H
#define GPUVAL_ADDRESS_TABLE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

struct gpuval_address_range {
   uint64_t begin;
   uint64_t size; /* bytes */
};

/** Of gpuval_root::addresses_address */
struct gpuval_address_table {
   uint32_t count; /* first */
   uint32_t reserved;
   uint64_t no_size;                     /* 0: as a range that ends before all others */
   struct gpuval_address_range ranges[]; /* disjoint, ascending */
};
static_assert(offsetof(struct gpuval_address_table, ranges) == sizeof(struct gpuval_address_range),
              "the range before the first one");
static_assert(offsetof(struct gpuval_address_table, no_size) ==
                 offsetof(struct gpuval_address_range, size),
              "is empty");

/**
 * What is remembered of a buffer is where it begins (or, of a large one, an address in it), and a
 * limit: a distance from there that is below it leaves room for so many bytes. Only what is
 * larger, or near the buffer's end, has to be looked at closer.
 */
#define GPUVAL_ADDRESS_ROOM  16
#define GPUVAL_ADDRESS_FOUND (1u << 31)

#endif
