/* SPDX-License-Identifier: MIT */

/* indirect, vertex: between the files that look at what commands read themselves. */

#ifndef GPUVAL_RADV_INPUTS_H
#define GPUVAL_RADV_INPUTS_H

#include "gpuval_radv_private.h"

#include "gpuval/src/core/shaders/gpuval_instrument.h"

/** The command that is being recorded */
struct gpuval_radv_recording {
   struct gpuval_radv *gpuval;
   struct radv_cmd_buffer *cmd_buffer;
   VkPipelineBindPoint bind_point;
   bool has_id;
   uint32_t command_id;
   bool failed;
   struct gpuval_radv_look *condition; /* what tells whether it is executed */
};

/* gpuval_radv_inputs.c */

struct gpuval_radv_recording gpuval_radv_begin(VkCommandBuffer handle,
                                               VkPipelineBindPoint bind_point);
/** Each submit that executes the command reports it. */
void gpuval_radv_note(struct gpuval_radv_recording *recording,
                      const struct gpuval_command_failure *failure);
/**
 * What is in buffers, once it has been read; in front of the command. Sets whose it is and
 * whether arguments are checked. NULL: there is nothing to look at.
 */
struct gpuval_radv_look *gpuval_radv_look_before(struct gpuval_radv_recording *recording,
                                                 struct gpuval_radv_look *at);
/** Notes structs that are not there. Returns how many of them may be executed. */
uint32_t gpuval_radv_check_structs(struct gpuval_radv_recording *recording,
                                   const struct gpuval_arguments *arguments);
/** Something is wrong with the command, and GPUVAL_SAFE is set. */
bool gpuval_radv_skips(const struct gpuval_radv_recording *recording);

uint32_t gpuval_radv_get_id(struct gpuval_radv_recording *recording);
/** Handles of shader objects stand for a pipeline. */
uint64_t gpuval_radv_what_is_bound(const struct radv_cmd_buffer *cmd_buffer,
                                   VkPipelineBindPoint bind_point);

/* gpuval_radv_bytes.c */

/**
 * In front of an indirect command: what it reads there, as many structs as the word at
 * @count_address says, or all, if that is 0. Does nothing where nobody looks.
 */
void gpuval_radv_add_arguments(struct gpuval_radv_recording *recording,
                               const struct gpuval_arguments *arguments, uint64_t count_address);

/** Behind an indirect draw: what its draws fetch, as far as they are executed. */
void gpuval_radv_add_indirect_fetch(struct gpuval_radv_recording *recording,
                                    const struct gpuval_vertex_input *input,
                                    const struct gpuval_arguments *arguments,
                                    uint64_t count_address);

/* gpuval_radv_indices.c */

/** Of a direct draw that nothing predicates; @count of its indices are in the buffer. */
void gpuval_radv_look_at_indices(struct gpuval_radv_recording *recording,
                                 const struct gpuval_vertex_input *input,
                                 const struct gpuval_draw *draw, uint32_t count);

/** Of indirect draws: the last look at all indices of a buffer in this pass, or NULL. */
const struct gpuval_radv_look **gpuval_radv_last_indices(struct radv_cmd_buffer *cmd_buffer);

/* gpuval_radv_vertices.c: behind the command, when RADV has bound its shaders */

/** vertex looks at what draws have bound, sync at what they fetch. */
static inline bool
gpuval_radv_looks_at_draws(const struct gpuval_radv *gpuval)
{
   return gpuval_options_may_check(GPUVAL_CHECK_VERTEX) || gpuval->shadow;
}

void gpuval_radv_check_draws(struct gpuval_radv_recording *recording,
                             const struct gpuval_draw *draws, uint32_t count);
/** sync: of an indirect draw. @count_address: 0, or where their number is */
void gpuval_radv_look_at_fetch(struct gpuval_radv_recording *recording,
                               const struct gpuval_arguments *arguments, uint64_t count_address);
/** @at: NULL, or what gpuval_radv_look_before() returned. */
void gpuval_radv_finish_look(struct gpuval_radv_recording *recording, struct gpuval_radv_look *at);

#endif
