/* SPDX-License-Identifier: MIT */

/* What only lavapipe can say of commands. */

#ifndef GPUVAL_LVP_FACTS_H
#define GPUVAL_LVP_FACTS_H

#include "gpuval/src/core/commands/gpuval_commands.h"
#include "gpuval/src/core/inputs/gpuval_indirect.h"

struct lvp_device;

extern const struct gpuval_command_driver gpuval_lvp_command_driver;

/** Buffers of the device, for the queue's thread. */
struct gpuval_host_memory gpuval_lvp_host_memory(struct lvp_device *device,
                                                 struct gpuval_device *gpuval);

#endif
