/* SPDX-License-Identifier: MIT */

/* arithmetic: operations whose result SPIR-V leaves undefined for these operands.
 *
 * A vector operation is one failing access: the record has the operands of the first component that
 * fails. Floats are compared by their bits where a NaN, or what is allowed to be flushed to zero,
 * must not count: no optimization of floats has a say in that. Negative numbers are at least as
 * large as the smallest normal one, as smaller ones may count as 0.
 *
 * What an operand cannot be costs nothing: constants, masks, maxima, squares.
 */

#include "gpuval_nir_float.h"
#include "gpuval_nir_operation.h"

#include "spirv/GLSL.std.450.h"
#include "spirv/nir_spirv.h"
#include "spirv/spirv.h"

#define GLSL(name) NIR_SPIRV_GLSL450 + GLSLstd450##name

/* What an opcode is, of which SPIR-V has several: one of a type each */
static const struct row {
   unsigned opcode;
   enum gpuval_arithmetic arithmetic;
   enum gpuval_kind kind;
   enum { UNSIGNED, SIGNED, FLOAT } type; /* of the operands, or what is made of a float */
} rows[] = {
   {SpvOpUDiv, GPUVAL_ARITHMETIC_DIVIDE, GPUVAL_KIND_ARITHMETIC_DIVISION_BY_ZERO, UNSIGNED},
   {SpvOpSDiv, GPUVAL_ARITHMETIC_DIVIDE, GPUVAL_KIND_ARITHMETIC_DIVISION_BY_ZERO, SIGNED},
   {SpvOpUMod, GPUVAL_ARITHMETIC_REMAINDER, GPUVAL_KIND_ARITHMETIC_DIVISION_BY_ZERO, UNSIGNED},
   {SpvOpSRem, GPUVAL_ARITHMETIC_REMAINDER, GPUVAL_KIND_ARITHMETIC_DIVISION_BY_ZERO, SIGNED},
   {SpvOpSMod, GPUVAL_ARITHMETIC_REMAINDER, GPUVAL_KIND_ARITHMETIC_DIVISION_BY_ZERO, SIGNED},
   {SpvOpShiftLeftLogical, GPUVAL_ARITHMETIC_SHIFT_LEFT, GPUVAL_KIND_ARITHMETIC_SHIFT, UNSIGNED},
   {SpvOpShiftRightLogical, GPUVAL_ARITHMETIC_SHIFT_RIGHT, GPUVAL_KIND_ARITHMETIC_SHIFT, UNSIGNED},
   {SpvOpShiftRightArithmetic, GPUVAL_ARITHMETIC_SHIFT_RIGHT, GPUVAL_KIND_ARITHMETIC_SHIFT, SIGNED},
   {SpvOpConvertFToU, GPUVAL_ARITHMETIC_CONVERT, GPUVAL_KIND_ARITHMETIC_CONVERSION, UNSIGNED},
   {SpvOpConvertFToS, GPUVAL_ARITHMETIC_CONVERT, GPUVAL_KIND_ARITHMETIC_CONVERSION, SIGNED},
   {SpvOpBitFieldInsert, GPUVAL_ARITHMETIC_INSERT, GPUVAL_KIND_ARITHMETIC_BIT_RANGE, UNSIGNED},
   {SpvOpBitFieldSExtract, GPUVAL_ARITHMETIC_EXTRACT, GPUVAL_KIND_ARITHMETIC_BIT_RANGE, UNSIGNED},
   {SpvOpBitFieldUExtract, GPUVAL_ARITHMETIC_EXTRACT, GPUVAL_KIND_ARITHMETIC_BIT_RANGE, UNSIGNED},
   {GLSL(Sqrt), GPUVAL_ARITHMETIC_SQRT, GPUVAL_KIND_ARITHMETIC_DOMAIN, FLOAT},
   {GLSL(InverseSqrt), GPUVAL_ARITHMETIC_INVERSESQRT, GPUVAL_KIND_ARITHMETIC_DOMAIN, FLOAT},
   {GLSL(Log), GPUVAL_ARITHMETIC_LOG, GPUVAL_KIND_ARITHMETIC_DOMAIN, FLOAT},
   {GLSL(Log2), GPUVAL_ARITHMETIC_LOG2, GPUVAL_KIND_ARITHMETIC_DOMAIN, FLOAT},
   {GLSL(Pow), GPUVAL_ARITHMETIC_POW, GPUVAL_KIND_ARITHMETIC_DOMAIN, FLOAT},
   {GLSL(Asin), GPUVAL_ARITHMETIC_ASIN, GPUVAL_KIND_ARITHMETIC_DOMAIN, FLOAT},
   {GLSL(Acos), GPUVAL_ARITHMETIC_ACOS, GPUVAL_KIND_ARITHMETIC_DOMAIN, FLOAT},
   {GLSL(Atan2), GPUVAL_ARITHMETIC_ATAN, GPUVAL_KIND_ARITHMETIC_DOMAIN, FLOAT},
   {GLSL(Normalize), GPUVAL_ARITHMETIC_NORMALIZE, GPUVAL_KIND_ARITHMETIC_DOMAIN, FLOAT},
   {GLSL(FClamp), GPUVAL_ARITHMETIC_CLAMP, GPUVAL_KIND_ARITHMETIC_DOMAIN, FLOAT},
   {GLSL(NClamp), GPUVAL_ARITHMETIC_CLAMP, GPUVAL_KIND_ARITHMETIC_DOMAIN, FLOAT},
   {GLSL(UClamp), GPUVAL_ARITHMETIC_CLAMP, GPUVAL_KIND_ARITHMETIC_DOMAIN, UNSIGNED},
   {GLSL(SClamp), GPUVAL_ARITHMETIC_CLAMP, GPUVAL_KIND_ARITHMETIC_DOMAIN, SIGNED},
   {GLSL(SmoothStep), GPUVAL_ARITHMETIC_SMOOTHSTEP, GPUVAL_KIND_ARITHMETIC_DOMAIN, FLOAT},
};

static const struct row *
find_row(unsigned opcode)
{
   for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
      if (rows[i].opcode == opcode)
         return &rows[i];
   }
   return NULL;
}

bool
gpuval_nir_may_fail_arithmetic(unsigned opcode)
{
   return find_row(opcode);
}

struct look {
   nir_builder *b;
   const struct row *row;
   const struct gpuval_nir_operation *operation;
   struct hash_table *upper_bounds;
};

/* Of two conditions, 1 bit, of which NULL is false */
static nir_def *
either(nir_builder *b, nir_def *first, nir_def *second)
{
   return !first ? second : !second ? first : nir_ior(b, first, second);
}

static nir_def *
both(nir_builder *b, nir_def *first, nir_def *second)
{
   return !first || !second ? NULL : nir_iand(b, first, second);
}

/* What is true of constants: no code */
static nir_def *
constant(nir_builder *b, bool is_true)
{
   return is_true ? nir_imm_true(b) : NULL;
}

static uint64_t
get_bits(nir_scalar scalar)
{
   return nir_scalar_as_uint(scalar);
}

static bool
is_alu(nir_scalar scalar, nir_op op)
{
   return nir_scalar_is_alu(scalar) && nir_scalar_alu_op(scalar) == op;
}

static nir_scalar
get_source(nir_scalar scalar, unsigned index)
{
   return nir_scalar_chase_movs(nir_scalar_chase_alu_src(scalar, index));
}

/* Integers */

static bool
is_not_zero(nir_scalar value)
{
   if (nir_scalar_is_const(value))
      return get_bits(value) != 0;
   if (is_alu(value, nir_op_umax) || is_alu(value, nir_op_ior))
      return is_not_zero(get_source(value, 0)) || is_not_zero(get_source(value, 1));
   if (is_alu(value, nir_op_bcsel))
      return is_not_zero(get_source(value, 1)) && is_not_zero(get_source(value, 2));
   if (is_alu(value, nir_op_imax)) {
      for (unsigned i = 0; i < 2; i++) {
         nir_scalar source = get_source(value, i);
         if (nir_scalar_is_const(source) && nir_scalar_as_int(source) > 0)
            return true;
      }
   }
   return false;
}

static nir_def *
is_value(nir_builder *b, nir_scalar scalar, uint64_t value)
{
   if (nir_scalar_is_const(scalar))
      return constant(b, get_bits(scalar) == value);
   return nir_ieq_imm(b, gpuval_nir_scalar(b, scalar), value);
}

static nir_def *
look_at_division(const struct look *look, nir_scalar dividend, nir_scalar divisor)
{
   nir_builder *b = look->b;
   unsigned bits = divisor.def->bit_size;
   nir_def *failed = is_not_zero(divisor) ? NULL : is_value(b, divisor, 0);

   if (look->row->type == SIGNED)
      failed = either(b, failed,
                      both(b, is_value(b, divisor, BITFIELD64_MASK(bits)),
                           is_value(b, dividend, BITFIELD64_BIT(bits - 1))));
   return failed;
}

/* Is that unsigned integer above @limit? */
static nir_def *
is_above(const struct look *look, nir_scalar value, uint64_t limit)
{
   nir_builder *b = look->b;

   if (limit >= BITFIELD64_MASK(value.def->bit_size))
      return NULL;
   if (nir_scalar_is_const(value))
      return constant(b, get_bits(value) > limit);
   if (value.def->bit_size <= 32 &&
       gpuval_upper_bound(b->shader, look->upper_bounds, value) <= limit)
      return NULL;
   return nir_ugt_imm(b, gpuval_nir_scalar(b, value), limit);
}

static nir_def *
look_at_bits(const struct look *look, unsigned width, nir_scalar offset, nir_scalar count)
{
   nir_builder *b = look->b;
   nir_def *offset_is_above = is_above(look, offset, width);

   if (nir_scalar_is_const(offset))
      return offset_is_above ? offset_is_above : is_above(look, count, width - get_bits(offset));
   if (nir_scalar_is_const(count)) {
      if (get_bits(count) > width)
         return nir_imm_true(b);
      return is_above(look, offset, width - get_bits(count));
   }
   unsigned bits = MAX3(32, offset.def->bit_size, count.def->bit_size);
   nir_def *room = nir_isub_imm(b, width, nir_u2uN(b, gpuval_nir_scalar(b, offset), bits));
   return either(b, offset_is_above,
                 nir_ult(b, room, nir_u2uN(b, gpuval_nir_scalar(b, count), bits)));
}

/* Floats */

static unsigned
count_mantissa_bits(unsigned bit_size) /* with the one that is not there */
{
   return bit_size == 16 ? 11 : bit_size == 32 ? 24 : 53;
}

static unsigned
get_bias(unsigned bit_size)
{
   return bit_size == 16 ? 15 : bit_size == 32 ? 127 : 1023;
}

static uint64_t
get_infinity(unsigned bit_size)
{
   return ((uint64_t)get_bias(bit_size) * 2 + 1) << (count_mantissa_bits(bit_size) - 1);
}

/* Bits of 2^exponent, or of infinity */
static uint64_t
get_power(unsigned bit_size, unsigned exponent)
{
   unsigned bias = get_bias(bit_size);
   return exponent > bias ? get_infinity(bit_size)
                          : (uint64_t)(bias + exponent) << (count_mantissa_bits(bit_size) - 1);
}

/* Does it have no sign, or is it -0? NaN may do as it likes. */
static bool
is_not_negative(nir_scalar value, unsigned depth)
{
   if (nir_scalar_is_const(value))
      return !(nir_scalar_as_float(value) < 0);
   if (!nir_scalar_is_alu(value) || !depth)
      return false;

   nir_alu_instr *alu = nir_instr_as_alu(nir_def_instr(value.def));
   switch (alu->op) {
   case nir_op_fabs:
   case nir_op_fsat:
   case nir_op_fsqrt:
   case nir_op_fexp2:
   case nir_op_frsq:
   case nir_op_ffract:
   case nir_op_u2f16:
   case nir_op_u2f32:
   case nir_op_u2f64:
   case nir_op_b2f16:
   case nir_op_b2f32:
   case nir_op_b2f64:
      return true;
   case nir_op_fdot2:
   case nir_op_fdot3:
   case nir_op_fdot4:
      return nir_alu_srcs_equal(alu, alu, 0, 1);
   case nir_op_fmul:
      if (nir_scalar_equal(get_source(value, 0), get_source(value, 1)))
         return true;
      FALLTHROUGH;
   case nir_op_fadd:
   case nir_op_fmin:
      return is_not_negative(get_source(value, 0), depth - 1) &&
             is_not_negative(get_source(value, 1), depth - 1);
   case nir_op_fmax:
      return is_not_negative(get_source(value, 0), depth - 1) ||
             is_not_negative(get_source(value, 1), depth - 1);
   case nir_op_bcsel:
      return is_not_negative(get_source(value, 1), depth - 1) &&
             is_not_negative(get_source(value, 2), depth - 1);
   default:
      return false;
   }
}

static nir_def *
is_negative(nir_builder *b, nir_scalar value)
{
   unsigned bits = value.def->bit_size;
   uint64_t sign = BITFIELD64_BIT(bits - 1);
   uint64_t smallest = BITFIELD64_BIT(count_mantissa_bits(bits) - 1);

   if (is_not_negative(value, 4))
      return NULL;
   return nir_ult_imm(b, nir_iadd_imm(b, gpuval_nir_scalar(b, value), -(sign | smallest)),
                      get_infinity(bits) - smallest + 1);
}

static bool
is_above_zero(nir_scalar value)
{
   if (nir_scalar_is_const(value))
      return nir_scalar_as_float(value) > 0;
   if (is_alu(value, nir_op_fmax))
      return is_above_zero(get_source(value, 0)) || is_above_zero(get_source(value, 1));
   if (is_alu(value, nir_op_fadd)) {
      nir_scalar first = get_source(value, 0), second = get_source(value, 1);
      return (is_above_zero(first) && is_not_negative(second, 4)) ||
             (is_above_zero(second) && is_not_negative(first, 4));
   }
   return false;
}

static nir_def *
is_zero(nir_builder *b, nir_scalar value)
{
   if (nir_scalar_is_const(value))
      return constant(b, nir_scalar_as_float(value) == 0);
   if (is_above_zero(value))
      return NULL;
   return nir_ieq_imm(b, gpuval_nir_magnitude(b, gpuval_nir_scalar(b, value)), 0);
}

static nir_def *
is_negative_or_zero(nir_builder *b, nir_scalar value)
{
   return either(b, is_negative(b, value), is_zero(b, value));
}

/* The least integer is one more below 0 than the largest above: where a float has numbers between
 * it and the next integer, these fit, too.
 */
static nir_def *
does_not_fit(nir_builder *b, nir_scalar value, unsigned integer_bits, bool is_signed)
{
   unsigned bits = value.def->bit_size, mantissa_bits = count_mantissa_bits(bits);
   uint64_t sign = BITFIELD64_BIT(bits - 1);
   uint64_t limit = get_power(bits, is_signed ? integer_bits - 1 : integer_bits);
   nir_def *x = gpuval_nir_scalar(b, value);

   if (!is_signed) {
      nir_def *below = nir_ult_imm(b, x, limit);
      nir_def *above_minus_one = nir_ult_imm(b, nir_iadd_imm(b, x, -sign), get_power(bits, 0));
      return nir_inot(b, nir_ior(b, below, above_minus_one));
   }

   uint64_t least = limit; /* the magnitude of the first number that does not fit */
   if (limit != get_infinity(bits))
      least += integer_bits <= mantissa_bits ? BITFIELD64_BIT(mantissa_bits - integer_bits) : 1;
   nir_def *magnitude = gpuval_nir_magnitude(b, x);
   nir_def *fails = nir_uge_imm(b, magnitude, limit);
   if (least == limit)
      return fails;
   return nir_iand(b, fails, nir_uge_imm(b, nir_iadd_imm(b, x, -(sign | limit)), least - limit));
}

static nir_def *
compare(const struct look *look, nir_scalar first, nir_scalar second, bool or_equal)
{
   nir_builder *b = look->b;
   enum { IS_ABOVE, IS_EQUAL, IS_BELOW } order;

   if (nir_scalar_is_const(first) && nir_scalar_is_const(second)) {
      double difference = look->row->type == FLOAT
                             ? nir_scalar_as_float(first) - nir_scalar_as_float(second)
                          : look->row->type == SIGNED
                             ? (double)nir_scalar_as_int(first) - (double)nir_scalar_as_int(second)
                             : (double)get_bits(first) - (double)get_bits(second);
      order = difference > 0 ? IS_ABOVE : difference == 0 ? IS_EQUAL : IS_BELOW;
      return constant(b, order == IS_ABOVE || (or_equal && order == IS_EQUAL));
   }

   nir_def *x = gpuval_nir_scalar(b, first), *y = gpuval_nir_scalar(b, second);
   switch (look->row->type) {
   case FLOAT: {
      bool was_exact = b->exact;
      b->exact = true;
      nir_def *result = or_equal ? nir_fge(b, x, y) : nir_flt(b, y, x);
      b->exact = was_exact;
      return result;
   }
   case SIGNED:
      return nir_ilt(b, y, x);
   default:
      return nir_ult(b, y, x);
   }
}

/* Does that component fail? @shown: its operands that say why */
static nir_def *
look_at(const struct look *look, unsigned component, nir_scalar *shown)
{
   const struct gpuval_nir_operation *operation = look->operation;
   nir_builder *b = look->b;
   nir_scalar operands[GPUVAL_NIR_MAX_OPERANDS];

   for (unsigned i = 0; i < operation->num_operands; i++)
      operands[i] = gpuval_nir_operand(operation, i, component);
   nir_scalar first = shown[0] = operands[0];
   nir_scalar second = shown[1] = operands[MIN2(1, operation->num_operands - 1)];

   switch (look->row->arithmetic) {
   case GPUVAL_ARITHMETIC_DIVIDE:
   case GPUVAL_ARITHMETIC_REMAINDER:
      return look_at_division(look, first, second);
   case GPUVAL_ARITHMETIC_SHIFT_LEFT:
   case GPUVAL_ARITHMETIC_SHIFT_RIGHT:
      return is_above(look, second, first.def->bit_size - 1);
   case GPUVAL_ARITHMETIC_CONVERT:
      return does_not_fit(b, first, operation->result->bit_size, look->row->type == SIGNED);
   case GPUVAL_ARITHMETIC_INSERT:
      shown[0] = operands[2];
      shown[1] = operands[3];
      return look_at_bits(look, first.def->bit_size, operands[2], operands[3]);
   case GPUVAL_ARITHMETIC_EXTRACT:
      shown[0] = operands[1];
      shown[1] = operands[2];
      return look_at_bits(look, first.def->bit_size, operands[1], operands[2]);
   case GPUVAL_ARITHMETIC_SQRT:
      return is_negative(b, first);
   case GPUVAL_ARITHMETIC_INVERSESQRT:
   case GPUVAL_ARITHMETIC_LOG:
   case GPUVAL_ARITHMETIC_LOG2:
      return is_negative_or_zero(b, first);
   case GPUVAL_ARITHMETIC_POW:
      return either(
         b, is_negative(b, first),
         is_above_zero(second) ? NULL : both(b, is_zero(b, first), is_negative_or_zero(b, second)));
   case GPUVAL_ARITHMETIC_ASIN:
   case GPUVAL_ARITHMETIC_ACOS: {
      unsigned bits = first.def->bit_size;
      uint64_t one = get_power(bits, 0);
      nir_def *magnitude = gpuval_nir_magnitude(b, gpuval_nir_scalar(b, first));
      return nir_ult_imm(b, nir_iadd_imm(b, magnitude, -(one + 1)), get_infinity(bits) - one);
   }
   case GPUVAL_ARITHMETIC_ATAN:
      return both(b, is_zero(b, first), is_zero(b, second));
   case GPUVAL_ARITHMETIC_CLAMP:
      shown[0] = operands[1];
      shown[1] = operands[2];
      return compare(look, operands[1], operands[2], false);
   case GPUVAL_ARITHMETIC_SMOOTHSTEP:
      return compare(look, first, second, true);
   default:
      UNREACHABLE("not component by component");
   }
}

/* A vector that is 0 */
static nir_def *
look_at_vector(const struct look *look)
{
   nir_def *vector = look->operation->operands[0];
   nir_def *failed = NULL;

   for (unsigned i = 0; i < vector->num_components; i++) {
      nir_def *is_zero_here = is_zero(look->b, gpuval_nir_operand(look->operation, 0, i));
      if (!is_zero_here)
         return NULL;
      failed = failed ? nir_iand(look->b, failed, is_zero_here) : is_zero_here;
   }
   return failed;
}

/* As a word of a record: floats as 32 bits, integers saturated */
static nir_def *
get_word(nir_builder *b, nir_scalar scalar, bool is_float, bool is_signed)
{
   nir_def *value = gpuval_nir_scalar(b, scalar);

   if (is_float)
      return nir_f2f32(b, value);
   if (value->bit_size == 64)
      return is_signed ? nir_i2i32(b, nir_imin(b, nir_imax(b, value, nir_imm_int64(b, INT32_MIN)),
                                               nir_imm_int64(b, INT32_MAX)))
                       : nir_u2u32(b, nir_umin(b, value, nir_imm_int64(b, UINT32_MAX)));
   return is_signed ? nir_i2i32(b, value) : nir_u2u32(b, value);
}

nir_def *
gpuval_nir_check_arithmetic(nir_builder *b, const struct gpuval_nir_operation *operation,
                            struct hash_table *upper_bounds)
{
   const struct look look = {b, find_row(operation->opcode), operation, upper_bounds};
   if (!look.row)
      return NULL;

   enum gpuval_arithmetic arithmetic = look.row->arithmetic;
   bool is_float = look.row->type == FLOAT || arithmetic == GPUVAL_ARITHMETIC_CONVERT;
   bool is_signed = look.row->type == SIGNED;
   nir_def *words[2] = {NULL, NULL}, *failed = NULL;

   if (arithmetic == GPUVAL_ARITHMETIC_NORMALIZE) {
      failed = look_at_vector(&look);
   } else {
      for (int i = operation->result->num_components - 1; i >= 0; i--) {
         nir_scalar shown[2];
         nir_def *fails = look_at(&look, i, shown);
         if (!fails)
            continue;
         for (unsigned j = 0; j < 2; j++) {
            nir_def *word = get_word(b, shown[j], is_float, is_signed);
            words[j] = words[j] ? nir_bcsel(b, fails, word, words[j]) : word;
         }
         failed = either(b, failed, fails);
      }
   }
   if (!failed)
      return NULL;
   if (operation->used)
      failed = nir_iand(b, failed, operation->used);

   unsigned bits = arithmetic == GPUVAL_ARITHMETIC_CONVERT ? operation->result->bit_size
                                                           : operation->operands[0]->bit_size;
   const struct gpuval_nir_early_report report = {
      .kind = look.row->kind,
      .spirv_offset = operation->spirv_offset,
      .set = -1,
      .binding = -1,
      .size = arithmetic | bits << GPUVAL_ARITHMETIC_BITS_SHIFT |
              (is_float ? GPUVAL_ARITHMETIC_IS_FLOAT : 0) |
              (is_signed ? GPUVAL_ARITHMETIC_IS_SIGNED : 0),
      .failed = failed,
      .words = {words[0], words[1]},
   };
   gpuval_nir_report_early(b, &report);
   return failed;
}
