/* SPDX-License-Identifier: MIT */

/* Runs the checks' passes over one shader and knows where its instructions
 * come from.
 *
 * vtn says so of each (spirv_to_nir_options::debug_info), and optimizations leave that as it is:
 * gpuval_locations.h. nir_lower_explicit_io puts an access where its deref was. Locations go when
 * the sites have been collected: no backend wants them.
 */

#include "gpuval_nir_cf.h"
#include "gpuval_nir_private.h"

#include "gpuval/src/base/gpuval_call_tree.h"
#include "gpuval/src/compat/gpuval_locations.h"
#include "util/hash_table.h"
#include "util/ralloc.h"

/* Numbers the instances of SPIR-V instructions: inlining and unrolling make
 * several of one. An instruction's index, which is free for passes to use,
 * becomes that of the instance that it was made for; 0 is not known.
 */
void
gpuval_nir_index_by_instance(nir_function_impl *impl, struct util_dynarray *instances)
{
   util_dynarray_append_typed(instances, uint32_t, 0);

   nir_foreach_block (block, impl) {
      uint32_t instance = 0, offset = 0;

      nir_foreach_instr (instr, block) {
         if (gpuval_begins_location(instr, offset)) {
            offset = gpuval_get_location(instr);
            instance = util_dynarray_num_elements(instances, uint32_t);
            util_dynarray_append_typed(instances, uint32_t, offset);
         }
         instr->index = instance;
      }
   }
}

uint32_t
gpuval_nir_spirv_offset(const struct gpuval_nir_state *state, uint32_t instance)
{
   return *util_dynarray_element(&state->instances, uint32_t, instance);
}

uint32_t
gpuval_nir_place(const struct gpuval_nir_state *state, uint32_t instance)
{
   return gpuval_plain_offset(gpuval_nir_spirv_offset(state, instance), state->options->spirv_size);
}

uint32_t
gpuval_nir_buffer_sets(nir_shader *nir)
{
   uint32_t sets = 0;
   nir_foreach_variable_with_modes (var, nir, nir_var_mem_ubo | nir_var_mem_ssbo)
      sets |= BITFIELD_BIT(var->data.descriptor_set);
   return sets;
}

static uint32_t
hash_site(const void *key)
{
   const struct gpuval_site *site = key;
   return _mesa_hash_data_with_seed(&site->spirv_offset, sizeof(site->spirv_offset),
                                    site->kind * 31 + site->op);
}

static bool
sites_equal(const void *key_a, const void *key_b)
{
   const struct gpuval_site *a = key_a, *b = key_b;
   return a->kind == b->kind && a->op == b->op && a->spirv_offset == b->spirv_offset &&
          a->set == b->set && a->binding == b->binding && a->num_kinds == b->num_kinds &&
          a->by_filter == b->by_filter && a->has_rays == b->has_rays && a->name == b->name;
}

uint32_t
gpuval_nir_add_name(struct gpuval_nir_table *table, const char *name)
{
   const char *begin = util_dynarray_begin(&table->names);

   for (const char *known = begin; known && known < begin + table->names.size;
        known += strlen(known) + 1) {
      if (!strcmp(known, name))
         return known - begin + 1;
   }

   uint32_t number = table->names.size + 1;
   size_t size = strlen(name) + 1;
   memcpy(util_dynarray_grow_bytes(&table->names, 1, size), name, size);
   return number;
}

uint32_t
gpuval_nir_add_site(struct gpuval_nir_state *state, const struct gpuval_site *site)
{
   struct util_dynarray *sites = &state->table->sites;
   struct hash_entry *known =
      site->spirv_offset ? _mesa_hash_table_search(state->sites, site) : NULL;
   if (known)
      return (uintptr_t)known->data - 1;

   util_dynarray_append_typed(sites, struct gpuval_site, *site);
   uint32_t count = util_dynarray_num_elements(sites, struct gpuval_site);
   if (site->spirv_offset)
      _mesa_hash_table_insert(state->sites, ralloc_memdup(state->sites, site, sizeof(*site)),
                              (void *)(uintptr_t)count);
   return count - 1;
}

uint32_t
gpuval_nir_add_store_sites(struct gpuval_nir_state *state, const struct gpuval_site *site)
{
   struct util_dynarray *sites = &state->table->sites;
   struct gpuval_site each = *site;
   uint32_t before = util_dynarray_num_elements(sites, struct gpuval_site);

   each.num_kinds = 2;
   uint32_t first = gpuval_nir_add_site(state, &each);
   if (first < before)
      return first;
   each.same_value = true;
   util_dynarray_append_typed(sites, struct gpuval_site, each);
   return first;
}

/* The sites of one access that can fail in several ways, side by side: the number of the
 * first.
 */
uint32_t
gpuval_nir_add_sites(struct gpuval_nir_state *state, const struct gpuval_site *site,
                     const enum gpuval_kind *kinds, unsigned count)
{
   struct util_dynarray *sites = &state->table->sites;
   struct gpuval_site each = *site;

   /* Another copy of the instruction may have more of them. */
   each.kind = kinds[0];
   each.num_kinds = count;
   uint32_t before = util_dynarray_num_elements(sites, struct gpuval_site);
   uint32_t first = gpuval_nir_add_site(state, &each);
   if (first < before)
      return first;

   for (unsigned i = 1; i < count; i++) {
      each.kind = kinds[i];
      util_dynarray_append_typed(sites, struct gpuval_site, each);
   }
   return first;
}

static void
replace_descriptors(struct gpuval_nir_state *state)
{
   const struct gpuval_nir_driver *driver = state->options->driver;

   util_dynarray_foreach (&state->replacements, struct gpuval_nir_replacement, replacement) {
      state->b.cursor = nir_before_instr(replacement->instr);
      driver->descriptors->replace(driver, &state->b, replacement);
   }
}

/* What a check emits is no access for those that follow. */
#define gpuval_nir_instrument_none NULL
#define CHECK(id, name, sets, needs, early, pass, host, summary)                                   \
   [GPUVAL_CHECK_##id] = gpuval_nir_instrument_##pass,
#define KIND(id, check, name, words, sentence, text)
static bool (*const passes[GPUVAL_CHECK_COUNT])(struct gpuval_nir_state *state) = {
#include "gpuval/src/base/gpuval_check_table.h"
};

static bool
run_passes(struct gpuval_nir_state *state)
{
   bool progress = false;

   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      bool has_run = i && passes[i] == passes[i - 1];
      if (passes[i] && !has_run)
         progress |= passes[i](state);
   }
   return progress;
}

static struct gpuval_nir_state
begin(nir_shader *nir, const struct gpuval_nir_options *options, struct gpuval_nir_table *table)
{
   struct gpuval_nir_state state = {
      .b = nir_builder_create(nir_shader_get_entrypoint(nir)),
      .options = options,
      .table = table,
   };

   util_dynarray_init(&state.instances, NULL);
   util_dynarray_init(&state.accesses, NULL);
   util_dynarray_init(&state.replacements, NULL);
   state.sites = _mesa_hash_table_create(NULL, hash_site, sites_equal);
   bool checks_mesh =
      nir->info.stage == MESA_SHADER_MESH && options->checks & BITFIELD_BIT(GPUVAL_CHECK_MESH);
   if (gpuval_nir_has_exports(&state) || checks_mesh)
      NIR_PASS(_, nir, nir_lower_var_copies); /* outputs are written by stores */
   if (table)
      gpuval_nir_count_blocks(&state); /* before instructions are collected */
   gpuval_nir_index_by_instance(state.b.impl, &state.instances);
   gpuval_nir_find_accesses(&state);
   return state;
}

static void
end(struct gpuval_nir_state *state)
{
   ralloc_free(state->sites);
   util_dynarray_fini(&state->accesses);
   util_dynarray_fini(&state->replacements);
   util_dynarray_fini(&state->instances);
}

void
gpuval_nir_note_assignments(nir_shader *nir, const struct gpuval_nir_options *options)
{
   if (!(options->checks & BITFIELD_BIT(GPUVAL_CHECK_EXPORT)))
      return;

   struct gpuval_nir_state state = begin(nir, options, NULL);
   gpuval_nir_note_exports(&state);
   end(&state);
   nir_progress(true, state.b.impl, nir_metadata_control_flow);
}

bool
gpuval_nir_instrument(nir_shader *nir, const struct gpuval_nir_options *options,
                      struct gpuval_nir_table *table)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   unsigned ssa_alloc = impl->ssa_alloc;

   struct gpuval_nir_state state = begin(nir, options, table);
   gpuval_nir_prepare_export(&state);
   bool progress = run_passes(&state) || state.counts_blocks;
   replace_descriptors(&state);
   end(&state);
   nir_progress(progress, impl, nir_metadata_control_flow);
   if (state.has_globals) {
      nir_progress(true, impl, nir_metadata_none);
      nir_lower_global_vars_to_local(nir);
      nir_lower_vars_to_ssa(nir);
   }

   gpuval_drop_locations(nir);
   nir->info.gpuval_ssa_values = impl->ssa_alloc - ssa_alloc;
   nir_validate_shader(nir, "after gpuval_nir_instrument");

   return progress;
}

static bool
rebase_report(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   if (!gpuval_nir_has_site(intrin))
      return false;

   nir_intrinsic_set_base(intrin, nir_intrinsic_base(intrin) + *(uint32_t *)data);
   return true;
}

void
gpuval_nir_rebase(nir_shader *nir, uint32_t base)
{
   nir_shader_intrinsics_pass(nir, rebase_report, nir_metadata_all, &base);
}

static bool
remove_check(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   if (!gpuval_nir_tells(intrin))
      return false;

   gpuval_nir_remove_report(intrin);
   return true;
}

void
gpuval_nir_remove(nir_shader *nir)
{
   nir_shader_intrinsics_pass(nir, remove_check, nir_metadata_control_flow, NULL);
}
