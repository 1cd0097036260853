/* SPDX-License-Identifier: MIT */

/* Compiles the functions that shaders call, once for a device. */

#include "gpuval_lvp_jit.h"

#include "gpuval_lvp_nir.h"
#include "lvp_private.h"

#include "gallivm/lp_bld_init.h"
#include "gallivm/lp_bld_nir.h"
#include "gallivm/lp_bld_tgsi.h"
#include "lp_jit.h"
#include "lp_state_cs.h"

#include "gpuval.h"

struct gpuval_lvp_jit {
   lp_context_ref context;
   struct gallivm_state *gallivm;
};

static void
build_function(struct gallivm_state *gallivm, LLVMValueRef function, struct lp_type type,
               const struct lp_compute_shader_variant *types, nir_function *nir)
{
   LLVMBuilderRef builder = gallivm->builder;
   LLVMPositionBuilderAtEnd(builder,
                            LLVMAppendBasicBlockInContext(gallivm->context, function, "entry"));

   struct lp_build_mask_context mask;
   lp_build_mask_begin(&mask, gallivm, type, LLVMGetParam(function, 0));

   struct lp_build_tgsi_params params = {
      .type = type,
      .mask = &mask,
      .current_func = function,
      .context_type = types->jit_cs_context_type,
      .resources_type = types->jit_resources_type,
      .resources_ptr = LLVMGetParam(function, 1),
      .call_context_ptr = LLVMGetParam(function, 1), /* it calls nothing */
   };
   params.consts_ptr =
      lp_jit_resources_constants(gallivm, params.resources_type, params.resources_ptr);
   lp_build_nir_soa_func(gallivm, nir->shader, nir->impl, &params, NULL);

   lp_build_mask_end(&mask);
   LLVMBuildRetVoid(builder);
   gallivm_verify_function(gallivm, function);
}

/* The vectors of every stage are of this length. */
static unsigned
num_lanes(void)
{
   return MIN2(lp_native_vector_width / 32, 16);
}

static LLVMValueRef
add_function(struct gallivm_state *gallivm, const struct lp_compute_shader_variant *types,
             nir_function *nir)
{
   const struct lp_type type = {
      .floating = true,
      .sign = true,
      .width = 32,
      .length = num_lanes(),
   };

   /* The mask and the pointer come before NIR's parameters. */
   unsigned num_args = nir->num_params + 2;
   LLVMTypeRef args[16];
   assert(num_args <= ARRAY_SIZE(args));
   for (unsigned i = 0; i < num_args; i++)
      args[i] = lp_build_int_vec_type(gallivm, type);
   args[1] = LLVMPointerType(types->jit_resources_type, 0);
   LLVMTypeRef function_type =
      LLVMFunctionType(LLVMVoidTypeInContext(gallivm->context), args, num_args, 0);
   LLVMValueRef function = LLVMAddFunction(gallivm->module, nir->name, function_type);

   lp_build_opt_nir(nir->shader);
   lp_build_nir_prepasses(nir->shader);
   build_function(gallivm, function, type, types, nir);
   ralloc_free(nir->shader);
   return function;
}

struct gpuval_lvp_jit *
gpuval_lvp_jit_create(struct lvp_device *device, struct gpuval_lvp_functions *functions)
{
   const nir_shader_compiler_options *options = device->pscreen->get_compiler_options(
      device->pscreen, PIPE_SHADER_IR_NIR, PIPE_SHADER_COMPUTE);

   struct gpuval_lvp_jit *jit = calloc(1, sizeof(*jit));
   lp_context_create(&jit->context);
   jit->gallivm = gallivm_create("gpuval", &jit->context, NULL);
   struct lp_compute_shader_variant types = {.gallivm = jit->gallivm};
   lp_jit_init_cs_types(&types);

   LLVMValueRef report =
      add_function(jit->gallivm, &types, gpuval_lvp_nir_create_report_function(options));
   LLVMValueRef sync = gpuval_options_sync()
                          ? add_function(jit->gallivm, &types,
                                         gpuval_lvp_nir_create_sync_function(
                                            options, gpuval_options()->bloom_hashes))
                          : NULL;
   LLVMValueRef printf =
      gpuval_options_may_check(GPUVAL_CHECK_PRINTF)
         ? add_function(jit->gallivm, &types,
                        gpuval_lvp_nir_create_printf_function(options, num_lanes()))
         : NULL;

   gallivm_compile_module(jit->gallivm);
   functions->report = (uintptr_t)gallivm_jit_function(jit->gallivm, report, "report");
   functions->sync = sync ? (uintptr_t)gallivm_jit_function(jit->gallivm, sync, "sync") : 0;
   functions->printf = printf ? (uintptr_t)gallivm_jit_function(jit->gallivm, printf, "printf") : 0;
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
