/* SPDX-License-Identifier: MIT */

/*
 * Draws: vertices are fetched and shaded, primitives assembled from them. The vertex shader is
 * what GFX11 has: a workgroup (NGG) whose lanes are vertices first, and then primitives. It
 * exports positions, attributes and primitives. Here a workgroup has one wave.
 */

#include "softgpu_draw.h"
#include "softgpu_counters.h"

#include <string.h>

#include "util/ralloc.h"
#include "util/u_math.h"

#define MAX_VERTICES (1u << 20) /* of an instance */
#define FIRST_USER   8          /* SGPRs ahead of the user's */
#define USER_SGPRS   32
#define SHARED_SIZE  65536

/* What is drawn, instance by instance: positions in `ids` */
struct assembly {
   uint32_t *ids; /* of vertices */
   uint32_t (*primitives)[3];
   unsigned primitive_count;
   unsigned size; /* of a primitive, in vertices */
};

/* What a workgroup takes */
struct batch {
   unsigned vertex_count;
   unsigned primitive_count;
   uint32_t vertices[SOFTGPU_MAX_LANES];
   uint8_t primitives[SOFTGPU_MAX_LANES][3];
   uint32_t primitive_ids[SOFTGPU_MAX_LANES];
};

void
softgpu_set_vgpr(struct softgpu_wave *wave, struct ac_arg arg, unsigned component, unsigned lane,
                 uint32_t value)
{
   const struct ac_shader_args *args = &wave->shader->args;

   if (arg.used && !args->args[arg.arg_index].skip)
      wave->vgprs[(args->args[arg.arg_index].offset + component) * wave->size + lane] = value;
}

void
softgpu_set_sgpr(struct softgpu_wave *wave, struct ac_arg arg, uint32_t value)
{
   if (arg.used)
      wave->sgprs[wave->shader->args.args[arg.arg_index].offset] = value;
}

uint32_t
softgpu_get_sgpr(const struct softgpu_wave *wave, struct ac_arg arg)
{
   return arg.used ? wave->sgprs[wave->shader->args.args[arg.arg_index].offset] : 0;
}

/* --- Primitives ----------------------------------------------------------- */

static bool
read_index(const struct softgpu_draw *draw, unsigned size, uint32_t i, uint32_t *index)
{
   *index = 0;
   return i >= draw->index_count || softgpu_read(draw->indices + (uint64_t)i * size, index, size);
}

static void
add_primitive(struct assembly *assembly, uint32_t a, uint32_t b, uint32_t c)
{
   const uint32_t primitive[3] = {a, b, c};
   memcpy(assembly->primitives[assembly->primitive_count++], primitive, sizeof(primitive));
}

/* Vertices between restarts; of adjacency, geometry shaders only know. */
static void
assemble(struct assembly *assembly, unsigned type, uint32_t first, uint32_t count)
{
   switch (type) {
   case V_008958_DI_PT_POINTLIST:
      for (uint32_t i = 0; i < count; i++)
         add_primitive(assembly, first + i, first + i, first + i);
      break;
   case V_008958_DI_PT_LINELIST:
      for (uint32_t i = 0; i + 1 < count; i += 2)
         add_primitive(assembly, first + i, first + i + 1, first + i);
      break;
   case V_008958_DI_PT_LINESTRIP:
      for (uint32_t i = 0; i + 1 < count; i++)
         add_primitive(assembly, first + i, first + i + 1, first + i);
      break;
   case V_008958_DI_PT_LINELIST_ADJ:
      for (uint32_t i = 0; i + 3 < count; i += 4)
         add_primitive(assembly, first + i + 1, first + i + 2, first + i + 1);
      break;
   case V_008958_DI_PT_LINESTRIP_ADJ:
      for (uint32_t i = 0; i + 3 < count; i++)
         add_primitive(assembly, first + i + 1, first + i + 2, first + i + 1);
      break;
   case V_008958_DI_PT_TRILIST:
   case V_008958_DI_PT_RECTLIST:
      for (uint32_t i = 0; i + 2 < count; i += 3)
         add_primitive(assembly, first + i, first + i + 1, first + i + 2);
      break;
   case V_008958_DI_PT_TRIFAN:
      for (uint32_t i = 1; i + 1 < count; i++)
         add_primitive(assembly, first + i, first + i + 1, first);
      break;
   case V_008958_DI_PT_TRISTRIP:
      for (uint32_t i = 0; i + 2 < count; i++)
         add_primitive(assembly, first + i, first + i + 1 + i % 2, first + i + 2 - i % 2);
      break;
   case V_008958_DI_PT_TRILIST_ADJ:
      for (uint32_t i = 0; i + 5 < count; i += 6)
         add_primitive(assembly, first + i, first + i + 2, first + i + 4);
      break;
   default:
      softgpu_error("primitives of type %u are not supported", type);
   }
}

static unsigned
primitive_size(unsigned type)
{
   switch (type) {
   case V_008958_DI_PT_POINTLIST:
      return 1;
   case V_008958_DI_PT_LINELIST:
   case V_008958_DI_PT_LINESTRIP:
   case V_008958_DI_PT_LINELIST_ADJ:
   case V_008958_DI_PT_LINESTRIP_ADJ:
      return 2;
   default:
      return 3;
   }
}

static bool
fetch_indices(const struct softgpu_processor *processor, const struct softgpu_draw *draw,
              struct assembly *assembly, unsigned type)
{
   const unsigned size = softgpu_index_size(processor);
   const bool restarts =
      G_03092C_RESET_EN(processor->uconfig[UCONFIG_REG(R_03092C_GE_MULTI_PRIM_IB_RESET_EN)]);
   const uint32_t restart = processor->context[CONTEXT_REG(R_02840C_VGT_MULTI_PRIM_IB_RESET_INDX)] &
                            u_uintN_max(size * 8);
   uint32_t first = 0;

   for (uint32_t i = 0; i < draw->count; i++) {
      if (!read_index(draw, size, i, &assembly->ids[i]))
         return false;
      if (restarts && assembly->ids[i] == restart) {
         assemble(assembly, type, first, i - first);
         first = i + 1;
      }
   }
   assemble(assembly, type, first, draw->count - first);
   return true;
}

/* --- Vertices ------------------------------------------------------------- */

static unsigned
add_vertex(struct batch *batch, uint32_t id)
{
   for (unsigned i = 0; i < batch->vertex_count; i++) {
      if (batch->vertices[i] == id)
         return i;
   }
   batch->vertices[batch->vertex_count] = id;
   return batch->vertex_count++;
}

/* What the shader gets as a primitive's vertices: packed for the export in passthrough, else in
 * halves of registers.
 */
static void
set_primitive(struct softgpu_wave *wave, const struct batch *batch, unsigned lane, unsigned size,
              bool passthrough)
{
   const struct ac_shader_args *args = &wave->shader->args;
   const uint8_t *vertices = batch->primitives[lane];
   uint32_t packed = 0;

   for (unsigned i = 0; i < size; i++)
      packed |= (uint32_t)vertices[i] << i * 10;
   softgpu_set_vgpr(wave, args->gs_vtx_offset[0], 0, lane,
                    passthrough ? packed : vertices[0] | (uint32_t)vertices[1] << 16);
   softgpu_set_vgpr(wave, args->gs_vtx_offset[1], 0, lane, vertices[2]);
   softgpu_set_vgpr(wave, args->gs_prim_id, 0, lane, batch->primitive_ids[lane]);
}

static void
run_batch(const struct softgpu_processor *processor, struct softgpu_run *run,
          const struct softgpu_prolog *prolog, const struct batch *batch, uint32_t instance,
          unsigned size)
{
   const uint32_t *sh = processor->sh;
   const uint32_t stages = processor->context[CONTEXT_REG(R_028B54_VGT_SHADER_STAGES_EN)];
   struct softgpu_wave *wave = &run->waves[0];
   const struct ac_shader_args *args = &wave->shader->args;
   struct softgpu_exports exports = {0};

   softgpu_start_wave(wave, u_uintN_max(wave->size));
   wave->exports = &exports;
   wave->sgpr_count = FIRST_USER + USER_SGPRS;
   memset(wave->sgprs, 0, sizeof(wave->sgprs));
   memcpy(wave->sgprs, &sh[SH_REG(R_00B220_SPI_SHADER_PGM_LO_GS)], 8);
   memcpy(wave->sgprs + FIRST_USER, &sh[SH_REG(R_00B230_SPI_SHADER_USER_DATA_GS_0)],
          USER_SGPRS * 4);
   softgpu_set_sgpr(wave, args->gs_tg_info,
                    batch->vertex_count << 12 | batch->primitive_count << 22);
   softgpu_set_sgpr(wave, args->merged_wave_info,
                    batch->vertex_count | batch->primitive_count << 8 | 1u << 28);

   for (unsigned lane = 0; lane < batch->vertex_count; lane++) {
      softgpu_set_vgpr(wave, args->vertex_id, 0, lane, batch->vertices[lane]);
      softgpu_set_vgpr(wave, args->instance_id, 0, lane, instance);
   }
   for (unsigned lane = 0; lane < batch->primitive_count; lane++)
      set_primitive(wave, batch, lane, size, G_028B54_PRIMGEN_PASSTHRU_EN(stages));

   if (prolog)
      softgpu_run_prolog(prolog, wave, softgpu_address(wave->sgprs + FIRST_USER), batch->vertices,
                         batch->vertex_count, instance);
   run->group.wave_count = 1;
   softgpu_execute_group(run);
   softgpu_draw_pixels(processor, &exports, size,
                       (processor->uconfig[UCONFIG_REG(R_030908_VGT_PRIMITIVE_TYPE)] & 0x3f) ==
                          V_008958_DI_PT_RECTLIST);
}

static void
draw_instance(const struct softgpu_processor *processor, struct softgpu_run *run,
              const struct softgpu_prolog *prolog, const struct assembly *assembly,
              uint32_t instance)
{
   const unsigned lanes = run->waves[0].size;
   struct batch batch = {0};

   for (unsigned i = 0; i < assembly->primitive_count && !softgpu_failed(); i++) {
      if (batch.vertex_count + assembly->size > lanes || batch.primitive_count == lanes) {
         run_batch(processor, run, prolog, &batch, instance, assembly->size);
         memset(&batch, 0, sizeof(batch));
      }
      const unsigned at = batch.primitive_count++;
      batch.primitive_ids[at] = i;
      for (unsigned j = 0; j < 3; j++)
         batch.primitives[at][j] =
            (uint8_t)add_vertex(&batch, assembly->ids[assembly->primitives[i][j]]);
   }
   if (batch.primitive_count)
      run_batch(processor, run, prolog, &batch, instance, assembly->size);
}

void
softgpu_draw(const struct softgpu_processor *processor, const struct softgpu_draw *draw)
{
   const unsigned type = processor->uconfig[UCONFIG_REG(R_030908_VGT_PRIMITIVE_TYPE)] & 0x3f;
   const uint32_t stages = processor->context[CONTEXT_REG(R_028B54_VGT_SHADER_STAGES_EN)];
   uint64_t program = softgpu_program(&processor->sh[SH_REG(R_00B320_SPI_SHADER_PGM_LO_ES)]);
   const struct softgpu_prolog *prolog = softgpu_find_prolog(program);

   softgpu_count(SOFTGPU_DRAWS, 1);
   if (prolog)
      program = softgpu_find_main(
         prolog, softgpu_address(&processor->sh[SH_REG(R_00B230_SPI_SHADER_USER_DATA_GS_0)]));
   const struct softgpu_shader *shader = softgpu_find_shader(program, !softgpu_is_blind());

   if (!draw->count || !draw->instances || !shader)
      return;
   if (draw->count > MAX_VERTICES) {
      softgpu_error("a draw of %u vertices", draw->count);
      return;
   }
   struct softgpu_run *run =
      softgpu_create_run(shader, G_028B54_GS_W32_EN(stages) ? 32 : 64, 1, SHARED_SIZE);
   struct assembly assembly = {
      .ids = rzalloc_array(run, uint32_t, draw->count),
      .primitives = ralloc_size(run, draw->count * sizeof(*assembly.primitives)),
      .size = primitive_size(type),
   };
   if (draw->indexed) {
      if (!fetch_indices(processor, draw, &assembly, type))
         assembly.primitive_count = 0;
   } else {
      for (uint32_t i = 0; i < draw->count; i++)
         assembly.ids[i] = i;
      assemble(&assembly, type, 0, draw->count);
   }
   for (uint32_t i = 0; i < draw->instances && !softgpu_failed(); i++)
      draw_instance(processor, run, prolog, &assembly, i);
   ralloc_free(run);
}
