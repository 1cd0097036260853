/* SPDX-License-Identifier: MIT */

/* How often each block of each shader of a device was executed: the option --coverage.
 *
 * Shaders add to a counter for each of their entries of GPUVAL_KIND_COVERED
 * (nir_passes/gpuval_nir_coverage.c). When nothing can run a shader any more, or all ends, its
 * counters are read, by place in the module: pipelines made of one module add up. At the end,
 * counts of blocks become those of lines, functions and branches (report/gpuval_lcov.h).
 */

#ifndef GPUVAL_COVERAGE_H
#define GPUVAL_COVERAGE_H

#include "gpuval_shader.h"

#ifdef __cplusplus
extern "C" {
#endif

/** gpuval_device::coverage */
struct gpuval_coverage {
   struct gpuval_buffer counters; /* uint64_t[gpuval_device_info::max_entries] */
   struct hash_table *modules;    /* hash of the module, stage, entry point -> its counts */
   uint32_t left_out;             /* shaders that there was no room for */
   uint32_t said;                 /* how many of these the log knows of */
};

/** Returns false where there is no memory for counters. */
bool gpuval_coverage_init(struct gpuval_device *device);
void gpuval_coverage_finish(struct gpuval_device *device);

/** Reads the counters of @shader, which are 0 from here on. device->mutex is held. */
void gpuval_coverage_take(struct gpuval_device *device, struct gpuval_shader *shader);

#ifdef __cplusplus
}
#endif

#endif
