/* SPDX-License-Identifier: MIT */

/* ray: what traces and ray queries are given, and queries that were never initialized.
 *
 * The rules are those of Vulkan's "Ray Tracing" and "Ray Query" for SPIR-V modules
 * (VUID-RuntimeSpirv-OpRayQueryInitializeKHR-06348 to -06352, the same of OpTraceRayKHR).
 * A ray that is wrong has one report, of the first kind that it is wrong in. With
 * GPUVAL_SAFE it meets nothing: its operands are replaced, without a branch. Flags that
 * exclude each other are reported, and the ray is traced; its structure is looked at, too.
 *
 * An initialization is looked for on every way to the use; only of other queries a variable
 * says whether they have had one.
 */

#include "gpuval_nir_float.h"
#include "gpuval_nir_private.h"

#include "spirv/spirv.h"
#include "util/set.h"

struct ray {
   nir_src *structure, *flags, *cull_mask, *origin, *t_min, *direction, *t_max;
};

static bool
get_ray(nir_intrinsic_instr *intrin, struct ray *ray)
{
   nir_src *src = intrin->src;

   switch (intrin->intrinsic) {
   case nir_intrinsic_trace_ray:
      *ray = (struct ray){&src[0], &src[1], &src[2], &src[6], &src[7], &src[8], &src[9]};
      return true;
   case nir_intrinsic_rq_initialize:
      *ray = (struct ray){&src[1], &src[2], &src[3], &src[4], &src[5], &src[6], &src[7]};
      return true;
   default:
      return false;
   }
}

struct failure {
   enum gpuval_kind kind;
   nir_def *failed;
   nir_def *words[2]; /* for the record, say what is wrong; NULL: 0 */
   nir_binding binding;
};

static void
report(struct gpuval_nir_state *state, const struct gpuval_access *access,
       const struct failure *failure)
{
   const struct gpuval_site site = {
      .kind = failure->kind,
      .spirv_offset = gpuval_nir_spirv_offset(state, access->instance),
      .set = failure->binding.success ? (int)failure->binding.desc_set : -1,
      .binding = failure->binding.success ? (int)failure->binding.binding : -1,
   };

   gpuval_nir_report_plain(state, &site, 0, failure->failed, failure->words[0], failure->words[1]);
}

/* Parameters */

static nir_def *
is_infinite_or_nan(nir_builder *b, nir_def *vector)
{
   nir_def *any = NULL;

   for (unsigned i = 0; i < vector->num_components; i++) {
      nir_def *is_bad =
         nir_uge(b, gpuval_nir_magnitude(b, nir_channel(b, vector, i)), gpuval_nir_infinity(b, 32));
      any = any ? nir_ior(b, any, is_bad) : is_bad;
   }
   return any;
}

static nir_def *
bit_if(nir_builder *b, nir_def *condition, uint32_t bit)
{
   return nir_bcsel(b, condition, nir_imm_int(b, bit), nir_imm_int(b, 0));
}

/* GPUVAL_RAY_* of what is not finite, or not a number */
static nir_def *
find_nan(nir_builder *b, const struct ray *ray)
{
   nir_def *word = bit_if(b, is_infinite_or_nan(b, ray->origin->ssa), GPUVAL_RAY_ORIGIN);

   word =
      nir_ior(b, word, bit_if(b, is_infinite_or_nan(b, ray->direction->ssa), GPUVAL_RAY_DIRECTION));
   word = nir_ior(b, word, bit_if(b, gpuval_nir_is_nan(b, ray->t_min->ssa), GPUVAL_RAY_T_MIN));
   return nir_ior(b, word, bit_if(b, gpuval_nir_is_nan(b, ray->t_max->ssa), GPUVAL_RAY_T_MAX));
}

/* The same of the range of t, which may be negative or inverted; NaN is neither. */
static nir_def *
find_bad_range(nir_builder *b, const struct ray *ray)
{
   nir_def *t_min = ray->t_min->ssa, *t_max = ray->t_max->ssa;

   return nir_ior(b, bit_if(b, nir_flt(b, t_min, nir_imm_float(b, 0)), GPUVAL_RAY_NEGATIVE),
                  bit_if(b, nir_flt(b, t_max, t_min), GPUVAL_RAY_INVERTED));
}

/* At most one flag of each set */
static const uint32_t exclusive_flags[] = {
   SpvRayFlagsOpaqueKHRMask | SpvRayFlagsNoOpaqueKHRMask | SpvRayFlagsCullOpaqueKHRMask |
      SpvRayFlagsCullNoOpaqueKHRMask,
   SpvRayFlagsSkipTrianglesKHRMask | SpvRayFlagsCullBackFacingTrianglesKHRMask |
      SpvRayFlagsCullFrontFacingTrianglesKHRMask,
   SpvRayFlagsSkipTrianglesKHRMask | SpvRayFlagsSkipAABBsKHRMask,
};

static bool
flags_are_valid(uint32_t flags)
{
   for (unsigned i = 0; i < ARRAY_SIZE(exclusive_flags); i++) {
      if (util_bitcount(flags & exclusive_flags[i]) > 1)
         return false;
   }
   return true;
}

static nir_def *
find_bad_flags(nir_builder *b, nir_def *flags)
{
   nir_def *any = nir_imm_false(b);

   for (unsigned i = 0; i < ARRAY_SIZE(exclusive_flags); i++) {
      nir_def *set = nir_iand_imm(b, flags, exclusive_flags[i]);
      nir_def *without_lowest = nir_iand(b, set, nir_iadd_imm(b, set, -1));
      any = nir_ior(b, any, nir_ine_imm(b, without_lowest, 0));
   }
   return any;
}

/* Structures that have been built: gpuval_structures.h */

/* As gpuval_structure_slot() */
static nir_def *
load_place(nir_builder *b, nir_def *table, nir_def *address, unsigned place)
{
   nir_def *mixed = nir_ixor(b, nir_u2u32(b, nir_ushr_imm(b, address, 6)),
                             nir_unpack_64_2x32_split_y(b, address));
   nir_def *slot = nir_ushr_imm(b, nir_imul_imm(b, mixed, gpuval_structure_factors[place]),
                                32 - GPUVAL_STRUCTURE_SLOTS_LOG2);
   nir_def *offset = nir_imul_imm(b, nir_u2u64(b, slot), sizeof(uint64_t));

   return gpuval_load_global(b, nir_iadd(b, table, offset), sizeof(uint64_t), 1, 64);
}

nir_def *
gpuval_nir_find_structure(nir_builder *b, nir_def *table, nir_def *address)
{
   nir_def *found = nir_imm_false(b);

   for (unsigned i = 0; i < GPUVAL_STRUCTURE_PLACES; i++)
      found = nir_ior(b, found, nir_ieq(b, load_place(b, table, address, i), address));
   return found;
}

/* A null structure is there: it is what nullDescriptor is for, and nothing else's. */
static nir_def *
is_built(struct gpuval_nir_state *state, nir_def *address)
{
   nir_builder *b = &state->b;
   nir_def *root = state->options->driver->root_address(state->options->driver, b);
   nir_def *table =
      gpuval_nir_load_root(b, root, 64, offsetof(struct gpuval_root, structures_address));
   nir_def *all = gpuval_nir_load_root(b, root, 32, offsetof(struct gpuval_root, all_structures));

   nir_def *built = nir_ior(b, nir_ine_imm(b, all, 0), nir_ieq_imm(b, address, 0));
   return nir_ior(b, built, gpuval_nir_find_structure(b, table, address));
}

/* Of rays that are not @bad in another way */
static void
check_structure(struct gpuval_nir_state *state, struct gpuval_access *access, const struct ray *ray,
                nir_def *bad)
{
   nir_builder *b = &state->b;
   nir_binding binding = nir_chase_binding(*ray->structure);
   const struct gpuval_nir_driver *driver = state->options->driver;
   nir_def *address = driver->structure_address(driver, b, ray->structure->ssa);
   if (!address)
      return;

   nir_def *absent = nir_inot(b, is_built(state, address));
   nir_def *failed = nir_iand(b, nir_inot(b, bad), absent);

   /* What the check of descriptors has reported gets no structure, either. */
   nir_def *empty = access->bad ? nir_ior(b, failed, access->bad) : failed;
   if (access->bad)
      failed = nir_iand(b, failed, nir_inot(b, access->bad));
   report(
      state, access,
      &(struct failure){
         .kind = GPUVAL_KIND_RAY_BAD_STRUCTURE,
         .failed = failed,
         .words = {nir_unpack_64_2x32_split_x(b, address), nir_unpack_64_2x32_split_y(b, address)},
         .binding = binding,
      });
   access->bad = access->bad ? nir_ior(b, absent, access->bad) : absent;
   if (state->options->safe) {
      nir_def *stand_in =
         driver->empty_structure ? driver->empty_structure(driver, b) : nir_imm_int64(b, 0);
      access->address = ray->structure->ssa;
      nir_src_rewrite(ray->structure, nir_bcsel(b, empty, stand_in, address));
   }
}

static bool
range_is_valid(const struct ray *ray)
{
   return nir_src_is_const(*ray->t_min) && nir_src_is_const(*ray->t_max) &&
          nir_src_as_float(*ray->t_min) >= 0 &&
          nir_src_as_float(*ray->t_min) <= nir_src_as_float(*ray->t_max);
}

static void
replace(nir_builder *b, nir_src *src, nir_def *bad, nir_def *good_value)
{
   nir_src_rewrite(src, nir_bcsel(b, bad, good_value, src->ssa));
}

/* Masked out, so that no instance is met */
static void
make_safe(nir_builder *b, const struct ray *ray, nir_def *bad)
{
   nir_def *zero = nir_imm_int(b, 0);

   replace(b, ray->flags, bad, zero);
   replace(b, ray->cull_mask, bad, zero);
   replace(b, ray->origin, bad, nir_imm_vec3(b, 0, 0, 0));
   replace(b, ray->t_min, bad, nir_imm_float(b, 0));
   replace(b, ray->direction, bad, nir_imm_vec3(b, 0, 0, 1));
   replace(b, ray->t_max, bad, nir_imm_float(b, 0));
}

static void
check_ray(struct gpuval_nir_state *state, struct gpuval_access *access, const struct ray *ray)
{
   nir_builder *b = &state->b;

   b->cursor = nir_before_instr(access->instr);
   nir_def *word = find_nan(b, ray);
   nir_def *bad = nir_ine_imm(b, word, 0);
   report(state, access, &(struct failure){GPUVAL_KIND_RAY_NAN, bad, {word}});

   if (!range_is_valid(ray)) {
      word = find_bad_range(b, ray);
      nir_def *failed = nir_iand(b, nir_inot(b, bad), nir_ine_imm(b, word, 0));
      report(state, access, &(struct failure){GPUVAL_KIND_RAY_RANGE, failed, {word}});
      bad = nir_ior(b, bad, failed);
   }
   if (!nir_src_is_const(*ray->flags) || !flags_are_valid(nir_src_as_uint(*ray->flags))) {
      nir_def *failed = nir_iand(b, nir_inot(b, bad), find_bad_flags(b, ray->flags->ssa));
      report(state, access, &(struct failure){GPUVAL_KIND_RAY_FLAGS, failed, {ray->flags->ssa}});
   }
   if (state->options->driver->structure_address)
      check_structure(state, access, ray, bad);
   if (state->options->safe)
      make_safe(b, ray, bad);
}

/* Queries */

/* A query variable, or an element of an array of them */
struct query {
   nir_variable *var;
   nir_def *index; /* NULL: no array */
};

static bool
get_query(nir_intrinsic_instr *intrin, struct query *query)
{
   nir_deref_instr *deref = nir_src_as_deref(intrin->src[0]);

   *query = (struct query){0};
   if (deref && deref->deref_type == nir_deref_type_array) {
      query->index = deref->arr.index.ssa;
      deref = nir_deref_instr_parent(deref);
   }
   if (!deref || deref->deref_type != nir_deref_type_var)
      return false;
   query->var = deref->var;
   return true;
}

static bool
is_query(const struct gpuval_access *access)
{
   return access->type == GPUVAL_ACCESS_RAYS &&
          nir_intrinsic_is_ray_query(nir_instr_as_intrinsic(access->instr)->intrinsic);
}

static bool
is_initialization(const struct gpuval_access *access)
{
   return is_query(access) &&
          nir_instr_as_intrinsic(access->instr)->intrinsic == nir_intrinsic_rq_initialize;
}

static bool
same_index(nir_def *a, nir_def *b)
{
   if (a == b)
      return true;

   nir_src src_a = nir_src_for_ssa(a), src_b = nir_src_for_ssa(b);
   return nir_src_is_const(src_a) && nir_src_is_const(src_b) &&
          nir_src_as_uint(src_a) == nir_src_as_uint(src_b);
}

/* Is there an initialization on every way to @access? Those of a block stand in order.
 * Needs dominance as it was before any check added control flow.
 */
static bool
is_initialized(struct gpuval_nir_state *state, const struct gpuval_access *access,
               const struct query *query)
{
   gpuval_nir_foreach_access(state, other)
   {
      struct query initialized;

      if (!is_initialization(other) ||
          !get_query(nir_instr_as_intrinsic(other->instr), &initialized) ||
          initialized.var != query->var || !same_index(initialized.index, query->index))
         continue;
      if (other->block == access->block ? other < access
                                        : nir_block_dominates(other->block, access->block))
         return true;
   }
   return false;
}

/* bool of each query of a variable: has it been initialized? */
static nir_variable *
get_shadow(struct gpuval_nir_state *state, struct hash_table *shadows, nir_variable *var)
{
   struct hash_entry *entry = _mesa_hash_table_search(shadows, var);
   if (entry)
      return entry->data;

   unsigned length = glsl_type_is_array(var->type) ? glsl_get_length(var->type) : 0;
   const struct glsl_type *type = glsl_bool_type();
   nir_variable *shadow = nir_local_variable_create(
      state->b.impl, length ? glsl_array_type(type, length, 0) : type, "initialized");
   nir_builder at_top = nir_builder_at(nir_before_impl(state->b.impl));

   for (unsigned i = 0; i < MAX2(length, 1); i++) {
      nir_deref_instr *deref = nir_build_deref_var(&at_top, shadow);
      if (length)
         deref = nir_build_deref_array_imm(&at_top, deref, i);
      nir_store_deref(&at_top, deref, nir_imm_false(&at_top), 0x1);
   }
   _mesa_hash_table_insert(shadows, var, shadow);
   return shadow;
}

static nir_deref_instr *
build_shadow_deref(nir_builder *b, nir_variable *shadow, const struct query *query)
{
   nir_deref_instr *deref = nir_build_deref_var(b, shadow);
   return query->index ? nir_build_deref_array(b, deref, query->index) : deref;
}

/* Only in invocations whose query can be used; others get 0. */
static void
make_conditional(nir_builder *b, struct gpuval_access *access, nir_def *condition)
{
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   bool has_dest = nir_intrinsic_infos[intrin->intrinsic].has_dest;

   b->cursor = nir_before_instr(&intrin->instr);
   nir_def *zero =
      has_dest ? nir_imm_zero(b, intrin->def.num_components, intrin->def.bit_size) : NULL;
   nir_if *nif = nir_push_if(b, condition);
   nir_instr *guarded = nir_instr_clone(b->shader, &intrin->instr);
   nir_builder_instr_insert(b, guarded);
   nir_pop_if(b, nif);

   if (has_dest)
      nir_def_rewrite_uses(&intrin->def,
                           nir_if_phi(b, &nir_instr_as_intrinsic(guarded)->def, zero));
   nir_instr_remove(&intrin->instr);
   access->instr = guarded;
}

static void
check_query(struct gpuval_nir_state *state, struct gpuval_access *access, nir_variable *shadow,
            const struct query *query)
{
   nir_builder *b = &state->b;

   b->cursor = nir_before_instr(access->instr);
   nir_def *initialized = nir_load_deref(b, build_shadow_deref(b, shadow, query));
   report(state, access,
          &(struct failure){GPUVAL_KIND_RAY_UNINITIALIZED_QUERY, nir_inot(b, initialized)});
   if (state->options->safe)
      make_conditional(b, access, initialized);
}

/* Returns the variables that are assigned as a whole, as where a query is passed by value. What
 * such a query has is what the other one had.
 */
static struct set *
find_assigned(const struct gpuval_nir_state *state)
{
   struct set *assigned = _mesa_pointer_set_create(NULL);

   nir_foreach_block (block, state->b.impl) {
      nir_foreach_instr (instr, block) {
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         const nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
         if (intrin->intrinsic != nir_intrinsic_store_deref &&
             intrin->intrinsic != nir_intrinsic_copy_deref)
            continue;
         const nir_variable *var = nir_intrinsic_get_var(intrin, 0);
         if (var)
            _mesa_set_add(assigned, var);
      }
   }
   return assigned;
}

/* A use that may come before any initialization */
struct doubtful_use {
   struct gpuval_access *access;
   struct query query;
};

static void
find_doubtful_uses(struct gpuval_nir_state *state, struct util_dynarray *uses)
{
   struct set *assigned = NULL;

   nir_metadata_require(state->b.impl, nir_metadata_dominance);
   gpuval_nir_foreach_access(state, access)
   {
      struct query query;

      if (!is_query(access) || is_initialization(access) ||
          !get_query(nir_instr_as_intrinsic(access->instr), &query) ||
          is_initialized(state, access, &query))
         continue;
      if (!assigned)
         assigned = find_assigned(state);
      if (!_mesa_set_search(assigned, query.var))
         util_dynarray_append_typed(uses, struct doubtful_use,
                                    ((struct doubtful_use){access, query}));
   }
   _mesa_set_destroy(assigned, NULL);
}

static void
check_queries(struct gpuval_nir_state *state, const struct util_dynarray *uses)
{
   struct hash_table *shadows = _mesa_pointer_hash_table_create(NULL);

   util_dynarray_foreach (uses, struct doubtful_use, use)
      get_shadow(state, shadows, use->query.var);

   gpuval_nir_foreach_access(state, access)
   {
      struct query query;
      if (!is_initialization(access) || !get_query(nir_instr_as_intrinsic(access->instr), &query))
         continue;

      struct hash_entry *entry = _mesa_hash_table_search(shadows, query.var);
      if (entry) {
         nir_builder *b = &state->b;
         b->cursor = nir_after_instr(access->instr);
         nir_store_deref(b, build_shadow_deref(b, entry->data, &query), nir_imm_true(b), 0x1);
      }
   }
   util_dynarray_foreach (uses, struct doubtful_use, use)
      check_query(state, use->access, get_shadow(state, shadows, use->query.var), &use->query);
   nir_progress(true, state->b.impl, nir_metadata_none);
   ralloc_free(shadows);
}

bool
gpuval_nir_instrument_ray(struct gpuval_nir_state *state)
{
   struct util_dynarray uses;
   bool progress = false;

   if (!(state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_RAY)))
      return false;

   util_dynarray_init(&uses, NULL);
   find_doubtful_uses(state, &uses);
   gpuval_nir_foreach_access(state, access)
   {
      struct ray ray;

      if (access->type == GPUVAL_ACCESS_RAYS &&
          get_ray(nir_instr_as_intrinsic(access->instr), &ray)) {
         check_ray(state, access, &ray);
         progress = true;
      }
   }
   if (uses.size) {
      check_queries(state, &uses);
      progress = true;
   }
   util_dynarray_fini(&uses);

   return progress;
}
