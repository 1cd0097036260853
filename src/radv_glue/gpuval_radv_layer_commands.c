/* SPDX-License-Identifier: MIT */

/* gpuval's layer above RADV's entry points (gpuval_radv_layer.c): commands that transfer, order,
 * render, bind or label. What commands do to buffers and images may be recorded early and never
 * late, so it is noted before RADV records them, unless it depends on what RADV does.
 */

#include "gpuval_radv_crumbs.h"
#include "gpuval_radv_layer.h"

#include "gpuval/gpuval_radv_entrypoints.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"

#include "gpuval/src/core/gpuval_queue_labels.h"
#include "gpuval/src/core/order/gpuval_dependency.h"

static struct gpuval_radv *
gpuval_of(VkCommandBuffer handle)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   return radv_cmd_buffer_device(cmd_buffer)->gpuval;
}

static const struct vk_device_dispatch_table *
next(VkCommandBuffer handle)
{
   return &gpuval_of(handle)->hooks.next;
}

/* @call: RADV's entry point of a command that is no action, with its breadcrumbs */
#define RECORD(handle, op, call)                                                                   \
   do {                                                                                            \
      VK_FROM_HANDLE(radv_cmd_buffer, recorded, handle);                                           \
                                                                                                   \
      gpuval_radv_begin_crumb(recorded, op);                                                       \
      call;                                                                                        \
      gpuval_radv_end_crumb(recorded);                                                             \
   } while (0)

/* Transfers from and to images */

/* What commands of this section have in common: init marks, race notes, bytes of buffers. @visit: a
 * call of a function of core/memory/gpuval_transfers.h, but for its last two arguments.
 */
#define NOTE_TRANSFER(handle, op, visit, ...)                                                      \
   do {                                                                                            \
      VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);                                         \
      struct gpuval_radv_race_note *note;                                                          \
                                                                                                   \
      visit(__VA_ARGS__, gpuval_radv_images_transfer, cmd_buffer);                                 \
      note = gpuval_radv_race_begin_transfer(cmd_buffer);                                          \
      visit(__VA_ARGS__, gpuval_radv_race_add_transfer, note);                                     \
      gpuval_radv_race_end_transfer(cmd_buffer, note, op);                                         \
      GPUVAL_RADV_NOTE_BYTES(cmd_buffer, op, visit, __VA_ARGS__);                                  \
   } while (0)

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdClearColorImage(VkCommandBuffer handle, VkImage image, VkImageLayout layout,
                               const VkClearColorValue *color, uint32_t count,
                               const VkImageSubresourceRange *ranges)
{
   NOTE_TRANSFER(handle, "clear_color_image", gpuval_visit_clear, image, count, ranges);
   RECORD(handle, "clear_color_image",
          next(handle)->CmdClearColorImage(handle, image, layout, color, count, ranges));
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdClearDepthStencilImage(VkCommandBuffer handle, VkImage image, VkImageLayout layout,
                                      const VkClearDepthStencilValue *value, uint32_t count,
                                      const VkImageSubresourceRange *ranges)
{
   NOTE_TRANSFER(handle, "clear_depth_stencil_image", gpuval_visit_clear, image, count, ranges);
   RECORD(handle, "clear_depth_stencil_image",
          next(handle)->CmdClearDepthStencilImage(handle, image, layout, value, count, ranges));
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdCopyImage2(VkCommandBuffer handle, const VkCopyImageInfo2 *info)
{
   NOTE_TRANSFER(handle, "copy_image", gpuval_visit_copy_image, info);
   RECORD(handle, "copy_image", next(handle)->CmdCopyImage2(handle, info));
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdBlitImage2(VkCommandBuffer handle, const VkBlitImageInfo2 *info)
{
   NOTE_TRANSFER(handle, "blit_image", gpuval_visit_blit_image, info);
   RECORD(handle, "blit_image", next(handle)->CmdBlitImage2(handle, info));
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdResolveImage2(VkCommandBuffer handle, const VkResolveImageInfo2 *info)
{
   NOTE_TRANSFER(handle, "resolve_image", gpuval_visit_resolve_image, info);
   RECORD(handle, "resolve_image", next(handle)->CmdResolveImage2(handle, info));
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdCopyBufferToImage2(VkCommandBuffer handle, const VkCopyBufferToImageInfo2 *info)
{
   NOTE_TRANSFER(handle, "copy_buffer_to_image", gpuval_visit_copy_buffer_to_image, info);
   RECORD(handle, "copy_buffer_to_image", next(handle)->CmdCopyBufferToImage2(handle, info));
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdCopyImageToBuffer2(VkCommandBuffer handle, const VkCopyImageToBufferInfo2 *info)
{
   NOTE_TRANSFER(handle, "copy_image_to_buffer", gpuval_visit_copy_image_to_buffer, info);
   gpuval_radv_written_copy_image_to_buffer(gpuval_of(handle), info);
   RECORD(handle, "copy_image_to_buffer", next(handle)->CmdCopyImageToBuffer2(handle, info));
}

/* Transfers to buffers */

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdCopyBuffer2(VkCommandBuffer handle, const VkCopyBufferInfo2 *info)
{
   NOTE_TRANSFER(handle, "copy_buffer", gpuval_visit_copy_buffer, info);
   gpuval_radv_written_copy_buffer(gpuval_of(handle), info);
   RECORD(handle, "copy_buffer", next(handle)->CmdCopyBuffer2(handle, info));
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdFillBuffer(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset,
                          VkDeviceSize size, uint32_t value)
{
   NOTE_TRANSFER(handle, "fill_buffer", gpuval_visit_fill_buffer, buffer, offset, size);
   gpuval_radv_written_buffer(gpuval_of(handle), buffer, offset, size);
   RECORD(handle, "fill_buffer", next(handle)->CmdFillBuffer(handle, buffer, offset, size, value));
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdUpdateBuffer(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset,
                            VkDeviceSize size, const void *data)
{
   NOTE_TRANSFER(handle, "update_buffer", gpuval_visit_fill_buffer, buffer, offset, size);
   gpuval_radv_written_buffer(gpuval_of(handle), buffer, offset, size);
   RECORD(handle, "update_buffer",
          next(handle)->CmdUpdateBuffer(handle, buffer, offset, size, data));
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdCopyQueryPoolResults(VkCommandBuffer handle, VkQueryPool pool, uint32_t first,
                                    uint32_t count, VkBuffer buffer, VkDeviceSize offset,
                                    VkDeviceSize stride, VkQueryResultFlags flags)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   gpuval_radv_written_copy_queries(gpuval_of(handle), pool, count, buffer, offset, stride, flags);
   GPUVAL_RADV_NOTE_BYTES(cmd_buffer, "copy_query_pool_results", gpuval_radv_visit_queries, pool,
                          count, buffer, offset, stride, flags);
   RECORD(handle, "copy_query_pool_results",
          next(handle)->CmdCopyQueryPoolResults(handle, pool, first, count, buffer, offset, stride,
                                                flags));
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdWriteBufferMarker2AMD(VkCommandBuffer handle, VkPipelineStageFlags2 stage,
                                     VkBuffer buffer, VkDeviceSize offset, uint32_t marker)
{
   gpuval_radv_written_buffer(gpuval_of(handle), buffer, offset, sizeof(marker));
   next(handle)->CmdWriteBufferMarker2AMD(handle, stage, buffer, offset, marker);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdBindTransformFeedbackBuffersEXT(VkCommandBuffer handle, uint32_t first,
                                               uint32_t count, const VkBuffer *buffers,
                                               const VkDeviceSize *offsets,
                                               const VkDeviceSize *sizes)
{
   for (uint32_t i = 0; i < count; i++)
      gpuval_radv_written_buffer(gpuval_of(handle), buffers[i], offsets[i],
                                 sizes ? sizes[i] : VK_WHOLE_SIZE);
   next(handle)->CmdBindTransformFeedbackBuffersEXT(handle, first, count, buffers, offsets, sizes);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdEndTransformFeedbackEXT(VkCommandBuffer handle, uint32_t first, uint32_t count,
                                       const VkBuffer *counters, const VkDeviceSize *offsets)
{
   for (uint32_t i = 0; counters && i < count; i++)
      gpuval_radv_written_buffer(gpuval_of(handle), counters[i], offsets ? offsets[i] : 0, 4);
   next(handle)->CmdEndTransformFeedbackEXT(handle, first, count, counters, offsets);
}

/* Within a pass the predicate is looked at behind it. */
VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdBeginConditionalRenderingEXT(VkCommandBuffer handle,
                                            const VkConditionalRenderingBeginInfoEXT *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   struct gpuval_radv_bytes *bytes =
      gpuval_radv_begin_bytes(cmd_buffer, "begin_conditional_rendering_ext");
   if (bytes)
      gpuval_visit_begin_conditional_rendering(info, gpuval_radv_add_bytes, bytes);
   if (!cmd_buffer->state.render.active)
      gpuval_radv_flush_bytes(cmd_buffer);
   next(handle)->CmdBeginConditionalRenderingEXT(handle, info);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdEncodeVideoKHR(VkCommandBuffer handle, const VkVideoEncodeInfoKHR *info)
{
   gpuval_radv_written_buffer(gpuval_of(handle), info->dstBuffer, info->dstBufferOffset,
                              info->dstBufferRange);
   next(handle)->CmdEncodeVideoKHR(handle, info);
}

/* Secondary ones may end within a pass. */
VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_EndCommandBuffer(VkCommandBuffer handle)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   gpuval_radv_flush_indices(cmd_buffer);
   gpuval_radv_flush_bytes(cmd_buffer);
   return next(handle)->EndCommandBuffer(handle);
}

/* Order. Legacy barriers and events become those with a 2 through the dispatch table. */

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdPipelineBarrier2(VkCommandBuffer handle, const VkDependencyInfo *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   struct gpuval_pass_barrier barrier;

   gpuval_radv_note_barrier(cmd_buffer,
                            gpuval_hooks_complete_barrier(&cmd_buffer->vk, info, &barrier));
   ralloc_free(barrier.mem_ctx);
   gpuval_radv_wait_for_looks(cmd_buffer);
   next(handle)->CmdPipelineBarrier2(handle, info);
   gpuval_radv_images_transition(cmd_buffer, 1, info);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdSetEvent2(VkCommandBuffer handle, VkEvent event, const VkDependencyInfo *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   gpuval_radv_note_set_event(cmd_buffer, event, info);
   gpuval_radv_wait_for_looks(cmd_buffer);
   next(handle)->CmdSetEvent2(handle, event, info);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdResetEvent2(VkCommandBuffer handle, VkEvent event, VkPipelineStageFlags2 stages)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   gpuval_radv_note_reset_event(cmd_buffer, event);
   next(handle)->CmdResetEvent2(handle, event, stages);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdWaitEvents2(VkCommandBuffer handle, uint32_t count, const VkEvent *events,
                           const VkDependencyInfo *infos)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   gpuval_radv_note_wait_events(cmd_buffer, count, events, infos);
   gpuval_radv_wait_for_looks(cmd_buffer);
   next(handle)->CmdWaitEvents2(handle, count, events, infos);
   gpuval_radv_images_transition(cmd_buffer, count, infos);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdWaitEvents(VkCommandBuffer handle, uint32_t event_count, const VkEvent *events,
                          VkPipelineStageFlags src, VkPipelineStageFlags dst, uint32_t memory_count,
                          const VkMemoryBarrier *memory, uint32_t buffer_count,
                          const VkBufferMemoryBarrier *buffers, uint32_t image_count,
                          const VkImageMemoryBarrier *images)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   VkDependencyInfo *infos = gpuval_upgrade_wait_events(event_count, src, dst, memory_count, memory,
                                                        buffer_count, buffers, image_count, images);

   gpuval_radv_begin_wait_events(cmd_buffer, event_count, events, infos);
   next(handle)->CmdWaitEvents(handle, event_count, events, src, dst, memory_count, memory,
                               buffer_count, buffers, image_count, images);
   gpuval_radv_end_wait_events(cmd_buffer);
   ralloc_free(infos);
}

/* Rendering. Render passes of the runtime's begin and end through the dispatch table. */

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdBeginRendering(VkCommandBuffer handle, const VkRenderingInfo *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   gpuval_radv_images_begin_rendering(cmd_buffer, info);
   gpuval_radv_race_begin_rendering(cmd_buffer, info);
   next(handle)->CmdBeginRendering(handle, info);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdEndRendering(VkCommandBuffer handle)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   gpuval_radv_race_end_rendering(cmd_buffer);
   next(handle)->CmdEndRendering(handle);
   gpuval_radv_flush_indices(cmd_buffer);
   gpuval_radv_flush_bytes(cmd_buffer);
   gpuval_radv_images_end_rendering(cmd_buffer);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdClearAttachments(VkCommandBuffer handle, uint32_t count,
                                const VkClearAttachment *attachments, uint32_t rect_count,
                                const VkClearRect *rects)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   gpuval_radv_note_draw(cmd_buffer);
   gpuval_radv_race_clear_attachments(cmd_buffer, count, attachments);
   RECORD(handle, "clear_attachments",
          next(handle)->CmdClearAttachments(handle, count, attachments, rect_count, rects));
}

/* Secondary command buffers may draw. */
VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdExecuteCommands(VkCommandBuffer handle, uint32_t count,
                               const VkCommandBuffer *secondaries)
{
   VK_FROM_HANDLE(radv_cmd_buffer, primary, handle);
   struct gpuval_radv *gpuval = gpuval_of(handle);

   gpuval_radv_note_draw(primary);
   for (uint32_t i = 0; i < count; i++) {
      VK_FROM_HANDLE(radv_cmd_buffer, secondary, secondaries[i]);
      gpuval_radv_add_secondary(gpuval, primary, secondary);
      if (gpuval_radv_needs_notes(gpuval))
         gpuval_radv_note_execute(primary, secondary);
   }
   next(handle)->CmdExecuteCommands(handle, count, secondaries);
}

/* Descriptors */

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdBindDescriptorSets2(VkCommandBuffer handle, const VkBindDescriptorSetsInfoKHR *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   next(handle)->CmdBindDescriptorSets2(handle, info);
   gpuval_radv_bind_sets(cmd_buffer, info);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdPushDescriptorSet2(VkCommandBuffer handle, const VkPushDescriptorSetInfoKHR *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   next(handle)->CmdPushDescriptorSet2(handle, info);
   gpuval_radv_push_set(cmd_buffer, info);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdPushDescriptorSetWithTemplate2(VkCommandBuffer handle,
                                              const VkPushDescriptorSetWithTemplateInfoKHR *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   next(handle)->CmdPushDescriptorSetWithTemplate2(handle, info);
   gpuval_radv_push_set_with_template(cmd_buffer, info);
}

/* Labels */

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdEndDebugUtilsLabelEXT(VkCommandBuffer handle)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   if (gpuval_labels_ends_earlier(&cmd_buffer->vk))
      gpuval_radv_end_earlier_label(cmd_buffer);
   next(handle)->CmdEndDebugUtilsLabelEXT(handle);
}

/* In the place of Mesa's, which would never remove the label. */
VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdInsertDebugUtilsLabelEXT(VkCommandBuffer handle, const VkDebugUtilsLabelEXT *label)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   gpuval_labels_insert(&cmd_buffer->vk, label);
}
