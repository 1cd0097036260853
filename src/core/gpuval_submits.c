/* SPDX-License-Identifier: MIT */

#include "gpuval_submits.h"

#include <string.h>

#include "vk_semaphore.h"

#include "util/hash_table.h"
#include "util/ralloc.h"
#include "util/simple_mtx.h"
#include "util/u_vector.h"

/* Values of a timeline semaphore that are remembered. A wait for an older one
 * counts as a wait for the oldest.
 */
#define MAX_SIGNALS 32

struct object {
   unsigned num_signals;
   struct {
      uint64_t value;
      uint64_t submit;
      VkPipelineStageFlags2 stages;
   } signals[MAX_SIGNALS]; /* by value */
};

enum note_type {
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

struct gpuval_submits {
   simple_mtx_t mutex;
   struct hash_table_u64 *objects;
   struct u_vector notes;
   uint64_t last;     /* number of the last submit; they begin at 1 */
   uint64_t host_saw; /* the end of all up to this one */
   uint64_t noted_host_saw;
   uint64_t executing;
};

struct gpuval_submits *
gpuval_submits_create(void)
{
   struct gpuval_submits *submits = rzalloc(NULL, struct gpuval_submits);

   submits->objects = _mesa_hash_table_u64_create(submits);
   u_vector_init(&submits->notes, 64, sizeof(struct note));
   simple_mtx_init(&submits->mutex, mtx_plain);
   return submits;
}

void
gpuval_submits_destroy(struct gpuval_submits *submits)
{
   simple_mtx_destroy(&submits->mutex);
   u_vector_finish(&submits->notes);
   ralloc_free(submits);
}

static void
add_note(struct gpuval_submits *submits, const struct note *note)
{
   struct note *added = u_vector_add(&submits->notes);
   if (added)
      *added = *note;
}

/* Which submits have ended when @object is signalled, or has reached @value? One
 * that is not known may come from anywhere (the window system, another process),
 * and be ordered after all that has been submitted.
 */
static uint64_t
find_signal(struct gpuval_submits *submits, uint64_t handle, uint64_t value,
            VkPipelineStageFlags2 *stages)
{
   const struct object *object = _mesa_hash_table_u64_search(submits->objects, handle);

   *stages = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
   if (!object)
      return submits->last;

   /* The first that reaches the value; or else the host does, after the last. */
   unsigned i = 0;
   while (i < object->num_signals - 1 && object->signals[i].value < value)
      i++;
   *stages = object->signals[i].stages;
   return object->signals[i].submit;
}

void
gpuval_submits_begin(struct gpuval_submits *submits)
{
   simple_mtx_lock(&submits->mutex);
   submits->last++;
   if (submits->noted_host_saw != submits->host_saw) {
      submits->noted_host_saw = submits->host_saw;
      add_note(submits, &(struct note){.type = NOTE_HOST, .covered = submits->host_saw});
   }
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_wait(struct gpuval_submits *submits, uint64_t object, uint64_t value,
                    VkPipelineStageFlags2 stages)
{
   simple_mtx_lock(&submits->mutex);
   struct note note = {.type = NOTE_WAIT, .dst = stages};
   note.covered = find_signal(submits, object, value, &note.src);
   add_note(submits, &note);
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_commands(struct gpuval_submits *submits, VkCommandBuffer cmd)
{
   simple_mtx_lock(&submits->mutex);
   add_note(submits, &(struct note){.type = NOTE_COMMANDS, .submit = submits->last, .cmd = cmd});
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_signal(struct gpuval_submits *submits, uint64_t handle, uint64_t value,
                      VkPipelineStageFlags2 stages)
{
   simple_mtx_lock(&submits->mutex);
   struct object *object = _mesa_hash_table_u64_search(submits->objects, handle);
   if (!object) {
      object = rzalloc(submits, struct object);
      _mesa_hash_table_u64_insert(submits->objects, handle, object);
   }

   /* Only timelines go up. */
   if (object->num_signals && object->signals[object->num_signals - 1].value >= value)
      object->num_signals = 0;
   if (object->num_signals == MAX_SIGNALS) {
      memmove(&object->signals[0], &object->signals[1],
              (MAX_SIGNALS - 1) * sizeof(object->signals[0]));
      object->num_signals--;
   }
   object->signals[object->num_signals].value = value;
   object->signals[object->num_signals].submit = submits->last;
   object->signals[object->num_signals].stages = stages;
   object->num_signals++;
   simple_mtx_unlock(&submits->mutex);
}

static bool
is_timeline(VkSemaphore semaphore)
{
   return vk_semaphore_from_handle(semaphore)->type == VK_SEMAPHORE_TYPE_TIMELINE;
}

void
gpuval_submits_note(struct gpuval_submits *submits, const VkSubmitInfo2 *info)
{
   gpuval_submits_begin(submits);
   for (uint32_t i = 0; i < info->waitSemaphoreInfoCount; i++) {
      const VkSemaphoreSubmitInfo *wait = &info->pWaitSemaphoreInfos[i];
      bool timeline = is_timeline(wait->semaphore);

      /* A timeline has reached 0 from the beginning. */
      if (!timeline || wait->value)
         gpuval_submits_wait(submits, (uint64_t)wait->semaphore, timeline ? wait->value : 0,
                             wait->stageMask);
   }
   for (uint32_t i = 0; i < info->commandBufferInfoCount; i++)
      gpuval_submits_commands(submits, info->pCommandBufferInfos[i].commandBuffer);
   for (uint32_t i = 0; i < info->signalSemaphoreInfoCount; i++) {
      const VkSemaphoreSubmitInfo *signal = &info->pSignalSemaphoreInfos[i];

      gpuval_submits_signal(submits, (uint64_t)signal->semaphore,
                            is_timeline(signal->semaphore) ? signal->value : 0, signal->stageMask);
   }
}

void
gpuval_submits_host_saw(struct gpuval_submits *submits, uint64_t object, uint64_t value)
{
   VkPipelineStageFlags2 stages;

   simple_mtx_lock(&submits->mutex);
   uint64_t covered = find_signal(submits, object, value, &stages);
   submits->host_saw = MAX2(submits->host_saw, covered);
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_host_saw_all(struct gpuval_submits *submits)
{
   simple_mtx_lock(&submits->mutex);
   submits->host_saw = submits->last;
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_forget(struct gpuval_submits *submits, uint64_t handle)
{
   simple_mtx_lock(&submits->mutex);
   struct object *object = _mesa_hash_table_u64_search(submits->objects, handle);
   if (object) {
      _mesa_hash_table_u64_remove(submits->objects, handle);
      ralloc_free(object);
   }
   simple_mtx_unlock(&submits->mutex);
}

uint64_t
gpuval_submits_execute(struct gpuval_submits *submits, VkCommandBuffer cmd,
                       struct gpuval_sync *sync, bool *new_epoch)
{
   bool found = false;

   *new_epoch = false;
   simple_mtx_lock(&submits->mutex);
   while (!found && u_vector_length(&submits->notes)) {
      const struct note note = *(struct note *)u_vector_remove(&submits->notes);

      switch (note.type) {
      case NOTE_HOST:
         *new_epoch |= gpuval_sync_host(sync, note.covered);
         break;
      case NOTE_WAIT:
         *new_epoch |= gpuval_sync_semaphore(sync, note.covered, note.src, note.dst);
         break;
      case NOTE_COMMANDS:
         /* A submit that failed leaves notes behind. */
         submits->executing = note.submit;
         found = note.cmd == cmd;
         break;
      }
   }
   uint64_t submit = submits->executing;
   simple_mtx_unlock(&submits->mutex);
   return submit;
}
