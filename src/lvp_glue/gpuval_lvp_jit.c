/* SPDX-License-Identifier: MIT */

/* Compiles the functions that shaders call, once for a process, and each of them when it is
 * called first: most programs call few of them, and all together take longer than many a program.
 *
 * Until then the table has a stub in the place of a function, which has it compiled, on the thread
 * that executes the shader, and calls it. Each function is a module of LLVM's of its own, calls
 * others through the table as shaders do, and is kept in a disk cache.
 */

#include "gpuval_lvp_jit.h"

#include <string.h>

#include "gpuval_lvp_addresses.h"
#include "gpuval_lvp_cells.h"
#include "gpuval_lvp_code_cache.h"
#include "gpuval_lvp_gallivm.h"
#include "gpuval_lvp_look.h"
#include "gpuval_lvp_nir.h"
#include "gpuval_lvp_rows.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_flow.h"
#include "gallivm/lp_bld_init.h"
#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_misc.h"
#include "gallivm/lp_bld_struct.h"
#include "gallivm/lp_bld_tgsi.h"
#include "gallivm/lp_bld_type.h"
#include "gpuval/src/compat/gpuval_gallivm_functions.h"

#include <llvm-c/Support.h>

#include "c11/threads.h"
#include "util/simple_mtx.h"
#include "util/u_atomic.h"
#include "gpuval.h"
#include "nir_serialize.h"

struct module {
   lp_context_ref context;
   struct gallivm_state *gallivm; /* NULL: nothing has been compiled */
};

struct gpuval_lvp_jit {
   void *functions[GPUVAL_FUNCTION_COUNT]; /* NULL: no check that is on calls it */
   struct gpuval_nir_function rows[GPUVAL_FUNCTION_COUNT];
   struct gpuval_nir_driver driver;
   nir_shader_compiler_options options;
   bool shadow;
   struct module stubs;

   simple_mtx_t mutex; /* protects those below */
   struct module modules[GPUVAL_FUNCTION_COUNT];
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

static void
begin_module(struct module *module, const char *name, struct lp_cached_code *cached)
{
   lp_context_create(&module->context);
   module->gallivm = gallivm_create(name, &module->context, cached);
}

static void
destroy_module(struct module *module)
{
   if (!module->gallivm)
      return;
   gallivm_destroy(module->gallivm);
   lp_context_destroy(&module->context);
}

static LLVMTypeRef
get_type(struct gallivm_state *gallivm, const struct gpuval_nir_function *row, unsigned function,
         LLVMTypeRef resources_ptr_type)
{
   if (row->build)
      return gpuval_lvp_function_type(gallivm, resources_ptr_type, row->num_words,
                                      row->num_results);
   switch (function) {
   case GPUVAL_FUNCTION_ADDRESSES:
      return gpuval_lvp_addresses_type(gallivm, resources_ptr_type);
   case GPUVAL_FUNCTION_LOOK:
      return gpuval_lvp_look_type(gallivm, resources_ptr_type);
   case GPUVAL_FUNCTION_OUTSIDE:
      return gpuval_lvp_outside_type(gallivm, resources_ptr_type);
   case GPUVAL_FUNCTION_RANGES:
   case GPUVAL_FUNCTION_REPORTS:
      return gpuval_lvp_rows_type(gallivm, resources_ptr_type);
   default:
      return gpuval_lvp_sync_type(gallivm, resources_ptr_type);
   }
}

static LLVMValueRef
add_nir_function(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                 const struct gpuval_nir_function *row, LLVMTypeRef type, nir_function *nir)
{
   LLVMValueRef llvm = LLVMAddFunction(gallivm->module, row->name, type);

   nir_shader_intrinsics_pass(nir->shader, take_lane_by_lane, nir_metadata_control_flow, NULL);
   lp_build_opt_nir(nir->shader);
   gpuval_gallivm_prepasses(nir->shader);
   build_function(gallivm, llvm, row->num_results, resources_type, nir);
   return llvm;
}

/* Its code is in the cache, which is found by the name. */
static LLVMValueRef
add_cached_function(struct gallivm_state *gallivm, const char *name, LLVMTypeRef type)
{
   LLVMValueRef llvm = LLVMAddFunction(gallivm->module, name, type);

   LLVMPositionBuilderAtEnd(gallivm->builder,
                            LLVMAppendBasicBlockInContext(gallivm->context, llvm, "entry"));
   LLVMBuildUnreachable(gallivm->builder);
   return llvm;
}

/* Of what the code of a function depends on beside the driver's build */
static void
write_key(const struct gpuval_lvp_jit *jit, unsigned function, const nir_function *nir,
          struct blob *key)
{
   blob_write_string(key, jit->rows[function].name);
   blob_write_uint32(key, gpuval_lvp_num_lanes());
   if (nir)
      nir_serialize(key, nir->shader, true);
}

static void
compile_function(struct gpuval_lvp_jit *jit, unsigned function)
{
   const struct gpuval_nir_function *row = &jit->rows[function];
   struct module *module = &jit->modules[function];
   nir_function *nir = row->build ? create_function(row, &jit->driver, &jit->options) : NULL;
   struct lp_cached_code code = {0};
   struct blob key;

   blob_init(&key);
   write_key(jit, function, nir, &key);
   const bool is_cached = gpuval_lvp_find_code(key.data, key.size, &code);
   begin_module(module, row->name, &code);
   struct gallivm_state *gallivm = module->gallivm;
   LLVMTypeRef resources_type = lp_build_jit_resources_type(gallivm);
   LLVMTypeRef type = get_type(gallivm, row, function, LLVMPointerType(resources_type, 0));
   LLVMValueRef llvm;
   if (is_cached)
      llvm = add_cached_function(gallivm, row->name, type);
   else if (nir)
      llvm = add_nir_function(gallivm, resources_type, row, type, nir);
   else if (function == GPUVAL_FUNCTION_ADDRESSES)
      llvm = gpuval_lvp_build_addresses(gallivm, resources_type, row->name);
   else if (function == GPUVAL_FUNCTION_LOOK)
      llvm = gpuval_lvp_build_look(gallivm, resources_type, row->name);
   else if (function == GPUVAL_FUNCTION_OUTSIDE)
      llvm = gpuval_lvp_build_outside(gallivm, resources_type, row->name);
   else if (function == GPUVAL_FUNCTION_RANGES)
      llvm = gpuval_lvp_build_ranges(gallivm, resources_type, row->name);
   else if (function == GPUVAL_FUNCTION_REPORTS)
      llvm = gpuval_lvp_build_reports(gallivm, resources_type, row->name);
   else if (function == GPUVAL_FUNCTION_SHARED_LOAD || function == GPUVAL_FUNCTION_SHARED_STORE)
      llvm = gpuval_lvp_build_shared(gallivm, resources_type, row->name,
                                     function == GPUVAL_FUNCTION_SHARED_LOAD);
   else
      llvm = gpuval_lvp_build_cells(gallivm, resources_type, row->name,
                                    function == GPUVAL_FUNCTION_SYNC_LOAD);

   gallivm_compile_module(gallivm);
   func_pointer pointer = gallivm_jit_function(gallivm, llvm, row->name);
   if (!is_cached)
      gpuval_lvp_add_code(key.data, key.size, &code);
   gallivm_free_ir(gallivm);
   blob_finish(&key);
   if (nir)
      ralloc_free(nir->shader);
   p_atomic_set(&jit->functions[function], func_to_pointer(pointer));
}

/* Called by stubs, on any thread. Returns the function. */
static void *
resolve(struct gpuval_lvp_jit *jit, uint32_t function)
{
   simple_mtx_lock(&jit->mutex);
   if (!jit->modules[function].gallivm)
      compile_function(jit, function);
   simple_mtx_unlock(&jit->mutex);
   return p_atomic_read(&jit->functions[function]);
}

static LLVMValueRef
build_stub(const struct gpuval_lvp_jit *jit, LLVMTypeRef resources_type, unsigned function)
{
   struct gallivm_state *gallivm = jit->stubs.gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   const struct gpuval_nir_function *row = &jit->rows[function];
   LLVMTypeRef type = get_type(gallivm, row, function, LLVMPointerType(resources_type, 0));
   LLVMValueRef llvm = LLVMAddFunction(gallivm->module, row->name, type);
   LLVMValueRef args[LP_RESV_FUNC_ARGS + GPUVAL_FUNCTION_MAX_WORDS];
   LLVMTypeRef i32 = LLVMInt32TypeInContext(gallivm->context);
   LLVMTypeRef pointer_type = LLVMPointerType(LLVMInt8TypeInContext(gallivm->context), 0);

   LLVMPositionBuilderAtEnd(builder,
                            LLVMAppendBasicBlockInContext(gallivm->context, llvm, "entry"));
   LLVMTypeRef resolve_args[] = {pointer_type, i32};
   LLVMTypeRef resolve_type = LLVMFunctionType(pointer_type, resolve_args, 2, 0);
   LLVMValueRef values[] = {
      LLVMBuildBitCast(builder, lp_build_const_int_pointer(gallivm, jit), pointer_type, ""),
      LLVMConstInt(i32, function, 0),
   };
   LLVMValueRef pointer =
      LLVMBuildCall2(builder, resolve_type,
                     lp_build_const_func_pointer_from_type(
                        gallivm, func_to_pointer((func_pointer)resolve), resolve_type, "resolve"),
                     values, 2, "");

   assert(LLVMCountParams(llvm) <= ARRAY_SIZE(args));
   LLVMGetParams(llvm, args);
   LLVMValueRef result = LLVMBuildCall2(
      builder, type, LLVMBuildBitCast(builder, pointer, LLVMPointerType(type, 0), ""), args,
      LLVMCountParams(llvm), "");
   LLVMSetTailCall(result, 1);
   if (LLVMGetTypeKind(LLVMGetReturnType(type)) == LLVMVoidTypeKind)
      LLVMBuildRetVoid(builder);
   else
      LLVMBuildRet(builder, result);
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

/* Those for loads and stores of sync know shadow memory only. */
static bool
exists(const struct gpuval_lvp_jit *jit, unsigned function)
{
   return jit->shadow ||
          (function != GPUVAL_FUNCTION_SYNC_LOAD && function != GPUVAL_FUNCTION_SYNC_STORE);
}

/* LLVM's option of all compilers of the process. */
static void
set_options(void)
{
   /* Sinking looks for a better place for each of the thousands of values that are there for a
    * rare call only, and walks through all blocks in between: with checks on, it took a third of
    * the time that large shaders compile. Instructions have been sunk before, by InstCombine.
    */
   static const char *const arguments[] = {"gpuval", "-disable-machine-sink"};

   LLVMParseCommandLineOptions(ARRAY_SIZE(arguments), arguments, NULL);
}

struct gpuval_lvp_jit *
gpuval_lvp_jit_create(const struct gpuval_nir_function *functions,
                      const nir_shader_compiler_options *options, bool shadow)
{
   struct gpuval_nir_driver driver = gpuval_lvp_nir_driver;
   driver.num_lanes = gpuval_lvp_num_lanes();
   driver.reports_descriptors = gpuval_options_may_check(GPUVAL_CHECK_DESCRIPTOR);
   driver.names_buffers = gpuval_options_may_check(GPUVAL_CHECK_BOUNDS);
   driver.reports_unwritten = gpuval_options_may_check(GPUVAL_CHECK_INIT);
   if (!gpuval_options_race())
      driver.used_address = NULL;
   driver.hashes = shadow ? 0 : gpuval_options_hashes(GPUVAL_BLOOM_MAX_HASHES);
   LLVMValueRef llvm[GPUVAL_FUNCTION_COUNT] = {NULL};
   static once_flag once = ONCE_FLAG_INIT;

   call_once(&once, set_options);
   struct gpuval_lvp_jit *jit = calloc(1, sizeof(*jit));
   memcpy(jit->rows, functions, sizeof(jit->rows));
   jit->driver = driver;
   jit->options = *options;
   jit->shadow = shadow;
   simple_mtx_init(&jit->mutex, mtx_plain);
   begin_module(&jit->stubs, "gpuval", NULL);
   LLVMTypeRef resources_type = lp_build_jit_resources_type(jit->stubs.gallivm);
   for (unsigned i = 0; i < GPUVAL_FUNCTION_COUNT; i++) {
      if (is_called(&functions[i]) && exists(jit, i))
         llvm[i] = build_stub(jit, resources_type, i);
   }

   gallivm_compile_module(jit->stubs.gallivm);
   for (unsigned i = 0; i < GPUVAL_FUNCTION_COUNT; i++) {
      if (llvm[i])
         jit->functions[i] =
            func_to_pointer(gallivm_jit_function(jit->stubs.gallivm, llvm[i], functions[i].name));
   }
   gallivm_free_ir(jit->stubs.gallivm);

   return jit;
}

void
gpuval_lvp_jit_destroy(struct gpuval_lvp_jit *jit)
{
   for (unsigned i = 0; i < GPUVAL_FUNCTION_COUNT; i++)
      destroy_module(&jit->modules[i]);
   destroy_module(&jit->stubs);
   simple_mtx_destroy(&jit->mutex);
   free(jit);
}

const struct gpuval_lvp_jit *
gpuval_lvp_jit_get(const struct gpuval_nir_function *functions,
                   const nir_shader_compiler_options *options, bool shadow)
{
   static simple_mtx_t mutex = SIMPLE_MTX_INITIALIZER;
   static struct gpuval_lvp_jit *jits[2];

   simple_mtx_lock(&mutex);
   if (!jits[shadow])
      jits[shadow] = gpuval_lvp_jit_create(functions, options, shadow);
   const struct gpuval_lvp_jit *jit = jits[shadow];
   simple_mtx_unlock(&mutex);
   return jit;
}

uint64_t
gpuval_lvp_jit_functions(const struct gpuval_lvp_jit *jit)
{
   return (uintptr_t)jit->functions;
}
