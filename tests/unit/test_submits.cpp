/* SPDX-License-Identifier: MIT */

/* What the application submits, waits for and signals, as the queues execute it. */

#include <vector>

#include <gtest/gtest.h>

#include "core/order/gpuval_submits.h"

#include "util/ralloc.h"

namespace {

constexpr VkPipelineStageFlags2 COMPUTE = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
constexpr VkPipelineStageFlags2 FRAGMENT = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT;
constexpr VkPipelineStageFlags2 HOST = VK_PIPELINE_STAGE_2_HOST_BIT;
constexpr VkPipelineStageFlags2 ALL = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;

constexpr VkAccessFlags2 READ = VK_ACCESS_2_SHADER_READ_BIT;
constexpr VkAccessFlags2 WRITE = VK_ACCESS_2_SHADER_WRITE_BIT;
constexpr VkAccessFlags2 MEMORY_READ = VK_ACCESS_2_MEMORY_READ_BIT;
constexpr VkAccessFlags2 MEMORY_WRITE = VK_ACCESS_2_MEMORY_WRITE_BIT;

enum relation { HAZARD, ORDERED };

const VkEvent event = (VkEvent)0xe1;

class submits : public ::testing::Test {
 protected:
   struct run {
      uint32_t serial, order_class;
      gpuval_order_table table;
   };

   void SetUp() override
   {
      notes = gpuval_submits_create(3);
   }

   void TearDown() override
   {
      gpuval_submits_destroy(notes);
   }

   static VkCommandBuffer buffer(uintptr_t n)
   {
      return (VkCommandBuffer)n;
   }

   /* A dispatch */
   run work(unsigned queue = 0)
   {
      run result = {};
      struct gpuval_submits_table table = {};
      struct gpuval_command_data data = {};
      table.table = &result.table;
      table.address = 0x1234;
      gpuval_submits_work(notes, queue, 1u << GPUVAL_ORDER_COMPUTE, &table, &data);
      EXPECT_EQ(data.order_address, 0x1234u);
      result.serial = data.serial;
      result.order_class = data.order_class ? data.order_class : GPUVAL_ORDER_COMPUTE;
      return result;
   }

   static relation between(const run &before, const run &after)
   {
      const gpuval_order_row *row = &after.table.rows[GPUVAL_ORDER_COMPUTE][0];
      bool executed = before.serial <= row->execution_watermark[before.order_class];
      bool visible =
         before.serial <= row->memory_watermark[GPUVAL_ORDER_STORAGE_READ][before.order_class];
      EXPECT_EQ(executed, visible);
      return visible ? ORDERED : HAZARD;
   }

   void depend(const std::vector<VkDependencyInfo> &infos, const VkEvent *events = nullptr)
   {
      std::vector<uint64_t> memory(
         gpuval_dependency_size((uint32_t)infos.size(), events, infos.data()) / 8 + 1);
      gpuval_dependency *dependency = (gpuval_dependency *)memory.data();
      gpuval_dependency_init(dependency, (uint32_t)infos.size(), events, infos.data(), 0, nullptr);
      gpuval_submits_dependency(notes, 0, dependency);
   }

   static VkMemoryBarrier2 memory_barrier(VkPipelineStageFlags2 src, VkAccessFlags2 src_access,
                                          VkPipelineStageFlags2 dst, VkAccessFlags2 dst_access)
   {
      VkMemoryBarrier2 barrier = {};
      barrier.srcStageMask = src;
      barrier.srcAccessMask = src_access;
      barrier.dstStageMask = dst;
      barrier.dstAccessMask = dst_access;
      return barrier;
   }

   static VkDependencyInfo dependency(const VkMemoryBarrier2 *barrier)
   {
      VkDependencyInfo info = {};
      info.memoryBarrierCount = 1;
      info.pMemoryBarriers = barrier;
      return info;
   }

   void full_barrier()
   {
      const VkMemoryBarrier2 barrier = memory_barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ);
      depend({dependency(&barrier)});
   }

   void wait_event(VkPipelineStageFlags2 src)
   {
      const VkMemoryBarrier2 barrier = memory_barrier(src, WRITE, COMPUTE, READ);
      depend({dependency(&barrier)}, &event);
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
      uint64_t number = gpuval_submits_execute(notes, 0, buffer(++executed));
      EXPECT_EQ(number, executed);
      run result = work();
      return result;
   }

   run end()
   {
      run result = execute();
      gpuval_submits_end(notes, 0);
      return result;
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

TEST_F(submits, barriers_reach_across)
{
   submit();
   submit();
   run first = execute();
   full_barrier();
   EXPECT_EQ(between(first, execute()), ORDERED);
}

TEST_F(submits, fence)
{
   submit();
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   run first = end();
   submit();
   gpuval_submits_host_saw(notes, 0xf1, 0);
   submit();

   run second = execute();
   EXPECT_EQ(between(first, second), HAZARD) << "nobody had waited for the first one then";
   run third = execute();
   EXPECT_EQ(between(first, third), ORDERED);
   EXPECT_EQ(between(second, third), HAZARD);
}

TEST_F(submits, fence_that_is_not_known_and_idle)
{
   submit();
   run first = execute();
   gpuval_submits_host_saw(notes, 0xabc, 0);
   submit();
   run second = execute();
   EXPECT_EQ(between(first, second), ORDERED);

   gpuval_submits_host_saw_all(notes);
   submit();
   EXPECT_EQ(between(second, execute()), ORDERED);
}

TEST_F(submits, fence_that_was_reset)
{
   submit();
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   submit();
   end();
   run second = execute();
   gpuval_submits_forget(notes, 0xf1);
   gpuval_submits_host_saw(notes, 0xf1, 0); /* signalled by the window system */
   submit();
   EXPECT_EQ(between(second, execute()), ORDERED);
}

/* The wait of a queue that has executed all notes that are left of it */
TEST_F(submits, fence_without_commands)
{
   submit();
   run first = execute();
   gpuval_submits_begin(notes, 0);
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   gpuval_submits_host_saw(notes, 0xf1, 0);
   submit();
   gpuval_submits_execute(notes, 0, buffer(++executed));
   EXPECT_EQ(between(first, work()), ORDERED);

   run third = work();
   gpuval_submits_begin(notes, 0);
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   gpuval_submits_host_saw_queue(notes, 0);
   submit();
   gpuval_submits_execute(notes, 0, buffer(++executed));
   EXPECT_EQ(between(third, work()), ORDERED);
}

TEST_F(submits, binary_semaphore)
{
   submit();
   gpuval_submits_signal(notes, 0, 0x5e, 0, ALL);
   submit(0x5e, COMPUTE);
   submit();
   gpuval_submits_signal(notes, 0, 0x5e, 0, FRAGMENT);
   submit(0x5e, COMPUTE);
   run first = execute();
   run second = execute();
   EXPECT_EQ(between(first, second), ORDERED);
   run third = execute();
   EXPECT_EQ(between(second, third), HAZARD);
   EXPECT_EQ(between(third, execute()), HAZARD) << "signalled after other stages";
}

/* It is known which signal a wait is for, although the next one is noted already. */
TEST_F(submits, binary_semaphore_that_is_used_again)
{
   submit();
   gpuval_submits_signal(notes, 0, 0x5e, 0, ALL);
   gpuval_submits_begin(notes, 1);
   gpuval_submits_wait(notes, 1, 0x5e, 0, ALL);
   gpuval_submits_commands(notes, 1, buffer(100));
   submit();
   gpuval_submits_signal(notes, 0, 0x5e, 0, ALL);

   run first = execute();
   run second = end();
   gpuval_submits_execute(notes, 1, buffer(100));
   run other = work(1);
   EXPECT_EQ(between(first, other), ORDERED);
   EXPECT_EQ(between(second, other), HAZARD);
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

TEST_F(submits, timeline_semaphore)
{
   submit();
   gpuval_submits_signal(notes, 0, 0x71, 10, ALL);
   submit();
   gpuval_submits_signal(notes, 0, 0x71, 20, ALL);
   submit(0x71, ALL, 5);
   submit(0x71, ALL, 20);

   run first = execute();
   run second = execute();
   run third = execute();
   EXPECT_EQ(between(first, third), ORDERED);
   EXPECT_EQ(between(second, third), HAZARD) << "5 is reached by the first submit";
   EXPECT_EQ(between(second, execute()), ORDERED);
}

TEST_F(submits, timeline_semaphore_that_is_waited_for_before_it_is_signalled)
{
   gpuval_submits_begin(notes, 1);
   gpuval_submits_wait(notes, 1, 0x71, 1, ALL);
   gpuval_submits_commands(notes, 1, buffer(100));
   submit();
   gpuval_submits_signal(notes, 0, 0x71, 1, ALL);
   submit();

   run first = execute();
   run second = execute();
   gpuval_submits_execute(notes, 1, buffer(100));
   run other = work(1);
   EXPECT_EQ(between(first, other), ORDERED);
   EXPECT_EQ(between(second, other), HAZARD);
}

/* Noted by two threads, for two queues */
TEST_F(submits, timeline_semaphore_in_another_order)
{
   gpuval_submits_begin(notes, 1);
   gpuval_submits_wait(notes, 1, 0x71, 1, ALL);
   gpuval_submits_commands(notes, 1, buffer(100));
   gpuval_submits_signal(notes, 1, 0x71, 2, ALL);
   submit();
   gpuval_submits_signal(notes, 0, 0x71, 1, ALL);
   run first = end();
   gpuval_submits_execute(notes, 1, buffer(100));
   run other = work(1);
   gpuval_submits_end(notes, 1);
   EXPECT_EQ(between(first, other), ORDERED);

   gpuval_submits_host_saw(notes, 0x71, 1);
   submit();
   run third = execute();
   EXPECT_EQ(between(first, third), ORDERED);
   EXPECT_EQ(between(other, third), HAZARD);
   gpuval_submits_host_saw(notes, 0x71, 2);
   submit();
   EXPECT_EQ(between(other, execute()), ORDERED);
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

TEST_F(submits, timeline_semaphore_that_the_host_signals)
{
   submit();
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   run first = end();
   submit(0x71, ALL, 1);
   gpuval_submits_begin(notes, 1);
   gpuval_submits_wait(notes, 1, 0x71, 2, ALL);
   gpuval_submits_commands(notes, 1, buffer(100));
   gpuval_submits_host_signal(notes, 0x71, 1); /* has seen nothing */
   EXPECT_EQ(between(first, execute()), HAZARD);
   gpuval_submits_host_saw(notes, 0xf1, 0);
   gpuval_submits_host_signal(notes, 0x71, 2);
   run late = work();
   gpuval_submits_execute(notes, 1, buffer(100));
   run other = work(1);
   EXPECT_EQ(between(first, other), ORDERED);
   EXPECT_EQ(between(late, other), HAZARD);
}

TEST_F(submits, timeline_semaphore_of_another_process)
{
   submit();
   run first = execute();
   submit(0x71, ALL, 7);
   EXPECT_EQ(between(first, execute()), ORDERED);
}

TEST_F(submits, wait_without_commands)
{
   submit();
   gpuval_submits_signal(notes, 0, 0x5e, 0, ALL);
   gpuval_submits_begin(notes, 0);
   gpuval_submits_wait(notes, 0, 0x5e, 0, ALL);
   submit();

   run first = execute();
   EXPECT_EQ(gpuval_submits_execute(notes, 0, buffer(++executed)), 3u);
   EXPECT_EQ(between(first, work()), ORDERED);
}

/* Of one queue to another and back, where nothing is executed */
TEST_F(submits, semaphores_without_commands)
{
   submit();
   gpuval_submits_signal(notes, 0, 0x5e, 0, ALL);
   gpuval_submits_begin(notes, 1);
   gpuval_submits_wait(notes, 1, 0x5e, 0, ALL);
   gpuval_submits_signal(notes, 1, 0x5f, 0, ALL);
   submit();
   submit(0x5f, ALL);

   run first = execute();
   run second = execute();
   run third = execute();
   EXPECT_EQ(between(first, third), ORDERED);
   EXPECT_EQ(between(second, third), HAZARD);
}

/* What presents comes after all that has been submitted, and orders nothing behind it. */
TEST_F(submits, apart)
{
   submit();
   run first = execute();

   gpuval_submits_begin(notes, 0);
   gpuval_submits_begin_apart(notes, 0);
   gpuval_submits_commands(notes, 0, buffer(++submitted));
   gpuval_submits_end_apart(notes, 0);
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   submit();
   run apart = execute();
   EXPECT_EQ(between(first, apart), ORDERED);
   run second = execute();
   EXPECT_EQ(between(first, second), HAZARD);
   EXPECT_EQ(between(apart, second), HAZARD);
   gpuval_submits_host_saw(notes, 0xf1, 0);
   submit();
   run last = execute();
   EXPECT_EQ(between(first, last), ORDERED);
   EXPECT_EQ(between(apart, last), ORDERED);
   EXPECT_EQ(between(second, last), HAZARD);
}

TEST_F(submits, sparse)
{
   const VkBindSparseInfo info = {};
   submit();
   run first = execute();
   gpuval_submits_note_sparse(notes, 0, 1, &info, (VkFence)0xf1);
   gpuval_submits_host_saw(notes, 0xf1, 0);
   submit();
   gpuval_submits_execute(notes, 0, buffer(++executed));
   EXPECT_EQ(between(first, work()), ORDERED);
}

/* A fence of the other queue says nothing of this one. */
TEST_F(submits, fence_of_another_queue)
{
   submit();
   run first = execute();
   gpuval_submits_begin(notes, 1);
   gpuval_submits_signal(notes, 1, 0xf1, 0, ALL);
   gpuval_submits_host_saw(notes, 0xf1, 0);
   gpuval_submits_host_saw_queue(notes, 1);
   submit();
   EXPECT_EQ(between(first, execute()), HAZARD);
}

TEST_F(submits, forgotten_objects)
{
   submit();
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   end();
   submit();
   run second = execute();
   gpuval_submits_forget(notes, 0xf1);
   gpuval_submits_forget(notes, 0xf2);
   gpuval_submits_host_saw(notes, 0xf1, 0);
   submit();
   EXPECT_EQ(between(second, execute()), ORDERED) << "not known any more";
}

TEST_F(submits, failed_submit)
{
   submit();
   run first = execute();
   uint64_t last = gpuval_submits_last(notes, 0);
   submit(0x5e); /* of buffer 2, */
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   submit(); /* of buffer 3 */
   gpuval_submits_failed(notes, 0, last);
   gpuval_submits_begin(notes, 0);
   gpuval_submits_commands(notes, 0, buffer(2));
   gpuval_submits_begin(notes, 0);
   gpuval_submits_commands(notes, 0, buffer(2));

   EXPECT_EQ(gpuval_submits_execute(notes, 0, buffer(2)), 4u);
   EXPECT_EQ(between(first, work()), HAZARD) << "what has failed orders nothing";
   EXPECT_EQ(gpuval_submits_execute(notes, 0, buffer(2)), 5u);
}

/* What the host had seen is noted again. */
TEST_F(submits, failed_submit_after_a_wait)
{
   submit();
   run first = execute();
   gpuval_submits_host_saw_all(notes);
   uint64_t last = gpuval_submits_last(notes, 0);
   submit();
   gpuval_submits_failed(notes, 0, last);
   submit();
   gpuval_submits_execute(notes, 0, buffer(3));
   EXPECT_EQ(between(first, work()), ORDERED);
}

/* Some submits of a call were accepted, and run. */
TEST_F(submits, half_a_failed_submit)
{
   submit();
   run first = execute();
   uint64_t last = gpuval_submits_last(notes, 0);
   submit();
   gpuval_submits_failed(notes, 0, last);
   gpuval_submits_execute(notes, 0, buffer(2));
   EXPECT_EQ(between(first, work()), ORDERED) << "nothing is known of it";
}

TEST_F(submits, events)
{
   run first = work();
   gpuval_submits_set_event(notes, 0, event, COMPUTE);
   run second = work();
   wait_event(COMPUTE);
   run third = work();
   EXPECT_EQ(between(first, third), ORDERED);
   EXPECT_EQ(between(second, third), HAZARD);
}

TEST_F(submits, events_that_the_host_sees)
{
   submit();
   run first = execute();
   gpuval_submits_set_event(notes, 0, event, COMPUTE);
   run second = work();
   gpuval_submits_host_saw_event(notes, event);
   submit();
   run third = execute();
   EXPECT_EQ(between(first, third), ORDERED);
   EXPECT_EQ(between(second, third), HAZARD);
}

TEST_F(submits, events_that_the_host_sets)
{
   submit();
   run first = execute();
   gpuval_submits_host_saw_queue(notes, 0);
   gpuval_submits_host_set_event(notes, event);
   run second = work();
   wait_event(HOST);
   run third = work();
   EXPECT_EQ(between(first, third), ORDERED);
   EXPECT_EQ(between(second, third), HAZARD);

   gpuval_submits_reset_event(notes, event);
   wait_event(HOST);
   EXPECT_EQ(between(third, work()), ORDERED) << "it may do so at any time";
}

TEST_F(submits, waits_for_several_events_are_no_chain)
{
   const VkEvent events[2] = {event, (VkEvent)0xe2};
   const VkMemoryBarrier2 barriers[2] = {
      memory_barrier(COMPUTE, WRITE, FRAGMENT, 0),
      memory_barrier(FRAGMENT, 0, COMPUTE, READ),
   };
   run first = work();
   gpuval_submits_set_event(notes, 0, events[0], COMPUTE);
   gpuval_submits_set_event(notes, 0, events[1], FRAGMENT);
   depend({dependency(&barriers[0]), dependency(&barriers[1])}, events);
   EXPECT_EQ(between(first, work()), HAZARD);
}

TEST_F(submits, restart)
{
   submit();
   gpuval_submits_signal(notes, 0, 0xf1, 0, ALL);
   full_barrier();
   end();
   gpuval_submits_restart(notes);
   run first = work();
   EXPECT_EQ(first.serial, 1u);
   gpuval_submits_host_saw(notes, 0xf1, 0);
   submit();
   EXPECT_EQ(between(first, execute()), HAZARD);
}

/* Dependencies, as they come from the application */

struct buffer_place {
   uint64_t address, size;
};

void
get_buffer(VkBuffer buffer, uint64_t *address, uint64_t *size)
{
   const buffer_place *place = (const buffer_place *)buffer;
   *address = place->address;
   *size = place->size;
}

gpuval_order_barrier
convert(const VkBufferMemoryBarrier2 &barrier, uint32_t family = 0)
{
   VkDependencyInfo info = {};
   info.bufferMemoryBarrierCount = 1;
   info.pBufferMemoryBarriers = &barrier;
   std::vector<uint64_t> memory(gpuval_dependency_size(1, nullptr, &info) / 8 + 1);
   gpuval_dependency *dependency = (gpuval_dependency *)memory.data();
   const struct gpuval_places places = {get_buffer, nullptr};
   gpuval_dependency_init(dependency, 1, nullptr, &info, family, &places);
   EXPECT_EQ(dependency->num_parts, 1u);
   EXPECT_EQ(dependency->parts[0].num_barriers, 1u);
   return dependency->parts[0].barriers[0];
}

TEST(dependencies, buffers)
{
   buffer_place place = {0x10000, 0x1000};
   VkBufferMemoryBarrier2 barrier = {};
   barrier.buffer = (VkBuffer)&place;
   barrier.srcStageMask = COMPUTE;
   barrier.srcAccessMask = WRITE;
   barrier.dstStageMask = FRAGMENT;
   barrier.dstAccessMask = READ;
   barrier.offset = 0x100;
   barrier.size = 0x200;
   EXPECT_EQ(convert(barrier).begin, 0x10100u);
   EXPECT_EQ(convert(barrier).end, 0x10300u);
   EXPECT_EQ(convert(barrier).src_stages, COMPUTE);
   EXPECT_EQ(convert(barrier).src_access, WRITE);
   EXPECT_EQ(convert(barrier).dst_stages, FRAGMENT);
   EXPECT_EQ(convert(barrier).dst_access, READ);
   barrier.size = VK_WHOLE_SIZE;
   EXPECT_EQ(convert(barrier).end, 0x11000u);

   place.address = 0;
   EXPECT_EQ(convert(barrier).begin, 0u);
   EXPECT_EQ(convert(barrier).end, UINT64_MAX) << "wherever it is";
}

TEST(dependencies, transfers_between_queue_families)
{
   buffer_place place = {0x10000, 0x1000};
   VkBufferMemoryBarrier2 barrier = {};
   barrier.buffer = (VkBuffer)&place;
   barrier.srcAccessMask = WRITE;
   barrier.dstAccessMask = READ;
   barrier.size = VK_WHOLE_SIZE;
   barrier.srcQueueFamilyIndex = 1;
   barrier.dstQueueFamilyIndex = 2;
   EXPECT_EQ(convert(barrier, 1).src_access, WRITE);
   EXPECT_EQ(convert(barrier, 1).dst_access, 0u) << "released";
   EXPECT_EQ(convert(barrier, 2).src_access, 0u) << "acquired";
   EXPECT_EQ(convert(barrier, 2).dst_access, READ);
   barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
   EXPECT_EQ(convert(barrier, 1).src_access, WRITE);
   EXPECT_EQ(convert(barrier, 1).dst_access, READ);
}

TEST(dependencies, images)
{
   VkImageMemoryBarrier2 barrier = {};
   barrier.srcStageMask = barrier.dstStageMask = COMPUTE;
   barrier.srcAccessMask = WRITE;
   barrier.dstAccessMask = READ;
   VkDependencyInfo info = {};
   info.imageMemoryBarrierCount = 1;
   info.pImageMemoryBarriers = &barrier;
   std::vector<uint64_t> memory(gpuval_dependency_size(1, nullptr, &info) / 8 + 1);
   gpuval_dependency *dependency = (gpuval_dependency *)memory.data();
   gpuval_dependency_init(dependency, 1, nullptr, &info, 0, nullptr);
   const gpuval_order_barrier &result = dependency->parts[0].barriers[0];
   EXPECT_EQ(result.src_stages, COMPUTE);
   EXPECT_GE(result.begin, result.end) << "execution only";
   EXPECT_EQ(gpuval_event_stages(&info), COMPUTE);
}

TEST(dependencies, waits_of_vulkan_1_0)
{
   VkBufferMemoryBarrier buffer = {};
   buffer.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
   buffer.offset = 4;
   buffer.size = 8;
   VkDependencyInfo *infos = gpuval_upgrade_wait_events(2, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                                        VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT, 0,
                                                        nullptr, 1, &buffer, 0, nullptr);
   for (int i = 0; i < 2; i++) {
      ASSERT_EQ(infos[i].memoryBarrierCount, 1u) << "execution";
      EXPECT_EQ(infos[i].pMemoryBarriers[0].srcStageMask, COMPUTE);
      EXPECT_EQ(infos[i].pMemoryBarriers[0].srcAccessMask, 0u);
      EXPECT_EQ(infos[i].pMemoryBarriers[0].dstStageMask, FRAGMENT);
      ASSERT_EQ(infos[i].bufferMemoryBarrierCount, 1u);
      EXPECT_EQ(infos[i].pBufferMemoryBarriers[0].srcAccessMask, WRITE);
      EXPECT_EQ(infos[i].pBufferMemoryBarriers[0].dstStageMask, FRAGMENT);
      EXPECT_EQ(infos[i].pBufferMemoryBarriers[0].size, 8u);
      EXPECT_EQ(infos[i].imageMemoryBarrierCount, 0u);
   }
   ralloc_free(infos);
}

} /* namespace */

/* What is missing between two accesses */

gpuval_order_barrier
memory_barrier(VkPipelineStageFlags2 src, VkPipelineStageFlags2 dst, uint64_t begin = 0,
               uint64_t end = UINT64_MAX)
{
   gpuval_order_barrier barrier = {};
   barrier.src_stages = src;
   barrier.dst_stages = dst;
   barrier.dst_access = VK_ACCESS_2_MEMORY_READ_BIT;
   barrier.begin = begin;
   barrier.end = end;
   return barrier;
}

class missing_barriers : public ::testing::Test {
 protected:
   void SetUp() override
   {
      log = gpuval_barriers_create(nullptr);
   }
   void TearDown() override
   {
      ralloc_free(log);
   }

   void add(uint32_t serial, const gpuval_order_barrier &barrier, unsigned queue = 0)
   {
      gpuval_barriers_add(log, queue, serial, serial, 1, &barrier);
   }
   void add_wait(uint32_t set, uint32_t serial, const gpuval_order_barrier &barrier)
   {
      gpuval_barriers_add(log, 0, set, serial, 1, &barrier);
   }

   enum gpuval_barrier_missing find(uint32_t first, uint32_t second, uint64_t address = 0x1000,
                                    unsigned queue = 0)
   {
      const gpuval_barrier_side sides[] = {{0, first, COMPUTE}, {queue, second, FRAGMENT}};
      return gpuval_barriers_find(log, &sides[0], &sides[1], address, &there);
   }

   gpuval_barriers *log;
   gpuval_order_barrier there;
};

TEST_F(missing_barriers, nearest)
{
   EXPECT_EQ(find(1, 2), GPUVAL_MISSING_NONE);
   EXPECT_EQ(find(1, 2, 0x1000, 1), GPUVAL_MISSING_QUEUE);
   add(1, memory_barrier(0, FRAGMENT));
   add(1, memory_barrier(COMPUTE, 0));
   EXPECT_EQ(find(1, 2), GPUVAL_MISSING_NONE);
   add(1, memory_barrier(FRAGMENT, COMPUTE));
   EXPECT_EQ(find(1, 2), GPUVAL_MISSING_STAGE);
   EXPECT_EQ(there.src_stages, FRAGMENT);
   add(1, memory_barrier(COMPUTE, FRAGMENT, 0x2000, 0x3000));
   EXPECT_EQ(find(1, 2), GPUVAL_MISSING_RANGE);
   EXPECT_EQ(find(1, 2, 0x2ffc), GPUVAL_MISSING_ACCESS);
   EXPECT_EQ(find(1, 2, 0x3000), GPUVAL_MISSING_RANGE);
   EXPECT_EQ(find(1, 2, 0), GPUVAL_MISSING_ACCESS);
   add(1,
       memory_barrier(VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT));
   EXPECT_EQ(find(1, 2), GPUVAL_MISSING_ACCESS); /* fragments come after vertices */
   EXPECT_EQ(there.dst_stages, VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT);
}

TEST_F(missing_barriers, between_the_two)
{
   add(1, memory_barrier(COMPUTE, FRAGMENT));
   add(2, memory_barrier(COMPUTE, FRAGMENT), 1);
   add(3, memory_barrier(COMPUTE, FRAGMENT));
   EXPECT_EQ(find(2, 3), GPUVAL_MISSING_NONE);
   EXPECT_EQ(find(1, 3), GPUVAL_MISSING_ACCESS);
   EXPECT_EQ(find(3, 4), GPUVAL_MISSING_ACCESS);
   gpuval_barriers_clear(log);
   EXPECT_EQ(find(1, 3), GPUVAL_MISSING_NONE);
}

TEST_F(missing_barriers, of_execution_only)
{
   gpuval_order_barrier barrier = memory_barrier(COMPUTE, FRAGMENT, 0, 0);
   add(1, barrier); /* for what is not looked at */
   EXPECT_EQ(find(1, 2), GPUVAL_MISSING_RANGE);
   barrier.dst_access = 0;
   add(1, barrier);
   EXPECT_EQ(find(1, 2), GPUVAL_MISSING_ACCESS);
}

TEST_F(missing_barriers, events)
{
   add_wait(1, 3, memory_barrier(COMPUTE, FRAGMENT));
   EXPECT_EQ(find(1, 4), GPUVAL_MISSING_ACCESS);
   EXPECT_EQ(find(2, 4), GPUVAL_MISSING_NONE);
   EXPECT_EQ(find(1, 3), GPUVAL_MISSING_NONE);
   add_wait(0, 3, memory_barrier(COMPUTE, FRAGMENT)); /* set by whom this queue does not know */
   EXPECT_EQ(find(2, 4), GPUVAL_MISSING_NONE);
   add(3, memory_barrier(FRAGMENT, COMPUTE));
   EXPECT_EQ(find(2, 4), GPUVAL_MISSING_STAGE);
}

TEST_F(missing_barriers, long_ago)
{
   for (unsigned i = 0; i < GPUVAL_BARRIERS; i++)
      add(10 + i, memory_barrier(FRAGMENT, COMPUTE));
   EXPECT_EQ(find(10, 11), GPUVAL_MISSING_STAGE);
   EXPECT_EQ(find(9, 10), GPUVAL_MISSING_NONE);
   add(10 + GPUVAL_BARRIERS, memory_barrier(FRAGMENT, COMPUTE));
   EXPECT_EQ(find(10, 11), GPUVAL_MISSING_UNKNOWN);
   EXPECT_EQ(find(11, 12), GPUVAL_MISSING_STAGE);
}

TEST_F(missing_barriers, text)
{
   gpuval_order_barrier barrier =
      memory_barrier(COMPUTE | VK_PIPELINE_STAGE_2_COPY_BIT, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
   barrier.dst_access = VK_ACCESS_2_MEMORY_READ_BIT;
   EXPECT_STREQ(gpuval_barrier_text(log, &barrier),
                "srcStage COMPUTE_SHADER|COPY, srcAccess 0 -> dstStage ALL_COMMANDS, "
                "dstAccess MEMORY_READ");
   EXPECT_STREQ(gpuval_barrier_missing_name(GPUVAL_MISSING_LAYOUT), "layout");
   EXPECT_EQ(gpuval_barrier_missing_name(GPUVAL_MISSING_UNKNOWN), nullptr);
}
