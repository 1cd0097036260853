/* SPDX-License-Identifier: MIT */

/* The check mesh: its records. */

#include "core/events/gpuval_events.h"

#include <inttypes.h>

#include "util/ralloc.h"

/* What is wrong, with which number, and what the limit is: GPUVAL_MESH_* */
static void
read_mesh(struct gpuval_device *device, struct gpuval_event *event,
          const struct gpuval_record *record)
{
   uint32_t reason = record->offset & BITFIELD_MASK(GPUVAL_MESH_BOUND_SHIFT);
   uint32_t bound = record->offset >> GPUVAL_MESH_BOUND_SHIFT;
   uint32_t value = record->slot;

   switch (reason) {
   case GPUVAL_MESH_TOO_MANY_VERTICES:
   case GPUVAL_MESH_TOO_MANY_PRIMITIVES:
      event->detail = ralloc_asprintf(
         event, "the number of %s is set to %" PRIu32 ", but the shader declares at most %" PRIu32,
         reason == GPUVAL_MESH_TOO_MANY_VERTICES ? "vertices" : "primitives", value, bound);
      break;
   case GPUVAL_MESH_SET_TWICE:
      event->detail = ralloc_strdup(event, "the numbers of vertices and primitives are set twice");
      break;
   case GPUVAL_MESH_NOT_SET:
      event->detail = ralloc_strdup(
         event, "an output is stored before the numbers of vertices and primitives are set");
      break;
   case GPUVAL_MESH_VERTEX_BEYOND:
   case GPUVAL_MESH_PRIMITIVE_BEYOND:
      event->detail = ralloc_asprintf(
         event, "store to %s %" PRIu32 ", but their number is set to %" PRIu32,
         reason == GPUVAL_MESH_VERTEX_BEYOND ? "vertex" : "primitive", value, bound);
      break;
   case GPUVAL_MESH_NO_VERTEX:
      event->detail = ralloc_asprintf(event,
                                      "a primitive has the vertex %" PRIu32
                                      ", but the number of vertices is set to %" PRIu32,
                                      value, bound);
      break;
   case GPUVAL_MESH_TASK_TOTAL:
      event->detail = ralloc_asprintf(event,
                                      "the task launches more mesh workgroups than "
                                      "maxMeshWorkGroupTotalCount (%" PRIu32 ")",
                                      bound);
      break;
   case GPUVAL_MESH_TASK_X:
   case GPUVAL_MESH_TASK_Y:
   case GPUVAL_MESH_TASK_Z:
      event->detail = ralloc_asprintf(event,
                                      "the task launches %" PRIu32
                                      " mesh workgroups in %c, but maxMeshWorkGroupCount is "
                                      "%" PRIu32,
                                      value, "xyz"[reason - GPUVAL_MESH_TASK_X], bound);
      break;
   default:
      break;
   }
}

const struct gpuval_words gpuval_words_mesh = {.read = read_mesh};
