/* SPDX-License-Identifier: MIT */

/* What an access wants of a descriptor, and where that is. */

#include "gpuval_nir_private.h"

#include "util/format/u_formats.h"
#include "nir_deref.h"

/* What does an access want? */

static uint32_t
require_class(nir_alu_type type)
{
   uint32_t width =
      nir_alu_type_get_type_size(type) == 64 ? GPUVAL_OFFERS_64_BIT : GPUVAL_OFFERS_32_BIT;

   switch (nir_alu_type_get_base_type(type)) {
   case nir_type_float:
      return GPUVAL_OFFERS_FLOAT | width;
   case nir_type_int:
      return GPUVAL_OFFERS_SINT | width;
   case nir_type_uint:
      return GPUVAL_OFFERS_UINT | width;
   default:
      return 0;
   }
}

static const struct glsl_type *
type_of(const nir_deref_instr *deref)
{
   return glsl_without_array(deref->type);
}

/* What the variable has, for drivers may have made another access of it: sizes of cubes are
 * those of 2D arrays. Input attachments are views of any dimension.
 */
static uint32_t
require_dimension(const struct glsl_type *type)
{
   uint32_t array = glsl_sampler_type_is_array(type) ? GPUVAL_OFFERS_ARRAY : GPUVAL_OFFERS_NO_ARRAY;

   switch (glsl_get_sampler_dim(type)) {
   case GLSL_SAMPLER_DIM_1D:
      return GPUVAL_OFFERS_1D | array | GPUVAL_OFFERS_ONE_SAMPLE;
   case GLSL_SAMPLER_DIM_2D:
   case GLSL_SAMPLER_DIM_RECT:
      return GPUVAL_OFFERS_2D | array | GPUVAL_OFFERS_ONE_SAMPLE;
   case GLSL_SAMPLER_DIM_3D:
      return GPUVAL_OFFERS_3D | array | GPUVAL_OFFERS_ONE_SAMPLE;
   case GLSL_SAMPLER_DIM_CUBE:
      return GPUVAL_OFFERS_CUBE | array | GPUVAL_OFFERS_ONE_SAMPLE;
   case GLSL_SAMPLER_DIM_MS:
      return GPUVAL_OFFERS_2D | array | GPUVAL_OFFERS_MULTISAMPLED;
   case GLSL_SAMPLER_DIM_SUBPASS:
      return GPUVAL_OFFERS_ONE_SAMPLE;
   case GLSL_SAMPLER_DIM_SUBPASS_MS:
      return GPUVAL_OFFERS_MULTISAMPLED;
   default:
      return 0;
   }
}

static uint32_t
require_format(enum pipe_format format)
{
   return format >> (32 - GPUVAL_USE_FORMAT_SHIFT) ? 0 : format << GPUVAL_USE_FORMAT_SHIFT;
}

static bool
is_input_attachment(const nir_deref_instr *deref)
{
   enum glsl_sampler_dim dim = glsl_get_sampler_dim(type_of(deref));
   return dim == GLSL_SAMPLER_DIM_SUBPASS || dim == GLSL_SAMPLER_DIM_SUBPASS_MS;
}

static uint32_t
require_of_image(const struct gpuval_access *access)
{
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   uint32_t required = require_dimension(type_of(access->resource));

   if (is_input_attachment(access->resource))
      required |= GPUVAL_OFFERS_INPUT_ATTACHMENT;
   else if (access->type == GPUVAL_ACCESS_TEXEL_BUFFER)
      required |= GPUVAL_OFFERS_STORAGE_TEXEL_BUFFER;
   else
      required |= GPUVAL_OFFERS_STORAGE_IMAGE;

   switch (access->op) {
   case GPUVAL_OP_LOAD:
      required |= require_class(nir_intrinsic_dest_type(intrin));
      break;
   case GPUVAL_OP_STORE:
      required |= require_class(nir_intrinsic_src_type(intrin));
      break;
   case GPUVAL_OP_ATOMIC:
      required |=
         GPUVAL_OFFERS_ATOMICS | require_class(nir_get_nir_type_for_glsl_base_type(
                                    glsl_get_sampler_result_type(type_of(access->resource))));
      break;
   default:
      return required;
   }
   const nir_variable *var = gpuval_nir_find_variable(access->resource);
   return var ? required | require_format(var->data.image.format) : required;
}

static uint32_t
require_of_texture(const struct gpuval_access *access)
{
   const nir_tex_instr *tex = nir_instr_as_tex(access->instr);
   uint32_t required = require_dimension(type_of(access->resource));

   if (is_input_attachment(access->resource))
      required = (required & (GPUVAL_OFFERS_ONE_SAMPLE | GPUVAL_OFFERS_MULTISAMPLED)) |
                 GPUVAL_OFFERS_INPUT_ATTACHMENT;
   else if (access->type == GPUVAL_ACCESS_TEXEL_BUFFER)
      required |= GPUVAL_OFFERS_UNIFORM_TEXEL_BUFFER;
   else
      required |= GPUVAL_OFFERS_SAMPLED_IMAGE;

   return access->op == GPUVAL_OP_QUERY ? required : required | require_class(tex->dest_type);
}

/* Where is its descriptor? */

/* The index into an array of resources, and an array of arrays as one */
static bool
find_deref(nir_builder *b, nir_deref_instr *deref, struct gpuval_access_use *use)
{
   unsigned num_levels = 0;

   use->count = 1;
   while (deref->deref_type == nir_deref_type_array) {
      nir_deref_instr *parent = nir_deref_instr_parent(deref);
      if (!parent)
         return false;
      uint32_t size = MAX2(glsl_get_aoa_size(deref->type), 1);
      uint32_t length = glsl_get_length(parent->type);

      use->count = !length || use->count == UINT32_MAX ? UINT32_MAX : use->count * length;
      if (nir_src_is_const(deref->arr.index)) {
         use->constant += nir_src_as_uint(deref->arr.index) * size;
      } else {
         nir_def *offset = nir_imul_imm(b, nir_u2u32(b, deref->arr.index.ssa), size);
         use->index = use->index ? nir_iadd(b, use->index, offset) : offset;
         use->scalar = nir_get_scalar(deref->arr.index.ssa, 0);
      }
      num_levels++;
      deref = parent;
   }
   if (deref->deref_type != nir_deref_type_var)
      return false;

   if (use->index && use->constant)
      use->index = nir_iadd_imm(b, use->index, use->constant);
   if (num_levels > 1)
      use->scalar = (nir_scalar){0};
   use->set = deref->var->data.descriptor_set;
   use->binding = deref->var->data.binding;
   return true;
}

/* Variables may share a binding: what is inside of one of them is no error here. */
static uint32_t
count_of_buffers(const nir_shader *nir, uint32_t set, uint32_t binding)
{
   uint32_t count = 0;

   nir_foreach_variable_with_modes (var, nir,
                                    nir_var_mem_ubo | nir_var_mem_ssbo | nir_var_uniform) {
      if (var->data.descriptor_set != set || var->data.binding != binding)
         continue;
      if (!glsl_type_is_array(var->type))
         count = MAX2(count, 1);
      else
         count = glsl_type_is_unsized_array(var->type) ? UINT32_MAX
                                                       : MAX2(count, glsl_get_aoa_size(var->type));
   }
   return count ? count : UINT32_MAX;
}

static bool
find_index(nir_builder *b, nir_src src, struct gpuval_access_use *use)
{
   nir_binding binding = nir_chase_binding(src);
   if (!binding.success || binding.num_indices != 1)
      return false;

   use->set = binding.desc_set;
   use->binding = binding.binding;
   if (nir_src_is_const(binding.indices[0])) {
      use->constant = nir_src_as_uint(binding.indices[0]);
   } else {
      use->index = binding.indices[0].ssa;
      use->scalar = nir_get_scalar(use->index, 0);
   }
   use->count = count_of_buffers(b->shader, use->set, use->binding);
   return true;
}

bool
gpuval_nir_is_non_uniform(const nir_instr *instr, bool is_sampler)
{
   if (instr->type == nir_instr_type_tex) {
      const nir_tex_instr *tex = nir_instr_as_tex(instr);
      return is_sampler ? tex->sampler_non_uniform : tex->texture_non_uniform;
   }

   const nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);

   /* vtn_handle_atomics() forgets what the decorations of a buffer's pointer say. */
   if (intrin->intrinsic == nir_intrinsic_ssbo_atomic ||
       intrin->intrinsic == nir_intrinsic_ssbo_atomic_swap)
      return true;
   return !nir_intrinsic_has_access(intrin) || nir_intrinsic_access(intrin) & ACCESS_NON_UNIFORM;
}

nir_def *
gpuval_nir_uniform_slot(nir_builder *b, const struct gpuval_nir_driver *driver,
                        const nir_instr *instr, nir_def *slot)
{
   nir_scalar scalar = nir_scalar_chase_movs(nir_get_scalar(slot, 0));

   if (!driver->broadcasts || gpuval_nir_is_non_uniform(instr, false) ||
       nir_src_is_always_uniform(nir_src_for_ssa(scalar.def)))
      return slot;
   return nir_as_uniform(b, slot);
}

static bool
is_same_descriptor(const struct gpuval_access *access)
{
   return access->sampler &&
          nir_compare_derefs(access->resource, access->sampler) & nir_derefs_equal_bit;
}

/* The resource of @access, with its sampler if that is the same descriptor */
static bool
find_resource(nir_builder *b, const struct gpuval_access *access, struct gpuval_access_use *use)
{
   nir_intrinsic_instr *intrin = access->instr->type == nir_instr_type_intrinsic
                                    ? nir_instr_as_intrinsic(access->instr)
                                    : NULL;

   switch (access->type) {
   case GPUVAL_ACCESS_BUFFER:
      use->nir.required = intrin->intrinsic == nir_intrinsic_load_ubo
                             ? GPUVAL_OFFERS_UNIFORM_BUFFER
                             : GPUVAL_OFFERS_STORAGE_BUFFER;
      return access->is_described && find_index(b, *gpuval_nir_index_src(intrin), use);
   case GPUVAL_ACCESS_LENGTH:
      use->nir.required = GPUVAL_OFFERS_STORAGE_BUFFER;
      return find_index(b, *gpuval_nir_index_src(intrin), use);
   case GPUVAL_ACCESS_TEXEL_BUFFER:
   case GPUVAL_ACCESS_IMAGE:
   case GPUVAL_ACCESS_TEXTURE:
      use->nir.required = intrin ? require_of_image(access) : require_of_texture(access);
      if (is_same_descriptor(access))
         use->nir.required |= GPUVAL_OFFERS_SAMPLER;
      return find_deref(b, access->resource, use);
   case GPUVAL_ACCESS_RAYS:
      use->nir.required = GPUVAL_OFFERS_ACCELERATION_STRUCTURE;
      if (!gpuval_nir_resource_src(intrin))
         return false;
      return find_index(
         b, access->address ? nir_src_for_ssa(access->address) : *gpuval_nir_resource_src(intrin),
         use);
   default:
      return false;
   }
}

bool
gpuval_nir_find_use(struct gpuval_nir_state *state, const struct gpuval_access *access,
                    bool is_sampler, struct gpuval_access_use *use)
{
   const struct gpuval_nir_driver *driver = state->options->driver;
   nir_builder *b = &state->b;

   *use = (struct gpuval_access_use){
      .access = access,
      .is_sampler = is_sampler,
   };
   b->cursor = nir_before_instr(access->instr);
   if (is_sampler) {
      use->nir.required = GPUVAL_OFFERS_SAMPLER;
      if (!access->sampler || is_same_descriptor(access) || !find_deref(b, access->sampler, use))
         return false;
   } else if (!find_resource(b, access, use)) {
      return false;
   }

   driver->descriptors->binding(driver, use->set, use->binding, &use->layout);
   if (use->layout.is_unknown)
      return false;

   use->is_non_uniform = gpuval_nir_is_non_uniform(access->instr, is_sampler);
   use->nir.set = use->set;
   use->nir.first_slot = use->layout.first_slot;
   use->nir.num_slots = use->layout.is_variable
                           ? use->layout.stride
                           : MIN2(use->count, use->layout.count) * use->layout.stride;
   if (use->layout.is_variable)
      use->nir.flags |= GPUVAL_USE_VARIABLE;
   if (is_sampler)
      use->nir.flags |= GPUVAL_USE_SAMPLER;
   if (use->nir.required & ~GPUVAL_OFFERS_TYPES)
      use->nir.flags |= GPUVAL_USE_MAY_BE_WRONG_VIEW;

   uint32_t count = MIN2(use->count, use->layout.count);
   bool is_inside = !use->index && use->constant < count;
   if (is_inside) {
      use->nir.flags |= GPUVAL_USE_CONSTANT;
      use->nir.first_slot += use->constant * use->layout.stride;
      use->nir.num_slots = use->layout.is_variable ? use->constant : 1;
   }
   if (!is_inside || use->layout.is_variable)
      use->nir.flags |= GPUVAL_USE_MAY_BE_OUTSIDE;
   return true;
}

nir_def *
gpuval_nir_get_slot(nir_builder *b, const struct gpuval_access_use *use)
{
   if (use->nir.flags & GPUVAL_USE_CONSTANT)
      return nir_imm_int(b, use->nir.first_slot);
   nir_def *index = use->index ? use->index : nir_imm_int(b, use->constant);
   return nir_iadd_imm(b, nir_imul_imm(b, index, use->layout.stride), use->layout.first_slot);
}

static bool
uses_equal(const struct gpuval_nir_use *a, const struct gpuval_nir_use *b)
{
   return a->required == b->required && a->first_slot == b->first_slot &&
          a->num_slots == b->num_slots && a->set == b->set && a->flags == b->flags;
}

int
gpuval_nir_add_use(struct gpuval_nir_state *state, const struct gpuval_nir_use *use)
{
   struct util_dynarray *uses = &state->table->uses;
   int bit = 0;

   util_dynarray_foreach (uses, struct gpuval_nir_use, known) {
      if (uses_equal(known, use))
         return bit;
      bit++;
   }
   if (bit == (int)state->options->driver->descriptors->max_uses)
      return -1;
   util_dynarray_append_typed(uses, struct gpuval_nir_use, *use);
   return bit;
}

nir_def *
gpuval_nir_bad_uses(struct gpuval_nir_state *state)
{
   const struct gpuval_nir_driver *driver = state->options->driver;

   if (!state->bad_uses) {
      nir_builder at_top = nir_builder_at(nir_before_impl(state->b.impl));
      state->bad_uses = driver->descriptors->bad_uses(driver, &at_top);
   }
   return state->bad_uses;
}
