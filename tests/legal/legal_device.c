/* SPDX-License-Identifier: MIT */

/*
 * The device with all that programs may use, and what they read: one buffer, and images of
 * each kind, which nobody writes once they are there.
 */

#include "legal.h"

#include <stdlib.h>
#include <string.h>

/* --- Features ------------------------------------------------------------- */

/* All that the device supports of each of these extensions is switched on. */
static struct {
   VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT library;
   VkPhysicalDeviceShaderObjectFeaturesEXT shader_object;
   VkPhysicalDeviceDescriptorBufferFeaturesEXT descriptor_buffer;
   VkPhysicalDeviceMeshShaderFeaturesEXT mesh;
   VkPhysicalDeviceMaintenance5FeaturesKHR maintenance5;
   VkPhysicalDevicePipelineBinaryFeaturesKHR pipeline_binary;
   VkPhysicalDeviceVertexInputDynamicStateFeaturesEXT vertex_input;
   VkPhysicalDeviceAccelerationStructureFeaturesKHR structures;
   VkPhysicalDeviceRayTracingPipelineFeaturesKHR ray_pipelines;
   VkPhysicalDeviceRayQueryFeaturesKHR ray_queries;
   VkPhysicalDeviceMutableDescriptorTypeFeaturesEXT mutable_types;
   VkPhysicalDeviceFragmentShaderInterlockFeaturesEXT interlock;
} extension_features;

static const struct {
   const char *name;
   void *features; /* or NULL */
   VkStructureType type;
   uint32_t feature; /* of programs: enum legal_feature */
} extensions[] = {
   {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME},
   {VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME, &extension_features.library,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT, LEGAL_LIBRARIES},
   {VK_EXT_SHADER_OBJECT_EXTENSION_NAME, &extension_features.shader_object,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT, LEGAL_SHADER_OBJECTS},
   {VK_EXT_DESCRIPTOR_BUFFER_EXTENSION_NAME, &extension_features.descriptor_buffer,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_FEATURES_EXT, LEGAL_DESCRIPTOR_BUFFERS},
   {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, NULL, 0, LEGAL_PUSH_DESCRIPTORS},
   {VK_EXT_MESH_SHADER_EXTENSION_NAME, &extension_features.mesh,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT, LEGAL_MESH_SHADERS},
   {VK_KHR_MAINTENANCE_5_EXTENSION_NAME, &extension_features.maintenance5,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR, 0},
   {VK_KHR_PIPELINE_BINARY_EXTENSION_NAME, &extension_features.pipeline_binary,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_BINARY_FEATURES_KHR, LEGAL_PIPELINE_BINARIES},
   {VK_EXT_VERTEX_INPUT_DYNAMIC_STATE_EXTENSION_NAME, &extension_features.vertex_input,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VERTEX_INPUT_DYNAMIC_STATE_FEATURES_EXT, 0},
   {VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME},
   {VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME, &extension_features.structures,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR, 0},
   {VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME, &extension_features.ray_pipelines,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR, LEGAL_RAY_PIPELINES},
   {VK_KHR_RAY_QUERY_EXTENSION_NAME, &extension_features.ray_queries,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_QUERY_FEATURES_KHR, LEGAL_RAY_QUERIES},
   {VK_EXT_MUTABLE_DESCRIPTOR_TYPE_EXTENSION_NAME, &extension_features.mutable_types,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MUTABLE_DESCRIPTOR_TYPE_FEATURES_EXT, LEGAL_MUTABLE},
   {VK_EXT_FRAGMENT_SHADER_INTERLOCK_EXTENSION_NAME, &extension_features.interlock,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAGMENT_SHADER_INTERLOCK_FEATURES_EXT, LEGAL_INTERLOCK},
};

/* Queries and enables. Returns the chain; *@features becomes what programs may use. */
static void *
chain_features(struct vkh_context *ctx, const char **names, uint32_t *count, uint32_t *features)
{
   void *chain = NULL;

   *count = 0;
   *features = LEGAL_GRAPHICS | LEGAL_TESSELLATION | LEGAL_INPUT_ATTACHMENTS;
   for (unsigned i = 0; i < VKH_COUNT(extensions); i++) {
      VkBaseOutStructure *base = extensions[i].features;
      if (!vkh_has_extension(ctx, extensions[i].name))
         continue;
      names[(*count)++] = extensions[i].name;
      *features |= extensions[i].feature;
      if (!base)
         continue;
      base->sType = extensions[i].type;
      base->pNext = chain;
      chain = base;
   }
   VkPhysicalDeviceFeatures2 query = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
      .pNext = chain,
   };
   vkGetPhysicalDeviceFeatures2(ctx->physical_device, &query);

   /* These ask for others that are not on. */
   extension_features.mesh.multiviewMeshShader = VK_FALSE;
   extension_features.mesh.primitiveFragmentShadingRateMeshShader = VK_FALSE;
   extension_features.descriptor_buffer.descriptorBufferCaptureReplay = VK_FALSE;
   extension_features.structures.accelerationStructureCaptureReplay = VK_FALSE;
   extension_features.ray_pipelines.rayTracingPipelineShaderGroupHandleCaptureReplay = VK_FALSE;
   return chain;
}

/* --- Images --------------------------------------------------------------- */

VkFormat
legal_format(enum legal_number numbers)
{
   static const VkFormat formats[] = {
      [LEGAL_UINT] = VK_FORMAT_R32_UINT,
      [LEGAL_FLOAT] = VK_FORMAT_R32_SFLOAT,
      [LEGAL_INT] = VK_FORMAT_R32_SINT,
   };
   return formats[numbers];
}

void
legal_image_extent(enum legal_dim dim, VkExtent3D *extent, uint32_t *layers)
{
   static const struct {
      VkExtent3D extent;
      uint32_t layers;
   } sizes[] = {
      [LEGAL_1D] = {{64, 1, 1}, 1},       [LEGAL_2D] = {{8, 8, 1}, 1},
      [LEGAL_3D] = {{4, 4, 4}, 1},        [LEGAL_CUBE] = {{4, 4, 1}, 6},
      [LEGAL_1D_ARRAY] = {{16, 1, 1}, 4}, [LEGAL_2D_ARRAY] = {{4, 4, 1}, 4},
      [LEGAL_2D_MS] = {{8, 8, 1}, 1},
   };
   *extent = sizes[dim].extent;
   *layers = sizes[dim].layers;
}

static VkImageViewType
view_type(enum legal_dim dim)
{
   static const VkImageViewType types[] = {
      [LEGAL_1D] = VK_IMAGE_VIEW_TYPE_1D,
      [LEGAL_2D] = VK_IMAGE_VIEW_TYPE_2D,
      [LEGAL_3D] = VK_IMAGE_VIEW_TYPE_3D,
      [LEGAL_CUBE] = VK_IMAGE_VIEW_TYPE_CUBE,
      [LEGAL_1D_ARRAY] = VK_IMAGE_VIEW_TYPE_1D_ARRAY,
      [LEGAL_2D_ARRAY] = VK_IMAGE_VIEW_TYPE_2D_ARRAY,
      [LEGAL_2D_MS] = VK_IMAGE_VIEW_TYPE_2D,
   };
   return types[dim];
}

static VkImageType
image_type(enum legal_dim dim)
{
   if (dim == LEGAL_1D || dim == LEGAL_1D_ARRAY)
      return VK_IMAGE_TYPE_1D;
   return dim == LEGAL_3D ? VK_IMAGE_TYPE_3D : VK_IMAGE_TYPE_2D;
}

/* Clears to a number that a texel can have, and moves to GENERAL. */
static void
clear_image(struct legal_device *device, VkImage image, enum legal_number numbers, uint32_t number)
{
   const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0,
                                          VK_REMAINING_ARRAY_LAYERS};
   const VkImageMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
      .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
      .newLayout = VK_IMAGE_LAYOUT_GENERAL,
      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .image = image,
      .subresourceRange = range,
   };
   VkClearColorValue color = {.uint32 = {number}};
   if (numbers == LEGAL_FLOAT)
      color.float32[0] = (float)number;

   VkCommandBuffer cmd = vkh_begin(device->ctx);
   vkCmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                        0, NULL, 0, NULL, 1, &barrier);
   vkCmdClearColorImage(cmd, image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &range);
   vkh_barrier(cmd);
   vkh_submit_wait(device->ctx, cmd);
}

struct legal_image
legal_image_create(struct legal_device *device, enum legal_dim dim, enum legal_number numbers,
                   bool writable)
{
   struct vkh_context *ctx = device->ctx;
   const bool storage =
      dim == LEGAL_1D || dim == LEGAL_2D || dim == LEGAL_3D || dim == LEGAL_2D_ARRAY;
   struct legal_image image;
   VkImageCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .flags = dim == LEGAL_CUBE ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0,
      .imageType = image_type(dim),
      .format = legal_format(numbers),
      .mipLevels = 1,
      .samples = dim == LEGAL_2D_MS ? VK_SAMPLE_COUNT_4_BIT : VK_SAMPLE_COUNT_1_BIT,
      .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
               VK_IMAGE_USAGE_SAMPLED_BIT | (storage ? VK_IMAGE_USAGE_STORAGE_BIT : 0) |
               (dim == LEGAL_2D ? VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT : 0),
   };
   VkMemoryRequirements requirements;

   (void)writable;
   legal_image_extent(dim, &info.extent, &info.arrayLayers);
   VKH_CHECK(vkCreateImage(ctx->device, &info, NULL, &image.image));
   vkGetImageMemoryRequirements(ctx->device, image.image, &requirements);
   const VkMemoryAllocateInfo allocate_info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .allocationSize = requirements.size,
      .memoryTypeIndex = vkh_memory_type(ctx, requirements.memoryTypeBits, 0),
   };
   VKH_CHECK(vkAllocateMemory(ctx->device, &allocate_info, NULL, &image.memory));
   VKH_CHECK(vkBindImageMemory(ctx->device, image.image, image.memory, 0));
   const VkImageViewCreateInfo view = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
      .image = image.image,
      .viewType = view_type(dim),
      .format = info.format,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, info.arrayLayers},
   };
   VKH_CHECK(vkCreateImageView(ctx->device, &view, NULL, &image.view));
   clear_image(device, image.image, numbers, writable ? 0 : 3);
   return image;
}

void
legal_image_destroy(struct legal_device *device, struct legal_image *image)
{
   VkDevice handle = device->ctx->device;
   vkDestroyImageView(handle, image->view, NULL);
   vkDestroyImage(handle, image->image, NULL);
   vkFreeMemory(handle, image->memory, NULL);
}

/* An image that programs read, with other numbers in each texel */
static void
create_source_image(struct legal_device *device, enum legal_dim dim, enum legal_number numbers)
{
   struct legal_image *image = &device->images[dim][numbers];
   VkBufferImageCopy copy = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}};
   uint32_t *words = device->staging.map;

   *image = legal_image_create(device, dim, numbers, false);
   if (dim == LEGAL_2D_MS)
      return;
   legal_image_extent(dim, &copy.imageExtent, &copy.imageSubresource.layerCount);
   for (uint32_t i = 0; i < 96; i++) {
      const float real = 1.0f + (float)i / 64.0f;
      words[i] = i * 2654435761u;
      if (numbers == LEGAL_FLOAT)
         memcpy(&words[i], &real, sizeof(real));
   }
   VkCommandBuffer cmd = vkh_begin(device->ctx);
   vkCmdCopyBufferToImage(cmd, device->staging.buffer, image->image, VK_IMAGE_LAYOUT_GENERAL, 1,
                          &copy);
   vkh_barrier(cmd);
   vkh_submit_wait(device->ctx, cmd);
}

/* --- Device --------------------------------------------------------------- */

static void
create_sources(struct legal_device *device)
{
   struct vkh_context *ctx = device->ctx;
   uint32_t *words;

   device->source = vkh_buffer_create(ctx, LEGAL_SOURCE_SIZE, "source");
   device->output = vkh_buffer_create(ctx, LEGAL_OUTPUT_SIZE, "output");
   device->vertices = vkh_buffer_create(ctx, 4096, "vertices");
   device->staging = vkh_buffer_create(ctx, 65536, "staging");
   words = device->source.map;
   for (uint32_t i = 0; i < LEGAL_SOURCE_SIZE / 4; i++)
      words[i] = (i + 1) * 2246822519u;
   for (unsigned dim = 0; dim < LEGAL_DIMS; dim++) {
      for (unsigned numbers = 0; numbers < LEGAL_NUMBERS; numbers++)
         create_source_image(device, dim, numbers);
   }
   for (unsigned numbers = 0; numbers < LEGAL_NUMBERS; numbers++) {
      const VkBufferViewCreateInfo view = {
         .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
         .buffer = device->source.buffer,
         .format = legal_format(numbers),
         .range = 4096,
      };
      VKH_CHECK(vkCreateBufferView(ctx->device, &view, NULL, &device->source_views[numbers]));
   }
   const VkSamplerCreateInfo sampler = {
      .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
      .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
      .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
      .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
   };
   VKH_CHECK(vkCreateSampler(ctx->device, &sampler, NULL, &device->sampler));
   device->target =
      vkh_image_create(ctx, VK_FORMAT_R32_UINT, LEGAL_TARGET_SIZE, LEGAL_TARGET_SIZE, "target");
}

struct legal_device *
legal_device_create(uint32_t features)
{
   struct legal_device *device = vkh_calloc(1, sizeof(*device));
   const char *names[VKH_COUNT(extensions)];
   struct vkh_options options = {.application = "gpuval-legal", .extensions = names};

   device->ctx = vkh_instance_create(&options);
   options.features_next =
      chain_features(device->ctx, names, &options.extension_count, &device->features);
   device->features &= features;
   vkh_device_create(device->ctx, &options);
   device->descriptor_buffer.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_PROPERTIES_EXT;
   VkPhysicalDeviceDriverProperties driver = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
      .pNext = &device->descriptor_buffer,
   };
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
      .pNext = &driver,
   };
   vkGetPhysicalDeviceProperties2(device->ctx->physical_device, &properties);
   const bool cpu = driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
   device->features |= (cpu ? LEGAL_DIFFERING_ATOMICS | LEGAL_DYNAMIC_OBJECTS
                            : LEGAL_UNWRITTEN | LEGAL_LINKED_RAYS_PUSH) &
                       features;
   create_sources(device);
   legal_scenes_create(device);
   return device;
}

void
legal_device_destroy(struct legal_device *device)
{
   struct vkh_context *ctx = device->ctx;

   legal_scenes_destroy(device);
   for (unsigned dim = 0; dim < LEGAL_DIMS; dim++) {
      for (unsigned numbers = 0; numbers < LEGAL_NUMBERS; numbers++)
         legal_image_destroy(device, &device->images[dim][numbers]);
   }
   for (unsigned numbers = 0; numbers < LEGAL_NUMBERS; numbers++)
      vkDestroyBufferView(ctx->device, device->source_views[numbers], NULL);
   vkDestroySampler(ctx->device, device->sampler, NULL);
   vkh_image_destroy(ctx, &device->target);
   vkh_buffer_destroy(ctx, &device->source);
   vkh_buffer_destroy(ctx, &device->output);
   vkh_buffer_destroy(ctx, &device->vertices);
   vkh_buffer_destroy(ctx, &device->staging);
   vkh_context_destroy(ctx);
   free(device);
}
