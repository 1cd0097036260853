/* SPDX-License-Identifier: MIT */

/*
 * Ray tracing: the scenes that rays meet, pipelines of its stages, and their shader tables.
 */

#include "legal.h"

#include <stdlib.h>
#include <string.h>

#define MAX_GROUPS LEGAL_MAX_STAGES

static VkDeviceSize
align(VkDeviceSize value, VkDeviceSize alignment)
{
   return (value + alignment - 1) / alignment * alignment;
}

/* --- Scenes --------------------------------------------------------------- */

/* Builds a structure, whose memory becomes @storage. @input and what it refers to are read. */
static VkAccelerationStructureKHR
build(struct legal_device *device, VkAccelerationStructureTypeKHR type,
      const VkAccelerationStructureGeometryKHR *geometry, struct vkh_buffer *storage)
{
   struct vkh_context *ctx = device->ctx;
   const uint32_t count = 1;
   VkAccelerationStructureBuildGeometryInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
      .type = type,
      .mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_BUILD_KHR,
      .geometryCount = 1,
      .pGeometries = geometry,
   };
   VkAccelerationStructureBuildSizesInfoKHR sizes = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR,
   };
   VKH_PROC(ctx, vkGetAccelerationStructureBuildSizesKHR)
   (ctx->device, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &info, &count, &sizes);

   *storage = vkh_buffer_create_usage(ctx, sizes.accelerationStructureSize,
                                      VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR, NULL);
   struct vkh_buffer scratch = vkh_buffer_create(ctx, sizes.buildScratchSize + 256, NULL);
   const VkAccelerationStructureCreateInfoKHR create = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR,
      .buffer = storage->buffer,
      .size = sizes.accelerationStructureSize,
      .type = type,
   };
   VKH_CHECK(VKH_PROC(ctx, vkCreateAccelerationStructureKHR)(ctx->device, &create, NULL,
                                                             &info.dstAccelerationStructure));
   info.scratchData.deviceAddress = align(scratch.address, 256);

   const VkAccelerationStructureBuildRangeInfoKHR range = {.primitiveCount = 1};
   const VkAccelerationStructureBuildRangeInfoKHR *const ranges = &range;
   VkCommandBuffer cmd = vkh_begin(ctx);
   VKH_PROC(ctx, vkCmdBuildAccelerationStructuresKHR)(cmd, 1, &info, &ranges);
   vkh_barrier(cmd);
   vkh_submit_wait(ctx, cmd);
   vkh_buffer_destroy(ctx, &scratch);
   return info.dstAccelerationStructure;
}

static VkDeviceAddress
address_of(struct legal_device *device, VkAccelerationStructureKHR structure)
{
   const VkAccelerationStructureDeviceAddressInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR,
      .accelerationStructure = structure,
   };
   return VKH_PROC(device->ctx, vkGetAccelerationStructureDeviceAddressKHR)(device->ctx->device,
                                                                            &info);
}

static VkAccelerationStructureGeometryKHR
make_geometry(enum legal_scene kind, VkDeviceAddress data)
{
   VkAccelerationStructureGeometryKHR geometry = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
      .flags = VK_GEOMETRY_NO_DUPLICATE_ANY_HIT_INVOCATION_BIT_KHR,
   };
   if (kind == LEGAL_SCENE_BOX) {
      geometry.geometryType = VK_GEOMETRY_TYPE_AABBS_KHR;
      geometry.geometry.aabbs = (VkAccelerationStructureGeometryAabbsDataKHR){
         .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_AABBS_DATA_KHR,
         .data.deviceAddress = data,
         .stride = sizeof(VkAabbPositionsKHR),
      };
      return geometry;
   }
   geometry.geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR;
   geometry.geometry.triangles = (VkAccelerationStructureGeometryTrianglesDataKHR){
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR,
      .vertexFormat = VK_FORMAT_R32G32B32_SFLOAT,
      .vertexData.deviceAddress = data,
      .vertexStride = 12,
      .maxVertex = 2,
      .indexType = VK_INDEX_TYPE_NONE_KHR,
   };
   return geometry;
}

/* One instance of one triangle or box, which covers x and y from -1 on to some place between 1
 * and 3, at z = 1. Rays of legal_ray_shader.c go along z, about half of them beside it, and none
 * along an edge.
 */
static void
create_scene(struct legal_device *device, enum legal_scene kind)
{
   static const float shapes[][9] = {
      [LEGAL_SCENE_TRIANGLE] = {-1, -1, 1, 3, -1, 1, -1, 3, 1},
      [LEGAL_SCENE_BOX] = {-1, -1, 1, 2, 2, 2},
   };
   const VkBufferUsageFlags usage =
      VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR;
   struct legal_structures *scene = &device->scenes[kind];
   struct vkh_context *ctx = device->ctx;
   struct vkh_buffer shape = vkh_buffer_create_usage(ctx, sizeof(shapes[kind]), usage, NULL);

   memcpy(shape.map, shapes[kind], sizeof(shapes[kind]));
   VkAccelerationStructureGeometryKHR geometry = make_geometry(kind, shape.address);
   scene->bottom =
      build(device, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, &geometry, &scene->buffers[0]);
   vkh_buffer_destroy(ctx, &shape);

   const VkAccelerationStructureInstanceKHR instance = {
      .transform = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}},
      .instanceCustomIndex = 70 + kind,
      .mask = 0xff,
      .flags = VK_GEOMETRY_INSTANCE_TRIANGLE_FACING_CULL_DISABLE_BIT_KHR,
      .accelerationStructureReference = address_of(device, scene->bottom),
   };
   struct vkh_buffer instances = vkh_buffer_create_usage(ctx, sizeof(instance), usage, NULL);
   memcpy(instances.map, &instance, sizeof(instance));
   geometry = (VkAccelerationStructureGeometryKHR){
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
      .geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR,
      .geometry.instances =
         {
            .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_INSTANCES_DATA_KHR,
            .data.deviceAddress = instances.address,
         },
   };
   scene->top =
      build(device, VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR, &geometry, &scene->buffers[1]);
   scene->address = address_of(device, scene->top);
   vkh_buffer_destroy(ctx, &instances);
}

void
legal_scenes_create(struct legal_device *device)
{
   if (!(device->features & (LEGAL_RAY_PIPELINES | LEGAL_RAY_QUERIES)))
      return;
   for (unsigned kind = 0; kind < LEGAL_SCENES; kind++)
      create_scene(device, kind);
}

void
legal_scenes_destroy(struct legal_device *device)
{
   VkDevice handle = device->ctx->device;

   for (unsigned kind = 0; kind < LEGAL_SCENES; kind++) {
      struct legal_structures *scene = &device->scenes[kind];
      if (!scene->top)
         continue;
      PFN_vkDestroyAccelerationStructureKHR destroy =
         VKH_PROC(device->ctx, vkDestroyAccelerationStructureKHR);
      destroy(handle, scene->top, NULL);
      destroy(handle, scene->bottom, NULL);
      for (unsigned i = 0; i < VKH_COUNT(scene->buffers); i++)
         vkh_buffer_destroy(device->ctx, &scene->buffers[i]);
   }
}

enum legal_scene
legal_scene_of(const struct legal_program *program)
{
   if (program->bind_point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR)
      return legal_has_stage(program, VK_SHADER_STAGE_INTERSECTION_BIT_KHR) ? LEGAL_SCENE_BOX
                                                                            : LEGAL_SCENE_TRIANGLE;
   return program->seed % 2 ? LEGAL_SCENE_TRIANGLE : LEGAL_SCENE_BOX;
}

/* --- Groups --------------------------------------------------------------- */

/* Regions of the shader table, in the order vkCmdTraceRaysKHR() has them */
enum region {
   REGION_RAYGEN,
   REGION_MISS,
   REGION_HIT,
   REGION_CALLABLE,
   REGION_COUNT,
};

struct groups {
   VkRayTracingShaderGroupCreateInfoKHR groups[MAX_GROUPS];
   enum region regions[MAX_GROUPS];
   uint32_t count;
};

static VkRayTracingShaderGroupCreateInfoKHR *
add_group(struct groups *groups, enum region region, VkRayTracingShaderGroupTypeKHR type)
{
   groups->regions[groups->count] = region;
   VkRayTracingShaderGroupCreateInfoKHR *group = &groups->groups[groups->count++];
   *group = (VkRayTracingShaderGroupCreateInfoKHR){
      .sType = VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR,
      .type = type,
      .generalShader = VK_SHADER_UNUSED_KHR,
      .closestHitShader = VK_SHADER_UNUSED_KHR,
      .anyHitShader = VK_SHADER_UNUSED_KHR,
      .intersectionShader = VK_SHADER_UNUSED_KHR,
   };
   return group;
}

/* One group for what may be hit, which other stages have a place in, and one for each other stage */
static void
make_groups(const struct legal_program *program, struct groups *groups)
{
   const bool box = legal_has_stage(program, VK_SHADER_STAGE_INTERSECTION_BIT_KHR);
   VkRayTracingShaderGroupCreateInfoKHR *hit =
      add_group(groups, REGION_HIT,
                box ? VK_RAY_TRACING_SHADER_GROUP_TYPE_PROCEDURAL_HIT_GROUP_KHR
                    : VK_RAY_TRACING_SHADER_GROUP_TYPE_TRIANGLES_HIT_GROUP_KHR);

   for (uint32_t i = 0; i < program->stage_count; i++) {
      const VkRayTracingShaderGroupTypeKHR general = VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR;
      switch (program->stages[i]) {
      case VK_SHADER_STAGE_RAYGEN_BIT_KHR:
         add_group(groups, REGION_RAYGEN, general)->generalShader = i;
         break;
      case VK_SHADER_STAGE_MISS_BIT_KHR:
         add_group(groups, REGION_MISS, general)->generalShader = i;
         break;
      case VK_SHADER_STAGE_CALLABLE_BIT_KHR:
         add_group(groups, REGION_CALLABLE, general)->generalShader = i;
         break;
      case VK_SHADER_STAGE_ANY_HIT_BIT_KHR:
         hit->anyHitShader = i;
         break;
      case VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR:
         hit->closestHitShader = i;
         break;
      default:
         hit->intersectionShader = i;
      }
   }
}

/* --- Pipelines ------------------------------------------------------------ */

static const VkRayTracingPipelineInterfaceCreateInfoKHR library_interface = {
   .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_INTERFACE_CREATE_INFO_KHR,
   .maxPipelineRayPayloadSize = 16,
   .maxPipelineRayHitAttributeSize = 16,
};

VkPipeline
legal_rays_create_pipeline(struct legal_device *device, const struct legal_program *program,
                           const VkPipelineShaderStageCreateInfo *stages, VkPipelineLayout layout,
                           VkPipelineCreateFlags flags, const void *next, VkPipelineCache cache)
{
   struct groups groups = {.count = 0};

   make_groups(program, &groups);
   const VkRayTracingPipelineCreateInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR,
      .pNext = next,
      .flags = flags,
      .stageCount = program->stage_count,
      .pStages = stages,
      .groupCount = groups.count,
      .pGroups = groups.groups,
      .maxPipelineRayRecursionDepth = 1,
      .pLibraryInterface = flags & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR ? &library_interface : NULL,
      .layout = layout,
   };
   VkPipeline pipeline;
   VKH_CHECK(VKH_PROC(device->ctx, vkCreateRayTracingPipelinesKHR)(
      device->ctx->device, VK_NULL_HANDLE, cache, 1, &info, NULL, &pipeline));
   return pipeline;
}

VkPipeline
legal_rays_link(struct legal_device *device, VkPipeline library, VkPipelineLayout layout,
                VkPipelineCreateFlags flags)
{
   const VkPipelineLibraryCreateInfoKHR libraries = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
      .libraryCount = 1,
      .pLibraries = &library,
   };
   const VkRayTracingPipelineCreateInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR,
      .flags = flags,
      .maxPipelineRayRecursionDepth = 1,
      .pLibraryInfo = &libraries,
      .pLibraryInterface = &library_interface,
      .layout = layout,
   };
   VkPipeline pipeline;
   VKH_CHECK(VKH_PROC(device->ctx, vkCreateRayTracingPipelinesKHR)(
      device->ctx->device, VK_NULL_HANDLE, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
   return pipeline;
}

/* --- Shader tables -------------------------------------------------------- */

void
legal_ray_table_create(struct legal_device *device, const struct legal_program *program,
                       VkPipeline pipeline, struct legal_ray_table *table)
{
   VkPhysicalDeviceRayTracingPipelinePropertiesKHR sizes = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR,
   };
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
      .pNext = &sizes,
   };
   struct groups groups = {.count = 0};

   vkGetPhysicalDeviceProperties2(device->ctx->physical_device, &properties);
   make_groups(program, &groups);
   const uint32_t handle_size = sizes.shaderGroupHandleSize;
   const VkDeviceSize stride = align(handle_size, sizes.shaderGroupBaseAlignment);
   char *handles = vkh_calloc(groups.count, handle_size);
   VKH_CHECK(VKH_PROC(device->ctx, vkGetRayTracingShaderGroupHandlesKHR)(
      device->ctx->device, pipeline, 0, groups.count, (size_t)groups.count * handle_size, handles));

   table->buffer = vkh_buffer_create_usage(device->ctx, stride * (groups.count + 1),
                                           VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR, NULL);
   const VkDeviceSize first = align(table->buffer.address, stride);
   char *map = (char *)table->buffer.map + (first - table->buffer.address);
   for (uint32_t i = 0; i < groups.count; i++) {
      table->regions[groups.regions[i]] =
         (VkStridedDeviceAddressRegionKHR){first + i * stride, stride, stride};
      memcpy(map + i * stride, handles + (size_t)i * handle_size, handle_size);
   }
   free(handles);
}

void
legal_rays_trace(struct legal_device *device, const struct legal_program *program,
                 const struct legal_ray_table *table, VkCommandBuffer cmd)
{
   VKH_PROC(device->ctx, vkCmdTraceRaysKHR)
   (cmd, &table->regions[REGION_RAYGEN], &table->regions[REGION_MISS], &table->regions[REGION_HIT],
    &table->regions[REGION_CALLABLE], program->groups[0], program->groups[1], 1);
}
