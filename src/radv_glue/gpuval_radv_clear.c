/* SPDX-License-Identifier: MIT */

/* Shadow memory is cleared by the GPU, which takes a hundredth of the time that the host takes over
 * the bus. That happens in front of a submit while nothing is in flight, and no other queue may
 * submit: the host waits for it, so that all queues find it cleared.
 */

#include "gpuval_radv_private.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_queue.h"

#include "gpuval/src/core/memory/gpuval_cells.h"
#include "gpuval/src/core/memory/gpuval_shadow_device.h"
#include "util/os_time.h"
#include "util/ralloc.h"

#define MAX_SECONDS 10

struct family {
   uint32_t index;
   VkCommandPool pool;
   VkCommandBuffer commands;
};

struct gpuval_radv_clear {
   struct family families[2]; /* those that have compute shaders */
   unsigned num_families;
   struct vk_queue *queue; /* that the caller submits to, while it may be used; or NULL */
};

static struct family *
find_family(struct gpuval_radv_clear *clear, const struct vk_queue *queue)
{
   for (unsigned i = 0; queue && i < clear->num_families; i++) {
      if (clear->families[i].index == queue->queue_family_index)
         return &clear->families[i];
   }
   return NULL;
}

VkResult
gpuval_radv_create_commands(struct gpuval_radv *gpuval, uint32_t family, VkCommandPool *pool,
                            VkCommandBuffer *commands, uint32_t count)
{
   const struct vk_device_dispatch_table *table = &gpuval->radv->vk.dispatch_table;
   VkDevice device = radv_device_to_handle(gpuval->radv);

   const VkCommandPoolCreateInfo pool_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
      .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
      .queueFamilyIndex = family,
   };
   VkResult result = table->CreateCommandPool(device, &pool_info, NULL, pool);
   if (result != VK_SUCCESS)
      return result;

   const VkCommandBufferAllocateInfo allocate_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = *pool,
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      .commandBufferCount = count,
   };
   return table->AllocateCommandBuffers(device, &allocate_info, commands);
}

static VkResult
create_family(struct gpuval_radv *gpuval, struct gpuval_radv_clear *clear, uint32_t index)
{
   struct family *family = &clear->families[clear->num_families++];

   family->index = index;
   return gpuval_radv_create_commands(gpuval, index, &family->pool, &family->commands, 1);
}

/* By RADV's own functions: it is none of the program's command buffers, and locks are held. */
static VkResult
record(struct gpuval_radv *gpuval, VkCommandBuffer commands, const struct gpuval_cleared *ranges,
       unsigned count)
{
   const struct vk_device_dispatch_table *table = &gpuval->hooks.next;
   const VkCommandBufferBeginInfo begin_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
   };
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, commands);

   VkResult result = table->BeginCommandBuffer(commands, &begin_info);
   if (result != VK_SUCCESS)
      return result;
   for (unsigned i = 0; i < count; i++) {
      struct radeon_winsys_bo *bo = gpuval_winsys_radv_bo(&gpuval->winsys, ranges[i].map);
      cmd_buffer->state.flush_bits |=
         gpuval_radv_fill(cmd_buffer, bo, ranges[i].address, ranges[i].size, 0);
   }
   const VkMemoryBarrier2 memory = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
      .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
      .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
      .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
      .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
   };
   const VkDependencyInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
      .memoryBarrierCount = 1,
      .pMemoryBarriers = &memory,
   };
   table->CmdPipelineBarrier2(commands, &info);
   return table->EndCommandBuffer(commands);
}

static VkResult
execute(struct gpuval_radv *gpuval, struct vk_queue *queue, VkCommandBuffer commands)
{
   struct vk_device *device = &gpuval->radv->vk;
   struct vk_command_buffer *command_buffer = vk_command_buffer_from_handle(commands);
   struct vk_sync_signal signal = {.stage_mask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};

   VkResult result =
      vk_sync_create(device, device->physical->supported_sync_types[0], 0, 0, &signal.sync);
   if (result != VK_SUCCESS)
      return result;

   struct vk_queue_submit submit = {
      .command_buffer_count = 1,
      .command_buffers = &command_buffer,
      .signal_count = 1,
      .signals = &signal,
   };
   result = gpuval->driver_submit(queue, &submit);
   if (result == VK_SUCCESS)
      result = vk_sync_wait(device, signal.sync, 0, VK_SYNC_WAIT_COMPLETE,
                            os_time_get_absolute_timeout(MAX_SECONDS * UINT64_C(1000000000)));
   vk_sync_destroy(device, signal.sync);
   return result;
}

static bool
clear_all(struct gpuval_winsys_radv *winsys, const struct gpuval_cleared *ranges, unsigned count)
{
   struct gpuval_radv *gpuval = container_of(winsys, struct gpuval_radv, winsys);
   struct gpuval_radv_clear *clear = gpuval->clear;
   const struct family *family = find_family(clear, clear->queue);

   return family && record(gpuval, family->commands, ranges, count) == VK_SUCCESS &&
          execute(gpuval, clear->queue, family->commands) == VK_SUCCESS;
}

void
gpuval_radv_init_clear(struct gpuval_radv *gpuval)
{
   /* Without a GPU nothing is recorded. */
   if (!gpuval_device_has_shadow(gpuval->device) ||
       radv_device_physical(gpuval->radv)->info.family_overridden)
      return;

   struct gpuval_radv_clear *clear = rzalloc(gpuval, struct gpuval_radv_clear);
   VkResult result = VK_SUCCESS;

   gpuval->clear = clear;
   vk_foreach_queue (queue, &gpuval->radv->vk) {
      enum radv_queue_family family = ((struct radv_queue *)queue)->state.qf;
      if (result == VK_SUCCESS && !find_family(clear, queue) &&
          (family == RADV_QUEUE_GENERAL || family == RADV_QUEUE_COMPUTE))
         result = create_family(gpuval, clear, queue->queue_family_index);
   }
   if (result == VK_SUCCESS)
      gpuval->winsys.clear_on_gpu = clear_all;
}

/* All work has ended. */
void
gpuval_radv_finish_clear(struct gpuval_radv *gpuval)
{
   for (unsigned i = 0; gpuval->clear && i < gpuval->clear->num_families; i++)
      gpuval->hooks.next.DestroyCommandPool(radv_device_to_handle(gpuval->radv),
                                            gpuval->clear->families[i].pool, NULL);
}

void
gpuval_radv_allow_clear(struct gpuval_radv *gpuval, struct vk_queue *queue)
{
   if (gpuval->clear)
      gpuval->clear->queue = queue;
}
