/* SPDX-License-Identifier: MIT */

/* A program that makes a Vulkan instance and looks at its devices, but creates
 * none: as launchers do, and programs that like another GPU better.
 */

#include <vulkan/vulkan.h>

int
main(void)
{
   const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
   VkInstance instance;
   uint32_t count = 0;

   if (vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS)
      return 99;
   vkEnumeratePhysicalDevices(instance, &count, NULL);
   vkDestroyInstance(instance, NULL);
   return count ? 0 : 99;
}
