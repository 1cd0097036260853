/* SPDX-License-Identifier: MIT */

#include "gpuval_hang.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/gpuval_device.h"
#include "core/memory/gpuval_addresses.h"
#include "core/memory/gpuval_ranges.h"
#include "gpuval_drain.h"
#include "gpuval_events.h"

#include "base/gpuval_names.h"
#include "base/gpuval_text.h"
#include "util/os_time.h"
#include "util/ralloc.h"
#include "util/u_atomic.h"
#include "vk_object.h"

/* Commands that one report describes */
#define MAX_COMMANDS 16

/* Reports of submits that take long, of a device: a program may make one a frame. */
#define MAX_SLOW 64

struct item {
   char *line; /* NULL: a command */
   uint32_t command_id;
};

struct gpuval_hang {
   struct gpuval_event *event; /* until it is reported */
   struct util_dynarray items; /* struct item, in order */
   char **lines;               /* the event's, of those that are resolved */
   unsigned num_resolved;
   unsigned num_commands;
   bool has_fault;
   struct gpuval_hang_fault fault;
};

static struct gpuval_hang *
create(enum gpuval_kind kind)
{
   struct gpuval_hang *hang = rzalloc(NULL, struct gpuval_hang);

   hang->event = gpuval_event_create(kind);
   util_dynarray_init(&hang->items, hang);
   return hang;
}

struct gpuval_hang *
gpuval_hang_create_slow(const char *where, double seconds)
{
   struct gpuval_hang *hang = create(GPUVAL_KIND_HANG_SLOW_SUBMIT);
   locale_t locale = gpuval_begin_c_locale();

   hang->event->detail =
      ralloc_asprintf(hang->event, "%s has not ended after %.1f s", where, seconds);
   gpuval_end_c_locale(locale);
   return hang;
}

struct gpuval_hang *
gpuval_hang_create_lost(void)
{
   struct gpuval_hang *hang = create(GPUVAL_KIND_HANG_DEVICE_LOST);

   hang->event->detail = ralloc_strdup(hang->event, "the device is lost");
   return hang;
}

struct gpuval_hang *
gpuval_hang_create_cut_off(const char *where)
{
   struct gpuval_hang *hang = create(GPUVAL_KIND_HANG_DEVICE_LOST);

   hang->event->detail = ralloc_asprintf(hang->event,
                                         "%s has ended without having been executed to its end: "
                                         "the device is lost, or was reset",
                                         where);
   return hang;
}

void
gpuval_hang_drop(struct gpuval_hang *hang)
{
   if (hang)
      ralloc_free(hang->event);
   ralloc_free(hang);
}

void
gpuval_hang_say(struct gpuval_hang *hang, const char *format, ...)
{
   struct item item = {0};
   va_list arguments;

   locale_t locale = gpuval_begin_c_locale();
   va_start(arguments, format);
   item.line = ralloc_vasprintf(hang, format, arguments);
   va_end(arguments);
   gpuval_end_c_locale(locale);
   util_dynarray_append_typed(&hang->items, struct item, item);
}

void
gpuval_hang_add_command(struct gpuval_hang *hang, uint32_t command_id)
{
   const struct item item = {.command_id = command_id};

   if (hang->num_commands++ < MAX_COMMANDS)
      util_dynarray_append_typed(&hang->items, struct item, item);
}

void
gpuval_hang_set_fault(struct gpuval_hang *hang, const struct gpuval_hang_fault *fault)
{
   hang->has_fault = true;
   hang->fault = *fault;
}

/* Shader objects are known by stage. */
static mesa_shader_stage
main_stage(const char *op)
{
   switch (gpuval_command_pipelines(op)) {
   case GPUVAL_COMMAND_DRAWS_MESHES:
      return MESA_SHADER_MESH;
   case GPUVAL_COMMAND_DISPATCHES:
      return MESA_SHADER_COMPUTE;
   case GPUVAL_COMMAND_TRACES:
      return MESA_SHADER_RAYGEN;
   default:
      return MESA_SHADER_VERTEX;
   }
}

static void
describe_command(struct gpuval_device *device, struct gpuval_event *event, uint32_t command_id)
{
   struct gpuval_place *place = &event->place;

   place->has_command = false;
   place->shader.stage = MESA_SHADER_VERTEX;
   gpuval_events_describe_command(device, event, place, command_id);
   if (!place->has_command || main_stage(place->command.op) == MESA_SHADER_VERTEX)
      return;
   place->shader.stage = main_stage(place->command.op);
   gpuval_events_describe_command(device, event, place, command_id);
}

/* Makes a line of the command, which is known to be in flight. The oldest is the event's own. */
static char *
describe_item(struct gpuval_device *device, struct gpuval_event *event, const struct item *item)
{
   struct gpuval_event *command = gpuval_event_create(event->kind);
   char *line = NULL;

   describe_command(device, command, item->command_id);
   if (command->place.has_command) {
      char *text = gpuval_text_of_command(command);
      line = text ? ralloc_strdup(event, text) : NULL;
      free(text);
      if (!event->place.has_command)
         describe_command(device, event, item->command_id);
   }
   ralloc_free(command);
   return line;
}

/* device->mutex is held. */
static void
resolve(struct gpuval_hang *hang, struct gpuval_device *device)
{
   struct gpuval_event *event = hang->event;
   const unsigned count = util_dynarray_num_elements(&hang->items, struct item);

   hang->lines = reralloc(event, hang->lines, char *, count + 1);
   for (; hang->num_resolved < count; hang->num_resolved++) {
      const struct item *item =
         util_dynarray_element(&hang->items, struct item, hang->num_resolved);
      char *line =
         item->line ? ralloc_strdup(event, item->line) : describe_item(device, event, item);
      if (line)
         hang->lines[event->num_in_flight++] = line;
   }
   event->in_flight = (const char *const *)hang->lines;
}

void
gpuval_hang_resolve(struct gpuval_hang *hang, struct gpuval_device *device)
{
   mtx_lock(&device->mutex);
   resolve(hang, device);
   mtx_unlock(&device->mutex);
}

/* "the buffer "nodes" (256 bytes)" */
static char *
title(void *mem_ctx, const char *type, const char *name, uint64_t size)
{
   return ralloc_asprintf(mem_ctx, "the %s%s%s%s (%" PRIu64 " bytes)", type, name ? " \"" : "",
                          name ? name : "", name ? "\"" : "", size);
}

static const char *
type_name(uint32_t type)
{
   return type == VK_OBJECT_TYPE_DEVICE_MEMORY ? "memory" : gpuval_object_type_name(type);
}

static bool
overlaps(const struct gpuval_hang_fault *fault, uint64_t address, uint64_t size)
{
   return address < fault->address + fault->size && fault->address < address + size;
}

/* What lives in the page, the first in the message. Returns whether there is anything. */
static bool
name_live(struct gpuval_device *device, struct gpuval_event *event,
          const struct gpuval_hang_fault *fault)
{
   struct hash_table *const tables[] = {
      device->ranges->buffers,
      device->ranges->images,
      device->ranges->allocations,
   };

   for (unsigned i = 0; i < ARRAY_SIZE(tables); i++) {
      hash_table_foreach (tables[i], entry) {
         const struct gpuval_range *range = entry->data;
         if (!overlaps(fault, range->address, range->size))
            continue;

         char *name = gpuval_object_name(event, range->object);
         event->resource.object = (uintptr_t)range->object;
         event->resource.object_type = range->object->type;
         event->resource.object_name = name;
         event->resource.calls = range->object->gpuval_calls;
         event->resource.size = range->size;
         ralloc_asprintf_append(&event->detail, ", which %s has",
                                title(event, type_name(range->object->type), name, range->size));
         return true;
      }
   }
   return false;
}

/* What was there last, of memory, or of what was in memory. Returns whether there is anything. */
static bool
name_gone(struct gpuval_device *device, struct gpuval_event *event,
          const struct gpuval_hang_fault *fault, bool is_memory)
{
   const struct gpuval_ranges *ranges = device->ranges;
   const uint32_t count = MIN2(ranges->num_gone, GPUVAL_GONE_RANGES);

   for (uint32_t i = 1; i <= count; i++) {
      const struct gpuval_gone_range *gone =
         &ranges->gone[(ranges->num_gone - i) % GPUVAL_GONE_RANGES];
      if (!overlaps(fault, gone->address, gone->size) ||
          is_memory != (gone->type == VK_OBJECT_TYPE_DEVICE_MEMORY))
         continue;

      event->resource.object = gone->object;
      event->resource.object_type = gone->type;
      event->resource.object_name = gone->name ? ralloc_strdup(event, gone->name) : NULL;
      event->resource.calls = gone->calls;
      event->resource.size = gone->size;
      ralloc_asprintf_append(&event->detail, ", where %s was, %s %.3f s ago",
                             title(event, type_name(gone->type), gone->name, gone->size),
                             is_memory ? "freed" : "destroyed",
                             (os_time_get_nano() - gone->when) * 1e-9);
      return true;
   }
   return false;
}

static void
name_nearest(struct gpuval_device *device, struct gpuval_event *event,
             const struct gpuval_hang_fault *fault)
{
   const struct gpuval_nearest nearest =
      gpuval_addresses_nearest(device->addresses, fault->address);

   if (!fault->address) {
      ralloc_strcat(&event->detail, ", the page of null");
   } else if (nearest.range) {
      char *name = gpuval_object_name(event, nearest.range->object);
      ralloc_asprintf_append(
         &event->detail, ", where nothing is known to be or to have been; %" PRIu64 " bytes %s %s",
         nearest.distance, nearest.is_before ? "before" : "behind",
         title(event, "buffer", name, nearest.range->size));
   } else {
      ralloc_strcat(&event->detail, ", where nothing is known to be or to have been");
   }
}

static void
add_fault(struct gpuval_device *device, struct gpuval_event *event,
          const struct gpuval_hang_fault *fault)
{
   ralloc_asprintf_append(&event->detail,
                          "; page fault (status 0x%08" PRIx32 "): %s in the page of %" PRIu64
                          " bytes at address 0x%" PRIx64,
                          fault->status, fault->op, fault->size, fault->address);
   event->place.access.address = fault->address;
   event->place.access.is_null = !fault->address;
   if (!name_live(device, event, fault) && !name_gone(device, event, fault, false) &&
       !name_gone(device, event, fault, true))
      name_nearest(device, event, fault);
}

/* device->mutex is held. */
static struct gpuval_event *
take_event(struct gpuval_hang *hang, struct gpuval_device *device)
{
   struct gpuval_event *event = hang->event;

   if (hang->num_commands > MAX_COMMANDS)
      gpuval_hang_say(hang, "and %u more commands", hang->num_commands - MAX_COMMANDS);
   resolve(hang, device);
   locale_t locale = gpuval_begin_c_locale();
   if (hang->has_fault)
      add_fault(device, event, &hang->fault);
   gpuval_end_c_locale(locale);
   gpuval_event_describe(event);
   gpuval_event_set_fingerprint(event, -1, -1, 0);
   hang->event = NULL;
   return event;
}

void
gpuval_hang_report(struct gpuval_hang *hang, struct gpuval_device *device)
{
   const enum gpuval_kind kind = hang->event->kind;

   if (kind == GPUVAL_KIND_HANG_DEVICE_LOST && p_atomic_read(&device->is_lost_on_purpose)) {
      gpuval_hang_drop(hang);
      return;
   }

   mtx_lock(&device->mutex);
   gpuval_device_drain(device, false);
   uint32_t number = device->failures->num_hangs++;
   const struct gpuval_failure_key key = {
      .kind = kind,
      .set = -3,
      .site = MIN2(number, MAX_SLOW),
   };
   struct gpuval_event *known = gpuval_events_find(device, &key);
   struct gpuval_event *event = known ? known : take_event(hang, device);
   if (!known)
      gpuval_events_add(device, &key, event);
   gpuval_report_count(event, 1);
   gpuval_device_unlock(device);
   gpuval_hang_drop(hang);
}
