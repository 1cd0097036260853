/* SPDX-License-Identifier: MIT */

/* Loads and stores of global memory, aligned to @alignment bytes */

#ifndef GPUVAL_NIR_MEMORY_H
#define GPUVAL_NIR_MEMORY_H

#include "gpuval/src/compat/gpuval_nir_names.h"
#include "nir_builder.h"

static inline nir_def *
gpuval_load_global(nir_builder *b, nir_def *address, unsigned alignment, unsigned num_components,
                   unsigned bit_size)
{
#if GPUVAL_MESA >= 2600
   return nir_load_global(b, num_components, bit_size, address, .align_mul = alignment);
#else
   return nir_load_global(b, address, alignment, num_components, bit_size);
#endif
}

static inline void
gpuval_store_global(nir_builder *b, nir_def *address, unsigned alignment, nir_def *value,
                    nir_component_mask_t mask)
{
#if GPUVAL_MESA >= 2600
   nir_store_global(b, value, address, .write_mask = mask, .align_mul = alignment);
#else
   nir_store_global(b, address, alignment, value, mask);
#endif
}

#endif
