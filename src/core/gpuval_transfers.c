/* SPDX-License-Identifier: MIT */

#include "gpuval_transfers.h"

#include <stdio.h>

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

/* Attachments */

static void
visit(const VkRenderingInfo *info, const VkRenderingAttachmentInfo *from,
      VkImageAspectFlags aspects, const char *name, uint32_t number, bool is_resolve,
      gpuval_attachment_function function, void *data)
{
   VkImageView handle = !from                                  ? VK_NULL_HANDLE
                        : !is_resolve                          ? from->imageView
                        : from->imageView && from->resolveMode ? from->resolveImageView
                                                               : VK_NULL_HANDLE;
   if (!handle)
      return;

   VK_FROM_HANDLE(vk_image_view, view, handle);
   const VkRect2D *area = &info->renderArea;
   function(data, &(struct gpuval_attachment){
                     .info = from,
                     .view = view,
                     .name = name,
                     .aspects = aspects,
                     .number = number,
                     .layers = info->viewMask ? info->viewMask : info->layerCount,
                     .has_views = info->viewMask,
                     .is_whole = !area->offset.x && !area->offset.y &&
                                 area->extent.width >= view->extent.width &&
                                 area->extent.height >= view->extent.height,
                     .is_resolve = is_resolve,
                  });
}

void
gpuval_visit_attachments(const VkRenderingInfo *info, bool is_resolve,
                         gpuval_attachment_function function, void *data)
{
   char name[32];

   for (uint32_t i = 0; i < info->colorAttachmentCount; i++) {
      snprintf(name, sizeof(name), "color attachment %u", i);
      visit(info, &info->pColorAttachments[i], VK_IMAGE_ASPECT_COLOR_BIT, name, i, is_resolve,
            function, data);
   }
   visit(info, info->pDepthAttachment, VK_IMAGE_ASPECT_DEPTH_BIT, "the depth attachment",
         UINT32_MAX, is_resolve, function, data);
   visit(info, info->pStencilAttachment, VK_IMAGE_ASPECT_STENCIL_BIT, "the stencil attachment",
         UINT32_MAX - 1, is_resolve, function, data);
}

void
gpuval_visit_attachment(const struct gpuval_attachment *attachment, gpuval_range_function function,
                        void *data)
{
   const struct vk_image_view *view = attachment->view;
   VkImageSubresourceRange range = {
      .aspectMask = attachment->aspects,
      .baseMipLevel = view->base_mip_level,
      .levelCount = 1,
      .baseArrayLayer = view->base_array_layer,
      .layerCount = attachment->layers,
   };

   if (!attachment->has_views) {
      function(data, &range);
      return;
   }
   u_foreach_bit (i, attachment->layers) {
      range.baseArrayLayer = view->base_array_layer + i;
      range.layerCount = 1;
      function(data, &range);
   }
}

/* Transfers */

struct visitor {
   gpuval_transfer_function function;
   void *data;
};

static struct gpuval_transfer
make_transfer(VkImage handle, const VkImageSubresourceLayers *layers, bool is_write)
{
   return (struct gpuval_transfer){
      .is_write = is_write,
      .image = vk_image_from_handle(handle),
      .range = gpuval_layers_range(layers),
      .has_box = true,
   };
}

/* Of two corners, which may be in any order */
static void
visit_corners(const struct visitor *visitor, VkImage handle, const VkImageSubresourceLayers *layers,
              bool is_write, VkOffset3D a, VkOffset3D b)
{
   struct gpuval_transfer transfer = make_transfer(handle, layers, is_write);
   const int32_t from[3] = {a.x, a.y, a.z}, to[3] = {b.x, b.y, b.z};

   for (unsigned i = 0; i < 3; i++) {
      transfer.begin[i] = MIN2(from[i], to[i]);
      transfer.end[i] = MAX2(from[i], to[i]);
   }
   visitor->function(visitor->data, &transfer);
}

static void
visit_box(const struct visitor *visitor, VkImage handle, const VkImageSubresourceLayers *layers,
          bool is_write, VkOffset3D offset, VkExtent3D extent)
{
   visit_corners(visitor, handle, layers, is_write, offset,
                 (VkOffset3D){
                    .x = offset.x + extent.width,
                    .y = offset.y + extent.height,
                    .z = offset.z + extent.depth,
                 });
}

static void
visit_buffer(const struct visitor *visitor, VkBuffer handle, uint64_t offset, uint64_t size,
             bool is_write, bool has_gaps)
{
   VK_FROM_HANDLE(vk_buffer, buffer, handle);

   if (!buffer || offset >= buffer->size)
      return;
   visitor->function(visitor->data, &(struct gpuval_transfer){
                                       .is_write = is_write,
                                       .buffer = buffer,
                                       .offset = offset,
                                       .size = MIN2(size, buffer->size - offset),
                                       .has_gaps = has_gaps,
                                    });
}

/* Rows may be longer than what is copied of them. */
static void
visit_rows(const struct visitor *visitor, VkBuffer buffer, VkImage handle,
           const VkBufferImageCopy2 *region, bool is_write)
{
   VK_FROM_HANDLE(vk_image, image, handle);
   const struct vk_image_buffer_layout layout = vk_image_buffer_copy_layout(image, region);
   uint64_t layers = MAX2(vk_image_subresource_layer_count(image, &region->imageSubresource),
                          region->imageExtent.depth);
   bool has_gaps =
      (region->bufferRowLength && region->bufferRowLength != region->imageExtent.width) ||
      (region->bufferImageHeight && region->bufferImageHeight != region->imageExtent.height);

   visit_buffer(visitor, buffer, region->bufferOffset, layers * layout.image_stride_B, is_write,
                has_gaps);
}

void
gpuval_visit_clear(VkImage image, uint32_t count, const VkImageSubresourceRange *ranges,
                   gpuval_transfer_function function, void *data)
{
   for (uint32_t i = 0; i < count; i++)
      function(data, &(struct gpuval_transfer){
                        .is_write = true,
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
visit_copies(const struct visitor *visitor, VkImage src_handle, VkImage dst_handle, uint32_t count,
             const VkImageCopy2 *regions)
{
   VK_FROM_HANDLE(vk_image, src, src_handle);
   VK_FROM_HANDLE(vk_image, dst, dst_handle);

   for (uint32_t i = 0; i < count; i++) {
      const VkImageCopy2 *region = &regions[i];
      uint32_t layers = vk_image_subresource_layer_count(src, &region->srcSubresource);
      VkExtent3D extent = get_copied_extent(src, dst, region->extent);

      visit_box(visitor, src_handle, &region->srcSubresource, false, region->srcOffset,
                get_slices(src, region->extent, 1));
      visit_box(visitor, dst_handle, &region->dstSubresource, true, region->dstOffset,
                get_slices(dst, extent, layers));
   }
}

void
gpuval_visit_copy_image(const VkCopyImageInfo2 *info, gpuval_transfer_function function, void *data)
{
   const struct visitor visitor = {function, data};
   visit_copies(&visitor, info->srcImage, info->dstImage, info->regionCount, info->pRegions);
}

void
gpuval_visit_blit_image(const VkBlitImageInfo2 *info, gpuval_transfer_function function, void *data)
{
   const struct visitor visitor = {function, data};

   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkImageBlit2 *region = &info->pRegions[i];
      visit_corners(&visitor, info->srcImage, &region->srcSubresource, false, region->srcOffsets[0],
                    region->srcOffsets[1]);
      visit_corners(&visitor, info->dstImage, &region->dstSubresource, true, region->dstOffsets[0],
                    region->dstOffsets[1]);
   }
}

void
gpuval_visit_resolve_image(const VkResolveImageInfo2 *info, gpuval_transfer_function function,
                           void *data)
{
   const struct visitor visitor = {function, data};

   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkImageResolve2 *region = &info->pRegions[i];
      visit_box(&visitor, info->srcImage, &region->srcSubresource, false, region->srcOffset,
                region->extent);
      visit_box(&visitor, info->dstImage, &region->dstSubresource, true, region->dstOffset,
                region->extent);
   }
}

void
gpuval_visit_copy_buffer_to_image(const VkCopyBufferToImageInfo2 *info,
                                  gpuval_transfer_function function, void *data)
{
   const struct visitor visitor = {function, data};

   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkBufferImageCopy2 *region = &info->pRegions[i];
      visit_rows(&visitor, info->srcBuffer, info->dstImage, region, false);
      visit_box(&visitor, info->dstImage, &region->imageSubresource, true, region->imageOffset,
                region->imageExtent);
   }
}

void
gpuval_visit_copy_image_to_buffer(const VkCopyImageToBufferInfo2 *info,
                                  gpuval_transfer_function function, void *data)
{
   const struct visitor visitor = {function, data};

   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkBufferImageCopy2 *region = &info->pRegions[i];
      visit_box(&visitor, info->srcImage, &region->imageSubresource, false, region->imageOffset,
                region->imageExtent);
      visit_rows(&visitor, info->dstBuffer, info->srcImage, region, true);
   }
}

void
gpuval_visit_copy_buffer(const VkCopyBufferInfo2 *info, gpuval_transfer_function function,
                         void *data)
{
   const struct visitor visitor = {function, data};

   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkBufferCopy2 *region = &info->pRegions[i];
      visit_buffer(&visitor, info->srcBuffer, region->srcOffset, region->size, false, false);
      visit_buffer(&visitor, info->dstBuffer, region->dstOffset, region->size, true, false);
   }
}

void
gpuval_visit_fill_buffer(VkBuffer buffer, uint64_t offset, uint64_t size,
                         gpuval_transfer_function function, void *data)
{
   const struct visitor visitor = {function, data};
   visit_buffer(&visitor, buffer, offset, size, true, false);
}

void
gpuval_visit_copy_memory_to_image(const VkCopyMemoryToImageInfoEXT *info,
                                  gpuval_transfer_function function, void *data)
{
   const struct visitor visitor = {function, data};

   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkMemoryToImageCopyEXT *region = &info->pRegions[i];
      visit_box(&visitor, info->dstImage, &region->imageSubresource, true, region->imageOffset,
                region->imageExtent);
   }
}

void
gpuval_visit_copy_image_to_memory(const VkCopyImageToMemoryInfoEXT *info,
                                  gpuval_transfer_function function, void *data)
{
   const struct visitor visitor = {function, data};

   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkImageToMemoryCopyEXT *region = &info->pRegions[i];
      visit_box(&visitor, info->srcImage, &region->imageSubresource, false, region->imageOffset,
                region->imageExtent);
   }
}

void
gpuval_visit_host_copy_image(const VkCopyImageToImageInfoEXT *info,
                             gpuval_transfer_function function, void *data)
{
   const struct visitor visitor = {function, data};
   visit_copies(&visitor, info->srcImage, info->dstImage, info->regionCount, info->pRegions);
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
