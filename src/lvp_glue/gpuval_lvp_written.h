/* SPDX-License-Identifier: MIT */

/* The check `init` on lavapipe: what commands and the host write, and attachments that are
 * loaded. Shaders look for themselves, where gpuval_lvp_written_look() says so.
 */

#ifndef GPUVAL_LVP_WRITTEN_H
#define GPUVAL_LVP_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>

struct gpuval_commands;
struct gpuval_lvp;
struct gpuval_lvp_written;
struct gpuval_written;
struct gpuval_written_list;
struct lp_descriptor;
struct lvp_device;

/** Puts entry points of its own into the device's table, and observes @commands. */
struct gpuval_lvp_written *gpuval_lvp_written_create(void *mem_ctx, struct lvp_device *device,
                                                     struct gpuval_lvp *gpuval,
                                                     struct gpuval_written *written,
                                                     struct gpuval_commands *commands);

/* On the queue's thread */

/** What was to become undefined becomes so. Nothing runs. */
void gpuval_lvp_written_flush(struct gpuval_lvp_written *written);
/**
 * Not all is written that @descriptor leads to. @required: GPUVAL_OFFERS_*, the type. @is_3d:
 * the view is, and so has no layers.
 */
bool gpuval_lvp_written_look(struct gpuval_lvp_written *written,
                             const struct lp_descriptor *descriptor, uint32_t required, bool is_3d);
/** gpuval_written_is_list_marked() */
bool gpuval_lvp_written_look_list(struct gpuval_lvp_written *written,
                                  const struct gpuval_written_list *list);

#endif
