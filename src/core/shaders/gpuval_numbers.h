/* SPDX-License-Identifier: MIT */

/* Numbers of sites and entries: each shader has a range of both while it lives. */

#ifndef GPUVAL_NUMBERS_H
#define GPUVAL_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/vma.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_number_range {
   uint32_t first_site, num_sites;
   uint32_t first_entry, num_entries;
};

/**
 * A number that was given back rests before it is used again: what still names it, a
 * claim of sync or a record of a program that has destroyed what it uses, then names
 * nothing and not something else. Those that have rested longest come first.
 */
struct gpuval_numbers {
   struct util_vma_heap sites, entries;
   struct util_dynarray resting; /* struct gpuval_number_range: a queue */
   unsigned first_resting;       /* what lies before has been taken out */
   uint32_t num_resting;         /* sites and entries */
   uint32_t max_resting;
};

/** Numbers below @max_sites and @max_entries. */
void gpuval_numbers_init(struct gpuval_numbers *numbers, void *mem_ctx, uint32_t max_sites,
                         uint32_t max_entries);
void gpuval_numbers_finish(struct gpuval_numbers *numbers);

/** Fills in the firsts of @range, the lowest that are free; false: there is no room. */
bool gpuval_numbers_alloc(struct gpuval_numbers *numbers, struct gpuval_number_range *range);
void gpuval_numbers_free(struct gpuval_numbers *numbers, const struct gpuval_number_range *range);

#ifdef __cplusplus
}
#endif

#endif
