/* SPDX-License-Identifier: MIT */

/* Programs that run for a long time, fast: what they no longer use is given back, and
 * they stay checked to the last.
 *
 *    gpuval-growth shaders SPIRV COUNT       so many different shaders, one after the other
 *    gpuval-growth resubmissions SPIRV COUNT so many submits of one command buffer
 *
 * The last dispatch, and in the beginning one, writes outside its buffer. Prints how much
 * memory it takes after a fifth of its work, when it has all that it needs, and at its
 * end; fails if that is more.
 */

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vk_headless.h"

/* In growth.comp */
#define NUMBER     0xc0ffee
#define DATA_WORDS 32

/* Shaders that live at a time, and those that are executed: one of so many */
#define LIVING          64
#define EXECUTED_ONE_OF 500

/* Pages that come and go: the allocator's, the loader's, LLVM's */
#define TOLERATED_KIB 4096

struct program {
   struct vkh_context *ctx;
   uint32_t *code;
   size_t size;
   unsigned number_word; /* of the code */
   VkPipelineLayout layout;
   VkDescriptorSet set;
   struct vkh_buffer buffer;
};

static long
resident_kib(void)
{
   long pages = 0;
   FILE *f = fopen("/proc/self/statm", "r");

   malloc_trim(0);
   if (!f || fscanf(f, "%*s %ld", &pages) != 1)
      vkh_die("/proc/self/statm cannot be read");
   fclose(f);
   return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static VkPipeline
create_pipeline(struct program *program, uint32_t number)
{
   program->code[program->number_word] = number;
   VkShaderModule module =
      vkh_shader_module(program->ctx, program->code, program->size, "growth.comp");
   VkPipeline pipeline = vkh_compute_pipeline(
      program->ctx, &(struct vkh_compute_desc){.module = module, .layout = program->layout});

   vkDestroyShaderModule(program->ctx->device, module, NULL);
   return pipeline;
}

static void
record_dispatch(struct program *program, VkCommandBuffer cmd, VkPipeline pipeline, uint32_t index)
{
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, program->layout, 0, 1,
                           &program->set, 0, NULL);
   vkCmdPushConstants(cmd, program->layout, VK_SHADER_STAGE_ALL, 0, sizeof(index), &index);
   vkCmdDispatch(cmd, 1, 1, 1);
}

static void
dispatch(struct program *program, VkPipeline pipeline, uint32_t index)
{
   VkCommandBuffer cmd = vkh_begin(program->ctx);
   record_dispatch(program, cmd, pipeline, index);
   vkh_submit_wait(program->ctx, cmd);
}

static int
verdict(const char *what, long before)
{
   long after = resident_kib();

   printf("%s: %ld KiB after a fifth, %ld KiB at the end\n", what, before, after);
   return after <= before + TOLERATED_KIB ? 0 : 1;
}

static int
many_shaders(struct program *program, uint32_t count)
{
   VkPipeline living[LIVING] = {VK_NULL_HANDLE};
   long before = 0;

   for (uint32_t i = 0; i < count; i++) {
      VkPipeline *pipeline = &living[i % LIVING];
      vkDestroyPipeline(program->ctx->device, *pipeline, NULL);
      *pipeline = create_pipeline(program, i);

      bool is_last = i == count - 1;
      if (is_last || i % EXECUTED_ONE_OF == 0)
         dispatch(program, *pipeline, is_last || !i ? DATA_WORDS : 0);
      if (i == count / 5)
         before = resident_kib();
   }
   int result = verdict("shaders", before);
   for (unsigned i = 0; i < LIVING; i++)
      vkDestroyPipeline(program->ctx->device, living[i], NULL);
   return result;
}

static int
many_submits(struct program *program, uint32_t count)
{
   VkPipeline pipeline = create_pipeline(program, 1);
   vkh_name(program->ctx, VK_OBJECT_TYPE_PIPELINE, (uint64_t)pipeline, "the pipeline");

   VkCommandBuffer cmds[2];
   const VkCommandBufferAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = program->ctx->command_pool,
      .commandBufferCount = VKH_COUNT(cmds),
   };
   VKH_CHECK(vkAllocateCommandBuffers(program->ctx->device, &info, cmds));
   for (unsigned i = 0; i < VKH_COUNT(cmds); i++) {
      vkh_name(program->ctx, VK_OBJECT_TYPE_COMMAND_BUFFER, (uintptr_t)cmds[i],
               i ? "the commands of all frames" : "the first and the last commands");
      VKH_CHECK(vkBeginCommandBuffer(
         cmds[i],
         &(VkCommandBufferBeginInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT}));
      vkh_barrier(cmds[i]);
      vkh_label_begin(program->ctx, cmds[i], "a frame");
      record_dispatch(program, cmds[i], pipeline, i ? 0 : DATA_WORDS);
      vkh_label_begin(program->ctx, cmds[i], "its second half");
      vkh_barrier(cmds[i]);
      record_dispatch(program, cmds[i], pipeline, 0);
      vkh_label_end(program->ctx, cmds[i]);
      vkh_label_end(program->ctx, cmds[i]);
      VKH_CHECK(vkEndCommandBuffer(cmds[i]));
   }

   long before = 0;
   for (uint32_t i = 0; i < count; i++) {
      const VkSubmitInfo submit = {
         .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
         .commandBufferCount = 1,
         .pCommandBuffers = &cmds[i && i != count - 1],
      };
      VKH_CHECK(vkQueueSubmit(program->ctx->queue, 1, &submit, VK_NULL_HANDLE));
      if (i % 16 == 15 || i == count - 1)
         VKH_CHECK(vkQueueWaitIdle(program->ctx->queue));
      if (i == count / 5)
         before = resident_kib();
   }
   int result = verdict("resubmissions", before);
   vkFreeCommandBuffers(program->ctx->device, program->ctx->command_pool, VKH_COUNT(cmds), cmds);
   vkDestroyPipeline(program->ctx->device, pipeline, NULL);
   return result;
}

int
main(int argc, char **argv)
{
   if (argc != 4)
      vkh_die("usage: gpuval-growth shaders|resubmissions SPIRV COUNT");

   struct program program = {.ctx = vkh_context_create(NULL)};
   program.code = vkh_read_file(argv[2], &program.size);
   while (program.number_word < program.size / 4 && program.code[program.number_word] != NUMBER)
      program.number_word++;
   if (program.number_word == program.size / 4)
      vkh_die("%s has no number to replace", argv[2]);

   VkDescriptorSetLayout set_layout =
      vkh_set_layout_simple(program.ctx, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1);
   program.layout = vkh_pipeline_layout(program.ctx, &set_layout, 1, sizeof(uint32_t));
   program.set = vkh_set_allocate(program.ctx, set_layout);
   program.buffer = vkh_buffer_create(program.ctx, DATA_WORDS * sizeof(uint32_t), "data");
   vkh_set_write_buffer(program.ctx, program.set, 0, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                        program.buffer.buffer, 0, VK_WHOLE_SIZE);

   uint32_t count = strtoul(argv[3], NULL, 10);
   int result =
      strcmp(argv[1], "shaders") ? many_submits(&program, count) : many_shaders(&program, count);

   vkh_buffer_destroy(program.ctx, &program.buffer);
   vkDestroyPipelineLayout(program.ctx->device, program.layout, NULL);
   vkDestroyDescriptorSetLayout(program.ctx->device, set_layout, NULL);
   vkh_context_destroy(program.ctx);
   free(program.code);
   return result;
}
