/*
 * SPDX-License-Identifier: MIT
 */

/*
 * gpuval-bench: what checks cost, as ratios measured in one interleaved run.
 *
 * For each workload the program runs itself as several worker processes, one with
 * checks off, others with checks on, and lets them measure in turn, so that a
 * machine that gets slower or busier meets all of them alike:
 *
 *    round 0: off, on
 *    round 1: on, off
 *    round 2: off, on ...
 *
 * A worker sees the driver through the loader as any program does; all that
 * differs is its environment. The parent's files are in bench_run.h; a worker's:
 *
 *    bench_worker.c     the measurements of one process
 *    bench_scene.c      buffers, pipelines and commands of a workload
 *    bench_workloads.c  the table of workloads
 *
 * Between parent and worker: the parent writes a byte to the worker's stdin
 * for each round it wants, end of file for an orderly end; the worker answers
 * with a line `NAME METRIC NUMBER` for each metric, and begins with a line
 * `device NAME`. All times are wall-clock time.
 *
 * Workloads of the sync check are measured once more with a check that their
 * shader does by itself, against which the driver's has to hold its own.
 */

#ifndef GPUVAL_BENCH_H
#define GPUVAL_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

#define BENCH_MAX_BINDINGS  3 /* of the workload; then those of the check by hand: */
#define BENCH_HAND_BINDINGS 2
#define BENCH_HAND_FILTER   (1u << 26) /* bytes */
#define BENCH_TARGET_SIZE   512
#define BENCH_TARGET_FORMAT VK_FORMAT_R8G8B8A8_UNORM

/* Push constants of each workload: the number of the dispatch. */
#define BENCH_PUSH_SIZE sizeof(uint32_t)

/* Bytes; workloads count in words as their shaders do. */
#define BENCH_WORD 4

enum bench_metric {
   BENCH_RUN,       /* one submit of the workload and the wait for it, steady state */
   BENCH_CREATION,  /* vkCreateShaderModule and vkCreate*Pipelines, all pipelines */
   BENCH_FIRST_USE, /* the first submit after creation, less `run`: drivers that
                       compile at the first draw or dispatch do it here */
   BENCH_FAULTS,    /* minor page faults of the process a submit, steady state */
   BENCH_BARRIER,   /* what one adds to a dispatch; with bench_workload::barriers */
   BENCH_METRIC_COUNT,
};

/* Times are nanoseconds. */
struct bench_metric_info {
   const char *name; /* as workers print it */
   const char *title;
   double unit;
   bool absolute; /* numbers of all sides, not ratios */
};

extern const struct bench_metric_info bench_metrics[BENCH_METRIC_COUNT];

/* The checks that users ask for in general, those of what goes wrong inside of a shader, and
 * those that look at order: tables of their own. */
enum bench_section {
   BENCH_SECTION_CHECKS,
   BENCH_SECTION_SHADER,
   BENCH_SECTION_SYNC,
   BENCH_SECTION_COUNT,
};

enum bench_fill {
   BENCH_ZERO,
   BENCH_FLOATS,  /* random, 0 to 1 */
   BENCH_NUMBERS, /* random words, below `limit` if that is not 0 */
   BENCH_NODES,   /* of four words; the first two are the address of the next one,
                     so that all together are a ring in no order */
};

/* `size`: words of a buffer, or the side of a square RGBA8 image. `count` descriptors (0 means
 * 1) are of the same resource. */
struct bench_binding {
   VkDescriptorType type;
   uint32_t size;
   uint32_t count;
   enum bench_fill fill;
   uint32_t limit;
};

struct bench_shader {
   const uint32_t *code;
   size_t size; /* bytes */
};

struct bench_workload {
   const char *name;
   const char *description;
   enum bench_section section;

   /* `compute` with shaders/by_hand.glsl, or nothing */
   struct bench_shader by_hand;

   /* Either `compute`, or `fragment` and one of `vertex` and `mesh`. */
   struct bench_shader compute;
   struct bench_shader vertex;
   struct bench_shader mesh;
   struct bench_shader fragment;

   /* Numbered from 0; the first one of type 0 with size 0 ends the list. */
   struct bench_binding bindings[BENCH_MAX_BINDINGS];

   /* Pipelines of the same shaders, told apart by specialization constant 0;
    * 0 means 1. Each is bound once a submit. */
   uint32_t pipelines;

   /* Compute: dispatches for each pipeline (0 means 1) of that many groups. */
   uint32_t dispatches;
   uint32_t groups[2];
   bool barriers; /* also with a barrier behind each dispatch */

   /* Graphics: one draw of that many vertices, or workgroups of `mesh`. */
   uint32_t vertices;
};

extern const struct bench_workload bench_workloads[];
extern const unsigned bench_workload_count;

/* What a worker process does, until stdin ends; results go to the file
 * descriptor. Exits with VKH_EXIT_SKIP or VKH_EXIT_ERROR where Vulkan does not
 * work. `by_hand`: with bench_workload::by_hand. `time_limit`: seconds after which
 * a round ends the process; 0 for none. */
void bench_worker_run(const struct bench_workload *workload, bool by_hand, unsigned time_limit,
                      int output);

#endif /* GPUVAL_BENCH_H */
