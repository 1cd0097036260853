/*
 * SPDX-License-Identifier: MIT
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bench.h"
#include "vk_headless.h"

#define DEFAULT_CHECKS "bounds,assume"
#define DEFAULT_ROUNDS 5
#define QUICK_ROUNDS   2
#define MAX_ROUNDS     40

/* A workload that takes little time gets more rounds than it must, within this
 * many seconds. */
#define SPARE_SECONDS       3
#define QUICK_SPARE_SECONDS 1

/* For one round of a worker. GPU-AV needs several minutes to instrument and
 * compile the larger shaders: it goes without those. */
#define TIME_LIMIT        "300"
#define TIME_LIMIT_GPU_AV "90"

#define MAX_WORKLOADS 32

/* File descriptors of a worker: what it writes its results to (layers use
 * stdout), and the log of its checks, a file in memory that goes away with the
 * last of the processes. */
#define WORKER_OUTPUT   3
#define WORKER_LOG      4
#define WORKER_LOG_PATH "/proc/self/fd/4"

#define LAYER "VK_LAYER_KHRONOS_validation"

enum side {
   SIDE_OFF,
   SIDE_ON,
   SIDE_GPU_AV,
   SIDE_BY_HAND, /* checks off, and the shader's own */
   SIDE_SYNC_16,
   SIDE_SYNC,
   SIDE_COUNT,
};

static const char *const side_names[SIDE_COUNT] = {
   [SIDE_OFF] = "off",         [SIDE_ON] = "on",           [SIDE_GPU_AV] = "gpu-av",
   [SIDE_BY_HAND] = "by-hand", [SIDE_SYNC_16] = "sync-16", [SIDE_SYNC] = "sync",
};

/* The values that docs/sync.rst recommends; empty: the default */
#define RECOMMENDED_SIZE_LOG2 ""
#define RECOMMENDED_HASHES    "4"

/* The checks that users ask for in general, and those for sync: a table each */
enum section {
   SECTION_CHECKS,
   SECTION_SYNC,
   SECTION_COUNT,
};

struct options {
   const char *checks;
   const char *only;     /* comma-separated names, or NULL */
   enum section section; /* or SECTION_COUNT: all */
   const char *json;     /* file, or NULL */
   const char *bloom_size_log2, *bloom_hashes;
   unsigned rounds;
   unsigned time_limit; /* of a worker: seconds a round */
   bool quick;
   bool cpu_time;
   bool noise;
   bool gpu_av;
   bool by_hand; /* of a worker */
};

enum outcome {
   OUTCOME_MEASURED,
   OUTCOME_SKIPPED,
   OUTCOME_FAILED,
};

struct result {
   enum outcome outcome;
   unsigned rounds;
   double milliseconds[SIDE_COUNT][BENCH_METRIC_COUNT][MAX_ROUNDS];
};

struct run {
   struct options options;
   unsigned side_counts[SECTION_COUNT];
   enum side sides[SECTION_COUNT][SIDE_COUNT]; /* the first is SIDE_OFF */
   char device[256];
   struct result results[MAX_WORKLOADS];
};

struct worker {
   const struct bench_workload *workload;
   enum side side;
   bool checked; /* the log must say that nothing was found */
   int log;
   bool lost; /* died or ran into its time limit */
   pid_t process;
   int commands;
   FILE *results;
};

/* --- Worker processes ----------------------------------------------------- */

/* The workloads are free of errors, and a driver that checks says so at exit.
 * One that does not check at all would have the finest ratios. */
static bool
verify_log(const struct worker *worker)
{
   FILE *file = fdopen(dup(worker->log), "r");
   char line[1024], first[1024] = "";
   bool verified = false;

   while (fgets(line, sizeof(line), file)) {
      if (!first[0])
         snprintf(first, sizeof(first), "%s", line);
      if (!strcmp(line, "gpuval: no errors\n"))
         verified = true;
   }
   fclose(file);
   if (!verified) {
      fprintf(stderr,
              "error: %s: the log of the checks lacks its line \"gpuval: no errors\"; "
              "it begins with: %s",
              worker->workload->name, first[0] ? first : "(nothing: are the checks active?)\n");
   }
   return verified;
}

static void
set_environment(const struct options *options, enum side side)
{
   const char *icd = getenv("GPUVAL_BENCH_ICD");

   if (icd && *icd)
      setenv("VK_DRIVER_FILES", icd, 1);
   setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
   unsetenv("GPUVAL");
   unsetenv("GPUVAL_REPORT");
   unsetenv("GPUVAL_DUMP");
   unsetenv("GPUVAL_BLOOM_SIZE_LOG2");
   unsetenv("GPUVAL_BLOOM_HASHES");

   if (side == SIDE_SYNC || side == SIDE_SYNC_16) {
      setenv("GPUVAL", "sync", 1);
      setenv("GPUVAL_LOG", WORKER_LOG_PATH, 1);
      setenv("GPUVAL_BLOOM_SIZE_LOG2", side == SIDE_SYNC ? options->bloom_size_log2 : "26", 1);
      setenv("GPUVAL_BLOOM_HASHES", side == SIDE_SYNC ? options->bloom_hashes : "16", 1);
   }
   if (side == SIDE_ON && !options->noise) {
      setenv("GPUVAL", options->checks, 1);
      setenv("GPUVAL_LOG", WORKER_LOG_PATH, 1);
   }
   if (side == SIDE_GPU_AV) {
      setenv("VK_INSTANCE_LAYERS", LAYER, 1);
      setenv("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT", 1);
      /* Only what happens on the GPU is compared. */
      setenv("VK_LAYER_DISABLES",
             "VK_VALIDATION_FEATURE_DISABLE_CORE_CHECKS_EXT,"
             "VK_VALIDATION_FEATURE_DISABLE_API_PARAMETERS_EXT,"
             "VK_VALIDATION_FEATURE_DISABLE_OBJECT_LIFETIMES_EXT,"
             "VK_VALIDATION_FEATURE_DISABLE_THREAD_SAFETY_EXT,"
             "VK_VALIDATION_FEATURE_DISABLE_UNIQUE_HANDLES_EXT",
             1);
   }
}

/* In the child process: becomes the worker. */
static void
exec_worker(const struct options *options, const struct worker *worker, int commands, int results)
{
   char *arguments[] = {
      "gpuval-bench",
      "--worker",
      (char *)worker->workload->name,
      "--time-limit",
      worker->side == SIDE_GPU_AV ? TIME_LIMIT_GPU_AV : TIME_LIMIT,
      NULL,
      NULL,
      NULL,
   };
   unsigned count = 5;

   if (options->cpu_time)
      arguments[count++] = "--cpu";
   if (worker->side == SIDE_BY_HAND)
      arguments[count++] = "--by-hand";

   /* reserve_descriptors() saw to it that none of these overwrites another. */
   dup2(commands, STDIN_FILENO);
   dup2(results, WORKER_OUTPUT);
   dup2(worker->log, WORKER_LOG);
   set_environment(options, worker->side);
   if (worker->side == SIDE_GPU_AV) {
      /* The layer introduces itself on stdout. */
      dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
   }
   execv("/proc/self/exe", arguments);
   fprintf(stderr, "error: cannot start a worker: %s\n", strerror(errno));
   _exit(VKH_EXIT_ERROR);
}

static bool
start_worker(const struct options *options, const struct bench_workload *workload, enum side side,
             struct worker *worker)
{
   int commands[2], results[2];

   *worker = (struct worker){
      .workload = workload,
      .side = side,
      .checked = (side == SIDE_ON && !options->noise) || side == SIDE_SYNC || side == SIDE_SYNC_16,
   };
   if (pipe2(commands, O_CLOEXEC) || pipe2(results, O_CLOEXEC) ||
       (worker->log = memfd_create("gpuval log", MFD_CLOEXEC)) < 0 ||
       (worker->process = fork()) < 0) {
      fprintf(stderr, "error: cannot start a worker: %s\n", strerror(errno));
      return false;
   }
   if (worker->process == 0)
      exec_worker(options, worker, commands[0], results[1]);
   close(commands[0]);
   close(results[1]);
   worker->commands = commands[1];
   worker->results = fdopen(results[0], "r");
   return true;
}

/* Ends the worker; what became of it. The driver's verdict matters: GPU-AV may
 * fail. */
static enum outcome
finish_worker(struct worker *worker)
{
   enum outcome outcome = OUTCOME_MEASURED;
   int status;

   close(worker->commands);
   fclose(worker->results);
   waitpid(worker->process, &status, 0);

   if (worker->side == SIDE_GPU_AV) {
      outcome = OUTCOME_MEASURED;
   } else if (WIFEXITED(status) && WEXITSTATUS(status) == VKH_EXIT_SKIP) {
      outcome = OUTCOME_SKIPPED;
   } else if (!WIFEXITED(status) || WEXITSTATUS(status)) {
      fprintf(stderr, "error: %s, %s: the worker failed (%s %d)\n", worker->workload->name,
              side_names[worker->side], WIFSIGNALED(status) ? "signal" : "exit status",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
      outcome = OUTCOME_FAILED;
   } else if (worker->checked && !verify_log(worker)) {
      outcome = OUTCOME_FAILED;
   }
   close(worker->log);
   return outcome;
}

/* Takes one line of a worker in. Returns the metric it brought, or
 * BENCH_METRIC_COUNT. */
static enum bench_metric
parse_line(struct run *run, const struct worker *worker, char *line, double *milliseconds)
{
   char name[64], metric[64];
   unsigned long long nanoseconds;

   line[strcspn(line, "\n")] = 0;
   if (!strncmp(line, "device ", 7)) {
      snprintf(run->device, sizeof(run->device), "%.255s", line + 7);
      return BENCH_METRIC_COUNT;
   }
   if (sscanf(line, "%63s %63s %llu", name, metric, &nanoseconds) != 3 ||
       strcmp(name, worker->workload->name))
      return BENCH_METRIC_COUNT;
   *milliseconds = nanoseconds / 1e6;
   for (enum bench_metric i = 0; i < BENCH_METRIC_COUNT; i++) {
      if (!strcmp(metric, bench_metric_names[i]))
         return i;
   }
   return BENCH_METRIC_COUNT;
}

/* One round of one worker. Sets `lost` when the worker is gone. */
static void
measure(struct run *run, struct worker *worker, unsigned round, struct result *result)
{
   const unsigned all =
      (1u << BENCH_METRIC_COUNT) - 1 - (worker->workload->barriers ? 0 : 1u << BENCH_BARRIER);
   double milliseconds;
   unsigned seen = 0;
   char line[512];

   for (unsigned i = 0; i < BENCH_METRIC_COUNT; i++)
      result->milliseconds[worker->side][i][round] = NAN;
   if (worker->lost || write(worker->commands, "r", 1) != 1) {
      worker->lost = true;
      return;
   }
   while (seen != all && fgets(line, sizeof(line), worker->results)) {
      const enum bench_metric metric = parse_line(run, worker, line, &milliseconds);

      if (metric == BENCH_METRIC_COUNT)
         continue;
      result->milliseconds[worker->side][metric][round] = milliseconds;
      seen |= 1u << metric;
   }
   worker->lost = seen != all;
}

/* --- Statistics ----------------------------------------------------------- */

static int
compare_doubles(const void *a, const void *b)
{
   const double x = *(const double *)a, y = *(const double *)b;

   return (x > y) - (x < y);
}

static double
median(const double *values, unsigned count)
{
   double sorted[MAX_ROUNDS];

   memcpy(sorted, values, count * sizeof(*sorted));
   qsort(sorted, count, sizeof(*sorted), compare_doubles);
   return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static double
median_time(const struct run *run, unsigned number, enum side side, enum bench_metric metric)
{
   return median(run->results[number].milliseconds[side][metric], run->results[number].rounds);
}

/* The median over the rounds of the ratio in one round: its two measurements
 * followed each other, so whatever slowed one slowed both. */
static double
ratio(const struct run *run, unsigned number, enum side side, enum bench_metric metric)
{
   const struct result *result = &run->results[number];
   double ratios[MAX_ROUNDS];
   unsigned count = 0;

   for (unsigned i = 0; i < result->rounds; i++) {
      const double off = result->milliseconds[SIDE_OFF][metric][i];
      const double value = result->milliseconds[side][metric][i] / off;

      if (isfinite(value))
         ratios[count++] = value;
   }
   return count ? median(ratios, count) : NAN;
}

static enum section
section_of(unsigned number)
{
   return bench_workloads[number].by_hand.code ? SECTION_SYNC : SECTION_CHECKS;
}

static bool
is_measured(const struct run *run, enum section section, unsigned number)
{
   return section_of(number) == section && run->results[number].outcome == OUTCOME_MEASURED;
}

static double
geometric_mean(const struct run *run, enum section section, enum side side,
               enum bench_metric metric)
{
   double sum = 0;
   unsigned count = 0;

   for (unsigned i = 0; i < bench_workload_count; i++) {
      const double value = is_measured(run, section, i) ? ratio(run, i, side, metric) : NAN;

      if (isfinite(value) && value > 0) {
         sum += log(value);
         count++;
      }
   }
   return count ? exp(sum / count) : NAN;
}

/* --- Output --------------------------------------------------------------- */

static void
print_ratio(double value)
{
   if (isfinite(value))
      printf(" %7.2f", value);
   else
      printf(" %7s", "-");
}

/* Names of what is measured, and above each side's column what it is */
static void
print_titles(const struct run *run, enum section section)
{
   static const char *const titles[BENCH_BARRIER] = {
      [BENCH_RUN] = "run ms",
      [BENCH_CREATION] = "creation ms",
      [BENCH_FIRST_USE] = "first use ms",
   };
   static const char *const columns[SIDE_COUNT] = {
      [SIDE_ON] = "x",           [SIDE_GPU_AV] = "GPU-AV", [SIDE_BY_HAND] = "by hand",
      [SIDE_SYNC_16] = "sync16", [SIDE_SYNC] = "sync",
   };

   printf("%-14s", "workload");
   for (unsigned metric = 0; metric < BENCH_BARRIER; metric++) {
      printf(" | %12s", titles[metric]);
      for (unsigned side = 1; side < run->side_counts[section]; side++)
         printf(" %7s", columns[run->sides[section][side]]);
   }
   printf("\n");
}

static void
print_table(const struct run *run, enum section section)
{
   const enum side *sides = run->sides[section];

   print_titles(run, section);
   for (unsigned i = 0; i < bench_workload_count; i++) {
      if (!is_measured(run, section, i))
         continue;
      printf("%-14s", bench_workloads[i].name);
      for (unsigned metric = 0; metric < BENCH_BARRIER; metric++) {
         printf(" | %12.3f", median_time(run, i, SIDE_OFF, metric));
         for (unsigned side = 1; side < run->side_counts[section]; side++)
            print_ratio(ratio(run, i, sides[side], metric));
      }
      printf("\n");
   }
   printf("%-14s", "geometric mean");
   for (unsigned metric = 0; metric < BENCH_BARRIER; metric++) {
      printf(" | %12s", "");
      for (unsigned side = 1; side < run->side_counts[section]; side++)
         print_ratio(geometric_mean(run, section, sides[side], metric));
   }
   printf("\n");
}

static void
print_barriers(const struct run *run, enum section section)
{
   for (unsigned i = 0; i < bench_workload_count; i++) {
      if (!is_measured(run, section, i) || !bench_workloads[i].barriers)
         continue;
      printf("\na barrier:");
      for (unsigned side = 0; side < run->side_counts[section]; side++) {
         const enum side number = run->sides[section][side];

         printf("%s %s %.2f us", side ? "," : "", side_names[number],
                1e3 * median_time(run, i, number, BENCH_BARRIER));
      }
      printf("\n");
   }
}

static void
print_section(const struct run *run, enum section section)
{
   const struct options *options = &run->options;
   const char *clock = options->cpu_time ? "CPU time" : "wall-clock time";

   if (section == SECTION_CHECKS) {
      printf("%s; checks: %s; %s; x = time with checks / time without\n\n", run->device,
             options->noise ? "off on both sides" : options->checks, clock);
   } else {
      printf("%s; sync; %s; over the time without: seed 000's scheme by hand in GLSL, the\n"
             "driver's with 16 hashes (sync16), and as recommended (sync)\n\n",
             run->device, clock);
   }
   print_table(run, section);
   print_barriers(run, section);
   printf("\n");
}

static void
write_json_metric(const struct run *run, FILE *file, unsigned number, enum bench_metric metric)
{
   const enum section section = section_of(number);

   fprintf(file, ",\"%s\":{\"off_ms\":%.4f", bench_metric_names[metric],
           median_time(run, number, SIDE_OFF, metric));
   for (unsigned i = 1; i < run->side_counts[section]; i++) {
      const enum side side = run->sides[section][i];
      const double value = ratio(run, number, side, metric);

      if (isfinite(value))
         fprintf(file, ",\"%s_ratio\":%.4f", side_names[side], value);
   }
   fprintf(file, "}");
}

/* One object a line: the run, then each workload. */
static bool
write_json(const struct run *run)
{
   FILE *file = fopen(run->options.json, "w");

   if (!file) {
      fprintf(stderr, "error: %s: %s\n", run->options.json, strerror(errno));
      return false;
   }
   fprintf(file, "{\"device\":\"%s\",\"checks\":\"%s\",\"clock\":\"%s\"", run->device,
           run->options.noise ? "" : run->options.checks, run->options.cpu_time ? "cpu" : "wall");
   for (unsigned metric = 0; metric < BENCH_BARRIER; metric++) {
      const double mean = geometric_mean(run, SECTION_CHECKS, SIDE_ON, metric);

      if (isfinite(mean))
         fprintf(file, ",\"%s_ratio\":%.4f", bench_metric_names[metric], mean);
   }
   fprintf(file, "}\n");
   for (unsigned i = 0; i < bench_workload_count; i++) {
      if (run->results[i].outcome != OUTCOME_MEASURED)
         continue;
      fprintf(file, "{\"workload\":\"%s\",\"rounds\":%u", bench_workloads[i].name,
              run->results[i].rounds);
      for (unsigned metric = 0; metric < BENCH_METRIC_COUNT; metric++) {
         if (metric != BENCH_BARRIER || bench_workloads[i].barriers)
            write_json_metric(run, file, i, metric);
      }
      fprintf(file, "}\n");
   }
   return fclose(file) == 0;
}

static void
print_progress(const char *workload)
{
   if (isatty(STDERR_FILENO))
      fprintf(stderr, "\r\033[K%s", workload);
}

/* --- The run -------------------------------------------------------------- */

/* Whether `name` is one of a comma-separated list. */
static bool
is_listed(const char *list, const char *name)
{
   const size_t length = strlen(name);

   while (*list) {
      const size_t item = strcspn(list, ",");

      if (item == length && !strncmp(list, name, length))
         return true;
      list += item + (list[item] == ',');
   }
   return false;
}

static double
seconds(void)
{
   struct timespec time;

   clock_gettime(CLOCK_MONOTONIC, &time);
   return time.tv_sec + time.tv_nsec / 1e9;
}

/* Rounds of one workload, every other one in reverse order. Stops early when a
 * worker other than GPU-AV's is gone. */
static void
measure_rounds(struct run *run, struct worker *workers, unsigned count, struct result *result)
{
   const double end = seconds() + (run->options.quick ? QUICK_SPARE_SECONDS : SPARE_SECONDS);
   unsigned round = 0;

   while (round < run->options.rounds || (round < MAX_ROUNDS && seconds() < end)) {
      for (unsigned i = 0; i < count; i++) {
         struct worker *worker = &workers[round & 1 ? count - 1 - i : i];

         measure(run, worker, round, result);
         if (worker->lost && worker->side != SIDE_GPU_AV)
            return;
      }
      result->rounds = ++round;
   }
}

static void
measure_workload(struct run *run, unsigned number)
{
   const enum section section = section_of(number);
   const unsigned count = run->side_counts[section];
   struct result *result = &run->results[number];
   struct worker workers[SIDE_COUNT];
   unsigned started = 0;

   result->outcome = OUTCOME_FAILED;
   while (started < count && start_worker(&run->options, &bench_workloads[number],
                                          run->sides[section][started], &workers[started]))
      started++;
   if (started == count) {
      measure_rounds(run, workers, count, result);
      result->outcome = OUTCOME_MEASURED;
   }
   for (unsigned i = 0; i < started; i++) {
      const enum outcome outcome = finish_worker(&workers[i]);

      if (outcome > result->outcome)
         result->outcome = outcome;
   }
   if (result->outcome == OUTCOME_MEASURED && result->rounds < run->options.rounds) {
      fprintf(stderr, "error: %s: a worker ended early\n", bench_workloads[number].name);
      result->outcome = OUTCOME_FAILED;
   }
}

struct tally {
   unsigned measured[SECTION_COUNT], failed;
};

static struct tally
measure_all(struct run *run)
{
   struct tally tally = {0};

   for (unsigned i = 0; i < bench_workload_count; i++) {
      const enum section wanted = run->options.section;

      if ((wanted != SECTION_COUNT && wanted != section_of(i)) ||
          (run->options.only && !is_listed(run->options.only, bench_workloads[i].name))) {
         run->results[i].outcome = OUTCOME_SKIPPED;
         continue;
      }
      print_progress(bench_workloads[i].name);
      measure_workload(run, i);
      print_progress("");
      tally.measured[section_of(i)] += run->results[i].outcome == OUTCOME_MEASURED;
      tally.failed += run->results[i].outcome == OUTCOME_FAILED;
   }
   return tally;
}

/* --- Options -------------------------------------------------------------- */

static void
print_help(void)
{
   printf("usage: gpuval-bench [options]\n"
          "\n"
          "Measures what checks cost: each workload with checks off and on, in turn.\n"
          "The driver is the one in GPUVAL_BENCH_ICD (an ICD's JSON file), else the\n"
          "loader's first.\n"
          "\n"
          "  --checks LIST  value of GPUVAL on the side with checks (%s)\n"
          "  --rounds N     rounds to take medians of, at least (%d; up to %d where\n"
          "                 they are fast)\n"
          "  --quick        %d rounds, hardly more: for a look, not for a verdict\n"
          "  --cpu          measures CPU time instead of wall-clock time: steadier on\n"
          "                 a busy machine, and only meaningful for CPU drivers\n"
          "  --only LIST    workloads to run, separated by commas\n"
          "  --section NAME `checks` or `sync` alone\n"
          "  --bloom-size-log2 N, --bloom-hashes N\n"
          "                 instead of what is recommended\n"
          "  --list         lists the workloads\n"
          "  --json FILE    writes the results to a file, too\n"
          "  --gpu-av       also runs the GPU-assisted validation of " LAYER "\n"
          "  --noise        checks off on both sides: how far from 1 is chance?\n",
          DEFAULT_CHECKS, DEFAULT_ROUNDS, MAX_ROUNDS, QUICK_ROUNDS);
}

static void
print_list(void)
{
   for (unsigned i = 0; i < bench_workload_count; i++)
      printf("%-14s %s\n", bench_workloads[i].name, bench_workloads[i].description);
}

static const struct bench_workload *
find_workload(const char *name)
{
   for (unsigned i = 0; i < bench_workload_count; i++) {
      if (!strcmp(bench_workloads[i].name, name))
         return &bench_workloads[i];
   }
   return NULL;
}

static bool
layer_exists(void)
{
   VkLayerProperties layers[64];
   uint32_t count = VKH_COUNT(layers);

   if (vkEnumerateInstanceLayerProperties(&count, layers) < 0)
      return false;
   for (uint32_t i = 0; i < count; i++) {
      if (!strcmp(layers[i].layerName, LAYER))
         return true;
   }
   return false;
}

/* Every name in `--only` must be one. */
static bool
valid_only(const char *list)
{
   char name[64];

   while (*list) {
      const size_t item = strcspn(list, ",");

      snprintf(name, sizeof(name), "%.*s", (int)item, list);
      if (!find_workload(name)) {
         fprintf(stderr, "error: no workload is called \"%s\"; --list lists them\n", name);
         return false;
      }
      list += item + (list[item] == ',');
   }
   return true;
}

enum option_value {
   OPTION_HELP = 'h',
   OPTION_CHECKS = 256,
   OPTION_ROUNDS,
   OPTION_QUICK,
   OPTION_CPU,
   OPTION_ONLY,
   OPTION_SECTION,
   OPTION_BLOOM_SIZE_LOG2,
   OPTION_BLOOM_HASHES,
   OPTION_LIST,
   OPTION_JSON,
   OPTION_GPU_AV,
   OPTION_NOISE,
   OPTION_WORKER,
   OPTION_TIME_LIMIT,
   OPTION_BY_HAND,
};

static const struct option long_options[] = {
   {"help", no_argument, NULL, OPTION_HELP},
   {"checks", required_argument, NULL, OPTION_CHECKS},
   {"rounds", required_argument, NULL, OPTION_ROUNDS},
   {"quick", no_argument, NULL, OPTION_QUICK},
   {"cpu", no_argument, NULL, OPTION_CPU},
   {"only", required_argument, NULL, OPTION_ONLY},
   {"section", required_argument, NULL, OPTION_SECTION},
   {"bloom-size-log2", required_argument, NULL, OPTION_BLOOM_SIZE_LOG2},
   {"bloom-hashes", required_argument, NULL, OPTION_BLOOM_HASHES},
   {"list", no_argument, NULL, OPTION_LIST},
   {"json", required_argument, NULL, OPTION_JSON},
   {"gpu-av", no_argument, NULL, OPTION_GPU_AV},
   {"noise", no_argument, NULL, OPTION_NOISE},
   /* Between parent and worker */
   {"worker", required_argument, NULL, OPTION_WORKER},
   {"time-limit", required_argument, NULL, OPTION_TIME_LIMIT},
   {"by-hand", no_argument, NULL, OPTION_BY_HAND},
   {0},
};

/* 0 when it is not a number that makes sense. */
static unsigned
parse_rounds(const char *text)
{
   char *end;
   const unsigned long rounds = strtoul(text, &end, 10);

   if (end == text || *end || !rounds || rounds > MAX_ROUNDS) {
      fprintf(stderr, "error: --rounds takes a number from 1 to %d\n", MAX_ROUNDS);
      return 0;
   }
   return rounds;
}

/* SECTION_COUNT when there is none such. */
static enum section
parse_section(const char *text)
{
   if (!strcmp(text, "checks"))
      return SECTION_CHECKS;
   if (!strcmp(text, "sync"))
      return SECTION_SYNC;
   fprintf(stderr, "error: --section takes checks or sync\n");
   return SECTION_COUNT;
}

/* Returns the exit status when the program is done, -1 when it is to measure.
 * `worker`: the workload to measure in this very process. */
static int
parse_options(int argc, char **argv, struct options *options, const char **worker)
{
   int option;

   while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
      switch (option) {
      case OPTION_HELP:
         print_help();
         return 0;
      case OPTION_LIST:
         print_list();
         return 0;
      case OPTION_CHECKS:
         options->checks = optarg;
         break;
      case OPTION_ROUNDS:
         options->rounds = parse_rounds(optarg);
         if (!options->rounds)
            return 2;
         break;
      case OPTION_QUICK:
         options->quick = true;
         break;
      case OPTION_CPU:
         options->cpu_time = true;
         break;
      case OPTION_ONLY:
         options->only = optarg;
         break;
      case OPTION_SECTION:
         options->section = parse_section(optarg);
         if (options->section == SECTION_COUNT)
            return 2;
         break;
      case OPTION_BLOOM_SIZE_LOG2:
         options->bloom_size_log2 = optarg;
         break;
      case OPTION_BLOOM_HASHES:
         options->bloom_hashes = optarg;
         break;
      case OPTION_JSON:
         options->json = optarg;
         break;
      case OPTION_GPU_AV:
         options->gpu_av = true;
         break;
      case OPTION_NOISE:
         options->noise = true;
         break;
      case OPTION_WORKER:
         *worker = optarg;
         break;
      case OPTION_TIME_LIMIT:
         options->time_limit = atoi(optarg);
         break;
      case OPTION_BY_HAND:
         options->by_hand = true;
         break;
      default:
         return 2;
      }
   }
   if (optind < argc) {
      fprintf(stderr, "error: unexpected argument \"%s\"; --help lists the options\n",
              argv[optind]);
      return 2;
   }
   if (!options->rounds)
      options->rounds = options->quick ? QUICK_ROUNDS : DEFAULT_ROUNDS;
   return options->only && !valid_only(options->only) ? 2 : -1;
}

static int
run_as_worker(const char *name, const struct options *options)
{
   const struct bench_workload *workload = find_workload(name);

   if (!workload)
      vkh_die("no workload is called \"%s\"", name);
   bench_worker_run(workload, options->by_hand, options->cpu_time, options->time_limit,
                    WORKER_OUTPUT);
   return 0;
}

static void
add_side(struct run *run, enum section section, enum side side)
{
   run->sides[section][run->side_counts[section]++] = side;
}

static void
choose_sides(struct run *run)
{
   add_side(run, SECTION_CHECKS, SIDE_OFF);
   add_side(run, SECTION_CHECKS, SIDE_ON);
   if (run->options.gpu_av)
      add_side(run, SECTION_CHECKS, SIDE_GPU_AV);

   add_side(run, SECTION_SYNC, SIDE_OFF);
   add_side(run, SECTION_SYNC, SIDE_BY_HAND);
   add_side(run, SECTION_SYNC, SIDE_SYNC_16);
   add_side(run, SECTION_SYNC, SIDE_SYNC);
}

/* Keeps the file descriptors that workers give a meaning from being used for
 * anything else before. */
static void
reserve_descriptors(void)
{
   int fd;

   do
      fd = open("/dev/null", O_RDWR | O_CLOEXEC);
   while (fd >= 0 && fd < WORKER_LOG);
}

int
main(int argc, char **argv)
{
   /* Too large for a stack. */
   static struct run run;
   const char *worker = NULL;
   int status;

   run.options.checks = DEFAULT_CHECKS;
   run.options.section = SECTION_COUNT;
   run.options.bloom_size_log2 = RECOMMENDED_SIZE_LOG2;
   run.options.bloom_hashes = RECOMMENDED_HASHES;
   status = parse_options(argc, argv, &run.options, &worker);
   if (status >= 0)
      return status;
   if (worker)
      return run_as_worker(worker, &run.options);

   if (run.options.gpu_av && !layer_exists()) {
      printf("%s is not installed: no comparison with GPU-AV\n", LAYER);
      run.options.gpu_av = false;
   }
   choose_sides(&run);
   fflush(stdout);
   signal(SIGPIPE, SIG_IGN); /* a worker may die while it is written to */
   reserve_descriptors();

   const struct tally tally = measure_all(&run);
   unsigned measured = 0;
   for (enum section section = 0; section < SECTION_COUNT; section++) {
      measured += tally.measured[section];
      if (tally.measured[section])
         print_section(&run, section);
   }
   if (!measured)
      return 1;
   if (run.options.json && !write_json(&run))
      return 1;
   return tally.failed ? 1 : 0;
}
