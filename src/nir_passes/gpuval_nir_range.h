/* SPDX-License-Identifier: MIT */

/* What values an integer can have, as far as the shader proves it before it is optimized. */

#ifndef GPUVAL_NIR_RANGE_H
#define GPUVAL_NIR_RANGE_H

#include <stdbool.h>

#include "gpuval/src/compat/gpuval_nir_names.h"

#ifdef __cplusplus
extern "C" {
#endif

/** To be called before gpuval_nir_is_below(), and again where @impl has changed. */
void gpuval_nir_require_ranges(nir_function_impl *impl);

/**
 * Returns whether @scalar, of 8 to 64 bits, is always at least 0 and below @count where
 * @block executes.
 */
bool gpuval_nir_is_below(nir_scalar scalar, uint32_t count, const nir_block *block);

#ifdef __cplusplus
}
#endif

#endif
