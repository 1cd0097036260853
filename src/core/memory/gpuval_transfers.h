/* SPDX-License-Identifier: MIT */

/* RADV's entry points visit what a command accesses without an entry of vk_cmd_queue for it. */

#ifndef GPUVAL_TRANSFERS_H
#define GPUVAL_TRANSFERS_H

#include "core/commands/gpuval_commands.h"

#define gpuval_transfer          gpuval_command_access
#define gpuval_transfer_function gpuval_access_function
#define gpuval_race_add_transfer gpuval_race_add_access

#define GPUVAL_VISIT(Type, member, ...)                                                            \
   const struct vk_cmd_queue_entry command = {.type = Type, .u.member = {__VA_ARGS__}};            \
   gpuval_command_visit_accesses(&command, NULL, function, data)

#define GPUVAL_DEFINE_VISIT(name, Info, Type, member, info_member)                                 \
   static inline void gpuval_visit_##name(const Info *info, gpuval_access_function function,       \
                                          void *data)                                              \
   {                                                                                               \
      GPUVAL_VISIT(Type, member, .info_member = (Info *)info);                                     \
   }
GPUVAL_DEFINE_VISIT(copy_image, VkCopyImageInfo2, VK_CMD_COPY_IMAGE2, copy_image2, copy_image_info)
GPUVAL_DEFINE_VISIT(blit_image, VkBlitImageInfo2, VK_CMD_BLIT_IMAGE2, blit_image2, blit_image_info)
GPUVAL_DEFINE_VISIT(resolve_image, VkResolveImageInfo2, VK_CMD_RESOLVE_IMAGE2, resolve_image2,
                    resolve_image_info)
GPUVAL_DEFINE_VISIT(copy_buffer_to_image, VkCopyBufferToImageInfo2, VK_CMD_COPY_BUFFER_TO_IMAGE2,
                    copy_buffer_to_image2, copy_buffer_to_image_info)
GPUVAL_DEFINE_VISIT(copy_image_to_buffer, VkCopyImageToBufferInfo2, VK_CMD_COPY_IMAGE_TO_BUFFER2,
                    copy_image_to_buffer2, copy_image_to_buffer_info)
GPUVAL_DEFINE_VISIT(copy_buffer, VkCopyBufferInfo2, VK_CMD_COPY_BUFFER2, copy_buffer2,
                    copy_buffer_info)

GPUVAL_DEFINE_VISIT(copy_structure, VkCopyAccelerationStructureInfoKHR,
                    VK_CMD_COPY_ACCELERATION_STRUCTURE_KHR, copy_acceleration_structure_khr, info)
GPUVAL_DEFINE_VISIT(copy_structure_to_memory, VkCopyAccelerationStructureToMemoryInfoKHR,
                    VK_CMD_COPY_ACCELERATION_STRUCTURE_TO_MEMORY_KHR,
                    copy_acceleration_structure_to_memory_khr, info)
GPUVAL_DEFINE_VISIT(copy_memory_to_structure, VkCopyMemoryToAccelerationStructureInfoKHR,
                    VK_CMD_COPY_MEMORY_TO_ACCELERATION_STRUCTURE_KHR,
                    copy_memory_to_acceleration_structure_khr, info)
GPUVAL_DEFINE_VISIT(begin_conditional_rendering, VkConditionalRenderingBeginInfoEXT,
                    VK_CMD_BEGIN_CONDITIONAL_RENDERING_EXT, begin_conditional_rendering_ext,
                    conditional_rendering_begin)

static inline void
gpuval_visit_build_structures(uint32_t count,
                              const VkAccelerationStructureBuildGeometryInfoKHR *infos,
                              const VkAccelerationStructureBuildRangeInfoKHR *const *ranges,
                              gpuval_access_function function, void *data)
{
   GPUVAL_VISIT(VK_CMD_BUILD_ACCELERATION_STRUCTURES_KHR, build_acceleration_structures_khr,
                .info_count = count, .infos = (VkAccelerationStructureBuildGeometryInfoKHR *)infos,
                .pp_build_range_infos = (const VkAccelerationStructureBuildRangeInfoKHR **)ranges);
}

static inline void
gpuval_visit_clear(VkImage image, uint32_t count, const VkImageSubresourceRange *ranges,
                   gpuval_access_function function, void *data)
{
   GPUVAL_VISIT(VK_CMD_CLEAR_COLOR_IMAGE, clear_color_image, .image = image, .range_count = count,
                .ranges = (VkImageSubresourceRange *)ranges);
}

static inline void
gpuval_visit_fill_buffer(VkBuffer buffer, uint64_t offset, uint64_t size,
                         gpuval_access_function function, void *data)
{
   GPUVAL_VISIT(VK_CMD_FILL_BUFFER, fill_buffer, .dst_buffer = buffer, .dst_offset = offset,
                .size = size);
}

#endif
