/* SPDX-License-Identifier: MIT */

/* OpAssumeTrueKHR: what the shader promises must hold.
 *
 * vtn leaves @assume_gpuval with the condition where the instruction stands.
 * The SPIR-V offset travels with it: code motion around it does not matter.
 */

#include "gpuval_nir_private.h"

void
gpuval_nir_emit_assume(nir_builder *b, nir_def *condition, size_t spirv_offset)
{
   nir_assume_gpuval(b, condition, .base = spirv_offset);
}

static void
instrument(struct gpuval_nir_state *state, nir_intrinsic_instr *assume)
{
   nir_builder *b = &state->b;

   if (nir_src_is_const(assume->src[0]) && nir_src_as_bool(assume->src[0]))
      return;

   const struct gpuval_site site = {
      .kind = GPUVAL_KIND_ASSUMPTION_FAILED,
      .spirv_offset = nir_intrinsic_base(assume),
      .set = -1,
      .binding = -1,
   };

   b->cursor = nir_before_instr(&assume->instr);
   gpuval_nir_report_plain(state, &site, 0, nir_inot(b, assume->src[0].ssa), NULL, NULL);
}

bool
gpuval_nir_instrument_assume(struct gpuval_nir_state *state)
{
   bool progress = false;

   nir_foreach_block (block, state->b.impl) {
      nir_foreach_instr_safe (instr, block) {
         if (instr->type != nir_instr_type_intrinsic)
            continue;

         nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
         if (intrin->intrinsic != nir_intrinsic_assume_gpuval)
            continue;

         if (state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_ASSUME))
            instrument(state, intrin);
         nir_instr_remove(instr);
         progress = true;
      }
   }

   return progress;
}
