/* SPDX-License-Identifier: MIT */

/* Memory that shaders and host share. */

#include "gpuval_device.h"

bool
gpuval_device_alloc(struct gpuval_device *device, struct gpuval_buffer *buffer, uint64_t size)
{
   buffer->map = device->info.winsys.alloc(device->info.winsys.data, size, &buffer->address);
   buffer->size = size;
   return buffer->map != NULL;
}

bool
gpuval_device_alloc_table(struct gpuval_device *device, struct gpuval_buffer *buffer, uint64_t size)
{
   const struct gpuval_winsys *winsys = &device->info.winsys;

   if (!winsys->alloc_table)
      return gpuval_device_alloc(device, buffer, size);
   buffer->map = winsys->alloc_table(winsys->data, size, &buffer->address);
   buffer->size = size;
   return buffer->map != NULL;
}

bool
gpuval_device_alloc_poll(struct gpuval_device *device, struct gpuval_buffer *buffer, uint64_t size)
{
   const struct gpuval_winsys *winsys = &device->info.winsys;

   if (!winsys->alloc_poll)
      return gpuval_device_alloc(device, buffer, size);
   buffer->map = winsys->alloc_poll(winsys->data, size, &buffer->address);
   buffer->size = size;
   return buffer->map != NULL;
}

bool
gpuval_device_alloc_plain(struct gpuval_device *device, struct gpuval_buffer *buffer, uint64_t size)
{
   const struct gpuval_winsys *winsys = &device->info.winsys;

   if (!winsys->alloc_plain)
      return gpuval_device_alloc(device, buffer, size);
   buffer->map = winsys->alloc_plain(winsys->data, size, &buffer->address);
   buffer->size = size;
   return buffer->map != NULL;
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
