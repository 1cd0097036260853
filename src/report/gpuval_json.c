/* SPDX-License-Identifier: MIT */

#include "gpuval_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_checks.h"
#include "util/macros.h"
#include "util/ralloc.h"
#include "gpuval_scan.h"

#define MAX_FACTS 4 /* of an invocation */

/* One of an invocation: which word it is, its shader's stage will say. */
struct fact {
   const char *key;
   double numbers[3];
   unsigned count;
};

struct reader {
   struct gpuval_scan scan;
   void *mem_ctx;
   struct gpuval_line *line;
   unsigned hint; /* fields come in the order of the table */
   struct fact facts[MAX_FACTS];
   unsigned num_facts;
};

static bool
read_strings(struct reader *r, struct gpuval_value *value)
{
   const char **strings = NULL;
   unsigned count = 0;

   do {
      if (!(count & (count - 1)))
         strings = reralloc(r->mem_ctx, strings, const char *, MAX2(2 * count, 4));
      strings[count] = gpuval_scan_string(&r->scan);
      if (!strings[count++])
         return false;
   } while (gpuval_scan_accept(&r->scan, ','));
   *value = (struct gpuval_value){GPUVAL_VALUE_STRINGS, .strings = strings, .count = count};
   return gpuval_scan_expect(&r->scan, ']');
}

/* Into the room of three; more of them are an error. null: not finite */
static bool
read_numbers(struct reader *r, double numbers[3], unsigned *count)
{
   bool is_array = gpuval_scan_accept(&r->scan, '[');
   bool is_integer;
   int64_t integer;

   *count = 0;
   do {
      double number = NAN;
      if (*r->scan.at == 'n' ? !gpuval_scan_word(&r->scan, "null")
                             : !gpuval_scan_number(&r->scan, &number, &integer, &is_integer))
         return false;
      if (*count == 3)
         return gpuval_scan_fail(&r->scan, "it has too many numbers");
      numbers[(*count)++] = number;
   } while (is_array && gpuval_scan_accept(&r->scan, ','));
   return !is_array || gpuval_scan_expect(&r->scan, ']');
}

static bool read_value(struct reader *r, struct gpuval_value *value);

static void
set_frame_fact(struct gpuval_frame *frame, const char *key, const struct gpuval_value *value)
{
   const char *string = value->type == GPUVAL_VALUE_STRING ? value->string : NULL;
   bool is_number = value->type == GPUVAL_VALUE_NUMBER && value->number > 0;
   uint32_t number = is_number && value->number <= UINT32_MAX ? value->number : 0;

   if (!strcmp(key, "function"))
      frame->function = string;
   else if (!strcmp(key, "file"))
      frame->file = string;
   else if (!strcmp(key, "line"))
      frame->line = number;
   else if (!strcmp(key, "column"))
      frame->column = number;
   else if (!strcmp(key, "text"))
      frame->text = string;
   else if (!strcmp(key, "instruction"))
      frame->instruction = number;
   else if (!strcmp(key, "module"))
      frame->module = string;
   else if (!strcmp(key, "offset"))
      frame->offset = string ? strtoull(string, NULL, 16) : 0;
}

/* A call, or the value of a variable */
static bool
read_object(struct reader *r, struct gpuval_frame *frame, struct gpuval_named_value *named)
{
   *frame = (struct gpuval_frame){0};
   *named = (struct gpuval_named_value){0};
   if (!gpuval_scan_expect(&r->scan, '{'))
      return false;
   if (gpuval_scan_accept(&r->scan, '}'))
      return true;
   do {
      struct gpuval_value value = {GPUVAL_VALUE_UNKNOWN};
      const char *key = gpuval_scan_string(&r->scan);
      if (!key || !gpuval_scan_expect(&r->scan, ':'))
         return false;
      bool is_plain = *r->scan.at != '{' && *r->scan.at != '[';
      if (is_plain ? !read_value(r, &value) : !gpuval_scan_skip(&r->scan, 0))
         return false;
      if (value.type == GPUVAL_VALUE_STRING && !strcmp(key, "name"))
         named->name = value.string;
      else if (value.type == GPUVAL_VALUE_STRING && !strcmp(key, "value"))
         named->value = value.string;
      else
         set_frame_fact(frame, key, &value);
   } while (gpuval_scan_accept(&r->scan, ','));
   return gpuval_scan_expect(&r->scan, '}');
}

static bool
read_objects(struct reader *r, struct gpuval_value *value)
{
   struct gpuval_frame *frames = NULL;
   struct gpuval_named_value *named = NULL;
   unsigned count = 0, num_named = 0;

   do {
      if (!(count & (count - 1))) {
         unsigned room = MAX2(2 * count, 4);
         frames = reralloc(r->mem_ctx, frames, struct gpuval_frame, room);
         named = reralloc(r->mem_ctx, named, struct gpuval_named_value, room);
      }
      if (!read_object(r, &frames[count], &named[num_named]))
         return false;
      num_named += named[num_named].name && named[num_named].value;
      count++;
   } while (gpuval_scan_accept(&r->scan, ','));
   if (num_named)
      *value = (struct gpuval_value){GPUVAL_VALUE_NAMED, .named = named, .count = num_named};
   else
      *value = (struct gpuval_value){GPUVAL_VALUE_FRAMES, .frames = frames, .count = count};
   return gpuval_scan_expect(&r->scan, ']');
}

static bool
read_array(struct reader *r, struct gpuval_value *value)
{
   double numbers[3];

   char *start = r->scan.at;
   gpuval_scan_accept(&r->scan, '[');
   if (*r->scan.at == '{')
      return read_objects(r, value);
   if (*r->scan.at == '"' || *r->scan.at == ']')
      return gpuval_scan_accept(&r->scan, ']') || read_strings(r, value);
   r->scan.at = start;
   value->type = GPUVAL_VALUE_NUMBERS;
   if (!read_numbers(r, numbers, &value->count))
      return false;
   for (unsigned i = 0; i < value->count; i++)
      value->numbers[i] = numbers[i];
   return true;
}

static bool
read_value(struct reader *r, struct gpuval_value *value)
{
   double number;
   int64_t integer;
   bool is_integer;

   *value = (struct gpuval_value){GPUVAL_VALUE_UNKNOWN};
   switch (*r->scan.at) {
   case '"':
      *value = (struct gpuval_value){GPUVAL_VALUE_STRING, .string = gpuval_scan_string(&r->scan)};
      return value->string != NULL;
   case '[':
      return read_array(r, value);
   case 't':
      value->type = GPUVAL_VALUE_TRUE;
      return gpuval_scan_word(&r->scan, "true");
   case '{':
   case 'f':
   case 'n':
      return gpuval_scan_skip(&r->scan, 0);
   default:
      if (!gpuval_scan_number(&r->scan, &number, &integer, &is_integer))
         return false;
      if (is_integer)
         *value = (struct gpuval_value){GPUVAL_VALUE_NUMBER, .number = integer};
      else
         *value = (struct gpuval_value){GPUVAL_VALUE_FLOAT, .real = number};
      return true;
   }
}

static bool
read_invocation(struct reader *r)
{
   if (!gpuval_scan_expect(&r->scan, '{'))
      return false;
   if (gpuval_scan_accept(&r->scan, '}'))
      return true;
   do {
      if (r->num_facts == MAX_FACTS)
         return gpuval_scan_fail(&r->scan, "it has too many numbers");
      struct fact *fact = &r->facts[r->num_facts++];
      fact->key = gpuval_scan_string(&r->scan);
      if (!fact->key || !gpuval_scan_expect(&r->scan, ':') ||
          !read_numbers(r, fact->numbers, &fact->count))
         return false;
   } while (gpuval_scan_accept(&r->scan, ','));
   return gpuval_scan_expect(&r->scan, '}');
}

/* [{"run":N,"count":N},...] of a report that was made of others */
static bool
read_seen(struct reader *r)
{
   if (!gpuval_scan_expect(&r->scan, '['))
      return false;
   if (gpuval_scan_accept(&r->scan, ']'))
      return true;
   do {
      struct gpuval_seen seen = {0};
      if (!gpuval_scan_expect(&r->scan, '{'))
         return false;
      do {
         struct gpuval_value value;
         const char *key = gpuval_scan_string(&r->scan);
         if (!key || !gpuval_scan_expect(&r->scan, ':') || !read_value(r, &value))
            return false;
         bool is_number = value.type == GPUVAL_VALUE_NUMBER && value.number >= 0;
         if (is_number && !strcmp(key, "run") && value.number < UINT32_MAX / 2)
            seen.run = value.number;
         else if (is_number && !strcmp(key, "count"))
            seen.count = value.number;
      } while (gpuval_scan_accept(&r->scan, ','));
      if (!gpuval_scan_expect(&r->scan, '}'))
         return false;
      util_dynarray_append_typed(&r->line->seen, struct gpuval_seen, seen);
   } while (gpuval_scan_accept(&r->scan, ','));
   return gpuval_scan_expect(&r->scan, ']');
}

static uint32_t
get_checks(const struct gpuval_value *names)
{
   uint32_t checks = 0;

   for (unsigned i = 0; names->type == GPUVAL_VALUE_STRINGS && i < names->count; i++)
      checks |= gpuval_checks_from_name(names->strings[i], strlen(names->strings[i]));
   return checks;
}

/* Reads the value of @key if it is about what was checked in @run. *known: it is */
static bool
read_checked(struct reader *r, const char *key, struct gpuval_run *run, bool *known)
{
   struct gpuval_value value;
   double numbers[3];
   unsigned count;

   *known = true;
   if (!strcmp(key, "seconds") && *r->scan.at != '"' && *r->scan.at != '{') {
      if (!read_numbers(r, numbers, &count))
         return false;
      run->seconds = count && numbers[0] > 0 && numbers[0] < 1e12 ? numbers[0] : 0;
   } else if (!strcmp(key, "checks")) {
      if (!read_value(r, &value))
         return false;
      run->checks = get_checks(&value);
   } else if (!strcmp(key, "driver")) {
      if (!read_value(r, &value))
         return false;
      run->driver = value.type == GPUVAL_VALUE_STRING ? value.string : NULL;
   } else {
      *known = false;
   }
   return true;
}

static bool
read_run(struct reader *r)
{
   struct gpuval_run run = {.pid = -1};

   if (!gpuval_scan_expect(&r->scan, '{'))
      return false;
   bool is_empty = gpuval_scan_accept(&r->scan, '}');
   while (!is_empty) {
      struct gpuval_value value = {0};
      bool known;
      const char *key = gpuval_scan_string(&r->scan);
      if (!key || !gpuval_scan_expect(&r->scan, ':') || !read_checked(r, key, &run, &known) ||
          (!known && !read_value(r, &value)))
         return false;
      const char *string = value.type == GPUVAL_VALUE_STRING ? value.string : NULL;
      if (!strcmp(key, "host"))
         run.host = string;
      else if (!strcmp(key, "program"))
         run.program = string;
      else if (!strcmp(key, "time"))
         run.time = string;
      else if (!strcmp(key, "file"))
         run.file = string;
      else if (!strcmp(key, "ended"))
         run.ended = string;
      else if (!strcmp(key, "pid") && value.type == GPUVAL_VALUE_NUMBER)
         run.pid = value.number;
      else if (!strcmp(key, "incomplete"))
         run.incomplete = value.type == GPUVAL_VALUE_TRUE;
      if (!gpuval_scan_accept(&r->scan, ','))
         break;
   }
   util_dynarray_append_typed(&r->line->runs, struct gpuval_run, run);
   return is_empty || gpuval_scan_expect(&r->scan, '}');
}

static bool
read_runs(struct reader *r)
{
   r->line->summary.is_merged = true;
   if (!gpuval_scan_expect(&r->scan, '['))
      return false;
   if (gpuval_scan_accept(&r->scan, ']'))
      return true;
   do {
      if (!read_run(r))
         return false;
   } while (gpuval_scan_accept(&r->scan, ','));
   return gpuval_scan_expect(&r->scan, ']');
}

/* What the summary of one run says of it. In that of several, each run says it of itself. */
static void
add_to_run(struct reader *r, const char *ended, const struct gpuval_run *checked)
{
   if (r->line->summary.is_merged || (!ended && !checked->checks))
      return;
   if (!r->line->runs.size) {
      struct gpuval_run run = {.pid = -1};
      util_dynarray_append_typed(&r->line->runs, struct gpuval_run, run);
   }
   struct gpuval_run *run = util_dynarray_top_ptr(&r->line->runs, struct gpuval_run);
   run->ended = ended;
   run->checks = checked->checks;
   run->driver = checked->driver;
   run->seconds = checked->seconds;
}

static bool
read_summary(struct reader *r)
{
   struct gpuval_summary *summary = &r->line->summary;
   struct gpuval_run checked = {0};
   const char *ended = NULL;

   r->line->is_summary = true;
   if (!gpuval_scan_expect(&r->scan, '{'))
      return false;
   if (gpuval_scan_accept(&r->scan, '}'))
      return true;
   do {
      struct gpuval_value value;
      bool known;
      const char *key = gpuval_scan_string(&r->scan);
      if (!key || !gpuval_scan_expect(&r->scan, ':') || !read_checked(r, key, &checked, &known))
         return false;
      if (known)
         continue;
      if (!strcmp(key, "run") || !strcmp(key, "runs")) {
         if (!strcmp(key, "run") ? !read_run(r) : !read_runs(r))
            return false;
         continue;
      }
      if (!read_value(r, &value))
         return false;
      if (!strcmp(key, "ended") && value.type == GPUVAL_VALUE_STRING)
         ended = value.string;
      for (unsigned i = 0; i < gpuval_num_summary_counts; i++) {
         const struct gpuval_summary_count *count = &gpuval_summary_counts[i];
         if (!strcmp(count->key, key) && value.type == GPUVAL_VALUE_NUMBER && value.number > 0)
            *gpuval_summary_count(summary, count) = value.number;
      }
   } while (gpuval_scan_accept(&r->scan, ','));
   add_to_run(r, ended, &checked);
   return gpuval_scan_expect(&r->scan, '}');
}

static bool read_facts(struct reader *r, const char *object, bool other);

/* A member of the line's object, or of the conflicting access's. *known: it was one. */
static bool
read_member(struct reader *r, const char *key, bool other, bool *known)
{
   *known = true;
   if (!other && !strcmp(key, "summary"))
      return read_summary(r);
   if (!other && !strcmp(key, "runs"))
      return read_seen(r);
   if (!other && (!strcmp(key, "machines") || !strcmp(key, "baseline")))
      return gpuval_scan_skip(&r->scan, 0); /* made anew */
   if (*r->scan.at == '{' && !other && !strcmp(key, "other")) {
      r->line->row.has_other = true;
      r->hint = 0;
      return read_facts(r, "", true);
   }
   if (*r->scan.at == '{' && !strcmp(key, "invocation"))
      return other ? gpuval_scan_skip(&r->scan, 0) : read_invocation(r);
   for (unsigned i = 0; *r->scan.at == '{' && i < gpuval_num_fields; i++) {
      const char *object = gpuval_fields[(r->hint + i) % gpuval_num_fields].object;
      if (*object == *key && *object && !strcmp(object, key))
         return read_facts(r, object, other);
   }
   *known = false;
   return true;
}

/* Is @key an object in @object? */
static bool
is_inside(const char *object, const char *key)
{
   for (unsigned i = 0; i < gpuval_num_fields; i++) {
      const struct gpuval_field *field = &gpuval_fields[i];
      if (field->parent && !strcmp(field->parent, object) && !strcmp(field->object, key))
         return true;
   }
   return false;
}

static bool
read_facts(struct reader *r, const char *object, bool other)
{
   if (!gpuval_scan_expect(&r->scan, '{'))
      return false;
   if (gpuval_scan_accept(&r->scan, '}'))
      return true;
   do {
      struct gpuval_value value;
      bool known = false;
      const char *key = gpuval_scan_string(&r->scan);
      if (!key || !gpuval_scan_expect(&r->scan, ':'))
         return false;
      if (!*object && !read_member(r, key, other, &known))
         return false;
      if (*r->scan.at == '{' && is_inside(object, key)) {
         if (!read_facts(r, key, other))
            return false;
         continue;
      }
      if (known)
         continue;
      int field = gpuval_field_find(object, key, r->hint);
      if (field < 0) {
         r->line->unknown = key;
         if (!gpuval_scan_skip(&r->scan, 0))
            return false;
         continue;
      }
      if (!read_value(r, &value))
         return false;
      r->line->row.values[other][field] = value;
      r->hint = field + 1;
   } while (gpuval_scan_accept(&r->scan, ','));
   return gpuval_scan_expect(&r->scan, '}');
}

/* As the host knows them: three words, those that are of no fact 0. */
static void
set_invocation(struct reader *r)
{
   struct gpuval_value *words = &r->line->row.values[0][gpuval_field_of_invocation()];

   if (!r->num_facts)
      return;
   words->type = GPUVAL_VALUE_NUMBER; /* for the stage to be asked */
   const struct gpuval_invocation_fact *known = gpuval_row_invocation_facts(&r->line->row);
   words->type = GPUVAL_VALUE_UNKNOWN;
   if (!known)
      return;

   bool is_fragment = known == gpuval_invocation_facts(MESA_SHADER_FRAGMENT);
   for (unsigned i = 0; i < 3 - is_fragment; i++)
      words[i] = (struct gpuval_value){GPUVAL_VALUE_NUMBER};
   for (; known->key; known++) {
      for (unsigned i = 0; i < r->num_facts; i++) {
         const struct fact *fact = &r->facts[i];
         for (unsigned j = 0; !strcmp(fact->key, known->key) && j < MIN2(fact->count, known->count);
              j++) {
            struct gpuval_value *word = &words[known->word + j];
            if (known->is_float)
               *word = (struct gpuval_value){GPUVAL_VALUE_FLOAT, .real = fact->numbers[j]};
            else
               *word = (struct gpuval_value){GPUVAL_VALUE_NUMBER, .number = fact->numbers[j]};
         }
      }
   }
}

void
gpuval_line_init(struct gpuval_line *line)
{
   *line = (struct gpuval_line){0};
   util_dynarray_init(&line->seen, NULL);
   util_dynarray_init(&line->runs, NULL);
}

void
gpuval_line_finish(struct gpuval_line *line)
{
   util_dynarray_fini(&line->seen);
   util_dynarray_fini(&line->runs);
}

static const char *
check_line(const struct gpuval_line *line)
{
   if (line->is_summary)
      return NULL;
   if (!gpuval_row_string(&line->row, false, "", "check") ||
       !gpuval_row_string(&line->row, false, "", "kind") ||
       !gpuval_row_string(&line->row, false, "", "message") ||
       gpuval_row_number(&line->row, false, "", "count", -1) < 0)
      return "it is no failure: check, kind, message or count is missing";
   return NULL;
}

const char *
gpuval_line_read(struct gpuval_line *line, void *mem_ctx, char *text, size_t length)
{
   struct reader r = {.scan = {.at = text, .end = text + length}, .mem_ctx = mem_ctx, .line = line};

   line->is_summary = false;
   line->row = (struct gpuval_row){0};
   line->summary = (struct gpuval_summary){0};
   line->seen.size = line->runs.size = 0;
   line->unknown = NULL;

   gpuval_scan_skip_space(&r.scan);
   if (read_facts(&r, "", false) && r.scan.at != r.scan.end)
      gpuval_scan_fail(&r.scan, "there is something behind the object");
   if (r.scan.error)
      return r.scan.error;
   set_invocation(&r);
   line->row.seen = util_dynarray_begin(&line->seen);
   line->row.num_seen = util_dynarray_num_elements(&line->seen, struct gpuval_seen);
   line->summary.runs = util_dynarray_begin(&line->runs);
   line->summary.num_runs = util_dynarray_num_elements(&line->runs, struct gpuval_run);
   return check_line(line);
}
