/* SPDX-License-Identifier: MIT */

/* nan: floating-point operations that make NaN or infinity of finite operands.
 *
 * Where each component of the result comes of the same component of the operands, only that one
 * has to be finite. NaN counts before infinity: a vector operation is one failing access. What
 * arithmetic reports is not reported again.
 */

#include "gpuval_nir_float.h"
#include "gpuval_nir_operation.h"

#include "spirv/GLSL.std.450.h"
#include "spirv/nir_spirv.h"
#include "spirv/spirv.h"

#define GLSL(name) NIR_SPIRV_GLSL450 + GLSLstd450##name

/* Of operations that move, compare or select numbers nothing new comes; of derivatives, operands
 * are also other invocations'.
 */
bool
gpuval_nir_may_make_nan(unsigned opcode)
{
   switch (opcode) {
   case SpvOpFConvert:
   case SpvOpQuantizeToF16:
   case SpvOpConvertSToF:
   case SpvOpConvertUToF:
   case SpvOpFAdd:
   case SpvOpFSub:
   case SpvOpFMul:
   case SpvOpFDiv:
   case SpvOpFRem:
   case SpvOpFMod:
   case SpvOpVectorTimesScalar:
   case SpvOpMatrixTimesScalar:
   case SpvOpVectorTimesMatrix:
   case SpvOpMatrixTimesVector:
   case SpvOpMatrixTimesMatrix:
   case SpvOpOuterProduct:
   case SpvOpDot:
   case GLSL(Degrees):
   case GLSL(Tan):
   case GLSL(Asin):
   case GLSL(Acos):
   case GLSL(Sinh):
   case GLSL(Cosh):
   case GLSL(Acosh):
   case GLSL(Asinh):
   case GLSL(Atanh):
   case GLSL(Atan2):
   case GLSL(Pow):
   case GLSL(Exp):
   case GLSL(Log):
   case GLSL(Exp2):
   case GLSL(Log2):
   case GLSL(Sqrt):
   case GLSL(InverseSqrt):
   case GLSL(Determinant):
   case GLSL(MatrixInverse):
   case GLSL(FMix):
   case GLSL(SmoothStep):
   case GLSL(Fma):
   case GLSL(Ldexp):
   case GLSL(Length):
   case GLSL(Distance):
   case GLSL(Cross):
   case GLSL(Normalize):
   case GLSL(FaceForward):
   case GLSL(Reflect):
   case GLSL(Refract):
      return true;
   default:
      return false;
   }
}

static bool
is_by_component(unsigned opcode)
{
   switch (opcode) {
   case SpvOpVectorTimesMatrix:
   case SpvOpMatrixTimesVector:
   case SpvOpMatrixTimesMatrix:
   case SpvOpOuterProduct:
   case SpvOpDot:
   case GLSL(Determinant):
   case GLSL(MatrixInverse):
   case GLSL(Length):
   case GLSL(Distance):
   case GLSL(Cross):
   case GLSL(Normalize):
   case GLSL(FaceForward):
   case GLSL(Reflect):
   case GLSL(Refract):
      return false;
   default:
      return true;
   }
}

static bool
has_integer_operand(unsigned opcode, unsigned index)
{
   return opcode == SpvOpConvertSToF || opcode == SpvOpConvertUToF ||
          (opcode == GLSL(Ldexp) && index == 1);
}

static nir_def *
both(nir_builder *b, nir_def *first, nir_def *second)
{
   return first ? nir_iand(b, first, second) : second;
}

/* Are the components of all operands, from @first to @last as far as there are so many, finite?
 * NULL: yes
 */
static nir_def *
are_finite(nir_builder *b, const struct gpuval_nir_operation *operation, unsigned first,
           unsigned last)
{
   nir_def *finite = NULL;

   for (unsigned i = 0; i < operation->num_operands; i++) {
      if (has_integer_operand(operation->opcode, i))
         continue;

      unsigned count = operation->operands[i]->num_components;
      for (unsigned j = count > 1 ? first : 0; j <= (count > 1 ? MIN2(last, count - 1) : 0); j++) {
         nir_scalar scalar = gpuval_nir_operand(operation, i, j);
         if (nir_scalar_is_const(scalar) && isfinite(nir_scalar_as_float(scalar)))
            continue;
         nir_def *magnitude = gpuval_nir_magnitude(b, gpuval_nir_scalar(b, scalar));
         finite =
            both(b, finite, nir_ult(b, magnitude, gpuval_nir_infinity(b, magnitude->bit_size)));
      }
   }
   return finite;
}

static void
report(nir_builder *b, const struct gpuval_nir_operation *operation, enum gpuval_kind kind,
       nir_def *failed)
{
   const struct gpuval_nir_early_report report = {
      .kind = kind,
      .spirv_offset = operation->spirv_offset,
      .set = -1,
      .binding = -1,
      .failed = failed,
   };
   gpuval_nir_report_early(b, &report);
}

nir_def *
gpuval_nir_check_nan(nir_builder *b, const struct gpuval_nir_operation *operation,
                     nir_def *excluded)
{
   unsigned count = operation->result->num_components;
   bool by_component = is_by_component(operation->opcode);
   nir_def *all_finite = by_component ? NULL : are_finite(b, operation, 0, NIR_MAX_VEC_COMPONENTS);
   nir_def *nan = nir_imm_false(b), *inf = nir_imm_false(b);

   for (unsigned i = 0; i < count; i++) {
      nir_def *value = nir_channel(b, operation->result, i);
      nir_def *finite = by_component ? are_finite(b, operation, i, i) : all_finite;
      nan = nir_ior(b, nan, both(b, finite, gpuval_nir_is_nan(b, value)));
      inf = nir_ior(b, inf, both(b, finite, gpuval_nir_is_infinite(b, value)));
   }
   nir_def *born = nir_ior(b, nan, inf);
   if (excluded) {
      nan = nir_iand(b, nan, nir_inot(b, excluded));
      inf = nir_iand(b, inf, nir_inot(b, excluded));
   }
   report(b, operation, GPUVAL_KIND_NAN_NAN, nan);
   report(b, operation, GPUVAL_KIND_NAN_INF, nir_iand(b, inf, nir_inot(b, nan)));
   return born;
}
