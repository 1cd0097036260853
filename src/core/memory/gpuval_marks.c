/* SPDX-License-Identifier: MIT */

#include "gpuval_marks.h"
#include "gpuval_written.h"

#include <stdlib.h>
#include <string.h>

#include "base/gpuval_init.h"
#include "core/device/gpuval_device.h"
#include "gpuval_areas.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/macros.h"
#include "util/u_atomic.h"
#include "util/u_math.h"

/* Granules that the host marks at once: what it has marked wholly it need not mark again, and
 * writing to video memory takes its time.
 */
#define PAGE_LOG2 12

static uint64_t
count_granules(uint64_t size)
{
   return (size + (1u << GPUVAL_INIT_GRANULE_LOG2) - 1) >> GPUVAL_INIT_GRANULE_LOG2;
}

static uint64_t
no_table(const struct gpuval_device *device)
{
   return device->root_buffer.address + GPUVAL_ROOT_ZEROS;
}

void
gpuval_marks_init(struct gpuval_device *device)
{
   struct gpuval_marks *marks = device->marks;

   util_dynarray_init(&marks->areas, device);
   util_dynarray_init(&marks->retired, device);
   util_dynarray_init(&marks->ending, device);
   util_dynarray_init(&marks->kept, device);
   marks->table_address = no_table(device);
   marks->is_on = device->info.has_marks && gpuval_options_may_check(GPUVAL_CHECK_INIT);
}

void
gpuval_marks_finish(struct gpuval_device *device)
{
   struct gpuval_marks *marks = device->marks;

   util_dynarray_foreach (&marks->areas, struct gpuval_area, area) {
      gpuval_device_free(device, &area->beside);
      free(area->pages);
   }
   gpuval_device_free_buffers(device, &marks->retired);
   gpuval_device_free_buffers(device, &marks->ending);
   gpuval_device_free_buffers(device, &marks->kept);
   gpuval_device_free(device, &marks->table);
}

bool
gpuval_device_has_marks(const struct gpuval_device *device)
{
   return device->marks->is_on;
}

static void
warn_of_memory(struct gpuval_device *device)
{
   if (!device->marks->warned)
      gpuval_log_warning("init: out of memory: some memory of the program counts as written");
   device->marks->warned = true;
}

void
gpuval_marks_add(struct gpuval_device *device, uint64_t address, uint64_t size)
{
   struct gpuval_marks *marks = device->marks;
   struct gpuval_area added = {.begin = address, .size = size};
   uint64_t count = count_granules(size);

   if (!marks->is_on || !size)
      return;
   mtx_lock(&device->mutex);
   added.pages = calloc(BITSET_WORDS((count >> PAGE_LOG2) + 1), sizeof(BITSET_WORD));
   if (marks->gave_up || !added.pages || !gpuval_device_alloc_plain(device, &added.beside, count)) {
      free(added.pages);
      if (!marks->gave_up)
         warn_of_memory(device);
   } else {
      gpuval_areas_add(&marks->areas, &added);
      marks->has_changed = true;
   }
   gpuval_device_unlock(device);
}

void
gpuval_marks_retire(struct gpuval_device *device, struct gpuval_buffer *buffer)
{
   if (buffer->map)
      util_dynarray_append_typed(&device->marks->retired, struct gpuval_buffer, *buffer);
   *buffer = (struct gpuval_buffer){0};
}

void
gpuval_marks_remove(struct gpuval_device *device, uint64_t address)
{
   struct gpuval_marks *marks = device->marks;

   if (!marks->is_on)
      return;
   mtx_lock(&device->mutex);
   /* Where it has been given up, the last table has it. */
   struct gpuval_area *area = marks->gave_up ? NULL : gpuval_areas_find(&marks->areas, address);
   if (area) {
      gpuval_marks_retire(device, &area->beside);
      free(area->pages);
      gpuval_areas_remove(&marks->areas, area);
      marks->has_changed = true;
   }
   mtx_unlock(&device->mutex);
}

/* Granules [first, end) */
static void
mark(struct gpuval_area *area, uint64_t first, uint64_t end)
{
   const uint64_t page_size = 1u << PAGE_LOG2;
   const uint64_t count = count_granules(area->size);

   for (uint64_t page = first >> PAGE_LOG2; page << PAGE_LOG2 < end; page++) {
      uint64_t page_begin = page << PAGE_LOG2, page_end = MIN2(page_begin + page_size, count);
      uint64_t from = MAX2(first, page_begin), to = MIN2(end, page_end);

      if (BITSET_TEST(area->pages, page))
         continue;
      memset((uint8_t *)area->beside.map + from, GPUVAL_INIT_ALL, to - from);
      if (from == page_begin && to == page_end)
         BITSET_SET(area->pages, page);
   }
}

void
gpuval_marks_write(struct gpuval_device *device, uint64_t address, uint64_t size)
{
   struct gpuval_marks *marks = device->marks;

   if (!marks->is_on || !size)
      return;
   mtx_lock(&device->mutex);
   struct gpuval_area *area = gpuval_areas_last(&marks->areas, address);
   if (area && address - area->begin < area->size) {
      uint64_t offset = address - area->begin;
      size = MIN2(size, area->size - offset);
      mark(area, offset >> GPUVAL_INIT_GRANULE_LOG2, count_granules(offset + size));
   }
   mtx_unlock(&device->mutex);
}

/* Commands may have any table that has been: none goes any more. */
static void
give_up(struct gpuval_device *device)
{
   struct gpuval_marks *marks = device->marks;

   if (marks->gave_up)
      return;
   marks->gave_up = true;
   device->root->all_written = 1;
   p_atomic_set(&marks->table_address, no_table(device));
   gpuval_move_buffers(&marks->kept, &marks->retired);
   gpuval_move_buffers(&marks->kept, &marks->ending);
   if (device->written) {
      gpuval_written_give_up(device->written);
      device->root->written_window = GPUVAL_INIT_NO_WINDOW;
   }
}

void
gpuval_marks_give_up(struct gpuval_device *device)
{
   if (!device->marks->is_on && !device->written)
      return;
   mtx_lock(&device->mutex);
   if (!device->marks->gave_up)
      gpuval_log_warning("init: what some shaders write is not known: from now on all counts as "
                         "written");
   give_up(device);
   gpuval_device_unlock(device);
}

/* What others publish meanwhile does as well. */
uint64_t
gpuval_marks_table(const struct gpuval_device *device)
{
   return p_atomic_read(&device->marks->table_address);
}

void
gpuval_marks_publish(struct gpuval_device *device)
{
   struct gpuval_marks *marks = device->marks;
   if (!marks->is_on || marks->gave_up || !marks->has_changed)
      return;

   /* Work that runs goes on with the table that it has. */
   gpuval_marks_retire(device, &marks->table);
   unsigned count = gpuval_areas_count(&marks->areas);
   if (!gpuval_device_alloc(
          device, &marks->table,
          sizeof(struct gpuval_marked_table) + count * sizeof(struct gpuval_marked_range))) {
      warn_of_memory(device);
      give_up(device); /* what shaders write meanwhile would not be known */
      return;
   }

   struct gpuval_marked_table *table = marks->table.map;
   const struct gpuval_area *areas = marks->areas.data;
   for (unsigned i = 0; i < count; i++)
      table->ranges[i] = (struct gpuval_marked_range){
         .begin = areas[i].begin,
         .size = areas[i].size,
         .marks = areas[i].beside.address - (areas[i].begin >> GPUVAL_INIT_GRANULE_LOG2),
      };
   table->count = count;
   p_atomic_set(&marks->table_address, marks->table.address);
   marks->has_changed = false;
}

void
gpuval_marks_free_ending(struct gpuval_device *device)
{
   gpuval_device_free_buffers(device, &device->marks->ending);
}

bool
gpuval_marks_has_retired(const struct gpuval_device *device)
{
   return device->marks->retired.size > 0;
}

void
gpuval_marks_turn(struct gpuval_device *device)
{
   gpuval_move_buffers(&device->marks->ending, &device->marks->retired);
}
