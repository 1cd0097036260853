/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_written.h"
#include "gpuval_lvp.h"
#include "gpuval_lvp_images.h"
#include "gpuval_lvp_private.h"

#include "gallium/drivers/llvmpipe/lp_texture.h"
#include "gpuval/src/compat/gpuval_lvp_driver.h"

#include "gpuval/src/compat/gpuval_lvp_texture.h"
#include "gpuval/src/core/descriptors/gpuval_objects.h"
#include "gpuval/src/core/memory/gpuval_init_commands.h"
#include "gpuval/src/core/memory/gpuval_written.h"
#include "vk_image.h"

struct gpuval_lvp_written {
   struct gpuval_lvp *gpuval;
   struct gpuval_written *written;

   PFN_vkMapMemory2KHR map_memory;
   PFN_vkBindImageMemory2 bind_image_memory;
   PFN_vkCreateImageView create_image_view;
   PFN_vkCopyMemoryToImageEXT copy_memory_to_image;
   PFN_vkCopyImageToImageEXT copy_image_to_image;
   PFN_vkTransitionImageLayoutEXT transition_image_layout;
   bool has_sliced_views; /* ever */
};

/* Subresources */

static void
set_written(void *data, uint64_t address, uint8_t bits)
{
   gpuval_written_set(((struct gpuval_lvp_written *)data)->written, address, bits);
}

static void
clear_written(void *data, uint64_t address, uint8_t bits)
{
   gpuval_written_clear(((struct gpuval_lvp_written *)data)->written, address, bits);
}

static void
clear_written_later(void *data, uint64_t address, uint8_t bits)
{
   gpuval_written_clear_later(((struct gpuval_lvp_written *)data)->written, address, bits);
}

static void
mark_layers(struct gpuval_lvp_written *state, VkImage handle,
            const VkImageSubresourceLayers *layers)
{
   VK_FROM_HANDLE(lvp_image, image, handle);
   const VkImageSubresourceRange range = gpuval_layers_range(layers);

   gpuval_lvp_visit_image(image, &range, set_written, state);
}

static const VkImageSubresourceRange whole_image = {
   .aspectMask =
      VK_IMAGE_ASPECT_COLOR_BIT | VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT,
   .levelCount = VK_REMAINING_MIP_LEVELS,
   .layerCount = VK_REMAINING_ARRAY_LAYERS,
};

/* What the host may write at any time, or what has slices that count for themselves, is
 * written once and for all.
 */
static bool
is_always_written(const struct gpuval_lvp_written *state, const struct lvp_image *image)
{
   bool is_3d = image->vk.image_type == VK_IMAGE_TYPE_3D;

   return image->vk.tiling != VK_IMAGE_TILING_OPTIMAL ||
          (is_3d && (state->has_sliced_views ||
                     image->vk.create_flags & VK_IMAGE_CREATE_2D_VIEW_COMPATIBLE_BIT_EXT));
}

static void
mark_slices(struct gpuval_lvp_written *state, const struct lvp_image *image)
{
   gpuval_lvp_visit_image(image, &whole_image, set_written, state);
   if (image->vk.image_type != VK_IMAGE_TYPE_3D)
      return;

   const struct llvmpipe_resource *resource = llvmpipe_resource(image->planes[0].bo);
   for (uint32_t level = 0; level < image->vk.mip_levels; level++) {
      uint64_t address = gpuval_lvp_subresource_address(image, 0, level, 0);
      for (uint32_t z = 0; address && z < u_minify(image->vk.extent.depth, level); z++)
         gpuval_written_set(state->written, address + z * resource->img_stride[level],
                            GPUVAL_INIT_ALL);
   }
}

/* The host */

static struct gpuval_lvp_written *
get_state(VkDevice handle)
{
   VK_FROM_HANDLE(lvp_device, device, handle);
   return gpuval_lvp_get_written(device->gpuval);
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_MapMemory2KHR(VkDevice device, const VkMemoryMapInfoKHR *info, void **data)
{
   struct gpuval_lvp_written *state = get_state(device);
   VK_FROM_HANDLE(lvp_device_memory, memory, info->memory);
   VkResult result = state->map_memory(device, info, data);

   /* It may write whatever it likes, and nobody sees it; poison shows what it has written. */
   if (result == VK_SUCCESS && memory && !gpuval_options()->poison)
      gpuval_written_mark(
         state->written, (uintptr_t)memory->map + info->offset,
         info->size == VK_WHOLE_SIZE ? gpuval_lvp_memory_size(memory) - info->offset : info->size);
   return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_BindImageMemory2(VkDevice device, uint32_t count, const VkBindImageMemoryInfo *infos)
{
   struct gpuval_lvp_written *state = get_state(device);
   VkResult result = state->bind_image_memory(device, count, infos);

   for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++) {
      VK_FROM_HANDLE(lvp_image, image, infos[i].image);
      if (is_always_written(state, image))
         mark_slices(state, image);
   }
   return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_CreateImageView(VkDevice device, const VkImageViewCreateInfo *info,
                     const VkAllocationCallbacks *allocator, VkImageView *view)
{
   struct gpuval_lvp_written *state = get_state(device);
   VK_FROM_HANDLE(lvp_image, image, info->image);

   if (vk_find_struct_const(info->pNext, IMAGE_VIEW_SLICED_CREATE_INFO_EXT)) {
      state->has_sliced_views = true;
      mark_slices(state, image);
   }
   return state->create_image_view(device, info, allocator, view);
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_CopyMemoryToImageEXT(VkDevice device, const VkCopyMemoryToImageInfoEXT *info)
{
   struct gpuval_lvp_written *state = get_state(device);

   for (uint32_t i = 0; i < info->regionCount; i++)
      mark_layers(state, info->dstImage, &info->pRegions[i].imageSubresource);
   return state->copy_memory_to_image(device, info);
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_CopyImageToImageEXT(VkDevice device, const VkCopyImageToImageInfoEXT *info)
{
   struct gpuval_lvp_written *state = get_state(device);

   for (uint32_t i = 0; i < info->regionCount; i++)
      mark_layers(state, info->dstImage, &info->pRegions[i].dstSubresource);
   return state->copy_image_to_image(device, info);
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_TransitionImageLayoutEXT(VkDevice device, uint32_t count,
                              const VkHostImageLayoutTransitionInfoEXT *infos)
{
   struct gpuval_lvp_written *state = get_state(device);

   for (uint32_t i = 0; i < count; i++) {
      VK_FROM_HANDLE(lvp_image, image, infos[i].image);
      if (infos[i].oldLayout == VK_IMAGE_LAYOUT_UNDEFINED && !is_always_written(state, image))
         gpuval_lvp_visit_image(image, &infos[i].subresourceRange, clear_written, state);
   }
   return state->transition_image_layout(device, count, infos);
}

/* Commands */

static void
write_buffer(void *data, const struct vk_buffer *vk_buffer, uint64_t offset, uint64_t size)
{
   const struct lvp_buffer *buffer = container_of(vk_buffer, struct lvp_buffer, vk);
   struct gpuval_lvp_written *state = data;

   if (buffer->map)
      gpuval_written_mark(state->written, (uintptr_t)buffer->map + offset, size);
}

static void
write_address(void *data, VkDeviceAddress address, uint64_t size)
{
   struct gpuval_lvp_written *state = data;
   struct gpuval_command_range range;

   if (size != VK_WHOLE_SIZE)
      gpuval_written_mark(state->written, address, size);
   else if (gpuval_device_find_buffer(gpuval_lvp_device(state->gpuval), address, 1, &range))
      gpuval_written_mark(state->written, address, range.address + range.size - address);
}

static void
write_image(void *data, const struct vk_image *image, const VkImageSubresourceRange *range)
{
   gpuval_lvp_visit_image(container_of(image, struct lvp_image, vk), range, set_written, data);
}

static void
discard_image(void *data, const struct vk_image *vk_image, const VkImageSubresourceRange *range,
              bool later)
{
   const struct lvp_image *image = container_of(vk_image, struct lvp_image, vk);

   if (!is_always_written(data, image))
      gpuval_lvp_visit_image(image, range, later ? clear_written_later : clear_written, data);
}

/* Returns the first layer of an image that a load operation reads and nobody has written, or -1. */
static int
find_unwritten(const struct gpuval_lvp_written *state, const struct gpuval_attachment *attachment)
{
   const struct vk_image_view *view = attachment->view;
   const struct lvp_image *image = container_of(view->image, struct lvp_image, vk);
   uint8_t bits = gpuval_lvp_aspect_bits(image, attachment->aspects);
   uint32_t count = image->vk.image_type == VK_IMAGE_TYPE_3D ? 1
                    : attachment->has_views                  ? util_last_bit(attachment->layers)
                                                             : attachment->layers;

   for (uint32_t i = 0; i < count; i++) {
      if (attachment->has_views && !(attachment->layers & BITFIELD_BIT(i)))
         continue;
      uint32_t layer = view->base_array_layer + i;
      uint64_t address = gpuval_lvp_subresource_address(image, 0, view->base_mip_level, layer);
      if (!(gpuval_written_get(state->written, address) & bits))
         return layer;
   }
   return -1;
}

static void
load(void *data, const struct gpuval_attachment *attachment)
{
   struct gpuval_lvp_written *state = data;
   const struct vk_image_view *view = attachment->view;
   int layer = find_unwritten(state, attachment);
   if (layer < 0)
      return;

   struct gpuval_command_failure failure = {
      .kind = GPUVAL_KIND_UNINITIALIZED_READ,
      .op = GPUVAL_OP_LOAD,
      .part = attachment->number,
      .count = 1,
      .range =
         {
            .type = "attachment",
            .binding = -1,
            .object_id = view->image->base.gpuval_id,
            .is_image = true,
         },
   };
   snprintf(failure.detail, sizeof(failure.detail),
            "the load operation of %s reads level %u, layer %d, where nothing was ever written",
            attachment->name, view->base_mip_level, layer);
   gpuval_lvp_report(state->gpuval, &failure);
}

static const struct gpuval_init_memory init_memory = {
   .write_buffer = write_buffer,
   .write_address = write_address,
   .write_image = write_image,
   .discard_image = discard_image,
   .load = load,
};

void
gpuval_lvp_written_flush(struct gpuval_lvp_written *state)
{
   gpuval_written_flush(state->written);
}

/* Device */

struct gpuval_lvp_written *
gpuval_lvp_written_create(void *mem_ctx, struct lvp_device *device, struct gpuval_lvp *gpuval,
                          struct gpuval_written *written, struct gpuval_commands *commands)
{
   struct vk_device_dispatch_table *table = &device->vk.dispatch_table;
   struct gpuval_lvp_written *state = rzalloc(mem_ctx, struct gpuval_lvp_written);

   state->gpuval = gpuval;
   state->written = written;
   gpuval_commands_add_observer(commands, &gpuval_init_observer,
                                gpuval_init_commands_create(state, &init_memory, state));

   state->map_memory = table->MapMemory2KHR;
   state->bind_image_memory = table->BindImageMemory2;
   state->create_image_view = table->CreateImageView;
   state->copy_memory_to_image = table->CopyMemoryToImageEXT;
   state->copy_image_to_image = table->CopyImageToImageEXT;
   state->transition_image_layout = table->TransitionImageLayoutEXT;
   table->MapMemory2KHR = hook_MapMemory2KHR;
   table->BindImageMemory2 = hook_BindImageMemory2;
   table->CreateImageView = hook_CreateImageView;
   table->CopyMemoryToImageEXT = hook_CopyMemoryToImageEXT;
   table->CopyImageToImageEXT = hook_CopyImageToImageEXT;
   table->TransitionImageLayoutEXT = hook_TransitionImageLayoutEXT;
   return state;
}

/* Descriptors */

static bool
is_texture_written(struct gpuval_lvp_written *state, const struct lp_jit_texture *texture,
                   bool is_3d)
{
   if (!texture->width || texture->first_level >= ARRAY_SIZE(texture->img_stride))
      return true;

   return gpuval_written_is_view_marked(
      state->written, &(struct gpuval_written_view){
                         .base = (uintptr_t)texture->base,
                         .offsets = texture->mip_offsets,
                         .strides = texture->img_stride,
                         .first_level = texture->first_level,
                         .last_level = CLAMP(texture->last_level, texture->first_level,
                                             ARRAY_SIZE(texture->img_stride) - 1),
                         .num_layers = is_3d ? 1 : MAX2(texture->depth, 1),
                      });
}

static bool
is_image_written(struct gpuval_lvp_written *state, const struct lp_jit_image *image, bool is_3d)
{
   static const uint32_t offset = 0;

   return !image->width || gpuval_written_is_view_marked(
                              state->written, &(struct gpuval_written_view){
                                                 .base = (uintptr_t)image->base,
                                                 .offsets = &offset,
                                                 .strides = &image->img_stride,
                                                 .num_layers = is_3d ? 1 : MAX2(image->depth, 1),
                                              });
}

bool
gpuval_lvp_written_look(struct gpuval_lvp_written *state, const struct lp_descriptor *descriptor,
                        uint32_t required, bool is_3d)
{
   const struct lp_jit_texture texture = gpuval_lvp_get_texture(descriptor);

   switch (required) {
   case GPUVAL_OFFERS_UNIFORM_BUFFER:
   case GPUVAL_OFFERS_STORAGE_BUFFER:
      return !gpuval_written_is_marked(state->written, (uintptr_t)descriptor->buffer.u,
                                       descriptor->buffer.size);
   case GPUVAL_OFFERS_UNIFORM_TEXEL_BUFFER:
      return !gpuval_written_is_marked(state->written, (uintptr_t)texture.base,
                                       (uint64_t)texture.width * texture.texel_size);
   case GPUVAL_OFFERS_STORAGE_TEXEL_BUFFER:
      return !gpuval_written_is_marked(
         state->written, (uintptr_t)descriptor->image.base,
         (uint64_t)descriptor->image.width * descriptor->image.texel_size);
   case GPUVAL_OFFERS_STORAGE_IMAGE:
   case GPUVAL_OFFERS_INPUT_ATTACHMENT:
      return !is_image_written(state, &descriptor->image, is_3d);
   default:
      return !is_texture_written(state, &texture, is_3d);
   }
}

bool
gpuval_lvp_written_look_list(struct gpuval_lvp_written *state,
                             const struct gpuval_written_list *list)
{
   return gpuval_written_is_list_marked(state->written, list);
}
