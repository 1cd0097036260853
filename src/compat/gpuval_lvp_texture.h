/* SPDX-License-Identifier: MIT */

/* What a descriptor of lavapipe says of a texture, for the host: gpuval_lvp_descriptor.h */

#ifndef GPUVAL_LVP_TEXTURE_H
#define GPUVAL_LVP_TEXTURE_H

#include "gallivm/lp_bld_jit_types.h"

#include "gpuval/src/compat/gpuval_lvp_descriptor.h"

static inline struct lp_jit_texture
gpuval_lvp_get_texture(const struct lp_descriptor *descriptor)
{
#if GPUVAL_LVP_HAS_TEXTURE_STATE
   const struct lp_texture_functions *functions = descriptor->functions;
   struct lp_jit_texture texture = {0};

   if (functions)
      texture = functions->state.dynamic_state;
   texture.base = descriptor->texture.base;
   return texture;
#else
   return descriptor->texture;
#endif
}

/** A view that has become null: llvmpipe of 25.0 leaves what has been there. */
static inline void
gpuval_lvp_forget_view(struct lp_descriptor *descriptor)
{
#if !GPUVAL_LVP_HAS_TEXTURE_STATE
   descriptor->texture.width = 0; /* that of an image, too */
#endif
}

#if GPUVAL_LVP_HAS_TEXTURE_STATE
static_assert(offsetof(struct lp_texture_functions, state.dynamic_state) ==
                 GPUVAL_LVP_FUNCTIONS_TEXTURE,
              "state of a texture");
#endif
/* Where a field of a texture is */
#define GPUVAL_LVP_TEXTURE(field) offsetof(struct lp_jit_texture, field)

#endif
