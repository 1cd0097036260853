/*
 * Copyright © 2025 gpuval contributors
 * SPDX-License-Identifier: MIT
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "vk_headless.h"

#define DEFAULT_CHECKS "bounds,assume"
#define DEFAULT_ROUNDS 5
#define QUICK_ROUNDS   2
#define MAX_ROUNDS     100
#define MAX_WORKLOADS  32

/* The file descriptor that a worker writes its results to; layers use stdout. */
#define WORKER_OUTPUT 3

#define LAYER "VK_LAYER_KHRONOS_validation"

enum side {
   SIDE_OFF,
   SIDE_ON,
   SIDE_GPU_AV,
   SIDE_COUNT,
};

static const char *const side_names[SIDE_COUNT] = {
   [SIDE_OFF] = "off",
   [SIDE_ON] = "on",
   [SIDE_GPU_AV] = "gpu-av",
};

struct options {
   const char *checks;
   const char *only; /* comma-separated names, or NULL */
   const char *json; /* file, or NULL */
   unsigned rounds;
   bool quick;
   bool noise;
   bool gpu_av;
};

enum outcome {
   OUTCOME_MEASURED,
   OUTCOME_SKIPPED,
   OUTCOME_FAILED,
};

struct result {
   enum outcome outcome;
   double milliseconds[SIDE_COUNT][BENCH_METRIC_COUNT][MAX_ROUNDS];
};

struct run {
   struct options options;
   char device[256];
   struct result results[MAX_WORKLOADS];
};

/* --- Worker processes ----------------------------------------------------- */

/* The log of a worker with checks on. */
struct log_file {
   char path[256];
};

static bool
log_create(struct log_file *log)
{
   const char *folder = getenv("TMPDIR");
   int fd;

   snprintf(log->path, sizeof(log->path), "%s/gpuval-bench-XXXXXX",
            folder && *folder ? folder : "/tmp");
   fd = mkstemp(log->path);
   if (fd < 0) {
      fprintf(stderr, "error: %s: %s\n", log->path, strerror(errno));
      return false;
   }
   close(fd);
   return true;
}

/* The workloads are free of errors, and a driver that checks says so at exit.
 * One that does not check at all would have the finest ratios. */
static bool
log_verify(const struct log_file *log, const char *workload)
{
   FILE *file = fopen(log->path, "r");
   char line[1024], first[1024] = "";
   bool verified = false;

   while (file && fgets(line, sizeof(line), file)) {
      if (!first[0])
         snprintf(first, sizeof(first), "%s", line);
      if (!strcmp(line, "gpuval: no errors\n"))
         verified = true;
   }
   if (file)
      fclose(file);
   if (!verified) {
      fprintf(stderr,
              "error: %s: the log of the checks does not end in \"gpuval: no errors\", "
              "but begins with: %s",
              workload, first[0] ? first : "(nothing: are the checks active?)\n");
   }
   return verified;
}

static void
set_environment(const struct options *options, enum side side, const char *log)
{
   const char *icd = getenv("GPUVAL_BENCH_ICD");

   if (icd && *icd)
      setenv("VK_DRIVER_FILES", icd, 1);
   setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
   unsetenv("GPUVAL");
   unsetenv("GPUVAL_REPORT");
   unsetenv("GPUVAL_DUMP");

   if (side == SIDE_ON && !options->noise) {
      setenv("GPUVAL", options->checks, 1);
      setenv("GPUVAL_LOG", log, 1);
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
exec_worker(const struct options *options, const struct bench_workload *workload,
            enum side side, const char *log, int output)
{
   char *arguments[] = {
      "gpuval-bench",
      "--worker",
      (char *)workload->name,
      options->quick ? "--quick" : NULL,
      NULL,
   };

   if (output == WORKER_OUTPUT)
      fcntl(output, F_SETFD, 0);
   else
      dup2(output, WORKER_OUTPUT);
   set_environment(options, side, log);
   if (side == SIDE_GPU_AV) {
      /* The layer introduces itself on stdout. */
      int null = open("/dev/null", O_WRONLY);
      dup2(null, STDOUT_FILENO);
   }
   execv("/proc/self/exe", arguments);
   fprintf(stderr, "error: cannot start a worker: %s\n", strerror(errno));
   _exit(VKH_EXIT_ERROR);
}

/* Reads the lines of a worker. Returns whether every metric was there. */
static bool
read_worker(struct run *run, const char *workload, int input,
            double milliseconds[BENCH_METRIC_COUNT])
{
   FILE *file = fdopen(input, "r");
   char line[512], name[64], metric[64];
   unsigned long long nanoseconds;
   unsigned seen = 0;

   while (fgets(line, sizeof(line), file)) {
      line[strcspn(line, "\n")] = 0;
      if (!strncmp(line, "device ", 7)) {
         snprintf(run->device, sizeof(run->device), "%.255s", line + 7);
         continue;
      }
      if (sscanf(line, "%63s %63s %llu", name, metric, &nanoseconds) != 3 ||
          strcmp(name, workload))
         continue;
      for (unsigned i = 0; i < BENCH_METRIC_COUNT; i++) {
         if (!strcmp(metric, bench_metric_names[i])) {
            milliseconds[i] = nanoseconds / 1e6;
            seen |= 1u << i;
         }
      }
   }
   fclose(file);
   return seen == (1u << BENCH_METRIC_COUNT) - 1;
}

static enum outcome
run_worker(struct run *run, const struct bench_workload *workload, enum side side,
           const char *log, double milliseconds[BENCH_METRIC_COUNT])
{
   int ends[2], status;
   bool complete;
   pid_t child;

   if (pipe2(ends, O_CLOEXEC) || (child = fork()) < 0) {
      fprintf(stderr, "error: cannot start a worker: %s\n", strerror(errno));
      return OUTCOME_FAILED;
   }
   if (child == 0)
      exec_worker(&run->options, workload, side, log, ends[1]);
   close(ends[1]);
   complete = read_worker(run, workload->name, ends[0], milliseconds);
   waitpid(child, &status, 0);

   if (WIFEXITED(status) && WEXITSTATUS(status) == VKH_EXIT_SKIP)
      return OUTCOME_SKIPPED;
   if (!WIFEXITED(status) || WEXITSTATUS(status) || !complete) {
      fprintf(stderr, "error: %s, checks %s: the worker failed (%s %d)\n", workload->name,
              side_names[side], WIFSIGNALED(status) ? "signal" : "exit status",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
      return OUTCOME_FAILED;
   }
   return OUTCOME_MEASURED;
}

static enum outcome
measure_side(struct run *run, unsigned number, enum side side, unsigned round)
{
   const struct bench_workload *workload = &bench_workloads[number];
   const bool checked = side == SIDE_ON && !run->options.noise;
   double milliseconds[BENCH_METRIC_COUNT];
   struct log_file log;
   enum outcome outcome;

   if (!log_create(&log))
      return OUTCOME_FAILED;
   outcome = run_worker(run, workload, side, log.path, milliseconds);
   if (outcome == OUTCOME_MEASURED && checked && !log_verify(&log, workload->name))
      outcome = OUTCOME_FAILED;
   unlink(log.path);

   for (unsigned i = 0; outcome == OUTCOME_MEASURED && i < BENCH_METRIC_COUNT; i++)
      run->results[number].milliseconds[side][i][round] = milliseconds[i];
   return outcome;
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
median_time(const struct run *run, unsigned number, enum side side,
            enum bench_metric metric)
{
   return median(run->results[number].milliseconds[side][metric], run->options.rounds);
}

/* The median over the rounds of what the two workers of one round took: they
 * ran one after the other, so whatever slowed one slowed both. */
static double
ratio(const struct run *run, unsigned number, enum side side, enum bench_metric metric)
{
   const struct result *result = &run->results[number];
   double ratios[MAX_ROUNDS];

   for (unsigned i = 0; i < run->options.rounds; i++) {
      const double off = result->milliseconds[SIDE_OFF][metric][i];

      ratios[i] = off > 0 ? result->milliseconds[side][metric][i] / off : NAN;
   }
   return median(ratios, run->options.rounds);
}

static double
geometric_mean(const struct run *run, enum side side, enum bench_metric metric)
{
   double sum = 0;
   unsigned count = 0;

   for (unsigned i = 0; i < bench_workload_count; i++) {
      const double value =
         run->results[i].outcome == OUTCOME_MEASURED ? ratio(run, i, side, metric) : NAN;

      if (isfinite(value) && value > 0) {
         sum += log(value);
         count++;
      }
   }
   return count ? exp(sum / count) : NAN;
}

/* --- Output --------------------------------------------------------------- */

static void
print_ratios(const struct run *run, unsigned number, enum bench_metric metric,
             bool only_means)
{
   for (enum side side = SIDE_ON; side < SIDE_COUNT; side++) {
      if (side == SIDE_GPU_AV && !run->options.gpu_av)
         continue;
      printf(" %7.2f", only_means ? geometric_mean(run, side, metric)
                                  : ratio(run, number, side, metric));
   }
}

static void
print_table(const struct run *run)
{
   static const char *const titles[BENCH_METRIC_COUNT] = {
      [BENCH_RUN] = "run ms",
      [BENCH_CREATION] = "creation ms",
      [BENCH_FIRST_USE] = "first use ms",
   };
   const char *gpu_av = run->options.gpu_av ? "  GPU-AV" : "";

   printf("%-14s", "workload");
   for (unsigned metric = 0; metric < BENCH_METRIC_COUNT; metric++)
      printf(" | %12s       x%s", titles[metric], gpu_av);
   printf("\n");
   for (unsigned i = 0; i < bench_workload_count; i++) {
      if (run->results[i].outcome != OUTCOME_MEASURED)
         continue;
      printf("%-14s", bench_workloads[i].name);
      for (unsigned metric = 0; metric < BENCH_METRIC_COUNT; metric++) {
         printf(" | %12.3f", median_time(run, i, SIDE_OFF, metric));
         print_ratios(run, i, metric, false);
      }
      printf("\n");
   }
   printf("%-14s", "geometric mean");
   for (unsigned metric = 0; metric < BENCH_METRIC_COUNT; metric++) {
      printf(" | %12s", "");
      print_ratios(run, 0, metric, true);
   }
   printf("\n");
}

static void
write_json_metric(const struct run *run, FILE *file, unsigned number,
                  enum bench_metric metric)
{
   fprintf(file, ",\"%s\":{\"off_ms\":%.4f", bench_metric_names[metric],
           median_time(run, number, SIDE_OFF, metric));
   for (enum side side = SIDE_ON; side < SIDE_COUNT; side++) {
      const double value = ratio(run, number, side, metric);

      if ((side == SIDE_ON || run->options.gpu_av) && isfinite(value))
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
   fprintf(file, "{\"device\":\"%s\",\"checks\":\"%s\",\"rounds\":%u", run->device,
           run->options.noise ? "" : run->options.checks, run->options.rounds);
   for (unsigned metric = 0; metric < BENCH_METRIC_COUNT; metric++) {
      const double mean = geometric_mean(run, SIDE_ON, metric);

      if (isfinite(mean))
         fprintf(file, ",\"%s_ratio\":%.4f", bench_metric_names[metric], mean);
   }
   fprintf(file, "}\n");
   for (unsigned i = 0; i < bench_workload_count; i++) {
      if (run->results[i].outcome != OUTCOME_MEASURED)
         continue;
      fprintf(file, "{\"workload\":\"%s\"", bench_workloads[i].name);
      for (unsigned metric = 0; metric < BENCH_METRIC_COUNT; metric++)
         write_json_metric(run, file, i, metric);
      fprintf(file, "}\n");
   }
   return fclose(file) == 0;
}

static void
print_progress(const struct run *run, unsigned round, const char *workload)
{
   if (isatty(STDERR_FILENO)) {
      fprintf(stderr, "\r\033[Kround %u of %u: %s", round + 1, run->options.rounds,
              workload);
   }
}

static void
clear_progress(void)
{
   if (isatty(STDERR_FILENO))
      fprintf(stderr, "\r\033[K");
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

/* All sides of one workload; every other round in reverse order. */
static void
measure_workload(struct run *run, unsigned number, unsigned round)
{
   const unsigned sides = run->options.gpu_av ? SIDE_COUNT : SIDE_ON + 1;
   struct result *result = &run->results[number];

   for (unsigned i = 0; i < sides && result->outcome == OUTCOME_MEASURED; i++) {
      const enum side side = round & 1 ? sides - 1 - i : i;

      result->outcome = measure_side(run, number, side, round);
   }
}

static bool
measure_all(struct run *run)
{
   unsigned measured = 0, failed = 0;

   for (unsigned i = 0; i < bench_workload_count; i++) {
      if (run->options.only && !is_listed(run->options.only, bench_workloads[i].name))
         run->results[i].outcome = OUTCOME_SKIPPED;
   }
   for (unsigned round = 0; round < run->options.rounds; round++) {
      for (unsigned i = 0; i < bench_workload_count; i++) {
         if (run->results[i].outcome != OUTCOME_MEASURED)
            continue;
         print_progress(run, round, bench_workloads[i].name);
         measure_workload(run, i, round);
      }
   }
   clear_progress();

   for (unsigned i = 0; i < bench_workload_count; i++) {
      measured += run->results[i].outcome == OUTCOME_MEASURED;
      failed += run->results[i].outcome == OUTCOME_FAILED;
   }
   return measured && !failed;
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
          "  --rounds N     rounds to take medians of (%d)\n"
          "  --quick        %d rounds, one pipeline creation each: seconds, not minutes\n"
          "  --only LIST    workloads to run, separated by commas\n"
          "  --list         lists the workloads\n"
          "  --json FILE    writes the results to a file, too\n"
          "  --gpu-av       also runs the GPU-assisted validation of " LAYER "\n"
          "  --noise        checks off on both sides: how far from 1 is chance?\n",
          DEFAULT_CHECKS, DEFAULT_ROUNDS, QUICK_ROUNDS);
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
   OPTION_ONLY,
   OPTION_LIST,
   OPTION_JSON,
   OPTION_GPU_AV,
   OPTION_NOISE,
   OPTION_WORKER,
};

static const struct option long_options[] = {
   {"help", no_argument, NULL, OPTION_HELP},
   {"checks", required_argument, NULL, OPTION_CHECKS},
   {"rounds", required_argument, NULL, OPTION_ROUNDS},
   {"quick", no_argument, NULL, OPTION_QUICK},
   {"only", required_argument, NULL, OPTION_ONLY},
   {"list", no_argument, NULL, OPTION_LIST},
   {"json", required_argument, NULL, OPTION_JSON},
   {"gpu-av", no_argument, NULL, OPTION_GPU_AV},
   {"noise", no_argument, NULL, OPTION_NOISE},
   {"worker", required_argument, NULL, OPTION_WORKER},
   {0},
};

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
         options->rounds = atoi(optarg);
         break;
      case OPTION_QUICK:
         options->quick = true;
         break;
      case OPTION_ONLY:
         options->only = optarg;
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
   if (options->rounds > MAX_ROUNDS) {
      fprintf(stderr, "error: --rounds takes a number from 1 to %d\n", MAX_ROUNDS);
      return 2;
   }
   return options->only && !valid_only(options->only) ? 2 : -1;
}

static int
run_as_worker(const char *name, bool quick)
{
   const struct bench_workload *workload = find_workload(name);

   if (!workload)
      vkh_die("no workload is called \"%s\"", name);
   /* By hand, the results go to the terminal. */
   bench_worker_run(workload, quick,
                    fcntl(WORKER_OUTPUT, F_GETFD) < 0 ? STDOUT_FILENO : WORKER_OUTPUT);
   return 0;
}

int
main(int argc, char **argv)
{
   /* Too large for a stack. */
   static struct run run;
   const char *worker = NULL;
   int status;

   run.options.checks = DEFAULT_CHECKS;
   status = parse_options(argc, argv, &run.options, &worker);
   if (status >= 0)
      return status;
   if (worker)
      return run_as_worker(worker, run.options.quick);

   if (run.options.gpu_av && !layer_exists()) {
      printf("%s is not installed: no comparison with GPU-AV\n", LAYER);
      run.options.gpu_av = false;
   }
   fflush(stdout);

   const bool complete = measure_all(&run);
   printf("%s; checks: %s; %u rounds; x = time with checks / time without\n\n",
          run.device, run.options.noise ? "off on both sides" : run.options.checks,
          run.options.rounds);
   print_table(&run);
   if (run.options.json && !write_json(&run))
      return 1;
   return complete ? 0 : 1;
}
