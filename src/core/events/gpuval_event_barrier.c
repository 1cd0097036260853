/* SPDX-License-Identifier: MIT */

#include "gpuval_event_barrier.h"

#include "report/gpuval_event.h"
#include "gpuval.h"

#include "util/ralloc.h"

void
gpuval_device_set_submits(struct gpuval_device *device, struct gpuval_submits *submits)
{
   device->submits = submits;
}

/* A change of the layout is in no stage, but between the scopes of its barrier: a dependency on all
 * stages, or of all, is in a chain with that. What tests depth in either of two stages is over with
 * the late one, and begins with the early one.
 */
static const char *
stage_name(const struct gpuval_sync_side *side, bool is_second)
{
   static const char *const names[GPUVAL_ORDER_MODEL_CLASSES] = {
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
      [GPUVAL_ORDER_COLOR] = "COLOR_ATTACHMENT_OUTPUT",
      [GPUVAL_ORDER_DEPTH] = "LATE_FRAGMENT_TESTS",
      [GPUVAL_ORDER_DEPTH_LOAD] = "EARLY_FRAGMENT_TESTS",
      [GPUVAL_ORDER_DEPTH_STORE] = "LATE_FRAGMENT_TESTS",
      [GPUVAL_ORDER_VERTEX_INPUT] = "VERTEX_INPUT",
      [GPUVAL_ORDER_STRUCTURES] = "ACCELERATION_STRUCTURE_BUILD",
      [GPUVAL_ORDER_TRANSITION] = "ALL_COMMANDS",
   };
   if (side->class_ == GPUVAL_ORDER_TRANSFER)
      return side->op == GPUVAL_OP_CLEAR ? "CLEAR" : "TRANSFER";
   if (side->class_ == GPUVAL_ORDER_DEPTH && is_second)
      return "EARLY_FRAGMENT_TESTS|LATE_FRAGMENT_TESTS";
   if (side->class_ != GPUVAL_ORDER_AUXILIARY)
      return names[side->class_];
   return side->is_write                              ? "TRANSFORM_FEEDBACK"
          : side->read == GPUVAL_ORDER_PREDICATE_READ ? "CONDITIONAL_RENDERING"
                                                      : "DRAW_INDIRECT";
}

static const char *
attachment_access(const struct gpuval_sync_side *side)
{
   if (gpuval_order_is_depth(side->class_))
      return side->is_write ? "DEPTH_STENCIL_ATTACHMENT_WRITE" : "DEPTH_STENCIL_ATTACHMENT_READ";
   return side->is_write ? "COLOR_ATTACHMENT_WRITE" : "COLOR_ATTACHMENT_READ";
}

static const char *
access_name(const struct gpuval_sync_side *side)
{
   if (side->class_ == GPUVAL_ORDER_COLOR || gpuval_order_is_depth(side->class_))
      return attachment_access(side);
   if (side->class_ == GPUVAL_ORDER_TRANSFER)
      return side->is_write ? "TRANSFER_WRITE" : "TRANSFER_READ";
   if (side->class_ == GPUVAL_ORDER_TRANSITION)
      return "MEMORY_WRITE";

   switch (side->op) {
   case GPUVAL_OP_INDIRECT:
      return "INDIRECT_COMMAND_READ";
   case GPUVAL_OP_TRANSFER_READ:
      return "TRANSFER_READ";
   case GPUVAL_OP_TRANSFER_WRITE:
      return side->class_ == GPUVAL_ORDER_AUXILIARY ? "TRANSFORM_FEEDBACK_WRITE" : "TRANSFER_WRITE";
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
             : side->read == GPUVAL_ORDER_RAY_READ     ? "ACCELERATION_STRUCTURE_READ"
                                                       : "SHADER_READ";
   }
}

/* The barrier that orders @second after @first, where both stages are known. */
static void
find_needs(struct gpuval_event *event, const struct gpuval_sync_side *first,
           const struct gpuval_sync_side *second)
{
   const char *src = stage_name(first, false), *dst = stage_name(second, true);
   bool is_known = first->class_ != GPUVAL_ORDER_AUXILIARY || first->is_write;
   if (!src || !dst || !is_known)
      return;

   event->barrier.needs.src_stage = src;
   event->barrier.needs.dst_stage = dst;
   if (first->is_write) {
      event->barrier.needs.src_access = access_name(first);
      event->barrier.needs.dst_access = access_name(second);
   }
}

static enum gpuval_barrier_missing
find_missing(struct gpuval_device *device, struct gpuval_event *event,
             const struct gpuval_sync_side *first, const struct gpuval_sync_side *second,
             uint64_t address, bool ignores_access)
{
   struct gpuval_order_barrier there;
   bool is_of_others =
      first->queue == GPUVAL_SYNC_OTHER_QUEUE && second->queue == GPUVAL_SYNC_OTHER_QUEUE;
   if (!device->submits || !first->has_serial || !second->has_serial || is_of_others)
      return GPUVAL_MISSING_UNKNOWN;
   if (first->class_ == GPUVAL_ORDER_TRANSITION || second->class_ == GPUVAL_ORDER_TRANSITION)
      return GPUVAL_MISSING_LAYOUT;

   const struct gpuval_barrier_side sides[] = {
      {first->queue, first->serial, gpuval_order_class_stage(first->class_)},
      {second->queue, second->serial, gpuval_order_class_stage(second->class_)},
   };
   enum gpuval_barrier_missing missing =
      gpuval_submits_find_missing(device->submits, &sides[0], &sides[1], address, &there);
   if (missing == GPUVAL_MISSING_ACCESS && ignores_access)
      missing = GPUVAL_MISSING_RANGE;
   if (missing == GPUVAL_MISSING_STAGE || missing == GPUVAL_MISSING_RANGE ||
       missing == GPUVAL_MISSING_ACCESS)
      event->barrier.there = gpuval_barrier_text(event, &there);
   return missing;
}

static const char *
why(enum gpuval_barrier_missing missing)
{
   static const char *const texts[] = {
      [GPUVAL_MISSING_UNKNOWN] = "no barrier orders the two",
      [GPUVAL_MISSING_NONE] = "no barrier is between the two",
      [GPUVAL_MISSING_STAGE] = "the barrier between the two lacks a stage",
      [GPUVAL_MISSING_RANGE] = "the barrier between the two is for other memory",
      [GPUVAL_MISSING_ACCESS] = "the barrier between the two lacks an access",
      [GPUVAL_MISSING_QUEUE] = "nothing orders the two queues",
      [GPUVAL_MISSING_LAYOUT] = "nothing orders the change of the layout",
   };
   return texts[missing];
}

void
gpuval_sync_describe_barrier(struct gpuval_device *device, struct gpuval_event *event,
                             const struct gpuval_sync_side *first,
                             const struct gpuval_sync_side *second, uint64_t address,
                             bool ignores_access)
{
   enum gpuval_barrier_missing missing =
      find_missing(device, event, first, second, address, ignores_access);
   const char *verb = first->class_ == GPUVAL_ORDER_TRANSITION ? "changed the layout"
                      : first->is_write                        ? "written there"
                                                               : "read there";

   event->barrier.missing = gpuval_barrier_missing_name(missing);
   find_needs(event, first, second);
   char *text = ralloc_asprintf(event, "another command has %s, and %s", verb, why(missing));
   if (event->barrier.there)
      ralloc_asprintf_append(&text, " (%s)", event->barrier.there);
   if (event->barrier.needs.src_stage) {
      ralloc_asprintf_append(&text, ": needs srcStage %s", event->barrier.needs.src_stage);
      if (first->is_write)
         ralloc_asprintf_append(&text, ", srcAccess %s", event->barrier.needs.src_access);
      ralloc_asprintf_append(&text, " -> dstStage %s", event->barrier.needs.dst_stage);
      if (first->is_write)
         ralloc_asprintf_append(&text, ", dstAccess %s", event->barrier.needs.dst_access);
   }
   event->detail = text;
}
