/* SPDX-License-Identifier: MIT */

/* Shadow memory where host and shaders share an address space.
 *
 * A window of addresses for the device's memory, and two for its cells: reserved once,
 * without asking for memory, so that a cell is where arithmetic says. Mappings are moved
 * into the window after the driver has made them (mremap), and out before it takes them
 * away. Memory that is not the driver's to move has its cells at an address in the
 * window that nothing else has.
 */

#include "base/gpuval_init.h"
#include "base/gpuval_shadow.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/macros.h"
#include "util/simple_mtx.h"
#include "util/u_math.h"
#include "util/vma.h"

#define WINDOW_SIZE  (1ull << GPUVAL_SHADOW_WINDOW_LOG2)
#define WRITTEN_SIZE (WINDOW_SIZE >> GPUVAL_INIT_WORD_LOG2)
#define CLOCKS_SIZE  (GPUVAL_SHADOW_CLOCKS * sizeof(struct gpuval_shadow_clock))

/* When all begins anew, cells of memory up to this size keep the pages that they have: a
 * program touches them again before long, which would be a page fault for each.
 */
#define KEPT_SIZE (4ull << 20)

struct gpuval_shadow {
   simple_mtx_t mutex;
   struct util_vma_heap heap; /* of the window */
   struct util_dynarray used; /* struct used: parts of the window with cells */
   struct gpuval_shadow_layout *layout;
   uint64_t window, words, bytes, times, clocks, written; /* where they begin */
};

struct used {
   uint64_t address, size;
};

/* PROT_NONE where nothing is mapped yet */
static uint64_t
reserve(uint64_t size, uint64_t alignment, int protection)
{
   uint64_t padded = size + alignment;
   void *map = mmap(NULL, padded, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
   if (map == MAP_FAILED)
      return 0;

   uint64_t address = align64((uintptr_t)map, MAX2(alignment, 1));
   uint64_t before = address - (uintptr_t)map, behind = padded - before - size;
   if (before)
      munmap(map, before);
   if (behind)
      munmap((void *)(uintptr_t)(address + size), behind);
   return address;
}

static void
unreserve(uint64_t address, uint64_t size)
{
   if (address)
      munmap((void *)(uintptr_t)address, size);
}

struct gpuval_shadow *
gpuval_shadow_create(struct gpuval_shadow_layout *layout)
{
   struct gpuval_shadow *shadow = calloc(1, sizeof(*shadow));
   if (!shadow)
      return NULL;

   simple_mtx_init(&shadow->mutex, mtx_plain);
   util_dynarray_init(&shadow->used, NULL);
   shadow->layout = layout;
   shadow->window = reserve(WINDOW_SIZE, WINDOW_SIZE, PROT_NONE);
   shadow->words = reserve(WINDOW_SIZE * GPUVAL_SHADOW_WORDS_SCALE, 0, PROT_READ | PROT_WRITE);
   shadow->bytes = reserve(WINDOW_SIZE * GPUVAL_SHADOW_BYTES_SCALE, 0, PROT_READ | PROT_WRITE);
   shadow->times = reserve(WINDOW_SIZE * GPUVAL_SHADOW_TIMES_SCALE, 0, PROT_READ | PROT_WRITE);
   shadow->clocks = reserve(CLOCKS_SIZE, 0, PROT_READ | PROT_WRITE);
   shadow->written = reserve(WRITTEN_SIZE, 0, PROT_READ | PROT_WRITE);
   util_vma_heap_init(&shadow->heap, shadow->window, WINDOW_SIZE - GPUVAL_SHADOW_WINDOW_MARGIN);
   if (!shadow->window || !shadow->words || !shadow->bytes || !shadow->times || !shadow->clocks ||
       !shadow->written) {
      gpuval_shadow_destroy(shadow);
      return NULL;
   }

   layout->bytes = shadow->bytes - shadow->window * GPUVAL_SHADOW_BYTES_SCALE;
   layout->times = shadow->times - shadow->window * GPUVAL_SHADOW_TIMES_SCALE;
   layout->times_mask = UINT64_MAX;
   layout->clocks = shadow->clocks;
   layout->clocks_mask = GPUVAL_SHADOW_CLOCKS - 1;
   return shadow;
}

void
gpuval_shadow_destroy(struct gpuval_shadow *shadow)
{
   unreserve(shadow->window, WINDOW_SIZE);
   unreserve(shadow->words, WINDOW_SIZE * GPUVAL_SHADOW_WORDS_SCALE);
   unreserve(shadow->bytes, WINDOW_SIZE * GPUVAL_SHADOW_BYTES_SCALE);
   unreserve(shadow->times, WINDOW_SIZE * GPUVAL_SHADOW_TIMES_SCALE);
   unreserve(shadow->clocks, CLOCKS_SIZE);
   unreserve(shadow->written, WRITTEN_SIZE);
   util_vma_heap_finish(&shadow->heap);
   util_dynarray_fini(&shadow->used);
   simple_mtx_destroy(&shadow->mutex);
   free(shadow);
}

uint64_t
gpuval_shadow_window(const struct gpuval_shadow *shadow)
{
   return shadow->window;
}

uint64_t
gpuval_shadow_words(const struct gpuval_shadow *shadow)
{
   return shadow->words - shadow->window * GPUVAL_SHADOW_WORDS_SCALE;
}

uint64_t
gpuval_shadow_written(const struct gpuval_shadow *shadow)
{
   return shadow->written - (shadow->window >> GPUVAL_INIT_WORD_LOG2);
}

static uint64_t
page_size(void)
{
   return sysconf(_SC_PAGESIZE);
}

static uint64_t
allocate(struct gpuval_shadow *shadow, uint64_t size)
{
   simple_mtx_lock(&shadow->mutex);
   uint64_t address = util_vma_heap_alloc(&shadow->heap, size, page_size());
   if (address) {
      const struct used used = {address, size};
      util_dynarray_append_typed(&shadow->used, struct used, used);
   }
   simple_mtx_unlock(&shadow->mutex);
   return address;
}

/* Whole pages become zero, and are given back. */
static void
discard(uint64_t address, uint64_t size)
{
   madvise((void *)(uintptr_t)address, size, MADV_DONTNEED);
}

/* The same, but pages that are there stay. */
static void
clear(uint64_t address, uint64_t size)
{
   unsigned char pages[256];
   uint64_t step = ARRAY_SIZE(pages) * page_size();

   for (uint64_t end = address + size; address < end; address += step) {
      uint64_t count = MIN2(step, end - address) / page_size();
      if (mincore((void *)(uintptr_t)address, count * page_size(), pages)) {
         discard(address, count * page_size());
         continue;
      }
      for (uint64_t first = 0, behind; first < count; first = behind) {
         uint64_t begin = address + first * page_size();
         for (behind = first + 1; behind < count; behind++) {
            if ((pages[behind] ^ pages[first]) & 1)
               break;
         }
         if (pages[first] & 1)
            memset((void *)(uintptr_t)begin, 0, (behind - first) * page_size());
         else /* never touched, or swapped out */
            discard(begin, (behind - first) * page_size());
      }
   }
}

static void
forget(const struct gpuval_shadow *shadow, const struct used *used, bool keep_pages)
{
   const struct {
      uint64_t begin;
      unsigned scale;
   } windows[] = {
      {shadow->words, GPUVAL_SHADOW_WORDS_SCALE},
      {shadow->bytes, GPUVAL_SHADOW_BYTES_SCALE},
      {shadow->times, GPUVAL_SHADOW_TIMES_SCALE},
   };

   for (unsigned i = 0; i < ARRAY_SIZE(windows); i++) {
      uint64_t begin = windows[i].begin + (used->address - shadow->window) * windows[i].scale;
      (keep_pages ? clear : discard)(begin, used->size * windows[i].scale);
   }
}

/* Whole pages: those at the ends may be others', too. */
static void
forget_written(const struct gpuval_shadow *shadow, const struct used *used)
{
   uint64_t begin = shadow->written + ((used->address - shadow->window) >> GPUVAL_INIT_WORD_LOG2);
   uint64_t end = begin + DIV_ROUND_UP(used->size, 1 << GPUVAL_INIT_WORD_LOG2);
   uint64_t first = align64(begin, page_size()), last = end & ~(page_size() - 1);

   if (first >= last) {
      memset((void *)(uintptr_t)begin, 0, end - begin);
      return;
   }
   memset((void *)(uintptr_t)begin, 0, first - begin);
   madvise((void *)(uintptr_t)first, last - first, MADV_DONTNEED);
   memset((void *)(uintptr_t)last, 0, end - last);
}

/* @reuse: its addresses may be given to somebody else */
static void
release(struct gpuval_shadow *shadow, uint64_t address, bool reuse)
{
   simple_mtx_lock(&shadow->mutex);
   util_dynarray_foreach (&shadow->used, struct used, used) {
      if (used->address != address)
         continue;
      forget(shadow, used, false);
      forget_written(shadow, used);
      if (reuse)
         util_vma_heap_free(&shadow->heap, address, used->size);
      *used = util_dynarray_pop(&shadow->used, struct used);
      break;
   }
   simple_mtx_unlock(&shadow->mutex);
}

void *
gpuval_shadow_place(struct gpuval_shadow *shadow, void *map, uint64_t size)
{
   uint64_t address = allocate(shadow, size);
   if (!address)
      return NULL;

   void *place = (void *)(uintptr_t)address;
   if (mremap(map, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED) {
      release(shadow, address, true);
      return NULL;
   }
   return place;
}

void *
gpuval_shadow_take(struct gpuval_shadow *shadow, void *map, uint64_t size)
{
   uint64_t place = reserve(size, 0, PROT_NONE);
   if (!place || mremap(map, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)(uintptr_t)place) ==
                    MAP_FAILED) {
      unreserve(place, size);
      return NULL;
   }

   /* Somebody may have been faster with a mapping of theirs: then it is lost to us. */
   void *hole = mmap(map, size, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
   if (hole != MAP_FAILED && hole != map)
      munmap(hole, size);
   release(shadow, (uintptr_t)map, hole == map);
   return (void *)(uintptr_t)place;
}

bool
gpuval_shadow_add_range(struct gpuval_shadow *shadow, uint64_t address, uint64_t size)
{
   struct gpuval_shadow_layout *layout = shadow->layout;
   uint64_t skipped = address & (page_size() - 1);
   uint64_t alias = allocate(shadow, align64(size + skipped, page_size()));
   if (!alias)
      return false;

   /* Shaders may be looking: what has a size is whole. */
   struct gpuval_shadow_range *range = NULL;
   simple_mtx_lock(&shadow->mutex);
   for (uint32_t i = 0; i < GPUVAL_SHADOW_MAX_RANGES && !range; i++)
      range = layout->ranges[i].size ? NULL : &layout->ranges[i];
   if (range) {
      range->begin = address;
      range->alias = alias + skipped;
      __atomic_store_n(&range->size, size, __ATOMIC_RELEASE);
      uint32_t count = range - layout->ranges + 1;
      __atomic_store_n(&layout->num_ranges, MAX2(layout->num_ranges, count), __ATOMIC_RELEASE);
   }
   simple_mtx_unlock(&shadow->mutex);

   if (!range)
      release(shadow, alias, true);
   return range != NULL;
}

void
gpuval_shadow_remove_range(struct gpuval_shadow *shadow, uint64_t address)
{
   struct gpuval_shadow_layout *layout = shadow->layout;
   uint64_t alias = 0;

   simple_mtx_lock(&shadow->mutex);
   for (uint32_t i = 0; i < layout->num_ranges; i++) {
      struct gpuval_shadow_range *range = &layout->ranges[i];
      if (range->begin != address || !range->size)
         continue;
      alias = range->alias & ~(page_size() - 1);
      __atomic_store_n(&range->size, 0, __ATOMIC_RELEASE);
      break;
   }
   simple_mtx_unlock(&shadow->mutex);

   if (alias)
      release(shadow, alias, true);
}

uint64_t
gpuval_shadow_translate(struct gpuval_shadow *shadow, uint64_t address)
{
   const struct gpuval_shadow_layout *layout = shadow->layout;
   uint64_t found = address - shadow->window < WINDOW_SIZE ? address : 0;

   simple_mtx_lock(&shadow->mutex);
   for (uint32_t i = 0; i < layout->num_ranges && !found; i++) {
      const struct gpuval_shadow_range *range = &layout->ranges[i];
      if (address - range->begin < range->size)
         found = range->alias + (address - range->begin);
   }
   simple_mtx_unlock(&shadow->mutex);
   return found;
}

void
gpuval_shadow_forget(struct gpuval_shadow *shadow)
{
   simple_mtx_lock(&shadow->mutex);
   util_dynarray_foreach (&shadow->used, struct used, used)
      forget(shadow, used, used->size <= KEPT_SIZE);
   madvise((void *)(uintptr_t)shadow->clocks, CLOCKS_SIZE, MADV_DONTNEED);
   simple_mtx_unlock(&shadow->mutex);
}
