/* SPDX-License-Identifier: MIT */

/* Between the files of the check loop. */

#ifndef GPUVAL_NIR_LOOP_H
#define GPUVAL_NIR_LOOP_H

#include "gpuval_nir_private.h"

/** Is @block in @loop, or in a loop in it? */
static inline bool
gpuval_nir_is_inside(const nir_loop *loop, const nir_block *block)
{
   for (const nir_cf_node *node = &block->cf_node; node; node = node->parent) {
      if (node == &loop->cf_node)
         return true;
   }
   return false;
}

/**
 * Returns whether @loop will go round more often than @limit, 1 bit, and leaves state->b.cursor in
 * front of the loop, where that is known; with GPUVAL_SAFE the loop then ends with the limit.
 * Returns NULL where the rounds have to be counted.
 */
nir_def *gpuval_nir_find_rounds(struct gpuval_nir_state *state, nir_loop *loop, uint32_t limit);

#endif
