/* SPDX-License-Identifier: MIT */

/* The check bounds: its records, whose words gpuval_nir_report.c writes (find_outside() and
 * find_exact()).
 */

#include "core/descriptors/gpuval_objects.h"
#include "core/events/gpuval_events.h"
#include "core/memory/gpuval_ranges.h"

#include <string.h>

#include "util/u_math.h"
#include "vk_object.h"

/* The descriptor knows its buffer, whatever else is in the same memory. */
static bool
describe_bound(struct gpuval_device *device, struct gpuval_event *event, uint32_t id,
               uint64_t begin)
{
   struct gpuval_object_info info;
   if (!id || !device->objects || !gpuval_objects_describe(device->objects, event, id, &info) ||
       info.type != VK_OBJECT_TYPE_BUFFER)
      return false;

   gpuval_events_name_object(event, &info);
   const void *buffer = (const void *)(uintptr_t)info.handle;
   struct hash_entry *entry = info.end == GPUVAL_OBJECT_ALIVE
                                 ? _mesa_hash_table_search(device->ranges->buffers, buffer)
                                 : NULL;
   const struct gpuval_range *range = entry ? entry->data : NULL;
   if (range && begin >= range->address && begin - range->address < range->size)
      event->resource.offset = begin - range->address;
   return true;
}

void
gpuval_events_read_range(struct gpuval_device *device, struct gpuval_event *event,
                         const struct gpuval_record *record)
{
   uint64_t begin = record->address[0] | (uint64_t)record->address[1] << 32;

   event->place.access.size = record->access_size;
   event->place.access.offset = record->offset;
   event->resource.size = record->bound;
   if (!begin)
      return;

   event->place.access.address = begin + record->offset;
   if (!describe_bound(device, event, record->other, begin))
      gpuval_events_describe_buffer(device, event, begin, false);
}

const struct gpuval_words gpuval_words_range = {.read = gpuval_events_read_range};

static bool
describe_view(struct gpuval_device *device, struct gpuval_event *event, uint32_t id,
              struct gpuval_object_info *info)
{
   if (!device->objects || !gpuval_objects_describe(device->objects, event, id, info))
      return false;

   gpuval_events_name_object(event, info);
   return true;
}

void
gpuval_events_read_image(struct gpuval_device *device, struct gpuval_event *event,
                         const struct gpuval_record *record)
{
   struct gpuval_event_access *access = &event->place.access;
   struct gpuval_record_image image;
   struct gpuval_object_info info;
   memcpy(&image, &record->offset, sizeof(image));

   access->num_coords = image.flags & GPUVAL_IMAGE_COORDS_MASK;
   memcpy(access->coord, image.coord, sizeof(image.coord));
   access->has_level = image.flags & GPUVAL_IMAGE_HAS_LEVEL;
   access->has_sample = image.flags & GPUVAL_IMAGE_HAS_SAMPLE;
   access->level = access->sample = image.last;

   /* The size is that of the level, if there is such a level. */
   if (!describe_view(device, event, image.object, &info) ||
       (access->has_level && (uint32_t)access->level >= info.view.levels))
      return;
   bool has_layers = info.view.offers & (GPUVAL_OFFERS_ARRAY | GPUVAL_OFFERS_CUBE);
   event->resource.num_extents = access->num_coords;
   for (unsigned i = 0; i < access->num_coords; i++) {
      bool is_layer = has_layers && i == access->num_coords - 1;
      event->resource.extent[i] = access->has_level && !is_layer
                                     ? u_minify(info.view.extent[i], access->level)
                                     : info.view.extent[i];
   }
}

static void
read_texels(struct gpuval_device *device, struct gpuval_event *event,
            const struct gpuval_record *record)
{
   struct gpuval_record_image texels;
   struct gpuval_object_info info;
   memcpy(&texels, &record->offset, sizeof(texels));

   event->place.access.offset = (uint32_t)texels.coord[0];
   event->place.access.size = (uint32_t)texels.coord[1];
   event->resource.size = (uint32_t)texels.coord[2];
   describe_view(device, event, texels.object, &info);
}

const struct gpuval_words gpuval_words_image = {.read = gpuval_events_read_image};
const struct gpuval_words gpuval_words_texels = {.read = read_texels};
