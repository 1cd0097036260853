/* SPDX-License-Identifier: MIT */

/* The host's side of buffers on which it has no atomics, as those in the memory of a
 * graphics card: work may be in flight all the time.
 */

#include "nir_passes/gpuval_nir.h"
#include "drain_test.h"

#include <random>

namespace {

class video_memory : public drain_test {
 protected:
   void SetUp() override
   {
      create_device(1u << 14, false, true);
   }

   /* One invocation; into one slot or another, as the shaders do. */
   void fail(uint32_t site, uint32_t command_id)
   {
      shader_side shader(device);
      struct gpuval_record record = make_record(site, command_id);

      shader.count(site);
      shader.record(record);
   }
};

/* Each submit ends when there is another one already: a game's queue is never idle. */
TEST_F(video_memory, slots_come_back_while_work_is_in_flight)
{
   const unsigned count = 12000;
   uint32_t first = add_shader(count, 1);

   unsigned last = gpuval_device_begin_work(device);
   for (unsigned i = 0; i < count; i++) {
      unsigned next = gpuval_device_begin_work(device);
      fail(first + i, i);
      gpuval_device_end_work(device, last);
      last = next;
   }

   unsigned known = 0;
   for (unsigned i = 0; i < count; i++)
      known += event(first + i) && event(first + i)->has_record;
   /* Some have the slot of another one, but there are 4,096 only. */
   EXPECT_GT(known, count - count / 20);
   gpuval_device_end_work(device, last);
   for (unsigned i = 0; i < count; i++)
      ASSERT_EQ(event(first + i)->count, 1u) << i;
}

/* What a shader may write, the host does not: work that began early may still have the
 * address of slots that others have left.
 */
TEST_F(video_memory, slots_that_may_be_in_use_are_left_alone)
{
   const unsigned count = 2000;
   uint32_t first = add_shader(count, 2);
   shader_side shader(device);
   struct gpuval_slots *slots = shader.slots();

   unsigned early = gpuval_device_begin_work(device);
   for (unsigned i = 0; i < count; i++) {
      unsigned work = gpuval_device_begin_work(device);
      fail(first + i, i);
      gpuval_device_end_work(device, work);
   }
   EXPECT_NE(shader.slots(), slots);
   unsigned claimed = 0;
   for (unsigned word = 0; word < GPUVAL_CONTROL_WORDS; word++)
      claimed += util_bitcount(slots->control[word]);
   EXPECT_GE(claimed, 2u * GPUVAL_SLOT_COUNT / 16);

   gpuval_device_end_work(device, early);
   for (unsigned word = 0; word < GPUVAL_CONTROL_WORDS; word++)
      EXPECT_EQ(slots->control[word], 0u);
}

/* Looks between the failure and its record must not make the host forget it. */
TEST_F(video_memory, record_behind_a_look)
{
   uint32_t site = add_shader(1, 3);
   shader_side shader(device);
   unsigned work = gpuval_device_begin_work(device);

   shader.count(site);
   gpuval_device_look(device);
   EXPECT_EQ(device->root->poll.failed, 0u);
   EXPECT_EQ(event(site), nullptr);
   shader.record(make_record(site, 7));
   gpuval_device_look(device);
   ASSERT_NE(event(site), nullptr);
   EXPECT_TRUE(event(site)->has_record);

   /* And counts are read at the end, though nothing has failed since. */
   gpuval_device_end_work(device, work);
   EXPECT_EQ(event(site)->count, 1u);
}

TEST_F(video_memory, nothing_is_believed_of_memory_that_was_lost)
{
   uint32_t site = add_shader(100, 4);
   std::mt19937 random(1);
   unsigned work = gpuval_device_begin_work(device);

   for (unsigned i = 0; i < 100; i++)
      ((uint64_t *)device->counters.map)[site + i] = random();
   for (unsigned i = 0; i < GPUVAL_ROOT_SIZE / 4; i++)
      ((uint32_t *)device->root)[i] = random() | 1;
   gpuval_device_end_work(device, work);
   for (unsigned i = 0; i < 100; i++)
      EXPECT_EQ(event(site + i), nullptr);
}

TEST_F(video_memory, counts_of_a_lost_device_are_not_believed)
{
   uint32_t site = add_shader(3, 5);
   unsigned work = gpuval_device_begin_work(device);

   fail(site, 1);
   shader_side(device).count(site + 1);
   shader_side(device).counters()[site] = 0x123456789;
   struct vk_device vk = {};
   vk._lost.lost = 1;
   device->info.vk = &vk;
   gpuval_device_end_work(device, work);
   device->info.vk = NULL;
   ASSERT_NE(event(site), nullptr);
   EXPECT_EQ(event(site)->count, 1u);
   EXPECT_EQ(event(site + 1), nullptr);
   EXPECT_EQ(event(site + 2), nullptr);
}

} // namespace
