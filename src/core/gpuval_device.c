/* SPDX-License-Identifier: MIT */

/* Devices: made of what each room keeps, and watched by a thread while work is in flight,
 * so that messages appear before a hang takes them.
 */

#include "base/gpuval_init.h"
#include "core/descriptors/gpuval_objects.h"
#include "core/events/gpuval_check.h"
#include "core/events/gpuval_drain.h"
#include "core/memory/gpuval_addresses.h"
#include "core/memory/gpuval_cells.h"
#include "core/memory/gpuval_filter.h"
#include "core/memory/gpuval_image_marks.h"
#include "core/memory/gpuval_marks.h"
#include "core/memory/gpuval_ranges.h"
#include "core/memory/gpuval_shadow_device.h"
#include "core/memory/gpuval_texels.h"
#include "core/printf/gpuval_printf.h"
#include "core/shaders/gpuval_coverage.h"
#include "core/shaders/gpuval_shader.h"
#include "core/structures/gpuval_structure_table.h"
#include "nir_passes/gpuval_nir.h"
#include "report/gpuval_lcov.h"
#include "gpuval_session.h"

#include <time.h>

#include "util/macros.h"
#include "util/os_time.h"
#include "util/ralloc.h"
#include "util/u_atomic.h"
#include "util/u_thread.h"
#include "vk_device.h"
#include "vk_physical_device.h"

#define POLL_INTERVAL_NS   10000000
#define PRINTF_INTERVAL_NS 1000000 /* while shaders print */
#define MORE_INTERVAL_NS   10000   /* others may want the mutex */
/* Without work, before the thread sleeps: waking it for each of many small submits costs
 * more than they do.
 */
#define IDLE_INTERVALS 10

#define HANG_INTERVAL_NS 100000000 /* of looks for work that does not end */

#define COVERAGE_INTERVAL_NS 1000000000ll /* of writing what was executed, at least */

/* At exit and where a device goes, shaders may still print, on and on. */
#define LAST_MESSAGES_NS 2000000000

/* A device, and what each room keeps of it */
struct whole {
   struct gpuval_device device; /* first */
   struct gpuval_shaders shaders;
   struct gpuval_drain drain;
   struct gpuval_failures failures;
   struct gpuval_messages messages;
   struct gpuval_printf printf;
   struct gpuval_ranges ranges;
   struct gpuval_addresses addresses;
   struct gpuval_marks marks;
   struct gpuval_image_marks image_marks;
   struct gpuval_texels texels;
   struct gpuval_cells cells;
   struct gpuval_shadow_device shadow;
   struct gpuval_filter filter;
   struct gpuval_structure_table structures;
   struct gpuval_coverage coverage;
};

static struct gpuval_device *
alloc_device(void)
{
   struct whole *whole = rzalloc(NULL, struct whole);
   if (!whole)
      return NULL;

   struct gpuval_device *device = &whole->device;
   device->shaders = &whole->shaders;
   device->drain = &whole->drain;
   device->failures = &whole->failures;
   device->messages = &whole->messages;
   device->printf = &whole->printf;
   device->ranges = &whole->ranges;
   device->addresses = &whole->addresses;
   device->marks = &whole->marks;
   device->image_marks = &whole->image_marks;
   device->texels = &whole->texels;
   device->cells = &whole->cells;
   device->shadow = &whole->shadow;
   device->filter = &whole->filter;
   device->structures = &whole->structures;
   device->coverage = &whole->coverage;
   return device;
}

static bool
init_objects(struct gpuval_device *device)
{
   unsigned bits = device->info.object_bits;

   if (!bits || !gpuval_options_need(GPUVAL_NEEDS_OBJECTS))
      return true;
   const bool has_texels = device->info.numbers_texels && gpuval_options_sync();
   const uint64_t size =
      sizeof(struct gpuval_object) + (has_texels ? sizeof(struct gpuval_object_texels) : 0);
   if (!gpuval_device_alloc_table(device, &device->objects_buffer, size << bits))
      return false;
   device->objects = gpuval_objects_create(device->objects_buffer.map,
                                           device->objects_buffer.address, bits, has_texels);
   return device->objects != NULL;
}

/* Else it is in the root. */
static bool
alloc_poll(struct gpuval_device *device)
{
   return !device->info.winsys.alloc_poll ||
          gpuval_device_alloc_poll(device, &device->poll_buffer, sizeof(struct gpuval_poll));
}

static void
init_root(struct gpuval_device *device)
{
   const struct gpuval_buffer *poll = &device->poll_buffer;

   device->root = device->root_buffer.map;
   device->poll = poll->map ? poll->map : &device->root->poll;
   *device->root = (struct gpuval_root){
      .slots_address = device->drain->slots[0].buffer.address,
      .canary = GPUVAL_ROOT_CANARY,
      .counters_address = device->counters.address,
      .entries_address = device->entries.address,
      .max_entry = MIN2(device->info.max_entries, GPUVAL_MAX_ENTRIES) - 1,
      .max_failing = device->info.max_sites,
      .failing_address = device->failing.address,
      .coverage_address = device->coverage->counters.address,
      .written_window = GPUVAL_INIT_NO_WINDOW, /* no address is in it */
      .poll_address = poll->map ? poll->address
                                : device->root_buffer.address + offsetof(struct gpuval_root, poll),
      .poison = gpuval_options()->poison ? GPUVAL_POISON_WORD : 0,
   };

   struct gpuval_address_table *all =
      (void *)((char *)device->root_buffer.map + GPUVAL_ROOT_ALL_ADDRESSES);
   all->count = 1;
   all->ranges[0] = (struct gpuval_address_range){.size = UINT64_MAX};
}

static bool
alloc_buffers(struct gpuval_device *device)
{
   if (!gpuval_device_alloc(device, &device->root_buffer, GPUVAL_ROOT_SIZE) ||
       !gpuval_drain_init(device) ||
       !gpuval_device_alloc(device, &device->counters, device->info.max_sites * sizeof(uint64_t)) ||
       !gpuval_device_alloc(device, &device->failing, device->info.max_sites * sizeof(uint32_t)) ||
       !gpuval_device_alloc_table(device, &device->entries,
                                  device->info.max_entries * sizeof(struct gpuval_entry)) ||
       !alloc_poll(device) || !gpuval_coverage_init(device))
      return false;

   if (device->info.max_entries > GPUVAL_INDIRECT_ENTRY)
      ((struct gpuval_entry *)device->entries.map)[GPUVAL_INDIRECT_ENTRY].site =
         GPUVAL_INDIRECT_SITE;
   init_root(device);
   return gpuval_device_init_checks(device) && init_objects(device);
}

/* What has been executed is written now and then, so that a program which is killed leaves most of
 * it: a write is to take little of the time between two. device->mutex is held, but for moments.
 */
static void
write_coverage(struct gpuval_device *device, int64_t *next)
{
   int64_t begin = os_time_get_nano();

   gpuval_device_publish_coverage(device);
   mtx_unlock(&device->mutex);
   gpuval_lcov_write();
   mtx_lock(&device->mutex);
   int64_t end = os_time_get_nano();
   *next = end + MAX2(COVERAGE_INTERVAL_NS, (end - begin) * 20);
}

/* Who is asked may wait for locks of the driver's, but not for work. */
static void
look_for_hang(struct gpuval_device *device)
{
   const int64_t limit = gpuval_options()->hang_time * 1000000000ll, now = os_time_get_nano();

   if (!limit || !device->info.look_for_hang || now < device->hang_at)
      return;
   device->hang_at = now + HANG_INTERVAL_NS;
   mtx_lock(&device->hang_mutex);
   if (!device->is_retired)
      device->info.look_for_hang(device->info.data, limit);
   mtx_unlock(&device->hang_mutex);
}

static int
watch(void *data)
{
   struct gpuval_device *device = data;
   u_thread_setname("gpuval");

   bool more = false;
   unsigned idle = 0; /* intervals without work */
   int64_t next_coverage = os_time_get_nano() + COVERAGE_INTERVAL_NS;
   bool has_coverage = gpuval_options()->coverage != NULL, has_written = !has_coverage;

   mtx_lock(&device->mutex);
   while (!device->stop) {
      idle = !gpuval_device_is_idle(device) ? 0 : idle + 1;
      if (idle > IDLE_INTERVALS && !has_written) {
         write_coverage(device, &next_coverage);
         has_written = true;
         continue;
      }
      if (idle > IDLE_INTERVALS) {
         gpuval_report_progress(true);
         device->is_asleep = true;
         cnd_wait(&device->work_begins, &device->mutex);
         idle = 0;
         has_written = !has_coverage;
         continue;
      }
      if (has_coverage && os_time_get_nano() >= next_coverage)
         write_coverage(device, &next_coverage);

      struct timespec until;
      timespec_get(&until, TIME_UTC);
      until.tv_nsec += more              ? MORE_INTERVAL_NS
                       : device->printed ? PRINTF_INTERVAL_NS
                                         : POLL_INTERVAL_NS;
      if (until.tv_nsec >= 1000000000) {
         until.tv_nsec -= 1000000000;
         until.tv_sec++;
      }
      cnd_timedwait(&device->work_begins, &device->mutex, &until);
      gpuval_device_drain(device, false);
      more = gpuval_device_drain_printf(device, false);
      bool is_idle = gpuval_device_is_idle(device);
      gpuval_device_unlock(device);
      if (!is_idle)
         look_for_hang(device);
      mtx_lock(&device->mutex);
   }
   mtx_unlock(&device->mutex);

   return 0;
}

static void
init_once(void)
{
   gpuval_report_init();
   gpuval_session_init();
}

void
gpuval_init(bool by_driver)
{
   static once_flag once = ONCE_FLAG_INIT;

   gpuval_options_init(by_driver);
   call_once(&once, init_once);
}

static void
add_to_report(const struct gpuval_device *device)
{
   char driver[VK_MAX_DRIVER_NAME_SIZE + VK_MAX_DRIVER_INFO_SIZE + 2];

   if (!device->info.vk) {
      gpuval_report_add_device(NULL);
      return;
   }
   const struct vk_properties *properties = &device->info.vk->physical->properties;
   snprintf(driver, sizeof(driver), "%s, %s", properties->driverName, properties->driverInfo);
   gpuval_report_add_device(driver);
}

void
gpuval_device_add_commands(struct gpuval_device *device, uint32_t count)
{
   gpuval_report_add_commands(count);
}

struct gpuval_device *
gpuval_device_create(const struct gpuval_device_info *info)
{
   if (!gpuval_options()->checks)
      return NULL;

   gpuval_live_begin();
   struct gpuval_device *device = alloc_device();
   if (!device)
      return NULL;

   device->info = *info;
   if (!device->info.max_sites)
      device->info.max_sites = GPUVAL_MAX_SITES;
   if (!device->info.max_entries)
      device->info.max_entries = GPUVAL_MAX_ENTRIES;
   if (!device->info.max_sets)
      device->info.max_sets = 32;
   if (!alloc_buffers(device)) {
      gpuval_log_warning("no memory for the buffers of a device: nothing is checked on it");
      gpuval_device_destroy(device);
      return NULL;
   }

   device->notices.vk = info->vk;
   mtx_init(&device->mutex, mtx_plain);
   mtx_init(&device->hang_mutex, mtx_plain | mtx_recursive);
   cnd_init(&device->work_begins);
   gpuval_shaders_init(device);
   gpuval_ranges_init(device);
   gpuval_addresses_init(device->addresses, device);
   gpuval_marks_init(device);
   gpuval_image_marks_init(device);
   gpuval_texels_init(device);
   gpuval_structure_table_init(device);
   device->has_thread = thrd_create(&device->thread, watch, device) == thrd_success;

   device->is_complete = true;
   gpuval_live_add(device);

   add_to_report(device);
   return device;
}

void
gpuval_device_destroy(struct gpuval_device *device)
{
   gpuval_device_retire(device);
   if (device->is_complete) {
      mtx_lock(&device->mutex);
      device->stop = true;
      cnd_signal(&device->work_begins);
      mtx_unlock(&device->mutex);
      if (device->has_thread)
         thrd_join(device->thread, NULL);

      mtx_lock(&device->mutex);
      gpuval_device_drain(device, true);
      gpuval_device_drain_all_messages(device);
      gpuval_device_publish_coverage(device);
      gpuval_device_unlock(device);
      gpuval_report_write_files();

      gpuval_structure_table_finish(device);
      gpuval_shaders_finish(device);
      cnd_destroy(&device->work_begins);
      mtx_destroy(&device->hang_mutex);
      mtx_destroy(&device->mutex);
   }

   if (device->objects)
      gpuval_objects_destroy(device->objects);
   gpuval_device_free(device, &device->objects_buffer);
   gpuval_addresses_finish(device);
   gpuval_cells_finish(device);
   gpuval_marks_finish(device);
   gpuval_image_marks_finish(device);
   gpuval_texels_finish(device);
   gpuval_device_free(device, &device->poll_buffer);
   gpuval_device_free(device, &device->root_buffer);
   gpuval_drain_finish(device);
   gpuval_device_free(device, &device->counters);
   gpuval_device_free(device, &device->failing);
   gpuval_device_free(device, &device->entries);
   gpuval_coverage_finish(device);
   gpuval_device_finish_checks(device);
   ralloc_free(device);
}

struct gpuval_objects *
gpuval_device_objects(struct gpuval_device *device)
{
   return device->objects;
}

struct gpuval_shadow *
gpuval_device_window(struct gpuval_device *device)
{
   return device->shadow->memory ? device->shadow->memory : device->window;
}

struct gpuval_written *
gpuval_device_written(struct gpuval_device *device)
{
   return device->written;
}

uint64_t
gpuval_device_root_address(const struct gpuval_device *device)
{
   return device->root_buffer.address;
}

unsigned
gpuval_device_begin_work(struct gpuval_device *device)
{
   mtx_lock(&device->mutex);
   if (gpuval_options_may_check(GPUVAL_CHECK_ADDRESS))
      gpuval_addresses_publish(device, gpuval_device_is_idle(device));
   gpuval_marks_publish(device);
   gpuval_cells_publish(device);
   unsigned phase = device->phase;
   device->work[phase]++;
   if (device->is_asleep)
      cnd_signal(&device->work_begins);
   device->is_asleep = false;
   mtx_unlock(&device->mutex);
   return phase;
}

/* All that has failed by now gets into the log. device->mutex is held, and is not then. */
static void
look(struct gpuval_device *device)
{
   gpuval_device_drain(device, gpuval_device_is_idle(device));
   /* What this work has printed, though other work may print on and on. */
   for (unsigned i = 0; gpuval_device_drain_printf(device, gpuval_device_is_idle(device)) &&
                        (i < 64 || gpuval_device_is_idle(device));
        i++) {
      gpuval_device_unlock(device);
      mtx_lock(&device->mutex);
   }
   gpuval_device_free_shaders(device);
   gpuval_device_unlock(device);
   /* The application learns of the end, and may ask what its messenger has heard, from
    * whatever thread.
    */
   gpuval_notices_wait(device->info.vk);
}

void
gpuval_device_end_work(struct gpuval_device *device, unsigned phase)
{
   mtx_lock(&device->mutex);
   device->work[phase]--;
   look(device);
}

void
gpuval_device_look(struct gpuval_device *device)
{
   mtx_lock(&device->mutex);
   look(device);
}

void
gpuval_device_drain_all_messages(struct gpuval_device *device)
{
   int64_t end = os_time_get_nano() + LAST_MESSAGES_NS;

   while (gpuval_device_drain_printf(device, true) && os_time_get_nano() < end) {
      gpuval_device_unlock(device);
      mtx_lock(&device->mutex);
   }
}

void
gpuval_device_unlock(struct gpuval_device *device)
{
   struct gpuval_notices notices;

   bool reacts = gpuval_device_take_reaction(device);
   gpuval_notices_take(&notices, &device->notices);
   mtx_unlock(&device->mutex);
   gpuval_notices_deliver(&notices);
   gpuval_report_progress(false);
   if (reacts)
      gpuval_device_react(device);
}
