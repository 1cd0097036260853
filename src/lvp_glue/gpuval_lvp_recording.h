/* SPDX-License-Identifier: MIT */

/* GPUVAL_BACKTRACE: the application's calls, kept with each command that it records. They are in
 * vk_cmd_queue_entry::gpuval_calls. The entry points are generated, one for each command.
 */

#ifndef GPUVAL_LVP_RECORDING_H
#define GPUVAL_LVP_RECORDING_H

#include "gpuval/src/compat/gpuval_lvp_driver.h"

#include "gpuval/src/base/gpuval_backtrace.h"

/** What struct gpuval_lvp begins with: the entry points that record commands. */
struct gpuval_lvp_below_recording {
   struct vk_device_dispatch_table next;
};

struct gpuval_lvp_recording {
   const struct vk_device_dispatch_table *next;
   const struct list_head *commands, *last; /* of the command buffer, before it is recorded */
};

static inline struct gpuval_lvp_recording
gpuval_lvp_begin_recording(VkCommandBuffer handle)
{
   VK_FROM_HANDLE(lvp_cmd_buffer, cmd_buffer, handle);
   const struct gpuval_lvp_below_recording *below =
      (const void *)lvp_cmd_buffer_device(cmd_buffer)->gpuval;
   const struct list_head *commands = &cmd_buffer->vk.cmd_queue.cmds;

   return (struct gpuval_lvp_recording){&below->next, commands, commands->prev};
}

/* Mesa may make several commands of one, or record another one in its place. */
static inline void
gpuval_lvp_end_recording(const struct gpuval_lvp_recording *recording, uint32_t calls)
{
   for (struct list_head *link = recording->commands->prev;
        link != recording->last && link != recording->commands; link = link->prev) {
      struct vk_cmd_queue_entry *command = list_entry(link, struct vk_cmd_queue_entry, cmd_link);
      if (!command->gpuval_calls)
         command->gpuval_calls = calls;
   }
}

/** Puts the entry points into @table, which struct gpuval_lvp_below_recording has a copy of. */
void gpuval_lvp_install_recording(struct vk_device_dispatch_table *table);

#endif
