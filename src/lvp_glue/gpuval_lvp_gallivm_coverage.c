/* SPDX-License-Identifier: MIT */

/* @report_gpuval of GPUVAL_REPORT_COVERED, one of which stands in each block of a shader with
 * --coverage. It is no call: the lanes that are there are summed up, and one atomic adds them.
 *
 *    if (any lane)
 *       counters[entry_base[stage] + entry] += sum of detail[0] over the lanes
 */

#include "gpuval_lvp_gallivm_private.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_flow.h"
#include "gallivm/lp_bld_intr.h"
#include "gallivm/lp_bld_ir_common.h"
#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_logic.h"
#include "gallivm/lp_bld_nir.h"
#include "gallivm/lp_bld_struct.h"
#include "gallivm/lp_bld_type.h"

#include "gpuval/src/lvp_glue/gpuval_lvp_nir.h"

/* Source of @report_gpuval */
#define COVERED_DETAIL 1

/* How many lanes @mask has: 64 bits, in a number of its own */
static LLVMValueRef
count_lanes(struct gpuval_lvp_soa *soa, LLVMValueRef mask)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   LLVMTypeRef type = LLVMIntTypeInContext(gallivm->context, LLVMGetVectorSize(LLVMTypeOf(mask)));
   LLVMTypeRef word = LLVMInt32TypeInContext(gallivm->context);
   char name[32];

   LLVMValueRef bits = LLVMBuildBitCast(
      builder, LLVMBuildICmp(builder, LLVMIntNE, mask, LLVMConstNull(LLVMTypeOf(mask)), ""), type,
      "");
   bits = LLVMBuildZExt(builder, bits, word, "");
   lp_format_intrinsic(name, sizeof(name), "llvm.ctpop", word);
   return LLVMBuildZExt(builder, lp_build_intrinsic_unary(builder, name, word, bits),
                        LLVMInt64TypeInContext(gallivm->context), "");
}

/* What the lanes in @mask have in @count, in all */
static LLVMValueRef
sum_up(struct gpuval_lvp_soa *soa, LLVMValueRef mask, LLVMValueRef count)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   LLVMTypeRef type = LLVMInt64TypeInContext(gallivm->context);
   LLVMValueRef sum = LLVMConstNull(type);

   count = LLVMBuildAnd(builder, LLVMBuildBitCast(builder, count, LLVMTypeOf(mask), ""), mask, "");
   for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(mask)); i++) {
      LLVMValueRef lane =
         LLVMBuildExtractElement(builder, count, lp_build_const_int32(gallivm, i), "");
      sum = LLVMBuildAdd(builder, sum, LLVMBuildZExt(builder, lane, type, ""), "");
   }
   return sum;
}

static LLVMValueRef
load_at(struct gallivm_state *gallivm, LLVMValueRef bytes, unsigned offset, LLVMTypeRef type)
{
   LLVMBuilderRef builder = gallivm->builder;
   LLVMTypeRef byte = LLVMInt8TypeInContext(gallivm->context);
   LLVMValueRef place = lp_build_const_int32(gallivm, offset);
   LLVMValueRef pointer = LLVMBuildGEP2(builder, byte, bytes, &place, 1, "");

   pointer = LLVMBuildBitCast(builder, pointer, LLVMPointerType(type, 0), "");
   return LLVMBuildLoad2(builder, type, pointer, "");
}

/* The counter of @entry, which is the shader's own number of it */
static LLVMValueRef
find_counter(struct gpuval_lvp_soa *soa, uint32_t entry)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   LLVMTypeRef word = LLVMInt32TypeInContext(gallivm->context);
   LLVMTypeRef counter = LLVMInt64TypeInContext(gallivm->context);
   LLVMTypeRef bytes = LLVMPointerType(LLVMInt8TypeInContext(gallivm->context), 0);
   const unsigned data = GPUVAL_LVP_COMMAND_DATA_OFFSET;

   LLVMValueRef constants = lp_llvm_buffer_base(
      gallivm, soa->consts_ptr, lp_build_const_int32(gallivm, 0), LP_MAX_TGSI_CONST_BUFFERS);
   constants = LLVMBuildBitCast(builder, constants, bytes, "");
   LLVMValueRef root =
      load_at(gallivm, constants, data + offsetof(struct gpuval_command_data, root_address), bytes);
   LLVMValueRef base = load_at(
      gallivm, constants,
      data + offsetof(struct gpuval_command_data, entry_base) + soa->stage * sizeof(uint32_t),
      word);
   LLVMValueRef counters = load_at(gallivm, root, offsetof(struct gpuval_root, coverage_address),
                                   LLVMPointerType(counter, 0));
   LLVMValueRef index = LLVMBuildAdd(builder, base, lp_build_const_int32(gallivm, entry), "");
   index = LLVMBuildZExt(builder, index, counter, "");
   return LLVMBuildGEP2(builder, counter, counters, &index, 1, "");
}

void
gpuval_lvp_add_covered(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *report)
{
   struct gallivm_state *gallivm = soa->gallivm;
   const nir_src *detail = &report->src[COVERED_DETAIL];
   const nir_scalar count = nir_scalar_chase_movs(nir_get_scalar(detail->ssa, 0));
   LLVMValueRef mask = gpuval_lvp_get_mask(soa, false);
   struct lp_build_if_state ifthen;

   lp_build_if(&ifthen, gallivm, gpuval_lvp_any_lane(soa, mask));
   LLVMValueRef sum = nir_scalar_is_const(count)
                         ? count_lanes(soa, mask)
                         : sum_up(soa, mask, gpuval_lvp_get_component(soa, detail, 0));
   LLVMBuildAtomicRMW(gallivm->builder, LLVMAtomicRMWBinOpAdd,
                      find_counter(soa, nir_intrinsic_base(report)), sum,
                      LLVMAtomicOrderingMonotonic, false);
   lp_build_endif(&ifthen);
}
