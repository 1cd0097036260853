/* SPDX-License-Identifier: MIT */

/* What the files that make LLVM's code of our intrinsics share. */

#ifndef GPUVAL_LVP_GALLIVM_PRIVATE_H
#define GPUVAL_LVP_GALLIVM_PRIVATE_H

#include "gpuval_lvp_gallivm.h"

#include "gallivm/lp_bld_nir.h"

/**
 * The lanes that run. Where a call has a result, those of helper invocations do, too:
 * what they compute may have a derivative.
 */
LLVMValueRef gpuval_lvp_get_mask(struct lp_build_nir_context *bld_base, bool with_helpers);
/** 1 bit: is one in @mask? */
LLVMValueRef gpuval_lvp_any_lane(struct lp_build_nir_context *bld_base, LLVMValueRef mask);
LLVMValueRef gpuval_lvp_get_component(struct lp_build_nir_context *bld_base, const nir_src *src,
                                      unsigned component);

/* gpuval_lvp_gallivm_lanes.c */

/** As gpuval_lvp_visit_intrinsic(): loads and stores of cells. */
bool gpuval_lvp_visit_lanes(struct lp_build_nir_context *bld_base, const nir_intrinsic_instr *instr,
                            LLVMValueRef *result);

#endif
