/* SPDX-License-Identifier: MIT */

/* A device's buffers, and the thread that watches them while work is in
 * flight, so that messages appear before a hang takes them.
 */

#include "gpuval_device.h"
#include "gpuval_check.h"
#include "gpuval_session.h"

#include <time.h>

#include "util/macros.h"
#include "util/os_time.h"
#include "util/ralloc.h"
#include "util/u_atomic.h"
#include "util/u_thread.h"
#include "vk_acceleration_structure.h"
#include "vk_buffer.h"
#include "vk_device.h"
#include "vk_physical_device.h"

#define POLL_INTERVAL_NS   10000000
#define PRINTF_INTERVAL_NS 1000000 /* while shaders print */
#define MORE_INTERVAL_NS   10000   /* others may want the mutex */
/* Without work, before the thread sleeps: waking it for each of many small submits costs
 * more than they do.
 */
#define IDLE_INTERVALS 10

/* At exit and where a device goes, shaders may still print, on and on. */
#define LAST_MESSAGES_NS 2000000000

bool
gpuval_device_alloc(struct gpuval_device *device, struct gpuval_buffer *buffer, uint64_t size)
{
   buffer->map = device->info.winsys.alloc(device->info.winsys.data, size, &buffer->address);
   buffer->size = size;
   return buffer->map != NULL;
}

bool
gpuval_device_alloc_plain(struct gpuval_device *device, struct gpuval_buffer *buffer, uint64_t size)
{
   const struct gpuval_winsys *winsys = &device->info.winsys;

   if (!winsys->alloc_plain)
      return gpuval_device_alloc(device, buffer, size);
   buffer->map = winsys->alloc_plain(winsys->data, size, &buffer->address);
   buffer->size = size;
   return buffer->map != NULL;
}

void
gpuval_device_free(struct gpuval_device *device, struct gpuval_buffer *buffer)
{
   if (buffer->map)
      device->info.winsys.free(device->info.winsys.data, buffer->map, buffer->size);
   *buffer = (struct gpuval_buffer){0};
}

void
gpuval_device_free_buffers(struct gpuval_device *device, struct util_dynarray *buffers)
{
   util_dynarray_foreach (buffers, struct gpuval_buffer, buffer)
      gpuval_device_free(device, buffer);
   util_dynarray_clear(buffers);
}

void
gpuval_move_buffers(struct util_dynarray *to, struct util_dynarray *from)
{
   util_dynarray_append_dynarray(to, from);
   util_dynarray_clear(from);
}

static bool
init_objects(struct gpuval_device *device)
{
   unsigned bits = device->info.object_bits;

   if (!bits || !gpuval_options_need(GPUVAL_NEEDS_OBJECTS))
      return true;
   if (!gpuval_device_alloc(device, &device->objects_buffer, sizeof(struct gpuval_object) << bits))
      return false;
   device->objects =
      gpuval_objects_create(device->objects_buffer.map, device->objects_buffer.address, bits);
   return device->objects != NULL;
}

static void
init_root(struct gpuval_device *device)
{
   device->root = device->root_buffer.map;
   *device->root = (struct gpuval_root){
      .slots_address = device->slots[0].buffer.address,
      .canary = GPUVAL_ROOT_CANARY,
      .counters_address = device->counters.address,
      .entries_address = device->entries.address,
      .max_entry = MIN2(device->info.max_entries, GPUVAL_MAX_ENTRIES) - 1,
      .max_failing = device->info.max_sites,
      .failing_address = device->failing.address,
      .written_window = GPUVAL_INIT_NO_WINDOW, /* no address is in it */
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
       !gpuval_device_alloc(device, &device->slots[0].buffer, sizeof(struct gpuval_slots)) ||
       (device->info.clear_when_idle &&
        !gpuval_device_alloc(device, &device->slots[1].buffer, sizeof(struct gpuval_slots))) ||
       !gpuval_device_alloc(device, &device->counters, device->info.max_sites * sizeof(uint64_t)) ||
       !gpuval_device_alloc(device, &device->failing, device->info.max_sites * sizeof(uint32_t)) ||
       !gpuval_device_alloc(device, &device->entries,
                            device->info.max_entries * sizeof(struct gpuval_entry)))
      return false;

   if (device->info.max_entries > GPUVAL_INDIRECT_ENTRY)
      ((struct gpuval_entry *)device->entries.map)[GPUVAL_INDIRECT_ENTRY].site =
         GPUVAL_INDIRECT_SITE;
   device->slots[1].is_clean = true;
   init_root(device);
   return gpuval_device_init_checks(device) && init_objects(device);
}

static int
watch(void *data)
{
   struct gpuval_device *device = data;
   u_thread_setname("gpuval");

   bool more = false;
   unsigned idle = 0; /* intervals without work */

   mtx_lock(&device->mutex);
   while (!device->stop) {
      idle = !gpuval_device_is_idle(device) ? 0 : idle + 1;
      if (idle > IDLE_INTERVALS) {
         gpuval_report_progress(true);
         device->is_asleep = true;
         cnd_wait(&device->work_begins, &device->mutex);
         idle = 0;
         continue;
      }

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
      gpuval_device_unlock(device);
      mtx_lock(&device->mutex);
   }
   mtx_unlock(&device->mutex);

   return 0;
}

/* Keys that are hashes themselves, and may lie anywhere */
static uint32_t
hash_of_hash(const void *key)
{
   uint32_t hash;
   memcpy(&hash, key, sizeof(hash));
   return hash;
}

static bool
hashes_equal(const void *a, const void *b)
{
   return !memcmp(a, b, sizeof(uint64_t));
}

static bool
keys_equal(const void *a, const void *b)
{
   return !memcmp(a, b, GPUVAL_SHADER_KEY_SIZE);
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
   struct gpuval_device *device = rzalloc(NULL, struct gpuval_device);
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
   cnd_init(&device->work_begins);
   device->modules = _mesa_hash_table_create(device, hash_of_hash, hashes_equal);
   device->shaders = _mesa_hash_table_create(device, hash_of_hash, keys_equal);
   device->buffers = _mesa_pointer_hash_table_create(device);
   device->allocations = _mesa_pointer_hash_table_create(device);
   gpuval_addresses_init(&device->addresses, device);
   gpuval_marks_init(device);
   gpuval_image_marks_init(device);
   uint64_t *structures = device->structures_buffer.map;
   gpuval_structures_init(
      &device->structures, structures,
      structures && gpuval_options()->safe ? structures + GPUVAL_STRUCTURE_SLOTS : NULL);
   util_dynarray_init(&device->by_site, device);
   /* The last of each is for what is in no shader (GPUVAL_INDIRECT_*). */
   gpuval_numbers_init(&device->numbers, device, device->info.max_sites - 1,
                       device->info.max_entries - 1);
   list_inithead(&device->retired);
   list_inithead(&device->ending);
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
      gpuval_device_unlock(device);
      gpuval_report_write_files();

      gpuval_structures_finish(&device->structures);
      gpuval_numbers_finish(&device->numbers);
      cnd_destroy(&device->work_begins);
      mtx_destroy(&device->mutex);
   }

   if (device->objects)
      gpuval_objects_destroy(device->objects);
   gpuval_device_free(device, &device->objects_buffer);
   gpuval_addresses_finish(device);
   gpuval_cells_finish(device);
   gpuval_marks_finish(device);
   gpuval_image_marks_finish(device);
   gpuval_device_free(device, &device->root_buffer);
   gpuval_device_free(device, &device->slots[0].buffer);
   gpuval_device_free(device, &device->slots[1].buffer);
   gpuval_device_free(device, &device->counters);
   gpuval_device_free(device, &device->failing);
   gpuval_device_free(device, &device->entries);
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
   return device->shadow.memory ? device->shadow.memory : device->window;
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

static bool
has_address(const struct vk_object_base *object)
{
   return object->type == VK_OBJECT_TYPE_BUFFER &&
          container_of(object, struct vk_buffer, base)->usage &
             VK_BUFFER_USAGE_2_SHADER_DEVICE_ADDRESS_BIT;
}

/* device->mutex is held. */
static void
drop_range(struct gpuval_device *device, struct hash_table *ranges,
           const struct vk_object_base *object)
{
   struct hash_entry *entry = _mesa_hash_table_search(ranges, object);
   if (!entry)
      return;

   struct gpuval_range *range = entry->data;
   _mesa_hash_table_remove(ranges, entry);
   if (ranges == device->allocations)
      gpuval_addresses_remove_memory(&device->addresses, ranges, range->address, range->size);
   gpuval_addresses_remove(&device->addresses, range);
   ralloc_free(range);
}

static void
add_range(struct gpuval_device *device, struct hash_table *ranges,
          const struct vk_object_base *object, uint64_t address, uint64_t size)
{
   mtx_lock(&device->mutex);
   drop_range(device, ranges, object);
   struct gpuval_range *range = ralloc(device, struct gpuval_range);
   if (range) {
      *range = (struct gpuval_range){.object = object, .address = address, .size = size};
      _mesa_hash_table_insert(ranges, object, range);
      if (ranges == device->buffers && gpuval_options_may_check(GPUVAL_CHECK_ADDRESS) &&
          has_address(object))
         gpuval_addresses_add(&device->addresses, range);
   }
   mtx_unlock(&device->mutex);
}

static void
remove_range(struct gpuval_device *device, struct hash_table *ranges,
             const struct vk_object_base *object)
{
   mtx_lock(&device->mutex);
   drop_range(device, ranges, object);
   mtx_unlock(&device->mutex);
}

void
gpuval_device_add_buffer(struct gpuval_device *device, const struct vk_object_base *object,
                         uint64_t address, uint64_t size)
{
   add_range(device, device->buffers, object, address, size);
}

void
gpuval_device_remove_buffer(struct gpuval_device *device, const struct vk_object_base *object)
{
   remove_range(device, device->buffers, object);
}

void
gpuval_device_add_memory(struct gpuval_device *device, const struct vk_object_base *object,
                         uint64_t address, uint64_t size)
{
   add_range(device, device->allocations, object, address, size);
}

void
gpuval_device_remove_memory(struct gpuval_device *device, const struct vk_object_base *object)
{
   remove_range(device, device->allocations, object);
}

bool
gpuval_device_find_buffer(struct gpuval_device *device, uint64_t address, uint64_t size,
                          struct gpuval_command_range *range)
{
   bool found = false;

   mtx_lock(&device->mutex);
   hash_table_foreach (device->buffers, entry) {
      const struct gpuval_range *buffer = entry->data;

      if (address < buffer->address || address - buffer->address >= buffer->size)
         continue;
      range->object = entry->key;
      range->object_offset = 0;
      range->address = buffer->address;
      range->size = buffer->size;
      found = true;
      if (size <= buffer->size - (address - buffer->address))
         break;
   }
   mtx_unlock(&device->mutex);

   return found;
}

struct gpuval_structures *
gpuval_device_structures(struct gpuval_device *device)
{
   return device->structures_buffer.map ? &device->structures : NULL;
}

uint64_t
gpuval_device_bottom_structures(const struct gpuval_device *device)
{
   return device->structures.bottom_table
             ? device->structures_buffer.address + GPUVAL_STRUCTURE_SLOTS * sizeof(uint64_t)
             : 0;
}

/* Shaders cannot be told any more which they are. */
static void
believe_all_structures(struct gpuval_device *device)
{
   device->root->all_structures = 1;
   mtx_lock(&device->mutex);
   bool warned = device->warned_structures;
   device->warned_structures = true;
   mtx_unlock(&device->mutex);
   if (!warned)
      gpuval_log_warning("ray: too many top-level acceleration structures: traces are not checked "
                         "any more for one that has never been built");
}

void
gpuval_device_structure_used(struct gpuval_device *device, const struct vk_object_base *object)
{
   struct vk_acceleration_structure *structure =
      container_of(object, struct vk_acceleration_structure, base);

   gpuval_structures_place(&device->structures, object,
                           vk_acceleration_structure_get_va(structure));
}

void
gpuval_device_structure_built(struct gpuval_device *device, const struct vk_object_base *object,
                              enum gpuval_structure_state state, const uint64_t *references,
                              unsigned num_references)
{
   gpuval_device_structure_used(device, object);
   if (!gpuval_structures_built(&device->structures, object, state, references, num_references))
      believe_all_structures(device);
}

void
gpuval_device_structure_copied(struct gpuval_device *device, const struct vk_object_base *to,
                               const struct vk_object_base *from)
{
   gpuval_device_structure_used(device, to);
   if (!gpuval_structures_copied(&device->structures, to, from))
      believe_all_structures(device);
}
