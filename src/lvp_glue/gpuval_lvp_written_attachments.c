/* SPDX-License-Identifier: MIT */

/* What load and store operations, draws and resolves write, leave undefined and read */

#include "gpuval_lvp.h"
#include "gpuval_lvp_private.h"
#include "gpuval_lvp_written_private.h"

#include "lvp_private.h"

#include "gpuval/src/core/gpuval_objects.h"
#include "vk_image.h"

struct attachment {
   const struct lvp_image_view *view;
   VkImageAspectFlags aspects;
   uint32_t layers; /* their number, or with views a bit each */
   bool has_views;
   bool is_whole; /* the render area is all of it */
   const char *name;
};

static void
visit_attachment(struct gpuval_lvp_written *state, const struct attachment *attachment,
                 gpuval_lvp_visit_function function)
{
   const struct vk_image_view *view = &attachment->view->vk;
   const struct lvp_image *image = attachment->view->image;

   if (!attachment->has_views) {
      gpuval_lvp_visit_subresources(state, image, attachment->aspects, view->base_mip_level, 1,
                                    view->base_array_layer, attachment->layers, function);
      return;
   }
   u_foreach_bit (i, attachment->layers)
      gpuval_lvp_visit_subresources(state, image, attachment->aspects, view->base_mip_level, 1,
                                    view->base_array_layer + i, 1, function);
}

/* It has anything now; but what is outside of the render area, or in other slices, stays. */
static void
forget_attachment(struct gpuval_lvp_written *state, const struct attachment *attachment,
                  gpuval_lvp_visit_function function)
{
   const struct lvp_image *image = attachment->view->image;

   if (attachment->is_whole && image->vk.image_type != VK_IMAGE_TYPE_3D &&
       !gpuval_lvp_is_always_written(state, image))
      visit_attachment(state, attachment, function);
}

/* Does a load operation read what nobody has written? */
static bool
is_unwritten(const struct gpuval_lvp_written *state, const struct attachment *attachment)
{
   const struct vk_image_view *view = &attachment->view->vk;
   const struct lvp_image *image = attachment->view->image;
   uint8_t bits = gpuval_lvp_aspect_bits(image, attachment->aspects);
   uint32_t count = image->vk.image_type == VK_IMAGE_TYPE_3D ? 1
                    : attachment->has_views                  ? util_last_bit(attachment->layers)
                                                             : attachment->layers;

   for (uint32_t i = 0; i < count; i++) {
      if (attachment->has_views && !(attachment->layers & BITFIELD_BIT(i)))
         continue;
      uint64_t address =
         gpuval_lvp_subresource_address(image, 0, view->base_mip_level, view->base_array_layer + i);
      if (!(gpuval_written_get(state->written, address) & bits))
         return true;
   }
   return false;
}

static void
report_load(struct gpuval_lvp_written *state, const struct attachment *attachment, uint32_t number)
{
   const struct vk_image_view *view = &attachment->view->vk;
   struct gpuval_command_failure failure = {
      .kind = GPUVAL_KIND_UNINITIALIZED_READ,
      .op = GPUVAL_OP_LOAD,
      .part = number,
      .count = 1,
      .range =
         {
            .type = "attachment",
            .binding = -1,
            .object = &attachment->view->image->vk.base,
            .is_image = true,
         },
   };
   snprintf(failure.detail, sizeof(failure.detail),
            "the load operation of %s reads level %u, layer %u, where nothing was ever written",
            attachment->name, view->base_mip_level, view->base_array_layer);
   gpuval_lvp_report(state->gpuval, &failure);
}

/* Has it a view, and which? */
static bool
get_attachment(const VkRenderingInfo *info, const VkRenderingAttachmentInfo *from,
               VkImageView handle, VkImageAspectFlags aspects, struct attachment *attachment)
{
   if (!from || !handle)
      return false;

   const VkRect2D *area = &info->renderArea;
   const struct lvp_image_view *view = lvp_image_view_from_handle(handle);
   *attachment = (struct attachment){
      .view = view,
      .aspects = aspects,
      .layers = info->viewMask ? info->viewMask : info->layerCount,
      .has_views = info->viewMask,
      .is_whole = !area->offset.x && !area->offset.y &&
                  area->extent.width >= view->vk.extent.width &&
                  area->extent.height >= view->vk.extent.height,
   };
   return true;
}

typedef void (*attachment_function)(struct gpuval_lvp_written *state,
                                    const VkRenderingAttachmentInfo *info,
                                    struct attachment *attachment, uint32_t number);

static void
foreach_attachment(struct gpuval_lvp_written *state, attachment_function function)
{
   const VkRenderingInfo *info = state->rendering;
   struct attachment attachment;
   char name[32];

   for (uint32_t i = 0; info && i < info->colorAttachmentCount; i++) {
      const VkRenderingAttachmentInfo *color = &info->pColorAttachments[i];
      if (!get_attachment(info, color, color->imageView, VK_IMAGE_ASPECT_COLOR_BIT, &attachment))
         continue;
      snprintf(name, sizeof(name), "color attachment %u", i);
      attachment.name = name;
      function(state, color, &attachment, i);
   }
   if (!info)
      return;

   const VkRenderingAttachmentInfo *depth = info->pDepthAttachment;
   if (get_attachment(info, depth, depth ? depth->imageView : VK_NULL_HANDLE,
                      VK_IMAGE_ASPECT_DEPTH_BIT, &attachment)) {
      attachment.name = "the depth attachment";
      function(state, depth, &attachment, UINT32_MAX);
   }
   const VkRenderingAttachmentInfo *stencil = info->pStencilAttachment;
   if (get_attachment(info, stencil, stencil ? stencil->imageView : VK_NULL_HANDLE,
                      VK_IMAGE_ASPECT_STENCIL_BIT, &attachment)) {
      attachment.name = "the stencil attachment";
      function(state, stencil, &attachment, UINT32_MAX - 1);
   }
}

static void
load(struct gpuval_lvp_written *state, const VkRenderingAttachmentInfo *info,
     struct attachment *attachment, uint32_t number)
{
   switch (info->loadOp) {
   case VK_ATTACHMENT_LOAD_OP_LOAD:
      if (is_unwritten(state, attachment))
         report_load(state, attachment, number);
      break;
   case VK_ATTACHMENT_LOAD_OP_CLEAR:
      visit_attachment(state, attachment, gpuval_written_set);
      break;
   case VK_ATTACHMENT_LOAD_OP_DONT_CARE:
      forget_attachment(state, attachment, gpuval_written_clear);
      break;
   default:
      break;
   }
}

static void
draw(struct gpuval_lvp_written *state, const VkRenderingAttachmentInfo *info,
     struct attachment *attachment, uint32_t number)
{
   visit_attachment(state, attachment, gpuval_written_set);
}

/* What still runs may read it. */
static void
store(struct gpuval_lvp_written *state, const VkRenderingAttachmentInfo *info,
      struct attachment *attachment, uint32_t number)
{
   struct attachment resolved;

   if (info->storeOp == VK_ATTACHMENT_STORE_OP_DONT_CARE)
      forget_attachment(state, attachment, gpuval_written_clear_later);
   if (info->resolveMode && get_attachment(state->rendering, info, info->resolveImageView,
                                           attachment->aspects, &resolved))
      visit_attachment(state, &resolved, gpuval_written_set);
}

void
gpuval_lvp_written_begin_rendering(struct gpuval_lvp_written *state, const VkRenderingInfo *info)
{
   state->rendering = info;
   state->has_drawn = false;
   if (!(info->flags & VK_RENDERING_RESUMING_BIT))
      foreach_attachment(state, load);
}

void
gpuval_lvp_written_end_rendering(struct gpuval_lvp_written *state)
{
   if (state->rendering && !(state->rendering->flags & VK_RENDERING_SUSPENDING_BIT))
      foreach_attachment(state, store);
   state->rendering = NULL;
}

void
gpuval_lvp_written_draw(struct gpuval_lvp_written *state)
{
   foreach_attachment(state, draw);
}
