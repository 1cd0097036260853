/* SPDX-License-Identifier: MIT */

/* Reads what shaders have left in GPU memory. Nothing in there is trusted: an
 * application's shader may have written anything anywhere.
 */

#include "gpuval_drain.h"
#include "base/gpuval_fence.h"
#include "core/printf/gpuval_printf.h"
#include "core/shaders/gpuval_shader.h"

#include <stdalign.h>

#include "util/bitscan.h"
#include "util/streaming-load-memcpy.h"

bool
gpuval_drain_init(struct gpuval_device *device)
{
   struct gpuval_device_slots *slots = device->drain->slots;

   slots[1].is_clean = true;
   return gpuval_device_alloc(device, &slots[0].buffer, sizeof(struct gpuval_slots)) &&
          (!device->info.clear_when_idle ||
           gpuval_device_alloc(device, &slots[1].buffer, sizeof(struct gpuval_slots)));
}

void
gpuval_drain_finish(struct gpuval_device *device)
{
   gpuval_device_free(device, &device->drain->slots[0].buffer);
   gpuval_device_free(device, &device->drain->slots[1].buffer);
}

bool
gpuval_device_is_intact(struct gpuval_device *device)
{
   if (__atomic_load_n(&device->root->canary, __ATOMIC_RELAXED) == GPUVAL_ROOT_CANARY)
      return true;

   if (!device->drain->warned_memory)
      gpuval_log_warning("the memory of a device that was lost is lost, too: what has not been "
                         "reported by now is not known");
   device->drain->warned_memory = true;
   return false;
}

/* Messages and blocks have sites, and neither these counters nor records. */
static bool
can_fail(const struct gpuval_shader *shader, uint32_t site)
{
   enum gpuval_kind kind = shader->sites[site - shader->first_site].kind;
   return kind != GPUVAL_KIND_MESSAGE && kind != GPUVAL_KIND_COVERED;
}

static bool
is_valid(struct gpuval_device *device, const struct gpuval_record *record)
{
   const struct gpuval_shader *shader = gpuval_device_site_shader(device, record->site);

   return shader && can_fail(shader, record->site) &&
          record->shader_hash[0] == (uint32_t)shader->module->hash &&
          record->shader_hash[1] == (uint32_t)(shader->module->hash >> 32) &&
          record->stage == gpuval_stage_to_spirv(shader->stage);
}

static void
fence(const struct gpuval_device *device)
{
   if (device->info.clear_when_idle)
      gpuval_fence_video_memory();
}

static void
copy(const struct gpuval_device *device, void *to, const void *from, size_t size)
{
   fence(device);
   if (device->info.clear_when_idle)
      util_streaming_load_memcpy(to, (void *)from, size);
   else
      memcpy(to, from, size);
}

static const struct gpuval_site *
get_site(struct gpuval_device *device, uint32_t site)
{
   const struct gpuval_shader *shader = gpuval_device_site_shader(device, site);
   return &shader->sites[site - shader->first_site];
}

/* Records of stores that have not changed a value wait in @later: where one of the others is of
 * the same failure, that is an error from the start.
 */
static bool
read_record(struct gpuval_device *device, const struct gpuval_slots *slots, unsigned slot,
            struct util_dynarray *later)
{
   alignas(16) struct gpuval_record record;
   copy(device, &record, &slots->records[slot], sizeof(record));

   if (!is_valid(device, &record))
      return false;
   if (get_site(device, record.site)->same_value)
      util_dynarray_append_typed(later, struct gpuval_record, record);
   else
      gpuval_device_get_event(device, record.site, &record);
   return true;
}

static void
read_later(struct gpuval_device *device, struct util_dynarray *later)
{
   util_dynarray_foreach (later, struct gpuval_record, record)
      gpuval_device_get_event(device, record->site, record);
   util_dynarray_fini(later);
}

/* The host's side of the protocol: what is published is read, then both bits
 * of the slot are given back. Bits that are claimed and not published belong
 * to a shader that is about to write.
 */
static void
read_slots(struct gpuval_device *device)
{
   struct gpuval_slots *slots = device->drain->slots[0].buffer.map;
   struct util_dynarray later;
   uint64_t lost = 0;

   util_dynarray_init(&later, NULL);
   for (unsigned word = 0; word < GPUVAL_CONTROL_WORDS; word++) {
      uint32_t published = __atomic_load_n(&slots->control[word], __ATOMIC_ACQUIRE) >> 16;

      u_foreach_bit (bit, published)
         lost += !read_record(device, slots, word * GPUVAL_SLOTS_PER_WORD + bit, &later);
      if (published)
         __atomic_fetch_and(&slots->control[word], ~(published | published << 16),
                            __ATOMIC_RELEASE);
   }
   read_later(device, &later);

   if (lost)
      gpuval_report_add_lost(lost);
}

/* The same where the host has no atomics on that memory: slots are given back when nobody
 * uses any of them, and a word at a time. @quiet: nobody does.
 */
static void
read_private_slots(struct gpuval_device *device, struct gpuval_device_slots *own, bool quiet)
{
   struct gpuval_slots *slots = own->buffer.map;
   alignas(16) uint32_t control[GPUVAL_CONTROL_WORDS];
   struct util_dynarray later;
   uint64_t lost = 0;

   if (own->is_clean)
      return;
   util_dynarray_init(&later, NULL);
   copy(device, control, slots->control, sizeof(control));
   for (unsigned word = 0; word < GPUVAL_CONTROL_WORDS; word++) {
      uint32_t published = control[word] >> 16;

      u_foreach_bit (bit, published & ~own->seen[word])
         lost += !read_record(device, slots, word * GPUVAL_SLOTS_PER_WORD + bit, &later);
      own->num_seen += util_bitcount(published & ~own->seen[word]);
      own->seen[word] |= published;
      /* What is claimed only belonged to an invocation that was killed. */
      if (quiet && control[word])
         slots->control[word] = 0;
   }
   read_later(device, &later);

   if (quiet) {
      memset(own->seen, 0, sizeof(own->seen));
      own->num_seen = 0;
      own->is_clean = own != &device->drain->slots[device->drain->active];
      fence(device);
   }
   if (lost)
      gpuval_report_add_lost(lost);
}

bool
gpuval_device_give_back(struct gpuval_device *device)
{
   bool is_used = device->drain->has_ever_failed ||
                  (device->printf->formats && gpuval_printf_is_used(device->printf));
   if (!device->info.clear_when_idle || !is_used || !gpuval_device_is_intact(device))
      return false;

   read_private_slots(device, &device->drain->slots[!device->drain->active], true);
   bool wants_printf = device->printf->formats && gpuval_printf_give_back(device->printf);
   return wants_printf ||
          device->drain->slots[device->drain->active].num_seen >= GPUVAL_SLOT_COUNT / 16;
}

void
gpuval_device_turn(struct gpuval_device *device)
{
   if (!device->info.clear_when_idle)
      return;

   device->drain->active = !device->drain->active;
   device->drain->slots[device->drain->active].is_clean = false;
   __atomic_store_n(&device->root->slots_address,
                    device->drain->slots[device->drain->active].buffer.address, __ATOMIC_RELEASE);
   if (device->printf->formats)
      gpuval_printf_turn(device->printf);
   fence(device);
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
   if (!count || !can_fail(shader, site))
      return false;

   struct gpuval_event *event = gpuval_device_get_event(device, site, NULL);
   /* Of two commands that access one image nobody writes a record. */
   bool is_lost = !state->count && !event->has_record && !event->has_other;
   gpuval_report_count(event, count);
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
   uint32_t num_sites =
      util_dynarray_num_elements(&device->shaders->by_site, struct gpuval_shader *);
   uint32_t count = __atomic_load_n(&device->root->num_failing, __ATOMIC_ACQUIRE);
   bool is_full = count > device->info.max_sites;
   uint64_t lost = 0;

   alignas(16) uint32_t some[256];
   for (uint32_t i = 0; i < (is_full ? num_sites : count); i++) {
      if (!is_full && i % ARRAY_SIZE(some) == 0)
         copy(device, some, &failing[i], MIN2(count - i, ARRAY_SIZE(some)) * sizeof(*some));
      uint32_t site = is_full ? i : some[i % ARRAY_SIZE(some)];
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
   if (!gpuval_device_is_idle(device) && !list_is_empty(&device->shaders->ending) &&
       __atomic_load_n(&device->root->num_failing, __ATOMIC_RELAXED))
      read_counters(device, true);
}

/* Counts of a device that is lost may be anything, but what has a record has failed. */
static void
count_records(struct gpuval_device *device)
{
   gpuval_report_lock();
   util_dynarray_foreach (&device->shaders->by_site, struct gpuval_shader *, shader) {
      uint32_t site =
         shader - (struct gpuval_shader **)util_dynarray_begin(&device->shaders->by_site);
      struct gpuval_event *event =
         *shader ? (*shader)->states[site - (*shader)->first_site].event : NULL;
      if (event && event->has_record && !event->count)
         event->count = 1;
   }
   gpuval_report_unlock();
}

void
gpuval_device_drain(struct gpuval_device *device, bool idle)
{
   if (__atomic_load_n(&device->poll->failed, __ATOMIC_RELAXED)) {
      /* The next look is for what fails from here on: whoever publishes a record says so
       * afterwards, too. No exchange: processors take offence at those where no caches are.
       */
      __atomic_store_n(&device->poll->failed, 0, __ATOMIC_RELAXED);
      __atomic_thread_fence(__ATOMIC_SEQ_CST);
      device->drain->has_failed = device->drain->has_ever_failed = true;
      /* Ways to two memories are not in the order of each other. */
      device->drain->looks_again = device->poll_buffer.map != NULL;
   } else if (device->drain->looks_again) {
      device->drain->looks_again = false;
   } else if (!idle || !device->drain->has_failed) {
      return;
   }
   if (!gpuval_device_is_intact(device)) {
      count_records(device);
      return;
   }

   if (device->info.clear_when_idle) {
      for (unsigned i = 0; i < ARRAY_SIZE(device->drain->slots); i++)
         read_private_slots(device, &device->drain->slots[i], idle);
   } else {
      read_slots(device);
   }
   if (!idle)
      return;

   device->drain->has_failed = false;
   if (device->info.vk && vk_device_is_lost_no_report(device->info.vk))
      count_records(device);
   else
      read_counters(device, false);
}
