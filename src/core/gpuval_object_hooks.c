/* SPDX-License-Identifier: MIT */

/* The entry points that create and destroy what descriptors lead to. Both drivers'
 * objects begin with those of Mesa's runtime, and their dispatch tables are the same.
 */

#include "gpuval_hooks.h"

#include "gpuval_entrypoints.h"

#include "base/gpuval_backtrace.h"
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

static const struct gpuval_hooks *
hooks_of(VkDevice handle)
{
   VK_FROM_HANDLE(vk_device, device, handle);
   return device->gpuval;
}

static const struct vk_device_dispatch_table *
next(VkDevice handle)
{
   return &hooks_of(handle)->next;
}

static struct vk_object_base *
to_base(uint64_t handle)
{
   return (struct vk_object_base *)(uintptr_t)handle;
}

static void
add(const struct gpuval_hooks *hooks, struct vk_object_base *object, struct vk_object_base *parent,
    const struct gpuval_object_view *view)
{
   object->gpuval_calls = gpuval_backtrace_capture();
   if (hooks->objects)
      gpuval_objects_add(hooks->objects, object, parent, view);
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

void
gpuval_hooks_add_object(const struct gpuval_hooks *hooks, struct vk_object_base *object,
                        struct vk_object_base *parent)
{
   add(hooks, object, parent, NULL);
}

void
gpuval_hooks_add_image_view(const struct gpuval_hooks *hooks, struct vk_image_view *view)
{
   struct gpuval_object_view described = describe_image_view(view);
   add(hooks, &view->base, &view->image->base, &described);
}

void
gpuval_hooks_remove_object(const struct gpuval_hooks *hooks, struct vk_object_base *object)
{
   if (hooks->objects)
      gpuval_objects_remove(hooks->objects, object);
}

static void
set_parent(const struct gpuval_hooks *hooks, uint64_t object, uint64_t parent)
{
   if (hooks->objects)
      gpuval_objects_set_parent(hooks->objects, to_base(object), to_base(parent));
}

/* An image of several planes may have the memory of several: it dies with the last that
 * was bound. Images of swapchains have none.
 */
void
gpuval_hooks_bind_images(const struct gpuval_hooks *hooks, uint32_t count,
                         const VkBindImageMemoryInfo *infos)
{
   for (uint32_t i = 0; i < count; i++) {
      set_parent(hooks, (uint64_t)infos[i].image, (uint64_t)infos[i].memory);
      if (hooks->bound_image)
         hooks->bound_image(vk_image_from_handle(infos[i].image));
   }
}

/* Entry points */

#define DESTROY(Function, Handle)                                                                  \
   VKAPI_ATTR void VKAPI_CALL gpuval_##Function(VkDevice device, Handle handle,                    \
                                                const VkAllocationCallbacks *allocator)            \
   {                                                                                               \
      gpuval_hooks_remove_object(hooks_of(device), to_base((uint64_t)handle));                     \
      next(device)->Function(device, handle, allocator);                                           \
   }

DESTROY(DestroyAccelerationStructureKHR, VkAccelerationStructureKHR)
DESTROY(DestroyBuffer, VkBuffer)
DESTROY(DestroyBufferView, VkBufferView)
DESTROY(DestroyImageView, VkImageView)
DESTROY(DestroySampler, VkSampler)
DESTROY(FreeMemory, VkDeviceMemory)

VKAPI_ATTR void VKAPI_CALL
gpuval_DestroyImage(VkDevice device, VkImage handle, const VkAllocationCallbacks *allocator)
{
   const struct gpuval_hooks *hooks = hooks_of(device);

   gpuval_hooks_remove_object(hooks, to_base((uint64_t)handle));
   if (hooks->destroyed_image && handle)
      hooks->destroyed_image(vk_image_from_handle(handle));
   next(device)->DestroyImage(device, handle, allocator);
}

#define CREATE(Function, Info, Handle)                                                             \
   VKAPI_ATTR VkResult VKAPI_CALL gpuval_##Function(                                               \
      VkDevice device, const Info *info, const VkAllocationCallbacks *allocator, Handle *handle)   \
   {                                                                                               \
      VkResult result = next(device)->Function(device, info, allocator, handle);                   \
      if (result == VK_SUCCESS)                                                                    \
         gpuval_hooks_add_object(hooks_of(device), to_base((uint64_t)*handle), NULL);              \
      return result;                                                                               \
   }

CREATE(AllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory)
CREATE(CreateBuffer, VkBufferCreateInfo, VkBuffer)
CREATE(CreateImage, VkImageCreateInfo, VkImage)

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_CreateSampler(VkDevice device, const VkSamplerCreateInfo *info,
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
      add(hooks_of(device), to_base((uint64_t)*handle), NULL, &limits);
   }
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_CreateBufferView(VkDevice device, const VkBufferViewCreateInfo *info,
                        const VkAllocationCallbacks *allocator, VkBufferView *handle)
{
   VkResult result = next(device)->CreateBufferView(device, info, allocator, handle);

   if (result == VK_SUCCESS) {
      struct gpuval_object_view view = describe_buffer_view(vk_buffer_view_from_handle(*handle));
      add(hooks_of(device), to_base((uint64_t)*handle), to_base((uint64_t)info->buffer), &view);
   }
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_CreateImageView(VkDevice device, const VkImageViewCreateInfo *info,
                       const VkAllocationCallbacks *allocator, VkImageView *handle)
{
   VkResult result = next(device)->CreateImageView(device, info, allocator, handle);

   if (result == VK_SUCCESS)
      gpuval_hooks_add_image_view(hooks_of(device), vk_image_view_from_handle(*handle));
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_CreateAccelerationStructureKHR(VkDevice device,
                                      const VkAccelerationStructureCreateInfoKHR *info,
                                      const VkAllocationCallbacks *allocator,
                                      VkAccelerationStructureKHR *handle)
{
   VkResult result = next(device)->CreateAccelerationStructureKHR(device, info, allocator, handle);

   if (result == VK_SUCCESS)
      gpuval_hooks_add_object(hooks_of(device), to_base((uint64_t)*handle),
                              to_base((uint64_t)info->buffer));
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_BindBufferMemory2(VkDevice device, uint32_t count, const VkBindBufferMemoryInfo *infos)
{
   VkResult result = next(device)->BindBufferMemory2(device, count, infos);

   for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
      set_parent(hooks_of(device), (uint64_t)infos[i].buffer, (uint64_t)infos[i].memory);
   return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
gpuval_BindImageMemory2(VkDevice device, uint32_t count, const VkBindImageMemoryInfo *infos)
{
   VkResult result = next(device)->BindImageMemory2(device, count, infos);

   if (result == VK_SUCCESS)
      gpuval_hooks_bind_images(hooks_of(device), count, infos);
   return result;
}

/* Device. Of a static library only those files are linked that something needs, and the table
 * names entry points weakly: that of this file is needed because of this function, that of
 * gpuval_hooks.c because of gpuval_hooks_init().
 */

/* As Mesa's runtime comes below a driver: what the driver's layer does not have. An extension
 * that the driver does not know stays unknown.
 */
void
gpuval_hooks_install(const struct gpuval_hooks *hooks, struct vk_device *device,
                     const struct vk_device_entrypoint_table *driver)
{
   struct vk_device_dispatch_table layer = {0};

   if (driver)
      vk_device_dispatch_table_from_entrypoints(&layer, driver, true);
   vk_device_dispatch_table_from_entrypoints(&layer, &gpuval_device_entrypoints, false);

   PFN_vkVoidFunction *table = (PFN_vkVoidFunction *)&device->dispatch_table;
   const PFN_vkVoidFunction *next = (const PFN_vkVoidFunction *)&hooks->next;
   const PFN_vkVoidFunction *ours = (const PFN_vkVoidFunction *)&layer;
   for (size_t i = 0; i < sizeof(layer) / sizeof(*ours); i++) {
      if (next[i] && ours[i])
         table[i] = ours[i];
   }
}
