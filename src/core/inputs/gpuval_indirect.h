/* SPDX-License-Identifier: MIT */

/* Where an indirect command reads its arguments. Hosts that execute commands themselves can read
 * them, too.
 */

#ifndef GPUVAL_INDIRECT_H
#define GPUVAL_INDIRECT_H

#include <vulkan/vulkan_core.h>

#include "gpuval_arguments.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_device;
struct vk_buffer;
struct vk_cmd_queue_entry;

/** Memory that commands read. Its addresses are the host's where it has finish_writes(). */
struct gpuval_host_memory {
   struct gpuval_device *device;

   /* Returns the address of a buffer; 0: it has no memory. */
   uint64_t (*find_buffer)(const struct vk_buffer *buffer);
   /* Waits for work that has been executed and may write the buffer. Returns false if it cannot be
    * read. NULL: the host reads nothing, and as many arguments are described as there may be.
    */
   bool (*finish_writes)(void *data, const struct vk_buffer *buffer);
   void *data;
};

/** What a command reads its arguments from */
struct gpuval_indirect {
   struct gpuval_arguments arguments;

   /* How many there are, where that is read from a buffer */
   bool has_count;
   struct gpuval_command_range count_range;
   uint64_t count_offset;
   const uint32_t *count; /* NULL: it is not in the range, arguments.count is 0 */
};

/**
 * Returns false for a command with direct arguments. Work that writes the arguments has been done
 * when this returns.
 */
bool gpuval_get_indirect(const struct gpuval_host_memory *memory,
                         const struct vk_cmd_queue_entry *command,
                         struct gpuval_indirect *indirect);

/**
 * Does conditional rendering discard what is about to be executed? As drivers decide it when they
 * execute the command. @condition: NULL where there is none
 */
bool gpuval_is_discarded(const struct gpuval_host_memory *memory,
                         const VkConditionalRenderingBeginInfoEXT *condition);

/** A buffer from @offset on, of @size bytes or VK_WHOLE_SIZE; VK_NULL_HANDLE has none. */
struct gpuval_command_range gpuval_get_buffer_range(const struct gpuval_host_memory *memory,
                                                    VkBuffer buffer, uint64_t offset, uint64_t size,
                                                    const char *type);

#ifdef __cplusplus
}
#endif

#endif
