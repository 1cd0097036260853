/* SPDX-License-Identifier: MIT */

/* What commands read before a shader runs: arguments, indices, vertex attributes.
 * The queue's thread reads all of that on lavapipe, so it can be looked at right
 * before. The API's state is kept here once more, since lavapipe's own has lost
 * which buffers it was made of.
 *
 * On the queue's thread only.
 */

#ifndef GPUVAL_LVP_INPUTS_H
#define GPUVAL_LVP_INPUTS_H

#include <stdbool.h>

struct gpuval_command_failure;
struct gpuval_lvp;
struct gpuval_lvp_inputs;
struct lvp_device;
struct vk_cmd_queue_entry;

/** @gpuval: for gpuval_lvp_report(). */
struct gpuval_lvp_inputs *gpuval_lvp_inputs_create(void *mem_ctx, struct lvp_device *device,
                                                   struct gpuval_lvp *gpuval);
void gpuval_lvp_inputs_destroy(struct gpuval_lvp_inputs *inputs);

/** A primary command buffer begins: nothing is bound. */
void gpuval_lvp_inputs_begin(struct gpuval_lvp_inputs *inputs);

/**
 * The command that comes next; @is_generated: it has been made of memory that was looked at
 * before. Returns what is to be executed in its place: itself, or where that is unsafe
 * another one, which lives until the next call.
 */
struct vk_cmd_queue_entry *gpuval_lvp_inputs_check(struct gpuval_lvp_inputs *inputs,
                                                   struct vk_cmd_queue_entry *command,
                                                   bool is_generated);

#endif
