/* SPDX-License-Identifier: MIT */

/* The check address: its records. */

#include "core/events/gpuval_events.h"
#include "core/memory/gpuval_addresses.h"

#include <inttypes.h>

#include "base/gpuval_names.h"
#include "util/macros.h"
#include "util/ralloc.h"
#include "vk_object.h"

/* Negative in front of @begin, however far: addresses of a GPU may use all 64 bits. */
static int64_t
get_offset(uint64_t address, uint64_t begin)
{
   return address < begin ? -(int64_t)MIN2(begin - address, INT64_MAX)
                          : (int64_t)MIN2(address - begin, INT64_MAX);
}

/* "16 bytes behind the end of "nodes" (256 bytes)" */
static void
read_address(struct gpuval_device *device, struct gpuval_event *event,
             const struct gpuval_record *record)
{
   uint64_t address = record->offset | (uint64_t)record->slot << 32;
   struct gpuval_nearest nearest = gpuval_addresses_nearest(device->addresses, address);

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
      event->resource.calls = nearest.gone->calls;
      event->resource.size = nearest.gone->size;
      event->resource.object_offset = get_offset(address, nearest.gone->begin);
   } else if (nearest.range) {
      name = gpuval_object_name(event, nearest.range->object);
      event->resource.object = (uintptr_t)nearest.range->object;
      event->resource.calls = nearest.range->object->gpuval_calls;
      event->resource.size = nearest.range->size;
      event->resource.object_offset = get_offset(address, nearest.range->address);
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

const struct gpuval_words gpuval_words_address = {.read = read_address};
