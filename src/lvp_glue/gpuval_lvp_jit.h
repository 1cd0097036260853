/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_LVP_JIT_H
#define GPUVAL_LVP_JIT_H

#include <stdint.h>

struct gpuval_lvp_jit;
struct lvp_device;

/**
 * Compiles the report's function, which lives as long as what is returned.
 * *address goes into gpuval_command_data::report_function.
 */
struct gpuval_lvp_jit *gpuval_lvp_jit_create(struct lvp_device *device, uint64_t *address);
void gpuval_lvp_jit_destroy(struct gpuval_lvp_jit *jit);

#endif
