/* SPDX-License-Identifier: MIT */

/* The check assert: @debug_break becomes a report. */

#include "nir_passes_test.h"

namespace {

class nir_assert_test : public nir_passes_test {
 protected:
   nir_assert_test()
   {
      driver = test_driver;
      options.driver = &driver;
      options.checks = BITFIELD_BIT(GPUVAL_CHECK_ASSERT);
   }

   struct gpuval_nir_driver driver;
};

TEST_F(nir_assert_test, debug_break)
{
   at_spirv_offset(100);
   nir_debug_break(b);
   EXPECT_TRUE(run());
   EXPECT_TRUE(find(nir_intrinsic_debug_break).empty());

   auto list = reports();
   ASSERT_EQ(list.size(), 1u);
   EXPECT_TRUE(nir_src_as_bool(list[0]->src[0]));
   ASSERT_EQ(num_sites(), 1u);
   EXPECT_EQ(site(0).kind, GPUVAL_KIND_DEBUG_BREAK);
   EXPECT_EQ(site(0).spirv_offset, 100u);
}

TEST_F(nir_assert_test, debug_break_of_a_backend_that_has_it)
{
   driver.has_debug_break = true;
   nir_debug_break(b);
   EXPECT_TRUE(run());
   EXPECT_EQ(find(nir_intrinsic_debug_break).size(), 1u);
   EXPECT_EQ(reports().size(), 1u);
}

TEST_F(nir_assert_test, debug_break_that_is_not_checked)
{
   options.checks = 0;
   nir_debug_break(b);
   EXPECT_TRUE(run());
   EXPECT_TRUE(find(nir_intrinsic_debug_break).empty());
   EXPECT_TRUE(reports().empty());
}

} /* namespace */
