/* SPDX-License-Identifier: MIT */

/* What the driver's compiler says of a pipeline: registers, what is spilled, the size of the code. */

#include "gpuval_anygpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/macros.h"

VkPipelineCreateFlags
gpuval_anygpu_statistics_flags(const struct gpuval_anygpu_vulkan *vulkan)
{
   return vulkan->caps.has_statistics ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR : 0;
}

static void
print_value(const VkPipelineExecutableStatisticKHR *statistic)
{
   switch (statistic->format) {
   case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      printf("%s\n", statistic->value.b32 ? "yes" : "no");
      break;
   case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      printf("%" PRId64 "\n", statistic->value.i64);
      break;
   case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
      printf("%" PRIu64 "\n", statistic->value.u64);
      break;
   default:
      printf("%g\n", statistic->value.f64);
      break;
   }
}

static void
print_executable(struct gpuval_anygpu_vulkan *vulkan, VkPipeline pipeline, uint32_t index,
                 const char *name)
{
   const VkPipelineExecutableInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
      .pipeline = pipeline,
      .executableIndex = index,
   };
   VkPipelineExecutableStatisticKHR statistics[64];
   uint32_t count = ARRAY_SIZE(statistics);

   for (unsigned i = 0; i < ARRAY_SIZE(statistics); i++)
      statistics[i] = (VkPipelineExecutableStatisticKHR){
         .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR,
      };
   if (vulkan->table.GetPipelineExecutableStatisticsKHR(vulkan->device, &info, &count, statistics) <
       0)
      return;
   for (uint32_t i = 0; i < count; i++) {
      printf("%s: %s: ", name, statistics[i].name);
      print_value(&statistics[i]);
   }
}

void
gpuval_anygpu_print_statistics(struct gpuval_anygpu_vulkan *vulkan, VkPipeline pipeline,
                               const char *name)
{
   const VkPipelineInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR,
      .pipeline = pipeline,
   };
   uint32_t count = 0;

   if (!vulkan->caps.has_statistics) {
      printf("%s: the driver has no statistics (VK_KHR_pipeline_executable_properties)\n", name);
      return;
   }
   vulkan->table.GetPipelineExecutablePropertiesKHR(vulkan->device, &info, &count, NULL);
   for (uint32_t i = 0; i < count; i++)
      print_executable(vulkan, pipeline, i, name);
}
