/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_LVP_LOOK_H
#define GPUVAL_LVP_LOOK_H

#include "gallivm/lp_bld.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gallivm_state;
struct gpuval_lvp_soa;

/**
 * 1 bit, in a shader: would GPUVAL_FUNCTION_LOOK return 0 at once? @table: of these words
 */
LLVMValueRef gpuval_lvp_build_good(struct gpuval_lvp_soa *soa, const LLVMValueRef *args,
                                   const uint32_t *table);

/**
 * Build GPUVAL_FUNCTION_LOOK of enum gpuval_lvp_look_arg, and GPUVAL_FUNCTION_OUTSIDE of enum
 * gpuval_lvp_outside_arg.
 */
LLVMValueRef gpuval_lvp_build_look(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                                   const char *name);
LLVMValueRef gpuval_lvp_build_outside(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                                      const char *name);

#ifdef __cplusplus
}
#endif

#endif
