/* SPDX-License-Identifier: MIT */

/* Compiles the functions that shaders call, once for a device. */

#include "gpuval_lvp_jit.h"

#include "gpuval_lvp_functions.h"
#include "gpuval_lvp_gallivm.h"

#include "gallivm/lp_bld_init.h"
#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_nir.h"
#include "gallivm/lp_bld_tgsi.h"
#include "gallivm/lp_bld_type.h"

#include "gpuval.h"

struct gpuval_lvp_jit {
   lp_context_ref context;
   struct gallivm_state *gallivm;
   func_pointer functions[GPUVAL_FUNCTION_COUNT]; /* NULL: no check that is on calls it */
};

/* One vector a word */
static void
return_results(struct gallivm_state *gallivm, struct lp_type type, LLVMValueRef (*outputs)[4],
               unsigned count)
{
   LLVMBuilderRef builder = gallivm->builder;
   LLVMTypeRef vec_type = lp_build_vec_type(gallivm, type);
   LLVMValueRef results[2];

   for (unsigned i = 0; i < count; i++)
      results[i] = LLVMBuildBitCast(builder, LLVMBuildLoad2(builder, vec_type, outputs[i][0], ""),
                                    lp_build_int_vec_type(gallivm, type), "");
   if (count)
      LLVMBuildAggregateRet(builder, results, count);
   else
      LLVMBuildRetVoid(builder);
}

static void
build_function(struct gallivm_state *gallivm, LLVMValueRef function, unsigned num_results,
               LLVMTypeRef resources_type, nir_function *nir)
{
   const struct lp_type type = {
      .floating = true,
      .sign = true,
      .width = 32,
      .length = gpuval_lvp_num_lanes(),
   };
   LLVMValueRef outputs[PIPE_MAX_SHADER_OUTPUTS][4] = {{NULL}};

   LLVMPositionBuilderAtEnd(gallivm->builder,
                            LLVMAppendBasicBlockInContext(gallivm->context, function, "entry"));

   struct lp_build_mask_context mask;
   lp_build_mask_begin(&mask, gallivm, type, LLVMGetParam(function, 0));

   struct lp_build_tgsi_params params = {
      .type = type,
      .mask = &mask,
      .current_func = function,
      .resources_type = resources_type,
      .resources_ptr = LLVMGetParam(function, 1),
      /* It calls nothing. */
      .context_type = resources_type,
      .call_context_ptr = LLVMGetParam(function, 1),
   };
   params.consts_ptr =
      lp_jit_resources_constants(gallivm, params.resources_type, params.resources_ptr);
   lp_build_nir_soa_func(gallivm, nir->shader, nir->impl, &params, outputs);

   lp_build_mask_end(&mask);
   return_results(gallivm, type, outputs, num_results);
   gallivm_verify_function(gallivm, function);
}

static LLVMValueRef
add_function(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
             const struct gpuval_lvp_function *function, nir_function *nir)
{
   LLVMTypeRef type = gpuval_lvp_function_type(gallivm, LLVMPointerType(resources_type, 0),
                                               function->num_words, function->num_results);
   LLVMValueRef llvm = LLVMAddFunction(gallivm->module, function->name, type);

   lp_build_opt_nir(nir->shader);
   lp_build_nir_prepasses(nir->shader);
   build_function(gallivm, llvm, function->num_results, resources_type, nir);
   return llvm;
}

static bool
is_called(const struct gpuval_lvp_function *function)
{
   u_foreach_bit (check, function->checks) {
      if (gpuval_options_may_check(check))
         return true;
   }
   return false;
}

struct gpuval_lvp_jit *
gpuval_lvp_jit_create(const struct gpuval_lvp_function *functions,
                      const nir_shader_compiler_options *compiler_options)
{
   const struct gpuval_lvp_function_options options = {
      .num_lanes = gpuval_lvp_num_lanes(),
      .hashes = gpuval_options()->bloom_hashes,
   };
   LLVMValueRef llvm[GPUVAL_FUNCTION_COUNT] = {NULL};

   struct gpuval_lvp_jit *jit = calloc(1, sizeof(*jit));
   lp_context_create(&jit->context);
   jit->gallivm = gallivm_create("gpuval", &jit->context, NULL);
   LLVMTypeRef resources_type = lp_build_jit_resources_type(jit->gallivm);

   for (unsigned i = 0; i < GPUVAL_FUNCTION_COUNT; i++) {
      if (!is_called(&functions[i]))
         continue;
      nir_function *nir = gpuval_lvp_function_create(&functions[i], &options, compiler_options);
      llvm[i] = add_function(jit->gallivm, resources_type, &functions[i], nir);
      ralloc_free(nir->shader);
   }

   gallivm_compile_module(jit->gallivm);
   for (unsigned i = 0; i < GPUVAL_FUNCTION_COUNT; i++) {
      if (llvm[i])
         jit->functions[i] = gallivm_jit_function(jit->gallivm, llvm[i], functions[i].name);
   }
   gallivm_free_ir(jit->gallivm);

   return jit;
}

void
gpuval_lvp_jit_destroy(struct gpuval_lvp_jit *jit)
{
   gallivm_destroy(jit->gallivm);
   lp_context_destroy(&jit->context);
   free(jit);
}

uint64_t
gpuval_lvp_jit_functions(const struct gpuval_lvp_jit *jit)
{
   return (uintptr_t)jit->functions;
}
