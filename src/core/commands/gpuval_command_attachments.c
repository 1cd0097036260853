/* SPDX-License-Identifier: MIT */

#include "gpuval_command_attachments.h"

#include <stdio.h>

#include "util/bitscan.h"
#include "vk_image.h"

static void
visit(const VkRenderingInfo *info, const VkRenderingAttachmentInfo *from,
      VkImageAspectFlags aspects, const char *name, uint32_t number, bool is_resolve,
      gpuval_attachment_function function, void *data)
{
   VkImageView handle = !from                                  ? VK_NULL_HANDLE
                        : !is_resolve                          ? from->imageView
                        : from->imageView && from->resolveMode ? from->resolveImageView
                                                               : VK_NULL_HANDLE;
   if (!handle)
      return;

   VK_FROM_HANDLE(vk_image_view, view, handle);
   const VkRect2D *area = &info->renderArea;
   function(data, &(struct gpuval_attachment){
                     .info = from,
                     .view = view,
                     .name = name,
                     .aspects = aspects,
                     .number = number,
                     .layers = info->viewMask ? info->viewMask : info->layerCount,
                     .has_views = info->viewMask,
                     .is_whole = !area->offset.x && !area->offset.y &&
                                 area->extent.width >= view->extent.width &&
                                 area->extent.height >= view->extent.height,
                     .is_resolve = is_resolve,
                  });
}

void
gpuval_visit_attachments(const VkRenderingInfo *info, bool is_resolve,
                         gpuval_attachment_function function, void *data)
{
   char name[32];

   for (uint32_t i = 0; i < info->colorAttachmentCount; i++) {
      snprintf(name, sizeof(name), "color attachment %u", i);
      visit(info, &info->pColorAttachments[i], VK_IMAGE_ASPECT_COLOR_BIT, name, i, is_resolve,
            function, data);
   }
   visit(info, info->pDepthAttachment, VK_IMAGE_ASPECT_DEPTH_BIT, "the depth attachment",
         UINT32_MAX, is_resolve, function, data);
   visit(info, info->pStencilAttachment, VK_IMAGE_ASPECT_STENCIL_BIT, "the stencil attachment",
         UINT32_MAX - 1, is_resolve, function, data);
}

void
gpuval_visit_attachment(const struct gpuval_attachment *attachment, gpuval_range_function function,
                        void *data)
{
   const struct vk_image_view *view = attachment->view;
   VkImageSubresourceRange range = {
      .aspectMask = attachment->aspects,
      .baseMipLevel = view->base_mip_level,
      .levelCount = 1,
      .baseArrayLayer = view->base_array_layer,
      .layerCount = attachment->layers,
   };

   if (!attachment->has_views) {
      function(data, &range);
      return;
   }
   u_foreach_bit (i, attachment->layers) {
      range.baseArrayLayer = view->base_array_layer + i;
      range.layerCount = 1;
      function(data, &range);
   }
}

/* Bits: of depth and stencil the highest */
#define DEPTH_BIT   BITFIELD_BIT(31)
#define STENCIL_BIT BITFIELD_BIT(30)

static uint32_t
color_bit(uint32_t number)
{
   return BITFIELD_BIT(MIN2(number, 29));
}

uint32_t
gpuval_attachment_bit(const struct gpuval_attachment *attachment)
{
   return attachment->aspects == VK_IMAGE_ASPECT_COLOR_BIT     ? color_bit(attachment->number)
          : attachment->aspects == VK_IMAGE_ASPECT_STENCIL_BIT ? STENCIL_BIT
                                                               : DEPTH_BIT;
}

uint32_t
gpuval_cleared_attachments(uint32_t count, const VkClearAttachment *cleared)
{
   uint32_t bits = 0;

   for (uint32_t i = 0; i < count; i++) {
      if (cleared[i].aspectMask & VK_IMAGE_ASPECT_COLOR_BIT &&
          cleared[i].colorAttachment != VK_ATTACHMENT_UNUSED)
         bits |= color_bit(cleared[i].colorAttachment);
      if (cleared[i].aspectMask & VK_IMAGE_ASPECT_DEPTH_BIT)
         bits |= DEPTH_BIT;
      if (cleared[i].aspectMask & VK_IMAGE_ASPECT_STENCIL_BIT)
         bits |= STENCIL_BIT;
   }
   return bits;
}

/* Accesses */

struct stage_access {
   VkPipelineStageFlags2 stages;
   VkAccessFlags2 access; /* 0: none */
};

static bool
is_read_only(const struct gpuval_attachment *attachment)
{
   switch (attachment->info->imageLayout) {
   case VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL:
   case VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL:
   case VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL:
   case VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL:
      return true;
   case VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL:
      return attachment->aspects == VK_IMAGE_ASPECT_DEPTH_BIT;
   case VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL:
      return attachment->aspects == VK_IMAGE_ASPECT_STENCIL_BIT;
   default:
      return false;
   }
}

/* "Render Pass Load Operations", "Render Pass Store Operations", "Render Pass Multisample Resolve
 * Operations": depth and stencil are loaded with early tests, stored with late ones, and resolved
 * as colors are. NONE accesses nothing.
 */
static struct stage_access
get_color_access(const struct gpuval_attachment *attachment, enum gpuval_attachment_event event)
{
   struct stage_access color = {.stages = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT};
   const VkAccessFlags2 read = VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT;
   const VkAccessFlags2 write = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT;

   switch (event) {
   case GPUVAL_ATTACHMENT_LOAD:
      color.access = attachment->info->loadOp == VK_ATTACHMENT_LOAD_OP_NONE   ? 0
                     : attachment->info->loadOp == VK_ATTACHMENT_LOAD_OP_LOAD ? read
                                                                              : write;
      break;
   case GPUVAL_ATTACHMENT_STORE:
      color.access = attachment->info->storeOp == VK_ATTACHMENT_STORE_OP_NONE ? 0 : write;
      break;
   case GPUVAL_ATTACHMENT_DRAW:
   case GPUVAL_ATTACHMENT_CLEAR:
   case GPUVAL_ATTACHMENT_RESOLVE_TO:
      color.access = write;
      break;
   case GPUVAL_ATTACHMENT_RESOLVE_FROM:
      color.access = read;
      break;
   }
   return color;
}

static struct stage_access
get_depth_access(const struct gpuval_attachment *attachment, enum gpuval_attachment_event event)
{
   const VkPipelineStageFlags2 early = VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT;
   const VkPipelineStageFlags2 late = VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT;
   const VkAccessFlags2 read = VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT;
   const VkAccessFlags2 write = VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT;

   switch (event) {
   case GPUVAL_ATTACHMENT_LOAD:
      return (struct stage_access){
         .stages = early,
         .access = attachment->info->loadOp == VK_ATTACHMENT_LOAD_OP_NONE   ? 0
                   : attachment->info->loadOp == VK_ATTACHMENT_LOAD_OP_LOAD ? read
                                                                            : write,
      };
   case GPUVAL_ATTACHMENT_STORE:
      return (struct stage_access){
         .stages = late,
         .access =
            attachment->info->storeOp == VK_ATTACHMENT_STORE_OP_NONE || is_read_only(attachment)
               ? 0
               : write,
      };
   case GPUVAL_ATTACHMENT_DRAW:
      /* Which of the two stages a test is in depends on the fragment shader. */
      return (struct stage_access){early | late, is_read_only(attachment) ? read : write};
   case GPUVAL_ATTACHMENT_CLEAR:
      return (struct stage_access){early | late, write};
   default:
      return get_color_access(attachment, event);
   }
}

struct attachment_visit {
   const struct gpuval_attachment *attachment;
   const VkRect2D *area;
   struct stage_access how;
   gpuval_access_function function;
   void *data;
};

static void
visit_accessed_range(void *data, const VkImageSubresourceRange *range)
{
   const struct attachment_visit *visit = data;
   const struct vk_image *image = visit->attachment->view->image;
   const VkRect2D *area = visit->area;
   bool is_3d = image->image_type == VK_IMAGE_TYPE_3D;
   int32_t z = is_3d ? range->baseArrayLayer : 0;

   visit->function(visit->data, &(struct gpuval_command_access){
                                   .stages = visit->how.stages,
                                   .access = visit->how.access,
                                   .image = image,
                                   .range = *range,
                                   .has_box = true,
                                   .begin = {area->offset.x, area->offset.y, z},
                                   .end = {area->offset.x + area->extent.width,
                                           area->offset.y + area->extent.height,
                                           z + (is_3d ? range->layerCount : 1)},
                                });
}

void
gpuval_visit_attachment_accesses(const struct gpuval_attachment *attachment, const VkRect2D *area,
                                 enum gpuval_attachment_event event,
                                 gpuval_access_function function, void *data)
{
   struct attachment_visit visit = {
      .attachment = attachment,
      .area = area,
      .how = attachment->aspects == VK_IMAGE_ASPECT_COLOR_BIT ? get_color_access(attachment, event)
                                                              : get_depth_access(attachment, event),
      .function = function,
      .data = data,
   };

   if (visit.how.access)
      gpuval_visit_attachment(attachment, visit_accessed_range, &visit);
}
