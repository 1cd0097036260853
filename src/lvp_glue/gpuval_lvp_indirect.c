/* SPDX-License-Identifier: MIT */

/* Which bytes does an indirect command read? It is host code that reads them on
 * lavapipe, in the middle of util_draw_indirect() and the like.
 */

#include "gpuval_lvp_indirect.h"

#include "lvp_private.h"

#include "util/u_inlines.h"

/* Draws of all kinds have the same members. */
static_assert(sizeof(struct vk_cmd_draw_indexed_indirect) == sizeof(struct vk_cmd_draw_indirect) &&
                 sizeof(struct vk_cmd_draw_mesh_tasks_indirect_ext) ==
                    sizeof(struct vk_cmd_draw_indirect),
              "buffer, offset, draw_count, stride");
static_assert(sizeof(struct vk_cmd_draw_indexed_indirect_count) ==
                    sizeof(struct vk_cmd_draw_indirect_count) &&
                 sizeof(struct vk_cmd_draw_mesh_tasks_indirect_count_ext) ==
                    sizeof(struct vk_cmd_draw_indirect_count),
              "the same with a count");

/* Where @buffer has @offset, or NULL if there are no @size bytes. Fragments of
 * earlier draws that write there have run when this returns.
 */
static void *
map(struct lvp_device *device, VkBuffer handle, uint64_t offset, uint64_t size)
{
   VK_FROM_HANDLE(lvp_buffer, buffer, handle);
   struct pipe_context *ctx = device->queue.ctx;
   struct pipe_transfer *transfer;

   if (!buffer->map || offset > buffer->vk.size || size > buffer->vk.size - offset || !size)
      return NULL;
   if (!pipe_buffer_map_range(ctx, buffer->bo, offset, size, PIPE_MAP_READ, &transfer))
      return NULL;
   pipe_buffer_unmap(ctx, transfer);
   return (char *)buffer->map + offset;
}

static bool
get_structs(struct lvp_device *device, VkBuffer buffer, uint64_t offset, uint32_t size,
            uint32_t stride, uint32_t count, struct gpuval_lvp_arguments *out)
{
   uint64_t whole = count ? (uint64_t)stride * (count - 1) + size : 0;

   *out = (struct gpuval_lvp_arguments){
      .address = (uintptr_t)map(device, buffer, offset, whole),
      .size = size,
      .stride = stride,
      .count = count,
   };
   return out->address != 0;
}

static unsigned
get_draws(struct lvp_device *device, const struct vk_cmd_draw_indirect *draw, uint32_t size,
          struct gpuval_lvp_arguments *out)
{
   return get_structs(device, draw->buffer, draw->offset, size, draw->stride, draw->draw_count,
                      out);
}

static unsigned
get_counted_draws(struct lvp_device *device, const struct vk_cmd_draw_indirect_count *draw,
                  uint32_t size, struct gpuval_lvp_arguments *out)
{
   if (!get_structs(device, draw->count_buffer, draw->count_buffer_offset, 4, 0, 1, &out[0]))
      return 0;

   uint32_t count = *(const uint32_t *)(uintptr_t)out[0].address;
   return 1 + get_structs(device, draw->buffer, draw->offset, size, draw->stride,
                          MIN2(count, draw->max_draw_count), &out[1]);
}

static unsigned
get_trace(VkDeviceAddress address, uint32_t size, struct gpuval_lvp_arguments *out)
{
   *out = (struct gpuval_lvp_arguments){.address = address, .size = size, .count = 1};
   return 1;
}

unsigned
gpuval_lvp_get_arguments(struct lvp_device *device, const struct vk_cmd_queue_entry *command,
                         struct gpuval_lvp_arguments out[GPUVAL_LVP_MAX_ARGUMENTS])
{
   switch ((unsigned)command->type) {
   case VK_CMD_DISPATCH_INDIRECT:
      return get_structs(device, command->u.dispatch_indirect.buffer,
                         command->u.dispatch_indirect.offset, sizeof(VkDispatchIndirectCommand), 0,
                         1, out);
   case VK_CMD_DRAW_INDIRECT:
      return get_draws(device, &command->u.draw_indirect, sizeof(VkDrawIndirectCommand), out);
   case VK_CMD_DRAW_INDEXED_INDIRECT:
      return get_draws(device, &command->u.draw_indirect, sizeof(VkDrawIndexedIndirectCommand),
                       out);
   case VK_CMD_DRAW_MESH_TASKS_INDIRECT_EXT:
      return get_draws(device, &command->u.draw_indirect, sizeof(VkDrawMeshTasksIndirectCommandEXT),
                       out);
   case VK_CMD_DRAW_INDIRECT_COUNT:
      return get_counted_draws(device, &command->u.draw_indirect_count,
                               sizeof(VkDrawIndirectCommand), out);
   case VK_CMD_DRAW_INDEXED_INDIRECT_COUNT:
      return get_counted_draws(device, &command->u.draw_indirect_count,
                               sizeof(VkDrawIndexedIndirectCommand), out);
   case VK_CMD_DRAW_MESH_TASKS_INDIRECT_COUNT_EXT:
      return get_counted_draws(device, &command->u.draw_indirect_count,
                               sizeof(VkDrawMeshTasksIndirectCommandEXT), out);
   case VK_CMD_TRACE_RAYS_INDIRECT_KHR:
      return get_trace(command->u.trace_rays_indirect_khr.indirect_device_address,
                       sizeof(VkTraceRaysIndirectCommandKHR), out);
   case VK_CMD_TRACE_RAYS_INDIRECT2_KHR:
      return get_trace(command->u.trace_rays_indirect2_khr.indirect_device_address,
                       sizeof(VkTraceRaysIndirectCommand2KHR), out);
   default:
      return 0;
   }
}
