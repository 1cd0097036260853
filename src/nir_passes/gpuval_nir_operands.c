/* SPDX-License-Identifier: MIT */

/* Operands of accesses to images and textures: coordinates, and where a texel is. */

#include "gpuval_nir_private.h"

static nir_def *
get_src(const nir_tex_instr *tex, nir_tex_src_type type)
{
   int index = nir_tex_instr_src_index(tex, type);
   return index < 0 ? NULL : tex->src[index].src.ssa;
}

static nir_def *
get_channel(nir_builder *b, nir_def *def, unsigned channel)
{
   return nir_u2u32(b, nir_channel(b, def, channel));
}

static void
get_coords(nir_builder *b, struct gpuval_nir_operands *operands, nir_def *coord, nir_def *offset)
{
   unsigned num_offsets = offset ? offset->num_components : 0;

   for (unsigned i = 0; i < operands->num_coords; i++) {
      operands->coord[i] = get_channel(b, coord, i);
      if (i < num_offsets)
         operands->coord[i] = nir_iadd(b, operands->coord[i], get_channel(b, offset, i));
   }
}

static void
get_image_operands(nir_builder *b, nir_intrinsic_instr *intrin,
                   struct gpuval_nir_operands *operands)
{
   operands->dim = nir_intrinsic_image_dim(intrin);
   operands->is_array = nir_intrinsic_image_array(intrin);
   /* Faces of all layers are counted together. */
   bool has_layer = operands->is_array && operands->dim != GLSL_SAMPLER_DIM_CUBE;
   operands->num_coords =
      glsl_get_sampler_dim_coordinate_components(operands->dim) + (has_layer ? 1 : 0);
   get_coords(b, operands, intrin->src[1].ssa, NULL);
   if (operands->dim == GLSL_SAMPLER_DIM_MS)
      operands->sample = nir_u2u32(b, intrin->src[2].ssa);
}

/* The driver may have made a 2D texture of a 1D one (GFX9), by a 0 in the middle. */
static void
get_texture_operands(nir_builder *b, nir_tex_instr *tex, const struct glsl_type *type,
                     struct gpuval_nir_operands *operands)
{
   nir_def *offset = get_src(tex, nir_tex_src_offset);
   bool has_2d_coords =
      glsl_get_sampler_dim(type) == GLSL_SAMPLER_DIM_1D && tex->sampler_dim != GLSL_SAMPLER_DIM_1D;

   operands->is_texture = true;
   operands->dim = glsl_get_sampler_dim(type);
   operands->is_array = tex->is_array;
   operands->num_coords = tex->coord_components;
   get_coords(b, operands, get_src(tex, nir_tex_src_coord), offset);
   if (has_2d_coords)
      operands->coord[1] = operands->coord[--operands->num_coords];
   operands->level = get_src(tex, nir_tex_src_lod);
   operands->sample = get_src(tex, nir_tex_src_ms_index);
   if (operands->level)
      operands->level = nir_u2u32(b, operands->level);
   if (operands->sample)
      operands->sample = nir_u2u32(b, operands->sample);
}

static bool
is_zero(const nir_def *def)
{
   nir_scalar scalar = nir_get_scalar((nir_def *)def, 0);
   return nir_scalar_is_const(scalar) && nir_scalar_as_uint(scalar) == 0;
}

nir_def *
gpuval_nir_is_outside(nir_builder *b, const struct gpuval_nir_operands *operands,
                      const struct gpuval_nir_extent *extent)
{
   nir_def *outside = nir_imm_false(b);

   for (unsigned i = 0; i < operands->num_coords; i++) {
      bool is_layer = operands->is_array && i == operands->num_coords - 1;
      nir_def *size = extent->size[is_layer ? 2 : i];
      outside = nir_ior(b, outside, nir_uge(b, operands->coord[i], size));
   }
   if (operands->level && !is_zero(operands->level))
      outside = nir_ior(b, outside, nir_uge(b, operands->level, extent->levels));
   if (operands->sample)
      outside = nir_ior(b, outside, nir_uge(b, operands->sample, extent->samples));
   return nir_iand(b, outside, extent->known);
}

nir_def *
gpuval_nir_texel_index(nir_builder *b, nir_instr *instr)
{
   if (instr->type == nir_instr_type_intrinsic)
      return get_channel(b, nir_instr_as_intrinsic(instr)->src[1].ssa, 0);
   return get_channel(b, get_src(nir_instr_as_tex(instr), nir_tex_src_coord), 0);
}

void
gpuval_nir_get_operands(nir_builder *b, const struct gpuval_access *access,
                        struct gpuval_nir_operands *operands)
{
   nir_instr *instr = access->instr;

   *operands = (struct gpuval_nir_operands){0};
   if (instr->type == nir_instr_type_tex)
      get_texture_operands(b, nir_instr_as_tex(instr), glsl_without_array(access->resource->type),
                           operands);
   else
      get_image_operands(b, nir_instr_as_intrinsic(instr), operands);
}

nir_def *
gpuval_nir_get_extent(nir_builder *b, const struct gpuval_nir_driver *driver,
                      const struct gpuval_access_use *use, struct gpuval_nir_operands *operands,
                      struct gpuval_nir_extent *extent)
{
   gpuval_nir_get_operands(b, use->access, operands);
   nir_def *slot =
      gpuval_nir_uniform_slot(b, driver, use->access->instr, gpuval_nir_get_slot(b, use));
   driver->extent(driver, b, operands->is_texture, operands->dim, use->set, slot, operands->level,
                  extent);
   return slot;
}

static nir_def *
add_offset(nir_builder *b, nir_def *address, nir_def *coord, nir_def *stride)
{
   return nir_iadd(b, address, nir_imul(b, nir_u2u64(b, coord), nir_u2u64(b, stride)));
}

bool
gpuval_nir_find_texel(struct gpuval_nir_state *state, const struct gpuval_access *access,
                      struct gpuval_nir_texel *texel)
{
   const struct gpuval_nir_driver *driver = state->options->driver;
   nir_builder *b = &state->b;
   struct gpuval_access_use use;

   if (!driver->strides || !driver->extent || !driver->descriptors ||
       !gpuval_nir_find_use(state, access, false, &use) ||
       use.nir.required & GPUVAL_OFFERS_INPUT_ATTACHMENT)
      return false;

   struct gpuval_nir_operands operands;
   struct gpuval_nir_extent extent;
   struct gpuval_nir_strides strides;
   nir_def *slot = gpuval_nir_get_extent(b, driver, &use, &operands, &extent);
   nir_def *zero = nir_imm_int(b, 0);
   driver->strides(driver, b, nir_imm_int(b, use.set), slot, &strides);

   /* The layer comes last, and with 3 coordinates so does what is counted as layers are. */
   unsigned last = operands.num_coords - 1;
   bool has_layer = last == 2 || (operands.is_array && operands.dim != GLSL_SAMPLER_DIM_CUBE);
   bool has_row = last == 2 || (last == 1 && !has_layer);
   nir_def *address = add_offset(b, strides.address, operands.coord[0], strides.size);
   if (has_row)
      address = add_offset(b, address, operands.coord[1], strides.row);
   if (has_layer)
      address = add_offset(b, address, operands.coord[last], strides.layer);
   if (operands.sample)
      address = add_offset(b, address, operands.sample, strides.sample);

   nir_def *inside = nir_inot(b, gpuval_nir_is_outside(b, &operands, &extent));
   *texel = (struct gpuval_nir_texel){
      .set = use.set,
      .binding = use.binding,
      .slot = slot,
      .active = nir_iand(b, nir_iand(b, extent.known, inside), strides.is_linear),
      .address = address,
      .size = strides.size,
      .offset = nir_ior_imm(b, has_layer ? operands.coord[last] : zero,
                            operands.num_coords << GPUVAL_TEXEL_COORDS_SHIFT),
   };
   return true;
}
