/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_LVP_CELLS_H
#define GPUVAL_LVP_CELLS_H

#include <stdbool.h>

#include "gallivm/lp_bld.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gallivm_state;

/**
 * GPUVAL_FUNCTION_SYNC_LOAD and, without @is_read, _STORE: what there is to do with shadow memory
 * where there is nothing to find. GPUVAL_FUNCTION_SYNC, which they call, does what they leave.
 */
LLVMValueRef gpuval_lvp_build_cells(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                                    const char *name, bool is_read);

/**
 * The same for the check shared: GPUVAL_FUNCTION_SHARED_LOAD and …_STORE, which leave the rest to
 * GPUVAL_FUNCTION_SHARED.
 */
LLVMValueRef gpuval_lvp_build_shared(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                                     const char *name, bool is_read);

#ifdef __cplusplus
}
#endif

#endif
