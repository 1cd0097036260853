/* SPDX-License-Identifier: MIT */

/* The check ray: the table of acceleration structures that shaders look at, and records. */

#include "core/events/gpuval_events.h"
#include "core/structures/gpuval_structure_table.h"

#include <inttypes.h>

#include "base/gpuval_names.h"
#include "util/ralloc.h"
#include "vk_object.h"

static bool
init_ray(struct gpuval_device *device)
{
   bool has_bottom_table = gpuval_options()->safe;
   uint64_t slots =
      has_bottom_table ? 2 * GPUVAL_STRUCTURE_SLOTS + 1 : (uint64_t)GPUVAL_STRUCTURE_SLOTS;

   if (!gpuval_device_alloc_table(device, &device->structures->buffer, slots * sizeof(uint64_t)))
      return false;
   device->root->structures_address = device->structures->buffer.address;
   return true;
}

static void
finish_ray(struct gpuval_device *device)
{
   gpuval_device_free(device, &device->structures->buffer);
}

const struct gpuval_check_host gpuval_host_ray = {init_ray, finish_ray};

/* What is wrong with the parameters of a ray: GPUVAL_RAY_*, or flags */
static void
read_ray(struct gpuval_device *device, struct gpuval_event *event,
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
static void
read_structure(struct gpuval_device *device, struct gpuval_event *event,
               const struct gpuval_record *record)
{
   uint64_t address = record->offset | (uint64_t)record->slot << 32;
   const struct vk_object_base *object = NULL;
   enum gpuval_structure_state state =
      gpuval_structures_find(&device->structures->all, address, &object);
   const char *what = state == GPUVAL_STRUCTURE_NOT_BUILT ? "has never been built"
                      : state == GPUVAL_STRUCTURE_STALE   ? "has instances of what is destroyed"
                      : state == GPUVAL_STRUCTURE_BOTTOM_LEVEL ? "is a bottom-level structure"
                      : state == GPUVAL_STRUCTURE_DESTROYED    ? "is destroyed"
                                                               : "is none";

   if (object)
      gpuval_events_set_object(event, object);
   event->detail =
      ralloc_asprintf(event, "the acceleration structure %s%s%sat address 0x%" PRIx64 " %s",
                      event->resource.object_name ? "\"" : "",
                      event->resource.object_name ? event->resource.object_name : "",
                      event->resource.object_name ? "\" " : "", address, what);
}

static void
describe_structure(struct gpuval_event *event, const struct gpuval_site *site)
{
   event->resource.set = site->set;
   event->resource.binding = site->binding;
   event->resource.type = "acceleration_structure_khr";
}

const struct gpuval_words gpuval_words_ray = {.read = read_ray};
const struct gpuval_words gpuval_words_structure = {
   .describe_site = describe_structure,
   .read = read_structure,
};
