/* SPDX-License-Identifier: MIT */

/* indirect: the memory that generated commands are made of. */

#ifndef GPUVAL_LVP_GENERATED_H
#define GPUVAL_LVP_GENERATED_H

#include <stdbool.h>

#include <vulkan/vulkan_core.h>

struct gpuval_lvp;
struct vk_device;

/**
 * To be called before lavapipe reads it, which is when commands are preprocessed. Returns
 * whether it may. On the queue's thread.
 */
bool gpuval_lvp_check_generated(struct gpuval_lvp *gpuval, const struct vk_device *device,
                                const VkGeneratedCommandsInfoEXT *info, bool has_task);

#endif
