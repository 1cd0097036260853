/* SPDX-License-Identifier: MIT */

#include "gpuval_texels.h"

#include <stdlib.h>

#include "base/gpuval_descriptor.h"
#include "base/gpuval_shadow.h"
#include "core/descriptors/gpuval_objects.h"
#include "core/device/gpuval_device.h"
#include "gpuval_cells.h"

#include "util/hash_table.h"
#include "util/macros.h"
#include "util/u_math.h"
#include "vk_format.h"

/* GPUs have addresses of 48 bits, or 57. */
#define FIRST_NUMBER (1ull << 62)

struct image {
   uint64_t begin, size;
   uint32_t texel_size;
};

/* Bytes of a row, of one sample of a layer or slice, of all its samples, and of a level */
struct strides {
   uint64_t row, sample, layer, level;
};

static struct strides
get_strides(const struct vk_image *vk, uint32_t texel_size, uint32_t level)
{
   const bool is_3d = vk->image_type == VK_IMAGE_TYPE_3D;
   struct strides strides;

   strides.row = (uint64_t)u_minify(vk->extent.width, level) * texel_size;
   strides.sample = strides.row * u_minify(vk->extent.height, level);
   strides.layer = strides.sample * vk->samples;
   strides.level = strides.layer * (is_3d ? u_minify(vk->extent.depth, level) : vk->array_layers);
   return strides;
}

static uint64_t
get_level_offset(const struct vk_image *vk, uint32_t texel_size, uint32_t level)
{
   uint64_t offset = 0;

   for (uint32_t i = 0; i < level; i++)
      offset += get_strides(vk, texel_size, i).level;
   return offset;
}

static bool
may_have_numbers(const struct vk_image *vk)
{
   return vk->usage & VK_IMAGE_USAGE_STORAGE_BIT &&
          !(vk->create_flags & VK_IMAGE_CREATE_SPARSE_BINDING_BIT) &&
          vk->format != VK_FORMAT_UNDEFINED && !vk_format_is_compressed(vk->format) &&
          vk_format_get_plane_count(vk->format) == 1;
}

void
gpuval_texels_init(struct gpuval_device *device)
{
   struct gpuval_texels *texels = device->texels;

   texels->next = FIRST_NUMBER;
   if (device->info.numbers_texels && device->objects && gpuval_options_sync())
      texels->images = _mesa_pointer_hash_table_create(device);
}

void
gpuval_texels_finish(struct gpuval_device *device)
{
   if (!device->texels->images)
      return;
   hash_table_foreach (device->texels->images, entry)
      free(entry->data);
}

static struct image *
find_image(const struct gpuval_texels *texels, const struct vk_image *vk)
{
   const struct hash_entry *entry = vk ? _mesa_hash_table_search(texels->images, vk) : NULL;
   return entry ? entry->data : NULL;
}

/* All 0: it has none. */
static struct image
get_image(struct gpuval_device *device, const struct vk_image *vk)
{
   struct image image = {0};

   if (!device->texels->images)
      return image;
   mtx_lock(&device->mutex);
   const struct image *found = find_image(device->texels, vk);
   if (found)
      image = *found;
   mtx_unlock(&device->mutex);
   return image;
}

void
gpuval_texels_add(struct gpuval_device *device, const struct vk_image *vk)
{
   struct gpuval_texels *texels = device->texels;

   if (!texels->images || !may_have_numbers(vk))
      return;
   mtx_lock(&device->mutex);
   struct image *image = find_image(texels, vk) ? NULL : malloc(sizeof(*image));
   struct image added = {0};
   if (image) {
      image->texel_size = MAX2(vk_format_get_blocksize(vk->format), GPUVAL_SHADOW_WORD);
      image->begin = texels->next;
      image->size = get_level_offset(vk, image->texel_size, vk->mip_levels);
      texels->next += align64(image->size, GPUVAL_SHADOW_BLOCK);
      _mesa_hash_table_insert(texels->images, vk, image);
      added = *image;
   }
   mtx_unlock(&device->mutex);
   if (added.size)
      gpuval_cells_add(device, added.begin, added.size);
}

void
gpuval_texels_remove(struct gpuval_device *device, const struct vk_image *vk)
{
   const struct image image = get_image(device, vk);

   if (!image.size)
      return;
   gpuval_cells_remove(device, image.begin);
   mtx_lock(&device->mutex);
   free(find_image(device->texels, vk));
   _mesa_hash_table_remove_key(device->texels->images, vk);
   mtx_unlock(&device->mutex);
}

void
gpuval_texels_add_view(struct gpuval_device *device, const struct vk_image_view *view)
{
   const struct vk_image *vk = view->image;
   const struct image image = get_image(device, vk);

   if (!image.size || !(view->usage & VK_IMAGE_USAGE_STORAGE_BIT))
      return;

   /* Of what is three-dimensional, layers are slices. */
   const uint32_t level = view->base_mip_level;
   const struct strides strides = get_strides(vk, image.texel_size, level);
   const uint32_t layer = view->view_type == VK_IMAGE_VIEW_TYPE_3D ? view->storage.z_slice_offset
                                                                   : view->base_array_layer;
   const struct gpuval_object_texels texels = {
      .address =
         image.begin + get_level_offset(vk, image.texel_size, level) + layer * strides.layer,
      .size = image.texel_size,
      .row = strides.row,
      .layer = strides.layer,
      .sample = strides.sample,
   };
   /* Strides are of 32 bits: who needs more is not looked at. */
   if (strides.layer <= UINT32_MAX)
      gpuval_objects_set_texels(device->objects, &view->base, &texels);
}

void
gpuval_texels_range(struct gpuval_device *device, const struct vk_image *vk,
                    const VkImageSubresourceRange *range, uint64_t *address, uint64_t *size)
{
   const struct image image = get_image(device, vk);

   *address = *size = 0;
   if (!image.size || range->baseMipLevel >= vk->mip_levels)
      return;

   const bool is_3d = vk->image_type == VK_IMAGE_TYPE_3D;
   const uint32_t last_level =
      range->baseMipLevel + vk_image_subresource_level_count(vk, range) - 1;
   const struct strides first = get_strides(vk, image.texel_size, range->baseMipLevel);
   const struct strides last =
      get_strides(vk, image.texel_size, MIN2(last_level, vk->mip_levels - 1));
   const uint32_t end_layer = range->baseArrayLayer + vk_image_subresource_layer_count(vk, range);
   uint64_t begin = get_level_offset(vk, image.texel_size, range->baseMipLevel);
   uint64_t end = get_level_offset(vk, image.texel_size, MIN2(last_level, vk->mip_levels - 1));

   begin += is_3d ? 0 : range->baseArrayLayer * first.layer;
   end += is_3d ? last.level : MIN2(end_layer * last.layer, last.level);
   if (begin < end) {
      *address = image.begin + begin;
      *size = end - begin;
   }
}

const struct vk_image *
gpuval_texels_find(struct gpuval_device *device, uint64_t number, struct gpuval_texel *texel)
{
   if (!device->texels->images || number < FIRST_NUMBER)
      return NULL;

   hash_table_foreach (device->texels->images, entry) {
      const struct vk_image *vk = entry->key;
      const struct image *image = entry->data;
      uint64_t offset = number - image->begin;
      uint32_t level = 0;
      if (number < image->begin || offset >= image->size)
         continue;

      struct strides strides = get_strides(vk, image->texel_size, 0);
      while (offset >= strides.level) {
         offset -= strides.level;
         strides = get_strides(vk, image->texel_size, ++level);
      }
      *texel = (struct gpuval_texel){
         .x = offset % strides.row / image->texel_size,
         .y = offset % strides.sample / strides.row,
         .level = level,
         .sample = offset % strides.layer / strides.sample,
      };
      return vk;
   }
   return NULL;
}
