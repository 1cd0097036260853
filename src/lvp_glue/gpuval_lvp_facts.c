/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_facts.h"

#include "gallium/drivers/llvmpipe/lp_context.h"
#include "gpuval/src/compat/gpuval_lvp_driver.h"

#include "draw/draw_context.h"

#include "util/u_inlines.h"

static uint64_t
query_size(VkQueryPool handle, VkQueryResultFlags flags)
{
   VK_FROM_HANDLE(lvp_query_pool, pool, handle);
   return gpuval_query_size(gpuval_lvp_query_type(pool), gpuval_lvp_query_statistics(pool), flags);
}

uint64_t
gpuval_lvp_find_buffer(const struct vk_buffer *buffer)
{
   return (uintptr_t)container_of(buffer, struct lvp_buffer, vk)->map;
}

/* Fragments of earlier draws that write there have run when this returns. */
static bool
finish_writes(void *data, const struct vk_buffer *buffer)
{
   const struct lvp_device *device = data;
   struct pipe_context *ctx = device->queue.ctx;
   struct pipe_transfer *transfer;

   if (!pipe_buffer_map(ctx, container_of(buffer, struct lvp_buffer, vk)->bo, PIPE_MAP_READ,
                        &transfer))
      return false;
   pipe_buffer_unmap(ctx, transfer);
   return true;
}

/* Draws capture before lavapipe goes on. */
static uint64_t
captured(void *data, unsigned binding)
{
   const struct lvp_device *device = data;
   const struct llvmpipe_context *llvmpipe = llvmpipe_context(device->queue.ctx);

   return (int)binding < llvmpipe->num_so_targets && llvmpipe->so_targets[binding]
             ? llvmpipe->so_targets[binding]->internal_offset
             : 0;
}

/* An address is the host's. What draws that run write there before has not been waited for: Vulkan
 * asks for a barrier, at which lavapipe waits.
 */
static const void *
find_memory(void *data, VkDeviceAddress address)
{
   return (const void *)(uintptr_t)address;
}

struct gpuval_command_driver
gpuval_lvp_command_driver(struct lvp_device *device)
{
   return (struct gpuval_command_driver){
      .query_size = query_size,
      .captured = captured,
      .find_memory = find_memory,
      .data = device,
   };
}

struct gpuval_host_memory
gpuval_lvp_host_memory(struct lvp_device *device, struct gpuval_device *gpuval)
{
   return (struct gpuval_host_memory){
      .device = gpuval,
      .find_buffer = gpuval_lvp_find_buffer,
      .finish_writes = finish_writes,
      .data = device,
   };
}
