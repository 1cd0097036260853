/* SPDX-License-Identifier: MIT */

/* The command buffers that are being executed: a primary one, and secondary ones inside of
 * it, which may be nested. Whose commands lavapipe executes, and which labels are open.
 * On the queue's thread only.
 */

#ifndef GPUVAL_LVP_EXECUTIONS_H
#define GPUVAL_LVP_EXECUTIONS_H

#include "gpuval/src/compat/gpuval_lvp_driver.h"

#include "gpuval/src/core/gpuval_queue_labels.h"

/** driver_data of a command that says which labels are open from there on */
struct gpuval_lvp_labels {
   bool ends_earlier; /* a region of a command buffer before this one */
   uint32_t regions;  /* of them, what stays open behind the command buffer */
   struct gpuval_labels open;
};

/** One command buffer */
struct gpuval_lvp_execution {
   const struct lvp_cmd_buffer *cmd_buffer;
   int64_t next_index;
   const struct gpuval_labels *outer;      /* open where it is executed, or NULL */
   const struct gpuval_lvp_labels *labels; /* of its own, or NULL */

   const struct gpuval_labels *joined;       /* both, if they have been */
   const struct vk_cmd_queue_entry *execute; /* the last command that executes others */
   uint32_t next_secondary;                  /* of those, the first that has not begun */
};

struct gpuval_lvp_executions;

struct gpuval_lvp_executions *gpuval_lvp_executions_create(void *mem_ctx);

/** A primary one begins. @labels: of the queue, or NULL. */
void gpuval_lvp_executions_begin(struct gpuval_lvp_executions *executions,
                                 const struct lvp_cmd_buffer *cmd_buffer,
                                 const struct gpuval_labels *labels);
const struct lvp_cmd_buffer *
gpuval_lvp_executions_primary(const struct gpuval_lvp_executions *executions);

/** The one whose command that is, which lives until the next call. NULL: it was generated. */
struct gpuval_lvp_execution *gpuval_lvp_executions_find(struct gpuval_lvp_executions *executions,
                                                        const struct list_head *commands,
                                                        const struct vk_cmd_queue_entry *command);

/** A command of those above is executed. */
void gpuval_lvp_executions_label(struct gpuval_lvp_executions *executions,
                                 struct gpuval_lvp_execution *execution,
                                 const struct gpuval_lvp_labels *labels);

/** All that was open in it is over, but for regions that were not ended. */
void gpuval_lvp_executions_end_submit(struct gpuval_lvp_executions *executions);

#endif
