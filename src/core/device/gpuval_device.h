/* SPDX-License-Identifier: MIT */

/* A device, between the rooms of core/. This header knows none of them: a room has its own struct,
 * and the files above them (core/gpuval_device.c) make all of a device's at once.
 */

#ifndef GPUVAL_DEVICE_H
#define GPUVAL_DEVICE_H

#include "report/gpuval_report.h"
#include "gpuval.h"

#include "c11/threads.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/list.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_device {
   struct gpuval_device_info info;
   struct list_head link; /* in the list of live devices, until it is retired */
   uint32_t visited;      /* gpuval_live_visit() */
   bool is_complete;      /* it was created, and has all that follows */

   struct gpuval_root *root; /* in root_buffer, in front of GPUVAL_ROOT_ALL_ADDRESSES */
   struct gpuval_poll *poll; /* in poll_buffer, or in the root where there is none */
   struct gpuval_buffer root_buffer, poll_buffer, counters, failing, entries;
   struct gpuval_buffer objects_buffer; /* where a check asks for descriptors */

   mtx_t mutex; /* for what follows, and for what rooms keep unless they say otherwise */
   cnd_t work_begins;
   thrd_t thread;
   bool has_thread;
   bool stop;
   bool is_asleep;   /* the thread, until work begins */
   unsigned work[2]; /* in flight, by phase in which it began */
   unsigned phase;
   uint64_t num_registered; /* shaders, ever; read without the mutex, too */
   bool printed;            /* Shaders had printed when the thread last looked. */

   struct gpuval_notices notices; /* for gpuval_device_unlock() */
   int64_t reaction_at;           /* os_time_get_nano(): at the latest; 0: there is none due */
   bool is_lost_on_purpose;       /* by GPUVAL_ON_ERROR; atomic */

   mtx_t hang_mutex; /* recursive: around gpuval_device_info::look_for_hang */
   bool is_retired;  /* it is not called any more; with hang_mutex */
   int64_t hang_at;  /* os_time_get_nano(): when it is called next; the thread's */

   /* What each room keeps, in structs that its own header has. None is NULL but those that say so. */
   struct gpuval_submits *submits;         /* order/: the driver's; NULL: nobody asks for order */
   struct gpuval_objects *objects;         /* descriptors/; NULL where no check asks for them */
   struct gpuval_shaders *shaders;         /* shaders/ */
   struct gpuval_drain *drain;             /* events/ */
   struct gpuval_failures *failures;       /* events/ */
   struct gpuval_messages *messages;       /* events/ */
   struct gpuval_printf *printf;           /* printf/ */
   struct gpuval_ranges *ranges;           /* memory/ */
   struct gpuval_addresses *addresses;     /* memory/ */
   struct gpuval_marks *marks;             /* memory/, where init is on without a window */
   struct gpuval_image_marks *image_marks; /* memory/ */
   struct gpuval_texels *texels;           /* memory/ */
   struct gpuval_cells *cells;             /* memory/, where shadow memory has no window */
   struct gpuval_shadow_device *shadow;    /* memory/ */
   struct gpuval_filter *filter;           /* memory/ */
   struct gpuval_written *written;         /* memory/; NULL where init is off */
   struct gpuval_shadow *window;           /* memory/; NULL where init has that of sync or none */
   struct gpuval_buffer window_layout;
   struct gpuval_structure_table *structures; /* structures/ */
   struct gpuval_coverage *coverage;          /* shaders/ */
};

static inline bool
gpuval_device_is_idle(const struct gpuval_device *device)
{
   return !device->work[0] && !device->work[1];
}

/** Returns whether there is more. device->mutex is held. */
bool gpuval_device_drain_printf(struct gpuval_device *device, bool idle);
/** All that there is, at the end. device->mutex is held, but for moments. */
void gpuval_device_drain_all_messages(struct gpuval_device *device);

/** Unlocks device->mutex, tells messengers what has been reported meanwhile, and reacts. */
void gpuval_device_unlock(struct gpuval_device *device);

/** Is it time for GPUVAL_ON_ERROR? The caller then has to react. device->mutex is held. */
bool gpuval_device_take_reaction(struct gpuval_device *device);
/** Does not return from `abort`. No lock is held. */
void gpuval_device_react(struct gpuval_device *device);

/**
 * Reads and clears published records, and when no work is in flight (@idle)
 * the counters. device->mutex is held.
 */
void gpuval_device_drain(struct gpuval_device *device, bool idle);

/** A reset of the GPU may take what is in its memory. Says so once. */
bool gpuval_device_is_intact(struct gpuval_device *device);

/**
 * Where the host has no atomics on GPU memory, shaders get other slots and another printf
 * buffer now and then. No work of the other phase is left: what that has used is given back.
 * Returns whether others are wanted. device->mutex is held.
 */
bool gpuval_device_give_back(struct gpuval_device *device);
/** A phase begins: they get them. device->mutex is held. */
void gpuval_device_turn(struct gpuval_device *device);

/** Reads the counters of shaders that no work can use any more. device->mutex is held. */
void gpuval_device_drain_ending(struct gpuval_device *device);

/**
 * Hands over what shaders have executed until now (report/gpuval_lcov.h), if that is counted; while
 * work is in flight, as far as memory allows. device->mutex is held.
 */
void gpuval_device_publish_coverage(struct gpuval_device *device);

/** Memory for shaders and host; false: there is none. */
bool gpuval_device_alloc(struct gpuval_device *device, struct gpuval_buffer *buffer, uint64_t size);
/** The same for what nobody does atomics on, and the host only writes. */
bool gpuval_device_alloc_table(struct gpuval_device *device, struct gpuval_buffer *buffer,
                               uint64_t size);
bool gpuval_device_alloc_poll(struct gpuval_device *device, struct gpuval_buffer *buffer,
                              uint64_t size);
bool gpuval_device_alloc_plain(struct gpuval_device *device, struct gpuval_buffer *buffer,
                               uint64_t size);
void gpuval_device_free(struct gpuval_device *device, struct gpuval_buffer *buffer);
/** Of struct gpuval_buffer; none is left in it. */
void gpuval_device_free_buffers(struct gpuval_device *device, struct util_dynarray *buffers);
/** From one list to another */
void gpuval_move_buffers(struct util_dynarray *to, struct util_dynarray *from);

/** A device is about to be made: a child that was forked is a process of its own from here on. */
void gpuval_live_begin(void);
/** exit() will look at the device, until gpuval_device_retire(). */
void gpuval_live_add(struct gpuval_device *device);

/**
 * Calls @visit for each device, which is not destroyed meanwhile. No lock is held. What
 * that calls may call this again, in the same thread.
 */
void gpuval_live_visit(void (*visit)(struct gpuval_device *device));

/** Arguments that a shader has written since the last barrier; @claim may name it. */
void gpuval_device_report_indirect(struct gpuval_device *device,
                                   const struct gpuval_indirect_read *read, uint64_t claim);

#ifdef __cplusplus
}
#endif

#endif
