/* SPDX-License-Identifier: MIT */

/* Mesa's Vulkan runtime */

#ifndef GPUVAL_RUNTIME_H
#define GPUVAL_RUNTIME_H

#include "vk_acceleration_structure.h"
#include "vk_buffer.h"
#include "vk_cmd_queue.h"
#include "vk_render_pass.h"

#include "gpuval/src/compat/gpuval_mesa.h"

static inline VkBuffer
gpuval_structure_buffer(const struct vk_acceleration_structure *structure)
{
#if GPUVAL_MESA >= 2600
   return vk_buffer_to_handle(structure->buffer);
#else
   return structure->buffer;
#endif
}

static inline void
gpuval_set_structure_buffer(struct vk_acceleration_structure *structure, struct vk_buffer *buffer)
{
#if GPUVAL_MESA >= 2600
   structure->buffer = buffer;
#else
   structure->buffer = vk_buffer_to_handle(buffer);
#endif
}

/** Is a rendering with these flags one that the runtime makes of a subpass? */
static inline bool
gpuval_is_subpass(VkRenderingFlags flags)
{
#if GPUVAL_MESA >= 2600
   return flags & VK_RENDERING_LOCAL_READ_CONCURRENT_ACCESS_CONTROL_BIT_KHR;
#else
   return flags & VK_RENDERING_INPUT_ATTACHMENT_NO_CONCURRENT_WRITES_BIT_MESA;
#endif
}

/** Does memory with these flags (VkMemoryAllocateFlagsInfo) begin as zeros? */
static inline bool
gpuval_is_zeroed(VkMemoryAllocateFlags flags)
{
#if GPUVAL_MESA >= 2600
   return flags & VK_MEMORY_ALLOCATE_ZERO_INITIALIZE_BIT_EXT;
#else
   return false;
#endif
}

/* The command that the runtime makes of vkCmdEndRendering() */
#if GPUVAL_MESA >= 2600
#define GPUVAL_CMD_END_RENDERING VK_CMD_END_RENDERING2_KHR
#else
#define GPUVAL_CMD_END_RENDERING VK_CMD_END_RENDERING
#endif

#endif
