/* SPDX-License-Identifier: MIT */

#include "gpuval_cells.h"
#include "gpuval_marks.h"
#include "gpuval_shadow_device.h"

#include <inttypes.h>

#include "base/gpuval_shadow.h"
#include "core/device/gpuval_device.h"
#include "gpuval_areas.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/macros.h"
#include "util/u_atomic.h"
#include "util/u_math.h"

/* Cells of words and of blocks, bytes for each byte of memory */
#define CELLS_SCALE (GPUVAL_SHADOW_WORDS_SCALE + GPUVAL_SHADOW_CELL_SIZE / GPUVAL_SHADOW_BLOCK)

/* Of the limit, for bytes of words that are accessed in part: one in so many, and at most */
#define POOL_SHARE    4
#define MAX_POOL_SIZE (64u << 20)

static struct gpuval_shadow_layout *
get_layout(struct gpuval_device *device)
{
   return device->shadow->layout.map;
}

bool
gpuval_device_has_cells(const struct gpuval_device *device)
{
   return device->cells->limit > 0;
}

bool
gpuval_cells_init(struct gpuval_device *device, struct gpuval_shadow_layout *layout)
{
   struct gpuval_cells *cells = device->cells;
   uint64_t asked = gpuval_options()->shadow_size;
   uint64_t limit = asked ? asked : device->info.max_shadow_size;
   uint64_t pool = MIN2(limit / POOL_SHARE, MAX_POOL_SIZE);

   util_dynarray_init(&cells->areas, device);
   if (!gpuval_device_alloc(device, &cells->pool, pool) ||
       !gpuval_device_alloc(device, &cells->times,
                            GPUVAL_SHADOW_TABLE_TIMES * sizeof(struct gpuval_shadow_time)) ||
       !gpuval_device_alloc(device, &cells->clocks,
                            GPUVAL_SHADOW_TABLE_CLOCKS * sizeof(struct gpuval_shadow_clock)))
      return false;

   cells->limit = limit - pool;
   cells->has_changed = true; /* there is no table yet */
   layout->bytes = cells->pool.address;
   layout->max_splits = pool / GPUVAL_SHADOW_SPLIT_SIZE;
   layout->times = cells->times.address;
   layout->times_mask = GPUVAL_SHADOW_TABLE_TIMES * GPUVAL_SHADOW_WORD - 1;
   layout->clocks = cells->clocks.address;
   layout->clocks_mask = GPUVAL_SHADOW_TABLE_CLOCKS - 1;
   return true;
}

void
gpuval_cells_finish(struct gpuval_device *device)
{
   struct gpuval_cells *cells = device->cells;

   util_dynarray_foreach (&cells->areas, struct gpuval_area, area)
      gpuval_device_free(device, &area->beside);
   gpuval_device_free(device, &cells->pool);
   gpuval_device_free(device, &cells->times);
   gpuval_device_free(device, &cells->clocks);
   gpuval_device_free(device, &cells->table);
}

static void
note_other(struct gpuval_cells *cells)
{
   cells->has_changed |= !cells->has_others;
   cells->has_others = true;
}

void
gpuval_cells_add(struct gpuval_device *device, uint64_t address, uint64_t size)
{
   struct gpuval_cells *cells = device->cells;
   struct gpuval_area added = {.begin = address, .size = size};
   uint64_t blocks = align64(size, GPUVAL_SHADOW_BLOCK);
   uint64_t needed = blocks * CELLS_SCALE;

   if (!cells->limit || !size)
      return;
   mtx_lock(&device->mutex);
   if (gpuval_areas_find(&cells->areas, address)) {
      mtx_unlock(&device->mutex);
      return;
   }
   if (blocks >= size && needed / CELLS_SCALE == blocks && needed <= cells->limit - cells->used &&
       gpuval_device_alloc(device, &added.beside, needed)) {
      gpuval_areas_add(&cells->areas, &added);
      cells->used += added.beside.size;
      cells->has_changed = true;
   } else {
      if (!cells->warned)
         gpuval_log_warning("sync: shadow memory has %" PRIu64 " MiB of %" PRIu64
                            " MiB of video memory (GPUVAL_SHADOW_SIZE) and has no room for %" PRIu64
                            " MiB more: the bloom filter looks at what it does not have",
                            cells->used >> 20, cells->limit >> 20, needed >> 20);
      cells->warned = true;
      note_other(cells);
   }
   gpuval_device_unlock(device);
}

void
gpuval_cells_add_other(struct gpuval_device *device)
{
   if (!device->cells->limit)
      return;
   mtx_lock(&device->mutex);
   note_other(device->cells);
   mtx_unlock(&device->mutex);
}

void
gpuval_cells_remove(struct gpuval_device *device, uint64_t address)
{
   struct gpuval_cells *cells = device->cells;

   if (!cells->limit)
      return;
   mtx_lock(&device->mutex);
   struct gpuval_area *area = gpuval_areas_find(&cells->areas, address);
   if (area) {
      cells->used -= area->beside.size;
      gpuval_marks_retire(device, &area->beside);
      gpuval_areas_remove(&cells->areas, area);
      cells->has_changed = true;
   }
   mtx_unlock(&device->mutex);
}

uint64_t
gpuval_cells_no_table(const struct gpuval_device *device)
{
   return device->root_buffer.address + GPUVAL_ROOT_ZEROS;
}

/* What others publish meanwhile does as well. */
uint64_t
gpuval_cells_table(const struct gpuval_device *device)
{
   return p_atomic_read(&device->cells->table_address);
}

void
gpuval_cells_publish(struct gpuval_device *device)
{
   struct gpuval_cells *cells = device->cells;
   if (!cells->limit || !cells->has_changed)
      return;

   /* Work that runs goes on with the table that it has. */
   gpuval_marks_retire(device, &cells->table);
   unsigned count = gpuval_areas_count(&cells->areas);
   if (!gpuval_device_alloc(
          device, &cells->table,
          sizeof(struct gpuval_shadow_table) + count * sizeof(struct gpuval_shadow_area))) {
      p_atomic_set(&cells->table_address, gpuval_cells_no_table(device));
      return;
   }

   struct gpuval_shadow_table *table = cells->table.map;
   const struct gpuval_area *areas = cells->areas.data;
   for (unsigned i = 0; i < count; i++) {
      uint64_t blocks = align64(areas[i].size, GPUVAL_SHADOW_BLOCK);
      table->areas[i] = (struct gpuval_shadow_area){
         .begin = areas[i].begin,
         .size = areas[i].size,
         .words = areas[i].beside.address + blocks - areas[i].begin * GPUVAL_SHADOW_WORDS_SCALE,
         .blocks = areas[i].beside.address - areas[i].begin,
      };
   }
   table->has_others = cells->has_others;
   table->count = count;
   p_atomic_set(&cells->table_address, cells->table.address);
   cells->has_changed = false;
}

bool
gpuval_cells_are_full(struct gpuval_device *device)
{
   const struct gpuval_shadow_layout *layout = get_layout(device);
   return device->cells->limit && layout->num_splits > layout->max_splits;
}

static void
add_cleared(struct util_dynarray *ranges, const struct gpuval_buffer *buffer)
{
   const struct gpuval_cleared range = {buffer->map, buffer->address, buffer->size};
   util_dynarray_append_typed(ranges, struct gpuval_cleared, range);
}

static void
clear(const struct gpuval_winsys *winsys, const struct util_dynarray *ranges)
{
   if (winsys->clear_all &&
       winsys->clear_all(winsys->data, ranges->data,
                         util_dynarray_num_elements(ranges, struct gpuval_cleared)))
      return;
   util_dynarray_foreach (ranges, struct gpuval_cleared, range)
      winsys->clear(winsys->data, range->map, range->size);
}

void
gpuval_cells_forget(struct gpuval_device *device)
{
   struct gpuval_cells *cells = device->cells;
   struct util_dynarray ranges;

   util_dynarray_init(&ranges, NULL);
   mtx_lock(&device->mutex);
   util_dynarray_foreach (&cells->areas, struct gpuval_area, area)
      add_cleared(&ranges, &area->beside);
   add_cleared(&ranges, &cells->times);
   add_cleared(&ranges, &cells->clocks);
   clear(&device->info.winsys, &ranges);
   util_dynarray_fini(&ranges);
   get_layout(device)->num_splits = 0;
   mtx_unlock(&device->mutex);
}
