/* SPDX-License-Identifier: MIT */

/* How was a function called?
 *
 * Mesa inlines functions right behind vtn, and nothing tells afterwards which call an instruction
 * comes from. Before that, each call gets a copy of the function of its own, whose locations have
 * the number of the way to it (gpuval_call_tree.h). From there on copies are different instructions
 * to all passes, which know nothing of it, but for those that look into the module.
 *
 * What coverage and printf leave stays as it is: a block is counted and a message is printed
 * whoever has called.
 */

#include "gpuval_nir.h"

#include "gpuval/src/base/gpuval_call_tree.h"
#include "gpuval/src/compat/gpuval_locations.h"
#include "util/hash_table.h"
#include "util/ralloc.h"

struct naming {
   nir_shader *nir;
   const struct gpuval_call_tree *tree;
   uint32_t size;                /* bytes of the module */
   struct hash_table *num_calls; /* nir_function -> calls of it */
};

static bool
has_offset(const nir_intrinsic_instr *intrin)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_assume_gpuval:
   case nir_intrinsic_operation_gpuval:
      return true;
   case nir_intrinsic_early_report_gpuval:
      return nir_intrinsic_range(intrin) != GPUVAL_KIND_COVERED;
   default:
      return false;
   }
}

static void
add_to_offset(nir_instr *instr, uint32_t added)
{
   gpuval_add_to_location(instr, added);
   if (instr->type == nir_instr_type_intrinsic) {
      nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
      if (has_offset(intrin) && nir_intrinsic_base(intrin))
         nir_intrinsic_set_base(intrin, nir_intrinsic_base(intrin) + added);
   }
}

static void
count_calls(struct naming *naming)
{
   nir_foreach_function_impl (impl, naming->nir) {
      nir_foreach_block (block, impl) {
         nir_foreach_instr (instr, block) {
            if (instr->type != nir_instr_type_call)
               continue;
            const nir_function *callee = nir_instr_as_call(instr)->callee;
            struct hash_entry *entry = _mesa_hash_table_search(naming->num_calls, callee);
            uintptr_t count = entry ? (uintptr_t)entry->data : 0;
            _mesa_hash_table_insert(naming->num_calls, callee, (void *)(count + 1));
         }
      }
   }
}

static void name_calls(struct naming *naming, nir_function_impl *impl, uint32_t way,
                       bool is_shared);

/* @way: the number of the caller */
static void
name_call(struct naming *naming, nir_call_instr *call, uint32_t offset, uint32_t way,
          bool is_shared)
{
   uint32_t first, count;

   if (!call->callee || !call->callee->impl ||
       !gpuval_call_tree_enter(naming->tree, offset, &first, &count) ||
       (uint64_t)way + first + count > UINT32_MAX / naming->size)
      return;

   struct hash_entry *calls = _mesa_hash_table_search(naming->num_calls, call->callee);
   is_shared |= !calls || (uintptr_t)calls->data > 1;
   if (is_shared) {
      nir_function *copy = nir_function_clone(naming->nir, call->callee);
      nir_function_set_impl(copy, nir_function_impl_clone(naming->nir, call->callee->impl));
      call->callee = copy;
   }
   name_calls(naming, call->callee->impl, way + first, is_shared);
}

/* Locations of @impl get the number of the way, and so do those of all that it calls. @is_shared:
 * it is a copy, and others have the functions that it calls as well.
 */
static void
name_calls(struct naming *naming, nir_function_impl *impl, uint32_t way, bool is_shared)
{
   nir_foreach_block (block, impl) {
      uint32_t offset = 0;

      nir_foreach_instr (instr, block) {
         if (gpuval_begins_location(instr, offset))
            offset = gpuval_get_location(instr);
         if (instr->type == nir_instr_type_call)
            name_call(naming, nir_instr_as_call(instr), offset, way, is_shared);
         add_to_offset(instr, way * naming->size);
      }
   }
   nir_progress(false, impl, nir_metadata_all);
}

void
gpuval_nir_name_calls(nir_shader *nir, const uint32_t *words, size_t word_count)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   if (!impl || !word_count || word_count > UINT32_MAX / 4)
      return;

   void *mem_ctx = ralloc_context(NULL);
   struct naming naming = {
      .nir = nir,
      .size = word_count * 4,
      .num_calls = _mesa_pointer_hash_table_create(mem_ctx),
   };
   count_calls(&naming);
   if (_mesa_hash_table_num_entries(naming.num_calls)) {
      naming.tree = gpuval_call_tree_create(mem_ctx, words, word_count);
      name_calls(&naming, impl, 0, false);
   }
   ralloc_free(mem_ctx);
}
