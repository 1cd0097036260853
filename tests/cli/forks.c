/* SPDX-License-Identifier: MIT */

/* A process that has made a device, and a child that it forks then. With the argument "device" the
 * child makes one as well, and ends without destroying it; with "killed" behind it, by SIGKILL.
 * (The parent has destroyed its own one then: exit() in a child waits for threads of queues that
 * Mesa's util_queue.c knows of its parent.)
 */

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>
#include <sys/wait.h>

#include <vulkan/vulkan.h>

static VkInstance instance;

static VkDevice
create_device(void)
{
   const VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
   const float priority = 1.0f;
   const VkDeviceQueueCreateInfo queue = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
      .queueCount = 1,
      .pQueuePriorities = &priority,
   };
   const VkDeviceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
      .queueCreateInfoCount = 1,
      .pQueueCreateInfos = &queue,
   };
   VkPhysicalDevice physical;
   uint32_t count = 1;
   VkDevice device;

   if (vkCreateInstance(&instance_info, NULL, &instance) != VK_SUCCESS ||
       vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || !count ||
       vkCreateDevice(physical, &info, NULL, &device) != VK_SUCCESS)
      exit(99);
   return device;
}

static void
destroy_device(VkDevice device)
{
   vkDestroyDevice(device, NULL);
   vkDestroyInstance(instance, NULL);
}

int
main(int argc, char **argv)
{
   bool child_has_device = argc > 1 && !strcmp(argv[1], "device");
   bool is_killed = argc > 2 && !strcmp(argv[2], "killed");
   VkDevice device = create_device();
   if (child_has_device)
      destroy_device(device);

   pid_t child = fork();
   if (!child) {
      if (child_has_device)
         create_device();
      if (is_killed)
         raise(SIGKILL);
      exit(0);
   }
   FILE *f = fopen("child", "w");
   if (!f || fprintf(f, "%d\n", (int)child) < 0 || fclose(f))
      return 99;

   int status;
   if (waitpid(child, &status, 0) != child || status != (is_killed ? SIGKILL : 0))
      return 98;
   if (!child_has_device)
      destroy_device(device);
   return 0;
}
