/* SPDX-License-Identifier: MIT */

#include "gpuval_merge_runs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/hash_table.h"
#include "util/ralloc.h"

#define CHUNK 65536 /* notes that are sorted in memory at a time */

/* A note in the file `seen`, and, sorted, in `by_failure` */
struct note {
   uint32_t failure, run;
   uint64_t count;
   uint32_t machine; /* 1 + index of names; 0: not known. When it is sorted */
   uint32_t order;   /* within a chunk */
};

/* Notes of a failure in `by_failure` */
struct slice {
   uint64_t first;
   uint64_t count;
};

enum { FILE_NAME, HOST, PROGRAM, TIME, ENDED, DRIVER, NUM_STRINGS };

/* A run in the file `runs`, in front of its strings */
struct record {
   int64_t pid;
   double seconds;
   uint32_t checks;
   uint32_t incomplete;
   uint32_t lengths[NUM_STRINGS]; /* with the NUL; 0: NULL */
};

struct gpuval_merge_runs {
   FILE *runs;       /* struct record and strings */
   FILE *machines;   /* uint32_t a run, as note::machine */
   FILE *seen;       /* struct note */
   FILE *by_failure; /* the same, sorted */
   struct slice *slices;

   uint32_t num_runs; /* with the last one, which is not written yet */
   struct gpuval_run last;
   void *last_ctx;
   char *program; /* of all of them; NULL: there are several, or it is not known */
   uint64_t num_seen;

   struct hash_table *numbers; /* of names: 1 + index */
   struct util_dynarray names; /* const char *: hosts and drivers */

   struct util_dynarray row_seen;  /* struct gpuval_seen: gpuval_merge_runs_of() */
   struct util_dynarray by_number; /* struct gpuval_seen_machine, of names */

   uint32_t next_run; /* that gpuval_merge_runs_get() finds where `runs` stands */
   struct gpuval_run run;
   char *strings;
   size_t strings_size;
};

FILE *
gpuval_open_nameless(void)
{
   const char *folder = getenv("TMPDIR");
   char *name = ralloc_asprintf(NULL, "%s/gpuval-report.XXXXXX", folder ? folder : "/tmp");

   int fd = mkstemp(name);
   if (fd >= 0)
      unlink(name);
   ralloc_free(name);
   return fd < 0 ? NULL : fdopen(fd, "w+");
}

struct gpuval_merge_runs *
gpuval_merge_runs_create(void)
{
   struct gpuval_merge_runs *runs = rzalloc(NULL, struct gpuval_merge_runs);
   FILE **files[] = {&runs->runs, &runs->machines, &runs->seen, &runs->by_failure};

   runs->numbers = _mesa_hash_table_create(runs, _mesa_hash_string, _mesa_key_string_equal);
   util_dynarray_init(&runs->names, runs);
   util_dynarray_init(&runs->row_seen, runs);
   util_dynarray_init(&runs->by_number, runs);
   for (unsigned i = 0; i < ARRAY_SIZE(files); i++) {
      *files[i] = gpuval_open_nameless();
      if (!*files[i]) {
         gpuval_merge_runs_destroy(runs);
         return NULL;
      }
   }
   return runs;
}

void
gpuval_merge_runs_destroy(struct gpuval_merge_runs *runs)
{
   FILE *files[] = {runs->runs, runs->machines, runs->seen, runs->by_failure};

   for (unsigned i = 0; i < ARRAY_SIZE(files); i++) {
      if (files[i])
         fclose(files[i]);
   }
   free(runs->strings);
   ralloc_free(runs->last_ctx);
   ralloc_free(runs);
}

/* 1 + index of names, or 0 without a name. There are few: they stay. */
static uint32_t
number_name(struct gpuval_merge_runs *runs, const char *name)
{
   if (!name)
      return 0;
   struct hash_entry *entry = _mesa_hash_table_search(runs->numbers, name);
   if (!entry) {
      name = ralloc_strdup(runs, name);
      util_dynarray_append_typed(&runs->names, const char *, name);
      uintptr_t number = util_dynarray_num_elements(&runs->names, const char *);
      entry = _mesa_hash_table_insert(runs->numbers, name, (void *)number);
   }
   return (uintptr_t)entry->data;
}

static const char *
get_name(struct gpuval_merge_runs *runs, uint32_t number)
{
   return number ? *util_dynarray_element(&runs->names, const char *, number - 1) : NULL;
}

/* Writes the run that was added last, now that nothing changes it any more. */
static void
write_last(struct gpuval_merge_runs *runs)
{
   const struct gpuval_run *run = &runs->last;
   const char *strings[] = {run->file, run->host, run->program, run->time, run->ended, run->driver};
   struct record record = {run->pid, run->seconds, run->checks, run->incomplete};

   if (!runs->last_ctx)
      return;
   for (unsigned i = 0; i < NUM_STRINGS; i++)
      record.lengths[i] = strings[i] ? strlen(strings[i]) + 1 : 0;
   fwrite(&record, sizeof(record), 1, runs->runs);
   for (unsigned i = 0; i < NUM_STRINGS; i++) {
      if (strings[i])
         fwrite(strings[i], record.lengths[i], 1, runs->runs);
   }
   uint32_t machine = number_name(runs, run->host);
   fwrite(&machine, sizeof(machine), 1, runs->machines);
   ralloc_free(runs->last_ctx);
   runs->last_ctx = NULL;
}

static char *
copy(void *mem_ctx, const char *string)
{
   return string ? ralloc_strdup(mem_ctx, string) : NULL;
}

void
gpuval_merge_runs_add(struct gpuval_merge_runs *runs, const struct gpuval_run *run)
{
   write_last(runs);
   runs->last_ctx = ralloc_context(NULL);
   runs->last = *run;
   runs->last.file = copy(runs->last_ctx, run->file);
   runs->last.host = copy(runs->last_ctx, run->host);
   runs->last.program = copy(runs->last_ctx, run->program);
   runs->last.time = copy(runs->last_ctx, run->time);
   runs->last.ended = copy(runs->last_ctx, run->ended);
   runs->last.driver = copy(runs->last_ctx, run->driver);
   if (!runs->num_runs++)
      runs->program = copy(runs, run->program);
   else if (runs->program && (!run->program || strcmp(runs->program, run->program)))
      runs->program = NULL;
}

const char *
gpuval_merge_runs_program(const struct gpuval_merge_runs *runs)
{
   return runs->program;
}

void
gpuval_merge_runs_mark_incomplete(struct gpuval_merge_runs *runs)
{
   runs->last.incomplete = true;
}

uint32_t
gpuval_merge_runs_count(const struct gpuval_merge_runs *runs)
{
   return runs->num_runs;
}

void
gpuval_merge_runs_see(struct gpuval_merge_runs *runs, uint32_t failure, uint32_t run,
                      uint64_t count)
{
   struct note note = {failure, run, count};

   fwrite(&note, sizeof(note), 1, runs->seen);
   runs->num_seen++;
}

uint64_t
gpuval_merge_runs_num_seen(const struct gpuval_merge_runs *runs)
{
   return runs->num_seen;
}

/* Reads @count notes from number @first on. */
static bool
read_notes(FILE *f, struct note *notes, uint64_t first, size_t count)
{
   return !fseeko(f, first * sizeof(*notes), SEEK_SET) &&
          fread(notes, sizeof(*notes), count, f) == count;
}

static bool
write_notes(FILE *f, const struct note *notes, uint64_t first, size_t count)
{
   return !fseeko(f, first * sizeof(*notes), SEEK_SET) &&
          fwrite(notes, sizeof(*notes), count, f) == count;
}

void
gpuval_merge_runs_limit(struct gpuval_merge_runs *runs, uint64_t first_seen, uint32_t first_run)
{
   uint32_t last_run = runs->num_runs - 1;
   struct note *notes = NULL;

   for (uint64_t first = first_seen; first < runs->num_seen; first += CHUNK) {
      size_t count = MIN2(runs->num_seen - first, CHUNK);
      notes = notes ? notes : ralloc_array(runs, struct note, count);
      if (!read_notes(runs->seen, notes, first, count))
         break; /* ferror(): gpuval_merge_runs_finish() */
      for (size_t i = 0; i < count; i++) {
         if (notes[i].run > last_run || notes[i].run < first_run)
            notes[i].run = last_run;
      }
      write_notes(runs->seen, notes, first, count);
   }
   ralloc_free(notes);
   fseeko(runs->seen, 0, SEEK_END);
}

static int
compare_notes(const void *a, const void *b)
{
   const struct note *left = a, *right = b;

   if (left->failure != right->failure)
      return left->failure < right->failure ? -1 : 1;
   return left->order < right->order ? -1 : left->order > right->order;
}

static bool
find_machines(struct gpuval_merge_runs *runs, struct note *notes, size_t count)
{
   uint32_t first = UINT32_MAX, last = 0;

   for (size_t i = 0; i < count; i++) {
      first = MIN2(first, notes[i].run);
      last = MAX2(last, notes[i].run);
   }
   uint32_t *machines = malloc((last - first + 1) * sizeof(*machines));
   bool is_read =
      machines && !fseeko(runs->machines, first * sizeof(*machines), SEEK_SET) &&
      fread(machines, sizeof(*machines), last - first + 1, runs->machines) == last - first + 1;
   for (size_t i = 0; is_read && i < count; i++)
      notes[i].machine = machines[notes[i].run - first];
   free(machines);
   return is_read;
}

/* Writes the notes of a chunk behind those of earlier ones, by failure. slice::count: how many of a
 * failure are there so far
 */
static bool
sort_chunk(struct gpuval_merge_runs *runs, struct note *notes, size_t count)
{
   for (size_t i = 0; i < count; i++)
      notes[i].order = i;
   if (!find_machines(runs, notes, count))
      return false;
   qsort(notes, count, sizeof(*notes), compare_notes);
   for (size_t i = 0, end; i < count; i = end) {
      struct slice *slice = &runs->slices[notes[i].failure];
      for (end = i + 1; end < count && notes[end].failure == notes[i].failure;)
         end++;
      if (!write_notes(runs->by_failure, &notes[i], slice->first + slice->count, end - i))
         return false;
      slice->count += end - i;
   }
   return true;
}

static bool
sort_notes(struct gpuval_merge_runs *runs, struct note *notes, uint32_t num_failures)
{
   uint64_t next = 0;

   for (uint64_t first = 0; first < runs->num_seen; first += CHUNK) {
      size_t count = MIN2(runs->num_seen - first, CHUNK);
      if (!read_notes(runs->seen, notes, first, count))
         return false;
      for (size_t i = 0; i < count; i++)
         runs->slices[notes[i].failure].count++;
   }
   for (uint32_t i = 0; i < num_failures; i++) {
      runs->slices[i].first = next;
      next += runs->slices[i].count;
      runs->slices[i].count = 0;
   }
   for (uint64_t first = 0; first < runs->num_seen; first += CHUNK) {
      size_t count = MIN2(runs->num_seen - first, CHUNK);
      if (!read_notes(runs->seen, notes, first, count) || !sort_chunk(runs, notes, count))
         return false;
   }
   return true;
}

bool
gpuval_merge_runs_finish(struct gpuval_merge_runs *runs, uint32_t num_failures)
{
   write_last(runs);
   if (ferror(runs->runs) || ferror(runs->seen) || ferror(runs->machines) || fflush(runs->seen) ||
       fflush(runs->machines) || fflush(runs->runs))
      return false;
   runs->slices = rzalloc_array(runs, struct slice, num_failures + 1);
   struct note *notes = ralloc_array(runs, struct note, MAX2(MIN2(runs->num_seen, CHUNK), 1));
   bool is_sorted = sort_notes(runs, notes, num_failures) && !fflush(runs->by_failure);
   ralloc_free(notes);
   rewind(runs->runs);
   return is_sorted;
}

/* Counts what was seen of a machine in by_number, whose numbers are note::machine - 1. */
static void
count_machine(struct gpuval_merge_runs *runs, const struct note *note, bool is_new_run)
{
   if (!note->machine)
      return;
   struct gpuval_seen_machine *machine =
      util_dynarray_element(&runs->by_number, struct gpuval_seen_machine, note->machine - 1);
   machine->host = get_name(runs, note->machine);
   machine->runs += is_new_run;
   machine->count += note->count;
}

const struct gpuval_seen *
gpuval_merge_runs_of(struct gpuval_merge_runs *runs, uint32_t failure, unsigned *count)
{
   const struct slice *slice = &runs->slices[failure];
   struct note note;

   util_dynarray_clear(&runs->row_seen);
   util_dynarray_clear(&runs->by_number);
   if (util_dynarray_grow(&runs->by_number, struct gpuval_seen_machine,
                          util_dynarray_num_elements(&runs->names, const char *)))
      memset(runs->by_number.data, 0, runs->by_number.size);
   if (slice->count && fseeko(runs->by_failure, slice->first * sizeof(note), SEEK_SET))
      return NULL;
   for (uint64_t i = 0; i < slice->count; i++) {
      if (fread(&note, sizeof(note), 1, runs->by_failure) != 1)
         return NULL;
      /* Two devices of one process have an event each. */
      struct gpuval_seen *last =
         runs->row_seen.size ? util_dynarray_top_ptr(&runs->row_seen, struct gpuval_seen) : NULL;
      bool is_new_run = !last || last->run != note.run;
      if (is_new_run) {
         struct gpuval_seen seen = {note.run, note.count};
         util_dynarray_append_typed(&runs->row_seen, struct gpuval_seen, seen);
      } else {
         last->count += note.count;
      }
      count_machine(runs, &note, is_new_run);
   }
   *count = util_dynarray_num_elements(&runs->row_seen, struct gpuval_seen);
   static const struct gpuval_seen nothing;
   return *count ? util_dynarray_begin(&runs->row_seen) : &nothing;
}

const struct gpuval_seen_machine *
gpuval_merge_runs_machines(struct gpuval_merge_runs *runs, unsigned *count)
{
   struct gpuval_seen_machine *machines = util_dynarray_begin(&runs->by_number);

   *count = 0;
   util_dynarray_foreach (&runs->by_number, struct gpuval_seen_machine, machine) {
      if (machine->runs)
         machines[(*count)++] = *machine;
   }
   return machines;
}

static bool
read_record(struct gpuval_merge_runs *runs)
{
   const char *strings[NUM_STRINGS] = {0};
   struct record record;
   size_t size = 0;

   if (fread(&record, sizeof(record), 1, runs->runs) != 1)
      return false;
   for (unsigned i = 0; i < NUM_STRINGS; i++)
      size += record.lengths[i];
   if (size > runs->strings_size) {
      runs->strings = realloc(runs->strings, size);
      runs->strings_size = size;
   }
   if (fread(runs->strings, 1, size, runs->runs) != size)
      return false;
   for (unsigned i = 0, at = 0; i < NUM_STRINGS; at += record.lengths[i++])
      strings[i] = record.lengths[i] ? runs->strings + at : NULL;
   runs->run = (struct gpuval_run){
      .file = strings[FILE_NAME],
      .host = get_name(runs, number_name(runs, strings[HOST])),
      .program = strings[PROGRAM],
      .time = strings[TIME],
      .pid = record.pid,
      .ended = strings[ENDED],
      .incomplete = record.incomplete,
      .checks = record.checks,
      .driver = get_name(runs, number_name(runs, strings[DRIVER])),
      .seconds = record.seconds,
   };
   return true;
}

const struct gpuval_run *
gpuval_merge_runs_get(void *data, unsigned index)
{
   static const struct gpuval_run nothing_known = {.pid = -1};
   struct gpuval_merge_runs *runs = data;

   if (index + 1 == runs->next_run)
      return &runs->run; /* once more */
   if (index < runs->next_run) {
      rewind(runs->runs);
      runs->next_run = 0;
   }
   while (runs->next_run <= index) {
      if (!read_record(runs))
         return &nothing_known;
      runs->next_run++;
   }
   return &runs->run;
}
