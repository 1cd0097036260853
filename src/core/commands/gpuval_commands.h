/* SPDX-License-Identifier: MIT */

/* Walks commands, as vk_cmd_queue describes them, and tells observers what each of them reads and
 * writes, with which other commands it orders them, and what is drawn. README.md of this folder
 * says who does what.
 *
 * For one thread at a time: the queue's, where a driver executes commands on the host, or the one
 * that records or submits.
 */

#ifndef GPUVAL_COMMANDS_H
#define GPUVAL_COMMANDS_H

#include "gpuval_command_access.h"
#include "gpuval_command_attachments.h"
#include "gpuval_command_kinds.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_commands;
struct gpuval_dependency;

/** What only a driver can say. */
struct gpuval_command_driver {
   /* Returns the bytes of the results of one query, gpuval_query_size(). */
   uint64_t (*query_size)(VkQueryPool pool, VkQueryResultFlags flags);

   /* How many bytes transform feedback has captured to @binding by now, its counter included. NULL:
    * that is not known when commands are visited.
    */
   uint64_t (*captured)(void *data, unsigned binding);

   /* Returns where the host finds what is at an address when a command is visited. NULL: it does
    * not, or not yet.
    */
   const void *(*find_memory)(void *data, VkDeviceAddress address);
   void *data;
};

/** A pipeline barrier, or a wait for events. */
struct gpuval_command_dependency {
   const VkDependencyInfo *barrier;        /* NULL: events */
   const struct gpuval_dependency *events; /* with their barriers; NULL: a barrier */

   /* Barriers of images */
   uint32_t num_images;
   const VkImageMemoryBarrier2 *images;
};

/**
 * Callbacks, any of which may be NULL. In the order in which they are called for one command; a
 * command calls what applies to it.
 */
struct gpuval_command_observer {
   /* A primary command buffer begins: nothing is bound, and there is no rendering. */
   void (*reset)(void *data);

   /* The command comes next. */
   void (*begin)(void *data, const struct vk_cmd_queue_entry *command);

   /* It has this access to memory. Not for attachments, nor for shaders and fetch. */
   void (*access)(void *data, const struct gpuval_command_access *access);

   /* A rendering begins: before its attachments are loaded. */
   void (*begin_rendering)(void *data, const VkRenderingInfo *info);
   /* An attachment of the rendering that is being executed is used; by draws once for each. @info
    * is without what is behind pNext, and gone when the rendering has ended.
    */
   void (*attachment)(void *data, const VkRenderingInfo *info,
                      const struct gpuval_attachment *attachment,
                      enum gpuval_attachment_event event);
   /* A rendering ends: after its attachments have been stored. */
   void (*end_rendering)(void *data, const VkRenderingInfo *info);

   void (*dependency)(void *data, const struct gpuval_command_dependency *dependency);
   void (*set_event)(void *data, VkEvent event, VkPipelineStageFlags2 stages);
   void (*reset_event)(void *data, VkEvent event);

   /* All has been said of the command, which is executed now. */
   void (*end)(void *data, const struct vk_cmd_queue_entry *command);
};

struct gpuval_commands *gpuval_commands_create(void *mem_ctx,
                                               const struct gpuval_command_driver *driver);
/** Observers hear of each command in the order in which they are added. */
void gpuval_commands_add_observer(struct gpuval_commands *commands,
                                  const struct gpuval_command_observer *observer, void *data);

/** A primary command buffer begins: nothing is bound, and there is no rendering. */
void gpuval_commands_begin(struct gpuval_commands *commands);
/**
 * The next command of a command buffer. driver_data of vkCmdWaitEvents2() is a struct
 * gpuval_dependency, or NULL.
 */
void gpuval_commands_visit(struct gpuval_commands *commands,
                           const struct vk_cmd_queue_entry *command);

/**
 * Visits the accesses of one command that depend on nothing else: what observers hear of by
 * gpuval_command_observer::access, but for transform feedback. @driver: may be NULL where the
 * command copies no results of queries.
 */
void gpuval_command_visit_accesses(const struct vk_cmd_queue_entry *command,
                                   const struct gpuval_command_driver *driver,
                                   gpuval_access_function function, void *data);

#ifdef __cplusplus
}
#endif

#endif
