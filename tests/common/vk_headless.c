/* SPDX-License-Identifier: MIT */

#include "vk_headless.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Errors --------------------------------------------------------------- */

VkResult
vkh_check(VkResult result, const char *what, const char *file, int line)
{
   if (result >= 0)
      return result;

   /* A program asks for what it needs, so a missing feature or extension
    * means that it cannot run here, not that something broke.
    */
   if (result == VK_ERROR_FEATURE_NOT_PRESENT || result == VK_ERROR_EXTENSION_NOT_PRESENT) {
      printf("skip: %s: %s\n", what,
             result == VK_ERROR_FEATURE_NOT_PRESENT ? "a feature is not there"
                                                    : "an extension is not there");
      exit(VKH_EXIT_SKIP);
   }

   fprintf(stderr, "%s:%d: error: %s returned VkResult %d\n", file, line, what, result);
   exit(VKH_EXIT_ERROR);
}

void
vkh_die(const char *format, ...)
{
   va_list args;

   fprintf(stderr, "error: ");
   va_start(args, format);
   vfprintf(stderr, format, args);
   va_end(args);
   fprintf(stderr, "\n");
   exit(VKH_EXIT_ERROR);
}

void
vkh_skip(const char *format, ...)
{
   va_list args;

   printf("skip: ");
   va_start(args, format);
   vprintf(format, args);
   va_end(args);
   printf("\n");
   exit(VKH_EXIT_SKIP);
}

static void *
xcalloc(size_t count, size_t size)
{
   void *memory = calloc(count ? count : 1, size ? size : 1);
   if (!memory)
      vkh_die("out of memory");
   return memory;
}

/* --- Instance and device -------------------------------------------------- */

static bool
instance_has_extension(const char *name)
{
   uint32_t count = 0;
   VKH_CHECK(vkEnumerateInstanceExtensionProperties(NULL, &count, NULL));
   VkExtensionProperties *properties = xcalloc(count, sizeof(*properties));
   VKH_CHECK(vkEnumerateInstanceExtensionProperties(NULL, &count, properties));

   bool found = false;
   for (uint32_t i = 0; i < count && !found; i++)
      found = strcmp(properties[i].extensionName, name) == 0;
   free(properties);
   return found;
}

static void
load_debug_utils(struct vkh_context *ctx, const struct vkh_options *options)
{
   ctx->set_object_name = (PFN_vkSetDebugUtilsObjectNameEXT)vkGetInstanceProcAddr(
      ctx->instance, "vkSetDebugUtilsObjectNameEXT");
   ctx->begin_label = (PFN_vkCmdBeginDebugUtilsLabelEXT)vkGetInstanceProcAddr(
      ctx->instance, "vkCmdBeginDebugUtilsLabelEXT");
   ctx->end_label = (PFN_vkCmdEndDebugUtilsLabelEXT)vkGetInstanceProcAddr(
      ctx->instance, "vkCmdEndDebugUtilsLabelEXT");
   ctx->insert_label = (PFN_vkCmdInsertDebugUtilsLabelEXT)vkGetInstanceProcAddr(
      ctx->instance, "vkCmdInsertDebugUtilsLabelEXT");

   if (!options->messenger)
      return;

   PFN_vkCreateDebugUtilsMessengerEXT create =
      (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(ctx->instance,
                                                                "vkCreateDebugUtilsMessengerEXT");
   const VkDebugUtilsMessengerCreateInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_VERBOSE_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
      .pfnUserCallback = options->messenger,
      .pUserData = options->messenger_data,
   };
   VKH_CHECK(create(ctx->instance, &info, NULL, &ctx->messenger));
}

static void
pick_physical_device(struct vkh_context *ctx)
{
   uint32_t count = 1;
   VKH_CHECK(vkEnumeratePhysicalDevices(ctx->instance, &count, &ctx->physical_device));
   if (count == 0)
      vkh_die("no Vulkan device");

   vkGetPhysicalDeviceProperties(ctx->physical_device, &ctx->properties);
   vkGetPhysicalDeviceMemoryProperties(ctx->physical_device, &ctx->memory);
   if (ctx->properties.apiVersion < VK_API_VERSION_1_3)
      vkh_skip("%s has no Vulkan 1.3", ctx->properties.deviceName);

   VKH_CHECK(vkEnumerateDeviceExtensionProperties(ctx->physical_device, NULL, &ctx->extension_count,
                                                  NULL));
   ctx->extensions = xcalloc(ctx->extension_count, sizeof(*ctx->extensions));
   VKH_CHECK(vkEnumerateDeviceExtensionProperties(ctx->physical_device, NULL, &ctx->extension_count,
                                                  ctx->extensions));
}

static uint32_t
pick_queue_family(VkPhysicalDevice physical_device, bool compute_queue)
{
   const VkQueueFlags wanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
   VkQueueFamilyProperties families[16];
   uint32_t count = VKH_COUNT(families);

   vkGetPhysicalDeviceQueueFamilyProperties(physical_device, &count, families);
   for (uint32_t i = 0; i < count && compute_queue; i++) {
      if ((families[i].queueFlags & wanted) == VK_QUEUE_COMPUTE_BIT)
         return i;
   }
   for (uint32_t i = 0; i < count; i++) {
      if ((families[i].queueFlags & wanted) == wanted)
         return i;
   }
   vkh_die("no queue with graphics and compute");
}

static void
query_features(struct vkh_context *ctx)
{
   struct vkh_features *features = &ctx->features;

   *features = (struct vkh_features){
      .core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
      .v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
      .v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
   };
   features->core.pNext = &features->v11;
   features->v11.pNext = &features->v12;
   features->v12.pNext = &features->v13;
   vkGetPhysicalDeviceFeatures2(ctx->physical_device, &features->core);
}

struct vkh_context *
vkh_instance_create(const struct vkh_options *options)
{
   static const struct vkh_options defaults;
   if (!options)
      options = &defaults;

   struct vkh_context *ctx = xcalloc(1, sizeof(*ctx));
   ctx->has_debug_utils = instance_has_extension(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
   if (options->messenger && !ctx->has_debug_utils)
      vkh_skip("no " VK_EXT_DEBUG_UTILS_EXTENSION_NAME);

   const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
   const VkApplicationInfo application = {
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
      .pApplicationName = options->application,
      .apiVersion = VK_API_VERSION_1_3,
   };
   const VkInstanceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
      .pApplicationInfo = &application,
      .enabledExtensionCount = ctx->has_debug_utils ? 1 : 0,
      .ppEnabledExtensionNames = extensions,
   };
   VKH_CHECK(vkCreateInstance(&info, NULL, &ctx->instance));
   if (ctx->has_debug_utils)
      load_debug_utils(ctx, options);

   pick_physical_device(ctx);
   return ctx;
}

static void
create_pools(struct vkh_context *ctx)
{
   const VkCommandPoolCreateInfo command_pool = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
      .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
      .queueFamilyIndex = ctx->queue_family,
   };
   VKH_CHECK(vkCreateCommandPool(ctx->device, &command_pool, NULL, &ctx->command_pool));

   /* Generous: what a type does not use costs nothing on the drivers we run. */
   static const VkDescriptorType types[] = {
      VK_DESCRIPTOR_TYPE_SAMPLER,
      VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
      VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
      VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
      VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
      VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER,
      VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
      VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
      VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
      VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
      VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT,
      VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK,
      VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR,
   };
   VkDescriptorPoolSize sizes[VKH_COUNT(types)];
   uint32_t size_count = 0;
   for (uint32_t i = 0; i < VKH_COUNT(types); i++) {
      if (types[i] == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK &&
          !ctx->features.v13.inlineUniformBlock)
         continue;
      if (types[i] == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR &&
          !vkh_has_extension(ctx, VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME))
         continue;
      sizes[size_count++] = (VkDescriptorPoolSize){
         .type = types[i],
         .descriptorCount = 16384,
      };
   }
   const VkDescriptorPoolInlineUniformBlockCreateInfo inline_blocks = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO,
      .maxInlineUniformBlockBindings = 1024,
   };
   const VkDescriptorPoolCreateInfo descriptor_pool = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .pNext = ctx->features.v13.inlineUniformBlock ? &inline_blocks : NULL,
      .flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT |
               VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT,
      .maxSets = 4096,
      .poolSizeCount = size_count,
      .pPoolSizes = sizes,
   };
   VKH_CHECK(vkCreateDescriptorPool(ctx->device, &descriptor_pool, NULL, &ctx->descriptor_pool));
}

void
vkh_device_create(struct vkh_context *ctx, const struct vkh_options *options)
{
   static const struct vkh_options defaults;
   if (!options)
      options = &defaults;

   for (uint32_t i = 0; i < options->extension_count; i++) {
      if (!vkh_has_extension(ctx, options->extensions[i]))
         vkh_skip("%s has no %s", ctx->properties.deviceName, options->extensions[i]);
   }

   query_features(ctx);
   ctx->features.core.features.robustBufferAccess = options->robust_buffer_access;
   ctx->features.v13.robustImageAccess = VK_FALSE;
   if (options->tune_features)
      options->tune_features(&ctx->features, options->tune_data);
   ctx->features.v13.pNext = (void *)options->features_next;

   ctx->queue_family = pick_queue_family(ctx->physical_device, options->compute_queue);
   ctx->buffer_memory = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                        (options->device_memory ? VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT : 0);
   const float priority = 1.0f;
   const VkDeviceQueueCreateInfo queue = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
      .queueFamilyIndex = ctx->queue_family,
      .queueCount = 1,
      .pQueuePriorities = &priority,
   };
   const VkDeviceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
      .pNext = &ctx->features.core,
      .queueCreateInfoCount = 1,
      .pQueueCreateInfos = &queue,
      .enabledExtensionCount = options->extension_count,
      .ppEnabledExtensionNames = options->extensions,
   };
   VKH_CHECK(vkCreateDevice(ctx->physical_device, &info, NULL, &ctx->device));
   vkGetDeviceQueue(ctx->device, ctx->queue_family, 0, &ctx->queue);

   /* The chain belongs to the caller and may be gone after this. */
   ctx->features.v13.pNext = NULL;
   create_pools(ctx);
}

struct vkh_context *
vkh_context_create(const struct vkh_options *options)
{
   struct vkh_context *ctx = vkh_instance_create(options);
   vkh_device_create(ctx, options);
   return ctx;
}

void
vkh_context_destroy(struct vkh_context *ctx)
{
   if (ctx->device) {
      VKH_CHECK(vkDeviceWaitIdle(ctx->device));
      vkDestroyDescriptorPool(ctx->device, ctx->descriptor_pool, NULL);
      vkDestroyCommandPool(ctx->device, ctx->command_pool, NULL);
      vkDestroyDevice(ctx->device, NULL);
   }
   if (ctx->messenger) {
      PFN_vkDestroyDebugUtilsMessengerEXT destroy =
         (PFN_vkDestroyDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
            ctx->instance, "vkDestroyDebugUtilsMessengerEXT");
      destroy(ctx->instance, ctx->messenger, NULL);
   }
   vkDestroyInstance(ctx->instance, NULL);
   free(ctx->extensions);
   free(ctx);
}

bool
vkh_has_extension(const struct vkh_context *ctx, const char *name)
{
   for (uint32_t i = 0; i < ctx->extension_count; i++) {
      if (strcmp(ctx->extensions[i].extensionName, name) == 0)
         return true;
   }
   return false;
}

PFN_vkVoidFunction
vkh_proc(const struct vkh_context *ctx, const char *name)
{
   PFN_vkVoidFunction proc = vkGetDeviceProcAddr(ctx->device, name);
   if (!proc)
      vkh_die("the device has no %s", name);
   return proc;
}

/* --- Buffers -------------------------------------------------------------- */

uint32_t
vkh_memory_type(const struct vkh_context *ctx, uint32_t type_bits, VkMemoryPropertyFlags flags)
{
   for (uint32_t i = 0; i < ctx->memory.memoryTypeCount; i++) {
      if ((type_bits & (1u << i)) && (ctx->memory.memoryTypes[i].propertyFlags & flags) == flags)
         return i;
   }
   vkh_die("no memory type of 0x%x has the flags 0x%x", type_bits, flags);
}

static VkDeviceMemory
allocate(struct vkh_context *ctx, const VkMemoryRequirements *requirements,
         VkMemoryPropertyFlags flags, bool address)
{
   const VkMemoryAllocateFlagsInfo flags_info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
      .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
   };
   const VkMemoryAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = address ? &flags_info : NULL,
      .allocationSize = requirements->size,
      .memoryTypeIndex = vkh_memory_type(ctx, requirements->memoryTypeBits, flags),
   };
   VkDeviceMemory memory;
   VKH_CHECK(vkAllocateMemory(ctx->device, &info, NULL, &memory));
   return memory;
}

struct vkh_buffer
vkh_buffer_create_usage(struct vkh_context *ctx, VkDeviceSize size, VkBufferUsageFlags extra_usage,
                        const char *name)
{
   struct vkh_buffer buffer = {.size = size};
   const bool address = ctx->features.v12.bufferDeviceAddress;

   const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = size,
      .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
               VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |
               VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
               VK_BUFFER_USAGE_INDEX_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
               VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
               (address ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0) | extra_usage,
      .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
   };
   VKH_CHECK(vkCreateBuffer(ctx->device, &info, NULL, &buffer.buffer));
   vkh_name(ctx, VK_OBJECT_TYPE_BUFFER, (uint64_t)buffer.buffer, name);

   VkMemoryRequirements requirements;
   vkGetBufferMemoryRequirements(ctx->device, buffer.buffer, &requirements);
   buffer.memory = allocate(ctx, &requirements, ctx->buffer_memory, address);
   VKH_CHECK(vkBindBufferMemory(ctx->device, buffer.buffer, buffer.memory, 0));
   VKH_CHECK(vkMapMemory(ctx->device, buffer.memory, 0, VK_WHOLE_SIZE, 0, &buffer.map));
   memset(buffer.map, 0, size);

   if (address) {
      const VkBufferDeviceAddressInfo address_info = {
         .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
         .buffer = buffer.buffer,
      };
      buffer.address = vkGetBufferDeviceAddress(ctx->device, &address_info);
   }
   return buffer;
}

struct vkh_buffer
vkh_buffer_create(struct vkh_context *ctx, VkDeviceSize size, const char *name)
{
   return vkh_buffer_create_usage(ctx, size, 0, name);
}

void
vkh_buffer_destroy(struct vkh_context *ctx, struct vkh_buffer *buffer)
{
   vkDestroyBuffer(ctx->device, buffer->buffer, NULL);
   vkFreeMemory(ctx->device, buffer->memory, NULL);
   *buffer = (struct vkh_buffer){0};
}

/* --- Images and rendering ------------------------------------------------- */

static VkImageAspectFlags
format_aspect(VkFormat format)
{
   switch (format) {
   case VK_FORMAT_D16_UNORM:
   case VK_FORMAT_D32_SFLOAT:
   case VK_FORMAT_X8_D24_UNORM_PACK32:
      return VK_IMAGE_ASPECT_DEPTH_BIT;
   default:
      return VK_IMAGE_ASPECT_COLOR_BIT;
   }
}

static unsigned
format_bytes(VkFormat format)
{
   switch (format) {
   case VK_FORMAT_R8_UNORM:
   case VK_FORMAT_R8_UINT:
      return 1;
   case VK_FORMAT_D16_UNORM:
   case VK_FORMAT_R16_UINT:
      return 2;
   case VK_FORMAT_R8G8B8A8_UNORM:
   case VK_FORMAT_R8G8B8A8_UINT:
   case VK_FORMAT_B8G8R8A8_UNORM:
   case VK_FORMAT_R32_UINT:
   case VK_FORMAT_R32_SINT:
   case VK_FORMAT_R32_SFLOAT:
   case VK_FORMAT_D32_SFLOAT:
   case VK_FORMAT_X8_D24_UNORM_PACK32:
      return 4;
   case VK_FORMAT_R32G32_UINT:
   case VK_FORMAT_R16G16B16A16_SFLOAT:
      return 8;
   case VK_FORMAT_R32G32B32A32_UINT:
   case VK_FORMAT_R32G32B32A32_SFLOAT:
      return 16;
   default:
      vkh_die("the size of VkFormat %d is not known here", format);
   }
}

static VkImageUsageFlags
format_usage(struct vkh_context *ctx, VkFormat format)
{
   VkFormatProperties properties;
   vkGetPhysicalDeviceFormatProperties(ctx->physical_device, format, &properties);
   const VkFormatFeatureFlags features = properties.optimalTilingFeatures;

   VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
   if (features & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT)
      usage |= VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
   if (features & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT)
      usage |= VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
   if (features & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT)
      usage |= VK_IMAGE_USAGE_SAMPLED_BIT;
   if (features & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT)
      usage |= VK_IMAGE_USAGE_STORAGE_BIT;
   return usage;
}

static void
image_to_general(struct vkh_context *ctx, const struct vkh_image *image)
{
   VkCommandBuffer cmd = vkh_begin(ctx);
   const VkImageMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
      .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
      .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
      .newLayout = VK_IMAGE_LAYOUT_GENERAL,
      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .image = image->image,
      .subresourceRange = {image->aspect, 0, 1, 0, 1},
   };
   vkCmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                        0, 0, NULL, 0, NULL, 1, &barrier);
   vkh_submit_wait(ctx, cmd);
}

struct vkh_image
vkh_image_create(struct vkh_context *ctx, VkFormat format, uint32_t width, uint32_t height,
                 const char *name)
{
   struct vkh_image image = {
      .format = format,
      .aspect = format_aspect(format),
      .width = width,
      .height = height,
   };

   const VkImageCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .imageType = VK_IMAGE_TYPE_2D,
      .format = format,
      .extent = {width, height, 1},
      .mipLevels = 1,
      .arrayLayers = 1,
      .samples = VK_SAMPLE_COUNT_1_BIT,
      .tiling = VK_IMAGE_TILING_OPTIMAL,
      .usage = format_usage(ctx, format),
      .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
   };
   VKH_CHECK(vkCreateImage(ctx->device, &info, NULL, &image.image));
   vkh_name(ctx, VK_OBJECT_TYPE_IMAGE, (uint64_t)image.image, name);

   VkMemoryRequirements requirements;
   vkGetImageMemoryRequirements(ctx->device, image.image, &requirements);
   image.memory = allocate(ctx, &requirements, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, false);
   VKH_CHECK(vkBindImageMemory(ctx->device, image.image, image.memory, 0));

   const VkImageViewCreateInfo view = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
      .image = image.image,
      .viewType = VK_IMAGE_VIEW_TYPE_2D,
      .format = format,
      .subresourceRange = {image.aspect, 0, 1, 0, 1},
   };
   VKH_CHECK(vkCreateImageView(ctx->device, &view, NULL, &image.view));
   image_to_general(ctx, &image);
   return image;
}

void
vkh_image_destroy(struct vkh_context *ctx, struct vkh_image *image)
{
   vkDestroyImageView(ctx->device, image->view, NULL);
   vkDestroyImage(ctx->device, image->image, NULL);
   vkFreeMemory(ctx->device, image->memory, NULL);
   *image = (struct vkh_image){0};
}

size_t
vkh_image_bytes(const struct vkh_image *image)
{
   return (size_t)image->width * image->height * format_bytes(image->format);
}

void
vkh_image_read(struct vkh_context *ctx, const struct vkh_image *image, void *pixels)
{
   const size_t bytes = vkh_image_bytes(image);
   struct vkh_buffer staging = vkh_buffer_create(ctx, bytes, NULL);
   VkCommandBuffer cmd = vkh_begin(ctx);
   const VkBufferImageCopy region = {
      .imageSubresource = {image->aspect, 0, 0, 1},
      .imageExtent = {image->width, image->height, 1},
   };

   vkh_barrier(cmd);
   vkCmdCopyImageToBuffer(cmd, image->image, VK_IMAGE_LAYOUT_GENERAL, staging.buffer, 1, &region);
   vkh_barrier(cmd);
   vkh_submit_wait(ctx, cmd);
   memcpy(pixels, staging.map, bytes);
   vkh_buffer_destroy(ctx, &staging);
}

void
vkh_set_viewport(VkCommandBuffer cmd, uint32_t width, uint32_t height)
{
   const VkViewport viewport = {
      .width = width,
      .height = height,
      .maxDepth = 1.0f,
   };
   const VkRect2D scissor = {.extent = {width, height}};

   /* The _with_count form suits pipelines and shader objects both only when
    * pipelines declare it, which ours do.
    */
   vkCmdSetViewportWithCount(cmd, 1, &viewport);
   vkCmdSetScissorWithCount(cmd, 1, &scissor);
}

void
vkh_begin_rendering(VkCommandBuffer cmd, const struct vkh_target *target)
{
   const struct vkh_image *sized = target->color ? target->color : target->depth;
   const uint32_t width = target->width || !sized ? target->width : sized->width;
   const uint32_t height = target->height || !sized ? target->height : sized->height;
   const VkAttachmentLoadOp load_op =
      target->load ? VK_ATTACHMENT_LOAD_OP_LOAD : VK_ATTACHMENT_LOAD_OP_CLEAR;

   const VkRenderingAttachmentInfo color = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
      .imageView = target->color ? target->color->view : VK_NULL_HANDLE,
      .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
      .loadOp = load_op,
      .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
      .clearValue.color = target->clear_color,
   };
   const VkRenderingAttachmentInfo depth = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
      .imageView = target->depth ? target->depth->view : VK_NULL_HANDLE,
      .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
      .loadOp = load_op,
      .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
      .clearValue.depthStencil.depth = target->clear_depth,
   };
   const VkRenderingInfo info = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
      .flags = target->flags,
      .renderArea.extent = {width, height},
      .layerCount = 1,
      .colorAttachmentCount = target->color ? 1 : 0,
      .pColorAttachments = &color,
      .pDepthAttachment = target->depth ? &depth : NULL,
   };

   vkCmdBeginRendering(cmd, &info);
   /* With secondary command buffers the state is theirs to set. */
   if (!(target->flags & VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT))
      vkh_set_viewport(cmd, width, height);
}

/* --- Shaders and pipelines ------------------------------------------------ */

void *
vkh_read_file(const char *path, size_t *size)
{
   FILE *file = fopen(path, "rb");
   if (!file || fseek(file, 0, SEEK_END) != 0)
      vkh_die("cannot read %s", path);
   const long length = ftell(file);
   rewind(file);

   char *data = xcalloc((size_t)length + 1, 1);
   if (length < 0 || fread(data, 1, (size_t)length, file) != (size_t)length)
      vkh_die("cannot read %s", path);
   fclose(file);
   if (size)
      *size = (size_t)length;
   return data;
}

VkShaderModule
vkh_shader_module(struct vkh_context *ctx, const void *code, size_t size, const char *name)
{
   const VkShaderModuleCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = size,
      .pCode = code,
   };
   VkShaderModule module;
   VKH_CHECK(vkCreateShaderModule(ctx->device, &info, NULL, &module));
   vkh_name(ctx, VK_OBJECT_TYPE_SHADER_MODULE, (uint64_t)module, name);
   return module;
}

VkShaderModule
vkh_shader_module_file(struct vkh_context *ctx, const char *path, const char *name)
{
   size_t size;
   void *code = vkh_read_file(path, &size);
   VkShaderModule module = vkh_shader_module(ctx, code, size, name);
   free(code);
   return module;
}

VkPipeline
vkh_compute_pipeline(struct vkh_context *ctx, const struct vkh_compute_desc *desc)
{
   const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .pNext = desc->next,
      .flags = desc->flags,
      .stage =
         {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .pNext = desc->stage_next,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = desc->module,
            .pName = desc->entry ? desc->entry : "main",
            .pSpecializationInfo = desc->specialization,
         },
      .layout = desc->layout,
   };
   VkPipeline pipeline;
   VKH_CHECK(vkCreateComputePipelines(ctx->device, desc->cache, 1, &info, NULL, &pipeline));
   vkh_name(ctx, VK_OBJECT_TYPE_PIPELINE, (uint64_t)pipeline, desc->name);
   return pipeline;
}

/* All that a VkGraphicsPipelineCreateInfo points to. */
struct graphics_state {
   VkPipelineShaderStageCreateInfo stages[VKH_MAX_STAGES];
   VkPipelineVertexInputStateCreateInfo vertex_input;
   VkPipelineInputAssemblyStateCreateInfo input_assembly;
   VkPipelineTessellationStateCreateInfo tessellation;
   VkPipelineViewportStateCreateInfo viewport;
   VkPipelineRasterizationStateCreateInfo rasterization;
   VkPipelineMultisampleStateCreateInfo multisample;
   VkPipelineDepthStencilStateCreateInfo depth_stencil;
   VkPipelineColorBlendAttachmentState blend;
   VkPipelineColorBlendStateCreateInfo color_blend;
   VkPipelineDynamicStateCreateInfo dynamic;
   VkPipelineRenderingCreateInfo rendering;
   VkFormat color_format;
};

static void
fill_stages(struct graphics_state *state, const struct vkh_graphics_desc *desc)
{
   for (uint32_t i = 0; i < desc->stage_count; i++) {
      const struct vkh_stage *stage = &desc->stages[i];

      state->stages[i] = (VkPipelineShaderStageCreateInfo){
         .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .pNext = stage->next,
         .stage = stage->stage,
         .module = stage->module,
         .pName = stage->entry ? stage->entry : "main",
         .pSpecializationInfo = stage->specialization,
      };
   }
}

static void
fill_fixed_function(struct graphics_state *state, const struct vkh_graphics_desc *desc)
{
   state->vertex_input = (VkPipelineVertexInputStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
   };
   if (desc->vertex_input)
      state->vertex_input = *desc->vertex_input;
   state->input_assembly = (VkPipelineInputAssemblyStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
      .topology = desc->topology_set || desc->topology ? desc->topology
                                                       : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
   };
   state->tessellation = (VkPipelineTessellationStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_STATE_CREATE_INFO,
      .patchControlPoints = desc->patch_control_points,
   };
   state->viewport = (VkPipelineViewportStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
   };
   state->rasterization = (VkPipelineRasterizationStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
      .rasterizerDiscardEnable = desc->rasterizer_discard,
      .polygonMode = VK_POLYGON_MODE_FILL,
      .cullMode = VK_CULL_MODE_NONE,
      .frontFace = VK_FRONT_FACE_COUNTER_CLOCKWISE,
      .lineWidth = 1.0f,
   };
}

static void
fill_output(struct graphics_state *state, const struct vkh_graphics_desc *desc)
{
   static const VkDynamicState dynamic_states[] = {
      VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT,
      VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT,
   };

   state->multisample = (VkPipelineMultisampleStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
      .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
   };
   state->depth_stencil = (VkPipelineDepthStencilStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
      .depthTestEnable = desc->depth_test,
      .depthWriteEnable = desc->depth_write,
      .depthCompareOp = desc->depth_compare,
      .maxDepthBounds = 1.0f,
   };
   state->blend = (VkPipelineColorBlendAttachmentState){
      .colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT |
                        VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT,
   };
   if (desc->blend)
      state->blend = *desc->blend;
   const uint32_t color_count = desc->color_format ? 1 : 0;
   state->color_blend = (VkPipelineColorBlendStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
      .attachmentCount = color_count,
      .pAttachments = &state->blend,
   };
   state->dynamic = (VkPipelineDynamicStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
      .dynamicStateCount = VKH_COUNT(dynamic_states),
      .pDynamicStates = dynamic_states,
   };
   state->color_format = desc->color_format;
   state->rendering = (VkPipelineRenderingCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
      .pNext = desc->next,
      .colorAttachmentCount = color_count,
      .pColorAttachmentFormats = &state->color_format,
      .depthAttachmentFormat = desc->depth_format,
   };
}

static bool
has_stage(const struct vkh_graphics_desc *desc, VkShaderStageFlagBits stage)
{
   for (uint32_t i = 0; i < desc->stage_count; i++) {
      if (desc->stages[i].stage == stage)
         return true;
   }
   return false;
}

static VkGraphicsPipelineCreateInfo
fill_graphics(struct graphics_state *state, const struct vkh_graphics_desc *desc)
{
   memset(state, 0, sizeof(*state));
   fill_stages(state, desc);
   fill_fixed_function(state, desc);
   fill_output(state, desc);

   const bool mesh = has_stage(desc, VK_SHADER_STAGE_MESH_BIT_EXT);
   const bool tessellated = has_stage(desc, VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT);
   return (VkGraphicsPipelineCreateInfo){
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
      .pNext = desc->render_pass ? desc->next : &state->rendering,
      .flags = desc->flags,
      .stageCount = desc->stage_count,
      .pStages = state->stages,
      .pVertexInputState = mesh ? NULL : &state->vertex_input,
      .pInputAssemblyState = mesh ? NULL : &state->input_assembly,
      .pTessellationState = tessellated ? &state->tessellation : NULL,
      .pViewportState = &state->viewport,
      .pRasterizationState = &state->rasterization,
      .pMultisampleState = &state->multisample,
      .pDepthStencilState = &state->depth_stencil,
      .pColorBlendState = &state->color_blend,
      .pDynamicState = &state->dynamic,
      .layout = desc->layout,
      .renderPass = desc->render_pass,
      .subpass = desc->subpass,
   };
}

static VkPipeline
create_graphics(struct vkh_context *ctx, const VkGraphicsPipelineCreateInfo *info,
                VkPipelineCache cache, const char *name)
{
   VkPipeline pipeline;
   VKH_CHECK(vkCreateGraphicsPipelines(ctx->device, cache, 1, info, NULL, &pipeline));
   vkh_name(ctx, VK_OBJECT_TYPE_PIPELINE, (uint64_t)pipeline, name);
   return pipeline;
}

VkPipeline
vkh_graphics_pipeline(struct vkh_context *ctx, const struct vkh_graphics_desc *desc)
{
   struct graphics_state state;
   const VkGraphicsPipelineCreateInfo info = fill_graphics(&state, desc);
   return create_graphics(ctx, &info, desc->cache, desc->name);
}

/* Creates the part `which` of the pipeline `full`. State and stages that
 * belong to another part are ignored by the driver, but stages have to go to
 * the part that they are of.
 */
static VkPipeline
create_library_part(struct vkh_context *ctx, const VkGraphicsPipelineCreateInfo *full,
                    const struct vkh_graphics_desc *desc,
                    VkGraphicsPipelineLibraryFlagBitsEXT which)
{
   const bool fragment = which == VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
   const bool geometry = which == VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
   VkPipelineShaderStageCreateInfo stages[VKH_MAX_STAGES];
   uint32_t stage_count = 0;
   for (uint32_t i = 0; i < full->stageCount; i++) {
      const bool is_fragment = full->pStages[i].stage == VK_SHADER_STAGE_FRAGMENT_BIT;
      if (is_fragment ? fragment : geometry)
         stages[stage_count++] = full->pStages[i];
   }

   const VkGraphicsPipelineLibraryCreateInfoEXT library = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
      .pNext = (void *)full->pNext,
      .flags = which,
   };
   VkGraphicsPipelineCreateInfo part = *full;
   part.pNext = &library;
   part.flags = desc->flags | VK_PIPELINE_CREATE_LIBRARY_BIT_KHR |
                VK_PIPELINE_CREATE_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT;
   part.stageCount = stage_count;
   part.pStages = stages;
   if (!geometry)
      part.pDynamicState = NULL;
   return create_graphics(ctx, &part, desc->cache, NULL);
}

struct vkh_library_pipeline
vkh_graphics_library(struct vkh_context *ctx, const struct vkh_graphics_desc *desc,
                     VkPipelineCreateFlags link_flags)
{
   static const VkGraphicsPipelineLibraryFlagBitsEXT parts[] = {
      VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT,
      VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
      VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT,
      VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT,
   };
   struct vkh_library_pipeline result = {0};
   struct graphics_state state;
   const VkGraphicsPipelineCreateInfo full = fill_graphics(&state, desc);
   const bool mesh = has_stage(desc, VK_SHADER_STAGE_MESH_BIT_EXT);

   VkPipeline linked[VKH_COUNT(parts)];
   uint32_t count = 0;
   for (uint32_t i = mesh ? 1 : 0; i < VKH_COUNT(parts); i++) {
      result.parts[i] = create_library_part(ctx, &full, desc, parts[i]);
      linked[count++] = result.parts[i];
   }

   const VkPipelineLibraryCreateInfoKHR libraries = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
      .libraryCount = count,
      .pLibraries = linked,
   };
   const VkGraphicsPipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
      .pNext = &libraries,
      .flags = desc->flags | link_flags,
      .layout = desc->layout,
   };
   result.pipeline = create_graphics(ctx, &info, desc->cache, desc->name);
   return result;
}

void
vkh_library_destroy(struct vkh_context *ctx, struct vkh_library_pipeline *library)
{
   vkDestroyPipeline(ctx->device, library->pipeline, NULL);
   for (uint32_t i = 0; i < VKH_COUNT(library->parts); i++)
      vkDestroyPipeline(ctx->device, library->parts[i], NULL);
   *library = (struct vkh_library_pipeline){0};
}

/* --- Descriptors ---------------------------------------------------------- */

VkDescriptorSetLayout
vkh_set_layout(struct vkh_context *ctx, const VkDescriptorSetLayoutBinding *bindings,
               uint32_t count)
{
   const VkDescriptorSetLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = count,
      .pBindings = bindings,
   };
   VkDescriptorSetLayout layout;
   VKH_CHECK(vkCreateDescriptorSetLayout(ctx->device, &info, NULL, &layout));
   return layout;
}

VkDescriptorSetLayout
vkh_set_layout_simple(struct vkh_context *ctx, VkDescriptorType type, uint32_t count)
{
   VkDescriptorSetLayoutBinding *bindings = xcalloc(count, sizeof(*bindings));
   for (uint32_t i = 0; i < count; i++) {
      bindings[i] = (VkDescriptorSetLayoutBinding){
         .binding = i,
         .descriptorType = type,
         .descriptorCount = 1,
         .stageFlags = VK_SHADER_STAGE_ALL,
      };
   }
   VkDescriptorSetLayout layout = vkh_set_layout(ctx, bindings, count);
   free(bindings);
   return layout;
}

VkPipelineLayout
vkh_pipeline_layout(struct vkh_context *ctx, const VkDescriptorSetLayout *layouts, uint32_t count,
                    uint32_t push_size)
{
   const VkPushConstantRange range = {
      .stageFlags = VK_SHADER_STAGE_ALL,
      .size = push_size,
   };
   const VkPipelineLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
      .setLayoutCount = count,
      .pSetLayouts = layouts,
      .pushConstantRangeCount = push_size ? 1 : 0,
      .pPushConstantRanges = &range,
   };
   VkPipelineLayout layout;
   VKH_CHECK(vkCreatePipelineLayout(ctx->device, &info, NULL, &layout));
   return layout;
}

VkDescriptorSet
vkh_set_allocate(struct vkh_context *ctx, VkDescriptorSetLayout layout)
{
   const VkDescriptorSetAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .descriptorPool = ctx->descriptor_pool,
      .descriptorSetCount = 1,
      .pSetLayouts = &layout,
   };
   VkDescriptorSet set;
   VKH_CHECK(vkAllocateDescriptorSets(ctx->device, &info, &set));
   return set;
}

void
vkh_set_write_buffer(struct vkh_context *ctx, VkDescriptorSet set, uint32_t binding,
                     uint32_t element, VkDescriptorType type, VkBuffer buffer, VkDeviceSize offset,
                     VkDeviceSize range)
{
   const VkDescriptorBufferInfo info = {buffer, offset, range};
   const VkWriteDescriptorSet write = {
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
      .dstSet = set,
      .dstBinding = binding,
      .dstArrayElement = element,
      .descriptorCount = 1,
      .descriptorType = type,
      .pBufferInfo = &info,
   };
   vkUpdateDescriptorSets(ctx->device, 1, &write, 0, NULL);
}

void
vkh_set_write_image(struct vkh_context *ctx, VkDescriptorSet set, uint32_t binding,
                    uint32_t element, VkDescriptorType type, VkImageView view, VkSampler sampler)
{
   const VkDescriptorImageInfo info = {
      .sampler = sampler,
      .imageView = view,
      .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
   };
   const VkWriteDescriptorSet write = {
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
      .dstSet = set,
      .dstBinding = binding,
      .dstArrayElement = element,
      .descriptorCount = 1,
      .descriptorType = type,
      .pImageInfo = &info,
   };
   vkUpdateDescriptorSets(ctx->device, 1, &write, 0, NULL);
}

/* --- Command buffers ------------------------------------------------------ */

VkCommandBuffer
vkh_begin(struct vkh_context *ctx)
{
   const VkCommandBufferAllocateInfo allocate_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = ctx->command_pool,
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      .commandBufferCount = 1,
   };
   VkCommandBuffer cmd;
   VKH_CHECK(vkAllocateCommandBuffers(ctx->device, &allocate_info, &cmd));

   const VkCommandBufferBeginInfo begin = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
   };
   VKH_CHECK(vkBeginCommandBuffer(cmd, &begin));
   return cmd;
}

void
vkh_submit(struct vkh_context *ctx, VkCommandBuffer cmd, VkFence fence)
{
   const VkSubmitInfo submit = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
      .commandBufferCount = 1,
      .pCommandBuffers = &cmd,
   };
   VKH_CHECK(vkEndCommandBuffer(cmd));
   VKH_CHECK(vkQueueSubmit(ctx->queue, 1, &submit, fence));
}

void
vkh_submit_wait(struct vkh_context *ctx, VkCommandBuffer cmd)
{
   vkh_submit(ctx, cmd, VK_NULL_HANDLE);
   VKH_CHECK(vkQueueWaitIdle(ctx->queue));
   vkFreeCommandBuffers(ctx->device, ctx->command_pool, 1, &cmd);
}

void
vkh_barrier(VkCommandBuffer cmd)
{
   const VkMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
   };
   vkCmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                        0, 1, &barrier, 0, NULL, 0, NULL);
}

/* --- Debug names and labels ----------------------------------------------- */

void
vkh_name(struct vkh_context *ctx, VkObjectType type, uint64_t handle, const char *name)
{
   if (!name || !ctx->has_debug_utils)
      return;

   const VkDebugUtilsObjectNameInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
      .objectType = type,
      .objectHandle = handle,
      .pObjectName = name,
   };
   VKH_CHECK(ctx->set_object_name(ctx->device, &info));
}

static VkDebugUtilsLabelEXT
make_label(const char *name)
{
   return (VkDebugUtilsLabelEXT){
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
      .pLabelName = name,
   };
}

void
vkh_label_begin(struct vkh_context *ctx, VkCommandBuffer cmd, const char *name)
{
   const VkDebugUtilsLabelEXT label = make_label(name);
   if (ctx->has_debug_utils)
      ctx->begin_label(cmd, &label);
}

void
vkh_label_end(struct vkh_context *ctx, VkCommandBuffer cmd)
{
   if (ctx->has_debug_utils)
      ctx->end_label(cmd);
}

void
vkh_label_insert(struct vkh_context *ctx, VkCommandBuffer cmd, const char *name)
{
   const VkDebugUtilsLabelEXT label = make_label(name);
   if (ctx->has_debug_utils)
      ctx->insert_label(cmd, &label);
}
