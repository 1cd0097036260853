/* SPDX-License-Identifier: MIT */

#include "gpuval_init_commands.h"

#include "util/ralloc.h"
#include "vk_image.h"

struct gpuval_init_commands {
   const struct gpuval_init_memory *memory;
   void *data;

   bool is_drawing; /* the command that is visited draws to attachments, */
   bool has_drawn;  /* or an earlier one of this rendering has */
};

struct gpuval_init_commands *
gpuval_init_commands_create(void *mem_ctx, const struct gpuval_init_memory *memory, void *data)
{
   struct gpuval_init_commands *init = rzalloc(mem_ctx, struct gpuval_init_commands);

   init->memory = memory;
   init->data = data;
   return init;
}

static void
note_access(void *data, const struct gpuval_command_access *access)
{
   struct gpuval_init_commands *init = data;

   if (!gpuval_access_is_write(access))
      return;
   if (access->image)
      init->memory->write_image(init->data, access->image, &access->range);
   else if (access->buffer)
      init->memory->write_buffer(init->data, access->buffer, access->offset, access->size);
   else if (!access->has_gaps || init->memory->takes_gaps)
      init->memory->write_address(init->data, access->address, access->size);
}

/* Attachments */

struct attachment_visit {
   struct gpuval_init_commands *init;
   const struct vk_image *image;
   enum { WRITE, DISCARD, DISCARD_LATER } effect;
};

static void
visit_range(void *data, const VkImageSubresourceRange *range)
{
   const struct attachment_visit *visit = data;
   struct gpuval_init_commands *init = visit->init;

   if (visit->effect == WRITE)
      init->memory->write_image(init->data, visit->image, range);
   else
      init->memory->discard_image(init->data, visit->image, range, visit->effect == DISCARD_LATER);
}

static void
write_attachment(struct gpuval_init_commands *init, const struct gpuval_attachment *attachment)
{
   struct attachment_visit visit = {init, attachment->view->image, WRITE};
   gpuval_visit_attachment(attachment, visit_range, &visit);
}

/* What is outside of the render area, or in other slices, stays as it is. */
static void
discard_attachment(struct gpuval_init_commands *init, const struct gpuval_attachment *attachment,
                   bool later)
{
   const struct vk_image *image = attachment->view->image;
   struct attachment_visit visit = {init, image, later ? DISCARD_LATER : DISCARD};

   if (attachment->is_whole && image->image_type != VK_IMAGE_TYPE_3D)
      gpuval_visit_attachment(attachment, visit_range, &visit);
}

static void
load_attachment(struct gpuval_init_commands *init, const struct gpuval_attachment *attachment)
{
   switch (attachment->info->loadOp) {
   case VK_ATTACHMENT_LOAD_OP_LOAD:
      init->memory->load(init->data, attachment);
      break;
   case VK_ATTACHMENT_LOAD_OP_CLEAR:
      write_attachment(init, attachment);
      break;
   case VK_ATTACHMENT_LOAD_OP_DONT_CARE:
      discard_attachment(init, attachment, false);
      break;
   default:
      break;
   }
}

static void
note_attachment(void *data, const VkRenderingInfo *info, const struct gpuval_attachment *attachment,
                enum gpuval_attachment_event event)
{
   struct gpuval_init_commands *init = data;

   switch (event) {
   case GPUVAL_ATTACHMENT_LOAD:
      load_attachment(init, attachment);
      break;
   case GPUVAL_ATTACHMENT_DRAW:
      if (!init->has_drawn)
         write_attachment(init, attachment);
      init->is_drawing = true;
      break;
   case GPUVAL_ATTACHMENT_CLEAR:
   case GPUVAL_ATTACHMENT_RESOLVE_TO:
      write_attachment(init, attachment);
      break;
   case GPUVAL_ATTACHMENT_STORE:
      if (attachment->info->storeOp == VK_ATTACHMENT_STORE_OP_DONT_CARE)
         discard_attachment(init, attachment, true);
      break;
   case GPUVAL_ATTACHMENT_RESOLVE_FROM:
      break;
   }
}

static void
begin_rendering(void *data, const VkRenderingInfo *info)
{
   struct gpuval_init_commands *init = data;
   init->has_drawn = false;
}

/* Layouts */

static void
note_dependency(void *data, const struct gpuval_command_dependency *dependency)
{
   struct gpuval_init_commands *init = data;

   for (uint32_t i = 0; i < dependency->num_images; i++) {
      const VkImageMemoryBarrier2 *barrier = &dependency->images[i];
      VK_FROM_HANDLE(vk_image, image, barrier->image);

      if (image && barrier->oldLayout == VK_IMAGE_LAYOUT_UNDEFINED &&
          barrier->newLayout != VK_IMAGE_LAYOUT_UNDEFINED)
         init->memory->discard_image(init->data, image, &barrier->subresourceRange, true);
   }
}

static void
begin(void *data, const struct vk_cmd_queue_entry *command)
{
   struct gpuval_init_commands *init = data;
   init->is_drawing = false;
}

static void
end(void *data, const struct vk_cmd_queue_entry *command)
{
   struct gpuval_init_commands *init = data;
   init->has_drawn |= init->is_drawing;
}

const struct gpuval_command_observer gpuval_init_observer = {
   .begin = begin,
   .access = note_access,
   .begin_rendering = begin_rendering,
   .attachment = note_attachment,
   .dependency = note_dependency,
   .end = end,
};
