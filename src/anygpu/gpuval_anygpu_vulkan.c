/* SPDX-License-Identifier: MIT */

/* The Vulkan device, by the loader that the machine has, and memory on it. */

#include "gpuval_anygpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/bitscan.h"
#include "util/macros.h"
#include "vk_enum_to_str.h"
#include "vk_util.h"

static bool
fail(const char *what, const char *name)
{
   fprintf(stderr, "gpuval: error: anygpu: %s%s%s\n", what, name ? ": " : "", name ? name : "");
   return false;
}

static bool
succeeded(VkResult result, const char *what)
{
   return result == VK_SUCCESS || fail(what, vk_Result_to_str(result));
}

/* Instance and device */

static bool
create_instance(struct gpuval_anygpu_vulkan *vulkan)
{
   vulkan->loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
   if (!vulkan->loader)
      return fail("there is no Vulkan loader", dlerror());
   PFN_vkGetInstanceProcAddr get_proc_addr =
      (PFN_vkGetInstanceProcAddr)dlsym(vulkan->loader, "vkGetInstanceProcAddr");
   PFN_vkCreateInstance create =
      get_proc_addr ? (PFN_vkCreateInstance)get_proc_addr(NULL, "vkCreateInstance") : NULL;
   if (!create)
      return fail("the Vulkan loader has no vkCreateInstance", NULL);

   const VkApplicationInfo application = {
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
      .pApplicationName = "gpuval anygpu",
      .apiVersion = VK_API_VERSION_1_3,
   };
   const VkInstanceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
      .pApplicationInfo = &application,
   };
   if (!succeeded(create(&info, NULL, &vulkan->instance), "no Vulkan instance"))
      return false;
   vk_instance_dispatch_table_load(&vulkan->instance_table, get_proc_addr, vulkan->instance);
   return true;
}

static PFN_vkVoidFunction
get_instance_function(const struct gpuval_anygpu_vulkan *vulkan, const char *name)
{
   return vulkan->instance_table.GetInstanceProcAddr(vulkan->instance, name);
}

#define FUNCTION(vulkan, name) ((PFN_vk##name)get_instance_function(vulkan, "vk" #name))

static bool
choose_physical(struct gpuval_anygpu_vulkan *vulkan, const char *device)
{
   VkPhysicalDevice devices[16];
   uint32_t count = ARRAY_SIZE(devices);

   VkResult result =
      vulkan->instance_table.EnumeratePhysicalDevices(vulkan->instance, &count, devices);
   if (result != VK_INCOMPLETE && !succeeded(result, "no Vulkan device"))
      return false;
   for (uint32_t i = 0; i < count; i++) {
      VkPhysicalDeviceDriverProperties driver = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
      };
      VkPhysicalDeviceProperties2 properties = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
         .pNext = &driver,
      };
      FUNCTION(vulkan, GetPhysicalDeviceProperties2)(devices[i], &properties);
      if (device && !strstr(properties.properties.deviceName, device))
         continue;
      vulkan->physical = devices[i];
      vulkan->properties = properties.properties;
      snprintf(vulkan->driver, sizeof(vulkan->driver), "%s %s", driver.driverName,
               driver.driverInfo);
      return true;
   }
   return fail("no Vulkan device", device);
}

static bool
choose_queue(struct gpuval_anygpu_vulkan *vulkan)
{
   VkQueueFamilyProperties families[16];
   uint32_t count = ARRAY_SIZE(families);

   FUNCTION(vulkan, GetPhysicalDeviceQueueFamilyProperties)(vulkan->physical, &count, families);
   for (uint32_t i = 0; i < count; i++) {
      if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) {
         vulkan->queue_family = i;
         vulkan->timestamp_bits = families[i].timestampValidBits;
         return true;
      }
   }
   return fail("the device has no queue for compute shaders", vulkan->properties.deviceName);
}

static bool
has_extension(const struct gpuval_anygpu_vulkan *vulkan, const char *name)
{
   uint32_t count = 0;
   bool found = false;

   FUNCTION(vulkan, EnumerateDeviceExtensionProperties)(vulkan->physical, NULL, &count, NULL);
   VkExtensionProperties *extensions = calloc(MAX2(count, 1), sizeof(*extensions));
   FUNCTION(vulkan, EnumerateDeviceExtensionProperties)
   (vulkan->physical, NULL, &count, extensions);
   for (uint32_t i = 0; i < count; i++)
      found |= !strcmp(extensions[i].extensionName, name);
   free(extensions);
   return found;
}

struct features {
   VkPhysicalDeviceFeatures2 core;
   VkPhysicalDeviceVulkan11Features v11;
   VkPhysicalDeviceVulkan12Features v12;
   VkPhysicalDeviceVulkan13Features v13;
   VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float;
   VkPhysicalDeviceShaderClockFeaturesKHR clock;
   VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR explicit_shared;
   VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable;
};

struct extension {
   const char *name;
   size_t offset; /* of its features */
};

static const struct extension optional[] = {
   {VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, offsetof(struct features, atomic_float)},
   {VK_KHR_SHADER_CLOCK_EXTENSION_NAME, offsetof(struct features, clock)},
   {VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME,
    offsetof(struct features, explicit_shared)},
   {VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME, offsetof(struct features, executable)},
   {VK_EXT_SHADER_SUBGROUP_BALLOT_EXTENSION_NAME, 0},
};

/* What code of checks uses, whatever the shader is */
static bool
has_required_features(const struct gpuval_anygpu_vulkan *vulkan, const struct features *features)
{
   const struct {
      const char *name;
      VkBool32 has;
   } required[] = {
      {"bufferDeviceAddress", features->v12.bufferDeviceAddress},
      {"shaderInt64", features->core.features.shaderInt64},
      {"shaderBufferInt64Atomics", features->v12.shaderBufferInt64Atomics},
      {"vulkanMemoryModel", features->v12.vulkanMemoryModel},
      {"vulkanMemoryModelDeviceScope", features->v12.vulkanMemoryModelDeviceScope},
   };

   for (unsigned i = 0; i < ARRAY_SIZE(required); i++) {
      if (!required[i].has)
         return fail("the device lacks a feature", required[i].name);
   }
   return true;
}

static void
get_caps(struct gpuval_anygpu_vulkan *vulkan, const struct features *features)
{
   VkPhysicalDeviceSubgroupProperties subgroup = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
   };
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
      .pNext = &subgroup,
   };

   FUNCTION(vulkan, GetPhysicalDeviceProperties2)(vulkan->physical, &properties);
   vulkan->caps = (struct gpuval_anygpu_caps){
      .subgroup_size = MAX2(subgroup.subgroupSize, 1),
      .has_quads = subgroup.supportedOperations & VK_SUBGROUP_FEATURE_QUAD_BIT,
      .has_arithmetic = subgroup.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT,
      .max_shared_size = vulkan->properties.limits.maxComputeSharedMemorySize,
      .has_statistics = features->executable.pipelineExecutableInfo,
      .has_explicit_shared =
         features->explicit_shared.workgroupMemoryExplicitLayout &&
         features->explicit_shared.workgroupMemoryExplicitLayoutScalarBlockLayout,
   };
}

/* All that there is, but nothing that makes accesses out of bounds defined. */
static void
query_features(const struct gpuval_anygpu_vulkan *vulkan, struct features *features,
               const char **extensions, uint32_t *num_extensions)
{
   *features = (struct features){
      .core = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &features->v11},
      .v11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
              .pNext = &features->v12},
      .v12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES},
      .v13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES},
      .atomic_float = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT},
      .clock = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR},
      .explicit_shared =
         {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR},
      .executable =
         {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR},
   };
   VkBaseOutStructure *last = (VkBaseOutStructure *)&features->v12;
   if (vulkan->properties.apiVersion >= VK_API_VERSION_1_3) {
      last->pNext = (VkBaseOutStructure *)&features->v13;
      last = last->pNext;
   }
   *num_extensions = 0;
   for (unsigned i = 0; i < ARRAY_SIZE(optional); i++) {
      if (!has_extension(vulkan, optional[i].name))
         continue;
      extensions[(*num_extensions)++] = optional[i].name;
      if (optional[i].offset) {
         last->pNext = (VkBaseOutStructure *)((char *)features + optional[i].offset);
         last = last->pNext;
      }
   }
   FUNCTION(vulkan, GetPhysicalDeviceFeatures2)(vulkan->physical, &features->core);
   features->core.features.robustBufferAccess = VK_FALSE;
   features->v12.bufferDeviceAddressCaptureReplay = VK_FALSE;
   features->v12.bufferDeviceAddressMultiDevice = VK_FALSE;
}

static bool
create_device(struct gpuval_anygpu_vulkan *vulkan)
{
   struct features features;
   const char *extensions[ARRAY_SIZE(optional)];
   uint32_t num_extensions;
   const float priority = 1.0f;

   query_features(vulkan, &features, extensions, &num_extensions);
   if (!has_required_features(vulkan, &features))
      return false;
   get_caps(vulkan, &features);

   const VkDeviceQueueCreateInfo queue = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
      .queueFamilyIndex = vulkan->queue_family,
      .queueCount = 1,
      .pQueuePriorities = &priority,
   };
   const VkDeviceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
      .pNext = &features.core,
      .queueCreateInfoCount = 1,
      .pQueueCreateInfos = &queue,
      .enabledExtensionCount = num_extensions,
      .ppEnabledExtensionNames = extensions,
   };
   VkResult result = FUNCTION(vulkan, CreateDevice)(vulkan->physical, &info, NULL, &vulkan->device);
   if (!succeeded(result, "no Vulkan device could be created"))
      return false;
   vk_device_dispatch_table_load(&vulkan->table, FUNCTION(vulkan, GetDeviceProcAddr),
                                 vulkan->device);
   return true;
}

static bool
create_pool(struct gpuval_anygpu_vulkan *vulkan)
{
   const VkCommandPoolCreateInfo pool = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
      .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
      .queueFamilyIndex = vulkan->queue_family,
   };

   vulkan->table.GetDeviceQueue(vulkan->device, vulkan->queue_family, 0, &vulkan->queue);
   if (!succeeded(vulkan->table.CreateCommandPool(vulkan->device, &pool, NULL, &vulkan->pool),
                  "no command pool"))
      return false;
   const VkCommandBufferAllocateInfo commands = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = vulkan->pool,
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      .commandBufferCount = 1,
   };
   return succeeded(
      vulkan->table.AllocateCommandBuffers(vulkan->device, &commands, &vulkan->commands),
      "no command buffer");
}

bool
gpuval_anygpu_vulkan_init(struct gpuval_anygpu_vulkan *vulkan, const char *device)
{
   *vulkan = (struct gpuval_anygpu_vulkan){0};
   simple_mtx_init(&vulkan->mutex, mtx_plain);
   list_inithead(&vulkan->allocations);
   if (!create_instance(vulkan) || !choose_physical(vulkan, device) || !choose_queue(vulkan))
      return false;
   if (vulkan->properties.apiVersion < VK_API_VERSION_1_2)
      return fail("the device has no Vulkan 1.2", vulkan->properties.deviceName);
   FUNCTION(vulkan, GetPhysicalDeviceMemoryProperties)(vulkan->physical, &vulkan->memory);
   return create_device(vulkan) && create_pool(vulkan);
}

void
gpuval_anygpu_vulkan_finish(struct gpuval_anygpu_vulkan *vulkan)
{
   if (vulkan->device) {
      vulkan->table.DestroyCommandPool(vulkan->device, vulkan->pool, NULL);
      vulkan->table.DestroyDevice(vulkan->device, NULL);
   }
   if (vulkan->instance)
      vulkan->instance_table.DestroyInstance(vulkan->instance, NULL);
   /* The loader stays: drivers have handlers for exit(). */
}

/* Commands */

bool
gpuval_anygpu_begin(struct gpuval_anygpu_vulkan *vulkan)
{
   const VkCommandBufferBeginInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
   };
   return succeeded(vulkan->table.BeginCommandBuffer(vulkan->commands, &info),
                    "vkBeginCommandBuffer");
}

bool
gpuval_anygpu_submit(struct gpuval_anygpu_vulkan *vulkan)
{
   const VkSubmitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
      .commandBufferCount = 1,
      .pCommandBuffers = &vulkan->commands,
   };
   return succeeded(vulkan->table.EndCommandBuffer(vulkan->commands), "vkEndCommandBuffer") &&
          succeeded(vulkan->table.QueueSubmit(vulkan->queue, 1, &info, VK_NULL_HANDLE),
                    "vkQueueSubmit") &&
          succeeded(vulkan->table.QueueWaitIdle(vulkan->queue), "vkQueueWaitIdle");
}

void
gpuval_anygpu_barrier(struct gpuval_anygpu_vulkan *vulkan)
{
   const VkMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
   };
   vulkan->table.CmdPipelineBarrier(vulkan->commands,
                                    VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                                    VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                                    0, 1, &barrier, 0, NULL, 0, NULL);
}

/* Memory */

/* Video memory that the host sees where there is such memory, else the host's */
static bool
allocate(struct gpuval_anygpu_vulkan *vulkan, const VkMemoryRequirements *requirements,
         VkDeviceMemory *memory)
{
   const VkMemoryPropertyFlags host =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
   const VkMemoryPropertyFlags wanted[] = {host | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, host};
   const VkMemoryAllocateFlagsInfo flags = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
      .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
   };

   for (unsigned i = 0; i < ARRAY_SIZE(wanted); i++) {
      u_foreach_bit (type, requirements->memoryTypeBits) {
         if ((vulkan->memory.memoryTypes[type].propertyFlags & wanted[i]) != wanted[i])
            continue;
         const VkMemoryAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
            .pNext = &flags,
            .allocationSize = requirements->size,
            .memoryTypeIndex = type,
         };
         if (vulkan->table.AllocateMemory(vulkan->device, &info, NULL, memory) == VK_SUCCESS)
            return true;
      }
   }
   return false;
}

static bool
fill_with_zeros(struct gpuval_anygpu_vulkan *vulkan, const struct gpuval_anygpu_memory *memory)
{
   if (!gpuval_anygpu_begin(vulkan))
      return false;
   vulkan->table.CmdFillBuffer(vulkan->commands, memory->buffer, 0, VK_WHOLE_SIZE, 0);
   gpuval_anygpu_barrier(vulkan);
   return gpuval_anygpu_submit(vulkan);
}

static bool
create_memory(struct gpuval_anygpu_vulkan *vulkan, struct gpuval_anygpu_memory *memory)
{
   const struct vk_device_dispatch_table *table = &vulkan->table;
   const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = align64(memory->size, 4),
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
               VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
   };
   VkMemoryRequirements requirements;

   if (table->CreateBuffer(vulkan->device, &info, NULL, &memory->buffer) != VK_SUCCESS)
      return false;
   table->GetBufferMemoryRequirements(vulkan->device, memory->buffer, &requirements);
   if (!allocate(vulkan, &requirements, &memory->memory) ||
       table->BindBufferMemory(vulkan->device, memory->buffer, memory->memory, 0) != VK_SUCCESS ||
       table->MapMemory(vulkan->device, memory->memory, 0, VK_WHOLE_SIZE, 0, &memory->map) !=
          VK_SUCCESS)
      return false;

   const VkBufferDeviceAddressInfo address = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
      .buffer = memory->buffer,
   };
   memory->address = table->GetBufferDeviceAddress(vulkan->device, &address);
   return fill_with_zeros(vulkan, memory);
}

struct gpuval_anygpu_memory *
gpuval_anygpu_alloc(struct gpuval_anygpu_vulkan *vulkan, uint64_t size)
{
   struct gpuval_anygpu_memory *memory = calloc(1, sizeof(*memory));
   if (!memory)
      return NULL;

   memory->size = size;
   simple_mtx_lock(&vulkan->mutex);
   list_addtail(&memory->link, &vulkan->allocations);
   simple_mtx_unlock(&vulkan->mutex);
   if (create_memory(vulkan, memory))
      return memory;
   gpuval_anygpu_free(vulkan, memory);
   return NULL;
}

void
gpuval_anygpu_free(struct gpuval_anygpu_vulkan *vulkan, struct gpuval_anygpu_memory *memory)
{
   if (!memory)
      return;
   simple_mtx_lock(&vulkan->mutex);
   list_del(&memory->link);
   simple_mtx_unlock(&vulkan->mutex);
   vulkan->table.DestroyBuffer(vulkan->device, memory->buffer, NULL);
   vulkan->table.FreeMemory(vulkan->device, memory->memory, NULL);
   free(memory);
}

/* Of the buffers of gpuval_device */

static struct gpuval_anygpu_memory *
find_memory(struct gpuval_anygpu_vulkan *vulkan, const void *map)
{
   struct gpuval_anygpu_memory *found = NULL;

   simple_mtx_lock(&vulkan->mutex);
   list_for_each_entry (struct gpuval_anygpu_memory, memory, &vulkan->allocations, link) {
      if (memory->map == map)
         found = memory;
   }
   simple_mtx_unlock(&vulkan->mutex);
   return found;
}

static void *
winsys_alloc(void *data, uint64_t size, uint64_t *address)
{
   struct gpuval_anygpu_memory *memory = gpuval_anygpu_alloc(data, size);
   if (!memory)
      return NULL;
   *address = memory->address;
   return memory->map;
}

static void
winsys_free(void *data, void *map, uint64_t size)
{
   gpuval_anygpu_free(data, find_memory(data, map));
}

static void
winsys_clear(void *data, void *map, uint64_t size)
{
   fill_with_zeros(data, find_memory(data, map));
}

struct gpuval_winsys
gpuval_anygpu_winsys(struct gpuval_anygpu_vulkan *vulkan)
{
   return (struct gpuval_winsys){
      .alloc = winsys_alloc,
      .free = winsys_free,
      .clear = winsys_clear,
      .data = vulkan,
   };
}
