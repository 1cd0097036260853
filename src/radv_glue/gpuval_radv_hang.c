/* SPDX-License-Identifier: MIT */

/* What is in flight where work does not end, or was when the device was lost. The kernel signals
 * fences when it has reset the GPU, and RADV learns of that at the next submit only: so submits
 * whose breadcrumbs are incomplete when they have ended are suspected, until another one is not.
 */

#include "gpuval_radv_crumbs.h"

#include <inttypes.h>

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "gpuval/src/core/events/gpuval_hang.h"

#include "radv_cmd_buffer.h"
#include "radv_debug.h"
#include "radv_device.h"
#include "radv_physical_device.h"
#include "radv_queue.h"
#include "sid.h"

#include "gpuval/src/base/gpuval_names.h"
#include "util/os_time.h"
#include "util/ralloc.h"

/* Command buffers of a submit that a report names */
#define MAX_BUFFERS 16

#define PAGE_SIZE_OF_FAULTS 4096

static void
end_flight(struct gpuval_radv_flight *flight)
{
   util_dynarray_foreach (&flight->cmd_bufs, struct gpuval_radv_flying, flying) {
      if (flying->cmd_buffer)
         --*gpuval_radv_num_flights(flying->cmd_buffer);
   }
   util_dynarray_clear(&flight->cmd_bufs);
   ralloc_free(flight->names);
   flight->names = NULL;
}

static void
add_flying(struct gpuval_radv_flight *flight, struct radv_cmd_buffer *cmd_buffer)
{
   const struct gpuval_radv_flying flying = {
      .cmd_buffer = cmd_buffer,
      .handle = (uintptr_t)radv_cmd_buffer_to_handle(cmd_buffer),
      .name = gpuval_object_name(flight->names, &cmd_buffer->vk.base),
   };

   util_dynarray_append_typed(&flight->cmd_bufs, struct gpuval_radv_flying, flying);
   if (!*gpuval_radv_num_flights(cmd_buffer))
      gpuval_radv_reset_crumbs(cmd_buffer);
   ++*gpuval_radv_num_flights(cmd_buffer);
}

void
gpuval_radv_begin_flight(struct gpuval_radv_flight *flight, const struct vk_queue *queue,
                         int64_t number, const struct vk_queue_submit *submit)
{
   struct util_dynarray cmd_buffers;

   flight->queue = queue;
   flight->number = number;
   flight->submitted = os_time_get_nano();
   flight->first = 0;
   flight->is_reported = false;
   flight->names = ralloc_context(NULL);
   util_dynarray_init(&cmd_buffers, NULL);
   for (uint32_t i = 0; i < submit->command_buffer_count; i++)
      gpuval_radv_collect(container_of(submit->command_buffers[i], struct radv_cmd_buffer, vk),
                          &cmd_buffers);
   util_dynarray_foreach (&cmd_buffers, struct radv_cmd_buffer *, cmd_buffer)
      add_flying(flight, *cmd_buffer);
   util_dynarray_fini(&cmd_buffers);
}

void
gpuval_radv_cancel_flight(struct gpuval_radv_flight *flight)
{
   end_flight(flight);
}

void
gpuval_radv_forget_flying(struct gpuval_radv_flight *flight,
                          const struct radv_cmd_buffer *cmd_buffer)
{
   util_dynarray_foreach (&flight->cmd_bufs, struct gpuval_radv_flying, flying) {
      if (flying->cmd_buffer == cmd_buffer)
         flying->cmd_buffer = NULL;
   }
}

/* Of one that is in flight more than once, another execution has written the words. */
static bool
was_cut_off(const struct gpuval_radv_flight *flight)
{
   util_dynarray_foreach (&flight->cmd_bufs, struct gpuval_radv_flying, flying) {
      if (!flying->cmd_buffer || *gpuval_radv_num_flights(flying->cmd_buffer) != 1)
         continue;
      const struct gpuval_radv_crumb_state state = gpuval_radv_read_crumbs(flying->cmd_buffer);
      if (state.ended < state.count)
         return true;
   }
   return false;
}

static void
describe_queue(const struct gpuval_radv *gpuval, const struct gpuval_radv_flight *flight,
               char *text, size_t size)
{
   snprintf(text, size, "submission %" PRId64 " on queue %u", flight->number,
            gpuval_hooks_queue(&gpuval->hooks, flight->queue));
}

struct gpuval_hang *
gpuval_radv_land(struct gpuval_radv *gpuval, struct gpuval_radv_flight *flight)
{
   struct gpuval_hang *hang = NULL;
   char where[64];

   if (!gpuval->executes_nothing && was_cut_off(flight)) {
      /* The first is what the others have suffered from. */
      if (!gpuval->suspect && !gpuval->is_loss_reported) {
         describe_queue(gpuval, flight, where, sizeof(where));
         hang = gpuval_hang_create_cut_off(where);
         gpuval_radv_describe_flight(gpuval, hang, flight);
      }
   } else if (gpuval_options()->breadcrumbs && flight->cmd_bufs.size) {
      gpuval_hang_drop(gpuval->suspect);
      gpuval->suspect = NULL;
   }
   gpuval->last_landed = flight->number;
   end_flight(flight);
   return hang;
}

void
gpuval_radv_suspect(struct gpuval_radv *gpuval, struct gpuval_hang *hang)
{
   gpuval_hang_resolve(hang, gpuval->device);
   simple_mtx_lock(&gpuval->submit_mutex);
   bool is_first = !gpuval->suspect && !gpuval->is_loss_reported;
   if (is_first)
      gpuval->suspect = hang;
   simple_mtx_unlock(&gpuval->submit_mutex);
   if (!is_first)
      gpuval_hang_drop(hang);
}

static void
describe_buffer(struct gpuval_hang *hang, const struct gpuval_radv_flying *flying)
{
   struct gpuval_radv_crumb_state state = {0};
   char progress[96] = "";

   if (flying->cmd_buffer)
      state = gpuval_radv_read_crumbs(flying->cmd_buffer);
   if (!flying->cmd_buffer)
      snprintf(progress, sizeof(progress), ", which is reset or destroyed by now");
   else if (state.begun > state.count || state.ended > state.count)
      snprintf(progress, sizeof(progress), ": its breadcrumbs were lost with the device");
   else if (state.count && !state.begun)
      snprintf(progress, sizeof(progress), ": none of its %u commands has begun", state.count);
   else if (state.count && state.ended == state.count)
      snprintf(progress, sizeof(progress), ": all of its %u commands have ended", state.count);
   else if (state.count)
      snprintf(progress, sizeof(progress), ": %u of its %u commands have begun, %u have ended",
               state.begun, state.count, state.ended);
   gpuval_hang_say(hang, "command buffer 0x%" PRIx64 "%s%s%s%s", flying->handle,
                   flying->name ? " \"" : "", flying->name ? flying->name : "",
                   flying->name ? "\"" : "", progress);

   if (state.begun > state.count)
      return;
   /* None is where it is executed again while it still runs. */
   for (uint32_t number = state.ended + 1; number && number <= state.begun; number++)
      gpuval_hang_add_command(hang, gpuval_radv_crumb_id(flying->cmd_buffer, number));
}

void
gpuval_radv_describe_flight(struct gpuval_radv *gpuval, struct gpuval_hang *hang,
                            const struct gpuval_radv_flight *flight)
{
   char where[64];
   unsigned count = 0;

   describe_queue(gpuval, flight, where, sizeof(where));
   gpuval_hang_say(hang, "%s, submitted %.1f s ago", where,
                   (os_time_get_nano() - flight->submitted) * 1e-9);
   util_dynarray_foreach (&flight->cmd_bufs, struct gpuval_radv_flying, flying) {
      if (count++ < MAX_BUFFERS)
         describe_buffer(hang, flying);
   }
   if (count > MAX_BUFFERS)
      gpuval_hang_say(hang, "and %u more command buffers", count - MAX_BUFFERS);
}

struct gpuval_hang *
gpuval_radv_find_slow(struct gpuval_radv *gpuval, struct gpuval_radv_flight *flight, int64_t limit)
{
   const int64_t now = os_time_get_nano();
   char where[64];

   if (!flight->first)
      flight->first = now;
   if (flight->is_reported || now - flight->first < limit)
      return NULL;
   flight->is_reported = true;
   describe_queue(gpuval, flight, where, sizeof(where));
   struct gpuval_hang *hang = gpuval_hang_create_slow(where, (now - flight->first) * 1e-9);
   gpuval_radv_describe_flight(gpuval, hang, flight);
   return hang;
}

void
gpuval_radv_complete_hang(struct gpuval_radv *gpuval, struct gpuval_hang *hang)
{
   struct radv_winsys_gpuvm_fault_info info = {0};

   if (!gpuval_options()->breadcrumbs)
      gpuval_hang_say(hang, "which commands had begun and not ended is not known; it is with "
                            "GPUVAL_BREADCRUMBS=1 (--breadcrumbs)");
   if (!radv_vm_fault_occurred(gpuval->radv, &info))
      return;

   bool has_access = radv_device_physical(gpuval->radv)->info.gfx_level >= GFX10;
   gpuval_hang_set_fault(hang, &(struct gpuval_hang_fault){
                                  .address = info.addr & ~(uint64_t)(PAGE_SIZE_OF_FAULTS - 1),
                                  .size = PAGE_SIZE_OF_FAULTS,
                                  .op = !has_access                ? "access"
                                        : G_00A130_RW(info.status) ? "write"
                                                                   : "read",
                                  .status = info.status,
                               });
}
