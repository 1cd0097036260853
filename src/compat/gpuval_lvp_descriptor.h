/* SPDX-License-Identifier: MIT */

/* struct lp_descriptor, in bytes; gpuval_lvp.c asserts that it is so.
 *
 * Since 25.1 a descriptor of a texture has no more than where its texels are, and a pointer to
 * struct lp_texture_functions, which llvmpipe keeps as long as its context. There is a struct
 * lp_jit_texture, too, which in 25.0 is the descriptor.
 */

#ifndef GPUVAL_LVP_DESCRIPTOR_H
#define GPUVAL_LVP_DESCRIPTOR_H

#include "gpuval/src/compat/gpuval_mesa.h"

#if GPUVAL_MESA >= 2600
#define GPUVAL_LVP_DESCRIPTOR_STRIDE      64
#define GPUVAL_LVP_DESCRIPTOR_SAMPLER_LOD 24
#define GPUVAL_LVP_DESCRIPTOR_FUNCTIONS   56
#define GPUVAL_LVP_FUNCTIONS_TEXTURE      64 /* in struct lp_texture_functions */
#define GPUVAL_LVP_HAS_TEXTURE_STATE      1
#else
#define GPUVAL_LVP_DESCRIPTOR_STRIDE      256
#define GPUVAL_LVP_DESCRIPTOR_SAMPLER_LOD 216
#define GPUVAL_LVP_DESCRIPTOR_FUNCTIONS   248
#define GPUVAL_LVP_FUNCTIONS_TEXTURE      0
#define GPUVAL_LVP_HAS_TEXTURE_STATE      0
#endif

#endif
