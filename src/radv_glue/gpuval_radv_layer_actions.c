/* SPDX-License-Identifier: MIT */

/* gpuval's layer above RADV's entry points (gpuval_radv_layer.c): draws, dispatches, traces and
 * whatever else RADV makes dispatches of. They are noted by name: gpuval_radv_begin_action().
 * RADV's own draws and dispatches do not go through the dispatch table.
 */

#include "gpuval_radv_layer.h"
#include "gpuval_radv_walk.h"

#include "gpuval/gpuval_radv_entrypoints.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"

#include "util/ralloc.h"

static const struct vk_device_dispatch_table *
next(const struct radv_cmd_buffer *cmd_buffer)
{
   return &radv_cmd_buffer_device(cmd_buffer)->gpuval->hooks.next;
}

/* An action that has a number: within a rendering it draws. Returns what gpuval_radv_end_action()
 * is to be told.
 */
static bool
begin(struct radv_cmd_buffer *cmd_buffer, const char *op, bool has_draws)
{
   bool is_ours = gpuval_radv_begin_action(cmd_buffer, op, has_draws, true);

   if (is_ours) {
      gpuval_radv_visit_draw(cmd_buffer);
      gpuval_radv_race_draw(cmd_buffer, op);
   }
   return is_ours;
}

/* Direct draws */

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdDraw(VkCommandBuffer handle, uint32_t count, uint32_t instances, uint32_t first,
                    uint32_t first_instance)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   bool is_ours = begin(cmd_buffer, "draw", false);
   const struct gpuval_draw draw = {
      .first = first,
      .count = count,
      .first_instance = first_instance,
      .num_instances = instances,
   };

   next(cmd_buffer)->CmdDraw(handle, count, instances, first, first_instance);
   gpuval_radv_check_draw(handle, &draw);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdDrawIndexed(VkCommandBuffer handle, uint32_t count, uint32_t instances,
                           uint32_t first, int32_t vertex_offset, uint32_t first_instance)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   bool is_ours = begin(cmd_buffer, "draw_indexed", false);
   const struct gpuval_draw draw = {
      .indexed = true,
      .first = first,
      .count = count,
      .vertex_offset = vertex_offset,
      .first_instance = first_instance,
      .num_instances = instances,
   };

   next(cmd_buffer)->CmdDrawIndexed(handle, count, instances, first, vertex_offset, first_instance);
   gpuval_radv_check_draw(handle, &draw);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdDrawMultiEXT(VkCommandBuffer handle, uint32_t count, const VkMultiDrawInfoEXT *infos,
                            uint32_t instances, uint32_t first_instance, uint32_t stride)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   bool is_ours = begin(cmd_buffer, "draw_multi_ext", count > 1);

   next(cmd_buffer)->CmdDrawMultiEXT(handle, count, infos, instances, first_instance, stride);
   gpuval_radv_check_multi_draw(handle, count, infos, instances, first_instance, stride);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdDrawMultiIndexedEXT(VkCommandBuffer handle, uint32_t count,
                                   const VkMultiDrawIndexedInfoEXT *infos, uint32_t instances,
                                   uint32_t first_instance, uint32_t stride,
                                   const int32_t *vertex_offset)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   bool is_ours = begin(cmd_buffer, "draw_multi_indexed_ext", count > 1);

   next(cmd_buffer)
      ->CmdDrawMultiIndexedEXT(handle, count, infos, instances, first_instance, stride,
                               vertex_offset);
   gpuval_radv_check_multi_draw_indexed(handle, count, infos, instances, first_instance, stride,
                                        vertex_offset);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdDrawMeshTasksEXT(VkCommandBuffer handle, uint32_t x, uint32_t y, uint32_t z)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   bool is_ours = begin(cmd_buffer, "draw_mesh_tasks_ext", false);

   next(cmd_buffer)->CmdDrawMeshTasksEXT(handle, x, y, z);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

/* Indirect draws */

/* Draws of all kinds have the same members. */
#define DEFINE_DRAW(Function, op, Type)                                                            \
   VKAPI_ATTR void VKAPI_CALL gpuval_radv_##Function(VkCommandBuffer handle, VkBuffer buffer,      \
                                                     VkDeviceSize offset, uint32_t count,          \
                                                     uint32_t stride)                              \
   {                                                                                               \
      VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);                                         \
      bool is_ours = begin(cmd_buffer, op, count > 1);                                             \
      struct gpuval_radv_indirect draws = {.buffer = buffer,                                       \
                                           .offset = offset,                                       \
                                           .count = count,                                         \
                                           .stride = stride};                                      \
      const struct vk_cmd_queue_entry entry = {                                                    \
         .type = Type,                                                                             \
         .u.draw_indirect = {buffer, offset, count, stride}};                                      \
                                                                                                   \
      gpuval_radv_begin_indirect(&draws, handle, &entry);                                          \
      next(cmd_buffer)->Function(handle, draws.buffer, draws.offset, draws.count, draws.stride);   \
      gpuval_radv_end_indirect(&draws);                                                            \
      gpuval_radv_end_action(cmd_buffer, is_ours);                                                 \
   }
DEFINE_DRAW(CmdDrawIndirect, "draw_indirect", VK_CMD_DRAW_INDIRECT)
DEFINE_DRAW(CmdDrawIndexedIndirect, "draw_indexed_indirect", VK_CMD_DRAW_INDEXED_INDIRECT)
DEFINE_DRAW(CmdDrawMeshTasksIndirectEXT, "draw_mesh_tasks_indirect_ext",
            VK_CMD_DRAW_MESH_TASKS_INDIRECT_EXT)

#define DEFINE_COUNTED_DRAW(Function, op, Type)                                                    \
   VKAPI_ATTR void VKAPI_CALL gpuval_radv_##Function(                                              \
      VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset, VkBuffer count_buffer,         \
      VkDeviceSize count_offset, uint32_t max_count, uint32_t stride)                              \
   {                                                                                               \
      VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);                                         \
      bool is_ours = begin(cmd_buffer, op, max_count > 1);                                         \
      struct gpuval_radv_indirect draws = {.buffer = buffer,                                       \
                                           .offset = offset,                                       \
                                           .count = max_count,                                     \
                                           .stride = stride};                                      \
      const struct vk_cmd_queue_entry entry = {                                                    \
         .type = Type,                                                                             \
         .u.draw_indirect_count = {buffer, offset, count_buffer, count_offset, max_count,          \
                                   stride}};                                                       \
                                                                                                   \
      gpuval_radv_begin_indirect(&draws, handle, &entry);                                          \
      if (!draws.is_skipped)                                                                       \
         next(cmd_buffer)                                                                          \
            ->Function(handle, draws.buffer, draws.offset, count_buffer, count_offset,             \
                       draws.count, draws.stride);                                                 \
      gpuval_radv_end_indirect(&draws);                                                            \
      gpuval_radv_end_action(cmd_buffer, is_ours);                                                 \
   }
DEFINE_COUNTED_DRAW(CmdDrawIndirectCount, "draw_indirect_count", VK_CMD_DRAW_INDIRECT_COUNT)
DEFINE_COUNTED_DRAW(CmdDrawIndexedIndirectCount, "draw_indexed_indirect_count",
                    VK_CMD_DRAW_INDEXED_INDIRECT_COUNT)
DEFINE_COUNTED_DRAW(CmdDrawMeshTasksIndirectCountEXT, "draw_mesh_tasks_indirect_count_ext",
                    VK_CMD_DRAW_MESH_TASKS_INDIRECT_COUNT_EXT)

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdDrawIndirectByteCountEXT(VkCommandBuffer handle, uint32_t instances,
                                        uint32_t first_instance, VkBuffer buffer,
                                        VkDeviceSize offset, uint32_t counter_offset,
                                        uint32_t stride)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   bool is_ours = begin(cmd_buffer, "draw_indirect_byte_count_ext", false);
   struct gpuval_radv_indirect draw;

   gpuval_radv_begin_byte_count(&draw, handle, instances, first_instance, buffer, offset,
                                counter_offset, stride);
   if (!draw.is_skipped)
      next(cmd_buffer)
         ->CmdDrawIndirectByteCountEXT(handle, instances, first_instance, buffer, offset,
                                       counter_offset, stride);
   gpuval_radv_end_indirect(&draw);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

/* Dispatches */

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdDispatch(VkCommandBuffer handle, uint32_t x, uint32_t y, uint32_t z)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   bool is_ours = begin(cmd_buffer, "dispatch", false);

   next(cmd_buffer)->CmdDispatch(handle, x, y, z);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdDispatchBase(VkCommandBuffer handle, uint32_t base_x, uint32_t base_y,
                            uint32_t base_z, uint32_t x, uint32_t y, uint32_t z)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   bool is_ours = begin(cmd_buffer, "dispatch_base", false);

   next(cmd_buffer)->CmdDispatchBase(handle, base_x, base_y, base_z, x, y, z);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdDispatchIndirect(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   bool is_ours = begin(cmd_buffer, "dispatch_indirect", false);
   struct gpuval_radv_indirect dispatch = {.buffer = buffer, .offset = offset, .count = 1};
   const struct vk_cmd_queue_entry entry = {
      .type = VK_CMD_DISPATCH_INDIRECT,
      .u.dispatch_indirect = {.buffer = buffer, .offset = offset},
   };

   gpuval_radv_begin_indirect(&dispatch, handle, &entry);
   if (dispatch.count)
      next(cmd_buffer)->CmdDispatchIndirect(handle, dispatch.buffer, dispatch.offset);
   gpuval_radv_end_indirect(&dispatch);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

/* Traces */

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdTraceRaysKHR(VkCommandBuffer handle, const VkStridedDeviceAddressRegionKHR *raygen,
                            const VkStridedDeviceAddressRegionKHR *miss,
                            const VkStridedDeviceAddressRegionKHR *hit,
                            const VkStridedDeviceAddressRegionKHR *callable, uint32_t width,
                            uint32_t height, uint32_t depth)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   bool is_ours = begin(cmd_buffer, "trace_rays_khr", false);

   next(cmd_buffer)->CmdTraceRaysKHR(handle, raygen, miss, hit, callable, width, height, depth);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdTraceRaysIndirectKHR(VkCommandBuffer handle,
                                    const VkStridedDeviceAddressRegionKHR *raygen,
                                    const VkStridedDeviceAddressRegionKHR *miss,
                                    const VkStridedDeviceAddressRegionKHR *hit,
                                    const VkStridedDeviceAddressRegionKHR *callable,
                                    VkDeviceAddress address)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   bool is_ours = begin(cmd_buffer, "trace_rays_indirect_khr", false);
   struct gpuval_radv_indirect trace = {.address = address, .count = 1};
   const struct vk_cmd_queue_entry entry = {
      .type = VK_CMD_TRACE_RAYS_INDIRECT_KHR,
      .u.trace_rays_indirect_khr = {.indirect_device_address = address},
   };

   gpuval_radv_begin_indirect(&trace, handle, &entry);
   if (trace.count)
      next(cmd_buffer)->CmdTraceRaysIndirectKHR(handle, raygen, miss, hit, callable, trace.address);
   gpuval_radv_end_indirect(&trace);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdTraceRaysIndirect2KHR(VkCommandBuffer handle, VkDeviceAddress address)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   bool is_ours = begin(cmd_buffer, "trace_rays_indirect2_khr", false);
   struct gpuval_radv_indirect trace = {.address = address, .count = 1};
   const struct vk_cmd_queue_entry entry = {
      .type = VK_CMD_TRACE_RAYS_INDIRECT2_KHR,
      .u.trace_rays_indirect2_khr = {.indirect_device_address = address},
   };

   gpuval_radv_begin_indirect(&trace, handle, &entry);
   if (trace.count)
      next(cmd_buffer)->CmdTraceRaysIndirect2KHR(handle, trace.address);
   gpuval_radv_end_indirect(&trace);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

/* Acceleration structures: RADV makes dispatches of these, which have no number among the
 * application's.
 */

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdBuildAccelerationStructuresKHR(
   VkCommandBuffer handle, uint32_t count, const VkAccelerationStructureBuildGeometryInfoKHR *infos,
   const VkAccelerationStructureBuildRangeInfoKHR *const *ranges)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   GPUVAL_RADV_VISIT(
      cmd_buffer, "build_acceleration_structures_khr",
      .type = VK_CMD_BUILD_ACCELERATION_STRUCTURES_KHR,
      .u.build_acceleration_structures_khr = {
         .info_count = count,
         .infos = (VkAccelerationStructureBuildGeometryInfoKHR *)infos,
         .pp_build_range_infos = (const VkAccelerationStructureBuildRangeInfoKHR **)ranges});
   bool is_ours =
      gpuval_radv_begin_action(cmd_buffer, "build_acceleration_structures_khr", false, false);
   VkAccelerationStructureBuildGeometryInfoKHR *safe =
      gpuval_radv_build_structures(cmd_buffer, count, infos, ranges);
   next(cmd_buffer)->CmdBuildAccelerationStructuresKHR(handle, count, safe ? safe : infos, ranges);
   ralloc_free(safe);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

#define DEFINE_STRUCTURE_COPY(Function, Info, Type, member, op)                                    \
   VKAPI_ATTR void VKAPI_CALL gpuval_radv_##Function(VkCommandBuffer handle, const Info *info)     \
   {                                                                                               \
      VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);                                         \
                                                                                                   \
      GPUVAL_RADV_VISIT(cmd_buffer, op, .type = Type, .u.member = {(Info *)info});                 \
      bool is_ours = gpuval_radv_begin_action(cmd_buffer, op, false, false);                       \
      next(cmd_buffer)->Function(handle, info);                                                    \
      gpuval_radv_end_action(cmd_buffer, is_ours);                                                 \
   }
DEFINE_STRUCTURE_COPY(CmdCopyAccelerationStructureKHR, VkCopyAccelerationStructureInfoKHR,
                      VK_CMD_COPY_ACCELERATION_STRUCTURE_KHR, copy_acceleration_structure_khr,
                      "copy_acceleration_structure_khr")
DEFINE_STRUCTURE_COPY(CmdCopyAccelerationStructureToMemoryKHR,
                      VkCopyAccelerationStructureToMemoryInfoKHR,
                      VK_CMD_COPY_ACCELERATION_STRUCTURE_TO_MEMORY_KHR,
                      copy_acceleration_structure_to_memory_khr,
                      "copy_acceleration_structure_to_memory_khr")
DEFINE_STRUCTURE_COPY(CmdCopyMemoryToAccelerationStructureKHR,
                      VkCopyMemoryToAccelerationStructureInfoKHR,
                      VK_CMD_COPY_MEMORY_TO_ACCELERATION_STRUCTURE_KHR,
                      copy_memory_to_acceleration_structure_khr,
                      "copy_memory_to_acceleration_structure_khr")

/* Generated commands. With a set of pipelines or shaders, nobody knows which ones. */

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdPreprocessGeneratedCommandsEXT(VkCommandBuffer handle,
                                              const VkGeneratedCommandsInfoEXT *info,
                                              VkCommandBuffer state)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   struct gpuval_radv_generated generated;

   GPUVAL_RADV_VISIT(cmd_buffer, "preprocess_generated_commands_ext",
                     .type = VK_CMD_PREPROCESS_GENERATED_COMMANDS_EXT,
                     .u.preprocess_generated_commands_ext = {
                        .generated_commands_info = (VkGeneratedCommandsInfoEXT *)info});
   bool is_ours =
      gpuval_radv_begin_action(cmd_buffer, "preprocess_generated_commands_ext", false, false);
   gpuval_radv_begin_generated(&generated, handle, info, false);
   next(cmd_buffer)->CmdPreprocessGeneratedCommandsEXT(handle, info, state);
   gpuval_radv_end_generated(&generated, false);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}

VKAPI_ATTR void VKAPI_CALL
gpuval_radv_CmdExecuteGeneratedCommandsEXT(VkCommandBuffer handle, VkBool32 is_preprocessed,
                                           const VkGeneratedCommandsInfoEXT *info)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   struct gpuval_radv_generated generated;

   GPUVAL_RADV_VISIT(cmd_buffer, "execute_generated_commands_ext",
                     .type = VK_CMD_EXECUTE_GENERATED_COMMANDS_EXT,
                     .u.execute_generated_commands_ext = {
                        .is_preprocessed = is_preprocessed,
                        .generated_commands_info = (VkGeneratedCommandsInfoEXT *)info});
   bool is_ours = begin(cmd_buffer, "execute_generated_commands_ext", false);
   gpuval_radv_change_pipelines(cmd_buffer, info->indirectExecutionSet != VK_NULL_HANDLE);
   gpuval_radv_begin_generated(&generated, handle, info, is_preprocessed);
   if (!generated.is_skipped)
      next(cmd_buffer)->CmdExecuteGeneratedCommandsEXT(handle, is_preprocessed, info);
   gpuval_radv_end_generated(&generated, true);
   gpuval_radv_change_pipelines(cmd_buffer, false);
   gpuval_radv_end_action(cmd_buffer, is_ours);
}
