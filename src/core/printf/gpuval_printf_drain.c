/* SPDX-License-Identifier: MIT */

/* From the printf buffers to messages. gpuval_printf.h says how. */

#include "gpuval_printf.h"

#include <inttypes.h>
#include <locale.h>
#include <string.h>

#include "base/gpuval_fence.h"
#include "base/gpuval_log.h"
#include "util/os_time.h"
#include "util/ralloc.h"

/* What the queue may hold: a host that cannot keep up is not to eat all memory. */
#define MAX_QUEUE_WORDS (64u << 20)

/* Messages between two looks at the buffers, and at most in one go */
#define MESSAGES_A_LOOK  64
#define MESSAGES_A_DRAIN 8192

/* One entry may stay unwritten for so long. A thread that runs shaders may have to
 * wait for a processor; an invocation that was killed between the claim and the last
 * store never writes it.
 */
#define MAX_WAIT_NS 200000000

void
gpuval_printf_init(struct gpuval_printf *printf, void *mem_ctx, void *const maps[2],
                   const uint64_t addresses[2], uint64_t size, uint64_t *root_address)
{
   for (unsigned i = 0; i < 2; i++) {
      printf->buffers[i] = (struct gpuval_printf_buffer){
         .header = maps[i],
         .words = (uint32_t *)((struct gpuval_printf_header *)maps[i] + 1),
         .capacity = (size - sizeof(struct gpuval_printf_header)) / sizeof(uint32_t),
      };
      printf->addresses[i] = addresses[i];
   }
   printf->root_address = root_address;
   printf->has_atomics = true;
   printf->max_wait = MAX_WAIT_NS;
   *root_address = addresses[0];
   util_dynarray_init(&printf->queue, mem_ctx);
   printf->formats = _mesa_hash_table_u64_create(mem_ctx);
   printf->c_locale = newlocale(LC_ALL_MASK, "C", NULL);
}

void
gpuval_printf_finish(struct gpuval_printf *printf)
{
   if (printf->c_locale)
      freelocale(printf->c_locale);
}

static bool
formats_equal(const struct gpuval_nir_format *a, const struct gpuval_nir_format *b)
{
   return !strcmp(a->string, b->string) && a->num_arguments == b->num_arguments &&
          a->has_invocation == b->has_invocation && a->is_numbered == b->is_numbered &&
          !memcmp(a->arguments, b->arguments, a->num_arguments * sizeof(*a->arguments));
}

static struct gpuval_printf_format *
create_format(struct gpuval_printf *printf, const struct gpuval_nir_format *nir)
{
   struct gpuval_printf_format *format = rzalloc(printf->formats, struct gpuval_printf_format);
   struct gpuval_nir_format *copy = ralloc(format, struct gpuval_nir_format);

   *copy = *nir;
   copy->string = ralloc_strdup(copy, nir->string);
   copy->arguments =
      ralloc_memdup(copy, nir->arguments, nir->num_arguments * sizeof(*nir->arguments));
   format->nir = copy;
   util_dynarray_init(&format->users, format);
   return format;
}

void
gpuval_printf_add_format(struct gpuval_printf *printf, const struct gpuval_nir_format *nir,
                         const void *owner, uint32_t site)
{
   struct gpuval_printf_format *format = _mesa_hash_table_u64_search(printf->formats, nir->id);

   if (format && !formats_equal(format->nir, nir)) {
      if (!printf->warned_collision) {
         printf->warned_collision = true;
         gpuval_log_warning("printf: the id %012" PRIx64 " is that of two formats, \"%s\" and "
                            "\"%s\": messages of the second are printed as the first",
                            nir->id, format->nir->string, nir->string);
      }
   } else if (!format) {
      format = create_format(printf, nir);
      _mesa_hash_table_u64_insert(printf->formats, nir->id, format);
   }

   const struct gpuval_printf_user user = {owner, site};
   if (!format->users.size) {
      format->owner = owner;
      format->site = site;
   }
   util_dynarray_append_typed(&format->users, struct gpuval_printf_user, user);
}

void
gpuval_printf_remove_format(struct gpuval_printf *printf, uint64_t id, const void *owner)
{
   struct gpuval_printf_format *format = _mesa_hash_table_u64_search(printf->formats, id);
   if (!format)
      return;

   util_dynarray_foreach (&format->users, struct gpuval_printf_user, user) {
      if (user->owner == owner) {
         *user = util_dynarray_pop(&format->users, struct gpuval_printf_user);
         break;
      }
   }
   if (format->users.size) {
      const struct gpuval_printf_user *first = util_dynarray_begin(&format->users);
      format->owner = first->owner;
      format->site = first->site;
   } else if (!format->warned) {
      /* What has been said of the others is not to be said again. */
      _mesa_hash_table_u64_remove(printf->formats, id);
      ralloc_free(format);
   }
}

static uint64_t
claimed(const struct gpuval_printf_buffer *buffer)
{
   return __atomic_load_n(&buffer->header->offset, __ATOMIC_ACQUIRE);
}

/* @head is the entry's first dword as it was when its size was looked at: whoever has
 * the buffer's address may write there again and again.
 */
static void
queue_entry(struct gpuval_printf *printf, const uint32_t *words, uint32_t head)
{
   size_t queued = util_dynarray_num_elements(&printf->queue, uint32_t) - printf->queue_read;
   uint32_t size = head & 0xffff;

   if (queued + size > MAX_QUEUE_WORDS) {
      printf->lost++;
      return;
   }
   uint32_t *entry = util_dynarray_grow(&printf->queue, uint32_t, size);
   entry[0] = head;
   memcpy(entry + 1, words + 1, (size - 1) * sizeof(*words));
}

/* Copies entries that begin before @limit to the queue, and leaves zeros. False:
 * there is one that is not whole yet.
 */
static bool
collect(struct gpuval_printf *printf, struct gpuval_printf_buffer *buffer, uint64_t limit)
{
   uint32_t end = MIN2(limit, buffer->capacity);

   while (buffer->read < end) {
      uint32_t *words = &buffer->words[buffer->read];
      uint32_t room = buffer->capacity - buffer->read;
      if (room < GPUVAL_PRINTF_ENTRY_WORDS) {
         buffer->read = buffer->capacity;
         break;
      }

      uint32_t head = __atomic_load_n(&words[0], __ATOMIC_ACQUIRE);
      uint32_t size = head & 0xffff;
      if (!size)
         return false;

      if (size > room) {
         /* The one that did not fit; its shader has counted it. */
         size = room;
      } else if (size < GPUVAL_PRINTF_ENTRY_WORDS) {
         /* No shader of ours writes this: where the next one begins is not known. */
         if (!printf->warned_entry)
            gpuval_log_warning("printf: something has overwritten the printf buffer: messages "
                               "are lost");
         printf->warned_entry = true;
         printf->lost++;
         size = end - buffer->read;
      } else {
         if (!printf->has_atomics)
            gpuval_fence_video_memory();
         queue_entry(printf, words, head);
      }
      memset(words, 0, size * sizeof(*words));
      buffer->read += size;
   }
   return true;
}

/* Takes back a buffer of which all has been read. False: there is more by now. */
static bool
take_back(const struct gpuval_printf *printf, struct gpuval_printf_buffer *buffer)
{
   uint64_t seen = claimed(buffer);

   if (!printf->has_atomics) {
      /* Nobody uses it. */
      if (seen)
         __atomic_store_n(&buffer->header->offset, 0, __ATOMIC_RELEASE);
      buffer->read = 0;
      return true;
   }

   do {
      if (MIN2(seen, buffer->capacity) > buffer->read)
         return false;
      /* Full: who comes now finds no room, so nobody is writing. */
      if (buffer->read == buffer->capacity) {
         __atomic_exchange_n(&buffer->header->offset, 0, __ATOMIC_ACQ_REL);
         break;
      }
   } while (seen && !__atomic_compare_exchange_n(&buffer->header->offset, &seen, 0, false,
                                                 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
   buffer->read = 0;
   return true;
}

/* At the end of work: nobody will write what is not whole now. */
static void
discard(struct gpuval_printf *printf, struct gpuval_printf_buffer *buffer)
{
   uint32_t end = MIN2(claimed(buffer), buffer->capacity);

   if (buffer->read < end) {
      gpuval_log_warning("printf: an invocation ended while it printed: %" PRIu32
                         " bytes of messages cannot be read",
                         (end - buffer->read) * 4);
      printf->lost++;
      memset(&buffer->words[buffer->read], 0, (end - buffer->read) * sizeof(uint32_t));
   }
   buffer->read = end;
   take_back(printf, buffer);
}

static void
look(struct gpuval_printf *printf, bool idle)
{
   struct gpuval_printf_buffer *active = &printf->buffers[printf->active];
   struct gpuval_printf_buffer *other = &printf->buffers[!printf->active];

   /* First this one: all that is before it in any invocation is in the other
    * buffer now, see gpuval_printf.h.
    */
   uint64_t limit = claimed(active);
   bool whole = collect(printf, other, claimed(other));

   if (idle && !whole)
      discard(printf, other);
   if (whole)
      printf->waits_until = 0;
   else if (!printf->waits_until)
      printf->waits_until = os_time_get_nano() + printf->max_wait;
   if (!whole && !idle && os_time_get_nano() < printf->waits_until)
      return;

   if (!collect(printf, active, limit) && idle)
      discard(printf, active);

   if (!printf->has_atomics && !idle)
      return;
   if (whole && take_back(printf, other) && limit) {
      printf->active = !printf->active;
      __atomic_store_n(printf->root_address, printf->addresses[printf->active], __ATOMIC_RELEASE);
   }
}

bool
gpuval_printf_give_back(struct gpuval_printf *printf)
{
   struct gpuval_printf_buffer *active = &printf->buffers[printf->active];
   struct gpuval_printf_buffer *other = &printf->buffers[!printf->active];

   if (claimed(other)) {
      if (!collect(printf, other, claimed(other)))
         discard(printf, other);
      take_back(printf, other);
   }
   return claimed(active) > active->capacity / 4;
}

void
gpuval_printf_turn(struct gpuval_printf *printf)
{
   printf->active = !printf->active;
   __atomic_store_n(printf->root_address, printf->addresses[printf->active], __ATOMIC_RELEASE);
}

static void
print_entry(struct gpuval_printf *printf, const uint32_t *entry, struct util_dynarray *text)
{
   uint64_t id = entry[0] >> 16 | (uint64_t)entry[1] << 16;
   const uint32_t *payload = entry + GPUVAL_PRINTF_ENTRY_WORDS;
   unsigned num_words = (entry[0] & 0xffff) - GPUVAL_PRINTF_ENTRY_WORDS;

   struct gpuval_printf_format *format = _mesa_hash_table_u64_search(printf->formats, id);
   if (!format || !format->users.size) {
      if (!printf->warned_id)
         gpuval_log_warning("printf: a message has the id %012" PRIx64
                            ", which no shader has: such messages are lost",
                            id);
      printf->warned_id = true;
      printf->lost++;
      return;
   }

   struct gpuval_printf_message message = {.format = format};
   if ((format->nir->has_invocation || format->nir->is_numbered) && num_words >= 3) {
      num_words -= 3;
      message.invocation = format->nir->has_invocation ? payload + num_words : NULL;
      if (format->nir->is_numbered && num_words >= GPUVAL_PRINTF_NUMBER_WORDS) {
         num_words -= GPUVAL_PRINTF_NUMBER_WORDS;
         message.origin = payload + num_words;
      }
   }

   char problem[GPUVAL_PRINTF_MAX_PROBLEM];
   util_dynarray_clear(text);
   gpuval_printf_append_text(text, format->nir, payload, num_words, problem);
   if (*problem && !format->warned) {
      format->warned = true;
      gpuval_log_warning("printf: format \"%s\": %s", format->nir->string, problem);
   }

   if (text->size && *(char *)util_dynarray_top_ptr(text, char) == '\n')
      text->size--;
   util_dynarray_append_typed(text, char, 0);
   message.text = util_dynarray_begin(text);
   printf->message(printf->data, &message);
}

/* Returns the number of messages. */
static unsigned
print(struct gpuval_printf *printf, unsigned max, struct util_dynarray *text)
{
   size_t queued = util_dynarray_num_elements(&printf->queue, uint32_t);
   unsigned count = 0;

   for (; count < max && printf->queue_read < queued; count++) {
      const uint32_t *entry = util_dynarray_element(&printf->queue, uint32_t, printf->queue_read);
      print_entry(printf, entry, text);
      printf->queue_read += entry[0] & 0xffff;
   }

   /* What is done goes when it is all, or half of much. */
   if (printf->queue_read == queued) {
      util_dynarray_clear(&printf->queue);
      printf->queue_read = 0;
   } else if (printf->queue_read > MAX_QUEUE_WORDS / 64 && printf->queue_read > queued / 2) {
      uint32_t *words = util_dynarray_begin(&printf->queue);
      printf->queue.size -= printf->queue_read * sizeof(uint32_t);
      memmove(words, words + printf->queue_read, printf->queue.size);
      printf->queue_read = 0;
   }
   return count;
}

bool
gpuval_printf_is_used(const struct gpuval_printf *printf)
{
   return !printf->printed || __atomic_load_n(printf->printed, __ATOMIC_RELAXED);
}

bool
gpuval_printf_has_news(const struct gpuval_printf *printf)
{
   if (!gpuval_printf_is_used(printf))
      return false;
   return printf->queue.size || claimed(&printf->buffers[0]) || claimed(&printf->buffers[1]);
}

bool
gpuval_printf_drain(struct gpuval_printf *printf, bool idle)
{
   if (!gpuval_printf_has_news(printf))
      return false;

   /* The program may have set a locale that has no decimal point. */
   locale_t locale = uselocale(printf->c_locale);

   struct util_dynarray text;
   util_dynarray_init(&text, NULL);
   unsigned count = 0, printed;
   do {
      look(printf, idle);
      printed = print(printf, MESSAGES_A_LOOK, &text);
      count += printed;
   } while (printed && count < MESSAGES_A_DRAIN);
   util_dynarray_fini(&text);

   uselocale(locale);
   return count >= MESSAGES_A_DRAIN;
}
