/* SPDX-License-Identifier: MIT */

/* Cells of shadow memory: accesses of all kinds, one after the other, and which of them meet
 * somebody. What shaders call is executed, with cells in the test's own memory.
 */

#include <gtest/gtest.h>

#include <memory>

#include "base/gpuval_bloom.h"
#include "base/gpuval_options.h"
#include "base/gpuval_order.h"
#include "base/gpuval_shadow.h"
#include "nir_passes/gpuval_nir_private.h"
#include "nir_run.h"

namespace {

const unsigned memory_size = 64;
const unsigned workgroup_log2 = 5, subgroup_log2 = 2;
const unsigned unknown_phase = GPUVAL_SHADOW_PHASE_UNKNOWN;

/* What shaders see of a device, and a buffer with its cells */
struct device {
   gpuval_root root;
   gpuval_slots slots;
   uint64_t counters[1];
   uint32_t failing[1];
   gpuval_entry entry;
   gpuval_shadow_layout layout;
   uint32_t serials[16];
   gpuval_shadow_release times[memory_size / GPUVAL_SHADOW_WORD];
   gpuval_command_data data;
   gpuval_order_table table;

   alignas(16) uint64_t areas[3 * 4];
   alignas(memory_size) uint8_t memory[memory_size];
   alignas(16) uint64_t words[memory_size / GPUVAL_SHADOW_WORD * 2];
   alignas(16) uint64_t bytes[memory_size * 2];
   gpuval_shadow_clock *clocks;

   /* of a workgroup's memory: two words of order, cells */
   alignas(16) uint32_t shared[2 + 2 + 2 * memory_size / 4];
};

device *
get_device(const struct gpuval_nir_driver *driver)
{
   return (device *)driver->data;
}

nir_def *
root_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return nir_imm_int64(b, (uintptr_t)&get_device(driver)->root);
}

nir_def *
command_id(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return nir_imm_int(b, get_device(driver)->data.command_id);
}

nir_def *
command_data(const struct gpuval_nir_driver *driver, nir_builder *b, unsigned bit_size,
             unsigned offset)
{
   return gpuval_load_global(b, nir_imm_int64(b, (uintptr_t)&get_device(driver)->data + offset),
                             bit_size / 8, 1, bit_size);
}

/* An access, or what an atomic or a memory barrier does */
struct access {
   uint32_t type = GPUVAL_BLOOM_LOAD;
   uint64_t at = 0; /* in the memory; UINT32_MAX: no address */
   unsigned size = 4;
   uint32_t invocation = 0;
   unsigned phase = 0, sub = 0;
   uint32_t order = GPUVAL_ORDER_STORAGE_READ;
   unsigned operation = GPUVAL_SYNC_NOTHING;
};

access
by(uint32_t invocation, uint32_t type, unsigned phase = 0, unsigned sub = 0)
{
   access a;
   a.type = type;
   a.invocation = invocation;
   a.phase = phase;
   a.sub = sub;
   a.order = type == GPUVAL_BLOOM_STORE    ? GPUVAL_ORDER_WRITE
             : type == GPUVAL_BLOOM_ATOMIC ? GPUVAL_ORDER_ATOMIC
                                           : GPUVAL_ORDER_STORAGE_READ;
   return a;
}

access
load(uint32_t invocation, unsigned phase = 0, unsigned sub = 0)
{
   return by(invocation, GPUVAL_BLOOM_LOAD, phase, sub);
}

access
store(uint32_t invocation, unsigned phase = 0, unsigned sub = 0)
{
   return by(invocation, GPUVAL_BLOOM_STORE, phase, sub);
}

access
atomic(uint32_t invocation, unsigned phase = 0, unsigned sub = 0)
{
   return by(invocation, GPUVAL_BLOOM_ATOMIC, phase, sub);
}

access
bytes(access a, unsigned at, unsigned size)
{
   a.at = at;
   a.size = size;
   return a;
}

/* Where the cells are */
enum place { WINDOW, TABLE, SHARED };

class cells_test : public ::testing::TestWithParam<place> {
 protected:
   cells_test(): state((device *)aligned_alloc(alignof(device), sizeof(device)))
   {
      memset(state, 0, sizeof(*state));
      glsl_type_singleton_init_or_ref();
      driver.data = state;
      driver.root_address = root_address;
      driver.command_id = command_id;
      driver.command_data = command_data;
      driver.num_lanes = 1;

      state->clocks = (gpuval_shadow_clock *)calloc(GPUVAL_SHADOW_CLOCKS, sizeof(*state->clocks));
      state->root.slots_address = (uintptr_t)&state->slots;
      state->root.counters_address = (uintptr_t)state->counters;
      state->root.failing_address = (uintptr_t)state->failing;
      state->root.poll_address = (uintptr_t)&state->root.poll;
      state->root.max_failing = 1;
      state->root.entries_address = (uintptr_t)&state->entry;
      state->root.shadow_address = (uintptr_t)&state->layout;
      uintptr_t memory = (uintptr_t)state->memory;
      state->layout.bytes = (uintptr_t)state->bytes - memory * GPUVAL_SHADOW_BYTES_SCALE;
      state->layout.serials = (uintptr_t)state->serials;
      state->layout.times = (uintptr_t)state->times - memory * GPUVAL_SHADOW_TIMES_SCALE;
      state->layout.times_mask = UINT64_MAX;
      state->layout.clocks = (uintptr_t)state->clocks;
      state->layout.clocks_mask = GPUVAL_SHADOW_CLOCKS - 1;
      state->data.shadow_window = memory;
      state->data.shadow_words = (uintptr_t)state->words - memory * GPUVAL_SHADOW_WORDS_SCALE;
      state->data.order_address = (uintptr_t)&state->table;
      if (GetParam() == TABLE)
         use_table();
      begin_command(1, 1);
   }

   /* The memory between others; whatever a window has does not count. */
   void use_table()
   {
      gpuval_shadow_table *table = (gpuval_shadow_table *)state->areas;
      uintptr_t memory = (uintptr_t)state->memory;

      driver.has_table = true;
      table->count = 3;
      table->areas[0] = {memory - 4096, 4000, 8};
      table->areas[1] = {memory, memory_size, state->data.shadow_words};
      table->areas[2] = {memory + 4096, 4096, 8};
      state->layout.bytes = (uintptr_t)state->bytes;
      state->layout.max_splits = sizeof(state->bytes) / GPUVAL_SHADOW_SPLIT_SIZE;
      state->layout.times = (uintptr_t)state->times;
      state->layout.times_mask = memory_size - 1;
      state->data.shadow_window = 0;
      state->data.shadow_words = (uintptr_t)table;
   }

   ~cells_test()
   {
      free(state->clocks);
      free(state);
      glsl_type_singleton_decref();
   }

   /* Commands below @ordered are ordered before this one. */
   void begin_command(unsigned number, unsigned ordered)
   {
      state->data.shadow_command = number << GPUVAL_SHADOW_COMMAND_SHIFT;
      state->data.shadow_ordered = ordered << GPUVAL_SHADOW_COMMAND_SHIFT;
      state->data.shadow_others = state->data.shadow_ordered;
      state->serials[number] = number;
   }

   /* Whether it meets somebody */
   bool meets(const access &a)
   {
      static const nir_shader_compiler_options options = {};
      nir_builder bld = nir_builder_init_simple_shader(MESA_SHADER_COMPUTE, &options, "test");
      nir_builder *b = &bld;
      nir_def *zero = nir_imm_int(b, 0);
      gpuval_nir_access_params params = {};
      uint32_t token = context;
      uint64_t address = a.operation != GPUVAL_SYNC_NOTHING && a.at == UINT32_MAX
                            ? 0
                            : (uintptr_t)state->memory + a.at;

      params.size = nir_imm_int(b, a.operation != GPUVAL_SYNC_NOTHING ? a.operation : a.size);
      params.offset = zero;
      params.slot = zero;
      if (is_shared()) {
         token = GPUVAL_SHADOW_CONTEXT(2, subgroup_log2, by_phases, 1);
         address = (uintptr_t)state->shared;
         if (a.operation == GPUVAL_SYNC_NOTHING) {
            address += GPUVAL_SHARED_ORDER_SIZE + a.at / 4 * GPUVAL_SHARED_CELL_SIZE;
            params.offset = nir_imm_int(b, a.at);
            params.slot = nir_imm_int(b, GPUVAL_SHARED_ORDER_SIZE);
         }
      }
      params.address = nir_imm_int64(b, address);
      params.type = nir_imm_int(b, a.type);
      params.access = nir_imm_int(b, a.order);
      params.orders = nir_imm_bool(b, a.operation != GPUVAL_SYNC_NOTHING);
      params.entry = zero;
      params.invocation_id = nir_imm_int(b, a.invocation);
      params.has_phases = nir_imm_true(b);
      params.token = nir_imm_int(b, token);
      params.phase = nir_imm_int(b, a.phase | a.sub << 16);
      params.value = zero;
      params.has_value = nir_imm_false(b);
      params.set = zero;
      for (nir_def *&word : params.invocation)
         word = zero;

      if (is_shared())
         gpuval_nir_build_shared(b, &driver, &params);
      else
         gpuval_nir_build_shadow(b, &driver, &params);
      nir_lower_vars_to_ssa(b->shader);
      nir_opt_dce(b->shader);
      nir_validate_shader(b->shader, "as built");
      nir_index_ssa_defs(b->impl);

      uint64_t before = state->counters[0];
      nir_run run(b->impl);
      ralloc_free(b->shader);
      return state->counters[0] != before;
   }

   bool is_shared() const
   {
      return GetParam() == SHARED;
   }

   device *state;
   unsigned by_phases = 0; /* GPUVAL_SHARED_BY_PHASES, where nothing else orders what a test does */
   struct gpuval_nir_driver driver = {};
   uint32_t context = GPUVAL_SHADOW_CONTEXT(workgroup_log2, subgroup_log2, GPUVAL_ORDER_COMPUTE, 1);
};

INSTANTIATE_TEST_SUITE_P(memory, cells_test, ::testing::Values(WINDOW, TABLE, SHARED),
                         [](const auto &info) {
                            return info.param == WINDOW  ? "window"
                                   : info.param == TABLE ? "table"
                                                         : "shared";
                         });

TEST_P(cells_test, an_invocation_never_meets_itself)
{
   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(load(3)));
   EXPECT_FALSE(meets(atomic(3)));
   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(store(3, 1)));
}

TEST_P(cells_test, readers_meet_nobody)
{
   for (uint32_t i = 0; i < 8; i++)
      EXPECT_FALSE(meets(load(i))) << i;
}

TEST_P(cells_test, others_of_the_workgroup_without_a_barrier)
{
   EXPECT_FALSE(meets(store(3)));
   EXPECT_TRUE(meets(load(4)));
   EXPECT_TRUE(meets(store(20)));
}

TEST_P(cells_test, one_who_writes_meets_those_who_have_read)
{
   EXPECT_FALSE(meets(load(3)));
   EXPECT_TRUE(meets(store(4)));
}

TEST_P(cells_test, who_has_read_alone_may_write)
{
   EXPECT_FALSE(meets(load(3)));
   EXPECT_FALSE(meets(store(3)));
}

TEST_P(cells_test, who_has_read_with_others_may_not)
{
   EXPECT_FALSE(meets(load(3)));
   EXPECT_FALSE(meets(load(20)));
   EXPECT_TRUE(meets(store(3)));
}

TEST_P(cells_test, loads_that_meet_in_a_phase_stand_for_all)
{
   by_phases = GPUVAL_SHARED_BY_PHASES;
   EXPECT_FALSE(meets(load(20)));
   EXPECT_FALSE(meets(load(0)));
   EXPECT_FALSE(meets(load(20)));
   EXPECT_TRUE(meets(store(20)));
   EXPECT_FALSE(meets(store(3, 1)));
   EXPECT_FALSE(meets(load(3, 1)));
   EXPECT_TRUE(meets(load(4, 1)));
   EXPECT_FALSE(meets(load(4, 2)));
   EXPECT_FALSE(meets(load(5, 2)));
   EXPECT_FALSE(meets(load(6, 2)));
   EXPECT_TRUE(meets(atomic(6, 2)));
   EXPECT_FALSE(meets(store(7, 3)));
   EXPECT_FALSE(meets(store(7, 3)));
}

TEST_P(cells_test, nobody_is_not_the_first_invocation)
{
   by_phases = GPUVAL_SHARED_BY_PHASES;
   EXPECT_FALSE(meets(load(0)));
   EXPECT_TRUE(meets(store(1)));
}

TEST_P(cells_test, others_of_the_workgroup_behind_a_barrier)
{
   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(load(4, 1)));
   EXPECT_FALSE(meets(load(5, 1)));
   EXPECT_TRUE(meets(store(4, 1))); /* 5 has read */
   EXPECT_FALSE(meets(load(5, 2)));
}

TEST_P(cells_test, barriers_of_a_subgroup)
{
   EXPECT_FALSE(meets(store(4)));
   EXPECT_FALSE(meets(load(5, 0, 1))); /* 4 to 7 are one */
   EXPECT_TRUE(meets(store(8, 0, 1)));
}

TEST_P(cells_test, atomics_meet_no_atomics_but_others)
{
   EXPECT_FALSE(meets(atomic(3)));
   EXPECT_FALSE(meets(atomic(20)));
   EXPECT_TRUE(meets(load(4)));
   EXPECT_TRUE(meets(store(5)));
}

TEST_P(cells_test, several_atomics_are_not_one_invocation)
{
   EXPECT_FALSE(meets(atomic(3)));
   EXPECT_FALSE(meets(atomic(20)));
   EXPECT_TRUE(meets(load(20)));
}

TEST_P(cells_test, an_atomic_meets_a_load)
{
   EXPECT_FALSE(meets(load(3)));
   EXPECT_TRUE(meets(atomic(4)));
}

TEST_P(cells_test, what_is_not_known_is_not_reported)
{
   EXPECT_FALSE(meets(store(3, unknown_phase)));
   EXPECT_FALSE(meets(load(4, unknown_phase)));
   EXPECT_FALSE(meets(store(5, unknown_phase + 1)));
   EXPECT_FALSE(meets(store(6, 7)));
}

TEST_P(cells_test, the_last_phase_that_is_known_is_reported)
{
   EXPECT_FALSE(meets(store(3, unknown_phase - 1)));
   EXPECT_TRUE(meets(load(4, unknown_phase - 1)));
}

TEST_P(cells_test, too_many_barriers_of_a_subgroup_are_not_reported)
{
   EXPECT_FALSE(meets(store(4, 0, GPUVAL_SHADOW_SUB_UNKNOWN)));
   EXPECT_FALSE(meets(load(5, 0, GPUVAL_SHADOW_SUB_UNKNOWN)));
   EXPECT_TRUE(meets(load(8, 0, GPUVAL_SHADOW_SUB_UNKNOWN))); /* of another subgroup */
}

/* Who has passed a barrier that orders no memory knows of nobody before it. */
TEST_P(cells_test, phases_that_are_not_ordered)
{
   const unsigned one_behind = 1u << GPUVAL_NIR_BEHIND_SHIFT;

   EXPECT_FALSE(meets(store(3)));
   EXPECT_TRUE(meets(load(4, 1 | one_behind)));
   EXPECT_FALSE(meets(load(4, 1)));
   EXPECT_TRUE(meets(bytes(store(5, 2 | 2 * one_behind), 0, 4)));
   EXPECT_FALSE(meets(store(20, 3)));
   EXPECT_FALSE(meets(load(21, 5 | one_behind)));
   EXPECT_TRUE(meets(load(20, 6 | one_behind)) || meets(store(20, 6 | one_behind)));
}

TEST_P(cells_test, barriers_of_a_subgroup_across_phases_that_are_not_ordered)
{
   const unsigned one_behind = 1u << GPUVAL_NIR_BEHIND_SHIFT;

   EXPECT_FALSE(meets(store(4, 0, 1)));
   EXPECT_FALSE(meets(load(5, 1 | one_behind, 2)));
   EXPECT_TRUE(meets(load(6, 1 | one_behind, 1)));
}

TEST_P(cells_test, release_and_acquire_inside_a_workgroup)
{
   access release = store(3), acquire = load(20);
   release.operation = is_shared() ? GPUVAL_SYNC_RELEASE : GPUVAL_SYNC_RELEASE_WORKGROUP;
   acquire.operation = is_shared() ? GPUVAL_SYNC_ACQUIRE : GPUVAL_SYNC_ACQUIRE_WORKGROUP;
   acquire.at = release.at = UINT32_MAX;

   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(release));
   EXPECT_TRUE(meets(load(20)));
   EXPECT_FALSE(meets(acquire));
   EXPECT_FALSE(meets(load(20)));
}

/* Of memory that several workgroups and commands share */
class device_cells_test : public cells_test {};

INSTANTIATE_TEST_SUITE_P(memory, device_cells_test, ::testing::Values(WINDOW, TABLE));

const uint32_t other_group = 1 << workgroup_log2;

TEST_P(device_cells_test, a_barrier_is_nothing_to_other_workgroups)
{
   EXPECT_FALSE(meets(store(3)));
   EXPECT_TRUE(meets(load(other_group, 1)));
}

TEST_P(device_cells_test, what_is_not_known_of_one_workgroup_is_of_another)
{
   EXPECT_FALSE(meets(store(3, unknown_phase)));
   EXPECT_TRUE(meets(load(other_group, unknown_phase)));
}

TEST_P(device_cells_test, readers_of_several_workgroups)
{
   EXPECT_FALSE(meets(load(3)));
   EXPECT_FALSE(meets(load(other_group)));
   EXPECT_TRUE(meets(store(other_group + 1, 1)));
}

TEST_P(device_cells_test, atomics_do_not_hide_readers_before_them)
{
   EXPECT_FALSE(meets(load(3)));
   EXPECT_FALSE(meets(atomic(4, 1)));
   EXPECT_TRUE(meets(atomic(other_group)));
}

TEST_P(device_cells_test, commands_in_order)
{
   EXPECT_FALSE(meets(store(3)));
   begin_command(2, 2);
   EXPECT_FALSE(meets(load(4)));
   begin_command(3, 3);
   EXPECT_FALSE(meets(store(5)));
}

TEST_P(device_cells_test, commands_that_nothing_orders)
{
   EXPECT_FALSE(meets(store(3)));
   begin_command(2, 1);
   EXPECT_TRUE(meets(load(3)));
}

TEST_P(device_cells_test, commands_that_the_table_orders)
{
   gpuval_order_row *row = &state->table.rows[GPUVAL_ORDER_COMPUTE][0];
   EXPECT_FALSE(meets(store(3)));
   begin_command(2, 1);
   row->memory_watermark[GPUVAL_ORDER_WRITE][GPUVAL_ORDER_COMPUTE] = 1;
   EXPECT_TRUE(meets(load(3))); /* available, and not visible */
   row->memory_watermark[GPUVAL_ORDER_STORAGE_READ][GPUVAL_ORDER_COMPUTE] = 1;
   EXPECT_FALSE(meets(load(3)));
}

TEST_P(device_cells_test, earlier_readers_that_nothing_orders_are_not_forgotten)
{
   EXPECT_FALSE(meets(load(3)));
   begin_command(2, 1);
   EXPECT_FALSE(meets(load(4)));
   EXPECT_TRUE(meets(store(4)));
}

TEST_P(device_cells_test, parts_of_a_word)
{
   EXPECT_FALSE(meets(bytes(store(3), 0, 1)));
   EXPECT_FALSE(meets(bytes(store(other_group), 1, 1)));
   EXPECT_FALSE(meets(bytes(load(3), 0, 1)));
   EXPECT_FALSE(meets(bytes(load(other_group), 1, 1)));
   EXPECT_TRUE(meets(bytes(load(3), 1, 1)));
   EXPECT_TRUE(meets(bytes(load(3), 0, 4)));
}

TEST_P(device_cells_test, a_word_whose_bytes_are_stored)
{
   EXPECT_FALSE(meets(store(3)));
   EXPECT_TRUE(meets(bytes(store(other_group), 2, 2)));
}

TEST_P(device_cells_test, who_stores_all_of_a_word_has_it_to_itself)
{
   EXPECT_FALSE(meets(bytes(store(3), 0, 1)));
   EXPECT_EQ(state->words[0] >> 32, GPUVAL_SHADOW_BYTES);
   begin_command(2, 2);
   EXPECT_FALSE(meets(store(4)));
   EXPECT_NE(state->words[0] >> 32, GPUVAL_SHADOW_BYTES);
   EXPECT_TRUE(meets(bytes(load(5), 3, 1)));
}

TEST_P(device_cells_test, vectors_that_straddle)
{
   EXPECT_FALSE(meets(bytes(store(3), 12, 8)));
   EXPECT_FALSE(meets(bytes(load(other_group), 8, 4)));
   EXPECT_FALSE(meets(bytes(load(other_group), 20, 4)));
   EXPECT_TRUE(meets(bytes(load(other_group), 16, 4)));
   EXPECT_TRUE(meets(bytes(load(other_group), 4, 16)));
}

TEST_P(device_cells_test, release_and_acquire_between_workgroups)
{
   access release = store(3), find = load(other_group), acquire = load(other_group);
   release.operation = GPUVAL_SYNC_RELEASE;
   release.at = find.at = 32;
   find.operation = GPUVAL_SYNC_FIND;
   acquire.operation = GPUVAL_SYNC_ACQUIRE;
   acquire.at = UINT32_MAX;

   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(find)); /* too early */
   EXPECT_FALSE(meets(acquire));
   EXPECT_TRUE(meets(load(other_group)));
   begin_command(2, 2);
   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(release));
   EXPECT_FALSE(meets(find));
   EXPECT_TRUE(meets(load(other_group))); /* no memory barrier yet */
   EXPECT_FALSE(meets(acquire));
   EXPECT_FALSE(meets(load(other_group)));
   EXPECT_TRUE(meets(load(2 * other_group))); /* has acquired nothing */
}

TEST_P(device_cells_test, what_was_acquired_is_of_who_has_released)
{
   access release = store(other_group), find = load(2 * other_group), acquire = find;
   release.operation = GPUVAL_SYNC_RELEASE;
   release.at = find.at = 32;
   find.operation = GPUVAL_SYNC_FIND;
   acquire.operation = GPUVAL_SYNC_ACQUIRE;
   acquire.at = UINT32_MAX;

   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(bytes(store(other_group), 4, 4)));
   EXPECT_FALSE(meets(release));
   EXPECT_FALSE(meets(find));
   EXPECT_FALSE(meets(acquire));
   EXPECT_FALSE(meets(bytes(load(2 * other_group), 4, 4)));
   EXPECT_TRUE(meets(load(2 * other_group)));

   /* A release that comes later was not acquired. */
   release.invocation = 3;
   release.at = 36;
   EXPECT_FALSE(meets(bytes(store(3), 8, 4)));
   EXPECT_FALSE(meets(release));
   EXPECT_TRUE(meets(bytes(load(2 * other_group), 8, 4)));
}

/* What invocations do at the word at 32, or at none */
access
order(uint32_t invocation, unsigned operation, uint64_t at = 32)
{
   access a = load(invocation);
   a.operation = operation;
   a.at = operation >= GPUVAL_SYNC_ACQUIRE_SUBGROUP ? UINT32_MAX : at;
   return a;
}

TEST_P(device_cells_test, release_and_acquire_inside_a_subgroup)
{
   EXPECT_FALSE(meets(store(4)));
   EXPECT_FALSE(meets(order(4, GPUVAL_SYNC_RELEASE_SUBGROUP)));
   EXPECT_TRUE(meets(load(5)));
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_ACQUIRE_SUBGROUP)));
   EXPECT_FALSE(meets(load(5)));
   EXPECT_FALSE(meets(order(8, GPUVAL_SYNC_ACQUIRE_SUBGROUP)));
   EXPECT_TRUE(meets(load(8)));
   EXPECT_FALSE(meets(order(8, GPUVAL_SYNC_ACQUIRE_WORKGROUP)));
   EXPECT_TRUE(meets(store(8)));
}

/* The wider of two scopes does for a subgroup. */
TEST_P(device_cells_test, scopes_that_differ)
{
   EXPECT_FALSE(meets(store(4)));
   EXPECT_FALSE(meets(order(4, GPUVAL_SYNC_RELEASE)));
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_ACQUIRE_SUBGROUP)));
   EXPECT_FALSE(meets(load(5)));
   EXPECT_TRUE(meets(load(20)));
}

TEST_P(device_cells_test, release_and_acquire_between_commands)
{
   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(bytes(store(other_group), 4, 4)));
   EXPECT_FALSE(meets(order(3, GPUVAL_SYNC_RELEASE)));
   begin_command(2, 1);
   EXPECT_TRUE(meets(load(3))); /* another workgroup of that number */
   begin_command(3, 1);
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_FIND)));
   EXPECT_TRUE(meets(store(5)));
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_ACQUIRE)));
   EXPECT_FALSE(meets(bytes(load(5), 8, 4)));
   EXPECT_TRUE(meets(bytes(load(5), 4, 4))); /* has released nothing */
}

TEST_P(device_cells_test, a_command_that_has_acquired_from_another_one)
{
   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(order(3, GPUVAL_SYNC_RELEASE)));
   begin_command(2, 1);
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_FIND)));
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_ACQUIRE)));
   EXPECT_FALSE(meets(load(5)));
   EXPECT_FALSE(meets(store(5)));
}

/* Numbers of invocations are other workgroups' in shaders of another size. */
TEST_P(device_cells_test, workgroups_of_another_size)
{
   const uint32_t token =
      GPUVAL_SHADOW_CONTEXT(workgroup_log2 - 1, subgroup_log2, GPUVAL_ORDER_COMPUTE, 1);

   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(order(3 + other_group / 2, GPUVAL_SYNC_RELEASE)));
   EXPECT_FALSE(meets(bytes(store(3 + other_group), 4, 4)));
   begin_command(2, 1);
   context = token;
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_FIND)));
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_ACQUIRE)));
   EXPECT_FALSE(meets(load(5)));
   EXPECT_TRUE(meets(bytes(load(5), 4, 4)));
}

/* Dependencies hand on what was acquired from a command that they do not order before. */
TEST_P(device_cells_test, what_was_acquired_is_handed_on)
{
   gpuval_order_row *row = &state->table.rows[GPUVAL_ORDER_COMPUTE][0];

   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(order(3, GPUVAL_SYNC_RELEASE)));
   begin_command(2, 1);
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_FIND)));
   begin_command(3, 1);
   EXPECT_TRUE(meets(load(7)));
   begin_command(4, 1);
   EXPECT_FALSE(meets(bytes(store(3), 4, 4)));
   EXPECT_FALSE(meets(order(3, GPUVAL_SYNC_RELEASE)));
   begin_command(5, 1);
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_FIND)));
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_ACQUIRE)));
   begin_command(6, 1);
   EXPECT_FALSE(meets(bytes(load(7), 4, 4)));

   /* What a dependency orders is nothing to others. */
   begin_command(7, 7);
   EXPECT_FALSE(meets(bytes(store(3), 8, 4)));
   EXPECT_FALSE(meets(order(3, GPUVAL_SYNC_RELEASE)));
   for (unsigned i = 0; i < GPUVAL_ORDER_ACCESSES; i++)
      row->memory_watermark[i][GPUVAL_ORDER_COMPUTE] = 7;
   begin_command(8, 7);
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_FIND)));
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_ACQUIRE)));
   memset(row, 0, sizeof(*row));
   begin_command(9, 7);
   EXPECT_TRUE(meets(bytes(load(7), 8, 4)));
}

/* A later command's times have the place of an earlier one's: nothing is known of these. */
TEST_P(device_cells_test, times_that_got_lost)
{
   state->layout.clocks_mask = 0;
   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(order(3, GPUVAL_SYNC_RELEASE)));
   begin_command(2, 1);
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_RELEASE, 36)));
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_FIND)));
   EXPECT_FALSE(meets(order(5, GPUVAL_SYNC_ACQUIRE)));
   EXPECT_FALSE(meets(load(5)));
   begin_command(1, 1);
   EXPECT_FALSE(meets(bytes(store(3), 4, 4)));
   EXPECT_FALSE(meets(bytes(load(2 * other_group), 4, 4)));
}

/* The first one of several that release counts, whatever the order in which they note it. */
TEST_P(device_cells_test, several_releases_of_one_workgroup)
{
   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(order(3, GPUVAL_SYNC_RELEASE)));
   EXPECT_FALSE(meets(order(other_group, GPUVAL_SYNC_FIND)));
   EXPECT_FALSE(meets(order(other_group, GPUVAL_SYNC_ACQUIRE)));
   EXPECT_FALSE(meets(order(4, GPUVAL_SYNC_RELEASE, 36)));
   EXPECT_FALSE(meets(load(other_group)));
}

/* Atomics on what has no address, or no cells */
TEST_P(device_cells_test, words_without_an_address)
{
   const unsigned texel = 3 * GPUVAL_SHADOW_WORD, other = 4 * GPUVAL_SHADOW_WORD;
   const uint64_t base = (uintptr_t)state->memory;

   EXPECT_FALSE(meets(store(3)));
   EXPECT_FALSE(meets(order(3, GPUVAL_SYNC_RELEASE, texel - base)));
   EXPECT_FALSE(meets(order(other_group, GPUVAL_SYNC_FIND, other - base)));
   EXPECT_FALSE(meets(order(other_group, GPUVAL_SYNC_ACQUIRE)));
   EXPECT_TRUE(meets(load(other_group)));
   EXPECT_FALSE(meets(bytes(store(3), 4, 4)));
   EXPECT_FALSE(meets(order(other_group, GPUVAL_SYNC_FIND, texel - base)));
   EXPECT_FALSE(meets(order(other_group, GPUVAL_SYNC_ACQUIRE)));
   EXPECT_FALSE(meets(bytes(load(other_group), 4, 4)));
}

class table_cells_test : public cells_test {};

INSTANTIATE_TEST_SUITE_P(memory, table_cells_test, ::testing::Values(TABLE));

/* Where only so many words can have cells for their bytes */
TEST_P(table_cells_test, parts_of_too_many_words)
{
   state->layout.max_splits = 1;
   EXPECT_FALSE(meets(bytes(store(3), 0, 1)));
   EXPECT_FALSE(meets(bytes(store(3), 6, 1)));
   EXPECT_EQ(state->layout.num_splits, 2u);
   EXPECT_TRUE(meets(bytes(store(other_group), 0, 1)));
   EXPECT_FALSE(meets(bytes(store(other_group), 6, 1)));
   EXPECT_FALSE(meets(bytes(store(other_group), 4, 4)));
   EXPECT_EQ(state->layout.num_splits, 2u);
   EXPECT_FALSE(meets(bytes(store(3), 8, 4)));
   EXPECT_TRUE(meets(bytes(store(other_group), 8, 4)));
}

/* An access that begins there and ends elsewhere has none. */
TEST_P(table_cells_test, memory_without_cells)
{
   EXPECT_FALSE(meets(bytes(store(3), memory_size - 4, 4)));
   EXPECT_FALSE(meets(bytes(store(other_group), memory_size - 4, 8)));
   EXPECT_TRUE(meets(bytes(store(other_group), memory_size - 4, 4)));
   EXPECT_FALSE(meets(bytes(store(3), memory_size, 4)));
   EXPECT_FALSE(meets(bytes(store(other_group), memory_size, 4)));
}

/* Two queues: the class of a stage is that of the first one's. */
TEST_P(table_cells_test, commands_of_another_queue)
{
   gpuval_order_row *row = &state->table.rows[GPUVAL_ORDER_COMPUTE][0];
   row->execution_watermark[GPUVAL_ORDER_SECOND_QUEUE] = 1;
   for (unsigned i = 0; i < GPUVAL_ORDER_ACCESSES; i++)
      row->memory_watermark[i][GPUVAL_ORDER_SECOND_QUEUE] = 1;

   EXPECT_FALSE(meets(store(3)));
   state->data.order_class = GPUVAL_ORDER_SECOND_QUEUE;
   EXPECT_FALSE(meets(bytes(store(3), 4, 4)));
   state->data.order_class = 0;
   begin_command(2, 1);
   EXPECT_TRUE(meets(store(3)));
   EXPECT_FALSE(meets(bytes(store(3), 4, 4)));
}

TEST_P(device_cells_test, a_command_that_is_not_looked_at)
{
   EXPECT_FALSE(meets(store(3)));
   state->data.shadow_command = 0;
   EXPECT_FALSE(meets(store(other_group)));
}

} // namespace
