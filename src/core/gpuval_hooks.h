/* SPDX-License-Identifier: MIT */

/* Entry points of the device that are ours, for all drivers: calls that submit
 * work, calls after which the host knows that work has ended, and the one that names
 * objects. They are put into the device's dispatch table when it is created, and pass
 * on to what was there.
 *
 * What the host has seen is noted after the call below has returned and before the
 * application learns of it. What is less than exact orders too much: hazards are
 * missed, and none is false.
 */

#ifndef GPUVAL_HOOKS_H
#define GPUVAL_HOOKS_H

#include "gpuval_objects.h"
#include "gpuval_submits.h"

#include "vk_device.h"
#include "vk_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A driver's: lives as long as the device. Where vk_device::gpuval points. */
struct gpuval_hooks {
   struct vk_device_dispatch_table next; /* what lies below */
   struct gpuval_submits *submits;       /* NULL: nobody asks for order */
   struct gpuval_objects *objects;       /* NULL: nobody asks for descriptors */
   struct vk_queue *queues[GPUVAL_MAX_QUEUES];
   unsigned num_queues;
   struct gpuval_queue_labels *labels[GPUVAL_MAX_QUEUES]; /* of each */

   /* Whenever the host may have learned that work has ended; may be NULL */
   void (*waited)(void *data);
   void *data;
};

/**
 * @device: complete, with its queues. @with_order: makes hooks->submits and fills
 * it from now on. The driver has set objects, waited and data.
 */
void gpuval_hooks_init(struct gpuval_hooks *hooks, struct vk_device *device, bool with_order);
void gpuval_hooks_finish(struct gpuval_hooks *hooks);

/** Of gpuval_hooks_init(): what creates and destroys objects. */
void gpuval_hooks_init_objects(struct vk_device_dispatch_table *table);

/** Number of @queue in hooks->submits. */
unsigned gpuval_hooks_queue(const struct gpuval_hooks *hooks, const struct vk_queue *queue);

#ifdef __cplusplus
}
#endif

#endif
