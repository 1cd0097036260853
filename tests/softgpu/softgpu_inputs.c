/* SPDX-License-Identifier: MIT */

/*
 * Intrinsics of shaders that draw: the inputs of vertex shaders, which are read through buffers
 * with a stride, those of fragment shaders, which are between vertices, and exports.
 */

#include "softgpu_draw.h"
#include "softgpu_images.h"
#include "softgpu_targets.h"

#include <string.h>

#include "util/format/u_format.h"
#include "util/half_float.h"
#include "util/u_math.h"
#include "ac_shader_util.h"

/* --- Vertices ------------------------------------------------------------- */

uint64_t
softgpu_find_element(const uint32_t words[4], uint64_t index, uint64_t offset, unsigned bytes)
{
   const uint64_t base = words[0] | (uint64_t)G_008F04_BASE_ADDRESS_HI(words[1]) << 32;
   const uint64_t stride = G_008F04_STRIDE(words[1]), count = words[2];
   bool inside = count != 0;

   switch (G_008F0C_OOB_SELECT(words[3])) {
   case V_008F0C_OOB_SELECT_STRUCTURED_WITH_OFFSET:
      inside &= index < count && offset + bytes <= stride;
      break;
   case V_008F0C_OOB_SELECT_STRUCTURED:
      inside &= index < count;
      break;
   case V_008F0C_OOB_SELECT_RAW:
      inside &= offset + bytes <= count;
      break;
   default:
      break;
   }
   return inside ? (uint64_t)((int64_t)(base << 16) >> 16) + index * stride + offset : 0;
}

/* Sources from `first` on are the descriptor, an offset in the element, an offset of all and the
 * element's index.
 */
static uint64_t
element_address(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr, unsigned first,
                unsigned lane, unsigned component, unsigned bytes)
{
   const nir_src *src = &instr->src[first];
   uint32_t words[4];
   for (unsigned i = 0; i < 4; i++)
      words[i] = (uint32_t)softgpu_uniform_source(wave, instr, first, i);
   const uint64_t offset =
      softgpu_uint(wave, &src[1], 0, lane) + (uint32_t)nir_intrinsic_base(instr) + component;
   const uint64_t va =
      softgpu_find_element(words, softgpu_uint(wave, &src[3], 0, lane), offset, bytes);
   return va ? va + softgpu_uniform_source(wave, instr, first + 2, 0) : 0;
}

static void
load_element(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const unsigned bytes = instr->def.bit_size / 8;

   softgpu_foreach_lane(lane, wave->exec)
   {
      for (unsigned i = 0; i < instr->def.num_components; i++) {
         const uint64_t va = element_address(wave, instr, 0, lane, i * bytes, bytes);
         uint64_t value = 0;
         if (va)
            softgpu_read(va, &value, bytes);
         softgpu_set_uint(wave, instr, lane, i, value);
      }
   }
}

/* With a conversion from a format */
static void
load_typed(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const enum pipe_format format = nir_intrinsic_format(instr);
   const unsigned bytes = util_format_get_blocksize(format);

   softgpu_foreach_lane(lane, wave->exec)
   {
      const uint64_t va = element_address(wave, instr, 0, lane, 0, bytes);
      uint32_t raw[4] = {0};
      uint8_t data[16];
      if (va && softgpu_read(va, data, bytes))
         util_format_unpack_rgba(format, raw, data, 1);
      for (unsigned i = 0; i < instr->def.num_components; i++) {
         const bool half = instr->def.bit_size == 16 && !util_format_is_pure_integer(format);
         softgpu_set_uint(wave, instr, lane, i, half ? _mesa_float_to_half(uif(raw[i])) : raw[i]);
      }
   }
}

/* --- Exports -------------------------------------------------------------- */

/* Attributes are in a ring, where the hardware looks for them: element by element, of 16 bytes.
 * Here they are beside it.
 */
static void
store_parameter(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const unsigned bytes = instr->src[0].ssa->bit_size / 8;

   if (!wave->exports || bytes != 4) {
      softgpu_error("%s: of what is no attribute", softgpu_name(instr));
      return;
   }
   softgpu_foreach_lane(lane, wave->exec)
   {
      const uint64_t index = softgpu_uint(wave, &instr->src[4], 0, lane);
      u_foreach_bit (i, nir_intrinsic_write_mask(instr)) {
         const uint64_t at = softgpu_uint(wave, &instr->src[2], 0, lane) +
                             (uint32_t)nir_intrinsic_base(instr) + i * bytes;
         if (index < SOFTGPU_MAX_VERTICES && at / 16 < SOFTGPU_MAX_PARAMETERS)
            wave->exports->parameters[at / 16][index][at % 16 / 4] =
               (uint32_t)softgpu_uint(wave, &instr->src[0], i, lane);
      }
   }
}

/* To a ring between stages */
static void
store_element(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const unsigned bytes = instr->src[0].ssa->bit_size / 8;

   softgpu_foreach_lane(lane, wave->exec)
   {
      u_foreach_bit (i, nir_intrinsic_write_mask(instr)) {
         const uint64_t value = softgpu_uint(wave, &instr->src[0], i, lane);
         const uint64_t va = element_address(wave, instr, 1, lane, i * bytes, bytes);
         if (va)
            softgpu_write(va, &value, bytes);
      }
   }
}

/* What a vertex shader leaves in registers for the tessellation control shader, whose invocations
 * have the same numbers
 */
static void
keep_output(struct softgpu_wave *wave, const nir_intrinsic_instr *instr)
{
   const nir_io_semantics semantics = nir_intrinsic_io_semantics(instr);
   const unsigned first = semantics.location * 4 + nir_intrinsic_component(instr);

   if (instr->src[0].ssa->bit_size != 32 || !nir_src_is_const(instr->src[1])) {
      softgpu_error("%s: not a whole word", softgpu_name(instr));
      return;
   }
   softgpu_foreach_lane(lane, wave->exec)
   {
      u_foreach_bit (i, nir_intrinsic_write_mask(instr)) {
         const unsigned at = first + 4 * (unsigned)nir_src_as_uint(instr->src[1]) + i;
         if (at / 4 < SOFTGPU_MAX_SLOTS)
            wave->outputs[at / 4][at % 4][lane] =
               (uint32_t)softgpu_uint(wave, &instr->src[0], i, lane);
      }
   }
}

static void
load_kept(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const nir_io_semantics semantics = nir_intrinsic_io_semantics(instr);
   const nir_src *offset = nir_get_io_offset_src(instr);
   const unsigned first = semantics.location * 4 + nir_intrinsic_component(instr);

   if (instr->def.bit_size != 32 || !nir_src_is_const(*offset)) {
      softgpu_error("%s: not a whole word", softgpu_name(instr));
      return;
   }
   softgpu_foreach_lane(lane, wave->exec)
   {
      for (unsigned i = 0; i < instr->def.num_components; i++) {
         const unsigned at = first + 4 * (unsigned)nir_src_as_uint(*offset) + i;
         if (at / 4 < SOFTGPU_MAX_SLOTS)
            softgpu_set_uint(wave, instr, lane, i, wave->outputs[at / 4][at % 4][lane]);
      }
   }
}

/* Of messages, only one says what is not known without: the factors of all patches. */
static void
send_message(struct softgpu_wave *wave, const nir_intrinsic_instr *instr)
{
   if (!wave->exports && wave->exec && nir_intrinsic_base(instr) == AC_SENDMSG_HS_TESSFACTOR)
      wave->group->tess_message = 1 + (unsigned)softgpu_uniform_source(wave, instr, 0, 0);
}

static void
export_color(struct softgpu_wave *wave, const nir_intrinsic_instr *instr, unsigned target)
{
   struct softgpu_colors *colors = wave->colors;

   if (target == V_008DFC_SQ_EXP_MRTZ) {
      colors->depth_is_output = false;
      softgpu_foreach_lane(lane, wave->exec)
      {
         u_foreach_bit (i, nir_intrinsic_write_mask(instr))
            colors->depth[lane][i] = (uint32_t)softgpu_uint(wave, &instr->src[0], i, lane);
      }
      return;
   }
   if (target >= SOFTGPU_MAX_TARGETS)
      return;
   colors->are_outputs = false;
   softgpu_foreach_lane(lane, softgpu_writers(wave))
   {
      colors->written[target] |= UINT64_C(1) << lane;
      u_foreach_bit (i, nir_intrinsic_write_mask(instr))
         colors->values[target][lane][i] = (uint32_t)softgpu_uint(wave, &instr->src[0], i, lane);
   }
}

/* For the epilog of a shader that has one: there is none here. */
static void
store_output(struct softgpu_wave *wave, const nir_intrinsic_instr *instr)
{
   const nir_io_semantics semantics = nir_intrinsic_io_semantics(instr);
   const nir_alu_type type = nir_intrinsic_src_type(instr);
   struct softgpu_colors *colors = wave->colors;
   const unsigned target = semantics.location - FRAG_RESULT_DATA0;

   if (colors &&
       (semantics.location == FRAG_RESULT_DEPTH || semantics.location == FRAG_RESULT_STENCIL)) {
      const unsigned word = semantics.location == FRAG_RESULT_STENCIL;
      colors->depth_is_output = true;
      softgpu_foreach_lane(lane, wave->exec) colors->depth[lane][word] =
         (uint32_t)softgpu_uint(wave, &instr->src[0], 0, lane);
   }
   if (!colors || semantics.location < FRAG_RESULT_DATA0 || target >= SOFTGPU_MAX_TARGETS ||
       semantics.dual_source_blend_index)
      return;
   colors->are_outputs = true;
   softgpu_foreach_lane(lane, softgpu_writers(wave))
   {
      colors->written[target] |= UINT64_C(1) << lane;
      u_foreach_bit (i, nir_intrinsic_write_mask(instr)) {
         const unsigned component = nir_intrinsic_component(instr) + i;
         if (component < 4)
            colors->values[target][lane][component] =
               softgpu_widen((uint32_t)softgpu_uint(wave, &instr->src[0], i, lane), type,
                             instr->src[0].ssa->bit_size);
      }
   }
}

static void export(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   struct softgpu_exports *exports = wave->exports;
   const unsigned target = nir_intrinsic_base(instr);
   const unsigned first = wave->index * wave->size;

   if (wave->colors)
      export_color(wave, instr, target);

   softgpu_foreach_lane(lane, exports ? wave->exec : 0)
   {
      const unsigned at = first + lane;
      u_foreach_bit (i, at < SOFTGPU_MAX_VERTICES ? nir_intrinsic_write_mask(instr) : 0) {
         const uint32_t value = (uint32_t)softgpu_uint(wave, &instr->src[0], i, lane);
         if (target == V_008DFC_SQ_EXP_PRIM) {
            exports->primitives[at][i] = value;
            exports->has_primitive[at] = true;
         } else if (target >= V_008DFC_SQ_EXP_POS && target < V_008DFC_SQ_EXP_POS + 4) {
            exports->positions[target - V_008DFC_SQ_EXP_POS][at][i] = value;
         } else if (target >= V_008DFC_SQ_EXP_PARAM) {
            exports->parameters[target - V_008DFC_SQ_EXP_PARAM][at][i] = value;
         }
      }
   }
}

/* --- Fragments ------------------------------------------------------------ */

/* An attribute at a vertex of the primitive, or of the primitive; what no vertex has is a constant.
 */
static uint32_t
attribute(const struct softgpu_wave *wave, unsigned input, unsigned component, unsigned corner)
{
   const struct softgpu_primitive *primitive = wave->primitive;
   const uint32_t control =
      primitive->processor->context[CONTEXT_REG(R_028644_SPI_PS_INPUT_CNTL_0) + input];
   const unsigned offset = G_028644_OFFSET(control);

   if (offset & 0x20 && !G_028644_FLAT_SHADE(control)) {
      const unsigned value = G_028644_DEFAULT_VAL(control);
      return fui((component == 3 ? value & 1 : value >> 1) ? 1.0f : 0.0f);
   }
   if (G_028644_PRIM_ATTR(control))
      return primitive->exports->parameters[offset & 31][primitive->index][component];
   return primitive->exports->parameters[offset & 31][primitive->corners[corner].vertex][component];
}

static double
to_number(const nir_intrinsic_instr *instr, uint32_t value)
{
   if (instr->def.bit_size != 16)
      return uif(value);
   return _mesa_half_to_float(
      (uint16_t)(nir_intrinsic_io_semantics(instr).high_16bits ? value >> 16 : value));
}

static void
load_interpolated(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const struct softgpu_primitive *primitive = wave->primitive;
   const unsigned input = nir_intrinsic_base(instr);
   const bool sprite = G_028644_PT_SPRITE_TEX(
      primitive->processor->context[CONTEXT_REG(R_028644_SPI_PS_INPUT_CNTL_0) + input]);

   softgpu_foreach_lane(lane, wave->exec)
   {
      const double i = uif((uint32_t)softgpu_uint(wave, &instr->src[0], 0, lane));
      const double j = uif((uint32_t)softgpu_uint(wave, &instr->src[0], 1, lane));
      for (unsigned c = 0; c < instr->def.num_components; c++) {
         const unsigned component = nir_intrinsic_component(instr) + c;
         const double a = to_number(instr, attribute(wave, input, component, 0));
         const double to_b = to_number(instr, attribute(wave, input, component, 1)) - a;
         const double to_c = to_number(instr, attribute(wave, input, component, 2)) - a;
         float value = (float)(a + i * to_b + j * to_c);
         if (sprite && component < 2)
            value = (float)((wave->pixels[lane][component] - primitive->box[component]) /
                            (primitive->box[component + 2] - primitive->box[component]));
         softgpu_set_uint(wave, instr, lane, c,
                          instr->def.bit_size == 16 ? _mesa_float_to_half(value) : fui(value));
      }
   }
}

static void
load_flat(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const unsigned corner = instr->intrinsic == nir_intrinsic_load_input_vertex
                              ? (unsigned)softgpu_uniform_source(wave, instr, 0, 0)
                              : 0;
   const unsigned shift = nir_intrinsic_io_semantics(instr).high_16bits ? 16 : 0;

   for (unsigned c = 0; c < instr->def.num_components; c++) {
      const unsigned at = nir_intrinsic_component(instr) + c;
      const uint32_t value =
         attribute(wave, nir_intrinsic_base(instr) + at / 4, at % 4, MIN2(corner, 2));
      softgpu_set_all(wave, instr, c, value >> shift & u_uintN_max(instr->def.bit_size));
   }
}

/* Differences in a quad: in the lane's own row or column, or (coarse) of its first pixel */
static void
derive(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const bool vertical = instr->intrinsic == nir_intrinsic_ddy ||
                         instr->intrinsic == nir_intrinsic_ddy_fine ||
                         instr->intrinsic == nir_intrinsic_ddy_coarse;
   const bool fine =
      instr->intrinsic == nir_intrinsic_ddx_fine || instr->intrinsic == nir_intrinsic_ddy_fine;
   const unsigned bit = vertical ? 2 : 1;
   const bool half = instr->def.bit_size == 16;

   softgpu_foreach_lane(lane, wave->exec)
   {
      const unsigned from = fine ? lane & ~bit : lane & ~3u;
      for (unsigned i = 0; i < instr->def.num_components; i++) {
         const uint32_t a = (uint32_t)softgpu_uint(wave, &instr->src[0], i, from);
         const uint32_t b = (uint32_t)softgpu_uint(wave, &instr->src[0], i, from | bit);
         if (half)
            softgpu_set_uint(wave, instr, lane, i,
                             _mesa_float_to_half(_mesa_half_to_float((uint16_t)b) -
                                                 _mesa_half_to_float((uint16_t)a)));
         else
            softgpu_set_uint(wave, instr, lane, i, fui(uif(b) - uif(a)));
      }
   }
}

static void
make_helpers(struct softgpu_wave *wave, const nir_intrinsic_instr *instr)
{
   const bool always =
      instr->intrinsic == nir_intrinsic_demote || instr->intrinsic == nir_intrinsic_terminate;
   const bool gone =
      instr->intrinsic == nir_intrinsic_terminate || instr->intrinsic == nir_intrinsic_terminate_if;
   uint64_t lanes = always ? wave->exec : 0;

   softgpu_foreach_lane(lane, always ? 0 : wave->exec)
   {
      if (softgpu_uint(wave, &instr->src[0], 0, lane))
         lanes |= UINT64_C(1) << lane;
   }
   wave->helpers |= lanes;
   if (gone)
      wave->exec &= ~lanes;
}

/* Those of buffers with a stride, and of registers */
static bool
execute_ring(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_load_buffer_amd:
      load_element(wave, instr);
      break;
   case nir_intrinsic_load_typed_buffer_amd:
      load_typed(wave, instr);
      break;
   case nir_intrinsic_store_buffer_amd:
      if (nir_intrinsic_access(instr) & ACCESS_IS_SWIZZLED_AMD)
         store_parameter(wave, instr);
      else
         store_element(wave, instr);
      break;
   case nir_intrinsic_sendmsg_amd:
      send_message(wave, instr);
      break;
   case nir_intrinsic_load_per_vertex_input:
      if (!wave->outputs)
         return false;
      load_kept(wave, instr);
      break;
   default:
      return false;
   }
   return true;
}

bool
softgpu_execute_input(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   if (execute_ring(wave, instr))
      return true;
   if (instr->intrinsic == nir_intrinsic_store_output && wave->outputs && !wave->exports) {
      keep_output(wave, instr);
      return true;
   }
   if (!wave->exports && !wave->primitive)
      return false;
   switch (instr->intrinsic) {
   case nir_intrinsic_export_amd:
      export(wave, instr);
      break;
   case nir_intrinsic_export_dual_src_blend_amd:
      if (wave->colors)
         export_color(wave, instr, 0);
      break;
   case nir_intrinsic_store_output: /* of vertices: they are exported, too */
      store_output(wave, instr);
      break;
   case nir_intrinsic_load_interpolated_input:
      load_interpolated(wave, instr);
      break;
   case nir_intrinsic_load_input:
   case nir_intrinsic_load_input_vertex:
      load_flat(wave, instr);
      break;
   case nir_intrinsic_load_helper_invocation:
   case nir_intrinsic_is_helper_invocation:
      softgpu_foreach_lane(lane, wave->exec)
         softgpu_set_uint(wave, instr, lane, 0, wave->helpers >> lane & 1);
      break;
   case nir_intrinsic_ddx:
   case nir_intrinsic_ddx_fine:
   case nir_intrinsic_ddx_coarse:
   case nir_intrinsic_ddy:
   case nir_intrinsic_ddy_fine:
   case nir_intrinsic_ddy_coarse:
      derive(wave, instr);
      break;
   case nir_intrinsic_demote:
   case nir_intrinsic_demote_if:
   case nir_intrinsic_terminate:
   case nir_intrinsic_terminate_if:
      make_helpers(wave, instr);
      break;
   default:
      return false;
   }
   return true;
}
