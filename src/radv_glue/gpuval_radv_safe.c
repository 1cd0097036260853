/* SPDX-License-Identifier: MIT */

/* GPUVAL_SAFE: what is in the arguments of an indirect command, or in the instances of an
 * acceleration structure, is not known before the GPU reads it. So a shader of ours copies
 * them in front of the command, and of those that are above a limit makes such as do nothing,
 * of instances of nothing inactive ones; the command reads the copy.
 */

#include "gpuval_radv_private.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "nir/nir_builder.h"
#include "radv_cmd_buffer.h"
#include "radv_cs.h"
#include "radv_device.h"

#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval/src/core/structures/gpuval_structures.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"
#include "vk_common_entrypoints.h"

#define WORKGROUP_SIZE 64

/* Of all that may be copied, so that no count makes the upload buffer grow without end */
#define MAX_SIZE (1024 * 1024)

struct key {
   enum radv_meta_object_key_type type; /* none of RADV's */
   bool instances;                      /* else arguments of that type */
   bool array_of_pointers;
   enum gpuval_arguments_type arguments;
};

struct constants {
   uint64_t from, to;
   uint64_t structures; /* as gpuval_device_bottom_structures(); 0: instances are only copied */
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

static void
load_words(nir_builder *b, nir_def *from, nir_def **words, unsigned count)
{
   for (unsigned i = 0; i < count; i++)
      words[i] = nir_build_load_global(b, 1, 32, nir_iadd_imm(b, from, 4 * i), .align_mul = 4);
}

/* Those from @first to @first + @num_zeros are 0 where it is @bad. */
static void
store_words(nir_builder *b, nir_def *to, nir_def *const *words, unsigned count, nir_def *bad,
            unsigned first, unsigned num_zeros)
{
   for (unsigned i = 0; i < count; i++) {
      bool counts = i - first < num_zeros;
      nir_def *word = counts ? nir_bcsel(b, bad, nir_imm_int(b, 0), words[i]) : words[i];
      nir_build_store_global(b, word, nir_iadd_imm(b, to, 4 * i), .align_mul = 4);
   }
}

static void
build_arguments(nir_builder *b, nir_def *index, enum gpuval_arguments_type type)
{
   uint32_t size = gpuval_arguments_size(type);
   nir_def *words[sizeof(VkTraceRaysIndirectCommand2KHR) / 4];
   unsigned first;

   load_words(b, address_of(b, LOAD64(b, from), index, LOAD(b, stride)), words, size / 4);
   nir_def *bad = find_bad(b, type, words, &first);
   store_words(b, address_of(b, LOAD64(b, to), index, nir_imm_int(b, size)), words, size / 4, bad,
               first, 3);
}

/* Neither 0 nor of a bottom-level structure that there is */
static nir_def *
refers_to_nothing(nir_builder *b, nir_def *reference)
{
   nir_variable *bad = nir_local_variable_create(b->impl, glsl_bool_type(), "bad");
   nir_def *table = LOAD64(b, structures);

   nir_store_var(b, bad, nir_imm_false(b), 0x1);
   nir_push_if(b, nir_ine_imm(b, table, 0));
   {
      nir_def *all = nir_build_load_global(
         b, 1, 64, nir_iadd_imm(b, table, GPUVAL_STRUCTURE_SLOTS * sizeof(uint64_t)),
         .align_mul = 8);
      nir_def *good = nir_ior(b, nir_ine_imm(b, all, 0), nir_ieq_imm(b, reference, 0));
      good = nir_ior(b, good, gpuval_nir_find_structure(b, table, reference));
      nir_store_var(b, bad, nir_inot(b, good), 0x1);
   }
   nir_pop_if(b, NULL);
   return nir_load_var(b, bad);
}

static void
build_instances(nir_builder *b, nir_def *index, bool array_of_pointers)
{
   enum {
      NUM_WORDS = sizeof(VkAccelerationStructureInstanceKHR) / 4,
      REFERENCE = offsetof(VkAccelerationStructureInstanceKHR, accelerationStructureReference) / 4,
   };
   nir_def *words[NUM_WORDS];
   nir_def *stride = nir_imm_int(b, sizeof(VkAccelerationStructureInstanceKHR));
   nir_def *from = address_of(b, LOAD64(b, from), index,
                              array_of_pointers ? nir_imm_int(b, sizeof(uint64_t)) : stride);

   if (array_of_pointers)
      from = nir_build_load_global(b, 1, 64, from, .align_mul = 8);
   load_words(b, from, words, NUM_WORDS);
   nir_def *reference = nir_pack_64_2x32_split(b, words[REFERENCE], words[REFERENCE + 1]);
   store_words(b, address_of(b, LOAD64(b, to), index, stride), words, NUM_WORDS,
               refers_to_nothing(b, reference), REFERENCE, 2);
}

/* One invocation a struct */
static nir_shader *
build_shader(struct radv_device *device, const void *data)
{
   const struct key *key = data;
   nir_builder b = gpuval_radv_init_shader(device, "gpuval_safe");

   b.shader->info.workgroup_size[0] = WORKGROUP_SIZE;
   nir_def *index = nir_channel(&b, nir_load_global_invocation_id(&b, 32), 0);
   if (key->instances)
      build_instances(&b, index, key->array_of_pointers);
   else
      build_arguments(&b, index, key->arguments);
   return b.shader;
}

static VkResult
get_pipeline(struct radv_device *device, const struct key *kind, VkPipeline *pipeline,
             VkPipelineLayout *layout)
{
   struct key key;

   memset(&key, 0, sizeof(key)); /* what is between its members is hashed, too */
   key.type = 0x67707576;
   key.instances = kind->instances;
   key.array_of_pointers = kind->array_of_pointers;
   key.arguments = kind->arguments;
   return gpuval_radv_get_meta_pipeline(device, &key, sizeof(key), sizeof(struct constants),
                                        build_shader, pipeline, layout);
}

/* Returns false if there is no room, or too much of it: @size is all of the copy. Fills in where
 * it gets to.
 */
static bool
copy(struct radv_cmd_buffer *cmd_buffer, const struct key *key, struct constants *constants,
     uint32_t count, uint64_t size)
{
   VkCommandBuffer handle = radv_cmd_buffer_to_handle(cmd_buffer);
   struct radv_meta_saved_state saved;
   VkPipelineLayout layout;
   VkPipeline pipeline;
   uint32_t offset;
   void *map;

   if (size > MAX_SIZE ||
       get_pipeline(radv_cmd_buffer_device(cmd_buffer), key, &pipeline, &layout) != VK_SUCCESS ||
       !radv_cmd_buffer_upload_alloc_aligned(cmd_buffer, size, 32, &offset, &map))
      return false;
   constants->to = radv_buffer_get_va(cmd_buffer->upload.upload_bo) + offset;

   /* Copies may follow each other, or the build that has made what is read. */
   cmd_buffer->state.flush_bits |=
      radv_dst_access_flush(cmd_buffer, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                            VK_ACCESS_2_SHADER_READ_BIT, 0, NULL, NULL);
   gpuval_radv_begin_meta(&saved, cmd_buffer);
   radv_CmdBindPipeline(handle, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vk_common_CmdPushConstants(handle, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(*constants),
                              constants);
   radv_unaligned_dispatch(cmd_buffer, count, 1, 1);
   gpuval_radv_end_meta(&saved, cmd_buffer);

   cmd_buffer->state.flush_bits |=
      RADV_CMD_FLAG_CS_PARTIAL_FLUSH |
      radv_src_access_flush(cmd_buffer, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                            VK_ACCESS_2_SHADER_WRITE_BIT, 0, NULL, NULL) |
      radv_dst_access_flush(cmd_buffer,
                            VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT |
                               VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR,
                            VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT | VK_ACCESS_2_SHADER_READ_BIT, 0,
                            NULL, NULL);
   return true;
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
   uint64_t size = (uint64_t)arguments->count * gpuval_arguments_size(arguments->type);
   const struct key key = {.arguments = arguments->type};
   struct constants constants = {
      .from = arguments->range.address + arguments->offset,
      .stride = arguments->stride,
      .total = limits->total,
      .table_stride = MIN2(limits->stride, UINT32_MAX),
   };

   for (unsigned i = 0; i < 3; i++)
      constants.limits[i] = MIN2(limits->groups[i], UINT32_MAX);
   if (!may_be_bad(arguments, limits) ||
       !copy(cmd_buffer, &key, &constants, arguments->count, size))
      return false;

   *safe = gpuval_radv_make_buffer(cmd_buffer->upload.upload_bo, constants.to, size);
   return true;
}

uint64_t
gpuval_radv_copy_instances(struct radv_cmd_buffer *cmd_buffer, uint64_t address, uint32_t count,
                           bool array_of_pointers, uint64_t structures)
{
   const struct key key = {.instances = true, .array_of_pointers = array_of_pointers};
   struct constants constants = {.from = address, .structures = structures};

   if (!count || !copy(cmd_buffer, &key, &constants, count,
                       (uint64_t)count * sizeof(VkAccelerationStructureInstanceKHR)))
      return 0;
   return constants.to;
}
