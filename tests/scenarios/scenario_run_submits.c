/* SPDX-License-Identifier: MIT */

/*
 * Submits that do not wait, and what they and the host wait for. Events, fences
 * and semaphores exist from their first use on.
 */

#include "scenario_run.h"

#include <stdlib.h>
#include <string.h>

#define MAX_WAITS 4

struct run_submits {
   struct run_object *objects;
   unsigned object_count;
   unsigned queue;
   VkCommandBuffer last[2]; /* submitted, by queue */
   bool in_flight;
};

static struct run_submits *
get_submits(struct run *run)
{
   if (!run->submits)
      run->submits = vkh_calloc(1, sizeof(*run->submits));
   return run->submits;
}

/* --- Objects -------------------------------------------------------------- */

struct run_object *
run_get_object(struct run *run, const char *name, enum run_object_type type)
{
   struct run_submits *s = get_submits(run);
   VkDevice device = run->ctx->device;

   for (unsigned i = 0; i < s->object_count; i++) {
      if (strcmp(s->objects[i].name, name) != 0)
         continue;
      if (s->objects[i].type != type)
         RUN_ERROR(run, "%s is something else already", name);
      return &s->objects[i];
   }

   s->objects = scenario_grow(s->objects, &s->object_count, sizeof(*s->objects));
   struct run_object *object = &s->objects[s->object_count - 1];
   object->name = scenario_format("%s", name);
   object->type = type;
   if (type == RUN_OBJECT_EVENT) {
      const VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
      VKH_CHECK(vkCreateEvent(device, &info, NULL, &object->event));
   } else if (type == RUN_OBJECT_FENCE) {
      const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
      VKH_CHECK(vkCreateFence(device, &info, NULL, &object->fence));
   } else if (type == RUN_OBJECT_QUERY || type == RUN_OBJECT_SAMPLES) {
      const VkQueryPoolCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
         .queryType = type == RUN_OBJECT_QUERY ? VK_QUERY_TYPE_TIMESTAMP : VK_QUERY_TYPE_OCCLUSION,
         .queryCount = 1,
      };
      VKH_CHECK(vkCreateQueryPool(device, &info, NULL, &object->query));
   } else {
      const VkSemaphoreTypeCreateInfo type_info = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
         .semaphoreType =
            type == RUN_OBJECT_TIMELINE ? VK_SEMAPHORE_TYPE_TIMELINE : VK_SEMAPHORE_TYPE_BINARY,
      };
      const VkSemaphoreCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
         .pNext = &type_info,
      };
      VKH_CHECK(vkCreateSemaphore(device, &info, NULL, &object->semaphore));
   }
   return object;
}

/* --- Submits -------------------------------------------------------------- */

VkCommandBuffer
run_begin_reusable(struct run *run)
{
   VkCommandBuffer cmd;
   const VkCommandBufferAllocateInfo allocate_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = run->ctx->command_pool,
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      .commandBufferCount = 1,
   };
   VKH_CHECK(vkAllocateCommandBuffers(run->ctx->device, &allocate_info, &cmd));

   const VkCommandBufferBeginInfo begin = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
      .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
   };
   VKH_CHECK(vkBeginCommandBuffer(cmd, &begin));
   return cmd;
}

struct submit {
   bool sync2;
   VkFence fence;
   VkSemaphoreSubmitInfo waits[MAX_WAITS], signals[MAX_WAITS];
   unsigned wait_count, signal_count;
};

/* NAME[@VALUE][:STAGES], or NAME=VALUE, as `for` replaces '@' */
static void
read_semaphore(struct run *run, const char *text, VkSemaphoreSubmitInfo *infos, unsigned *count)
{
   char *stages = scenario_format("%s", text);
   char *copy = stages;
   char *value = strsep(&stages, ":");
   const char *name = strsep(&value, "@=");

   if (*count == MAX_WAITS)
      RUN_ERROR(run, "too many semaphores");
   const struct run_object *object =
      run_get_object(run, name, value ? RUN_OBJECT_TIMELINE : RUN_OBJECT_BINARY);
   infos[(*count)++] = (VkSemaphoreSubmitInfo){
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
      .semaphore = object->semaphore,
      .value = value ? strtoull(value, NULL, 0) : 0,
      .stageMask =
         stages ? run_read_scope(run, stages).stages : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
   };
   free(copy);
}

static void
read_submit(struct run *run, struct submit *submit)
{
   *submit = (struct submit){0};
   for (unsigned i = 1; run_has_word(run, i); i++) {
      const char *word = run_word(run, i);
      if (strncmp(word, "wait=", 5) == 0)
         read_semaphore(run, word + 5, submit->waits, &submit->wait_count);
      else if (strncmp(word, "signal=", 7) == 0)
         read_semaphore(run, word + 7, submit->signals, &submit->signal_count);
      else if (strncmp(word, "fence=", 6) == 0)
         submit->fence = run_get_object(run, word + 6, RUN_OBJECT_FENCE)->fence;
      else if (strcmp(word, "sync2") == 0)
         submit->sync2 = true;
      else if (strcmp(word, "plain") != 0)
         RUN_ERROR(run, "%s is no word of a submit", word);
   }
}

static void
submit2(struct run *run, VkCommandBuffer cmd, const struct submit *submit)
{
   const VkCommandBufferSubmitInfo commands = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
      .commandBuffer = cmd,
   };
   const VkSubmitInfo2 info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
      .waitSemaphoreInfoCount = submit->wait_count,
      .pWaitSemaphoreInfos = submit->waits,
      .commandBufferInfoCount = 1,
      .pCommandBufferInfos = &commands,
      .signalSemaphoreInfoCount = submit->signal_count,
      .pSignalSemaphoreInfos = submit->signals,
   };
   VKH_CHECK(vkQueueSubmit2(run->ctx->queue, 1, &info, submit->fence));
}

static void
submit1(struct run *run, VkCommandBuffer cmd, const struct submit *submit)
{
   VkSemaphore waits[MAX_WAITS], signals[MAX_WAITS];
   VkPipelineStageFlags stages[MAX_WAITS];
   uint64_t wait_values[MAX_WAITS], signal_values[MAX_WAITS];

   for (unsigned i = 0; i < submit->wait_count; i++) {
      waits[i] = submit->waits[i].semaphore;
      wait_values[i] = submit->waits[i].value;
      stages[i] = (VkPipelineStageFlags)submit->waits[i].stageMask;
   }
   for (unsigned i = 0; i < submit->signal_count; i++) {
      signals[i] = submit->signals[i].semaphore;
      signal_values[i] = submit->signals[i].value;
   }

   const VkTimelineSemaphoreSubmitInfo timeline = {
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .waitSemaphoreValueCount = submit->wait_count,
      .pWaitSemaphoreValues = wait_values,
      .signalSemaphoreValueCount = submit->signal_count,
      .pSignalSemaphoreValues = signal_values,
   };
   const VkSubmitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
      .pNext = &timeline,
      .waitSemaphoreCount = submit->wait_count,
      .pWaitSemaphores = waits,
      .pWaitDstStageMask = stages,
      .commandBufferCount = 1,
      .pCommandBuffers = &cmd,
      .signalSemaphoreCount = submit->signal_count,
      .pSignalSemaphores = signals,
   };
   VKH_CHECK(vkQueueSubmit(run->ctx->queue, 1, &info, submit->fence));
}

/* plain | sync2 | wait=NAME[@VALUE][:STAGES] | signal=… | fence=NAME … */
void
run_submit(struct run *run, VkCommandBuffer cmd)
{
   struct submit submit;

   read_submit(run, &submit);
   if (submit.sync2)
      submit2(run, cmd, &submit);
   else
      submit1(run, cmd, &submit);
   get_submits(run)->last[get_submits(run)->queue] = cmd;
   get_submits(run)->in_flight = true;
}

/* `resubmit WORD…`: the last command buffer that `submit WORD…` submitted */
void
run_resubmit(struct run *run)
{
   VkCommandBuffer last = get_submits(run)->last[get_submits(run)->queue];

   if (!last)
      RUN_ERROR(run, "nothing has been submitted to this queue");
   run_submit(run, last);
}

/* `destroy command_buffer last`: of `submit WORD…` */
void
run_free_command_buffer(struct run *run, const char *name)
{
   VkCommandBuffer *last = &get_submits(run)->last[get_submits(run)->queue];

   if (strcmp(name, "last") != 0 || !*last)
      RUN_ERROR(run, "there is no command buffer %s", name);
   vkFreeCommandBuffers(run->ctx->device, run->ctx->command_pool, 1, last);
   vkTrimCommandPool(run->ctx->device, run->ctx->command_pool, 0); /* else it is used again */
   *last = VK_NULL_HANDLE;
}

/* `queue N`: for what is recorded and submitted from here on */
void
run_select_queue(struct run *run)
{
   if (run->cmd)
      RUN_ERROR(run, "the commands so far have to be submitted first");
   get_submits(run)->queue = (unsigned)run_number(run, 1);
   vkh_select_queue(run->ctx, get_submits(run)->queue);
}

void
run_wait_fence(struct run *run)
{
   VkFence fence = run_get_object(run, run_word(run, 1), RUN_OBJECT_FENCE)->fence;
   VKH_CHECK(vkWaitForFences(run->ctx->device, 1, &fence, VK_TRUE, UINT64_MAX));
}

void
run_poll_fence(struct run *run)
{
   VkFence fence = run_get_object(run, run_word(run, 1), RUN_OBJECT_FENCE)->fence;
   while (VKH_CHECK(vkGetFenceStatus(run->ctx->device, fence)) != VK_SUCCESS)
      ;
}

/* `wait_semaphore NAME VALUE` */
void
run_wait_semaphore(struct run *run)
{
   VkSemaphore semaphore = run_get_object(run, run_word(run, 1), RUN_OBJECT_TIMELINE)->semaphore;
   const uint64_t value = run_number(run, 2);
   const VkSemaphoreWaitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
      .semaphoreCount = 1,
      .pSemaphores = &semaphore,
      .pValues = &value,
   };
   VKH_CHECK(vkWaitSemaphores(run->ctx->device, &info, UINT64_MAX));
}

/* `poll_semaphore NAME VALUE` */
void
run_poll_semaphore(struct run *run)
{
   VkSemaphore semaphore = run_get_object(run, run_word(run, 1), RUN_OBJECT_TIMELINE)->semaphore;
   uint64_t value = 0;
   while (value < run_number(run, 2))
      VKH_CHECK(vkGetSemaphoreCounterValue(run->ctx->device, semaphore, &value));
}

/* `signal_semaphore NAME VALUE`: by the host */
void
run_signal_semaphore(struct run *run)
{
   const VkSemaphoreSignalInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
      .semaphore = run_get_object(run, run_word(run, 1), RUN_OBJECT_TIMELINE)->semaphore,
      .value = run_number(run, 2),
   };
   VKH_CHECK(vkSignalSemaphore(run->ctx->device, &info));
}

void
run_reset_event(struct run *run)
{
   VkEvent event = run_get_object(run, run_word(run, 1), RUN_OBJECT_EVENT)->event;
   VKH_CHECK(vkResetEvent(run->ctx->device, event));
}

void
run_reset_fence(struct run *run)
{
   VkFence fence = run_get_object(run, run_word(run, 1), RUN_OBJECT_FENCE)->fence;
   VKH_CHECK(vkResetFences(run->ctx->device, 1, &fence));
}

/* `query NAME`: a timestamp behind all commands before */
void
run_query(struct run *run)
{
   VkQueryPool pool = run_get_object(run, run_word(run, 1), RUN_OBJECT_QUERY)->query;

   run_end_rendering(run);
   VkCommandBuffer cmd = run_need_commands(run);
   vkCmdResetQueryPool(cmd, pool, 0, 1);
   vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, 0);
}

/* `samples reset|begin|end NAME`: an occlusion query, begun and ended where the program is */
void
run_samples(struct run *run)
{
   const char *how = run_word(run, 1);
   VkQueryPool pool = run_get_object(run, run_word(run, 2), RUN_OBJECT_SAMPLES)->query;

   if (strcmp(how, "reset") == 0) {
      run_end_rendering(run);
      vkCmdResetQueryPool(run_need_commands(run), pool, 0, 1);
   } else if (strcmp(how, "begin") == 0) {
      vkCmdBeginQuery(run_need_commands(run), pool, 0, 0);
   } else if (strcmp(how, "end") == 0) {
      vkCmdEndQuery(run_need_commands(run), pool, 0);
   } else {
      RUN_ERROR(run, "samples are reset, begun or ended, not %s", how);
   }
}

/* `copy_query NAME BUFFER OFFSET [available]`: to memory, 8 bytes, or 16 */
void
run_copy_query(struct run *run)
{
   VkQueryPool pool = run_get_object(run, run_word(run, 1), RUN_OBJECT_QUERY)->query;
   const VkQueryResultFlags available =
      run_has_word(run, 4) ? VK_QUERY_RESULT_WITH_AVAILABILITY_BIT : 0;

   run_end_rendering(run);
   /* With one query, the stride does not matter. */
   vkCmdCopyQueryPoolResults(run_need_commands(run), pool, 0, 1,
                             run_find_buffer(run, run_word(run, 2))->vk.buffer, run_number(run, 3),
                             0, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT | available);
}

void
run_wait_query(struct run *run)
{
   VkQueryPool pool = run_get_object(run, run_word(run, 1), RUN_OBJECT_QUERY)->query;
   uint64_t result;
   VKH_CHECK(vkGetQueryPoolResults(run->ctx->device, pool, 0, 1, sizeof(result), &result,
                                   sizeof(result),
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
}

/* `wait_idle [device]` */
void
run_wait_idle(struct run *run)
{
   if (run_has_word(run, 1))
      VKH_CHECK(vkDeviceWaitIdle(run->ctx->device));
   else
      VKH_CHECK(vkQueueWaitIdle(run->ctx->queue));
}

/* Before results are looked at */
void
run_finish_submits(struct run *run)
{
   if (run->submits && run->submits->in_flight)
      VKH_CHECK(vkDeviceWaitIdle(run->ctx->device));
   vkh_select_queue(run->ctx, 0);
}

void
run_destroy_submits(struct run *run)
{
   struct run_submits *s = run->submits;
   VkDevice device = run->ctx->device;

   if (!s)
      return;
   for (unsigned i = 0; i < s->object_count; i++) {
      if (s->objects[i].type == RUN_OBJECT_EVENT)
         vkDestroyEvent(device, s->objects[i].event, NULL);
      else if (s->objects[i].type == RUN_OBJECT_FENCE)
         vkDestroyFence(device, s->objects[i].fence, NULL);
      else if (s->objects[i].type == RUN_OBJECT_QUERY || s->objects[i].type == RUN_OBJECT_SAMPLES)
         vkDestroyQueryPool(device, s->objects[i].query, NULL);
      else
         vkDestroySemaphore(device, s->objects[i].semaphore, NULL);
      free((char *)s->objects[i].name);
   }
   free(s->objects);
   free(s);
}
