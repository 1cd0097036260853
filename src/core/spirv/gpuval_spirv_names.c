/* SPDX-License-Identifier: MIT */

/* Names of variables, their members and elements, as they are written in the source. */

#include "gpuval_spirv_private.h"

#include <inttypes.h>

#include "util/ralloc.h"

#define MAX_PARTS  64  /* of a name */
#define MAX_LENGTH 256 /* what is longer is of no use in a message */

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

static const char *value_name(struct gpuval_spirv *spirv, uint32_t id, unsigned *budget);

/* What a constant or another value selects in *type, which becomes the type of that */
static const char *
append_member(struct gpuval_spirv *spirv, const char *name, uint32_t *type, uint32_t index,
              unsigned *budget)
{
   uint32_t word = value_definition(spirv, *type);
   uint32_t constant = definition_by(spirv, index, SpvOpConstant);
   if (!word)
      return NULL;
   bool is_constant = constant && count_at(spirv, constant) == 4;
   uint32_t number = is_constant ? operand(spirv, constant, 3) : UINT32_MAX;

   switch (opcode_at(spirv, word)) {
   case SpvOpTypeStruct: {
      const char *member = is_constant ? member_name(spirv, *type, number) : NULL;
      if (!member || !*member)
         return NULL;
      *type = operand(spirv, word, 2 + number);
      return *name ? ralloc_asprintf(spirv, "%s.%s", name, member) : member;
   }
   case SpvOpTypeVector:
      *type = operand(spirv, word, 2);
      if (is_constant)
         return *name && number < 4 ? ralloc_asprintf(spirv, "%s.%c", name, "xyzw"[number]) : NULL;
      break;
   case SpvOpTypeArray:
   case SpvOpTypeRuntimeArray:
   case SpvOpTypeMatrix:
      *type = operand(spirv, word, 2);
      break;
   default:
      return NULL;
   }
   const char *of = value_name(spirv, index, budget);
   return *name && of ? ralloc_asprintf(spirv, "%s[%s]", name, of) : NULL;
}

static const char *
pointer_name(struct gpuval_spirv *spirv, uint32_t pointer, uint32_t *type, unsigned *budget)
{
   uint32_t word = value_definition(spirv, pointer);
   if (!word || !*budget || !--*budget)
      return NULL;
   uint32_t of = definition_by(spirv, operand(spirv, word, 1), SpvOpTypePointer);

   switch (opcode_at(spirv, word)) {
   case SpvOpVariable:
   case SpvOpFunctionParameter: {
      const char *name = name_of(spirv, pointer);
      bool is_block = of && definition_by(spirv, operand(spirv, of, 3), SpvOpTypeStruct);
      *type = of ? operand(spirv, of, 3) : 0;
      return name ? (is_copy(name) ? NULL : name) : is_block ? "" : NULL;
   }
   case SpvOpLoad: { /* of a pointer to a buffer: as it is called itself */
      const char *name = pointer_name(spirv, operand(spirv, word, 3), type, budget);
      *type = of ? operand(spirv, of, 3) : 0;
      return name;
   }
   case SpvOpAccessChain:
   case SpvOpInBoundsAccessChain: {
      const char *name = pointer_name(spirv, operand(spirv, word, 3), type, budget);
      for (unsigned i = 4; name && i < count_at(spirv, word); i++)
         name = append_member(spirv, name, type, operand(spirv, word, i), budget);
      return name;
   }
   default:
      return NULL;
   }
}

static const char *
operation_name(struct gpuval_spirv *spirv, uint32_t word, const char *sign, unsigned *budget)
{
   const char *a = value_name(spirv, operand(spirv, word, 3), budget);
   const char *b = a ? value_name(spirv, operand(spirv, word, 4), budget) : NULL;

   return b ? ralloc_asprintf(spirv, "%s %s %s", a, sign, b) : NULL;
}

/* An index as the source has it, where it is a variable, a number, or a sum of such */
static const char *
value_name(struct gpuval_spirv *spirv, uint32_t id, unsigned *budget)
{
   uint32_t word = value_definition(spirv, id), type;
   if (!word || !*budget || !--*budget)
      return NULL;

   switch (opcode_at(spirv, word)) {
   case SpvOpConstant:
      return count_at(spirv, word) == 4
                ? ralloc_asprintf(spirv, "%" PRIu32, operand(spirv, word, 3))
                : NULL;
   case SpvOpLoad: {
      const char *name = pointer_name(spirv, operand(spirv, word, 3), &type, budget);
      return name && *name ? name : NULL;
   }
   case SpvOpFunctionParameter:
      return name_of(spirv, id);
   case SpvOpBitcast:
   case SpvOpCopyObject:
      return value_name(spirv, operand(spirv, word, 3), budget);
   case SpvOpIAdd:
      return operation_name(spirv, word, "+", budget);
   case SpvOpISub:
      return operation_name(spirv, word, "-", budget);
   default:
      return NULL;
   }
}

const char *
gpuval_spirv_pointer_name(struct gpuval_spirv *spirv, uint32_t pointer, uint32_t *type)
{
   unsigned budget = MAX_PARTS;
   const char *name = pointer_name(spirv, pointer, type, &budget);
   return name && strlen(name) <= MAX_LENGTH ? name : NULL;
}
