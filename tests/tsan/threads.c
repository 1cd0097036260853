/* SPDX-License-Identifier: MIT */

/*
 * gpuval-threads QUEUES FOLDER: what threads of a program do beside each other, for ThreadSanitizer.
 *
 * Two threads submit dispatches and draws, each to a queue of its own where there are two. Each
 * frame has an image, a view, a buffer and a descriptor set of its own, and is waited for when the
 * next one has been submitted: then all of these are destroyed while that one runs. Every second
 * draw stores once behind its buffer. Two more threads create, name and destroy buffers,
 * images and pipelines that no command uses; one copies to images on the host, if the device can.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vk_headless.h"

#define FRAMES      24
#define BUFFER_SIZE (32 * 4)
#define IMAGE_SIZE  4
#define NUM_QUEUES  2 /* threads that submit */

static struct vkh_context *ctx;
static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER; /* VkQueue is not thread-safe */
static bool has_host_copies;
static VkDescriptorSetLayout set_layout;
static VkPipelineLayout layout;
static VkPipeline compute, graphics;
static VkShaderModule compute_module;
static VkSampler sampler;

struct thread {
   pthread_t handle;
   unsigned number;
   struct vkh_context ctx; /* a copy, with a command pool of its own */
};

struct image {
   VkImage image;
   VkDeviceMemory memory;
   VkImageView view;
};

/* All that a frame uses */
struct frame {
   struct image image;
   struct vkh_buffer buffer;
   VkDescriptorPool pool;
   VkCommandBuffer cmd;
   VkFence fence;
};

static struct image
create_image(struct vkh_context *c, bool linear, const char *name)
{
   struct image image;
   const VkImageCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .imageType = VK_IMAGE_TYPE_2D,
      .format = VK_FORMAT_R8G8B8A8_UNORM,
      .extent = {IMAGE_SIZE, IMAGE_SIZE, 1},
      .mipLevels = 1,
      .arrayLayers = 1,
      .samples = VK_SAMPLE_COUNT_1_BIT,
      .tiling = linear ? VK_IMAGE_TILING_LINEAR : VK_IMAGE_TILING_OPTIMAL,
      .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
               (has_host_copies ? VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT : 0),
      .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
   };
   VKH_CHECK(vkCreateImage(c->device, &info, NULL, &image.image));
   vkh_name(c, VK_OBJECT_TYPE_IMAGE, (uint64_t)image.image, name);

   VkMemoryRequirements requirements;
   vkGetImageMemoryRequirements(c->device, image.image, &requirements);
   const VkMemoryAllocateInfo allocation = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .allocationSize = requirements.size,
      .memoryTypeIndex = vkh_memory_type(c, requirements.memoryTypeBits, 0),
   };
   VKH_CHECK(vkAllocateMemory(c->device, &allocation, NULL, &image.memory));
   const VkBindImageMemoryInfo bind = {
      .sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO,
      .image = image.image,
      .memory = image.memory,
   };
   VKH_CHECK(vkBindImageMemory2(c->device, 1, &bind));

   const VkImageViewCreateInfo view = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
      .image = image.image,
      .viewType = VK_IMAGE_VIEW_TYPE_2D,
      .format = info.format,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
   };
   VKH_CHECK(vkCreateImageView(c->device, &view, NULL, &image.view));
   return image;
}

static void
destroy_image(struct vkh_context *c, const struct image *image)
{
   vkDestroyImageView(c->device, image->view, NULL);
   vkDestroyImage(c->device, image->image, NULL);
   vkFreeMemory(c->device, image->memory, NULL);
}

/* Transitions an image, and fills it, on the host. */
static void
fill_on_host(struct vkh_context *c, const struct image *image)
{
   static const uint32_t pixels[IMAGE_SIZE * IMAGE_SIZE] = {1, 2, 3};
   const VkHostImageLayoutTransitionInfoEXT transition = {
      .sType = VK_STRUCTURE_TYPE_HOST_IMAGE_LAYOUT_TRANSITION_INFO_EXT,
      .image = image->image,
      .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
      .newLayout = VK_IMAGE_LAYOUT_GENERAL,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
   };
   const VkMemoryToImageCopyEXT region = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_TO_IMAGE_COPY_EXT,
      .pHostPointer = pixels,
      .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
      .imageExtent = {IMAGE_SIZE, IMAGE_SIZE, 1},
   };
   const VkCopyMemoryToImageInfoEXT copy = {
      .sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INFO_EXT,
      .dstImage = image->image,
      .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL,
      .regionCount = 1,
      .pRegions = &region,
   };

   VKH_CHECK(VKH_PROC(c, vkTransitionImageLayoutEXT)(c->device, 1, &transition));
   VKH_CHECK(VKH_PROC(c, vkCopyMemoryToImageEXT)(c->device, &copy));
}

static void
image_barrier(VkCommandBuffer cmd, const struct image *image, VkImageLayout old_layout)
{
   const VkImageMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
      .oldLayout = old_layout,
      .newLayout = VK_IMAGE_LAYOUT_GENERAL,
      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .image = image->image,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
   };
   vkCmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                        0, 0, NULL, 0, NULL, 1, &barrier);
}

static void
fill_by_command(VkCommandBuffer cmd, const struct image *image)
{
   const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
   const VkClearColorValue color = {.float32 = {0.5f}};

   image_barrier(cmd, image, VK_IMAGE_LAYOUT_UNDEFINED);
   vkCmdClearColorImage(cmd, image->image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &range);
   image_barrier(cmd, image, VK_IMAGE_LAYOUT_GENERAL);
}

static struct frame
begin_frame(struct vkh_context *c, unsigned number, bool draws, const struct vkh_image *target)
{
   struct frame frame = {
      .image = create_image(c, number % 3 == 0, "frame's"),
      .buffer = vkh_buffer_create(c, BUFFER_SIZE, "frame's"),
   };
   const VkDescriptorPoolSize sizes[] = {
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1},
      {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1},
   };
   const VkDescriptorPoolCreateInfo pool = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .maxSets = 1,
      .poolSizeCount = VKH_COUNT(sizes),
      .pPoolSizes = sizes,
   };
   const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
   VKH_CHECK(vkCreateFence(c->device, &fence, NULL, &frame.fence));
   VKH_CHECK(vkCreateDescriptorPool(c->device, &pool, NULL, &frame.pool));
   const VkDescriptorSetAllocateInfo allocation = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .descriptorPool = frame.pool,
      .descriptorSetCount = 1,
      .pSetLayouts = &set_layout,
   };
   VkDescriptorSet set;
   VKH_CHECK(vkAllocateDescriptorSets(c->device, &allocation, &set));
   vkh_set_write_buffer(c, set, 0, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, frame.buffer.buffer, 0,
                        VK_WHOLE_SIZE);
   vkh_set_write_image(c, set, 1, 0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, frame.image.view,
                       sampler);

   const uint32_t index = number % 2 ? BUFFER_SIZE / 4 : 0;
   VkCommandBuffer cmd = frame.cmd = vkh_begin(c);
   vkh_label_begin(c, cmd, "frame");
   if (has_host_copies)
      fill_on_host(c, &frame.image);
   else
      fill_by_command(cmd, &frame.image);
   vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_ALL, 0, 4, &index);
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, compute);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
   vkCmdDispatch(cmd, 1, 1, 1);
   vkh_barrier(cmd);
   if (draws) {
      vkh_begin_rendering(cmd, &(struct vkh_target){.color = target});
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, graphics);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, layout, 0, 1, &set, 0, NULL);
      vkCmdDraw(cmd, 3, 1, 0, 0);
      vkCmdEndRendering(cmd);
   }
   vkh_barrier(cmd);
   vkh_label_end(c, cmd);
   return frame;
}

static void
end_frame(struct vkh_context *c, struct frame *frame)
{
   VKH_CHECK(vkWaitForFences(c->device, 1, &frame->fence, VK_TRUE, UINT64_MAX));
   destroy_image(c, &frame->image);
   vkh_buffer_destroy(c, &frame->buffer);
   vkDestroyDescriptorPool(c->device, frame->pool, NULL);
   vkFreeCommandBuffers(c->device, c->command_pool, 1, &frame->cmd);
   vkDestroyFence(c->device, frame->fence, NULL);
}

static void *
submit_frames(void *data)
{
   struct thread *thread = data;
   struct vkh_context *c = &thread->ctx;
   const bool draws = c->queue_family == ctx->queues[0].family;
   struct vkh_image target = {0};
   struct frame last = {0};

   pthread_mutex_lock(&queue_mutex);
   target = vkh_image_create(c, VK_FORMAT_R8G8B8A8_UNORM, 8, 8, "target");
   pthread_mutex_unlock(&queue_mutex);
   for (unsigned i = 0; i < FRAMES; i++) {
      struct frame frame = begin_frame(c, i, draws, &target);
      pthread_mutex_lock(&queue_mutex);
      vkh_submit(c, frame.cmd, frame.fence);
      pthread_mutex_unlock(&queue_mutex);
      if (i > 0)
         end_frame(c, &last);
      last = frame;
   }
   end_frame(c, &last);
   vkh_image_destroy(c, &target);
   return NULL;
}

static void *
use_host(void *data)
{
   struct thread *thread = data;
   struct vkh_context *c = &thread->ctx;

   for (unsigned i = 0; i < FRAMES * 2; i++) {
      struct image image = create_image(c, i % 2, "host's");
      struct vkh_buffer buffer = vkh_buffer_create(c, BUFFER_SIZE * (1 + i % 5), "host's");
      char name[32];

      if (has_host_copies)
         fill_on_host(c, &image);
      snprintf(name, sizeof(name), "renamed %u", i);
      vkh_name(c, VK_OBJECT_TYPE_IMAGE, (uint64_t)image.image, name);
      if (i % 8 == 0) {
         VkPipeline pipeline = vkh_compute_pipeline(
            c, &(struct vkh_compute_desc){.module = compute_module, .layout = layout});
         vkDestroyPipeline(c->device, pipeline, NULL);
      }
      vkh_buffer_destroy(c, &buffer);
      destroy_image(c, &image);
   }
   return NULL;
}

static VkShaderModule
read_module(const char *folder, const char *name)
{
   char path[4096];
   snprintf(path, sizeof(path), "%s/%s.spv", folder, name);
   return vkh_shader_module_file(ctx, path, name);
}

int
main(int count, char **arguments)
{
   if (count != 3)
      vkh_die("usage: %s 1|2 FOLDER", arguments[0]);

   VkPhysicalDeviceHostImageCopyFeaturesEXT host_copies = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_FEATURES_EXT,
      .hostImageCopy = VK_TRUE,
   };
   static const char *const extension = VK_EXT_HOST_IMAGE_COPY_EXTENSION_NAME;
   struct vkh_options options = {.second_queue = atoi(arguments[1]) == 2};
   ctx = vkh_instance_create(&options);
   has_host_copies = vkh_has_extension(ctx, extension);
   if (has_host_copies) {
      options.extensions = &extension;
      options.extension_count = 1;
      options.features_next = &host_copies;
   }
   vkh_device_create(ctx, &options);

   const VkDescriptorSetLayoutBinding bindings[] = {
      {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_ALL, NULL},
      {1, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_ALL, NULL},
   };
   const VkSamplerCreateInfo sampler_info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
   VKH_CHECK(vkCreateSampler(ctx->device, &sampler_info, NULL, &sampler));
   set_layout = vkh_set_layout(ctx, bindings, VKH_COUNT(bindings));
   layout = vkh_pipeline_layout(ctx, &set_layout, 1, 4);
   compute_module = read_module(arguments[2], "threads.comp");
   VkShaderModule vertex = read_module(arguments[2], "threads.vert");
   VkShaderModule fragment = read_module(arguments[2], "threads.frag");
   compute = vkh_compute_pipeline(
      ctx, &(struct vkh_compute_desc){.module = compute_module, .layout = layout});
   graphics = vkh_graphics_pipeline(ctx, &(struct vkh_graphics_desc){
                                            .stages = {{VK_SHADER_STAGE_VERTEX_BIT, vertex},
                                                       {VK_SHADER_STAGE_FRAGMENT_BIT, fragment}},
                                            .stage_count = 2,
                                            .layout = layout,
                                            .color_format = VK_FORMAT_R8G8B8A8_UNORM,
                                         });

   struct thread threads[2 * NUM_QUEUES];
   for (unsigned i = 0; i < VKH_COUNT(threads); i++) {
      threads[i] = (struct thread){.number = i, .ctx = *ctx};
      vkh_select_queue(&threads[i].ctx, i % ctx->queue_count);
      const VkCommandPoolCreateInfo pool = {
         .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
         .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
         .queueFamilyIndex = threads[i].ctx.queue_family,
      };
      VKH_CHECK(vkCreateCommandPool(ctx->device, &pool, NULL, &threads[i].ctx.command_pool));
   }
   for (unsigned i = 0; i < VKH_COUNT(threads); i++) {
      if (pthread_create(&threads[i].handle, NULL, i < NUM_QUEUES ? submit_frames : use_host,
                         &threads[i]))
         vkh_die("no thread");
   }
   for (unsigned i = 0; i < VKH_COUNT(threads); i++) {
      pthread_join(threads[i].handle, NULL);
      vkDestroyCommandPool(ctx->device, threads[i].ctx.command_pool, NULL);
   }

   vkDestroyPipeline(ctx->device, compute, NULL);
   vkDestroyPipeline(ctx->device, graphics, NULL);
   vkDestroyShaderModule(ctx->device, compute_module, NULL);
   vkDestroyShaderModule(ctx->device, vertex, NULL);
   vkDestroyShaderModule(ctx->device, fragment, NULL);
   vkDestroyPipelineLayout(ctx->device, layout, NULL);
   vkDestroyDescriptorSetLayout(ctx->device, set_layout, NULL);
   vkDestroySampler(ctx->device, sampler, NULL);
   vkh_context_destroy(ctx);
   return 0;
}
