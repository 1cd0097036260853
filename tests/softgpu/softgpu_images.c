/* SPDX-License-Identifier: MIT */

/*
 * Images in shaders: their descriptors, loads, stores, atomics, and fetches of texels. Samplers
 * are elsewhere.
 */

#include "softgpu_images.h"

#include <string.h>

#include "util/half_float.h"
#include "util/u_math.h"

#include "amd_family.h"
#include "gfx10_format_table.h"
#include "sid.h"

/* --- Descriptors ---------------------------------------------------------- */

/* The first one with components in their order: the descriptor has a swizzle of its own. */
static enum pipe_format
find_format(unsigned img_format)
{
   const enum pipe_format plain = softgpu_find_format(img_format);

   if (plain != PIPE_FORMAT_NONE)
      return plain;
   for (unsigned i = 1; i < PIPE_FORMAT_COUNT; i++) {
      const struct util_format_description *description = util_format_description(i);
      if (description && gfx11_format_table[i].img_format == img_format &&
          description->colorspace != UTIL_FORMAT_COLORSPACE_ZS &&
          (description->block.width > 1 || description->swizzle[0] == PIPE_SWIZZLE_X) &&
          util_format_fetch_rgba_func(i))
         return i;
   }
   return PIPE_FORMAT_NONE;
}

static unsigned
dimensions(unsigned type)
{
   switch (type) {
   case V_008F1C_SQ_RSRC_IMG_1D:
   case V_008F1C_SQ_RSRC_IMG_1D_ARRAY:
      return 1;
   case V_008F1C_SQ_RSRC_IMG_3D:
      return 3;
   default:
      return 2;
   }
}

bool
softgpu_read_image(const struct softgpu_wave *wave, const nir_src *src, const char *what,
                   struct softgpu_image *image)
{
   uint32_t words[8];
   for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
      words[i] = (uint32_t)softgpu_uniform(wave, src, i, what);
   const unsigned type = G_00A00C_TYPE(words[3]);
   const unsigned last_level = G_00A00C_LAST_LEVEL_GFX10(words[3]);
   const bool has_samples =
      type == V_008F1C_SQ_RSRC_IMG_2D_MSAA || type == V_008F1C_SQ_RSRC_IMG_2D_MSAA_ARRAY;
   const bool is_array = type == V_008F1C_SQ_RSRC_IMG_1D_ARRAY ||
                         type == V_008F1C_SQ_RSRC_IMG_2D_ARRAY ||
                         type == V_008F1C_SQ_RSRC_IMG_2D_MSAA_ARRAY;
   const uint64_t base = words[0] | (uint64_t)G_00A004_BASE_ADDRESS_HI(words[1]) << 32;
   const unsigned depth = G_00A010_DEPTH_GFX10(words[4]);
   /* Of storage, the depth is the level's, and the first slice counts. */
   const bool is_storage_3d = type == V_008F1C_SQ_RSRC_IMG_3D && G_00A014_ARRAY_PITCH(words[5]);

   *image = (struct softgpu_image){.exists = type >= V_008F1C_SQ_RSRC_IMG_1D};
   if (!image->exists)
      return true;
   image->swizzle[0] = G_00A00C_DST_SEL_X(words[3]);
   image->swizzle[1] = G_00A00C_DST_SEL_Y(words[3]);
   image->swizzle[2] = G_00A00C_DST_SEL_Z(words[3]);
   image->swizzle[3] = G_00A00C_DST_SEL_W(words[3]);
   image->first_level = has_samples ? 0 : G_00A00C_BASE_LEVEL(words[3]);
   image->last_level = has_samples ? 0 : last_level;
   image->first_layer = is_storage_3d || is_array || type == V_008F1C_SQ_RSRC_IMG_CUBE ||
                              type == V_008F1C_SQ_RSRC_IMG_2D || type == V_008F1C_SQ_RSRC_IMG_1D ||
                              type == V_008F1C_SQ_RSRC_IMG_2D_MSAA
                           ? G_00A010_BASE_ARRAY(words[4])
                           : 0;
   /* Without layers, a pitch may be in its place. */
   image->last_layer = is_array || type == V_008F1C_SQ_RSRC_IMG_CUBE ? depth : image->first_layer;
   image->min_lod =
      (float)(G_00A014_MIN_LOD_LO_GFX11(words[5]) | G_00A018_MIN_LOD_HI(words[6]) << 5) / 256;
   image->surface = (struct softgpu_surface){
      .base = (uint64_t)((int64_t)(base << 24) >> 16),
      .format = find_format(G_00A004_FORMAT_GFX10(words[1])),
      .swizzle_mode = G_00A00C_SW_MODE(words[3]),
      .dimensions = dimensions(type),
      .width = (G_00A004_WIDTH_LO(words[1]) | G_00A008_WIDTH_HI(words[2]) << 2) + 1,
      .height = G_00A008_HEIGHT(words[2]) + 1,
      .depth = is_storage_3d ? (depth + 1) << image->first_level : depth + 1,
      .levels = has_samples ? 1 : G_00A004_MAX_MIP_GFX11(words[1]) + 1,
      .samples = has_samples ? 1u << last_level : 1,
   };
   if (image->surface.format == PIPE_FORMAT_NONE || G_00A018_COMPRESSION_EN(words[6])) {
      image->exists = false;
      if (softgpu_is_blind())
         return true;
      softgpu_error("%s: descriptor 0x%08x 0x%08x 0x%08x 0x%08x 0x%08x 0x%08x 0x%08x 0x%08x has "
                    "format %u, or is of a compressed image",
                    what, words[0], words[1], words[2], words[3], words[4], words[5], words[6],
                    words[7], G_00A004_FORMAT_GFX10(words[1]));
      return false;
   }
   return true;
}

void
softgpu_image_size(const struct softgpu_image *image, unsigned level, unsigned size[3])
{
   const struct softgpu_surface *surface = &image->surface;

   size[0] = softgpu_minify(surface->width, level);
   size[1] = surface->dimensions == 1 ? 1 : softgpu_minify(surface->height, level);
   size[2] =
      surface->dimensions == 3 ? softgpu_minify(surface->depth, level) : image->last_layer + 1;
}

static bool
is_inside(const struct softgpu_image *image, const int64_t at[3], unsigned level, unsigned sample)
{
   unsigned size[3];

   softgpu_image_size(image, level, size);
   return image->exists && level >= image->first_level && level <= image->last_level &&
          sample < image->surface.samples && at[0] >= 0 && at[0] < size[0] && at[1] >= 0 &&
          at[1] < size[1] && at[2] >= image->first_layer && at[2] < size[2];
}

void
softgpu_fetch(const struct softgpu_image *image, const int64_t at[3], unsigned level,
              unsigned sample, uint32_t texel[4])
{
   uint32_t raw[4] = {0};

   memset(texel, 0, 4 * sizeof(*texel));
   if (!image->exists)
      return;
   if (is_inside(image, at, level, sample))
      softgpu_read_texel(&image->surface, (unsigned)at[0], (unsigned)at[1], (unsigned)at[2], level,
                         sample, raw);
   for (unsigned i = 0; i < 4; i++)
      texel[i] = softgpu_select(image->surface.format, image->swizzle, raw, i);
}

/* --- Sources -------------------------------------------------------------- */

int64_t
softgpu_signed(const struct softgpu_wave *wave, const nir_src *src, unsigned component,
               unsigned lane)
{
   return util_sign_extend(softgpu_uint(wave, src, component, lane), src->ssa->bit_size);
}

float
softgpu_float(const struct softgpu_wave *wave, const nir_src *src, unsigned component,
              unsigned lane)
{
   const uint32_t value = (uint32_t)softgpu_uint(wave, src, component, lane);
   return src->ssa->bit_size == 16 ? _mesa_half_to_float((uint16_t)value) : uif(value);
}

/* Texel coordinates as they are in the image; `dim` is the instruction's. */
static void
get_coordinates(const struct softgpu_wave *wave, const nir_src *src,
                const struct softgpu_image *image, enum glsl_sampler_dim dim, bool is_array,
                unsigned lane, int64_t at[3])
{
   const unsigned own = dim == GLSL_SAMPLER_DIM_1D ? 1 : 2;

   at[1] = at[2] = 0;
   for (unsigned i = 0; i < own; i++)
      at[i] = softgpu_signed(wave, src, i, lane);
   if (is_array || dim == GLSL_SAMPLER_DIM_3D || dim == GLSL_SAMPLER_DIM_CUBE)
      at[2] = softgpu_signed(wave, src, own, lane);
   /* A layer that is negative may not become one that is there. */
   at[2] = at[2] < 0 ? -1 : at[2] + image->first_layer;
}

/* --- Textures ------------------------------------------------------------- */

void
softgpu_set_texel(const struct softgpu_wave *wave, const nir_tex_instr *tex, unsigned lane,
                  const uint32_t texel[4])
{
   for (unsigned i = 0; i < tex->def.num_components; i++)
      softgpu_value(wave, &tex->def, lane)[i] = nir_const_value_for_raw_uint(
         softgpu_narrow(texel[i], tex->dest_type, tex->def.bit_size), tex->def.bit_size);
}

void
softgpu_fetch_texture(struct softgpu_wave *wave, const nir_tex_instr *tex,
                      const struct softgpu_image *image)
{
   const int coord = nir_tex_instr_src_index(tex, nir_tex_src_coord);
   const int lod = nir_tex_instr_src_index(tex, nir_tex_src_lod);
   const int sample = nir_tex_instr_src_index(tex, nir_tex_src_ms_index);

   softgpu_foreach_lane(lane, wave->exec)
   {
      int64_t at[3], level = image->first_level;
      uint32_t texel[4];
      get_coordinates(wave, &tex->src[coord].src, image, tex->sampler_dim, tex->is_array, lane, at);
      if (lod >= 0)
         level += softgpu_signed(wave, &tex->src[lod].src, 0, lane);
      softgpu_fetch(image, at, level < 0 ? UINT32_MAX >> 1 : (unsigned)level,
                    sample >= 0 ? (unsigned)softgpu_uint(wave, &tex->src[sample].src, 0, lane) : 0,
                    texel);
      softgpu_set_texel(wave, tex, lane, texel);
   }
}

/* --- Storage images ------------------------------------------------------- */

/* A texel of 64 bits is two components in the descriptor. */
static void
load(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr,
     const struct softgpu_image *image, const int64_t at[3], unsigned level, unsigned sample,
     unsigned lane)
{
   nir_const_value *dest = softgpu_value(wave, &instr->def, lane);
   const unsigned bits = instr->def.bit_size;
   uint32_t texel[4];

   softgpu_fetch(image, at, level, sample, texel);
   for (unsigned i = 0; i < instr->def.num_components; i++) {
      if (bits == 64)
         dest[i] = nir_const_value_for_raw_uint(
            i == 0 ? texel[0] | (uint64_t)texel[1] << 32 : i == 3, bits);
      else
         dest[i] = nir_const_value_for_raw_uint(
            softgpu_narrow(texel[i], nir_intrinsic_dest_type(instr), bits), bits);
   }
}

static void
store(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr,
      const struct softgpu_image *image, const int64_t at[3], unsigned level, unsigned sample,
      unsigned lane)
{
   const unsigned bits = instr->src[3].ssa->bit_size;
   uint32_t data[4] = {0}, raw[4] = {0};

   if (!is_inside(image, at, level, sample))
      return;
   for (unsigned i = 0; i < instr->num_components && bits != 64; i++)
      data[i] = softgpu_widen((uint32_t)softgpu_uint(wave, &instr->src[3], i, lane),
                              nir_intrinsic_src_type(instr), bits);
   if (bits == 64) {
      const uint64_t value = softgpu_uint(wave, &instr->src[3], 0, lane);
      data[0] = (uint32_t)value;
      data[1] = (uint32_t)(value >> 32);
   }
   for (unsigned i = 4; i-- > 0;) {
      if (image->swizzle[i] >= V_008F0C_SQ_SEL_X)
         raw[image->swizzle[i] - V_008F0C_SQ_SEL_X] = data[i];
   }
   softgpu_write_texel(&image->surface, (unsigned)at[0], (unsigned)at[1], (unsigned)at[2], level,
                       sample, raw);
}

static void
do_atomic(struct softgpu_wave *wave, nir_intrinsic_instr *instr, const struct softgpu_image *image,
          const int64_t at[3], unsigned sample, unsigned lane)
{
   const unsigned level = image->first_level;
   uint64_t va = 0;

   if (is_inside(image, at, level, sample))
      va = softgpu_find_texel(&image->surface, (unsigned)at[0], (unsigned)at[1], (unsigned)at[2],
                              level, sample);
   if (va && !softgpu_is_gone(&image->surface, va))
      softgpu_atomic(wave, instr, lane, va, 3);
   else
      softgpu_set_uint(wave, instr, lane, 0, 0);
}

void
softgpu_access_image(struct softgpu_wave *wave, nir_intrinsic_instr *instr,
                     const struct softgpu_image *image)
{
   const enum glsl_sampler_dim dim = nir_intrinsic_image_dim(instr);
   const bool is_load = instr->intrinsic == nir_intrinsic_bindless_image_load;
   const bool is_store = instr->intrinsic == nir_intrinsic_bindless_image_store;

   softgpu_foreach_lane(lane, is_load ? wave->exec : softgpu_writers(wave))
   {
      const unsigned sample =
         dim == GLSL_SAMPLER_DIM_MS ? (unsigned)softgpu_uint(wave, &instr->src[2], 0, lane) : 0;
      unsigned level = image->first_level;
      int64_t at[3];
      get_coordinates(wave, &instr->src[1], image, dim, nir_intrinsic_image_array(instr), lane, at);
      if ((is_load || is_store) && dim != GLSL_SAMPLER_DIM_MS)
         level += (unsigned)softgpu_uint(wave, &instr->src[is_load ? 3 : 4], 0, lane) & 0xff;
      if (is_load)
         load(wave, instr, image, at, level, sample, lane);
      else if (is_store)
         store(wave, instr, image, at, level, sample, lane);
      else
         do_atomic(wave, instr, image, at, sample, lane);
   }
}
