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

#include "util/ralloc.h"

/* The filter can be cleared only when nothing runs: after so many submits that
 * is waited for, if it has to be.
 */
#define SUBMITS_WITHOUT_IDLE 64

enum note_type {
   NOTE_WORK,
   NOTE_DEPENDENCY,
   NOTE_EXECUTE,
};

struct note {
   enum note_type type;
   enum gpuval_sync_work work;
   VkPipelineStageFlags2 stages;
   struct gpuval_command_data *data; /* where the GPU reads it */
   uint32_t command_id;
   struct gpuval_sync_scopes *scopes;
   struct radv_cmd_buffer *secondary;
};

static struct gpuval_radv *
get_gpuval(const struct radv_cmd_buffer *cmd_buffer)
{
   return radv_cmd_buffer_device(cmd_buffer)->gpuval;
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

/* What a call says happens at once: one note. */
static void
note_dependency(struct radv_cmd_buffer *cmd_buffer, uint32_t count, const VkDependencyInfo *infos)
{
   struct util_dynarray *notes = gpuval_radv_notes(cmd_buffer);
   struct note note = {.type = NOTE_DEPENDENCY};

   note.scopes = ralloc_size(notes->mem_ctx, gpuval_sync_scopes_size(count, infos));
   gpuval_sync_copy_scopes(note.scopes, count, infos);
   util_dynarray_append(notes, struct note, note);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdPipelineBarrier2(VkCommandBuffer handle, const VkDependencyInfo *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   note_dependency(cmd_buffer, 1, info);
   get_gpuval(cmd_buffer)->next.CmdPipelineBarrier2(handle, info);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdWaitEvents2(VkCommandBuffer handle, uint32_t count, const VkEvent *events,
                    const VkDependencyInfo *infos)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   note_dependency(cmd_buffer, count, infos);
   get_gpuval(cmd_buffer)->next.CmdWaitEvents2(handle, count, events, infos);
}

/* Submitting */

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
execute(struct gpuval_radv *gpuval, unsigned queue, struct radv_cmd_buffer *cmd_buffer,
        uint64_t submit)
{
   if (!cmd_buffer->gpuval)
      return;

   bool again = is_second_visit(gpuval, cmd_buffer);
   util_dynarray_foreach (gpuval_radv_notes(cmd_buffer), struct note, note) {
      switch (note->type) {
      case NOTE_WORK: {
         struct gpuval_command_data data = {.command_id = note->command_id};
         gpuval_sync_work(&gpuval->syncs[queue], note->work, note->stages, submit, &data);
         note->data->epoch = data.epoch * gpuval->hooks.num_queues + queue;
         note->data->sync_flags = data.sync_flags | (again ? GPUVAL_RADV_SYNC_OFF : 0);
         /* Ids do not grow with time here: any may be of this epoch. */
         note->data->epoch_command = note->command_id + 1;
         break;
      }
      case NOTE_DEPENDENCY:
         gpuval_sync_recorded_dependency(&gpuval->syncs[queue], note->scopes);
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
   if (!gpuval->syncs)
      return;

   unsigned queue = gpuval_hooks_queue(&gpuval->hooks, vk_queue);

   /* Other queues must neither submit what runs while the filter is cleared, nor
    * number the same command buffer.
    */
   simple_mtx_lock(&gpuval->sync_mutex);
   bool wait = ++gpuval->submits_without_idle > SUBMITS_WITHOUT_IDLE;
   for (uint32_t i = 0; i < count; i++)
      wait |= container_of(buffers[i], struct radv_cmd_buffer, vk)->usage_flags &
              VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
   if (gpuval_radv_is_idle(gpuval, wait) && !gpuval->submitting) {
      gpuval->submits_without_idle = 0;
      gpuval_device_bloom_barrier(gpuval->device);
   }
   gpuval->submitting++;

   gpuval->visit++;
   for (uint32_t i = 0; i < count; i++) {
      struct radv_cmd_buffer *cmd_buffer = container_of(buffers[i], struct radv_cmd_buffer, vk);
      bool began;
      uint64_t submit =
         gpuval_submits_execute(gpuval->hooks.submits, queue, radv_cmd_buffer_to_handle(cmd_buffer),
                                &gpuval->syncs[queue], &began);
      execute(gpuval, queue, cmd_buffer, submit);
   }
   simple_mtx_unlock(&gpuval->sync_mutex);
}

void
gpuval_radv_end_epochs(struct gpuval_radv *gpuval)
{
   if (!gpuval->syncs)
      return;

   simple_mtx_lock(&gpuval->sync_mutex);
   gpuval->submitting--;
   simple_mtx_unlock(&gpuval->sync_mutex);
}

void
gpuval_radv_init_sync(struct gpuval_radv *gpuval, struct vk_device_dispatch_table *table)
{
   simple_mtx_init(&gpuval->sync_mutex, mtx_plain);
   if (!gpuval_options_sync())
      return;

   gpuval->syncs = rzalloc_array(gpuval, struct gpuval_sync, GPUVAL_MAX_QUEUES);
   for (unsigned i = 0; i < GPUVAL_MAX_QUEUES; i++)
      gpuval_sync_init(&gpuval->syncs[i]);
   table->CmdPipelineBarrier2 = hook_CmdPipelineBarrier2;
   table->CmdWaitEvents2 = hook_CmdWaitEvents2;
}

void
gpuval_radv_finish_sync(struct gpuval_radv *gpuval)
{
   simple_mtx_destroy(&gpuval->sync_mutex);
}
