/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_LVP_JIT_H
#define GPUVAL_LVP_JIT_H

#include "gpuval/src/nir_passes/gpuval_nir_functions.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_lvp_jit;

/**
 * Makes a table of those of @functions, GPUVAL_FUNCTION_COUNT, which checks that are on may call.
 * Each is compiled when it is called first, by whatever thread that is. They live
 * as long as what is returned. @shadow: sync has shadow memory, else a bloom filter.
 */
struct gpuval_lvp_jit *gpuval_lvp_jit_create(const struct gpuval_nir_function *functions,
                                             const nir_shader_compiler_options *options,
                                             bool shadow);
void gpuval_lvp_jit_destroy(struct gpuval_lvp_jit *jit);

/**
 * Returns @functions for all devices of the process, whose options are the same.
 * They are never destroyed.
 */
const struct gpuval_lvp_jit *gpuval_lvp_jit_get(const struct gpuval_nir_function *functions,
                                                const nir_shader_compiler_options *options,
                                                bool shadow);

/** For struct gpuval_command_data::functions. */
uint64_t gpuval_lvp_jit_functions(const struct gpuval_lvp_jit *jit);

#ifdef __cplusplus
}
#endif

#endif
