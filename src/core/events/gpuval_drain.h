/* SPDX-License-Identifier: MIT */

/* What has been read of the buffers that shaders write, and what came of it. */

#ifndef GPUVAL_DRAIN_H
#define GPUVAL_DRAIN_H

#include "core/device/gpuval_device.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/hash_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Records, as gpuval_drain.c reads them */
struct gpuval_device_slots {
   struct gpuval_buffer buffer;         /* struct gpuval_slots */
   uint16_t seen[GPUVAL_CONTROL_WORDS]; /* read but not given back yet */
   unsigned num_seen;
   bool is_clean; /* nobody has used it since all of it was given back */
};

/** gpuval_device::drain */
struct gpuval_drain {
   /* Shaders use one of them; there is another one where the host has no atomics. */
   struct gpuval_device_slots slots[2];
   unsigned active; /* which */
   bool has_failed; /* something, since counters were read */
   bool has_ever_failed;
   bool looks_again; /* what was told of may have been on its way */
   bool warned_memory;
};

/** gpuval_device::failures */
struct gpuval_failures {
   struct hash_table *events;   /* struct gpuval_failure_key -> struct gpuval_event */
   struct hash_table *unnamed;  /* struct gpuval_failure_key -> struct gpuval_unnamed */
   unsigned num_command_events; /* of the events, those that no shader is in, and */
   uint32_t command_period;     /* when: gpuval_report_period() */
   bool warned_command_events;
   uint32_t num_hangs; /* gpuval_hang_report() */
};

/** gpuval_device::messages */
struct gpuval_messages {
   struct gpuval_buffer buffers[2]; /* where printf is on */
   struct hash_table *events;       /* text of a format -> struct gpuval_event; NULL if nobody
                                     * wants them */
   uint32_t full_period;            /* the period in which there are enough, + 1 */
   struct util_dynarray waiting;    /* struct gpuval_message: to be reported */
   uint64_t lost;                   /* of both counters, what has been said */
   struct gpuval_printed *printed;  /* gpuval_printed.c; NULL: none yet */
};

/** The slots, false: there is no memory. */
bool gpuval_drain_init(struct gpuval_device *device);
void gpuval_drain_finish(struct gpuval_device *device);

/**
 * The event of a site; one that other sites share if they are the same failure.
 * @record may be NULL. device->mutex is held.
 */
struct gpuval_event *gpuval_device_get_event(struct gpuval_device *device, uint32_t site,
                                             const struct gpuval_record *record);

/** An event of a message: what is known of the site. */
struct gpuval_event *gpuval_device_create_message(struct gpuval_device *device, uint32_t site,
                                                  const char *text, const uint32_t *invocation);

#ifdef __cplusplus
}
#endif

#endif
