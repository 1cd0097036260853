/* SPDX-License-Identifier: MIT */

/* Names of variables, their members and elements, as they are written in the source. */

#include "gpuval_spirv_private.h"

#include <inttypes.h>

#include "util/ralloc.h"

#define MAX_LEVEL 32

static const char *
member_name(const struct gpuval_spirv *spirv, uint32_t type, uint32_t member)
{
   util_dynarray_foreach (&spirv->debug, uint32_t, index) {
      uint32_t word = *util_dynarray_element(&spirv->instructions, uint32_t, *index);
      if (opcode_at(spirv, word) == SpvOpMemberName && operand(spirv, word, 1) == type &&
          operand(spirv, word, 2) == member)
         return string_operand(spirv, word, 3);
   }
   return NULL;
}

/* Copies that glslang makes of what is passed and indexed have no name in the source. */
static bool
is_copy(const char *name)
{
   return !strncmp(name, "param", 5) || !strncmp(name, "indexable", 9);
}

static const char *
append_member(struct gpuval_spirv *spirv, const char *name, uint32_t *type, uint32_t index)
{
   uint32_t word = value_definition(spirv, *type);
   uint32_t constant = definition_by(spirv, index, SpvOpConstant);
   if (!word || !constant || count_at(spirv, constant) != 4)
      return NULL;
   uint32_t number = operand(spirv, constant, 3);

   switch (opcode_at(spirv, word)) {
   case SpvOpTypeStruct: {
      const char *member = member_name(spirv, *type, number);
      *type = operand(spirv, word, 2 + number);
      if (!member || !*member)
         return NULL;
      return *name ? ralloc_asprintf(spirv, "%s.%s", name, member) : member;
   }
   case SpvOpTypeArray:
   case SpvOpTypeRuntimeArray:
      *type = operand(spirv, word, 2);
      return *name ? ralloc_asprintf(spirv, "%s[%" PRIu32 "]", name, number) : NULL;
   case SpvOpTypeVector:
      *type = operand(spirv, word, 2);
      return *name && number < 4 ? ralloc_asprintf(spirv, "%s.%c", name, "xyzw"[number]) : NULL;
   default:
      return NULL;
   }
}

static const char *
pointer_name(struct gpuval_spirv *spirv, uint32_t pointer, uint32_t *type, unsigned level)
{
   uint32_t word = value_definition(spirv, pointer);
   if (!word || level > MAX_LEVEL)
      return NULL;

   switch (opcode_at(spirv, word)) {
   case SpvOpVariable:
   case SpvOpFunctionParameter: {
      uint32_t of = definition_by(spirv, operand(spirv, word, 1), SpvOpTypePointer);
      const char *name = name_of(spirv, pointer);
      bool is_block = of && definition_by(spirv, operand(spirv, of, 3), SpvOpTypeStruct);
      *type = of ? operand(spirv, of, 3) : 0;
      return name ? (is_copy(name) ? NULL : name) : is_block ? "" : NULL;
   }
   case SpvOpAccessChain:
   case SpvOpInBoundsAccessChain: {
      const char *name = pointer_name(spirv, operand(spirv, word, 3), type, level + 1);
      for (unsigned i = 4; name && i < count_at(spirv, word); i++)
         name = append_member(spirv, name, type, operand(spirv, word, i));
      return name;
   }
   default:
      return NULL;
   }
}

const char *
gpuval_spirv_pointer_name(struct gpuval_spirv *spirv, uint32_t pointer, uint32_t *type)
{
   return pointer_name(spirv, pointer, type, 0);
}
