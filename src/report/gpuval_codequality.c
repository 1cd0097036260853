/* SPDX-License-Identifier: MIT */

/* Code quality as GitLab reads it: an array of issues, which merge requests compare with those of
 * the target branch by their fingerprints. docs.gitlab.com, "Code Quality report format"
 */

#include "gpuval_formats.h"

#include <inttypes.h>

#include "util/ralloc.h"
#include "gpuval_location.h"

static void
write_begin(FILE *f, const struct gpuval_summary *summary)
{
   fputs("[", f);
}

/* An issue without a fingerprint would be refused. */
static void
write_fingerprint(FILE *f, const struct gpuval_row *row, const struct gpuval_location *location)
{
   const char *fingerprint = gpuval_row_string(row, false, "", "fingerprint");
   char *text = fingerprint
                   ? NULL
                   : ralloc_asprintf(NULL, "%s:%" PRId64 ": %s", location->path, location->line,
                                     gpuval_row_string(row, false, "", "message"));

   gpuval_jsonl_write_string(f, fingerprint ? fingerprint : text);
   ralloc_free(text);
}

static const char *
get_severity(const struct gpuval_row *row)
{
   return gpuval_row_is_message(row) ? "info" : gpuval_row_is_warning(row) ? "minor" : "major";
}

static void
write_issue(FILE *f, const struct gpuval_row *row, const struct gpuval_summary *summary,
            unsigned index)
{
   void *mem_ctx = ralloc_context(NULL);
   struct gpuval_location location = gpuval_row_location(mem_ctx, row, false);
   char *name = ralloc_asprintf(mem_ctx, "%s/%s", gpuval_row_string(row, false, "", "check"),
                                gpuval_row_string(row, false, "", "kind"));

   fprintf(f, "%s\n{\"description\":", index ? "," : "");
   gpuval_jsonl_write_string(f, gpuval_row_string(row, false, "", "message"));
   fputs(",\"check_name\":", f);
   gpuval_jsonl_write_string(f, name);
   fputs(",\"fingerprint\":", f);
   write_fingerprint(f, row, &location);
   fprintf(f, ",\"severity\":\"%s\",\"location\":{\"path\":", get_severity(row));
   gpuval_jsonl_write_string(f, location.path);
   fprintf(f, ",\"lines\":{\"begin\":%" PRId64 "}}}", location.line);
   ralloc_free(mem_ctx);
}

static void
write_end(FILE *f, const struct gpuval_summary *summary)
{
   fputs("]\n", f);
}

const struct gpuval_report_format gpuval_report_codequality = {
   .ending = ".codequality.json",
   .begin = write_begin,
   .row = write_issue,
   .end = write_end,
};
