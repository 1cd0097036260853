/* SPDX-License-Identifier: MIT */

/* What the HTML report says of coverage: of each source file what was executed, from the
 * tracefiles that go with the report.
 */

#include "gpuval_html_coverage.h"

#include <inttypes.h>

#include "util/ralloc.h"
#include "gpuval_tracefile.h"

static void
write_functions(FILE *f, const struct gpuval_lcov_file *file)
{
   const char *separator = "";

   fputs(",\"functions\":[", f);
   util_dynarray_foreach (&file->functions, struct gpuval_function_count, function) {
      fprintf(f, "%s[", separator);
      gpuval_html_write_string(f, function->name);
      fprintf(f, ",%" PRIu32 ",%" PRIu64 "]", function->line, function->count);
      separator = ",";
   }
   fputs("]", f);
}

/* Lines that have code, and ranges of those that nothing executed: no line between the two was. */
static void
write_lines(FILE *f, const struct gpuval_lcov_file *file)
{
   uint32_t hit = 0, first = 0, last = 0;
   const char *separator = "";

   fputs(",\"missed\":[", f);
   util_dynarray_foreach (&file->lines, struct gpuval_line_count, line) {
      if (!line->count) {
         first = first ? first : line->number;
         last = line->number;
         continue;
      }
      hit++;
      if (first) {
         fprintf(f, "%s[%" PRIu32 ",%" PRIu32 "]", separator, first, last);
         separator = ",";
      }
      first = 0;
   }
   if (first)
      fprintf(f, "%s[%" PRIu32 ",%" PRIu32 "]", separator, first, last);
   fprintf(f, "],\"lines\":[%" PRIu32 ",%zu]", hit,
           util_dynarray_num_elements(&file->lines, struct gpuval_line_count));
}

static void
write_branches(FILE *f, const struct gpuval_lcov_file *file)
{
   unsigned hit = 0;

   util_dynarray_foreach (&file->branches, struct gpuval_branch_count, branch)
      hit += branch->count > 0;
   fprintf(f, ",\"branches\":[%u,%zu]", hit,
           util_dynarray_num_elements(&file->branches, struct gpuval_branch_count));
}

void
gpuval_html_write_coverage(FILE *f, const struct gpuval_summary *summary)
{
   struct gpuval_tracefile trace;
   unsigned count;

   gpuval_tracefile_init(&trace);
   for (unsigned i = 0; i < summary->num_coverage; i++)
      gpuval_tracefile_read_named(&trace, summary->coverage[i]);
   struct gpuval_lcov_file **files = gpuval_tracefile_sort(&trace, &count);
   fputs("[", f);
   for (unsigned i = 0; i < count; i++) {
      fprintf(f, "%s{\"file\":", i ? ",\n" : "\n");
      gpuval_html_write_string(f, files[i]->path);
      write_functions(f, files[i]);
      write_lines(f, files[i]);
      write_branches(f, files[i]);
      fputs("}", f);
   }
   fputs("]", f);
   ralloc_free(trace.mem_ctx);
}
