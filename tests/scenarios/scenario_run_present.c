/* SPDX-License-Identifier: MIT */

/*
 * Frames of a window that nobody sees: a headless surface.
 */

#include "scenario_run.h"

#include <stdlib.h>

#define MAX_IMAGES 8

struct run_window {
   VkSurfaceKHR surface;
   VkSwapchainKHR swapchain;
   VkImage images[MAX_IMAGES];
};

static void
create_surface(struct run *run, struct run_window *window)
{
   VkInstance instance = run->ctx->instance;
   PFN_vkCreateHeadlessSurfaceEXT create =
      (PFN_vkCreateHeadlessSurfaceEXT)vkGetInstanceProcAddr(instance, "vkCreateHeadlessSurfaceEXT");
   const VkHeadlessSurfaceCreateInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_HEADLESS_SURFACE_CREATE_INFO_EXT,
   };
   VkBool32 is_supported;

   VKH_CHECK(create(instance, &info, NULL, &window->surface));
   VKH_CHECK(vkGetPhysicalDeviceSurfaceSupportKHR(run->ctx->physical_device, run->ctx->queue_family,
                                                  window->surface, &is_supported));
   if (!is_supported)
      vkh_skip("the queue does not present");
}

static struct run_window *
get_window(struct run *run)
{
   if (run->window)
      return run->window;

   struct run_window *window = run->window = vkh_calloc(1, sizeof(*window));
   VkSurfaceCapabilitiesKHR capabilities;
   VkSurfaceFormatKHR format;
   uint32_t count = 1;

   create_surface(run, window);
   VKH_CHECK(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(run->ctx->physical_device, window->surface,
                                                       &capabilities));
   vkGetPhysicalDeviceSurfaceFormatsKHR(run->ctx->physical_device, window->surface, &count,
                                        &format);
   const VkSwapchainCreateInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
      .surface = window->surface,
      .minImageCount = capabilities.minImageCount,
      .imageFormat = format.format,
      .imageColorSpace = format.colorSpace,
      .imageExtent = {run->width, run->height},
      .imageArrayLayers = 1,
      .imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
      .preTransform = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR,
      .compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
      .presentMode = VK_PRESENT_MODE_FIFO_KHR,
   };
   VKH_CHECK(vkCreateSwapchainKHR(run->ctx->device, &info, NULL, &window->swapchain));
   count = MAX_IMAGES;
   VKH_CHECK(vkGetSwapchainImagesKHR(run->ctx->device, window->swapchain, &count, window->images));
   return window;
}

/* It waits for the image only where attachments are written. */
static void
submit_frame(struct run *run, VkImage image, VkSemaphore acquired, VkSemaphore drawn)
{
   const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
   VkCommandBuffer cmd = vkh_begin(run->ctx);
   const VkImageMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
      .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
      .newLayout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR,
      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .image = image,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
   };

   vkCmdPipelineBarrier(cmd, stage, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 0, 0, NULL, 0, NULL, 1,
                        &barrier);
   VKH_CHECK(vkEndCommandBuffer(cmd));
   const VkSubmitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
      .waitSemaphoreCount = 1,
      .pWaitSemaphores = &acquired,
      .pWaitDstStageMask = &stage,
      .commandBufferCount = 1,
      .pCommandBuffers = &cmd,
      .signalSemaphoreCount = 1,
      .pSignalSemaphores = &drawn,
   };
   VKH_CHECK(vkQueueSubmit(run->ctx->queue, 1, &info, VK_NULL_HANDLE));
}

/* `present`: what was recorded has to be submitted before. */
void
run_present(struct run *run)
{
   struct run_window *window = get_window(run);
   VkSemaphore acquired = run_get_object(run, "acquired", RUN_OBJECT_BINARY)->semaphore;
   VkSemaphore drawn = run_get_object(run, "drawn", RUN_OBJECT_BINARY)->semaphore;
   uint32_t index;

   if (run->cmd)
      RUN_ERROR(run, "the commands so far have to be submitted first");
   VKH_CHECK(vkAcquireNextImageKHR(run->ctx->device, window->swapchain, UINT64_MAX, acquired,
                                   VK_NULL_HANDLE, &index));
   submit_frame(run, window->images[index], acquired, drawn);
   const VkPresentInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
      .waitSemaphoreCount = 1,
      .pWaitSemaphores = &drawn,
      .swapchainCount = 1,
      .pSwapchains = &window->swapchain,
      .pImageIndices = &index,
   };
   VKH_CHECK(vkQueuePresentKHR(run->ctx->queue, &info));
}

void
run_destroy_window(struct run *run)
{
   struct run_window *window = run->window;
   if (!window)
      return;

   vkDestroySwapchainKHR(run->ctx->device, window->swapchain, NULL);
   vkDestroySurfaceKHR(run->ctx->instance, window->surface, NULL);
   free(window);
}
