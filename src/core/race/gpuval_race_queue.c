/* SPDX-License-Identifier: MIT */

#include "gpuval_race_queue.h"

#include "core/descriptors/gpuval_objects.h"

#include "gpuval/src/compat/gpuval_runtime.h"
#include "nir_passes/gpuval_nir.h"
#include "util/ralloc.h"
#include "vk_buffer.h"
#include "vk_format.h"
#include "vk_image.h"

/* Of a view with more, which one is used nobody knows. */
#define MAX_SUBRESOURCES 64

/* An attachment of the rendering, and the command that has used it last */
struct pass_part {
   struct gpuval_race_part part;
   uint32_t command_id;
   bool is_used;
};

struct gpuval_race_queue {
   struct gpuval_race *race;
   const struct gpuval_race_driver *driver;
   struct gpuval_submits *submits;
   struct gpuval_objects *objects;
   unsigned number;

   bool has_ended_subpass;    /* the last command, and there were no draws in it */
   uint32_t pass, num_passes; /* the pass that has begun, 0: none; how many have */
   VkRenderingFlags pass_flags;
   struct util_dynarray pass_parts; /* struct pass_part */
   uint32_t recording;              /* gpuval_race_use::recording */

   uint32_t serial;        /* the last one */
   uint64_t version;       /* of what is ordered before what comes now: */
   uint32_t *ordered;      /* rows by class, as many sources each; and */
   const uint32_t *before; /* the same for notes; NULL: not yet */

   /* What more than barriers for images and buffers has ordered, gpuval_race_note(): before any
    * stage, as the memory that a dependency has made available stays so in a chain. Version right
    * behind the last such barrier; the row; and the same for notes; NULL if there is no such barrier
    */
   uint64_t resources_version;
   bool has_resources; /* nothing has come since */
   uint32_t *without_resources;
   const uint32_t *dependent;

   /* What has been made available by anything: the row, and the same for notes */
   uint32_t *made_available;
   const uint32_t *available;
};

static size_t
rows_size(const struct gpuval_race_queue *queue)
{
   return GPUVAL_SUBMITS_ROWS * gpuval_submits_num_sources(queue->submits) * sizeof(uint32_t);
}

struct gpuval_race_queue *
gpuval_race_queue_create(void *mem_ctx, struct gpuval_race *race,
                         const struct gpuval_race_driver *driver, struct gpuval_submits *submits,
                         struct gpuval_objects *objects, unsigned number)
{
   struct gpuval_race_queue *queue = rzalloc(mem_ctx, struct gpuval_race_queue);

   queue->race = race;
   queue->driver = driver;
   queue->submits = submits;
   queue->objects = objects;
   queue->number = number;
   util_dynarray_init(&queue->pass_parts, queue);
   queue->ordered = rzalloc_size(queue, rows_size(queue));
   queue->without_resources = rzalloc_array(queue, uint32_t, gpuval_submits_num_sources(submits));
   queue->made_available = rzalloc_array(queue, uint32_t, gpuval_submits_num_sources(submits));
   return queue;
}

void
gpuval_race_queue_renew(struct gpuval_race_queue *queue)
{
   queue->before = queue->dependent = queue->available = NULL;
}

void
gpuval_race_queue_begin(struct gpuval_race_queue *queue)
{
   queue->pass = 0;
   util_dynarray_clear(&queue->pass_parts);
   queue->recording++;
   queue->has_ended_subpass = false;
}

uint32_t
gpuval_race_queue_serial(const struct gpuval_race_queue *queue)
{
   return queue->serial;
}

/* Numbers that no other queue gives */
static uint32_t
number_of(const struct gpuval_race_queue *queue, uint32_t count)
{
   return count ? count * GPUVAL_MAX_QUEUES + queue->number : 0;
}

/* Uses */

static uint32_t *
copy_for_notes(struct gpuval_race_queue *queue, const uint32_t *rows, size_t size)
{
   return memcpy(gpuval_race_alloc(queue->race, size), rows, size);
}

/* Returns the serial of a use that comes now. */
static uint32_t
bring_up_to_date(struct gpuval_race_queue *queue)
{
   uint64_t version = queue->version;
   uint32_t serial =
      gpuval_submits_use(queue->submits, queue->number, &queue->version, queue->ordered);
   if (queue->version == version)
      return serial;

   /* If anything else has come as well, it may have ordered all of it. */
   queue->has_resources = queue->version == queue->resources_version;
   if (!queue->has_resources)
      gpuval_submits_ordered(queue->submits, queue->number, queue->without_resources);
   gpuval_submits_made_available(queue->submits, queue->number, queue->made_available);
   queue->before = queue->dependent = queue->available = NULL;
   return serial;
}

static struct gpuval_race_use
make_use(struct gpuval_race_queue *queue, uint32_t command_id, unsigned class_, bool is_write)
{
   struct gpuval_race_use use = {
      .source = gpuval_order_source(queue->number, class_),
      .serial = bring_up_to_date(queue),
      .command_id = command_id,
      .pass = number_of(queue, queue->pass),
      .recording = number_of(queue, queue->recording),
      .site = GPUVAL_RACE_NO_SITE,
      .is_write = is_write,
   };

   if (use.serial < queue->serial)
      gpuval_race_restart(queue->race); /* sync has begun again */
   queue->serial = use.serial;
   if (!queue->before) {
      size_t size = gpuval_submits_num_sources(queue->submits) * sizeof(uint32_t);

      queue->before = copy_for_notes(queue, queue->ordered, rows_size(queue));
      queue->available = copy_for_notes(queue, queue->made_available, size);
      if (queue->has_resources)
         queue->dependent = copy_for_notes(queue, queue->without_resources, size);
   }
   return use;
}

static const uint32_t *
get_before(const struct gpuval_race_queue *queue, unsigned class_)
{
   return queue->before + class_ * gpuval_submits_num_sources(queue->submits);
}

static void
note_subresources(struct gpuval_race_queue *queue, const struct vk_image *image,
                  const VkImageSubresourceRange *range)
{
   const VkImageAspectFlags both = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
   VkImageAspectFlags aspects = image->aspects == both ? range->aspectMask & both : image->aspects;
   bool is_3d = image->image_type == VK_IMAGE_TYPE_3D;
   uint32_t num_levels = vk_image_subresource_level_count(image, range);
   uint32_t num_layers = is_3d ? 1 : vk_image_subresource_layer_count(image, range);

   for (uint32_t level = range->baseMipLevel; level < range->baseMipLevel + num_levels; level++) {
      for (uint32_t i = 0; i < num_layers; i++) {
         uint64_t address =
            queue->driver->find_subresource(image, level, is_3d ? 0 : range->baseArrayLayer + i);
         if (!address)
            continue;
         if (aspects & ~VK_IMAGE_ASPECT_STENCIL_BIT)
            gpuval_race_note_subresource(queue->race, address);
         if (aspects & VK_IMAGE_ASPECT_STENCIL_BIT)
            gpuval_race_note_subresource(queue->race, address + 1);
      }
   }
}

/* A box that has all there is */
static bool
is_whole(const struct gpuval_command_access *what)
{
   const VkExtent3D extent = vk_image_mip_level_extent(what->image, what->range.baseMipLevel);

   return what->begin[0] <= 0 && what->begin[1] <= 0 && what->begin[2] <= 0 &&
          what->end[0] >= (int32_t)extent.width && what->end[1] >= (int32_t)extent.height &&
          what->end[2] >= (int32_t)extent.depth;
}

static bool
is_storage(const struct vk_image *image)
{
   return image->usage & VK_IMAGE_USAGE_STORAGE_BIT;
}

static bool
is_looked_at(const struct vk_image *image)
{
   /* Else texels are of several sizes. */
   bool is_of_one_plane = vk_format_get_plane_count(image->format) == 1;

   return is_of_one_plane && (is_storage(image) || gpuval_options_may_check(GPUVAL_CHECK_RACE));
}

/* As sync has it of bytes; a change of the layout is a store. */
static enum gpuval_op
get_op(const struct gpuval_race_part *part, bool is_write)
{
   if (part->what.access & VK_ACCESS_2_MEMORY_WRITE_BIT)
      return GPUVAL_OP_STORE;
   switch (part->class_) {
   case GPUVAL_ORDER_TRANSFER:
      if (part->what.image && part->what.stages & VK_PIPELINE_STAGE_2_CLEAR_BIT)
         return GPUVAL_OP_CLEAR;
      return is_write ? GPUVAL_OP_TRANSFER_WRITE : GPUVAL_OP_TRANSFER_READ;
   case GPUVAL_ORDER_COLOR:
   case GPUVAL_ORDER_DEPTH:
   case GPUVAL_ORDER_DEPTH_LOAD:
   case GPUVAL_ORDER_DEPTH_STORE:
      return is_write ? GPUVAL_OP_ATTACHMENT_WRITE : GPUVAL_OP_ATTACHMENT_READ;
   default:
      return is_write ? GPUVAL_OP_STORE : GPUVAL_OP_LOAD;
   }
}

static void
note_part(struct gpuval_race_queue *queue, struct gpuval_race_use use, const uint32_t *before,
          const uint32_t *dependent, const struct gpuval_race_part *part)
{
   const struct gpuval_command_access *what = &part->what;

   use.op = get_op(part, use.is_write);
   if (!what->image) {
      uint64_t address = queue->driver->find_buffer(what->buffer);
      use.object = what->buffer->base.gpuval_id;
      use.is_buffer = true;
      gpuval_race_note(queue->race, &use, before, NULL, NULL, NULL, 0);
      gpuval_race_note_bytes(queue->race, address ? address + what->offset : 0, what->size);
      return;
   }

   if (what->has_box && !is_whole(what)) {
      use.extent = GPUVAL_RACE_BOX;
      memcpy(use.begin, what->begin, sizeof(use.begin));
      memcpy(use.end, what->end, sizeof(use.end));
   }
   use.object = what->image->base.gpuval_id;
   use.is_storage = is_storage(what->image);
   bool is_known = !use.is_barrier && !use.is_transition && !use.host_op;
   gpuval_race_note(queue->race, &use, before, dependent, is_known ? queue->available : NULL, NULL,
                    0);
   note_subresources(queue, what->image, &what->range);
}

static void
note_parts(struct gpuval_race_queue *queue, uint32_t command_id, const struct util_dynarray *parts)
{
   util_dynarray_foreach (parts, struct gpuval_race_part, part) {
      const struct gpuval_race_use use =
         make_use(queue, command_id, part->class_, gpuval_access_is_write(&part->what));
      note_part(queue, use, get_before(queue, part->class_), queue->dependent, part);
   }
}

/* The host */

void
gpuval_race_queue_host(struct gpuval_race_queue *queue, const char *op,
                       const struct util_dynarray *parts)
{
   uint32_t *before =
      gpuval_race_alloc(queue->race, gpuval_submits_num_sources(queue->submits) * sizeof(*before));
   struct gpuval_race_use use = {
      .source = gpuval_order_source(0, GPUVAL_ORDER_HOST),
      .serial = gpuval_submits_host_use(queue->submits, before),
      .host_op = op,
      .recording = number_of(queue, ++queue->recording),
      .site = GPUVAL_RACE_NO_SITE,
   };

   util_dynarray_foreach (parts, struct gpuval_race_part, part) {
      use.is_write = gpuval_access_is_write(&part->what);
      use.op = use.is_write ? GPUVAL_OP_STORE : GPUVAL_OP_LOAD;
      note_part(queue, use, before, NULL, part);
   }
}

/* Transfers */

void
gpuval_race_add_access(void *parts, const struct gpuval_command_access *access)
{
   const struct gpuval_race_part part = {.what = *access, .class_ = GPUVAL_ORDER_TRANSFER};
   bool with_buffers = gpuval_options_may_check(GPUVAL_CHECK_RACE);

   if (access->image ? is_looked_at(access->image)
                     : with_buffers && access->buffer && !access->has_gaps)
      util_dynarray_append_typed((struct util_dynarray *)parts, struct gpuval_race_part, part);
}

void
gpuval_race_queue_use(struct gpuval_race_queue *queue, uint32_t command_id,
                      const struct util_dynarray *parts)
{
   queue->has_ended_subpass = false;
   note_parts(queue, command_id, parts);
}

void
gpuval_race_queue_other(struct gpuval_race_queue *queue)
{
   queue->has_ended_subpass = false;
}

/* Attachments */

/* With store operation NONE what was drawn to is stored, and whether anything was is not known. */
static bool
may_be_kept(const VkRenderingAttachmentInfo *info)
{
   return info->storeOp == VK_ATTACHMENT_STORE_OP_NONE &&
          info->loadOp != VK_ATTACHMENT_LOAD_OP_CLEAR &&
          info->loadOp != VK_ATTACHMENT_LOAD_OP_DONT_CARE;
}

struct attachments {
   struct util_dynarray *parts;
   const VkRect2D *area;
   enum gpuval_attachment_event event;
   bool is_subpass;

   const struct gpuval_attachment *attachment; /* that is added */
};

/* Depth and stencil are loaded with early tests and stored with late ones; which of the two a draw
 * has depends on its shaders and state. Renderings of subpasses load and store in between, which no
 * one has asked for.
 */
static unsigned
get_depth_class(const struct attachments *attachments)
{
   if (attachments->is_subpass)
      return GPUVAL_ORDER_DEPTH;
   return attachments->event == GPUVAL_ATTACHMENT_LOAD    ? GPUVAL_ORDER_DEPTH_LOAD
          : attachments->event == GPUVAL_ATTACHMENT_STORE ? GPUVAL_ORDER_DEPTH_STORE
                                                          : GPUVAL_ORDER_DEPTH;
}

/* Depth is resolved as colors are. */
static void
add_attachment_access(void *data, const struct gpuval_command_access *access)
{
   const struct attachments *attachments = data;
   const struct gpuval_attachment *attachment = attachments->attachment;
   bool is_color = attachment->aspects == VK_IMAGE_ASPECT_COLOR_BIT || attachment->is_resolve;
   struct gpuval_race_part part = {
      .what = *access,
      .class_ = is_color ? GPUVAL_ORDER_COLOR : get_depth_class(attachments),
      .event = attachments->event,
      .attachment = gpuval_attachment_bit(attachment),
   };

   if (!is_looked_at(access->image))
      return;
   if (attachments->event == GPUVAL_ATTACHMENT_DRAW && may_be_kept(attachment->info)) {
      if (attachment->info->loadOp == VK_ATTACHMENT_LOAD_OP_NONE)
         return;
      part.what.access = is_color ? VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT
                                  : VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT;
   }
   util_dynarray_append_typed(attachments->parts, struct gpuval_race_part, part);
}

static void
add_attachment(void *data, const struct gpuval_attachment *attachment)
{
   struct attachments *attachments = data;

   attachments->attachment = attachment;
   gpuval_visit_attachment_accesses(attachment, attachments->area, attachments->event,
                                    add_attachment_access, attachments);
}

static void
add_event(struct util_dynarray *parts, const VkRenderingInfo *info,
          enum gpuval_attachment_event event)
{
   struct attachments attachments = {
      .parts = parts,
      .area = &info->renderArea,
      .event = event,
      .is_subpass = gpuval_is_subpass(info->flags),
   };

   gpuval_visit_attachments(info, event == GPUVAL_ATTACHMENT_RESOLVE_TO, add_attachment,
                            &attachments);
}

void
gpuval_race_add_attachments(struct util_dynarray *parts, const VkRenderingInfo *info)
{
   if (!(info->flags & VK_RENDERING_RESUMING_BIT))
      add_event(parts, info, GPUVAL_ATTACHMENT_LOAD);
   add_event(parts, info, GPUVAL_ATTACHMENT_DRAW);
   if (!(info->flags & VK_RENDERING_SUSPENDING_BIT)) {
      add_event(parts, info, GPUVAL_ATTACHMENT_STORE);
      add_event(parts, info, GPUVAL_ATTACHMENT_RESOLVE_TO);
   }
}

static void
note_attachment(struct gpuval_race_queue *queue, uint32_t command_id,
                const struct gpuval_race_part *part, bool goes_on)
{
   struct gpuval_race_use use =
      make_use(queue, command_id, part->class_, gpuval_access_is_write(&part->what));

   use.goes_on = goes_on;
   /* Availability is not looked at of what is loaded in a subpass, as the runtime loads in each,
    * nor of depth that is resolved: with the accesses of colors, which is easily overlooked.
    */
   use.acquires = part->event == GPUVAL_ATTACHMENT_LOAD && gpuval_is_subpass(queue->pass_flags);
   use.releases = part->event == GPUVAL_ATTACHMENT_RESOLVE_TO &&
                  part->what.image->aspects != VK_IMAGE_ASPECT_COLOR_BIT;
   note_part(queue, use, get_before(queue, part->class_), queue->dependent, part);
}

/* The runtime makes several renderings of a subpass where it cannot clear an attachment otherwise:
 * they are one pass, as nothing comes between them and nothing is drawn in the first ones.
 */
void
gpuval_race_queue_begin_pass(struct gpuval_race_queue *queue, uint32_t command_id,
                             VkRenderingFlags flags, const struct util_dynarray *parts)
{
   bool resumes =
      flags & VK_RENDERING_RESUMING_BIT || (queue->has_ended_subpass && gpuval_is_subpass(flags));

   if (!resumes)
      queue->num_passes++;
   queue->pass = queue->num_passes;
   queue->pass_flags = flags;
   queue->has_ended_subpass = false;
   util_dynarray_clear(&queue->pass_parts);
   util_dynarray_foreach (parts, struct gpuval_race_part, part) {
      const struct pass_part added = {*part, command_id, part->event == GPUVAL_ATTACHMENT_LOAD};

      util_dynarray_append_typed(&queue->pass_parts, struct pass_part, added);
      if (added.is_used)
         note_attachment(queue, command_id, part, false);
   }
}

/* What the first draw is in a race with, the others are as well; the last one is what others come
 * after.
 */
void
gpuval_race_queue_draw(struct gpuval_race_queue *queue, uint32_t command_id, uint32_t attachments)
{
   util_dynarray_foreach (&queue->pass_parts, struct pass_part, pass) {
      if (pass->part.event != GPUVAL_ATTACHMENT_DRAW || !(pass->part.attachment & attachments))
         continue;
      if (!pass->is_used)
         note_attachment(queue, command_id, &pass->part, false);
      pass->is_used = true;
      pass->command_id = command_id;
   }
}

/* Bits of the attachments that are written by @event */
static uint32_t
get_written(const struct gpuval_race_queue *queue, enum gpuval_attachment_event event)
{
   uint32_t written = 0;

   util_dynarray_foreach (&queue->pass_parts, struct pass_part, pass) {
      if (pass->part.event == event && pass->is_used && gpuval_access_is_write(&pass->part.what))
         written |= pass->part.attachment;
   }
   return written;
}

/* Attachments are used up to now. Whoever comes later is told of what has changed them last: draws,
 * else the load operation, and the store operation where nothing else has written, or where it is
 * in a stage of its own.
 */
void
gpuval_race_queue_end_pass(struct gpuval_race_queue *queue, uint32_t command_id)
{
   uint32_t drawn = get_written(queue, GPUVAL_ATTACHMENT_DRAW);
   uint32_t written = drawn | get_written(queue, GPUVAL_ATTACHMENT_LOAD);

   util_dynarray_foreach (&queue->pass_parts, struct pass_part, pass) {
      switch (pass->part.event) {
      case GPUVAL_ATTACHMENT_LOAD:
         if (!(pass->part.attachment & drawn))
            note_attachment(queue, pass->command_id, &pass->part, true);
         break;
      case GPUVAL_ATTACHMENT_DRAW:
         if (pass->is_used)
            note_attachment(queue, pass->command_id, &pass->part, true);
         break;
      case GPUVAL_ATTACHMENT_STORE:
         if (!(pass->part.attachment & written) || pass->part.class_ == GPUVAL_ORDER_DEPTH_STORE)
            note_attachment(queue, command_id, &pass->part, pass->part.attachment & written);
         break;
      default:
         note_attachment(queue, command_id, &pass->part, false);
         break;
      }
   }
   util_dynarray_clear(&queue->pass_parts);
   queue->has_ended_subpass = gpuval_is_subpass(queue->pass_flags) && !drawn;
   queue->pass = 0;
}

/* Layouts */

static bool
is_empty_scope(VkPipelineStageFlags2 stages)
{
   return !(stages & ~VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT);
}

/* A layout changes between the two scopes of its barrier, which is a write, whatever other barriers
 * stand in the same call. With an empty first scope it is a matter of dispute what a wait for a
 * semaphore does for it: silent.
 */
static void
add_transition(struct util_dynarray *parts, const VkImageMemoryBarrier2 *barrier)
{
   VK_FROM_HANDLE(vk_image, image, barrier->image);
   if (!image || barrier->oldLayout == barrier->newLayout || !is_looked_at(image) ||
       is_empty_scope(barrier->srcStageMask) ||
       barrier->srcQueueFamilyIndex != barrier->dstQueueFamilyIndex)
      return;

   const struct gpuval_race_part part = {
      .what =
         {
            .access = VK_ACCESS_2_MEMORY_WRITE_BIT,
            .image = image,
            .range = barrier->subresourceRange,
         },
      .class_ = GPUVAL_ORDER_TRANSITION,
      .src_stages = barrier->srcStageMask,
      .dst_stages = barrier->dstStageMask,
   };
   util_dynarray_append_typed(parts, struct gpuval_race_part, part);
}

/* Whatever its accesses are, it is about this image: a first guess is in favor of the program. */
static void
add_barrier(struct util_dynarray *parts, const VkImageMemoryBarrier2 *barrier)
{
   VK_FROM_HANDLE(vk_image, image, barrier->image);
   if (!image || !is_looked_at(image))
      return;

   const struct gpuval_race_part part = {
      .what = {.image = image, .range = barrier->subresourceRange},
      .is_barrier = true,
   };
   util_dynarray_append_typed(parts, struct gpuval_race_part, part);
}

void
gpuval_race_add_barriers(struct util_dynarray *parts, const VkDependencyInfo *info)
{
   for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++) {
      add_transition(parts, &info->pImageMemoryBarriers[i]);
      add_barrier(parts, &info->pImageMemoryBarriers[i]);
   }
}

bool
gpuval_race_has_transitions(const struct util_dynarray *parts)
{
   util_dynarray_foreach (parts, struct gpuval_race_part, part) {
      if (!part->is_barrier)
         return true;
   }
   return false;
}

bool
gpuval_race_is_for_resources(const VkDependencyInfo *info)
{
   return !info->memoryBarrierCount &&
          (info->imageMemoryBarrierCount || info->bufferMemoryBarrierCount);
}

void
gpuval_race_add_events(struct util_dynarray *parts, const struct gpuval_dependency *events)
{
   for (uint32_t i = 0; i < events->num_images; i++) {
      add_transition(parts, &events->images[i]);
      add_barrier(parts, &events->images[i]);
   }
}

/* Changes of layouts between the same scopes */
struct transitions {
   VkPipelineStageFlags2 src_stages, dst_stages;
   struct gpuval_order_mark order;
   uint32_t *before;
};

static struct transitions
begin_transitions(struct gpuval_race_queue *queue, const struct gpuval_dependency *events,
                  const struct gpuval_race_part *part)
{
   struct transitions begun = {
      .src_stages = part->src_stages,
      .dst_stages = part->dst_stages,
      .before = gpuval_race_alloc(
         queue->race, gpuval_submits_num_sources(queue->submits) * sizeof(*begun.before)),
   };

   begun.order =
      events ? gpuval_submits_event_transition(queue->submits, queue->number, events, begun.before)
             : gpuval_submits_transition(queue->submits, queue->number, part->src_stages,
                                         part->dst_stages, begun.before);
   return begun;
}

/* All of a wait for events count together. */
static void
note_transitions(struct gpuval_race_queue *queue, uint32_t command_id,
                 const struct gpuval_dependency *events, const struct util_dynarray *parts)
{
   struct transitions known[GPUVAL_ORDER_TRANSITIONS];
   unsigned count = 0;
   if (!gpuval_race_has_transitions(parts))
      return;

   struct gpuval_race_use use = make_use(queue, command_id, GPUVAL_ORDER_TRANSITION, true);
   use.is_transition = true;
   util_dynarray_foreach (parts, struct gpuval_race_part, part) {
      if (part->is_barrier)
         continue;

      unsigned i = 0;
      while (i < count && !events &&
             (known[i].src_stages != part->src_stages || known[i].dst_stages != part->dst_stages))
         i++;
      if (i == count) {
         i = MIN2(i, ARRAY_SIZE(known) - 1);
         known[i] = begin_transitions(queue, events, part);
         count = i + 1;
      }

      use.source = known[i].order.source;
      use.serial = known[i].order.serial;
      note_part(queue, use, known[i].before, NULL, part);
   }
}

/* What is for images and buffers only takes so many steps of the order of commands, else 0. */
static void
note_barriers(struct gpuval_race_queue *queue, unsigned num_steps,
              const struct util_dynarray *parts)
{
   const struct gpuval_race_use use = {.site = GPUVAL_RACE_NO_SITE, .is_barrier = true};

   util_dynarray_foreach (parts, struct gpuval_race_part, part) {
      if (part->is_barrier)
         note_part(queue, use, NULL, NULL, part);
   }
   if (num_steps) {
      bring_up_to_date(queue);
      queue->resources_version = queue->version + num_steps;
   }
}

void
gpuval_race_queue_barrier(struct gpuval_race_queue *queue, uint32_t command_id,
                          bool is_for_resources, const struct util_dynarray *parts)
{
   queue->has_ended_subpass = false;
   note_transitions(queue, command_id, NULL, parts);
   note_barriers(queue, is_for_resources ? 1 : 0, parts);
}

/* What was used behind the set is not told from what was before it: for an image that the wait has
 * a barrier for, memory counts as ordered. Execution the order of commands knows.
 */
void
gpuval_race_queue_events(struct gpuval_race_queue *queue, uint32_t command_id,
                         const struct gpuval_dependency *events, const struct util_dynarray *parts)
{
   bool is_for_resources = events->is_for_resources &&
                           gpuval_submits_has_set_events(queue->submits, queue->number, events);

   queue->has_ended_subpass = false;
   note_transitions(queue, command_id, events, parts);
   note_barriers(queue, is_for_resources ? events->num_parts : 0, parts);
}

/* Steps */

struct gpuval_race_step *
gpuval_race_step_copy(void *mem_ctx, const struct gpuval_race_step *step)
{
   struct gpuval_race_step *copy = ralloc_memdup(mem_ctx, step, sizeof(*step));

   copy->parts.data = ralloc_memdup(copy, step->parts.data, step->parts.size);
   return copy;
}

void
gpuval_race_queue_execute(struct gpuval_race_queue *queue, const struct gpuval_race_step *step)
{
   switch (step->type) {
   case GPUVAL_RACE_OTHER:
      gpuval_race_queue_other(queue);
      return;
   case GPUVAL_RACE_USE:
      gpuval_race_queue_use(queue, step->command_id, &step->parts);
      return;
   case GPUVAL_RACE_BEGIN_PASS:
      gpuval_race_queue_begin_pass(queue, step->command_id, step->flags, &step->parts);
      return;
   case GPUVAL_RACE_DRAW:
      gpuval_race_queue_draw(queue, step->command_id, step->attachments);
      if (step->last_id != step->command_id)
         gpuval_race_queue_draw(queue, step->last_id, step->attachments);
      return;
   case GPUVAL_RACE_END_PASS:
      gpuval_race_queue_end_pass(queue, step->command_id);
      return;
   case GPUVAL_RACE_BARRIER:
      gpuval_race_queue_barrier(queue, step->command_id, step->is_for_resources, &step->parts);
      return;
   case GPUVAL_RACE_EVENTS:
      gpuval_race_queue_events(queue, step->command_id, step->events, &step->parts);
      return;
   }
}

/* Shaders */

/* Where what a view has is used somewhere; nothing: nobody knows where. */
static VkImageSubresourceRange
get_range(const struct vk_image_view *view, const struct gpuval_nir_use *use)
{
   const uint32_t of_one_level = GPUVAL_OFFERS_STORAGE_IMAGE | GPUVAL_OFFERS_INPUT_ATTACHMENT;
   bool is_3d = view->image->image_type == VK_IMAGE_TYPE_3D;
   /* Stencil is read as integers. */
   bool is_stencil =
      view->aspects & VK_IMAGE_ASPECT_STENCIL_BIT && !(use->required & GPUVAL_OFFERS_FLOAT);
   VkImageSubresourceRange range = {
      .aspectMask =
         is_stencil ? VK_IMAGE_ASPECT_STENCIL_BIT : view->aspects & ~VK_IMAGE_ASPECT_STENCIL_BIT,
      .baseMipLevel = view->base_mip_level,
      .levelCount = use->required & of_one_level ? 1 : view->level_count,
      .baseArrayLayer = view->base_array_layer,
      .layerCount = is_3d ? 1 : view->layer_count,
   };

   /* Slices are none of their own. */
   bool is_slice =
      is_3d && (view->view_type != VK_IMAGE_VIEW_TYPE_3D || view->storage.z_slice_offset ||
                view->storage.z_slice_count !=
                   vk_image_mip_level_extent(view->image, view->base_mip_level).depth);
   if (is_slice || !is_looked_at(view->image) ||
       range.levelCount * range.layerCount > MAX_SUBRESOURCES)
      range.levelCount = 0;
   return range;
}

struct shader_note {
   struct gpuval_race_queue *queue;
   uint32_t command_id;
   unsigned class_;
   const struct gpuval_shader *shader;
   const struct gpuval_nir_use *use;
   uint32_t view; /* id */
   const uint32_t *flag;
   uint32_t bit;
   bool is_noted;
};

/* A shader need not use each descriptor that is bound, so another thread may be about to destroy
 * what one leads to: gpuval_objects_visit() keeps view and image alive.
 */
static void
note_view(void *data, const struct vk_object_base *base)
{
   struct shader_note *note = data;
   struct gpuval_race_queue *queue = note->queue;
   const struct gpuval_nir_use *use = note->use;
   if (base->type != VK_OBJECT_TYPE_IMAGE_VIEW)
      return;

   const struct vk_image_view *view = container_of(base, const struct vk_image_view, base);
   const VkImageSubresourceRange range = get_range(view, use);
   if (!range.levelCount)
      return;

   bool is_write = use->num_slots & GPUVAL_RACE_USE_IS_WRITE;
   struct gpuval_race_use noted = make_use(queue, note->command_id, note->class_, is_write);
   noted.op = use->num_slots >> GPUVAL_RACE_USE_OP_SHIFT;
   noted.is_atomic = use->num_slots & GPUVAL_RACE_USE_IS_ATOMIC;
   noted.acquires = use->num_slots & GPUVAL_RACE_USE_ACQUIRES;
   noted.releases = use->num_slots & GPUVAL_RACE_USE_RELEASES;
   noted.site = gpuval_shader_site(note->shader, use->num_slots & GPUVAL_RACE_USE_SITE_MASK);
   noted.shader_serial = gpuval_shader_serial(note->shader);
   noted.view = note->view;
   noted.is_storage = is_storage(view->image);
   /* Of what is sparse nobody knows texels, and race looks at subresources. */
   bool is_sparse = view->image->create_flags & VK_IMAGE_CREATE_SPARSE_BINDING_BIT;
   noted.has_texels = use->num_slots & GPUVAL_RACE_USE_HAS_TEXELS &&
                      !(is_sparse && gpuval_options_may_check(GPUVAL_CHECK_RACE));
   noted.extent = GPUVAL_RACE_SOMEWHERE;
   gpuval_race_note(queue->race, &noted, get_before(queue, note->class_), queue->dependent,
                    queue->available, note->flag, note->bit);
   note_subresources(queue, view->image, &range);
   note->is_noted = true;
}

bool
gpuval_race_queue_shader(struct gpuval_race_queue *queue, uint32_t command_id, unsigned class_,
                         const struct gpuval_shader *shader, const struct gpuval_nir_use *use,
                         const struct gpuval_descriptor *descriptor, const uint32_t *flag,
                         uint32_t bit)
{
   struct shader_note note = {
      .queue = queue,
      .command_id = command_id,
      .class_ = class_,
      .shader = shader,
      .use = use,
      .view = descriptor->object,
      .flag = flag,
      .bit = bit,
   };

   if (use->required & GPUVAL_OFFERS_RESOURCES & descriptor->offers)
      gpuval_objects_visit(queue->objects, descriptor->object, note_view, &note);
   return note.is_noted;
}
