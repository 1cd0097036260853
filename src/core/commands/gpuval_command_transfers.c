/* SPDX-License-Identifier: MIT */

/* Commands that access memory without a shader: copies, blits, resolves, clears, fills, updates,
 * results of queries, markers.
 */

#include "gpuval_command_describe.h"

#include "gpuval/src/compat/gpuval_indirect_copies.h"
#include "util/bitscan.h"
#include "vk_buffer.h"
#include "vk_format.h"
#include "vk_image.h"

VkImageSubresourceRange
gpuval_layers_range(const VkImageSubresourceLayers *layers)
{
   return (VkImageSubresourceRange){
      .aspectMask = layers->aspectMask,
      .baseMipLevel = layers->mipLevel,
      .levelCount = 1,
      .baseArrayLayer = layers->baseArrayLayer,
      .layerCount = layers->layerCount,
   };
}

/* Where both sides of a copy are accessed, and what they are */
struct copy {
   struct gpuval_access_sink sink;
   VkPipelineStageFlags2 stages;
   VkAccessFlags2 read, write;
};

static struct copy
by_device(const struct gpuval_access_sink *sink, VkPipelineStageFlags2 stages)
{
   return (struct copy){
      .sink = *sink,
      .stages = stages,
      .read = VK_ACCESS_2_TRANSFER_READ_BIT,
      .write = VK_ACCESS_2_TRANSFER_WRITE_BIT,
   };
}

static struct copy
by_host(gpuval_access_function function, void *data)
{
   return (struct copy){
      .sink = {function, data},
      .stages = VK_PIPELINE_STAGE_2_HOST_BIT,
      .read = VK_ACCESS_2_HOST_READ_BIT,
      .write = VK_ACCESS_2_HOST_WRITE_BIT,
   };
}

/* Images */

/* The two corners may be in any order. */
static void
describe_corners(const struct copy *copy, VkAccessFlags2 access, VkImage handle,
                 const VkImageSubresourceLayers *layers, VkOffset3D a, VkOffset3D b)
{
   struct gpuval_command_access described = {
      .stages = copy->stages,
      .access = access,
      .image = vk_image_from_handle(handle),
      .range = gpuval_layers_range(layers),
      .has_box = true,
   };
   const int32_t from[3] = {a.x, a.y, a.z}, to[3] = {b.x, b.y, b.z};

   for (unsigned i = 0; i < 3; i++) {
      described.begin[i] = MIN2(from[i], to[i]);
      described.end[i] = MAX2(from[i], to[i]);
   }
   copy->sink.function(copy->sink.data, &described);
}

static void
describe_box(const struct copy *copy, VkAccessFlags2 access, VkImage handle,
             const VkImageSubresourceLayers *layers, VkOffset3D offset, VkExtent3D extent)
{
   describe_corners(copy, access, handle, layers, offset,
                    (VkOffset3D){
                       .x = offset.x + extent.width,
                       .y = offset.y + extent.height,
                       .z = offset.z + extent.depth,
                    });
}

static void
describe_clear(const struct gpuval_access_sink *sink, VkImage image, uint32_t count,
               const VkImageSubresourceRange *ranges)
{
   for (uint32_t i = 0; i < count; i++)
      sink->function(sink->data, &(struct gpuval_command_access){
                                    .stages = VK_PIPELINE_STAGE_2_CLEAR_BIT,
                                    .access = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                    .image = vk_image_from_handle(image),
                                    .range = ranges[i],
                                 });
}

/* Where blocks of texels become texels, or the reverse, the extent is another one there: one
 * texel of it is certain.
 */
static VkExtent3D
get_copied_extent(const struct vk_image *src, const struct vk_image *dst, VkExtent3D extent)
{
   enum pipe_format from = vk_format_to_pipe_format(src->format);
   enum pipe_format to = vk_format_to_pipe_format(dst->format);
   bool is_same = util_format_get_blockwidth(from) == util_format_get_blockwidth(to) &&
                  util_format_get_blockheight(from) == util_format_get_blockheight(to);

   return is_same ? extent : (VkExtent3D){1, 1, 1};
}

/* Layers of one may be slices of the other. */
static VkExtent3D
get_slices(const struct vk_image *image, VkExtent3D extent, uint32_t layers)
{
   extent.depth = image->image_type == VK_IMAGE_TYPE_3D ? MAX2(extent.depth, layers) : 1;
   return extent;
}

static void
describe_image_copies(const struct copy *copy, VkImage src_handle, VkImage dst_handle,
                      uint32_t count, const VkImageCopy2 *regions)
{
   VK_FROM_HANDLE(vk_image, src, src_handle);
   VK_FROM_HANDLE(vk_image, dst, dst_handle);

   for (uint32_t i = 0; i < count; i++) {
      const VkImageCopy2 *region = &regions[i];
      uint32_t layers = vk_image_subresource_layer_count(src, &region->srcSubresource);
      VkExtent3D extent = get_copied_extent(src, dst, region->extent);

      describe_box(copy, copy->read, src_handle, &region->srcSubresource, region->srcOffset,
                   get_slices(src, region->extent, 1));
      describe_box(copy, copy->write, dst_handle, &region->dstSubresource, region->dstOffset,
                   get_slices(dst, extent, layers));
   }
}

static void
describe_blit(const struct copy *copy, const VkBlitImageInfo2 *info)
{
   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkImageBlit2 *region = &info->pRegions[i];
      describe_corners(copy, copy->read, info->srcImage, &region->srcSubresource,
                       region->srcOffsets[0], region->srcOffsets[1]);
      describe_corners(copy, copy->write, info->dstImage, &region->dstSubresource,
                       region->dstOffsets[0], region->dstOffsets[1]);
   }
}

static void
describe_resolve(const struct copy *copy, const VkResolveImageInfo2 *info)
{
   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkImageResolve2 *region = &info->pRegions[i];
      describe_box(copy, copy->read, info->srcImage, &region->srcSubresource, region->srcOffset,
                   region->extent);
      describe_box(copy, copy->write, info->dstImage, &region->dstSubresource, region->dstOffset,
                   region->extent);
   }
}

/* Buffers */

void
gpuval_describe_buffer(const struct gpuval_access_sink *sink, VkPipelineStageFlags2 stages,
                       VkAccessFlags2 access, VkBuffer handle, uint64_t offset, uint64_t size,
                       bool has_gaps)
{
   VK_FROM_HANDLE(vk_buffer, buffer, handle);

   if (!buffer || offset >= buffer->size)
      return;
   sink->function(sink->data, &(struct gpuval_command_access){
                                 .stages = stages,
                                 .access = access,
                                 .buffer = buffer,
                                 .offset = offset,
                                 .size = MIN2(size, buffer->size - offset),
                                 .has_gaps = has_gaps,
                              });
}

void
gpuval_describe_address(const struct gpuval_access_sink *sink, VkPipelineStageFlags2 stages,
                        VkAccessFlags2 access, VkDeviceAddress address, uint64_t size,
                        bool has_gaps)
{
   if (!address || !size)
      return;
   sink->function(sink->data, &(struct gpuval_command_access){
                                 .stages = stages,
                                 .access = access,
                                 .address = address,
                                 .size = size,
                                 .has_gaps = has_gaps,
                              });
}

/* Rows that are longer than what is copied of them, of one layer or slice */
static void
describe_gapped_rows(const struct copy *copy, VkAccessFlags2 access, VkBuffer handle,
                     uint64_t offset, const struct gpuval_command_access *rows)
{
   VK_FROM_HANDLE(vk_buffer, buffer, handle);
   struct gpuval_command_access described = *rows;

   described.stages = copy->stages;
   described.access = access;
   described.buffer = buffer;
   described.offset = offset;
   described.has_gaps = true;
   described.size = (rows->num_rows - 1) * rows->row_stride + rows->row_size;
   if (buffer && offset < buffer->size && described.size <= buffer->size - offset)
      copy->sink.function(copy->sink.data, &described);
}

static void
describe_rows(const struct copy *copy, VkAccessFlags2 access, VkBuffer buffer, VkImage handle,
              const VkBufferImageCopy2 *region)
{
   VK_FROM_HANDLE(vk_image, image, handle);
   const struct vk_image_buffer_layout layout = vk_image_buffer_copy_layout(image, region);
   const VkExtent3D extent = vk_image_sanitize_extent(image, region->imageExtent);
   uint64_t layers = MAX2(vk_image_subresource_layer_count(image, &region->imageSubresource),
                          region->imageExtent.depth);
   enum pipe_format format = vk_format_to_pipe_format(
      vk_format_get_aspect_format(image->format, region->imageSubresource.aspectMask));
   const struct gpuval_command_access rows = {
      .row_size = (uint64_t)util_format_get_nblocksx(format, extent.width) * layout.element_size_B,
      .row_stride = layout.row_stride_B,
      .num_rows = util_format_get_nblocksy(format, extent.height),
   };
   bool has_gaps =
      rows.row_size != rows.row_stride || rows.num_rows * rows.row_stride != layout.image_stride_B;

   if (!has_gaps) {
      gpuval_describe_buffer(&copy->sink, copy->stages, access, buffer, region->bufferOffset,
                             layers * layout.image_stride_B, false);
      return;
   }
   for (uint64_t i = 0; rows.num_rows && i < layers; i++)
      describe_gapped_rows(copy, access, buffer, region->bufferOffset + i * layout.image_stride_B,
                           &rows);
}

static void
describe_copy_buffer_to_image(const struct copy *copy, const VkCopyBufferToImageInfo2 *info)
{
   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkBufferImageCopy2 *region = &info->pRegions[i];
      describe_rows(copy, copy->read, info->srcBuffer, info->dstImage, region);
      describe_box(copy, copy->write, info->dstImage, &region->imageSubresource,
                   region->imageOffset, region->imageExtent);
   }
}

static void
describe_copy_image_to_buffer(const struct copy *copy, const VkCopyImageToBufferInfo2 *info)
{
   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkBufferImageCopy2 *region = &info->pRegions[i];
      describe_box(copy, copy->read, info->srcImage, &region->imageSubresource, region->imageOffset,
                   region->imageExtent);
      describe_rows(copy, copy->write, info->dstBuffer, info->srcImage, region);
   }
}

static void
describe_copy_buffer(const struct copy *copy, const VkCopyBufferInfo2 *info)
{
   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkBufferCopy2 *region = &info->pRegions[i];
      gpuval_describe_buffer(&copy->sink, copy->stages, copy->read, info->srcBuffer,
                             region->srcOffset, region->size, false);
      gpuval_describe_buffer(&copy->sink, copy->stages, copy->write, info->dstBuffer,
                             region->dstOffset, region->size, false);
   }
}

/* The stride may be anything, 0 if there is one query. */
static void
describe_query_results(const struct gpuval_access_sink *sink,
                       const struct gpuval_command_driver *driver,
                       const struct vk_cmd_copy_query_pool_results *copy)
{
   uint64_t size = driver->query_size(copy->query_pool, copy->flags);

   for (uint32_t i = 0; i < copy->query_count; i++)
      gpuval_describe_buffer(sink, VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                             copy->dst_buffer, copy->dst_offset + i * copy->stride, size, false);
}

/* VK_WHOLE_SIZE is rounded down to words. */
static void
describe_fill(const struct gpuval_access_sink *sink, const struct vk_cmd_fill_buffer *fill)
{
   VK_FROM_HANDLE(vk_buffer, buffer, fill->dst_buffer);
   uint64_t size = fill->size;

   if (buffer && size == VK_WHOLE_SIZE && fill->dst_offset < buffer->size)
      size = (buffer->size - fill->dst_offset) & ~3ull;
   gpuval_describe_buffer(sink, VK_PIPELINE_STAGE_2_CLEAR_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                          fill->dst_buffer, fill->dst_offset, size, false);
}

/* Only where the driver knows what is at addresses can it be told what the copies are. */

static void
describe_indirect_copy(const struct copy *copy, const VkCopyMemoryIndirectCommandNV *indirect)
{
   gpuval_describe_address(&copy->sink, copy->stages, copy->read, indirect->srcAddress,
                           indirect->size, false);
   gpuval_describe_address(&copy->sink, copy->stages, copy->write, indirect->dstAddress,
                           indirect->size, false);
}

static void
describe_indirect_image_copy(const struct copy *copy, VkImage image,
                             const VkCopyMemoryToImageIndirectCommandNV *indirect)
{
   const VkBufferImageCopy2 region = {
      .bufferRowLength = indirect->bufferRowLength,
      .bufferImageHeight = indirect->bufferImageHeight,
      .imageSubresource = indirect->imageSubresource,
      .imageExtent = indirect->imageExtent,
   };
   const struct vk_image_buffer_layout layout =
      vk_image_buffer_copy_layout(vk_image_from_handle(image), &region);
   bool is_packed = !indirect->bufferRowLength && !indirect->bufferImageHeight;
   uint64_t layers = MAX2(indirect->imageSubresource.layerCount, indirect->imageExtent.depth);

   gpuval_describe_address(&copy->sink, copy->stages, copy->read, indirect->srcAddress,
                           layers * layout.image_stride_B, !is_packed);
   describe_box(copy, copy->write, image, &indirect->imageSubresource, indirect->imageOffset,
                indirect->imageExtent);
}

static void
describe_indirect_copies(const struct copy *copy, const struct gpuval_command_driver *driver,
                         const struct gpuval_indirect_copies *copies)
{
   uint64_t size = copies->image ? sizeof(VkCopyMemoryToImageIndirectCommandNV)
                                 : sizeof(VkCopyMemoryIndirectCommandNV);

   for (uint32_t i = 0; i < copies->count; i++) {
      uint64_t address = copies->address + i * copies->stride;
      const void *indirect =
         driver->find_memory ? driver->find_memory(driver->data, address) : NULL;

      gpuval_describe_address(&copy->sink, GPUVAL_STAGE_COPY_INDIRECT,
                              VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT, address, size, false);
      if (indirect && copies->image)
         describe_indirect_image_copy(copy, copies->image, indirect);
      else if (indirect)
         describe_indirect_copy(copy, indirect);
   }
}

void
gpuval_describe_transfer(const struct gpuval_access_sink *sink,
                         const struct gpuval_command_driver *driver,
                         const struct vk_cmd_queue_entry *command)
{
   const struct copy copy = by_device(sink, VK_PIPELINE_STAGE_2_COPY_BIT);
   const struct copy blit = by_device(sink, VK_PIPELINE_STAGE_2_BLIT_BIT);
   const struct copy resolve = by_device(sink, VK_PIPELINE_STAGE_2_RESOLVE_BIT);
   struct gpuval_indirect_copies copies;

   if (gpuval_get_indirect_copies(command, &copies)) {
      describe_indirect_copies(&copy, driver, &copies);
      return;
   }
   switch ((unsigned)command->type) {
   case VK_CMD_CLEAR_COLOR_IMAGE:
      describe_clear(sink, command->u.clear_color_image.image,
                     command->u.clear_color_image.range_count, command->u.clear_color_image.ranges);
      return;
   case VK_CMD_CLEAR_DEPTH_STENCIL_IMAGE:
      describe_clear(sink, command->u.clear_depth_stencil_image.image,
                     command->u.clear_depth_stencil_image.range_count,
                     command->u.clear_depth_stencil_image.ranges);
      return;
   case VK_CMD_COPY_IMAGE2: {
      const VkCopyImageInfo2 *info = command->u.copy_image2.copy_image_info;
      describe_image_copies(&copy, info->srcImage, info->dstImage, info->regionCount,
                            info->pRegions);
      return;
   }
   case VK_CMD_BLIT_IMAGE2:
      describe_blit(&blit, command->u.blit_image2.blit_image_info);
      return;
   case VK_CMD_RESOLVE_IMAGE2:
      describe_resolve(&resolve, command->u.resolve_image2.resolve_image_info);
      return;
   case VK_CMD_COPY_BUFFER_TO_IMAGE2:
      describe_copy_buffer_to_image(&copy,
                                    command->u.copy_buffer_to_image2.copy_buffer_to_image_info);
      return;
   case VK_CMD_COPY_IMAGE_TO_BUFFER2:
      describe_copy_image_to_buffer(&copy,
                                    command->u.copy_image_to_buffer2.copy_image_to_buffer_info);
      return;
   case VK_CMD_COPY_BUFFER2:
      describe_copy_buffer(&copy, command->u.copy_buffer2.copy_buffer_info);
      return;
   case VK_CMD_FILL_BUFFER:
      describe_fill(sink, &command->u.fill_buffer);
      return;
   case VK_CMD_UPDATE_BUFFER:
      gpuval_describe_buffer(sink, VK_PIPELINE_STAGE_2_CLEAR_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                             command->u.update_buffer.dst_buffer,
                             command->u.update_buffer.dst_offset,
                             command->u.update_buffer.data_size, false);
      return;
   case VK_CMD_COPY_QUERY_POOL_RESULTS:
      describe_query_results(sink, driver, &command->u.copy_query_pool_results);
      return;
   case VK_CMD_WRITE_BUFFER_MARKER2_AMD:
      /* VK_AMD_buffer_marker names no stage but those that all transfers have. */
      gpuval_describe_buffer(sink, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                             VK_ACCESS_2_TRANSFER_WRITE_BIT,
                             command->u.write_buffer_marker2_amd.dst_buffer,
                             command->u.write_buffer_marker2_amd.dst_offset,
                             sizeof(command->u.write_buffer_marker2_amd.marker), false);
      return;
   default:
      return;
   }
}

/* The host */

void
gpuval_visit_copy_memory_to_image(const VkCopyMemoryToImageInfoEXT *info,
                                  gpuval_access_function function, void *data)
{
   const struct copy copy = by_host(function, data);

   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkMemoryToImageCopyEXT *region = &info->pRegions[i];
      describe_box(&copy, copy.write, info->dstImage, &region->imageSubresource,
                   region->imageOffset, region->imageExtent);
   }
}

void
gpuval_visit_copy_image_to_memory(const VkCopyImageToMemoryInfoEXT *info,
                                  gpuval_access_function function, void *data)
{
   const struct copy copy = by_host(function, data);

   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkImageToMemoryCopyEXT *region = &info->pRegions[i];
      describe_box(&copy, copy.read, info->srcImage, &region->imageSubresource, region->imageOffset,
                   region->imageExtent);
   }
}

void
gpuval_visit_host_copy_image(const VkCopyImageToImageInfoEXT *info, gpuval_access_function function,
                             void *data)
{
   const struct copy copy = by_host(function, data);
   describe_image_copies(&copy, info->srcImage, info->dstImage, info->regionCount, info->pRegions);
}

uint64_t
gpuval_query_size(VkQueryType type, VkQueryPipelineStatisticFlags statistics,
                  VkQueryResultFlags flags)
{
   unsigned num_values;

   switch ((unsigned)type) {
   case VK_QUERY_TYPE_OCCLUSION:
   case VK_QUERY_TYPE_TIMESTAMP:
   case VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT:
   case VK_QUERY_TYPE_MESH_PRIMITIVES_GENERATED_EXT:
   case VK_QUERY_TYPE_ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR:
   case VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR:
   case VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SIZE_KHR:
   case VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SERIALIZATION_BOTTOM_LEVEL_POINTERS_KHR:
      num_values = 1;
      break;
   case VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT:
      num_values = 2;
      break;
   case VK_QUERY_TYPE_PIPELINE_STATISTICS:
      num_values = util_bitcount(statistics);
      break;
   default:
      return VK_WHOLE_SIZE;
   }
   if (flags & (VK_QUERY_RESULT_WITH_AVAILABILITY_BIT | VK_QUERY_RESULT_WITH_STATUS_BIT_KHR))
      num_values++;
   return num_values * (flags & VK_QUERY_RESULT_64_BIT ? 8 : 4);
}
