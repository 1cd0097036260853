/* SPDX-License-Identifier: MIT */

/* What queues execute, and what the application knew and asked for when it submitted
 * that: everything that order comes from, for the model (gpuval_order_model.h).
 *
 * Whether a submit is ordered after an earlier one depends on what the host had
 * waited for at the time of the call and on the semaphores that the submit waits
 * for. A queue executes later, on its own thread, and perhaps several submits at
 * once: so the calls are noted here, numbered, and read command buffer by command
 * buffer when the queue executes them. "Executes" may mean "is handed to the GPU": then
 * what command buffers contain is gone through at that time.
 *
 * One for a device: fences, semaphores and events are known to all of its queues. Any
 * thread may call any of these functions; the caller sees to it that the submits
 * of a queue are noted in the order in which they are made.
 */

#ifndef GPUVAL_SUBMITS_H
#define GPUVAL_SUBMITS_H

#include "gpuval_barriers.h"
#include "gpuval_dependency.h"
#include "gpuval_sync.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPUVAL_MAX_QUEUES 16

struct gpuval_submits;

/** Queues are numbers from 0 on. */
struct gpuval_submits *gpuval_submits_create(unsigned num_queues);
void gpuval_submits_destroy(struct gpuval_submits *submits);

/* Calls of the application */

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

/* What comes between the two comes after everything, and orders nothing behind it. */
void gpuval_submits_begin_apart(struct gpuval_submits *submits, unsigned queue);
void gpuval_submits_end_apart(struct gpuval_submits *submits, unsigned queue);

/** All of these for one call, and its fence, which may be null. */
void gpuval_submits_note(struct gpuval_submits *submits, unsigned queue, uint32_t count,
                         const VkSubmitInfo2 *infos, VkFence fence);
/**
 * The same for one that the driver makes itself to present: it comes after everything, and nothing
 * comes after it but what waits for its fence or semaphores.
 */
void gpuval_submits_note_present(struct gpuval_submits *submits, unsigned queue, uint32_t count,
                                 const VkSubmitInfo2 *infos, VkFence fence);
void gpuval_submits_note_sparse(struct gpuval_submits *submits, unsigned queue, uint32_t count,
                                const VkBindSparseInfo *infos, VkFence fence);

/** The number of the queue's last submit, and: nothing after that one was accepted. */
uint64_t gpuval_submits_last(struct gpuval_submits *submits, unsigned queue);
void gpuval_submits_failed(struct gpuval_submits *submits, unsigned queue, uint64_t last);

/** The host signals a timeline semaphore, or sets an event: it stands for all that the
 * host has seen.
 */
void gpuval_submits_host_signal(struct gpuval_submits *submits, uint64_t object, uint64_t value);
void gpuval_submits_host_set_event(struct gpuval_submits *submits, VkEvent event);
/** The host has seen that @object was signalled, or has reached @value. */
void gpuval_submits_host_saw(struct gpuval_submits *submits, uint64_t object, uint64_t value);
void gpuval_submits_host_saw_event(struct gpuval_submits *submits, VkEvent event);
/** The host has seen the end of everything it had submitted, to a queue or to all. */
void gpuval_submits_host_saw_queue(struct gpuval_submits *submits, unsigned queue);
void gpuval_submits_host_saw_all(struct gpuval_submits *submits);

/**
 * @object is about to be destroyed, is reset, or will be signalled by somebody that
 * we do not know. What is not known is taken to be signalled after everything that
 * has been submitted.
 */
void gpuval_submits_forget(struct gpuval_submits *submits, uint64_t object);

/* Execution */

/** The queue is about to execute @cmd. Returns the number of the submit. */
uint64_t gpuval_submits_execute(struct gpuval_submits *submits, unsigned queue,
                                VkCommandBuffer cmd);
/** It has executed the last command buffer for now. */
void gpuval_submits_end(struct gpuval_submits *submits, unsigned queue);

/** A barrier, or a wait for events. */
void gpuval_submits_dependency(struct gpuval_submits *submits, unsigned queue,
                               const struct gpuval_dependency *dependency);
void gpuval_submits_set_event(struct gpuval_submits *submits, unsigned queue, VkEvent event,
                              VkPipelineStageFlags2 stages);
void gpuval_submits_reset_event(struct gpuval_submits *submits, VkEvent event);

/** What order_address is about: rewritten when the queue's order has changed, that is,
 * when what was executed before a dependency must not read it any more.
 */
struct gpuval_submits_table {
   struct gpuval_order_table *table;
   uint64_t address;
   uint64_t version; /* which of it is up to date; begin with 0 */
   uint32_t classes;
   struct gpuval_order_threshold threshold; /* of the last command, and what it was found by */
   uint32_t threshold_classes;
   uint64_t num_spans;
};

/**
 * The command of @data->command_id is about to run in the stages of @classes (bits).
 * Fills in what is sync's in @data, and @table, which may be NULL; returns whether an
 * epoch begins. Reads of indirect arguments come alone.
 */
bool gpuval_submits_work(struct gpuval_submits *submits, unsigned queue, uint32_t classes,
                         struct gpuval_submits_table *table, struct gpuval_command_data *data);
/**
 * The same of what a command does without a shader, in a class that is none of a stage: fills in
 * the serial, @threshold, and @table, which may be NULL. Epochs know nothing of it.
 */
void gpuval_submits_command(struct gpuval_submits *submits, unsigned queue,
                            enum gpuval_order_class class_, struct gpuval_submits_table *table,
                            struct gpuval_command_data *data,
                            struct gpuval_order_threshold *threshold);
/** gpuval_order_get_row() */
uint64_t gpuval_submits_get_row(struct gpuval_submits *submits, unsigned queue,
                                enum gpuval_order_class class_, uint64_t address,
                                struct gpuval_order_row *row);
/** gpuval_barriers_find() */
enum gpuval_barrier_missing gpuval_submits_find_missing(struct gpuval_submits *submits,
                                                        const struct gpuval_barrier_side *first,
                                                        const struct gpuval_barrier_side *second,
                                                        uint64_t address,
                                                        struct gpuval_order_barrier *there);
/** Epochs that what such a read has read may be written in. */
unsigned gpuval_submits_other_epochs(struct gpuval_submits *submits, uint32_t epoch,
                                     uint32_t out[GPUVAL_SYNC_EPOCHS]);

/** Rows of gpuval_submits_use(): of the classes that have stages */
#define GPUVAL_SUBMITS_ROWS GPUVAL_ORDER_TRANSITION
/**
 * Something is used now that tables need not know. Returns its serial. @before: what is ordered
 * before, GPUVAL_SUBMITS_ROWS by class of what comes now, each of gpuval_submits_num_sources();
 * rewritten if @version is not the present one, which is true to begin with 0.
 */
uint32_t gpuval_submits_use(struct gpuval_submits *submits, unsigned queue, uint64_t *version,
                            uint32_t *before);
/** What is ordered before any stage of the queue: one row */
void gpuval_submits_ordered(struct gpuval_submits *submits, unsigned queue, uint32_t *ordered);
/** What has been made available: one row */
void gpuval_submits_made_available(struct gpuval_submits *submits, unsigned queue,
                                   uint32_t *available);
unsigned gpuval_submits_num_sources(const struct gpuval_submits *submits);
/** gpuval_order_transition() */
struct gpuval_order_mark gpuval_submits_transition(struct gpuval_submits *submits, unsigned queue,
                                                   VkPipelineStageFlags2 src_stages,
                                                   VkPipelineStageFlags2 dst_stages,
                                                   uint32_t *before);
/** Has @queue itself set all of them? What others have set may stand for all there has been. */
bool gpuval_submits_has_set_events(struct gpuval_submits *submits, unsigned queue,
                                   const struct gpuval_dependency *events);
/** The same with a wait for events: all of its transitions come after all of the events. */
struct gpuval_order_mark gpuval_submits_event_transition(struct gpuval_submits *submits,
                                                         unsigned queue,
                                                         const struct gpuval_dependency *events,
                                                         uint32_t *before);

/** The host uses something: gpuval_order_host_use() */
uint32_t gpuval_submits_host_use(struct gpuval_submits *submits, uint32_t *before);
/** Has the queue come to the last command buffer of the submits up to @last? */
bool gpuval_submits_have_begun(struct gpuval_submits *submits, unsigned queue, uint64_t last);

/** gpuval_submits_work()'s: brings @table up to date. */
void gpuval_submits_fill_table(const struct gpuval_order *order, unsigned queue, uint32_t classes,
                               struct gpuval_submits_table *table);

/** See gpuval_order_restart(): to be called when serials have come to here, as soon as
 * nothing is executed.
 */
#define GPUVAL_SUBMITS_RESTART (1u << 31)
void gpuval_submits_restart(struct gpuval_submits *submits);

#ifdef __cplusplus
}
#endif

#endif
