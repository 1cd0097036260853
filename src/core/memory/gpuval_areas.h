/* SPDX-License-Identifier: MIT */

/* Memory of the program that something is kept of, sorted by address: for the tables that
 * shaders search.
 */

#ifndef GPUVAL_AREAS_H
#define GPUVAL_AREAS_H

#include "gpuval_addresses.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/bitset.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_area {
   uint64_t begin, size;
   struct gpuval_buffer beside; /* what is kept: cells, or marks */
   BITSET_WORD *pages;          /* of marks: those that the host has marked */
};

/* Lists are of these. */

unsigned gpuval_areas_count(const struct util_dynarray *areas);

/** The last one that does not begin behind @address, or NULL */
struct gpuval_area *gpuval_areas_last(const struct util_dynarray *areas, uint64_t address);

/** The one that begins there, or NULL */
struct gpuval_area *gpuval_areas_find(const struct util_dynarray *areas, uint64_t address);

void gpuval_areas_add(struct util_dynarray *areas, const struct gpuval_area *added);

/** @area is in the list. */
void gpuval_areas_remove(struct util_dynarray *areas, struct gpuval_area *area);

#ifdef __cplusplus
}
#endif

#endif
