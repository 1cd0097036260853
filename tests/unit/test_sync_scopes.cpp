/* SPDX-License-Identifier: MIT */

/* What begins a new epoch: the state machine, and the notes about submits that
 * feed it.
 */

#include <vector>

#include <gtest/gtest.h>

#include "base/gpuval_layout.h"
#include "core/gpuval_submits.h"

namespace {

constexpr VkPipelineStageFlags2 COMPUTE = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
constexpr VkPipelineStageFlags2 VERTEX = VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT;
constexpr VkPipelineStageFlags2 FRAGMENT = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT;
constexpr VkPipelineStageFlags2 RAYS = VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR;
constexpr VkPipelineStageFlags2 INDIRECT = VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT;
constexpr VkPipelineStageFlags2 TRANSFER = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
constexpr VkPipelineStageFlags2 COLOR = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT;
constexpr VkPipelineStageFlags2 HOST = VK_PIPELINE_STAGE_2_HOST_BIT;
constexpr VkPipelineStageFlags2 TOP = VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT;
constexpr VkPipelineStageFlags2 BOTTOM = VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT;
constexpr VkPipelineStageFlags2 ALL = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
constexpr VkPipelineStageFlags2 GRAPHICS = VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT;

constexpr VkAccessFlags2 READ = VK_ACCESS_2_SHADER_READ_BIT;
constexpr VkAccessFlags2 WRITE = VK_ACCESS_2_SHADER_WRITE_BIT;
constexpr VkAccessFlags2 MEMORY_READ = VK_ACCESS_2_MEMORY_READ_BIT;
constexpr VkAccessFlags2 MEMORY_WRITE = VK_ACCESS_2_MEMORY_WRITE_BIT;
constexpr VkAccessFlags2 INDIRECT_READ = VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT;

enum relation {
   HAZARD, /* the same epoch: all conflicts are seen */
   WRITE_AFTER_READ_OK,
   ORDERED,
};

class scopes : public ::testing::Test {
 protected:
   struct run {
      uint32_t epoch, flags, command, epoch_command;
   };

   void SetUp() override
   {
      gpuval_sync_init(&sync);
   }

   run work(enum gpuval_sync_work kind, VkPipelineStageFlags2 stages, uint64_t submit = 1)
   {
      struct gpuval_command_data data = {};
      data.command_id = ++command;
      gpuval_sync_work(&sync, kind, stages, submit, &data);
      EXPECT_LE(data.epoch_command, command);
      return run{data.epoch, data.sync_flags, command, data.epoch_command};
   }

   run dispatch(uint64_t submit = 1)
   {
      return work(GPUVAL_SYNC_COMPUTE, COMPUTE, submit);
   }

   run draw(uint64_t submit = 1)
   {
      return work(GPUVAL_SYNC_GRAPHICS, VERTEX | FRAGMENT, submit);
   }

   run trace()
   {
      return work(GPUVAL_SYNC_RAYS, RAYS);
   }

   run indirect()
   {
      return work(GPUVAL_SYNC_INDIRECT, INDIRECT);
   }

   bool barrier(VkPipelineStageFlags2 src, VkAccessFlags2 src_access, VkPipelineStageFlags2 dst,
                VkAccessFlags2 dst_access)
   {
      VkMemoryBarrier2 memory = {};
      memory.srcStageMask = src;
      memory.srcAccessMask = src_access;
      memory.dstStageMask = dst;
      memory.dstAccessMask = dst_access;

      VkDependencyInfo info = {};
      info.memoryBarrierCount = 1;
      info.pMemoryBarriers = &memory;
      return gpuval_sync_dependency(&sync, &info);
   }

   static relation between(run before, run after)
   {
      return after.epoch != before.epoch                     ? ORDERED
             : after.flags & GPUVAL_SYNC_WRITE_AFTER_READ_OK ? WRITE_AFTER_READ_OK
                                                             : HAZARD;
   }

   /* From one dispatch to the next */
   relation dispatches(VkPipelineStageFlags2 src, VkAccessFlags2 src_access,
                       VkPipelineStageFlags2 dst, VkAccessFlags2 dst_access)
   {
      gpuval_sync_init(&sync);
      run first = dispatch();
      barrier(src, src_access, dst, dst_access);
      return between(first, dispatch());
   }

   struct gpuval_sync sync;
   uint32_t command = 0;
};

TEST_F(scopes, without_a_barrier)
{
   run first = dispatch();
   EXPECT_NE(first.epoch, 0u);
   EXPECT_EQ(between(first, dispatch()), HAZARD);
   EXPECT_EQ(between(first, draw()), HAZARD);
   EXPECT_EQ(between(first, trace()), HAZARD);
   EXPECT_EQ(between(first, indirect()), HAZARD);
}

TEST_F(scopes, memory_barriers_between_shaders)
{
   EXPECT_EQ(dispatches(COMPUTE, WRITE, COMPUTE, READ), ORDERED);
   EXPECT_EQ(dispatches(COMPUTE, WRITE, COMPUTE, WRITE), ORDERED);
   EXPECT_EQ(dispatches(ALL, MEMORY_WRITE, ALL, MEMORY_READ), ORDERED);
   EXPECT_EQ(dispatches(ALL, WRITE, COMPUTE, VK_ACCESS_2_UNIFORM_READ_BIT), ORDERED);
   EXPECT_EQ(dispatches(COMPUTE, VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT, ALL,
                        VK_ACCESS_2_SHADER_STORAGE_READ_BIT),
             ORDERED);
   EXPECT_EQ(dispatches(COMPUTE | TRANSFER, WRITE, TRANSFER | COMPUTE, READ), ORDERED);
}

TEST_F(scopes, execution_only)
{
   EXPECT_EQ(dispatches(COMPUTE, 0, COMPUTE, 0), WRITE_AFTER_READ_OK);
   EXPECT_EQ(dispatches(COMPUTE, READ, COMPUTE, WRITE), WRITE_AFTER_READ_OK);
   EXPECT_EQ(dispatches(COMPUTE, 0, COMPUTE, READ), WRITE_AFTER_READ_OK);
   EXPECT_EQ(dispatches(COMPUTE, WRITE, COMPUTE, 0), WRITE_AFTER_READ_OK);
   EXPECT_EQ(dispatches(ALL, 0, ALL, MEMORY_READ), WRITE_AFTER_READ_OK);
   EXPECT_EQ(dispatches(BOTTOM, 0, TOP, 0), WRITE_AFTER_READ_OK);
   EXPECT_EQ(dispatches(COMPUTE, VK_ACCESS_2_TRANSFER_WRITE_BIT, COMPUTE, READ),
             WRITE_AFTER_READ_OK);
   EXPECT_EQ(dispatches(COMPUTE, WRITE, COMPUTE, VK_ACCESS_2_INDEX_READ_BIT), WRITE_AFTER_READ_OK);
}

TEST_F(scopes, that_do_not_reach_shaders)
{
   EXPECT_EQ(dispatches(TRANSFER, MEMORY_WRITE, TRANSFER, MEMORY_READ), HAZARD);
   EXPECT_EQ(dispatches(HOST, VK_ACCESS_2_HOST_WRITE_BIT, COMPUTE, READ), HAZARD);
   EXPECT_EQ(dispatches(COMPUTE, WRITE, HOST, VK_ACCESS_2_HOST_READ_BIT), HAZARD);
   EXPECT_EQ(dispatches(TRANSFER, MEMORY_WRITE, COMPUTE, READ), HAZARD);
   EXPECT_EQ(dispatches(COMPUTE, WRITE, TRANSFER, MEMORY_READ), HAZARD);
   EXPECT_EQ(dispatches(0, 0, 0, 0), HAZARD);
   EXPECT_EQ(dispatches(TOP, 0, COMPUTE, READ), HAZARD);
   EXPECT_EQ(dispatches(COMPUTE, WRITE, BOTTOM, 0), HAZARD);
}

TEST_F(scopes, of_shaders_that_have_not_run)
{
   EXPECT_EQ(dispatches(VERTEX, WRITE, ALL, MEMORY_READ), HAZARD);
   EXPECT_EQ(dispatches(GRAPHICS, MEMORY_WRITE, ALL, MEMORY_READ), HAZARD);
   EXPECT_EQ(dispatches(COLOR, MEMORY_WRITE, ALL, MEMORY_READ), HAZARD);
   EXPECT_EQ(dispatches(RAYS, WRITE, COMPUTE, READ), HAZARD);
}

TEST_F(scopes, for_shaders_of_another_kind)
{
   EXPECT_EQ(dispatches(ALL, MEMORY_WRITE, FRAGMENT, READ), HAZARD);
   EXPECT_EQ(dispatches(ALL, MEMORY_WRITE, GRAPHICS, MEMORY_READ | MEMORY_WRITE),
             WRITE_AFTER_READ_OK)
      << "indirect arguments come before the shader";
   EXPECT_EQ(dispatches(ALL, MEMORY_WRITE, RAYS, READ), HAZARD);

   gpuval_sync_init(&sync);
   run first = dispatch();
   EXPECT_TRUE(barrier(COMPUTE, WRITE, FRAGMENT, READ));
   EXPECT_EQ(between(first, dispatch()), HAZARD);
   EXPECT_EQ(between(first, draw()), ORDERED);
}

TEST_F(scopes, early_and_late_stages)
{
   /* Stages that come earlier or later in a draw count for execution. */
   run first = draw();
   barrier(COLOR, VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT, COMPUTE, WRITE);
   EXPECT_EQ(between(first, dispatch()), WRITE_AFTER_READ_OK);

   gpuval_sync_init(&sync);
   first = dispatch();
   barrier(COMPUTE, WRITE, VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT,
           VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT);
   EXPECT_EQ(between(first, draw()), WRITE_AFTER_READ_OK);

   gpuval_sync_init(&sync);
   first = work(GPUVAL_SYNC_GRAPHICS, FRAGMENT);
   barrier(VERTEX, WRITE, FRAGMENT, READ);
   EXPECT_EQ(between(first, work(GPUVAL_SYNC_GRAPHICS, FRAGMENT)), HAZARD);
}

TEST_F(scopes, image_barriers_order_execution_only)
{
   VkImageMemoryBarrier2 image = {};
   image.srcStageMask = image.dstStageMask = ALL;
   image.srcAccessMask = image.dstAccessMask = MEMORY_READ | MEMORY_WRITE;
   VkDependencyInfo info = {};
   info.imageMemoryBarrierCount = 1;
   info.pImageMemoryBarriers = &image;

   run first = dispatch();
   EXPECT_FALSE(gpuval_sync_dependency(&sync, &info));
   EXPECT_EQ(between(first, dispatch()), WRITE_AFTER_READ_OK);
}

TEST_F(scopes, buffer_barriers_count_like_memory_barriers)
{
   VkBufferMemoryBarrier2 buffer = {};
   buffer.srcStageMask = buffer.dstStageMask = COMPUTE;
   buffer.srcAccessMask = WRITE;
   buffer.dstAccessMask = READ;
   VkDependencyInfo info = {};
   info.bufferMemoryBarrierCount = 1;
   info.pBufferMemoryBarriers = &buffer;

   run first = dispatch();
   EXPECT_TRUE(gpuval_sync_dependency(&sync, &info));
   EXPECT_EQ(between(first, dispatch()), ORDERED);
}

TEST_F(scopes, chains)
{
   run first = dispatch();
   EXPECT_FALSE(barrier(COMPUTE, WRITE, TRANSFER, VK_ACCESS_2_TRANSFER_READ_BIT));
   EXPECT_EQ(between(first, dispatch()), HAZARD);
   EXPECT_TRUE(barrier(TRANSFER, VK_ACCESS_2_TRANSFER_WRITE_BIT, COMPUTE, READ));
   EXPECT_EQ(between(first, dispatch()), ORDERED);

   /* A chain of execution makes nothing available. */
   gpuval_sync_init(&sync);
   first = dispatch();
   barrier(COMPUTE, 0, TRANSFER, VK_ACCESS_2_TRANSFER_READ_BIT);
   barrier(TRANSFER, MEMORY_WRITE, COMPUTE, READ);
   EXPECT_EQ(between(first, dispatch()), WRITE_AFTER_READ_OK);

   /* The links do not meet. */
   gpuval_sync_init(&sync);
   first = dispatch();
   barrier(COMPUTE, WRITE, TRANSFER, VK_ACCESS_2_TRANSFER_READ_BIT);
   barrier(HOST, VK_ACCESS_2_HOST_WRITE_BIT, COMPUTE, READ);
   EXPECT_EQ(between(first, dispatch()), HAZARD);

   /* Barriers of one command are no chain. */
   gpuval_sync_init(&sync);
   first = dispatch();
   VkMemoryBarrier2 memory[2] = {};
   memory[0].srcStageMask = COMPUTE;
   memory[0].srcAccessMask = WRITE;
   memory[0].dstStageMask = memory[1].srcStageMask = TRANSFER;
   memory[1].dstStageMask = COMPUTE;
   memory[1].dstAccessMask = READ;
   VkDependencyInfo info = {};
   info.memoryBarrierCount = 2;
   info.pMemoryBarriers = memory;
   EXPECT_FALSE(gpuval_sync_dependency(&sync, &info));
   EXPECT_EQ(between(first, dispatch()), HAZARD);

   /* Made available by one barrier, visible by the next */
   gpuval_sync_init(&sync);
   first = dispatch();
   barrier(COMPUTE, WRITE, COMPUTE, 0);
   barrier(COMPUTE, 0, COMPUTE, READ);
   EXPECT_EQ(between(first, dispatch()), ORDERED);
}

TEST_F(scopes, chain_through_other_work)
{
   run first = dispatch();
   barrier(COMPUTE, WRITE, FRAGMENT, READ);
   run second = draw();
   EXPECT_EQ(between(first, second), ORDERED);
   barrier(FRAGMENT, WRITE, COMPUTE, READ);
   run third = dispatch();
   EXPECT_EQ(between(first, third), ORDERED);
   EXPECT_EQ(between(second, third), ORDERED);
}

TEST_F(scopes, several_barriers_of_one_command)
{
   VkMemoryBarrier2 memory[2] = {};
   memory[0].srcStageMask = memory[0].dstStageMask = memory[1].srcStageMask = COMPUTE;
   memory[0].srcAccessMask = memory[1].srcAccessMask = WRITE;
   memory[0].dstAccessMask = memory[1].dstAccessMask = READ;
   memory[1].dstStageMask = FRAGMENT;
   VkDependencyInfo info = {};
   info.memoryBarrierCount = 2;
   info.pMemoryBarriers = memory;

   run first = dispatch();
   EXPECT_TRUE(gpuval_sync_dependency(&sync, &info));
   run second = dispatch();
   EXPECT_EQ(between(first, second), ORDERED);
   run third = draw();
   EXPECT_EQ(between(first, third), ORDERED);
   EXPECT_EQ(between(second, third), HAZARD);
}

TEST_F(scopes, work_that_no_barrier_was_for_meets_what_has_run_since)
{
   run first = dispatch();
   barrier(COMPUTE, WRITE, COMPUTE, READ);
   run second = dispatch();
   EXPECT_EQ(between(first, second), ORDERED);
   EXPECT_EQ(between(second, draw()), HAZARD);

   /* If nothing has run, it meets what ran before. */
   gpuval_sync_init(&sync);
   first = dispatch();
   barrier(COMPUTE, WRITE, COMPUTE, READ);
   EXPECT_EQ(between(first, draw()), HAZARD);
}

TEST_F(scopes, a_barrier_for_work_that_was_left_behind)
{
   dispatch();
   barrier(COMPUTE, WRITE, FRAGMENT, READ);
   run second = draw();
   /* Orders the draw's vertex shader, which has no chain to the dispatch. */
   barrier(VERTEX, WRITE, COMPUTE, READ);
   EXPECT_EQ(between(second, dispatch()), ORDERED);
}

TEST_F(scopes, kinds_meet_again_behind_a_barrier_for_all)
{
   dispatch();
   barrier(COMPUTE, WRITE, FRAGMENT, READ);
   dispatch();
   barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ);
   run first = dispatch();
   EXPECT_EQ(between(first, draw()), HAZARD);
   EXPECT_EQ(between(first, trace()), HAZARD);
   EXPECT_EQ(between(first, indirect()), HAZARD);

   /* The first of them has had an epoch of its own, where nothing ran. */
   gpuval_sync_init(&sync);
   dispatch();
   barrier(COMPUTE, WRITE, FRAGMENT, READ);
   dispatch();
   barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ);
   first = draw();
   EXPECT_EQ(between(first, dispatch()), HAZARD);
}

TEST_F(scopes, indirect)
{
   run first = dispatch();
   EXPECT_TRUE(barrier(COMPUTE, WRITE, INDIRECT, INDIRECT_READ));
   EXPECT_EQ(between(first, indirect()), ORDERED);
   EXPECT_EQ(between(first, dispatch()), WRITE_AFTER_READ_OK);

   gpuval_sync_init(&sync);
   first = dispatch();
   barrier(COMPUTE, WRITE, COMPUTE, READ | WRITE);
   EXPECT_EQ(between(first, indirect()), HAZARD);
   EXPECT_EQ(between(first, dispatch()), ORDERED);

   gpuval_sync_init(&sync);
   first = dispatch();
   barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ);
   EXPECT_EQ(between(first, indirect()), ORDERED);

   gpuval_sync_init(&sync);
   first = dispatch();
   barrier(COMPUTE, WRITE, INDIRECT, READ);
   EXPECT_EQ(between(first, indirect()), WRITE_AFTER_READ_OK) << "it reads: a hazard still";

   /* Of an argument that is read, then written */
   gpuval_sync_init(&sync);
   first = indirect();
   barrier(INDIRECT, 0, COMPUTE, 0);
   EXPECT_EQ(between(first, dispatch()), WRITE_AFTER_READ_OK);

   /* The same where they have been read in another epoch */
   gpuval_sync_init(&sync);
   first = dispatch();
   barrier(COMPUTE, WRITE, COMPUTE, READ);
   EXPECT_EQ(between(first, indirect()), HAZARD);
   barrier(INDIRECT, 0, COMPUTE, 0);
   run second = dispatch();
   EXPECT_EQ(between(first, second), ORDERED);
   EXPECT_EQ(second.flags, GPUVAL_SYNC_WRITE_AFTER_READ_OK);
}

TEST_F(scopes, flags_end_with_the_epoch)
{
   dispatch();
   barrier(COMPUTE, 0, COMPUTE, 0);
   barrier(COMPUTE, WRITE, COMPUTE, READ);
   EXPECT_EQ(dispatch().flags, 0u);
}

TEST_F(scopes, first_command_of_an_epoch)
{
   run first = dispatch();
   EXPECT_EQ(dispatch().epoch_command, first.command);
   barrier(COMPUTE, WRITE, COMPUTE, READ);
   run second = dispatch();
   EXPECT_EQ(second.epoch_command, second.command);
   EXPECT_EQ(dispatch().epoch_command, second.command);
   EXPECT_EQ(draw().epoch_command, second.command);

   /* What is read for a command is read in all epochs. */
   barrier(COMPUTE, WRITE, COMPUTE | INDIRECT, READ | INDIRECT_READ);
   run third = indirect();
   EXPECT_EQ(dispatch().epoch_command, third.command);
}

TEST_F(scopes, nothing_to_order_begins_nothing)
{
   EXPECT_FALSE(barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ));
   dispatch();
   EXPECT_TRUE(barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ));
   EXPECT_FALSE(barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ));
}

TEST_F(scopes, semaphores)
{
   run first = dispatch(1);
   EXPECT_TRUE(gpuval_sync_semaphore(&sync, 1, ALL, COMPUTE));
   EXPECT_EQ(between(first, dispatch(2)), ORDERED);

   /* Signalled before the work */
   gpuval_sync_init(&sync);
   first = dispatch(2);
   EXPECT_FALSE(gpuval_sync_semaphore(&sync, 1, ALL, ALL));
   EXPECT_EQ(between(first, dispatch(3)), HAZARD);

   /* The wait is for other stages, and then a chain. */
   gpuval_sync_init(&sync);
   first = dispatch(1);
   EXPECT_FALSE(gpuval_sync_semaphore(&sync, 1, ALL, COLOR));
   EXPECT_EQ(between(first, dispatch(2)), HAZARD);
   EXPECT_TRUE(barrier(COLOR, 0, COMPUTE, READ));
   EXPECT_EQ(between(first, dispatch(2)), ORDERED);

   /* The signal is for other stages. */
   gpuval_sync_init(&sync);
   first = dispatch(1);
   EXPECT_FALSE(gpuval_sync_semaphore(&sync, 1, TRANSFER, ALL));
   EXPECT_EQ(between(first, dispatch(2)), HAZARD);

   /* Lazy applications */
   gpuval_sync_init(&sync);
   first = dispatch(1);
   EXPECT_TRUE(gpuval_sync_semaphore(&sync, 1, BOTTOM, TOP));
}

TEST_F(scopes, host)
{
   run first = dispatch(5);
   EXPECT_FALSE(gpuval_sync_host(&sync, 4));
   EXPECT_EQ(between(first, dispatch(6)), HAZARD);
   EXPECT_TRUE(gpuval_sync_host(&sync, 5));
   EXPECT_EQ(between(first, dispatch(7)), ORDERED);
}

/* What submits are, one after the other */
class submits : public scopes {
 protected:
   void SetUp() override
   {
      scopes::SetUp();
      notes = gpuval_submits_create(2);
   }

   void TearDown() override
   {
      gpuval_submits_destroy(notes);
   }

   static VkCommandBuffer buffer(uintptr_t n)
   {
      return (VkCommandBuffer)n;
   }

   /* With one command buffer, which gets the submit's number */
   void submit(uint64_t wait = 0, VkPipelineStageFlags2 stages = ALL, uint64_t value = 0)
   {
      gpuval_submits_begin(notes, 0);
      if (wait)
         gpuval_submits_wait(notes, 0, wait, value, stages);
      gpuval_submits_commands(notes, 0, buffer(++submitted));
   }

   run execute()
   {
      bool began;
      uint64_t number = gpuval_submits_execute(notes, 0, buffer(++executed), &sync, &began);
      EXPECT_EQ(number, executed);
      return dispatch(number);
   }

   struct gpuval_submits *notes;
   uintptr_t submitted = 0, executed = 0;
};

TEST_F(submits, one_after_the_other)
{
   submit();
   submit();
   run first = execute();
   EXPECT_EQ(between(first, execute()), HAZARD);
}

TEST_F(submits, fence)
{
   submit();
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   submit();
   gpuval_submits_host_saw(notes, 0xf1, 0);
   submit();

   run first = execute();
   EXPECT_EQ(between(first, execute()), HAZARD);
   EXPECT_EQ(between(first, execute()), ORDERED);
}

TEST_F(submits, fence_of_work_before_the_last_barrier)
{
   submit();
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   submit();
   gpuval_submits_host_saw(notes, 0xf1, 0);
   submit();

   execute();
   barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ);
   run second = execute();
   EXPECT_EQ(between(second, execute()), HAZARD) << "nobody waited for the second submit";
}

TEST_F(submits, unknown_fence_and_idle)
{
   submit();
   gpuval_submits_host_saw(notes, 0xabc, 0);
   submit();
   run first = execute();
   run second = execute();
   EXPECT_EQ(between(first, second), ORDERED);

   gpuval_submits_host_saw_all(notes);
   submit();
   EXPECT_EQ(between(second, execute()), ORDERED);
}

TEST_F(submits, what_the_host_sees_later_does_not_count)
{
   submit();
   submit();
   gpuval_submits_host_saw_all(notes);
   run first = execute();
   EXPECT_EQ(between(first, execute()), HAZARD);
}

TEST_F(submits, binary_semaphore)
{
   submit();
   gpuval_submits_signal(notes, 0, 0x5e, 0, ALL);
   submit(0x5e, COMPUTE);
   run first = execute();
   EXPECT_EQ(between(first, execute()), ORDERED);
}

TEST_F(submits, timeline_semaphore)
{
   submit();
   gpuval_submits_signal(notes, 0, 0x71, 10, ALL);
   barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ);
   submit();
   gpuval_submits_signal(notes, 0, 0x71, 20, ALL);
   submit(0x71, ALL, 5);
   submit(0x71, ALL, 20);

   execute();
   barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ);
   run second = execute();
   run third = execute();
   EXPECT_EQ(between(second, third), HAZARD) << "5 is reached by the first submit";
   EXPECT_EQ(between(third, execute()), ORDERED);
}

TEST_F(submits, timeline_semaphore_with_a_long_history)
{
   for (unsigned i = 1; i <= 100; i++) {
      submit();
      gpuval_submits_signal(notes, 0, 0x71, i, ALL);
   }
   submit(0x71, ALL, 100);
   for (unsigned i = 1; i < 100; i++)
      execute();
   run last = execute();
   EXPECT_EQ(between(last, execute()), ORDERED);
}

TEST_F(submits, wait_without_commands)
{
   submit();
   gpuval_submits_signal(notes, 0, 0x5e, 0, ALL);
   gpuval_submits_begin(notes, 0);
   gpuval_submits_wait(notes, 0, 0x5e, 0, ALL);
   submit();

   run first = execute();
   bool began;
   EXPECT_EQ(gpuval_submits_execute(notes, 0, buffer(++executed), &sync, &began), 3u);
   EXPECT_TRUE(began);
   EXPECT_EQ(between(first, dispatch(3)), ORDERED);
}

TEST_F(submits, forgotten_objects)
{
   submit();
   submit();
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   gpuval_submits_forget(notes, 0xf1);
   gpuval_submits_forget(notes, 0xf2);
   submit();
   gpuval_submits_host_saw(notes, 0xf1, 0);
   submit();
   execute();
   execute();
   run third = execute();
   EXPECT_EQ(between(third, execute()), ORDERED) << "unknown now";
}

TEST_F(submits, failed_submit)
{
   bool began;
   submit();
   uint64_t last = gpuval_submits_last(notes, 0);
   submit(); /* of buffer 2 */
   submit(); /* of buffer 3 */
   gpuval_submits_failed(notes, 0, last);
   gpuval_submits_begin(notes, 0);
   gpuval_submits_commands(notes, 0, buffer(2));
   gpuval_submits_begin(notes, 0);
   gpuval_submits_commands(notes, 0, buffer(2));

   EXPECT_EQ(gpuval_submits_execute(notes, 0, buffer(1), &sync, &began), 1u);
   EXPECT_EQ(gpuval_submits_execute(notes, 0, buffer(2), &sync, &began), 4u);
   EXPECT_EQ(gpuval_submits_execute(notes, 0, buffer(2), &sync, &began), 5u);
}

/* Some submits of a call were accepted, and run. */
TEST_F(submits, half_a_failed_submit)
{
   bool began;
   submit();
   run first = execute();
   uint64_t last = gpuval_submits_last(notes, 0);
   submit();
   gpuval_submits_failed(notes, 0, last);
   gpuval_submits_execute(notes, 0, buffer(2), &sync, &began);
   EXPECT_EQ(between(first, dispatch(2)), ORDERED) << "nothing is known of it";
}

TEST_F(submits, timeline_semaphore_that_the_host_signals)
{
   submit();
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   submit();
   gpuval_submits_host_saw(notes, 0xf1, 0);
   gpuval_submits_host_signal(notes, 0x71, 1);
   submit(0x71, ALL, 1);

   run first = execute();
   EXPECT_EQ(between(first, execute()), HAZARD);
   EXPECT_EQ(between(first, execute()), ORDERED);
}

TEST_F(submits, wait_for_what_the_host_signalled_before_it_knew)
{
   submit();
   gpuval_submits_host_signal(notes, 0x71, 1); /* had seen nothing */
   submit(0x71, ALL, 1);
   run first = execute();
   EXPECT_EQ(between(first, execute()), HAZARD);
}

TEST_F(submits, binary_semaphore_is_signalled_once)
{
   submit();
   gpuval_submits_signal(notes, 0, 0x5e, 0, ALL);
   submit(0x5e, COMPUTE);
   submit();
   submit(0x5e, COMPUTE); /* signalled by the window system this time */
   execute();
   execute();
   run third = execute();
   EXPECT_EQ(between(third, execute()), ORDERED);
}

/* What one queue signals, another one waits for. */
TEST_F(submits, semaphore_of_another_queue)
{
   submit();
   gpuval_submits_signal(notes, 0, 0x5e, 0, ALL);
   submit();
   /* The other queue's submit comes after the first one of this queue only. */
   gpuval_submits_begin(notes, 1);
   gpuval_submits_wait(notes, 1, 0x5e, 0, ALL);
   gpuval_submits_signal(notes, 1, 0x5f, 0, ALL);
   submit(0x5f, ALL);

   execute();
   barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ);
   run second = execute();
   EXPECT_EQ(between(second, execute()), HAZARD);
}

TEST_F(submits, semaphore_of_another_queue_orders)
{
   submit();
   gpuval_submits_signal(notes, 0, 0x5e, 0, ALL);
   gpuval_submits_begin(notes, 1);
   gpuval_submits_wait(notes, 1, 0x5e, 0, ALL);
   gpuval_submits_signal(notes, 1, 0x5f, 0, ALL);
   submit(0x5f, ALL);
   run first = execute();
   EXPECT_EQ(between(first, execute()), ORDERED);
}

/* A fence of the other queue says nothing of this one. */
TEST_F(submits, fence_of_another_queue)
{
   submit();
   gpuval_submits_begin(notes, 1);
   gpuval_submits_signal(notes, 1, 0xf1, 0, ALL);
   gpuval_submits_host_saw(notes, 0xf1, 0);
   gpuval_submits_host_saw_queue(notes, 1);
   submit();
   run first = execute();
   EXPECT_EQ(between(first, execute()), HAZARD);
}

TEST_F(submits, fence_that_was_reset)
{
   submit();
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   submit();
   gpuval_submits_forget(notes, 0xf1);
   gpuval_submits_host_saw(notes, 0xf1, 0); /* signalled by the window system */
   submit();
   execute();
   run second = execute();
   EXPECT_EQ(between(second, execute()), ORDERED);
}

/* The parts of several infos happen at once as well (events). */
TEST_F(scopes, recorded_dependencies)
{
   VkMemoryBarrier2 memory[2] = {};
   memory[0].srcStageMask = COMPUTE;
   memory[0].srcAccessMask = WRITE;
   memory[0].dstStageMask = memory[1].srcStageMask = TRANSFER;
   memory[1].dstStageMask = COMPUTE;
   memory[1].dstAccessMask = READ;
   VkDependencyInfo infos[2] = {};
   infos[0].memoryBarrierCount = infos[1].memoryBarrierCount = 1;
   infos[0].pMemoryBarriers = &memory[0];
   infos[1].pMemoryBarriers = &memory[1];

   std::vector<uint64_t> copy(gpuval_sync_scopes_size(2, infos) / 8 + 1);
   struct gpuval_sync_scopes *recorded = (struct gpuval_sync_scopes *)copy.data();
   gpuval_sync_copy_scopes(recorded, 2, infos);
   EXPECT_EQ(recorded->count, 2u);

   run first = dispatch();
   EXPECT_FALSE(gpuval_sync_recorded_dependency(&sync, recorded));
   EXPECT_EQ(between(first, dispatch()), HAZARD);
   EXPECT_TRUE(gpuval_sync_recorded_dependency(&sync, recorded));
   EXPECT_EQ(between(first, dispatch()), ORDERED) << "twice is a chain";
}

} /* namespace */
