/* SPDX-License-Identifier: MIT */

/* What a module does, whatever it was compiled with for debugging: its functions without
 * debug instructions, and what they use.
 *
 * Debug information takes ids, and has the numbers of lines as constants, which the code
 * may share: a line more above, and other ids have moved. So no id is hashed, but what it
 * stands for: a constant's value, a variable's binding, how far above an instruction is.
 * Operands that are not known to be ids or numbers are left out.
 */

#include "gpuval_spirv.h"

#include <string.h>

#include "util/macros.h"
#include "util/mesa-blake3.h"
#include "gpuval_spirv_private.h"

/* Of what types and constants are made of; modules may be anything. */
#define MAX_DEPTH 16
#define MAX_WORK  1000000

struct hashing {
   const struct gpuval_spirv *spirv;
   struct mesa_blake3 ctx;
   uint32_t first_function; /* word */
   uint32_t word;           /* the instruction that is hashed */
   uint32_t work;
};

static void
mix(struct hashing *h, uint32_t number)
{
   _mesa_blake3_update(&h->ctx, &number, sizeof(number));
}

static void
mix_words(struct hashing *h, uint32_t word, unsigned first)
{
   for (unsigned i = first; i < count_at(h->spirv, word); i++)
      mix(h, operand(h->spirv, word, i));
}

static void mix_id(struct hashing *h, uint32_t id, unsigned depth);

static void
mix_ids(struct hashing *h, uint32_t word, unsigned first, unsigned depth)
{
   for (unsigned i = first; i < count_at(h->spirv, word); i++)
      mix_id(h, operand(h->spirv, word, i), depth + 1);
}

/* Of the types, constants and variables above all functions */
static void
mix_global(struct hashing *h, uint32_t id, uint32_t word, unsigned depth)
{
   const struct gpuval_spirv *spirv = h->spirv;

   mix(h, opcode_at(spirv, word));
   switch (opcode_at(spirv, word)) {
   case SpvOpTypeInt:
   case SpvOpTypeFloat:
      mix_words(h, word, 2);
      break;
   case SpvOpTypeVector:
   case SpvOpTypeMatrix:
   case SpvOpTypeImage:
      mix_id(h, operand(spirv, word, 2), depth + 1);
      mix_words(h, word, 3);
      break;
   case SpvOpTypeArray:
   case SpvOpTypeRuntimeArray:
   case SpvOpTypeStruct:
   case SpvOpTypeSampledImage:
      mix_ids(h, word, 2, depth);
      break;
   case SpvOpTypePointer:
      mix(h, operand(spirv, word, 2)); /* storage class */
      mix_id(h, operand(spirv, word, 3), depth + 1);
      break;
   case SpvOpConstant:
   case SpvOpSpecConstant:
      mix_id(h, operand(spirv, word, 1), depth + 1);
      mix_words(h, word, 3);
      break;
   case SpvOpConstantComposite:
   case SpvOpSpecConstantComposite:
      mix_ids(h, word, 3, depth);
      break;
   case SpvOpVariable: {
      const struct decorations *decorations = get_decorations(spirv, id);
      mix_id(h, operand(spirv, word, 1), depth + 1);
      mix(h, decorations && decorations->has_set ? decorations->set : UINT32_MAX);
      mix(h, decorations && decorations->has_binding ? decorations->binding : UINT32_MAX);
      break;
   }
   default:
      break;
   }
}

static void
mix_id(struct hashing *h, uint32_t id, unsigned depth)
{
   const struct gpuval_spirv *spirv = h->spirv;
   const uint32_t word = definition(spirv, id);

   if (!word || depth > MAX_DEPTH || h->work++ > MAX_WORK)
      mix(h, 0);
   else if (word < h->first_function)
      mix_global(h, id, word, depth);
   else
      mix(h, gpuval_spirv_count_code(spirv, h->word) - gpuval_spirv_count_code(spirv, word));
}

/* Above all functions: what no id of theirs leads to. */
static void
mix_declaration(struct hashing *h, uint32_t word)
{
   switch (opcode_at(h->spirv, word)) {
   case SpvOpDecorate:
   case SpvOpMemberDecorate:
   case SpvOpExecutionMode:
      mix(h, opcode_at(h->spirv, word));
      mix_words(h, word, 2); /* behind the id */
      break;
   default:
      break;
   }
}

/* How many operands of instructions with @opcode are ids, from *first on, and how many
 * numbers follow them.
 */
static void
describe_operands(SpvOp opcode, unsigned *first, unsigned *ids, unsigned *numbers)
{
   *first = 3; /* behind type and result */
   *ids = UINT16_MAX;
   *numbers = 0;

   switch (opcode) {
   case SpvOpLoad:
      *ids = 1;
      break;
   case SpvOpStore:
   case SpvOpCopyMemory:
      *first = 1;
      *ids = 2;
      break;
   case SpvOpCompositeExtract:
      *ids = 1;
      *numbers = UINT16_MAX;
      break;
   case SpvOpCompositeInsert:
   case SpvOpVectorShuffle:
      *ids = 2;
      *numbers = UINT16_MAX;
      break;
   case SpvOpExtInst:
      *first = 5;
      break;
   case SpvOpImageSampleImplicitLod:
   case SpvOpImageSampleExplicitLod:
   case SpvOpImageSampleProjImplicitLod:
   case SpvOpImageSampleProjExplicitLod:
   case SpvOpImageFetch:
   case SpvOpImageRead:
      *ids = 2;
      *numbers = 1;
      break;
   case SpvOpImageSampleDrefImplicitLod:
   case SpvOpImageSampleDrefExplicitLod:
   case SpvOpImageGather:
   case SpvOpImageDrefGather:
      *ids = 3;
      *numbers = 1;
      break;
   case SpvOpImageWrite:
      *first = 1;
      *ids = 3;
      *numbers = 1;
      break;
   case SpvOpBranch:
   case SpvOpReturnValue:
   case SpvOpControlBarrier:
   case SpvOpMemoryBarrier:
   case SpvOpAtomicStore:
      *first = 1;
      break;
   case SpvOpBranchConditional:
      *first = 1;
      *ids = 3;
      break;
   case SpvOpSwitch:
   case SpvOpLoopMerge:
      *first = 1;
      *ids = 2;
      break;
   case SpvOpSelectionMerge:
      *first = 1;
      *ids = 1;
      break;
   case SpvOpFunctionCall:
   case SpvOpImageTexelPointer:
   case SpvOpAccessChain:
   case SpvOpInBoundsAccessChain:
   case SpvOpPtrAccessChain:
   case SpvOpInBoundsPtrAccessChain:
   case SpvOpVectorExtractDynamic:
   case SpvOpVectorInsertDynamic:
   case SpvOpCompositeConstruct:
   case SpvOpCopyObject:
   case SpvOpTranspose:
   case SpvOpSampledImage:
   case SpvOpImage:
   case SpvOpPhi:
      break;
   default:
      /* Conversions, arithmetic, comparisons, bits, derivatives; atomics */
      if (!(opcode >= SpvOpImageQuerySizeLod && opcode <= SpvOpFwidthCoarse) &&
          !(opcode >= SpvOpAtomicLoad && opcode <= SpvOpAtomicXor))
         *ids = 0;
      break;
   }
}

static void
mix_instruction(struct hashing *h, uint32_t word)
{
   const unsigned count = count_at(h->spirv, word);
   unsigned first, ids, numbers;

   h->word = word;
   mix(h, h->spirv->words[word]); /* opcode and count */
   describe_operands(opcode_at(h->spirv, word), &first, &ids, &numbers);
   for (unsigned i = first; i < count && i - first < ids; i++)
      mix_id(h, operand(h->spirv, word, i), 0);
   for (unsigned i = first + ids; i < count && i - first - ids < numbers; i++)
      mix(h, operand(h->spirv, word, i));
}

uint64_t
gpuval_spirv_code_hash(struct gpuval_spirv *spirv)
{
   if (spirv->has_code_hash)
      return spirv->code_hash;

   const uint32_t *debug = util_dynarray_begin(&spirv->debug);
   const uint32_t num_debug = util_dynarray_num_elements(&spirv->debug, uint32_t);
   struct hashing h = {.spirv = spirv, .first_function = UINT32_MAX};
   uint32_t next = 0, index = 0;
   blake3_hash hash;

   _mesa_blake3_init(&h.ctx);
   util_dynarray_foreach (&spirv->instructions, uint32_t, word) {
      const bool is_debug = next < num_debug && debug[next] == index;
      next += is_debug;
      index++;
      if (opcode_at(spirv, *word) == SpvOpFunction)
         h.first_function = MIN2(h.first_function, *word);
      if (h.first_function == UINT32_MAX)
         mix_declaration(&h, *word);
      else if (!is_debug)
         mix_instruction(&h, *word);
   }
   _mesa_blake3_final(&h.ctx, hash);
   memcpy(&spirv->code_hash, hash, sizeof(spirv->code_hash));
   spirv->has_code_hash = true;
   return spirv->code_hash;
}
