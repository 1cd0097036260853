/* SPDX-License-Identifier: MIT */

/*
 * The JSON Lines report as such: what each line has to have, and its summary.
 */

#include "scenario_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
   {"fingerprint", JSON_STRING, REQUIRED},
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
   {"source.extract", JSON_ARRAY, OPTIONAL},
   {"source.extract_line", JSON_NUMBER, OPTIONAL},
   {"stack", JSON_ARRAY, OPTIONAL},
   {"values", JSON_ARRAY, OPTIONAL},
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
   {"access.coord", JSON_ARRAY, OPTIONAL},
   {"access.level", JSON_NUMBER, OPTIONAL},
   {"access.sample", JSON_NUMBER, OPTIONAL},
   {"resource", JSON_OBJECT, OPTIONAL},
   {"resource.set", JSON_NUMBER, OPTIONAL},
   {"resource.binding", JSON_NUMBER, OPTIONAL},
   {"resource.index", JSON_NUMBER, OPTIONAL},
   {"resource.type", JSON_STRING, OPTIONAL},
   {"resource.name", JSON_STRING, OPTIONAL},
   {"resource.object", JSON_STRING, OPTIONAL},
   {"resource.object_name", JSON_STRING, OPTIONAL},
   {"resource.object_offset", JSON_NUMBER, OPTIONAL},
   {"resource.parent", JSON_STRING, OPTIONAL},
   {"resource.parent_name", JSON_STRING, OPTIONAL},
   {"resource.memory", JSON_STRING, OPTIONAL},
   {"resource.memory_name", JSON_STRING, OPTIONAL},
   {"resource.memory_offset", JSON_NUMBER, OPTIONAL},
   {"resource.offset", JSON_NUMBER, OPTIONAL},
   {"resource.size", JSON_NUMBER, OPTIONAL},
   {"resource.extent", JSON_ARRAY, OPTIONAL},
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

static bool
is_hash(const struct json *json, const char *path)
{
   const char *hash = json_get_string(json, path, "");
   return strlen(hash) == 16 && strspn(hash, "0123456789abcdef") == 16;
}

/* A warning is a race that has never changed a value; with GPUVAL_STRICT it is an error. */
static bool
has_right_severity(const struct json *json)
{
   const char *severity = json_get_string(json, "severity", "");

   if (strcmp(json_get_string(json, "check", ""), "printf") == 0)
      return strcmp(severity, "info") == 0;
   return strcmp(severity, "error") == 0 ||
          (strcmp(severity, "warning") == 0 && json_get(json, "same_value"));
}

static const char *
schema_error(const struct json *json)
{
   const bool is_command = strcmp(json_get_string(json, "access.op", ""), "indirect") == 0 ||
                           strcmp(json_get_string(json, "check", ""), "vertex") == 0 ||
                           strcmp(json_get_string(json, "resource.type", ""), "attachment") == 0 ||
                           strcmp(json_get_string(json, "resource.type", ""), "image") == 0 ||
                           strcmp(json_get_string(json, "resource.type", ""), "buffer") == 0;

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
   /* Something is missing in there; what a shader prints is its own. */
   if (strcmp(json_get_string(json, "check", ""), "printf") != 0 &&
       strstr(json_get_string(json, "message", ""), "  "))
      return "message";
   if (!has_right_severity(json))
      return "severity";
   if (json_get_integer(json, "count", 0) < 1)
      return "count";
   if (!is_hash(json, "fingerprint"))
      return "fingerprint";
   if (is_command)
      return json_get(json, "shader") || json_get(json, "invocation") ? "shader" : NULL;
   return is_hash(json, "shader.hash") ? NULL : "shader.hash";
}

struct scenario_fingerprint {
   char *failure;
   char *fingerprint;
};

/* What a failure is: the same in each run, whatever pipelines and checks there are. */
static char *
describe_failure(const struct report *report)
{
   const struct json *json = report->json;
   const char *check = json_get_string(json, "check", "");
   const char *kind = json_get_string(json, "kind", "");

   if (!json_get(json, "shader")) {
      const char *labels = strstr(report->text, "\"labels\":[");
      unsigned attribute = 0;
      sscanf(json_get_string(json, "message", ""), "attribute %u", &attribute);
      return scenario_format(
         "%s/%s, %s of %s, binding %lld, attribute %u, command buffer %s, pipeline %s, labels %.*s",
         check, kind, json_get_string(json, "command.op", ""),
         json_get_string(json, "resource.object_name", ""),
         (long long)json_get_integer(json, "resource.binding", -1), attribute,
         json_get_string(json, "command.command_buffer_name", ""),
         json_get_string(json, "command.pipeline_name", ""), labels ? (int)strcspn(labels, "]") : 0,
         labels ? labels : "");
   }
   char *stack = compare_stack(json, "instruction");
   char *failure = scenario_format(
      "%s/%s, shader %s %s, offset %lld, called from %s, %s, set %lld, binding %lld", check, kind,
      json_get_string(json, "shader.hash", ""), json_get_string(json, "shader.stage", ""),
      (long long)json_get_integer(json, "spirv.offset", -1), stack,
      json_get_string(json, "access.op", ""), (long long)json_get_integer(json, "resource.set", -1),
      (long long)json_get_integer(json, "resource.binding", -1));
   free(stack);
   return failure;
}

static int
order_by_fingerprint(const void *a, const void *b)
{
   const struct scenario_fingerprint *left = a, *right = b;
   const int order = strcmp(left->fingerprint, right->fingerprint);
   return order ? order : strcmp(left->failure, right->failure);
}

static int
order_by_failure(const void *a, const void *b)
{
   const struct scenario_fingerprint *left = a, *right = b;
   const int order = strcmp(left->failure, right->failure);
   return order ? order : strcmp(left->fingerprint, right->fingerprint);
}

/* Of this run, which are the last ones: no two failures share one. */
static void
compare_neighbours(struct compare *compare, struct scenario_fingerprint *run, unsigned count)
{
   qsort(run, count, sizeof(*run), order_by_fingerprint);
   for (unsigned i = 1; i < count; i++) {
      if (strcmp(run[i - 1].fingerprint, run[i].fingerprint) == 0 &&
          strcmp(run[i - 1].failure, run[i].failure) != 0) {
         compare_difference(compare, NULL, "two failures have one fingerprint");
         printf("   %s: %s\n   and: %s\n", run[i].fingerprint, run[i - 1].failure, run[i].failure);
      }
   }
}

/* Of all runs: each failure has one. Those are kept. */
static void
compare_runs(struct compare *compare, struct scenario *scenario)
{
   struct scenario_fingerprint *all = scenario->fingerprints;
   unsigned kept = 1;

   qsort(all, scenario->fingerprint_count, sizeof(*all), order_by_failure);
   for (unsigned i = 1; i < scenario->fingerprint_count; i++) {
      const struct scenario_fingerprint *last = &all[kept - 1];
      if (strcmp(last->failure, all[i].failure) != 0) {
         all[kept++] = all[i];
         continue;
      }
      if (strcmp(last->fingerprint, all[i].fingerprint) != 0) {
         compare_difference(compare, NULL, "a failure has two fingerprints");
         printf("   %s: %s and %s\n", all[i].failure, last->fingerprint, all[i].fingerprint);
      }
      free(all[i].failure);
      free(all[i].fingerprint);
   }
   scenario->fingerprint_count = kept;
}

void
compare_fingerprints(struct compare *compare)
{
   struct scenario *scenario = compare->scenario;
   const unsigned before = scenario->fingerprint_count;

   for (unsigned i = 0; i < compare->report_count; i++) {
      const struct report *report = &compare->reports[i];
      scenario->fingerprints = scenario_grow(scenario->fingerprints, &scenario->fingerprint_count,
                                             sizeof(*scenario->fingerprints));
      scenario->fingerprints[scenario->fingerprint_count - 1] = (struct scenario_fingerprint){
         .failure = describe_failure(report),
         .fingerprint = scenario_format("%s", json_get_string(report->json, "fingerprint", "")),
      };
   }
   if (compare->report_count) {
      compare_neighbours(compare, &scenario->fingerprints[before], compare->report_count);
      compare_runs(compare, scenario);
   }
}

/* Which of our modules a report is about, if its source says so. */
static const struct scenario_section *
report_section(const struct compare *compare, const struct json *json)
{
   const char *file = json_get_string(json, "source.file", "");
   for (unsigned i = 0; i < compare->scenario->section_count; i++) {
      if (compare_ends_with_path(file, compare->scenario->sections[i].file))
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
      ARRAY_LENGTH = 68,
      IMAGE_SAMPLE_FIRST = 87,
      IMAGE_SAMPLE_LAST = 94,
      IMAGE_FETCH = 95,
      IMAGE_GATHER = 96,
      IMAGE_DREF_GATHER = 97,
      IMAGE_READ = 98,
      IMAGE_WRITE = 99,
      IMAGE_QUERY_FIRST = 103,
      IMAGE_QUERY_LAST = 107,
      ATOMIC_LOAD = 227,
      ATOMIC_STORE = 228,
      ATOMIC_FIRST = 227,
      ATOMIC_LAST = 242,
      ATOMIC_F_MIN = 5614,
      ATOMIC_F_MAX = 5615,
      ATOMIC_F_ADD = 6035,
      TRACE_RAY = 4445,
      RAY_QUERY_INITIALIZE = 4473,
      ASSUME_TRUE = 5630,
      EXT_INST = 12,
      VECTOR_EXTRACT_DYNAMIC = 77,
      VECTOR_INSERT_DYNAMIC = 78,
      LOOP_MERGE = 246,
   };
   const bool copy = opcode == COPY_MEMORY || opcode == COPY_MEMORY_SIZED;
   const bool atomic = (opcode >= ATOMIC_FIRST && opcode <= ATOMIC_LAST) ||
                       opcode == ATOMIC_F_MIN || opcode == ATOMIC_F_MAX || opcode == ATOMIC_F_ADD;

   if (strcmp(check, "assume") == 0)
      return opcode == ASSUME_TRUE;
   if (strcmp(check, "assert") == 0)
      return opcode == EXT_INST;
   if (strcmp(check, "array") == 0 &&
       (opcode == VECTOR_EXTRACT_DYNAMIC || opcode == VECTOR_INSERT_DYNAMIC))
      return (strcmp(op, "load") == 0) == (opcode == VECTOR_EXTRACT_DYNAMIC);
   if (strcmp(check, "loop") == 0)
      return opcode == LOOP_MERGE;
   if (strcmp(op, "load") == 0)
      return opcode == LOAD || opcode == ATOMIC_LOAD || opcode == IMAGE_READ || copy ||
             opcode == TRACE_RAY || opcode == RAY_QUERY_INITIALIZE;
   if (strcmp(op, "sample") == 0)
      return (opcode >= IMAGE_SAMPLE_FIRST && opcode <= IMAGE_SAMPLE_LAST) ||
             opcode == IMAGE_GATHER || opcode == IMAGE_DREF_GATHER;
   if (strcmp(op, "query") == 0)
      return opcode == ARRAY_LENGTH || (opcode >= IMAGE_QUERY_FIRST && opcode <= IMAGE_QUERY_LAST);
   if (strcmp(op, "fetch") == 0)
      return opcode == IMAGE_FETCH;
   if (strcmp(op, "store") == 0)
      return opcode == STORE || opcode == ATOMIC_STORE || opcode == IMAGE_WRITE || copy;
   return strcmp(op, "atomic") != 0 || atomic;
}

/* The instruction that a report names must be one that does such an access. */
void
compare_instruction(struct compare *compare, const struct report *report)
{
   const struct scenario_section *section = report_section(compare, report->json);
   if (!section)
      return;

   size_t words;
   uint32_t *code = compare_read_module(compare, section, &words);
   const int64_t offset = json_get_integer(report->json, "spirv.offset", -1);
   const int64_t number = json_get_integer(report->json, "spirv.instruction", -1);
   const int64_t instruction = compare_instruction_at(code, words, offset);
   const char *error = NULL;
   if (instruction < 0)
      error = "spirv.offset is at no instruction";
   else if (number != instruction)
      error = "spirv.instruction is not the one at spirv.offset";
   else if (!opcode_suits(code[offset / 4] & 0xffff, json_get_string(report->json, "check", ""),
                          json_get_string(report->json, "access.op", "")))
      error = "spirv.offset is at an instruction of another kind";
   if (error) {
      compare_difference(compare, NULL, error);
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
      compare_difference(compare, NULL, "the report is not valid JSON");
      printf("   line %u: %s\n   %s\n", number, error, line);
   } else if (compare->summary) {
      compare_difference(compare, NULL, "the report goes on behind its summary");
      printf("   %s\n", line);
      json_free(json);
   } else if (json_get(json, "summary")) {
      compare->summary = json;
   } else {
      const char *bad = schema_error(json);
      if (bad) {
         compare_difference(compare, NULL, "a report has a field that is not as it should be");
         printf("   %s in %s\n", bad, line);
      }
      if (compare->scenario->printf && compare_has_printf(compare) &&
          strcmp(json_get_string(json, "check", ""), "printf") == 0) {
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

void
compare_read_report(struct compare *compare, const char *path)
{
   FILE *file = fopen(path, "r");
   if (!file) {
      compare_difference(compare, NULL, "the driver wrote no report: is it built with gpuval?");
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
         compare_difference(compare, NULL, "the report's last line has no end");
   }
   free(text);
   if (!compare->summary)
      compare_difference(compare, NULL, "the report has no summary");
}

bool
compare_is_warning(const struct report *report)
{
   return strcmp(json_get_string(report->json, "severity", ""), "warning") == 0;
}

void
compare_summary(struct compare *compare)
{
   int64_t errors = 0, occurrences = 0, warnings = 0;
   if (!compare->summary)
      return;

   for (unsigned i = 0; i < compare->report_count; i++) {
      warnings += compare_is_warning(&compare->reports[i]);
      if (strcmp(json_get_string(compare->reports[i].json, "severity", ""), "error") != 0)
         continue;
      errors++;
      occurrences += json_get_integer(compare->reports[i].json, "count", 0);
   }
   const int64_t got_errors = json_get_integer(compare->summary, "summary.errors", -1);
   const int64_t got_occurrences = json_get_integer(compare->summary, "summary.occurrences", -1);
   const int64_t lost = json_get_integer(compare->summary, "summary.lost", -1);
   if (got_errors != errors || got_occurrences != occurrences || lost < 0 ||
       json_get_integer(compare->summary, "summary.warnings", -1) != warnings ||
       json_get_integer(compare->summary, "summary.messages", -1) < 0) {
      compare_difference(compare, NULL, "the summary does not match the reports");
      printf("   %lld errors and %lld occurrences were reported; the summary has %lld and "
             "%lld, %lld lost\n",
             (long long)errors, (long long)occurrences, (long long)got_errors,
             (long long)got_occurrences, (long long)lost);
   }
   if (compare->scenario->lost >= 0 && compare->scenario->lost != lost) {
      compare_difference(compare, NULL, "the summary has another number of lost records");
      printf("   expected %lld, got %lld\n", (long long)compare->scenario->lost, (long long)lost);
   }
}
