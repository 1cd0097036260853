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

/* Addresses behind a null one up to here are members of what it should lead to: no driver has
 * memory there, as Linux maps none below vm.mmap_min_addr, which is 64 KiB.
 */
#define NULL_SIZE 0x10000

/* "the buffer "nodes" (256 bytes)" */
static char *
describe_buffer(struct gpuval_event *event, const char *name, uint64_t size)
{
   return ralloc_asprintf(event, "the buffer%s%s%s (%" PRIu64 " bytes)", name ? " \"" : "",
                          name ? name : "", name ? "\"" : "", size);
}

static void
read_gone(struct gpuval_event *event, const struct gpuval_gone_buffer *gone, uint64_t address)
{
   const char *buffer = describe_buffer(event, gone->name, gone->size);

   event->resource.object = gone->object;
   event->resource.calls = gone->calls;
   event->resource.size = gone->size;
   event->resource.object_offset = get_offset(address, gone->begin);
   event->resource.object_name = gone->name ? ralloc_strdup(event, gone->name) : NULL;
   event->detail = gone->is_memory_freed
                      ? ralloc_asprintf(event, "the memory of %s there was freed", buffer)
                      : ralloc_asprintf(event, "%s there has been destroyed", buffer);
}

/* "16 bytes behind the buffer "nodes" (256 bytes)" */
static void
read_live(struct gpuval_event *event, const struct gpuval_nearest *nearest, uint64_t address)
{
   const struct gpuval_range *range = nearest->range;
   char *name = gpuval_object_name(event, range->object);
   const char *buffer = describe_buffer(event, name, range->size);

   event->resource.object = (uintptr_t)range->object;
   event->resource.calls = range->object->gpuval_calls;
   event->resource.size = range->size;
   event->resource.object_offset = get_offset(address, range->address);
   event->resource.object_name = name;
   if (event->resource.object_offset >= 0 && event->resource.object_offset < event->resource.size)
      event->detail = ralloc_asprintf(event, "that is offset %" PRId64 " of %s",
                                      event->resource.object_offset, buffer);
   else
      event->detail = ralloc_asprintf(event, "%" PRIu64 " bytes %s %s", nearest->distance,
                                      nearest->is_before ? "before" : "behind", buffer);
   if (nearest->is_reused)
      ralloc_asprintf_append(&event->detail, "; %s, which has been destroyed, was there before",
                             describe_buffer(event, nearest->gone->name, nearest->gone->size));
}

static void
describe_alignment(struct gpuval_event *event, const struct gpuval_site *site)
{
   event->place.access.alignment = site->alignment;
}

static void
read_address(struct gpuval_device *device, struct gpuval_event *event,
             const struct gpuval_record *record)
{
   uint64_t address = record->offset | (uint64_t)record->slot << 32;
   const struct gpuval_nearest nearest = gpuval_addresses_nearest(device->addresses, address);

   event->place.access.address = address;
   event->place.access.is_null = !address;
   event->place.access.size = record->access_size;
   event->resource.type = "address";
   if (event->kind == GPUVAL_KIND_INVALID_ADDRESS && !address)
      event->detail = ralloc_strdup(event, "the address is null");
   else if (event->kind == GPUVAL_KIND_INVALID_ADDRESS && address < NULL_SIZE)
      event->detail = ralloc_asprintf(event, "%" PRIu64 " bytes behind null", address);
   else if (nearest.gone && !nearest.is_reused)
      read_gone(event, nearest.gone, address);
   else if (nearest.range)
      read_live(event, &nearest, address);
   else
      event->detail = ralloc_strdup(event, "no buffer has an address");
}

const struct gpuval_words gpuval_words_address = {
   .describe_site = describe_alignment,
   .read = read_address,
};
