/* SPDX-License-Identifier: MIT */

/* The check `race`, what the host does with images itself: copies and transitions, on whatever
 * thread. They are in a race with what was submitted before and has not been waited for; what is
 * submitted later comes after them. So that it does not depend on how fast lavapipe is which of
 * the two is named first, they are looked at when all of that has been executed.
 */

#include "gpuval_lvp_private.h"
#include "gpuval_lvp_race.h"

#include "gpuval/src/compat/gpuval_lvp_driver.h"

#include "gpuval/src/core/race/gpuval_race_queue.h"
#include "util/simple_mtx.h"

/* lavapipe has one, and the host another one as race sees it. */
#define QUEUE 0

struct waiting {
   struct gpuval_race_segment *segment;
   uint64_t last; /* the submit that comes before it */
};

struct gpuval_lvp_race_host {
   PFN_vkCopyMemoryToImageEXT copy_memory_to_image;
   PFN_vkCopyImageToMemoryEXT copy_image_to_memory;
   PFN_vkCopyImageToImageEXT copy_image_to_image;
   PFN_vkTransitionImageLayoutEXT transition_image_layout;
   struct gpuval_race *race; /* of the device */
   struct gpuval_submits *submits;

   simple_mtx_t mutex; /* what follows */
   struct gpuval_race *notes;
   struct gpuval_race_queue *queue;
   struct util_dynarray waiting; /* struct waiting */
   bool is_executing;            /* a command buffer */
};

/* Without the mutex, as a messenger of the program's may hear of it. */
static void
judge(struct gpuval_lvp_race_host *host, struct util_dynarray *segments)
{
   util_dynarray_foreach (segments, struct gpuval_race_segment *, segment)
      gpuval_race_judge(host->race, *segment);
   util_dynarray_fini(segments);
}

/* With the mutex: those that wait for nothing any more */
static void
take_ready(struct gpuval_lvp_race_host *host, struct util_dynarray *segments)
{
   unsigned count = 0;

   util_dynarray_foreach (&host->waiting, struct waiting, waiting) {
      if (gpuval_submits_have_begun(host->submits, QUEUE, waiting->last))
         util_dynarray_append_typed(segments, struct gpuval_race_segment *, waiting->segment);
      else
         *util_dynarray_element(&host->waiting, struct waiting, count++) = *waiting;
   }
   host->waiting.size = count * sizeof(struct waiting);
}

void
gpuval_lvp_race_host_idle(struct gpuval_lvp_race_host *host, bool begins)
{
   struct util_dynarray segments;

   util_dynarray_init(&segments, NULL);
   simple_mtx_lock(&host->mutex);
   take_ready(host, &segments);
   host->is_executing = begins;
   simple_mtx_unlock(&host->mutex);
   judge(host, &segments);
}

static void
use(struct gpuval_lvp_race_host *host, const char *op, struct util_dynarray *parts)
{
   struct util_dynarray segments;

   util_dynarray_init(&segments, NULL);
   simple_mtx_lock(&host->mutex);
   if (parts->size) {
      gpuval_race_queue_host(host->queue, op, parts);
      const struct waiting added = {
         .segment = gpuval_race_take(host->notes),
         .last = gpuval_submits_last(host->submits, QUEUE),
      };
      util_dynarray_append_typed(&host->waiting, struct waiting, added);
   }
   if (!host->is_executing)
      take_ready(host, &segments);
   simple_mtx_unlock(&host->mutex);
   judge(host, &segments);
   util_dynarray_fini(parts);
}

/* Entry points */

static struct gpuval_lvp_race_host *
get_host(VkDevice handle)
{
   VK_FROM_HANDLE(lvp_device, device, handle);
   return gpuval_lvp_get_race_host(device->gpuval);
}

#define COPY(Function, op, visit, next)                                                            \
   static VKAPI_ATTR VkResult VKAPI_CALL hook_##Function##EXT(VkDevice device,                     \
                                                              const Vk##Function##InfoEXT *info)   \
   {                                                                                               \
      struct gpuval_lvp_race_host *host = get_host(device);                                        \
      struct util_dynarray parts;                                                                  \
                                                                                                   \
      if (gpuval_lvp_executes())                                                                   \
         return host->next(device, info);                                                          \
      util_dynarray_init(&parts, NULL);                                                            \
      visit(info, gpuval_race_add_access, &parts);                                                 \
      use(host, op, &parts);                                                                       \
      return host->next(device, info);                                                             \
   }

COPY(CopyMemoryToImage, "copy_memory_to_image", gpuval_visit_copy_memory_to_image,
     copy_memory_to_image)
COPY(CopyImageToMemory, "copy_image_to_memory", gpuval_visit_copy_image_to_memory,
     copy_image_to_memory)
COPY(CopyImageToImage, "copy_image_to_image", gpuval_visit_host_copy_image, copy_image_to_image)

static VKAPI_ATTR VkResult VKAPI_CALL
hook_TransitionImageLayoutEXT(VkDevice device, uint32_t count,
                              const VkHostImageLayoutTransitionInfoEXT *infos)
{
   struct gpuval_lvp_race_host *host = get_host(device);
   struct util_dynarray parts;

   util_dynarray_init(&parts, NULL);
   for (uint32_t i = 0; i < count; i++) {
      const struct gpuval_command_access transition = {
         .stages = VK_PIPELINE_STAGE_2_HOST_BIT,
         .access = VK_ACCESS_2_MEMORY_WRITE_BIT,
         .image = vk_image_from_handle(infos[i].image),
         .range = infos[i].subresourceRange,
      };
      if (infos[i].oldLayout != infos[i].newLayout)
         gpuval_race_add_access(&parts, &transition);
   }
   use(host, "transition_image_layout", &parts);
   return host->transition_image_layout(device, count, infos);
}

/* Device */

struct gpuval_lvp_race_host *
gpuval_lvp_race_host_create(void *mem_ctx, struct vk_device_dispatch_table *table,
                            struct gpuval_race *race, const struct gpuval_race_driver *driver,
                            struct gpuval_submits *submits)
{
   struct gpuval_lvp_race_host *host = rzalloc(mem_ctx, struct gpuval_lvp_race_host);

   host->race = race;
   host->submits = submits;
   host->notes = gpuval_race_create(NULL, NULL);
   host->queue = gpuval_race_queue_create(host, host->notes, driver, submits, NULL, QUEUE + 1);
   util_dynarray_init(&host->waiting, host);
   simple_mtx_init(&host->mutex, mtx_plain);

   host->copy_memory_to_image = table->CopyMemoryToImageEXT;
   host->copy_image_to_memory = table->CopyImageToMemoryEXT;
   host->copy_image_to_image = table->CopyImageToImageEXT;
   host->transition_image_layout = table->TransitionImageLayoutEXT;
   table->CopyMemoryToImageEXT = hook_CopyMemoryToImageEXT;
   table->CopyImageToMemoryEXT = hook_CopyImageToMemoryEXT;
   table->CopyImageToImageEXT = hook_CopyImageToImageEXT;
   table->TransitionImageLayoutEXT = hook_TransitionImageLayoutEXT;
   return host;
}

void
gpuval_lvp_race_host_destroy(struct gpuval_lvp_race_host *host)
{
   util_dynarray_foreach (&host->waiting, struct waiting, waiting)
      gpuval_race_drop(waiting->segment);
   gpuval_race_destroy(host->notes);
   simple_mtx_destroy(&host->mutex);
}
