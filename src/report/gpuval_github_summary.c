/* SPDX-License-Identifier: MIT */

/* The page of a step in GitHub Actions: a table of failures in Markdown.
 * docs.github.com, "Workflow commands for GitHub Actions", "Adding a job summary"
 */

#include "gpuval_formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_files.h"
#include "base/gpuval_text.h"
#include "util/ralloc.h"
#include "gpuval_location.h"

/* GitHub refuses a page of more than 1 MiB. */
#define MAX_ROWS        100
#define MAX_CELL_LENGTH 300

FILE *
gpuval_github_open_step_summary(void)
{
   const char *name = getenv("GITHUB_STEP_SUMMARY");

   if (!name || !*name || !gpuval_github_is_wanted() || gpuval_files_are_forbidden())
      return NULL;
   return gpuval_files_open(name, true);
}

/* Markdown takes a backslash before punctuation. */
static void
write_markdown(FILE *f, const char *text)
{
   char *escaped = gpuval_escape(text);

   if (!escaped)
      return;
   for (unsigned i = 0; escaped[i]; i++) {
      if (i >= MAX_CELL_LENGTH && ((unsigned char)escaped[i] & 0xc0) != 0x80) {
         fputs("...", f);
         break;
      }
      if (strchr("\\`*_[]<>|~#&!", escaped[i]))
         fputc('\\', f);
      fputc(escaped[i], f);
   }
   free(escaped);
}

static void
write_begin(FILE *f, const struct gpuval_summary *summary)
{
   const char *program = summary->num_runs == 1 ? gpuval_summary_run(summary, 0)->program : NULL;

   fputs("### gpuval", f);
   if (program) {
      fputs(", ", f);
      write_markdown(f, program);
   }
   if (summary->errors || summary->warnings || summary->lost)
      fprintf(f,
              ": %" PRIu64 " error%s (%" PRIu64 " occurrence%s), %" PRIu64 " warning%s, %" PRIu64
              " record%s lost\n\n",
              summary->errors, gpuval_plural(summary->errors), summary->occurrences,
              gpuval_plural(summary->occurrences), summary->warnings,
              gpuval_plural(summary->warnings), summary->lost, gpuval_plural(summary->lost));
   else
      fputs(": no errors\n\n", f);
   if (summary->has_baseline)
      fprintf(f, "%" PRIu64 " new, %" PRIu64 " still there, %" PRIu64 " gone\n\n",
              summary->baseline_new, summary->baseline_unchanged, summary->baseline_absent);
   if (summary->errors || summary->warnings)
      fputs("| Failure | Where | Message | Times |\n| --- | --- | --- | ---: |\n", f);
}

static void
write_row(FILE *f, const struct gpuval_row *row, const struct gpuval_summary *summary,
          unsigned index)
{
   if (gpuval_row_is_message(row) || index >= MAX_ROWS)
      return;

   struct gpuval_location location = gpuval_row_location(NULL, row, false);
   bool is_new = row->baseline && !strcmp(row->baseline, "new");

   fprintf(f, "| %s%s", is_new ? "**new** " : "", gpuval_row_is_warning(row) ? "warning: " : "");
   write_markdown(f, gpuval_row_string(row, false, "", "check"));
   fputc('/', f);
   write_markdown(f, gpuval_row_string(row, false, "", "kind"));
   fputs(" | ", f);
   write_markdown(f, location.path);
   fprintf(f, ":%" PRId64 " | ", location.line);
   write_markdown(f, gpuval_row_string(row, false, "", "message"));
   fprintf(f, " | %" PRId64 " |\n", gpuval_row_number(row, false, "", "count", 0));
   ralloc_free(location.path);
}

static void
write_end(FILE *f, const struct gpuval_summary *summary)
{
   uint64_t count = summary->errors + summary->warnings;

   if (count > MAX_ROWS)
      fprintf(f, "\nThe reports have all %" PRIu64 " failures.\n", count);
   fputc('\n', f);
}

const struct gpuval_report_format gpuval_report_step_summary = {
   .begin = write_begin,
   .row = write_row,
   .end = write_end,
};
