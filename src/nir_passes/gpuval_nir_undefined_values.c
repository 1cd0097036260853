/* SPDX-License-Identifier: MIT */

/* undefined: which values may be, and the booleans beside them. */

#include "gpuval_nir_undefined.h"

#include "util/bitset.h"
#include "util/hash_table.h"
#include "util/ralloc.h"

/* What may be undefined */

static bool
is_original(const struct gpuval_undefined *undefined, const nir_def *def)
{
   return def->index < undefined->num_defs;
}

uint16_t
gpuval_undefined_mask(const struct gpuval_undefined *undefined, const nir_def *def)
{
   return is_original(undefined, def) ? undefined->masks[def->index] : 0;
}

/* Components of source @index that component @component of the result depends on */
static uint16_t
get_read(const nir_alu_instr *alu, unsigned index, unsigned component)
{
   const nir_op_info *info = &nir_op_infos[alu->op];
   uint16_t read = 0;

   if (nir_op_is_vec(alu->op))
      return index == component ? BITFIELD_BIT(alu->src[index].swizzle[0]) : 0;
   if (!info->input_sizes[index])
      return BITFIELD_BIT(alu->src[index].swizzle[component]);
   for (unsigned i = 0; i < info->input_sizes[index]; i++)
      read |= BITFIELD_BIT(alu->src[index].swizzle[i]);
   return read;
}

static uint16_t
find_alu_mask(const struct gpuval_undefined *undefined, const nir_alu_instr *alu)
{
   uint16_t mask = 0;

   for (unsigned i = 0; i < alu->def.num_components; i++) {
      for (unsigned j = 0; j < nir_op_infos[alu->op].num_inputs; j++) {
         if (gpuval_undefined_mask(undefined, alu->src[j].src.ssa) & get_read(alu, j, i))
            mask |= BITFIELD_BIT(i);
      }
   }
   return mask;
}

static bool
is_derivative(const nir_intrinsic_instr *intrin)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_ddx:
   case nir_intrinsic_ddy:
   case nir_intrinsic_ddx_fine:
   case nir_intrinsic_ddy_fine:
   case nir_intrinsic_ddx_coarse:
   case nir_intrinsic_ddy_coarse:
      return true;
   default:
      return false;
   }
}

static uint16_t
find_mask(const struct gpuval_undefined *undefined, nir_instr *instr)
{
   switch (instr->type) {
   case nir_instr_type_undef:
      return BITFIELD_MASK(nir_instr_as_undef(instr)->def.num_components);
   case nir_instr_type_phi: {
      uint16_t mask = 0;
      nir_foreach_phi_src (src, nir_instr_as_phi(instr))
         mask |= gpuval_undefined_mask(undefined, src->src.ssa);
      return mask;
   }
   case nir_instr_type_alu:
      return find_alu_mask(undefined, nir_instr_as_alu(instr));
   case nir_instr_type_intrinsic: {
      nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
      if (is_derivative(intrin))
         return gpuval_undefined_mask(undefined, intrin->src[0].ssa);
      if (intrin->intrinsic != nir_intrinsic_load_deref)
         return 0;
      struct gpuval_undefined_memory *memory =
         gpuval_undefined_find_memory(undefined, nir_src_as_deref(intrin->src[0]));
      return memory && memory->may_be_undefined ? BITFIELD_MASK(intrin->def.num_components) : 0;
   }
   default:
      return 0;
   }
}

/* An undefined value goes to memory. */
static bool
note_store(const struct gpuval_undefined *undefined, nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic ||
       !gpuval_undefined_is_store(nir_instr_as_intrinsic(instr)))
      return false;

   nir_intrinsic_instr *store = nir_instr_as_intrinsic(instr);
   struct gpuval_undefined_memory *memory =
      gpuval_undefined_find_memory(undefined, nir_src_as_deref(store->src[0]));
   if (!memory || !memory->is_known || memory->may_be_undefined ||
       !(gpuval_undefined_mask(undefined, store->src[1].ssa) & nir_intrinsic_write_mask(store)))
      return false;
   memory->may_be_undefined = true;
   return true;
}

bool
gpuval_undefined_find_masks(struct gpuval_undefined *undefined, bool *any)
{
   bool progress = false;

   nir_foreach_block (block, undefined->b->impl) {
      nir_foreach_instr (instr, block) {
         nir_def *def = nir_instr_def(instr);
         uint16_t mask = def ? find_mask(undefined, instr) : 0;
         if (mask) {
            progress |= mask != undefined->masks[def->index];
            undefined->masks[def->index] = mask;
            *any = true;
         }
         progress |= note_store(undefined, instr);
      }
   }
   return progress;
}

/* Booleans: 1 bit, NULL is true */

nir_def *
gpuval_undefined_both(nir_builder *b, nir_def *first, nir_def *second)
{
   return !first || first == second ? second : !second ? first : nir_iand(b, first, second);
}

nir_def *
gpuval_undefined_get_all(struct gpuval_undefined *undefined, nir_def *def, uint16_t components)
{
   nir_def *all = NULL;

   u_foreach_bit (i, components & gpuval_undefined_mask(undefined, def)) {
      nir_def *defined = gpuval_undefined_get(undefined, def, i);
      all = gpuval_undefined_both(undefined->b, all, defined);
   }
   return all;
}

static nir_def *
is_source_defined(struct gpuval_undefined *undefined, const nir_alu_instr *alu, unsigned index,
                  unsigned component)
{
   return gpuval_undefined_get_all(undefined, alu->src[index].src.ssa,
                                   get_read(alu, index, component));
}

static nir_def *
get_source(nir_builder *b, const nir_alu_instr *alu, unsigned index, unsigned component)
{
   return nir_channel(b, alu->src[index].src.ssa, alu->src[index].swizzle[component]);
}

/* Operations with a value of one source that decides the result, whatever the other one is */
static bool
can_absorb(nir_op op)
{
   return op == nir_op_iand || op == nir_op_ior || op == nir_op_imul;
}

static nir_def *
is_absorbing(nir_builder *b, nir_op op, nir_def *value)
{
   if (value->bit_size == 1)
      return op == nir_op_ior ? value : nir_inot(b, value);
   return nir_ieq_imm(b, value, op == nir_op_ior ? BITFIELD64_MASK(value->bit_size) : 0);
}

/* A source that is defined and absorbs the other one makes the result defined. */
static nir_def *
build_absorption(struct gpuval_undefined *undefined, const nir_alu_instr *alu, unsigned component)
{
   nir_builder *b = undefined->b;
   nir_def *result = NULL, *decides[2];
   nir_def *defined[2] = {is_source_defined(undefined, alu, 0, component),
                          is_source_defined(undefined, alu, 1, component)};

   for (unsigned i = 0; i < 2; i++) {
      decides[i] = is_absorbing(b, alu->op, get_source(b, alu, i, component));
      if (defined[i])
         decides[i] = nir_iand(b, decides[i], defined[i]);
   }
   result = gpuval_undefined_both(b, defined[0], defined[1]);
   return result ? nir_ior(b, result, nir_ior(b, decides[0], decides[1])) : NULL;
}

static nir_scalar
get_alu_source(nir_scalar scalar, unsigned index)
{
   return nir_scalar_chase_movs(nir_scalar_chase_alu_src(scalar, index));
}

static bool
is_alu(nir_scalar scalar, nir_op op)
{
   return nir_scalar_is_alu(scalar) && nir_scalar_alu_op(scalar) == op;
}

/* isnan(x) ? y : x, where x is a product with 0: that is 0, unless the other factor makes it NaN. */
static bool
drops_nan_of_zero(const nir_alu_instr *selection, unsigned component)
{
   nir_scalar result = nir_get_scalar((nir_def *)&selection->def, component);
   nir_scalar condition = get_alu_source(result, 0);
   nir_scalar product = get_alu_source(result, 2);

   if (!is_alu(condition, nir_op_fneu) || !is_alu(product, nir_op_fmul) ||
       !nir_scalar_equal(get_alu_source(condition, 0), product) ||
       !nir_scalar_equal(get_alu_source(condition, 1), product))
      return false;
   for (unsigned i = 0; i < 2; i++) {
      nir_scalar factor = get_alu_source(product, i);
      if (nir_scalar_is_const(factor) && nir_scalar_as_float(factor) == 0)
         return true;
   }
   return false;
}

static nir_def *
build_selection(struct gpuval_undefined *undefined, const nir_alu_instr *alu, unsigned component)
{
   if (drops_nan_of_zero(alu, component))
      return is_source_defined(undefined, alu, 1, component);

   nir_builder *b = undefined->b;
   nir_def *condition = is_source_defined(undefined, alu, 0, component);
   nir_def *first = is_source_defined(undefined, alu, 1, component);
   nir_def *second = is_source_defined(undefined, alu, 2, component);

   if (!first && !second)
      return condition;
   nir_def *selected = nir_bcsel(b, get_source(b, alu, 0, component),
                                 first ? first : undefined->yes, second ? second : undefined->yes);
   return gpuval_undefined_both(b, condition, selected);
}

/* Finds, or builds, booleans before the cursor is set: that of an instruction stands behind it, in
 * front of those that have been built for its other components.
 */
void
gpuval_undefined_prepare(struct gpuval_undefined *undefined, nir_def *def, uint16_t components)
{
   u_foreach_bit (i, components & gpuval_undefined_mask(undefined, def))
      gpuval_undefined_get(undefined, def, i);
}

static nir_cursor
behind(nir_instr *instr)
{
   nir_instr *next = nir_instr_next(instr);
   return next ? nir_before_instr(next) : nir_after_block_before_jump(instr->block);
}

static nir_def *
build_alu(struct gpuval_undefined *undefined, nir_alu_instr *alu, unsigned component)
{
   nir_def *all = NULL;

   for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++)
      gpuval_undefined_prepare(undefined, alu->src[i].src.ssa, get_read(alu, i, component));
   undefined->b->cursor = behind(&alu->instr);
   if (alu->op == nir_op_bcsel)
      return build_selection(undefined, alu, component);
   if (can_absorb(alu->op))
      return build_absorption(undefined, alu, component);

   for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++) {
      nir_def *defined = is_source_defined(undefined, alu, i, component);
      all = gpuval_undefined_both(undefined->b, all, defined);
   }
   return all;
}

/* Are the indices of a path in memory of the invocation defined? */
static nir_def *
are_indices_defined(struct gpuval_undefined *undefined, nir_deref_instr *deref)
{
   nir_def *all = NULL;

   for (; deref->deref_type != nir_deref_type_var; deref = nir_deref_instr_parent(deref)) {
      if (deref->deref_type == nir_deref_type_array)
         all = gpuval_undefined_both(undefined->b, all,
                                     gpuval_undefined_get(undefined, deref->arr.index.ssa, 0));
   }
   return all;
}

static void
build_load(struct gpuval_undefined *undefined, nir_intrinsic_instr *load, nir_def **defined)
{
   nir_builder *b = undefined->b;
   nir_deref_instr *deref = nir_src_as_deref(load->src[0]);
   struct gpuval_undefined_memory *memory = gpuval_undefined_find_memory(undefined, deref);

   if (!memory->shadow) {
      memory->shadow = nir_local_variable_create(
         b->impl, gpuval_undefined_shadow_type(undefined->mem_ctx, memory->var->type), "defined");
      util_dynarray_append_typed(&undefined->to_shadow, struct gpuval_undefined_memory *, memory);
   }
   for (nir_deref_instr *path = deref; path->deref_type != nir_deref_type_var;
        path = nir_deref_instr_parent(path)) {
      if (path->deref_type == nir_deref_type_array)
         gpuval_undefined_prepare(undefined, path->arr.index.ssa, 0x1);
   }
   b->cursor = behind(&load->instr);
   nir_def *indices = are_indices_defined(undefined, deref);
   nir_def *words = nir_load_deref(b, gpuval_undefined_shadow_deref(b, memory->shadow, deref));
   for (unsigned i = 0; i < load->def.num_components; i++) {
      defined[i] = nir_ine_imm(b, nir_channel(b, words, i), 0);
      if (indices)
         defined[i] = nir_ior(b, defined[i], nir_inot(b, indices));
   }
}

static nir_def *
build_phi(struct gpuval_undefined *undefined, nir_phi_instr *phi, unsigned component,
          nir_def **memo)
{
   nir_phi_instr *result = nir_phi_instr_create(undefined->b->shader);

   nir_def_init(&result->instr, &result->def, 1, 1);
   *memo = &result->def; /* it may be among its own sources */
   nir_foreach_phi_src (src, phi) {
      nir_def *defined = gpuval_undefined_get(undefined, src->src.ssa, component);
      nir_phi_instr_add_src(result, src->pred, defined ? defined : undefined->yes);
   }
   nir_instr_insert_before(&phi->instr, &result->instr);
   return &result->def;
}

static nir_def *
build_defined(struct gpuval_undefined *undefined, nir_def *def, unsigned component, nir_def **memo)
{
   nir_instr *instr = nir_def_instr(def);

   switch (instr->type) {
   case nir_instr_type_phi:
      return build_phi(undefined, nir_instr_as_phi(instr), component, &memo[component]);
   case nir_instr_type_alu:
      return build_alu(undefined, nir_instr_as_alu(instr), component);
   case nir_instr_type_intrinsic: {
      nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
      if (is_derivative(intrin))
         return gpuval_undefined_get(undefined, intrin->src[0].ssa, component);
      build_load(undefined, intrin, memo);
      return memo[component];
   }
   default:
      return undefined->no;
   }
}

/* Moves the cursor where it has to build something. */
nir_def *
gpuval_undefined_get(struct gpuval_undefined *undefined, nir_def *def, unsigned component)
{
   if (!(gpuval_undefined_mask(undefined, def) & BITFIELD_BIT(component)))
      return NULL;

   struct hash_entry *entry = _mesa_hash_table_search(undefined->booleans, def);
   nir_def **memo = entry ? entry->data : NULL;
   if (!memo) {
      memo = rzalloc_array(undefined->mem_ctx, nir_def *, NIR_MAX_VEC_COMPONENTS);
      _mesa_hash_table_insert(undefined->booleans, def, memo);
   }
   if (!memo[component]) {
      nir_def *defined = build_defined(undefined, def, component, memo);
      if (!memo[component]) /* else a loop has come here again */
         memo[component] = defined ? defined : undefined->yes;
   }
   return memo[component];
}
