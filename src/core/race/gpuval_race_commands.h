/* SPDX-License-Identifier: MIT */

/* The check `race`, what commands without shaders use: an observer of commands. */

#ifndef GPUVAL_RACE_COMMANDS_H
#define GPUVAL_RACE_COMMANDS_H

#include "core/commands/gpuval_commands.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_race_commands;
struct gpuval_race_queue;

/** Returns the id of the command that is being visited, for reports. */
typedef uint32_t (*gpuval_command_id_function)(void *data);

/**
 * What is visited is what @queue executes. @with_buffers: `sync` does not look at bytes that
 * transfers access.
 */
struct gpuval_race_commands *
gpuval_race_commands_create(void *mem_ctx, struct gpuval_race_queue *queue, bool with_buffers,
                            gpuval_command_id_function command_id, void *data);

/** For a struct gpuval_race_commands */
extern const struct gpuval_command_observer gpuval_race_observer;

#ifdef __cplusplus
}
#endif

#endif
