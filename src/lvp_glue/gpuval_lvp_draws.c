/* SPDX-License-Identifier: MIT */

/* A command that draws several times (VK_EXT_multi_draw, indirect) reaches llvmpipe as one
 * call, all of whose draws would have the id of the command. Here each gets one of its own,
 * and the command data with it: util_draw_indirect() makes a call of each by itself, and
 * those of VK_EXT_multi_draw are handed on one by one.
 */

#include "gpuval_lvp_draws.h"
#include "gpuval_lvp_nir.h"

#include "gpuval/src/compat/gpuval_lvp_driver.h"

struct gpuval_lvp_draws {
   struct gpuval_lvp_commands *commands;
   struct gpuval_device *device;
   struct u_upload_mgr *uploader;
   void (*draw_vbo)(struct pipe_context *context, const struct pipe_draw_info *info,
                    unsigned drawid_offset, const struct pipe_draw_indirect_info *indirect,
                    const struct pipe_draw_start_count_bias *draws, unsigned num_draws);

   struct gpuval_lvp_command command; /* the last one */
   uint32_t stages;
   uint8_t *constants;
   bool is_indirect; /* each call is one of its draws */
};

/* The next draw of the command is the one with that number. */
static void
begin_draw(struct gpuval_lvp_draws *draws, struct pipe_context *context, uint32_t number)
{
   struct gpuval_command_data *data = (void *)(draws->constants + GPUVAL_LVP_COMMAND_DATA_OFFSET);
   struct gpuval_lvp_command command = draws->command;

   command.draw = number + 1;
   data->command_id = gpuval_lvp_commands_add(draws->commands, &command);
   gpuval_device_shadow_draw(draws->device, data);

   u_foreach_bit (stage, draws->stages) {
      /* Without memory it keeps the id of the one before. */
      gpuval_lvp_upload_constants(context, draws->uploader, stage, draws->constants,
                                  GPUVAL_LVP_CONSTANTS_SIZE);
   }
}

static void
draw_each(struct gpuval_lvp_draws *draws, struct pipe_context *context,
          const struct pipe_draw_info *info, unsigned drawid_offset,
          const struct pipe_draw_start_count_bias *list, unsigned count)
{
   for (unsigned i = 0; i < count; i++) {
      struct pipe_draw_start_count_bias draw = list[i];

      if (!info->index_bias_varies)
         draw.index_bias = list[0].index_bias;
      begin_draw(draws, context, i);
      draws->draw_vbo(context, info, drawid_offset + (info->increment_draw_id ? i : 0), NULL, &draw,
                      1);
   }
}

/* What draws without state of ours, as blits do, is one draw. */
static void
draw_vbo(struct pipe_context *context, const struct pipe_draw_info *info, unsigned drawid_offset,
         const struct pipe_draw_indirect_info *indirect,
         const struct pipe_draw_start_count_bias *list, unsigned count)
{
   struct gpuval_lvp_draws *draws = context->priv;

   if (draws->stages && indirect && indirect->buffer && indirect->draw_count > 1) {
      draws->is_indirect = true;
      draws->draw_vbo(context, info, drawid_offset, indirect, list, count);
      draws->is_indirect = false;
   } else if (draws->stages && !indirect && count > 1) {
      draw_each(draws, context, info, drawid_offset, list, count);
   } else {
      if (draws->is_indirect)
         begin_draw(draws, context, drawid_offset);
      draws->draw_vbo(context, info, drawid_offset, indirect, list, count);
   }
}

struct gpuval_lvp_draws *
gpuval_lvp_draws_create(void *mem_ctx, struct lvp_device *device,
                        struct gpuval_lvp_commands *commands, struct gpuval_device *gpuval)
{
   struct gpuval_lvp_draws *draws = rzalloc(mem_ctx, struct gpuval_lvp_draws);
   struct pipe_context *context = device->queue.ctx;

   assert(!context->priv);
   draws->commands = commands;
   draws->device = gpuval;
   draws->uploader = device->queue.uploader;
   draws->draw_vbo = context->draw_vbo;
   context->priv = draws;
   context->draw_vbo = draw_vbo;
   return draws;
}

void
gpuval_lvp_draws_emit(struct gpuval_lvp_draws *draws, const struct gpuval_lvp_command *command,
                      uint32_t stages, uint8_t *constants)
{
   draws->command = *command;
   draws->stages = stages & LVP_STAGE_MASK_GFX;
   draws->constants = constants;
}
