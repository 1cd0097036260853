/* SPDX-License-Identifier: MIT */

/* HTML: one file that needs nothing else. It has the JSON Lines report in it, and the
 * script in page/ makes the page of it.
 */

#include "gpuval_formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_kind_help.h"
#include "gpuval_html_coverage.h"
#include "report_coverage.h"
#include "report_css.h"
#include "report_html.h"
#include "report_js.h"
#include "report_words.h"

/* What is between a script's tags ends at the next "</script", whatever it is part of,
 * and "<!--" has a meaning, too. In JSON, only strings have a "<".
 */
void
gpuval_html_write_json(FILE *f, const char *json)
{
   while (*json) {
      size_t length = strcspn(json, "<");
      fwrite(json, 1, length, f);
      json += length;
      if (*json == '<') {
         fputs("\\u003c", f);
         json++;
      }
   }
}

void
gpuval_html_write_string(FILE *f, const char *string)
{
   char *json = NULL;
   size_t size;

   FILE *memory = open_memstream(&json, &size);
   if (!memory)
      return;
   gpuval_jsonl_write_string(memory, string);
   fclose(memory);
   gpuval_html_write_json(f, json);
   free(json);
}

/* What the failures mean and how to mend them, by check and kind; no text has a "<". */
static void
write_help(FILE *f)
{
   fputc('{', f);
   for (unsigned i = 0; i < GPUVAL_KIND_COUNT; i++) {
      const struct gpuval_kind_help *help = &gpuval_kind_helps[i];

      if (gpuval_kind_is_hidden(i))
         continue;
      fprintf(f, "%s\"%s/%s\":[", i ? ",\n" : "\n", gpuval_kind_check_name(i),
              gpuval_kind_infos[i].name);
      gpuval_jsonl_write_string(f, help->meaning);
      fputc(',', f);
      gpuval_jsonl_write_string(f, help->mending);
      fputc(',', f);
      gpuval_jsonl_write_string(f, help->uri);
      fputc(']', f);
   }
   fputs("}", f);
}

static void
write_begin(FILE *f, const struct gpuval_summary *summary)
{
   static const char mark[] = "@STYLE@";
   const char *style = strstr(page_html, mark);
   char *json = NULL;
   size_t size;

   fwrite(page_html, 1, style - page_html, f);
   fputs(page_css, f);
   fputs(style + strlen(mark), f);

   fputs("<script type=\"application/json\" id=\"summary\">", f);
   FILE *memory = open_memstream(&json, &size);
   if (memory) {
      gpuval_jsonl_write_summary(memory, summary);
      fclose(memory);
      gpuval_html_write_json(f, json);
      free(json);
   }
   fputs("</script>\n<script type=\"application/json\" id=\"help\">", f);
   write_help(f);
   fputs("</script>\n<script type=\"application/json\" id=\"coverage-data\">", f);
   gpuval_html_write_coverage(f, summary);
   fputs("</script>\n<script type=\"application/json\" id=\"events\">[\n", f);
}

/* Runs are short here: there may be a million of them. */
static void
write_row(FILE *f, const struct gpuval_row *row, const struct gpuval_summary *summary,
          unsigned index)
{
   struct gpuval_row without_runs = *row;
   char *json = NULL;
   size_t size;

   FILE *memory = open_memstream(&json, &size);
   if (!memory)
      return;
   without_runs.num_seen = 0;
   gpuval_jsonl_write_row(memory, &without_runs);
   fclose(memory);
   *strrchr(json, '}') = '\0';
   fputs(index ? "," : "", f);
   gpuval_html_write_json(f, json);
   free(json);
   for (unsigned i = 0; i < row->num_seen; i++)
      fprintf(f, "%s%" PRIu32 ",%" PRIu64, i ? "," : ",\"seen\":[", row->seen[i].run,
              row->seen[i].count);
   fputs(row->num_seen ? "]}\n" : "}\n", f);
}

static void
write_end(FILE *f, const struct gpuval_summary *summary)
{
   fputs("]</script>\n<script>\n", f);
   fputs(page_words, f);
   fputs(page_coverage, f);
   fputs(page_js, f);
   fputs("</script>\n</body>\n</html>\n", f);
}

const struct gpuval_report_format gpuval_report_html = {
   .ending = ".html",
   .begin = write_begin,
   .row = write_row,
   .gone = write_row,
   .end = write_end,
};
