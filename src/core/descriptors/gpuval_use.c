/* SPDX-License-Identifier: MIT */

#include "gpuval_use.h"

#include "gpuval/src/nir_passes/gpuval_nir.h"

bool
gpuval_use_is_bad(const struct gpuval_objects *objects, const struct gpuval_nir_use *use,
                  const struct gpuval_descriptor *descriptor, bool *harmful)
{
   *harmful = !descriptor;
   if (!descriptor)
      return true;

   uint32_t missing =
      use->required & (GPUVAL_OFFERS_TYPES | GPUVAL_OFFERS_VIEWS) & ~descriptor->offers;
   uint32_t format = use->required >> GPUVAL_USE_FORMAT_SHIFT;
   bool other_format = format && gpuval_format_bits(format) & ~descriptor->format;
   *harmful = missing & ~GPUVAL_OFFERS_CLASSES ||
              (other_format && gpuval_nir_texel_of_use(use->required) & ~descriptor->offers) ||
              (use->required & GPUVAL_OFFERS_RESOURCES &&
               !gpuval_objects_is_alive(objects, descriptor->object)) ||
              (use->required & GPUVAL_OFFERS_SAMPLER &&
               !gpuval_objects_is_alive(objects, descriptor->sampler));
   return *harmful || missing || other_format;
}
