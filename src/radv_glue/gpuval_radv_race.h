/* SPDX-License-Identifier: MIT */

/* The check `race` on RADV: what a command uses is noted when it is recorded, and gone through
 * with the order of commands when it is submitted (gpuval_radv_sync.c). Which of what they may
 * use its shaders have used, they mark in their command data (gpuval_nir_race.c): that is taken
 * from there when the submit has ended, and then it is looked at.
 *
 * All of these may be called where it is not checked, and do nothing then.
 */

#ifndef GPUVAL_RADV_RACE_H
#define GPUVAL_RADV_RACE_H

#include "gpuval_radv_private.h"

/** What shaders of one command use. It lives as long as what its command buffer has recorded. */
struct gpuval_radv_race_note;
struct gpuval_race_step;
struct gpuval_race_segment;

/** After gpuval_hooks_init(). */
void gpuval_radv_init_race(struct gpuval_radv *gpuval);
void gpuval_radv_finish_race(struct gpuval_radv *gpuval);

/* Recording */

/** The action @op is being recorded, which may be a draw: gpuval_radv_begin_action() has named it. */
void gpuval_radv_race_draw(struct radv_cmd_buffer *cmd_buffer, const char *op);
/** What the shaders that are bound may use; NULL: nothing. */
struct gpuval_radv_race_note *
gpuval_radv_race_shaders(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer,
                         const struct radv_cmd_buffer *owner, unsigned bind_point,
                         struct gpuval_radv_command_data *data, uint32_t command_id);

/* Submitting, with sync_mutex. Queues are numbers of gpuval_hooks_queue(). */

void gpuval_radv_race_begin(struct gpuval_radv *gpuval, unsigned queue);
/** A primary command buffer begins. */
void gpuval_radv_race_begin_primary(struct gpuval_radv *gpuval, unsigned queue);
/** An action, whose shaders use nothing if @note is NULL. @again: they may be running. */
void gpuval_radv_race_execute(struct gpuval_radv *gpuval, unsigned queue,
                              struct radv_cmd_buffer *cmd_buffer,
                              const struct gpuval_radv_race_note *note, bool again);
/** A command without shaders that may use something */
void gpuval_radv_race_step(struct gpuval_radv *gpuval, unsigned queue,
                           const struct gpuval_race_step *step);
/** What the submit has used, to look at when it has ended; or NULL. */
struct gpuval_race_segment *gpuval_radv_race_end(struct gpuval_radv *gpuval);
/** The highest serial that was given. */
uint32_t gpuval_radv_race_serial(const struct gpuval_radv *gpuval);

/* Ends of submits. @segment may be NULL. */

/**
 * It has ended, and so has what it comes after: it is looked at next. With submit_mutex.
 */
void gpuval_radv_race_retire(struct gpuval_radv *gpuval, struct gpuval_race_segment *segment);
/** What a command buffer has recorded goes. With submit_mutex. */
void gpuval_radv_race_forget(struct gpuval_race_segment *segment,
                             const struct radv_cmd_buffer *cmd_buffer);
/** It will not be looked at. */
void gpuval_radv_race_drop(struct gpuval_race_segment *segment);
/** Looks at all that has retired. Without submit_mutex. */
void gpuval_radv_race_look(struct gpuval_radv *gpuval);

#endif
