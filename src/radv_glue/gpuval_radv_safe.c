/* SPDX-License-Identifier: MIT */

/* GPUVAL_SAFE: what is in the arguments of an indirect command is not known before the GPU
 * reads it. So a shader of ours copies them in front of the command, and of those that are
 * above a limit makes such as do nothing; the command reads the copy.
 */

#include "gpuval_radv_private.h"

#include "meta/radv_meta.h"
#include "nir/nir_builder.h"
#include "radv_cmd_buffer.h"
#include "radv_cs.h"
#include "radv_device.h"

#include "vk_common_entrypoints.h"

#define WORKGROUP_SIZE 64

/* Of all that may be copied, so that no count makes the upload buffer grow without end */
#define MAX_SIZE (1024 * 1024)

struct key {
   enum radv_meta_object_key_type type; /* none of RADV's */
   enum gpuval_arguments_type arguments;
};

struct constants {
   uint64_t from, to;
   uint32_t stride;
   uint32_t limits[3];
   uint64_t total;
   uint32_t table_stride;
};

static nir_def *
load_constant(nir_builder *b, unsigned offset)
{
   /* One base, or the vectorizer makes offsets of it that RADV does not find. */
   return nir_load_push_constant(b, 1, 32, nir_imm_int(b, offset),
                                 .range = sizeof(struct constants));
}

static nir_def *
load_constant64(nir_builder *b, unsigned offset)
{
   return nir_pack_64_2x32_split(b, load_constant(b, offset), load_constant(b, offset + 4));
}
#define LOAD(b, member)   load_constant(b, offsetof(struct constants, member))
#define LOAD64(b, member) load_constant64(b, offsetof(struct constants, member))

/* As groups_are_valid() of gpuval_arguments.c has it */
static nir_def *
find_too_many(nir_builder *b, nir_def *const groups[3])
{
   nir_def *bad = nir_imm_false(b);

   for (unsigned i = 0; i < 3; i++) {
      nir_def *limit = load_constant(b, offsetof(struct constants, limits) + 4 * i);
      bad = nir_ior(b, bad, nir_ult(b, limit, groups[i]));
   }
   nir_def *area = nir_umul_2x32_64(b, groups[0], groups[1]);
   nir_def *is_large = nir_ine_imm(b, nir_unpack_64_2x32_split_y(b, area), 0);
   nir_def *volume = nir_umul_2x32_64(b, nir_unpack_64_2x32_split_x(b, area), groups[2]);

   bad = nir_ior(b, bad, nir_iand(b, is_large, nir_ine_imm(b, groups[2], 0)));
   return nir_ior(b, bad, nir_ult(b, LOAD64(b, total), volume));
}

static nir_def *
find_bad_strides(nir_builder *b, nir_def *const *words)
{
   static const unsigned offsets[] = {
      offsetof(VkTraceRaysIndirectCommand2KHR, missShaderBindingTableStride),
      offsetof(VkTraceRaysIndirectCommand2KHR, hitShaderBindingTableStride),
      offsetof(VkTraceRaysIndirectCommand2KHR, callableShaderBindingTableStride),
   };
   nir_def *bad = nir_imm_false(b);

   for (unsigned i = 0; i < ARRAY_SIZE(offsets); i++) {
      nir_def *const *stride = &words[offsets[i] / 4];
      bad = nir_ior(b, bad, nir_ult(b, LOAD(b, table_stride), stride[0]));
      bad = nir_ior(b, bad, nir_ine_imm(b, stride[1], 0));
   }
   return bad;
}

/* *number: of the first of three words that are 0 where nothing is to be done */
static nir_def *
find_bad(nir_builder *b, enum gpuval_arguments_type type, nir_def *const *words, unsigned *number)
{
   *number = 0;
   switch (type) {
   case GPUVAL_ARGUMENTS_DRAW:
      return nir_ine_imm(b, words[offsetof(VkDrawIndirectCommand, firstInstance) / 4], 0);
   case GPUVAL_ARGUMENTS_DRAW_INDEXED:
      return nir_ine_imm(b, words[offsetof(VkDrawIndexedIndirectCommand, firstInstance) / 4], 0);
   case GPUVAL_ARGUMENTS_TRACE_RAYS2:
      *number = offsetof(VkTraceRaysIndirectCommand2KHR, width) / 4;
      return nir_ior(b, find_too_many(b, &words[*number]), find_bad_strides(b, words));
   default:
      return find_too_many(b, words);
   }
}

static nir_def *
address_of(nir_builder *b, nir_def *base, nir_def *index, nir_def *stride)
{
   return nir_iadd(b, base, nir_u2u64(b, nir_imul(b, index, stride)));
}

/* One invocation a struct */
static nir_shader *
build_shader(struct radv_device *device, enum gpuval_arguments_type type)
{
   nir_builder builder = radv_meta_init_shader(device, MESA_SHADER_COMPUTE, "gpuval_safe");
   nir_builder *b = &builder;
   uint32_t size = gpuval_arguments_size(type);
   nir_def *words[sizeof(VkTraceRaysIndirectCommand2KHR) / 4];
   unsigned first;

   b->shader->info.workgroup_size[0] = WORKGROUP_SIZE;
   nir_def *index = nir_channel(b, nir_load_global_invocation_id(b, 32), 0);
   nir_def *from = address_of(b, LOAD64(b, from), index, LOAD(b, stride));
   nir_def *to = address_of(b, LOAD64(b, to), index, nir_imm_int(b, size));
   for (unsigned i = 0; i < size / 4; i++)
      words[i] = nir_build_load_global(b, 1, 32, nir_iadd_imm(b, from, 4 * i), .align_mul = 4);

   nir_def *bad = find_bad(b, type, words, &first);
   for (unsigned i = 0; i < size / 4; i++) {
      bool counts = i - first < 3;
      nir_def *word = counts ? nir_bcsel(b, bad, nir_imm_int(b, 0), words[i]) : words[i];
      nir_build_store_global(b, word, nir_iadd_imm(b, to, 4 * i), .align_mul = 4);
   }
   return b->shader;
}

static VkResult
get_pipeline(struct radv_device *device, enum gpuval_arguments_type type, VkPipeline *pipeline,
             VkPipelineLayout *layout)
{
   struct vk_meta_device *meta = &device->meta_state.device;
   const struct key key = {.type = 0x67707576, .arguments = type};
   const VkPushConstantRange range = {
      .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
      .size = sizeof(struct constants),
   };
   VkResult result =
      vk_meta_get_pipeline_layout(&device->vk, meta, NULL, &range, &key, sizeof(key), layout);

   if (result != VK_SUCCESS)
      return result;
   *pipeline = vk_meta_lookup_pipeline(meta, &key, sizeof(key));
   if (*pipeline)
      return VK_SUCCESS;

   nir_shader *nir = build_shader(device, type);
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
   result = vk_meta_create_compute_pipeline(&device->vk, meta, &info, &key, sizeof(key), pipeline);
   ralloc_free(nir);
   return result;
}

static void
copy(struct radv_cmd_buffer *cmd_buffer, VkPipeline pipeline, VkPipelineLayout layout,
     const struct constants *constants, uint32_t count)
{
   VkCommandBuffer handle = radv_cmd_buffer_to_handle(cmd_buffer);
   struct radv_meta_saved_state saved;

   radv_meta_save(
      &saved, cmd_buffer,
      RADV_META_SAVE_COMPUTE_PIPELINE | RADV_META_SAVE_CONSTANTS | RADV_META_SUSPEND_PREDICATING);
   radv_CmdBindPipeline(handle, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vk_common_CmdPushConstants(handle, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(*constants),
                              constants);
   radv_unaligned_dispatch(cmd_buffer, count, 1, 1);
   radv_meta_restore(&saved, cmd_buffer);

   cmd_buffer->state.flush_bits |=
      RADV_CMD_FLAG_CS_PARTIAL_FLUSH |
      radv_src_access_flush(cmd_buffer, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                            VK_ACCESS_2_SHADER_WRITE_BIT, 0, NULL, NULL) |
      radv_dst_access_flush(cmd_buffer, VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
                            VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT, 0, NULL, NULL);
}

static bool
may_be_bad(const struct gpuval_arguments *arguments, const struct gpuval_arguments_limits *limits)
{
   bool is_draw =
      arguments->type == GPUVAL_ARGUMENTS_DRAW || arguments->type == GPUVAL_ARGUMENTS_DRAW_INDEXED;
   return arguments->count && !(is_draw && limits->first_instance);
}

bool
gpuval_radv_make_safe(struct radv_cmd_buffer *cmd_buffer, const struct gpuval_arguments *arguments,
                      const struct gpuval_arguments_limits *limits, struct radv_buffer *safe)
{
   struct radv_device *device = radv_cmd_buffer_device(cmd_buffer);
   uint64_t size = (uint64_t)arguments->count * gpuval_arguments_size(arguments->type);
   VkPipelineLayout layout;
   VkPipeline pipeline;
   uint32_t offset;
   void *map;

   if (!may_be_bad(arguments, limits) || size > MAX_SIZE ||
       get_pipeline(device, arguments->type, &pipeline, &layout) != VK_SUCCESS ||
       !radv_cmd_buffer_upload_alloc_aligned(cmd_buffer, size, 32, &offset, &map))
      return false;

   *safe = (struct radv_buffer){
      .vk.base.type = VK_OBJECT_TYPE_BUFFER,
      .vk.size = size,
      .bo = cmd_buffer->upload.upload_bo,
      .offset = offset,
      .bo_va = radv_buffer_get_va(cmd_buffer->upload.upload_bo),
      .range = size,
   };
   struct constants constants = {
      .from = arguments->range.address + arguments->offset,
      .to = radv_buffer_get_va(safe->bo) + offset,
      .stride = arguments->stride,
      .total = limits->total,
      .table_stride = MIN2(limits->stride, UINT32_MAX),
   };
   for (unsigned i = 0; i < 3; i++)
      constants.limits[i] = MIN2(limits->groups[i], UINT32_MAX);
   copy(cmd_buffer, pipeline, layout, &constants, arguments->count);
   return true;
}
