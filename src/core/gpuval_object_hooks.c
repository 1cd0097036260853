/* SPDX-License-Identifier: MIT */

/* The entry points that create and destroy what descriptors lead to. Both drivers'
 * objects begin with those of Mesa's runtime, and their dispatch tables are the same.
 */

#include "gpuval_hooks.h"

#include "util/format/u_format.h"
#include "util/u_math.h"
#include "vk_acceleration_structure.h"
#include "vk_alloc.h"
#include "vk_buffer.h"
#include "vk_buffer_view.h"
#include "vk_device.h"
#include "vk_dispatch_table.h"
#include "vk_format.h"
#include "vk_image.h"
#include "vk_util.h"

static struct gpuval_objects *
objects_of(VkDevice handle)
{
   VK_FROM_HANDLE(vk_device, device, handle);
   return device->gpuval->objects;
}

static const struct vk_device_dispatch_table *
next(VkDevice handle)
{
   VK_FROM_HANDLE(vk_device, device, handle);
   return &device->gpuval->next;
}

static struct vk_object_base *
to_base(uint64_t handle)
{
   return (struct vk_object_base *)(uintptr_t)handle;
}

static void
add(VkDevice device, uint64_t handle, uint64_t parent, const struct gpuval_object_view *view)
{
   gpuval_objects_add(objects_of(device), to_base(handle), to_base(parent), view);
}

static uint32_t
offers_of_format(enum pipe_format format)
{
   uint32_t offers = util_format_is_pure_sint(format)   ? GPUVAL_OFFERS_SINT
                     : util_format_is_pure_uint(format) ? GPUVAL_OFFERS_UINT
                                                        : GPUVAL_OFFERS_FLOAT;

   /* VK_FORMAT_FEATURE_STORAGE_IMAGE_ATOMIC_BIT */
   switch (format) {
   case PIPE_FORMAT_R32_UINT:
   case PIPE_FORMAT_R32_SINT:
   case PIPE_FORMAT_R32_FLOAT:
   case PIPE_FORMAT_R64_UINT:
   case PIPE_FORMAT_R64_SINT:
      offers |= GPUVAL_OFFERS_ATOMICS;
      break;
   default:
      break;
   }

   const struct util_format_description *description = util_format_description(format);
   bool is_wide = description->nr_channels && description->channel[0].size == 64 &&
                  util_format_is_pure_integer(format);
   return offers | (is_wide ? GPUVAL_OFFERS_64_BIT : GPUVAL_OFFERS_32_BIT) |
          gpuval_offers_of_texel(util_format_get_blocksize(format));
}

static uint32_t
offers_of_view_type(VkImageViewType type)
{
   switch (type) {
   case VK_IMAGE_VIEW_TYPE_1D:
      return GPUVAL_OFFERS_1D | GPUVAL_OFFERS_NO_ARRAY;
   case VK_IMAGE_VIEW_TYPE_2D:
      return GPUVAL_OFFERS_2D | GPUVAL_OFFERS_NO_ARRAY;
   case VK_IMAGE_VIEW_TYPE_3D:
      return GPUVAL_OFFERS_3D | GPUVAL_OFFERS_NO_ARRAY;
   case VK_IMAGE_VIEW_TYPE_CUBE:
      return GPUVAL_OFFERS_CUBE | GPUVAL_OFFERS_NO_ARRAY;
   case VK_IMAGE_VIEW_TYPE_1D_ARRAY:
      return GPUVAL_OFFERS_1D | GPUVAL_OFFERS_ARRAY;
   case VK_IMAGE_VIEW_TYPE_2D_ARRAY:
      return GPUVAL_OFFERS_2D | GPUVAL_OFFERS_ARRAY;
   case VK_IMAGE_VIEW_TYPE_CUBE_ARRAY:
      return GPUVAL_OFFERS_CUBE | GPUVAL_OFFERS_ARRAY;
   default:
      return GPUVAL_OFFERS_DIMENSIONS | GPUVAL_OFFERS_NO_ARRAY | GPUVAL_OFFERS_ARRAY;
   }
}

static struct gpuval_object_view
describe_image_view(const struct vk_image_view *view)
{
   /* Of both aspects only one can be sampled, and it is not known here which. */
   bool is_depth_stencil =
      view->aspects == (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT);
   enum pipe_format format = vk_format_to_pipe_format(view->view_format);
   bool is_multisampled = view->image->samples > 1;

   struct gpuval_object_view described = {
      .offers = offers_of_view_type(view->view_type) |
                (is_multisampled ? GPUVAL_OFFERS_MULTISAMPLED : GPUVAL_OFFERS_ONE_SAMPLE) |
                (is_depth_stencil ? GPUVAL_OFFERS_FLOAT | GPUVAL_OFFERS_UINT | GPUVAL_OFFERS_32_BIT
                                  : offers_of_format(format)),
      .format = gpuval_format_bits(format),
      .extent = {view->extent.width, view->extent.height, view->extent.depth},
      .levels = view->level_count,
      .samples = view->image->samples,
   };

   switch (view->view_type) {
   case VK_IMAGE_VIEW_TYPE_1D:
   case VK_IMAGE_VIEW_TYPE_1D_ARRAY:
      described.extent[1] = view->layer_count;
      described.extent[2] = 1;
      break;
   case VK_IMAGE_VIEW_TYPE_3D:
      described.extent[2] = view->storage.z_slice_count;
      break;
   default:
      described.extent[2] = view->layer_count;
      break;
   }
   return described;
}

static struct gpuval_object_view
describe_buffer_view(const struct vk_buffer_view *view)
{
   enum pipe_format format = vk_format_to_pipe_format(view->format);

   return (struct gpuval_object_view){
      .offers = offers_of_format(format) | GPUVAL_OFFERS_NO_ARRAY | GPUVAL_OFFERS_ONE_SAMPLE,
      .format = gpuval_format_bits(format),
      .extent = {MIN2(view->elements, UINT32_MAX), 1, 1},
      .levels = 1,
      .samples = 1,
   };
}

/* Entry points */

#define HOOK_DESTROY(Function, Handle)                                                             \
   static VKAPI_ATTR void VKAPI_CALL hook_##Function(VkDevice device, Handle handle,               \
                                                     const VkAllocationCallbacks *allocator)       \
   {                                                                                               \
      gpuval_objects_remove(objects_of(device), to_base((uint64_t)handle));                        \
      next(device)->Function(device, handle, allocator);                                           \
   }

HOOK_DESTROY(DestroyAccelerationStructureKHR, VkAccelerationStructureKHR)
HOOK_DESTROY(DestroyBuffer, VkBuffer)
HOOK_DESTROY(DestroyBufferView, VkBufferView)
HOOK_DESTROY(DestroyImage, VkImage)
HOOK_DESTROY(DestroyImageView, VkImageView)
HOOK_DESTROY(DestroySampler, VkSampler)
HOOK_DESTROY(FreeMemory, VkDeviceMemory)

#define HOOK_CREATE(Function, Info, Handle)                                                        \
   static VKAPI_ATTR VkResult VKAPI_CALL hook_##Function(                                          \
      VkDevice device, const Info *info, const VkAllocationCallbacks *allocator, Handle *handle)   \
   {                                                                                               \
      VkResult result = next(device)->Function(device, info, allocator, handle);                   \
      if (result == VK_SUCCESS)                                                                    \
         add(device, (uint64_t)*handle, 0, NULL);                                                  \
      return result;                                                                               \
   }

HOOK_CREATE(AllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory)
HOOK_CREATE(CreateBuffer, VkBufferCreateInfo, VkBuffer)
HOOK_CREATE(CreateImage, VkImageCreateInfo, VkImage)

static VKAPI_ATTR VkResult VKAPI_CALL
hook_CreateSampler(VkDevice device, const VkSamplerCreateInfo *info,
                   const VkAllocationCallbacks *allocator, VkSampler *handle)
{
   VkResult result = next(device)->CreateSampler(device, info, allocator, handle);

   if (result == VK_SUCCESS) {
      const VkSamplerAddressMode modes[] = {
         info->addressModeU,
         info->addressModeV,
         info->addressModeW,
      };
      struct gpuval_object_view limits = {
         .extent = {fui(info->minLod), fui(info->maxLod), fui(info->mipLodBias)},
      };
      for (unsigned i = 0; i < ARRAY_SIZE(modes); i++) {
         if (modes[i] == VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER)
            limits.levels |= BITFIELD_BIT(i);
      }
      add(device, (uint64_t)*handle, 0, &limits);
   }
   return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_CreateBufferView(VkDevice device, const VkBufferViewCreateInfo *info,
                      const VkAllocationCallbacks *allocator, VkBufferView *handle)
{
   VkResult result = next(device)->CreateBufferView(device, info, allocator, handle);

   if (result == VK_SUCCESS) {
      struct gpuval_object_view view = describe_buffer_view(vk_buffer_view_from_handle(*handle));
      add(device, (uint64_t)*handle, (uint64_t)info->buffer, &view);
   }
   return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_CreateImageView(VkDevice device, const VkImageViewCreateInfo *info,
                     const VkAllocationCallbacks *allocator, VkImageView *handle)
{
   VkResult result = next(device)->CreateImageView(device, info, allocator, handle);

   if (result == VK_SUCCESS) {
      struct gpuval_object_view view = describe_image_view(vk_image_view_from_handle(*handle));
      add(device, (uint64_t)*handle, (uint64_t)info->image, &view);
   }
   return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_CreateAccelerationStructureKHR(VkDevice device,
                                    const VkAccelerationStructureCreateInfoKHR *info,
                                    const VkAllocationCallbacks *allocator,
                                    VkAccelerationStructureKHR *handle)
{
   VkResult result = next(device)->CreateAccelerationStructureKHR(device, info, allocator, handle);

   if (result == VK_SUCCESS)
      add(device, (uint64_t)*handle, (uint64_t)info->buffer, NULL);
   return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_BindBufferMemory2(VkDevice device, uint32_t count, const VkBindBufferMemoryInfo *infos)
{
   VkResult result = next(device)->BindBufferMemory2(device, count, infos);

   for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
      gpuval_objects_set_parent(objects_of(device), to_base((uint64_t)infos[i].buffer),
                                to_base((uint64_t)infos[i].memory));
   return result;
}

/* An image of several planes may have the memory of several: it dies with the last that
 * was bound. Images of swapchains have none.
 */
static VKAPI_ATTR VkResult VKAPI_CALL
hook_BindImageMemory2(VkDevice device, uint32_t count, const VkBindImageMemoryInfo *infos)
{
   VkResult result = next(device)->BindImageMemory2(device, count, infos);

   for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
      gpuval_objects_set_parent(objects_of(device), to_base((uint64_t)infos[i].image),
                                to_base((uint64_t)infos[i].memory));
   return result;
}

void
gpuval_hooks_init_objects(struct vk_device_dispatch_table *table)
{
#define HOOK(name)                                                                                 \
   if (table->name)                                                                                \
      table->name = hook_##name;
   HOOK(AllocateMemory)
   HOOK(BindBufferMemory2)
   HOOK(BindImageMemory2)
   HOOK(CreateAccelerationStructureKHR)
   HOOK(CreateBuffer)
   HOOK(CreateBufferView)
   HOOK(CreateImage)
   HOOK(CreateImageView)
   HOOK(CreateSampler)
   HOOK(DestroyAccelerationStructureKHR)
   HOOK(DestroyBuffer)
   HOOK(DestroyBufferView)
   HOOK(DestroyImage)
   HOOK(DestroyImageView)
   HOOK(DestroySampler)
   HOOK(FreeMemory)
}
