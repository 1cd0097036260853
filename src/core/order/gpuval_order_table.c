/* SPDX-License-Identifier: MIT */

/* What there is to ask of the model, and the tables for shaders. */

#include <string.h>
#include <strings.h>

#include "gpuval_order_state.h"

uint64_t
gpuval_order_version(const struct gpuval_order *order, unsigned queue)
{
   return order->queues[queue].version;
}

uint64_t
gpuval_order_num_spans(const struct gpuval_order *order)
{
   return order->num_spans;
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

/* Of vectors from @first on, by stage: the highest entry of a source in the stages of a class.
 * Where these are several, what is missed so is never false.
 */
static uint32_t
get_in_stages(const struct gpuval_order *order, uint32_t *vectors, unsigned first, unsigned class_,
              unsigned source)
{
   uint32_t highest = 0;

   u_foreach_bit64 (stage, gpuval_order_class_stage(class_))
      highest = MAX2(highest, get_vector(order, vectors, first + stage)[source]);
   return highest;
}

static uint32_t
get_available(const struct gpuval_order *order, const struct state *state, uint32_t *memory,
              enum gpuval_order_class class_, enum gpuval_order_access access, unsigned source)
{
   if (access == GPUVAL_ORDER_WRITE)
      return get_in_stages(order, memory, AVAILABLE, class_, source);

   unsigned index = VISIBLE + class_ * READS + access - GPUVAL_ORDER_ATOMIC;
   return MAX2(get_vector(order, memory, index)[source],
               get_in_stages(order, state->execution, SEEN, class_, source));
}

uint32_t
gpuval_order_executed(const struct gpuval_order *order, unsigned queue, unsigned class_,
                      unsigned source)
{
   return get_in_stages(order, order->queues[queue].state.execution, EXECUTED, class_, source);
}

uint32_t
gpuval_order_any_executed(const struct gpuval_order *order, unsigned queue, unsigned source)
{
   const struct state *state = &order->queues[queue].state;
   uint32_t highest = 0;

   for (unsigned stage = 0; stage < GPUVAL_ORDER_STAGES; stage++)
      highest = MAX2(highest, get_vector(order, state->execution, EXECUTED + stage)[source]);
   return highest;
}

uint32_t
gpuval_order_available(const struct gpuval_order *order, unsigned queue,
                       enum gpuval_order_class class_, enum gpuval_order_access access,
                       uint64_t address, unsigned source)
{
   const struct state *state = &order->queues[queue].state;

   return get_available(order, state, gpuval_order_find_memory(state, address), class_, access,
                        source);
}

static uint32_t
get_highest(const struct gpuval_order *order, unsigned queue, enum gpuval_order_class class_,
            enum gpuval_order_access first, enum gpuval_order_access last, unsigned source)
{
   const struct state *state = &order->queues[queue].state;
   uint32_t highest = 0;

   for (unsigned i = 0; i <= state->num_ranges; i++) {
      uint32_t *memory = i ? state->ranges[i - 1].memory : state->memory;
      for (unsigned j = first; j <= last; j++)
         highest = MAX2(highest, get_available(order, state, memory, class_, j, source));
   }
   return highest;
}

uint32_t
gpuval_order_made_available(const struct gpuval_order *order, unsigned queue, unsigned source)
{
   const struct state *state = &order->queues[queue].state;
   uint32_t highest = 0;

   for (unsigned i = 0; i <= state->num_ranges; i++) {
      uint32_t *memory = i ? state->ranges[i - 1].memory : state->memory;
      for (unsigned stage = 0; stage < GPUVAL_ORDER_STAGES; stage++)
         highest = MAX2(highest, get_vector(order, memory, AVAILABLE + stage)[source]);
   }
   return highest;
}

uint32_t
gpuval_order_any_available(const struct gpuval_order *order, unsigned queue,
                           enum gpuval_order_class class_, unsigned source)
{
   return get_highest(order, queue, class_, GPUVAL_ORDER_WRITE, GPUVAL_ORDER_WRITE, source);
}

uint32_t
gpuval_order_any_visible(const struct gpuval_order *order, unsigned queue,
                         enum gpuval_order_class class_, unsigned source)
{
   return get_highest(order, queue, class_, GPUVAL_ORDER_ATOMIC, GPUVAL_ORDER_SAMPLED_READ, source);
}

static void
fill_row(const struct gpuval_order *order, const struct state *state, uint32_t *memory,
         enum gpuval_order_class class_, struct gpuval_order_row *row)
{
   memset(row, 0, sizeof(*row));
   for (unsigned source = 0; source < order->num_sources; source++) {
      unsigned queue = gpuval_order_source_queue(source);
      unsigned to = queue ? gpuval_order_queue_class(queue) : gpuval_order_source_class(source);
      if (!gpuval_order_has_bytes(gpuval_order_source_class(source)))
         continue;
      uint32_t executed = get_in_stages(order, state->execution, EXECUTED, class_, source);

      row->execution_watermark[to] = MAX2(row->execution_watermark[to], executed);
      for (unsigned i = 0; i < GPUVAL_ORDER_ACCESSES; i++) {
         uint32_t available = get_available(order, state, memory, class_, i, source);
         row->memory_watermark[i][to] = MAX2(row->memory_watermark[i][to], available);
      }
   }
}

uint64_t
gpuval_order_get_row(const struct gpuval_order *order, unsigned queue,
                     enum gpuval_order_class class_, uint64_t address, struct gpuval_order_row *row)
{
   const struct state *state = &order->queues[queue].state;
   uint64_t end = UINT64_MAX;

   for (unsigned i = state->num_ranges; i--;) {
      if (address < state->ranges[i].begin)
         end = state->ranges[i].begin;
      else if (address < state->ranges[i].end)
         end = state->ranges[i].end;
   }
   fill_row(order, state, gpuval_order_find_memory(state, address), class_, row);
   return end;
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

/* What of a source is ordered before, at every address, as far as @first to @last go */
static uint32_t
get_lowest(const struct gpuval_order *order, unsigned queue, uint32_t classes,
           enum gpuval_order_access first, enum gpuval_order_access last, unsigned source)
{
   const struct state *state = &order->queues[queue].state;
   unsigned source_class = gpuval_order_source_class(source);
   bool has_written =
      source_class != GPUVAL_ORDER_INDIRECT && source_class != GPUVAL_ORDER_VERTEX_INPUT;
   uint32_t lowest = UINT32_MAX;

   u_foreach_bit (class_, classes) {
      lowest = MIN2(lowest, gpuval_order_executed(order, queue, class_, source));
      for (unsigned i = 0; has_written && i <= state->num_ranges; i++) {
         uint32_t *memory = i ? state->ranges[i - 1].memory : state->memory;
         for (unsigned j = first; j <= last; j++)
            lowest = MIN2(lowest, get_available(order, state, memory, class_, j, source));
      }
   }
   return lowest;
}

struct gpuval_order_threshold
gpuval_order_get_threshold(const struct gpuval_order *order, unsigned queue, uint32_t classes)
{
   struct gpuval_order_threshold threshold = {UINT32_MAX, UINT32_MAX};

   for (unsigned source = 0; source < order->num_sources; source++) {
      uint32_t last = order->last[source];
      if (!last)
         continue;

      uint32_t storage =
         get_lowest(order, queue, classes, GPUVAL_ORDER_WRITE, GPUVAL_ORDER_STORAGE_READ, source);
      /* Barriers for uniform reads are mostly not for rays, which are about builds only. */
      bool is_build = gpuval_order_source_class(source) == GPUVAL_ORDER_STRUCTURES;
      enum gpuval_order_access last_read =
         is_build ? GPUVAL_ORDER_RAY_READ : GPUVAL_ORDER_SAMPLED_READ;
      uint32_t others =
         get_lowest(order, queue, classes, GPUVAL_ORDER_UNIFORM_READ, last_read, source);
      if (storage < last)
         threshold.storage = MIN2(threshold.storage, storage);
      if (others < last)
         threshold.others = MIN2(threshold.others, others);
   }
   return threshold;
}
