/* SPDX-License-Identifier: MIT */

/* The checks `indirect` and `vertex` on lavapipe: which shaders are bound, and what is executed in
 * the place of commands that read what they must not. The rest is
 * core/inputs/gpuval_input_commands.h.
 *
 * On the queue's thread only.
 */

#ifndef GPUVAL_LVP_INPUTS_H
#define GPUVAL_LVP_INPUTS_H

struct gpuval_commands;
struct gpuval_host_memory;
struct gpuval_lvp_inputs;
struct lvp_device;
struct vk_cmd_queue_entry;

/** Observes @commands. */
struct gpuval_lvp_inputs *gpuval_lvp_inputs_create(void *mem_ctx, struct lvp_device *device,
                                                   const struct gpuval_host_memory *memory,
                                                   struct gpuval_commands *commands);
void gpuval_lvp_inputs_destroy(struct gpuval_lvp_inputs *inputs);

/** A primary command buffer begins: nothing is bound. */
void gpuval_lvp_inputs_begin(struct gpuval_lvp_inputs *inputs);

/**
 * The command that has been visited last. Returns what is to be executed in its place: itself, or
 * where that is unsafe another one, which lives until the next call.
 */
struct vk_cmd_queue_entry *gpuval_lvp_inputs_replace(struct gpuval_lvp_inputs *inputs,
                                                     struct vk_cmd_queue_entry *command);

#endif
