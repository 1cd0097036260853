/* SPDX-License-Identifier: MIT */

/* init, what is no shader's: memory, and who else writes it. All of it is marked when it is
 * recorded, mapped or bound, which may be early but is never late. Memory that others may
 * write is never added, and so counts as written.
 *
 * Images have marks of their own (gpuval_radv_written_images.c): here they are written from the
 * moment when they get their memory, for buffers that lie there, too.
 */

#include "gpuval_radv_private.h"

#include "radv_buffer.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_device_memory.h"
#include "radv_image.h"
#include "radv_query.h"

#include "gpuval/src/core/gpuval_marks.h"
#include "gpuval/src/core/gpuval_transfers.h"
#include "util/ralloc.h"
#include "vk_acceleration_structure.h"
#include "vk_util.h"

static struct gpuval_radv *
gpuval_of(VkDevice handle)
{
   VK_FROM_HANDLE(radv_device, device, handle);
   return device->gpuval;
}

static struct gpuval_radv *
recorded_by(VkCommandBuffer handle)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   return radv_cmd_buffer_device(cmd_buffer)->gpuval;
}

/* Memory */

bool
gpuval_radv_is_private(const VkMemoryAllocateInfo *info, bool may_be_image)
{
   vk_foreach_struct_const (next, info->pNext) {
      switch ((unsigned)next->sType) {
      case VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO:
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

static VKAPI_ATTR VkResult VKAPI_CALL
hook_AllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                    const VkAllocationCallbacks *allocator, VkDeviceMemory *handle)
{
   struct gpuval_radv *gpuval = gpuval_of(device);
   VkResult result = gpuval->unmarked->AllocateMemory(device, info, allocator, handle);

   if (result == VK_SUCCESS && gpuval_radv_is_private(info, false)) {
      VK_FROM_HANDLE(radv_device_memory, memory, *handle);
      if (memory->bo)
         gpuval_marks_add(gpuval->device, radv_buffer_get_va(memory->bo), memory->alloc_size);
   }
   return result;
}

static VKAPI_ATTR void VKAPI_CALL
hook_FreeMemory(VkDevice device, VkDeviceMemory handle, const VkAllocationCallbacks *allocator)
{
   struct gpuval_radv *gpuval = gpuval_of(device);
   VK_FROM_HANDLE(radv_device_memory, memory, handle);

   if (memory && memory->bo)
      gpuval_marks_remove(gpuval->device, radv_buffer_get_va(memory->bo));
   gpuval->unmarked->FreeMemory(device, handle, allocator);
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
static VKAPI_ATTR VkResult VKAPI_CALL
hook_MapMemory2KHR(VkDevice device, const VkMemoryMapInfoKHR *info, void **data)
{
   struct gpuval_radv *gpuval = gpuval_of(device);
   VkResult result = gpuval->unmarked->MapMemory2KHR(device, info, data);

   if (result == VK_SUCCESS && !gpuval_options()->poison)
      write_memory(gpuval, info->memory, info->offset, info->size);
   return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_BindImageMemory2(VkDevice device, uint32_t count, const VkBindImageMemoryInfo *infos)
{
   struct gpuval_radv *gpuval = gpuval_of(device);
   VkResult result = gpuval->unmarked->BindImageMemory2(device, count, infos);

   for (uint32_t i = 0; i < count; i++) {
      VK_FROM_HANDLE(radv_image, image, infos[i].image);
      write_memory(gpuval, infos[i].memory, infos[i].memoryOffset,
                   image->size ? image->size : VK_WHOLE_SIZE);
   }
   return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_BindVideoSessionMemoryKHR(VkDevice device, VkVideoSessionKHR session, uint32_t count,
                               const VkBindVideoSessionMemoryInfoKHR *infos)
{
   struct gpuval_radv *gpuval = gpuval_of(device);

   for (uint32_t i = 0; i < count; i++)
      write_memory(gpuval, infos[i].memory, infos[i].memoryOffset, infos[i].memorySize);
   return gpuval->unmarked->BindVideoSessionMemoryKHR(device, session, count, infos);
}

static void
write_binds(struct gpuval_radv *gpuval, uint32_t count, const VkSparseMemoryBind *binds)
{
   for (uint32_t i = 0; i < count; i++)
      write_memory(gpuval, binds[i].memory, binds[i].memoryOffset, binds[i].size);
}

/* The same bytes have another address from then on. */
static VKAPI_ATTR VkResult VKAPI_CALL
hook_QueueBindSparse(VkQueue handle, uint32_t count, const VkBindSparseInfo *infos, VkFence fence)
{
   VK_FROM_HANDLE(vk_queue, queue, handle);
   struct gpuval_radv *gpuval = container_of(queue->base.device, struct radv_device, vk)->gpuval;

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
   return gpuval->unmarked->QueueBindSparse(handle, count, infos, fence);
}

/* Commands */

static void
write_buffer(struct gpuval_radv *gpuval, VkBuffer handle, uint64_t offset, uint64_t size)
{
   VK_FROM_HANDLE(radv_buffer, buffer, handle);

   if (!buffer || !buffer->bo || offset >= buffer->vk.size)
      return;
   gpuval_marks_write(gpuval->device, radv_buffer_get_va(buffer->bo) + buffer->offset + offset,
                      MIN2(size, buffer->vk.size - offset));
}

/* From there to the end of the buffer: how much it is, is not known. */
static void
write_address(struct gpuval_radv *gpuval, VkDeviceAddress address)
{
   struct gpuval_command_range range;

   if (address && gpuval_device_find_buffer(gpuval->device, address, 1, &range))
      gpuval_marks_write(gpuval->device, address, range.address + range.size - address);
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_CreateAccelerationStructureKHR(VkDevice device,
                                    const VkAccelerationStructureCreateInfoKHR *info,
                                    const VkAllocationCallbacks *allocator,
                                    VkAccelerationStructureKHR *structure)
{
   struct gpuval_radv *gpuval = gpuval_of(device);

   write_buffer(gpuval, info->buffer, info->offset, info->size);
   return gpuval->unmarked->CreateAccelerationStructureKHR(device, info, allocator, structure);
}

#define NEXT(Function) recorded_by(handle)->unmarked->Function

static VKAPI_ATTR void VKAPI_CALL
hook_CmdFillBuffer(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size,
                   uint32_t value)
{
   write_buffer(recorded_by(handle), buffer, offset, size);
   NEXT(CmdFillBuffer)(handle, buffer, offset, size, value);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdUpdateBuffer(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset,
                     VkDeviceSize size, const void *data)
{
   write_buffer(recorded_by(handle), buffer, offset, size);
   NEXT(CmdUpdateBuffer)(handle, buffer, offset, size, data);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdCopyBuffer2(VkCommandBuffer handle, const VkCopyBufferInfo2 *info)
{
   for (uint32_t i = 0; i < info->regionCount; i++)
      write_buffer(recorded_by(handle), info->dstBuffer, info->pRegions[i].dstOffset,
                   info->pRegions[i].size);
   NEXT(CmdCopyBuffer2)(handle, info);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdCopyImageToBuffer2(VkCommandBuffer handle, const VkCopyImageToBufferInfo2 *info)
{
   VK_FROM_HANDLE(vk_image, image, info->srcImage);

   for (uint32_t i = 0; i < info->regionCount; i++) {
      const VkBufferImageCopy2 *region = &info->pRegions[i];
      const struct vk_image_buffer_layout layout = vk_image_buffer_copy_layout(image, region);
      uint32_t layers = vk_image_subresource_layer_count(image, &region->imageSubresource);

      write_buffer(recorded_by(handle), info->dstBuffer, region->bufferOffset,
                   layout.image_stride_B * MAX2(layers, region->imageExtent.depth));
   }
   NEXT(CmdCopyImageToBuffer2)(handle, info);
}

/* The stride may be anything, 0 if there is one query. */
static VKAPI_ATTR void VKAPI_CALL
hook_CmdCopyQueryPoolResults(VkCommandBuffer handle, VkQueryPool pool_handle, uint32_t first,
                             uint32_t count, VkBuffer buffer, VkDeviceSize offset,
                             VkDeviceSize stride, VkQueryResultFlags flags)
{
   VK_FROM_HANDLE(radv_query_pool, pool, pool_handle);

   uint64_t size = gpuval_query_size(pool->vk.query_type, pool->vk.pipeline_statistics, flags);

   for (uint32_t i = 0; i < count; i++)
      write_buffer(recorded_by(handle), buffer, offset + i * stride, size);
   NEXT(CmdCopyQueryPoolResults)(handle, pool_handle, first, count, buffer, offset, stride, flags);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdWriteBufferMarker2AMD(VkCommandBuffer handle, VkPipelineStageFlags2 stage, VkBuffer buffer,
                              VkDeviceSize offset, uint32_t marker)
{
   write_buffer(recorded_by(handle), buffer, offset, sizeof(marker));
   NEXT(CmdWriteBufferMarker2AMD)(handle, stage, buffer, offset, marker);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdBindTransformFeedbackBuffersEXT(VkCommandBuffer handle, uint32_t first, uint32_t count,
                                        const VkBuffer *buffers, const VkDeviceSize *offsets,
                                        const VkDeviceSize *sizes)
{
   for (uint32_t i = 0; i < count; i++)
      write_buffer(recorded_by(handle), buffers[i], offsets[i], sizes ? sizes[i] : VK_WHOLE_SIZE);
   NEXT(CmdBindTransformFeedbackBuffersEXT)(handle, first, count, buffers, offsets, sizes);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdEndTransformFeedbackEXT(VkCommandBuffer handle, uint32_t first, uint32_t count,
                                const VkBuffer *counters, const VkDeviceSize *offsets)
{
   for (uint32_t i = 0; counters && i < count; i++)
      write_buffer(recorded_by(handle), counters[i], offsets ? offsets[i] : 0, 4);
   NEXT(CmdEndTransformFeedbackEXT)(handle, first, count, counters, offsets);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdBuildAccelerationStructuresKHR(VkCommandBuffer handle, uint32_t count,
                                       const VkAccelerationStructureBuildGeometryInfoKHR *infos,
                                       const VkAccelerationStructureBuildRangeInfoKHR *const *ranges)
{
   for (uint32_t i = 0; i < count; i++)
      write_address(recorded_by(handle), infos[i].scratchData.deviceAddress);
   NEXT(CmdBuildAccelerationStructuresKHR)(handle, count, infos, ranges);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdCopyAccelerationStructureToMemoryKHR(VkCommandBuffer handle,
                                             const VkCopyAccelerationStructureToMemoryInfoKHR *info)
{
   write_address(recorded_by(handle), info->dst.deviceAddress);
   NEXT(CmdCopyAccelerationStructureToMemoryKHR)(handle, info);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdPreprocessGeneratedCommandsEXT(VkCommandBuffer handle,
                                       const VkGeneratedCommandsInfoEXT *info,
                                       VkCommandBuffer state)
{
   gpuval_marks_write(recorded_by(handle)->device, info->preprocessAddress, info->preprocessSize);
   NEXT(CmdPreprocessGeneratedCommandsEXT)(handle, info, state);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdExecuteGeneratedCommandsEXT(VkCommandBuffer handle, VkBool32 is_preprocessed,
                                    const VkGeneratedCommandsInfoEXT *info)
{
   gpuval_marks_write(recorded_by(handle)->device, info->preprocessAddress, info->preprocessSize);
   NEXT(CmdExecuteGeneratedCommandsEXT)(handle, is_preprocessed, info);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdEncodeVideoKHR(VkCommandBuffer handle, const VkVideoEncodeInfoKHR *info)
{
   write_buffer(recorded_by(handle), info->dstBuffer, info->dstBufferOffset, info->dstBufferRange);
   NEXT(CmdEncodeVideoKHR)(handle, info);
}

void
gpuval_radv_hook_written(struct gpuval_radv *gpuval, struct vk_device_dispatch_table *table)
{
   if (!gpuval_device_has_marks(gpuval->device))
      return;
   gpuval->unmarked = ralloc(gpuval, struct vk_device_dispatch_table);
   *gpuval->unmarked = *table;

#define HOOK(name)                                                                                 \
   if (table->name)                                                                                \
      table->name = hook_##name;
   HOOK(AllocateMemory)
   HOOK(BindImageMemory2)
   HOOK(BindVideoSessionMemoryKHR)
   HOOK(CmdBindTransformFeedbackBuffersEXT)
   HOOK(CmdBuildAccelerationStructuresKHR)
   HOOK(CmdCopyAccelerationStructureToMemoryKHR)
   HOOK(CmdCopyBuffer2)
   HOOK(CmdCopyImageToBuffer2)
   HOOK(CmdCopyQueryPoolResults)
   HOOK(CmdEncodeVideoKHR)
   HOOK(CmdEndTransformFeedbackEXT)
   HOOK(CmdExecuteGeneratedCommandsEXT)
   HOOK(CmdFillBuffer)
   HOOK(CmdPreprocessGeneratedCommandsEXT)
   HOOK(CmdUpdateBuffer)
   HOOK(CmdWriteBufferMarker2AMD)
   HOOK(CreateAccelerationStructureKHR)
   HOOK(FreeMemory)
   HOOK(MapMemory2KHR)
   HOOK(QueueBindSparse)
}
