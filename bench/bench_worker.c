/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/resource.h>

#include "bench_scene.h"

/* `run` is the fastest of that many submits, or of what this time allows; fewer where
 * one takes seconds. */
#define MIN_SUBMITS      3
#define MAX_SUBMITS      20
#define RUN_NANOSECONDS  100000000ull
#define LONG_NANOSECONDS 2000000000ull

/* As many as show what one costs; by hand clearing the filter takes a long time. */
#define BARRIERS      1000
#define HAND_BARRIERS 20

const struct bench_metric_info bench_metrics[BENCH_METRIC_COUNT] = {
   [BENCH_RUN] = {"run", "Run, ms", 1e6},
   [BENCH_CREATION] = {"creation", "Creation of modules and pipelines, ms", 1e6},
   [BENCH_FIRST_USE] = {"first-use", "First use, ms", 1e6},
   [BENCH_FAULTS] = {"faults", "Minor page faults a submit", 1, true},
   [BENCH_BARRIER] = {"barrier", "A barrier, us", 1e3, true},
};

static uint64_t
now(void)
{
   struct timespec time;

   clock_gettime(CLOCK_MONOTONIC, &time);
   return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static long
minor_faults(void)
{
   struct rusage usage;

   getrusage(RUSAGE_SELF, &usage);
   return usage.ru_minflt;
}

/* What one submit, or several, took. */
struct cost {
   uint64_t nanoseconds;
   double faults;
};

static struct cost
submit(struct vkh_context *ctx, const struct bench_scene *scene)
{
   const VkSubmitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
      .commandBufferCount = 1,
      .pCommandBuffers = &scene->cmd,
   };

   /* What the barrier at its begin stands for */
   if (scene->by_hand)
      memset(scene->hand_filter.map, 0, BENCH_HAND_FILTER);
   const long faults = minor_faults();
   const uint64_t start = now();

   VKH_CHECK(vkQueueSubmit(ctx->queue, 1, &info, scene->fence));
   VKH_CHECK(vkWaitForFences(ctx->device, 1, &scene->fence, VK_TRUE, UINT64_MAX));
   const struct cost cost = {now() - start, minor_faults() - faults};

   VKH_CHECK(vkResetFences(ctx->device, 1, &scene->fence));
   return cost;
}

/* The time of the fastest, since what disturbs a submit only ever adds to it; page
 * faults of all of them. */
static struct cost
submit_often(struct vkh_context *ctx, const struct bench_scene *scene)
{
   const uint64_t start = now();
   struct cost all = {UINT64_MAX};
   unsigned count = 0;

   while (count < MAX_SUBMITS) {
      const uint64_t time = now() - start;

      if (count && time > (count < MIN_SUBMITS ? LONG_NANOSECONDS : RUN_NANOSECONDS))
         break;
      const struct cost cost = submit(ctx, scene);
      if (cost.nanoseconds < all.nanoseconds)
         all.nanoseconds = cost.nanoseconds;
      all.faults += cost.faults;
      count++;
   }
   all.faults /= count;
   return all;
}

/* Nanoseconds a barrier */
static double
measure_barrier(struct vkh_context *ctx, const struct bench_scene *scene,
                const struct bench_pipelines *pipelines)
{
   const uint32_t count = scene->by_hand ? HAND_BARRIERS : BARRIERS;
   double times[2];

   for (unsigned barriers = 0; barriers < 2; barriers++) {
      bench_record(scene, pipelines, count, barriers);
      times[barriers] = submit_often(ctx, scene).nanoseconds;
   }
   return times[1] > times[0] ? (times[1] - times[0]) / count : 0;
}

/* One round, with fresh pipelines. */
static void
measure(struct vkh_context *ctx, const struct bench_scene *scene, double values[BENCH_METRIC_COUNT])
{
   const struct bench_workload *workload = scene->workload;
   struct bench_pipelines pipelines;
   const uint64_t start = now();

   bench_create_pipelines(ctx, scene, &pipelines);
   values[BENCH_CREATION] = now() - start;
   bench_record(scene, &pipelines, workload->dispatches ? workload->dispatches : 1, false);

   const double first = submit(ctx, scene).nanoseconds;
   const struct cost later = submit_often(ctx, scene);
   values[BENCH_RUN] = later.nanoseconds;
   values[BENCH_FIRST_USE] = first > values[BENCH_RUN] ? first - values[BENCH_RUN] : 0;
   values[BENCH_FAULTS] = later.faults;
   if (workload->barriers)
      values[BENCH_BARRIER] = measure_barrier(ctx, scene, &pipelines);

   bench_destroy_pipelines(ctx, &pipelines);
}

/* The compiler sets itself up when first used: another, small workload of the
 * same kind pays for that. */
static void
warm_up(struct vkh_context *ctx, const struct bench_workload *workload)
{
   double ignored[BENCH_METRIC_COUNT];
   struct bench_scene scene;

   for (unsigned i = 0; i < bench_workload_count; i++) {
      const struct bench_workload *other = &bench_workloads[i];

      if (other == workload || other->mesh.code ||
          bench_is_compute(other) != bench_is_compute(workload) ||
          other->section != workload->section)
         continue;
      bench_create_scene(ctx, other, false, &scene);
      measure(ctx, &scene, ignored);
      bench_destroy_scene(ctx, &scene);
      return;
   }
}

static void
print_values(const struct bench_workload *workload, const double values[BENCH_METRIC_COUNT],
             int output)
{
   for (enum bench_metric i = 0; i < BENCH_METRIC_COUNT; i++) {
      if (i != BENCH_BARRIER || workload->barriers)
         dprintf(output, "%s %s %.3f\n", workload->name, bench_metrics[i].name, values[i]);
   }
}

/* A device without mesh shaders skips the workload that has them. */
static struct vkh_context *
create_context(const struct bench_workload *workload)
{
   static const char *const extensions[] = {VK_EXT_MESH_SHADER_EXTENSION_NAME};
   static const VkPhysicalDeviceMeshShaderFeaturesEXT mesh = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT,
      .meshShader = VK_TRUE,
   };
   struct vkh_options options = {.application = "gpuval-bench"};

   if (workload->mesh.code) {
      options.extensions = extensions;
      options.extension_count = VKH_COUNT(extensions);
      options.features_next = &mesh;
   }
   return vkh_context_create(&options);
}

void
bench_worker_run(const struct bench_workload *workload, bool by_hand, unsigned time_limit,
                 int output)
{
   double values[BENCH_METRIC_COUNT];
   struct bench_scene scene;
   char round;

   alarm(time_limit);

   struct vkh_context *ctx = create_context(workload);
   dprintf(output, "device %s\n", ctx->properties.deviceName);
   warm_up(ctx, workload);
   bench_create_scene(ctx, workload, by_hand, &scene);

   while (alarm(0), read(STDIN_FILENO, &round, 1) == 1) {
      alarm(time_limit);
      measure(ctx, &scene, values);
      print_values(workload, values, output);
   }
   bench_destroy_scene(ctx, &scene);
   vkh_context_destroy(ctx);
}
