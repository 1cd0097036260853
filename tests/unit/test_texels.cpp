/* SPDX-License-Identifier: MIT */

/* Numbers of texels, for drivers whose images have no rows: gpuval_texels.h */

#include <gtest/gtest.h>

#include <stdlib.h>

#include <set>
#include <utility>

#include "base/gpuval_descriptor.h"
#include "core/descriptors/gpuval_objects.h"
#include "core/device/gpuval_device.h"
#include "core/memory/gpuval_texels.h"

namespace {

struct vk_image
make_image(VkFormat format, VkExtent3D extent, unsigned levels, unsigned layers,
           unsigned samples = 1)
{
   struct vk_image image = {};
   image.base.type = VK_OBJECT_TYPE_IMAGE;
   image.image_type = extent.depth > 1 ? VK_IMAGE_TYPE_3D : VK_IMAGE_TYPE_2D;
   image.format = format;
   image.extent = extent;
   image.mip_levels = levels;
   image.array_layers = layers;
   image.samples = (VkSampleCountFlagBits)samples;
   image.usage = VK_IMAGE_USAGE_STORAGE_BIT;
   image.aspects = VK_IMAGE_ASPECT_COLOR_BIT;
   return image;
}

class texels_test : public ::testing::Test {
 public:
   static void SetUpTestSuite()
   {
      setenv("GPUVAL", "sync", 1);
      setenv("GPUVAL_LOG", "/dev/null", 1);
      gpuval_init(false);
   }

   void SetUp() override
   {
      struct gpuval_device_info info = {};
      info.winsys = gpuval_winsys_host;
      info.has_table = true;
      info.numbers_texels = true;
      info.max_shadow_size = 64 << 20;
      info.object_bits = object_bits;
      device = gpuval_device_create(&info);
      ASSERT_NE(device, nullptr);
      ASSERT_NE(gpuval_device_objects(device), nullptr);
   }

   void TearDown() override
   {
      gpuval_device_destroy(device);
   }

   /* What a shader finds for a view of one level: all 0 where there is nothing */
   struct gpuval_object_texels add_view(struct vk_image *image, unsigned level, unsigned layer,
                                        VkImageViewType type = VK_IMAGE_VIEW_TYPE_2D_ARRAY)
   {
      struct vk_image_view view = {};
      view.base.type = VK_OBJECT_TYPE_IMAGE_VIEW;
      view.image = image;
      view.view_type = type;
      view.usage = VK_IMAGE_USAGE_STORAGE_BIT;
      view.base_mip_level = level;
      view.base_array_layer = layer;
      struct gpuval_objects *objects = gpuval_device_objects(device);
      gpuval_objects_add(objects, &view.base, NULL, NULL);
      gpuval_texels_add_view(device, &view);
      const struct gpuval_object_texels *table =
         (const struct gpuval_object_texels *)(uintptr_t)gpuval_objects_address(objects);
      return table[(1u << object_bits) + (view.base.gpuval_id & ((1u << object_bits) - 1))];
   }

   std::pair<uint64_t, uint64_t> range(const struct vk_image *image, unsigned level,
                                       unsigned levels, unsigned layer, unsigned layers)
   {
      const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, level, levels, layer,
                                             layers};
      uint64_t address, size;
      gpuval_texels_range(device, image, &range, &address, &size);
      return {address, address + size};
   }

   /* All texels of the image, by views of each layer of each level: no two have the same number,
    * all are in the range of their level and layer, and it is known which they are.
    */
   void check_all(struct vk_image *image)
   {
      const bool is_3d = image->image_type == VK_IMAGE_TYPE_3D;
      std::set<uint64_t> seen;

      for (unsigned level = 0; level < image->mip_levels; level++) {
         const unsigned depth = is_3d ? u_minify(image->extent.depth, level) : image->array_layers;
         for (unsigned layer = 0; layer < depth; layer++)
            check_layer(image, level, layer, &seen);
      }
      EXPECT_EQ(range(image, 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS).first,
                *seen.begin());
   }

   void check_layer(struct vk_image *image, unsigned level, unsigned layer,
                    std::set<uint64_t> *seen)
   {
      const bool is_3d = image->image_type == VK_IMAGE_TYPE_3D;
      const struct gpuval_object_texels view = add_view(image, level, layer);
      const auto bounds = range(image, level, 1, is_3d ? 0 : layer, 1);

      for (unsigned y = 0; y < u_minify(image->extent.height, level); y++) {
         for (unsigned x = 0; x < u_minify(image->extent.width, level); x++) {
            for (unsigned sample = 0; sample < image->samples; sample++) {
               const uint64_t number =
                  view.address + x * view.size + y * view.row + sample * view.sample;
               struct gpuval_texel texel;
               EXPECT_TRUE(seen->insert(number).second);
               EXPECT_LE(bounds.first, number);
               EXPECT_GE(bounds.second, number + view.size);
               EXPECT_EQ(gpuval_texels_find(device, number, &texel), image);
               EXPECT_EQ(texel.x, x);
               EXPECT_EQ(texel.y, y);
               EXPECT_EQ(texel.level, level);
               EXPECT_EQ(texel.sample, sample);
            }
         }
      }
   }

   static const unsigned object_bits = 8;
   struct gpuval_device *device;
};

TEST_F(texels_test, each_texel_has_a_number)
{
   struct vk_image images[] = {
      make_image(VK_FORMAT_R8G8B8A8_UNORM, {7, 5, 1}, 3, 4),
      make_image(VK_FORMAT_R8_UINT, {9, 3, 1}, 2, 1),
      make_image(VK_FORMAT_R32G32B32A32_SFLOAT, {4, 4, 5}, 3, 1),
      make_image(VK_FORMAT_R16G16_SFLOAT, {3, 3, 1}, 1, 2, 4),
   };

   for (struct vk_image &image : images)
      gpuval_texels_add(device, &image);
   for (struct vk_image &image : images)
      check_all(&image);
   for (struct vk_image &image : images)
      gpuval_texels_remove(device, &image);
}

TEST_F(texels_test, layers_of_a_view_follow_one_another)
{
   struct vk_image layers = make_image(VK_FORMAT_R32_UINT, {8, 4, 1}, 2, 3);
   struct vk_image slices = make_image(VK_FORMAT_R32_UINT, {8, 4, 6}, 2, 1);
   gpuval_texels_add(device, &layers);
   gpuval_texels_add(device, &slices);

   const struct gpuval_object_texels all = add_view(&layers, 1, 0), last = add_view(&layers, 1, 2);
   EXPECT_EQ(all.address + 2 * all.layer, last.address);
   const struct gpuval_object_texels whole = add_view(&slices, 1, 0, VK_IMAGE_VIEW_TYPE_3D);
   EXPECT_EQ(whole.address + 2 * whole.layer, add_view(&slices, 1, 2).address);
   EXPECT_EQ(range(&slices, 1, 1, 0, 1).second, whole.address + 3 * whole.layer);
   gpuval_texels_remove(device, &layers);
   gpuval_texels_remove(device, &slices);
}

TEST_F(texels_test, others_have_none)
{
   struct vk_image sampled = make_image(VK_FORMAT_R32_UINT, {8, 4, 1}, 1, 1);
   sampled.usage = VK_IMAGE_USAGE_SAMPLED_BIT;
   struct vk_image sparse = make_image(VK_FORMAT_R32_UINT, {8, 4, 1}, 1, 1);
   sparse.create_flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT;
   struct vk_image compressed = make_image(VK_FORMAT_BC1_RGB_UNORM_BLOCK, {8, 4, 1}, 1, 1);
   struct vk_image planes = make_image(VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, {8, 4, 1}, 1, 1);

   for (struct vk_image *image : {&sampled, &sparse, &compressed, &planes}) {
      gpuval_texels_add(device, image);
      EXPECT_EQ(add_view(image, 0, 0).address, 0u);
      EXPECT_EQ(range(image, 0, 1, 0, 1).first, 0u);
      gpuval_texels_remove(device, image);
   }
}

TEST_F(texels_test, numbers_are_never_given_twice)
{
   struct vk_image image = make_image(VK_FORMAT_R32_UINT, {8, 4, 1}, 1, 1);
   gpuval_texels_add(device, &image);
   const uint64_t first = add_view(&image, 0, 0).address;
   gpuval_texels_remove(device, &image);

   struct gpuval_texel texel;
   EXPECT_EQ(gpuval_texels_find(device, first, &texel), nullptr);
   EXPECT_EQ(gpuval_texels_find(device, 4096, &texel), nullptr);
   gpuval_texels_add(device, &image);
   EXPECT_GT(add_view(&image, 0, 0).address, first);
   gpuval_texels_remove(device, &image);
}

} /* namespace */
