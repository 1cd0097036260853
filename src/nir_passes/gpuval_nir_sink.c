/* SPDX-License-Identifier: MIT */

/* Moves what only reports need behind their branches, where it costs nothing until something
 * fails: the words that a record is made of.
 */

#include "gpuval_nir_sink.h"

#include "nir_builder.h"

/* The outermost of @ifs that has @block in its then-list, or NULL */
static nir_if *
find_if(const struct set *ifs, nir_block *block)
{
   nir_if *found = NULL;

   for (nir_cf_node *node = &block->cf_node; node->parent; node = node->parent) {
      if (node->parent->type != nir_cf_node_if)
         continue;
      nir_if *nif = nir_cf_node_as_if(node->parent);
      nir_block *first = nir_if_first_then_block(nif);
      bool is_then = false;
      for (nir_cf_node *then = &first->cf_node; then && !is_then; then = nir_cf_node_next(then))
         is_then = then == node;
      if (is_then && _mesa_set_search(ifs, nif))
         found = nif;
   }
   return found;
}

static nir_block *
get_use_block(nir_src *src)
{
   if (nir_src_is_if(src))
      return nir_cf_node_as_block(nir_cf_node_prev(&nir_src_parent_if(src)->cf_node));

   nir_instr *instr = nir_src_parent_instr(src);
   if (instr->type == nir_instr_type_phi)
      return list_entry(src, nir_phi_src, src)->pred;
   return instr->block;
}

/* Branches that may have copies of one instruction */
#define MAX_IFS 8

/* Those of @ifs behind whose branches its uses are; 0: there are others */
static unsigned
find_ifs_of_uses(const struct set *ifs, nir_def *def, nir_if *found[MAX_IFS])
{
   unsigned count = 0;

   nir_foreach_use_including_if (src, def) {
      nir_if *nif = find_if(ifs, get_use_block(src));
      unsigned i = 0;
      while (i < count && found[i] != nif)
         i++;
      if (!nif || i == MAX_IFS)
         return 0;
      found[i] = nif;
      count = MAX2(count, i + 1);
   }
   return count;
}

/* Is it the same wherever it stands, whichever lanes are there? */
static bool
may_move(const nir_instr *instr)
{
   switch (instr->type) {
   case nir_instr_type_load_const:
   case nir_instr_type_undef:
   case nir_instr_type_alu:
      return true;
   case nir_instr_type_intrinsic: {
      const nir_intrinsic_instr *intrin = nir_instr_as_intrinsic((nir_instr *)instr);
      const nir_intrinsic_info *info = &nir_intrinsic_infos[intrin->intrinsic];
      if (!info->has_dest || !nir_intrinsic_can_reorder((nir_intrinsic_instr *)intrin))
         return false;
#if !GPUVAL_SMEM_IS_GLOBAL
      if (intrin->intrinsic == nir_intrinsic_load_smem_amd)
         return true;
#endif
      return info->num_srcs == 0 || intrin->intrinsic == nir_intrinsic_load_global ||
             intrin->intrinsic == nir_intrinsic_has_bits_gpuval;
   }
   default:
      return false;
   }
}

static nir_cf_node *
get_loop(nir_cf_node *node)
{
   while (node && node->type != nir_cf_node_loop)
      node = node->parent;
   return node;
}

/* What a loop leaves is not moved out of it: lanes may have left it at different times. */
static bool
is_in_loop_of(const nir_block *block, nir_if *nif)
{
   nir_cf_node *loop = get_loop(block->cf_node.parent);

   for (nir_cf_node *node = get_loop(nif->cf_node.parent); node; node = get_loop(node->parent)) {
      if (node == loop)
         return true;
   }
   return !loop;
}

/* Gives the uses behind a branch a copy of their own. */
static void
copy_behind(const struct set *ifs, nir_shader *nir, nir_instr *instr, nir_if *nif)
{
   nir_def *def = nir_instr_def(instr);
   nir_instr *copy = nir_instr_clone(nir, instr);

   nir_instr_insert(nir_before_block_after_phis(nir_if_first_then_block(nif)), copy);
   nir_foreach_use_including_if_safe (src, def) {
      if (find_if(ifs, get_use_block(src)) == nif)
         nir_src_rewrite(src, nir_instr_def(copy));
   }
}

static bool
sink_instr(nir_shader *nir, const struct set *ifs, const struct set *failures, nir_instr *instr)
{
   nir_if *found[MAX_IFS];
   nir_def *def = may_move(instr) ? nir_instr_def(instr) : NULL;
   unsigned count = def && !nir_def_is_unused(def) ? find_ifs_of_uses(ifs, def, found) : 0;

   if (!count || find_if(ifs, instr->block))
      return false;
   for (unsigned i = 0; i < count; i++) {
      bool may_copy = count == 1 || _mesa_set_search(failures, found[i]);
      if (!may_copy || !is_in_loop_of(instr->block, found[i]))
         return false;
   }
   for (unsigned i = 1; i < count; i++)
      copy_behind(ifs, nir, instr, found[i]);
   nir_instr_move(nir_before_block_after_phis(nir_if_first_then_block(found[0])), instr);
   return true;
}

bool
gpuval_nir_sink(nir_function_impl *impl, const struct set *ifs, const struct set *failures)
{
   bool progress = false;

   nir_foreach_block_reverse (block, impl) {
      nir_foreach_instr_reverse_safe (instr, block)
         progress |= sink_instr(impl->function->shader, ifs, failures, instr);
   }
   return progress;
}
