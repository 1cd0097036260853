/* SPDX-License-Identifier: MIT */

#include "gpuval_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_checks.h"
#include "util/macros.h"
#include "util/ralloc.h"

#define MAX_DEPTH 32 /* of what is skipped */
#define MAX_FACTS 4  /* of an invocation */

/* One of an invocation: which word it is, its shader's stage will say. */
struct fact {
   const char *key;
   double numbers[3];
   unsigned count;
};

struct reader {
   char *at, *end;
   const char *error;
   void *mem_ctx;
   struct gpuval_line *line;
   unsigned hint; /* fields come in the order of the table */
   struct fact facts[MAX_FACTS];
   unsigned num_facts;
};

static bool
fail(struct reader *r, const char *error)
{
   if (!r->error)
      r->error = error;
   return false;
}

static void
skip_space(struct reader *r)
{
   while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n')
      r->at++;
}

/* Is this next? The text ends in a NUL, which never is. */
static bool
accept(struct reader *r, char byte)
{
   skip_space(r);
   if (*r->at != byte)
      return false;
   r->at++;
   skip_space(r);
   return true;
}

static bool
expect(struct reader *r, char byte)
{
   if (accept(r, byte))
      return true;
   return fail(r, r->at >= r->end ? "it is cut off" : "it is no JSON");
}

static bool
read_hex(struct reader *r, uint32_t *unit)
{
   *unit = 0;
   for (unsigned i = 0; i < 4; i++, r->at++) {
      char c = *r->at;
      if (c >= '0' && c <= '9')
         *unit = *unit << 4 | (c - '0');
      else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
         *unit = *unit << 4 | ((c | 0x20) - 'a' + 10);
      else
         return fail(r, "it is no JSON");
   }
   return true;
}

static char *
write_utf8(char *out, uint32_t c)
{
   if (c < 0x80) {
      *out++ = c;
   } else if (c < 0x800) {
      *out++ = 0xc0 | c >> 6;
      *out++ = 0x80 | (c & 0x3f);
   } else if (c < 0x10000) {
      *out++ = 0xe0 | c >> 12;
      *out++ = 0x80 | (c >> 6 & 0x3f);
      *out++ = 0x80 | (c & 0x3f);
   } else {
      *out++ = 0xf0 | c >> 18;
      *out++ = 0x80 | (c >> 12 & 0x3f);
      *out++ = 0x80 | (c >> 6 & 0x3f);
      *out++ = 0x80 | (c & 0x3f);
   }
   return out;
}

/* Behind "\u". A NUL would end our strings: it becomes U+FFFD, as half a pair does. */
static bool
read_unicode(struct reader *r, char **out)
{
   uint32_t unit, low;

   if (!read_hex(r, &unit))
      return false;
   if ((unit & 0xfc00) == 0xd800 && r->at[0] == '\\' && r->at[1] == 'u') {
      r->at += 2;
      if (!read_hex(r, &low))
         return false;
      if ((low & 0xfc00) == 0xdc00)
         unit = 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
      else
         r->at -= 6; /* the next one */
   }
   if (!unit || (unit & 0xfffff800) == 0xd800)
      unit = 0xfffd;
   *out = write_utf8(*out, unit);
   return true;
}

/* In its place: what is escaped is shorter then. NULL: error */
static char *
read_string(struct reader *r)
{
   static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";

   if (*r->at != '"') {
      expect(r, '"');
      return NULL;
   }
   char *start = ++r->at, *out = start;
   for (;;) {
      unsigned char byte = *r->at++;
      if (byte == '"') {
         break;
      } else if (byte < 0x20) {
         r->at--;
         fail(r, r->at >= r->end ? "it is cut off" : "it is no JSON");
         return NULL;
      } else if (byte != '\\') {
         *out++ = byte;
         continue;
      }

      char escape = *r->at++;
      if (escape == 'u') {
         if (!read_unicode(r, &out))
            return NULL;
         continue;
      }
      unsigned i = 0;
      while (escapes[i] && escapes[i] != escape)
         i += 2;
      if (!escape || !escapes[i]) {
         fail(r, r->at > r->end ? "it is cut off" : "it is no JSON");
         return NULL;
      }
      *out++ = escapes[i + 1];
   }
   *out = '\0';
   skip_space(r);
   return start;
}

static bool
read_word(struct reader *r, const char *word)
{
   size_t length = strlen(word);

   if (strncmp(r->at, word, length))
      return fail(r, strlen(r->at) < length ? "it is cut off" : "it is no JSON");
   r->at += length;
   skip_space(r);
   return true;
}

/* *is_integer: it is in *integer exactly. */
static bool
read_number(struct reader *r, double *number, int64_t *integer, bool *is_integer)
{
   char *at = r->at + (*r->at == '-');
   uint64_t digits = 0;
   char *first = at;

   while (*at >= '0' && *at <= '9' && at - first < 18)
      digits = digits * 10 + (*at++ - '0');
   *is_integer = at > first && *at != '.' && (*at | 0x20) != 'e' && !(*at >= '0' && *at <= '9');
   if (at == first)
      return fail(r, at >= r->end ? "it is cut off" : "it is no JSON");
   *integer = *r->at == '-' ? -(int64_t)digits : (int64_t)digits;
   *number = *integer;
   if (!*is_integer)
      *number = strtod(r->at, &at);
   r->at = at;
   skip_space(r);
   return true;
}

static bool skip_value(struct reader *r, unsigned depth);

static bool
skip_members(struct reader *r, char close, unsigned depth)
{
   r->at++;
   if (accept(r, close))
      return true;
   do {
      if (close == '}' && (!read_string(r) || !expect(r, ':')))
         return false;
      if (!skip_value(r, depth + 1))
         return false;
   } while (accept(r, ','));
   return expect(r, close);
}

static bool
skip_value(struct reader *r, unsigned depth)
{
   double number;
   int64_t integer;
   bool is_integer;

   if (depth > MAX_DEPTH)
      return fail(r, "it is too deep");
   skip_space(r);
   switch (*r->at) {
   case '"':
      return read_string(r) != NULL;
   case '{':
      return skip_members(r, '}', depth);
   case '[':
      return skip_members(r, ']', depth);
   case 't':
      return read_word(r, "true");
   case 'f':
      return read_word(r, "false");
   case 'n':
      return read_word(r, "null");
   default:
      return read_number(r, &number, &integer, &is_integer);
   }
}

static bool
read_strings(struct reader *r, struct gpuval_value *value)
{
   const char **strings = NULL;
   unsigned count = 0;

   do {
      if (!(count & (count - 1)))
         strings = reralloc(r->mem_ctx, strings, const char *, MAX2(2 * count, 4));
      strings[count] = read_string(r);
      if (!strings[count++])
         return false;
   } while (accept(r, ','));
   *value = (struct gpuval_value){GPUVAL_VALUE_STRINGS, .strings = strings, .count = count};
   return expect(r, ']');
}

/* Into the room of three; more of them are an error. null: not finite */
static bool
read_numbers(struct reader *r, double numbers[3], unsigned *count)
{
   bool is_array = accept(r, '[');
   bool is_integer;
   int64_t integer;

   *count = 0;
   do {
      double number = NAN;
      if (*r->at == 'n' ? !read_word(r, "null") : !read_number(r, &number, &integer, &is_integer))
         return false;
      if (*count == 3)
         return fail(r, "it has too many numbers");
      numbers[(*count)++] = number;
   } while (is_array && accept(r, ','));
   return !is_array || expect(r, ']');
}

static bool
read_array(struct reader *r, struct gpuval_value *value)
{
   double numbers[3];

   char *start = r->at;
   accept(r, '[');
   if (*r->at == '"' || *r->at == ']')
      return accept(r, ']') || read_strings(r, value);
   r->at = start;
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
   switch (*r->at) {
   case '"':
      *value = (struct gpuval_value){GPUVAL_VALUE_STRING, .string = read_string(r)};
      return value->string != NULL;
   case '[':
      return read_array(r, value);
   case 't':
      value->type = GPUVAL_VALUE_TRUE;
      return read_word(r, "true");
   case '{':
   case 'f':
   case 'n':
      return skip_value(r, 0);
   default:
      if (!read_number(r, &number, &integer, &is_integer))
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
   if (!expect(r, '{'))
      return false;
   if (accept(r, '}'))
      return true;
   do {
      if (r->num_facts == MAX_FACTS)
         return fail(r, "it has too many numbers");
      struct fact *fact = &r->facts[r->num_facts++];
      fact->key = read_string(r);
      if (!fact->key || !expect(r, ':') || !read_numbers(r, fact->numbers, &fact->count))
         return false;
   } while (accept(r, ','));
   return expect(r, '}');
}

/* [{"run":N,"count":N},...] of a report that was made of others */
static bool
read_seen(struct reader *r)
{
   if (!expect(r, '['))
      return false;
   if (accept(r, ']'))
      return true;
   do {
      struct gpuval_seen seen = {0};
      if (!expect(r, '{'))
         return false;
      do {
         struct gpuval_value value;
         const char *key = read_string(r);
         if (!key || !expect(r, ':') || !read_value(r, &value))
            return false;
         bool is_number = value.type == GPUVAL_VALUE_NUMBER && value.number >= 0;
         if (is_number && !strcmp(key, "run") && value.number < UINT32_MAX / 2)
            seen.run = value.number;
         else if (is_number && !strcmp(key, "count"))
            seen.count = value.number;
      } while (accept(r, ','));
      if (!expect(r, '}'))
         return false;
      util_dynarray_append(&r->line->seen, struct gpuval_seen, seen);
   } while (accept(r, ','));
   return expect(r, ']');
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
   if (!strcmp(key, "seconds") && *r->at != '"' && *r->at != '{') {
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

   if (!expect(r, '{'))
      return false;
   bool is_empty = accept(r, '}');
   while (!is_empty) {
      struct gpuval_value value = {0};
      bool known;
      const char *key = read_string(r);
      if (!key || !expect(r, ':') || !read_checked(r, key, &run, &known) ||
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
      if (!accept(r, ','))
         break;
   }
   util_dynarray_append(&r->line->runs, struct gpuval_run, run);
   return is_empty || expect(r, '}');
}

static bool
read_runs(struct reader *r)
{
   r->line->summary.is_merged = true;
   if (!expect(r, '['))
      return false;
   if (accept(r, ']'))
      return true;
   do {
      if (!read_run(r))
         return false;
   } while (accept(r, ','));
   return expect(r, ']');
}

/* What the summary of one run says of it. In that of several, each run says it of itself. */
static void
add_to_run(struct reader *r, const char *ended, const struct gpuval_run *checked)
{
   if (r->line->summary.is_merged || (!ended && !checked->checks))
      return;
   if (!r->line->runs.size) {
      struct gpuval_run run = {.pid = -1};
      util_dynarray_append(&r->line->runs, struct gpuval_run, run);
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
   if (!expect(r, '{'))
      return false;
   if (accept(r, '}'))
      return true;
   do {
      struct gpuval_value value;
      bool known;
      const char *key = read_string(r);
      if (!key || !expect(r, ':') || !read_checked(r, key, &checked, &known))
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
   } while (accept(r, ','));
   add_to_run(r, ended, &checked);
   return expect(r, '}');
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
      return skip_value(r, 0); /* made anew */
   if (*r->at == '{' && !other && !strcmp(key, "other")) {
      r->line->row.has_other = true;
      r->hint = 0;
      return read_facts(r, "", true);
   }
   if (*r->at == '{' && !strcmp(key, "invocation"))
      return other ? skip_value(r, 0) : read_invocation(r);
   for (unsigned i = 0; *r->at == '{' && i < gpuval_num_fields; i++) {
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
   if (!expect(r, '{'))
      return false;
   if (accept(r, '}'))
      return true;
   do {
      struct gpuval_value value;
      bool known = false;
      const char *key = read_string(r);
      if (!key || !expect(r, ':'))
         return false;
      if (!*object && !read_member(r, key, other, &known))
         return false;
      if (*r->at == '{' && is_inside(object, key)) {
         if (!read_facts(r, key, other))
            return false;
         continue;
      }
      if (known)
         continue;
      int field = gpuval_field_find(object, key, r->hint);
      if (field < 0) {
         r->line->unknown = key;
         if (!skip_value(r, 0))
            return false;
         continue;
      }
      if (!read_value(r, &value))
         return false;
      r->line->row.values[other][field] = value;
      r->hint = field + 1;
   } while (accept(r, ','));
   return expect(r, '}');
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
   struct reader r = {.at = text, .end = text + length, .mem_ctx = mem_ctx, .line = line};

   line->is_summary = false;
   line->row = (struct gpuval_row){0};
   line->summary = (struct gpuval_summary){0};
   line->seen.size = line->runs.size = 0;
   line->unknown = NULL;

   skip_space(&r);
   if (read_facts(&r, "", false) && r.at != r.end)
      fail(&r, "there is something behind the object");
   if (r.error)
      return r.error;
   set_invocation(&r);
   line->row.seen = util_dynarray_begin(&line->seen);
   line->row.num_seen = util_dynarray_num_elements(&line->seen, struct gpuval_seen);
   line->summary.runs = util_dynarray_begin(&line->runs);
   line->summary.num_runs = util_dynarray_num_elements(&line->runs, struct gpuval_run);
   return check_line(line);
}
