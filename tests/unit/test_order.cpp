/* SPDX-License-Identifier: MIT */

/* What is ordered before what: each rule beside its broken neighbour. */

#include <vector>

#include <gtest/gtest.h>

#include "order_names.h"

#include "util/ralloc.h"

namespace {

class order : public ::testing::Test {
 protected:
   struct run {
      unsigned queue;
      gpuval_order_class class_;
      uint32_t serial;
   };

   void SetUp() override
   {
      model = gpuval_order_create(3);
   }

   void TearDown() override
   {
      gpuval_order_destroy(model);
      for (void *object : objects)
         ralloc_free(object);
   }

   void depend(const barriers &parts, unsigned queue = 0)
   {
      gpuval_order_dependency(model, queue, (unsigned)parts.size(), parts.data());
   }

   void depend(VkPipelineStageFlags2 src, VkAccessFlags2 src_access, VkPipelineStageFlags2 dst,
               VkAccessFlags2 dst_access)
   {
      depend({barrier(src, src_access, dst, dst_access)});
   }

   gpuval_order_mark transition(VkPipelineStageFlags2 src, VkPipelineStageFlags2 dst,
                                std::vector<uint32_t> &before)
   {
      return gpuval_order_transition(model, 0, src, dst, before.data());
   }

   run work(gpuval_order_class class_, unsigned queue = 0)
   {
      return {queue, class_, gpuval_order_work(model, queue, 1u << class_)};
   }

   run dispatch(unsigned queue = 0)
   {
      return work(GPUVAL_ORDER_COMPUTE, queue);
   }

   /* Of @before, and what would come now in @queue */
   bool executed(run before, gpuval_order_class class_ = GPUVAL_ORDER_COMPUTE, unsigned queue = 0)
   {
      return before.serial <=
             gpuval_order_executed(model, queue, class_,
                                   gpuval_order_source(before.queue, before.class_));
   }

   bool available(run before, gpuval_order_access access = GPUVAL_ORDER_STORAGE_READ,
                  gpuval_order_class class_ = GPUVAL_ORDER_COMPUTE, uint64_t address = 0x1000,
                  unsigned queue = 0)
   {
      return before.serial <=
             gpuval_order_available(model, queue, class_, access, address,
                                    gpuval_order_source(before.queue, before.class_));
   }

   gpuval_order_point *signal(unsigned queue, VkPipelineStageFlags2 stages = ALL)
   {
      gpuval_order_point *point = gpuval_order_point_create(model);
      objects.push_back(point);
      gpuval_order_signal(model, queue, stages, point);
      return point;
   }

   gpuval_order_snapshot *set_event(VkPipelineStageFlags2 stages)
   {
      gpuval_order_snapshot *snapshot = gpuval_order_set_event(model, 0, stages);
      objects.push_back(snapshot);
      return snapshot;
   }

   void wait_event(gpuval_order_snapshot *event, const barriers &parts)
   {
      gpuval_order_wait_event(model, 0, event, (unsigned)parts.size(), parts.data());
   }

   gpuval_order *model;
   std::vector<void *> objects;
};

TEST_F(order, nothing_orders_what_follows)
{
   run first = dispatch();
   run second = dispatch();
   EXPECT_EQ(first.serial, second.serial);
   EXPECT_FALSE(executed(first));
   EXPECT_FALSE(available(first));
   EXPECT_FALSE(available(first, GPUVAL_ORDER_WRITE));
}

TEST_F(order, full_barrier)
{
   run first = dispatch();
   depend(ALL, MEMORY_WRITE, ALL, MEMORY_READ | MEMORY_WRITE);
   for (int i = 0; i < GPUVAL_ORDER_STAGE_CLASSES; i++) {
      EXPECT_TRUE(executed(first, (gpuval_order_class)i));
      EXPECT_TRUE(available(first, GPUVAL_ORDER_STORAGE_READ, (gpuval_order_class)i));
      EXPECT_TRUE(available(first, GPUVAL_ORDER_WRITE, (gpuval_order_class)i));
   }
   run second = dispatch();
   EXPECT_GT(second.serial, first.serial);
   EXPECT_FALSE(executed(second));
}

/* What no shader does is ordered as well, also by chains that only shaders' stages are in. */
TEST_F(order, transfers_and_attachments)
{
   uint32_t copy = gpuval_order_use(model, 0);
   const unsigned source = gpuval_order_source(0, GPUVAL_ORDER_TRANSFER);
   EXPECT_LT(gpuval_order_executed(model, 0, GPUVAL_ORDER_COLOR, source), copy);

   depend(VK_PIPELINE_STAGE_2_BLIT_BIT, 0, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, 0);
   EXPECT_GE(gpuval_order_executed(model, 0, GPUVAL_ORDER_COMPUTE, source), copy);
   EXPECT_LT(gpuval_order_executed(model, 0, GPUVAL_ORDER_COLOR, source), copy);
   EXPECT_LT(gpuval_order_executed(model, 0, GPUVAL_ORDER_TRANSFER, source), copy);

   depend(VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT | VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT |
             VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR,
          0, VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT, 0);
   EXPECT_GE(gpuval_order_executed(model, 0, GPUVAL_ORDER_COLOR, source), copy);
   EXPECT_LT(gpuval_order_executed(model, 0, GPUVAL_ORDER_DEPTH, source), copy);

   depend(ALL, 0, VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT, 0);
   EXPECT_GE(gpuval_order_executed(model, 0, GPUVAL_ORDER_DEPTH, source), copy);
}

TEST_F(order, transitions)
{
   std::vector<uint32_t> before(gpuval_order_num_sources(model));
   const unsigned source = gpuval_order_source(0, GPUVAL_ORDER_TRANSITION);
   run first = dispatch();

   uint32_t other = transition(VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
                               VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT, before)
                       .serial;
   EXPECT_GT(other, first.serial);
   EXPECT_LT(before[gpuval_order_source(0, GPUVAL_ORDER_COMPUTE)], first.serial);
   depend(VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT, 0, VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT, 0);

   /* What comes in its second scope comes after it, and so does what is behind that. */
   EXPECT_GE(gpuval_order_executed(model, 0, GPUVAL_ORDER_FRAGMENT, source), other);
   EXPECT_LT(gpuval_order_executed(model, 0, GPUVAL_ORDER_COMPUTE, source), other);
   depend(VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT, 0, VK_PIPELINE_STAGE_2_TRANSFER_BIT, 0);
   EXPECT_GE(gpuval_order_executed(model, 0, GPUVAL_ORDER_TRANSFER, source), other);
   EXPECT_LT(gpuval_order_executed(model, 0, GPUVAL_ORDER_COMPUTE, source), other);

   /* So do other transitions. */
   uint32_t second = transition(COMPUTE, 0, before).serial;
   EXPECT_GT(second, other);
   EXPECT_GE(before[source], other);
   EXPECT_GE(before[gpuval_order_source(0, GPUVAL_ORDER_COMPUTE)], first.serial);
   depend(VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, 0, 0, 0);
   EXPECT_LT(gpuval_order_executed(model, 0, GPUVAL_ORDER_COMPUTE, source), other);
   depend(ALL, 0, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, 0);
   EXPECT_GE(gpuval_order_executed(model, 0, GPUVAL_ORDER_COMPUTE, source), second);
}

/* Without a second scope a render pass's final layout comes before nothing, but for what a barrier
 * for attachments is for.
 */
TEST_F(order, final_transitions)
{
   const VkPipelineStageFlags2 color = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT;
   std::vector<uint32_t> before(gpuval_order_num_sources(model));
   auto is_before = [&](gpuval_order_mark first, unsigned class_) {
      return gpuval_order_executed(model, 0, class_, first.source) >= first.serial;
   };

   gpuval_order_mark final = transition(ALL, 0, before);
   depend(ALL, 0, 0, 0);
   EXPECT_FALSE(is_before(final, GPUVAL_ORDER_COMPUTE));
   EXPECT_FALSE(is_before(final, GPUVAL_ORDER_COLOR));
   gpuval_order_mark other = transition(ALL, VK_PIPELINE_STAGE_2_COPY_BIT, before);
   EXPECT_GE(before[final.source], final.serial);
   depend(ALL, 0, VK_PIPELINE_STAGE_2_COPY_BIT, 0);
   depend(VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT, 0, COMPUTE, 0);
   EXPECT_FALSE(is_before(final, GPUVAL_ORDER_COMPUTE));
   depend(color, 0, COMPUTE, 0);
   EXPECT_TRUE(is_before(final, GPUVAL_ORDER_COMPUTE));
   EXPECT_FALSE(is_before(other, GPUVAL_ORDER_COMPUTE));
}

/* Each of one call is between its own scopes, and in no order with the others. */
TEST_F(order, transitions_of_one_call)
{
   const VkPipelineStageFlags2 fragment = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT;
   const VkPipelineStageFlags2 copy = VK_PIPELINE_STAGE_2_COPY_BIT;
   std::vector<uint32_t> before(gpuval_order_num_sources(model));
   const unsigned compute = gpuval_order_source(0, GPUVAL_ORDER_COMPUTE);
   auto is_before = [&](gpuval_order_mark first, unsigned class_) {
      return gpuval_order_executed(model, 0, class_, first.source) >= first.serial;
   };

   run first = dispatch();
   gpuval_order_mark earlier = transition(COMPUTE, COMPUTE, before);
   depend(COMPUTE, 0, COMPUTE, 0);

   gpuval_order_mark one = transition(COMPUTE, fragment, before);
   EXPECT_GE(before[compute], first.serial);
   EXPECT_GE(before[earlier.source], earlier.serial);
   gpuval_order_mark other = transition(fragment, COMPUTE, before);
   EXPECT_LT(before[compute], first.serial);
   EXPECT_GE(before[earlier.source], earlier.serial);
   EXPECT_LT(before[one.source], one.serial);
   depend({barrier(COMPUTE, 0, fragment, 0), barrier(fragment, 0, COMPUTE, 0),
           barrier(ALL, 0, copy, 0)});
   EXPECT_TRUE(is_before(one, GPUVAL_ORDER_FRAGMENT));
   EXPECT_FALSE(is_before(other, GPUVAL_ORDER_FRAGMENT));
   EXPECT_TRUE(is_before(earlier, GPUVAL_ORDER_FRAGMENT));
   EXPECT_TRUE(is_before(other, GPUVAL_ORDER_COMPUTE));
   EXPECT_FALSE(is_before(one, GPUVAL_ORDER_COMPUTE));
   EXPECT_FALSE(is_before(one, GPUVAL_ORDER_TRANSFER)) << "that part has no transition";

   /* A chain */
   depend(fragment, 0, copy, 0);
   EXPECT_TRUE(is_before(one, GPUVAL_ORDER_TRANSFER));
   EXPECT_FALSE(is_before(other, GPUVAL_ORDER_TRANSFER));

   /* The next call's comes after both. */
   transition(copy, copy, before);
   EXPECT_GE(before[one.source], one.serial);
   EXPECT_GE(before[other.source], other.serial);
   depend(copy, 0, copy, 0);
   EXPECT_TRUE(is_before(one, GPUVAL_ORDER_TRANSFER));
   EXPECT_TRUE(is_before(other, GPUVAL_ORDER_TRANSFER));
}

/* More than there is room for are one, which comes before what any of them comes before. */
TEST_F(order, many_transitions_of_one_call)
{
   const VkPipelineStageFlags2 stages[] = {
      VK_PIPELINE_STAGE_2_COPY_BIT,
      VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
      VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR,
      VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
      VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR,
      VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
      VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
   };
   std::vector<uint32_t> before(gpuval_order_num_sources(model));
   std::vector<gpuval_order_mark> transitions;
   barriers parts;

   for (VkPipelineStageFlags2 stage : stages) {
      transitions.push_back(transition(stage, stage, before));
      parts.push_back(barrier(stage, 0, stage, 0));
   }
   depend(parts);
   auto is_before = [&](unsigned i, unsigned class_) {
      return gpuval_order_executed(model, 0, class_, transitions[i].source) >=
             transitions[i].serial;
   };
   EXPECT_TRUE(is_before(0, GPUVAL_ORDER_TRANSFER));
   EXPECT_FALSE(is_before(0, GPUVAL_ORDER_COMPUTE));
   EXPECT_TRUE(is_before(5, GPUVAL_ORDER_COMPUTE));
   EXPECT_TRUE(is_before(6, GPUVAL_ORDER_FRAGMENT));
   EXPECT_TRUE(is_before(6, GPUVAL_ORDER_COMPUTE)) << "not told apart";
   EXPECT_FALSE(is_before(0, GPUVAL_ORDER_FRAGMENT));
}

TEST_F(order, transitions_of_events)
{
   std::vector<uint32_t> before(gpuval_order_num_sources(model));
   const unsigned source = gpuval_order_source(0, GPUVAL_ORDER_TRANSITION);
   const unsigned compute = gpuval_order_source(0, GPUVAL_ORDER_COMPUTE);
   run first = dispatch();
   gpuval_order_snapshot *event = set_event(COMPUTE);
   run between = dispatch();
   gpuval_order_point *point = gpuval_order_point_create(model);
   objects.push_back(point);
   gpuval_order_event_signal(model, event, point);

   uint32_t serial = gpuval_order_point_transition(model, 0, point, before.data()).serial;
   EXPECT_GE(before[compute], first.serial);
   EXPECT_LT(before[compute], between.serial) << "came after the event was set";
   wait_event(event, {barrier(COMPUTE, 0, VK_PIPELINE_STAGE_2_TRANSFER_BIT, 0)});
   wait_event(event, {barrier(COMPUTE, 0, VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT, 0)});
   gpuval_order_end_transition(model, 0);
   EXPECT_GE(gpuval_order_executed(model, 0, GPUVAL_ORDER_TRANSFER, source), serial);
   EXPECT_GE(gpuval_order_executed(model, 0, GPUVAL_ORDER_FRAGMENT, source), serial);
   EXPECT_LT(gpuval_order_executed(model, 0, GPUVAL_ORDER_COMPUTE, source), serial);

   /* It is over then. */
   depend(COMPUTE, 0, COMPUTE, 0);
   EXPECT_LT(gpuval_order_executed(model, 0, GPUVAL_ORDER_COMPUTE, source), serial);
}

TEST_F(order, what_the_host_does)
{
   std::vector<uint32_t> before(gpuval_order_num_sources(model));
   const unsigned source = gpuval_order_source(0, GPUVAL_ORDER_HOST);
   const unsigned compute = gpuval_order_source(0, GPUVAL_ORDER_COMPUTE);
   gpuval_order_point *host = gpuval_order_point_create(model);
   objects.push_back(host);

   run seen = dispatch();
   gpuval_order_merge(model, host, signal(0));
   depend(ALL, 0, ALL, 0);
   run unseen = dispatch();
   uint32_t first = gpuval_order_host_use(model, host, before.data());
   EXPECT_GE(before[compute], seen.serial);
   EXPECT_LT(before[compute], unseen.serial);
   EXPECT_LT(before[source], first);
   EXPECT_LT(gpuval_order_executed(model, 0, GPUVAL_ORDER_COMPUTE, source), first);

   /* Of the host's own, one comes after the other, and what is submitted after both. */
   uint32_t second = gpuval_order_host_use(model, host, before.data());
   EXPECT_GE(before[source], first);
   gpuval_order_wait(model, 1, host, ALL);
   EXPECT_GE(gpuval_order_executed(model, 1, GPUVAL_ORDER_COMPUTE, source), second);
   EXPECT_GE(gpuval_order_executed(model, 1, GPUVAL_ORDER_TRANSFER, source), second);
   EXPECT_LT(gpuval_order_executed(model, 0, GPUVAL_ORDER_COMPUTE, source), first);
}

TEST_F(order, spans_end_where_something_happens)
{
   run first = dispatch();
   depend(ALL, 0, ALL, 0);
   depend(ALL, 0, ALL, 0);
   run second = dispatch();
   EXPECT_EQ(second.serial, first.serial + 1);
   signal(0);
   EXPECT_EQ(dispatch().serial, second.serial + 1);
   set_event(ALL);
   EXPECT_EQ(dispatch().serial, second.serial + 2);
   EXPECT_EQ(dispatch().serial, second.serial + 2);
}

TEST_F(order, reads_need_execution_only)
{
   run first = dispatch();
   depend(COMPUTE, 0, COMPUTE, 0);
   EXPECT_TRUE(executed(first));
   EXPECT_FALSE(available(first));
   EXPECT_FALSE(available(first, GPUVAL_ORDER_WRITE));

   run second = dispatch();
   EXPECT_FALSE(executed(second)) << "a read after the barrier is not before it";
}

TEST_F(order, writes_need_availability_only)
{
   run first = dispatch();
   depend(COMPUTE, WRITE, COMPUTE, 0);
   EXPECT_TRUE(available(first, GPUVAL_ORDER_WRITE));
   EXPECT_FALSE(available(first));
   EXPECT_FALSE(available(first, GPUVAL_ORDER_ATOMIC));
   depend(COMPUTE, 0, COMPUTE, READ);
   EXPECT_TRUE(available(first));
}

TEST_F(order, accesses_that_are_visible)
{
   run first = dispatch();
   depend(COMPUTE, WRITE, COMPUTE, UNIFORM_READ);
   EXPECT_TRUE(available(first, GPUVAL_ORDER_UNIFORM_READ));
   EXPECT_FALSE(available(first, GPUVAL_ORDER_STORAGE_READ));
   EXPECT_FALSE(available(first, GPUVAL_ORDER_SAMPLED_READ));

   first = dispatch();
   depend(COMPUTE, WRITE, COMPUTE, READ);
   EXPECT_FALSE(available(first, GPUVAL_ORDER_UNIFORM_READ));
   EXPECT_TRUE(available(first, GPUVAL_ORDER_STORAGE_READ));
   EXPECT_TRUE(available(first, GPUVAL_ORDER_SAMPLED_READ));
   EXPECT_TRUE(available(first, GPUVAL_ORDER_ATOMIC));

   first = dispatch();
   depend(COMPUTE, WRITE, COMPUTE, SAMPLED_READ);
   EXPECT_FALSE(available(first, GPUVAL_ORDER_STORAGE_READ));
   EXPECT_TRUE(available(first, GPUVAL_ORDER_SAMPLED_READ));

   first = dispatch();
   depend(COMPUTE, MEMORY_WRITE, COMPUTE, STORAGE_READ);
   EXPECT_TRUE(available(first, GPUVAL_ORDER_STORAGE_READ));
   EXPECT_FALSE(available(first, GPUVAL_ORDER_SAMPLED_READ));

   first = dispatch();
   depend(COMPUTE, WRITE, COMPUTE, WRITE);
   EXPECT_TRUE(available(first, GPUVAL_ORDER_ATOMIC));
   EXPECT_FALSE(available(first, GPUVAL_ORDER_STORAGE_READ));
}

TEST_F(order, stages_of_a_draw)
{
   run first = work(GPUVAL_ORDER_FRAGMENT);
   depend(VERTEX, WRITE, VERTEX, READ);
   EXPECT_FALSE(executed(first, GPUVAL_ORDER_FRAGMENT));

   /* The vertex shader's writes only, but execution of what comes later, too */
   first = work(GPUVAL_ORDER_VERTEX);
   depend(VERTEX, WRITE, VERTEX, READ);
   EXPECT_TRUE(available(first, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_VERTEX));
   EXPECT_TRUE(executed(first, GPUVAL_ORDER_FRAGMENT));
   EXPECT_TRUE(available(first, GPUVAL_ORDER_WRITE, GPUVAL_ORDER_FRAGMENT));
   EXPECT_FALSE(available(first, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_FRAGMENT));

   first = work(GPUVAL_ORDER_VERTEX);
   depend(FRAGMENT, WRITE, COMPUTE, READ);
   EXPECT_TRUE(executed(first)) << "logically earlier";
   EXPECT_FALSE(available(first, GPUVAL_ORDER_WRITE)) << "but not by access";
}

TEST_F(order, primitives_and_meshes_are_two_pipelines)
{
   run first = dispatch();
   depend(COMPUTE, WRITE, VERTEX, READ);
   EXPECT_TRUE(executed(first, GPUVAL_ORDER_VERTEX));
   EXPECT_TRUE(executed(first, GPUVAL_ORDER_GEOMETRY));
   EXPECT_TRUE(executed(first, GPUVAL_ORDER_FRAGMENT));
   EXPECT_FALSE(executed(first, GPUVAL_ORDER_TASK));
   EXPECT_FALSE(executed(first, GPUVAL_ORDER_MESH));

   first = dispatch();
   depend(COMPUTE, WRITE, TASK, READ);
   EXPECT_FALSE(executed(first, GPUVAL_ORDER_VERTEX));
   EXPECT_TRUE(executed(first, GPUVAL_ORDER_MESH));
}

TEST_F(order, several_kinds_of_work_between_two_dependencies)
{
   run first = dispatch();
   depend(COMPUTE, WRITE, FRAGMENT, READ);
   run second = dispatch();
   EXPECT_TRUE(available(first, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_FRAGMENT));
   EXPECT_FALSE(available(second, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_FRAGMENT));
   EXPECT_FALSE(available(first));
}

TEST_F(order, empty_scopes)
{
   run first = dispatch();
   depend(TOP, 0, COMPUTE, READ);
   depend(COMPUTE, WRITE, BOTTOM, 0);
   depend(0, 0, 0, 0);
   EXPECT_FALSE(executed(first));

   depend(BOTTOM, 0, COMPUTE, READ);
   EXPECT_TRUE(executed(first)) << "all stages, but no accesses";
   EXPECT_FALSE(available(first, GPUVAL_ORDER_WRITE));

   first = dispatch();
   depend(COMPUTE, WRITE, TOP, 0);
   EXPECT_TRUE(executed(first));
   EXPECT_TRUE(available(first, GPUVAL_ORDER_WRITE));
   EXPECT_FALSE(available(first));
}

TEST_F(order, chains)
{
   run first = dispatch();
   depend(COMPUTE, WRITE, TRANSFER, 0);
   EXPECT_FALSE(executed(first));
   depend(COPY, 0, COMPUTE, READ);
   EXPECT_TRUE(available(first));

   /* The links do not meet. */
   first = dispatch();
   depend(COMPUTE, WRITE, COPY, 0);
   depend(VK_PIPELINE_STAGE_2_CLEAR_BIT, 0, COMPUTE, READ);
   EXPECT_FALSE(executed(first));

   /* In the wrong order */
   first = dispatch();
   depend(TRANSFER, 0, COMPUTE, READ);
   depend(COMPUTE, WRITE, TRANSFER, 0);
   EXPECT_FALSE(executed(first));

   /* A chain of execution makes nothing available. */
   first = dispatch();
   depend(COMPUTE, 0, TRANSFER, 0);
   depend(TRANSFER, MEMORY_WRITE, COMPUTE, READ);
   EXPECT_TRUE(executed(first));
   EXPECT_FALSE(available(first, GPUVAL_ORDER_WRITE));

   /* What joins late */
   first = dispatch();
   depend(COMPUTE, WRITE, TRANSFER, 0);
   run second = dispatch();
   depend(TRANSFER, 0, COMPUTE, READ);
   EXPECT_TRUE(available(first));
   EXPECT_FALSE(executed(second));
}

TEST_F(order, parts_of_a_dependency_are_no_chain)
{
   run first = dispatch();
   const barriers parts = {barrier(COMPUTE, WRITE, TRANSFER, 0),
                           barrier(TRANSFER, 0, COMPUTE, READ)};
   depend(parts);
   EXPECT_FALSE(executed(first));
   depend(parts);
   EXPECT_TRUE(available(first)) << "but two of them are";
}

TEST_F(order, indirect)
{
   run first = dispatch();
   depend(COMPUTE, WRITE, INDIRECT, INDIRECT_READ);
   EXPECT_TRUE(available(first, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_INDIRECT));
   EXPECT_TRUE(executed(first)) << "a shader comes after its command's arguments";
   EXPECT_FALSE(available(first));

   first = dispatch();
   depend(COMPUTE, WRITE, INDIRECT, READ);
   EXPECT_FALSE(available(first, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_INDIRECT));

   first = work(GPUVAL_ORDER_INDIRECT);
   EXPECT_FALSE(executed(first));
   depend(COMPUTE, 0, COMPUTE, 0);
   EXPECT_TRUE(executed(first)) << "logically earlier";
}

TEST_F(order, ranges)
{
   run first = dispatch();
   depend({barrier(COMPUTE, WRITE, COMPUTE, READ, 0x1000, 0x2000)});
   auto at = [&](uint64_t address) {
      return available(first, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_COMPUTE, address);
   };
   EXPECT_FALSE(at(0xfff));
   EXPECT_TRUE(at(0x1000));
   EXPECT_TRUE(at(0x1fff));
   EXPECT_FALSE(at(0x2000));
   EXPECT_TRUE(executed(first)) << "execution has no range";

   depend({barrier(COMPUTE, WRITE, COMPUTE, READ, 0x800, 0x1800)});
   EXPECT_TRUE(at(0x800));
   EXPECT_TRUE(at(0x1fff));
   EXPECT_FALSE(at(0x2000));

   run second = dispatch();
   EXPECT_TRUE(at(0x1fff)) << "of before, still";
   first = second;
   EXPECT_FALSE(at(0x1000));

   /* Chains go through barriers of other ranges, ... */
   first = dispatch();
   depend({barrier(COMPUTE, WRITE, TRANSFER, 0, 0x1000, 0x2000)});
   depend({barrier(TRANSFER, 0, COMPUTE, READ, 0x4000, 0x5000)});
   EXPECT_TRUE(available(first, GPUVAL_ORDER_WRITE));
   EXPECT_FALSE(at(0x1000)) << "... but visible is what they are for";
   depend(COMPUTE, 0, COMPUTE, READ);
   EXPECT_TRUE(at(0x1000));
   EXPECT_FALSE(at(0x4000)) << "was never made available";

   depend(COMPUTE, WRITE, COMPUTE, READ);
   EXPECT_TRUE(at(0x4000));
}

TEST_F(order, ranges_are_joined_again)
{
   gpuval_order_table table;
   for (uint64_t i = 0; i < 1000; i++) {
      dispatch();
      depend({barrier(COMPUTE, WRITE, COMPUTE, READ, i * 0x1000, i * 0x1000 + 0x1000)});
      gpuval_order_fill_table(model, 0, 1u << GPUVAL_ORDER_COMPUTE, &table);
      EXPECT_EQ(table.num_ranges, 1u);
      depend(ALL, MEMORY_WRITE, ALL, MEMORY_READ);
      gpuval_order_fill_table(model, 0, 1u << GPUVAL_ORDER_COMPUTE, &table);
      EXPECT_EQ(table.num_ranges, 0u);
   }
}

TEST_F(order, too_many_ranges_are_all_memory)
{
   run first = dispatch();
   for (uint64_t i = 0; i < GPUVAL_ORDER_MAX_RANGES; i++) {
      depend({barrier(COMPUTE, WRITE, COMPUTE, READ, i * 0x2000, i * 0x2000 + 0x1000)});
      EXPECT_FALSE(available(first, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_COMPUTE, ~0ull - 1));
   }
   depend({barrier(COMPUTE, WRITE, COMPUTE, READ, 0x800000, 0x900000)});
   EXPECT_TRUE(available(first, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_COMPUTE, ~0ull - 1));
   EXPECT_TRUE(available(first));
}

TEST_F(order, events)
{
   run first = dispatch();
   gpuval_order_snapshot *event = set_event(COMPUTE);
   run between = dispatch();
   EXPECT_FALSE(executed(first));
   wait_event(event, {barrier(COMPUTE, WRITE, COMPUTE, READ)});
   EXPECT_TRUE(available(first));
   EXPECT_FALSE(executed(between)) << "came after the event was set";

   /* The wait's first scope is a part of the set's. */
   first = dispatch();
   event = set_event(VERTEX);
   wait_event(event, {barrier(COMPUTE | VERTEX, WRITE, COMPUTE, READ)});
   EXPECT_FALSE(executed(first));

   /* What was made available meanwhile is no part of it. */
   first = dispatch();
   event = set_event(TRANSFER);
   depend(COMPUTE, WRITE, TRANSFER, 0);
   wait_event(event, {barrier(TRANSFER, 0, COMPUTE, READ)});
   EXPECT_FALSE(executed(first));

   first = dispatch();
   depend(COMPUTE, WRITE, TRANSFER, 0);
   event = set_event(TRANSFER);
   wait_event(event, {barrier(TRANSFER, 0, COMPUTE, READ)});
   EXPECT_TRUE(available(first));
}

TEST_F(order, events_with_ranges)
{
   run first = dispatch();
   depend({barrier(COMPUTE, WRITE, COPY, 0, 0x1000, 0x2000)});
   gpuval_order_snapshot *event = set_event(COPY);
   depend(ALL, 0, ALL, 0);
   wait_event(event, {barrier(COPY, 0, COMPUTE, READ)});
   EXPECT_TRUE(available(first));
   EXPECT_FALSE(available(first, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_COMPUTE, 0x2000));
}

TEST_F(order, semaphores)
{
   run first = dispatch();
   gpuval_order_point *point = signal(0);
   run late = dispatch();
   EXPECT_FALSE(executed(first, GPUVAL_ORDER_COMPUTE, 1));
   gpuval_order_wait(model, 1, point, COMPUTE);
   EXPECT_TRUE(executed(first, GPUVAL_ORDER_COMPUTE, 1));
   EXPECT_TRUE(available(first, GPUVAL_ORDER_UNIFORM_READ, GPUVAL_ORDER_COMPUTE, 0x1000, 1));
   EXPECT_FALSE(executed(late, GPUVAL_ORDER_COMPUTE, 1));
   EXPECT_FALSE(executed(first)) << "in the first queue nothing has been ordered";
   EXPECT_FALSE(executed(first, GPUVAL_ORDER_VERTEX, 1));

   /* Chains in the second queue */
   depend({barrier(COMPUTE, 0, VERTEX, 0)}, 1);
   EXPECT_TRUE(available(first, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_VERTEX, 0x1000, 1));

   /* And to a third one */
   gpuval_order_wait(model, 2, signal(1, VERTEX), ALL);
   EXPECT_TRUE(available(first, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_COMPUTE, 0x1000, 2));
}

TEST_F(order, semaphores_after_other_stages)
{
   run first = dispatch();
   gpuval_order_wait(model, 1, signal(0, VERTEX), ALL);
   EXPECT_FALSE(executed(first, GPUVAL_ORDER_COMPUTE, 1));
   gpuval_order_wait(model, 1, signal(0, COMPUTE), COLOR);
   EXPECT_FALSE(executed(first, GPUVAL_ORDER_COMPUTE, 1));
   depend({barrier(COLOR, 0, COMPUTE, READ)}, 1);
   EXPECT_TRUE(available(first, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_COMPUTE, 0x1000, 1));
}

TEST_F(order, host)
{
   gpuval_order_point *host = gpuval_order_point_create(model);
   objects.push_back(host);

   run first = dispatch();
   gpuval_order_merge(model, host, signal(0));
   run second = dispatch();
   gpuval_order_wait(model, 0, host, ALL);
   EXPECT_TRUE(available(first));
   EXPECT_FALSE(executed(second));

   /* The host sets an event. */
   run third = dispatch(1);
   gpuval_order_merge(model, host, signal(1));
   gpuval_order_snapshot *event = gpuval_order_host_set_event(model, host);
   objects.push_back(event);
   wait_event(event, {barrier(COMPUTE, WRITE, COMPUTE, READ)});
   EXPECT_FALSE(executed(third));
   wait_event(event, {barrier(HOST, 0, COMPUTE, READ)});
   EXPECT_TRUE(available(third));

   /* Or sees one */
   run fourth = dispatch();
   event = set_event(COMPUTE);
   gpuval_order_event_signal(model, event, host);
   gpuval_order_wait(model, 1, host, ALL);
   EXPECT_TRUE(available(fourth, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_COMPUTE, 0x1000, 1));
}

TEST_F(order, everything)
{
   run first = dispatch(), second = dispatch(1);
   gpuval_order_point *point = gpuval_order_point_create(model);
   objects.push_back(point);
   gpuval_order_everything(model, point);
   run third = dispatch(1);
   gpuval_order_wait(model, 2, point, ALL);
   EXPECT_TRUE(executed(first, GPUVAL_ORDER_COMPUTE, 2));
   EXPECT_TRUE(executed(second, GPUVAL_ORDER_COMPUTE, 2));
   EXPECT_FALSE(executed(third, GPUVAL_ORDER_COMPUTE, 2));
}

/* What commands do to bytes without a shader */

TEST_F(order, full_barrier_of_commands)
{
   static const struct {
      gpuval_order_class class_;
      gpuval_order_access read;
   } reads[] = {
      {GPUVAL_ORDER_TRANSFER, GPUVAL_ORDER_STORAGE_READ},
      {GPUVAL_ORDER_VERTEX_INPUT, GPUVAL_ORDER_ATTRIBUTE_READ},
      {GPUVAL_ORDER_VERTEX_INPUT, GPUVAL_ORDER_INDEX_READ},
      {GPUVAL_ORDER_AUXILIARY, GPUVAL_ORDER_COUNTER_READ},
      {GPUVAL_ORDER_AUXILIARY, GPUVAL_ORDER_PREDICATE_READ},
      {GPUVAL_ORDER_AUXILIARY, GPUVAL_ORDER_PREPROCESS_READ},
      {GPUVAL_ORDER_STRUCTURES, GPUVAL_ORDER_BUILD_ARGUMENT_READ},
      {GPUVAL_ORDER_STRUCTURES, GPUVAL_ORDER_STRUCTURE_READ},
      {GPUVAL_ORDER_STRUCTURES, GPUVAL_ORDER_BUILD_INPUT_READ},
      {GPUVAL_ORDER_STRUCTURES, GPUVAL_ORDER_SERIALIZED_READ},
   };
   std::vector<run> all;
   for (const auto &read : reads)
      all.push_back(work(read.class_));
   all.push_back(dispatch());
   depend(ALL, MEMORY_WRITE, ALL, MEMORY_READ | MEMORY_WRITE);

   for (const run &before : all) {
      for (const auto &read : reads) {
         EXPECT_TRUE(executed(before, read.class_)) << before.class_ << read.class_;
         EXPECT_TRUE(available(before, read.read, read.class_)) << before.class_ << read.class_;
         EXPECT_TRUE(available(before, GPUVAL_ORDER_WRITE, read.class_)) << before.class_;
      }
      EXPECT_TRUE(available(before));
   }
}

TEST_F(order, transfers_are_visible_by_their_accesses)
{
   const run first = work(GPUVAL_ORDER_TRANSFER);

   depend(VK_PIPELINE_STAGE_2_COPY_BIT, WRITE, COMPUTE, READ);
   EXPECT_TRUE(executed(first));
   EXPECT_FALSE(available(first)) << "a copy does not write as shaders do";

   depend(VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
          VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT, VK_ACCESS_2_INDEX_READ_BIT);
   EXPECT_TRUE(available(first, GPUVAL_ORDER_INDEX_READ, GPUVAL_ORDER_VERTEX_INPUT));
   EXPECT_FALSE(available(first, GPUVAL_ORDER_ATTRIBUTE_READ, GPUVAL_ORDER_VERTEX_INPUT));
   EXPECT_FALSE(available(first));

   depend(VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
          VK_PIPELINE_STAGE_2_VERTEX_INPUT_BIT, VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT);
   EXPECT_TRUE(available(first, GPUVAL_ORDER_ATTRIBUTE_READ, GPUVAL_ORDER_VERTEX_INPUT));
   EXPECT_FALSE(available(first, GPUVAL_ORDER_STORAGE_READ, GPUVAL_ORDER_TRANSFER));

   depend(VK_PIPELINE_STAGE_2_CLEAR_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
          VK_PIPELINE_STAGE_2_CLEAR_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT);
   EXPECT_TRUE(available(first, GPUVAL_ORDER_WRITE, GPUVAL_ORDER_TRANSFER));
}

TEST_F(order, structures_are_visible_to_rays_by_their_access)
{
   constexpr VkPipelineStageFlags2 BUILD = VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR;
   constexpr VkAccessFlags2 BUILT = VK_ACCESS_2_ACCELERATION_STRUCTURE_WRITE_BIT_KHR;
   constexpr VkAccessFlags2 TRACED = VK_ACCESS_2_ACCELERATION_STRUCTURE_READ_BIT_KHR;
   const run build = work(GPUVAL_ORDER_STRUCTURES);

   depend(BUILD, BUILT, COMPUTE, READ | UNIFORM_READ | WRITE);
   EXPECT_TRUE(available(build));
   EXPECT_FALSE(available(build, GPUVAL_ORDER_RAY_READ));
   EXPECT_EQ(gpuval_order_get_threshold(model, 0, 1u << GPUVAL_ORDER_COMPUTE).storage, UINT32_MAX);
   EXPECT_LT(gpuval_order_get_threshold(model, 0, 1u << GPUVAL_ORDER_COMPUTE).others, build.serial);

   depend(BUILD, WRITE, COMPUTE, TRACED);
   EXPECT_FALSE(available(build, GPUVAL_ORDER_RAY_READ)) << "a build does not write as shaders do";
   depend(BUILD, BUILT, RAYS, TRACED);
   EXPECT_FALSE(available(build, GPUVAL_ORDER_RAY_READ)) << "of another stage";
   EXPECT_TRUE(available(build, GPUVAL_ORDER_RAY_READ, GPUVAL_ORDER_RAYS));

   depend(BUILD, BUILT, COMPUTE, TRACED);
   EXPECT_TRUE(available(build, GPUVAL_ORDER_RAY_READ));
   EXPECT_EQ(gpuval_order_get_threshold(model, 0, 1u << GPUVAL_ORDER_COMPUTE).others, UINT32_MAX);

   /* What builds have not written does not wait for rays. */
   const run second = dispatch();
   depend(COMPUTE, WRITE, COMPUTE, READ | UNIFORM_READ | WRITE);
   EXPECT_FALSE(available(second, GPUVAL_ORDER_RAY_READ));
   EXPECT_EQ(gpuval_order_get_threshold(model, 0, 1u << GPUVAL_ORDER_COMPUTE).others, UINT32_MAX);
   depend(COMPUTE, WRITE, COMPUTE, MEMORY_READ);
   EXPECT_TRUE(available(second, GPUVAL_ORDER_RAY_READ));
}

/* A barrier for all stages makes what shaders have written available, and keeps what was. */
TEST_F(order, writes_of_others_stay)
{
   const run copy = work(GPUVAL_ORDER_TRANSFER);
   depend(VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT, ALL, 0);
   EXPECT_FALSE(available(copy));
   depend(ALL, WRITE, COMPUTE, READ);
   EXPECT_TRUE(available(copy)) << "by way of the first one";

   run shader = dispatch();
   const run later = work(GPUVAL_ORDER_TRANSFER);
   depend(ALL, WRITE, COMPUTE, READ);
   EXPECT_TRUE(available(shader));
   EXPECT_FALSE(available(later));
}

TEST_F(order, rows)
{
   gpuval_order_row row;
   run first = dispatch();

   depend({barrier(COMPUTE, WRITE, VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_READ_BIT,
                   0x1000, 0x2000)});
   EXPECT_EQ(gpuval_order_get_row(model, 0, GPUVAL_ORDER_TRANSFER, 0x800, &row), 0x1000u);
   EXPECT_EQ(row.execution_watermark[GPUVAL_ORDER_COMPUTE], first.serial);
   EXPECT_EQ(row.memory_watermark[GPUVAL_ORDER_STORAGE_READ][GPUVAL_ORDER_COMPUTE], 0u);
   EXPECT_EQ(gpuval_order_get_row(model, 0, GPUVAL_ORDER_TRANSFER, 0x1800, &row), 0x2000u);
   EXPECT_EQ(row.memory_watermark[GPUVAL_ORDER_STORAGE_READ][GPUVAL_ORDER_COMPUTE], first.serial);
   EXPECT_EQ(gpuval_order_get_row(model, 0, GPUVAL_ORDER_TRANSFER, 0x2000, &row), UINT64_MAX);
   EXPECT_EQ(row.memory_watermark[GPUVAL_ORDER_STORAGE_READ][GPUVAL_ORDER_COMPUTE], 0u);
}

TEST_F(order, restart)
{
   dispatch();
   depend(ALL, MEMORY_WRITE, ALL, MEMORY_READ);
   dispatch();
   gpuval_order_point *point = signal(0);
   gpuval_order_snapshot *event = set_event(ALL);
   gpuval_order_restart(model);

   run first = dispatch();
   EXPECT_EQ(first.serial, 1u);
   EXPECT_FALSE(executed(first));
   gpuval_order_wait(model, 0, point, ALL);
   wait_event(event, {barrier(ALL, MEMORY_WRITE, ALL, MEMORY_READ)});
   EXPECT_FALSE(executed(first)) << "what is from before says nothing";
   gpuval_order_merge(model, point, signal(0));
   gpuval_order_wait(model, 0, point, ALL);
   EXPECT_TRUE(available(first));
}

TEST_F(order, table)
{
   static gpuval_order_table table;
   const uint32_t compute = 1u << GPUVAL_ORDER_COMPUTE;

   EXPECT_EQ(gpuval_order_queue_class(0), 0u);
   EXPECT_EQ(gpuval_order_queue_class(1), (uint32_t)GPUVAL_ORDER_SECOND_QUEUE);
   EXPECT_EQ(gpuval_order_queue_class(2), (uint32_t)GPUVAL_ORDER_OTHER_QUEUES);

   run first = dispatch(), second = dispatch(1), third = dispatch(2);
   depend({barrier(COMPUTE, WRITE, COMPUTE, READ, 0x1000, 0x2000)});
   uint64_t version = gpuval_order_version(model, 0);
   gpuval_order_fill_table(model, 0, compute, &table);
   const gpuval_order_row *row = table.rows[GPUVAL_ORDER_COMPUTE];
   ASSERT_EQ(table.num_ranges, 1u);
   EXPECT_EQ(table.ranges[0].begin, 0x1000u);
   EXPECT_EQ(table.ranges[0].end, 0x2000u);
   EXPECT_EQ(row[0].execution_watermark[GPUVAL_ORDER_COMPUTE], first.serial);
   EXPECT_EQ(row[0].memory_watermark[GPUVAL_ORDER_WRITE][GPUVAL_ORDER_COMPUTE], 0u);
   EXPECT_EQ(row[1].execution_watermark[GPUVAL_ORDER_COMPUTE], first.serial);
   EXPECT_EQ(row[1].memory_watermark[GPUVAL_ORDER_WRITE][GPUVAL_ORDER_COMPUTE], first.serial);
   EXPECT_EQ(row[1].memory_watermark[GPUVAL_ORDER_UNIFORM_READ][GPUVAL_ORDER_COMPUTE], 0u);
   EXPECT_EQ(row[1].execution_watermark[GPUVAL_ORDER_SECOND_QUEUE], 0u);

   EXPECT_EQ(gpuval_order_version(model, 0), version);
   gpuval_order_wait(model, 0, signal(1), ALL);
   EXPECT_NE(gpuval_order_version(model, 0), version);
   gpuval_order_wait(model, 0, signal(2), ALL);
   gpuval_order_fill_table(model, 0, compute, &table);
   EXPECT_EQ(row[0].execution_watermark[GPUVAL_ORDER_SECOND_QUEUE], second.serial);
   EXPECT_EQ(row[0].memory_watermark[GPUVAL_ORDER_UNIFORM_READ][GPUVAL_ORDER_SECOND_QUEUE],
             second.serial);
   EXPECT_EQ(row[1].execution_watermark[GPUVAL_ORDER_OTHER_QUEUES], third.serial);
}

} /* namespace */
