/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_DUMP_H
#define GPUVAL_DUMP_H

#include "nir_passes/gpuval_nir.h"

/** A number for the files of one shader, unique in the process. */
uint32_t gpuval_dump_begin(void);

/** With GPUVAL_DUMP, writes the shader to HASH.STAGE.NUMBER.WHEN.nir in that folder. */
void gpuval_dump_shader(nir_shader *nir, uint64_t hash, uint32_t number, const char *when);

/** The same of its control flow, HASH.STAGE.NUMBER.WHEN.dot, for GraphViz. */
void gpuval_dump_graph(nir_shader *nir, uint64_t hash, uint32_t number, const char *when);

/** The module that shaders are made from, HASH.spv, once. */
void gpuval_dump_spirv(const void *spirv, size_t size, uint64_t hash);

/** The same for what it prints, HASH.STAGE.NUMBER.format_strings.json. */
void gpuval_dump_formats(nir_shader *nir, uint64_t hash, uint32_t number,
                         const struct gpuval_nir_table *table);

#endif
