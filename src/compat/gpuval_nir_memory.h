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

static inline nir_def *
gpuval_load_global_constant(nir_builder *b, nir_def *address, unsigned alignment,
                            unsigned num_components, unsigned bit_size)
{
#if GPUVAL_MESA >= 2600
   return nir_load_global_constant(b, num_components, bit_size, address, .align_mul = alignment);
#else
   return nir_load_global_constant(b, address, alignment, num_components, bit_size);
#endif
}

/** Of what nobody writes while a command runs: AMD's scalar unit may load it. */
static inline nir_def *
gpuval_load_fixed(nir_builder *b, nir_def *address, unsigned alignment, unsigned num_components,
                  unsigned bit_size)
{
   return nir_build_load_global(
      b, num_components, bit_size, address,
      .access = (enum gl_access_qualifier)(ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER),
      .align_mul = alignment);
}

/** Of AMD's scalar memory: @offset is the same in all lanes. */
static inline nir_def *
gpuval_load_smem(nir_builder *b, unsigned num_components, nir_def *address, nir_def *offset,
                 unsigned alignment)
{
#if GPUVAL_MESA >= 2600
   return nir_load_global(b, num_components, 32, nir_iadd(b, address, nir_u2u64(b, offset)),
                          .access = (enum gl_access_qualifier)(
                             ACCESS_CAN_REORDER | ACCESS_NON_WRITEABLE | ACCESS_SMEM_AMD),
                          .align_mul = alignment);
#else
   return nir_load_smem_amd(b, num_components, address, offset, .align_mul = alignment);
#endif
}

/* Is scalar memory what load_global loads from, with a flag? */
#define GPUVAL_SMEM_IS_GLOBAL (GPUVAL_MESA >= 2600)

static inline bool
gpuval_is_smem(const nir_intrinsic_instr *intrin)
{
#if GPUVAL_SMEM_IS_GLOBAL
   return intrin->intrinsic == nir_intrinsic_load_global &&
          nir_intrinsic_access(intrin) & ACCESS_SMEM_AMD;
#else
   return intrin->intrinsic == nir_intrinsic_load_smem_amd;
#endif
}

/** Is that an access of scalar memory by what drivers lower to? */
static inline bool
gpuval_is_lowered_smem(const nir_intrinsic_instr *intrin)
{
#if GPUVAL_SMEM_IS_GLOBAL
   return intrin->intrinsic == nir_intrinsic_load_global_amd &&
          nir_intrinsic_access(intrin) & ACCESS_SMEM_AMD;
#else
   return intrin->intrinsic == nir_intrinsic_load_smem_amd;
#endif
}

/** Level 0 of what is no array */
static inline nir_def *
gpuval_fetch_texel(nir_builder *b, nir_deref_instr *texture, nir_def *coord)
{
#if GPUVAL_MESA >= 2600
   return nir_txf(b, coord, .texture_deref = texture);
#else
   return nir_txf_deref(b, texture, coord, NULL);
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
