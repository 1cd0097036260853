/* SPDX-License-Identifier: MIT */

/* The tables that printers and options go by, and what is printed. */

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "base/gpuval_checks.h"
#include "base/gpuval_glob.h"
#include "report/gpuval_event.h"
#include "util/ralloc.h"

namespace {

bool
is_available(unsigned check)
{
   return gpuval_checks_available() & 1u << check;
}

TEST(tables, checks_have_names_of_their_own)
{
   std::set<std::string> names;
   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      const std::string name = gpuval_check_infos[i].name;
      EXPECT_TRUE(names.insert(name).second);
      const bool is_unnamed = gpuval_check_infos[i].sets & (GPUVAL_SET_HIDDEN | GPUVAL_SET_ALWAYS);
      EXPECT_EQ(gpuval_checks_from_name(name.c_str(), name.size()), is_unnamed ? 0 : 1u << i);
      const std::string known = std::string(", ") + gpuval_checks_names() + "; ";
      EXPECT_EQ(known.find(", " + name + ",") != std::string::npos ||
                   known.find(", " + name + ";") != std::string::npos,
                is_available(i))
         << name;
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
   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      /* sync-compute reports what sync does. */
      const bool is_unnamed = gpuval_check_infos[i].sets & (GPUVAL_SET_HIDDEN | GPUVAL_SET_ALWAYS);
      EXPECT_EQ(checks.count(i), (is_unnamed || is_available(i)) && i != GPUVAL_CHECK_SYNC_COMPUTE)
         << gpuval_check_infos[i].name;
   }
}

TEST(tables, sets)
{
   EXPECT_EQ(gpuval_checks_from_name("all", 3),
             gpuval_checks_available() & ~(1u << GPUVAL_CHECK_NAN));
   EXPECT_EQ(gpuval_checks_from_name("residency", 9), 1u << GPUVAL_CHECK_INIT);
   EXPECT_EQ(gpuval_checks_from_name("concurrency", 11),
             1u << GPUVAL_CHECK_RACE | 1u << GPUVAL_CHECK_SHARED);
   const uint32_t basic = gpuval_checks_from_name("basic", 5);
   EXPECT_EQ(basic, gpuval_checks_from_name("all", 3) &
                       ~(1u << GPUVAL_CHECK_SYNC | 1u << GPUVAL_CHECK_SYNC_COMPUTE |
                         gpuval_checks_from_name("residency", 9) |
                         gpuval_checks_from_name("concurrency", 11) |
                         (gpuval_checks_from_name("shader", 6) & ~basic)));
   EXPECT_EQ(gpuval_checks_from_name("shader", 6) & ~basic, 1u << GPUVAL_CHECK_ARITHMETIC |
                                                               1u << GPUVAL_CHECK_UNDEFINED |
                                                               1u << GPUVAL_CHECK_CONVERGE);
}

/* Nobody gets an event without a sentence, not even of a kind that has none yet. */
TEST(tables, every_kind_is_described)
{
   for (unsigned i = 0; i < GPUVAL_KIND_COUNT; i++) {
      if (gpuval_kind_is_hidden((enum gpuval_kind)i))
         continue;
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

TEST(glob, matches)
{
   EXPECT_TRUE(gpuval_glob_matches("", ""));
   EXPECT_TRUE(gpuval_glob_matches("*", ""));
   EXPECT_TRUE(gpuval_glob_matches("a*b*c", "a/b/b/c"));
   EXPECT_TRUE(gpuval_glob_matches("*ab*ab", "aababab"));
   EXPECT_TRUE(gpuval_glob_matches("?\\*\\\\", "x*\\"));
   EXPECT_TRUE(gpuval_glob_matches("\\", "\\"));
   EXPECT_TRUE(gpuval_glob_matches("\xff?", "\xff\x80"));
   EXPECT_FALSE(gpuval_glob_matches("", "a"));
   EXPECT_FALSE(gpuval_glob_matches("?", ""));
   EXPECT_FALSE(gpuval_glob_matches("a", "ab"));
   EXPECT_FALSE(gpuval_glob_matches("a*b*c", "a/b/b"));
   EXPECT_FALSE(gpuval_glob_matches("\\*", "a"));
   EXPECT_FALSE(gpuval_glob_matches("[ab]", "a"));
}

TEST(glob, is_not_exponential)
{
   std::string glob, text(100000, 'a');
   for (unsigned i = 0; i < 100; i++)
      glob += "*a";
   EXPECT_FALSE(gpuval_glob_matches((glob + "b").c_str(), text.c_str()));
}

TEST(glob, matches_files)
{
   EXPECT_TRUE(gpuval_glob_matches_file("b.comp", "/a/b.comp"));
   EXPECT_TRUE(gpuval_glob_matches_file("a/*.comp", "/x/a/y/b.comp"));
   EXPECT_TRUE(gpuval_glob_matches_file("b.hlsl", "C:\\a\\b.hlsl"));
   EXPECT_TRUE(gpuval_glob_matches_file("/a/b", "/a/b"));
   EXPECT_FALSE(gpuval_glob_matches_file("b.comp", "/a/bb.comp"));
   EXPECT_FALSE(gpuval_glob_matches_file("*", ""));
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
   event->resource.has_index = event->resource.is_array = true;
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

class fingerprint_test : public describe_test {
 protected:
   void SetUp() override
   {
      describe_test::SetUp();
      event->place.has_shader = true;
      event->place.shader.hash = 1;
      event->place.shader.code_hash = 2;
      event->place.shader.stage = MESA_SHADER_COMPUTE;
      event->place.spirv.code_instruction = 7;
   }

   std::string fingerprint(int set = 0, int binding = 1, unsigned site = 0)
   {
      gpuval_event_set_fingerprint(event, set, binding, site);
      return event->fingerprint;
   }
};

TEST_F(fingerprint_test, is_that_of_the_failure)
{
   std::set<std::string> all;
   auto is_new = [&](const std::string &one) { return all.insert(one).second; };

   EXPECT_TRUE(is_new(fingerprint()));
   EXPECT_EQ(fingerprint().size(), 16u);
   EXPECT_TRUE(is_new(fingerprint(1)));
   EXPECT_TRUE(is_new(fingerprint(0, 2)));
   EXPECT_TRUE(is_new(fingerprint(-1, 1)));
   EXPECT_TRUE(is_new(fingerprint(0, 1, 1)));
   event->kind = GPUVAL_KIND_BUFFER_OOB;
   EXPECT_TRUE(is_new(fingerprint()));
   event->place.access.op = GPUVAL_OP_LOAD;
   EXPECT_TRUE(is_new(fingerprint()));
   event->place.shader.stage = MESA_SHADER_FRAGMENT;
   EXPECT_TRUE(is_new(fingerprint()));
   event->place.spirv.code_instruction = 8;
   EXPECT_TRUE(is_new(fingerprint()));
   event->place.shader.code_hash = 3;
   EXPECT_TRUE(is_new(fingerprint()));

   /* Kinds of one name */
   event->kind = GPUVAL_KIND_READ_AFTER_WRITE;
   EXPECT_TRUE(is_new(fingerprint()));
   event->kind = GPUVAL_KIND_SHARED_READ_AFTER_WRITE;
   EXPECT_TRUE(is_new(fingerprint()));
}

/* A site that has several instructions: the next time it may be another one of them. */
TEST_F(fingerprint_test, leaves_out_the_instruction_of_a_numbered_site)
{
   const std::string before = fingerprint(-1, -1, 1);
   event->place.spirv.code_instruction = 8;
   EXPECT_EQ(fingerprint(-1, -1, 1), before);
   EXPECT_NE(fingerprint(-1, -1, 2), before);
}

/* Suppressions and merged reports rest on this: it may not change. */
TEST_F(fingerprint_test, is_the_same_tomorrow)
{
   EXPECT_EQ(fingerprint(), "85a77c9629e00df9");
}

TEST_F(fingerprint_test, leaves_out_what_another_run_may_have)
{
   const std::string before = fingerprint();
   event->count = 5;
   event->has_record = true;
   event->invocation[0] = 3;
   event->place.shader.hash = 9; /* paths are in the debug information */
   event->place.source.file = (char *)"/home/me/a.comp";
   event->place.source.line = 3;
   event->place.spirv.offset = 400;
   event->place.spirv.instruction = 100;
   event->place.access.address = 0x1000;
   event->place.access.offset = 16;
   event->place.has_command = true;
   event->place.command.op = "dispatch";
   event->place.command.index = 5;
   event->place.command.command_buffer = 0x2000;
   event->resource.object = 0x3000;
   event->resource.size = 64;
   event->has_other = true;
   event->other.has_shader = true;
   EXPECT_EQ(fingerprint(), before);
}

/* Where there is no code: by what the program calls things. */
TEST_F(fingerprint_test, commands)
{
   event->kind = GPUVAL_KIND_INDIRECT_AFTER_WRITE;
   event->place.has_shader = false;
   event->place.has_command = true;
   event->place.command.op = "draw_indirect";
   event->place.command.command_buffer = 0x2000;
   const std::string before = fingerprint();
   event->place.command.command_buffer = 0x3000;
   event->place.command.index = 4;
   EXPECT_EQ(fingerprint(), before);
   event->place.command.pipeline_name = "particles";
   EXPECT_NE(fingerprint(), before);

   /* Numbers in labels count frames. */
   event->place.command.num_labels = 2;
   event->place.command.labels[0] = "frame 9";
   event->place.command.labels[1] = "pass 1.5 of 20";
   event->place.command.command_buffer_name = "commands 0";
   const std::string labelled = fingerprint();
   event->place.command.labels[0] = "frame 1234";
   event->place.command.labels[1] = "pass 31.50 of 1";
   event->place.command.command_buffer_name = "commands 11";
   EXPECT_EQ(fingerprint(), labelled);
   event->place.command.labels[0] = "frame";
   EXPECT_NE(fingerprint(), labelled);
}

} /* namespace */
