/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_LVP_INDIRECT_H
#define GPUVAL_LVP_INDIRECT_H

#include <vulkan/vulkan_core.h>

#include "gpuval/src/core/gpuval_arguments.h"

struct gpuval_device;
struct lvp_device;
struct vk_cmd_queue_entry;

/** What a command reads its arguments from. */
struct gpuval_lvp_indirect {
   struct gpuval_arguments arguments;

   /* How many there are, where that is read from a buffer */
   bool has_count;
   struct gpuval_command_range count_range;
   uint64_t count_offset;
   const uint32_t *count; /* NULL: it is not in the range, arguments.count is 0 */
};

/**
 * False for a command with direct arguments. Work that writes the arguments has been
 * done when this returns. On the queue's thread.
 */
bool gpuval_lvp_get_indirect(struct lvp_device *device, struct gpuval_device *gpuval,
                             const struct vk_cmd_queue_entry *command,
                             struct gpuval_lvp_indirect *indirect);

/** A buffer from @offset on, of @size bytes or VK_WHOLE_SIZE; VK_NULL_HANDLE has none. */
struct gpuval_command_range gpuval_lvp_get_range(VkBuffer buffer, uint64_t offset, uint64_t size,
                                                 const char *type);

#endif
