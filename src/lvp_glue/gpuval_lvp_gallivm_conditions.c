/* SPDX-License-Identifier: MIT */

/* What llvmpipe compares by itself, where NIR has no comparison: creating a pipeline spends most of
 * its time on what NIR has. A buffer's range, and whether an output's components are finite.
 */

#include "gpuval_lvp_gallivm_private.h"

#include <math.h>

#include "gallivm/lp_bld_arit.h"
#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_ir_common.h"
#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_logic.h"
#include "gallivm/lp_bld_struct.h"
#include "gallivm/lp_bld_swizzle.h"

#include "gpuval/src/lvp_glue/gpuval_lvp_nir.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"

/* A descriptor's exact size in each lane; 0 where no set is bound that has it */
static LLVMValueRef
load_sizes(struct gpuval_lvp_soa *soa, unsigned set, const nir_src *index)
{
   const unsigned offset = GPUVAL_LVP_DESCRIPTOR_BUFFER_SIZE;
   LLVMValueRef words[4];

   const bool is_one =
      gpuval_lvp_load_descriptor(soa, lp_build_const_int32(soa->gallivm, set + 1),
                                 nir_get_scalar(index->ssa, 1), offset & ~15u, words);
   LLVMValueRef size = words[offset % 16 / 4];
   return is_one ? lp_build_broadcast_scalar(&soa->uint_bld, size) : size;
}

/* What gpuval_nir_bounds.c compares:
 *
 *    offset >= max(size, span - 1) - (span - 1)
 *
 * A range of 0 bytes may have been moved past the end of its buffer, or there is no descriptor: the
 * report's function finds out.
 */
static LLVMValueRef
is_outside(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *check)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   const struct lp_type type = soa->uint_bld.type;
   uint32_t span = nir_intrinsic_flags(check);

   LLVMValueRef offset = LLVMBuildBitCast(
      builder, gpuval_lvp_get_component(soa, &check->src[GPUVAL_LVP_CHECK_BUFFER_OFFSET], 0),
      soa->uint_bld.vec_type, "");
   LLVMValueRef size =
      load_sizes(soa, nir_intrinsic_desc_set(check), &check->src[GPUVAL_LVP_CHECK_BUFFER_INDEX]);
   if (span > 1) {
      LLVMValueRef rest = lp_build_const_int_vec(gallivm, type, span - 1);
      size = LLVMBuildSub(builder, lp_build_max(&soa->uint_bld, size, rest), rest, "");
   }
   LLVMValueRef outside = lp_build_compare(gallivm, type, PIPE_FUNC_GEQUAL, offset, size);
   return LLVMBuildAnd(
      builder, outside,
      LLVMBuildNot(builder, gpuval_lvp_get_bool(soa, &check->src[GPUVAL_LVP_CHECK_BUFFER_EXCLUDED]),
                   ""),
      "");
}

/* Of GPUVAL_REPORT_VALUES: NaNs and infinity have the highest magnitudes. */
static LLVMValueRef
is_not_finite(struct gpuval_lvp_soa *soa, const nir_src *values)
{
   struct gallivm_state *gallivm = soa->gallivm;
   const struct lp_type type = soa->uint_bld.type;
   LLVMValueRef highest = soa->uint_bld.zero;

   for (unsigned i = 0; i < nir_src_num_components(*values); i++) {
      nir_scalar scalar = nir_scalar_chase_movs(nir_get_scalar(values->ssa, i));
      if (nir_scalar_is_const(scalar) && isfinite(nir_scalar_as_float(scalar)))
         continue;
      LLVMValueRef value = LLVMBuildBitCast(
         gallivm->builder, gpuval_lvp_get_component(soa, values, i), soa->uint_bld.vec_type, "");
      LLVMValueRef magnitude = LLVMBuildAnd(gallivm->builder, value,
                                            lp_build_const_int_vec(gallivm, type, 0x7fffffff), "");
      highest = highest == soa->uint_bld.zero ? magnitude
                                              : lp_build_max(&soa->uint_bld, highest, magnitude);
   }
   return lp_build_compare(gallivm, type, PIPE_FUNC_GEQUAL, highest,
                           lp_build_const_int_vec(gallivm, type, 0x7f800000));
}

LLVMValueRef
gpuval_lvp_get_condition(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr)
{
   if (instr->intrinsic == nir_intrinsic_check_buffer_gpuval)
      return is_outside(soa, instr);
   if (gpuval_lvp_is_of_set(instr, GPUVAL_REPORT_VALUES))
      return is_not_finite(soa, &instr->src[1]);
   return gpuval_lvp_get_bool(soa, &instr->src[0]);
}
