/* SPDX-License-Identifier: MIT */

/* Where in a block, or behind an address, a pointer points: what the access chains that it comes
 * from have added up, by the explicit layout of the types (SPIR-V spec 2.16.1, "Shader Variable
 * Layout").
 */

#include "gpuval_spirv_private.h"

#define MAX_LEVEL   32
#define MAX_INDICES 64 /* of one access chain */

/* The operand of a decoration of the type @id, or of its member; false: it has none. */
static bool
find_decoration(const struct gpuval_spirv *spirv, uint32_t id, int64_t member,
                SpvDecoration decoration, uint32_t *value)
{
   const SpvOp opcode = member < 0 ? SpvOpDecorate : SpvOpMemberDecorate;
   const unsigned at = member < 0 ? 2 : 3;

   util_dynarray_foreach (&spirv->instructions, uint32_t, word) {
      if (opcode_at(spirv, *word) == SpvOpFunction)
         break;
      if (opcode_at(spirv, *word) == opcode && operand(spirv, *word, 1) == id &&
          (member < 0 || operand(spirv, *word, 2) == member) &&
          operand(spirv, *word, at) == decoration) {
         *value = operand(spirv, *word, at + 1);
         return true;
      }
   }
   return false;
}

static bool
add_step(const struct gpuval_spirv *spirv, struct gpuval_spirv_chain *chain, uint32_t id,
         uint32_t stride)
{
   uint32_t constant = definition_by(spirv, id, SpvOpConstant);

   if (constant && count_at(spirv, constant) == 4) {
      chain->offset += (uint64_t)operand(spirv, constant, 3) * stride;
      return true;
   }
   if (chain->count == ARRAY_SIZE(chain->steps))
      return false;
   chain->steps[chain->count++] = (struct gpuval_spirv_step){id, stride};
   return true;
}

/* What a column of a matrix, and an element of one, is apart from the next */
struct layout {
   uint32_t matrix_stride;
   bool is_row_major;
   bool in_column;
};

static void
enter_member(const struct gpuval_spirv *spirv, uint32_t type, uint32_t member,
             struct layout *layout)
{
   uint32_t ignored;

   *layout = (struct layout){0};
   find_decoration(spirv, type, member, SpvDecorationMatrixStride, &layout->matrix_stride);
   layout->is_row_major = find_decoration(spirv, type, member, SpvDecorationRowMajor, &ignored);
}

/* Bytes of a number; 0: not known */
static uint32_t
size_of_number(const struct gpuval_spirv *spirv, uint32_t type)
{
   uint32_t word = value_definition(spirv, type);

   return word &&
                (opcode_at(spirv, word) == SpvOpTypeInt || opcode_at(spirv, word) == SpvOpTypeFloat)
             ? operand(spirv, word, 2) / 8
             : 0;
}

/* From *type to what @index selects in it. */
static bool
enter(const struct gpuval_spirv *spirv, struct gpuval_spirv_chain *chain, uint32_t *type,
      uint32_t index, struct layout *layout)
{
   uint32_t word = value_definition(spirv, *type), value = 0;
   if (!word)
      return false;

   switch (opcode_at(spirv, word)) {
   case SpvOpTypeStruct: {
      uint32_t constant = definition_by(spirv, index, SpvOpConstant);
      uint32_t member = constant ? operand(spirv, constant, 3) : UINT32_MAX;
      if (!find_decoration(spirv, *type, member, SpvDecorationOffset, &value))
         return false;
      chain->offset += value;
      enter_member(spirv, *type, member, layout);
      *type = operand(spirv, word, 2 + MIN2(member, UINT16_MAX));
      return true;
   }
   case SpvOpTypeArray:
   case SpvOpTypeRuntimeArray:
      if (!find_decoration(spirv, *type, -1, SpvDecorationArrayStride, &value))
         return false;
      *type = operand(spirv, word, 2);
      return add_step(spirv, chain, index, value);
   case SpvOpTypeMatrix: {
      uint32_t column = value_definition(spirv, operand(spirv, word, 2));
      bool is_constant = definition_by(spirv, index, SpvOpConstant);
      value = layout->is_row_major && column ? size_of_number(spirv, operand(spirv, column, 2))
                                             : layout->matrix_stride;
      /* What is loaded of a column in rows lies further apart than columns do. */
      if (layout->is_row_major && !is_constant)
         return false;
      layout->in_column = true;
      *type = operand(spirv, word, 2);
      return value && add_step(spirv, chain, index, value);
   }
   case SpvOpTypeVector:
      *type = operand(spirv, word, 2);
      value = layout->in_column && layout->is_row_major ? layout->matrix_stride
                                                        : size_of_number(spirv, *type);
      return value && add_step(spirv, chain, index, value);
   default:
      return false;
   }
}

/* An array of blocks, or of what is no buffer, is one of descriptors. */
static bool
is_array_of_descriptors(const struct gpuval_spirv *spirv, uint32_t base, uint32_t type)
{
   uint32_t variable = definition_by(spirv, base, SpvOpVariable);
   uint32_t word = value_definition(spirv, type), ignored;

   if (!variable || !word ||
       (opcode_at(spirv, word) != SpvOpTypeArray &&
        opcode_at(spirv, word) != SpvOpTypeRuntimeArray))
      return false;
   switch (operand(spirv, variable, 3)) {
   case SpvStorageClassUniform:
   case SpvStorageClassStorageBuffer:
   case SpvStorageClassUniformConstant:
      return !find_decoration(spirv, type, -1, SpvDecorationArrayStride, &ignored);
   default:
      return false;
   }
}

static uint32_t
pointee(const struct gpuval_spirv *spirv, uint32_t pointer)
{
   uint32_t word = value_definition(spirv, pointer);
   uint32_t type = word ? definition_by(spirv, operand(spirv, word, 1), SpvOpTypePointer) : 0;
   return type ? operand(spirv, type, 3) : 0;
}

static bool
walk(const struct gpuval_spirv *spirv, uint32_t pointer, struct gpuval_spirv_chain *chain,
     uint32_t *type, struct layout *layout, unsigned level)
{
   uint32_t word = value_definition(spirv, pointer), stride = 0;
   unsigned first = 4;
   if (!word || level > MAX_LEVEL || count_at(spirv, word) > 4 + MAX_INDICES)
      return false;

   switch (opcode_at(spirv, word)) {
   case SpvOpPtrAccessChain:
   case SpvOpInBoundsPtrAccessChain:
      first = 5;
      break;
   case SpvOpAccessChain:
   case SpvOpInBoundsAccessChain:
      break;
   default:
      chain->base = pointer;
      *type = pointee(spirv, pointer);
      return *type;
   }

   uint32_t base = operand(spirv, word, 3);
   if (!walk(spirv, base, chain, type, layout, level + 1))
      return false;
   if (first == 5) {
      uint32_t of = operand(spirv, value_definition(spirv, base), 1);
      if (!find_decoration(spirv, of, -1, SpvDecorationArrayStride, &stride) ||
          !add_step(spirv, chain, operand(spirv, word, 4), stride))
         return false;
   }
   for (unsigned i = first; i < count_at(spirv, word); i++) {
      uint32_t index = operand(spirv, word, i);
      if (is_array_of_descriptors(spirv, base, *type)) {
         bool is_second = chain->descriptor;
         chain->descriptor = index;
         *type = operand(spirv, value_definition(spirv, *type), 2);
         if (is_second)
            return false;
      } else if (!enter(spirv, chain, type, index, layout)) {
         return false;
      }
   }
   return true;
}

bool
gpuval_spirv_find_chain(const struct gpuval_spirv *spirv, uint32_t pointer,
                        struct gpuval_spirv_chain *chain)
{
   struct layout layout = {0};
   uint32_t type;

   *chain = (struct gpuval_spirv_chain){0};
   return walk(spirv, pointer, chain, &type, &layout, 0);
}
