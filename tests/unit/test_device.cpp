/* SPDX-License-Identifier: MIT */

/* A device and what is around it: the end of the process, and messengers. */

#include "drain_test.h"

#include <chrono>
#include <thread>

#include "vk_debug_utils.h"
#include "vk_instance.h"
#include "vk_physical_device.h"

namespace {

/* What a driver has, and takes apart when its device is destroyed */
struct queue {
   std::atomic<bool> lives{true}, is_waited_for{false};
};

static void
wait_for_queue(void *data, bool at_exit)
{
   struct queue *queue = (struct queue *)data;

   queue->is_waited_for = true;
   std::this_thread::sleep_for(std::chrono::milliseconds(100));
   if (!queue->lives)
      _exit(3);
}

/* exit() waits for work while another thread destroys the device. */
static void
exit_beside_destroy()
{
   static struct queue queue;
   struct gpuval_device_info info = {};
   info.winsys = gpuval_winsys_host;
   info.wait_for_work = wait_for_queue;
   info.data = &queue;
   struct gpuval_device *device = gpuval_device_create(&info);

   std::thread([device]() {
      while (!queue.is_waited_for)
         std::this_thread::yield();
      gpuval_device_retire(device);
      queue.lives = false;
      gpuval_device_destroy(device);
   }).detach();
   exit(0);
}

TEST_F(drain_test, exit_while_a_device_is_destroyed)
{
   ::testing::FLAGS_gtest_death_test_style = "threadsafe"; /* a forked child says nothing */
   EXPECT_EXIT(exit_beside_destroy(), ::testing::ExitedWithCode(0), "");
}

/* A device whose instance has a messenger */
class messenger_test : public drain_test {
 public:
   using drain_test::device;

   void SetUp() override
   {
      physical.instance = &instance;
      vk.physical = &physical;
      mtx_init(&instance.debug_utils.callbacks_mutex, mtx_plain);
      list_inithead(&instance.debug_utils.callbacks);
      messenger.severity = messenger.type = ~0u;
      messenger.data = this;
      list_addtail(&messenger.link, &instance.debug_utils.callbacks);

      struct gpuval_device_info info = {};
      info.vk = &vk;
      info.winsys = gpuval_winsys_host;
      device = gpuval_device_create(&info);
      ASSERT_NE(device, nullptr);
   }

   struct vk_instance instance = {};
   struct vk_physical_device physical = {};
   struct vk_device vk = {};
   struct vk_debug_utils_messenger messenger = {};
   std::atomic<unsigned> calls{0}, returns{0};
};

/* Whatever it creates and destroys, the device's mutex is not held. */
TEST_F(messenger_test, may_call_vulkan)
{
   messenger.callback = [](VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                           const VkDebugUtilsMessengerCallbackDataEXT *, void *data) -> VkBool32 {
      messenger_test *test = (messenger_test *)data;
      struct vk_object_base buffer = {};
      gpuval_device_add_buffer(test->device, &buffer, 0x1000, 16);
      gpuval_device_remove_buffer(test->device, &buffer);
      unsigned work = gpuval_device_begin_work(test->device);
      gpuval_device_end_work(test->device, work);
      test->calls++;
      return VK_FALSE;
   };
   uint32_t site = add_shader(3, 9);
   shader_side shader(device);

   /* At the end of work, from the thread that polls, and at the very end */
   unsigned work = gpuval_device_begin_work(device);
   shader.count(site);
   gpuval_device_end_work(device, work);
   EXPECT_EQ(calls, 1u);

   gpuval_device_begin_work(device);
   shader.count(site + 1);
   EXPECT_TRUE(shader.record(make_record(site + 1, 3)));
   for (unsigned i = 0; i < 1000 && calls < 2; i++)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
   EXPECT_EQ(calls, 2u);
   shader.count(site + 2);
   memset(device->work, 0, sizeof(device->work)); /* never ended */
   gpuval_device_destroy(device);
   EXPECT_EQ(calls, 3u);
   SetUp();
}

/* Who has waited for the work may ask what the messenger has heard, though it was the
 * thread that polls that has called it.
 */
TEST_F(messenger_test, has_heard_when_work_ends)
{
   messenger.callback = [](VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                           const VkDebugUtilsMessengerCallbackDataEXT *, void *data) -> VkBool32 {
      messenger_test *test = (messenger_test *)data;
      test->calls++;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      test->returns++;
      return VK_FALSE;
   };
   uint32_t site = add_shader(1, 9);
   shader_side shader(device);

   unsigned work = gpuval_device_begin_work(device);
   shader.count(site);
   EXPECT_TRUE(shader.record(make_record(site, 3)));
   while (!calls)
      std::this_thread::yield();
   gpuval_device_end_work(device, work);
   EXPECT_EQ(returns, 1u);
}

} /* namespace */
