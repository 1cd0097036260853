/* SPDX-License-Identifier: MIT */

/* The commands of VK_KHR_copy_memory_indirect, which 25.0 does not know. What each copy is stands
 * in memory: VkCopyMemoryIndirectCommandNV, or VkCopyMemoryToImageIndirectCommandNV where there is
 * an image, as these structs are called in both.
 */

#ifndef GPUVAL_INDIRECT_COPIES_H
#define GPUVAL_INDIRECT_COPIES_H

#include "vk_cmd_queue.h"

#include "gpuval/src/compat/gpuval_mesa.h"

struct gpuval_indirect_copies {
   VkDeviceAddress address; /* of the first of @count structs, which are @stride bytes apart */
   VkDeviceSize stride;
   uint32_t count;
   VkImage image; /* that they go to, or VK_NULL_HANDLE */
};

/** The stage in which these structs are read */
#define GPUVAL_STAGE_COPY_INDIRECT ((VkPipelineStageFlags2)1 << 46)

static inline bool
gpuval_get_indirect_copies(const struct vk_cmd_queue_entry *command,
                           struct gpuval_indirect_copies *copies)
{
#if GPUVAL_MESA >= 2600
   if (command->type == VK_CMD_COPY_MEMORY_INDIRECT_KHR) {
      const VkCopyMemoryIndirectInfoKHR *info =
         command->u.copy_memory_indirect_khr.copy_memory_indirect_info;
      *copies = (struct gpuval_indirect_copies){
         .address = info->copyAddressRange.address,
         .stride = info->copyAddressRange.stride,
         .count = info->copyCount,
      };
      return true;
   }
   if (command->type == VK_CMD_COPY_MEMORY_TO_IMAGE_INDIRECT_KHR) {
      const VkCopyMemoryToImageIndirectInfoKHR *info =
         command->u.copy_memory_to_image_indirect_khr.copy_memory_to_image_indirect_info;
      *copies = (struct gpuval_indirect_copies){
         .address = info->copyAddressRange.address,
         .stride = info->copyAddressRange.stride,
         .count = info->copyCount,
         .image = info->dstImage,
      };
      return true;
   }
#endif
   return false;
}

#endif
