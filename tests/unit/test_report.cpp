/* SPDX-License-Identifier: MIT */

/* The tables that printers and options go by, and what is printed. */

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "base/gpuval_checks.h"
#include "report/gpuval_event.h"
#include "util/ralloc.h"

namespace {

TEST(tables, checks_have_names_of_their_own)
{
   std::set<std::string> names;
   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      ASSERT_NE(gpuval_check_infos[i].name, nullptr) << i;
      EXPECT_TRUE(names.insert(gpuval_check_infos[i].name).second);
      EXPECT_EQ(
         gpuval_checks_from_name(gpuval_check_infos[i].name, strlen(gpuval_check_infos[i].name)),
         1u << i);
      EXPECT_NE(std::string(gpuval_checks_names()).find(gpuval_check_infos[i].name),
                std::string::npos);
   }
   EXPECT_EQ(gpuval_checks_from_name("sync-computer", 13), 0u);
   EXPECT_EQ(gpuval_checks_from_name("", 0), 0u);
}

TEST(tables, kinds_have_names_of_their_own_in_a_check)
{
   std::set<std::pair<unsigned, std::string>> names;
   std::set<unsigned> checks;
   for (unsigned i = 0; i < GPUVAL_KIND_COUNT; i++) {
      ASSERT_NE(gpuval_kind_infos[i].name, nullptr) << i;
      EXPECT_TRUE(names.insert({gpuval_kind_infos[i].check, gpuval_kind_infos[i].name}).second)
         << gpuval_kind_infos[i].name;
      checks.insert(gpuval_kind_infos[i].check);
   }
   /* sync-compute reports what sync does. */
   EXPECT_EQ(checks.size(), GPUVAL_CHECK_COUNT - 1u);
}

TEST(tables, sets)
{
   EXPECT_EQ(gpuval_checks_from_name("all", 3), (1u << GPUVAL_CHECK_COUNT) - 1);
   EXPECT_EQ(gpuval_checks_from_name("residency", 9), 1u << GPUVAL_CHECK_INIT);
   EXPECT_EQ(gpuval_checks_from_name("concurrency", 11),
             1u << GPUVAL_CHECK_RACE | 1u << GPUVAL_CHECK_SHARED);
   EXPECT_EQ(
      gpuval_checks_from_name("basic", 5),
      gpuval_checks_from_name("all", 3) &
         ~(1u << GPUVAL_CHECK_SYNC | 1u << GPUVAL_CHECK_SYNC_COMPUTE |
           gpuval_checks_from_name("residency", 9) | gpuval_checks_from_name("concurrency", 11)));
}

/* Nobody gets an event without a sentence, not even of a kind that has none yet. */
TEST(tables, every_kind_is_described)
{
   for (unsigned i = 0; i < GPUVAL_KIND_COUNT; i++) {
      struct gpuval_event *event = gpuval_event_create((enum gpuval_kind)i);
      event->place.access.op = GPUVAL_OP_LOAD;
      gpuval_event_describe(event);
      if (!gpuval_event_is_message(event)) {
         ASSERT_NE(event->message, nullptr) << gpuval_kind_infos[i].name;
         EXPECT_NE(std::string(event->message), "") << gpuval_kind_infos[i].name;
      }
      ralloc_free(event);
   }
}

class describe_test : public ::testing::Test {
 protected:
   void SetUp() override
   {
      event = gpuval_event_create(GPUVAL_KIND_IMAGE_OOB);
      event->place.access.op = GPUVAL_OP_STORE;
      event->resource.set = 0;
      event->resource.binding = 1;
   }

   void TearDown() override
   {
      ralloc_free(event);
   }

   std::string message()
   {
      gpuval_event_describe(event);
      return event->message;
   }

   struct gpuval_event *event;
};

TEST_F(describe_test, buffer)
{
   event->kind = GPUVAL_KIND_BUFFER_OOB;
   event->place.access.size = 4;
   event->place.access.offset = 4096;
   event->resource.name = (char *)"particles";
   event->resource.size = 4096;
   EXPECT_EQ(message(),
             "store of 4 bytes at offset 4096 is outside set 0, binding 1 \"particles\" (4096 "
             "bytes)");
}

TEST_F(describe_test, image)
{
   event->place.access.num_coords = 2;
   event->place.access.coord[0] = -1;
   event->place.access.coord[1] = 64;
   event->place.access.has_level = true;
   event->place.access.level = 2;
   event->resource.index = 3;
   event->resource.num_extents = 2;
   event->resource.extent[0] = 64;
   event->resource.extent[1] = 32;
   EXPECT_EQ(message(), "store at (-1, 64), level 2 is outside set 0, binding 1[3] (64 x 32)");
}

TEST_F(describe_test, multisampled_image)
{
   event->place.access.op = GPUVAL_OP_FETCH;
   event->place.access.num_coords = 3;
   event->place.access.has_sample = true;
   event->place.access.sample = 4;
   EXPECT_EQ(message(), "fetch at (0, 0, 0), sample 4 is outside set 0, binding 1");
}

} /* namespace */
