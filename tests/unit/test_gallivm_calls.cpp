/* SPDX-License-Identifier: MIT */

/* Calls of functions on llvmpipe: shaders of a few instructions, compiled by gallivm as
 * llvmpipe does it and executed on the spot. Addresses of the test's own memory are
 * constants in them.
 */

#include <gtest/gtest.h>

#include <stdlib.h>

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_init.h"
#include "gallivm/lp_bld_type.h"

#include "base/gpuval_options.h"
#include "lvp_glue/gpuval_lvp_gallivm.h"
#include "lvp_glue/gpuval_lvp_jit.h"
#include "lvp_glue/gpuval_lvp_nir.h"

#include "nir_builder.h"

extern "C" { /* which they do not say */
#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_nir.h"
#include "gallivm/lp_bld_struct.h"
}

namespace {

const unsigned max_lanes = 16;
const unsigned num_report_words = 10;

/* What shaders read and write, one a lane */
struct {
   uint32_t mask[max_lanes]; /* ~0: it runs */
   uint32_t condition[max_lanes];
   uint32_t words[3][max_lanes];
   uint64_t out[max_lanes];
   uint32_t last_report[max_lanes][num_report_words]; /* arguments of the function */
   uint32_t num_reports[max_lanes];
   alignas(16) uint32_t cells[max_lanes][4];
   uint32_t
      rest_word[max_lanes]; /* GPUVAL_FUNCTION_WORD, as the function that does the rest has it */
} memory;

nir_def *
element(nir_builder *b, void *array, nir_def *lane, unsigned stride)
{
   return nir_iadd_imm(b, nir_imul_imm(b, nir_u2u64(b, lane), stride), (uintptr_t)array);
}

nir_def *
load(nir_builder *b, uint32_t *array)
{
   nir_def *lane = nir_load_subgroup_invocation(b);
   return nir_load_global(b, element(b, array, lane, 4), 4, 1, 32);
}

void
store(nir_builder *b, nir_def *value)
{
   nir_def *lane = nir_load_subgroup_invocation(b);
   nir_store_global(b, element(b, memory.out, lane, 8), 8, nir_u2u64(b, value), 0x1);
}

/* The functions, under the numbers of others */

const unsigned function_sum = GPUVAL_FUNCTION_SYNC;
const unsigned function_pack = GPUVAL_FUNCTION_PRINTF;
const unsigned function_rest = GPUVAL_FUNCTION_DESCRIPTOR;
const unsigned function_first = GPUVAL_FUNCTION_SHARED;
const unsigned num_sync_words = 14, size_word = 4;

nir_def *
build_report(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   nir_def *lane = nir_load_subgroup_invocation(b);
   nir_def *last = element(b, memory.last_report, lane, sizeof(memory.last_report[0]));
   for (unsigned i = 0; i < num_report_words; i++)
      nir_store_global(b, nir_iadd_imm(b, last, i * 4), 4, words[i], 0x1);
   nir_global_atomic(b, 32, element(b, memory.num_reports, lane, 4), nir_imm_int(b, 1),
                     .atomic_op = nir_atomic_op_iadd);
   return NULL;
}

nir_def *
build_sum(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   return nir_iadd(b, words[0],
                   nir_iadd(b, nir_imul_imm(b, words[1], 10), nir_imul_imm(b, words[2], 100)));
}

nir_def *
build_pack(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   return nir_pack_64_2x32_split(b, words[0], words[1]);
}

/* Says what is left, which is in the place of the size, and exchanges the halves of a cell. */
nir_def *
build_first(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   nir_def *cell = element(b, memory.cells, nir_load_subgroup_invocation(b), 16);
   nir_def *values = nir_load_global(b, cell, 16, 4, 32);
   nir_def *second = nir_load_global(b, nir_iadd_imm(b, cell, 8), 8, 2, 32);

   nir_store_global(b, cell, 8, second, 0x3);
   nir_store_global(b, nir_iadd_imm(b, cell, 8), 8, nir_channels(b, values, 0x3), 0x3);
   return words[size_word];
}

nir_def *
build_rest(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   nir_def *lane = nir_load_subgroup_invocation(b);
   nir_store_global(b, element(b, memory.rest_word, lane, 4), 4, words[GPUVAL_FUNCTION_WORD], 0x1);
   return NULL;
}

struct functions {
   struct gpuval_nir_function rows[GPUVAL_FUNCTION_COUNT] = {};

   functions()
   {
      add(GPUVAL_FUNCTION_REPORT, "report", num_report_words, 0, build_report);
      add(function_sum, "sum", 3, 1, build_sum);
      add(function_pack, "pack", 2, 2, build_pack);
      add(function_rest, "rest", num_sync_words, 0, build_rest);
      add(function_first, "first", num_sync_words, 0, build_first);
      rows[function_first].has_rest = true;
      rows[function_first].rest = (enum gpuval_function)function_rest;
   }

   void add(unsigned number, const char *name, unsigned num_words, unsigned num_results,
            decltype(gpuval_nir_function::build) build)
   {
      rows[number].name = name;
      rows[number].checks = BITFIELD_BIT(GPUVAL_CHECK_ASSUME);
      rows[number].num_words = num_words;
      rows[number].num_results = num_results;
      rows[number].build = build;
   }
};

struct variant {
   gl_shader_stage stage;
   bool is_short; /* vectors of 4 */
};

class gallivm_calls : public ::testing::TestWithParam<variant> {
 protected:
   static void SetUpTestSuite()
   {
      setenv("GPUVAL", "assume", 1);
      gpuval_options_init(false);
      lp_build_init();
      glsl_type_singleton_init_or_ref();
   }

   gallivm_calls()
   {
      lanes = GetParam().is_short ? 4 : gpuval_lvp_num_lanes();
      jit = gpuval_lvp_jit_create(table.rows, &compiler_options, false);
      bld = nir_builder_init_simple_shader(GetParam().stage, &compiler_options, "test");
      b = &bld;

      memset(&memory, 0, sizeof(memory));
      for (unsigned i = 0; i < max_lanes; i++) {
         memory.mask[i] = ~0;
         memory.condition[i] = 1;
         memory.words[0][i] = i;
         memory.words[1][i] = i + 1;
         memory.words[2][i] = i + 2;
      }
   }

   ~gallivm_calls()
   {
      ralloc_free(b->shader);
      gpuval_lvp_jit_destroy(jit);
   }

   nir_def *condition()
   {
      return nir_ine_imm(b, load(b, memory.condition), 0);
   }

   nir_def *call_sum(nir_def *condition)
   {
      nir_def *words =
         nir_vec3(b, load(b, memory.words[0]), load(b, memory.words[1]), load(b, memory.words[2]));
      return nir_call_gpuval(b, 32, condition, words, .base = function_sum);
   }

   static uint32_t sum(unsigned lane)
   {
      return lane + (lane + 1) * 10 + (lane + 2) * 100;
   }

   void report(nir_def *failed, int base, nir_def *offset)
   {
      nir_def *detail =
         nir_vec4(b, offset, nir_imm_int(b, 2), nir_imm_int(b, 3), nir_imm_int(b, 4));
      nir_report_gpuval(b, failed, detail, nir_imm_int(b, 5), nir_imm_ivec3(b, 6, 7, 8),
                        .base = base, .range = 2, .desc_set = 3);
   }

   void run();

   unsigned lanes;
   functions table;
   struct gpuval_lvp_jit *jit;
   uint64_t functions_address = 0; /* 0: those of the jit */
   nir_builder bld, *b;
   nir_shader_compiler_options compiler_options = {};
};

void
gallivm_calls::run()
{
   lp_context_ref context;
   lp_context_create(&context);
   struct gallivm_state *gallivm = gallivm_create("test", &context, NULL);
   LLVMBuilderRef builder = gallivm->builder;
   const struct lp_type type = lp_type_float_vec(32, 32 * lanes);

   LLVMTypeRef resources_type = lp_build_jit_resources_type(gallivm);
   LLVMTypeRef args[2] = {
      LLVMPointerType(lp_build_int_vec_type(gallivm, type), 0),
      LLVMPointerType(resources_type, 0),
   };
   LLVMValueRef function =
      LLVMAddFunction(gallivm->module, "main",
                      LLVMFunctionType(LLVMVoidTypeInContext(gallivm->context), args, 2, 0));
   LLVMPositionBuilderAtEnd(builder,
                            LLVMAppendBasicBlockInContext(gallivm->context, function, "entry"));
   LLVMValueRef lanes_that_run =
      LLVMBuildLoad2(builder, lp_build_int_vec_type(gallivm, type), LLVMGetParam(function, 0), "");
   LLVMSetAlignment(lanes_that_run, 4);

   struct lp_build_mask_context mask;
   lp_build_mask_begin(&mask, gallivm, type, lanes_that_run);
   struct lp_build_tgsi_params params = {};
   params.type = type;
   params.mask = &mask;
   params.current_func = function;
   params.resources_type = resources_type;
   params.resources_ptr = LLVMGetParam(function, 1);
   params.consts_ptr = lp_jit_resources_constants(gallivm, resources_type, params.resources_ptr);

   nir_validate_shader(b->shader, "as built");
   lp_build_opt_nir(b->shader);
   lp_build_nir_prepasses(b->shader);
   LLVMValueRef outputs[PIPE_MAX_SHADER_OUTPUTS][4] = {{NULL}};
   lp_build_nir_soa_func(gallivm, b->shader, nir_shader_get_entrypoint(b->shader), &params,
                         outputs);
   lp_build_mask_end(&mask);
   LLVMBuildRetVoid(builder);
   gallivm_verify_function(gallivm, function);
   gallivm_compile_module(gallivm);

   alignas(8) uint8_t constants[GPUVAL_LVP_COMMAND_DATA_OFFSET + sizeof(gpuval_command_data)] = {};
   auto *data = (struct gpuval_command_data *)(constants + GPUVAL_LVP_COMMAND_DATA_OFFSET);
   data->functions = functions_address ? functions_address : gpuval_lvp_jit_functions(jit);
   auto *resources = (struct lp_jit_resources *)calloc(1, sizeof(struct lp_jit_resources));
   resources->constants[0].u = (const uint32_t *)constants;
   resources->constants[0].num_elements = sizeof(constants) / 4;

   auto *main = (void (*)(const uint32_t *, const struct lp_jit_resources *))gallivm_jit_function(
      gallivm, function, "main");
   main(memory.mask, resources);

   free(resources);
   gallivm_free_ir(gallivm);
   gallivm_destroy(gallivm);
   lp_context_destroy(&context);
}

TEST_P(gallivm_calls, lanes_get_their_results)
{
   memory.condition[1] = 0;
   store(b, nir_ior_imm(b, call_sum(condition()), 1u << 31));
   run();

   for (unsigned i = 0; i < lanes; i++)
      EXPECT_EQ(memory.out[i], 1u << 31 | (i == 1 ? 0 : sum(i))) << "lane " << i;
}

TEST_P(gallivm_calls, results_have_64_bits)
{
   memory.condition[2] = 0;
   nir_def *words = nir_vec2(b, load(b, memory.words[0]), load(b, memory.words[1]));
   store(b, nir_call_gpuval(b, 64, condition(), words, .base = function_pack));
   run();

   for (unsigned i = 0; i < lanes; i++)
      EXPECT_EQ(memory.out[i], i == 2 ? 0 : i | (i + 1ull) << 32) << "lane " << i;
}

/* Of a word that is the same in all lanes. Mesa makes a load for each lane of what it does not
 * know to be uniform.
 */
TEST_P(gallivm_calls, slots_are_picked)
{
   memory.mask[0] = 0;
   nir_def *word = nir_imm_int(b, 6);
   nir_def *constant = nir_pick_gpuval(b, word, nir_imm_int(b, 5), .base = 9, .flags = 99);
   nir_def *other = nir_pick_gpuval(b, word, load(b, memory.words[0]), .base = 9, .flags = 99);
   nir_def *picked = nir_pick_gpuval(b, word, nir_imm_int(b, 5), .base = 4, .flags = 70);
   nir_def *both = nir_pick_gpuval(b, word, load(b, memory.words[0]), .base = 2, .flags = 80);

   EXPECT_TRUE(nir_src_is_always_uniform(nir_src_for_ssa(constant)));
   EXPECT_TRUE(nir_src_is_always_uniform(nir_src_for_ssa(nir_vec2(b, constant, picked))));
   EXPECT_FALSE(nir_src_is_always_uniform(nir_src_for_ssa(other)));
   nir_def *sum = nir_iadd(b, nir_imul_imm(b, constant, 1000000), nir_imul_imm(b, other, 10000));
   store(b, nir_iadd(b, sum, nir_iadd(b, nir_imul_imm(b, picked, 100), both)));
   run();

   for (unsigned i = 1; i < lanes; i++)
      EXPECT_EQ(memory.out[i], 5007080 + i * 10000) << "lane " << i;
}

TEST_P(gallivm_calls, nothing_is_called_where_no_lane_calls)
{
   static void *const no_functions[GPUVAL_FUNCTION_COUNT] = {};
   functions_address = (uintptr_t)no_functions;
   memset(memory.condition, 0, sizeof(memory.condition));
   report(condition(), 1, nir_imm_int(b, 0));
   store(b, nir_iadd_imm(b, call_sum(condition()), 7));
   run();

   for (unsigned i = 0; i < lanes; i++)
      EXPECT_EQ(memory.out[i], 7);
}

TEST_P(gallivm_calls, only_lanes_on_the_path_call)
{
   memory.condition[0] = 0;
   nir_push_if(b, condition());
   nir_def *there = call_sum(nir_imm_true(b));
   nir_push_else(b, NULL);
   nir_def *here = nir_imm_int(b, 77);
   nir_pop_if(b, NULL);
   store(b, nir_if_phi(b, there, here));
   run();

   for (unsigned i = 0; i < lanes; i++)
      EXPECT_EQ(memory.out[i], i == 0 ? 77 : sum(i)) << "lane " << i;
}

TEST_P(gallivm_calls, lanes_that_do_not_run_do_not_call)
{
   memory.mask[3] = 0;
   report(nir_imm_true(b), 1, nir_imm_int(b, 0));
   run();

   for (unsigned i = 0; i < lanes; i++)
      EXPECT_EQ(memory.num_reports[i], i != 3) << "lane " << i;
}

/* But helper invocations do where there is a result: others see it through derivatives. */
TEST_P(gallivm_calls, helpers_have_results)
{
   bool is_fragment = GetParam().stage == MESA_SHADER_FRAGMENT;
   memory.mask[1] = 0;
   store(b, nir_quad_swap_horizontal(b, call_sum(nir_imm_true(b))));
   run();

   EXPECT_EQ(memory.out[0], is_fragment ? sum(1) : 0);
   EXPECT_EQ(memory.out[1], 0); /* which does not store */
   EXPECT_EQ(memory.out[2], sum(3));
}

TEST_P(gallivm_calls, reports_that_share_a_branch_have_lanes_and_arguments_of_their_own)
{
   nir_def *lane = nir_load_subgroup_invocation(b);
   nir_def *low = nir_ilt_imm(b, lane, 2), *high = nir_ige_imm(b, lane, 2);
   nir_def *offset = load(b, memory.words[2]);
   report(low, 11, offset);
   report(high, 12, nir_imm_int(b, 4));
   for (unsigned i = 0; i < 9; i++)
      report(nir_imm_false(b), 13, offset);
   run();

   for (unsigned i = 0; i < lanes; i++) {
      const uint32_t word = 2 | 3 << 16 | (uint32_t)GetParam().stage << 24;
      const uint32_t expected[] = {i < 2 ? 11u : 12u, word, i < 2 ? i + 2 : 4, 2, 3, 4, 5, 6, 7, 8};
      EXPECT_EQ(memory.num_reports[i], 1) << "lane " << i;
      for (unsigned j = 0; j < ARRAY_SIZE(expected); j++)
         EXPECT_EQ(memory.last_report[i][j], expected[j]) << "lane " << i << " word " << j;
   }
}

TEST_P(gallivm_calls, what_a_function_leaves_another_one_does)
{
   memory.condition[1] = 0;
   for (unsigned i = 0; i < max_lanes; i++) {
      memory.words[0][i] = i % 4 == 3 ? GPUVAL_FUNCTION_WAS_TAKEN
                           : i % 4    ? GPUVAL_FUNCTION_IS_LEFT
                                      : GPUVAL_FUNCTION_IS_DONE;
      for (unsigned j = 0; j < 4; j++)
         memory.cells[i][j] = 10 * i + j;
   }
   nir_def *zero = nir_imm_int(b, 0);
   nir_sync_gpuval(b, condition(), nir_imm_int64(b, 0), load(b, memory.words[0]), zero, zero,
                   nir_imm_ivec4(b, 0, 0, 0, 0), nir_imm_ivec3(b, 0, 0, 0), .base = 1,
                   .desc_set = 2, .flags = GPUVAL_SYNC_SHARED);
   run();

   const uint32_t word = GPUVAL_SYNC_SHARED | 2 << 16 | (uint32_t)GetParam().stage << 24;
   for (unsigned i = 0; i < lanes; i++) {
      bool calls = i != 1;
      EXPECT_EQ(memory.rest_word[i], !calls || i % 4 == 0 ? 0
                                     : i % 4 == 3         ? word | GPUVAL_SYNC_WAS_TAKEN
                                                          : word)
         << "lane " << i;
      for (unsigned j = 0; j < 4; j++)
         EXPECT_EQ(memory.cells[i][j], 10 * i + (calls ? j ^ 2 : j)) << "lane " << i;
   }
}

/* What comes before a terminate is not lost, and what comes after it does not come. */
TEST_P(gallivm_calls, reports_do_not_wait_for_what_ends_invocations)
{
   if (GetParam().stage != MESA_SHADER_FRAGMENT)
      return;

   memory.condition[2] = 0;
   report(nir_imm_true(b), 1, nir_imm_int(b, 0));
   nir_terminate_if(b, condition());
   report(nir_imm_true(b), 2, nir_imm_int(b, 0));
   run();

   for (unsigned i = 0; i < lanes; i++)
      EXPECT_EQ(memory.num_reports[i], i == 2 ? 2 : 1) << "lane " << i;
}

INSTANTIATE_TEST_SUITE_P(
   stages, gallivm_calls,
   ::testing::Values(variant{MESA_SHADER_VERTEX, false}, variant{MESA_SHADER_TESS_CTRL, true},
                     variant{MESA_SHADER_TESS_EVAL, false}, variant{MESA_SHADER_GEOMETRY, true},
                     variant{MESA_SHADER_FRAGMENT, false}, variant{MESA_SHADER_COMPUTE, false},
                     variant{MESA_SHADER_MESH, false}));

} // namespace
