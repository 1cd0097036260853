/*
 * SPDX-License-Identifier: MIT
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "vk_headless.h"

/* `run` is the fastest of that many submits, or of what this time allows. */
#define MIN_SUBMITS     3
#define MAX_SUBMITS     20
#define RUN_NANOSECONDS 100000000ull

#define SHADER_LIMIT   2
#define PIPELINE_LIMIT 128

const char *const bench_metric_names[BENCH_METRIC_COUNT] = {
   [BENCH_RUN] = "run",
   [BENCH_CREATION] = "creation",
   [BENCH_FIRST_USE] = "first-use",
   [BENCH_BARRIER] = "barrier",
};

/* Clearing the filter takes a long time: not for each of many dispatches. */
#define HAND_BARRIERS 20

/* by_hand.glsl's Control */
struct hand_control {
   uint32_t claims[256];
   uint32_t next_invocation;
   uint32_t command;
   uint64_t addresses[BENCH_MAX_BINDINGS];
   uint32_t failures[4096][4];
};

/* What a workload needs for all its creations. */
struct scene {
   const struct bench_workload *workload;
   bool by_hand;
   unsigned binding_count;
   struct vkh_buffer buffers[BENCH_MAX_BINDINGS];
   struct vkh_buffer hand_filter, hand_control;
   struct vkh_image images[BENCH_MAX_BINDINGS];
   struct vkh_image target;
   VkSampler sampler;
   VkDescriptorSetLayout set_layout;
   VkPipelineLayout layout;
   VkDescriptorSet set;
   VkCommandBuffer cmd;
   VkFence fence;
};

struct pipelines {
   unsigned module_count, count;
   VkShaderModule modules[SHADER_LIMIT];
   VkPipeline pipelines[PIPELINE_LIMIT];
};

static clockid_t used_clock = CLOCK_MONOTONIC;

static uint64_t
now(void)
{
   struct timespec time;

   clock_gettime(used_clock, &time);
   return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static unsigned
at_least_one(unsigned value)
{
   return value ? value : 1;
}

static bool
is_compute(const struct bench_workload *workload)
{
   return workload->compute.code != NULL;
}

static bool
is_image(VkDescriptorType type)
{
   return type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER ||
          type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
}

/* --- Resources ------------------------------------------------------------ */

/* Not rand(): each worker shall see the same numbers. */
static uint32_t
next_random(uint32_t *state)
{
   *state = *state * 1664525u + 1013904223u;
   return *state >> 8;
}

static void
fill_buffer(const struct bench_binding *binding, void *map)
{
   uint32_t state = 1, *words = map;
   float *floats = map;

   for (uint32_t i = 0; i < binding->size; i++) {
      const uint32_t number = next_random(&state);

      switch (binding->fill) {
      case BENCH_ZERO:
         words[i] = 0;
         break;
      case BENCH_FLOATS:
         floats[i] = number / (float)(1 << 24);
         break;
      case BENCH_NUMBERS:
         words[i] = binding->limit ? number % binding->limit : number;
         break;
      }
   }
}

static void
clear_image(struct vkh_context *ctx, const struct vkh_image *image)
{
   const VkClearColorValue color = {.float32 = {0.25f, 0.5f, 0.75f, 1.0f}};
   const VkImageSubresourceRange range = {
      .aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
      .levelCount = 1,
      .layerCount = 1,
   };
   VkCommandBuffer cmd = vkh_begin(ctx);

   vkCmdClearColorImage(cmd, image->image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &range);
   vkh_submit_wait(ctx, cmd);
}

static unsigned
create_set_layout(struct vkh_context *ctx, struct scene *scene)
{
   VkDescriptorSetLayoutBinding bindings[BENCH_MAX_BINDINGS + BENCH_HAND_BINDINGS];
   unsigned count = 0, hand_count = scene->by_hand ? BENCH_HAND_BINDINGS : 0;

   for (; count < BENCH_MAX_BINDINGS; count++) {
      const struct bench_binding *binding = &scene->workload->bindings[count];

      if (!binding->size)
         break;
      bindings[count] = (VkDescriptorSetLayoutBinding){
         .binding = count,
         .descriptorType = binding->type,
         .descriptorCount = 1,
         .stageFlags = VK_SHADER_STAGE_ALL,
      };
   }
   for (unsigned i = 0; i < hand_count; i++) {
      bindings[count + i] = (VkDescriptorSetLayoutBinding){
         .binding = BENCH_MAX_BINDINGS + i,
         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
         .descriptorCount = 1,
         .stageFlags = VK_SHADER_STAGE_ALL,
      };
   }
   scene->set_layout = vkh_set_layout(ctx, bindings, count + hand_count);
   return count;
}

static void
create_binding(struct vkh_context *ctx, struct scene *scene, unsigned number)
{
   const struct bench_binding *binding = &scene->workload->bindings[number];

   if (is_image(binding->type)) {
      struct vkh_image *image = &scene->images[number];

      *image = vkh_image_create(ctx, BENCH_TARGET_FORMAT, binding->size, binding->size, NULL);
      clear_image(ctx, image);
      vkh_set_write_image(ctx, scene->set, number, 0, binding->type, image->view, scene->sampler);
   } else {
      struct vkh_buffer *buffer = &scene->buffers[number];

      *buffer = vkh_buffer_create(ctx, (VkDeviceSize)binding->size * BENCH_WORD, NULL);
      fill_buffer(binding, buffer->map);
      vkh_set_write_buffer(ctx, scene->set, number, 0, binding->type, buffer->buffer, 0,
                           VK_WHOLE_SIZE);
   }
}

/* After the bindings of the workload, whose addresses the check needs */
static void
create_hand_bindings(struct vkh_context *ctx, struct scene *scene)
{
   scene->hand_filter = vkh_buffer_create(ctx, BENCH_HAND_FILTER, NULL);
   scene->hand_control = vkh_buffer_create(ctx, sizeof(struct hand_control), NULL);
   const struct vkh_buffer *buffers[BENCH_HAND_BINDINGS] = {
      &scene->hand_filter,
      &scene->hand_control,
   };
   for (unsigned i = 0; i < BENCH_HAND_BINDINGS; i++) {
      vkh_set_write_buffer(ctx, scene->set, BENCH_MAX_BINDINGS + i, 0,
                           VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers[i]->buffer, 0, VK_WHOLE_SIZE);
   }

   struct hand_control *control = scene->hand_control.map;
   for (unsigned i = 0; i < scene->binding_count; i++)
      control->addresses[i] = scene->buffers[i].address;
}

/* The workloads are free of errors, and the check by hand must see it so. */
static void
destroy_hand_bindings(struct vkh_context *ctx, struct scene *scene)
{
   const struct hand_control *control = scene->hand_control.map;

   for (unsigned i = 0; i < VKH_COUNT(control->claims); i++) {
      if (control->claims[i])
         vkh_die("%s: the check by hand has reported something", scene->workload->name);
   }
   vkh_buffer_destroy(ctx, &scene->hand_filter);
   vkh_buffer_destroy(ctx, &scene->hand_control);
}

static void
create_scene(struct vkh_context *ctx, const struct bench_workload *workload, bool by_hand,
             struct scene *scene)
{
   const VkSamplerCreateInfo sampler = {
      .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
      .magFilter = VK_FILTER_LINEAR,
      .minFilter = VK_FILTER_LINEAR,
   };
   const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
   const VkCommandBufferAllocateInfo cmd = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = ctx->command_pool,
      .commandBufferCount = 1,
   };

   *scene = (struct scene){.workload = workload, .by_hand = by_hand};
   VKH_CHECK(vkCreateSampler(ctx->device, &sampler, NULL, &scene->sampler));
   VKH_CHECK(vkCreateFence(ctx->device, &fence, NULL, &scene->fence));
   VKH_CHECK(vkAllocateCommandBuffers(ctx->device, &cmd, &scene->cmd));

   scene->binding_count = create_set_layout(ctx, scene);
   scene->layout = vkh_pipeline_layout(ctx, &scene->set_layout, 1, BENCH_PUSH_SIZE);
   scene->set = vkh_set_allocate(ctx, scene->set_layout);
   for (unsigned i = 0; i < scene->binding_count; i++)
      create_binding(ctx, scene, i);
   if (by_hand)
      create_hand_bindings(ctx, scene);
   if (!is_compute(workload)) {
      scene->target =
         vkh_image_create(ctx, BENCH_TARGET_FORMAT, BENCH_TARGET_SIZE, BENCH_TARGET_SIZE, NULL);
   }
}

static void
destroy_scene(struct vkh_context *ctx, struct scene *scene)
{
   for (unsigned i = 0; i < scene->binding_count; i++) {
      if (is_image(scene->workload->bindings[i].type))
         vkh_image_destroy(ctx, &scene->images[i]);
      else
         vkh_buffer_destroy(ctx, &scene->buffers[i]);
   }
   if (scene->by_hand)
      destroy_hand_bindings(ctx, scene);
   if (!is_compute(scene->workload))
      vkh_image_destroy(ctx, &scene->target);
   vkDestroyPipelineLayout(ctx->device, scene->layout, NULL);
   vkDestroyDescriptorSetLayout(ctx->device, scene->set_layout, NULL);
   vkFreeCommandBuffers(ctx->device, ctx->command_pool, 1, &scene->cmd);
   vkDestroyFence(ctx->device, scene->fence, NULL);
   vkDestroySampler(ctx->device, scene->sampler, NULL);
}

/* --- Pipelines ------------------------------------------------------------ */

static VkShaderModule
create_module(struct vkh_context *ctx, struct pipelines *pipelines,
              const struct bench_shader *shader)
{
   VkShaderModule module = vkh_shader_module(ctx, shader->code, shader->size, NULL);

   pipelines->modules[pipelines->module_count++] = module;
   return module;
}

static void
create_compute_pipelines(struct vkh_context *ctx, const struct scene *scene,
                         struct pipelines *pipelines)
{
   const VkSpecializationMapEntry entry = {.size = sizeof(uint32_t)};
   const struct bench_shader *shader =
      scene->by_hand ? &scene->workload->by_hand : &scene->workload->compute;
   VkShaderModule module = create_module(ctx, pipelines, shader);

   for (uint32_t i = 0; i < pipelines->count; i++) {
      const VkSpecializationInfo specialization = {
         .mapEntryCount = 1,
         .pMapEntries = &entry,
         .dataSize = sizeof(i),
         .pData = &i,
      };

      pipelines->pipelines[i] = vkh_compute_pipeline(
         ctx, &(struct vkh_compute_desc){
                 .module = module,
                 .layout = scene->layout,
                 .specialization = pipelines->count > 1 ? &specialization : NULL,
              });
   }
}

static void
create_graphics_pipeline(struct vkh_context *ctx, const struct scene *scene,
                         struct pipelines *pipelines)
{
   const struct bench_workload *workload = scene->workload;
   const struct vkh_graphics_desc desc = {
      .stages =
         {
            {
               .stage = VK_SHADER_STAGE_VERTEX_BIT,
               .module = create_module(ctx, pipelines, &workload->vertex),
            },
            {
               .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
               .module = create_module(ctx, pipelines, &workload->fragment),
            },
         },
      .stage_count = 2,
      .layout = scene->layout,
      .color_format = BENCH_TARGET_FORMAT,
   };

   pipelines->pipelines[0] = vkh_graphics_pipeline(ctx, &desc);
}

static void
create_pipelines(struct vkh_context *ctx, const struct scene *scene, struct pipelines *pipelines)
{
   *pipelines = (struct pipelines){.count = at_least_one(scene->workload->pipelines)};
   if (is_compute(scene->workload))
      create_compute_pipelines(ctx, scene, pipelines);
   else
      create_graphics_pipeline(ctx, scene, pipelines);
}

static void
destroy_pipelines(struct vkh_context *ctx, struct pipelines *pipelines)
{
   for (unsigned i = 0; i < pipelines->count; i++)
      vkDestroyPipeline(ctx->device, pipelines->pipelines[i], NULL);
   for (unsigned i = 0; i < pipelines->module_count; i++)
      vkDestroyShaderModule(ctx->device, pipelines->modules[i], NULL);
}

/* --- Commands ------------------------------------------------------------- */

/* What has to happen between dispatches: the check by hand knows no epochs. */
static void
record_barrier(const struct scene *scene)
{
   vkh_barrier(scene->cmd);
   if (scene->by_hand) {
      vkCmdFillBuffer(scene->cmd, scene->hand_filter.buffer, 0, VK_WHOLE_SIZE, 0);
      vkh_barrier(scene->cmd);
   }
}

static void
record_compute(const struct scene *scene, const struct pipelines *pipelines, uint32_t dispatches,
               bool barriers)
{
   const struct bench_workload *workload = scene->workload;

   for (unsigned i = 0; i < pipelines->count; i++) {
      vkCmdBindPipeline(scene->cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines->pipelines[i]);
      for (uint32_t number = 0; number < dispatches; number++) {
         vkCmdPushConstants(scene->cmd, scene->layout, VK_SHADER_STAGE_ALL, 0, BENCH_PUSH_SIZE,
                            &number);
         vkCmdDispatch(scene->cmd, workload->groups[0], workload->groups[1], 1);
         if (barriers)
            record_barrier(scene);
      }
      /* Pipelines share their buffers. */
      if (i + 1 < pipelines->count)
         vkh_barrier(scene->cmd);
   }
}

static void
record_graphics(const struct scene *scene, const struct pipelines *pipelines)
{
   vkh_begin_rendering(scene->cmd, &(struct vkh_target){.color = &scene->target});
   vkCmdBindPipeline(scene->cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, pipelines->pipelines[0]);
   vkCmdDraw(scene->cmd, scene->workload->vertices, 1, 0, 0);
   vkCmdEndRendering(scene->cmd);
}

/* To be submitted any number of times. */
static void
record(const struct scene *scene, const struct pipelines *pipelines, uint32_t dispatches,
       bool barriers)
{
   const VkCommandBufferBeginInfo begin = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
   };
   const bool compute = is_compute(scene->workload);

   VKH_CHECK(vkBeginCommandBuffer(scene->cmd, &begin));
   vkh_barrier(scene->cmd); /* the submit before */
   vkCmdBindDescriptorSets(
      scene->cmd, compute ? VK_PIPELINE_BIND_POINT_COMPUTE : VK_PIPELINE_BIND_POINT_GRAPHICS,
      scene->layout, 0, 1, &scene->set, 0, NULL);
   if (compute)
      record_compute(scene, pipelines, dispatches, barriers);
   else
      record_graphics(scene, pipelines);
   VKH_CHECK(vkEndCommandBuffer(scene->cmd));
}

static uint64_t
timed_submit(struct vkh_context *ctx, const struct scene *scene)
{
   const VkSubmitInfo submit = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
      .commandBufferCount = 1,
      .pCommandBuffers = &scene->cmd,
   };

   /* What the barrier at its begin stands for */
   if (scene->by_hand)
      memset(scene->hand_filter.map, 0, BENCH_HAND_FILTER);
   const uint64_t start = now();

   VKH_CHECK(vkQueueSubmit(ctx->queue, 1, &submit, scene->fence));
   VKH_CHECK(vkWaitForFences(ctx->device, 1, &scene->fence, VK_TRUE, UINT64_MAX));
   const uint64_t time = now() - start;

   VKH_CHECK(vkResetFences(ctx->device, 1, &scene->fence));
   return time;
}

/* --- Measurements --------------------------------------------------------- */

/* The fastest: what disturbs a submit only ever adds to its time. */
static uint64_t
fastest_submit(struct vkh_context *ctx, const struct scene *scene)
{
   const uint64_t start = now();
   uint64_t fastest = UINT64_MAX;

   for (unsigned i = 0; i < MAX_SUBMITS; i++) {
      if (i >= MIN_SUBMITS && now() - start > RUN_NANOSECONDS)
         break;
      const uint64_t time = timed_submit(ctx, scene);
      if (time < fastest)
         fastest = time;
   }
   return fastest;
}

/* Nanoseconds a barrier */
static uint64_t
measure_barrier(struct vkh_context *ctx, const struct scene *scene,
                const struct pipelines *pipelines)
{
   const uint32_t dispatches = scene->by_hand ? HAND_BARRIERS : scene->workload->dispatches;
   uint64_t times[2];

   for (unsigned barriers = 0; barriers < 2; barriers++) {
      record(scene, pipelines, dispatches, barriers);
      times[barriers] = fastest_submit(ctx, scene);
   }
   return times[1] > times[0] ? (times[1] - times[0]) / dispatches : 0;
}

/* One round, with fresh pipelines. */
static void
measure(struct vkh_context *ctx, const struct scene *scene, uint64_t times[BENCH_METRIC_COUNT])
{
   struct pipelines pipelines;
   const uint64_t start = now();

   create_pipelines(ctx, scene, &pipelines);
   times[BENCH_CREATION] = now() - start;
   record(scene, &pipelines, at_least_one(scene->workload->dispatches), false);

   const uint64_t first = timed_submit(ctx, scene);
   times[BENCH_RUN] = fastest_submit(ctx, scene);
   times[BENCH_FIRST_USE] = first > times[BENCH_RUN] ? first - times[BENCH_RUN] : 0;
   if (scene->workload->barriers)
      times[BENCH_BARRIER] = measure_barrier(ctx, scene, &pipelines);

   destroy_pipelines(ctx, &pipelines);
}

/* The compiler sets itself up when first used: another, small workload of the
 * same kind pays for that. */
static void
warm_up(struct vkh_context *ctx, const struct bench_workload *workload)
{
   uint64_t ignored[BENCH_METRIC_COUNT];
   struct scene scene;

   for (unsigned i = 0; i < bench_workload_count; i++) {
      const struct bench_workload *other = &bench_workloads[i];

      if (other == workload || is_compute(other) != is_compute(workload) ||
          !other->by_hand.code != !workload->by_hand.code)
         continue;
      create_scene(ctx, other, false, &scene);
      measure(ctx, &scene, ignored);
      destroy_scene(ctx, &scene);
      return;
   }
}

static void
print_times(const struct bench_workload *workload, const uint64_t times[BENCH_METRIC_COUNT],
            int output)
{
   for (unsigned i = 0; i < BENCH_METRIC_COUNT; i++) {
      if (i == BENCH_BARRIER && !workload->barriers)
         continue;
      dprintf(output, "%s %s %llu\n", workload->name, bench_metric_names[i],
              (unsigned long long)times[i]);
   }
}

void
bench_worker_run(const struct bench_workload *workload, bool by_hand, bool cpu_time,
                 unsigned time_limit, int output)
{
   uint64_t times[BENCH_METRIC_COUNT];
   struct scene scene;
   char round;

   if (cpu_time)
      used_clock = CLOCK_PROCESS_CPUTIME_ID;
   alarm(time_limit);

   struct vkh_context *ctx =
      vkh_context_create(&(struct vkh_options){.application = "gpuval-bench"});
   dprintf(output, "device %s\n", ctx->properties.deviceName);
   warm_up(ctx, workload);
   create_scene(ctx, workload, by_hand, &scene);

   while (alarm(0), read(STDIN_FILENO, &round, 1) == 1) {
      alarm(time_limit);
      measure(ctx, &scene, times);
      print_times(workload, times, output);
   }
   destroy_scene(ctx, &scene);
   vkh_context_destroy(ctx);
}
