/* SPDX-License-Identifier: MIT */

#include "gpuval_sync_events.h"

#include "core/events/gpuval_events.h"
#include "gpuval.h"

#include "util/ralloc.h"
#include "vk_buffer.h"

struct gpuval_sync_side
gpuval_sync_side_of_party(const struct gpuval_shadow_party *party, enum gpuval_op op)
{
   bool is_of_other_queue =
      party->class_ >= GPUVAL_ORDER_SECOND_QUEUE && party->class_ <= GPUVAL_ORDER_OTHER_QUEUES;
   unsigned stage = party->stage == MESA_SHADER_NONE ? GPUVAL_ORDER_HOST /* of no stage */
                                                     : gpuval_order_stage_class(party->stage);

   return (struct gpuval_sync_side){
      .class_ = is_of_other_queue ? stage : party->class_,
      .op = op,
      .is_write = gpuval_sync_party_writes(party, op),
      .has_serial = true,
      .queue = is_of_other_queue ? GPUVAL_SYNC_OTHER_QUEUE : 0,
      .serial = party->serial,
   };
}

bool
gpuval_sync_party_writes(const struct gpuval_shadow_party *party, enum gpuval_op op)
{
   return party->op ? party->is_write : op != GPUVAL_OP_LOAD && op != GPUVAL_OP_SAMPLE;
}

static void
set_detail(struct gpuval_device *device, struct gpuval_event *event,
           const struct gpuval_sync_conflict *conflict, const struct gpuval_shadow_party *party)
{
   bool is_write = gpuval_access_is_write(&conflict->what);
   struct gpuval_sync_side first = gpuval_sync_side_of_party(party, event->other.access.op);
   const struct gpuval_sync_side second = {
      .class_ = conflict->class_,
      .op = conflict->op,
      .is_write = is_write,
      .read = conflict->read,
      .has_serial = true,
      .serial = conflict->serial,
   };

   first.is_write |= !is_write;
   gpuval_sync_describe_barrier(device, event, &first, &second, conflict->address, false);
}

static void
complete(struct gpuval_device *device, struct gpuval_event *event, const void *data)
{
   const struct gpuval_sync_conflict *conflict = data;
   uint32_t lo = conflict->other, hi = conflict->other >> 32;
   struct gpuval_shadow_party party;

   if (!gpuval_sync_describe_party(device, event, lo, hi) ||
       !gpuval_device_shadow_party(device, lo, hi, &party))
      return;
   set_detail(device, event, conflict, &party);
   gpuval_event_describe(event);
}

static void
report_arguments(struct gpuval_device *device, const struct gpuval_sync_conflict *conflict)
{
   const struct gpuval_command_access *what = &conflict->what;
   const struct gpuval_indirect_read read = {
      .command = {.command_id = conflict->command_id},
      .address = conflict->begin,
      .size = what->row_size ? what->row_size : what->size,
   };
   gpuval_device_report_indirect(device, &read, conflict->other);
}

void
gpuval_sync_report_conflict(struct gpuval_device *device,
                            const struct gpuval_sync_conflict *conflict)
{
   const struct gpuval_command_access *what = &conflict->what;
   if (conflict->class_ == GPUVAL_ORDER_INDIRECT) {
      report_arguments(device, conflict);
      return;
   }

   struct gpuval_command_failure failure = {
      .kind = gpuval_access_is_write(what) ? GPUVAL_KIND_WRITE_AFTER_ACCESS
                                           : GPUVAL_KIND_READ_AFTER_WRITE,
      .op = conflict->op,
      .count = 1,
      .size = MIN2(what->row_size ? what->row_size : what->size, UINT32_MAX),
      .range = {.type = "buffer", .binding = -1},
   };

   if (what->buffer) {
      failure.range.object = &what->buffer->base;
      failure.range.address = conflict->begin - what->offset;
      failure.range.size = what->buffer->size;
   } else if (!gpuval_device_find_buffer(device, conflict->begin, 1, &failure.range)) {
      failure.range.address = conflict->begin;
      failure.range.size = what->size;
   }
   failure.offset = conflict->address - failure.range.address;

   mtx_lock(&device->mutex);
   gpuval_report_count(
      gpuval_events_of_command(device, conflict->command_id, 0, &failure, complete, conflict), 1);
   gpuval_device_unlock(device);
}
