/* SPDX-License-Identifier: MIT */

/* Workflow commands of GitHub Actions: what a job prints so becomes an annotation of the
 * line in a pull request.
 * docs.github.com, "Workflow commands for GitHub Actions", "Setting an error message"
 */

#include "gpuval_formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_text.h"
#include "util/ralloc.h"
#include "gpuval_paths.h"

bool
gpuval_github_is_wanted(void)
{
   const char *actions = getenv("GITHUB_ACTIONS");
   return actions && actions[0] && strcmp(actions, "false") && strcmp(actions, "0");
}

/* As actions/toolkit's command.ts has it: in properties, what ends one, too. What would
 * end the line or do something to a terminal is escaped as in the text log before.
 */
static void
write_escaped(FILE *f, const char *text, bool is_property)
{
   char *escaped = gpuval_escape(text);

   if (!escaped)
      return;
   for (const char *c = escaped; *c; c++) {
      if (*c == '%' || (is_property && (*c == ':' || *c == ',')))
         fprintf(f, "%%%02X", *c);
      else
         fputc(*c, f);
   }
   free(escaped);
}

void
gpuval_github_write_row(FILE *f, const struct gpuval_row *row)
{
   const char *file = gpuval_row_string(row, false, "source", "file");
   const char *fingerprint = gpuval_row_string(row, false, "", "fingerprint");
   int64_t line = gpuval_row_number(row, false, "source", "line", 0);
   int64_t column = gpuval_row_number(row, false, "source", "column", 0);

   fputs(gpuval_row_is_warning(row) ? "::warning " : "::error ", f);
   if (line && file) {
      char *path = gpuval_paths_relative(NULL, file);
      fputs("file=", f);
      write_escaped(f, path, true);
      fprintf(f, ",line=%" PRId64 ",", line);
      if (column)
         fprintf(f, "col=%" PRId64 ",", column);
      ralloc_free(path);
   }
   fputs("title=gpuval ", f);
   write_escaped(f, gpuval_row_string(row, false, "", "check"), true);
   fputc('/', f);
   write_escaped(f, gpuval_row_string(row, false, "", "kind"), true);
   fputs("::", f);
   write_escaped(f, gpuval_row_string(row, false, "", "message"), false);
   if (fingerprint) {
      fputs(" (fingerprint ", f);
      write_escaped(f, fingerprint, false);
      fputc(')', f);
   }
   fputc('\n', f);
}
