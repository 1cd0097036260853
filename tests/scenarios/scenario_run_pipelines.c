/* SPDX-License-Identifier: MIT */

#include "scenario_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SPECIALIZATION 16

/* What a `pipeline` statement says. */
struct request {
   const struct scenario_section *sections[VKH_MAX_STAGES];
   unsigned section_count;
   bool dispatch_base;
   const char *entry;
   VkSpecializationMapEntry entries[MAX_SPECIALIZATION];
   uint32_t values[MAX_SPECIALIZATION];
   VkSpecializationInfo specialization;
   bool robust, stage_robust, inputs_robust;
   VkPipelineRobustnessCreateInfoEXT robustness;
   struct vkh_graphics_desc desc;
   struct run_vertex_input vertex_input;
   struct run_static_vertex_input static_vertex_input;
};

/* --- Reading the statement ------------------------------------------------ */

/* ID:VALUE,… */
static void
read_specialization(struct run *run, struct request *request, const char *text)
{
   unsigned count = 0;
   int length;
   while (count < MAX_SPECIALIZATION && sscanf(text, "%u:%i%n", &request->entries[count].constantID,
                                               (int *)&request->values[count], &length) == 2) {
      request->entries[count].offset = count * 4;
      request->entries[count].size = 4;
      count++;
      text += length + (text[length] == ',');
   }
   if (*text)
      RUN_ERROR(run, "spec needs ID:VALUE,…");
   request->specialization = (VkSpecializationInfo){
      .mapEntryCount = count,
      .pMapEntries = request->entries,
      .dataSize = count * 4,
      .pData = request->values,
   };
}

static VkPipelineRobustnessBufferBehaviorEXT
find_behavior(struct run *run, const char *name)
{
   static const struct {
      const char *name;
      VkPipelineRobustnessBufferBehaviorEXT behavior;
   } behaviors[] = {
      {"default", VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DEVICE_DEFAULT_EXT},
      {"disabled", VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT},
      {"access", VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_EXT},
      {"access2", VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_2_EXT},
   };
   for (unsigned i = 0; i < VKH_COUNT(behaviors); i++) {
      if (strcmp(behaviors[i].name, name) == 0)
         return behaviors[i].behavior;
   }
   RUN_ERROR(run, "%s is no robustness", name);
}

static VkPipelineRobustnessImageBehaviorEXT
find_image_behavior(struct run *run, const char *name)
{
   /* The values are the same. */
   return (VkPipelineRobustnessImageBehaviorEXT)find_behavior(run, name);
}

/* KIND:BEHAVIOR,… with KIND storage, uniform, vertex or image. */
static void
read_robustness(struct run *run, struct request *request, const char *text)
{
   char *copy = scenario_format("%s", text);
   char *rest = copy;
   char *part;

   request->robustness.sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT;
   while ((part = strsep(&rest, ","))) {
      char *behavior = part;
      const char *kind = strsep(&behavior, ":");
      if (!behavior)
         RUN_ERROR(run, "robust needs KIND:BEHAVIOR,…");
      if (strcmp(kind, "storage") == 0)
         request->robustness.storageBuffers = find_behavior(run, behavior);
      else if (strcmp(kind, "uniform") == 0)
         request->robustness.uniformBuffers = find_behavior(run, behavior);
      else if (strcmp(kind, "vertex") == 0)
         request->robustness.vertexInputs = find_behavior(run, behavior);
      else if (strcmp(kind, "image") == 0)
         request->robustness.images = find_image_behavior(run, behavior);
      else
         RUN_ERROR(run, "%s is no kind of buffer or image", kind);
   }
   free(copy);
}

static void
read_depth(struct run *run, struct request *request, const char *name)
{
   static const char *const names[] = {
      [VK_COMPARE_OP_NEVER] = "never",
      [VK_COMPARE_OP_LESS] = "less",
      [VK_COMPARE_OP_EQUAL] = "equal",
      [VK_COMPARE_OP_LESS_OR_EQUAL] = "less_or_equal",
      [VK_COMPARE_OP_GREATER] = "greater",
      [VK_COMPARE_OP_NOT_EQUAL] = "not_equal",
      [VK_COMPARE_OP_GREATER_OR_EQUAL] = "greater_or_equal",
      [VK_COMPARE_OP_ALWAYS] = "always",
   };
   for (unsigned i = 0; i < VKH_COUNT(names); i++) {
      if (strcmp(names[i], name) == 0) {
         request->desc.depth_test = true;
         request->desc.depth_compare = i;
         return;
      }
   }
   RUN_ERROR(run, "%s is no comparison", name);
}

static void
read_topology(struct run *run, struct request *request, const char *name)
{
   request->desc.topology_set = true;
   if (strcmp(name, "points") == 0)
      request->desc.topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST;
   else if (strcmp(name, "triangles") == 0)
      request->desc.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
   else if (strcmp(name, "strip") == 0)
      request->desc.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
   else if (sscanf(name, "patches%u", &request->desc.patch_control_points) == 1)
      request->desc.topology = VK_PRIMITIVE_TOPOLOGY_PATCH_LIST;
   else
      RUN_ERROR(run, "%s is no topology", name);
}

static void
read_dynamic(struct run *run, struct request *request, const char *name)
{
   if (strcmp(name, "vertex_input") == 0)
      request->desc.dynamic_vertex_input = true;
   else if (strcmp(name, "strides") == 0)
      request->desc.dynamic_strides = true;
   else if (strcmp(name, "restart") == 0)
      request->desc.dynamic_restart = true;
   else
      RUN_ERROR(run, "%s is no dynamic state here", name);
}

static void
read_option(struct run *run, struct request *request, const char *word)
{
   char *key = scenario_format("%s", word);
   char *value = strchr(key, '=');
   if (value)
      *value++ = 0;

   if (strcmp(key, "depth_write") == 0)
      request->desc.depth_write = true;
   else if (strcmp(key, "dispatch_base") == 0)
      request->dispatch_base = true;
   else if (strcmp(key, "rasterizer_discard") == 0)
      request->desc.rasterizer_discard = true;
   else if (strcmp(key, "restart") == 0)
      request->desc.primitive_restart = true;
   else if (!value)
      RUN_ERROR(run, "%s is neither a shader section nor an option", word);
   else if (strcmp(key, "spec") == 0)
      read_specialization(run, request, value);
   else if (strcmp(key, "depth") == 0)
      read_depth(run, request, value);
   else if (strcmp(key, "topology") == 0)
      read_topology(run, request, value);
   else if (strcmp(key, "pass") == 0)
      request->desc.render_pass = run_find_pass(run, value, &request->desc.subpass);
   else if (strcmp(key, "dynamic") == 0)
      read_dynamic(run, request, value);
   else if (run_read_vertex_input(&request->vertex_input, key, value))
      (void)0;
   else if (strcmp(key, "entry") == 0)
      request->entry = scenario_format("%s", value);
   else if (strcmp(key, "robust") == 0 || strcmp(key, "stage_robust") == 0 ||
            strcmp(key, "inputs_robust") == 0) {
      request->robust |= key[0] == 'r';
      request->stage_robust |= key[0] == 's';
      request->inputs_robust |= key[0] == 'i';
      read_robustness(run, request, value);
   } else
      RUN_ERROR(run, "%s is no option of a pipeline", key);
   free(key);
}

static void
read_request(struct run *run, struct request *request)
{
   *request = (struct request){0};
   for (unsigned i = 2; run_has_word(run, i); i++) {
      const struct scenario_section *section =
         scenario_find_section(run->scenario, run_word(run, i));
      if (!section)
         read_option(run, request, run_word(run, i));
      else if (request->section_count == VKH_MAX_STAGES)
         RUN_ERROR(run, "too many shaders");
      else
         request->sections[request->section_count++] = section;
   }
   if (request->section_count == 0)
      RUN_ERROR(run, "a pipeline needs a shader");
}

/* --- Shaders -------------------------------------------------------------- */

static unsigned
load_code(struct run *run, const struct scenario_section *section)
{
   const unsigned index = (unsigned)(section - run->scenario->sections);
   if (!run->codes[index]) {
      char *path = scenario_format("%s/%s.spv", run->folder, section->name);
      run->codes[index] = vkh_read_file(path, &run->code_sizes[index]);
      free(path);
   }
   return index;
}

static VkShaderModule
get_module(struct run *run, const struct scenario_section *section)
{
   const unsigned index = load_code(run, section);
   if (!run->modules[index])
      run->modules[index] = vkh_shader_module(run->ctx, run->codes[index], run->code_sizes[index],
                                              run_debug_name(run, section->name));
   return run->modules[index];
}

static VkShaderStageFlags
next_stages(const struct request *request, unsigned i)
{
   static const VkShaderStageFlagBits order[] = {
      VK_SHADER_STAGE_TASK_BIT_EXT,
      VK_SHADER_STAGE_MESH_BIT_EXT,
      VK_SHADER_STAGE_VERTEX_BIT,
      VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT,
      VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT,
      VK_SHADER_STAGE_GEOMETRY_BIT,
      VK_SHADER_STAGE_FRAGMENT_BIT,
   };
   bool behind = false;
   for (unsigned s = 0; s < VKH_COUNT(order); s++) {
      for (unsigned j = 0; behind && j < request->section_count; j++) {
         if (request->sections[j]->stage->bit == order[s])
            return order[s];
      }
      behind |= order[s] == request->sections[i]->stage->bit;
   }
   return 0;
}

static VkShaderEXT
create_shader_object(struct run *run, const VkShaderCreateInfoEXT *info, const char *name)
{
   VkShaderEXT shader;
   VKH_CHECK(VKH_PROC(run->ctx, vkCreateShadersEXT)(run->ctx->device, 1, info, NULL, &shader));
   vkh_name(run->ctx, VK_OBJECT_TYPE_SHADER_EXT, (uint64_t)shader, name);
   return shader;
}

/* Makes the shader, gets its binary and destroys it. */
static void *
make_binary(struct run *run, const VkShaderCreateInfoEXT *info, const char *name, size_t *size)
{
   PFN_vkGetShaderBinaryDataEXT get = VKH_PROC(run->ctx, vkGetShaderBinaryDataEXT);
   VkShaderEXT shader = create_shader_object(run, info, name);

   VKH_CHECK(get(run->ctx->device, shader, size, NULL));
   void *binary = malloc(*size);
   if (!binary)
      vkh_die("out of memory");
   VKH_CHECK(get(run->ctx->device, shader, size, binary));
   VKH_PROC(run->ctx, vkDestroyShaderEXT)(run->ctx->device, shader, NULL);
   return binary;
}

/* Of binaries, as 32 hexadecimal digits */
static void
get_binary_uuid(struct run *run, char text[2 * VK_UUID_SIZE + 1])
{
   VkPhysicalDeviceShaderObjectPropertiesEXT shader_object = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_PROPERTIES_EXT,
   };
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
      .pNext = &shader_object,
   };

   vkGetPhysicalDeviceProperties2(run->ctx->physical_device, &properties);
   for (unsigned i = 0; i < VK_UUID_SIZE; i++)
      sprintf(&text[2 * i], "%02x", shader_object.shaderBinaryUUID[i]);
}

/* Keeps the binary in the folder GPUVAL_TEST_BINARIES, by the UUID of its driver, for the next
 * process.
 */
static void *
get_kept_binary(struct run *run, const VkShaderCreateInfoEXT *info, const char *section,
                const char *name, size_t *size)
{
   const char *folder = getenv("GPUVAL_TEST_BINARIES");
   char file[4096], uuid[2 * VK_UUID_SIZE + 1];
   void *binary = NULL;
   if (!folder)
      return make_binary(run, info, name, size);

   get_binary_uuid(run, uuid);
   snprintf(file, sizeof(file), "%s/%s.%s", folder, section, uuid);
   FILE *f = fopen(file, "rb");
   if (f) {
      binary = malloc(1 << 24);
      *size = binary ? fread(binary, 1, 1 << 24, f) : 0;
   } else if ((f = fopen(file, "wb"))) {
      binary = make_binary(run, info, name, size);
      if (fwrite(binary, 1, *size, f) != *size)
         vkh_die("%s is not written", file);
   }
   if (!binary)
      vkh_die("%s: %s", file, strerror(errno));
   fclose(f);
   return binary;
}

static VkShaderEXT
create_from_binary(struct run *run, VkShaderCreateInfoEXT info, const char *section,
                   const char *name)
{
   size_t size;
   void *binary = get_kept_binary(run, &info, section, name, &size);

   info.codeType = VK_SHADER_CODE_TYPE_BINARY_EXT;
   info.codeSize = size;
   info.pCode = binary;
   VkShaderEXT shader = create_shader_object(run, &info, name);
   free(binary);
   return shader;
}

static void
create_shader_objects(struct run *run, struct run_pipeline *pipeline, const struct request *request)
{
   VkDescriptorSetLayout layouts[MAX_SETS];
   for (unsigned i = 0; i < run->set_count; i++)
      layouts[i] = run->sets[i].layout;
   const VkPushConstantRange range = {VK_SHADER_STAGE_ALL, run->push_first, run->push_size};
   bool task = false;
   for (unsigned i = 0; i < request->section_count; i++)
      task |= request->sections[i]->stage->bit == VK_SHADER_STAGE_TASK_BIT_EXT;

   for (unsigned i = 0; i < request->section_count; i++) {
      const struct scenario_section *section = request->sections[i];
      const unsigned index = load_code(run, section);
      const bool lone_mesh = section->stage->bit == VK_SHADER_STAGE_MESH_BIT_EXT && !task;
      const VkShaderCreateInfoEXT info = {
         .sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
         .flags = lone_mesh ? VK_SHADER_CREATE_NO_TASK_SHADER_BIT_EXT : 0,
         .stage = section->stage->bit,
         .nextStage = next_stages(request, i),
         .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
         .codeSize = run->code_sizes[index],
         .pCode = run->codes[index],
         .pName = request->entry ? request->entry : "main",
         .setLayoutCount = run->set_count,
         .pSetLayouts = layouts,
         .pushConstantRangeCount = run->push_size ? 1 : 0,
         .pPushConstantRanges = &range,
         .pSpecializationInfo = &request->specialization,
      };
      const char *name = run_debug_name(run, section->name);
      pipeline->shaders[i] = run->kind == SCENARIO_SHADER_OBJECT_BINARY
                                ? create_from_binary(run, info, section->name, name)
                                : create_shader_object(run, &info, name);
      pipeline->shader_stages[i] = section->stage->bit;
   }
   pipeline->shader_count = request->section_count;
}

/* --- Pipelines ------------------------------------------------------------ */

static VkPipelineCreateFlags
pipeline_flags(const struct run *run)
{
   for (unsigned i = 0; i < run->set_count; i++) {
      if (run->sets[i].update == UPDATE_BUFFER)
         return VK_PIPELINE_CREATE_DESCRIPTOR_BUFFER_BIT_EXT;
   }
   return 0;
}

static void
fill_stages(struct run *run, const struct request *request, VkPipelineShaderStageCreateInfo *stages)
{
   for (unsigned i = 0; i < request->section_count; i++) {
      stages[i] = (VkPipelineShaderStageCreateInfo){
         .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .pNext = request->stage_robust ? &request->robustness : NULL,
         .stage = request->sections[i]->stage->bit,
         .module = get_module(run, request->sections[i]),
         .pName = request->entry ? request->entry : "main",
         .pSpecializationInfo = &request->specialization,
      };
   }
}

static VkPipeline
create_compute(struct run *run, const struct request *request, VkPipelineCache cache,
               const char *name)
{
   const struct vkh_compute_desc desc = {
      .module = get_module(run, request->sections[0]),
      .entry = request->entry,
      .layout = run->layout,
      .specialization = &request->specialization,
      .cache = cache,
      .flags =
         pipeline_flags(run) | (request->dispatch_base ? VK_PIPELINE_CREATE_DISPATCH_BASE_BIT : 0),
      .next = request->robust ? &request->robustness : NULL,
      .stage_next = request->stage_robust ? &request->robustness : NULL,
      .name = name,
   };
   return vkh_compute_pipeline(run->ctx, &desc);
}

static void
fill_graphics(struct run *run, struct request *request, VkPipelineCache cache, const char *name)
{
   struct vkh_graphics_desc *desc = &request->desc;

   for (unsigned i = 0; i < request->section_count; i++) {
      desc->stages[i] = (struct vkh_stage){
         .stage = request->sections[i]->stage->bit,
         .module = get_module(run, request->sections[i]),
         .entry = request->entry,
         .specialization = &request->specialization,
         .next = request->stage_robust ? &request->robustness : NULL,
      };
   }
   run_fill_vertex_input(&request->vertex_input, &request->static_vertex_input);
   desc->vertex_input = &request->static_vertex_input.info;
   desc->stage_count = request->section_count;
   desc->layout = run->layout;
   desc->color_format = run->color_format;
   desc->depth_format = run->has_depth ? VK_FORMAT_D32_SFLOAT : VK_FORMAT_UNDEFINED;
   desc->cache = cache;
   desc->flags = pipeline_flags(run);
   desc->next = request->robust ? &request->robustness : NULL;
   desc->inputs_next = request->inputs_robust ? &request->robustness : NULL;
   desc->name = name;
}

static void
create_graphics(struct run *run, struct run_pipeline *pipeline, struct request *request,
                VkPipelineCache cache, const char *name)
{
   fill_graphics(run, request, cache, name);
   if (run->kind == SCENARIO_LIBRARY || run->kind == SCENARIO_LIBRARY_LTO) {
      pipeline->library = vkh_graphics_library(
         run->ctx, &request->desc,
         run->kind == SCENARIO_LIBRARY_LTO ? VK_PIPELINE_CREATE_LINK_TIME_OPTIMIZATION_BIT_EXT : 0);
      pipeline->pipeline = pipeline->library.pipeline;
   } else {
      pipeline->pipeline = vkh_graphics_pipeline(run->ctx, &request->desc);
   }
}

static void
create_pipeline_object(struct run *run, struct run_pipeline *pipeline, struct request *request,
                       VkPipelineCache cache)
{
   const char *name = run_debug_name(run, pipeline->name);

   if (pipeline->bind_point == VK_PIPELINE_BIND_POINT_COMPUTE) {
      pipeline->pipeline = create_compute(run, request, cache, name);
   } else if (pipeline->bind_point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR) {
      VkPipelineShaderStageCreateInfo stages[VKH_MAX_STAGES];
      fill_stages(run, request, stages);
      run_create_ray_pipeline(run, pipeline, stages, request->section_count,
                              request->robust ? &request->robustness : NULL);
      vkh_name(run->ctx, VK_OBJECT_TYPE_PIPELINE, (uint64_t)pipeline->pipeline, name);
   } else {
      create_graphics(run, pipeline, request, cache, name);
   }
}

static VkPipelineCache
create_cache(struct run *run, const void *data, size_t size)
{
   const VkPipelineCacheCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
      .initialDataSize = size,
      .pInitialData = data,
   };
   VkPipelineCache cache;
   VKH_CHECK(vkCreatePipelineCache(run->ctx->device, &info, NULL, &cache));
   return cache;
}

/* What a program does that keeps its pipelines on disk: the second pipeline
 * comes out of the data of the first one's cache.
 */
static void
create_through_cache(struct run *run, struct run_pipeline *pipeline, struct request *request)
{
   VkDevice device = run->ctx->device;
   VkPipelineCache cache = create_cache(run, NULL, 0);
   create_pipeline_object(run, pipeline, request, cache);
   vkDestroyPipeline(device, pipeline->pipeline, NULL);

   size_t size;
   VKH_CHECK(vkGetPipelineCacheData(device, cache, &size, NULL));
   void *data = malloc(size ? size : 1);
   if (!data)
      vkh_die("out of memory");
   VKH_CHECK(vkGetPipelineCacheData(device, cache, &size, data));
   vkDestroyPipelineCache(device, cache, NULL);

   cache = create_cache(run, data, size);
   free(data);
   create_pipeline_object(run, pipeline, request, cache);
   vkDestroyPipelineCache(device, cache, NULL);
}

static VkPipelineBindPoint
bind_point(const struct request *request)
{
   switch (request->sections[0]->stage->bit) {
   case VK_SHADER_STAGE_COMPUTE_BIT:
      return VK_PIPELINE_BIND_POINT_COMPUTE;
   case VK_SHADER_STAGE_VERTEX_BIT:
   case VK_SHADER_STAGE_TASK_BIT_EXT:
   case VK_SHADER_STAGE_MESH_BIT_EXT:
      return VK_PIPELINE_BIND_POINT_GRAPHICS;
   default:
      return VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR;
   }
}

/* `pipeline NAME SECTION… OPTION…` */
void
run_create_pipeline(struct run *run)
{
   struct request request;
   read_request(run, &request);

   run->pipelines = scenario_grow(run->pipelines, &run->pipeline_count, sizeof(*run->pipelines));
   struct run_pipeline *pipeline = &run->pipelines[run->pipeline_count - 1];
   pipeline->name = run_word(run, 1);
   pipeline->bind_point = bind_point(&request);

   const bool rays = pipeline->bind_point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR;
   const bool objects =
      run->kind == SCENARIO_SHADER_OBJECT || run->kind == SCENARIO_SHADER_OBJECT_BINARY;
   pipeline->vertex_input = request.vertex_input;
   if (objects && !rays) {
      create_shader_objects(run, pipeline, &request);
      pipeline->desc = request.desc;
   } else if (run->kind == SCENARIO_CACHE && !rays) {
      create_through_cache(run, pipeline, &request);
   } else {
      create_pipeline_object(run, pipeline, &request, VK_NULL_HANDLE);
   }
   run->current_pipeline = (int)run->pipeline_count - 1;
}

/* --- Binding -------------------------------------------------------------- */

static void
set_dynamic_state(struct run *run, const struct run_pipeline *pipeline)
{
   const struct vkh_graphics_desc *desc = &pipeline->desc;
   const VkSampleMask mask = ~0u;
   const VkBool32 blend = VK_FALSE;
   const VkColorComponentFlags components = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT |
                                            VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT;
   VkCommandBuffer cmd = run->cmd;
   struct vkh_context *ctx = run->ctx;

   vkCmdSetRasterizerDiscardEnable(cmd, desc->rasterizer_discard);
   vkCmdSetPrimitiveTopology(
      cmd, desc->topology_set ? desc->topology : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST);
   if (!desc->dynamic_restart)
      vkCmdSetPrimitiveRestartEnable(cmd, desc->primitive_restart);
   vkCmdSetCullMode(cmd, VK_CULL_MODE_NONE);
   vkCmdSetFrontFace(cmd, VK_FRONT_FACE_COUNTER_CLOCKWISE);
   vkCmdSetDepthTestEnable(cmd, desc->depth_test);
   vkCmdSetDepthWriteEnable(cmd, desc->depth_write);
   vkCmdSetDepthCompareOp(cmd, desc->depth_compare);
   vkCmdSetDepthBoundsTestEnable(cmd, VK_FALSE);
   vkCmdSetDepthBiasEnable(cmd, VK_FALSE);
   vkCmdSetStencilTestEnable(cmd, VK_FALSE);
   if (!desc->dynamic_vertex_input)
      run_set_vertex_input(run, &pipeline->vertex_input);
   VKH_PROC(ctx, vkCmdSetPatchControlPointsEXT)
   (cmd, desc->patch_control_points ? desc->patch_control_points : 1);
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
bind_shader_objects(struct run *run, const struct run_pipeline *pipeline)
{
   static const VkShaderStageFlagBits graphics[] = {
      VK_SHADER_STAGE_VERTEX_BIT,
      VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT,
      VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT,
      VK_SHADER_STAGE_GEOMETRY_BIT,
      VK_SHADER_STAGE_FRAGMENT_BIT,
      /* Only where mesh shaders are enabled. */
      VK_SHADER_STAGE_TASK_BIT_EXT,
      VK_SHADER_STAGE_MESH_BIT_EXT,
   };
   PFN_vkCmdBindShadersEXT bind = VKH_PROC(run->ctx, vkCmdBindShadersEXT);

   if (pipeline->bind_point == VK_PIPELINE_BIND_POINT_COMPUTE) {
      bind(run->cmd, 1, pipeline->shader_stages, pipeline->shaders);
      return;
   }

   bool mesh = false;
   for (unsigned i = 0; i < run->scenario->section_count; i++)
      mesh |= run->scenario->sections[i].stage->bit == VK_SHADER_STAGE_MESH_BIT_EXT;
   for (unsigned i = 0; i < VKH_COUNT(graphics) - (mesh ? 0 : 2); i++) {
      VkShaderEXT shader = VK_NULL_HANDLE;
      for (unsigned j = 0; j < pipeline->shader_count; j++) {
         if (pipeline->shader_stages[j] == graphics[i])
            shader = pipeline->shaders[j];
      }
      bind(run->cmd, 1, &graphics[i], &shader);
   }
   set_dynamic_state(run, pipeline);
}

void
run_bind_pipeline(struct run *run, const struct run_pipeline *pipeline)
{
   if (pipeline->shader_count)
      bind_shader_objects(run, pipeline);
   else
      vkCmdBindPipeline(run->cmd, pipeline->bind_point, pipeline->pipeline);
}

static void
destroy_pipeline(struct run *run, struct run_pipeline *pipeline)
{
   VkDevice device = run->ctx->device;

   if (pipeline->library.pipeline)
      vkh_library_destroy(run->ctx, &pipeline->library);
   else
      vkDestroyPipeline(device, pipeline->pipeline, NULL);
   vkDestroyPipeline(device, pipeline->ray_library, NULL);
   for (unsigned i = 0; i < pipeline->shader_count; i++)
      VKH_PROC(run->ctx, vkDestroyShaderEXT)(device, pipeline->shaders[i], NULL);
   if (pipeline->shader_table.buffer)
      vkh_buffer_destroy(run->ctx, &pipeline->shader_table);
}

/* `destroy pipeline NAME`, with the modules of all that there are */
void
run_destroy_pipeline(struct run *run, const char *name)
{
   for (unsigned i = 0; i < run->pipeline_count; i++) {
      struct run_pipeline *pipeline = &run->pipelines[i];
      if (strcmp(pipeline->name, name) != 0)
         continue;
      destroy_pipeline(run, pipeline);
      *pipeline = (struct run_pipeline){.name = ""};
   }
   for (unsigned i = 0; i < run->scenario->section_count; i++) {
      vkDestroyShaderModule(run->ctx->device, run->modules[i], NULL);
      run->modules[i] = VK_NULL_HANDLE;
   }
   run->current_pipeline = -1;
}

void
run_destroy_pipelines(struct run *run)
{
   VkDevice device = run->ctx->device;

   for (unsigned i = 0; i < run->pipeline_count; i++)
      destroy_pipeline(run, &run->pipelines[i]);
   for (unsigned i = 0; i < run->scenario->section_count; i++) {
      vkDestroyShaderModule(device, run->modules[i], NULL);
      free(run->codes[i]);
   }
}
