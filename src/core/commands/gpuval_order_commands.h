/* SPDX-License-Identifier: MIT */

/* Order between commands, for the checks `sync` and `race`: an observer of commands hands barriers
 * and events on to what keeps track of order (gpuval_submits.h).
 */

#ifndef GPUVAL_ORDER_COMMANDS_H
#define GPUVAL_ORDER_COMMANDS_H

#include "core/order/gpuval_dependency.h"
#include "gpuval_commands.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_order_commands;
struct gpuval_submits;

/** What is visited is what that queue executes. */
struct gpuval_order_commands *gpuval_order_commands_create(void *mem_ctx,
                                                           struct gpuval_submits *submits,
                                                           unsigned queue, uint32_t queue_family,
                                                           const struct gpuval_places *places);

/** For a struct gpuval_order_commands. Behind observers that ask what is ordered before a barrier. */
extern const struct gpuval_command_observer gpuval_order_observer;

#ifdef __cplusplus
}
#endif

#endif
