/* SPDX-License-Identifier: MIT */

/* The check `race`, what commands without shaders use: an observer of commands. What it
 * hears of one is a step, which a queue that executes commands when they are visited takes at once,
 * and a driver that records them keeps until then.
 */

#ifndef GPUVAL_RACE_COMMANDS_H
#define GPUVAL_RACE_COMMANDS_H

#include "core/commands/gpuval_commands.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_race_commands;
struct gpuval_race_step;

/** Where steps go to. */
struct gpuval_race_sink {
   /* Returns the id of the command that is being visited, for reports. */
   uint32_t (*command_id)(void *data);
   /* One for each command that is visited. @step is gone when it returns. */
   void (*step)(void *data, const struct gpuval_race_step *step);
   void *data;
};

/** @with_buffers: `sync` does not look at bytes that transfers access. @sink is copied. */
struct gpuval_race_commands *gpuval_race_commands_create(void *mem_ctx, bool with_buffers,
                                                         const struct gpuval_race_sink *sink);

/** For a struct gpuval_race_commands */
extern const struct gpuval_command_observer gpuval_race_observer;

#ifdef __cplusplus
}
#endif

#endif
