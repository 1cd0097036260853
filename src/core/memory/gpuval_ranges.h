/* SPDX-License-Identifier: MIT */

/* Buffers and memory of a device, by object. */

#ifndef GPUVAL_RANGES_H
#define GPUVAL_RANGES_H

#include "core/device/gpuval_device.h"

#include "util/hash_table.h"
#include "util/rb_tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A buffer, or memory */
struct gpuval_range {
   const struct vk_object_base *object;
   uint64_t address, size;
   struct rb_node node; /* in gpuval_addresses::tree, if */
   bool is_addressed;
};

/** gpuval_device::ranges */
struct gpuval_ranges {
   /* struct vk_object_base * -> struct gpuval_range; images that sync looks at */
   struct hash_table *buffers, *images, *allocations;
};

void gpuval_ranges_init(struct gpuval_device *device);

#ifdef __cplusplus
}
#endif

#endif
