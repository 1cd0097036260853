/* SPDX-License-Identifier: MIT */

/* The option --coverage: marks of blocks become counters. */

#include "nir_passes_test.h"

namespace {

class nir_coverage_test : public nir_passes_test {
 protected:
   nir_coverage_test()
   {
      options.checks = BITFIELD_BIT(GPUVAL_CHECK_COVERAGE);
      result = nir_local_variable_create(b->impl, glsl_uint_type(), "result");
   }

   void mark(uint32_t offset)
   {
      gpuval_nir_emit_block(b, offset);
   }

   const struct gpuval_nir_entry *entry(unsigned i)
   {
      return util_dynarray_element(&table.entries, struct gpuval_nir_entry, i);
   }

   unsigned num_entries()
   {
      return util_dynarray_num_elements(&table.entries, struct gpuval_nir_entry);
   }

   /* The entry of the block at @offset counts with that of the block at @counter. */
   void expect_block(unsigned i, uint32_t offset, unsigned counter, uint32_t times = 1)
   {
      ASSERT_LT(i, num_entries());
      EXPECT_EQ(site(entry(i)->site).spirv_offset, offset);
      EXPECT_EQ(site(entry(i)->site).kind, GPUVAL_KIND_COVERED);
      EXPECT_EQ(entry(i)->offset, counter);
      EXPECT_EQ(entry(i)->size, times);
   }

   /* Adds from memory, so that nothing is known of it. */
   nir_def *condition()
   {
      return nir_ieq_imm(b, load(ssbo(), any(), 1), 0);
   }

   nir_def *any()
   {
      return nir_channel(b, nir_load_global_invocation_id(b, 32), 0);
   }

   nir_variable *result;
};

TEST_F(nir_coverage_test, blocks_that_follow_one_another_share_a_counter)
{
   mark(100);
   mark(200);
   mark(100);
   EXPECT_TRUE(run());
   ASSERT_EQ(reports().size(), 1u);
   EXPECT_EQ(nir_intrinsic_desc_set(reports()[0]), (unsigned)GPUVAL_REPORT_COVERED);
   EXPECT_EQ(nir_intrinsic_base(reports()[0]), 0);
   ASSERT_EQ(num_entries(), 2u);
   expect_block(0, 100, 0, 2);
   expect_block(1, 200, 0);
   EXPECT_TRUE(find(nir_intrinsic_early_report_gpuval).empty());
}

TEST_F(nir_coverage_test, sides_of_an_if_have_their_own_and_what_comes_behind_has_not)
{
   mark(100);
   nir_push_if(b, condition());
   mark(200);
   nir_push_else(b, NULL);
   mark(300);
   nir_pop_if(b, NULL);
   mark(400);
   EXPECT_TRUE(run());
   EXPECT_EQ(reports().size(), 3u);
   ASSERT_EQ(num_entries(), 4u);
   expect_block(0, 100, 0);
   expect_block(1, 200, 1);
   expect_block(2, 300, 2);
   expect_block(3, 400, 0);
}

TEST_F(nir_coverage_test, behind_what_ends_invocations_another_counter_begins)
{
   mark(100);
   nir_push_if(b, condition());
   mark(200);
   nir_terminate(b);
   nir_pop_if(b, NULL);
   mark(300);
   EXPECT_TRUE(run());
   EXPECT_EQ(reports().size(), 3u);
   expect_block(2, 300, 2);
}

TEST_F(nir_coverage_test, loops_count_behind_them)
{
   nir_push_loop(b);
   {
      mark(100);
      nir_break_if(b, condition());
      mark(200);
   }
   nir_pop_loop(b, NULL);
   mark(300);
   EXPECT_TRUE(run());

   /* That behind the loop has a counter of its own: none was before it. */
   ASSERT_EQ(reports().size(), 3u);
   for (nir_intrinsic_instr *report : reports())
      EXPECT_EQ(report->instr.block->cf_node.parent->type, nir_cf_node_function);
   expect_block(0, 100, 0);
   expect_block(1, 200, 1);
   expect_block(2, 300, 2);
}

TEST_F(nir_coverage_test, loops_that_invocations_end_in_count_each_round)
{
   nir_push_loop(b);
   {
      mark(100);
      nir_demote_if(b, condition());
      mark(200);
      nir_break_if(b, condition());
   }
   nir_pop_loop(b, NULL);
   EXPECT_TRUE(run());
   ASSERT_EQ(reports().size(), 2u);
   for (nir_intrinsic_instr *report : reports())
      EXPECT_EQ(report->instr.block->cf_node.parent->type, nir_cf_node_loop);
}

TEST_F(nir_coverage_test, off)
{
   options.checks = BITFIELD_BIT(GPUVAL_CHECK_BOUNDS);
   mark(100);
   gpuval_nir_instrument_early(b->shader, &options);
   run();
   EXPECT_TRUE(find(nir_intrinsic_early_report_gpuval).empty());
   EXPECT_TRUE(reports().empty());
   EXPECT_EQ(num_entries(), 0u);
}

} /* namespace */
