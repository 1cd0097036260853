/* SPDX-License-Identifier: MIT */

#include "gpuval_image_marks.h"
#include "gpuval_marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/gpuval_init.h"
#include "core/descriptors/gpuval_objects.h"
#include "core/device/gpuval_device.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/hash_table.h"
#include "util/macros.h"
#include "util/u_atomic.h"
#include "util/u_math.h"
#include "util/vma.h"
#include "vk_format.h"
#include "vk_util.h"

/* Most images have a layer or six. A chunk stays, as work may still read what is in it. */
#define CHUNK_SIZE (64u << 10)

struct chunk {
   struct gpuval_buffer buffer;
   struct util_vma_heap heap;
};

struct image {
   uint64_t address, size;
   struct chunk *chunk;
   uint32_t num_layers;
   bool is_forgotten;
};

void
gpuval_image_marks_init(struct gpuval_device *device)
{
   struct gpuval_image_marks *marks = device->image_marks;

   util_dynarray_init(&marks->chunks, device);
   if (device->marks->is_on && device->objects)
      marks->images = _mesa_pointer_hash_table_create(device);
}

void
gpuval_image_marks_finish(struct gpuval_device *device)
{
   struct gpuval_image_marks *marks = device->image_marks;

   if (marks->images) {
      hash_table_foreach (marks->images, entry)
         free(entry->data);
   }
   util_dynarray_foreach (&marks->chunks, struct chunk *, chunk) {
      util_vma_heap_finish(&(*chunk)->heap);
      gpuval_device_free(device, &(*chunk)->buffer);
      free(*chunk);
   }
}

bool
gpuval_image_may_have_marks(const VkImageCreateInfo *info)
{
   const VkImageCreateFlags shared =
      VK_IMAGE_CREATE_ALIAS_BIT | VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_DISJOINT_BIT;
   const VkImageUsageFlags video =
      VK_IMAGE_USAGE_VIDEO_DECODE_DST_BIT_KHR | VK_IMAGE_USAGE_VIDEO_DECODE_DPB_BIT_KHR |
      VK_IMAGE_USAGE_VIDEO_ENCODE_SRC_BIT_KHR | VK_IMAGE_USAGE_VIDEO_ENCODE_DPB_BIT_KHR;

   vk_foreach_struct_const (next, info->pNext) {
      switch ((unsigned)next->sType) {
      case VK_STRUCTURE_TYPE_IMAGE_COMPRESSION_CONTROL_EXT:
      case VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO:
      case VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO:
         break;
      case VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO:
         if (((const VkExternalMemoryImageCreateInfo *)next)->handleTypes)
            return false;
         break;
      default: /* what is not known here */
         return false;
      }
   }
   return info->tiling == VK_IMAGE_TILING_OPTIMAL && !(info->flags & shared) &&
          !(info->usage & video) && info->mipLevels <= GPUVAL_INIT_MAX_LEVELS &&
          vk_format_get_plane_count(info->format) == 1;
}

static struct chunk *
add_chunk(struct gpuval_device *device, uint64_t size)
{
   struct chunk *chunk = calloc(1, sizeof(*chunk));

   if (!chunk || !gpuval_device_alloc_plain(device, &chunk->buffer, size)) {
      free(chunk);
      return NULL;
   }
   util_vma_heap_init(&chunk->heap, chunk->buffer.address, size);
   util_dynarray_append_typed(&device->image_marks->chunks, struct chunk *, chunk);
   return chunk;
}

static bool
alloc_marks(struct gpuval_device *device, struct image *image)
{
   struct util_dynarray *chunks = &device->image_marks->chunks;

   /* The last ones are the emptiest. */
   for (unsigned i = util_dynarray_num_elements(chunks, struct chunk *); i-- > 0;) {
      struct chunk *chunk = *util_dynarray_element(chunks, struct chunk *, i);
      if (chunk->heap.free_size < image->size)
         continue;
      image->chunk = chunk;
      image->address = util_vma_heap_alloc(&chunk->heap, image->size, GPUVAL_INIT_LAYER_SIZE);
      if (image->address)
         return true;
   }
   image->chunk = add_chunk(device, MAX2(image->size, CHUNK_SIZE));
   image->address =
      image->chunk ? util_vma_heap_alloc(&image->chunk->heap, image->size, GPUVAL_INIT_LAYER_SIZE)
                   : 0;
   return image->address != 0;
}

static void
warn_of_memory(struct gpuval_device *device)
{
   if (!device->image_marks->warned)
      gpuval_log_warning("init: out of memory: some images count as written");
   device->image_marks->warned = true;
}

static struct image *
find_image(struct gpuval_device *device, const struct vk_image *image)
{
   const struct hash_entry *entry =
      image ? _mesa_hash_table_search(device->image_marks->images, image) : NULL;
   return entry ? entry->data : NULL;
}

void
gpuval_image_marks_add(struct gpuval_device *device, const struct vk_image *vk)
{
   struct gpuval_image_marks *marks = device->image_marks;
   bool is_3d = vk->image_type == VK_IMAGE_TYPE_3D;

   if (!marks->images)
      return;
   mtx_lock(&device->mutex);
   struct image *image = find_image(device, vk) ? NULL : calloc(1, sizeof(*image));
   if (image) {
      image->num_layers = is_3d ? 1 : vk->array_layers;
      image->size = (uint64_t)image->num_layers * GPUVAL_INIT_LAYER_SIZE;
      if (alloc_marks(device, image)) {
         uint64_t offset = image->address - image->chunk->buffer.address;
         memset((uint8_t *)image->chunk->buffer.map + offset, 0, image->size);
         _mesa_hash_table_insert(marks->images, vk, image);
      } else {
         free(image);
         warn_of_memory(device);
      }
   }
   gpuval_device_unlock(device);
}

void
gpuval_image_marks_remove(struct gpuval_device *device, const struct vk_image *vk)
{
   struct gpuval_image_marks *marks = device->image_marks;

   if (!marks->images)
      return;
   mtx_lock(&device->mutex);
   struct image *image = find_image(device, vk);
   if (image) {
      _mesa_hash_table_remove_key(marks->images, vk);
      util_vma_heap_free(&image->chunk->heap, image->address, image->size);
      free(image);
   }
   mtx_unlock(&device->mutex);
}

void
gpuval_image_marks_forget(struct gpuval_device *device, const struct vk_image *vk)
{
   if (!device->image_marks->images)
      return;
   mtx_lock(&device->mutex);
   struct image *image = find_image(device, vk);
   if (image)
      image->is_forgotten = true;
   mtx_unlock(&device->mutex);
   if (image)
      gpuval_objects_forget_marks(device->objects, &vk->base);
}

/* 0: none */
static uint64_t
address_of(struct gpuval_device *device, const struct vk_image *vk, uint32_t *num_layers)
{
   uint64_t address = 0;

   mtx_lock(&device->mutex);
   const struct image *image = find_image(device, vk);
   if (image && !image->is_forgotten) {
      address = image->address;
      *num_layers = image->num_layers;
   }
   mtx_unlock(&device->mutex);
   return address;
}

void
gpuval_image_marks_add_view(struct gpuval_device *device, const struct vk_image_view *view)
{
   uint32_t num_layers;
   uint64_t address =
      device->image_marks->images ? address_of(device, view->image, &num_layers) : 0;
   if (!address)
      return;

   /* Slices of what is three-dimensional are no layers. */
   bool is_3d = view->image->image_type == VK_IMAGE_TYPE_3D;
   uint32_t layer = is_3d ? 0 : view->base_array_layer;
   uint32_t count = is_3d ? 1 : MIN2(view->layer_count, num_layers - layer);
   address += layer * GPUVAL_INIT_LAYER_SIZE + view->base_mip_level * GPUVAL_INIT_LEVEL_SIZE;
   if (!gpuval_objects_set_marks(device->objects, &view->base, address, count) &&
       view->usage & VK_IMAGE_USAGE_STORAGE_BIT)
      gpuval_image_marks_forget(device, view->image);
}

uint8_t
gpuval_image_aspect_bits(const struct vk_image *image, VkImageAspectFlags aspects)
{
   if (image->aspects != (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT))
      return GPUVAL_INIT_ALL;
   if ((aspects & image->aspects) == image->aspects)
      return GPUVAL_INIT_ALL;
   return aspects & VK_IMAGE_ASPECT_DEPTH_BIT ? GPUVAL_INIT_COLOR : GPUVAL_INIT_STENCIL;
}

void
gpuval_image_marks_visit(struct gpuval_device *device, const struct vk_image *vk,
                         const VkImageSubresourceRange *range, gpuval_image_marks_function function,
                         void *data)
{
   uint32_t num_layers;
   uint64_t address = device->image_marks->images ? address_of(device, vk, &num_layers) : 0;
   if (!address)
      return;

   bool is_3d = vk->image_type == VK_IMAGE_TYPE_3D;
   uint32_t level_count = vk_image_subresource_level_count(vk, range);
   uint32_t layer_count = is_3d ? 1 : vk_image_subresource_layer_count(vk, range);
   uint32_t first_layer = is_3d ? 0 : range->baseArrayLayer;
   uint8_t bits = gpuval_image_aspect_bits(vk, range->aspectMask);
   if (range->baseMipLevel >= vk->mip_levels || first_layer >= num_layers)
      return;

   level_count = MIN2(level_count, vk->mip_levels - range->baseMipLevel);
   layer_count = MIN2(layer_count, num_layers - first_layer);
   address += (uint64_t)first_layer * GPUVAL_INIT_LAYER_SIZE;
   /* Words of levels that there are not mean nothing. */
   if (level_count == vk->mip_levels && bits == GPUVAL_INIT_ALL) {
      function(data, address, layer_count * (GPUVAL_INIT_LAYER_SIZE / GPUVAL_INIT_LEVEL_SIZE));
      return;
   }

   address += range->baseMipLevel * GPUVAL_INIT_LEVEL_SIZE;
   for (uint32_t i = 0; i < layer_count; i++, address += GPUVAL_INIT_LAYER_SIZE) {
      if (bits & GPUVAL_INIT_COLOR)
         function(data, address, level_count);
      if (bits & GPUVAL_INIT_STENCIL)
         function(data, address + GPUVAL_INIT_STENCIL_OFFSET, level_count);
   }
}
