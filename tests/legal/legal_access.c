/* SPDX-License-Identifier: MIT */

/*
 * SPIR-V that accesses resources, in the ways in which compilers write it.
 */

#include "legal_shader.h"

#include <string.h>

#define spv(shader) (&(shader)->spv)

static uint32_t
constant(struct legal_shader *shader, uint32_t value)
{
   return spv_constant(&shader->spv, value);
}

static uint32_t
below(struct legal_shader *shader, uint32_t count)
{
   return legal_below(&shader->random, count);
}

static bool
chance(struct legal_shader *shader, unsigned percent)
{
   return legal_chance(&shader->random, percent);
}

/* --- Images --------------------------------------------------------------- */

static uint32_t
number_type(struct legal_shader *shader, enum legal_number numbers, unsigned components)
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

/* The coordinates of a texel that an image of `dim` has, by a number; signed or unsigned */
static uint32_t
texel_coordinates(struct legal_shader *shader, enum legal_dim dim, uint32_t number)
{
   VkExtent3D extent;
   uint32_t layers, parts[3], count = 1;

   legal_image_extent(dim, &extent, &layers);
   const bool array = dim == LEGAL_1D_ARRAY || dim == LEGAL_2D_ARRAY;
   parts[0] = legal_uint(shader, SpvOpUMod, number, constant(shader, extent.width));
   if (extent.height > 1 || extent.depth > 1 || array)
      number = legal_uint(shader, SpvOpUDiv, number, constant(shader, extent.width));
   if (dim != LEGAL_1D && dim != LEGAL_1D_ARRAY) {
      parts[count++] = legal_uint(shader, SpvOpUMod, number, constant(shader, extent.height));
      number = legal_uint(shader, SpvOpUDiv, number, constant(shader, extent.height));
   }
   if (dim == LEGAL_3D)
      parts[count++] = legal_uint(shader, SpvOpUMod, number, constant(shader, extent.depth));
   if (array)
      parts[count++] = legal_uint(shader, SpvOpUMod, number, constant(shader, layers));
   uint32_t coordinates = parts[0];
   if (count == 2)
      coordinates =
         legal_value(shader, SpvOpCompositeConstruct, spv_uint(spv(shader), 2), parts[0], parts[1]);
   else if (count == 3)
      coordinates = legal_value(shader, SpvOpCompositeConstruct, spv_uint(spv(shader), 3), parts[0],
                                parts[1], parts[2]);
   if (chance(shader, 50))
      coordinates = legal_value(shader, SpvOpBitcast, spv_int(spv(shader), count), coordinates);
   return coordinates;
}

static unsigned
coordinate_count(enum legal_dim dim)
{
   switch (dim) {
   case LEGAL_1D:
      return 1;
   case LEGAL_2D:
   case LEGAL_2D_MS:
   case LEGAL_1D_ARRAY:
      return 2;
   default:
      return 3;
   }
}

/* Coordinates for sampling: centers of texels, or a direction, which does not matter where
 * filters are NEAREST. The layer of an array is a whole number.
 */
static uint32_t
sample_coordinates(struct legal_shader *shader, enum legal_dim dim)
{
   const unsigned count = coordinate_count(dim);
   const uint32_t type = spv_float(spv(shader), 1);
   VkExtent3D extent;
   uint32_t layers, parts[3];

   legal_image_extent(dim, &extent, &layers);
   for (unsigned i = 0; i < count; i++) {
      const bool layer = (dim == LEGAL_1D_ARRAY && i == 1) || (dim == LEGAL_2D_ARRAY && i == 2);
      const uint32_t size = layer    ? layers
                            : i == 0 ? extent.width
                            : i == 1 ? extent.height
                                     : extent.depth;
      uint32_t number =
         legal_uint(shader, SpvOpUMod, shader->function->slot, constant(shader, size));
      parts[i] = legal_value(shader, SpvOpConvertUToF, type, number);
      if (!layer) {
         parts[i] =
            legal_value(shader, SpvOpFAdd, type, parts[i], spv_constant_float(spv(shader), 0.5f));
         parts[i] = legal_value(shader, SpvOpFMul, type, parts[i],
                                spv_constant_float(spv(shader), 1.0f / (float)size));
      }
   }
   if (dim == LEGAL_CUBE) /* not the corner of a cube */
      parts[0] = spv_constant_float(spv(shader), chance(shader, 50) ? 2.0f : -2.0f);
   if (count == 1)
      return parts[0];
   if (count == 2)
      return legal_value(shader, SpvOpCompositeConstruct, spv_float(spv(shader), 2), parts[0],
                         parts[1]);
   return legal_value(shader, SpvOpCompositeConstruct, spv_float(spv(shader), 3), parts[0],
                      parts[1], parts[2]);
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
   return spv_type(spv(shader), SpvOpTypeImage, number_type(shader, numbers, 1), dims[dim], 0,
                   dim == LEGAL_1D_ARRAY || dim == LEGAL_2D_ARRAY, dim == LEGAL_2D_MS,
                   storage ? 2 : 1, format ? image_format(numbers) : SpvImageFormatUnknown);
}

/* --- Declarations --------------------------------------------------------- */

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

   variable->storage = SpvStorageClassUniformConstant;
   variable->dim = binding->dim;
   variable->has_format = shader->program->old_style || chance(shader, 50);
   if (texels) {
      spv_capability(spv(shader),
                     storage_texels ? SpvCapabilityImageBuffer : SpvCapabilitySampledBuffer);
      variable->image_type =
         spv_type(spv(shader), SpvOpTypeImage, number_type(shader, binding->numbers, 1),
                  SpvDimBuffer, 0, 0, 0, storage_texels ? 2 : 1,
                  storage_texels && variable->has_format ? image_format(binding->numbers)
                                                         : SpvImageFormatUnknown);
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

static bool
is_sampler(const struct legal_variable *variable)
{
   return variable->binding->type == VK_DESCRIPTOR_TYPE_SAMPLER ||
          variable->role == LEGAL_AS_SAMPLER;
}

static void
declare_type(struct legal_shader *shader, struct legal_variable *variable)
{
   const VkDescriptorType type =
      is_sampler(variable) ? VK_DESCRIPTOR_TYPE_SAMPLER : variable->binding->type;

   switch (type) {
   case VK_DESCRIPTOR_TYPE_SAMPLER:
      variable->storage = SpvStorageClassUniformConstant;
      variable->type = spv_type_words(spv(shader), SpvOpTypeSampler, 0, NULL);
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
       chance(shader, elements == 1 ? 80 : 10))
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
   if (aliased)
      spv_decorate(spv(shader), variable->id, SpvDecorationAliased);
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
   uint32_t members[3], offsets[3], count = 0;
   const uint32_t words = push->word_count;

   shader->push = 0;
   if (!(push->stages & shader->stage) || !(push->has_source || push->has_output || words))
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

/* --- Elements of arrays of descriptors ------------------------------------ */

/* What says that an index is not the same everywhere, or no constant */
static void
add_index_capabilities(struct legal_shader *shader, VkDescriptorType type, bool differs)
{
   static const struct {
      SpvCapability dynamic, differs;
   } capabilities[] = {
      [VK_DESCRIPTOR_TYPE_SAMPLER] = {SpvCapabilitySampledImageArrayDynamicIndexing,
                                      SpvCapabilitySampledImageArrayNonUniformIndexing},
      [VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER] =
         {SpvCapabilitySampledImageArrayDynamicIndexing,
          SpvCapabilitySampledImageArrayNonUniformIndexing},
      [VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE] = {SpvCapabilitySampledImageArrayDynamicIndexing,
                                            SpvCapabilitySampledImageArrayNonUniformIndexing},
      [VK_DESCRIPTOR_TYPE_STORAGE_IMAGE] = {SpvCapabilityStorageImageArrayDynamicIndexing,
                                            SpvCapabilityStorageImageArrayNonUniformIndexing},
      [VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER] =
         {SpvCapabilityUniformTexelBufferArrayDynamicIndexing,
          SpvCapabilityUniformTexelBufferArrayNonUniformIndexing},
      [VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER] =
         {SpvCapabilityStorageTexelBufferArrayDynamicIndexing,
          SpvCapabilityStorageTexelBufferArrayNonUniformIndexing},
      [VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER] = {SpvCapabilityUniformBufferArrayDynamicIndexing,
                                             SpvCapabilityUniformBufferArrayNonUniformIndexing},
      [VK_DESCRIPTOR_TYPE_STORAGE_BUFFER] = {SpvCapabilityStorageBufferArrayDynamicIndexing,
                                             SpvCapabilityStorageBufferArrayNonUniformIndexing},
      [VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC] =
         {SpvCapabilityUniformBufferArrayDynamicIndexing,
          SpvCapabilityUniformBufferArrayNonUniformIndexing},
      [VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC] =
         {SpvCapabilityStorageBufferArrayDynamicIndexing,
          SpvCapabilityStorageBufferArrayNonUniformIndexing},
   };
   const bool texels = type == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER ||
                       type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;

   if ((differs || texels) && shader->program->version < 0x10500)
      spv_extension(spv(shader), "SPV_EXT_descriptor_indexing");
   spv_capability(spv(shader), capabilities[type].dynamic);
   if (differs) {
      spv_capability(spv(shader), SpvCapabilityShaderNonUniform);
      spv_capability(spv(shader), capabilities[type].differs);
   }
}

/* Whether elements may be used that nobody has written: in code that nobody executes. lavapipe
 * executes it with no lanes, and does not expect that of images.
 */
static bool
may_be_unwritten(const struct legal_shader *shader, const struct legal_variable *variable)
{
   const struct legal_binding *binding = variable->binding;
   return shader->never && binding->flags & VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT &&
          (shader->program->unwritten || binding->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
}

static bool
is_usable(const struct legal_shader *shader, const struct legal_variable *variable)
{
   return variable->binding->valid || may_be_unwritten(shader, variable);
}

static uint32_t
element_index(struct legal_shader *shader, const struct legal_variable *variable, bool *differs)
{
   const struct legal_binding *binding = variable->binding;
   const bool any = may_be_unwritten(shader, variable);
   const uint32_t count = any ? variable->length : binding->valid;
   const bool texels = binding->type == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER ||
                       binding->type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
   const bool old = shader->program->old_style;

   if (old && texels) {
      *differs = false;
      return constant(shader, below(shader, count));
   }
   const uint32_t index = legal_index(shader, count, !old, differs);
   add_index_capabilities(shader, binding->type, *differs);
   return index;
}

static void
mark(struct legal_shader *shader, uint32_t id, bool differs)
{
   if (differs)
      spv_decorate(spv(shader), id, SpvDecorationNonUniform);
}

/* Copies of pointers, as compilers leave them that inline functions */
static uint32_t
copy_pointer(struct legal_shader *shader, uint32_t type, uint32_t pointer, bool differs)
{
   if (!chance(shader, 15))
      return pointer;
   const uint32_t copy = legal_value(shader, SpvOpCopyObject, type, pointer);
   mark(shader, copy, differs);
   return copy;
}

/* A pointer to an element of the variable */
static uint32_t
element_pointer(struct legal_shader *shader, const struct legal_variable *variable, bool *differs)
{
   const uint32_t type = spv_pointer(spv(shader), variable->storage, variable->type);

   *differs = false;
   if (!variable->is_array)
      return copy_pointer(shader, type, variable->id, false);
   const uint32_t index = element_index(shader, variable, differs);
   if (*differs && chance(shader, 50))
      mark(shader, index, true);
   const SpvOp op = chance(shader, 30) ? SpvOpInBoundsAccessChain : SpvOpAccessChain;
   const uint32_t pointer = legal_value(shader, op, type, variable->id, index);
   mark(shader, pointer, *differs);
   return copy_pointer(shader, type, pointer, *differs);
}

/* --- Blocks --------------------------------------------------------------- */

static uint32_t
extract(struct legal_shader *shader, uint32_t type, uint32_t composite, unsigned index)
{
   return legal_value(shader, SpvOpCompositeExtract, type, composite, index);
}

static uint32_t
to_uint(struct legal_shader *shader, uint32_t value)
{
   return legal_value(shader, SpvOpBitcast, spv_uint(spv(shader), 1), value);
}

/* Pointer to an item of a block: block, member, index */
static uint32_t
item_pointer(struct legal_shader *shader, const struct legal_variable *variable, uint32_t block,
             uint32_t index, bool differs)
{
   const uint32_t type = spv_pointer(spv(shader), variable->storage, variable->item);
   const uint32_t member = constant(shader, variable->has_head ? 1 : 0);
   const uint32_t pointer = legal_value(shader, SpvOpAccessChain, type, block, member, index);
   mark(shader, pointer, differs);
   return copy_pointer(shader, type, pointer, differs);
}

/* Pointer to a scalar or vector inside of an item */
static uint32_t
part_pointer(struct legal_shader *shader, SpvStorageClass storage, uint32_t type, uint32_t item,
             uint32_t index, bool differs)
{
   const uint32_t pointer =
      legal_value(shader, SpvOpAccessChain, spv_pointer(spv(shader), storage, type), item, index);
   mark(shader, pointer, differs);
   return pointer;
}

static uint32_t
load(struct legal_shader *shader, uint32_t type, uint32_t pointer, bool differs)
{
   uint32_t value;
   if (chance(shader, 10) && !shader->program->vulkan_memory_model)
      value = legal_value(shader, SpvOpLoad, type, pointer, SpvMemoryAccessVolatileMask);
   else
      value = legal_value(shader, SpvOpLoad, type, pointer);
   mark(shader, value, differs && chance(shader, 50));
   return value;
}

static uint32_t
read_vector(struct legal_shader *shader, SpvStorageClass storage, uint32_t scalar, uint32_t vector,
            uint32_t pointer, bool differs)
{
   const uint32_t component = below(shader, 4);
   switch (below(shader, 3)) {
   case 0:
      return load(
         shader, scalar,
         part_pointer(shader, storage, scalar, pointer, constant(shader, component), differs),
         differs);
   case 1: {
      const uint32_t index =
         legal_uint(shader, SpvOpBitwiseAnd, shader->function->slot, constant(shader, 3));
      const uint32_t value = load(shader, vector, pointer, differs);
      return legal_value(shader, SpvOpVectorExtractDynamic, scalar, value, index);
   }
   default:
      return extract(shader, scalar, load(shader, vector, pointer, differs), component);
   }
}

static uint32_t
read_record(struct legal_shader *shader, const struct legal_variable *variable, uint32_t pointer,
            bool differs)
{
   const uint32_t type = spv_uint(spv(shader), 1);
   const uint32_t real = spv_float(spv(shader), 1);
   const uint32_t vector = spv_uint(spv(shader), 3);

   switch (below(shader, 4)) {
   case 0:
      return load(
         shader, type,
         part_pointer(shader, variable->storage, type, pointer, constant(shader, 4), differs),
         differs);
   case 1:
      return to_uint(shader, load(shader, real,
                                  part_pointer(shader, variable->storage, real, pointer,
                                               constant(shader, 1), differs),
                                  differs));
   case 2:
      return extract(shader, type,
                     load(shader, vector,
                          part_pointer(shader, variable->storage, vector, pointer,
                                       constant(shader, 3), differs),
                          differs),
                     2);
   default:
      return extract(shader, type, load(shader, variable->item, pointer, differs), 0);
   }
}

static uint32_t
read_matrix(struct legal_shader *shader, const struct legal_variable *variable, uint32_t pointer,
            bool differs)
{
   const uint32_t real = spv_float(spv(shader), 1), column = spv_float(spv(shader), 4);
   if (chance(shader, 50)) {
      const uint32_t matrix = load(shader, variable->item, pointer, differs);
      return to_uint(shader,
                     extract(shader, real, extract(shader, column, matrix, below(shader, 4)), 1));
   }
   const uint32_t index =
      legal_uint(shader, SpvOpBitwiseAnd, shader->function->slot, constant(shader, 3));
   return to_uint(
      shader, extract(shader, real,
                      load(shader, column,
                           part_pointer(shader, variable->storage, column, pointer, index, differs),
                           differs),
                      below(shader, 4)));
}

static uint32_t
read_item(struct legal_shader *shader, const struct legal_variable *variable, uint32_t pointer,
          bool differs)
{
   switch (variable->shape) {
   case LEGAL_WORDS:
      return load(shader, variable->item, pointer, differs);
   case LEGAL_VECTORS:
      return read_vector(shader, variable->storage, spv_uint(spv(shader), 1), variable->item,
                         pointer, differs);
   case LEGAL_FLOATS:
      return to_uint(shader, read_vector(shader, variable->storage, spv_float(spv(shader), 1),
                                         variable->item, pointer, differs));
   case LEGAL_RECORDS:
      return read_record(shader, variable, pointer, differs);
   case LEGAL_MATRICES:
      return read_matrix(shader, variable, pointer, differs);
   default:
      return legal_value(shader, SpvOpUConvert, spv_uint(spv(shader), 1),
                         load(shader, variable->item, pointer, differs));
   }
}

/* Reads one of two items, by a pointer that stands for either. */
static uint32_t
read_selected(struct legal_shader *shader, const struct legal_variable *variable, uint32_t block,
              bool differs)
{
   const uint32_t type = spv_pointer(spv(shader), variable->storage, variable->item);
   uint32_t pointers[2];
   bool ignored;

   spv_capability(spv(shader), SpvCapabilityVariablePointersStorageBuffer);
   for (unsigned i = 0; i < 2; i++)
      pointers[i] =
         item_pointer(shader, variable, block,
                      legal_index(shader, variable->item_count, true, &ignored), differs);
   const uint32_t condition =
      legal_value(shader, SpvOpULessThan, spv_bool(spv(shader)), shader->function->slot,
                  constant(shader, below(shader, 20)));
   const uint32_t pointer =
      legal_value(shader, SpvOpSelect, type, condition, pointers[0], pointers[1]);
   mark(shader, pointer, differs);
   return read_item(shader, variable, pointer, differs);
}

/* Reads an item that nobody writes. */
static uint32_t
read_block(struct legal_shader *shader, const struct legal_variable *variable, uint32_t block,
           bool differs)
{
   bool ignored;

   if (variable->runtime_array && chance(shader, 15))
      return legal_value(shader, SpvOpArrayLength, spv_uint(spv(shader), 1), block,
                         variable->has_head ? 1 : 0);
   if (variable->has_head && chance(shader, 30))
      return read_vector(shader, variable->storage, spv_uint(spv(shader), 1),
                         spv_uint(spv(shader), 4),
                         part_pointer(shader, variable->storage, spv_uint(spv(shader), 4), block,
                                      constant(shader, 0), differs),
                         differs);
   if (variable->storage == SpvStorageClassStorageBuffer && chance(shader, 15))
      return read_selected(shader, variable, block, differs);
   const uint32_t index = legal_index(shader, variable->item_count, true, &ignored);
   return read_item(shader, variable, item_pointer(shader, variable, block, index, differs),
                    differs);
}

/* A pointer to a word that is the invocation's own, or, with @common, to one that all of them
 * share.
 */
static uint32_t
word_pointer(struct legal_shader *shader, const struct legal_variable *variable, uint32_t block,
             bool common, bool differs)
{
   const uint32_t slot = common ? constant(shader, LEGAL_SLOTS) : shader->function->slot;
   const uint32_t word = constant(shader, below(shader, 4));

   if (variable->shape == LEGAL_WORDS) {
      uint32_t index = legal_uint(shader, SpvOpIMul, slot, constant(shader, 4));
      index = legal_uint(shader, SpvOpIAdd, index, word);
      return item_pointer(shader, variable, block, index, differs);
   }
   return part_pointer(shader, variable->storage, spv_uint(spv(shader), 1),
                       item_pointer(shader, variable, block, slot, differs), word, differs);
}

/* Mesa forgets what NonUniform says of atomics in buffers (vtn_handle_atomics()): only on CPUs
 * nothing comes of it.
 */
static bool
has_atomics(const struct legal_shader *shader, bool differs)
{
   return !differs || shader->program->differing_atomics;
}

static uint32_t
atomic_scope(struct legal_shader *shader)
{
   return constant(shader,
                   shader->program->vulkan_memory_model ? SpvScopeQueueFamily : SpvScopeDevice);
}

static uint32_t
atomic(struct legal_shader *shader, SpvOp op, uint32_t pointer, uint32_t value)
{
   return legal_value(shader, op, spv_uint(spv(shader), 1), pointer, atomic_scope(shader),
                      constant(shader, SpvMemorySemanticsMaskNone), value);
}

static void
write_block(struct legal_shader *shader, const struct legal_variable *variable, uint32_t block,
            uint32_t value, bool differs)
{
   switch (has_atomics(shader, differs) ? below(shader, 4) : 3) {
   case 0:
      /* Sums do not depend on who comes first. */
      atomic(shader, SpvOpAtomicIAdd, word_pointer(shader, variable, block, true, differs), value);
      break;
   case 1:
      atomic(shader, SpvOpAtomicXor, word_pointer(shader, variable, block, false, differs), value);
      break;
   default:
      legal_op(shader, SpvOpStore, word_pointer(shader, variable, block, false, differs), value);
   }
}

static uint32_t
read_own_word(struct legal_shader *shader, const struct legal_variable *variable, uint32_t block,
              bool differs)
{
   const uint32_t pointer = word_pointer(shader, variable, block, false, differs);
   if (has_atomics(shader, differs) && chance(shader, 25))
      return atomic(shader, SpvOpAtomicIAdd, pointer, constant(shader, 3));
   return load(shader, spv_uint(spv(shader), 1), pointer, differs);
}

/* --- Images, texel buffers, samplers -------------------------------------- */

/* One component of a texel, as uint */
static uint32_t
texel_word(struct legal_shader *shader, enum legal_number numbers, uint32_t texel)
{
   const uint32_t scalar = number_type(shader, numbers, 1);
   const uint32_t value = extract(shader, scalar, texel, below(shader, 4));
   return numbers == LEGAL_UINT ? value : to_uint(shader, value);
}

static uint32_t
fetch(struct legal_shader *shader, const struct legal_variable *variable, uint32_t image,
      bool differs)
{
   const struct legal_binding *binding = variable->binding;
   const uint32_t vector = number_type(shader, binding->numbers, 4);
   const uint32_t at = texel_coordinates(shader, variable->dim, shader->function->slot);
   uint32_t texel;

   if (variable->dim == LEGAL_2D_MS)
      texel = legal_value(shader, SpvOpImageFetch, vector, image, at, SpvImageOperandsSampleMask,
                          constant(shader, below(shader, 4)));
   else if (chance(shader, 50))
      texel = legal_value(shader, SpvOpImageFetch, vector, image, at, SpvImageOperandsLodMask,
                          constant(shader, 0));
   else
      texel = legal_value(shader, SpvOpImageFetch, vector, image, at);
   mark(shader, texel, differs && chance(shader, 30));
   return texel_word(shader, binding->numbers, texel);
}

static uint32_t
query(struct legal_shader *shader, const struct legal_variable *variable, uint32_t image,
      bool storage)
{
   const unsigned count = coordinate_count(variable->dim) - (variable->dim == LEGAL_CUBE);
   const uint32_t type = spv_uint(spv(shader), count);
   uint32_t size;

   spv_capability(spv(shader), SpvCapabilityImageQuery);
   if (variable->dim == LEGAL_2D_MS && chance(shader, 50))
      return legal_value(shader, SpvOpImageQuerySamples, spv_uint(spv(shader), 1), image);
   if (!storage && variable->dim != LEGAL_2D_MS && chance(shader, 40))
      return legal_value(shader, SpvOpImageQueryLevels, spv_uint(spv(shader), 1), image);
   if (storage || variable->dim == LEGAL_2D_MS)
      size = legal_value(shader, SpvOpImageQuerySize, type, image);
   else
      size = legal_value(shader, SpvOpImageQuerySizeLod, type, image, constant(shader, 0));
   return count == 1 ? size : extract(shader, spv_uint(spv(shader), 1), size, count - 1);
}

/* Samples with level 0, or with derivatives where they are defined. */
static uint32_t
sample(struct legal_shader *shader, enum legal_dim dim, enum legal_number numbers, uint32_t sampled)
{
   const uint32_t vector = number_type(shader, numbers, 4);
   const uint32_t at = sample_coordinates(shader, dim);

   if (shader->implicit && chance(shader, 50))
      return texel_word(shader, numbers,
                        legal_value(shader, SpvOpImageSampleImplicitLod, vector, sampled, at));
   if ((dim == LEGAL_2D || dim == LEGAL_2D_ARRAY || dim == LEGAL_CUBE) && chance(shader, 20))
      return texel_word(
         shader, numbers,
         legal_value(shader, SpvOpImageGather, vector, sampled, at, constant(shader, 0)));
   return texel_word(shader, numbers,
                     legal_value(shader, SpvOpImageSampleExplicitLod, vector, sampled, at,
                                 SpvImageOperandsLodMask, spv_constant_float(spv(shader), 0.0f)));
}

/* A variable of a sampler that may be used, or NULL */
static const struct legal_variable *
find_sampler(struct legal_shader *shader)
{
   for (unsigned i = 0; i < shader->variable_count; i++) {
      const struct legal_variable *variable = &shader->variables[i];
      if (is_sampler(variable) && variable->binding->valid)
         return variable;
   }
   return NULL;
}

static uint32_t
read_sampled_image(struct legal_shader *shader, const struct legal_variable *variable,
                   uint32_t pointer, bool differs)
{
   const enum legal_dim dim = variable->dim;
   const struct legal_variable *sampler = dim == LEGAL_2D_MS ? NULL : find_sampler(shader);
   const uint32_t image = legal_value(shader, SpvOpLoad, variable->type, pointer);
   const uint32_t type = spv_type(spv(shader), SpvOpTypeSampledImage, variable->image_type);

   mark(shader, image, differs);
   if (chance(shader, 15))
      return query(shader, variable, image, false);
   if (sampler && (dim == LEGAL_CUBE || chance(shader, 60))) {
      bool sampler_differs;
      const uint32_t at = element_pointer(shader, sampler, &sampler_differs);
      const uint32_t loaded = legal_value(shader, SpvOpLoad, sampler->type, at);
      mark(shader, loaded, sampler_differs);
      const uint32_t both = legal_value(shader, SpvOpSampledImage, type, image, loaded);
      mark(shader, both, differs || sampler_differs);
      return sample(shader, dim, variable->binding->numbers, both);
   }
   if (dim == LEGAL_CUBE)
      return query(shader, variable, image, false);
   return fetch(shader, variable, image, differs);
}

static uint32_t
read_combined(struct legal_shader *shader, const struct legal_variable *variable, uint32_t pointer,
              bool differs)
{
   const uint32_t sampled = legal_value(shader, SpvOpLoad, variable->type, pointer);

   mark(shader, sampled, differs);
   if (variable->dim != LEGAL_2D_MS && (variable->dim == LEGAL_CUBE || chance(shader, 60)))
      return sample(shader, variable->dim, variable->binding->numbers, sampled);
   const uint32_t image = legal_value(shader, SpvOpImage, variable->image_type, sampled);
   mark(shader, image, differs);
   if (chance(shader, 20))
      return query(shader, variable, image, false);
   return fetch(shader, variable, image, differs);
}

static uint32_t
read_texel_buffer(struct legal_shader *shader, const struct legal_variable *variable,
                  uint32_t pointer, bool differs)
{
   const bool storage = variable->binding->type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
   const uint32_t image = legal_value(shader, SpvOpLoad, variable->type, pointer);
   const uint32_t vector = number_type(shader, variable->binding->numbers, 4);

   mark(shader, image, differs);
   if (chance(shader, 15)) {
      spv_capability(spv(shader), SpvCapabilityImageQuery);
      return legal_value(shader, SpvOpImageQuerySize, spv_uint(spv(shader), 1), image);
   }
   return texel_word(shader, variable->binding->numbers,
                     legal_value(shader, storage ? SpvOpImageRead : SpvOpImageFetch, vector, image,
                                 shader->function->slot));
}

static uint32_t
read_storage_image(struct legal_shader *shader, const struct legal_variable *variable,
                   uint32_t pointer, bool differs)
{
   const uint32_t image = legal_value(shader, SpvOpLoad, variable->type, pointer);
   const uint32_t vector = number_type(shader, variable->binding->numbers, 4);

   mark(shader, image, differs);
   if (chance(shader, 15))
      return query(shader, variable, image, true);
   return texel_word(shader, variable->binding->numbers,
                     legal_value(shader, SpvOpImageRead, vector, image,
                                 texel_coordinates(shader, variable->dim, shader->function->slot)));
}

/* Writes the texel of the invocation, which has one word. */
static void
write_texel(struct legal_shader *shader, const struct legal_variable *variable, uint32_t pointer,
            uint32_t value, bool differs)
{
   const struct legal_binding *binding = variable->binding;
   const bool buffer = binding->type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
   const uint32_t at = buffer ? shader->function->slot
                              : texel_coordinates(shader, variable->dim, shader->function->slot);
   const uint32_t scalar = number_type(shader, binding->numbers, 1);

   if (binding->numbers == LEGAL_UINT && variable->has_format && chance(shader, 30)) {
      const uint32_t texel_type = spv_pointer(spv(shader), SpvStorageClassImage, scalar);
      const uint32_t texel =
         legal_value(shader, SpvOpImageTexelPointer, texel_type, pointer, at, constant(shader, 0));
      mark(shader, texel, differs);
      atomic(shader, SpvOpAtomicIAdd, texel, value);
      return;
   }
   const uint32_t image = legal_value(shader, SpvOpLoad, variable->type, pointer);
   mark(shader, image, differs);
   if (binding->numbers == LEGAL_FLOAT) /* no NaN, which formats need not keep */
      value = legal_uint(shader, SpvOpBitwiseAnd, value, constant(shader, 0x3fffffff));
   if (binding->numbers != LEGAL_UINT)
      value = legal_value(shader, SpvOpBitcast, scalar, value);
   const uint32_t texel =
      legal_value(shader, SpvOpCompositeConstruct, number_type(shader, binding->numbers, 4), value,
                  value, value, value);
   legal_op(shader, SpvOpImageWrite, image, at, texel);
}

/* --- Anything ------------------------------------------------------------- */

static uint32_t
read_behind(struct legal_shader *shader, const struct legal_variable *variable, uint32_t pointer,
            bool differs)
{
   if (variable->role == LEGAL_AS_IMAGE)
      return read_sampled_image(shader, variable, pointer, differs);
   switch (variable->binding->type) {
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
      return read_sampled_image(shader, variable, pointer, differs);
   case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
      return read_combined(shader, variable, pointer, differs);
   case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
      return read_texel_buffer(shader, variable, pointer, differs);
   case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
      return read_storage_image(shader, variable, pointer, differs);
   default:
      if (variable->binding->writable)
         return read_own_word(shader, variable, pointer, differs);
      return read_block(shader, variable, pointer, differs);
   }
}

/* Whether a pointer to the variable may be the argument of a function: storage buffers with
 * variable pointers, and what is opaque
 */
static bool
can_pass(const struct legal_variable *variable)
{
   return variable->storage == SpvStorageClassUniformConstant ||
          variable->storage == SpvStorageClassStorageBuffer;
}

static uint32_t
read_variable(struct legal_shader *shader, const struct legal_variable *variable)
{
   bool differs;

   if (!can_pass(variable) || shader->implicit || !chance(shader, 30)) {
      const uint32_t pointer = element_pointer(shader, variable, &differs);
      return read_behind(shader, variable, pointer, differs);
   }

   /* In a function that is given the image or the buffer, or an array of them */
   struct legal_function function, *before = shader->function;
   const uint32_t types[] = {spv_pointer(spv(shader), variable->storage, variable->whole_type),
                             spv_uint(spv(shader), 1)};
   uint32_t parameters[2];
   if (variable->storage == SpvStorageClassStorageBuffer)
      spv_capability(spv(shader), SpvCapabilityVariablePointersStorageBuffer);
   legal_begin_function(shader, &function, spv_uint(spv(shader), 1), 2, types, parameters);
   const uint32_t counter = shader->counter; /* is of the function around */
   shader->counter = 0;
   function.slot = parameters[1];
   struct legal_variable parameter = *variable;
   parameter.id = parameters[0];
   const uint32_t pointer = element_pointer(shader, &parameter, &differs);
   legal_op(shader, SpvOpReturnValue, read_behind(shader, &parameter, pointer, differs));
   legal_end_function(shader, before);
   shader->counter = counter;
   return legal_value(shader, SpvOpFunctionCall, spv_uint(spv(shader), 1), function.id,
                      variable->id, shader->function->slot);
}

static uint32_t
push_member(struct legal_shader *shader, uint32_t type, uint32_t member)
{
   const uint32_t pointer = legal_value(shader, SpvOpAccessChain,
                                        spv_pointer(spv(shader), SpvStorageClassPushConstant, type),
                                        shader->push, constant(shader, member));
   return legal_value(shader, SpvOpLoad, type, pointer);
}

/* Reads through the address in push constants. */
static uint32_t
read_address(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(spv(shader), 1);
   const uint32_t address =
      spv_pointer(spv(shader), SpvStorageClassPhysicalStorageBuffer, shader->source_block);
   const uint32_t word = spv_pointer(spv(shader), SpvStorageClassPhysicalStorageBuffer, type);
   bool ignored;

   const uint32_t base = push_member(shader, address, shader->push_source);
   const uint32_t index = legal_index(shader, 256, true, &ignored);
   const uint32_t pointer =
      legal_value(shader, SpvOpAccessChain, word, base, constant(shader, 0), index);
   return legal_value(shader, SpvOpLoad, type, pointer, SpvMemoryAccessAlignedMask, 4);
}

static void
write_address(struct legal_shader *shader, uint32_t value)
{
   const uint32_t type = spv_uint(spv(shader), 1);
   const uint32_t address =
      spv_pointer(spv(shader), SpvStorageClassPhysicalStorageBuffer, shader->output_block);
   const uint32_t word = spv_pointer(spv(shader), SpvStorageClassPhysicalStorageBuffer, type);
   const bool common = chance(shader, 20);

   const uint32_t base = push_member(shader, address, shader->push_output);
   const uint32_t pointer =
      legal_value(shader, SpvOpAccessChain, word, base, constant(shader, 0),
                  common ? constant(shader, LEGAL_SLOTS) : shader->function->slot,
                  constant(shader, common ? 0 : below(shader, 4)));
   if (common)
      atomic(shader, SpvOpAtomicIAdd, pointer, value);
   else
      legal_op(shader, SpvOpStore, pointer, value, SpvMemoryAccessAlignedMask, 4);
}

uint32_t
legal_read(struct legal_shader *shader)
{
   const struct legal_push *push = &shader->program->push;

   if (shader->push && push->has_source && chance(shader, 25))
      return read_address(shader);
   if (!shader->variable_count || chance(shader, 10))
      return legal_uniform_value(shader);
   const struct legal_variable *variable =
      &shader->variables[below(shader, shader->variable_count)];
   if (is_sampler(variable))
      return legal_uniform_value(shader);
   if (!is_usable(shader, variable))
      return legal_uniform_value(shader);
   return read_variable(shader, variable);
}

bool
legal_write(struct legal_shader *shader, uint32_t value)
{
   const struct legal_push *push = &shader->program->push;
   const unsigned first = shader->variable_count ? below(shader, shader->variable_count) : 0;
   bool differs;

   if (shader->push && push->has_output && push->writer == shader->stage && chance(shader, 50)) {
      write_address(shader, value);
      return true;
   }
   for (unsigned i = 0; i < shader->variable_count; i++) {
      const struct legal_variable *variable =
         &shader->variables[(first + i) % shader->variable_count];
      const struct legal_binding *binding = variable->binding;
      if (!binding->writable || !is_usable(shader, variable))
         continue;
      const uint32_t pointer = element_pointer(shader, variable, &differs);
      if (variable->image_type)
         write_texel(shader, variable, pointer, value, differs);
      else
         write_block(shader, variable, pointer, value, differs);
      return true;
   }
   if (shader->push && push->has_output && push->writer == shader->stage) {
      write_address(shader, value);
      return true;
   }
   return false;
}
