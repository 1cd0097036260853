/* SPDX-License-Identifier: MIT */

/* undefined: variables that stay in memory of the invocation, and their shadows. */

#include "gpuval_nir_undefined.h"

#include "util/hash_table.h"
#include "util/ralloc.h"

/* Larger variables count as defined. */
#define MAX_LEAVES 256

struct gpuval_undefined_memory *
gpuval_undefined_find_memory(const struct gpuval_undefined *undefined, nir_deref_instr *deref)
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
const struct glsl_type *
gpuval_undefined_shadow_type(void *mem_ctx, const struct glsl_type *type)
{
   unsigned length = glsl_get_length(type);

   if (glsl_type_is_vector_or_scalar(type))
      return glsl_vector_type(GLSL_TYPE_UINT, glsl_get_vector_elements(type));
   if (glsl_type_is_array_or_matrix(type))
      return glsl_array_type(gpuval_undefined_shadow_type(mem_ctx, glsl_get_array_element(type)),
                             length, 0);

   struct glsl_struct_field *fields = rzalloc_array(mem_ctx, struct glsl_struct_field, length);
   for (unsigned i = 0; i < length; i++) {
      fields[i].type = gpuval_undefined_shadow_type(mem_ctx, glsl_get_struct_field(type, i));
      fields[i].name = glsl_get_struct_elem_name(type, i);
   }
   return glsl_struct_type(fields, length, "defined", false);
}

nir_deref_instr *
gpuval_undefined_shadow_deref(nir_builder *b, nir_variable *shadow, nir_deref_instr *deref)
{
   if (deref->deref_type == nir_deref_type_var)
      return nir_build_deref_var(b, shadow);

   nir_deref_instr *parent =
      gpuval_undefined_shadow_deref(b, shadow, nir_deref_instr_parent(deref));
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

bool
gpuval_undefined_is_store(const nir_intrinsic_instr *access)
{
   return access->intrinsic == nir_intrinsic_store_deref;
}

/* Does a store at @index in the list come before all loads, on each path? */
static bool
is_before_loads(const struct gpuval_undefined_memory *memory, unsigned index)
{
   nir_intrinsic_instr **accesses = util_dynarray_begin((struct util_dynarray *)&memory->accesses);
   unsigned count = util_dynarray_num_elements(&memory->accesses, nir_intrinsic_instr *);
   nir_block *block = accesses[index]->instr.block;

   for (unsigned i = 0; i < count; i++) {
      nir_block *other = accesses[i]->instr.block;
      if (!gpuval_undefined_is_store(accesses[i]) &&
          (other == block ? i < index : !nir_block_dominates(block, other)))
         return false;
   }
   return true;
}

/* Constant indices have stored all of it before it is loaded. */
static bool
is_covered(const struct gpuval_undefined_memory *memory)
{
   BITSET_DECLARE(stored, MAX_LEAVES) = {0};
   unsigned index = 0;

   util_dynarray_foreach (&memory->accesses, nir_intrinsic_instr *, access) {
      nir_deref_instr *deref = nir_src_as_deref((*access)->src[0]);
      int leaf = gpuval_undefined_is_store(*access) ? get_leaf(deref) : -1;
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
add_access(struct gpuval_undefined *undefined, nir_deref_instr *deref)
{
   struct gpuval_undefined_memory *memory = gpuval_undefined_find_memory(undefined, deref);
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

void
gpuval_undefined_find_memories(struct gpuval_undefined *undefined)
{
   nir_function_impl *impl = undefined->b->impl;

   nir_foreach_function_temp_variable (var, impl) {
      struct gpuval_undefined_memory *memory =
         rzalloc(undefined->mem_ctx, struct gpuval_undefined_memory);
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
            if (intrin->intrinsic != nir_intrinsic_load_deref && !gpuval_undefined_is_store(intrin))
               continue;
            struct gpuval_undefined_memory *memory =
               gpuval_undefined_find_memory(undefined, nir_src_as_deref(intrin->src[0]));
            if (memory)
               util_dynarray_append_typed(&memory->accesses, nir_intrinsic_instr *, intrin);
         }
      }
   }
   hash_table_foreach (undefined->memories, entry) {
      struct gpuval_undefined_memory *memory = entry->data;
      memory->may_be_undefined = memory->is_known && !is_covered(memory);
   }
}

/* Stores to shadows */

static void
build_shadow_store(struct gpuval_undefined *undefined, const struct gpuval_undefined_memory *memory,
                   nir_intrinsic_instr *store)
{
   nir_builder *b = undefined->b;
   nir_def *value = store->src[1].ssa;
   nir_def *words[NIR_MAX_VEC_COMPONENTS];

   gpuval_undefined_prepare(undefined, value, BITFIELD_MASK(value->num_components));
   b->cursor = nir_after_instr(&store->instr);
   for (unsigned i = 0; i < value->num_components; i++)
      words[i] = gpuval_undefined_get(undefined, value, i);
   for (unsigned i = 0; i < value->num_components; i++)
      words[i] = words[i] ? nir_b2i32(b, words[i]) : nir_imm_int(b, 1);
   nir_deref_instr *deref =
      gpuval_undefined_shadow_deref(b, memory->shadow, nir_src_as_deref(store->src[0]));
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

void
gpuval_undefined_fill_shadows(struct gpuval_undefined *undefined)
{
   while (util_dynarray_num_elements(&undefined->to_shadow, struct gpuval_undefined_memory *)) {
      struct gpuval_undefined_memory *memory =
         util_dynarray_pop(&undefined->to_shadow, struct gpuval_undefined_memory *);

      undefined->b->cursor = nir_before_impl(undefined->b->impl);
      build_zero(undefined->b, nir_build_deref_var(undefined->b, memory->shadow));
      util_dynarray_foreach (&memory->accesses, nir_intrinsic_instr *, access) {
         if (gpuval_undefined_is_store(*access))
            build_shadow_store(undefined, memory, *access);
      }
   }
}
