/* SPDX-License-Identifier: MIT */

/* What tests of passes have in common. The driver is made up: buffer sizes are constants,
 * so that constant folding says what a check comes to.
 */

#ifndef NIR_PASSES_TEST_H
#define NIR_PASSES_TEST_H

#include <gtest/gtest.h>

#include <vector>

#include <vulkan/vulkan_core.h>

#include "base/gpuval_layout.h"
#include "gpuval/src/compat/gpuval_locations.h"
#include "nir_passes/gpuval_nir_private.h"

namespace {

const uint32_t buffer_bytes = 256;
const uint32_t inline_bytes = 64;

/* Binding 9 is an inline uniform block. */
bool
describe(const struct gpuval_nir_driver *driver, const nir_intrinsic_instr *intrin,
         struct gpuval_nir_buffer *buffer)
{
   nir_binding binding = nir_chase_binding(*gpuval_nir_index_src((nir_intrinsic_instr *)intrin));

   memset(buffer, 0, sizeof(*buffer));
   buffer->set = binding.success ? (int)binding.desc_set : -1;
   buffer->binding = binding.success ? (int)binding.binding : -1;
   if (binding.success && binding.binding == 9)
      buffer->size = inline_bytes;
   return true;
}

nir_def *
slot(const struct gpuval_nir_driver *driver, nir_builder *b, nir_intrinsic_instr *intrin)
{
   return nir_imm_int(b, 0);
}

nir_def *
set(const struct gpuval_nir_driver *driver, nir_builder *b, nir_intrinsic_instr *intrin)
{
   return nir_channel(b, gpuval_nir_index_src(intrin)->ssa, 0);
}

nir_def *
buffer_size(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   return nir_imm_int(b, buffer_bytes);
}

nir_def *
buffer_address(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   return nir_imm_int64(b, 0x1000);
}

nir_def *
root_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return nir_imm_int64(b, 0x2000);
}

nir_def *
command_id(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return nir_imm_int(b, 7);
}

nir_def *
entry_base(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *stage)
{
   return nir_imm_int(b, 100);
}

nir_def *
invocation(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return nir_imm_ivec3(b, 1, 2, 3);
}

struct gpuval_nir_driver
make_driver()
{
   struct gpuval_nir_driver driver = {};
   driver.describe = describe;
   driver.slot = slot;
   driver.set = set;
   driver.buffer_size = buffer_size;
   driver.buffer_address = buffer_address;
   driver.root_address = root_address;
   driver.command_id = command_id;
   driver.entry_base = entry_base;
   driver.invocation = invocation;
   return driver;
}

const struct gpuval_nir_driver test_driver = make_driver();

class nir_passes_test : public ::testing::Test {
 protected:
   nir_passes_test()
   {
      glsl_type_singleton_init_or_ref();
      static const nir_shader_compiler_options compiler_options = {};
      bld = nir_builder_init_simple_shader(MESA_SHADER_COMPUTE, &compiler_options, "test");
      b = &bld;
      gpuval_keep_locations(b->shader);
      gpuval_nir_table_init(&table, b->shader);
      options.driver = &test_driver;
      options.checks = BITFIELD_BIT(GPUVAL_CHECK_BOUNDS) | BITFIELD_BIT(GPUVAL_CHECK_ASSUME);
      options.safe = true;
   }

   ~nir_passes_test()
   {
      ralloc_free(b->shader);
      glsl_type_singleton_decref();
   }

   nir_def *buffer(unsigned binding, VkDescriptorType type, nir_def *index = NULL)
   {
      nir_def *resource =
         nir_vulkan_resource_index(b, 2, 32, index ? index : nir_imm_int(b, 0), .desc_set = 1,
                                   .binding = binding, .desc_type = (unsigned)type);
      return nir_load_vulkan_descriptor(b, 2, 32, resource, .desc_type = (unsigned)type);
   }

   nir_def *ssbo(unsigned binding = 0, nir_def *index = NULL)
   {
      return buffer(binding, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, index);
   }

   nir_def *load(nir_def *resource, nir_def *offset, unsigned components = 1,
                 unsigned bit_size = 32)
   {
      return nir_load_ssbo(b, components, bit_size, resource, offset, .align_mul = 4);
   }

   nir_def *any_offset()
   {
      return nir_channel(b, nir_load_local_invocation_id(b), 0);
   }

   void at_spirv_offset(uint32_t spirv_offset)
   {
      gpuval_set_location(b, spirv_offset);
   }

   bool run()
   {
      nir_validate_shader(b->shader, "before");
      bool progress = gpuval_nir_instrument(b->shader, &options, &table);
      nir_validate_shader(b->shader, "after");
      return progress;
   }

   std::vector<nir_intrinsic_instr *> find(nir_intrinsic_op op)
   {
      std::vector<nir_intrinsic_instr *> found;
      nir_foreach_block (block, b->impl) {
         nir_foreach_instr (instr, block) {
            if (instr->type == nir_instr_type_intrinsic &&
                nir_instr_as_intrinsic(instr)->intrinsic == op)
               found.push_back(nir_instr_as_intrinsic(instr));
         }
      }
      return found;
   }

   std::vector<nir_intrinsic_instr *> reports()
   {
      return find(nir_intrinsic_report_gpuval);
   }

   void fold()
   {
      bool progress;
      do {
         progress = false;
         NIR_PASS(progress, b->shader, nir_opt_copy_prop);
         NIR_PASS(progress, b->shader, nir_opt_constant_folding);
         NIR_PASS(progress, b->shader, nir_opt_algebraic);
      } while (progress);
   }

   /* Does the only check fail, once everything is folded? */
   bool fails()
   {
      run();
      fold();
      auto list = reports();
      EXPECT_EQ(list.size(), 1u);
      EXPECT_TRUE(nir_src_is_const(list[0]->src[0]));
      return nir_src_as_bool(list[0]->src[0]);
   }

   unsigned num_sites()
   {
      return util_dynarray_num_elements(&table.sites, struct gpuval_site);
   }

   const struct gpuval_site &site(unsigned i)
   {
      return *util_dynarray_element(&table.sites, struct gpuval_site, i);
   }

   unsigned num_entries()
   {
      return util_dynarray_num_elements(&table.entries, struct gpuval_nir_entry);
   }

   const struct gpuval_nir_entry &entry(unsigned i)
   {
      return *util_dynarray_element(&table.entries, struct gpuval_nir_entry, i);
   }

   nir_builder bld;
   nir_builder *b;
   struct gpuval_nir_options options = {};
   struct gpuval_nir_table table;
};

} /* namespace */

#endif
