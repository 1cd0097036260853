/* SPDX-License-Identifier: MIT */

#include "gpuval_order_stages.h"

#include "util/macros.h"
#include "vk_synchronization.h"

/* "Pipeline Stages": a first scope has the stages that are logically earlier as well,
 * a second one those that are logically later. For execution only: accesses are of
 * the stages that are named.
 */

#define GROUPS                                                                                     \
   (VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT | VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT |                 \
    VK_PIPELINE_STAGE_2_VERTEX_INPUT_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT |                  \
    VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT | VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT |                  \
    VK_PIPELINE_STAGE_2_PRE_RASTERIZATION_SHADERS_BIT)

static const VkPipelineStageFlags2 primitives[] = {
   VK_PIPELINE_STAGE_2_COMMAND_PREPROCESS_BIT_EXT,
   VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
   VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT,
   VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT,
   VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT,
   VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT,
   VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT,
   VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT,
   VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT,
   VK_PIPELINE_STAGE_2_FRAGMENT_DENSITY_PROCESS_BIT_EXT,
   VK_PIPELINE_STAGE_2_FRAGMENT_SHADING_RATE_ATTACHMENT_BIT_KHR,
   VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT,
   VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
   VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT,
   VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
};

static const VkPipelineStageFlags2 meshes[] = {
   VK_PIPELINE_STAGE_2_COMMAND_PREPROCESS_BIT_EXT,
   VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
   VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_EXT,
   VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_EXT,
   VK_PIPELINE_STAGE_2_FRAGMENT_DENSITY_PROCESS_BIT_EXT,
   VK_PIPELINE_STAGE_2_FRAGMENT_SHADING_RATE_ATTACHMENT_BIT_KHR,
   VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT,
   VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
   VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT,
   VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
};

static const VkPipelineStageFlags2 dispatches[] = {
   VK_PIPELINE_STAGE_2_COMMAND_PREPROCESS_BIT_EXT,
   VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
   VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
};

static const VkPipelineStageFlags2 traces[] = {
   VK_PIPELINE_STAGE_2_COMMAND_PREPROCESS_BIT_EXT,
   VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
   VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR,
};

static const struct {
   const VkPipelineStageFlags2 *stages;
   unsigned count;
} pipelines[] = {
   {primitives, ARRAY_SIZE(primitives)},
   {meshes, ARRAY_SIZE(meshes)},
   {dispatches, ARRAY_SIZE(dispatches)},
   {traces, ARRAY_SIZE(traces)},
};

/* Twice: of what ALL_GRAPHICS stands for, VERTEX_INPUT is a group itself. */
static VkPipelineStageFlags2
single_stages(VkPipelineStageFlags2 stages)
{
   stages = vk_expand_pipeline_stage_flags2(stages);
   return vk_expand_pipeline_stage_flags2(stages) & ~GROUPS &
          (((VkPipelineStageFlags2)1 << GPUVAL_ORDER_STAGES) - 1);
}

struct gpuval_order_stages
gpuval_order_first_stages(VkPipelineStageFlags2 stages)
{
   /* BOTTOM_OF_PIPE is all stages here, but none of their accesses; TOP_OF_PIPE none. */
   struct gpuval_order_stages scope = {
      .access = single_stages(stages),
      .execution = single_stages(vk_expand_src_stage_flags2(stages)),
   };
   const VkPipelineStageFlags2 named = scope.execution;

   for (unsigned i = 0; i < ARRAY_SIZE(pipelines); i++) {
      VkPipelineStageFlags2 earlier = 0;
      for (unsigned j = 0; j < pipelines[i].count; j++) {
         if (named & pipelines[i].stages[j])
            scope.execution |= earlier;
         earlier |= pipelines[i].stages[j];
      }
   }
   return scope;
}

struct gpuval_order_stages
gpuval_order_second_stages(VkPipelineStageFlags2 stages)
{
   struct gpuval_order_stages scope = {
      .access = single_stages(stages),
      .execution = single_stages(vk_expand_dst_stage_flags2(stages)),
   };
   const VkPipelineStageFlags2 named = scope.execution;

   for (unsigned i = 0; i < ARRAY_SIZE(pipelines); i++) {
      bool reached = false;
      for (unsigned j = 0; j < pipelines[i].count; j++) {
         if (reached)
            scope.execution |= pipelines[i].stages[j];
         reached |= (named & pipelines[i].stages[j]) != 0;
      }
   }
   return scope;
}
