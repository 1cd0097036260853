/* SPDX-License-Identifier: MIT */

/*
 * Writes SPIR-V modules word by word. The writer knows the order of a module's sections and
 * keeps types, constants, capabilities and extensions unique; everything else is the
 * caller's business. Modules are checked by spirv-val where they are used.
 */

#ifndef SPIRV_WRITER_H
#define SPIRV_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler/spirv/spirv.h"

/* A growing array of words */
struct spv_words {
   uint32_t *data;
   uint32_t count, capacity;
};

struct spv {
   uint32_t version; /* as in the header: 0x00010300 is 1.3 */
   uint32_t next_id;
   struct spv_words capabilities, extensions, imports, memory_model, entry_points, modes, names,
      annotations, globals, functions;
};

/* The number of words that follow in the argument list of spv_emit() */
#define SPV_COUNT(...) (sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* Appends an instruction: spv_emit(&words, SpvOpStore, pointer, value). */
#define spv_emit(words, op, ...)                                                                   \
   spv_emit_words((words), (op), SPV_COUNT(__VA_ARGS__), (uint32_t[]){__VA_ARGS__})
/* Appends an instruction with a type and a result, whose new id it returns. */
#define spv_result(spv, words, op, type, ...)                                                      \
   spv_result_words((spv), (words), (op), (type), SPV_COUNT(__VA_ARGS__), (uint32_t[]){__VA_ARGS__})
/* Returns the id of a type, which is declared if no such one exists. Not for structs and
 * arrays, which are told apart by their decorations. */
#define spv_type(spv, op, ...)                                                                     \
   spv_type_words((spv), (op), SPV_COUNT(__VA_ARGS__), (uint32_t[]){__VA_ARGS__})

void spv_append(struct spv_words *words, const uint32_t *data, unsigned count);
void spv_emit_words(struct spv_words *words, SpvOp op, unsigned count, const uint32_t *operands);
/* Appends an instruction that ends with a string. */
void spv_emit_string(struct spv_words *words, SpvOp op, unsigned count, const uint32_t *operands,
                     const char *string, unsigned tail_count, const uint32_t *tail);
uint32_t spv_result_words(struct spv *spv, struct spv_words *words, SpvOp op, uint32_t type,
                          unsigned count, const uint32_t *operands);

void spv_init(struct spv *spv, uint32_t version);
void spv_finish(struct spv *spv);
uint32_t spv_id(struct spv *spv);
void spv_capability(struct spv *spv, SpvCapability capability);
void spv_extension(struct spv *spv, const char *name);
void spv_name(struct spv *spv, uint32_t id, const char *name);

uint32_t spv_type_words(struct spv *spv, SpvOp op, unsigned count, const uint32_t *operands);
uint32_t spv_void(struct spv *spv);
uint32_t spv_bool(struct spv *spv);
/* Scalars and vectors (@components > 1) of 32 bits */
uint32_t spv_uint(struct spv *spv, unsigned components);
uint32_t spv_int(struct spv *spv, unsigned components);
uint32_t spv_float(struct spv *spv, unsigned components);
uint32_t spv_pointer(struct spv *spv, SpvStorageClass storage, uint32_t type);
/* An array with a length in elements; 0: a runtime array. @stride in bytes, 0 for none. */
uint32_t spv_array(struct spv *spv, uint32_t element, uint32_t length, uint32_t stride);
/* A struct with members at these offsets; @offsets may be NULL. */
uint32_t spv_struct(struct spv *spv, unsigned count, const uint32_t *members,
                    const uint32_t *offsets);

uint32_t spv_constant(struct spv *spv, uint32_t value); /* of type uint */
uint32_t spv_constant_int(struct spv *spv, int32_t value);
uint32_t spv_constant_float(struct spv *spv, float value);

#define spv_decorate(spv, ...) spv_emit(&(spv)->annotations, SpvOpDecorate, __VA_ARGS__)
#define spv_decorate_member(spv, ...)                                                              \
   spv_emit(&(spv)->annotations, SpvOpMemberDecorate, __VA_ARGS__)

/* Returns the module, to be freed by the caller; *@count is its number of words. */
uint32_t *spv_assemble(const struct spv *spv, uint32_t *count);

#endif /* SPIRV_WRITER_H */
