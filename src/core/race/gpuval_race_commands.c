/* SPDX-License-Identifier: MIT */

#include "gpuval_race_commands.h"

#include "core/order/gpuval_dependency.h"
#include "gpuval_race_queue.h"

#include "util/ralloc.h"

struct gpuval_race_commands {
   struct gpuval_race_queue *queue;
   bool with_buffers;
   gpuval_command_id_function command_id;
   void *data;

   struct util_dynarray parts; /* of the command that is visited: struct gpuval_race_part */
   bool is_query_copy;         /* it is vkCmdCopyQueryPoolResults(), */
   bool is_noted;              /* and the queue knows of it */
};

struct gpuval_race_commands *
gpuval_race_commands_create(void *mem_ctx, struct gpuval_race_queue *queue, bool with_buffers,
                            gpuval_command_id_function command_id, void *data)
{
   struct gpuval_race_commands *race = rzalloc(mem_ctx, struct gpuval_race_commands);

   race->queue = queue;
   race->with_buffers = with_buffers;
   race->command_id = command_id;
   race->data = data;
   util_dynarray_init(&race->parts, race);
   return race;
}

static void
begin(void *data, const struct vk_cmd_queue_entry *command)
{
   struct gpuval_race_commands *race = data;

   util_dynarray_clear(&race->parts);
   race->is_query_copy = command->type == VK_CMD_COPY_QUERY_POOL_RESULTS;
   race->is_noted = false;
}

/* Takes those of copies, blits, resolves, clears, fills and updates. Other bytes of buffers are
 * not looked at by `race`.
 */
static void
note_access(void *data, const struct gpuval_command_access *access)
{
   const VkPipelineStageFlags2 transfers =
      VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_BLIT_BIT |
      VK_PIPELINE_STAGE_2_RESOLVE_BIT | VK_PIPELINE_STAGE_2_CLEAR_BIT;
   struct gpuval_race_commands *race = data;

   if (!access->image && !race->with_buffers)
      return;
   if (!(access->stages & ~transfers) && !race->is_query_copy)
      gpuval_race_add_access(&race->parts, access);
}

static void
begin_rendering(void *data, const VkRenderingInfo *info)
{
   struct gpuval_race_commands *race = data;

   util_dynarray_clear(&race->parts);
   gpuval_race_add_attachments(&race->parts, info);
   gpuval_race_queue_begin_pass(race->queue, race->command_id(race->data), info->flags,
                                &race->parts);
   race->is_noted = true;
}

static void
end_rendering(void *data, const VkRenderingInfo *info)
{
   struct gpuval_race_commands *race = data;

   gpuval_race_queue_end_pass(race->queue, race->command_id(race->data));
   race->is_noted = true;
}

static void
dependency(void *data, const struct gpuval_command_dependency *dependency)
{
   struct gpuval_race_commands *race = data;
   const VkDependencyInfo *info = dependency->barrier;

   if (info)
      gpuval_race_add_barriers(&race->parts, info);
   else
      gpuval_race_add_events(&race->parts, dependency->events);
   uint32_t command_id =
      gpuval_race_has_transitions(&race->parts) ? race->command_id(race->data) : 0;

   if (info)
      gpuval_race_queue_barrier(race->queue, command_id, gpuval_race_is_for_resources(info),
                                &race->parts);
   else
      gpuval_race_queue_events(race->queue, command_id, dependency->events, &race->parts);
   race->is_noted = true;
}

static void
end(void *data, const struct vk_cmd_queue_entry *command)
{
   struct gpuval_race_commands *race = data;

   if (race->is_noted)
      return;
   if (command->type == VK_CMD_CLEAR_ATTACHMENTS) {
      const struct vk_cmd_clear_attachments *clear = &command->u.clear_attachments;
      gpuval_race_queue_draw(
         race->queue, race->command_id(race->data),
         gpuval_cleared_attachments(clear->attachment_count, clear->attachments));
   }
   if (race->parts.size)
      gpuval_race_queue_use(race->queue, race->command_id(race->data), &race->parts);
   else
      gpuval_race_queue_other(race->queue);
}

const struct gpuval_command_observer gpuval_race_observer = {
   .begin = begin,
   .access = note_access,
   .begin_rendering = begin_rendering,
   .end_rendering = end_rendering,
   .dependency = dependency,
   .end = end,
};
