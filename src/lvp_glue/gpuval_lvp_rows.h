/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_LVP_ROWS_H
#define GPUVAL_LVP_ROWS_H

#include "gallivm/lp_bld.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gallivm_state;

/** Builds GPUVAL_FUNCTION_RANGES. */
LLVMValueRef gpuval_lvp_build_ranges(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                                     const char *name);

/** Builds GPUVAL_FUNCTION_REPORTS. */
LLVMValueRef gpuval_lvp_build_reports(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                                      const char *name);

#ifdef __cplusplus
}
#endif

#endif
