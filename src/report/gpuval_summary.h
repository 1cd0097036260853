/* SPDX-License-Identifier: MIT */

/* What a report says at its end, and of which runs it is. */

#ifndef GPUVAL_SUMMARY_H
#define GPUVAL_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpuval_row.h"

#ifdef __cplusplus
extern "C" {
#endif

/** `lost` and `lost_messages` are both 0 in a report that is complete. */
struct gpuval_summary {
   uint64_t errors;        /* distinct failures that are errors */
   uint64_t occurrences;   /* their counts */
   uint64_t warnings;      /* distinct failures that are warnings */
   uint64_t lost;          /* records without room, or with content that cannot be right */
   uint64_t messages;      /* that shaders have printed */
   uint64_t lost_messages; /* printed messages without room */
   uint64_t shaders;       /* that were checked */
   uint64_t commands;      /* the same of draws, dispatches and traces that have run */
   uint64_t lost_lines;    /* of reports that were read, those that are none of a report */

   /* distinct failures that are suppressed, and their counts: not among those above */
   uint64_t suppressed, suppressed_occurrences;

   /* the same of those outside of sessions; with GPUVAL_RECORD=manual only */
   uint64_t outside, outside_occurrences;
   unsigned session; /* from 1; 0: all that there were */

   /* gpuval_summary_run(). Of one process: that one, if there is anything to say */
   unsigned num_runs;
   const struct gpuval_run *runs; /* NULL: get_run() has them, each until the next one */
   const struct gpuval_run *(*get_run)(void *data, unsigned index);
   void *get_run_data;
   const char *program; /* with get_run(): that all runs are of; NULL: several, or not known */
   bool is_merged;      /* from the reports of those runs */

   const char *const *coverage; /* tracefiles of LCOV that go with it */
   unsigned num_coverage;

   bool has_baseline;
   uint64_t baseline_new, baseline_unchanged; /* together: errors; warnings do not count */
   uint64_t baseline_absent;                  /* in the baseline only */
};

/** A run: until the next call, but for its host and driver, which are the summary's. */
static inline const struct gpuval_run *
gpuval_summary_run(const struct gpuval_summary *summary, unsigned index)
{
   return summary->runs ? &summary->runs[index] : summary->get_run(summary->get_run_data, index);
}

/** The numbers of a summary, in the order in which they are written. */
struct gpuval_summary_count {
   const char *key;
   size_t offset; /* in struct gpuval_summary */
   bool always;   /* also when it is 0 */
};

extern const struct gpuval_summary_count gpuval_summary_counts[];
extern const unsigned gpuval_num_summary_counts;

static inline uint64_t *
gpuval_summary_count(const struct gpuval_summary *summary, const struct gpuval_summary_count *count)
{
   return (uint64_t *)((char *)summary + count->offset);
}

/** Adds the numbers of @from. */
static inline void
gpuval_summary_add(struct gpuval_summary *to, const struct gpuval_summary *from)
{
   for (unsigned i = 0; i < gpuval_num_summary_counts; i++)
      *gpuval_summary_count(to, &gpuval_summary_counts[i]) +=
         *gpuval_summary_count(from, &gpuval_summary_counts[i]);
}

#ifdef __cplusplus
}
#endif

#endif
