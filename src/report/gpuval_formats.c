/* SPDX-License-Identifier: MIT */

#include "gpuval_formats.h"

#include <string.h>

#include "base/gpuval_text.h"
#include "util/macros.h"

#define COUNT(name, always)                                                                        \
   {                                                                                               \
#name, offsetof(struct gpuval_summary, name), always                                         \
   }

const struct gpuval_summary_count gpuval_summary_counts[] = {
   COUNT(errors, true),      COUNT(occurrences, true),   COUNT(lost, true),
   COUNT(messages, true),    COUNT(lost_messages, true), COUNT(shaders, true),
   COUNT(warnings, true),    COUNT(suppressed, false),   COUNT(suppressed_occurrences, false),
   COUNT(lost_lines, false), COUNT(commands, false),
};
const unsigned gpuval_num_summary_counts = ARRAY_SIZE(gpuval_summary_counts);

static const struct gpuval_report_format *const formats[] = {
   &gpuval_report_jsonl, &gpuval_report_csv,   &gpuval_report_html,
   &gpuval_report_sarif, &gpuval_report_junit, &gpuval_report_codequality,
};

const struct gpuval_report_format *
gpuval_report_format(const char *file)
{
   size_t length = strlen(file);

   for (unsigned i = 0; i < ARRAY_SIZE(formats); i++) {
      size_t ending = strlen(formats[i]->ending);
      if (length > ending && !strcmp(file + length - ending, formats[i]->ending))
         return formats[i];
   }
   return NULL;
}

void
gpuval_report_write(const struct gpuval_report_format *format, FILE *f,
                    struct gpuval_event *const *events, unsigned num_events,
                    const struct gpuval_summary *summary)
{
   struct gpuval_row row;

   locale_t locale = gpuval_begin_c_locale();
   if (format->begin)
      format->begin(f, summary);
   for (unsigned i = 0; i < num_events; i++) {
      gpuval_row_from_event(&row, events[i]);
      format->row(f, &row, summary, i);
   }
   if (format->end)
      format->end(f, summary);
   gpuval_end_c_locale(locale);
}
