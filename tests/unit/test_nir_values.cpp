/* SPDX-License-Identifier: MIT */

/* The checks address and export, on shaders of a few instructions. */

#include "nir_passes_test.h"

#include "nir_passes/gpuval_nir_cf.h"
#include "nir_passes/gpuval_nir_functions.h"
#include "nir_passes/gpuval_nir_sink.h"

namespace {

class nir_address_test : public nir_passes_test {
 protected:
   nir_address_test()
   {
      options.checks = BITFIELD_BIT(GPUVAL_CHECK_ADDRESS);
   }

   nir_def *pointer()
   {
      return nir_u2u64(b, any_offset());
   }

   nir_def *load_global(nir_def *address, unsigned alignment = 4, unsigned components = 1)
   {
      return gpuval_load_global(b, address, alignment, components, 32);
   }

   std::vector<nir_intrinsic_instr *> checks()
   {
      return find(nir_intrinsic_check_address_gpuval);
   }

   uint32_t span(unsigned check)
   {
      return nir_intrinsic_flags(checks()[check]);
   }
};

/* As where RADV clones a part of the shader for NGG culling, which stands in no function then. */
TEST_F(nir_address_test, a_part_that_was_extracted_has_no_reports)
{
   options.safe = false;
   load_global(pointer());
   EXPECT_TRUE(run());
   ASSERT_EQ(checks().size(), 1u);
   ASSERT_TRUE(nir_def_is_unused(&checks()[0]->def));

   nir_cf_list part;
   nir_cf_list_extract(&part, &b->impl->body);
   gpuval_nir_remove_reports_in_list(&part.list);
   nir_cf_reinsert(&part, nir_before_impl(b->impl));
   nir_validate_shader(b->shader, "reinserted");
   EXPECT_TRUE(checks().empty());
}

TEST_F(nir_address_test, other_checks_leave_it_alone)
{
   options.checks = BITFIELD_BIT(GPUVAL_CHECK_BOUNDS);
   load_global(pointer());
   EXPECT_FALSE(run());
   EXPECT_EQ(checks().size(), 0u);
}

/* What all invocations load from one address is one again. */
TEST_F(nir_address_test, chains_of_addresses_stay_uniform)
{
   struct gpuval_nir_driver driver = *options.driver;
   driver.broadcasts = true;
   options.driver = &driver;

   nir_def *address = nir_load_push_constant(b, 1, 64, nir_imm_int(b, 0), .range = 8);
   for (unsigned i = 0; i < 100; i++)
      address = gpuval_load_global(b, nir_iadd_imm(b, address, 8), 8, 1, 64);
   load_global(nir_iadd(b, address, pointer()));
   EXPECT_TRUE(run());
   EXPECT_EQ(checks().size(), 101u);
   EXPECT_EQ(find(nir_intrinsic_read_first_invocation).size(), 100u);
}

/* The application's may be of a loop that invocations leave one by one. */
TEST_F(nir_address_test, what_an_invocation_reads_is_not_taken_as_uniform)
{
   struct gpuval_nir_driver driver = *options.driver;
   driver.broadcasts = true;
   options.driver = &driver;

   load_global(nir_read_first_invocation(b, pointer()));
   EXPECT_TRUE(run());
   EXPECT_EQ(checks().size(), 1u);
   EXPECT_EQ(find(nir_intrinsic_read_first_invocation).size(), 1u);
}

TEST_F(nir_address_test, one_check_of_both_kinds)
{
   load_global(pointer());
   EXPECT_TRUE(run());
   ASSERT_EQ(checks().size(), 1u);
   EXPECT_EQ(nir_intrinsic_align_mul(checks()[0]), 4u);
   EXPECT_EQ(site(0).kind, GPUVAL_KIND_INVALID_ADDRESS);
   EXPECT_EQ(site(1).kind, GPUVAL_KIND_MISALIGNED);
   EXPECT_EQ(site(0).op, GPUVAL_OP_LOAD);
   EXPECT_EQ(entry(0).size, 4u);
   EXPECT_EQ(entry(1).size, 4u);
}

TEST_F(nir_address_test, bytes_have_no_alignment)
{
   load_global(pointer(), 1);
   run();
   EXPECT_EQ(num_sites(), 1u);
   EXPECT_EQ(site(0).kind, GPUVAL_KIND_INVALID_ADDRESS);
}

/* A struct that is loaded member by member */
TEST_F(nir_address_test, pieces_of_an_instruction_are_one_access)
{
   nir_def *address = pointer();
   at_spirv_offset(100);
   load_global(nir_iadd_imm(b, address, 16), 16, 2);
   load_global(nir_iadd_imm(b, address, 4), 4);
   at_spirv_offset(120);
   load_global(address);
   run();
   ASSERT_EQ(checks().size(), 2u);
   EXPECT_EQ(span(0), 20u); /* from 4 to 24 */
   EXPECT_EQ(span(1), 4u);
   EXPECT_EQ(entry(0).size, 20u);
}

TEST_F(nir_address_test, loads_and_stores_of_an_instruction_are_two)
{
   nir_def *address = pointer();
   at_spirv_offset(100);
   nir_def *value = load_global(address);
   gpuval_store_global(b, nir_iadd_imm(b, address, 64), 4, value, 0x1);
   run();
   EXPECT_EQ(checks().size(), 2u);
}

TEST_F(nir_address_test, other_pointers_are_other_accesses)
{
   at_spirv_offset(100);
   load_global(nir_u2u64(b, nir_channel(b, nir_load_local_invocation_id(b), 0)));
   load_global(nir_u2u64(b, nir_channel(b, nir_load_local_invocation_id(b), 1)));
   run();
   EXPECT_EQ(checks().size(), 2u);
}

TEST_F(nir_address_test, safe_replaces_the_address)
{
   nir_def *address = pointer();
   load_global(address);
   run();
   EXPECT_NE(find(nir_intrinsic_load_global)[0]->src[0].ssa, address);
}

TEST_F(nir_address_test, not_safe_keeps_the_address)
{
   nir_def *address = pointer();
   load_global(address);
   options.safe = false;
   run();
   EXPECT_EQ(find(nir_intrinsic_load_global)[0]->src[0].ssa, address);
}

TEST_F(nir_address_test, bad_accesses_are_not_looked_at_by_sync)
{
   options.checks |= BITFIELD_BIT(GPUVAL_CHECK_SYNC);
   load_global(pointer());
   run();
   auto syncs = find(nir_intrinsic_sync_gpuval);
   ASSERT_EQ(syncs.size(), 1u);
   EXPECT_FALSE(nir_src_is_const(syncs[0]->src[0]));
}

class nir_export_test : public nir_passes_test {
 protected:
   nir_export_test()
   {
      b->shader->info.stage = MESA_SHADER_FRAGMENT;
      options.checks = BITFIELD_BIT(GPUVAL_CHECK_EXPORT);
   }

   nir_variable *output(const struct glsl_type *type, unsigned location = FRAG_RESULT_DATA0)
   {
      return nir_create_variable_with_location(b->shader, nir_var_shader_out, location, type);
   }

   /* A report has an entry for each kind, and a word says which it is. */
   bool is_reported(enum gpuval_kind kind)
   {
      fold();
      for (nir_intrinsic_instr *report : reports()) {
         EXPECT_TRUE(nir_src_is_const(report->src[0]));
         nir_scalar number = nir_scalar_resolved(report->src[1].ssa, 1);
         EXPECT_TRUE(nir_scalar_is_const(number));
         uint32_t index = nir_intrinsic_base(report) + nir_scalar_as_uint(number);
         if (nir_src_as_bool(report->src[0]) && site(entry(index).site).kind == kind)
            return true;
      }
      return false;
   }
};

struct export_case {
   float x, y;
   bool nan, inf, both;
};

class nir_export_value_test : public nir_export_test,
                              public ::testing::WithParamInterface<struct export_case> {};

TEST_P(nir_export_value_test, color)
{
   nir_store_var(b, output(glsl_vec_type(2)), nir_imm_vec2(b, GetParam().x, GetParam().y), 0x3);
   /* What is finite and a constant has no report. */
   EXPECT_EQ(run(), GetParam().nan || GetParam().inf || GetParam().both);
   EXPECT_EQ(is_reported(GPUVAL_KIND_EXPORT_NAN), GetParam().nan);
   EXPECT_EQ(is_reported(GPUVAL_KIND_EXPORT_INF), GetParam().inf);
   EXPECT_EQ(is_reported(GPUVAL_KIND_EXPORT_NAN_INF), GetParam().both);
}

const float inf = INFINITY, nan = NAN;

INSTANTIATE_TEST_SUITE_P(values, nir_export_value_test,
                         ::testing::Values(export_case{0, 1, false, false, false},
                                           export_case{3.4028234e38f, -1e-45f, false, false, false},
                                           export_case{nan, 1, true, false, false},
                                           export_case{-nan, nan, true, false, false},
                                           export_case{1, inf, false, true, false},
                                           export_case{-inf, inf, false, true, false},
                                           export_case{nan, -inf, false, false, true}));

TEST_F(nir_export_test, integers_and_samples_are_left_alone)
{
   nir_store_var(b, output(glsl_ivec4_type()), nir_imm_ivec4(b, 0x7f800000, ~0, 0, 0), 0xf);
   nir_store_var(b, output(glsl_int_type(), FRAG_RESULT_SAMPLE_MASK), nir_imm_int(b, ~0), 0x1);
   EXPECT_FALSE(run());
   EXPECT_EQ(num_sites(), 0u);
}

TEST_F(nir_export_test, what_was_never_written_is_left_alone)
{
   nir_store_var(b, output(glsl_vec4_type()),
                 nir_vec4(b, nir_imm_float(b, 0), nir_undef(b, 1, 32), nir_imm_float(b, 1),
                          nir_undef(b, 1, 32)),
                 0xf);
   EXPECT_FALSE(run());
}

/* gpuval_nir_finite.c */
TEST_F(nir_export_test, what_is_certainly_finite_is_left_alone)
{
   nir_def *condition = nir_ine_imm(b, any_offset(), 0);
   nir_def *chosen = nir_bcsel(b, condition, nir_imm_float(b, 2), nir_u2f32(b, any_offset()));
   nir_store_var(b, output(glsl_float_type()), nir_fmul_imm(b, chosen, 0.5), 0x1);
   EXPECT_FALSE(run());
}

TEST_F(nir_export_test, what_may_overflow_is_looked_at)
{
   nir_def *large = nir_fmul_imm(b, nir_u2f32(b, any_offset()), 1e20);
   nir_store_var(b, output(glsl_float_type()), nir_fmul(b, large, large), 0x1);
   EXPECT_TRUE(run());
}

TEST_F(nir_export_test, outputs_have_names)
{
   nir_store_var(b, output(glsl_float_type(), FRAG_RESULT_DEPTH), nir_imm_float(b, nan), 0x1);
   nir_variable *second = output(glsl_float_type(), FRAG_RESULT_DATA0 + 1);
   nir_store_var(b, second, nir_imm_float(b, nan), 0x1);
   run();
   EXPECT_EQ(site(0).binding, GPUVAL_OUTPUT_DEPTH);
   EXPECT_EQ(site(3).binding, 1);
}

/* The temporary that the driver's lowering makes of an output */
TEST_F(nir_export_test, the_last_assignment_is_remembered)
{
   nir_variable *temporary =
      nir_local_variable_create(b->impl, glsl_float_type(), "out@color-temp");
   nir_variable *color = output(glsl_float_type());

   at_spirv_offset(100);
   nir_store_var(b, temporary, nir_imm_float(b, 1), 0x1);
   nir_push_if(b, nir_ine_imm(b, any_offset(), 0));
   at_spirv_offset(200);
   nir_store_var(b, temporary, nir_imm_float(b, nan), 0x1);
   nir_pop_if(b, NULL);
   nir_copy_var(b, color, temporary);
   run();

   EXPECT_EQ(site(0).spirv_offset, 0u);
   nir_def *assigned = reports()[0]->src[2].ssa;
   NIR_PASS(_, b->shader, nir_opt_copy_prop);
   assigned = reports()[0]->src[2].ssa;
   ASSERT_EQ(nir_def_instr(assigned)->type, nir_instr_type_phi);
   nir_foreach_phi_src (src, nir_instr_as_phi(nir_def_instr(assigned))) {
      unsigned value = nir_src_as_uint(src->src);
      EXPECT_TRUE(value == 100 || value == 200);
   }
}

TEST_F(nir_export_test, the_only_assignment_is_the_sites)
{
   nir_variable *temporary =
      nir_local_variable_create(b->impl, glsl_float_type(), "out@color-temp");

   at_spirv_offset(100);
   nir_store_var(b, temporary, nir_imm_float(b, nan), 0x1);
   at_spirv_offset(200);
   nir_copy_var(b, output(glsl_float_type()), temporary);
   run();
   EXPECT_EQ(site(0).spirv_offset, 100u);
}

TEST_F(nir_export_test, of_other_stages_the_position)
{
   b->shader->info.stage = MESA_SHADER_VERTEX;
   nir_store_var(b, output(glsl_vec4_type(), VARYING_SLOT_VAR0), nir_imm_vec4(b, nan, 0, 0, 0),
                 0xf);
   nir_store_var(b, output(glsl_vec4_type(), VARYING_SLOT_POS), nir_imm_vec4(b, nan, 0, 0, 0), 0xf);
   run();
   EXPECT_EQ(reports().size(), 1u);
   EXPECT_EQ(site(0).binding, GPUVAL_OUTPUT_POSITION);
}

/* What is used behind the branch of an if that stands for a failure */
class nir_sink_test : public nir_passes_test {
 protected:
   void use(nir_def *value)
   {
      gpuval_store_global(b, nir_imm_int64(b, 4096), 4, value, 0x1);
   }

   nir_if *push_failure(nir_def *condition)
   {
      nir_if *nif = push_other(condition);
      _mesa_set_add(failures, nif);
      return nif;
   }

   /* One that may be executed always */
   nir_if *push_other(nir_def *condition)
   {
      nir_if *nif = nir_push_if(b, condition);
      _mesa_set_add(ifs, nif);
      return nif;
   }

   static bool is_behind(const nir_def *value, nir_if *nif)
   {
      return nir_def_instr((nir_def *)value)->block == nir_if_first_then_block(nif);
   }

   bool sink()
   {
      bool progress = gpuval_nir_sink(b->impl, ifs, failures);
      _mesa_set_destroy(failures, NULL);
      _mesa_set_destroy(ifs, NULL);
      nir_validate_shader(b->shader, "after gpuval_nir_sink");
      return progress;
   }

   struct set *ifs = _mesa_pointer_set_create(NULL);
   struct set *failures = _mesa_pointer_set_create(NULL);
};

TEST_F(nir_sink_test, failures_have_copies_of_what_several_need)
{
   nir_def *sum = nir_iadd_imm(b, any_offset(), 1);
   nir_if *nifs[2];
   for (unsigned i = 0; i < 2; i++) {
      nifs[i] = push_failure(nir_imm_true(b));
      use(sum);
      nir_pop_if(b, NULL);
   }

   EXPECT_TRUE(sink());
   unsigned num_sums = 0;
   for (unsigned i = 0; i < 2; i++) {
      nir_foreach_instr (instr, nir_if_first_then_block(nifs[i]))
         num_sums +=
            instr->type == nir_instr_type_alu && nir_instr_as_alu(instr)->op == nir_op_iadd;
   }
   EXPECT_EQ(num_sums, 2u);
}

TEST_F(nir_sink_test, what_is_executed_always_has_none)
{
   nir_def *sum = nir_iadd_imm(b, any_offset(), 1);
   push_failure(nir_imm_true(b));
   use(sum);
   nir_pop_if(b, NULL);
   push_other(nir_imm_true(b));
   use(sum);
   nir_pop_if(b, NULL);
   EXPECT_FALSE(sink());
}

TEST_F(nir_sink_test, what_only_a_failure_needs)
{
   nir_def *offset = any_offset();
   nir_def *sum = nir_iadd_imm(b, offset, 1), *product = nir_imul_imm(b, sum, 3);
   nir_def *both = nir_iadd_imm(b, offset, 2);
   nir_if *nif = push_failure(nir_ieq_imm(b, offset, 5));
   use(product);
   use(both);
   nir_pop_if(b, NULL);
   use(both);

   EXPECT_TRUE(sink());
   EXPECT_TRUE(is_behind(sum, nif));
   EXPECT_TRUE(is_behind(product, nif));
   EXPECT_FALSE(is_behind(both, nif));
}

TEST_F(nir_sink_test, not_out_of_a_loop)
{
   nir_loop *loop = nir_push_loop(b);
   nir_def *left = nir_iadd_imm(b, any_offset(), 1);
   nir_break_if(b, nir_ieq_imm(b, left, 5));
   nir_pop_loop(b, loop);
   push_failure(nir_imm_true(b));
   use(left);
   nir_pop_if(b, NULL);
   EXPECT_FALSE(sink());
}

TEST_F(nir_sink_test, not_behind_other_branches)
{
   nir_def *sum = nir_iadd_imm(b, any_offset(), 1);
   nir_push_if(b, nir_imm_true(b));
   use(sum);
   nir_pop_if(b, NULL);
   EXPECT_FALSE(sink());
}

/* What one instruction accesses word by word */
class nir_words_test : public nir_passes_test {
 protected:
   nir_words_test()
   {
      options.checks = BITFIELD_BIT(GPUVAL_CHECK_SYNC);
      options.shadow = true;
   }

   /* Three columns of a matrix that memory has by rows of 16 bytes, with offsets that nobody has
    * folded
    */
   nir_def *element(nir_def *base, unsigned column, unsigned row)
   {
      nir_def *offset = nir_ishl(b, nir_imm_int64(b, column), nir_imm_int(b, 2));
      return nir_iadd(b, nir_iadd(b, base, offset), nir_imm_int64(b, 16 * row));
   }

   std::vector<nir_intrinsic_instr *> syncs()
   {
      return find(nir_intrinsic_sync_gpuval);
   }
};

TEST_F(nir_words_test, words_side_by_side_are_one_access)
{
   nir_def *base = nir_u2u64(b, any_offset());
   at_spirv_offset(20);
   for (unsigned i = 0; i < 9; i++)
      gpuval_load_global(b, element(base, i / 3, i % 3), 4, 1, 32);
   EXPECT_TRUE(run());
   ASSERT_EQ(syncs().size(), 3u);
   for (unsigned i = 0; i < 3; i++)
      EXPECT_EQ(entry(i).size, 12u);
}

TEST_F(nir_words_test, so_are_stored_ones)
{
   nir_def *base = nir_u2u64(b, any_offset()), *value = any_offset();
   at_spirv_offset(20);
   for (unsigned i = 0; i < 9; i++)
      gpuval_store_global(b, element(base, i / 3, i % 3), 4, value, 0x1);
   EXPECT_TRUE(run());
   EXPECT_EQ(syncs().size(), 3u);
}

TEST_F(nir_words_test, instructions_are_told_apart)
{
   nir_def *base = nir_u2u64(b, any_offset());
   for (unsigned i = 0; i < 3; i++) {
      at_spirv_offset(20 + 4 * i);
      gpuval_load_global(b, element(base, i, 0), 4, 1, 32);
   }
   EXPECT_TRUE(run());
   EXPECT_EQ(syncs().size(), 3u);
}

TEST_F(nir_words_test, values_have_to_be_known)
{
   nir_def *base = nir_u2u64(b, any_offset());
   at_spirv_offset(20);
   for (unsigned i = 0; i < 3; i++)
      gpuval_store_global(b, element(base, i, 0), 4, any_offset(), 0x1);
   EXPECT_TRUE(run());
   EXPECT_EQ(syncs().size(), 3u);
}

} /* namespace */
