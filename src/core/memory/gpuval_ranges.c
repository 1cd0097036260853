/* SPDX-License-Identifier: MIT */

#include "gpuval_ranges.h"
#include "gpuval_addresses.h"

#include "base/gpuval_names.h"
#include "util/os_time.h"
#include "util/ralloc.h"
#include "vk_buffer.h"

void
gpuval_ranges_init(struct gpuval_device *device)
{
   device->ranges->buffers = _mesa_pointer_hash_table_create(device);
   device->ranges->images = _mesa_pointer_hash_table_create(device);
   device->ranges->allocations = _mesa_pointer_hash_table_create(device);
   if (device->info.has_faults)
      device->ranges->gone = rzalloc_array(device, struct gpuval_gone_range, GPUVAL_GONE_RANGES);
}

static bool
has_address(const struct vk_object_base *object)
{
   return object->type == VK_OBJECT_TYPE_BUFFER &&
          container_of(object, struct vk_buffer, base)->usage &
             VK_BUFFER_USAGE_2_SHADER_DEVICE_ADDRESS_BIT;
}

/* device->mutex is held. */
static void
note_gone(struct gpuval_ranges *ranges, const struct vk_object_base *object)
{
   struct hash_table *const tables[] = {ranges->buffers, ranges->images, ranges->allocations};

   for (unsigned i = 0; ranges->gone && i < ARRAY_SIZE(tables); i++) {
      const struct hash_entry *entry = _mesa_hash_table_search(tables[i], object);
      if (!entry)
         continue;

      const struct gpuval_range *range = entry->data;
      struct gpuval_gone_range *gone = &ranges->gone[ranges->num_gone++ % GPUVAL_GONE_RANGES];
      ralloc_free(gone->name);
      *gone = (struct gpuval_gone_range){
         .address = range->address,
         .size = range->size,
         .object = (uintptr_t)object,
         .type = object->type,
         .calls = object->gpuval_calls,
         .name = gpuval_object_name(ranges->gone, object),
         .when = os_time_get_nano(),
      };
   }
}

/* device->mutex is held. */
static void
drop_range(struct gpuval_device *device, struct hash_table *ranges,
           const struct vk_object_base *object)
{
   struct hash_entry *entry = _mesa_hash_table_search(ranges, object);
   if (!entry)
      return;

   struct gpuval_range *range = entry->data;
   _mesa_hash_table_remove(ranges, entry);
   if (ranges == device->ranges->allocations)
      gpuval_addresses_remove_memory(device->addresses, ranges, range->address, range->size);
   gpuval_addresses_remove(device->addresses, range);
   ralloc_free(range);
}

static void
add_range(struct gpuval_device *device, struct hash_table *ranges,
          const struct vk_object_base *object, uint64_t address, uint64_t size)
{
   mtx_lock(&device->mutex);
   drop_range(device, ranges, object);
   struct gpuval_range *range = ralloc(device, struct gpuval_range);
   if (range) {
      *range = (struct gpuval_range){.object = object, .address = address, .size = size};
      _mesa_hash_table_insert(ranges, object, range);
      if (ranges == device->ranges->buffers && gpuval_options_may_check(GPUVAL_CHECK_ADDRESS) &&
          has_address(object))
         gpuval_addresses_add(device->addresses, range);
   }
   mtx_unlock(&device->mutex);
}

static void
remove_range(struct gpuval_device *device, struct hash_table *ranges,
             const struct vk_object_base *object)
{
   mtx_lock(&device->mutex);
   note_gone(device->ranges, object);
   drop_range(device, ranges, object);
   mtx_unlock(&device->mutex);
}

void
gpuval_device_add_buffer(struct gpuval_device *device, const struct vk_object_base *object,
                         uint64_t address, uint64_t size)
{
   add_range(device, device->ranges->buffers, object, address, size);
}

void
gpuval_device_remove_buffer(struct gpuval_device *device, const struct vk_object_base *object)
{
   remove_range(device, device->ranges->buffers, object);
}

void
gpuval_device_add_image(struct gpuval_device *device, const struct vk_object_base *object,
                        uint64_t address, uint64_t size)
{
   add_range(device, device->ranges->images, object, address, size);
}

void
gpuval_device_remove_image(struct gpuval_device *device, const struct vk_object_base *object)
{
   remove_range(device, device->ranges->images, object);
}

bool
gpuval_device_has_texels(struct gpuval_device *device, uint64_t address, uint64_t size)
{
   bool found = false;

   mtx_lock(&device->mutex);
   hash_table_foreach (device->ranges->images, entry) {
      const struct gpuval_range *image = entry->data;

      found |= address < image->address + image->size && image->address < address + size;
   }
   mtx_unlock(&device->mutex);
   return found;
}

void
gpuval_device_add_memory(struct gpuval_device *device, const struct vk_object_base *object,
                         uint64_t address, uint64_t size)
{
   add_range(device, device->ranges->allocations, object, address, size);
}

void
gpuval_device_remove_memory(struct gpuval_device *device, const struct vk_object_base *object)
{
   remove_range(device, device->ranges->allocations, object);
}

bool
gpuval_device_find_buffer(struct gpuval_device *device, uint64_t address, uint64_t size,
                          struct gpuval_command_range *range)
{
   bool found = false;

   mtx_lock(&device->mutex);
   hash_table_foreach (device->ranges->buffers, entry) {
      const struct gpuval_range *buffer = entry->data;

      if (address < buffer->address || address - buffer->address >= buffer->size)
         continue;
      range->object = entry->key;
      range->object_offset = 0;
      range->address = buffer->address;
      range->size = buffer->size;
      found = true;
      if (size <= buffer->size - (address - buffer->address))
         break;
   }
   mtx_unlock(&device->mutex);

   return found;
}
