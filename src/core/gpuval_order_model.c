/* SPDX-License-Identifier: MIT */

#include "gpuval_order_model.h"
#include "gpuval_order_stages.h"

#include <string.h>

#include "util/bitscan.h"
#include "util/macros.h"
#include "util/ralloc.h"

/* For each stage, of what would come in it now: up to which serial of each source is
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

#define READS (GPUVAL_ORDER_ACCESSES - GPUVAL_ORDER_ATOMIC)

#define WRITES                                                                                     \
   (VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT |                          \
    VK_ACCESS_2_MEMORY_WRITE_BIT)

/* To which second access scopes do accesses belong? An atomic is a read and a write. */
static const VkAccessFlags2 read_accesses[READS] = {
   [GPUVAL_ORDER_ATOMIC - GPUVAL_ORDER_ATOMIC] = WRITES | VK_ACCESS_2_SHADER_READ_BIT |
                                                 VK_ACCESS_2_SHADER_STORAGE_READ_BIT |
                                                 VK_ACCESS_2_MEMORY_READ_BIT,
   [GPUVAL_ORDER_STORAGE_READ - GPUVAL_ORDER_ATOMIC] = VK_ACCESS_2_SHADER_READ_BIT |
                                                       VK_ACCESS_2_SHADER_STORAGE_READ_BIT |
                                                       VK_ACCESS_2_MEMORY_READ_BIT,
   [GPUVAL_ORDER_UNIFORM_READ - GPUVAL_ORDER_ATOMIC] =
      VK_ACCESS_2_UNIFORM_READ_BIT | VK_ACCESS_2_MEMORY_READ_BIT,
   [GPUVAL_ORDER_SAMPLED_READ - GPUVAL_ORDER_ATOMIC] = VK_ACCESS_2_SHADER_READ_BIT |
                                                       VK_ACCESS_2_SHADER_SAMPLED_READ_BIT |
                                                       VK_ACCESS_2_MEMORY_READ_BIT,
};

#define INDIRECT_READS (VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT | VK_ACCESS_2_MEMORY_READ_BIT)

/* Vectors, as many as are said here, of order->num_sources entries each */
enum vector {
   AVAILABLE = 0,                 /* and the stage */
   VISIBLE = GPUVAL_ORDER_STAGES, /* and class * READS + access */
   MEMORY_VECTORS = VISIBLE + GPUVAL_ORDER_STAGE_CLASSES * READS,

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
   uint32_t *memory; /* of what is in none of the ranges */
   unsigned num_ranges;
   struct range ranges[GPUVAL_ORDER_MAX_RANGES]; /* ascending */
};

struct queue {
   struct state state;
   uint32_t serial; /* of the last work */
   bool has_changed;
   uint64_t version;
};

struct gpuval_order {
   unsigned num_queues, num_sources;
   uint32_t serial; /* of the last span of all */
   uint32_t era;    /* restarts so far */
   struct queue *queues;
};

struct gpuval_order_point {
   uint32_t era;
   uint32_t watermarks[];
};

struct gpuval_order_snapshot {
   uint32_t era;
   int queue; /* -1: the host */
   uint32_t serial;
   struct gpuval_order_stages first;
   struct state state;
};

/* Vectors */

static void
raise_vector(const struct gpuval_order *order, uint32_t *to, const uint32_t *from)
{
   for (unsigned i = 0; i < order->num_sources; i++)
      to[i] = MAX2(to[i], from[i]);
}

static uint32_t *
get_vector(const struct gpuval_order *order, uint32_t *vectors, unsigned index)
{
   return vectors + (size_t)index * order->num_sources;
}

static void
raise_stages(const struct gpuval_order *order, uint32_t *vectors, unsigned first,
             VkPipelineStageFlags2 stages, const uint32_t *from)
{
   u_foreach_bit64 (stage, stages)
      raise_vector(order, get_vector(order, vectors, first + stage), from);
}

static void
raise_by_stages(const struct gpuval_order *order, uint32_t *to, uint32_t *vectors, unsigned first,
                VkPipelineStageFlags2 stages)
{
   u_foreach_bit64 (stage, stages)
      raise_vector(order, to, get_vector(order, vectors, first + stage));
}

/* What has run in @stages up to now */
static void
raise_by_work(uint32_t *to, unsigned queue, VkPipelineStageFlags2 stages, uint32_t serial)
{
   for (unsigned i = 0; i < GPUVAL_ORDER_STAGE_CLASSES; i++) {
      uint32_t *watermark = &to[gpuval_order_source(queue, i)];
      if (stages & gpuval_order_class_stage(i))
         *watermark = MAX2(*watermark, serial);
   }
}

/* States */

static size_t
memory_size(const struct gpuval_order *order)
{
   return (size_t)MEMORY_VECTORS * order->num_sources * sizeof(uint32_t);
}

static void
init_state(const struct gpuval_order *order, void *mem_ctx, struct state *state)
{
   *state = (struct state){
      .execution = rzalloc_array(mem_ctx, uint32_t, EXECUTION_VECTORS * order->num_sources),
      .memory = rzalloc_size(mem_ctx, memory_size(order)),
   };
}

static void
copy_state(const struct gpuval_order *order, void *mem_ctx, struct state *to,
           const struct state *from)
{
   *to = *from;
   to->execution = ralloc_memdup(mem_ctx, from->execution,
                                 (size_t)EXECUTION_VECTORS * order->num_sources * sizeof(uint32_t));
   to->memory = ralloc_memdup(mem_ctx, from->memory, memory_size(order));
   for (unsigned i = 0; i < from->num_ranges; i++)
      to->ranges[i].memory = ralloc_memdup(mem_ctx, from->ranges[i].memory, memory_size(order));
}

static const uint32_t *
find_memory(const struct state *state, uint64_t address)
{
   for (unsigned i = 0; i < state->num_ranges; i++) {
      if (address >= state->ranges[i].begin && address < state->ranges[i].end)
         return state->ranges[i].memory;
   }
   return state->memory;
}

/* Ranges */

static bool
insert_range(const struct gpuval_order *order, struct state *state, unsigned at, uint64_t begin,
             uint64_t end, const uint32_t *memory)
{
   if (state->num_ranges == GPUVAL_ORDER_MAX_RANGES)
      return false;

   memmove(&state->ranges[at + 1], &state->ranges[at],
           (state->num_ranges - at) * sizeof(state->ranges[0]));
   state->num_ranges++;
   state->ranges[at] = (struct range){
      .begin = begin,
      .end = end,
      .memory = ralloc_memdup(state->memory, memory, memory_size(order)),
   };
   return true;
}

/* Afterwards each range lies in [begin, end) or outside, and all of that is in ranges.
 * Returns false if there were too many; what has been split until then means the same
 * as before.
 */
static bool
split_ranges(const struct gpuval_order *order, struct state *state, uint64_t begin, uint64_t end)
{
   unsigned i = 0;

   while (begin < end) {
      while (i < state->num_ranges && state->ranges[i].end <= begin)
         i++;

      struct range *range = &state->ranges[i];
      if (i == state->num_ranges || range->begin >= end) {
         return insert_range(order, state, i, begin, end, state->memory);
      } else if (range->begin > begin) {
         uint64_t middle = range->begin;
         if (!insert_range(order, state, i, begin, middle, state->memory))
            return false;
         begin = middle;
      } else if (range->begin < begin) {
         if (!insert_range(order, state, i, range->begin, begin, range->memory))
            return false;
         state->ranges[i + 1].begin = begin;
      } else if (range->end > end) {
         if (!insert_range(order, state, i, begin, end, range->memory))
            return false;
         state->ranges[i + 1].begin = end;
         begin = end;
      } else {
         begin = range->end;
      }
   }
   return true;
}

/* Ranges that say what the one before says, or what is said of all memory */
static void
join_ranges(const struct gpuval_order *order, struct state *state)
{
   unsigned count = 0;

   for (unsigned i = 0; i < state->num_ranges; i++) {
      struct range range = state->ranges[i];
      struct range *last = count ? &state->ranges[count - 1] : NULL;

      if (!memcmp(range.memory, state->memory, memory_size(order))) {
         ralloc_free(range.memory);
      } else if (last && last->end == range.begin &&
                 !memcmp(range.memory, last->memory, memory_size(order))) {
         last->end = range.end;
         ralloc_free(range.memory);
      } else {
         state->ranges[count++] = range;
      }
   }
   state->num_ranges = count;
}

/* Dependencies */

/* A part of a dependency, and what it was applied to */
struct part {
   const struct gpuval_order_barrier *barrier;
   struct gpuval_order_stages first, second;
   int queue; /* whose work the first scope has; -1: none */
   uint32_t serial;
   struct state *from;
};

static void
apply_execution(const struct gpuval_order *order, struct state *to, const struct part *part,
                uint32_t *vector)
{
   memset(vector, 0, order->num_sources * sizeof(*vector));
   raise_by_stages(order, vector, part->from->execution, EXECUTED, part->first.execution);
   if (part->queue >= 0)
      raise_by_work(vector, part->queue, part->first.execution, part->serial);
   raise_stages(order, to->execution, EXECUTED, part->second.execution, vector);

   memset(vector, 0, order->num_sources * sizeof(*vector));
   raise_by_stages(order, vector, part->from->execution, SEEN, part->first.execution);
   raise_stages(order, to->execution, SEEN, part->second.execution, vector);
}

/* @from may be @to. @is_meant: the barrier's accesses are to this memory. */
static void
apply_memory(const struct gpuval_order *order, uint32_t *to, uint32_t *from,
             const struct part *part, bool is_meant, uint32_t *vector)
{
   const struct gpuval_order_barrier *barrier = part->barrier;

   memset(vector, 0, order->num_sources * sizeof(*vector));
   raise_by_stages(order, vector, from, AVAILABLE, part->first.execution);
   if (is_meant && part->queue >= 0 && barrier->src_access & WRITES)
      raise_by_work(vector, part->queue, part->first.access, part->serial);
   raise_stages(order, to, AVAILABLE, part->second.execution, vector);

   for (unsigned i = 0; is_meant && i < GPUVAL_ORDER_STAGE_CLASSES; i++) {
      if (!(part->second.access & gpuval_order_class_stage(i)))
         continue;
      for (unsigned j = 0; j < READS; j++) {
         VkAccessFlags2 accesses = i == GPUVAL_ORDER_INDIRECT ? INDIRECT_READS : read_accesses[j];
         if (barrier->dst_access & accesses)
            raise_vector(order, get_vector(order, to, VISIBLE + i * READS + j), vector);
      }
   }
}

static void
apply(const struct gpuval_order *order, struct state *to, const struct part *part)
{
   const struct gpuval_order_barrier *barrier = part->barrier;
   uint32_t *vector = ralloc_array(NULL, uint32_t, order->num_sources);

   apply_execution(order, to, part, vector);

   bool has_memory = barrier->begin < barrier->end;
   bool is_global = has_memory && !barrier->begin && barrier->end == UINT64_MAX;
   if (has_memory && !is_global)
      is_global = !split_ranges(order, to, barrier->begin, barrier->end);

   for (unsigned i = 0; i < to->num_ranges; i++) {
      struct range *range = &to->ranges[i];
      bool is_inside = range->begin >= barrier->begin && range->end <= barrier->end;
      apply_memory(order, range->memory, (uint32_t *)find_memory(part->from, range->begin), part,
                   has_memory && (is_global || is_inside), vector);
   }
   apply_memory(order, to->memory, part->from->memory, part, is_global, vector);
   ralloc_free(vector);
}

static void
change(struct queue *queue)
{
   queue->has_changed = true;
   queue->version++;
}

/* The parts of one dependency look at the same past: no chain goes from one to another. */
static void
apply_parts(struct gpuval_order *order, unsigned index, struct part part, unsigned count,
            const struct gpuval_order_barrier *barriers)
{
   struct queue *queue = &order->queues[index];
   const struct gpuval_order_stages limit = part.first;

   for (unsigned i = 0; i < count; i++) {
      part.barrier = &barriers[i];
      part.first = gpuval_order_first_stages(barriers[i].src_stages);
      part.first.access &= limit.access;
      part.first.execution &= limit.execution;
      part.second = gpuval_order_second_stages(barriers[i].dst_stages);
      apply(order, &queue->state, &part);
   }
   join_ranges(order, &queue->state);
   change(queue);
}

void
gpuval_order_dependency(struct gpuval_order *order, unsigned index, unsigned count,
                        const struct gpuval_order_barrier *barriers)
{
   struct queue *queue = &order->queues[index];
   struct part part = {
      .first = {~(VkPipelineStageFlags2)0, ~(VkPipelineStageFlags2)0},
      .queue = (int)index,
      .serial = queue->serial,
      .from = &queue->state,
   };

   /* A part reads a vector before it writes any. */
   struct state before;
   void *mem_ctx = NULL;
   if (count > 1) {
      mem_ctx = ralloc_context(NULL);
      copy_state(order, mem_ctx, &before, &queue->state);
      part.from = &before;
   }
   apply_parts(order, index, part, count, barriers);
   ralloc_free(mem_ctx);
}

/* Events */

struct gpuval_order_snapshot *
gpuval_order_set_event(struct gpuval_order *order, unsigned index, VkPipelineStageFlags2 stages)
{
   struct queue *queue = &order->queues[index];
   struct gpuval_order_snapshot *snapshot = rzalloc(NULL, struct gpuval_order_snapshot);

   snapshot->era = order->era;
   snapshot->queue = (int)index;
   snapshot->serial = queue->serial;
   snapshot->first = gpuval_order_first_stages(stages);
   copy_state(order, snapshot, &snapshot->state, &queue->state);
   queue->has_changed = true;
   return snapshot;
}

struct gpuval_order_snapshot *
gpuval_order_host_set_event(struct gpuval_order *order, const struct gpuval_order_point *host)
{
   struct gpuval_order_snapshot *snapshot = rzalloc(NULL, struct gpuval_order_snapshot);
   struct state *state = &snapshot->state;

   snapshot->era = order->era;
   snapshot->queue = -1;
   snapshot->first = gpuval_order_first_stages(VK_PIPELINE_STAGE_2_HOST_BIT);
   init_state(order, snapshot, state);
   if (host->era == order->era) {
      raise_stages(order, state->execution, EXECUTED, snapshot->first.execution, host->watermarks);
      raise_stages(order, state->memory, AVAILABLE, snapshot->first.execution, host->watermarks);
   }
   return snapshot;
}

void
gpuval_order_wait_event(struct gpuval_order *order, unsigned queue,
                        const struct gpuval_order_snapshot *snapshot, unsigned count,
                        const struct gpuval_order_barrier *barriers)
{
   if (snapshot->era != order->era)
      return;

   /* Boundaries of that time have to be there to look at it range by range. Without
    * room for them, what any range had then, all have.
    */
   void *mem_ctx = NULL;
   struct state state = snapshot->state;
   bool fits = true;
   for (unsigned i = 0; fits && i < state.num_ranges; i++)
      fits = split_ranges(order, &order->queues[queue].state, state.ranges[i].begin,
                          state.ranges[i].end);
   if (!fits) {
      mem_ctx = ralloc_context(NULL);
      copy_state(order, mem_ctx, &state, &snapshot->state);
      for (unsigned i = 0; i < state.num_ranges; i++) {
         for (unsigned j = 0; j < MEMORY_VECTORS; j++)
            raise_vector(order, get_vector(order, state.memory, j),
                         get_vector(order, state.ranges[i].memory, j));
      }
      state.num_ranges = 0;
   }

   struct part part = {
      .first = snapshot->first,
      .queue = snapshot->queue,
      .serial = snapshot->serial,
      .from = &state,
   };
   apply_parts(order, queue, part, count, barriers);
   ralloc_free(mem_ctx);
}

/* Points */

struct gpuval_order_point *
gpuval_order_point_create(struct gpuval_order *order)
{
   struct gpuval_order_point *point =
      rzalloc_size(NULL, sizeof(*point) + order->num_sources * sizeof(point->watermarks[0]));

   point->era = order->era;
   return point;
}

static void
begin_point(const struct gpuval_order *order, struct gpuval_order_point *point)
{
   if (point->era != order->era)
      memset(point->watermarks, 0, order->num_sources * sizeof(point->watermarks[0]));
   point->era = order->era;
}

void
gpuval_order_signal(struct gpuval_order *order, unsigned index, VkPipelineStageFlags2 stages,
                    struct gpuval_order_point *point)
{
   struct queue *queue = &order->queues[index];
   VkPipelineStageFlags2 first = gpuval_order_first_stages(stages).execution;

   begin_point(order, point);
   raise_by_stages(order, point->watermarks, queue->state.execution, EXECUTED, first);
   raise_by_work(point->watermarks, index, first, queue->serial);
   queue->has_changed = true;
}

void
gpuval_order_everything(struct gpuval_order *order, struct gpuval_order_point *point)
{
   begin_point(order, point);
   for (unsigned i = 0; i < order->num_sources; i++)
      point->watermarks[i] = order->serial;
   for (unsigned i = 0; i < order->num_queues; i++)
      order->queues[i].has_changed = true;
}

void
gpuval_order_event_signal(struct gpuval_order *order, const struct gpuval_order_snapshot *snapshot,
                          struct gpuval_order_point *point)
{
   begin_point(order, point);
   if (snapshot->era != order->era)
      return;
   raise_by_stages(order, point->watermarks, snapshot->state.execution, EXECUTED,
                   snapshot->first.execution);
   if (snapshot->queue >= 0)
      raise_by_work(point->watermarks, snapshot->queue, snapshot->first.execution,
                    snapshot->serial);
}

void
gpuval_order_merge(struct gpuval_order *order, struct gpuval_order_point *point,
                   const struct gpuval_order_point *other)
{
   begin_point(order, point);
   if (other->era == order->era)
      raise_vector(order, point->watermarks, other->watermarks);
}

void
gpuval_order_wait(struct gpuval_order *order, unsigned index,
                  const struct gpuval_order_point *point, VkPipelineStageFlags2 stages)
{
   struct queue *queue = &order->queues[index];
   struct state *state = &queue->state;
   VkPipelineStageFlags2 second = gpuval_order_second_stages(stages).execution;

   if (point->era != order->era)
      return;
   raise_stages(order, state->execution, EXECUTED, second, point->watermarks);
   raise_stages(order, state->execution, SEEN, second, point->watermarks);
   raise_stages(order, state->memory, AVAILABLE, second, point->watermarks);
   for (unsigned i = 0; i < state->num_ranges; i++)
      raise_stages(order, state->ranges[i].memory, AVAILABLE, second, point->watermarks);
   join_ranges(order, state);
   change(queue);
}

/* Work */

uint32_t
gpuval_order_work(struct gpuval_order *order, unsigned index)
{
   struct queue *queue = &order->queues[index];

   if (queue->has_changed) {
      queue->serial = ++order->serial;
      queue->has_changed = false;
   }
   return queue->serial;
}

uint64_t
gpuval_order_version(const struct gpuval_order *order, unsigned queue)
{
   return order->queues[queue].version;
}

unsigned
gpuval_order_num_sources(const struct gpuval_order *order)
{
   return order->num_sources;
}

uint32_t
gpuval_order_queue_class(unsigned queue)
{
   return queue == 0 ? 0 : queue == 1 ? GPUVAL_ORDER_SECOND_QUEUE : GPUVAL_ORDER_OTHER_QUEUES;
}

static unsigned
class_row(enum gpuval_order_class class_)
{
   return ffsll((long long)gpuval_order_class_stage(class_)) - 1;
}

static uint32_t
get_available(const struct gpuval_order *order, const struct state *state, uint32_t *memory,
              enum gpuval_order_class class_, enum gpuval_order_access access, unsigned source)
{
   if (access == GPUVAL_ORDER_WRITE)
      return get_vector(order, memory, AVAILABLE + class_row(class_))[source];

   unsigned index = VISIBLE + class_ * READS + access - GPUVAL_ORDER_ATOMIC;
   return MAX2(get_vector(order, memory, index)[source],
               get_vector(order, state->execution, SEEN + class_row(class_))[source]);
}

uint32_t
gpuval_order_executed(const struct gpuval_order *order, unsigned queue,
                      enum gpuval_order_class class_, unsigned source)
{
   const struct state *state = &order->queues[queue].state;

   return get_vector(order, state->execution, EXECUTED + class_row(class_))[source];
}

uint32_t
gpuval_order_available(const struct gpuval_order *order, unsigned queue,
                       enum gpuval_order_class class_, enum gpuval_order_access access,
                       uint64_t address, unsigned source)
{
   const struct state *state = &order->queues[queue].state;

   return get_available(order, state, (uint32_t *)find_memory(state, address), class_, access,
                        source);
}

uint32_t
gpuval_order_any_available(const struct gpuval_order *order, unsigned queue,
                           enum gpuval_order_class class_, unsigned source)
{
   const struct state *state = &order->queues[queue].state;
   uint32_t highest = 0;

   /* What is visible anywhere is available there, and what is seen is everywhere. */
   for (unsigned i = 0; i <= state->num_ranges; i++) {
      uint32_t *memory = i ? state->ranges[i - 1].memory : state->memory;
      for (unsigned j = 0; j < GPUVAL_ORDER_ACCESSES; j++)
         highest = MAX2(highest, get_available(order, state, memory, class_, j, source));
   }
   return highest;
}

static void
fill_row(const struct gpuval_order *order, const struct state *state, uint32_t *memory,
         enum gpuval_order_class class_, struct gpuval_order_row *row)
{
   memset(row, 0, sizeof(*row));
   for (unsigned source = 0; source < order->num_sources; source++) {
      unsigned queue = source / GPUVAL_ORDER_STAGE_CLASSES;
      unsigned to = queue ? gpuval_order_queue_class(queue) : source % GPUVAL_ORDER_STAGE_CLASSES;
      uint32_t executed = get_vector(order, state->execution, EXECUTED + class_row(class_))[source];

      row->execution_watermark[to] = MAX2(row->execution_watermark[to], executed);
      for (unsigned i = 0; i < GPUVAL_ORDER_ACCESSES; i++) {
         uint32_t available = get_available(order, state, memory, class_, i, source);
         row->memory_watermark[i][to] = MAX2(row->memory_watermark[i][to], available);
      }
   }
}

void
gpuval_order_fill_table(const struct gpuval_order *order, unsigned queue, uint32_t classes,
                        struct gpuval_order_table *table)
{
   const struct state *state = &order->queues[queue].state;

   table->num_ranges = state->num_ranges;
   for (unsigned i = 0; i < state->num_ranges; i++) {
      table->ranges[i].begin = state->ranges[i].begin;
      table->ranges[i].end = state->ranges[i].end;
   }
   u_foreach_bit (class_, classes) {
      fill_row(order, state, state->memory, class_, &table->rows[class_][0]);
      for (unsigned i = 0; i < state->num_ranges; i++)
         fill_row(order, state, state->ranges[i].memory, class_, &table->rows[class_][i + 1]);
   }
}

/* All */

static void
init_queues(struct gpuval_order *order)
{
   order->queues = rzalloc_array(order, struct queue, order->num_queues);
   for (unsigned i = 0; i < order->num_queues; i++) {
      init_state(order, order->queues, &order->queues[i].state);
      order->queues[i].has_changed = true;
   }
}

struct gpuval_order *
gpuval_order_create(unsigned num_queues)
{
   struct gpuval_order *order = rzalloc(NULL, struct gpuval_order);

   order->num_queues = num_queues;
   order->num_sources = num_queues * GPUVAL_ORDER_STAGE_CLASSES;
   init_queues(order);
   return order;
}

void
gpuval_order_restart(struct gpuval_order *order)
{
   const struct queue *queues = order->queues;

   order->era++;
   order->serial = 0;
   init_queues(order);
   for (unsigned i = 0; i < order->num_queues; i++)
      order->queues[i].version = queues[i].version + 1;
   ralloc_free((void *)queues);
}

void
gpuval_order_destroy(struct gpuval_order *order)
{
   ralloc_free(order);
}
