/* SPDX-License-Identifier: MIT */

/* Where the queue's thread is in a submit, for the thread that watches over submits which do not
 * end. All is written by the queue's thread and read by the other one.
 */

#ifndef GPUVAL_LVP_PROGRESS_H
#define GPUVAL_LVP_PROGRESS_H

#include "gpuval_lvp_commands.h"
#include "gpuval_lvp_translation.h"

struct gpuval_device;

/** Every field is atomic, but the last one. */
struct gpuval_lvp_progress {
   int64_t begin; /* os_time_get_nano(), when the submit has begun to run; 0: none runs */
   int64_t submission;
   uint32_t type; /* enum vk_cmd_type: of the command that is being executed */
   struct gpuval_lvp_translation translation; /* that it needs */

   /* Draws since the queue's thread has waited last: llvmpipe's threads may still be at them. A
    * dispatch or trace ends before the next command begins.
    */
   uint32_t first_draw, last_draw;
   bool has_draws;
   uint32_t action; /* the dispatch or trace that is being executed */
   bool has_action;

   int64_t reported; /* the submit that was reported last, by its begin; of the watching thread */
};

void gpuval_lvp_progress_begin(struct gpuval_lvp_progress *progress, int64_t submission);
void gpuval_lvp_progress_end(struct gpuval_lvp_progress *progress);
/** A command is about to be executed. */
void gpuval_lvp_progress_next(struct gpuval_lvp_progress *progress, enum vk_cmd_type type);
/** That is a draw, dispatch or trace with this id. */
void gpuval_lvp_progress_emit(struct gpuval_lvp_progress *progress, bool is_draw, uint32_t id);

/** As gpuval_device_info::look_for_hang */
void gpuval_lvp_progress_look(struct gpuval_lvp_progress *progress, struct gpuval_device *device,
                              struct gpuval_lvp_commands *commands, int64_t limit);

#endif
