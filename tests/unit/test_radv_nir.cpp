/* SPDX-License-Identifier: MIT */

/* RADV's descriptors, as ac_build_buffer_descriptor makes them on every
 * generation, and what the passes make of them: constant folding says what a
 * check comes to.
 */

#include <gtest/gtest.h>

#include <vulkan/vulkan_core.h>

#include "base/gpuval_bloom.h"
#include "base/gpuval_layout.h"
#include "nir_passes/gpuval_nir.h"
#include "radv_glue/gpuval_radv_nir.h"
#include "ac_descriptors.h"
#include "amdgfxregs.h"

namespace {

const enum amd_gfx_level levels[] = {
   GFX6, GFX7, GFX8, GFX9, GFX10, GFX10_3, GFX11, GFX11_5, GFX12,
};

const uint32_t address32_hi = 0xffff8000;

enum gpuval_radv_binding
find_binding(const struct gpuval_radv_nir_layout *layout, uint32_t set, uint32_t binding,
             uint32_t *size)
{
   *size = 0;
   return set            ? GPUVAL_RADV_BINDING_NONE
          : binding == 1 ? GPUVAL_RADV_BINDING_DYNAMIC
                         : GPUVAL_RADV_BINDING_SET;
}

void
describe_binding(const struct gpuval_radv_nir_layout *layout, uint32_t set, uint32_t binding,
                 struct gpuval_nir_binding *out)
{
   *out = {};
   out->first_slot = binding * 32;
   out->stride = 32;
   out->count = 1;
}

struct descriptor {
   uint32_t words[4];
};

descriptor
make_descriptor(enum amd_gfx_level level, uint64_t address, uint32_t size)
{
   descriptor made;
   ac_build_raw_buffer_descriptor(level, address, (size + 3) & ~3u, made.words);
   gpuval_radv_set_exact_size(made.words, size);
   return made;
}

/* As radv_make_texel_buffer_descriptor() does */
descriptor
make_texel_descriptor(enum amd_gfx_level level, uint64_t address, enum pipe_format format,
                      uint32_t stride, uint32_t size)
{
   struct ac_buffer_state state = {};
   state.va = address;
   state.size = level == GFX8 ? size : size / stride;
   state.format = format;
   state.swizzle[0] = PIPE_SWIZZLE_X;
   state.swizzle[1] = PIPE_SWIZZLE_Y;
   state.swizzle[2] = PIPE_SWIZZLE_Z;
   state.swizzle[3] = PIPE_SWIZZLE_W;
   state.stride = stride;
   state.gfx10_oob_select = V_008F0C_OOB_SELECT_STRUCTURED_WITH_OFFSET;

   descriptor made;
   ac_build_buffer_descriptor(level, &state, made.words);
   return made;
}

/* Shaders look at descriptors themselves. */
void
describe_nothing(const struct gpuval_radv_nir_layout *layout, uint32_t set, uint32_t binding,
                 struct gpuval_nir_binding *out)
{
   *out = {};
   out->is_unknown = true;
}

class RadvNir : public ::testing::Test {
 protected:
   void SetUp() override
   {
      glsl_type_singleton_init_or_ref();
      static const nir_shader_compiler_options options = {};
      builder = nir_builder_init_simple_shader(MESA_SHADER_COMPUTE, &options, "radv");
      layout.find = find_binding;
      layout.describe = describe_nothing;
      util_dynarray_init(&table.sites, builder.shader);
      util_dynarray_init(&table.entries, builder.shader);
      util_dynarray_init(&table.uses, builder.shader);
   }

   void TearDown() override
   {
      ralloc_free(builder.shader);
      glsl_type_singleton_decref();
   }

   nir_def *index(unsigned set, unsigned binding)
   {
      nir_def *resource =
         nir_vulkan_resource_index(b, 3, 32, nir_imm_int(b, 0), .desc_set = set, .binding = binding,
                                   .desc_type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
      return nir_trim_vector(b,
                             nir_load_vulkan_descriptor(
                                b, 3, 32, resource, .desc_type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER),
                             2);
   }

   void load(nir_def *index, uint32_t offset, unsigned bits)
   {
      nir_def *value =
         nir_load_ssbo(b, 1, bits, index, nir_imm_int(b, offset), .align_mul = bits / 8);
      gpuval_store_global(b, nir_imm_int64(b, 64), bits / 8, value, 0x1);
   }

   /* An image or a texture at element 1 of its binding, an array of 3 */
   nir_deref_instr *texels(unsigned set, unsigned binding, bool is_image)
   {
      const struct glsl_type *type =
         is_image ? glsl_image_type(GLSL_SAMPLER_DIM_BUF, false, GLSL_TYPE_UINT)
                  : glsl_texture_type(GLSL_SAMPLER_DIM_BUF, false, GLSL_TYPE_UINT);
      nir_variable *var =
         nir_variable_create(builder.shader, is_image ? nir_var_image : nir_var_uniform,
                             glsl_array_type(type, 3, 0), "texels");
      var->data.descriptor_set = set;
      var->data.binding = binding;
      return nir_build_deref_array_imm(b, nir_build_deref_var(b, var), 1);
   }

   void fetch(nir_deref_instr *deref, uint32_t index)
   {
      nir_def *value;
      if (deref->modes == nir_var_image) {
         nir_def *coord = nir_imm_ivec4(b, index, 0, 0, 0);
         value =
            nir_image_deref_load(b, 1, 32, &deref->def, coord, nir_imm_int(b, 0), nir_imm_int(b, 0),
                                 .image_dim = GLSL_SAMPLER_DIM_BUF, .dest_type = nir_type_uint32);
      } else {
         value = gpuval_fetch_texel(b, deref, nir_imm_int(b, index));
      }
      gpuval_store_global(b, nir_imm_int64(b, 64), 4, nir_channel(b, value, 0), 0x1);
   }

   unsigned count_smem()
   {
      unsigned found = 0;
      nir_foreach_block (block, builder.impl) {
         nir_foreach_instr (instr, block)
            found += instr->type == nir_instr_type_intrinsic &&
                     gpuval_is_smem(nir_instr_as_intrinsic(instr));
      }
      return found;
   }

   /* The one of set 0 */
   nir_intrinsic_instr *find_access()
   {
      nir_foreach_block (block, nir_shader_get_entrypoint(builder.shader)) {
         nir_foreach_instr (instr, block) {
            if (instr->type == nir_instr_type_intrinsic &&
                nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_sync_gpuval &&
                nir_intrinsic_desc_set(nir_instr_as_intrinsic(instr)) == 0)
               return nir_instr_as_intrinsic(instr);
         }
      }
      return NULL;
   }

   void instrument(uint32_t check)
   {
      struct gpuval_nir_driver driver = gpuval_radv_nir_driver;
      driver.data = &layout;
      struct gpuval_nir_options options = {};
      options.driver = &driver;
      options.checks = BITFIELD_BIT(check);
      gpuval_nir_instrument(builder.shader, &options, &table);
   }

   static bool put_descriptor(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
   {
      if (intrin->intrinsic != nir_intrinsic_load_descriptor_gpuval)
         return false;
      const uint32_t *words = ((descriptor *)data)->words;
      b->cursor = nir_before_instr(&intrin->instr);
      nir_def_replace(&intrin->def, nir_imm_ivec4(b, words[0], words[1], words[2], words[3]));
      return true;
   }

   /* As RADV does when it knows the layout */
   static bool put_index(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
   {
      if (intrin->intrinsic != nir_intrinsic_load_vulkan_descriptor)
         return false;
      b->cursor = nir_before_instr(&intrin->instr);
      nir_def_replace(&intrin->def, nir_imm_ivec3(b, 4096, 16, 0));
      return true;
   }

   void fold(descriptor made)
   {
      nir_shader_intrinsics_pass(builder.shader, put_descriptor, nir_metadata_control_flow, &made);
      bool progress;
      do {
         progress = false;
         NIR_PASS(progress, builder.shader, nir_opt_copy_prop);
         NIR_PASS(progress, builder.shader, nir_opt_constant_folding);
         NIR_PASS(progress, builder.shader, nir_opt_dce);
      } while (progress);
   }

   /* Of a shader that has no push constants */
   void lower()
   {
      struct gpuval_radv_nir_args args = {};
      args.push_constants = -1;
      args.address32_hi = address32_hi;
      args.data_size = sizeof(struct gpuval_radv_command_data);
      gpuval_radv_nir_lower_queries(builder.shader, &args);
      gpuval_radv_nir_lower_reports(builder.shader, &args);
   }

   unsigned count(nir_intrinsic_op op, nir_intrinsic_instr **last = NULL)
   {
      unsigned found = 0;
      nir_foreach_block (block, nir_shader_get_entrypoint(builder.shader)) {
         nir_foreach_instr (instr, block) {
            if (instr->type == nir_instr_type_intrinsic &&
                nir_instr_as_intrinsic(instr)->intrinsic == op) {
               found++;
               if (last)
                  *last = nir_instr_as_intrinsic(instr);
            }
         }
      }
      return found;
   }

   /* Those that no other one is around */
   unsigned count_branches()
   {
      unsigned branches = 0;
      foreach_list_typed (nir_cf_node, node, node, &nir_shader_get_entrypoint(builder.shader)->body)
         branches += node->type == nir_cf_node_if;
      return branches;
   }

   nir_def *pointer(unsigned component)
   {
      return nir_u2u64(b, nir_channel(b, nir_load_local_invocation_id(b), component));
   }

   nir_def *load_at(nir_def *address, int offset = 0)
   {
      return gpuval_load_global(b, nir_iadd_imm(b, address, offset), 4, 1, 32);
   }

   nir_builder builder, *b = &builder;
   struct gpuval_radv_nir_layout layout = {};
   struct gpuval_nir_table table;
};

/* Does a load of 4 bytes at @offset fail? */
#define EXPECT_CHECK(level, size, offset, bits, expected)                                          \
   do {                                                                                            \
      SetUp();                                                                                     \
      load(index(0, 0), offset, bits);                                                             \
      instrument(GPUVAL_CHECK_BOUNDS);                                                             \
      fold(make_descriptor(level, 0x123456789000, size));                                          \
      nir_intrinsic_instr *report = NULL;                                                          \
      ASSERT_EQ(1u, count(nir_intrinsic_report_gpuval, &report));                                  \
      ASSERT_TRUE(nir_src_is_const(report->src[0]));                                               \
      EXPECT_EQ(expected, nir_src_as_bool(report->src[0]))                                         \
         << "level " << level << ", size " << size << ", offset " << offset;                       \
      TearDown();                                                                                  \
   } while (0)

TEST_F(RadvNir, sizes_are_exact_on_every_generation)
{
   TearDown();
   for (enum amd_gfx_level level : levels) {
      for (uint32_t size : {4u, 5u, 6u, 7u, 8u, 255u, 256u, 65537u, 0xfffffffcu}) {
         EXPECT_CHECK(level, size, size - 4, 32, false);
         EXPECT_CHECK(level, size, size - 3, 32, true);
         EXPECT_CHECK(level, size, size - 1, 8, false);
         EXPECT_CHECK(level, size, size, 8, true);
      }
   }
   SetUp();
}

/* Nothing but the size and two bits that matter for swizzled buffers only */
TEST_F(RadvNir, the_rest_of_a_descriptor_stays)
{
   for (enum amd_gfx_level level : levels) {
      for (uint32_t size = 1; size < 20; size++) {
         uint32_t plain[4];
         ac_build_raw_buffer_descriptor(level, 0x7f12345678, (size + 3) & ~3u, plain);
         descriptor made = make_descriptor(level, 0x7f12345678, size);
         EXPECT_EQ(plain[0], made.words[0]);
         EXPECT_EQ(plain[1], made.words[1]);
         EXPECT_EQ(plain[2], made.words[2]);
         EXPECT_EQ(plain[3], made.words[3] & ~(3u << 21));
         EXPECT_EQ(0u, plain[3] & (3u << 21)) << "the bits are free";
      }
   }
}

TEST_F(RadvNir, a_range_without_bounds_stays)
{
   uint32_t plain[4];
   ac_build_raw_buffer_descriptor(GFX11, 0x1000, UINT32_MAX, plain);
   descriptor made = {{plain[0], plain[1], plain[2], plain[3]}};
   gpuval_radv_set_exact_size(made.words, UINT32_MAX);
   EXPECT_EQ(0, memcmp(plain, made.words, sizeof(plain)));
}

/* sync has the address of each access. Those of 32-bit address space end in
 * 0xffff8000, and a descriptor has 48 bits.
 */
TEST_F(RadvNir, addresses)
{
   TearDown();
   for (enum amd_gfx_level level : levels) {
      for (uint64_t address : {0x1000ull, 0x7fffdeadb000ull, 0xffff800012345600ull}) {
         SetUp();
         load(index(0, 0), 16, 32);
         instrument(GPUVAL_CHECK_SYNC);
         fold(make_descriptor(level, address, 256));
         nir_intrinsic_instr *access = find_access();
         ASSERT_TRUE(access);
         ASSERT_TRUE(nir_src_is_const(access->src[1]));
         EXPECT_EQ(address + 16, nir_src_as_uint(access->src[1]));
         TearDown();
      }
   }
   SetUp();
}

/* NUM_RECORDS is in elements, on GFX8 in bytes. The last element is a whole one. */
TEST_F(RadvNir, texel_buffers)
{
   const struct {
      enum pipe_format format;
      uint32_t stride;
   } formats[] = {
      {PIPE_FORMAT_R8_UINT, 1},
      {PIPE_FORMAT_R32_UINT, 4},
      {PIPE_FORMAT_R32G32B32_UINT, 12},
      {PIPE_FORMAT_R32G32B32A32_UINT, 16},
   };
   const uint64_t address = 0xffff800012345600ull;

   TearDown();
   for (enum amd_gfx_level level : levels) {
      for (auto format : formats) {
         for (bool is_image : {false, true}) {
            for (uint32_t index : {0u, 6u, 7u, 0x80000000u}) {
               SetUp();
               layout.texels_in_bytes = level == GFX8;
               fetch(texels(0, 0, is_image), index);
               instrument(GPUVAL_CHECK_SYNC);
               fold(make_texel_descriptor(level, address, format.format, format.stride,
                                          7 * format.stride + format.stride / 2));
               nir_intrinsic_instr *access = find_access();
               ASSERT_TRUE(access);
               for (unsigned i = 0; i < 4; i++)
                  ASSERT_TRUE(nir_src_is_const(access->src[i])) << i;
               EXPECT_EQ(index < 7, nir_src_as_bool(access->src[0]))
                  << "level " << level << ", stride " << format.stride << ", index " << index;
               EXPECT_EQ(address + (uint32_t)(index * format.stride),
                         nir_src_as_uint(access->src[1]));
               EXPECT_EQ(format.stride, nir_src_as_uint(access->src[2]));
               TearDown();
            }
         }
      }
   }
   SetUp();
}

TEST_F(RadvNir, no_texel_buffer_has_no_elements)
{
   for (bool in_bytes : {false, true}) {
      layout.texels_in_bytes = in_bytes;
      fetch(texels(0, 0, false), 0);
      instrument(GPUVAL_CHECK_SYNC);
      fold({});
      nir_intrinsic_instr *access = find_access();
      ASSERT_TRUE(access);
      ASSERT_TRUE(nir_src_is_const(access->src[0]));
      EXPECT_FALSE(nir_src_as_bool(access->src[0]));
      TearDown();
      SetUp();
   }
}

TEST_F(RadvNir, texel_buffers_of_arrays_have_their_own_descriptors)
{
   fetch(texels(0, 0, true), 0);
   instrument(GPUVAL_CHECK_SYNC);
   nir_intrinsic_instr *index = NULL;
   ASSERT_EQ(1u, count(nir_intrinsic_vulkan_resource_index, &index));
   fold({});
   ASSERT_TRUE(nir_src_is_const(index->src[0]));
   EXPECT_EQ(1u, nir_src_as_uint(index->src[0]));
}

TEST_F(RadvNir, texel_buffers_that_are_not_in_the_layout_are_not_checked)
{
   fetch(texels(1, 0, true), 0);
   instrument(GPUVAL_CHECK_SYNC);
   EXPECT_FALSE(find_access());
   EXPECT_EQ(0u, count(nir_intrinsic_vulkan_resource_index));
}

TEST_F(RadvNir, what_is_not_in_the_layout_is_not_checked)
{
   load(index(1, 0), 0, 32);
   instrument(GPUVAL_CHECK_BOUNDS);
   EXPECT_EQ(0u, count(nir_intrinsic_report_gpuval));
}

TEST_F(RadvNir, dynamic_descriptors_are_marked)
{
   load(index(0, 1), 0, 32);
   instrument(GPUVAL_CHECK_BOUNDS);
   nir_intrinsic_instr *report = NULL;
   ASSERT_EQ(1u, count(nir_intrinsic_report_gpuval, &report));
   nir_instr *source = nir_def_instr(report->src[2].ssa);
   ASSERT_EQ(source->type, nir_instr_type_alu);
   nir_alu_instr *slot = nir_instr_as_alu(source);
   ASSERT_EQ(slot->op, nir_op_ior);
   EXPECT_EQ(GPUVAL_RADV_DYNAMIC, nir_src_as_uint(slot->src[1].src));
}

/* One branch and one report for all of a block, and nothing of ours is left */
TEST_F(RadvNir, reports_of_a_block_share_a_branch)
{
   nir_def *first = index(0, 0), *second = index(0, 1);
   for (unsigned i = 0; i < 3; i++) {
      nir_def *offset = nir_channel(b, nir_load_local_invocation_id(b), i);
      nir_def *value = nir_load_ssbo(b, 1, 32, i & 1 ? second : first, offset, .align_mul = 4);
      gpuval_store_global(b, nir_imm_int64(b, 64), 4, value, 0x1);
   }
   instrument(GPUVAL_CHECK_BOUNDS);
   ASSERT_EQ(3u, count(nir_intrinsic_report_gpuval));

   struct gpuval_radv_nir_args args = {};
   args.push_constants = 1;
   args.address32_hi = address32_hi;
   args.data_size = sizeof(struct gpuval_radv_command_data);
   args.hashes = 16;
   EXPECT_TRUE(gpuval_radv_nir_lower_queries(builder.shader, &args));
   EXPECT_TRUE(gpuval_radv_nir_lower_reports(builder.shader, &args));
   nir_validate_shader(builder.shader, "reports");

   EXPECT_EQ(0u, count(nir_intrinsic_report_gpuval));
   EXPECT_EQ(0u, count(nir_intrinsic_load_descriptor_gpuval));
   /* The counter, the length of the list, the claim, the publication */
   EXPECT_EQ(4u, count(nir_intrinsic_global_atomic));
   EXPECT_EQ(1u, count_branches());
   EXPECT_FALSE(gpuval_radv_nir_lower_reports(builder.shader, &args));
}

/* What goes on behind the branch is about one report at a time, in all lanes: registers of each
 * lane are for what they have found, and no memory is accessed a lane.
 */
TEST_F(RadvNir, reports_are_scalar_code)
{
   for (unsigned i = 0; i < 3; i++) {
      nir_def *offset = nir_channel(b, nir_load_local_invocation_id(b), i);
      nir_def *value = nir_load_ssbo(b, 1, 32, index(0, i & 1), offset, .align_mul = 4);
      gpuval_store_global(b, nir_imm_int64(b, 64), 4, value, 0x1);
   }
   instrument(GPUVAL_CHECK_BOUNDS);
   lower();
   NIR_PASS(_, builder.shader, nir_convert_to_lcssa, true, true);
   nir_divergence_analysis(builder.shader);

   unsigned accesses = 0;
   nir_foreach_block (block, nir_shader_get_entrypoint(builder.shader)) {
      nir_foreach_instr (instr, block) {
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
         if (intrin->intrinsic != nir_intrinsic_load_global &&
             intrin->intrinsic != nir_intrinsic_global_atomic)
            continue;
         accesses++;
         EXPECT_FALSE(nir_src_is_divergent(&intrin->src[0]));
      }
   }
   EXPECT_GT(accesses, 8u);
}

/* All that the host keeps of a site is its first record: what fails later does not look for one.
 * Sessions begin anew while the GPU is busy.
 */
TEST_F(RadvNir, the_first_failure_of_a_site_writes_its_record)
{
   for (bool first : {false, true}) {
      load(index(0, 0), 4, 32);
      instrument(GPUVAL_CHECK_BOUNDS);

      struct gpuval_radv_nir_args args = {};
      args.push_constants = -1;
      args.address32_hi = address32_hi;
      args.data_size = sizeof(struct gpuval_radv_command_data);
      args.records_first = first;
      gpuval_radv_nir_lower_queries(builder.shader, &args);
      gpuval_radv_nir_lower_reports(builder.shader, &args);
      nir_validate_shader(builder.shader, "records");

      unsigned looks = 0;
      nir_foreach_block (block, nir_shader_get_entrypoint(builder.shader)) {
         nir_foreach_instr (instr, block) {
            if (instr->type == nir_instr_type_intrinsic &&
                nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_load_global &&
                nir_intrinsic_access(nir_instr_as_intrinsic(instr)) & ACCESS_COHERENT)
               looks++;
         }
      }
      /* The bits of a slot, the bits of one that another invocation has got, and its record */
      EXPECT_EQ(first ? 0u : 3u, looks);
      EXPECT_EQ(4u, count(nir_intrinsic_global_atomic));
      TearDown();
      SetUp();
   }
}

/* What is used is marked beside the command, by code that no report is in: a load for all that
 * tells whether that has to be done, and for each access another one and an atomic.
 */
TEST_F(RadvNir, uses_of_images_are_marks)
{
   layout.describe = describe_binding;
   for (unsigned i = 0; i < 2; i++) {
      nir_variable *var =
         nir_variable_create(builder.shader, nir_var_image,
                             glsl_image_type(GLSL_SAMPLER_DIM_2D, false, GLSL_TYPE_UINT), "image");
      var->data.binding = i;
      nir_image_deref_store(b, &nir_build_deref_var(b, var)->def, nir_imm_ivec4(b, 0, 0, 0, 0),
                            nir_imm_int(b, 0), nir_imm_ivec4(b, 1, 1, 1, 1), nir_imm_int(b, 0),
                            .image_dim = GLSL_SAMPLER_DIM_2D, .src_type = nir_type_uint32);
   }
   instrument(GPUVAL_CHECK_RACE);
   EXPECT_EQ(2u, count(nir_intrinsic_report_gpuval));
   unsigned uses = 0;
   util_dynarray_foreach (&table.uses, struct gpuval_nir_use, use) {
      EXPECT_TRUE(use->flags & GPUVAL_USE_RACE);
      EXPECT_EQ(uses++ * 32, use->first_slot);
   }
   EXPECT_EQ(2u, uses);

   struct gpuval_radv_nir_args args = {};
   args.push_constants = -1;
   args.address32_hi = address32_hi;
   args.data_size = sizeof(struct gpuval_radv_command_data);
   gpuval_radv_nir_lower_queries(builder.shader, &args);
   gpuval_radv_nir_lower_reports(builder.shader, &args);
   nir_validate_shader(builder.shader, "marks");
   nir_opt_dce(builder.shader);
   EXPECT_EQ(2u, count(nir_intrinsic_global_atomic));
   EXPECT_EQ(1u, count_smem());
   EXPECT_EQ(2u, count(nir_intrinsic_load_global) - (GPUVAL_SMEM_IS_GLOBAL ? count_smem() : 0));
}

/* Where many offsets have one limit, there is one comparison for all, and behind the branch one
 * more for each in its turn.
 */
TEST_F(RadvNir, the_highest_offset_is_compared)
{
   nir_def *buffer = index(0, 0);
   for (unsigned i = 0; i < 3; i++) {
      nir_def *offset = nir_channel(b, nir_load_local_invocation_id(b), i);
      nir_def *value = nir_load_ssbo(b, 1, 32, buffer, offset, .align_mul = 4);
      gpuval_store_global(b, nir_imm_int64(b, 64), 4, value, 0x1);
   }
   instrument(GPUVAL_CHECK_BOUNDS);
   nir_shader_intrinsics_pass(builder.shader, put_index, nir_metadata_control_flow, NULL);
   fold({});
   nir_opt_cse(builder.shader); /* of limits */
   lower();
   nir_opt_dce(builder.shader);

   const nir_block *block = nir_start_block(nir_shader_get_entrypoint(builder.shader));
   unsigned comparisons = 0, maxima = 0;
   nir_foreach_instr (instr, block) {
      if (instr->type != nir_instr_type_alu)
         continue;
      comparisons += nir_instr_as_alu(instr)->op == nir_op_uge;
      maxima += nir_instr_as_alu(instr)->op == nir_op_umax;
   }
   EXPECT_EQ(1u, comparisons);
   EXPECT_EQ(2u, maxima);
}

/* A barrier lets others run: what comes before it is reported before it. */
TEST_F(RadvNir, reports_do_not_wait_for_a_barrier)
{
   nir_def *buffer = index(0, 0);
   for (unsigned i = 0; i < 2; i++) {
      nir_def *offset = nir_channel(b, nir_load_local_invocation_id(b), i);
      nir_def *value = nir_load_ssbo(b, 1, 32, buffer, offset, .align_mul = 4);
      gpuval_store_global(b, nir_imm_int64(b, 64), 4, value, 0x1);
      nir_barrier(b, SCOPE_WORKGROUP, SCOPE_WORKGROUP, NIR_MEMORY_ACQ_REL, nir_var_mem_ssbo);
   }
   instrument(GPUVAL_CHECK_BOUNDS);
   lower();
   EXPECT_EQ(2u, count_branches());
}

/* Code of reports for branches */

class RadvNirBranches : public RadvNir {
 protected:
   enum between {
      NOTHING,
      A_BARRIER,
      A_TERMINATE,
      A_LOOP,
   };

   void load_behind(unsigned i)
   {
      nir_def *id = nir_load_local_invocation_id(b);
      nir_def *offset = nir_ishl_imm(b, nir_iadd_imm(b, nir_channel(b, id, 0), i), 2);
      nir_def *value = nir_load_ssbo(b, 1, 32, index(0, 0), offset, .align_mul = 4);
      gpuval_store_global(b, nir_imm_int64(b, 64), 4, value, 0x1);
   }

   /* In @count branches one behind the other, of which every second one is in another */
   void build(unsigned count, between what)
   {
      nir_def *y = nir_channel(b, nir_load_local_invocation_id(b), 1);

      for (unsigned i = 0; i < count; i++) {
         if (what == A_LOOP)
            nir_push_loop(b);
         nir_push_if(b, nir_uge_imm(b, y, i));
         load_behind(i);
         if (i & 1) {
            nir_push_if(b, nir_ieq_imm(b, y, 2 * i));
            nir_push_else(b, NULL);
            load_behind(i + count);
            nir_pop_if(b, NULL);
         }
         nir_pop_if(b, NULL);
         switch (what) {
         case A_BARRIER:
            nir_barrier(b, SCOPE_WORKGROUP, SCOPE_WORKGROUP, NIR_MEMORY_ACQ_REL, nir_var_mem_ssbo);
            break;
         case A_TERMINATE:
            nir_terminate_if(b, nir_ieq_imm(b, y, 3 * i));
            break;
         case A_LOOP:
            nir_break_if(b, nir_uge_imm(b, y, 4 * i));
            nir_pop_loop(b, NULL);
            break;
         default:
            break;
         }
      }
   }

   /* How often the code of a report is there */
   unsigned copies(unsigned num_branches, between what)
   {
      if (what == A_TERMINATE)
         b->shader->info.stage = MESA_SHADER_FRAGMENT;
      build(num_branches, what);
      instrument(GPUVAL_CHECK_BOUNDS);
      lower();
      nir_validate_shader(builder.shader, "branches");
      EXPECT_EQ(0u, count(nir_intrinsic_report_gpuval));
      return count(nir_intrinsic_global_atomic) / 4;
   }
};

/* Of 18 reports, no more wait than there are six values for. */
TEST_F(RadvNirBranches, reports_of_many_share_code)
{
   EXPECT_EQ(4u, copies(12, NOTHING));
}

/* What would have to be kept is executed, too. */
TEST_F(RadvNirBranches, reports_of_few_have_code_of_their_own)
{
   EXPECT_EQ(4u, copies(3, NOTHING));
}

TEST_F(RadvNirBranches, no_report_waits_for_a_barrier)
{
   EXPECT_EQ(12u, copies(12, A_BARRIER));
}

TEST_F(RadvNirBranches, no_report_waits_for_a_terminate)
{
   EXPECT_EQ(12u, copies(12, A_TERMINATE));
}

TEST_F(RadvNirBranches, no_report_leaves_a_loop)
{
   EXPECT_EQ(12u, copies(12, A_LOOP));
}

/* Addresses are looked at where all of them are known. */

TEST_F(RadvNir, addresses_share_a_branch)
{
   nir_def *first = pointer(0), *second = pointer(1);
   load_at(first, 16);
   nir_barrier(b, SCOPE_WORKGROUP, SCOPE_WORKGROUP, NIR_MEMORY_ACQ_REL, nir_var_mem_global);
   load_at(nir_iadd(b, second, nir_ishl_imm(b, first, 2)));
   instrument(GPUVAL_CHECK_ADDRESS);
   ASSERT_EQ(2u, count(nir_intrinsic_check_address_gpuval));
   lower();
   nir_validate_shader(builder.shader, "addresses");

   EXPECT_EQ(1u, count_branches());
   EXPECT_EQ(0u, count(nir_intrinsic_check_address_gpuval));
   EXPECT_EQ(4u, count(nir_intrinsic_global_atomic)); /* one report */
}

TEST_F(RadvNir, an_address_that_is_loaded_has_a_branch_of_its_own)
{
   load_at(nir_u2u64(b, load_at(pointer(0))));
   instrument(GPUVAL_CHECK_ADDRESS);
   lower();
   EXPECT_EQ(2u, count_branches());
}

TEST_F(RadvNir, addresses_behind_a_terminate_are_not_looked_at_before)
{
   b->shader->info.stage = MESA_SHADER_FRAGMENT;
   load_at(pointer(0));
   nir_terminate_if(b, nir_ieq_imm(b, nir_channel(b, nir_load_local_invocation_id(b), 2), 0));
   load_at(pointer(1));
   instrument(GPUVAL_CHECK_ADDRESS);
   lower();
   EXPECT_EQ(2u, count_branches());
}

/* They would be in registers. */
TEST_F(RadvNir, few_addresses_share_a_branch)
{
   nir_def *pointers[9];
   for (unsigned i = 0; i < ARRAY_SIZE(pointers); i++)
      pointers[i] = nir_imul_imm(b, pointer(0), 3 + i);
   for (unsigned i = 0; i < ARRAY_SIZE(pointers); i++) {
      load_at(pointers[i]);
      load_at(pointers[i], 4);
   }
   instrument(GPUVAL_CHECK_ADDRESS);
   lower();
   EXPECT_EQ(2u, count_branches());
}

/* In front of the branch: a subtraction for those that are a constant apart, and one look at low
 * bits.
 */
TEST_F(RadvNir, addresses_are_one_range)
{
   nir_def *address = pointer(0);
   for (int offset : {16, 0, 8, 64})
      load_at(address, offset);
   instrument(GPUVAL_CHECK_ADDRESS);
   lower();
   NIR_PASS(_, builder.shader, nir_opt_copy_prop);
   nir_opt_dce(builder.shader);

   unsigned subtractions = 0, looks = 0;
   nir_foreach_instr (instr, nir_start_block(nir_shader_get_entrypoint(builder.shader))) {
      if (instr->type != nir_instr_type_alu)
         continue;
      subtractions += nir_instr_as_alu(instr)->op == nir_op_isub;
      looks += nir_instr_as_alu(instr)->op == nir_op_iand;
   }
   EXPECT_EQ(1u, subtractions);
   EXPECT_EQ(1u, looks);
}

/* Which of the draws that a command makes */
TEST_F(RadvNir, vertices_know_their_draw)
{
   nir_builder vertex = nir_builder_init_simple_shader(MESA_SHADER_VERTEX, b->shader->options, "v");
   nir_def *words = gpuval_radv_nir_driver.invocation(&gpuval_radv_nir_driver, &vertex);
   nir_scalar draw = nir_scalar_chase_movs(nir_get_scalar(words, 2));

   ASSERT_TRUE(nir_scalar_is_alu(draw));
   EXPECT_EQ(nir_op_iadd, nir_scalar_alu_op(draw));
   EXPECT_EQ(nir_intrinsic_load_draw_id,
             nir_scalar_intrinsic_op(nir_scalar_chase_alu_src(draw, 0)));
   EXPECT_EQ(1u, nir_scalar_as_uint(nir_scalar_chase_alu_src(draw, 1)));
   ralloc_free(vertex.shader);
}

/* docs/protocols.rst, "Lock sets": they are far apart, and each invocation has one of its own. */
TEST_F(RadvNir, ids_of_invocations_are_steps_apart)
{
   gpuval_store_global(b, nir_imm_int64(b, 64), 4, nir_invocation_gpuval(b), 0x1);

   struct gpuval_radv_nir_args args = {};
   args.address32_hi = address32_hi;
   args.data_size = sizeof(struct gpuval_radv_command_data);
   EXPECT_TRUE(gpuval_radv_nir_lower_reports(builder.shader, &args));
   EXPECT_EQ(0u, count(nir_intrinsic_invocation_gpuval));
   nir_intrinsic_instr *atomic;
   ASSERT_EQ(1u, count(nir_intrinsic_global_atomic, &atomic));
   EXPECT_EQ(nir_atomic_op_iadd, nir_intrinsic_atomic_op(atomic));
   ASSERT_TRUE(nir_src_is_const(atomic->src[1]));
   EXPECT_EQ(GPUVAL_BLOOM_INVOCATION_STEP, nir_src_as_uint(atomic->src[1]));
}

} // namespace
