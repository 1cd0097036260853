/* SPDX-License-Identifier: MIT */

#include "gpuval_radv_walk.h"

#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_query.h"

#include "gpuval/src/compat/gpuval_runtime.h"
#include "gpuval/src/core/structures/gpuval_structures.h"
#include "util/ralloc.h"

static uint64_t
query_size(VkQueryPool handle, VkQueryResultFlags flags)
{
   VK_FROM_HANDLE(radv_query_pool, pool, handle);
   return gpuval_query_size(pool->vk.query_type, pool->vk.pipeline_statistics, flags);
}

static const struct gpuval_command_driver driver = {.query_size = query_size};

void
gpuval_radv_init_walk(struct gpuval_radv *gpuval)
{
   gpuval->visits_commands =
      gpuval_radv_needs_notes(gpuval) || gpuval_device_structures(gpuval->device);
}

static struct gpuval_radv_walk *
get_walk(struct radv_cmd_buffer *cmd_buffer)
{
   void *mem_ctx;
   struct gpuval_radv_walk **walk = gpuval_radv_walk(cmd_buffer, &mem_ctx);

   if (!*walk) {
      *walk = rzalloc(mem_ctx, struct gpuval_radv_walk);
      (*walk)->cmd_buffer = cmd_buffer;
      (*walk)->commands = gpuval_commands_create(*walk, &driver);
      gpuval_radv_observe_init(*walk);
      gpuval_radv_observe_race(*walk);
      gpuval_radv_observe_order(*walk);
      gpuval_radv_observe_structures(*walk);
      gpuval_radv_observe_bytes(*walk);
   }
   return *walk;
}

void
gpuval_radv_visit_command(struct radv_cmd_buffer *cmd_buffer, const char *op,
                          const struct vk_cmd_queue_entry *command)
{
   struct gpuval_radv_walk *walk = get_walk(cmd_buffer);
   if (walk->is_divided || gpuval_radv_is_in_action(cmd_buffer))
      return;

   walk->op = op;
   walk->has_id = false;
   walk->awaits_draw |= command->type == VK_CMD_BEGIN_RENDERING;
   walk->awaits_draw &= command->type != GPUVAL_CMD_END_RENDERING;
   gpuval_commands_visit(walk->commands, command);
}

void
gpuval_radv_visit_wait(struct radv_cmd_buffer *cmd_buffer, uint32_t count, const VkEvent *events,
                       const VkDependencyInfo *infos)
{
   if (!radv_cmd_buffer_device(cmd_buffer)->gpuval->visits_commands ||
       get_walk(cmd_buffer)->is_divided)
      return;

   gpuval_radv_visit_command(
      cmd_buffer, "wait_events",
      &(const struct vk_cmd_queue_entry){
         .type = VK_CMD_WAIT_EVENTS2,
         .driver_data = gpuval_radv_create_dependency(cmd_buffer, count, events, infos),
      });
}

void
gpuval_radv_divide_command(struct radv_cmd_buffer *cmd_buffer, bool is_divided)
{
   if (radv_cmd_buffer_device(cmd_buffer)->gpuval->visits_commands)
      get_walk(cmd_buffer)->is_divided = is_divided;
}

void
gpuval_radv_visit_draw(struct radv_cmd_buffer *cmd_buffer)
{
   static const struct vk_cmd_queue_entry draw = {.type = VK_CMD_DRAW};
   void *mem_ctx;
   struct gpuval_radv_walk *walk = *gpuval_radv_walk(cmd_buffer, &mem_ctx);

   if (!walk || !walk->awaits_draw)
      return;
   walk->awaits_draw = false;
   gpuval_commands_visit(walk->commands, &draw);
}

void
gpuval_radv_end_command(struct radv_cmd_buffer *cmd_buffer)
{
   void *mem_ctx;
   struct gpuval_radv_walk *walk = *gpuval_radv_walk(cmd_buffer, &mem_ctx);

   if (walk && walk->init && !walk->is_divided)
      gpuval_radv_discard_images(walk->init);
}

uint32_t
gpuval_radv_visited_id(void *data)
{
   struct gpuval_radv_walk *walk = data;

   if (!walk->has_id)
      walk->has_id = gpuval_radv_identify_command(walk->cmd_buffer, walk->op, &walk->command_id);
   return walk->command_id;
}
