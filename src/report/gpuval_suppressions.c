/* SPDX-License-Identifier: MIT */

#include "gpuval_suppressions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_glob.h"
#include "base/gpuval_log.h"
#include "base/gpuval_text.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/macros.h"
#include "util/ralloc.h"

/* A word of an entry: all of them have to match. */
struct pattern {
   bool (*matches)(const struct gpuval_event *event, const char *glob);
   const char *glob;
};

struct entry {
   const char *file;
   unsigned line;
   const char *text;
   struct util_dynarray patterns; /* struct pattern */
   struct util_dynarray events;   /* const struct gpuval_event *: that no entry before has */
   bool used;
};

static struct util_dynarray entries; /* struct entry */

/* What is not known matches nothing, not even a star. */
static bool
is_like(const char *glob, const char *text)
{
   return text && gpuval_glob_matches(glob, text);
}

static bool
check_matches(const struct gpuval_event *event, const char *glob)
{
   return is_like(glob, gpuval_kind_check_name(event->kind));
}

static bool
kind_matches(const struct gpuval_event *event, const char *glob)
{
   return is_like(glob, gpuval_kind_infos[event->kind].name);
}

static bool
shader_matches(const struct gpuval_event *event, const char *glob)
{
   char hash[17];

   if (!event->place.has_shader)
      return false;
   snprintf(hash, sizeof(hash), "%016" PRIx64, event->place.shader.hash);
   return is_like(glob, hash) || is_like(glob, event->place.shader.name);
}

static bool
file_matches(const struct gpuval_event *event, const char *glob)
{
   return event->place.source.file && gpuval_glob_matches_file(glob, event->place.source.file);
}

static bool
function_matches(const struct gpuval_event *event, const char *glob)
{
   return is_like(glob, event->place.source.function);
}

static bool
variable_matches(const struct gpuval_event *event, const char *glob)
{
   return is_like(glob, event->resource.name);
}

static bool
object_matches(const struct gpuval_event *event, const char *glob)
{
   return is_like(glob, event->resource.object_name);
}

static bool
pipeline_matches(const struct gpuval_event *event, const char *glob)
{
   return event->place.has_command && is_like(glob, event->place.command.pipeline_name);
}

static bool
label_matches(const struct gpuval_event *event, const char *glob)
{
   const struct gpuval_command *command = &event->place.command;

   for (unsigned i = 0; event->place.has_command && i < command->num_labels; i++) {
      if (is_like(glob, command->labels[i]))
         return true;
   }
   return false;
}

static bool
fingerprint_matches(const struct gpuval_event *event, const char *glob)
{
   return is_like(glob, event->fingerprint);
}

static const struct {
   const char *name;
   bool (*matches)(const struct gpuval_event *event, const char *glob);
} keys[] = {
   {"check", check_matches},       {"kind", kind_matches},
   {"shader", shader_matches},     {"file", file_matches},
   {"function", function_matches}, {"variable", variable_matches},
   {"name", object_matches},       {"pipeline", pipeline_matches},
   {"label", label_matches},       {"fingerprint", fingerprint_matches},
};

static bool
is_space(char c)
{
   return c == ' ' || (c >= '\t' && c <= '\r');
}

static void
skip_spaces(char **p)
{
   while (is_space(**p))
      (*p)++;
}

/* Ends the word at *p, which may have quotes around all of it from *p on, and moves on.
 * NULL: no closing quote. Backslashes stay, for the glob.
 */
static char *
take_word(char **p)
{
   bool quoted = **p == '"';
   char *word = *p + quoted, *end = word;

   while (*end && (quoted ? *end != '"' : !is_space(*end)))
      end += end[0] == '\\' && end[1] ? 2 : 1;
   if (quoted && (!*end || (end[1] && !is_space(end[1]))))
      return NULL;
   *p = end + (*end != 0);
   *end = 0;
   return word;
}

/* Is there a kind that CHECK/KIND may mean? */
static bool
is_title(const char *check, const char *kind)
{
   for (unsigned i = 0; i < GPUVAL_KIND_COUNT; i++) {
      if (!gpuval_kind_is_hidden(i) && gpuval_glob_matches(check, gpuval_kind_check_name(i)) &&
          gpuval_glob_matches(kind, gpuval_kind_infos[i].name))
         return true;
   }
   return false;
}

static void
add_pattern(struct entry *entry, bool (*matches)(const struct gpuval_event *, const char *),
            const char *glob)
{
   const struct pattern pattern = {matches, glob};
   util_dynarray_append_typed(&entry->patterns, struct pattern, pattern);
}

/* CHECK or CHECK/KIND; returns what is wrong. */
static const char *
parse_title(struct entry *entry, char **p)
{
   char *check = take_word(p), *kind = check ? strchr(check, '/') : NULL;

   if (!check)
      return "a quote is missing";
   if (kind)
      *kind++ = 0;
   if (!is_title(check, kind ? kind : "*"))
      return "no check has this name, or no kind of failure in it";
   add_pattern(entry, check_matches, check);
   if (kind)
      add_pattern(entry, kind_matches, kind);
   return NULL;
}

static const char *
parse_word(struct entry *entry, char **p)
{
   size_t length = strcspn(*p, ": \t\r\n\"");

   if ((*p)[length] != ':')
      return entry->patterns.size ? "behind the first word, only KEY:PATTERN is accepted"
                                  : parse_title(entry, p);
   for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
      if (strlen(keys[i].name) != length || strncmp(*p, keys[i].name, length))
         continue;
      *p += length + 1;
      const char *glob = take_word(p);
      if (!glob)
         return "a quote is missing";
      if (!*glob)
         return "a pattern is missing";
      add_pattern(entry, keys[i].matches, glob);
      return NULL;
   }
   return "the keys are check, kind, shader, file, function, variable, name, pipeline, label and "
          "fingerprint";
}

/* [CHECK[/KIND]] KEY:PATTERN... # comment */
static void
parse_line(char *line, const char *file, unsigned number)
{
   struct entry entry = {.file = file, .line = number};
   const char *error = NULL;
   char *text;

   line[strcspn(line, "\r\n")] = 0;
   skip_spaces(&line);
   text = strdup(line); /* of an entry, which stays */
   util_dynarray_init(&entry.patterns, NULL);
   util_dynarray_init(&entry.events, NULL);
   entry.text = strdup(line);
   for (char *p = text; p && !error; skip_spaces(&p)) {
      if (!*p || *p == '#')
         break;
      error = parse_word(&entry, &p);
   }

   if (error)
      gpuval_log_error("GPUVAL_SUPPRESSIONS: %s:%u: \"%s\": %s; the line is ignored", file, number,
                       line, error);
   if (text && entry.text && !error && entry.patterns.size) {
      util_dynarray_append_typed(&entries, struct entry, entry);
      return;
   }
   util_dynarray_fini(&entry.patterns);
   free((char *)entry.text);
   free(text);
}

static void
read_file(const char *file)
{
   char *line = NULL;
   size_t size = 0;
   unsigned number = 0;

   FILE *f = fopen(file, "re");
   while (f && getline(&line, &size, f) >= 0) {
      char *text = number ? line : gpuval_skip_byte_order_mark(line);
      parse_line(text, file, ++number);
   }
   /* A folder can be opened, but not read. */
   if (!f || ferror(f))
      gpuval_log_error("GPUVAL_SUPPRESSIONS: %s: %s; it suppresses nothing", file, strerror(errno));
   free(line);
   if (f)
      fclose(f);
}

void
gpuval_suppressions_init(const char *const *files)
{
   util_dynarray_init(&entries, NULL);
   for (unsigned i = 0; files && files[i]; i++)
      read_file(files[i]);
}

static bool
entry_matches(const struct entry *entry, const struct gpuval_event *event)
{
   util_dynarray_foreach (&entry->patterns, struct pattern, pattern) {
      if (!pattern->matches(event, pattern->glob))
         return false;
   }
   return true;
}

bool
gpuval_suppressions_take(const struct gpuval_event *event)
{
   bool taken = false;

   util_dynarray_foreach (&entries, struct entry, entry) {
      if (!entry_matches(entry, event))
         continue;
      entry->used = true;
      if (!taken)
         util_dynarray_append_typed(&entry->events, const struct gpuval_event *, event);
      taken = true;
   }
   return taken;
}

static uint64_t
count_events(const struct entry *entry, uint64_t *occurrences)
{
   *occurrences = 0;
   util_dynarray_foreach (&entry->events, const struct gpuval_event *, event)
      *occurrences += (*event)->count;
   return util_dynarray_num_elements(&entry->events, const struct gpuval_event *);
}

void
gpuval_suppressions_begin_process(void)
{
   util_dynarray_foreach (&entries, struct entry, entry) {
      util_dynarray_clear(&entry->events);
      entry->used = false;
   }
}

void
gpuval_suppressions_count(uint64_t *events, uint64_t *occurrences)
{
   *events = *occurrences = 0;
   util_dynarray_foreach (&entries, struct entry, entry) {
      uint64_t count;
      *events += count_events(entry, &count);
      *occurrences += count;
   }
}

void
gpuval_suppressions_write(FILE *f)
{
   util_dynarray_foreach (&entries, struct entry, entry) {
      uint64_t count, events = count_events(entry, &count);

      if (events)
         fprintf(f, "gpuval: %" PRIu64 " suppressed (%" PRIu64 " %s) by ", events, count,
                 count == 1 ? "occurrence" : "occurrences");
      else if (!entry->used)
         fputs("gpuval: suppression not used: ", f);
      else
         continue;
      gpuval_write_escaped(f, entry->file);
      fprintf(f, ":%u: ", entry->line);
      gpuval_write_escaped(f, entry->text);
      fputc('\n', f);
   }
}

/* As a pattern that is just this text; but for control characters, which would not stay
 * what they are in a file of lines.
 */
static void
write_pattern(FILE *f, const char *key, const char *text)
{
   if (!text || !*text)
      return;
   fprintf(f, " %s:\"", key);
   for (const char *s = text; *s; s++) {
      unsigned char byte = *s;
      if (byte < 0x20 || byte >= 0x7f) {
         fputc('?', f);
         continue;
      }
      if (strchr("*?\\\"", byte))
         fputc('\\', f);
      fputc(byte, f);
   }
   fputc('"', f);
}

void
gpuval_suppressions_generate(FILE *f, const struct gpuval_event *event)
{
   const char *check = gpuval_kind_check_name(event->kind);
   const char *kind = gpuval_kind_infos[event->kind].name;
   const char *file = event->place.source.file;
   const char *slash = file ? strrchr(file, '/') : NULL;

   fputs("# ", f);
   gpuval_write_escaped(f, event->message);
   fprintf(f, "\n%s/%s fingerprint:%s\n", check, kind, event->fingerprint);
   fprintf(f, "#%s/%s", check, kind);
   write_pattern(f, "shader", event->place.has_shader ? event->place.shader.name : NULL);
   write_pattern(f, "file", slash ? slash + 1 : file);
   write_pattern(f, "variable", event->resource.name);
   write_pattern(f, "name", event->resource.object_name);
   fputc('\n', f);
}
