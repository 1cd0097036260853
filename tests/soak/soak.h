/* SPDX-License-Identifier: MIT */

/*
 * Random programs of dispatches and barriers, and what a check of their
 * synchronization has to find in them.
 *
 * The model knows nothing of the filter. It goes by what counts for Vulkan: two
 * accesses to a byte by two invocations, not both loads and not both atomics, with
 * nothing between that orders them. Programs for which what the documents
 * (docs/sync.rst) say of the check makes a difference are not generated: then there
 * is but one right answer, and counts are exact.
 */

#ifndef SOAK_H
#define SOAK_H

#include <stdbool.h>
#include <stdint.h>

#define SOAK_BUFFER_SIZE 16384
#define SOAK_WINDOW      512 /* bytes that a program touches */
#define SOAK_MAX_STEPS   8
#define SOAK_GROUP       16 /* invocations */

enum soak_type {
   SOAK_LOAD,
   SOAK_STORE,
   SOAK_ATOMIC,
   SOAK_LOAD_STORE, /* of the same element */
   SOAK_STORE_LOAD,
   SOAK_EXCHANGE, /* a store, and behind a barrier() a load of the neighbour's */
};

struct soak_op {
   const char *name;
   enum soak_type type;
   unsigned size; /* bytes of the element */
};

extern const struct soak_op soak_ops[];
extern const unsigned soak_op_count;

/* Two an op: the second one for types that do two things. In the shaders, the sites
 * of an op have a line of their own, and the next.
 */
#define SOAK_MAX_SITES  64
#define SOAK_FIRST_LINE 100
#define SOAK_OP_LINES   10

/* How a step is separated from the next */
enum soak_separator {
   SOAK_NOTHING,
   SOAK_SUBMIT,            /* begins another one, which nothing orders */
   SOAK_BARRIER_ELSEWHERE, /* between other stages, or for other accesses */
   SOAK_BARRIER_EXECUTION, /* writes after reads are in order */
   SOAK_BARRIER,           /* in one of several ways */
   SOAK_BARRIER_BUFFER,
   SOAK_BARRIER_ALL,
   SOAK_WAIT, /* for the submit, on the host */
   SOAK_SEPARATOR_COUNT,
};

extern const char *const soak_separator_names[SOAK_SEPARATOR_COUNT];

struct soak_step {
   unsigned op;
   uint32_t start, count, stride; /* elements */
   enum soak_separator separator;
};

struct soak_program {
   uint64_t seed;
   unsigned step_count;
   struct soak_step steps[SOAK_MAX_STEPS];
};

/* @hashes: of the filter, to know which programs it may be wrong about */
void soak_generate(uint64_t seed, unsigned hashes, struct soak_program *program);

/* Adds to counts[site]: the accesses that have to be reported. */
void soak_answer(const struct soak_program *program, uint64_t counts[SOAK_MAX_SITES]);

void soak_print(const struct soak_program *program);

#endif /* SOAK_H */
