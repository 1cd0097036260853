/* SPDX-License-Identifier: MIT */

/* Which SPIR-V instructions leave a trace of where they are?
 *
 * vtn puts a nir_debug_info_instr before what it makes of each, and all passes up to
 * the hook go through them: in shaders that do nothing but compute and access memory,
 * every second instruction would be one. So only those get one of which a check may
 * have something to say. What comes of others counts as the last one's, so whatever is
 * not known here gets one.
 */

#include "gpuval_nir.h"

#include "spirv/spirv.h"

static bool
is_within(unsigned opcode, SpvOp first, SpvOp last)
{
   return opcode >= first && opcode <= last;
}

bool
gpuval_nir_wants_location(unsigned opcode)
{
   switch (opcode) {
   case SpvOpNop:
   case SpvOpUndef:
   case SpvOpVariable:
   case SpvOpFunctionParameter:
   case SpvOpAccessChain:
   case SpvOpInBoundsAccessChain:
   case SpvOpPtrAccessChain:
   case SpvOpInBoundsPtrAccessChain:
   case SpvOpSampledImage:
   case SpvOpImage:
   case SpvOpCopyLogical:
      return false;
   default:
      /* Vectors and composites, conversions, arithmetic, logic and bits, derivatives,
       * control flow */
      return !is_within(opcode, SpvOpVectorExtractDynamic, SpvOpTranspose) &&
             !is_within(opcode, SpvOpConvertFToU, SpvOpBitcast) &&
             !is_within(opcode, SpvOpSNegate, SpvOpSMulExtended) &&
             !is_within(opcode, SpvOpAny, SpvOpBitCount) &&
             !is_within(opcode, SpvOpDPdx, SpvOpFwidthCoarse) &&
             !is_within(opcode, SpvOpPhi, SpvOpSwitch);
   }
}

bool
gpuval_nir_wants_derivatives(unsigned opcode)
{
   return is_within(opcode, SpvOpDPdx, SpvOpFwidthCoarse) || gpuval_nir_wants_location(opcode);
}
