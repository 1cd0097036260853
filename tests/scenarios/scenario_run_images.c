/* SPDX-License-Identifier: MIT */

/*
 * Images, views and samplers, and the end of objects before that of the program.
 * Images are in layout GENERAL, and zero at first.
 */

#include "scenario_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
   const char *name;
   VkFormat format;
} formats[] = {
   {"rgba8", VK_FORMAT_R8G8B8A8_UNORM},
   {"rgba8ui", VK_FORMAT_R8G8B8A8_UINT},
   {"rgba8i", VK_FORMAT_R8G8B8A8_SINT},
   {"rgba16f", VK_FORMAT_R16G16B16A16_SFLOAT},
   {"rgba32f", VK_FORMAT_R32G32B32A32_SFLOAT},
   {"rgba32ui", VK_FORMAT_R32G32B32A32_UINT},
   {"r8ui", VK_FORMAT_R8_UINT},
   {"r16ui", VK_FORMAT_R16_UINT},
   {"rg16ui", VK_FORMAT_R16G16_UINT},
   {"rg32ui", VK_FORMAT_R32G32_UINT},
   {"r32f", VK_FORMAT_R32_SFLOAT},
   {"r32ui", VK_FORMAT_R32_UINT},
   {"r32i", VK_FORMAT_R32_SINT},
   {"d32", VK_FORMAT_D32_SFLOAT},
   {"d32s8", VK_FORMAT_D32_SFLOAT_S8_UINT},
};

static const struct {
   const char *name;
   VkImageViewType type;
   VkImageType image_type;
} types[] = {
   {"1d", VK_IMAGE_VIEW_TYPE_1D, VK_IMAGE_TYPE_1D},
   {"2d", VK_IMAGE_VIEW_TYPE_2D, VK_IMAGE_TYPE_2D},
   {"3d", VK_IMAGE_VIEW_TYPE_3D, VK_IMAGE_TYPE_3D},
   {"cube", VK_IMAGE_VIEW_TYPE_CUBE, VK_IMAGE_TYPE_2D},
   {"1d_array", VK_IMAGE_VIEW_TYPE_1D_ARRAY, VK_IMAGE_TYPE_1D},
   {"2d_array", VK_IMAGE_VIEW_TYPE_2D_ARRAY, VK_IMAGE_TYPE_2D},
   {"cube_array", VK_IMAGE_VIEW_TYPE_CUBE_ARRAY, VK_IMAGE_TYPE_2D},
};

static VkFormat
find_format(struct run *run, const char *name)
{
   for (unsigned i = 0; i < VKH_COUNT(formats); i++) {
      if (strcmp(formats[i].name, name) == 0)
         return formats[i].format;
   }
   RUN_ERROR(run, "%s is no format here", name);
}

static unsigned
find_type(struct run *run, const char *name)
{
   for (unsigned i = 0; i < VKH_COUNT(types); i++) {
      if (strcmp(types[i].name, name) == 0)
         return i;
   }
   RUN_ERROR(run, "%s is no type of images", name);
}

static VkImageAspectFlags
format_aspects(VkFormat format)
{
   switch (format) {
   case VK_FORMAT_D32_SFLOAT:
      return VK_IMAGE_ASPECT_DEPTH_BIT;
   case VK_FORMAT_D32_SFLOAT_S8_UINT:
      return VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
   default:
      return VK_IMAGE_ASPECT_COLOR_BIT;
   }
}

/* What the format can be used for, of what a test may want */
static VkImageUsageFlags
format_usage(struct run *run, VkFormat format, VkSampleCountFlagBits samples)
{
   VkFormatProperties properties;
   vkGetPhysicalDeviceFormatProperties(run->ctx->physical_device, format, &properties);
   const VkFormatFeatureFlags features = properties.optimalTilingFeatures;

   VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                             VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT;
   if (features & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT &&
       (samples == 1 || run->ctx->features.core.features.shaderStorageImageMultisample))
      usage |= VK_IMAGE_USAGE_STORAGE_BIT;
   if (features & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT)
      usage |= VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
   if (features & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT)
      usage |= VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
   if (run->copies_on_host)
      usage |= VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT;
   return usage;
}

struct run_image *
run_find_image(struct run *run, const char *name)
{
   for (unsigned i = 0; i < run->image_count; i++) {
      if (strcmp(run->images[i].name, name) == 0)
         return &run->images[i];
   }
   RUN_ERROR(run, "there is no image %s", name);
}

static struct run_view *
find_object(struct run *run, VkObjectType type, const char *name)
{
   for (unsigned i = 0; i < run->object_count; i++) {
      if (run->objects[i].type == type && strcmp(run->objects[i].name, name) == 0)
         return &run->objects[i];
   }
   return NULL;
}

uint64_t
run_find_view(struct run *run, VkObjectType type, const char *name)
{
   const struct run_view *object = find_object(run, type, name);
   return object ? object->handle : 0;
}

static void
add_object(struct run *run, VkObjectType type, const char *name, uint64_t handle, bool has_name)
{
   run->objects = scenario_grow(run->objects, &run->object_count, sizeof(*run->objects));
   run->objects[run->object_count - 1] = (struct run_view){
      .name = name,
      .type = type,
      .handle = handle,
   };
   if (has_name)
      vkh_name(run->ctx, type, handle, run_debug_name(run, name));
}

static bool
has_word_from(struct run *run, unsigned first, const char *wanted)
{
   for (unsigned i = first; run_has_word(run, i); i++) {
      if (strcmp(run_word(run, i), wanted) == 0)
         return true;
   }
   return false;
}

/* `KEY=NUMBER` among the words from `first` on */
static unsigned
find_option(struct run *run, unsigned first, const char *key, unsigned fallback)
{
   const size_t length = strlen(key);
   for (unsigned i = first; run_has_word(run, i); i++) {
      const char *word = run_word(run, i);
      if (strncmp(word, key, length) == 0 && word[length] == '=')
         return (unsigned)strtoul(word + length + 1, NULL, 0);
   }
   return fallback;
}

static const char *
find_text_option(struct run *run, unsigned first, const char *key)
{
   const size_t length = strlen(key);
   for (unsigned i = first; run_has_word(run, i); i++) {
      const char *word = run_word(run, i);
      if (strncmp(word, key, length) == 0 && word[length] == '=')
         return word + length + 1;
   }
   return NULL;
}

VkImageAspectFlags
run_image_aspects(const struct run_image *image)
{
   return format_aspects(image->format);
}

void
run_transition_image(VkCommandBuffer cmd, const struct run_image *image,
                     VkImageSubresourceRange range)
{
   const VkImageMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
      .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
      .newLayout = VK_IMAGE_LAYOUT_GENERAL,
      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .image = image->image,
      .subresourceRange = range,
   };

   range.aspectMask = format_aspects(image->format);
   vkCmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                        0, 0, NULL, 0, NULL, 1, &barrier);
}

/* @clear: it has zeros then, else anything. */
static void
init_image(struct run *run, const struct run_image *image, bool clear)
{
   VkCommandBuffer cmd = vkh_begin(run->ctx);
   const VkImageSubresourceRange range = {
      .aspectMask = format_aspects(image->format),
      .levelCount = VK_REMAINING_MIP_LEVELS,
      .layerCount = VK_REMAINING_ARRAY_LAYERS,
   };

   run_transition_image(cmd, image, range);
   if (clear && range.aspectMask == VK_IMAGE_ASPECT_COLOR_BIT)
      vkCmdClearColorImage(cmd, image->image, VK_IMAGE_LAYOUT_GENERAL, &(VkClearColorValue){{0.0f}},
                           1, &range);
   else if (clear)
      vkCmdClearDepthStencilImage(cmd, image->image, VK_IMAGE_LAYOUT_GENERAL,
                                  &(VkClearDepthStencilValue){0.0f, 0}, 1, &range);
   vkh_barrier(cmd);
   vkh_submit_wait(run->ctx, cmd);
}

static void
create_view(struct run *run, const char *name, const struct run_image *image, unsigned type,
            unsigned first_option)
{
   VkImageAspectFlags aspects = format_aspects(image->format);
   const char *aspect = find_text_option(run, first_option, "aspect");
   const char *format = find_text_option(run, first_option, "format");
   if (aspects & VK_IMAGE_ASPECT_STENCIL_BIT)
      aspects = aspect && strcmp(aspect, "stencil") == 0 ? VK_IMAGE_ASPECT_STENCIL_BIT
                                                         : VK_IMAGE_ASPECT_DEPTH_BIT;
   const VkImageViewCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
      .image = image->image,
      .viewType = types[type].type,
      .format = format ? find_format(run, format) : image->format,
      .subresourceRange =
         {
            .aspectMask = aspects,
            .baseMipLevel = find_option(run, first_option, "level", 0),
            .levelCount = find_option(run, first_option, "levels", VK_REMAINING_MIP_LEVELS),
            .baseArrayLayer = find_option(run, first_option, "layer", 0),
            .layerCount = find_option(run, first_option, "layers", VK_REMAINING_ARRAY_LAYERS),
         },
   };
   VkImageView view;
   VKH_CHECK(vkCreateImageView(run->ctx->device, &info, NULL, &view));
   add_object(run, VK_OBJECT_TYPE_IMAGE_VIEW, name, (uint64_t)view,
              !has_word_from(run, first_option, "unnamed"));
}

/* `image NAME TYPE FORMAT WxHxD [layers=N] [levels=N] [samples=N] [memory=IMAGE] [unwritten]`,
 * and a view of all of it with the same name
 */
void
run_create_image(struct run *run)
{
   const unsigned type = find_type(run, run_word(run, 2));
   unsigned extent[3] = {1, 1, 1};
   if (sscanf(run_word(run, 4), "%ux%ux%u", &extent[0], &extent[1], &extent[2]) < 1)
      RUN_ERROR(run, "'%s' is not WxHxD", run_word(run, 4));

   run->images = scenario_grow(run->images, &run->image_count, sizeof(*run->images));
   struct run_image *image = &run->images[run->image_count - 1];
   *image = (struct run_image){
      .name = run_word(run, 1),
      .format = find_format(run, run_word(run, 3)),
   };

   const VkSampleCountFlagBits samples = find_option(run, 5, "samples", 1);
   const bool cube = strncmp(types[type].name, "cube", 4) == 0;
   const VkImageCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .flags =
         (find_text_option(run, 5, "memory") ? VK_IMAGE_CREATE_ALIAS_BIT : 0) |
         VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | (cube ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0) |
         (types[type].image_type == VK_IMAGE_TYPE_3D ? VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT : 0),
      .imageType = types[type].image_type,
      .format = image->format,
      .extent = {extent[0], extent[1], extent[2]},
      .mipLevels = find_option(run, 5, "levels", 1),
      .arrayLayers = find_option(run, 5, "layers", cube ? 6 : 1),
      .samples = samples,
      .tiling = VK_IMAGE_TILING_OPTIMAL,
      .usage = format_usage(run, image->format, samples),
      .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
   };
   VKH_CHECK(vkCreateImage(run->ctx->device, &info, NULL, &image->image));
   vkh_name(run->ctx, VK_OBJECT_TYPE_IMAGE, (uint64_t)image->image,
            run_debug_name(run, image->name));

   VkMemoryRequirements requirements;
   vkGetImageMemoryRequirements(run->ctx->device, image->image, &requirements);
   const VkMemoryAllocateInfo allocate = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .allocationSize = requirements.size,
      .memoryTypeIndex = vkh_memory_type(run->ctx, requirements.memoryTypeBits, 0),
   };
   const char *memory = find_text_option(run, 5, "memory");
   if (memory)
      image->memory = run_find_image(run, memory)->memory;
   else
      VKH_CHECK(vkAllocateMemory(run->ctx->device, &allocate, NULL, &image->memory));
   image->shares_memory = memory;
   VKH_CHECK(vkBindImageMemory(run->ctx->device, image->image, image->memory, 0));
   bool unwritten = false, untouched = false;
   for (unsigned i = 5; run_has_word(run, i); i++) {
      unwritten |= strcmp(run_word(run, i), "unwritten") == 0;
      untouched |= strcmp(run_word(run, i), "untouched") == 0;
   }
   if (!untouched)
      init_image(run, image, !unwritten);
   create_view(run, image->name, image, type, run->statement->word_count);
}

/* `view NAME IMAGE TYPE [format=F] [level=N] [levels=N] [layer=N] [layers=N] [aspect=A]` */
void
run_create_view(struct run *run)
{
   create_view(run, run_word(run, 1), run_find_image(run, run_word(run, 2)),
               find_type(run, run_word(run, 3)), 4);
}

/* `buffer_view NAME BUFFER FORMAT [OFFSET BYTES]` */
void
run_create_buffer_view(struct run *run)
{
   const VkBufferViewCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
      .buffer = run_find_buffer(run, run_word(run, 2))->vk.buffer,
      .format = find_format(run, run_word(run, 3)),
      .offset = run_number_or(run, 4, 0),
      .range = run_number_or(run, 5, VK_WHOLE_SIZE),
   };
   VkBufferView view;
   VKH_CHECK(vkCreateBufferView(run->ctx->device, &info, NULL, &view));
   add_object(run, VK_OBJECT_TYPE_BUFFER_VIEW, run_word(run, 1), (uint64_t)view, true);
}

VkSampler
run_make_sampler(struct run *run, bool linear, bool border, float max_lod)
{
   const VkFilter filter = linear ? VK_FILTER_LINEAR : VK_FILTER_NEAREST;
   const VkSamplerCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
      .magFilter = filter,
      .minFilter = filter,
      .addressModeU =
         border ? VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER : VK_SAMPLER_ADDRESS_MODE_REPEAT,
      .addressModeV = VK_SAMPLER_ADDRESS_MODE_REPEAT,
      .addressModeW = VK_SAMPLER_ADDRESS_MODE_REPEAT,
      .maxLod = max_lod,
   };
   VkSampler sampler;
   VKH_CHECK(vkCreateSampler(run->ctx->device, &info, NULL, &sampler));
   return sampler;
}

/* `sampler NAME [linear] [border] [max_lod=N]` */
void
run_create_sampler(struct run *run)
{
   bool linear = false, border = false;
   for (unsigned i = 2; run_has_word(run, i); i++) {
      linear |= strcmp(run_word(run, i), "linear") == 0;
      border |= strcmp(run_word(run, i), "border") == 0;
   }
   const unsigned max_lod = find_option(run, 2, "max_lod", (unsigned)VK_LOD_CLAMP_NONE);
   add_object(run, VK_OBJECT_TYPE_SAMPLER, run_word(run, 1),
              (uint64_t)run_make_sampler(run, linear, border, max_lod), true);
}

static void
destroy_object(struct run *run, struct run_view *object)
{
   VkDevice device = run->ctx->device;

   switch (object->type) {
   case VK_OBJECT_TYPE_IMAGE_VIEW:
      vkDestroyImageView(device, (VkImageView)object->handle, NULL);
      break;
   case VK_OBJECT_TYPE_BUFFER_VIEW:
      vkDestroyBufferView(device, (VkBufferView)object->handle, NULL);
      break;
   default:
      vkDestroySampler(device, (VkSampler)object->handle, NULL);
      break;
   }
   object->name = "";
   object->handle = 0;
}

static void
destroy_named(struct run *run, VkObjectType type, const char *name)
{
   struct run_view *object = find_object(run, type, name);
   if (!object)
      RUN_ERROR(run, "there is no such object as %s", name);
   destroy_object(run, object);
}

/* `destroy KIND NAME…` */
void
run_destroy(struct run *run)
{
   const char *kind = run_word(run, 1);
   VkDevice device = run->ctx->device;

   for (unsigned i = 2; run_has_word(run, i); i++) {
      const char *name = run_word(run, i);
      if (strcmp(kind, "view") == 0) {
         destroy_named(run, VK_OBJECT_TYPE_IMAGE_VIEW, name);
      } else if (strcmp(kind, "buffer_view") == 0) {
         destroy_named(run, VK_OBJECT_TYPE_BUFFER_VIEW, name);
      } else if (strcmp(kind, "sampler") == 0) {
         destroy_named(run, VK_OBJECT_TYPE_SAMPLER, name);
      } else if (strcmp(kind, "image") == 0) {
         struct run_image *image = run_find_image(run, name);
         vkDestroyImage(device, image->image, NULL);
         image->image = VK_NULL_HANDLE;
      } else if (strcmp(kind, "image_memory") == 0) {
         struct run_image *image = run_find_image(run, name);
         vkFreeMemory(device, image->memory, NULL);
         image->memory = VK_NULL_HANDLE;
      } else if (strcmp(kind, "buffer") == 0) {
         struct run_buffer *buffer = run_find_buffer(run, name);
         vkDestroyBuffer(device, buffer->vk.buffer, NULL);
         buffer->vk.buffer = VK_NULL_HANDLE;
      } else if (strcmp(kind, "buffer_memory") == 0) {
         struct run_buffer *buffer = run_find_buffer(run, name);
         vkFreeMemory(device, buffer->vk.memory, NULL);
         buffer->vk.memory = VK_NULL_HANDLE;
         buffer->vk.map = NULL;
      } else if (strcmp(kind, "pipeline") == 0) {
         run_destroy_pipeline(run, name);
      } else if (strcmp(kind, "command_buffer") == 0) {
         run_free_command_buffer(run, name);
      } else if (strcmp(kind, "structure") == 0) {
         VKH_PROC(run->ctx, vkDestroyAccelerationStructureKHR)(device, run->tlas, NULL);
         run->tlas = VK_NULL_HANDLE;
      } else {
         RUN_ERROR(run, "%s is nothing that can be destroyed", kind);
      }
   }
}

void
run_destroy_images(struct run *run)
{
   for (unsigned i = 0; i < run->object_count; i++) {
      if (run->objects[i].handle)
         destroy_object(run, &run->objects[i]);
   }
   for (unsigned i = 0; i < run->image_count; i++) {
      vkDestroyImage(run->ctx->device, run->images[i].image, NULL);
      if (!run->images[i].shares_memory)
         vkFreeMemory(run->ctx->device, run->images[i].memory, NULL);
   }
   free(run->objects);
   free(run->images);
}
