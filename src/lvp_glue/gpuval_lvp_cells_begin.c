/* SPDX-License-Identifier: MIT */

/* What functions of LLVM's own code begin with. Part of gallivm, as shaders have some of it, too. */

#include "gpuval_lvp_cells_private.h"

#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_limits.h"
#include "gallivm/lp_bld_struct.h"

#include "gpuval/src/lvp_glue/gpuval_lvp_nir.h"

void
gpuval_lvp_cells_init(struct cells *c, struct gallivm_state *gallivm, LLVMValueRef constants)
{
   *c = (struct cells){
      .gallivm = gallivm,
      .b = gallivm->builder,
      .num_lanes = gpuval_lvp_num_lanes(),
      .i32 = LLVMInt32TypeInContext(gallivm->context),
      .i64 = LLVMInt64TypeInContext(gallivm->context),
      .constants = constants,
   };
   c->vec32 = LLVMVectorType(c->i32, c->num_lanes);
   c->vec64 = LLVMVectorType(c->i64, c->num_lanes);

   LLVMValueRef data =
      lp_llvm_buffer_base(gallivm, constants, imm(c, 0), LP_MAX_TGSI_CONST_BUFFERS);
   c->data = LLVMBuildAdd(c->b, LLVMBuildPtrToInt(c->b, data, c->i64, ""),
                          imm64(c, GPUVAL_LVP_COMMAND_DATA_OFFSET), "");
}

void
gpuval_lvp_cells_begin(struct cells *c, struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                       LLVMValueRef function, unsigned resources)
{
   LLVMPositionBuilderAtEnd(gallivm->builder,
                            LLVMAppendBasicBlockInContext(gallivm->context, function, "entry"));
   gpuval_lvp_cells_init(
      c, gallivm,
      lp_jit_resources_constants(gallivm, resources_type, LLVMGetParam(function, resources)));
   c->resources_type = resources_type;
   c->function = function;
}

LLVMValueRef
gpuval_lvp_cells_call(const struct cells *c, enum gpuval_function function, LLVMValueRef resources,
                      LLVMValueRef lanes, const LLVMValueRef *words, unsigned num_words,
                      unsigned num_results)
{
   LLVMValueRef args[LP_RESV_FUNC_ARGS + GPUVAL_FUNCTION_MAX_WORDS] = {
      LLVMBuildSExt(c->b, lanes, c->vec32, ""), resources};
   LLVMTypeRef type =
      gpuval_lvp_function_type(c->gallivm, LLVMTypeOf(resources), num_words, num_results);
   LLVMValueRef pointer =
      gpuval_lvp_load_called(c->gallivm, c->resources_type, resources, function, type);

   memcpy(&args[LP_RESV_FUNC_ARGS], words, num_words * sizeof(*words));
   return LLVMBuildCall2(c->b, type, pointer, args, LP_RESV_FUNC_ARGS + num_words, "");
}
