/* SPDX-License-Identifier: MIT */

/* What the host keeps of memory in a table: gpuval_marks.h */

#include "core/memory/gpuval_written.h"
#include "core/shaders/gpuval_shader.h"
#include <gtest/gtest.h>

#include <stdlib.h>

#include "base/gpuval_init.h"
#include "core/device/gpuval_device.h"
#include "core/memory/gpuval_marks.h"

namespace {

const uint64_t high = 0xffff800000000000ull; /* addresses are anywhere */

class marks_test : public ::testing::Test {
 public:
   static void SetUpTestSuite()
   {
      setenv("GPUVAL", "init", 1);
      setenv("GPUVAL_LOG", "/dev/null", 1);
      gpuval_init(false);
   }

   void SetUp() override
   {
      struct gpuval_device_info info = {};
      info.winsys = gpuval_winsys_host;
      info.has_marks = true;
      device = gpuval_device_create(&info);
      ASSERT_NE(device, nullptr);
      ASSERT_TRUE(gpuval_device_has_marks(device));
   }

   void TearDown() override
   {
      gpuval_device_destroy(device);
   }

   void publish()
   {
      gpuval_device_end_work(device, gpuval_device_begin_work(device));
   }

   const struct gpuval_marked_table *table()
   {
      return (const struct gpuval_marked_table *)(uintptr_t)gpuval_marks_table(device);
   }

   /* As a shader looks: the last range that begins at @address or before */
   bool is_written(uint64_t address)
   {
      const struct gpuval_marked_range *range =
         (const struct gpuval_marked_range *)(const void *)table();
      for (uint32_t i = 0; i < table()->count && table()->ranges[i].begin <= address; i++)
         range = &table()->ranges[i];
      if (address - range->begin >= range->size)
         return true;
      uint64_t byte = range->marks + (address >> GPUVAL_INIT_GRANULE_LOG2);
      return *(const uint8_t *)(uintptr_t)byte == GPUVAL_INIT_ALL;
   }

   struct gpuval_device *device;
};

TEST_F(marks_test, memory_is_unwritten_and_all_else_is_written)
{
   EXPECT_TRUE(is_written(high));
   gpuval_marks_add(device, high, 4096);
   EXPECT_TRUE(is_written(high)); /* no work knows it yet */
   publish();
   EXPECT_TRUE(is_written(high - 1));
   EXPECT_FALSE(is_written(high));
   EXPECT_FALSE(is_written(high + 4095));
   EXPECT_TRUE(is_written(high + 4096));
   EXPECT_TRUE(is_written(0));
}

TEST_F(marks_test, writes_count_for_the_granules_that_they_touch)
{
   gpuval_marks_add(device, high, 4096);
   publish();
   gpuval_marks_write(device, high + 31, 2);
   EXPECT_FALSE(is_written(high + 15));
   EXPECT_TRUE(is_written(high + 16));
   EXPECT_TRUE(is_written(high + 47));
   EXPECT_FALSE(is_written(high + 48));
   gpuval_marks_write(device, high + 4090, 100); /* beyond the end */
   EXPECT_FALSE(is_written(high + 4079));
   EXPECT_TRUE(is_written(high + 4095));
   gpuval_marks_write(device, high - 1, 16); /* begins in nobody's */
   gpuval_marks_write(device, high + 4096, 16);
   gpuval_marks_write(device, high + 64, 0);
   EXPECT_FALSE(is_written(high));
   EXPECT_FALSE(is_written(high + 64));
}

/* Pages that are marked wholly are not marked again; others are, bit by bit. */
TEST_F(marks_test, large_writes)
{
   const uint64_t size = (1 << 20) + 100;
   gpuval_marks_add(device, high, size);
   publish();
   gpuval_marks_write(device, high + 1000, 300000);
   gpuval_marks_write(device, high + 200000, 300000);
   for (uint64_t at = 0; at < size; at += 16)
      ASSERT_EQ(is_written(high + at), at >= 992 && at < 500000) << at;
   gpuval_marks_write(device, high, size);
   gpuval_marks_write(device, high, size);
   for (uint64_t at = 0; at < size; at += 16)
      ASSERT_TRUE(is_written(high + at)) << at;
}

TEST_F(marks_test, memory_in_any_order)
{
   for (unsigned i : {4, 1, 3, 0, 2})
      gpuval_marks_add(device, high + i * 8192, 4096);
   publish();
   ASSERT_EQ(table()->count, 5u);
   for (unsigned i = 0; i < 5; i++)
      gpuval_marks_write(device, high + i * 8192 + i * 16, 16);
   for (unsigned i = 0; i < 5; i++) {
      for (unsigned j = 0; j < 5; j++)
         EXPECT_EQ(is_written(high + i * 8192 + j * 16), i == j);
   }
   gpuval_marks_remove(device, high + 2 * 8192);
   gpuval_marks_remove(device, high + 5 * 8192); /* was never there */
   publish();
   EXPECT_EQ(table()->count, 4u);
   EXPECT_TRUE(is_written(high + 2 * 8192));
   EXPECT_FALSE(is_written(high + 3 * 8192));
}

TEST_F(marks_test, what_is_freed_is_forgotten)
{
   gpuval_marks_add(device, high, 4096);
   gpuval_marks_write(device, high, 4096);
   publish();
   EXPECT_TRUE(is_written(high));
   gpuval_marks_remove(device, high);
   gpuval_marks_add(device, high, 4096);
   publish();
   EXPECT_FALSE(is_written(high));
}

/* Work that was begun before may look for what has gone, in the table that it has. */
TEST_F(marks_test, what_work_may_use_lives_until_it_ends)
{
   gpuval_marks_add(device, high, 4096);
   unsigned first = gpuval_device_begin_work(device);
   const struct gpuval_marked_table *old = table();
   gpuval_marks_remove(device, high);
   gpuval_marks_add(device, high + 8192, 4096);
   unsigned second = gpuval_device_begin_work(device);
   ASSERT_NE(table(), old);
   gpuval_device_look(device);
   ASSERT_EQ(old->count, 1u);
   EXPECT_EQ(*(const uint8_t *)(uintptr_t)(old->ranges[0].marks + (high >> 4)), 0);

   /* Other work goes on and on. */
   gpuval_device_end_work(device, first);
   unsigned third = gpuval_device_begin_work(device);
   gpuval_device_end_work(device, second);
   gpuval_device_look(device);
   EXPECT_EQ(device->marks->retired.size, 0u);
   EXPECT_EQ(device->marks->ending.size, 0u);
   gpuval_device_end_work(device, third);
}

TEST_F(marks_test, gives_up_for_good)
{
   gpuval_marks_add(device, high, 4096);
   publish();
   EXPECT_FALSE(is_written(high));
   gpuval_marks_give_up(device);
   EXPECT_TRUE(is_written(high));
   gpuval_marks_add(device, high + 8192, 4096);
   publish();
   EXPECT_TRUE(is_written(high));
   EXPECT_TRUE(is_written(high + 8192));
}

/* Commands may be in flight again that were told a table long ago. */
TEST_F(marks_test, giving_up_keeps_the_tables)
{
   gpuval_marks_add(device, high, 4096);
   unsigned first = gpuval_device_begin_work(device);
   const struct gpuval_marked_table *old = table();
   gpuval_marks_add(device, high + 8192, 4096);
   unsigned second = gpuval_device_begin_work(device);
   ASSERT_NE(table(), old);
   EXPECT_EQ(device->root->all_written, 0u);
   gpuval_marks_give_up(device);
   EXPECT_EQ(device->root->all_written, 1u);
   gpuval_marks_remove(device, high);
   gpuval_device_end_work(device, first);
   gpuval_device_end_work(device, second);
   gpuval_device_look(device);
   publish();
   gpuval_device_look(device);
   ASSERT_EQ(old->count, 1u);
   EXPECT_EQ(*(const uint8_t *)(uintptr_t)(old->ranges[0].marks + (high >> 4)), 0);
   EXPECT_EQ(table()->count, 0u);
}

/* What a shader writes without marks, nobody knows in the process that loads its binary either. */
TEST_F(marks_test, gives_up_by_a_binary)
{
   struct gpuval_device_info info = {};
   info.winsys = gpuval_winsys_host;
   info.has_marks = true;

   for (bool is_unmarked : {false, true}) {
      struct blob blob;
      struct blob_reader reader;
      struct gpuval_shader *shader;
      struct gpuval_device *other = gpuval_device_create(&info);
      ASSERT_NE(other, nullptr);

      blob_init(&blob);
      gpuval_device_write_shader(device, NULL, is_unmarked, &blob);
      blob_reader_init(&reader, blob.data, blob.size - 1);
      EXPECT_FALSE(gpuval_device_read_shader(other, &reader, &shader));
      EXPECT_FALSE(other->marks->gave_up);
      blob_reader_init(&reader, blob.data, blob.size);
      EXPECT_TRUE(gpuval_device_read_shader(other, &reader, &shader));
      EXPECT_EQ(other->marks->gave_up, is_unmarked);
      EXPECT_EQ(other->root->all_written, (uint32_t)is_unmarked);
      EXPECT_FALSE(device->marks->gave_up);
      blob_finish(&blob);
      gpuval_device_destroy(other);
   }
}

/* The same where memory is in a window. */
TEST_F(marks_test, gives_up_a_window)
{
   struct gpuval_device_info info = {};
   info.winsys = gpuval_winsys_host;
   info.has_shadow = true;
   struct gpuval_device *other = gpuval_device_create(&info);
   ASSERT_NE(other, nullptr);
   ASSERT_NE(other->written, nullptr);
   EXPECT_FALSE(gpuval_device_has_marks(other));

   uint64_t begin = other->root->written_window;
   EXPECT_FALSE(gpuval_written_is_marked(other->written, begin + 4096, 64));
   gpuval_marks_give_up(other);
   EXPECT_TRUE(gpuval_written_is_marked(other->written, begin + 4096, 64));
   EXPECT_EQ(gpuval_written_get(other->written, begin + 4096), GPUVAL_INIT_ALL);
   EXPECT_GE(other->root->written_window, 1ull << 48); /* where no address is */
   gpuval_device_destroy(other);
}

} /* namespace */
