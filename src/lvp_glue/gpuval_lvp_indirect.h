/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_LVP_INDIRECT_H
#define GPUVAL_LVP_INDIRECT_H

#include <stdint.h>

struct lvp_device;
struct vk_cmd_queue_entry;

/** Structs that a command reads its arguments from. */
struct gpuval_lvp_arguments {
   uint64_t address;
   uint32_t size; /* of a struct */
   uint32_t stride;
   uint32_t count;
};

#define GPUVAL_LVP_MAX_ARGUMENTS 2

/**
 * What the command reads when it is executed, and returns how many of these there
 * are; 0 for a command with direct arguments. On the queue's thread.
 */
unsigned gpuval_lvp_get_arguments(struct lvp_device *device,
                                  const struct vk_cmd_queue_entry *command,
                                  struct gpuval_lvp_arguments out[GPUVAL_LVP_MAX_ARGUMENTS]);

#endif
