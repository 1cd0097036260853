/* SPDX-License-Identifier: MIT */

/* Between the files of the check loop. */

#ifndef GPUVAL_NIR_LOOP_H
#define GPUVAL_NIR_LOOP_H

#include "gpuval_nir_private.h"

/**
 * Returns whether @loop will go round more often than @limit, 1 bit, and leaves state->b.cursor in
 * front of the loop, where that is known; with GPUVAL_SAFE the loop then ends with the limit.
 * Returns NULL where the rounds have to be counted.
 */
nir_def *gpuval_nir_find_rounds(struct gpuval_nir_state *state, nir_loop *loop, uint32_t limit);

#endif
