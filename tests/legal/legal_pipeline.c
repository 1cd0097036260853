/* SPDX-License-Identifier: MIT */

/*
 * Pipelines and shader objects, in each of the ways in which a program may get them.
 */

#include "legal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All that pipelines of a program are made of */
struct parts {
   struct legal_device *device;
   const struct legal_program *program;
   VkPipelineShaderStageCreateInfo stages[LEGAL_MAX_STAGES];
   VkShaderModule modules[LEGAL_MAX_STAGES];
   VkSpecializationMapEntry entries[LEGAL_SPEC_COUNT];
   uint32_t values[LEGAL_SPEC_COUNT];
   VkSpecializationInfo specialization;
   VkPipelineCreateFlags flags;
   const void *next; /* for what has no chain of its own */

   /* Graphics */
   VkVertexInputBindingDescription vertex_binding;
   VkVertexInputAttributeDescription attributes[4];
   VkPipelineVertexInputStateCreateInfo vertex_input;
   VkPipelineInputAssemblyStateCreateInfo input_assembly;
   VkPipelineTessellationStateCreateInfo tessellation;
   VkPipelineViewportStateCreateInfo viewport;
   VkPipelineRasterizationStateCreateInfo rasterization;
   VkPipelineMultisampleStateCreateInfo multisample;
   VkPipelineColorBlendAttachmentState blend;
   VkPipelineColorBlendStateCreateInfo color_blend;
   VkDynamicState dynamic_states[2];
   VkPipelineDynamicStateCreateInfo dynamic;
   VkRenderPass pass;
   VkFormat color_format;
   VkPipelineRenderingCreateInfo rendering; /* without a render pass */
};

static const char *
name_program(const struct legal_program *program, const char *what)
{
   static char name[64];
   snprintf(name, sizeof(name), "seed %llu %s", (unsigned long long)program->seed, what);
   return name;
}

/* --- What pipelines are made of ------------------------------------------- */

static void
fill_specialization(struct parts *parts)
{
   legal_spec_values(parts->program, parts->values);
   for (uint32_t i = 0; i < LEGAL_SPEC_COUNT; i++)
      parts->entries[i] = (VkSpecializationMapEntry){i, i * 4, 4};
   parts->specialization = (VkSpecializationInfo){
      .mapEntryCount = LEGAL_SPEC_COUNT,
      .pMapEntries = parts->entries,
      .dataSize = sizeof(parts->values),
      .pData = parts->values,
   };
}

/* Shader modules, one a stage, or one for all */
static void
create_modules(struct parts *parts, const struct legal_module *modules)
{
   const struct legal_program *program = parts->program;

   for (unsigned i = 0; i < program->stage_count; i++) {
      if (i == 0 || !program->one_module)
         parts->modules[i] =
            vkh_shader_module(parts->device->ctx, modules[i].code, modules[i].word_count * 4,
                              name_program(program, legal_stage_name(program->stages[i])));
      parts->stages[i] = (VkPipelineShaderStageCreateInfo){
         .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = program->stages[i],
         .module = parts->modules[program->one_module ? 0 : i],
         .pName = legal_entry(program, program->stages[i]),
         .pSpecializationInfo = program->specialization ? &parts->specialization : NULL,
      };
   }
}

static void
destroy_modules(struct parts *parts)
{
   for (unsigned i = 0; i < LEGAL_MAX_STAGES; i++)
      vkDestroyShaderModule(parts->device->ctx->device, parts->modules[i], NULL);
}

static void
fill_vertex_input(struct parts *parts)
{
   const struct legal_program *program = parts->program;

   parts->vertex_binding = (VkVertexInputBindingDescription){0, 16, VK_VERTEX_INPUT_RATE_VERTEX};
   for (uint32_t i = 0; i < program->attribute_count; i++)
      parts->attributes[i] = (VkVertexInputAttributeDescription){i, 0, VK_FORMAT_R32_UINT, 4 * i};
   parts->vertex_input = (VkPipelineVertexInputStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
      .vertexBindingDescriptionCount = program->attribute_count ? 1 : 0,
      .pVertexBindingDescriptions = &parts->vertex_binding,
      .vertexAttributeDescriptionCount = program->attribute_count,
      .pVertexAttributeDescriptions = parts->attributes,
   };
   const bool patches = program->tessellation_level != 0;
   parts->input_assembly = (VkPipelineInputAssemblyStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
      .topology = patches ? VK_PRIMITIVE_TOPOLOGY_PATCH_LIST : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
   };
   parts->tessellation = (VkPipelineTessellationStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_STATE_CREATE_INFO,
      .patchControlPoints = 3,
   };
}

static void
fill_fixed_function(struct parts *parts)
{
   const struct legal_program *program = parts->program;

   parts->viewport = (VkPipelineViewportStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
   };
   parts->rasterization = (VkPipelineRasterizationStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
      .rasterizerDiscardEnable = !legal_has_stage(program, VK_SHADER_STAGE_FRAGMENT_BIT),
      .lineWidth = 1.0f,
   };
   parts->multisample = (VkPipelineMultisampleStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
      .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
   };
   parts->blend = (VkPipelineColorBlendAttachmentState){
      .colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT |
                        VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT,
   };
   parts->color_blend = (VkPipelineColorBlendStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
      .attachmentCount = program->has_color ? 1 : 0,
      .pAttachments = &parts->blend,
   };
   parts->dynamic_states[0] = VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT;
   parts->dynamic_states[1] = VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT;
   parts->dynamic = (VkPipelineDynamicStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
      .dynamicStateCount = 2,
      .pDynamicStates = parts->dynamic_states,
   };
   parts->color_format = VK_FORMAT_R32_UINT;
   parts->rendering = (VkPipelineRenderingCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
      .colorAttachmentCount = program->has_color ? 1 : 0,
      .pColorAttachmentFormats = &parts->color_format,
   };
}

/* --- Pipelines ------------------------------------------------------------ */

static VkGraphicsPipelineCreateInfo
graphics_info(struct parts *parts, VkPipelineLayout layout)
{
   const bool mesh = legal_has_stage(parts->program, VK_SHADER_STAGE_MESH_BIT_EXT);

   parts->rendering.pNext = parts->next;
   return (VkGraphicsPipelineCreateInfo){
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
      .pNext = parts->pass ? parts->next : &parts->rendering,
      .flags = parts->flags,
      .stageCount = parts->program->stage_count,
      .pStages = parts->stages,
      .pVertexInputState = mesh ? NULL : &parts->vertex_input,
      .pInputAssemblyState = mesh ? NULL : &parts->input_assembly,
      .pTessellationState = parts->program->tessellation_level ? &parts->tessellation : NULL,
      .pViewportState = &parts->viewport,
      .pRasterizationState = &parts->rasterization,
      .pMultisampleState = &parts->multisample,
      .pColorBlendState = &parts->color_blend,
      .pDynamicState = &parts->dynamic,
      .layout = layout,
      .renderPass = parts->pass,
   };
}

static VkPipeline
create_graphics(struct parts *parts, VkPipelineLayout layout, VkPipelineCache cache)
{
   const VkGraphicsPipelineCreateInfo info = graphics_info(parts, layout);
   VkPipeline pipeline;
   VKH_CHECK(
      vkCreateGraphicsPipelines(parts->device->ctx->device, cache, 1, &info, NULL, &pipeline));
   return pipeline;
}

static VkPipeline
create_pipeline(struct parts *parts, VkPipelineLayout layout, VkPipelineCache cache)
{
   struct vkh_context *ctx = parts->device->ctx;
   VkPipeline pipeline;

   if (parts->program->bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS) {
      pipeline = create_graphics(parts, layout, cache);
   } else if (parts->program->bind_point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR) {
      pipeline = legal_rays_create_pipeline(parts->device, parts->program, parts->stages, layout,
                                            parts->flags, parts->next, cache);
   } else {
      const VkComputePipelineCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
         .pNext = parts->next,
         .flags = parts->flags,
         .stage = parts->stages[0],
         .layout = layout,
      };
      VKH_CHECK(vkCreateComputePipelines(ctx->device, cache, 1, &info, NULL, &pipeline));
   }
   vkh_name(ctx, VK_OBJECT_TYPE_PIPELINE, (uint64_t)pipeline,
            name_program(parts->program, "pipeline"));
   return pipeline;
}

static VkPipelineCache
create_cache(struct parts *parts, const void *data, size_t size)
{
   const VkPipelineCacheCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
      .initialDataSize = size,
      .pInitialData = data,
   };
   VkPipelineCache cache;
   VKH_CHECK(vkCreatePipelineCache(parts->device->ctx->device, &info, NULL, &cache));
   return cache;
}

/* As programs do that keep pipelines on disk */
static VkPipeline
create_through_cache(struct parts *parts, VkPipelineLayout layout)
{
   VkDevice device = parts->device->ctx->device;
   VkPipelineCache cache = create_cache(parts, NULL, 0);
   size_t size;

   vkDestroyPipeline(device, create_pipeline(parts, layout, cache), NULL);
   VKH_CHECK(vkGetPipelineCacheData(device, cache, &size, NULL));
   void *data = vkh_calloc(size, 1);
   VKH_CHECK(vkGetPipelineCacheData(device, cache, &size, data));
   vkDestroyPipelineCache(device, cache, NULL);
   cache = create_cache(parts, data, size);
   free(data);
   VkPipeline pipeline = create_pipeline(parts, layout, cache);
   vkDestroyPipelineCache(device, cache, NULL);
   return pipeline;
}

/* As programs do that keep pipelines on disk by VK_KHR_pipeline_binary */
static VkPipeline
create_through_binaries(struct parts *parts, VkPipelineLayout layout)
{
   struct vkh_context *ctx = parts->device->ctx;
   const VkPipelineCreateFlags2CreateInfoKHR flags = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
      .flags = parts->flags | VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR,
   };
   VkPipelineBinaryKHR binaries[16];

   parts->next = &flags;
   VkPipeline first = create_pipeline(parts, layout, VK_NULL_HANDLE);
   const VkPipelineBinaryCreateInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR,
      .pipeline = first,
   };
   VkPipelineBinaryHandlesInfoKHR handles = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR,
   };
   PFN_vkCreatePipelineBinariesKHR create = VKH_PROC(ctx, vkCreatePipelineBinariesKHR);
   VKH_CHECK(create(ctx->device, &info, NULL, &handles));
   if (handles.pipelineBinaryCount > VKH_COUNT(binaries))
      vkh_die("too many binaries");
   handles.pPipelineBinaries = binaries;
   VKH_CHECK(create(ctx->device, &info, NULL, &handles));
   vkDestroyPipeline(ctx->device, first, NULL);

   const VkPipelineBinaryInfoKHR use = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR,
      .binaryCount = handles.pipelineBinaryCount,
      .pPipelineBinaries = binaries,
   };
   parts->next = &use;
   VkPipeline pipeline = create_pipeline(parts, layout, VK_NULL_HANDLE);
   parts->next = NULL;
   for (uint32_t i = 0; i < handles.pipelineBinaryCount; i++)
      VKH_PROC(ctx, vkDestroyPipelineBinaryKHR)(ctx->device, binaries[i], NULL);
   return pipeline;
}

/* --- Libraries ------------------------------------------------------------ */

/* One part of a graphics pipeline, with the stages that belong there and, where sets are
 * independent, a layout of its own
 */
static VkPipeline
create_part(struct parts *parts, const struct legal_sets *sets,
            VkGraphicsPipelineLibraryFlagBitsEXT which)
{
   const struct legal_program *program = parts->program;
   const bool fragment = which == VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
   const bool geometry = which == VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
   VkPipelineShaderStageCreateInfo stages[LEGAL_MAX_STAGES];
   const VkGraphicsPipelineLibraryCreateInfoEXT library = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
      .pNext = parts->pass ? NULL : &parts->rendering,
      .flags = which,
   };
   VkShaderStageFlags users = 0;
   uint32_t count = 0;
   VkPipeline pipeline;

   for (unsigned i = 0; i < program->stage_count; i++) {
      const bool is_fragment = program->stages[i] == VK_SHADER_STAGE_FRAGMENT_BIT;
      if (is_fragment ? fragment : geometry) {
         stages[count++] = parts->stages[i];
         users |= program->stages[i];
      }
   }
   const bool own = program->independent_sets && users;
   VkPipelineLayout layout =
      own ? legal_layout_create(parts->device, program, sets, users) : sets->layout;
   VkGraphicsPipelineCreateInfo info = graphics_info(parts, layout);
   info.pNext = &library;
   info.flags |= VK_PIPELINE_CREATE_LIBRARY_BIT_KHR |
                 VK_PIPELINE_CREATE_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT;
   info.stageCount = count;
   info.pStages = stages;
   if (!geometry)
      info.pDynamicState = NULL;
   VKH_CHECK(vkCreateGraphicsPipelines(parts->device->ctx->device, VK_NULL_HANDLE, 1, &info, NULL,
                                       &pipeline));
   if (own)
      vkDestroyPipelineLayout(parts->device->ctx->device, layout, NULL);
   return pipeline;
}

static void
create_libraries(struct parts *parts, const struct legal_sets *sets, struct legal_pipeline *result)
{
   static const VkGraphicsPipelineLibraryFlagBitsEXT which[] = {
      VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT,
      VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
      VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT,
      VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT,
   };
   const struct legal_program *program = parts->program;
   const bool mesh = legal_has_stage(program, VK_SHADER_STAGE_MESH_BIT_EXT);
   const bool fragment = legal_has_stage(program, VK_SHADER_STAGE_FRAGMENT_BIT);
   VkPipeline linked[4];
   uint32_t count = 0;

   for (unsigned i = mesh ? 1 : 0; i < (fragment ? 4 : 2); i++) {
      result->parts[i] = create_part(parts, sets, which[i]);
      linked[count++] = result->parts[i];
   }
   const VkPipelineLibraryCreateInfoKHR libraries = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
      .libraryCount = count,
      .pLibraries = linked,
   };
   const bool optimized = program->creation == LEGAL_LIBRARY_OPTIMIZED;
   const VkGraphicsPipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
      .pNext = &libraries,
      .flags = parts->flags | (optimized ? VK_PIPELINE_CREATE_LINK_TIME_OPTIMIZATION_BIT_EXT : 0),
      .layout = sets->layout,
   };
   VKH_CHECK(vkCreateGraphicsPipelines(parts->device->ctx->device, VK_NULL_HANDLE, 1, &info, NULL,
                                       &result->pipeline));
}

/* One library of all stages of a ray tracing pipeline */
static void
create_ray_library(struct parts *parts, VkPipelineLayout layout, struct legal_pipeline *result)
{
   const VkPipelineCreateFlags flags = parts->flags;

   parts->flags |= VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
   result->parts[0] = create_pipeline(parts, layout, VK_NULL_HANDLE);
   parts->flags = flags;
   result->pipeline = legal_rays_link(parts->device, result->parts[0], layout, flags);
}

/* --- Shader objects ------------------------------------------------------- */

static VkShaderStageFlags
next_stage(const struct legal_program *program, unsigned stage)
{
   return stage + 1 < program->stage_count ? program->stages[stage + 1] : 0;
}

/* The same shader out of its binary */
static VkShaderEXT
recreate(struct parts *parts, VkShaderEXT shader, VkShaderCreateInfoEXT info)
{
   struct vkh_context *ctx = parts->device->ctx;
   size_t size;

   VKH_CHECK(VKH_PROC(ctx, vkGetShaderBinaryDataEXT)(ctx->device, shader, &size, NULL));
   /* Binaries are aligned to 16 bytes, as malloc()'s memory is. */
   void *data = vkh_calloc(size, 1);
   VKH_CHECK(VKH_PROC(ctx, vkGetShaderBinaryDataEXT)(ctx->device, shader, &size, data));
   VKH_PROC(ctx, vkDestroyShaderEXT)(ctx->device, shader, NULL);
   info.codeType = VK_SHADER_CODE_TYPE_BINARY_EXT;
   info.codeSize = size;
   info.pCode = data;
   VKH_CHECK(VKH_PROC(ctx, vkCreateShadersEXT)(ctx->device, 1, &info, NULL, &shader));
   free(data);
   return shader;
}

static void
create_objects(struct parts *parts, const struct legal_sets *sets,
               const struct legal_module *modules, struct legal_pipeline *result)
{
   const struct legal_program *program = parts->program;
   struct vkh_context *ctx = parts->device->ctx;
   const VkPushConstantRange range = {program->push.stages, program->push.offset,
                                      program->push.size};
   const bool linked = program->creation == LEGAL_OBJECTS_LINKED && program->stage_count > 1;
   const bool task = legal_has_stage(program, VK_SHADER_STAGE_TASK_BIT_EXT);
   VkShaderCreateInfoEXT infos[LEGAL_MAX_STAGES];
   PFN_vkCreateShadersEXT create = VKH_PROC(ctx, vkCreateShadersEXT);

   for (unsigned i = 0; i < program->stage_count; i++) {
      const struct legal_module *module = &modules[program->one_module ? 0 : i];
      const bool lone_mesh = program->stages[i] == VK_SHADER_STAGE_MESH_BIT_EXT && !task;
      infos[i] = (VkShaderCreateInfoEXT){
         .sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
         .flags = (lone_mesh ? VK_SHADER_CREATE_NO_TASK_SHADER_BIT_EXT : 0) |
                  (linked ? VK_SHADER_CREATE_LINK_STAGE_BIT_EXT : 0),
         .stage = program->stages[i],
         .nextStage = next_stage(program, i),
         .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
         .codeSize = module->word_count * 4,
         .pCode = module->code,
         .pName = legal_entry(program, program->stages[i]),
         .setLayoutCount = program->set_count,
         .pSetLayouts = sets->layouts,
         .pushConstantRangeCount = program->push.stages ? 1 : 0,
         .pPushConstantRanges = &range,
         .pSpecializationInfo = program->specialization ? &parts->specialization : NULL,
      };
   }
   if (linked)
      VKH_CHECK(create(ctx->device, program->stage_count, infos, NULL, result->objects));
   for (unsigned i = 0; i < program->stage_count; i++) {
      if (!linked)
         VKH_CHECK(create(ctx->device, 1, &infos[i], NULL, &result->objects[i]));
      if (program->creation == LEGAL_OBJECT_BINARIES)
         result->objects[i] = recreate(parts, result->objects[i], infos[i]);
      vkh_name(ctx, VK_OBJECT_TYPE_SHADER_EXT, (uint64_t)result->objects[i],
               name_program(program, legal_stage_name(program->stages[i])));
   }
}

/* --- Public --------------------------------------------------------------- */

void
legal_pipeline_create(struct legal_device *device, const struct legal_program *program,
                      const struct legal_sets *sets, const struct legal_module *modules,
                      struct legal_pipeline *pipeline)
{
   struct parts parts = {
      .device = device,
      .program = program,
      .flags = program->descriptor_buffers ? VK_PIPELINE_CREATE_DESCRIPTOR_BUFFER_BIT_EXT : 0,
   };

   *pipeline = (struct legal_pipeline){0};
   legal_pass_create(device, program, &pipeline->pass);
   parts.pass = pipeline->pass.pass;
   fill_specialization(&parts);
   if (program->creation >= LEGAL_OBJECTS && program->creation <= LEGAL_OBJECT_BINARIES) {
      create_objects(&parts, sets, modules, pipeline);
      return;
   }
   create_modules(&parts, modules);
   fill_vertex_input(&parts);
   fill_fixed_function(&parts);
   switch (program->creation) {
   case LEGAL_CACHE:
      pipeline->pipeline = create_through_cache(&parts, sets->layout);
      break;
   case LEGAL_PIPELINE_BINARY:
      pipeline->pipeline = create_through_binaries(&parts, sets->layout);
      break;
   case LEGAL_LIBRARY:
   case LEGAL_LIBRARY_OPTIMIZED:
      if (program->bind_point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR)
         create_ray_library(&parts, sets->layout, pipeline);
      else
         create_libraries(&parts, sets, pipeline);
      break;
   default:
      pipeline->pipeline = create_pipeline(&parts, sets->layout, VK_NULL_HANDLE);
   }
   destroy_modules(&parts);
   if (program->bind_point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR)
      legal_ray_table_create(device, program, pipeline->pipeline, &pipeline->ray_table);
}

/* All that a pipeline would have said */
static void
set_state(struct legal_device *device, const struct legal_program *program, VkCommandBuffer cmd)
{
   struct vkh_context *ctx = device->ctx;
   const bool patches = program->tessellation_level != 0;
   const VkSampleMask mask = ~0u;
   const VkBool32 blend = VK_FALSE;
   const VkColorComponentFlags components = 15;
   const VkVertexInputBindingDescription2EXT binding = {
      .sType = VK_STRUCTURE_TYPE_VERTEX_INPUT_BINDING_DESCRIPTION_2_EXT,
      .stride = 16,
      .inputRate = VK_VERTEX_INPUT_RATE_VERTEX,
      .divisor = 1,
   };
   VkVertexInputAttributeDescription2EXT attributes[4];

   for (uint32_t i = 0; i < program->attribute_count; i++)
      attributes[i] = (VkVertexInputAttributeDescription2EXT){
         .sType = VK_STRUCTURE_TYPE_VERTEX_INPUT_ATTRIBUTE_DESCRIPTION_2_EXT,
         .location = i,
         .format = VK_FORMAT_R32_UINT,
         .offset = 4 * i,
      };
   vkCmdSetRasterizerDiscardEnable(cmd, !legal_has_stage(program, VK_SHADER_STAGE_FRAGMENT_BIT));
   vkCmdSetPrimitiveTopology(
      cmd, patches ? VK_PRIMITIVE_TOPOLOGY_PATCH_LIST : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST);
   vkCmdSetPrimitiveRestartEnable(cmd, VK_FALSE);
   vkCmdSetCullMode(cmd, VK_CULL_MODE_NONE);
   vkCmdSetFrontFace(cmd, VK_FRONT_FACE_COUNTER_CLOCKWISE);
   vkCmdSetDepthTestEnable(cmd, VK_FALSE);
   vkCmdSetDepthWriteEnable(cmd, VK_FALSE);
   vkCmdSetDepthCompareOp(cmd, VK_COMPARE_OP_ALWAYS);
   vkCmdSetDepthBoundsTestEnable(cmd, VK_FALSE);
   vkCmdSetDepthBiasEnable(cmd, VK_FALSE);
   vkCmdSetStencilTestEnable(cmd, VK_FALSE);
   VKH_PROC(ctx, vkCmdSetVertexInputEXT)
   (cmd, program->attribute_count ? 1 : 0, &binding, program->attribute_count, attributes);
   VKH_PROC(ctx, vkCmdSetPatchControlPointsEXT)(cmd, 3);
   VKH_PROC(ctx, vkCmdSetPolygonModeEXT)(cmd, VK_POLYGON_MODE_FILL);
   VKH_PROC(ctx, vkCmdSetRasterizationSamplesEXT)(cmd, VK_SAMPLE_COUNT_1_BIT);
   VKH_PROC(ctx, vkCmdSetSampleMaskEXT)(cmd, VK_SAMPLE_COUNT_1_BIT, &mask);
   VKH_PROC(ctx, vkCmdSetAlphaToCoverageEnableEXT)(cmd, VK_FALSE);
   VKH_PROC(ctx, vkCmdSetAlphaToOneEnableEXT)(cmd, VK_FALSE);
   VKH_PROC(ctx, vkCmdSetLogicOpEnableEXT)(cmd, VK_FALSE);
   VKH_PROC(ctx, vkCmdSetDepthClampEnableEXT)(cmd, VK_FALSE);
   VKH_PROC(ctx, vkCmdSetColorBlendEnableEXT)(cmd, 0, 1, &blend);
   VKH_PROC(ctx, vkCmdSetColorWriteMaskEXT)(cmd, 0, 1, &components);
}

static void
bind_objects(struct legal_device *device, const struct legal_program *program,
             const struct legal_pipeline *pipeline, VkCommandBuffer cmd)
{
   static const VkShaderStageFlagBits graphics[] = {
      VK_SHADER_STAGE_VERTEX_BIT,
      VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT,
      VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT,
      VK_SHADER_STAGE_GEOMETRY_BIT,
      VK_SHADER_STAGE_FRAGMENT_BIT,
      VK_SHADER_STAGE_TASK_BIT_EXT,
      VK_SHADER_STAGE_MESH_BIT_EXT,
   };
   const unsigned count = device->features & LEGAL_MESH_SHADERS ? 7 : 5;
   PFN_vkCmdBindShadersEXT bind = VKH_PROC(device->ctx, vkCmdBindShadersEXT);

   if (program->bind_point == VK_PIPELINE_BIND_POINT_COMPUTE) {
      bind(cmd, 1, program->stages, pipeline->objects);
      return;
   }
   for (unsigned i = 0; i < count; i++) {
      VkShaderEXT shader = VK_NULL_HANDLE;
      for (unsigned j = 0; j < program->stage_count; j++) {
         if (program->stages[j] == graphics[i])
            shader = pipeline->objects[j];
      }
      bind(cmd, 1, &graphics[i], &shader);
   }
   set_state(device, program, cmd);
}

void
legal_pipeline_bind(struct legal_device *device, const struct legal_program *program,
                    const struct legal_pipeline *pipeline, VkCommandBuffer cmd)
{
   if (pipeline->pipeline)
      vkCmdBindPipeline(cmd, program->bind_point, pipeline->pipeline);
   else
      bind_objects(device, program, pipeline, cmd);
}

void
legal_pipeline_destroy(struct legal_device *device, struct legal_pipeline *pipeline)
{
   VkDevice handle = device->ctx->device;

   legal_pass_destroy(device, &pipeline->pass);
   vkDestroyPipeline(handle, pipeline->pipeline, NULL);
   for (unsigned i = 0; i < VKH_COUNT(pipeline->parts); i++)
      vkDestroyPipeline(handle, pipeline->parts[i], NULL);
   for (unsigned i = 0; i < LEGAL_MAX_STAGES; i++) {
      if (pipeline->objects[i])
         VKH_PROC(device->ctx, vkDestroyShaderEXT)(handle, pipeline->objects[i], NULL);
   }
   if (pipeline->ray_table.buffer.buffer)
      vkh_buffer_destroy(device->ctx, &pipeline->ray_table.buffer);
}
