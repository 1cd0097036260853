/* SPDX-License-Identifier: MIT */

/* Epochs, for the sync check. RADV records a command buffer once, and it may be
 * submitted many times, each time in another epoch. So its barriers and what it
 * does are noted when it is recorded; when it is submitted, the notes are gone
 * through in the order in which the queue will execute, by the rules that all
 * drivers share (core/gpuval_sync.h), and each command is told its epoch in the
 * memory that its shaders read it from. A command buffer must not be pending when
 * it is submitted, unless it says so: then there is a wait.
 *
 * Each queue counts for itself: what two queues do to one another is not seen.
 */

#include "gpuval_radv_private.h"

#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_queue.h"

#include "gpuval/src/core/gpuval_submits.h"
#include "util/ralloc.h"
#include "vk_common_entrypoints.h"
#include "vk_semaphore.h"

/* The filter can be cleared only when nothing runs: after so many submits that
 * is waited for, if it has to be.
 */
#define SUBMITS_WITHOUT_IDLE 64

enum note_type {
   NOTE_WORK,
   NOTE_BARRIER,
   NOTE_EXECUTE,
};

struct note {
   enum note_type type;
   enum gpuval_sync_work work;
   VkPipelineStageFlags2 stages;
   struct gpuval_command_data *data; /* where the GPU reads it */
   uint32_t command_id;
   VkMemoryBarrier2 barrier; /* scopes only */
   struct radv_cmd_buffer *secondary;
};

struct gpuval_radv_queue {
   struct vk_queue *queue;
   struct gpuval_submits *submits;
   struct gpuval_sync sync;
   uint32_t index;
};

static struct gpuval_radv *
get_gpuval(const struct radv_cmd_buffer *cmd_buffer)
{
   return radv_cmd_buffer_device(cmd_buffer)->gpuval;
}

static struct gpuval_radv_queue *
find_queue(struct gpuval_radv *gpuval, const struct vk_queue *queue)
{
   for (unsigned i = 0; i < gpuval->num_queues; i++) {
      if (gpuval->queues[i].queue == queue)
         return &gpuval->queues[i];
   }
   return NULL;
}

/* Recording */

void
gpuval_radv_note_work(struct gpuval_radv *gpuval, struct util_dynarray *notes,
                      const struct radv_cmd_buffer *cmd_buffer, unsigned bind_point,
                      struct gpuval_command_data *data, uint32_t command_id)
{
   struct note note = {.type = NOTE_WORK, .data = data, .command_id = command_id};

   switch (bind_point) {
   case 0:
      note.work = GPUVAL_SYNC_GRAPHICS;
      for (unsigned i = 0; i <= MESA_SHADER_MESH; i++)
         note.stages |= cmd_buffer->state.shaders[i] ? gpuval_sync_stage(i) : 0;
      break;
   case 1:
      note.work = GPUVAL_SYNC_COMPUTE;
      note.stages = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
      break;
   default:
      note.work = GPUVAL_SYNC_RAYS;
      note.stages = VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR;
      break;
   }
   util_dynarray_append(notes, struct note, note);
}

void
gpuval_radv_note_execute(struct util_dynarray *notes, struct radv_cmd_buffer *secondary)
{
   const struct note note = {.type = NOTE_EXECUTE, .secondary = secondary};
   util_dynarray_append(notes, struct note, note);
}

/* The scopes of all barriers, as memory barriers. gpuval_sync.c: the accesses of
 * those for images do not count.
 */
static void
note_dependency(VkCommandBuffer handle, const VkDependencyInfo *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   struct util_dynarray *notes = gpuval_radv_notes(cmd_buffer);
   struct note note = {.type = NOTE_BARRIER};

   for (uint32_t i = 0; i < info->memoryBarrierCount; i++) {
      note.barrier = info->pMemoryBarriers[i];
      note.barrier.pNext = NULL;
      util_dynarray_append(notes, struct note, note);
   }
   for (uint32_t i = 0; i < info->bufferMemoryBarrierCount; i++) {
      const VkBufferMemoryBarrier2 *barrier = &info->pBufferMemoryBarriers[i];
      note.barrier = (VkMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
         .srcStageMask = barrier->srcStageMask,
         .srcAccessMask = barrier->srcAccessMask,
         .dstStageMask = barrier->dstStageMask,
         .dstAccessMask = barrier->dstAccessMask,
      };
      util_dynarray_append(notes, struct note, note);
   }
   for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++) {
      const VkImageMemoryBarrier2 *barrier = &info->pImageMemoryBarriers[i];
      note.barrier = (VkMemoryBarrier2){
         .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
         .srcStageMask = barrier->srcStageMask,
         .dstStageMask = barrier->dstStageMask,
      };
      util_dynarray_append(notes, struct note, note);
   }
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdPipelineBarrier2(VkCommandBuffer handle, const VkDependencyInfo *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   note_dependency(handle, info);
   get_gpuval(cmd_buffer)->next.CmdPipelineBarrier2(handle, info);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdWaitEvents2(VkCommandBuffer handle, uint32_t count, const VkEvent *events,
                    const VkDependencyInfo *infos)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   for (uint32_t i = 0; i < count; i++)
      note_dependency(handle, &infos[i]);
   get_gpuval(cmd_buffer)->next.CmdWaitEvents2(handle, count, events, infos);
}

/* Submitting */

static VKAPI_ATTR VkResult VKAPI_CALL
hook_QueueSubmit2(VkQueue handle, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence)
{
   VK_FROM_HANDLE(vk_queue, queue, handle);
   struct gpuval_radv *gpuval = container_of(queue->base.device, struct radv_device, vk)->gpuval;
   struct gpuval_radv_queue *ours = find_queue(gpuval, queue);

   if (ours) {
      for (uint32_t i = 0; i < count; i++)
         gpuval_submits_note(ours->submits, &infos[i]);
      if (fence)
         gpuval_submits_signal(ours->submits, (uint64_t)fence, 0,
                               VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
   }
   return gpuval->next.QueueSubmit2(handle, count, infos, fence);
}

/* A command cannot be in two epochs: a secondary that one submit executes twice is
 * not looked at.
 */
static bool
is_second_visit(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer)
{
   uint64_t *visit = gpuval_radv_visit(cmd_buffer);

   if (*visit == gpuval->visit)
      return true;
   *visit = gpuval->visit;
   return false;
}

static void
execute(struct gpuval_radv *gpuval, struct gpuval_radv_queue *queue,
        struct radv_cmd_buffer *cmd_buffer, uint64_t submit)
{
   if (!cmd_buffer->gpuval)
      return;

   bool again = is_second_visit(gpuval, cmd_buffer);
   util_dynarray_foreach (gpuval_radv_notes(cmd_buffer), struct note, note) {
      switch (note->type) {
      case NOTE_WORK: {
         struct gpuval_command_data data = {.command_id = note->command_id};
         gpuval_sync_work(&queue->sync, note->work, note->stages, submit, &data);
         note->data->epoch = data.epoch * gpuval->num_queues + queue->index;
         note->data->sync_flags = data.sync_flags | (again ? GPUVAL_RADV_SYNC_OFF : 0);
         /* Ids do not grow with time here: any may be of this epoch. */
         note->data->epoch_command = note->command_id + 1;
         break;
      }
      case NOTE_BARRIER:
         gpuval_sync_dependency(&queue->sync, &(VkDependencyInfo){
                                                 .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                                 .memoryBarrierCount = 1,
                                                 .pMemoryBarriers = &note->barrier,
                                              });
         break;
      case NOTE_EXECUTE:
         execute(gpuval, queue, note->secondary, submit);
         break;
      }
   }
}

void
gpuval_radv_begin_epochs(struct gpuval_radv *gpuval, struct vk_queue *vk_queue,
                         struct vk_command_buffer *const *buffers, uint32_t count)
{
   struct gpuval_radv_queue *queue = find_queue(gpuval, vk_queue);
   if (!queue)
      return;

   bool wait = ++gpuval->submits_without_idle > SUBMITS_WITHOUT_IDLE;
   for (uint32_t i = 0; i < count; i++)
      wait |= container_of(buffers[i], struct radv_cmd_buffer, vk)->usage_flags &
              VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
   if (gpuval_radv_is_idle(gpuval, wait)) {
      gpuval->submits_without_idle = 0;
      gpuval_device_bloom_barrier(gpuval->device);
   }

   gpuval->visit++;
   for (uint32_t i = 0; i < count; i++) {
      struct radv_cmd_buffer *cmd_buffer = container_of(buffers[i], struct radv_cmd_buffer, vk);
      bool began;
      uint64_t submit = gpuval_submits_execute(
         queue->submits, radv_cmd_buffer_to_handle(cmd_buffer), &queue->sync, &began);
      execute(gpuval, queue, cmd_buffer, submit);
   }
}

/* What the host has seen */

void
gpuval_radv_host_saw(struct gpuval_radv *gpuval, uint64_t object, uint64_t value)
{
   for (unsigned i = 0; i < gpuval->num_queues; i++)
      gpuval_submits_host_saw(gpuval->queues[i].submits, object, value);
}

void
gpuval_radv_host_saw_all(struct gpuval_radv *gpuval, const struct vk_queue *queue)
{
   for (unsigned i = 0; i < gpuval->num_queues; i++) {
      if (!queue || gpuval->queues[i].queue == queue)
         gpuval_submits_host_saw_all(gpuval->queues[i].submits);
   }
}

static void
forget(struct gpuval_radv *gpuval, uint64_t object)
{
   for (unsigned i = 0; object && i < gpuval->num_queues; i++)
      gpuval_submits_forget(gpuval->queues[i].submits, object);
}

static VKAPI_ATTR void VKAPI_CALL
hook_DestroyFence(VkDevice handle, VkFence fence, const VkAllocationCallbacks *allocator)
{
   VK_FROM_HANDLE(radv_device, device, handle);

   forget(device->gpuval, (uint64_t)fence);
   device->gpuval->next.DestroyFence(handle, fence, allocator);
}

static VKAPI_ATTR void VKAPI_CALL
hook_DestroySemaphore(VkDevice handle, VkSemaphore semaphore,
                      const VkAllocationCallbacks *allocator)
{
   VK_FROM_HANDLE(radv_device, device, handle);

   forget(device->gpuval, (uint64_t)semaphore);
   device->gpuval->next.DestroySemaphore(handle, semaphore, allocator);
}

void
gpuval_radv_init_sync(struct gpuval_radv *gpuval, struct vk_device_dispatch_table *table)
{
   unsigned count = 0;
   if (!gpuval_options_sync())
      return;

   vk_foreach_queue (queue, &gpuval->radv->vk)
      count++;
   gpuval->queues = rzalloc_array(gpuval, struct gpuval_radv_queue, count);
   vk_foreach_queue (queue, &gpuval->radv->vk) {
      struct gpuval_radv_queue *ours = &gpuval->queues[gpuval->num_queues];
      ours->queue = queue;
      ours->index = gpuval->num_queues++;
      ours->submits = gpuval_submits_create();
      gpuval_sync_init(&ours->sync);
   }

   table->CmdPipelineBarrier2 = hook_CmdPipelineBarrier2;
   table->CmdWaitEvents2 = hook_CmdWaitEvents2;
   table->QueueSubmit2 = hook_QueueSubmit2;
   table->DestroyFence = hook_DestroyFence;
   table->DestroySemaphore = hook_DestroySemaphore;
}

void
gpuval_radv_finish_sync(struct gpuval_radv *gpuval)
{
   for (unsigned i = 0; i < gpuval->num_queues; i++)
      gpuval_submits_destroy(gpuval->queues[i].submits);
}
