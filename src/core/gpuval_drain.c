/* SPDX-License-Identifier: MIT */

/* Reads what shaders have left in GPU memory. Nothing in there is trusted: an
 * application's shader may have written anything anywhere.
 */

#include "gpuval_device.h"

#include "util/bitscan.h"

void
gpuval_device_indirect_read(struct gpuval_device *device, const struct gpuval_indirect_read *read)
{
   uint64_t claim = 0, ignored;
   bool bad = false;

   if (device->shadow.memory) {
      claim =
         gpuval_device_shadow_read(device, read->address, read->size, &read->command, read->row);
      if (claim)
         gpuval_device_report_indirect(device, read, claim);
      return;
   }

   struct gpuval_bloom_access access = {
      .type = GPUVAL_BLOOM_INDIRECT,
      .entry = GPUVAL_INDIRECT_ENTRY,
      .command_id = read->command.command_id,
      .epoch_command = read->command.epoch_command,
      .invocation = __atomic_fetch_add(&device->root->invocations, GPUVAL_BLOOM_INVOCATION_STEP,
                                       __ATOMIC_RELAXED),
   };

   /* Arguments are aligned to 4 bytes only. */
   uint64_t end = read->address + read->size;
   for (uint64_t at = read->address; at < end; at = access.address + access.size) {
      uint64_t next_granule = (at & ~(uint64_t)(GPUVAL_BLOOM_GRANULE - 1)) + GPUVAL_BLOOM_GRANULE;

      access.address = at;
      access.size = MIN2(end, next_granule) - at;
      access.epoch = read->command.epoch;
      uint64_t other;
      if (gpuval_bloom_access(&device->bloom, &access, &other)) {
         bad = true;
         claim = claim ? claim : other;
      }
      for (unsigned i = 0; i < read->num_other_epochs; i++) {
         access.epoch = read->other_epochs[i];
         gpuval_bloom_access(&device->bloom, &access, &ignored);
      }
   }

   if (bad)
      gpuval_device_report_indirect(device, read, claim);
}

static bool
is_valid(struct gpuval_device *device, const struct gpuval_record *record)
{
   const struct gpuval_shader *shader = gpuval_device_site_shader(device, record->site);

   return shader && record->shader_hash[0] == (uint32_t)shader->module->hash &&
          record->shader_hash[1] == (uint32_t)(shader->module->hash >> 32) &&
          record->stage == gpuval_stage_to_spirv(shader->stage);
}

/* The host's side of the protocol: what is published is read, then both bits
 * of the slot are given back. Bits that are claimed and not published belong
 * to a shader that is about to write.
 */
static void
read_records(struct gpuval_device *device, bool idle)
{
   uint32_t *control = device->control.map;
   const struct gpuval_record *records = device->records.map;
   uint64_t lost = 0;

   for (unsigned word = 0; word < GPUVAL_CONTROL_WORDS; word++) {
      uint32_t published = __atomic_load_n(&control[word], __ATOMIC_ACQUIRE) >> 16;
      uint32_t done = published | published << 16;
      uint16_t *seen = &device->seen[word];

      u_foreach_bit (bit, published & ~*seen) {
         struct gpuval_record record = records[word * GPUVAL_SLOTS_PER_WORD + bit];

         if (is_valid(device, &record))
            gpuval_device_get_event(device, record.site, &record);
         else
            lost++;
      }
      if (device->info.clear_when_idle)
         *seen = idle ? 0 : published;
      if (device->info.clear_when_idle && done && idle)
         control[word] &= ~done;
      else if (!device->info.clear_when_idle && done)
         __atomic_fetch_and(&control[word], ~done, __ATOMIC_RELEASE);
   }

   if (lost)
      gpuval_report_add_lost(lost);
}

/* What the counter of a site has counted, which is 0 from here on. */
static uint64_t
take_count(struct gpuval_device *device, uint32_t site)
{
   uint64_t *counter = (uint64_t *)device->counters.map + site;
   uint64_t count = __atomic_load_n(counter, __ATOMIC_RELAXED);

   if (!count)
      return 0;
   if (!device->info.clear_when_idle)
      return __atomic_exchange_n(counter, 0, __ATOMIC_RELAXED);

   /* No atomics on that memory, and nobody uses it. */
   __atomic_store_n(counter, 0, __ATOMIC_RELAXED);
   return count;
}

/* Counts are complete whatever happened to records: who failed and has no event gets
 * one from here. Returns whether this is one.
 */
static bool
read_counter(struct gpuval_device *device, struct gpuval_shader *shader, uint32_t site)
{
   struct gpuval_site_state *state = &shader->states[site - shader->first_site];
   uint64_t count = take_count(device, site);
   if (!count)
      return false;

   struct gpuval_event *event = gpuval_device_get_event(device, site, NULL);
   bool is_lost = !state->count && !event->has_record;
   gpuval_report_lock();
   event->count += count;
   event->same_value &= shader->sites[site - shader->first_site].same_value;
   gpuval_report_unlock();
   state->count += count;
   return is_lost;
}

/* Only what may have counted is looked at: sites that the shaders have put into the list
 * when their counters left 0. With @ending, those of shaders that end, and the list stays:
 * others may still be in it. What overwrites the list, or the length of it, makes us look
 * at sites in vain, or at all of them.
 */
static void
read_counters(struct gpuval_device *device, bool ending)
{
   const uint32_t *failing = device->failing.map;
   uint32_t num_sites = util_dynarray_num_elements(&device->by_site, struct gpuval_shader *);
   uint32_t count = __atomic_load_n(&device->root->num_failing, __ATOMIC_ACQUIRE);
   bool is_full = count > device->info.max_sites;
   uint64_t lost = 0;

   for (uint32_t i = 0; i < (is_full ? num_sites : count); i++) {
      uint32_t site = is_full ? i : __atomic_load_n(&failing[i], __ATOMIC_RELAXED);
      struct gpuval_shader *shader = gpuval_device_site_shader(device, site);

      if (shader && (!ending || shader->is_ending))
         lost += read_counter(device, shader, site);
   }
   if (!ending)
      __atomic_store_n(&device->root->num_failing, 0, __ATOMIC_RELEASE);

   if (lost)
      gpuval_report_add_lost(lost);
}

void
gpuval_device_drain_ending(struct gpuval_device *device)
{
   /* When nothing is in flight, all has been read. */
   if (!gpuval_device_is_idle(device) && !list_is_empty(&device->ending) &&
       __atomic_load_n(&device->root->num_failing, __ATOMIC_RELAXED))
      read_counters(device, true);
}

void
gpuval_device_drain(struct gpuval_device *device, bool idle)
{
   if (!__atomic_load_n(&device->root->failed, __ATOMIC_RELAXED))
      return;

   /* The next look is for what fails from here on; only the last one, when
    * nothing runs any more, may find nothing left. */
   if (idle)
      __atomic_store_n(&device->root->failed, 0, __ATOMIC_SEQ_CST);

   read_records(device, idle);
   if (idle)
      read_counters(device, false);
}
