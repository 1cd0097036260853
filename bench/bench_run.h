/* SPDX-License-Identifier: MIT */

/*
 * What the parent process of gpuval-bench knows: what to measure on which sides,
 * and what came out.
 *
 *    bench_main.c     which workloads on which sides, in which order
 *    bench_options.c  the command line
 *    bench_process.c  one worker process: its environment, start, rounds, end
 *    bench_table.c    medians, ratios, tables, JSON
 */

#ifndef GPUVAL_BENCH_RUN_H
#define GPUVAL_BENCH_RUN_H

#include <stdio.h>
#include <sys/types.h>

#include "bench.h"

#define BENCH_MAX_ROUNDS    40
#define BENCH_FEW_ROUNDS    2 /* where they take minutes */
#define BENCH_MAX_SIDES     24
#define BENCH_MAX_WORKLOADS 40

#define BENCH_LAYER "VK_LAYER_KHRONOS_validation"

/* On how many threads llvmpipe runs shaders: on that of the queue alone, where
 * ratios do not depend on other threads' luck; as many as there are processors,
 * as users have it. */
enum bench_threads {
   BENCH_ONE_THREAD,
   BENCH_ALL_THREADS,
   BENCH_THREADS_COUNT, /* also: both of them */
};

extern const char *const bench_section_names[BENCH_SECTION_COUNT];
extern const char *const bench_default_checks[BENCH_SECTION_COUNT];
extern const char *const bench_threads_names[BENCH_THREADS_COUNT];

struct bench_options {
   const char *checks;         /* or NULL: those of the section */
   const char *only;           /* comma-separated names, or NULL */
   enum bench_section section; /* or BENCH_SECTION_COUNT: all */
   enum bench_threads threads;
   const char *json; /* file, or NULL */
   const char *bloom_size_log2, *bloom_hashes;
   unsigned rounds;
   bool quick;
   bool noise;
   bool gpu_av, no_gpu_av;

   /* Of a worker */
   const char *worker;  /* the workload to measure in this very process, or NULL */
   unsigned time_limit; /* seconds a round */
   bool by_hand;
};

/* The environment of one of a workload's processes, and its columns. The first
 * side of each number of threads has no checks; the others are compared with it. */
struct bench_side {
   const char *name; /* as in tables and JSON; no two have the same name and threads */
   enum bench_threads threads;
   const char *checks;                                  /* GPUVAL, or NULL */
   const char *engine, *bloom_size_log2, *bloom_hashes; /* or NULL: the default */
   bool by_hand;                                        /* the shader checks, not the driver */
   bool gpu_av;
};

enum bench_outcome {
   BENCH_MEASURED,
   BENCH_SKIPPED,
   BENCH_FAILED,
};

struct bench_result {
   enum bench_outcome outcome;
   unsigned rounds;
   double values[BENCH_MAX_SIDES][BENCH_METRIC_COUNT][BENCH_MAX_ROUNDS]; /* NAN: none */
};

struct bench_run {
   struct bench_options options;
   unsigned side_counts[BENCH_SECTION_COUNT];
   struct bench_side sides[BENCH_SECTION_COUNT][BENCH_MAX_SIDES];
   char device[256];
   struct bench_result results[BENCH_MAX_WORKLOADS]; /* by bench_workloads[] */
};

/* A process that measures one workload on one side. */
struct bench_process {
   const struct bench_workload *workload;
   const struct bench_side *side;
   int log;   /* of the checks, in memory */
   bool lost; /* died or ran into its time limit */
   pid_t id;
   int commands;
   FILE *results;
};

/* File descriptor that a worker writes its results to: layers use stdout. */
#define BENCH_WORKER_OUTPUT 3

/* Returns the exit status when the program is done, -1 when it is to measure. */
int bench_parse_options(int argc, char **argv, struct bench_options *options);

/* NULL when there is none such. */
const struct bench_workload *bench_find_workload(const char *name);

/* Whether `name` is one of a comma-separated list. */
bool bench_is_listed(const char *list, const char *name);

/* Keeps the file descriptors that workers give a meaning from being used for
 * anything else before. */
void bench_reserve_descriptors(void);

/* False, and a message: it cannot be started. */
bool bench_start(const struct bench_workload *workload, const struct bench_side *side,
                 struct bench_process *process);

/* One round: values by metric, NAN where there is none. Sets `lost` when the process
 * is gone. `device` gets the name of the driver's device. */
void bench_measure(struct bench_process *process, double values[BENCH_METRIC_COUNT],
                   char device[256]);

/* Ends the process; what became of it. GPU-AV may fail. */
enum bench_outcome bench_finish(struct bench_process *process);

void bench_print_section(const struct bench_run *run, enum bench_section section);

/* False, and a message: the file cannot be written. */
bool bench_write_json(const struct bench_run *run);

#endif
