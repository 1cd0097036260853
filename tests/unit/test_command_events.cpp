/* SPDX-License-Identifier: MIT */

/* Which failures of commands are one: by labels, names and objects */

#include "drain_test.h"

#include <map>
#include <memory>
#include <string>

#include "core/descriptors/gpuval_objects.h"
#include "core/race/gpuval_race.h"

namespace {

class command_events : public drain_test {
 protected:
   void SetUp() override
   {
      struct gpuval_device_info info = {};
      info.winsys = gpuval_winsys_host;
      info.object_bits = 16;
      info.describe_command = describe;
      info.data = this;
      device = gpuval_device_create(&info);
      ASSERT_NE(device, nullptr);
      ASSERT_NE(gpuval_device_objects(device), nullptr);
   }

   static bool describe(void *data, uint32_t id, mesa_shader_stage, struct gpuval_command *command)
   {
      command_events *test = (command_events *)data;
      command->op = "copy_image";
      if (!test->label.empty()) {
         command->labels[0] = test->label.c_str();
         command->num_labels = 1;
      }
      if (!test->command_buffer.empty())
         command->command_buffer_name = test->command_buffer.c_str();
      return true;
   }

   struct image {
      image(struct gpuval_device *device, const char *name = NULL): device(device), base()
      {
         base.type = VK_OBJECT_TYPE_IMAGE;
         base.object_name = (char *)name;
         gpuval_objects_add(gpuval_device_objects(device), &base, NULL, NULL);
      }
      ~image()
      {
         gpuval_objects_remove(gpuval_device_objects(device), &base);
      }
      struct gpuval_device *device;
      struct vk_object_base base;
   };

   void race(const struct image &image)
   {
      struct gpuval_race_use use = {}, other = {};
      use.site = other.site = GPUVAL_RACE_NO_SITE;
      use.op = other.op = GPUVAL_OP_STORE;
      use.is_write = other.is_write = true;
      use.object = other.object = image.base.gpuval_id;
      gpuval_device_report_race(device, &use, &other);
   }

   uint64_t count()
   {
      uint64_t count = 0;
      for (const struct gpuval_event *event : events())
         count += event->count;
      return count;
   }

   std::set<std::string> fingerprints()
   {
      std::set<std::string> fingerprints;
      for (const struct gpuval_event *event : events())
         fingerprints.insert(event->fingerprint);
      return fingerprints;
   }

   std::string label, command_buffer;
};

TEST_F(command_events, images_without_names)
{
   struct image one(device), other(device);

   for (unsigned i = 0; i < 3; i++) {
      race(one);
      race(other);
   }
   ASSERT_EQ(events().size(), 2u);
   std::map<uint64_t, uint64_t> counts;
   for (const struct gpuval_event *event : events())
      counts[event->resource.object] = event->count;
   EXPECT_EQ(counts[(uintptr_t)&one.base], 3u);
   EXPECT_EQ(counts[(uintptr_t)&other.base], 3u);
   /* Handles are not in it. */
   EXPECT_EQ(fingerprints().size(), 1u);
}

TEST_F(command_events, names_stand_for_images)
{
   struct image one(device, "one"), other(device, "other"), again(device, "one");
   race(one);
   race(other);
   race(again);
   EXPECT_EQ(events().size(), 2u);
   EXPECT_EQ(fingerprints().size(), 2u);
}

/* What each frame makes anew, with three of them in flight */
TEST_F(command_events, images_of_frames)
{
   std::unique_ptr<struct image> images[3];

   for (unsigned i = 0; i < 1000; i++) {
      images[i % 3].reset(new struct image(device));
      race(*images[i % 3]);
   }
   EXPECT_LE(events().size(), 4u);
   EXPECT_EQ(count(), 1000u);
}

TEST_F(command_events, many_images_at_once)
{
   std::vector<std::unique_ptr<struct image>> images;

   for (unsigned i = 0; i < 1000; i++) {
      images.emplace_back(new struct image(device));
      race(*images.back());
   }
   EXPECT_GT(events().size(), 8u);
   EXPECT_LE(events().size(), 32u);
   EXPECT_EQ(count(), 1000u);
}

TEST_F(command_events, labels_that_count_frames)
{
   std::string first;
   {
      struct image image(device, "image");

      for (unsigned i = 0; i < 1000; i++) {
         label = "frame " + std::to_string(i) + " pass 2";
         command_buffer = "commands " + std::to_string(i % 3);
         race(image);
      }
      EXPECT_EQ(events().size(), 1u);
      EXPECT_EQ(count(), 1000u);
      first = events()[0]->fingerprint;
   }

   /* The same in the next run, which finds it later */
   TearDown();
   SetUp();
   label = "frame 4711 pass 2";
   command_buffer = "commands 2";
   struct image same(device, "image");
   race(same);
   ASSERT_EQ(events().size(), 1u);
   EXPECT_EQ(first, events()[0]->fingerprint);

   label = "frame 4711 path 2";
   race(same);
   EXPECT_EQ(events().size(), 2u);
   EXPECT_EQ(fingerprints().size(), 2u);
}

/* Whatever else a program puts there: not without end, and nothing is lost. */
TEST_F(command_events, labels_without_end)
{
   struct image image(device);

   for (unsigned i = 0; i < 5000; i++) {
      label = std::string(1 + i % 50, 'a') + std::string(1 + i / 50, 'b');
      race(image);
   }
   EXPECT_GT(events().size(), 500u);
   EXPECT_LE(events().size(), 2000u);
   EXPECT_EQ(count(), 5000u);
}

/* What has failed may be gone when that is said. */
TEST_F(command_events, buffers_that_are_gone)
{
   struct vk_object_base *buffers[2];
   struct gpuval_command_failure failure = {};
   failure.kind = GPUVAL_KIND_INDEX_BUFFER_OOB;
   failure.op = GPUVAL_OP_LOAD;
   failure.count = 1;
   failure.range.type = "index_buffer";
   failure.range.binding = -1;

   for (unsigned i = 0; i < 2; i++) {
      buffers[i] = (struct vk_object_base *)calloc(1, sizeof(*buffers[i]));
      buffers[i]->type = VK_OBJECT_TYPE_BUFFER;
      buffers[i]->object_name = strdup(i ? "gone" : "there");
      gpuval_device_add_buffer(device, buffers[i], 0x10000 * (i + 1), 256);
      failure.range.address = 0x10000 * (i + 1);
      failure.range.size = 256;
      failure.range.object = buffers[i];
      failure.part = i;
      if (i) {
         gpuval_device_remove_buffer(device, buffers[i]);
         free(buffers[i]->object_name);
         free(buffers[i]);
      }
      gpuval_device_report_command(device, 1, 0, &failure);
   }
   ASSERT_EQ(events().size(), 2u);
   unsigned num_names = 0;
   for (const struct gpuval_event *event : events()) {
      bool is_named = event->resource.object_name;
      num_names += is_named;
      EXPECT_EQ(event->resource.object, is_named ? (uintptr_t)buffers[0] : 0u);
   }
   EXPECT_EQ(num_names, 1u);
   gpuval_device_remove_buffer(device, buffers[0]);
   free(buffers[0]->object_name);
   free(buffers[0]);
}

} /* namespace */
