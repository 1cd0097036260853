/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_builds.h"
#include "gpuval_lvp.h"
#include "gpuval_lvp_structures.h"

#include "c11/threads.h"
#include "vk_cmd_enqueue_entrypoints.h"

struct gpuval_lvp_builds {
   PFN_vkCmdBuildAccelerationStructuresKHR build;
   PFN_vkGetAccelerationStructureBuildSizesKHR get_sizes;

   /* On the queue's thread only */
   bool is_inside;
   struct vk_cmd_queue_entry nothing;
};

static thread_local bool compiles_own;

bool
gpuval_lvp_compiles_own(void)
{
   return compiles_own;
}

/* All that vk_cmd_enqueue_CmdBuildAccelerationStructuresKHR() allocates, and the good instances:
 * Mesa's own function leaves the arrays.
 */
static void
free_build(struct vk_cmd_queue *queue, struct vk_cmd_queue_entry *command)
{
   const struct vk_cmd_build_acceleration_structures_khr *build =
      &command->u.build_acceleration_structures_khr;

   for (uint32_t i = 0; i < build->info_count; i++) {
      vk_free(queue->alloc, (void *)build->infos[i].pGeometries);
      vk_free(queue->alloc, (void *)build->pp_build_range_infos[i]);
   }
   vk_free(queue->alloc, (void *)build->infos);
   vk_free(queue->alloc, (void *)build->pp_build_range_infos);
   vk_free(queue->alloc, command->driver_data);
}

/* lavapipe compiles the shaders of builds when they are needed first. */

static VKAPI_ATTR void VKAPI_CALL
record_build(VkCommandBuffer handle, uint32_t count,
             const VkAccelerationStructureBuildGeometryInfoKHR *infos,
             const VkAccelerationStructureBuildRangeInfoKHR *const *ranges)
{
   VK_FROM_HANDLE(lvp_cmd_buffer, cmd_buffer, handle);
   struct gpuval_lvp *gpuval = lvp_cmd_buffer_device(cmd_buffer)->gpuval;
   const struct list_head *commands = &cmd_buffer->vk.cmd_queue.cmds, *last = commands->prev;
   VkAccelerationStructureBuildGeometryInfoKHR *safe = NULL;

   vk_cmd_enqueue_CmdBuildAccelerationStructuresKHR(handle, count, infos, ranges);
   if (commands->prev != last) {
      struct vk_cmd_queue_entry *command =
         list_entry(commands->prev, struct vk_cmd_queue_entry, cmd_link);
      command->driver_free_cb = free_build;
      safe = gpuval_lvp_structures_record(gpuval, &cmd_buffer->vk.cmd_queue, command);
   }

   compiles_own = true;
   gpuval_lvp_get_builds(gpuval)->build(handle, count, safe ? safe : infos, ranges);
   compiles_own = false;
   ralloc_free(safe);
}

static VKAPI_ATTR void VKAPI_CALL
get_build_sizes(VkDevice handle, VkAccelerationStructureBuildTypeKHR type,
                const VkAccelerationStructureBuildGeometryInfoKHR *info, const uint32_t *counts,
                VkAccelerationStructureBuildSizesInfoKHR *sizes)
{
   VK_FROM_HANDLE(lvp_device, device, handle);

   compiles_own = true;
   gpuval_lvp_get_builds(device->gpuval)->get_sizes(handle, type, info, counts, sizes);
   compiles_own = false;
}

struct gpuval_lvp_builds *
gpuval_lvp_builds_create(void *mem_ctx, struct lvp_device *device)
{
   struct vk_device_dispatch_table *table = &device->vk.dispatch_table;
   struct gpuval_lvp_builds *builds = rzalloc(mem_ctx, struct gpuval_lvp_builds);

   builds->build = table->CmdBuildAccelerationStructuresKHR;
   builds->get_sizes = table->GetAccelerationStructureBuildSizesKHR;
   table->CmdBuildAccelerationStructuresKHR = record_build;
   table->GetAccelerationStructureBuildSizesKHR = get_build_sizes;
   return builds;
}

bool
gpuval_lvp_builds_contain(struct gpuval_lvp_builds *builds, enum vk_cmd_type type)
{
   if (!builds)
      return false;

   bool was_inside = builds->is_inside;
   if (gpuval_lvp_begins_build(type))
      builds->is_inside = true;
   else if (gpuval_lvp_ends_build(type))
      builds->is_inside = false;
   return was_inside || builds->is_inside;
}

struct vk_cmd_queue_entry *
gpuval_lvp_builds_skip(struct gpuval_lvp_builds *builds, const struct vk_cmd_queue_entry *command)
{
   builds->nothing.type = GPUVAL_LVP_CMD_NOTHING;
   builds->nothing.cmd_link = command->cmd_link;
   return &builds->nothing;
}
