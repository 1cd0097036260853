/* SPDX-License-Identifier: MIT */

/* Compute shaders of ours that look at what the program's commands access: a workgroup for each
 * chunk of a table, which says what there is to look at.
 */

#ifndef GPUVAL_RADV_META_H
#define GPUVAL_RADV_META_H

#include "nir/nir_builder.h"
#include "gpuval_radv_private.h"

/** Invocations of a workgroup */
#define GPUVAL_RADV_LOOK_SIZE 64

/** gpuval_radv_results::failed, which the shader sets if it has found anything. No other value is
 * believed, where the device is lost and memory with it.
 */
#define GPUVAL_RADV_FAILED 0x6f757473

/** In memory for reading back: this, then a result for each chunk, which is zero to begin with. */
struct gpuval_radv_results {
   uint32_t failed;
   uint32_t reserved[3];
};

/** Addresses among the push constants, of the table and of struct gpuval_radv_results */
enum {
   GPUVAL_RADV_LOOK_CHUNKS = 0,
   GPUVAL_RADV_LOOK_RESULTS = 8,
   GPUVAL_RADV_LOOK_CONSTANTS_SIZE = 16,
};
nir_def *gpuval_radv_load_look_constant(nir_builder *b, unsigned offset);
/** Orders the workgroup's shared memory. */
void gpuval_radv_build_look_barrier(nir_builder *b);

/**
 * Records a dispatch for all of @chunks, of @chunk_size bytes each, of the shader that @build makes;
 * @key: no other has it. Returns where the host finds the results, of @result_size bytes, when it
 * has run; NULL: there is no memory.
 */
struct gpuval_radv_results *gpuval_radv_dispatch_look(struct radv_cmd_buffer *cmd_buffer,
                                                      uint32_t key, gpuval_radv_build_shader build,
                                                      const struct util_dynarray *chunks,
                                                      uint32_t chunk_size, uint32_t result_size);

#endif
