/* SPDX-License-Identifier: MIT */

/* The windows of shadow memory: what a cell costs, and what is left of it when all begins
 * anew, or when its memory goes.
 */

#include <gtest/gtest.h>

#include <unistd.h>
#include <vector>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/gpuval_shadow.h"

namespace {

const uint64_t small = 1 << 20, large = 8ull << 30;

class shadow_memory : public ::testing::Test {
 protected:
   void SetUp() override
   {
      prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* or one word has the pages of many */
      shadow = gpuval_shadow_create(&layout);
      if (!shadow)
         GTEST_SKIP() << "no address space for shadow memory";
   }

   void TearDown() override
   {
      if (shadow)
         gpuval_shadow_destroy(shadow);
   }

   /* Memory of a device, in the window; nobody touches it. */
   uint64_t place(uint64_t size)
   {
      void *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      EXPECT_NE(map, MAP_FAILED);
      void *placed = gpuval_shadow_place(shadow, map, size);
      EXPECT_NE(placed, nullptr);
      return (uintptr_t)placed;
   }

   void take(uint64_t address, uint64_t size)
   {
      void *map = gpuval_shadow_take(shadow, (void *)(uintptr_t)address, size);
      ASSERT_NE(map, nullptr);
      munmap(map, size);
   }

   /* The writers of the word and of its first byte, and the time of its release */
   std::vector<uint64_t *> cells(uint64_t address)
   {
      uint64_t words = gpuval_shadow_words(shadow);
      return {
         (uint64_t *)(uintptr_t)(words + address * GPUVAL_SHADOW_WORDS_SCALE),
         (uint64_t *)(uintptr_t)(layout.bytes + address * GPUVAL_SHADOW_BYTES_SCALE),
         (uint64_t *)(uintptr_t)(layout.times + address * GPUVAL_SHADOW_TIMES_SCALE),
      };
   }

   void touch(uint64_t address)
   {
      for (uint64_t *cell : cells(address))
         *cell = address;
   }

   static bool is_resident(const uint64_t *cell)
   {
      unsigned char page = 0;
      uintptr_t begin = (uintptr_t)cell & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);
      EXPECT_EQ(mincore((void *)begin, 1, &page), 0);
      return page & 1;
   }

   /* Pages of the cells of the words */
   uint64_t count_resident(uint64_t address, uint64_t size)
   {
      uint64_t page = sysconf(_SC_PAGESIZE), count = 0;
      std::vector<unsigned char> pages(size * GPUVAL_SHADOW_WORDS_SCALE / page);
      EXPECT_EQ(mincore(cells(address)[0], pages.size() * page, pages.data()), 0);
      for (unsigned char there : pages)
         count += there & 1;
      return count;
   }

   gpuval_shadow_layout layout = {};
   gpuval_shadow *shadow = NULL;
};

TEST_F(shadow_memory, all_begins_anew_and_pages_stay)
{
   uint64_t memory = place(small), other = place(small);
   const uint64_t at[] = {memory, memory + 4096, memory + small - 4, other + small / 2};

   for (uint64_t address : at)
      touch(address);
   gpuval_shadow_forget(shadow);
   for (uint64_t address : at) {
      for (uint64_t *cell : cells(address)) {
         EXPECT_TRUE(is_resident(cell));
         EXPECT_EQ(*cell, 0u);
      }
   }
}

TEST_F(shadow_memory, what_nobody_touched_has_no_pages)
{
   uint64_t memory = place(small);

   touch(memory + small / 2);
   gpuval_shadow_forget(shadow);
   EXPECT_EQ(count_resident(memory, small), 1u);
   for (uint64_t *cell : cells(memory))
      EXPECT_FALSE(is_resident(cell));
}

TEST_F(shadow_memory, pages_of_large_memory_are_given_back)
{
   uint64_t memory = place(large);

   for (unsigned i = 0; i < 64; i++)
      touch(memory + i * (large / 64));
   EXPECT_GE(count_resident(memory, large), 64u);
   gpuval_shadow_forget(shadow);
   EXPECT_EQ(count_resident(memory, large), 0u);
   for (uint64_t *cell : cells(memory))
      EXPECT_EQ(*cell, 0u);
}

TEST_F(shadow_memory, cells_of_memory_that_is_gone_are_nobodys)
{
   uint64_t memory = place(small);

   touch(memory + 8);
   take(memory, small);
   for (uint64_t *cell : cells(memory + 8)) {
      EXPECT_FALSE(is_resident(cell));
      EXPECT_EQ(*cell, 0u);
   }
}

TEST_F(shadow_memory, memory_that_stays_where_it_is)
{
   alignas(16) static uint8_t memory[10000];
   uint64_t begin = (uintptr_t)memory + 40;

   ASSERT_TRUE(gpuval_shadow_add_range(shadow, begin, 5000));
   uint64_t alias = gpuval_shadow_translate(shadow, begin);
   EXPECT_LT(alias - gpuval_shadow_window(shadow), 1ull << GPUVAL_SHADOW_WINDOW_LOG2);
   EXPECT_EQ(gpuval_shadow_translate(shadow, begin + 4999), alias + 4999);
   EXPECT_EQ(gpuval_shadow_translate(shadow, begin + 5000), 0u);
   EXPECT_EQ(gpuval_shadow_translate(shadow, begin - 1), 0u);
   EXPECT_EQ(alias % 16, begin % 16);

   touch(alias);
   gpuval_shadow_forget(shadow);
   EXPECT_EQ(*cells(alias)[0], 0u);
   touch(alias);
   gpuval_shadow_remove_range(shadow, begin);
   EXPECT_EQ(gpuval_shadow_translate(shadow, begin), 0u);
   EXPECT_EQ(*cells(alias)[0], 0u);
}

} // namespace
