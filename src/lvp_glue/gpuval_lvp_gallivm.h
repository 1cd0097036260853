/* SPDX-License-Identifier: MIT */

/* Calls of functions that are compiled once for a device. gallivm makes them
 * where a shader has one of our intrinsics.
 */

#ifndef GPUVAL_LVP_GALLIVM_H
#define GPUVAL_LVP_GALLIVM_H

#include <stdbool.h>

#include "gallivm/lp_bld.h"
#include "gallivm/lp_bld_type.h"

#include "gpuval/src/compat/gpuval_nir_names.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gallivm_state;
struct lp_exec_mask;
struct lp_build_mask_context;

/* Checks of addresses that have been made together; @count is 0 when all have been visited. */
struct gpuval_lvp_address_group {
   const nir_intrinsic_instr *checks[32];
   unsigned count;
   LLVMValueRef bad; /* a bit for each of them */
};

#define GPUVAL_LVP_MAX_PENDING     8
#define GPUVAL_LVP_SYNC_ARRAY_SIZE 6

/* Of one function that gallivm builds. The context's field `gpuval` is NULL until it has the first
 * intrinsic that gallivm does not know; the context's `vars` owns it.
 */
struct gpuval_lvp_calls {
   /* Of one kind, which follow one another and will share a branch, or a call */
   const nir_intrinsic_instr *pending[GPUVAL_LVP_MAX_PENDING];
   unsigned num_pending;
   /* Uniform loads for shadow memory to look at, which share one */
   const nir_intrinsic_instr *loads[GPUVAL_LVP_MAX_PENDING];
   unsigned num_loads;
   LLVMValueRef functions;                             /* the table of them, once it is asked for */
   LLVMValueRef printf_words;                          /* array for payloads, once there is one */
   LLVMValueRef sync_words;                            /* the same for what is seldom looked at, */
   nir_scalar sync_stored[GPUVAL_LVP_SYNC_ARRAY_SIZE]; /* what has been stored there */
   const nir_block *sync_block;                        /* in this block; NULL: nothing is known */
   LLVMValueRef nobody;         /* what lanes that do not run access, 64 bytes; the same */
   LLVMValueRef met;            /* memory of gpuval_lvp_check_address(); the same */
   LLVMValueRef row_vectors;    /* rows of what goes to gpuval_lvp_rows_arg; the same */
   LLVMValueRef look_words;     /* of gpuval_lvp_look() and such; the same */
   const nir_block *look_block; /* where what they are is known: */
   nir_scalar look_stored[3];
   unsigned num_dynamic; /* comparisons with buffers whose descriptor is not constant, */
   unsigned num_looks;   /* looks at such descriptors, */
   unsigned num_groups;  /* and groups of addresses */
   struct gpuval_lvp_address_group addresses[8];
};

/* What the code below needs of gallivm's context of a function; gpuval_gallivm.h makes it for each
 * call.
 */
struct gpuval_lvp_soa {
   void *context; /* gallivm's */
   struct gallivm_state *gallivm;
   mesa_shader_stage stage;
   struct lp_build_context uint_bld, uint64_bld;
   LLVMTypeRef resources_type;
   LLVMValueRef consts_ptr, resources_ptr, shared_ptr;
   struct lp_exec_mask *exec_mask;
   struct lp_build_mask_context *mask; /* or NULL */
   struct gpuval_lvp_calls *calls;
   /* bool has 1 bit, else it is ~0 or 0; and what all lanes share may be a number, no vector */
   bool has_bits;

   /* A vector of what each lane has */
   LLVMValueRef (*get_value)(const struct gpuval_lvp_soa *soa, const nir_def *def,
                             unsigned component);
};

/**
 * Emits what @instr stands for, or keeps it until gpuval_lvp_flush_calls().
 * Returns false if it is none of ours.
 */
bool gpuval_lvp_visit_intrinsic(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr,
                                LLVMValueRef *result);

/**
 * Before each instruction, and with NULL at the end of each block: emits what
 * has been kept, unless @next may join.
 */
void gpuval_lvp_flush_calls(struct gpuval_lvp_soa *soa, const nir_instr *next);

/** A block of a shader has been translated, with calls or without. */
void gpuval_lvp_note_translation(void);

/**
 * Lanes of the vectors that the functions take. No stage has longer ones;
 * tessellation control and geometry shaders have shorter ones.
 */
unsigned gpuval_lvp_num_lanes(void);

/**
 * The functions: `result f(mask, resources, word, word, …)`.
 *
 *    mask       of the lanes that call
 *    resources  pointer to struct lp_jit_resources
 *    word       vector of @num_words arguments, one lane each
 *    result     nothing, or a struct of @num_results such vectors
 */
LLVMTypeRef gpuval_lvp_function_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type,
                                     unsigned num_words, unsigned num_results);

/* Those that are called most often, GPUVAL_FUNCTION_SYNC_LOAD and its like, have arguments that
 * fit into registers. What is the same in all lanes, a constant of the shader, is one number;
 * what is seldom looked at is in an array of vectors.
 */
enum gpuval_lvp_sync_arg {
   GPUVAL_LVP_SYNC_MASK,
   GPUVAL_LVP_SYNC_RESOURCES,
   GPUVAL_LVP_SYNC_ENTRY, /* numbers */
   GPUVAL_LVP_SYNC_WORD,
   GPUVAL_LVP_SYNC_TOKEN,
   GPUVAL_LVP_SYNC_BASE,    /* 64 bits, what addresses are to be added to */
   GPUVAL_LVP_SYNC_ADDRESS, /* vectors: the lower half, the upper one */
   GPUVAL_LVP_SYNC_SIZE = GPUVAL_LVP_SYNC_ADDRESS + 2,
   GPUVAL_LVP_SYNC_ID,
   GPUVAL_LVP_SYNC_PHASE,
   GPUVAL_LVP_SYNC_ARRAY,
   GPUVAL_LVP_SYNC_COUNT,
};

/* GPUVAL_SYNC_WORD_… that an element of the array is */
extern const unsigned gpuval_lvp_sync_array[];

LLVMTypeRef gpuval_lvp_sync_array_type(struct gallivm_state *gallivm);
LLVMTypeRef gpuval_lvp_sync_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type);

/* GPUVAL_FUNCTION_ADDRESSES looks for the buffers that a group of addresses leads to, and reports
 * those that are in none or misaligned. It returns a vector of words with a bit for each of them
 * that is in none.
 */
enum gpuval_lvp_addresses_arg {
   GPUVAL_LVP_ADDRESSES_MASK,
   GPUVAL_LVP_ADDRESSES_RESOURCES,
   GPUVAL_LVP_ADDRESSES_REPORTING, /* a mask, too: those that are no helper invocations */
   GPUVAL_LVP_ADDRESSES_LOW,       /* the lowest address, its lower half and its upper one */
   GPUVAL_LVP_ADDRESSES_HIGH,
   GPUVAL_LVP_ADDRESSES_MET,   /* pointer to gpuval_lvp_met_type() */
   GPUVAL_LVP_ADDRESSES_TABLE, /* pointer to the words below */
   GPUVAL_LVP_ADDRESSES_COUNT,
};

/* Fields of a structure of vectors: the buffer that was met last, in 64 bits, which the function
 * changes, and what identifies the invocation.
 */
enum gpuval_lvp_met {
   GPUVAL_LVP_MET_BEGIN,
   GPUVAL_LVP_MET_LIMIT,
   GPUVAL_LVP_MET_INVOCATION,
   GPUVAL_LVP_MET_COUNT = GPUVAL_LVP_MET_INVOCATION + 3,
};

/* The table: the number of addresses, gpuval_nir_function_word(), and rows of these words, of
 * which the first one is about the range of all addresses.
 */
enum gpuval_lvp_address_word {
   GPUVAL_LVP_ADDRESS_OFFSET, /* bytes behind the lowest address */
   GPUVAL_LVP_ADDRESS_SPAN,   /* bytes from there */
   GPUVAL_LVP_ADDRESS_ENTRY,
   GPUVAL_LVP_ADDRESS_MASK, /* the address & mask has to be the residue. */
   GPUVAL_LVP_ADDRESS_RESIDUE,
   GPUVAL_LVP_ADDRESS_WORDS,
};
#define GPUVAL_LVP_ADDRESSES_HEADER 2

/* Functions of which one call does for up to GPUVAL_LVP_MAX_PENDING intrinsics */
enum gpuval_lvp_rows_arg {
   GPUVAL_LVP_ROWS_RESOURCES,
   GPUVAL_LVP_ROWS_VECTORS,    /* pointer to rows of vectors, */
   GPUVAL_LVP_ROWS_TABLE,      /* and to words: the number of rows, and those of each function */
   GPUVAL_LVP_ROWS_INVOCATION, /* three vectors */
   GPUVAL_LVP_ROWS_COUNT = GPUVAL_LVP_ROWS_INVOCATION + 3,
};

/* GPUVAL_FUNCTION_RANGES looks whether the memory of some accesses has been written, and calls
 * GPUVAL_FUNCTION_REPORT where that has something to do.
 */
enum gpuval_lvp_range_vector {
   GPUVAL_LVP_RANGE_LOW, /* the address, its lower half and its upper one */
   GPUVAL_LVP_RANGE_HIGH,
   GPUVAL_LVP_RANGE_MASK, /* ~0 or 0 */
   GPUVAL_LVP_RANGE_VECTORS,
};

/* The table: the number of rows, the second word of GPUVAL_FUNCTION_REPORT, and rows of these. */
enum gpuval_lvp_range_word {
   GPUVAL_LVP_RANGE_ENTRY,
   GPUVAL_LVP_RANGE_SIZE,  /* bytes */
   GPUVAL_LVP_RANGE_MARKS, /* all of its marks, in the lowest bits; 0: they are in no one word */
   GPUVAL_LVP_RANGE_WORDS,
};
#define GPUVAL_LVP_RANGES_HEADER 2

/* GPUVAL_FUNCTION_REPORTS calls GPUVAL_FUNCTION_REPORT for each row, whose vector is the mask of
 * the lanes, ~0 or 0. The table: the number of rows, and of each the words but those of the
 * invocation.
 */
#define GPUVAL_LVP_REPORTS_WORDS  7
#define GPUVAL_LVP_REPORTS_HEADER 1

/* GPUVAL_FUNCTION_LOOK looks at a descriptor, reports what is wrong, and returns what
 * GPUVAL_FUNCTION_DESCRIPTOR does.
 */
enum gpuval_lvp_look_arg {
   GPUVAL_LVP_LOOK_MASK, /* ~0 or 0: of the lanes that run, helper invocations included, */
   GPUVAL_LVP_LOOK_RESOURCES,
   GPUVAL_LVP_LOOK_RUNNING,    /* and without those: what is wrong is reported of these */
   GPUVAL_LVP_LOOK_TABLE,      /* pointer to the words below */
   GPUVAL_LVP_LOOK_SLOT,       /* a vector, as the next one */
   GPUVAL_LVP_LOOK_INDEX,      /* 0 in all lanes where nothing is asked of it */
   GPUVAL_LVP_LOOK_INVOCATION, /* pointer to three vectors */
   GPUVAL_LVP_LOOK_COUNT,
};

/* The table: GPUVAL_FUNCTION_DESCRIPTOR_WORDS of the use, of which slot, index and helper
 * invocations are 0, and these
 */
enum gpuval_lvp_look_word {
   GPUVAL_LVP_LOOK_FORMAT, /* gpuval_format_bits(), 0: any */
   GPUVAL_LVP_LOOK_ENTRY,  /* of what is bad; the next one is about an index that differs */
   GPUVAL_LVP_LOOK_REPORT, /* the second word of GPUVAL_FUNCTION_REPORT, 0: nothing is reported */
   GPUVAL_LVP_LOOK_WORDS,
};
#define GPUVAL_LVP_LOOK_TABLE_SIZE (GPUVAL_FUNCTION_DESCRIPTOR_WORDS + GPUVAL_LVP_LOOK_WORDS)

/* GPUVAL_FUNCTION_OUTSIDE compares the ranges of an access with the size of a buffer, and calls
 * GPUVAL_FUNCTION_REPORT for those that leave it.
 */
enum gpuval_lvp_outside_arg {
   GPUVAL_LVP_OUTSIDE_MASK, /* of the lanes that are looked at */
   GPUVAL_LVP_OUTSIDE_RESOURCES,
   GPUVAL_LVP_OUTSIDE_TABLE, /* pointer to the words below */
   GPUVAL_LVP_OUTSIDE_SLOT,  /* a vector, as the next one */
   GPUVAL_LVP_OUTSIDE_OFFSET,
   GPUVAL_LVP_OUTSIDE_INVOCATION, /* pointer to three vectors */
   GPUVAL_LVP_OUTSIDE_COUNT,
};

enum gpuval_lvp_outside_word {
   GPUVAL_LVP_OUTSIDE_ENTRY,
   GPUVAL_LVP_OUTSIDE_REPORT,     /* the second word of GPUVAL_FUNCTION_REPORT */
   GPUVAL_LVP_OUTSIDE_BUFFER,     /* the set + 1 */
   GPUVAL_LVP_OUTSIDE_SPAN,       /* bytes, at least 1 */
   GPUVAL_LVP_OUTSIDE_IS_UNIFORM, /* not 0: the slot of the first lane is that of all. */
   GPUVAL_LVP_OUTSIDE_WORDS,
};

LLVMTypeRef gpuval_lvp_outside_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type);
LLVMTypeRef gpuval_lvp_look_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type);

LLVMTypeRef gpuval_lvp_rows_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type);

LLVMTypeRef gpuval_lvp_met_type(struct gallivm_state *gallivm);
LLVMTypeRef gpuval_lvp_addresses_type(struct gallivm_state *gallivm,
                                      LLVMTypeRef resources_ptr_type);

#ifdef __cplusplus
}
#endif

#endif
