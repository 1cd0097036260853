/* SPDX-License-Identifier: MIT */

/* A device's shadow memory: which commands its cells name. */

#include "base/gpuval_shadow.h"
#include "gpuval_cells.h"
#include "gpuval_shadow_device.h"

#include <stdlib.h>

#include "base/gpuval_order.h"
#include "core/device/gpuval_device.h"

#include "util/macros.h"
#include "util/u_atomic.h"

#define NUM_COMMANDS (GPUVAL_SHADOW_MAX_COMMAND + 1)

/* Releases after which all begins anew as soon as nothing runs: their times have 32 bits. */
#define MAX_TIME (1u << 31)

/* What is behind a number. Cells outlive shaders, whose numbers are used again: shaders
 * that were registered later than max_serial are not what the command has run.
 */
struct gpuval_shadow_command {
   uint64_t max_serial;
   uint32_t serial;  /* what shaders read, reads from where may be slow */
   uint32_t highest; /* of its serial and those before: with several queues they may fall */
   uint32_t command_id;
   uint32_t order_class; /* gpuval_command_data::order_class */
   uint32_t entry_base[GPUVAL_STAGE_COUNT];
};

bool
gpuval_device_init_shadow(struct gpuval_device *device)
{
   struct gpuval_shadow_device *shadow = device->shadow;

   if (!gpuval_device_alloc(device, &shadow->layout, sizeof(struct gpuval_shadow_layout)) ||
       !gpuval_device_alloc(device, &shadow->serials, NUM_COMMANDS * sizeof(uint32_t)))
      return false;

   struct gpuval_shadow_layout *layout = shadow->layout.map;
   shadow->commands = calloc(NUM_COMMANDS, sizeof(*shadow->commands));
   if (!shadow->commands)
      return false;
   if (device->info.has_table)
      shadow->is_on = gpuval_cells_init(device, layout);
   else
      shadow->is_on = (shadow->memory = gpuval_shadow_create(layout)) != NULL;

   layout->serials = shadow->serials.address;
   shadow->next = 1;
   return shadow->is_on;
}

void
gpuval_device_finish_shadow(struct gpuval_device *device)
{
   struct gpuval_shadow_device *shadow = device->shadow;

   if (shadow->memory)
      gpuval_shadow_destroy(shadow->memory);
   free(shadow->commands);
}

bool
gpuval_device_has_shadow(const struct gpuval_device *device)
{
   return device->shadow->is_on;
}

struct gpuval_shadow *
gpuval_device_shadow(struct gpuval_device *device)
{
   return device->shadow->memory;
}

/* All numbers below the result have serials up to @serial. */
static uint32_t
find_behind(const struct gpuval_shadow_device *shadow, uint32_t serial)
{
   const struct gpuval_shadow_command *commands = shadow->commands;
   uint32_t low = 1, high = shadow->next;

   /* Mostly it is the last one that counts. */
   if (high > 1 && commands[high - 1].highest <= serial)
      return high;
   while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      if (commands[middle].highest <= serial)
         low = middle + 1;
      else
         high = middle;
   }
   return low;
}

/* The same: numbers that come later do not change what was found below them. */
static uint32_t
number_behind(const struct gpuval_shadow_device *shadow, uint32_t serial,
              struct gpuval_shadow_behind *last)
{
   if (last->number && last->serial == serial)
      return last->number;

   uint32_t number = find_behind(shadow, serial);
   *last = (struct gpuval_shadow_behind){serial, number < shadow->next ? number : 0};
   return number;
}

static void
reset_layout(struct gpuval_shadow_layout *layout)
{
   layout->now = 0;
   layout->handed_on = 0;
   memset(layout->other_times, 0, sizeof(layout->other_times));
   memset(layout->loads, 0, sizeof(layout->loads));
}

void
gpuval_device_shadow_restart(struct gpuval_device *device)
{
   struct gpuval_shadow_device *shadow = device->shadow;
   if (!shadow->is_on)
      return;

   /* Records name commands by these numbers. */
   mtx_lock(&device->mutex);
   gpuval_device_drain(device, true);
   gpuval_device_unlock(device);
   if (shadow->memory)
      gpuval_shadow_forget(shadow->memory);
   else
      gpuval_cells_forget(device);
   reset_layout(shadow->layout.map);
   __atomic_store_n(&shadow->next, 1, __ATOMIC_RELEASE);
   memset(shadow->behind, 0, sizeof(shadow->behind));
}

void
gpuval_device_shadow_idle(struct gpuval_device *device)
{
   const struct gpuval_shadow_layout *layout = device->shadow->layout.map;

   if (device->shadow->next >= GPUVAL_SHADOW_MAX_COMMAND / 2 || gpuval_cells_are_full(device) ||
       (layout && layout->now >= MAX_TIME))
      gpuval_device_shadow_restart(device);
}

/* Counts the command that has just been written to the end of the list. The thread that polls reads
 * the list while a queue's thread adds to it: gpuval_device_shadow_party().
 */
static void
publish_command(struct gpuval_shadow_device *shadow)
{
   __atomic_store_n(&shadow->next, shadow->next + 1, __ATOMIC_RELEASE);
}

void
gpuval_device_shadow_command(struct gpuval_device *device, struct gpuval_order_threshold threshold,
                             bool idle, struct gpuval_command_data *data)
{
   struct gpuval_shadow_device *shadow = device->shadow;

   if (idle)
      gpuval_device_shadow_idle(device);

   if (shadow->memory) {
      data->shadow_window = gpuval_shadow_window(shadow->memory);
      data->shadow_words = gpuval_shadow_words(shadow->memory);
   }
   data->shadow_command = 0;
   if (shadow->next > GPUVAL_SHADOW_MAX_COMMAND) {
      if (!shadow->warned)
         gpuval_log_warning("sync: %u commands in flight at once, those that follow are not "
                            "looked at until all have ended",
                            GPUVAL_SHADOW_MAX_COMMAND);
      shadow->warned = true;
      return;
   }

   uint32_t behind = number_behind(shadow, threshold.storage, &shadow->behind[0]);
   uint32_t behind_others = number_behind(shadow, threshold.others, &shadow->behind[1]);
   uint32_t number = shadow->next;
   ((uint32_t *)shadow->serials.map)[number] = data->serial;
   shadow->commands[number].serial = data->serial;
   shadow->commands[number].highest = MAX2(data->serial, shadow->commands[number - 1].highest);
   shadow->commands[number].max_serial = p_atomic_read(&device->num_registered);
   shadow->commands[number].command_id = data->command_id;
   shadow->commands[number].order_class = data->order_class;
   memcpy(shadow->commands[number].entry_base, data->entry_base, sizeof(data->entry_base));
   publish_command(shadow);
   data->shadow_command = number << GPUVAL_SHADOW_COMMAND_SHIFT;
   data->shadow_ordered = behind << GPUVAL_SHADOW_COMMAND_SHIFT;
   data->shadow_others = behind_others << GPUVAL_SHADOW_COMMAND_SHIFT;
}

void
gpuval_device_shadow_draw(struct gpuval_device *device, struct gpuval_command_data *data)
{
   struct gpuval_shadow_device *shadow = device->shadow;
   uint32_t number = data->shadow_command >> GPUVAL_SHADOW_COMMAND_SHIFT;

   /* The other half of the numbers is for commands. */
   if (!shadow->memory || !number || shadow->next >= GPUVAL_SHADOW_MAX_COMMAND / 2)
      return;

   uint32_t *serials = shadow->serials.map;
   serials[shadow->next] = shadow->commands[number].serial;
   shadow->commands[shadow->next] = shadow->commands[number];
   shadow->commands[shadow->next].command_id = data->command_id;
   data->shadow_command = shadow->next << GPUVAL_SHADOW_COMMAND_SHIFT;
   publish_command(shadow);
}

bool
gpuval_device_shadow_is_short(const struct gpuval_device *device)
{
   return device->shadow->next >= GPUVAL_SHADOW_MAX_COMMAND / 2;
}

uint32_t
gpuval_shadow_serial(const struct gpuval_shadow_device *shadow, uint32_t number)
{
   return shadow->commands[number].serial;
}

static void
set_stage(const struct gpuval_shadow_command *command, mesa_shader_stage stage,
          struct gpuval_shadow_party *party)
{
   party->stage = stage;
   party->entry_base = command->entry_base[stage];
   party->max_serial = command->max_serial;
}

static void
find_stage_of_queue(const struct gpuval_shadow_command *command, struct gpuval_shadow_party *party)
{
   unsigned count = 0;

   for (unsigned stage = 0; stage < MESA_SHADER_RAYGEN; stage++) {
      if (command->entry_base[stage] == GPUVAL_SHADOW_NO_ENTRIES)
         continue;
      set_stage(command, stage, party);
      count++;
   }
   if (count > 1)
      party->stage = MESA_SHADER_NONE;
}

uint32_t
gpuval_device_shadow_serial(struct gpuval_device *device, uint32_t command_id, bool *is_of_other,
                            uint32_t *serial)
{
   const struct gpuval_shadow_device *shadow = device->shadow;
   uint32_t end = shadow->is_on ? __atomic_load_n(&shadow->next, __ATOMIC_ACQUIRE) : 0;

   for (uint32_t number = end; number > 1; number--) {
      const struct gpuval_shadow_command *command = &shadow->commands[number - 1];
      if (command->command_id != command_id)
         continue;
      *is_of_other = command->order_class != 0;
      *serial = command->serial;
      return number - 1;
   }
   return 0;
}

bool
gpuval_device_shadow_party(struct gpuval_device *device, uint32_t lo, uint32_t hi,
                           struct gpuval_shadow_party *party)
{
   const struct gpuval_shadow_device *shadow = device->shadow;
   uint32_t number = hi >> GPUVAL_SHADOW_COMMAND_SHIFT;
   uint32_t class_ = hi >> GPUVAL_SHADOW_CLASS_SHIFT & 0xf;
   if (!shadow->is_on || !number || number >= __atomic_load_n(&shadow->next, __ATOMIC_ACQUIRE))
      return false;

   const struct gpuval_shadow_command *command = &shadow->commands[number];
   *party = (struct gpuval_shadow_party){
      .command_id = command->command_id,
      .class_ = class_,
      .serial = command->serial,
      .stage = MESA_SHADER_NONE,
   };
   if (class_ == GPUVAL_ORDER_INDIRECT || class_ >= GPUVAL_ORDER_TRANSFER) {
      party->op = lo & (GPUVAL_SHADOW_COMMAND_WRITES - 1);
      party->is_write = lo & GPUVAL_SHADOW_COMMAND_WRITES;
      return true;
   }
   /* The stages of a trace share a class, and so do those of other queues: only where there is one.
    */
   if (class_ >= GPUVAL_ORDER_STAGE_CLASSES)
      find_stage_of_queue(command, party);
   for (unsigned stage = 0; stage < MESA_SHADER_RAYGEN; stage++) {
      if (class_ != GPUVAL_ORDER_RAYS && gpuval_order_stage_class(stage) == class_)
         set_stage(command, stage, party);
   }
   party->number = lo & GPUVAL_SHADOW_SITE_UNKNOWN;
   return true;
}
