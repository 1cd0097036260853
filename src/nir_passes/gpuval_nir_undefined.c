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
 * business any more: a value that is loaded from an undefined index counts as defined. Neither is
 * what arithmetic and nan say of operations on the way there: these fail where undefined operands
 * do not decide it.
 *
 * Here are the uses; values and their booleans are in gpuval_nir_undefined_values.c, memory of the
 * invocation in gpuval_nir_undefined_memory.c.
 */

#include "gpuval_nir_undefined.h"

#include "spirv/spirv.h"
#include "util/hash_table.h"
#include "util/ralloc.h"

struct use {
   nir_instr *instr;
   uint32_t spirv_offset;
   uint32_t instance;                            /* 0: none */
   nir_def *defined[GPUVAL_UNDEFINED_USE_COUNT]; /* NULL: yes */
};

static void
add(struct gpuval_undefined *undefined, struct use *use, nir_def *def, uint16_t components,
    enum gpuval_undefined_use what)
{
   components &= gpuval_undefined_mask(undefined, def) & BITFIELD_MASK(def->num_components);
   if (!components)
      return;

   gpuval_undefined_prepare(undefined, def, components);
   undefined->b->cursor = nir_before_instr(use->instr);
   nir_def *defined = gpuval_undefined_get_all(undefined, def, components);
   use->defined[what] = gpuval_undefined_both(undefined->b, use->defined[what], defined);
}

#define ALL 0xffff

/* What leads to memory or to a descriptor */
static void
add_path(struct gpuval_undefined *undefined, struct use *use, nir_def *path)
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
add_image(struct gpuval_undefined *undefined, struct use *use, nir_intrinsic_instr *intrin,
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
add_intrinsic(struct gpuval_undefined *undefined, struct use *use, nir_intrinsic_instr *intrin)
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
add_texture(struct gpuval_undefined *undefined, struct use *use, nir_tex_instr *tex)
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
report(struct gpuval_undefined *undefined, const struct use *use)
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
                                    .failed = gpuval_undefined_both(b, before, failed),
                                 });
      before = gpuval_undefined_both(b, before, use->defined[i]);
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
check_uses(struct gpuval_undefined *undefined, const struct util_dynarray *instrs)
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

static bool
is_of_operation(const nir_instr *instr)
{
   return gpuval_nir_as_early_report(instr, GPUVAL_CHECK_ARITHMETIC) ||
          gpuval_nir_as_early_report(instr, GPUVAL_CHECK_NAN);
}

/* Makes reports of operations, which stand in the shader already, conditional on that being defined
 * which they ask.
 */
static void
exclude_operations(struct gpuval_undefined *undefined, const struct util_dynarray *reports)
{
   nir_builder *b = undefined->b;

   util_dynarray_foreach (reports, nir_instr *, each) {
      nir_intrinsic_instr *report = nir_instr_as_intrinsic(*each);
      nir_def *failed = report->src[0].ssa;

      gpuval_undefined_prepare(undefined, failed, 0x1);
      b->cursor = nir_before_instr(*each);
      nir_def *defined = gpuval_undefined_get_all(undefined, failed, 0x1);
      if (defined)
         nir_src_rewrite(&report->src[0], nir_iand(b, failed, defined));
   }
}

static struct util_dynarray
collect_reports(const struct gpuval_undefined *undefined)
{
   struct util_dynarray reports;

   util_dynarray_init(&reports, undefined->mem_ctx);
   nir_foreach_block (block, undefined->b->impl) {
      nir_foreach_instr (instr, block) {
         if (is_of_operation(instr))
            util_dynarray_append_typed(&reports, nir_instr *, instr);
      }
   }
   return reports;
}

static struct util_dynarray
collect_instrs(struct gpuval_undefined *undefined)
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
check_shader(struct gpuval_undefined *undefined)
{
   nir_builder *b = undefined->b;
   struct util_dynarray instrs = collect_instrs(undefined), reports = collect_reports(undefined);

   b->cursor = nir_before_impl(b->impl);
   undefined->yes = nir_imm_true(b);
   undefined->no = nir_imm_false(b);
   undefined->booleans = _mesa_pointer_hash_table_create(undefined->mem_ctx);
   util_dynarray_init(&undefined->to_shadow, undefined->mem_ctx);
   check_uses(undefined, &instrs);
   exclude_operations(undefined, &reports);
   gpuval_undefined_fill_shadows(undefined);
}

bool
gpuval_nir_early_undefined(struct gpuval_nir_early *early)
{
   nir_function_impl *impl = early->b.impl;
   struct gpuval_undefined undefined = {
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
   gpuval_undefined_find_memories(&undefined);
   while (gpuval_undefined_find_masks(&undefined, &any))
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
