/* SPDX-License-Identifier: MIT */

/* The handle of a texture, a sampler or an image that lvp_lower_pipeline_layout makes of a slot */

#ifndef GPUVAL_LVP_HANDLE_H
#define GPUVAL_LVP_HANDLE_H

#include "gpuval/src/compat/gpuval_lvp_descriptor.h"
#include "nir_builder.h"

static inline nir_def *
gpuval_lvp_get_handle(nir_builder *b, uint32_t set, nir_def *slot)
{
   nir_def *buffer = nir_imm_int(b, set + 1);

#if GPUVAL_MESA >= 2600
   /* The descriptor's address */
   nir_def *offset = nir_imul_imm(b, slot, GPUVAL_LVP_DESCRIPTOR_STRIDE);
   return nir_iadd(b, nir_load_const_buf_base_addr_lvp(b, buffer), nir_u2u64(b, offset));
#else
   /* Constant buffer, slot, 0 */
   return nir_vec3(b, buffer, slot, nir_imm_int(b, 0));
#endif
}

#endif
