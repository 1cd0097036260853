/* SPDX-License-Identifier: MIT */

/* The check init: what a device knows to be written, and records of reads of what is not. */

#include "base/gpuval_shadow.h"
#include "core/events/gpuval_events.h"
#include "core/memory/gpuval_shadow_device.h"
#include "core/memory/gpuval_written.h"

/* The window of shadow memory is needed, but no cells. Without it nothing is looked at. */
static bool
init_written(struct gpuval_device *device)
{
   if (!device->info.has_shadow)
      return true;

   if (!device->shadow->memory &&
       gpuval_device_alloc(device, &device->window_layout, sizeof(struct gpuval_shadow_layout)))
      device->window = gpuval_shadow_create(device->window_layout.map);
   const struct gpuval_shadow *window = gpuval_device_window(device);
   if (window)
      device->written = gpuval_written_create(gpuval_device_window(device),
                                              gpuval_options()->poison ? GPUVAL_POISON_WORD : 0);
   if (!device->written) {
      gpuval_log_warning("init: no address space is left: init is not checked");
      return true;
   }
   device->root->written_window = gpuval_shadow_window(window);
   device->root->written = gpuval_shadow_written(window);
   return true;
}

static void
finish_written(struct gpuval_device *device)
{
   if (device->written)
      gpuval_written_destroy(device->written);
   if (device->window)
      gpuval_shadow_destroy(device->window);
   gpuval_device_free(device, &device->window_layout);
}

const struct gpuval_check_host gpuval_host_init = {init_written, finish_written};

static void
read_unwritten(struct gpuval_device *device, struct gpuval_event *event,
               const struct gpuval_record *record)
{
   bool is_address = record->set == GPUVAL_REPORT_PLAIN;

   if (record->other & GPUVAL_IMAGE_IS_ONE) {
      gpuval_events_read_image(device, event, record);
      return;
   }
   gpuval_events_read_range(device, event, record);
   if (!record->bound) { /* the address is all that there is */
      event->resource.size = -1;
      event->place.access.offset = -1;
      gpuval_events_describe_buffer(device, event, event->place.access.address, true);
   }
   if (is_address)
      event->resource.set = -1;
}

const struct gpuval_words gpuval_words_unwritten = {.read = read_unwritten};
