/* SPDX-License-Identifier: MIT */

/* Memory, and the buffers in it, from when they are there until they go. */

#include "gpuval_lvp_device.h"
#include "gpuval_lvp_race.h"

#include "gallium/drivers/llvmpipe/lp_texture.h"

#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval/src/core/memory/gpuval_written.h"
#include "util/u_memset.h"

/* Memory of the driver's own goes into the window of shadow memory before anybody
 * knows its address; what others have brought along gets its cells there.
 */
static void
place_memory(struct gpuval_lvp *gpuval, struct lvp_device_memory *memory)
{
   if (memory->memory_type == LVP_DEVICE_MEMORY_TYPE_DEFAULT) {
      struct llvmpipe_memory_allocation *allocation = (void *)memory->pmem;
      void *place = gpuval_shadow_place(gpuval->window, allocation->cpu_addr, allocation->size);
      if (place) {
         memory->map = allocation->cpu_addr = place;
         return;
      }
   }
   if (gpuval->shadow &&
       !gpuval_shadow_add_range(gpuval->shadow, (uintptr_t)memory->map,
                                gpuval_lvp_memory_size(memory)) &&
       !gpuval->warned_memory) {
      gpuval->warned_memory = true;
      gpuval_log_warning("sync: no room for shadow memory of all imported memory: it is not "
                         "looked at");
   }
}

/* Not what has been imported, or is shared with others, who may have written it, or is cleared */
static void
poison_memory(const struct lvp_device_memory *memory)
{
   if (memory->memory_type == LVP_DEVICE_MEMORY_TYPE_DEFAULT &&
       !gpuval_lvp_memory_is_zeroed(memory))
      util_memset32(memory->map, GPUVAL_POISON_WORD,
                    gpuval_lvp_memory_size(memory) / sizeof(uint32_t));
}

void
gpuval_lvp_add_memory(struct gpuval_lvp *gpuval, struct lvp_device_memory *memory)
{
   if (gpuval->window)
      place_memory(gpuval, memory);
   if (gpuval_options()->poison)
      poison_memory(memory);
   gpuval_device_add_memory(gpuval->device, gpuval_lvp_memory_object(memory),
                            (uintptr_t)memory->map, gpuval_lvp_memory_size(memory));
   if (gpuval->written && gpuval_lvp_memory_is_zeroed(memory))
      gpuval_written_mark(gpuval_device_written(gpuval->device), (uintptr_t)memory->map,
                          gpuval_lvp_memory_size(memory));
}

void
gpuval_lvp_remove_memory(struct gpuval_lvp *gpuval, struct lvp_device_memory *memory)
{
   gpuval_device_remove_memory(gpuval->device, gpuval_lvp_memory_object(memory));
   if (gpuval->race)
      gpuval_lvp_race_forget(gpuval->race, (uintptr_t)memory->map, gpuval_lvp_memory_size(memory));
   if (!gpuval->window)
      return;

   if (gpuval_device_written(gpuval->device))
      gpuval_written_forget(gpuval_device_written(gpuval->device));
   gpuval_shadow_remove_range(gpuval->window, (uintptr_t)memory->map);
   if (memory->memory_type == LVP_DEVICE_MEMORY_TYPE_DEFAULT) {
      struct llvmpipe_memory_allocation *allocation = (void *)memory->pmem;
      void *map = gpuval_shadow_take(gpuval->window, allocation->cpu_addr, allocation->size);
      if (map)
         allocation->cpu_addr = map;
   }
}

void
gpuval_lvp_add_buffer(struct gpuval_lvp *gpuval, struct lvp_buffer *buffer)
{
   bool is_sparse = buffer->vk.create_flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT;

   gpuval_device_add_buffer(gpuval->device, &buffer->vk.base, (uintptr_t)buffer->map,
                            buffer->vk.size);
   if (is_sparse && gpuval->window && !gpuval->warned_sparse) {
      gpuval->warned_sparse = true;
      gpuval_log_warning("sync and init do not look at buffers with sparse binding");
   }
}

void
gpuval_lvp_remove_buffer(struct gpuval_lvp *gpuval, struct lvp_buffer *buffer)
{
   gpuval_device_remove_buffer(gpuval->device, &buffer->vk.base);
}
