/* SPDX-License-Identifier: MIT */

/* Live buffers that have device addresses, for the check address: a tree on the host, and
 * tables of it for shaders. Work that begins gets a table of what is alive by then, and so does
 * work that runs: one that is in memory which it knows. The tables that it may still read stay
 * as they are.
 *
 * gpuval_device::mutex is held by whoever calls any of these functions.
 */

#ifndef GPUVAL_ADDRESSES_H
#define GPUVAL_ADDRESSES_H

#include "base/gpuval_address_table.h"
#include "gpuval.h"
#include "gpuval_ranges.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/rb_tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Buffers that are gone are known for a while. */
#define GPUVAL_GONE_BUFFERS 1024

struct gpuval_gone_buffer {
   uint64_t begin, size;
   uint64_t object;      /* the VkBuffer that it was */
   char *name;           /* debug_utils, or NULL */
   uint32_t calls;       /* gpuval_backtrace_capture(), when it was created */
   bool is_memory_freed; /* it is still there itself, or was then */
};

struct gpuval_addresses {
   struct rb_tree tree; /* struct gpuval_range, by address */
   uint32_t count;
   bool has_changed; /* since the table was made */
   bool warned;
   struct gpuval_buffer table; /* no map: none */
   /* struct gpuval_buffer: what work of this phase may still read, or knows nothing of; the
    * same of the other one; and what all work knows, and none reads.
    */
   struct util_dynarray retired, ending, unused;

   struct gpuval_gone_buffer gone[GPUVAL_GONE_BUFFERS]; /* a ring */
   uint32_t num_gone;
};

struct gpuval_range;
struct hash_table;

/** @mem_ctx outlives them. */
void gpuval_addresses_init(struct gpuval_addresses *addresses, void *mem_ctx);
void gpuval_addresses_finish(struct gpuval_device *device);

void gpuval_addresses_add(struct gpuval_addresses *addresses, struct gpuval_range *range);
void gpuval_addresses_remove(struct gpuval_addresses *addresses, struct gpuval_range *range);
/**
 * Memory is freed: the buffers there are not to be used any more, but for those which one of
 * the @others has, too, as where a host pointer is imported twice. @others: the allocations that
 * are left, struct gpuval_range.
 */
void gpuval_addresses_remove_memory(struct gpuval_addresses *addresses, struct hash_table *others,
                                    uint64_t address, uint64_t size);

/** Work begins: its shaders find the table of what is alive now. */
void gpuval_addresses_publish(struct gpuval_device *device, bool is_idle);

/** No work of the other phase is left. */
void gpuval_addresses_free_ending(struct gpuval_device *device);
/** A phase begins; true: there is something to wait for. */
bool gpuval_addresses_has_retired(const struct gpuval_device *device);
void gpuval_addresses_turn(struct gpuval_device *device);

/** Where an address lies, that no live buffer has. */
struct gpuval_nearest {
   const struct gpuval_range *range;      /* live; NULL: there is none */
   const struct gpuval_gone_buffer *gone; /* it is inside this one; or NULL */
   bool is_reused;                        /* @gone: @range lies there now, and ends before */
   uint64_t distance;                     /* bytes from the end of @range, or up to its begin */
   bool is_before;
};
struct gpuval_nearest gpuval_addresses_nearest(const struct gpuval_addresses *addresses,
                                               uint64_t address);

#ifdef __cplusplus
}
#endif

#endif
