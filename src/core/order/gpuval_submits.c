/* SPDX-License-Identifier: MIT */

#include "gpuval_submits.h"

#include <string.h>

#include "util/hash_table.h"
#include "util/ralloc.h"
#include "util/simple_mtx.h"
#include "util/u_vector.h"

/* Values of a timeline semaphore that are remembered. A wait for an older one
 * counts as a wait for the oldest.
 */
#define MAX_SIGNALS 32

/* What a semaphore or fence is signalled by. Noted by the call that asks for it, and
 * known when the queue has come to it.
 */
struct signal {
   unsigned users;
   unsigned queue;
   uint64_t value;
   struct gpuval_order_point *point; /* NULL: not yet */
};

struct object {
   unsigned num_signals;
   struct signal *signals[MAX_SIGNALS]; /* by value */
   struct gpuval_order_snapshot *event; /* NULL: not set */
};

enum note_type {
   NOTE_NONE,     /* of a submit that failed */
   NOTE_HOST,     /* what the host had seen */
   NOTE_WAIT,     /* for a semaphore */
   NOTE_COMMANDS, /* a command buffer */
   NOTE_SIGNAL,
   NOTE_BEGIN_APART,
   NOTE_END_APART,
};

struct note {
   enum note_type type;
   uint64_t submit;
   VkPipelineStageFlags2 stages;
   union {
      struct gpuval_order_point *host;
      VkCommandBuffer cmd;
      struct signal *signal; /* WAIT: NULL for a timeline, which is looked up later */
   };
   uint64_t timeline, value;
};

struct queue {
   struct u_vector notes;
   uint64_t last; /* number of the last submit; they begin at 1 */
   uint64_t executing;
   uint64_t host_version; /* that was noted */
   struct gpuval_order_saved *saved;
};

struct gpuval_submits {
   simple_mtx_t mutex;
   struct gpuval_order *order;
   struct gpuval_sync *sync;
   struct gpuval_barriers *barriers;
   struct hash_table_u64 *objects;
   struct gpuval_order_point *host; /* what the host has seen */
   uint64_t host_version;
   struct gpuval_order_point *everything; /* for a moment */
   struct queue queues[GPUVAL_MAX_QUEUES];
   unsigned num_queues;
};

struct gpuval_submits *
gpuval_submits_create(unsigned num_queues)
{
   struct gpuval_submits *submits = rzalloc(NULL, struct gpuval_submits);

   assert(num_queues <= GPUVAL_MAX_QUEUES);
   submits->num_queues = num_queues;
   submits->order = gpuval_order_create(num_queues);
   submits->sync = gpuval_sync_create(submits->order);
   submits->barriers = gpuval_barriers_create(submits);
   submits->host = gpuval_order_point_create(submits->order);
   submits->everything = gpuval_order_point_create(submits->order);
   submits->objects = _mesa_hash_table_u64_create(submits);
   for (unsigned i = 0; i < num_queues; i++)
      u_vector_init(&submits->queues[i].notes, 64, sizeof(struct note));
   simple_mtx_init(&submits->mutex, mtx_plain);
   return submits;
}

/* Objects */

static void
release(struct signal *signal)
{
   if (signal && !--signal->users) {
      ralloc_free(signal->point);
      free(signal);
   }
}

static struct object *
get_object(struct gpuval_submits *submits, uint64_t handle)
{
   struct object *object = _mesa_hash_table_u64_search(submits->objects, handle);
   if (!object) {
      object = calloc(1, sizeof(*object));
      _mesa_hash_table_u64_insert(submits->objects, handle, object);
   }
   return object;
}

static void
free_object(struct object *object)
{
   for (unsigned i = 0; i < object->num_signals; i++)
      release(object->signals[i]);
   ralloc_free(object->event);
   free(object);
}

static void
remove_object(struct gpuval_submits *submits, uint64_t handle)
{
   struct object *object = _mesa_hash_table_u64_search(submits->objects, handle);
   if (object) {
      _mesa_hash_table_u64_remove(submits->objects, handle);
      free_object(object);
   }
}

static void
remove_signal(struct object *object, unsigned index)
{
   release(object->signals[index]);
   object->num_signals--;
   memmove(&object->signals[index], &object->signals[index + 1],
           (object->num_signals - index) * sizeof(object->signals[0]));
}

/* Submits of several queues may be noted in another order than that of values. */
static struct signal *
add_signal(struct gpuval_submits *submits, unsigned queue, uint64_t handle, uint64_t value)
{
   struct object *object = get_object(submits, handle);
   struct signal *signal = calloc(1, sizeof(*signal));

   *signal = (struct signal){.users = 1, .queue = queue, .value = value};
   while (!value && object->num_signals)
      remove_signal(object, 0);
   if (object->num_signals == MAX_SIGNALS)
      remove_signal(object, 0);

   unsigned i = object->num_signals;
   while (i && object->signals[i - 1]->value > value)
      i--;
   memmove(&object->signals[i + 1], &object->signals[i],
           (object->num_signals - i) * sizeof(object->signals[0]));
   object->signals[i] = signal;
   object->num_signals++;
   return signal;
}

static const struct gpuval_order_point *
get_everything(struct gpuval_submits *submits)
{
   gpuval_order_everything(submits->order, submits->everything);
   return submits->everything;
}

/* Notes */

static void
add_note(struct gpuval_submits *submits, unsigned queue, struct note note)
{
   struct note *added = u_vector_add(&submits->queues[queue].notes);

   note.submit = submits->queues[queue].last;
   if (added)
      *added = note;
}

static void
free_note(struct note *note)
{
   if (note->type == NOTE_HOST)
      ralloc_free(note->host);
   else if (note->type == NOTE_WAIT || note->type == NOTE_SIGNAL)
      release(note->signal);
   note->type = NOTE_NONE;
}

static const struct gpuval_order_point *wait_for(struct gpuval_submits *submits,
                                                 struct signal *signal);
static const struct gpuval_order_point *find_point(struct gpuval_submits *submits, uint64_t handle,
                                                   uint64_t value);

static void
process(struct gpuval_submits *submits, unsigned queue, const struct note *note)
{
   switch (note->type) {
   case NOTE_NONE:
      break;
   case NOTE_HOST:
      gpuval_order_wait(submits->order, queue, note->host, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
      break;
   case NOTE_WAIT:
      gpuval_order_wait(submits->order, queue,
                        note->timeline ? find_point(submits, note->timeline, note->value)
                                       : wait_for(submits, note->signal),
                        note->stages);
      break;
   case NOTE_COMMANDS:
      submits->queues[queue].executing = note->submit;
      break;
   case NOTE_SIGNAL:
      note->signal->point = gpuval_order_point_create(submits->order);
      gpuval_order_signal(submits->order, queue, note->stages, note->signal->point);
      break;
   case NOTE_BEGIN_APART:
      submits->queues[queue].saved = gpuval_order_save(submits->order, queue);
      gpuval_order_wait(submits->order, queue, get_everything(submits),
                        VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
      break;
   case NOTE_END_APART:
      gpuval_order_restore(submits->order, queue, submits->queues[queue].saved);
      submits->queues[queue].saved = NULL;
      break;
   }
}

/* The next note, out of the list */
static bool
take_note(struct gpuval_submits *submits, unsigned queue, struct note *note)
{
   struct u_vector *notes = &submits->queues[queue].notes;

   if (!u_vector_length(notes))
      return false;
   *note = *(struct note *)u_vector_remove(notes);
   return true;
}

/* Signals of what has been executed; with @until also those of submits that have no
 * commands, up to that one.
 */
static void
catch_up(struct gpuval_submits *submits, unsigned queue, const struct signal *until)
{
   struct u_vector *notes = &submits->queues[queue].notes;

   while (u_vector_length(notes) && !(until && until->point)) {
      const struct note *next = u_vector_tail(notes);
      struct note note;

      if (next->type == NOTE_COMMANDS ||
          (!until && next->type != NOTE_SIGNAL && next->type != NOTE_NONE))
         return;
      take_note(submits, queue, &note);
      process(submits, queue, &note);
      free_note(&note);
   }
}

/* Whoever waits for a signal comes after it: at that time it is known, if we know it
 * at all. One of the window system or of another process is taken to be signalled
 * after all there has been.
 */
static const struct gpuval_order_point *
wait_for(struct gpuval_submits *submits, struct signal *signal)
{
   if (!signal)
      return get_everything(submits);
   if (!signal->point) {
      signal->users++; /* the note of it goes */
      catch_up(submits, signal->queue, signal);
      release(signal);
   }
   return signal->point ? signal->point : get_everything(submits);
}

/* The first one that reaches the value */
static const struct gpuval_order_point *
find_point(struct gpuval_submits *submits, uint64_t handle, uint64_t value)
{
   const struct object *object = _mesa_hash_table_u64_search(submits->objects, handle);

   for (unsigned i = 0; object && i < object->num_signals; i++) {
      struct signal *signal = object->signals[i];
      if (signal->value < value)
         continue;
      if (!signal->point)
         catch_up(submits, signal->queue, signal);
      if (signal->point)
         return signal->point;
   }
   return get_everything(submits);
}

/* Submits */

void
gpuval_submits_begin(struct gpuval_submits *submits, unsigned index)
{
   struct queue *queue = &submits->queues[index];

   simple_mtx_lock(&submits->mutex);
   queue->last++;
   if (queue->host_version != submits->host_version) {
      struct gpuval_order_point *host = gpuval_order_point_create(submits->order);

      gpuval_order_merge(submits->order, host, submits->host);
      add_note(submits, index, (struct note){.type = NOTE_HOST, .host = host});
      queue->host_version = submits->host_version;
   }
   simple_mtx_unlock(&submits->mutex);
}

/* A binary semaphore is the one that was signalled last, and is not signalled then any
 * more. Of a timeline the value says which one it is, and that may come later.
 */
void
gpuval_submits_wait(struct gpuval_submits *submits, unsigned queue, uint64_t handle, uint64_t value,
                    VkPipelineStageFlags2 stages)
{
   struct note note = {.type = NOTE_WAIT, .stages = stages};

   simple_mtx_lock(&submits->mutex);
   if (value) {
      note.timeline = handle;
      note.value = value;
   } else {
      const struct object *object = _mesa_hash_table_u64_search(submits->objects, handle);
      if (object && object->num_signals) {
         note.signal = object->signals[object->num_signals - 1];
         note.signal->users++;
      }
      remove_object(submits, handle);
   }
   add_note(submits, queue, note);
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_commands(struct gpuval_submits *submits, unsigned queue, VkCommandBuffer cmd)
{
   simple_mtx_lock(&submits->mutex);
   add_note(submits, queue, (struct note){.type = NOTE_COMMANDS, .cmd = cmd});
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_begin_apart(struct gpuval_submits *submits, unsigned queue)
{
   simple_mtx_lock(&submits->mutex);
   add_note(submits, queue, (struct note){.type = NOTE_BEGIN_APART});
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_end_apart(struct gpuval_submits *submits, unsigned queue)
{
   simple_mtx_lock(&submits->mutex);
   add_note(submits, queue, (struct note){.type = NOTE_END_APART});
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_signal(struct gpuval_submits *submits, unsigned queue, uint64_t handle,
                      uint64_t value, VkPipelineStageFlags2 stages)
{
   simple_mtx_lock(&submits->mutex);
   struct signal *signal = add_signal(submits, queue, handle, value);
   signal->users++;
   add_note(submits, queue, (struct note){.type = NOTE_SIGNAL, .signal = signal, .stages = stages});
   simple_mtx_unlock(&submits->mutex);
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
      if (note->submit <= last)
         continue;
      /* Nobody should wait for that. */
      if (note->type == NOTE_SIGNAL) {
         note->signal->point = gpuval_order_point_create(submits->order);
         gpuval_order_everything(submits->order, note->signal->point);
      }
      free_note(note);
   }
   /* What the host had seen was noted with these. */
   submits->queues[queue].host_version = UINT64_MAX;
   simple_mtx_unlock(&submits->mutex);
}

/* The host */

static void
host_saw(struct gpuval_submits *submits, const struct gpuval_order_point *point)
{
   gpuval_order_merge(submits->order, submits->host, point);
   submits->host_version++;
}

void
gpuval_submits_host_signal(struct gpuval_submits *submits, uint64_t handle, uint64_t value)
{
   simple_mtx_lock(&submits->mutex);
   struct signal *signal = add_signal(submits, 0, handle, value);
   signal->point = gpuval_order_point_create(submits->order);
   gpuval_order_merge(submits->order, signal->point, submits->host);
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_host_set_event(struct gpuval_submits *submits, VkEvent event)
{
   simple_mtx_lock(&submits->mutex);
   struct object *object = get_object(submits, (uint64_t)event);
   ralloc_free(object->event);
   object->event = gpuval_order_host_set_event(submits->order, submits->host);
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_host_saw(struct gpuval_submits *submits, uint64_t handle, uint64_t value)
{
   simple_mtx_lock(&submits->mutex);
   host_saw(submits, find_point(submits, handle, value));
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_host_saw_event(struct gpuval_submits *submits, VkEvent event)
{
   simple_mtx_lock(&submits->mutex);
   const struct object *object = _mesa_hash_table_u64_search(submits->objects, (uint64_t)event);
   if (object && object->event) {
      gpuval_order_event_signal(submits->order, object->event, submits->host);
      submits->host_version++;
   } else {
      host_saw(submits, get_everything(submits));
   }
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_host_saw_queue(struct gpuval_submits *submits, unsigned queue)
{
   const struct signal end = {0};

   simple_mtx_lock(&submits->mutex);
   catch_up(submits, queue, &end);
   gpuval_order_signal(submits->order, queue, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, submits->host);
   submits->host_version++;
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_host_saw_all(struct gpuval_submits *submits)
{
   simple_mtx_lock(&submits->mutex);
   host_saw(submits, get_everything(submits));
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
gpuval_submits_execute(struct gpuval_submits *submits, unsigned index, VkCommandBuffer cmd)
{
   struct queue *queue = &submits->queues[index];
   struct note note = {0};

   simple_mtx_lock(&submits->mutex);
   if (has_commands(queue, cmd)) {
      while ((note.type != NOTE_COMMANDS || note.cmd != cmd) && take_note(submits, index, &note)) {
         process(submits, index, &note);
         if (note.type != NOTE_COMMANDS)
            free_note(&note);
      }
   } else {
      /* Of a call that failed, but not before it had submitted something */
      gpuval_order_wait(submits->order, index, get_everything(submits),
                        VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
   }
   uint64_t submit = queue->executing;
   simple_mtx_unlock(&submits->mutex);
   return submit;
}

void
gpuval_submits_end(struct gpuval_submits *submits, unsigned queue)
{
   simple_mtx_lock(&submits->mutex);
   catch_up(submits, queue, NULL);
   simple_mtx_unlock(&submits->mutex);
}

/* An event that the host sets when the queue waits already, or that is not known, may
 * stand for all there has been.
 */
static void
wait_event(struct gpuval_submits *submits, unsigned queue,
           const struct gpuval_dependency_part *part)
{
   const struct object *object =
      _mesa_hash_table_u64_search(submits->objects, (uint64_t)part->event);

   if (object && object->event) {
      gpuval_barriers_add(submits->barriers, queue,
                          gpuval_order_snapshot_serial(submits->order, queue, object->event),
                          gpuval_order_serial(submits->order, queue), part->num_barriers,
                          part->barriers);
      gpuval_order_wait_event(submits->order, queue, object->event, part->num_barriers,
                              part->barriers);
      return;
   }
   for (uint32_t i = 0; i < part->num_barriers; i++)
      gpuval_order_wait(submits->order, queue, get_everything(submits),
                        part->barriers[i].dst_stages);
}

void
gpuval_submits_dependency(struct gpuval_submits *submits, unsigned queue,
                          const struct gpuval_dependency *dependency)
{
   simple_mtx_lock(&submits->mutex);
   for (uint32_t i = 0; i < dependency->num_parts; i++) {
      const struct gpuval_dependency_part *part = &dependency->parts[i];
      if (part->event) {
         wait_event(submits, queue, part);
         continue;
      }
      const uint32_t serial = gpuval_order_serial(submits->order, queue);
      gpuval_barriers_add(submits->barriers, queue, serial, serial, part->num_barriers,
                          part->barriers);
      gpuval_order_dependency(submits->order, queue, part->num_barriers, part->barriers);
   }
   gpuval_order_end_transition(submits->order, queue);
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_set_event(struct gpuval_submits *submits, unsigned queue, VkEvent event,
                         VkPipelineStageFlags2 stages)
{
   simple_mtx_lock(&submits->mutex);
   struct object *object = get_object(submits, (uint64_t)event);
   ralloc_free(object->event);
   object->event = gpuval_order_set_event(submits->order, queue, stages);
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_reset_event(struct gpuval_submits *submits, VkEvent event)
{
   gpuval_submits_forget(submits, (uint64_t)event);
}

bool
gpuval_submits_work(struct gpuval_submits *submits, unsigned queue, uint32_t classes,
                    struct gpuval_submits_table *table, struct gpuval_command_data *data)
{
   simple_mtx_lock(&submits->mutex);
   data->order_class = gpuval_order_queue_class(queue);
   data->order_address = table ? table->address : 0;
   if (table)
      gpuval_submits_fill_table(submits->order, queue, classes, table);
   data->serial = gpuval_order_work(submits->order, queue, classes);
   bool began = gpuval_sync_work(submits->sync, queue, classes, data);
   simple_mtx_unlock(&submits->mutex);
   return began;
}

void
gpuval_submits_command(struct gpuval_submits *submits, unsigned queue,
                       enum gpuval_order_class class_, struct gpuval_submits_table *table,
                       struct gpuval_command_data *data, struct gpuval_order_threshold *threshold)
{
   simple_mtx_lock(&submits->mutex);
   data->order_class = gpuval_order_queue_class(queue);
   if (table) {
      gpuval_submits_fill_table(submits->order, queue, BITFIELD_BIT(class_), table);
      *threshold = table->threshold;
   } else {
      *threshold = gpuval_order_get_threshold(submits->order, queue, BITFIELD_BIT(class_));
   }
   data->serial = gpuval_order_work(submits->order, queue, BITFIELD_BIT(class_));
   simple_mtx_unlock(&submits->mutex);
}

uint64_t
gpuval_submits_get_row(struct gpuval_submits *submits, unsigned queue,
                       enum gpuval_order_class class_, uint64_t address,
                       struct gpuval_order_row *row)
{
   simple_mtx_lock(&submits->mutex);
   uint64_t end = gpuval_order_get_row(submits->order, queue, class_, address, row);
   simple_mtx_unlock(&submits->mutex);
   return end;
}

enum gpuval_barrier_missing
gpuval_submits_find_missing(struct gpuval_submits *submits, const struct gpuval_barrier_side *first,
                            const struct gpuval_barrier_side *second, uint64_t address,
                            struct gpuval_order_barrier *there)
{
   simple_mtx_lock(&submits->mutex);
   enum gpuval_barrier_missing missing =
      gpuval_barriers_find(submits->barriers, first, second, address, there);
   simple_mtx_unlock(&submits->mutex);
   return missing;
}

unsigned
gpuval_submits_other_epochs(struct gpuval_submits *submits, uint32_t epoch,
                            uint32_t out[GPUVAL_SYNC_EPOCHS])
{
   simple_mtx_lock(&submits->mutex);
   unsigned count = gpuval_sync_other_epochs(submits->sync, epoch, out);
   simple_mtx_unlock(&submits->mutex);
   return count;
}

unsigned
gpuval_submits_num_sources(const struct gpuval_submits *submits)
{
   return gpuval_order_num_sources(submits->order);
}

uint32_t
gpuval_submits_use(struct gpuval_submits *submits, unsigned queue, uint64_t *version,
                   uint32_t *before)
{
   simple_mtx_lock(&submits->mutex);
   unsigned num_sources = gpuval_order_num_sources(submits->order);
   uint64_t present = gpuval_order_version(submits->order, queue) + 1; /* 0: never */

   for (unsigned i = 0; *version != present && i < GPUVAL_SUBMITS_ROWS; i++) {
      for (unsigned source = 0; source < num_sources; source++)
         *before++ = gpuval_order_executed(submits->order, queue, i, source);
   }
   *version = present;
   uint32_t serial = gpuval_order_use(submits->order, queue);
   simple_mtx_unlock(&submits->mutex);
   return serial;
}

void
gpuval_submits_ordered(struct gpuval_submits *submits, unsigned queue, uint32_t *ordered)
{
   simple_mtx_lock(&submits->mutex);
   for (unsigned i = 0; i < gpuval_order_num_sources(submits->order); i++)
      ordered[i] = gpuval_order_any_executed(submits->order, queue, i);
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_made_available(struct gpuval_submits *submits, unsigned queue, uint32_t *available)
{
   simple_mtx_lock(&submits->mutex);
   for (unsigned i = 0; i < gpuval_order_num_sources(submits->order); i++)
      available[i] = gpuval_order_made_available(submits->order, queue, i);
   simple_mtx_unlock(&submits->mutex);
}

struct gpuval_order_mark
gpuval_submits_transition(struct gpuval_submits *submits, unsigned queue,
                          VkPipelineStageFlags2 src_stages, VkPipelineStageFlags2 dst_stages,
                          uint32_t *before)
{
   simple_mtx_lock(&submits->mutex);
   struct gpuval_order_mark transition =
      gpuval_order_transition(submits->order, queue, src_stages, dst_stages, before);
   simple_mtx_unlock(&submits->mutex);
   return transition;
}

bool
gpuval_submits_has_set_events(struct gpuval_submits *submits, unsigned queue,
                              const struct gpuval_dependency *events)
{
   bool has_set = true;

   simple_mtx_lock(&submits->mutex);
   for (uint32_t i = 0; i < events->num_parts; i++) {
      const struct object *object =
         _mesa_hash_table_u64_search(submits->objects, (uint64_t)events->parts[i].event);
      has_set &= object && object->event &&
                 gpuval_order_snapshot_serial(submits->order, queue, object->event);
   }
   simple_mtx_unlock(&submits->mutex);
   return has_set;
}

struct gpuval_order_mark
gpuval_submits_event_transition(struct gpuval_submits *submits, unsigned queue,
                                const struct gpuval_dependency *events, uint32_t *before)
{
   simple_mtx_lock(&submits->mutex);
   struct gpuval_order_point *point = gpuval_order_point_create(submits->order);
   for (uint32_t i = 0; i < events->num_parts; i++) {
      const struct object *object =
         _mesa_hash_table_u64_search(submits->objects, (uint64_t)events->parts[i].event);
      if (object && object->event)
         gpuval_order_event_signal(submits->order, object->event, point);
      else
         gpuval_order_merge(submits->order, point, get_everything(submits));
   }
   struct gpuval_order_mark transition =
      gpuval_order_point_transition(submits->order, queue, point, before);
   ralloc_free(point);
   simple_mtx_unlock(&submits->mutex);
   return transition;
}

uint32_t
gpuval_submits_host_use(struct gpuval_submits *submits, uint32_t *before)
{
   simple_mtx_lock(&submits->mutex);
   uint32_t serial = gpuval_order_host_use(submits->order, submits->host, before);
   submits->host_version++;
   simple_mtx_unlock(&submits->mutex);
   return serial;
}

bool
gpuval_submits_have_begun(struct gpuval_submits *submits, unsigned queue, uint64_t last)
{
   bool have_begun = true;
   struct note *note;

   simple_mtx_lock(&submits->mutex);
   u_vector_foreach(note, &submits->queues[queue].notes)
   {
      if (note->type == NOTE_COMMANDS && note->submit <= last)
         have_begun = false;
   }
   simple_mtx_unlock(&submits->mutex);
   return have_begun;
}

void
gpuval_submits_restart(struct gpuval_submits *submits)
{
   simple_mtx_lock(&submits->mutex);
   gpuval_order_restart(submits->order);
   gpuval_barriers_clear(submits->barriers);
   gpuval_sync_restart(submits->sync);
   simple_mtx_unlock(&submits->mutex);
}

void
gpuval_submits_destroy(struct gpuval_submits *submits)
{
   simple_mtx_destroy(&submits->mutex);
   for (unsigned i = 0; i < submits->num_queues; i++) {
      struct note note;
      while (take_note(submits, i, &note))
         free_note(&note);
      u_vector_finish(&submits->queues[i].notes);
   }
   hash_table_u64_foreach (submits->objects, entry)
      free_object(entry.data);
   ralloc_free(submits->everything);
   ralloc_free(submits->host);
   gpuval_sync_destroy(submits->sync);
   gpuval_order_destroy(submits->order);
   ralloc_free(submits);
}
