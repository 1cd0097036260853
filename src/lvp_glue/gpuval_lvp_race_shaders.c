/* SPDX-License-Identifier: MIT */

/* What shaders could use, and have if they mark it: gpuval_nir_race.c */

#include "gpuval_lvp.h"
#include "gpuval_lvp_private.h"
#include "gpuval_lvp_race_private.h"
#include "gpuval_lvp_sets.h"

#include "gpuval/src/core/gpuval_objects.h"
#include "gpuval/src/gpuval.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"
#include "util/format/u_format.h"

/* Of a view with more, which one is used nobody knows. */
#define MAX_SUBRESOURCES 64

struct subresources {
   uint64_t base;
   const uint32_t *offsets, *strides; /* by level */
   unsigned first_level, num_levels, num_layers;
};

static struct subresources
get_subresources(const struct lp_descriptor *descriptor, uint32_t required, bool is_3d)
{
   static const uint32_t no_offset = 0;

   if (required & (GPUVAL_OFFERS_STORAGE_IMAGE | GPUVAL_OFFERS_INPUT_ATTACHMENT)) {
      const struct lp_jit_image *image = &descriptor->image;
      return (struct subresources){
         .base = image->width ? (uintptr_t)image->base : 0,
         .offsets = &no_offset,
         .strides = &image->img_stride,
         .num_levels = 1,
         .num_layers = is_3d ? 1 : MAX2(image->depth, 1),
      };
   }

   const struct lp_jit_texture *texture = &descriptor->texture;
   unsigned last = MIN2(texture->last_level, ARRAY_SIZE(texture->img_stride) - 1);
   return (struct subresources){
      .base = texture->width && texture->first_level <= last ? (uintptr_t)texture->base : 0,
      .offsets = texture->mip_offsets,
      .strides = texture->img_stride,
      .first_level = texture->first_level,
      .num_levels = last - MIN2(texture->first_level, last) + 1,
      .num_layers = is_3d ? 1 : MAX2(texture->depth, 1),
   };
}

/* The second of two addresses stands for stencil, which is read as integers. */
static unsigned
get_aspect(const struct gpuval_nir_use *use, const struct gpuval_descriptor *shadow)
{
   enum pipe_format format = shadow->format & 0xffff;

   return format < PIPE_FORMAT_COUNT && util_format_has_stencil(util_format_description(format)) &&
          !(use->required & GPUVAL_OFFERS_FLOAT);
}

/* Returns whether the shader is to mark @bit of @flag. */
static bool
note(struct gpuval_lvp_race *state, const struct gpuval_shader *shader, unsigned class_,
     uint32_t command_id, const struct gpuval_nir_use *use, const struct lvp_descriptor_set *set,
     const uint32_t *flag, uint32_t bit)
{
   const struct gpuval_descriptor *shadow =
      set && use->first_slot < set->layout->size ? gpuval_lvp_find_descriptor(use, set) : NULL;
   uint32_t type = use->required & GPUVAL_OFFERS_RESOURCES;
   if (!shadow || !(type & shadow->offers) ||
       !gpuval_objects_is_alive(gpuval_lvp_objects(state->gpuval), shadow->object))
      return false;

   const struct lp_descriptor *slots = set->map;
   const struct subresources found =
      get_subresources(&slots[use->first_slot], type,
                       (shadow->offers & GPUVAL_OFFERS_DIMENSIONS) == GPUVAL_OFFERS_3D);
   if (!found.base || found.num_levels * found.num_layers > MAX_SUBRESOURCES)
      return false;

   bool is_write = use->num_slots & GPUVAL_RACE_USE_IS_WRITE;
   struct gpuval_race_use noted = gpuval_lvp_race_use(state, command_id, class_, is_write);
   noted.op = use->num_slots >> GPUVAL_RACE_USE_OP_SHIFT;
   noted.is_atomic = use->num_slots & GPUVAL_RACE_USE_IS_ATOMIC;
   noted.site = gpuval_shader_site(shader, use->num_slots & GPUVAL_RACE_USE_SITE_MASK);
   noted.shader_serial = gpuval_shader_serial(shader);
   noted.view = shadow->object;
   noted.extent = GPUVAL_RACE_SOMEWHERE;
   gpuval_race_note(state->race, &noted, gpuval_lvp_race_before(state, class_), flag, bit, NULL);
   for (unsigned i = 0; i < found.num_levels; i++) {
      unsigned level = found.first_level + i;
      for (unsigned layer = 0; layer < found.num_layers; layer++)
         gpuval_race_note_subresource(state->race, found.base + found.offsets[level] +
                                                      (uint64_t)layer * found.strides[level] +
                                                      get_aspect(use, shadow));
   }
   return true;
}

void
gpuval_lvp_race_shaders(struct gpuval_lvp_race *state, uint32_t command_id, uint32_t stages,
                        struct lvp_shader *const *shaders, struct lvp_descriptor_set *const *sets,
                        uint32_t buffers, struct gpuval_lvp_command_data *data)
{
   uint32_t *used = NULL;

   u_foreach_bit (stage, stages & BITFIELD_MASK(ARRAY_SIZE(data->race_uses))) {
      const struct gpuval_shader *shader = shaders[stage]->pipeline_nir->gpuval;
      unsigned class_ = gpuval_order_stage_class(stage);
      uint32_t num_uses, bit = 1;
      const struct gpuval_nir_use *uses = gpuval_shader_uses(shader, &num_uses);

      data->race_uses[stage] = 0;
      for (uint32_t i = 0; i < num_uses; i++) {
         const struct gpuval_nir_use *use = &uses[i];
         if (!(use->flags & GPUVAL_USE_RACE))
            continue;

         if (!used)
            used = gpuval_race_alloc(state->race, sizeof(data->race_uses));
         const struct lvp_descriptor_set *set =
            buffers & BITFIELD_BIT(use->set) ? NULL : sets[use->set];
         if (note(state, shader, class_, command_id, use, set, &used[stage], bit))
            data->race_uses[stage] |= bit;
         bit <<= 1;
      }
   }
   data->used_address = (uintptr_t)used;
}
