/* SPDX-License-Identifier: MIT */

/*
 * Compares what the driver reported with the EXPECTs of a scenario.
 */

#include "scenario_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_checks.h"

#include "vk_headless.h"

/* Short names of EXPECT for paths in a report's JSON; any other key is taken
 * for the path itself.
 */
static const struct scenario_pair paths[] = {
   {"op", "access.op"},
   {"size", "access.size"},
   {"offset", "access.offset"},
   {"address", "access.address"},
   {"coord", "access.coord"},
   {"level", "access.level"},
   {"sample", "access.sample"},
   {"set", "resource.set"},
   {"binding", "resource.binding"},
   {"index", "resource.index"},
   {"type", "resource.type"},
   {"name", "resource.name"},
   {"object_name", "resource.object_name"},
   {"rsize", "resource.size"},
   {"extent", "resource.extent"},
   {"stage", "shader.stage"},
   {"entry", "shader.entry"},
   {"shader_name", "shader.name"},
   {"global_id", "invocation.global_id"},
   {"vertex_index", "invocation.vertex_index"},
   {"instance_index", "invocation.instance_index"},
   {"frag_coord", "invocation.frag_coord"},
   {"primitive_id", "invocation.primitive_id"},
   {"launch_id", "invocation.launch_id"},
   {"file", "source.file"},
   {"line", "source.line"},
   {"column", "source.column"},
   {"text", "source.text"},
   {"says", "message"},
   {"cmd", "command.op"},
   {"cmd_index", "command.index"},
   {"command_buffer_name", "command.command_buffer_name"},
   {"primary_name", "command.primary_name"},
   {"pipeline_name", "command.pipeline_name"},
   {"labels", "command.labels"},
   {"submission", "command.submission"},
};

static const char *
find_path(const char *key)
{
   for (unsigned i = 0; i < VKH_COUNT(paths); i++) {
      if (strcmp(paths[i].key, key) == 0)
         return paths[i].value;
   }
   return key;
}

/* --- Values --------------------------------------------------------------- */

/* A value as EXPECT writes it: elements of an array joined by ',', labels by
 * '>'.
 */
static char *
value_text(const struct json *value, const char *separator)
{
   char *text = NULL;

   switch (value->type) {
   case JSON_STRING:
      return scenario_format("%s", value->string);
   case JSON_NUMBER:
      return value->is_integer ? scenario_format("%lld", (long long)value->integer)
                               : scenario_format("%g", value->number);
   case JSON_BOOL:
      return scenario_format("%s", value->boolean ? "true" : "false");
   case JSON_NULL:
      return scenario_format("null");
   case JSON_OBJECT:
      return scenario_format("{}");
   case JSON_ARRAY:
      break;
   }

   text = scenario_format("%s", "");
   for (const struct json *element = value->first; element; element = element->next) {
      char *part = value_text(element, separator);
      char *longer = scenario_format("%s%s%s", text, *text ? separator : "", part);
      free(part);
      free(text);
      text = longer;
   }
   return text;
}

/* One component: equal, or a number in LOW..HIGH. */
static bool
component_matches(const char *pattern, size_t pattern_length, const char *text, size_t length)
{
   char number[64], range[128];
   double value, low, high;
   int end = 0;

   if (pattern_length == length && memcmp(pattern, text, length) == 0)
      return true;
   if (length >= sizeof(number) || pattern_length >= sizeof(range))
      return false;
   snprintf(number, sizeof(number), "%.*s", (int)length, text);
   snprintf(range, sizeof(range), "%.*s", (int)pattern_length, pattern);
   char *dots = strstr(range, "..");
   if (!dots)
      return false;
   *dots = 0;
   if (sscanf(number, "%lf%n", &value, &end) != 1 || number[end])
      return false;
   if (sscanf(range, "%lf", &low) != 1 || sscanf(dots + 2, "%lf", &high) != 1)
      return false;
   return value >= low && value <= high;
}

/* Component by component, as vectors are separated by ','. */
static bool
alternative_matches(const char *pattern, size_t pattern_length, const char *text)
{
   const char *end = pattern + pattern_length;

   while (true) {
      const char *comma = memchr(pattern, ',', (size_t)(end - pattern));
      const size_t length = comma ? (size_t)(comma - pattern) : (size_t)(end - pattern);
      const size_t text_length = comma ? strcspn(text, ",") : strlen(text);
      if (!component_matches(pattern, length, text, text_length))
         return false;
      if (!comma)
         return true;
      if (text[text_length] != ',')
         return false;
      pattern = comma + 1;
      text += text_length + 1;
   }
}

/* A&B is the text "A|B". */
static bool
has_flags(const char *pattern, const char *text)
{
   if (strlen(pattern) != strlen(text))
      return false;
   for (; *pattern; pattern++, text++) {
      if (*text != (*pattern == '&' ? '|' : *pattern))
         return false;
   }
   return true;
}

/* `*` any value, `-` none, A|B alternatives, A&B flags. */
static bool
value_matches(const char *pattern, const char *text)
{
   if (strcmp(pattern, "-") == 0)
      return text == NULL;
   if (!text)
      return false;
   if (strcmp(pattern, "*") == 0 || has_flags(pattern, text))
      return true;
   while (true) {
      const size_t length = strcspn(pattern, "|");
      if (alternative_matches(pattern, length, text))
         return true;
      if (!pattern[length])
         return false;
      pattern += length + 1;
   }
}

char *
compare_stack(const struct json *json, const char *key)
{
   const struct json *stack = json_get(json, "stack");
   char *text = scenario_format("%s", "");

   for (const struct json *frame = stack ? stack->first : NULL; frame; frame = frame->next) {
      const int64_t number = json_get_integer(frame, key, 0);
      char *longer =
         scenario_format("%s%s%s", text, *text ? ">" : "", json_get_string(frame, "function", "?"));
      free(text);
      text = number ? scenario_format("%s:%lld", longer, (long long)number) : longer;
      if (number)
         free(longer);
   }
   return text;
}

/* name=value;name=value, without spaces */
static char *
describe_values(const struct json *values)
{
   char *text = scenario_format("%s", "");

   for (const struct json *value = values->first; value; value = value->next) {
      char *longer =
         scenario_format("%s%s%s=%s", text, *text ? ";" : "", json_get_string(value, "name", "?"),
                         json_get_string(value, "value", "?"));
      free(text);
      text = longer;
   }
   char *to = text;
   for (const char *from = text; *from; from++) {
      if (*from != ' ')
         *to++ = *from;
   }
   *to = 0;
   return text;
}

static char *
report_value(const struct json *json, const char *path)
{
   if (strcmp(path, "values") == 0)
      return json_get(json, path) ? describe_values(json_get(json, path)) : NULL;
   if (strcmp(path, "stack") == 0)
      return json_get(json, path) ? compare_stack(json, "line") : NULL;
   const struct json *value = json_get(json, path);
   return value ? value_text(value, strcmp(path, "command.labels") == 0 ? ">" : ",") : NULL;
}

/* --- Expectations --------------------------------------------------------- */

static const char *
pair_value(const struct scenario_expect *expect, const char *key, const char *fallback)
{
   for (unsigned i = 0; i < expect->pair_count; i++) {
      if (strcmp(expect->pairs[i].key, key) == 0)
         return expect->pairs[i].value;
   }
   return fallback;
}

/* NULL for what fails in no shader. */
const struct scenario_section *
compare_section(const struct compare *compare, const struct scenario_expect *expect)
{
   if (expect->section == SCENARIO_NO_SECTION)
      return NULL;
   return &compare->scenario->sections[expect->section];
}

bool
compare_ends_with_path(const char *path, const char *file)
{
   const size_t path_length = strlen(path), length = strlen(file);
   return path_length >= length && strcmp(path + path_length - length, file) == 0 &&
          (path_length == length || path[path_length - length - 1] == '/');
}

/* The instruction of a line of SPIR-V assembly: its number, counted from 0,
 * since the assembler writes one instruction a line.
 */
static int64_t
assembly_instruction(const struct scenario_section *section, unsigned line)
{
   const char *text = section->text;
   int64_t instruction = -1;
   for (unsigned i = 1; text && i <= line; i++) {
      const char *start = text + strspn(text, " \t");
      if (*start && *start != '\n' && *start != ';')
         instruction++;
      text = strchr(text, '\n');
      text = text ? text + 1 : NULL;
   }
   return instruction;
}

uint32_t *
compare_read_module(const struct compare *compare, const struct scenario_section *section,
                    size_t *words)
{
   char *path = scenario_format("%s/%s.spv", compare->folder, section->name);
   uint32_t *code = vkh_read_file(path, words);
   *words /= 4;
   free(path);
   return code;
}

/* Number of the instruction at a byte offset of a module, or -1. */
int64_t
compare_instruction_at(const uint32_t *code, size_t words, int64_t offset)
{
   int64_t instruction = 0;
   for (size_t at = 5; at < words && (code[at] >> 16) != 0; at += code[at] >> 16) {
      if ((int64_t)at * 4 == offset)
         return instruction;
      instruction++;
   }
   return -1;
}

static bool
is_race(const struct scenario_expect *expect)
{
   return strcmp(expect->check, "race/resource-race") == 0;
}

/* Races of storage images are sync's where that is on. */
static bool
is_race_of_sync(const struct compare *compare, const struct scenario_expect *expect,
                const struct json *json)
{
   const char *kind = json_get_string(json, "kind", "");

   return is_race(expect) && compare->checks & (1u << GPUVAL_CHECK_SYNC) &&
          strcmp(json_get_string(json, "check", ""), "sync") == 0 &&
          (strcmp(kind, "read-after-write") == 0 || strcmp(kind, "write-after-access") == 0);
}

/* Same check, same place. */
static bool
same_site(const struct compare *compare, const struct scenario_expect *expect,
          const struct json *json)
{
   const struct scenario_section *section = compare_section(compare, expect);
   const char *kind = strchr(expect->check, '/') + 1;
   const size_t check_length = (size_t)(kind - 1 - expect->check);
   const char *check = json_get_string(json, "check", "");

   if ((strlen(check) != check_length || memcmp(check, expect->check, check_length) != 0 ||
        strcmp(json_get_string(json, "kind", ""), kind) != 0) &&
       !is_race_of_sync(compare, expect, json))
      return false;

   if (!section)
      return json_get(json, "shader") == NULL;
   if (section->assembly) {
      size_t words;
      uint32_t *code = compare_read_module(compare, section, &words);
      const bool same =
         compare_instruction_at(code, words, json_get_integer(json, "spirv.offset", -1)) ==
         assembly_instruction(section, expect->line);
      free(code);
      return same && strcmp(json_get_string(json, "source.file", ""), "") == 0;
   }

   /* Without debug info there is no place to compare. */
   if (strcmp(pair_value(expect, "line", ""), "-") == 0)
      return json_get(json, "source") == NULL;
   const int64_t line = strtoll(pair_value(expect, "line", "-1"), NULL, 0) != -1
                           ? strtoll(pair_value(expect, "line", "-1"), NULL, 0)
                           : (int64_t)expect->line;
   return json_get_integer(json, "source.line", -1) == line &&
          compare_ends_with_path(json_get_string(json, "source.file", ""),
                                 pair_value(expect, "file", section->file));
}

/* Keys that say nothing about this way to make pipelines. */
static bool
key_applies(const struct compare *compare, const char *key)
{
   const bool objects =
      compare->kind == SCENARIO_SHADER_OBJECT || compare->kind == SCENARIO_SHADER_OBJECT_BINARY;
   if (strcmp(key, "file") == 0 || strcmp(key, "line") == 0)
      return false;
   return !(objects && (strcmp(key, "pipeline_name") == 0 || strcmp(key, "command.pipeline") == 0));
}

/* Returns the number of keys that differ; prints them when `print`. */
static unsigned
compare_pairs(const struct compare *compare, const struct scenario_expect *expect,
              const struct json *json, bool print)
{
   unsigned differences = 0;

   for (unsigned i = 0; i < expect->pair_count; i++) {
      const struct scenario_pair *pair = &expect->pairs[i];
      if (!key_applies(compare, pair->key))
         continue;
      char *got = report_value(json, find_path(pair->key));
      const bool text = strcmp(pair->key, "text") == 0 || strcmp(pair->key, "says") == 0;
      const bool good =
         text && got ? strstr(got, pair->value) != NULL : value_matches(pair->value, got);
      if (!good) {
         differences++;
         if (print)
            printf("   %s: expected %s, got %s\n", find_path(pair->key), pair->value,
                   got ? got : "nothing");
      }
      free(got);
   }
   return differences;
}

void
compare_print_expect(const struct compare *compare, const struct scenario_expect *expect)
{
   const struct scenario_section *section = compare_section(compare, expect);

   printf("   expected: %s", expect->check);
   if (section)
      printf(" at %s:%u", section->file, expect->line);
   for (unsigned i = 0; i < expect->pair_count; i++)
      printf(" %s=%s", expect->pairs[i].key, expect->pairs[i].value);
   printf("\n");
}

void
compare_difference(struct compare *compare, const struct scenario_expect *expect, const char *what)
{
   printf("%s:%u: %s\n", compare->scenario->path, expect ? expect->statement : 1, what);
   compare->differences++;
}

bool
compare_has_printf(const struct compare *compare)
{
   return (compare->checks & (1u << GPUVAL_CHECK_PRINTF)) != 0;
}

/* Takes the unused report of this site that suits best. */
static void
match(struct compare *compare, struct scenario_expect *expect)
{
   struct report *best = NULL;
   unsigned best_differences = ~0u;

   for (unsigned i = 0; i < compare->report_count && best_differences; i++) {
      struct report *report = &compare->reports[i];
      if (report->used || !same_site(compare, expect, report->json))
         continue;
      const unsigned differences = compare_pairs(compare, expect, report->json, false);
      if (differences < best_differences) {
         best = report;
         best_differences = differences;
      }
   }
   if (!best) {
      compare_difference(compare, expect, "not reported");
      compare_print_expect(compare, expect);
      return;
   }

   best->used = true;
   if (best_differences) {
      compare_difference(compare, expect, "reported, but with other facts");
      compare_print_expect(compare, expect);
      printf("   got: %s\n", best->text);
      compare_pairs(compare, expect, best->json, true);
   }
}

/* --- Public --------------------------------------------------------------- */

static bool
is_allowed(const struct compare *compare, const struct json *json)
{
   const char *check = json_get_string(json, "check", "");
   return (gpuval_checks_from_name(check, (unsigned)strlen(check)) &
           scenario_allowed(compare->scenario, compare->checks)) != 0;
}

static void
print_unexpected(struct compare *compare)
{
   for (unsigned i = 0; i < compare->report_count; i++) {
      struct report *report = &compare->reports[i];
      if (!report->used && !is_allowed(compare, report->json)) {
         compare_difference(compare, NULL, "reported, but not expected");
         printf("   got: %s\n", report->text);
      }
      compare_instruction(compare, report);
      json_free(report->json);
      free(report->text);
   }
   free(compare->reports);
   json_free(compare->summary);
}

unsigned
scenario_compare(struct scenario *scenario, const char *folder, const char *name,
                 enum scenario_kind kind, uint32_t checks)
{
   struct compare compare = {
      .scenario = scenario,
      .checks = checks,
      .folder = folder,
      .kind = kind,
   };

   char *log = scenario_format("%s/%s.log", folder, name);
   char *report = scenario_format("%s/%s.jsonl", folder, name);
   char *messages = scenario_format("%s/%s.messages", folder, name);
   if (scenario->finish == SCENARIO_FINISH_ABORT ||
       scenario->finish == SCENARIO_FINISH_ABORT_FENCE) {
      compare_log_only(&compare, log);
   } else {
      compare_read_report(&compare, report);
      for (unsigned i = 0; i < scenario->expect_count; i++) {
         if (scenario_expect_applies(&scenario->expects[i], checks))
            match(&compare, &scenario->expects[i]);
      }
      compare_summary(&compare);
      compare_fingerprints(&compare);
      compare_log(&compare, log);
      compare_messages(&compare, messages, log);
      if (scenario->printf && compare_has_printf(&compare))
         compare.differences += scenario_printf_compare(scenario, compare.summary, log, messages);
      print_unexpected(&compare);
   }
   free(log);
   free(report);
   free(messages);
   return compare.differences;
}
