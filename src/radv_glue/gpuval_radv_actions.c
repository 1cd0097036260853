/* SPDX-License-Identifier: MIT */

/* The application's draws, dispatches and other actions, which are noted by name. RADV's
 * own draws and dispatches do not go through the dispatch table.
 */

#include "gpuval_radv_private.h"

#include "radv_cmd_buffer.h"
#include "radv_device.h"

#include "gpuval/src/core/gpuval_queue_labels.h"

static const struct vk_device_dispatch_table *
next(const struct radv_cmd_buffer *cmd_buffer)
{
   return &radv_cmd_buffer_device(cmd_buffer)->gpuval->next;
}

/* Name, the command in snake case, parameters and arguments behind the first */
#define ACTIONS(X)                                                                                 \
   X(CmdDraw, "draw", (VkCommandBuffer c, uint32_t n, uint32_t i, uint32_t f, uint32_t fi),        \
     (c, n, i, f, fi))                                                                             \
   X(CmdDrawIndexed, "draw_indexed",                                                               \
     (VkCommandBuffer c, uint32_t n, uint32_t i, uint32_t f, int32_t v, uint32_t fi),              \
     (c, n, i, f, v, fi))                                                                          \
   X(CmdDrawIndirectByteCountEXT, "draw_indirect_byte_count_ext",                                  \
     (VkCommandBuffer c, uint32_t i, uint32_t f, VkBuffer b, VkDeviceSize o, uint32_t co,          \
      uint32_t s),                                                                                 \
     (c, i, f, b, o, co, s))                                                                       \
   X(CmdDrawMeshTasksEXT, "draw_mesh_tasks_ext",                                                   \
     (VkCommandBuffer c, uint32_t x, uint32_t y, uint32_t z), (c, x, y, z))                        \
   X(CmdDispatch, "dispatch", (VkCommandBuffer c, uint32_t x, uint32_t y, uint32_t z),             \
     (c, x, y, z))                                                                                 \
   X(CmdDispatchBase, "dispatch_base",                                                             \
     (VkCommandBuffer c, uint32_t bx, uint32_t by, uint32_t bz, uint32_t x, uint32_t y,            \
      uint32_t z),                                                                                 \
     (c, bx, by, bz, x, y, z))                                                                     \
   X(CmdDispatchIndirect, "dispatch_indirect", (VkCommandBuffer c, VkBuffer b, VkDeviceSize o),    \
     (c, b, o))                                                                                    \
   X(CmdTraceRaysKHR, "trace_rays_khr",                                                            \
     (VkCommandBuffer c, const VkStridedDeviceAddressRegionKHR *g,                                 \
      const VkStridedDeviceAddressRegionKHR *m, const VkStridedDeviceAddressRegionKHR *h,          \
      const VkStridedDeviceAddressRegionKHR *a, uint32_t x, uint32_t y, uint32_t z),               \
     (c, g, m, h, a, x, y, z))                                                                     \
   X(CmdTraceRaysIndirectKHR, "trace_rays_indirect_khr",                                           \
     (VkCommandBuffer c, const VkStridedDeviceAddressRegionKHR *g,                                 \
      const VkStridedDeviceAddressRegionKHR *m, const VkStridedDeviceAddressRegionKHR *h,          \
      const VkStridedDeviceAddressRegionKHR *a, VkDeviceAddress d),                                \
     (c, g, m, h, a, d))                                                                           \
   X(CmdTraceRaysIndirect2KHR, "trace_rays_indirect2_khr", (VkCommandBuffer c, VkDeviceAddress d), \
     (c, d))

/* The same of those that may make several draws, n at most */
#define DRAWS(X)                                                                                   \
   X(CmdDrawIndirect, "draw_indirect",                                                             \
     (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, uint32_t n, uint32_t s), (c, b, o, n, s))     \
   X(CmdDrawIndexedIndirect, "draw_indexed_indirect",                                              \
     (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, uint32_t n, uint32_t s), (c, b, o, n, s))     \
   X(CmdDrawIndirectCount, "draw_indirect_count",                                                  \
     (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, VkBuffer cb, VkDeviceSize co, uint32_t n,     \
      uint32_t s),                                                                                 \
     (c, b, o, cb, co, n, s))                                                                      \
   X(CmdDrawIndexedIndirectCount, "draw_indexed_indirect_count",                                   \
     (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, VkBuffer cb, VkDeviceSize co, uint32_t n,     \
      uint32_t s),                                                                                 \
     (c, b, o, cb, co, n, s))                                                                      \
   X(CmdDrawMultiEXT, "draw_multi_ext",                                                            \
     (VkCommandBuffer c, uint32_t n, const VkMultiDrawInfoEXT *d, uint32_t i, uint32_t f,          \
      uint32_t s),                                                                                 \
     (c, n, d, i, f, s))                                                                           \
   X(CmdDrawMultiIndexedEXT, "draw_multi_indexed_ext",                                             \
     (VkCommandBuffer c, uint32_t n, const VkMultiDrawIndexedInfoEXT *d, uint32_t i, uint32_t f,   \
      uint32_t s, const int32_t *v),                                                               \
     (c, n, d, i, f, s, v))                                                                        \
   X(CmdDrawMeshTasksIndirectEXT, "draw_mesh_tasks_indirect_ext",                                  \
     (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, uint32_t n, uint32_t s), (c, b, o, n, s))     \
   X(CmdDrawMeshTasksIndirectCountEXT, "draw_mesh_tasks_indirect_count_ext",                       \
     (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, VkBuffer cb, VkDeviceSize co, uint32_t n,     \
      uint32_t s),                                                                                 \
     (c, b, o, cb, co, n, s))

/* What RADV makes dispatches of, which have no number among the application's */
#define OTHERS(X)                                                                                  \
   X(CmdBuildAccelerationStructuresKHR, "build_acceleration_structures_khr",                       \
     (VkCommandBuffer c, uint32_t n, const VkAccelerationStructureBuildGeometryInfoKHR *i,         \
      const VkAccelerationStructureBuildRangeInfoKHR *const *r),                                   \
     (c, n, i, r))                                                                                 \
   X(CmdCopyAccelerationStructureKHR, "copy_acceleration_structure_khr",                           \
     (VkCommandBuffer c, const VkCopyAccelerationStructureInfoKHR *i), (c, i))                     \
   X(CmdCopyAccelerationStructureToMemoryKHR, "copy_acceleration_structure_to_memory_khr",         \
     (VkCommandBuffer c, const VkCopyAccelerationStructureToMemoryInfoKHR *i), (c, i))             \
   X(CmdCopyMemoryToAccelerationStructureKHR, "copy_memory_to_acceleration_structure_khr",         \
     (VkCommandBuffer c, const VkCopyMemoryToAccelerationStructureInfoKHR *i), (c, i))             \
   X(CmdPreprocessGeneratedCommandsEXT, "preprocess_generated_commands_ext",                       \
     (VkCommandBuffer c, const VkGeneratedCommandsInfoEXT *i, VkCommandBuffer s), (c, i, s))

#define DEFINE(name, op, parameters, arguments, num_draws, is_counted)                             \
   static VKAPI_ATTR void VKAPI_CALL hook_##name parameters                                        \
   {                                                                                               \
      VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, c);                                              \
      bool is_ours = gpuval_radv_begin_action(cmd_buffer, op, num_draws > 1, is_counted);          \
      next(cmd_buffer)->name arguments;                                                            \
      if (is_ours)                                                                                 \
         gpuval_radv_end_action(cmd_buffer);                                                       \
   }
#define DEFINE_ACTION(name, op, parameters, arguments)                                             \
   DEFINE(name, op, parameters, arguments, 1, true)
#define DEFINE_DRAWS(name, op, parameters, arguments)                                              \
   DEFINE(name, op, parameters, arguments, n, true)
#define DEFINE_OTHER(name, op, parameters, arguments)                                              \
   DEFINE(name, op, parameters, arguments, 1, false)
ACTIONS(DEFINE_ACTION)
DRAWS(DEFINE_DRAWS)
OTHERS(DEFINE_OTHER)

/* With a set of pipelines or shaders, nobody knows which ones. */
static VKAPI_ATTR void VKAPI_CALL
hook_CmdExecuteGeneratedCommandsEXT(VkCommandBuffer handle, VkBool32 is_preprocessed,
                                    const VkGeneratedCommandsInfoEXT *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   bool is_ours =
      gpuval_radv_begin_action(cmd_buffer, "execute_generated_commands_ext", false, true);

   gpuval_radv_change_pipelines(cmd_buffer, info->indirectExecutionSet != VK_NULL_HANDLE);
   next(cmd_buffer)->CmdExecuteGeneratedCommandsEXT(handle, is_preprocessed, info);
   gpuval_radv_change_pipelines(cmd_buffer, false);
   if (is_ours)
      gpuval_radv_end_action(cmd_buffer);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdExecuteCommands(VkCommandBuffer handle, uint32_t count, const VkCommandBuffer *secondaries)
{
   VK_FROM_HANDLE(radv_cmd_buffer, primary, handle);
   struct gpuval_radv *gpuval = radv_cmd_buffer_device(primary)->gpuval;

   for (uint32_t i = 0; i < count; i++) {
      VK_FROM_HANDLE(radv_cmd_buffer, secondary, secondaries[i]);
      gpuval_radv_add_secondary(gpuval, primary, secondary);
      if (gpuval_radv_needs_notes(gpuval))
         gpuval_radv_note_execute(primary, secondary);
   }
   gpuval->next.CmdExecuteCommands(handle, count, secondaries);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdEndDebugUtilsLabelEXT(VkCommandBuffer handle)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   if (gpuval_labels_ends_earlier(&cmd_buffer->vk))
      gpuval_radv_end_earlier_label(cmd_buffer);
   next(cmd_buffer)->CmdEndDebugUtilsLabelEXT(handle);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdInsertDebugUtilsLabelEXT(VkCommandBuffer handle, const VkDebugUtilsLabelEXT *label)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   gpuval_labels_insert(&cmd_buffer->vk, label);
}

void
gpuval_radv_hook_commands(struct gpuval_radv *gpuval, struct vk_device_dispatch_table *table)
{
#define HOOK_ACTION(name, op, parameters, arguments)                                               \
   if (table->name)                                                                                \
      table->name = hook_##name;
   ACTIONS(HOOK_ACTION)
   DRAWS(HOOK_ACTION)
   OTHERS(HOOK_ACTION)
   if (table->CmdExecuteGeneratedCommandsEXT)
      table->CmdExecuteGeneratedCommandsEXT = hook_CmdExecuteGeneratedCommandsEXT;
   table->CmdExecuteCommands = hook_CmdExecuteCommands;
   table->CmdEndDebugUtilsLabelEXT = hook_CmdEndDebugUtilsLabelEXT;
   table->CmdInsertDebugUtilsLabelEXT = hook_CmdInsertDebugUtilsLabelEXT;
}
