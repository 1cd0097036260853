/* SPDX-License-Identifier: MIT */

/* Slots of records: which one a failure takes, and that it finds one. What shaders call is
 * executed, with slots in the test's own memory.
 */

#include <gtest/gtest.h>

#include <bitset>

#include "base/gpuval_options.h"
#include "nir_passes/gpuval_nir_private.h"
#include "nir_run.h"

namespace {

const uint32_t hash_lo = 0x12345678, hash_hi = 0x9abcdef0;
const uint32_t max_sites = 16;

/* What shaders see of a device */
struct device {
   gpuval_root root;
   gpuval_slots slots;
   uint64_t counters[max_sites];
   uint32_t failing[max_sites];
};

/* With atomics that or, and with those that swap */
class record_test : public ::testing::TestWithParam<bool> {
 protected:
   static void SetUpTestSuite()
   {
      glsl_type_singleton_init_or_ref();
   }

   static void TearDownTestSuite()
   {
      glsl_type_singleton_decref();
   }

   void SetUp() override
   {
      state = (device *)calloc(1, sizeof(*state));
      state->root.slots_address = (uintptr_t)&state->slots;
      state->root.counters_address = (uintptr_t)state->counters;
      state->root.failing_address = (uintptr_t)state->failing;
      state->root.poll_address = (uintptr_t)&state->root.poll;
      state->root.max_failing = max_sites;
   }

   void TearDown() override
   {
      free(state);
   }

   /* One invocation fails, at an access of @offset. */
   void fail(uint32_t site, uint32_t command_id, uint32_t offset = 0)
   {
      static const nir_shader_compiler_options options = {};
      nir_builder builder = nir_builder_init_simple_shader(MESA_SHADER_COMPUTE, &options, "record");
      nir_builder *b = &builder;
      nir_def *zero = nir_imm_int(b, 0);
      nir_def *invocation[3] = {zero, zero, zero};

      struct gpuval_nir_failure failure = {};
      failure.swaps = GetParam();
      failure.invocation = invocation;
      failure.root = nir_imm_int64(b, (uintptr_t)&state->root);
      failure.site = nir_imm_int(b, site);
      failure.stage = nir_imm_int(b, gpuval_stage_to_spirv(MESA_SHADER_COMPUTE));
      failure.hash_lo = nir_imm_int(b, hash_lo);
      failure.hash_hi = nir_imm_int(b, hash_hi);
      failure.command_id = nir_imm_int(b, command_id);
      failure.offset = nir_imm_int(b, offset);
      failure.access_size = failure.bound = failure.slot = failure.set = failure.other = zero;
      failure.address = nir_imm_int64(b, 0);
      gpuval_nir_record_failure(b, &failure);
      nir_lower_vars_to_ssa(b->shader);
      nir_opt_dce(b->shader);
      nir_validate_shader(b->shader, "as built");
      nir_index_ssa_defs(b->impl);

      nir_run run(b->impl);
      ralloc_free(b->shader);
   }

   static uint32_t slot(uint32_t site, uint32_t command_id, unsigned attempt)
   {
      return gpuval_slot(site, hash_lo, hash_hi, command_id, attempt);
   }

   void claim(uint32_t slot)
   {
      state->slots.control[slot / GPUVAL_SLOTS_PER_WORD] |= 1u << slot % GPUVAL_SLOTS_PER_WORD;
   }

   void publish(uint32_t slot, uint32_t site, uint32_t command_id)
   {
      claim(slot);
      state->slots.control[slot / GPUVAL_SLOTS_PER_WORD] |= 1u << slot % GPUVAL_SLOTS_PER_WORD
                                                               << GPUVAL_SLOTS_PER_WORD;
      state->slots.records[slot].site = site;
      state->slots.records[slot].command_id = command_id;
   }

   bool is_published(uint32_t slot) const
   {
      return state->slots.control[slot / GPUVAL_SLOTS_PER_WORD] >> slot % GPUVAL_SLOTS_PER_WORD >>
                GPUVAL_SLOTS_PER_WORD &
             1;
   }

   /* Of those that it may take, the one that has the failure's record, or -1 */
   int find(uint32_t site, uint32_t command_id) const
   {
      for (unsigned i = 0; i < GPUVAL_SLOT_TRIES; i++) {
         const struct gpuval_record *record = &state->slots.records[slot(site, command_id, i)];
         if (is_published(slot(site, command_id, i)) && record->site == site &&
             record->command_id == command_id && record->shader_hash[0] == hash_lo)
            return i;
      }
      return -1;
   }

   unsigned num_claimed() const
   {
      unsigned count = 0;
      for (uint32_t word : state->slots.control)
         count += util_bitcount(word & 0xffff);
      return count;
   }

   device *state;
};

INSTANTIATE_TEST_SUITE_P(atomics, record_test, ::testing::Bool(),
                         [](const auto &info) { return info.param ? "swap" : "or"; });

TEST_P(record_test, the_first_slot_is_the_seeds)
{
   fail(3, 7, 20);
   uint32_t first = (3 * 97u ^ hash_lo ^ hash_hi ^ 7 * 51329u) & (GPUVAL_SLOT_COUNT - 1);
   EXPECT_EQ(first, slot(3, 7, 0));
   EXPECT_EQ(0, find(3, 7));
   EXPECT_EQ(20u, state->slots.records[first].offset);
   EXPECT_EQ(1u, num_claimed());
   EXPECT_EQ(1u, state->root.poll.failed);
   EXPECT_EQ(1u, state->counters[3]);
}

TEST_P(record_test, one_record_for_each_site_and_command)
{
   fail(3, 7, 20);
   fail(3, 7, 24);
   EXPECT_EQ(20u, state->slots.records[slot(3, 7, 0)].offset);
   EXPECT_EQ(1u, num_claimed());
   EXPECT_EQ(2u, state->counters[3]);

   fail(3, 8);
   fail(4, 7);
   EXPECT_EQ(3u, num_claimed());
   EXPECT_GE(find(3, 8), 0);
   EXPECT_GE(find(4, 7), 0);
}

/* Records of other sites and of other commands, and some that are being written */
TEST_P(record_test, slots_that_are_taken_lead_to_the_next)
{
   for (unsigned taken = 1; taken < GPUVAL_SLOT_TRIES; taken++) {
      TearDown();
      SetUp();
      for (unsigned i = 0; i < taken; i++) {
         if (i % 3 == 0)
            publish(slot(3, 7, i), 4, 7);
         else if (i % 3 == 1)
            publish(slot(3, 7, i), 3, 8);
         else
            claim(slot(3, 7, i));
      }
      fail(3, 7);
      EXPECT_EQ((int)taken, find(3, 7));
      fail(3, 7);
      EXPECT_EQ(taken + 1, num_claimed());
      EXPECT_EQ(2u, state->counters[3]);
   }
}

/* Then the failure is counted, and others' slots are as they were. */
TEST_P(record_test, there_may_be_no_slot)
{
   for (unsigned i = 0; i < GPUVAL_SLOT_TRIES; i++)
      publish(slot(3, 7, i), 4, 7);
   fail(3, 7);
   EXPECT_EQ(-1, find(3, 7));
   EXPECT_EQ((unsigned)GPUVAL_SLOT_TRIES, num_claimed());
   for (unsigned i = 0; i < GPUVAL_SLOT_TRIES; i++)
      EXPECT_EQ(4u, state->slots.records[slot(3, 7, i)].site);
   EXPECT_EQ(1u, state->counters[3]);
   EXPECT_EQ(1u, state->root.num_failing);
   EXPECT_EQ(1u, state->root.poll.failed);
}

/* Whatever a compiler makes of a shader: sites that fail one after the other, each in a command
 * of its own, all find a slot.
 */
TEST(slots, there_is_one_for_each_failure_whatever_the_hash)
{
   const unsigned count = 400;

   for (uint32_t hash = 0; hash < GPUVAL_SLOT_COUNT; hash++) {
      for (uint32_t first_site : {0u, 777u, 100000u}) {
         std::bitset<GPUVAL_SLOT_COUNT> taken;
         for (unsigned i = 0; i < count; i++) {
            /* Of four shaders */
            uint32_t hash_of_shader = hash * (1 + i / 100 * 31);
            unsigned attempt = 0;
            while (attempt < GPUVAL_SLOT_TRIES &&
                   taken[gpuval_slot(first_site + i, hash_of_shader, 0, 1 + i, attempt)])
               attempt++;
            ASSERT_LT(attempt, (unsigned)GPUVAL_SLOT_TRIES) << hash << ' ' << first_site;
            taken.set(gpuval_slot(first_site + i, hash_of_shader, 0, 1 + i, attempt));
         }
      }
   }
}

/* No failure comes to a slot twice, even where all of them are tried. */
TEST(slots, none_comes_twice)
{
   for (uint32_t command_id = 0; command_id < 100; command_id++) {
      std::bitset<GPUVAL_SLOT_COUNT> tried;
      for (unsigned i = 0; i < GPUVAL_SLOT_COUNT; i++)
         tried.set(gpuval_slot(5, hash_lo, hash_hi, command_id, i));
      EXPECT_TRUE(tried.all());
   }
}

} /* namespace */
