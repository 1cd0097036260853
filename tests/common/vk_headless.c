/* SPDX-License-Identifier: MIT */

/*
 * Errors, instance and device, command buffers, debug names.
 */

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

void *
vkh_calloc(size_t count, size_t size)
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
   VkExtensionProperties *properties = vkh_calloc(count, sizeof(*properties));
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
   ctx->extensions = vkh_calloc(ctx->extension_count, sizeof(*ctx->extensions));
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

/* Another queue than the first one of family `first`: of a family that computes only,
 * else of the same family, which has @more from there on. Returns its index in the family.
 */
static uint32_t
pick_second_queue(const struct vkh_context *ctx, uint32_t first, uint32_t more, uint32_t *family)
{
   VkQueueFamilyProperties families[16];
   uint32_t count = VKH_COUNT(families);

   *family = pick_queue_family(ctx->physical_device, true);
   vkGetPhysicalDeviceQueueFamilyProperties(ctx->physical_device, &count, families);
   uint32_t index = *family == first ? 1 : 0;
   if (families[*family].queueCount < index + more)
      vkh_skip("%s has too few queues", ctx->properties.deviceName);
   return index;
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

   struct vkh_context *ctx = vkh_calloc(1, sizeof(*ctx));
   ctx->has_debug_utils = instance_has_extension(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
   if (options->messenger && !ctx->has_debug_utils)
      vkh_skip("no " VK_EXT_DEBUG_UTILS_EXTENSION_NAME);

   if (options->presents && !instance_has_extension(VK_EXT_HEADLESS_SURFACE_EXTENSION_NAME))
      vkh_skip("no " VK_EXT_HEADLESS_SURFACE_EXTENSION_NAME);

   const char *extensions[3];
   uint32_t extension_count = 0;
   if (ctx->has_debug_utils)
      extensions[extension_count++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
   if (options->presents) {
      extensions[extension_count++] = VK_KHR_SURFACE_EXTENSION_NAME;
      extensions[extension_count++] = VK_EXT_HEADLESS_SURFACE_EXTENSION_NAME;
   }
   const VkApplicationInfo application = {
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
      .pApplicationName = options->application,
      .apiVersion = VK_API_VERSION_1_3,
   };
   const VkInstanceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
      .pApplicationInfo = &application,
      .enabledExtensionCount = extension_count,
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
   for (uint32_t i = 0; i < ctx->queue_count; i++) {
      const VkCommandPoolCreateInfo command_pool = {
         .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
         .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
         .queueFamilyIndex = ctx->queues[i].family,
      };
      VKH_CHECK(
         vkCreateCommandPool(ctx->device, &command_pool, NULL, &ctx->queues[i].command_pool));
   }

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

   /* Some drivers have no memory for such a one. */
   static const VkDescriptorPoolSize dynamic[] = {
      {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 1024},
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, 1024},
   };
   const VkDescriptorPoolCreateInfo dynamic_pool = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT,
      .maxSets = 1024,
      .poolSizeCount = VKH_COUNT(dynamic),
      .pPoolSizes = dynamic,
   };
   VKH_CHECK(vkCreateDescriptorPool(ctx->device, &dynamic_pool, NULL, &ctx->dynamic_pool));
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

   uint32_t second = 0; /* index in its family */
   uint32_t more = options->second_queue ? 1 + options->third_queue : 0;
   ctx->queue_count = 1 + more;
   ctx->queues[0].family = pick_queue_family(ctx->physical_device, options->compute_queue);
   if (more)
      second = pick_second_queue(ctx, ctx->queues[0].family, more, &ctx->queues[1].family);
   ctx->queues[2].family = ctx->queues[1].family;
   ctx->exclusive_buffers = options->exclusive_buffers;
   ctx->buffer_usage = options->buffer_usage;
   ctx->buffer_memory = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                        (options->device_memory ? VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT : 0);
   const float priorities[] = {1.0f, 1.0f, 1.0f};
   const VkDeviceQueueCreateInfo queues[] = {
      {
         .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
         .queueFamilyIndex = ctx->queues[0].family,
         .queueCount = second ? 1 + more : 1,
         .pQueuePriorities = priorities,
      },
      {
         .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
         .queueFamilyIndex = ctx->queues[1].family,
         .queueCount = more,
         .pQueuePriorities = priorities,
      },
   };
   const VkDeviceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
      .pNext = &ctx->features.core,
      .queueCreateInfoCount = more && !second ? 2 : 1,
      .pQueueCreateInfos = queues,
      .enabledExtensionCount = options->extension_count,
      .ppEnabledExtensionNames = options->extensions,
   };
   VKH_CHECK(vkCreateDevice(ctx->physical_device, &info, NULL, &ctx->device));
   for (uint32_t i = 0; i < ctx->queue_count; i++)
      vkGetDeviceQueue(ctx->device, ctx->queues[i].family, i ? second + i - 1 : 0,
                       &ctx->queues[i].queue);

   /* The chain belongs to the caller and may be gone after this. */
   ctx->features.v13.pNext = NULL;
   create_pools(ctx);
   vkh_select_queue(ctx, 0);
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
      vkDestroyDescriptorPool(ctx->device, ctx->dynamic_pool, NULL);
      for (uint32_t i = 0; i < ctx->queue_count; i++)
         vkDestroyCommandPool(ctx->device, ctx->queues[i].command_pool, NULL);
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

void
vkh_select_queue(struct vkh_context *ctx, uint32_t queue)
{
   if (queue >= ctx->queue_count)
      vkh_die("there is no queue %u", queue);
   ctx->queue_family = ctx->queues[queue].family;
   ctx->queue = ctx->queues[queue].queue;
   ctx->command_pool = ctx->queues[queue].command_pool;
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
