/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_LVP_JIT_H
#define GPUVAL_LVP_JIT_H

#include <stdint.h>

struct gpuval_lvp_jit;
struct lvp_device;

struct gpuval_lvp_functions {
   uint64_t report; /* gpuval_command_data::report_function */
   uint64_t sync;   /* gpuval_command_data::sync_function, 0 if the check is off */
   uint64_t printf; /* gpuval_command_data::printf_function, the same */
};

/** Compiles the functions that shaders call. They live as long as what is returned. */
struct gpuval_lvp_jit *gpuval_lvp_jit_create(struct lvp_device *device,
                                             struct gpuval_lvp_functions *functions);
void gpuval_lvp_jit_destroy(struct gpuval_lvp_jit *jit);

#endif
