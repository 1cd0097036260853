/* SPDX-License-Identifier: MIT */

/*
 * Fences, semaphores, events and predication on the software GPU: what is not
 * submitted yet is not done, and what waits for the host does wait.
 */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "vk_headless.h"

#define EXPECT(condition)                                                                          \
   do {                                                                                            \
      if (!(condition))                                                                            \
         vkh_die("%s:%d: not so: %s", __FILE__, __LINE__, #condition);                             \
   } while (0)

static VkCommandBuffer
record_fill(struct vkh_context *ctx, const struct vkh_buffer *buffer, uint32_t value)
{
   VkCommandBuffer cmd = vkh_begin(ctx);
   vkCmdFillBuffer(cmd, buffer->buffer, 0, VK_WHOLE_SIZE, value);
   vkh_barrier(cmd);
   VKH_CHECK(vkEndCommandBuffer(cmd));
   return cmd;
}

static uint32_t
value_of(const struct vkh_buffer *buffer)
{
   return *(volatile uint32_t *)buffer->map;
}

static VkSemaphore
create_semaphore(struct vkh_context *ctx, VkSemaphoreType type)
{
   const VkSemaphoreTypeCreateInfo type_info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
      .semaphoreType = type,
   };
   const VkSemaphoreCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
      .pNext = &type_info,
   };
   VkSemaphore semaphore;
   VKH_CHECK(vkCreateSemaphore(ctx->device, &info, NULL, &semaphore));
   return semaphore;
}

/* A value of 0: no wait or no signal. */
static void
submit(struct vkh_context *ctx, VkCommandBuffer cmd, VkSemaphore wait, uint64_t wait_value,
       VkSemaphore signal, uint64_t signal_value, VkFence fence)
{
   const VkCommandBufferSubmitInfo cmd_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
      .commandBuffer = cmd,
   };
   const VkSemaphoreSubmitInfo wait_info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
      .semaphore = wait,
      .value = wait_value,
      .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
   };
   const VkSemaphoreSubmitInfo signal_info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
      .semaphore = signal,
      .value = signal_value,
      .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
   };
   const VkSubmitInfo2 info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
      .waitSemaphoreInfoCount = wait ? 1 : 0,
      .pWaitSemaphoreInfos = &wait_info,
      .commandBufferInfoCount = 1,
      .pCommandBufferInfos = &cmd_info,
      .signalSemaphoreInfoCount = signal ? 1 : 0,
      .pSignalSemaphoreInfos = &signal_info,
   };
   VKH_CHECK(vkQueueSubmit2(ctx->queue, 1, &info, fence));
}

static void
test_fence(struct vkh_context *ctx, const struct vkh_buffer *buffer)
{
   const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
   VkFence fence;
   VKH_CHECK(vkCreateFence(ctx->device, &info, NULL, &fence));

   EXPECT(vkGetFenceStatus(ctx->device, fence) == VK_NOT_READY);
   EXPECT(vkWaitForFences(ctx->device, 1, &fence, VK_TRUE, 1000) == VK_TIMEOUT);
   submit(ctx, record_fill(ctx, buffer, 1), VK_NULL_HANDLE, 0, VK_NULL_HANDLE, 0, fence);
   VKH_CHECK(vkWaitForFences(ctx->device, 1, &fence, VK_TRUE, UINT64_MAX));
   EXPECT(vkGetFenceStatus(ctx->device, fence) == VK_SUCCESS);
   EXPECT(value_of(buffer) == 1);
   VKH_CHECK(vkResetFences(ctx->device, 1, &fence));
   EXPECT(vkGetFenceStatus(ctx->device, fence) == VK_NOT_READY);
   vkDestroyFence(ctx->device, fence, NULL);
}

/* Submitted before what it waits for has been. */
static void
test_timeline(struct vkh_context *ctx, const struct vkh_buffer *buffer)
{
   VkSemaphore semaphore = create_semaphore(ctx, VK_SEMAPHORE_TYPE_TIMELINE);
   uint64_t value;
   submit(ctx, record_fill(ctx, buffer, 2), semaphore, 5, semaphore, 6, VK_NULL_HANDLE);

   const uint64_t end = 6;
   const VkSemaphoreWaitInfo wait = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
      .semaphoreCount = 1,
      .pSemaphores = &semaphore,
      .pValues = &end,
   };
   EXPECT(vkWaitSemaphores(ctx->device, &wait, 20000000) == VK_TIMEOUT);
   EXPECT(value_of(buffer) == 1);
   VKH_CHECK(vkGetSemaphoreCounterValue(ctx->device, semaphore, &value));
   EXPECT(value == 0);

   const VkSemaphoreSignalInfo signal = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
      .semaphore = semaphore,
      .value = 5,
   };
   VKH_CHECK(vkSignalSemaphore(ctx->device, &signal));
   VKH_CHECK(vkWaitSemaphores(ctx->device, &wait, UINT64_MAX));
   EXPECT(value_of(buffer) == 2);
   VKH_CHECK(vkGetSemaphoreCounterValue(ctx->device, semaphore, &value));
   EXPECT(value == 6);
   vkDestroySemaphore(ctx->device, semaphore, NULL);
}

static void
test_binary(struct vkh_context *ctx, const struct vkh_buffer *buffer)
{
   VkSemaphore semaphore = create_semaphore(ctx, VK_SEMAPHORE_TYPE_BINARY);
   for (uint32_t i = 0; i < 3; i++) {
      submit(ctx, record_fill(ctx, buffer, 10), VK_NULL_HANDLE, 0, semaphore, 0, VK_NULL_HANDLE);
      submit(ctx, record_fill(ctx, buffer, 11 + i), semaphore, 0, VK_NULL_HANDLE, 0,
             VK_NULL_HANDLE);
      VKH_CHECK(vkQueueWaitIdle(ctx->queue));
      EXPECT(value_of(buffer) == 11 + i);
   }
   vkDestroySemaphore(ctx->device, semaphore, NULL);
}

/* Set by one command buffer or by the host, waited for by another. */
static void
test_event(struct vkh_context *ctx, const struct vkh_buffer *buffer)
{
   const VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
   VkEvent event;
   VKH_CHECK(vkCreateEvent(ctx->device, &info, NULL, &event));

   VkCommandBuffer cmd = vkh_begin(ctx);
   vkCmdFillBuffer(cmd, buffer->buffer, 0, VK_WHOLE_SIZE, 20);
   vkCmdSetEvent(cmd, event, VK_PIPELINE_STAGE_TRANSFER_BIT);
   vkh_submit_wait(ctx, cmd);
   EXPECT(vkGetEventStatus(ctx->device, event) == VK_EVENT_SET);

   for (unsigned i = 0; i < 2; i++) {
      cmd = vkh_begin(ctx);
      vkCmdWaitEvents(cmd, 1, &event, VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                      VK_PIPELINE_STAGE_TRANSFER_BIT, 0, NULL, 0, NULL, 0, NULL);
      vkCmdFillBuffer(cmd, buffer->buffer, 0, VK_WHOLE_SIZE, 21 + i);
      vkCmdResetEvent(cmd, event, VK_PIPELINE_STAGE_TRANSFER_BIT);
      vkh_submit_wait(ctx, cmd);
      EXPECT(value_of(buffer) == 21 + i);
      EXPECT(vkGetEventStatus(ctx->device, event) == VK_EVENT_RESET);
      VKH_CHECK(vkSetEvent(ctx->device, event));
      EXPECT(vkGetEventStatus(ctx->device, event) == VK_EVENT_SET);
   }

   /* The host sets it when the wait has begun. */
   VKH_CHECK(vkResetEvent(ctx->device, event));
   cmd = vkh_begin(ctx);
   vkCmdWaitEvents(cmd, 1, &event, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                   NULL, 0, NULL, 0, NULL);
   vkCmdFillBuffer(cmd, buffer->buffer, 0, VK_WHOLE_SIZE, 30);
   const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
   VkFence fence;
   VKH_CHECK(vkCreateFence(ctx->device, &fence_info, NULL, &fence));
   vkh_submit(ctx, cmd, fence);
   EXPECT(vkWaitForFences(ctx->device, 1, &fence, VK_TRUE, 20000000) == VK_TIMEOUT);
   EXPECT(value_of(buffer) == 22);
   VKH_CHECK(vkSetEvent(ctx->device, event));
   VKH_CHECK(vkWaitForFences(ctx->device, 1, &fence, VK_TRUE, UINT64_MAX));
   EXPECT(value_of(buffer) == 30);
   vkDestroyFence(ctx->device, fence, NULL);
   vkDestroyEvent(ctx->device, event, NULL);
}

static void
test_timestamps(struct vkh_context *ctx)
{
   const VkQueryPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
      .queryType = VK_QUERY_TYPE_TIMESTAMP,
      .queryCount = 2,
   };
   VkQueryPool pool;
   uint64_t times[2];
   VKH_CHECK(vkCreateQueryPool(ctx->device, &info, NULL, &pool));

   VkCommandBuffer cmd = vkh_begin(ctx);
   vkCmdResetQueryPool(cmd, pool, 0, 2);
   vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, pool, 0);
   vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, 1);
   vkh_submit_wait(ctx, cmd);
   VKH_CHECK(vkGetQueryPoolResults(ctx->device, pool, 0, 2, sizeof(times), times, 8,
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
   EXPECT(times[0] != 0 && times[0] <= times[1]);
   vkDestroyQueryPool(ctx->device, pool, NULL);
}

int
main(int count, char **arguments)
{
   const struct vkh_options options = {.compute_queue = count > 1};
   struct vkh_context *ctx = vkh_context_create(&options);
   struct vkh_buffer buffer = vkh_buffer_create(ctx, 4096, "buffer");

   test_fence(ctx, &buffer);
   test_timeline(ctx, &buffer);
   test_binary(ctx, &buffer);
   test_event(ctx, &buffer);
   test_timestamps(ctx);

   VKH_CHECK(vkDeviceWaitIdle(ctx->device));
   vkh_buffer_destroy(ctx, &buffer);
   vkh_context_destroy(ctx);
   return 0;
}
