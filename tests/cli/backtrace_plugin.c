/* SPDX-License-Identifier: MIT */

/* Of the test of GPUVAL_BACKTRACE: a library that records a copy, and is unloaded. */

#include <vulkan/vulkan.h>

__attribute__((visibility("default"))) void plugin_record(VkCommandBuffer cmd, VkBuffer from,
                                                          VkBuffer to);

void
plugin_record(VkCommandBuffer cmd, VkBuffer from, VkBuffer to)
{
   const VkBufferCopy region = {.size = 16};

   vkCmdCopyBuffer(cmd, from, to, 1, &region); /* the library's copy */
   __asm__ volatile("");
}
