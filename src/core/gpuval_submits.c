/* SPDX-License-Identifier: MIT */

#include "gpuval_submits.h"

#include <string.h>

#include "vk_semaphore.h"
#include "vk_util.h"

#include "util/hash_table.h"
#include "util/ralloc.h"
#include "util/simple_mtx.h"
#include "util/u_vector.h"

/* Values of a timeline semaphore that are remembered. A wait for an older one
 * counts as a wait for the oldest.
 */
#define MAX_SIGNALS 32

/* The end of which submits, by queue: of all up to these numbers */
struct clock {
   uint64_t submits[GPUVAL_MAX_QUEUES];
};

struct signal {
   uint64_t value;
   int queue; /* -1: the host */
   VkPipelineStageFlags2 stages;
   struct clock clock;
};

struct object {
   unsigned num_signals;
   struct signal signals[MAX_SIGNALS]; /* by value */
};

enum note_type {
   NOTE_NONE,     /* of a submit that failed */
   NOTE_HOST,     /* what the host had seen */
   NOTE_WAIT,     /* for a semaphore */
   NOTE_COMMANDS, /* a command buffer */
};

struct note {
   enum note_type type;
   uint64_t submit;
   uint64_t covered;
   VkPipelineStageFlags2 src, dst;
   VkCommandBuffer cmd;
};

struct queue {
   struct u_vector notes;
   uint64_t last; /* number of the last submit; they begin at 1 */
   uint64_t executing;
   uint64_t noted_host_saw;
   struct clock clock; /* what has ended before the next command, in some stages */
};

struct gpuval_submits {
   simple_mtx_t mutex;
   struct hash_table_u64 *objects;
   struct clock host; /* what the host has seen */
   struct queue queues[GPUVAL_MAX_QUEUES];
   unsigned num_queues;
};

struct gpuval_submits *
gpuval_submits_create(unsigned num_queues)
{
   struct gpuval_submits *submits = rzalloc(NULL, struct gpuval_submits);

   assert(num_queues <= GPUVAL_MAX_QUEUES);
   submits->num_queues = num_queues;
   submits->objects = _mesa_hash_table_u64_create(submits);
   for (unsigned i = 0; i < num_queues; i++)
      u_vector_init(&submits->queues[i].notes, 64, sizeof(struct note));
   simple_mtx_init(&submits->mutex, mtx_plain);
   return submits;
}

void
gpuval_submits_destroy(struct gpuval_submits *submits)
{
   simple_mtx_destroy(&submits->mutex);
   for (unsigned i = 0; i < submits->num_queues; i++)
      u_vector_finish(&submits->queues[i].notes);
   ralloc_free(submits);
}

static void
merge(struct clock *clock, const struct clock *other)
{
   for (unsigned i = 0; i < GPUVAL_MAX_QUEUES; i++)
      clock->submits[i] = MAX2(clock->submits[i], other->submits[i]);
}

static struct clock
everything(const struct gpuval_submits *submits)
{
   struct clock clock = {0};

   for (unsigned i = 0; i < submits->num_queues; i++)
      clock.submits[i] = submits->queues[i].last;
   return clock;
}

static void
add_note(struct queue *queue, const struct note *note)
{
   struct note *added = u_vector_add(&queue->notes);
   if (added)
      *added = *note;
}

/* What has ended when @object is signalled, or has reached @value? One that is not
 * known may be signalled from anywhere (the window system, another process), and be
 * ordered after all that has been submitted.
 */
static struct signal
find_signal(const struct gpuval_submits *submits, uint64_t handle, uint64_t value)
{
   const struct object *object = _mesa_hash_table_u64_search(submits->objects, handle);
   if (!object)
      return (struct signal){
         .queue = -1,
         .stages = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
         .clock = everything(submits),
      };

   /* The first that reaches the value; or else somebody does, after the last. */
   unsigned i = 0;
   while (i < object->num_signals - 1 && object->signals[i].value < value)
      i++;
   return object->signals[i];
}

static void
remove_object(struct gpuval_submits *submits, uint64_t handle)
{
   struct object *object = _mesa_hash_table_u64_search(submits->objects, handle);
   if (object) {
      _mesa_hash_table_u64_remove(submits->objects, handle);
      ralloc_free(object);
   }
}

static void
add_signal(struct gpuval_submits *submits, uint64_t handle, const struct signal *signal)
{
   struct object *object = _mesa_hash_table_u64_search(submits->objects, handle);
   if (!object) {
      object = rzalloc(submits, struct object);
      _mesa_hash_table_u64_insert(submits->objects, handle, object);
   }

   /* Only timelines go up. */
   if (object->num_signals && object->signals[object->num_signals - 1].value >= signal->value)
      object->num_signals = 0;
   if (object->num_signals == MAX_SIGNALS) {
      memmove(&object->signals[0], &object->signals[1],
              (MAX_SIGNALS - 1) * sizeof(object->signals[0]));
      object->num_signals--;
   }
   object->signals[object->num_signals++] = *signal;
}

/* Submits */

void
gpuval_submits_begin(struct gpuval_submits *submits, unsigned index)
{
   struct queue *queue = &submits->queues[index];

   simple_mtx_lock(&submits->mutex);
   queue->last++;
   merge(&queue->clock, &submits->host);
   if (queue->noted_host_saw != submits->host.submits[index]) {
      queue->noted_host_saw = submits->host.submits[index];
      add_note(queue, &(struct note){
                         .type = NOTE_HOST,
                         .submit = queue->last,
                         .covered = queue->noted_host_saw,
                      });
   }
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_wait(struct gpuval_submits *submits, unsigned index, uint64_t object, uint64_t value,
                    VkPipelineStageFlags2 stages)
{
   struct queue *queue = &submits->queues[index];

   simple_mtx_lock(&submits->mutex);
   const struct signal signal = find_signal(submits, object, value);
   merge(&queue->clock, &signal.clock);
   add_note(queue, &(struct note){
                      .type = NOTE_WAIT,
                      .submit = queue->last,
                      .covered = signal.clock.submits[index],
                      .src = signal.queue == (int)index ? signal.stages
                                                        : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                      .dst = stages,
                   });
   if (!value)
      remove_object(submits, object); /* a binary semaphore is not signalled any more */
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_commands(struct gpuval_submits *submits, unsigned index, VkCommandBuffer cmd)
{
   struct queue *queue = &submits->queues[index];

   simple_mtx_lock(&submits->mutex);
   add_note(queue, &(struct note){.type = NOTE_COMMANDS, .submit = queue->last, .cmd = cmd});
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_signal(struct gpuval_submits *submits, unsigned index, uint64_t handle,
                      uint64_t value, VkPipelineStageFlags2 stages)
{
   struct queue *queue = &submits->queues[index];

   simple_mtx_lock(&submits->mutex);
   struct signal signal = {
      .value = value,
      .queue = (int)index,
      .stages = stages,
      .clock = queue->clock,
   };
   signal.clock.submits[index] = queue->last;
   add_signal(submits, handle, &signal);
   simple_mtx_unlock(&submits->mutex);
}

static bool
is_timeline(VkSemaphore semaphore)
{
   return vk_semaphore_from_handle(semaphore)->type == VK_SEMAPHORE_TYPE_TIMELINE;
}

static void
wait_for(struct gpuval_submits *submits, unsigned queue, VkSemaphore semaphore, uint64_t value,
         VkPipelineStageFlags2 stages)
{
   bool timeline = is_timeline(semaphore);

   /* A timeline has reached 0 from the beginning. */
   if (!timeline || value)
      gpuval_submits_wait(submits, queue, (uint64_t)semaphore, timeline ? value : 0, stages);
}

static void
signal_fence(struct gpuval_submits *submits, unsigned queue, VkFence fence)
{
   if (fence)
      gpuval_submits_signal(submits, queue, (uint64_t)fence, 0,
                            VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
}

void
gpuval_submits_note(struct gpuval_submits *submits, unsigned queue, uint32_t count,
                    const VkSubmitInfo2 *infos, VkFence fence)
{
   for (const VkSubmitInfo2 *info = infos; info < infos + count; info++) {
      gpuval_submits_begin(submits, queue);
      for (uint32_t i = 0; i < info->waitSemaphoreInfoCount; i++)
         wait_for(submits, queue, info->pWaitSemaphoreInfos[i].semaphore,
                  info->pWaitSemaphoreInfos[i].value, info->pWaitSemaphoreInfos[i].stageMask);
      for (uint32_t i = 0; i < info->commandBufferInfoCount; i++)
         gpuval_submits_commands(submits, queue, info->pCommandBufferInfos[i].commandBuffer);
      for (uint32_t i = 0; i < info->signalSemaphoreInfoCount; i++) {
         const VkSemaphoreSubmitInfo *signal = &info->pSignalSemaphoreInfos[i];

         gpuval_submits_signal(submits, queue, (uint64_t)signal->semaphore,
                               is_timeline(signal->semaphore) ? signal->value : 0,
                               signal->stageMask);
      }
   }
   signal_fence(submits, queue, fence);
}

void
gpuval_submits_note_sparse(struct gpuval_submits *submits, unsigned queue, uint32_t count,
                           const VkBindSparseInfo *infos, VkFence fence)
{
   for (const VkBindSparseInfo *info = infos; info < infos + count; info++) {
      const VkTimelineSemaphoreSubmitInfo *values =
         vk_find_struct_const(info->pNext, TIMELINE_SEMAPHORE_SUBMIT_INFO);
      uint32_t num_waits = values ? values->waitSemaphoreValueCount : 0;
      uint32_t num_signals = values ? values->signalSemaphoreValueCount : 0;

      gpuval_submits_begin(submits, queue);
      for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
         wait_for(submits, queue, info->pWaitSemaphores[i],
                  i < num_waits ? values->pWaitSemaphoreValues[i] : 0,
                  VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
      for (uint32_t i = 0; i < info->signalSemaphoreCount; i++) {
         VkSemaphore semaphore = info->pSignalSemaphores[i];
         bool has_value = i < num_signals && is_timeline(semaphore);

         gpuval_submits_signal(submits, queue, (uint64_t)semaphore,
                               has_value ? values->pSignalSemaphoreValues[i] : 0,
                               VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
      }
   }
   signal_fence(submits, queue, fence);
}

uint64_t
gpuval_submits_last(struct gpuval_submits *submits, unsigned queue)
{
   simple_mtx_lock(&submits->mutex);
   uint64_t last = submits->queues[queue].last;
   simple_mtx_unlock(&submits->mutex);
   return last;
}

void
gpuval_submits_failed(struct gpuval_submits *submits, unsigned queue, uint64_t last)
{
   struct note *note;

   simple_mtx_lock(&submits->mutex);
   u_vector_foreach(note, &submits->queues[queue].notes)
   {
      if (note->submit > last)
         note->type = NOTE_NONE;
   }
   simple_mtx_unlock(&submits->mutex);
}

/* The host */

void
gpuval_submits_host_signal(struct gpuval_submits *submits, uint64_t object, uint64_t value)
{
   simple_mtx_lock(&submits->mutex);
   const struct signal signal = {
      .value = value,
      .queue = -1,
      .stages = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
      .clock = submits->host,
   };
   add_signal(submits, object, &signal);
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_host_saw(struct gpuval_submits *submits, uint64_t object, uint64_t value)
{
   simple_mtx_lock(&submits->mutex);
   const struct signal signal = find_signal(submits, object, value);
   merge(&submits->host, &signal.clock);
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_host_saw_queue(struct gpuval_submits *submits, unsigned queue)
{
   simple_mtx_lock(&submits->mutex);
   merge(&submits->host, &submits->queues[queue].clock);
   submits->host.submits[queue] = submits->queues[queue].last;
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_host_saw_all(struct gpuval_submits *submits)
{
   simple_mtx_lock(&submits->mutex);
   submits->host = everything(submits);
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_forget(struct gpuval_submits *submits, uint64_t handle)
{
   simple_mtx_lock(&submits->mutex);
   remove_object(submits, handle);
   simple_mtx_unlock(&submits->mutex);
}

/* Execution */

static bool
has_commands(struct queue *queue, VkCommandBuffer cmd)
{
   const struct note *note;

   u_vector_foreach(note, &queue->notes)
   {
      if (note->type == NOTE_COMMANDS && note->cmd == cmd)
         return true;
   }
   return false;
}

uint64_t
gpuval_submits_execute(struct gpuval_submits *submits, unsigned index, VkCommandBuffer cmd,
                       struct gpuval_sync *sync, bool *new_epoch)
{
   struct queue *queue = &submits->queues[index];
   bool found = false;

   *new_epoch = false;
   simple_mtx_lock(&submits->mutex);
   if (!has_commands(queue, cmd)) {
      /* Of a call that failed, but not before it had submitted something */
      *new_epoch = gpuval_sync_host(sync, GPUVAL_SYNC_ALL_SUBMITS);
      found = true;
   }
   while (!found) {
      const struct note note = *(struct note *)u_vector_remove(&queue->notes);

      switch (note.type) {
      case NOTE_NONE:
         break;
      case NOTE_HOST:
         *new_epoch |= gpuval_sync_host(sync, note.covered);
         break;
      case NOTE_WAIT:
         *new_epoch |= gpuval_sync_semaphore(sync, note.covered, note.src, note.dst);
         break;
      case NOTE_COMMANDS:
         queue->executing = note.submit;
         found = note.cmd == cmd;
         break;
      }
   }
   uint64_t submit = queue->executing;
   simple_mtx_unlock(&submits->mutex);
   return submit;
}
