/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bench_run.h"
#include "vk_headless.h"

/* For one round of a worker. GPU-AV needs several minutes to instrument and
 * compile the larger shaders: it goes without those. */
#define TIME_LIMIT        "300"
#define TIME_LIMIT_GPU_AV "90"

/* A file in memory that goes away with the last of the processes. */
#define WORKER_LOG      4
#define WORKER_LOG_PATH "/proc/self/fd/4"

void
bench_reserve_descriptors(void)
{
   int fd;

   do
      fd = open("/dev/null", O_RDWR | O_CLOEXEC);
   while (fd >= 0 && fd < WORKER_LOG);
}

/* --- The worker's environment --------------------------------------------- */

static void
set_optional(const char *name, const char *value)
{
   if (value)
      setenv(name, value, 1);
}

/* What the caller's shell has set must not hold for one side or both. */
static void
clean_environment(void)
{
   static const char *const names[] = {
      "GPUVAL",          "GPUVAL_BLOOM_HASHES", "GPUVAL_BLOOM_SIZE_LOG2",
      "GPUVAL_DUMP",     "GPUVAL_LOG",          "GPUVAL_MARK",
      "GPUVAL_ON_ERROR", "GPUVAL_POISON",       "GPUVAL_RECORD",
      "GPUVAL_REPORT",   "GPUVAL_ROBUST",       "GPUVAL_SAFE",
      "GPUVAL_SHADERS",  "GPUVAL_SHADOW_SIZE",  "GPUVAL_SYNC",
      "LP_NUM_THREADS",
   };

   for (unsigned i = 0; i < VKH_COUNT(names); i++)
      unsetenv(names[i]);
}

static void
set_environment(const struct bench_side *side)
{
   const char *icd = getenv("GPUVAL_BENCH_ICD");

   clean_environment();
   if (icd && *icd)
      setenv("VK_DRIVER_FILES", icd, 1);
   setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
   if (side->threads == BENCH_ONE_THREAD)
      setenv("LP_NUM_THREADS", "0", 1);
   if (side->checks) {
      setenv("GPUVAL", side->checks, 1);
      setenv("GPUVAL_LOG", WORKER_LOG_PATH, 1);
      set_optional("GPUVAL_SYNC", side->engine);
      set_optional("GPUVAL_BLOOM_SIZE_LOG2", side->bloom_size_log2);
      set_optional("GPUVAL_BLOOM_HASHES", side->bloom_hashes);
   }
   if (side->gpu_av) {
      setenv("VK_INSTANCE_LAYERS", BENCH_LAYER, 1);
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

/* --- Its life ------------------------------------------------------------- */

/* In the child process: becomes the worker. */
static void
exec_worker(const struct bench_process *process, int commands, int results)
{
   char *arguments[] = {
      "gpuval-bench",
      "--worker",
      (char *)process->workload->name,
      "--time-limit",
      process->side->gpu_av ? TIME_LIMIT_GPU_AV : TIME_LIMIT,
      process->side->by_hand ? "--by-hand" : NULL,
      NULL,
   };

   /* bench_reserve_descriptors() saw to it that none of these overwrites another. */
   dup2(commands, STDIN_FILENO);
   dup2(results, BENCH_WORKER_OUTPUT);
   dup2(process->log, WORKER_LOG);
   set_environment(process->side);
   if (process->side->gpu_av) {
      /* The layer introduces itself on stdout. */
      dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
   }
   execv("/proc/self/exe", arguments);
   fprintf(stderr, "error: cannot start a worker: %s\n", strerror(errno));
   _exit(VKH_EXIT_ERROR);
}

bool
bench_start(const struct bench_workload *workload, const struct bench_side *side,
            struct bench_process *process)
{
   int commands[2], results[2];

   *process = (struct bench_process){.workload = workload, .side = side};
   if (pipe2(commands, O_CLOEXEC) || pipe2(results, O_CLOEXEC) ||
       (process->log = memfd_create("gpuval log", MFD_CLOEXEC)) < 0 || (process->id = fork()) < 0) {
      fprintf(stderr, "error: cannot start a worker: %s\n", strerror(errno));
      return false;
   }
   if (process->id == 0)
      exec_worker(process, commands[0], results[1]);
   close(commands[0]);
   close(results[1]);
   process->commands = commands[1];
   process->results = fdopen(results[0], "r");
   return true;
}

/* Takes one line of a worker in. Returns the metric it brought, or
 * BENCH_METRIC_COUNT. */
static enum bench_metric
parse_line(const struct bench_process *process, char *line, double *value, char device[256])
{
   char name[64], metric[64];

   line[strcspn(line, "\n")] = 0;
   if (!strncmp(line, "device ", 7)) {
      snprintf(device, 256, "%.255s", line + 7);
      return BENCH_METRIC_COUNT;
   }
   if (sscanf(line, "%63s %63s %lf", name, metric, value) != 3 ||
       strcmp(name, process->workload->name))
      return BENCH_METRIC_COUNT;
   for (enum bench_metric i = 0; i < BENCH_METRIC_COUNT; i++) {
      if (!strcmp(metric, bench_metrics[i].name))
         return i;
   }
   return BENCH_METRIC_COUNT;
}

void
bench_measure(struct bench_process *process, double values[BENCH_METRIC_COUNT], char device[256])
{
   unsigned missing = 0;
   char line[512];
   double value;

   for (enum bench_metric i = 0; i < BENCH_METRIC_COUNT; i++) {
      values[i] = NAN;
      if (i != BENCH_BARRIER || process->workload->barriers)
         missing |= 1u << i;
   }
   if (!process->lost && write(process->commands, "r", 1) == 1) {
      while (missing && fgets(line, sizeof(line), process->results)) {
         const enum bench_metric metric = parse_line(process, line, &value, device);

         if (metric == BENCH_METRIC_COUNT)
            continue;
         values[metric] = value;
         missing &= ~(1u << metric);
      }
   }
   process->lost = missing != 0;
}

/* The workloads are free of errors, and a driver that checks says so at exit.
 * One that does not check at all would have the finest ratios. */
static bool
verify_log(const struct bench_process *process)
{
   FILE *file = fdopen(dup(process->log), "r");
   char line[1024], first[1024] = "";
   bool verified = false;

   while (fgets(line, sizeof(line), file)) {
      if (!first[0])
         snprintf(first, sizeof(first), "%s", line);
      if (!strncmp(line, "gpuval: no errors:", 18))
         verified = true;
   }
   fclose(file);
   if (!verified) {
      fprintf(stderr,
              "error: %s, %s: the log of the checks lacks its line \"gpuval: no errors\"; "
              "it begins with: %s",
              process->workload->name, process->side->name,
              first[0] ? first : "(nothing: are the checks active?)\n");
   }
   return verified;
}

enum bench_outcome
bench_finish(struct bench_process *process)
{
   enum bench_outcome outcome = BENCH_MEASURED;
   int status;

   close(process->commands);
   fclose(process->results);
   waitpid(process->id, &status, 0);

   if (process->side->gpu_av) {
      outcome = BENCH_MEASURED;
   } else if (WIFEXITED(status) && WEXITSTATUS(status) == VKH_EXIT_SKIP) {
      outcome = BENCH_SKIPPED;
   } else if (!WIFEXITED(status) || WEXITSTATUS(status)) {
      fprintf(stderr, "error: %s, %s: the worker failed (%s %d)\n", process->workload->name,
              process->side->name, WIFSIGNALED(status) ? "signal" : "exit status",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
      outcome = BENCH_FAILED;
   } else if (process->side->checks && !verify_log(process)) {
      outcome = BENCH_FAILED;
   }
   close(process->log);
   return outcome;
}
