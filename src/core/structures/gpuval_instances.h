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
};

const VkAccelerationStructureInstanceKHR *
gpuval_instances_get(const struct gpuval_instances *instances, uint32_t i);

/** Does an instance that is not inactive refer to what there is? */
bool gpuval_instances_is_good(struct gpuval_device *device, uint64_t reference);

/**
 * Adds those that are bad to @failure, whose count is how many there are; what is said is of
 * the first one. References that are good (uint64_t) are appended. Only where
 * gpuval_device_structures() is not NULL.
 */
void gpuval_instances_check(struct gpuval_device *device, const struct gpuval_instances *instances,
                            struct gpuval_command_failure *failure,
                            struct util_dynarray *references);

#ifdef __cplusplus
}
#endif

#endif
