/* SPDX-License-Identifier: MIT */

/* Calls for up to eight reports, in gpuval_lvp_rows.c: what is a constant is in a table of the
 * shader, what differs between lanes goes through an array on the stack.
 *
 * GPUVAL_REPORT_RANGE, which init leaves of accesses behind addresses, is called without a branch.
 * Of other reports most are constants but for their condition, and hardly ever called; a call with
 * each word as an argument would be most of what LLVM compiles of a shader.
 */

#include "gpuval_lvp_gallivm_private.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_flow.h"
#include "gallivm/lp_bld_init.h"

#include "gpuval/src/nir_passes/gpuval_nir_functions.h"

/* Sources of @report_gpuval */
enum {
   REPORT_CONDITION,
   REPORT_DETAIL, /* of a range: the address in halves, and two constants: size, marks */
   REPORT_SLOT,
   REPORT_INVOCATION,
};

LLVMTypeRef
gpuval_lvp_rows_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type)
{
   LLVMTypeRef word = LLVMInt32TypeInContext(gallivm->context);
   LLVMTypeRef vec_type = LLVMVectorType(word, gpuval_lvp_num_lanes());
   LLVMTypeRef args[GPUVAL_LVP_ROWS_COUNT] = {
      [GPUVAL_LVP_ROWS_RESOURCES] = resources_ptr_type,
      [GPUVAL_LVP_ROWS_VECTORS] = LLVMPointerType(vec_type, 0),
      [GPUVAL_LVP_ROWS_TABLE] = LLVMPointerType(word, 0),
   };

   for (unsigned i = 0; i < 3; i++)
      args[GPUVAL_LVP_ROWS_INVOCATION + i] = vec_type;
   return LLVMFunctionType(LLVMVoidTypeInContext(gallivm->context), args, GPUVAL_LVP_ROWS_COUNT, 0);
}

/* Returns false if it is no constant. */
static bool
get_constant(nir_def *def, unsigned component, uint32_t *word)
{
   nir_scalar scalar = nir_scalar_chase_movs(nir_get_scalar(def, component));

   if (!nir_scalar_is_const(scalar))
      return false;
   *word = nir_scalar_as_uint(scalar);
   return true;
}

static LLVMValueRef
build_range_table(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *const *ranges,
                  unsigned count)
{
   uint32_t words[GPUVAL_LVP_RANGES_HEADER + GPUVAL_LVP_MAX_PENDING * GPUVAL_LVP_RANGE_WORDS];
   uint32_t word = gpuval_nir_function_word(ranges[0], soa->stage);
   unsigned size = 0;

   word = (word & ~(0xffu << 16)) | (uint32_t)GPUVAL_REPORT_UNWRITTEN << 16;
   words[size++] = count;
   words[size++] = word;
   for (unsigned i = 0; i < count; i++) {
      nir_def *detail = ranges[i]->src[REPORT_DETAIL].ssa;
      uint32_t *row = &words[size];
      row[GPUVAL_LVP_RANGE_ENTRY] = nir_intrinsic_base(ranges[i]);
      ASSERTED bool is_constant = get_constant(detail, 2, &row[GPUVAL_LVP_RANGE_SIZE]) &&
                                  get_constant(detail, 3, &row[GPUVAL_LVP_RANGE_MARKS]);
      assert(is_constant);
      size += GPUVAL_LVP_RANGE_WORDS;
   }

   return gpuval_lvp_add_table(soa, words, size);
}

static LLVMTypeRef
get_vector_type(struct gpuval_lvp_soa *soa)
{
   return LLVMVectorType(soa->uint_bld.elem_type, gpuval_lvp_num_lanes());
}

/* The array for what differs between lanes */
static LLVMValueRef
get_vectors(struct gpuval_lvp_soa *soa)
{
   LLVMTypeRef type = get_vector_type(soa);
   LLVMValueRef *array = &soa->calls->row_vectors;

   if (!*array)
      *array = lp_build_alloca_undef(
         soa->gallivm, LLVMArrayType(type, GPUVAL_LVP_MAX_PENDING * GPUVAL_LVP_RANGE_VECTORS), "");
   return LLVMBuildBitCast(soa->gallivm->builder, *array, LLVMPointerType(type, 0), "");
}

static void
store_vector(struct gpuval_lvp_soa *soa, LLVMValueRef vectors, unsigned index, LLVMValueRef value)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMValueRef place = lp_build_const_int32(gallivm, index);

   LLVMBuildStore(gallivm->builder, gpuval_lvp_argument(soa, value),
                  LLVMBuildGEP2(gallivm->builder, get_vector_type(soa), vectors, &place, 1, ""));
}

static void
store_ranges(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *const *ranges, unsigned count,
             LLVMValueRef vectors)
{
   LLVMValueRef running = gpuval_lvp_get_mask(soa, false);

   for (unsigned i = 0; i < count; i++) {
      const nir_src *detail = &ranges[i]->src[REPORT_DETAIL];
      LLVMValueRef condition = gpuval_lvp_get_bool(soa, &ranges[i]->src[REPORT_CONDITION]);
      const LLVMValueRef row[GPUVAL_LVP_RANGE_VECTORS] = {
         [GPUVAL_LVP_RANGE_LOW] = gpuval_lvp_get_component(soa, detail, 0),
         [GPUVAL_LVP_RANGE_HIGH] = gpuval_lvp_get_component(soa, detail, 1),
         [GPUVAL_LVP_RANGE_MASK] = LLVMBuildAnd(soa->gallivm->builder, condition, running, ""),
      };
      for (unsigned j = 0; j < ARRAY_SIZE(row); j++)
         store_vector(soa, vectors, i * GPUVAL_LVP_RANGE_VECTORS + j, row[j]);
   }
}

static void
call_rows(struct gpuval_lvp_soa *soa, enum gpuval_function function, LLVMValueRef vectors,
          LLVMValueRef table, const nir_src *invocation)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMTypeRef type = gpuval_lvp_rows_type(gallivm, LLVMTypeOf(soa->resources_ptr));
   LLVMValueRef args[GPUVAL_LVP_ROWS_COUNT] = {
      [GPUVAL_LVP_ROWS_RESOURCES] = soa->resources_ptr,
      [GPUVAL_LVP_ROWS_VECTORS] = vectors,
      [GPUVAL_LVP_ROWS_TABLE] = table,
   };

   for (unsigned i = 0; i < 3; i++)
      args[GPUVAL_LVP_ROWS_INVOCATION + i] =
         gpuval_lvp_argument(soa, gpuval_lvp_get_component(soa, invocation, i));
   LLVMBuildCall2(gallivm->builder, type, gpuval_lvp_load_function(soa, function, type), args,
                  ARRAY_SIZE(args), "");
}

void
gpuval_lvp_call_ranges(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *const *ranges,
                       unsigned count)
{
   LLVMValueRef vectors = get_vectors(soa);

   store_ranges(soa, ranges, count, vectors);
   call_rows(soa, GPUVAL_FUNCTION_RANGES, vectors, build_range_table(soa, ranges, count),
             &ranges[0]->src[REPORT_INVOCATION]);
}

/* Of @report_gpuval and @check_buffer_gpuval: its words but those of the invocation, if all of them
 * are constants
 */
static bool
get_report_words(const struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *report,
                 uint32_t words[GPUVAL_LVP_REPORTS_WORDS])
{
   const bool is_check = report->intrinsic == nir_intrinsic_check_buffer_gpuval;
   nir_def *detail = report->src[is_check ? GPUVAL_LVP_CHECK_BUFFER_OFFSET : REPORT_DETAIL].ssa;
   unsigned size = 0;

   words[size++] = nir_intrinsic_base(report);
   words[size++] = gpuval_nir_function_word(report, soa->stage);
   for (unsigned i = 0; i < 4; i++, size++) {
      words[size] = 0;
      if (i < detail->num_components && !get_constant(detail, i, &words[size]))
         return false;
   }
   assert(size == GPUVAL_LVP_REPORTS_WORDS - 1 && detail->bit_size == 32);
   return is_check ? get_constant(report->src[GPUVAL_LVP_CHECK_BUFFER_INDEX].ssa, 1, &words[size])
                   : get_constant(report->src[REPORT_SLOT].ssa, 0, &words[size]);
}

unsigned
gpuval_lvp_call_reports(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *const *reports,
                        const LLVMValueRef *masks, unsigned count)
{
   uint32_t words[GPUVAL_LVP_REPORTS_HEADER + GPUVAL_LVP_MAX_PENDING * GPUVAL_LVP_REPORTS_WORDS];
   unsigned num_rows = 0, size = GPUVAL_LVP_REPORTS_HEADER;

   while (num_rows < count && get_report_words(soa, reports[num_rows], &words[size])) {
      size += GPUVAL_LVP_REPORTS_WORDS;
      num_rows++;
   }
   if (!num_rows)
      return 0;

   const bool is_check = reports[0]->intrinsic == nir_intrinsic_check_buffer_gpuval;
   LLVMValueRef vectors = get_vectors(soa);
   for (unsigned i = 0; i < num_rows; i++)
      store_vector(soa, vectors, i, masks[i]);
   words[0] = num_rows;
   call_rows(soa, GPUVAL_FUNCTION_REPORTS, vectors, gpuval_lvp_add_table(soa, words, size),
             &reports[0]->src[is_check ? GPUVAL_LVP_CHECK_BUFFER_INVOCATION : REPORT_INVOCATION]);
   return num_rows;
}
