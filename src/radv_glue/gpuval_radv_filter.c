/* SPDX-License-Identifier: MIT */

/* The filter of sync is in memory of the GPU alone, where shaders find it in the cache, and of
 * which there is more than the host sees. What the host would do with it when the GPU is idle,
 * looking how full it is and clearing it, command buffers of ours do in front of the next submit:
 * they copy its beginning to where the host sees it, which learns of it one time later. Where the
 * GPU is never idle, it is done all the same after so many submits: the filter would fill up, and
 * nothing be found any more. Other queues may submit meanwhile. What they mark may be lost then,
 * which misses something, but finds nothing: that takes a claim, too.
 */

#include "gpuval_radv_private.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_queue.h"

#include "util/ralloc.h"
#include "vk_enum_to_str.h"

/* With work in flight; a task makes its queue wait for what is there before. */
#define MAX_SUBMITS 32

enum task {
   TASK_SAMPLE,
   TASK_CLEAR,
   NUM_TASKS,
   TASK_NONE = NUM_TASKS,
};

struct family {
   uint32_t index;
   VkCommandPool pool;
   VkCommandBuffer commands[NUM_TASKS];
};

struct gpuval_radv_filter {
   struct gpuval_unseen_filter parts;
   struct family families[2]; /* those that have compute shaders */
   unsigned num_families;
   /* Under sync_mutex: */
   enum task task;       /* of the next submit */
   uint64_t visit;       /* of the submit that has had the last one */
   uint64_t begin_visit; /* of the one in front of which it was begun */
};

static struct family *
find_family(struct gpuval_radv_filter *filter, const struct vk_queue *queue)
{
   for (unsigned i = 0; i < filter->num_families; i++) {
      if (filter->families[i].index == queue->queue_family_index)
         return &filter->families[i];
   }
   return NULL;
}

static void
barrier(const struct vk_device_dispatch_table *table, VkCommandBuffer commands)
{
   const VkMemoryBarrier2 memory = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
      .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
      .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
      .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT,
      .dstAccessMask =
         VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT | VK_ACCESS_2_HOST_READ_BIT,
   };
   const VkDependencyInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
      .memoryBarrierCount = 1,
      .pMemoryBarriers = &memory,
   };
   table->CmdPipelineBarrier2(commands, &info);
}

static VkResult
record(struct gpuval_radv *gpuval, const struct gpuval_unseen_filter *parts,
       VkCommandBuffer commands, enum task task)
{
   const struct vk_device_dispatch_table *table = &gpuval->radv->vk.dispatch_table;
   const struct gpuval_buffer *marks = &parts->marks;
   struct radeon_winsys_bo *bo = gpuval_winsys_radv_bo(&gpuval->winsys, marks->map);
   struct radeon_winsys_bo *sample = gpuval_winsys_radv_bo(&gpuval->winsys, parts->sample.map);
   const VkCommandBufferBeginInfo begin_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
   };
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, commands);

   VkResult result = table->BeginCommandBuffer(commands, &begin_info);
   if (result != VK_SUCCESS)
      return result;
   barrier(table, commands);
   if (task == TASK_CLEAR) {
      cmd_buffer->state.flush_bits |=
         gpuval_radv_fill(cmd_buffer, bo, marks->address, marks->size, 0);
      barrier(table, commands);
   }
   gpuval_radv_copy(cmd_buffer, bo, sample, parts->sample.size);
   barrier(table, commands);
   return table->EndCommandBuffer(commands);
}

static VkResult
create_family(struct gpuval_radv *gpuval, struct gpuval_radv_filter *filter, uint32_t index)
{
   struct family *family = &filter->families[filter->num_families++];

   family->index = index;
   VkResult result =
      gpuval_radv_create_commands(gpuval, index, &family->pool, family->commands, NUM_TASKS);
   for (enum task task = 0; result == VK_SUCCESS && task < NUM_TASKS; task++)
      result = record(gpuval, &filter->parts, family->commands[task], task);
   return result;
}

void
gpuval_radv_init_filter(struct gpuval_radv *gpuval)
{
   struct gpuval_unseen_filter parts;
   /* Without a GPU nothing is recorded. */
   if (!gpuval_device_unseen_filter(gpuval->device, &parts) ||
       radv_device_physical(gpuval->radv)->info.family_overridden)
      return;

   struct gpuval_radv_filter *filter = rzalloc(gpuval, struct gpuval_radv_filter);
   VkResult result = VK_SUCCESS;

   filter->parts = parts;
   filter->task = TASK_NONE;
   gpuval->filter = filter;
   vk_foreach_queue (queue, &gpuval->radv->vk) {
      enum radv_queue_family family = ((struct radv_queue *)queue)->state.qf;
      if (result != VK_SUCCESS || find_family(filter, queue) ||
          (family != RADV_QUEUE_GENERAL && family != RADV_QUEUE_COMPUTE))
         continue;
      result = create_family(gpuval, filter, queue->queue_family_index);
   }
   if (result == VK_SUCCESS)
      return;

   gpuval->broken_checks |=
      BITFIELD_BIT(GPUVAL_CHECK_SYNC) | BITFIELD_BIT(GPUVAL_CHECK_SYNC_COMPUTE);
   gpuval_log_warning("sync: its filter cannot be cleared (%s): sync is not checked",
                      vk_Result_to_str(result));
}

/* All work has ended. */
void
gpuval_radv_finish_filter(struct gpuval_radv *gpuval)
{
   for (unsigned i = 0; gpuval->filter && i < gpuval->filter->num_families; i++)
      gpuval->hooks.next.DestroyCommandPool(radv_device_to_handle(gpuval->radv),
                                            gpuval->filter->families[i].pool, NULL);
}

void
gpuval_radv_begin_filter(struct gpuval_radv *gpuval)
{
   bool is_full = gpuval_device_bloom_barrier(gpuval->device);
   struct gpuval_radv_filter *filter = gpuval->filter;
   if (!filter)
      return;

   filter->begin_visit = gpuval->visit;
   if (filter->task != TASK_CLEAR)
      filter->task = is_full ? TASK_CLEAR : TASK_SAMPLE;
}

/* A task's command buffer must not be in flight. */
bool
gpuval_radv_wants_filter(struct gpuval_radv *gpuval)
{
   const struct gpuval_radv_filter *filter = gpuval->filter;

   return filter && filter->task == TASK_NONE &&
          gpuval->visit - filter->begin_visit >= MAX_SUBMITS && !gpuval->submitting &&
          !gpuval_radv_is_visited(gpuval, filter->visit);
}

struct vk_command_buffer *
gpuval_radv_take_filter(struct gpuval_radv *gpuval, const struct vk_queue *queue, uint64_t visit)
{
   struct gpuval_radv_filter *filter = gpuval->filter;
   if (!filter)
      return NULL;

   simple_mtx_lock(&gpuval->sync_mutex);
   const struct family *family = filter->task != TASK_NONE ? find_family(filter, queue) : NULL;
   struct vk_command_buffer *commands = NULL;
   if (family) {
      commands = vk_command_buffer_from_handle(family->commands[filter->task]);
      filter->task = TASK_NONE;
      filter->visit = visit;
   }
   simple_mtx_unlock(&gpuval->sync_mutex);
   return commands;
}
