/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_run.h"

/* --- Statistics ----------------------------------------------------------- */

static int
compare_doubles(const void *a, const void *b)
{
   const double x = *(const double *)a, y = *(const double *)b;

   return (x > y) - (x < y);
}

/* NAN when there are none. */
static double
median(double *values, unsigned count)
{
   if (!count)
      return NAN;
   qsort(values, count, sizeof(*values), compare_doubles);
   return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static double
median_value(const struct bench_result *result, unsigned side, enum bench_metric metric)
{
   double values[BENCH_MAX_ROUNDS];
   unsigned count = 0;

   for (unsigned i = 0; i < result->rounds; i++) {
      if (isfinite(result->values[side][metric][i]))
         values[count++] = result->values[side][metric][i];
   }
   return median(values, count);
}

/* The median over the rounds of the ratio in one round: its two measurements
 * followed each other, so whatever slowed one slowed both. */
static double
median_ratio(const struct bench_result *result, unsigned side, unsigned base,
             enum bench_metric metric)
{
   double ratios[BENCH_MAX_ROUNDS];
   unsigned count = 0;

   for (unsigned i = 0; i < result->rounds; i++) {
      const double ratio = result->values[side][metric][i] / result->values[base][metric][i];

      if (isfinite(ratio))
         ratios[count++] = ratio;
   }
   return median(ratios, count);
}

/* The side without checks, on as many threads */
static unsigned
base_of(const struct bench_run *run, enum bench_section section, unsigned side)
{
   unsigned base = 0;

   while (run->sides[section][base].threads != run->sides[section][side].threads)
      base++;
   return base;
}

static bool
is_measured(const struct bench_run *run, enum bench_section section, unsigned number)
{
   return bench_workloads[number].section == section &&
          run->results[number].outcome == BENCH_MEASURED;
}

/* Times in the unit of the table where there are no checks and ratios elsewhere,
 * or all of them as they are. */
static double
table_value(const struct bench_run *run, unsigned number, unsigned side, enum bench_metric metric)
{
   const unsigned base = base_of(run, bench_workloads[number].section, side);

   if (side != base && !bench_metrics[metric].absolute)
      return median_ratio(&run->results[number], side, base, metric);
   return median_value(&run->results[number], side, metric) / bench_metrics[metric].unit;
}

static double
geometric_mean(const struct bench_run *run, enum bench_section section, unsigned side,
               enum bench_metric metric)
{
   double sum = 0;
   unsigned count = 0;

   for (unsigned i = 0; i < bench_workload_count; i++) {
      const double value = is_measured(run, section, i) ? table_value(run, i, side, metric) : NAN;

      if (isfinite(value) && value > 0) {
         sum += log(value);
         count++;
      }
   }
   return count ? exp(sum / count) : NAN;
}

/* --- Tables --------------------------------------------------------------- */

/* A column of its own for the first side of each number of threads */
static void
print_cell(bool first, const char *text)
{
   printf(first ? " | %11s" : " %8s", text);
}

static void
print_value(bool first, double value, unsigned digits)
{
   char text[32] = "-";

   if (isfinite(value))
      snprintf(text, sizeof(text), "%.*f", digits, value);
   print_cell(first, text);
}

static void
print_titles(const struct bench_run *run, enum bench_section section)
{
   static const char *const titles[BENCH_THREADS_COUNT] = {
      [BENCH_ONE_THREAD] = "one thread",
      [BENCH_ALL_THREADS] = "all threads",
   };
   const struct bench_side *sides = run->sides[section];

   printf("%-15s", "");
   for (unsigned i = 0; i < run->side_counts[section]; i++)
      print_cell(base_of(run, section, i) == i,
                 base_of(run, section, i) == i ? titles[sides[i].threads] : "");
   printf("\n%-15s", "workload");
   for (unsigned i = 0; i < run->side_counts[section]; i++)
      print_cell(base_of(run, section, i) == i, sides[i].name);
   printf("\n");
}

static void
print_means(const struct bench_run *run, enum bench_section section, enum bench_metric metric)
{
   printf("%-15s", "geometric mean");
   for (unsigned i = 0; i < run->side_counts[section]; i++) {
      const bool first = base_of(run, section, i) == i;

      print_value(first, first ? NAN : geometric_mean(run, section, i, metric), 2);
   }
   printf("\n");
}

static void
print_table(const struct bench_run *run, enum bench_section section, enum bench_metric metric)
{
   const bool absolute = bench_metrics[metric].absolute;

   printf("%s%s\n", bench_metrics[metric].title,
          absolute ? "" : "; the other columns: so many times as long");
   print_titles(run, section);
   for (unsigned i = 0; i < bench_workload_count; i++) {
      if (!is_measured(run, section, i) ||
          (metric == BENCH_BARRIER && !bench_workloads[i].barriers))
         continue;
      printf("%-15s", bench_workloads[i].name);
      for (unsigned j = 0; j < run->side_counts[section]; j++) {
         const bool first = base_of(run, section, j) == j;

         print_value(first, table_value(run, i, j, metric), absolute ? 1 : first ? 3 : 2);
      }
      printf("\n");
   }
   if (!absolute)
      print_means(run, section, metric);
   printf("\n");
}

static bool
has_barriers(const struct bench_run *run, enum bench_section section)
{
   for (unsigned i = 0; i < bench_workload_count; i++) {
      if (is_measured(run, section, i) && bench_workloads[i].barriers)
         return true;
   }
   return false;
}

void
bench_print_section(const struct bench_run *run, enum bench_section section)
{
   const struct bench_options *options = &run->options;

   printf("%s; checks: %s; wall-clock time\n", run->device,
          options->noise    ? "off on all sides"
          : options->checks ? options->checks
                            : bench_default_checks[section]);
   if (section == BENCH_SECTION_SYNC) {
      printf(
         "by hand: checks off, vkd3d-proton's scheme in GLSL, 16 hashes; bloom: GPUVAL_SYNC=bloom, "
         "%s hashes\n",
         options->bloom_hashes);
   }
   printf("\n");
   for (enum bench_metric metric = 0; metric < BENCH_METRIC_COUNT; metric++) {
      if (metric != BENCH_BARRIER || has_barriers(run, section))
         print_table(run, section, metric);
   }
}

/* --- JSON ----------------------------------------------------------------- */

/* {"off":1.5,"sync_ratio":2}: of the sides with as many threads */
static void
write_metric(const struct bench_run *run, FILE *file, unsigned number, unsigned base,
             enum bench_metric metric)
{
   const enum bench_section section = bench_workloads[number].section;

   fprintf(file, ",\"%s\":{", bench_metrics[metric].name);
   for (unsigned i = 0, written = 0; i < run->side_counts[section]; i++) {
      const double value = table_value(run, number, i, metric);

      if (base_of(run, section, i) != base || !isfinite(value))
         continue;
      fprintf(file, "%s\"%s%s\":%.4f", written++ ? "," : "", run->sides[section][i].name,
              i == base || bench_metrics[metric].absolute ? "" : "_ratio", value);
   }
   fprintf(file, "}");
}

static void
write_workload(const struct bench_run *run, FILE *file, unsigned number)
{
   const struct bench_workload *workload = &bench_workloads[number];
   const struct bench_side *sides = run->sides[workload->section];

   for (unsigned i = 0; i < run->side_counts[workload->section]; i++) {
      if (base_of(run, workload->section, i) != i)
         continue;
      fprintf(file, "{\"workload\":\"%s\",\"section\":\"%s\",\"threads\":\"%s\",\"rounds\":%u",
              workload->name, bench_section_names[workload->section],
              bench_threads_names[sides[i].threads], run->results[number].rounds);
      for (enum bench_metric metric = 0; metric < BENCH_METRIC_COUNT; metric++) {
         if (metric != BENCH_BARRIER || workload->barriers)
            write_metric(run, file, number, i, metric);
      }
      fprintf(file, "}\n");
   }
}

bool
bench_write_json(const struct bench_run *run)
{
   FILE *file = fopen(run->options.json, "w");

   if (!file) {
      fprintf(stderr, "error: %s: %s\n", run->options.json, strerror(errno));
      return false;
   }
   fprintf(file, "{\"device\":\"%s\",\"checks\":\"%s\",\"clock\":\"wall\"}\n", run->device,
           run->options.noise    ? "none"
           : run->options.checks ? run->options.checks
                                 : "default");
   for (unsigned i = 0; i < bench_workload_count; i++) {
      if (run->results[i].outcome == BENCH_MEASURED)
         write_workload(run, file, i);
   }
   return fclose(file) == 0;
}
