/* SPDX-License-Identifier: MIT */

#include "gpuval_hooks.h"

#include "base/gpuval_names.h"
#include "base/gpuval_options.h"
#include "util/ralloc.h"
#include "gpuval_entrypoints.h"
#include "gpuval_queue_labels.h"
#include "gpuval_session.h"
#include "vk_command_buffer.h"
#include "vk_image.h"
#include "vk_render_pass.h"
#include "vk_util.h"

static struct gpuval_hooks *
get_hooks(VkDevice handle)
{
   VK_FROM_HANDLE(vk_device, device, handle);
   return device->gpuval;
}

/* In vkQueuePresentKHR(), which submits and waits by entry points of the device: that orders
 * nothing of the application's.
 */
static thread_local bool is_presenting;

static VkResult
waited(const struct gpuval_hooks *hooks, VkResult result)
{
   if (hooks->waited)
      hooks->waited(hooks->data);
   return result;
}

static void
host_saw(const struct gpuval_hooks *hooks, uint64_t object, uint64_t value)
{
   if (hooks->submits && !is_presenting)
      gpuval_submits_host_saw(hooks->submits, object, value);
}

static void
host_saw_all(const struct gpuval_hooks *hooks)
{
   if (hooks->submits && !is_presenting)
      gpuval_submits_host_saw_all(hooks->submits);
}

static void
forget(const struct gpuval_hooks *hooks, uint64_t object)
{
   if (hooks->submits && object)
      gpuval_submits_forget(hooks->submits, object);
}

unsigned
gpuval_hooks_queue(const struct gpuval_hooks *hooks, const struct vk_queue *queue)
{
   for (unsigned i = 0; i < hooks->num_queues; i++) {
      if (hooks->queues[i] == queue)
         return i;
   }
   UNREACHABLE("a queue of the device");
}

/* Submits. They are noted before, since the queue's thread may be quick, and taken
 * back if nothing comes of them.
 */

static uint32_t
note_labels(struct gpuval_queue_labels *labels, const struct vk_queue *queue, uint32_t count,
            const VkSubmitInfo2 *infos)
{
   uint32_t num_command_buffers = 0;

   for (uint32_t i = 0; i < count; i++)
      num_command_buffers += infos[i].commandBufferInfoCount;
   gpuval_queue_labels_submit(labels, queue, num_command_buffers);
   return num_command_buffers;
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_QueueSubmit2(VkQueue handle, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence)
{
   VK_FROM_HANDLE(vk_queue, queue, handle);
   struct gpuval_hooks *hooks = queue->base.device->gpuval;
   unsigned index = gpuval_hooks_queue(hooks, queue);
   uint64_t last = hooks->submits ? gpuval_submits_last(hooks->submits, index) : 0;

   if (hooks->submits && is_presenting)
      gpuval_submits_note_present(hooks->submits, index, count, infos, fence);
   else if (hooks->submits)
      gpuval_submits_note(hooks->submits, index, count, infos, fence);
   uint32_t num_command_buffers = note_labels(hooks->labels[index], queue, count, infos);
   VkResult result = hooks->next.QueueSubmit2(handle, count, infos, fence);
   if (result != VK_SUCCESS && hooks->submits)
      gpuval_submits_failed(hooks->submits, index, last);
   if (result != VK_SUCCESS)
      gpuval_queue_labels_failed(hooks->labels[index], num_command_buffers);
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_QueueBindSparse(VkQueue handle, uint32_t count, const VkBindSparseInfo *infos, VkFence fence)
{
   VK_FROM_HANDLE(vk_queue, queue, handle);
   struct gpuval_hooks *hooks = queue->base.device->gpuval;
   if (!hooks->submits)
      return hooks->next.QueueBindSparse(handle, count, infos, fence);

   unsigned index = gpuval_hooks_queue(hooks, queue);
   uint64_t last = gpuval_submits_last(hooks->submits, index);
   gpuval_submits_note_sparse(hooks->submits, index, count, infos, fence);
   VkResult result = hooks->next.QueueBindSparse(handle, count, infos, fence);
   if (result != VK_SUCCESS)
      gpuval_submits_failed(hooks->submits, index, last);
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_SignalSemaphore(VkDevice device, const VkSemaphoreSignalInfo *info)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   if (hooks->submits)
      gpuval_submits_host_signal(hooks->submits, (uint64_t)info->semaphore, info->value);
   return hooks->next.SignalSemaphore(device, info);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_SetEvent(VkDevice device, VkEvent event)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   if (hooks->submits)
      gpuval_submits_host_set_event(hooks->submits, event);
   return hooks->next.SetEvent(device, event);
}

/* Waits */

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_QueueWaitIdle(VkQueue handle)
{
   VK_FROM_HANDLE(vk_queue, queue, handle);
   const struct gpuval_hooks *hooks = queue->base.device->gpuval;

   VkResult result = hooks->next.QueueWaitIdle(handle);
   if (hooks->submits && result == VK_SUCCESS && !is_presenting)
      gpuval_submits_host_saw_queue(hooks->submits, gpuval_hooks_queue(hooks, queue));
   return waited(hooks, result);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_DeviceWaitIdle(VkDevice device)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   VkResult result = hooks->next.DeviceWaitIdle(device);
   if (result == VK_SUCCESS)
      host_saw_all(hooks);
   return waited(hooks, result);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_WaitForFences(VkDevice device, uint32_t count, const VkFence *fences, VkBool32 wait_all,
                     uint64_t timeout)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   VkResult result = hooks->next.WaitForFences(device, count, fences, wait_all, timeout);
   for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++) {
      if (wait_all || hooks->next.GetFenceStatus(device, fences[i]) == VK_SUCCESS)
         host_saw(hooks, (uint64_t)fences[i], 0);
   }
   return waited(hooks, result);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_GetFenceStatus(VkDevice device, VkFence fence)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   VkResult result = hooks->next.GetFenceStatus(device, fence);
   if (result == VK_SUCCESS)
      host_saw(hooks, (uint64_t)fence, 0);
   return waited(hooks, result);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_WaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   VkResult result = hooks->next.WaitSemaphores(device, info, timeout);
   for (uint32_t i = 0; result == VK_SUCCESS && i < info->semaphoreCount; i++) {
      uint64_t value = info->pValues[i];

      if (info->flags & VK_SEMAPHORE_WAIT_ANY_BIT &&
          (hooks->next.GetSemaphoreCounterValue(device, info->pSemaphores[i], &value) !=
              VK_SUCCESS ||
           value < info->pValues[i]))
         continue;
      if (value)
         host_saw(hooks, (uint64_t)info->pSemaphores[i], value);
   }
   return waited(hooks, result);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_GetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore, uint64_t *value)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   VkResult result = hooks->next.GetSemaphoreCounterValue(device, semaphore, value);
   if (result == VK_SUCCESS && *value)
      host_saw(hooks, (uint64_t)semaphore, *value);
   return waited(hooks, result);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_GetEventStatus(VkDevice device, VkEvent event)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   VkResult result = hooks->next.GetEventStatus(device, event);
   if (hooks->submits && result == VK_EVENT_SET)
      gpuval_submits_host_saw_event(hooks->submits, event);
   return waited(hooks, result);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_GetQueryPoolResults(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count,
                           size_t size, void *data, VkDeviceSize stride, VkQueryResultFlags flags)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   VkResult result =
      hooks->next.GetQueryPoolResults(device, pool, first, count, size, data, stride, flags);
   if (result == VK_SUCCESS && count)
      host_saw_all(hooks);
   return waited(hooks, result);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_WaitForPresentKHR(VkDevice device, VkSwapchainKHR swapchain, uint64_t id, uint64_t timeout)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   VkResult result = hooks->next.WaitForPresentKHR(device, swapchain, id, timeout);
   if (result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR)
      host_saw_all(hooks);
   return waited(hooks, result);
}

/* Objects that lose what they were signalled by, or that others will signal */

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_ResetFences(VkDevice device, uint32_t count, const VkFence *fences)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   for (uint32_t i = 0; i < count; i++)
      forget(hooks, (uint64_t)fences[i]);
   return hooks->next.ResetFences(device, count, fences);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_ResetEvent(VkDevice device, VkEvent event)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   if (hooks->submits)
      gpuval_submits_reset_event(hooks->submits, event);
   return hooks->next.ResetEvent(device, event);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_DestroyFence(VkDevice device, VkFence fence, const VkAllocationCallbacks *allocator)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   forget(hooks, (uint64_t)fence);
   hooks->next.DestroyFence(device, fence, allocator);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_DestroySemaphore(VkDevice device, VkSemaphore semaphore,
                        const VkAllocationCallbacks *allocator)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   forget(hooks, (uint64_t)semaphore);
   hooks->next.DestroySemaphore(device, semaphore, allocator);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_DestroyEvent(VkDevice device, VkEvent event, const VkAllocationCallbacks *allocator)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   forget(hooks, (uint64_t)event);
   hooks->next.DestroyEvent(device, event, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_ImportFenceFdKHR(VkDevice device, const VkImportFenceFdInfoKHR *info)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   forget(hooks, (uint64_t)info->fence);
   return hooks->next.ImportFenceFdKHR(device, info);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_ImportSemaphoreFdKHR(VkDevice device, const VkImportSemaphoreFdInfoKHR *info)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   forget(hooks, (uint64_t)info->semaphore);
   return hooks->next.ImportSemaphoreFdKHR(device, info);
}

/* Who has the payload can wait for it where we do not see it: already now, say. */
VKAPI_ATTR VkResult VKAPI_CALL
gpuval_GetFenceFdKHR(VkDevice device, const VkFenceGetFdInfoKHR *info, int *fd)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   host_saw(hooks, (uint64_t)info->fence, 0);
   return hooks->next.GetFenceFdKHR(device, info, fd);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_GetSemaphoreFdKHR(VkDevice device, const VkSemaphoreGetFdInfoKHR *info, int *fd)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   host_saw(hooks, (uint64_t)info->semaphore, UINT64_MAX);
   return hooks->next.GetSemaphoreFdKHR(device, info, fd);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_AcquireNextImage2KHR(VkDevice device, const VkAcquireNextImageInfoKHR *info, uint32_t *image)
{
   const struct gpuval_hooks *hooks = get_hooks(device);

   forget(hooks, (uint64_t)info->semaphore);
   forget(hooks, (uint64_t)info->fence);
   return hooks->next.AcquireNextImage2KHR(device, info, image);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_QueuePresentKHR(VkQueue handle, const VkPresentInfoKHR *info)
{
   VK_FROM_HANDLE(vk_queue, queue, handle);
   const struct gpuval_hooks *hooks = queue->base.device->gpuval;
   const VkSwapchainPresentFenceInfoEXT *fences =
      vk_find_struct_const(info->pNext, SWAPCHAIN_PRESENT_FENCE_INFO_EXT);

   for (uint32_t i = 0; fences && i < fences->swapchainCount; i++)
      forget(hooks, (uint64_t)fences->pFences[i]);
   is_presenting = true;
   VkResult result = hooks->next.QueuePresentKHR(handle, info);
   is_presenting = false;
   for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
      forget(hooks, (uint64_t)info->pWaitSemaphores[i]);
   return result;
}

/* Names, which threads of ours copy */

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_SetDebugUtilsObjectNameEXT(VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info)
{
   gpuval_names_lock();
   VkResult result = get_hooks(device)->next.SetDebugUtilsObjectNameEXT(device, info);
   gpuval_names_unlock();
   return result;
}

/* Labels of queues, which may begin and end sessions */

static void
note_session(const VkDebugUtilsLabelEXT *label)
{
   if (gpuval_options()->record == GPUVAL_RECORD_MANUAL)
      gpuval_session_label(label->pLabelName);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_QueueBeginDebugUtilsLabelEXT(VkQueue handle, const VkDebugUtilsLabelEXT *label)
{
   VK_FROM_HANDLE(vk_queue, queue, handle);
   queue->base.device->gpuval->next.QueueBeginDebugUtilsLabelEXT(handle, label);
   note_session(label);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_QueueInsertDebugUtilsLabelEXT(VkQueue handle, const VkDebugUtilsLabelEXT *label)
{
   VK_FROM_HANDLE(vk_queue, queue, handle);
   queue->base.device->gpuval->next.QueueInsertDebugUtilsLabelEXT(handle, label);
   note_session(label);
}

/* Render passes. Of the dependencies of a subpass the runtime makes one barrier, widened by the
 * implicit ones whether these exist or not (begin_subpass() and end_subpass() of vk_render_pass.c),
 * and its barriers for layouts have stages that go with the layouts. What the application says, the
 * pass has.
 */

static thread_local struct {
   bool is_in; /* one of the following */
   bool ends;  /* vkCmdEndRenderPass2() */
   uint32_t first_subpass;
} render_pass_call;

static void
begin_render_pass_call(const struct vk_command_buffer *cmd_buffer, bool begins, bool ends)
{
   render_pass_call.is_in = true;
   render_pass_call.ends = ends;
   render_pass_call.first_subpass = begins ? UINT32_MAX : cmd_buffer->subpass_idx;
}

VKAPI_ATTR void VKAPI_CALL
gpuval_CmdBeginRenderPass2(VkCommandBuffer handle, const VkRenderPassBeginInfo *begin,
                           const VkSubpassBeginInfo *info)
{
   VK_FROM_HANDLE(vk_command_buffer, cmd_buffer, handle);

   begin_render_pass_call(cmd_buffer, true, false);
   cmd_buffer->base.device->gpuval->next.CmdBeginRenderPass2(handle, begin, info);
   render_pass_call.is_in = false;
}

VKAPI_ATTR void VKAPI_CALL
gpuval_CmdNextSubpass2(VkCommandBuffer handle, const VkSubpassBeginInfo *begin,
                       const VkSubpassEndInfo *end)
{
   VK_FROM_HANDLE(vk_command_buffer, cmd_buffer, handle);

   begin_render_pass_call(cmd_buffer, false, false);
   cmd_buffer->base.device->gpuval->next.CmdNextSubpass2(handle, begin, end);
   render_pass_call.is_in = false;
}

VKAPI_ATTR void VKAPI_CALL
gpuval_CmdEndRenderPass2(VkCommandBuffer handle, const VkSubpassEndInfo *info)
{
   VK_FROM_HANDLE(vk_command_buffer, cmd_buffer, handle);

   begin_render_pass_call(cmd_buffer, false, true);
   cmd_buffer->base.device->gpuval->next.CmdEndRenderPass2(handle, info);
   render_pass_call.is_in = false;
}

/* What a barrier of the runtime's is for */
enum pass_barrier {
   BEGINS_SUBPASS, /* dependencies on the subpass, and its layouts */
   ENDS_SUBPASS,   /* dependencies of the subpass on what follows the render pass */
   ENDS_PASS,      /* final layouts */
};

static enum pass_barrier
get_pass_barrier(const struct vk_command_buffer *cmd_buffer, const VkDependencyInfo *info)
{
   if (cmd_buffer->subpass_idx != render_pass_call.first_subpass)
      return BEGINS_SUBPASS;
   return render_pass_call.ends && info->imageMemoryBarrierCount ? ENDS_PASS : ENDS_SUBPASS;
}

/* Does the subpass use the attachment? */
static bool
uses_attachment(const struct vk_subpass *subpass, uint32_t attachment)
{
   for (uint32_t i = 0; i < subpass->attachment_count; i++) {
      if (subpass->attachments[i].attachment == attachment)
         return true;
   }
   return false;
}

static bool
share_attachment(const struct vk_subpass *a, const struct vk_subpass *b)
{
   for (uint32_t i = 0; i < a->attachment_count; i++) {
      uint32_t attachment = a->attachments[i].attachment;
      if (attachment != VK_ATTACHMENT_UNUSED && uses_attachment(b, attachment))
         return true;
   }
   return false;
}

/* The first layout of an attachment comes behind what later subpasses that have it depend on, too,
 * and before all that is done with it.
 */
static bool
is_in_barrier(const struct vk_render_pass *pass, const struct vk_subpass_dependency *dependency,
              enum pass_barrier barrier, uint32_t subpass)
{
   bool is_behind_outside = dependency->src_subpass == VK_SUBPASS_EXTERNAL;

   switch (barrier) {
   case BEGINS_SUBPASS:
      if (!subpass && is_behind_outside && dependency->dst_subpass < pass->subpass_count)
         return share_attachment(&pass->subpasses[0], &pass->subpasses[dependency->dst_subpass]) ||
                !dependency->dst_subpass;
      return dependency->dst_subpass == subpass && dependency->src_subpass != subpass;
   case ENDS_SUBPASS:
      return dependency->src_subpass == subpass && dependency->dst_subpass == VK_SUBPASS_EXTERNAL;
   case ENDS_PASS:
      return dependency->dst_subpass == VK_SUBPASS_EXTERNAL;
   }
   unreachable("there are no others");
}

static VkMemoryBarrier2
make_barrier(const struct vk_subpass_dependency *dependency)
{
   return (VkMemoryBarrier2){
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
      .srcStageMask = dependency->src_stage_mask,
      .srcAccessMask = dependency->src_access_mask,
      .dstStageMask = dependency->dst_stage_mask,
      .dstAccessMask = dependency->dst_access_mask,
   };
}

/* Is it a view of that image, or of a part of it? */
static bool
is_view_of(const struct vk_image_view *view, const VkImageMemoryBarrier2 *image)
{
   const VkImageSubresourceRange *range = &image->subresourceRange;
   bool has_layer = range->baseArrayLayer >= view->base_array_layer &&
                    range->baseArrayLayer - view->base_array_layer < view->layer_count;

   return vk_image_to_handle(view->image) == image->image &&
          view->base_mip_level == range->baseMipLevel &&
          (has_layer || view->image->image_type == VK_IMAGE_TYPE_3D);
}

static void
clear_scopes(VkImageMemoryBarrier2 *image)
{
   image->srcStageMask = image->srcAccessMask = 0;
   image->dstStageMask = image->dstAccessMask = 0;
}

static void
add_scopes(VkImageMemoryBarrier2 *image, const VkMemoryBarrier2 *memory)
{
   image->srcStageMask |= memory->srcStageMask;
   image->srcAccessMask |= memory->srcAccessMask;
   image->dstStageMask |= memory->dstStageMask;
   image->dstAccessMask |= memory->dstAccessMask;
}

/* Of a subpass layouts change between the scopes of all of @memory. */
static const VkImageMemoryBarrier2 *
scope_images(void *mem_ctx, const VkDependencyInfo *info, uint32_t count,
             const VkMemoryBarrier2 *memory)
{
   VkImageMemoryBarrier2 *images =
      ralloc_array(mem_ctx, VkImageMemoryBarrier2, info->imageMemoryBarrierCount);

   for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++) {
      const VkImageMemoryBarrier2 *image = &info->pImageMemoryBarriers[i];
      images[i] = *image;
      clear_scopes(&images[i]);
      for (uint32_t j = 0; j < count; j++)
         add_scopes(&images[i], &memory[j]);
      if (!count) {
         images[i].dstStageMask = image->dstStageMask;
         images[i].dstAccessMask = image->dstAccessMask;
      }
   }
   return images;
}

/* First and final layouts change between the scopes of the dependencies that subpasses with this
 * attachment have on what comes before or follows the render pass. The first or last of these
 * subpasses has an implicit one if it has no other, behind nothing and before nothing.
 */
static void
add_outer_scopes(const struct vk_render_pass *pass, uint32_t attachment, bool is_final,
                 VkImageMemoryBarrier2 *image)
{
   const VkAccessFlags2 writes =
      VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT;
   const VkAccessFlags2 reads = VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT |
                                VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT |
                                VK_ACCESS_2_INPUT_ATTACHMENT_READ_BIT;
   const VkMemoryBarrier2 implicit = {
      .srcStageMask = is_final ? VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT : 0,
      .srcAccessMask = is_final ? writes : 0,
      .dstStageMask = is_final ? 0 : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
      .dstAccessMask = is_final ? 0 : reads | writes,
   };
   uint32_t outermost = is_final ? pass->subpass_count - 1 : 0;
   bool is_explicit = false;

   while (outermost && !uses_attachment(&pass->subpasses[outermost], attachment))
      outermost--;
   for (uint32_t i = 0; i < pass->dependency_count; i++) {
      const struct vk_subpass_dependency *dependency = &pass->dependencies[i];
      uint32_t outside = is_final ? dependency->dst_subpass : dependency->src_subpass;
      uint32_t inside = is_final ? dependency->src_subpass : dependency->dst_subpass;
      if (outside != VK_SUBPASS_EXTERNAL || inside >= pass->subpass_count ||
          !uses_attachment(&pass->subpasses[inside], attachment))
         continue;
      const VkMemoryBarrier2 memory = make_barrier(dependency);
      add_scopes(image, &memory);
      is_explicit |= inside == outermost;
   }
   if (!is_explicit)
      add_scopes(image, &implicit);
}

/* At the beginning all are of the first subpass. That of an attachment without subpasses is the
 * runtime's.
 */
static const VkImageMemoryBarrier2 *
scope_outer_images(void *mem_ctx, const struct vk_command_buffer *cmd_buffer, bool is_final,
                   const VkDependencyInfo *info)
{
   const struct vk_render_pass *pass = cmd_buffer->render_pass;
   VkImageMemoryBarrier2 *images =
      ralloc_array(mem_ctx, VkImageMemoryBarrier2, info->imageMemoryBarrierCount);

   for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++) {
      bool is_known = false;
      images[i] = info->pImageMemoryBarriers[i];
      for (uint32_t j = 0; j < pass->attachment_count; j++) {
         if (!pass->attachments[j].view_mask ||
             !is_view_of(cmd_buffer->attachments[j].image_view, &info->pImageMemoryBarriers[i]))
            continue;
         if (!is_known)
            clear_scopes(&images[i]);
         is_known = true;
         add_outer_scopes(pass, j, is_final, &images[i]);
      }
   }
   return images;
}

const VkDependencyInfo *
gpuval_hooks_complete_barrier(const struct vk_command_buffer *cmd_buffer,
                              const VkDependencyInfo *info, struct gpuval_pass_barrier *barrier)
{
   const struct vk_render_pass *pass = cmd_buffer->render_pass;
   uint32_t count = 0;

   barrier->mem_ctx = NULL;
   if (!render_pass_call.is_in || !cmd_buffer->runtime_rp_barrier ||
       !cmd_buffer->base.device->gpuval->submits)
      return info;

   barrier->mem_ctx = ralloc_context(NULL);
   enum pass_barrier what = get_pass_barrier(cmd_buffer, info);
   VkMemoryBarrier2 *memory =
      ralloc_array(barrier->mem_ctx, VkMemoryBarrier2, pass->dependency_count + 1);
   for (uint32_t i = 0; i < pass->dependency_count; i++) {
      const struct vk_subpass_dependency *dependency = &pass->dependencies[i];
      if (is_in_barrier(pass, dependency, what, cmd_buffer->subpass_idx))
         memory[count++] = make_barrier(dependency);
   }

   /* The runtime's implicit ones order nothing. */
   bool is_first = what == BEGINS_SUBPASS && !cmd_buffer->subpass_idx;
   if (!count && what == ENDS_SUBPASS)
      return info;
   if (!count && is_first)
      memory[count++] = (VkMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
         .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
      };
   barrier->info = *info;
   barrier->info.memoryBarrierCount = count;
   barrier->info.pMemoryBarriers = memory;
   barrier->info.pImageMemoryBarriers =
      is_first || what == ENDS_PASS
         ? scope_outer_images(barrier->mem_ctx, cmd_buffer, what == ENDS_PASS, info)
         : scope_images(barrier->mem_ctx, info, count, memory);
   return &barrier->info;
}

VKAPI_ATTR void VKAPI_CALL
gpuval_CmdPipelineBarrier2(VkCommandBuffer handle, const VkDependencyInfo *info)
{
   VK_FROM_HANDLE(vk_command_buffer, cmd_buffer, handle);
   struct gpuval_pass_barrier barrier;

   info = gpuval_hooks_complete_barrier(cmd_buffer, info, &barrier);
   cmd_buffer->base.device->gpuval->next.CmdPipelineBarrier2(handle, info);
   ralloc_free(barrier.mem_ctx);
}

/* Device */

void
gpuval_hooks_init(struct gpuval_hooks *hooks, struct vk_device *device, bool with_order)
{
   hooks->next = device->dispatch_table;
   vk_foreach_queue (queue, device) {
      assert(hooks->num_queues < GPUVAL_MAX_QUEUES);
      hooks->labels[hooks->num_queues] = gpuval_queue_labels_create(NULL);
      hooks->queues[hooks->num_queues++] = queue;
   }
   if (with_order)
      hooks->submits = gpuval_submits_create(hooks->num_queues);
   device->gpuval = hooks;
}

void
gpuval_hooks_finish(struct gpuval_hooks *hooks)
{
   if (hooks->submits)
      gpuval_submits_destroy(hooks->submits);
   for (unsigned i = 0; i < hooks->num_queues; i++)
      gpuval_queue_labels_destroy(hooks->labels[i]);
}
