/* SPDX-License-Identifier: MIT */

/* Events of commands: what the host finds out, and no shader is in.
 *
 * Many occurrences are one event, and each is handled with the device's mutex held: so what
 * tells events apart, the key, is found first, and the event is made only where it is new.
 */

#include "base/gpuval_bloom.h"
#include "core/descriptors/gpuval_objects.h"
#include "core/memory/gpuval_ranges.h"
#include "core/memory/gpuval_shadow_device.h"
#include "core/shaders/gpuval_shader.h"
#include "gpuval_drain.h"
#include "gpuval_events.h"

#include "base/gpuval_names.h"
#include "util/hash_table.h"
#include "util/ralloc.h"
#include "vk_object.h"

/* Events of commands of a device. A program that has more gives other names in each frame. */
#define MAX_COMMAND_EVENTS 1024

/* What is known of the command, of which nothing is copied, and of what it uses */
struct facts {
   bool has_command;
   struct gpuval_command command;
   struct gpuval_object_info object; /* handle 0: none, or not known */
};

static bool
describe_command(struct gpuval_device *device, uint32_t command_id, struct gpuval_command *command)
{
   *command = (struct gpuval_command){.index = -1, .submission = -1};
   return device->info.describe_command &&
          device->info.describe_command(device->info.data, command_id, MESA_SHADER_VERTEX, command);
}

static struct gpuval_event *
create_indirect_event(struct gpuval_device *device, const struct gpuval_record *record)
{
   struct gpuval_event *event = gpuval_event_create(GPUVAL_KIND_INDIRECT_AFTER_WRITE);

   event->place.access.op = GPUVAL_OP_INDIRECT;
   gpuval_events_read_record(device, event, record);
   gpuval_event_describe(event);
   gpuval_event_set_fingerprint(event, -1, -1, 0);
   return event;
}

/* The same command with the same pipeline, after the same shader: one failure */
void
gpuval_device_report_indirect(struct gpuval_device *device, const struct gpuval_indirect_read *read,
                              uint64_t claim)
{
   struct gpuval_record record = {
      .site = GPUVAL_INDIRECT_SITE,
      .command_id = read->command.command_id,
      .access_size = read->size,
      .offset = read->offset,
      .address = {read->address, read->address >> 32},
   };
   if (device->shadow->is_on) {
      record.bound = claim;
      record.other = claim >> 32;
   } else if (claim) {
      const struct gpuval_entry *entries = device->entries.map;
      uint32_t entry = MIN2(claim & (GPUVAL_MAX_ENTRIES - 1), device->info.max_entries - 1);
      record.other = entries[entry].site | GPUVAL_OTHER_KNOWN;
      record.bound = claim >> GPUVAL_CLAIM_COMMAND_SHIFT & BITFIELD_MASK(GPUVAL_CLAIM_COMMAND_BITS);
   }

   mtx_lock(&device->mutex);
   const enum gpuval_kind kind = GPUVAL_KIND_INDIRECT_AFTER_WRITE;
   struct gpuval_command command;
   bool has_command = describe_command(device, record.command_id, &command);
   const struct gpuval_failure_key key = {
      .shader_hash = gpuval_events_other_hash(device, kind, &record) ^ command.pipeline,
      .stage = has_command ? _mesa_hash_string(command.op) : 0,
      .kind = kind,
      .op = GPUVAL_OP_INDIRECT,
   };
   struct gpuval_event *event = gpuval_events_find(device, &key);
   if (!event) {
      event = create_indirect_event(device, &record);
      gpuval_events_add(device, &key, event);
   }
   gpuval_report_count(event, 1);
   gpuval_device_unlock(device);
}

/* What a range names may have been destroyed since, by any thread: a buffer is there as long as
 * its range is, while the device's mutex is held.
 */
static void
find_object(struct gpuval_device *device, void *mem_ctx, const struct gpuval_command_range *range,
            struct gpuval_object_info *info)
{
   *info = (struct gpuval_object_info){0};
   if (range->object_id) {
      if (device->objects)
         gpuval_objects_describe(device->objects, mem_ctx, range->object_id, info);
      return;
   }

   struct hash_entry *entry =
      range->object ? _mesa_hash_table_search(device->ranges->buffers, range->object) : NULL;
   const struct gpuval_range *buffer = entry ? entry->data : NULL;
   if (!buffer || (range->address && (range->address < buffer->address ||
                                      range->address - buffer->address > buffer->size)))
      return;
   info->type = VK_OBJECT_TYPE_BUFFER;
   info->handle = (uintptr_t)range->object;
   info->calls = range->object->gpuval_calls;
   info->name = gpuval_object_name(mem_ctx, range->object);
}

/* Numbers in labels count frames, and are not what a label says. */
static uint32_t
hash_label(const char *label)
{
   uint32_t hash = 2166136261u;
   bool in_number = false;

   for (; *label; label++) {
      bool is_digit = *label >= '0' && *label <= '9';
      if (!is_digit || !in_number)
         hash = (hash ^ (is_digit ? '0' : (unsigned char)*label)) * 16777619u;
      in_number = is_digit;
   }
   return hash;
}

static uint32_t
hash_key(const void *key)
{
   return _mesa_hash_data(key, sizeof(struct gpuval_failure_key));
}

static bool
keys_equal(const void *a, const void *b)
{
   return !memcmp(a, b, sizeof(struct gpuval_failure_key));
}

static bool
is_alive(struct gpuval_device *device, uint32_t id, uint64_t handle)
{
   return id ? gpuval_objects_is_alive(device->objects, id)
             : _mesa_hash_table_search(device->ranges->buffers, (const void *)(uintptr_t)handle) !=
                  NULL;
}

/* An object without a name is told from others that fail in the same way by its handle. What a
 * frame makes anew takes the number of one that is gone, and what is too many has the last
 * number: events are not without end.
 */
static uint32_t
number_of(struct gpuval_device *device, const struct gpuval_failure_key *key, uint32_t id,
          uint64_t handle)
{
   if (!device->failures->unnamed)
      device->failures->unnamed = _mesa_hash_table_create(device, hash_key, keys_equal);
   struct hash_entry *entry = _mesa_hash_table_search(device->failures->unnamed, key);
   if (!entry) {
      if (_mesa_hash_table_num_entries(device->failures->unnamed) >= MAX_COMMAND_EVENTS)
         return 0;
      entry = _mesa_hash_table_insert(device->failures->unnamed,
                                      ralloc_memdup(device, key, sizeof(*key)),
                                      rzalloc(device, struct gpuval_unnamed));
   }

   struct gpuval_unnamed *unnamed = entry->data;
   unsigned number = unnamed->count;
   for (unsigned i = 0; i < unnamed->count; i++) {
      if (unnamed->objects[i].id == id && unnamed->objects[i].handle == handle)
         return i;
      if (number == unnamed->count &&
          !is_alive(device, unnamed->objects[i].id, unnamed->objects[i].handle))
         number = i;
   }
   if (number == GPUVAL_MAX_UNNAMED)
      return GPUVAL_MAX_UNNAMED;
   unnamed->objects[number].id = id;
   unnamed->objects[number].handle = handle;
   unnamed->count = MAX2(unnamed->count, number + 1);
   return number;
}

/* Names stand for objects that have one. */
static struct gpuval_failure_key
make_key(struct gpuval_device *device, const struct gpuval_command_failure *failure, uint64_t bound,
         const struct facts *facts)
{
   const struct gpuval_command *command = &facts->command;
   const struct gpuval_object_info *object = &facts->object;
   struct gpuval_failure_key key = {
      .shader_hash = bound,
      .stage = facts->has_command ? _mesa_hash_string(command->op) : 0,
      .kind = failure->kind,
      .op = failure->op,
      .spirv_offset = object->name ? _mesa_hash_string(object->name) : 0,
      .set = -1,
      .binding = failure->range.binding,
      .site = failure->part,
   };

   for (unsigned i = 0; facts->has_command && i < command->num_labels; i++)
      key.shader = key.shader * 31 + hash_label(command->labels[i]);
   if (object->handle && !object->name)
      key.object = 1 + number_of(device, &key, failure->range.object_id, object->handle);
   return key;
}

void
gpuval_events_describe_host(struct gpuval_place *place, const char *op)
{
   place->has_command = true;
   place->command = (struct gpuval_command){.op = op, .index = -1, .submission = -1};
}

static struct gpuval_event *
create_event(struct gpuval_device *device, uint32_t command_id,
             const struct gpuval_command_failure *failure, const struct facts *facts)
{
   const struct gpuval_command_range *range = &failure->range;
   const struct gpuval_object_info *object = &facts->object;
   struct gpuval_event *event = gpuval_event_create(failure->kind);

   event->has_record = true;
   event->detail = failure->detail[0] ? ralloc_strdup(event, failure->detail) : NULL;
   if (failure->host_op)
      gpuval_events_describe_host(&event->place, failure->host_op);
   else
      gpuval_events_describe_command(device, event, &event->place, command_id);

   event->place.access.op = failure->op;
   if (failure->size)
      event->place.access.size = failure->size;
   event->place.access.address = range->address ? range->address + failure->offset : 0;
   event->place.access.is_null = !range->address && range->type && !strcmp(range->type, "address");

   event->resource.type = range->type;
   event->resource.binding = range->binding;
   if (!range->is_image) {
      event->place.access.offset = failure->offset;
      event->resource.size = range->size;
   }
   if (object->handle) {
      event->resource.object = object->handle;
      event->resource.object_type = object->type;
      event->resource.calls = object->calls;
      event->resource.object_name = object->name ? ralloc_strdup(event, object->name) : NULL;
      if (!range->is_image)
         event->resource.object_offset = range->object_offset + failure->offset;
   }
   gpuval_event_describe(event);
   gpuval_event_set_fingerprint(event, failure->part, range->binding, 0);
   return event;
}

/* What is one too many counts as one with all others of its kind. */
static bool
is_full(struct gpuval_device *device, struct gpuval_failure_key *key)
{
   if (device->failures->command_period != gpuval_report_period())
      device->failures->num_command_events = 0;
   device->failures->command_period = gpuval_report_period();
   if (device->failures->num_command_events < MAX_COMMAND_EVENTS)
      return false;

   if (!device->failures->warned_command_events)
      gpuval_log_warning(
         "commands have failed in more than %u ways that differ in labels or names: "
         "further failures are counted together, by kind",
         MAX_COMMAND_EVENTS);
   device->failures->warned_command_events = true;
   *key = (struct gpuval_failure_key){.kind = key->kind, .op = key->op, .set = -2};
   return true;
}

struct gpuval_event *
gpuval_events_of_command(struct gpuval_device *device, uint32_t command_id, uint64_t bound,
                         const struct gpuval_command_failure *failure,
                         void (*complete)(struct gpuval_device *device, struct gpuval_event *event,
                                          const void *data),
                         const void *data)
{
   void *mem_ctx = ralloc_context(NULL);
   struct facts facts;

   find_object(device, mem_ctx, &failure->range, &facts.object);
   facts.has_command = failure->host_op || describe_command(device, command_id, &facts.command);
   if (failure->host_op)
      facts.command = (struct gpuval_command){.op = failure->host_op};

   struct gpuval_failure_key key = make_key(device, failure, bound, &facts);
   struct gpuval_event *event = gpuval_events_find(device, &key);
   if (!event && is_full(device, &key))
      event = gpuval_events_find(device, &key);
   if (!event) {
      event = create_event(device, command_id, failure, &facts);
      if (complete)
         complete(device, event, data);
      gpuval_events_add(device, &key, event);
      device->failures->num_command_events++;
   }
   ralloc_free(mem_ctx);
   return event;
}

void
gpuval_device_report_command(struct gpuval_device *device, uint32_t command_id, uint64_t bound,
                             const struct gpuval_command_failure *failure)
{
   mtx_lock(&device->mutex);
   gpuval_report_count(gpuval_events_of_command(device, command_id, bound, failure, NULL, NULL),
                       failure->count);
   gpuval_device_unlock(device);
}
