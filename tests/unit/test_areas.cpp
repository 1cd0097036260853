/* SPDX-License-Identifier: MIT */

/* Which memory has cells where it is in no window: gpuval_cells.h */

#include "core/memory/gpuval_marks.h"
#include "core/memory/gpuval_shadow_device.h"
#include <gtest/gtest.h>

#include <stdlib.h>

#include "base/gpuval_shadow.h"
#include "core/device/gpuval_device.h"
#include "core/memory/gpuval_cells.h"

namespace {

const uint64_t high = 0xffff800000000000ull; /* addresses are anywhere */
const uint64_t budget = 1 << 20;

class areas_test : public ::testing::Test {
 public:
   static void SetUpTestSuite()
   {
      setenv("GPUVAL", "sync", 1);
      setenv("GPUVAL_SYNC", "shadow", 1);
      setenv("GPUVAL_BLOOM_SIZE_LOG2", "16", 1);
      setenv("GPUVAL_LOG", "/dev/null", 1);
      gpuval_init(false);
   }

   void SetUp() override
   {
      struct gpuval_device_info info = {};
      info.winsys = gpuval_winsys_host;
      info.has_table = true;
      info.max_shadow_size = budget;
      device = gpuval_device_create(&info);
      ASSERT_NE(device, nullptr);
      ASSERT_TRUE(gpuval_device_has_cells(device));
      ASSERT_TRUE(gpuval_device_has_shadow(device));
   }

   void TearDown() override
   {
      gpuval_device_destroy(device);
   }

   struct gpuval_shadow_layout *layout()
   {
      return (struct gpuval_shadow_layout *)device->shadow->layout.map;
   }

   const struct gpuval_shadow_table *table()
   {
      return (const struct gpuval_shadow_table *)(uintptr_t)gpuval_cells_table(device);
   }

   void publish()
   {
      gpuval_device_end_work(device, gpuval_device_begin_work(device));
   }

   /* As a shader looks; NULL: there is none */
   uint64_t *cell(uint64_t address)
   {
      for (uint32_t i = 0; i < table()->count; i++) {
         const struct gpuval_shadow_area *area = &table()->areas[i];
         if (address - area->begin < area->size)
            return (uint64_t *)(uintptr_t)(area->words + address * GPUVAL_SHADOW_WORDS_SCALE);
      }
      return NULL;
   }

   /* Numbers of commands, as they are told */
   uint32_t begin_command(uint32_t serial, uint32_t threshold)
   {
      struct gpuval_command_data data = {};
      data.serial = serial;
      gpuval_device_shadow_command(device, {threshold, threshold}, false, &data);
      behind = data.shadow_ordered >> GPUVAL_SHADOW_COMMAND_SHIFT;
      return data.shadow_command >> GPUVAL_SHADOW_COMMAND_SHIFT;
   }

   struct gpuval_device *device;
   uint32_t behind;
};

TEST_F(areas_test, cells_are_each_memorys_own)
{
   publish();
   EXPECT_EQ(table()->count, 0u);
   for (unsigned i : {2, 0, 1, 0})
      gpuval_cells_add(device, high + i * 8192, 4096);
   EXPECT_EQ(table()->count, 0u); /* no work knows it yet */
   publish();
   ASSERT_EQ(table()->count, 3u);
   EXPECT_EQ(table()->has_others, 0u);
   for (unsigned i = 0; i < 3; i++) {
      EXPECT_EQ(table()->areas[i].begin, high + i * 8192);
      for (uint64_t at = 0; at < 4096; at += 4)
         *cell(high + i * 8192 + at) = i + at;
   }
   for (unsigned i = 0; i < 3; i++) {
      for (uint64_t at = 0; at < 4096; at += 4)
         ASSERT_EQ(*cell(high + i * 8192 + at), i + at);
   }
   EXPECT_EQ(cell(high + 4096), nullptr);
   gpuval_cells_remove(device, high + 8192);
   gpuval_cells_remove(device, high + 4); /* nothing begins there */
   publish();
   EXPECT_EQ(table()->count, 2u);
   EXPECT_EQ(cell(high + 8192), nullptr);
   gpuval_cells_add(device, high + 8192, 4096);
   publish();
   EXPECT_EQ(*cell(high + 8192 + 4), 0u); /* others' are forgotten */
}

TEST_F(areas_test, beyond_the_budget_is_the_filters)
{
   /* A quarter is for bytes, and cells are 5 times the memory. */
   const uint64_t most = budget / 4 * 3 / 5 / 4096 * 4096;
   gpuval_cells_add(device, high, most - 4096);
   publish();
   EXPECT_EQ(table()->has_others, 0u);
   gpuval_cells_add(device, high + budget, 8192);
   publish();
   EXPECT_EQ(table()->has_others, 1u);
   EXPECT_EQ(table()->count, 1u);
   gpuval_cells_add(device, high + 2 * budget, 4096);
   publish();
   EXPECT_EQ(table()->count, 2u);
   gpuval_cells_add(device, high + 3 * budget, UINT64_MAX / 2);
   gpuval_cells_remove(device, high);
   gpuval_cells_add(device, high + 3 * budget, 8192);
   publish();
   EXPECT_EQ(table()->count, 2u);
   EXPECT_EQ(cell(high), nullptr);
   EXPECT_NE(cell(high + 3 * budget), nullptr);
}

/* In front of those of words, one for each block that memory is in */
TEST_F(areas_test, blocks_have_cells)
{
   gpuval_cells_add(device, high, 100);
   publish();
   const struct gpuval_shadow_area *area = &table()->areas[0];
   EXPECT_EQ(area->blocks + high + 112, area->words + high * GPUVAL_SHADOW_WORDS_SCALE);
   EXPECT_NE(cell(high), nullptr);
}

TEST_F(areas_test, memory_that_cannot_have_cells)
{
   publish();
   EXPECT_EQ(table()->has_others, 0u);
   gpuval_cells_add_other(device);
   publish();
   EXPECT_EQ(table()->has_others, 1u);
}

/* Work that was begun before may look in the table that it has. */
TEST_F(areas_test, what_work_may_use_lives_until_it_ends)
{
   gpuval_cells_add(device, high, 4096);
   unsigned first = gpuval_device_begin_work(device);
   const struct gpuval_shadow_table *old = table();
   uint64_t *old_cell = cell(high);
   gpuval_cells_remove(device, high);
   unsigned second = gpuval_device_begin_work(device);
   ASSERT_NE(table(), old);
   EXPECT_EQ(old->count, 1u);
   *old_cell = 1;
   gpuval_device_end_work(device, first);
   unsigned third = gpuval_device_begin_work(device);
   gpuval_device_end_work(device, second);
   gpuval_device_look(device);
   EXPECT_EQ(device->marks->retired.size, 0u);
   EXPECT_EQ(device->marks->ending.size, 0u);
   gpuval_device_end_work(device, third);
}

TEST_F(areas_test, numbers_begin_again_when_nothing_runs)
{
   gpuval_cells_add(device, high, 4096);
   publish();
   EXPECT_EQ(begin_command(1, 0), 1u);
   *cell(high) = 1;
   gpuval_device_shadow_idle(device); /* there are enough */
   EXPECT_EQ(*cell(high), 1u);
   for (unsigned i = 2; i < GPUVAL_SHADOW_MAX_COMMAND / 2; i++)
      ASSERT_EQ(begin_command(i, 0), i);
   gpuval_device_shadow_idle(device);
   EXPECT_EQ(*cell(high), 0u);
   EXPECT_EQ(begin_command(GPUVAL_SHADOW_MAX_COMMAND, 0), 1u);
}

TEST_F(areas_test, bytes_begin_again_when_there_are_none_left)
{
   gpuval_cells_add(device, high, 4096);
   publish();
   *cell(high) = (uint64_t)GPUVAL_SHADOW_BYTES << 32;
   layout()->num_splits = layout()->max_splits;
   gpuval_device_shadow_idle(device);
   EXPECT_NE(*cell(high), 0u);
   layout()->num_splits++;
   gpuval_device_shadow_idle(device);
   EXPECT_EQ(*cell(high), 0u);
   EXPECT_EQ(layout()->num_splits, 0u);
}

/* A queue goes on with its span while another one has begun later ones. */
TEST_F(areas_test, serials_of_several_queues)
{
   begin_command(1, UINT32_MAX);
   begin_command(3, 0);
   EXPECT_EQ(behind, 1u);
   begin_command(1, 2);
   EXPECT_EQ(behind, 2u); /* what is above a table has to tell */
   begin_command(4, 2);
   EXPECT_EQ(behind, 2u);
   begin_command(4, 3);
   EXPECT_EQ(behind, 4u);
}

} /* namespace */
