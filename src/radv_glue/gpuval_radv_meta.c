/* SPDX-License-Identifier: MIT */

/* Compute pipelines of our own among those of RADV's meta operations. */

#include "gpuval_radv_meta.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/compat/gpuval_radv_driver.h"

#include "meta/radv_meta.h"
#include "radv_buffer.h"
#include "radv_cmd_buffer.h"
#include "radv_cs.h"
#include "radv_device.h"
#include "vk_common_entrypoints.h"
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

nir_def *
gpuval_radv_load_look_constant(nir_builder *b, unsigned offset)
{
   nir_def *words =
      nir_load_push_constant(b, 4, 32, nir_imm_int(b, 0), .range = GPUVAL_RADV_LOOK_CONSTANTS_SIZE);
   return nir_pack_64_2x32(b, nir_channels(b, words, 0x3 << (offset / 4)));
}

void
gpuval_radv_build_look_barrier(nir_builder *b)
{
   nir_barrier(b, .execution_scope = SCOPE_WORKGROUP, .memory_scope = SCOPE_WORKGROUP,
               .memory_semantics = NIR_MEMORY_ACQ_REL, .memory_modes = nir_var_mem_shared);
}

struct gpuval_radv_results *
gpuval_radv_dispatch_look(struct radv_cmd_buffer *cmd_buffer, uint32_t key,
                          gpuval_radv_build_shader build, const struct util_dynarray *chunks,
                          uint32_t chunk_size, uint32_t result_size)
{
   VkCommandBuffer handle = radv_cmd_buffer_to_handle(cmd_buffer);
   uint32_t count = chunks->size / chunk_size, offset;
   struct gpuval_radv_results *results;
   struct radv_meta_saved_state saved;
   VkPipelineLayout layout;
   uint64_t constants[2];
   VkPipeline pipeline;
   void *map;

   results = gpuval_radv_add_readback(cmd_buffer, sizeof(*results) + (uint64_t)count * result_size,
                                      &constants[GPUVAL_RADV_LOOK_RESULTS / 8]);
   if (!results ||
       gpuval_radv_get_meta_pipeline(radv_cmd_buffer_device(cmd_buffer), &key, sizeof(key),
                                     GPUVAL_RADV_LOOK_CONSTANTS_SIZE, build, &pipeline,
                                     &layout) != VK_SUCCESS ||
       !radv_cmd_buffer_upload_alloc_aligned(cmd_buffer, chunks->size, 64, &offset, &map))
      return NULL;
   memcpy(map, chunks->data, chunks->size);
   constants[GPUVAL_RADV_LOOK_CHUNKS / 8] =
      radv_buffer_get_va(cmd_buffer->upload.upload_bo) + offset;

   gpuval_radv_begin_meta(&saved, cmd_buffer);
   radv_CmdBindPipeline(handle, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vk_common_CmdPushConstants(handle, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(constants),
                              constants);
   radv_unaligned_dispatch(cmd_buffer, count * GPUVAL_RADV_LOOK_SIZE, 1, 1);
   gpuval_radv_end_meta(&saved, cmd_buffer);
   return results;
}
