/* SPDX-License-Identifier: MIT */

/* The check array: records of an index that is past the end (gpuval_nir_array.c). */

#include "core/events/gpuval_events.h"

#include "nir_passes/gpuval_nir.h"

static const char *const types[GPUVAL_ARRAY_TYPE_COUNT] = {
   [GPUVAL_ARRAY_PRIVATE] = "private",
   [GPUVAL_ARRAY_SHARED] = "shared_memory",
   [GPUVAL_ARRAY_TASK_PAYLOAD] = "task_payload",
   [GPUVAL_ARRAY_CONSTANT] = "constant",
   [GPUVAL_ARRAY_INPUT] = "input",
   [GPUVAL_ARRAY_OUTPUT] = "output",
   [GPUVAL_ARRAY_PUSH_CONSTANT] = "push_constant",
   [GPUVAL_ARRAY_ADDRESS] = "address",
};

static void
describe_array(struct gpuval_event *event, const struct gpuval_site *site)
{
   event->place.access.length = site->length;
   event->resource.type = types[site->array];
}

static void
read_array(struct gpuval_device *device, struct gpuval_event *event,
           const struct gpuval_record *record)
{
   struct gpuval_event_access *access = &event->place.access;
   bool is_block = record->set != GPUVAL_REPORT_PLAIN;

   access->has_index = true;
   access->index = (int32_t)(is_block ? record->bound : record->offset);
   if (is_block) {
      access->size = record->access_size;
      access->offset = record->offset;
   }
}

const struct gpuval_words gpuval_words_array = {
   .describe_site = describe_array,
   .read = read_array,
};
