/* SPDX-License-Identifier: MIT */

/* bounds, of a buffer whose descriptor the shader computes, compiled once for a process:
 *
 *    load the size of the descriptor, or of each lane's
 *    if a lane's range is not inside:
 *       call GPUVAL_FUNCTION_REPORT
 *
 * Shaders have the first few of these comparisons themselves (gpuval_lvp_gallivm_conditions.c).
 */

#include "gpuval_lvp_look.h"

#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_limits.h"
#include "gallivm/lp_bld_struct.h"
#include "util/bitscan.h"

#include "gpuval/src/compat/gpuval_lvp_descriptor.h"
#include "gpuval/src/lvp_glue/gpuval_lvp_nir.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"
#include "gpuval_lvp_cells_private.h"

struct outside {
   struct cells c;
   LLVMValueRef args[GPUVAL_LVP_OUTSIDE_COUNT];
   LLVMValueRef lanes;            /* 1 bit each */
   LLVMValueRef begin, num_slots; /* of the set: an address, and 0 where none is bound */
};

static LLVMValueRef
load_word(const struct outside *f, enum gpuval_lvp_outside_word word)
{
   const struct cells *c = &f->c;
   LLVMValueRef place = imm(c, word);

   return LLVMBuildLoad2(
      c->b, c->i32, LLVMBuildGEP2(c->b, c->i32, f->args[GPUVAL_LVP_OUTSIDE_TABLE], &place, 1, ""),
      "");
}

/* 0 where there is no such descriptor */
static LLVMValueRef
load_size(const struct outside *f, LLVMValueRef slot)
{
   const struct cells *c = &f->c;
   LLVMValueRef is_there = compare(c, LLVMIntULT, slot, f->num_slots);
   LLVMValueRef offset = LLVMBuildMul(c->b, LLVMBuildZExt(c->b, slot, c->i64, ""),
                                      imm64(c, GPUVAL_LVP_DESCRIPTOR_STRIDE), "");
   LLVMValueRef address =
      LLVMBuildSelect(c->b, is_there, LLVMBuildAdd(c->b, f->begin, offset, ""), c->data, "");
   LLVMValueRef size = load_at(c, address, GPUVAL_LVP_DESCRIPTOR_BUFFER_SIZE, c->i32);

   return LLVMBuildSelect(c->b, is_there, size, imm(c, 0), "");
}

static LLVMValueRef
load_each_size(const struct outside *f)
{
   const struct cells *c = &f->c;
   LLVMValueRef sizes = LLVMGetUndef(c->vec32);

   for (unsigned i = 0; i < c->num_lanes; i++) {
      LLVMValueRef slot =
         LLVMBuildExtractElement(c->b, f->args[GPUVAL_LVP_OUTSIDE_SLOT], imm(c, i), "");
      sizes = LLVMBuildInsertElement(c->b, sizes, load_size(f, slot), imm(c, i), "");
   }
   return sizes;
}

/* Of each lane: one for all, where all have one */
static LLVMValueRef
load_sizes(const struct outside *f)
{
   const struct cells *c = &f->c;
   LLVMValueRef slots = f->args[GPUVAL_LVP_OUTSIDE_SLOT];
   LLVMValueRef first =
      LLVMBuildExtractElement(c->b, slots, gpuval_lvp_first_bit(c->gallivm, f->lanes), "");
   LLVMValueRef differs = and_(c, compare(c, LLVMIntNE, slots, each(c, first)), f->lanes);
   LLVMValueRef may_differ =
      compare(c, LLVMIntEQ, load_word(f, GPUVAL_LVP_OUTSIDE_IS_UNIFORM), imm(c, 0));
   LLVMBasicBlockRef one = create_block(c, "one"), many = create_block(c, "many");
   LLVMBasicBlockRef end = create_block(c, "sizes");
   LLVMBuildCondBr(c->b, and_(c, may_differ, any(c, differs)), many, one);

   continue_at(c, one);
   LLVMValueRef size = each(c, load_size(f, first));
   LLVMBuildBr(c->b, end);

   continue_at(c, many);
   LLVMValueRef sizes = load_each_size(f);
   LLVMBuildBr(c->b, end);

   continue_at(c, end);
   LLVMValueRef found = LLVMBuildPhi(c->b, c->vec32, "");
   LLVMAddIncoming(found, (LLVMValueRef[]){size, sizes}, (LLVMBasicBlockRef[]){one, many}, 2);
   return found;
}

/* As is_outside() of gpuval_lvp_gallivm_conditions.c has it */
static LLVMValueRef
is_outside(const struct outside *f, LLVMValueRef sizes)
{
   const struct cells *c = &f->c;
   LLVMValueRef offset = f->args[GPUVAL_LVP_OUTSIDE_OFFSET];
   LLVMValueRef span = load_word(f, GPUVAL_LVP_OUTSIDE_SPAN);
   LLVMValueRef rest = each(c, LLVMBuildSub(c->b, span, imm(c, 1), ""));
   LLVMValueRef starts = LLVMBuildSub(c->b, most(c, sizes, rest), rest, "");

   return compare(c, LLVMIntUGE, offset, starts);
}

static void
call_report(const struct outside *f, LLVMValueRef lanes)
{
   const struct cells *c = &f->c;
   LLVMValueRef zero = LLVMConstNull(c->vec32);
   const LLVMValueRef words[] = {
      each(c, load_word(f, GPUVAL_LVP_OUTSIDE_ENTRY)),
      each(c, load_word(f, GPUVAL_LVP_OUTSIDE_REPORT)),
      f->args[GPUVAL_LVP_OUTSIDE_OFFSET], /* detail */
      zero,
      zero,
      zero,
      f->args[GPUVAL_LVP_OUTSIDE_SLOT],
      load_vector(c, f->args[GPUVAL_LVP_OUTSIDE_INVOCATION], 0),
      load_vector(c, f->args[GPUVAL_LVP_OUTSIDE_INVOCATION], 1),
      load_vector(c, f->args[GPUVAL_LVP_OUTSIDE_INVOCATION], 2),
   };
   gpuval_lvp_cells_call(c, GPUVAL_FUNCTION_REPORT, f->args[GPUVAL_LVP_OUTSIDE_RESOURCES], lanes,
                         words, ARRAY_SIZE(words), 0);
}

static void
find_set(struct outside *f)
{
   const struct cells *c = &f->c;
   LLVMValueRef buffer = load_word(f, GPUVAL_LVP_OUTSIDE_BUFFER);
   LLVMValueRef begin =
      lp_llvm_buffer_base(c->gallivm, c->constants, buffer, LP_MAX_TGSI_CONST_BUFFERS);
   LLVMValueRef num_words =
      lp_llvm_buffer_num_elements(c->gallivm, c->constants, buffer, LP_MAX_TGSI_CONST_BUFFERS);

   f->begin = LLVMBuildPtrToInt(c->b, begin, c->i64, "");
   f->num_slots =
      LLVMBuildLShr(c->b, num_words, imm(c, util_logbase2(GPUVAL_LVP_DESCRIPTOR_STRIDE / 4)), "");
}

LLVMValueRef
gpuval_lvp_build_outside(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                         const char *name)
{
   LLVMTypeRef type = gpuval_lvp_outside_type(gallivm, LLVMPointerType(resources_type, 0));
   struct outside f;
   struct cells *c = &f.c;

   gpuval_lvp_cells_begin(c, gallivm, resources_type, LLVMAddFunction(gallivm->module, name, type),
                          GPUVAL_LVP_OUTSIDE_RESOURCES);
   LLVMGetParams(c->function, f.args);
   f.lanes = compare(c, LLVMIntNE, f.args[GPUVAL_LVP_OUTSIDE_MASK], LLVMConstNull(c->vec32));
   find_set(&f);
   LLVMValueRef failed = and_(c, is_outside(&f, load_sizes(&f)), f.lanes);
   LLVMBasicBlockRef fails = create_block(c, "report"), end = create_block(c, "end");
   LLVMBuildCondBr(c->b, any(c, failed), fails, end);

   continue_at(c, fails);
   call_report(&f, failed);
   LLVMBuildBr(c->b, end);

   continue_at(c, end);
   LLVMBuildRetVoid(c->b);
   gallivm_verify_function(gallivm, c->function);
   return c->function;
}
