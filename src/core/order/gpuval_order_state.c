/* SPDX-License-Identifier: MIT */

#include "gpuval_order_state.h"

#include <string.h>

#include "util/ralloc.h"

static size_t
memory_size(const struct gpuval_order *order)
{
   return (size_t)MEMORY_VECTORS * order->num_sources * sizeof(uint32_t);
}

void
gpuval_order_init_state(const struct gpuval_order *order, void *mem_ctx, struct state *state)
{
   *state = (struct state){
      .is_seen_by_all = true,
      .execution = rzalloc_array(mem_ctx, uint32_t, EXECUTION_VECTORS * order->num_sources),
      .memory = rzalloc_size(mem_ctx, memory_size(order)),
   };
}

void
gpuval_order_copy_state(const struct gpuval_order *order, void *mem_ctx, struct state *to,
                        const struct state *from)
{
   *to = *from;
   to->execution = ralloc_memdup(mem_ctx, from->execution,
                                 (size_t)EXECUTION_VECTORS * order->num_sources * sizeof(uint32_t));
   to->memory = ralloc_memdup(mem_ctx, from->memory, memory_size(order));
   for (unsigned i = 0; i < from->num_ranges; i++)
      to->ranges[i].memory = ralloc_memdup(mem_ctx, from->ranges[i].memory, memory_size(order));
}

void
gpuval_order_free_state(struct state *state)
{
   for (unsigned i = 0; i < state->num_ranges; i++)
      ralloc_free(state->ranges[i].memory);
   ralloc_free(state->execution);
   ralloc_free(state->memory);
}

uint32_t *
gpuval_order_find_memory(const struct state *state, uint64_t address)
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

bool
gpuval_order_split_ranges(const struct gpuval_order *order, struct state *state, uint64_t begin,
                          uint64_t end)
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

void
gpuval_order_join_ranges(const struct gpuval_order *order, struct state *state)
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
