/* SPDX-License-Identifier: MIT */

/* Buffers are resident: no command buffer names them. Where shaders do atomics, which memory of the
 * host does not always support, they are in video memory that the host sees, and uncached, as
 * those of RADV's own traces (radv_init_trace). What shaders mostly read the GPU may cache, what
 * the host polls is the host's memory, and what is large is where the host does not see it.
 */

#include "gpuval_winsys_radv.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_device.h"
#include "radv_physical_device.h"

struct buffer {
   struct list_head link;
   struct radeon_winsys_bo *bo;
   void *map;
};

static void
destroy(struct gpuval_winsys_radv *winsys, struct buffer *buffer)
{
   struct radeon_winsys *ws = winsys->device->ws;

   if (buffer->bo) {
      ws->buffer_make_resident(ws, buffer->bo, false);
      radv_bo_destroy(winsys->device, NULL, buffer->bo);
   }
   free(buffer);
}

/* Without a map */
static struct buffer *
create(struct gpuval_winsys_radv *winsys, uint64_t size, uint64_t *address,
       enum radeon_bo_domain domain, enum radeon_bo_flag flags)
{
   struct radeon_winsys *ws = winsys->device->ws;
   struct buffer *buffer = calloc(1, sizeof(*buffer));

   if (!buffer)
      return NULL;

   if (radv_bo_create(winsys->device, NULL, size, 4096, domain,
                      flags | RADEON_FLAG_NO_INTERPROCESS_SHARING, RADV_BO_PRIORITY_UPLOAD_BUFFER,
                      0, true, &buffer->bo) != VK_SUCCESS) {
      free(buffer);
      return NULL;
   }

   if (ws->buffer_make_resident(ws, buffer->bo, true) != VK_SUCCESS) {
      destroy(winsys, buffer);
      return NULL;
   }
   *address = radv_buffer_get_va(buffer->bo);
   return buffer;
}

static void *
alloc(void *data, uint64_t size, uint64_t *address, enum radeon_bo_domain domain,
      enum radeon_bo_flag flags)
{
   struct gpuval_winsys_radv *winsys = data;
   struct buffer *buffer = create(winsys, size, address, domain, flags | RADEON_FLAG_CPU_ACCESS);

   if (!buffer)
      return NULL;
   buffer->map = radv_buffer_map(winsys->device->ws, buffer->bo);
   if (!buffer->map) {
      destroy(winsys, buffer);
      return NULL;
   }

   /* The kernel has cleared it; without one there is what was there. */
   if (radv_device_physical(winsys->device)->info.family_overridden)
      memset(buffer->map, 0, size);
   list_addtail(&buffer->link, &winsys->buffers);
   return buffer->map;
}

static void *
radv_alloc(void *data, uint64_t size, uint64_t *address)
{
   return alloc(data, size, address, RADEON_DOMAIN_VRAM,
                RADEON_FLAG_ZERO_VRAM | GPUVAL_RADV_UNCACHED);
}

/* The GPU caches it, as it does descriptor pools: RADV invalidates all caches before a submit. */
static void *
radv_alloc_table(void *data, uint64_t size, uint64_t *address)
{
   return alloc(data, size, address, RADEON_DOMAIN_VRAM, RADEON_FLAG_ZERO_VRAM);
}

/* The host has it in its caches. */
static void *
radv_alloc_poll(void *data, uint64_t size, uint64_t *address)
{
   return alloc(data, size, address, RADEON_DOMAIN_GTT, GPUVAL_RADV_UNCACHED);
}

/* The kernel clears what is the host's anyway. */
static void *
radv_alloc_plain(void *data, uint64_t size, uint64_t *address)
{
   struct gpuval_winsys_radv *winsys = data;

   if (!winsys->is_small)
      return radv_alloc(data, size, address);
   return alloc(data, size, address, RADEON_DOMAIN_GTT, RADEON_FLAG_GTT_WC | GPUVAL_RADV_UNCACHED);
}

/* Only the GPU uses it, and so it may be cached. */
static void *
radv_alloc_unseen(void *data, uint64_t size, uint64_t *address)
{
   struct gpuval_winsys_radv *winsys = data;
   struct buffer *buffer = create(winsys, size, address, RADEON_DOMAIN_VRAM,
                                  RADEON_FLAG_NO_CPU_ACCESS | RADEON_FLAG_ZERO_VRAM);
   if (!buffer)
      return NULL;
   buffer->map = buffer; /* what it is freed by */
   list_addtail(&buffer->link, &winsys->buffers);
   return buffer->map;
}

static struct buffer *
find(const struct gpuval_winsys_radv *winsys, const void *map)
{
   list_for_each_entry (struct buffer, buffer, &winsys->buffers, link) {
      if (buffer->map == map)
         return buffer;
   }
   return NULL;
}

struct radeon_winsys_bo *
gpuval_winsys_radv_bo(const struct gpuval_winsys_radv *winsys, const void *map)
{
   const struct buffer *buffer = find(winsys, map);
   return buffer ? buffer->bo : NULL;
}

static void
radv_free(void *data, void *map, uint64_t size)
{
   struct gpuval_winsys_radv *winsys = data;
   struct buffer *buffer = find(winsys, map);

   if (buffer) {
      list_del(&buffer->link);
      destroy(winsys, buffer);
   }
}

void
gpuval_winsys_radv_forget(struct gpuval_winsys_radv *winsys, void *map)
{
   struct buffer *buffer = find(winsys, map);

   if (buffer)
      list_del(&buffer->link);
}

static void
radv_clear(void *data, void *map, uint64_t size)
{
   memset(map, 0, size);
}

static bool
radv_clear_all(void *data, const struct gpuval_cleared *ranges, unsigned count)
{
   struct gpuval_winsys_radv *winsys = data;
   return winsys->clear_on_gpu && winsys->clear_on_gpu(winsys, ranges, count);
}

void
gpuval_winsys_radv_init(struct gpuval_winsys_radv *winsys, struct radv_device *device)
{
   *winsys = (struct gpuval_winsys_radv){
      .base =
         {
            .alloc = radv_alloc,
            .alloc_plain = radv_alloc_plain,
            .alloc_table = radv_alloc_table,
            .alloc_poll = radv_alloc_poll,
            .alloc_unseen = radv_alloc_unseen,
            .free = radv_free,
            .clear = radv_clear,
            .clear_all = radv_clear_all,
            .data = winsys,
         },
      .device = device,
   };
   list_inithead(&winsys->buffers);
}

void
gpuval_winsys_radv_finish(struct gpuval_winsys_radv *winsys)
{
   assert(list_is_empty(&winsys->buffers));
}
