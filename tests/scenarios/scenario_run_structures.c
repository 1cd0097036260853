/* SPDX-License-Identifier: MIT */

/* Acceleration structures one by one: created, built, copied and destroyed by statements of
 * their own.
 */

#include "scenario_run.h"

#include <stdlib.h>
#include <string.h>

#define MAX_INSTANCES 8

struct run_structure {
   const char *name;
   VkAccelerationStructureTypeKHR type;
   VkAccelerationStructureKHR structure; /* VK_NULL_HANDLE: destroyed */
   VkDeviceAddress address;
   struct vkh_buffer storage, scratch, triangle;
   bool has_own_storage;
};

static struct run_structure *
find(struct run *run, const char *name)
{
   for (unsigned i = 0; i < run->structure_count; i++) {
      if (strcmp(run->structures[i].name, name) == 0)
         return &run->structures[i];
   }
   return NULL;
}

static struct run_structure *
need(struct run *run, const char *name)
{
   struct run_structure *structure = find(run, name);
   if (!structure)
      RUN_ERROR(run, "there is no structure %s", name);
   return structure;
}

VkAccelerationStructureKHR
run_find_structure(struct run *run, const char *name)
{
   const struct run_structure *structure = find(run, name);

   if (strcmp(name, "null") == 0)
      return VK_NULL_HANDLE;
   return structure ? structure->structure : run->tlas;
}

static VkAccelerationStructureGeometryKHR
make_geometry(const struct run_structure *structure, VkDeviceAddress instances)
{
   VkAccelerationStructureGeometryKHR geometry = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
      .flags = VK_GEOMETRY_OPAQUE_BIT_KHR,
   };

   if (structure->type == VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR) {
      geometry.geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR;
      geometry.geometry.instances = (VkAccelerationStructureGeometryInstancesDataKHR){
         .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_INSTANCES_DATA_KHR,
         .data.deviceAddress = instances,
      };
   } else {
      geometry.geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR;
      geometry.geometry.triangles = (VkAccelerationStructureGeometryTrianglesDataKHR){
         .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR,
         .vertexFormat = VK_FORMAT_R32G32B32_SFLOAT,
         .vertexData.deviceAddress = structure->triangle.address,
         .vertexStride = 12,
         .maxVertex = 2,
         .indexType = VK_INDEX_TYPE_NONE_KHR,
      };
   }
   return geometry;
}

static VkAccelerationStructureBuildGeometryInfoKHR
make_info(const struct run_structure *structure, const VkAccelerationStructureGeometryKHR *geometry)
{
   return (VkAccelerationStructureBuildGeometryInfoKHR){
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
      .type = structure->type,
      .mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_BUILD_KHR,
      .dstAccelerationStructure = structure->structure,
      .geometryCount = 1,
      .pGeometries = geometry,
      .scratchData.deviceAddress = (structure->scratch.address + 255) / 256 * 256,
   };
}

static void
create(struct run *run, struct run_structure *structure)
{
   const VkAccelerationStructureCreateInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR,
      .buffer = structure->storage.buffer,
      .size = structure->storage.size,
      .type = structure->type,
   };
   VKH_CHECK(VKH_PROC(run->ctx, vkCreateAccelerationStructureKHR)(run->ctx->device, &info, NULL,
                                                                  &structure->structure));
   vkh_name(run->ctx, VK_OBJECT_TYPE_ACCELERATION_STRUCTURE_KHR, (uint64_t)structure->structure,
            run_debug_name(run, structure->name));
   if (!structure->storage.memory && structure->has_own_storage)
      vkh_buffer_bind(run->ctx, &structure->storage);
   const VkAccelerationStructureDeviceAddressInfoKHR address = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR,
      .accelerationStructure = structure->structure,
   };
   structure->address =
      VKH_PROC(run->ctx, vkGetAccelerationStructureDeviceAddressKHR)(run->ctx->device, &address);
}

/* `structure NAME top|bottom [in=BUFFER|late]`: creates it, or once more where it was. */
void
run_structure(struct run *run)
{
   static const float triangle[] = {-1, -1, 1, 3, -1, 1, -1, 3, 1};
   struct run_structure *structure = find(run, run_word(run, 1));

   if (structure) {
      create(run, structure);
      return;
   }
   run->structures = scenario_grow(run->structures, &run->structure_count, sizeof(*structure));
   structure = &run->structures[run->structure_count - 1];
   structure->name = run_word(run, 1);
   structure->type = strcmp(run_word(run, 2), "top") == 0
                        ? VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR
                        : VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR;
   structure->triangle = vkh_buffer_create_usage(
      run->ctx, sizeof(triangle),
      VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR, NULL);
   memcpy(structure->triangle.map, triangle, sizeof(triangle));

   const uint32_t count = MAX_INSTANCES;
   const VkAccelerationStructureGeometryKHR geometry = make_geometry(structure, 0);
   const VkAccelerationStructureBuildGeometryInfoKHR info = make_info(structure, &geometry);
   VkAccelerationStructureBuildSizesInfoKHR sizes = {
      .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR,
   };
   VKH_PROC(run->ctx, vkGetAccelerationStructureBuildSizesKHR)
   (run->ctx->device, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &info, &count, &sizes);
   const bool late = run_has_word(run, 3) && strcmp(run_word(run, 3), "late") == 0;
   structure->has_own_storage = !run_has_word(run, 3) || late;
   if (late)
      structure->storage =
         vkh_buffer_create_unbound(run->ctx, sizes.accelerationStructureSize,
                                   VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR, NULL);
   else if (structure->has_own_storage)
      structure->storage =
         vkh_buffer_create_usage(run->ctx, sizes.accelerationStructureSize,
                                 VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR, NULL);
   else if (strncmp(run_word(run, 3), "in=", 3) == 0)
      structure->storage = run_find_buffer(run, run_word(run, 3) + 3)->vk;
   else
      RUN_ERROR(run, "in=BUFFER");
   if (structure->storage.size < sizes.accelerationStructureSize)
      RUN_ERROR(run, "it needs %u bytes", (unsigned)sizes.accelerationStructureSize);
   structure->storage.size = sizes.accelerationStructureSize;
   structure->scratch = vkh_buffer_create(run->ctx, sizes.buildScratchSize + 256, NULL);
   create(run, structure);
}

/* `instance BUFFER INDEX STRUCTURE|null|ADDRESS` */
void
run_instance(struct run *run)
{
   struct run_buffer *buffer = run_find_buffer(run, run_word(run, 1));
   const char *name = run_word(run, 3);
   const struct run_structure *structure = find(run, name);
   const VkAccelerationStructureInstanceKHR instance = {
      .transform = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}},
      .mask = 0xff,
      .flags = VK_GEOMETRY_INSTANCE_TRIANGLE_FACING_CULL_DISABLE_BIT_KHR,
      .accelerationStructureReference = structure                   ? structure->address
                                        : strcmp(name, "null") == 0 ? 0
                                                                    : run_number(run, 3),
   };
   const uint64_t offset = run_number(run, 2) * sizeof(instance);

   if (offset + sizeof(instance) > buffer->vk.size)
      RUN_ERROR(run, "the instance is behind the buffer's end");
   memcpy((char *)buffer->vk.map + offset, &instance, sizeof(instance));
}

static VkDeviceAddress
find_instances(struct run *run, unsigned word)
{
   return strncmp(run_word(run, word), "0x", 2) == 0
             ? (VkDeviceAddress)run_number(run, word)
             : run_find_buffer(run, run_word(run, word))->vk.address;
}

/* `build NAME [BUFFER|ADDRESS COUNT [pointers]] [alone]`: a triangle, that many instances, or
 * pointers to them; alone: no barrier is behind it
 */
void
run_build(struct run *run)
{
   const struct run_structure *structure = need(run, run_word(run, 1));
   const bool top = structure->type == VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR;
   VkAccelerationStructureGeometryKHR geometry =
      make_geometry(structure, top ? find_instances(run, 2) : 0);
   const VkAccelerationStructureBuildGeometryInfoKHR info = make_info(structure, &geometry);
   const VkAccelerationStructureBuildRangeInfoKHR range = {
      .primitiveCount = top ? (uint32_t)run_number(run, 3) : 1,
   };
   const VkAccelerationStructureBuildRangeInfoKHR *const ranges = &range;

   if (run_has_word(run, 4) && strcmp(run_word(run, 4), "pointers") == 0)
      geometry.geometry.instances.arrayOfPointers = VK_TRUE;
   unsigned last = 1;
   while (run_has_word(run, last + 1))
      last++;
   run_end_rendering(run);
   VKH_PROC(run->ctx, vkCmdBuildAccelerationStructuresKHR)
   (run_need_commands(run), 1, &info, &ranges);
   if (strcmp(run_word(run, last), "alone") != 0)
      vkh_barrier(run->cmd);
}

/* `copy_structure FROM TO [alone]` */
void
run_copy_structure(struct run *run)
{
   const bool alone = run_has_word(run, 3) && strcmp(run_word(run, 3), "alone") == 0;
   const VkCopyAccelerationStructureInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_COPY_ACCELERATION_STRUCTURE_INFO_KHR,
      .src = need(run, run_word(run, 1))->structure,
      .dst = need(run, run_word(run, 2))->structure,
      .mode = VK_COPY_ACCELERATION_STRUCTURE_MODE_CLONE_KHR,
   };

   run_end_rendering(run);
   VKH_PROC(run->ctx, vkCmdCopyAccelerationStructureKHR)(run_need_commands(run), &info);
   if (!alone)
      vkh_barrier(run->cmd);
}

/* `serialize_structure NAME BUFFER` */
void
run_serialize_structure(struct run *run)
{
   const VkCopyAccelerationStructureToMemoryInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_COPY_ACCELERATION_STRUCTURE_TO_MEMORY_INFO_KHR,
      .src = need(run, run_word(run, 1))->structure,
      .dst.deviceAddress = run_find_buffer(run, run_word(run, 2))->vk.address,
      .mode = VK_COPY_ACCELERATION_STRUCTURE_MODE_SERIALIZE_KHR,
   };

   run_end_rendering(run);
   VKH_PROC(run->ctx, vkCmdCopyAccelerationStructureToMemoryKHR)(run_need_commands(run), &info);
   vkh_barrier(run->cmd);
}

/* `destroy_structure NAME`, once all that was submitted has ended */
void
run_destroy_structure(struct run *run)
{
   struct run_structure *structure = need(run, run_word(run, 1));

   run_submit_recorded(run, false);
   VKH_PROC(run->ctx, vkDestroyAccelerationStructureKHR)
   (run->ctx->device, structure->structure, NULL);
   structure->structure = VK_NULL_HANDLE;
}

void
run_destroy_structures(struct run *run)
{
   for (unsigned i = 0; i < run->structure_count; i++) {
      struct run_structure *structure = &run->structures[i];
      VKH_PROC(run->ctx, vkDestroyAccelerationStructureKHR)
      (run->ctx->device, structure->structure, NULL);
      if (structure->has_own_storage)
         vkh_buffer_destroy(run->ctx, &structure->storage);
      vkh_buffer_destroy(run->ctx, &structure->scratch);
      vkh_buffer_destroy(run->ctx, &structure->triangle);
   }
   free(run->structures);
}
