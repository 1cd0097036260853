/* SPDX-License-Identifier: MIT */

/* Calls of GPUVAL_FUNCTION_LOOK and GPUVAL_FUNCTION_OUTSIDE: gpuval_lvp_look.h. What is constant is
 * in a table, and what identifies the invocation in memory, as most calls do not look at it.
 */

#include "gpuval_lvp_gallivm_private.h"
#include "gpuval_lvp_look.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_flow.h"
#include "gallivm/lp_bld_init.h"

#include "gpuval/src/base/gpuval_descriptor.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"

/* Sources of @call_gpuval and of @look_gpuval */
enum {
   CALL_WORDS = 1,
   LOOK_WORDS = 0,
   LOOK_INVOCATION,
};

static LLVMTypeRef
get_vector_type(struct gallivm_state *gallivm)
{
   return LLVMVectorType(LLVMInt32TypeInContext(gallivm->context), gpuval_lvp_num_lanes());
}

LLVMTypeRef
gpuval_lvp_look_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type)
{
   LLVMTypeRef vec_type = get_vector_type(gallivm);
   LLVMTypeRef args[GPUVAL_LVP_LOOK_COUNT] = {
      [GPUVAL_LVP_LOOK_MASK] = vec_type,
      [GPUVAL_LVP_LOOK_RESOURCES] = resources_ptr_type,
      [GPUVAL_LVP_LOOK_RUNNING] = vec_type,
      [GPUVAL_LVP_LOOK_TABLE] = LLVMPointerType(LLVMInt32TypeInContext(gallivm->context), 0),
      [GPUVAL_LVP_LOOK_SLOT] = vec_type,
      [GPUVAL_LVP_LOOK_INDEX] = vec_type,
      [GPUVAL_LVP_LOOK_INVOCATION] = LLVMPointerType(vec_type, 0),
   };
   return LLVMFunctionType(vec_type, args, GPUVAL_LVP_LOOK_COUNT, 0);
}

LLVMTypeRef
gpuval_lvp_outside_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type)
{
   LLVMTypeRef vec_type = get_vector_type(gallivm);
   LLVMTypeRef args[GPUVAL_LVP_OUTSIDE_COUNT] = {
      [GPUVAL_LVP_OUTSIDE_MASK] = vec_type,
      [GPUVAL_LVP_OUTSIDE_RESOURCES] = resources_ptr_type,
      [GPUVAL_LVP_OUTSIDE_TABLE] = LLVMPointerType(LLVMInt32TypeInContext(gallivm->context), 0),
      [GPUVAL_LVP_OUTSIDE_SLOT] = vec_type,
      [GPUVAL_LVP_OUTSIDE_OFFSET] = vec_type,
      [GPUVAL_LVP_OUTSIDE_INVOCATION] = LLVMPointerType(vec_type, 0),
   };
   return LLVMFunctionType(LLVMVoidTypeInContext(gallivm->context), args, GPUVAL_LVP_OUTSIDE_COUNT,
                           0);
}

static nir_scalar
get_word(const nir_def *words, unsigned word)
{
   return nir_scalar_chase_movs(nir_get_scalar((nir_def *)words, word));
}

static void
fill_table(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr, const nir_def *words,
           uint32_t table[GPUVAL_LVP_LOOK_TABLE_SIZE])
{
   uint32_t *more = &table[GPUVAL_FUNCTION_DESCRIPTOR_WORDS];

   memset(table, 0, GPUVAL_LVP_LOOK_TABLE_SIZE * sizeof(*table));
   for (unsigned i = 0; i < GPUVAL_FUNCTION_DESCRIPTOR_WORDS; i++) {
      const bool is_value =
         i == GPUVAL_USE_WORD_SLOT || i == GPUVAL_USE_WORD_INDEX || i == GPUVAL_USE_WORD_IS_HELPER;
      table[i] = is_value ? 0 : nir_scalar_as_uint(get_word(words, i));
   }
   const uint32_t format = table[GPUVAL_USE_WORD_REQUIRED] >> GPUVAL_USE_FORMAT_SHIFT;
   more[GPUVAL_LVP_LOOK_FORMAT] = format ? gpuval_format_bits(format) : 0;
   if (instr->intrinsic == nir_intrinsic_look_gpuval) {
      more[GPUVAL_LVP_LOOK_ENTRY] = nir_intrinsic_base(instr);
      more[GPUVAL_LVP_LOOK_REPORT] =
         (gpuval_nir_function_word(instr, soa->stage) & ~0xffffu) | 1; /* entry */
   }
}

/* Stores what is not there from a call before, in the same block. */
static LLVMValueRef
store_invocation(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr, unsigned src)
{
   struct gallivm_state *gallivm = soa->gallivm;
   struct gpuval_lvp_calls *state = soa->calls;
   LLVMTypeRef vec_type = get_vector_type(gallivm);
   LLVMTypeRef array_type = LLVMArrayType(vec_type, ARRAY_SIZE(state->look_stored));

   if (!state->look_words)
      state->look_words = lp_build_alloca_undef(gallivm, array_type, "");
   LLVMValueRef words =
      LLVMBuildBitCast(gallivm->builder, state->look_words, LLVMPointerType(vec_type, 0), "");
   if (state->look_block != instr->instr.block)
      memset(state->look_stored, 0, sizeof(state->look_stored));
   state->look_block = instr->instr.block;
   for (unsigned i = 0; i < ARRAY_SIZE(state->look_stored); i++) {
      const nir_scalar scalar = get_word(instr->src[src].ssa, i);
      if (state->look_stored[i].def && nir_scalar_equal(state->look_stored[i], scalar))
         continue;
      state->look_stored[i] = scalar;
      LLVMValueRef place = lp_build_const_int32(gallivm, i);
      LLVMBuildStore(gallivm->builder,
                     gpuval_lvp_argument(soa, soa->get_value(soa, scalar.def, scalar.comp)),
                     LLVMBuildGEP2(gallivm->builder, vec_type, words, &place, 1, ""));
   }
   return words;
}

static LLVMValueRef
get_argument(struct gpuval_lvp_soa *soa, const nir_def *words, unsigned word)
{
   const nir_scalar scalar = get_word(words, word);

   if (nir_scalar_is_const(scalar))
      return gpuval_lvp_constant(soa, nir_scalar_as_uint(scalar));
   return gpuval_lvp_argument(soa, soa->get_value(soa, scalar.def, scalar.comp));
}

/* As many of a shader are in front of a branch around the call. */
#define MAX_IN_FRONT 8

/* Calls where something is not good; the result is 0 elsewhere. */
static LLVMValueRef
call_if_needed(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr, LLVMTypeRef type,
               LLVMValueRef *args, const uint32_t *table)
{
   struct gallivm_state *gallivm = soa->gallivm;
   struct gpuval_lvp_calls *state = soa->calls;
   LLVMTypeRef vec_type = get_vector_type(gallivm);
   const bool has_branch = state->num_looks++ < MAX_IN_FRONT;
   LLVMValueRef result = NULL;
   struct lp_build_if_state ifthen;

   if (has_branch) {
      result = lp_build_alloca(gallivm, vec_type, "");
      LLVMValueRef good = gpuval_lvp_build_good(soa, args, table);
      lp_build_if(&ifthen, gallivm, LLVMBuildNot(gallivm->builder, good, ""));
      state->look_block = NULL; /* all three vectors are stored behind the branch */
   }
   if (instr->intrinsic == nir_intrinsic_look_gpuval)
      args[GPUVAL_LVP_LOOK_INVOCATION] = store_invocation(soa, instr, LOOK_INVOCATION);
   LLVMValueRef called = LLVMBuildCall2(gallivm->builder, type,
                                        gpuval_lvp_load_function(soa, GPUVAL_FUNCTION_LOOK, type),
                                        args, GPUVAL_LVP_LOOK_COUNT, "");
   if (!has_branch)
      return called;

   LLVMBuildStore(gallivm->builder, called, result);
   lp_build_endif(&ifthen);
   state->look_block = NULL; /* and may not have been where nothing was called */
   return LLVMBuildLoad2(gallivm->builder, vec_type, result, "");
}

LLVMValueRef
gpuval_lvp_look(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr)
{
   struct gallivm_state *gallivm = soa->gallivm;
   const bool reports = instr->intrinsic == nir_intrinsic_look_gpuval;
   const nir_def *words = instr->src[reports ? LOOK_WORDS : CALL_WORDS].ssa;
   LLVMTypeRef type = gpuval_lvp_look_type(gallivm, LLVMTypeOf(soa->resources_ptr));
   uint32_t table[GPUVAL_LVP_LOOK_TABLE_SIZE];

   fill_table(soa, instr, words, table);
   LLVMValueRef args[GPUVAL_LVP_LOOK_COUNT] = {
      [GPUVAL_LVP_LOOK_MASK] = gpuval_lvp_argument(soa, gpuval_lvp_get_mask(soa, true)),
      [GPUVAL_LVP_LOOK_RESOURCES] = soa->resources_ptr,
      [GPUVAL_LVP_LOOK_RUNNING] = gpuval_lvp_argument(soa, gpuval_lvp_get_mask(soa, false)),
      [GPUVAL_LVP_LOOK_TABLE] = gpuval_lvp_add_table(soa, table, ARRAY_SIZE(table)),
      [GPUVAL_LVP_LOOK_SLOT] = get_argument(soa, words, GPUVAL_USE_WORD_SLOT),
      [GPUVAL_LVP_LOOK_INDEX] = get_argument(soa, words, GPUVAL_USE_WORD_INDEX),
      [GPUVAL_LVP_LOOK_INVOCATION] = LLVMConstNull(LLVMPointerType(get_vector_type(gallivm), 0)),
   };

   return gpuval_lvp_resize(soa, call_if_needed(soa, instr, type, args, table),
                            soa->uint_bld.type.length);
}

void
gpuval_lvp_call_outside(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *check)
{
   struct gallivm_state *gallivm = soa->gallivm;
   const nir_def *index = check->src[GPUVAL_LVP_CHECK_BUFFER_INDEX].ssa;
   const uint32_t table[GPUVAL_LVP_OUTSIDE_WORDS] = {
      [GPUVAL_LVP_OUTSIDE_ENTRY] = nir_intrinsic_base(check),
      [GPUVAL_LVP_OUTSIDE_REPORT] = gpuval_nir_function_word(check, soa->stage),
      [GPUVAL_LVP_OUTSIDE_BUFFER] = nir_intrinsic_desc_set(check) + 1,
      [GPUVAL_LVP_OUTSIDE_SPAN] = nir_intrinsic_flags(check),
      [GPUVAL_LVP_OUTSIDE_IS_UNIFORM] = gpuval_lvp_is_one_slot(get_word(index, 1)),
   };
   LLVMValueRef excluded = gpuval_lvp_get_bool(soa, &check->src[GPUVAL_LVP_CHECK_BUFFER_EXCLUDED]);
   LLVMValueRef mask = gpuval_lvp_where(soa, LLVMBuildNot(gallivm->builder, excluded, ""),
                                        gpuval_lvp_get_mask(soa, false));
   LLVMTypeRef type = gpuval_lvp_outside_type(gallivm, LLVMTypeOf(soa->resources_ptr));
   LLVMValueRef args[GPUVAL_LVP_OUTSIDE_COUNT] = {
      [GPUVAL_LVP_OUTSIDE_MASK] = gpuval_lvp_argument(soa, mask),
      [GPUVAL_LVP_OUTSIDE_RESOURCES] = soa->resources_ptr,
      [GPUVAL_LVP_OUTSIDE_TABLE] = gpuval_lvp_add_table(soa, table, ARRAY_SIZE(table)),
      [GPUVAL_LVP_OUTSIDE_SLOT] = get_argument(soa, index, 1),
      [GPUVAL_LVP_OUTSIDE_OFFSET] =
         get_argument(soa, check->src[GPUVAL_LVP_CHECK_BUFFER_OFFSET].ssa, 0),
      [GPUVAL_LVP_OUTSIDE_INVOCATION] =
         store_invocation(soa, check, GPUVAL_LVP_CHECK_BUFFER_INVOCATION),
   };

   LLVMBuildCall2(gallivm->builder, type,
                  gpuval_lvp_load_function(soa, GPUVAL_FUNCTION_OUTSIDE, type), args,
                  ARRAY_SIZE(args), "");
}
