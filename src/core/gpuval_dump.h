/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_DUMP_H
#define GPUVAL_DUMP_H

#include "nir.h"

/**
 * With GPUVAL_DUMP, writes the shader to HASH.STAGE.N.WHEN.nir in that folder,
 * N counting the shaders of the process.
 */
void gpuval_dump_shader(nir_shader *nir, uint64_t hash, const char *when);

#endif
