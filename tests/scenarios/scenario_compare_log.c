/* SPDX-License-Identifier: MIT */

/*
 * The text log, and what the program's own messenger hears.
 */

#include "scenario_compare.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_checks.h"

/* --- The text log --------------------------------------------------------- */

static unsigned
count_lines(const char *log, const char *prefix)
{
   const size_t length = strlen(prefix);
   unsigned count = 0;
   for (const char *line = log; line && *line;) {
      count += strncmp(line, prefix, length) == 0;
      line = strchr(line, '\n');
      line = line ? line + 1 : NULL;
   }
   return count;
}

static const char *
last_line(const char *log)
{
   const char *line = log;
   for (const char *at = log; (at = strchr(at, '\n')) && at[1];)
      line = ++at;
   return line;
}

/* "1 error", "2 errors" */
static char *
count_text(int64_t count, const char *noun)
{
   return scenario_format("%lld %s%s", (long long)count, noun, count == 1 ? "" : "s");
}

static void
check_closing_line(struct compare *compare, const char *log)
{
   const char *line = last_line(log);
   char *errors = count_text(json_get_integer(compare->summary, "summary.errors", -1), "error");
   char *occurrences =
      count_text(json_get_integer(compare->summary, "summary.occurrences", -1), "occurrence");
   char *lost = count_text(json_get_integer(compare->summary, "summary.lost", -1), "record");
   const int64_t warning_count = json_get_integer(compare->summary, "summary.warnings", 0);
   char *warnings = count_text(warning_count, "warning");
   char *expected =
      compare->report_count
         ? scenario_format("gpuval: %s (%s)%s%s, %s lost\n", errors, occurrences,
                           warning_count ? ", " : "", warning_count ? warnings : "", lost)
         : scenario_format("gpuval: no errors: ");

   if (compare->report_count ? strcmp(line, expected) != 0
                             : strncmp(line, expected, strlen(expected)) != 0) {
      compare_difference(compare, NULL, "the log's closing line is another");
      printf("   expected: %s   got: %s\n", expected, line);
   }
   free(errors);
   free(occurrences);
   free(warnings);
   free(lost);
   free(expected);
}

/* Blocks of errors that have been warnings before: those have blocks, too. */
static unsigned
count_raised(const char *log)
{
   return count_lines(log, "gpuval:    was a warning so far: ");
}

/* The log has warnings of its own, of variables and limits; these name a check. */
static unsigned
count_warnings(const char *log)
{
   unsigned count = 0;
   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      char *head = scenario_format("gpuval: warning: %s/", gpuval_check_infos[i].name);
      count += count_lines(log, head);
      free(head);
   }
   return count;
}

static unsigned
count_reported_warnings(const struct compare *compare)
{
   unsigned count = 0;
   for (unsigned i = 0; i < compare->report_count; i++)
      count += compare_is_warning(&compare->reports[i]);
   return count;
}

/* Each report has the head line of a block in the log. */
void
compare_log(struct compare *compare, const char *path)
{
   FILE *file = fopen(path, "r");
   if (!file) {
      compare_difference(compare, NULL, "the driver wrote no log");
      return;
   }
   fclose(file);

   char *log = vkh_read_file(path, NULL);
   const unsigned errors = count_lines(log, "gpuval: error: ");
   const unsigned warnings = count_warnings(log) - count_raised(log);
   const unsigned reported = count_reported_warnings(compare);
   if (errors != compare->report_count - reported || warnings != reported) {
      compare_difference(compare, NULL, "the log has another number of failures than the report");
      printf("   %u errors and %u warnings in the log, %u and %u in the report\n", errors, warnings,
             compare->report_count - reported, reported);
   }
   for (unsigned i = 0; i < compare->report_count && compare->report_count < 100; i++) {
      const struct json *json = compare->reports[i].json;
      char *head =
         scenario_format("gpuval: %s: %s/%s: %s\n", json_get_string(json, "severity", ""),
                         json_get_string(json, "check", ""), json_get_string(json, "kind", ""),
                         json_get_string(json, "message", ""));
      if (!strstr(log, head)) {
         compare_difference(compare, NULL, "the log does not have a report's message");
         printf("   expected: %s", head);
      }
      free(head);
   }
   if (!compare_has_printf(compare) && count_lines(log, "printf: "))
      compare_difference(compare, NULL, "messages are printed although printf is off");
   check_closing_line(compare, log);
   free(log);
}

/* abort() keeps the log, but there is nobody left to write a report: each
 * EXPECT must have its block in the log.
 */
void
compare_log_only(struct compare *compare, const char *path)
{
   FILE *file = fopen(path, "r");
   if (!file) {
      compare_difference(compare, NULL, "the driver wrote no log");
      return;
   }
   fclose(file);

   char *log = vkh_read_file(path, NULL);
   unsigned expected = 0;
   for (unsigned i = 0; i < compare->scenario->expect_count; i++) {
      const struct scenario_expect *expect = &compare->scenario->expects[i];
      if (!scenario_expect_applies(expect, compare->checks))
         continue;
      expected++;
      const struct scenario_section *section = compare_section(compare, expect);
      char *head = scenario_format("gpuval: error: %s: ", expect->check);
      char *place = section ? scenario_format("at %s:%u", section->file, expect->line)
                            : scenario_format("%s", "");
      const char *found = strstr(log, place);
      /* A column follows where the compiler wrote one. */
      if (!strstr(log, head) || !found || isdigit((unsigned char)found[strlen(place)])) {
         compare_difference(compare, expect, "not in the log");
         compare_print_expect(compare, expect);
      }
      free(head);
      free(place);
   }
   unsigned blocks = count_lines(log, "gpuval: error: ");
   const uint32_t allowed = scenario_allowed(compare->scenario, compare->checks);
   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      char *head = scenario_format("gpuval: error: %s/", gpuval_check_infos[i].name);
      if (allowed & (1u << i))
         blocks -= count_lines(log, head);
      free(head);
   }
   if (blocks != expected) {
      compare_difference(compare, NULL, "the log has another number of errors");
      printf("   expected %u, got %u\n", expected, blocks);
   }
   free(log);
}

/* --- The program's own messenger ------------------------------------------ */

/* Each block of the log is a message as scenario_run_device.c writes it down. */
static void
compare_blocks(struct compare *compare, const char *log, const char *messages)
{
   static const char error[] = "gpuval: error: ", warning[] = "gpuval: warning: ";

   for (const char *begin = log, *end; *begin; begin = end) {
      end = begin + strcspn(begin, "\n") + 1;
      const bool is_warning =
         strncmp(begin, warning, strlen(warning)) == 0 && strncmp(end, "gpuval:    ", 11) == 0;
      if (!is_warning && strncmp(begin, error, strlen(error)) != 0)
         continue;
      while (strncmp(end, "gpuval:    ", 11) == 0)
         end += strcspn(end, "\n") + 1;

      char *block = scenario_format(" %.*s@", (int)(end - begin), begin);
      for (char *c = block; (c = strchr(c, '\n'));)
         *c = '\v';
      if (!strstr(messages, block)) {
         compare_difference(compare, NULL, "the program did not hear what the log says");
         printf("   expected: %.*s", (int)(end - begin), begin);
      }
      free(block);
   }
}

/* Does the line name the objects of the report? */
static bool
has_objects(const struct json *report, const char *line)
{
   static const char *const objects[][2] = {
      {"command.command_buffer", "command.command_buffer_name"},
      {"command.primary", "command.primary_name"},
      {"command.pipeline", "command.pipeline_name"},
      {"command.shader", "shader.name"},
      {"resource.object", "resource.object_name"},
      {"resource.parent", "resource.parent_name"},
      {"resource.memory", "resource.memory_name"},
      {"other.command.command_buffer", "other.command.command_buffer_name"},
      {"other.command.primary", "other.command.primary_name"},
      {"other.command.pipeline", "other.command.pipeline_name"},
      {"other.command.shader", "other.shader.name"},
   };
   const char *end = line + strcspn(line, "\n");
   bool found = true;

   for (unsigned i = 0; i < VKH_COUNT(objects) && found; i++) {
      const char *handle = json_get_string(report, objects[i][0], NULL);
      char *object =
         scenario_format("\v@%s %s\v", handle, json_get_string(report, objects[i][1], ""));
      const char *at = strstr(line, object);
      found = !handle || (at && at < end);
      free(object);
   }
   return found;
}

static bool
has_message(const struct json *report, const char *messages)
{
   const char *check = json_get_string(report, "check", ""),
              *kind = json_get_string(report, "kind", "");
   const char *severity = json_get_string(report, "severity", "");
   char *begin = scenario_format("%sgpuval-%s-%s gpuval: %s: %s/%s: %s\v",
                                 strcmp(severity, "warning") == 0 ? "warning " : "", check, kind,
                                 severity, check, kind, json_get_string(report, "message", ""));
   const char *line = strstr(messages, begin);

   while (line && !has_objects(report, line))
      line = strstr(line + 1, begin);
   free(begin);
   return line;
}

/* Each report is one message, `gpuval-CHECK-KIND`: the whole block of the log, with its objects */
void
compare_messages(struct compare *compare, const char *path, const char *log_path)
{
   char *log = vkh_read_file(log_path, NULL);
   char *messages = vkh_read_file(path, NULL);
   const unsigned count = count_lines(messages, "") - count_lines(messages, "info ");

   if (count != compare->report_count + count_raised(log)) {
      compare_difference(compare, NULL, "the program heard another number of messages");
      printf("   %u messages, %u reports\n", count, compare->report_count);
   }
   if (compare->report_count < 100)
      compare_blocks(compare, log, messages);
   for (unsigned i = 0; i < compare->report_count && compare->report_count < 100; i++) {
      const struct json *json = compare->reports[i].json;
      if (!has_message(json, messages)) {
         compare_difference(compare, NULL, "the program did not hear a report's message");
         printf("   expected: %s\n", json_get_string(json, "message", ""));
      }
   }
   free(messages);
   free(log);
}
