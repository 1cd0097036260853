/* SPDX-License-Identifier: MIT */

/*
 * Buffers, images, and rendering to them.
 */

#include "vk_headless.h"

#include <string.h>
#include <sys/mman.h>

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
         VkMemoryPropertyFlags flags, bool address, const void *next)
{
   const VkMemoryAllocateFlagsInfo flags_info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
      .pNext = next,
      .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
   };
   const VkMemoryAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = address ? &flags_info : next,
      .allocationSize = requirements->size,
      .memoryTypeIndex = vkh_memory_type(ctx, requirements->memoryTypeBits, flags),
   };
   VkDeviceMemory memory;
   VKH_CHECK(vkAllocateMemory(ctx->device, &info, NULL, &memory));
   return memory;
}

/* VK_EXT_zero_initialize_device_memory, which Vulkan's headers of Mesa 25.0 do not know */
#define ZERO_INITIALIZE 0x00000008

static VkDeviceMemory
allocate_cleared(struct vkh_context *ctx, const VkMemoryRequirements *requirements, bool address)
{
   const VkMemoryAllocateFlagsInfo flags_info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
      .flags = ZERO_INITIALIZE | (address ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT : 0),
   };
   return allocate(ctx, requirements, ctx->buffer_memory, false, &flags_info);
}

static void
bind_sparse(struct vkh_context *ctx, const struct vkh_buffer *buffer, VkDeviceSize size)
{
   const VkSparseMemoryBind bind = {.size = size, .memory = buffer->memory};
   const VkSparseBufferMemoryBindInfo buffer_bind = {buffer->buffer, 1, &bind};
   const VkBindSparseInfo info = {
      .sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO,
      .bufferBindCount = 1,
      .pBufferBinds = &buffer_bind,
   };

   VKH_CHECK(vkQueueBindSparse(ctx->queue, 1, &info, VK_NULL_HANDLE));
   VKH_CHECK(vkQueueWaitIdle(ctx->queue));
}

/* Pages of this process */
/* @pages: of another buffer, which are imported once more, or NULL */
static VkDeviceMemory
allocate_host(struct vkh_context *ctx, VkMemoryRequirements requirements, bool address,
              struct vkh_buffer *buffer, void *pages)
{
   VkPhysicalDeviceExternalMemoryHostPropertiesEXT properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT,
   };
   VkPhysicalDeviceProperties2 properties2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
      .pNext = &properties,
   };
   vkGetPhysicalDeviceProperties2(ctx->physical_device, &properties2);
   const VkDeviceSize unit = properties.minImportedHostPointerAlignment;
   requirements.size = (requirements.size + unit - 1) / unit * unit;

   if (!pages) {
      pages =
         mmap(NULL, requirements.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      buffer->host = pages;
      buffer->host_size = requirements.size;
   }
   if (pages == MAP_FAILED || (uintptr_t)pages % unit)
      vkh_die("no memory that the device could import");

   VkMemoryHostPointerPropertiesEXT types = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT,
   };
   const VkExternalMemoryHandleTypeFlagBits type =
      VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
   VKH_CHECK(VKH_PROC(ctx, vkGetMemoryHostPointerPropertiesEXT)(ctx->device, type, pages, &types));
   requirements.memoryTypeBits &= types.memoryTypeBits;
   const VkImportMemoryHostPointerInfoEXT import = {
      .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
      .handleType = type,
      .pHostPointer = pages,
   };
   return allocate(ctx, &requirements, 0, address, &import);
}

/* Memory that others may import, or the same imported from a file */
static VkDeviceMemory
allocate_file(struct vkh_context *ctx, const VkMemoryRequirements *requirements, bool address,
              bool import)
{
   const VkExternalMemoryHandleTypeFlagBits type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
   const VkExportMemoryAllocateInfo export_info = {
      .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
      .handleTypes = type,
   };
   VkDeviceMemory exported = allocate(ctx, requirements, ctx->buffer_memory, address, &export_info);
   if (!import)
      return exported;

   VkImportMemoryFdInfoKHR import_info = {
      .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
      .handleType = type,
   };
   const VkMemoryGetFdInfoKHR get = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
      .memory = exported,
      .handleType = type,
   };
   VKH_CHECK(VKH_PROC(ctx, vkGetMemoryFdKHR)(ctx->device, &get, &import_info.fd));
   vkFreeMemory(ctx->device, exported, NULL);
   return allocate(ctx, requirements, ctx->buffer_memory, address, &import_info);
}

/* Where another buffer has memory, or where memory of others comes from */
struct place {
   const struct vkh_buffer *other;
   VkDeviceSize offset;
   enum vkh_external external; /* without another one */
   bool later;                 /* vkh_buffer_bind() gives it memory */
   bool cleared;               /* memory that begins as zeros */
   void *pages;                /* VKH_HOST_POINTER: of another buffer, imported once more */
};

static struct vkh_buffer
create_buffer(struct vkh_context *ctx, VkDeviceSize size, VkBufferUsageFlags extra_usage,
              VkBufferCreateFlags flags, const struct place *place, const char *name)
{
   struct vkh_buffer buffer = {.size = size};
   const bool address = ctx->features.v12.bufferDeviceAddress;

   const uint32_t families[] = {ctx->queues[0].family, ctx->queues[1].family};
   const bool shared =
      ctx->queue_count > 1 && families[0] != families[1] && !ctx->exclusive_buffers;
   const bool is_cleared = place && place->cleared;
   const bool is_external = place && !place->other && !place->later && !is_cleared;
   const bool is_host = is_external && place->external == VKH_HOST_POINTER;
   const VkExternalMemoryBufferCreateInfo external_info = {
      .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
      .handleTypes = is_host ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
                             : VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
   };
   const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .pNext = is_external ? &external_info : NULL,
      .flags = flags,
      .size = size,
      .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
               VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |
               VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
               VK_BUFFER_USAGE_INDEX_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
               VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
               (address ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0) | ctx->buffer_usage |
               extra_usage,
      .sharingMode = shared ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
      .queueFamilyIndexCount = shared ? VKH_COUNT(families) : 0,
      .pQueueFamilyIndices = families,
   };
   VKH_CHECK(vkCreateBuffer(ctx->device, &info, NULL, &buffer.buffer));
   vkh_name(ctx, VK_OBJECT_TYPE_BUFFER, (uint64_t)buffer.buffer, name);
   if (place && place->later)
      return buffer;

   VkMemoryRequirements requirements;
   vkGetBufferMemoryRequirements(ctx->device, buffer.buffer, &requirements);
   if (!place)
      buffer.memory = allocate(ctx, &requirements, ctx->buffer_memory, address, NULL);
   else if (is_cleared)
      buffer.memory = allocate_cleared(ctx, &requirements, address);
   else if (is_host)
      buffer.memory = allocate_host(ctx, requirements, address, &buffer, place->pages);
   else if (is_external)
      buffer.memory = allocate_file(ctx, &requirements, address, place->external == VKH_IMPORTED);
   if (place && place->other)
      VKH_CHECK(
         vkBindBufferMemory(ctx->device, buffer.buffer, place->other->memory, place->offset));
   else if (flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT)
      bind_sparse(ctx, &buffer, requirements.size);
   else
      VKH_CHECK(vkBindBufferMemory(ctx->device, buffer.buffer, buffer.memory, 0));
   if (address) {
      const VkBufferDeviceAddressInfo address_info = {
         .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
         .buffer = buffer.buffer,
      };
      buffer.address = vkGetBufferDeviceAddress(ctx->device, &address_info);
   }
   return buffer;
}

void
vkh_buffer_map(struct vkh_context *ctx, struct vkh_buffer *buffer)
{
   if (!buffer->map)
      VKH_CHECK(vkMapMemory(ctx->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &buffer->map));
}

struct vkh_buffer
vkh_buffer_create_usage(struct vkh_context *ctx, VkDeviceSize size, VkBufferUsageFlags extra_usage,
                        const char *name)
{
   struct vkh_buffer buffer = create_buffer(ctx, size, extra_usage, 0, NULL, name);

   vkh_buffer_map(ctx, &buffer);
   memset(buffer.map, 0, size);
   return buffer;
}

struct vkh_buffer
vkh_buffer_create_unbound(struct vkh_context *ctx, VkDeviceSize size,
                          VkBufferUsageFlags extra_usage, const char *name)
{
   const struct place place = {.later = true};
   return create_buffer(ctx, size, extra_usage, 0, &place, name);
}

void
vkh_buffer_bind(struct vkh_context *ctx, struct vkh_buffer *buffer)
{
   VkMemoryRequirements requirements;
   vkGetBufferMemoryRequirements(ctx->device, buffer->buffer, &requirements);
   buffer->memory =
      allocate(ctx, &requirements, ctx->buffer_memory, ctx->features.v12.bufferDeviceAddress, NULL);
   VKH_CHECK(vkBindBufferMemory(ctx->device, buffer->buffer, buffer->memory, 0));
}

struct vkh_buffer
vkh_buffer_create_unwritten(struct vkh_context *ctx, VkDeviceSize size, const char *name)
{
   return create_buffer(ctx, size, 0, 0, NULL, name);
}

struct vkh_buffer
vkh_buffer_create_cleared(struct vkh_context *ctx, VkDeviceSize size, const char *name)
{
   const struct place place = {.cleared = true};

   return create_buffer(ctx, size, 0, 0, &place, name);
}

struct vkh_buffer
vkh_buffer_create_sparse(struct vkh_context *ctx, VkDeviceSize size, const char *name)
{
   struct vkh_buffer buffer =
      create_buffer(ctx, size, 0, VK_BUFFER_CREATE_SPARSE_BINDING_BIT, NULL, name);

   vkh_buffer_map(ctx, &buffer);
   memset(buffer.map, 0, size);
   return buffer;
}

struct vkh_buffer
vkh_buffer_create_external(struct vkh_context *ctx, VkDeviceSize size, enum vkh_external external,
                           const char *name)
{
   const struct place place = {.external = external};
   struct vkh_buffer buffer = create_buffer(ctx, size, 0, 0, &place, name);

   vkh_buffer_map(ctx, &buffer);
   memset(buffer.map, 0, size);
   return buffer;
}

struct vkh_buffer
vkh_buffer_create_twice(struct vkh_context *ctx, const struct vkh_buffer *other, const char *name)
{
   const struct place place = {.external = VKH_HOST_POINTER, .pages = other->host};
   struct vkh_buffer buffer = create_buffer(ctx, other->size, 0, 0, &place, name);

   vkh_buffer_map(ctx, &buffer);
   return buffer;
}

struct vkh_buffer
vkh_buffer_create_at(struct vkh_context *ctx, VkDeviceSize size, const struct vkh_buffer *other,
                     VkDeviceSize offset, const char *name)
{
   const struct place place = {.other = other, .offset = offset};
   struct vkh_buffer buffer = create_buffer(ctx, size, 0, 0, &place, name);

   if (other->map)
      buffer.map = (char *)other->map + offset;
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
   if (buffer->host)
      munmap(buffer->host, buffer->host_size);
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
   image.memory = allocate(ctx, &requirements, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, false, NULL);
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

   /* After the pass before: what is written to attachments, and nothing else. */
   const VkPipelineStageFlags stages =
      VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT | VK_PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT;
   const VkAccessFlags writes =
      VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT;
   const VkAccessFlags reads =
      VK_ACCESS_COLOR_ATTACHMENT_READ_BIT | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_READ_BIT;
   const VkMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = writes,
      .dstAccessMask = reads | writes,
   };

   vkCmdPipelineBarrier(cmd, stages, stages, 0, 1, &barrier, 0, NULL, 0, NULL);
   vkCmdBeginRendering(cmd, &info);
   /* With secondary command buffers the state is theirs to set. */
   if (!(target->flags & VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT))
      vkh_set_viewport(cmd, width, height);
}
