/* SPDX-License-Identifier: MIT */

/* What stands in a shader between spirv_to_nir and gpuval's hook: reports of what is about the
 * shader as SPIR-V has it, which no optimization has touched.
 */

#ifndef GPUVAL_NIR_EARLY_H
#define GPUVAL_NIR_EARLY_H

#include "gpuval_nir_private.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A report that gpuval_nir_instrument() will take over. What is not said is 0 or NULL. */
struct gpuval_nir_early_report {
   enum gpuval_kind kind;
   enum gpuval_op op;
   uint32_t spirv_offset;
   int set, binding; /* -1: none */
   uint32_t size;    /* gpuval_record::access_size; array: elements */
   enum gpuval_array_type array;
   nir_def *failed;   /* 1 bit */
   nir_def *words[2]; /* gpuval_record::offset and slot, 32 bit */
   const char *name;  /* gpuval_site::name; the caller's */
   /* What the instruction gives, and what is taken instead of it where it has failed: with
    * gpuval_nir_options::safe.
    */
   nir_def *result, *instead;
};

/** Emits a report at b->cursor. */
void gpuval_nir_report_early(nir_builder *b, const struct gpuval_nir_early_report *report);

/** What the early passes of checks get. */
struct gpuval_nir_early {
   nir_builder b;
   const struct gpuval_nir_options *options;
   struct util_dynarray instances; /* as gpuval_nir_state::instances */
};

/** Returns the SPIR-V offset of what @instr was made for; 0: not known. */
uint32_t gpuval_nir_early_offset(const struct gpuval_nir_early *early, const nir_instr *instr);

/* The early passes of checks: each returns whether it has changed the shader. */
#define CHECK(id, name, sets, needs, early, pass, host, summary)                                   \
   bool gpuval_nir_early_##early(struct gpuval_nir_early *early);
#define KIND(id, check, name, words, sentence, text)
#include "gpuval/src/base/gpuval_check_table.h"

/** Returns whether an index may be past the end of an array: there is something for array to do. */
bool gpuval_nir_indexes_arrays(nir_function_impl *impl);

/** The part of array that looks at constant indices, as long as variables are there. */
bool gpuval_nir_early_constant_indices(struct gpuval_nir_early *early);

/**
 * The part of array that is at the hook: @report becomes one of the access that it is about, if
 * that goes through a descriptor. Returns false where it does not.
 */
bool gpuval_nir_report_block_array(struct gpuval_nir_state *state, const struct gpuval_site *site,
                                   const nir_intrinsic_instr *report);

/** The part of array that is about components of vectors: of emit_operation. */
void gpuval_nir_emit_index(nir_builder *b, nir_def *vector, nir_def *index, nir_def *result,
                           nir_def *instead, enum gpuval_op op, uint32_t spirv_offset);

/** Emits what the checks of operations and branches take: of emit_operation. */
void gpuval_nir_keep_operation(nir_builder *b, unsigned opcode, nir_def **srcs, unsigned num_srcs,
                               nir_def *result, uint32_t spirv_offset);
bool gpuval_nir_is_operation(const nir_instr *instr);
/** Does a check of @options look at it? */
bool gpuval_nir_is_wanted(const struct gpuval_nir_options *options,
                          const nir_intrinsic_instr *operation);

#ifdef __cplusplus
}
#endif

#endif
