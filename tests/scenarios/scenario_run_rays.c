/* SPDX-License-Identifier: MIT */

/*
 * Ray tracing for scenarios: a scene of one triangle or one box that covers
 * x and y from -1 to 1 at z = 1, and a pipeline with one hit group.
 */

#include "scenario_run.h"

#include <stdlib.h>
#include <string.h>

#define MAX_GROUPS VKH_MAX_STAGES

static VkDeviceSize
align(VkDeviceSize value, VkDeviceSize alignment)
{
   return (value + alignment - 1) / alignment * alignment;
}

/* --- Scene ---------------------------------------------------------------- */

static struct vkh_buffer *
scene_buffer(struct run *run, VkDeviceSize size, VkBufferUsageFlags usage)
{
   for (unsigned i = 0; i < VKH_COUNT(run->scene_buffers); i++) {
      if (run->scene_buffers[i].buffer)
         continue;
      run->scene_buffers[i] = vkh_buffer_create_usage(run->ctx, size, usage, NULL);
      return &run->scene_buffers[i];
   }
   vkh_die("too many buffers of the scene");
}

static VkAccelerationStructureKHR
build(struct run *run, VkAccelerationStructureTypeKHR type,
      const VkAccelerationStructureGeometryKHR *geometry)
{
   const uint32_t count = 1;
   VkAccelerationStructureBuildGeometryInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
      .type = type,
      .flags = VK_BUILD_ACCELERATION_STRUCTURE_PREFER_FAST_TRACE_BIT_KHR,
      .mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_BUILD_KHR,
      .geometryCount = 1,
      .pGeometries = geometry,
   };
   VkAccelerationStructureBuildSizesInfoKHR sizes = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR,
   };
   VKH_PROC(run->ctx, vkGetAccelerationStructureBuildSizesKHR)
   (run->ctx->device, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &info, &count, &sizes);

   struct vkh_buffer *storage = scene_buffer(
      run, sizes.accelerationStructureSize, VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR);
   struct vkh_buffer *scratch = scene_buffer(run, sizes.buildScratchSize + 256, 0);
   const VkAccelerationStructureCreateInfoKHR create = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR,
      .buffer = storage->buffer,
      .size = sizes.accelerationStructureSize,
      .type = type,
   };
   VKH_CHECK(VKH_PROC(run->ctx, vkCreateAccelerationStructureKHR)(run->ctx->device, &create, NULL,
                                                                  &info.dstAccelerationStructure));
   info.scratchData.deviceAddress = align(scratch->address, 256);

   const VkAccelerationStructureBuildRangeInfoKHR range = {.primitiveCount = 1};
   const VkAccelerationStructureBuildRangeInfoKHR *const ranges = &range;
   VkCommandBuffer cmd = vkh_begin(run->ctx);
   VKH_PROC(run->ctx, vkCmdBuildAccelerationStructuresKHR)(cmd, 1, &info, &ranges);
   vkh_submit_wait(run->ctx, cmd);
   return info.dstAccelerationStructure;
}

static VkAccelerationStructureGeometryKHR
make_geometry(struct run *run, bool box, bool opaque)
{
   static const float triangle[] = {-1, -1, 1, 3, -1, 1, -1, 3, 1};
   static const float corners[] = {-1, -1, 1, 1, 1, 2};
   const void *data = box ? corners : triangle;
   const size_t size = box ? sizeof(corners) : sizeof(triangle);
   struct vkh_buffer *buffer =
      scene_buffer(run, size, VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR);
   memcpy(buffer->map, data, size);

   VkAccelerationStructureGeometryKHR geometry = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
      .flags =
         opaque ? VK_GEOMETRY_OPAQUE_BIT_KHR : VK_GEOMETRY_NO_DUPLICATE_ANY_HIT_INVOCATION_BIT_KHR,
   };
   if (box) {
      geometry.geometryType = VK_GEOMETRY_TYPE_AABBS_KHR;
      geometry.geometry.aabbs = (VkAccelerationStructureGeometryAabbsDataKHR){
         .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_AABBS_DATA_KHR,
         .data.deviceAddress = buffer->address,
         .stride = sizeof(corners),
      };
   } else {
      geometry.geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR;
      geometry.geometry.triangles = (VkAccelerationStructureGeometryTrianglesDataKHR){
         .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR,
         .vertexFormat = VK_FORMAT_R32G32B32_SFLOAT,
         .vertexData.deviceAddress = buffer->address,
         .vertexStride = 12,
         .maxVertex = 2,
         .indexType = VK_INDEX_TYPE_NONE_KHR,
      };
   }
   return geometry;
}

/* `scene triangle|box [opaque]` */
void
run_create_scene(struct run *run)
{
   const bool box = strcmp(run_word(run, 1), "box") == 0;
   const VkAccelerationStructureGeometryKHR geometry =
      make_geometry(run, box, run_has_word(run, 2));
   run->blas = build(run, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, &geometry);

   const VkAccelerationStructureDeviceAddressInfoKHR address = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR,
      .accelerationStructure = run->blas,
   };
   const VkAccelerationStructureInstanceKHR instance = {
      .transform = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}},
      .mask = 0xff,
      .flags = VK_GEOMETRY_INSTANCE_TRIANGLE_FACING_CULL_DISABLE_BIT_KHR,
      .accelerationStructureReference =
         VKH_PROC(run->ctx, vkGetAccelerationStructureDeviceAddressKHR)(run->ctx->device, &address),
   };
   struct vkh_buffer *buffer = scene_buffer(
      run, sizeof(instance), VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR);
   memcpy(buffer->map, &instance, sizeof(instance));

   const VkAccelerationStructureGeometryKHR instances = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
      .geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR,
      .geometry.instances =
         {
            .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_INSTANCES_DATA_KHR,
            .data.deviceAddress = buffer->address,
         },
   };
   run->tlas = build(run, VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR, &instances);
}

void
run_destroy_scene(struct run *run)
{
   if (!run->blas)
      return;
   PFN_vkDestroyAccelerationStructureKHR destroy =
      VKH_PROC(run->ctx, vkDestroyAccelerationStructureKHR);
   destroy(run->ctx->device, run->tlas, NULL);
   destroy(run->ctx->device, run->blas, NULL);
   for (unsigned i = 0; i < VKH_COUNT(run->scene_buffers); i++) {
      if (run->scene_buffers[i].buffer)
         vkh_buffer_destroy(run->ctx, &run->scene_buffers[i]);
   }
}

/* --- Pipeline ------------------------------------------------------------- */

/* Regions of the shader table, in the order vkCmdTraceRaysKHR() has them. */
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
   unsigned count;
   int hit; /* index of the one hit group, or -1 */
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

static void
add_stage(struct groups *groups, VkShaderStageFlagBits stage, unsigned index)
{
   const VkRayTracingShaderGroupTypeKHR general = VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR;

   switch (stage) {
   case VK_SHADER_STAGE_RAYGEN_BIT_KHR:
      add_group(groups, REGION_RAYGEN, general)->generalShader = index;
      return;
   case VK_SHADER_STAGE_MISS_BIT_KHR:
      add_group(groups, REGION_MISS, general)->generalShader = index;
      return;
   case VK_SHADER_STAGE_CALLABLE_BIT_KHR:
      add_group(groups, REGION_CALLABLE, general)->generalShader = index;
      return;
   default:
      break;
   }

   if (groups->hit < 0) {
      groups->hit = (int)groups->count;
      add_group(groups, REGION_HIT, VK_RAY_TRACING_SHADER_GROUP_TYPE_TRIANGLES_HIT_GROUP_KHR);
   }
   VkRayTracingShaderGroupCreateInfoKHR *hit = &groups->groups[groups->hit];
   if (stage == VK_SHADER_STAGE_ANY_HIT_BIT_KHR)
      hit->anyHitShader = index;
   else if (stage == VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR)
      hit->closestHitShader = index;
   else
      hit->intersectionShader = index;
   if (hit->intersectionShader != VK_SHADER_UNUSED_KHR)
      hit->type = VK_RAY_TRACING_SHADER_GROUP_TYPE_PROCEDURAL_HIT_GROUP_KHR;
}

static void
create_shader_table(struct run *run, struct run_pipeline *pipeline, const struct groups *groups)
{
   VkPhysicalDeviceRayTracingPipelinePropertiesKHR properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR,
   };
   VkPhysicalDeviceProperties2 properties2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
      .pNext = &properties,
   };
   vkGetPhysicalDeviceProperties2(run->ctx->physical_device, &properties2);
   const unsigned handle_size = properties.shaderGroupHandleSize;
   const VkDeviceSize stride = align(handle_size, properties.shaderGroupBaseAlignment);

   char *handles = calloc(groups->count, handle_size);
   VKH_CHECK(VKH_PROC(run->ctx, vkGetRayTracingShaderGroupHandlesKHR)(
      run->ctx->device, pipeline->pipeline, 0, groups->count, (size_t)groups->count * handle_size,
      handles));
   pipeline->shader_table = vkh_buffer_create_usage(
      run->ctx, stride * (groups->count + 1), VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR, NULL);

   const VkDeviceSize first = align(pipeline->shader_table.address, stride);
   char *map = (char *)pipeline->shader_table.map + (first - pipeline->shader_table.address);
   unsigned slot = 0;
   for (unsigned region = 0; region < REGION_COUNT; region++) {
      VkStridedDeviceAddressRegionKHR *table = &pipeline->regions[region];
      for (unsigned i = 0; i < groups->count; i++) {
         if (groups->regions[i] != region)
            continue;
         if (!table->size)
            table->deviceAddress = first + slot * stride;
         table->stride = stride;
         table->size += stride;
         memcpy(map + slot * stride, handles + (size_t)i * handle_size, handle_size);
         slot++;
      }
   }
   free(handles);
}

void
run_create_ray_pipeline(struct run *run, struct run_pipeline *pipeline,
                        const VkPipelineShaderStageCreateInfo *stages, unsigned stage_count,
                        const void *next)
{
   struct groups groups = {.hit = -1};
   for (unsigned i = 0; i < stage_count; i++)
      add_stage(&groups, stages[i].stage, i);

   const bool library = run->kind == SCENARIO_LIBRARY || run->kind == SCENARIO_LIBRARY_LTO;
   const VkRayTracingPipelineInterfaceCreateInfoKHR interface = {
      .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_INTERFACE_CREATE_INFO_KHR,
      .maxPipelineRayPayloadSize = 64,
      .maxPipelineRayHitAttributeSize = 32,
   };
   VkRayTracingPipelineCreateInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR,
      .pNext = next,
      .flags = library ? VK_PIPELINE_CREATE_LIBRARY_BIT_KHR : 0,
      .stageCount = stage_count,
      .pStages = stages,
      .groupCount = groups.count,
      .pGroups = groups.groups,
      .maxPipelineRayRecursionDepth = 1,
      .pLibraryInterface = library ? &interface : NULL,
      .layout = run->layout,
   };
   PFN_vkCreateRayTracingPipelinesKHR create = VKH_PROC(run->ctx, vkCreateRayTracingPipelinesKHR);
   VKH_CHECK(create(run->ctx->device, VK_NULL_HANDLE, VK_NULL_HANDLE, 1, &info, NULL,
                    &pipeline->pipeline));

   if (library) {
      pipeline->ray_library = pipeline->pipeline;
      const VkPipelineLibraryCreateInfoKHR libraries = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
         .libraryCount = 1,
         .pLibraries = &pipeline->ray_library,
      };
      info.flags = 0;
      info.stageCount = 0;
      info.groupCount = 0;
      info.pLibraryInfo = &libraries;
      VKH_CHECK(create(run->ctx->device, VK_NULL_HANDLE, VK_NULL_HANDLE, 1, &info, NULL,
                       &pipeline->pipeline));
   }
   if (!run->compile_only)
      create_shader_table(run, pipeline, &groups);
}
