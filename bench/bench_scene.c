/* SPDX-License-Identifier: MIT */

#include <string.h>

#include "bench_scene.h"

/* by_hand.glsl's Control */
struct hand_control {
   uint32_t claims[256];
   uint32_t next_invocation;
   uint32_t command;
   uint64_t addresses[BENCH_MAX_BINDINGS];
   uint32_t failures[4096][4];
};

static unsigned
at_least_one(unsigned value)
{
   return value ? value : 1;
}

bool
bench_is_compute(const struct bench_workload *workload)
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

/* Full periods of linear congruential generators are rings. `count` is a power of
 * two. */
static void
fill_nodes(uint32_t count, const struct vkh_buffer *buffer)
{
   uint32_t *words = buffer->map;

   for (uint32_t i = 0; i < count; i++) {
      const uint64_t next = buffer->address + (i * 1664525u + 1013904223u) % count * 16;
      const float value = i;

      memcpy(&words[4 * i], &next, sizeof(next));
      memcpy(&words[4 * i + 2], &value, sizeof(value));
   }
}

static void
fill_buffer(const struct bench_binding *binding, const struct vkh_buffer *buffer)
{
   uint32_t state = 1, *words = buffer->map;
   float *floats = buffer->map;

   if (binding->fill == BENCH_NODES) {
      fill_nodes(binding->size / 4, buffer);
      return;
   }
   for (uint32_t i = 0; i < binding->size; i++) {
      const uint32_t number = next_random(&state);

      if (binding->fill == BENCH_FLOATS)
         floats[i] = number / (float)(1 << 24);
      else if (binding->fill == BENCH_NUMBERS)
         words[i] = binding->limit ? number % binding->limit : number;
      else
         words[i] = 0;
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
create_set_layout(struct vkh_context *ctx, struct bench_scene *scene)
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
         .descriptorCount = at_least_one(binding->count),
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
create_binding(struct vkh_context *ctx, struct bench_scene *scene, unsigned number)
{
   const struct bench_binding *binding = &scene->workload->bindings[number];

   if (is_image(binding->type)) {
      struct vkh_image *image = &scene->images[number];

      *image = vkh_image_create(ctx, BENCH_TARGET_FORMAT, binding->size, binding->size, NULL);
      clear_image(ctx, image);
      for (uint32_t i = 0; i < at_least_one(binding->count); i++) {
         vkh_set_write_image(ctx, scene->set, number, i, binding->type, image->view,
                             scene->sampler);
      }
   } else {
      struct vkh_buffer *buffer = &scene->buffers[number];

      *buffer = vkh_buffer_create(ctx, (VkDeviceSize)binding->size * BENCH_WORD, NULL);
      fill_buffer(binding, buffer);
      vkh_set_write_buffer(ctx, scene->set, number, 0, binding->type, buffer->buffer, 0,
                           VK_WHOLE_SIZE);
   }
}

/* After the bindings of the workload, whose addresses the check needs */
static void
create_hand_bindings(struct vkh_context *ctx, struct bench_scene *scene)
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
destroy_hand_bindings(struct vkh_context *ctx, struct bench_scene *scene)
{
   const struct hand_control *control = scene->hand_control.map;

   for (unsigned i = 0; i < VKH_COUNT(control->claims); i++) {
      if (control->claims[i])
         vkh_die("%s: the check by hand has reported something", scene->workload->name);
   }
   vkh_buffer_destroy(ctx, &scene->hand_filter);
   vkh_buffer_destroy(ctx, &scene->hand_control);
}

void
bench_create_scene(struct vkh_context *ctx, const struct bench_workload *workload, bool by_hand,
                   struct bench_scene *scene)
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

   *scene = (struct bench_scene){.workload = workload, .by_hand = by_hand};
   if (workload->mesh.code)
      scene->draw_mesh_tasks = (PFN_vkCmdDrawMeshTasksEXT)vkh_proc(ctx, "vkCmdDrawMeshTasksEXT");
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
   if (!bench_is_compute(workload)) {
      scene->target =
         vkh_image_create(ctx, BENCH_TARGET_FORMAT, BENCH_TARGET_SIZE, BENCH_TARGET_SIZE, NULL);
   }
}

void
bench_destroy_scene(struct vkh_context *ctx, struct bench_scene *scene)
{
   for (unsigned i = 0; i < scene->binding_count; i++) {
      if (is_image(scene->workload->bindings[i].type))
         vkh_image_destroy(ctx, &scene->images[i]);
      else
         vkh_buffer_destroy(ctx, &scene->buffers[i]);
   }
   if (scene->by_hand)
      destroy_hand_bindings(ctx, scene);
   if (!bench_is_compute(scene->workload))
      vkh_image_destroy(ctx, &scene->target);
   vkDestroyPipelineLayout(ctx->device, scene->layout, NULL);
   vkDestroyDescriptorSetLayout(ctx->device, scene->set_layout, NULL);
   vkFreeCommandBuffers(ctx->device, ctx->command_pool, 1, &scene->cmd);
   vkDestroyFence(ctx->device, scene->fence, NULL);
   vkDestroySampler(ctx->device, scene->sampler, NULL);
}

/* --- Pipelines ------------------------------------------------------------ */

static VkShaderModule
create_module(struct vkh_context *ctx, struct bench_pipelines *pipelines,
              const struct bench_shader *shader)
{
   VkShaderModule module = vkh_shader_module(ctx, shader->code, shader->size, NULL);

   pipelines->modules[pipelines->module_count++] = module;
   return module;
}

static void
create_compute_pipelines(struct vkh_context *ctx, const struct bench_scene *scene,
                         struct bench_pipelines *pipelines)
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
create_graphics_pipeline(struct vkh_context *ctx, const struct bench_scene *scene,
                         struct bench_pipelines *pipelines)
{
   const struct bench_workload *workload = scene->workload;
   const bool mesh = workload->mesh.code;
   const struct vkh_graphics_desc desc = {
      .stages =
         {
            {
               .stage = mesh ? VK_SHADER_STAGE_MESH_BIT_EXT : VK_SHADER_STAGE_VERTEX_BIT,
               .module = create_module(ctx, pipelines, mesh ? &workload->mesh : &workload->vertex),
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

void
bench_create_pipelines(struct vkh_context *ctx, const struct bench_scene *scene,
                       struct bench_pipelines *pipelines)
{
   *pipelines = (struct bench_pipelines){.count = at_least_one(scene->workload->pipelines)};
   if (bench_is_compute(scene->workload))
      create_compute_pipelines(ctx, scene, pipelines);
   else
      create_graphics_pipeline(ctx, scene, pipelines);
}

void
bench_destroy_pipelines(struct vkh_context *ctx, struct bench_pipelines *pipelines)
{
   for (unsigned i = 0; i < pipelines->count; i++)
      vkDestroyPipeline(ctx->device, pipelines->pipelines[i], NULL);
   for (unsigned i = 0; i < pipelines->module_count; i++)
      vkDestroyShaderModule(ctx->device, pipelines->modules[i], NULL);
}

/* --- Commands ------------------------------------------------------------- */

/* What has to happen between dispatches: the check by hand knows no epochs. */
static void
record_barrier(const struct bench_scene *scene)
{
   vkh_barrier(scene->cmd);
   if (scene->by_hand) {
      vkCmdFillBuffer(scene->cmd, scene->hand_filter.buffer, 0, VK_WHOLE_SIZE, 0);
      vkh_barrier(scene->cmd);
   }
}

static void
record_compute(const struct bench_scene *scene, const struct bench_pipelines *pipelines,
               uint32_t dispatches, bool barriers)
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
draw(const struct bench_scene *scene)
{
   const struct bench_workload *workload = scene->workload;

   if (workload->mesh.code) {
      const uint32_t number = 0;

      vkCmdPushConstants(scene->cmd, scene->layout, VK_SHADER_STAGE_ALL, 0, BENCH_PUSH_SIZE,
                         &number);
      scene->draw_mesh_tasks(scene->cmd, workload->vertices, 1, 1);
   } else {
      vkCmdDraw(scene->cmd, workload->vertices, 1, 0, 0);
   }
}

static void
record_graphics(const struct bench_scene *scene, const struct bench_pipelines *pipelines)
{
   vkh_begin_rendering(scene->cmd, &(struct vkh_target){.color = &scene->target});
   vkCmdBindPipeline(scene->cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, pipelines->pipelines[0]);
   draw(scene);
   vkCmdEndRendering(scene->cmd);
}

void
bench_record(const struct bench_scene *scene, const struct bench_pipelines *pipelines,
             uint32_t dispatches, bool barriers)
{
   const VkCommandBufferBeginInfo begin = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
   };
   const bool compute = bench_is_compute(scene->workload);

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
