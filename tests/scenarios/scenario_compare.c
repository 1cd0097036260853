/* SPDX-License-Identifier: MIT */

/*
 * Compares what the driver reported with the EXPECTs of a scenario: the JSON
 * Lines report line by line, its summary, and the text log.
 */

#include "scenario.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "vk_headless.h"

struct report {
   struct json *json;
   char *text; /* the line it came from */
   bool used;
};

struct compare {
   struct scenario *scenario;
   const char *folder;
   enum scenario_kind kind;
   struct report *reports;
   unsigned report_count;
   struct json *summary;
   unsigned differences;
};

/* Short names of EXPECT for paths in a report's JSON; any other key is taken
 * for the path itself.
 */
static const struct scenario_pair paths[] = {
   {"op", "access.op"},
   {"size", "access.size"},
   {"offset", "access.offset"},
   {"address", "access.address"},
   {"set", "resource.set"},
   {"binding", "resource.binding"},
   {"index", "resource.index"},
   {"type", "resource.type"},
   {"name", "resource.name"},
   {"object_name", "resource.object_name"},
   {"rsize", "resource.size"},
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

/* `*` any value, `-` none, A|B alternatives. */
static bool
value_matches(const char *pattern, const char *text)
{
   if (strcmp(pattern, "-") == 0)
      return text == NULL;
   if (!text)
      return false;
   if (strcmp(pattern, "*") == 0)
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

static char *
report_value(const struct json *json, const char *path)
{
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
static const struct scenario_section *
expect_section(const struct compare *compare, const struct scenario_expect *expect)
{
   if (expect->section == SCENARIO_NO_SECTION)
      return NULL;
   return &compare->scenario->sections[expect->section];
}

static bool
ends_with_path(const char *path, const char *file)
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

static uint32_t *
read_module(const struct compare *compare, const struct scenario_section *section, size_t *words)
{
   char *path = scenario_format("%s/%s.spv", compare->folder, section->name);
   uint32_t *code = vkh_read_file(path, words);
   *words /= 4;
   free(path);
   return code;
}

/* Number of the instruction at a byte offset of a module, or -1. */
static int64_t
instruction_at(const uint32_t *code, size_t words, int64_t offset)
{
   int64_t instruction = 0;
   for (size_t at = 5; at < words && (code[at] >> 16) != 0; at += code[at] >> 16) {
      if ((int64_t)at * 4 == offset)
         return instruction;
      instruction++;
   }
   return -1;
}

/* Same check, same place. */
static bool
same_site(const struct compare *compare, const struct scenario_expect *expect,
          const struct json *json)
{
   const struct scenario_section *section = expect_section(compare, expect);
   const char *kind = strchr(expect->check, '/') + 1;
   const size_t check_length = (size_t)(kind - 1 - expect->check);
   const char *check = json_get_string(json, "check", "");

   if (strlen(check) != check_length || memcmp(check, expect->check, check_length) != 0 ||
       strcmp(json_get_string(json, "kind", ""), kind) != 0)
      return false;

   if (!section)
      return json_get(json, "shader") == NULL;
   if (section->assembly) {
      size_t words;
      uint32_t *code = read_module(compare, section, &words);
      const bool same = instruction_at(code, words, json_get_integer(json, "spirv.offset", -1)) ==
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
          ends_with_path(json_get_string(json, "source.file", ""),
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
   return !(objects && strcmp(key, "pipeline_name") == 0);
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
      const bool text = strcmp(pair->key, "text") == 0;
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

static void
print_expect(const struct compare *compare, const struct scenario_expect *expect)
{
   const struct scenario_section *section = expect_section(compare, expect);

   printf("   expected: %s", expect->check);
   if (section)
      printf(" at %s:%u", section->file, expect->line);
   for (unsigned i = 0; i < expect->pair_count; i++)
      printf(" %s=%s", expect->pairs[i].key, expect->pairs[i].value);
   printf("\n");
}

static void
difference(struct compare *compare, const struct scenario_expect *expect, const char *what)
{
   printf("%s:%u: %s\n", compare->scenario->path, expect ? expect->statement : 1, what);
   compare->differences++;
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
      difference(compare, expect, "not reported");
      print_expect(compare, expect);
      return;
   }

   best->used = true;
   if (best_differences) {
      difference(compare, expect, "reported, but with other facts");
      print_expect(compare, expect);
      printf("   got: %s\n", best->text);
      compare_pairs(compare, expect, best->json, true);
   }
}

/* --- The report as such --------------------------------------------------- */

/* Whether a report must have it */
enum required {
   OPTIONAL,
   REQUIRED,
   OF_SHADERS, /* unless it is a command that fails */
};

static const struct {
   const char *path;
   enum json_type type;
   enum required required;
} schema[] = {
   {"check", JSON_STRING, REQUIRED},
   {"kind", JSON_STRING, REQUIRED},
   {"severity", JSON_STRING, REQUIRED},
   {"message", JSON_STRING, REQUIRED},
   {"count", JSON_NUMBER, REQUIRED},
   {"shader", JSON_OBJECT, OF_SHADERS},
   {"shader.hash", JSON_STRING, OF_SHADERS},
   {"shader.stage", JSON_STRING, OF_SHADERS},
   {"shader.entry", JSON_STRING, OPTIONAL},
   {"shader.name", JSON_STRING, OPTIONAL},
   {"source", JSON_OBJECT, OPTIONAL},
   {"source.file", JSON_STRING, OPTIONAL},
   {"source.line", JSON_NUMBER, OPTIONAL},
   {"source.column", JSON_NUMBER, OPTIONAL},
   {"source.text", JSON_STRING, OPTIONAL},
   {"spirv", JSON_OBJECT, OF_SHADERS},
   {"spirv.offset", JSON_NUMBER, OF_SHADERS},
   {"spirv.instruction", JSON_NUMBER, OF_SHADERS},
   {"invocation", JSON_OBJECT, OPTIONAL},
   {"invocation.global_id", JSON_ARRAY, OPTIONAL},
   {"invocation.vertex_index", JSON_NUMBER, OPTIONAL},
   {"invocation.instance_index", JSON_NUMBER, OPTIONAL},
   {"invocation.frag_coord", JSON_ARRAY, OPTIONAL},
   {"invocation.primitive_id", JSON_NUMBER, OPTIONAL},
   {"invocation.launch_id", JSON_ARRAY, OPTIONAL},
   {"access", JSON_OBJECT, OPTIONAL},
   {"access.op", JSON_STRING, OPTIONAL},
   {"access.size", JSON_NUMBER, OPTIONAL},
   {"access.offset", JSON_NUMBER, OPTIONAL},
   {"access.address", JSON_STRING, OPTIONAL},
   {"resource", JSON_OBJECT, OPTIONAL},
   {"resource.set", JSON_NUMBER, OPTIONAL},
   {"resource.binding", JSON_NUMBER, OPTIONAL},
   {"resource.index", JSON_NUMBER, OPTIONAL},
   {"resource.type", JSON_STRING, OPTIONAL},
   {"resource.name", JSON_STRING, OPTIONAL},
   {"resource.object_name", JSON_STRING, OPTIONAL},
   {"resource.object_offset", JSON_NUMBER, OPTIONAL},
   {"resource.memory", JSON_STRING, OPTIONAL},
   {"resource.memory_name", JSON_STRING, OPTIONAL},
   {"resource.memory_offset", JSON_NUMBER, OPTIONAL},
   {"resource.size", JSON_NUMBER, OPTIONAL},
   {"command", JSON_OBJECT, OPTIONAL},
   {"command.op", JSON_STRING, OPTIONAL},
   {"command.index", JSON_NUMBER, OPTIONAL},
   {"command.command_buffer", JSON_STRING, OPTIONAL},
   {"command.command_buffer_name", JSON_STRING, OPTIONAL},
   {"command.primary", JSON_STRING, OPTIONAL},
   {"command.primary_name", JSON_STRING, OPTIONAL},
   {"command.pipeline", JSON_STRING, OPTIONAL},
   {"command.pipeline_name", JSON_STRING, OPTIONAL},
   {"command.labels", JSON_ARRAY, OPTIONAL},
   {"command.submission", JSON_NUMBER, OPTIONAL},
   {"other", JSON_OBJECT, OPTIONAL},
   {"other.shader", JSON_OBJECT, OPTIONAL},
   {"other.shader.hash", JSON_STRING, OPTIONAL},
   {"other.shader.stage", JSON_STRING, OPTIONAL},
   {"other.source", JSON_OBJECT, OPTIONAL},
   {"other.source.file", JSON_STRING, OPTIONAL},
   {"other.source.line", JSON_NUMBER, OPTIONAL},
   {"other.spirv", JSON_OBJECT, OPTIONAL},
   {"other.access.op", JSON_STRING, OPTIONAL},
   {"other.command", JSON_OBJECT, OPTIONAL},
   {"other.command.op", JSON_STRING, OPTIONAL},
   {"other.command.index", JSON_NUMBER, OPTIONAL},
   {"other.command.submission", JSON_NUMBER, OPTIONAL},
};

static const char *
schema_error(const struct json *json)
{
   const bool is_command = strcmp(json_get_string(json, "access.op", ""), "indirect") == 0;

   for (unsigned i = 0; i < VKH_COUNT(schema); i++) {
      const struct json *value = json_get(json, schema[i].path);
      if (!value &&
          (schema[i].required == REQUIRED || (schema[i].required == OF_SHADERS && !is_command)))
         return schema[i].path;
      if (value && value->type != schema[i].type)
         return schema[i].path;
      if (value && value->type == JSON_STRING && !*value->string)
         return schema[i].path;
   }
   if (json_get_integer(json, "count", 0) < 1)
      return "count";
   if (is_command)
      return json_get(json, "shader") || json_get(json, "invocation") ? "shader" : NULL;
   const char *hash = json_get_string(json, "shader.hash", "");
   return strlen(hash) == 16 && strspn(hash, "0123456789abcdef") == 16 ? NULL : "shader.hash";
}

/* Which of our modules a report is about, if its source says so. */
static const struct scenario_section *
report_section(const struct compare *compare, const struct json *json)
{
   const char *file = json_get_string(json, "source.file", "");
   for (unsigned i = 0; i < compare->scenario->section_count; i++) {
      if (ends_with_path(file, compare->scenario->sections[i].file))
         return &compare->scenario->sections[i];
   }
   return NULL;
}

static bool
opcode_suits(uint32_t opcode, const char *check, const char *op)
{
   enum {
      LOAD = 61,
      STORE = 62,
      COPY_MEMORY = 63,
      COPY_MEMORY_SIZED = 64,
      IMAGE_FETCH = 95,
      IMAGE_READ = 98,
      IMAGE_WRITE = 99,
      ATOMIC_LOAD = 227,
      ATOMIC_STORE = 228,
      ATOMIC_FIRST = 227,
      ATOMIC_LAST = 242,
      ATOMIC_F_MIN = 5614,
      ATOMIC_F_MAX = 5615,
      ATOMIC_F_ADD = 6035,
      ASSUME_TRUE = 5630,
   };
   const bool copy = opcode == COPY_MEMORY || opcode == COPY_MEMORY_SIZED;
   const bool atomic = (opcode >= ATOMIC_FIRST && opcode <= ATOMIC_LAST) ||
                       opcode == ATOMIC_F_MIN || opcode == ATOMIC_F_MAX || opcode == ATOMIC_F_ADD;

   if (strcmp(check, "assume") == 0)
      return opcode == ASSUME_TRUE;
   if (strcmp(op, "load") == 0)
      return opcode == LOAD || opcode == ATOMIC_LOAD || opcode == IMAGE_READ || copy;
   if (strcmp(op, "fetch") == 0)
      return opcode == IMAGE_FETCH;
   if (strcmp(op, "store") == 0)
      return opcode == STORE || opcode == ATOMIC_STORE || opcode == IMAGE_WRITE || copy;
   return strcmp(op, "atomic") != 0 || atomic;
}

/* The instruction that a report names must be one that does such an access. */
static void
check_instruction(struct compare *compare, const struct report *report)
{
   const struct scenario_section *section = report_section(compare, report->json);
   if (!section)
      return;

   size_t words;
   uint32_t *code = read_module(compare, section, &words);
   const int64_t offset = json_get_integer(report->json, "spirv.offset", -1);
   const int64_t number = json_get_integer(report->json, "spirv.instruction", -1);
   const int64_t instruction = instruction_at(code, words, offset);
   const char *error = NULL;
   if (instruction < 0)
      error = "spirv.offset is at no instruction";
   else if (number != instruction)
      error = "spirv.instruction is not the one at spirv.offset";
   else if (!opcode_suits(code[offset / 4] & 0xffff, json_get_string(report->json, "check", ""),
                          json_get_string(report->json, "access.op", "")))
      error = "spirv.offset is at an instruction of another kind";
   if (error) {
      difference(compare, NULL, error);
      printf("   got: %s (instruction %lld there, opcode %u)\n", report->text,
             (long long)instruction, instruction < 0 ? 0 : code[offset / 4] & 0xffff);
   }
   free(code);
}

static void
read_report_line(struct compare *compare, char *line, unsigned number)
{
   char error[160];
   struct json *json = json_parse(line, strlen(line), error, sizeof(error));

   if (!json) {
      difference(compare, NULL, "the report is not valid JSON");
      printf("   line %u: %s\n   %s\n", number, error, line);
   } else if (compare->summary) {
      difference(compare, NULL, "the report goes on behind its summary");
      printf("   %s\n", line);
      json_free(json);
   } else if (json_get(json, "summary")) {
      compare->summary = json;
   } else {
      const char *bad = schema_error(json);
      if (bad) {
         difference(compare, NULL, "a report has a field that is not as it should be");
         printf("   %s in %s\n", bad, line);
      }
      if (compare->scenario->printf && strcmp(json_get_string(json, "check", ""), "printf") == 0) {
         scenario_printf_add_report(compare->scenario, json);
         json_free(json);
         return;
      }
      compare->reports =
         scenario_grow(compare->reports, &compare->report_count, sizeof(*compare->reports));
      compare->reports[compare->report_count - 1] = (struct report){
         .json = json,
         .text = scenario_format("%s", line),
      };
   }
}

static void
read_report(struct compare *compare, const char *path)
{
   FILE *file = fopen(path, "r");
   if (!file) {
      difference(compare, NULL, "the driver wrote no report: is it built with gpuval?");
      return;
   }
   fclose(file);

   char *text = vkh_read_file(path, NULL);
   char *rest = text;
   char *line;
   unsigned number = 0;
   while ((line = strsep(&rest, "\n"))) {
      number++;
      if (rest)
         read_report_line(compare, line, number);
      else if (*line)
         difference(compare, NULL, "the report's last line has no end");
   }
   free(text);
   if (!compare->summary)
      difference(compare, NULL, "the report has no summary");
}

static void
check_summary(struct compare *compare)
{
   int64_t errors = 0, occurrences = 0;
   if (!compare->summary)
      return;

   for (unsigned i = 0; i < compare->report_count; i++) {
      if (strcmp(json_get_string(compare->reports[i].json, "severity", ""), "error") != 0)
         continue;
      errors++;
      occurrences += json_get_integer(compare->reports[i].json, "count", 0);
   }
   const int64_t got_errors = json_get_integer(compare->summary, "summary.errors", -1);
   const int64_t got_occurrences = json_get_integer(compare->summary, "summary.occurrences", -1);
   const int64_t lost = json_get_integer(compare->summary, "summary.lost", -1);
   if (got_errors != errors || got_occurrences != occurrences || lost < 0 ||
       json_get_integer(compare->summary, "summary.messages", -1) < 0) {
      difference(compare, NULL, "the summary does not match the reports");
      printf("   %lld errors and %lld occurrences were reported; the summary has %lld and "
             "%lld, %lld lost\n",
             (long long)errors, (long long)occurrences, (long long)got_errors,
             (long long)got_occurrences, (long long)lost);
   }
   if (compare->scenario->lost >= 0 && compare->scenario->lost != lost) {
      difference(compare, NULL, "the summary has another number of lost records");
      printf("   expected %lld, got %lld\n", (long long)compare->scenario->lost, (long long)lost);
   }
}

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
   char *expected = compare->report_count
                       ? scenario_format("gpuval: %s (%s), %s lost\n", errors, occurrences, lost)
                       : scenario_format("gpuval: no errors\n");

   if (strcmp(line, expected) != 0) {
      difference(compare, NULL, "the log's closing line is another");
      printf("   expected: %s   got: %s\n", expected, line);
   }
   free(errors);
   free(occurrences);
   free(lost);
   free(expected);
}

/* Each report has the head line of a block in the log. */
static void
check_log(struct compare *compare, const char *path)
{
   FILE *file = fopen(path, "r");
   if (!file) {
      difference(compare, NULL, "the driver wrote no log");
      return;
   }
   fclose(file);

   char *log = vkh_read_file(path, NULL);
   const unsigned blocks = count_lines(log, "gpuval: error: ");
   if (blocks != compare->report_count) {
      difference(compare, NULL, "the log has another number of errors than the report");
      printf("   %u in the log, %u in the report\n", blocks, compare->report_count);
   }
   for (unsigned i = 0; i < compare->report_count && compare->report_count < 100; i++) {
      const struct json *json = compare->reports[i].json;
      char *head =
         scenario_format("gpuval: error: %s/%s: %s\n", json_get_string(json, "check", ""),
                         json_get_string(json, "kind", ""), json_get_string(json, "message", ""));
      if (!strstr(log, head)) {
         difference(compare, NULL, "the log does not have a report's message");
         printf("   expected: %s", head);
      }
      free(head);
   }
   check_closing_line(compare, log);
   free(log);
}

/* abort() keeps the log, but there is nobody left to write a report: each
 * EXPECT must have its block in the log.
 */
static void
compare_log_only(struct compare *compare, const char *path)
{
   FILE *file = fopen(path, "r");
   if (!file) {
      difference(compare, NULL, "the driver wrote no log");
      return;
   }
   fclose(file);

   char *log = vkh_read_file(path, NULL);
   for (unsigned i = 0; i < compare->scenario->expect_count; i++) {
      const struct scenario_expect *expect = &compare->scenario->expects[i];
      const struct scenario_section *section = expect_section(compare, expect);
      char *head = scenario_format("gpuval: error: %s: ", expect->check);
      char *place = section ? scenario_format("at %s:%u", section->file, expect->line)
                            : scenario_format("%s", "");
      const char *found = strstr(log, place);
      /* A column follows where the compiler wrote one. */
      if (!strstr(log, head) || !found || isdigit((unsigned char)found[strlen(place)])) {
         difference(compare, expect, "not in the log");
         print_expect(compare, expect);
      }
      free(head);
      free(place);
   }
   const unsigned blocks = count_lines(log, "gpuval: error: ");
   if (blocks != compare->scenario->expect_count) {
      difference(compare, NULL, "the log has another number of errors");
      printf("   expected %u, got %u\n", compare->scenario->expect_count, blocks);
   }
   free(log);
}

/* --- The program's own messenger ------------------------------------------ */

/* Each report is one message, `gpuval-CHECK-KIND` and text with the report's. */
static void
check_messages(struct compare *compare, const char *path)
{
   char *messages = vkh_read_file(path, NULL);
   const unsigned count = count_lines(messages, "") - count_lines(messages, "info ");

   if (count != compare->report_count) {
      difference(compare, NULL, "the program heard another number of messages");
      printf("   %u messages, %u reports\n", count, compare->report_count);
   }
   for (unsigned i = 0; i < compare->report_count && compare->report_count < 100; i++) {
      const struct json *json = compare->reports[i].json;
      char *id = scenario_format("gpuval-%s-%s ", json_get_string(json, "check", ""),
                                 json_get_string(json, "kind", ""));
      const char *text = strstr(messages, json_get_string(json, "message", ""));
      if (!text || count_lines(messages, id) == 0) {
         difference(compare, NULL, "the program did not hear a report's message");
         printf("   expected: %s%s\n", id, json_get_string(json, "message", ""));
      }
      free(id);
   }
   free(messages);
}

/* --- Public --------------------------------------------------------------- */

static void
print_unexpected(struct compare *compare)
{
   for (unsigned i = 0; i < compare->report_count; i++) {
      struct report *report = &compare->reports[i];
      if (!report->used) {
         difference(compare, NULL, "reported, but not expected");
         printf("   got: %s\n", report->text);
      }
      check_instruction(compare, report);
      json_free(report->json);
      free(report->text);
   }
   free(compare->reports);
   json_free(compare->summary);
}

unsigned
scenario_compare(struct scenario *scenario, const char *folder, const char *name,
                 enum scenario_kind kind)
{
   struct compare compare = {
      .scenario = scenario,
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
      read_report(&compare, report);
      for (unsigned i = 0; i < scenario->expect_count; i++)
         match(&compare, &scenario->expects[i]);
      check_summary(&compare);
      check_log(&compare, log);
      check_messages(&compare, messages);
      if (scenario->printf)
         compare.differences += scenario_printf_compare(scenario, compare.summary, log, messages);
      print_unexpected(&compare);
   }
   free(log);
   free(report);
   free(messages);
   return compare.differences;
}
