/* SPDX-License-Identifier: MIT */

/* What the host knows to be written, in a window of shadow memory without any memory. */

#include "core/memory/gpuval_written.h"

#include <gtest/gtest.h>

namespace {

class Written : public testing::Test {
 protected:
   Written()
   {
      window = gpuval_shadow_create(&layout);
      written = gpuval_written_create(window, 0);
      base = gpuval_shadow_window(window);
   }

   ~Written()
   {
      gpuval_written_destroy(written);
      gpuval_shadow_destroy(window);
   }

   struct gpuval_shadow_layout layout = {};
   struct gpuval_shadow *window;
   struct gpuval_written *written;
   uint64_t base;
};

TEST_F(Written, NothingIsAtFirst)
{
   EXPECT_FALSE(gpuval_written_is_marked(written, base, 4));
   EXPECT_EQ(gpuval_written_get(written, base), 0);
}

TEST_F(Written, OutsideOfTheWindowAllIs)
{
   EXPECT_TRUE(gpuval_written_is_marked(written, base - 4096, 16));
   EXPECT_TRUE(gpuval_written_is_marked(written, 0, 16));
   EXPECT_EQ(gpuval_written_get(written, 0), GPUVAL_INIT_ALL);
   gpuval_written_mark(written, base - 16, 32);
   gpuval_written_clear(written, 0, GPUVAL_INIT_ALL);
}

TEST_F(Written, WordsCount)
{
   gpuval_written_mark(written, base + 8, 8);
   EXPECT_TRUE(gpuval_written_is_marked(written, base + 8, 8));
   EXPECT_FALSE(gpuval_written_is_marked(written, base + 4, 8));
   EXPECT_FALSE(gpuval_written_is_marked(written, base + 12, 8));

   /* One byte is its word. */
   gpuval_written_mark(written, base + 101, 1);
   EXPECT_TRUE(gpuval_written_is_marked(written, base + 100, 4));
   EXPECT_FALSE(gpuval_written_is_marked(written, base + 104, 1));
}

TEST_F(Written, GrowsFromBothEnds)
{
   const uint64_t size = 1 << 20;

   gpuval_written_mark(written, base + size / 2, size / 2);
   EXPECT_FALSE(gpuval_written_is_marked(written, base, size));
   gpuval_written_mark(written, base, size / 2 - 4);
   EXPECT_FALSE(gpuval_written_is_marked(written, base, size));
   gpuval_written_mark(written, base + size / 2 - 4, 4);
   EXPECT_TRUE(gpuval_written_is_marked(written, base, size));
   EXPECT_TRUE(gpuval_written_is_marked(written, base, size));
}

TEST_F(Written, AspectsAreTheirOwn)
{
   gpuval_written_set(written, base, GPUVAL_INIT_STENCIL);
   EXPECT_EQ(gpuval_written_get(written, base), GPUVAL_INIT_STENCIL);
   gpuval_written_set(written, base, GPUVAL_INIT_COLOR);
   gpuval_written_clear(written, base, GPUVAL_INIT_STENCIL);
   EXPECT_EQ(gpuval_written_get(written, base), GPUVAL_INIT_COLOR);
}

TEST_F(Written, WhatIsClearedLaterMayBeWrittenBefore)
{
   gpuval_written_set(written, base, GPUVAL_INIT_ALL);
   gpuval_written_set(written, base + 4, GPUVAL_INIT_ALL);
   gpuval_written_clear_later(written, base, GPUVAL_INIT_ALL);
   gpuval_written_clear_later(written, base + 4, GPUVAL_INIT_ALL);
   EXPECT_EQ(gpuval_written_get(written, base), GPUVAL_INIT_ALL);
   gpuval_written_set(written, base + 4, GPUVAL_INIT_ALL);
   gpuval_written_flush(written);
   EXPECT_EQ(gpuval_written_get(written, base), 0);
   EXPECT_EQ(gpuval_written_get(written, base + 4), GPUVAL_INIT_ALL);
   gpuval_written_set(written, base, GPUVAL_INIT_ALL);
   gpuval_written_flush(written);
   EXPECT_EQ(gpuval_written_get(written, base), GPUVAL_INIT_ALL);
}

TEST_F(Written, ViewsHaveAllLevelsAndLayers)
{
   const uint32_t offsets[] = {0, 4096, 6144}, strides[] = {1024, 512, 256};
   const struct gpuval_written_view view = {base, offsets, strides, 1, 2, 3};

   for (unsigned level = 0; level < 3; level++) {
      for (unsigned layer = 0; layer < 3; layer++) {
         EXPECT_EQ(gpuval_written_is_view_marked(written, &view), false);
         gpuval_written_set(written, base + offsets[level] + layer * strides[level],
                            GPUVAL_INIT_ALL);
      }
   }
   EXPECT_TRUE(gpuval_written_is_view_marked(written, &view));
   gpuval_written_clear(written, base + offsets[2] + strides[2], GPUVAL_INIT_ALL);
   EXPECT_FALSE(gpuval_written_is_view_marked(written, &view));
}

struct things {
   uint32_t num_marked, num_asked;
   struct gpuval_written *clears; /* @address while they are looked at, or NULL */
   uint64_t address;
};

bool
is_marked(void *data, uint32_t index)
{
   struct things *things = (struct things *)data;

   things->num_asked++;
   if (things->clears)
      gpuval_written_clear(things->clears, things->address, GPUVAL_INIT_ALL);
   return index < things->num_marked;
}

TEST_F(Written, ListsGoOnWhereTheyWereNotMarked)
{
   struct things things = {3, 0, NULL, 0};
   struct gpuval_written_list list = {base, 1, 8, is_marked, &things};

   EXPECT_FALSE(gpuval_written_is_list_marked(written, &list));
   EXPECT_EQ(things.num_asked, 4u);
   EXPECT_FALSE(gpuval_written_is_list_marked(written, &list));
   EXPECT_EQ(things.num_asked, 5u);
   things.num_marked = 8;
   EXPECT_TRUE(gpuval_written_is_list_marked(written, &list));
   EXPECT_EQ(things.num_asked, 10u);
   EXPECT_TRUE(gpuval_written_is_list_marked(written, &list));
   EXPECT_EQ(things.num_asked, 10u);

   /* Others are there, or something is cleared. */
   things = {0, 0, NULL, 0};
   list.key = 2;
   EXPECT_FALSE(gpuval_written_is_list_marked(written, &list));
   list.key = 1;
   EXPECT_TRUE(gpuval_written_is_list_marked(written, &list));
   gpuval_written_clear(written, base, GPUVAL_INIT_ALL);
   EXPECT_FALSE(gpuval_written_is_list_marked(written, &list));
}

TEST_F(Written, WhatIsClearedMeanwhileIsNotRemembered)
{
   struct things things = {4, 0, written, base};
   const struct gpuval_written_list list = {base, 1, 4, is_marked, &things};

   EXPECT_TRUE(gpuval_written_is_list_marked(written, &list));
   things = {0, 0, NULL, 0};
   EXPECT_FALSE(gpuval_written_is_list_marked(written, &list));
}

/* There is no table that could be too small. */
TEST_F(Written, AHundredThousandResources)
{
   const uint64_t distance = 1024;

   for (uint64_t i = 0; i < 100000; i++) {
      EXPECT_FALSE(gpuval_written_is_marked(written, base + i * distance, 64));
      gpuval_written_mark(written, base + i * distance, 64);
   }
   for (uint64_t i = 0; i < 100000; i++) {
      EXPECT_TRUE(gpuval_written_is_marked(written, base + i * distance, 64));
      EXPECT_FALSE(gpuval_written_is_marked(written, base + i * distance + 64, 4));
   }
}

} // namespace
