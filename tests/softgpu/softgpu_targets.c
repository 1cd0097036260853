/* SPDX-License-Identifier: MIT */

/*
 * What fragments export goes to the color targets. There is no blending, no logic operation and
 * no coverage of samples: a pixel has all of its samples, unless the shader runs once for each.
 */

#include "softgpu_targets.h"

#include <math.h>
#include <string.h>

#include "util/half_float.h"
#include "util/u_math.h"

#include "ac_formats.h"
#include "sid.h"

#define REGISTERS_OF_TARGET 0x3c

static uint32_t
context(const struct softgpu_processor *processor, unsigned reg)
{
   return processor->context[CONTEXT_REG(reg)];
}

/* --- Registers ------------------------------------------------------------ */

static enum pipe_format
find_format(uint32_t info, bool opaque)
{
   for (unsigned i = 1; i < PIPE_FORMAT_COUNT; i++) {
      const struct util_format_description *description = util_format_description(i);
      if (description && description->block.width == 1 &&
          description->layout == UTIL_FORMAT_LAYOUT_PLAIN &&
          description->colorspace != UTIL_FORMAT_COLORSPACE_ZS &&
          (description->swizzle[3] == PIPE_SWIZZLE_1) == opaque && !util_format_is_intensity(i) &&
          !util_format_is_luminance(i) &&
          ac_get_cb_format(GFX11, i) == G_028C70_FORMAT_GFX11(info) &&
          ac_get_cb_number_type(i) == G_028C70_NUMBER_TYPE(info) &&
          ac_translate_colorswap(GFX11, i, false) == G_028C70_COMP_SWAP(info))
         return i;
   }
   return G_028C70_FORMAT_GFX11(info) == V_028C70_COLOR_10_11_11 ||
                G_028C70_FORMAT_GFX11(info) == V_028C70_COLOR_11_11_10
             ? PIPE_FORMAT_R11G11B10_FLOAT
             : PIPE_FORMAT_NONE;
}

static void
read_target(const struct softgpu_processor *processor, unsigned i, struct softgpu_target *target)
{
   const unsigned at = i * REGISTERS_OF_TARGET;
   const uint32_t info = context(processor, R_028C70_CB_COLOR0_INFO + at);
   const uint32_t view = context(processor, R_028C6C_CB_COLOR0_VIEW + at);
   const uint32_t attrib = context(processor, R_028C74_CB_COLOR0_ATTRIB + at);
   const uint32_t attrib2 = context(processor, R_028EC0_CB_COLOR0_ATTRIB2 + i * 4);
   const uint32_t attrib3 = context(processor, R_028EE0_CB_COLOR0_ATTRIB3 + i * 4);
   const uint64_t base = context(processor, R_028C60_CB_COLOR0_BASE + at) |
                         (uint64_t)context(processor, R_028E40_CB_COLOR0_BASE_EXT + i * 4) << 32;

   target->mask = context(processor, R_028238_CB_TARGET_MASK) >> i * 4 & 0xf;
   if (G_028C70_FORMAT_GFX11(info) == V_028C70_COLOR_INVALID)
      target->mask = 0;
   if (!target->mask)
      return;
   target->level = G_028C6C_MIP_LEVEL_GFX10(view);
   target->first_layer = G_028C6C_SLICE_START(view);
   target->last_layer = G_028C6C_SLICE_MAX_GFX10(view);
   target->surface = (struct softgpu_surface){
      .base = (uint64_t)((int64_t)(base << 24) >> 16),
      .format = find_format(info, G_028C74_FORCE_DST_ALPHA_1_GFX11(attrib)),
      .swizzle_mode = G_028EE0_COLOR_SW_MODE(attrib3),
      .dimensions = G_028EE0_RESOURCE_TYPE(attrib3) + 1,
      .width = G_028C68_MIP0_WIDTH(attrib2) + 1,
      .height = G_028C68_MIP0_HEIGHT(attrib2) + 1,
      .depth = G_028EE0_MIP0_DEPTH(attrib3) + 1,
      .levels = G_028C68_MAX_MIP(attrib2) + 1,
      .samples = 1u << G_028C74_NUM_FRAGMENTS_GFX11(attrib),
   };
   if (target->surface.format == PIPE_FORMAT_NONE)
      softgpu_error("color target %u has format %u, numbers %u, order %u", i,
                    G_028C70_FORMAT_GFX11(info), G_028C70_NUMBER_TYPE(info),
                    G_028C70_COMP_SWAP(info));
   if (G_028C78_FDCC_ENABLE(context(processor, R_028C78_CB_COLOR0_FDCC_CONTROL + at)))
      softgpu_error("color target %u is compressed", i);
   if (G_028780_ENABLE(context(processor, R_028780_CB_BLEND0_CONTROL + i * 4)) &&
       !softgpu_is_blind())
      softgpu_error("blending is not supported");
}

void
softgpu_read_targets(const struct softgpu_processor *processor, struct softgpu_targets *targets)
{
   const uint32_t control = context(processor, R_028808_CB_COLOR_CONTROL);

   memset(targets, 0, sizeof(*targets));
   if (G_028808_MODE(control) == V_028808_CB_DISABLE)
      return;
   for (unsigned i = 0; i < SOFTGPU_MAX_TARGETS; i++) {
      read_target(processor, i, &targets->targets[i]);
      targets->any |= targets->targets[i].mask != 0;
   }
   if (targets->any && (G_028808_MODE(control) != V_028808_CB_NORMAL ||
                        G_028808_ROP3(control) != V_028808_ROP3_COPY))
      softgpu_error("color operation 0x%08x is not supported", control);
}

/* --- Exports -------------------------------------------------------------- */

static float
normalized(uint16_t value, bool is_signed)
{
   return is_signed ? MAX2((float)(int16_t)value / 32767, -1) : (float)value / 65535;
}

/* Two components out of a word */
static void
unpack(unsigned format, uint32_t word, uint32_t color[2])
{
   for (unsigned i = 0; i < 2; i++) {
      const uint16_t half = (uint16_t)(word >> i * 16);
      switch (format) {
      case V_028714_SPI_SHADER_FP16_ABGR:
         color[i] = fui(_mesa_half_to_float(half));
         break;
      case V_028714_SPI_SHADER_UNORM16_ABGR:
      case V_028714_SPI_SHADER_SNORM16_ABGR:
         color[i] = fui(normalized(half, format == V_028714_SPI_SHADER_SNORM16_ABGR));
         break;
      case V_028714_SPI_SHADER_SINT16_ABGR:
         color[i] = (uint32_t)(int16_t)half;
         break;
      default:
         color[i] = half;
      }
   }
}

static void
convert(unsigned format, const uint32_t value[4], uint32_t color[4])
{
   memset(color, 0, 4 * sizeof(*color));
   switch (format) {
   case V_028714_SPI_SHADER_ZERO:
      break;
   case V_028714_SPI_SHADER_32_AR:
      color[0] = value[0];
      color[3] = value[1];
      break;
   case V_028714_SPI_SHADER_32_R:
   case V_028714_SPI_SHADER_32_GR:
   case V_028714_SPI_SHADER_32_ABGR:
      memcpy(color, value, 4 * sizeof(*color));
      break;
   default:
      unpack(format, value[0], color);
      unpack(format, value[1], color + 2);
   }
}

/* Targets that the shader's format leaves out have no export. */
static unsigned
export_of_target(const struct softgpu_processor *processor, unsigned target)
{
   const uint32_t mask = context(processor, R_02823C_CB_SHADER_MASK);
   unsigned count = 0;

   for (unsigned i = 0; i < target; i++)
      count += (mask >> i * 4 & 0xf) != 0;
   return mask >> target * 4 & 0xf ? count : SOFTGPU_MAX_TARGETS;
}

/* What is masked out stays. */
static void
write_color(const struct softgpu_target *target, unsigned x, unsigned y, unsigned layer,
            unsigned sample, const uint32_t color[4])
{
   const struct softgpu_surface *surface = &target->surface;
   const unsigned z = target->first_layer + layer;
   uint32_t texel[4];

   if (x >= softgpu_minify(surface->width, target->level) || z > target->last_layer ||
       (surface->dimensions > 1 && y >= softgpu_minify(surface->height, target->level)))
      return;
   memcpy(texel, color, sizeof(texel));
   if (target->mask != 0xf) {
      uint32_t old[4];
      if (!softgpu_read_texel(surface, x, y, z, target->level, sample, old))
         return;
      for (unsigned i = 0; i < 4; i++)
         texel[i] = target->mask >> i & 1 ? color[i] : old[i];
   }
   softgpu_write_texel(surface, x, y, z, target->level, sample, texel);
}

void
softgpu_write_colors(const struct softgpu_processor *processor,
                     const struct softgpu_targets *targets, const struct softgpu_colors *colors,
                     unsigned lane, unsigned x, unsigned y, unsigned layer, int sample)
{
   const uint32_t formats = context(processor, R_028714_SPI_SHADER_COL_FORMAT);

   for (unsigned i = 0; i < SOFTGPU_MAX_TARGETS && !softgpu_failed(); i++) {
      const struct softgpu_target *target = &targets->targets[i];
      uint32_t color[4];
      if (!target->mask)
         continue;
      const unsigned number = colors->are_outputs ? i : export_of_target(processor, i);
      if (number >= SOFTGPU_MAX_TARGETS || !(colors->written[number] >> lane & 1))
         continue;
      if (colors->are_outputs)
         memcpy(color, colors->values[number][lane], sizeof(color));
      else
         convert(formats >> number * 4 & 0xf, colors->values[number][lane], color);
      for (unsigned s = 0; s < target->surface.samples; s++) {
         if (sample < 0 || (unsigned)sample == s)
            write_color(target, x, y, layer, s, color);
      }
   }
}
