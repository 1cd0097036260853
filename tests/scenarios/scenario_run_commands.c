/* SPDX-License-Identifier: MIT */

/*
 * Command buffers, the primary ones and the secondary ones, and the statements
 * that record one command. Synchronization, indirect commands and rays are
 * elsewhere.
 */

#include "scenario_run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- Command buffers ------------------------------------------------------ */

VkCommandBuffer
run_need_commands(struct run *run)
{
   if (!run->cmd) {
      run->cmd = run->resubmits ? run_begin_reusable(run) : vkh_begin(run->ctx);
      vkh_name(run->ctx, VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)run->cmd,
               run->cmd_name);
      run->cmd_name = NULL;
   }
   return run->cmd;
}

void
run_end_rendering(struct run *run)
{
   if (run->rendering)
      vkCmdEndRendering(run->cmd);
   run->rendering = false;
}

static void
begin_rendering(struct run *run, VkRenderingFlags flags)
{
   const struct vkh_target target = {
      .color = &run->color,
      .depth = run->has_depth ? &run->depth : NULL,
      .load = run->cleared,
      .clear_depth = run->clear_depth,
      .flags = flags,
   };
   if (run->rendering)
      return;
   vkh_begin_rendering(run_need_commands(run), &target);
   run->cleared = true;
   run->rendering = true;
}

/* Binds all that the current pipeline needs, and starts or ends rendering. */
struct run_pipeline *
run_prepare_command(struct run *run)
{
   if (run->current_pipeline < 0)
      RUN_ERROR(run, "no pipeline yet");
   struct run_pipeline *pipeline = &run->pipelines[run->current_pipeline];
   const bool graphics = pipeline->bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS;

   run_need_commands(run);
   if (!run->in_secondary && !run->in_pass && graphics)
      begin_rendering(run, 0);
   else if (!graphics)
      run_end_rendering(run);
   run_bind_pipeline(run, pipeline);
   run_bind_sets(run, pipeline);
   if (run->push_size)
      vkCmdPushConstants(run->cmd, run->layout, VK_SHADER_STAGE_ALL, run->push_first,
                         run->push_size, run->push + run->push_first);
   return pipeline;
}

static void
finish_process(enum scenario_finish finish)
{
   static const int signals[] = {
      [SCENARIO_FINISH_ABORT] = SIGABRT,   [SCENARIO_FINISH_ABORT_FENCE] = SIGABRT,
      [SCENARIO_FINISH_SIGINT] = SIGINT,   [SCENARIO_FINISH_SIGTERM] = SIGTERM,
      [SCENARIO_FINISH_SIGSEGV] = SIGSEGV, [SCENARIO_FINISH_SIGKILL] = SIGKILL,
   };

   if (finish == SCENARIO_FINISH_QUICK_EXIT)
      _exit(0);
   if (finish < VKH_COUNT(signals) && signals[finish])
      raise(signals[finish]);
   exit(0);
}

/* Submits what was recorded. The last submit is the place where `finish` may
 * end the process.
 */
void
run_submit_recorded(struct run *run, bool last)
{
   const enum scenario_finish finish = run->scenario->finish;
   const bool busy = finish == SCENARIO_FINISH_DESTROY_BUSY || finish == SCENARIO_FINISH_EXIT_BUSY;

   if (!run->cmd)
      return;
   run_end_rendering(run);
   VkCommandBuffer cmd = run->cmd;
   run->cmd = VK_NULL_HANDLE;
   if (!last || finish == SCENARIO_FINISH_DESTROY) {
      vkh_barrier(cmd);
      vkh_submit_wait(run->ctx, cmd);
      return;
   }

   VkFence fence = VK_NULL_HANDLE;
   if (finish == SCENARIO_FINISH_ABORT_FENCE) {
      const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
      VKH_CHECK(vkCreateFence(run->ctx->device, &info, NULL, &fence));
   }
   vkh_submit(run->ctx, cmd, fence);
   if (fence)
      VKH_CHECK(vkWaitForFences(run->ctx->device, 1, &fence, VK_TRUE, UINT64_MAX));
   else if (!busy)
      VKH_CHECK(vkQueueWaitIdle(run->ctx->queue));
   if (finish != SCENARIO_FINISH_DESTROY_BUSY)
      finish_process(finish);
}
/* --- Statements: commands ------------------------------------------------- */

void
run_use(struct run *run)
{
   for (unsigned i = 0; i < run->pipeline_count; i++) {
      if (strcmp(run->pipelines[i].name, run_word(run, 1)) == 0) {
         run->current_pipeline = (int)i;
         return;
      }
   }
   RUN_ERROR(run, "there is no pipeline %s", run_word(run, 1));
}

void
run_dispatch(struct run *run)
{
   run_prepare_command(run);
   vkCmdDispatch(run->cmd, (uint32_t)run_number(run, 1), (uint32_t)run_number_or(run, 2, 1),
                 (uint32_t)run_number_or(run, 3, 1));
}

void
run_dispatch_base(struct run *run)
{
   run_prepare_command(run);
   vkCmdDispatchBase(run->cmd, (uint32_t)run_number(run, 1), (uint32_t)run_number(run, 2),
                     (uint32_t)run_number(run, 3), (uint32_t)run_number(run, 4),
                     (uint32_t)run_number(run, 5), (uint32_t)run_number(run, 6));
}

/* `draw VERTICES [INSTANCES [FIRST_VERTEX [FIRST_INSTANCE]]]` */
void
run_draw(struct run *run)
{
   run_prepare_command(run);
   vkCmdDraw(run->cmd, (uint32_t)run_number(run, 1), (uint32_t)run_number_or(run, 2, 1),
             (uint32_t)run_number_or(run, 3, 0), (uint32_t)run_number_or(run, 4, 0));
}

/* `draw_indexed INDEX_BUFFER INDICES [INSTANCES [FIRST [VERTEX_OFFSET [FIRST_INSTANCE]]]]`,
 * 32-bit indices, or `bound` in the place of the buffer
 */
void
run_draw_indexed(struct run *run)
{
   run_prepare_command(run);
   run_bind_indices(run, run_word(run, 1));
   vkCmdDrawIndexed(run->cmd, (uint32_t)run_number(run, 2), (uint32_t)run_number_or(run, 3, 1),
                    (uint32_t)run_number_or(run, 4, 0), (int32_t)run_number_or(run, 5, 0),
                    (uint32_t)run_number_or(run, 6, 0));
}

void
run_draw_mesh(struct run *run)
{
   run_prepare_command(run);
   VKH_PROC(run->ctx, vkCmdDrawMeshTasksEXT)
   (run->cmd, (uint32_t)run_number(run, 1), (uint32_t)run_number_or(run, 2, 1),
    (uint32_t)run_number_or(run, 3, 1));
}

void
run_trace(struct run *run)
{
   const struct run_pipeline *pipeline = run_prepare_command(run);
   VKH_PROC(run->ctx, vkCmdTraceRaysKHR)
   (run->cmd, &pipeline->regions[0], &pipeline->regions[1], &pipeline->regions[2],
    &pipeline->regions[3], (uint32_t)run_number(run, 1), (uint32_t)run_number_or(run, 2, 1),
    (uint32_t)run_number_or(run, 3, 1));
}

/* `fill_buffer BUFFER OFFSET BYTES VALUE` */
void
run_fill_buffer(struct run *run)
{
   run_end_rendering(run);
   vkCmdFillBuffer(run_need_commands(run), run_find_buffer(run, run_word(run, 1))->vk.buffer,
                   run_number(run, 2), run_number(run, 3), (uint32_t)run_number(run, 4));
}

/* `update_buffer BUFFER OFFSET TYPE VALUE…` */
void
run_update_buffer(struct run *run)
{
   uint8_t data[256];
   const size_t size = run_values(run, run_word(run, 3), 4, data, sizeof(data));
   run_end_rendering(run);
   vkCmdUpdateBuffer(run_need_commands(run), run_find_buffer(run, run_word(run, 1))->vk.buffer,
                     run_number(run, 2), size, data);
}

/* `copy_buffer FROM OFFSET TO OFFSET BYTES` */
void
run_copy_buffer(struct run *run)
{
   const VkBufferCopy region = {run_number(run, 2), run_number(run, 4), run_number(run, 5)};
   run_end_rendering(run);
   vkCmdCopyBuffer(run_need_commands(run), run_find_buffer(run, run_word(run, 1))->vk.buffer,
                   run_find_buffer(run, run_word(run, 3))->vk.buffer, 1, &region);
}

/* `conditional BUFFER OFFSET [inverted]` */
void
run_conditional(struct run *run)
{
   const VkConditionalRenderingBeginInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT,
      .buffer = run_find_buffer(run, run_word(run, 1))->vk.buffer,
      .offset = run_number(run, 2),
      .flags = run_has_word(run, 3) ? VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT : 0,
   };
   run_end_rendering(run);
   VKH_PROC(run->ctx, vkCmdBeginConditionalRenderingEXT)(run_need_commands(run), &info);
}

void
run_conditional_end(struct run *run)
{
   run_end_rendering(run);
   VKH_PROC(run->ctx, vkCmdEndConditionalRenderingEXT)(run_need_commands(run));
}

void
run_label(struct run *run)
{
   run_end_rendering(run);
   vkh_label_begin(run->ctx, run_need_commands(run), run_unescape(run_word(run, 1)));
}

void
run_label_end(struct run *run)
{
   run_end_rendering(run);
   vkh_label_end(run->ctx, run_need_commands(run));
}

void
run_label_insert(struct run *run)
{
   vkh_label_insert(run->ctx, run_need_commands(run), run_unescape(run_word(run, 1)));
}

void
run_queue_label(struct run *run)
{
   const VkDebugUtilsLabelEXT label = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
      .pLabelName = run_unescape(run_word(run, 1)),
   };
   VKH_PROC(run->ctx, vkQueueBeginDebugUtilsLabelEXT)(run->ctx->queue, &label);
}

void
run_queue_label_end(struct run *run)
{
   VKH_PROC(run->ctx, vkQueueEndDebugUtilsLabelEXT)(run->ctx->queue);
}

void
run_queue_label_insert(struct run *run)
{
   const VkDebugUtilsLabelEXT label = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
      .pLabelName = run_word(run, 1),
   };
   VKH_PROC(run->ctx, vkQueueInsertDebugUtilsLabelEXT)(run->ctx->queue, &label);
}

/* `await FILE`: makes FILE.awaited, and goes on when whoever has started us has made FILE. */
void
run_await(struct run *run)
{
   char *awaited = scenario_format("%s.awaited", run_word(run, 1));
   FILE *f = fopen(awaited, "w");
   if (!f)
      RUN_ERROR(run, "%s cannot be written", awaited);
   fclose(f);
   free(awaited);
   for (unsigned i = 0; access(run_word(run, 1), F_OK); i++) {
      if (i == 60000)
         RUN_ERROR(run, "there is no %s", run_word(run, 1));
      usleep(1000);
   }
}

/* `command_buffer NAME`: the name of the next one. */
void
run_command_buffer(struct run *run)
{
   run_submit_recorded(run, false);
   run->cmd_name = run_debug_name(run, run_word(run, 1));
}

/* `submit`, or `submit WORD…`, which neither waits nor puts a barrier at the end */
void
run_submit_statement(struct run *run)
{
   if (!run_has_word(run, 1)) {
      run_submit_recorded(run, false);
      return;
   }
   run_end_rendering(run);
   VkCommandBuffer cmd = run_need_commands(run);
   run->cmd = VK_NULL_HANDLE;
   VKH_CHECK(vkEndCommandBuffer(cmd));
   run_submit(run, cmd);
}

/* --- Statements: secondary command buffers -------------------------------- */

/* `secondary NAME [render]`: records until `secondary_end`. */
void
run_secondary(struct run *run)
{
   const bool render = run_has_word(run, 2);
   run_end_rendering(run);
   run->secondaries =
      scenario_grow(run->secondaries, &run->secondary_count, sizeof(*run->secondaries));
   struct run_secondary *secondary = &run->secondaries[run->secondary_count - 1];
   secondary->name = run_word(run, 1);

   const VkCommandBufferAllocateInfo allocate_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = run->ctx->command_pool,
      .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
      .commandBufferCount = 1,
   };
   VKH_CHECK(vkAllocateCommandBuffers(run->ctx->device, &allocate_info, &secondary->cmd));
   vkh_name(run->ctx, VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)secondary->cmd,
            run_debug_name(run, secondary->name));

   const VkCommandBufferInheritanceRenderingInfo rendering = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
      .colorAttachmentCount = 1,
      .pColorAttachmentFormats = &run->color_format,
      .depthAttachmentFormat = run->has_depth ? VK_FORMAT_D32_SFLOAT : VK_FORMAT_UNDEFINED,
      .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
   };
   const VkCommandBufferInheritanceInfo inheritance = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
      .pNext = render ? &rendering : NULL,
   };
   const VkCommandBufferBeginInfo begin = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
      .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT |
               (render ? VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT : 0),
      .pInheritanceInfo = &inheritance,
   };
   VKH_CHECK(vkBeginCommandBuffer(secondary->cmd, &begin));
   if (render)
      vkh_set_viewport(secondary->cmd, run->width, run->height);

   run->in_secondary = true;
   run->secondary_renders = render;
   run->primary = run->cmd;
   run->cmd = secondary->cmd;
}

void
run_secondary_end(struct run *run)
{
   if (!run->in_secondary)
      RUN_ERROR(run, "no secondary command buffer is being recorded");
   VKH_CHECK(vkEndCommandBuffer(run->cmd));
   run->cmd = run->primary;
   run->in_secondary = false;
}

static struct run_secondary *
find_secondary(struct run *run, const char *name)
{
   for (unsigned i = 0; i < run->secondary_count; i++) {
      if (strcmp(run->secondaries[i].name, name) == 0)
         return &run->secondaries[i];
   }
   RUN_ERROR(run, "there is no secondary command buffer %s", name);
}

/* `execute NAME…` or `execute_rendering NAME…` */
static void
execute(struct run *run, bool render)
{
   VkCommandBuffer cmds[16];
   unsigned count = 0;
   for (unsigned i = 1; run_has_word(run, i) && count < VKH_COUNT(cmds); i++)
      cmds[count++] = find_secondary(run, run_word(run, i))->cmd;

   run_end_rendering(run);
   if (render && !run->in_pass)
      begin_rendering(run, VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
   vkCmdExecuteCommands(run_need_commands(run), count, cmds);
   run_end_rendering(run);
}

void
run_execute(struct run *run)
{
   execute(run, false);
}

void
run_execute_rendering(struct run *run)
{
   execute(run, true);
}
