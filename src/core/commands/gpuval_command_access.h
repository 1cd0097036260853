/* SPDX-License-Identifier: MIT */

/* One access of a command to memory: which part of an image, which bytes of a buffer or at an
 * address, in which pipeline stage, and how, in the terms of Vulkan's "Synchronization and Cache
 * Control".
 */

#ifndef GPUVAL_COMMAND_ACCESS_H
#define GPUVAL_COMMAND_ACCESS_H

#include <vulkan/vulkan_core.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vk_buffer;
struct vk_image;
struct vk_image_view;

struct gpuval_command_access {
   /* One stage and one kind of access. Where Vulkan allows a program to synchronize an access in
    * several ways, all of them: one that is in a dependency's scopes is enough.
    */
   VkPipelineStageFlags2 stages;
   VkAccessFlags2 access;

   /* A part of an image, */
   const struct vk_image *image;
   VkImageSubresourceRange range;
   bool has_box; /* else all texels of it */
   int32_t begin[3], end[3];

   /* or bytes of a buffer, */
   const struct vk_buffer *buffer;
   uint64_t offset;

   /* or, without either, what is at an address. */
   VkDeviceAddress address;

   uint64_t size; /* in bytes. VK_WHOLE_SIZE: how much there is at the address is not known */
   bool has_gaps; /* not all of the bytes are accessed, */
   /* but rows of so many bytes, whose beginnings are so far apart. 0: it is not known which */
   uint64_t row_size, row_stride, num_rows;
};

/** The kinds of access that write. */
#define GPUVAL_WRITE_ACCESSES                                                                      \
   (VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT |                        \
    VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT |              \
    VK_ACCESS_2_HOST_WRITE_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT |                                    \
    VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT | VK_ACCESS_2_VIDEO_DECODE_WRITE_BIT_KHR |                \
    VK_ACCESS_2_VIDEO_ENCODE_WRITE_BIT_KHR | VK_ACCESS_2_TRANSFORM_FEEDBACK_WRITE_BIT_EXT |        \
    VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT |                                         \
    VK_ACCESS_2_COMMAND_PREPROCESS_WRITE_BIT_EXT |                                                 \
    VK_ACCESS_2_ACCELERATION_STRUCTURE_WRITE_BIT_KHR)

static inline bool
gpuval_access_is_write(const struct gpuval_command_access *access)
{
   return access->access & GPUVAL_WRITE_ACCESSES;
}

/** Called for each access of a command, in no particular order. */
typedef void (*gpuval_access_function)(void *data, const struct gpuval_command_access *access);

/** Returns the one level that @layers has as a range. */
VkImageSubresourceRange gpuval_layers_range(const VkImageSubresourceLayers *layers);

/* What the host does itself (VK_EXT_host_image_copy), with stage HOST */

void gpuval_visit_copy_memory_to_image(const VkCopyMemoryToImageInfoEXT *info,
                                       gpuval_access_function function, void *data);
void gpuval_visit_copy_image_to_memory(const VkCopyImageToMemoryInfoEXT *info,
                                       gpuval_access_function function, void *data);
void gpuval_visit_host_copy_image(const VkCopyImageToImageInfoEXT *info,
                                  gpuval_access_function function, void *data);

/**
 * Returns the bytes of the results of one query; VK_WHOLE_SIZE for types of queries that are not
 * known here.
 */
uint64_t gpuval_query_size(VkQueryType type, VkQueryPipelineStatisticFlags statistics,
                           VkQueryResultFlags flags);

#ifdef __cplusplus
}
#endif

#endif
