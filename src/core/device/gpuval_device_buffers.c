/* SPDX-License-Identifier: MIT */

/* Memory that shaders and host share. */

#include "gpuval_device.h"

/* @alloc: a function of gpuval_winsys, or NULL: its first one does */
static bool
alloc_by(struct gpuval_device *device, void *(*alloc)(void *, uint64_t, uint64_t *),
         struct gpuval_buffer *buffer, uint64_t size)
{
   const struct gpuval_winsys *winsys = &device->info.winsys;

   if (!alloc)
      alloc = winsys->alloc;
   buffer->map = alloc(winsys->data, size, &buffer->address);
   buffer->size = size;
   return buffer->map != NULL;
}

bool
gpuval_device_alloc(struct gpuval_device *device, struct gpuval_buffer *buffer, uint64_t size)
{
   return alloc_by(device, NULL, buffer, size);
}

bool
gpuval_device_alloc_table(struct gpuval_device *device, struct gpuval_buffer *buffer, uint64_t size)
{
   return alloc_by(device, device->info.winsys.alloc_table, buffer, size);
}

bool
gpuval_device_alloc_poll(struct gpuval_device *device, struct gpuval_buffer *buffer, uint64_t size)
{
   return alloc_by(device, device->info.winsys.alloc_poll, buffer, size);
}

bool
gpuval_device_alloc_plain(struct gpuval_device *device, struct gpuval_buffer *buffer, uint64_t size)
{
   return alloc_by(device, device->info.winsys.alloc_plain, buffer, size);
}

void
gpuval_device_free(struct gpuval_device *device, struct gpuval_buffer *buffer)
{
   if (buffer->map)
      device->info.winsys.free(device->info.winsys.data, buffer->map, buffer->size);
   *buffer = (struct gpuval_buffer){0};
}

void
gpuval_device_free_buffers(struct gpuval_device *device, struct util_dynarray *buffers)
{
   util_dynarray_foreach (buffers, struct gpuval_buffer, buffer)
      gpuval_device_free(device, buffer);
   util_dynarray_clear(buffers);
}

void
gpuval_move_buffers(struct util_dynarray *to, struct util_dynarray *from)
{
   util_dynarray_append_dynarray(to, from);
   util_dynarray_clear(from);
}
