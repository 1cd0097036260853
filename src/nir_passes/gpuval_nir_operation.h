/* SPDX-License-Identifier: MIT */

/* Operations of SPIR-V, as arithmetic and nan look at them: operands and result as they are before
 * any optimization.
 */

#ifndef GPUVAL_NIR_OPERATION_H
#define GPUVAL_NIR_OPERATION_H

#include "gpuval_nir_early.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPUVAL_NIR_MAX_OPERANDS 4

struct gpuval_nir_operation {
   unsigned opcode; /* SPIR-V's, or NIR_SPIRV_GLSL450 + GLSLstd450's */
   uint32_t spirv_offset;
   nir_def *operands[GPUVAL_NIR_MAX_OPERANDS];
   unsigned num_operands;
   nir_def *result;
   nir_def *used; /* 1 bit: a selection takes the result; NULL: always */
};

/** Component @component of operand @index, or the operand itself if it is a scalar. */
static inline nir_scalar
gpuval_nir_operand(const struct gpuval_nir_operation *operation, unsigned index, unsigned component)
{
   nir_def *def = operation->operands[index];
   return nir_scalar_chase_movs(nir_get_scalar(def, def->num_components > 1 ? component : 0));
}

static inline nir_def *
gpuval_nir_scalar(nir_builder *b, nir_scalar scalar)
{
   return nir_channel(b, scalar.def, scalar.comp);
}

/**
 * Emits the report of arithmetic at b->cursor. Returns whether the operation fails, 1 bit; NULL:
 * it never does. @upper_bounds is the table of nir_unsigned_upper_bound().
 */
nir_def *gpuval_nir_check_arithmetic(nir_builder *b, const struct gpuval_nir_operation *operation,
                                     struct hash_table *upper_bounds);

/**
 * Emits the reports of nan at b->cursor. @excluded: 1 bit, reported by arithmetic, or NULL. Returns
 * whether the operation makes what is not finite, 1 bit.
 */
nir_def *gpuval_nir_check_nan(nir_builder *b, const struct gpuval_nir_operation *operation,
                              nir_def *excluded);

/** An operation that may make NaN or infinity of finite operands. */
struct gpuval_nir_birth {
   nir_def *born; /* 1 bit: it does */
   uint32_t spirv_offset;
};

/** Leaves for export which of the operations, by their results, an output's NaN comes from. */
void gpuval_nir_leave_origins(struct gpuval_nir_early *early, struct hash_table *births);

/** Is it a branch, whose only operand undefined looks at? */
bool gpuval_nir_is_branch(unsigned opcode);
/** Does arithmetic, or nan, look at operations of that opcode? */
bool gpuval_nir_may_fail_arithmetic(unsigned opcode);
bool gpuval_nir_may_make_nan(unsigned opcode);

#ifdef __cplusplus
}
#endif

#endif
