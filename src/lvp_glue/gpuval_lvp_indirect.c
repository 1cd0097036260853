/* SPDX-License-Identifier: MIT */

/* Which bytes does an indirect command read? It is host code that reads them on
 * lavapipe, in the middle of util_draw_indirect() and the like.
 */

#include "gpuval_lvp_indirect.h"

#include "lvp_private.h"

#include "gpuval/src/gpuval.h"
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

struct gpuval_command_range
gpuval_lvp_get_range(VkBuffer handle, uint64_t offset, uint64_t size, const char *type)
{
   VK_FROM_HANDLE(lvp_buffer, buffer, handle);
   struct gpuval_command_range range = {.type = type, .binding = -1};

   if (!buffer)
      return range;

   uint64_t rest = buffer->vk.size - MIN2(offset, buffer->vk.size);
   range.object = &buffer->vk.base;
   range.object_offset = offset;
   range.address = (uintptr_t)buffer->map + offset;
   range.size = size == VK_WHOLE_SIZE ? rest : MIN2(size, rest);
   return range;
}

/* Fragments of earlier draws that write there have run when this returns. */
static const void *
map(struct lvp_device *device, VkBuffer handle)
{
   VK_FROM_HANDLE(lvp_buffer, buffer, handle);
   struct pipe_context *ctx = device->queue.ctx;
   struct pipe_transfer *transfer;

   if (!buffer->map || !pipe_buffer_map(ctx, buffer->bo, PIPE_MAP_READ, &transfer))
      return NULL;
   pipe_buffer_unmap(ctx, transfer);
   return buffer->map;
}

static void
get_structs(struct lvp_device *device, VkBuffer buffer, uint64_t offset, uint32_t stride,
            uint32_t count, struct gpuval_arguments *arguments)
{
   arguments->range = gpuval_lvp_get_range(buffer, 0, VK_WHOLE_SIZE, "indirect_buffer");
   arguments->data = map(device, buffer);
   arguments->offset = offset;
   arguments->stride = stride;
   arguments->count = count;
}

static void
get_count(struct lvp_device *device, VkBuffer buffer, uint64_t offset,
          struct gpuval_lvp_indirect *indirect)
{
   const char *data = map(device, buffer);

   indirect->has_count = true;
   indirect->count_range = gpuval_lvp_get_range(buffer, 0, VK_WHOLE_SIZE, "indirect_buffer");
   indirect->count_offset = offset;
   uint64_t size = indirect->count_range.size;
   if (data && size >= 4 && offset <= size - 4)
      indirect->count = (const uint32_t *)(data + offset);
}

static bool
get_draws(struct lvp_device *device, const struct vk_cmd_draw_indirect *draw,
          enum gpuval_arguments_type type, struct gpuval_lvp_indirect *indirect)
{
   indirect->arguments.type = type;
   get_structs(device, draw->buffer, draw->offset, draw->stride, draw->draw_count,
               &indirect->arguments);
   return true;
}

/* VK_EXT_draw_indirect_count and its kin: what is above maxDrawCount is clamped. */
static bool
get_counted_draws(struct lvp_device *device, const struct vk_cmd_draw_indirect_count *draw,
                  enum gpuval_arguments_type type, struct gpuval_lvp_indirect *indirect)
{
   get_count(device, draw->count_buffer, draw->count_buffer_offset, indirect);
   uint32_t count = indirect->count ? MIN2(*indirect->count, draw->max_draw_count) : 0;

   indirect->arguments.type = type;
   indirect->arguments.counted = true;
   get_structs(device, draw->buffer, draw->offset, draw->stride, count, &indirect->arguments);
   return true;
}

static bool
get_dispatch(struct lvp_device *device, const struct vk_cmd_dispatch_indirect *dispatch,
             struct gpuval_lvp_indirect *indirect)
{
   indirect->arguments.type = GPUVAL_ARGUMENTS_DISPATCH;
   get_structs(device, dispatch->buffer, dispatch->offset, 0, 1, &indirect->arguments);
   return true;
}

static bool
get_trace(struct gpuval_device *gpuval, VkDeviceAddress address, enum gpuval_arguments_type type,
          struct gpuval_lvp_indirect *indirect)
{
   struct gpuval_arguments *arguments = &indirect->arguments;

   arguments->type = type;
   arguments->count = 1;
   arguments->range.binding = -1;
   arguments->range.address = address;
   if (gpuval_device_find_buffer(gpuval, address, gpuval_arguments_size(type), &arguments->range)) {
      /* An address is the host's, and barriers wait for what is written there. */
      arguments->data = (const void *)(uintptr_t)arguments->range.address;
      arguments->offset = address - arguments->range.address;
   }
   arguments->range.type = "address";
   return true;
}

bool
gpuval_lvp_get_indirect(struct lvp_device *device, struct gpuval_device *gpuval,
                        const struct vk_cmd_queue_entry *command,
                        struct gpuval_lvp_indirect *indirect)
{
   *indirect = (struct gpuval_lvp_indirect){0};

   switch ((unsigned)command->type) {
   case VK_CMD_DISPATCH_INDIRECT:
      return get_dispatch(device, &command->u.dispatch_indirect, indirect);
   case VK_CMD_DRAW_INDIRECT:
      return get_draws(device, &command->u.draw_indirect, GPUVAL_ARGUMENTS_DRAW, indirect);
   case VK_CMD_DRAW_INDEXED_INDIRECT:
      return get_draws(device, &command->u.draw_indirect, GPUVAL_ARGUMENTS_DRAW_INDEXED, indirect);
   case VK_CMD_DRAW_MESH_TASKS_INDIRECT_EXT:
      return get_draws(device, &command->u.draw_indirect, GPUVAL_ARGUMENTS_DRAW_MESH_TASKS,
                       indirect);
   case VK_CMD_DRAW_INDIRECT_COUNT:
      return get_counted_draws(device, &command->u.draw_indirect_count, GPUVAL_ARGUMENTS_DRAW,
                               indirect);
   case VK_CMD_DRAW_INDEXED_INDIRECT_COUNT:
      return get_counted_draws(device, &command->u.draw_indirect_count,
                               GPUVAL_ARGUMENTS_DRAW_INDEXED, indirect);
   case VK_CMD_DRAW_MESH_TASKS_INDIRECT_COUNT_EXT:
      return get_counted_draws(device, &command->u.draw_indirect_count,
                               GPUVAL_ARGUMENTS_DRAW_MESH_TASKS, indirect);
   case VK_CMD_TRACE_RAYS_INDIRECT_KHR:
      return get_trace(gpuval, command->u.trace_rays_indirect_khr.indirect_device_address,
                       GPUVAL_ARGUMENTS_TRACE_RAYS, indirect);
   case VK_CMD_TRACE_RAYS_INDIRECT2_KHR:
      return get_trace(gpuval, command->u.trace_rays_indirect2_khr.indirect_device_address,
                       GPUVAL_ARGUMENTS_TRACE_RAYS2, indirect);
   default:
      return false;
   }
}
