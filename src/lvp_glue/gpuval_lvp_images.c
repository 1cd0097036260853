/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_images.h"

#include "gallium/drivers/llvmpipe/lp_texture.h"

#include "gpuval/src/base/gpuval_init.h"
#include "vk_format.h"
#include "vk_image.h"

uint64_t
gpuval_lvp_subresource_address(const struct lvp_image *image, unsigned plane, uint32_t level,
                               uint32_t layer)
{
   struct pipe_resource *bo = image->planes[plane].bo;
   const struct llvmpipe_resource *resource = bo ? llvmpipe_resource(bo) : NULL;
   if (!resource || resource->dt || !resource->tex_data || level > bo->last_level)
      return 0;

   uint64_t address = (uintptr_t)resource->tex_data + resource->mip_offsets[level];
   return bo->target == PIPE_TEXTURE_3D ? address : address + layer * resource->img_stride[level];
}

uint8_t
gpuval_lvp_aspect_bits(const struct lvp_image *image, VkImageAspectFlags aspects)
{
   if (image->vk.aspects != (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT))
      return GPUVAL_INIT_ALL;
   if ((aspects & image->vk.aspects) == image->vk.aspects)
      return GPUVAL_INIT_ALL;
   return aspects & VK_IMAGE_ASPECT_DEPTH_BIT ? GPUVAL_INIT_COLOR : GPUVAL_INIT_STENCIL;
}

VkImageSubresourceRange
gpuval_lvp_layers_range(const VkImageSubresourceLayers *layers)
{
   return (VkImageSubresourceRange){
      .aspectMask = layers->aspectMask,
      .baseMipLevel = layers->mipLevel,
      .levelCount = 1,
      .baseArrayLayer = layers->baseArrayLayer,
      .layerCount = layers->layerCount,
   };
}

void
gpuval_lvp_visit_image(const struct lvp_image *image, const VkImageSubresourceRange *range,
                       gpuval_lvp_visit_function function, void *data)
{
   static const VkImageAspectFlags planes[] = {
      VK_IMAGE_ASPECT_PLANE_0_BIT,
      VK_IMAGE_ASPECT_PLANE_1_BIT,
      VK_IMAGE_ASPECT_PLANE_2_BIT,
   };
   uint8_t bits = gpuval_lvp_aspect_bits(image, range->aspectMask);
   bool is_3d = image->vk.image_type == VK_IMAGE_TYPE_3D;
   uint32_t level_count = vk_image_subresource_level_count(&image->vk, range);
   uint32_t layer_count = is_3d ? 1 : vk_image_subresource_layer_count(&image->vk, range);

   for (unsigned plane = 0; plane < image->plane_count; plane++) {
      if (image->plane_count > 1 &&
          !(range->aspectMask & (VK_IMAGE_ASPECT_COLOR_BIT | planes[plane])))
         continue;
      for (uint32_t i = 0; i < level_count; i++) {
         for (uint32_t j = 0; j < layer_count; j++)
            function(data,
                     gpuval_lvp_subresource_address(image, plane, range->baseMipLevel + i,
                                                    is_3d ? 0 : range->baseArrayLayer + j),
                     bits);
      }
   }
}

/* Attachments */

static void
visit(const VkRenderingInfo *info, const VkRenderingAttachmentInfo *from,
      VkImageAspectFlags aspects, const char *name, uint32_t number, bool is_resolve,
      gpuval_lvp_attachment_function function, void *data)
{
   VkImageView handle = !from                                  ? VK_NULL_HANDLE
                        : !is_resolve                          ? from->imageView
                        : from->imageView && from->resolveMode ? from->resolveImageView
                                                               : VK_NULL_HANDLE;
   if (!handle)
      return;

   const VkRect2D *area = &info->renderArea;
   const struct lvp_image_view *view = lvp_image_view_from_handle(handle);
   function(data, &(struct gpuval_lvp_attachment){
                     .info = from,
                     .view = view,
                     .name = name,
                     .aspects = aspects,
                     .number = number,
                     .layers = info->viewMask ? info->viewMask : info->layerCount,
                     .has_views = info->viewMask,
                     .is_whole = !area->offset.x && !area->offset.y &&
                                 area->extent.width >= view->vk.extent.width &&
                                 area->extent.height >= view->vk.extent.height,
                     .is_resolve = is_resolve,
                  });
}

void
gpuval_lvp_visit_attachments(const VkRenderingInfo *info, bool is_resolve,
                             gpuval_lvp_attachment_function function, void *data)
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
gpuval_lvp_visit_attachment(const struct gpuval_lvp_attachment *attachment,
                            gpuval_lvp_visit_function function, void *data)
{
   const struct vk_image_view *view = &attachment->view->vk;
   VkImageSubresourceRange range = {
      .aspectMask = attachment->aspects,
      .baseMipLevel = view->base_mip_level,
      .levelCount = 1,
      .baseArrayLayer = view->base_array_layer,
      .layerCount = attachment->layers,
   };

   if (!attachment->has_views) {
      gpuval_lvp_visit_image(attachment->view->image, &range, function, data);
      return;
   }
   u_foreach_bit (i, attachment->layers) {
      range.baseArrayLayer = view->base_array_layer + i;
      range.layerCount = 1;
      gpuval_lvp_visit_image(attachment->view->image, &range, function, data);
   }
}

/* Transfers */

struct visitor {
   gpuval_lvp_transfer_function function;
   void *data;
};

static struct gpuval_lvp_transfer
make_transfer(VkImage handle, const VkImageSubresourceLayers *layers, bool is_write)
{
   return (struct gpuval_lvp_transfer){
      .is_write = is_write,
      .image = lvp_image_from_handle(handle),
      .range = gpuval_lvp_layers_range(layers),
      .has_box = true,
   };
}

/* Of two corners, which may be in any order */
static void
visit_corners(const struct visitor *visitor, VkImage handle, const VkImageSubresourceLayers *layers,
              bool is_write, VkOffset3D a, VkOffset3D b)
{
   struct gpuval_lvp_transfer transfer = make_transfer(handle, layers, is_write);
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
   LVP_FROM_HANDLE(lvp_buffer, buffer, handle);

   if (!buffer || !buffer->map || offset >= buffer->vk.size)
      return;
   visitor->function(visitor->data, &(struct gpuval_lvp_transfer){
                                       .is_write = is_write,
                                       .buffer = buffer,
                                       .offset = offset,
                                       .size = MIN2(size, buffer->vk.size - offset),
                                       .has_gaps = has_gaps,
                                    });
}

/* Rows may be longer than what is copied of them. */
static void
visit_rows(const struct visitor *visitor, VkBuffer buffer, const struct lvp_image *image,
           const VkBufferImageCopy2 *region, bool is_write)
{
   const struct vk_image_buffer_layout layout = vk_image_buffer_copy_layout(&image->vk, region);
   uint64_t layers = MAX2(vk_image_subresource_layer_count(&image->vk, &region->imageSubresource),
                          region->imageExtent.depth);
   bool has_gaps =
      (region->bufferRowLength && region->bufferRowLength != region->imageExtent.width) ||
      (region->bufferImageHeight && region->bufferImageHeight != region->imageExtent.height);

   visit_buffer(visitor, buffer, region->bufferOffset, layers * layout.image_stride_B, is_write,
                has_gaps);
}

static void
visit_cleared(const struct visitor *visitor, VkImage handle, uint32_t count,
              const VkImageSubresourceRange *ranges)
{
   for (uint32_t i = 0; i < count; i++)
      visitor->function(visitor->data, &(struct gpuval_lvp_transfer){
                                          .is_write = true,
                                          .image = lvp_image_from_handle(handle),
                                          .range = ranges[i],
                                       });
}

/* Where blocks of texels become texels, or the reverse, the extent is another one there: one
 * texel of it is certain.
 */
static VkExtent3D
get_copied_extent(VkImage src, VkImage dst, VkExtent3D extent)
{
   enum pipe_format from = vk_format_to_pipe_format(lvp_image_from_handle(src)->vk.format);
   enum pipe_format to = vk_format_to_pipe_format(lvp_image_from_handle(dst)->vk.format);
   bool is_same = util_format_get_blockwidth(from) == util_format_get_blockwidth(to) &&
                  util_format_get_blockheight(from) == util_format_get_blockheight(to);

   return is_same ? extent : (VkExtent3D){1, 1, 1};
}

/* Layers of one may be slices of the other. */
static VkExtent3D
get_slices(VkImage handle, VkExtent3D extent, uint32_t layers)
{
   bool is_3d = lvp_image_from_handle(handle)->vk.image_type == VK_IMAGE_TYPE_3D;

   extent.depth = is_3d ? MAX2(extent.depth, layers) : 1;
   return extent;
}

static void
visit_copy(const struct visitor *visitor, const VkCopyImageInfo2 *info)
{
   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkImageCopy2 *region = &info->pRegions[i];
      uint32_t layers = vk_image_subresource_layer_count(&lvp_image_from_handle(info->srcImage)->vk,
                                                         &region->srcSubresource);
      VkExtent3D extent = get_copied_extent(info->srcImage, info->dstImage, region->extent);

      visit_box(visitor, info->srcImage, &region->srcSubresource, false, region->srcOffset,
                get_slices(info->srcImage, region->extent, 1));
      visit_box(visitor, info->dstImage, &region->dstSubresource, true, region->dstOffset,
                get_slices(info->dstImage, extent, layers));
   }
}

void
gpuval_lvp_visit_transfers(const struct vk_cmd_queue_entry *command,
                           gpuval_lvp_transfer_function function, void *data)
{
   const struct visitor visitor = {function, data};

   switch ((unsigned)command->type) {
   case VK_CMD_CLEAR_COLOR_IMAGE:
      visit_cleared(&visitor, command->u.clear_color_image.image,
                    command->u.clear_color_image.range_count, command->u.clear_color_image.ranges);
      return;
   case VK_CMD_CLEAR_DEPTH_STENCIL_IMAGE:
      visit_cleared(&visitor, command->u.clear_depth_stencil_image.image,
                    command->u.clear_depth_stencil_image.range_count,
                    command->u.clear_depth_stencil_image.ranges);
      return;
   case VK_CMD_COPY_IMAGE2:
      visit_copy(&visitor, command->u.copy_image2.copy_image_info);
      return;
   case VK_CMD_BLIT_IMAGE2: {
      const VkBlitImageInfo2 *info = command->u.blit_image2.blit_image_info;
      for (uint32_t i = 0; i < info->regionCount; i++) {
         const VkImageBlit2 *region = &info->pRegions[i];
         visit_corners(&visitor, info->srcImage, &region->srcSubresource, false,
                       region->srcOffsets[0], region->srcOffsets[1]);
         visit_corners(&visitor, info->dstImage, &region->dstSubresource, true,
                       region->dstOffsets[0], region->dstOffsets[1]);
      }
      return;
   }
   case VK_CMD_RESOLVE_IMAGE2: {
      const VkResolveImageInfo2 *info = command->u.resolve_image2.resolve_image_info;
      for (uint32_t i = 0; i < info->regionCount; i++) {
         const VkImageResolve2 *region = &info->pRegions[i];
         visit_box(&visitor, info->srcImage, &region->srcSubresource, false, region->srcOffset,
                   region->extent);
         visit_box(&visitor, info->dstImage, &region->dstSubresource, true, region->dstOffset,
                   region->extent);
      }
      return;
   }
   case VK_CMD_COPY_BUFFER_TO_IMAGE2: {
      const VkCopyBufferToImageInfo2 *info =
         command->u.copy_buffer_to_image2.copy_buffer_to_image_info;
      for (uint32_t i = 0; i < info->regionCount; i++) {
         const VkBufferImageCopy2 *region = &info->pRegions[i];
         visit_rows(&visitor, info->srcBuffer, lvp_image_from_handle(info->dstImage), region,
                    false);
         visit_box(&visitor, info->dstImage, &region->imageSubresource, true, region->imageOffset,
                   region->imageExtent);
      }
      return;
   }
   case VK_CMD_COPY_IMAGE_TO_BUFFER2: {
      const VkCopyImageToBufferInfo2 *info =
         command->u.copy_image_to_buffer2.copy_image_to_buffer_info;
      for (uint32_t i = 0; i < info->regionCount; i++) {
         const VkBufferImageCopy2 *region = &info->pRegions[i];
         visit_box(&visitor, info->srcImage, &region->imageSubresource, false, region->imageOffset,
                   region->imageExtent);
         visit_rows(&visitor, info->dstBuffer, lvp_image_from_handle(info->srcImage), region, true);
      }
      return;
   }
   case VK_CMD_COPY_BUFFER2: {
      const VkCopyBufferInfo2 *info = command->u.copy_buffer2.copy_buffer_info;
      for (uint32_t i = 0; i < info->regionCount; i++) {
         const VkBufferCopy2 *region = &info->pRegions[i];
         visit_buffer(&visitor, info->srcBuffer, region->srcOffset, region->size, false, false);
         visit_buffer(&visitor, info->dstBuffer, region->dstOffset, region->size, true, false);
      }
      return;
   }
   case VK_CMD_FILL_BUFFER:
      visit_buffer(&visitor, command->u.fill_buffer.dst_buffer, command->u.fill_buffer.dst_offset,
                   command->u.fill_buffer.size, true, false);
      return;
   case VK_CMD_UPDATE_BUFFER:
      visit_buffer(&visitor, command->u.update_buffer.dst_buffer,
                   command->u.update_buffer.dst_offset, command->u.update_buffer.data_size, true,
                   false);
      return;
   default:
      return;
   }
}
