/* SPDX-License-Identifier: MIT */

/* Calls of the functions of sync that are called most often: gpuval_lvp_cells.h. */

#include "gpuval_lvp_gallivm_private.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_flow.h"
#include "gallivm/lp_bld_init.h"

#include "gpuval/src/nir_passes/gpuval_nir_functions.h"

const unsigned gpuval_lvp_sync_array[] = {
   GPUVAL_SYNC_WORD_OFFSET,         GPUVAL_SYNC_WORD_SLOT,
   GPUVAL_SYNC_WORD_INVOCATION,     GPUVAL_SYNC_WORD_INVOCATION + 1,
   GPUVAL_SYNC_WORD_INVOCATION + 2, GPUVAL_SYNC_WORD_VALUE, /* the last one: not of a load */
};
static_assert(ARRAY_SIZE(gpuval_lvp_sync_array) == GPUVAL_LVP_SYNC_ARRAY_SIZE, "");

LLVMTypeRef
gpuval_lvp_sync_array_type(struct gallivm_state *gallivm)
{
   return LLVMArrayType(
      LLVMVectorType(LLVMInt32TypeInContext(gallivm->context), gpuval_lvp_num_lanes()),
      GPUVAL_LVP_SYNC_ARRAY_SIZE);
}

LLVMTypeRef
gpuval_lvp_sync_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type)
{
   LLVMTypeRef number = LLVMInt32TypeInContext(gallivm->context);
   LLVMTypeRef vec_type = LLVMVectorType(number, gpuval_lvp_num_lanes());
   LLVMTypeRef args[GPUVAL_LVP_SYNC_COUNT] = {vec_type, resources_ptr_type, number, number, number};

   args[GPUVAL_LVP_SYNC_BASE] = LLVMInt64TypeInContext(gallivm->context);
   for (unsigned i = GPUVAL_LVP_SYNC_ADDRESS; i < GPUVAL_LVP_SYNC_ARRAY; i++)
      args[i] = vec_type;
   args[GPUVAL_LVP_SYNC_ARRAY] = LLVMPointerType(gpuval_lvp_sync_array_type(gallivm), 0);
   return LLVMFunctionType(LLVMVoidTypeInContext(gallivm->context), args, GPUVAL_LVP_SYNC_COUNT, 0);
}

/* Sources of @sync_gpuval */
enum {
   SYNC_ADDRESS = 1,
   SYNC_OFFSET = 3,
};

/* One 64-bit word of a constant descriptor, the same in all lanes? */
static bool
is_descriptor(nir_scalar scalar)
{
   const nir_instr *instr = scalar.def->parent_instr;
   if (instr->type != nir_instr_type_intrinsic)
      return false;

   const nir_intrinsic_instr *load = nir_instr_as_intrinsic((nir_instr *)instr);
   return load->intrinsic == nir_intrinsic_load_ubo && nir_src_is_const(load->src[0]) &&
          nir_src_is_const(load->src[1]);
}

/* Where the buffer of a constant descriptor begins, if the address is that and the offset, whose
 * sum need not be computed then; else NULL.
 */
static LLVMValueRef
find_base(struct lp_build_nir_context *bld_base, const nir_intrinsic_instr *instr)
{
   struct gallivm_state *gallivm = bld_base->base.gallivm;
   nir_scalar offset = nir_scalar_chase_movs(nir_get_scalar(instr->src[SYNC_OFFSET].ssa, 0));
   nir_scalar sum = nir_scalar_chase_movs(nir_get_scalar(instr->src[SYNC_ADDRESS].ssa, 0));
   if (!nir_scalar_is_alu(sum) || nir_scalar_alu_op(sum) != nir_op_iadd)
      return NULL;

   for (unsigned i = 0; i < 2; i++) {
      nir_scalar base = nir_scalar_chase_movs(nir_scalar_chase_alu_src(sum, i));
      nir_scalar rest = nir_scalar_chase_movs(nir_scalar_chase_alu_src(sum, 1 - i));

      if (!is_descriptor(base) || !nir_scalar_is_alu(rest) ||
          nir_scalar_alu_op(rest) != nir_op_u2u64 ||
          !nir_scalar_equal(nir_scalar_chase_movs(nir_scalar_chase_alu_src(rest, 0)), offset))
         continue;
      LLVMValueRef value = LLVMBuildBitCast(gallivm->builder, bld_base->ssa_defs[base.def->index],
                                            bld_base->uint64_bld.vec_type, "");
      return LLVMBuildExtractElement(gallivm->builder, value, lp_build_const_int32(gallivm, 0), "");
   }
   return NULL;
}

void
gpuval_lvp_call_sync(struct lp_build_nir_context *bld_base, const nir_intrinsic_instr *instr,
                     unsigned function, LLVMValueRef mask, const LLVMValueRef *words)
{
   const struct lp_build_nir_soa_context *bld = (struct lp_build_nir_soa_context *)bld_base;
   struct gallivm_state *gallivm = bld_base->base.gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   LLVMTypeRef array_type = gpuval_lvp_sync_array_type(gallivm);
   LLVMValueRef *array = &bld_base->gpuval->sync_words;
   LLVMValueRef zero = lp_build_const_int32(gallivm, 0);

   if (!*array)
      *array = lp_build_alloca_undef(gallivm, array_type, "");
   unsigned count = GPUVAL_LVP_SYNC_ARRAY_SIZE - (function == GPUVAL_FUNCTION_SYNC_LOAD);
   for (unsigned i = 0; i < count; i++) {
      LLVMValueRef indices[2] = {zero, lp_build_const_int32(gallivm, i)};
      LLVMBuildStore(builder, words[gpuval_lvp_sync_array[i]],
                     LLVMBuildGEP2(builder, array_type, *array, indices, 2, ""));
   }

   LLVMValueRef base = find_base(bld_base, instr);
   LLVMValueRef args[GPUVAL_LVP_SYNC_COUNT] = {
      [GPUVAL_LVP_SYNC_MASK] = mask,
      [GPUVAL_LVP_SYNC_RESOURCES] = bld->resources_ptr,
      [GPUVAL_LVP_SYNC_ENTRY] = LLVMBuildExtractElement(builder, words[0], zero, ""),
      [GPUVAL_LVP_SYNC_WORD] =
         LLVMBuildExtractElement(builder, words[GPUVAL_FUNCTION_WORD], zero, ""),
      [GPUVAL_LVP_SYNC_TOKEN] =
         LLVMBuildExtractElement(builder, words[GPUVAL_SYNC_WORD_TOKEN], zero, ""),
      [GPUVAL_LVP_SYNC_BASE] = base ? base : lp_build_const_int64(gallivm, 0),
      [GPUVAL_LVP_SYNC_ADDRESS] = words[base ? GPUVAL_SYNC_WORD_OFFSET : GPUVAL_SYNC_WORD_ADDRESS],
      [GPUVAL_LVP_SYNC_ADDRESS + 1] =
         base ? gpuval_lvp_constant(bld_base, 0) : words[GPUVAL_SYNC_WORD_ADDRESS + 1],
      [GPUVAL_LVP_SYNC_SIZE] = words[GPUVAL_SYNC_WORD_SIZE],
      [GPUVAL_LVP_SYNC_ID] = words[GPUVAL_SYNC_WORD_ID],
      [GPUVAL_LVP_SYNC_PHASE] = words[GPUVAL_SYNC_WORD_PHASE],
      [GPUVAL_LVP_SYNC_ARRAY] = *array,
   };
   LLVMTypeRef type = gpuval_lvp_sync_type(gallivm, LLVMTypeOf(bld->resources_ptr));
   LLVMBuildCall2(builder, type, gpuval_lvp_load_function(bld_base, function, type), args,
                  ARRAY_SIZE(args), "");
}
