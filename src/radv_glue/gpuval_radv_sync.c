/* SPDX-License-Identifier: MIT */

/* Order, for the checks sync and race. RADV records a command buffer once, and it may be
 * submitted many times, each time in another epoch. So its barriers and what it
 * does are noted when it is recorded; when it is submitted, the notes are gone
 * through in the order in which the queue will execute, by the rules that all
 * drivers share (core/order/gpuval_submits.h), and each command is told its epoch in the
 * memory that its shaders read it from. A command buffer must not be pending when
 * it is submitted, unless it says so: then its commands are not looked at, for they cannot
 * be in two epochs. Nothing waits.
 *
 * Mesa's runtime hands a submit to its queue only when those that it waits for have
 * been handed to theirs, so queues are gone through in an order that fits.
 *
 * Of init commands are told which memory there is, in the same way.
 */

#include "gpuval_radv_layer.h"
#include "gpuval_radv_race.h"
#include "gpuval_radv_walk.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_queue.h"

#include "gpuval/src/core/memory/gpuval_marks.h"
#include "gpuval/src/core/memory/gpuval_texels.h"
#include "util/ralloc.h"
#include "vk_command_pool.h"

/* gpuval_radv_told::table */
#define SEVERAL_TABLES 1

enum note_type {
   NOTE_WORK,
   NOTE_DEPENDENCY,
   NOTE_SET_EVENT,
   NOTE_RESET_EVENT,
   NOTE_EXECUTE,
   NOTE_RACE,
   NOTE_BYTES,
};

struct note {
   enum note_type type;
   uint32_t classes;                 /* WORK: bits of enum gpuval_order_class */
   struct gpuval_command_data *data; /* where the GPU reads it */
   uint32_t command_id;
   uint32_t *entry_base; /* by stage, where there is shadow memory */
   const struct gpuval_dependency *dependency;
   VkEvent event;
   VkPipelineStageFlags2 stages; /* of the event */
   struct radv_cmd_buffer *secondary;
   const struct gpuval_radv_race_note *race; /* WORK; or NULL */
   const struct gpuval_race_step *step;      /* RACE */
   struct gpuval_radv_bytes_part *bytes;     /* BYTES */
};

/* Recording */

void
gpuval_radv_note_work(struct gpuval_radv *gpuval, struct util_dynarray *notes,
                      const struct radv_cmd_buffer *cmd_buffer, unsigned bind_point,
                      struct gpuval_command_data *data, uint32_t command_id,
                      const struct gpuval_radv_race_note *race)
{
   struct note note = {
      .type = NOTE_WORK,
      .data = data,
      .command_id = command_id,
      .race = race,
   };

   uint32_t entry_base[GPUVAL_STAGE_COUNT];
   note.classes = gpuval_radv_note_entries(cmd_buffer, bind_point, entry_base);
   if (gpuval->shadow)
      note.entry_base = ralloc_memdup(notes->mem_ctx, entry_base, sizeof(entry_base));
   util_dynarray_append_typed(notes, struct note, note);
}

void
gpuval_radv_note_execute(struct radv_cmd_buffer *primary, struct radv_cmd_buffer *secondary)
{
   const struct note note = {.type = NOTE_EXECUTE, .secondary = secondary};

   util_dynarray_append_typed(gpuval_radv_notes(primary), struct note, note);
   gpuval_radv_told(primary)->executes = true;
}

void
gpuval_radv_note_table(struct radv_cmd_buffer *cmd_buffer, uint64_t table)
{
   struct gpuval_radv_told *told = gpuval_radv_told(cmd_buffer);
   told->table = !told->table || told->table == table ? table : SEVERAL_TABLES;
}

void
gpuval_radv_note_race(struct radv_cmd_buffer *cmd_buffer, const struct gpuval_race_step *step)
{
   const struct note note = {.type = NOTE_RACE, .step = step};
   util_dynarray_append_typed(gpuval_radv_notes(cmd_buffer), struct note, note);
}

void
gpuval_radv_note_bytes(struct radv_cmd_buffer *cmd_buffer, struct gpuval_radv_bytes_part *part)
{
   const struct note note = {.type = NOTE_BYTES, .bytes = part};
   util_dynarray_append_typed(gpuval_radv_notes(cmd_buffer), struct note, note);
}

static void
get_buffer(VkBuffer handle, uint64_t *address, uint64_t *size)
{
   VK_FROM_HANDLE(radv_buffer, buffer, handle);

   *address = gpuval_radv_buffer_address(buffer);
   *size = buffer->vk.size;
}

static void
get_image(VkImage handle, const VkImageSubresourceRange *range, uint64_t *address, uint64_t *size)
{
   VK_FROM_HANDLE(radv_image, image, handle);
   const struct radv_device *device = container_of(image->vk.base.device, struct radv_device, vk);

   gpuval_texels_range(device->gpuval->device, &image->vk, range, address, size);
}

static const struct gpuval_places places = {.buffer = get_buffer, .image = get_image};

struct gpuval_dependency *
gpuval_radv_create_dependency(struct radv_cmd_buffer *cmd_buffer, uint32_t count,
                              const VkEvent *events, const VkDependencyInfo *infos)
{
   struct gpuval_dependency *dependency = ralloc_size(gpuval_radv_notes(cmd_buffer)->mem_ctx,
                                                      gpuval_dependency_size(count, events, infos));

   gpuval_dependency_init(dependency, count, events, infos, cmd_buffer->vk.pool->queue_family_index,
                          &places);
   return dependency;
}

/* What was visited. What a call says happens at once: one note. */

static void
note_dependency(void *cmd_buffer, const struct gpuval_command_dependency *dependency)
{
   const struct note note = {
      .type = NOTE_DEPENDENCY,
      .dependency = dependency->events
                       ? dependency->events
                       : gpuval_radv_create_dependency(cmd_buffer, 1, NULL, dependency->barrier),
   };
   util_dynarray_append_typed(gpuval_radv_notes(cmd_buffer), struct note, note);
}

static void
note_set_event(void *cmd_buffer, VkEvent event, VkPipelineStageFlags2 stages)
{
   const struct note note = {.type = NOTE_SET_EVENT, .event = event, .stages = stages};
   util_dynarray_append_typed(gpuval_radv_notes(cmd_buffer), struct note, note);
}

static void
note_reset_event(void *cmd_buffer, VkEvent event)
{
   const struct note note = {.type = NOTE_RESET_EVENT, .event = event};
   util_dynarray_append_typed(gpuval_radv_notes(cmd_buffer), struct note, note);
}

void
gpuval_radv_observe_order(struct gpuval_radv_walk *walk)
{
   static const struct gpuval_command_observer observer = {
      .dependency = note_dependency,
      .set_event = note_set_event,
      .reset_event = note_reset_event,
   };

   if (radv_cmd_buffer_device(walk->cmd_buffer)->gpuval->hooks.submits)
      gpuval_commands_add_observer(walk->commands, &observer, walk->cmd_buffer);
}

/* Submitting */

/* One that is being submitted by another thread has no place in the list yet. */
static bool
may_be_pending(struct gpuval_radv *gpuval, const struct radv_cmd_buffer *cmd_buffer, uint64_t visit)
{
   return (cmd_buffer->usage_flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT) && visit &&
          (gpuval->submitting || gpuval_radv_is_visited(gpuval, visit));
}

/* init: each command has the table that there is when it is submitted, as a later one may not be
 * mapped yet for it. Where it is in flight with another one, it keeps that, which does not know
 * all that it may write now.
 */
static void
tell_table(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer, uint64_t table)
{
   if (!cmd_buffer->gpuval)
      return;

   struct gpuval_radv_told *told = gpuval_radv_told(cmd_buffer);
   bool is_new = told->table != table;
   if (is_new && may_be_pending(gpuval, cmd_buffer, told->visit)) {
      gpuval_marks_give_up(gpuval->device);
      table = gpuval_marks_table(gpuval->device);
      is_new = !may_be_pending(gpuval, cmd_buffer, told->visit);
   }
   told->visit = gpuval->visit;
   if (is_new)
      told->table = table;
   else if (!told->executes)
      return;

   util_dynarray_foreach (gpuval_radv_notes(cmd_buffer), struct note, note) {
      if (note->type == NOTE_EXECUTE)
         tell_table(gpuval, note->secondary, table);
      else if (note->type == NOTE_WORK && is_new)
         note->data->marks_address = table;
   }
}

/* A command cannot be in two epochs, and has one place for marks: a secondary that one submit
 * executes twice is not looked at.
 */
static bool
is_second_visit(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer)
{
   uint64_t *visit = gpuval_radv_visit(cmd_buffer);

   if (*visit == gpuval->visit)
      return true;
   bool is_pending = may_be_pending(gpuval, cmd_buffer, *visit);
   *visit = gpuval->visit;
   if (is_pending && !gpuval->warned_pending) {
      gpuval->warned_pending = true;
      gpuval_log_warning("%s: a command buffer was submitted again while it was in flight: on "
                         "this driver, what %s is not looked at meanwhile",
                         gpuval_options_sync() ? "sync" : "race",
                         gpuval_options_sync() ? "it does" : "its shaders use");
   }
   return is_pending;
}

/* What is being executed has to be of one command. */
static void
tell_order(struct gpuval_command_data *to, const struct gpuval_command_data *data, bool again)
{
   to->sync_flags = data->sync_flags | (again ? GPUVAL_RADV_SYNC_OFF : 0);
   if (again)
      return;

   to->serial = data->serial;
   to->order_class = data->order_class;
   to->order_address = data->order_address;
   to->shadow_words = data->shadow_words;
   to->shadow_command = data->shadow_command;
   to->shadow_ordered = data->shadow_ordered;
   to->shadow_others = data->shadow_others;
}

static void
tell_bytes(struct gpuval_radv *gpuval, unsigned queue, struct gpuval_radv_bytes_part *part,
           bool again)
{
   struct gpuval_command_data data = {.command_id = part->command_id};

   gpuval_radv_order_command(gpuval, queue, part->class_, &data);
   gpuval->serial = data.serial;
   tell_order(part->data, &data, again);
   if (!again)
      part->serial = data.serial;
}

static void
tell_command(struct gpuval_radv *gpuval, unsigned queue, const struct note *note, bool again)
{
   struct gpuval_command_data data = {.command_id = note->command_id};

   if (note->entry_base)
      memcpy(data.entry_base, note->entry_base, sizeof(data.entry_base));
   gpuval_radv_order_work(gpuval, queue, note->classes, &data);
   gpuval->serial = data.serial;
   tell_order(note->data, &data, again);
   if (again)
      return;

   note->data->epoch = data.epoch;
   /* Ids do not grow with time here: any may be of this epoch. */
   note->data->epoch_command = note->command_id + 1;
   note->data->execution = ++gpuval->executions;
}

static void
execute(struct gpuval_radv *gpuval, unsigned queue, struct radv_cmd_buffer *cmd_buffer)
{
   struct gpuval_submits *submits = gpuval->hooks.submits;
   if (!cmd_buffer->gpuval)
      return;

   bool again = is_second_visit(gpuval, cmd_buffer);
   util_dynarray_foreach (gpuval_radv_notes(cmd_buffer), struct note, note) {
      switch (note->type) {
      case NOTE_WORK:
         gpuval_radv_race_execute(gpuval, queue, cmd_buffer, note->race, again);
         if (gpuval_options_sync())
            tell_command(gpuval, queue, note, again);
         break;
      case NOTE_BYTES:
         tell_bytes(gpuval, queue, note->bytes, again);
         break;
      case NOTE_DEPENDENCY:
         gpuval_submits_dependency(submits, queue, note->dependency);
         break;
      case NOTE_SET_EVENT:
         gpuval_submits_set_event(submits, queue, note->event, note->stages);
         break;
      case NOTE_RESET_EVENT:
         gpuval_submits_reset_event(submits, note->event);
         break;
      case NOTE_EXECUTE:
         execute(gpuval, queue, note->secondary);
         break;
      case NOTE_RACE:
         gpuval_radv_race_step(gpuval, queue, note->step);
         break;
      }
   }
}

static void
tell_tables(struct gpuval_radv *gpuval, struct vk_command_buffer *const *buffers, uint32_t count)
{
   uint64_t table = gpuval_marks_table(gpuval->device);

   if (!gpuval_device_has_marks(gpuval->device))
      return;
   for (uint32_t i = 0; i < count; i++)
      tell_table(gpuval, container_of(buffers[i], struct radv_cmd_buffer, vk), table);
}

void
gpuval_radv_give_up(struct gpuval_radv *gpuval, struct vk_command_buffer *const *buffers,
                    uint32_t count)
{
   gpuval_marks_give_up(gpuval->device);
   simple_mtx_lock(&gpuval->sync_mutex);
   gpuval->visit++;
   tell_tables(gpuval, buffers, count);
   simple_mtx_unlock(&gpuval->sync_mutex);
}

/* What sync and race have of a submit */
static struct gpuval_race_segment *
begin_order(struct gpuval_radv *gpuval, struct vk_queue *vk_queue,
            struct vk_command_buffer *const *buffers, uint32_t count)
{
   unsigned queue = gpuval_hooks_queue(&gpuval->hooks, vk_queue);

   if (gpuval_radv_is_idle(gpuval) && !gpuval->submitting) {
      if (gpuval_options_sync())
         gpuval_radv_begin_filter(gpuval);
      gpuval_radv_allow_clear(gpuval, vk_queue);
      gpuval_radv_begin_shadow(gpuval);
      if (MAX2(gpuval->serial, gpuval_radv_race_serial(gpuval)) >= GPUVAL_SUBMITS_RESTART) {
         gpuval_radv_race_look(gpuval); /* at all that has these serials */
         gpuval_submits_restart(gpuval->hooks.submits);
         gpuval_device_shadow_restart(gpuval->device);
      }
      gpuval_radv_allow_clear(gpuval, NULL);
   } else if (gpuval_radv_wants_filter(gpuval)) {
      gpuval_radv_begin_filter(gpuval);
   }
   gpuval_radv_race_begin(gpuval, queue);
   for (uint32_t i = 0; i < count; i++) {
      struct radv_cmd_buffer *cmd_buffer = container_of(buffers[i], struct radv_cmd_buffer, vk);
      gpuval_submits_execute(gpuval->hooks.submits, queue, radv_cmd_buffer_to_handle(cmd_buffer));
      gpuval_radv_race_begin_primary(gpuval, queue);
      execute(gpuval, queue, cmd_buffer);
   }
   gpuval_submits_end(gpuval->hooks.submits, queue);
   return gpuval_radv_race_end(gpuval);
}

uint64_t
gpuval_radv_begin_epochs(struct gpuval_radv *gpuval, struct vk_queue *vk_queue,
                         struct vk_command_buffer *const *buffers, uint32_t count,
                         struct gpuval_race_segment **race)
{
   *race = NULL;
   if (!gpuval_radv_needs_notes(gpuval))
      return 0;

   /* Other queues must neither submit what runs while the filter is cleared, nor
    * number the same command buffer.
    */
   simple_mtx_lock(&gpuval->sync_mutex);
   uint64_t number = ++gpuval->visit;
   tell_tables(gpuval, buffers, count);
   if (gpuval->hooks.submits)
      *race = begin_order(gpuval, vk_queue, buffers, count);
   gpuval->submitting++;
   simple_mtx_unlock(&gpuval->sync_mutex);
   return number;
}

void
gpuval_radv_end_epochs(struct gpuval_radv *gpuval)
{
   if (!gpuval_radv_needs_notes(gpuval))
      return;

   simple_mtx_lock(&gpuval->sync_mutex);
   gpuval->submitting--;
   simple_mtx_unlock(&gpuval->sync_mutex);
}

bool
gpuval_radv_needs_order(void)
{
   return gpuval_options_sync() || gpuval_options_race();
}

bool
gpuval_radv_needs_notes(const struct gpuval_radv *gpuval)
{
   return gpuval->hooks.submits || gpuval_device_has_marks(gpuval->device);
}

void
gpuval_radv_init_sync(struct gpuval_radv *gpuval)
{
   simple_mtx_init(&gpuval->sync_mutex, mtx_plain);
   gpuval_radv_init_shadow(gpuval);
}

void
gpuval_radv_finish_sync(struct gpuval_radv *gpuval)
{
   gpuval_radv_finish_shadow(gpuval);
   simple_mtx_destroy(&gpuval->sync_mutex);
}
