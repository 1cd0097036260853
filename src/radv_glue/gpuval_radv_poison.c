/* SPDX-License-Identifier: MIT */

/* GPUVAL_POISON: the host fills memory before the program gets it, also what the program itself
 * cannot map. Contents mean nothing then, so that it does not matter what lies there: images begin
 * undefined, and RADV initializes their metadata when that layout is left.
 */

#include "gpuval_radv_layer.h"

#include "radv_device.h"
#include "radv_device_memory.h"
#include "radv_physical_device.h"
#include "radv_radeon_winsys.h"

#include <inttypes.h>

#include "util/u_atomic.h"
#include "util/u_memset.h"

/* Without a resizable BAR, what is mapped would have to leave most of the video memory. */
static bool
host_sees_all(const struct radv_device *device)
{
   const struct radv_physical_device *pdev = radv_device_physical(device);

   return !pdev->info.has_dedicated_vram || pdev->info.all_vram_visible;
}

uint32_t
gpuval_radv_memory_flags(const struct gpuval_radv *gpuval, const VkMemoryAllocateInfo *info,
                         uint32_t flags)
{
   if (gpuval_options()->poison && gpuval_radv_is_private(info, true) &&
       host_sees_all(gpuval->radv))
      flags &= ~RADEON_FLAG_NO_CPU_ACCESS;
   return flags;
}

static void
fill(struct gpuval_radv *gpuval, const struct radv_device_memory *memory)
{
   struct radeon_winsys *ws = gpuval->radv->ws;
   void *map = memory->bo->vram_no_cpu_access ? NULL : radv_buffer_map(ws, memory->bo);

   if (!map) {
      if (p_atomic_add_return(&gpuval->unpoisoned, memory->alloc_size) == memory->alloc_size)
         gpuval_log_warning("GPUVAL_POISON=1: memory that the host does not see is not filled");
      return;
   }
   util_memset32(map, GPUVAL_POISON_WORD, memory->alloc_size / sizeof(uint32_t));
   ws->buffer_unmap(ws, memory->bo, false);
}

void
gpuval_radv_poison_memory(struct gpuval_radv *gpuval, const VkMemoryAllocateInfo *info,
                          const struct radv_device_memory *memory)
{
   if (gpuval_options()->poison && memory->bo && gpuval_radv_is_private(info, true))
      fill(gpuval, memory);
}

void
gpuval_radv_finish_poison(struct gpuval_radv *gpuval)
{
   if (gpuval->unpoisoned)
      gpuval_log_note("GPUVAL_POISON=1: %" PRIu64 " KiB of memory were not filled",
                      gpuval->unpoisoned >> 10);
}
