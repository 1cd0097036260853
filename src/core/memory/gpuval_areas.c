/* SPDX-License-Identifier: MIT */

#include "gpuval_areas.h"

#include <string.h>

unsigned
gpuval_areas_count(const struct util_dynarray *areas)
{
   return util_dynarray_num_elements(areas, struct gpuval_area);
}

/* The number of those that do not begin behind @address */
static unsigned
count_until(const struct util_dynarray *list, uint64_t address)
{
   const struct gpuval_area *areas = list->data;
   unsigned low = 0, high = gpuval_areas_count(list);

   while (low < high) {
      unsigned middle = (low + high) / 2;
      if (areas[middle].begin <= address)
         low = middle + 1;
      else
         high = middle;
   }
   return low;
}

struct gpuval_area *
gpuval_areas_last(const struct util_dynarray *areas, uint64_t address)
{
   unsigned count = count_until(areas, address);
   return count ? (struct gpuval_area *)areas->data + count - 1 : NULL;
}

struct gpuval_area *
gpuval_areas_find(const struct util_dynarray *areas, uint64_t address)
{
   struct gpuval_area *area = gpuval_areas_last(areas, address);
   return area && area->begin == address ? area : NULL;
}

void
gpuval_areas_add(struct util_dynarray *list, const struct gpuval_area *added)
{
   unsigned number = count_until(list, added->begin);

   util_dynarray_append_typed(list, struct gpuval_area, *added);
   struct gpuval_area *areas = list->data;
   memmove(&areas[number + 1], &areas[number],
           (gpuval_areas_count(list) - number - 1) * sizeof(*areas));
   areas[number] = *added;
}

void
gpuval_areas_remove(struct util_dynarray *areas, struct gpuval_area *area)
{
   const struct gpuval_area *end = util_dynarray_end(areas);

   memmove(area, area + 1, (end - (area + 1)) * sizeof(*area));
   areas->size -= sizeof(*area);
}
