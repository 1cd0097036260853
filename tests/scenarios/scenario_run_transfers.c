/* SPDX-License-Identifier: MIT */

/*
 * What writes images, but for shaders: clears, copies, blits, resolves, and rendering to
 * a view of one's own; and what makes them unwritten again. A subresource is
 * `IMAGE[@LEVEL[.LAYER]]`: without a level, or a layer, all of them where the command can,
 * else the first one.
 */

#include "scenario_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct subresource {
   const struct run_image *image;
   bool has_level, has_layer;
   uint32_t level, layer;
   VkImageAspectFlags aspects;
};

static const char *
find_option(struct run *run, const char *key)
{
   const size_t length = strlen(key);
   for (unsigned i = 1; run_has_word(run, i); i++) {
      const char *word = run_word(run, i);
      if (strncmp(word, key, length) == 0 && word[length] == '=')
         return word + length + 1;
   }
   return NULL;
}

static struct subresource
find_subresource(struct run *run, unsigned word)
{
   char name[64];
   snprintf(name, sizeof(name), "%s", run_word(run, word));
   char *level = strchr(name, '@');
   char *layer = level ? strchr(level, '.') : NULL;
   if (level)
      *level++ = '\0';
   if (layer)
      *layer++ = '\0';

   struct subresource found = {
      .image = run_find_image(run, name),
      .has_level = level,
      .has_layer = layer,
      .level = level ? (uint32_t)atoi(level) : 0,
      .layer = layer ? (uint32_t)atoi(layer) : 0,
   };
   const char *aspect = find_option(run, "aspect");
   found.aspects = aspect && strcmp(aspect, "depth") == 0     ? VK_IMAGE_ASPECT_DEPTH_BIT
                   : aspect && strcmp(aspect, "stencil") == 0 ? VK_IMAGE_ASPECT_STENCIL_BIT
                                                              : run_image_aspects(found.image);
   return found;
}

static VkImageSubresourceRange
get_range(const struct subresource *subresource)
{
   return (VkImageSubresourceRange){
      .aspectMask = subresource->aspects,
      .baseMipLevel = subresource->level,
      .levelCount = subresource->has_level ? 1 : VK_REMAINING_MIP_LEVELS,
      .baseArrayLayer = subresource->layer,
      .layerCount = subresource->has_layer ? 1 : VK_REMAINING_ARRAY_LAYERS,
   };
}

static VkImageSubresourceLayers
get_layers(const struct subresource *subresource)
{
   return (VkImageSubresourceLayers){
      .aspectMask = subresource->aspects,
      .mipLevel = subresource->level,
      .baseArrayLayer = subresource->layer,
      .layerCount = 1,
   };
}

/* `extent=WxH`, `at=X,Y`: of what is copied, on both sides; else one texel */
struct box {
   VkOffset3D begin, end;
   VkExtent3D extent;
};

static struct box
get_box(struct run *run)
{
   const char *extent = find_option(run, "extent");
   const char *at = find_option(run, "at");
   unsigned width = 1, height = 1, x = 0, y = 0;
   if ((extent && sscanf(extent, "%ux%u", &width, &height) != 2) ||
       (at && sscanf(at, "%u,%u", &x, &y) != 2))
      RUN_ERROR(run, "extent=WxH at=X,Y");
   return (struct box){
      .begin = {(int32_t)x, (int32_t)y, 0},
      .end = {(int32_t)(x + width), (int32_t)(y + height), 1},
      .extent = {width, height, 1},
   };
}

/* `clear_image IMAGE[@LEVEL[.LAYER]] [aspect=depth|stencil]` */
void
run_clear_image(struct run *run)
{
   const struct subresource image = find_subresource(run, 1);
   const VkImageSubresourceRange range = get_range(&image);
   VkCommandBuffer cmd = run_need_commands(run);

   if (range.aspectMask == VK_IMAGE_ASPECT_COLOR_BIT)
      vkCmdClearColorImage(cmd, image.image->image, VK_IMAGE_LAYOUT_GENERAL,
                           &(VkClearColorValue){{0.0f}}, 1, &range);
   else
      vkCmdClearDepthStencilImage(cmd, image.image->image, VK_IMAGE_LAYOUT_GENERAL,
                                  &(VkClearDepthStencilValue){0.0f, 0}, 1, &range);
}

/* `discard_image IMAGE[@LEVEL[.LAYER]]`: a barrier with a transition from UNDEFINED */
void
run_discard_image(struct run *run)
{
   const struct subresource image = find_subresource(run, 1);

   run_transition_image(run_need_commands(run), image.image, get_range(&image));
}

/* `copy_image FROM TO` */
void
run_copy_image(struct run *run)
{
   const struct subresource from = find_subresource(run, 1), to = find_subresource(run, 2);
   const struct box box = get_box(run);
   const VkImageCopy region = {
      .srcSubresource = get_layers(&from),
      .srcOffset = box.begin,
      .dstSubresource = get_layers(&to),
      .dstOffset = box.begin,
      .extent = box.extent,
   };

   vkCmdCopyImage(run_need_commands(run), from.image->image, VK_IMAGE_LAYOUT_GENERAL,
                  to.image->image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
}

/* `blit_image FROM TO` */
void
run_blit_image(struct run *run)
{
   const struct subresource from = find_subresource(run, 1), to = find_subresource(run, 2);
   const struct box box = get_box(run);
   const VkImageBlit region = {
      .srcSubresource = get_layers(&from),
      .srcOffsets = {box.begin, box.end},
      .dstSubresource = get_layers(&to),
      .dstOffsets = {box.begin, box.end},
   };

   vkCmdBlitImage(run_need_commands(run), from.image->image, VK_IMAGE_LAYOUT_GENERAL,
                  to.image->image, VK_IMAGE_LAYOUT_GENERAL, 1, &region, VK_FILTER_NEAREST);
}

/* `resolve_image FROM TO` */
void
run_resolve_image(struct run *run)
{
   const struct subresource from = find_subresource(run, 1), to = find_subresource(run, 2);
   const struct box box = get_box(run);
   const VkImageResolve region = {
      .srcSubresource = get_layers(&from),
      .srcOffset = box.begin,
      .dstSubresource = get_layers(&to),
      .dstOffset = box.begin,
      .extent = box.extent,
   };

   vkCmdResolveImage(run_need_commands(run), from.image->image, VK_IMAGE_LAYOUT_GENERAL,
                     to.image->image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
}

static VkBufferImageCopy
get_region(struct run *run, const struct subresource *image, uint64_t offset)
{
   const struct box box = get_box(run);

   return (VkBufferImageCopy){
      .bufferOffset = offset,
      .imageSubresource = get_layers(image),
      .imageOffset = box.begin,
      .imageExtent = box.extent,
   };
}

/* `copy_to_image BUFFER OFFSET IMAGE` */
void
run_copy_to_image(struct run *run)
{
   const struct subresource image = find_subresource(run, 3);
   const VkBufferImageCopy region = get_region(run, &image, run_number(run, 2));

   vkCmdCopyBufferToImage(run_need_commands(run), run_find_buffer(run, run_word(run, 1))->vk.buffer,
                          image.image->image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
}

/* `copy_from_image IMAGE BUFFER OFFSET` */
void
run_copy_from_image(struct run *run)
{
   const struct subresource image = find_subresource(run, 1);
   const VkBufferImageCopy region = get_region(run, &image, run_number(run, 3));

   vkCmdCopyImageToBuffer(run_need_commands(run), image.image->image, VK_IMAGE_LAYOUT_GENERAL,
                          run_find_buffer(run, run_word(run, 2))->vk.buffer, 1, &region);
}

/* By the host, while it executes the statement: one texel, or `extent=WxH`, `at=X,Y`, of zeros */

/* `host_copy_to_image IMAGE` */
void
run_host_copy_to_image(struct run *run)
{
   static const uint8_t zeros[64 * 64 * 16];
   const struct subresource image = find_subresource(run, 1);
   const struct box box = get_box(run);
   const VkMemoryToImageCopyEXT region = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_TO_IMAGE_COPY_EXT,
      .pHostPointer = zeros,
      .imageSubresource = get_layers(&image),
      .imageOffset = box.begin,
      .imageExtent = box.extent,
   };
   const VkCopyMemoryToImageInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INFO_EXT,
      .dstImage = image.image->image,
      .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL,
      .regionCount = 1,
      .pRegions = &region,
   };

   if (box.extent.width > 64 || box.extent.height > 64)
      RUN_ERROR(run, "64x64 at most");
   VKH_CHECK(VKH_PROC(run->ctx, vkCopyMemoryToImageEXT)(run->ctx->device, &info));
}

/* `host_copy_from_image IMAGE` */
void
run_host_copy_from_image(struct run *run)
{
   static uint8_t texels[64 * 64 * 16];
   const struct subresource image = find_subresource(run, 1);
   const struct box box = get_box(run);
   const VkImageToMemoryCopyEXT region = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_TO_MEMORY_COPY_EXT,
      .pHostPointer = texels,
      .imageSubresource = get_layers(&image),
      .imageOffset = box.begin,
      .imageExtent = box.extent,
   };
   const VkCopyImageToMemoryInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_MEMORY_INFO_EXT,
      .srcImage = image.image->image,
      .srcImageLayout = VK_IMAGE_LAYOUT_GENERAL,
      .regionCount = 1,
      .pRegions = &region,
   };

   if (box.extent.width > 64 || box.extent.height > 64)
      RUN_ERROR(run, "64x64 at most");
   VKH_CHECK(VKH_PROC(run->ctx, vkCopyImageToMemoryEXT)(run->ctx->device, &info));
}

/* `host_copy_image FROM TO` */
void
run_host_copy_image(struct run *run)
{
   const struct subresource from = find_subresource(run, 1), to = find_subresource(run, 2);
   const struct box box = get_box(run);
   const VkImageCopy2 region = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_COPY_2,
      .srcSubresource = get_layers(&from),
      .srcOffset = box.begin,
      .dstSubresource = get_layers(&to),
      .dstOffset = box.begin,
      .extent = box.extent,
   };
   const VkCopyImageToImageInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_IMAGE_INFO_EXT,
      .srcImage = from.image->image,
      .srcImageLayout = VK_IMAGE_LAYOUT_GENERAL,
      .dstImage = to.image->image,
      .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL,
      .regionCount = 1,
      .pRegions = &region,
   };

   VKH_CHECK(VKH_PROC(run->ctx, vkCopyImageToImageEXT)(run->ctx->device, &info));
}

/* `host_discard_image IMAGE`: a transition from UNDEFINED */
void
run_host_discard_image(struct run *run)
{
   const struct subresource image = find_subresource(run, 1);
   const VkHostImageLayoutTransitionInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_HOST_IMAGE_LAYOUT_TRANSITION_INFO_EXT,
      .image = image.image->image,
      .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
      .newLayout = VK_IMAGE_LAYOUT_GENERAL,
      .subresourceRange = get_range(&image),
   };

   VKH_CHECK(VKH_PROC(run->ctx, vkTransitionImageLayoutEXT)(run->ctx->device, 1, &info));
}

static bool
has_choice(struct run *run, const char *key, const char *value)
{
   const char *found = find_option(run, key);
   return found && strcmp(found, value) == 0;
}

/* `begin_target VIEW WxH [load=clear|dont_care|none] [store=dont_care|none] [resolve=VIEW]
 * [contents=secondaries]`: else both keep what there is
 */
void
run_begin_target(struct run *run)
{
   unsigned width, height;
   if (sscanf(run_word(run, 2), "%ux%u", &width, &height) != 2)
      RUN_ERROR(run, "'%s' is not WxH", run_word(run, 2));

   const char *resolve = find_option(run, "resolve");
   const VkRenderingAttachmentInfo attachment = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
      .imageView = (VkImageView)run_find_view(run, VK_OBJECT_TYPE_IMAGE_VIEW, run_word(run, 1)),
      .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
      .resolveMode = resolve ? VK_RESOLVE_MODE_AVERAGE_BIT : VK_RESOLVE_MODE_NONE,
      .resolveImageView = resolve
                             ? (VkImageView)run_find_view(run, VK_OBJECT_TYPE_IMAGE_VIEW, resolve)
                             : VK_NULL_HANDLE,
      .resolveImageLayout = VK_IMAGE_LAYOUT_GENERAL,
      .loadOp = has_choice(run, "load", "clear")       ? VK_ATTACHMENT_LOAD_OP_CLEAR
                : has_choice(run, "load", "dont_care") ? VK_ATTACHMENT_LOAD_OP_DONT_CARE
                : has_choice(run, "load", "none")      ? VK_ATTACHMENT_LOAD_OP_NONE
                                                       : VK_ATTACHMENT_LOAD_OP_LOAD,
      .storeOp = has_choice(run, "store", "dont_care") ? VK_ATTACHMENT_STORE_OP_DONT_CARE
                 : has_choice(run, "store", "none")    ? VK_ATTACHMENT_STORE_OP_NONE
                                                       : VK_ATTACHMENT_STORE_OP_STORE,
   };
   const bool is_depth = find_option(run, "depth");
   const VkRenderingInfo info = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
      .flags = has_choice(run, "contents", "secondaries")
                  ? VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT
                  : 0,
      .renderArea.extent = {width, height},
      .layerCount = 1,
      .colorAttachmentCount = is_depth ? 0 : 1,
      .pColorAttachments = &attachment,
      .pDepthAttachment = is_depth ? &attachment : NULL,
   };

   run_end_rendering(run);
   vkCmdBeginRendering(run_need_commands(run), &info);
   vkh_set_viewport(run->cmd, width, height);
   run->in_pass = true;
}

/* `clear_attachment WxH [depth]`: of the target that begin_target has begun */
void
run_clear_attachment(struct run *run)
{
   unsigned width, height;
   if (sscanf(run_word(run, 1), "%ux%u", &width, &height) != 2)
      RUN_ERROR(run, "'%s' is not WxH", run_word(run, 1));

   const bool is_depth = run_has_word(run, 2);
   const VkClearAttachment attachment = {
      .aspectMask = is_depth ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_COLOR_BIT,
   };
   const VkClearRect rect = {.rect.extent = {width, height}, .layerCount = 1};
   vkCmdClearAttachments(run_need_commands(run), 1, &attachment, 1, &rect);
}

void
run_end_target(struct run *run)
{
   vkCmdEndRendering(run->cmd);
   run->in_pass = false;
}
