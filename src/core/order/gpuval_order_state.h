/* SPDX-License-Identifier: MIT */

/* What the model keeps of the past; between its files only.
 *
 * For each stage, of what would come in it now: up to which serial of each source is
 * everything before it? So all that is kept of the past are vectors of watermarks,
 * one entry a source. A dependency is
 *
 *    v = the vectors of the stages in its first scope, which is the chains,
 *        and the present serial for the sources that run in these stages
 *    each stage in its second scope takes the maximum of v and its own
 *
 * Memory goes the same way beside execution. A write is *available* to what comes
 * after an availability operation that it was in the scope of, and *visible* to the
 * reads that a visibility operation after that one was for. Semaphores and fences are
 * for all of the device's memory: what they make available is *seen* by every access
 * that comes after them.
 *
 * Barriers for buffers make writes available and visible in a range. So what is
 * available and visible is kept for ranges, too; chains and execution are not about
 * memory.
 */

#ifndef GPUVAL_ORDER_STATE_H
#define GPUVAL_ORDER_STATE_H

#include "gpuval_order_model.h"
#include "gpuval_order_stages.h"

#include "util/bitscan.h"
#include "util/macros.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Accesses that writes have to be visible to */
#define READS (GPUVAL_ORDER_ACCESSES - GPUVAL_ORDER_ATOMIC)

/* Vectors, as many as are said here, of order->num_sources entries each */
enum vector {
   AVAILABLE = 0,                 /* and the stage */
   VISIBLE = GPUVAL_ORDER_STAGES, /* and class * READS + access */
   MEMORY_VECTORS = VISIBLE + GPUVAL_ORDER_CLASSES * READS,

   EXECUTED = 0,               /* and the stage */
   SEEN = GPUVAL_ORDER_STAGES, /* and the stage */
   EXECUTION_VECTORS = 2 * GPUVAL_ORDER_STAGES,
};

/* Where the vectors of memory are */
struct range {
   uint64_t begin, end;
   uint32_t *memory;
};

struct state {
   uint32_t *execution;
   bool is_seen_by_all; /* SEEN: no dependency would change it */
   uint32_t *memory;    /* of what is in none of the ranges */
   unsigned num_ranges;
   struct range ranges[GPUVAL_ORDER_MAX_RANGES]; /* ascending */
};

/* A change of layouts in the next dependency: with those of its parts that have these scopes */
struct change {
   VkPipelineStageFlags2 src_stages, dst_stages;
   bool is_of_all; /* parts */
   uint32_t serial;
};

/* Serials of the last changes of layouts; 0: there was none */
struct last_changes {
   uint32_t any;
   uint32_t final; /* of a render pass, without a second scope */
};

struct queue {
   struct state state;
   uint32_t serial;                   /* of the last work */
   struct last_changes last, earlier; /* of all, and of those before the next dependency */
   unsigned num_changes;
   struct change changes[GPUVAL_ORDER_TRANSITIONS];
   bool has_changed;
   uint64_t version;
};

struct gpuval_order {
   unsigned num_queues, num_sources;
   uint32_t serial; /* of the last span of all */
   uint32_t era;    /* restarts so far */
   struct queue *queues;
   uint32_t *last;     /* serial of the last work, by source; 0: none */
   uint64_t num_spans; /* in which a source has had work: grows when one of these changes */
};

void gpuval_order_init_state(const struct gpuval_order *order, void *mem_ctx, struct state *state);
void gpuval_order_copy_state(const struct gpuval_order *order, void *mem_ctx, struct state *to,
                             const struct state *from);

void gpuval_order_free_state(struct state *state);

/** What is available and visible at @address. */
uint32_t *gpuval_order_find_memory(const struct state *state, uint64_t address);

/**
 * Afterwards each range lies in [begin, end) or outside, and all of that is in ranges.
 * Returns false if there were too many; what has been split until then means the same
 * as before.
 */
bool gpuval_order_split_ranges(const struct gpuval_order *order, struct state *state,
                               uint64_t begin, uint64_t end);
/** Ranges that say what the one before says, or what is said of all memory, go. */
void gpuval_order_join_ranges(const struct gpuval_order *order, struct state *state);

/* Vectors */

/* A number of rounds that compilers know is what they make vector code of. */
static inline void
raise_vector(const struct gpuval_order *order, uint32_t *restrict to, const uint32_t *restrict from)
{
   for (unsigned i = order->num_queues; i; i--) {
      for (unsigned j = 0; j < GPUVAL_ORDER_MODEL_CLASSES; j++)
         to[j] = MAX2(to[j], from[j]);
      to += GPUVAL_ORDER_MODEL_CLASSES;
      from += GPUVAL_ORDER_MODEL_CLASSES;
   }
}

static inline uint32_t *
get_vector(const struct gpuval_order *order, uint32_t *vectors, unsigned index)
{
   return vectors + (size_t)index * order->num_sources;
}

static inline void
raise_stages(const struct gpuval_order *order, uint32_t *vectors, unsigned first,
             VkPipelineStageFlags2 stages, const uint32_t *from)
{
   u_foreach_bit64 (stage, stages)
      raise_vector(order, get_vector(order, vectors, first + stage), from);
}

static inline void
raise_by_stages(const struct gpuval_order *order, uint32_t *to, uint32_t *vectors, unsigned first,
                VkPipelineStageFlags2 stages)
{
   u_foreach_bit64 (stage, stages)
      raise_vector(order, to, get_vector(order, vectors, first + stage));
}

#ifdef __cplusplus
}
#endif

#endif
