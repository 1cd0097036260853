/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_images.h"

#include "gallium/drivers/llvmpipe/lp_texture.h"

#include "gpuval/src/core/memory/gpuval_image_marks.h"
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
