/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_LVP_RANGES_H
#define GPUVAL_LVP_RANGES_H

#include "gallivm/lp_bld.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gallivm_state;

/** Builds GPUVAL_FUNCTION_RANGES of enum gpuval_lvp_ranges_arg. */
LLVMValueRef gpuval_lvp_build_ranges(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                                     const char *name);

#ifdef __cplusplus
}
#endif

#endif
