/* SPDX-License-Identifier: MIT */

/* Commands that read their arguments from a buffer. */

#include "scenario_run.h"

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

/* `draw_indexed_indirect INDEX_BUFFER BUFFER OFFSET [COUNT [STRIDE]]` */
void
run_draw_indexed_indirect(struct run *run)
{
   run_prepare_command(run);
   vkCmdBindIndexBuffer(run->cmd, get_buffer(run, 1), 0, VK_INDEX_TYPE_UINT32);
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
