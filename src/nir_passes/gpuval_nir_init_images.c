/* SPDX-License-Identifier: MIT */

/* The check of initialization: accesses to images.
 *
 * The level that is sampled is known to the sampler only. Where it has to be known, a
 * query asks for it, behind a branch which all invocations take together, as the bit is
 * the command's: so derivatives are there, and helper invocations come along. On RADV it stands
 * beside the access itself.
 */

#include "gpuval_nir_init_pass.h"

#include "gpuval/src/base/gpuval_init.h"

/* Formats of stencil are read as integers, those of depth as numbers; colours have all. */
static uint32_t
get_mask(nir_alu_type type)
{
   uint32_t mask =
      nir_alu_type_get_base_type(type) == nir_type_float ? GPUVAL_INIT_COLOR : GPUVAL_INIT_STENCIL;
   return mask << GPUVAL_INIT_ENTRY_MASK_SHIFT;
}

/* Integer coordinates as the record has them; the layer is the last one of an array. */
static nir_def *
get_detail(nir_builder *b, nir_def *coord, unsigned num_coords, nir_def *last)
{
   nir_def *words[4];

   for (unsigned i = 0; i < 3; i++)
      words[i] = i < num_coords ? nir_u2u32(b, nir_channel(b, coord, i)) : nir_imm_int(b, 0);
   words[3] = last ? nir_u2u32(b, last) : nir_imm_int(b, 0);
   return nir_vec(b, words, 4);
}

/* What lies outside of the view reads and writes nothing. */
static nir_def *
get_condition(struct gpuval_init_pass *pass, const struct gpuval_init_look *look)
{
   const struct gpuval_nir_driver *driver = pass->driver;
   nir_builder *b = &pass->state->b;
   nir_def *condition = gpuval_init_get_condition(pass, look);
   struct gpuval_nir_operands operands;
   struct gpuval_nir_extent extent;

   if (!driver->extent || look->use.nir.required & GPUVAL_OFFERS_INPUT_ATTACHMENT)
      return condition;
   gpuval_nir_get_extent(b, driver, &look->use, &operands, &extent);
   return nir_iand(b, condition, nir_inot(b, gpuval_nir_is_outside(b, &operands, &extent)));
}

bool
gpuval_init_instrument_image(struct gpuval_init_pass *pass, const struct gpuval_access *access)
{
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   enum glsl_sampler_dim dim = nir_intrinsic_image_dim(intrin);
   nir_builder *b = &pass->state->b;

   struct gpuval_init_look look = gpuval_init_begin(pass, access);
   if (!look.has_use)
      return false;

   /* An input attachment's layer is that of the view; so it has been lowered. */
   bool is_input = dim == GLSL_SAMPLER_DIM_SUBPASS || dim == GLSL_SAMPLER_DIM_SUBPASS_MS;
   bool is_cube = dim == GLSL_SAMPLER_DIM_CUBE;
   unsigned num_coords = is_input ? 3
                                  : glsl_get_sampler_dim_coordinate_components(dim) +
                                       (nir_intrinsic_image_array(intrin) && !is_cube);
   bool has_layer = is_input || is_cube || nir_intrinsic_image_array(intrin);
   uint32_t layer = has_layer ? num_coords - 1 : GPUVAL_INIT_LAYER_NONE;
   uint32_t mask = access->op == GPUVAL_OP_LOAD ? get_mask(nir_intrinsic_dest_type(intrin)) : 0;

   gpuval_init_report(pass, &look, get_condition(pass, &look),
                      GPUVAL_INIT_ENTRY_IS_IMAGE | mask | layer << GPUVAL_INIT_ENTRY_LAYER_SHIFT |
                         GPUVAL_INIT_LEVEL_NONE << GPUVAL_INIT_ENTRY_LEVEL_SHIFT,
                      0, MIN2(num_coords, 3) | GPUVAL_IMAGE_IS_ONE,
                      gpuval_nir_get_slot(b, &look.use),
                      get_detail(b, intrin->src[1].ssa, num_coords, NULL));
   return true;
}

static void
fetch(struct gpuval_init_pass *pass, const struct gpuval_init_look *look, nir_tex_instr *tex,
      nir_def *slot)
{
   nir_builder *b = &pass->state->b;
   nir_def *level = gpuval_init_get_src(tex, nir_tex_src_lod);
   bool is_multisampled = tex->sampler_dim == GLSL_SAMPLER_DIM_MS;
   nir_def *last = is_multisampled ? gpuval_init_get_src(tex, nir_tex_src_ms_index) : level;
   uint32_t layer = tex->is_array ? tex->coord_components - 1 : GPUVAL_INIT_LAYER_NONE;
   uint32_t kind = level && !is_multisampled ? GPUVAL_INIT_LEVEL_EXACT : GPUVAL_INIT_LEVEL_NONE;

   gpuval_init_report(
      pass, look, get_condition(pass, look),
      GPUVAL_INIT_ENTRY_IS_IMAGE | GPUVAL_INIT_ENTRY_IS_TEXTURE | get_mask(tex->dest_type) |
         layer << GPUVAL_INIT_ENTRY_LAYER_SHIFT | kind << GPUVAL_INIT_ENTRY_LEVEL_SHIFT,
      0,
      tex->coord_components | GPUVAL_IMAGE_IS_ONE |
         (is_multisampled                   ? GPUVAL_IMAGE_HAS_SAMPLE
          : kind == GPUVAL_INIT_LEVEL_EXACT ? GPUVAL_IMAGE_HAS_LEVEL
                                            : 0),
      slot,
      get_detail(b, gpuval_init_get_src(tex, nir_tex_src_coord), tex->coord_components, last));
}

/* Face of a cube that a direction hits: Vulkan, "Cube Map Face Selection" */
static nir_def *
get_face(nir_builder *b, nir_def *direction)
{
   nir_def *x = nir_channel(b, direction, 0);
   nir_def *y = nir_channel(b, direction, 1);
   nir_def *z = nir_channel(b, direction, 2);
   nir_def *abs_x = nir_fabs(b, x), *abs_y = nir_fabs(b, y), *abs_z = nir_fabs(b, z);
   nir_def *zero = nir_imm_floatN_t(b, 0, direction->bit_size);
   nir_def *face_x = nir_b2i32(b, nir_flt(b, x, zero));
   nir_def *face_y = nir_iadd_imm(b, nir_b2i32(b, nir_flt(b, y, zero)), 2);
   nir_def *face_z = nir_iadd_imm(b, nir_b2i32(b, nir_flt(b, z, zero)), 4);
   nir_def *is_z = nir_iand(b, nir_fge(b, abs_z, abs_x), nir_fge(b, abs_z, abs_y));

   return nir_bcsel(b, is_z, face_z, nir_bcsel(b, nir_fge(b, abs_y, abs_x), face_y, face_x));
}

/* Of the resource, as the sampler will find it: 32 bit */
static nir_def *
get_sampled_layer(nir_builder *b, const nir_tex_instr *tex)
{
   nir_def *coord = gpuval_init_get_src(tex, nir_tex_src_coord);
   nir_def *layer = NULL;

   if (tex->is_array) {
      nir_def *last = nir_channel(b, coord, tex->coord_components - 1);
      nir_def *zero = nir_imm_floatN_t(b, 0, coord->bit_size);
      layer = nir_f2u32(b, nir_fround_even(b, nir_fmax(b, last, zero)));
   }
   if (tex->sampler_dim == GLSL_SAMPLER_DIM_CUBE) {
      nir_def *face = get_face(b, coord);
      layer = layer ? nir_iadd(b, nir_imul_imm(b, layer, 6), face) : face;
   }
   return layer;
}

/* What textureQueryLod() says: the level, between those of the view, rounded where the
 * sampler takes the nearest.
 */
static nir_def *
query_level(nir_builder *b, nir_tex_instr *tex)
{
   static const nir_tex_src_type types[] = {
      nir_tex_src_texture_deref,
      nir_tex_src_sampler_deref,
   };
   nir_tex_instr *query = nir_tex_instr_create(b->shader, 1 + ARRAY_SIZE(types));
   nir_def *coord = gpuval_init_get_src(tex, nir_tex_src_coord);

   query->op = nir_texop_lod;
   query->sampler_dim = tex->sampler_dim;
   query->is_array = tex->is_array;
   query->is_shadow = tex->is_shadow;
   query->coord_components = tex->coord_components - tex->is_array;
   query->dest_type = nir_type_float32;
   query->src[0] =
      nir_tex_src_for_ssa(nir_tex_src_coord, nir_trim_vector(b, coord, query->coord_components));
   for (unsigned i = 0; i < ARRAY_SIZE(types); i++)
      query->src[1 + i] = nir_tex_src_for_ssa(types[i], gpuval_init_get_src(tex, types[i]));
   nir_def_init(&query->instr, &query->def, 2, 32);
   nir_builder_instr_insert(b, &query->instr);
   return nir_channel(b, &query->def, 0);
}

/* The sampler of an access, whose resource has @slot: returns its set, or
 * GPUVAL_INIT_SAMPLER_UNKNOWN.
 */
static uint32_t
find_sampler(struct gpuval_init_pass *pass, const struct gpuval_init_look *look, nir_def *slot,
             nir_def **sampler_slot)
{
   nir_builder *b = &pass->state->b;
   struct gpuval_access_use sampler;

   *sampler_slot = slot;
   if (look->use.nir.required & GPUVAL_OFFERS_SAMPLER)
      return look->use.set;

   nir_cursor cursor = b->cursor;
   bool found = gpuval_nir_find_use(pass->state, look->access, true, &sampler);
   b->cursor = cursor;
   if (!found || !(sampler.nir.flags & GPUVAL_USE_CONSTANT))
      return GPUVAL_INIT_SAMPLER_UNKNOWN;
   *sampler_slot = gpuval_nir_get_slot(b, &sampler);
   return sampler.set;
}

/* What textureLod() asks for, within the sampler's limits */
static nir_def *
get_explicit_level(struct gpuval_init_pass *pass, const nir_tex_instr *tex, uint32_t set,
                   nir_def *slot)
{
   const struct gpuval_nir_driver *driver = pass->driver;
   nir_builder *b = &pass->state->b;
   nir_def *limits = driver->lod_limits(driver, b, nir_imm_int(b, set), slot);
   nir_def *lowest = nir_channel(b, limits, 0);

   nir_def *lod = nir_fadd(b, nir_f2f32(b, gpuval_init_get_src(tex, nir_tex_src_lod)),
                           nir_channel(b, limits, 2));
   lod = nir_fmax(b, nir_fmin(b, lod, nir_channel(b, limits, 1)), lowest);
   /* What is no number is not known. */
   return nir_bcsel(b, nir_ieq_imm(b, lowest, UINT32_MAX), lowest, lod);
}

/* What is asked of llvmpipe leaves out limits of the sampler that are equal: @level, or the only
 * one there is; between two of them it is not known.
 */
static nir_def *
get_only_level(struct gpuval_init_pass *pass, nir_def *level, uint32_t set, nir_def *slot)
{
   const struct gpuval_nir_driver *driver = pass->driver;
   nir_builder *b = &pass->state->b;
   nir_def *limits = driver->lod_limits(driver, b, nir_imm_int(b, set), slot);
   nir_def *lowest = nir_channel(b, limits, 0);
   nir_def *only =
      nir_bcsel(b, nir_feq(b, lowest, nir_ffloor(b, lowest)), lowest, nir_imm_int(b, UINT32_MAX));

   return nir_bcsel(b, nir_feq(b, lowest, nir_channel(b, limits, 1)), only, level);
}

/* A bit for each axis on which the coordinate lies outside of the image, or may */
static nir_def *
get_outside(nir_builder *b, nir_tex_instr *tex)
{
   unsigned count = tex->sampler_dim == GLSL_SAMPLER_DIM_1D     ? 1
                    : tex->sampler_dim == GLSL_SAMPLER_DIM_3D   ? 3
                    : tex->sampler_dim == GLSL_SAMPLER_DIM_CUBE ? 0
                                                                : 2;
   nir_def *coord = gpuval_init_get_src(tex, nir_tex_src_coord);
   nir_def *outside = nir_imm_int(b, 0);

   if (gpuval_init_get_src(tex, nir_tex_src_offset) || nir_tex_instr_has_explicit_tg4_offsets(tex))
      return nir_imm_int(b, BITFIELD_MASK(count));
   for (unsigned i = 0; i < count; i++) {
      nir_def *at = nir_channel(b, coord, i);
      nir_def *is_inside = nir_feq(b, at, nir_fsat(b, at));
      outside = nir_bcsel(b, is_inside, outside, nir_ior_imm(b, outside, BITFIELD_BIT(i)));
   }
   return outside;
}

static void
sample(struct gpuval_init_pass *pass, const struct gpuval_init_look *look, nir_tex_instr *tex,
       nir_def *slot)
{
   nir_builder *b = &pass->state->b;
   bool has_derivatives = b->shader->info.stage == MESA_SHADER_FRAGMENT;
   enum gpuval_init_level kind = GPUVAL_INIT_LEVEL_UNKNOWN;
   nir_def *level = nir_imm_int(b, 0);

   /* It may be so in a subgroup only, and then there are no derivatives. */
   if (!pass->driver->has_marks)
      nir_push_if(b, look->condition);
   nir_def *sampler_slot;
   uint32_t sampler_set = find_sampler(pass, look, slot, &sampler_slot);
   if (tex->op == nir_texop_tg4) {
      kind = GPUVAL_INIT_LEVEL_NONE;
   } else if (tex->op == nir_texop_txl && sampler_set != GPUVAL_INIT_SAMPLER_UNKNOWN) {
      level = get_explicit_level(pass, tex, sampler_set, sampler_slot);
      kind = GPUVAL_INIT_LEVEL_EXPLICIT;
   } else if (tex->op == nir_texop_tex && has_derivatives && look->is_constant &&
              (pass->driver->has_marks || sampler_set != GPUVAL_INIT_SAMPLER_UNKNOWN) &&
              gpuval_init_get_src(tex, nir_tex_src_sampler_deref) &&
              !gpuval_init_get_src(tex, nir_tex_src_min_lod)) {
      /* Hardware may say where it lies before it takes the nearest. */
      level = query_level(b, tex);
      kind = pass->driver->has_marks ? GPUVAL_INIT_LEVEL_EXPLICIT : GPUVAL_INIT_LEVEL_SAMPLED;
      if (!pass->driver->has_marks)
         level = get_only_level(pass, level, sampler_set, sampler_slot);
   }

   nir_def *layer = get_sampled_layer(b, tex);
   nir_def *zero = nir_imm_int(b, 0);
   nir_def *good = look->access->bad ? nir_inot(b, look->access->bad) : nir_imm_true(b);
   gpuval_init_report(pass, look, good,
                      GPUVAL_INIT_ENTRY_IS_IMAGE | GPUVAL_INIT_ENTRY_IS_TEXTURE |
                         get_mask(tex->dest_type) |
                         (layer ? 2 : GPUVAL_INIT_LAYER_NONE) << GPUVAL_INIT_ENTRY_LAYER_SHIFT |
                         kind << GPUVAL_INIT_ENTRY_LEVEL_SHIFT | GPUVAL_INIT_ENTRY_IS_SAMPLE |
                         sampler_set << GPUVAL_INIT_ENTRY_SAMPLER_SHIFT,
                      0, GPUVAL_IMAGE_IS_ONE | GPUVAL_IMAGE_HAS_LEVEL, slot,
                      nir_vec4(b, get_outside(b, tex), sampler_slot, layer ? layer : zero, level));
   if (!pass->driver->has_marks)
      nir_pop_if(b, NULL);
}

bool
gpuval_init_instrument_texture(struct gpuval_init_pass *pass, const struct gpuval_access *access)
{
   nir_tex_instr *tex = nir_instr_as_tex(access->instr);
   nir_builder *b = &pass->state->b;
   struct gpuval_init_look look = gpuval_init_begin(pass, access);
   if (!look.has_use)
      return false;

   nir_def *slot = gpuval_nir_get_slot(b, &look.use);
   if (access->op == GPUVAL_OP_FETCH)
      fetch(pass, &look, tex, slot);
   else
      sample(pass, &look, tex, slot);
   return true;
}
