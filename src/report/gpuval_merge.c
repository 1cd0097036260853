/* SPDX-License-Identifier: MIT */

#include "gpuval_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_text.h"
#include "util/hash_table.h"
#include "util/mesa-blake3.h"
#include "util/ralloc.h"
#include "util/set.h"
#include "gpuval_formats.h"
#include "gpuval_json.h"
#include "gpuval_merge_runs.h"

/* As many as one process keeps: docs/printf.rst */
#define MAX_MESSAGES 10000

#define MAX_COMPLAINTS 20 /* about files; the rest is counted */

struct failure {
   uint64_t fingerprint;
   uint64_t count;
   off_t line; /* where it begins in gpuval_merge::lines */
   bool is_message, is_warning;
   bool is_known; /* the baseline has it, and no less severe */
};

/* What the baseline says of a fingerprint */
enum known {
   KNOWN_WARNING = 1,
   KNOWN_ERROR,
};

/* An error of the baseline, and where its line is in gpuval_merge::lines */
struct known_error {
   uint64_t fingerprint;
   off_t line;
};

struct gpuval_merge {
   struct util_dynarray failures;         /* struct failure */
   struct hash_table_u64 *by_fingerprint; /* 1 + index of failures */
   struct gpuval_merge_runs *runs;        /* and the failures, by their index, that they had */

   FILE *lines;                       /* of each failure the first that is as severe as any */
   struct hash_table_u64 *baseline;   /* enum known by fingerprint; NULL: none */
   struct util_dynarray known_errors; /* struct known_error */
   bool is_journal;                   /* gpuval_merge_read_journal() */
   bool names_runs;                   /* a line of this report has runs, which its end tells of */
   struct set *unknown_keys;
   unsigned num_messages;
   unsigned num_complaints;
   struct gpuval_summary summary;

   struct gpuval_line line;
   char *text; /* getline()'s */
   size_t text_size;
};

struct gpuval_merge *
gpuval_merge_create(void)
{
   struct gpuval_merge *merge = rzalloc(NULL, struct gpuval_merge);

   merge->lines = gpuval_open_nameless();
   merge->runs = merge->lines ? gpuval_merge_runs_create() : NULL;
   if (!merge->runs) {
      if (merge->lines)
         fclose(merge->lines);
      ralloc_free(merge);
      return NULL;
   }
   util_dynarray_init(&merge->failures, merge);
   util_dynarray_init(&merge->known_errors, merge);
   merge->by_fingerprint = _mesa_hash_table_u64_create(merge);
   gpuval_line_init(&merge->line);
   merge->summary.is_merged = true;
   return merge;
}

void
gpuval_merge_destroy(struct gpuval_merge *merge)
{
   gpuval_line_finish(&merge->line);
   gpuval_merge_runs_destroy(merge->runs);
   fclose(merge->lines);
   free(merge->text);
   ralloc_free(merge);
}

static void
complain(struct gpuval_merge *merge, const char *name, unsigned line, const char *what)
{
   if (merge->num_complaints++ >= MAX_COMPLAINTS)
      return;
   fputs("gpuval: warning: ", stderr);
   gpuval_write_escaped(stderr, name);
   if (line)
      fprintf(stderr, ":%u", line);
   fprintf(stderr, ": %s\n", what);
}

bool
gpuval_merge_has_complaints(struct gpuval_merge *merge)
{
   if (merge->num_complaints > MAX_COMPLAINTS)
      fprintf(stderr, "gpuval: warning: %u more like these\n",
              merge->num_complaints - MAX_COMPLAINTS);
   return merge->num_complaints > 0;
}

void
gpuval_merge_unreadable(struct gpuval_merge *merge, const char *name)
{
   struct gpuval_run run = {.file = name, .pid = -1, .incomplete = true};

   complain(merge, name, 0, strerror(errno));
   gpuval_merge_runs_add(merge->runs, &run);
}

/* A report of a version without fingerprints has other facts that stay the same. */
static uint64_t
make_fingerprint(const struct gpuval_row *row)
{
   static const char *const keys[][2] = {
      {"", "check"},      {"", "kind"},       {"", "message"},
      {"shader", "hash"}, {"source", "file"}, {"source", "text"},
   };
   struct mesa_blake3 ctx;
   blake3_hash hash;
   uint64_t bits;

   _mesa_blake3_init(&ctx);
   for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
      const char *string = gpuval_row_string(row, false, keys[i][0], keys[i][1]);
      _mesa_blake3_update(&ctx, string ? string : "", string ? strlen(string) + 1 : 1);
   }
   _mesa_blake3_final(&ctx, hash);
   memcpy(&bits, hash, sizeof(bits));
   return bits;
}

static uint64_t
get_fingerprint(const struct gpuval_row *row)
{
   const char *string = gpuval_row_string(row, false, "", "fingerprint");
   char *end = NULL;

   uint64_t bits = string ? strtoull(string, &end, 16) : 0;
   return string && end - string == 16 && !*end ? bits : make_fingerprint(row);
}

static enum known
look_up_baseline(const struct gpuval_merge *merge, uint64_t fingerprint)
{
   return merge->baseline ? (uintptr_t)_mesa_hash_table_u64_search(merge->baseline, fingerprint)
                          : 0;
}

/* Keeps the line as that of @failure. */
static void
keep_line(struct gpuval_merge *merge, struct failure *failure)
{
   struct gpuval_row *row = &merge->line.row;

   row->num_seen = 0; /* of the failure, and those are kept otherwise */
   failure->is_warning = gpuval_row_is_warning(row);
   failure->is_known = look_up_baseline(merge, failure->fingerprint) >=
                       (failure->is_warning ? KNOWN_WARNING : KNOWN_ERROR);
   failure->line = ftello(merge->lines);
   gpuval_jsonl_write_row(merge->lines, row);
}

/* The number of the failure that the line tells of; -1: it only counts. */
static int
find_failure(struct gpuval_merge *merge)
{
   struct gpuval_row *row = &merge->line.row;
   uint64_t fingerprint = get_fingerprint(row);
   uintptr_t found = (uintptr_t)_mesa_hash_table_u64_search(merge->by_fingerprint, fingerprint);

   if (found) {
      struct failure *known = util_dynarray_element(&merge->failures, struct failure, found - 1);
      if (merge->is_journal || (known->is_warning && !gpuval_row_is_warning(row)))
         keep_line(merge, known);
      return found - 1;
   }

   struct failure failure = {
      .fingerprint = fingerprint,
      .is_message = gpuval_row_is_message(row),
   };
   if (failure.is_message && merge->num_messages++ >= MAX_MESSAGES)
      return -1; /* the summary goes on counting */
   keep_line(merge, &failure);
   util_dynarray_append_typed(&merge->failures, struct failure, failure);
   found = util_dynarray_num_elements(&merge->failures, struct failure);
   _mesa_hash_table_u64_insert(merge->by_fingerprint, fingerprint, (void *)found);
   return found - 1;
}

static void
add_failure(struct gpuval_merge *merge, uint32_t first_run)
{
   uint64_t count = gpuval_row_number(&merge->line.row, false, "", "count", 0);
   int found = find_failure(merge);
   if (found < 0)
      return;

   util_dynarray_element(&merge->failures, struct failure, found)->count += count;
   merge->names_runs |= merge->line.seen.size > 0;
   util_dynarray_foreach (&merge->line.seen, struct gpuval_seen, of_run)
      gpuval_merge_runs_see(merge->runs, found, first_run + of_run->run, of_run->count);
   if (!merge->line.seen.size)
      gpuval_merge_runs_see(merge->runs, found, first_run, count);
}

/* The end of a report: its runs, of which lines from @first_seen on speak. */
static void
add_runs(struct gpuval_merge *merge, const char *name, uint64_t first_seen, bool incomplete)
{
   const struct gpuval_summary *summary = &merge->line.summary;
   uint32_t first_run = gpuval_merge_runs_count(merge->runs);
   unsigned count = incomplete ? 0 : summary->num_runs;

   for (unsigned i = 0; i < MAX2(count, 1); i++) {
      struct gpuval_run run = count ? summary->runs[i] : (struct gpuval_run){.pid = -1};
      run.file = run.file ? run.file : name;
      run.incomplete |= incomplete;
      gpuval_merge_runs_add(merge->runs, &run);
   }
   if (!incomplete)
      gpuval_summary_add(&merge->summary, summary);

   /* Without the summary that has them, all that is known is that it is this report. */
   if (merge->names_runs)
      gpuval_merge_runs_limit(merge->runs, first_seen, first_run);
   merge->names_runs = false;
}

/* A key of a later version does no harm, but is left out: it is said once. */
static void
note_unknown(struct gpuval_merge *merge, const char *name, unsigned number)
{
   if (!merge->line.unknown)
      return;
   if (!merge->unknown_keys)
      merge->unknown_keys = _mesa_set_create(merge, _mesa_hash_string, _mesa_key_string_equal);
   if (_mesa_set_search(merge->unknown_keys, merge->line.unknown))
      return;
   _mesa_set_add(merge->unknown_keys, ralloc_strdup(merge, merge->line.unknown));
   fprintf(stderr, "gpuval: warning: ");
   gpuval_write_escaped(stderr, name);
   fprintf(stderr, ":%u: this version does not know \"", number);
   gpuval_write_escaped(stderr, merge->line.unknown);
   fprintf(stderr, "\": it is left out\n");
}

/* What there is to say of a file, in one line: @broken of its lines are none of a
 * report, and @error is about the first, @number.
 */
static void
complain_of_lines(struct gpuval_merge *merge, const char *name, unsigned number, const char *error,
                  unsigned broken)
{
   char *what = ralloc_asprintf(merge, "%s; %u %s left out", error, broken,
                                broken == 1 ? "line is" : "lines are");
   complain(merge, name, number, what);
   ralloc_free(what);
}

struct reading {
   FILE *f;
   const char *name;
   void *mem_ctx; /* of merge->line */
   unsigned number;
   unsigned broken, first_broken;
   const char *first_error;
};

/* Of gpuval_open_zstd(), too */
static const char *
describe_error(int number)
{
   switch (number) {
   case EBADMSG:
      return "what zstd has compressed is broken, or cut off";
   case ENOTSUP:
      return "it is compressed by zstd, which this build cannot read";
   default:
      return strerror(number);
   }
}

/* Reads the next line that is one of a report into merge->line. At the end it returns false,
 * and has said what was wrong with others.
 */
static bool
next_line(struct gpuval_merge *merge, struct reading *reading)
{
   ssize_t length;

   ralloc_free(reading->mem_ctx);
   reading->mem_ctx = NULL;
   while ((length = getline(&merge->text, &merge->text_size, reading->f)) >= 0) {
      reading->number++;
      if (strspn(merge->text, " \t\r\n") == length)
         continue;

      reading->mem_ctx = ralloc_context(NULL);
      const char *error = gpuval_line_read(&merge->line, reading->mem_ctx, merge->text, length);
      if (!error)
         return true;
      if (!reading->broken++) {
         reading->first_broken = reading->number;
         reading->first_error = error;
      }
      ralloc_free(reading->mem_ctx);
      reading->mem_ctx = NULL;
   }
   int error_number = errno;
   if (reading->broken)
      complain_of_lines(merge, reading->name, reading->first_broken, reading->first_error,
                        reading->broken);
   if (ferror(reading->f))
      complain(merge, reading->name, 0, describe_error(error_number));
   return false;
}

void
gpuval_merge_read(struct gpuval_merge *merge, FILE *f, const char *name)
{
   struct reading reading = {.f = f, .name = name};
   bool is_open = true; /* there is no summary yet of what was read */
   uint64_t first_seen = gpuval_merge_runs_num_seen(merge->runs);

   while (next_line(merge, &reading)) {
      note_unknown(merge, name, reading.number);
      is_open = !merge->line.is_summary;
      if (is_open) {
         add_failure(merge, gpuval_merge_runs_count(merge->runs));
      } else {
         add_runs(merge, name, first_seen, false);
         first_seen = gpuval_merge_runs_num_seen(merge->runs);
      }
   }

   merge->summary.lost_lines += reading.broken;
   if (!ferror(f) && is_open && !reading.broken)
      complain(merge, name, 0, "there is no summary: it is cut off, or its program was killed");
   if (is_open)
      add_runs(merge, name, first_seen, true);
   else if (reading.broken)
      gpuval_merge_runs_mark_incomplete(merge->runs);
}

void
gpuval_merge_read_journal(struct gpuval_merge *merge, FILE *f, const char *name, const char *ended)
{
   struct reading reading = {.f = f, .name = name};
   void *mem_ctx = ralloc_context(NULL);
   struct gpuval_run run = {.pid = -1};

   merge->is_journal = true;
   merge->summary.is_merged = false;
   while (next_line(merge, &reading)) {
      if (!merge->line.is_summary) {
         int found = find_failure(merge);
         if (found >= 0)
            util_dynarray_element(&merge->failures, struct failure, found)->count =
               gpuval_row_number(&merge->line.row, false, "", "count", 0);
         continue;
      }
      merge->summary = merge->line.summary;
      if (merge->line.summary.num_runs)
         run = merge->line.summary.runs[0];
      run.host = ralloc_strdup(mem_ctx, run.host);
      run.program = ralloc_strdup(mem_ctx, run.program);
      run.time = ralloc_strdup(mem_ctx, run.time);
      run.driver = ralloc_strdup(mem_ctx, run.driver);
   }
   run.ended = ended;
   gpuval_merge_runs_add(merge->runs, &run);
   ralloc_free(mem_ctx);
   merge->summary.lost_lines += reading.broken;
}

/* An error of the baseline: gone until it is seen */
static void
keep_known_error(struct gpuval_merge *merge, uint64_t fingerprint)
{
   struct known_error error = {fingerprint, ftello(merge->lines)};

   merge->line.row.num_seen = 0;
   gpuval_jsonl_write_row(merge->lines, &merge->line.row);
   util_dynarray_append_typed(&merge->known_errors, struct known_error, error);
   merge->summary.baseline_absent++;
}

void
gpuval_merge_read_baseline(struct gpuval_merge *merge, FILE *f, const char *name)
{
   struct reading reading = {.f = f, .name = name};

   merge->summary.has_baseline = true;
   if (!merge->baseline)
      merge->baseline = _mesa_hash_table_u64_create(merge);
   while (next_line(merge, &reading)) {
      if (merge->line.is_summary || gpuval_row_is_message(&merge->line.row))
         continue;

      uint64_t fingerprint = get_fingerprint(&merge->line.row);
      enum known before = look_up_baseline(merge, fingerprint);
      enum known now = gpuval_row_is_warning(&merge->line.row) ? KNOWN_WARNING : KNOWN_ERROR;
      if (before != KNOWN_ERROR && now == KNOWN_ERROR)
         keep_known_error(merge, fingerprint);
      if (now > before)
         _mesa_hash_table_u64_insert(merge->baseline, fingerprint, (void *)(uintptr_t)now);
   }
}

bool
gpuval_merge_finish(struct gpuval_merge *merge)
{
   struct gpuval_summary *summary = &merge->summary;

   summary->runs = NULL;
   summary->get_run = gpuval_merge_runs_get;
   summary->get_run_data = merge->runs;
   summary->num_runs = gpuval_merge_runs_count(merge->runs);
   summary->program = gpuval_merge_runs_program(merge->runs);
   summary->errors = summary->occurrences = summary->warnings = 0;
   util_dynarray_foreach (&merge->failures, struct failure, failure) {
      if (failure->is_message)
         continue;
      if (failure->is_warning) {
         summary->warnings++;
         continue;
      }
      summary->errors++;
      summary->occurrences += failure->count;
      summary->baseline_unchanged += failure->is_known;
   }
   if (summary->has_baseline) {
      summary->baseline_new = summary->errors - summary->baseline_unchanged;
      summary->baseline_absent -= summary->baseline_unchanged;
   }
   return gpuval_merge_runs_finish(merge->runs,
                                   util_dynarray_num_elements(&merge->failures, struct failure)) &&
          !ferror(merge->lines) && !fflush(merge->lines);
}

const struct gpuval_summary *
gpuval_merge_summary(const struct gpuval_merge *merge)
{
   return &merge->summary;
}

/* Reads a line that was kept into gpuval_merge::line. @at: where the file stands, then the line's
 * end; -1: not known. Strings are of @mem_ctx.
 */
static bool
read_back(struct gpuval_merge *merge, void *mem_ctx, off_t line, off_t *at)
{
   if (line != *at && fseeko(merge->lines, line, SEEK_SET))
      return false;
   ssize_t length = getline(&merge->text, &merge->text_size, merge->lines);
   *at = line + length;
   return length >= 0 && !gpuval_line_read(&merge->line, mem_ctx, merge->text, length);
}

static bool
is_seen_as_error(const struct gpuval_merge *merge, uint64_t fingerprint)
{
   uintptr_t found = (uintptr_t)_mesa_hash_table_u64_search(merge->by_fingerprint, fingerprint);

   return found && !util_dynarray_element(&merge->failures, struct failure, found - 1)->is_warning;
}

bool
gpuval_merge_for_each_gone(struct gpuval_merge *merge,
                           void (*call)(void *data, const struct gpuval_row *row, unsigned index),
                           void *data)
{
   unsigned index = 0;
   off_t at = -1;

   util_dynarray_foreach (&merge->known_errors, struct known_error, error) {
      if (is_seen_as_error(merge, error->fingerprint))
         continue;
      void *mem_ctx = ralloc_context(NULL);
      bool is_read = read_back(merge, mem_ctx, error->line, &at);
      merge->line.row.baseline = "absent";
      if (is_read)
         call(data, &merge->line.row, index++);
      ralloc_free(mem_ctx);
      if (!is_read)
         return false;
   }
   return true;
}

bool
gpuval_merge_for_each(struct gpuval_merge *merge,
                      void (*call)(void *data, const struct gpuval_row *row, unsigned index),
                      void *data)
{
   struct gpuval_row *row = &merge->line.row;
   unsigned index = 0;

   off_t at = -1;
   util_dynarray_foreach (&merge->failures, struct failure, failure) {
      void *mem_ctx = ralloc_context(NULL);
      bool is_read = read_back(merge, mem_ctx, failure->line, &at);
      unsigned num_seen;
      row->seen = is_read ? gpuval_merge_runs_of(merge->runs, index, &num_seen) : NULL;
      if (!row->seen) {
         ralloc_free(mem_ctx);
         return false;
      }
      row->values[0][gpuval_field_find("", "count", 0)].number = failure->count;
      row->num_seen = num_seen; /* 0 of a journal */
      if (merge->baseline && !failure->is_message)
         row->baseline = failure->is_known ? "unchanged" : "new";
      row->machines = gpuval_merge_runs_machines(merge->runs, &row->num_machines);
      call(data, row, index++);
      ralloc_free(mem_ctx);
   }
   return true;
}
