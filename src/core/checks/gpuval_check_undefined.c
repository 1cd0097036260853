/* SPDX-License-Identifier: MIT */

/* The check undefined: records of what a value that was never assigned decides
 * (gpuval_nir_undefined.c).
 */

#include "core/events/gpuval_events.h"

#include "nir_passes/gpuval_nir.h"
#include "util/ralloc.h"

static const char *const uses[GPUVAL_UNDEFINED_USE_COUNT] = {
   [GPUVAL_UNDEFINED_CONDITION] = "the condition of a branch",
   [GPUVAL_UNDEFINED_INDEX] = "an index",
   [GPUVAL_UNDEFINED_ADDRESS] = "an address",
   [GPUVAL_UNDEFINED_VALUE_STORED] = "a value that is stored",
   [GPUVAL_UNDEFINED_OUTPUT] = "an output",
   [GPUVAL_UNDEFINED_COORDINATE] = "what is sampled, or which texel is accessed,",
};

static void
read_undefined(struct gpuval_device *device, struct gpuval_event *event,
               const struct gpuval_record *record)
{
   if (record->access_size < GPUVAL_UNDEFINED_USE_COUNT)
      event->detail = ralloc_asprintf(event, "%s depends on a value that was never assigned",
                                      uses[record->access_size]);
}

const struct gpuval_words gpuval_words_undefined = {.read = read_undefined};
