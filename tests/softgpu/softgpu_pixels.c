/* SPDX-License-Identifier: MIT */

/*
 * Primitives become pixels, and these are shaded: points, lines and triangles, one sample in
 * the middle of a pixel, in one viewport. There is no clipping: what is behind the eye is left
 * out.
 */

#include "softgpu_draw.h"
#include "softgpu_targets.h"

#include <math.h>
#include <string.h>

#include "util/ralloc.h"
#include "util/u_math.h"

#include "gpuval/src/compat/gpuval_nir_names.h"

#define USER_SGPRS 32

struct pixel {
   int x, y;
   bool covered; /* else it is there for the other ones of its quad */
};

/* A wave that is filled, quad by quad or pixel by pixel */
struct fill {
   const struct softgpu_primitive *primitive;
   struct softgpu_run *run;
   struct softgpu_colors *colors;
   unsigned count;
   struct pixel pixels[SOFTGPU_MAX_LANES];
};

static uint32_t
context(const struct softgpu_processor *processor, unsigned reg)
{
   return processor->context[CONTEXT_REG(reg)];
}

static float
context_float(const struct softgpu_processor *processor, unsigned reg)
{
   return uif(context(processor, reg));
}

/* --- Shading -------------------------------------------------------------- */

/* How much of each vertex is in a pixel, with perspective and without */
static void
find_weights(const struct softgpu_primitive *primitive, double x, double y, double linear[3],
             double perspective[3])
{
   const struct softgpu_corner *c = primitive->corners;
   double sum = 0;

   memset(linear, 0, 3 * sizeof(*linear));
   if (primitive->size == 3) {
      linear[1] =
         ((x - c[0].x) * (c[2].y - c[0].y) - (y - c[0].y) * (c[2].x - c[0].x)) / primitive->area;
      linear[2] =
         ((y - c[0].y) * (c[1].x - c[0].x) - (x - c[0].x) * (c[1].y - c[0].y)) / primitive->area;
   } else if (primitive->size == 2) {
      const double dx = c[1].x - c[0].x, dy = c[1].y - c[0].y;
      const double length = dx * dx + dy * dy;
      linear[1] = length > 0 ? CLAMP(((x - c[0].x) * dx + (y - c[0].y) * dy) / length, 0, 1) : 0;
   }
   linear[0] = 1 - linear[1] - linear[2];
   for (unsigned i = 0; i < 3; i++) {
      perspective[i] = linear[i] / c[i].w;
      sum += perspective[i];
   }
   for (unsigned i = 0; i < 3; i++)
      perspective[i] = sum != 0 ? perspective[i] / sum : linear[i];
}

static void
set_pair(struct softgpu_wave *wave, struct ac_arg arg, unsigned lane, const double weights[3])
{
   softgpu_set_vgpr(wave, arg, 0, lane, fui((float)weights[1]));
   softgpu_set_vgpr(wave, arg, 1, lane, fui((float)weights[2]));
}

static void
set_pixel(struct softgpu_wave *wave, const struct softgpu_primitive *primitive, unsigned lane,
          const struct pixel *pixel, unsigned sample)
{
   const struct ac_shader_args *args = &wave->shader->args;
   const float x = (float)pixel->x + 0.5f, y = (float)pixel->y + 0.5f;
   double linear[3], perspective[3], z = 0, w = 0;

   find_weights(primitive, x, y, linear, perspective);
   for (unsigned i = 0; i < 3; i++) {
      z += linear[i] * primitive->corners[i].z;
      w += linear[i] / primitive->corners[i].w;
   }
   set_pair(wave, args->persp_sample, lane, perspective);
   set_pair(wave, args->persp_center, lane, perspective);
   set_pair(wave, args->persp_centroid, lane, perspective);
   set_pair(wave, args->linear_sample, lane, linear);
   set_pair(wave, args->linear_center, lane, linear);
   set_pair(wave, args->linear_centroid, lane, linear);
   softgpu_set_vgpr(wave, args->pull_model, 0, lane, fui((float)(perspective[1] * w)));
   softgpu_set_vgpr(wave, args->pull_model, 1, lane, fui((float)(perspective[2] * w)));
   softgpu_set_vgpr(wave, args->pull_model, 2, lane, fui((float)w));
   softgpu_set_vgpr(wave, args->frag_pos[0], 0, lane, fui(x));
   softgpu_set_vgpr(wave, args->frag_pos[1], 0, lane, fui(y));
   softgpu_set_vgpr(wave, args->frag_pos[2], 0, lane, fui((float)z));
   softgpu_set_vgpr(wave, args->frag_pos[3], 0, lane, fui((float)w));
   softgpu_set_vgpr(wave, args->front_face, 0, lane, fui(primitive->back ? -1.0f : 1.0f));
   softgpu_set_vgpr(wave, args->sample_coverage, 0, lane, pixel->covered);
   softgpu_set_vgpr(wave, args->ancillary, 0, lane, sample << 8 | primitive->layer << 16);
   softgpu_set_vgpr(wave, args->pos_fixed_pt, 0, lane,
                    (uint32_t)pixel->x | (uint32_t)pixel->y << 16);
   wave->pixels[lane][0] = x;
   wave->pixels[lane][1] = y;
}

static struct softgpu_fragment
get_fragment(const struct softgpu_primitive *primitive, const struct pixel *pixel)
{
   double linear[3], perspective[3], z = 0;

   find_weights(primitive, (float)pixel->x + 0.5f, (float)pixel->y + 0.5f, linear, perspective);
   for (unsigned i = 0; i < 3; i++)
      z += linear[i] * primitive->corners[i].z;
   return (struct softgpu_fragment){
      .x = (unsigned)pixel->x,
      .y = (unsigned)pixel->y,
      .layer = primitive->layer,
      .back = primitive->back,
      .z = (float)z,
      .stencil = -1,
   };
}

/* What the shader says of depth and stencil */
static void
read_exports(const struct softgpu_depth *depth, const struct softgpu_colors *colors, unsigned lane,
             struct softgpu_fragment *f)
{
   const uint32_t *values = colors->depth[lane];
   const bool halves = depth->exports_halves && !colors->depth_is_output;

   if (depth->exports_depth)
      f->z = uif(values[0]);
   if (depth->exports_stencil)
      f->stencil = (int)((halves ? values[0] >> 16 : values[1]) & 0xff);
}

/* Where the shader runs for each sample, `sample` is not -1. */
static void
shade_once(const struct fill *fill, int sample)
{
   const struct softgpu_primitive *primitive = fill->primitive;
   const struct softgpu_processor *processor = primitive->processor;
   const struct softgpu_depth *depth = primitive->depth;
   struct softgpu_wave *wave = &fill->run->waves[0];
   struct softgpu_colors *colors = fill->colors;
   unsigned covered = 0;

   softgpu_start_wave(wave, u_uintN_max(fill->count));
   memset(colors->written, 0, sizeof(colors->written));
   wave->primitive = primitive;
   wave->colors = colors;
   wave->sgpr_count = SOFTGPU_MAX_SGPRS;
   memset(wave->sgprs, 0, sizeof(wave->sgprs));
   memcpy(wave->sgprs, &processor->sh[SH_REG(R_00B030_SPI_SHADER_USER_DATA_PS_0)], USER_SGPRS * 4);
   softgpu_set_sgpr(wave, wave->shader->args.prim_mask, 0);
   for (unsigned lane = 0; lane < fill->count; lane++) {
      set_pixel(wave, primitive, lane, &fill->pixels[lane], (unsigned)MAX2(sample, 0));
      const struct softgpu_fragment f = get_fragment(primitive, &fill->pixels[lane]);
      if (fill->pixels[lane].covered &&
          (!depth->early || softgpu_test_depth(depth, &f, sample, depth->before_shader)))
         covered++;
      else
         wave->helpers |= UINT64_C(1) << lane;
   }
   if (!covered)
      return;
   bool is_noop = softgpu_is_noop(processor, primitive->targets, depth);
   fill->run->group.wave_count = 1;
   if (!is_noop)
      softgpu_execute_group(fill->run);
   for (unsigned lane = 0; lane < fill->count && !softgpu_failed(); lane++) {
      const struct pixel *pixel = &fill->pixels[lane];
      struct softgpu_fragment f = get_fragment(primitive, pixel);
      if (wave->helpers >> lane & 1)
         continue;
      if (!is_noop)
         read_exports(depth, colors, lane, &f);
      if (depth->before_shader || softgpu_test_depth(depth, &f, sample, true))
         softgpu_write_colors(processor, primitive->targets, colors, lane, f.x, f.y, f.layer,
                              sample);
   }
}

static void
shade(struct fill *fill)
{
   const unsigned samples =
      1u << G_028804_PS_ITER_SAMPLES(context(fill->primitive->processor, R_028804_DB_EQAA));

   if (!fill->count)
      return;
   for (unsigned i = 0; i < samples && !softgpu_failed(); i++)
      shade_once(fill, samples > 1 ? (int)i : -1);
   fill->count = 0;
}

/* --- Coverage ------------------------------------------------------------- */

static double
edge(const struct softgpu_corner *a, const struct softgpu_corner *b, double x, double y)
{
   return (b->x - a->x) * (y - a->y) - (b->y - a->y) * (x - a->x);
}

/* On an edge between two triangles, one of them has the pixel. */
static bool
is_inside(const struct softgpu_primitive *primitive, const struct softgpu_corner *a,
          const struct softgpu_corner *b, double x, double y)
{
   const double sign = primitive->area < 0 ? -1 : 1;
   const double e = edge(a, b, x, y) * sign;
   const double dx = (b->x - a->x) * sign, dy = (b->y - a->y) * sign;
   return e > 0 || (e == 0 && (dy < 0 || (dy == 0 && dx > 0)));
}

static bool
covers_line(const struct softgpu_primitive *primitive, double x, double y)
{
   const struct softgpu_corner *c = primitive->corners;
   const double dx = c[1].x - c[0].x, dy = c[1].y - c[0].y;

   if (fabs(dx) >= fabs(dy)) {
      const double at = dx != 0 ? (x - c[0].x) / dx : -1;
      const double line = c[0].y + at * dy;
      return at >= 0 && at < 1 && line >= y - 0.5 && line < y + 0.5;
   }
   const double at = (y - c[0].y) / dy;
   const double line = c[0].x + at * dx;
   return at >= 0 && at < 1 && line >= x - 0.5 && line < x + 0.5;
}

static bool
covers(const struct softgpu_primitive *primitive, int px, int py)
{
   const struct softgpu_corner *c = primitive->corners;
   const double x = px + 0.5, y = py + 0.5;

   if (x < primitive->box[0] || y < primitive->box[1] || x >= primitive->box[2] ||
       y >= primitive->box[3])
      return false;
   if (primitive->size == 2)
      return covers_line(primitive, x, y);
   if (primitive->size == 1 || primitive->rectangle)
      return true;
   return is_inside(primitive, &c[0], &c[1], x, y) && is_inside(primitive, &c[1], &c[2], x, y) &&
          is_inside(primitive, &c[2], &c[0], x, y);
}

static void
add_quad(struct fill *fill, int x, int y, const int limits[4], bool whole)
{
   struct pixel quad[4];
   unsigned covered = 0;

   for (int i = 0; i < 4; i++) {
      quad[i] = (struct pixel){.x = x + i % 2, .y = y + i / 2};
      quad[i].covered = quad[i].x >= limits[0] && quad[i].y >= limits[1] && quad[i].x < limits[2] &&
                        quad[i].y < limits[3] && covers(fill->primitive, quad[i].x, quad[i].y);
      covered += quad[i].covered;
   }
   if (!covered)
      return;
   for (unsigned i = 0; i < 4; i++) {
      if (quad[i].covered || whole)
         fill->pixels[fill->count++] = quad[i];
   }
   if (fill->count + 4 > fill->run->waves[0].size)
      shade(fill);
}

static void
rasterize(const struct softgpu_primitive *primitive, struct softgpu_run *run,
          struct softgpu_colors *colors)
{
   const struct softgpu_processor *processor = primitive->processor;
   const uint32_t scissors[2][2] = {
      {context(processor, R_028250_PA_SC_VPORT_SCISSOR_0_TL),
       context(processor, R_028254_PA_SC_VPORT_SCISSOR_0_BR)},
      {context(processor, R_028204_PA_SC_WINDOW_SCISSOR_TL),
       context(processor, R_028208_PA_SC_WINDOW_SCISSOR_BR)},
   };
   const nir_shader *nir = run->group.shader->nir;
   const bool whole = gpuval_needs_quad_helpers(nir) || nir->info.fs.require_full_quads;
   struct fill fill = {.primitive = primitive, .run = run, .colors = colors};
   int limits[4] = {0, 0, 16384, 16384};

   for (unsigned i = 0; i < 2; i++) {
      limits[0] = MAX2(limits[0], (int)(scissors[i][0] & 0x7fff));
      limits[1] = MAX2(limits[1], (int)(scissors[i][0] >> 16 & 0x7fff));
      limits[2] = MIN2(limits[2], (int)(scissors[i][1] & 0xffff));
      limits[3] = MIN2(limits[3], (int)(scissors[i][1] >> 16));
   }
   limits[0] = (int)MAX2(limits[0], floor(primitive->box[0]));
   limits[1] = (int)MAX2(limits[1], floor(primitive->box[1]));
   limits[2] = (int)MIN2(limits[2], ceil(primitive->box[2]));
   limits[3] = (int)MIN2(limits[3], ceil(primitive->box[3]));
   for (int y = limits[1] & ~1; y < limits[3]; y += 2) {
      for (int x = limits[0] & ~1; x < limits[2] && !softgpu_failed(); x += 2)
         add_quad(&fill, x, y, limits, whole);
   }
   shade(&fill);
}

/* --- Primitives ----------------------------------------------------------- */

static bool
find_corner(const struct softgpu_processor *processor, const struct softgpu_exports *exports,
            unsigned vertex, struct softgpu_corner *corner)
{
   const uint32_t *position = exports->positions[0][vertex];
   const double w = uif(position[3]);

   if (!(w > 0))
      return false;
   corner->vertex = vertex;
   corner->w = w;
   corner->x = uif(position[0]) / w * context_float(processor, R_02843C_PA_CL_VPORT_XSCALE) +
               context_float(processor, R_028440_PA_CL_VPORT_XOFFSET);
   corner->y = uif(position[1]) / w * context_float(processor, R_028444_PA_CL_VPORT_YSCALE) +
               context_float(processor, R_028448_PA_CL_VPORT_YOFFSET);
   corner->z = uif(position[2]) / w * context_float(processor, R_02844C_PA_CL_VPORT_ZSCALE) +
               context_float(processor, R_028450_PA_CL_VPORT_ZOFFSET);
   return isfinite(corner->x) && isfinite(corner->y);
}

static void
find_box(struct softgpu_primitive *primitive)
{
   const struct softgpu_processor *processor = primitive->processor;
   const struct softgpu_corner *c = primitive->corners;
   double margin = primitive->size == 2 ? 1 : 0;

   if (primitive->size == 1) {
      const uint32_t size = context(processor, R_028A00_PA_SU_POINT_SIZE);
      const uint32_t outputs = context(processor, R_02881C_PA_CL_VS_OUT_CNTL);
      margin = G_028A00_WIDTH(size) / 8.0 / 2;
      if (G_02881C_USE_VTX_POINT_SIZE(outputs))
         margin = CLAMP(uif(primitive->exports->positions[1][c[0].vertex][0]), 1, 8192) / 2;
      margin = MAX2(margin, 0.5);
   }
   primitive->box[0] = MIN3(c[0].x, c[1].x, c[2].x) - margin;
   primitive->box[1] = MIN3(c[0].y, c[1].y, c[2].y) - margin;
   primitive->box[2] = MAX3(c[0].x, c[1].x, c[2].x) + margin;
   primitive->box[3] = MAX3(c[0].y, c[1].y, c[2].y) + margin;
}

/* Of its first vertex */
static void
find_layer(struct softgpu_primitive *primitive)
{
   const uint32_t outputs = context(primitive->processor, R_02881C_PA_CL_VS_OUT_CNTL);

   if (G_02881C_USE_VTX_RENDER_TARGET_INDX(outputs))
      primitive->layer = primitive->exports->positions[1][primitive->corners[0].vertex][2] & 0x1fff;
}

static bool
is_culled(struct softgpu_primitive *primitive)
{
   const struct softgpu_corner *c = primitive->corners;
   const uint32_t mode = context(primitive->processor, R_028814_PA_SU_SC_MODE_CNTL);

   if (primitive->size < 3)
      return false;
   primitive->area = edge(&c[0], &c[1], c[2].x, c[2].y);
   /* With y downwards, positive is clockwise; FACE: clockwise is the front. */
   primitive->back = primitive->area > 0 ? !G_028814_FACE(mode) : G_028814_FACE(mode);
   return primitive->area == 0 ||
          (!primitive->rectangle &&
           (primitive->back ? G_028814_CULL_BACK(mode) : G_028814_CULL_FRONT(mode)));
}

void
softgpu_draw_pixels(const struct softgpu_processor *processor,
                    const struct softgpu_exports *exports, unsigned size, bool rectangles)
{
   const uint64_t program = softgpu_program(&processor->sh[SH_REG(R_00B020_SPI_SHADER_PGM_LO_PS)]);
   const uint32_t control = context(processor, R_0286D8_SPI_PS_IN_CONTROL);
   const uint32_t clipping = context(processor, R_028810_PA_CL_CLIP_CNTL);
   const struct softgpu_shader *shader;

   if (!program || G_028810_DX_RASTERIZATION_KILL(clipping))
      return;
   shader = softgpu_find_shader(program, !softgpu_is_blind());
   if (!shader)
      return;
   struct softgpu_run *run =
      softgpu_create_run(shader, G_0286D8_PS_W32_EN(control) ? 32 : 64, 1, 0);
   struct softgpu_colors *colors = rzalloc(run, struct softgpu_colors);
   struct softgpu_targets targets;
   struct softgpu_depth depth;
   softgpu_read_targets(processor, &targets);
   softgpu_read_depth(processor, &depth);
   for (unsigned i = 0; i < SOFTGPU_MAX_VERTICES && !softgpu_failed(); i++) {
      struct softgpu_primitive primitive = {
         .processor = processor,
         .exports = exports,
         .index = i,
         .size = size,
         .rectangle = rectangles,
         .targets = &targets,
         .depth = &depth,
      };
      const uint32_t packed = exports->primitives[i][0];
      bool visible = exports->has_primitive[i] && !(packed >> 31);
      for (unsigned j = 0; j < 3 && visible; j++) {
         const unsigned vertex = packed >> (j < size ? j : 0) * 10 & 0x1ff;
         visible = vertex < SOFTGPU_MAX_VERTICES &&
                   find_corner(processor, exports, vertex, &primitive.corners[j]);
      }
      if (!visible || is_culled(&primitive))
         continue;
      find_box(&primitive);
      find_layer(&primitive);
      rasterize(&primitive, run, colors);
   }
   ralloc_free(run);
}
