/* SPDX-License-Identifier: MIT */

/* What the variables of a failing expression were.
 *
 * Two things are known of the invocation that failed: its number, which built-in variables have,
 * and what the check has compared (an index, operands of an operation, a coordinate). From there
 * values follow through the module: forward through arithmetic and variables that are stored to
 * once, and back through additions of which all but one operand are known. A value that does not
 * follow is not told, nor is one without a name in the source.
 */

#include "gpuval_spirv_evaluate.h"

#include <inttypes.h>

#include "base/gpuval_call_tree.h"
#include "util/macros.h"
#include "util/ralloc.h"
#include "util/u_math.h"

static uint32_t
find_component_of(const struct gpuval_spirv *spirv, uint32_t id)
{
   uint32_t word = value_definition(spirv, id);
   unsigned count;

   return word ? gpuval_spirv_find_component(spirv, operand(spirv, word, 1), &count) : 0;
}

static char *
print(struct gpuval_spirv *spirv, uint32_t type, const struct gpuval_spirv_known *known)
{
   unsigned count;
   uint32_t component = gpuval_spirv_find_component(spirv, type, &count);
   char *text = ralloc_strdup(spirv, "");

   if (!component || known->count > count)
      return NULL;
   for (unsigned i = 0; i < known->count; i++) {
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
add_text(struct pass *pass, const char *name, const char *text)
{
   struct gpuval_spirv_values *out = pass->out;

   for (unsigned i = 0; i < out->count; i++) {
      if (!strcmp(out->values[i].name, name))
         return;
   }
   if (out->count < GPUVAL_MAX_VALUES && text)
      out->values[out->count++] = (struct gpuval_named_value){name, text};
}

static void
add(struct pass *pass, const char *name, uint32_t type, const struct gpuval_spirv_known *known)
{
   unsigned count;

   if (!known->count)
      return;
   gpuval_spirv_find_component(pass->spirv, type, &count);
   if (known->count < count)
      name = ralloc_asprintf(pass->spirv, "%s.%.*s", name, known->count, "xyzw");
   add_text(pass, name, print(pass->spirv, type, known));
}

static void walk(struct pass *pass, struct place place, struct gpuval_spirv_known known,
                 unsigned level);

static void walk_indices(struct pass *pass, uint32_t pointer, unsigned depth, unsigned level);

static void
walk_load(struct pass *pass, uint32_t word, unsigned depth, const struct gpuval_spirv_known *known,
          unsigned level)
{
   struct gpuval_spirv *spirv = pass->spirv;
   uint32_t pointer = operand(spirv, word, 3), chain = value_definition(spirv, pointer), type;
   bool is_chain = chain && (opcode_at(spirv, chain) == SpvOpAccessChain ||
                             opcode_at(spirv, chain) == SpvOpInBoundsAccessChain);
   uint32_t base = is_chain ? operand(spirv, chain, 3) : pointer;
   struct gpuval_spirv_known whole = builtin_value(pass, base);
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
   if (gpuval_spirv_find_loaded(pass, word, depth, &place))
      walk(pass, place, *known, level + 1);
   else
      walk_indices(pass, pointer, depth, level + 1);
}

/* What a sum or a difference says of an operand when all else is known */
static struct gpuval_spirv_known
solve(SpvOp opcode, bool is_second, const struct gpuval_spirv_known *result,
      const struct gpuval_spirv_known *other)
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
walk_operands(struct pass *pass, uint32_t word, unsigned depth,
              const struct gpuval_spirv_known *known, unsigned level)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   struct place a = {operand(spirv, word, 3), depth}, b = {operand(spirv, word, 4), depth};
   struct gpuval_spirv_known of_a = gpuval_spirv_evaluate(pass, a, level),
                             of_b = gpuval_spirv_evaluate(pass, b, level);

   if (!of_a.count)
      of_a = solve(opcode_at(spirv, word), false, known, &of_b);
   else if (!of_b.count)
      of_b = solve(opcode_at(spirv, word), true, known, &of_a);
   walk(pass, a, of_a, level + 1);
   walk(pass, b, of_b, level + 1);
}

/* @known: what the check has seen, else it is evaluated. */
static void
walk(struct pass *pass, struct place place, struct gpuval_spirv_known known, unsigned level)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   uint32_t word = value_definition(spirv, place.id);

   if (!word || level > MAX_LEVEL || pass->steps++ > MAX_STEPS)
      return;
   if (!known.count)
      known = gpuval_spirv_evaluate(pass, place, level);

   switch (opcode_at(spirv, word)) {
   case SpvOpLoad:
      walk_load(pass, word, place.depth, &known, level);
      break;
   case SpvOpFunctionParameter: {
      const char *name = name_of(spirv, place.id);
      if (name)
         add(pass, name, operand(spirv, word, 1), &known);
      struct place argument = {gpuval_spirv_find_argument(pass, place.id, place.depth),
                               place.depth + 1};
      walk(pass, argument, known, level + 1);
      break;
   }
   case SpvOpBitcast:
   case SpvOpCopyObject:
      walk(pass, (struct place){operand(spirv, word, 3), place.depth}, known, level + 1);
      break;
   case SpvOpCompositeExtract:
   case SpvOpVectorShuffle:
   case SpvOpConvertFToS:
   case SpvOpConvertFToU:
   case SpvOpConvertSToF:
   case SpvOpConvertUToF:
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

/* Of what an index was loaded through: the indices of that. */
static void
walk_indices(struct pass *pass, uint32_t pointer, unsigned depth, unsigned level)
{
   uint32_t indices[8];
   bool ignored = true;
   unsigned count = find_indices(pass, pointer, indices, ARRAY_SIZE(indices), &ignored);

   for (unsigned i = 0; i < count; i++)
      walk(pass, (struct place){indices[i], depth}, nothing, level);
}

/* An index as its type has it */
static int64_t
index_value(const struct gpuval_spirv *spirv, uint32_t id, uint32_t word)
{
   uint32_t component = find_component_of(spirv, id);

   return component && operand(spirv, component, 3) ? (int32_t)word : word;
}

/*
 * The index that is not known follows from the offset, which is one of 32 bits: what may have come
 * round is not told, but for a small negative one.
 */
static struct gpuval_spirv_known
solve_index(const struct gpuval_spirv *spirv, const struct gpuval_spirv_step *step, uint32_t rest)
{
   uint32_t component = find_component_of(spirv, step->id);
   bool is_signed = component && operand(spirv, component, 3);
   int64_t index = (int32_t)rest;

   if (!step->stride || (rest > INT32_MAX && !is_signed))
      return nothing;
   return scalar(index < 0 ? -((step->stride - 1 - index) / step->stride) : index / step->stride);
}

/* The pointer that all of it began with, by where it has led to */
static void
add_base(struct pass *pass, const struct gpuval_spirv_chain *chain, uint64_t address)
{
   struct gpuval_spirv *spirv = pass->spirv;
   uint32_t load = definition_by(spirv, chain->base, SpvOpLoad), type;
   const char *name = load ? gpuval_spirv_pointer_name(spirv, operand(spirv, load, 3), &type)
                           : name_of(spirv, chain->base);

   if (name && *name)
      add_text(pass, name, ralloc_asprintf(spirv, "0x%" PRIx64, address));
   if (load)
      walk_indices(pass, operand(spirv, load, 3), 0, 1);
}

/* What the offset of an access says of the one index that is not known, and its address of where it
 * began, where all indices are.
 */
static void
walk_chain(struct pass *pass, const struct gpuval_spirv_chain *chain)
{
   const struct gpuval_spirv_facts *facts = pass->facts;
   struct gpuval_spirv_known known[ARRAY_SIZE(chain->steps)];
   unsigned num_unknown = 0, unknown = 0;
   uint64_t offset = chain->offset;

   for (unsigned i = 0; i < chain->count; i++) {
      const struct gpuval_spirv_step *step = &chain->steps[i];
      known[i] = gpuval_spirv_evaluate(pass, (struct place){step->id}, 0);
      if (known[i].count == 1) {
         offset += index_value(pass->spirv, step->id, known[i].words[0]) * step->stride;
      } else {
         num_unknown++;
         unknown = i;
      }
   }
   if (num_unknown == 1 && facts->of == GPUVAL_SPIRV_FACTS_OFFSET)
      known[unknown] =
         solve_index(pass->spirv, &chain->steps[unknown], facts->words[0] - (uint32_t)offset);
   for (unsigned i = 0; i < chain->count; i++)
      walk(pass, (struct place){chain->steps[i].id}, known[i], 0);
   if (!num_unknown && facts->of == GPUVAL_SPIRV_FACTS_ADDRESS)
      add_base(pass, chain, (facts->words[0] | (uint64_t)facts->words[1] << 32) - offset);
}

static void
walk_descriptor(struct pass *pass, const struct gpuval_spirv_chain *chain)
{
   if (chain->descriptor)
      walk(pass, (struct place){chain->descriptor},
           pass->facts->has_descriptor ? scalar(pass->facts->descriptor) : nothing, 0);
}

static void walk_coordinates(struct pass *pass, uint32_t id);

static void
walk_pointer(struct pass *pass, uint32_t pointer)
{
   const struct gpuval_spirv_facts *facts = pass->facts;
   uint32_t texel = definition_by(pass->spirv, pointer, SpvOpImageTexelPointer);
   struct gpuval_spirv_chain chain;
   uint32_t indices[8];
   bool is_given = facts->of == GPUVAL_SPIRV_FACTS_INDEX;

   if (texel) {
      gpuval_spirv_find_chain(pass->spirv, operand(pass->spirv, texel, 3), &chain);
      walk_descriptor(pass, &chain);
      walk_coordinates(pass, operand(pass->spirv, texel, 4));
      return;
   }
   bool has_layout = gpuval_spirv_find_chain(pass->spirv, pointer, &chain);
   walk_descriptor(pass, &chain);
   if (has_layout && !is_given) {
      walk_chain(pass, &chain);
      return;
   }
   unsigned count = find_indices(pass, pointer, indices, ARRAY_SIZE(indices), &is_given);
   is_given &= count == 1;
   for (unsigned i = 0; i < count; i++)
      walk(pass, (struct place){indices[i]}, is_given ? scalar(facts->words[0]) : nothing, 0);
}

/* The variable that an image was loaded from is an element of an array of descriptors. */
static void
walk_image(struct pass *pass, uint32_t image)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   struct gpuval_spirv_chain chain;

   for (unsigned level = 0; level < MAX_LEVEL; level++) {
      uint32_t word = value_definition(spirv, image);
      if (!word)
         return;
      switch (opcode_at(spirv, word)) {
      case SpvOpSampledImage:
      case SpvOpImage:
      case SpvOpCopyObject:
         image = operand(spirv, word, 3);
         break;
      case SpvOpLoad:
         gpuval_spirv_find_chain(spirv, operand(spirv, word, 3), &chain);
         walk_descriptor(pass, &chain);
         return;
      default:
         return;
      }
   }
}

static void
walk_coordinates(struct pass *pass, uint32_t id)
{
   const struct gpuval_spirv_facts *facts = pass->facts;
   uint32_t word = value_definition(pass->spirv, id);
   unsigned count = 0;
   uint32_t component =
      word ? gpuval_spirv_find_component(pass->spirv, operand(pass->spirv, word, 1), &count) : 0;
   bool is_given = component && opcode_at(pass->spirv, component) == SpvOpTypeInt &&
                   facts->of == GPUVAL_SPIRV_FACTS_COORDINATES && facts->count == count;
   struct gpuval_spirv_known given = {is_given ? count : 0};

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
         of ? gpuval_spirv_find_component(pass->spirv, operand(pass->spirv, of, 1), &count) : 0;
      bool is_given =
         component && count == 1 && i < facts->count && facts->of == GPUVAL_SPIRV_FACTS_OPERANDS;
      walk(pass, (struct place){id}, is_given ? scalar(facts->words[i]) : nothing, 0);
   }
}

static void
walk_instruction(struct pass *pass, uint32_t word)
{
   const struct gpuval_spirv *spirv = pass->spirv;
   bool is_image;
   unsigned accessed = gpuval_spirv_accessed_operand(spirv, word, &is_image);

   if (is_image)
      walk_image(pass, operand(spirv, word, accessed));
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
   case SpvOpImageSparseRead:
   case SpvOpImageSparseFetch:
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
   struct pass pass = {.spirv = spirv, .facts = facts, .out = out};
   uint32_t word = gpuval_plain_offset(offset, spirv->size) / 4;

   *out = (struct gpuval_spirv_values){0};
   if (!gpuval_spirv_is_instruction(spirv, word))
      return;
   pass.invocation = (struct gpuval_spirv_invocation){facts->has_invocation, model, entry};
   memcpy(pass.invocation.words, facts->invocation, sizeof(facts->invocation));
   pass.num_calls = gpuval_spirv_find_calls(spirv, model, entry, offset, pass.calls, MAX_CALLS);
   for (unsigned i = 0; i < pass.num_calls; i++)
      pass.calls[i] /= 4;
   walk_instruction(&pass, word);
}
