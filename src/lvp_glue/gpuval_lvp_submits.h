/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_LVP_SUBMITS_H
#define GPUVAL_LVP_SUBMITS_H

#include <stdint.h>

#include <vulkan/vulkan_core.h>

/** driver_data of VK_CMD_WAIT_EVENTS2: what the application's barriers say. */
struct gpuval_lvp_wait {
   uint32_t count;
   VkMemoryBarrier2 barriers[]; /* scopes only */
};

#endif
