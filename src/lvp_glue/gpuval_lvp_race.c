/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_race.h"
#include "gpuval_lvp_private.h"
#include "gpuval_lvp_race_private.h"

#include "gpuval/src/base/gpuval_init.h"
#include "gpuval/src/gpuval.h"
#include "vk_image.h"
#include "vk_render_pass.h"

/* lavapipe has one. */
#define QUEUE 0

static void
report(void *data, const struct gpuval_race_use *use, const struct gpuval_race_use *other,
       const struct vk_object_base *object)
{
   gpuval_device_report_race(gpuval_lvp_device(data), use, other, object);
}

static size_t
rows_size(const struct gpuval_lvp_race *state)
{
   return GPUVAL_ORDER_MODEL_CLASSES * gpuval_submits_num_sources(state->submits) *
          sizeof(uint32_t);
}

struct gpuval_lvp_race *
gpuval_lvp_race_create(void *mem_ctx, struct gpuval_lvp *gpuval, struct gpuval_submits *submits)
{
   struct gpuval_lvp_race *state = rzalloc(mem_ctx, struct gpuval_lvp_race);

   state->gpuval = gpuval;
   state->submits = submits;
   state->race = gpuval_race_create(report, gpuval);
   state->ordered = rzalloc_size(state, rows_size(state));
   return state;
}

void
gpuval_lvp_race_destroy(struct gpuval_lvp_race *state)
{
   gpuval_race_destroy(state->race);
}

void
gpuval_lvp_race_forget(struct gpuval_lvp_race *state, uint64_t address, uint64_t size)
{
   gpuval_race_forget(state->race, address, size);
}

static void
flush(struct gpuval_lvp_race *state)
{
   gpuval_race_flush(state->race);
   state->before = NULL;
   state->waits = false;
}

void
gpuval_lvp_race_idle(struct gpuval_lvp_race *state)
{
   flush(state);
   if (state->serial >= GPUVAL_SUBMITS_RESTART && !gpuval_options_sync())
      gpuval_submits_restart(state->submits);
   state->rendering = NULL;
   state->pass = 0;
   state->recording++;
}

/* Uses */

struct gpuval_race_use
gpuval_lvp_race_use(struct gpuval_lvp_race *state, uint32_t command_id, unsigned class_,
                    bool is_write)
{
   uint64_t version = state->version;
   struct gpuval_race_use use = {
      .source = gpuval_order_source(QUEUE, class_),
      .serial = gpuval_submits_use(state->submits, QUEUE, &state->version, state->ordered),
      .command_id = command_id,
      .pass = state->pass,
      .recording = state->recording,
      .site = GPUVAL_RACE_NO_SITE,
      .op = is_write ? GPUVAL_OP_STORE : GPUVAL_OP_LOAD,
      .is_write = is_write,
   };

   if (use.serial < state->serial)
      gpuval_race_restart(state->race); /* sync has begun again */
   state->serial = use.serial;
   if (!state->before || state->version != version) {
      uint32_t *before = gpuval_race_alloc(state->race, rows_size(state));
      memcpy(before, state->ordered, rows_size(state));
      state->before = before;
   }
   return use;
}

const uint32_t *
gpuval_lvp_race_before(const struct gpuval_lvp_race *state, unsigned class_)
{
   return state->before + class_ * gpuval_submits_num_sources(state->submits);
}

struct visit {
   struct gpuval_race *race;
   VkImageAspectFlags aspects; /* the second of two addresses stands for stencil */
};

static void
note_subresource(void *data, uint64_t address, uint8_t bits)
{
   const struct visit *visit = data;

   if (!address)
      return;
   if (bits & GPUVAL_INIT_COLOR && visit->aspects & ~VK_IMAGE_ASPECT_STENCIL_BIT)
      gpuval_race_note_subresource(visit->race, address);
   if (bits & GPUVAL_INIT_STENCIL && visit->aspects & VK_IMAGE_ASPECT_STENCIL_BIT)
      gpuval_race_note_subresource(visit->race, address + 1);
}

/* A box that has all there is */
static bool
is_whole(const struct lvp_image *image, const VkImageSubresourceRange *range, const int32_t *begin,
         const int32_t *end)
{
   const VkExtent3D extent = vk_image_mip_level_extent(&image->vk, range->baseMipLevel);

   return begin[0] <= 0 && begin[1] <= 0 && begin[2] <= 0 && end[0] >= (int32_t)extent.width &&
          end[1] >= (int32_t)extent.height && end[2] >= (int32_t)extent.depth;
}

void
gpuval_lvp_race_image(struct gpuval_lvp_race *state, struct gpuval_race_use use,
                      const uint32_t *before, const struct lvp_image *image,
                      const VkImageSubresourceRange *range, const int32_t *begin,
                      const int32_t *end)
{
   struct visit visit = {state->race, image->vk.aspects};
   if (image->plane_count > 1)
      return; /* their texels are of several sizes */

   if (begin && !is_whole(image, range, begin, end)) {
      use.extent = GPUVAL_RACE_BOX;
      memcpy(use.begin, begin, sizeof(use.begin));
      memcpy(use.end, end, sizeof(use.end));
   }
   gpuval_race_note(state->race, &use, before, NULL, 0, &image->vk.base);
   gpuval_lvp_visit_image(image, range, note_subresource, &visit);
}

/* Commands */

static void
transfer(void *data, const struct gpuval_lvp_transfer *transfer)
{
   struct gpuval_lvp_race *state = data;
   const struct gpuval_race_use use = gpuval_lvp_race_use(
      state, gpuval_lvp_command_id(state->gpuval), GPUVAL_ORDER_TRANSFER, transfer->is_write);
   const uint32_t *before = gpuval_lvp_race_before(state, GPUVAL_ORDER_TRANSFER);

   if (transfer->image) {
      gpuval_lvp_race_image(state, use, before, transfer->image, &transfer->range,
                            transfer->has_box ? transfer->begin : NULL, transfer->end);
   } else if (!transfer->has_gaps) {
      gpuval_race_note(state->race, &use, before, NULL, 0, &transfer->buffer->vk.base);
      gpuval_race_note_bytes(state->race, (uintptr_t)transfer->buffer->map + transfer->offset,
                             transfer->size);
   }
}

/* Draws and store operations write none of these. */
static bool
is_read_only(const VkRenderingAttachmentInfo *info)
{
   return info->imageLayout == VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL ||
          info->imageLayout == VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL ||
          info->imageLayout == VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL ||
          info->imageLayout == VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL ||
          info->imageLayout == VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL ||
          info->imageLayout == VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL ||
          (info->storeOp == VK_ATTACHMENT_STORE_OP_NONE &&
           info->loadOp != VK_ATTACHMENT_LOAD_OP_CLEAR &&
           info->loadOp != VK_ATTACHMENT_LOAD_OP_DONT_CARE);
}

static void
note_layers(struct gpuval_lvp_race *state, const struct gpuval_race_use *use,
            const uint32_t *before, const struct gpuval_lvp_attachment *attachment,
            const VkRect2D *area, uint32_t layer, uint32_t count)
{
   const struct vk_image_view *view = &attachment->view->vk;
   const struct lvp_image *image = attachment->view->image;
   bool is_3d = image->vk.image_type == VK_IMAGE_TYPE_3D;
   const VkImageSubresourceRange range = {
      .aspectMask = attachment->aspects,
      .baseMipLevel = view->base_mip_level,
      .levelCount = 1,
      .baseArrayLayer = view->base_array_layer + layer,
      .layerCount = count,
   };
   int32_t z = is_3d ? view->base_array_layer + layer : 0;
   const int32_t begin[3] = {area->offset.x, area->offset.y, z};
   const int32_t end[3] = {area->offset.x + area->extent.width,
                           area->offset.y + area->extent.height, z + (is_3d ? count : 1)};

   gpuval_lvp_race_image(state, *use, before, image, &range, begin, end);
}

/* Depth is resolved as colors are. */
static void
attach(void *data, const struct gpuval_lvp_attachment *attachment)
{
   struct gpuval_lvp_race *state = data;
   const VkRect2D *area = &state->rendering->renderArea;
   bool is_color = attachment->aspects == VK_IMAGE_ASPECT_COLOR_BIT || attachment->is_resolve;
   unsigned class_ = is_color ? GPUVAL_ORDER_COLOR : GPUVAL_ORDER_DEPTH;
   bool is_write = attachment->is_resolve || !is_read_only(attachment->info);
   struct gpuval_race_use use =
      gpuval_lvp_race_use(state, state->rendering_command, class_, is_write);
   const uint32_t *before = gpuval_lvp_race_before(state, class_);

   if (attachment->info->loadOp == VK_ATTACHMENT_LOAD_OP_NONE && !use.is_write)
      return;
   use.goes_on = state->ends && !attachment->is_resolve;
   if (!attachment->has_views) {
      note_layers(state, &use, before, attachment, area, 0, attachment->layers);
      return;
   }
   u_foreach_bit (i, attachment->layers)
      note_layers(state, &use, before, attachment, area, i, 1);
}

static bool
is_subpass(const VkRenderingInfo *info)
{
   return info->flags & VK_RENDERING_INPUT_ATTACHMENT_NO_CONCURRENT_WRITES_BIT_MESA;
}

/* It uses them from begin to end. The runtime makes several renderings of a subpass where it
 * cannot clear an attachment otherwise: they are one pass, as nothing comes between them.
 */
static void
begin_rendering(struct gpuval_lvp_race *state, const VkRenderingInfo *info, bool follows)
{
   bool resumes = info->flags & VK_RENDERING_RESUMING_BIT || (follows && is_subpass(info));

   if (!resumes)
      state->num_passes++;
   state->pass = state->num_passes;
   state->rendering = info;
   state->rendering_command = gpuval_lvp_command_id(state->gpuval);
   gpuval_lvp_visit_attachments(info, false, attach, state);
}

static void
end_rendering(struct gpuval_lvp_race *state)
{
   const VkRenderingInfo *info = state->rendering;
   if (!info)
      return;

   state->ends = true;
   gpuval_lvp_visit_attachments(info, false, attach, state);
   if (!(info->flags & VK_RENDERING_SUSPENDING_BIT))
      gpuval_lvp_visit_attachments(info, true, attach, state);
   state->ends = false;
   state->has_ended_subpass = is_subpass(info);
   state->rendering = NULL;
   state->pass = 0;
}

/* A layout changes between the two scopes of its barrier, which is a write. What stands in the
 * same call counts together: subpass dependencies and the transitions for which there are
 * reach us as parts of one. With an empty first scope it is a matter of dispute what a wait
 * for a semaphore does for it: silent.
 */
static void
transition(struct gpuval_lvp_race *state, const VkDependencyInfo *info)
{
   VkPipelineStageFlags2 stages = gpuval_event_stages(info);
   struct gpuval_race_use use;
   uint32_t *before = NULL;

   if (!(stages & ~VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT))
      return;

   for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++) {
      const VkImageMemoryBarrier2 *barrier = &info->pImageMemoryBarriers[i];
      LVP_FROM_HANDLE(lvp_image, image, barrier->image);
      if (!image || barrier->oldLayout == barrier->newLayout ||
          barrier->srcQueueFamilyIndex != barrier->dstQueueFamilyIndex)
         continue;

      if (!before) {
         use = gpuval_lvp_race_use(state, gpuval_lvp_command_id(state->gpuval),
                                   GPUVAL_ORDER_TRANSITION, true);
         use.is_transition = true;
         before = gpuval_race_alloc(state->race,
                                    gpuval_submits_num_sources(state->submits) * sizeof(*before));
         use.serial = gpuval_submits_transition(state->submits, QUEUE, stages, before);
      }
      gpuval_lvp_race_image(state, use, before, image, &barrier->subresourceRange, NULL, NULL);
   }
}

void
gpuval_lvp_race_command(struct gpuval_lvp_race *state, const struct vk_cmd_queue_entry *command)
{
   bool follows = state->has_ended_subpass;

   if (state->waits)
      flush(state);
   state->has_ended_subpass = false;

   switch ((unsigned)command->type) {
   case VK_CMD_PIPELINE_BARRIER2:
      transition(state, command->u.pipeline_barrier2.dependency_info);
      state->waits = true;
      return;
   case VK_CMD_WAIT_EVENTS2:
      state->waits = true;
      return;
   case VK_CMD_BEGIN_RENDERING:
      begin_rendering(state, command->u.begin_rendering.rendering_info, follows);
      return;
   case VK_CMD_END_RENDERING:
      end_rendering(state);
      return;
   default:
      gpuval_lvp_visit_transfers(command, transfer, state);
      return;
   }
}
