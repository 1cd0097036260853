/* SPDX-License-Identifier: MIT */

/* What only hardware can tell is asked when a device is created, before anything is
 * believed: a dispatch of 1,024 invocations in memory as our buffers are in. Do the atomics
 * work that reports and the filter of sync are made of? Is a record there when its bit is?
 * Does the host see it while work runs, and the GPU what the host writes?
 *
 * All of it is done with RADV as it is without checks, on a queue that the application does
 * not have yet. It ends in any case: what waits for the host gives up.
 */

#include "gpuval_radv_private.h"

#include "gpuval/src/compat/gpuval_nir_memory.h"
#include "nir/nir_builder.h"
#include "radv_device.h"
#include "radv_physical_device.h"
#include "radv_queue.h"

#include "util/os_time.h"
#include "util/u_atomic.h"
#include "vk_enum_to_str.h"
#include "vk_shader_module.h"

#define GROUP       64
#define GROUPS      16
#define INVOCATIONS (GROUP * GROUPS)

/* Loads of a word that the host has not written yet: some milliseconds at most */
#define PATIENCE 16384
/* Of a swap, which 31 others may come before */
#define MAX_SWAPS 1024

#define MAX_RUNNING_NS 2000000000ull
#define MAX_BUSY_NS    200000000 /* of looking all the time, */
#define LOOK_NS        20000     /* and before the kernel is asked again */

struct memory {
   uint32_t begun; /* by the GPU */
   uint32_t go;    /* by the host then, */
   uint32_t saw;   /* and by the GPU when it has seen that */
   uint32_t sum_32;
   uint64_t sum_64;
   uint32_t twice; /* bits that an atomic has set which was set already */
   uint32_t ended; /* invocations */
   uint32_t claims[INVOCATIONS / 32];
   uint64_t marks[INVOCATIONS / 64];
   uint32_t published[INVOCATIONS / 32];
   uint32_t swapped[INVOCATIONS / 32]; /* the same by compare-and-swap */
   uint32_t records[INVOCATIONS][4];
};

#define SUM_64 0x100000001ull /* that each adds: it carries */

static uint32_t
record_word(uint32_t invocation, unsigned word)
{
   return (invocation + 1) * 0x9e3779b1u + word;
}

/* --- The shader --- */

struct shader {
   nir_builder b;
   nir_def *address;
   nir_def *id;
};

static nir_def *
at(struct shader *s, unsigned offset)
{
   return nir_iadd_imm(&s->b, s->address, offset);
}

/* Of an array with an element for so many invocations */
static nir_def *
at_mine(struct shader *s, unsigned offset, unsigned invocations, unsigned size)
{
   nir_builder *b = &s->b;
   nir_def *index = nir_udiv_imm(b, s->id, invocations);

   return nir_iadd(b, at(s, offset), nir_u2u64(b, nir_imul_imm(b, index, size)));
}

static void
add(struct shader *s, unsigned offset, nir_def *value)
{
   nir_global_atomic(&s->b, value->bit_size, at(s, offset), value, .atomic_op = nir_atomic_op_iadd);
}

/* Sets a bit that nobody else sets, and says so if somebody has. */
static void
set_bit(struct shader *s, nir_def *address, nir_def *bit)
{
   nir_builder *b = &s->b;
   nir_def *before =
      nir_global_atomic(b, bit->bit_size, address, bit, .atomic_op = nir_atomic_op_ior);

   nir_push_if(b, nir_ine_imm(b, nir_iand(b, before, bit), 0));
   add(s, offsetof(struct memory, twice), nir_imm_int(b, 1));
   nir_pop_if(b, NULL);
}

/* The same by compare-and-swap, which it gives up some time. */
static void
swap_bit(struct shader *s, nir_def *address, nir_def *bit)
{
   nir_builder *b = &s->b;
   nir_variable *before = nir_local_variable_create(b->impl, glsl_uint_type(), "before");
   nir_variable *left = nir_local_variable_create(b->impl, glsl_uint_type(), "swaps_left");

   nir_store_var(b, before, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, left, nir_imm_int(b, MAX_SWAPS), 0x1);
   nir_push_loop(b);
   {
      nir_def *expected = nir_load_var(b, before);
      nir_def *now = nir_iadd_imm(b, nir_load_var(b, left), -1);
      nir_def *found = nir_global_atomic_swap(b, 32, address, expected, nir_ior(b, expected, bit),
                                              .atomic_op = nir_atomic_op_cmpxchg);
      nir_store_var(b, before, found, 0x1);
      nir_store_var(b, left, now, 0x1);
      nir_break_if(b, nir_ior(b, nir_ieq(b, found, expected), nir_ieq_imm(b, now, 0)));
   }
   nir_pop_loop(b, NULL);
}

static void
release(nir_builder *b)
{
   nir_barrier(b, .memory_scope = SCOPE_DEVICE, .memory_semantics = NIR_MEMORY_RELEASE,
               .memory_modes = nir_var_mem_global);
}

/* The first invocation: begins, and waits for the host a while. */
static void
meet_host(struct shader *s)
{
   nir_builder *b = &s->b;
   nir_variable *left = nir_local_variable_create(b->impl, glsl_uint_type(), "left");

   gpuval_store_global(b, at(s, offsetof(struct memory, begun)), 4, nir_imm_int(b, 1), 0x1);
   nir_store_var(b, left, nir_imm_int(b, PATIENCE), 0x1);
   nir_push_loop(b);
   {
      nir_def *now = nir_load_var(b, left);
      nir_break_if(b, nir_ieq_imm(b, now, 0));
      nir_store_var(b, left, nir_iadd_imm(b, now, -1), 0x1);

      nir_def *go =
         nir_build_load_global(b, 1, 32, at(s, offsetof(struct memory, go)),
                               .access = ACCESS_COHERENT | ACCESS_VOLATILE, .align_mul = 4);
      nir_push_if(b, nir_ine_imm(b, go, 0));
      gpuval_store_global(b, at(s, offsetof(struct memory, saw)), 4, nir_imm_int(b, 1), 0x1);
      nir_jump(b, nir_jump_break);
      nir_pop_if(b, NULL);
   }
   nir_pop_loop(b, NULL);
}

static nir_shader *
build_shader(const struct radv_physical_device *pdev)
{
   struct shader s = {
      .b = nir_builder_init_simple_shader(
         MESA_SHADER_COMPUTE, &pdev->nir_options[MESA_SHADER_COMPUTE], "gpuval_self_test"),
   };
   nir_builder *b = &s.b;

   b->shader->info.workgroup_size[0] = GROUP;
   b->shader->info.workgroup_size[1] = b->shader->info.workgroup_size[2] = 1;
   s.address = nir_pack_64_2x32(b, nir_load_push_constant(b, 2, 32, nir_imm_int(b, 0), .range = 8));
   s.id = nir_iadd(b, nir_imul_imm(b, nir_channel(b, nir_load_workgroup_id(b), 0), GROUP),
                   nir_load_local_invocation_index(b));

   nir_push_if(b, nir_ieq_imm(b, s.id, 0));
   meet_host(&s);
   nir_pop_if(b, NULL);

   add(&s, offsetof(struct memory, sum_32), nir_imm_int(b, 1));
   add(&s, offsetof(struct memory, sum_64), nir_imm_int64(b, SUM_64));
   nir_def *bit = nir_ishl(b, nir_imm_int(b, 1), nir_iand_imm(b, s.id, 31));
   set_bit(&s, at_mine(&s, offsetof(struct memory, claims), 32, sizeof(uint32_t)), bit);
   set_bit(&s, at_mine(&s, offsetof(struct memory, marks), 64, sizeof(uint64_t)),
           nir_ishl(b, nir_imm_int64(b, 1), nir_iand_imm(b, s.id, 63)));

   nir_def *record = at_mine(&s, offsetof(struct memory, records), 1, 16);
   nir_def *first = nir_imul_imm(b, nir_iadd_imm(b, s.id, 1), 0x9e3779b1u);
   for (unsigned i = 0; i < 4; i++)
      gpuval_store_global(b, nir_iadd_imm(b, record, i * 4), 4, nir_iadd_imm(b, first, i), 0x1);
   release(b);
   nir_global_atomic(b, 32, at_mine(&s, offsetof(struct memory, published), 32, sizeof(uint32_t)),
                     bit, .atomic_op = nir_atomic_op_ior);
   swap_bit(&s, at_mine(&s, offsetof(struct memory, swapped), 32, sizeof(uint32_t)), bit);
   release(b);
   gpuval_store_global(b, at(&s, offsetof(struct memory, ended)), 4, nir_imm_int(b, 1), 0x1);

   NIR_PASS(_, b->shader, nir_lower_vars_to_ssa);
   return b->shader;
}

/* --- The host --- */

/* All that is created for it; NULL handles are good for what destroys. */
struct test {
   struct gpuval_radv *gpuval;
   struct radv_queue *queue;
   uint64_t address;
   struct memory *memory; /* write-combined */
   VkPipelineLayout layout;
   VkPipeline pipeline;
   VkCommandPool pool;
   VkFence fence;

   bool host_sees; /* while it runs */
   bool early;     /* a bit was there before its record */
   uint32_t seen[INVOCATIONS / 32];
};

static VkResult
prepare(struct test *test, VkCommandBuffer *cmd)
{
   struct radv_device *device = test->gpuval->radv;
   const struct vk_device_dispatch_table *table = &device->vk.dispatch_table;
   VkDevice handle = radv_device_to_handle(device);

   const VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = 8};
   const VkPipelineLayoutCreateInfo layout_info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
      .pushConstantRangeCount = 1,
      .pPushConstantRanges = &range,
   };
   VkResult result = table->CreatePipelineLayout(handle, &layout_info, NULL, &test->layout);
   if (result != VK_SUCCESS)
      return result;

   nir_shader *nir = build_shader(radv_device_physical(device));
   const VkComputePipelineCreateInfo pipeline_info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage =
         {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = vk_shader_module_handle_from_nir(nir),
            .pName = "main",
         },
      .layout = test->layout,
   };
   result = table->CreateComputePipelines(handle, VK_NULL_HANDLE, 1, &pipeline_info, NULL,
                                          &test->pipeline);
   ralloc_free(nir);
   if (result != VK_SUCCESS)
      return result;

   const VkCommandPoolCreateInfo pool_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
      .queueFamilyIndex = test->queue->vk.queue_family_index,
   };
   result = table->CreateCommandPool(handle, &pool_info, NULL, &test->pool);
   if (result != VK_SUCCESS)
      return result;

   const VkCommandBufferAllocateInfo allocate_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = test->pool,
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      .commandBufferCount = 1,
   };
   const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
   result = table->CreateFence(handle, &fence_info, NULL, &test->fence);
   return result == VK_SUCCESS ? table->AllocateCommandBuffers(handle, &allocate_info, cmd)
                               : result;
}

static VkResult
record(struct test *test, VkCommandBuffer cmd)
{
   const struct vk_device_dispatch_table *table = &test->gpuval->radv->vk.dispatch_table;
   const VkCommandBufferBeginInfo begin_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
   };

   VkResult result = table->BeginCommandBuffer(cmd, &begin_info);
   if (result != VK_SUCCESS)
      return result;
   table->CmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, test->pipeline);
   table->CmdPushConstants(cmd, test->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 8, &test->address);
   table->CmdDispatch(cmd, GROUPS, 1, 1);
   return table->EndCommandBuffer(cmd);
}

/* Records that have been published since, as gpuval_drain.c reads them */
static void
read_records(struct test *test)
{
   const struct memory *memory = test->memory;

   for (unsigned word = 0; word < INVOCATIONS / 32; word++) {
      uint32_t published = __atomic_load_n(&memory->published[word], __ATOMIC_ACQUIRE) |
                           __atomic_load_n(&memory->swapped[word], __ATOMIC_ACQUIRE);
      __atomic_thread_fence(__ATOMIC_SEQ_CST);

      u_foreach_bit (bit, published & ~test->seen[word]) {
         for (unsigned i = 0; i < 4; i++)
            test->early |= p_atomic_read(&memory->records[word * 32 + bit][i]) !=
                           record_word(word * 32 + bit, i);
      }
      test->seen[word] |= published;
   }
}

static VkResult
run(struct test *test, VkCommandBuffer cmd)
{
   struct radv_device *device = test->gpuval->radv;
   const struct vk_device_dispatch_table *table = &device->vk.dispatch_table;
   VkDevice handle = radv_device_to_handle(device);

   const VkCommandBufferSubmitInfo cmd_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
      .commandBuffer = cmd,
   };
   const VkSubmitInfo2 submit_info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
      .commandBufferInfoCount = 1,
      .pCommandBufferInfos = &cmd_info,
   };
   VkResult result =
      table->QueueSubmit2(vk_queue_to_handle(&test->queue->vk), 1, &submit_info, test->fence);
   if (result != VK_SUCCESS)
      return result;

   int64_t now = os_time_get_nano(), end = now + MAX_BUSY_NS;
   bool begun = false, answered = false;
   while (table->GetFenceStatus(handle, test->fence) == VK_NOT_READY && now < end) {
      test->host_sees |= begun;
      for (int64_t next = now + LOOK_NS; now < next; now = os_time_get_nano()) {
         begun |= p_atomic_read(&test->memory->begun) != 0;
         if (begun && !answered) {
            answered = true;
            p_atomic_set(&test->memory->go, 1);
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
         }
         read_records(test);
      }
   }
   result = table->WaitForFences(handle, 1, &test->fence, VK_TRUE, MAX_RUNNING_NS);
   if (result == VK_SUCCESS)
      read_records(test);
   return result;
}

static void
finish(struct test *test)
{
   struct radv_device *device = test->gpuval->radv;
   const struct vk_device_dispatch_table *table = &device->vk.dispatch_table;
   VkDevice handle = radv_device_to_handle(device);

   table->DestroyFence(handle, test->fence, NULL);
   table->DestroyCommandPool(handle, test->pool, NULL);
   table->DestroyPipeline(handle, test->pipeline, NULL);
   table->DestroyPipelineLayout(handle, test->layout, NULL);
   test->gpuval->winsys.base.free(&test->gpuval->winsys, test->memory, sizeof(*test->memory));
}

static bool
all_set(const void *bits, size_t size)
{
   for (size_t i = 0; i < size; i++) {
      if (((const volatile uint8_t *)bits)[i] != 0xff)
         return false;
   }
   return true;
}

/* Says what has been found, once a process if it is what it should be. Returns whether
 * there is something to rely on.
 */
static bool
judge(struct test *test, double milliseconds)
{
   const struct memory *memory = test->memory;
   const char *name = radv_device_physical(test->gpuval->radv)->name;
   static uint32_t noted;

   if (!memory->begun && !memory->ended && !memory->sum_32) {
      if (!p_atomic_xchg(&noted, 1))
         gpuval_log_note("self-test: nothing was executed on %s: it is no real GPU, and no shader "
                         "can report anything",
                         name);
      test->gpuval->executes_nothing = true;
      return true;
   }

   bool adds = memory->sum_32 == INVOCATIONS && memory->sum_64 == INVOCATIONS * SUM_64;
   bool claims = all_set(memory->claims, sizeof(memory->claims)) &&
                 all_set(memory->published, sizeof(memory->published)) && !memory->twice;
   bool swaps = all_set(memory->swapped, sizeof(memory->swapped));
   bool marks = all_set(memory->marks, sizeof(memory->marks));

   if (!adds || (!claims && !swaps) || test->early) {
      gpuval_log_warning("self-test on %s: %s: nothing is checked", name,
                         !adds         ? "atomic additions get lost"
                         : test->early ? "records come after the bits that say they are there"
                                       : "atomic bits get lost");
      return false;
   }
   if (!claims) {
      test->gpuval->swaps = true;
      gpuval_log_note("self-test on %s: atomic bits get lost: compare-and-swap takes their place",
                      name);
   }
   if (!marks) {
      test->gpuval->broken_checks |=
         BITFIELD_BIT(GPUVAL_CHECK_SYNC) | BITFIELD_BIT(GPUVAL_CHECK_SYNC_COMPUTE);
      gpuval_log_warning("self-test on %s: atomic bits of 64 get lost: sync is not checked", name);
   }
   if (marks && !p_atomic_xchg(&noted, 1))
      gpuval_log_note("self-test on %s: passed, %.1f ms; while work runs, the host sees %s, the "
                      "GPU %s",
                      name, milliseconds,
                      test->host_sees ? "its reports" : "none of its reports (they come later)",
                      memory->saw ? "what the host writes" : "nothing that the host writes");
   return true;
}

bool
gpuval_radv_self_test(struct gpuval_radv *gpuval)
{
   struct test test = {.gpuval = gpuval};
   int64_t begin = os_time_get_nano();

   if (!gpuval_options()->self_test)
      return true;
   vk_foreach_queue (queue, &gpuval->radv->vk) {
      struct radv_queue *radv = (struct radv_queue *)queue;
      if (!test.queue &&
          (radv->state.qf == RADV_QUEUE_GENERAL || radv->state.qf == RADV_QUEUE_COMPUTE))
         test.queue = radv;
   }
   /* Nothing can run there. */
   if (!test.queue || radv_device_physical(gpuval->radv)->info.family_overridden)
      return true;
   test.memory = gpuval->winsys.base.alloc(&gpuval->winsys, sizeof(struct memory), &test.address);
   if (!test.memory)
      return true; /* there is none for our buffers either */

   VkCommandBuffer cmd;
   VkResult result = prepare(&test, &cmd);
   if (result == VK_SUCCESS)
      result = record(&test, cmd);
   if (result == VK_SUCCESS)
      result = run(&test, cmd);
   if (result == VK_TIMEOUT) {
      /* Nothing of it may be freed. */
      gpuval_log_warning("self-test: it does not end: nothing is checked");
      gpuval_winsys_radv_forget(&gpuval->winsys, test.memory);
      return false;
   }

   bool good = false;
   if (result == VK_SUCCESS)
      good = judge(&test, (os_time_get_nano() - begin) / 1e6);
   else
      gpuval_log_warning("self-test: it cannot be run (%s): nothing is checked",
                         vk_Result_to_str(result));
   finish(&test);
   return good;
}
