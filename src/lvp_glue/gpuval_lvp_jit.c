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

struct gpuval_lvp_jit {
   lp_context_ref context;
   struct gallivm_state *gallivm;
};

static void
build_function(struct gallivm_state *gallivm, LLVMValueRef function, struct lp_type type,
               const struct lp_compute_shader_variant *types, nir_function *report)
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
   lp_build_nir_soa_func(gallivm, report->shader, report->impl, &params, NULL);

   lp_build_mask_end(&mask);
   LLVMBuildRetVoid(builder);
   gallivm_verify_function(gallivm, function);
}

/* @nir as a function of the module; its arguments are vectors, of @arg_bit_sizes
 * each, but for the second, which is the pointer to the resources.
 */
static LLVMValueRef
add_function(struct gpuval_lvp_jit *jit, const char *name, nir_function *nir, struct lp_type type,
             const struct lp_compute_shader_variant *types)
{
   LLVMTypeRef args[LP_RESV_FUNC_ARGS + 16];
   unsigned num_args = LP_RESV_FUNC_ARGS + nir->num_params;
   assert(num_args <= ARRAY_SIZE(args));

   args[0] = lp_build_int_vec_type(jit->gallivm, type);
   args[1] = LLVMPointerType(types->jit_resources_type, 0);
   for (unsigned i = 0; i < nir->num_params; i++) {
      struct lp_type param_type = type;
      param_type.width = nir->params[i].bit_size;
      args[LP_RESV_FUNC_ARGS + i] = lp_build_int_vec_type(jit->gallivm, param_type);
   }
   LLVMTypeRef function_type = LLVMFunctionType(
      LLVMVoidTypeInContext(jit->gallivm->context), args, num_args, 0);
   LLVMValueRef function = LLVMAddFunction(jit->gallivm->module, name, function_type);

   lp_build_opt_nir(nir->shader);
   lp_build_nir_prepasses(nir->shader);
   build_function(jit->gallivm, function, type, types, nir);
   ralloc_free(nir->shader);
   return function;
}

struct gpuval_lvp_jit *
gpuval_lvp_jit_create(struct lvp_device *device, struct gpuval_lvp_functions *addresses)
{
   struct gpuval_lvp_jit *jit = calloc(1, sizeof(*jit));
   lp_context_create(&jit->context);
   jit->gallivm = gallivm_create("gpuval_report", &jit->context, NULL);

   /* The vectors of every stage are of this length. */
   const struct lp_type type = {
      .floating = true,
      .sign = true,
      .width = 32,
      .length = MIN2(lp_native_vector_width / 32, 16),
   };
   struct lp_compute_shader_variant types = {.gallivm = jit->gallivm};
   lp_jit_init_cs_types(&types);

   const struct nir_shader_compiler_options *options = device->pscreen->get_compiler_options(
      device->pscreen, PIPE_SHADER_IR_NIR, PIPE_SHADER_COMPUTE);
   LLVMValueRef report = add_function(
      jit, "gpuval_report", gpuval_lvp_nir_create_report_function(options), type, &types);
   LLVMValueRef printf =
      gpuval_options_may_check(BITFIELD_BIT(GPUVAL_CHECK_PRINTF))
         ? add_function(jit, "gpuval_printf",
                        gpuval_lvp_nir_create_printf_function(options, type.length), type, &types)
         : NULL;

   gallivm_compile_module(jit->gallivm);
   addresses->report = (uintptr_t)gallivm_jit_function(jit->gallivm, report, "gpuval_report");
   if (printf)
      addresses->printf = (uintptr_t)gallivm_jit_function(jit->gallivm, printf, "gpuval_printf");
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
