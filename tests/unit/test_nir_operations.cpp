/* SPDX-License-Identifier: MIT */

/* arithmetic and undefined: operations on constants that the checks cannot see to be some, so that
 * constant folding says what a check comes to.
 */

#include "nir_passes_test.h"

#include "nir_passes/gpuval_nir_operation.h"
#include "spirv/GLSL.std.450.h"
#include "spirv/nir_spirv.h"
#include "spirv/spirv.h"
#include "util/hash_table.h"

namespace {

class nir_operations_test : public nir_passes_test {
 protected:
   nir_def *hide(nir_def *constant)
   {
      return nir_iadd(b, constant, nir_imm_zero(b, constant->num_components, constant->bit_size));
   }

   nir_def *integer(int64_t value, unsigned bits = 32)
   {
      return hide(nir_imm_intN_t(b, value, bits));
   }

   nir_def *number(double value, unsigned bits = 32)
   {
      return hide(nir_imm_floatN_t(b, value, bits));
   }

   bool fails(unsigned opcode, std::vector<nir_def *> operands, unsigned result_bits)
   {
      struct gpuval_nir_operation operation = {};
      operation.opcode = opcode;
      operation.num_operands = operands.size();
      for (unsigned i = 0; i < operands.size(); i++)
         operation.operands[i] = operands[i];
      operation.result = nir_imm_zero(b, operands[0]->num_components, result_bits);

      struct hash_table *upper_bounds = _mesa_pointer_hash_table_create(NULL);
      nir_def *failed = gpuval_nir_check_arithmetic(b, &operation, upper_bounds);
      _mesa_hash_table_destroy(upper_bounds, NULL);
      if (!failed)
         return false;
      nir_validate_shader(b->shader, "after the check");
      nir_opt_constant_folding(b->shader);
      nir_src failed_src = find(nir_intrinsic_early_report_gpuval).back()->src[0];
      EXPECT_TRUE(nir_src_is_const(failed_src));
      return nir_src_as_bool(failed_src);
   }

   bool fits(bool is_signed, double value, unsigned bits, unsigned integer_bits)
   {
      return !fails(is_signed ? SpvOpConvertFToS : SpvOpConvertFToU, {number(value, bits)},
                    integer_bits);
   }

   bool fails_glsl(unsigned function, std::vector<nir_def *> operands)
   {
      return fails(NIR_SPIRV_GLSL450 + function, operands, operands[0]->bit_size);
   }
};

TEST_F(nir_operations_test, limits_of_conversions_to_signed_integers)
{
   for (unsigned bits : {16, 32, 64}) {
      for (unsigned integer_bits : {8, 16, 32, 64}) {
         SCOPED_TRACE(testing::Message() << bits << " to " << integer_bits);
         double limit = ldexp(1, integer_bits - 1);
         int mantissa_bits = bits == 16 ? 11 : bits == 32 ? 24 : 53;
         double step = ldexp(1, (int)integer_bits - mantissa_bits); /* of numbers from limit on */

         EXPECT_TRUE(fits(true, 0, bits, integer_bits));
         EXPECT_TRUE(fits(true, -0.0, bits, integer_bits));
         EXPECT_FALSE(fits(true, NAN, bits, integer_bits));
         EXPECT_FALSE(fits(true, INFINITY, bits, integer_bits));
         EXPECT_FALSE(fits(true, -INFINITY, bits, integer_bits));
         if (bits == 16 && integer_bits > 16) {
            EXPECT_TRUE(fits(true, 65504, bits, integer_bits));
            EXPECT_TRUE(fits(true, -65504, bits, integer_bits));
            continue;
         }
         EXPECT_FALSE(fits(true, limit, bits, integer_bits));
         EXPECT_TRUE(fits(true, limit - step / 2, bits, integer_bits));
         EXPECT_TRUE(fits(true, -limit, bits, integer_bits));
         EXPECT_EQ(fits(true, -limit - step, bits, integer_bits), step < 1);
         EXPECT_FALSE(fits(true, -limit - MAX2(step, 1), bits, integer_bits));
         if (step < 1) {
            EXPECT_TRUE(fits(true, -limit - 1 + step, bits, integer_bits));
         }
      }
   }
}

TEST_F(nir_operations_test, limits_of_conversions_to_unsigned_integers)
{
   for (unsigned bits : {16, 32, 64}) {
      for (unsigned integer_bits : {8, 16, 32, 64}) {
         SCOPED_TRACE(testing::Message() << bits << " to " << integer_bits);
         double limit = ldexp(1, integer_bits);
         int mantissa_bits = bits == 16 ? 11 : bits == 32 ? 24 : 53;

         EXPECT_TRUE(fits(false, 0, bits, integer_bits));
         EXPECT_TRUE(fits(false, -0.0, bits, integer_bits));
         EXPECT_TRUE(fits(false, -1 + ldexp(1, -mantissa_bits), bits, integer_bits));
         EXPECT_FALSE(fits(false, -1, bits, integer_bits));
         EXPECT_FALSE(fits(false, NAN, bits, integer_bits));
         EXPECT_FALSE(fits(false, -NAN, bits, integer_bits));
         EXPECT_FALSE(fits(false, INFINITY, bits, integer_bits));
         EXPECT_FALSE(fits(false, -INFINITY, bits, integer_bits));
         if (bits == 16 && integer_bits >= 16) {
            EXPECT_TRUE(fits(false, 65504, bits, integer_bits));
            continue;
         }
         EXPECT_FALSE(fits(false, limit, bits, integer_bits));
         EXPECT_TRUE(
            fits(false, limit - ldexp(1, (int)integer_bits - mantissa_bits), bits, integer_bits));
      }
   }
}

TEST_F(nir_operations_test, division_of_integers)
{
   for (unsigned bits : {8, 16, 32, 64}) {
      int64_t least = -(int64_t)(1ull << (bits - 1));

      EXPECT_TRUE(fails(SpvOpSDiv, {integer(7, bits), integer(0, bits)}, bits));
      EXPECT_TRUE(fails(SpvOpUMod, {integer(7, bits), integer(0, bits)}, bits));
      EXPECT_TRUE(fails(SpvOpSRem, {integer(least, bits), integer(-1, bits)}, bits));
      EXPECT_FALSE(fails(SpvOpSRem, {integer(least + 1, bits), integer(-1, bits)}, bits));
      EXPECT_FALSE(fails(SpvOpSMod, {integer(least, bits), integer(1, bits)}, bits));
      EXPECT_FALSE(fails(SpvOpUDiv, {integer(least, bits), integer(-1, bits)}, bits));
   }
}

TEST_F(nir_operations_test, shifts)
{
   for (unsigned bits : {8, 16, 32, 64}) {
      for (unsigned count_bits : {8, 16, 32, 64}) {
         EXPECT_FALSE(
            fails(SpvOpShiftLeftLogical, {integer(1, bits), integer(bits - 1, count_bits)}, bits));
         EXPECT_TRUE(
            fails(SpvOpShiftRightLogical, {integer(1, bits), integer(bits, count_bits)}, bits));
         EXPECT_TRUE(
            fails(SpvOpShiftRightArithmetic, {integer(1, bits), integer(-1, count_bits)}, bits));
      }
   }
   EXPECT_TRUE(fails(SpvOpShiftLeftLogical, {integer(1), integer(1ll << 32, 64)}, 32));
}

TEST_F(nir_operations_test, bits_of_a_word)
{
   EXPECT_FALSE(fails(SpvOpBitFieldUExtract, {integer(1), integer(32), integer(0)}, 32));
   EXPECT_FALSE(fails(SpvOpBitFieldUExtract, {integer(1), integer(0), integer(32)}, 32));
   EXPECT_TRUE(fails(SpvOpBitFieldUExtract, {integer(1), integer(33), integer(0)}, 32));
   EXPECT_TRUE(fails(SpvOpBitFieldSExtract, {integer(1), integer(1), integer(32)}, 32));
   EXPECT_TRUE(fails(SpvOpBitFieldSExtract, {integer(1), integer(8), integer(-8)}, 32));
   EXPECT_TRUE(fails(SpvOpBitFieldInsert, {integer(1), integer(2), integer(-1), integer(1)}, 32));
   EXPECT_FALSE(
      fails(SpvOpBitFieldInsert, {integer(1, 64), integer(2, 64), integer(60), integer(4)}, 64));
}

TEST_F(nir_operations_test, functions)
{
   for (unsigned bits : {16, 32, 64}) {
      auto x = [&](double value) { return number(value, bits); };

      EXPECT_TRUE(fails_glsl(GLSLstd450Sqrt, {x(-1)}));
      EXPECT_TRUE(fails_glsl(GLSLstd450Sqrt, {x(-INFINITY)}));
      EXPECT_FALSE(fails_glsl(GLSLstd450Sqrt, {x(-0.0)}));
      EXPECT_FALSE(fails_glsl(GLSLstd450Sqrt, {x(NAN)}));
      EXPECT_FALSE(fails_glsl(GLSLstd450Sqrt, {x(-NAN)}));
      EXPECT_TRUE(fails_glsl(GLSLstd450InverseSqrt, {x(-0.0)}));
      EXPECT_TRUE(fails_glsl(GLSLstd450Log2, {x(0)}));
      EXPECT_FALSE(fails_glsl(GLSLstd450Log, {x(0.5)}));
      EXPECT_TRUE(fails_glsl(GLSLstd450Pow, {x(0), x(0)}));
      EXPECT_TRUE(fails_glsl(GLSLstd450Pow, {x(0), x(-2)}));
      EXPECT_TRUE(fails_glsl(GLSLstd450Pow, {x(-2), x(2)}));
      EXPECT_FALSE(fails_glsl(GLSLstd450Pow, {x(0), x(0.5)}));
      EXPECT_FALSE(fails_glsl(GLSLstd450Pow, {x(2), x(-0.5)}));
      EXPECT_FALSE(fails_glsl(GLSLstd450Asin, {x(1)}));
      EXPECT_FALSE(fails_glsl(GLSLstd450Acos, {x(-1)}));
      EXPECT_TRUE(fails_glsl(GLSLstd450Acos, {x(bits == 16 ? 1.001 : 1.000001)}));
      EXPECT_TRUE(fails_glsl(GLSLstd450Asin, {x(-INFINITY)}));
      EXPECT_FALSE(fails_glsl(GLSLstd450Asin, {x(NAN)}));
      EXPECT_TRUE(fails_glsl(GLSLstd450Atan2, {x(0), x(-0.0)}));
      EXPECT_FALSE(fails_glsl(GLSLstd450Atan2, {x(0), x(1)}));
      EXPECT_TRUE(fails_glsl(GLSLstd450FClamp, {x(0), x(2), x(1)}));
      EXPECT_FALSE(fails_glsl(GLSLstd450NClamp, {x(0), x(1), x(1)}));
      EXPECT_TRUE(fails_glsl(GLSLstd450SmoothStep, {x(1), x(1), x(0)}));
      EXPECT_FALSE(fails_glsl(GLSLstd450SmoothStep, {x(0), x(1), x(0)}));
   }
   EXPECT_TRUE(fails_glsl(GLSLstd450SClamp, {integer(0), integer(1), integer(-1)}));
   EXPECT_FALSE(fails_glsl(GLSLstd450UClamp, {integer(0), integer(1), integer(-1)}));
   EXPECT_TRUE(fails_glsl(GLSLstd450Normalize, {hide(nir_imm_vec2(b, 0, -0.0))}));
   EXPECT_FALSE(fails_glsl(GLSLstd450Normalize, {hide(nir_imm_vec2(b, 0, 1))}));
}

TEST_F(nir_operations_test, what_is_proven_leaves_nothing)
{
   nir_def *x = any_offset(), *f = nir_u2f32(b, any_offset());
   nir_def *vector = nir_vec2(b, f, f);

   EXPECT_FALSE(fails(SpvOpUDiv, {x, nir_imm_int(b, 3)}, 32));
   EXPECT_FALSE(fails(SpvOpSDiv, {x, nir_imm_int(b, 3)}, 32));
   EXPECT_FALSE(fails(SpvOpUMod, {x, nir_umax(b, x, nir_imm_int(b, 1))}, 32));
   EXPECT_FALSE(fails(SpvOpShiftLeftLogical, {x, nir_iand_imm(b, x, 31)}, 32));
   EXPECT_FALSE(fails(SpvOpBitFieldUExtract, {x, nir_imm_int(b, 8), nir_imm_int(b, 8)}, 32));
   EXPECT_FALSE(fails_glsl(GLSLstd450Sqrt, {nir_fmul(b, f, f)}));
   EXPECT_FALSE(fails_glsl(GLSLstd450Sqrt, {nir_fdot(b, vector, vector)}));
   EXPECT_FALSE(fails_glsl(GLSLstd450Log2, {nir_fmax(b, f, nir_imm_float(b, 0.1))}));
   EXPECT_FALSE(fails_glsl(GLSLstd450Pow, {nir_fabs(b, f), nir_imm_float(b, 2)}));
   EXPECT_FALSE(fails_glsl(GLSLstd450FClamp, {f, nir_imm_float(b, 0), nir_imm_float(b, 1)}));
   EXPECT_EQ(find(nir_intrinsic_early_report_gpuval).size(), 0u);
}

TEST_F(nir_operations_test, unused_results_are_not_looked_at)
{
   options.checks = BITFIELD_BIT(GPUVAL_CHECK_ARITHMETIC);
   nir_def *x = any_offset(), *y = any_offset();
   nir_def *unused = nir_udiv(b, x, y), *of_unused = nir_ishl(b, unused, x);
   nir_def *used = nir_udiv(b, y, x);
   nir_def *zero = nir_imm_int(b, 0);

   nir_operation_gpuval(b, unused, x, y, zero, zero, .base = 4, .range = SpvOpUDiv, .flags = 2);
   nir_operation_gpuval(b, of_unused, unused, x, zero, zero, .base = 8,
                        .range = SpvOpShiftLeftLogical, .flags = 2);
   nir_operation_gpuval(b, used, y, x, zero, zero, .base = 12, .range = SpvOpUDiv, .flags = 2);
   nir_store_ssbo(b, used, ssbo(), any_offset());
   gpuval_nir_instrument_early(b->shader, &options);

   std::vector<nir_intrinsic_instr *> reports = find(nir_intrinsic_early_report_gpuval);
   ASSERT_EQ(reports.size(), 1u);
   EXPECT_EQ(nir_intrinsic_base(reports[0]), 12);
   EXPECT_EQ(find(nir_intrinsic_operation_gpuval).size(), 0u);
}

TEST_F(nir_operations_test, checks_that_are_off_leave_nothing)
{
   nir_def *x = any_offset(), *zero = nir_imm_int(b, 0);
   nir_def *used = nir_udiv(b, x, x);

   nir_operation_gpuval(b, used, x, x, zero, zero, .base = 4, .range = SpvOpUDiv, .flags = 2);
   nir_operation_gpuval(b, x, x, zero, zero, zero, .base = 8, .range = SpvOpSwitch, .flags = 1);
   nir_store_ssbo(b, used, ssbo(), any_offset());
   gpuval_nir_instrument_early(b->shader, &options);
   EXPECT_EQ(find(nir_intrinsic_early_report_gpuval).size(), 0u);
   EXPECT_EQ(find(nir_intrinsic_operation_gpuval).size(), 0u);
}

class nir_undefined_test : public nir_passes_test {
 protected:
   nir_undefined_test()
   {
      options.checks = BITFIELD_BIT(GPUVAL_CHECK_UNDEFINED);
   }

   nir_def *any_condition()
   {
      return nir_ilt(b, any_offset(), nir_imm_int(b, 8));
   }

   nir_variable *variable(const struct glsl_type *type)
   {
      return nir_local_variable_create(b->impl, type, "v");
   }

   void branch_by(nir_def *value)
   {
      nir_def *zero = nir_imm_int(b, 0);
      nir_operation_gpuval(b, value, value, zero, zero, zero, .base = 4, .range = SpvOpSwitch,
                           .flags = 1);
   }

   void store_element(nir_variable *array, nir_def *index, nir_def *value)
   {
      nir_store_array_var(b, array, index, value, 0x1);
   }

   std::vector<nir_intrinsic_instr *> look()
   {
      gpuval_nir_instrument_early(b->shader, &options);
      nir_validate_shader(b->shader, "after");
      EXPECT_EQ(find(nir_intrinsic_operation_gpuval).size(), 0u);
      return find(nir_intrinsic_early_report_gpuval);
   }
};

TEST_F(nir_undefined_test, a_path_without_an_assignment)
{
   nir_variable *var = variable(glsl_uint_type());
   nir_push_if(b, any_condition());
   nir_store_var(b, var, nir_imm_int(b, 1), 0x1);
   nir_pop_if(b, NULL);
   branch_by(nir_iadd_imm(b, nir_load_var(b, var), 3));
   std::vector<nir_intrinsic_instr *> reports = look();
   ASSERT_EQ(reports.size(), 1u);
   EXPECT_EQ(nir_intrinsic_base(reports[0]), 4);
   EXPECT_FALSE(nir_src_is_const(reports[0]->src[0]));
}

TEST_F(nir_undefined_test, all_paths_assign)
{
   nir_variable *var = variable(glsl_uint_type());
   nir_push_if(b, any_condition());
   nir_store_var(b, var, nir_imm_int(b, 1), 0x1);
   nir_push_else(b, NULL);
   nir_store_var(b, var, any_offset(), 0x1);
   nir_pop_if(b, NULL);
   branch_by(nir_load_var(b, var));
   EXPECT_EQ(look().size(), 0u);
}

TEST_F(nir_undefined_test, the_variable_of_a_loop)
{
   nir_variable *var = variable(glsl_uint_type());
   nir_push_loop(b);
   nir_store_var(b, var, any_offset(), 0x1);
   branch_by(nir_load_var(b, var));
   nir_break_if(b, any_condition());
   nir_pop_loop(b, NULL);
   EXPECT_EQ(look().size(), 0u);
}

TEST_F(nir_undefined_test, the_other_half_decides)
{
   nir_def *undefined = nir_undef(b, 1, 1);
   branch_by(nir_iand(b, nir_imm_false(b), undefined));
   branch_by(nir_ior(b, undefined, nir_imm_true(b)));
   branch_by(nir_iand(b, nir_imm_true(b), undefined));
   std::vector<nir_intrinsic_instr *> reports = look();
   ASSERT_EQ(reports.size(), 3u);
   fold();
   EXPECT_FALSE(nir_src_as_bool(reports[0]->src[0]));
   EXPECT_FALSE(nir_src_as_bool(reports[1]->src[0]));
   EXPECT_TRUE(nir_src_as_bool(reports[2]->src[0]));
}

TEST_F(nir_undefined_test, an_array_that_constant_indices_fill)
{
   nir_variable *array = variable(glsl_array_type(glsl_uint_type(), 4, 0));
   for (unsigned i = 0; i < 4; i++)
      store_element(array, nir_imm_int(b, i), any_offset());
   branch_by(nir_load_array_var(b, array, any_offset()));
   EXPECT_EQ(look().size(), 0u);
}

TEST_F(nir_undefined_test, an_array_with_a_hole)
{
   nir_variable *array = variable(glsl_array_type(glsl_uint_type(), 4, 0));
   for (unsigned i = 0; i < 3; i++)
      store_element(array, nir_imm_int(b, i), any_offset());
   store_element(array, any_offset(), any_offset());
   branch_by(nir_load_array_var(b, array, any_offset()));
   EXPECT_EQ(look().size(), 1u);
}

TEST_F(nir_undefined_test, components_of_a_vector)
{
   nir_def *undefined = nir_undef(b, 1, 32), *x = any_offset();
   nir_def *vector = nir_iadd(b, nir_vec2(b, x, undefined), nir_vec2(b, x, x));
   branch_by(nir_channel(b, vector, 0));
   branch_by(nir_channel(b, vector, 1));
   branch_by(nir_channel(b, vector, 0));
   EXPECT_EQ(look().size(), 1u);
}

} // namespace
