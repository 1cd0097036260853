/* SPDX-License-Identifier: MIT */

#include "gpuval_structure_table.h"

#include "vk_acceleration_structure.h"

void
gpuval_structure_table_init(struct gpuval_device *device)
{
   uint64_t *slots = device->structures->buffer.map;

   gpuval_structures_init(&device->structures->all, slots,
                          slots && gpuval_options()->safe ? slots + GPUVAL_STRUCTURE_SLOTS : NULL);
}

void
gpuval_structure_table_finish(struct gpuval_device *device)
{
   gpuval_structures_finish(&device->structures->all);
}

struct gpuval_structures *
gpuval_device_structures(struct gpuval_device *device)
{
   return device->structures->buffer.map ? &device->structures->all : NULL;
}

uint64_t
gpuval_device_bottom_structures(const struct gpuval_device *device)
{
   return device->structures->all.bottom_table
             ? device->structures->buffer.address + GPUVAL_STRUCTURE_SLOTS * sizeof(uint64_t)
             : 0;
}

/* Shaders cannot be told any more which they are. */
static void
believe_all_structures(struct gpuval_device *device)
{
   device->root->all_structures = 1;
   mtx_lock(&device->mutex);
   bool warned = device->structures->warned;
   device->structures->warned = true;
   mtx_unlock(&device->mutex);
   if (!warned)
      gpuval_log_warning("ray: too many top-level acceleration structures: traces are not checked "
                         "any more for one that has never been built");
}

void
gpuval_device_structure_used(struct gpuval_device *device, const struct vk_object_base *object)
{
   struct vk_acceleration_structure *structure =
      container_of(object, struct vk_acceleration_structure, base);

   gpuval_structures_place(&device->structures->all, object,
                           vk_acceleration_structure_get_va(structure));
}

void
gpuval_device_structure_built(struct gpuval_device *device, const struct vk_object_base *object,
                              enum gpuval_structure_state state, const uint64_t *references,
                              unsigned num_references)
{
   gpuval_device_structure_used(device, object);
   if (!gpuval_structures_built(&device->structures->all, object, state, references,
                                num_references))
      believe_all_structures(device);
}

void
gpuval_device_structure_copied(struct gpuval_device *device, const struct vk_object_base *to,
                               const struct vk_object_base *from)
{
   gpuval_device_structure_used(device, to);
   if (!gpuval_structures_copied(&device->structures->all, to, from))
      believe_all_structures(device);
}
