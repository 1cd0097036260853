/* SPDX-License-Identifier: MIT */

/* indirect and vertex: what the host finds wrong with a command's facts. */

#include <gtest/gtest.h>

#include <vector>

#include "core/commands/gpuval_vertex.h"
#include "core/inputs/gpuval_arguments.h"

namespace {

/* Arguments */

struct gpuval_arguments_limits
no_limits()
{
   struct gpuval_arguments_limits limits = {};
   limits.first_instance = true;
   for (unsigned i = 0; i < 3; i++)
      limits.groups[i] = 65535;
   limits.total = UINT64_MAX;
   limits.stride = UINT64_MAX;
   return limits;
}

class arguments : public ::testing::Test {
 protected:
   arguments()
   {
      info.type = GPUVAL_ARGUMENTS_DRAW;
      info.range.binding = -1;
      info.stride = 16;
      info.count = 1;
      limits = no_limits();
   }

   unsigned check(size_t buffer_size)
   {
      info.range.size = buffer_size;
      data.resize(buffer_size / 4 + 1);
      info.data = data.data();
      return gpuval_check_arguments(&info, &limits, failures);
   }

   struct gpuval_arguments info = {};
   struct gpuval_arguments_limits limits;
   struct gpuval_command_failure failures[GPUVAL_ARGUMENTS_MAX_FAILURES];
   std::vector<uint32_t> data;
};

TEST_F(arguments, last_byte_counts)
{
   EXPECT_EQ(check(16), 0u);
   EXPECT_EQ(check(15), 1u);
   EXPECT_EQ(failures[0].kind, GPUVAL_KIND_INDIRECT_ARGUMENT_OOB);
   EXPECT_EQ(failures[0].count, 1u);
   EXPECT_EQ(failures[0].offset, 0u);
   EXPECT_EQ(failures[0].size, 16u);
}

TEST_F(arguments, stride_leaves_the_last_one_short)
{
   info.count = 4;
   info.stride = 32;
   EXPECT_EQ(check(3 * 32 + 16), 0u);
   EXPECT_EQ(check(3 * 32 + 15), 1u);
   EXPECT_EQ(failures[0].offset, 96u);
   EXPECT_EQ(failures[0].count, 1u);
}

TEST_F(arguments, count_from_a_buffer)
{
   info.count = 1u << 31;
   info.counted = true;
   info.offset = 4;
   ASSERT_EQ(check(4 + 3 * 16), 1u);
   EXPECT_EQ(failures[0].kind, GPUVAL_KIND_INDIRECT_COUNT);
   EXPECT_EQ(failures[0].count, (1u << 31) - 3);
   EXPECT_EQ(failures[0].offset, 4u + 48u);
}

TEST_F(arguments, offset_near_the_end_of_numbers)
{
   info.offset = UINT64_MAX - 3;
   EXPECT_EQ(check(64), 1u);
   EXPECT_EQ(gpuval_arguments_inside(&info), 0u);
}

TEST_F(arguments, stride_0_is_one_struct)
{
   info.stride = 0;
   info.count = 1000;
   EXPECT_EQ(check(16), 0u);
}

TEST_F(arguments, first_instance)
{
   info.count = 3;
   data.resize(12);
   data[7] = 2;
   EXPECT_EQ(check(48), 0u);

   limits.first_instance = false;
   ASSERT_EQ(check(48), 1u);
   EXPECT_EQ(failures[0].kind, GPUVAL_KIND_INDIRECT_FIRST_INSTANCE);
   EXPECT_EQ(failures[0].count, 1u);
   EXPECT_EQ(failures[0].offset, 16u);
   EXPECT_STREQ(failures[0].detail,
                "draw 1: firstInstance is 2, but drawIndirectFirstInstance is not enabled");

   /* Of the same word of an indexed draw it is the vertex offset. */
   info.type = GPUVAL_ARGUMENTS_DRAW_INDEXED;
   info.count = 2;
   info.stride = 20;
   data.assign(12, 0);
   data[3] = 2;
   EXPECT_EQ(check(48), 0u);
   data[4] = 2;
   EXPECT_EQ(check(48), 1u);
}

TEST_F(arguments, groups)
{
   info.type = GPUVAL_ARGUMENTS_DISPATCH;
   data = {65535, 65535, 65535, 0};
   EXPECT_EQ(check(12), 0u);

   data[1] = 65536;
   ASSERT_EQ(check(12), 1u);
   EXPECT_EQ(failures[0].kind, GPUVAL_KIND_INDIRECT_LIMIT);
   EXPECT_STREQ(failures[0].detail,
                "65535 x 65536 x 65535 workgroups are above the limits of 65535 x 65535 x 65535");

   /* Nothing is dispatched, and still it is above. */
   data[0] = 0;
   EXPECT_EQ(check(12), 1u);
}

TEST_F(arguments, product)
{
   info.type = GPUVAL_ARGUMENTS_DRAW_MESH_TASKS;
   limits.total = 1 << 22;
   data = {2048, 2048, 1, 0};
   EXPECT_EQ(check(12), 0u);
   data[2] = 2;
   ASSERT_EQ(check(12), 1u);
   EXPECT_STREQ(failures[0].detail,
                "draw 0: 2048 x 2048 x 2 workgroups are above the limit of 4194304");

   /* More than 64 bits */
   limits.groups[0] = limits.groups[1] = limits.groups[2] = UINT32_MAX;
   data = {UINT32_MAX, UINT32_MAX, UINT32_MAX, 0};
   EXPECT_EQ(check(12), 1u);
   data[1] = 0;
   EXPECT_EQ(check(12), 0u);
}

TEST_F(arguments, strides_of_tables)
{
   info.type = GPUVAL_ARGUMENTS_TRACE_RAYS2;
   limits.stride = 4096;
   data.assign(26, 0);
   data[8] = 4096; /* missShaderBindingTableStride */
   EXPECT_EQ(check(104), 0u);
   data[8] = 4097;
   EXPECT_EQ(check(104), 1u);
}

TEST_F(arguments, two_kinds_at_once)
{
   info.type = GPUVAL_ARGUMENTS_DRAW_MESH_TASKS;
   info.stride = 12;
   info.count = 3;
   data = {1, 1, 70000, 70000, 1, 1, 0};
   ASSERT_EQ(check(24), 2u);
   EXPECT_EQ(failures[0].kind, GPUVAL_KIND_INDIRECT_ARGUMENT_OOB);
   EXPECT_EQ(failures[1].kind, GPUVAL_KIND_INDIRECT_LIMIT);
   EXPECT_EQ(failures[1].count, 2u);
   EXPECT_EQ(failures[1].offset, 0u);
}

/* Draws */

class draws : public ::testing::Test {
 protected:
   draws()
   {
      draw.count = 3;
      draw.num_instances = 1;
      input.indices.range.binding = -1;
   }

   void attribute(uint32_t binding, uint32_t offset, uint32_t size)
   {
      struct gpuval_vertex_attribute *added = &input.attributes[input.num_attributes];
      added->location = input.num_attributes++;
      added->binding = binding;
      added->offset = offset;
      added->size = size;
   }

   void binding(uint32_t index, uint64_t size, uint32_t stride)
   {
      input.bindings[index].range.size = size;
      input.bindings[index].stride = stride;
   }

   void instances(uint32_t index, uint32_t divisor)
   {
      input.bindings[index].per_instance = true;
      input.bindings[index].divisor = divisor;
   }

   template <typename type> void indices(const std::vector<type> &values)
   {
      draw.indexed = true;
      draw.count = values.size();
      input.indices.data = values.data();
      input.indices.range.size = values.size() * sizeof(type);
      input.indices.index_size = sizeof(type);
   }

   unsigned check()
   {
      gpuval_vertex_input_update(&input);
      return gpuval_check_draw(&input, &draw, failures);
   }

   struct gpuval_vertex_input input = {};
   struct gpuval_draw draw = {};
   struct gpuval_command_failure failures[GPUVAL_DRAW_MAX_FAILURES];
};

TEST_F(draws, last_element_may_be_short)
{
   attribute(0, 4, 8);
   binding(0, 2 * 32 + 12, 32);
   EXPECT_EQ(check(), 0u);
   binding(0, 2 * 32 + 11, 32);
   ASSERT_EQ(check(), 1u);
   EXPECT_EQ(failures[0].kind, GPUVAL_KIND_ATTRIBUTE_OOB);
   EXPECT_EQ(failures[0].count, 1u);
   EXPECT_EQ(failures[0].offset, 2u * 32 + 4);
   EXPECT_EQ(failures[0].size, 8u);
   EXPECT_STREQ(failures[0].detail, "attribute 0 of vertex 2");
}

TEST_F(draws, each_attribute_fails_by_itself)
{
   attribute(0, 0, 4);
   attribute(0, 4, 4);
   attribute(1, 0, 4);
   binding(0, 28, 8);
   binding(1, 8, 4);
   draw.first = 1;
   draw.count = 4;
   draw.num_instances = 10;
   ASSERT_EQ(check(), 3u);
   EXPECT_EQ(failures[0].count, 10u); /* vertex 4 */
   EXPECT_EQ(failures[0].offset, 32u);
   EXPECT_EQ(failures[1].part, 1u);
   EXPECT_EQ(failures[1].count, 20u); /* 3 and 4 */
   EXPECT_EQ(failures[1].offset, 28u);
   EXPECT_EQ(failures[2].count, 30u); /* 2 to 4 */
}

TEST_F(draws, billions_of_vertices)
{
   attribute(0, 0, 4);
   binding(0, 16, 4);
   draw.first = 0xffffffff;
   draw.count = 0xffffffff;
   draw.num_instances = 0xffffffff;
   ASSERT_EQ(check(), 1u);
   EXPECT_EQ(failures[0].count, 0xffffffffull * 0xffffffff);
   EXPECT_EQ(failures[0].offset, 0xffffffffull * 4);
}

TEST_F(draws, nothing_is_drawn)
{
   attribute(0, 0, 4);
   EXPECT_EQ(check(), 1u);
   draw.num_instances = 0;
   EXPECT_EQ(check(), 0u);
   draw.num_instances = 1;
   draw.count = 0;
   EXPECT_EQ(check(), 0u);
}

TEST_F(draws, stride_0)
{
   attribute(0, 4, 4);
   binding(0, 8, 0);
   draw.count = 1000;
   EXPECT_EQ(check(), 0u);
   binding(0, 7, 0);
   ASSERT_EQ(check(), 1u);
   EXPECT_EQ(failures[0].count, 1000u);
   EXPECT_EQ(failures[0].offset, 4u);
}

TEST_F(draws, null_is_defined_or_not)
{
   attribute(0, 0, 4);
   EXPECT_EQ(check(), 1u);
   input.bindings[0].is_null = true;
   EXPECT_EQ(check(), 0u);
}

TEST_F(draws, robust)
{
   const std::vector<uint16_t> values = {0, 1, 900};
   attribute(0, 0, 4);
   binding(0, 8, 4);
   indices(values);
   draw.count = 5;
   ASSERT_EQ(check(), 2u);
   input.robust_attributes = true;
   ASSERT_EQ(check(), 1u);
   EXPECT_EQ(failures[0].kind, GPUVAL_KIND_INDEX_BUFFER_OOB);
   input.robust_indices = true;
   EXPECT_EQ(check(), 0u);
}

TEST_F(draws, instances_by_divisor)
{
   attribute(0, 0, 4);
   binding(0, 12, 4);
   draw.num_instances = 6;

   instances(0, 2);
   EXPECT_EQ(check(), 0u);
   draw.num_instances = 7;
   ASSERT_EQ(check(), 1u);
   EXPECT_EQ(failures[0].count, 3u); /* one instance, three vertices */
   EXPECT_EQ(failures[0].offset, 12u);
   EXPECT_STREQ(failures[0].detail, "attribute 0 of instance 6");

   draw.first_instance = 1; /* 1 + 4 / 2 */
   ASSERT_EQ(check(), 1u);
   EXPECT_EQ(failures[0].count, 9u);
   EXPECT_STREQ(failures[0].detail, "attribute 0 of instance 5");

   draw.first_instance = 3;
   ASSERT_EQ(check(), 1u);
   EXPECT_EQ(failures[0].count, 21u);

   /* All have the first one's. */
   instances(0, 0);
   draw.first_instance = 2;
   draw.num_instances = 0xffffffff;
   EXPECT_EQ(check(), 0u);
   draw.first_instance = 3;
   draw.num_instances = 2;
   ASSERT_EQ(check(), 1u);
   EXPECT_EQ(failures[0].count, 6u);
   EXPECT_EQ(failures[0].offset, 12u);
}

TEST_F(draws, many_instances_of_a_large_buffer)
{
   attribute(0, 0, 4);
   binding(0, 1ull << 40, 4);
   instances(0, 0xffffffff);
   draw.num_instances = 0xffffffff;
   EXPECT_EQ(check(), 0u);
}

template <typename type> class index_types : public draws {
};

using types = ::testing::Types<uint8_t, uint16_t, uint32_t>;
TYPED_TEST_SUITE(index_types, types);

TYPED_TEST(index_types, vertices)
{
   const std::vector<TypeParam> values = {4, 1, 0, 5, 5, 200};
   this->attribute(0, 0, 4);
   this->binding(0, 6 * 4, 4);
   this->indices(values);
   ASSERT_EQ(this->check(), 1u);
   EXPECT_EQ(this->failures[0].count, 1u);
   EXPECT_EQ(this->failures[0].offset, 800u);
   this->draw.count = 5;
   EXPECT_EQ(this->check(), 0u);

   /* Twice the same index are two. */
   this->draw.vertex_offset = 1;
   this->draw.num_instances = 2;
   ASSERT_EQ(this->check(), 1u);
   EXPECT_EQ(this->failures[0].count, 4u);
   EXPECT_STREQ(this->failures[0].detail, "attribute 0 of vertex 6");

   this->draw.vertex_offset = -1;
   this->draw.num_instances = 1;
   ASSERT_EQ(this->check(), 1u);
   EXPECT_EQ(this->failures[0].count, 1u);
   EXPECT_STREQ(this->failures[0].detail, "attribute 0 of vertex -1");
   EXPECT_EQ(this->failures[0].offset, 0xfffffffcu);
}

TYPED_TEST(index_types, outside_the_index_buffer)
{
   const std::vector<TypeParam> values = {0, 1, 2, 200};
   this->indices(values);
   this->draw.first = 2;
   this->draw.count = 2;
   EXPECT_EQ(this->check(), 0u);

   this->draw.count = 5;
   this->draw.num_instances = 2;
   ASSERT_EQ(this->check(), 1u);
   EXPECT_EQ(this->failures[0].kind, GPUVAL_KIND_INDEX_BUFFER_OOB);
   EXPECT_EQ(this->failures[0].count, 6u);
   EXPECT_EQ(this->failures[0].offset, 4 * sizeof(TypeParam));
   EXPECT_EQ(this->failures[0].size, sizeof(TypeParam));

   /* A last index that is there in part only */
   this->input.indices.range.size -= sizeof(TypeParam) > 1;
   this->draw.count = 2;
   EXPECT_EQ(this->check(), unsigned(sizeof(TypeParam) > 1));

   this->draw.first = 0xffffffff;
   this->draw.count = 0xffffffff;
   ASSERT_EQ(this->check(), 1u);
   EXPECT_EQ(this->failures[0].count, 0xffffffffull * 2);
}

TYPED_TEST(index_types, restart)
{
   const TypeParam none = -1;
   const std::vector<TypeParam> values = {0, none, 2, none};
   this->attribute(0, 0, 4);
   this->binding(0, 3 * 4, 4);
   this->indices(values);
   this->input.indices.restart = true;
   EXPECT_EQ(this->check(), 0u);

   this->input.indices.restart = false;
   ASSERT_EQ(this->check(), 1u);
   EXPECT_EQ(this->failures[0].count, 2u);

   /* What restarts has no instances either. */
   this->input.indices.restart = true;
   this->binding(0, 3, 4);
   this->instances(0, 1);
   ASSERT_EQ(this->check(), 1u);
   EXPECT_EQ(this->failures[0].count, 2u);

   /* Nothing else */
   const std::vector<TypeParam> nothing = {none, none};
   this->indices(nothing);
   EXPECT_EQ(this->check(), 0u);
}

TEST_F(draws, indices_that_are_not_there_have_no_vertices)
{
   const std::vector<uint32_t> values = {0, 1};
   attribute(0, 0, 4);
   binding(0, 8, 4);
   indices(values);
   draw.count = 3;
   ASSERT_EQ(check(), 1u);
   EXPECT_EQ(failures[0].kind, GPUVAL_KIND_INDEX_BUFFER_OOB);
}

TEST_F(draws, no_index_buffer)
{
   attribute(0, 0, 4);
   binding(0, 8, 4);
   draw.indexed = true;
   ASSERT_EQ(check(), 1u);
   EXPECT_EQ(failures[0].count, 3u);

   /* All indices are 0. */
   input.indices.is_null = true;
   EXPECT_EQ(check(), 0u);
   draw.vertex_offset = 2;
   ASSERT_EQ(check(), 1u);
   EXPECT_EQ(failures[0].count, 3u);
   EXPECT_EQ(failures[0].offset, 8u);
}

/* In the middle of what SIMD code makes of the loop */
TEST_F(draws, one_of_many)
{
   std::vector<uint16_t> values(1000, 7);
   attribute(0, 0, 4);
   binding(0, 8 * 4, 4);
   indices(values);
   for (unsigned i = 0; i < values.size(); i++) {
      values[i] = 40000;
      ASSERT_EQ(check(), 1u) << i;
      EXPECT_EQ(failures[0].offset, 160000u);
      values[i] = 0xffff;
      input.indices.restart = true;
      ASSERT_EQ(check(), 0u) << i;
      input.indices.restart = false;
      values[i] = 7;
   }
}

} // namespace
