/* SPDX-License-Identifier: MIT */

/* JUnit XML, as Jenkins, GitLab and others read it: a test case for each failure, whose
 * name is the same tomorrow, and one more that says whether the report is complete. Warnings are
 * skipped cases: the format has no word for them.
 */

#include "gpuval_formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_checks.h"
#include "base/gpuval_text.h"
#include "util/bitscan.h"
#include "util/macros.h"
#include "util/ralloc.h"
#include "gpuval_paths.h"
#include "gpuval_report.h"
#include "gpuval_run.h"

/* XML 1.0 has no way to say most control characters. */
static void
write_text(FILE *f, const char *text)
{
   for (; *text; text++) {
      unsigned length = gpuval_utf8_length(text);
      bool is_noncharacter = !strncmp(text, "\xef\xbf\xbe", 3) || !strncmp(text, "\xef\xbf\xbf", 3);

      if (*text == '&')
         fputs("&amp;", f);
      else if (*text == '<')
         fputs("&lt;", f);
      else if (*text == '>')
         fputs("&gt;", f);
      else if (*text == '"')
         fputs("&quot;", f);
      else if (*text == '\t' || *text == '\n' || *text == '\r')
         fprintf(f, "&#%d;", *text);
      else if (!length || (unsigned char)*text < 0x20 || is_noncharacter)
         fputs("\xef\xbf\xbd", f);
      else
         fwrite(text, 1, length, f);
      text += length ? length - 1 : 0;
   }
}

static void
write_attribute(FILE *f, const char *name, const char *text)
{
   fprintf(f, " %s=\"", name);
   write_text(f, text);
   fputc('"', f);
}

/* The name of the program that all runs are of; NULL: there are several, or it is not known. */
static const char *
get_program(const struct gpuval_summary *summary)
{
   return summary->runs ? summary->runs->program : summary->program;
}

static void
write_suite_name(FILE *f, const struct gpuval_summary *summary)
{
   const char *program = get_program(summary);

   fputs(" name=\"gpuval", f);
   fputs(program ? " " : "", f);
   write_text(f, program ? program : "");
   fputc('"', f);
}

static bool
is_complete(const struct gpuval_summary *summary)
{
   return !summary->lost && !summary->lost_messages && !summary->lost_lines;
}

static void
write_counts(FILE *f, const struct gpuval_summary *summary)
{
   uint64_t failures = summary->has_baseline ? summary->baseline_new : summary->errors;

   fprintf(f,
           " tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"0\" skipped=\"%" PRIu64
           "\" time=\"0\"",
           summary->errors + summary->warnings + 1, failures,
           summary->errors - failures + summary->warnings + (is_complete(summary) ? 0 : 1));
}

/* Of what it is said that there are no failures */
static void
write_scope(FILE *f, const struct gpuval_summary *summary)
{
   const struct gpuval_scope scope = gpuval_summary_scope(summary);
   const char *separator = "";

   if (scope.checks)
      fputs("<property name=\"checks\" value=\"", f);
   u_foreach_bit (check, scope.checks) {
      fprintf(f, "%s%s", separator, gpuval_check_infos[check].name);
      separator = ",";
   }
   fputs(scope.checks ? "\"/>\n" : "", f);
   if (scope.driver) {
      fputs("<property name=\"driver\"", f);
      write_attribute(f, "value", scope.driver);
      fputs("/>\n", f);
   }
   if (scope.seconds > 0)
      fprintf(f, "<property name=\"seconds\" value=\"%.3f\"/>\n", scope.seconds);
}

static void
write_begin(FILE *f, const struct gpuval_summary *summary)
{
   fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", f);
   write_suite_name(f, summary);
   write_counts(f, summary);
   fputs(">\n<testsuite", f);
   write_suite_name(f, summary);
   write_counts(f, summary);
   const struct gpuval_run *run =
      summary->num_runs && !summary->is_merged ? gpuval_summary_run(summary, 0) : NULL;
   if (run && run->host)
      write_attribute(f, "hostname", run->host);
   if (run && gpuval_run_has_time(run)) /* ISO 8601 without a zone */
      fprintf(f, " timestamp=\"%.19s\"", run->time);
   fputs(">\n<properties>\n", f);
   for (unsigned i = 0; i < gpuval_num_summary_counts; i++)
      fprintf(f, "<property name=\"%s\" value=\"%" PRIu64 "\"/>\n", gpuval_summary_counts[i].key,
              *gpuval_summary_count(summary, &gpuval_summary_counts[i]));
   if (run && run->ended) {
      fputs("<property name=\"ended\"", f);
      write_attribute(f, "value", run->ended);
      fputs("/>\n", f);
   }
   write_scope(f, summary);
   if (summary->is_merged)
      fprintf(f, "<property name=\"runs\" value=\"%u\"/>\n", summary->num_runs);
   fputs("</properties>\n", f);
}

/* The log's block, how often, and which runs of which machines had it */
static void
write_body(FILE *f, const struct gpuval_row *row)
{
   int64_t count = gpuval_row_number(row, false, "", "count", 0);
   char *block = NULL;
   size_t size;
   FILE *memory = open_memstream(&block, &size);

   if (!memory)
      return;
   gpuval_text_write_row(memory, row);
   fclose(memory);
   for (char *line = block, *end; (end = strchr(line, '\n')); line = end + 1) {
      *end = '\0';
      write_text(f, line);
      fputc('\n', f);
   }
   free(block);

   fprintf(f, "%" PRId64 " %s", count, count == 1 ? "time" : "times");
   if (row->num_seen)
      fprintf(f, " in %u %s", row->num_seen, row->num_seen == 1 ? "run" : "runs");
   fputc('\n', f);
   for (unsigned i = 0; i < row->num_machines; i++) {
      const struct gpuval_seen_machine *machine = &row->machines[i];

      fprintf(f, "%" PRIu64 " %s in %" PRIu32 " %s on ", machine->count,
              machine->count == 1 ? "time" : "times", machine->runs,
              machine->runs == 1 ? "run" : "runs");
      write_text(f, machine->host);
      fputc('\n', f);
   }
}

/* gpuval.PROGRAM.CHECK: who reads several files tells cases apart by this and the name. A dot of
 * the program's would be one between packages.
 */
static void
write_class(FILE *f, const struct gpuval_summary *summary, const char *check)
{
   const char *program = get_program(summary);

   fputs(" classname=\"gpuval", f);
   if (program) {
      char *part = ralloc_strdup(NULL, program);
      for (char *c = part; *c; c++)
         *c = *c == '.' ? '_' : *c;
      fputc('.', f);
      write_text(f, part);
      ralloc_free(part);
   }
   fputs(check ? "." : "", f);
   write_text(f, check ? check : "");
   fputc('"', f);
}

/* The same tomorrow: without lines, counts and offsets. */
static void
write_name(FILE *f, const struct gpuval_row *row)
{
   const char *file = gpuval_row_string(row, false, "source", "file");
   const char *shader = gpuval_row_string(row, false, "shader", "name");
   const char *command = gpuval_row_string(row, false, "command", "op");
   const char *fingerprint = gpuval_row_string(row, false, "", "fingerprint");

   fputs(" name=\"", f);
   write_text(f, gpuval_row_string(row, false, "", "kind"));
   if (file || shader || command) {
      char *path = file ? gpuval_paths_relative(NULL, file) : NULL;
      fputs(" in ", f);
      write_text(f, path ? path : shader ? shader : command);
      ralloc_free(path);
   }
   if (fingerprint) {
      fputs(" (", f);
      write_text(f, fingerprint);
      fputc(')', f);
   }
   fputc('"', f);
}

static void
write_case(FILE *f, const struct gpuval_row *row, const struct gpuval_summary *summary,
           unsigned index)
{
   const char *file = gpuval_row_string(row, false, "source", "file");
   int64_t line = gpuval_row_number(row, false, "source", "line", 0);
   bool is_warning = gpuval_row_is_warning(row);
   bool is_skipped = is_warning || (row->baseline && !strcmp(row->baseline, "unchanged"));

   if (gpuval_row_is_message(row))
      return; /* the summary counts them */
   fputs("<testcase", f);
   write_class(f, summary, gpuval_row_string(row, false, "", "check"));
   write_name(f, row);
   if (file && line) {
      char *path = gpuval_paths_relative(NULL, file);
      write_attribute(f, "file", path);
      fprintf(f, " line=\"%" PRId64 "\"", line);
      ralloc_free(path);
   }
   fprintf(f, " time=\"0\"><%s message=\"%s", is_skipped ? "skipped" : "failure",
           is_warning ? "warning: " : "");
   write_text(f, gpuval_row_string(row, false, "", "message"));
   fputc('"', f);
   if (is_skipped) {
      fputs("/></testcase>\n", f);
      return;
   }
   fputs(" type=\"", f);
   write_text(f, gpuval_row_string(row, false, "", "check"));
   fputc('/', f);
   write_text(f, gpuval_row_string(row, false, "", "kind"));
   fputs("\">", f);
   write_body(f, row);
   fputs("</failure></testcase>\n", f);
}

static void
write_end(FILE *f, const struct gpuval_summary *summary)
{
   fputs("<testcase", f);
   write_class(f, summary, NULL);
   fputs(" name=\"the report is complete\" time=\"0\"", f);
   if (is_complete(summary))
      fputs("/>\n", f);
   else
      fprintf(f,
              "><skipped message=\"%" PRIu64 " records and %" PRIu64
              " messages of shaders were lost, %" PRIu64
              " lines could not be read\"/></testcase>\n",
              summary->lost, summary->lost_messages, summary->lost_lines);
   fputs("</testsuite>\n</testsuites>\n", f);
}

const struct gpuval_report_format gpuval_report_junit = {
   .ending = ".junit.xml",
   .begin = write_begin,
   .row = write_case,
   .end = write_end,
};
