/* SPDX-License-Identifier: MIT */

/* Between the files of this folder: what describes the accesses of one kind of command. */

#ifndef GPUVAL_COMMAND_DESCRIBE_H
#define GPUVAL_COMMAND_DESCRIBE_H

#include "gpuval_command_access.h"
#include "gpuval_commands.h"

/** Where accesses go to while a command is described. */
struct gpuval_access_sink {
   gpuval_access_function function;
   void *data;
};

/** Describes @size bytes of a buffer, as far as it has them; VK_WHOLE_SIZE: all from @offset on. */
void gpuval_describe_buffer(const struct gpuval_access_sink *sink, VkPipelineStageFlags2 stages,
                            VkAccessFlags2 access, VkBuffer buffer, uint64_t offset, uint64_t size,
                            bool has_gaps);
/** Describes @size bytes at an address; nothing at address 0. */
void gpuval_describe_address(const struct gpuval_access_sink *sink, VkPipelineStageFlags2 stages,
                             VkAccessFlags2 access, VkDeviceAddress address, uint64_t size,
                             bool has_gaps);

/* Each describes one kind of command. */

void gpuval_describe_transfer(const struct gpuval_access_sink *sink,
                              const struct gpuval_command_driver *driver,
                              const struct vk_cmd_queue_entry *command);
void gpuval_describe_structure(const struct gpuval_access_sink *sink,
                               const struct vk_cmd_queue_entry *command);
/** Arguments, counts, counters and shader binding tables, and what generated commands are made of. */
void gpuval_describe_action(const struct gpuval_access_sink *sink,
                            const struct vk_cmd_queue_entry *command);
/** Attachments that are not drawn to. */
void gpuval_describe_rendering(const struct gpuval_access_sink *sink,
                               const struct vk_cmd_queue_entry *command);
void gpuval_describe_video(const struct gpuval_access_sink *sink,
                           const struct vk_cmd_queue_entry *command);

#endif
