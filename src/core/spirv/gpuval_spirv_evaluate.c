/* SPDX-License-Identifier: MIT */

/* Values that follow, forward, from constants and from the invocation's number: through arithmetic
 * and through variables that are stored to once.
 */

#include "gpuval_spirv_evaluate.h"

#include "util/macros.h"
#include "util/u_math.h"

/* The word of the OpTypeInt, OpTypeFloat of 32 bits, of a scalar or a vector; 0: another type */
uint32_t
gpuval_spirv_find_component(const struct gpuval_spirv *spirv, uint32_t type, unsigned *count)
{
   uint32_t word = value_definition(spirv, type);

   *count = 1;
   if (word && opcode_at(spirv, word) == SpvOpTypeVector) {
      *count = operand(spirv, word, 3);
      word = value_definition(spirv, operand(spirv, word, 2));
   }
   bool is_number =
      word && (opcode_at(spirv, word) == SpvOpTypeInt || opcode_at(spirv, word) == SpvOpTypeFloat);
   return is_number && operand(spirv, word, 2) == 32 && *count <= 4 ? word : 0;
}

/* Variables */

/* Where the function begins and ends that @word is in; 0 and 0: it is in none. */
static uint32_t
find_function(const struct gpuval_spirv *spirv, uint32_t word, uint32_t *end)
{
   uint32_t begin = 0, last = *util_dynarray_top_ptr(&spirv->instructions, uint32_t);

   *end = last + count_at(spirv, last);
   util_dynarray_foreach (&spirv->functions, struct function, function) {
      if (function->word <= word)
         begin = function->word;
      else
         *end = MIN2(*end, function->word);
   }
   *end = begin ? *end : 0;
   return begin;
}

/* Blocks are told apart by their labels. The first of a function is where it begins. */
static uint32_t
find_label(const struct gpuval_spirv *spirv, uint32_t begin, uint32_t word, bool *is_first)
{
   uint32_t label = 0;
   unsigned count = 0;

   for (uint32_t i = begin; i <= word; i += count_at(spirv, i)) {
      if (opcode_at(spirv, i) == SpvOpLabel) {
         label = i;
         count++;
      }
   }
   *is_first = count == 1;
   return label;
}

/* Whether @id, a pointer, is used at @word for anything but being loaded, or stored to as it is */
static bool
is_other_use(const struct gpuval_spirv *spirv, uint32_t word, uint32_t id)
{
   switch (opcode_at(spirv, word)) {
   case SpvOpLoad:
   case SpvOpVariable:
   case SpvOpFunctionParameter:
   case SpvOpLine:
      return false;
   case SpvOpExtInst:
      if (spirv->debug_info_set && operand(spirv, word, 3) == spirv->debug_info_set)
         return false;
      break;
   case SpvOpStore:
      return operand(spirv, word, 2) == id;
   default:
      break;
   }
   for (unsigned i = 1; i < count_at(spirv, word); i++) {
      if (operand(spirv, word, i) == id)
         return true;
   }
   return false;
}

/*
 * The OpStore that has given @pointer the value which is loaded at @load, if it is the only one:
 * before, in the same block or the function's first. @call: where the pointer may be passed. 0:
 * there is none, or something else may have changed it.
 */
static uint32_t
find_store(const struct gpuval_spirv *spirv, uint32_t pointer, uint32_t load, uint32_t call)
{
   uint32_t end, begin = find_function(spirv, load, &end), store = 0;
   bool in_first, ignored;

   for (uint32_t i = begin; i < end; i += count_at(spirv, i)) {
      bool is_store = opcode_at(spirv, i) == SpvOpStore && operand(spirv, i, 1) == pointer;
      if ((is_store && store) || (i != call && is_other_use(spirv, i, pointer)))
         return 0;
      store = is_store ? i : store;
   }
   if (!store || store > load || count_at(spirv, store) > 4)
      return 0;
   uint32_t label = find_label(spirv, begin, store, &in_first);
   return in_first || label == find_label(spirv, begin, load, &ignored) ? store : 0;
}

static bool
is_only_loaded(const struct gpuval_spirv *spirv, uint32_t parameter, uint32_t word)
{
   uint32_t end;

   for (uint32_t i = find_function(spirv, word, &end); i < end; i += count_at(spirv, i)) {
      if (is_other_use(spirv, i, parameter) ||
          (opcode_at(spirv, i) == SpvOpStore && operand(spirv, i, 1) == parameter))
         return false;
   }
   return true;
}

/* What the caller has passed for @parameter; 0: not known. */
uint32_t
gpuval_spirv_find_argument(const struct pass *pass, uint32_t parameter, unsigned depth)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   uint32_t end, word = value_definition(spirv, parameter), number = 0;

   if (depth >= pass->num_calls)
      return 0;
   for (uint32_t i = find_function(spirv, word, &end); i < word; i += count_at(spirv, i))
      number += opcode_at(spirv, i) == SpvOpFunctionParameter;
   return operand(spirv, pass->calls[depth], 4 + number);
}

/* The value that OpLoad @word loads, where that is one of the module. */
bool
gpuval_spirv_find_loaded(const struct pass *pass, uint32_t word, unsigned depth,
                         struct place *place)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   uint32_t pointer = operand(spirv, word, 3), call = 0;

   while (definition_by(spirv, pointer, SpvOpFunctionParameter)) {
      if (depth >= pass->num_calls || !is_only_loaded(spirv, pointer, call ? call : word))
         return false;
      pointer = gpuval_spirv_find_argument(pass, pointer, depth);
      word = call = pass->calls[depth++];
   }
   uint32_t variable = definition_by(spirv, pointer, SpvOpVariable);
   if (!variable || operand(spirv, variable, 3) != SpvStorageClassFunction ||
       count_at(spirv, variable) > 4)
      return false;
   uint32_t store = find_store(spirv, pointer, word, call);
   *place = (struct place){store ? operand(spirv, store, 2) : 0, depth};
   return store;
}

/* Values */

static struct gpuval_spirv_known
evaluate_load(struct pass *pass, uint32_t word, unsigned depth, unsigned level)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   uint32_t pointer = operand(spirv, word, 3), chain = value_definition(spirv, pointer);
   struct place place;

   if (chain && (opcode_at(spirv, chain) == SpvOpAccessChain ||
                 opcode_at(spirv, chain) == SpvOpInBoundsAccessChain)) {
      uint32_t constant = definition_by(spirv, operand(spirv, chain, 4), SpvOpConstant);
      struct gpuval_spirv_known vector = builtin_value(pass, operand(spirv, chain, 3));
      uint32_t number = constant && count_at(spirv, chain) == 5 ? operand(spirv, constant, 3) : 4;
      return number < vector.count ? scalar(vector.words[number]) : nothing;
   }
   if (gpuval_spirv_find_loaded(pass, word, depth, &place))
      return gpuval_spirv_evaluate(pass, place, level + 1);
   return builtin_value(pass, pointer);
}

static bool
calculate(SpvOp opcode, uint32_t a, uint32_t b, uint32_t *result)
{
   switch (opcode) {
   case SpvOpIAdd:
      *result = a + b;
      return true;
   case SpvOpISub:
      *result = a - b;
      return true;
   case SpvOpIMul:
      *result = a * b;
      return true;
   case SpvOpUDiv:
      *result = b ? a / b : 0;
      return b;
   case SpvOpUMod:
      *result = b ? a % b : 0;
      return b;
   case SpvOpShiftLeftLogical:
      *result = b < 32 ? a << b : 0;
      return b < 32;
   case SpvOpShiftRightLogical:
      *result = b < 32 ? a >> b : 0;
      return b < 32;
   case SpvOpBitwiseAnd:
      *result = a & b;
      return true;
   case SpvOpBitwiseOr:
      *result = a | b;
      return true;
   case SpvOpBitwiseXor:
      *result = a ^ b;
      return true;
   default:
      return false;
   }
}

/* Numbers that the other type does not have are none. */
static bool
convert(SpvOp opcode, uint32_t word, uint32_t *result)
{
   const float value = uif(word);

   switch (opcode) {
   case SpvOpConvertFToS:
      *result = (int32_t)CLAMP(value, -2147483648.0f, 2147483520.0f);
      return value >= -2147483648.0f && value < 2147483648.0f;
   case SpvOpConvertFToU:
      *result = (uint32_t)CLAMP(value, 0.0f, 4294967040.0f);
      return value > -1.0f && value < 4294967296.0f;
   case SpvOpConvertSToF:
      *result = fui((int32_t)word);
      return true;
   case SpvOpConvertUToF:
      *result = fui(word);
      return true;
   default:
      return false;
   }
}

static struct gpuval_spirv_known
convert_all(SpvOp opcode, struct gpuval_spirv_known known)
{
   for (unsigned i = 0; i < known.count; i++) {
      if (!convert(opcode, known.words[i], &known.words[i]))
         return nothing;
   }
   return known;
}

/* Components of the first vector only */
static struct gpuval_spirv_known
shuffle(const struct gpuval_spirv *spirv, uint32_t word, const struct gpuval_spirv_known *from)
{
   struct gpuval_spirv_known result = {.count = MIN2(count_at(spirv, word) - 5, 4)};

   for (unsigned i = 0; i < result.count; i++) {
      uint32_t number = operand(spirv, word, 5 + i);
      if (number >= from->count)
         return nothing;
      result.words[i] = from->words[number];
   }
   return result;
}

struct gpuval_spirv_known
gpuval_spirv_evaluate(struct pass *pass, struct place place, unsigned level)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   uint32_t word = value_definition(spirv, place.id);
   unsigned count;

   if (!word || level > MAX_LEVEL || pass->steps++ > MAX_STEPS ||
       !gpuval_spirv_find_component(spirv, operand(spirv, word, 1), &count))
      return nothing;

   switch (opcode_at(spirv, word)) {
   case SpvOpConstant:
      return scalar(operand(spirv, word, 3));
   case SpvOpLoad:
      return evaluate_load(pass, word, place.depth, level);
   case SpvOpFunctionParameter: {
      struct place argument = {gpuval_spirv_find_argument(pass, place.id, place.depth),
                               place.depth + 1};
      return gpuval_spirv_evaluate(pass, argument, level + 1);
   }
   case SpvOpBitcast:
   case SpvOpCopyObject: {
      struct gpuval_spirv_known known = gpuval_spirv_evaluate(
         pass, (struct place){operand(spirv, word, 3), place.depth}, level + 1);
      return known.count == count ? known : nothing;
   }
   case SpvOpConvertFToS:
   case SpvOpConvertFToU:
   case SpvOpConvertSToF:
   case SpvOpConvertUToF: {
      struct gpuval_spirv_known known = gpuval_spirv_evaluate(
         pass, (struct place){operand(spirv, word, 3), place.depth}, level + 1);
      return convert_all(opcode_at(spirv, word), known.count == count ? known : nothing);
   }
   case SpvOpVectorShuffle: {
      struct gpuval_spirv_known known = gpuval_spirv_evaluate(
         pass, (struct place){operand(spirv, word, 3), place.depth}, level + 1);
      return count_at(spirv, word) > 5 ? shuffle(spirv, word, &known) : nothing;
   }
   case SpvOpCompositeExtract: {
      struct gpuval_spirv_known known = gpuval_spirv_evaluate(
         pass, (struct place){operand(spirv, word, 3), place.depth}, level + 1);
      uint32_t number = count_at(spirv, word) == 5 ? operand(spirv, word, 4) : 4;
      return number < known.count ? scalar(known.words[number]) : nothing;
   }
   default: {
      if (count != 1 || count_at(spirv, word) != 5)
         return nothing;
      struct gpuval_spirv_known a = gpuval_spirv_evaluate(
         pass, (struct place){operand(spirv, word, 3), place.depth}, level + 1);
      struct gpuval_spirv_known b = gpuval_spirv_evaluate(
         pass, (struct place){operand(spirv, word, 4), place.depth}, level + 1);
      uint32_t result;
      return a.count == 1 && b.count == 1 &&
                   calculate(opcode_at(spirv, word), a.words[0], b.words[0], &result)
                ? scalar(result)
                : nothing;
   }
   }
}
