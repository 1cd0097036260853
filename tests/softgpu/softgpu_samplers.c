/* SPDX-License-Identifier: MIT */

/*
 * Textures through samplers: the level from derivatives, coordinates wrapped, texels filtered.
 * Anisotropy is one sample, cubes have edges, and borders of the application's own are 0.
 */

#include "softgpu_images.h"

#include <math.h>
#include <string.h>

#include "util/u_math.h"

#include "sid.h"

/* A texture operation, and what it says of all lanes */
struct sampling {
   struct softgpu_wave *wave;
   const nir_tex_instr *tex;
   const struct softgpu_image *image;
   uint32_t words[4];    /* of the sampler */
   unsigned coordinates; /* without a layer */
   const nir_src *coord;
   const nir_src *offset;
   const nir_src *comparator;
   const nir_src *bias;
   const nir_src *lod;
   const nir_src *min_lod;
   const nir_src *derivatives[2];
};

/* One lane's */
struct footprint {
   float coord[3]; /* 0 to 1, but of samplers without normalization */
   int offset[3];
   unsigned layer;
   float reference;
};

static const nir_src *
find_source(const nir_tex_instr *tex, nir_tex_src_type type)
{
   const int index = nir_tex_instr_src_index(tex, type);
   return index >= 0 ? &tex->src[index].src : NULL;
}

static bool
is_normalized(const struct sampling *s)
{
   return !G_008F30_FORCE_UNNORMALIZED(s->words[0]);
}

/* --- Levels --------------------------------------------------------------- */

/* By how much a coordinate grows in a quad, in texels of the first level */
static float
derivative(const struct sampling *s, unsigned lane, unsigned direction, unsigned component,
           const unsigned size[3])
{
   const float scale = is_normalized(s) ? (float)size[component] : 1;

   if (s->derivatives[direction])
      return softgpu_float(s->wave, s->derivatives[direction], component, lane) * scale;
   const unsigned from = lane & ~3u, to = from | 1u << direction;
   if (!(s->wave->exec >> from & 1) || !(s->wave->exec >> to & 1))
      return 0;
   return (softgpu_float(s->wave, s->coord, component, to) -
           softgpu_float(s->wave, s->coord, component, from)) *
          scale;
}

/* Before it is kept within what there is */
static float
find_lod(const struct sampling *s, unsigned lane)
{
   float lod = -INFINITY;

   if (s->lod)
      return softgpu_float(s->wave, s->lod, 0, lane);
   if (s->tex->op == nir_texop_tg4 && !s->tex->is_gather_implicit_lod)
      return 0;
   if (s->image->exists) {
      unsigned size[3];
      softgpu_image_size(s->image, s->image->first_level, size);
      for (unsigned direction = 0; direction < 2; direction++) {
         float sum = 0;
         for (unsigned i = 0; i < s->coordinates; i++) {
            const float d = derivative(s, lane, direction, i, size);
            sum += d * d;
         }
         if (sum > 0)
            lod = MAX2(lod, log2f(sum) / 2);
      }
   }
   if (lod == -INFINITY)
      lod = -128;
   lod += (float)util_sign_extend(G_008F38_LOD_BIAS(s->words[2]), 14) / 256;
   return s->bias ? lod + softgpu_float(s->wave, s->bias, 0, lane) : lod;
}

static float
clamp_lod(const struct sampling *s, unsigned lane, float lod)
{
   float min = MAX2((float)G_008F34_MIN_LOD_GFX6(s->words[1]) / 256,
                    s->image->min_lod - (float)s->image->first_level);
   if (s->min_lod)
      min = MAX2(min, softgpu_float(s->wave, s->min_lod, 0, lane));
   lod = MIN2(lod, (float)G_008F34_MAX_LOD_GFX6(s->words[1]) / 256);
   return MAX2(lod, min);
}

/* --- Texels --------------------------------------------------------------- */

/* Returns false in the border. */
static bool
wrap(unsigned mode, int64_t *at, int64_t size)
{
   const int64_t twice = 2 * size;

   switch (mode) {
   case V_008F30_SQ_TEX_WRAP:
      *at = (*at % size + size) % size;
      return true;
   case V_008F30_SQ_TEX_MIRROR:
      *at = (*at % twice + twice) % twice;
      *at = *at < size ? *at : twice - 1 - *at;
      return true;
   case V_008F30_SQ_TEX_MIRROR_ONCE_LAST_TEXEL:
   case V_008F30_SQ_TEX_MIRROR_ONCE_HALF_BORDER:
      *at = *at < 0 ? -1 - *at : *at;
      FALLTHROUGH;
   case V_008F30_SQ_TEX_CLAMP_LAST_TEXEL:
   case V_008F30_SQ_TEX_CLAMP_HALF_BORDER:
      *at = CLAMP(*at, 0, size - 1);
      return true;
   case V_008F30_SQ_TEX_MIRROR_ONCE_BORDER:
      *at = *at < 0 ? -1 - *at : *at;
      FALLTHROUGH;
   default:
      return *at >= 0 && *at < size;
   }
}

static void
get_border(const struct sampling *s, uint32_t texel[4])
{
   const unsigned type = G_008F3C_BORDER_COLOR_TYPE(s->words[3]);
   const uint32_t one = util_format_is_pure_integer(s->image->surface.format) ? 1 : fui(1.0f);
   const uint32_t color = type == V_008F3C_SQ_TEX_BORDER_COLOR_OPAQUE_WHITE ? one : 0;
   const uint32_t alpha = type == V_008F3C_SQ_TEX_BORDER_COLOR_OPAQUE_BLACK ? one : color;
   const uint32_t raw[4] = {color, color, color, alpha};

   for (unsigned i = 0; i < 4; i++)
      texel[i] = softgpu_select(s->image->surface.format, s->image->swizzle, raw, i);
}

static bool
compare(unsigned function, float reference, float value)
{
   switch (function) {
   case V_008F30_SQ_TEX_DEPTH_COMPARE_NEVER:
      return false;
   case V_008F30_SQ_TEX_DEPTH_COMPARE_LESS:
      return reference < value;
   case V_008F30_SQ_TEX_DEPTH_COMPARE_EQUAL:
      return reference == value;
   case V_008F30_SQ_TEX_DEPTH_COMPARE_LESSEQUAL:
      return reference <= value;
   case V_008F30_SQ_TEX_DEPTH_COMPARE_GREATER:
      return reference > value;
   case V_008F30_SQ_TEX_DEPTH_COMPARE_NOTEQUAL:
      return reference != value;
   case V_008F30_SQ_TEX_DEPTH_COMPARE_GREATEREQUAL:
      return reference >= value;
   default:
      return true;
   }
}

static void
get_texel(const struct sampling *s, const struct footprint *f, const int64_t texel_at[3],
          unsigned level, uint32_t texel[4])
{
   const unsigned modes[3] = {
      G_008F30_CLAMP_X(s->words[0]),
      G_008F30_CLAMP_Y(s->words[0]),
      G_008F30_CLAMP_Z(s->words[0]),
   };
   const bool is_cube = s->tex->sampler_dim == GLSL_SAMPLER_DIM_CUBE;
   int64_t at[3] = {texel_at[0], texel_at[1], texel_at[2]};
   unsigned size[3];
   bool inside = true;

   softgpu_image_size(s->image, level, size);
   for (unsigned i = 0; i < s->coordinates; i++)
      inside &= wrap(is_cube ? V_008F30_SQ_TEX_CLAMP_LAST_TEXEL : modes[i], &at[i], size[i]);
   if (s->image->surface.dimensions != 3)
      at[2] = MIN2(f->layer, s->image->last_layer);
   if (inside)
      softgpu_fetch(s->image, at, level, 0, texel);
   else
      get_border(s, texel);
   if (s->comparator)
      texel[0] =
         fui(compare(G_008F30_DEPTH_COMPARE_FUNC(s->words[0]), f->reference, uif(texel[0])));
}

/* --- Filters -------------------------------------------------------------- */

static void
mix(uint32_t sum[4], const uint32_t texel[4], float weight)
{
   for (unsigned i = 0; i < 4; i++)
      sum[i] = fui(uif(sum[i]) + weight * uif(texel[i]));
}

/* Where the texels are that have parts: the first one's, and how much the next one has */
static void
find_corner(const struct sampling *s, const struct footprint *f, unsigned level, bool linear,
            int64_t at[3], float part[3])
{
   unsigned size[3];

   softgpu_image_size(s->image, level, size);
   memset(at, 0, 3 * sizeof(*at));
   memset(part, 0, 3 * sizeof(*part));
   for (unsigned i = 0; i < s->coordinates; i++) {
      float texels = f->coord[i] * (is_normalized(s) ? (float)size[i] : 1);
      texels = isfinite(texels) ? CLAMP(texels, -1e6f, 1e6f) : 0;
      texels += (float)f->offset[i] - (linear ? 0.5f : 0);
      at[i] = (int64_t)floorf(texels);
      part[i] = linear ? texels - floorf(texels) : 0;
   }
}

static void
filter(const struct sampling *s, const struct footprint *f, unsigned level, bool linear,
       uint32_t result[4])
{
   int64_t at[3];
   float part[3];

   find_corner(s, f, level, linear, at, part);
   if (!linear) {
      get_texel(s, f, at, level, result);
      return;
   }
   memset(result, 0, 4 * sizeof(*result));
   for (unsigned corner = 0; corner < 1u << s->coordinates; corner++) {
      int64_t texel_at[3] = {at[0], at[1], at[2]};
      uint32_t texel[4];
      float weight = 1;
      for (unsigned i = 0; i < s->coordinates; i++) {
         const bool next = corner >> i & 1;
         texel_at[i] += next;
         weight *= next ? part[i] : 1 - part[i];
      }
      if (weight == 0)
         continue;
      get_texel(s, f, texel_at, level, texel);
      mix(result, texel, weight);
   }
}

/* Four texels, anticlockwise from the one at the left and bottom */
static void
gather(const struct sampling *s, const struct footprint *f, unsigned level, uint32_t result[4])
{
   static const unsigned order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
   int64_t at[3];
   float part[3];

   find_corner(s, f, level, true, at, part);
   for (unsigned i = 0; i < 4; i++) {
      const int64_t texel_at[3] = {at[0] + order[i][0], at[1] + order[i][1], at[2]};
      uint32_t texel[4];
      get_texel(s, f, texel_at, level, texel);
      result[i] = texel[s->comparator ? 0 : s->tex->component];
   }
}

static void
sample(const struct sampling *s, const struct footprint *f, float lod, uint32_t result[4])
{
   const struct softgpu_image *image = s->image;
   const unsigned filters =
      lod > 0 ? G_008F38_XY_MIN_FILTER(s->words[2]) : G_008F38_XY_MAG_FILTER(s->words[2]);
   const bool linear = (filters == V_008F38_SQ_TEX_XY_FILTER_BILINEAR ||
                        filters == V_008F38_SQ_TEX_XY_FILTER_ANISO_BILINEAR) &&
                       !util_format_is_pure_integer(image->surface.format);
   const unsigned mips = G_008F38_MIP_FILTER(s->words[2]);
   const float last = (float)(image->last_level - image->first_level);
   const float at = CLAMP(lod, 0, last);
   const unsigned level =
      image->first_level + (mips == V_008F38_SQ_TEX_MIP_FILTER_NONE    ? 0
                            : mips == V_008F38_SQ_TEX_MIP_FILTER_POINT ? (unsigned)(at + 0.5f)
                                                                       : (unsigned)at);
   const float part = mips == V_008F38_SQ_TEX_MIP_FILTER_LINEAR ? at - floorf(at) : 0;

   if (s->tex->op == nir_texop_tg4) {
      gather(s, f, level, result);
      return;
   }
   filter(s, f, level, linear, result);
   if (part > 0 && !util_format_is_pure_integer(image->surface.format)) {
      uint32_t near[4], far[4];
      memcpy(near, result, sizeof(near));
      filter(s, f, level + 1, linear, far);
      memset(result, 0, 4 * sizeof(*result));
      mix(result, near, 1 - part);
      mix(result, far, part);
   }
}

/* --- Lanes ---------------------------------------------------------------- */

static void
get_footprint(const struct sampling *s, unsigned lane, struct footprint *f)
{
   const bool is_cube = s->tex->sampler_dim == GLSL_SAMPLER_DIM_CUBE;

   *f = (struct footprint){.layer = s->image->first_layer};
   for (unsigned i = 0; i < s->coordinates; i++) {
      /* Of cubes, 1 to 2 */
      f->coord[i] = softgpu_float(s->wave, s->coord, i, lane) - (is_cube ? 1 : 0);
      if (s->offset && i < s->offset->ssa->num_components)
         f->offset[i] = (int)util_sign_extend(softgpu_uint(s->wave, s->offset, i, lane) & 0x3f, 6);
   }
   if (s->tex->is_array || is_cube) {
      const float layer = MAX2(rintf(softgpu_float(s->wave, s->coord, s->coordinates, lane)), 0);
      const unsigned number = layer < 16384 ? (unsigned)layer : 16384;
      /* 8 for the 6 faces of a cube */
      f->layer += is_cube ? number / 8 * 6 + number % 8 : number;
   }
   if (s->comparator)
      f->reference = softgpu_float(s->wave, s->comparator, 0, lane);
}

void
softgpu_sample_texture(struct softgpu_wave *wave, const nir_tex_instr *tex,
                       const struct softgpu_image *image)
{
   const nir_src *sampler = find_source(tex, nir_tex_src_sampler_handle);
   struct sampling s = {
      .wave = wave,
      .tex = tex,
      .image = image,
      .coordinates = tex->sampler_dim == GLSL_SAMPLER_DIM_1D   ? 1
                     : tex->sampler_dim == GLSL_SAMPLER_DIM_3D ? 3
                                                               : 2,
      .coord = find_source(tex, nir_tex_src_coord),
      .offset = find_source(tex, nir_tex_src_offset),
      .comparator = tex->is_shadow ? find_source(tex, nir_tex_src_comparator) : NULL,
      .bias = find_source(tex, nir_tex_src_bias),
      .lod = find_source(tex, nir_tex_src_lod),
      .min_lod = find_source(tex, nir_tex_src_min_lod),
      .derivatives = {find_source(tex, nir_tex_src_ddx), find_source(tex, nir_tex_src_ddy)},
   };

   if (!sampler || find_source(tex, nir_tex_src_backend1) ||
       find_source(tex, nir_tex_src_backend2)) {
      softgpu_error("this texture operation (%u) is not supported", tex->op);
      return;
   }
   for (unsigned i = 0; i < ARRAY_SIZE(s.words); i++)
      s.words[i] = (uint32_t)softgpu_uniform(wave, sampler, i, "sampler");
   softgpu_foreach_lane(lane, wave->exec)
   {
      const float lod = find_lod(&s, lane), clamped = clamp_lod(&s, lane, lod);
      uint32_t texel[4] = {0};
      struct footprint f;
      if (tex->op == nir_texop_lod) {
         const float last = (float)(image->last_level - image->first_level);
         texel[0] = fui(CLAMP(clamped, 0, last));
         texel[1] = fui(lod);
      } else if (image->exists) {
         get_footprint(&s, lane, &f);
         sample(&s, &f, clamped, texel);
      }
      softgpu_set_texel(wave, tex, lane, texel);
   }
}
