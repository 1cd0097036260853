/* SPDX-License-Identifier: MIT */

/* @check_address_gpuval: what gpuval_nir_address.c compares, with one branch behind which is
 * everything else, so that an access to the buffer of the last one costs a subtraction and
 * two comparisons.
 */

#include "gpuval_lvp_gallivm_private.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_flow.h"
#include "gallivm/lp_bld_init.h"
#include "gallivm/lp_bld_type.h"

#include "gpuval/src/base/gpuval_address_table.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"

/* Sources */
enum {
   CHECK_ADDRESS,
   CHECK_INVOCATION,
};

/* Of the buffer that was met last */
enum {
   MET_BEGIN,
   MET_LIMIT,
};

/* A vector of 64 bits, 0 when the shader begins */
static LLVMValueRef
add_variable(struct lp_build_nir_context *bld_base)
{
   struct gallivm_state *gallivm = bld_base->base.gallivm;
   LLVMTypeRef type = bld_base->uint64_bld.vec_type;
   LLVMValueRef variable = lp_build_alloca_undef(gallivm, type, "");
   LLVMBuilderRef builder = LLVMCreateBuilderInContext(gallivm->context);
   LLVMValueRef next = LLVMGetNextInstruction(variable);

   if (next)
      LLVMPositionBuilderBefore(builder, next);
   else
      LLVMPositionBuilderAtEnd(builder, LLVMGetInstructionParent(variable));
   LLVMBuildStore(builder, LLVMConstNull(type), variable);
   LLVMDisposeBuilder(builder);
   return variable;
}

struct state {
   struct lp_build_nir_context *bld_base;
   const nir_intrinsic_instr *check;
   LLVMValueRef address, begin, limit; /* 64 bits */
   LLVMValueRef missed, misaligned;    /* i1, or NULL: never */
   LLVMValueRef mask;                  /* i1: lanes that run, helper invocations, too */
};

static LLVMValueRef
constant_64(const struct state *state, uint64_t value)
{
   return lp_build_const_int_vec(state->bld_base->base.gallivm, state->bld_base->uint64_bld.type,
                                 value);
}

static LLVMValueRef
is_not_zero(const struct state *state, LLVMValueRef vector)
{
   return LLVMBuildICmp(state->bld_base->base.gallivm->builder, LLVMIntNE, vector,
                        LLVMConstNull(LLVMTypeOf(vector)), "");
}

/* i1 as ~0 or 0 */
static LLVMValueRef
as_mask(const struct state *state, LLVMValueRef bits)
{
   return LLVMBuildSExt(state->bld_base->base.gallivm->builder, bits,
                        state->bld_base->uint_bld.vec_type, "");
}

static LLVMValueRef
is_missed(const struct state *state)
{
   LLVMBuilderRef builder = state->bld_base->base.gallivm->builder;
   uint32_t span = nir_intrinsic_flags(state->check);

   LLVMValueRef distance = LLVMBuildSub(builder, state->address, state->begin, "");
   LLVMValueRef missed = LLVMBuildICmp(builder, LLVMIntUGE, distance, state->limit, "");
   if (span > GPUVAL_ADDRESS_ROOM) {
      LLVMValueRef last =
         LLVMBuildAdd(builder, distance, constant_64(state, span - GPUVAL_ADDRESS_ROOM), "");
      missed = LLVMBuildOr(builder, missed,
                           LLVMBuildICmp(builder, LLVMIntUGE, last, state->limit, ""), "");
   }
   return missed;
}

static LLVMValueRef
is_misaligned(const struct state *state)
{
   LLVMBuilderRef builder = state->bld_base->base.gallivm->builder;
   uint32_t alignment = nir_intrinsic_align_mul(state->check);
   if (alignment < 2)
      return NULL;

   LLVMValueRef low = LLVMBuildAnd(builder, state->address, constant_64(state, alignment - 1), "");
   return LLVMBuildICmp(builder, LLVMIntNE, low,
                        constant_64(state, nir_intrinsic_align_offset(state->check)), "");
}

/* Looks for the buffers of those that missed the last one, and remembers them. i1: there is
 * none.
 */
static LLVMValueRef
look(const struct state *state, LLVMValueRef halves[2])
{
   struct lp_build_nir_context *bld_base = state->bld_base;
   LLVMBuilderRef builder = bld_base->base.gallivm->builder;
   LLVMValueRef calling = LLVMBuildAnd(builder, state->missed, state->mask, "");
   LLVMValueRef words[3] = {
      gpuval_lvp_argument(bld_base, halves[0]),
      gpuval_lvp_argument(bld_base, halves[1]),
      gpuval_lvp_constant(bld_base, nir_intrinsic_flags(state->check)),
   };
   LLVMValueRef found = gpuval_lvp_call(bld_base, GPUVAL_FUNCTION_ADDRESS, as_mask(state, calling),
                                        words, ARRAY_SIZE(words), 2);
   LLVMValueRef before = gpuval_lvp_resize(bld_base, LLVMBuildExtractValue(builder, found, 0, ""),
                                           bld_base->uint_bld.type.length);
   LLVMValueRef word = gpuval_lvp_resize(bld_base, LLVMBuildExtractValue(builder, found, 1, ""),
                                         bld_base->uint_bld.type.length);

   LLVMTypeRef type = bld_base->uint64_bld.vec_type;
   LLVMValueRef begin =
      LLVMBuildSub(builder, state->address, LLVMBuildZExt(builder, before, type, ""), "");
   LLVMValueRef limit = LLVMBuildAnd(builder, LLVMBuildZExt(builder, word, type, ""),
                                     constant_64(state, GPUVAL_ADDRESS_FOUND - 1), "");
   LLVMBuildStore(builder, LLVMBuildSelect(builder, calling, begin, state->begin, ""),
                  bld_base->gpuval.met[MET_BEGIN]);
   LLVMBuildStore(builder, LLVMBuildSelect(builder, calling, limit, state->limit, ""),
                  bld_base->gpuval.met[MET_LIMIT]);

   LLVMValueRef none =
      LLVMBuildICmp(builder, LLVMIntSGE, word, LLVMConstNull(LLVMTypeOf(word)), "");
   return LLVMBuildAnd(builder, calling, none, "");
}

/* One report for both kinds */
static void
report(const struct state *state, LLVMValueRef outside, LLVMValueRef bad, LLVMValueRef halves[2])
{
   struct lp_build_nir_context *bld_base = state->bld_base;
   struct gallivm_state *gallivm = bld_base->base.gallivm;
   const nir_intrinsic_instr *check = state->check;
   LLVMValueRef failed =
      LLVMBuildAnd(gallivm->builder, as_mask(state, bad), gpuval_lvp_get_mask(bld_base, false), "");
   struct lp_build_if_state ifthen;

   lp_build_if(&ifthen, gallivm, gpuval_lvp_any_lane(bld_base, failed));
   {
      LLVMValueRef zero = gpuval_lvp_constant(bld_base, 0);
      LLVMValueRef number =
         LLVMBuildSelect(gallivm->builder, outside, bld_base->uint_bld.zero,
                         lp_build_const_int_vec(gallivm, bld_base->uint_bld.type, 1), "");
      LLVMValueRef words[10] = {
         gpuval_lvp_constant(bld_base, nir_intrinsic_base(check)),
         gpuval_lvp_constant(bld_base,
                             gpuval_nir_function_word(check, bld_base->shader->info.stage)),
         gpuval_lvp_argument(bld_base, halves[0]),
         state->misaligned ? gpuval_lvp_argument(bld_base, number) : zero,
         zero,
         zero,
         gpuval_lvp_argument(bld_base, halves[1]),
      };
      for (unsigned i = 0; i < 3; i++)
         words[7 + i] = gpuval_lvp_argument(
            bld_base, gpuval_lvp_get_component(bld_base, &check->src[CHECK_INVOCATION], i));
      gpuval_lvp_call(bld_base, GPUVAL_FUNCTION_REPORT, failed, words, ARRAY_SIZE(words), 0);
   }
   lp_build_endif(&ifthen);
}

/* Reports what is bad. ~0: the access is in no buffer. */
static LLVMValueRef
find_outside(const struct state *state)
{
   struct lp_build_nir_context *bld_base = state->bld_base;
   struct gallivm_state *gallivm = bld_base->base.gallivm;
   LLVMValueRef halves[2];

   gpuval_lvp_split_64(gallivm, state->address, constant_64(state, 32), bld_base->uint_bld.vec_type,
                       halves);
   LLVMValueRef outside = look(state, halves), bad = outside;
   if (state->misaligned)
      bad = LLVMBuildOr(gallivm->builder, bad,
                        LLVMBuildAnd(gallivm->builder, state->misaligned, state->mask, ""), "");
   report(state, outside, bad, halves);
   return as_mask(state, outside);
}

LLVMValueRef
gpuval_lvp_check_address(struct lp_build_nir_context *bld_base, const nir_intrinsic_instr *check)
{
   struct gallivm_state *gallivm = bld_base->base.gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   LLVMTypeRef type = bld_base->uint64_bld.vec_type;
   LLVMValueRef *met = bld_base->gpuval.met;
   struct state state = {.bld_base = bld_base, .check = check};
   struct lp_build_if_state ifthen;

   for (unsigned i = 0; i < ARRAY_SIZE(bld_base->gpuval.met); i++) {
      if (!met[i])
         met[i] = add_variable(bld_base);
   }
   state.address = LLVMBuildBitCast(
      builder, gpuval_lvp_get_component(bld_base, &check->src[CHECK_ADDRESS], 0), type, "");
   state.begin = LLVMBuildLoad2(builder, type, met[MET_BEGIN], "");
   state.limit = LLVMBuildLoad2(builder, type, met[MET_LIMIT], "");
   state.mask = is_not_zero(&state, gpuval_lvp_get_mask(bld_base, true));
   state.missed = is_missed(&state);
   state.misaligned = is_misaligned(&state);

   LLVMValueRef suspects = state.missed;
   if (state.misaligned)
      suspects = LLVMBuildOr(builder, suspects, state.misaligned, "");
   suspects = LLVMBuildAnd(builder, suspects, state.mask, "");

   LLVMValueRef outside = lp_build_alloca(gallivm, bld_base->uint_bld.vec_type, "");
   lp_build_if(&ifthen, gallivm, gpuval_lvp_any_lane(bld_base, as_mask(&state, suspects)));
   LLVMBuildStore(builder, find_outside(&state), outside);
   lp_build_endif(&ifthen);
   return LLVMBuildLoad2(builder, bld_base->uint_bld.vec_type, outside, "");
}
