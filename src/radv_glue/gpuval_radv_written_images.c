/* SPDX-License-Identifier: MIT */

/* init, what commands write to images, or leave undefined there. Whether that comes before what a
 * shader reads is known to the GPU only: so it sets the marks (gpuval_image_marks.h) itself, at
 * the place of the command, early rather than late. What becomes undefined is waited for, since
 * others may still read it.
 */

#include "gpuval_radv_layer.h"
#include "gpuval_radv_walk.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_cs.h"
#include "radv_device.h"
#include "radv_physical_device.h"

#include "gpuval/src/base/gpuval_init.h"
#include "gpuval/src/core/memory/gpuval_image_marks.h"
#include "gpuval/src/core/memory/gpuval_init_commands.h"
#include "gpuval/src/core/memory/gpuval_marks.h"
#include "util/ralloc.h"
#include "util/set.h"
#include "vk_image.h"
#include "vk_util.h"

struct gpuval_radv_images {
   simple_mtx_t mutex;
   struct set *foreign; /* VkDeviceMemory that others may write */
};

/* Marks */

/* Words that one packet writes */
#define MAX_WORDS 256

struct marking {
   struct radv_cmd_buffer *cmd_buffer;
   bool is_written;
   bool has_begun;
};

/* What comes before it still looks. */
static void
begin(struct marking *marking)
{
   struct radv_cmd_buffer *cmd_buffer = marking->cmd_buffer;

   if (!marking->is_written && !marking->has_begun && cmd_buffer->qf != RADV_QUEUE_TRANSFER) {
      cmd_buffer->state.flush_bits |= RADV_CMD_FLAG_VS_PARTIAL_FLUSH |
                                      RADV_CMD_FLAG_PS_PARTIAL_FLUSH |
                                      RADV_CMD_FLAG_CS_PARTIAL_FLUSH;
      radv_emit_cache_flush(cmd_buffer);
   }
   marking->has_begun = true;
}

static void
write_words(void *data, uint64_t address, uint32_t count)
{
   struct marking *marking = data;
   struct radv_cmd_buffer *cmd_buffer = marking->cmd_buffer;
   const struct radv_device *device = radv_cmd_buffer_device(cmd_buffer);
   uint32_t words[MAX_WORDS];

   begin(marking);
   for (uint32_t i = 0; i < MIN2(count, MAX_WORDS); i++)
      words[i] = marking->is_written ? GPUVAL_INIT_ALL : 0;
   for (uint32_t i = 0; i < count; i += MAX_WORDS)
      gpuval_radv_write_words(cmd_buffer, address + i * sizeof(uint32_t),
                              MIN2(count - i, MAX_WORDS), words, false);
}

static void
add(struct marking *marking, const struct vk_image *image, const VkImageSubresourceRange *range)
{
   const struct radv_device *device = radv_cmd_buffer_device(marking->cmd_buffer);

   switch (marking->cmd_buffer->qf) {
   case RADV_QUEUE_GENERAL:
   case RADV_QUEUE_COMPUTE:
   case RADV_QUEUE_TRANSFER:
      gpuval_image_marks_visit(device->gpuval->device, image, range, write_words, marking);
      break;
   default: /* video: its images have none */
      break;
   }
}

/* Where the command processor does not write through the cache that shaders read through */
static void
end(const struct marking *marking)
{
   struct radv_cmd_buffer *cmd_buffer = marking->cmd_buffer;
   const struct radeon_info *info = &radv_device_physical(radv_cmd_buffer_device(cmd_buffer))->info;

   if (marking->has_begun && cmd_buffer->qf != RADV_QUEUE_TRANSFER &&
       (info->gfx_level < GFX9 || info->cp_sdma_ge_use_system_memory_scope))
      cmd_buffer->state.flush_bits |= RADV_CMD_FLAG_INV_L2;
}

static void
mark(struct radv_cmd_buffer *cmd_buffer, const struct vk_image *image,
     const VkImageSubresourceRange *range, bool is_written)
{
   struct marking marking = {.cmd_buffer = cmd_buffer, .is_written = is_written};

   add(&marking, image, range);
   end(&marking);
}

/* Images */

void
gpuval_radv_images_add_memory(struct gpuval_radv *gpuval, const VkMemoryAllocateInfo *info,
                              VkDeviceMemory memory)
{
   struct gpuval_radv_images *images = gpuval->images;

   if (!images || gpuval_radv_is_private(info, true))
      return;
   simple_mtx_lock(&images->mutex);
   _mesa_set_add(images->foreign, (void *)(uintptr_t)memory);
   simple_mtx_unlock(&images->mutex);
}

void
gpuval_radv_images_remove_memory(struct gpuval_radv *gpuval, VkDeviceMemory memory)
{
   struct gpuval_radv_images *images = gpuval->images;

   if (!images)
      return;
   simple_mtx_lock(&images->mutex);
   _mesa_set_remove_key(images->foreign, (void *)(uintptr_t)memory);
   simple_mtx_unlock(&images->mutex);
}

void
gpuval_radv_images_add(struct gpuval_radv *gpuval, const VkImageCreateInfo *info,
                       const struct vk_image *image)
{
   if (gpuval->images && gpuval_image_may_have_marks(info))
      gpuval_image_marks_add(gpuval->device, image);
}

void
gpuval_radv_images_remove(struct gpuval_radv *gpuval, const struct vk_image *image)
{
   if (gpuval->images)
      gpuval_image_marks_remove(gpuval->device, image);
}

void
gpuval_radv_images_bind(struct gpuval_radv *gpuval, uint32_t count,
                        const VkBindImageMemoryInfo *infos)
{
   struct gpuval_radv_images *images = gpuval->images;

   for (uint32_t i = 0; images && i < count; i++) {
      simple_mtx_lock(&images->mutex);
      bool is_foreign = !infos[i].memory ||
                        _mesa_set_search(images->foreign, (const void *)(uintptr_t)infos[i].memory);
      simple_mtx_unlock(&images->mutex);
      if (is_foreign)
         gpuval_image_marks_forget(gpuval->device, vk_image_from_handle(infos[i].image));
   }
}

/* A view with a lowest level of its own reads others than those that are asked for. */
void
gpuval_radv_images_add_view(struct gpuval_radv *gpuval, const VkImageViewCreateInfo *info,
                            const struct vk_image_view *view)
{
   if (!gpuval->images)
      return;
   if (vk_find_struct_const(info->pNext, IMAGE_VIEW_MIN_LOD_CREATE_INFO_EXT))
      gpuval_image_marks_forget(gpuval->device, vk_image_from_handle(info->image));
   else if (view)
      gpuval_image_marks_add_view(gpuval->device, view);
}

/* In a descriptor buffer nobody knows whose it is. */
void
gpuval_radv_images_get_descriptor(struct gpuval_radv *gpuval, const VkDescriptorGetInfoEXT *info)
{
   const VkDescriptorImageInfo *image =
      info->type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE ? info->data.pStorageImage : NULL;

   if (gpuval->images && image && image->imageView)
      gpuval_image_marks_forget(gpuval->device, vk_image_view_from_handle(image->imageView)->image);
}

/* Commands */

struct discarded {
   const struct vk_image *image;
   VkImageSubresourceRange range;
};

/* Of a command buffer */
struct gpuval_radv_init {
   struct gpuval_radv_walk *walk;
   struct util_dynarray discarded; /* struct discarded: behind the command that is visited, */
   bool is_written_back;           /* in front of which caches are as loads need them */
};

static struct gpuval_radv *
gpuval_of(const struct gpuval_radv_init *init)
{
   return radv_cmd_buffer_device(init->walk->cmd_buffer)->gpuval;
}

static void
take_first(void *data, uint64_t address, uint32_t count)
{
   uint64_t *first = data;
   if (!*first)
      *first = address;
}

/* Before GFX9 the command processor has not always the cache that shaders set marks through, nor
 * shaders what it has written.
 */
static void
write_back(struct radv_cmd_buffer *cmd_buffer)
{
   if (radv_device_physical(radv_cmd_buffer_device(cmd_buffer))->info.gfx_level >= GFX9)
      return;
   cmd_buffer->state.flush_bits |= RADV_CMD_FLAG_VS_PARTIAL_FLUSH | RADV_CMD_FLAG_PS_PARTIAL_FLUSH |
                                   RADV_CMD_FLAG_CS_PARTIAL_FLUSH | RADV_CMD_FLAG_INV_L2;
   radv_emit_cache_flush(cmd_buffer);
}

struct load {
   struct gpuval_radv_init *init;
   const struct gpuval_attachment *attachment;
};

/* Reads what is there: the GPU copies the marks. */
static void
load_range(void *data, const VkImageSubresourceRange *range)
{
   const struct load *load = data;
   struct gpuval_radv_walk *walk = load->init->walk;
   const struct gpuval_attachment *attachment = load->attachment;
   const struct vk_image *image = attachment->view->image;
   bool is_3d = image->image_type == VK_IMAGE_TYPE_3D;
   uint64_t address = 0;

   gpuval_image_marks_visit(gpuval_of(load->init)->device, image, range, take_first, &address);
   if (!address)
      return;
   if (!load->init->is_written_back)
      write_back(walk->cmd_buffer);
   load->init->is_written_back = true;

   struct gpuval_command_failure failure = {
      .kind = GPUVAL_KIND_UNINITIALIZED_READ,
      .op = GPUVAL_OP_LOAD,
      .part = attachment->number,
      .count = 1,
      .range =
         {
            .type = "attachment",
            .binding = -1,
            .object_id = image->base.gpuval_id,
            .is_image = true,
         },
   };
   snprintf(failure.detail, sizeof(failure.detail), "the load operation of %s reads level %u",
            attachment->name, range->baseMipLevel);
   gpuval_radv_add_look(walk->cmd_buffer,
                        &(struct gpuval_radv_look){
                           .command_id = gpuval_radv_visited_id(walk),
                           .arguments =
                              {
                                 .range = {.address = address},
                                 .stride = GPUVAL_INIT_LAYER_SIZE,
                                 .count = is_3d ? 1 : range->layerCount,
                              },
                           .load = ralloc_memdup(gpuval_radv_looks(walk->cmd_buffer)->mem_ctx,
                                                 &failure, sizeof(failure)),
                           .first_layer = range->baseArrayLayer,
                        });
}

static void
load(void *data, const struct gpuval_attachment *attachment)
{
   struct load load = {data, attachment};

   if (gpuval_of(load.init)->images)
      gpuval_visit_attachment(attachment, load_range, &load);
}

static void
write_buffer(void *init, const struct vk_buffer *buffer, uint64_t offset, uint64_t size)
{
   gpuval_radv_written_buffer(gpuval_of(init), vk_buffer_to_handle((struct vk_buffer *)buffer),
                              offset, size);
}

static void
write_address(void *init, VkDeviceAddress address, uint64_t size)
{
   gpuval_radv_written_address(gpuval_of(init), address, size);
}

static void
write_image(void *data, const struct vk_image *image, const VkImageSubresourceRange *range)
{
   const struct gpuval_radv_init *init = data;

   if (gpuval_of(init)->images)
      mark(init->walk->cmd_buffer, image, range, true);
}

static void
discard_image(void *data, const struct vk_image *image, const VkImageSubresourceRange *range,
              bool later)
{
   struct gpuval_radv_init *init = data;
   const struct discarded discarded = {image, *range};

   if (!gpuval_of(init)->images)
      return;
   if (later)
      util_dynarray_append_typed(&init->discarded, struct discarded, discarded);
   else
      mark(init->walk->cmd_buffer, image, range, false);
}

void
gpuval_radv_discard_images(struct gpuval_radv_init *init)
{
   struct marking marking = {.cmd_buffer = init->walk->cmd_buffer};

   util_dynarray_foreach (&init->discarded, struct discarded, discarded)
      add(&marking, discarded->image, &discarded->range);
   end(&marking);
   util_dynarray_clear(&init->discarded);
   init->is_written_back = false;
}

void
gpuval_radv_observe_init(struct gpuval_radv_walk *walk)
{
   static const struct gpuval_init_memory memory = {
      .write_buffer = write_buffer,
      .write_address = write_address,
      .write_image = write_image,
      .discard_image = discard_image,
      .takes_gaps = true,
      .load = load,
   };

   if (!gpuval_device_has_marks(radv_cmd_buffer_device(walk->cmd_buffer)->gpuval->device))
      return;
   walk->init = rzalloc(walk, struct gpuval_radv_init);
   walk->init->walk = walk;
   util_dynarray_init(&walk->init->discarded, walk->init);
   gpuval_commands_add_observer(walk->commands, &gpuval_init_observer,
                                gpuval_init_commands_create(walk, &memory, walk->init));
}

void
gpuval_radv_init_written_images(struct gpuval_radv *gpuval)
{
   if (!gpuval_device_has_marks(gpuval->device) || !gpuval_device_objects(gpuval->device))
      return;
   gpuval->images = ralloc(gpuval, struct gpuval_radv_images);
   gpuval->images->foreign = _mesa_pointer_set_create(gpuval->images);
   simple_mtx_init(&gpuval->images->mutex, mtx_plain);
}

void
gpuval_radv_finish_written_images(struct gpuval_radv *gpuval)
{
   if (gpuval->images)
      simple_mtx_destroy(&gpuval->images->mutex);
}
