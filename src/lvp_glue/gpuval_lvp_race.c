/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_race.h"
#include "gpuval_lvp_facts.h"
#include "gpuval_lvp_images.h"
#include "gpuval_lvp_private.h"
#include "gpuval_lvp_sets.h"

#include "gpuval/src/core/descriptors/gpuval_objects.h"
#include "gpuval/src/core/race/gpuval_race_commands.h"
#include "gpuval/src/core/race/gpuval_race_queue.h"
#include "gpuval/src/gpuval.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"

/* lavapipe has one. */
#define QUEUE 0

struct gpuval_lvp_race {
   struct gpuval_lvp *gpuval;
   struct gpuval_race *race;
   struct gpuval_submits *submits;
   struct gpuval_race_queue *queue;
   struct gpuval_lvp_race_host *host;
};

static void
report(void *data, const struct gpuval_race_use *use, const struct gpuval_race_use *other)
{
   gpuval_device_report_race(gpuval_lvp_device(data), use, other);
}

static uint64_t
find_subresource(const struct vk_image *image, uint32_t level, uint32_t layer)
{
   return gpuval_lvp_subresource_address(container_of(image, struct lvp_image, vk), 0, level,
                                         layer);
}

static uint32_t
command_id(void *data)
{
   const struct gpuval_lvp_race *state = data;
   return gpuval_lvp_command_id(state->gpuval);
}

static void
execute(void *data, const struct gpuval_race_step *step)
{
   const struct gpuval_lvp_race *state = data;
   gpuval_race_queue_execute(state->queue, step);
}

static const struct gpuval_race_driver race_driver = {
   .find_subresource = find_subresource,
   .find_buffer = gpuval_lvp_find_buffer,
};

struct gpuval_lvp_race *
gpuval_lvp_race_create(void *mem_ctx, struct gpuval_lvp *gpuval,
                       struct vk_device_dispatch_table *table, struct gpuval_submits *submits,
                       struct gpuval_commands *commands)
{
   struct gpuval_lvp_race *state = rzalloc(mem_ctx, struct gpuval_lvp_race);
   const struct gpuval_race_sink sink = {command_id, execute, state};

   state->gpuval = gpuval;
   state->submits = submits;
   state->race = gpuval_race_create(report, gpuval);
   state->queue = gpuval_race_queue_create(state, state->race, &race_driver, submits,
                                           gpuval_lvp_objects(gpuval), QUEUE);
   state->host = gpuval_lvp_race_host_create(state, table, state->race, &race_driver, submits);
   gpuval_commands_add_observer(
      commands, &gpuval_race_observer,
      gpuval_race_commands_create(state, !gpuval_lvp_looks_at_bytes(gpuval), &sink));
   return state;
}

void
gpuval_lvp_race_destroy(struct gpuval_lvp_race *state)
{
   gpuval_lvp_race_host_destroy(state->host);
   gpuval_race_destroy(state->race);
}

struct gpuval_lvp_race_host *
gpuval_lvp_race_host(struct gpuval_lvp_race *state)
{
   return state->host;
}

void
gpuval_lvp_race_forget(struct gpuval_lvp_race *state, uint64_t address, uint64_t size)
{
   gpuval_race_forget(state->race, address, size);
}

void
gpuval_lvp_race_flush(struct gpuval_lvp_race *state)
{
   gpuval_race_flush(state->race);
   gpuval_race_queue_renew(state->queue);
}

void
gpuval_lvp_race_idle(struct gpuval_lvp_race *state, bool begins)
{
   gpuval_lvp_race_flush(state);
   gpuval_lvp_race_host_idle(state->host, begins);
   if (gpuval_race_queue_serial(state->queue) >= GPUVAL_SUBMITS_RESTART && !gpuval_options_sync())
      gpuval_submits_restart(state->submits);
   gpuval_race_queue_begin(state->queue);
}

void
gpuval_lvp_race_draw(struct gpuval_lvp_race *state, uint32_t command_id)
{
   gpuval_race_queue_draw(state->queue, command_id, ~0u);
}

/* Shaders: they have used what they mark, gpuval_nir_race.c */

/* Returns whether the shader is to mark @bit of @flag. */
static bool
note_shader(struct gpuval_lvp_race *state, uint32_t command_id, unsigned class_,
            const struct gpuval_shader *shader, const struct gpuval_nir_use *use,
            const struct lvp_descriptor_set *set, const uint32_t *flag, uint32_t bit)
{
   const struct gpuval_descriptor *descriptor =
      set && use->first_slot < set->layout->size ? gpuval_lvp_find_descriptor(use, set) : NULL;

   return descriptor && gpuval_race_queue_shader(state->queue, command_id, class_, shader, use,
                                                 descriptor, flag, bit);
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
         if (note_shader(state, command_id, class_, shader, use, set, &used[stage], bit))
            data->race_uses[stage] |= bit;
         bit <<= 1;
      }
   }
   data->used_address = (uintptr_t)used;
}
