/* SPDX-License-Identifier: MIT */

#include "gpuval_race_commands.h"

#include "core/order/gpuval_dependency.h"
#include "gpuval_race_queue.h"

#include "util/ralloc.h"

struct gpuval_race_commands {
   struct gpuval_race_sink sink;
   bool with_buffers;

   /* Of the command that is visited: */
   struct gpuval_race_step step;
   bool is_told;
   bool is_query_copy; /* it is vkCmdCopyQueryPoolResults() */
};

struct gpuval_race_commands *
gpuval_race_commands_create(void *mem_ctx, bool with_buffers, const struct gpuval_race_sink *sink)
{
   struct gpuval_race_commands *race = rzalloc(mem_ctx, struct gpuval_race_commands);

   race->sink = *sink;
   race->with_buffers = with_buffers;
   util_dynarray_init(&race->step.parts, race);
   return race;
}

static void
begin(void *data, const struct vk_cmd_queue_entry *command)
{
   struct gpuval_race_commands *race = data;

   race->step.type = GPUVAL_RACE_OTHER;
   util_dynarray_clear(&race->step.parts);
   race->is_told = false;
   race->is_query_copy = command->type == VK_CMD_COPY_QUERY_POOL_RESULTS;
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
      gpuval_race_add_access(&race->step.parts, access);
}

static void
begin_rendering(void *data, const VkRenderingInfo *info)
{
   struct gpuval_race_commands *race = data;

   util_dynarray_clear(&race->step.parts);
   gpuval_race_add_attachments(&race->step.parts, info);
   race->step.type = GPUVAL_RACE_BEGIN_PASS;
   race->step.flags = info->flags;
}

static void
end_rendering(void *data, const VkRenderingInfo *info)
{
   struct gpuval_race_commands *race = data;
   race->step.type = GPUVAL_RACE_END_PASS;
}

/* Has a queue learn of it, or keeps it until the command is executed. */
static void
tell(struct gpuval_race_commands *race, uint32_t command_id)
{
   race->step.command_id = race->step.last_id = command_id;
   race->sink.step(race->sink.data, &race->step);
   race->is_told = true;
}

/* In front of gpuval_order_observer, which hears of it next */
static void
dependency(void *data, const struct gpuval_command_dependency *dependency)
{
   struct gpuval_race_commands *race = data;
   const VkDependencyInfo *info = dependency->barrier;

   race->step.type = info ? GPUVAL_RACE_BARRIER : GPUVAL_RACE_EVENTS;
   race->step.events = dependency->events;
   race->step.is_for_resources = info && gpuval_race_is_for_resources(info);
   if (info)
      gpuval_race_add_barriers(&race->step.parts, info);
   else
      gpuval_race_add_events(&race->step.parts, dependency->events);
   tell(race, gpuval_race_has_transitions(&race->step.parts)
                 ? race->sink.command_id(race->sink.data)
                 : 0);
}

static void
end(void *data, const struct vk_cmd_queue_entry *command)
{
   const struct vk_cmd_clear_attachments *clear = &command->u.clear_attachments;
   struct gpuval_race_commands *race = data;

   if (race->is_told)
      return;
   if (command->type == VK_CMD_CLEAR_ATTACHMENTS) {
      race->step.type = GPUVAL_RACE_DRAW;
      race->step.attachments =
         gpuval_cleared_attachments(clear->attachment_count, clear->attachments);
   } else if (race->step.type == GPUVAL_RACE_OTHER && race->step.parts.size) {
      race->step.type = GPUVAL_RACE_USE;
   }
   tell(race, race->step.type == GPUVAL_RACE_OTHER ? 0 : race->sink.command_id(race->sink.data));
}

const struct gpuval_command_observer gpuval_race_observer = {
   .begin = begin,
   .access = note_access,
   .begin_rendering = begin_rendering,
   .end_rendering = end_rendering,
   .dependency = dependency,
   .end = end,
};
