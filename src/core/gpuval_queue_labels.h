/* SPDX-License-Identifier: MIT */

/* debug_utils labels of a queue: which are open when a command buffer is submitted.
 *
 * The queue's thread executes it later, and the runtime joins submits. So command buffers
 * are counted, where they are submitted and where they are executed.
 */

#ifndef GPUVAL_QUEUE_LABELS_H
#define GPUVAL_QUEUE_LABELS_H

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
