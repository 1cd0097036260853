/* SPDX-License-Identifier: MIT */

/* ray: acceleration structures. What builds and copies is noted when it is recorded, and a
 * structure counts as built from the submit on. Its instances are copied in front of the
 * build (gpuval_radv_looks.c), and looked at when it has run; with GPUVAL_SAFE it is built of
 * another copy (gpuval_radv_safe.c).
 */

#include "gpuval_radv_layer.h"
#include "gpuval_radv_walk.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_buffer.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/core/structures/gpuval_structure_commands.h"
#include "vk_acceleration_structure.h"

static struct gpuval_structures *
structures_of(const struct gpuval_radv *gpuval)
{
   return gpuval_device_structures(gpuval->device);
}

/* Commands */

static void
note_structure(void *cmd_buffer, const struct gpuval_structure_note *note)
{
   util_dynarray_append_typed(gpuval_radv_built(cmd_buffer), struct gpuval_structure_note, *note);
}

void
gpuval_radv_observe_structures(struct gpuval_radv_walk *walk)
{
   const struct gpuval_structure_sink sink = {.note = note_structure, .data = walk->cmd_buffer};
   struct gpuval_radv *gpuval = radv_cmd_buffer_device(walk->cmd_buffer)->gpuval;

   if (structures_of(gpuval))
      gpuval_commands_add_observer(walk->commands, &gpuval_structure_observer,
                                   gpuval_structure_commands_create(walk, gpuval->device, &sink));
}

void
gpuval_radv_note_built(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer)
{
   util_dynarray_foreach (gpuval_radv_built(cmd_buffer), struct gpuval_structure_note, note)
      gpuval_structures_execute(gpuval->device, note);
}

/* Structures */

void
gpuval_radv_add_structure(struct gpuval_radv *gpuval, struct vk_acceleration_structure *structure,
                          const struct radv_buffer *buffer)
{
   if (structures_of(gpuval))
      gpuval_structures_add(structures_of(gpuval), &structure->base,
                            buffer->bo ? vk_acceleration_structure_get_va(structure) : 0);
}

void
gpuval_radv_use_structure(struct gpuval_radv *gpuval, struct vk_acceleration_structure *structure)
{
   if (structures_of(gpuval))
      gpuval_device_structure_used(gpuval->device, &structure->base);
}

void
gpuval_radv_remove_structure(struct gpuval_radv *gpuval,
                             struct vk_acceleration_structure *structure)
{
   if (!structures_of(gpuval))
      return;
   gpuval_radv_look(gpuval); /* instances that refer to it are still right */
   gpuval_structures_remove(structures_of(gpuval), &structure->base);
}

/* What is built, and what it is built of here */
struct build {
   VkAccelerationStructureBuildGeometryInfoKHR info;
   VkAccelerationStructureGeometryKHR geometry;
};

static const VkAccelerationStructureGeometryKHR *
get_geometry(const VkAccelerationStructureBuildGeometryInfoKHR *info)
{
   return info->pGeometries ? info->pGeometries : info->ppGeometries[0];
}

static void
look_at_instances(struct radv_cmd_buffer *cmd_buffer, struct build *build,
                  const VkAccelerationStructureBuildRangeInfoKHR *range)
{
   VK_FROM_HANDLE(vk_acceleration_structure, structure, build->info.dstAccelerationStructure);
   const VkAccelerationStructureGeometryInstancesDataKHR *instances =
      &get_geometry(&build->info)->geometry.instances;
   struct gpuval_radv *gpuval = radv_cmd_buffer_device(cmd_buffer)->gpuval;
   uint64_t address = instances->data.deviceAddress;

   if (!address)
      return;
   address += range->primitiveOffset;
   if (instances->arrayOfPointers)
      address = gpuval_radv_copy_instances(cmd_buffer, address, range->primitiveCount, true, 0);
   if (!address)
      return;
   gpuval_radv_add_look(cmd_buffer,
                        &(struct gpuval_radv_look){
                           .command_id = gpuval_radv_add_command(gpuval, cmd_buffer, NULL),
                           .top_level = &structure->base,
                           .is_gathered = instances->arrayOfPointers,
                           .arguments =
                              {
                                 .range.address = address,
                                 .stride = sizeof(VkAccelerationStructureInstanceKHR),
                                 .count = range->primitiveCount,
                              },
                        });

   uint64_t structures = gpuval_device_bottom_structures(gpuval->device);
   uint64_t safe = structures ? gpuval_radv_copy_instances(cmd_buffer, address,
                                                           range->primitiveCount, false, structures)
                              : 0;
   if (!safe)
      return;
   build->geometry = *get_geometry(&build->info);
   build->geometry.geometry.instances.arrayOfPointers = VK_FALSE;
   build->geometry.geometry.instances.data.deviceAddress = safe - range->primitiveOffset;
   build->info.pGeometries = &build->geometry;
   build->info.ppGeometries = NULL;
}

VkAccelerationStructureBuildGeometryInfoKHR *
gpuval_radv_build_structures(struct radv_cmd_buffer *cmd_buffer, uint32_t count,
                             const VkAccelerationStructureBuildGeometryInfoKHR *infos,
                             const VkAccelerationStructureBuildRangeInfoKHR *const *ranges)
{
   if (!structures_of(radv_cmd_buffer_device(cmd_buffer)->gpuval))
      return NULL;

   VkAccelerationStructureBuildGeometryInfoKHR *safe =
      ralloc_array(NULL, VkAccelerationStructureBuildGeometryInfoKHR, count);
   struct build *builds = ralloc_array(safe, struct build, count);

   for (uint32_t i = 0; i < count; i++) {
      bool is_top = infos[i].type == VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR;

      builds[i].info = infos[i];
      if (is_top && infos[i].geometryCount == 1)
         look_at_instances(cmd_buffer, &builds[i], ranges[i]);
      safe[i] = builds[i].info;
   }
   return safe;
}

/* What RADV binds for null descriptors is also what GPUVAL_SAFE puts in place of others. */
static void
init_null_structure(struct gpuval_radv *gpuval)
{
   struct radv_device *device = gpuval->radv;

   VK_FROM_HANDLE(vk_acceleration_structure, structure,
                  gpuval_radv_null_structure(device, gpuval_options()->safe));
   if (!structure)
      return;

   gpuval->null_structure = vk_acceleration_structure_get_va(structure);
   if (!gpuval_device_structures(gpuval->device))
      return;
   gpuval_structures_add(gpuval_device_structures(gpuval->device), &structure->base,
                         gpuval->null_structure);
   gpuval_device_structure_built(gpuval->device, &structure->base, GPUVAL_STRUCTURE_ANY_LEVEL, NULL,
                                 0);
}

void
gpuval_radv_init_structures(struct gpuval_radv *gpuval)
{
   if (gpuval->radv->vk.enabled_features.accelerationStructure)
      init_null_structure(gpuval);
}
