/* SPDX-License-Identifier: MIT */

/* The invocation in its workgroup. llvmpipe divides by the sizes to find its coordinates, lane by
 * lane, and makes the index of these: more than what a small shader does. Each check needs one or
 * the other.
 */

#ifndef GPUVAL_NIR_LOCAL_H
#define GPUVAL_NIR_LOCAL_H

#include "gpuval_nir.h"
#include "nir_builder.h"

static inline bool
gpuval_nir_is_linear(const struct gpuval_nir_driver *driver, const shader_info *info)
{
   return driver->has_linear_subgroups && info->derivative_group != DERIVATIVE_GROUP_QUADS;
}

/** gl_LocalInvocationIndex */
static inline nir_def *
gpuval_nir_local_index(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   if (!gpuval_nir_is_linear(driver, &b->shader->info))
      return nir_load_local_invocation_index(b);
   return nir_ior(b, nir_ishl_imm(b, nir_load_subgroup_id(b), driver->subgroup_bits),
                  nir_load_subgroup_invocation(b));
}

/** gl_LocalInvocationID, by component */
static inline void
gpuval_nir_local_id(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *id[3])
{
   const shader_info *info = &b->shader->info;
   const uint16_t *size = info->workgroup_size;

   if (!gpuval_nir_is_linear(driver, info) || info->workgroup_size_variable) {
      nir_def *all = nir_load_local_invocation_id(b);
      for (unsigned i = 0; i < 3; i++)
         id[i] = nir_channel(b, all, i);
      return;
   }

   nir_def *rest = gpuval_nir_local_index(driver, b);
   for (unsigned i = 0; i < 3; i++) {
      const bool is_last = i == 2 || size[i + 1] * (i ? 1 : size[2]) == 1;

      id[i] = is_last ? rest : nir_umod_imm(b, rest, size[i]);
      rest = is_last ? nir_imm_int(b, 0) : nir_udiv_imm(b, rest, size[i]);
   }
}

#endif
