/* SPDX-License-Identifier: MIT */

/* What begins a new epoch, given what is ordered (test_order.cpp). */

#include <gtest/gtest.h>

#include "base/gpuval_layout.h"
#include "core/order/gpuval_sync.h"
#include "order_names.h"

#include "util/ralloc.h"

namespace {

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
      create(1);
   }

   void create(unsigned num_queues)
   {
      model = gpuval_order_create(num_queues);
      sync = gpuval_sync_create(model);
   }

   void TearDown() override
   {
      gpuval_sync_destroy(sync);
      gpuval_order_destroy(model);
   }

   void restart()
   {
      gpuval_order_restart(model);
      gpuval_sync_restart(sync);
   }

   run work(uint32_t classes, unsigned queue = 0)
   {
      struct gpuval_command_data data = {};
      data.command_id = ++command;
      data.serial = gpuval_order_work(model, queue, classes);
      gpuval_sync_work(sync, queue, classes, &data);
      EXPECT_LE(data.epoch_command, command);
      return run{data.epoch, data.sync_flags, command, data.epoch_command};
   }

   run dispatch(unsigned queue = 0)
   {
      return work(1u << GPUVAL_ORDER_COMPUTE, queue);
   }

   run draw()
   {
      return work(1u << GPUVAL_ORDER_VERTEX | 1u << GPUVAL_ORDER_FRAGMENT);
   }

   run trace()
   {
      return work(1u << GPUVAL_ORDER_RAYS);
   }

   run indirect()
   {
      return work(1u << GPUVAL_ORDER_INDIRECT);
   }

   void barrier(VkPipelineStageFlags2 src, VkAccessFlags2 src_access, VkPipelineStageFlags2 dst,
                VkAccessFlags2 dst_access, uint64_t end = UINT64_MAX)
   {
      const struct gpuval_order_barrier part = {src, dst, src_access, dst_access, 0, end};
      gpuval_order_dependency(model, 0, 1, &part);
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
      restart();
      run first = dispatch();
      barrier(src, src_access, dst, dst_access);
      return between(first, dispatch());
   }

   struct gpuval_order *model;
   struct gpuval_sync *sync;
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

   restart();
   run first = dispatch();
   barrier(COMPUTE, WRITE, FRAGMENT, READ);
   EXPECT_EQ(between(first, dispatch()), HAZARD);
   EXPECT_EQ(between(first, draw()), ORDERED);
}

TEST_F(scopes, early_and_late_stages)
{
   /* Stages that come earlier or later in a draw count for execution. */
   run first = draw();
   barrier(COLOR, VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT, COMPUTE, WRITE);
   EXPECT_EQ(between(first, dispatch()), WRITE_AFTER_READ_OK);

   restart();
   first = dispatch();
   barrier(COMPUTE, WRITE, VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT,
           VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT);
   EXPECT_EQ(between(first, draw()), WRITE_AFTER_READ_OK);

   restart();
   first = work(1u << GPUVAL_ORDER_FRAGMENT);
   barrier(VERTEX, WRITE, FRAGMENT, READ);
   EXPECT_EQ(between(first, work(1u << GPUVAL_ORDER_FRAGMENT)), HAZARD);
}

TEST_F(scopes, chains)
{
   run first = dispatch();
   barrier(COMPUTE, WRITE, TRANSFER, VK_ACCESS_2_TRANSFER_READ_BIT);
   EXPECT_EQ(between(first, dispatch()), HAZARD);
   barrier(TRANSFER, VK_ACCESS_2_TRANSFER_WRITE_BIT, COMPUTE, READ);
   EXPECT_EQ(between(first, dispatch()), ORDERED);

   /* A chain of execution makes nothing available. */
   restart();
   first = dispatch();
   barrier(COMPUTE, 0, TRANSFER, VK_ACCESS_2_TRANSFER_READ_BIT);
   barrier(TRANSFER, MEMORY_WRITE, COMPUTE, READ);
   EXPECT_EQ(between(first, dispatch()), WRITE_AFTER_READ_OK);

   /* The links do not meet. */
   restart();
   first = dispatch();
   barrier(COMPUTE, WRITE, TRANSFER, VK_ACCESS_2_TRANSFER_READ_BIT);
   barrier(HOST, VK_ACCESS_2_HOST_WRITE_BIT, COMPUTE, READ);
   EXPECT_EQ(between(first, dispatch()), HAZARD);

   /* Made available by one barrier, visible by the next */
   restart();
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

TEST_F(scopes, work_that_no_barrier_was_for_meets_what_has_run_since)
{
   run first = dispatch();
   barrier(COMPUTE, WRITE, COMPUTE, READ);
   run second = dispatch();
   EXPECT_EQ(between(first, second), ORDERED);
   EXPECT_EQ(between(second, draw()), HAZARD);

   /* If nothing has run, it meets what ran before. */
   restart();
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
   restart();
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
   barrier(COMPUTE, WRITE, INDIRECT, INDIRECT_READ);
   EXPECT_EQ(between(first, indirect()), ORDERED);
   EXPECT_EQ(between(first, dispatch()), WRITE_AFTER_READ_OK);

   restart();
   first = dispatch();
   barrier(COMPUTE, WRITE, COMPUTE, READ | WRITE);
   EXPECT_EQ(between(first, indirect()), HAZARD);
   EXPECT_EQ(between(first, dispatch()), ORDERED);

   restart();
   first = dispatch();
   barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ);
   EXPECT_EQ(between(first, indirect()), ORDERED);

   restart();
   first = dispatch();
   barrier(COMPUTE, WRITE, INDIRECT, READ);
   EXPECT_EQ(between(first, indirect()), WRITE_AFTER_READ_OK) << "it reads: a hazard still";

   /* Of an argument that is read, then written */
   restart();
   first = indirect();
   barrier(INDIRECT, 0, COMPUTE, 0);
   EXPECT_EQ(between(first, dispatch()), WRITE_AFTER_READ_OK);

   /* The same where they have been read in another epoch */
   restart();
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

TEST_F(scopes, writes_may_follow_writes)
{
   run first = dispatch();
   barrier(COMPUTE, WRITE, COMPUTE, 0);
   run second = dispatch();
   EXPECT_EQ(second.epoch, first.epoch);
   EXPECT_EQ(second.flags, GPUVAL_SYNC_WRITE_AFTER_READ_OK | GPUVAL_SYNC_WRITE_AFTER_WRITE_OK);
}

TEST_F(scopes, ranges_are_all_memory)
{
   run first = dispatch();
   barrier(COMPUTE, WRITE, COMPUTE, READ, 0x1000);
   EXPECT_EQ(between(first, dispatch()), ORDERED);
}

TEST_F(scopes, joins_an_older_epoch)
{
   run first = dispatch();
   barrier(COMPUTE, WRITE, FRAGMENT, READ);
   run second = draw();
   barrier(FRAGMENT | VERTEX, WRITE, RAYS, READ);
   run third = trace();
   EXPECT_NE(second.epoch, first.epoch);
   EXPECT_NE(third.epoch, second.epoch);
   /* Nothing has been ordered before another dispatch. */
   EXPECT_EQ(between(third, dispatch()), HAZARD);
   barrier(RAYS, WRITE, COMPUTE, 0);
   barrier(FRAGMENT | RAYS, WRITE, FRAGMENT, READ);
   EXPECT_NE(draw().epoch, third.epoch);
}

TEST_F(scopes, queues)
{
   TearDown();
   create(2);
   run first = dispatch();
   EXPECT_EQ(between(first, dispatch(1)), HAZARD);

   gpuval_order_point *point = gpuval_order_point_create(model);
   gpuval_order_signal(model, 0, ALL, point);
   gpuval_order_wait(model, 1, point, ALL);
   run second = dispatch(1);
   EXPECT_EQ(between(first, second), ORDERED);
   EXPECT_EQ(between(second, dispatch()), HAZARD);
   ralloc_free(point);
}

TEST_F(scopes, many_epochs)
{
   for (unsigned i = 0; i < 1000; i++) {
      run first = dispatch();
      EXPECT_EQ(between(first, indirect()), HAZARD);
      EXPECT_EQ(between(first, dispatch()), HAZARD);
      barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ);
   }
}

} /* namespace */
