/* SPDX-License-Identifier: MIT */

/* Between the files of gpuval_lvp_cells.h only. */

#ifndef GPUVAL_LVP_CELLS_PRIVATE_H
#define GPUVAL_LVP_CELLS_PRIVATE_H

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_init.h"

#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"
#include "gpuval_lvp_cells.h"
#include "gpuval_lvp_gallivm_private.h"

#define MAX_LANES 16

/* What is above the number of an invocation, and below it */
#define EVERYBODY  ((uint32_t)GPUVAL_SHADOW_WORKGROUPS << GPUVAL_SHADOW_SHARE_SHIFT)
#define INVOCATION (GPUVAL_SHADOW_INVOCATION_MASK << GPUVAL_SHADOW_INVOCATION_SHIFT)
#define SITES      (1u << GPUVAL_SHADOW_INVOCATION_SHIFT)

/* An address this far in the window has all of its access's cells there. */
#define LAST_DISTANCE ((1ull << GPUVAL_SHADOW_WINDOW_LOG2) - GPUVAL_SHADOW_WINDOW_MARGIN)

/* A half of a cell, one of each lane */
struct half {
   LLVMValueRef lo, hi;
};

struct cells {
   struct gallivm_state *gallivm;
   LLVMBuilderRef b;
   LLVMTypeRef resources_type;
   LLVMValueRef function;
   bool is_read;

   unsigned num_lanes;
   LLVMTypeRef i32, i64, vec32, vec64;

   LLVMValueRef args[GPUVAL_LVP_SYNC_COUNT];
   LLVMValueRef lanes; /* 1 bit each: those that call */

   /* The same in all lanes */
   LLVMValueRef constants; /* the table of constant buffers */
   LLVMValueRef data;      /* struct gpuval_command_data */
   LLVMValueRef command, ordered, size, token;
   struct half mark;
};

static inline LLVMValueRef
imm(const struct cells *c, uint32_t value)
{
   return LLVMConstInt(c->i32, value, 0);
}

static inline LLVMValueRef
imm64(const struct cells *c, uint64_t value)
{
   return LLVMConstInt(c->i64, value, 0);
}

static inline LLVMValueRef
splat(const struct cells *c, LLVMValueRef value, unsigned length)
{
   LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(value), length);
   LLVMValueRef first = LLVMBuildInsertElement(c->b, LLVMGetUndef(type), value, imm(c, 0), "");

   return LLVMBuildShuffleVector(c->b, first, LLVMGetUndef(type),
                                 LLVMConstNull(LLVMVectorType(c->i32, length)), "");
}

static inline LLVMValueRef
each(const struct cells *c, LLVMValueRef value)
{
   return splat(c, value, c->num_lanes);
}

static inline LLVMValueRef
each_imm(const struct cells *c, uint32_t value)
{
   return each(c, imm(c, value));
}

static inline LLVMValueRef
first_lane(const struct cells *c, LLVMValueRef vector)
{
   return LLVMBuildExtractElement(c->b, vector, imm(c, 0), "");
}

static inline LLVMValueRef
compare(const struct cells *c, LLVMIntPredicate predicate, LLVMValueRef x, LLVMValueRef y)
{
   return LLVMBuildICmp(c->b, predicate, x, y, "");
}

static inline LLVMValueRef
below(const struct cells *c, LLVMValueRef x, uint32_t y)
{
   return compare(c, LLVMIntULT, x, each_imm(c, y));
}

static inline LLVMValueRef
and_(const struct cells *c, LLVMValueRef x, LLVMValueRef y)
{
   return LLVMBuildAnd(c->b, x, y, "");
}

static inline LLVMValueRef
or_(const struct cells *c, LLVMValueRef x, LLVMValueRef y)
{
   return LLVMBuildOr(c->b, x, y, "");
}

static inline LLVMValueRef
not_(const struct cells *c, LLVMValueRef x)
{
   return LLVMBuildNot(c->b, x, "");
}

static inline LLVMValueRef
differs(const struct cells *c, LLVMValueRef x, LLVMValueRef y)
{
   return LLVMBuildXor(c->b, x, y, "");
}

static inline LLVMValueRef
least(const struct cells *c, LLVMValueRef x, LLVMValueRef y)
{
   return LLVMBuildSelect(c->b, compare(c, LLVMIntULT, x, y), x, y, "");
}

static inline LLVMValueRef
most(const struct cells *c, LLVMValueRef x, LLVMValueRef y)
{
   return LLVMBuildSelect(c->b, compare(c, LLVMIntUGT, x, y), x, y, "");
}

/* Bits from @first on, of words that are the same in all lanes */
static inline LLVMValueRef
bits(const struct cells *c, LLVMValueRef word, unsigned first, uint32_t mask)
{
   return LLVMBuildAnd(c->b, LLVMBuildLShr(c->b, word, imm(c, first), ""), imm(c, mask), "");
}

static inline LLVMValueRef
any(const struct cells *c, LLVMValueRef vector)
{
   return gpuval_lvp_any_bit(c->gallivm, vector);
}

/* Of the elements of @vector, are all there whose bits are set in @which? */
static inline LLVMValueRef
all_of(const struct cells *c, LLVMValueRef vector, uint64_t which)
{
   LLVMTypeRef type =
      LLVMIntTypeInContext(c->gallivm->context, LLVMGetVectorSize(LLVMTypeOf(vector)));
   LLVMValueRef number = LLVMBuildBitCast(c->b, vector, type, "");
   LLVMValueRef wanted = LLVMConstInt(type, which, 0);
   return compare(c, LLVMIntEQ, and_(c, number, wanted), wanted);
}

static inline LLVMBasicBlockRef
create_block(const struct cells *c, const char *name)
{
   return LLVMAppendBasicBlockInContext(c->gallivm->context, c->function, name);
}

static inline void
continue_at(const struct cells *c, LLVMBasicBlockRef block)
{
   LLVMPositionBuilderAtEnd(c->b, block);
}

static inline LLVMValueRef
pointer_to(const struct cells *c, LLVMValueRef address, LLVMTypeRef type)
{
   return LLVMBuildIntToPtr(c->b, address, LLVMPointerType(type, 0), "");
}

static inline LLVMValueRef
load_at(const struct cells *c, LLVMValueRef address, uint64_t offset, LLVMTypeRef type)
{
   address = LLVMBuildAdd(c->b, address, imm64(c, offset), "");
   return LLVMBuildLoad2(c->b, type, pointer_to(c, address, type), "");
}

/* Number @index of an array of vectors */
static inline LLVMValueRef
load_vector(const struct cells *c, LLVMValueRef array, unsigned index)
{
   LLVMValueRef place = imm(c, index);

   return LLVMBuildLoad2(c->b, c->vec32, LLVMBuildGEP2(c->b, c->vec32, array, &place, 1, ""), "");
}

static inline LLVMValueRef
load_data(const struct cells *c, uint64_t offset, LLVMTypeRef type)
{
   return load_at(c, c->data, offset, type);
}

/** Sets types, and what @constants, the table of constant buffers, lead to. */
void gpuval_lvp_cells_init(struct cells *c, struct gallivm_state *gallivm, LLVMValueRef constants);

/**
 * The same where @function begins, whose parameter @resources is a pointer to struct
 * lp_jit_resources
 */
void gpuval_lvp_cells_begin(struct cells *c, struct gallivm_state *gallivm,
                            LLVMTypeRef resources_type, LLVMValueRef function, unsigned resources);

/** Calls a function of gpuval_nir_functions[] for @lanes, of 1 bit each; returns its results. */
LLVMValueRef gpuval_lvp_cells_call(const struct cells *c, enum gpuval_function function,
                                   LLVMValueRef resources, LLVMValueRef lanes,
                                   const LLVMValueRef *words, unsigned num_words,
                                   unsigned num_results);

void gpuval_lvp_cells_return_call(const struct cells *c, LLVMTypeRef type, LLVMValueRef function,
                                  LLVMValueRef *args);

/** Where each lane's access begins, 64 bits */
LLVMValueRef gpuval_lvp_cells_addresses(const struct cells *c);
/** The number of the first lane that calls; returns from the function if none does. */
LLVMValueRef gpuval_lvp_cells_first(const struct cells *c);
/** The address of a cell that lanes access which do not run */
LLVMValueRef gpuval_lvp_cells_nobody(const struct cells *c);

/**
 * GPUVAL_FUNCTION_SYNC or …_SHARED, for the lanes of @mask, which is the last thing to do.
 * @addresses: 64 bits each; @flag: beside GPUVAL_LVP_SYNC_WORD
 */
void gpuval_lvp_cells_return_rest(const struct cells *c, unsigned function, LLVMValueRef mask,
                                  LLVMValueRef addresses, LLVMValueRef flag);

/** What does all that it can tell of a row, and leaves the rest to @next; where c->b stands. */
void gpuval_lvp_cells_build_rows(struct cells *c, LLVMValueRef next);
/** The same lane by lane; what is left goes to GPUVAL_FUNCTION_SYNC. */
void gpuval_lvp_cells_build_lanes(struct cells *c);
/** The same for the check shared; what is left goes to GPUVAL_FUNCTION_SHARED. */
void gpuval_lvp_cells_build_shared(struct cells *c);

#endif
