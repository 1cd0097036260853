/* SPDX-License-Identifier: MIT */

/* ray: acceleration structures, which the queue's thread builds. */

#ifndef GPUVAL_LVP_STRUCTURES_H
#define GPUVAL_LVP_STRUCTURES_H

struct gpuval_commands;
struct gpuval_lvp;
struct gpuval_lvp_structures;
struct vk_cmd_queue_entry;

/** Observes @commands. */
struct gpuval_lvp_structures *gpuval_lvp_structures_create(void *mem_ctx, struct gpuval_lvp *gpuval,
                                                           struct gpuval_commands *commands);

/**
 * The command that has been visited last, on the queue's thread. Returns what is to be executed in
 * its place: itself, or where that is unsafe another one, which lives until the next call.
 */
struct vk_cmd_queue_entry *gpuval_lvp_structures_replace(struct gpuval_lvp_structures *structures,
                                                         struct vk_cmd_queue_entry *command);

#endif
