/* SPDX-License-Identifier: MIT */

/* The functions that shaders call on llvmpipe, as NIR. */

#ifndef GPUVAL_LVP_FUNCTIONS_H
#define GPUVAL_LVP_FUNCTIONS_H

#include "gpuval/src/nir_passes/gpuval_nir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions of a device depend on */
struct gpuval_lvp_function_options {
   unsigned num_lanes; /* of the vectors that they take */
   unsigned hashes;    /* GPUVAL_BLOOM_HASHES */
};

struct gpuval_lvp_function {
   const char *name;
   uint32_t checks;      /* that call it: BITFIELD_BIT(enum gpuval_check) */
   unsigned num_words;   /* arguments, in the order of gpuval_lvp_gallivm.c */
   unsigned num_results; /* words: 0, 1, or 2 for 64 bits */

   /* Emits the function for the lanes that call it, and returns its result. */
   nir_def *(*build)(nir_builder *b, const struct gpuval_lvp_function_options *options,
                     nir_def *const *words);
};

extern const struct gpuval_lvp_function gpuval_lvp_functions[GPUVAL_FUNCTION_COUNT];

/**
 * The function in a shader of its own, whose output variables, one a word, are the
 * result.
 */
nir_function *gpuval_lvp_function_create(const struct gpuval_lvp_function *function,
                                         const struct gpuval_lvp_function_options *options,
                                         const nir_shader_compiler_options *compiler_options);

#ifdef __cplusplus
}
#endif

#endif
