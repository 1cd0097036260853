/* SPDX-License-Identifier: MIT */

/* Runs the checks' passes over one shader and knows where its instructions
 * come from.
 *
 * vtn leaves a nir_debug_info_instr before what it makes of each SPIR-V
 * instruction (spirv_to_nir_options::debug_info). Optimizations keep them in
 * place, and nir_lower_explicit_io keeps an access where its deref was, so the
 * last one before an access names its instruction. They go when the sites
 * have been collected: no backend wants them.
 */

#include "gpuval_nir.h"

/* From the last debug info of its block to each instruction's index, which is
 * free for passes to use. 0 is not the offset of an instruction: the module's
 * header is there.
 */
static void
index_by_spirv_offset(nir_function_impl *impl)
{
   nir_foreach_block(block, impl) {
      uint32_t spirv_offset = 0;

      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_debug_info) {
            nir_debug_info_instr *info = nir_instr_as_debug_info(instr);
            if (info->type == nir_debug_info_src_loc)
               spirv_offset = info->src_loc.spirv_offset;
         }
         instr->index = spirv_offset;
      }
   }
}

static bool
remove_debug_info(nir_builder *b, nir_instr *instr, void *data)
{
   if (instr->type != nir_instr_type_debug_info)
      return false;

   /* The strings with file names come first and are used by the rest. */
   if (nir_instr_as_debug_info(instr)->type == nir_debug_info_src_loc)
      nir_instr_clear_src(instr, &nir_instr_as_debug_info(instr)->src_loc.filename);
   nir_instr_remove(instr);
   return true;
}

static bool
site_equals(const struct gpuval_site *a, const struct gpuval_site *b)
{
   return a->kind == b->kind && a->op == b->op && a->spirv_offset == b->spirv_offset &&
          a->set == b->set && a->binding == b->binding;
}

uint32_t
gpuval_nir_add_site(struct gpuval_nir_state *state, const struct gpuval_site *site)
{
   struct util_dynarray *sites = &state->table->sites;
   uint32_t index = 0;

   /* Inlining and unrolling make several of one instruction. */
   if (site->spirv_offset) {
      util_dynarray_foreach(sites, struct gpuval_site, other) {
         if (site_equals(other, site))
            return index;
         index++;
      }
   }

   util_dynarray_append(sites, struct gpuval_site, *site);
   return util_dynarray_num_elements(sites, struct gpuval_site) - 1;
}

bool
gpuval_nir_instrument(nir_shader *nir, const struct gpuval_nir_options *options,
                      struct gpuval_nir_table *table)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   struct gpuval_nir_state state = {
      .b = nir_builder_create(impl),
      .options = options,
      .table = table,
   };
   bool progress = false;

   index_by_spirv_offset(impl);
   progress |= gpuval_nir_instrument_assume(&state);
   progress |= gpuval_nir_instrument_bounds(&state);
   nir_metadata_preserve(impl, progress ? nir_metadata_control_flow : nir_metadata_all);

   nir_shader_instructions_pass(nir, remove_debug_info, nir_metadata_control_flow, NULL);
   nir_validate_shader(nir, "after gpuval_nir_instrument");

   return progress;
}
