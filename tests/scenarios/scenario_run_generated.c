/* SPDX-License-Identifier: MIT */

/* Generated commands: sequences of one token each, of what is in a buffer. */

#include "scenario_run.h"

#include <string.h>

static const struct token {
   const char *name;
   VkIndirectCommandsTokenTypeEXT type;
   VkShaderStageFlags stages;
   uint32_t stride;
} tokens[] = {
   {"dispatch", VK_INDIRECT_COMMANDS_TOKEN_TYPE_DISPATCH_EXT, VK_SHADER_STAGE_COMPUTE_BIT, 12},
   {"draw", VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_EXT,
    VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 16},
   {"draw_count", VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_COUNT_EXT,
    VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 16},
};

static const struct token *
find_token(struct run *run, const char *name)
{
   for (unsigned i = 0; i < VKH_COUNT(tokens); i++) {
      if (strcmp(tokens[i].name, name) == 0)
         return &tokens[i];
   }
   RUN_ERROR(run, "%s is no token here", name);
}

static VkIndirectCommandsLayoutEXT
create_layout(struct run *run, const struct token *token)
{
   const VkIndirectCommandsLayoutTokenEXT token_info = {
      .sType = VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_TOKEN_EXT,
      .type = token->type,
   };
   const VkIndirectCommandsLayoutCreateInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_CREATE_INFO_EXT,
      .shaderStages = token->stages,
      .indirectStride = token->stride,
      .pipelineLayout = run->layout,
      .tokenCount = 1,
      .pTokens = &token_info,
   };
   VkIndirectCommandsLayoutEXT layout;
   VKH_CHECK(VKH_PROC(run->ctx, vkCreateIndirectCommandsLayoutEXT)(run->ctx->device, &info, NULL,
                                                                   &layout));
   return layout;
}

/* As large as the driver wants it, and where. */
static struct vkh_buffer
create_preprocess(struct run *run, const VkGeneratedCommandsMemoryRequirementsInfoEXT *wanted)
{
   struct vkh_context *ctx = run->ctx;
   VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
   VKH_PROC(ctx, vkGetGeneratedCommandsMemoryRequirementsEXT)(ctx->device, wanted, &needs);

   struct vkh_buffer buffer = {.size = needs.memoryRequirements.size};
   if (!buffer.size)
      return buffer;

   const VkBufferUsageFlags2CreateInfoKHR usage = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR,
      .usage =
         VK_BUFFER_USAGE_2_PREPROCESS_BUFFER_BIT_EXT | VK_BUFFER_USAGE_2_SHADER_DEVICE_ADDRESS_BIT,
   };
   const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .pNext = &usage,
      .size = buffer.size,
   };
   VKH_CHECK(vkCreateBuffer(ctx->device, &info, NULL, &buffer.buffer));

   VkMemoryRequirements requirements;
   vkGetBufferMemoryRequirements(ctx->device, buffer.buffer, &requirements);
   const VkMemoryAllocateFlagsInfo flags = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
      .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
   };
   const VkMemoryAllocateInfo allocation = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = &flags,
      .allocationSize = requirements.size,
      .memoryTypeIndex = vkh_memory_type(
         ctx, requirements.memoryTypeBits & needs.memoryRequirements.memoryTypeBits, 0),
   };
   VKH_CHECK(vkAllocateMemory(ctx->device, &allocation, NULL, &buffer.memory));
   VKH_CHECK(vkBindBufferMemory(ctx->device, buffer.buffer, buffer.memory, 0));
   const VkBufferDeviceAddressInfo address = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
      .buffer = buffer.buffer,
   };
   buffer.address = vkGetBufferDeviceAddress(ctx->device, &address);
   return buffer;
}

/* `generated TOKEN BUFFER OFFSET SEQUENCES [COUNT_BUFFER COUNT_OFFSET [MAX_DRAWS]]`, which
 * submits, too
 */
void
run_generated(struct run *run)
{
   const struct token *token = find_token(run, run_word(run, 1));
   const struct run_pipeline *pipeline = run_prepare_command(run);
   const struct run_buffer *buffer = run_find_buffer(run, run_word(run, 2));
   const uint32_t sequences = (uint32_t)run_number(run, 4);
   const uint32_t max_draws = (uint32_t)run_number_or(run, 7, 100);

   const VkGeneratedCommandsPipelineInfoEXT pipeline_info = {
      .sType = VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT,
      .pipeline = pipeline->pipeline,
   };
   const VkIndirectCommandsLayoutEXT layout = create_layout(run, token);
   struct vkh_buffer preprocess = create_preprocess(
      run, &(VkGeneratedCommandsMemoryRequirementsInfoEXT){
              .sType = VK_STRUCTURE_TYPE_GENERATED_COMMANDS_MEMORY_REQUIREMENTS_INFO_EXT,
              .pNext = (void *)&pipeline_info,
              .indirectCommandsLayout = layout,
              .maxSequenceCount = sequences,
              .maxDrawCount = max_draws,
           });
   const VkGeneratedCommandsInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_GENERATED_COMMANDS_INFO_EXT,
      .pNext = &pipeline_info,
      .shaderStages = token->stages,
      .indirectCommandsLayout = layout,
      .indirectAddress = buffer->vk.address + run_number(run, 3),
      .indirectAddressSize = (VkDeviceSize)token->stride * sequences,
      .preprocessAddress = preprocess.address,
      .preprocessSize = preprocess.size,
      .maxSequenceCount = sequences,
      .sequenceCountAddress =
         run_has_word(run, 5)
            ? run_find_buffer(run, run_word(run, 5))->vk.address + run_number(run, 6)
            : 0,
      .maxDrawCount = max_draws,
   };
   VKH_PROC(run->ctx, vkCmdExecuteGeneratedCommandsEXT)(run->cmd, VK_FALSE, &info);

   run_submit_recorded(run, false);
   VKH_PROC(run->ctx, vkDestroyIndirectCommandsLayoutEXT)
   (run->ctx->device, info.indirectCommandsLayout, NULL);
   vkh_buffer_destroy(run->ctx, &preprocess);
}
