/* SPDX-License-Identifier: MIT */

/* Programs that run for a long time, fast, and large ones: what they no longer use is
 * given back, and they stay checked to the last.
 *
 *    gpuval-growth shaders SPIRV COUNT       so many different shaders, one after the other
 *    gpuval-growth resubmissions SPIRV COUNT so many submits of one command buffer
 *    gpuval-growth frames SPIRV COUNT        so many frames, IN_FLIGHT at a time, each with a
 *                                            buffer and now and then a shader of its own
 *
 * The last dispatch, and in the beginning one, writes outside its buffer. Prints how much
 * memory it takes after a fifth of its work, when it has all that it needs, and at its
 * end; fails if that is more.
 *
 *    gpuval-growth buffers SPIRV COUNT       so many buffers, accessed by address
 *
 * All of them live in the first dispatch; before the second one, one of GONE_ONE_OF is
 * destroyed.
 *
 *    gpuval-growth large SPIRV COUNT         memory of so many GiB, of which little is touched
 *
 * Fails if that takes more than some pages for each word that is touched. Then the same words
 * are written by two dispatches that nothing orders, with different values.
 */

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "vk_headless.h"

#define IN_FLIGHT  3
#define NEW_ONE_OF 16 /* shaders of frames */

/* In growth.comp */
#define NUMBER     0xc0ffee
#define DATA_WORDS 32

/* Push constants: growth.comp has the first one only */
#define COMMAND_WORDS 2

/* Shaders that live at a time, and those that are executed: one of so many */
#define LIVING          64
#define EXECUTED_ONE_OF 500

/* Buffers in one memory, with room between them */
#define BUFFER_SIZE   16
#define BUFFER_STRIDE 256
#define GONE_ONE_OF   1000

/* One buffer in each memory of a GiB, and a word touched each so many bytes */
#define LARGE_SIZE    (1ull << 30)
#define TOUCHED_EVERY (4ull << 20)
#define PAGES_A_WORD  3 /* of the memory, of its cells, and of what init knows of it */

/* Pages that come and go: the allocator's, the loader's, LLVM's */
#define TOLERATED_KIB 4096
/* What the summary counts shaders by: a set of words, whose table doubles */
#define BYTES_A_SHADER 64

struct program {
   struct vkh_context *ctx;
   uint32_t *code;
   size_t size;
   unsigned number_word; /* of the code */
   VkDescriptorSetLayout set_layout;
   VkPipelineLayout layout;
   VkDescriptorSet set;
   struct vkh_buffer buffer;
   uint32_t added; /* to what buffers.comp stores */
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
record_dispatch(struct program *program, VkCommandBuffer cmd, VkPipeline pipeline, uint32_t word,
                uint32_t groups)
{
   const uint32_t words[COMMAND_WORDS] = {word, program->added};

   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, program->layout, 0, 1,
                           &program->set, 0, NULL);
   vkCmdPushConstants(cmd, program->layout, VK_SHADER_STAGE_ALL, 0, sizeof(words), words);
   vkCmdDispatch(cmd, groups, 1, 1);
}

static void
dispatch(struct program *program, VkPipeline pipeline, uint32_t word, uint32_t groups)
{
   VkCommandBuffer cmd = vkh_begin(program->ctx);
   record_dispatch(program, cmd, pipeline, word, groups);
   vkh_submit_wait(program->ctx, cmd);
}

static int
verdict(const char *what, long before, long known_kib)
{
   long after = resident_kib();

   printf("%s: %ld KiB after a fifth, %ld KiB at the end\n", what, before, after);
   return after <= before + known_kib + TOLERATED_KIB ? 0 : 1;
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
         dispatch(program, *pipeline, is_last || !i ? DATA_WORDS : 0, 1);
      if (i == count / 5)
         before = resident_kib();
   }
   int result = verdict("shaders", before, (long)count * BYTES_A_SHADER / 1024);
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
      record_dispatch(program, cmds[i], pipeline, i ? 0 : DATA_WORDS, 1);
      vkh_label_begin(program->ctx, cmds[i], "its second half");
      vkh_barrier(cmds[i]);
      record_dispatch(program, cmds[i], pipeline, 0, 1);
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
   int result = verdict("resubmissions", before, 0);
   vkFreeCommandBuffers(program->ctx->device, program->ctx->command_pool, VKH_COUNT(cmds), cmds);
   vkDestroyPipeline(program->ctx->device, pipeline, NULL);
   return result;
}

struct frame {
   VkCommandBuffer cmd;
   VkFence fence;
   VkDescriptorSet set;
   VkPipeline pipeline;
   struct vkh_buffer buffer;
};

static void
finish_frame(struct program *program, struct frame *frame)
{
   struct vkh_context *ctx = program->ctx;

   if (!frame->cmd)
      return;
   VKH_CHECK(vkWaitForFences(ctx->device, 1, &frame->fence, VK_TRUE, UINT64_MAX));
   VKH_CHECK(vkResetFences(ctx->device, 1, &frame->fence));
   vkFreeCommandBuffers(ctx->device, ctx->command_pool, 1, &frame->cmd);
   vkDestroyPipeline(ctx->device, frame->pipeline, NULL);
   vkh_buffer_destroy(ctx, &frame->buffer);
   frame->cmd = VK_NULL_HANDLE;
   frame->pipeline = VK_NULL_HANDLE;
}

static int
many_frames(struct program *program, uint32_t count)
{
   struct vkh_context *ctx = program->ctx;
   VkPipeline pipeline = create_pipeline(program, 1);
   struct frame frames[IN_FLIGHT] = {0};
   const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
   long before = 0;

   for (unsigned i = 0; i < IN_FLIGHT; i++) {
      VKH_CHECK(vkCreateFence(ctx->device, &info, NULL, &frames[i].fence));
      frames[i].set = vkh_set_allocate(ctx, program->set_layout);
   }
   for (uint32_t i = 0; i < count; i++) {
      struct frame *frame = &frames[i % IN_FLIGHT];
      bool is_bad = !i || i == count - 1;

      finish_frame(program, frame);
      frame->buffer = vkh_buffer_create(ctx, DATA_WORDS * sizeof(uint32_t), "data of a frame");
      if (i % NEW_ONE_OF == 1)
         frame->pipeline = create_pipeline(program, i + 1);
      vkh_set_write_buffer(ctx, frame->set, 0, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                           frame->buffer.buffer, 0, VK_WHOLE_SIZE);
      program->set = frame->set;
      frame->cmd = vkh_begin(ctx);
      vkh_barrier(frame->cmd);
      record_dispatch(program, frame->cmd, frame->pipeline ? frame->pipeline : pipeline,
                      is_bad ? DATA_WORDS : 0, 1);
      vkh_barrier(frame->cmd);
      vkh_submit(ctx, frame->cmd, frame->fence);
      if (i == count / 5)
         before = resident_kib();
   }
   for (unsigned i = 0; i < IN_FLIGHT; i++) {
      finish_frame(program, &frames[i]);
      vkDestroyFence(ctx->device, frames[i].fence, NULL);
   }
   vkDestroyPipeline(ctx->device, pipeline, NULL);
   return verdict("frames", before, 0);
}

static VkDeviceMemory
allocate_buffers(struct vkh_context *ctx, VkBuffer *buffers, uint32_t count)
{
   const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = BUFFER_SIZE,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
   };
   for (uint32_t i = 0; i < count; i++)
      VKH_CHECK(vkCreateBuffer(ctx->device, &info, NULL, &buffers[i]));

   VkMemoryRequirements requirements;
   vkGetBufferMemoryRequirements(ctx->device, buffers[0], &requirements);
   if (requirements.size > BUFFER_STRIDE || BUFFER_STRIDE % requirements.alignment)
      vkh_die("the buffers do not fit into their places");

   const VkMemoryAllocateInfo allocate = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = &(VkMemoryAllocateFlagsInfo){.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                            .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT},
      .allocationSize = (VkDeviceSize)count * BUFFER_STRIDE,
      .memoryTypeIndex = vkh_memory_type(ctx, requirements.memoryTypeBits, 0),
   };
   VkDeviceMemory memory;
   VKH_CHECK(vkAllocateMemory(ctx->device, &allocate, NULL, &memory));
   for (uint32_t i = 0; i < count; i++)
      VKH_CHECK(vkBindBufferMemory(ctx->device, buffers[i], memory, (uint64_t)i * BUFFER_STRIDE));
   return memory;
}

static VkDeviceAddress
get_address(struct vkh_context *ctx, VkBuffer buffer)
{
   const VkBufferDeviceAddressInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
      .buffer = buffer,
   };
   return vkGetBufferDeviceAddress(ctx->device, &info);
}

/* Of buffers.comp, with its table of addresses */
static VkPipeline
create_address_pipeline(struct program *program, const struct vkh_buffer *table)
{
   struct vkh_context *ctx = program->ctx;

   vkh_set_write_buffer(ctx, program->set, 0, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, table->buffer,
                        0, VK_WHOLE_SIZE);
   VkShaderModule module = vkh_shader_module(ctx, program->code, program->size, "buffers.comp");
   VkPipeline pipeline = vkh_compute_pipeline(
      ctx, &(struct vkh_compute_desc){.module = module, .layout = program->layout});
   vkDestroyShaderModule(ctx->device, module, NULL);
   return pipeline;
}

/* Shadow memory asks for address space, and for memory only where it is touched. */
static void
skip_without_shadow_memory(void)
{
   struct rlimit limit;
   int overcommit = 0;
   FILE *f = fopen("/proc/sys/vm/overcommit_memory", "r");

   if (f && fscanf(f, "%d", &overcommit) == 1 && overcommit == 2)
      vkh_skip("vm.overcommit_memory is 2: address space costs memory");
   if (f)
      fclose(f);
   if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      vkh_skip("address space is limited (ulimit -v)");
}

static int
large_memory(struct program *program, uint32_t count)
{
   struct vkh_context *ctx = program->ctx;
   const uint32_t words = LARGE_SIZE / TOUCHED_EVERY;
   struct vkh_buffer *buffers = calloc(count, sizeof(*buffers));
   struct vkh_buffer table = vkh_buffer_create(ctx, sizeof(uint64_t) * count * words, "addresses");
   uint64_t *addresses = table.map;

   for (uint32_t i = 0; i < count; i++) {
      buffers[i] = vkh_buffer_create_unwritten(ctx, LARGE_SIZE, "large");
      for (uint32_t j = 0; j < words; j++)
         addresses[i * words + j] = buffers[i].address + j * TOUCHED_EVERY;
   }
   VkPipeline pipeline = create_address_pipeline(program, &table);

   /* The first one compiles. */
   dispatch(program, pipeline, 1, 1);
   const long before = resident_kib();
   dispatch(program, pipeline, count * words, (count * words + 63) / 64);
   const long cost = resident_kib() - before;
   const long allowed =
      count * words * PAGES_A_WORD * (sysconf(_SC_PAGESIZE) / 1024) + TOLERATED_KIB;
   printf("large: %u words touched in %u GiB cost %ld KiB, %ld are allowed\n", count * words, count,
          cost, allowed);

   /* Storing the same value twice would be a warning. */
   VkCommandBuffer cmd = vkh_begin(ctx);
   for (program->added = 0; program->added < 2; program->added++)
      record_dispatch(program, cmd, pipeline, count * words, (count * words + 63) / 64);
   vkh_submit_wait(ctx, cmd);

   vkDestroyPipeline(ctx->device, pipeline, NULL);
   for (uint32_t i = 0; i < count; i++)
      vkh_buffer_destroy(ctx, &buffers[i]);
   vkh_buffer_destroy(ctx, &table);
   free(buffers);
   return cost <= allowed ? 0 : 1;
}

static int
many_buffers(struct program *program, uint32_t count)
{
   struct vkh_context *ctx = program->ctx;
   VkBuffer *buffers = calloc(count, sizeof(*buffers));
   VkDeviceMemory memory = allocate_buffers(ctx, buffers, count);
   struct vkh_buffer table =
      vkh_buffer_create(ctx, (uint64_t)count * sizeof(uint64_t), "addresses");
   uint64_t *addresses = table.map;

   for (uint32_t i = 0; i < count; i++)
      addresses[i] = get_address(ctx, buffers[i]) + BUFFER_SIZE - sizeof(uint32_t);
   VkPipeline pipeline = create_address_pipeline(program, &table);

   for (unsigned i = 0; i < 2; i++) {
      dispatch(program, pipeline, count, (count + 63) / 64);
      for (uint32_t j = 0; j < count; j += i ? 1 : GONE_ONE_OF) {
         vkDestroyBuffer(ctx->device, buffers[j], NULL);
         buffers[j] = VK_NULL_HANDLE;
      }
   }
   vkDestroyPipeline(ctx->device, pipeline, NULL);
   vkFreeMemory(ctx->device, memory, NULL);
   vkh_buffer_destroy(ctx, &table);
   free(buffers);
   return 0;
}

int
main(int argc, char **argv)
{
   static const struct {
      const char *name;
      int (*run)(struct program *program, uint32_t count);
   } modes[] = {
      {"shaders", many_shaders}, {"resubmissions", many_submits}, {"frames", many_frames},
      {"buffers", many_buffers}, {"large", large_memory},
   };
   unsigned mode = 0;

   while (argc == 4 && mode < VKH_COUNT(modes) && strcmp(argv[1], modes[mode].name) != 0)
      mode++;
   if (argc != 4 || mode == VKH_COUNT(modes))
      vkh_die("usage: gpuval-growth shaders|resubmissions|frames|buffers|large SPIRV COUNT");
   const bool by_address = modes[mode].run == many_buffers || modes[mode].run == large_memory;
   if (modes[mode].run == large_memory) {
      skip_without_shadow_memory();
      prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* or the kernel's pages are 2 MiB each */
   }

   struct program program = {.ctx = vkh_context_create(NULL)};
   program.code = vkh_read_file(argv[2], &program.size);
   while (program.number_word < program.size / 4 && program.code[program.number_word] != NUMBER)
      program.number_word++;
   if (!by_address && program.number_word == program.size / 4)
      vkh_die("%s has no number to replace", argv[2]);

   VkDescriptorSetLayout set_layout =
      vkh_set_layout_simple(program.ctx, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1);
   program.set_layout = set_layout;
   program.layout =
      vkh_pipeline_layout(program.ctx, &set_layout, 1, COMMAND_WORDS * sizeof(uint32_t));
   program.set = vkh_set_allocate(program.ctx, set_layout);
   program.buffer = vkh_buffer_create(program.ctx, DATA_WORDS * sizeof(uint32_t), "data");
   vkh_set_write_buffer(program.ctx, program.set, 0, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                        program.buffer.buffer, 0, VK_WHOLE_SIZE);

   uint32_t count = strtoul(argv[3], NULL, 10);
   int result = modes[mode].run(&program, count);

   vkh_buffer_destroy(program.ctx, &program.buffer);
   vkDestroyPipelineLayout(program.ctx->device, program.layout, NULL);
   vkDestroyDescriptorSetLayout(program.ctx->device, set_layout, NULL);
   vkh_context_destroy(program.ctx);
   free(program.code);
   return result;
}
