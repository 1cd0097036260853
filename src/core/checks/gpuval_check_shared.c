/* SPDX-License-Identifier: MIT */

/* The check shared: records of hazards in the memory of a workgroup. */

#include "base/gpuval_shadow.h"
#include "core/events/gpuval_events.h"

#include "nir_passes/gpuval_nir_sync.h"

/* The conflicting access is of the same command and shader: gpuval_nir_shared_cells.c */
static void
read_shared(struct gpuval_device *device, struct gpuval_event *event,
            const struct gpuval_record *record)
{
   uint32_t number = record->bound & GPUVAL_SHADOW_SITE_UNKNOWN;
   const struct gpuval_shader *shader = gpuval_device_site_shader(device, record->site);
   const struct gpuval_site *site =
      shader && number && number < GPUVAL_SHADOW_SITE_UNKNOWN
         ? gpuval_events_numbered_site(shader, GPUVAL_CHECK_SHARED, number - 1)
         : NULL;

   event->place.access.size = record->access_size;
   event->place.access.offset = record->offset;
   event->resource.type =
      record->slot & GPUVAL_SHARED_IS_PAYLOAD ? "task_payload" : "shared_memory";
   event->has_other = event->other_is_certain = true;
   if (site)
      gpuval_events_describe_site(event, &event->other, shader, site);
   gpuval_events_describe_command(device, event, &event->other, record->command_id);
}

const struct gpuval_words gpuval_words_shared = {.read = read_shared};
