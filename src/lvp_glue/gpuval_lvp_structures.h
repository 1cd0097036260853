/* SPDX-License-Identifier: MIT */

/* ray: acceleration structures, which the queue's thread builds. */

#ifndef GPUVAL_LVP_STRUCTURES_H
#define GPUVAL_LVP_STRUCTURES_H

struct gpuval_lvp;
struct gpuval_lvp_structures;
struct vk_cmd_queue_entry;

struct gpuval_lvp_structures *gpuval_lvp_structures_create(void *mem_ctx,
                                                           struct gpuval_lvp *gpuval);

/**
 * The command that comes next, on the queue's thread. Returns what is to be executed in its
 * place: itself, or where that is unsafe another one, which lives until the next call.
 */
struct vk_cmd_queue_entry *gpuval_lvp_structures_check(struct gpuval_lvp_structures *structures,
                                                       struct vk_cmd_queue_entry *command);

#endif
