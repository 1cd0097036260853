/* SPDX-License-Identifier: MIT */

/* The check `ray`, which commands build and copy acceleration structures: an observer of commands. */

#ifndef GPUVAL_STRUCTURE_COMMANDS_H
#define GPUVAL_STRUCTURE_COMMANDS_H

#include "core/commands/gpuval_commands.h"
#include "gpuval_instances.h"
#include "gpuval_structures.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_device;
struct gpuval_structure_commands;

/** A command builds @structure, or makes it a copy of @from, if that is not NULL. */
struct gpuval_structure_note {
   const struct vk_object_base *structure;
   const struct vk_object_base *from;
   enum gpuval_structure_state state; /* of what is no copy */
   const uint64_t *references;        /* as far as they have been looked at; gone after the call */
   uint32_t num_references;
};

struct gpuval_structure_sink {
   /* Calls gpuval_structures_execute() when the command is executed. */
   void (*note)(void *data, const struct gpuval_structure_note *note);
   /* What instances refer to is looked at when a build is visited, since addresses are the host's;
    * NULL: it is not.
    */
   gpuval_report_function report;
   void *data;
};

/** For a device that has gpuval_device_structures(). @sink is copied. */
struct gpuval_structure_commands *
gpuval_structure_commands_create(void *mem_ctx, struct gpuval_device *device,
                                 const struct gpuval_structure_sink *sink);
void gpuval_structures_execute(struct gpuval_device *device,
                               const struct gpuval_structure_note *note);

/** Returns whether the command that has been visited last builds of bad instances. */
bool gpuval_structure_commands_has_failed(const struct gpuval_structure_commands *structures);

/** The i-th geometry of a build */
const VkAccelerationStructureGeometryKHR *
gpuval_build_geometry(const VkAccelerationStructureBuildGeometryInfoKHR *info, uint32_t i);
/** Returns whether a geometry has instances, which are at the host's addresses, in buffers of
 * @device.
 */
bool gpuval_build_instances(struct gpuval_device *device,
                            const VkAccelerationStructureGeometryKHR *geometry,
                            const VkAccelerationStructureBuildRangeInfoKHR *range,
                            struct gpuval_instances *instances);

/** For a struct gpuval_structure_commands */
extern const struct gpuval_command_observer gpuval_structure_observer;

#ifdef __cplusplus
}
#endif

#endif
