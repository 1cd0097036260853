/* SPDX-License-Identifier: MIT */

/* What the variables of a failing expression were.
 *
 * Two things are known of the invocation that failed: its number, which built-in variables have,
 * and what the check has compared (an index, operands of an operation, a coordinate). From there
 * values follow through the module: forward through arithmetic and variables that are stored to
 * once, and back through additions of which all but one operand are known. A value that does not
 * follow is not told, nor is one without a name in the source.
 */

#include "gpuval_spirv_private.h"

#include <inttypes.h>

#include "base/gpuval_call_tree.h"
#include "util/macros.h"
#include "util/ralloc.h"
#include "util/u_math.h"

#define MAX_CALLS 16
#define MAX_STEPS 256 /* instructions that are looked at */
#define MAX_LEVEL 32

struct known {
   unsigned count; /* components; 0: not known */
   uint32_t words[4];
};

struct pass {
   struct gpuval_spirv *spirv;
   const struct gpuval_spirv_facts *facts;
   uint32_t model;
   uint32_t calls[MAX_CALLS]; /* words of OpFunctionCall, that of the failing function first */
   unsigned num_calls;
   unsigned steps;
   struct gpuval_spirv_values *out;
};

static const struct known nothing;

static struct known
scalar(uint32_t word)
{
   return (struct known){1, {word}};
}

/* The word of the OpTypeInt, OpTypeFloat of 32 bits, of a scalar or a vector; 0: another type */
static uint32_t
find_component(const struct gpuval_spirv *spirv, uint32_t type, unsigned *count)
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

static char *
print(struct gpuval_spirv *spirv, uint32_t type, const struct known *known)
{
   unsigned count;
   uint32_t component = find_component(spirv, type, &count);
   char *text = ralloc_strdup(spirv, "");

   if (!component || count != known->count)
      return NULL;
   for (unsigned i = 0; i < count; i++) {
      uint32_t word = known->words[i];
      if (i)
         ralloc_strcat(&text, ", ");
      if (opcode_at(spirv, component) == SpvOpTypeFloat)
         ralloc_asprintf_append(&text, "%g", uif(word));
      else if (operand(spirv, component, 3))
         ralloc_asprintf_append(&text, "%" PRId32, (int32_t)word);
      else
         ralloc_asprintf_append(&text, "%" PRIu32, word);
   }
   return text;
}

static void
add(struct pass *pass, const char *name, uint32_t type, const struct known *known)
{
   struct gpuval_spirv_values *out = pass->out;

   for (unsigned i = 0; i < out->count; i++) {
      if (!strcmp(out->values[i].name, name))
         return;
   }
   char *text =
      out->count < GPUVAL_MAX_VALUES && known->count ? print(pass->spirv, type, known) : NULL;
   if (text)
      out->values[out->count++] = (struct gpuval_named_value){name, text};
}

/* Built-in variables */

static int
find_builtin(const struct gpuval_spirv *spirv, uint32_t variable)
{
   util_dynarray_foreach (&spirv->instructions, uint32_t, word) {
      if (opcode_at(spirv, *word) == SpvOpFunction)
         break;
      if (opcode_at(spirv, *word) == SpvOpDecorate && operand(spirv, *word, 1) == variable &&
          operand(spirv, *word, 2) == SpvDecorationBuiltIn)
         return operand(spirv, *word, 3);
   }
   return -1;
}

/* docs/protocols.rst, "Invocations" */
static struct known
builtin_value(const struct pass *pass, uint32_t variable)
{
   const uint32_t *words = pass->facts->invocation;
   if (!pass->facts->has_invocation)
      return nothing;

   switch (find_builtin(pass->spirv, variable)) {
   case SpvBuiltInGlobalInvocationId:
   case SpvBuiltInLaunchIdKHR:
      return (struct known){3, {words[0], words[1], words[2]}};
   case SpvBuiltInVertexIndex:
      return pass->model == SpvExecutionModelVertex ? scalar(words[0]) : nothing;
   case SpvBuiltInInstanceIndex:
      return pass->model == SpvExecutionModelVertex ? scalar(words[1]) : nothing;
   default:
      return nothing;
   }
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
static uint32_t
find_argument(const struct pass *pass, uint32_t parameter, unsigned depth)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   uint32_t end, word = value_definition(spirv, parameter), number = 0;

   if (depth >= pass->num_calls)
      return 0;
   for (uint32_t i = find_function(spirv, word, &end); i < word; i += count_at(spirv, i))
      number += opcode_at(spirv, i) == SpvOpFunctionParameter;
   return operand(spirv, pass->calls[depth], 4 + number);
}

/* A value and the call that it is in */
struct place {
   uint32_t id;
   unsigned depth;
};

/* The value that OpLoad @word loads, where that is one of the module. */
static bool
find_loaded(const struct pass *pass, uint32_t word, unsigned depth, struct place *place)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   uint32_t pointer = operand(spirv, word, 3), call = 0;

   while (definition_by(spirv, pointer, SpvOpFunctionParameter)) {
      if (depth >= pass->num_calls || !is_only_loaded(spirv, pointer, call ? call : word))
         return false;
      pointer = find_argument(pass, pointer, depth);
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

static struct known evaluate(struct pass *pass, struct place place, unsigned level);

static struct known
evaluate_load(struct pass *pass, uint32_t word, unsigned depth, unsigned level)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   uint32_t pointer = operand(spirv, word, 3), chain = value_definition(spirv, pointer);
   struct place place;

   if (chain && (opcode_at(spirv, chain) == SpvOpAccessChain ||
                 opcode_at(spirv, chain) == SpvOpInBoundsAccessChain)) {
      uint32_t constant = definition_by(spirv, operand(spirv, chain, 4), SpvOpConstant);
      struct known vector = builtin_value(pass, operand(spirv, chain, 3));
      uint32_t number = constant && count_at(spirv, chain) == 5 ? operand(spirv, constant, 3) : 4;
      return number < vector.count ? scalar(vector.words[number]) : nothing;
   }
   if (find_loaded(pass, word, depth, &place))
      return evaluate(pass, place, level + 1);
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

static struct known
evaluate(struct pass *pass, struct place place, unsigned level)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   uint32_t word = value_definition(spirv, place.id);
   unsigned count;

   if (!word || level > MAX_LEVEL || pass->steps++ > MAX_STEPS ||
       !find_component(spirv, operand(spirv, word, 1), &count))
      return nothing;

   switch (opcode_at(spirv, word)) {
   case SpvOpConstant:
      return scalar(operand(spirv, word, 3));
   case SpvOpLoad:
      return evaluate_load(pass, word, place.depth, level);
   case SpvOpFunctionParameter: {
      struct place argument = {find_argument(pass, place.id, place.depth), place.depth + 1};
      return evaluate(pass, argument, level + 1);
   }
   case SpvOpBitcast:
   case SpvOpCopyObject: {
      struct known known =
         evaluate(pass, (struct place){operand(spirv, word, 3), place.depth}, level + 1);
      return known.count == count ? known : nothing;
   }
   case SpvOpCompositeExtract: {
      struct known known =
         evaluate(pass, (struct place){operand(spirv, word, 3), place.depth}, level + 1);
      uint32_t number = count_at(spirv, word) == 5 ? operand(spirv, word, 4) : 4;
      return number < known.count ? scalar(known.words[number]) : nothing;
   }
   default: {
      if (count != 1 || count_at(spirv, word) != 5)
         return nothing;
      struct known a =
         evaluate(pass, (struct place){operand(spirv, word, 3), place.depth}, level + 1);
      struct known b =
         evaluate(pass, (struct place){operand(spirv, word, 4), place.depth}, level + 1);
      uint32_t result;
      return a.count == 1 && b.count == 1 &&
                   calculate(opcode_at(spirv, word), a.words[0], b.words[0], &result)
                ? scalar(result)
                : nothing;
   }
   }
}

static void walk(struct pass *pass, struct place place, struct known known, unsigned level);

static void
walk_load(struct pass *pass, uint32_t word, unsigned depth, const struct known *known,
          unsigned level)
{
   struct gpuval_spirv *spirv = pass->spirv;
   uint32_t pointer = operand(spirv, word, 3), chain = value_definition(spirv, pointer), type;
   uint32_t base =
      chain && opcode_at(spirv, chain) == SpvOpAccessChain ? operand(spirv, chain, 3) : pointer;
   struct known whole = builtin_value(pass, base);
   struct place place;

   if (whole.count) {
      const char *name = gpuval_spirv_pointer_name(spirv, base, &type);
      if (name)
         add(pass, name, type, &whole);
      return;
   }
   const char *name = gpuval_spirv_pointer_name(spirv, pointer, &type);
   if (name && *name)
      add(pass, name, operand(spirv, word, 1), known);
   if (find_loaded(pass, word, depth, &place))
      walk(pass, place, *known, level + 1);
}

/* What a sum or a difference says of an operand when all else is known */
static struct known
solve(SpvOp opcode, bool is_second, const struct known *result, const struct known *other)
{
   if (result->count != 1 || other->count != 1)
      return nothing;
   if (opcode == SpvOpIAdd)
      return scalar(result->words[0] - other->words[0]);
   if (opcode == SpvOpISub)
      return scalar(is_second ? other->words[0] - result->words[0]
                              : result->words[0] + other->words[0]);
   return nothing;
}

static void
walk_operands(struct pass *pass, uint32_t word, unsigned depth, const struct known *known,
              unsigned level)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   struct place a = {operand(spirv, word, 3), depth}, b = {operand(spirv, word, 4), depth};
   struct known of_a = evaluate(pass, a, level), of_b = evaluate(pass, b, level);

   if (!of_a.count)
      of_a = solve(opcode_at(spirv, word), false, known, &of_b);
   else if (!of_b.count)
      of_b = solve(opcode_at(spirv, word), true, known, &of_a);
   walk(pass, a, of_a, level + 1);
   walk(pass, b, of_b, level + 1);
}

/* @known: what the check has seen, else it is evaluated. */
static void
walk(struct pass *pass, struct place place, struct known known, unsigned level)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   uint32_t word = value_definition(spirv, place.id);

   if (!word || level > MAX_LEVEL || pass->steps++ > MAX_STEPS)
      return;
   if (!known.count)
      known = evaluate(pass, place, level);

   switch (opcode_at(spirv, word)) {
   case SpvOpLoad:
      walk_load(pass, word, place.depth, &known, level);
      break;
   case SpvOpFunctionParameter: {
      const char *name = name_of(spirv, place.id);
      if (name)
         add(pass, name, operand(spirv, word, 1), &known);
      struct place argument = {find_argument(pass, place.id, place.depth), place.depth + 1};
      walk(pass, argument, known, level + 1);
      break;
   }
   case SpvOpBitcast:
   case SpvOpCopyObject:
      walk(pass, (struct place){operand(spirv, word, 3), place.depth}, known, level + 1);
      break;
   case SpvOpCompositeExtract:
      walk(pass, (struct place){operand(spirv, word, 3), place.depth}, nothing, level + 1);
      break;
   case SpvOpCompositeConstruct: {
      /* One operand for each component: else they are not known each. */
      bool is_each = known.count == count_at(spirv, word) - 3;
      for (unsigned i = 3; i < count_at(spirv, word); i++)
         walk(pass, (struct place){operand(spirv, word, i), place.depth},
              is_each ? scalar(known.words[i - 3]) : nothing, level + 1);
      break;
   }
   case SpvOpIAdd:
   case SpvOpISub:
   case SpvOpIMul:
   case SpvOpUDiv:
   case SpvOpUMod:
   case SpvOpShiftLeftLogical:
   case SpvOpShiftRightLogical:
   case SpvOpBitwiseAnd:
   case SpvOpBitwiseOr:
   case SpvOpBitwiseXor:
      walk_operands(pass, word, place.depth, &known, level);
      break;
   default:
      break;
   }
}

/* Indices of the access chains that end in @pointer, but for constants. *is_open becomes false
 * where a constant may be what has failed.
 */
static unsigned
find_indices(const struct pass *pass, uint32_t pointer, uint32_t *indices, unsigned max,
             bool *is_open)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   unsigned count = 0;

   for (unsigned level = 0; level < MAX_LEVEL; level++) {
      uint32_t word = value_definition(spirv, pointer);
      if (!word || (opcode_at(spirv, word) != SpvOpAccessChain &&
                    opcode_at(spirv, word) != SpvOpInBoundsAccessChain))
         break;
      for (unsigned i = 4; i < count_at(spirv, word); i++) {
         uint32_t constant = definition_by(spirv, operand(spirv, word, i), SpvOpConstant);
         if (constant)
            *is_open &= operand(spirv, constant, 3) != pass->facts->words[0];
         else if (count < max)
            indices[count++] = operand(spirv, word, i);
      }
      pointer = operand(spirv, word, 3);
   }
   return count;
}

static void
walk_pointer(struct pass *pass, uint32_t pointer)
{
   const struct gpuval_spirv_facts *facts = pass->facts;
   uint32_t indices[8];
   bool is_given = facts->of == GPUVAL_SPIRV_FACTS_INDEX;
   unsigned count = find_indices(pass, pointer, indices, ARRAY_SIZE(indices), &is_given);

   is_given &= count == 1;
   for (unsigned i = 0; i < count; i++)
      walk(pass, (struct place){indices[i]}, is_given ? scalar(facts->words[0]) : nothing, 0);
}

static void
walk_coordinates(struct pass *pass, uint32_t id)
{
   const struct gpuval_spirv_facts *facts = pass->facts;
   uint32_t word = value_definition(pass->spirv, id);
   unsigned count = 0;
   uint32_t component =
      word ? find_component(pass->spirv, operand(pass->spirv, word, 1), &count) : 0;
   bool is_given = component && opcode_at(pass->spirv, component) == SpvOpTypeInt &&
                   facts->of == GPUVAL_SPIRV_FACTS_COORDINATES && facts->count == count;
   struct known given = {is_given ? count : 0};

   memcpy(given.words, facts->words, facts->count * sizeof(*facts->words));
   walk(pass, (struct place){id}, given, 0);
}

/* Operands of scalars are in the record, those of vectors are not told apart there. */
static void
walk_operation(struct pass *pass, uint32_t word, unsigned first, unsigned num)
{
   const struct gpuval_spirv_facts *facts = pass->facts;
   unsigned count = 0;

   for (unsigned i = 0; i < num; i++) {
      uint32_t id = operand(pass->spirv, word, first + i), of = value_definition(pass->spirv, id);
      uint32_t component =
         of ? find_component(pass->spirv, operand(pass->spirv, of, 1), &count) : 0;
      bool is_given =
         component && count == 1 && i < facts->count && facts->of == GPUVAL_SPIRV_FACTS_OPERANDS;
      walk(pass, (struct place){id}, is_given ? scalar(facts->words[i]) : nothing, 0);
   }
}

static void
walk_instruction(struct pass *pass, uint32_t word)
{
   const struct gpuval_spirv *spirv = pass->spirv;

   switch (opcode_at(spirv, word)) {
   case SpvOpStore:
   case SpvOpAtomicStore:
      walk_pointer(pass, operand(spirv, word, 1));
      break;
   case SpvOpLoad:
   case SpvOpAtomicLoad:
   case SpvOpAtomicExchange:
   case SpvOpAtomicCompareExchange:
   case SpvOpAtomicIIncrement:
   case SpvOpAtomicIDecrement:
   case SpvOpAtomicIAdd:
   case SpvOpAtomicISub:
   case SpvOpAtomicSMin:
   case SpvOpAtomicUMin:
   case SpvOpAtomicSMax:
   case SpvOpAtomicUMax:
   case SpvOpAtomicAnd:
   case SpvOpAtomicOr:
   case SpvOpAtomicXor:
      walk_pointer(pass, operand(spirv, word, 3));
      break;
   case SpvOpImageWrite:
      walk_coordinates(pass, operand(spirv, word, 2));
      break;
   case SpvOpImageRead:
   case SpvOpImageFetch:
      walk_coordinates(pass, operand(spirv, word, 4));
      break;
   case SpvOpVectorExtractDynamic:
      walk(pass, (struct place){operand(spirv, word, 4)},
           pass->facts->of == GPUVAL_SPIRV_FACTS_INDEX ? scalar(pass->facts->words[0]) : nothing,
           0);
      break;
   case SpvOpSDiv:
   case SpvOpUDiv:
   case SpvOpSRem:
   case SpvOpSMod:
   case SpvOpUMod:
   case SpvOpShiftLeftLogical:
   case SpvOpShiftRightLogical:
   case SpvOpShiftRightArithmetic:
      walk_operation(pass, word, 3, 2);
      break;
   case SpvOpConvertFToS:
   case SpvOpConvertFToU:
      walk_operation(pass, word, 3, 1);
      break;
   default:
      break;
   }
}

void
gpuval_spirv_find_values(struct gpuval_spirv *spirv, uint32_t model, const char *entry,
                         uint32_t offset, const struct gpuval_spirv_facts *facts,
                         struct gpuval_spirv_values *out)
{
   struct pass pass = {.spirv = spirv, .facts = facts, .model = model, .out = out};
   uint32_t word = gpuval_plain_offset(offset, spirv->size) / 4;

   *out = (struct gpuval_spirv_values){0};
   if (!gpuval_spirv_is_instruction(spirv, word))
      return;
   pass.num_calls = gpuval_spirv_find_calls(spirv, model, entry, offset, pass.calls, MAX_CALLS);
   for (unsigned i = 0; i < pass.num_calls; i++)
      pass.calls[i] /= 4;
   walk_instruction(&pass, word);
}
