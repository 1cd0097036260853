/* SPDX-License-Identifier: MIT */

/* The layer of entry points that checks need of any driver's device (gpuval_entrypoints.h): calls
 * that submit work, calls after which the host knows that work has ended, those that create and
 * destroy objects, and the one that names them. A driver may have a layer of its own above it, in
 * the form of Mesa's layers: one entry point a command, which calls the checks and then the
 * driver's entry point in gpuval_hooks::next. Where it has one that this layer has, too, it calls
 * what is declared here.
 *
 * What the host has seen is noted after the call below has returned and before the
 * application learns of it. What is less than exact orders too much: hazards are
 * missed, and none is false.
 */

#ifndef GPUVAL_HOOKS_H
#define GPUVAL_HOOKS_H

#include "core/descriptors/gpuval_objects.h"
#include "core/order/gpuval_submits.h"

#include "vk_device.h"
#include "vk_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vk_command_buffer;
struct vk_image;
struct vk_image_view;

/** A driver's: lives as long as the device. Where vk_device::gpuval points. */
struct gpuval_hooks {
   struct vk_device_dispatch_table next; /* the driver's entry points */
   struct gpuval_submits *submits;       /* NULL: nobody asks for order */
   struct gpuval_objects *objects;       /* NULL: nobody asks for descriptors */
   struct vk_queue *queues[GPUVAL_MAX_QUEUES];
   unsigned num_queues;
   struct gpuval_queue_labels *labels[GPUVAL_MAX_QUEUES]; /* of each */

   /* Whenever the host may have learned that work has ended; may be NULL */
   void (*waited)(void *data);
   void *data;

   /* An image has got its memory, or is about to be destroyed; may be NULL */
   void (*bound_image)(struct vk_image *image);
   void (*destroyed_image)(struct vk_image *image);
};

/**
 * Takes the device's dispatch table as what lies below. @device: complete, with its queues.
 * @with_order: makes hooks->submits. The driver has set all that it is to say.
 */
void gpuval_hooks_init(struct gpuval_hooks *hooks, struct vk_device *device, bool with_order);
/** Puts the layer into the dispatch table, below @driver, which may be NULL. */
void gpuval_hooks_install(const struct gpuval_hooks *hooks, struct vk_device *device,
                          const struct vk_device_entrypoint_table *driver);
void gpuval_hooks_finish(struct gpuval_hooks *hooks);

/* For drivers' entry points; without hooks->objects they do nothing. */

void gpuval_hooks_add_object(const struct gpuval_hooks *hooks, struct vk_object_base *object,
                             struct vk_object_base *parent);
void gpuval_hooks_add_image_view(const struct gpuval_hooks *hooks, struct vk_image_view *view);
/** @object may be NULL. */
void gpuval_hooks_remove_object(const struct gpuval_hooks *hooks, struct vk_object_base *object);
/** Images have got their memory. */
void gpuval_hooks_bind_images(const struct gpuval_hooks *hooks, uint32_t count,
                              const VkBindImageMemoryInfo *infos);

/* A barrier of a render pass as the application has it */
struct gpuval_pass_barrier {
   VkDependencyInfo info;
   void *mem_ctx; /* its arrays, or NULL: whoever has it frees it by ralloc_free() */
};

/**
 * In CmdPipelineBarrier2: returns @info, or, where the runtime has made that of a render pass, in
 * @barrier what the pass says of dependencies. For those who look at order, and for drivers whose
 * barriers wait for everything.
 */
const VkDependencyInfo *gpuval_hooks_complete_barrier(const struct vk_command_buffer *cmd_buffer,
                                                      const VkDependencyInfo *info,
                                                      struct gpuval_pass_barrier *barrier);

/** Number of @queue in hooks->submits. */
unsigned gpuval_hooks_queue(const struct gpuval_hooks *hooks, const struct vk_queue *queue);

#ifdef __cplusplus
}
#endif

#endif
