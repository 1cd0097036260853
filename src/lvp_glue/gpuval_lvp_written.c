/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_written.h"
#include "gpuval_lvp.h"
#include "gpuval_lvp_private.h"
#include "gpuval_lvp_written_private.h"

#include "gallium/drivers/llvmpipe/lp_texture.h"
#include "lvp_private.h"

#include "gpuval/src/core/gpuval_dependency.h"
#include "gpuval/src/core/gpuval_objects.h"
#include "gpuval/src/core/gpuval_written.h"
#include "vk_acceleration_structure.h"
#include "vk_image.h"

/* Subresources */

void
gpuval_lvp_written_set(void *data, uint64_t address, uint8_t bits)
{
   gpuval_written_set(((struct gpuval_lvp_written *)data)->written, address, bits);
}

void
gpuval_lvp_written_clear(void *data, uint64_t address, uint8_t bits)
{
   gpuval_written_clear(((struct gpuval_lvp_written *)data)->written, address, bits);
}

void
gpuval_lvp_written_clear_later(void *data, uint64_t address, uint8_t bits)
{
   gpuval_written_clear_later(((struct gpuval_lvp_written *)data)->written, address, bits);
}

static void
mark_layers(struct gpuval_lvp_written *state, VkImage handle,
            const VkImageSubresourceLayers *layers)
{
   LVP_FROM_HANDLE(lvp_image, image, handle);
   const VkImageSubresourceRange range = gpuval_layers_range(layers);

   gpuval_lvp_visit_image(image, &range, gpuval_lvp_written_set, state);
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
bool
gpuval_lvp_is_always_written(const struct gpuval_lvp_written *state, const struct lvp_image *image)
{
   bool is_3d = image->vk.image_type == VK_IMAGE_TYPE_3D;

   return image->vk.tiling != VK_IMAGE_TILING_OPTIMAL ||
          (is_3d && (state->has_sliced_views ||
                     image->vk.create_flags & VK_IMAGE_CREATE_2D_VIEW_COMPATIBLE_BIT_EXT));
}

static void
mark_slices(struct gpuval_lvp_written *state, const struct lvp_image *image)
{
   gpuval_lvp_visit_image(image, &whole_image, gpuval_lvp_written_set, state);
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

/* Buffers */

static void
mark_buffer(struct gpuval_lvp_written *state, VkBuffer handle, VkDeviceSize offset,
            VkDeviceSize size)
{
   LVP_FROM_HANDLE(lvp_buffer, buffer, handle);

   if (!buffer || !buffer->map || offset >= buffer->vk.size)
      return;
   size = MIN2(size, buffer->vk.size - offset);
   gpuval_written_mark(state->written, (uintptr_t)buffer->map + offset, size);
}

static void
mark_structure(struct gpuval_lvp_written *state, VkAccelerationStructureKHR handle)
{
   VK_FROM_HANDLE(vk_acceleration_structure, structure, handle);

   if (structure)
      mark_buffer(state, structure->buffer, structure->offset, structure->size);
}

/* From there to the end of the buffer: how much it is, is not known. */
static void
mark_address(struct gpuval_lvp_written *state, VkDeviceAddress address)
{
   struct gpuval_command_range range;

   if (gpuval_device_find_buffer(gpuval_lvp_device(state->gpuval), address, 1, &range))
      gpuval_written_mark(state->written, address, range.address + range.size - address);
}

/* The host */

static struct gpuval_lvp_written *
get_state(VkDevice handle)
{
   LVP_FROM_HANDLE(lvp_device, device, handle);
   return gpuval_lvp_get_written(device->gpuval);
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_MapMemory2KHR(VkDevice device, const VkMemoryMapInfoKHR *info, void **data)
{
   struct gpuval_lvp_written *state = get_state(device);
   LVP_FROM_HANDLE(lvp_device_memory, memory, info->memory);
   VkResult result = state->map_memory(device, info, data);

   /* It may write whatever it likes, and nobody sees it; poison shows what it has written. */
   if (result == VK_SUCCESS && memory && !gpuval_options()->poison)
      gpuval_written_mark(state->written, (uintptr_t)memory->map + info->offset,
                          info->size == VK_WHOLE_SIZE ? memory->size - info->offset : info->size);
   return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_BindImageMemory2(VkDevice device, uint32_t count, const VkBindImageMemoryInfo *infos)
{
   struct gpuval_lvp_written *state = get_state(device);
   VkResult result = state->bind_image_memory(device, count, infos);

   for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++) {
      LVP_FROM_HANDLE(lvp_image, image, infos[i].image);
      if (gpuval_lvp_is_always_written(state, image))
         mark_slices(state, image);
   }
   return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_CreateImageView(VkDevice device, const VkImageViewCreateInfo *info,
                     const VkAllocationCallbacks *allocator, VkImageView *view)
{
   struct gpuval_lvp_written *state = get_state(device);
   LVP_FROM_HANDLE(lvp_image, image, info->image);

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
      LVP_FROM_HANDLE(lvp_image, image, infos[i].image);
      if (infos[i].oldLayout == VK_IMAGE_LAYOUT_UNDEFINED &&
          !gpuval_lvp_is_always_written(state, image))
         gpuval_lvp_visit_image(image, &infos[i].subresourceRange, gpuval_lvp_written_clear, state);
   }
   return state->transition_image_layout(device, count, infos);
}

struct gpuval_lvp_written *
gpuval_lvp_written_create(void *mem_ctx, struct lvp_device *device, struct gpuval_lvp *gpuval,
                          struct gpuval_written *written)
{
   struct vk_device_dispatch_table *table = &device->vk.dispatch_table;
   struct gpuval_lvp_written *state = rzalloc(mem_ctx, struct gpuval_lvp_written);

   state->device = device;
   state->gpuval = gpuval;
   state->written = written;

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

/* Commands */

static void
transition(struct gpuval_lvp_written *state, uint32_t count, const VkImageMemoryBarrier2 *barriers)
{
   for (uint32_t i = 0; i < count; i++) {
      LVP_FROM_HANDLE(lvp_image, image, barriers[i].image);

      if (image && barriers[i].oldLayout == VK_IMAGE_LAYOUT_UNDEFINED &&
          barriers[i].newLayout != VK_IMAGE_LAYOUT_UNDEFINED &&
          !gpuval_lvp_is_always_written(state, image))
         gpuval_lvp_visit_image(image, &barriers[i].subresourceRange,
                                gpuval_lvp_written_clear_later, state);
   }
}

static void
transfer(void *data, const struct gpuval_transfer *transfer)
{
   struct gpuval_lvp_written *state = data;

   if (!transfer->is_write)
      return;
   if (transfer->image) {
      gpuval_lvp_visit_image(container_of(transfer->image, struct lvp_image, vk), &transfer->range,
                             gpuval_lvp_written_set, state);
      return;
   }

   const struct lvp_buffer *buffer = container_of(transfer->buffer, struct lvp_buffer, vk);
   if (buffer->map)
      gpuval_written_mark(state->written, (uintptr_t)buffer->map + transfer->offset,
                          transfer->size);
}

static void
copy_query_results(struct gpuval_lvp_written *state,
                   const struct vk_cmd_copy_query_pool_results *copy)
{
   LVP_FROM_HANDLE(lvp_query_pool, pool, copy->query_pool);
   uint64_t size = gpuval_query_size(pool->type, pool->pipeline_stats, copy->flags);

   /* The stride may be anything, 0 if there is one query. */
   for (uint32_t i = 0; i < copy->query_count; i++)
      mark_buffer(state, copy->dst_buffer, copy->dst_offset + i * copy->stride, size);
}

static void
write_transforms(struct gpuval_lvp_written *state,
                 const struct vk_cmd_bind_transform_feedback_buffers_ext *bind)
{
   for (uint32_t i = 0; i < bind->binding_count; i++)
      mark_buffer(state, bind->buffers[i], bind->offsets[i],
                  bind->sizes ? bind->sizes[i] : VK_WHOLE_SIZE);
}

/* What a command writes, or forgets */
static void
execute(struct gpuval_lvp_written *state, const struct vk_cmd_queue_entry *command)
{
   switch ((unsigned)command->type) {
   case VK_CMD_PIPELINE_BARRIER2: {
      const VkDependencyInfo *info = command->u.pipeline_barrier2.dependency_info;
      transition(state, info->imageMemoryBarrierCount, info->pImageMemoryBarriers);
      state->waits = true;
      return;
   }
   case VK_CMD_WAIT_EVENTS2: {
      const struct gpuval_dependency *events = command->driver_data;
      if (events)
         transition(state, events->num_images, events->images);
      state->waits = true;
      return;
   }
   case VK_CMD_BEGIN_RENDERING:
      gpuval_lvp_written_begin_rendering(state, command->u.begin_rendering.rendering_info);
      return;
   case VK_CMD_END_RENDERING:
      gpuval_lvp_written_end_rendering(state);
      return;
   case VK_CMD_CLEAR_ATTACHMENTS:
      gpuval_lvp_written_draw(state);
      return;
   case VK_CMD_COPY_QUERY_POOL_RESULTS:
      copy_query_results(state, &command->u.copy_query_pool_results);
      return;
   case VK_CMD_BIND_TRANSFORM_FEEDBACK_BUFFERS_EXT:
      write_transforms(state, &command->u.bind_transform_feedback_buffers_ext);
      return;
   case VK_CMD_END_TRANSFORM_FEEDBACK_EXT: {
      const struct vk_cmd_end_transform_feedback_ext *end = &command->u.end_transform_feedback_ext;
      for (uint32_t i = 0; end->counter_buffers && i < end->counter_buffer_count; i++)
         mark_buffer(state, end->counter_buffers[i],
                     end->counter_buffer_offsets ? end->counter_buffer_offsets[i] : 0, 4);
      return;
   }
   case VK_CMD_PREPROCESS_GENERATED_COMMANDS_EXT: {
      const VkGeneratedCommandsInfoEXT *info =
         command->u.preprocess_generated_commands_ext.generated_commands_info;
      gpuval_written_mark(state->written, info->preprocessAddress, info->preprocessSize);
      return;
   }
   case VK_CMD_BUILD_ACCELERATION_STRUCTURES_KHR:
      for (uint32_t i = 0; i < command->u.build_acceleration_structures_khr.info_count; i++)
         mark_structure(
            state, command->u.build_acceleration_structures_khr.infos[i].dstAccelerationStructure);
      return;
   case VK_CMD_COPY_ACCELERATION_STRUCTURE_KHR:
      mark_structure(state, command->u.copy_acceleration_structure_khr.info->dst);
      return;
   case VK_CMD_COPY_MEMORY_TO_ACCELERATION_STRUCTURE_KHR:
      mark_structure(state, command->u.copy_memory_to_acceleration_structure_khr.info->dst);
      return;
   case VK_CMD_COPY_ACCELERATION_STRUCTURE_TO_MEMORY_KHR:
      mark_address(state,
                   command->u.copy_acceleration_structure_to_memory_khr.info->dst.deviceAddress);
      return;
   default:
      gpuval_lvp_visit_transfers(command, transfer, state);
      return;
   }
}

void
gpuval_lvp_written_idle(struct gpuval_lvp_written *state)
{
   gpuval_written_flush(state->written);
   state->waits = false;
   state->rendering = NULL;
}

void
gpuval_lvp_written_command(struct gpuval_lvp_written *state,
                           const struct vk_cmd_queue_entry *command, bool is_draw)
{
   if (state->waits)
      gpuval_written_flush(state->written);
   state->waits = false;

   if (is_draw && !state->has_drawn) {
      gpuval_lvp_written_draw(state);
      state->has_drawn = true;
   }
   execute(state, command);
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
   switch (required) {
   case GPUVAL_OFFERS_UNIFORM_BUFFER:
   case GPUVAL_OFFERS_STORAGE_BUFFER:
      return !gpuval_written_is_marked(state->written, (uintptr_t)descriptor->buffer.u,
                                       descriptor->buffer.size);
   case GPUVAL_OFFERS_UNIFORM_TEXEL_BUFFER:
      return !gpuval_written_is_marked(
         state->written, (uintptr_t)descriptor->texture.base,
         (uint64_t)descriptor->texture.width * descriptor->texture.texel_size);
   case GPUVAL_OFFERS_STORAGE_TEXEL_BUFFER:
      return !gpuval_written_is_marked(
         state->written, (uintptr_t)descriptor->image.base,
         (uint64_t)descriptor->image.width * descriptor->image.texel_size);
   case GPUVAL_OFFERS_STORAGE_IMAGE:
   case GPUVAL_OFFERS_INPUT_ATTACHMENT:
      return !is_image_written(state, &descriptor->image, is_3d);
   default:
      return !is_texture_written(state, &descriptor->texture, is_3d);
   }
}
