/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_HTML_COVERAGE_H
#define GPUVAL_HTML_COVERAGE_H

#include <stdio.h>

#include "gpuval_summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The array of JSON that page/coverage.js reads, of the tracefiles that @summary names. */
void gpuval_html_write_coverage(FILE *f, const struct gpuval_summary *summary);

/** What is between a script's tags must not end it: @json without a "<". */
void gpuval_html_write_json(FILE *f, const char *json);
/** The same of a string, with its quotes. */
void gpuval_html_write_string(FILE *f, const char *string);

#ifdef __cplusplus
}
#endif

#endif
