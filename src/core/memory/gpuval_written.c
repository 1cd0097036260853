/* SPDX-License-Identifier: MIT */

#include "gpuval_written.h"

#include <stdlib.h>
#include <string.h>

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/hash_table.h"
#include "util/macros.h"
#include "util/simple_mtx.h"
#include "util/u_atomic.h"
#include "util/u_math.h"

#define WINDOW_SIZE (1ull << GPUVAL_SHADOW_WINDOW_LOG2)
#define WORD        (1u << GPUVAL_INIT_WORD_LOG2)

/* How far something is written is remembered for some ranges and views: from where it was not
 * the last time it is looked on. Nothing is ever taken back but with a new version.
 */
#define NUM_PREFIXES 4096

struct prefix {
   uint64_t address;
   uint64_t size; /* or a hash of a view */
   uint64_t done;
   uint32_t version;
};

struct later {
   uint64_t address;
   uint8_t bits;
};

struct gpuval_written {
   uint64_t window;
   uint64_t bytes; /* of the word at A: this plus A / WORD */
   uint32_t poison;
   uint32_t version;
   simple_mtx_t mutex; /* later, and the bits of subresources */
   struct util_dynarray later;
   struct prefix prefixes[NUM_PREFIXES];
};

struct gpuval_written *
gpuval_written_create(const struct gpuval_shadow *window, uint32_t poison)
{
   struct gpuval_written *written = calloc(1, sizeof(*written));
   if (!written)
      return NULL;

   written->window = gpuval_shadow_window(window);
   written->bytes = gpuval_shadow_written(window);
   written->poison = poison;
   written->version = 1;
   simple_mtx_init(&written->mutex, mtx_plain);
   util_dynarray_init(&written->later, NULL);
   return written;
}

void
gpuval_written_give_up(struct gpuval_written *written)
{
   p_atomic_set(&written->window, GPUVAL_INIT_NO_WINDOW);
}

void
gpuval_written_destroy(struct gpuval_written *written)
{
   util_dynarray_fini(&written->later);
   simple_mtx_destroy(&written->mutex);
   free(written);
}

static bool
is_tracked(const struct gpuval_written *written, uint64_t address, uint64_t size)
{
   uint64_t distance = address - p_atomic_read(&written->window);
   return distance < WINDOW_SIZE && size <= WINDOW_SIZE - distance;
}

static uint8_t *
byte_of(const struct gpuval_written *written, uint64_t address)
{
   return (uint8_t *)(uintptr_t)(written->bytes + (address >> GPUVAL_INIT_WORD_LOG2));
}

/* Keeps bits that are written now from being cleared by the next gpuval_written_flush(). */
static void
drop_later(struct gpuval_written *written, uint64_t address, uint64_t size, uint8_t bits)
{
   util_dynarray_foreach (&written->later, struct later, later) {
      if (later->address - address < size)
         later->bits &= ~bits;
   }
}

void
gpuval_written_mark(struct gpuval_written *written, uint64_t address, uint64_t size)
{
   if (!size || !is_tracked(written, address, size))
      return;

   uint8_t *first = byte_of(written, address);
   uint8_t *last = byte_of(written, address + size - 1);
   memset(first, GPUVAL_INIT_ALL, last - first + 1);
}

void
gpuval_written_set(struct gpuval_written *written, uint64_t address, uint8_t bits)
{
   if (!is_tracked(written, address, 1))
      return;
   simple_mtx_lock(&written->mutex);
   *byte_of(written, address) |= bits;
   drop_later(written, address, 1, bits);
   simple_mtx_unlock(&written->mutex);
}

uint8_t
gpuval_written_get(const struct gpuval_written *written, uint64_t address)
{
   return is_tracked(written, address, 1) ? *byte_of(written, address) : GPUVAL_INIT_ALL;
}

static void
clear(struct gpuval_written *written, uint64_t address, uint8_t bits)
{
   if (!is_tracked(written, address, 1))
      return;
   *byte_of(written, address) &= ~bits;
   p_atomic_inc(&written->version);
}

void
gpuval_written_clear(struct gpuval_written *written, uint64_t address, uint8_t bits)
{
   simple_mtx_lock(&written->mutex);
   clear(written, address, bits);
   simple_mtx_unlock(&written->mutex);
}

void
gpuval_written_clear_later(struct gpuval_written *written, uint64_t address, uint8_t bits)
{
   const struct later later = {address, bits};
   simple_mtx_lock(&written->mutex);
   util_dynarray_append_typed(&written->later, struct later, later);
   simple_mtx_unlock(&written->mutex);
}

void
gpuval_written_flush(struct gpuval_written *written)
{
   simple_mtx_lock(&written->mutex);
   util_dynarray_foreach (&written->later, struct later, later) {
      if (later->bits)
         clear(written, later->address, later->bits);
   }
   util_dynarray_clear(&written->later);
   simple_mtx_unlock(&written->mutex);
}

void
gpuval_written_forget(struct gpuval_written *written)
{
   p_atomic_inc(&written->version);
}

static struct prefix *
get_prefix(struct gpuval_written *written, uint64_t address, uint64_t size)
{
   uint64_t key[2] = {address, size};
   struct prefix *prefix = &written->prefixes[_mesa_hash_data(key, sizeof(key)) % NUM_PREFIXES];
   uint32_t version = p_atomic_read(&written->version);

   if (prefix->address != address || prefix->size != size || prefix->version != version)
      *prefix = (struct prefix){.address = address, .size = size, .version = version};
   return prefix;
}

/* Poisoned memory that has anything else was written by the host. */
static bool
is_word_written(const struct gpuval_written *written, uint64_t word)
{
   uint8_t *byte = byte_of(written, word);

   if (*byte != GPUVAL_INIT_ALL && written->poison &&
       *(const volatile uint32_t *)(uintptr_t)word != written->poison)
      *byte = GPUVAL_INIT_ALL;
   return *byte == GPUVAL_INIT_ALL;
}

bool
gpuval_written_is_marked(struct gpuval_written *written, uint64_t address, uint64_t size)
{
   if (!size || !is_tracked(written, address, size))
      return true;

   struct prefix *prefix = get_prefix(written, address, size);
   uint64_t at = (address & ~(uint64_t)(WORD - 1)) + prefix->done;
   uint64_t end = address + size;
   while (at < end) {
      uint64_t eight;
      memcpy(&eight, byte_of(written, at), sizeof(eight));
      if (eight == UINT64_MAX)
         at += 8 * WORD;
      else if (is_word_written(written, at))
         at += WORD;
      else
         break;
   }
   prefix->done = at - (address & ~(uint64_t)(WORD - 1));
   return at >= end;
}

bool
gpuval_written_is_view_marked(struct gpuval_written *written,
                              const struct gpuval_written_view *view)
{
   uint64_t key[3] = {view->offsets[view->first_level], view->last_level, view->num_layers};
   if (!is_tracked(written, view->base, 1))
      return true;

   struct prefix *prefix =
      get_prefix(written, view->base + key[0], (uint64_t)_mesa_hash_data(key, sizeof(key)) << 32);
   unsigned num_levels = view->last_level - view->first_level + 1;
   uint64_t count = (uint64_t)num_levels * view->num_layers;
   while (prefix->done < count) {
      unsigned level = view->first_level + prefix->done / view->num_layers;
      uint64_t layer = prefix->done % view->num_layers;
      uint64_t address = view->base + view->offsets[level] + layer * view->strides[level];
      if (gpuval_written_get(written, address) != GPUVAL_INIT_ALL)
         return false;
      prefix->done++;
   }
   return true;
}

/* The prefix is looked up once more at the end: is_marked() may have put that of a view in its
 * place, and another thread may have cleared a subresource.
 */
bool
gpuval_written_is_list_marked(struct gpuval_written *written,
                              const struct gpuval_written_list *list)
{
   const uint32_t version = p_atomic_read(&written->version);
   uint64_t done = get_prefix(written, list->address, list->key)->done;
   if (done == list->count)
      return true;

   while (done < list->count && list->is_marked(list->data, done))
      done++;
   struct prefix *prefix = get_prefix(written, list->address, list->key);
   if (prefix->version == version)
      prefix->done = done;
   return done == list->count;
}
