/* SPDX-License-Identifier: MIT */

/* Marks of images, for drivers without a window: gpuval_image_marks.h */

#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/gpuval_init.h"
#include "core/descriptors/gpuval_objects.h"
#include "core/device/gpuval_device.h"
#include "core/memory/gpuval_image_marks.h"
#include "core/memory/gpuval_marks.h"

namespace {

const VkImageAspectFlags color = VK_IMAGE_ASPECT_COLOR_BIT;
const VkImageAspectFlags depth = VK_IMAGE_ASPECT_DEPTH_BIT;
const VkImageAspectFlags stencil = VK_IMAGE_ASPECT_STENCIL_BIT;

struct vk_image
make_image(unsigned levels, unsigned layers, VkImageAspectFlags aspects = color,
           VkImageType type = VK_IMAGE_TYPE_2D)
{
   struct vk_image image = {};
   image.base.type = VK_OBJECT_TYPE_IMAGE;
   image.image_type = type;
   image.mip_levels = levels;
   image.array_layers = layers;
   image.aspects = aspects;
   return image;
}

VkImageSubresourceRange
range_of(unsigned level, unsigned levels, unsigned layer, unsigned layers,
         VkImageAspectFlags aspects = color)
{
   return {aspects, level, levels, layer, layers};
}

class image_marks_test : public ::testing::Test {
 public:
   static void SetUpTestSuite()
   {
      setenv("GPUVAL", "init", 1);
      setenv("GPUVAL_LOG", "/dev/null", 1);
      gpuval_init(false);
   }

   void SetUp() override
   {
      struct gpuval_device_info info = {};
      info.winsys = gpuval_winsys_host;
      info.has_marks = true;
      info.object_bits = 4;
      device = gpuval_device_create(&info);
      ASSERT_NE(device, nullptr);
      ASSERT_NE(gpuval_device_objects(device), nullptr);
   }

   void TearDown() override
   {
      gpuval_device_destroy(device);
   }

   /* As a GPU */
   void write(const struct vk_image *image, const VkImageSubresourceRange &range, bool is_written)
   {
      struct visit {
         bool is_written;
         unsigned count;
      } visit = {is_written, 0};
      gpuval_image_marks_visit(
         device, image, &range,
         [](void *data, uint64_t address, uint32_t count) {
            struct visit *visit = (struct visit *)data;
            for (uint32_t i = 0; i < count; i++)
               ((uint32_t *)(uintptr_t)address)[i] = visit->is_written ? GPUVAL_INIT_ALL : 0;
            visit->count++;
         },
         &visit);
      num_packets = visit.count;
   }

   struct vk_image_view add_view(struct vk_image *image, unsigned level, unsigned levels,
                                 unsigned layer, unsigned layers)
   {
      struct vk_image_view view = {};
      view.base.type = VK_OBJECT_TYPE_IMAGE_VIEW;
      view.image = image;
      view.usage = VK_IMAGE_USAGE_STORAGE_BIT;
      view.base_mip_level = level;
      view.level_count = levels;
      view.base_array_layer = layer;
      view.layer_count = layers;
      gpuval_objects_add(objects(), &view.base, &image->base, NULL);
      gpuval_image_marks_add_view(device, &view);
      return view;
   }

   struct gpuval_objects *objects()
   {
      return gpuval_device_objects(device);
   }

   uint64_t marks(const struct vk_image_view &view)
   {
      const struct gpuval_object *table =
         (const struct gpuval_object *)(uintptr_t)gpuval_objects_address(objects());
      return table[view.base.gpuval_id & 0xf].marks;
   }

   /* As a shader looks, without the end of the layers */
   bool is_written(const struct vk_image_view &view, unsigned level, unsigned layer,
                   bool is_stencil = false)
   {
      uint64_t base = (uint64_t)((int64_t)(marks(view) << 16) >> 16);
      if (!base)
         return true;
      const uint8_t *mark = (const uint8_t *)(uintptr_t)(base + layer * GPUVAL_INIT_LAYER_SIZE +
                                                         level * GPUVAL_INIT_LEVEL_SIZE);
      return mark[is_stencil ? GPUVAL_INIT_STENCIL_OFFSET : 0] != 0;
   }

   struct gpuval_device *device;
   unsigned num_packets;
};

TEST_F(image_marks_test, each_level_of_each_layer_for_itself)
{
   struct vk_image image = make_image(4, 3);
   gpuval_image_marks_add(device, &image);
   struct vk_image_view view = add_view(&image, 0, 4, 0, 3);
   EXPECT_EQ(marks(view) >> 48, 3u);

   write(&image, range_of(1, 2, 1, 1), true);
   for (unsigned level = 0; level < 4; level++) {
      for (unsigned layer = 0; layer < 3; layer++) {
         bool expected = (level == 1 || level == 2) && layer == 1;
         EXPECT_EQ(is_written(view, level, layer), expected) << level << ' ' << layer;
         EXPECT_EQ(is_written(view, level, layer, true), expected) << level << ' ' << layer;
      }
   }
   write(&image, range_of(0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS), true);
   EXPECT_EQ(num_packets, 1u);
   write(&image, range_of(0, 1, 2, 1), false);
   EXPECT_FALSE(is_written(view, 0, 2));
   EXPECT_FALSE(is_written(view, 0, 2, true));
   EXPECT_TRUE(is_written(view, 1, 2));
   EXPECT_TRUE(is_written(view, 0, 1));
}

TEST_F(image_marks_test, views_begin_anywhere)
{
   struct vk_image image = make_image(4, 6);
   gpuval_image_marks_add(device, &image);
   struct vk_image_view view = add_view(&image, 2, 2, 3, 2);
   EXPECT_EQ(marks(view) >> 48, 2u);
   write(&image, range_of(3, 1, 4, 1), true);
   EXPECT_TRUE(is_written(view, 1, 1));
   EXPECT_FALSE(is_written(view, 0, 1));
   EXPECT_FALSE(is_written(view, 1, 0));
}

TEST_F(image_marks_test, depth_and_stencil)
{
   struct vk_image image = make_image(1, 2, depth | stencil);
   gpuval_image_marks_add(device, &image);
   struct vk_image_view view = add_view(&image, 0, 1, 0, 2);
   write(&image, range_of(0, 1, 1, 1, depth), true);
   EXPECT_TRUE(is_written(view, 0, 1));
   EXPECT_FALSE(is_written(view, 0, 1, true));
   EXPECT_FALSE(is_written(view, 0, 0));
   write(&image, range_of(0, 1, 0, 2, stencil), true);
   EXPECT_FALSE(is_written(view, 0, 0));
   EXPECT_TRUE(is_written(view, 0, 0, true));
   write(&image, range_of(0, 1, 0, 2, depth | stencil), false);
   EXPECT_FALSE(is_written(view, 0, 1));
   EXPECT_FALSE(is_written(view, 0, 1, true));

   /* One aspect alone is all of it. */
   struct vk_image plain = make_image(2, 1, depth);
   gpuval_image_marks_add(device, &plain);
   struct vk_image_view plain_view = add_view(&plain, 0, 2, 0, 1);
   write(&plain, range_of(0, 1, 0, 1, depth), true);
   EXPECT_TRUE(is_written(plain_view, 0, 0));
   EXPECT_TRUE(is_written(plain_view, 0, 0, true));
}

/* Slices count together, whether they are the layers of a view or of a range. */
TEST_F(image_marks_test, three_dimensions)
{
   struct vk_image image = make_image(2, 1, color, VK_IMAGE_TYPE_3D);
   gpuval_image_marks_add(device, &image);
   struct vk_image_view view = add_view(&image, 0, 2, 0, 1);
   struct vk_image_view slices = add_view(&image, 1, 1, 3, 4);
   EXPECT_EQ(marks(slices) >> 48, 1u);
   write(&image, range_of(1, 1, 2, 5), true);
   EXPECT_TRUE(is_written(slices, 0, 0));
   EXPECT_TRUE(is_written(view, 1, 0));
   EXPECT_FALSE(is_written(view, 0, 0));
}

TEST_F(image_marks_test, ranges_do_not_leave_the_image)
{
   struct vk_image image = make_image(2, 2);
   struct vk_image other = make_image(2, 2);
   gpuval_image_marks_add(device, &image);
   gpuval_image_marks_add(device, &other);
   struct vk_image_view view = add_view(&image, 0, 2, 0, 2);
   struct vk_image_view other_view = add_view(&other, 0, 2, 0, 2);
   write(&image, range_of(1, 100, 1, 100), true);
   write(&image, range_of(2, 1, 0, 1), true);
   write(&image, range_of(0, 1, 2, 1), true);
   EXPECT_TRUE(is_written(view, 1, 1));
   EXPECT_FALSE(is_written(view, 0, 0));
   for (unsigned i = 0; i < 4; i++)
      EXPECT_FALSE(is_written(other_view, i & 1, i >> 1));
}

TEST_F(image_marks_test, what_is_forgotten_is_written)
{
   struct vk_image image = make_image(1, 1), other = make_image(1, 1);
   gpuval_objects_add(objects(), &image.base, NULL, NULL);
   gpuval_image_marks_add(device, &image);
   gpuval_image_marks_add(device, &other);
   struct vk_image_view view = add_view(&image, 0, 1, 0, 1);
   struct vk_image_view other_view = add_view(&other, 0, 1, 0, 1);
   EXPECT_FALSE(is_written(view, 0, 0));
   gpuval_image_marks_forget(device, &image);
   EXPECT_TRUE(is_written(view, 0, 0));
   EXPECT_FALSE(is_written(other_view, 0, 0));
   struct vk_image_view late_view = add_view(&image, 0, 1, 0, 1);
   EXPECT_TRUE(is_written(late_view, 0, 0));
   write(&image, range_of(0, 1, 0, 1), false);
   EXPECT_EQ(num_packets, 0u);
   gpuval_image_marks_forget(device, NULL);
}

/* What shaders write through a view that has no place cannot be known. */
TEST_F(image_marks_test, views_without_a_place)
{
   struct vk_image image = make_image(1, 1);
   gpuval_objects_add(objects(), &image.base, NULL, NULL);
   gpuval_image_marks_add(device, &image);
   struct vk_image_view view = add_view(&image, 0, 1, 0, 1);
   EXPECT_FALSE(is_written(view, 0, 0));
   for (unsigned i = 0; i < 16; i++)
      add_view(&image, 0, 1, 0, 1);
   EXPECT_TRUE(is_written(view, 0, 0));
}

TEST_F(image_marks_test, places_are_used_again_and_clean)
{
   struct vk_image image = make_image(1, 1000);
   for (unsigned i = 0; i < 100; i++) {
      gpuval_image_marks_add(device, &image);
      uint64_t first = 0;
      gpuval_image_marks_visit(
         device, &image, &(const VkImageSubresourceRange &)range_of(0, 1, 0, 1000),
         [](void *data, uint64_t address, uint32_t count) {
            *(uint64_t *)data = address;
            EXPECT_EQ(count, 32000u);
            for (uint32_t j = 0; j < count; j++) {
               ASSERT_EQ(((uint32_t *)(uintptr_t)address)[j], 0u);
               ((uint32_t *)(uintptr_t)address)[j] = GPUVAL_INIT_ALL;
            }
         },
         &first);
      EXPECT_NE(first, 0u);
      gpuval_image_marks_remove(device, &image);
   }
   EXPECT_EQ(util_dynarray_num_elements(&device->image_marks->chunks, void *), 1u);
   gpuval_image_marks_remove(device, &image);
}

TEST_F(image_marks_test, images_of_all_sizes_lie_apart)
{
   std::vector<struct vk_image> images(3000);
   std::vector<std::pair<uint64_t, uint64_t>> places;
   for (unsigned i = 0; i < images.size(); i++) {
      images[i] = make_image(1 + i % 15, i % 97 ? 1 + i % 7 : 600);
      gpuval_image_marks_add(device, &images[i]);
   }
   for (const struct vk_image &image : images) {
      std::pair<uint64_t, uint64_t> place;
      const VkImageSubresourceRange all =
         range_of(0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS);
      gpuval_image_marks_visit(
         device, &image, &all,
         [](void *data, uint64_t address, uint32_t count) {
            *(std::pair<uint64_t, uint64_t> *)data = {address, address + count * 4};
         },
         &place);
      places.push_back(place);
   }
   std::sort(places.begin(), places.end());
   for (unsigned i = 1; i < places.size(); i++)
      ASSERT_LE(places[i - 1].second, places[i].first);
}

TEST_F(image_marks_test, giving_up_is_said_to_shaders)
{
   EXPECT_EQ(device->root->all_written, 0u);
   gpuval_marks_give_up(device);
   EXPECT_EQ(device->root->all_written, 1u);
}

TEST_F(image_marks_test, who_may_have_marks)
{
   VkImageCreateInfo good = {};
   good.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
   good.format = VK_FORMAT_R8G8B8A8_UNORM;
   good.mipLevels = 15;
   good.usage = VK_IMAGE_USAGE_SAMPLED_BIT;
   good.flags = VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
   EXPECT_TRUE(gpuval_image_may_have_marks(&good));

   VkImageCreateInfo bad = good;
   bad.flags = VK_IMAGE_CREATE_ALIAS_BIT;
   EXPECT_FALSE(gpuval_image_may_have_marks(&bad));
   bad.flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT;
   EXPECT_FALSE(gpuval_image_may_have_marks(&bad));
   bad = good;
   bad.tiling = VK_IMAGE_TILING_LINEAR;
   EXPECT_FALSE(gpuval_image_may_have_marks(&bad));
   bad = good;
   bad.usage |= VK_IMAGE_USAGE_VIDEO_DECODE_DST_BIT_KHR;
   EXPECT_FALSE(gpuval_image_may_have_marks(&bad));
   bad = good;
   bad.format = VK_FORMAT_G8_B8R8_2PLANE_420_UNORM;
   EXPECT_FALSE(gpuval_image_may_have_marks(&bad));

   VkExternalMemoryImageCreateInfo external = {};
   external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO;
   bad = good;
   bad.pNext = &external;
   EXPECT_TRUE(gpuval_image_may_have_marks(&bad));
   external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
   EXPECT_FALSE(gpuval_image_may_have_marks(&bad));
   VkImageSwapchainCreateInfoKHR swapchain = {};
   swapchain.sType = VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR;
   bad.pNext = &swapchain;
   EXPECT_FALSE(gpuval_image_may_have_marks(&bad));
}

} // namespace
