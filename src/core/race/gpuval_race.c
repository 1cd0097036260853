/* SPDX-License-Identifier: MIT */

#include "gpuval_race.h"

#include <stdlib.h>

#include "base/gpuval_log.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "report/gpuval_report.h"
#include "util/hash_table.h"
#include "util/macros.h"
#include "util/ralloc.h"
#include "util/simple_mtx.h"
#include "util/u_atomic.h"

/* Of a subresource, that are unordered with each other: boxes of one that is put together of many */
#define MAX_USES 256
/* Of buffers' bytes, all together */
#define MAX_RANGES 1024
/* What comes between two barriers, or in one submit */
#define MAX_NOTES (1u << 20)
/* What is freed is forgotten by so many at once. */
#define MAX_FREED 256

struct place {
   uint64_t address, size; /* size 0: a subresource */
};

struct note {
   struct gpuval_race_use use;
   const uint32_t *before;
   const uint32_t *dependent; /* NULL: as @before */
   const uint32_t *available; /* NULL: not known */
   const uint32_t *flag;
   uint32_t bits;
   unsigned num_places;
};

/* Who has used a subresource; none of them is behind another that says more */
struct lock {
   uint32_t reported_pass; /* whose attachments have been in a race here already; 0: none */
   unsigned num_uses;
   struct gpuval_race_use uses[];
};

struct range {
   struct place place;
   struct gpuval_race_use use;
};

/* Flags of notes, where they are until they are copied */
struct watch {
   const void *owner; /* NULL: they have been */
   const uint32_t *from;
   uint32_t *to;
   unsigned count;
};

struct gpuval_race_segment {
   linear_ctx *linear; /* what gpuval_race_alloc() has given away */
   struct util_dynarray notes, places, watches;
   bool is_full; /* the last note had no room */
};

struct gpuval_race {
   gpuval_race_function report;
   void *data;
   bool warned; /* that something has found no room */

   struct gpuval_race_segment *segment; /* what is noted */

   simple_mtx_t mutex;           /* what follows: memory is freed by any thread */
   struct hash_table_u64 *locks; /* address -> struct lock */
   struct util_dynarray ranges;  /* struct range */
   struct util_dynarray freed;   /* struct place: memory that is to be forgotten */
};

/* What is not kept is not compared with what comes later: a race may be missed. */
static void
lose(struct gpuval_race *race, const char *what, unsigned max)
{
   if (!p_atomic_xchg(&race->warned, true))
      gpuval_log_warning("race: more than %u %s: races with some of them are not found, and they "
                         "count as lost",
                         max, what);
   gpuval_report_add_lost(1);
}

static struct gpuval_race_segment *
begin_segment(void)
{
   struct gpuval_race_segment *segment = rzalloc(NULL, struct gpuval_race_segment);

   segment->linear = linear_context(segment);
   util_dynarray_init(&segment->notes, segment);
   util_dynarray_init(&segment->places, segment);
   util_dynarray_init(&segment->watches, segment);
   return segment;
}

struct gpuval_race *
gpuval_race_create(gpuval_race_function report, void *data)
{
   struct gpuval_race *race = rzalloc(NULL, struct gpuval_race);

   race->report = report;
   race->data = data;
   race->segment = begin_segment();
   simple_mtx_init(&race->mutex, mtx_plain);
   race->locks = _mesa_hash_table_u64_create(race);
   util_dynarray_init(&race->ranges, race);
   util_dynarray_init(&race->freed, race);
   return race;
}

static void
free_locks(struct gpuval_race *race)
{
   hash_table_u64_foreach (race->locks, entry)
      free(entry.data);
   _mesa_hash_table_u64_clear(race->locks);
   util_dynarray_clear(&race->ranges);
}

void
gpuval_race_destroy(struct gpuval_race *race)
{
   free_locks(race);
   simple_mtx_destroy(&race->mutex);
   ralloc_free(race->segment);
   ralloc_free(race);
}

void
gpuval_race_restart(struct gpuval_race *race)
{
   util_dynarray_clear(&race->segment->notes);
   util_dynarray_clear(&race->segment->places);
   simple_mtx_lock(&race->mutex);
   free_locks(race);
   simple_mtx_unlock(&race->mutex);
}

static int
compare_places(const void *a, const void *b)
{
   const struct place *one = a, *other = b;
   return one->address < other->address ? -1 : one->address > other->address;
}

/* Ascending, none in another one: memory may have been given away and freed again. */
static void
merge_places(struct util_dynarray *places)
{
   struct place *last = places->data;

   qsort(places->data, util_dynarray_num_elements(places, struct place), sizeof(struct place),
         compare_places);
   util_dynarray_foreach (places, struct place, place) {
      uint64_t end = MAX2(last->address + last->size, place->address + place->size);
      if (place->address <= last->address + last->size)
         last->size = end - last->address;
      else
         *++last = *place;
   }
   places->size = (char *)(last + 1) - (char *)places->data;
}

static bool
is_freed(const struct util_dynarray *freed, uint64_t address)
{
   const struct place *places = freed->data;
   unsigned begin = 0, end = util_dynarray_num_elements(freed, struct place);

   while (begin < end) {
      unsigned middle = begin + (end - begin) / 2;
      if (places[middle].address <= address)
         begin = middle + 1;
      else
         end = middle;
   }
   return begin && address - places[begin - 1].address < places[begin - 1].size;
}

/* All at once, as programs may free many. */
static void
forget_freed(struct gpuval_race *race)
{
   if (!race->freed.size)
      return;

   merge_places(&race->freed);
   hash_table_u64_foreach (race->locks, entry) {
      if (!is_freed(&race->freed, entry.key))
         continue;
      free(entry.data);
      _mesa_hash_table_u64_remove(race->locks, entry.key);
   }

   unsigned count = 0;
   util_dynarray_foreach (&race->ranges, struct range, range) {
      if (!is_freed(&race->freed, range->place.address))
         *util_dynarray_element(&race->ranges, struct range, count++) = *range;
   }
   race->ranges.size = count * sizeof(struct range);
   util_dynarray_clear(&race->freed);
}

void
gpuval_race_forget(struct gpuval_race *race, uint64_t address, uint64_t size)
{
   const struct place place = {address, size};

   simple_mtx_lock(&race->mutex);
   util_dynarray_append_typed(&race->freed, struct place, place);
   if (util_dynarray_num_elements(&race->freed, struct place) >= MAX_FREED)
      forget_freed(race);
   simple_mtx_unlock(&race->mutex);
}

/* Notes */

void *
gpuval_race_alloc(struct gpuval_race *race, unsigned size)
{
   return linear_zalloc_child(race->segment->linear, size);
}

void
gpuval_race_note(struct gpuval_race *race, const struct gpuval_race_use *use,
                 const uint32_t *before, const uint32_t *dependent, const uint32_t *available,
                 const uint32_t *flag, uint32_t bits)
{
   const struct note note = {*use, before, dependent, available, flag, bits, 0};

   struct gpuval_race_segment *segment = race->segment;
   segment->is_full = util_dynarray_num_elements(&segment->notes, struct note) >= MAX_NOTES;
   if (segment->is_full)
      lose(race, "uses between two barriers, or in one submit", MAX_NOTES);
   else
      util_dynarray_append_typed(&segment->notes, struct note, note);
}

void
gpuval_race_note_bytes(struct gpuval_race *race, uint64_t address, uint64_t size)
{
   struct gpuval_race_segment *segment = race->segment;
   const struct place place = {address, size};
   if (segment->is_full || !address)
      return;

   util_dynarray_append_typed(&segment->places, struct place, place);
   util_dynarray_top_ptr(&segment->notes, struct note)->num_places++;
}

void
gpuval_race_note_subresource(struct gpuval_race *race, uint64_t address)
{
   gpuval_race_note_bytes(race, address, 0);
}

const uint32_t *
gpuval_race_watch(struct gpuval_race *race, const void *owner, const uint32_t *flags,
                  unsigned count)
{
   const struct watch watch = {
      .owner = owner,
      .from = flags,
      .to = gpuval_race_alloc(race, count * sizeof(*flags)),
      .count = count,
   };

   util_dynarray_append_typed(&race->segment->watches, struct watch, watch);
   return watch.to;
}

void
gpuval_race_fetch(struct gpuval_race_segment *segment, const void *owner)
{
   util_dynarray_foreach (&segment->watches, struct watch, watch) {
      if (!watch->owner || (owner && watch->owner != owner))
         continue;
      memcpy(watch->to, watch->from, watch->count * sizeof(*watch->to));
      watch->owner = NULL;
   }
}

/* Races */

/* A subresource is one as long as it is not known that other texels are meant. */
static bool
overlap(const struct gpuval_race_use *a, const struct gpuval_race_use *b)
{
   if (a->extent != GPUVAL_RACE_BOX || b->extent != GPUVAL_RACE_BOX)
      return true;

   for (unsigned i = 0; i < ARRAY_SIZE(a->begin); i++) {
      if (a->begin[i] >= b->end[i] || b->begin[i] >= a->end[i])
         return false;
   }
   return true;
}

static bool
is_ordered(const struct gpuval_race_use *other, const uint32_t *before)
{
   return other->serial <= before[other->source];
}

static bool
is_one_command(const struct gpuval_race_use *a, const struct gpuval_race_use *b)
{
   return a->command_id == b->command_id && a->recording == b->recording;
}

/* What was written has to be made available, too. Layouts change by barriers for their image.
 * @dependent: of an image; NULL: memory does not count
 */
static bool
lacks_memory(const struct gpuval_race_use *use, const uint32_t *dependent,
             const struct gpuval_race_use *other)
{
   bool is_fenced = other->releases && use->acquires;

   return dependent && other->is_write && !other->is_covered && !other->is_transition &&
          !use->is_transition && !is_fenced && !is_ordered(other, dependent);
}

/* What is certain without knowing what image barriers say of accesses: a read behind a write that
 * nothing has made available. Layouts change with that.
 */
static bool
lacks_access(const struct gpuval_race_use *use, const uint32_t *available,
             const struct gpuval_race_use *other)
{
   bool is_of_commands = !other->host_op && !use->host_op;
   bool is_transition = other->is_transition || use->is_transition;

   return available && is_of_commands && !is_transition && other->is_write && !use->is_write &&
          !other->releases && !use->acquires && !other->is_covered &&
          other->serial > available[other->source];
}

static bool
is_race(const struct note *note, const struct gpuval_race_use *other)
{
   const struct gpuval_race_use *use = &note->use;
   bool is_one_pass = use->pass && use->pass == other->pass;

   /* What comes before its command buffer, a program that moves resources between several
    * does not say in each barrier.
    */
   if ((use->is_transition || other->is_transition) && use->recording != other->recording)
      return false;
   if (other->behind == use->recording + 1)
      return false;

   return (use->is_write || other->is_write) && !(use->is_atomic && other->is_atomic) &&
          !(use->has_texels && other->has_texels) && !is_one_command(use, other) && !is_one_pass &&
          (!is_ordered(other, note->before) || lacks_memory(use, note->dependent, other) ||
           lacks_access(use, note->available, other)) &&
          overlap(use, other);
}

static bool
is_same(const struct gpuval_race_use *a, const struct gpuval_race_use *b)
{
   return a->source == b->source && a->serial == b->serial && a->is_write == b->is_write &&
          a->is_atomic == b->is_atomic && a->has_texels == b->has_texels && a->pass == b->pass &&
          a->extent == b->extent && !memcmp(a->begin, b->begin, sizeof(a->begin)) &&
          !memcmp(a->end, b->end, sizeof(a->end)) && (!a->is_write || is_one_command(a, b));
}

/* Whoever is in a race with @other, is in one with @use, or comes after both. Of a source serials
 * ascend, and what is ordered is a beginning of them.
 */
static bool
replaces(const struct gpuval_race_use *use, const uint32_t *before,
         const struct gpuval_race_use *other)
{
   bool covers = use->extent == GPUVAL_RACE_WHOLE || use->extent == other->extent;

   if (use->extent == GPUVAL_RACE_BOX && covers) {
      for (unsigned i = 0; i < ARRAY_SIZE(use->begin); i++)
         covers &= use->begin[i] <= other->begin[i] && use->end[i] >= other->end[i];
   }
   return (use->source == other->source || is_ordered(other, before)) && covers &&
          (use->is_write || !other->is_write) && (!use->is_atomic || other->is_atomic) &&
          (!use->has_texels || other->has_texels);
}

/* A use that @transition would replace, but for what is of other recordings */
static bool
stays_behind(const struct gpuval_race_use *transition, const struct gpuval_race_use *other)
{
   return transition->is_transition && !other->is_transition;
}

/* Of a pass the first command that uses the attachment is in a race: those that follow are in the
 * same one.
 */
static const struct gpuval_race_use *
find_in_lock(const struct gpuval_race *race, const struct note *note, uint64_t address)
{
   struct lock *lock = _mesa_hash_table_u64_search(race->locks, address);
   uint32_t pass = note->use.site == GPUVAL_RACE_NO_SITE ? note->use.pass : 0;
   if (!lock || (pass && pass == lock->reported_pass))
      return NULL;

   for (unsigned i = 0; i < lock->num_uses; i++) {
      if (is_race(note, &lock->uses[i])) {
         lock->reported_pass = pass;
         return &lock->uses[i];
      }
   }
   return NULL;
}

/* One that is ordered before @note if there is one, else the oldest: it is lost. */
static void
drop_use(struct gpuval_race *race, const struct note *note, struct lock *lock, unsigned count)
{
   unsigned i = 0;

   while (i < count && !is_ordered(&lock->uses[i], note->before))
      i++;
   if (i == count) {
      i = 0;
      lose(race, "uses of parts of one subresource without a barrier in between", MAX_USES);
   }
   memmove(&lock->uses[i], &lock->uses[i + 1], (count - i - 1) * sizeof(lock->uses[0]));
}

static void
add_to_lock(struct gpuval_race *race, const struct note *note, uint64_t address)
{
   struct lock *lock = _mesa_hash_table_u64_search(race->locks, address);
   unsigned count = 0;

   for (unsigned i = 0; lock && i < lock->num_uses; i++) {
      if (is_same(&note->use, &lock->uses[i]))
         return;
   }
   for (unsigned i = 0; lock && i < lock->num_uses; i++) {
      struct gpuval_race_use *other = &lock->uses[i];
      bool is_replaced = replaces(&note->use, note->before, other);
      if (is_replaced && !stays_behind(&note->use, other))
         continue;
      if (is_replaced)
         other->behind = note->use.recording + 1;
      lock->uses[count++] = *other;
   }
   if (count == MAX_USES)
      drop_use(race, note, lock, count--);

   /* Mostly there is one. */
   if (!lock || count > 0) {
      uint32_t reported_pass = lock ? lock->reported_pass : 0;
      lock = realloc(lock, sizeof(*lock) + (count + 1) * sizeof(lock->uses[0]));
      lock->reported_pass = reported_pass;
      _mesa_hash_table_u64_insert(race->locks, address, lock);
   }
   lock->uses[count] = note->use;
   lock->num_uses = count + 1;
}

static bool
places_overlap(const struct place *a, const struct place *b)
{
   return a->address < b->address + b->size && b->address < a->address + a->size;
}

static const struct gpuval_race_use *
find_in_ranges(const struct gpuval_race *race, const struct note *note, const struct place *place)
{
   util_dynarray_foreach (&race->ranges, struct range, range) {
      if (places_overlap(&range->place, place) && is_race(note, &range->use))
         return &range->use;
   }
   return NULL;
}

/* One that is ordered before @note if there is one, else the oldest: it is lost. */
static void
drop_range(struct gpuval_race *race, const struct note *note)
{
   struct range *dropped = NULL;

   util_dynarray_foreach (&race->ranges, struct range, range) {
      if (is_ordered(&range->use, note->before)) {
         dropped = range;
         break;
      }
   }
   if (!dropped) {
      dropped = util_dynarray_begin(&race->ranges);
      lose(race, "ranges of buffers that are used without a barrier in between", MAX_RANGES);
   }
   struct range *end = util_dynarray_top_ptr(&race->ranges, struct range) + 1;
   memmove(dropped, dropped + 1, (end - dropped - 1) * sizeof(*dropped));
   race->ranges.size -= sizeof(*dropped);
}

static void
add_range(struct gpuval_race *race, const struct note *note, const struct place *place)
{
   const struct range added = {*place, note->use};
   unsigned count = 0;

   util_dynarray_foreach (&race->ranges, struct range, range) {
      bool is_inside = range->place.address >= place->address &&
                       range->place.address + range->place.size <= place->address + place->size;
      if (!is_inside || !replaces(&note->use, note->before, &range->use))
         *util_dynarray_element(&race->ranges, struct range, count++) = *range;
   }
   race->ranges.size = count * sizeof(struct range);
   if (count == MAX_RANGES)
      drop_range(race, note);
   util_dynarray_append_typed(&race->ranges, struct range, added);
}

static void
cover(struct gpuval_race *race, const struct note *note, const struct place *places)
{
   for (unsigned i = 0; i < note->num_places; i++) {
      struct lock *lock = _mesa_hash_table_u64_search(race->locks, places[i].address);
      for (unsigned j = 0; lock && j < lock->num_uses; j++)
         lock->uses[j].is_covered = true;
   }
}

/* A shader that may have used any of several is in a race if it is in one in each of them;
 * which one it has used, those who come later cannot know.
 */
static void
process(struct gpuval_race *race, const struct note *note, const struct place *places)
{
   bool is_one_of_many = note->flag && note->num_places > 1;
   const struct gpuval_race_use *found = NULL;
   struct gpuval_race_use other;

   for (unsigned i = 0; i < note->num_places && !note->use.goes_on; i++) {
      const struct gpuval_race_use *use = places[i].size
                                             ? find_in_ranges(race, note, &places[i])
                                             : find_in_lock(race, note, places[i].address);
      if (use && !found) {
         found = &other;
         other = *use;
      } else if (!use && is_one_of_many) {
         found = NULL;
         break;
      }
   }
   for (unsigned i = 0; i < note->num_places && !is_one_of_many; i++) {
      if (places[i].size)
         add_range(race, note, &places[i]);
      else
         add_to_lock(race, note, places[i].address);
   }

   if (found) {
      struct gpuval_race_use use = note->use;
      use.lacks_access =
         is_ordered(&other, note->before) && !lacks_memory(&use, note->dependent, &other);
      simple_mtx_unlock(&race->mutex);
      race->report(race->data, &use, &other);
      simple_mtx_lock(&race->mutex);
   }
}

struct gpuval_race_segment *
gpuval_race_take(struct gpuval_race *race)
{
   struct gpuval_race_segment *segment = race->segment;

   race->segment = begin_segment();
   return segment;
}

void
gpuval_race_judge(struct gpuval_race *race, struct gpuval_race_segment *segment)
{
   const struct place *places = segment->places.data;

   gpuval_race_fetch(segment, NULL);
   simple_mtx_lock(&race->mutex);
   forget_freed(race);
   util_dynarray_foreach (&segment->notes, struct note, note) {
      if (note->use.is_barrier)
         cover(race, note, places);
      else if (!note->flag || *note->flag & note->bits)
         process(race, note, places);
      places += note->num_places;
   }
   simple_mtx_unlock(&race->mutex);
   ralloc_free(segment);
}

void
gpuval_race_drop(struct gpuval_race_segment *segment)
{
   ralloc_free(segment);
}

void
gpuval_race_flush(struct gpuval_race *race)
{
   if (race->segment->notes.size)
      gpuval_race_judge(race, gpuval_race_take(race));
}
