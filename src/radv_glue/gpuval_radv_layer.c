/* SPDX-License-Identifier: MIT */

/* The layer of gpuval's entry points above RADV's, in the form of Mesa's own layers: one entry
 * point a command of Vulkan, in which the calls of the checks stand in their order, and the call
 * of RADV's entry point among them. This file has what is no command of a command buffer;
 * gpuval_radv_layer_actions.c has draws, dispatches and so on, gpuval_radv_layer_commands.c the
 * other commands. What any driver needs is in core/gpuval_hooks.h.
 */

#include "gpuval_radv_layer.h"

#include "gpuval/gpuval_radv_entrypoints.h"
#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_descriptor_set.h"
#include "radv_device.h"
#include "radv_device_memory.h"
#include "radv_image.h"
#include "radv_shader_object.h"

#include "gpuval/gpuval_entrypoints.h"
#include "gpuval/src/core/memory/gpuval_texels.h"
#include "vk_acceleration_structure.h"
#include "vk_pipeline.h"

static struct gpuval_radv *
gpuval_of(VkDevice handle)
{
   VK_FROM_HANDLE(radv_device, device, handle);
   return device->gpuval;
}

static const struct vk_device_dispatch_table *
next(VkDevice device)
{
   return &gpuval_of(device)->hooks.next;
}

/* Memory */

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_AllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                           const VkAllocationCallbacks *allocator, VkDeviceMemory *handle)
{
   struct gpuval_radv *gpuval = gpuval_of(device);
   VkResult result = next(device)->AllocateMemory(device, info, allocator, handle);
   if (result != VK_SUCCESS)
      return result;

   VK_FROM_HANDLE(radv_device_memory, memory, *handle);
   gpuval_radv_add_memory(gpuval, memory);
   gpuval_radv_poison_memory(gpuval, info, memory);
   gpuval_radv_written_add_memory(gpuval, info, memory);
   gpuval_hooks_add_object(&gpuval->hooks, &memory->base, NULL);
   gpuval_radv_images_add_memory(gpuval, info, *handle);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_FreeMemory(VkDevice device, VkDeviceMemory handle,
                       const VkAllocationCallbacks *allocator)
{
   VK_FROM_HANDLE(radv_device_memory, memory, handle);
   struct gpuval_radv *gpuval = gpuval_of(device);

   if (memory) {
      gpuval_radv_images_remove_memory(gpuval, handle);
      gpuval_radv_race_remove_memory(gpuval, memory);
      gpuval_hooks_remove_object(&gpuval->hooks, &memory->base);
      gpuval_radv_written_remove_memory(gpuval, memory);
      gpuval_radv_remove_memory(gpuval, memory);
   }
   next(device)->FreeMemory(device, handle, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_MapMemory2KHR(VkDevice device, const VkMemoryMapInfoKHR *info, void **data)
{
   VkResult result = next(device)->MapMemory2KHR(device, info, data);

   if (result == VK_SUCCESS)
      gpuval_radv_written_map(gpuval_of(device), info);
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_BindVideoSessionMemoryKHR(VkDevice device, VkVideoSessionKHR session, uint32_t count,
                                      const VkBindVideoSessionMemoryInfoKHR *infos)
{
   gpuval_radv_written_bind_video(gpuval_of(device), count, infos);
   return next(device)->BindVideoSessionMemoryKHR(device, session, count, infos);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_QueueBindSparse(VkQueue handle, uint32_t count, const VkBindSparseInfo *infos,
                            VkFence fence)
{
   VK_FROM_HANDLE(vk_queue, queue, handle);

   gpuval_radv_written_bind_sparse(gpuval_of(vk_device_to_handle(queue->base.device)), count,
                                   infos);
   return gpuval_QueueBindSparse(handle, count, infos, fence);
}

/* Images */

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_CreateImage(VkDevice device, const VkImageCreateInfo *info,
                        const VkAllocationCallbacks *allocator, VkImage *handle)
{
   struct gpuval_radv *gpuval = gpuval_of(device);
   VkResult result = next(device)->CreateImage(device, info, allocator, handle);

   if (result == VK_SUCCESS) {
      VK_FROM_HANDLE(vk_image, image, *handle);
      gpuval_hooks_add_object(&gpuval->hooks, &image->base, NULL);
      gpuval_radv_images_add(gpuval, info, image);
   }
   return result;
}

/* For pages that fault, and for sync */
static void
add_image_memory(struct gpuval_radv *gpuval, VkImage handle)
{
   VK_FROM_HANDLE(radv_image, image, handle);

   if (image->bindings[0].bo)
      gpuval_device_add_image(gpuval->device, &image->vk.base, gpuval_radv_image_address(image),
                              image->size);
   gpuval_texels_add(gpuval->device, &image->vk);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_DestroyImage(VkDevice device, VkImage handle, const VkAllocationCallbacks *allocator)
{
   VK_FROM_HANDLE(vk_image, image, handle);
   struct gpuval_radv *gpuval = gpuval_of(device);

   if (image) {
      gpuval_radv_images_remove(gpuval, image);
      gpuval_texels_remove(gpuval->device, image);
      gpuval_device_remove_image(gpuval->device, &image->base);
      gpuval_hooks_remove_object(&gpuval->hooks, &image->base);
   }
   next(device)->DestroyImage(device, handle, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_BindImageMemory2(VkDevice device, uint32_t count, const VkBindImageMemoryInfo *infos)
{
   struct gpuval_radv *gpuval = gpuval_of(device);

   gpuval_radv_images_bind(gpuval, count, infos);
   VkResult result = next(device)->BindImageMemory2(device, count, infos);
   gpuval_radv_written_bind_images(gpuval, count, infos);
   if (result != VK_SUCCESS)
      return result;

   gpuval_hooks_bind_images(&gpuval->hooks, count, infos);
   for (uint32_t i = 0; i < count; i++)
      add_image_memory(gpuval, infos[i].image);
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_CreateImageView(VkDevice device, const VkImageViewCreateInfo *info,
                            const VkAllocationCallbacks *allocator, VkImageView *handle)
{
   struct gpuval_radv *gpuval = gpuval_of(device);
   VkResult result = next(device)->CreateImageView(device, info, allocator, handle);
   struct vk_image_view *view = result == VK_SUCCESS ? vk_image_view_from_handle(*handle) : NULL;

   if (view) {
      gpuval_hooks_add_image_view(&gpuval->hooks, view);
      gpuval_texels_add_view(gpuval->device, view);
   }
   gpuval_radv_images_add_view(gpuval, info, view);
   return result;
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_GetDescriptorEXT(VkDevice device, const VkDescriptorGetInfoEXT *info, size_t size,
                             void *data)
{
   gpuval_radv_images_get_descriptor(gpuval_of(device), info);
   next(device)->GetDescriptorEXT(device, info, size, data);
}

/* Acceleration structures */

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_CreateAccelerationStructureKHR(VkDevice device,
                                           const VkAccelerationStructureCreateInfoKHR *info,
                                           const VkAllocationCallbacks *allocator,
                                           VkAccelerationStructureKHR *handle)
{
   VK_FROM_HANDLE(radv_buffer, buffer, info->buffer);
   struct gpuval_radv *gpuval = gpuval_of(device);

   gpuval_radv_written_buffer(gpuval, info->buffer, info->offset, info->size);
   VkResult result = next(device)->CreateAccelerationStructureKHR(device, info, allocator, handle);
   if (result == VK_SUCCESS) {
      VK_FROM_HANDLE(vk_acceleration_structure, structure, *handle);
      gpuval_radv_add_structure(gpuval, structure, buffer);
      gpuval_hooks_add_object(&gpuval->hooks, &structure->base, &buffer->vk.base);
   }
   return result;
}

VKAPI_ATTR VkDeviceAddress VKAPI_CALL
gpuval_radv_GetAccelerationStructureDeviceAddressKHR(
   VkDevice device, const VkAccelerationStructureDeviceAddressInfoKHR *info)
{
   VK_FROM_HANDLE(vk_acceleration_structure, structure, info->accelerationStructure);

   gpuval_radv_use_structure(gpuval_of(device), structure);
   return next(device)->GetAccelerationStructureDeviceAddressKHR(device, info);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_DestroyAccelerationStructureKHR(VkDevice device, VkAccelerationStructureKHR handle,
                                            const VkAllocationCallbacks *allocator)
{
   VK_FROM_HANDLE(vk_acceleration_structure, structure, handle);
   struct gpuval_radv *gpuval = gpuval_of(device);

   if (structure) {
      gpuval_hooks_remove_object(&gpuval->hooks, &structure->base);
      gpuval_radv_remove_structure(gpuval, structure);
   }
   next(device)->DestroyAccelerationStructureKHR(device, handle, allocator);
}

/* Shaders and pipelines */

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_CreateGraphicsPipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                    const VkGraphicsPipelineCreateInfo *infos,
                                    const VkAllocationCallbacks *allocator, VkPipeline *pipelines)
{
   gpuval_radv_begin_creation();
   VkResult result =
      next(device)->CreateGraphicsPipelines(device, cache, count, infos, allocator, pipelines);
   for (uint32_t i = 0; i < count; i++) {
      if (pipelines[i] && vk_graphics_pipeline_create_flags(&infos[i]) &
                             VK_PIPELINE_CREATE_2_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT)
         gpuval_radv_retain(gpuval_of(device), pipelines[i]);
   }
   gpuval_radv_end_creation();
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_CreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                   const VkComputePipelineCreateInfo *infos,
                                   const VkAllocationCallbacks *allocator, VkPipeline *pipelines)
{
   gpuval_radv_begin_creation();
   VkResult result =
      next(device)->CreateComputePipelines(device, cache, count, infos, allocator, pipelines);
   gpuval_radv_end_creation();
   return result;
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_DestroyPipeline(VkDevice device, VkPipeline pipeline,
                            const VkAllocationCallbacks *allocator)
{
   struct gpuval_radv_creation *retained =
      pipeline ? gpuval_radv_take_retained(gpuval_of(device), pipeline) : NULL;

   next(device)->DestroyPipeline(device, pipeline, allocator);
   gpuval_radv_release_creation(retained);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_CreateShadersEXT(VkDevice device, uint32_t count, const VkShaderCreateInfoEXT *infos,
                             const VkAllocationCallbacks *allocator, VkShaderEXT *shaders)
{
   gpuval_radv_begin_creation();
   VkResult result = next(device)->CreateShadersEXT(device, count, infos, allocator, shaders);
   gpuval_radv_end_creation();
   return result;
}

/* Descriptor sets */

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_AllocateDescriptorSets(VkDevice handle, const VkDescriptorSetAllocateInfo *info,
                                   VkDescriptorSet *sets)
{
   VK_FROM_HANDLE(radv_device, device, handle);
   VkResult result = next(handle)->AllocateDescriptorSets(handle, info, sets);

   if (result == VK_SUCCESS)
      gpuval_radv_add_sets(device, info, sets);
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_FreeDescriptorSets(VkDevice device, VkDescriptorPool handle, uint32_t count,
                               const VkDescriptorSet *sets)
{
   VK_FROM_HANDLE(radv_descriptor_pool, pool, handle);

   gpuval_radv_remove_sets(pool, count, sets);
   return next(device)->FreeDescriptorSets(device, handle, count, sets);
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_radv_ResetDescriptorPool(VkDevice device, VkDescriptorPool handle,
                                VkDescriptorPoolResetFlags flags)
{
   VK_FROM_HANDLE(radv_descriptor_pool, pool, handle);

   gpuval_radv_reset_pool(pool);
   return next(device)->ResetDescriptorPool(device, handle, flags);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_DestroyDescriptorPool(VkDevice handle, VkDescriptorPool pool_handle,
                                  const VkAllocationCallbacks *allocator)
{
   VK_FROM_HANDLE(radv_device, device, handle);
   VK_FROM_HANDLE(radv_descriptor_pool, pool, pool_handle);

   if (pool)
      gpuval_radv_remove_pool(device, pool);
   next(handle)->DestroyDescriptorPool(handle, pool_handle, allocator);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_UpdateDescriptorSets(VkDevice handle, uint32_t write_count,
                                 const VkWriteDescriptorSet *writes, uint32_t copy_count,
                                 const VkCopyDescriptorSet *copies)
{
   VK_FROM_HANDLE(radv_device, device, handle);

   next(handle)->UpdateDescriptorSets(handle, write_count, writes, copy_count, copies);
   gpuval_radv_update_sets(device, write_count, writes, copy_count, copies);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_UpdateDescriptorSetWithTemplate(VkDevice handle, VkDescriptorSet set,
                                            VkDescriptorUpdateTemplate update_template,
                                            const void *data)
{
   VK_FROM_HANDLE(radv_device, device, handle);

   next(handle)->UpdateDescriptorSetWithTemplate(handle, set, update_template, data);
   gpuval_radv_update_set_with_template(device, set, update_template, data);
}
