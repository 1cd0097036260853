/* SPDX-License-Identifier: MIT */

/* What is known of the commands that have been executed, by their ids. */

#ifndef GPUVAL_LVP_COMMANDS_H
#define GPUVAL_LVP_COMMANDS_H

#include "gpuval/src/compat/gpuval_lvp_driver.h"

#include "gpuval/src/core/gpuval_queue_labels.h"
#include "gpuval/src/gpuval.h"

struct gpuval_lvp_commands;

struct gpuval_lvp_command {
   enum vk_cmd_type type;
   int64_t index;
   uint32_t draw;  /* number of one of several that it makes, from 1; 0: all that it does */
   uint32_t calls; /* vk_cmd_queue_entry::gpuval_calls */

   /* From here on what commands have in common */
   const struct lvp_cmd_buffer *cmd_buffer;
   const struct lvp_cmd_buffer *primary;
   const struct lvp_pipeline *pipeline;
   const struct lvp_shader *shaders[LVP_SHADER_STAGES]; /* where there is no pipeline */
   const struct gpuval_labels *labels[2]; /* open outside of the command buffer, and inside */
   int64_t submission;
};

struct gpuval_lvp_commands *gpuval_lvp_commands_create(void *mem_ctx);
void gpuval_lvp_commands_destroy(struct gpuval_lvp_commands *commands);

/** What kind of command is that? Bits, looked up by the queue's thread only. */
enum {
   GPUVAL_LVP_ACTION = 1 << 0,   /* draws, dispatches or traces */
   GPUVAL_LVP_INDIRECT = 1 << 1, /* and reads its arguments from a buffer */
   GPUVAL_LVP_OTHER = 1 << 2,    /* no action, but something may be wrong with it */
   GPUVAL_LVP_BINDS = 1 << 3,    /* shaders, descriptors or commands: what actions use */
};
unsigned gpuval_lvp_command_kind(struct gpuval_lvp_commands *commands, enum vk_cmd_type type);

/**
 * Gives a command its id, from 0. What it points to must live until end_submit.
 * Costs little for one that has all in common with the one before.
 */
uint32_t gpuval_lvp_commands_add(struct gpuval_lvp_commands *commands,
                                 const struct gpuval_lvp_command *command);
/** Is the command with that id a draw? False, too, if it is too old to be known. */
bool gpuval_lvp_commands_is_draw(struct gpuval_lvp_commands *commands, uint32_t id);
void gpuval_lvp_commands_end_submit(struct gpuval_lvp_commands *commands);

/**
 * As gpuval_device_info::describe_command; of the last 65,536 commands, or more. The
 * strings live until the next call.
 */
bool gpuval_lvp_commands_describe(struct gpuval_lvp_commands *commands, uint32_t id,
                                  mesa_shader_stage stage, struct gpuval_command *out);

#endif
