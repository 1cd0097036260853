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

const VkAccelerationStructureInstanceKHR *
gpuval_instances_get(const struct gpuval_instances *instances, uint32_t i)
{
   return instances->array_of_pointers
             ? ((const VkAccelerationStructureInstanceKHR *const *)instances->data)[i]
             : &((const VkAccelerationStructureInstanceKHR *)instances->data)[i];
}

/* Of the first bad instance */
static struct gpuval_command_failure
describe_instance(struct gpuval_device *device, const struct gpuval_instances *instances,
                  uint32_t index, enum gpuval_structure_state state)
{
   const VkAccelerationStructureInstanceKHR *instance = gpuval_instances_get(instances, index);
   uint64_t first = instances->array_of_pointers
                       ? (uintptr_t)instance
                       : instances->address + (uint64_t)index * sizeof(*instance);
   uint64_t address =
      first + offsetof(VkAccelerationStructureInstanceKHR, accelerationStructureReference);
   struct gpuval_command_failure failure = {
      .kind = GPUVAL_KIND_RAY_BAD_STRUCTURE,
      .op = GPUVAL_OP_INDIRECT,
      .size = sizeof(instance->accelerationStructureReference),
      .range = {.binding = -1},
   };

   if (instances->array_of_pointers || instances->address) {
      failure.range.address = address;
      if (gpuval_device_find_buffer(device, address, failure.size, &failure.range))
         failure.offset = address - failure.range.address;
      failure.range.type = "address";
   }
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
gpuval_instances_check(struct gpuval_device *device, const struct gpuval_instances *instances,
                       struct gpuval_command_failure *failure, struct util_dynarray *references)
{
   uint64_t last = 0; /* that was good: many refer to the same */

   for (uint32_t i = 0; i < instances->count; i++) {
      const struct vk_object_base *object;
      uint64_t reference = gpuval_instances_get(instances, i)->accelerationStructureReference;
      if (!reference || reference == last)
         continue;

      enum gpuval_structure_state state =
         gpuval_structures_find(&device->structures->all, reference, &object);
      if (gpuval_structure_is_bottom(state)) {
         util_dynarray_append_typed(references, uint64_t, reference);
         last = reference;
      } else if (!failure->count++) {
         uint64_t count = failure->count;
         *failure = describe_instance(device, instances, i, state);
         failure->count = count;
      }
   }
}
