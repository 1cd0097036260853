/* SPDX-License-Identifier: MIT */

/* Early reports that fail together become one report of several entries. */

#include "nir_passes_test.h"

#include "nir_passes/gpuval_nir_early.h"
#include "nir_passes/gpuval_nir_range.h"

namespace {

class nir_early_test : public nir_passes_test {
 protected:
   void SetUp() override
   {
      nir_passes_test::SetUp();
      options.checks = BITFIELD_BIT(GPUVAL_CHECK_ARRAY) | BITFIELD_BIT(GPUVAL_CHECK_ARITHMETIC);
      index = any_offset();
      is_past = nir_uge_imm(b, index, 4);
   }

   void report(uint32_t spirv_offset, nir_def *failed, nir_def *word,
               enum gpuval_array_type array = GPUVAL_ARRAY_PRIVATE)
   {
      struct gpuval_nir_early_report report = {};
      report.kind = GPUVAL_KIND_ARRAY_OOB;
      report.op = GPUVAL_OP_LOAD;
      report.spirv_offset = spirv_offset;
      report.set = report.binding = -1;
      report.size = 4;
      report.array = array;
      report.failed = failed;
      report.words[0] = word;
      gpuval_nir_report_early(b, &report);
   }

   std::vector<unsigned> ranges()
   {
      std::vector<unsigned> ranges;
      EXPECT_TRUE(run());
      for (nir_intrinsic_instr *intrin : reports())
         ranges.push_back(nir_intrinsic_range(intrin));
      EXPECT_TRUE(find(nir_intrinsic_early_report_gpuval).empty());
      return ranges;
   }

   typedef std::vector<unsigned> list;
   nir_def *index, *is_past;
};

TEST_F(nir_early_test, of_one_condition)
{
   nir_def *is_far = nir_uge_imm(b, index, 8);
   report(100, is_past, index);
   report(200, is_far, index);
   nir_store_ssbo(b, index, ssbo(), index, .align_mul = 4);
   report(300, is_past, index);
   report(100, is_past, index);
   EXPECT_EQ(ranges(), (list{3, 1}));

   ASSERT_EQ(num_entries(), 4u);
   EXPECT_EQ(site(entry(0).site).spirv_offset, 100u);
   EXPECT_EQ(site(entry(1).site).spirv_offset, 300u);
   EXPECT_EQ(entry(2).site, entry(0).site);
   EXPECT_EQ(site(entry(3).site).spirv_offset, 200u);
   /* The second copy of a site counts as well. */
   EXPECT_NE(entry(1).instance, entry(0).instance);
   EXPECT_NE(entry(2).instance, entry(1).instance);
}

TEST_F(nir_early_test, of_other_words)
{
   report(100, is_past, index);
   report(200, is_past, nir_iadd_imm(b, index, 1));
   report(300, is_past, nir_imm_int(b, 7));
   report(400, is_past, nir_imm_int(b, 7));
   EXPECT_EQ(ranges(), (list{1, 1, 2}));
}

TEST_F(nir_early_test, of_blocks)
{
   report(100, is_past, index);
   report(200, is_past, index, GPUVAL_ARRAY_BLOCK);
   EXPECT_EQ(ranges(), (list{1, 1}));
}

TEST_F(nir_early_test, behind_what_ends_invocations)
{
   report(100, is_past, index);
   nir_terminate_if(b, nir_ieq_imm(b, index, 2));
   report(200, is_past, index);
   report(300, is_past, index);
   nir_push_if(b, nir_ieq_imm(b, index, 5));
   report(400, is_past, index);
   nir_pop_if(b, NULL);
   EXPECT_EQ(ranges(), (list{1, 2, 1}));
}

/* With loads between reports, each would have a branch of its own on llvmpipe. */
TEST_F(nir_early_test, wait_for_each_other)
{
   auto order = [&] {
      std::string order;
      EXPECT_TRUE(run());
      nir_foreach_block (block, b->impl) {
         nir_foreach_instr (instr, block) {
            if (instr->type != nir_instr_type_intrinsic)
               continue;
            nir_intrinsic_op op = nir_instr_as_intrinsic(instr)->intrinsic;
            order += op == nir_intrinsic_report_gpuval ? "r"
                     : op == nir_intrinsic_load_ssbo   ? "l"
                     : op == nir_intrinsic_store_ssbo  ? "s"
                     : op == nir_intrinsic_barrier     ? "b"
                                                       : "";
         }
         order += ".";
      }
      return order;
   };
   auto program = [&] {
      for (unsigned i = 0; i < 10; i++) {
         nir_def *word = nir_load_ssbo(b, 1, 32, ssbo(), index, .align_mul = 4);
         report(100 * (i + 1), nir_uge_imm(b, word, 4), word);
         if (i == 2)
            nir_store_ssbo(b, index, ssbo(), index, .align_mul = 4);
         else if (i == 4)
            nir_barrier(b, .execution_scope = SCOPE_WORKGROUP);
      }
      nir_push_if(b, nir_ieq_imm(b, index, 5));
      report(5000, is_past, index);
      nir_pop_if(b, NULL);
   };

   options.safe = true;
   program();
   EXPECT_EQ(order(), "lllsllrrrrrblllllrrrrr.r...");
   EXPECT_EQ(reports().size(), num_entries());
   for (unsigned i = 0; i < 10; i++)
      EXPECT_EQ(site(entry(nir_intrinsic_base(reports()[i])).site).spirv_offset, 100 * (i + 1));
}

/* What fails is performed: it may be the last that the process does. */
TEST_F(nir_early_test, wait_for_nothing_that_is_performed)
{
   options.safe = false;
   nir_def *word = nir_load_ssbo(b, 1, 32, ssbo(), index, .align_mul = 4);
   report(100, nir_uge_imm(b, word, 4), word);
   nir_load_ssbo(b, 1, 32, ssbo(), word, .align_mul = 4);
   report(200, is_past, index);
   run();

   auto list = reports();
   ASSERT_EQ(list.size(), 2u);
   auto loads = find(nir_intrinsic_load_ssbo);
   ASSERT_EQ(loads.size(), 2u);
   nir_index_instrs(b->impl);
   EXPECT_LT(list[0]->instr.index, loads[1]->instr.index);
}

TEST_F(nir_early_test, indices_are_what_comparisons_leave_of_them)
{
   auto is_below = [&](nir_def *def, uint32_t count) {
      gpuval_nir_require_ranges(b->impl);
      return gpuval_nir_is_below(nir_get_scalar(def, 0), count,
                                 nir_cursor_current_block(b->cursor));
   };
   nir_def *inside =
      nir_iand(b, nir_ige(b, index, nir_imm_int(b, 0)), nir_ilt(b, index, nir_imm_int(b, 4)));
   nir_def *chosen = nir_bcsel(b, inside, index, nir_imm_int(b, 1));
   EXPECT_TRUE(is_below(chosen, 4));
   EXPECT_FALSE(is_below(chosen, 3));
   EXPECT_FALSE(is_below(nir_bcsel(b, inside, nir_imm_int(b, 1), index), 4));
   EXPECT_FALSE(is_below(index, 4));

   nir_push_if(b, nir_ult(b, index, nir_imm_int(b, 8)));
   EXPECT_TRUE(is_below(index, 8));
   EXPECT_FALSE(is_below(index, 7));
   nir_push_else(b, NULL);
   EXPECT_FALSE(is_below(index, 8));
   nir_pop_if(b, NULL);
   EXPECT_FALSE(is_below(index, 8));

   /* Whoever is still in the loop */
   nir_loop *loop = nir_push_loop(b);
   nir_push_if(b, nir_uge(b, index, nir_imm_int(b, 16)));
   nir_jump(b, nir_jump_break);
   nir_pop_if(b, NULL);
   EXPECT_TRUE(is_below(index, 16));
   EXPECT_FALSE(is_below(index, 15));
   nir_jump(b, nir_jump_break);
   nir_pop_loop(b, loop);
   EXPECT_FALSE(is_below(index, 16));
}

} /* namespace */
