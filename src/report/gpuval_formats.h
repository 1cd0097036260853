/* SPDX-License-Identifier: MIT */

/* Report files: one printer a format, over rows and a summary. */

#ifndef GPUVAL_FORMATS_H
#define GPUVAL_FORMATS_H

#include <stdio.h>

#include "gpuval_summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Writes one file: begin, then a row for each failure, in the order in which they were
 * seen, then end. What is NULL writes nothing. All of it in the C locale:
 * gpuval_begin_c_locale().
 */
struct gpuval_report_format {
   const char *ending;
   void (*begin)(FILE *f, const struct gpuval_summary *summary);
   void (*row)(FILE *f, const struct gpuval_row *row, const struct gpuval_summary *summary,
               unsigned index);
   /* What only the baseline has, behind the rows: @index goes on. NULL: that is left out. */
   void (*gone)(FILE *f, const struct gpuval_row *row, const struct gpuval_summary *summary,
                unsigned index);
   void (*end)(FILE *f, const struct gpuval_summary *summary);
};

/** By the file's ending, NULL if there is none such. */
const struct gpuval_report_format *gpuval_report_format(const char *file);

/** For what is said when there is none such. */
#define GPUVAL_REPORT_ENDINGS ".jsonl, .csv, .html, .sarif, .junit.xml or .codequality.json"

extern const struct gpuval_report_format gpuval_report_jsonl;
extern const struct gpuval_report_format gpuval_report_csv;
extern const struct gpuval_report_format gpuval_report_html;
extern const struct gpuval_report_format gpuval_report_sarif;
extern const struct gpuval_report_format gpuval_report_junit;
extern const struct gpuval_report_format gpuval_report_codequality;

/** A whole file of events. */
void gpuval_report_write(const struct gpuval_report_format *format, FILE *f,
                         struct gpuval_event *const *events, unsigned num_events,
                         const struct gpuval_summary *summary);

/** A string of JSON, with its quotes. */
void gpuval_jsonl_write_string(FILE *f, const char *string);
/** One line of JSON Lines. */
void gpuval_jsonl_write_row(FILE *f, const struct gpuval_row *row);
void gpuval_jsonl_write_summary(FILE *f, const struct gpuval_summary *summary);

/** Is this a job of GitHub Actions, which makes annotations of what is printed? */
bool gpuval_github_is_wanted(void);
/** The page of a step of that job, to append to. NULL: there is none. */
FILE *gpuval_github_open_step_summary(void);
/** What goes there: a table in Markdown. It has no ending. */
extern const struct gpuval_report_format gpuval_report_step_summary;
/** One line of those. */
void gpuval_github_write_row(FILE *f, const struct gpuval_row *row);

#ifdef __cplusplus
}
#endif

#endif
