/* SPDX-License-Identifier: MIT */

/* The check `init` on lavapipe: what commands and the host write, and attachments that are
 * loaded. Shaders look for themselves, where gpuval_lvp_written_look() says so.
 */

#ifndef GPUVAL_LVP_WRITTEN_H
#define GPUVAL_LVP_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>

struct gpuval_lvp;
struct gpuval_lvp_written;
struct gpuval_written;
struct lp_descriptor;
struct lvp_device;
struct vk_cmd_queue_entry;

/** Puts entry points of its own into the device's table. */
struct gpuval_lvp_written *gpuval_lvp_written_create(void *mem_ctx, struct lvp_device *device,
                                                     struct gpuval_lvp *gpuval,
                                                     struct gpuval_written *written);

/* On the queue's thread */

/** A command buffer begins, or the last one has ended; nothing runs. */
void gpuval_lvp_written_idle(struct gpuval_lvp_written *written);
/** Before it is executed. @is_draw: may write attachments. */
void gpuval_lvp_written_command(struct gpuval_lvp_written *written,
                                const struct vk_cmd_queue_entry *command, bool is_draw);
/**
 * Not all is written that @descriptor leads to. @required: GPUVAL_OFFERS_*, the type. @is_3d:
 * the view is, and so has no layers.
 */
bool gpuval_lvp_written_look(struct gpuval_lvp_written *written,
                             const struct lp_descriptor *descriptor, uint32_t required, bool is_3d);

#endif
