/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_LVP_ADDRESSES_H
#define GPUVAL_LVP_ADDRESSES_H

#include "gallivm/lp_bld.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gallivm_state;

/**
 * Builds GPUVAL_FUNCTION_ADDRESSES of enum gpuval_lvp_addresses_arg, which calls
 * GPUVAL_FUNCTION_ADDRESS and GPUVAL_FUNCTION_REPORT.
 */
LLVMValueRef gpuval_lvp_build_addresses(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                                        const char *name);

#ifdef __cplusplus
}
#endif

#endif
