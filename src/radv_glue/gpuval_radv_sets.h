/* SPDX-License-Identifier: MIT */

/* Descriptor sets of RADV and their shadows.
 *
 * A set's shadow is in memory beside that of its pool, so that the pool stays as it is:
 * what fits into it, and where. It has an entry for each 16 bytes of the set, which is the
 * alignment of descriptors. A descriptor's entry is at its own offset.
 *
 *    struct gpuval_radv_set_header
 *    struct gpuval_descriptor[size / 16]   this is where pointers lead
 *    struct gpuval_descriptor[]            dynamic buffers, which have no place in the set
 *
 * The host keeps the same in memory of its own, which it works on, since it would read the other
 * slowly.
 *
 * As RADV copies dynamic descriptors when their set is bound, their shadows are copied, and
 * each command gets those that are bound, in the order of the pipeline layout. Push
 * descriptors have theirs where they are uploaded themselves. In descriptor buffers, which
 * are the application's, there is nothing of it.
 */

#ifndef GPUVAL_RADV_SETS_H
#define GPUVAL_RADV_SETS_H

#include "gpuval/src/base/gpuval_descriptor.h"

struct gpuval_radv_set_header {
   uint32_t variable_count; /* elements of the binding that is a variable-count one */
   uint32_t size;           /* bytes of the set */
   uint64_t seen;           /* host's: struct gpuval_set_shadow::seen, or 0 */
};
static_assert(sizeof(struct gpuval_radv_set_header) == sizeof(struct gpuval_descriptor),
              "entries stay aligned");

#endif
