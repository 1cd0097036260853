/* SPDX-License-Identifier: MIT */

/* debug_utils labels of a queue: which are open when a command buffer is submitted.
 *
 * The queue's thread executes it later, and the runtime joins submits. So command buffers
 * are counted, where they are submitted and where they are executed.
 */

#ifndef GPUVAL_QUEUE_LABELS_H
#define GPUVAL_QUEUE_LABELS_H

#include "vk_command_buffer.h"
#include "vk_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Open labels, from outside to inside */
struct gpuval_labels {
   uint32_t count;
   char names[]; /* one after the other, each with its NUL */
};

/** Bytes of a struct gpuval_labels of those, and its contents. */
size_t gpuval_labels_size(const struct util_dynarray *labels);
void gpuval_labels_write(struct gpuval_labels *to, const struct util_dynarray *labels);

/** Whether @labels, which may be NULL, are those. */
bool gpuval_labels_are(const struct gpuval_labels *labels, const struct util_dynarray *open);

bool gpuval_labels_equal(const struct gpuval_labels *a, const struct gpuval_labels *b);

/** The first @outer_count of @outer and, inside of them, of @inner. Of none: NULL, and so may both
 * be. */
struct gpuval_labels *gpuval_labels_join(void *mem_ctx, const struct gpuval_labels *outer,
                                         uint32_t outer_count, const struct gpuval_labels *inner,
                                         uint32_t inner_count);

/** How many @labels are, which may be NULL. */
static inline uint32_t
gpuval_labels_count(const struct gpuval_labels *labels)
{
   return labels ? labels->count : 0;
}

/* A region may begin in one command buffer and end in another one of its queue. */

/** Of those that are open in a command buffer, how many stay so behind it? */
uint32_t gpuval_labels_regions(const struct vk_command_buffer *cmd_buffer);
/** Is what vkCmdEndDebugUtilsLabelEXT() is about to end open since an earlier one? */
bool gpuval_labels_ends_earlier(const struct vk_command_buffer *cmd_buffer);
/** vkCmdInsertDebugUtilsLabelEXT(): of the runtime's, none would ever go. */
void gpuval_labels_insert(struct vk_command_buffer *cmd_buffer, const VkDebugUtilsLabelEXT *label);

/** Regions that command buffers have left open, of one queue. NULL: none */
struct gpuval_labels *gpuval_labels_leave(void *mem_ctx, struct gpuval_labels *left,
                                          const struct gpuval_labels *labels, uint32_t regions);

/** Of one queue. Any thread may submit, one executes. */
struct gpuval_queue_labels;

struct gpuval_queue_labels *gpuval_queue_labels_create(void *mem_ctx);
void gpuval_queue_labels_destroy(struct gpuval_queue_labels *labels);

/** So many command buffers are about to be submitted; and were not. */
void gpuval_queue_labels_submit(struct gpuval_queue_labels *labels, const struct vk_queue *queue,
                                uint32_t count);
void gpuval_queue_labels_failed(struct gpuval_queue_labels *labels, uint32_t count);

/**
 * The next command buffer is executed. Returns the labels that were open when it was
 * submitted, or NULL. They live until end_submit.
 */
const struct gpuval_labels *gpuval_queue_labels_execute(struct gpuval_queue_labels *labels);
void gpuval_queue_labels_end_submit(struct gpuval_queue_labels *labels);

#ifdef __cplusplus
}
#endif

#endif
