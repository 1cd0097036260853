/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_structures.h"
#include "gpuval_lvp.h"
#include "gpuval_lvp_private.h"

#include <string.h>

#include "gpuval/src/compat/gpuval_lvp_build.h"

#include "gpuval/src/core/structures/gpuval_structure_commands.h"
#include "gpuval/src/core/structures/gpuval_structures.h"
#include "vk_acceleration_structure.h"
#include "vk_common_entrypoints.h"

struct gpuval_lvp_structures {
   struct gpuval_lvp *gpuval;
   struct gpuval_device *device;
   struct gpuval_structure_commands *observer;
   void *mem_ctx; /* of the stand-in, or NULL */
};

static void
note(void *data, const struct gpuval_structure_note *note)
{
   const struct gpuval_lvp_structures *structures = data;
   gpuval_structures_execute(structures->device, note);
}

static void
report(void *data, const struct gpuval_command_failure *failure)
{
   const struct gpuval_lvp_structures *structures = data;
   gpuval_lvp_report(structures->gpuval, failure);
}

struct gpuval_lvp_structures *
gpuval_lvp_structures_create(void *mem_ctx, struct gpuval_lvp *gpuval,
                             struct gpuval_commands *commands)
{
   struct gpuval_lvp_structures *structures = rzalloc(mem_ctx, struct gpuval_lvp_structures);
   const struct gpuval_structure_sink sink = {note, report, structures};

   structures->gpuval = gpuval;
   structures->device = gpuval_lvp_device(gpuval);
   structures->observer = gpuval_structure_commands_create(structures, structures->device, &sink);
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

/* What is built instead: references to nothing stand for those that are bad. */

static VkAccelerationStructureInstanceKHR *
copy_good(struct gpuval_lvp_structures *structures, struct gpuval_instances *instances,
          VkAccelerationStructureInstanceKHR *good)
{
   for (uint32_t i = 0; i < instances->count; i++) {
      const VkAccelerationStructureInstanceKHR *instance = gpuval_instances_get(instances, i);
      good[i] = instance ? *instance : (VkAccelerationStructureInstanceKHR){0};
      if (!gpuval_instances_is_good(structures->device, good[i].accelerationStructureReference))
         good[i].accelerationStructureReference = 0;
   }
   return good + instances->count;
}

static bool
is_top_level(const VkAccelerationStructureBuildGeometryInfoKHR *info)
{
   return info->type == VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR;
}

static uint32_t
count_instances(const struct vk_cmd_build_acceleration_structures_khr *build)
{
   uint32_t count = 0;

   for (uint32_t i = 0; i < build->info_count; i++) {
      struct gpuval_instances instances;
      for (uint32_t j = 0; is_top_level(&build->infos[i]) && j < build->infos[i].geometryCount; j++)
         if (gpuval_build_instances(NULL, gpuval_build_geometry(&build->infos[i], j),
                                    &build->pp_build_range_infos[i][j], &instances))
            count += instances.count;
   }
   return count;
}

/* Where all geometries of a build have their instances one behind the other from @good on */

static VkAccelerationStructureInstanceKHR *
replace_geometries(void *mem_ctx, VkAccelerationStructureBuildGeometryInfoKHR *info,
                   const VkAccelerationStructureBuildRangeInfoKHR *ranges,
                   VkAccelerationStructureInstanceKHR *good)
{
   VkAccelerationStructureGeometryKHR *geometries =
      ralloc_array(mem_ctx, VkAccelerationStructureGeometryKHR, info->geometryCount);

   for (uint32_t i = 0; i < info->geometryCount; i++) {
      struct gpuval_instances instances;
      geometries[i] = *gpuval_build_geometry(info, i);
      if (!gpuval_build_instances(NULL, &geometries[i], &ranges[i], &instances))
         continue;
      geometries[i].geometry.instances.arrayOfPointers = false;
      geometries[i].geometry.instances.data.hostAddress =
         (const char *)good - ranges[i].primitiveOffset;
      good += instances.count;
   }
   info->pGeometries = geometries;
   info->ppGeometries = NULL;
   return good;
}

static VkAccelerationStructureBuildGeometryInfoKHR *
replace_infos(void *mem_ctx, const struct vk_cmd_build_acceleration_structures_khr *build,
              VkAccelerationStructureInstanceKHR *good)
{
   VkAccelerationStructureBuildGeometryInfoKHR *infos =
      ralloc_memdup(mem_ctx, build->infos, build->info_count * sizeof(*infos));

   for (uint32_t i = 0; i < build->info_count; i++) {
      if (is_top_level(&infos[i]))
         good = replace_geometries(infos, &infos[i], build->pp_build_range_infos[i], good);
   }
   return infos;
}

static void
copy_all_good(struct gpuval_lvp_structures *structures,
              const struct vk_cmd_build_acceleration_structures_khr *build,
              VkAccelerationStructureInstanceKHR *good)
{
   for (uint32_t i = 0; i < build->info_count; i++) {
      struct gpuval_instances instances;
      for (uint32_t j = 0; is_top_level(&build->infos[i]) && j < build->infos[i].geometryCount; j++)
         if (gpuval_build_instances(structures->device, gpuval_build_geometry(&build->infos[i], j),
                                    &build->pp_build_range_infos[i][j], &instances))
            good = copy_good(structures, &instances, good);
   }
}

VkAccelerationStructureBuildGeometryInfoKHR *
gpuval_lvp_structures_record(struct gpuval_lvp *gpuval, struct vk_cmd_queue *queue,
                             struct vk_cmd_queue_entry *command)
{
   const struct vk_cmd_build_acceleration_structures_khr *build =
      &command->u.build_acceleration_structures_khr;
   uint32_t count = count_instances(build);

   if (!gpuval_options()->safe || !gpuval_device_structures(gpuval_lvp_device(gpuval)) || !count)
      return NULL;
   command->driver_data =
      vk_zalloc(queue->alloc, count * sizeof(VkAccelerationStructureInstanceKHR), 16,
                VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
   return command->driver_data ? replace_infos(NULL, build, command->driver_data) : NULL;
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
   VkAccelerationStructureInstanceKHR *good =
      ralloc_array(structures->mem_ctx, VkAccelerationStructureInstanceKHR, count_instances(build));
   copy_all_good(structures, build, good);
   stand_in->u.build_acceleration_structures_khr.infos =
      replace_infos(structures->mem_ctx, build, good);
   return stand_in;
}

struct vk_cmd_queue_entry *
gpuval_lvp_structures_replace(struct gpuval_lvp_structures *structures,
                              struct vk_cmd_queue_entry *command)
{
   ralloc_free(structures->mem_ctx);
   structures->mem_ctx = NULL;

   if (command->type == VK_CMD_BUILD_ACCELERATION_STRUCTURES_KHR && GPUVAL_LVP_RECORDS_BUILDS) {
      if (command->driver_data)
         copy_all_good(structures, &command->u.build_acceleration_structures_khr,
                       command->driver_data);
      return command;
   }
   bool is_bad = gpuval_structure_commands_has_failed(structures->observer);
   return is_bad && gpuval_options()->safe ? stand_in_for(structures, command) : command;
}
