/* SPDX-License-Identifier: MIT */

/* Events of commands: what the host finds out, and no shader is in. */

#include "gpuval_events.h"

#include "base/gpuval_names.h"
#include "util/hash_table.h"
#include "util/ralloc.h"
#include "vk_object.h"

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
      .command_id = read->command.command_id,
      .access_size = read->size,
      .address = {read->address, read->address >> 32},
   };
   if (device->shadow.memory) {
      record.bound = claim;
      record.other = claim >> 32;
   } else if (claim) {
      const struct gpuval_entry *entries = device->entries.map;
      uint32_t entry = MIN2(claim & (GPUVAL_MAX_ENTRIES - 1), device->info.max_entries - 1);
      record.other = entries[entry].site | GPUVAL_OTHER_KNOWN;
      record.bound = claim >> GPUVAL_CLAIM_COMMAND_SHIFT & BITFIELD_MASK(GPUVAL_CLAIM_COMMAND_BITS);
   }

   mtx_lock(&device->mutex);
   struct gpuval_event *event = create_indirect_event(device, &record);
   const struct gpuval_failure_key key = {
      .shader_hash = event->other.shader.hash ^ event->place.command.pipeline,
      .stage = event->place.has_command ? _mesa_hash_string(event->place.command.op) : 0,
      .kind = event->kind,
      .op = GPUVAL_OP_INDIRECT,
   };

   gpuval_events_count(device, &key, event, 1);
   gpuval_device_unlock(device);
}

/* The same of a failure that no shader is in. Handles of what a frame makes anew would
 * make a new event of it each frame, so names stand for objects.
 */
struct gpuval_failure_key
gpuval_events_command_key(const struct gpuval_command_failure *failure, uint64_t bound,
                          const struct gpuval_event *event)
{
   const struct gpuval_command *command = &event->place.command;
   struct gpuval_failure_key key = {
      .shader_hash = bound,
      .stage = event->place.has_command ? _mesa_hash_string(command->op) : 0,
      .kind = failure->kind,
      .op = failure->op,
      .spirv_offset =
         event->resource.object_name ? _mesa_hash_string(event->resource.object_name) : 0,
      .set = -1,
      .binding = failure->range.binding,
      .site = failure->part,
   };

   for (unsigned i = 0; event->place.has_command && i < command->num_labels; i++)
      key.shader = key.shader * 31 + _mesa_hash_string(command->labels[i]);
   return key;
}

void
gpuval_events_describe_host(struct gpuval_place *place, const char *op)
{
   place->has_command = true;
   place->command = (struct gpuval_command){.op = op, .index = -1, .submission = -1};
}

struct gpuval_event *
gpuval_events_create_of_command(struct gpuval_device *device, uint32_t command_id,
                                const struct gpuval_command_failure *failure)
{
   const struct gpuval_command_range *range = &failure->range;
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

   event->resource.type = range->type;
   event->resource.binding = range->binding;
   if (!range->is_image) {
      event->place.access.offset = failure->offset;
      event->resource.size = range->size;
   }
   if (range->object) {
      event->resource.object = (uintptr_t)range->object;
      event->resource.object_type = range->object->type;
      event->resource.object_name = gpuval_object_name(event, range->object);
      if (!range->is_image)
         event->resource.object_offset = range->object_offset + failure->offset;
   }
   gpuval_event_describe(event);
   gpuval_event_set_fingerprint(event, failure->part, range->binding, 0);
   return event;
}

void
gpuval_device_report_command(struct gpuval_device *device, uint32_t command_id, uint64_t bound,
                             const struct gpuval_command_failure *failure)
{
   mtx_lock(&device->mutex);
   struct gpuval_event *event = gpuval_events_create_of_command(device, command_id, failure);
   const struct gpuval_failure_key key = gpuval_events_command_key(failure, bound, event);

   gpuval_events_count(device, &key, event, failure->count);
   gpuval_device_unlock(device);
}
