/* SPDX-License-Identifier: MIT */

/* What a command is and what it accesses is said once, where its entry point is called: by an entry
 * of vk_cmd_queue, of which observers hear (core/commands/), right before RADV records it.
 */

#ifndef GPUVAL_RADV_WALK_H
#define GPUVAL_RADV_WALK_H

#include "gpuval_radv_private.h"

#include "gpuval/src/core/commands/gpuval_commands.h"

/** A command buffer that is being recorded. It lives as long as what that has recorded. */
struct gpuval_radv_walk {
   struct radv_cmd_buffer *cmd_buffer;
   struct gpuval_commands *commands;

   /* The command that is visited */
   const char *op; /* in snake case, a constant */
   bool has_id;
   uint32_t command_id;

   bool is_divided;               /* what is recorded are its parts */
   bool awaits_draw;              /* a rendering has begun, and nothing has drawn */
   struct gpuval_radv_init *init; /* gpuval_radv_written_images.c's, or NULL */
};

/** Sets gpuval_radv::visits_commands. When all checks are there. */
void gpuval_radv_init_walk(struct gpuval_radv *gpuval);

/**
 * Command @op is recorded next. Does nothing for a part of another one.
 * GPUVAL_RADV_VISIT() makes the entry, where any check looks at it.
 */
void gpuval_radv_visit_command(struct radv_cmd_buffer *cmd_buffer, const char *op,
                               const struct vk_cmd_queue_entry *command);

/* What follows @op initializes the entry. */
#define GPUVAL_RADV_VISIT(cmd_buffer, op, ...)                                                     \
   do {                                                                                            \
      if (radv_cmd_buffer_device(cmd_buffer)->gpuval->visits_commands) {                           \
         const struct vk_cmd_queue_entry entry = {__VA_ARGS__};                                    \
         gpuval_radv_visit_command(cmd_buffer, op, &entry);                                        \
      }                                                                                            \
   } while (0)

/** The same of vkCmdWaitEvents() or vkCmdWaitEvents2() */
void gpuval_radv_visit_wait(struct radv_cmd_buffer *cmd_buffer, uint32_t count,
                            const VkEvent *events, const VkDependencyInfo *infos);
/**
 * What is recorded until this is false are parts of the command that was visited, and are not. The
 * runtime makes a wait without barriers and a barrier of vkCmdWaitEvents(), which orders what came
 * after the event as well.
 */
void gpuval_radv_divide_command(struct radv_cmd_buffer *cmd_buffer, bool is_divided);
/** Commands draw that have no entry, if they are within a rendering: the first one is visited. */
void gpuval_radv_visit_draw(struct radv_cmd_buffer *cmd_buffer);
/** RADV has recorded the command that was visited. For those that may discard images. */
void gpuval_radv_end_command(struct radv_cmd_buffer *cmd_buffer);

/** Returns the id of the command that is visited, the same for all observers. @walk: the walk */
uint32_t gpuval_radv_visited_id(void *walk);

/* Observers, in the order in which they hear of a command. Each adds itself if it has to. */

void gpuval_radv_observe_init(struct gpuval_radv_walk *walk); /* gpuval_radv_written_images.c */
/** What the command that was visited discards. */
void gpuval_radv_discard_images(struct gpuval_radv_init *init);
void gpuval_radv_observe_race(struct gpuval_radv_walk *walk);       /* gpuval_radv_race.c */
void gpuval_radv_observe_order(struct gpuval_radv_walk *walk);      /* gpuval_radv_sync.c */
void gpuval_radv_observe_structures(struct gpuval_radv_walk *walk); /* gpuval_radv_structures.c */
void gpuval_radv_observe_bytes(struct gpuval_radv_walk *walk);      /* gpuval_radv_bytes.c */

#endif
