/* SPDX-License-Identifier: MIT */

#include "gpuval_indirect.h"

#include "gpuval.h"
#include "vk_buffer.h"
#include "vk_cmd_queue.h"

struct gpuval_command_range
gpuval_get_buffer_range(const struct gpuval_host_memory *memory, VkBuffer handle, uint64_t offset,
                        uint64_t size, const char *type)
{
   VK_FROM_HANDLE(vk_buffer, buffer, handle);
   struct gpuval_command_range range = {.type = type, .binding = -1};

   if (!buffer)
      return range;

   uint64_t rest = buffer->size - MIN2(offset, buffer->size);
   range.object = &buffer->base;
   range.object_offset = offset;
   range.address = memory->find_buffer(buffer) + offset;
   range.size = size == VK_WHOLE_SIZE ? rest : MIN2(size, rest);
   return range;
}

static const void *
read_buffer(const struct gpuval_host_memory *memory, VkBuffer handle)
{
   VK_FROM_HANDLE(vk_buffer, buffer, handle);
   uint64_t address = memory->find_buffer(buffer);

   return address && memory->finish_writes && memory->finish_writes(memory->data, buffer)
             ? (const void *)(uintptr_t)address
             : NULL;
}

static void
get_structs(const struct gpuval_host_memory *memory, VkBuffer buffer, uint64_t offset,
            uint32_t stride, uint32_t count, struct gpuval_arguments *arguments)
{
   arguments->range = gpuval_get_buffer_range(memory, buffer, 0, VK_WHOLE_SIZE, "indirect_buffer");
   arguments->data = read_buffer(memory, buffer);
   arguments->offset = offset;
   arguments->stride = stride;
   arguments->count = count;
}

static void
get_count(const struct gpuval_host_memory *memory, VkBuffer buffer, uint64_t offset,
          struct gpuval_indirect *indirect)
{
   const char *data = read_buffer(memory, buffer);

   indirect->has_count = true;
   indirect->count_range =
      gpuval_get_buffer_range(memory, buffer, 0, VK_WHOLE_SIZE, "indirect_buffer");
   indirect->count_offset = offset;
   uint64_t size = indirect->count_range.size;
   if (data && size >= 4 && offset <= size - 4)
      indirect->count = (const uint32_t *)(data + offset);
}

static bool
get_draws(const struct gpuval_host_memory *memory, const struct vk_cmd_draw_indirect *draw,
          enum gpuval_arguments_type type, struct gpuval_indirect *indirect)
{
   indirect->arguments.type = type;
   get_structs(memory, draw->buffer, draw->offset, draw->stride, draw->draw_count,
               &indirect->arguments);
   return true;
}

/* VK_EXT_draw_indirect_count and its kin: what is above maxDrawCount is clamped. */
static bool
get_counted_draws(const struct gpuval_host_memory *memory,
                  const struct vk_cmd_draw_indirect_count *draw, enum gpuval_arguments_type type,
                  struct gpuval_indirect *indirect)
{
   get_count(memory, draw->count_buffer, draw->count_buffer_offset, indirect);
   uint32_t count = indirect->count         ? MIN2(*indirect->count, draw->max_draw_count)
                    : memory->finish_writes ? 0
                                            : draw->max_draw_count;

   indirect->arguments.type = type;
   indirect->arguments.counted = true;
   get_structs(memory, draw->buffer, draw->offset, draw->stride, count, &indirect->arguments);
   return true;
}

static bool
get_dispatch(const struct gpuval_host_memory *memory,
             const struct vk_cmd_dispatch_indirect *dispatch, struct gpuval_indirect *indirect)
{
   indirect->arguments.type = GPUVAL_ARGUMENTS_DISPATCH;
   get_structs(memory, dispatch->buffer, dispatch->offset, 0, 1, &indirect->arguments);
   return true;
}

static bool
get_trace(const struct gpuval_host_memory *memory, VkDeviceAddress address,
          enum gpuval_arguments_type type, struct gpuval_indirect *indirect)
{
   struct gpuval_arguments *arguments = &indirect->arguments;

   arguments->type = type;
   arguments->count = 1;
   arguments->range.binding = -1;
   arguments->range.address = address;
   if (gpuval_device_find_buffer(memory->device, address, gpuval_arguments_size(type),
                                 &arguments->range)) {
      /* An address is the host's, and barriers wait for what is written there. */
      if (memory->finish_writes)
         arguments->data = (const void *)(uintptr_t)arguments->range.address;
      arguments->offset = address - arguments->range.address;
   }
   arguments->range.type = "address";
   return true;
}

bool
gpuval_is_discarded(const struct gpuval_host_memory *memory,
                    const VkConditionalRenderingBeginInfoEXT *condition)
{
   VK_FROM_HANDLE(vk_buffer, buffer, condition ? condition->buffer : VK_NULL_HANDLE);
   uint64_t address = buffer ? memory->find_buffer(buffer) : 0;
   uint32_t value;

   if (!address)
      return false;
   memcpy(&value, (const void *)(uintptr_t)(address + condition->offset), sizeof(value));
   return (value == 0) != !!(condition->flags & VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT);
}

bool
gpuval_get_indirect(const struct gpuval_host_memory *memory,
                    const struct vk_cmd_queue_entry *command, struct gpuval_indirect *indirect)
{
   *indirect = (struct gpuval_indirect){0};

   switch ((unsigned)command->type) {
   case VK_CMD_DISPATCH_INDIRECT:
      return get_dispatch(memory, &command->u.dispatch_indirect, indirect);
   case VK_CMD_DRAW_INDIRECT:
      return get_draws(memory, &command->u.draw_indirect, GPUVAL_ARGUMENTS_DRAW, indirect);
   case VK_CMD_DRAW_INDEXED_INDIRECT:
      return get_draws(memory, &command->u.draw_indirect, GPUVAL_ARGUMENTS_DRAW_INDEXED, indirect);
   case VK_CMD_DRAW_MESH_TASKS_INDIRECT_EXT:
      return get_draws(memory, &command->u.draw_indirect, GPUVAL_ARGUMENTS_DRAW_MESH_TASKS,
                       indirect);
   case VK_CMD_DRAW_INDIRECT_COUNT:
      return get_counted_draws(memory, &command->u.draw_indirect_count, GPUVAL_ARGUMENTS_DRAW,
                               indirect);
   case VK_CMD_DRAW_INDEXED_INDIRECT_COUNT:
      return get_counted_draws(memory, &command->u.draw_indirect_count,
                               GPUVAL_ARGUMENTS_DRAW_INDEXED, indirect);
   case VK_CMD_DRAW_MESH_TASKS_INDIRECT_COUNT_EXT:
      return get_counted_draws(memory, &command->u.draw_indirect_count,
                               GPUVAL_ARGUMENTS_DRAW_MESH_TASKS, indirect);
   case VK_CMD_TRACE_RAYS_INDIRECT_KHR:
      return get_trace(memory, command->u.trace_rays_indirect_khr.indirect_device_address,
                       GPUVAL_ARGUMENTS_TRACE_RAYS, indirect);
   case VK_CMD_TRACE_RAYS_INDIRECT2_KHR:
      return get_trace(memory, command->u.trace_rays_indirect2_khr.indirect_device_address,
                       GPUVAL_ARGUMENTS_TRACE_RAYS2, indirect);
   default:
      return false;
   }
}
