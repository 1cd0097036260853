/* SPDX-License-Identifier: MIT */

/* What draws, dispatches and traces read beside their shaders, and generated commands. */

#include "gpuval_command_describe.h"

#include "vk_device_generated_commands.h"
#include "vk_image.h"
#include "vk_util.h"

#define INDIRECT      VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT
#define READ_INDIRECT VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT

/* Arguments */

static void
describe_structs(const struct gpuval_access_sink *sink, VkBuffer buffer, uint64_t offset,
                 uint64_t stride, uint32_t count, uint32_t size)
{
   if (count)
      gpuval_describe_buffer(sink, INDIRECT, READ_INDIRECT, buffer, offset,
                             (count - 1) * stride + size, count > 1 && stride != size);
}

static void
describe_draws(const struct gpuval_access_sink *sink, const struct vk_cmd_draw_indirect *draw,
               uint32_t size)
{
   describe_structs(sink, draw->buffer, draw->offset, draw->stride, draw->draw_count, size);
}

/* How many structs are read stands in memory: all that may be have gaps. */
static void
describe_counted_draws(const struct gpuval_access_sink *sink,
                       const struct vk_cmd_draw_indirect_count *draw, uint32_t size)
{
   gpuval_describe_buffer(sink, INDIRECT, READ_INDIRECT, draw->count_buffer,
                          draw->count_buffer_offset, sizeof(uint32_t), false);
   if (draw->max_draw_count)
      gpuval_describe_buffer(sink, INDIRECT, READ_INDIRECT, draw->buffer, draw->offset,
                             (draw->max_draw_count - 1) * (uint64_t)draw->stride + size, true);
}

/* The counter is one of transform feedback, and an indirect argument here. */
static void
describe_captured_draw(const struct gpuval_access_sink *sink,
                       const struct vk_cmd_draw_indirect_byte_count_ext *draw)
{
   gpuval_describe_buffer(
      sink, INDIRECT, READ_INDIRECT | VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_READ_BIT_EXT,
      draw->counter_buffer, draw->counter_buffer_offset, sizeof(uint32_t), false);
}

/* Shader binding tables */

static void
describe_table(const struct gpuval_access_sink *sink, const VkStridedDeviceAddressRegionKHR *table)
{
   if (table && table->size)
      gpuval_describe_address(
         sink, VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR,
         VK_ACCESS_2_SHADER_BINDING_TABLE_READ_BIT_KHR | VK_ACCESS_2_SHADER_READ_BIT,
         table->deviceAddress, table->size, true);
}

static void
describe_indirect_trace(const struct gpuval_access_sink *sink,
                        const struct vk_cmd_trace_rays_indirect_khr *trace)
{
   describe_table(sink, trace->raygen_shader_binding_table);
   describe_table(sink, trace->miss_shader_binding_table);
   describe_table(sink, trace->hit_shader_binding_table);
   describe_table(sink, trace->callable_shader_binding_table);
   gpuval_describe_address(sink, INDIRECT, READ_INDIRECT, trace->indirect_device_address,
                           sizeof(VkTraceRaysIndirectCommandKHR), false);
}

/* Generated commands */

static void
describe_generated(const struct gpuval_access_sink *sink, VkPipelineStageFlags2 stages,
                   VkAccessFlags2 access, const VkGeneratedCommandsInfoEXT *info)
{
   gpuval_describe_address(sink, stages, access, info->indirectAddress, info->indirectAddressSize,
                           true);
   gpuval_describe_address(sink, stages, access, info->sequenceCountAddress, sizeof(uint32_t),
                           false);
}

/* What has been preprocessed is read as arguments are, and so is the rest if nothing has been. */
static void
describe_execution(const struct gpuval_access_sink *sink,
                   const struct vk_cmd_execute_generated_commands_ext *execute)
{
   const VkGeneratedCommandsInfoEXT *info = execute->generated_commands_info;

   if (execute->is_preprocessed) {
      gpuval_describe_address(sink, INDIRECT, READ_INDIRECT, info->preprocessAddress,
                              info->preprocessSize, true);
      return;
   }
   describe_generated(sink, INDIRECT | VK_PIPELINE_STAGE_2_COMMAND_PREPROCESS_BIT_EXT,
                      READ_INDIRECT | VK_ACCESS_2_COMMAND_PREPROCESS_READ_BIT_EXT, info);
   gpuval_describe_address(sink, VK_PIPELINE_STAGE_2_COMMAND_PREPROCESS_BIT_EXT,
                           VK_ACCESS_2_COMMAND_PREPROCESS_WRITE_BIT_EXT, info->preprocessAddress,
                           info->preprocessSize, true);
}

static void
describe_preprocessing(const struct gpuval_access_sink *sink,
                       const VkGeneratedCommandsInfoEXT *info)
{
   const VkPipelineStageFlags2 stage = VK_PIPELINE_STAGE_2_COMMAND_PREPROCESS_BIT_EXT;

   describe_generated(sink, stage, VK_ACCESS_2_COMMAND_PREPROCESS_READ_BIT_EXT, info);
   gpuval_describe_address(sink, stage, VK_ACCESS_2_COMMAND_PREPROCESS_WRITE_BIT_EXT,
                           info->preprocessAddress, info->preprocessSize, false);
}

/* Draws of all kinds have the same members, for gpuval_indirect.c, too. */
static_assert(sizeof(struct vk_cmd_draw_indexed_indirect) == sizeof(struct vk_cmd_draw_indirect) &&
                 sizeof(struct vk_cmd_draw_mesh_tasks_indirect_ext) ==
                    sizeof(struct vk_cmd_draw_indirect),
              "buffer, offset, draw_count, stride");
static_assert(sizeof(struct vk_cmd_draw_indexed_indirect_count) ==
                    sizeof(struct vk_cmd_draw_indirect_count) &&
                 sizeof(struct vk_cmd_draw_mesh_tasks_indirect_count_ext) ==
                    sizeof(struct vk_cmd_draw_indirect_count),
              "the same with a count");

void
gpuval_describe_action(const struct gpuval_access_sink *sink,
                       const struct vk_cmd_queue_entry *command)
{
   switch ((unsigned)command->type) {
   case VK_CMD_DRAW_INDIRECT:
      describe_draws(sink, &command->u.draw_indirect, sizeof(VkDrawIndirectCommand));
      return;
   case VK_CMD_DRAW_INDEXED_INDIRECT:
      describe_draws(sink, &command->u.draw_indirect, sizeof(VkDrawIndexedIndirectCommand));
      return;
   case VK_CMD_DRAW_MESH_TASKS_INDIRECT_EXT:
      describe_draws(sink, &command->u.draw_indirect, sizeof(VkDrawMeshTasksIndirectCommandEXT));
      return;
   case VK_CMD_DRAW_INDIRECT_COUNT:
      describe_counted_draws(sink, &command->u.draw_indirect_count, sizeof(VkDrawIndirectCommand));
      return;
   case VK_CMD_DRAW_INDEXED_INDIRECT_COUNT:
      describe_counted_draws(sink, &command->u.draw_indirect_count,
                             sizeof(VkDrawIndexedIndirectCommand));
      return;
   case VK_CMD_DRAW_MESH_TASKS_INDIRECT_COUNT_EXT:
      describe_counted_draws(sink, &command->u.draw_indirect_count,
                             sizeof(VkDrawMeshTasksIndirectCommandEXT));
      return;
   case VK_CMD_DRAW_INDIRECT_BYTE_COUNT_EXT:
      describe_captured_draw(sink, &command->u.draw_indirect_byte_count_ext);
      return;
   case VK_CMD_DISPATCH_INDIRECT:
      describe_structs(sink, command->u.dispatch_indirect.buffer,
                       command->u.dispatch_indirect.offset, 0, 1,
                       sizeof(VkDispatchIndirectCommand));
      return;
   case VK_CMD_TRACE_RAYS_KHR:
      describe_table(sink, command->u.trace_rays_khr.raygen_shader_binding_table);
      describe_table(sink, command->u.trace_rays_khr.miss_shader_binding_table);
      describe_table(sink, command->u.trace_rays_khr.hit_shader_binding_table);
      describe_table(sink, command->u.trace_rays_khr.callable_shader_binding_table);
      return;
   case VK_CMD_TRACE_RAYS_INDIRECT_KHR:
      describe_indirect_trace(sink, &command->u.trace_rays_indirect_khr);
      return;
   case VK_CMD_TRACE_RAYS_INDIRECT2_KHR:
      /* The tables' addresses stand in memory. */
      gpuval_describe_address(sink, INDIRECT, READ_INDIRECT,
                              command->u.trace_rays_indirect2_khr.indirect_device_address,
                              sizeof(VkTraceRaysIndirectCommand2KHR), false);
      return;
   case VK_CMD_EXECUTE_GENERATED_COMMANDS_EXT:
      describe_execution(sink, &command->u.execute_generated_commands_ext);
      return;
   case VK_CMD_PREPROCESS_GENERATED_COMMANDS_EXT:
      describe_preprocessing(sink,
                             command->u.preprocess_generated_commands_ext.generated_commands_info);
      return;
   default:
      return;
   }
}

/* Renderings, and video */

static void
describe_view(const struct gpuval_access_sink *sink, VkPipelineStageFlags2 stages,
              VkAccessFlags2 access, VkImageView handle)
{
   VK_FROM_HANDLE(vk_image_view, view, handle);

   if (view)
      sink->function(sink->data, &(struct gpuval_command_access){
                                    .stages = stages,
                                    .access = access,
                                    .image = view->image,
                                    .range = vk_image_view_subresource_range(view),
                                 });
}

void
gpuval_describe_rendering(const struct gpuval_access_sink *sink,
                          const struct vk_cmd_queue_entry *command)
{
   if (command->type != VK_CMD_BEGIN_RENDERING)
      return;

   const VkRenderingInfo *info = command->u.begin_rendering.rendering_info;
   const VkRenderingFragmentShadingRateAttachmentInfoKHR *rate =
      vk_find_struct_const(info->pNext, RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR);
   const VkRenderingFragmentDensityMapAttachmentInfoEXT *density =
      vk_find_struct_const(info->pNext, RENDERING_FRAGMENT_DENSITY_MAP_ATTACHMENT_INFO_EXT);

   if (rate)
      describe_view(sink, VK_PIPELINE_STAGE_2_FRAGMENT_SHADING_RATE_ATTACHMENT_BIT_KHR,
                    VK_ACCESS_2_FRAGMENT_SHADING_RATE_ATTACHMENT_READ_BIT_KHR, rate->imageView);
   if (density)
      describe_view(sink, VK_PIPELINE_STAGE_2_FRAGMENT_DENSITY_PROCESS_BIT_EXT,
                    VK_ACCESS_2_FRAGMENT_DENSITY_MAP_READ_BIT_EXT, density->imageView);
}

static void
describe_picture(const struct gpuval_access_sink *sink, VkPipelineStageFlags2 stage,
                 VkAccessFlags2 access, const VkVideoPictureResourceInfoKHR *picture)
{
   if (picture)
      describe_view(sink, stage, access, picture->imageViewBinding);
}

static void
describe_decoding(const struct gpuval_access_sink *sink, const VkVideoDecodeInfoKHR *info)
{
   const VkPipelineStageFlags2 stage = VK_PIPELINE_STAGE_2_VIDEO_DECODE_BIT_KHR;

   gpuval_describe_buffer(sink, stage, VK_ACCESS_2_VIDEO_DECODE_READ_BIT_KHR, info->srcBuffer,
                          info->srcBufferOffset, info->srcBufferRange, false);
   describe_picture(sink, stage, VK_ACCESS_2_VIDEO_DECODE_WRITE_BIT_KHR, &info->dstPictureResource);
   for (uint32_t i = 0; i < info->referenceSlotCount; i++)
      describe_picture(sink, stage, VK_ACCESS_2_VIDEO_DECODE_READ_BIT_KHR,
                       info->pReferenceSlots[i].pPictureResource);
   if (info->pSetupReferenceSlot)
      describe_picture(sink, stage, VK_ACCESS_2_VIDEO_DECODE_WRITE_BIT_KHR,
                       info->pSetupReferenceSlot->pPictureResource);
}

static void
describe_encoding(const struct gpuval_access_sink *sink, const VkVideoEncodeInfoKHR *info)
{
   const VkPipelineStageFlags2 stage = VK_PIPELINE_STAGE_2_VIDEO_ENCODE_BIT_KHR;

   gpuval_describe_buffer(sink, stage, VK_ACCESS_2_VIDEO_ENCODE_WRITE_BIT_KHR, info->dstBuffer,
                          info->dstBufferOffset, info->dstBufferRange, true);
   describe_picture(sink, stage, VK_ACCESS_2_VIDEO_ENCODE_READ_BIT_KHR, &info->srcPictureResource);
   for (uint32_t i = 0; i < info->referenceSlotCount; i++)
      describe_picture(sink, stage, VK_ACCESS_2_VIDEO_ENCODE_READ_BIT_KHR,
                       info->pReferenceSlots[i].pPictureResource);
   if (info->pSetupReferenceSlot)
      describe_picture(sink, stage, VK_ACCESS_2_VIDEO_ENCODE_WRITE_BIT_KHR,
                       info->pSetupReferenceSlot->pPictureResource);
}

void
gpuval_describe_video(const struct gpuval_access_sink *sink,
                      const struct vk_cmd_queue_entry *command)
{
   switch ((unsigned)command->type) {
   case VK_CMD_DECODE_VIDEO_KHR:
      describe_decoding(sink, command->u.decode_video_khr.decode_info);
      return;
   case VK_CMD_ENCODE_VIDEO_KHR:
      describe_encoding(sink, command->u.encode_video_khr.encode_info);
      return;
   default:
      return;
   }
}
