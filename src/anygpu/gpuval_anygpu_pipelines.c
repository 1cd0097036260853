/* SPDX-License-Identifier: MIT */

/* The pipelines of a shader: with checks, and as it is. */

#include "gpuval_anygpu_runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/macros.h"

#define MAX_STATISTICS 64

static void
print_statistic(const char *name, const VkPipelineExecutableStatisticKHR *statistic)
{
   printf("%s: %s ", name, statistic->name);
   switch (statistic->format) {
   case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      printf("%s\n", statistic->value.b32 ? "yes" : "no");
      break;
   case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      printf("%" PRId64 "\n", statistic->value.i64);
      break;
   case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
      printf("%g\n", statistic->value.f64);
      break;
   default:
      printf("%" PRIu64 "\n", statistic->value.u64);
      break;
   }
}

/* What the driver says of a pipeline: registers, sizes */
static void
print_statistics(const struct gpuval_anygpu_runner *run,
                 const struct gpuval_anygpu_pipeline *pipeline)
{
   const VkPipelineExecutableInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
      .pipeline = pipeline->pipeline,
   };
   const struct vk_device_dispatch_table *table = &run->vulkan.table;
   VkPipelineExecutableStatisticKHR statistics[MAX_STATISTICS];
   uint32_t count = MAX_STATISTICS;

   for (unsigned i = 0; i < MAX_STATISTICS; i++)
      statistics[i] = (VkPipelineExecutableStatisticKHR){
         .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR,
      };
   if (!run->vulkan.caps.has_statistics || table->GetPipelineExecutableStatisticsKHR(
                                              run->vulkan.device, &info, &count, statistics) < 0) {
      fprintf(stderr, "gpuval: warning: anygpu: the driver has no statistics\n");
      return;
   }
   for (unsigned i = 0; i < count; i++)
      print_statistic(pipeline == &run->checked ? "checked" : "plain", &statistics[i]);
}

static bool
create_pipeline(struct gpuval_anygpu_runner *run, const uint32_t *words, size_t size,
                const char *entry, uint32_t push_size, struct gpuval_anygpu_pipeline *pipeline)
{
   const struct vk_device_dispatch_table *table = &run->vulkan.table;
   VkDevice device = run->vulkan.device;
   const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, push_size};
   const VkPipelineLayoutCreateInfo layout_info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
      .setLayoutCount = pipeline->set_layout ? 1 : 0,
      .pSetLayouts = &pipeline->set_layout,
      .pushConstantRangeCount = push_size ? 1 : 0,
      .pPushConstantRanges = &range,
   };
   const VkShaderModuleCreateInfo module_info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = size,
      .pCode = words,
   };
   VkShaderModule module;

   if (table->CreatePipelineLayout(device, &layout_info, NULL, &pipeline->layout) != VK_SUCCESS)
      return gpuval_anygpu_fail("vkCreatePipelineLayout failed", NULL);
   if (table->CreateShaderModule(device, &module_info, NULL, &module) != VK_SUCCESS)
      return gpuval_anygpu_fail("vkCreateShaderModule failed", NULL);
   const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .flags = run->options->statistics && run->vulkan.caps.has_statistics
                  ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR
                  : 0,
      .stage =
         {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = module,
            .pName = entry,
         },
      .layout = pipeline->layout,
   };
   VkResult result =
      table->CreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline->pipeline);
   table->DestroyShaderModule(device, module, NULL);
   if (result != VK_SUCCESS)
      return gpuval_anygpu_fail("vkCreateComputePipelines failed", NULL);
   if (run->options->statistics)
      print_statistics(run, pipeline);
   return true;
}

void
gpuval_anygpu_destroy_pipeline(struct gpuval_anygpu_runner *run,
                               struct gpuval_anygpu_pipeline *pipeline)
{
   const struct vk_device_dispatch_table *table = &run->vulkan.table;

   table->DestroyPipeline(run->vulkan.device, pipeline->pipeline, NULL);
   table->DestroyPipelineLayout(run->vulkan.device, pipeline->layout, NULL);
   table->DestroyDescriptorSetLayout(run->vulkan.device, pipeline->set_layout, NULL);
}

bool
gpuval_anygpu_create_checked(struct gpuval_anygpu_runner *run)
{
   const uint32_t push_size = GPUVAL_ANYGPU_PUSH_OFFSET + GPUVAL_ANYGPU_MAX_PUSH <=
                                    run->vulkan.properties.limits.maxPushConstantsSize
                                 ? GPUVAL_ANYGPU_PUSH_OFFSET + GPUVAL_ANYGPU_MAX_PUSH
                                 : run->vulkan.properties.limits.maxPushConstantsSize;

   if (GPUVAL_ANYGPU_PUSH_OFFSET + run->shader.layout.push_size > push_size)
      return gpuval_anygpu_fail(
         "the device has no room for the shader's push constants and 16 bytes more", NULL);
   return create_pipeline(run, run->shader.words, run->shader.size, "main", push_size,
                          &run->checked);
}

/* Of the shader as it is: real descriptors */
static bool
write_set(struct gpuval_anygpu_runner *run)
{
   const struct vk_device_dispatch_table *table = &run->vulkan.table;

   for (unsigned i = 0; i < run->options->num_buffers; i++) {
      const struct gpuval_anygpu_binding *binding = &run->shader.layout.bindings[i];
      if (!binding->count)
         continue;
      const VkDescriptorBufferInfo buffer = {run->buffers[i].memory->buffer, 0, VK_WHOLE_SIZE};
      const VkWriteDescriptorSet write = {
         .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = run->set,
         .dstBinding = i,
         .descriptorCount = 1,
         .descriptorType = binding->type,
         .pBufferInfo = &buffer,
      };
      table->UpdateDescriptorSets(run->vulkan.device, 1, &write, 0, NULL);
   }
   return true;
}

static bool
create_set(struct gpuval_anygpu_runner *run)
{
   const struct vk_device_dispatch_table *table = &run->vulkan.table;
   VkDescriptorSetLayoutBinding bindings[GPUVAL_ANYGPU_MAX_SLOTS];
   uint32_t count = 0;

   for (unsigned i = 0; i < GPUVAL_ANYGPU_MAX_SLOTS; i++) {
      const struct gpuval_anygpu_binding *binding = &run->shader.layout.bindings[i];
      if (!binding->count)
         continue;
      if (i >= run->options->num_buffers || binding->count > 1)
         return gpuval_anygpu_fail(
            "--time and --as-is need a buffer for each binding of the shader, and no arrays", NULL);
      bindings[count++] = (VkDescriptorSetLayoutBinding){
         .binding = i,
         .descriptorType = binding->type,
         .descriptorCount = 1,
         .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
      };
   }
   if (!count)
      return true;

   const VkDescriptorSetLayoutCreateInfo layout = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = count,
      .pBindings = bindings,
   };
   const VkDescriptorPoolSize sizes[] = {
      {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, GPUVAL_ANYGPU_MAX_SLOTS},
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, GPUVAL_ANYGPU_MAX_SLOTS},
   };
   const VkDescriptorPoolCreateInfo pool = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .maxSets = 1,
      .poolSizeCount = ARRAY_SIZE(sizes),
      .pPoolSizes = sizes,
   };
   if (table->CreateDescriptorSetLayout(run->vulkan.device, &layout, NULL,
                                        &run->plain.set_layout) != VK_SUCCESS ||
       table->CreateDescriptorPool(run->vulkan.device, &pool, NULL, &run->descriptor_pool) !=
          VK_SUCCESS)
      return gpuval_anygpu_fail("vkCreateDescriptorSetLayout or vkCreateDescriptorPool failed",
                                NULL);
   const VkDescriptorSetAllocateInfo allocate = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .descriptorPool = run->descriptor_pool,
      .descriptorSetCount = 1,
      .pSetLayouts = &run->plain.set_layout,
   };
   if (table->AllocateDescriptorSets(run->vulkan.device, &allocate, &run->set) != VK_SUCCESS)
      return gpuval_anygpu_fail("vkAllocateDescriptorSets failed", NULL);
   return write_set(run);
}

bool
gpuval_anygpu_create_plain(struct gpuval_anygpu_runner *run)
{
   const VkQueryPoolCreateInfo queries = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
      .queryType = VK_QUERY_TYPE_TIMESTAMP,
      .queryCount = 2,
   };

   if (run->options->time && !run->vulkan.timestamp_bits)
      return gpuval_anygpu_fail("--time: the queue has no timestamps", NULL);
   if (run->options->time && run->vulkan.table.CreateQueryPool(run->vulkan.device, &queries, NULL,
                                                               &run->queries) != VK_SUCCESS)
      return gpuval_anygpu_fail("vkCreateQueryPool failed", NULL);
   return create_set(run) &&
          create_pipeline(run, run->shader.source, run->shader.source_size, run->options->entry,
                          run->shader.layout.push_size, &run->plain);
}
