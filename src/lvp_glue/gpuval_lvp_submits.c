/* SPDX-License-Identifier: MIT */

/* Calls that submit work or tell that work has ended: noted, then left to Mesa's
 * runtime. The queue's thread comes later and cannot know any more what the
 * application had waited for, and it gets several submits as one.
 *
 * And vkCmdWaitEvents2(), whose barriers the runtime's queue of commands does not
 * copy as lavapipe has no use for them.
 */

#include "gpuval_lvp_submits.h"
#include "gpuval_lvp.h"

#include "lvp_private.h"

#include "gpuval/src/core/gpuval_submits.h"
#include "vk_cmd_enqueue_entrypoints.h"
#include "vk_common_entrypoints.h"
#include "vk_semaphore.h"

static struct gpuval_submits *
device_submits(const struct lvp_device *device)
{
   return device->gpuval ? gpuval_lvp_submits(device->gpuval) : NULL;
}

VKAPI_ATTR VkResult VKAPI_CALL
lvp_QueueSubmit2(VkQueue _queue, uint32_t submitCount, const VkSubmitInfo2 *pSubmits, VkFence fence)
{
   VK_FROM_HANDLE(lvp_queue, queue, _queue);
   struct gpuval_submits *submits = device_submits(queue->device);

   if (submits) {
      for (uint32_t i = 0; i < submitCount; i++)
         gpuval_submits_note(submits, &pSubmits[i]);
      if (fence)
         gpuval_submits_signal(submits, (uint64_t)fence, 0, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
   }
   return vk_common_QueueSubmit2(_queue, submitCount, pSubmits, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL
lvp_QueueWaitIdle(VkQueue _queue)
{
   VK_FROM_HANDLE(lvp_queue, queue, _queue);
   struct gpuval_submits *submits = device_submits(queue->device);

   VkResult result = vk_common_QueueWaitIdle(_queue);
   if (submits && result == VK_SUCCESS)
      gpuval_submits_host_saw_all(submits);
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
lvp_WaitForFences(VkDevice _device, uint32_t fenceCount, const VkFence *pFences, VkBool32 waitAll,
                  uint64_t timeout)
{
   VK_FROM_HANDLE(lvp_device, device, _device);
   struct gpuval_submits *submits = device_submits(device);

   VkResult result = vk_common_WaitForFences(_device, fenceCount, pFences, waitAll, timeout);
   for (uint32_t i = 0; submits && result == VK_SUCCESS && i < fenceCount; i++) {
      if (waitAll || vk_common_GetFenceStatus(_device, pFences[i]) == VK_SUCCESS)
         gpuval_submits_host_saw(submits, (uint64_t)pFences[i], 0);
   }
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
lvp_GetFenceStatus(VkDevice _device, VkFence fence)
{
   VK_FROM_HANDLE(lvp_device, device, _device);
   struct gpuval_submits *submits = device_submits(device);

   VkResult result = vk_common_GetFenceStatus(_device, fence);
   if (submits && result == VK_SUCCESS)
      gpuval_submits_host_saw(submits, (uint64_t)fence, 0);
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
lvp_GetSemaphoreCounterValue(VkDevice _device, VkSemaphore semaphore, uint64_t *pValue)
{
   VK_FROM_HANDLE(lvp_device, device, _device);
   struct gpuval_submits *submits = device_submits(device);

   VkResult result = vk_common_GetSemaphoreCounterValue(_device, semaphore, pValue);
   if (submits && result == VK_SUCCESS && *pValue)
      gpuval_submits_host_saw(submits, (uint64_t)semaphore, *pValue);
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
lvp_WaitSemaphores(VkDevice _device, const VkSemaphoreWaitInfo *pWaitInfo, uint64_t timeout)
{
   VK_FROM_HANDLE(lvp_device, device, _device);
   struct gpuval_submits *submits = device_submits(device);

   VkResult result = vk_common_WaitSemaphores(_device, pWaitInfo, timeout);
   for (uint32_t i = 0; submits && result == VK_SUCCESS && i < pWaitInfo->semaphoreCount; i++) {
      uint64_t value = pWaitInfo->pValues[i];

      if (pWaitInfo->flags & VK_SEMAPHORE_WAIT_ANY_BIT &&
          (vk_common_GetSemaphoreCounterValue(_device, pWaitInfo->pSemaphores[i], &value) !=
              VK_SUCCESS ||
           value < pWaitInfo->pValues[i]))
         continue;
      if (value)
         gpuval_submits_host_saw(submits, (uint64_t)pWaitInfo->pSemaphores[i], value);
   }
   return result;
}

VKAPI_ATTR void VKAPI_CALL
lvp_DestroyFence(VkDevice _device, VkFence fence, const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(lvp_device, device, _device);
   struct gpuval_submits *submits = device_submits(device);

   if (submits && fence)
      gpuval_submits_forget(submits, (uint64_t)fence);
   vk_common_DestroyFence(_device, fence, pAllocator);
}

VKAPI_ATTR void VKAPI_CALL
lvp_DestroySemaphore(VkDevice _device, VkSemaphore semaphore,
                     const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(lvp_device, device, _device);
   struct gpuval_submits *submits = device_submits(device);

   if (submits && semaphore)
      gpuval_submits_forget(submits, (uint64_t)semaphore);
   vk_common_DestroySemaphore(_device, semaphore, pAllocator);
}

void
gpuval_lvp_host_saw_event(struct gpuval_lvp *gpuval, const struct lvp_event *event)
{
   struct gpuval_submits *submits = gpuval_lvp_submits(gpuval);

   if (submits)
      gpuval_submits_host_saw(submits, (uintptr_t)event, 0);
}

/* The scopes of all barriers, as memory barriers */
static struct gpuval_lvp_wait *
copy_scopes(const struct vk_cmd_queue *queue, uint32_t count, const VkDependencyInfo *infos)
{
   size_t max = 0;
   for (uint32_t i = 0; i < count; i++)
      max += (size_t)infos[i].memoryBarrierCount + infos[i].bufferMemoryBarrierCount +
             infos[i].imageMemoryBarrierCount;

   struct gpuval_lvp_wait *wait =
      vk_alloc(queue->alloc, sizeof(*wait) + max * sizeof(wait->barriers[0]), 8,
               VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
   if (!wait)
      return NULL;

   wait->count = 0;
   for (uint32_t i = 0; i < count; i++) {
      for (uint32_t j = 0; j < infos[i].memoryBarrierCount; j++)
         wait->barriers[wait->count++] = infos[i].pMemoryBarriers[j];

      for (uint32_t j = 0; j < infos[i].bufferMemoryBarrierCount; j++) {
         const VkBufferMemoryBarrier2 *barrier = &infos[i].pBufferMemoryBarriers[j];
         wait->barriers[wait->count++] = (VkMemoryBarrier2){
            .srcStageMask = barrier->srcStageMask,
            .srcAccessMask = barrier->srcAccessMask,
            .dstStageMask = barrier->dstStageMask,
            .dstAccessMask = barrier->dstAccessMask,
         };
      }

      /* gpuval_sync.c: their accesses do not count. */
      for (uint32_t j = 0; j < infos[i].imageMemoryBarrierCount; j++) {
         const VkImageMemoryBarrier2 *barrier = &infos[i].pImageMemoryBarriers[j];
         wait->barriers[wait->count++] = (VkMemoryBarrier2){
            .srcStageMask = barrier->srcStageMask,
            .dstStageMask = barrier->dstStageMask,
         };
      }
   }
   return wait;
}

VKAPI_ATTR void VKAPI_CALL
lvp_CmdWaitEvents2(VkCommandBuffer commandBuffer, uint32_t eventCount, const VkEvent *pEvents,
                   const VkDependencyInfo *pDependencyInfos)
{
   VK_FROM_HANDLE(lvp_cmd_buffer, cmd_buffer, commandBuffer);
   struct vk_cmd_queue *queue = &cmd_buffer->vk.cmd_queue;
   const struct list_head *last = queue->cmds.prev;

   vk_cmd_enqueue_CmdWaitEvents2(commandBuffer, eventCount, pEvents, pDependencyInfos);
   if (!device_submits(cmd_buffer->device) || queue->cmds.prev == last)
      return;

   struct gpuval_lvp_wait *wait = copy_scopes(queue, eventCount, pDependencyInfos);
   if (!wait)
      vk_command_buffer_set_error(&cmd_buffer->vk, VK_ERROR_OUT_OF_HOST_MEMORY);
   list_entry(queue->cmds.prev, struct vk_cmd_queue_entry, cmd_link)->driver_data = wait;
}
