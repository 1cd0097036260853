/* SPDX-License-Identifier: MIT */

#include "gpuval_structure_commands.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/ralloc.h"
#include "vk_acceleration_structure.h"

struct gpuval_structure_commands {
   struct gpuval_device *device;
   struct gpuval_structure_sink sink;
   bool has_failed;
};

struct gpuval_structure_commands *
gpuval_structure_commands_create(void *mem_ctx, struct gpuval_device *device,
                                 const struct gpuval_structure_sink *sink)
{
   struct gpuval_structure_commands *structures =
      rzalloc(mem_ctx, struct gpuval_structure_commands);

   structures->device = device;
   structures->sink = *sink;
   return structures;
}

bool
gpuval_structure_commands_has_failed(const struct gpuval_structure_commands *structures)
{
   return structures->has_failed;
}

/* Instances */

const VkAccelerationStructureGeometryKHR *
gpuval_build_geometry(const VkAccelerationStructureBuildGeometryInfoKHR *info, uint32_t i)
{
   return info->pGeometries ? &info->pGeometries[i] : info->ppGeometries[i];
}

bool
gpuval_build_instances(struct gpuval_device *device,
                       const VkAccelerationStructureGeometryKHR *geometry,
                       const VkAccelerationStructureBuildRangeInfoKHR *range,
                       struct gpuval_instances *instances)
{
   const char *first = geometry->geometry.instances.data.hostAddress;

   if (geometry->geometryType != VK_GEOMETRY_TYPE_INSTANCES_KHR || !first)
      return false;
   *instances = (struct gpuval_instances){
      .data = first + range->primitiveOffset,
      .array_of_pointers = geometry->geometry.instances.arrayOfPointers,
      .address = (uintptr_t)first + range->primitiveOffset,
      .count = range->primitiveCount,
      .device = device,
   };
   if (device)
      gpuval_instances_find(instances);
   return true;
}

static void
check_instances(struct gpuval_structure_commands *structures,
                const VkAccelerationStructureBuildGeometryInfoKHR *info,
                const VkAccelerationStructureBuildRangeInfoKHR *ranges,
                struct util_dynarray *references)
{
   struct gpuval_command_failure failure = {0};

   for (uint32_t i = 0; i < info->geometryCount; i++) {
      struct gpuval_instances instances;
      if (gpuval_build_instances(structures->device, gpuval_build_geometry(info, i), &ranges[i],
                                 &instances))
         gpuval_instances_check(structures->device, &instances, &failure, references);
   }
   if (!failure.count)
      return;
   structures->sink.report(structures->sink.data, &failure);
   structures->has_failed = true;
}

/* Commands */

void
gpuval_structures_execute(struct gpuval_device *device, const struct gpuval_structure_note *note)
{
   if (note->from)
      gpuval_device_structure_copied(device, note->structure, note->from);
   else
      gpuval_device_structure_built(device, note->structure, note->state, note->references,
                                    note->num_references);
}

static void
note_built(const struct gpuval_structure_commands *structures, VkAccelerationStructureKHR handle,
           enum gpuval_structure_state state, const struct util_dynarray *references)
{
   VK_FROM_HANDLE(vk_acceleration_structure, structure, handle);
   const struct gpuval_structure_note note = {
      .structure = &structure->base,
      .state = state,
      .references = references ? util_dynarray_begin(references) : NULL,
      .num_references = references ? util_dynarray_num_elements(references, uint64_t) : 0,
   };

   structures->sink.note(structures->sink.data, &note);
}

static void
note_copied(const struct gpuval_structure_commands *structures,
            const VkCopyAccelerationStructureInfoKHR *info)
{
   VK_FROM_HANDLE(vk_acceleration_structure, src, info->src);
   VK_FROM_HANDLE(vk_acceleration_structure, dst, info->dst);
   const struct gpuval_structure_note note = {.structure = &dst->base, .from = &src->base};

   structures->sink.note(structures->sink.data, &note);
}

static void
build_top_level(struct gpuval_structure_commands *structures,
                const VkAccelerationStructureBuildGeometryInfoKHR *info,
                const VkAccelerationStructureBuildRangeInfoKHR *ranges)
{
   struct util_dynarray references;

   util_dynarray_init(&references, NULL);
   if (structures->sink.report)
      check_instances(structures, info, ranges, &references);
   note_built(structures, info->dstAccelerationStructure, GPUVAL_STRUCTURE_TOP_LEVEL, &references);
   util_dynarray_fini(&references);
}

/* What one command builds at the bottom may be referred to by what it builds on top. */
static void
build(struct gpuval_structure_commands *structures,
      const struct vk_cmd_build_acceleration_structures_khr *build)
{
   for (uint32_t i = 0; i < build->info_count; i++) {
      if (build->infos[i].type == VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR)
         note_built(structures, build->infos[i].dstAccelerationStructure,
                    GPUVAL_STRUCTURE_BOTTOM_LEVEL, NULL);
   }
   for (uint32_t i = 0; i < build->info_count; i++) {
      if (build->infos[i].type == VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR)
         build_top_level(structures, &build->infos[i], build->pp_build_range_infos[i]);
   }
}

static void
begin(void *data, const struct vk_cmd_queue_entry *command)
{
   struct gpuval_structure_commands *structures = data;

   structures->has_failed = false;
   switch ((unsigned)command->type) {
   case VK_CMD_BUILD_ACCELERATION_STRUCTURES_KHR:
      build(structures, &command->u.build_acceleration_structures_khr);
      return;
   case VK_CMD_COPY_ACCELERATION_STRUCTURE_KHR:
      note_copied(structures, command->u.copy_acceleration_structure_khr.info);
      return;
   case VK_CMD_COPY_MEMORY_TO_ACCELERATION_STRUCTURE_KHR:
      note_built(structures, command->u.copy_memory_to_acceleration_structure_khr.info->dst,
                 GPUVAL_STRUCTURE_ANY_LEVEL, NULL);
      return;
   default:
      return;
   }
}

const struct gpuval_command_observer gpuval_structure_observer = {
   .begin = begin,
};
