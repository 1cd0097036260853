/* SPDX-License-Identifier: MIT */

/* Commands that read their arguments from a buffer. */

#include "scenario_run.h"

#include <string.h>

static VkBuffer
get_buffer(struct run *run, unsigned word)
{
   return run_find_buffer(run, run_word(run, word))->vk.buffer;
}

/* `dispatch_indirect BUFFER OFFSET` */
void
run_dispatch_indirect(struct run *run)
{
   run_prepare_command(run);
   vkCmdDispatchIndirect(run->cmd, get_buffer(run, 1), run_number(run, 2));
}

/* `draw_indirect BUFFER OFFSET [COUNT [STRIDE]]` */
void
run_draw_indirect(struct run *run)
{
   run_prepare_command(run);
   vkCmdDrawIndirect(run->cmd, get_buffer(run, 1), run_number(run, 2),
                     (uint32_t)run_number_or(run, 3, 1),
                     (uint32_t)run_number_or(run, 4, sizeof(VkDrawIndirectCommand)));
}

void
run_bind_indices(struct run *run, const char *name)
{
   if (strcmp(name, "bound") != 0)
      vkCmdBindIndexBuffer(run->cmd, run_find_buffer(run, name)->vk.buffer, 0,
                           VK_INDEX_TYPE_UINT32);
}

/* `draw_indexed_indirect INDEX_BUFFER|bound BUFFER OFFSET [COUNT [STRIDE]]` */
void
run_draw_indexed_indirect(struct run *run)
{
   run_prepare_command(run);
   run_bind_indices(run, run_word(run, 1));
   vkCmdDrawIndexedIndirect(run->cmd, get_buffer(run, 2), run_number(run, 3),
                            (uint32_t)run_number_or(run, 4, 1),
                            (uint32_t)run_number_or(run, 5, sizeof(VkDrawIndexedIndirectCommand)));
}

/* `draw_indirect_count BUFFER OFFSET COUNT_BUFFER COUNT_OFFSET MAX` */
void
run_draw_indirect_count(struct run *run)
{
   run_prepare_command(run);
   vkCmdDrawIndirectCount(run->cmd, get_buffer(run, 1), run_number(run, 2), get_buffer(run, 3),
                          run_number(run, 4), (uint32_t)run_number(run, 5),
                          sizeof(VkDrawIndirectCommand));
}

/* `draw_indexed_indirect_count INDEX_BUFFER|bound BUFFER OFFSET COUNT_BUFFER COUNT_OFFSET MAX` */
void
run_draw_indexed_indirect_count(struct run *run)
{
   run_prepare_command(run);
   run_bind_indices(run, run_word(run, 1));
   vkCmdDrawIndexedIndirectCount(
      run->cmd, get_buffer(run, 2), run_number(run, 3), get_buffer(run, 4), run_number(run, 5),
      (uint32_t)run_number(run, 6), sizeof(VkDrawIndexedIndirectCommand));
}

/* `draw_mesh_indirect_count BUFFER OFFSET COUNT_BUFFER COUNT_OFFSET MAX` */
void
run_draw_mesh_indirect_count(struct run *run)
{
   run_prepare_command(run);
   VKH_PROC(run->ctx, vkCmdDrawMeshTasksIndirectCountEXT)
   (run->cmd, get_buffer(run, 1), run_number(run, 2), get_buffer(run, 3), run_number(run, 4),
    (uint32_t)run_number(run, 5), sizeof(VkDrawMeshTasksIndirectCommandEXT));
}

/* `draw_mesh_indirect BUFFER OFFSET [COUNT]` */
void
run_draw_mesh_indirect(struct run *run)
{
   run_prepare_command(run);
   VKH_PROC(run->ctx, vkCmdDrawMeshTasksIndirectEXT)
   (run->cmd, get_buffer(run, 1), run_number(run, 2), (uint32_t)run_number_or(run, 3, 1),
    sizeof(VkDrawMeshTasksIndirectCommandEXT));
}

/* `trace_indirect BUFFER OFFSET` */
void
run_trace_indirect(struct run *run)
{
   const struct run_pipeline *pipeline = run_prepare_command(run);
   VKH_PROC(run->ctx, vkCmdTraceRaysIndirectKHR)
   (run->cmd, &pipeline->regions[0], &pipeline->regions[1], &pipeline->regions[2],
    &pipeline->regions[3], run_find_buffer(run, run_word(run, 1))->vk.address + run_number(run, 2));
}

/* `trace_indirect2 BUFFER OFFSET`: arguments with the tables, which are written there now:
 * width, height and depth are behind them.
 */
void
run_trace_indirect2(struct run *run)
{
   const struct run_pipeline *pipeline = run_prepare_command(run);
   struct run_buffer *buffer = run_find_buffer(run, run_word(run, 1));
   const uint64_t offset = run_number(run, 2);
   const VkStridedDeviceAddressRegionKHR *regions = pipeline->regions;
   const VkTraceRaysIndirectCommand2KHR command = {
      .raygenShaderRecordAddress = regions[0].deviceAddress,
      .raygenShaderRecordSize = regions[0].size,
      .missShaderBindingTableAddress = regions[1].deviceAddress,
      .missShaderBindingTableSize = regions[1].size,
      .missShaderBindingTableStride = regions[1].stride,
      .hitShaderBindingTableAddress = regions[2].deviceAddress,
      .hitShaderBindingTableSize = regions[2].size,
      .hitShaderBindingTableStride = regions[2].stride,
   };

   if (offset + offsetof(VkTraceRaysIndirectCommand2KHR, width) <= buffer->vk.size)
      memcpy((char *)buffer->vk.map + offset, &command,
             offsetof(VkTraceRaysIndirectCommand2KHR, width));
   VKH_PROC(run->ctx, vkCmdTraceRaysIndirect2KHR)(run->cmd, buffer->vk.address + offset);
}
