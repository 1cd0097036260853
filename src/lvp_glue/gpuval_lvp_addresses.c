/* SPDX-License-Identifier: MIT */

/* What is behind the branch of gpuval_lvp_gallivm_address.c, compiled once for a process:
 *
 *    for each row of the table:
 *       if a lane is not in the buffer that it met last: look for another one, which is remembered
 *       bad = no buffer, or misaligned
 *       if this is the first row, the range of all: return 0 if no lane is bad
 *       else: report bad lanes, and add the row's bit to the results of those without a buffer
 */

#include "gpuval_lvp_addresses.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_init.h"

#include "gpuval/src/base/gpuval_address_table.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"
#include "gpuval_lvp_gallivm_private.h"

struct state {
   struct gallivm_state *gallivm;
   LLVMBuilderRef b;
   LLVMValueRef function;
   LLVMTypeRef resources_type;
   unsigned num_lanes;
   LLVMTypeRef i32, vec32, vec64;
   LLVMValueRef args[GPUVAL_LVP_ADDRESSES_COUNT];
   LLVMValueRef lanes, reporting; /* 1 bit each */
   LLVMValueRef lowest;           /* address */
};

static LLVMValueRef
imm(const struct state *state, uint32_t value)
{
   return LLVMConstInt(state->i32, value, 0);
}

static LLVMValueRef
splat(const struct state *state, LLVMValueRef value)
{
   LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(value), state->num_lanes);
   LLVMValueRef first =
      LLVMBuildInsertElement(state->b, LLVMGetUndef(type), value, imm(state, 0), "");
   return LLVMBuildShuffleVector(state->b, first, LLVMGetUndef(type), LLVMConstNull(state->vec32),
                                 "");
}

static LLVMValueRef
splat_64(const struct state *state, LLVMValueRef value)
{
   return LLVMBuildZExt(state->b, splat(state, value), state->vec64, "");
}

static LLVMBasicBlockRef
create_block(const struct state *state, const char *name)
{
   return LLVMAppendBasicBlockInContext(state->gallivm->context, state->function, name);
}

/* Word @index of the table; @row: the number of the row, or NULL: of the header */
static LLVMValueRef
load_word(const struct state *state, LLVMValueRef row, unsigned index)
{
   LLVMValueRef place = imm(state, index);

   if (row) {
      place = LLVMBuildMul(state->b, row, imm(state, GPUVAL_LVP_ADDRESS_WORDS), "");
      place = LLVMBuildAdd(state->b, place, imm(state, GPUVAL_LVP_ADDRESSES_HEADER + index), "");
   }
   return LLVMBuildLoad2(
      state->b, state->i32,
      LLVMBuildGEP2(state->b, state->i32, state->args[GPUVAL_LVP_ADDRESSES_TABLE], &place, 1, ""),
      "");
}

static LLVMValueRef
met_pointer(const struct state *state, unsigned field)
{
   return LLVMBuildStructGEP2(state->b, gpuval_lvp_met_type(state->gallivm),
                              state->args[GPUVAL_LVP_ADDRESSES_MET], field, "");
}

static LLVMValueRef
load_met(const struct state *state, unsigned field)
{
   LLVMTypeRef type = LLVMStructGetTypeAtIndex(gpuval_lvp_met_type(state->gallivm), field);
   return LLVMBuildLoad2(state->b, type, met_pointer(state, field), "");
}

static LLVMValueRef
as_mask(const struct state *state, LLVMValueRef lanes)
{
   return LLVMBuildSExt(state->b, lanes, state->vec32, "");
}

static void
split(const struct state *state, LLVMValueRef address, LLVMValueRef halves[2])
{
   gpuval_lvp_split_64(state->gallivm, address, splat_64(state, imm(state, 32)), state->vec32,
                       halves);
}

static LLVMValueRef
call(const struct state *state, unsigned function, LLVMValueRef lanes, const LLVMValueRef *words,
     unsigned num_words, unsigned num_results)
{
   LLVMTypeRef type = gpuval_lvp_function_type(
      state->gallivm, LLVMTypeOf(state->args[GPUVAL_LVP_ADDRESSES_RESOURCES]), num_words,
      num_results);
   LLVMValueRef args[2 + GPUVAL_FUNCTION_MAX_WORDS] = {as_mask(state, lanes),
                                                       state->args[GPUVAL_LVP_ADDRESSES_RESOURCES]};

   for (unsigned i = 0; i < num_words; i++)
      args[2 + i] = words[i];
   LLVMValueRef pointer =
      gpuval_lvp_load_called(state->gallivm, state->resources_type,
                             state->args[GPUVAL_LVP_ADDRESSES_RESOURCES], function, type);
   return LLVMBuildCall2(state->b, type, pointer, args, 2 + num_words, "");
}

/* Returns the lanes whose @span bytes are in no buffer. The buffers of the others are those that
 * were met last, from now on.
 */
static LLVMValueRef
find_outside(const struct state *state, LLVMValueRef address, LLVMValueRef span)
{
   LLVMBuilderRef b = state->b;
   LLVMValueRef begin = load_met(state, GPUVAL_LVP_MET_BEGIN);
   LLVMValueRef limit = load_met(state, GPUVAL_LVP_MET_LIMIT);
   LLVMValueRef room = imm(state, GPUVAL_ADDRESS_ROOM);
   LLVMValueRef more = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGT, span, room, ""),
                                       LLVMBuildSub(b, span, room, ""), imm(state, 0), "");

   LLVMValueRef distance = LLVMBuildSub(b, address, begin, "");
   LLVMValueRef last = LLVMBuildAdd(b, distance, splat_64(state, more), "");
   LLVMValueRef missed = LLVMBuildOr(b, LLVMBuildICmp(b, LLVMIntUGE, distance, limit, ""),
                                     LLVMBuildICmp(b, LLVMIntUGE, last, limit, ""), "");
   missed = LLVMBuildAnd(b, missed, state->lanes, "");

   LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
   LLVMBasicBlockRef missing = create_block(state, "missed"), done = create_block(state, "known");
   LLVMBuildCondBr(b, gpuval_lvp_any_bit(state->gallivm, missed), missing, done);
   LLVMPositionBuilderAtEnd(b, missing);

   LLVMValueRef halves[2];
   split(state, address, halves);
   const LLVMValueRef words[3] = {halves[0], halves[1], splat(state, span)};
   LLVMValueRef found = call(state, GPUVAL_FUNCTION_ADDRESS, missed, words, ARRAY_SIZE(words), 2);
   LLVMValueRef distance_found =
      LLVMBuildZExt(b, LLVMBuildExtractValue(b, found, 0, ""), state->vec64, "");
   LLVMValueRef word = LLVMBuildExtractValue(b, found, 1, "");
   LLVMValueRef new_limit = LLVMBuildZExt(
      b, LLVMBuildAnd(b, word, splat(state, imm(state, GPUVAL_ADDRESS_FOUND - 1)), ""),
      state->vec64, "");
   LLVMBuildStore(
      b, LLVMBuildSelect(b, missed, LLVMBuildSub(b, address, distance_found, ""), begin, ""),
      met_pointer(state, GPUVAL_LVP_MET_BEGIN));
   LLVMBuildStore(b, LLVMBuildSelect(b, missed, new_limit, limit, ""),
                  met_pointer(state, GPUVAL_LVP_MET_LIMIT));
   LLVMValueRef none = LLVMBuildICmp(b, LLVMIntSGE, word, LLVMConstNull(state->vec32), "");
   none = LLVMBuildAnd(b, missed, none, "");
   LLVMBasicBlockRef after = LLVMGetInsertBlock(b);
   LLVMBuildBr(b, done);

   LLVMPositionBuilderAtEnd(b, done);
   LLVMValueRef outside = LLVMBuildPhi(b, LLVMTypeOf(none), "");
   LLVMAddIncoming(outside, (LLVMValueRef[]){LLVMConstNull(LLVMTypeOf(none)), none},
                   (LLVMBasicBlockRef[]){before, after}, 2);
   return outside;
}

static LLVMValueRef
find_misaligned(const struct state *state, LLVMValueRef address, LLVMValueRef row)
{
   LLVMValueRef mask = splat_64(state, load_word(state, row, GPUVAL_LVP_ADDRESS_MASK));
   LLVMValueRef residue = splat_64(state, load_word(state, row, GPUVAL_LVP_ADDRESS_RESIDUE));
   LLVMValueRef misaligned =
      LLVMBuildICmp(state->b, LLVMIntNE, LLVMBuildAnd(state->b, address, mask, ""), residue, "");
   return LLVMBuildAnd(state->b, misaligned, state->lanes, "");
}

/* One report for both kinds: the entry of what is misaligned follows that of what is outside. */
static void
build_report(const struct state *state, LLVMValueRef row, LLVMValueRef address,
             LLVMValueRef outside, LLVMValueRef bad)
{
   LLVMBuilderRef b = state->b;
   LLVMValueRef failed = LLVMBuildAnd(b, bad, state->reporting, "");
   LLVMBasicBlockRef reporting = create_block(state, "report"), done = create_block(state, "told");
   LLVMBuildCondBr(b, gpuval_lvp_any_bit(state->gallivm, failed), reporting, done);
   LLVMPositionBuilderAtEnd(b, reporting);

   LLVMValueRef halves[2], zero = LLVMConstNull(state->vec32);
   split(state, address, halves);
   const LLVMValueRef words[10] = {
      splat(state, load_word(state, row, GPUVAL_LVP_ADDRESS_ENTRY)),
      splat(state, load_word(state, NULL, 1)),
      halves[0],
      LLVMBuildSelect(b, outside, zero, splat(state, imm(state, 1)), ""),
      zero,
      zero,
      halves[1],
      load_met(state, GPUVAL_LVP_MET_INVOCATION),
      load_met(state, GPUVAL_LVP_MET_INVOCATION + 1),
      load_met(state, GPUVAL_LVP_MET_INVOCATION + 2),
   };
   call(state, GPUVAL_FUNCTION_REPORT, failed, words, ARRAY_SIZE(words), 0);
   LLVMBuildBr(b, done);
   LLVMPositionBuilderAtEnd(b, done);
}

static void
build_rows(struct state *state)
{
   LLVMBuilderRef b = state->b;
   LLVMBasicBlockRef entry = LLVMGetInsertBlock(b), loop = create_block(state, "row");
   LLVMBasicBlockRef is_first = create_block(state, "range"),
                     member = create_block(state, "member");
   LLVMBasicBlockRef next = create_block(state, "next"), end = create_block(state, "end");
   LLVMValueRef zero = LLVMConstNull(state->vec32);
   LLVMBuildBr(b, loop);

   LLVMPositionBuilderAtEnd(b, loop);
   LLVMValueRef row = LLVMBuildPhi(b, state->i32, "row");
   LLVMValueRef bits = LLVMBuildPhi(b, state->vec32, "bits");
   LLVMValueRef address = LLVMBuildAdd(
      b, state->lowest, splat_64(state, load_word(state, row, GPUVAL_LVP_ADDRESS_OFFSET)), "");
   LLVMValueRef outside =
      find_outside(state, address, load_word(state, row, GPUVAL_LVP_ADDRESS_SPAN));
   LLVMValueRef bad = LLVMBuildOr(b, outside, find_misaligned(state, address, row), "");
   LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, row, imm(state, 0), ""), is_first, member);

   LLVMPositionBuilderAtEnd(b, is_first);
   LLVMBuildCondBr(b, gpuval_lvp_any_bit(state->gallivm, bad), next, end);

   LLVMPositionBuilderAtEnd(b, member);
   LLVMValueRef bit = LLVMBuildShl(b, imm(state, 1), LLVMBuildSub(b, row, imm(state, 1), ""), "");
   LLVMValueRef more =
      LLVMBuildOr(b, bits, LLVMBuildSelect(b, outside, splat(state, bit), zero, ""), "");
   build_report(state, row, address, outside, bad);
   LLVMBasicBlockRef reported = LLVMGetInsertBlock(b);
   LLVMBuildBr(b, next);

   LLVMPositionBuilderAtEnd(b, next);
   LLVMValueRef result = LLVMBuildPhi(b, state->vec32, "");
   LLVMAddIncoming(result, (LLVMValueRef[]){bits, more}, (LLVMBasicBlockRef[]){is_first, reported},
                   2);
   LLVMValueRef next_row = LLVMBuildAdd(b, row, imm(state, 1), "");
   LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULE, next_row, load_word(state, NULL, 0), ""), loop,
                   end);
   LLVMAddIncoming(row, (LLVMValueRef[]){imm(state, 0), next_row},
                   (LLVMBasicBlockRef[]){entry, next}, 2);
   LLVMAddIncoming(bits, (LLVMValueRef[]){zero, result}, (LLVMBasicBlockRef[]){entry, next}, 2);

   LLVMPositionBuilderAtEnd(b, end);
   LLVMValueRef all = LLVMBuildPhi(b, state->vec32, "");
   LLVMAddIncoming(all, (LLVMValueRef[]){zero, result}, (LLVMBasicBlockRef[]){is_first, next}, 2);
   LLVMBuildRet(b, all);
}

LLVMValueRef
gpuval_lvp_build_addresses(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                           const char *name)
{
   LLVMTypeRef type = gpuval_lvp_addresses_type(gallivm, LLVMPointerType(resources_type, 0));
   struct state state = {
      .gallivm = gallivm,
      .b = gallivm->builder,
      .function = LLVMAddFunction(gallivm->module, name, type),
      .resources_type = resources_type,
      .num_lanes = gpuval_lvp_num_lanes(),
      .i32 = LLVMInt32TypeInContext(gallivm->context),
   };
   state.vec32 = LLVMVectorType(state.i32, state.num_lanes);
   state.vec64 = LLVMVectorType(LLVMInt64TypeInContext(gallivm->context), state.num_lanes);
   LLVMPositionBuilderAtEnd(state.b, create_block(&state, "entry"));

   LLVMGetParams(state.function, state.args);
   LLVMValueRef zero = LLVMConstNull(state.vec32);
   state.lanes = LLVMBuildICmp(state.b, LLVMIntNE, state.args[GPUVAL_LVP_ADDRESSES_MASK], zero, "");
   state.reporting =
      LLVMBuildICmp(state.b, LLVMIntNE, state.args[GPUVAL_LVP_ADDRESSES_REPORTING], zero, "");
   LLVMValueRef high =
      LLVMBuildZExt(state.b, state.args[GPUVAL_LVP_ADDRESSES_HIGH], state.vec64, "");
   LLVMValueRef low = LLVMBuildZExt(state.b, state.args[GPUVAL_LVP_ADDRESSES_LOW], state.vec64, "");
   state.lowest = LLVMBuildOr(
      state.b, LLVMBuildShl(state.b, high, splat_64(&state, imm(&state, 32)), ""), low, "");
   build_rows(&state);
   gallivm_verify_function(gallivm, state.function);
   return state.function;
}
