/* SPDX-License-Identifier: MIT */

/* Sets of pipeline stages as scopes of dependencies have them. */

#ifndef GPUVAL_ORDER_STAGES_H
#define GPUVAL_ORDER_STAGES_H

#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bits of stages that are known are below this one. */
#define GPUVAL_ORDER_STAGES 42

/* Both for execution and for memory, without bits that stand for others */
struct gpuval_order_stages {
   VkPipelineStageFlags2 access;    /* those named */
   VkPipelineStageFlags2 execution; /* and those that come before, or after, in a pipeline */
};

struct gpuval_order_stages gpuval_order_first_stages(VkPipelineStageFlags2 stages);
struct gpuval_order_stages gpuval_order_second_stages(VkPipelineStageFlags2 stages);

#ifdef __cplusplus
}
#endif

#endif
