/* SPDX-License-Identifier: MIT */

/*
 * Vertices and primitives are shaded as GFX11 does (NGG): by workgroups whose threads are vertices
 * first, and then primitives, or invocations of a geometry shader, which takes its vertices out of
 * shared memory. The vertices come from draws or from the tessellator. A workgroup exports
 * positions, attributes and primitives.
 */

#include "softgpu_draw.h"

#include <string.h>

#include "util/ralloc.h"
#include "util/u_math.h"

struct softgpu_geometry {
   const struct softgpu_processor *processor;
   struct softgpu_stage stage;
   struct softgpu_exports exports;
   bool has_shader; /* a geometry shader */
   bool passthrough;
   unsigned invocations;  /* of it for each primitive */
   unsigned max_outputs;  /* its vertices */
   unsigned output_size;  /* of its primitives */
   unsigned vertex_limit; /* of a workgroup */
   unsigned primitive_limit;
   unsigned output_limit;
};

/* What a workgroup takes */
struct batch {
   unsigned vertex_count;
   unsigned primitive_count;
   struct softgpu_vertex vertices[SOFTGPU_MAX_VERTICES];
   struct {
      uint8_t vertices[6];
      uint32_t id;
      unsigned invocation;
   } primitives[SOFTGPU_MAX_VERTICES];
};

unsigned
softgpu_threads_of(const struct softgpu_wave *wave, unsigned count)
{
   const unsigned first = wave->index * wave->size;
   return first < count ? MIN2(count - first, wave->size) : 0;
}

/* Without a geometry shader, a workgroup has one wave here. */
static void
read_limits(struct softgpu_geometry *geometry)
{
   const struct softgpu_processor *processor = geometry->processor;
   const uint32_t *context = processor->context;
   const uint32_t control = processor->uconfig[UCONFIG_REG(R_03096C_GE_CNTL)];
   const uint32_t output = context[CONTEXT_REG(R_0287FC_GE_MAX_OUTPUT_PER_SUBGROUP)];
   const uint32_t instances = context[CONTEXT_REG(R_028B90_VGT_GS_INSTANCE_CNT)];
   const uint32_t type = processor->uconfig[UCONFIG_REG(R_030998_VGT_GS_OUT_PRIM_TYPE)];
   const unsigned lanes = geometry->stage.wave_size;

   geometry->invocations = 1;
   geometry->vertex_limit = geometry->primitive_limit = lanes;
   if (!geometry->has_shader)
      return;
   geometry->invocations = MAX2(G_028B90_ENABLE(instances) ? G_028B90_CNT(instances) : 1, 1);
   geometry->max_outputs =
      G_028B38_MAX_VERT_OUT(context[CONTEXT_REG(R_028B38_VGT_GS_MAX_VERT_OUT)]);
   geometry->output_size = MIN2((type & 3) + 1, 3); /* points, lines, triangles */
   geometry->vertex_limit = MIN2(G_03096C_VERTS_PER_SUBGRP(control), SOFTGPU_MAX_VERTICES);
   geometry->primitive_limit =
      MIN2(G_03096C_PRIMS_PER_SUBGRP(control) * geometry->invocations, SOFTGPU_MAX_VERTICES);
   geometry->output_limit = MIN2(G_0287FC_MAX_VERTS_PER_SUBGROUP(output), SOFTGPU_MAX_VERTICES);
}

struct softgpu_geometry *
softgpu_create_geometry(const struct softgpu_processor *processor)
{
   const uint32_t stages = processor->context[CONTEXT_REG(R_028B54_VGT_SHADER_STAGES_EN)];
   struct softgpu_geometry *geometry = rzalloc(NULL, struct softgpu_geometry);

   geometry->processor = processor;
   geometry->has_shader = G_028B54_GS_EN(stages);
   geometry->passthrough = G_028B54_PRIMGEN_PASSTHRU_EN(stages);
   if (!softgpu_open_stage(processor, SOFTGPU_GEOMETRY,
                           geometry->has_shader ? SOFTGPU_MAX_VERTICES : 1, &geometry->stage)) {
      ralloc_free(geometry);
      return NULL;
   }
   ralloc_steal(geometry, geometry->stage.run);
   read_limits(geometry);
   return geometry;
}

/* --- Workgroups ----------------------------------------------------------- */

/* What the shader gets as a primitive's vertices: packed for the export in passthrough, else in
 * halves of registers.
 */
static void
set_primitive(const struct softgpu_geometry *geometry, struct softgpu_wave *wave,
              const struct batch *batch, unsigned index, unsigned lane)
{
   const struct ac_shader_args *args = &wave->shader->args;
   const uint8_t *vertices = batch->primitives[index].vertices;
   const uint32_t packed = vertices[0] | (uint32_t)vertices[1] << 10 | (uint32_t)vertices[2] << 20;

   for (unsigned i = 0; i < 3; i++)
      softgpu_set_vgpr(wave, args->gs_vtx_offset[i], 0, lane,
                       vertices[i * 2] | (uint32_t)vertices[i * 2 + 1] << 16);
   if (geometry->passthrough)
      softgpu_set_vgpr(wave, args->gs_vtx_offset[0], 0, lane, packed);
   softgpu_set_vgpr(wave, args->gs_prim_id, 0, lane, batch->primitives[index].id);
   softgpu_set_vgpr(wave, args->gs_invocation_id, 0, lane, batch->primitives[index].invocation);
}

static void
set_vertex(struct softgpu_wave *wave, const struct softgpu_vertex *vertex, uint32_t instance,
           unsigned lane)
{
   const struct ac_shader_args *args = &wave->shader->args;

   softgpu_set_vgpr(wave, args->vertex_id, 0, lane, vertex->id);
   softgpu_set_vgpr(wave, args->instance_id, 0, lane, instance);
   softgpu_set_vgpr(wave, args->tes_u, 0, lane, fui(vertex->u));
   softgpu_set_vgpr(wave, args->tes_v, 0, lane, fui(vertex->v));
   softgpu_set_vgpr(wave, args->tes_rel_patch_id, 0, lane, vertex->patch);
   softgpu_set_vgpr(wave, args->tes_patch_id, 0, lane, vertex->patch_id);
}

/* The hardware counts what a geometry shader may export. */
static unsigned
count_outputs(const struct softgpu_geometry *geometry, const struct batch *batch)
{
   return geometry->has_shader ? batch->primitive_count * geometry->max_outputs
                               : batch->vertex_count;
}

static void
start_wave(struct softgpu_geometry *geometry, const struct batch *batch, uint32_t instance,
           unsigned index, unsigned wave_count)
{
   const struct softgpu_stage *stage = &geometry->stage;
   struct softgpu_wave *wave = softgpu_start_stage(stage, index);
   const struct ac_shader_args *args = &wave->shader->args;
   const unsigned vertices = softgpu_threads_of(wave, batch->vertex_count);
   const unsigned primitives = softgpu_threads_of(wave, batch->primitive_count);
   const unsigned first = index * wave->size;
   uint32_t ids[SOFTGPU_MAX_LANES];

   wave->exports = &geometry->exports;
   softgpu_set_sgpr(wave, args->gs_tg_info,
                    count_outputs(geometry, batch) << 12 | batch->primitive_count << 22);
   softgpu_set_sgpr(wave, args->merged_wave_info,
                    vertices | primitives << 8 | index << 24 | wave_count << 28);
   for (unsigned lane = 0; lane < vertices; lane++) {
      set_vertex(wave, &batch->vertices[first + lane], instance, lane);
      ids[lane] = batch->vertices[first + lane].id;
   }
   for (unsigned lane = 0; lane < primitives; lane++)
      set_primitive(geometry, wave, batch, first + lane, lane);
   if (stage->prolog)
      softgpu_run_prolog(stage->prolog, wave, softgpu_address(stage->user_data), ids, vertices,
                         instance);
   if (wave->parts[1].shader) {
      wave->second_lanes = wave->exec;
      wave->exec = u_uintN_max(vertices);
   }
}

static void
run_batch(struct softgpu_geometry *geometry, const struct softgpu_assembly *assembly,
          const struct batch *batch, uint32_t instance)
{
   struct softgpu_run *run = geometry->stage.run;
   struct softgpu_exports *exports = &geometry->exports;
   const unsigned threads =
      MAX3(batch->vertex_count, batch->primitive_count, count_outputs(geometry, batch));
   const unsigned size = geometry->stage.wave_size;
   const unsigned wave_count = DIV_ROUND_UP(threads, size);

   if (wave_count > run->max_waves) {
      softgpu_error("a workgroup of %u vertices and primitives", threads);
      return;
   }
   memset(exports->has_primitive, 0, sizeof(exports->has_primitive));
   for (unsigned i = 0; i < ARRAY_SIZE(exports->parameters); i++)
      memset(exports->parameters[i], 0, wave_count * size * sizeof(exports->parameters[i][0]));
   for (unsigned i = 0; i < ARRAY_SIZE(exports->positions); i++)
      memset(exports->positions[i], 0, wave_count * size * sizeof(exports->positions[i][0]));
   run->group.wave_count = wave_count;
   for (unsigned i = 0; i < wave_count; i++)
      start_wave(geometry, batch, instance, i, wave_count);
   softgpu_execute_group(run);
   softgpu_draw_pixels(geometry->processor, exports,
                       geometry->has_shader ? geometry->output_size : assembly->output_size,
                       assembly->rectangles);
}

/* --- Batches -------------------------------------------------------------- */

/* A vertex is shaded once in a workgroup. */
static uint8_t
add_vertex(struct batch *batch, const struct softgpu_vertex *vertex)
{
   for (unsigned i = 0; i < batch->vertex_count; i++) {
      if (memcmp(&batch->vertices[i], vertex, sizeof(*vertex)) == 0)
         return (uint8_t)i;
   }
   batch->vertices[batch->vertex_count] = *vertex;
   return (uint8_t)batch->vertex_count++;
}

static bool
has_room(const struct softgpu_geometry *geometry, const struct batch *batch, unsigned vertices)
{
   return batch->primitive_count == 0 ||
          (batch->vertex_count + vertices <= geometry->vertex_limit &&
           batch->primitive_count < geometry->primitive_limit &&
           (!geometry->has_shader ||
            (batch->primitive_count + 1) * geometry->max_outputs <= geometry->output_limit));
}

void
softgpu_draw_geometry(struct softgpu_geometry *geometry, const struct softgpu_assembly *assembly,
                      uint32_t instance)
{
   const unsigned count = assembly->count * geometry->invocations;
   struct batch batch = {0};

   for (unsigned i = 0; i < count && !softgpu_failed(); i++) {
      const unsigned primitive = i / geometry->invocations;
      if (!has_room(geometry, &batch, assembly->size)) {
         run_batch(geometry, assembly, &batch, instance);
         batch.vertex_count = batch.primitive_count = 0;
      }
      const unsigned at = batch.primitive_count++;
      batch.primitives[at].id = assembly->primitive_ids[primitive];
      batch.primitives[at].invocation = i % geometry->invocations;
      memset(batch.primitives[at].vertices, 0, sizeof(batch.primitives[at].vertices));
      for (unsigned j = 0; j < MAX2(assembly->size, 3); j++) {
         const unsigned corner = j < assembly->size ? j : 0;
         const unsigned vertex = assembly->corners[primitive * assembly->size + corner];
         batch.primitives[at].vertices[j] = add_vertex(&batch, &assembly->vertices[vertex]);
      }
   }
   if (batch.primitive_count)
      run_batch(geometry, assembly, &batch, instance);
}
