/* SPDX-License-Identifier: MIT */

/* The latest barriers that queues have executed: what stood between two accesses that it does not
 * order, and what it lacks. For reports; order itself is the model's (gpuval_order_model.h).
 */

#ifndef GPUVAL_BARRIERS_H
#define GPUVAL_BARRIERS_H

#include "gpuval_order_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** So many parts of dependencies are kept; of older ones nothing is said. */
#define GPUVAL_BARRIERS 4096

struct gpuval_barriers;

struct gpuval_barriers *gpuval_barriers_create(void *mem_ctx);
/**
 * Adds the parts of a dependency. @serial: that of the queue's latest work. @first_serial: of the
 * latest that is in the first scope, which is work before the event was set where it waits for one.
 */
void gpuval_barriers_add(struct gpuval_barriers *log, unsigned queue, uint32_t first_serial,
                         uint32_t serial, unsigned count,
                         const struct gpuval_order_barrier *barriers);
/** Serials begin again. */
void gpuval_barriers_clear(struct gpuval_barriers *log);

/** One of two accesses */
struct gpuval_barrier_side {
   unsigned queue;
   uint32_t serial;
   VkPipelineStageFlags2 stages; /* where it happens; several: in any of them */
};

/** What is missing between two accesses */
enum gpuval_barrier_missing {
   GPUVAL_MISSING_UNKNOWN, /* it is too long ago */
   GPUVAL_MISSING_NONE,    /* all of it: there is no dependency between the two */
   GPUVAL_MISSING_STAGE,
   GPUVAL_MISSING_RANGE, /* it is for other memory */
   GPUVAL_MISSING_ACCESS,
   GPUVAL_MISSING_QUEUE,  /* what orders two queues */
   GPUVAL_MISSING_LAYOUT, /* what orders a change of the layout */
};

/** As reports have it; NULL: not known. */
const char *gpuval_barrier_missing_name(enum gpuval_barrier_missing missing);

/**
 * What is missing between @first and @second, which accesses the same memory at @address later,
 * and the barrier that comes nearest to what would do in *there, where any is between the two. An
 * address of 0 is in all ranges.
 */
enum gpuval_barrier_missing gpuval_barriers_find(const struct gpuval_barriers *log,
                                                 const struct gpuval_barrier_side *first,
                                                 const struct gpuval_barrier_side *second,
                                                 uint64_t address,
                                                 struct gpuval_order_barrier *there);

/** "srcStage COPY, srcAccess TRANSFER_WRITE -> dstStage ALL_COMMANDS, dstAccess 0" */
char *gpuval_barrier_text(void *mem_ctx, const struct gpuval_order_barrier *barrier);

#ifdef __cplusplus
}
#endif

#endif
