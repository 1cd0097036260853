/* SPDX-License-Identifier: MIT */

/*
 * gpuval-queues QUEUES SPIRV: a thread for each queue, all with the same pipeline and memory of
 * their own. Each records, submits and waits, sometimes for the submit before, and every second
 * submit fails once (tests/growth/growth.comp).
 */

#include <pthread.h>
#include <stdlib.h>

#include "vk_headless.h"

#define SUBMITS 60
#define WORDS   32

struct thread {
   struct vkh_context ctx; /* a copy, with a queue and its pool */
   struct vkh_buffer buffer;
   VkPipelineLayout layout;
   VkPipeline pipeline;
   VkDescriptorSet set;
   pthread_t handle;
};

static void *
run(void *data)
{
   struct thread *thread = data;
   struct vkh_context *ctx = &thread->ctx;
   VkCommandBuffer cmds[2] = {NULL};
   VkFence fences[2];

   for (unsigned i = 0; i < 2; i++) {
      const VkFenceCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO,
         .flags = VK_FENCE_CREATE_SIGNALED_BIT,
      };
      VKH_CHECK(vkCreateFence(ctx->device, &info, NULL, &fences[i]));
   }
   for (uint32_t i = 0; i < SUBMITS; i++) {
      uint32_t index = i % 2 ? WORDS + i : 0;
      VkFence fence = fences[i % 2];

      VKH_CHECK(vkWaitForFences(ctx->device, 1, &fence, VK_TRUE, UINT64_MAX));
      VKH_CHECK(vkResetFences(ctx->device, 1, &fence));
      if (cmds[i % 2])
         vkFreeCommandBuffers(ctx->device, ctx->command_pool, 1, &cmds[i % 2]);
      VkCommandBuffer cmd = cmds[i % 2] = vkh_begin(ctx);
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, thread->pipeline);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, thread->layout, 0, 1,
                              &thread->set, 0, NULL);
      vkCmdPushConstants(cmd, thread->layout, VK_SHADER_STAGE_ALL, 0, 4, &index);
      vkCmdDispatch(cmd, 1, 1, 1);
      vkh_barrier(cmd);
      vkh_submit(ctx, cmd, fence);
      if (i % 8 == 0)
         VKH_CHECK(vkWaitForFences(ctx->device, 1, &fence, VK_TRUE, UINT64_MAX));
   }
   VKH_CHECK(vkWaitForFences(ctx->device, 2, fences, VK_TRUE, UINT64_MAX));
   for (unsigned i = 0; i < 2; i++)
      vkDestroyFence(ctx->device, fences[i], NULL);
   return NULL;
}

int
main(int count, char **arguments)
{
   if (count != 3)
      vkh_die("usage: %s 2|3 SPIRV", arguments[0]);

   const struct vkh_options options = {
      .second_queue = true,
      .third_queue = atoi(arguments[1]) == 3,
   };
   struct vkh_context *ctx = vkh_context_create(&options);
   VkShaderModule module = vkh_shader_module_file(ctx, arguments[2], "shader");
   VkDescriptorSetLayout set_layout =
      vkh_set_layout_simple(ctx, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1);
   VkPipelineLayout layout = vkh_pipeline_layout(ctx, &set_layout, 1, 4);
   VkPipeline pipeline =
      vkh_compute_pipeline(ctx, &(struct vkh_compute_desc){.module = module, .layout = layout});
   struct thread threads[VKH_COUNT(ctx->queues)];

   for (uint32_t i = 0; i < ctx->queue_count; i++) {
      struct thread *thread = &threads[i];
      *thread = (struct thread){
         .ctx = *ctx,
         .buffer = vkh_buffer_create(ctx, WORDS * 4, "data"),
         .layout = layout,
         .pipeline = pipeline,
         .set = vkh_set_allocate(ctx, set_layout),
      };
      vkh_select_queue(&thread->ctx, i);
      vkh_set_write_buffer(ctx, thread->set, 0, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                           thread->buffer.buffer, 0, VK_WHOLE_SIZE);
   }
   for (uint32_t i = 0; i < ctx->queue_count; i++) {
      if (pthread_create(&threads[i].handle, NULL, run, &threads[i]))
         vkh_die("no thread");
   }
   for (uint32_t i = 0; i < ctx->queue_count; i++) {
      pthread_join(threads[i].handle, NULL);
      vkh_buffer_destroy(ctx, &threads[i].buffer);
   }

   vkDestroyPipeline(ctx->device, pipeline, NULL);
   vkDestroyPipelineLayout(ctx->device, layout, NULL);
   vkDestroyDescriptorSetLayout(ctx->device, set_layout, NULL);
   vkDestroyShaderModule(ctx->device, module, NULL);
   vkh_context_destroy(ctx);
   return 0;
}
