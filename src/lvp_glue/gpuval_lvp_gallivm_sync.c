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

   for (unsigned i = GPUVAL_LVP_SYNC_ADDRESS; i < GPUVAL_LVP_SYNC_ARRAY; i++)
      args[i] = vec_type;
   args[GPUVAL_LVP_SYNC_ARRAY] = LLVMPointerType(gpuval_lvp_sync_array_type(gallivm), 0);
   return LLVMFunctionType(LLVMVoidTypeInContext(gallivm->context), args, GPUVAL_LVP_SYNC_COUNT, 0);
}

void
gpuval_lvp_call_sync(struct lp_build_nir_context *bld_base, unsigned function, LLVMValueRef mask,
                     const LLVMValueRef *words)
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

   LLVMValueRef args[GPUVAL_LVP_SYNC_COUNT] = {
      [GPUVAL_LVP_SYNC_MASK] = mask,
      [GPUVAL_LVP_SYNC_RESOURCES] = bld->resources_ptr,
      [GPUVAL_LVP_SYNC_ENTRY] = LLVMBuildExtractElement(builder, words[0], zero, ""),
      [GPUVAL_LVP_SYNC_WORD] =
         LLVMBuildExtractElement(builder, words[GPUVAL_FUNCTION_WORD], zero, ""),
      [GPUVAL_LVP_SYNC_TOKEN] =
         LLVMBuildExtractElement(builder, words[GPUVAL_SYNC_WORD_TOKEN], zero, ""),
      [GPUVAL_LVP_SYNC_ADDRESS] = words[GPUVAL_SYNC_WORD_ADDRESS],
      [GPUVAL_LVP_SYNC_ADDRESS + 1] = words[GPUVAL_SYNC_WORD_ADDRESS + 1],
      [GPUVAL_LVP_SYNC_SIZE] = words[GPUVAL_SYNC_WORD_SIZE],
      [GPUVAL_LVP_SYNC_ID] = words[GPUVAL_SYNC_WORD_ID],
      [GPUVAL_LVP_SYNC_PHASE] = words[GPUVAL_SYNC_WORD_PHASE],
      [GPUVAL_LVP_SYNC_ARRAY] = *array,
   };
   LLVMTypeRef type = gpuval_lvp_sync_type(gallivm, LLVMTypeOf(bld->resources_ptr));
   LLVMBuildCall2(builder, type, gpuval_lvp_load_function(bld_base, function, type), args,
                  ARRAY_SIZE(args), "");
}
