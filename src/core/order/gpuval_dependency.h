/* SPDX-License-Identifier: MIT */

/* Dependencies as the model of order wants them: what is kept of a recorded command,
 * or made for a moment when it is executed.
 */

#ifndef GPUVAL_DEPENDENCY_H
#define GPUVAL_DEPENDENCY_H

#include "gpuval_order_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where resources are, by driver; *address may be 0: not known, or nobody looks at it. */
struct gpuval_places {
   void (*buffer)(VkBuffer buffer, uint64_t *address, uint64_t *size);
   /* All of it or more; NULL: texels of images are not looked at. */
   void (*image)(VkImage image, const VkImageSubresourceRange *range, uint64_t *address,
                 uint64_t *size);
};

/** One VkDependencyInfo of an event that is waited for, or of a pipeline barrier. */
struct gpuval_dependency_part {
   VkEvent event; /* null: of a pipeline barrier */
   uint32_t num_barriers;
   struct gpuval_order_barrier *barriers;
};

/** All of one command, in one piece of memory. */
struct gpuval_dependency {
   /* What events' barriers for images say, once each; without what is behind pNext */
   uint32_t num_images;
   VkImageMemoryBarrier2 *images;
   bool is_for_resources; /* each of its events' infos: for images and buffers only */

   uint32_t num_parts;
   struct gpuval_dependency_part parts[];
};

/**
 * @events: those of a wait, one for each info, or NULL. @queue_family: of the command
 * buffer's pool. @places: not NULL where there are barriers for resources.
 */
size_t gpuval_dependency_size(uint32_t count, const VkEvent *events, const VkDependencyInfo *infos);
void gpuval_dependency_init(struct gpuval_dependency *dependency, uint32_t count,
                            const VkEvent *events, const VkDependencyInfo *infos,
                            uint32_t queue_family, const struct gpuval_places *places);

/** The stages that come before an event, as it is set with @info. */
VkPipelineStageFlags2 gpuval_event_stages(const VkDependencyInfo *info);

/**
 * vkCmdWaitEvents() as vkCmdWaitEvents2() for each of the events; ralloc_free() the
 * result.
 */
VkDependencyInfo *gpuval_upgrade_wait_events(uint32_t event_count, VkPipelineStageFlags src,
                                             VkPipelineStageFlags dst, uint32_t memory_count,
                                             const VkMemoryBarrier *memory, uint32_t buffer_count,
                                             const VkBufferMemoryBarrier *buffers,
                                             uint32_t image_count,
                                             const VkImageMemoryBarrier *images);

#ifdef __cplusplus
}
#endif

#endif
