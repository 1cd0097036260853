/* SPDX-License-Identifier: MIT */

/*
 * What shaders print, against the lines of [printf]: in the log, in the reports
 * and as heard by the program's messenger. Lines of different invocations come
 * in any order, so both sides are sorted.
 */

#include "scenario.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "vk_headless.h"

struct lines {
   char **lines;
   unsigned count;
};

struct scenario_printf {
   struct lines expected;
   struct lines warnings; /* parts of lines */
   struct lines reported; /* each as often as its report says */
   bool some;             /* `messages some`: any number of the expected lines */
   bool ordered;
   int64_t messages;    /* -1: as many as there are lines */
   int64_t lost;        /* -1: any */
   int64_t sum;         /* printed and lost; -1: any */
   unsigned max_report; /* reports that there may be; 0: any number */
   unsigned report_count;
};

static struct scenario_printf *
get_printf(struct scenario *scenario)
{
   if (!scenario->printf) {
      scenario->printf = calloc(1, sizeof(*scenario->printf));
      if (!scenario->printf)
         vkh_die("out of memory");
      scenario->printf->messages = scenario->printf->sum = -1;
   }
   return scenario->printf;
}

static void
add(struct lines *lines, char *line)
{
   /* Twice the room each time: there may be a million. */
   if (!(lines->count & (lines->count - 1))) {
      lines->lines = realloc(lines->lines, (lines->count ? 2 * lines->count : 1) * sizeof(char *));
      if (!lines->lines)
         vkh_die("out of memory");
   }
   lines->lines[lines->count++] = line;
}

static void
clear(struct lines *lines)
{
   for (unsigned i = 0; i < lines->count; i++)
      free(lines->lines[i]);
   free(lines->lines);
   *lines = (struct lines){0};
}

/* --- Expected lines ------------------------------------------------------- */

/* `%SPEC[&MASK][*FACTOR][+SUMMAND]` for printf(3), with the number that it makes of
 * `i`
 */
static char *
format_number(const char *text, unsigned length, unsigned i)
{
   char copy[64], spec[32], format[40];
   double factor = 1, summand = 0;
   char *rest;

   snprintf(copy, sizeof(copy), "%.*s", (int)length, text);
   snprintf(spec, sizeof(spec), "%.*s", (int)strcspn(copy, "aAeEfFgGdiouxXc") + 1, copy);
   rest = copy + strlen(spec);
   if (*rest == '&')
      i &= (unsigned)strtoul(rest + 1, &rest, 0);
   if (*rest == '*')
      factor = strtod(rest + 1, &rest);
   if (*rest)
      summand = strtod(rest, &rest);
   if (*rest)
      vkh_die("[printf]: @{%s}", copy);

   const double value = i * factor + summand;
   const char conversion = spec[strlen(spec) - 1];
   if (strchr("aAeEfFgG", conversion))
      return scenario_format(spec, value);
   if (conversion == 'c')
      return scenario_format(spec, (int)value);
   snprintf(format, sizeof(format), "%.*sll%c", (int)strlen(spec) - 1, spec, conversion);
   return scenario_format(format, (long long)value);
}

/* `@` is the number, `@{…}` that number printed by printf(3). */
static char *
expand(const char *text, unsigned i)
{
   char *expanded = NULL;
   size_t size;
   FILE *file = open_memstream(&expanded, &size);
   if (!file)
      vkh_die("out of memory");

   for (const char *c = text; *c; c++) {
      const char *end = c[0] == '@' && c[1] == '{' ? strchr(c, '}') : NULL;
      if (end) {
         char *number = format_number(c + 2, (unsigned)(end - c - 2), i);
         fputs(number, file);
         free(number);
         c = end;
      } else if (*c == '@') {
         fprintf(file, "%u", i);
      } else {
         fputc(*c, file);
      }
   }
   fclose(file);
   return expanded;
}

void
scenario_printf_read_line(struct scenario *scenario, const char *line, unsigned number)
{
   struct scenario_printf *printf = get_printf(scenario);
   unsigned count;
   int length = 0;

   if (!*line || *line == '#')
      return;
   if (strncmp(line, "warning ", 8) == 0)
      add(&printf->warnings, scenario_format("%s", line + 8));
   else if (sscanf(line, "for %u %n", &count, &length) == 1 && length)
      for (unsigned i = 0; i < count; i++)
         add(&printf->expected, expand(line + length, i));
   else if (strncmp(line, "line ", 5) == 0)
      add(&printf->expected, scenario_format("%s", line + 5));
   else
      scenario_error(scenario, number, "not a line of [printf]: %s", line);
}

bool
scenario_printf_read_setting(struct scenario *scenario, const struct scenario_statement *statement)
{
   const char *word = statement->words[0];
   const char *value = statement->word_count > 1 ? statement->words[1] : "";

   if (strcmp(word, "ordered") == 0) {
      get_printf(scenario)->ordered = true;
   } else if (strcmp(word, "messages") == 0) {
      get_printf(scenario)->some = strcmp(value, "some") == 0;
      if (!get_printf(scenario)->some)
         get_printf(scenario)->messages = strtoll(value, NULL, 0);
   } else if (strcmp(word, "messages_lost") == 0) {
      get_printf(scenario)->lost = strcmp(value, "some") == 0 ? -1 : strtoll(value, NULL, 0);
   } else if (strcmp(word, "messages_sum") == 0) {
      get_printf(scenario)->sum = strtoll(value, NULL, 0);
   } else if (strcmp(word, "message_reports") == 0) {
      get_printf(scenario)->max_report = (unsigned)strtoul(value, NULL, 0);
   } else {
      return false;
   }
   return true;
}

/* --- What was printed ----------------------------------------------------- */

/* As the log writes a text: one line */
static char *
escape(const char *text)
{
   char *escaped = NULL;
   size_t size;
   FILE *file = open_memstream(&escaped, &size);
   if (!file)
      vkh_die("out of memory");

   for (const char *c = text; *c; c++) {
      if (*c == '\n')
         fputs("\\n", file);
      else if (iscntrl((unsigned char)*c) && *c != '\t')
         fprintf(file, "\\x%02x", *c);
      else
         fputc(*c, file);
   }
   fclose(file);
   return escaped;
}

void
scenario_printf_write_message(FILE *file, const char *text)
{
   char *escaped = escape(text);
   fprintf(file, "info %s\n", escaped);
   fflush(file);
   free(escaped);
}

void
scenario_printf_add_report(struct scenario *scenario, const struct json *json)
{
   struct scenario_printf *printf = scenario->printf;
   const bool is_message = strcmp(json_get_string(json, "kind", ""), "message") == 0 &&
                           strcmp(json_get_string(json, "severity", ""), "info") == 0;

   printf->report_count++;
   for (int64_t i = 0; i < json_get_integer(json, "count", 0); i++)
      add(&printf->reported, is_message ? escape(json_get_string(json, "message", ""))
                                        : scenario_format("(not a message)"));
}

/* Lines that begin with `prefix`, without it */
static struct lines
read_lines(const char *path, const char *prefix)
{
   struct lines lines = {0};
   char *text = vkh_read_file(path, NULL);
   char *rest = text;
   char *line;

   while ((line = strsep(&rest, "\n"))) {
      if (strncmp(line, prefix, strlen(prefix)) == 0)
         add(&lines, scenario_format("%s", line + strlen(prefix)));
   }
   free(text);
   return lines;
}

/* With GPUVAL_PRINTF_PREFIX the log and the messenger have "STAGE shader HASH …: "
 * in front of the text. Each compilation has its own hash.
 */
static void
hide_hashes(struct lines *lines)
{
   for (unsigned i = 0; i < lines->count; i++) {
      char *hash = strstr(lines->lines[i], " shader ");
      hash = hash ? hash + strlen(" shader ") : NULL;
      if (hash && strspn(hash, "0123456789abcdef") == 16) {
         memcpy(hash, "HASH", 4);
         memmove(hash + 4, hash + 16, strlen(hash + 16) + 1);
      }
   }
}

static void
remove_prefix(struct lines *lines)
{
   for (unsigned i = 0; i < lines->count; i++) {
      char *text = strstr(lines->lines[i], ": ");
      if (text)
         memmove(lines->lines[i], text + 2, strlen(text + 2) + 1);
   }
}

static int
compare_strings(const void *a, const void *b)
{
   return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
sort(struct lines *lines)
{
   if (lines->count)
      qsort(lines->lines, lines->count, sizeof(char *), compare_strings);
}

/* Both are sorted. */
static unsigned
compare_sorted(const struct scenario *scenario, const char *where, const struct lines *expected,
               const struct lines *got, bool some)
{
   unsigned differences = 0;
   unsigned i = 0, j = 0;

   while (i < expected->count || j < got->count) {
      const int order = i == expected->count ? 1
                        : j == got->count    ? -1
                                             : strcmp(expected->lines[i], got->lines[j]);
      if (order == 0) {
         i++, j++;
         continue;
      }
      if ((order > 0 || !some) && differences++ < 10)
         printf("%s: %s, %s: %s\n", scenario->path, where,
                order < 0 ? "expected, but not printed" : "printed, but not expected",
                order < 0 ? expected->lines[i] : got->lines[j]);
      if (order < 0)
         i++;
      else
         j++;
   }
   return differences;
}

/* Lines with the same first word, which is an invocation's, keep their order. */
static unsigned
compare_order(const struct scenario *scenario, const struct lines *expected,
              const struct lines *got)
{
   for (unsigned i = 0, from; i < expected->count; i++) {
      const char *line = expected->lines[i];
      const size_t word = strcspn(line, " ") + 1;
      unsigned before = 0, place = 0, at = 0;

      for (from = 0; from < i; from++)
         before += strncmp(expected->lines[from], line, word) == 0;
      for (; at < got->count; at++) {
         if (strncmp(got->lines[at], line, word) == 0 && place++ == before)
            break;
      }
      if (at == got->count || strcmp(got->lines[at], line) != 0) {
         printf("%s: not in order: %s\n", scenario->path, line);
         return 1;
      }
   }
   return 0;
}

static unsigned
compare_warnings(const struct scenario *scenario, const char *log)
{
   const struct lines *expected = &scenario->printf->warnings;
   struct lines got = read_lines(log, "gpuval: warning: printf: ");
   unsigned differences = 0;

   for (unsigned i = 0; i < got.count; i++) {
      unsigned j = 0;
      while (j < expected->count && !strstr(got.lines[i], expected->lines[j]))
         j++;
      if (j == expected->count && ++differences)
         printf("%s: warning not expected: %s\n", scenario->path, got.lines[i]);
   }
   for (unsigned i = 0; i < expected->count; i++) {
      unsigned count = 0;
      for (unsigned j = 0; j < got.count; j++)
         count += strstr(got.lines[j], expected->lines[i]) != NULL;
      if (count != 1 && ++differences)
         printf("%s: %u warnings instead of one: %s\n", scenario->path, count, expected->lines[i]);
   }
   clear(&got);
   return differences;
}

static unsigned
compare_number(const struct scenario *scenario, const char *what, int64_t expected, int64_t got)
{
   if (expected == got)
      return 0;
   printf("%s: expected %lld %s, got %lld\n", scenario->path, (long long)expected, what,
          (long long)got);
   return 1;
}

unsigned
scenario_printf_compare(struct scenario *scenario, const struct json *summary, const char *log,
                        const char *messages)
{
   struct scenario_printf *printf = scenario->printf;
   struct lines in_log = read_lines(log, "printf: ");
   struct lines heard = read_lines(messages, "info ");
   const int64_t total = summary ? json_get_integer(summary, "summary.messages", -1) : -1;
   const int64_t lost = summary ? json_get_integer(summary, "summary.lost_messages", 0) : 0;
   unsigned differences = 0;

   if (printf->ordered)
      differences += compare_order(scenario, &printf->expected, &in_log);

   struct lines expected = {0};
   for (unsigned i = 0; i < printf->expected.count; i++)
      add(&expected, scenario_format("%s", printf->expected.lines[i]));
   hide_hashes(&in_log);
   hide_hashes(&heard);
   sort(&expected);
   sort(&in_log);
   sort(&heard);
   sort(&printf->reported);
   differences += compare_sorted(scenario, "log", &expected, &in_log, printf->some);
   differences += compare_sorted(scenario, "messenger", &in_log, &heard, false);
   for (unsigned i = 0; i < scenario->env_count; i++) {
      if (strcmp(scenario->env[i].key, "GPUVAL_PRINTF_PREFIX") == 0)
         remove_prefix(&in_log);
   }
   sort(&in_log);
   differences +=
      compare_sorted(scenario, "report", &in_log, &printf->reported, printf->max_report != 0);
   if (printf->max_report)
      differences +=
         compare_number(scenario, "reports of messages", printf->max_report, printf->report_count);
   differences += compare_warnings(scenario, log);

   differences += compare_number(scenario, "messages in the summary", in_log.count, total);
   if (printf->messages >= 0)
      differences += compare_number(scenario, "messages", printf->messages, total);
   if (printf->lost >= 0)
      differences += compare_number(scenario, "lost messages", printf->lost, lost);
   if (printf->sum >= 0)
      differences += compare_number(scenario, "messages and lost ones", printf->sum, total + lost);

   clear(&expected);
   clear(&in_log);
   clear(&heard);
   clear(&printf->reported);
   printf->report_count = 0;
   return differences;
}
