/* SPDX-License-Identifier: MIT */

/* What load and store operations, draws and resolves write, leave undefined and read */

#include "gpuval_lvp.h"
#include "gpuval_lvp_private.h"
#include "gpuval_lvp_written_private.h"

#include "lvp_private.h"

#include "gpuval/src/core/gpuval_objects.h"
#include "vk_image.h"

static const struct lvp_image *
get_image(const struct gpuval_attachment *attachment)
{
   return container_of(attachment->view->image, struct lvp_image, vk);
}

/* It has anything now; but what is outside of the render area, or in other slices, stays. */
static void
forget_attachment(struct gpuval_lvp_written *state, const struct gpuval_attachment *attachment,
                  gpuval_lvp_visit_function function)
{
   const struct lvp_image *image = get_image(attachment);

   if (attachment->is_whole && image->vk.image_type != VK_IMAGE_TYPE_3D &&
       !gpuval_lvp_is_always_written(state, image))
      gpuval_lvp_visit_attachment(attachment, function, state);
}

/* Does a load operation read what nobody has written? */
static bool
is_unwritten(const struct gpuval_lvp_written *state, const struct gpuval_attachment *attachment)
{
   const struct vk_image_view *view = attachment->view;
   const struct lvp_image *image = get_image(attachment);
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
report_load(struct gpuval_lvp_written *state, const struct gpuval_attachment *attachment)
{
   const struct vk_image_view *view = attachment->view;
   struct gpuval_command_failure failure = {
      .kind = GPUVAL_KIND_UNINITIALIZED_READ,
      .op = GPUVAL_OP_LOAD,
      .part = attachment->number,
      .count = 1,
      .range =
         {
            .type = "attachment",
            .binding = -1,
            .object_id = view->image->base.gpuval_id,
            .is_image = true,
         },
   };
   snprintf(failure.detail, sizeof(failure.detail),
            "the load operation of %s reads level %u, layer %u, where nothing was ever written",
            attachment->name, view->base_mip_level, view->base_array_layer);
   gpuval_lvp_report(state->gpuval, &failure);
}

static void
load(void *data, const struct gpuval_attachment *attachment)
{
   struct gpuval_lvp_written *state = data;

   switch (attachment->info->loadOp) {
   case VK_ATTACHMENT_LOAD_OP_LOAD:
      if (is_unwritten(state, attachment))
         report_load(state, attachment);
      break;
   case VK_ATTACHMENT_LOAD_OP_CLEAR:
      gpuval_lvp_visit_attachment(attachment, gpuval_lvp_written_set, state);
      break;
   case VK_ATTACHMENT_LOAD_OP_DONT_CARE:
      forget_attachment(state, attachment, gpuval_lvp_written_clear);
      break;
   default:
      break;
   }
}

static void
set_written(void *data, const struct gpuval_attachment *attachment)
{
   gpuval_lvp_visit_attachment(attachment, gpuval_lvp_written_set, data);
}

/* What still runs may read it. */
static void
store(void *data, const struct gpuval_attachment *attachment)
{
   if (attachment->info->storeOp == VK_ATTACHMENT_STORE_OP_DONT_CARE)
      forget_attachment(data, attachment, gpuval_lvp_written_clear_later);
}

void
gpuval_lvp_written_begin_rendering(struct gpuval_lvp_written *state, const VkRenderingInfo *info)
{
   state->rendering = info;
   state->has_drawn = false;
   if (!(info->flags & VK_RENDERING_RESUMING_BIT))
      gpuval_visit_attachments(info, false, load, state);
}

void
gpuval_lvp_written_end_rendering(struct gpuval_lvp_written *state)
{
   if (state->rendering && !(state->rendering->flags & VK_RENDERING_SUSPENDING_BIT)) {
      gpuval_visit_attachments(state->rendering, false, store, state);
      gpuval_visit_attachments(state->rendering, true, set_written, state);
   }
   state->rendering = NULL;
}

void
gpuval_lvp_written_draw(struct gpuval_lvp_written *state)
{
   if (state->rendering)
      gpuval_visit_attachments(state->rendering, false, set_written, state);
}
