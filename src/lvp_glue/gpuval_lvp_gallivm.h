/* SPDX-License-Identifier: MIT */

/* Calls of functions that are compiled once for a device. gallivm makes them
 * where a shader has one of our intrinsics.
 */

#ifndef GPUVAL_LVP_GALLIVM_H
#define GPUVAL_LVP_GALLIVM_H

#include <stdbool.h>

#include "gallivm/lp_bld.h"

#include "nir.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gallivm_state;
struct lp_build_nir_context;

/* A part of struct lp_build_nir_context, zero at first. */
struct gpuval_lvp_calls {
   /* Of one kind, which follow one another and will share a branch */
   const nir_intrinsic_instr *pending[8];
   unsigned num_pending;
   LLVMValueRef printf_words; /* array for payloads, once there is one */
   LLVMValueRef sync_words;   /* the same for what is seldom looked at */
   LLVMValueRef nobody;       /* what lanes that do not run access, 64 bytes; the same */
   LLVMValueRef met[2];       /* variables of gpuval_lvp_check_address(); the same */
};

/**
 * Emits what @instr stands for, or keeps it until gpuval_lvp_flush_calls().
 * Returns false if it is none of ours.
 */
bool gpuval_lvp_visit_intrinsic(struct lp_build_nir_context *bld_base,
                                const nir_intrinsic_instr *instr, LLVMValueRef *result);

/**
 * Before each instruction, and with NULL at the end of each block: emits what
 * has been kept, unless @next may join.
 */
void gpuval_lvp_flush_calls(struct lp_build_nir_context *bld_base, const nir_instr *next);

/**
 * Lanes of the vectors that the functions take. No stage has longer ones;
 * tessellation control and geometry shaders have shorter ones.
 */
unsigned gpuval_lvp_num_lanes(void);

/**
 * The functions: `result f(mask, resources, word, word, …)`.
 *
 *    mask       of the lanes that call
 *    resources  pointer to struct lp_jit_resources
 *    word       vector of @num_words arguments, one lane each
 *    result     nothing, or a struct of @num_results such vectors
 */
LLVMTypeRef gpuval_lvp_function_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type,
                                     unsigned num_words, unsigned num_results);

/* Those that are called most often, GPUVAL_FUNCTION_SYNC_LOAD and …_STORE, have arguments that
 * fit into registers. What is the same in all lanes, a constant of the shader, is one number;
 * what is seldom looked at is in an array of vectors.
 */
enum gpuval_lvp_sync_arg {
   GPUVAL_LVP_SYNC_MASK,
   GPUVAL_LVP_SYNC_RESOURCES,
   GPUVAL_LVP_SYNC_ENTRY, /* numbers */
   GPUVAL_LVP_SYNC_WORD,
   GPUVAL_LVP_SYNC_TOKEN,
   GPUVAL_LVP_SYNC_ADDRESS, /* vectors: the lower half, the upper one */
   GPUVAL_LVP_SYNC_SIZE = GPUVAL_LVP_SYNC_ADDRESS + 2,
   GPUVAL_LVP_SYNC_ID,
   GPUVAL_LVP_SYNC_PHASE,
   GPUVAL_LVP_SYNC_ARRAY,
   GPUVAL_LVP_SYNC_COUNT,
};

/* GPUVAL_SYNC_WORD_… that an element of the array is */
extern const unsigned gpuval_lvp_sync_array[];
#define GPUVAL_LVP_SYNC_ARRAY_SIZE 6

LLVMTypeRef gpuval_lvp_sync_array_type(struct gallivm_state *gallivm);
LLVMTypeRef gpuval_lvp_sync_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type);

#ifdef __cplusplus
}
#endif

#endif
