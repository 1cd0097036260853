/* SPDX-License-Identifier: MIT */

/* Builds and copies of acceleration structures.
 *
 * A structure is bytes of its buffer. Which bottom-level structures a build of a top-level one
 * reads stands in memory, and so do the addresses of an array of pointers to instances: that is not
 * described here (see gpuval_sync_commands.c, and gpuval_radv_bytes.c).
 */

#include "gpuval_command_describe.h"

#include "gpuval/src/compat/gpuval_runtime.h"
#include "vk_format.h"

#define BUILD VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR
/* Copies were in the stage of builds before VK_KHR_ray_tracing_maintenance1. */
#define COPY  (BUILD | VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_COPY_BIT_KHR)
#define READ  VK_ACCESS_2_ACCELERATION_STRUCTURE_READ_BIT_KHR
#define WRITE VK_ACCESS_2_ACCELERATION_STRUCTURE_WRITE_BIT_KHR

static void
describe_whole(const struct gpuval_access_sink *sink, VkPipelineStageFlags2 stages,
               VkAccessFlags2 access, VkAccelerationStructureKHR handle)
{
   VK_FROM_HANDLE(vk_acceleration_structure, structure, handle);

   if (structure)
      gpuval_describe_buffer(sink, stages, access, gpuval_structure_buffer(structure),
                             structure->offset, structure->size, false);
}

/* What a build reads is read with SHADER_READ, though by no shader of the program. */
static void
describe_input(const struct gpuval_access_sink *sink, VkDeviceAddress address, uint64_t size,
               bool has_gaps)
{
   gpuval_describe_address(sink, BUILD, VK_ACCESS_2_SHADER_READ_BIT, address, size, has_gaps);
}

static uint32_t
get_index_size(VkIndexType type)
{
   return type == VK_INDEX_TYPE_UINT16 ? 2 : type == VK_INDEX_TYPE_UINT32 ? 4 : 0;
}

/* With indices some of the vertices up to maxVertex are read, and without them three a triangle. */
static void
describe_triangles(const struct gpuval_access_sink *sink,
                   const VkAccelerationStructureGeometryTrianglesDataKHR *triangles,
                   const VkAccelerationStructureBuildRangeInfoKHR *range)
{
   uint32_t index_size = get_index_size(triangles->indexType);
   uint32_t vertex_size = vk_format_get_blocksize(triangles->vertexFormat);
   uint64_t num_vertices = index_size ? triangles->maxVertex + 1ull : range->primitiveCount * 3ull;
   uint64_t first =
      range->firstVertex * triangles->vertexStride + (index_size ? 0 : range->primitiveOffset);

   if (!range->primitiveCount)
      return;
   if (index_size && triangles->indexData.deviceAddress)
      describe_input(sink, triangles->indexData.deviceAddress + range->primitiveOffset,
                     range->primitiveCount * 3ull * index_size, false);
   if (triangles->vertexData.deviceAddress)
      describe_input(sink, triangles->vertexData.deviceAddress + first,
                     (num_vertices - 1) * triangles->vertexStride + vertex_size,
                     index_size || triangles->vertexStride != vertex_size);
   if (triangles->transformData.deviceAddress)
      describe_input(sink, triangles->transformData.deviceAddress + range->transformOffset,
                     sizeof(VkTransformMatrixKHR), false);
}

static void
describe_geometry(const struct gpuval_access_sink *sink,
                  const VkAccelerationStructureGeometryKHR *geometry,
                  const VkAccelerationStructureBuildRangeInfoKHR *range)
{
   const VkAccelerationStructureGeometryAabbsDataKHR *boxes = &geometry->geometry.aabbs;
   const VkAccelerationStructureGeometryInstancesDataKHR *instances = &geometry->geometry.instances;

   switch (geometry->geometryType) {
   case VK_GEOMETRY_TYPE_TRIANGLES_KHR:
      describe_triangles(sink, &geometry->geometry.triangles, range);
      break;
   case VK_GEOMETRY_TYPE_AABBS_KHR:
      if (boxes->data.deviceAddress && range->primitiveCount)
         describe_input(sink, boxes->data.deviceAddress + range->primitiveOffset,
                        (range->primitiveCount - 1) * boxes->stride + sizeof(VkAabbPositionsKHR),
                        boxes->stride != sizeof(VkAabbPositionsKHR));
      break;
   case VK_GEOMETRY_TYPE_INSTANCES_KHR:
      if (instances->data.deviceAddress)
         describe_input(
            sink, instances->data.deviceAddress + range->primitiveOffset,
            (uint64_t)range->primitiveCount * (instances->arrayOfPointers
                                                  ? sizeof(VkDeviceAddress)
                                                  : sizeof(VkAccelerationStructureInstanceKHR)),
            false);
      break;
   default:
      break;
   }
}

/* How much scratch memory a build uses is the driver's to know. */
static void
describe_results(const struct gpuval_access_sink *sink,
                 const VkAccelerationStructureBuildGeometryInfoKHR *info)
{
   describe_whole(sink, BUILD, WRITE, info->dstAccelerationStructure);
   if (info->mode == VK_BUILD_ACCELERATION_STRUCTURE_MODE_UPDATE_KHR)
      describe_whole(sink, BUILD, READ, info->srcAccelerationStructure);
   gpuval_describe_address(sink, BUILD, WRITE, info->scratchData.deviceAddress, VK_WHOLE_SIZE,
                           true);
}

static void
describe_builds(const struct gpuval_access_sink *sink,
                const struct vk_cmd_build_acceleration_structures_khr *build)
{
   for (uint32_t i = 0; i < build->info_count; i++) {
      const VkAccelerationStructureBuildGeometryInfoKHR *info = &build->infos[i];

      for (uint32_t j = 0; j < info->geometryCount; j++)
         describe_geometry(sink, info->pGeometries ? &info->pGeometries[j] : info->ppGeometries[j],
                           &build->pp_build_range_infos[i][j]);
      describe_results(sink, info);
   }
}

/* How many primitives there are stands in memory. */
static void
describe_indirect_builds(const struct gpuval_access_sink *sink,
                         const struct vk_cmd_build_acceleration_structures_indirect_khr *build)
{
   const uint32_t size = sizeof(VkAccelerationStructureBuildRangeInfoKHR);

   for (uint32_t i = 0; i < build->info_count; i++) {
      uint32_t count = build->infos[i].geometryCount;
      if (count)
         gpuval_describe_address(sink, BUILD, VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT,
                                 build->indirect_device_addresses[i],
                                 (count - 1) * (uint64_t)build->indirect_strides[i] + size,
                                 build->indirect_strides[i] != size);
      describe_results(sink, &build->infos[i]);
   }
}

void
gpuval_describe_structure(const struct gpuval_access_sink *sink,
                          const struct vk_cmd_queue_entry *command)
{
   switch ((unsigned)command->type) {
   case VK_CMD_BUILD_ACCELERATION_STRUCTURES_KHR:
      describe_builds(sink, &command->u.build_acceleration_structures_khr);
      return;
   case VK_CMD_BUILD_ACCELERATION_STRUCTURES_INDIRECT_KHR:
      describe_indirect_builds(sink, &command->u.build_acceleration_structures_indirect_khr);
      return;
   case VK_CMD_COPY_ACCELERATION_STRUCTURE_KHR:
      describe_whole(sink, COPY, READ, command->u.copy_acceleration_structure_khr.info->src);
      describe_whole(sink, COPY, WRITE, command->u.copy_acceleration_structure_khr.info->dst);
      return;
   case VK_CMD_COPY_ACCELERATION_STRUCTURE_TO_MEMORY_KHR: {
      const VkCopyAccelerationStructureToMemoryInfoKHR *info =
         command->u.copy_acceleration_structure_to_memory_khr.info;
      describe_whole(sink, COPY, READ, info->src);
      gpuval_describe_address(sink, COPY, VK_ACCESS_2_TRANSFER_WRITE_BIT, info->dst.deviceAddress,
                              VK_WHOLE_SIZE, false);
      return;
   }
   case VK_CMD_COPY_MEMORY_TO_ACCELERATION_STRUCTURE_KHR: {
      const VkCopyMemoryToAccelerationStructureInfoKHR *info =
         command->u.copy_memory_to_acceleration_structure_khr.info;
      gpuval_describe_address(sink, COPY, VK_ACCESS_2_TRANSFER_READ_BIT, info->src.deviceAddress,
                              VK_WHOLE_SIZE, false);
      describe_whole(sink, COPY, WRITE, info->dst);
      return;
   }
   case VK_CMD_WRITE_ACCELERATION_STRUCTURES_PROPERTIES_KHR: {
      const struct vk_cmd_write_acceleration_structures_properties_khr *properties =
         &command->u.write_acceleration_structures_properties_khr;
      for (uint32_t i = 0; i < properties->acceleration_structure_count; i++)
         describe_whole(sink, COPY, READ, properties->acceleration_structures[i]);
      return;
   }
   default:
      return;
   }
}
