/* SPDX-License-Identifier: MIT */

/* What is said of work that does not end: commands in flight, and what was at the page of a fault. */

#include "drain_test.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "core/events/gpuval_hang.h"
#include "vk_buffer.h"

namespace {

class hang_test : public drain_test {
 protected:
   static void SetUpTestSuite()
   {
      setenv("GPUVAL", "bounds,address", 1);
      setenv("GPUVAL_LOG", "/dev/null", 1);
      setenv("GPUVAL_HANG_TIME", "3", 1);
      gpuval_init(false);
   }

   void SetUp() override
   {
      create();
   }

   void create()
   {
      struct gpuval_device_info info = {};
      info.winsys = gpuval_winsys_host;
      info.describe_command = describe_command;
      info.look_for_hang = look_for_hang;
      info.has_faults = true;
      info.data = this;
      device = gpuval_device_create(&info);
      ASSERT_NE(device, nullptr);
   }

   static void look_for_hang(void *data, int64_t limit)
   {
      hang_test *test = (hang_test *)data;
      test->limit = limit;
      test->looks++;
   }

   const struct gpuval_event *only_event()
   {
      const std::vector<const struct gpuval_event *> all = events();
      EXPECT_EQ(all.size(), 1u);
      return all.empty() ? NULL : all[0];
   }

   static std::vector<std::string> lines(const struct gpuval_event *event)
   {
      return {event->in_flight, event->in_flight + event->num_in_flight};
   }

   void report_fault(uint64_t address)
   {
      const struct gpuval_hang_fault fault = {address, 4096, "read", 0x10};
      struct gpuval_hang *hang = gpuval_hang_create_lost();
      gpuval_hang_set_fault(hang, &fault);
      gpuval_hang_report(hang, device);
   }

   /* A VkDeviceMemory, of which nothing but this is looked at */
   static struct vk_object_base make_memory(const char *name)
   {
      struct vk_object_base memory = {};
      memory.type = VK_OBJECT_TYPE_DEVICE_MEMORY;
      memory.object_name = (char *)name;
      return memory;
   }

   static struct vk_buffer make_buffer(const char *name, bool has_address = false)
   {
      struct vk_buffer buffer = {};
      buffer.base.type = VK_OBJECT_TYPE_BUFFER;
      buffer.base.object_name = (char *)name;
      buffer.usage = has_address ? VK_BUFFER_USAGE_2_SHADER_DEVICE_ADDRESS_BIT : 0;
      return buffer;
   }

   std::atomic<int64_t> limit{0};
   std::atomic<unsigned> looks{0};
};

TEST_F(hang_test, the_driver_is_asked_while_work_is_in_flight)
{
   std::this_thread::sleep_for(std::chrono::milliseconds(250));
   EXPECT_EQ(looks, 0u);
   unsigned work = gpuval_device_begin_work(device);
   for (unsigned i = 0; i < 3000 && !looks; i++)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
   EXPECT_GT(looks, 0u);
   EXPECT_EQ(limit, 3000000000);

   /* Whatever the driver needs for that may go. */
   gpuval_device_retire(device);
   unsigned last = looks;
   std::this_thread::sleep_for(std::chrono::milliseconds(250));
   EXPECT_EQ(looks, last);
   gpuval_device_end_work(device, work);
}

TEST_F(hang_test, a_slow_submit_is_a_note)
{
   commands = {7};
   struct gpuval_hang *hang = gpuval_hang_create_slow("submission 3", 4.25);
   gpuval_hang_say(hang, "command buffer %d", 1);
   gpuval_hang_add_command(hang, 7);
   gpuval_hang_add_command(hang, 8); /* nobody knows it */
   gpuval_hang_report(hang, device);

   const struct gpuval_event *event = only_event();
   EXPECT_STREQ(event->message, "submission 3 has not ended after 4.2 s");
   EXPECT_STREQ(gpuval_event_severity(event), "info");
   EXPECT_EQ(event->count, 1u);
   EXPECT_EQ(lines(event), (std::vector<std::string>{"command buffer 1", "dispatch 7"}));
   ASSERT_TRUE(event->place.has_command);
   EXPECT_EQ(event->place.command.index, 7);
}

TEST_F(hang_test, commands_that_are_resolved_may_be_gone_when_it_is_reported)
{
   commands = {5, 6};
   struct gpuval_hang *hang = gpuval_hang_create_cut_off("submission 0");
   gpuval_hang_add_command(hang, 5);
   gpuval_hang_add_command(hang, 6);
   gpuval_hang_resolve(hang, device);
   commands.clear();
   gpuval_hang_say(hang, "the end");
   gpuval_hang_report(hang, device);

   const struct gpuval_event *event = only_event();
   EXPECT_STREQ(gpuval_event_severity(event), "error");
   EXPECT_EQ(lines(event), (std::vector<std::string>{"dispatch 5", "dispatch 6", "the end"}));
   EXPECT_EQ(event->place.command.index, 5);
}

TEST_F(hang_test, of_many_commands_some_are_described)
{
   struct gpuval_hang *hang = gpuval_hang_create_lost();
   for (unsigned i = 0; i < 100; i++) {
      commands.insert(i);
      gpuval_hang_add_command(hang, i);
   }
   gpuval_hang_report(hang, device);
   const std::vector<std::string> all = lines(only_event());
   ASSERT_EQ(all.size(), 17u);
   EXPECT_EQ(all[15], "dispatch 15");
   EXPECT_EQ(all[16], "and 84 more commands");
}

TEST_F(hang_test, a_program_that_is_slow_in_each_frame_does_not_fill_the_report)
{
   for (unsigned i = 0; i < 200; i++)
      gpuval_hang_report(gpuval_hang_create_slow("submission", i), device);
   EXPECT_LT(events().size(), 100u);
   uint64_t count = 0;
   for (const struct gpuval_event *event : events())
      count += event->count;
   EXPECT_EQ(count, 200u);
}

TEST_F(hang_test, a_loss_that_was_asked_for_is_none)
{
   device->is_lost_on_purpose = true;
   gpuval_hang_report(gpuval_hang_create_lost(), device);
   EXPECT_EQ(events().size(), 0u);
}

TEST_F(hang_test, a_fault_leads_to_what_is_there)
{
   struct vk_object_base memory = make_memory("heap");
   struct vk_buffer buffer = make_buffer("nodes");
   gpuval_device_add_memory(device, &memory, 0x10000, 0x10000);
   gpuval_device_add_buffer(device, &buffer.base, 0x12800, 0x100);
   report_fault(0x12000);
   EXPECT_NE(std::string(only_event()->message)
                .find("read in the page of 4096 bytes at address 0x12000, which the buffer "
                      "\"nodes\" (256 bytes) has"),
             std::string::npos)
      << only_event()->message;
   EXPECT_EQ(only_event()->place.access.address, 0x12000u);
   EXPECT_STREQ(only_event()->resource.object_name, "nodes");
   gpuval_device_remove_buffer(device, &buffer.base);
   gpuval_device_remove_memory(device, &memory);
}

TEST_F(hang_test, a_fault_leads_to_what_was_there_last)
{
   struct vk_object_base memory = make_memory("heap");
   struct vk_buffer old_buffer = make_buffer("old"), buffer = make_buffer("last");
   gpuval_device_add_memory(device, &memory, 0x10000, 0x10000);
   gpuval_device_add_buffer(device, &old_buffer.base, 0x10000, 0x10000);
   gpuval_device_remove_buffer(device, &old_buffer.base);
   gpuval_device_add_buffer(device, &buffer.base, 0x10000, 0x2001);
   gpuval_device_remove_buffer(device, &buffer.base);
   gpuval_device_remove_memory(device, &memory);
   report_fault(0x12000);
   EXPECT_NE(std::string(only_event()->message)
                .find("where the buffer \"last\" (8193 bytes) was, destroyed "),
             std::string::npos)
      << only_event()->message;
   EXPECT_STREQ(only_event()->resource.object_name, "last");
}

TEST_F(hang_test, a_fault_leads_to_an_image)
{
   struct vk_object_base memory = make_memory("heap"), image = {};
   image.type = VK_OBJECT_TYPE_IMAGE;
   image.object_name = (char *)"picture";
   gpuval_device_add_memory(device, &memory, 0x10000, 0x10000);
   gpuval_device_add_image(device, &image, 0x14000, 0x4000);
   gpuval_device_remove_image(device, &image);
   gpuval_device_remove_memory(device, &memory);
   report_fault(0x17000);
   EXPECT_NE(std::string(only_event()->message)
                .find("where the image \"picture\" (16384 bytes) was, destroyed "),
             std::string::npos)
      << only_event()->message;
}

TEST_F(hang_test, a_fault_leads_to_memory_that_was_freed)
{
   struct vk_object_base memory = make_memory(NULL);
   gpuval_device_add_memory(device, &memory, 0x10000, 0x10000);
   gpuval_device_remove_memory(device, &memory);
   report_fault(0x1f000);
   EXPECT_NE(std::string(only_event()->message).find("where the memory (65536 bytes) was, freed "),
             std::string::npos)
      << only_event()->message;
}

TEST_F(hang_test, a_fault_may_lead_nowhere)
{
   struct vk_buffer buffer = make_buffer("far", true);
   gpuval_device_add_buffer(device, &buffer.base, 0x20000, 0x1000);
   report_fault(0x1f000);
   EXPECT_NE(
      std::string(only_event()->message)
         .find(
            "where nothing is known to be or to have been; 4096 bytes before the buffer \"far\""),
      std::string::npos)
      << only_event()->message;
   gpuval_device_remove_buffer(device, &buffer.base);
}

} /* namespace */
