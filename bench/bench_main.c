/* SPDX-License-Identifier: MIT */

#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench_run.h"
#include "vk_headless.h"

/* A workload that takes little time gets more rounds than it must, within this
 * many seconds; one that takes much gets BENCH_FEW_ROUNDS. */
#define SPARE_SECONDS       3
#define QUICK_SPARE_SECONDS 1
#define LONG_SECONDS        60

const char *const bench_section_names[BENCH_SECTION_COUNT] = {
   [BENCH_SECTION_CHECKS] = "checks",
   [BENCH_SECTION_SHADER] = "shader",
   [BENCH_SECTION_SYNC] = "sync",
};

const char *const bench_default_checks[BENCH_SECTION_COUNT] = {
   [BENCH_SECTION_CHECKS] = "bounds,assume",
   [BENCH_SECTION_SHADER] = "shader",
   [BENCH_SECTION_SYNC] = "sync",
};

const char *const bench_threads_names[BENCH_THREADS_COUNT] = {
   [BENCH_ONE_THREAD] = "one",
   [BENCH_ALL_THREADS] = "all",
};

static bool
layer_exists(void)
{
   VkLayerProperties layers[64];
   uint32_t count = VKH_COUNT(layers);

   if (vkEnumerateInstanceLayerProperties(&count, layers) < 0)
      return false;
   for (uint32_t i = 0; i < count; i++) {
      if (!strcmp(layers[i].layerName, BENCH_LAYER))
         return true;
   }
   return false;
}

/* --- Sides ---------------------------------------------------------------- */

static void
add_side(struct bench_run *run, enum bench_section section, struct bench_side side)
{
   run->sides[section][run->side_counts[section]++] = side;
}

/* Columns of tables, unless there is --checks */
static const struct {
   enum bench_section section;
   const char *name, *checks;
} columns[] = {
   {BENCH_SECTION_CHECKS, "basic", "basic"},       {BENCH_SECTION_CHECKS, "race", "race"},
   {BENCH_SECTION_CHECKS, "init", "init"},         {BENCH_SECTION_CHECKS, "arithm.", "arithmetic"},
   {BENCH_SECTION_CHECKS, "undef.", "undefined"},  {BENCH_SECTION_CHECKS, "converge", "converge"},
   {BENCH_SECTION_CHECKS, "all", "all"},

   {BENCH_SECTION_SHADER, "array", "array"},       {BENCH_SECTION_SHADER, "arithm.", "arithmetic"},
   {BENCH_SECTION_SHADER, "undef.", "undefined"},  {BENCH_SECTION_SHADER, "loop", "loop"},
   {BENCH_SECTION_SHADER, "converge", "converge"}, {BENCH_SECTION_SHADER, "mesh", "mesh"},
   {BENCH_SECTION_SHADER, "nan", "nan"},           {BENCH_SECTION_SHADER, "all", "all"},
};

/* What is compared on this number of threads */
static void
add_sides(struct bench_run *run, enum bench_threads threads)
{
   const struct bench_options *options = &run->options;
   const char *checks[BENCH_SECTION_COUNT];

   for (enum bench_section i = 0; i < BENCH_SECTION_COUNT; i++) {
      checks[i] = options->noise    ? NULL
                  : options->checks ? options->checks
                                    : bench_default_checks[i];
      add_side(run, i, (struct bench_side){.name = "off", .threads = threads});
   }

   add_side(run, BENCH_SECTION_CHECKS,
            (struct bench_side){
               .name = "on",
               .threads = threads,
               .checks = checks[BENCH_SECTION_CHECKS],
            });
   add_side(run, BENCH_SECTION_SHADER,
            (struct bench_side){
               .name = options->checks ? "on" : "shader",
               .threads = threads,
               .checks = checks[BENCH_SECTION_SHADER],
            });
   for (unsigned i = 0; i < VKH_COUNT(columns) && !options->checks && !options->noise; i++)
      add_side(run, columns[i].section,
               (struct bench_side){
                  .name = columns[i].name,
                  .threads = threads,
                  .checks = columns[i].checks,
               });
   if (options->gpu_av) {
      add_side(run, BENCH_SECTION_CHECKS,
               (struct bench_side){.name = "GPU-AV", .threads = threads, .gpu_av = true});
   }

   add_side(run, BENCH_SECTION_SYNC,
            (struct bench_side){.name = "by hand", .threads = threads, .by_hand = true});
   add_side(run, BENCH_SECTION_SYNC,
            (struct bench_side){
               .name = "sync",
               .threads = threads,
               .checks = checks[BENCH_SECTION_SYNC],
            });
   add_side(run, BENCH_SECTION_SYNC,
            (struct bench_side){
               .name = "bloom",
               .threads = threads,
               .checks = checks[BENCH_SECTION_SYNC],
               .engine = "bloom",
               .bloom_size_log2 = options->bloom_size_log2,
               .bloom_hashes = options->bloom_hashes,
            });
}

static bool
is_wanted(const struct bench_options *options, const struct bench_workload *workload)
{
   return (options->section == BENCH_SECTION_COUNT || options->section == workload->section) &&
          (!options->only || bench_is_listed(options->only, workload->name));
}

/* --- The run -------------------------------------------------------------- */

static double
seconds(void)
{
   struct timespec time;

   clock_gettime(CLOCK_MONOTONIC, &time);
   return time.tv_sec + time.tv_nsec / 1e9;
}

static bool
is_enough(const struct bench_options *options, unsigned rounds, double time)
{
   if (rounds >= BENCH_MAX_ROUNDS || (rounds >= BENCH_FEW_ROUNDS && time > LONG_SECONDS))
      return true;
   return rounds >= options->rounds &&
          time > (options->quick ? QUICK_SPARE_SECONDS : SPARE_SECONDS);
}

/* Rounds of one workload, every other one in reverse order. Stops early when a
 * process other than GPU-AV's is gone. */
static void
measure_rounds(struct bench_run *run, struct bench_process *processes, unsigned count,
               struct bench_result *result)
{
   const double start = seconds();

   while (!is_enough(&run->options, result->rounds, seconds() - start)) {
      const unsigned round = result->rounds;

      for (unsigned i = 0; i < count; i++) {
         const unsigned side = round & 1 ? count - 1 - i : i;
         struct bench_process *process = &processes[side];
         double values[BENCH_METRIC_COUNT];

         if (process->side)
            bench_measure(process, values, run->device);
         for (enum bench_metric j = 0; j < BENCH_METRIC_COUNT; j++)
            result->values[side][j][round] = process->side ? values[j] : NAN;
         if (process->lost && !process->side->gpu_av)
            return;
      }
      result->rounds++;
   }
}

/* Some workloads have no check by hand: no process then. */
static bool
start_all(const struct bench_workload *workload, const struct bench_side *sides, unsigned count,
          struct bench_process *processes)
{
   for (unsigned i = 0; i < count; i++) {
      if (sides[i].by_hand && !workload->by_hand.code)
         continue;
      if (!bench_start(workload, &sides[i], &processes[i]))
         return false;
   }
   return true;
}

static void
measure_workload(struct bench_run *run, unsigned number)
{
   const struct bench_workload *workload = &bench_workloads[number];
   const unsigned count = run->side_counts[workload->section];
   struct bench_result *result = &run->results[number];
   struct bench_process processes[BENCH_MAX_SIDES] = {0};

   result->outcome = BENCH_FAILED;
   if (start_all(workload, run->sides[workload->section], count, processes)) {
      measure_rounds(run, processes, count, result);
      result->outcome = BENCH_MEASURED;
   }
   for (unsigned i = 0; i < count; i++) {
      if (!processes[i].side)
         continue;
      const enum bench_outcome outcome = bench_finish(&processes[i]);

      if (outcome > result->outcome)
         result->outcome = outcome;
      if (result->outcome == BENCH_MEASURED && processes[i].lost && !processes[i].side->gpu_av) {
         fprintf(stderr, "error: %s, %s: the worker ended early\n", workload->name,
                 processes[i].side->name);
         result->outcome = BENCH_FAILED;
      }
   }
}

static void
print_progress(const char *workload)
{
   if (isatty(STDERR_FILENO))
      fprintf(stderr, "\r\033[K%s", workload);
}

/* Whether all that was measured could be. */
static bool
measure_all(struct bench_run *run, unsigned measured[BENCH_SECTION_COUNT])
{
   bool good = true;

   for (unsigned i = 0; i < bench_workload_count; i++) {
      struct bench_result *result = &run->results[i];

      if (!is_wanted(&run->options, &bench_workloads[i])) {
         result->outcome = BENCH_SKIPPED;
         continue;
      }
      print_progress(bench_workloads[i].name);
      measure_workload(run, i);
      print_progress("");
      if (result->outcome == BENCH_MEASURED)
         measured[bench_workloads[i].section]++;
      good &= result->outcome != BENCH_FAILED;
   }
   return good;
}

static int
run_as_worker(const struct bench_options *options)
{
   const struct bench_workload *workload = bench_find_workload(options->worker);

   if (!workload)
      vkh_die("no workload is called \"%s\"", options->worker);
   bench_worker_run(workload, options->by_hand, options->time_limit, BENCH_WORKER_OUTPUT);
   return 0;
}

int
main(int argc, char **argv)
{
   /* Too large for a stack. */
   static struct bench_run run;
   unsigned measured[BENCH_SECTION_COUNT] = {0}, all = 0;
   struct bench_options *options = &run.options;
   const int status = bench_parse_options(argc, argv, options);

   if (status >= 0)
      return status;
   if (options->worker)
      return run_as_worker(options);

   if (!options->quick && !options->noise)
      options->gpu_av = true;
   if (options->no_gpu_av)
      options->gpu_av = false;
   if (options->gpu_av && !layer_exists()) {
      printf("%s is not installed: no comparison with GPU-AV\n", BENCH_LAYER);
      options->gpu_av = false;
   }
   for (enum bench_threads i = 0; i < BENCH_THREADS_COUNT; i++) {
      if (options->threads == BENCH_THREADS_COUNT || options->threads == i)
         add_sides(&run, i);
   }
   fflush(stdout);
   signal(SIGPIPE, SIG_IGN); /* a worker may die while it is written to */
   bench_reserve_descriptors();

   const bool good = measure_all(&run, measured);
   for (enum bench_section section = 0; section < BENCH_SECTION_COUNT; section++) {
      all += measured[section];
      if (measured[section])
         bench_print_section(&run, section);
   }
   if (!all || (options->json && !bench_write_json(&run)))
      return 1;
   return good ? 0 : 1;
}
