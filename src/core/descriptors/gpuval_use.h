/* SPDX-License-Identifier: MIT */

/* Constant uses of descriptors, which the host judges where it knows a command's sets: the same as
 * gpuval_nir_build_use() in a shader.
 */

#ifndef GPUVAL_USE_H
#define GPUVAL_USE_H

#include "gpuval_objects.h"

struct gpuval_nir_use;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Is @descriptor, NULL where there is no such element, wrong for @use? @harmful: GPUVAL_SAFE does
 * not perform the access.
 */
bool gpuval_use_is_bad(const struct gpuval_objects *objects, const struct gpuval_nir_use *use,
                       const struct gpuval_descriptor *descriptor, bool *harmful);

#ifdef __cplusplus
}
#endif

#endif
