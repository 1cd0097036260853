/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_images.h"

#include "gallium/drivers/llvmpipe/lp_texture.h"

#include "gpuval/src/core/gpuval_image_marks.h"
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
   return gpuval_image_aspect_bits(&image->vk, aspects);
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

struct attachment_visit {
   const struct lvp_image *image;
   gpuval_lvp_visit_function function;
   void *data;
};

static void
visit_range(void *data, const VkImageSubresourceRange *range)
{
   const struct attachment_visit *visit = data;
   gpuval_lvp_visit_image(visit->image, range, visit->function, visit->data);
}

void
gpuval_lvp_visit_attachment(const struct gpuval_attachment *attachment,
                            gpuval_lvp_visit_function function, void *data)
{
   struct attachment_visit visit = {
      .image = container_of(attachment->view->image, struct lvp_image, vk),
      .function = function,
      .data = data,
   };
   gpuval_visit_attachment(attachment, visit_range, &visit);
}

void
gpuval_lvp_visit_transfers(const struct vk_cmd_queue_entry *command,
                           gpuval_transfer_function function, void *data)
{
   switch ((unsigned)command->type) {
   case VK_CMD_CLEAR_COLOR_IMAGE: {
      const struct vk_cmd_clear_color_image *clear = &command->u.clear_color_image;
      gpuval_visit_clear(clear->image, clear->range_count, clear->ranges, function, data);
      return;
   }
   case VK_CMD_CLEAR_DEPTH_STENCIL_IMAGE: {
      const struct vk_cmd_clear_depth_stencil_image *clear = &command->u.clear_depth_stencil_image;
      gpuval_visit_clear(clear->image, clear->range_count, clear->ranges, function, data);
      return;
   }
   case VK_CMD_COPY_IMAGE2:
      gpuval_visit_copy_image(command->u.copy_image2.copy_image_info, function, data);
      return;
   case VK_CMD_BLIT_IMAGE2:
      gpuval_visit_blit_image(command->u.blit_image2.blit_image_info, function, data);
      return;
   case VK_CMD_RESOLVE_IMAGE2:
      gpuval_visit_resolve_image(command->u.resolve_image2.resolve_image_info, function, data);
      return;
   case VK_CMD_COPY_BUFFER_TO_IMAGE2:
      gpuval_visit_copy_buffer_to_image(command->u.copy_buffer_to_image2.copy_buffer_to_image_info,
                                        function, data);
      return;
   case VK_CMD_COPY_IMAGE_TO_BUFFER2:
      gpuval_visit_copy_image_to_buffer(command->u.copy_image_to_buffer2.copy_image_to_buffer_info,
                                        function, data);
      return;
   case VK_CMD_COPY_BUFFER2:
      gpuval_visit_copy_buffer(command->u.copy_buffer2.copy_buffer_info, function, data);
      return;
   case VK_CMD_FILL_BUFFER: {
      const struct vk_cmd_fill_buffer *fill = &command->u.fill_buffer;
      gpuval_visit_fill_buffer(fill->dst_buffer, fill->dst_offset, fill->size, function, data);
      return;
   }
   case VK_CMD_UPDATE_BUFFER: {
      const struct vk_cmd_update_buffer *update = &command->u.update_buffer;
      gpuval_visit_fill_buffer(update->dst_buffer, update->dst_offset, update->data_size, function,
                               data);
      return;
   }
   default:
      return;
   }
}
