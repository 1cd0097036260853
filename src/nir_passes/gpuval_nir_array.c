/* SPDX-License-Identifier: MIT */

/* Indices past the end of an array, a matrix or a vector whose length the shader declares.
 *
 * Each load, store and atomic goes through a chain of derefs. An index in it that is no constant,
 * and that gpuval_nir_range.c cannot prove to be in range, is compared with the length. Of one
 * access the first index from the outside that is wrong is reported. Where vtn makes several
 * accesses of one instruction (members of a struct, columns of a matrix), they share the report.
 *
 * Constant indices are looked at first: nir_lower_vars_to_ssa makes nothing of what is past the
 * end. vtn has made selections of a vector's dynamic components by then, so its callback says
 * where these were.
 *
 * With GPUVAL_SAFE, memory is indexed as if the last element had been meant, loads give 0, and
 * stores are not performed. Blocks of descriptors wait for the hook, where their offsets are known:
 * what is past the end of an array may be outside of the descriptor's range, too, and then it is
 * bounds that reports it.
 */

#include "gpuval_nir_early.h"

#include "gpuval/src/compat/gpuval_locations.h"
#include "gpuval_nir_range.h"

#include "util/ralloc.h"

#define MODES                                                                                      \
   (nir_var_function_temp | nir_var_shader_temp | nir_var_mem_shared | nir_var_mem_task_payload |  \
    nir_var_shader_in | nir_var_shader_out | nir_var_mem_ubo | nir_var_mem_ssbo |                  \
    nir_var_mem_push_const | nir_var_mem_global | nir_var_mem_constant |                           \
    nir_var_shader_call_data | nir_var_ray_hit_attrib | nir_var_mem_node_payload |                 \
    nir_var_mem_node_payload_in)
/* Those of descriptors */
#define BLOCK_MODES (nir_var_mem_ubo | nir_var_mem_ssbo)

/* What glslang calls the variable for a constant that is indexed */
#define CONSTANT_NAME "indexable"

struct array_access {
   nir_intrinsic_instr *intrin;
   nir_deref_instr *deref; /* the end of the chain */
   enum gpuval_op op;
   nir_def *bad; /* 1 bit; NULL: nothing can fail */
};

struct array_state {
   struct gpuval_nir_early *early;
   bool is_constant; /* it is about constant indices, else about all others */
};

static enum gpuval_op
get_op(const nir_intrinsic_instr *intrin)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_load_deref:
   case nir_intrinsic_interp_deref_at_centroid:
   case nir_intrinsic_interp_deref_at_sample:
   case nir_intrinsic_interp_deref_at_offset:
   case nir_intrinsic_interp_deref_at_vertex:
      return GPUVAL_OP_LOAD;
   case nir_intrinsic_store_deref:
      return GPUVAL_OP_STORE;
   case nir_intrinsic_deref_atomic:
   case nir_intrinsic_deref_atomic_swap:
      return GPUVAL_OP_ATOMIC;
   default:
      return GPUVAL_OP_NONE;
   }
}

static enum gpuval_array_type
get_type(const nir_deref_instr *root)
{
   if (root->modes & BLOCK_MODES)
      return GPUVAL_ARRAY_BLOCK;
   switch (root->modes) {
   case nir_var_mem_global:
      return GPUVAL_ARRAY_ADDRESS;
   case nir_var_mem_shared:
      return GPUVAL_ARRAY_SHARED;
   case nir_var_mem_task_payload:
      return GPUVAL_ARRAY_TASK_PAYLOAD;
   case nir_var_shader_in:
      return GPUVAL_ARRAY_INPUT;
   case nir_var_shader_out:
      return GPUVAL_ARRAY_OUTPUT;
   case nir_var_mem_push_const:
      return GPUVAL_ARRAY_PUSH_CONSTANT;
   case nir_var_mem_constant:
      return GPUVAL_ARRAY_CONSTANT;
   default: {
      const nir_variable *var = root->deref_type == nir_deref_type_var ? root->var : NULL;
      bool is_constant = var && var->name && !strcmp(var->name, CONSTANT_NAME);
      return is_constant ? GPUVAL_ARRAY_CONSTANT : GPUVAL_ARRAY_PRIVATE;
   }
   }
}

/* A cast that has a deref before it says nothing but how that is aligned. */
static nir_deref_instr *
get_root(nir_deref_instr *deref)
{
   for (nir_deref_instr *parent; (parent = nir_deref_instr_parent(deref));)
      deref = parent;
   return deref;
}

/* The block behind a descriptor */
static const nir_variable *
find_block(nir_shader *nir, const nir_deref_instr *root, nir_binding *binding)
{
   *binding = (nir_binding){0};
   if (root->deref_type != nir_deref_type_cast || !(root->modes & BLOCK_MODES))
      return NULL;

   *binding = nir_chase_binding(root->parent);
   if (!binding->success)
      return NULL;
   nir_foreach_variable_with_modes (var, nir, BLOCK_MODES) {
      if (var->data.mode & root->modes && var->data.descriptor_set == binding->desc_set &&
          var->data.binding == binding->binding)
         return var;
   }
   return NULL;
}

static void
append_member(char **path, const char *name)
{
   if (!name || !*name)
      return;
   ralloc_asprintf_append(path, "%s%s", **path ? "." : "", name);
}

/* "cells.rows" up to @array, the deref of an element */
static void
append_path(char **path, nir_deref_instr *deref)
{
   if (deref->deref_type == nir_deref_type_var) {
      const char *name = deref->var->name;
      append_member(path, name && strcmp(name, CONSTANT_NAME) ? name : NULL);
      return;
   }
   nir_deref_instr *parent = nir_deref_instr_parent(deref);
   if (!parent)
      return;
   append_path(path, parent);
   if (deref->deref_type == nir_deref_type_struct)
      append_member(path, glsl_get_struct_elem_name(parent->type, deref->strct.index));
}

/* Of what @deref is; NULL: it has none. The caller frees it. */
static char *
get_path(nir_deref_instr *deref, const nir_variable *block)
{
   char *path = ralloc_strdup(NULL, "");

   if (block)
      append_member(&path, block->name);
   append_path(&path, deref);
   if (*path)
      return path;
   ralloc_free(path);
   return NULL;
}

/* Elements of what @deref indexes; 0: open, or no array */
static unsigned
get_length(const nir_deref_instr *deref)
{
   if (deref->deref_type != nir_deref_type_array)
      return 0;

   const struct glsl_type *type = nir_deref_instr_parent(deref)->type;
   if (glsl_type_is_array(type) || glsl_type_is_matrix(type))
      return glsl_get_length(type);
   return glsl_type_is_vector(type) ? glsl_get_vector_elements(type) : 0;
}

/* 1 bit, or NULL: never */
static nir_def *
build_is_past(struct array_state *state, const struct array_access *access,
              const nir_deref_instr *element, unsigned length)
{
   nir_builder *b = &state->early->b;
   nir_def *index = element->arr.index.ssa;

   if (nir_src_is_const(element->arr.index)) {
      bool is_past = nir_src_as_uint(element->arr.index) >= length;
      return state->is_constant && is_past ? nir_imm_true(b) : NULL;
   }
   if (state->is_constant ||
       gpuval_nir_is_below(nir_get_scalar(index, 0), length, access->intrin->instr.block))
      return NULL;
   return nir_uge_imm(b, index, length);
}

/* The index that a record has */
static nir_def *
to_word(nir_builder *b, nir_def *index)
{
   return index->bit_size > 32 ? nir_u2u32(b, index) : nir_i2i32(b, index);
}

static nir_def *
join(nir_builder *b, nir_def *a, nir_def *other)
{
   return a && other ? nir_ior(b, a, other) : a ? a : other;
}

/* From the root on: 1 bit, or NULL */
static nir_def *
report_chain(struct array_state *state, const struct array_access *access, nir_deref_instr *deref,
             const nir_binding *binding, const nir_variable *block)
{
   if (!nir_deref_instr_parent(deref))
      return NULL;

   nir_builder *b = &state->early->b;
   nir_def *before = report_chain(state, access, nir_deref_instr_parent(deref), binding, block);
   unsigned length = get_length(deref);
   nir_def *is_past = length ? build_is_past(state, access, deref, length) : NULL;
   if (!is_past)
      return before;

   nir_def *index = deref->arr.index.ssa;
   char *path = get_path(nir_deref_instr_parent(deref), block);
   gpuval_nir_report_early(
      b, &(struct gpuval_nir_early_report){
            .kind = GPUVAL_KIND_ARRAY_OOB,
            .op = access->op,
            .spirv_offset = gpuval_nir_early_offset(state->early, &access->intrin->instr),
            .set = binding->success ? (int)binding->desc_set : -1,
            .binding = binding->success ? (int)binding->binding : -1,
            .size = length,
            .failed = before ? nir_iand(b, is_past, nir_inot(b, before)) : is_past,
            .array = get_type(get_root(deref)),
            .words = {to_word(b, index)},
            .name = path,
         });
   ralloc_free(path);
   return join(b, before, is_past);
}

/* Is what @a and @access index the same, all of it that can fail? */
static bool
indexes_same(struct array_state *state, const struct array_access *a,
             const struct array_access *access)
{
   if (!a || a->intrin->instr.index != access->intrin->instr.index ||
       !access->intrin->instr.index || a->intrin->instr.block != access->intrin->instr.block ||
       a->op != access->op)
      return false;

   const nir_deref_instr *left = a->deref, *right = access->deref;
   const nir_def *indices[2][8] = {0};
   unsigned counts[2] = {0};
   for (unsigned i = 0; i < 2; i++) {
      nir_deref_instr *deref = (nir_deref_instr *)(i ? right : left);
      for (; deref; deref = nir_deref_instr_parent(deref)) {
         if (!get_length(deref) || (nir_src_is_const(deref->arr.index) && !state->is_constant))
            continue;
         if (counts[i] == ARRAY_SIZE(indices[i]))
            return false;
         indices[i][counts[i]++] = deref->arr.index.ssa;
      }
   }
   return counts[0] == counts[1] && !memcmp(indices[0], indices[1], sizeof(indices[0]));
}

static void
look_at(struct array_state *state, struct array_access *access, const struct array_access *before)
{
   nir_builder *b = &state->early->b;
   nir_deref_instr *root = get_root(access->deref);

   if (!nir_deref_mode_must_be(access->deref, MODES))
      return;
   if (indexes_same(state, before, access)) {
      access->bad = before->bad;
      return;
   }

   nir_binding binding;
   const nir_variable *block = find_block(b->shader, root, &binding);
   b->cursor = nir_before_instr(&access->intrin->instr);
   access->bad = report_chain(state, access, access->deref, &binding, block);
}

/* Nothing but the shader's own memory is indexed by what is past the end. */
static void
clamp_indices(nir_builder *b, nir_deref_instr *deref)
{
   for (; deref; deref = nir_deref_instr_parent(deref)) {
      unsigned length = get_length(deref);
      if (!length || nir_src_is_const(deref->arr.index))
         continue;

      b->cursor = nir_before_instr(&deref->instr);
      nir_def *index = deref->arr.index.ssa;
      nir_src_rewrite(&deref->arr.index,
                      nir_umin(b, index, nir_imm_intN_t(b, length - 1, index->bit_size)));
   }
}

static void
make_safe(struct array_state *state, const struct array_access *access)
{
   nir_builder *b = &state->early->b;
   nir_intrinsic_instr *intrin = access->intrin;
   bool has_result = nir_intrinsic_infos[intrin->intrinsic].has_dest;

   if (access->op == GPUVAL_OP_LOAD) {
      b->cursor = nir_after_instr(&intrin->instr);
      nir_def *zero = nir_imm_zero(b, intrin->def.num_components, intrin->def.bit_size);
      nir_def *safe = nir_bcsel(b, access->bad, zero, &intrin->def);
      gpuval_rewrite_uses_after(&intrin->def, safe);
      return;
   }

   const nir_instr *location = gpuval_find_location(&intrin->instr);
   b->cursor = nir_before_instr(&intrin->instr);
   nir_def *zero =
      has_result ? nir_imm_zero(b, intrin->def.num_components, intrin->def.bit_size) : NULL;
   nir_if *performed = nir_push_if(b, nir_inot(b, access->bad));
   gpuval_repeat_location(b, location);
   nir_instr_move(b->cursor, &intrin->instr);
   b->cursor = nir_after_instr(&intrin->instr);
   nir_pop_if(b, performed);
   if (has_result) {
      nir_def *result = nir_if_phi(b, &intrin->def, zero);
      nir_foreach_use_including_if_safe (use, &intrin->def) {
         if (nir_src_is_if(use) || nir_src_parent_instr(use) != nir_def_instr(result))
            nir_src_rewrite(use, result);
      }
   }
   gpuval_repeat_location(b, location);
}

static bool
run(struct gpuval_nir_early *early, bool is_constant)
{
   struct array_state state = {.early = early, .is_constant = is_constant};
   const struct array_access *before = NULL;
   struct util_dynarray accesses;
   bool progress = false;

   util_dynarray_init(&accesses, NULL);
   nir_foreach_block (block, early->b.impl) {
      nir_foreach_instr (instr, block) {
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
         enum gpuval_op op = get_op(intrin);
         if (op)
            util_dynarray_append_typed(&accesses, struct array_access,
                                       ((struct array_access){
                                          .intrin = intrin,
                                          .deref = nir_src_as_deref(intrin->src[0]),
                                          .op = op,
                                       }));
      }
   }

   util_dynarray_foreach (&accesses, struct array_access, access) {
      look_at(&state, access, before);
      progress |= access->bad != NULL;
      before = access;
   }
   if (early->options->safe) {
      util_dynarray_foreach (&accesses, struct array_access, access) {
         if (access->bad && !nir_deref_mode_may_be(access->deref, BLOCK_MODES))
            clamp_indices(&early->b, access->deref);
      }
      util_dynarray_foreach (&accesses, struct array_access, access) {
         if (access->bad && !nir_deref_mode_may_be(access->deref, BLOCK_MODES))
            make_safe(&state, access);
      }
   }
   util_dynarray_fini(&accesses);
   return progress;
}

bool
gpuval_nir_indexes_arrays(nir_function_impl *impl)
{
   nir_foreach_block (block, impl) {
      nir_foreach_instr (instr, block) {
         if (instr->type != nir_instr_type_deref)
            continue;
         const nir_deref_instr *deref = nir_instr_as_deref(instr);
         unsigned length = nir_deref_mode_may_be(deref, MODES) ? get_length(deref) : 0;
         if (length &&
             (!nir_src_is_const(deref->arr.index) || nir_src_as_uint(deref->arr.index) >= length))
            return true;
      }
   }
   return false;
}

bool
gpuval_nir_early_constant_indices(struct gpuval_nir_early *early)
{
   if (!(early->options->checks & BITFIELD_BIT(GPUVAL_CHECK_ARRAY)))
      return false;

   bool progress = run(early, true);
   nir_progress(progress, early->b.impl, nir_metadata_none);
   return progress;
}

bool
gpuval_nir_early_array(struct gpuval_nir_early *early)
{
   gpuval_nir_require_ranges(early->b.impl);
   bool progress = run(early, false);

   nir_progress(progress, early->b.impl, nir_metadata_none);
   return progress;
}

/* The variable that @vector is the value of, or NULL */
static nir_deref_instr *
find_vector(nir_def *vector)
{
   if (nir_def_instr(vector)->type != nir_instr_type_intrinsic)
      return NULL;
   nir_intrinsic_instr *load = nir_instr_as_intrinsic(nir_def_instr(vector));
   return load->intrinsic == nir_intrinsic_load_deref ? nir_src_as_deref(load->src[0]) : NULL;
}

void
gpuval_nir_emit_index(nir_builder *b, nir_def *vector, nir_def *index, nir_def *result,
                      nir_def *instead, enum gpuval_op op, uint32_t spirv_offset)
{
   nir_scalar scalar = nir_get_scalar(index, 0);
   if (nir_scalar_is_const(scalar) && nir_scalar_as_uint(scalar) < vector->num_components)
      return;

   nir_deref_instr *variable = find_vector(vector);
   char *path = variable ? get_path(variable, NULL) : NULL;
   gpuval_nir_report_early(
      b,
      &(struct gpuval_nir_early_report){
         .kind = GPUVAL_KIND_ARRAY_OOB,
         .op = op,
         .spirv_offset = spirv_offset,
         .set = -1,
         .binding = -1,
         .size = vector->num_components,
         .failed = nir_uge_imm(b, index, vector->num_components),
         .array = variable ? get_type(get_root(variable)) : GPUVAL_ARRAY_PRIVATE,
         .words = {to_word(b, index)},
         .name = path,
         .result = result,
         .instead = instead ? instead : nir_imm_zero(b, result->num_components, result->bit_size),
      });
   ralloc_free(path);
}

/* The first access of the instruction that @report is about, or NULL. Accesses are in the order of
 * the shader, and those of one instruction stand side by side.
 */
static struct gpuval_access *
find_access(struct gpuval_nir_state *state, const nir_intrinsic_instr *report)
{
   uint32_t spirv_offset = nir_intrinsic_base(report);

   for (const nir_instr *instr = nir_instr_next((nir_instr *)&report->instr); instr;
        instr = nir_instr_next((nir_instr *)instr)) {
      if (instr->type != nir_instr_type_intrinsic ||
          gpuval_nir_spirv_offset(state, instr->index) != spirv_offset ||
          !gpuval_nir_resource_src(nir_instr_as_intrinsic((nir_instr *)instr)))
         continue;
      gpuval_nir_foreach_access(state, access)
      {
         if (access->instr == instr)
            return access->type == GPUVAL_ACCESS_BUFFER && access->is_described ? access : NULL;
      }
   }
   return NULL;
}

/* Robust descriptors make nothing of an access far behind their end. */
#define FAR_OUTSIDE 0x7fffff00

bool
gpuval_nir_report_block_array(struct gpuval_nir_state *state, const struct gpuval_site *site,
                              const nir_intrinsic_instr *report)
{
   if (site->kind != GPUVAL_KIND_ARRAY_OOB || site->array != GPUVAL_ARRAY_BLOCK)
      return false;
   struct gpuval_access *access = find_access(state, report);
   if (!access || access->buffer.set < 0)
      return false;

   nir_builder *b = &state->b;
   const struct gpuval_nir_driver *driver = state->options->driver;
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   nir_src *offset = nir_get_io_offset_src(intrin);
   nir_def *past = report->src[0].ssa;
   uint32_t size = access->buffer.size; /* of an inline uniform block */
   const struct gpuval_nir_entry entry = {
      .size = gpuval_nir_access_bytes(access),
      .site = gpuval_nir_add_site(state, site),
   };

   b->cursor = nir_before_instr(access->instr);
   nir_def *first = nir_iadd_imm(b, offset->ssa, gpuval_nir_access_skipped(access));
   gpuval_nir_report(state,
                     &(struct gpuval_nir_report){
                        .failed = access->bad ? nir_iand(b, past, nir_inot(b, access->bad)) : past,
                        .detail = nir_vec4(b, first, nir_channel(b, report->src[1].ssa, 0),
                                           nir_imm_int(b, 1), nir_imm_int(b, 0)),
                        .slot = size ? nir_imm_int(b, size) : driver->slot(driver, b, intrin),
                        .set = size ? GPUVAL_REPORT_INLINE : access->buffer.set,
                        .first_entry = gpuval_nir_add_entry(state, &entry),
                        .num_entries = 1,
                     });

   access->bad = access->bad ? nir_ior(b, access->bad, past) : past;
   if (state->options->safe)
      nir_src_rewrite(offset, nir_bcsel(b, past, nir_imm_int(b, FAR_OUTSIDE), offset->ssa));
   return true;
}
