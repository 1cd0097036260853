/* SPDX-License-Identifier: MIT */

/* Each kind of failure has a paragraph about what it means and how to mend it. */

#include "base/gpuval_kind_help.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

class kind_help : public ::testing::TestWithParam<int> {};

/* It ends with a full stop, and can stand in HTML, JSON and C as it is. */
void
expect_sentences(const char *text)
{
   ASSERT_NE(text, nullptr);
   const std::string string = text;
   EXPECT_GT(string.size(), 20u) << string;
   EXPECT_EQ(string.back(), '.') << string;
   EXPECT_EQ(string.find_first_of("<>&\"\\\n\t"), std::string::npos) << string;
   EXPECT_EQ(string.find("  "), std::string::npos) << string;
}

TEST_P(kind_help, is_there)
{
   if (gpuval_kind_is_hidden((enum gpuval_kind)GetParam()))
      return;
   const struct gpuval_kind_help *help = &gpuval_kind_helps[GetParam()];
   SCOPED_TRACE(gpuval_kind_infos[GetParam()].name);
   expect_sentences(help->meaning);
   expect_sentences(help->mending);
   ASSERT_NE(help->uri, nullptr);
   EXPECT_EQ(std::string(help->uri).rfind("https://", 0), 0u);
}

INSTANTIATE_TEST_SUITE_P(all, kind_help, ::testing::Range(0, (int)GPUVAL_KIND_COUNT));

TEST(kind_helps, differ)
{
   std::set<std::string> meanings;

   for (const struct gpuval_kind_help &help : gpuval_kind_helps)
      EXPECT_TRUE(meanings.insert(help.meaning ? help.meaning : "").second) << help.meaning;
}

} /* namespace */
