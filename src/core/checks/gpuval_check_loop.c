/* SPDX-License-Identifier: MIT */

/* The check loop: its records. */

#include "core/events/gpuval_events.h"

#include <inttypes.h>

#include "base/gpuval_options.h"
#include "util/ralloc.h"

/* The rounds, and who has ended the loop: GPUVAL_LOOP_* */
static void
read_loop(struct gpuval_device *device, struct gpuval_event *event,
          const struct gpuval_record *record)
{
   if (record->slot == GPUVAL_LOOP_BY_HOST)
      event->detail = ralloc_asprintf(event,
                                      "the loop has not ended after %" PRIu32
                                      " rounds, and the program that waits for it is at its end",
                                      record->offset);
   else
      event->detail = ralloc_asprintf(
         event, "the loop goes round more often than GPUVAL_LOOP_LIMIT (%" PRIu32 ")",
         gpuval_options()->loop_limit);
}

const struct gpuval_words gpuval_words_loop = {.read = read_loop};
