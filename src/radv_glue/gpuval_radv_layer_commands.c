/* SPDX-License-Identifier: MIT */

/* gpuval's layer above RADV's entry points (gpuval_radv_layer.c): commands that transfer, order,
 * render, bind or label. What commands do to buffers and images may be recorded early and never
 * late, so it is noted before RADV records them, unless it depends on what RADV does.
 */

#include "gpuval_radv_crumbs.h"
#include "gpuval_radv_layer.h"
#include "gpuval_radv_walk.h"

#include "gpuval/gpuval_radv_entrypoints.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"

#include "gpuval/src/compat/gpuval_runtime.h"
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

/* A command that is no action: @call, RADV's entry point, with breadcrumbs; and its entry of
 * vk_cmd_queue.
 */
#define RECORD(handle, op, call, ...)                                                              \
   do {                                                                                            \
      VK_FROM_HANDLE(radv_cmd_buffer, recorded, handle);                                           \
                                                                                                   \
      GPUVAL_RADV_VISIT(recorded, op, __VA_ARGS__);                                                \
      gpuval_radv_begin_crumb(recorded, op);                                                       \
      call;                                                                                        \
      gpuval_radv_end_crumb(recorded);                                                             \
   } while (0)

/* Clears of images */

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdClearColorImage(VkCommandBuffer handle, VkImage image, VkImageLayout layout,
                               const VkClearColorValue *color, uint32_t count,
                               const VkImageSubresourceRange *ranges)
{
   RECORD(handle, "clear_color_image",
          next(handle)->CmdClearColorImage(handle, image, layout, color, count, ranges),
          .type = VK_CMD_CLEAR_COLOR_IMAGE,
          .u.clear_color_image = {.image = image,
                                  .range_count = count,
                                  .ranges = (VkImageSubresourceRange *)ranges});
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdClearDepthStencilImage(VkCommandBuffer handle, VkImage image, VkImageLayout layout,
                                      const VkClearDepthStencilValue *value, uint32_t count,
                                      const VkImageSubresourceRange *ranges)
{
   RECORD(handle, "clear_depth_stencil_image",
          next(handle)->CmdClearDepthStencilImage(handle, image, layout, value, count, ranges),
          .type = VK_CMD_CLEAR_DEPTH_STENCIL_IMAGE,
          .u.clear_depth_stencil_image = {.image = image,
                                          .range_count = count,
                                          .ranges = (VkImageSubresourceRange *)ranges});
}

/* Copies, blits and resolves */

#define DEFINE_COPY(Function, Info, Type, member, op)                                              \
   VKAPI_ATTR void VKAPI_CALL gpuval_radv_##Function(VkCommandBuffer handle, const Info *info)     \
   {                                                                                               \
      RECORD(handle, op, next(handle)->Function(handle, info), .type = Type,                       \
             .u.member = {(Info *)info});                                                          \
   }
DEFINE_COPY(CmdCopyImage2, VkCopyImageInfo2, VK_CMD_COPY_IMAGE2, copy_image2, "copy_image")
DEFINE_COPY(CmdBlitImage2, VkBlitImageInfo2, VK_CMD_BLIT_IMAGE2, blit_image2, "blit_image")
DEFINE_COPY(CmdResolveImage2, VkResolveImageInfo2, VK_CMD_RESOLVE_IMAGE2, resolve_image2,
            "resolve_image")
DEFINE_COPY(CmdCopyBufferToImage2, VkCopyBufferToImageInfo2, VK_CMD_COPY_BUFFER_TO_IMAGE2,
            copy_buffer_to_image2, "copy_buffer_to_image")
DEFINE_COPY(CmdCopyImageToBuffer2, VkCopyImageToBufferInfo2, VK_CMD_COPY_IMAGE_TO_BUFFER2,
            copy_image_to_buffer2, "copy_image_to_buffer")
DEFINE_COPY(CmdCopyBuffer2, VkCopyBufferInfo2, VK_CMD_COPY_BUFFER2, copy_buffer2, "copy_buffer")

/* Transfers to buffers */

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdFillBuffer(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset,
                          VkDeviceSize size, uint32_t value)
{
   RECORD(handle, "fill_buffer", next(handle)->CmdFillBuffer(handle, buffer, offset, size, value),
          .type = VK_CMD_FILL_BUFFER,
          .u.fill_buffer = {.dst_buffer = buffer, .dst_offset = offset, .size = size});
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdUpdateBuffer(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset,
                            VkDeviceSize size, const void *data)
{
   RECORD(handle, "update_buffer",
          next(handle)->CmdUpdateBuffer(handle, buffer, offset, size, data),
          .type = VK_CMD_UPDATE_BUFFER,
          .u.update_buffer = {.dst_buffer = buffer, .dst_offset = offset, .data_size = size});
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdCopyQueryPoolResults(VkCommandBuffer handle, VkQueryPool pool, uint32_t first,
                                    uint32_t count, VkBuffer buffer, VkDeviceSize offset,
                                    VkDeviceSize stride, VkQueryResultFlags flags)
{
   RECORD(handle, "copy_query_pool_results",
          next(handle)->CmdCopyQueryPoolResults(handle, pool, first, count, buffer, offset, stride,
                                                flags),
          .type = VK_CMD_COPY_QUERY_POOL_RESULTS,
          .u.copy_query_pool_results = {.query_pool = pool,
                                        .first_query = first,
                                        .query_count = count,
                                        .dst_buffer = buffer,
                                        .dst_offset = offset,
                                        .stride = stride,
                                        .flags = flags});
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdWriteBufferMarker2AMD(VkCommandBuffer handle, VkPipelineStageFlags2 stage,
                                     VkBuffer buffer, VkDeviceSize offset, uint32_t marker)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   GPUVAL_RADV_VISIT(cmd_buffer, "write_buffer_marker2_amd",
                     .type = VK_CMD_WRITE_BUFFER_MARKER2_AMD,
                     .u.write_buffer_marker2_amd = {.stage = stage,
                                                    .dst_buffer = buffer,
                                                    .dst_offset = offset,
                                                    .marker = marker});
   next(handle)->CmdWriteBufferMarker2AMD(handle, stage, buffer, offset, marker);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdBindTransformFeedbackBuffersEXT(VkCommandBuffer handle, uint32_t first,
                                               uint32_t count, const VkBuffer *buffers,
                                               const VkDeviceSize *offsets,
                                               const VkDeviceSize *sizes)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   GPUVAL_RADV_VISIT(cmd_buffer, "bind_transform_feedback_buffers_ext",
                     .type = VK_CMD_BIND_TRANSFORM_FEEDBACK_BUFFERS_EXT,
                     .u.bind_transform_feedback_buffers_ext = {.first_binding = first,
                                                               .binding_count = count,
                                                               .buffers = (VkBuffer *)buffers,
                                                               .offsets = (VkDeviceSize *)offsets,
                                                               .sizes = (VkDeviceSize *)sizes});
   next(handle)->CmdBindTransformFeedbackBuffersEXT(handle, first, count, buffers, offsets, sizes);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdBeginTransformFeedbackEXT(VkCommandBuffer handle, uint32_t first, uint32_t count,
                                         const VkBuffer *counters, const VkDeviceSize *offsets)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   GPUVAL_RADV_VISIT(
      cmd_buffer, "begin_transform_feedback_ext", .type = VK_CMD_BEGIN_TRANSFORM_FEEDBACK_EXT,
      .u.begin_transform_feedback_ext = {.first_counter_buffer = first,
                                         .counter_buffer_count = count,
                                         .counter_buffers = (VkBuffer *)counters,
                                         .counter_buffer_offsets = (VkDeviceSize *)offsets});
   next(handle)->CmdBeginTransformFeedbackEXT(handle, first, count, counters, offsets);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdEndTransformFeedbackEXT(VkCommandBuffer handle, uint32_t first, uint32_t count,
                                       const VkBuffer *counters, const VkDeviceSize *offsets)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   GPUVAL_RADV_VISIT(
      cmd_buffer, "end_transform_feedback_ext", .type = VK_CMD_END_TRANSFORM_FEEDBACK_EXT,
      .u.end_transform_feedback_ext = {.first_counter_buffer = first,
                                       .counter_buffer_count = count,
                                       .counter_buffers = (VkBuffer *)counters,
                                       .counter_buffer_offsets = (VkDeviceSize *)offsets});
   next(handle)->CmdEndTransformFeedbackEXT(handle, first, count, counters, offsets);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdBeginConditionalRenderingEXT(VkCommandBuffer handle,
                                            const VkConditionalRenderingBeginInfoEXT *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   GPUVAL_RADV_VISIT(
      cmd_buffer, "begin_conditional_rendering_ext", .type = VK_CMD_BEGIN_CONDITIONAL_RENDERING_EXT,
      .u.begin_conditional_rendering_ext = {.conditional_rendering_begin =
                                               (VkConditionalRenderingBeginInfoEXT *)info});
   next(handle)->CmdBeginConditionalRenderingEXT(handle, info);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdEncodeVideoKHR(VkCommandBuffer handle, const VkVideoEncodeInfoKHR *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   GPUVAL_RADV_VISIT(cmd_buffer, "encode_video_khr", .type = VK_CMD_ENCODE_VIDEO_KHR,
                     .u.encode_video_khr = {.encode_info = (VkVideoEncodeInfoKHR *)info});
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
   struct gpuval_pass_barrier barrier = {.mem_ctx = NULL};

   GPUVAL_RADV_VISIT(cmd_buffer, "pipeline_barrier", .type = VK_CMD_PIPELINE_BARRIER2,
                     .u.pipeline_barrier2 = {(VkDependencyInfo *)gpuval_hooks_complete_barrier(
                        &cmd_buffer->vk, info, &barrier)});
   ralloc_free(barrier.mem_ctx);
   gpuval_radv_wait_for_looks(cmd_buffer);
   next(handle)->CmdPipelineBarrier2(handle, info);
   gpuval_radv_end_command(cmd_buffer);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdSetEvent2(VkCommandBuffer handle, VkEvent event, const VkDependencyInfo *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   GPUVAL_RADV_VISIT(cmd_buffer, "set_event", .type = VK_CMD_SET_EVENT2,
                     .u.set_event2 = {.event = event, .dependency_info = (VkDependencyInfo *)info});
   gpuval_radv_wait_for_looks(cmd_buffer);
   next(handle)->CmdSetEvent2(handle, event, info);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdResetEvent2(VkCommandBuffer handle, VkEvent event, VkPipelineStageFlags2 stages)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   GPUVAL_RADV_VISIT(cmd_buffer, "reset_event", .type = VK_CMD_RESET_EVENT2,
                     .u.reset_event2 = {.event = event, .stage_mask = stages});
   next(handle)->CmdResetEvent2(handle, event, stages);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdWaitEvents2(VkCommandBuffer handle, uint32_t count, const VkEvent *events,
                           const VkDependencyInfo *infos)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   gpuval_radv_visit_wait(cmd_buffer, count, events, infos);
   gpuval_radv_wait_for_looks(cmd_buffer);
   next(handle)->CmdWaitEvents2(handle, count, events, infos);
   gpuval_radv_end_command(cmd_buffer);
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

   gpuval_radv_visit_wait(cmd_buffer, event_count, events, infos);
   gpuval_radv_divide_command(cmd_buffer, true);
   next(handle)->CmdWaitEvents(handle, event_count, events, src, dst, memory_count, memory,
                               buffer_count, buffers, image_count, images);
   gpuval_radv_divide_command(cmd_buffer, false);
   gpuval_radv_end_command(cmd_buffer);
   ralloc_free(infos);
}

/* Rendering. Render passes of the runtime's begin and end through the dispatch table. */

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdBeginRendering(VkCommandBuffer handle, const VkRenderingInfo *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   GPUVAL_RADV_VISIT(cmd_buffer, "begin_rendering", .type = VK_CMD_BEGIN_RENDERING,
                     .u.begin_rendering = {(VkRenderingInfo *)info});
   next(handle)->CmdBeginRendering(handle, info);
   gpuval_radv_end_command(cmd_buffer);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdEndRendering(VkCommandBuffer handle)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   GPUVAL_RADV_VISIT(cmd_buffer, "end_rendering", .type = GPUVAL_CMD_END_RENDERING);
   next(handle)->CmdEndRendering(handle);
   gpuval_radv_flush_indices(cmd_buffer);
   gpuval_radv_flush_bytes(cmd_buffer);
   gpuval_radv_end_command(cmd_buffer);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdClearAttachments(VkCommandBuffer handle, uint32_t count,
                                const VkClearAttachment *attachments, uint32_t rect_count,
                                const VkClearRect *rects)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   RECORD(handle, "clear_attachments",
          next(handle)->CmdClearAttachments(handle, count, attachments, rect_count, rects),
          .type = VK_CMD_CLEAR_ATTACHMENTS,
          .u.clear_attachments = {.attachment_count = count,
                                  .attachments = (VkClearAttachment *)attachments,
                                  .rect_count = rect_count,
                                  .rects = (VkClearRect *)rects});
}

/* Secondary command buffers may draw. */
VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdExecuteCommands(VkCommandBuffer handle, uint32_t count,
                               const VkCommandBuffer *secondaries)
{
   VK_FROM_HANDLE(radv_cmd_buffer, primary, handle);
   struct gpuval_radv *gpuval = gpuval_of(handle);

   gpuval_radv_visit_draw(primary);
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
