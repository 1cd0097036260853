/* SPDX-License-Identifier: MIT */

/* Compiles the functions that shaders call, once for a process, or takes them from Mesa's disk
 * cache: LLVM needs as long for them as for hundreds of small shaders.
 */

#include "gpuval_lvp_jit.h"

#include <string.h>

#include "gpuval_lvp_addresses.h"
#include "gpuval_lvp_cells.h"
#include "gpuval_lvp_gallivm.h"
#include "gpuval_lvp_nir.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_flow.h"
#include "gallivm/lp_bld_init.h"
#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_misc.h"
#include "gallivm/lp_bld_nir.h"
#include "gallivm/lp_bld_tgsi.h"
#include "gallivm/lp_bld_type.h"

#include "util/disk_cache.h"
#include "util/simple_mtx.h"
#include "gpuval.h"

struct gpuval_lvp_jit {
   lp_context_ref context;
   struct gallivm_state *gallivm;
   func_pointer functions[GPUVAL_FUNCTION_COUNT]; /* NULL: no check that is on calls it */
};

/* The function in a shader of its own, whose output variables, one a word, are the
 * result.
 */
static nir_function *
create_function(const struct gpuval_nir_function *function, const struct gpuval_nir_driver *driver,
                const nir_shader_compiler_options *options)
{
   nir_def *words[GPUVAL_FUNCTION_MAX_WORDS];

   /* The entrypoint cannot have parameters. It stays empty. */
   nir_builder entrypoint =
      nir_builder_init_simple_shader(MESA_SHADER_COMPUTE, options, "gpuval %s", function->name);
   nir_function *nir = nir_function_create(entrypoint.shader, function->name);
   nir->num_params = function->num_words;
   nir->params = rzalloc_array(nir->shader, nir_parameter, function->num_words);

   nir_builder b = nir_builder_at(nir_before_impl(nir_function_impl_create(nir)));
   for (unsigned i = 0; i < function->num_words; i++) {
      nir->params[i].num_components = 1;
      nir->params[i].bit_size = 32;
      words[i] = nir_load_param(&b, i);
   }

   nir_def *result = function->build(&b, driver, words);
   for (unsigned i = 0; i < function->num_results; i++) {
      nir_def *word = result->bit_size == 32 ? result
                      : i                    ? nir_unpack_64_2x32_split_y(&b, result)
                                             : nir_unpack_64_2x32_split_x(&b, result);
      nir_variable *var =
         nir_variable_create(nir->shader, nir_var_shader_out, glsl_uint_type(), "result");
      var->data.driver_location = i;
      nir_store_var(&b, var, word, 0x1);
   }
   return nir;
}

/* One vector a word */
static void
load_results(struct gallivm_state *gallivm, struct lp_type type, LLVMValueRef (*outputs)[4],
             unsigned count, LLVMValueRef *results)
{
   LLVMTypeRef vec_type = lp_build_vec_type(gallivm, type);

   for (unsigned i = 0; i < count; i++)
      results[i] = LLVMBuildBitCast(gallivm->builder,
                                    LLVMBuildLoad2(gallivm->builder, vec_type, outputs[i][0], ""),
                                    lp_build_int_vec_type(gallivm, type), "");
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
   LLVMValueRef results[2];

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
   load_results(gallivm, type, outputs, num_results, results);
   if (!num_results)
      LLVMBuildRetVoid(gallivm->builder);
   else
      LLVMBuildAggregateRet(gallivm->builder, results, num_results);
   gallivm_verify_function(gallivm, function);
}

/* What is added to *address, which is taken off: cells that lie side by side share what it
 * takes to get at addresses.
 */
static int
take_constant(nir_def **address)
{
   nir_scalar sum = nir_get_scalar(*address, 0);

   if (!nir_scalar_is_alu(sum) || nir_scalar_alu_op(sum) != nir_op_iadd)
      return 0;
   nir_scalar first = nir_scalar_chase_alu_src(sum, 0), second = nir_scalar_chase_alu_src(sum, 1);
   if (!nir_scalar_is_const(second) || nir_scalar_as_uint(second) > INT16_MAX || first.comp ||
       first.def->num_components > 1)
      return 0;
   *address = first.def;
   return nir_scalar_as_uint(second);
}

/* 8 and 16 bytes side by side, as those of cells: gallivm would gather words and store lane
 * by lane behind branches. Of this intrinsic it has nothing, which leaves it to
 * gpuval_lvp_gallivm_lanes.c.
 */
static bool
take_lane_by_lane(nir_builder *b, nir_intrinsic_instr *instr, void *data)
{
   bool is_load = instr->intrinsic == nir_intrinsic_load_global;

   if (!is_load && instr->intrinsic != nir_intrinsic_store_global)
      return false;
   const nir_def *value = is_load ? &instr->def : instr->src[0].ssa;
   if (value->bit_size != 32 || nir_intrinsic_align(instr) < 4 * value->num_components ||
       !(value->num_components == 2 || (is_load && value->num_components == 4)))
      return false;

   b->cursor = nir_before_instr(&instr->instr);
   nir_def *address = instr->src[is_load ? 0 : 1].ssa, *zero = nir_imm_int(b, 0);
   int base = take_constant(&address);
   if (is_load) {
      nir_def_replace(&instr->def,
                      nir_load_global_amd(b, value->num_components, 32, address, zero, .base = base,
                                          .access = nir_intrinsic_access(instr)));
   } else {
      nir_store_global_amd(b, instr->src[0].ssa, address, zero, .base = base,
                           .access = nir_intrinsic_access(instr));
      nir_instr_remove(&instr->instr);
   }
   return true;
}

static LLVMValueRef
add_function(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
             const struct gpuval_nir_function *function, nir_function *nir)
{
   LLVMTypeRef type = gpuval_lvp_function_type(gallivm, LLVMPointerType(resources_type, 0),
                                               function->num_words, function->num_results);
   LLVMValueRef llvm = LLVMAddFunction(gallivm->module, function->name, type);

   nir_shader_intrinsics_pass(nir->shader, take_lane_by_lane, nir_metadata_control_flow, NULL);
   lp_build_opt_nir(nir->shader);
   lp_build_nir_prepasses(nir->shader);
   build_function(gallivm, llvm, function->num_results, resources_type, nir);
   ralloc_free(nir->shader);
   return llvm;
}

static bool
is_called(const struct gpuval_nir_function *function)
{
   u_foreach_bit (check, function->checks) {
      if (gpuval_options_may_check(check))
         return true;
   }
   return false;
}

/* Names the code of the functions in the cache, which itself tells apart builds of the driver,
 * CPUs and GALLIVM_PERF.
 */
static void
compute_key(struct disk_cache *cache, bool shadow, cache_key key)
{
   struct {
      char name[8];
      uint8_t options[16];
      uint32_t num_lanes, shadow;
   } data = {.name = "gpuval", .num_lanes = gpuval_lvp_num_lanes(), .shadow = shadow};
   static_assert(sizeof(data) == 32, "no gaps, whose bytes would be part of the key");

   gpuval_options_mix_uuid(data.options);
   disk_cache_compute_key(cache, &data, sizeof(data), key);
}

/* Adds to the module those functions that checks call. */
static void
build_functions(struct gallivm_state *gallivm, const struct gpuval_nir_function *functions,
                const nir_shader_compiler_options *options, bool shadow, LLVMValueRef *llvm)
{
   struct gpuval_nir_driver driver = gpuval_lvp_nir_driver;
   driver.num_lanes = gpuval_lvp_num_lanes();
   driver.reports_descriptors = gpuval_options_may_check(GPUVAL_CHECK_DESCRIPTOR);
   driver.names_buffers = gpuval_options_may_check(GPUVAL_CHECK_BOUNDS);
   driver.reports_unwritten = gpuval_options_may_check(GPUVAL_CHECK_INIT);
   if (!gpuval_options_may_check(GPUVAL_CHECK_RACE))
      driver.used_address = NULL;
   driver.hashes = shadow ? 0 : gpuval_options()->bloom_hashes;
   LLVMTypeRef resources_type = lp_build_jit_resources_type(gallivm);

   for (unsigned i = 0; i < GPUVAL_FUNCTION_COUNT; i++) {
      if (!is_called(&functions[i]))
         continue;
      if (functions[i].build)
         llvm[i] = add_function(gallivm, resources_type, &functions[i],
                                create_function(&functions[i], &driver, options));
      else if (i == GPUVAL_FUNCTION_ADDRESSES)
         llvm[i] = gpuval_lvp_build_addresses(
            gallivm, resources_type, llvm[GPUVAL_FUNCTION_ADDRESS], llvm[GPUVAL_FUNCTION_REPORT]);
      else if (shadow)
         llvm[i] = gpuval_lvp_build_cells(gallivm, resources_type, i == GPUVAL_FUNCTION_SYNC_LOAD,
                                          llvm[GPUVAL_FUNCTION_SYNC]);
      if (llvm[i])
         LLVMSetValueName2(llvm[i], functions[i].name, strlen(functions[i].name));
   }
}

/* Declares what build_functions() has added to the module that the cached code comes from. LLVM
 * finds the code by its name.
 */
static void
declare_functions(struct gallivm_state *gallivm, const struct gpuval_nir_function *functions,
                  bool shadow, LLVMValueRef *llvm)
{
   LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(gallivm->context), NULL, 0, 0);

   for (unsigned i = 0; i < GPUVAL_FUNCTION_COUNT; i++) {
      const bool is_built = functions[i].build || i == GPUVAL_FUNCTION_ADDRESSES || shadow;
      if (!is_called(&functions[i]) || !is_built)
         continue;
      llvm[i] = LLVMAddFunction(gallivm->module, functions[i].name, type);
      gallivm_stub_func(gallivm, llvm[i]);
   }
}

struct gpuval_lvp_jit *
gpuval_lvp_jit_create(const struct gpuval_nir_function *functions,
                      const nir_shader_compiler_options *options, bool shadow,
                      struct disk_cache *cache)
{
   struct lp_cached_code code = {0};
   LLVMValueRef llvm[GPUVAL_FUNCTION_COUNT] = {NULL};
   cache_key key;

   if (cache) {
      compute_key(cache, shadow, key);
      code.data = disk_cache_get(cache, key, &code.data_size);
      code.data_size = code.data ? code.data_size : 0;
   }
   const bool is_cached = code.data;

   struct gpuval_lvp_jit *jit = calloc(1, sizeof(*jit));
   lp_context_create(&jit->context);
   jit->gallivm = gallivm_create("gpuval", &jit->context, &code);
   if (is_cached)
      declare_functions(jit->gallivm, functions, shadow, llvm);
   else
      build_functions(jit->gallivm, functions, options, shadow, llvm);

   gallivm_compile_module(jit->gallivm);
   for (unsigned i = 0; i < GPUVAL_FUNCTION_COUNT; i++) {
      if (llvm[i])
         jit->functions[i] = gallivm_jit_function(jit->gallivm, llvm[i], functions[i].name);
   }
   if (cache && !is_cached && code.data && !code.dont_cache)
      disk_cache_put(cache, key, code.data, code.data_size, NULL);
   gallivm_free_ir(jit->gallivm); /* and code.data */

   return jit;
}

void
gpuval_lvp_jit_destroy(struct gpuval_lvp_jit *jit)
{
   gallivm_destroy(jit->gallivm);
   lp_context_destroy(&jit->context);
   free(jit);
}

const struct gpuval_lvp_jit *
gpuval_lvp_jit_get(const struct gpuval_nir_function *functions,
                   const nir_shader_compiler_options *options, bool shadow,
                   struct disk_cache *cache)
{
   static simple_mtx_t mutex = SIMPLE_MTX_INITIALIZER;
   static struct gpuval_lvp_jit *jits[2];

   simple_mtx_lock(&mutex);
   if (!jits[shadow])
      jits[shadow] = gpuval_lvp_jit_create(functions, options, shadow, cache);
   const struct gpuval_lvp_jit *jit = jits[shadow];
   simple_mtx_unlock(&mutex);
   return jit;
}

uint64_t
gpuval_lvp_jit_functions(const struct gpuval_lvp_jit *jit)
{
   return (uintptr_t)jit->functions;
}
