/* SPDX-License-Identifier: MIT */

/* Short names for what tests of order are about. */

#ifndef ORDER_NAMES_H
#define ORDER_NAMES_H

#include <vector>

#include <vulkan/vulkan_core.h>

#include "core/order/gpuval_order_model.h"

namespace {

constexpr VkPipelineStageFlags2 COMPUTE = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
constexpr VkPipelineStageFlags2 VERTEX = VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT;
constexpr VkPipelineStageFlags2 TASK = VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_EXT;
constexpr VkPipelineStageFlags2 FRAGMENT = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT;
constexpr VkPipelineStageFlags2 RAYS = VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR;
constexpr VkPipelineStageFlags2 INDIRECT = VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT;
constexpr VkPipelineStageFlags2 COPY = VK_PIPELINE_STAGE_2_COPY_BIT;
constexpr VkPipelineStageFlags2 TRANSFER = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
constexpr VkPipelineStageFlags2 COLOR = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT;
constexpr VkPipelineStageFlags2 HOST = VK_PIPELINE_STAGE_2_HOST_BIT;
constexpr VkPipelineStageFlags2 TOP = VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT;
constexpr VkPipelineStageFlags2 BOTTOM = VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT;
constexpr VkPipelineStageFlags2 ALL = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
constexpr VkPipelineStageFlags2 GRAPHICS = VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT;

constexpr VkAccessFlags2 READ = VK_ACCESS_2_SHADER_READ_BIT;
constexpr VkAccessFlags2 WRITE = VK_ACCESS_2_SHADER_WRITE_BIT;
constexpr VkAccessFlags2 UNIFORM_READ = VK_ACCESS_2_UNIFORM_READ_BIT;
constexpr VkAccessFlags2 STORAGE_READ = VK_ACCESS_2_SHADER_STORAGE_READ_BIT;
constexpr VkAccessFlags2 SAMPLED_READ = VK_ACCESS_2_SHADER_SAMPLED_READ_BIT;
constexpr VkAccessFlags2 MEMORY_READ = VK_ACCESS_2_MEMORY_READ_BIT;
constexpr VkAccessFlags2 MEMORY_WRITE = VK_ACCESS_2_MEMORY_WRITE_BIT;
constexpr VkAccessFlags2 INDIRECT_READ = VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT;

using barriers = std::vector<gpuval_order_barrier>;

inline gpuval_order_barrier
barrier(VkPipelineStageFlags2 src, VkAccessFlags2 src_access, VkPipelineStageFlags2 dst,
        VkAccessFlags2 dst_access, uint64_t begin = 0, uint64_t end = UINT64_MAX)
{
   return {src, dst, src_access, dst_access, begin, end};
}

} /* namespace */

#endif
