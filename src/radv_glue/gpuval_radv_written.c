/* SPDX-License-Identifier: MIT */

/* init, what is no shader's: memory, and who else writes it. All of it is marked when it is
 * recorded, mapped or bound, which may be early but is never late. Memory that others may
 * write is never added, and so counts as written.
 *
 * Images have marks of their own (gpuval_radv_written_images.c): here they are written from the
 * moment when they get their memory, for buffers that lie there, too.
 */

#include "gpuval_radv_layer.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_device_memory.h"
#include "radv_image.h"

#include "gpuval/src/compat/gpuval_runtime.h"
#include "gpuval/src/core/memory/gpuval_marks.h"
#include "vk_util.h"

/* Memory */

bool
gpuval_radv_is_private(const VkMemoryAllocateInfo *info, bool may_be_image)
{
   vk_foreach_struct_const (next, info->pNext) {
      switch ((unsigned)next->sType) {
      case VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO:
         if (gpuval_is_zeroed(((const VkMemoryAllocateFlagsInfo *)next)->flags))
            return false;
         break;
      case VK_STRUCTURE_TYPE_MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO:
      case VK_STRUCTURE_TYPE_MEMORY_PRIORITY_ALLOCATE_INFO_EXT:
         break;
      case VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO:
         if (((const VkMemoryDedicatedAllocateInfo *)next)->image && !may_be_image)
            return false;
         break;
      default: /* imported, exported, or what is not known here */
         return false;
      }
   }
   return true;
}

void
gpuval_radv_written_add_memory(struct gpuval_radv *gpuval, const VkMemoryAllocateInfo *info,
                               const struct radv_device_memory *memory)
{
   if (memory->bo && gpuval_radv_is_private(info, false))
      gpuval_marks_add(gpuval->device, radv_buffer_get_va(memory->bo), memory->alloc_size);
}

void
gpuval_radv_written_remove_memory(struct gpuval_radv *gpuval,
                                  const struct radv_device_memory *memory)
{
   if (memory->bo)
      gpuval_marks_remove(gpuval->device, radv_buffer_get_va(memory->bo));
}

static void
write_memory(struct gpuval_radv *gpuval, VkDeviceMemory handle, uint64_t offset, uint64_t size)
{
   VK_FROM_HANDLE(radv_device_memory, memory, handle);

   if (!memory || !memory->bo || offset >= memory->alloc_size)
      return;
   gpuval_marks_write(gpuval->device, radv_buffer_get_va(memory->bo) + offset,
                      MIN2(size, memory->alloc_size - offset));
}

/* It may write whatever it likes, and nobody sees it; poison shows what it has written. */
void
gpuval_radv_written_map(struct gpuval_radv *gpuval, const VkMemoryMapInfoKHR *info)
{
   if (!gpuval_options()->poison)
      write_memory(gpuval, info->memory, info->offset, info->size);
}

void
gpuval_radv_written_bind_images(struct gpuval_radv *gpuval, uint32_t count,
                                const VkBindImageMemoryInfo *infos)
{
   for (uint32_t i = 0; i < count; i++) {
      VK_FROM_HANDLE(radv_image, image, infos[i].image);
      write_memory(gpuval, infos[i].memory, infos[i].memoryOffset,
                   image->size ? image->size : VK_WHOLE_SIZE);
   }
}

void
gpuval_radv_written_bind_video(struct gpuval_radv *gpuval, uint32_t count,
                               const VkBindVideoSessionMemoryInfoKHR *infos)
{
   for (uint32_t i = 0; i < count; i++)
      write_memory(gpuval, infos[i].memory, infos[i].memoryOffset, infos[i].memorySize);
}

static void
write_binds(struct gpuval_radv *gpuval, uint32_t count, const VkSparseMemoryBind *binds)
{
   for (uint32_t i = 0; i < count; i++)
      write_memory(gpuval, binds[i].memory, binds[i].memoryOffset, binds[i].size);
}

/* The same bytes have another address from then on. */
void
gpuval_radv_written_bind_sparse(struct gpuval_radv *gpuval, uint32_t count,
                                const VkBindSparseInfo *infos)
{
   for (uint32_t i = 0; i < count; i++) {
      for (uint32_t j = 0; j < infos[i].bufferBindCount; j++)
         write_binds(gpuval, infos[i].pBufferBinds[j].bindCount, infos[i].pBufferBinds[j].pBinds);
      for (uint32_t j = 0; j < infos[i].imageOpaqueBindCount; j++)
         write_binds(gpuval, infos[i].pImageOpaqueBinds[j].bindCount,
                     infos[i].pImageOpaqueBinds[j].pBinds);
      for (uint32_t j = 0; j < infos[i].imageBindCount; j++) {
         const VkSparseImageMemoryBindInfo *bind = &infos[i].pImageBinds[j];
         for (uint32_t k = 0; k < bind->bindCount; k++) /* how much it is, is the driver's */
            write_memory(gpuval, bind->pBinds[k].memory, 0, VK_WHOLE_SIZE);
      }
   }
}

/* Commands */

void
gpuval_radv_written_buffer(struct gpuval_radv *gpuval, VkBuffer handle, uint64_t offset,
                           uint64_t size)
{
   VK_FROM_HANDLE(radv_buffer, buffer, handle);

   if (!buffer || !buffer->bo || offset >= buffer->vk.size)
      return;
   gpuval_marks_write(gpuval->device, gpuval_radv_buffer_address(buffer) + offset,
                      MIN2(size, buffer->vk.size - offset));
}

void
gpuval_radv_written_address(struct gpuval_radv *gpuval, VkDeviceAddress address, uint64_t size)
{
   struct gpuval_command_range range;

   if (size != VK_WHOLE_SIZE)
      gpuval_marks_write(gpuval->device, address, size);
   else if (gpuval_device_find_buffer(gpuval->device, address, 1, &range))
      gpuval_marks_write(gpuval->device, address, range.address + range.size - address);
}
