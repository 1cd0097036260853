/* SPDX-License-Identifier: MIT */

/* Cells of sync, which our functions load and store lane by lane: @load_global_amd and
 * @store_global_amd, of which gallivm has nothing otherwise (gpuval_lvp_jit.c). And which lanes
 * run, for converge: @ballot_relaxed.
 */

#include "gpuval_lvp_gallivm_private.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_flow.h"
#include "gallivm/lp_bld_init.h"
#include "gallivm/lp_bld_ir_common.h"
#include "gallivm/lp_bld_pack.h"
#include "gallivm/lp_bld_swizzle.h"
#include "gallivm/lp_bld_type.h"

void
gpuval_lvp_lane_pointers(struct gallivm_state *gallivm, LLVMValueRef addresses, unsigned base,
                         LLVMTypeRef type, LLVMValueRef *pointers)
{
   LLVMBuilderRef builder = gallivm->builder;

   for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(addresses)); i++) {
      LLVMValueRef lane =
         LLVMBuildExtractElement(builder, addresses, lp_build_const_int32(gallivm, i), "");
      lane = LLVMBuildAdd(builder, lane, lp_build_const_int64(gallivm, base), "");
      pointers[i] = LLVMBuildIntToPtr(builder, lane, LLVMPointerType(type, 0), "");
   }
}

/* Pointers to what each lane accesses; a lane that does not run gets to memory of nobody. */
static void
get_pointers(struct gpuval_lvp_soa *soa, const nir_src *address, unsigned base, LLVMTypeRef type,
             LLVMValueRef pointers[LP_MAX_VECTOR_LENGTH])
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   struct lp_build_context *uint64_bld = &soa->uint64_bld;
   LLVMValueRef *nobody = &soa->calls->nobody;

   if (!*nobody)
      *nobody = lp_build_alloca_undef(gallivm, LLVMVectorType(soa->uint_bld.elem_type, 16), "");
   LLVMValueRef elsewhere = lp_build_broadcast_scalar(
      uint64_bld, LLVMBuildPtrToInt(builder, *nobody, uint64_bld->elem_type, ""));
   LLVMValueRef runs =
      LLVMBuildICmp(builder, LLVMIntNE, gpuval_lvp_get_mask(soa, false), soa->uint_bld.zero, "");
   LLVMValueRef addresses =
      LLVMBuildBitCast(builder, soa->get_value(soa, address->ssa, 0), uint64_bld->vec_type, "");

   addresses = LLVMBuildSelect(builder, runs, addresses, elsewhere, "");
   gpuval_lvp_lane_pointers(gallivm, addresses, base, type, pointers);
}

/* Of each four elements of @a and those of @b, as @pattern says; 4 and up are @b's. */
static LLVMValueRef
shuffle_fours(struct gallivm_state *gallivm, LLVMValueRef a, LLVMValueRef b,
              const unsigned pattern[4])
{
   unsigned length = LLVMGetVectorSize(LLVMTypeOf(a));
   LLVMValueRef elements[LP_MAX_VECTOR_LENGTH];

   for (unsigned i = 0; i < length; i++) {
      unsigned from = pattern[i % 4];
      elements[i] =
         lp_build_const_int32(gallivm, i / 4 * 4 + (from >= 4 ? length + from - 4 : from));
   }
   return LLVMBuildShuffleVector(gallivm->builder, a, b, LLVMConstVector(elements, length), "");
}

/* Vectors of four in one, whose length is @length */
static LLVMValueRef
concat_fours(struct gallivm_state *gallivm, LLVMValueRef *fours, unsigned length)
{
   const struct lp_type type = {.width = 32, .length = 4};

   return length == 4 ? fours[0] : lp_build_concat(gallivm, fours, type, length / 4);
}

static const unsigned low_pairs[4] = {0, 4, 1, 5}, high_pairs[4] = {2, 6, 3, 7};
static const unsigned low_halves[4] = {0, 1, 4, 5}, high_halves[4] = {2, 3, 6, 7};
static const unsigned evens[4] = {0, 2, 4, 6}, odds[4] = {1, 3, 5, 7};

static LLVMValueRef
load_aligned(struct gallivm_state *gallivm, LLVMTypeRef type, LLVMValueRef pointer,
             unsigned alignment)
{
   LLVMValueRef load = LLVMBuildLoad2(gallivm->builder, type, pointer, "");

   LLVMSetAlignment(load, alignment);
   return load;
}

/* One load a lane, which take less time than gathers of words. */
void
gpuval_lvp_load_fours(struct gallivm_state *gallivm, const LLVMValueRef *pointers, unsigned length,
                      unsigned alignment, LLVMValueRef words[4])
{
   LLVMTypeRef type = LLVMVectorType(LLVMInt32TypeInContext(gallivm->context), 4);
   LLVMValueRef rows[4];

   for (unsigned i = 0; i < 4; i++) {
      LLVMValueRef lanes[LP_MAX_VECTOR_LENGTH / 4];
      for (unsigned j = 0; j < length / 4; j++)
         lanes[j] = load_aligned(gallivm, type, pointers[4 * j + i], alignment);
      rows[i] = concat_fours(gallivm, lanes, length);
   }

   for (unsigned i = 0; i < 2; i++) {
      const unsigned *pattern = i ? high_pairs : low_pairs;
      LLVMValueRef a = shuffle_fours(gallivm, rows[0], rows[1], pattern);
      LLVMValueRef b = shuffle_fours(gallivm, rows[2], rows[3], pattern);
      words[2 * i] = shuffle_fours(gallivm, a, b, low_halves);
      words[2 * i + 1] = shuffle_fours(gallivm, a, b, high_halves);
   }
}

/* Lanes 0 and 1 of each four, or 2 and 3 */
void
gpuval_lvp_load_twos(struct gallivm_state *gallivm, const LLVMValueRef *pointers, unsigned length,
                     LLVMValueRef words[2])
{
   LLVMBuilderRef builder = gallivm->builder;
   LLVMTypeRef type = LLVMInt64TypeInContext(gallivm->context);
   LLVMTypeRef twos_type = LLVMVectorType(type, 2);
   LLVMTypeRef fours_type = LLVMVectorType(LLVMInt32TypeInContext(gallivm->context), 4);
   LLVMValueRef rows[2];

   for (unsigned i = 0; i < 2; i++) {
      LLVMValueRef lanes[LP_MAX_VECTOR_LENGTH / 4];
      for (unsigned j = 0; j < length / 4; j++) {
         LLVMValueRef twos = LLVMGetUndef(twos_type);
         for (unsigned k = 0; k < 2; k++) {
            LLVMValueRef lane = load_aligned(gallivm, type, pointers[4 * j + 2 * i + k], 8);
            twos =
               LLVMBuildInsertElement(builder, twos, lane, lp_build_const_int32(gallivm, k), "");
         }
         lanes[j] = LLVMBuildBitCast(builder, twos, fours_type, "");
      }
      rows[i] = concat_fours(gallivm, lanes, length);
   }
   words[0] = shuffle_fours(gallivm, rows[0], rows[1], evens);
   words[1] = shuffle_fours(gallivm, rows[0], rows[1], odds);
}

void
gpuval_lvp_store_twos(struct gallivm_state *gallivm, const LLVMValueRef words[2],
                      const LLVMValueRef *pointers)
{
   LLVMBuilderRef builder = gallivm->builder;
   unsigned length = LLVMGetVectorSize(LLVMTypeOf(words[0]));
   LLVMTypeRef type = LLVMVectorType(LLVMInt64TypeInContext(gallivm->context), length / 2);
   LLVMValueRef rows[2];

   for (unsigned i = 0; i < 2; i++)
      rows[i] = LLVMBuildBitCast(
         builder, shuffle_fours(gallivm, words[0], words[1], i ? high_pairs : low_pairs), type, "");
   for (unsigned i = 0; i < length; i++) {
      LLVMValueRef element = lp_build_const_int32(gallivm, i / 4 * 2 + i % 2);
      LLVMValueRef lane = LLVMBuildExtractElement(builder, rows[i % 4 / 2], element, "");
      LLVMSetAlignment(LLVMBuildStore(builder, lane, pointers[i]), 8);
   }
}

static void
emit_load(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr, LLVMValueRef *result)
{
   struct gallivm_state *gallivm = soa->gallivm;
   unsigned length = soa->uint_bld.type.length;
   bool fours = instr->num_components == 4;
   LLVMTypeRef type =
      fours ? LLVMVectorType(soa->uint_bld.elem_type, 4) : soa->uint64_bld.elem_type;
   LLVMValueRef pointers[LP_MAX_VECTOR_LENGTH];

   get_pointers(soa, &instr->src[0], nir_intrinsic_base(instr), type, pointers);
   if (fours)
      gpuval_lvp_load_fours(gallivm, pointers, length, 16, result);
   else
      gpuval_lvp_load_twos(gallivm, pointers, length, result);
}

static void
emit_store(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMValueRef pointers[LP_MAX_VECTOR_LENGTH], words[2];

   for (unsigned i = 0; i < 2; i++)
      words[i] =
         LLVMBuildBitCast(gallivm->builder, gpuval_lvp_get_component(soa, &instr->src[0], i),
                          soa->uint_bld.vec_type, "");

   struct lp_build_if_state ifthen;
   lp_build_if(&ifthen, gallivm, gpuval_lvp_any_lane(soa, gpuval_lvp_get_mask(soa, false)));
   get_pointers(soa, &instr->src[1], nir_intrinsic_base(instr), soa->uint64_bld.elem_type,
                pointers);
   gpuval_lvp_store_twos(gallivm, words, pointers);
   lp_build_endif(&ifthen);
}

/* Bits of the lanes that run, helper invocations included, and have a condition; in each lane.
 * gallivm's ballot leaves out helper invocations.
 */
static LLVMValueRef
emit_active_lanes(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   struct lp_build_context *uint_bld = &soa->uint_bld;
   LLVMTypeRef bits = LLVMIntTypeInContext(gallivm->context, uint_bld->type.length);
   LLVMValueRef lanes = gpuval_lvp_get_bool(soa, &instr->src[0]);

   lanes = gpuval_lvp_where(soa, lanes, gpuval_lvp_get_mask(soa, true));
   lanes = LLVMBuildICmp(builder, LLVMIntNE, lanes, uint_bld->zero, "");
   lanes =
      LLVMBuildZExt(builder, LLVMBuildBitCast(builder, lanes, bits, ""), uint_bld->elem_type, "");
   return lp_build_broadcast_scalar(uint_bld, lanes);
}

bool
gpuval_lvp_visit_lanes(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr,
                       LLVMValueRef *result)
{
   if (instr->intrinsic == nir_intrinsic_load_global_amd)
      emit_load(soa, instr, result);
   else if (instr->intrinsic == nir_intrinsic_store_global_amd)
      emit_store(soa, instr);
   else if (instr->intrinsic == nir_intrinsic_ballot_relaxed)
      result[0] = emit_active_lanes(soa, instr);
   else
      return false;

   return true;
}
