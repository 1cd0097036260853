/* SPDX-License-Identifier: MIT */

/* The check assert: its records. */

#include "core/events/gpuval_events.h"
#include "core/events/gpuval_printed.h"

#include "util/ralloc.h"

/* How many messages the invocation had printed */
static void
read_debug_break(struct gpuval_device *device, struct gpuval_event *event,
                 const struct gpuval_record *record)
{
   const char *printed = gpuval_printed_before(device, record, record->slot, event);

   if (printed)
      event->detail = ralloc_asprintf(
         event, "the shader has executed DebugBreak, after it had printed %s", printed);
}

const struct gpuval_words gpuval_words_debug_break = {.read = read_debug_break};
