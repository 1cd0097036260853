/* SPDX-License-Identifier: MIT */

/* Calls of GPUVAL_FUNCTION_REPORT, several of which are one call in shaders; compiled once for a
 * process:
 *
 *    for each row of the table:
 *       if a lane has something to report:
 *          call GPUVAL_FUNCTION_REPORT
 *
 * Of init, behind addresses, that is where the word that has the marks of the range is not all
 * written, or where its marks are in no one word: the function marks, or looks and reports. In
 * shaders, the same took more code than the accesses themselves.
 */

#include "gpuval_lvp_rows.h"

#include "gpuval/src/base/gpuval_init.h"
#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval/src/lvp_glue/gpuval_lvp_nir.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"
#include "gpuval_lvp_cells_private.h"

struct function {
   struct cells c;
   LLVMValueRef args[GPUVAL_LVP_ROWS_COUNT];
   unsigned header_size, row_size, num_vectors; /* words of the table, words and vectors of a row */
   LLVMValueRef root, window, written;          /* of init: addresses */
};

/* What a row says of its range */
struct range {
   LLVMValueRef low, high, running; /* of each lane; @running: 1 bit */
   LLVMValueRef size, marks;        /* numbers */
};

static LLVMValueRef
load_from_table(const struct cells *c, LLVMValueRef table, LLVMValueRef place)
{
   return LLVMBuildLoad2(c->b, c->i32, LLVMBuildGEP2(c->b, c->i32, table, &place, 1, ""), "");
}

static LLVMValueRef
load_header(const struct function *f, unsigned index)
{
   return load_from_table(&f->c, f->args[GPUVAL_LVP_ROWS_TABLE], imm(&f->c, index));
}

static LLVMValueRef
load_word(const struct function *f, LLVMValueRef row, unsigned index)
{
   const struct cells *c = &f->c;
   LLVMValueRef place = LLVMBuildMul(c->b, row, imm(c, f->row_size), "");

   place = LLVMBuildAdd(c->b, place, imm(c, f->header_size + index), "");
   return load_from_table(c, f->args[GPUVAL_LVP_ROWS_TABLE], place);
}

static LLVMValueRef
load_of_row(const struct function *f, LLVMValueRef row, unsigned index)
{
   const struct cells *c = &f->c;
   LLVMValueRef place = LLVMBuildMul(c->b, row, imm(c, f->num_vectors), "");

   place = LLVMBuildAdd(c->b, place, imm(c, index), "");
   return LLVMBuildLoad2(
      c->b, c->vec32,
      LLVMBuildGEP2(c->b, c->vec32, f->args[GPUVAL_LVP_ROWS_VECTORS], &place, 1, ""), "");
}

/* Returns 1 bit for each lane. */
static LLVMValueRef
load_mask(const struct function *f, LLVMValueRef row, unsigned index)
{
   return compare(&f->c, LLVMIntNE, load_of_row(f, row, index), LLVMConstNull(f->c.vec32));
}

static struct range
load_range(const struct function *f, LLVMValueRef row)
{
   return (struct range){
      .low = load_of_row(f, row, GPUVAL_LVP_RANGE_LOW),
      .high = load_of_row(f, row, GPUVAL_LVP_RANGE_HIGH),
      .running = load_mask(f, row, GPUVAL_LVP_RANGE_MASK),
      .size = load_word(f, row, GPUVAL_LVP_RANGE_SIZE),
      .marks = load_word(f, row, GPUVAL_LVP_RANGE_MARKS),
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
find_unwritten(const struct function *f, const struct range *range)
{
   const struct cells *c = &f->c;
   LLVMValueRef high = LLVMBuildZExt(c->b, range->high, c->vec64, "");
   LLVMValueRef address = or_(c, LLVMBuildShl(c->b, high, each(c, imm64(c, 32)), ""),
                              LLVMBuildZExt(c->b, range->low, c->vec64, ""));
   LLVMValueRef distance = LLVMBuildSub(c->b, address, each(c, f->window), "");
   LLVMValueRef tracked =
      compare(c, LLVMIntULT, distance, each(c, imm64(c, 1ull << GPUVAL_SHADOW_WINDOW_LOG2)));
   tracked = and_(c, tracked, range->running);

   LLVMValueRef bytes = LLVMBuildLShr(c->b, address, each(c, imm64(c, GPUVAL_INIT_WORD_LOG2)), "");
   bytes = LLVMBuildAdd(c->b, bytes, each(c, f->written), "");
   LLVMValueRef place = LLVMBuildSelect(c->b, tracked, and_(c, bytes, each(c, imm64(c, ~3ull))),
                                        each(c, f->root), "");
   LLVMValueRef shift = and_(c, LLVMBuildTrunc(c->b, bytes, c->vec32, ""), each_imm(c, 3));
   shift = LLVMBuildShl(c->b, shift, each_imm(c, 3), "");
   LLVMValueRef marks = LLVMBuildLShr(c->b, load_words(c, place), shift, "");
   LLVMValueRef all = each(c, range->marks);
   LLVMValueRef unwritten = and_(c, tracked, compare(c, LLVMIntNE, and_(c, marks, all), all));

   LLVMValueRef always = compare(c, LLVMIntEQ, all, LLVMConstNull(c->vec32));
   return and_(c, range->running, or_(c, unwritten, always));
}

/* Calls the report's function with the words but those of the invocation. */
static void
call_report(const struct function *f, LLVMValueRef lanes,
            const LLVMValueRef words[GPUVAL_LVP_REPORTS_WORDS])
{
   LLVMValueRef all[GPUVAL_LVP_REPORTS_WORDS + 3];

   for (unsigned i = 0; i < GPUVAL_LVP_REPORTS_WORDS; i++)
      all[i] = words[i];
   for (unsigned i = 0; i < 3; i++)
      all[GPUVAL_LVP_REPORTS_WORDS + i] = f->args[GPUVAL_LVP_ROWS_INVOCATION + i];
   gpuval_lvp_cells_call(&f->c, GPUVAL_FUNCTION_REPORT, f->args[GPUVAL_LVP_ROWS_RESOURCES], lanes,
                         all, ARRAY_SIZE(all), 0);
}

static void
report_range(const struct function *f, LLVMValueRef row, const struct range *range,
             LLVMValueRef lanes)
{
   const struct cells *c = &f->c;
   LLVMValueRef zero = LLVMConstNull(c->vec32);
   const LLVMValueRef words[GPUVAL_LVP_REPORTS_WORDS] = {
      each(c, load_word(f, row, GPUVAL_LVP_RANGE_ENTRY)),
      each(c, load_header(f, 1)),
      range->low, /* detail */
      range->high,
      each(c, range->size),
      zero,
      zero, /* slot */
   };
   call_report(f, lanes, words);
}

static void
report_constants(const struct function *f, LLVMValueRef row, LLVMValueRef lanes)
{
   LLVMValueRef words[GPUVAL_LVP_REPORTS_WORDS];

   for (unsigned i = 0; i < GPUVAL_LVP_REPORTS_WORDS; i++)
      words[i] = each(&f->c, load_word(f, row, i));
   call_report(f, lanes, words);
}

static void
build_rows(struct function *f, bool has_ranges)
{
   const struct cells *c = &f->c;
   LLVMBasicBlockRef entry = LLVMGetInsertBlock(c->b), loop = create_block(c, "row");
   LLVMBasicBlockRef report = create_block(c, "report"), next = create_block(c, "next");
   LLVMBasicBlockRef end = create_block(c, "end");
   struct range range;
   LLVMBuildBr(c->b, loop);

   continue_at(c, loop);
   LLVMValueRef row = LLVMBuildPhi(c->b, c->i32, "row"), lanes;
   if (has_ranges) {
      range = load_range(f, row);
      lanes = find_unwritten(f, &range);
   } else {
      lanes = load_mask(f, row, 0);
   }
   LLVMBuildCondBr(c->b, any(c, lanes), report, next);

   continue_at(c, report);
   if (has_ranges)
      report_range(f, row, &range, lanes);
   else
      report_constants(f, row, lanes);
   LLVMBuildBr(c->b, next);

   continue_at(c, next);
   LLVMValueRef next_row = LLVMBuildAdd(c->b, row, imm(c, 1), "");
   LLVMBuildCondBr(c->b, compare(c, LLVMIntULT, next_row, load_header(f, 0)), loop, end);
   LLVMAddIncoming(row, (LLVMValueRef[]){imm(c, 0), next_row}, (LLVMBasicBlockRef[]){entry, next},
                   2);

   continue_at(c, end);
   LLVMBuildRetVoid(c->b);
}

static void
begin_function(struct function *f, struct gallivm_state *gallivm, LLVMTypeRef resources_type,
               const char *name)
{
   LLVMTypeRef type = gpuval_lvp_rows_type(gallivm, LLVMPointerType(resources_type, 0));

   gpuval_lvp_cells_begin(&f->c, gallivm, resources_type,
                          LLVMAddFunction(gallivm->module, name, type), GPUVAL_LVP_ROWS_RESOURCES);
   LLVMGetParams(f->c.function, f->args);
}

LLVMValueRef
gpuval_lvp_build_ranges(struct gallivm_state *gallivm, LLVMTypeRef resources_type, const char *name)
{
   struct function f = {
      .header_size = GPUVAL_LVP_RANGES_HEADER,
      .row_size = GPUVAL_LVP_RANGE_WORDS,
      .num_vectors = GPUVAL_LVP_RANGE_VECTORS,
   };
   const struct cells *c = &f.c;

   begin_function(&f, gallivm, resources_type, name);
   f.root = load_data(c, offsetof(struct gpuval_command_data, root_address), c->i64);
   f.window = load_at(c, f.root, offsetof(struct gpuval_root, written_window), c->i64);
   f.written = load_at(c, f.root, offsetof(struct gpuval_root, written), c->i64);
   build_rows(&f, true);
   gallivm_verify_function(gallivm, c->function);
   return c->function;
}

LLVMValueRef
gpuval_lvp_build_reports(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                         const char *name)
{
   struct function f = {
      .header_size = GPUVAL_LVP_REPORTS_HEADER,
      .row_size = GPUVAL_LVP_REPORTS_WORDS,
      .num_vectors = 1,
   };

   begin_function(&f, gallivm, resources_type, name);
   build_rows(&f, false);
   gallivm_verify_function(gallivm, f.c.function);
   return f.c.function;
}
