/* SPDX-License-Identifier: MIT */

#include "gpuval_numbers.h"

#include <string.h>

#include "util/macros.h"

/* This many numbers rest, which are a few MiB of tables, but no more than an eighth */
#define MAX_RESTING (1u << 17)

void
gpuval_numbers_init(struct gpuval_numbers *numbers, void *mem_ctx, uint32_t max_sites,
                    uint32_t max_entries)
{
   memset(numbers, 0, sizeof(*numbers));
   /* 0 is no address to a heap: those are numbers plus 1. */
   util_vma_heap_init(&numbers->sites, 1, max_sites);
   util_vma_heap_init(&numbers->entries, 1, max_entries);
   numbers->sites.alloc_high = numbers->entries.alloc_high = false;
   util_dynarray_init(&numbers->resting, mem_ctx);
   numbers->max_resting = MIN2(MAX_RESTING, (max_sites + max_entries) / 8);
}

void
gpuval_numbers_finish(struct gpuval_numbers *numbers)
{
   util_vma_heap_finish(&numbers->sites);
   util_vma_heap_finish(&numbers->entries);
}

static void
free_range(struct util_vma_heap *heap, uint32_t first, uint32_t count)
{
   if (count)
      util_vma_heap_free(heap, (uint64_t)first + 1, count);
}

static bool
alloc_range(struct util_vma_heap *heap, uint32_t count, uint32_t *first)
{
   uint64_t address = count ? util_vma_heap_alloc(heap, count, 1) : 1;

   *first = address - 1;
   return address != 0;
}

static bool
alloc(struct gpuval_numbers *numbers, struct gpuval_number_range *range)
{
   if (!alloc_range(&numbers->sites, range->num_sites, &range->first_site))
      return false;
   if (alloc_range(&numbers->entries, range->num_entries, &range->first_entry))
      return true;

   free_range(&numbers->sites, range->first_site, range->num_sites);
   return false;
}

/* The one that rests longest can be used again. */
static void
wake(struct gpuval_numbers *numbers)
{
   const struct gpuval_number_range *range = util_dynarray_element(
      &numbers->resting, struct gpuval_number_range, numbers->first_resting++);

   numbers->num_resting -= range->num_sites + range->num_entries;
   free_range(&numbers->sites, range->first_site, range->num_sites);
   free_range(&numbers->entries, range->first_entry, range->num_entries);
}

bool
gpuval_numbers_alloc(struct gpuval_numbers *numbers, struct gpuval_number_range *range)
{
   while (!alloc(numbers, range)) {
      if (!numbers->num_resting)
         return false;
      wake(numbers);
   }
   return true;
}

void
gpuval_numbers_free(struct gpuval_numbers *numbers, const struct gpuval_number_range *range)
{
   util_dynarray_append_typed(&numbers->resting, struct gpuval_number_range, *range);
   numbers->num_resting += range->num_sites + range->num_entries;
   while (numbers->num_resting > numbers->max_resting)
      wake(numbers);

   /* Half of the queue is behind us. */
   unsigned count = util_dynarray_num_elements(&numbers->resting, struct gpuval_number_range);
   if (numbers->first_resting > count / 2) {
      struct gpuval_number_range *ranges = util_dynarray_begin(&numbers->resting);
      numbers->resting.size -= numbers->first_resting * sizeof(*ranges);
      memmove(ranges, ranges + numbers->first_resting, numbers->resting.size);
      numbers->first_resting = 0;
   }
}
