/* SPDX-License-Identifier: MIT */

/*
 * Variables of a stage: what stands for the bindings of its sets, and push constants
 */

#include "legal_shader.h"

#define spv(shader) (&(shader)->spv)

/* --- Declarations --------------------------------------------------------- */

uint32_t
legal_number_type(struct legal_shader *shader, enum legal_number numbers, unsigned components)
{
   switch (numbers) {
   case LEGAL_FLOAT:
      return spv_float(&shader->spv, components);
   case LEGAL_INT:
      return spv_int(&shader->spv, components);
   default:
      return spv_uint(&shader->spv, components);
   }
}

static SpvImageFormat
image_format(enum legal_number numbers)
{
   switch (numbers) {
   case LEGAL_FLOAT:
      return SpvImageFormatR32f;
   case LEGAL_INT:
      return SpvImageFormatR32i;
   default:
      return SpvImageFormatR32ui;
   }
}

static uint32_t
declare_image_type(struct legal_shader *shader, enum legal_dim dim, enum legal_number numbers,
                   bool storage, bool format)
{
   static const SpvDim dims[] = {
      [LEGAL_1D] = SpvDim1D,     [LEGAL_2D] = SpvDim2D,       [LEGAL_3D] = SpvDim3D,
      [LEGAL_CUBE] = SpvDimCube, [LEGAL_1D_ARRAY] = SpvDim1D, [LEGAL_2D_ARRAY] = SpvDim2D,
      [LEGAL_2D_MS] = SpvDim2D,
   };
   if (dims[dim] == SpvDim1D)
      spv_capability(spv(shader), storage ? SpvCapabilityImage1D : SpvCapabilitySampled1D);
   return spv_type(spv(shader), SpvOpTypeImage, legal_number_type(shader, numbers, 1), dims[dim], 0,
                   dim == LEGAL_1D_ARRAY || dim == LEGAL_2D_ARRAY, dim == LEGAL_2D_MS,
                   storage ? 2 : 1, format ? image_format(numbers) : SpvImageFormatUnknown);
}

bool
legal_is_sampler(const struct legal_variable *variable)
{
   return variable->binding->type == VK_DESCRIPTOR_TYPE_SAMPLER ||
          variable->role == LEGAL_AS_SAMPLER;
}

static uint32_t
declare_record(struct legal_shader *shader)
{
   const uint32_t members[] = {spv_uint(spv(shader), 1), spv_float(spv(shader), 1),
                               spv_uint(spv(shader), 2), spv_uint(spv(shader), 3),
                               spv_uint(spv(shader), 1)};
   static const uint32_t offsets[] = {0, 4, 8, 16, 28};
   return spv_struct(spv(shader), VKH_COUNT(members), members, offsets);
}

/* Returns the type of an item of `shape`; *@size becomes its bytes. */
static uint32_t
declare_item(struct legal_shader *shader, enum legal_shape shape, uint32_t *size)
{
   switch (shape) {
   case LEGAL_WORDS:
      *size = 4;
      return spv_uint(spv(shader), 1);
   case LEGAL_FLOATS:
      *size = 16;
      return spv_float(spv(shader), 4);
   case LEGAL_RECORDS:
      *size = 32;
      return declare_record(shader);
   case LEGAL_MATRICES:
      *size = 64;
      return spv_type(spv(shader), SpvOpTypeMatrix, spv_float(spv(shader), 4), 4);
   case LEGAL_HALVES:
      *size = 2;
      spv_capability(spv(shader), SpvCapabilityInt16);
      spv_capability(spv(shader), SpvCapabilityStorageBuffer16BitAccess);
      return spv_type(spv(shader), SpvOpTypeInt, 16, 0);
   case LEGAL_LONGS:
      *size = 8;
      spv_capability(spv(shader), SpvCapabilityInt64);
      return spv_type(spv(shader), SpvOpTypeInt, 64, 0);
   default:
      *size = 16;
      return spv_uint(spv(shader), 4);
   }
}

/* A block of `size` bytes that is an array of items, behind a head in some cases */
static void
declare_block(struct legal_shader *shader, struct legal_variable *variable, uint32_t size,
              bool storage, bool writable)
{
   uint32_t members[2], item_size, count = 0;
   static const uint32_t offsets[2] = {0, 16};

   variable->item = declare_item(shader, variable->shape, &item_size);
   variable->has_head = !writable && size >= 128 && chance(shader, 30);
   variable->item_count = (size - (variable->has_head ? 64 : 0)) / item_size;
   const bool head = variable->has_head;
   const uint32_t array = spv_array(spv(shader), variable->item,
                                    variable->runtime_array ? 0 : variable->item_count, item_size);
   if (head)
      members[count++] = spv_uint(spv(shader), 4);
   members[count++] = array;
   variable->type = spv_struct(spv(shader), count, members, offsets);
   if (variable->shape == LEGAL_MATRICES) {
      spv_decorate_member(spv(shader), variable->type, count - 1,
                          variable->row_major ? SpvDecorationRowMajor : SpvDecorationColMajor);
      spv_decorate_member(spv(shader), variable->type, count - 1, SpvDecorationMatrixStride, 16);
   }
   const bool old = storage && shader->program->old_style;
   if (storage && !writable && chance(shader, 50)) {
      for (unsigned i = 0; i < count; i++)
         spv_decorate_member(spv(shader), variable->type, i, SpvDecorationNonWritable);
   }
   spv_decorate(spv(shader), variable->type, old ? SpvDecorationBufferBlock : SpvDecorationBlock);
}

static enum legal_shape
choose_shape(struct legal_shader *shader, uint32_t size, bool storage, bool writable)
{
   enum legal_shape shape = below(shader, writable ? LEGAL_FLOATS : LEGAL_SHAPES);

   if (shader->program->old_style && shape >= LEGAL_HALVES)
      shape = LEGAL_VECTORS;
   if (size < 64 && shape > LEGAL_FLOATS)
      shape = LEGAL_VECTORS;
   /* Arrays in uniform blocks have strides of 16 bytes. */
   if (!storage && (shape == LEGAL_WORDS || shape >= LEGAL_HALVES))
      shape = LEGAL_VECTORS;
   return shape;
}

static void
declare_buffer(struct legal_shader *shader, struct legal_variable *variable)
{
   const struct legal_binding *binding = variable->binding;
   const bool storage = binding->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER ||
                        binding->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;

   variable->shape = choose_shape(shader, binding->size, storage, binding->writable);
   variable->runtime_array = storage && chance(shader, 50);
   variable->row_major = chance(shader, 50);
   variable->storage = storage && !shader->program->old_style ? SpvStorageClassStorageBuffer
                                                              : SpvStorageClassUniform;
   declare_block(shader, variable, binding->size, storage, binding->writable);
}

static void
declare_image(struct legal_shader *shader, struct legal_variable *variable)
{
   const struct legal_binding *binding = variable->binding;
   const bool storage = binding->type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
   const bool texels = binding->type == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER ||
                       binding->type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
   const bool storage_texels = binding->type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
   const bool input = binding->type == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT;

   variable->storage = SpvStorageClassUniformConstant;
   variable->dim = binding->dim;
   variable->has_format = shader->program->old_style || chance(shader, 50);
   if (texels) {
      spv_capability(spv(shader),
                     storage_texels ? SpvCapabilityImageBuffer : SpvCapabilitySampledBuffer);
      variable->image_type =
         spv_type(spv(shader), SpvOpTypeImage, legal_number_type(shader, binding->numbers, 1),
                  SpvDimBuffer, 0, 0, 0, storage_texels ? 2 : 1,
                  storage_texels && variable->has_format ? image_format(binding->numbers)
                                                         : SpvImageFormatUnknown);
   } else if (input) {
      spv_capability(spv(shader), SpvCapabilityInputAttachment);
      variable->image_type =
         spv_type(spv(shader), SpvOpTypeImage, legal_number_type(shader, binding->numbers, 1),
                  SpvDimSubpassData, 0, 0, 0, 2, SpvImageFormatUnknown);
   } else {
      variable->image_type = declare_image_type(shader, binding->dim, binding->numbers, storage,
                                                storage && variable->has_format);
   }
   variable->type = variable->image_type;
   if ((storage || storage_texels) && !variable->has_format) {
      spv_capability(spv(shader), SpvCapabilityStorageImageReadWithoutFormat);
      spv_capability(spv(shader), SpvCapabilityStorageImageWriteWithoutFormat);
   }
   if (binding->type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER && variable->role == LEGAL_AS_IS)
      variable->type = spv_type(spv(shader), SpvOpTypeSampledImage, variable->image_type);
}

static void
declare_type(struct legal_shader *shader, struct legal_variable *variable)
{
   const VkDescriptorType type =
      legal_is_sampler(variable) ? VK_DESCRIPTOR_TYPE_SAMPLER : variable->binding->type;

   switch (type) {
   case VK_DESCRIPTOR_TYPE_SAMPLER:
      variable->storage = SpvStorageClassUniformConstant;
      variable->type = spv_type_words(spv(shader), SpvOpTypeSampler, 0, NULL);
      break;
   case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
      variable->storage = SpvStorageClassUniformConstant;
      variable->type = legal_structure_type(shader);
      break;
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
   case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
   case VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
      declare_buffer(shader, variable);
      break;
   default:
      declare_image(shader, variable);
   }
}

/* The variable is an array if the binding has several elements, and now and then if it has
 * one, or the variable stands for the first element only.
 */
static uint32_t
declare_array(struct legal_shader *shader, struct legal_variable *variable)
{
   const struct legal_binding *binding = variable->binding;
   const uint32_t elements = binding->allocated;

   if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK ||
       (!binding->first && chance(shader, elements == 1 ? 80 : 10)))
      return variable->type;
   variable->is_array = true;
   variable->length = elements;
   if (!shader->program->old_style && chance(shader, 30)) {
      spv_capability(spv(shader), SpvCapabilityRuntimeDescriptorArray);
      if (shader->program->version < 0x10500)
         spv_extension(spv(shader), "SPV_EXT_descriptor_indexing");
      return spv_array(spv(shader), variable->type, 0, 0);
   }
   return spv_array(spv(shader), variable->type, elements, 0);
}

static void
declare_variable(struct legal_shader *shader, unsigned set, const struct legal_binding *binding,
                 enum legal_role role, bool aliased)
{
   static const char *const names[] = {"particles", "t", "params", "g_buffer"};
   struct legal_variable *variable = &shader->variables[shader->variable_count++];

   *variable = (struct legal_variable){.binding = binding, .role = role};
   declare_type(shader, variable);
   const uint32_t type = declare_array(shader, variable);
   variable->whole_type = type;
   variable->id = legal_global(shader, variable->storage, type);
   spv_decorate(spv(shader), variable->id, SpvDecorationDescriptorSet, set);
   spv_decorate(spv(shader), variable->id, SpvDecorationBinding, binding->number);
   if (aliased || binding->is_mutable)
      spv_decorate(spv(shader), variable->id, SpvDecorationAliased);
   if (binding->type == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT)
      spv_decorate(spv(shader), variable->id, SpvDecorationInputAttachmentIndex, binding->input);
   if (shader->program->names)
      spv_name(spv(shader), variable->id, names[below(shader, VKH_COUNT(names))]);
   if (shader->program->version >= 0x10400)
      legal_add_interface(shader, variable->id);
}

/* Blocks behind addresses in push constants */
static uint32_t
declare_behind_address(struct legal_shader *shader, bool writable)
{
   struct legal_variable block = {
      .shape = writable ? LEGAL_VECTORS : LEGAL_WORDS,
      .runtime_array = chance(shader, 50),
   };
   uint32_t item_size;

   block.item = declare_item(shader, block.shape, &item_size);
   block.item_count = writable ? LEGAL_SLOTS + 1 : 256;
   const uint32_t array =
      spv_array(spv(shader), block.item, block.runtime_array ? 0 : block.item_count, item_size);
   const uint32_t offset = 0;
   block.type = spv_struct(spv(shader), 1, &array, &offset);
   spv_decorate(spv(shader), block.type, SpvDecorationBlock);
   return block.type;
}

static void
declare_push(struct legal_shader *shader)
{
   const struct legal_push *push = &shader->program->push;
   uint32_t members[4], offsets[4], count = 0;
   const uint32_t words = push->word_count;

   shader->push = 0;
   if (!(push->stages & shader->stage) ||
       !(push->has_source || push->has_output || push->has_scene || words))
      return;
   if (push->has_source) {
      shader->source_block = declare_behind_address(shader, false);
      offsets[count] = push->source_at;
      shader->push_source = count;
      members[count++] =
         spv_pointer(spv(shader), SpvStorageClassPhysicalStorageBuffer, shader->source_block);
   }
   if (push->has_output) {
      shader->output_block = declare_behind_address(shader, true);
      offsets[count] = push->output_at;
      shader->push_output = count;
      members[count++] =
         spv_pointer(spv(shader), SpvStorageClassPhysicalStorageBuffer, shader->output_block);
   }
   if (push->has_scene) {
      offsets[count] = push->scene_at;
      shader->push_scene = count;
      members[count++] = spv_uint(spv(shader), 2);
   }
   if (words) {
      offsets[count] = push->words_at;
      shader->push_words = count;
      members[count++] = spv_array(spv(shader), spv_uint(spv(shader), 1), words, 4);
   }
   const uint32_t block = spv_struct(spv(shader), count, members, offsets);
   spv_decorate(spv(shader), block, SpvDecorationBlock);
   shader->push = legal_global(shader, SpvStorageClassPushConstant, block);
   if (shader->program->version >= 0x10400)
      legal_add_interface(shader, shader->push);
}

void
legal_declare_resources(struct legal_shader *shader)
{
   const struct legal_program *program = shader->program;

   shader->variable_count = 0;
   for (unsigned i = 0; i < program->set_count; i++) {
      for (unsigned j = 0; j < program->sets[i].binding_count; j++) {
         const struct legal_binding *binding = &program->sets[i].bindings[j];
         if (!(binding->users & shader->stage))
            continue;
         if (shader->variable_count + 3 > LEGAL_MAX_VARIABLES)
            return;
         const bool split =
            binding->type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER && chance(shader, 35);
         const bool twice = !split && chance(shader, 15);
         declare_variable(shader, i, binding, split ? LEGAL_AS_IMAGE : LEGAL_AS_IS, twice);
         if (twice)
            declare_variable(shader, i, binding, LEGAL_AS_IS, true);
         if (split)
            declare_variable(shader, i, binding, LEGAL_AS_SAMPLER, false);
      }
   }
   declare_push(shader);
}
