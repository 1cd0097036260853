/* SPDX-License-Identifier: MIT */

/* What values an integer can have, as far as the shader proves it before it is optimized. */

#ifndef GPUVAL_NIR_RANGE_H
#define GPUVAL_NIR_RANGE_H

#include <stdbool.h>

#include "nir.h"

/** Known ranges of one shader, which must not change meanwhile. */
struct gpuval_nir_ranges;

struct gpuval_nir_ranges *gpuval_nir_ranges_create(nir_function_impl *impl);
void gpuval_nir_ranges_destroy(struct gpuval_nir_ranges *ranges);

/**
 * Returns whether @scalar, of 8 to 64 bits, is always at least 0 and below @count where
 * @block executes.
 */
bool gpuval_nir_is_below(struct gpuval_nir_ranges *ranges, nir_scalar scalar, uint32_t count,
                         const nir_block *block);

#endif
