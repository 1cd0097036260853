/*
 * SPDX-License-Identifier: MIT
 */

/*
 * A particle fountain, simulated by a compute shader for a few frames.
 *
 * The bug: a dispatch consists of whole workgroups, here 16 of 64 invocations
 * for 1000 particles, and the shader does not ask whether its particle exists.
 * The last 24 invocations write past the end of the buffer. On most GPUs that
 * damages whatever comes next in memory, and nobody sees it here.
 *
 * The fix (-DFIXED, particles.comp only) is the usual comparison and return.
 */

#include <stdio.h>

#include "vk_headless.h"

#include "particles.comp.h"

#define PARTICLE_COUNT 1000
#define WORKGROUP_SIZE 64
#define FRAME_COUNT    3

struct frame_constants {
   float time;
   uint32_t particle_count;
};

struct simulation {
   struct vkh_buffer particles;
   VkShaderModule module;
   VkDescriptorSetLayout set_layout;
   VkPipelineLayout layout;
   VkPipeline pipeline;
   VkDescriptorSet set;
};

static void
create_simulation(struct vkh_context *ctx, struct simulation *sim)
{
   sim->particles = vkh_buffer_create(ctx, PARTICLE_COUNT * 4 * sizeof(float), "particle pool");
   sim->set_layout = vkh_set_layout_simple(ctx, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1);
   sim->layout = vkh_pipeline_layout(ctx, &sim->set_layout, 1, sizeof(struct frame_constants));
   sim->module = vkh_shader_module(ctx, particles_comp, sizeof(particles_comp), "fountain");
   sim->pipeline = vkh_compute_pipeline(ctx, &(struct vkh_compute_desc){
                                                .module = sim->module,
                                                .layout = sim->layout,
                                                .name = "simulate particles",
                                             });
   sim->set = vkh_set_allocate(ctx, sim->set_layout);
   vkh_set_write_buffer(ctx, sim->set, 0, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                        sim->particles.buffer, 0, VK_WHOLE_SIZE);
}

static void
destroy_simulation(struct vkh_context *ctx, struct simulation *sim)
{
   vkDestroyPipeline(ctx->device, sim->pipeline, NULL);
   vkDestroyShaderModule(ctx->device, sim->module, NULL);
   vkDestroyPipelineLayout(ctx->device, sim->layout, NULL);
   vkDestroyDescriptorSetLayout(ctx->device, sim->set_layout, NULL);
   vkh_buffer_destroy(ctx, &sim->particles);
}

static void
simulate_frame(struct vkh_context *ctx, struct simulation *sim, uint32_t frame)
{
   const struct frame_constants constants = {
      .time = frame / 60.0f,
      .particle_count = PARTICLE_COUNT,
   };
   const uint32_t groups = (PARTICLE_COUNT + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
   char name[32];

   VkCommandBuffer cmd = vkh_begin(ctx);
   snprintf(name, sizeof(name), "frame %u", frame);
   vkh_name(ctx, VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)cmd, name);

   vkh_label_begin(ctx, cmd, "frame");
   vkh_label_begin(ctx, cmd, "simulation");
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, sim->pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, sim->layout, 0, 1, &sim->set, 0,
                           NULL);
   vkCmdPushConstants(cmd, sim->layout, VK_SHADER_STAGE_ALL, 0, sizeof(constants), &constants);
   vkCmdDispatch(cmd, groups, 1, 1);
   vkh_label_end(ctx, cmd);
   vkh_label_end(ctx, cmd);

   vkh_submit_wait(ctx, cmd);
}

static void
print_result(const struct simulation *sim)
{
   const float(*position)[4] = sim->particles.map;
   float highest = 0.0f, sum = 0.0f;

   for (unsigned i = 0; i < PARTICLE_COUNT; i++) {
      sum += position[i][1];
      if (position[i][1] > highest)
         highest = position[i][1];
   }
   printf("particles: %u particles after %u frames, mean height %.2f m, highest %.2f m\n",
          PARTICLE_COUNT, FRAME_COUNT, sum / PARTICLE_COUNT, highest);
}

int
main(void)
{
   struct simulation sim;
   struct vkh_context *ctx = vkh_context_create(&(struct vkh_options){.application = "particles"});

   create_simulation(ctx, &sim);
   for (uint32_t frame = 0; frame < FRAME_COUNT; frame++)
      simulate_frame(ctx, &sim, frame);
   print_result(&sim);

   destroy_simulation(ctx, &sim);
   vkh_context_destroy(ctx);
   return 0;
}
