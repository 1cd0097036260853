/* SPDX-License-Identifier: MIT */

/*
 * Shaders, pipelines, descriptors.
 */

#include "vk_headless.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Shaders and pipelines ------------------------------------------------ */

void *
vkh_read_file(const char *path, size_t *size)
{
   FILE *file = fopen(path, "rb");
   if (!file || fseek(file, 0, SEEK_END) != 0)
      vkh_die("cannot read %s", path);
   const long length = ftell(file);
   rewind(file);

   char *data = vkh_calloc((size_t)length + 1, 1);
   if (length < 0 || fread(data, 1, (size_t)length, file) != (size_t)length)
      vkh_die("cannot read %s", path);
   fclose(file);
   if (size)
      *size = (size_t)length;
   return data;
}

VkShaderModule
vkh_shader_module(struct vkh_context *ctx, const void *code, size_t size, const char *name)
{
   const VkShaderModuleCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = size,
      .pCode = code,
   };
   VkShaderModule module;
   VKH_CHECK(vkCreateShaderModule(ctx->device, &info, NULL, &module));
   vkh_name(ctx, VK_OBJECT_TYPE_SHADER_MODULE, (uint64_t)module, name);
   return module;
}

VkShaderModule
vkh_shader_module_file(struct vkh_context *ctx, const char *path, const char *name)
{
   size_t size;
   void *code = vkh_read_file(path, &size);
   VkShaderModule module = vkh_shader_module(ctx, code, size, name);
   free(code);
   return module;
}

VkPipeline
vkh_compute_pipeline(struct vkh_context *ctx, const struct vkh_compute_desc *desc)
{
   const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .pNext = desc->next,
      .flags = desc->flags,
      .stage =
         {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .pNext = desc->stage_next,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = desc->module,
            .pName = desc->entry ? desc->entry : "main",
            .pSpecializationInfo = desc->specialization,
         },
      .layout = desc->layout,
   };
   VkPipeline pipeline;
   VKH_CHECK(vkCreateComputePipelines(ctx->device, desc->cache, 1, &info, NULL, &pipeline));
   vkh_name(ctx, VK_OBJECT_TYPE_PIPELINE, (uint64_t)pipeline, desc->name);
   return pipeline;
}

/* All that a VkGraphicsPipelineCreateInfo points to. */
struct graphics_state {
   VkPipelineShaderStageCreateInfo stages[VKH_MAX_STAGES];
   VkPipelineVertexInputStateCreateInfo vertex_input;
   VkPipelineInputAssemblyStateCreateInfo input_assembly;
   VkPipelineTessellationStateCreateInfo tessellation;
   VkPipelineViewportStateCreateInfo viewport;
   VkPipelineRasterizationStateCreateInfo rasterization;
   VkPipelineMultisampleStateCreateInfo multisample;
   VkPipelineDepthStencilStateCreateInfo depth_stencil;
   VkPipelineColorBlendAttachmentState blend;
   VkPipelineColorBlendStateCreateInfo color_blend;
   VkDynamicState dynamic_states[5];
   VkPipelineDynamicStateCreateInfo dynamic;
   VkPipelineRenderingCreateInfo rendering;
   VkFormat color_format;
};

static void
fill_stages(struct graphics_state *state, const struct vkh_graphics_desc *desc)
{
   for (uint32_t i = 0; i < desc->stage_count; i++) {
      const struct vkh_stage *stage = &desc->stages[i];

      state->stages[i] = (VkPipelineShaderStageCreateInfo){
         .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .pNext = stage->next,
         .stage = stage->stage,
         .module = stage->module,
         .pName = stage->entry ? stage->entry : "main",
         .pSpecializationInfo = stage->specialization,
      };
   }
}

static void
fill_fixed_function(struct graphics_state *state, const struct vkh_graphics_desc *desc)
{
   state->vertex_input = (VkPipelineVertexInputStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
   };
   if (desc->vertex_input)
      state->vertex_input = *desc->vertex_input;
   state->input_assembly = (VkPipelineInputAssemblyStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
      .topology = desc->topology_set || desc->topology ? desc->topology
                                                       : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
      .primitiveRestartEnable = desc->primitive_restart,
   };
   state->tessellation = (VkPipelineTessellationStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_STATE_CREATE_INFO,
      .patchControlPoints = desc->patch_control_points,
   };
   state->viewport = (VkPipelineViewportStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
   };
   state->rasterization = (VkPipelineRasterizationStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
      .rasterizerDiscardEnable = desc->rasterizer_discard,
      .polygonMode = VK_POLYGON_MODE_FILL,
      .cullMode = VK_CULL_MODE_NONE,
      .frontFace = VK_FRONT_FACE_COUNTER_CLOCKWISE,
      .lineWidth = 1.0f,
   };
}

static void
fill_dynamic(struct graphics_state *state, const struct vkh_graphics_desc *desc)
{
   uint32_t count = 0;

   state->dynamic_states[count++] = VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT;
   state->dynamic_states[count++] = VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT;
   if (desc->dynamic_vertex_input)
      state->dynamic_states[count++] = VK_DYNAMIC_STATE_VERTEX_INPUT_EXT;
   if (desc->dynamic_strides)
      state->dynamic_states[count++] = VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE;
   if (desc->dynamic_restart)
      state->dynamic_states[count++] = VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE;
   state->dynamic = (VkPipelineDynamicStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
      .dynamicStateCount = count,
      .pDynamicStates = state->dynamic_states,
   };
}

static void
fill_output(struct graphics_state *state, const struct vkh_graphics_desc *desc)
{
   state->multisample = (VkPipelineMultisampleStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
      .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
   };
   state->depth_stencil = (VkPipelineDepthStencilStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
      .depthTestEnable = desc->depth_test,
      .depthWriteEnable = desc->depth_write,
      .depthCompareOp = desc->depth_compare,
      .maxDepthBounds = 1.0f,
   };
   state->blend = (VkPipelineColorBlendAttachmentState){
      .colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT |
                        VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT,
   };
   if (desc->blend)
      state->blend = *desc->blend;
   const uint32_t color_count = desc->color_format ? 1 : 0;
   state->color_blend = (VkPipelineColorBlendStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
      .attachmentCount = color_count,
      .pAttachments = &state->blend,
   };
   state->color_format = desc->color_format;
   state->rendering = (VkPipelineRenderingCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
      .pNext = desc->next,
      .colorAttachmentCount = color_count,
      .pColorAttachmentFormats = &state->color_format,
      .depthAttachmentFormat = desc->depth_format,
   };
}

static bool
has_stage(const struct vkh_graphics_desc *desc, VkShaderStageFlagBits stage)
{
   for (uint32_t i = 0; i < desc->stage_count; i++) {
      if (desc->stages[i].stage == stage)
         return true;
   }
   return false;
}

static VkGraphicsPipelineCreateInfo
fill_graphics(struct graphics_state *state, const struct vkh_graphics_desc *desc)
{
   memset(state, 0, sizeof(*state));
   fill_stages(state, desc);
   fill_fixed_function(state, desc);
   fill_output(state, desc);
   fill_dynamic(state, desc);

   const bool mesh = has_stage(desc, VK_SHADER_STAGE_MESH_BIT_EXT);
   const bool tessellated = has_stage(desc, VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT);
   return (VkGraphicsPipelineCreateInfo){
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
      .pNext = desc->render_pass ? desc->next : &state->rendering,
      .flags = desc->flags,
      .stageCount = desc->stage_count,
      .pStages = state->stages,
      .pVertexInputState = mesh ? NULL : &state->vertex_input,
      .pInputAssemblyState = mesh ? NULL : &state->input_assembly,
      .pTessellationState = tessellated ? &state->tessellation : NULL,
      .pViewportState = &state->viewport,
      .pRasterizationState = &state->rasterization,
      .pMultisampleState = &state->multisample,
      .pDepthStencilState = &state->depth_stencil,
      .pColorBlendState = &state->color_blend,
      .pDynamicState = &state->dynamic,
      .layout = desc->layout,
      .renderPass = desc->render_pass,
      .subpass = desc->subpass,
   };
}

static VkPipeline
create_graphics(struct vkh_context *ctx, const VkGraphicsPipelineCreateInfo *info,
                VkPipelineCache cache, const char *name)
{
   VkPipeline pipeline;
   VKH_CHECK(vkCreateGraphicsPipelines(ctx->device, cache, 1, info, NULL, &pipeline));
   vkh_name(ctx, VK_OBJECT_TYPE_PIPELINE, (uint64_t)pipeline, name);
   return pipeline;
}

VkPipeline
vkh_graphics_pipeline(struct vkh_context *ctx, const struct vkh_graphics_desc *desc)
{
   struct graphics_state state;
   const VkGraphicsPipelineCreateInfo info = fill_graphics(&state, desc);
   return create_graphics(ctx, &info, desc->cache, desc->name);
}

/* Creates the part `which` of the pipeline `full`. State and stages that
 * belong to another part are ignored by the driver, but stages have to go to
 * the part that they are of.
 */
static VkPipeline
create_library_part(struct vkh_context *ctx, const VkGraphicsPipelineCreateInfo *full,
                    const struct vkh_graphics_desc *desc,
                    VkGraphicsPipelineLibraryFlagBitsEXT which)
{
   const bool fragment = which == VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
   const bool geometry = which == VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
   const bool inputs = which == VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT;
   VkPipelineShaderStageCreateInfo stages[VKH_MAX_STAGES];
   uint32_t stage_count = 0;
   for (uint32_t i = 0; i < full->stageCount; i++) {
      const bool is_fragment = full->pStages[i].stage == VK_SHADER_STAGE_FRAGMENT_BIT;
      if (is_fragment ? fragment : geometry)
         stages[stage_count++] = full->pStages[i];
   }

   const VkGraphicsPipelineLibraryCreateInfoEXT library = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
      .pNext = (void *)(inputs && desc->inputs_next ? desc->inputs_next : full->pNext),
      .flags = which,
   };
   VkGraphicsPipelineCreateInfo part = *full;
   part.pNext = &library;
   part.flags = desc->flags | VK_PIPELINE_CREATE_LIBRARY_BIT_KHR |
                VK_PIPELINE_CREATE_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT;
   part.stageCount = stage_count;
   part.pStages = stages;
   if (!geometry && !inputs)
      part.pDynamicState = NULL;
   return create_graphics(ctx, &part, desc->cache, NULL);
}

struct vkh_library_pipeline
vkh_graphics_library(struct vkh_context *ctx, const struct vkh_graphics_desc *desc,
                     VkPipelineCreateFlags link_flags)
{
   static const VkGraphicsPipelineLibraryFlagBitsEXT parts[] = {
      VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT,
      VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
      VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT,
      VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT,
   };
   struct vkh_library_pipeline result = {0};
   struct graphics_state state;
   const VkGraphicsPipelineCreateInfo full = fill_graphics(&state, desc);
   const bool mesh = has_stage(desc, VK_SHADER_STAGE_MESH_BIT_EXT);

   VkPipeline linked[VKH_COUNT(parts)];
   uint32_t count = 0;
   for (uint32_t i = mesh ? 1 : 0; i < VKH_COUNT(parts); i++) {
      result.parts[i] = create_library_part(ctx, &full, desc, parts[i]);
      linked[count++] = result.parts[i];
   }

   const VkPipelineLibraryCreateInfoKHR libraries = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
      .libraryCount = count,
      .pLibraries = linked,
   };
   const VkGraphicsPipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
      .pNext = &libraries,
      .flags = desc->flags | link_flags,
      .layout = desc->layout,
   };
   result.pipeline = create_graphics(ctx, &info, desc->cache, desc->name);
   return result;
}

void
vkh_library_destroy(struct vkh_context *ctx, struct vkh_library_pipeline *library)
{
   vkDestroyPipeline(ctx->device, library->pipeline, NULL);
   for (uint32_t i = 0; i < VKH_COUNT(library->parts); i++)
      vkDestroyPipeline(ctx->device, library->parts[i], NULL);
   *library = (struct vkh_library_pipeline){0};
}

/* --- Descriptors ---------------------------------------------------------- */

VkDescriptorSetLayout
vkh_set_layout(struct vkh_context *ctx, const VkDescriptorSetLayoutBinding *bindings,
               uint32_t count)
{
   const VkDescriptorSetLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = count,
      .pBindings = bindings,
   };
   VkDescriptorSetLayout layout;
   VKH_CHECK(vkCreateDescriptorSetLayout(ctx->device, &info, NULL, &layout));
   return layout;
}

VkDescriptorSetLayout
vkh_set_layout_simple(struct vkh_context *ctx, VkDescriptorType type, uint32_t count)
{
   VkDescriptorSetLayoutBinding *bindings = vkh_calloc(count, sizeof(*bindings));
   for (uint32_t i = 0; i < count; i++) {
      bindings[i] = (VkDescriptorSetLayoutBinding){
         .binding = i,
         .descriptorType = type,
         .descriptorCount = 1,
         .stageFlags = VK_SHADER_STAGE_ALL,
      };
   }
   VkDescriptorSetLayout layout = vkh_set_layout(ctx, bindings, count);
   free(bindings);
   return layout;
}

VkPipelineLayout
vkh_pipeline_layout(struct vkh_context *ctx, const VkDescriptorSetLayout *layouts, uint32_t count,
                    uint32_t push_size)
{
   const VkPushConstantRange range = {
      .stageFlags = VK_SHADER_STAGE_ALL,
      .size = push_size,
   };
   const VkPipelineLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
      .setLayoutCount = count,
      .pSetLayouts = layouts,
      .pushConstantRangeCount = push_size ? 1 : 0,
      .pPushConstantRanges = &range,
   };
   VkPipelineLayout layout;
   VKH_CHECK(vkCreatePipelineLayout(ctx->device, &info, NULL, &layout));
   return layout;
}

VkDescriptorSet
vkh_set_allocate(struct vkh_context *ctx, VkDescriptorSetLayout layout)
{
   const VkDescriptorSetAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .descriptorPool = ctx->descriptor_pool,
      .descriptorSetCount = 1,
      .pSetLayouts = &layout,
   };
   VkDescriptorSet set;
   VKH_CHECK(vkAllocateDescriptorSets(ctx->device, &info, &set));
   return set;
}

void
vkh_set_write_buffer(struct vkh_context *ctx, VkDescriptorSet set, uint32_t binding,
                     uint32_t element, VkDescriptorType type, VkBuffer buffer, VkDeviceSize offset,
                     VkDeviceSize range)
{
   const VkDescriptorBufferInfo info = {buffer, offset, range};
   const VkWriteDescriptorSet write = {
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
      .dstSet = set,
      .dstBinding = binding,
      .dstArrayElement = element,
      .descriptorCount = 1,
      .descriptorType = type,
      .pBufferInfo = &info,
   };
   vkUpdateDescriptorSets(ctx->device, 1, &write, 0, NULL);
}

void
vkh_set_write_image(struct vkh_context *ctx, VkDescriptorSet set, uint32_t binding,
                    uint32_t element, VkDescriptorType type, VkImageView view, VkSampler sampler)
{
   const VkDescriptorImageInfo info = {
      .sampler = sampler,
      .imageView = view,
      .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
   };
   const VkWriteDescriptorSet write = {
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
      .dstSet = set,
      .dstBinding = binding,
      .dstArrayElement = element,
      .descriptorCount = 1,
      .descriptorType = type,
      .pImageInfo = &info,
   };
   vkUpdateDescriptorSets(ctx->device, 1, &write, 0, NULL);
}
