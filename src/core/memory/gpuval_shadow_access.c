/* SPDX-License-Identifier: MIT */

/* What the host does to cells of shadow memory in the name of a command without a shader, before
 * that is executed: what a shader's access does there, for a range at once.
 */

#include "gpuval_shadow_device.h"

#include "base/gpuval_order.h"

#include "util/u_math.h"

/* An access to one cell, of a word or a byte */
struct look {
   const struct gpuval_shadow_device *shadow;
   const struct gpuval_shadow_access *access;
   uint32_t ordered;
   const uint32_t *writers, *readers; /* watermarks by class */
   uint64_t mark;
   uint64_t found; /* the first conflicting access; 0: none */
   uint64_t found_at;
};

static bool
is_before(const struct look *look, uint64_t party, const uint32_t *watermarks)
{
   uint32_t hi = party >> 32;
   uint32_t number = hi >> GPUVAL_SHADOW_COMMAND_SHIFT;
   uint32_t class_ = hi >> GPUVAL_SHADOW_CLASS_SHIFT & 0xf;

   if (!hi || hi < look->ordered || number == look->mark >> (32 + GPUVAL_SHADOW_COMMAND_SHIFT))
      return true;
   return number >= look->shadow->next ||
          gpuval_shadow_serial(look->shadow, number) <= watermarks[class_];
}

static void
find(struct look *look, uint64_t party, bool is_reader, uint64_t address)
{
   if (look->found || is_before(look, party, is_reader ? look->readers : look->writers))
      return;
   look->found = party;
   look->found_at = address;
}

/* As gpuval_shadow_meet() of nir_passes/, for somebody who is never alone with others of his
 * command: a later reader takes the place of an earlier one.
 */
static void
look_at_cell(struct look *look, uint64_t *cell, uint64_t address)
{
   /* A reader came behind the writer: who waits for that one has waited for both. */
   if (look->access->is_write)
      find(look, __atomic_load_n(&cell[1], __ATOMIC_RELAXED), true, address);
   find(look, __atomic_load_n(&cell[0], __ATOMIC_RELAXED), false, address);
   if (look->access->is_write) {
      __atomic_store_n(&cell[0], look->mark, __ATOMIC_RELAXED);
      __atomic_store_n(&cell[1], 0, __ATOMIC_RELAXED);
   } else {
      __atomic_store_n(&cell[1], look->mark, __ATOMIC_RELAXED);
   }
}

static uint64_t *
get_bytes(const struct look *look, uint64_t word)
{
   const struct gpuval_shadow_layout *layout = look->shadow->layout.map;
   return (void *)(uintptr_t)(layout->bytes + word * GPUVAL_SHADOW_BYTES_SCALE);
}

#define HALVES (GPUVAL_SHADOW_CELL_SIZE / sizeof(uint64_t))

/* The word's cell turns over to its bytes. */
static void
split(const struct look *look, uint64_t *cell, uint64_t word)
{
   uint64_t *bytes = get_bytes(look, word);

   for (unsigned i = 0; i < GPUVAL_SHADOW_WORD; i++)
      memcpy(bytes + i * HALVES, cell, GPUVAL_SHADOW_CELL_SIZE);
   __atomic_store_n(&cell[0], (uint64_t)GPUVAL_SHADOW_BYTES << 32, __ATOMIC_RELAXED);
}

/* Bytes from @begin on, below @end, of the word at @word, whose address is @address */
static void
look_at_bytes(struct look *look, uint64_t *cell, uint64_t word, uint64_t address, unsigned begin,
              unsigned end)
{
   bool is_whole = begin == 0 && end == GPUVAL_SHADOW_WORD;
   uint64_t found = look->found;

   if (cell[0] >> 32 != GPUVAL_SHADOW_BYTES)
      split(look, cell, word);
   for (unsigned i = begin; i < end; i++)
      look_at_cell(look, get_bytes(look, word) + i * HALVES, address + i);
   if (is_whole && look->access->is_write && look->found == found) {
      __atomic_store_n(&cell[0], look->mark, __ATOMIC_RELAXED);
      __atomic_store_n(&cell[1], 0, __ATOMIC_RELAXED);
   }
}

/* Whole words in whose cells everybody is ordered before by the threshold. Returns how many of
 * @count there are, from the first on.
 */
static uint64_t
mark_past(const struct look *look, uint64_t *cells, uint64_t count)
{
   const uint64_t ordered = (uint64_t)look->ordered << 32;

   for (uint64_t i = 0; i < count; i++) {
      uint64_t *cell = cells + i * HALVES;

      if (__atomic_load_n(&cell[0], __ATOMIC_RELAXED) >= ordered)
         return i;
      if (look->access->is_write) {
         if (__atomic_load_n(&cell[1], __ATOMIC_RELAXED) >= ordered)
            return i;
         __atomic_store_n(&cell[0], look->mark, __ATOMIC_RELAXED);
      }
      __atomic_store_n(&cell[1], look->access->is_write ? 0 : look->mark, __ATOMIC_RELAXED);
   }
   return count;
}

static uint64_t *
get_cell(const struct gpuval_command_data *data, uint64_t word)
{
   return (void *)(uintptr_t)(data->shadow_words + word * GPUVAL_SHADOW_WORDS_SCALE);
}

uint64_t
gpuval_device_shadow_access(struct gpuval_device *device, const struct gpuval_shadow_access *access,
                            const struct gpuval_command_data *data,
                            const struct gpuval_order_row *row, uint64_t *where)
{
   uint64_t begin = gpuval_shadow_translate(device->shadow->memory, access->address);
   uint64_t end = begin + access->size;
   uint32_t class_ = data->order_class ? data->order_class : access->class_;
   uint32_t lo = access->op | (access->is_write ? GPUVAL_SHADOW_COMMAND_WRITES : 0);
   struct look look = {
      .shadow = device->shadow,
      .access = access,
      .ordered = data->shadow_ordered,
      .writers = row->memory_watermark[access->is_write ? GPUVAL_ORDER_WRITE : access->read],
      .readers = row->execution_watermark,
      .mark = (uint64_t)(data->shadow_command | class_ << GPUVAL_SHADOW_CLASS_SHIFT) << 32 | lo,
   };
   if (!begin || !data->shadow_command)
      return 0;

   for (uint64_t word = begin & ~3ull; word < end; word += GPUVAL_SHADOW_WORD) {
      if (word >= begin)
         word += mark_past(&look, get_cell(data, word), (end - word) / GPUVAL_SHADOW_WORD) *
                 GPUVAL_SHADOW_WORD;
      if (word >= end)
         break;

      uint64_t *cell = get_cell(data, word);
      unsigned first = word < begin ? begin - word : 0;
      unsigned last = MIN2(end - word, GPUVAL_SHADOW_WORD);
      uint64_t address = access->address + (word - begin);
      bool is_whole = first == 0 && last == GPUVAL_SHADOW_WORD;

      if (is_whole && cell[0] >> 32 != GPUVAL_SHADOW_BYTES)
         look_at_cell(&look, cell, address);
      else
         look_at_bytes(&look, cell, word, address, first, last);
   }
   *where = look.found_at;
   return look.found;
}

uint64_t
gpuval_device_shadow_read(struct gpuval_device *device, uint64_t address, uint32_t size,
                          const struct gpuval_command_data *data,
                          const struct gpuval_order_row *row)
{
   static const struct gpuval_order_row none;
   const struct gpuval_shadow_access access = {
      .address = address,
      .size = size,
      .class_ = GPUVAL_ORDER_INDIRECT,
      .read = GPUVAL_ORDER_STORAGE_READ,
      .op = GPUVAL_OP_INDIRECT,
   };
   uint64_t where;

   return gpuval_device_shadow_access(device, &access, data, row ? row : &none, &where);
}
