/* SPDX-License-Identifier: MIT */

/* ray: what top-level acceleration structures are built of. */

#ifndef GPUVAL_INSTANCES_H
#define GPUVAL_INSTANCES_H

#include <stdbool.h>
#include <stdint.h>

#include <vulkan/vulkan_core.h>

#include "base/gpuval_failure.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_device;
struct util_dynarray;

/** The instances of one geometry. */
struct gpuval_instances {
   const void *data;       /* for the host */
   bool array_of_pointers; /* which are the host's, too */
   uint64_t address;       /* that the device has for @data; 0: it is not known */
   uint32_t count;

   /* Where addresses are the program's, which may be bad: only what is in buffers of that device is
    * read. NULL: all can be read.
    */
   struct gpuval_device *device;
   uint32_t num_there;   /* instances, or pointers, in the buffer where they begin */
   uint64_t begin, size; /* of the buffer with the instance that a pointer has led to last */
};

/** Finds out which of them are there, with @device set. */
void gpuval_instances_find(struct gpuval_instances *instances);

/** Returns NULL where the instance, or the pointer to it, is in no buffer. */
const VkAccelerationStructureInstanceKHR *gpuval_instances_get(struct gpuval_instances *instances,
                                                               uint32_t i);

/** Does an instance that is not inactive refer to what there is? */
bool gpuval_instances_is_good(struct gpuval_device *device, uint64_t reference);

/**
 * Adds those that are bad to @failure, whose count is how many there are; what is said is of
 * the first one. References that are good (uint64_t) are appended. Only where
 * gpuval_device_structures() is not NULL.
 */
void gpuval_instances_check(struct gpuval_device *device, struct gpuval_instances *instances,
                            struct gpuval_command_failure *failure,
                            struct util_dynarray *references);

#ifdef __cplusplus
}
#endif

#endif
