/* SPDX-License-Identifier: MIT */

/*
 * Texel buffers: uniform ones are textures in NIR, storage ones images. The
 * descriptor has the format, and the order of components. Real images go
 * elsewhere from here.
 */

#include "softgpu_images.h"

#include <string.h>

#include "util/format/u_format.h"
#include "util/half_float.h"
#include "util/u_math.h"

#include "amd_family.h"
#include "gfx10_format_table.h"
#include "sid.h"

struct texels {
   uint64_t base;
   uint32_t count;
   uint32_t stride;
   enum pipe_format format; /* NONE: nothing can be read */
   unsigned swizzle[4];
};

/* Descriptors have swizzles of their own, so the format has none. The hardware
 * does not know normalized or scaled integers of 32 bits: in the table, those are
 * what shaders work around.
 */
enum pipe_format
softgpu_find_format(unsigned img_format)
{
   for (unsigned i = 1; i < PIPE_FORMAT_COUNT; i++) {
      const struct util_format_description *description = util_format_description(i);
      if (!description || gfx11_format_table[i].img_format != img_format ||
          description->block.width != 1 || description->colorspace != UTIL_FORMAT_COLORSPACE_RGB)
         continue;
      if (description->channel[0].size == 32 && !description->channel[0].pure_integer &&
          description->channel[0].type != UTIL_FORMAT_TYPE_FLOAT)
         continue;
      bool in_order = true;
      for (unsigned c = 0; c < description->nr_channels; c++)
         in_order &= description->swizzle[c] == c;
      if (in_order)
         return i;
   }
   return PIPE_FORMAT_NONE;
}

/* Returns false with an error. */
static bool
read_descriptor(const struct softgpu_wave *wave, const nir_src *src, const char *what,
                struct texels *texels)
{
   uint32_t words[4];
   for (unsigned i = 0; i < 4; i++)
      words[i] = (uint32_t)softgpu_uniform(wave, src, i, what);

   *texels = (struct texels){
      .base = words[0] | (uint64_t)G_008F04_BASE_ADDRESS_HI(words[1]) << 32,
      .count = words[2],
      .stride = G_008F04_STRIDE(words[1]),
      .swizzle =
         {
            G_008F0C_DST_SEL_X(words[3]),
            G_008F0C_DST_SEL_Y(words[3]),
            G_008F0C_DST_SEL_Z(words[3]),
            G_008F0C_DST_SEL_W(words[3]),
         },
   };
   texels->base = (uint64_t)((int64_t)(texels->base << 16) >> 16);
   if (texels->count == 0)
      return true;

   texels->format = softgpu_find_format(G_008F0C_FORMAT_GFX10(words[3]));
   if (texels->format == PIPE_FORMAT_NONE || G_008F0C_TYPE(words[3]) ||
       G_008F04_SWIZZLE_ENABLE_GFX11(words[1]) ||
       util_format_get_blocksize(texels->format) != texels->stride) {
      softgpu_error("%s: descriptor 0x%08x 0x%08x 0x%08x 0x%08x is not that of a texel buffer",
                    what, words[0], words[1], words[2], words[3]);
      return false;
   }
   return true;
}

uint32_t
softgpu_select(enum pipe_format format, const unsigned swizzle[4], const uint32_t raw[4],
               unsigned i)
{
   const unsigned select = swizzle[i];

   if (format == PIPE_FORMAT_NONE || select < V_008F0C_SQ_SEL_1)
      return 0;
   if (select >= V_008F0C_SQ_SEL_X)
      return raw[select - V_008F0C_SQ_SEL_X];
   return util_format_is_pure_integer(format) ? 1 : fui(1.0f);
}

uint32_t
softgpu_narrow(uint32_t value, nir_alu_type type, unsigned bits)
{
   if (bits == 16 && nir_alu_type_get_base_type(type) == nir_type_float)
      return _mesa_float_to_half(uif(value));
   return value;
}

uint32_t
softgpu_widen(uint32_t value, nir_alu_type type, unsigned bits)
{
   if (bits != 16)
      return value;
   switch (nir_alu_type_get_base_type(type)) {
   case nir_type_float:
      return fui(_mesa_half_to_float((uint16_t)value));
   case nir_type_int:
      return (uint32_t)(int16_t)value;
   default:
      return value;
   }
}

static void
load(const struct softgpu_wave *wave, const nir_def *def, nir_alu_type type,
     const struct texels *texels, const nir_src *index_src)
{
   softgpu_foreach_lane(lane, wave->exec)
   {
      const uint64_t index = softgpu_uint(wave, index_src, 0, lane);
      const bool inside = index < texels->count;
      uint32_t raw[4] = {0};

      if (inside) {
         const void *memory =
            softgpu_map(texels->base + index * texels->stride, texels->stride, SOFTGPU_READ);
         if (!memory)
            return;
         util_format_unpack_rgba(texels->format, raw, memory, 1);
      }
      for (unsigned i = 0; i < def->num_components; i++)
         softgpu_value(wave, def, lane)[i] = nir_const_value_for_raw_uint(
            inside ? softgpu_narrow(softgpu_select(texels->format, texels->swizzle, raw, i), type,
                                    def->bit_size)
                   : 0,
            def->bit_size);
   }
}

static void
load_nothing(const struct softgpu_wave *wave, const nir_def *def)
{
   softgpu_foreach_lane(lane, wave->exec)
   {
      for (unsigned i = 0; i < def->num_components; i++)
         softgpu_value(wave, def, lane)[i] = nir_const_value_for_raw_uint(0, def->bit_size);
   }
}

static void
execute_texture(struct softgpu_wave *wave, nir_tex_instr *tex, const nir_src *handle)
{
   struct softgpu_image image;

   if (!softgpu_read_image(wave, handle, "texture", &image))
      return;
   switch (tex->op) {
   case nir_texop_txf:
   case nir_texop_txf_ms:
      softgpu_fetch_texture(wave, tex, &image);
      break;
   case nir_texop_tex:
   case nir_texop_txb:
   case nir_texop_txd:
   case nir_texop_txl:
   case nir_texop_tg4:
   case nir_texop_lod:
      softgpu_sample_texture(wave, tex, &image);
      break;
   default:
      softgpu_error("texture operation %u is not supported", tex->op);
   }
}

void
softgpu_execute_texture(struct softgpu_wave *wave, nir_tex_instr *tex)
{
   const int handle = nir_tex_instr_src_index(tex, nir_tex_src_texture_handle);
   const int index = nir_tex_instr_src_index(tex, nir_tex_src_coord);
   struct texels texels;

   if (handle < 0 || index < 0 || tex->is_sparse) {
      if (softgpu_is_blind())
         load_nothing(wave, &tex->def);
      else
         softgpu_error("this texture operation (%u) is not supported", tex->op);
   } else if (tex->sampler_dim != GLSL_SAMPLER_DIM_BUF) {
      execute_texture(wave, tex, &tex->src[handle].src);
   } else if (read_descriptor(wave, &tex->src[handle].src, "txf", &texels)) {
      load(wave, &tex->def, tex->dest_type, &texels, &tex->src[index].src);
   }
}

static void
store(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr,
      const struct texels *texels)
{
   softgpu_foreach_lane(lane, softgpu_writers(wave))
   {
      const uint64_t index = softgpu_uint(wave, &instr->src[1], 0, lane);
      uint32_t raw[4] = {0};
      if (index >= texels->count)
         continue;
      for (unsigned i = 0; i < instr->num_components; i++)
         raw[i] = softgpu_widen((uint32_t)softgpu_uint(wave, &instr->src[3], i, lane),
                                nir_intrinsic_src_type(instr), instr->src[3].ssa->bit_size);
      void *memory =
         softgpu_map(texels->base + index * texels->stride, texels->stride, SOFTGPU_WRITE);
      if (!memory)
         return;
      util_format_pack_rgba(texels->format, memory, raw, 1);
   }
}

void
softgpu_execute_image(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const char *what = nir_intrinsic_infos[instr->intrinsic].name;
   const unsigned bits = instr->intrinsic == nir_intrinsic_bindless_image_store
                            ? instr->src[3].ssa->bit_size
                            : instr->def.bit_size;
   struct texels texels;

   if (nir_intrinsic_image_dim(instr) != GLSL_SAMPLER_DIM_BUF) {
      struct softgpu_image image;
      if (softgpu_read_image(wave, &instr->src[0], what, &image))
         softgpu_access_image(wave, instr, &image);
      return;
   }
   if (bits > 32) {
      softgpu_error("%s: texel buffers of %u bits are not supported", what, bits);
      return;
   }
   if (!read_descriptor(wave, &instr->src[0], what, &texels))
      return;
   switch (instr->intrinsic) {
   case nir_intrinsic_bindless_image_load:
      load(wave, &instr->def, nir_intrinsic_dest_type(instr), &texels, &instr->src[1]);
      break;
   case nir_intrinsic_bindless_image_store:
      store(wave, instr, &texels);
      break;
   default:
      softgpu_foreach_lane(lane, softgpu_writers(wave))
      {
         const uint64_t index = softgpu_uint(wave, &instr->src[1], 0, lane);
         if (index < texels.count)
            softgpu_atomic(wave, instr, lane, texels.base + index * texels.stride, 3);
         else
            *softgpu_value(wave, &instr->def, lane) = nir_const_value_for_raw_uint(0, 32);
      }
   }
}
