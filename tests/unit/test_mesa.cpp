/* SPDX-License-Identifier: MIT */

/* What gpuval relies on in Mesa and no compiler checks: run this first after a move to another
 * Mesa ("Moving to another Mesa" in docs/development.rst). A test that fails names what is new or
 * has changed there; its comment names the file of ours to look at.
 */

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "gpuval/src/compat/gpuval_nir_names.h"

namespace {

bool
contains(const std::string &text, const char *part)
{
   return text.find(part) != std::string::npos;
}

bool
contains_any(const std::string &text, const std::set<std::string> &parts)
{
   for (const std::string &part : parts) {
      if (contains(text, part.c_str()))
         return true;
   }
   return false;
}

/* Of drivers which gpuval is not in, or of the two it is in, behind its hook */
bool
is_of_a_driver(const std::string &name)
{
   return contains_any(
      name, {"_agx", "_amd", "_bindless", "_dxil", "_etna", "_gpuval", "_intel", "_ir3", "_lvp",
             "_nv", "_pan", "_r600", "_zink", "2x32", "bindless_"});
}

TEST(mesa, has_no_intrinsics_that_access_memory_and_are_unknown)
{
   /* gpuval_nir_access.c classifies what is there at the hook. Accesses that it leaves out are
    * made by lowering behind it, know no memory, or are loads of the system's own.
    */
   const std::set<std::string> classified = {
      "global_atomic",
      "global_atomic_swap",
      "image_deref_atomic",
      "image_deref_atomic_swap",
      "image_deref_levels",
      "image_deref_load",
      "image_deref_samples",
      "image_deref_size",
      "image_deref_sparse_load",
      "image_deref_store",
      "load_global",
      "load_global_constant",
      "load_shared",
      "load_ssbo",
      "load_task_payload",
      "load_ubo",
      "rq_confirm_intersection",
      "rq_generate_intersection",
      "rq_initialize",
      "rq_load",
      "rq_proceed",
      "rq_terminate",
      "shared_atomic",
      "shared_atomic_swap",
      "ssbo_atomic",
      "ssbo_atomic_swap",
      "store_global",
      "store_shared",
      "store_ssbo",
      "store_task_payload",
      "task_payload_atomic",
      "task_payload_atomic_swap",
      "trace_ray",
   };
   const std::set<std::string> left_out = {
      "get_ssbo_size",
      "get_ubo_size",
      "image_atomic",
      "image_atomic_swap",
      "image_deref_format",
      "image_deref_order",
      "image_deref_samples_identical",
      "image_deref_texel_address",
      "image_format",
      "image_levels",
      "image_load",
      "image_order",
      "image_samples",
      "image_samples_identical",
      "image_size",
      "image_sparse_load",
      "image_store",
      "image_texel_address",
      "global_atomic_pco",
      "global_atomic_swap_pco",
      "load_base_global_invocation_id",
      "load_global_bounded",
      "load_global_base_ptr",
      "load_global_constant_bounded",
      "load_global_constant_offset",
      "load_global_invocation_id",
      "load_global_invocation_index",
      "load_global_size",
      "load_shared_base_ptr",
      "load_shared_reg_alloc_size_pco",
      "load_ssbo_address",
      "load_ubo_vec4",
      "rt_trace_ray",
   };
   std::set<std::string> found;

   for (unsigned i = 0; i < nir_num_intrinsics; i++) {
      const std::string name = nir_intrinsic_infos[i].name;
      if (!contains_any(name, {"ssbo", "ubo", "global", "shared", "image", "task_payload", "rq_",
                               "trace_ray"}) ||
          is_of_a_driver(name))
         continue;
      EXPECT_TRUE(classified.count(name) || left_out.count(name)) << name << " is new";
      found.insert(name);
   }
   for (const std::string &name : classified)
      EXPECT_TRUE(found.count(name)) << name << " is gone";
}

TEST(mesa, lets_nobody_eliminate_what_ends_invocations_or_lets_others_run)
{
   /* Reports wait for each other up to one of these: gpuval_nir_instrument.c. */
   for (unsigned i = 0; i < nir_num_intrinsics; i++) {
      const std::string name = nir_intrinsic_infos[i].name;
      if (!contains_any(name,
                        {"barrier", "demote", "emit_vertex", "end_primitive", "execute_callable",
                         "ignore_ray", "launch_mesh", "report_ray", "terminate"}) ||
          is_of_a_driver(name))
         continue;
      EXPECT_FALSE(nir_intrinsic_infos[i].flags & NIR_INTRINSIC_CAN_ELIMINATE) << name;
   }
}

TEST(mesa, has_the_sources_of_rays_where_they_are_looked_for)
{
   /* get_ray() in gpuval_nir_ray.c */
   EXPECT_EQ(nir_intrinsic_infos[nir_intrinsic_trace_ray].num_srcs, 11);
   EXPECT_EQ(nir_intrinsic_infos[nir_intrinsic_rq_initialize].num_srcs, 8);
}

} // namespace
