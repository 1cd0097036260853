/* SPDX-License-Identifier: MIT */

/* sync: what those who record a look at bytes of buffers tell its shader, and what that says. */

#ifndef GPUVAL_RADV_BYTES_H
#define GPUVAL_RADV_BYTES_H

#include "gpuval_radv_private.h"

/* gpuval_radv_bytes_chunk::index_size where rows are what instances of an acceleration structure
 * refer to: from one to the next. @indices is where the first instance has its reference, or the
 * first pointer to an instance.
 */
#define GPUVAL_RADV_INSTANCE_SIZE sizeof(VkAccelerationStructureInstanceKHR)
#define GPUVAL_RADV_POINTER_SIZE  sizeof(VkDeviceAddress)

/* What a workgroup is told: rows of bytes, and who accesses them. The shader loads it as vectors of
 * four words.
 */
struct gpuval_radv_bytes_chunk {
   uint64_t address; /* of the first row */
   uint64_t data;    /* of struct gpuval_command_data */
   uint32_t row_size, row_stride, num_rows;
   uint32_t num_pieces; /* blocks that a row may be in */
   uint32_t token;      /* GPUVAL_SHADOW_CONTEXT() */
   uint32_t type;       /* enum gpuval_bloom_type */
   uint32_t access;     /* enum gpuval_order_access */
   uint32_t index_size; /* 0: one row after the other; else indices and an offset choose them, */
   uint64_t indices;
   int32_t vertex_offset;
   uint32_t num_elements; /* as far as there are so many, */
   uint32_t restart;      /* and @has_restart, but for this index */
   uint32_t has_restart;
   uint64_t count_address; /* of a word: there are no more rows than that; 0: all */
   uint32_t first_row;     /* of these, the first one here */

   /* A draw whose struct is at @draw, unless that is 0: number @first_row of its command, so that
    * @count_address says whether it is executed. The number of its rows and the first one are words
    * of the struct, at these offsets in bytes.
    */
   uint32_t max_rows; /* of the buffer: rows behind it are not looked at */
   uint64_t draw;
   uint32_t count_offset, first_offset;
   uint32_t vertex_offset_offset; /* 0: it has none */
   uint32_t is_per_instance;
   uint32_t divisor;

   uint32_t is_inverted; /* nothing is executed where the predicate is not 0 */
   uint64_t predicate;   /* of a word, of conditional rendering: where it is 0. 0: there is none */
};
static_assert(sizeof(struct gpuval_radv_bytes_chunk) == 128, "the shader knows the offsets");
static_assert(offsetof(struct gpuval_radv_bytes_chunk, first_row) == 80 &&
                 offsetof(struct gpuval_radv_bytes_chunk, count_offset) == 96 &&
                 offsetof(struct gpuval_radv_bytes_chunk, divisor) == 112,
              "the shader loads them as vectors");

/* What it says if there is a hazard; 0 else */
struct gpuval_radv_bytes_result {
   uint64_t address;
   uint32_t other[2]; /* the half of a cell */
};

/** A gpuval_radv_build_shader: one for all, of which each workgroup looks at a chunk. */
nir_shader *gpuval_radv_build_bytes(struct radv_device *device, const void *key);

#endif
