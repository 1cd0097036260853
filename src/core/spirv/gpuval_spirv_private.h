/* SPDX-License-Identifier: MIT */

/* Between the files of gpuval_spirv_*.c only: what the one pass over the module
 * leaves, and how to read it.
 *
 * Positions in the module are kept as offsets in words, `word` below. 0 stands
 * for none: the header is there.
 */

#ifndef GPUVAL_SPIRV_PRIVATE_H
#define GPUVAL_SPIRV_PRIVATE_H

#include "gpuval_spirv.h"

#include <string.h>

#include "compiler/spirv/spirv.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/hash_table.h"

/* SPIR-V spec 2.3, "Physical Layout of a SPIR-V Module and Instruction" */
#define HEADER_WORDS 5

/* Chains of ids in a valid module are shorter, in others they may be rings. */
#define MAX_CHAIN 256

/* NonSemantic.Shader.DebugInfo.100, as far as it matters here. The set's later
 * versions only add to it.
 */
enum debug_op {
   DEBUG_FUNCTION = 20,
   DEBUG_LEXICAL_BLOCK = 21,
   DEBUG_LEXICAL_BLOCK_DISCRIMINATOR = 22,
   DEBUG_SCOPE = 23,
   DEBUG_NO_SCOPE = 24,
   DEBUG_INLINED_AT = 25,
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
   uint32_t value;      /* the same of types of numbers, and what computes with them */
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

struct source {
   uint32_t id; /* OpString with its file, or DebugSource; 0: none */
   const char *file;
   struct util_dynarray pieces; /* const char * */
   struct util_dynarray lines;  /* const char *, trimmed; once texts are split */
};

struct gpuval_spirv {
   uint32_t *words;
   size_t size;         /* bytes */
   const char *strings; /* the same in little endian, as literals are */
   uint32_t bound;
   uint32_t debug_info_set; /* id */
   bool has_debug_lines;
   bool has_code_hash;
   uint64_t code_hash;

   struct util_dynarray instructions; /* uint32_t: word */
   struct util_dynarray debug;        /* uint32_t: indices of debug instructions, ascending */
   struct util_dynarray ids;          /* struct id_info */
   struct util_dynarray states;       /* struct state, ascending */
   struct util_dynarray functions;    /* struct function */
   struct util_dynarray entry_points; /* uint32_t: word */
   struct util_dynarray variables;    /* uint32_t: word, those of the module */
   struct util_dynarray sources;      /* struct source */

   struct hash_table *decorations;    /* id -> struct decorations */
   struct hash_table *function_names; /* const char * as in the module -> as in the source */
   struct gpuval_spirv_text *text;    /* NULL until a line of it is asked for */
   struct gpuval_call_tree *calls;    /* NULL until a stack is asked for */
};

/* Where the debug information says that something is. */
struct position {
   uint32_t source; /* source::id */
   const char *file;
   uint32_t line;
   uint32_t column;
};

static inline SpvOp
opcode_at(const struct gpuval_spirv *spirv, uint32_t word)
{
   return spirv->words[word] & SpvOpCodeMask;
}

static inline unsigned
count_at(const struct gpuval_spirv *spirv, uint32_t word)
{
   return spirv->words[word] >> SpvWordCountShift;
}

/* Does it end a block? */
static inline bool
ends_block(SpvOp opcode)
{
   switch (opcode) {
   case SpvOpBranch:
   case SpvOpBranchConditional:
   case SpvOpSwitch:
   case SpvOpKill:
   case SpvOpReturn:
   case SpvOpReturnValue:
   case SpvOpUnreachable:
   case SpvOpTerminateInvocation:
   case SpvOpIgnoreIntersectionKHR:
   case SpvOpTerminateRayKHR:
   case SpvOpEmitMeshTasksEXT:
      return true;
   default:
      return false;
   }
}

/* 0, which is no id, if the instruction is too short. */
static inline uint32_t
operand(const struct gpuval_spirv *spirv, uint32_t word, unsigned index)
{
   return index < count_at(spirv, word) ? spirv->words[word + index] : 0;
}

/* NULL if the instruction ends before the string does. */
static inline const char *
string_operand(const struct gpuval_spirv *spirv, uint32_t word, unsigned index)
{
   const unsigned count = count_at(spirv, word);
   if (index >= count)
      return NULL;

   const char *string = spirv->strings + (size_t)(word + index) * 4;
   return memchr(string, 0, (size_t)(count - index) * 4) ? string : NULL;
}

static inline struct id_info *
get_id(const struct gpuval_spirv *spirv, uint32_t id)
{
   return id < util_dynarray_num_elements(&spirv->ids, struct id_info)
             ? util_dynarray_element(&spirv->ids, struct id_info, id)
             : NULL;
}

/* The instruction that defines @id, 0 if none does. */
static inline uint32_t
definition(const struct gpuval_spirv *spirv, uint32_t id)
{
   const struct id_info *info = get_id(spirv, id);
   return info ? info->definition : 0;
}

/* The same, also of what has no other definition. */
static inline uint32_t
value_definition(const struct gpuval_spirv *spirv, uint32_t id)
{
   const struct id_info *info = get_id(spirv, id);
   return !info ? 0 : info->definition ? info->definition : info->value;
}

/* That of definition() if it is an @opcode, 0 if not. */
static inline uint32_t
definition_by(const struct gpuval_spirv *spirv, uint32_t id, SpvOp opcode)
{
   const uint32_t word = definition(spirv, id);
   return word && opcode_at(spirv, word) == opcode ? word : 0;
}

/* The same for an instruction of the debug information. */
static inline uint32_t
definition_by_debug(const struct gpuval_spirv *spirv, uint32_t id, enum debug_op op)
{
   const uint32_t word = definition_by(spirv, id, SpvOpExtInst);
   return word && spirv->debug_info_set && operand(spirv, word, 3) == spirv->debug_info_set &&
                operand(spirv, word, 4) == op
             ? word
             : 0;
}

static inline const char *
string_of(const struct gpuval_spirv *spirv, uint32_t id)
{
   const uint32_t word = definition_by(spirv, id, SpvOpString);
   return word ? string_operand(spirv, word, 2) : NULL;
}

/* Debug information has numbers as constants. */
static inline uint32_t
constant_of(const struct gpuval_spirv *spirv, uint32_t id)
{
   const uint32_t word = definition_by(spirv, id, SpvOpConstant);
   return word && count_at(spirv, word) == 4 ? operand(spirv, word, 3) : 0;
}

/* NULL instead of an empty name. */
static inline const char *
name_of(const struct gpuval_spirv *spirv, uint32_t id)
{
   const struct id_info *info = get_id(spirv, id);
   if (!info || !info->name)
      return NULL;

   const char *name = string_operand(spirv, info->name, 2);
   return name && name[0] ? name : NULL;
}

static inline struct decorations *
get_decorations(const struct gpuval_spirv *spirv, uint32_t id)
{
   if (id == 0)
      return NULL;

   struct hash_entry *entry = _mesa_hash_table_search(spirv->decorations, (void *)(uintptr_t)id);
   return entry ? entry->data : NULL;
}

/** A value of 32 bits a component. */
struct gpuval_spirv_known {
   unsigned count; /* of the first components, that are known; 0: nothing is */
   uint32_t words[4];
};

struct gpuval_spirv_invocation {
   bool is_known;
   uint32_t model;
   const char *entry;
   uint32_t words[3]; /* docs/protocols.rst, "Invocations" */
};

/** Returns what the built-in @variable was; of others nothing. */
struct gpuval_spirv_known
gpuval_spirv_builtin_value(const struct gpuval_spirv *spirv, uint32_t variable,
                           const struct gpuval_spirv_invocation *invocation);

struct gpuval_spirv_step {
   uint32_t id;     /* of the index, which is no constant */
   uint32_t stride; /* bytes */
};

/** A pointer points to its base, `offset` bytes, and each index times its stride. */
struct gpuval_spirv_chain {
   uint32_t base;       /* id: a variable, or a pointer that was loaded or made */
   uint32_t descriptor; /* id: the index of an array of descriptors; 0: it is none */
   uint64_t offset;
   unsigned count;
   struct gpuval_spirv_step steps[8];
};

/**
 * Finds where @pointer points to. False: the types that it leads through have no explicit layout;
 * the base and the descriptor are those that were found until there.
 */
bool gpuval_spirv_find_chain(const struct gpuval_spirv *spirv, uint32_t pointer,
                             struct gpuval_spirv_chain *chain);

/**
 * Returns what the source calls what @pointer points to, such as `p.index`; "" of a block without a
 * name; NULL: it has no name. Sets *type to the id of its type.
 */
const char *gpuval_spirv_pointer_name(struct gpuval_spirv *spirv, uint32_t pointer, uint32_t *type);

/** The operand of the instruction at @word that a pointer or image is in; 0: none is. */
unsigned gpuval_spirv_accessed_operand(const struct gpuval_spirv *spirv, uint32_t word,
                                       bool *is_image);

/** The id of the entry point's function; 0: there is none. */
uint32_t gpuval_spirv_find_entry(const struct gpuval_spirv *spirv, uint32_t model,
                                 const char *name);

/** Whether an instruction begins at @word. */
bool gpuval_spirv_is_instruction(const struct gpuval_spirv *spirv, uint32_t word);

/**
 * Finds the calls that lead to the instruction at @offset, as gpuval_call_tree_find(): at most
 * @max, or none where they are more.
 */
unsigned gpuval_spirv_find_calls(struct gpuval_spirv *spirv, uint32_t model, const char *entry,
                                 uint32_t offset, uint32_t *calls, unsigned max);

/** The id of the DebugInlinedAt of the scope that the instruction at @word is in; 0: none. */
uint32_t gpuval_spirv_inlined_at(const struct gpuval_spirv *spirv, uint32_t word);

/** Returns the DebugFunction that scope @id is in or is itself; 0: none. */
uint32_t gpuval_spirv_function_of_scope(const struct gpuval_spirv *spirv, uint32_t id);

/** Returns the name of a DebugFunction as in the source, or NULL; @head is where it begins. */
const char *gpuval_spirv_debug_function_name(struct gpuval_spirv *spirv, uint32_t function,
                                             struct position *head);

/** Where DebugInlinedAt @word says that a call in @function was. Returns false if it does not. */
bool gpuval_spirv_inlined_position(const struct gpuval_spirv *spirv, uint32_t word,
                                   uint32_t function, struct position *position);

/** How many instructions that are not for debugging are before the one at @word. */
uint32_t gpuval_spirv_count_code(const struct gpuval_spirv *spirv, uint32_t word);

/**
 * Where the instruction at @word is, if debug information in its own block says so. Returns false
 * where it does not.
 */
bool gpuval_spirv_position_at(const struct gpuval_spirv *spirv, uint32_t word,
                              struct position *position);

/**
 * Returns the name of function @number, as in the source, or NULL; @head is where it begins, as far
 * as that is known.
 */
const char *gpuval_spirv_function_head(struct gpuval_spirv *spirv, uint32_t number,
                                       struct position *head);

/**
 * Returns the text of the file that @position is in, line by line as debug information counts
 * them, of @mem_ctx; NULL where the module does not have it.
 */
char *gpuval_spirv_file_text(void *mem_ctx, struct gpuval_spirv *spirv,
                             const struct position *position);

/**
 * The line of source at @position, in function @name (which may be NULL) whose head
 * is at @head. NULL if it is not there; else it sets the extract in @out.
 */
const char *gpuval_spirv_find_text(struct gpuval_spirv *spirv, const struct position *position,
                                   const char *name, const struct position *head,
                                   struct gpuval_spirv_location *out);

#endif
