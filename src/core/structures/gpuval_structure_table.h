/* SPDX-License-Identifier: MIT */

/* The acceleration structures of a device. */

#ifndef GPUVAL_STRUCTURE_TABLE_H
#define GPUVAL_STRUCTURE_TABLE_H

#include "core/device/gpuval_device.h"
#include "gpuval_structures.h"

#ifdef __cplusplus
extern "C" {
#endif

/** gpuval_device::structures */
struct gpuval_structure_table {
   struct gpuval_buffer buffer; /* what shaders look at, where ray is on */
   struct gpuval_structures all;
   bool warned;
};

/** When a device is created, and its buffers are there. */
void gpuval_structure_table_init(struct gpuval_device *device);
void gpuval_structure_table_finish(struct gpuval_device *device);

#ifdef __cplusplus
}
#endif

#endif
