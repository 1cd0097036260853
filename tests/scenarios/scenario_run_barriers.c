/* SPDX-License-Identifier: MIT */

/*
 * Barriers and events, and the scopes of all synchronization.
 */

#include "scenario_run.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BARRIERS 8

/* --- Scopes --------------------------------------------------------------- */

struct flag {
   const char *name;
   uint64_t bit;
};

static const struct flag stage_flags[] = {
   {"none", 0},
   {"top", VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT},
   {"draw_indirect", VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT},
   {"vertex_input", VK_PIPELINE_STAGE_2_VERTEX_INPUT_BIT},
   {"vertex", VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT},
   {"tess_control", VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT},
   {"tess_eval", VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT},
   {"geometry", VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT},
   {"task", VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_EXT},
   {"mesh", VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_EXT},
   {"fragment", VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT},
   {"early_tests", VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT},
   {"late_tests", VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT},
   {"color_output", VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT},
   {"compute", VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT},
   {"rays", VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR},
   {"transfer", VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT},
   {"host", VK_PIPELINE_STAGE_2_HOST_BIT},
   {"bottom", VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT},
   {"all_graphics", VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT},
   {"all", VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT},
   /* Only with the calls of synchronization2 */
   {"copy", VK_PIPELINE_STAGE_2_COPY_BIT},
   {"clear", VK_PIPELINE_STAGE_2_CLEAR_BIT},
   {"index_input", VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT},
   {"vertex_attribute_input", VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT},
   {"transform_feedback", VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT},
   {"conditional_rendering", VK_PIPELINE_STAGE_2_CONDITIONAL_RENDERING_BIT_EXT},
   {"structure_build", VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR},
   {"pre_rasterization", VK_PIPELINE_STAGE_2_PRE_RASTERIZATION_SHADERS_BIT},
};

static const struct flag access_flags[] = {
   {"none", 0},
   {"indirect_read", VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT},
   {"index_read", VK_ACCESS_2_INDEX_READ_BIT},
   {"attribute_read", VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT},
   {"counter_read", VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_READ_BIT_EXT},
   {"counter_write", VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT},
   {"feedback_write", VK_ACCESS_2_TRANSFORM_FEEDBACK_WRITE_BIT_EXT},
   {"predicate_read", VK_ACCESS_2_CONDITIONAL_RENDERING_READ_BIT_EXT},
   {"structure_read", VK_ACCESS_2_ACCELERATION_STRUCTURE_READ_BIT_KHR},
   {"structure_write", VK_ACCESS_2_ACCELERATION_STRUCTURE_WRITE_BIT_KHR},
   {"uniform_read", VK_ACCESS_2_UNIFORM_READ_BIT},
   {"shader_read", VK_ACCESS_2_SHADER_READ_BIT},
   {"shader_write", VK_ACCESS_2_SHADER_WRITE_BIT},
   {"color_read", VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT},
   {"color_write", VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT},
   {"depth_read", VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT},
   {"depth_write", VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT},
   {"input_read", VK_ACCESS_2_INPUT_ATTACHMENT_READ_BIT},
   {"transfer_read", VK_ACCESS_2_TRANSFER_READ_BIT},
   {"transfer_write", VK_ACCESS_2_TRANSFER_WRITE_BIT},
   {"host_read", VK_ACCESS_2_HOST_READ_BIT},
   {"host_write", VK_ACCESS_2_HOST_WRITE_BIT},
   {"memory_read", VK_ACCESS_2_MEMORY_READ_BIT},
   {"memory_write", VK_ACCESS_2_MEMORY_WRITE_BIT},
   {"sampled_read", VK_ACCESS_2_SHADER_SAMPLED_READ_BIT},
   {"storage_read", VK_ACCESS_2_SHADER_STORAGE_READ_BIT},
   {"storage_write", VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT},
};

/* NAME|NAME… */
static uint64_t
read_flags(struct run *run, const char *text, const struct flag *flags, unsigned flag_count)
{
   uint64_t bits = 0;
   char *copy = scenario_format("%s", text);
   char *rest = copy;
   char *part;

   while ((part = strsep(&rest, "|"))) {
      unsigned i = 0;
      while (i < flag_count && strcmp(flags[i].name, part) != 0)
         i++;
      if (i == flag_count)
         RUN_ERROR(run, "%s is neither a stage nor an access that is known here", part);
      bits |= flags[i].bit;
   }
   free(copy);
   return bits;
}

struct run_scope
run_read_scope(struct run *run, const char *text)
{
   struct run_scope scope = {0};
   char *copy = scenario_format("%s", text);
   char *access = copy;
   const char *stages = strsep(&access, ":");

   scope.stages = read_flags(run, stages, stage_flags, VKH_COUNT(stage_flags));
   if (access)
      scope.access = read_flags(run, access, access_flags, VKH_COUNT(access_flags));
   free(copy);
   return scope;
}

/* --- Barriers ------------------------------------------------------------- */

struct dependency {
   struct run_scope src, dst; /* of the first barrier */
   bool sync1;
   VkMemoryBarrier2 memory[MAX_BARRIERS];
   VkBufferMemoryBarrier2 buffers[MAX_BARRIERS];
   VkImageMemoryBarrier2 images[MAX_BARRIERS];
   VkDependencyInfo info;
};

static void
add_barrier(struct run *run, struct dependency *d, const char *kind, struct run_scope src,
            struct run_scope dst)
{
   const bool execution = strcmp(kind, "execution") == 0;
   unsigned from, to;
   int name = 0;

   if (strcmp(kind, "memory") == 0 || (execution && !d->sync1)) {
      d->memory[d->info.memoryBarrierCount++] = (VkMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
         .srcStageMask = src.stages,
         .srcAccessMask = execution ? 0 : src.access,
         .dstStageMask = dst.stages,
         .dstAccessMask = execution ? 0 : dst.access,
      };
   } else if (strncmp(kind, "buffer=", 7) == 0) {
      const struct run_item item = run_parse_item(run, kind + 7);
      d->buffers[d->info.bufferMemoryBarrierCount++] = (VkBufferMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
         .srcStageMask = src.stages,
         .srcAccessMask = src.access,
         .dstStageMask = dst.stages,
         .dstAccessMask = dst.access,
         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .buffer = item.buffer.buffer,
         .offset = item.buffer.offset,
         .size = item.buffer.range,
      };
   } else if (sscanf(kind, "transfer=%u>%u:%n", &from, &to, &name) == 2 && name) {
      if (from >= run->ctx->queue_count || to >= run->ctx->queue_count)
         RUN_ERROR(run, "there is no such queue");
      d->buffers[d->info.bufferMemoryBarrierCount++] = (VkBufferMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
         .srcStageMask = src.stages,
         .srcAccessMask = src.access,
         .dstStageMask = dst.stages,
         .dstAccessMask = dst.access,
         .srcQueueFamilyIndex = run->ctx->queues[from].family,
         .dstQueueFamilyIndex = run->ctx->queues[to].family,
         .buffer = run_find_buffer(run, kind + name)->vk.buffer,
         .size = VK_WHOLE_SIZE,
      };
   } else if (strcmp(kind, "image") == 0) {
      d->images[d->info.imageMemoryBarrierCount++] = (VkImageMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
         .srcStageMask = src.stages,
         .srcAccessMask = src.access,
         .dstStageMask = dst.stages,
         .dstAccessMask = dst.access,
         .oldLayout = VK_IMAGE_LAYOUT_GENERAL,
         .newLayout = VK_IMAGE_LAYOUT_GENERAL,
         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .image = run->color.image,
         .subresourceRange = {run->color.aspect, 0, 1, 0, 1},
      };
   } else if (strncmp(kind, "image=", 6) == 0 || strncmp(kind, "discard=", 8) == 0) {
      const bool discards = kind[0] == 'd';
      const struct run_image *image = run_find_image(run, strchr(kind, '=') + 1);
      d->images[d->info.imageMemoryBarrierCount++] = (VkImageMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
         .srcStageMask = src.stages,
         .srcAccessMask = src.access,
         .dstStageMask = dst.stages,
         .dstAccessMask = dst.access,
         .oldLayout = discards ? VK_IMAGE_LAYOUT_UNDEFINED : VK_IMAGE_LAYOUT_GENERAL,
         .newLayout = VK_IMAGE_LAYOUT_GENERAL,
         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .image = image->image,
         .subresourceRange = {run_image_aspects(image), 0, VK_REMAINING_MIP_LEVELS, 0,
                              VK_REMAINING_ARRAY_LAYERS},
      };
   } else if (!execution) {
      RUN_ERROR(run, "%s is no kind of barrier", kind);
   }
}

/* [sync1] KIND SRC DST [KIND SRC DST …] from word `first` on */
static void
read_dependency(struct run *run, unsigned first, struct dependency *d)
{
   *d = (struct dependency){.info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO};
   d->info.pMemoryBarriers = d->memory;
   d->info.pBufferMemoryBarriers = d->buffers;
   d->info.pImageMemoryBarriers = d->images;

   d->sync1 = strcmp(run_word(run, first), "sync1") == 0;
   first += d->sync1;
   d->src = run_read_scope(run, run_word(run, first + 1));
   d->dst = run_read_scope(run, run_word(run, first + 2));
   for (unsigned i = 0; run_has_word(run, first + i * 3); i++) {
      const char *kind = run_word(run, first + i * 3);
      if (i == MAX_BARRIERS)
         RUN_ERROR(run, "too many barriers");
      add_barrier(run, d, kind, run_read_scope(run, run_word(run, first + i * 3 + 1)),
                  run_read_scope(run, run_word(run, first + i * 3 + 2)));
   }
}

/* The same in the structs of Vulkan 1.0 */
struct dependency1 {
   VkMemoryBarrier memory[MAX_BARRIERS];
   VkBufferMemoryBarrier buffers[MAX_BARRIERS];
   VkImageMemoryBarrier images[MAX_BARRIERS];
};

static void
fill_sync1(const struct dependency *d, struct dependency1 *out)
{
   for (unsigned i = 0; i < d->info.memoryBarrierCount; i++) {
      out->memory[i] = (VkMemoryBarrier){
         .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
         .srcAccessMask = (VkAccessFlags)d->memory[i].srcAccessMask,
         .dstAccessMask = (VkAccessFlags)d->memory[i].dstAccessMask,
      };
   }
   for (unsigned i = 0; i < d->info.bufferMemoryBarrierCount; i++) {
      out->buffers[i] = (VkBufferMemoryBarrier){
         .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
         .srcAccessMask = (VkAccessFlags)d->buffers[i].srcAccessMask,
         .dstAccessMask = (VkAccessFlags)d->buffers[i].dstAccessMask,
         .srcQueueFamilyIndex = d->buffers[i].srcQueueFamilyIndex,
         .dstQueueFamilyIndex = d->buffers[i].dstQueueFamilyIndex,
         .buffer = d->buffers[i].buffer,
         .offset = d->buffers[i].offset,
         .size = d->buffers[i].size,
      };
   }
   for (unsigned i = 0; i < d->info.imageMemoryBarrierCount; i++) {
      out->images[i] = (VkImageMemoryBarrier){
         .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
         .srcAccessMask = (VkAccessFlags)d->images[i].srcAccessMask,
         .dstAccessMask = (VkAccessFlags)d->images[i].dstAccessMask,
         .oldLayout = d->images[i].oldLayout,
         .newLayout = d->images[i].newLayout,
         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .image = d->images[i].image,
         .subresourceRange = d->images[i].subresourceRange,
      };
   }
}

/* `barrier`: a full one, or `barrier [sync1] KIND SRC DST …` */
void
run_barrier(struct run *run)
{
   struct dependency d;

   run_end_rendering(run);
   VkCommandBuffer cmd = run_need_commands(run);
   if (!run_has_word(run, 1)) {
      vkh_barrier(cmd);
      return;
   }

   read_dependency(run, 1, &d);
   if (!d.sync1) {
      vkCmdPipelineBarrier2(cmd, &d.info);
      return;
   }

   struct dependency1 d1;
   fill_sync1(&d, &d1);
   vkCmdPipelineBarrier(cmd, (VkPipelineStageFlags)d.src.stages, (VkPipelineStageFlags)d.dst.stages,
                        0, d.info.memoryBarrierCount, d1.memory, d.info.bufferMemoryBarrierCount,
                        d1.buffers, d.info.imageMemoryBarrierCount, d1.images);
}

/* --- Events --------------------------------------------------------------- */

/* `set_event NAME [sync1] KIND SRC DST …`: with sync1, only SRC's stages count. */
void
run_set_event(struct run *run)
{
   struct dependency d;
   VkEvent event = run_get_object(run, run_word(run, 1), RUN_OBJECT_EVENT)->event;

   run_end_rendering(run);
   read_dependency(run, 2, &d);
   if (d.sync1)
      vkCmdSetEvent(run_need_commands(run), event, (VkPipelineStageFlags)d.src.stages);
   else
      vkCmdSetEvent2(run_need_commands(run), event, &d.info);
}

/* `wait_event NAME[+NAME] [sync1] KIND SRC DST …` */
void
run_wait_event(struct run *run)
{
   struct dependency d;
   char names[64];
   VkEvent events[2];
   uint32_t count = 0;

   snprintf(names, sizeof(names), "%s", run_word(run, 1));
   for (char *rest, *name = strtok_r(names, "+", &rest); name; name = strtok_r(NULL, "+", &rest)) {
      if (count == sizeof(events) / sizeof(events[0]))
         RUN_ERROR(run, "too many events");
      events[count++] = run_get_object(run, name, RUN_OBJECT_EVENT)->event;
   }

   run_end_rendering(run);
   read_dependency(run, 2, &d);
   if (!d.sync1) {
      const VkDependencyInfo infos[] = {d.info, d.info};
      vkCmdWaitEvents2(run_need_commands(run), count, events, infos);
      return;
   }

   struct dependency1 d1;
   fill_sync1(&d, &d1);
   vkCmdWaitEvents(run_need_commands(run), count, events, (VkPipelineStageFlags)d.src.stages,
                   (VkPipelineStageFlags)d.dst.stages, d.info.memoryBarrierCount, d1.memory,
                   d.info.bufferMemoryBarrierCount, d1.buffers, d.info.imageMemoryBarrierCount,
                   d1.images);
}

/* `host_event NAME`: vkSetEvent() */
void
run_host_event(struct run *run)
{
   VKH_CHECK(
      vkSetEvent(run->ctx->device, run_get_object(run, run_word(run, 1), RUN_OBJECT_EVENT)->event));
}

/* `poll_event NAME`: vkGetEventStatus() until it is set */
void
run_poll_event(struct run *run)
{
   VkEvent event = run_get_object(run, run_word(run, 1), RUN_OBJECT_EVENT)->event;
   while (VKH_CHECK(vkGetEventStatus(run->ctx->device, event)) != VK_EVENT_SET)
      ;
}
