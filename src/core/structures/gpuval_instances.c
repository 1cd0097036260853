/* SPDX-License-Identifier: MIT */

#include "gpuval_instances.h"
#include "core/device/gpuval_device.h"
#include "gpuval_structure_table.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/shaders/gpuval_instrument.h"
#include "util/macros.h"

static const char *
describe_state(enum gpuval_structure_state state)
{
   switch (state) {
   case GPUVAL_STRUCTURE_DESTROYED:
      return "which is destroyed";
   case GPUVAL_STRUCTURE_NOT_BUILT:
      return "which has never been built";
   case GPUVAL_STRUCTURE_TOP_LEVEL:
   case GPUVAL_STRUCTURE_STALE:
      return "which is a top-level structure";
   default:
      return "where no acceleration structure is";
   }
}

/* Bytes from one instance, or pointer to one, to the next */
static uint64_t
get_stride(const struct gpuval_instances *instances)
{
   return instances->array_of_pointers ? sizeof(VkDeviceAddress)
                                       : sizeof(VkAccelerationStructureInstanceKHR);
}

void
gpuval_instances_find(struct gpuval_instances *instances)
{
   const uint64_t stride = get_stride(instances);
   struct gpuval_command_range range;

   instances->num_there = 0;
   if (gpuval_device_find_buffer(instances->device, instances->address, instances->count * stride,
                                 &range)) {
      const uint64_t left = range.size - (instances->address - range.address);
      instances->num_there = MIN2(left / stride, instances->count);
   }
}

static bool
is_in_last(const struct gpuval_instances *instances, uint64_t address, uint64_t size)
{
   const uint64_t offset = address - instances->begin;

   return offset < instances->size && size <= instances->size - offset;
}

/* Is that in a buffer? */
static bool
is_in_buffer(struct gpuval_instances *instances, uint64_t address, uint64_t size)
{
   struct gpuval_command_range range;

   if (is_in_last(instances, address, size))
      return true;
   if (!gpuval_device_find_buffer(instances->device, address, size, &range))
      return false;
   instances->begin = range.address;
   instances->size = range.size;
   return is_in_last(instances, address, size);
}

const VkAccelerationStructureInstanceKHR *
gpuval_instances_get(struct gpuval_instances *instances, uint32_t i)
{
   if (instances->device && i >= instances->num_there)
      return NULL;
   if (!instances->array_of_pointers)
      return &((const VkAccelerationStructureInstanceKHR *)instances->data)[i];

   const VkAccelerationStructureInstanceKHR *instance =
      ((const VkAccelerationStructureInstanceKHR *const *)instances->data)[i];
   return !instances->device || is_in_buffer(instances, (uintptr_t)instance, sizeof(*instance))
             ? instance
             : NULL;
}

/* Says what is read at @address, if that is known, of the buffer that has @first. */
static void
describe_place(struct gpuval_device *device, struct gpuval_command_failure *failure, uint64_t first,
               uint64_t address)
{
   if (!address)
      return;
   failure->range.address = address;
   if (gpuval_device_find_buffer(device, first, address - first + failure->size, &failure->range))
      failure->offset = address - failure->range.address;
   failure->range.type = "address";
}

/* Of the first bad instance, which is in no buffer */
static void
describe_absent(struct gpuval_device *device, const struct gpuval_instances *instances,
                uint32_t index, struct gpuval_command_failure *failure)
{
   uint64_t first = instances->address, address = first + index * get_stride(instances);
   bool is_pointer = instances->array_of_pointers && index >= instances->num_there;

   failure->size = is_pointer ? sizeof(uint64_t) : sizeof(VkAccelerationStructureInstanceKHR);
   if (instances->array_of_pointers && !is_pointer)
      first = address = ((const uint64_t *)instances->data)[index];
   describe_place(device, failure, first, address);
   snprintf(failure->detail, sizeof(failure->detail),
            "%s %" PRIu32 " is at address 0x%" PRIx64 ", outside of each buffer",
            is_pointer ? "the pointer to instance" : "instance", index, address);
}

/* Of the first bad instance */
static struct gpuval_command_failure
describe_instance(struct gpuval_device *device, struct gpuval_instances *instances, uint32_t index,
                  enum gpuval_structure_state state)
{
   const VkAccelerationStructureInstanceKHR *instance = gpuval_instances_get(instances, index);
   struct gpuval_command_failure failure = {
      .kind = GPUVAL_KIND_RAY_BAD_STRUCTURE,
      .op = GPUVAL_OP_INDIRECT,
      .range = {.binding = -1},
   };

   if (!instance) {
      describe_absent(device, instances, index, &failure);
      return failure;
   }

   uint64_t first = instances->array_of_pointers ? (uintptr_t)instance
                    : instances->address         ? instances->address + index * sizeof(*instance)
                                                 : 0;
   failure.size = sizeof(instance->accelerationStructureReference);
   describe_place(
      device, &failure, first,
      first ? first + offsetof(VkAccelerationStructureInstanceKHR, accelerationStructureReference)
            : 0);
   snprintf(failure.detail, sizeof(failure.detail),
            "instance %" PRIu32 " refers to address 0x%" PRIx64 ", %s", index,
            instance->accelerationStructureReference, describe_state(state));
   return failure;
}

bool
gpuval_instances_is_good(struct gpuval_device *device, uint64_t reference)
{
   const struct vk_object_base *object;

   return reference && gpuval_structure_is_bottom(
                          gpuval_structures_find(&device->structures->all, reference, &object));
}

void
gpuval_instances_check(struct gpuval_device *device, struct gpuval_instances *instances,
                       struct gpuval_command_failure *failure, struct util_dynarray *references)
{
   uint64_t last = 0; /* that was good: many refer to the same */

   for (uint32_t i = 0; i < instances->count; i++) {
      const VkAccelerationStructureInstanceKHR *instance = gpuval_instances_get(instances, i);
      const struct vk_object_base *object;
      uint64_t reference = instance ? instance->accelerationStructureReference : 0;
      if (instance && (!reference || reference == last))
         continue;

      enum gpuval_structure_state state =
         gpuval_structures_find(&device->structures->all, reference, &object);
      if (instance && gpuval_structure_is_bottom(state)) {
         util_dynarray_append_typed(references, uint64_t, reference);
         last = reference;
      } else if (!failure->count++) {
         uint64_t count = failure->count;
         *failure = describe_instance(device, instances, i, state);
         failure->count = count;
      }
   }
}
