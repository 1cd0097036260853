/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_NIR_SINK_H
#define GPUVAL_NIR_SINK_H

#include "gpuval/src/compat/gpuval_nir_memory.h"
#include "util/set.h"
#include "nir.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Moves what is used behind the branch of one of @ifs only there, and where several use it and are
 * among @failures, a copy behind each of these. Both: nir_if *
 */
bool gpuval_nir_sink(nir_function_impl *impl, const struct set *ifs, const struct set *failures);

#ifdef __cplusplus
}
#endif

#endif
