/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_executions.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/ralloc.h"

struct gpuval_lvp_executions {
   struct util_dynarray stack;        /* struct gpuval_lvp_execution, the primary one first */
   const struct gpuval_labels *queue; /* of the queue, when the primary was submitted */
   struct gpuval_labels *left;        /* open since earlier command buffers, or NULL */
   void *joined;                      /* labels that commands of this submit refer to */
};

struct gpuval_lvp_executions *
gpuval_lvp_executions_create(void *mem_ctx)
{
   struct gpuval_lvp_executions *executions = rzalloc(mem_ctx, struct gpuval_lvp_executions);

   util_dynarray_init(&executions->stack, executions);
   executions->joined = ralloc_context(executions);
   return executions;
}

static struct gpuval_lvp_execution *
get(const struct gpuval_lvp_executions *executions, unsigned level)
{
   return util_dynarray_element(&executions->stack, struct gpuval_lvp_execution, level);
}

static unsigned
num_levels(const struct gpuval_lvp_executions *executions)
{
   return util_dynarray_num_elements(&executions->stack, struct gpuval_lvp_execution);
}

static void
set_primary_outer(struct gpuval_lvp_executions *executions)
{
   const struct gpuval_labels *queue = executions->queue, *left = executions->left;
   struct gpuval_lvp_execution *primary = get(executions, 0);

   primary->joined = NULL;
   primary->outer = left ? gpuval_labels_join(executions->joined, queue, gpuval_labels_count(queue),
                                              left, left->count)
                         : queue;
}

static void
end_primary(struct gpuval_lvp_executions *executions)
{
   if (!num_levels(executions))
      return;

   const struct gpuval_lvp_labels *labels = get(executions, 0)->labels;
   if (labels)
      executions->left =
         gpuval_labels_leave(executions, executions->left, &labels->open, labels->regions);
   executions->stack.size = 0;
}

void
gpuval_lvp_executions_begin(struct gpuval_lvp_executions *executions,
                            const struct lvp_cmd_buffer *cmd_buffer,
                            const struct gpuval_labels *labels)
{
   const struct gpuval_lvp_execution primary = {.cmd_buffer = cmd_buffer};

   end_primary(executions);
   util_dynarray_append_typed(&executions->stack, struct gpuval_lvp_execution, primary);
   executions->queue = labels;
   set_primary_outer(executions);
}

const struct lvp_cmd_buffer *
gpuval_lvp_executions_primary(const struct gpuval_lvp_executions *executions)
{
   return get(executions, 0)->cmd_buffer;
}

/* Commands find their labels equal when they are the same ones. */
static const struct gpuval_labels *
labels_inside(struct gpuval_lvp_executions *executions, struct gpuval_lvp_execution *execution)
{
   const struct gpuval_labels *outer = execution->outer;
   const struct gpuval_labels *own = execution->labels ? &execution->labels->open : NULL;

   if (!gpuval_labels_count(own))
      return outer;
   if (!execution->joined)
      execution->joined =
         gpuval_labels_join(executions->joined, outer, gpuval_labels_count(outer), own, own->count);
   return execution->joined;
}

static bool
is_of(const struct lvp_cmd_buffer *cmd_buffer, const struct list_head *commands)
{
   return commands == &cmd_buffer->vk.cmd_queue.cmds;
}

/* Those without a command are not seen. */
static const struct lvp_cmd_buffer *
next_secondary(struct gpuval_lvp_execution *execution, const struct list_head *commands)
{
   const struct vk_cmd_queue_entry *execute = execution->execute;
   uint32_t count = execute ? execute->u.execute_commands.command_buffer_count : 0;

   for (uint32_t i = execution->next_secondary; i < count; i++) {
      VK_FROM_HANDLE(lvp_cmd_buffer, cmd_buffer, execute->u.execute_commands.command_buffers[i]);
      if (is_of(cmd_buffer, commands)) {
         execution->next_secondary = i + 1;
         return cmd_buffer;
      }
   }
   return NULL;
}

/* The same secondary may be executed by several, or several times. */
static bool
begin_secondary(struct gpuval_lvp_executions *executions, const struct list_head *commands)
{
   for (unsigned level = num_levels(executions); level--;) {
      struct gpuval_lvp_execution *parent = get(executions, level);
      const struct lvp_cmd_buffer *cmd_buffer = next_secondary(parent, commands);
      if (!cmd_buffer)
         continue;

      const struct gpuval_lvp_execution secondary = {
         .cmd_buffer = cmd_buffer,
         .outer = labels_inside(executions, parent),
      };
      executions->stack.size = (level + 1) * sizeof(secondary);
      util_dynarray_append_typed(&executions->stack, struct gpuval_lvp_execution, secondary);
      return true;
   }
   return false;
}

struct gpuval_lvp_execution *
gpuval_lvp_executions_find(struct gpuval_lvp_executions *executions,
                           const struct list_head *commands,
                           const struct vk_cmd_queue_entry *command)
{
   if (commands->next == &command->cmd_link)
      begin_secondary(executions, commands);

   for (unsigned level = num_levels(executions); level--;) {
      struct gpuval_lvp_execution *execution = get(executions, level);
      if (!is_of(execution->cmd_buffer, commands))
         continue;

      executions->stack.size = (level + 1) * sizeof(*execution);
      if (command->type == VK_CMD_EXECUTE_COMMANDS) {
         execution->execute = command;
         execution->next_secondary = 0;
      }
      return execution;
   }
   return NULL;
}

void
gpuval_lvp_executions_label(struct gpuval_lvp_executions *executions,
                            struct gpuval_lvp_execution *execution,
                            const struct gpuval_lvp_labels *labels)
{
   execution->labels = labels;
   execution->joined = NULL;
   if (!labels->ends_earlier || execution != get(executions, 0) || !executions->left)
      return;

   struct gpuval_labels *left = executions->left;
   executions->left = gpuval_labels_join(executions, left, left->count - 1, NULL, 0);
   ralloc_free(left);
   set_primary_outer(executions);
}

void
gpuval_lvp_executions_end_submit(struct gpuval_lvp_executions *executions)
{
   end_primary(executions);
   ralloc_free(executions->joined);
   executions->joined = ralloc_context(executions);
}
