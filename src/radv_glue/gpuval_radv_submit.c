/* SPDX-License-Identifier: MIT */

/* When is work done? Each submit signals a sync object of ours as well. We look
 * at these whenever something is submitted, and wherever the application learns
 * that work is done, before it does: so what has failed is in the log by then.
 * Nothing waits that would not have waited, and no semaphore is delayed.
 */

#include "gpuval_radv_crumbs.h"
#include "gpuval_radv_private.h"
#include "gpuval_radv_race.h"

#include <inttypes.h>

#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_physical_device.h"
#include "radv_queue.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/core/events/gpuval_hang.h"
#include "util/os_time.h"
#include "util/ralloc.h"
#include "vk_queue.h"

#define WAIT_AT_EXIT_NS 2000000000

/* One submit, or one that was and whose sync object can be used again */
struct submit {
   struct list_head link;
   struct vk_sync *sync;
   const struct vk_queue *queue;
   unsigned work;                    /* as gpuval_device_end_work() wants it */
   int64_t number;                   /* of gpuval_radv_submitted() */
   uint64_t visit;                   /* of gpuval_radv_begin_epochs() */
   struct util_dynarray buffers;     /* struct radv_cmd_buffer *, those with looks */
   struct gpuval_race_segment *race; /* or NULL */
   struct gpuval_radv_flight flight;
};

/* What retires: works (unsigned), and what is wrong with commands (gpuval_radv_failure) */
struct retired {
   struct util_dynarray works;
   struct util_dynarray failures;
   struct util_dynarray hangs; /* struct gpuval_hang *: submits that have ended too early */
   struct gpuval_hang *loss;   /* of the device, to be reported; or NULL */
};

static bool
is_done(struct gpuval_radv *gpuval, const struct submit *submit, uint64_t timeout)
{
   return vk_sync_wait(&gpuval->radv->vk, submit->sync, 0, VK_SYNC_WAIT_COMPLETE, timeout) ==
          VK_SUCCESS;
}

/* With submit_mutex; each submit that is in flight has to be counted once. */
static void
count_buffers(struct submit *submit, int step)
{
   util_dynarray_foreach (&submit->buffers, struct radv_cmd_buffer *, buffer)
      *gpuval_radv_in_flight(*buffer) += step;
}

static void
forget_buffers(struct submit *submit)
{
   count_buffers(submit, -1);
   util_dynarray_clear(&submit->buffers);
}

static void
check_buffers(struct gpuval_radv *gpuval, struct submit *submit, struct util_dynarray *failures)
{
   count_buffers(submit, -1);
   util_dynarray_foreach (&submit->buffers, struct radv_cmd_buffer *, buffer) {
      if (!*gpuval_radv_in_flight(*buffer))
         gpuval_radv_check_looks(gpuval, *buffer, failures);
   }
   util_dynarray_clear(&submit->buffers);
}

/* Takes what is done off the list: it is in order of a queue, but queues overtake each other.
 * The kernel is asked once for each that is done, and once for each queue. Returns whether there
 * was any, and more may be.
 */
static bool
retire_done(struct gpuval_radv *gpuval, uint64_t timeout, struct retired *retired)
{
   const struct vk_queue *busy[GPUVAL_MAX_QUEUES];
   unsigned num_busy = 0;
   bool found = false;

   list_for_each_entry_safe (struct submit, submit, &gpuval->in_flight, link) {
      bool is_behind = false;
      for (unsigned i = 0; i < num_busy; i++)
         is_behind |= busy[i] == submit->queue;
      if (is_behind)
         continue;

      if (is_done(gpuval, submit, timeout)) {
         struct gpuval_hang *hang = gpuval_radv_land(gpuval, &submit->flight);
         if (hang)
            util_dynarray_append_typed(&retired->hangs, struct gpuval_hang *, hang);
         list_move_to(&submit->link, &gpuval->unused);
         util_dynarray_append_typed(&retired->works, unsigned, submit->work);
         check_buffers(gpuval, submit, &retired->failures);
         gpuval_radv_race_retire(gpuval, submit->race);
         submit->race = NULL;
         found = true;
      } else if (vk_device_is_lost_no_report(&gpuval->radv->vk)) {
         check_buffers(gpuval, submit, &retired->failures); /* what has been executed of it */
      } else if (num_busy < ARRAY_SIZE(busy)) {
         busy[num_busy++] = submit->queue;
      }
   }
   return found && num_busy;
}

/* What is known to be in flight when the device is seen to be lost, or NULL. Before what is in
 * flight then is taken for done.
 */
static struct gpuval_hang *
find_loss(struct gpuval_radv *gpuval)
{
   struct gpuval_hang *hang = gpuval->suspect;
   bool has_any = hang != NULL;

   if (gpuval->is_loss_reported || !vk_device_is_lost_no_report(&gpuval->radv->vk))
      return NULL;
   gpuval->is_loss_reported = true;
   gpuval->suspect = NULL;
   if (!hang)
      hang = gpuval_hang_create_lost();
   list_for_each_entry (struct submit, submit, &gpuval->in_flight, link) {
      gpuval_radv_describe_flight(gpuval, hang, &submit->flight);
      has_any = true;
   }
   if (!has_any && gpuval->last_landed >= 0)
      gpuval_hang_say(hang, "nothing by now; submission %" PRId64 " was the last one to end",
                      gpuval->last_landed);
   return hang;
}

static void
report_hang(struct gpuval_radv *gpuval, struct gpuval_hang *hang)
{
   if (!hang)
      return;
   gpuval_radv_complete_hang(gpuval, hang);
   gpuval_hang_report(hang, gpuval->device);
}

/* At the end, when no submit will tell whether the device is lost */
static void
report_suspect(struct gpuval_radv *gpuval)
{
   simple_mtx_lock(&gpuval->submit_mutex);
   struct gpuval_hang *hang = gpuval->suspect;
   gpuval->suspect = NULL;
   simple_mtx_unlock(&gpuval->submit_mutex);
   report_hang(gpuval, hang);
}

void
gpuval_radv_look_for_hang(void *data, int64_t limit)
{
   struct gpuval_radv *gpuval = data;
   const struct vk_queue *busy[GPUVAL_MAX_QUEUES];
   unsigned num_busy = 0;
   struct util_dynarray hangs;

   util_dynarray_init(&hangs, NULL);
   simple_mtx_lock(&gpuval->submit_mutex);
   list_for_each_entry (struct submit, submit, &gpuval->in_flight, link) {
      bool is_behind = num_busy == ARRAY_SIZE(busy);
      for (unsigned i = 0; i < num_busy; i++)
         is_behind |= busy[i] == submit->queue;
      if (is_behind || is_done(gpuval, submit, 0))
         continue;
      busy[num_busy++] = submit->queue;
      struct gpuval_hang *hang = gpuval_radv_find_slow(gpuval, &submit->flight, limit);
      if (hang)
         util_dynarray_append_typed(&hangs, struct gpuval_hang *, hang);
   }
   simple_mtx_unlock(&gpuval->submit_mutex);

   util_dynarray_foreach (&hangs, struct gpuval_hang *, hang)
      report_hang(gpuval, *hang);
   util_dynarray_fini(&hangs);
}

/* What has ended while we looked may be what something that is done comes after: race has to see
 * both.
 */
static void
retire(struct gpuval_radv *gpuval, uint64_t timeout, struct retired *retired)
{
   util_dynarray_init(&retired->works, NULL);
   util_dynarray_init(&retired->failures, NULL);
   util_dynarray_init(&retired->hangs, NULL);

   simple_mtx_lock(&gpuval->submit_mutex);
   retired->loss = find_loss(gpuval);
   while (retire_done(gpuval, timeout, retired) && gpuval->race)
      ;
   simple_mtx_unlock(&gpuval->submit_mutex);
   util_dynarray_foreach (&retired->hangs, struct gpuval_hang *, hang)
      gpuval_radv_suspect(gpuval, *hang);
   util_dynarray_fini(&retired->hangs);
}

static void
report(struct gpuval_radv *gpuval, struct util_dynarray *failures)
{
   util_dynarray_foreach (failures, struct gpuval_radv_failure, failure)
      gpuval_radv_report_failure(gpuval, failure);
   util_dynarray_fini(failures);
}

/* It may be there several times: a secondary one. */
static void
remove_buffer(struct list_head *submits, const struct radv_cmd_buffer *cmd_buffer)
{
   list_for_each_entry (struct submit, submit, submits, link) {
      struct radv_cmd_buffer **buffers = submit->buffers.data;
      unsigned count = util_dynarray_num_elements(&submit->buffers, struct radv_cmd_buffer *);
      unsigned kept = 0;

      for (unsigned i = 0; i < count; i++) {
         if (buffers[i] != cmd_buffer)
            buffers[kept++] = buffers[i];
      }
      submit->buffers.size = kept * sizeof(*buffers);
   }
}

/* Of race: what it has marked is taken from there. */
static void
forget_race(struct gpuval_radv *gpuval, const struct radv_cmd_buffer *cmd_buffer)
{
   if (!gpuval->race)
      return;

   simple_mtx_lock(&gpuval->submit_mutex);
   list_for_each_entry (struct submit, submit, &gpuval->starting, link)
      gpuval_radv_race_forget(submit->race, cmd_buffer);
   list_for_each_entry (struct submit, submit, &gpuval->in_flight, link)
      gpuval_radv_race_forget(submit->race, cmd_buffer);
   simple_mtx_unlock(&gpuval->submit_mutex);
}

static void
forget_flights(struct gpuval_radv *gpuval, const struct radv_cmd_buffer *cmd_buffer)
{
   if (!*gpuval_radv_num_flights(cmd_buffer))
      return;

   simple_mtx_lock(&gpuval->submit_mutex);
   list_for_each_entry (struct submit, submit, &gpuval->starting, link)
      gpuval_radv_forget_flying(&submit->flight, cmd_buffer);
   list_for_each_entry (struct submit, submit, &gpuval->in_flight, link)
      gpuval_radv_forget_flying(&submit->flight, cmd_buffer);
   simple_mtx_unlock(&gpuval->submit_mutex);
}

void
gpuval_radv_forget_looks(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer)
{
   struct util_dynarray failures;

   forget_race(gpuval, cmd_buffer);
   forget_flights(gpuval, cmd_buffer);
   if (!gpuval_radv_looks(cmd_buffer)->size)
      return;
   util_dynarray_init(&failures, NULL);
   simple_mtx_lock(&gpuval->submit_mutex);
   remove_buffer(&gpuval->starting, cmd_buffer);
   remove_buffer(&gpuval->in_flight, cmd_buffer);
   gpuval_radv_check_looks(gpuval, cmd_buffer, &failures);
   simple_mtx_unlock(&gpuval->submit_mutex);
   report(gpuval, &failures);
}

static void
look_for(struct gpuval_radv *gpuval, uint64_t timeout)
{
   struct retired retired;

   retire(gpuval, timeout, &retired);
   report(gpuval, &retired.failures);
   gpuval_radv_race_look(gpuval);
   report_hang(gpuval, retired.loss);
   util_dynarray_foreach (&retired.works, unsigned, work)
      gpuval_device_end_work(gpuval->device, *work);
   /* Work that is in flight may have told the application something, and another thread may
    * be about to report what it has failed.
    */
   if (!retired.works.size)
      gpuval_device_look(gpuval->device);
   util_dynarray_fini(&retired.works);
}

void
gpuval_radv_look(void *data)
{
   look_for(data, 0);
}

bool
gpuval_radv_is_in_flight(struct gpuval_radv *gpuval, int64_t number)
{
   bool found = false;

   simple_mtx_lock(&gpuval->submit_mutex);
   list_for_each_entry (struct submit, submit, &gpuval->in_flight, link)
      found |= submit->number == number;
   simple_mtx_unlock(&gpuval->submit_mutex);
   return found;
}

static struct submit *
take_submit(struct gpuval_radv *gpuval)
{
   struct vk_device *device = &gpuval->radv->vk;
   struct submit *submit = NULL;

   simple_mtx_lock(&gpuval->submit_mutex);
   if (!list_is_empty(&gpuval->unused)) {
      submit = list_first_entry(&gpuval->unused, struct submit, link);
      list_del(&submit->link);
   }
   simple_mtx_unlock(&gpuval->submit_mutex);

   if (submit && vk_sync_reset(device, submit->sync) == VK_SUCCESS)
      return submit;
   if (!submit) {
      submit = rzalloc(NULL, struct submit);
      if (submit) {
         util_dynarray_init(&submit->buffers, submit);
         util_dynarray_init(&submit->flight.cmd_bufs, submit);
      }
   } else {
      vk_sync_destroy(device, submit->sync);
   }
   if (submit && vk_sync_create(device, device->physical->supported_sync_types[0], 0, 0,
                                &submit->sync) == VK_SUCCESS)
      return submit;

   ralloc_free(submit);
   return NULL;
}

/* Its command buffers may be done, and gone, before the driver's function returns. */
static void
begin_submit(struct gpuval_radv *gpuval, struct submit *submit,
             const struct vk_queue_submit *original)
{
   for (uint32_t i = 0; i < original->command_buffer_count; i++)
      gpuval_radv_collect_looks(
         container_of(original->command_buffers[i], struct radv_cmd_buffer, vk), &submit->buffers);

   simple_mtx_lock(&gpuval->submit_mutex);
   gpuval_radv_begin_flight(&submit->flight, submit->queue, submit->number, original);
   list_addtail(&submit->link, &gpuval->starting);
   count_buffers(submit, 1);
   simple_mtx_unlock(&gpuval->submit_mutex);
}

static VkResult
hook_submit(struct vk_queue *queue, struct vk_queue_submit *original)
{
   struct gpuval_radv *gpuval = radv_queue_device((struct radv_queue *)queue)->gpuval;

   gpuval_radv_look(gpuval);
   struct submit *submit = original->command_buffer_count ? take_submit(gpuval) : NULL;
   if (!submit) {
      if (original->command_buffer_count) /* it may write what it has not been told of */
         gpuval_radv_give_up(gpuval, original->command_buffers, original->command_buffer_count);
      return gpuval->driver_submit(queue, original);
   }

   struct vk_queue_submit copy = *original;
   struct vk_sync_signal *signals =
      ralloc_array(submit, struct vk_sync_signal, copy.signal_count + 1);
   memcpy(signals, copy.signals, copy.signal_count * sizeof(*signals));
   signals[copy.signal_count++] = (struct vk_sync_signal){
      .sync = submit->sync,
      .stage_mask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
   };
   copy.signals = signals;

   submit->number =
      gpuval_radv_submitted(gpuval, gpuval_hooks_queue(&gpuval->hooks, queue),
                            original->command_buffers, original->command_buffer_count);
   unsigned work = submit->work = gpuval_device_begin_work(gpuval->device);
   submit->visit = gpuval_radv_begin_epochs(gpuval, queue, original->command_buffers,
                                            original->command_buffer_count, &submit->race);
   submit->queue = queue;
   struct vk_command_buffer *filter = gpuval_radv_take_filter(gpuval, queue, submit->visit);
   if (filter) {
      struct vk_command_buffer **buffers =
         ralloc_array(signals, struct vk_command_buffer *, copy.command_buffer_count + 1);
      buffers[0] = filter;
      memcpy(&buffers[1], copy.command_buffers, copy.command_buffer_count++ * sizeof(buffers[0]));
      copy.command_buffers = buffers;
   }
   begin_submit(gpuval, submit, original);
   VkResult result = gpuval->driver_submit(queue, &copy);
   ralloc_free(signals);

   simple_mtx_lock(&gpuval->submit_mutex);
   list_del(&submit->link);
   list_addtail(&submit->link, result == VK_SUCCESS ? &gpuval->in_flight : &gpuval->unused);
   if (result != VK_SUCCESS) {
      forget_buffers(submit);
      gpuval_radv_cancel_flight(&submit->flight);
      gpuval_radv_race_drop(submit->race);
      submit->race = NULL;
   }
   simple_mtx_unlock(&gpuval->submit_mutex);
   gpuval_radv_end_epochs(gpuval);
   if (result != VK_SUCCESS)
      gpuval_device_end_work(gpuval->device, work);
   if (result == VK_ERROR_DEVICE_LOST)
      gpuval_radv_look(gpuval);
   return result;
}

void
gpuval_radv_wait_for_work(void *data, bool at_exit)
{
   struct gpuval_radv *gpuval = data;
   uint64_t timeout = os_time_get_absolute_timeout(WAIT_AT_EXIT_NS);
   struct retired retired;

   if (!at_exit) {
      look_for(gpuval, timeout);
      return;
   }
   retire(gpuval, timeout, &retired);
   report(gpuval, &retired.failures);
   gpuval_radv_race_look(gpuval);
   report_hang(gpuval, retired.loss);
   report_suspect(gpuval);
   util_dynarray_fini(&retired.works);
}

bool
gpuval_radv_is_idle(struct gpuval_radv *gpuval)
{
   simple_mtx_lock(&gpuval->submit_mutex);
   bool idle = list_is_empty(&gpuval->in_flight);
   simple_mtx_unlock(&gpuval->submit_mutex);
   return idle;
}

bool
gpuval_radv_is_visited(struct gpuval_radv *gpuval, uint64_t visit)
{
   bool found = false;

   simple_mtx_lock(&gpuval->submit_mutex);
   list_for_each_entry (struct submit, submit, &gpuval->in_flight, link)
      found |= submit->visit == visit;
   simple_mtx_unlock(&gpuval->submit_mutex);
   return found;
}

void
gpuval_radv_init_submits(struct gpuval_radv *gpuval)
{
   simple_mtx_init(&gpuval->submit_mutex, mtx_plain);
   list_inithead(&gpuval->starting);
   list_inithead(&gpuval->in_flight);
   list_inithead(&gpuval->unused);
   gpuval->last_landed = -1;

   vk_foreach_queue (queue, &gpuval->radv->vk) {
      if (((struct radv_queue *)queue)->state.qf == RADV_QUEUE_SPARSE)
         continue;
      gpuval->driver_submit = queue->driver_submit;
      queue->driver_submit = hook_submit;
   }
}

void
gpuval_radv_finish_submits(struct gpuval_radv *gpuval)
{
   gpuval_radv_look(gpuval);
   report_suspect(gpuval);
   list_splicetail(&gpuval->in_flight,
                   &gpuval->unused); /* the application has waited, or should have */

   list_for_each_entry_safe (struct submit, submit, &gpuval->unused, link) {
      vk_sync_destroy(&gpuval->radv->vk, submit->sync);
      gpuval_radv_race_drop(submit->race);
      ralloc_free(submit->flight.names);
      ralloc_free(submit);
   }
   simple_mtx_destroy(&gpuval->submit_mutex);
}
