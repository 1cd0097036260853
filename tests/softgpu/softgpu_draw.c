/* SPDX-License-Identifier: MIT */

/*
 * Draws: indices are read, and primitives assembled from vertices. What the stages make of them
 * is softgpu_tessellation.c's and softgpu_geometry.c's.
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

/* --- Stages --------------------------------------------------------------- */

/* Where a stage's registers are */
static const struct {
   uint32_t program, rings, user_data;
} stage_registers[] = {
   [SOFTGPU_HULL] = {R_00B520_SPI_SHADER_PGM_LO_LS, R_00B420_SPI_SHADER_PGM_LO_HS,
                     R_00B430_SPI_SHADER_USER_DATA_HS_0},
   [SOFTGPU_GEOMETRY] = {R_00B320_SPI_SHADER_PGM_LO_ES, R_00B220_SPI_SHADER_PGM_LO_GS,
                         R_00B230_SPI_SHADER_USER_DATA_GS_0},
};

/* The second one of two stages: compiled with the first one, or apart. Returns false where it is
 * not known.
 */
static bool
find_second(const struct softgpu_stage *stage, const struct softgpu_shader *first,
            const struct softgpu_shader **second)
{
   *second = first->second;
   if (*second || !first->next_stage)
      return true;
   const uint64_t va = stage->user_data[first->next_stage - FIRST_USER];
   *second = softgpu_find_shader(va | (uint64_t)first->address32_hi << 32, !softgpu_is_blind());
   return *second != NULL;
}

bool
softgpu_open_stage(const struct softgpu_processor *processor, enum softgpu_hardware_stage which,
                   unsigned threads, struct softgpu_stage *stage)
{
   const uint32_t stages = processor->context[CONTEXT_REG(R_028B54_VGT_SHADER_STAGES_EN)];
   const bool narrow =
      which == SOFTGPU_HULL ? G_028B54_HS_W32_EN(stages) : G_028B54_GS_W32_EN(stages);
   const struct softgpu_shader *second;
   uint64_t program = softgpu_program(&processor->sh[SH_REG(stage_registers[which].program)]);

   *stage = (struct softgpu_stage){
      .processor = processor,
      .prolog = softgpu_find_prolog(program),
      .rings = &processor->sh[SH_REG(stage_registers[which].rings)],
      .user_data = &processor->sh[SH_REG(stage_registers[which].user_data)],
      .wave_size = narrow ? 32 : 64,
   };
   if (stage->prolog)
      program = softgpu_find_main(stage->prolog, softgpu_address(stage->user_data));
   const struct softgpu_shader *first = softgpu_find_shader(program, !softgpu_is_blind());
   if (!first || !find_second(stage, first, &second))
      return false;
   stage->run = softgpu_create_merged_run(first, second, stage->wave_size,
                                          DIV_ROUND_UP(threads, stage->wave_size), SHARED_SIZE);
   return true;
}

struct softgpu_wave *
softgpu_start_stage(const struct softgpu_stage *stage, unsigned index)
{
   struct softgpu_wave *wave = &stage->run->waves[index];

   softgpu_start_wave(wave, u_uintN_max(wave->size));
   wave->sgpr_count = FIRST_USER + USER_SGPRS;
   memset(wave->sgprs, 0, sizeof(wave->sgprs));
   memcpy(wave->sgprs, stage->rings, 8);
   memcpy(wave->sgprs + FIRST_USER, stage->user_data, USER_SGPRS * 4);
   return wave;
}

/* --- Primitives ----------------------------------------------------------- */

static bool
read_index(const struct softgpu_draw *draw, unsigned size, uint32_t i, uint32_t *index)
{
   *index = 0;
   return i >= draw->index_count || softgpu_read(draw->indices + (uint64_t)i * size, index, size);
}

static void
add_primitive(struct softgpu_assembly *assembly, const uint32_t *vertices)
{
   assembly->primitive_ids[assembly->count] = assembly->count;
   memcpy(&assembly->corners[assembly->count * assembly->size], vertices,
          assembly->size * sizeof(*vertices));
   assembly->count++;
}

#define ADD(...) add_primitive(assembly, (const uint32_t[]){__VA_ARGS__})

/* Geometry shaders get what is adjacent as well, others the primitive alone. */
static void
assemble_adjacent(struct softgpu_assembly *assembly, unsigned type, uint32_t first, uint32_t count)
{
   const bool list = type == V_008958_DI_PT_LINELIST_ADJ;
   const bool alone = assembly->size < 4;

   switch (type) {
   case V_008958_DI_PT_LINELIST_ADJ:
   case V_008958_DI_PT_LINESTRIP_ADJ:
      for (uint32_t i = 0; i + 3 < count; i += list ? 4 : 1) {
         const uint32_t v = first + i;
         if (alone)
            ADD(v + 1, v + 2);
         else
            ADD(v, v + 1, v + 2, v + 3);
      }
      break;
   case V_008958_DI_PT_TRILIST_ADJ:
      for (uint32_t i = 0; i + 5 < count; i += 6) {
         const uint32_t v = first + i;
         if (alone)
            ADD(v, v + 2, v + 4);
         else
            ADD(v, v + 1, v + 2, v + 3, v + 4, v + 5);
      }
      break;
   default:
      softgpu_error("primitives of type %u are not supported", type);
   }
}

/* Vertices between restarts */
static void
assemble(struct softgpu_assembly *assembly, unsigned type, uint32_t first, uint32_t count)
{
   switch (type) {
   case V_008958_DI_PT_POINTLIST:
      for (uint32_t i = 0; i < count; i++)
         ADD(first + i);
      break;
   case V_008958_DI_PT_LINELIST:
      for (uint32_t i = 0; i + 1 < count; i += 2)
         ADD(first + i, first + i + 1);
      break;
   case V_008958_DI_PT_LINESTRIP:
      for (uint32_t i = 0; i + 1 < count; i++)
         ADD(first + i, first + i + 1);
      break;
   case V_008958_DI_PT_TRILIST:
   case V_008958_DI_PT_RECTLIST:
      for (uint32_t i = 0; i + 2 < count; i += 3)
         ADD(first + i, first + i + 1, first + i + 2);
      break;
   case V_008958_DI_PT_TRIFAN:
      for (uint32_t i = 1; i + 1 < count; i++)
         ADD(first + i, first + i + 1, first);
      break;
   case V_008958_DI_PT_TRISTRIP:
      for (uint32_t i = 0; i + 2 < count; i++)
         ADD(first + i, first + i + 1 + i % 2, first + i + 2 - i % 2);
      break;
   case V_008958_DI_PT_PATCH:
      for (uint32_t i = 0; i + assembly->size <= count; i += assembly->size) {
         uint32_t vertices[SOFTGPU_MAX_CORNERS];
         for (unsigned j = 0; j < assembly->size; j++)
            vertices[j] = first + i + j;
         add_primitive(assembly, vertices);
      }
      break;
   default:
      assemble_adjacent(assembly, type, first, count);
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

/* Of what the first stage behind vertices gets */
static unsigned
input_size(const struct softgpu_processor *processor, unsigned type)
{
   const uint32_t stages = processor->context[CONTEXT_REG(R_028B54_VGT_SHADER_STAGES_EN)];
   const uint32_t patches = processor->context[CONTEXT_REG(R_028B58_VGT_LS_HS_CONFIG)];

   if (type == V_008958_DI_PT_PATCH)
      return G_028B58_HS_NUM_INPUT_CP(patches);
   if (!G_028B54_GS_EN(stages))
      return primitive_size(type);
   switch (type) {
   case V_008958_DI_PT_LINELIST_ADJ:
   case V_008958_DI_PT_LINESTRIP_ADJ:
      return 4;
   case V_008958_DI_PT_TRILIST_ADJ:
   case V_008958_DI_PT_TRISTRIP_ADJ:
      return 6;
   default:
      return primitive_size(type);
   }
}

static bool
fetch_indices(const struct softgpu_processor *processor, const struct softgpu_draw *draw,
              struct softgpu_assembly *assembly, unsigned type)
{
   const unsigned size = softgpu_index_size(processor);
   const bool restarts =
      G_03092C_RESET_EN(processor->uconfig[UCONFIG_REG(R_03092C_GE_MULTI_PRIM_IB_RESET_EN)]);
   const uint32_t restart = processor->context[CONTEXT_REG(R_02840C_VGT_MULTI_PRIM_IB_RESET_INDX)] &
                            u_uintN_max(size * 8);
   uint32_t first = 0;

   for (uint32_t i = 0; i < draw->count; i++) {
      uint32_t *id = &assembly->vertices[i].id;
      if (!read_index(draw, size, i, id))
         return false;
      if (restarts && *id == restart) {
         assemble(assembly, type, first, i - first);
         first = i + 1;
      }
   }
   assemble(assembly, type, first, draw->count - first);
   return true;
}

static void
draw_instances(const struct softgpu_processor *processor, const struct softgpu_draw *draw,
               struct softgpu_geometry *geometry, struct softgpu_tessellation *tessellation)
{
   const unsigned type = processor->uconfig[UCONFIG_REG(R_030908_VGT_PRIMITIVE_TYPE)] & 0x3f;
   const unsigned size = input_size(processor, type);
   struct softgpu_assembly assembly = {
      .vertices = rzalloc_array(geometry, struct softgpu_vertex, draw->count),
      .corners = rzalloc_array(geometry, uint32_t, (size_t)draw->count * size),
      .primitive_ids = rzalloc_array(geometry, uint32_t, draw->count),
      .size = size,
      .output_size = primitive_size(type),
      .rectangles = type == V_008958_DI_PT_RECTLIST,
   };

   if (size == 0 || size > SOFTGPU_MAX_CORNERS) {
      softgpu_error("primitives of %u vertices", size);
      return;
   }
   if (draw->indexed) {
      if (!fetch_indices(processor, draw, &assembly, type))
         return;
   } else {
      for (uint32_t i = 0; i < draw->count; i++)
         assembly.vertices[i].id = i;
      assemble(&assembly, type, 0, draw->count);
   }
   for (uint32_t i = 0; i < draw->instances && !softgpu_failed(); i++) {
      if (tessellation)
         softgpu_tessellate(tessellation, geometry, &assembly, i);
      else
         softgpu_draw_geometry(geometry, &assembly, i);
   }
}

void
softgpu_draw(const struct softgpu_processor *processor, const struct softgpu_draw *draw)
{
   const uint32_t stages = processor->context[CONTEXT_REG(R_028B54_VGT_SHADER_STAGES_EN)];
   struct softgpu_tessellation *tessellation = NULL;

   softgpu_count(SOFTGPU_DRAWS, 1);
   if (!draw->count || !draw->instances)
      return;
   if (draw->count > MAX_VERTICES) {
      softgpu_error("a draw of %u vertices", draw->count);
      return;
   }
   struct softgpu_geometry *geometry = softgpu_create_geometry(processor);
   if (G_028B54_HS_EN(stages))
      tessellation = softgpu_create_tessellation(processor);
   if (geometry && (tessellation || !G_028B54_HS_EN(stages)))
      draw_instances(processor, draw, geometry, tessellation);
   ralloc_free(tessellation);
   ralloc_free(geometry);
}
