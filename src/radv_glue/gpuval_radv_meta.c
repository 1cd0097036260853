/* SPDX-License-Identifier: MIT */

/* Compute pipelines of our own among those of RADV's meta operations. */

#include "gpuval_radv_private.h"

#include "radv_device.h"
#include "vk_shader_module.h"

VkResult
gpuval_radv_get_meta_pipeline(struct radv_device *device, const void *key, size_t key_size,
                              uint32_t constants_size, gpuval_radv_build_shader build,
                              VkPipeline *pipeline, VkPipelineLayout *layout)
{
   struct vk_meta_device *meta = &device->meta_state.device;
   const VkPushConstantRange range = {
      .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
      .size = constants_size,
   };

   VkResult result =
      vk_meta_get_pipeline_layout(&device->vk, meta, NULL, &range, key, key_size, layout);
   if (result != VK_SUCCESS)
      return result;
   *pipeline = vk_meta_lookup_pipeline(meta, key, key_size);
   if (*pipeline)
      return VK_SUCCESS;

   nir_shader *nir = build(device, key);
   const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage =
         {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = vk_shader_module_handle_from_nir(nir),
            .pName = "main",
         },
      .layout = *layout,
   };
   result = vk_meta_create_compute_pipeline(&device->vk, meta, &info, key, key_size, pipeline);
   ralloc_free(nir);
   return result;
}
