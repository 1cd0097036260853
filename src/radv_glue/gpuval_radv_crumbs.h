/* SPDX-License-Identifier: MIT */

/* Breadcrumbs (GPUVAL_BREADCRUMBS): the GPU writes the number of each command when it begins it,
 * and when it and all before it have ended, to two words of the command buffer's that the host
 * sees. So whoever finds the GPU at a standstill knows the commands between the two.
 *
 * And what is in flight at all, for gpuval_radv_hang.c.
 */

#ifndef GPUVAL_RADV_CRUMBS_H
#define GPUVAL_RADV_CRUMBS_H

#include "gpuval_radv_private.h"

/**
 * Around a command that is recorded, in front of what RADV records for it and behind that. Calls
 * within others do nothing. @op: its name in snake case, a constant; NULL: the action that is being
 * recorded, gpuval_radv_begin_action().
 */
void gpuval_radv_begin_crumb(struct radv_cmd_buffer *cmd_buffer, const char *op);
void gpuval_radv_end_crumb(struct radv_cmd_buffer *cmd_buffer);

struct gpuval_radv_crumbs;

/** What the GPU has written. */
struct gpuval_radv_crumb_state {
   uint32_t count; /* commands; 0: none, or there are no breadcrumbs */
   uint32_t begun; /* number of the last command that has begun, from 1; 0: none has */
   uint32_t ended; /* the same of those that have ended */
};
struct gpuval_radv_crumb_state gpuval_radv_read_crumbs(const struct radv_cmd_buffer *cmd_buffer);
/** The id of a command by its number, from 1 */
uint32_t gpuval_radv_crumb_id(const struct radv_cmd_buffer *cmd_buffer, uint32_t number);
/** It is about to be submitted, and not in flight. */
void gpuval_radv_reset_crumbs(struct radv_cmd_buffer *cmd_buffer);

/** A command buffer of a submit */
struct gpuval_radv_flying {
   struct radv_cmd_buffer *cmd_buffer; /* NULL: it is reset, or destroyed, by now */
   uint64_t handle;
   char *name; /* debug_utils, or NULL */
};

/** A submit; with submit_mutex */
struct gpuval_radv_flight {
   const struct vk_queue *queue;
   int64_t number;                /* of gpuval_radv_submitted() */
   int64_t submitted;             /* os_time_get_nano() */
   int64_t first;                 /* when it was first in its queue, as far as seen; 0: not yet */
   bool is_reported;              /* that it takes long */
   struct util_dynarray cmd_bufs; /* struct gpuval_radv_flying, secondary ones behind theirs */
   void *names;                   /* what owns them */
};

/* gpuval_radv_hang.c; all with submit_mutex but those that say otherwise */

void gpuval_radv_begin_flight(struct gpuval_radv_flight *flight, const struct vk_queue *queue,
                              int64_t number, const struct vk_queue_submit *submit);
/**
 * The submit has ended, as fences say. Returns a report of it, for gpuval_radv_suspect(), where it
 * was not executed to its end, or NULL.
 */
struct gpuval_hang *gpuval_radv_land(struct gpuval_radv *gpuval, struct gpuval_radv_flight *flight);
/** Keeps a report until the device is known to be lost, or work goes on. Without submit_mutex. */
void gpuval_radv_suspect(struct gpuval_radv *gpuval, struct gpuval_hang *hang);
/** It was never made. */
void gpuval_radv_cancel_flight(struct gpuval_radv_flight *flight);
void gpuval_radv_forget_flying(struct gpuval_radv_flight *flight,
                               const struct radv_cmd_buffer *cmd_buffer);

/** Begins the report of a submit that takes long, or returns NULL: it does not, or is reported. */
struct gpuval_hang *gpuval_radv_find_slow(struct gpuval_radv *gpuval,
                                          struct gpuval_radv_flight *flight, int64_t limit);
void gpuval_radv_describe_flight(struct gpuval_radv *gpuval, struct gpuval_hang *hang,
                                 const struct gpuval_radv_flight *flight);
/** Adds what the kernel knows of a page fault, and that there are no breadcrumbs. Any thread. */
void gpuval_radv_complete_hang(struct gpuval_radv *gpuval, struct gpuval_hang *hang);

/* gpuval_radv_commands.c */

struct gpuval_radv_crumbs **gpuval_radv_crumbs(const struct radv_cmd_buffer *cmd_buffer,
                                               void **mem_ctx);
/** Submits that have it in flight; with submit_mutex. */
unsigned *gpuval_radv_num_flights(const struct radv_cmd_buffer *cmd_buffer);
/** Appends it and its secondaries (struct radv_cmd_buffer *). */
void gpuval_radv_collect(struct radv_cmd_buffer *cmd_buffer, struct util_dynarray *cmd_buffers);
/** Gives an id to the action that is being recorded, or to a command that is called @op. */
uint32_t gpuval_radv_name_command(struct radv_cmd_buffer *cmd_buffer, const char *op);

/* gpuval_radv_readback.c */

/** As gpuval_radv_add_readback(), with a buffer that can be used to record commands. */
void *gpuval_radv_add_readback_buffer(struct radv_cmd_buffer *cmd_buffer, uint64_t size,
                                      struct radv_buffer *buffer);

#endif
