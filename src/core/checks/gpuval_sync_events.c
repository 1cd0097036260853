/* SPDX-License-Identifier: MIT */

#include "gpuval_sync_events.h"

#include "core/events/gpuval_events.h"
#include "gpuval.h"

#include "util/ralloc.h"
#include "vk_buffer.h"

/* What orders the two */

static const char *
stage_name(const struct gpuval_sync_side *side)
{
   static const char *const names[GPUVAL_ORDER_CLASSES] = {
      [GPUVAL_ORDER_INDIRECT] = "DRAW_INDIRECT",
      [GPUVAL_ORDER_VERTEX] = "VERTEX_SHADER",
      [GPUVAL_ORDER_TESS_CTRL] = "TESSELLATION_CONTROL_SHADER",
      [GPUVAL_ORDER_TESS_EVAL] = "TESSELLATION_EVALUATION_SHADER",
      [GPUVAL_ORDER_GEOMETRY] = "GEOMETRY_SHADER",
      [GPUVAL_ORDER_TASK] = "TASK_SHADER",
      [GPUVAL_ORDER_MESH] = "MESH_SHADER",
      [GPUVAL_ORDER_FRAGMENT] = "FRAGMENT_SHADER",
      [GPUVAL_ORDER_COMPUTE] = "COMPUTE_SHADER",
      [GPUVAL_ORDER_RAYS] = "RAY_TRACING_SHADER",
      [GPUVAL_ORDER_TRANSFER] = "TRANSFER",
      [GPUVAL_ORDER_VERTEX_INPUT] = "VERTEX_INPUT",
      [GPUVAL_ORDER_STRUCTURES] = "ACCELERATION_STRUCTURE_BUILD",
   };
   if (side->class_ != GPUVAL_ORDER_AUXILIARY)
      return names[side->class_];
   return side->is_write                              ? "TRANSFORM_FEEDBACK"
          : side->read == GPUVAL_ORDER_PREDICATE_READ ? "CONDITIONAL_RENDERING"
                                                      : "DRAW_INDIRECT";
}

static const char *
access_name(const struct gpuval_sync_side *side)
{
   switch (side->op) {
   case GPUVAL_OP_INDIRECT:
      return "INDIRECT_COMMAND_READ";
   case GPUVAL_OP_TRANSFER_READ:
      return "TRANSFER_READ";
   case GPUVAL_OP_TRANSFER_WRITE:
      return "TRANSFER_WRITE";
   case GPUVAL_OP_INDEX:
      return "INDEX_READ";
   case GPUVAL_OP_ATTRIBUTE:
      return "VERTEX_ATTRIBUTE_READ";
   case GPUVAL_OP_COUNTER:
      return side->is_write                              ? "TRANSFORM_FEEDBACK_COUNTER_WRITE"
             : side->read == GPUVAL_ORDER_PREDICATE_READ ? "CONDITIONAL_RENDERING_READ"
                                                         : "TRANSFORM_FEEDBACK_COUNTER_READ";
   case GPUVAL_OP_BUILD:
      return side->is_write                              ? "ACCELERATION_STRUCTURE_WRITE"
             : side->read == GPUVAL_ORDER_STRUCTURE_READ ? "ACCELERATION_STRUCTURE_READ"
                                                         : "SHADER_READ";
   default:
      return side->is_write                            ? "SHADER_WRITE"
             : side->read == GPUVAL_ORDER_UNIFORM_READ ? "UNIFORM_READ"
                                                       : "SHADER_READ";
   }
}

void
gpuval_sync_append_needs(char **text, const struct gpuval_sync_side *first,
                         const struct gpuval_sync_side *second)
{
   const char *src = stage_name(first), *dst = stage_name(second);

   bool is_known = first->class_ != GPUVAL_ORDER_AUXILIARY || first->is_write;
   if (!src || !dst || !is_known)
      return;
   if (first->is_write)
      ralloc_asprintf_append(text, ": needs srcStage %s, srcAccess %s -> dstStage %s, dstAccess %s",
                             src, access_name(first), dst, access_name(second));
   else
      ralloc_asprintf_append(text, ": needs srcStage %s -> dstStage %s", src, dst);
}

/* Events */

bool
gpuval_sync_party_writes(const struct gpuval_shadow_party *party, enum gpuval_op op)
{
   return party->op ? party->is_write : op != GPUVAL_OP_LOAD && op != GPUVAL_OP_SAMPLE;
}

static void
set_detail(struct gpuval_event *event, const struct gpuval_sync_conflict *conflict,
           const struct gpuval_shadow_party *party)
{
   const enum gpuval_op other_op = event->other.access.op;
   bool is_write = gpuval_access_is_write(&conflict->what);
   bool is_executed = party->serial <= conflict->row.execution_watermark[party->class_];
   bool other_writes = !is_write || gpuval_sync_party_writes(party, other_op);
   const struct gpuval_sync_side first = {party->class_, other_op, other_writes};
   const struct gpuval_sync_side second = {
      .class_ = conflict->class_,
      .op = conflict->op,
      .is_write = is_write,
      .read = conflict->read,
   };
   char *text = ralloc_strdup(event, "");

   if (!other_writes)
      ralloc_strcat(&text, "no barrier orders it after a read");
   else if (is_executed)
      ralloc_asprintf_append(&text, "a barrier orders it after a write, which is not made %s to it",
                             is_write ? "available" : "visible");
   else
      ralloc_strcat(&text, "no barrier orders it after a write");
   gpuval_sync_append_needs(&text, &first, &second);
   event->detail = text;
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
   set_detail(event, conflict, &party);
   gpuval_event_describe(event);
}

void
gpuval_sync_report_conflict(struct gpuval_device *device,
                            const struct gpuval_sync_conflict *conflict)
{
   const struct gpuval_command_access *what = &conflict->what;
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
