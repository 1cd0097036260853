/* SPDX-License-Identifier: MIT */

/* Tests of depth and stencil, and what they write. All samples of a pixel have its depth. */

#include "softgpu_targets.h"

#include <math.h>
#include <string.h>

#include "util/u_math.h"

#include "sid.h"

static uint32_t
context(const struct softgpu_processor *processor, unsigned reg)
{
   return processor->context[CONTEXT_REG(reg)];
}

/* --- Registers ------------------------------------------------------------ */

static uint64_t
read_base(const struct softgpu_processor *processor, unsigned low, unsigned high)
{
   const uint64_t base = context(processor, low) | (uint64_t)(context(processor, high) & 0xff)
                                                      << 32;
   return (uint64_t)((int64_t)(base << 24) >> 16);
}

bool
softgpu_is_noop(const struct softgpu_processor *processor, const struct softgpu_targets *targets,
                const struct softgpu_depth *depth)
{
   const uint32_t shader = context(processor, R_02880C_DB_SHADER_CONTROL);
   const uint32_t exports = context(processor, R_02823C_CB_SHADER_MASK);
   bool tests = depth->has_depth || depth->has_stencil;

   for (unsigned i = 0; i < SOFTGPU_MAX_TARGETS; i++) {
      if (targets->targets[i].mask & (exports >> i * 4))
         return false;
   }
   return !G_02880C_EXEC_ON_NOOP(shader) && !depth->exports_depth && !depth->exports_stencil &&
          !(tests && G_02880C_KILL_ENABLE(shader));
}

void
softgpu_read_depth(const struct softgpu_processor *processor, struct softgpu_depth *depth)
{
   const uint32_t control = context(processor, R_028800_DB_DEPTH_CONTROL);
   const uint32_t shader = context(processor, R_02880C_DB_SHADER_CONTROL);
   const uint32_t view = context(processor, R_028008_DB_DEPTH_VIEW);
   const uint32_t size = context(processor, R_02801C_DB_DEPTH_SIZE_XY);
   const uint32_t z = context(processor, R_028040_DB_Z_INFO);
   const uint32_t stencil = context(processor, R_028044_DB_STENCIL_INFO);
   const struct softgpu_surface surface = {
      .dimensions = 2,
      .width = G_02801C_X_MAX(size) + 1,
      .height = G_02801C_Y_MAX(size) + 1,
      .depth = 1,
      .levels = G_028040_MAXMIP(z) + 1,
      .samples = 1u << G_028040_NUM_SAMPLES(z),
   };

   *depth = (struct softgpu_depth){
      .control = control,
      .operations = context(processor, R_02842C_DB_STENCIL_CONTROL),
      .references =
         {
            context(processor, R_028430_DB_STENCILREFMASK),
            context(processor, R_028434_DB_STENCILREFMASK_BF),
         },
      .range =
         {
            uif(context(processor, R_0282D0_PA_SC_VPORT_ZMIN_0)),
            uif(context(processor, R_0282D4_PA_SC_VPORT_ZMAX_0)),
         },
      .before_shader = G_02880C_DEPTH_BEFORE_SHADER(shader),
      .early = G_02880C_DEPTH_BEFORE_SHADER(shader) ||
               (G_02880C_Z_ORDER(shader) != V_02880C_LATE_Z && !G_02880C_Z_EXPORT_ENABLE(shader) &&
                !G_02880C_STENCIL_TEST_VAL_EXPORT_ENABLE(shader)),
      .exports_depth = G_02880C_Z_EXPORT_ENABLE(shader),
      .exports_stencil = G_02880C_STENCIL_TEST_VAL_EXPORT_ENABLE(shader),
      .exports_halves =
         context(processor, R_028710_SPI_SHADER_Z_FORMAT) == V_028710_SPI_SHADER_UINT16_ABGR,
      .level = G_028008_MIPID_GFX9(view),
      .first_layer = G_028008_SLICE_START(view),
      .last_layer = G_028008_SLICE_MAX(view),
      .depth = surface,
      .stencil = surface,
   };
   depth->depth.base = read_base(processor, R_028048_DB_Z_READ_BASE, R_028068_DB_Z_READ_BASE_HI);
   depth->depth.swizzle_mode = G_028040_SW_MODE(z);
   depth->stencil.base =
      read_base(processor, R_02804C_DB_STENCIL_READ_BASE, R_02806C_DB_STENCIL_READ_BASE_HI);
   depth->stencil.swizzle_mode = G_028044_SW_MODE(stencil);
   depth->has_depth = G_028800_Z_ENABLE(control) && G_028040_FORMAT(z) != V_028040_Z_INVALID;
   depth->has_stencil = G_028800_STENCIL_ENABLE(control) && G_028044_FORMAT(stencil);
   depth->depth.format =
      G_028040_FORMAT(z) == V_028040_Z_16 ? PIPE_FORMAT_R16_UNORM : PIPE_FORMAT_R32_FLOAT;
   depth->stencil.format = PIPE_FORMAT_R8_UINT;
   if (!depth->has_depth && !depth->has_stencil)
      return;
   if (G_028040_FORMAT(z) == V_028040_Z_24 || G_028040_TILE_SURFACE_ENABLE(z) ||
       G_028800_DEPTH_BOUNDS_ENABLE(control))
      softgpu_error("this kind of depth (0x%08x, 0x%08x) is not supported", z, control);
}

/* --- Tests ---------------------------------------------------------------- */

static bool
compare(unsigned function, float value, float reference)
{
   switch (function) {
   case V_028800_FRAG_NEVER:
      return false;
   case V_028800_FRAG_LESS:
      return value < reference;
   case V_028800_FRAG_EQUAL:
      return value == reference;
   case V_028800_FRAG_LEQUAL:
      return value <= reference;
   case V_028800_FRAG_GREATER:
      return value > reference;
   case V_028800_FRAG_NOTEQUAL:
      return value != reference;
   case V_028800_FRAG_GEQUAL:
      return value >= reference;
   default:
      return true;
   }
}

static uint8_t
operate(unsigned operation, uint8_t old, uint8_t test, uint8_t value)
{
   switch (operation) {
   case V_02842C_STENCIL_ZERO:
      return 0;
   case V_02842C_STENCIL_ONES:
      return 0xff;
   case V_02842C_STENCIL_REPLACE_TEST:
      return test;
   case V_02842C_STENCIL_REPLACE_OP:
      return value;
   case V_02842C_STENCIL_ADD_CLAMP:
      return (uint8_t)MIN2(old + value, 0xff);
   case V_02842C_STENCIL_SUB_CLAMP:
      return (uint8_t)MAX2(old - value, 0);
   case V_02842C_STENCIL_INVERT:
      return (uint8_t)~old;
   case V_02842C_STENCIL_ADD_WRAP:
      return (uint8_t)(old + value);
   case V_02842C_STENCIL_SUB_WRAP:
      return (uint8_t)(old - value);
   case V_02842C_STENCIL_KEEP:
      break;
   default:
      softgpu_error("stencil operation %u is not supported", operation);
   }
   return old;
}

/* What memory has of a depth */
static float
quantize(const struct softgpu_depth *depth, float z)
{
   z = CLAMP(z, depth->range[0], depth->range[1]);
   return depth->depth.format == PIPE_FORMAT_R16_UNORM ? rintf(z * 65535) / 65535 : z;
}

static bool
test_sample(const struct softgpu_depth *depth, const struct softgpu_fragment *f, unsigned sample,
            bool write)
{
   const uint32_t control = depth->control, operations = depth->operations;
   const unsigned layer = depth->first_layer + f->layer;
   const bool back = f->back && G_028800_BACKFACE_ENABLE(control);
   const uint32_t reference = depth->references[back];
   const uint8_t test =
      (uint8_t)(f->stencil >= 0 ? (uint32_t)f->stencil : G_028430_STENCILTESTVAL(reference));
   uint32_t z[4] = {0}, s[4] = {0};
   bool depth_passes = true, stencil_passes = true;

   if (layer > depth->last_layer ||
       (depth->has_depth &&
        !softgpu_read_texel(&depth->depth, f->x, f->y, layer, depth->level, sample, z)) ||
       (depth->has_stencil &&
        !softgpu_read_texel(&depth->stencil, f->x, f->y, layer, depth->level, sample, s)))
      return false;
   const float new_z = quantize(depth, f->z);
   if (depth->has_stencil) {
      const unsigned mask = G_028430_STENCILMASK(reference);
      const unsigned function =
         back ? G_028800_STENCILFUNC_BF(control) : G_028800_STENCILFUNC(control);
      stencil_passes = compare(function, (float)(test & mask), (float)(s[0] & mask));
   }
   if (depth->has_depth)
      depth_passes = compare(G_028800_ZFUNC(control), new_z, uif(z[0]));
   if (write && depth->has_stencil) {
      const unsigned shift = back ? 12 : 0; /* of what is in the same register */
      const unsigned operation = (!stencil_passes ? G_02842C_STENCILFAIL(operations >> shift)
                                  : !depth_passes ? G_02842C_STENCILZFAIL(operations >> shift)
                                                  : G_02842C_STENCILZPASS(operations >> shift));
      const unsigned mask = G_028430_STENCILWRITEMASK(reference);
      const uint8_t value =
         operate(operation, (uint8_t)s[0], test, (uint8_t)G_028430_STENCILOPVAL(reference));
      s[0] = (s[0] & ~mask) | (value & mask);
      if (mask)
         softgpu_write_texel(&depth->stencil, f->x, f->y, layer, depth->level, sample, s);
   }
   if (write && depth->has_depth && depth_passes && stencil_passes &&
       G_028800_Z_WRITE_ENABLE(control)) {
      z[0] = fui(new_z);
      softgpu_write_texel(&depth->depth, f->x, f->y, layer, depth->level, sample, z);
   }
   return depth_passes && stencil_passes;
}

bool
softgpu_test_depth(const struct softgpu_depth *depth, const struct softgpu_fragment *f, int sample,
                   bool write)
{
   bool passes = false;

   if (!depth->has_depth && !depth->has_stencil)
      return true;
   if (f->x >= softgpu_minify(depth->depth.width, depth->level) ||
       f->y >= softgpu_minify(depth->depth.height, depth->level))
      return false;
   for (unsigned i = 0; i < depth->depth.samples; i++) {
      if (sample < 0 || (unsigned)sample == i)
         passes |= test_sample(depth, f, i, write);
   }
   return passes;
}
