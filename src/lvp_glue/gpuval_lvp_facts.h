/* SPDX-License-Identifier: MIT */

/* What only lavapipe can say of commands. */

#ifndef GPUVAL_LVP_FACTS_H
#define GPUVAL_LVP_FACTS_H

#include "gpuval/src/core/commands/gpuval_commands.h"
#include "gpuval/src/core/inputs/gpuval_indirect.h"

struct lvp_device;
struct vk_buffer;

/** The address of a buffer's first byte; 0: it has no memory. */
uint64_t gpuval_lvp_find_buffer(const struct vk_buffer *buffer);

struct gpuval_command_driver gpuval_lvp_command_driver(struct lvp_device *device);

/** Buffers of the device, for the queue's thread. */
struct gpuval_host_memory gpuval_lvp_host_memory(struct lvp_device *device,
                                                 struct gpuval_device *gpuval);

#endif
