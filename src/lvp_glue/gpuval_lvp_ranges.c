/* SPDX-License-Identifier: MIT */

/* init, of what is accessed behind addresses, compiled once for a process:
 *
 *    for each row of the table:
 *       load the word that has the marks of the range, where memory has marks
 *       if a lane runs whose range is not all written, or whose marks are in no word:
 *          call GPUVAL_FUNCTION_REPORT, which marks, or looks and reports
 *
 * In shaders, the same took more code than the accesses themselves.
 */

#include "gpuval_lvp_ranges.h"

#include "gpuval/src/base/gpuval_init.h"
#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval/src/lvp_glue/gpuval_lvp_nir.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"
#include "gpuval_lvp_cells_private.h"

struct function {
   struct cells c;
   LLVMValueRef args[GPUVAL_LVP_RANGES_COUNT];
   LLVMValueRef root, window, written; /* addresses */
};

/* What a row says of its range */
struct row {
   LLVMValueRef low, high, running; /* of each lane; @running: 1 bit */
   LLVMValueRef entry, size, marks; /* numbers */
};

/* Word @index of the table; @row: the number of the row, or NULL: of the header */
static LLVMValueRef
load_word(const struct function *f, LLVMValueRef row, unsigned index)
{
   const struct cells *c = &f->c;
   LLVMValueRef place = imm(c, index);

   if (row) {
      place = LLVMBuildMul(c->b, row, imm(c, GPUVAL_LVP_RANGE_WORDS), "");
      place = LLVMBuildAdd(c->b, place, imm(c, GPUVAL_LVP_RANGES_HEADER + index), "");
   }
   return LLVMBuildLoad2(
      c->b, c->i32, LLVMBuildGEP2(c->b, c->i32, f->args[GPUVAL_LVP_RANGES_TABLE], &place, 1, ""),
      "");
}

static LLVMValueRef
load_of_row(const struct function *f, LLVMValueRef row, unsigned index)
{
   const struct cells *c = &f->c;
   LLVMValueRef place = LLVMBuildMul(c->b, row, imm(c, GPUVAL_LVP_RANGE_VECTORS), "");

   place = LLVMBuildAdd(c->b, place, imm(c, index), "");
   return LLVMBuildLoad2(
      c->b, c->vec32,
      LLVMBuildGEP2(c->b, c->vec32, f->args[GPUVAL_LVP_RANGES_VECTORS], &place, 1, ""), "");
}

static struct row
load_row(const struct function *f, LLVMValueRef number)
{
   const struct cells *c = &f->c;

   return (struct row){
      .low = load_of_row(f, number, GPUVAL_LVP_RANGE_LOW),
      .high = load_of_row(f, number, GPUVAL_LVP_RANGE_HIGH),
      .running = compare(c, LLVMIntNE, load_of_row(f, number, GPUVAL_LVP_RANGE_MASK),
                         LLVMConstNull(c->vec32)),
      .entry = load_word(f, number, GPUVAL_LVP_RANGE_ENTRY),
      .size = load_word(f, number, GPUVAL_LVP_RANGE_SIZE),
      .marks = load_word(f, number, GPUVAL_LVP_RANGE_MARKS),
   };
}

/* A word of each lane. Others may change it meanwhile. */
static LLVMValueRef
load_words(const struct cells *c, LLVMValueRef addresses)
{
   LLVMValueRef words = LLVMGetUndef(c->vec32);

   for (unsigned i = 0; i < c->num_lanes; i++) {
      LLVMValueRef address = LLVMBuildExtractElement(c->b, addresses, imm(c, i), "");
      LLVMValueRef word = LLVMBuildLoad2(c->b, c->i32, pointer_to(c, address, c->i32), "");
      LLVMSetVolatile(word, 1);
      words = LLVMBuildInsertElement(c->b, words, word, imm(c, i), "");
   }
   return words;
}

/* Returns the lanes for which the report's function has something to do, 1 bit each. */
static LLVMValueRef
find_needed(const struct function *f, const struct row *row)
{
   const struct cells *c = &f->c;
   LLVMValueRef high = LLVMBuildZExt(c->b, row->high, c->vec64, "");
   LLVMValueRef address = or_(c, LLVMBuildShl(c->b, high, each(c, imm64(c, 32)), ""),
                              LLVMBuildZExt(c->b, row->low, c->vec64, ""));
   LLVMValueRef distance = LLVMBuildSub(c->b, address, each(c, f->window), "");
   LLVMValueRef tracked =
      compare(c, LLVMIntULT, distance, each(c, imm64(c, 1ull << GPUVAL_SHADOW_WINDOW_LOG2)));
   tracked = and_(c, tracked, row->running);

   LLVMValueRef bytes = LLVMBuildLShr(c->b, address, each(c, imm64(c, GPUVAL_INIT_WORD_LOG2)), "");
   bytes = LLVMBuildAdd(c->b, bytes, each(c, f->written), "");
   LLVMValueRef place = LLVMBuildSelect(c->b, tracked, and_(c, bytes, each(c, imm64(c, ~3ull))),
                                        each(c, f->root), "");
   LLVMValueRef shift = and_(c, LLVMBuildTrunc(c->b, bytes, c->vec32, ""), each_imm(c, 3));
   shift = LLVMBuildShl(c->b, shift, each_imm(c, 3), "");
   LLVMValueRef marks = LLVMBuildLShr(c->b, load_words(c, place), shift, "");
   LLVMValueRef all = each(c, row->marks);
   LLVMValueRef unwritten = and_(c, tracked, compare(c, LLVMIntNE, and_(c, marks, all), all));

   LLVMValueRef always = compare(c, LLVMIntEQ, all, LLVMConstNull(c->vec32));
   return and_(c, row->running, or_(c, unwritten, always));
}

static void
call_report(const struct function *f, const struct row *row, LLVMValueRef lanes)
{
   const struct cells *c = &f->c;
   LLVMValueRef zero = LLVMConstNull(c->vec32);
   const LLVMValueRef words[] = {
      each(c, row->entry),
      each(c, load_word(f, NULL, 1)),
      row->low, /* detail */
      row->high,
      each(c, row->size),
      zero,
      zero, /* slot */
      f->args[GPUVAL_LVP_RANGES_INVOCATION],
      f->args[GPUVAL_LVP_RANGES_INVOCATION + 1],
      f->args[GPUVAL_LVP_RANGES_INVOCATION + 2],
   };
   gpuval_lvp_cells_call(c, GPUVAL_FUNCTION_REPORT, f->args[GPUVAL_LVP_RANGES_RESOURCES], lanes,
                         words, ARRAY_SIZE(words), 0);
}

static void
build_rows(struct function *f)
{
   const struct cells *c = &f->c;
   LLVMBasicBlockRef entry = LLVMGetInsertBlock(c->b), loop = create_block(c, "row");
   LLVMBasicBlockRef report = create_block(c, "report"), next = create_block(c, "next");
   LLVMBasicBlockRef end = create_block(c, "end");
   LLVMBuildBr(c->b, loop);

   continue_at(c, loop);
   LLVMValueRef number = LLVMBuildPhi(c->b, c->i32, "row");
   const struct row row = load_row(f, number);
   LLVMValueRef needed = find_needed(f, &row);
   LLVMBuildCondBr(c->b, any(c, needed), report, next);

   continue_at(c, report);
   call_report(f, &row, needed);
   LLVMBuildBr(c->b, next);

   continue_at(c, next);
   LLVMValueRef next_number = LLVMBuildAdd(c->b, number, imm(c, 1), "");
   LLVMBuildCondBr(c->b, compare(c, LLVMIntULT, next_number, load_word(f, NULL, 0)), loop, end);
   LLVMAddIncoming(number, (LLVMValueRef[]){imm(c, 0), next_number},
                   (LLVMBasicBlockRef[]){entry, next}, 2);

   continue_at(c, end);
   LLVMBuildRetVoid(c->b);
}

LLVMValueRef
gpuval_lvp_build_ranges(struct gallivm_state *gallivm, LLVMTypeRef resources_type, const char *name)
{
   LLVMTypeRef type = gpuval_lvp_ranges_type(gallivm, LLVMPointerType(resources_type, 0));
   struct function f;
   struct cells *c = &f.c;

   gpuval_lvp_cells_begin(c, gallivm, resources_type, LLVMAddFunction(gallivm->module, name, type),
                          GPUVAL_LVP_RANGES_RESOURCES);
   LLVMGetParams(c->function, f.args);
   f.root = load_data(c, offsetof(struct gpuval_command_data, root_address), c->i64);
   f.window = load_at(c, f.root, offsetof(struct gpuval_root, written_window), c->i64);
   f.written = load_at(c, f.root, offsetof(struct gpuval_root, written), c->i64);
   build_rows(&f);
   gallivm_verify_function(gallivm, c->function);
   return c->function;
}
