/* SPDX-License-Identifier: MIT */

/* @report_gpuval of GPUVAL_REPORT_RANGE, which init leaves of accesses behind addresses: one call
 * of gpuval_lvp_ranges.c for up to eight of them, without a branch. What differs between lanes goes
 * through an array on the stack, what does not is a table in the shader.
 */

#include "gpuval_lvp_gallivm_private.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_flow.h"
#include "gallivm/lp_bld_init.h"

#include "gpuval/src/nir_passes/gpuval_nir_functions.h"

/* Sources */
enum {
   RANGE_CONDITION,
   RANGE_DETAIL, /* the address in halves, and two constants: size, marks */
   RANGE_SLOT,
   RANGE_INVOCATION,
};

LLVMTypeRef
gpuval_lvp_ranges_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type)
{
   LLVMTypeRef word = LLVMInt32TypeInContext(gallivm->context);
   LLVMTypeRef vec_type = LLVMVectorType(word, gpuval_lvp_num_lanes());
   LLVMTypeRef args[GPUVAL_LVP_RANGES_COUNT] = {
      [GPUVAL_LVP_RANGES_RESOURCES] = resources_ptr_type,
      [GPUVAL_LVP_RANGES_VECTORS] = LLVMPointerType(vec_type, 0),
      [GPUVAL_LVP_RANGES_TABLE] = LLVMPointerType(word, 0),
   };

   for (unsigned i = 0; i < 3; i++)
      args[GPUVAL_LVP_RANGES_INVOCATION + i] = vec_type;
   return LLVMFunctionType(LLVMVoidTypeInContext(gallivm->context), args, GPUVAL_LVP_RANGES_COUNT,
                           0);
}

static uint32_t
get_constant(const nir_intrinsic_instr *range, unsigned component)
{
   nir_scalar scalar =
      nir_scalar_chase_movs(nir_get_scalar(range->src[RANGE_DETAIL].ssa, component));

   assert(nir_scalar_is_const(scalar));
   return nir_scalar_as_uint(scalar);
}

static LLVMValueRef
build_table(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *const *ranges, unsigned count)
{
   uint32_t words[GPUVAL_LVP_RANGES_HEADER + GPUVAL_LVP_MAX_PENDING * GPUVAL_LVP_RANGE_WORDS];
   uint32_t word = gpuval_nir_function_word(ranges[0], soa->stage);
   unsigned size = 0;

   word = (word & ~(0xffu << 16)) | (uint32_t)GPUVAL_REPORT_UNWRITTEN << 16;
   words[size++] = count;
   words[size++] = word;
   for (unsigned i = 0; i < count; i++) {
      const uint32_t row[GPUVAL_LVP_RANGE_WORDS] = {
         [GPUVAL_LVP_RANGE_ENTRY] = nir_intrinsic_base(ranges[i]),
         [GPUVAL_LVP_RANGE_SIZE] = get_constant(ranges[i], 2),
         [GPUVAL_LVP_RANGE_MARKS] = get_constant(ranges[i], 3),
      };
      for (unsigned j = 0; j < ARRAY_SIZE(row); j++)
         words[size++] = row[j];
   }

   return gpuval_lvp_add_table(soa, words, size);
}

/* Stores what differs between lanes, and returns a pointer to it. */
static LLVMValueRef
store_vectors(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *const *ranges, unsigned count)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   LLVMTypeRef vec_type = LLVMVectorType(soa->uint_bld.elem_type, gpuval_lvp_num_lanes());
   LLVMValueRef *array = &soa->calls->range_vectors;
   LLVMValueRef running = gpuval_lvp_get_mask(soa, false);

   if (!*array)
      *array = lp_build_alloca_undef(
         gallivm, LLVMArrayType(vec_type, GPUVAL_LVP_MAX_PENDING * GPUVAL_LVP_RANGE_VECTORS), "");
   LLVMValueRef vectors = LLVMBuildBitCast(builder, *array, LLVMPointerType(vec_type, 0), "");
   for (unsigned i = 0; i < count; i++) {
      const nir_src *detail = &ranges[i]->src[RANGE_DETAIL];
      LLVMValueRef condition = gpuval_lvp_get_bool(soa, &ranges[i]->src[RANGE_CONDITION]);
      const LLVMValueRef row[GPUVAL_LVP_RANGE_VECTORS] = {
         [GPUVAL_LVP_RANGE_LOW] = gpuval_lvp_get_component(soa, detail, 0),
         [GPUVAL_LVP_RANGE_HIGH] = gpuval_lvp_get_component(soa, detail, 1),
         [GPUVAL_LVP_RANGE_MASK] = LLVMBuildAnd(builder, condition, running, ""),
      };
      for (unsigned j = 0; j < ARRAY_SIZE(row); j++) {
         LLVMValueRef place = lp_build_const_int32(gallivm, i * GPUVAL_LVP_RANGE_VECTORS + j);
         LLVMBuildStore(builder, gpuval_lvp_argument(soa, row[j]),
                        LLVMBuildGEP2(builder, vec_type, vectors, &place, 1, ""));
      }
   }
   return vectors;
}

void
gpuval_lvp_call_ranges(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *const *ranges,
                       unsigned count)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMTypeRef type = gpuval_lvp_ranges_type(gallivm, LLVMTypeOf(soa->resources_ptr));
   LLVMValueRef args[GPUVAL_LVP_RANGES_COUNT] = {
      [GPUVAL_LVP_RANGES_RESOURCES] = soa->resources_ptr,
      [GPUVAL_LVP_RANGES_VECTORS] = store_vectors(soa, ranges, count),
      [GPUVAL_LVP_RANGES_TABLE] = build_table(soa, ranges, count),
   };

   for (unsigned i = 0; i < 3; i++)
      args[GPUVAL_LVP_RANGES_INVOCATION + i] = gpuval_lvp_argument(
         soa, gpuval_lvp_get_component(soa, &ranges[0]->src[RANGE_INVOCATION], i));
   LLVMBuildCall2(gallivm->builder, type,
                  gpuval_lvp_load_function(soa, GPUVAL_FUNCTION_RANGES, type), args,
                  ARRAY_SIZE(args), "");
}
