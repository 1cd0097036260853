/* SPDX-License-Identifier: MIT */

/* Ids of objects, and the shadows of descriptor sets. */

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/descriptors/gpuval_objects.h"
#include "util/ralloc.h"

namespace {

class Objects : public ::testing::Test {
 protected:
   static constexpr unsigned index_bits = 13;

   Objects(): table(1u << index_bits)
   {
      objects = gpuval_objects_create(table.data(), 0x1000, index_bits, false);
   }

   ~Objects() override
   {
      gpuval_objects_destroy(objects);
      ralloc_free(mem_ctx);
   }

   void add(vk_object_base *base, VkObjectType type, vk_object_base *parent = nullptr,
            const gpuval_object_view *view = nullptr)
   {
      *base = {};
      base->type = type;
      gpuval_objects_add(objects, base, parent, view);
   }

   bool is_alive(uint32_t id)
   {
      return gpuval_objects_is_alive(objects, id);
   }

   gpuval_object_info describe(uint32_t id)
   {
      gpuval_object_info info = {};
      EXPECT_TRUE(gpuval_objects_describe(objects, mem_ctx, id, &info));
      return info;
   }

   std::vector<gpuval_object> table;
   gpuval_objects *objects;
   void *mem_ctx = ralloc_context(nullptr);
};

/* Who looks at an object that another thread destroys has it to the end. */
TEST_F(Objects, visited_ones_are_not_removed_meanwhile)
{
   struct visit {
      gpuval_objects *objects;
      vk_object_base *view, *image;
      std::thread thread;
      std::atomic<bool> is_removed;
      unsigned count;
   };
   vk_object_base image, view;
   add(&image, VK_OBJECT_TYPE_IMAGE);
   add(&view, VK_OBJECT_TYPE_IMAGE_VIEW, &image);

   struct visit visit = {objects, &view, &image, {}, {false}, 0};
   auto function = [](void *data, const vk_object_base *base) {
      struct visit *visit = (struct visit *)data;
      EXPECT_EQ(base, visit->view);
      visit->count++;
      visit->thread = std::thread([visit] {
         gpuval_objects_remove(visit->objects, visit->image);
         visit->is_removed = true;
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_FALSE(visit->is_removed);
   };
   gpuval_objects_visit(objects, view.gpuval_id, function, &visit);
   visit.thread.join();
   EXPECT_TRUE(visit.is_removed);

   /* Its image is gone, and so is what it leads to. */
   gpuval_objects_visit(objects, view.gpuval_id, function, &visit);
   gpuval_objects_visit(objects, gpuval_objects_unknown(objects), function, &visit);
   gpuval_objects_visit(objects, 0, function, &visit);
   EXPECT_EQ(visit.count, 1u);
   gpuval_objects_remove(objects, &view);
}

TEST_F(Objects, live_until_they_are_removed)
{
   vk_object_base buffer;
   add(&buffer, VK_OBJECT_TYPE_BUFFER);
   uint32_t id = buffer.gpuval_id;

   EXPECT_TRUE(is_alive(id));
   EXPECT_EQ(table[id & ((1u << index_bits) - 1)].id, id);
   gpuval_objects_remove(objects, &buffer);
   EXPECT_FALSE(is_alive(id));
   EXPECT_EQ(describe(id).end, GPUVAL_OBJECT_DESTROYED);
}

TEST_F(Objects, nothing_is_not_alive_and_the_unknown_is)
{
   EXPECT_FALSE(is_alive(0));
   EXPECT_TRUE(is_alive(gpuval_objects_unknown(objects)));
   EXPECT_EQ(table[0].id, gpuval_objects_unknown(objects));
}

TEST_F(Objects, a_new_object_in_an_old_place_is_another_one)
{
   vk_object_base first, next;
   add(&first, VK_OBJECT_TYPE_SAMPLER);
   uint32_t old = first.gpuval_id;
   gpuval_objects_remove(objects, &first);

   /* As many as there are places: one of them gets the old one. */
   uint32_t mask = (1u << index_bits) - 1;
   bool reused = false;
   for (unsigned i = 0; i < 4u << index_bits; i++) {
      add(&next, VK_OBJECT_TYPE_SAMPLER);
      EXPECT_NE(next.gpuval_id, old);
      reused |= (next.gpuval_id & mask) == (old & mask);
      EXPECT_TRUE(is_alive(next.gpuval_id));
      EXPECT_FALSE(is_alive(old));
      gpuval_objects_remove(objects, &next);
   }
   EXPECT_TRUE(reused);
}

TEST_F(Objects, views_die_with_what_they_show)
{
   vk_object_base memory, image, view;
   add(&memory, VK_OBJECT_TYPE_DEVICE_MEMORY);
   add(&image, VK_OBJECT_TYPE_IMAGE);
   gpuval_objects_set_parent(objects, &image, &memory);
   add(&view, VK_OBJECT_TYPE_IMAGE_VIEW, &image);
   uint32_t id = view.gpuval_id;

   gpuval_objects_remove(objects, &image);
   EXPECT_FALSE(is_alive(id));
   EXPECT_TRUE(is_alive(memory.gpuval_id));
   EXPECT_EQ(describe(id).end, GPUVAL_OBJECT_PARENT_DESTROYED);

   gpuval_objects_remove(objects, &memory);
   gpuval_objects_remove(objects, &view);
   EXPECT_EQ(describe(id).end, GPUVAL_OBJECT_PARENT_DESTROYED);
}

TEST_F(Objects, all_die_with_the_memory)
{
   vk_object_base memory, buffer, view;
   add(&memory, VK_OBJECT_TYPE_DEVICE_MEMORY);
   add(&buffer, VK_OBJECT_TYPE_BUFFER);
   add(&view, VK_OBJECT_TYPE_BUFFER_VIEW, &buffer);
   gpuval_objects_set_parent(objects, &buffer, &memory);

   gpuval_objects_remove(objects, &memory);
   EXPECT_FALSE(is_alive(buffer.gpuval_id));
   EXPECT_FALSE(is_alive(view.gpuval_id));
   EXPECT_EQ(describe(buffer.gpuval_id).end, GPUVAL_OBJECT_MEMORY_FREED);
   EXPECT_EQ(describe(view.gpuval_id).end, GPUVAL_OBJECT_MEMORY_FREED);

   /* A view of a buffer that has no memory any more */
   vk_object_base late;
   add(&late, VK_OBJECT_TYPE_BUFFER_VIEW, &buffer);
   EXPECT_FALSE(is_alive(late.gpuval_id));
}

TEST_F(Objects, are_known_by_name_after_their_end)
{
   char name[] = "albedo";
   vk_object_base view;
   add(&view, VK_OBJECT_TYPE_IMAGE_VIEW);
   view.object_name = name;
   uint32_t id = view.gpuval_id;
   gpuval_objects_remove(objects, &view);
   view = {};

   EXPECT_STREQ(describe(id).name, "albedo");
   EXPECT_EQ(describe(id).type, VK_OBJECT_TYPE_IMAGE_VIEW);
}

TEST_F(Objects, beyond_the_table_are_not_known)
{
   std::vector<vk_object_base> many(1u << index_bits);
   for (vk_object_base &base : many)
      add(&base, VK_OBJECT_TYPE_BUFFER);

   uint32_t unknown = gpuval_objects_unknown(objects);
   EXPECT_NE(many[many.size() - 2].gpuval_id, unknown);
   EXPECT_EQ(many.back().gpuval_id, unknown);
   gpuval_objects_remove(objects, &many.back());
   EXPECT_TRUE(is_alive(unknown));
}

class Shadow : public Objects {
 protected:
   Shadow()
   {
      add(&image, VK_OBJECT_TYPE_IMAGE);
      gpuval_object_view described = {};
      described.offers = GPUVAL_OFFERS_2D | GPUVAL_OFFERS_NO_ARRAY | GPUVAL_OFFERS_ONE_SAMPLE |
                         GPUVAL_OFFERS_FLOAT | GPUVAL_OFFERS_32_BIT;
      described.format = gpuval_format_bits(7);
      add(&view, VK_OBJECT_TYPE_IMAGE_VIEW, &image, &described);
      add(&sampler, VK_OBJECT_TYPE_SAMPLER);
   }

   void write(VkDescriptorType type, uint32_t element, const VkDescriptorImageInfo &info)
   {
      gpuval_set_shadow_write(objects, {slots, 1}, &binding, type, element, 1, &info, sizeof(info));
   }

   vk_object_base image, view, sampler;
   gpuval_descriptor slots[16] = {};
   gpuval_set_shadow_binding binding = {4, 2, false};
};

TEST_F(Shadow, has_what_was_written)
{
   write(VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1,
         {(VkSampler)&sampler, (VkImageView)&view, VK_IMAGE_LAYOUT_GENERAL});

   EXPECT_EQ(slots[4].offers, 0u);
   EXPECT_EQ(slots[6].object, view.gpuval_id);
   EXPECT_EQ(slots[6].sampler, sampler.gpuval_id);
   EXPECT_EQ(slots[6].offers & GPUVAL_OFFERS_TYPES,
             uint32_t(GPUVAL_OFFERS_SAMPLED_IMAGE | GPUVAL_OFFERS_SAMPLER));
   EXPECT_TRUE(slots[6].offers & GPUVAL_OFFERS_2D);
   EXPECT_FALSE(slots[6].offers & GPUVAL_OFFERS_3D);
}

TEST_F(Shadow, keeps_samplers_of_the_layout)
{
   binding.has_immutable_samplers = true;
   gpuval_set_shadow_init_sampler(objects, {slots, 1}, &binding, 0, &sampler);
   EXPECT_EQ(slots[4].offers, uint32_t(GPUVAL_OFFERS_SAMPLER));

   write(VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 0,
         {VK_NULL_HANDLE, (VkImageView)&view, VK_IMAGE_LAYOUT_GENERAL});
   EXPECT_EQ(slots[4].sampler, sampler.gpuval_id);
   EXPECT_EQ(slots[4].object, view.gpuval_id);
}

TEST_F(Shadow, a_null_descriptor_has_one_type_and_all_views)
{
   write(VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 0, {});

   EXPECT_EQ(slots[4].offers, uint32_t(GPUVAL_OFFERS_STORAGE_IMAGE) |
                                 uint32_t(GPUVAL_OFFERS_VIEWS | GPUVAL_OFFERS_TEXELS));
   EXPECT_TRUE(is_alive(slots[4].object));
   EXPECT_EQ(gpuval_format_bits(99) & ~slots[4].format, 0u);
}

TEST_F(Shadow, grows_in_either_direction)
{
   VkDescriptorImageInfo info = {VK_NULL_HANDLE, (VkImageView)&view, VK_IMAGE_LAYOUT_GENERAL};
   gpuval_set_shadow_write(objects, {&slots[15], -1}, &binding, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, 1,
                           1, &info, sizeof(info));
   EXPECT_EQ(slots[15 - 6].object, view.gpuval_id);
}

TEST_F(Shadow, is_copied)
{
   write(VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, 0,
         {VK_NULL_HANDLE, (VkImageView)&view, VK_IMAGE_LAYOUT_GENERAL});
   const gpuval_set_shadow_binding other = {0, 1, false};
   VkCopyDescriptorSet copy = {};
   copy.dstArrayElement = 2;
   copy.descriptorCount = 2;
   gpuval_set_shadow_copy({slots, 1}, &other, {slots, 1}, &binding, &copy);

   EXPECT_EQ(slots[2].object, view.gpuval_id);
   EXPECT_EQ(slots[3].offers, 0u);
}

TEST(Format, no_other_one_has_all_bits)
{
   for (unsigned there = 0; there < 512; there++) {
      for (unsigned wanted = 0; wanted < 512; wanted++)
         EXPECT_EQ((gpuval_format_bits(wanted) & ~gpuval_format_bits(there)) == 0, wanted == there);
   }
}

} // namespace
