/* SPDX-License-Identifier: MIT */

/* Calls of functions on llvmpipe: shaders of a few instructions, compiled by gallivm as
 * llvmpipe does it and executed on the spot. Addresses of the test's own memory are
 * constants in them.
 */

#include <gtest/gtest.h>

#include <stdlib.h>
#include <string>

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_init.h"
#include "gallivm/lp_bld_misc.h"
#include "gallivm/lp_bld_type.h"

#include "base/gpuval_address_table.h"
#include "base/gpuval_bloom.h"
#include "base/gpuval_options.h"
#include "base/gpuval_shadow.h"
#include "lvp_glue/gpuval_lvp_gallivm.h"
#include "lvp_glue/gpuval_lvp_jit.h"
#include "lvp_glue/gpuval_lvp_nir.h"

#include "nir_builder.h"

extern "C" { /* which they do not say */
#include "gallivm/lp_bld_flow.h"
#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_struct.h"
#include "gallivm/lp_bld_tgsi.h"
#include "gpuval/src/compat/gpuval_gallivm_functions.h"
#include "lvp_glue/gpuval_lvp_code_cache.h"
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
   alignas(4) uint8_t written[4 * max_lanes]; /* marks of the words from `window` on */
   uint32_t sync_word[max_lanes]; /* GPUVAL_FUNCTION_WORD, as GPUVAL_FUNCTION_SYNC has it */
   uint32_t result[max_lanes];    /* of GPUVAL_FUNCTION_DESCRIPTOR, */
   uint32_t looked_at[max_lanes]; /* and the slot it was called for */

   /* Set 0: words of descriptors, sizes of which are 16, 32, ..., and their shadow, all alive */
   uint32_t descriptors[4][GPUVAL_LVP_DESCRIPTOR_STRIDE / 4];
   struct {
      struct gpuval_lvp_set_header header;
      struct gpuval_descriptor descriptors[4];
   } shadow;
   struct gpuval_object objects[5];
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
   return gpuval_load_global(b, element(b, array, lane, 4), 4, 1, 32);
}

void
store(nir_builder *b, nir_def *value)
{
   nir_def *lane = nir_load_subgroup_invocation(b);
   gpuval_store_global(b, element(b, memory.out, lane, 8), 8, nir_u2u64(b, value), 0x1);
}

/* The functions, under the numbers of others */

const unsigned function_sum = GPUVAL_FUNCTION_LOOP;
const unsigned function_pack = GPUVAL_FUNCTION_PRINTF;
const unsigned function_exchange = GPUVAL_FUNCTION_SHARED;

nir_def *
build_report(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   nir_def *lane = nir_load_subgroup_invocation(b);
   nir_def *last = element(b, memory.last_report, lane, sizeof(memory.last_report[0]));
   for (unsigned i = 0; i < num_report_words; i++)
      gpuval_store_global(b, nir_iadd_imm(b, last, i * 4), 4, words[i], 0x1);
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
build_zero(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   return nir_imm_int(b, 0);
}

nir_def *
build_pack(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   return nir_pack_64_2x32_split(b, words[0], words[1]);
}

/* Exchanges the halves of a cell. */
nir_def *
build_exchange(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   nir_def *cell = element(b, memory.cells, nir_load_subgroup_invocation(b), 16);
   nir_def *values = gpuval_load_global(b, cell, 16, 4, 32);
   nir_def *second = gpuval_load_global(b, nir_iadd_imm(b, cell, 8), 8, 2, 32);

   gpuval_store_global(b, cell, 8, second, 0x3);
   gpuval_store_global(b, nir_iadd_imm(b, cell, 8), 8, nir_channels(b, values, 0x3), 0x3);
   return NULL;
}

/* Notes which lanes come here. */
nir_def *
build_sync(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   nir_def *lane = nir_load_subgroup_invocation(b);
   gpuval_store_global(b, element(b, memory.sync_word, lane, 4), 4, words[GPUVAL_FUNCTION_WORD],
                       0x1);
   return NULL;
}

/* Of a close look */
nir_def *
build_descriptor(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   nir_def *lane = nir_load_subgroup_invocation(b);
   gpuval_store_global(b, element(b, memory.looked_at, lane, 4), 4, words[GPUVAL_USE_WORD_SLOT],
                       0x1);
   return load(b, memory.result);
}

struct functions {
   struct gpuval_nir_function rows[GPUVAL_FUNCTION_COUNT] = {};

   functions()
   {
      add(GPUVAL_FUNCTION_REPORT, "report", num_report_words, 0, build_report);
      add(function_sum, "sum", 3, 1, build_sum);
      add(function_pack, "pack", 2, 2, build_pack);
      add(function_exchange, "exchange", GPUVAL_SYNC_WORD_COUNT, 0, build_exchange);
      add(GPUVAL_FUNCTION_SYNC, "sync", GPUVAL_SYNC_WORD_COUNT, 0, build_sync);
      rows[GPUVAL_FUNCTION_ADDRESS] = gpuval_nir_functions[GPUVAL_FUNCTION_ADDRESS];
      rows[GPUVAL_FUNCTION_ADDRESS].checks = BITFIELD_BIT(GPUVAL_CHECK_ASSUME);
      add(GPUVAL_FUNCTION_ADDRESSES, "addresses", 0, 0, NULL);
      add(GPUVAL_FUNCTION_SYNC_LOAD, "load", GPUVAL_SYNC_WORD_COUNT, 0, NULL);
      add(GPUVAL_FUNCTION_SYNC_STORE, "store", GPUVAL_SYNC_WORD_COUNT, 0, NULL);
      add(GPUVAL_FUNCTION_RANGES, "ranges", 0, 0, NULL);
      add(GPUVAL_FUNCTION_REPORTS, "reports", 0, 0, NULL);
      add(GPUVAL_FUNCTION_DESCRIPTOR, "descriptor", GPUVAL_FUNCTION_DESCRIPTOR_WORDS, 1,
          build_descriptor);
      add(GPUVAL_FUNCTION_LOOK, "look", 0, 0, NULL);
      add(GPUVAL_FUNCTION_OUTSIDE, "outside", 0, 0, NULL);
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
   mesa_shader_stage stage;
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
      jit = gpuval_lvp_jit_create(functions().rows, &compiler_options, true);
   }

   static void TearDownTestSuite()
   {
      gpuval_lvp_jit_destroy(jit);
   }

   gallivm_calls()
   {
      lanes = GetParam().is_short ? 4 : gpuval_lvp_num_lanes();
      bld = nir_builder_init_simple_shader(GetParam().stage, &compiler_options, "test");
      b = &bld;

      memset(&memory, 0, sizeof(memory));
      for (unsigned i = 0; i < max_lanes; i++) {
         memory.mask[i] = ~0;
         memory.condition[i] = 1;
         memory.words[0][i] = i;
         memory.words[1][i] = i + 1;
         memory.words[2][i] = i + 2;
         memory.looked_at[i] = ~0;
      }
      for (unsigned i = 0; i < 4; i++) {
         memory.descriptors[i][0] = 10 + i;
         memory.descriptors[i][1] = 20 + i;
         memory.descriptors[i][3] = 16 * (i + 1);
         memory.objects[1 + i].id = 1 + i;
         memory.shadow.descriptors[i].object = 1 + i;
         memory.shadow.descriptors[i].offers = GPUVAL_OFFERS_STORAGE_BUFFER;
      }
   }

   ~gallivm_calls()
   {
      ralloc_free(b->shader);
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

   /* Of 4 bytes, aligned to as many; one entry for each kind. 1 if it is bad */
   nir_def *check_address(nir_def *address, int number)
   {
      nir_def *bad =
         nir_check_address_gpuval(b, 1, address, nir_imm_ivec3(b, 6, 7, 8), .base = 2 * number,
                                  .range = 1, .desc_set = 3, .flags = 4, .align_mul = 4);
      return nir_b2i32(b, bad);
   }

   /* A live buffer of so many bytes, and an address in it that differs by lane */
   nir_def *add_buffer(uint64_t size, unsigned stride = 0)
   {
      auto *table = (struct gpuval_address_table *)addresses;
      table->count = 1;
      table->ranges[0] = {buffer_address, size};
      nir_def *lane = nir_load_subgroup_invocation(b), *zero = load(b, memory.sync_word);
      nir_def *offset = nir_iadd(b, nir_imul_imm(b, lane, stride), zero);
      return nir_iadd_imm(b, nir_u2u64(b, offset), buffer_address);
   }

   void report(nir_def *failed, int base, nir_def *offset)
   {
      nir_def *detail =
         nir_vec4(b, offset, nir_imm_int(b, 2), nir_imm_int(b, 3), nir_imm_int(b, 4));
      nir_report_gpuval(b, failed, detail, nir_imm_int(b, 5), nir_imm_ivec3(b, 6, 7, 8),
                        .base = base, .range = 2, .desc_set = 3);
   }

   /* Of an access to @num_words words, 16 bytes behind those of the lane before */
   nir_def *range_detail(unsigned num_words)
   {
      nir_def *lane = nir_load_subgroup_invocation(b);
      nir_def *address = nir_iadd_imm(b, nir_imul_imm(b, nir_u2u64(b, lane), 16), window);
      return nir_vec4(b, nir_unpack_64_2x32_split_x(b, address),
                      nir_unpack_64_2x32_split_y(b, address), nir_imm_int(b, 4 * num_words),
                      nir_imm_int(b, BITFIELD_MASK(8 * num_words)));
   }

   /* What init leaves of it */
   void range(nir_def *condition, int base, nir_def *detail)
   {
      nir_report_gpuval(b, condition, detail, nir_imm_int(b, 0), nir_imm_ivec3(b, 6, 7, 8),
                        .base = base, .range = 1, .desc_set = GPUVAL_REPORT_RANGE);
   }

   /* At a slot that the shader computes, of a binding of four. Entries 20 and 21 */
   nir_def *look(nir_def *slot)
   {
      nir_def *words[GPUVAL_FUNCTION_DESCRIPTOR_WORDS];
      for (auto &word : words)
         word = nir_imm_int(b, 0);
      words[GPUVAL_USE_WORD_FLAGS] = nir_imm_int(b, GPUVAL_USE_HAS_INDEX);
      words[GPUVAL_USE_WORD_SLOT] = words[GPUVAL_USE_WORD_INDEX] = slot;
      words[GPUVAL_USE_WORD_REQUIRED] = nir_imm_int(b, GPUVAL_OFFERS_STORAGE_BUFFER);
      words[GPUVAL_USE_WORD_NUM_SLOTS] = nir_imm_int(b, 4);
      return nir_look_gpuval(b, nir_vec(b, words, ARRAY_SIZE(words)), nir_imm_ivec3(b, 6, 7, 8),
                             .base = 20, .range = 2, .desc_set = GPUVAL_REPORT_DESCRIPTOR);
   }

   /* Those that come behind them are left to the function as a whole. */
   void look_often(unsigned count)
   {
      for (unsigned i = 0; i < count; i++)
         look(nir_imm_int(b, 0));
   }

   /* A range of @size bytes of that descriptor's buffer */
   void check_buffer(nir_def *slot, nir_def *offset, unsigned size, int base)
   {
      nir_check_buffer_gpuval(b, nir_vec3(b, nir_imm_int(b, 1), slot, nir_imm_int(b, 0)), offset,
                              nir_ieq_imm(b, load(b, memory.condition), 0),
                              nir_imm_ivec3(b, 6, 7, 8), .base = base, .range = 3, .flags = size);
   }

   void expect_reports(uint32_t expected)
   {
      for (unsigned i = 0; i < lanes; i++)
         EXPECT_EQ(memory.num_reports[i], expected >> i & 1) << "lane " << i;
   }

   /* An access to the word that is @stride words behind that of the lane before */
   void sync(unsigned type, int stride)
   {
      nir_def *lane = nir_load_subgroup_invocation(b), *zero = nir_imm_int(b, 0);
      nir_def *address =
         nir_iadd_imm(b, nir_imul_imm(b, nir_u2u64(b, lane), (int64_t)4 * stride), window);
      nir_sync_gpuval(
         b, condition(), address, nir_imm_int(b, 4), zero, zero,
         nir_vec4(b, nir_iadd_imm(b, lane, 100), nir_imm_int(b, site << 24 | 8), zero, zero),
         nir_imm_ivec3(b, 0, 0, 0), .base = 1, .desc_set = 2, .flags = type | GPUVAL_SYNC_SHADOW);
   }

   uint32_t sync_word(unsigned flags) const
   {
      return flags | GPUVAL_SYNC_SHADOW | 2 << 16 | (uint32_t)GetParam().stage << 24;
   }

   void fill_cells(uint32_t writer, uint32_t readers)
   {
      for (auto &cell : memory.cells) {
         const uint32_t words[4] = {writer ? 1u : 0, writer, readers ? 2u : 0, readers};
         memcpy(cell, words, sizeof(words));
      }
   }

   void expect_cell(unsigned cell, uint32_t writer_lo, uint32_t writer_hi, uint32_t readers_lo,
                    uint32_t readers_hi)
   {
      const uint32_t expected[4] = {writer_lo, writer_hi, readers_lo, readers_hi};
      for (unsigned i = 0; i < 4; i++)
         EXPECT_EQ(memory.cells[cell][i], expected[i]) << "cell " << cell << " word " << i;
   }

   static uint32_t mark(unsigned lane)
   {
      return (lane + 100) << 8 | site;
   }

   void run();

   static const uint64_t window = 1ull << 40;
   static const uint64_t buffer_address = 1ull << 33;
   /* struct gpuval_address_table with one range */
   alignas(8) uint8_t
      addresses[sizeof(struct gpuval_address_table) + sizeof(struct gpuval_address_range)] = {};
   unsigned num_calls = 0;        /* in the code, by pointers */
   unsigned num_reassociable = 0; /* operations on the mask of the lanes */
   static const uint32_t site = 9, now = 5 << 16, before = 4 << 16;
   struct gpuval_shadow_layout layout = {};
   struct gpuval_root root = {};
   unsigned lanes;
   static struct gpuval_lvp_jit *jit;
   static const nir_shader_compiler_options compiler_options;
   uint64_t functions_address = 0; /* 0: those of the jit */
   nir_builder bld, *b;
};

struct gpuval_lvp_jit *gallivm_calls::jit;
const nir_shader_compiler_options gallivm_calls::compiler_options = {};

unsigned
count_instructions(LLVMValueRef function, bool (*matches)(LLVMValueRef))
{
   unsigned count = 0;

   for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
        block = LLVMGetNextBasicBlock(block)) {
      for (LLVMValueRef instr = LLVMGetFirstInstruction(block); instr;
           instr = LLVMGetNextInstruction(instr))
         count += matches(instr);
   }
   return count;
}

bool
calls_pointer(LLVMValueRef instr)
{
   return LLVMIsACallInst(instr) && !LLVMIsAFunction(LLVMGetCalledValue(instr));
}

bool
is_mask(LLVMValueRef value)
{
   return LLVMIsALoadInst(value) &&
          std::string(LLVMGetValueName(LLVMGetOperand(value, 0))) == "execution_mask";
}

/* Does it use the mask of the lanes, and would LLVM reassociate it? */
bool
reassociates_mask(LLVMValueRef instr)
{
   const LLVMOpcode opcode = LLVMGetInstructionOpcode(instr);

   return (opcode == LLVMAnd || opcode == LLVMOr || opcode == LLVMXor) &&
          (is_mask(LLVMGetOperand(instr, 0)) || is_mask(LLVMGetOperand(instr, 1)));
}

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
   gpuval_gallivm_prepasses(b->shader);
   LLVMValueRef outputs[PIPE_MAX_SHADER_OUTPUTS][4] = {{NULL}};
   lp_build_nir_soa_func(gallivm, b->shader, nir_shader_get_entrypoint(b->shader), &params,
                         outputs);
   lp_build_mask_end(&mask);
   LLVMBuildRetVoid(builder);
   gallivm_verify_function(gallivm, function);
   num_calls = count_instructions(function, calls_pointer);
   num_reassociable = count_instructions(function, reassociates_mask);
   gallivm_compile_module(gallivm);

   alignas(8) uint8_t constants[GPUVAL_LVP_CONSTANTS_SIZE] = {};
   auto *all = (struct gpuval_lvp_command_data *)(constants + GPUVAL_LVP_COMMAND_DATA_OFFSET);
   auto *data = &all->base;
   all->objects_address = (uintptr_t)memory.objects;
   all->shadows[0] = (uintptr_t)memory.shadow.descriptors;
   root.shadow_address = (uintptr_t)&layout;
   root.written_window = window;
   root.written = (uintptr_t)memory.written - window / 4;
   root.addresses_address = (uintptr_t)addresses;
   data->root_address = (uintptr_t)&root;
   data->shadow_window = window;
   data->shadow_words = (uintptr_t)memory.cells - window * 4;
   data->shadow_command = data->shadow_ordered = data->shadow_others = now;
   data->functions = functions_address ? functions_address : gpuval_lvp_jit_functions(jit);
   auto *resources = (struct lp_jit_resources *)calloc(1, sizeof(struct lp_jit_resources));
   resources->constants[0].u = (const uint32_t *)constants;
   resources->constants[0].num_elements = sizeof(constants) / 4;
   resources->constants[1].u = memory.descriptors[0];
   resources->constants[1].num_elements = sizeof(memory.descriptors) / 4;

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

/* Most programs call few of them. */
TEST_P(gallivm_calls, functions_are_compiled_when_they_are_called)
{
   const struct functions table;
   struct gpuval_lvp_jit *fresh = gpuval_lvp_jit_create(table.rows, &compiler_options, true);
   functions_address = gpuval_lvp_jit_functions(fresh);
   const auto *functions = (void *const *)functions_address;
   void *const stub = functions[GPUVAL_FUNCTION_REPORT], *const other = functions[function_sum];
   ASSERT_NE(stub, nullptr);
   EXPECT_EQ(functions[GPUVAL_FUNCTION_INVOCATION], nullptr); /* which no check calls */

   memset(memory.condition, 0, sizeof(memory.condition));
   report(condition(), 1, nir_imm_int(b, 0));
   run();
   EXPECT_EQ(functions[GPUVAL_FUNCTION_REPORT], stub);

   memory.condition[1] = 1;
   run();
   void *const function = functions[GPUVAL_FUNCTION_REPORT];
   EXPECT_NE(function, stub);
   EXPECT_EQ(functions[function_sum], other);
   EXPECT_EQ(memory.num_reports[1], 1);

   run();
   EXPECT_EQ(functions[GPUVAL_FUNCTION_REPORT], function);
   EXPECT_EQ(memory.num_reports[1], 2);
   gpuval_lvp_jit_destroy(fresh);
}

/* Where the slot is the same in all lanes that run, or in each one */
TEST_P(gallivm_calls, descriptors_are_loaded)
{
   for (unsigned i = 0; i < lanes; i++)
      memory.words[1][i] = i ? 2 : 77777; /* which lane 0 has, and does not run */
   memory.mask[0] = 0;
   nir_def *one = nir_as_uniform(b, load(b, memory.words[1])), *buffer = nir_imm_int(b, 1);
   nir_def *zero = nir_imm_int(b, 0), *each = load(b, memory.words[0]);
   nir_def *of_one = nir_load_descriptor_gpuval(b, nir_vec3(b, buffer, one, zero));
   nir_def *of_each = nir_load_descriptor_gpuval(b, nir_vec3(b, buffer, each, zero));
   nir_def *of_constant =
      nir_load_descriptor_gpuval(b, nir_vec3(b, buffer, nir_imm_int(b, 3), zero));
   nir_def *of_none = nir_load_descriptor_gpuval(
      b, nir_vec3(b, buffer, nir_imm_int(b, 4), zero)); /* behind the end */
   nir_def *sum = nir_iadd(b, nir_imul_imm(b, nir_channel(b, of_one, 1), 1000000),
                           nir_imul_imm(b, nir_channel(b, of_each, 3), 1000));
   store(b,
         nir_iadd(b, sum, nir_iadd(b, nir_channel(b, of_constant, 0), nir_channel(b, of_none, 0))));
   run();

   for (unsigned i = 1; i < lanes; i++)
      EXPECT_EQ(memory.out[i], 22000013 + (i < 4 ? 16000 * (i + 1) : 0)) << "lane " << i;
}

TEST_P(gallivm_calls, good_descriptors_need_no_close_look)
{
   for (unsigned i = 0; i < lanes; i++)
      memory.words[0][i] = i == 1 ? 99 : 3;
   memory.mask[1] = 0;
   if (GetParam().stage == MESA_SHADER_FRAGMENT) /* It may be a helper invocation, which runs. */
      memory.words[0][1] = 3;
   memset(memory.result, 0xff, sizeof(memory.result));
   look_often(8);
   store(b, nir_iadd_imm(b, look(load(b, memory.words[0])), 7));
   run();

   EXPECT_EQ(num_calls, 9);
   for (unsigned i = 0; i < lanes; i++) {
      EXPECT_EQ(memory.looked_at[i], ~0u) << "lane " << i;
      EXPECT_EQ(memory.out[i], i == 1 ? 0 : 7) << "lane " << i;
   }
   expect_reports(0);
}

/* One that is not alive, that was never written, of another type, outside, and one of each lane */
TEST_P(gallivm_calls, others_are_looked_at_and_reported)
{
   for (unsigned test = 0; test < 10; test++) {
      const unsigned kind = test / 2;
      ralloc_free(b->shader);
      bld = nir_builder_init_simple_shader(GetParam().stage, &compiler_options, "test");
      memset(memory.num_reports, 0, sizeof(memory.num_reports));
      memory.objects[1 + 2].id = kind == 0 ? 100 : 3;
      memory.shadow.descriptors[2].offers = kind == 1   ? 0
                                            : kind == 2 ? GPUVAL_OFFERS_UNIFORM_BUFFER
                                                        : GPUVAL_OFFERS_STORAGE_BUFFER;
      for (unsigned i = 0; i < lanes; i++) {
         memory.words[0][i] = kind == 3 ? 4 : kind == 4 ? i % 4 : 2;
         memory.looked_at[i] = ~0;
         memory.result[i] = i; /* bad, not uniform, both */
      }
      memory.mask[3] = 0;
      look_often(test % 2 * 8);
      store(b, nir_ior_imm(b, look(load(b, memory.words[0])), 16));
      run();

      for (unsigned i = 0; i < lanes; i++) {
         if (i != 3) {
            EXPECT_EQ(memory.looked_at[i], memory.words[0][i]) << kind << " lane " << i;
            EXPECT_EQ(memory.out[i], 16 | i) << kind << " lane " << i;
         }
         const bool is_bad = i & 1, differs = (i & 3) == 2;
         EXPECT_EQ(memory.num_reports[i], i != 3 && (is_bad || differs)) << kind << " lane " << i;
         if (i == 3 || !(is_bad || differs))
            continue;
         const uint32_t expected[num_report_words] = {
            is_bad ? 20u : 21u,
            1u | GPUVAL_REPORT_DESCRIPTOR << 16 | (uint32_t)GetParam().stage << 24,
            0,
            0,
            0,
            0,
            memory.words[0][i],
            6,
            7,
            8,
         };
         for (unsigned j = 0; j < num_report_words; j++)
            EXPECT_EQ(memory.last_report[i][j], expected[j]) << "lane " << i << " word " << j;
      }
   }
}

/* The first ones are compared in the shader, and the others by a function. */
TEST_P(gallivm_calls, comparisons_of_large_shaders_are_calls)
{
   nir_def *each = nir_iand_imm(b, load(b, memory.words[0]), 3);
   for (unsigned i = 0; i < 12; i++)
      check_buffer(each, nir_imm_int(b, 0), 16, 30); /* fits into each buffer */
   check_buffer(each, nir_imm_int(b, 12), 8, 40);    /* leaves the first one's */
   memory.condition[4 % lanes] = 0;                  /* which is not looked at there */
   run();

   const uint32_t firsts = 0x1111 & BITFIELD_MASK(lanes);
   expect_reports(firsts & ~(1u << 4 % lanes));
   for (unsigned i = 0; i < lanes; i++) {
      if (!memory.num_reports[i])
         continue;
      const uint32_t expected[num_report_words] = {
         40, 3u | (uint32_t)GetParam().stage << 24, 12, 0, 0, 0, 0, 6, 7, 8};
      for (unsigned j = 0; j < num_report_words; j++)
         EXPECT_EQ(memory.last_report[i][j], expected[j]) << "lane " << i << " word " << j;
   }
}

/* Bytes at the ends of a buffer of 48 bytes, by the function and in the shader */
TEST_P(gallivm_calls, both_comparisons_are_exact)
{
   const struct {
      uint32_t offset, size;
      bool is_outside;
   } ranges[] = {
      {0, 48, false},        {0, 49, true},
      {47, 1, false},        {48, 1, true},
      {44, 4, false},        {45, 4, true},
      {UINT32_MAX, 1, true}, {UINT32_MAX - 3, 4, true},
      {46, 2, false},        {UINT32_MAX - 1, 16, true},
   };

   for (const auto &range : ranges) {
      for (unsigned num_before = 0; num_before <= 8; num_before += 8) {
         ralloc_free(b->shader);
         bld = nir_builder_init_simple_shader(GetParam().stage, &compiler_options, "test");
         memset(memory.num_reports, 0, sizeof(memory.num_reports));
         memset(memory.words[0], 0, sizeof(memory.words[0]));
         for (unsigned i = 0; i < lanes; i++)
            memory.words[1][i] = 2;
         nir_def *slot = nir_as_uniform(b, load(b, memory.words[1]));
         for (unsigned i = 0; i < num_before; i++)
            check_buffer(slot, nir_imm_int(b, 0), 1, 30);
         check_buffer(slot, nir_iadd_imm(b, load(b, memory.words[0]), range.offset), range.size,
                      40);
         run();
         expect_reports(range.is_outside ? BITFIELD_MASK(lanes) : 0);
      }
   }
}

/* The report's function marks, or looks and reports. */
TEST_P(gallivm_calls, ranges_call_where_not_all_is_written)
{
   memset(memory.written, 0xff, sizeof(memory.written));
   memory.written[4 * 1 + 1] = 0; /* lane 1, the second word */
   memory.written[4 * 2] = 0;     /* lane 2, the first one */
   memory.written[4 * 3] = 0;     /* lane 3, which does not run */
   memory.mask[3] = 0;
   nir_def *one = range_detail(1), *two = range_detail(2);
   range(nir_imm_true(b), 5, one);
   range(nir_imm_true(b), 7, two);
   run();

   EXPECT_EQ(num_calls, 1);
   for (unsigned i = 0; i < lanes; i++)
      EXPECT_EQ(memory.num_reports[i], i == 1 ? 1 : i == 2 ? 2 : 0) << "lane " << i;
   for (unsigned i = 1; i < 3; i++) {
      const uint64_t address = window + 16 * i;
      const uint32_t expected[num_report_words] = {
         7,
         1u | GPUVAL_REPORT_UNWRITTEN << 16 | (uint32_t)GetParam().stage << 24,
         (uint32_t)address,
         (uint32_t)(address >> 32),
         8,
         0,
         0,
         6,
         7,
         8,
      };
      for (unsigned j = 0; j < num_report_words; j++)
         EXPECT_EQ(memory.last_report[i][j], expected[j]) << "lane " << i << " word " << j;
   }
}

TEST_P(gallivm_calls, ranges_have_conditions)
{
   memory.condition[0] = 0;
   range(condition(), 5, range_detail(4));
   run();

   for (unsigned i = 0; i < lanes; i++)
      EXPECT_EQ(memory.num_reports[i], i != 0) << "lane " << i;
}

/* A range whose marks are in no one word is looked at by the report's function always, one without
 * marks never.
 */
TEST_P(gallivm_calls, ranges_may_have_no_marks)
{
   nir_def *detail =
      nir_vec4(b, nir_imm_int(b, 64), nir_imm_int(b, 0), nir_imm_int(b, 4), nir_imm_int(b, 0xff));
   nir_def *unknown =
      nir_vec4(b, nir_imm_int(b, 64), nir_imm_int(b, 0), nir_imm_int(b, 24), nir_imm_int(b, 0));
   range(nir_imm_true(b), 5, detail);
   range(nir_imm_true(b), 5, unknown);
   run();

   for (unsigned i = 0; i < lanes; i++) {
      EXPECT_EQ(memory.num_reports[i], 1) << "lane " << i;
      EXPECT_EQ(memory.last_report[i][4], 24) << "lane " << i;
   }
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

/* Those whose words are constants are one call, whatever is between them. */
TEST_P(gallivm_calls, constant_reports_have_lanes_and_words_of_their_own)
{
   nir_def *lane = nir_load_subgroup_invocation(b);
   nir_def *offset = load(b, memory.words[2]);
   report(nir_ieq_imm(b, lane, 0), 11, nir_imm_int(b, 40));
   report(nir_imm_false(b), 12, nir_imm_int(b, 41));
   report(nir_ieq_imm(b, lane, 1), 13, offset);
   report(nir_ieq_imm(b, lane, 2), 14, nir_imm_int(b, 42));
   report(nir_ige_imm(b, lane, 3), 15, nir_imm_int(b, 43));
   run();

   for (unsigned i = 0; i < lanes; i++) {
      const uint32_t bases[] = {11, 13, 14, 15}, offsets[] = {40, memory.words[2][1], 42, 43};
      const uint32_t word = 2 | 3 << 16 | (uint32_t)GetParam().stage << 24;
      const unsigned row = MIN2(i, 3);
      const uint32_t expected[] = {bases[row], word, offsets[row], 2, 3, 4, 5, 6, 7, 8};
      EXPECT_EQ(memory.num_reports[i], 1) << "lane " << i;
      for (unsigned j = 0; j < ARRAY_SIZE(expected); j++)
         EXPECT_EQ(memory.last_report[i][j], expected[j]) << "lane " << i << " word " << j;
   }
}

/* Long chains of conditions are in that mask, and LLVM must not be led to order them anew. */
TEST_P(gallivm_calls, nothing_reassociates_the_mask)
{
   nir_def *bad = check_address(add_buffer(20), 0);
   nir_def *sum = call_sum(condition());
   report(nir_ige_imm(b, nir_load_subgroup_invocation(b), 2), 11, sum);
   report(nir_ieq_imm(b, sum, 1), 12, bad);
   store(b, nir_ior(b, sum, bad));
   run();

   EXPECT_EQ(num_calls, 4u);
   EXPECT_EQ(num_reassociable, 0u);
}

TEST_P(gallivm_calls, cells_are_loaded_and_stored_lane_by_lane)
{
   memory.condition[1] = 0;
   for (unsigned i = 0; i < max_lanes; i++) {
      for (unsigned j = 0; j < 4; j++)
         memory.cells[i][j] = 10 * i + j;
   }
   sync(GPUVAL_SYNC_SHARED | GPUVAL_BLOOM_ATOMIC, 1);
   run();

   for (unsigned i = 0; i < lanes; i++) {
      for (unsigned j = 0; j < 4; j++)
         EXPECT_EQ(memory.cells[i][j], 10 * i + (i == 1 ? j : j ^ 2)) << "lane " << i;
   }
}

/* Cells side by side are looked at as one, others lane by lane. */
TEST_P(gallivm_calls, what_is_past_gets_marks)
{
   fill_cells(before, before);
   sync(GPUVAL_BLOOM_LOAD, 1);
   run();

   for (unsigned i = 0; i < lanes; i++)
      expect_cell(i, 1, before, mark(i), now);
   EXPECT_EQ(memory.sync_word[0], 0);
}

TEST_P(gallivm_calls, what_is_past_gets_marks_anywhere)
{
   const unsigned stride = max_lanes / lanes;
   if (stride == 1)
      return;

   fill_cells(before, before);
   sync(GPUVAL_BLOOM_LOAD, stride);
   run();

   for (unsigned i = 0; i < max_lanes; i++) {
      bool is_loaded = i % stride == 0;
      expect_cell(i, 1, before, is_loaded ? mark(i / stride) : 2, is_loaded ? now : before);
   }
   EXPECT_EQ(memory.sync_word[0], 0);
}

TEST_P(gallivm_calls, a_store_replaces_what_its_own_lane_has_loaded)
{
   memory.condition[1] = GetParam().stage != MESA_SHADER_VERTEX; /* all lanes, and not */
   fill_cells(before, 0);
   sync(GPUVAL_BLOOM_LOAD, 1);
   sync(GPUVAL_BLOOM_STORE, 1);
   run();

   for (unsigned i = 0; i < lanes; i++) {
      if (memory.condition[i])
         expect_cell(i, mark(i), now, 0, 0);
      else
         expect_cell(i, 1, before, 0, 0);
      EXPECT_EQ(memory.sync_word[i], 0);
   }
}

TEST_P(gallivm_calls, readers_of_several_workgroups_stay)
{
   const uint32_t everybody = 3u << 30 | 77;
   fill_cells(before, 0);
   for (auto &cell : memory.cells) {
      cell[2] = everybody;
      cell[3] = now;
   }
   memory.cells[2][2] = mark(2) ^ 1u << 17; /* one of another */
   sync(GPUVAL_BLOOM_LOAD, 1);
   run();

   for (unsigned i = 0; i < lanes; i++) {
      expect_cell(i, 1, before, i == 2 ? 3u << 30 | mark(i) : everybody, now);
      EXPECT_EQ(memory.sync_word[i], 0);
   }
}

TEST_P(gallivm_calls, what_has_to_be_looked_at_goes_on)
{
   fill_cells(before, before);
   memory.cells[1][1] = now | 1 << 12;
   sync(GPUVAL_BLOOM_STORE, 1);
   run();

   for (unsigned i = 0; i < lanes; i++) {
      expect_cell(i, i == 1 ? 1 : mark(i), i == 1 ? now | 1 << 12 : now, 2, before);
      EXPECT_EQ(memory.sync_word[i], i == 1 ? sync_word(GPUVAL_BLOOM_STORE) : 0) << "lane " << i;
   }
}

TEST_P(gallivm_calls, lanes_whose_marks_are_taken_go_on)
{
   fill_cells(before, before);
   sync(GPUVAL_BLOOM_STORE, 0);
   run();

   expect_cell(0, mark(lanes - 1), now, 2, before);
   for (unsigned i = 0; i < lanes; i++)
      EXPECT_EQ(memory.sync_word[i],
                i < lanes - 1 ? sync_word(GPUVAL_BLOOM_STORE | GPUVAL_SYNC_WAS_TAKEN) : 0)
         << "lane " << i;
}

TEST_P(gallivm_calls, accesses_outside_the_window_go_on)
{
   fill_cells(before, before);
   sync(GPUVAL_BLOOM_LOAD, -4);
   run();

   for (unsigned i = 0; i < lanes; i++)
      EXPECT_EQ(memory.sync_word[i], i ? sync_word(GPUVAL_BLOOM_LOAD) : 0) << "lane " << i;
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

/* Each for itself would take LLVM many times as long as the accesses do. */
TEST_P(gallivm_calls, addresses_a_constant_apart_share_a_call)
{
   nir_def *base = add_buffer(20), *bits = nir_imm_int(b, 0);

   for (unsigned i = 0; i < 8; i++) {
      nir_def *bad = check_address(nir_iadd_imm(b, base, 4 * i), i);
      bits = nir_ior(b, bits, nir_ishl_imm(b, bad, i));
   }
   store(b, bits);
   run();

   EXPECT_EQ(num_calls, 1u);
   for (unsigned i = 0; i < lanes; i++) {
      EXPECT_EQ(memory.out[i], 0xe0u) << "lane " << i;
      EXPECT_EQ(memory.num_reports[i], 3u) << "lane " << i;
      const uint32_t *words = memory.last_report[i];
      EXPECT_EQ(words[0], 14u);
      EXPECT_EQ(words[2], uint32_t(buffer_address + 28));
      EXPECT_EQ(words[3], 0u);
      EXPECT_EQ(words[6], uint32_t((buffer_address + 28) >> 32));
      EXPECT_EQ(words[7], 6u);
      EXPECT_EQ(words[9], 8u);
   }
}

TEST_P(gallivm_calls, good_addresses_report_nothing)
{
   nir_def *base = add_buffer(4 * max_lanes + 12, 4), *bits = nir_imm_int(b, 0);

   for (int i = 3; i >= 0; i--)
      bits = nir_ior(b, bits, check_address(nir_iadd_imm(b, base, 4 * i), i));
   store(b, bits);
   run();

   for (unsigned i = 0; i < lanes; i++) {
      EXPECT_EQ(memory.out[i], 0u) << "lane " << i;
      EXPECT_EQ(memory.num_reports[i], 0u) << "lane " << i;
   }
}

/* Some lanes are outside with some of them, and one address is misaligned in all. */
TEST_P(gallivm_calls, lanes_and_addresses_are_told_apart)
{
   memory.mask[3] = 0;
   nir_def *base = add_buffer(8, 4);
   nir_def *other = nir_iadd_imm(b, nir_u2u64(b, load(b, memory.words[0])), buffer_address);
   nir_def *bits = check_address(base, 0);
   bits = nir_ior(b, bits, nir_ishl_imm(b, check_address(nir_iand_imm(b, other, ~3ull), 1), 1));
   bits = nir_ior(b, bits, nir_ishl_imm(b, check_address(nir_iadd_imm(b, base, 4), 2), 2));
   bits = nir_ior(b, bits, nir_ishl_imm(b, check_address(nir_iadd_imm(b, base, 2), 3), 3));
   store(b, bits);
   run();

   for (unsigned i = 0; i < lanes; i++) {
      if (i == 3)
         continue;
      const uint64_t outside = (i >= 2) | (i >= 8) << 1 | (i >= 1) << 2 | (i >= 1) << 3;
      EXPECT_EQ(memory.out[i], outside) << "lane " << i;
      EXPECT_EQ(memory.num_reports[i], util_bitcount(outside) + (i == 0)) << "lane " << i;
   }
   EXPECT_EQ(memory.num_reports[3], 0u);
}

/* Those behind the first few of a shader have no branch. */
TEST_P(gallivm_calls, many_groups_of_addresses_are_told_apart)
{
   memory.mask[3] = 0;
   add_buffer(40);
   nir_def *zero = load(b, memory.sync_word), *bits = nir_imm_int(b, 0);
   for (unsigned i = 0; i < 12; i++) {
      nir_def *offset = nir_u2u64(b, nir_iadd_imm(b, zero, i == 9 ? 2 : 4 * i));
      nir_def *bad = check_address(nir_iadd_imm(b, offset, buffer_address), i);
      bits = nir_ior(b, bits, nir_ishl_imm(b, bad, i));
   }
   store(b, bits);
   run();

   EXPECT_EQ(num_calls, 12u);
   for (unsigned i = 0; i < lanes; i++) {
      if (i == 3)
         continue;
      EXPECT_EQ(memory.out[i], 0xc00u) << "lane " << i;
      EXPECT_EQ(memory.num_reports[i], 3u) << "lane " << i;
      EXPECT_EQ(memory.last_report[i][0], 22u) << "lane " << i;
      EXPECT_EQ(memory.last_report[i][7], 6u) << "lane " << i;
   }
   EXPECT_EQ(memory.num_reports[3], 0u);
}

TEST_P(gallivm_calls, addresses_do_not_go_before_what_ends_invocations)
{
   if (GetParam().stage != MESA_SHADER_FRAGMENT)
      return;

   memory.condition[2] = 0;
   nir_def *base = add_buffer(4);
   check_address(base, 0);
   nir_terminate_if(b, condition());
   check_address(nir_iadd_imm(b, base, 4), 1);
   run();

   EXPECT_EQ(num_calls, 2u);
   for (unsigned i = 0; i < lanes; i++)
      EXPECT_EQ(memory.num_reports[i], i == 2 ? 1u : 0u) << "lane " << i;
}

/* Whoever compiles, code in the cache is that of the same function. */
TEST_P(gallivm_calls, functions_come_from_the_cache)
{
   char folder[] = "/tmp/gpuval-test-XXXXXX";
   ASSERT_NE(mkdtemp(folder), nullptr);
   setenv("MESA_SHADER_CACHE_DIR", folder, 1);
   unsetenv("MESA_SHADER_CACHE_DISABLE");

   functions others;
   others.rows[function_sum].build = build_zero;
   const functions tables[] = {functions(), functions(), others, others};
   for (const functions &table : tables) {
      struct gpuval_lvp_jit *each = gpuval_lvp_jit_create(table.rows, &compiler_options, true);
      functions_address = gpuval_lvp_jit_functions(each);
      b->cursor = nir_after_impl(nir_shader_get_entrypoint(b->shader));
      store(b, call_sum(condition()));
      run();
      for (unsigned i = 0; i < lanes; i++)
         EXPECT_EQ(memory.out[i], &table - tables < 2 ? sum(i) : 0) << "lane " << i;
      gpuval_lvp_jit_destroy(each);
   }
   EXPECT_EQ(system(("rm -rf " + std::string(folder)).c_str()), 0);
}

/* The next process, too, has what has been added; of another key nothing. */
TEST(gallivm_functions, are_kept)
{
   char folder[] = "/tmp/gpuval-test-XXXXXX", code[] = "code";
   ASSERT_NE(mkdtemp(folder), nullptr);
   setenv("MESA_SHADER_CACHE_DIR", folder, 1);
   unsetenv("MESA_SHADER_CACHE_DISABLE");
   struct lp_cached_code added = {}, found = {};
   added.data = code;
   added.data_size = sizeof(code);

   EXPECT_FALSE(gpuval_lvp_find_code("key", 3, &found));
   EXPECT_EQ(found.data_size, 0);
   gpuval_lvp_add_code("key", 3, &added);
   EXPECT_FALSE(gpuval_lvp_find_code("ke", 2, &found));
   ASSERT_TRUE(gpuval_lvp_find_code("key", 3, &found));
   ASSERT_EQ(found.data_size, sizeof(code));
   EXPECT_STREQ((char *)found.data, code);
   free(found.data);

   added.dont_cache = true; /* addresses are in it */
   gpuval_lvp_add_code("other", 5, &added);
   EXPECT_FALSE(gpuval_lvp_find_code("other", 5, &found));

   setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
   EXPECT_FALSE(gpuval_lvp_find_code("key", 3, &found));
   unsetenv("MESA_SHADER_CACHE_DISABLE");
   EXPECT_EQ(system(("rm -rf " + std::string(folder)).c_str()), 0);
}

/* The Vulkan CTS makes a device for a good deal of its tests. */
TEST(gallivm_functions, are_compiled_once)
{
   nir_shader_compiler_options compiler_options = {};
   functions table;
   setenv("GPUVAL", "assume", 1);
   gpuval_options_init(false);
   lp_build_init();
   glsl_type_singleton_init_or_ref();

   const struct gpuval_lvp_jit *jit = gpuval_lvp_jit_get(table.rows, &compiler_options, true);
   EXPECT_EQ(gpuval_lvp_jit_get(table.rows, &compiler_options, true), jit);
   EXPECT_NE(gpuval_lvp_jit_get(table.rows, &compiler_options, false), jit);
}

INSTANTIATE_TEST_SUITE_P(
   stages, gallivm_calls,
   ::testing::Values(variant{MESA_SHADER_VERTEX, false}, variant{MESA_SHADER_TESS_CTRL, true},
                     variant{MESA_SHADER_TESS_EVAL, false}, variant{MESA_SHADER_GEOMETRY, true},
                     variant{MESA_SHADER_FRAGMENT, false}, variant{MESA_SHADER_COMPUTE, false},
                     variant{MESA_SHADER_MESH, false}));

} // namespace
