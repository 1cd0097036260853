/* SPDX-License-Identifier: MIT */

/* The draws that one command makes, told apart. */

#ifndef GPUVAL_LVP_DRAWS_H
#define GPUVAL_LVP_DRAWS_H

#include "gpuval_lvp_commands.h"

struct gpuval_lvp_draws;

/** Puts itself between lavapipe and the context that its queue draws with. */
struct gpuval_lvp_draws *gpuval_lvp_draws_create(void *mem_ctx, struct lvp_device *device,
                                                 struct gpuval_lvp_commands *commands,
                                                 struct gpuval_device *gpuval);

/**
 * The state of @command has been emitted, which may be a draw: @stages have shaders with
 * checks. @constants is constant buffer 0 of all of them, and stays until the next one.
 */
void gpuval_lvp_draws_emit(struct gpuval_lvp_draws *draws, const struct gpuval_lvp_command *command,
                           uint32_t stages, uint8_t *constants);

#endif
