/* SPDX-License-Identifier: MIT */

/* From a SPIR-V instruction to what its author wrote: file, line, source text,
 * function, variable.
 *
 * Works on the host, from the words of a module kept with its shader, and
 * trusts none of them. Built for the first report of a shader, not when it is
 * compiled.
 */

#ifndef GPUVAL_SPIRV_H
#define GPUVAL_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gpuval_frame.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * An index over one module.
 *
 * Not for two threads at once: look-ups fill caches. Freed by ralloc_free(),
 * and with it every string it gave out.
 */
struct gpuval_spirv;

/**
 * What is known about one instruction. Strings belong to the gpuval_spirv;
 * what is not known is NULL, 0 or false.
 */
struct gpuval_spirv_location {
   /** Path as the compiler was given it. NULL for sources that had no file. */
   const char *file;
   /** From 1, as the compiler counted it: after `#line` directives. */
   uint32_t line;
   /** From 1. Many compilers do not say it. */
   uint32_t column;
   /** That line of the source, without the white space around it. */
   const char *text;
   /** The same with its neighbors, as they are, and the number of the first; or NULL. */
   const char *const *extract;
   uint32_t extract_line, extract_count;
   /**
    * No debug line is in scope at the instruction itself, and file, line and
    * text are those where the block that leads to its block ends (see "Lines
    * across blocks" in gpuval_spirv_index.c).
    */
   bool line_inherited;

   /** Its name in the source, without a mangled parameter list. */
   const char *function;

   /** From 0, each instruction of the module counting, debug lines as well. */
   uint32_t instruction;
   /** From 0 at the first function, without debug instructions: gpuval_spirv_code_hash(). */
   uint32_t code_instruction;
   /** An SpvOp. */
   uint16_t opcode;

   /**
    * What a memory access, image operation or access chain goes to: the name
    * of the variable, else of its block; for an access through a physical
    * address, the name of the block which the pointer points to.
    *
    * OpCopyMemory and OpCopyMemorySized have two: it is the target's. For what
    * they read, see gpuval_spirv_binding_name().
    */
   const char *variable;
   /** Where that variable's descriptors are. 0 if !has_binding. */
   uint32_t set;
   uint32_t binding;
   bool has_binding;
};

/**
 * Copies @word_count words of a module, in the host's byte order, and indexes
 * them in one pass. Time and memory are linear in @word_count and in the
 * largest id, which is below 4,194,304.
 *
 * Any words will do: from the first instruction that cannot be one on, a
 * module is ignored. NULL if there is nothing before that, no module at all, or
 * no memory.
 */
struct gpuval_spirv *gpuval_spirv_create(void *mem_ctx, const uint32_t *words, size_t word_count);

/**
 * Hash of what the functions of the module do, without debug information of any kind
 * (names, strings, lines, source texts): the same wherever it was compiled, however its
 * files were called there, and wherever in them the code is.
 */
uint64_t gpuval_spirv_code_hash(struct gpuval_spirv *spirv);

/**
 * Describes in @out the instruction which the byte at @byte_offset, counted
 * from the module's first, belongs to. False, and nothing known in @out, where
 * no instruction is. Logarithmic in the module's size, but for the first text
 * of each source, which is split into lines then.
 */
bool gpuval_spirv_lookup(struct gpuval_spirv *spirv, uint32_t byte_offset,
                         struct gpuval_spirv_location *out);

/** Where the function that an instruction is in was called from. */
struct gpuval_spirv_stack {
   /** Innermost first; the function of each is the caller. Strings as in a location. */
   const struct gpuval_frame *frames;
   unsigned count;
   /** Numbers of the calls, as gpuval_spirv_location::code_instruction; NULL: none */
   const char *way;
};

/**
 * Describes in @out how the instruction at @offset, which has the number of its way
 * (gpuval_call_tree.h), was called from the entry point @entry of execution model @model. Nothing
 * is in @out for one of the entry point itself, or where it is not known.
 */
void gpuval_spirv_find_stack(struct gpuval_spirv *spirv, uint32_t model, const char *entry,
                             uint32_t offset, struct gpuval_spirv_stack *out);

/** What a check has compared, of the instruction that has failed. */
enum gpuval_spirv_facts_of {
   GPUVAL_SPIRV_FACTS_NOTHING,
   GPUVAL_SPIRV_FACTS_INDEX,       /* the only index of an access that is no constant */
   GPUVAL_SPIRV_FACTS_OPERANDS,    /* of an operation of scalars of 32 bits, in their order */
   GPUVAL_SPIRV_FACTS_COORDINATES, /* of an image: as many as the view has */
   GPUVAL_SPIRV_FACTS_OFFSET,      /* of an access in its block: one word */
   GPUVAL_SPIRV_FACTS_ADDRESS,     /* of an access: two words */
};

struct gpuval_spirv_facts {
   bool has_invocation;
   uint32_t invocation[3]; /* docs/protocols.rst, "Invocations" */
   enum gpuval_spirv_facts_of of;
   unsigned count;
   uint32_t words[3];
   bool has_descriptor;
   int64_t descriptor; /* the element of the array of descriptors */
};

#define GPUVAL_MAX_VALUES 8

struct gpuval_spirv_values {
   unsigned count;
   struct gpuval_named_value values[GPUVAL_MAX_VALUES];
};

/**
 * Finds what the variables of the failing expression were, as far as that follows from @facts: of
 * the instruction at @offset, as gpuval_spirv_find_stack() has it. Strings as in a location.
 */
void gpuval_spirv_find_values(struct gpuval_spirv *spirv, uint32_t model, const char *entry,
                              uint32_t offset, const struct gpuval_spirv_facts *facts,
                              struct gpuval_spirv_values *out);

/**
 * Name of the variable at @set and @binding, or of its block. Variables may
 * share a binding: storage buffers, images and texel buffers count if @storage,
 * all others if not. NULL if there are none or one has no name or another one.
 */
const char *gpuval_spirv_binding_name(struct gpuval_spirv *spirv, uint32_t set, uint32_t binding,
                                      bool storage);

#ifdef __cplusplus
}
#endif

#endif
