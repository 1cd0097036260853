/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_structures.h"
#include "gpuval_lvp.h"
#include "gpuval_lvp_private.h"

#include <string.h>

#include "gpuval/src/compat/gpuval_lvp_driver.h"

#include "gpuval/src/core/structures/gpuval_structure_commands.h"
#include "gpuval/src/core/structures/gpuval_structures.h"
#include "vk_acceleration_structure.h"
#include "vk_common_entrypoints.h"

struct gpuval_lvp_structures {
   struct gpuval_device *device;
   struct gpuval_structure_commands *observer;
   void *mem_ctx; /* of the stand-in, or NULL */
};

static void
report(void *data, const struct gpuval_command_failure *failure)
{
   gpuval_lvp_report(data, failure);
}

struct gpuval_lvp_structures *
gpuval_lvp_structures_create(void *mem_ctx, struct gpuval_lvp *gpuval,
                             struct gpuval_commands *commands)
{
   struct gpuval_lvp_structures *structures = rzalloc(mem_ctx, struct gpuval_lvp_structures);

   structures->device = gpuval_lvp_device(gpuval);
   structures->observer =
      gpuval_structure_commands_create(structures, structures->device, report, gpuval);
   gpuval_commands_add_observer(commands, &gpuval_structure_observer, structures->observer);
   return structures;
}

/* Creation and destruction, which lavapipe leaves to Mesa's runtime */

static struct gpuval_structures *
device_structures(VkDevice handle)
{
   VK_FROM_HANDLE(lvp_device, device, handle);
   return device->gpuval ? gpuval_device_structures(gpuval_lvp_device(device->gpuval)) : NULL;
}

VKAPI_ATTR VkResult VKAPI_CALL
lvp_CreateAccelerationStructureKHR(VkDevice device,
                                   const VkAccelerationStructureCreateInfoKHR *pCreateInfo,
                                   const VkAllocationCallbacks *pAllocator,
                                   VkAccelerationStructureKHR *pAccelerationStructure)
{
   struct gpuval_structures *known = device_structures(device);
   VkResult result = vk_common_CreateAccelerationStructureKHR(device, pCreateInfo, pAllocator,
                                                              pAccelerationStructure);
   if (known && result == VK_SUCCESS) {
      VK_FROM_HANDLE(vk_acceleration_structure, structure, *pAccelerationStructure);
      VK_FROM_HANDLE(lvp_buffer, buffer, pCreateInfo->buffer);
      gpuval_structures_add(known, &structure->base,
                            buffer->map ? vk_acceleration_structure_get_va(structure) : 0);
   }
   return result;
}

VKAPI_ATTR VkDeviceAddress VKAPI_CALL
lvp_GetAccelerationStructureDeviceAddressKHR(
   VkDevice handle, const VkAccelerationStructureDeviceAddressInfoKHR *pInfo)
{
   VK_FROM_HANDLE(lvp_device, device, handle);
   VK_FROM_HANDLE(vk_acceleration_structure, structure, pInfo->accelerationStructure);

   if (device_structures(handle))
      gpuval_device_structure_used(gpuval_lvp_device(device->gpuval), &structure->base);
   return vk_common_GetAccelerationStructureDeviceAddressKHR(handle, pInfo);
}

VKAPI_ATTR void VKAPI_CALL
lvp_DestroyAccelerationStructureKHR(VkDevice device,
                                    VkAccelerationStructureKHR accelerationStructure,
                                    const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(vk_acceleration_structure, structure, accelerationStructure);
   struct gpuval_structures *known = device_structures(device);

   if (known && structure)
      gpuval_structures_remove(known, &structure->base);
   vk_common_DestroyAccelerationStructureKHR(device, accelerationStructure, pAllocator);
}

/* What is executed instead: references to nothing stand for those that are bad. */

static void
replace_instances(struct gpuval_lvp_structures *structures,
                  VkAccelerationStructureGeometryKHR *geometry,
                  const VkAccelerationStructureBuildRangeInfoKHR *range)
{
   struct gpuval_instances instances;
   if (!gpuval_build_instances(geometry, range, &instances))
      return;

   VkAccelerationStructureInstanceKHR *good =
      ralloc_array(structures->mem_ctx, VkAccelerationStructureInstanceKHR, instances.count);
   for (uint32_t i = 0; i < instances.count; i++) {
      good[i] = *gpuval_instances_get(&instances, i);
      if (!gpuval_instances_is_good(structures->device, good[i].accelerationStructureReference))
         good[i].accelerationStructureReference = 0;
   }
   geometry->geometry.instances.arrayOfPointers = false;
   geometry->geometry.instances.data.hostAddress = (const char *)good - range->primitiveOffset;
}

static void
replace_geometries(struct gpuval_lvp_structures *structures,
                   VkAccelerationStructureBuildGeometryInfoKHR *info,
                   const VkAccelerationStructureBuildRangeInfoKHR *ranges)
{
   VkAccelerationStructureGeometryKHR *geometries =
      ralloc_array(structures->mem_ctx, VkAccelerationStructureGeometryKHR, info->geometryCount);

   for (uint32_t i = 0; i < info->geometryCount; i++) {
      geometries[i] = *gpuval_build_geometry(info, i);
      replace_instances(structures, &geometries[i], &ranges[i]);
   }
   info->pGeometries = geometries;
   info->ppGeometries = NULL;
}

static struct vk_cmd_queue_entry *
stand_in_for(struct gpuval_lvp_structures *structures, const struct vk_cmd_queue_entry *command)
{
   const struct vk_cmd_build_acceleration_structures_khr *build =
      &command->u.build_acceleration_structures_khr;
   structures->mem_ctx = ralloc_context(structures);

   /* Entries are as long as their type is. */
   struct vk_cmd_queue_entry *stand_in = rzalloc(structures->mem_ctx, struct vk_cmd_queue_entry);
   memcpy(stand_in, command, vk_cmd_queue_type_sizes[command->type]);
   VkAccelerationStructureBuildGeometryInfoKHR *infos =
      ralloc_memdup(structures->mem_ctx, build->infos, build->info_count * sizeof(*infos));
   for (uint32_t i = 0; i < build->info_count; i++) {
      if (infos[i].type == VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR)
         replace_geometries(structures, &infos[i], build->pp_build_range_infos[i]);
   }
   stand_in->u.build_acceleration_structures_khr.infos = infos;
   return stand_in;
}

struct vk_cmd_queue_entry *
gpuval_lvp_structures_replace(struct gpuval_lvp_structures *structures,
                              struct vk_cmd_queue_entry *command)
{
   ralloc_free(structures->mem_ctx);
   structures->mem_ctx = NULL;

   bool is_bad = gpuval_structure_commands_has_failed(structures->observer);
   return is_bad && gpuval_options()->safe ? stand_in_for(structures, command) : command;
}
