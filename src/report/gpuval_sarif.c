/* SPDX-License-Identifier: MIT */

/* SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0): what code scanning reads. A
 * result is a failure; a process is an invocation.
 */

#include "gpuval_formats.h"

#include <inttypes.h>
#include <string.h>

#include "base/gpuval_checks.h"
#include "base/gpuval_kind_help.h"
#include "base/gpuval_version.h"
#include "util/ralloc.h"
#include "gpuval_location.h"
#include "gpuval_paths.h"
#include "gpuval_run.h"

static void
write_rules(FILE *f)
{
   for (unsigned i = 0; i < GPUVAL_KIND_COUNT; i++) {
      const struct gpuval_kind_info *kind = &gpuval_kind_infos[i];
      if (gpuval_kind_is_hidden(i))
         continue;
      fprintf(f,
              "%s\n{\"id\":\"%s/%s\",\"shortDescription\":{\"text\":\"%s\"},"
              "\"fullDescription\":{\"text\":",
              i ? "," : "", gpuval_kind_check_name(i), kind->name,
              gpuval_check_infos[kind->check].summary);
      gpuval_jsonl_write_string(f, gpuval_kind_helps[i].meaning);
      fputs("},\"help\":{\"text\":", f);
      gpuval_jsonl_write_string(f, gpuval_kind_helps[i].mending);
      fprintf(f, "},\"helpUri\":\"%s\",\"defaultConfiguration\":{\"level\":\"%s\"}}",
              gpuval_kind_helps[i].uri, i == GPUVAL_KIND_MESSAGE ? "note" : "error");
   }
}

static void
write_begin(FILE *f, const struct gpuval_summary *summary)
{
   fputs("{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\","
         "\"runs\":[{\"tool\":{\"driver\":{\"name\":\"gpuval\",\"version\":\"" GPUVAL_VERSION
         "\",\"rules\":[",
         f);
   write_rules(f);
   fputs(
      "]}},\n\"columnKind\":\"unicodeCodePoints\",\"originalUriBaseIds\":{\"SRCROOT\":{\"uri\":\"",
      f);
   gpuval_paths_write_uri(f, gpuval_paths_root());
   fputs("\"}},\n\"results\":[", f);
}

static void
write_artifact(FILE *f, const struct gpuval_location *location)
{
   bool is_relative = location->is_source && !gpuval_paths_is_absolute(location->path);

   fputs("\"artifactLocation\":{\"uri\":\"", f);
   gpuval_paths_write_uri(f, location->path);
   fputs(is_relative ? "\",\"uriBaseId\":\"SRCROOT\"}" : "\"}", f);
}

static void
write_region(FILE *f, const char *text, const struct gpuval_location *location)
{
   fprintf(f, ",\"region\":{\"startLine\":%" PRId64, location->line);
   if (location->column)
      fprintf(f, ",\"startColumn\":%" PRId64, location->column);
   if (text && location->is_source) {
      fputs(",\"snippet\":{\"text\":", f);
      gpuval_jsonl_write_string(f, text);
      fputc('}', f);
   }
   fputc('}', f);
}

static void
write_context(FILE *f, const struct gpuval_row *row, bool other)
{
   const struct gpuval_value *extract = gpuval_row_get(row, other, "source", "extract");
   int64_t first = gpuval_row_number(row, other, "source", "extract_line", 0);
   char *text;

   if (extract->type != GPUVAL_VALUE_STRINGS || first < 1)
      return;
   fprintf(f,
           ",\"contextRegion\":{\"startLine\":%" PRId64 ",\"endLine\":%" PRId64
           ",\"snippet\":{\"text\":",
           first, first + extract->count - 1);
   text = ralloc_strdup(NULL, "");
   for (unsigned i = 0; i < extract->count; i++) {
      ralloc_strcat(&text, extract->strings[i]);
      ralloc_strcat(&text, "\n");
   }
   gpuval_jsonl_write_string(f, text);
   ralloc_free(text);
   fputs("}}", f);
}

/* A line of source or of the disassembly (code scanning refuses a result that has neither), and the
 * function; of a shader without debug information, the shader.
 */
static void
write_location(FILE *f, const struct gpuval_row *row, bool other)
{
   struct gpuval_location location = gpuval_row_location(NULL, row, other);
   const char *function = gpuval_row_string(row, other, "source", "function");
   const char *shader = gpuval_row_string(row, other, "shader", "name");
   const char *command = gpuval_row_string(row, other, "command", "op");

   if (!shader) {
      const struct gpuval_value *hash = gpuval_row_get(row, other, "shader", "hash");
      shader = hash->type ? "shader" : command ? command : "command";
   }
   fputs(other ? "{\"id\":1," : "{", f);
   fputs("\"physicalLocation\":{", f);
   write_artifact(f, &location);
   write_region(f, gpuval_row_string(row, other, "source", "text"), &location);
   if (location.is_source)
      write_context(f, row, other);
   fputs("},\"logicalLocations\":[{\"name\":", f);
   gpuval_jsonl_write_string(f, function ? function : shader);
   fprintf(f, ",\"kind\":\"%s\"}]", function ? "function" : "module");
   if (other)
      fputs(",\"message\":{\"text\":\"the conflicting access\"}", f);
   fputc('}', f);
   ralloc_free(location.path);
}

/* With a link to the conflicting access: who shows the result shows its place only where the
 * message has one.
 */
static void
write_message(FILE *f, const struct gpuval_row *row)
{
   const char *message = gpuval_row_string(row, false, "", "message");
   char *text = row->has_other ? ralloc_asprintf(NULL, "%s ([conflicting access](1))", message)
                               : ralloc_strdup(NULL, message);

   gpuval_jsonl_write_string(f, text);
   ralloc_free(text);
}

/* Calls whose lines are known; @id: of the last related location */
static void
write_calls(FILE *f, const struct gpuval_value *calls, const char *what, unsigned *id)
{
   for (unsigned i = 0; calls->type == GPUVAL_VALUE_FRAMES && i < calls->count; i++) {
      const struct gpuval_frame *frame = &calls->frames[i];
      if (!frame->file || !frame->line)
         continue;

      struct gpuval_location location = {
         .path = gpuval_paths_relative(NULL, frame->file),
         .line = frame->line,
         .column = frame->column,
         .is_source = true,
      };
      fprintf(f, "%s{\"id\":%u,\"physicalLocation\":{", *id ? "," : ",\"relatedLocations\":[",
              *id + 1);
      (*id)++;
      write_artifact(f, &location);
      write_region(f, frame->text, &location);
      fprintf(f, "},\"message\":{\"text\":\"%s\"}", what);
      fputs(",\"logicalLocations\":[{\"name\":", f);
      gpuval_jsonl_write_string(f, frame->function ? frame->function : frame->file);
      fprintf(f, ",\"kind\":\"%s\"}]", frame->function ? "function" : "module");
      fputc('}', f);
      ralloc_free(location.path);
   }
}

/* The conflicting access is the first one, which the message links to. */
static void
write_related(FILE *f, const struct gpuval_row *row)
{
   unsigned id = 0;

   if (row->has_other) {
      fputs(",\"relatedLocations\":[", f);
      write_location(f, row, true);
      id++;
   }
   write_calls(f, gpuval_row_get(row, false, "", "stack"), "the function was called from here",
               &id);
   write_calls(f, gpuval_row_get(row, false, "command", "recorded"),
               "the command was recorded here", &id);
   write_calls(f, gpuval_row_get(row, false, "resource", "created"),
               "the resource was created here", &id);
   fputs(id ? "]" : "", f);
}

static void
write_result(FILE *f, const struct gpuval_row *row, const struct gpuval_summary *summary,
             unsigned index)
{
   const char *check = gpuval_row_string(row, false, "", "check");
   const char *kind = gpuval_row_string(row, false, "", "kind");
   const char *fingerprint = gpuval_row_string(row, false, "", "fingerprint");
   int64_t count = gpuval_row_number(row, false, "", "count", 0);
   char *rule = ralloc_asprintf(NULL, "%s/%s", check, kind);

   fprintf(f, "%s\n{\"ruleId\":", index ? "," : "");
   gpuval_jsonl_write_string(f, rule);
   ralloc_free(rule);
   fprintf(f, ",\"level\":\"%s\",\"message\":{\"text\":",
           gpuval_row_is_message(row)   ? "note"
           : gpuval_row_is_warning(row) ? "warning"
                                        : "error");
   write_message(f, row);
   fputs("},\"locations\":[", f);
   write_location(f, row, false);
   fputc(']', f);
   write_related(f, row);
   if (count > 0)
      fprintf(f, ",\"occurrenceCount\":%" PRId64, count);
   if (fingerprint) {
      fputs(",\"partialFingerprints\":{\"gpuval/v1\":", f);
      gpuval_jsonl_write_string(f, fingerprint);
      fputc('}', f);
   }
   if (row->baseline)
      fprintf(f, ",\"baselineState\":\"%s\"", row->baseline);
   fputs(",\"properties\":{\"gpuval\":", f);
   gpuval_jsonl_write_row(f, row);
   fputs("}}", f);
}

static void
write_lost(FILE *f, const char *separator, uint64_t count, const char *what)
{
   fprintf(f,
           "%s{\"level\":\"warning\",\"message\":{\"text\":\"%" PRIu64
           " %s: the report is not complete\"}}",
           separator, count, what);
}

static void
write_notifications(FILE *f, const struct gpuval_summary *summary)
{
   const struct {
      uint64_t count;
      const char *what;
   } losses[] = {
      {summary->lost, "records were lost"},
      {summary->lost_messages, "messages of shaders were lost"},
      {summary->lost_lines, "lines of reports could not be read"},
   };
   const char *separator = "";

   fputs(",\"toolExecutionNotifications\":[", f);
   for (unsigned i = 0; i < ARRAY_SIZE(losses); i++) {
      if (!losses[i].count)
         continue;
      write_lost(f, separator, losses[i].count, losses[i].what);
      separator = ",";
   }
   fputc(']', f);
}

static void
write_invocation(FILE *f, const struct gpuval_run *run)
{
   fprintf(f, "{\"executionSuccessful\":%s", run->incomplete || run->ended ? "false" : "true");
   if (run->ended && !strncmp(run->ended, "SIG", 3)) {
      fputs(",\"exitSignalName\":", f);
      gpuval_jsonl_write_string(f, run->ended);
   }
   if (run->host) {
      fputs(",\"machine\":", f);
      gpuval_jsonl_write_string(f, run->host);
   }
   if (run->pid >= 0)
      fprintf(f, ",\"processId\":%" PRId64, run->pid);
   if (gpuval_run_has_time(run))
      fprintf(f, ",\"startTimeUtc\":\"%s\"", run->time);
   fputs(",\"properties\":{", f);
   if (run->program) {
      fputs("\"program\":", f);
      gpuval_jsonl_write_string(f, run->program);
   }
   if (run->file) {
      fputs(run->program ? ",\"file\":" : "\"file\":", f);
      gpuval_jsonl_write_string(f, run->file);
   }
   fputc('}', f);
}

/* Of what it is said that there are no failures */
static void
write_scope(FILE *f, const struct gpuval_summary *summary)
{
   const struct gpuval_scope scope = gpuval_summary_scope(summary);

   if (scope.checks) {
      fputs(",\"checks\":", f);
      gpuval_checks_write_json(f, scope.checks);
   }
   if (scope.driver) {
      fputs(",\"driver\":", f);
      gpuval_jsonl_write_string(f, scope.driver);
   }
   if (scope.seconds > 0)
      fprintf(f, ",\"seconds\":%.3f", scope.seconds);
}

static void
write_end(FILE *f, const struct gpuval_summary *summary)
{
   static const struct gpuval_run nothing_known = {.pid = -1};

   fputs("],\n\"invocations\":[", f);
   for (unsigned i = 0; i < MAX2(summary->num_runs, 1); i++) {
      fputs(i ? ",\n" : "\n", f);
      write_invocation(f, summary->num_runs ? gpuval_summary_run(summary, i) : &nothing_known);
      if (!i)
         write_notifications(f, summary);
      fputc('}', f);
   }
   fputs("],\n\"properties\":{", f);
   for (unsigned i = 0; i < gpuval_num_summary_counts; i++) {
      const struct gpuval_summary_count *count = &gpuval_summary_counts[i];
      fprintf(f, "%s\"%s\":%" PRIu64, i ? "," : "", count->key,
              *gpuval_summary_count(summary, count));
   }
   write_scope(f, summary);
   fputs("}}]}\n", f);
}

const struct gpuval_report_format gpuval_report_sarif = {
   .ending = ".sarif",
   .begin = write_begin,
   .row = write_result,
   .end = write_end,
};
