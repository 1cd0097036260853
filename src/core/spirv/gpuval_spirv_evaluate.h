/* SPDX-License-Identifier: MIT */

/* What gpuval_spirv_values.c and gpuval_spirv_evaluate.c share. */

#ifndef GPUVAL_SPIRV_EVALUATE_H
#define GPUVAL_SPIRV_EVALUATE_H

#include "gpuval_spirv_private.h"

#define MAX_CALLS 16
#define MAX_STEPS 256 /* instructions that are looked at */
#define MAX_LEVEL 32

struct pass {
   struct gpuval_spirv *spirv;
   const struct gpuval_spirv_facts *facts;
   struct gpuval_spirv_invocation invocation;
   uint32_t calls[MAX_CALLS]; /* words of OpFunctionCall, that of the failing function first */
   unsigned num_calls;
   unsigned steps;
   struct gpuval_spirv_values *out;
};

/* A value and the call that it is in */
struct place {
   uint32_t id;
   unsigned depth;
};

static const struct gpuval_spirv_known nothing;

static inline struct gpuval_spirv_known
scalar(uint32_t word)
{
   return (struct gpuval_spirv_known){1, {word}};
}

/** The word of the OpTypeInt, OpTypeFloat of 32 bits, of a scalar or a vector; 0: another type. */
uint32_t gpuval_spirv_find_component(const struct gpuval_spirv *spirv, uint32_t type,
                                     unsigned *count);

static inline struct gpuval_spirv_known
builtin_value(const struct pass *pass, uint32_t variable)
{
   return gpuval_spirv_builtin_value(pass->spirv, variable, &pass->invocation);
}

/** What the caller has passed for @parameter; 0: not known. */
uint32_t gpuval_spirv_find_argument(const struct pass *pass, uint32_t parameter, unsigned depth);

/** The value that OpLoad @word loads, where that is one of the module. */
bool gpuval_spirv_find_loaded(const struct pass *pass, uint32_t word, unsigned depth,
                              struct place *place);

/** Returns what a value was, as far as it follows from what the pass knows. */
struct gpuval_spirv_known gpuval_spirv_evaluate(struct pass *pass, struct place place,
                                                unsigned level);

#endif
