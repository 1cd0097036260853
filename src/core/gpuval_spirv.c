/* SPDX-License-Identifier: MIT */

/* One pass over the module notes where each instruction is, what defines each
 * id, and where debug lines change; look-ups search these notes. Source texts
 * are split into lines when the first line of one is asked for.
 *
 * Positions in the module are kept as offsets in words, `word` below. 0 stands
 * for none: the header is there.
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

#include "gpuval_spirv.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/spirv/spirv.h"
#include "util/hash_table.h"
#include "util/macros.h"
#include "util/ralloc.h"
#include "util/u_dynarray.h"
#include "util/u_endian.h"
#include "util/u_math.h"

/* SPIR-V spec 2.3, "Physical Layout of a SPIR-V Module and Instruction" */
#define HEADER_WORDS 5
#define HEADER_BOUND 3

/* SPIR-V spec 2.17, "Universal Limits": ids stay below that. */
#define MAX_BOUND 4194304

/* 256 MiB. Keeps all arrays below what a util_dynarray can hold. */
#define MAX_WORDS (1u << 26)

/* Chains of ids in a valid module are shorter, in others they may be rings. */
#define MAX_CHAIN 256

/* NonSemantic.Shader.DebugInfo.100, as far as it matters here. The set's later
 * versions only add to it.
 */
#define DEBUG_INFO_PREFIX "NonSemantic.Shader.DebugInfo."

enum debug_op {
   DEBUG_FUNCTION = 20,
   DEBUG_LEXICAL_BLOCK = 21,
   DEBUG_LEXICAL_BLOCK_DISCRIMINATOR = 22,
   DEBUG_SCOPE = 23,
   DEBUG_NO_SCOPE = 24,
   DEBUG_SOURCE = 35,
   DEBUG_FUNCTION_DEFINITION = 101,
   DEBUG_SOURCE_CONTINUED = 102,
   DEBUG_LINE = 103,
   DEBUG_NO_LINE = 104,
};

/* First operand of an instruction of an extended set: SPIR-V spec 3.32.4,
 * "OpExtInst".
 */
#define EXT_OPERAND 5

struct id_info {
   uint32_t definition; /* word */
   uint32_t name;       /* word of OpName */
   uint32_t state;      /* OpLabel: 1 + index of the state its block starts with, 0: unknown */
};

struct decorations {
   uint32_t set;
   uint32_t binding;
   bool has_set;
   bool has_binding;
   bool is_buffer_block;
};

/* What holds from the instruction at `word` on, up to the next state's. */
struct state {
   uint32_t word;
   uint32_t function;    /* 1 + index, 0: outside functions */
   uint32_t op_line;     /* word of OpLine */
   uint32_t debug_line;  /* word of DebugLine */
   uint32_t debug_scope; /* word of DebugScope */

   /* An instruction that is in scope says so, or says that there is none.
    * Otherwise the line, if any, is another block's.
    */
   bool op_line_in_scope;
   bool debug_line_in_scope;
};

struct function {
   uint32_t word;
   uint32_t op_line;        /* word of the OpLine that is in scope there */
   uint32_t debug_function; /* word of DebugFunction */
};

/* Consecutive lines of a text that are numbered without a gap. */
struct segment {
   const char *file; /* NULL: the source's own */
   uint32_t number;  /* of the first line; 0: not known */
   uint32_t first;   /* index in source::lines */
   uint32_t count;
};

struct source {
   uint32_t id; /* OpString with its file, or DebugSource; 0: none */
   const char *file;
   struct util_dynarray pieces; /* const char * */

   bool is_split;
   struct util_dynarray lines; /* const char *, trimmed */
   struct util_dynarray segments;
};

struct gpuval_spirv {
   uint32_t *words;
   size_t size;         /* bytes */
   size_t text_size;    /* bytes of all texts that have been split so far */
   const char *strings; /* the same in little endian, as literals are */
   uint32_t bound;
   uint32_t debug_info_set; /* id */
   bool has_debug_lines;

   struct util_dynarray instructions; /* uint32_t: word */
   struct util_dynarray ids;          /* struct id_info */
   struct util_dynarray states;       /* struct state, ascending */
   struct util_dynarray functions;    /* struct function */
   struct util_dynarray entry_points; /* uint32_t: word */
   struct util_dynarray variables;    /* uint32_t: word, those of the module */
   struct util_dynarray sources;      /* struct source */

   struct hash_table *decorations;    /* id -> struct decorations */
   struct hash_table *function_names; /* const char * as in the module -> as in the source */
};

/* Where the debug information says that something is. */
struct position {
   uint32_t source; /* source::id */
   const char *file;
   uint32_t line;
   uint32_t column;
};

/* A line of a text that may be the one at a position. */
struct candidate {
   const struct source *source;
   const struct segment *segment;
   uint32_t index; /* in source::lines */
};

/* Access to the module */

static SpvOp
opcode_at(const struct gpuval_spirv *spirv, uint32_t word)
{
   return spirv->words[word] & SpvOpCodeMask;
}

static unsigned
count_at(const struct gpuval_spirv *spirv, uint32_t word)
{
   return spirv->words[word] >> SpvWordCountShift;
}

/* 0, which is no id, if the instruction is too short. */
static uint32_t
operand(const struct gpuval_spirv *spirv, uint32_t word, unsigned index)
{
   return index < count_at(spirv, word) ? spirv->words[word + index] : 0;
}

/* NULL if the instruction ends before the string does. */
static const char *
string_operand(const struct gpuval_spirv *spirv, uint32_t word, unsigned index)
{
   const unsigned count = count_at(spirv, word);
   if (index >= count)
      return NULL;

   const char *string = spirv->strings + (size_t)(word + index) * 4;
   return memchr(string, 0, (size_t)(count - index) * 4) ? string : NULL;
}

static struct id_info *
get_id(const struct gpuval_spirv *spirv, uint32_t id)
{
   return id < util_dynarray_num_elements(&spirv->ids, struct id_info)
             ? util_dynarray_element(&spirv->ids, struct id_info, id)
             : NULL;
}

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

/* The instruction that defines @id, 0 if none does. */
static uint32_t
definition(const struct gpuval_spirv *spirv, uint32_t id)
{
   const struct id_info *info = get_id(spirv, id);
   return info ? info->definition : 0;
}

/* The same if it is an @opcode, 0 if not. */
static uint32_t
definition_by(const struct gpuval_spirv *spirv, uint32_t id, SpvOp opcode)
{
   const uint32_t word = definition(spirv, id);
   return word && opcode_at(spirv, word) == opcode ? word : 0;
}

/* The same for an instruction of the debug information. */
static uint32_t
definition_by_debug(const struct gpuval_spirv *spirv, uint32_t id, enum debug_op op)
{
   const uint32_t word = definition_by(spirv, id, SpvOpExtInst);
   return word && spirv->debug_info_set && operand(spirv, word, 3) == spirv->debug_info_set &&
                operand(spirv, word, 4) == op
             ? word
             : 0;
}

static const char *
string_of(const struct gpuval_spirv *spirv, uint32_t id)
{
   const uint32_t word = definition_by(spirv, id, SpvOpString);
   return word ? string_operand(spirv, word, 2) : NULL;
}

/* Debug information has numbers as constants. */
static uint32_t
constant_of(const struct gpuval_spirv *spirv, uint32_t id)
{
   const uint32_t word = definition_by(spirv, id, SpvOpConstant);
   return word && count_at(spirv, word) == 4 ? operand(spirv, word, 3) : 0;
}

/* NULL instead of an empty name. */
static const char *
name_of(const struct gpuval_spirv *spirv, uint32_t id)
{
   const struct id_info *info = get_id(spirv, id);
   if (!info || !info->name)
      return NULL;

   const char *name = string_operand(spirv, info->name, 2);
   return name && name[0] ? name : NULL;
}

static struct decorations *
get_decorations(const struct gpuval_spirv *spirv, uint32_t id)
{
   if (id == 0)
      return NULL;

   struct hash_entry *entry = _mesa_hash_table_search(spirv->decorations, (void *)(uintptr_t)id);
   return entry ? entry->data : NULL;
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

/* The one pass over the module */

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

   util_dynarray_append(&spirv->states, struct state, next);
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
   util_dynarray_init(&source.segments, spirv);
   util_dynarray_append(&spirv->sources, struct source, source);
}

static void
add_source_piece(struct gpuval_spirv *spirv, const char *piece)
{
   if (piece && spirv->sources.size) {
      struct source *source = util_dynarray_top_ptr(&spirv->sources, struct source);
      util_dynarray_append(&source->pieces, const char *, piece);
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

static void
index_instruction(struct gpuval_spirv *spirv, uint32_t word)
{
   index_definition(spirv, word);

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
      util_dynarray_append(&spirv->entry_points, uint32_t, word);
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
         util_dynarray_append(&spirv->variables, uint32_t, word);
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
      util_dynarray_append(&spirv->functions, struct function, function);
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
      index_block_end(spirv, word);
      break;

   case SpvOpBranchConditional:
      lead_to_label(spirv, operand(spirv, word, 2));
      lead_to_label(spirv, operand(spirv, word, 3));
      index_block_end(spirv, word);
      break;

   /* Cases start statements and have lines of their own. Where their labels are
    * depends on the selector's type.
    */
   case SpvOpSwitch:
      lead_to_label(spirv, operand(spirv, word, 2));
      index_block_end(spirv, word);
      break;

   case SpvOpKill:
   case SpvOpReturn:
   case SpvOpReturnValue:
   case SpvOpUnreachable:
   case SpvOpTerminateInvocation:
   case SpvOpIgnoreIntersectionKHR:
   case SpvOpTerminateRayKHR:
   case SpvOpEmitMeshTasksEXT:
      index_block_end(spirv, word);
      break;

   default:
      break;
   }
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

      util_dynarray_append(&spirv->instructions, uint32_t, word);
      index_instruction(spirv, word);
      word += count;
   }

   if (spirv->instructions.size == 0) {
      ralloc_free(spirv);
      return NULL;
   }

   return spirv;
}

/* Source texts */

static bool
is_blank(char c)
{
   return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool
is_digit(char c)
{
   return c >= '0' && c <= '9';
}

static bool
is_identifier(char c)
{
   return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static const char *
skip_blanks(const char *c)
{
   while (is_blank(*c))
      c++;
   return c;
}

/* What follows the name of directive @name on @line, NULL if it is another. */
static const char *
skip_directive(const char *line, const char *name)
{
   const char *c = skip_blanks(line);
   if (*c++ != '#')
      return NULL;

   c = skip_blanks(c);
   const size_t length = strlen(name);
   return strncmp(c, name, length) == 0 && !is_identifier(c[length]) ? skip_blanks(c + length)
                                                                     : NULL;
}

/* Whether a comment is open behind @line if one is (not) before it. Backslashes
 * at the ends of lines are not looked at.
 */
static bool
comment_stays_open(const char *line, bool is_open)
{
   for (const char *c = line; *c; c++) {
      if (is_open) {
         if (c[0] == '*' && c[1] == '/') {
            is_open = false;
            c++;
         }
      } else if (c[0] == '/' && c[1] == '/') {
         break;
      } else if (c[0] == '/' && c[1] == '*') {
         is_open = true;
         c++;
      }
   }
   return is_open;
}

/* The segment that a `#line` directive starts, whose arguments are at @c: a
 * number; a number and a "file"; a number and that of a source string, which
 * has no name in SPIR-V. Anything else, macros above all, leaves the numbers
 * unknown up to the next.
 */
static struct segment
parse_line_directive(struct gpuval_spirv *spirv, const char *c, const char *file_before)
{
   struct segment segment = {.file = file_before};

   if (!is_digit(*c))
      return segment;

   char *end;
   const unsigned long number = strtoul(c, &end, 10);
   c = skip_blanks(end);

   if (*c == '"') {
      const char *quote = strchr(++c, '"');
      if (!quote)
         return segment;
      segment.file = ralloc_strndup(spirv, c, quote - c);
   } else if (c > end && is_digit(*c)) {
      segment.file = NULL;
   } else if (*c && *c != '/') {
      return segment;
   }

   if (number < INT32_MAX)
      segment.number = number;
   return segment;
}

/* GLSL before 3.30 numbers the line behind `#line N` N + 1, as seed 002's
 * example of "OpSource Processing" does. GLSL 3.30 and later, ESSL, HLSL and C
 * number it N; so does glslang for what it puts before `#version` itself.
 */
static bool
is_old_glsl(const char *version)
{
   char *end;
   const unsigned long number = strtoul(version, &end, 10);
   return number && number < 330 && strncmp(skip_blanks(end), "es", 2) != 0;
}

/* NULL for more text than a sane module can have: debug information may name
 * one OpString over and over.
 */
static char *
join_pieces(struct gpuval_spirv *spirv, const struct source *source)
{
   size_t size = 1;
   util_dynarray_foreach (&source->pieces, const char *, piece) {
      size += strlen(*piece);
      if (size > spirv->size)
         return NULL;
   }

   spirv->text_size += size;
   if (spirv->text_size > 4 * spirv->size)
      return NULL;

   char *text = ralloc_size(spirv, size);
   if (!text)
      return NULL;

   char *end = text;
   util_dynarray_foreach (&source->pieces, const char *, piece) {
      const size_t length = strlen(*piece);
      memcpy(end, *piece, length);
      end += length;
   }
   *end = '\0';
   return text;
}

/* Cuts a source's text into lines, and counts them as its compiler did, but for
 * directives that `#if` takes out: macros are not known here.
 */
static void
split_source(struct gpuval_spirv *spirv, struct source *source)
{
   if (source->is_split)
      return;
   source->is_split = true;

   struct segment segment = {.number = 1};
   bool in_comment = false;
   bool directive_counts = false;
   uint32_t index = 0;

   char *next = source->pieces.size ? join_pieces(spirv, source) : NULL;
   if (!next)
      return;

   while (next) {
      char *line = next;
      char *end = line + strcspn(line, "\n");
      next = *end ? end + 1 : NULL;
      *end = '\0';

      const char *version = in_comment ? NULL : skip_directive(line, "version");
      const char *renumber = in_comment ? NULL : skip_directive(line, "line");
      if (version)
         directive_counts = is_old_glsl(version);
      if (renumber) {
         util_dynarray_append(&source->segments, struct segment, segment);
         segment = parse_line_directive(spirv, renumber, segment.file);
         segment.first = index + 1;
         if (segment.number && directive_counts)
            segment.number++;
      } else {
         segment.count++;
      }
      in_comment = comment_stays_open(line, in_comment);

      line = (char *)skip_blanks(line);
      while (end > line && is_blank(end[-1]))
         *--end = '\0';
      util_dynarray_append(&source->lines, const char *, line);
      index++;
   }

   util_dynarray_append(&source->segments, struct segment, segment);
}

/* How well a line of @segment can be said to be one of the file at @position;
 * 0 if it cannot.
 */
static unsigned
rank_segment(const struct gpuval_spirv *spirv, const struct source *source,
             const struct segment *segment, const struct position *position)
{
   const bool is_same_source =
      (position->source && source->id == position->source) ||
      (position->file && source->file && strcmp(source->file, position->file) == 0);

   if (segment->file) {
      if (!position->file || strcmp(segment->file, position->file) != 0)
         return 0;
      return is_same_source ? 3 : 2;
   }

   if (is_same_source)
      return 3;

   /* A text with no file is that of all lines if there is no other. */
   return !source->file && spirv->sources.size == sizeof(struct source) ? 1 : 0;
}

/* The lines of source texts that have the number that is asked for, the best
 * ranked only, in @candidates.
 */
static void
collect_candidates(struct gpuval_spirv *spirv, const struct position *position,
                   struct util_dynarray *candidates)
{
   unsigned best = 1;

   util_dynarray_foreach (&spirv->sources, struct source, source) {
      split_source(spirv, source);

      util_dynarray_foreach (&source->segments, struct segment, segment) {
         if (!segment->number || position->line < segment->number ||
             position->line - segment->number >= segment->count)
            continue;

         const unsigned rank = rank_segment(spirv, source, segment, position);
         if (rank < best)
            continue;
         if (rank > best)
            util_dynarray_clear(candidates);
         best = rank;

         const struct candidate candidate = {
            .source = source,
            .segment = segment,
            .index = segment->first + (position->line - segment->number),
         };
         util_dynarray_append(candidates, struct candidate, candidate);
      }
   }
}

static const char *
candidate_text(const struct candidate *candidate)
{
   return *util_dynarray_element(&candidate->source->lines, const char *, candidate->index);
}

static bool
has_word(const char *text, const char *word)
{
   const size_t length = strlen(word);

   for (const char *c = strstr(text, word); c && length; c = strstr(c + 1, word)) {
      if ((c == text || !is_identifier(c[-1])) && !is_identifier(c[length]))
         return true;
   }
   return false;
}

/* Debug lines */

static bool
decode_op_line(const struct gpuval_spirv *spirv, uint32_t word, struct position *position)
{
   *position = (struct position){
      .source = operand(spirv, word, 1),
      .file = string_of(spirv, operand(spirv, word, 1)),
      .line = operand(spirv, word, 2),
      .column = operand(spirv, word, 3),
   };
   return position->line != 0;
}

/* The source and the constant of the line number at operands @source and @line
 * of debug instruction @word.
 */
static bool
decode_debug_position(const struct gpuval_spirv *spirv, uint32_t word, unsigned source,
                      unsigned line, struct position *position)
{
   const uint32_t id = operand(spirv, word, EXT_OPERAND + source);
   const uint32_t debug_source = definition_by_debug(spirv, id, DEBUG_SOURCE);

   *position = (struct position){
      .source = id,
      .line = constant_of(spirv, operand(spirv, word, EXT_OPERAND + line)),
   };
   if (debug_source)
      position->file = string_of(spirv, operand(spirv, debug_source, EXT_OPERAND));
   return position->line != 0;
}

static bool
decode_debug_line(const struct gpuval_spirv *spirv, uint32_t word, struct position *position)
{
   if (!decode_debug_position(spirv, word, 0, 1, position))
      return false;

   position->column = constant_of(spirv, operand(spirv, word, EXT_OPERAND + 3));
   return true;
}

static bool
decode_line(const struct gpuval_spirv *spirv, const struct state *state, struct position *position,
            bool *inherited)
{
   *inherited = false;
   if (state->debug_line_in_scope)
      return state->debug_line && decode_debug_line(spirv, state->debug_line, position);
   if (state->op_line_in_scope)
      return state->op_line && decode_op_line(spirv, state->op_line, position);

   *inherited = true;
   if (state->debug_line)
      return decode_debug_line(spirv, state->debug_line, position);

   /* Next to DebugLines, an OpLine is that of the function's head. */
   return state->op_line && !spirv->has_debug_lines &&
          decode_op_line(spirv, state->op_line, position);
}

/* Functions */

/* glslang appends the types of the parameters, `f(vf4;`; and calls an HLSL
 * entry point `@main(`, DXC `src.main`, to tell it from what wraps it.
 */
static const char *
function_name_in_source(struct gpuval_spirv *spirv, const char *name)
{
   if (!name || !name[0])
      return NULL;

   struct hash_entry *entry = _mesa_hash_table_search(spirv->function_names, name);
   if (entry)
      return entry->data;

   const char *start = name;
   if (start[0] == '@')
      start++;
   else if (strncmp(start, "src.", 4) == 0)
      start += 4;

   const size_t length = strcspn(start, "(");
   const char *cut = length ? ralloc_strndup(spirv, start, length) : NULL;
   _mesa_hash_table_insert(spirv->function_names, name, (void *)cut);
   return cut;
}

/* The DebugFunction that DebugScope @scope is in, 0 if none. */
static uint32_t
function_of_scope(const struct gpuval_spirv *spirv, uint32_t scope)
{
   uint32_t id = operand(spirv, scope, EXT_OPERAND);

   for (unsigned i = 0; i < MAX_CHAIN; i++) {
      uint32_t word;
      if ((word = definition_by_debug(spirv, id, DEBUG_FUNCTION)))
         return word;
      else if ((word = definition_by_debug(spirv, id, DEBUG_LEXICAL_BLOCK)))
         id = operand(spirv, word, EXT_OPERAND + 3);
      else if ((word = definition_by_debug(spirv, id, DEBUG_LEXICAL_BLOCK_DISCRIMINATOR)))
         id = operand(spirv, word, EXT_OPERAND + 2);
      else
         break;
   }
   return 0;
}

/* Name of the function that @state is in, and in @head where that begins, if
 * both are known. What has been inlined is still in its own function as far as
 * scopes say.
 */
static const char *
describe_function(struct gpuval_spirv *spirv, const struct state *state, struct position *head)
{
   *head = (struct position){0};

   if (!state->function)
      return NULL;
   const struct function *function =
      util_dynarray_element(&spirv->functions, struct function, state->function - 1);

   uint32_t debug_function = function->debug_function;
   if (state->debug_scope) {
      const uint32_t of_scope = function_of_scope(spirv, state->debug_scope);
      if (of_scope)
         debug_function = of_scope;
   }

   if (!debug_function || !decode_debug_position(spirv, debug_function, 2, 3, head)) {
      if (function->op_line)
         decode_op_line(spirv, function->op_line, head);
   }

   if (debug_function) {
      const char *name = string_of(spirv, operand(spirv, debug_function, EXT_OPERAND));
      if (name && name[0])
         return function_name_in_source(spirv, name);
   }

   const uint32_t id = operand(spirv, function->word, 2);
   const char *name = name_of(spirv, id);
   if (!name) {
      util_dynarray_foreach (&spirv->entry_points, uint32_t, word) {
         if (id && operand(spirv, *word, 2) == id) {
            name = string_operand(spirv, *word, 3);
            break;
         }
      }
   }
   return function_name_in_source(spirv, name);
}

/* Index of the line of @source that has the head of function @name on it,
 * UINT32_MAX if none or several could.
 */
static uint32_t
find_head(struct gpuval_spirv *spirv, const struct source *source, const char *name,
          const struct position *head)
{
   uint32_t index = UINT32_MAX;

   if (!name || !head->line)
      return index;

   struct util_dynarray candidates;
   util_dynarray_init(&candidates, NULL);
   collect_candidates(spirv, head, &candidates);

   util_dynarray_foreach (&candidates, struct candidate, candidate) {
      if (candidate->source != source || !has_word(candidate_text(candidate), name))
         continue;
      if (index != UINT32_MAX) {
         index = UINT32_MAX;
         break;
      }
      index = candidate->index;
   }

   util_dynarray_fini(&candidates);
   return index;
}

/* The line of source at @position, in function @name whose head is at @head.
 *
 * Where directives give one number to several lines of a file, it is the first
 * behind the function's head. If that is not known either, it is that of the
 * directive with the largest number, and of the last such (seed 002, "OpSource
 * Processing").
 */
static const char *
find_text(struct gpuval_spirv *spirv, const struct position *position, const char *name,
          const struct position *head)
{
   struct util_dynarray candidates;
   util_dynarray_init(&candidates, NULL);
   collect_candidates(spirv, position, &candidates);

   const struct candidate *best = NULL;
   util_dynarray_foreach (&candidates, struct candidate, candidate) {
      if (!best || candidate->segment->number >= best->segment->number)
         best = candidate;
   }

   if (util_dynarray_num_elements(&candidates, struct candidate) > 1) {
      const struct candidate *first = NULL;
      util_dynarray_foreach (&candidates, struct candidate, candidate) {
         const uint32_t index = find_head(spirv, candidate->source, name, head);
         if (index <= candidate->index && (!first || candidate->index < first->index))
            first = candidate;
      }
      if (first)
         best = first;
   }

   const char *text = best ? candidate_text(best) : NULL;
   util_dynarray_fini(&candidates);
   return text && text[0] ? text : NULL;
}

/* Variables */

/* The definition that the pointer or image @id starts from; a variable's if it
 * is clear which one it is. 0 if unknown.
 */
static uint32_t
find_root(const struct gpuval_spirv *spirv, uint32_t id, bool is_image)
{
   for (unsigned i = 0; i < MAX_CHAIN; i++) {
      const uint32_t word = definition(spirv, id);
      if (!word)
         return 0;

      switch (opcode_at(spirv, word)) {
      case SpvOpAccessChain:
      case SpvOpInBoundsAccessChain:
      case SpvOpPtrAccessChain:
      case SpvOpInBoundsPtrAccessChain:
      case SpvOpRawAccessChainNV:
      case SpvOpImageTexelPointer:
      case SpvOpCopyObject:
         id = operand(spirv, word, 3);
         break;

      case SpvOpUntypedAccessChainKHR:
      case SpvOpUntypedInBoundsAccessChainKHR:
      case SpvOpUntypedPtrAccessChainKHR:
      case SpvOpUntypedInBoundsPtrAccessChainKHR:
         id = operand(spirv, word, 4);
         break;

      case SpvOpImage:
      case SpvOpSampledImage:
         if (!is_image)
            return word;
         id = operand(spirv, word, 3);
         break;

      case SpvOpLoad:
         if (!is_image)
            return word;
         /* From here on it is a pointer: to the image, not loaded itself. */
         is_image = false;
         id = operand(spirv, word, 3);
         break;

      default:
         return word;
      }
   }
   return 0;
}

/* The type in @id, or what it is an array of. Word of its definition. */
static uint32_t
unwrap_arrays(const struct gpuval_spirv *spirv, uint32_t id)
{
   for (unsigned i = 0; i < MAX_CHAIN; i++) {
      const uint32_t word = definition(spirv, id);
      if (!word || (opcode_at(spirv, word) != SpvOpTypeArray &&
                    opcode_at(spirv, word) != SpvOpTypeRuntimeArray))
         return word;
      id = operand(spirv, word, 2);
   }
   return 0;
}

/* What a pointer or variable points to, arrays aside. Word of the type. */
static uint32_t
find_pointee(const struct gpuval_spirv *spirv, uint32_t word)
{
   if (opcode_at(spirv, word) == SpvOpUntypedVariableKHR)
      return unwrap_arrays(spirv, operand(spirv, word, 4));

   const uint32_t type = definition_by(spirv, operand(spirv, word, 1), SpvOpTypePointer);
   return type ? unwrap_arrays(spirv, operand(spirv, type, 3)) : 0;
}

static const char *
block_name(const struct gpuval_spirv *spirv, uint32_t word)
{
   const uint32_t type = find_pointee(spirv, word);
   return type && opcode_at(spirv, type) == SpvOpTypeStruct
             ? name_of(spirv, operand(spirv, type, 1))
             : NULL;
}

static const char *
variable_name(const struct gpuval_spirv *spirv, uint32_t word)
{
   const char *name = name_of(spirv, operand(spirv, word, 2));
   return name ? name : block_name(spirv, word);
}

static bool
is_variable(const struct gpuval_spirv *spirv, uint32_t word)
{
   return opcode_at(spirv, word) == SpvOpVariable ||
          opcode_at(spirv, word) == SpvOpUntypedVariableKHR;
}

static bool
is_storage(const struct gpuval_spirv *spirv, uint32_t variable)
{
   const uint32_t type = find_pointee(spirv, variable);

   switch (operand(spirv, variable, 3)) {
   case SpvStorageClassStorageBuffer:
      return true;

   case SpvStorageClassUniform: {
      const struct decorations *decorations =
         type ? get_decorations(spirv, operand(spirv, type, 1)) : NULL;
      return decorations && decorations->is_buffer_block;
   }

   case SpvStorageClassUniformConstant:
      /* "Sampled" is 2 for input attachments, too. */
      return type && opcode_at(spirv, type) == SpvOpTypeImage &&
             operand(spirv, type, 3) != SpvDimSubpassData && operand(spirv, type, 7) == 2;

   default:
      return false;
   }
}

/* The operand of @word that a pointer or image is in, 0 if none is. */
static unsigned
accessed_operand(const struct gpuval_spirv *spirv, uint32_t word, bool *is_image)
{
   *is_image = false;

   switch (opcode_at(spirv, word)) {
   case SpvOpStore:
   case SpvOpCopyMemory:
   case SpvOpCopyMemorySized:
   case SpvOpAtomicStore:
   case SpvOpAtomicFlagClear:
   case SpvOpCooperativeMatrixStoreKHR:
   case SpvOpCooperativeMatrixStoreNV:
   case SpvOpCooperativeMatrixStoreTensorNV:
      return 1;

   case SpvOpLoad:
   case SpvOpAccessChain:
   case SpvOpInBoundsAccessChain:
   case SpvOpPtrAccessChain:
   case SpvOpInBoundsPtrAccessChain:
   case SpvOpRawAccessChainNV:
   case SpvOpArrayLength:
   case SpvOpImageTexelPointer:
   case SpvOpAtomicLoad:
   case SpvOpAtomicExchange:
   case SpvOpAtomicCompareExchange:
   case SpvOpAtomicCompareExchangeWeak:
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
   case SpvOpAtomicFlagTestAndSet:
   case SpvOpAtomicFMinEXT:
   case SpvOpAtomicFMaxEXT:
   case SpvOpAtomicFAddEXT:
   case SpvOpCooperativeMatrixLoadKHR:
   case SpvOpCooperativeMatrixLoadNV:
   case SpvOpCooperativeMatrixLoadTensorNV:
      return 3;

   case SpvOpUntypedAccessChainKHR:
   case SpvOpUntypedInBoundsAccessChainKHR:
   case SpvOpUntypedPtrAccessChainKHR:
   case SpvOpUntypedInBoundsPtrAccessChainKHR:
   case SpvOpUntypedArrayLengthKHR:
      return 4;

   case SpvOpImageWrite:
      *is_image = true;
      return 1;

   case SpvOpSampledImage:
   case SpvOpImage:
   case SpvOpImageSampleImplicitLod:
   case SpvOpImageSampleExplicitLod:
   case SpvOpImageSampleDrefImplicitLod:
   case SpvOpImageSampleDrefExplicitLod:
   case SpvOpImageSampleProjImplicitLod:
   case SpvOpImageSampleProjExplicitLod:
   case SpvOpImageSampleProjDrefImplicitLod:
   case SpvOpImageSampleProjDrefExplicitLod:
   case SpvOpImageFetch:
   case SpvOpImageGather:
   case SpvOpImageDrefGather:
   case SpvOpImageRead:
   case SpvOpImageQueryFormat:
   case SpvOpImageQueryOrder:
   case SpvOpImageQuerySizeLod:
   case SpvOpImageQuerySize:
   case SpvOpImageQueryLod:
   case SpvOpImageQueryLevels:
   case SpvOpImageQuerySamples:
   case SpvOpImageSparseSampleImplicitLod:
   case SpvOpImageSparseSampleExplicitLod:
   case SpvOpImageSparseSampleDrefImplicitLod:
   case SpvOpImageSparseSampleDrefExplicitLod:
   case SpvOpImageSparseSampleProjImplicitLod:
   case SpvOpImageSparseSampleProjExplicitLod:
   case SpvOpImageSparseSampleProjDrefImplicitLod:
   case SpvOpImageSparseSampleProjDrefExplicitLod:
   case SpvOpImageSparseFetch:
   case SpvOpImageSparseGather:
   case SpvOpImageSparseDrefGather:
   case SpvOpImageSparseRead:
      *is_image = true;
      return 3;

   default:
      return 0;
   }
}

static void
describe_variable(const struct gpuval_spirv *spirv, uint32_t word,
                  struct gpuval_spirv_location *out)
{
   bool is_image;
   const unsigned index = accessed_operand(spirv, word, &is_image);
   const uint32_t root = index ? find_root(spirv, operand(spirv, word, index), is_image) : 0;
   if (!root)
      return;

   if (is_variable(spirv, root)) {
      const struct decorations *decorations = get_decorations(spirv, operand(spirv, root, 2));
      out->variable = variable_name(spirv, root);
      if (decorations && decorations->has_set && decorations->has_binding) {
         out->set = decorations->set;
         out->binding = decorations->binding;
         out->has_binding = true;
      }
      return;
   }

   /* Addresses come from anywhere, but their type tells the block. */
   const uint32_t type = definition_by(spirv, operand(spirv, root, 1), SpvOpTypePointer);
   if (type && operand(spirv, type, 2) == SpvStorageClassPhysicalStorageBuffer)
      out->variable = block_name(spirv, root);
}

const char *
gpuval_spirv_binding_name(struct gpuval_spirv *spirv, uint32_t set, uint32_t binding, bool storage)
{
   const char *found = NULL;

   util_dynarray_foreach (&spirv->variables, uint32_t, word) {
      const struct decorations *decorations = get_decorations(spirv, operand(spirv, *word, 2));
      if (!decorations || !decorations->has_set || !decorations->has_binding ||
          decorations->set != set || decorations->binding != binding ||
          is_storage(spirv, *word) != storage)
         continue;

      const char *name = variable_name(spirv, *word);
      if (!name || (found && strcmp(found, name) != 0))
         return NULL;
      found = name;
   }
   return found;
}

/* Look-ups */

/* Index of the last instruction that starts at @word or before. */
static uint32_t
find_instruction(const struct gpuval_spirv *spirv, uint32_t word)
{
   uint32_t low = 0;
   uint32_t high = util_dynarray_num_elements(&spirv->instructions, uint32_t);

   while (high - low > 1) {
      const uint32_t middle = low + (high - low) / 2;
      if (*util_dynarray_element(&spirv->instructions, uint32_t, middle) <= word)
         low = middle;
      else
         high = middle;
   }
   return low;
}

static const struct state *
find_state(const struct gpuval_spirv *spirv, uint32_t word)
{
   uint32_t low = 0;
   uint32_t high = util_dynarray_num_elements(&spirv->states, struct state);

   while (high - low > 1) {
      const uint32_t middle = low + (high - low) / 2;
      if (util_dynarray_element(&spirv->states, struct state, middle)->word <= word)
         low = middle;
      else
         high = middle;
   }
   return util_dynarray_element(&spirv->states, struct state, low);
}

bool
gpuval_spirv_lookup(struct gpuval_spirv *spirv, uint32_t byte_offset,
                    struct gpuval_spirv_location *out)
{
   *out = (struct gpuval_spirv_location){0};

   const uint32_t wanted = byte_offset / 4;
   if (wanted < HEADER_WORDS)
      return false;

   const uint32_t index = find_instruction(spirv, wanted);
   const uint32_t word = *util_dynarray_element(&spirv->instructions, uint32_t, index);
   if (wanted - word >= count_at(spirv, word))
      return false;

   out->instruction = index;
   out->opcode = opcode_at(spirv, word);
   describe_variable(spirv, word, out);

   const struct state *state = find_state(spirv, word);
   struct position head, position;
   bool inherited;
   out->function = describe_function(spirv, state, &head);

   if (decode_line(spirv, state, &position, &inherited)) {
      out->file = position.file && position.file[0] ? position.file : NULL;
      out->line = position.line;
      out->column = position.column;
      out->line_inherited = inherited;
      out->text = find_text(spirv, &position, out->function, &head);
   }
   return true;
}
