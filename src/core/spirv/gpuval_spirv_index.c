/* SPDX-License-Identifier: MIT */

/* The index over a module: one pass notes where each instruction is, what defines
 * each id, and where debug lines change. Look-ups search these notes.
 *
 * Lines across blocks
 *
 * An OpLine holds up to the end of its block (SPIR-V spec 3.32.3, "OpLine"), a
 * DebugLine too (NonSemantic.Shader.DebugInfo.100). But glslang writes them once
 * a statement and block, before the code of that statement: where `a[i] = c ?
 * x : y;` makes blocks, the store comes behind the merge and has no line. Seed
 * 002, "OpLine Processing", takes the last OpLine before the instruction, of
 * whatever block. Blocks are not in the order of the source once modules have
 * been optimized, so here a block with no line to start with takes over the
 * line of the block that selects or branches to it, first of all that of the
 * header of the construct it merges. That comes before it in any module, and
 * belongs to the same statement in glslang's. Look-ups tell such a line from
 * one that is in scope.
 */

#include "gpuval_spirv_private.h"

#include "util/macros.h"
#include "util/ralloc.h"
#include "util/u_endian.h"

#define HEADER_BOUND 3

/* SPIR-V spec 2.17, "Universal Limits": ids stay below that. */
#define MAX_BOUND 4194304

/* 256 MiB. Keeps all arrays below what a util_dynarray can hold. */
#define MAX_WORDS (1u << 26)

/* The set's later versions only add to it. */
#define DEBUG_INFO_PREFIX "NonSemantic.Shader.DebugInfo."

/* Room for what is known about @id. NULL for what cannot be one. */
static struct id_info *
add_id(struct gpuval_spirv *spirv, uint32_t id)
{
   if (id == 0 || id >= spirv->bound)
      return NULL;

   const unsigned count = util_dynarray_num_elements(&spirv->ids, struct id_info);
   if (id >= count) {
      const unsigned missing = id + 1 - count;
      struct id_info *info = util_dynarray_grow(&spirv->ids, struct id_info, missing);
      if (!info)
         return NULL;
      memset(info, 0, missing * sizeof(*info));
   }

   return util_dynarray_element(&spirv->ids, struct id_info, id);
}

static struct decorations *
add_decorations(struct gpuval_spirv *spirv, uint32_t id)
{
   if (id == 0 || id >= spirv->bound)
      return NULL;

   struct decorations *decorations = get_decorations(spirv, id);
   if (!decorations) {
      decorations = rzalloc(spirv, struct decorations);
      _mesa_hash_table_insert(spirv->decorations, (void *)(uintptr_t)id, decorations);
   }
   return decorations;
}

/* The state to change for what holds from @word on. */
static struct state *
change_state(struct gpuval_spirv *spirv, uint32_t word)
{
   struct state next = {.word = word};

   if (spirv->states.size) {
      struct state *last = util_dynarray_top_ptr(&spirv->states, struct state);
      if (last->word == word)
         return last;
      next = *last;
      next.word = word;
   }

   util_dynarray_append_typed(&spirv->states, struct state, next);
   return util_dynarray_top_ptr(&spirv->states, struct state);
}

/* The first to name a label is the block before it whose line it takes over.
 * Merge instructions come before the branch they belong to.
 */
static void
lead_to_label(struct gpuval_spirv *spirv, uint32_t label)
{
   struct id_info *info = add_id(spirv, label);
   if (info && !info->state)
      info->state = util_dynarray_num_elements(&spirv->states, struct state);
}

static void
index_label(struct gpuval_spirv *spirv, uint32_t word)
{
   struct state *state = change_state(spirv, word);
   const struct id_info *info = get_id(spirv, operand(spirv, word, 1));
   if (!info || !info->state)
      return;

   const struct state *before =
      util_dynarray_element(&spirv->states, struct state, info->state - 1);
   /* Only modules that are not valid branch out of their function. */
   if (before->function != state->function)
      return;

   if (!state->op_line_in_scope)
      state->op_line = before->op_line;
   if (!state->debug_line_in_scope)
      state->debug_line = before->debug_line;
   if (!state->debug_scope)
      state->debug_scope = before->debug_scope;
}

static void
index_block_end(struct gpuval_spirv *spirv, uint32_t word)
{
   /* The terminator itself is still part of the block. */
   struct state *state = change_state(spirv, word + count_at(spirv, word));
   state->op_line = 0;
   state->op_line_in_scope = false;
   state->debug_line = 0;
   state->debug_line_in_scope = false;
   state->debug_scope = 0;
}

static void
add_source(struct gpuval_spirv *spirv, uint32_t id, const char *file)
{
   struct source source = {
      .id = id,
      .file = file && file[0] ? file : NULL,
   };
   util_dynarray_init(&source.pieces, spirv);
   util_dynarray_init(&source.lines, spirv);
   util_dynarray_append_typed(&spirv->sources, struct source, source);
}

static void
add_source_piece(struct gpuval_spirv *spirv, const char *piece)
{
   if (piece && spirv->sources.size) {
      struct source *source = util_dynarray_top_ptr(&spirv->sources, struct source);
      util_dynarray_append_typed(&source->pieces, const char *, piece);
   }
}

static void
index_debug_instruction(struct gpuval_spirv *spirv, uint32_t word)
{
   switch (operand(spirv, word, 4)) {
   case DEBUG_SOURCE:
      add_source(spirv, operand(spirv, word, 2),
                 string_of(spirv, operand(spirv, word, EXT_OPERAND)));
      add_source_piece(spirv, string_of(spirv, operand(spirv, word, EXT_OPERAND + 1)));
      break;

   case DEBUG_SOURCE_CONTINUED:
      add_source_piece(spirv, string_of(spirv, operand(spirv, word, EXT_OPERAND)));
      break;

   case DEBUG_FUNCTION_DEFINITION: {
      const uint32_t index = change_state(spirv, word)->function;
      if (index) {
         util_dynarray_element(&spirv->functions, struct function, index - 1)->debug_function =
            definition_by_debug(spirv, operand(spirv, word, EXT_OPERAND), DEBUG_FUNCTION);
      }
      break;
   }

   case DEBUG_LINE:
   case DEBUG_NO_LINE: {
      const bool is_line = operand(spirv, word, 4) == DEBUG_LINE;
      struct state *state = change_state(spirv, word);
      state->debug_line = is_line ? word : 0;
      state->debug_line_in_scope = true;
      spirv->has_debug_lines |= is_line;
      break;
   }

   case DEBUG_SCOPE:
      change_state(spirv, word)->debug_scope = word;
      break;

   case DEBUG_NO_SCOPE:
      change_state(spirv, word)->debug_scope = 0;
      break;

   default:
      break;
   }
}

static void
index_decoration(struct gpuval_spirv *spirv, uint32_t word)
{
   const uint32_t decoration = operand(spirv, word, 2);
   if (decoration != SpvDecorationDescriptorSet && decoration != SpvDecorationBinding &&
       decoration != SpvDecorationBufferBlock)
      return;

   struct decorations *decorations = add_decorations(spirv, operand(spirv, word, 1));
   if (!decorations)
      return;

   if (decoration == SpvDecorationBufferBlock) {
      decorations->is_buffer_block = true;
   } else if (count_at(spirv, word) < 4) {
      return;
   } else if (decoration == SpvDecorationDescriptorSet) {
      decorations->set = operand(spirv, word, 3);
      decorations->has_set = true;
   } else {
      decorations->binding = operand(spirv, word, 3);
      decorations->has_binding = true;
   }
}

/* A group's own decorations come before it: SPIR-V spec 3.32.3,
 * "OpDecorationGroup".
 */
static void
index_group(struct gpuval_spirv *spirv, uint32_t word)
{
   const struct decorations *group = get_decorations(spirv, operand(spirv, word, 1));
   if (!group)
      return;

   for (unsigned i = 2; i < count_at(spirv, word); i++) {
      struct decorations *target = add_decorations(spirv, operand(spirv, word, i));
      if (target)
         *target = *group;
   }
}

/* Those whose definition a look-up may follow. */
static void
index_definition(struct gpuval_spirv *spirv, uint32_t word)
{
   unsigned result;

   switch (opcode_at(spirv, word)) {
   case SpvOpString:
   case SpvOpTypeImage:
   case SpvOpTypeSampledImage:
   case SpvOpTypeArray:
   case SpvOpTypeRuntimeArray:
   case SpvOpTypeStruct:
   case SpvOpTypePointer:
      result = 1;
      break;

   case SpvOpExtInst:
   case SpvOpConstant:
   case SpvOpFunctionParameter:
   case SpvOpFunctionCall:
   case SpvOpVariable:
   case SpvOpUntypedVariableKHR:
   case SpvOpLoad:
   case SpvOpAccessChain:
   case SpvOpInBoundsAccessChain:
   case SpvOpPtrAccessChain:
   case SpvOpInBoundsPtrAccessChain:
   case SpvOpRawAccessChainNV:
   case SpvOpUntypedAccessChainKHR:
   case SpvOpUntypedInBoundsAccessChainKHR:
   case SpvOpUntypedPtrAccessChainKHR:
   case SpvOpUntypedInBoundsPtrAccessChainKHR:
   case SpvOpImageTexelPointer:
   case SpvOpSampledImage:
   case SpvOpImage:
   case SpvOpCopyObject:
   case SpvOpCompositeExtract:
   case SpvOpConvertUToPtr:
   case SpvOpBitcast:
   case SpvOpSelect:
   case SpvOpPhi:
      result = 2;
      break;

   default:
      return;
   }

   struct id_info *info = add_id(spirv, operand(spirv, word, result));
   if (info)
      info->definition = word;
}

/* Those that only values of variables need: fingerprints rest on which ids have a definition. */
static void
index_value(struct gpuval_spirv *spirv, uint32_t word)
{
   unsigned result = 2;

   switch (opcode_at(spirv, word)) {
   case SpvOpTypeInt:
   case SpvOpTypeFloat:
   case SpvOpTypeVector:
   case SpvOpTypeMatrix:
      result = 1;
      break;
   case SpvOpCompositeConstruct:
   case SpvOpVectorShuffle:
   case SpvOpConvertFToS:
   case SpvOpConvertFToU:
   case SpvOpConvertSToF:
   case SpvOpConvertUToF:
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
      break;
   default:
      return;
   }

   struct id_info *info = add_id(spirv, operand(spirv, word, result));
   if (info)
      info->value = word;
}

/* SPIR-V spec 3.32.2, "Debug Instructions", and lines */
static bool
is_debug(SpvOp opcode)
{
   switch (opcode) {
   case SpvOpSourceContinued:
   case SpvOpSource:
   case SpvOpSourceExtension:
   case SpvOpName:
   case SpvOpMemberName:
   case SpvOpString:
   case SpvOpLine:
   case SpvOpNoLine:
   case SpvOpModuleProcessed:
      return true;
   default:
      return false;
   }
}

static void
index_instruction(struct gpuval_spirv *spirv, uint32_t word)
{
   index_definition(spirv, word);
   index_value(spirv, word);

   switch (opcode_at(spirv, word)) {
   case SpvOpExtInstImport: {
      const char *set = string_operand(spirv, word, 2);
      if (set && strncmp(set, DEBUG_INFO_PREFIX, strlen(DEBUG_INFO_PREFIX)) == 0)
         spirv->debug_info_set = operand(spirv, word, 1);
      break;
   }

   case SpvOpExtInst:
      if (spirv->debug_info_set && operand(spirv, word, 3) == spirv->debug_info_set)
         index_debug_instruction(spirv, word);
      break;

   case SpvOpEntryPoint:
      util_dynarray_append_typed(&spirv->entry_points, uint32_t, word);
      break;

   case SpvOpSource: {
      const uint32_t file = operand(spirv, word, 3);
      add_source(spirv, file, string_of(spirv, file));
      add_source_piece(spirv, string_operand(spirv, word, 4));
      break;
   }

   case SpvOpSourceContinued:
      add_source_piece(spirv, string_operand(spirv, word, 1));
      break;

   case SpvOpName: {
      struct id_info *info = add_id(spirv, operand(spirv, word, 1));
      if (info)
         info->name = word;
      break;
   }

   case SpvOpDecorate:
      index_decoration(spirv, word);
      break;

   case SpvOpGroupDecorate:
      index_group(spirv, word);
      break;

   case SpvOpVariable:
   case SpvOpUntypedVariableKHR:
      if (operand(spirv, word, 3) != SpvStorageClassFunction)
         util_dynarray_append_typed(&spirv->variables, uint32_t, word);
      break;

   case SpvOpLine:
   case SpvOpNoLine: {
      struct state *state = change_state(spirv, word);
      state->op_line = opcode_at(spirv, word) == SpvOpLine ? word : 0;
      state->op_line_in_scope = true;
      break;
   }

   case SpvOpFunction: {
      struct state *state = change_state(spirv, word);
      struct function function = {
         .word = word,
         .op_line = state->op_line_in_scope ? state->op_line : 0,
      };
      util_dynarray_append_typed(&spirv->functions, struct function, function);
      state->function = util_dynarray_num_elements(&spirv->functions, struct function);
      break;
   }

   case SpvOpFunctionEnd:
      index_block_end(spirv, word);
      change_state(spirv, word + count_at(spirv, word))->function = 0;
      break;

   case SpvOpLabel:
      index_label(spirv, word);
      break;

   case SpvOpLoopMerge:
      lead_to_label(spirv, operand(spirv, word, 1));
      lead_to_label(spirv, operand(spirv, word, 2));
      break;

   case SpvOpSelectionMerge:
      lead_to_label(spirv, operand(spirv, word, 1));
      break;

   case SpvOpBranch:
      lead_to_label(spirv, operand(spirv, word, 1));
      break;

   case SpvOpBranchConditional:
      lead_to_label(spirv, operand(spirv, word, 2));
      lead_to_label(spirv, operand(spirv, word, 3));
      break;

   /* Cases start statements and have lines of their own. Where their labels are
    * depends on the selector's type.
    */
   case SpvOpSwitch:
      lead_to_label(spirv, operand(spirv, word, 2));
      break;

   default:
      break;
   }
   if (ends_block(opcode_at(spirv, word)))
      index_block_end(spirv, word);
}

struct gpuval_spirv *
gpuval_spirv_create(void *mem_ctx, const uint32_t *words, size_t word_count)
{
   if (!words || word_count <= HEADER_WORDS || word_count > MAX_WORDS || words[0] != SpvMagicNumber)
      return NULL;

   struct gpuval_spirv *spirv = rzalloc(mem_ctx, struct gpuval_spirv);
   if (!spirv)
      return NULL;

   spirv->size = word_count * sizeof(*words);
   spirv->words = ralloc_memdup(spirv, words, spirv->size);
   spirv->decorations = _mesa_hash_table_create_u32_keys(spirv);
   spirv->function_names = _mesa_pointer_hash_table_create(spirv);
   if (!spirv->words || !spirv->decorations || !spirv->function_names) {
      ralloc_free(spirv);
      return NULL;
   }

   spirv->strings = (const char *)spirv->words;
#if UTIL_ARCH_BIG_ENDIAN
   /* SPIR-V spec 2.2.1, "Literal": the first byte of a string is the lowest. */
   uint32_t *swapped = ralloc_array(spirv, uint32_t, word_count);
   for (size_t i = 0; i < word_count; i++)
      swapped[i] = util_bswap32(spirv->words[i]);
   spirv->strings = (const char *)swapped;
#endif

   spirv->bound = MIN2(spirv->words[HEADER_BOUND], MAX_BOUND);

   util_dynarray_init(&spirv->instructions, spirv);
   util_dynarray_init(&spirv->debug, spirv);
   util_dynarray_init(&spirv->ids, spirv);
   util_dynarray_init(&spirv->states, spirv);
   util_dynarray_init(&spirv->functions, spirv);
   util_dynarray_init(&spirv->entry_points, spirv);
   util_dynarray_init(&spirv->variables, spirv);
   util_dynarray_init(&spirv->sources, spirv);

   change_state(spirv, HEADER_WORDS);

   uint32_t word = HEADER_WORDS;
   while (word < word_count) {
      const unsigned count = count_at(spirv, word);
      if (count == 0 || count > word_count - word)
         break;

      if (is_debug(opcode_at(spirv, word)) ||
          (opcode_at(spirv, word) == SpvOpExtInst && spirv->debug_info_set &&
           operand(spirv, word, 3) == spirv->debug_info_set))
         util_dynarray_append_typed(&spirv->debug, uint32_t,
                                    util_dynarray_num_elements(&spirv->instructions, uint32_t));
      util_dynarray_append_typed(&spirv->instructions, uint32_t, word);
      index_instruction(spirv, word);
      word += count;
   }

   if (spirv->instructions.size == 0) {
      ralloc_free(spirv);
      return NULL;
   }

   return spirv;
}
