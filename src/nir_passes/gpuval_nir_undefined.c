/* SPDX-License-Identifier: MIT */

/* undefined: values that were never assigned, where they decide something.
 *
 * In SSA form such a value is a nir_undef, or a phi of one, and what is computed of it. Beside each
 * value that may be undefined a boolean goes along for each component, which says whether it is
 * defined: of a phi that is a phi, of an operation the booleans of its sources. Moving and
 * selecting move and select them, and where a logical operation or a multiplication of integers is
 * decided by one source (0, all bits), the other does not matter. What the shader proves to be
 * defined has none.
 *
 * Variables that stay in memory, arrays with dynamic indices, have a shadow variable of the same
 * shape, whose words say what was stored, unless constant indices have stored all of it before.
 *
 * A report stands at what uses the value: SPIR-V's branches, which vtn's callback leaves as
 * operations, and accesses of memory, images and textures. What such a use leads to is not its
 * business any more: a value that is loaded from an undefined index counts as defined.
 */

#include "gpuval_nir_operation.h"

#include "spirv/spirv.h"
#include "util/bitset.h"
#include "util/hash_table.h"
#include "util/ralloc.h"

/* Larger variables count as defined. */
#define MAX_LEAVES 256

/* A variable of the invocation in memory */
struct memory {
   nir_variable *var;
   bool is_known; /* only loads and stores, of what has a shadow */
   bool may_be_undefined;
   nir_variable *shadow;          /* NULL: not needed yet */
   struct util_dynarray accesses; /* nir_intrinsic_instr *, in the order of blocks */
};

struct undefined {
   nir_builder *b;
   const struct gpuval_nir_early *early;
   void *mem_ctx;

   unsigned num_defs;              /* what is newer is of this pass */
   uint16_t *masks;                /* by nir_def::index: components that may be undefined */
   struct hash_table *memories;    /* nir_variable to struct memory */
   struct hash_table *booleans;    /* nir_def to nir_def *[NIR_MAX_VEC_COMPONENTS] */
   struct util_dynarray to_shadow; /* struct memory *, whose stores have no shadow yet */
   nir_def *yes, *no;
};

static nir_def *get_defined(struct undefined *undefined, nir_def *def, unsigned component);

/* Memory of the invocation */

static struct memory *
find_memory(const struct undefined *undefined, nir_deref_instr *deref)
{
   const nir_variable *var = nir_deref_instr_get_variable(deref);
   struct hash_entry *entry = var ? _mesa_hash_table_search(undefined->memories, var) : NULL;
   return entry ? entry->data : NULL;
}

/* Vectors that a type is made of; more than MAX_LEAVES where there can be no shadow */
static unsigned
count_leaves(const struct glsl_type *type)
{
   if (glsl_type_is_vector_or_scalar(type))
      return glsl_type_is_numeric(type) || glsl_type_is_boolean(type) ? 1 : MAX_LEAVES + 1;
   if (glsl_type_is_array_or_matrix(type)) {
      unsigned length = glsl_get_length(type);
      unsigned leaves = count_leaves(glsl_get_array_element(type));
      return leaves > MAX_LEAVES || length > MAX_LEAVES ? MAX_LEAVES + 1 : length * leaves;
   }
   if (!glsl_type_is_struct_or_ifc(type))
      return MAX_LEAVES + 1;

   unsigned leaves = 0;
   for (unsigned i = 0; i < glsl_get_length(type) && leaves <= MAX_LEAVES; i++)
      leaves += count_leaves(glsl_get_struct_field(type, i));
   return leaves;
}

/* The same shape, of words: one for each component. */
static const struct glsl_type *
get_shadow_type(void *mem_ctx, const struct glsl_type *type)
{
   unsigned length = glsl_get_length(type);

   if (glsl_type_is_vector_or_scalar(type))
      return glsl_vector_type(GLSL_TYPE_UINT, glsl_get_vector_elements(type));
   if (glsl_type_is_array_or_matrix(type))
      return glsl_array_type(get_shadow_type(mem_ctx, glsl_get_array_element(type)), length, 0);

   struct glsl_struct_field *fields = rzalloc_array(mem_ctx, struct glsl_struct_field, length);
   for (unsigned i = 0; i < length; i++) {
      fields[i].type = get_shadow_type(mem_ctx, glsl_get_struct_field(type, i));
      fields[i].name = glsl_get_struct_elem_name(type, i);
   }
   return glsl_struct_type(fields, length, "defined", false);
}

static nir_deref_instr *
build_shadow_deref(nir_builder *b, nir_variable *shadow, nir_deref_instr *deref)
{
   if (deref->deref_type == nir_deref_type_var)
      return nir_build_deref_var(b, shadow);

   nir_deref_instr *parent = build_shadow_deref(b, shadow, nir_deref_instr_parent(deref));
   return deref->deref_type == nir_deref_type_array
             ? nir_build_deref_array(b, parent, deref->arr.index.ssa)
             : nir_build_deref_struct(b, parent, deref->strct.index);
}

static bool
is_path(nir_deref_instr *deref)
{
   for (; deref->deref_type != nir_deref_type_var; deref = nir_deref_instr_parent(deref)) {
      if (deref->deref_type != nir_deref_type_array && deref->deref_type != nir_deref_type_struct)
         return false;
      nir_deref_instr *parent = nir_deref_instr_parent(deref);
      if (!parent || glsl_type_is_vector(parent->type))
         return false;
   }
   return true;
}

/* Number of a leaf in its variable; -1: not constant */
static int
get_leaf(nir_deref_instr *deref)
{
   if (deref->deref_type == nir_deref_type_var)
      return 0;

   nir_deref_instr *parent = nir_deref_instr_parent(deref);
   int first = get_leaf(parent);
   if (first < 0)
      return -1;
   if (deref->deref_type == nir_deref_type_array) {
      if (!nir_src_is_const(deref->arr.index) ||
          nir_src_as_uint(deref->arr.index) >= glsl_get_length(parent->type))
         return -1;
      return first + nir_src_as_uint(deref->arr.index) * count_leaves(deref->type);
   }
   for (unsigned i = 0; i < deref->strct.index; i++)
      first += count_leaves(glsl_get_struct_field(parent->type, i));
   return first;
}

static bool
is_store(const nir_intrinsic_instr *access)
{
   return access->intrinsic == nir_intrinsic_store_deref;
}

/* Does a store at @index in the list come before all loads, on each path? */
static bool
is_before_loads(const struct memory *memory, unsigned index)
{
   nir_intrinsic_instr **accesses = util_dynarray_begin((struct util_dynarray *)&memory->accesses);
   unsigned count = util_dynarray_num_elements(&memory->accesses, nir_intrinsic_instr *);
   nir_block *block = accesses[index]->instr.block;

   for (unsigned i = 0; i < count; i++) {
      nir_block *other = accesses[i]->instr.block;
      if (!is_store(accesses[i]) &&
          (other == block ? i < index : !nir_block_dominates(block, other)))
         return false;
   }
   return true;
}

/* Constant indices have stored all of it before it is loaded. */
static bool
is_covered(const struct memory *memory)
{
   BITSET_DECLARE(stored, MAX_LEAVES) = {0};
   unsigned index = 0;

   util_dynarray_foreach (&memory->accesses, nir_intrinsic_instr *, access) {
      nir_deref_instr *deref = nir_src_as_deref((*access)->src[0]);
      int leaf = is_store(*access) ? get_leaf(deref) : -1;
      if (leaf >= 0 &&
          nir_intrinsic_write_mask(*access) ==
             BITFIELD_MASK(glsl_get_vector_elements(deref->type)) &&
          is_before_loads(memory, index))
         BITSET_SET(stored, leaf);
      index++;
   }
   return __bitset_prefix_sum(stored, MAX_LEAVES, BITSET_WORDS(MAX_LEAVES)) ==
          count_leaves(memory->var->type);
}

static void
add_access(struct undefined *undefined, nir_deref_instr *deref)
{
   struct memory *memory = find_memory(undefined, deref);
   if (!memory)
      return;

   memory->is_known &= is_path(deref);
   nir_foreach_use_including_if (src, &deref->def) {
      nir_instr *user = nir_src_is_if(src) ? NULL : nir_src_parent_instr(src);
      bool is_deref = user && user->type == nir_instr_type_deref;
      nir_intrinsic_op op = user && user->type == nir_instr_type_intrinsic
                               ? nir_instr_as_intrinsic(user)->intrinsic
                               : nir_num_intrinsics;
      memory->is_known &=
         is_deref || op == nir_intrinsic_load_deref ||
         (op == nir_intrinsic_store_deref && src == &nir_instr_as_intrinsic(user)->src[0]);
   }
}

static void
find_memories(struct undefined *undefined)
{
   nir_function_impl *impl = undefined->b->impl;

   nir_foreach_function_temp_variable (var, impl) {
      struct memory *memory = rzalloc(undefined->mem_ctx, struct memory);
      memory->var = var;
      memory->is_known = count_leaves(var->type) <= MAX_LEAVES;
      util_dynarray_init(&memory->accesses, undefined->mem_ctx);
      _mesa_hash_table_insert(undefined->memories, var, memory);
   }
   nir_foreach_block (block, impl) {
      nir_foreach_instr (instr, block) {
         if (instr->type == nir_instr_type_deref) {
            add_access(undefined, nir_instr_as_deref(instr));
         } else if (instr->type == nir_instr_type_intrinsic) {
            nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
            if (intrin->intrinsic != nir_intrinsic_load_deref && !is_store(intrin))
               continue;
            struct memory *memory = find_memory(undefined, nir_src_as_deref(intrin->src[0]));
            if (memory)
               util_dynarray_append_typed(&memory->accesses, nir_intrinsic_instr *, intrin);
         }
      }
   }
   hash_table_foreach (undefined->memories, entry) {
      struct memory *memory = entry->data;
      memory->may_be_undefined = memory->is_known && !is_covered(memory);
   }
}

/* What may be undefined */

static bool
is_original(const struct undefined *undefined, const nir_def *def)
{
   return def->index < undefined->num_defs;
}

static uint16_t
get_mask(const struct undefined *undefined, const nir_def *def)
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
find_alu_mask(const struct undefined *undefined, const nir_alu_instr *alu)
{
   uint16_t mask = 0;

   for (unsigned i = 0; i < alu->def.num_components; i++) {
      for (unsigned j = 0; j < nir_op_infos[alu->op].num_inputs; j++) {
         if (get_mask(undefined, alu->src[j].src.ssa) & get_read(alu, j, i))
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
find_mask(const struct undefined *undefined, nir_instr *instr)
{
   switch (instr->type) {
   case nir_instr_type_undef:
      return BITFIELD_MASK(nir_instr_as_undef(instr)->def.num_components);
   case nir_instr_type_phi: {
      uint16_t mask = 0;
      nir_foreach_phi_src (src, nir_instr_as_phi(instr))
         mask |= get_mask(undefined, src->src.ssa);
      return mask;
   }
   case nir_instr_type_alu:
      return find_alu_mask(undefined, nir_instr_as_alu(instr));
   case nir_instr_type_intrinsic: {
      nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
      if (is_derivative(intrin))
         return get_mask(undefined, intrin->src[0].ssa);
      if (intrin->intrinsic != nir_intrinsic_load_deref)
         return 0;
      struct memory *memory = find_memory(undefined, nir_src_as_deref(intrin->src[0]));
      return memory && memory->may_be_undefined ? BITFIELD_MASK(intrin->def.num_components) : 0;
   }
   default:
      return 0;
   }
}

/* An undefined value goes to memory. */
static bool
note_store(const struct undefined *undefined, nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic || !is_store(nir_instr_as_intrinsic(instr)))
      return false;

   nir_intrinsic_instr *store = nir_instr_as_intrinsic(instr);
   struct memory *memory = find_memory(undefined, nir_src_as_deref(store->src[0]));
   if (!memory || !memory->is_known || memory->may_be_undefined ||
       !(get_mask(undefined, store->src[1].ssa) & nir_intrinsic_write_mask(store)))
      return false;
   memory->may_be_undefined = true;
   return true;
}

static bool
find_masks_once(struct undefined *undefined, bool *any)
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

static nir_def *
both(nir_builder *b, nir_def *first, nir_def *second)
{
   return !first || first == second ? second : !second ? first : nir_iand(b, first, second);
}

static nir_def *
are_defined(struct undefined *undefined, nir_def *def, uint16_t components)
{
   nir_def *all = NULL;

   u_foreach_bit (i, components & get_mask(undefined, def)) {
      nir_def *defined = get_defined(undefined, def, i);
      all = both(undefined->b, all, defined);
   }
   return all;
}

static nir_def *
is_source_defined(struct undefined *undefined, const nir_alu_instr *alu, unsigned index,
                  unsigned component)
{
   return are_defined(undefined, alu->src[index].src.ssa, get_read(alu, index, component));
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
build_absorption(struct undefined *undefined, const nir_alu_instr *alu, unsigned component)
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
   result = both(b, defined[0], defined[1]);
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
build_selection(struct undefined *undefined, const nir_alu_instr *alu, unsigned component)
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
   return both(b, condition, selected);
}

/* Finds, or builds, booleans before the cursor is set: that of an instruction stands behind it, in
 * front of those that have been built for its other components.
 */
static void
prepare(struct undefined *undefined, nir_def *def, uint16_t components)
{
   u_foreach_bit (i, components & get_mask(undefined, def))
      get_defined(undefined, def, i);
}

static nir_cursor
behind(nir_instr *instr)
{
   nir_instr *next = nir_instr_next(instr);
   return next ? nir_before_instr(next) : nir_after_block_before_jump(instr->block);
}

static nir_def *
build_alu(struct undefined *undefined, nir_alu_instr *alu, unsigned component)
{
   nir_def *all = NULL;

   for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++)
      prepare(undefined, alu->src[i].src.ssa, get_read(alu, i, component));
   undefined->b->cursor = behind(&alu->instr);
   if (alu->op == nir_op_bcsel)
      return build_selection(undefined, alu, component);
   if (can_absorb(alu->op))
      return build_absorption(undefined, alu, component);

   for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++) {
      nir_def *defined = is_source_defined(undefined, alu, i, component);
      all = both(undefined->b, all, defined);
   }
   return all;
}

/* Are the indices of a path in memory of the invocation defined? */
static nir_def *
are_indices_defined(struct undefined *undefined, nir_deref_instr *deref)
{
   nir_def *all = NULL;

   for (; deref->deref_type != nir_deref_type_var; deref = nir_deref_instr_parent(deref)) {
      if (deref->deref_type == nir_deref_type_array)
         all = both(undefined->b, all, get_defined(undefined, deref->arr.index.ssa, 0));
   }
   return all;
}

static void
build_load(struct undefined *undefined, nir_intrinsic_instr *load, nir_def **defined)
{
   nir_builder *b = undefined->b;
   nir_deref_instr *deref = nir_src_as_deref(load->src[0]);
   struct memory *memory = find_memory(undefined, deref);

   if (!memory->shadow) {
      memory->shadow = nir_local_variable_create(
         b->impl, get_shadow_type(undefined->mem_ctx, memory->var->type), "defined");
      util_dynarray_append_typed(&undefined->to_shadow, struct memory *, memory);
   }
   for (nir_deref_instr *path = deref; path->deref_type != nir_deref_type_var;
        path = nir_deref_instr_parent(path)) {
      if (path->deref_type == nir_deref_type_array)
         prepare(undefined, path->arr.index.ssa, 0x1);
   }
   b->cursor = behind(&load->instr);
   nir_def *indices = are_indices_defined(undefined, deref);
   nir_def *words = nir_load_deref(b, build_shadow_deref(b, memory->shadow, deref));
   for (unsigned i = 0; i < load->def.num_components; i++) {
      defined[i] = nir_ine_imm(b, nir_channel(b, words, i), 0);
      if (indices)
         defined[i] = nir_ior(b, defined[i], nir_inot(b, indices));
   }
}

static nir_def *
build_phi(struct undefined *undefined, nir_phi_instr *phi, unsigned component, nir_def **memo)
{
   nir_phi_instr *result = nir_phi_instr_create(undefined->b->shader);

   nir_def_init(&result->instr, &result->def, 1, 1);
   *memo = &result->def; /* it may be among its own sources */
   nir_foreach_phi_src (src, phi) {
      nir_def *defined = get_defined(undefined, src->src.ssa, component);
      nir_phi_instr_add_src(result, src->pred, defined ? defined : undefined->yes);
   }
   nir_instr_insert_before(&phi->instr, &result->instr);
   return &result->def;
}

static nir_def *
build_defined(struct undefined *undefined, nir_def *def, unsigned component, nir_def **memo)
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
         return get_defined(undefined, intrin->src[0].ssa, component);
      build_load(undefined, intrin, memo);
      return memo[component];
   }
   default:
      return undefined->no;
   }
}

/* Moves the cursor where it has to build something. */
static nir_def *
get_defined(struct undefined *undefined, nir_def *def, unsigned component)
{
   if (!(get_mask(undefined, def) & BITFIELD_BIT(component)))
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

/* Stores to shadows */

static void
build_shadow_store(struct undefined *undefined, const struct memory *memory,
                   nir_intrinsic_instr *store)
{
   nir_builder *b = undefined->b;
   nir_def *value = store->src[1].ssa;
   nir_def *words[NIR_MAX_VEC_COMPONENTS];

   prepare(undefined, value, BITFIELD_MASK(value->num_components));
   b->cursor = nir_after_instr(&store->instr);
   for (unsigned i = 0; i < value->num_components; i++)
      words[i] = get_defined(undefined, value, i);
   for (unsigned i = 0; i < value->num_components; i++)
      words[i] = words[i] ? nir_b2i32(b, words[i]) : nir_imm_int(b, 1);
   nir_deref_instr *deref = build_shadow_deref(b, memory->shadow, nir_src_as_deref(store->src[0]));
   nir_store_deref(b, deref, nir_vec(b, words, value->num_components),
                   nir_intrinsic_write_mask(store));
}

static void
build_zero(nir_builder *b, nir_deref_instr *deref)
{
   if (glsl_type_is_vector_or_scalar(deref->type)) {
      unsigned components = glsl_get_vector_elements(deref->type);
      nir_store_deref(b, deref, nir_imm_zero(b, components, 32), BITFIELD_MASK(components));
      return;
   }
   for (unsigned i = 0; i < glsl_get_length(deref->type); i++)
      build_zero(b, glsl_type_is_array(deref->type) ? nir_build_deref_array_imm(b, deref, i)
                                                    : nir_build_deref_struct(b, deref, i));
}

static void
fill_shadows(struct undefined *undefined)
{
   while (util_dynarray_num_elements(&undefined->to_shadow, struct memory *)) {
      struct memory *memory = util_dynarray_pop(&undefined->to_shadow, struct memory *);

      undefined->b->cursor = nir_before_impl(undefined->b->impl);
      build_zero(undefined->b, nir_build_deref_var(undefined->b, memory->shadow));
      util_dynarray_foreach (&memory->accesses, nir_intrinsic_instr *, access) {
         if (is_store(*access))
            build_shadow_store(undefined, memory, *access);
      }
   }
}

/* Uses */

struct use {
   nir_instr *instr;
   uint32_t spirv_offset;
   uint32_t instance;                            /* 0: none */
   nir_def *defined[GPUVAL_UNDEFINED_USE_COUNT]; /* NULL: yes */
};

static void
add(struct undefined *undefined, struct use *use, nir_def *def, uint16_t components,
    enum gpuval_undefined_use what)
{
   components &= get_mask(undefined, def) & BITFIELD_MASK(def->num_components);
   if (!components)
      return;

   prepare(undefined, def, components);
   undefined->b->cursor = nir_before_instr(use->instr);
   nir_def *defined = are_defined(undefined, def, components);
   use->defined[what] = both(undefined->b, use->defined[what], defined);
}

#define ALL 0xffff

/* What leads to memory or to a descriptor */
static void
add_path(struct undefined *undefined, struct use *use, nir_def *path)
{
   nir_instr *instr = nir_def_instr(path);

   if (instr->type == nir_instr_type_deref) {
      nir_deref_instr *deref = nir_instr_as_deref(instr);
      if (deref->deref_type == nir_deref_type_array ||
          deref->deref_type == nir_deref_type_ptr_as_array)
         add(undefined, use, deref->arr.index.ssa, 0x1, GPUVAL_UNDEFINED_INDEX);
      if (deref->deref_type != nir_deref_type_var)
         add_path(undefined, use, deref->parent.ssa);
      return;
   }
   if (instr->type == nir_instr_type_intrinsic) {
      nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
      switch (intrin->intrinsic) {
      case nir_intrinsic_vulkan_resource_index:
         add(undefined, use, intrin->src[0].ssa, ALL, GPUVAL_UNDEFINED_INDEX);
         return;
      case nir_intrinsic_vulkan_resource_reindex:
         add(undefined, use, intrin->src[1].ssa, ALL, GPUVAL_UNDEFINED_INDEX);
         add_path(undefined, use, intrin->src[0].ssa);
         return;
      case nir_intrinsic_load_vulkan_descriptor:
         add_path(undefined, use, intrin->src[0].ssa);
         return;
      default:
         break;
      }
   }
   add(undefined, use, path, ALL, GPUVAL_UNDEFINED_ADDRESS);
}

/* Stores to memory of the invocation move a value, and so do payloads of rays. */
#define MOVED_MODES                                                                                \
   (nir_var_function_temp | nir_var_shader_temp | nir_var_shader_call_data | nir_var_ray_hit_attrib)

static bool
is_output(nir_deref_instr *deref)
{
   return nir_deref_mode_is(deref, nir_var_shader_out);
}

/* vtn fills what an instruction has not up with undefined components. */
static void
add_image(struct undefined *undefined, struct use *use, nir_intrinsic_instr *intrin,
          unsigned num_values)
{
   bool is_multisampled = nir_intrinsic_image_dim(intrin) == GLSL_SAMPLER_DIM_MS ||
                          nir_intrinsic_image_dim(intrin) == GLSL_SAMPLER_DIM_SUBPASS_MS;

   add_path(undefined, use, intrin->src[0].ssa);
   add(undefined, use, intrin->src[1].ssa,
       BITFIELD_MASK(nir_image_intrinsic_coord_components(intrin)), GPUVAL_UNDEFINED_COORDINATE);
   if (is_multisampled)
      add(undefined, use, intrin->src[2].ssa, 0x1, GPUVAL_UNDEFINED_COORDINATE);
   for (unsigned i = 0; i < num_values; i++) {
      nir_def *value = intrin->src[3 + i].ssa;
      uint16_t components = 0;
      for (unsigned j = 0; j < value->num_components; j++) {
         nir_scalar scalar = nir_scalar_chase_movs(nir_get_scalar(value, j));
         if (!j || nir_def_instr(scalar.def)->type != nir_instr_type_undef)
            components |= BITFIELD_BIT(j);
      }
      add(undefined, use, value, components, GPUVAL_UNDEFINED_VALUE_STORED);
   }
}

static void
add_intrinsic(struct undefined *undefined, struct use *use, nir_intrinsic_instr *intrin)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_operation_gpuval:
      add(undefined, use, intrin->src[1].ssa, 0x1, GPUVAL_UNDEFINED_CONDITION);
      break;
   case nir_intrinsic_load_deref:
   case nir_intrinsic_interp_deref_at_centroid:
      add_path(undefined, use, intrin->src[0].ssa);
      break;
   case nir_intrinsic_store_deref: {
      nir_deref_instr *deref = nir_src_as_deref(intrin->src[0]);
      add_path(undefined, use, intrin->src[0].ssa);
      if (!nir_deref_mode_may_be(deref, MOVED_MODES))
         add(undefined, use, intrin->src[1].ssa, nir_intrinsic_write_mask(intrin),
             is_output(deref) ? GPUVAL_UNDEFINED_OUTPUT : GPUVAL_UNDEFINED_VALUE_STORED);
      break;
   }
   case nir_intrinsic_deref_atomic:
   case nir_intrinsic_deref_atomic_swap:
      add_path(undefined, use, intrin->src[0].ssa);
      for (unsigned i = 1; i < nir_intrinsic_infos[intrin->intrinsic].num_srcs; i++)
         add(undefined, use, intrin->src[i].ssa, ALL, GPUVAL_UNDEFINED_VALUE_STORED);
      break;
   case nir_intrinsic_image_deref_load:
   case nir_intrinsic_image_deref_sparse_load:
      add_image(undefined, use, intrin, 0);
      break;
   case nir_intrinsic_image_deref_store:
   case nir_intrinsic_image_deref_atomic:
      add_image(undefined, use, intrin, 1);
      break;
   case nir_intrinsic_image_deref_atomic_swap:
      add_image(undefined, use, intrin, 2);
      break;
   default:
      break;
   }
}

static void
add_texture(struct undefined *undefined, struct use *use, nir_tex_instr *tex)
{
   for (unsigned i = 0; i < tex->num_srcs; i++) {
      nir_def *source = tex->src[i].src.ssa;
      switch (tex->src[i].src_type) {
      case nir_tex_src_texture_deref:
      case nir_tex_src_sampler_deref:
         add_path(undefined, use, source);
         break;
      case nir_tex_src_coord:
         add(undefined, use, source, BITFIELD_MASK(tex->coord_components),
             GPUVAL_UNDEFINED_COORDINATE);
         break;
      default:
         add(undefined, use, source, ALL, GPUVAL_UNDEFINED_COORDINATE);
         break;
      }
   }
}

static bool
is_branch(const nir_instr *instr)
{
   return gpuval_nir_is_operation(instr) &&
          gpuval_nir_is_branch(nir_intrinsic_range(nir_instr_as_intrinsic(instr)));
}

/* What one invocation does fails once: of several parts that are undefined, the first is reported. */
static void
report(struct undefined *undefined, const struct use *use)
{
   nir_builder *b = undefined->b;
   nir_def *before = NULL;

   b->cursor = nir_before_instr(use->instr);
   for (unsigned i = 0; i < GPUVAL_UNDEFINED_USE_COUNT; i++) {
      if (!use->defined[i])
         continue;

      nir_def *failed = nir_inot(b, use->defined[i]);
      gpuval_nir_report_early(b, &(struct gpuval_nir_early_report){
                                    .kind = GPUVAL_KIND_UNDEFINED_VALUE,
                                    .spirv_offset = use->spirv_offset,
                                    .set = -1,
                                    .binding = -1,
                                    .size = i,
                                    .failed = both(b, before, failed),
                                 });
      before = both(b, before, use->defined[i]);
   }
}

/* What one SPIR-V instruction stores member by member fails once. */
static bool
is_same_access(const struct use *use, const struct use *next)
{
   return use->instr && use->instance && use->instance == next->instance &&
          use->instr->block == next->instr->block;
}

static void
check_uses(struct undefined *undefined, const struct util_dynarray *instrs)
{
   struct use last = {0};

   util_dynarray_foreach (instrs, nir_instr *, each) {
      nir_instr *instr = *each;
      bool is_operation = is_branch(instr);
      struct use use = {
         .instr = instr,
         .instance = is_operation ? 0 : instr->index,
         .spirv_offset = is_operation ? nir_intrinsic_base(nir_instr_as_intrinsic(instr))
                                      : gpuval_nir_early_offset(undefined->early, instr),
      };
      if (is_same_access(&last, &use))
         memcpy(use.defined, last.defined, sizeof(use.defined));
      else if (last.instr)
         report(undefined, &last);
      if (instr->type == nir_instr_type_tex)
         add_texture(undefined, &use, nir_instr_as_tex(instr));
      else
         add_intrinsic(undefined, &use, nir_instr_as_intrinsic(instr));
      last = use;
   }
   if (last.instr)
      report(undefined, &last);
}

static struct util_dynarray
collect_instrs(struct undefined *undefined)
{
   struct util_dynarray instrs;

   util_dynarray_init(&instrs, undefined->mem_ctx);
   nir_foreach_block (block, undefined->b->impl) {
      nir_foreach_instr (instr, block) {
         if (instr->type == nir_instr_type_tex || is_branch(instr) ||
             (instr->type == nir_instr_type_intrinsic && !gpuval_nir_is_operation(instr)))
            util_dynarray_append_typed(&instrs, nir_instr *, instr);
      }
   }
   return instrs;
}

static void
check_shader(struct undefined *undefined)
{
   nir_builder *b = undefined->b;
   struct util_dynarray instrs = collect_instrs(undefined);

   b->cursor = nir_before_impl(b->impl);
   undefined->yes = nir_imm_true(b);
   undefined->no = nir_imm_false(b);
   undefined->booleans = _mesa_pointer_hash_table_create(undefined->mem_ctx);
   util_dynarray_init(&undefined->to_shadow, undefined->mem_ctx);
   check_uses(undefined, &instrs);
   fill_shadows(undefined);
}

bool
gpuval_nir_early_undefined(struct gpuval_nir_early *early)
{
   nir_function_impl *impl = early->b.impl;
   struct undefined undefined = {
      .b = &early->b,
      .early = early,
      .mem_ctx = ralloc_context(NULL),
   };
   bool any = false;

   nir_metadata_require(impl, nir_metadata_block_index | nir_metadata_dominance);
   nir_index_ssa_defs(impl);
   undefined.num_defs = impl->ssa_alloc;
   undefined.masks = rzalloc_array(undefined.mem_ctx, uint16_t, impl->ssa_alloc);
   undefined.memories = _mesa_pointer_hash_table_create(undefined.mem_ctx);
   find_memories(&undefined);
   while (find_masks_once(&undefined, &any))
      ;
   if (any)
      check_shader(&undefined);
   ralloc_free(undefined.mem_ctx);

   nir_foreach_block (block, impl) {
      nir_foreach_instr_safe (instr, block) {
         if (is_branch(instr))
            nir_instr_remove(instr);
      }
   }
   nir_progress(true, impl, nir_metadata_control_flow);
   return any;
}
