/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_images.h"
#include "gpuval_lvp_private.h"

#include "gallium/drivers/llvmpipe/lp_texture.h"

#include "gpuval/src/core/memory/gpuval_image_marks.h"
#include "vk_image.h"

/* NULL: it has no memory, or that of a window system. */
static const struct llvmpipe_resource *
get_resource(const struct lvp_image *image, unsigned plane)
{
   struct pipe_resource *bo = image->planes[plane].bo;
   const struct llvmpipe_resource *resource = bo ? llvmpipe_resource(bo) : NULL;

   return resource && !resource->dt && resource->tex_data ? resource : NULL;
}

uint64_t
gpuval_lvp_subresource_address(const struct lvp_image *image, unsigned plane, uint32_t level,
                               uint32_t layer)
{
   const struct llvmpipe_resource *resource = get_resource(image, plane);
   if (!resource || level > resource->base.last_level)
      return 0;

   uint64_t address = (uintptr_t)resource->tex_data + resource->mip_offsets[level];
   return resource->base.target == PIPE_TEXTURE_3D ? address
                                                   : address + layer * resource->img_stride[level];
}

/* One level of one plane: layers, or slices, are next to each other, and so is all of a sample. */
static void
add_level(const struct llvmpipe_resource *resource, uint32_t level,
          const VkImageSubresourceRange *range, uint64_t *begin, uint64_t *end)
{
   const struct pipe_resource *base = &resource->base;
   uint64_t address = (uintptr_t)resource->tex_data + resource->mip_offsets[level];
   uint32_t first = 0, count = u_minify(base->depth0, level);

   if (base->target != PIPE_TEXTURE_3D) {
      first = MIN2(range->baseArrayLayer, base->array_size);
      count = MIN2(range->layerCount, base->array_size - first);
   }
   *begin = MIN2(*begin, address + (uint64_t)first * resource->img_stride[level]);
   *end = MAX2(*end, address + (uint64_t)(first + count) * resource->img_stride[level] +
                        (uint64_t)(MAX2(base->nr_samples, 1) - 1) * resource->sample_stride);
}

void
gpuval_lvp_image_range(const struct lvp_image *image, const VkImageSubresourceRange *range,
                       uint64_t *address, uint64_t *size)
{
   uint32_t level_count = vk_image_subresource_level_count(&image->vk, range);
   uint64_t begin = UINT64_MAX, end = 0;

   *address = *size = 0;
   for (unsigned plane = 0; plane < image->plane_count; plane++) {
      const struct llvmpipe_resource *resource = get_resource(image, plane);
      if (!resource || resource->base.flags & PIPE_RESOURCE_FLAG_SPARSE)
         return;
      for (uint32_t i = 0; i < level_count; i++) {
         uint32_t level = range->baseMipLevel + i;
         if (level <= resource->base.last_level)
            add_level(resource, level, range, &begin, &end);
      }
   }
   if (begin < end) {
      *address = begin;
      *size = end - begin;
   }
}

void
gpuval_lvp_find_texel(const struct vk_object_base *object, uint64_t address,
                      struct gpuval_texel *texel)
{
   const struct lvp_image *image = container_of(object, struct lvp_image, vk.base);
   const struct llvmpipe_resource *resource = get_resource(image, 0);
   uint32_t level = 0;

   *texel = (struct gpuval_texel){0};
   if (!resource)
      return;
   uint64_t offset = address - (uintptr_t)resource->tex_data;
   if (resource->base.nr_samples > 1) {
      texel->sample = offset / resource->sample_stride;
      offset %= resource->sample_stride;
   }
   while (level < resource->base.last_level && resource->mip_offsets[level + 1] <= offset)
      level++;
   texel->level = level;
   offset = (offset - resource->mip_offsets[level]) % resource->img_stride[level];
   texel->y = offset / resource->row_stride[level];
   texel->x =
      offset % resource->row_stride[level] / util_format_get_blocksize(resource->base.format);
}

static struct gpuval_device *
get_device(const struct vk_image *image)
{
   struct lvp_device *device = container_of(image->base.device, struct lvp_device, vk);
   return gpuval_lvp_device(device->gpuval);
}

void
gpuval_lvp_bound_image(struct vk_image *vk)
{
   const struct lvp_image *image = container_of(vk, struct lvp_image, vk);
   const VkImageSubresourceRange all = {
      .levelCount = vk->mip_levels,
      .layerCount = vk->array_layers,
   };
   uint64_t address, size;

   if (!(vk->usage & VK_IMAGE_USAGE_STORAGE_BIT))
      return;
   gpuval_lvp_image_range(image, &all, &address, &size);
   if (address)
      gpuval_device_add_image(get_device(vk), &vk->base, address, size);
}

void
gpuval_lvp_destroyed_image(struct vk_image *image)
{
   if (image->usage & VK_IMAGE_USAGE_STORAGE_BIT)
      gpuval_device_remove_image(get_device(image), &image->base);
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
