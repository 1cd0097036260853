/* SPDX-License-Identifier: MIT */

/* What commands without shaders use of images and buffers: copies, blits, resolves, clears,
 * fills, updates, and renderings by their attachments. For whoever keeps track of it, with any
 * driver whose objects begin with those of Mesa's runtime.
 */

#ifndef GPUVAL_TRANSFERS_H
#define GPUVAL_TRANSFERS_H

#include <vulkan/vulkan_core.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vk_buffer;
struct vk_image;
struct vk_image_view;

/** As a range of one level */
VkImageSubresourceRange gpuval_layers_range(const VkImageSubresourceLayers *layers);

/* Attachments */

struct gpuval_attachment {
   const VkRenderingAttachmentInfo *info;
   const struct vk_image_view *view;
   const char *name;
   VkImageAspectFlags aspects;
   uint32_t number; /* of color attachments, or some other */
   uint32_t layers; /* their number, or with views a bit each */
   bool has_views;
   bool is_whole;   /* the render area is all of it */
   bool is_resolve; /* where the one of @info is resolved to */
};

/** @is_resolve: those that are resolved to, else those that are drawn to */
typedef void (*gpuval_attachment_function)(void *data, const struct gpuval_attachment *attachment);
void gpuval_visit_attachments(const VkRenderingInfo *info, bool is_resolve,
                              gpuval_attachment_function function, void *data);

/** The subresources of it: a function of ranges of one level */
typedef void (*gpuval_range_function)(void *data, const VkImageSubresourceRange *range);
void gpuval_visit_attachment(const struct gpuval_attachment *attachment,
                             gpuval_range_function function, void *data);

/* Transfers */

struct gpuval_transfer {
   bool is_write;

   const struct vk_image *image; /* NULL: it is a buffer */
   VkImageSubresourceRange range;
   bool has_box; /* else all of it */
   int32_t begin[3], end[3];

   const struct vk_buffer *buffer;
   uint64_t offset, size;
   bool has_gaps; /* not all of these bytes */
};

/** Each part of a command: */
typedef void (*gpuval_transfer_function)(void *data, const struct gpuval_transfer *transfer);

void gpuval_visit_clear(VkImage image, uint32_t count, const VkImageSubresourceRange *ranges,
                        gpuval_transfer_function function, void *data);
void gpuval_visit_copy_image(const VkCopyImageInfo2 *info, gpuval_transfer_function function,
                             void *data);
void gpuval_visit_blit_image(const VkBlitImageInfo2 *info, gpuval_transfer_function function,
                             void *data);
void gpuval_visit_resolve_image(const VkResolveImageInfo2 *info, gpuval_transfer_function function,
                                void *data);
void gpuval_visit_copy_buffer_to_image(const VkCopyBufferToImageInfo2 *info,
                                       gpuval_transfer_function function, void *data);
void gpuval_visit_copy_image_to_buffer(const VkCopyImageToBufferInfo2 *info,
                                       gpuval_transfer_function function, void *data);
void gpuval_visit_copy_buffer(const VkCopyBufferInfo2 *info, gpuval_transfer_function function,
                              void *data);
/** vkCmdFillBuffer() and vkCmdUpdateBuffer() */
void gpuval_visit_fill_buffer(VkBuffer buffer, uint64_t offset, uint64_t size,
                              gpuval_transfer_function function, void *data);

/* The same of what the host does */
void gpuval_visit_copy_memory_to_image(const VkCopyMemoryToImageInfoEXT *info,
                                       gpuval_transfer_function function, void *data);
void gpuval_visit_copy_image_to_memory(const VkCopyImageToMemoryInfoEXT *info,
                                       gpuval_transfer_function function, void *data);
void gpuval_visit_host_copy_image(const VkCopyImageToImageInfoEXT *info,
                                  gpuval_transfer_function function, void *data);

/** Bytes of the results of one query; VK_WHOLE_SIZE: as much as there may be. */
uint64_t gpuval_query_size(VkQueryType type, VkQueryPipelineStatisticFlags statistics,
                           VkQueryResultFlags flags);

#ifdef __cplusplus
}
#endif

#endif
