/* SPDX-License-Identifier: MIT */

/* The check converge: its records. */

#include "core/events/gpuval_events.h"

#include <inttypes.h>

#include "util/ralloc.h"

/* Which invocation of the subgroup reads which one */
static void
read_converge(struct gpuval_device *device, struct gpuval_event *event,
              const struct gpuval_record *record)
{
   event->detail = ralloc_asprintf(
      event,
      "invocation %" PRIu32 " of the subgroup reads invocation %" PRIi32 ", which is not active",
      record->slot, (int32_t)record->offset);
}

const struct gpuval_words gpuval_words_converge = {.read = read_converge};
