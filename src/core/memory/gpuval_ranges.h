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

/* Ranges that are gone are known for a while, where the driver tells of page faults. */
#define GPUVAL_GONE_RANGES 512

struct gpuval_gone_range {
   uint64_t address, size;
   uint64_t object;
   uint32_t type;  /* VkObjectType */
   uint32_t calls; /* gpuval_backtrace_capture(), when it was created */
   char *name;     /* debug_utils, or NULL */
   int64_t when;   /* os_time_get_nano() */
};

/** gpuval_device::ranges */
struct gpuval_ranges {
   /* struct vk_object_base * -> struct gpuval_range; of images see gpuval_device_add_image() */
   struct hash_table *buffers, *images, *allocations;

   struct gpuval_gone_range *gone; /* a ring, or NULL */
   uint32_t num_gone;              /* ever */
};

void gpuval_ranges_init(struct gpuval_device *device);

#ifdef __cplusplus
}
#endif

#endif
