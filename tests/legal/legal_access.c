/* SPDX-License-Identifier: MIT */

/*
 * SPIR-V that accesses resources, in the ways in which compilers write it
 */

#include "legal_shader.h"

#include <string.h>

#define spv(shader) (&(shader)->spv)

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
      [VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT] = {SpvCapabilityInputAttachmentArrayDynamicIndexing,
                                               SpvCapabilityInputAttachmentArrayNonUniformIndexing},
      [VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC] =
         {SpvCapabilityUniformBufferArrayDynamicIndexing,
          SpvCapabilityUniformBufferArrayNonUniformIndexing},
      [VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC] =
         {SpvCapabilityStorageBufferArrayDynamicIndexing,
          SpvCapabilityStorageBufferArrayNonUniformIndexing},
   };
   const bool is_later = type == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER ||
                         type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER ||
                         type == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT;

   if ((differs || is_later) && shader->program->version < 0x10500)
      spv_extension(spv(shader), "SPV_EXT_descriptor_indexing");
   if (differs)
      spv_capability(spv(shader), SpvCapabilityShaderNonUniform);
   if (type == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR)
      return;
   spv_capability(spv(shader), capabilities[type].dynamic);
   if (differs)
      spv_capability(spv(shader), capabilities[type].differs);
}

/* Whether elements may be used that nobody has written: in code that nobody executes. lavapipe
 * executes it with no lanes, and does not expect that of images.
 */
static bool
may_be_unwritten(const struct legal_shader *shader, const struct legal_variable *variable)
{
   const struct legal_binding *binding = variable->binding;
   return shader->never && binding->flags & VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT &&
          !binding->is_mutable &&
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
   const bool is_later = binding->type == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER ||
                         binding->type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER ||
                         binding->type == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT;
   const bool old = shader->program->old_style;

   if (old && is_later) {
      *differs = false;
      return constant(shader, binding->first + below(shader, count));
   }
   uint32_t index = legal_index(shader, count, !old, differs);
   if (binding->first)
      index = legal_uint(shader, SpvOpIAdd, index, constant(shader, binding->first));
   add_index_capabilities(shader, binding->type, *differs);
   return index;
}

void
legal_mark(struct legal_shader *shader, uint32_t id, bool differs)
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
   legal_mark(shader, copy, differs);
   return copy;
}

/* A pointer to an element of the variable */
uint32_t
legal_element_pointer(struct legal_shader *shader, const struct legal_variable *variable,
                      bool *differs)
{
   const uint32_t type = spv_pointer(spv(shader), variable->storage, variable->type);

   *differs = false;
   if (!variable->is_array)
      return copy_pointer(shader, type, variable->id, false);
   const uint32_t index = element_index(shader, variable, differs);
   if (*differs && chance(shader, 50))
      legal_mark(shader, index, true);
   const SpvOp op = chance(shader, 30) ? SpvOpInBoundsAccessChain : SpvOpAccessChain;
   const uint32_t pointer = legal_value(shader, op, type, variable->id, index);
   legal_mark(shader, pointer, *differs);
   return copy_pointer(shader, type, pointer, *differs);
}

/* --- Blocks --------------------------------------------------------------- */

uint32_t
legal_extract(struct legal_shader *shader, uint32_t type, uint32_t composite, unsigned index)
{
   return legal_value(shader, SpvOpCompositeExtract, type, composite, index);
}

uint32_t
legal_to_uint(struct legal_shader *shader, uint32_t value)
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
   legal_mark(shader, pointer, differs);
   return copy_pointer(shader, type, pointer, differs);
}

/* Pointer to a scalar or vector inside of an item */
static uint32_t
part_pointer(struct legal_shader *shader, SpvStorageClass storage, uint32_t type, uint32_t item,
             uint32_t index, bool differs)
{
   const uint32_t pointer =
      legal_value(shader, SpvOpAccessChain, spv_pointer(spv(shader), storage, type), item, index);
   legal_mark(shader, pointer, differs);
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
   legal_mark(shader, value, differs && chance(shader, 50));
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
      return legal_extract(shader, scalar, load(shader, vector, pointer, differs), component);
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
      return legal_to_uint(shader, load(shader, real,
                                        part_pointer(shader, variable->storage, real, pointer,
                                                     constant(shader, 1), differs),
                                        differs));
   case 2:
      return legal_extract(shader, type,
                           load(shader, vector,
                                part_pointer(shader, variable->storage, vector, pointer,
                                             constant(shader, 3), differs),
                                differs),
                           2);
   default:
      return legal_extract(shader, type, load(shader, variable->item, pointer, differs), 0);
   }
}

static uint32_t
read_matrix(struct legal_shader *shader, const struct legal_variable *variable, uint32_t pointer,
            bool differs)
{
   const uint32_t real = spv_float(spv(shader), 1), column = spv_float(spv(shader), 4);
   if (chance(shader, 50)) {
      const uint32_t matrix = load(shader, variable->item, pointer, differs);
      return legal_to_uint(
         shader,
         legal_extract(shader, real, legal_extract(shader, column, matrix, below(shader, 4)), 1));
   }
   const uint32_t index =
      legal_uint(shader, SpvOpBitwiseAnd, shader->function->slot, constant(shader, 3));
   return legal_to_uint(
      shader,
      legal_extract(
         shader, real,
         load(shader, column,
              part_pointer(shader, variable->storage, column, pointer, index, differs), differs),
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
      return legal_to_uint(shader, read_vector(shader, variable->storage, spv_float(spv(shader), 1),
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
   legal_mark(shader, pointer, differs);
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

uint32_t
legal_atomic(struct legal_shader *shader, SpvOp op, uint32_t pointer, uint32_t value)
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
      legal_atomic(shader, SpvOpAtomicIAdd, word_pointer(shader, variable, block, true, differs),
                   value);
      break;
   case 1:
      legal_atomic(shader, SpvOpAtomicXor, word_pointer(shader, variable, block, false, differs),
                   value);
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
      return legal_atomic(shader, SpvOpAtomicIAdd, pointer, constant(shader, 3));
   return load(shader, spv_uint(spv(shader), 1), pointer, differs);
}

/* --- Acceleration structures ---------------------------------------------- */

static uint32_t
load_structure(struct legal_shader *shader, const struct legal_variable *variable, uint32_t pointer,
               bool differs)
{
   const uint32_t structure = legal_value(shader, SpvOpLoad, variable->type, pointer);
   legal_mark(shader, structure, differs);
   return structure;
}

uint32_t
legal_load_structure(struct legal_shader *shader, const struct legal_variable *variable)
{
   bool differs;
   const uint32_t pointer = legal_element_pointer(shader, variable, &differs);
   return load_structure(shader, variable, pointer, differs);
}

/* --- Anything ------------------------------------------------------------- */

static uint32_t
read_behind(struct legal_shader *shader, const struct legal_variable *variable, uint32_t pointer,
            bool differs)
{
   if (variable->role == LEGAL_AS_IMAGE)
      return legal_read_sampled_image(shader, variable, pointer, differs);
   switch (variable->binding->type) {
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
      return legal_read_sampled_image(shader, variable, pointer, differs);
   case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
      return legal_read_combined(shader, variable, pointer, differs);
   case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
      return legal_read_texel_buffer(shader, variable, pointer, differs);
   case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
      return legal_read_storage_image(shader, variable, pointer, differs);
   case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
      return legal_read_input(shader, variable, pointer, differs);
   case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
      return legal_ray_query(shader, load_structure(shader, variable, pointer, differs));
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
      const uint32_t pointer = legal_element_pointer(shader, variable, &differs);
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
   const uint32_t pointer = legal_element_pointer(shader, &parameter, &differs);
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
      legal_atomic(shader, SpvOpAtomicIAdd, pointer, value);
   else
      legal_op(shader, SpvOpStore, pointer, value, SpvMemoryAccessAlignedMask, 4);
}

uint32_t
legal_read(struct legal_shader *shader)
{
   const struct legal_push *push = &shader->program->push;

   if (shader->push && push->has_source && chance(shader, 25))
      return read_address(shader);
   if (shader->push && push->has_scene && shader->program->ray_queries && chance(shader, 15))
      return legal_query_address(shader);
   if (!shader->variable_count || chance(shader, 10))
      return legal_uniform_value(shader);
   const struct legal_variable *variable =
      &shader->variables[below(shader, shader->variable_count)];
   if (legal_is_sampler(variable))
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
      const uint32_t pointer = legal_element_pointer(shader, variable, &differs);
      if (variable->image_type)
         legal_write_texel(shader, variable, pointer, value, differs);
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
