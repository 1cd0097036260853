/* SPDX-License-Identifier: MIT */

/* What the words of a record say, for the checks address, export and ray. */

#include "base/gpuval_names.h"
#include "gpuval_device.h"

#include <inttypes.h>

#include "util/bitscan.h"
#include "util/ralloc.h"
#include "vk_object.h"

/* "output 0 (color): x, y NaN, w infinite" */
void
gpuval_device_read_export(struct gpuval_device *device, struct gpuval_event *event,
                          const struct gpuval_record *record)
{
   unsigned output = record->offset >> GPUVAL_EXPORT_OUTPUT_SHIFT;
   uint32_t mask = record->offset;
   static const char *const names[] = {"NaN", "infinite"};
   char *detail =
      output == GPUVAL_OUTPUT_POSITION ? ralloc_strdup(event, "the position's")
      : output == GPUVAL_OUTPUT_DEPTH  ? ralloc_strdup(event, "the depth")
      : output >= GPUVAL_OUTPUT_SECOND_SOURCE
         ? ralloc_asprintf(event, "output %u, index 1:", output - GPUVAL_OUTPUT_SECOND_SOURCE)
         : ralloc_asprintf(event, "output %u:", output);

   for (unsigned i = 0, count = 0; i < ARRAY_SIZE(names); i++) {
      uint32_t components = mask >> (i * GPUVAL_EXPORT_INF_SHIFT) & 0xf;
      unsigned listed = 0;
      if (!components)
         continue;
      ralloc_strcat(&detail, count++ ? "," : "");
      u_foreach_bit (j, output == GPUVAL_OUTPUT_DEPTH ? 0 : components)
         ralloc_asprintf_append(&detail, "%s %c", listed++ ? " and" : "", "xyzw"[j]);
      ralloc_asprintf_append(&detail, "%s %s", listed > 1 ? " are" : " is", names[i]);
   }
   event->detail = detail;
}

/* "16 bytes behind the end of "nodes" (256 bytes)" */
void
gpuval_device_read_address(struct gpuval_device *device, struct gpuval_event *event,
                           const struct gpuval_record *record)
{
   uint64_t address = record->offset | (uint64_t)record->slot << 32;
   struct gpuval_nearest nearest = gpuval_addresses_nearest(&device->addresses, address);

   event->place.access.address = address;
   event->place.access.is_null = !address;
   event->place.access.size = record->access_size;
   event->resource.type = "address";
   if (event->kind == GPUVAL_KIND_INVALID_ADDRESS && !address) {
      event->detail = ralloc_strdup(event, "the address is null");
      return;
   }

   char *name = NULL;
   if (nearest.gone) {
      name = nearest.gone->name ? ralloc_strdup(event, nearest.gone->name) : NULL;
      event->resource.object = nearest.gone->object;
      event->resource.size = nearest.gone->size;
      event->resource.object_offset = address - nearest.gone->begin;
   } else if (nearest.range) {
      name = gpuval_object_name(event, nearest.range->object);
      event->resource.object = (uintptr_t)nearest.range->object;
      event->resource.size = nearest.range->size;
      event->resource.object_offset = address - nearest.range->address;
   } else {
      event->detail = ralloc_strdup(event, "no buffer has an address");
      return;
   }
   event->resource.object_name = name;

   bool is_inside = !nearest.gone && event->resource.object_offset >= 0 &&
                    event->resource.object_offset < event->resource.size;
   char *buffer = ralloc_asprintf(event, "the buffer%s%s%s (%" PRId64 " bytes)", name ? " \"" : "",
                                  name ? name : "", name ? "\"" : "", event->resource.size);
   if (nearest.gone)
      event->detail = nearest.gone->is_memory_freed
                         ? ralloc_asprintf(event, "the memory of %s there was freed", buffer)
                         : ralloc_asprintf(event, "%s there has been destroyed", buffer);
   else if (is_inside)
      event->detail = ralloc_asprintf(event, "that is offset %" PRId64 " of %s",
                                      event->resource.object_offset, buffer);
   else
      event->detail = ralloc_asprintf(event, "%" PRIu64 " bytes %s %s", nearest.distance,
                                      nearest.is_before ? "before" : "behind", buffer);
}

/* What is wrong with the parameters of a ray: GPUVAL_RAY_*, or flags */
void
gpuval_device_read_ray(struct gpuval_device *device, struct gpuval_event *event,
                       const struct gpuval_record *record)
{
   static const char *const names[] = {"origin", "direction", "minimum t", "maximum t"};
   uint32_t word = record->offset;
   const char *range = word == GPUVAL_RAY_NEGATIVE   ? "is negative"
                       : word == GPUVAL_RAY_INVERTED ? "is above its maximum"
                                                     : "is negative and above its maximum";

   switch (event->kind) {
   case GPUVAL_KIND_RAY_NAN:
      event->detail = ralloc_strdup(event, "no finite numbers: the ray's");
      for (unsigned i = 0, count = 0; i < ARRAY_SIZE(names); i++) {
         if (word & BITFIELD_BIT(i))
            ralloc_asprintf_append(&event->detail, "%s %s", count++ ? "," : "", names[i]);
      }
      return;
   case GPUVAL_KIND_RAY_RANGE:
      event->detail = ralloc_asprintf(event, "the ray's minimum t %s", range);
      return;
   default:
      event->detail = ralloc_asprintf(event, "ray flags 0x%" PRIx32 " exclude each other", word);
      return;
   }
}

/* The acceleration structure at an address, which cannot be traced */
void
gpuval_device_read_structure(struct gpuval_device *device, struct gpuval_event *event,
                             const struct gpuval_record *record)
{
   uint64_t address = record->offset | (uint64_t)record->slot << 32;
   const struct vk_object_base *object = NULL;
   enum gpuval_structure_state state =
      gpuval_structures_find(&device->structures, address, &object);
   const char *what = state == GPUVAL_STRUCTURE_NOT_BUILT ? "has never been built"
                      : state == GPUVAL_STRUCTURE_STALE   ? "has instances of what is destroyed"
                      : state == GPUVAL_STRUCTURE_BOTTOM_LEVEL ? "is a bottom-level structure"
                      : state == GPUVAL_STRUCTURE_DESTROYED    ? "is destroyed"
                                                               : "is none";

   if (object) {
      event->resource.object = (uintptr_t)object;
      event->resource.object_type = object->type;
      event->resource.object_name = gpuval_object_name(event, object);
   }
   event->detail =
      ralloc_asprintf(event, "the acceleration structure %s%s%sat address 0x%" PRIx64 " %s",
                      event->resource.object_name ? "\"" : "",
                      event->resource.object_name ? event->resource.object_name : "",
                      event->resource.object_name ? "\" " : "", address, what);
}
