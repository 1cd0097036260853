/* SPDX-License-Identifier: MIT */

/* The calls of functions in a SPIR-V module, and numbers for each way to come to a function.
 *
 * Mesa inlines all calls, so an instruction of a function is in a shader as often as there are ways
 * to call it from the entry point. Each way has a number: that of the entry point is 0, and
 * functions that it calls are numbered with all that they call themselves, in the order of the
 * calls in the module. So the number of a way is the sum of what its calls add, and where an
 * instruction is in the module, plus that number times the module's size, tells both: the place and
 * how it was called. Passes add that up, and the host takes it apart again.
 */

#ifndef GPUVAL_CALL_TREE_H
#define GPUVAL_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_call_tree;

/** Any words will do. @words are not needed any more. Freed by ralloc_free(). */
struct gpuval_call_tree *gpuval_call_tree_create(void *mem_ctx, const uint32_t *words,
                                                 size_t word_count);

/**
 * What the OpFunctionCall at @offset (bytes from the module's first) adds to the number of its
 * caller, and how many numbers there are from there on for what it calls. Returns false where there
 * is no such call, or too much behind it to be numbered.
 */
bool gpuval_call_tree_enter(const struct gpuval_call_tree *tree, uint32_t offset, uint32_t *first,
                            uint32_t *count);

/**
 * Finds the calls on the way with @number from the function with the id @root: offsets of their
 * OpFunctionCalls, innermost first. Returns how many they are, of which the innermost @max are
 * written; 0 where the instruction at @offset is in @root itself, or not where the way ends.
 */
unsigned gpuval_call_tree_find(const struct gpuval_call_tree *tree, uint32_t root, uint32_t number,
                               uint32_t offset, uint32_t *calls, unsigned max);

/**
 * An offset with the number of a way as it is without, and that number. @size: bytes of the
 * module; 0: not known.
 */
static inline uint32_t
gpuval_plain_offset(uint32_t offset, size_t size)
{
   return size ? offset % size : offset;
}

static inline uint32_t
gpuval_way_of_offset(uint32_t offset, size_t size)
{
   return size ? offset / size : 0;
}

#ifdef __cplusplus
}
#endif

#endif
