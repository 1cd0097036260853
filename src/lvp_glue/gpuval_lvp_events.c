/* SPDX-License-Identifier: MIT */

/* vkCmdWaitEvents2(), whose barriers the runtime's queue of commands does not copy,
 * as lavapipe has no use for them.
 */

#include "gpuval_lvp.h"

#include "lvp_private.h"

#include "gpuval/src/core/gpuval_sync.h"
#include "vk_cmd_enqueue_entrypoints.h"

VKAPI_ATTR void VKAPI_CALL
lvp_CmdWaitEvents2(VkCommandBuffer commandBuffer, uint32_t eventCount, const VkEvent *pEvents,
                   const VkDependencyInfo *pDependencyInfos)
{
   VK_FROM_HANDLE(lvp_cmd_buffer, cmd_buffer, commandBuffer);
   const struct lvp_device *device = cmd_buffer->device;
   struct vk_cmd_queue *queue = &cmd_buffer->vk.cmd_queue;
   const struct list_head *last = queue->cmds.prev;

   vk_cmd_enqueue_CmdWaitEvents2(commandBuffer, eventCount, pEvents, pDependencyInfos);
   if (!device->gpuval || !gpuval_lvp_has_order(device->gpuval) || queue->cmds.prev == last)
      return;

   struct gpuval_sync_scopes *scopes =
      vk_alloc(queue->alloc, gpuval_sync_scopes_size(eventCount, pDependencyInfos), 8,
               VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
   if (scopes)
      gpuval_sync_copy_scopes(scopes, eventCount, pDependencyInfos);
   else
      vk_command_buffer_set_error(&cmd_buffer->vk, VK_ERROR_OUT_OF_HOST_MEMORY);
   list_entry(queue->cmds.prev, struct vk_cmd_queue_entry, cmd_link)->driver_data = scopes;
}
