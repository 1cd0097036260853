/* SPDX-License-Identifier: MIT */

/* Labels of command buffers.
 *
 * lavapipe records commands and executes them at submission, but labels are
 * the runtime's and are gone by then. Each change of them is recorded as a
 * command that lavapipe executes as nothing, with the labels that are open
 * from there on; the queue frees it with the command.
 */

#include "gpuval_lvp.h"

#include "gpuval/src/compat/gpuval_lvp_driver.h"

#include "gpuval_lvp_executions.h"

#include "vk_cmd_enqueue_entrypoints.h"
#include "vk_common_entrypoints.h"

static void
enqueue_labels(struct lvp_cmd_buffer *cmd_buffer, bool ends_earlier)
{
   if (!lvp_cmd_buffer_device(cmd_buffer)->gpuval)
      return;

   struct vk_cmd_queue *queue = &cmd_buffer->vk.cmd_queue;
   const struct list_head *last = queue->cmds.prev;
   vk_cmd_enqueue_CmdSetRayTracingPipelineStackSizeKHR(lvp_cmd_buffer_to_handle(cmd_buffer), 0);
   if (queue->cmds.prev == last)
      return; /* no memory; the command buffer knows */

   struct gpuval_lvp_labels *labels = vk_alloc(
      queue->alloc,
      offsetof(struct gpuval_lvp_labels, open) + gpuval_labels_size(&cmd_buffer->vk.labels), 8,
      VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
   if (!labels)
      return;

   labels->ends_earlier = ends_earlier;
   labels->regions = gpuval_labels_regions(&cmd_buffer->vk);
   gpuval_labels_write(&labels->open, &cmd_buffer->vk.labels);
   list_entry(queue->cmds.prev, struct vk_cmd_queue_entry, cmd_link)->driver_data = labels;
}

VKAPI_ATTR void VKAPI_CALL
lvp_CmdBeginDebugUtilsLabelEXT(VkCommandBuffer commandBuffer,
                               const VkDebugUtilsLabelEXT *pLabelInfo)
{
   VK_FROM_HANDLE(lvp_cmd_buffer, cmd_buffer, commandBuffer);
   vk_common_CmdBeginDebugUtilsLabelEXT(commandBuffer, pLabelInfo);
   enqueue_labels(cmd_buffer, false);
}

VKAPI_ATTR void VKAPI_CALL
lvp_CmdEndDebugUtilsLabelEXT(VkCommandBuffer commandBuffer)
{
   VK_FROM_HANDLE(lvp_cmd_buffer, cmd_buffer, commandBuffer);
   bool ends_earlier = gpuval_labels_ends_earlier(&cmd_buffer->vk);
   vk_common_CmdEndDebugUtilsLabelEXT(commandBuffer);
   enqueue_labels(cmd_buffer, ends_earlier);
}

VKAPI_ATTR void VKAPI_CALL
lvp_CmdInsertDebugUtilsLabelEXT(VkCommandBuffer commandBuffer,
                                const VkDebugUtilsLabelEXT *pLabelInfo)
{
   VK_FROM_HANDLE(lvp_cmd_buffer, cmd_buffer, commandBuffer);
   if (lvp_cmd_buffer_device(cmd_buffer)->gpuval)
      gpuval_labels_insert(&cmd_buffer->vk, pLabelInfo);
   else
      vk_common_CmdInsertDebugUtilsLabelEXT(commandBuffer, pLabelInfo);
   enqueue_labels(cmd_buffer, false);
}
