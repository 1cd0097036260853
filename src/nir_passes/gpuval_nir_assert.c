/* SPDX-License-Identifier: MIT */

/* NonSemantic.DebugBreak: what a shader executes where it finds that something is wrong.
 *
 * vtn leaves @debug_break (spirv_to_nir_options::emit_debug_break). Its report has no condition:
 * the control flow around it is the program's own. A backend which makes a trap of @debug_break
 * keeps it. The report says how many messages the invocation had printed, which the messages of
 * such a shader say, too (gpuval_nir_printf.c).
 */

#include "gpuval_nir_private.h"

static void
instrument(struct gpuval_nir_state *state, const nir_instr *debug_break)
{
   nir_builder *b = &state->b;
   const struct gpuval_site site = {
      .kind = GPUVAL_KIND_DEBUG_BREAK,
      .spirv_offset = gpuval_nir_spirv_offset(state, debug_break->index),
      .set = -1,
      .binding = -1,
   };

   b->cursor = nir_before_instr((nir_instr *)debug_break);
   gpuval_nir_report_plain(state, &site, 0, nir_imm_true(b), NULL,
                           state->printed ? nir_load_var(b, state->printed) : NULL);
}

static bool
has_intrinsic(const struct gpuval_nir_state *state, nir_intrinsic_op op)
{
   nir_foreach_block (block, state->b.impl) {
      nir_foreach_instr (instr, block) {
         if (instr->type == nir_instr_type_intrinsic &&
             nir_instr_as_intrinsic(instr)->intrinsic == op)
            return true;
      }
   }
   return false;
}

/* Sets state->printed where the invocation's messages have to be counted. */
static void
count_messages(struct gpuval_nir_state *state)
{
   const uint32_t both = BITFIELD_BIT(GPUVAL_CHECK_ASSERT) | BITFIELD_BIT(GPUVAL_CHECK_PRINTF);
   nir_builder *b = &state->b;

   if ((state->options->checks & both) != both ||
       !has_intrinsic(state, nir_intrinsic_debug_break) ||
       !has_intrinsic(state, nir_intrinsic_printf_gpuval))
      return;
   state->printed = nir_local_variable_create(b->impl, glsl_uint_type(), "printed");
   b->cursor = nir_before_impl(b->impl);
   nir_store_var(b, state->printed, nir_imm_int(b, 0), 0x1);
}

bool
gpuval_nir_instrument_assert(struct gpuval_nir_state *state)
{
   bool progress = false;

   count_messages(state);
   nir_foreach_block (block, state->b.impl) {
      nir_foreach_instr_safe (instr, block) {
         if (instr->type != nir_instr_type_intrinsic ||
             nir_instr_as_intrinsic(instr)->intrinsic != nir_intrinsic_debug_break)
            continue;

         if (state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_ASSERT))
            instrument(state, instr);
         if (!state->options->driver->has_debug_break)
            nir_instr_remove(instr);
         progress = true;
      }
   }

   return progress;
}
