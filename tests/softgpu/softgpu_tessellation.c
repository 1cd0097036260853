/* SPDX-License-Identifier: MIT */

/*
 * Tessellation: workgroups of vertices and then of the control points of some patches, which leave
 * factors where the hardware looks for them, and the rest in a ring for the evaluation shader. The
 * tessellator, which is no shader, is Mesa's.
 */

#include "softgpu_draw.h"

#include <string.h>

#include "tessellator/p_tessellator.h"
#include "util/ralloc.h"
#include "util/u_math.h"

#define MAX_THREADS 256 /* of a workgroup */

struct softgpu_tessellation {
   const struct softgpu_processor *processor;
   struct softgpu_stage stage;
   struct pipe_tessellator *tessellator;
   unsigned patches; /* of a workgroup */
   unsigned input_points;
   unsigned output_points;
   unsigned domain;
   unsigned output_size; /* of primitives that the tessellator makes */
};

/* The patches of a workgroup */
struct group {
   const struct softgpu_assembly *patches;
   unsigned first;
   unsigned count;
   uint32_t instance;
};

static void
free_tessellator(void *data)
{
   const struct softgpu_tessellation *tessellation = data;

   if (tessellation->tessellator)
      p_tess_destroy(tessellation->tessellator);
}

/* Returns false for what the hardware does not have, either. */
static bool
read_state(struct softgpu_tessellation *t)
{
   static const enum mesa_prim domains[] = {
      [V_028B6C_TESS_ISOLINE] = MESA_PRIM_LINES,
      [V_028B6C_TESS_TRIANGLE] = MESA_PRIM_TRIANGLES,
      [V_028B6C_TESS_QUAD] = MESA_PRIM_QUADS,
   };
   static const enum pipe_tess_spacing spacings[] = {
      [V_028B6C_PART_INTEGER] = PIPE_TESS_SPACING_EQUAL,
      [V_028B6C_PART_FRAC_ODD] = PIPE_TESS_SPACING_FRACTIONAL_ODD,
      [V_028B6C_PART_FRAC_EVEN] = PIPE_TESS_SPACING_FRACTIONAL_EVEN,
   };
   const uint32_t config = t->processor->context[CONTEXT_REG(R_028B58_VGT_LS_HS_CONFIG)];
   const uint32_t control = t->processor->context[CONTEXT_REG(R_028B6C_VGT_TF_PARAM)];
   const unsigned spacing = G_028B6C_PARTITIONING(control);
   const unsigned topology = G_028B6C_TOPOLOGY(control);

   t->patches = G_028B58_NUM_PATCHES(config);
   t->input_points = G_028B58_HS_NUM_INPUT_CP(config);
   t->output_points = G_028B58_HS_NUM_OUTPUT_CP(config);
   t->domain = G_028B6C_TYPE(control);
   t->output_size = topology == V_028B6C_OUTPUT_POINT  ? 1
                    : topology == V_028B6C_OUTPUT_LINE ? 2
                                                       : 3;
   const unsigned points = MAX2(t->input_points, t->output_points);
   if (t->patches == 0 || points == 0 || points > SOFTGPU_MAX_CORNERS ||
       t->patches * points > MAX_THREADS || t->domain >= ARRAY_SIZE(domains) ||
       spacing == V_028B6C_PART_POW2 || spacing >= ARRAY_SIZE(spacings)) {
      softgpu_error("tessellation of %u patches of %u and %u points, VGT_TF_PARAM 0x%08x",
                    t->patches, t->input_points, t->output_points, control);
      return false;
   }
   t->tessellator = p_tess_init(domains[t->domain], spacings[spacing],
                                topology == V_028B6C_OUTPUT_TRIANGLE_CW, t->output_size == 1);
   return true;
}

struct softgpu_tessellation *
softgpu_create_tessellation(const struct softgpu_processor *processor)
{
   struct softgpu_tessellation *t = rzalloc(NULL, struct softgpu_tessellation);

   t->processor = processor;
   ralloc_set_destructor(t, free_tessellator);
   if (!read_state(t) || !softgpu_open_stage(processor, SOFTGPU_HULL, MAX_THREADS, &t->stage)) {
      ralloc_free(t);
      return NULL;
   }
   ralloc_steal(t, t->stage.run);
   return t;
}

/* --- Control points ------------------------------------------------------- */

/* Threads are vertices one patch after the other, and then output points. */
static void
start_wave(const struct softgpu_tessellation *t, const struct group *group, unsigned index)
{
   const struct softgpu_stage *stage = &t->stage;
   const struct softgpu_assembly *patches = group->patches;
   struct softgpu_wave *wave = softgpu_start_stage(stage, index);
   const struct ac_shader_args *args = &wave->shader->args;
   const unsigned vertices = softgpu_threads_of(wave, group->count * t->input_points);
   const unsigned points = softgpu_threads_of(wave, group->count * t->output_points);
   const unsigned first = index * wave->size;
   uint32_t ids[SOFTGPU_MAX_LANES];

   softgpu_set_sgpr(wave, args->merged_wave_info, vertices | points << 8);
   softgpu_set_sgpr(wave, args->tcs_wave_id, index);
   for (unsigned lane = 0; lane < vertices; lane++) {
      const unsigned corner = group->first * t->input_points + first + lane;
      ids[lane] = patches->vertices[patches->corners[corner]].id;
      softgpu_set_vgpr(wave, args->vertex_id, 0, lane, ids[lane]);
      softgpu_set_vgpr(wave, args->instance_id, 0, lane, group->instance);
   }
   for (unsigned lane = 0; lane < points; lane++) {
      const unsigned patch = (first + lane) / t->output_points;
      const unsigned point = (first + lane) % t->output_points;
      softgpu_set_vgpr(wave, args->tcs_rel_ids, 0, lane, patch | point << 8);
      softgpu_set_vgpr(wave, args->tcs_patch_id, 0, lane,
                       patches->primitive_ids[group->first + patch]);
   }
   if (stage->prolog)
      softgpu_run_prolog(stage->prolog, wave, softgpu_address(stage->user_data), ids, vertices,
                         group->instance);
   wave->exec = u_uintN_max(vertices);
   wave->second_lanes = u_uintN_max(points);
}

static void
run_group(const struct softgpu_tessellation *t, const struct group *group)
{
   struct softgpu_run *run = t->stage.run;
   const unsigned threads = group->count * MAX2(t->input_points, t->output_points);

   run->group.wave_count = DIV_ROUND_UP(threads, t->stage.wave_size);
   for (unsigned i = 0; i < run->group.wave_count; i++)
      start_wave(t, group, i);
   softgpu_execute_group(run);
}

/* --- Tessellator ---------------------------------------------------------- */

/* Out of memory, unless a message says what they are */
static bool
read_factors(const struct softgpu_tessellation *t, unsigned patch,
             struct pipe_tessellation_factors *factors)
{
   const uint32_t *uconfig = t->processor->uconfig;
   const uint64_t ring = (uint64_t)uconfig[UCONFIG_REG(R_030940_VGT_TF_MEMORY_BASE)] << 8 |
                         (uint64_t)(uconfig[UCONFIG_REG(R_030984_VGT_TF_MEMORY_BASE_HI)] & 0xff)
                            << 40;
   const unsigned message = t->stage.run->group.tess_message;
   const unsigned count = t->domain == V_028B6C_TESS_ISOLINE    ? 2
                          : t->domain == V_028B6C_TESS_TRIANGLE ? 4
                                                                : 6;
   float values[6];

   for (unsigned i = 0; i < count; i++)
      values[i] = message ? (float)(message - 1) : 0;
   if (!message && !softgpu_read((uint64_t)((int64_t)(ring << 16) >> 16) + patch * count * 4,
                                 values, count * 4))
      return false;

   memset(factors, 0, sizeof(*factors));
   switch (t->domain) {
   case V_028B6C_TESS_ISOLINE: /* the other way round */
      factors->outer_tf[0] = values[1];
      factors->outer_tf[1] = values[0];
      break;
   case V_028B6C_TESS_TRIANGLE:
      memcpy(factors->outer_tf, values, 3 * sizeof(*values));
      factors->inner_tf[0] = values[3];
      break;
   default:
      memcpy(factors->outer_tf, values, 4 * sizeof(*values));
      memcpy(factors->inner_tf, values + 4, 2 * sizeof(*values));
   }
   return true;
}

static void
draw_patch(const struct softgpu_tessellation *t, struct softgpu_geometry *geometry,
           const struct group *group, unsigned patch)
{
   struct pipe_tessellation_factors factors;
   struct pipe_tessellator_data data = {0};

   if (!read_factors(t, patch, &factors))
      return;
   p_tessellate(t->tessellator, &factors, &data);
   struct softgpu_assembly assembly = {
      .vertices = rzalloc_array(NULL, struct softgpu_vertex, data.num_domain_points + 1),
      .corners = data.indices,
      .count = data.num_indices / t->output_size,
      .size = t->output_size,
      .output_size = t->output_size,
   };
   const uint32_t id = group->patches->primitive_ids[group->first + patch];
   for (unsigned i = 0; i < data.num_domain_points; i++) {
      assembly.vertices[i] = (struct softgpu_vertex){
         .u = data.domain_points_u[i],
         .v = data.domain_points_v[i],
         .patch = patch,
         .patch_id = id,
      };
   }
   assembly.primitive_ids = ralloc_array(assembly.vertices, uint32_t, assembly.count + 1);
   for (unsigned i = 0; i < assembly.count; i++)
      assembly.primitive_ids[i] = id;
   softgpu_draw_geometry(geometry, &assembly, group->instance);
   ralloc_free(assembly.vertices);
}

void
softgpu_tessellate(struct softgpu_tessellation *t, struct softgpu_geometry *geometry,
                   const struct softgpu_assembly *patches, uint32_t instance)
{
   for (unsigned first = 0; first < patches->count && !softgpu_failed(); first += t->patches) {
      const struct group group = {
         .patches = patches,
         .first = first,
         .count = MIN2(t->patches, patches->count - first),
         .instance = instance,
      };
      run_group(t, &group);
      for (unsigned i = 0; i < group.count && !softgpu_failed(); i++)
         draw_patch(t, geometry, &group, i);
   }
}
