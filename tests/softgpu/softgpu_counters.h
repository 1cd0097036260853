/* SPDX-License-Identifier: MIT */

/* What a real card takes long for: docs/radv.rst, "Counted, not measured". */

#ifndef SOFTGPU_COUNTERS_H
#define SOFTGPU_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/u_atomic.h"

enum softgpu_counter {
   SOFTGPU_DMA_COPY_BYTES,
   SOFTGPU_DMA_FILL_BYTES,
   SOFTGPU_CP_SYNCS,      /* DMA that the command processor waits for */
   SOFTGPU_PFP_SYNCS,     /* PFP_SYNC_ME: it stops reading ahead */
   SOFTGPU_WAITS,         /* for shaders: partial flushes */
   SOFTGPU_PACKETS,       /* of the command processor */
   SOFTGPU_PACKET_DWORDS, /* theirs */
   SOFTGPU_DRAWS,
   SOFTGPU_DISPATCHES,
   SOFTGPU_INSTRUCTIONS,   /* of NIR, executed by waves */
   SOFTGPU_BRANCHES,       /* that waves come to: conditions of `if` */
   SOFTGPU_UNCACHED_LOADS, /* by shaders: one for each wave that loads there */
   SOFTGPU_ATOMICS,        /* by lanes, in global memory */
   SOFTGPU_SAME_ATOMICS,   /* of these, at the address that has the most */
   SOFTGPU_HOST_LOADS,     /* the driver's, from memory that is slow to read */
   SOFTGPU_HOST_STORES,
   SOFTGPU_HOST_BYTES, /* that these have stored, in lines of 64, each counted once */
   SOFTGPU_NUM_COUNTERS,
};

extern uint64_t softgpu_counters[SOFTGPU_NUM_COUNTERS];

/* SOFTGPU_COUNTERS is set. */
bool softgpu_counts(void);

static inline void
softgpu_count(enum softgpu_counter counter, uint64_t number)
{
   p_atomic_add(&softgpu_counters[counter], number);
}

void softgpu_count_atomic(uint64_t va);

/* A mapping of the host's that is slow to read */
void softgpu_watch(void *map, size_t size);

void softgpu_write_counters(void);

#endif
