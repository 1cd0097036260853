/* SPDX-License-Identifier: MIT */

#include "gpuval_event.h"

#include <inttypes.h>

#include "util/ralloc.h"

static void
init_place(struct gpuval_place *place)
{
   place->spirv.instruction = -1;
   place->access.size = place->access.offset = -1;
   place->command.index = place->command.submission = -1;
}

struct gpuval_event *
gpuval_event_create(enum gpuval_kind kind)
{
   /* Events outlive devices. */
   struct gpuval_event *event = rzalloc(NULL, struct gpuval_event);

   event->kind = kind;
   init_place(&event->place);
   init_place(&event->other);
   event->resource.set = event->resource.binding = event->resource.index = -1;
   event->resource.object_offset = event->resource.memory_offset = event->resource.size = -1;
   return event;
}

const char *
gpuval_event_severity(const struct gpuval_event *event)
{
   return gpuval_event_is_message(event) ? "info" : "error";
}

bool
gpuval_event_is_message(const struct gpuval_event *event)
{
   return event->kind == GPUVAL_KIND_MESSAGE;
}

const char *
gpuval_stage_name(gl_shader_stage stage)
{
   switch (stage) {
   case MESA_SHADER_TESS_CTRL:
      return "tess_ctrl";
   case MESA_SHADER_TESS_EVAL:
      return "tess_eval";
   case MESA_SHADER_ANY_HIT:
      return "any_hit";
   case MESA_SHADER_CLOSEST_HIT:
      return "closest_hit";
   default:
      return _mesa_shader_stage_to_string(stage);
   }
}
