/* SPDX-License-Identifier: MIT */

/* Between the files of the exact engine only. */

#ifndef GPUVAL_NIR_SHADOW_H
#define GPUVAL_NIR_SHADOW_H

#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval_nir.h"

/** A half of a cell */
struct gpuval_shadow_half {
   nir_def *lo, *hi;
};

/** A field of struct gpuval_shadow_layout. */
nir_def *gpuval_shadow_load_layout(nir_builder *b, nir_def *layout, unsigned bit_size,
                                   unsigned offset);

/** The address in the window that has the cells of @address, or 0. */
nir_def *gpuval_shadow_find_cells(nir_builder *b, const struct gpuval_nir_driver *driver,
                                  nir_def *layout, nir_def *address);

/** What an atomic, or a memory barrier, does to the order inside a command. @op is an
 * enum gpuval_sync_order, @address in the window or 0.
 */
void gpuval_shadow_build_order(nir_builder *b, nir_def *layout, nir_def *op, nir_def *address,
                               nir_def *tag, nir_def *workgroup);

/**
 * 1 bit: may @party, of another workgroup of the same command or another invocation of
 * this one, be ordered before by what was released and acquired?
 */
nir_def *gpuval_shadow_may_be_acquired(nir_builder *b, nir_def *layout, nir_def *tag,
                                       nir_def *workgroup, nir_def *party_workgroup,
                                       nir_def *party_is_known);

#endif
