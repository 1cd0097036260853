/* SPDX-License-Identifier: MIT */

/* What the application knew and asked for when it submitted work.
 *
 * Whether a submit is ordered after an earlier one depends on what the host had
 * waited for at the time of the call and on the semaphores that the submit waits
 * for. A queue executes later, on its own thread, and perhaps several submits at
 * once: so the calls are noted here, numbered, and read command buffer by command
 * buffer when the queue executes them.
 *
 * One for a device: fences and semaphores are known to all of its queues. Any
 * thread may call any of these functions; the caller sees to it that the submits
 * of a queue are noted in the order in which they are made.
 */

#ifndef GPUVAL_SUBMITS_H
#define GPUVAL_SUBMITS_H

#include "gpuval_sync.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPUVAL_MAX_QUEUES 16

struct gpuval_submits;

/** Queues are numbers from 0 on. */
struct gpuval_submits *gpuval_submits_create(unsigned num_queues);
void gpuval_submits_destroy(struct gpuval_submits *submits);

/* A submit (one VkSubmitInfo2), in this order, before the runtime gets it.
 * @object is the handle of a semaphore or fence, @value that of a timeline
 * semaphore, and 0 for anything else.
 */
void gpuval_submits_begin(struct gpuval_submits *submits, unsigned queue);
void gpuval_submits_wait(struct gpuval_submits *submits, unsigned queue, uint64_t object,
                         uint64_t value, VkPipelineStageFlags2 stages);
void gpuval_submits_commands(struct gpuval_submits *submits, unsigned queue, VkCommandBuffer cmd);
void gpuval_submits_signal(struct gpuval_submits *submits, unsigned queue, uint64_t object,
                           uint64_t value, VkPipelineStageFlags2 stages);

/** All of these for one call, and its fence, which may be null. */
void gpuval_submits_note(struct gpuval_submits *submits, unsigned queue, uint32_t count,
                         const VkSubmitInfo2 *infos, VkFence fence);
void gpuval_submits_note_sparse(struct gpuval_submits *submits, unsigned queue, uint32_t count,
                                const VkBindSparseInfo *infos, VkFence fence);

/** The number of the queue's last submit, and: nothing after that one was accepted. */
uint64_t gpuval_submits_last(struct gpuval_submits *submits, unsigned queue);
void gpuval_submits_failed(struct gpuval_submits *submits, unsigned queue, uint64_t last);

/** The host signals a timeline semaphore: for it all that the host has seen. */
void gpuval_submits_host_signal(struct gpuval_submits *submits, uint64_t object, uint64_t value);
/** The host has seen that @object was signalled, or has reached @value. */
void gpuval_submits_host_saw(struct gpuval_submits *submits, uint64_t object, uint64_t value);
/** The host has seen the end of everything it had submitted, to a queue or to all. */
void gpuval_submits_host_saw_queue(struct gpuval_submits *submits, unsigned queue);
void gpuval_submits_host_saw_all(struct gpuval_submits *submits);

/**
 * @object is about to be destroyed, is reset, or will be signalled by somebody that
 * we do not know. What is not known is taken to be signalled after everything that
 * has been submitted.
 */
void gpuval_submits_forget(struct gpuval_submits *submits, uint64_t object);

/**
 * The queue is about to execute @cmd: what has been noted up to there goes into
 * @sync. Returns the number of the submit; *new_epoch says whether one began.
 */
uint64_t gpuval_submits_execute(struct gpuval_submits *submits, unsigned queue, VkCommandBuffer cmd,
                                struct gpuval_sync *sync, bool *new_epoch);

#ifdef __cplusplus
}
#endif

#endif
