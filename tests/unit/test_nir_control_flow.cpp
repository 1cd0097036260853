/* SPDX-License-Identifier: MIT */

/* The checks that depend on control flow: loop and converge. */

#include "nir_passes_test.h"

#include "nir_passes/gpuval_nir_functions.h"

namespace {

nir_def *
active_lanes(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *condition)
{
   return nir_ballot(b, 1, 64, condition);
}

class nir_control_flow_test : public nir_passes_test {
 protected:
   nir_control_flow_test()
   {
      driver = test_driver;
      driver.active_lanes = active_lanes;
      options.driver = &driver;
      options.checks = BITFIELD_BIT(GPUVAL_CHECK_LOOP);
      options.loop_limit = 1000;
      b->shader->info.workgroup_size[0] = 64;
      b->shader->info.workgroup_size[1] = b->shader->info.workgroup_size[2] = 1;
   }

   /* for (i = 0; i < end; i++) */
   void begin_loop(nir_def *end)
   {
      i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
      nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
      loop = nir_push_loop(b);
      nir_break_if(b, nir_uge(b, nir_load_var(b, i_var), end));
   }

   void end_loop()
   {
      nir_store_var(b, i_var, nir_iadd_imm(b, nir_load_var(b, i_var), 1), 0x1);
      nir_pop_loop(b, loop);
   }

   void barrier()
   {
      nir_barrier(b, .execution_scope = SCOPE_WORKGROUP);
   }

   void run_on_ssa()
   {
      nir_lower_vars_to_ssa(b->shader);
      nir_opt_copy_prop(b->shader);
      run();
   }

   nir_def *push_constant()
   {
      return nir_load_push_constant(b, 1, 32, nir_imm_int(b, 0), .range = 4);
   }

   struct gpuval_nir_driver driver;
   nir_variable *i_var;
   nir_loop *loop;
};

TEST_F(nir_control_flow_test, a_known_number_of_rounds_costs_nothing)
{
   begin_loop(nir_imm_int(b, 100));
   nir_store_ssbo(b, nir_imm_int(b, 1), ssbo(), any_offset(), .align_mul = 4);
   end_loop();
   run_on_ssa();
   EXPECT_TRUE(reports().empty());
   EXPECT_TRUE(find(nir_intrinsic_call_gpuval).empty());
}

TEST_F(nir_control_flow_test, a_number_of_rounds_above_the_limit_is_counted)
{
   begin_loop(nir_imm_int(b, 1001));
   nir_store_ssbo(b, nir_imm_int(b, 1), ssbo(), any_offset(), .align_mul = 4);
   end_loop();
   run_on_ssa();
   ASSERT_EQ(reports().size(), 1u);
   EXPECT_EQ(site(0).kind, GPUVAL_KIND_ENDLESS);
}

TEST_F(nir_control_flow_test, a_bound_is_compared_when_the_loop_is_entered)
{
   begin_loop(push_constant());
   end_loop();
   run_on_ssa();
   ASSERT_EQ(reports().size(), 1u);
   EXPECT_TRUE(find(nir_intrinsic_call_gpuval).empty());
   EXPECT_EQ(reports()[0]->instr.block->cf_node.parent->type, nir_cf_node_function);
}

TEST_F(nir_control_flow_test, an_unknown_number_of_rounds_is_counted)
{
   begin_loop(push_constant());
   nir_break_if(b,
                nir_ieq_imm(b, nir_load_ssbo(b, 1, 32, ssbo(), any_offset(), .align_mul = 4), 1));
   end_loop();
   run_on_ssa();
   ASSERT_EQ(reports().size(), 1u);

   /* The function is called in round 1001. */
   auto calls = find(nir_intrinsic_call_gpuval);
   ASSERT_EQ(calls.size(), 1u);
   EXPECT_EQ(nir_intrinsic_base(calls[0]), (unsigned)GPUVAL_FUNCTION_LOOP);
   nir_scalar too_many = nir_scalar_resolved(calls[0]->src[1].ssa, 1);
   EXPECT_EQ(nir_scalar_as_uint(too_many) & 0xffff, 0u);
}

TEST_F(nir_control_flow_test, where_functions_are_inlined_rounds_are_counted_down)
{
   driver.inlines_functions = true;
   begin_loop(push_constant());
   nir_break_if(b,
                nir_ieq_imm(b, nir_load_ssbo(b, 1, 32, ssbo(), any_offset(), .align_mul = 4), 1));
   end_loop();
   run_on_ssa();
   ASSERT_EQ(reports().size(), 1u);

   /* Call and report are behind a branch of the loop. */
   auto calls = find(nir_intrinsic_call_gpuval);
   ASSERT_EQ(calls.size(), 1u);
   EXPECT_EQ(calls[0]->instr.block, reports()[0]->instr.block);
   EXPECT_EQ(calls[0]->instr.block->cf_node.parent->type, nir_cf_node_if);
   nir_scalar too_many = nir_scalar_resolved(calls[0]->src[1].ssa, 1);
   EXPECT_EQ(nir_scalar_as_uint(too_many) & 0xffff, 0u);
}

TEST_F(nir_control_flow_test, each_loop_is_counted)
{
   begin_loop(push_constant());
   nir_variable *outer_var = i_var;
   nir_loop *outer = loop;
   begin_loop(any_offset());
   end_loop();
   i_var = outer_var;
   loop = outer;
   end_loop();
   run_on_ssa();
   EXPECT_EQ(reports().size(), 2u);
}

TEST_F(nir_control_flow_test, barriers_that_all_reach_cost_nothing)
{
   options.checks = BITFIELD_BIT(GPUVAL_CHECK_CONVERGE);
   barrier();
   begin_loop(push_constant());
   barrier();
   nir_push_if(b, nir_ieq_imm(b, nir_channel(b, nir_load_workgroup_id(b), 0), 3));
   barrier();
   nir_pop_if(b, NULL);
   end_loop();
   run_on_ssa();
   EXPECT_TRUE(reports().empty());
   EXPECT_EQ(b->shader->info.shared_size, 0u);
}

TEST_F(nir_control_flow_test, barriers_that_not_all_may_reach)
{
   options.checks = BITFIELD_BIT(GPUVAL_CHECK_CONVERGE);
   begin_loop(any_offset());
   barrier();
   end_loop();
   run_on_ssa();
   /* Before it, and behind it */
   EXPECT_EQ(reports().size(), 2u);
   EXPECT_EQ(site(0).kind, GPUVAL_KIND_CONVERGE_BARRIER);
   EXPECT_EQ(b->shader->info.shared_size, 32u);
}

} /* namespace */
