/* SPDX-License-Identifier: MIT */

/* Loads of descriptors, four words at once. Where all lanes have the same slot it is one load, and
 * without a branch: what is looked at where there is no such descriptor is the table of constant
 * buffers, which can always be read.
 */

#include "gpuval_lvp_gallivm_private.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_ir_common.h"
#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_limits.h"
#include "gallivm/lp_bld_swizzle.h"
#include "util/bitscan.h"

#include "gpuval/src/compat/gpuval_lvp_descriptor.h"

#define STRIDE GPUVAL_LVP_DESCRIPTOR_STRIDE
static_assert(!(STRIDE & (STRIDE - 1)), "descriptors are found by shifts");

/* A set, in the table of constant buffers */
struct table {
   LLVMValueRef begin;     /* an address */
   LLVMValueRef num_slots; /* 0: none is bound */
   LLVMValueRef elsewhere; /* the address of anything */
};

static struct table
get_set(struct gpuval_lvp_soa *soa, LLVMValueRef buffer)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   LLVMTypeRef i64 = LLVMInt64TypeInContext(gallivm->context);
   LLVMValueRef begin =
      lp_llvm_buffer_base(gallivm, soa->consts_ptr, buffer, LP_MAX_TGSI_CONST_BUFFERS);
   LLVMValueRef num_words =
      lp_llvm_buffer_num_elements(gallivm, soa->consts_ptr, buffer, LP_MAX_TGSI_CONST_BUFFERS);

   return (struct table){
      .begin = LLVMBuildPtrToInt(builder, begin, i64, ""),
      .num_slots = LLVMBuildLShr(builder, num_words,
                                 lp_build_const_int32(gallivm, util_logbase2(STRIDE / 4)), ""),
      .elsewhere = LLVMBuildPtrToInt(builder, soa->consts_ptr, i64, ""),
   };
}

/* @slot and the rest are numbers or vectors. */
static LLVMValueRef
get_address(const struct gallivm_state *gallivm, const struct table *table, LLVMValueRef slot,
            LLVMValueRef offset, LLVMValueRef shift, LLVMValueRef is_there)
{
   LLVMBuilderRef builder = gallivm->builder;
   LLVMValueRef address =
      LLVMBuildShl(builder, LLVMBuildZExt(builder, slot, LLVMTypeOf(offset), ""), shift, "");

   address = LLVMBuildAdd(builder, LLVMBuildAdd(builder, address, offset, ""), table->begin, "");
   return LLVMBuildSelect(builder, is_there, address, table->elsewhere, "");
}

static void
load_one(struct gpuval_lvp_soa *soa, const struct table *table, LLVMValueRef slot, unsigned offset,
         LLVMValueRef words[4])
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   LLVMTypeRef type = LLVMVectorType(soa->uint_bld.elem_type, 4);

   LLVMValueRef is_there = LLVMBuildICmp(builder, LLVMIntULT, slot, table->num_slots, "");
   LLVMValueRef address =
      get_address(gallivm, table, slot, lp_build_const_int64(gallivm, offset),
                  lp_build_const_int64(gallivm, util_logbase2(STRIDE)), is_there);
   LLVMValueRef four = LLVMBuildLoad2(
      builder, type, LLVMBuildIntToPtr(builder, address, LLVMPointerType(type, 0), ""), "");
   LLVMSetAlignment(four, 4);
   four = LLVMBuildSelect(builder, is_there, four, LLVMConstNull(type), "");
   for (unsigned i = 0; i < 4; i++)
      words[i] = LLVMBuildExtractElement(builder, four, lp_build_const_int32(gallivm, i), "");
}

static void
load_each(struct gpuval_lvp_soa *soa, struct table *table, LLVMValueRef slots, unsigned offset,
          LLVMValueRef words[4])
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   struct lp_build_context *uint_bld = &soa->uint_bld, *uint64_bld = &soa->uint64_bld;
   LLVMValueRef pointers[LP_MAX_VECTOR_LENGTH];

   LLVMValueRef is_there = LLVMBuildICmp(builder, LLVMIntULT, slots,
                                         lp_build_broadcast_scalar(uint_bld, table->num_slots), "");
   table->begin = lp_build_broadcast_scalar(uint64_bld, table->begin);
   table->elsewhere = lp_build_broadcast_scalar(uint64_bld, table->elsewhere);
   LLVMValueRef addresses = get_address(
      gallivm, table, slots, lp_build_const_int_vec(gallivm, uint64_bld->type, offset),
      lp_build_const_int_vec(gallivm, uint64_bld->type, util_logbase2(STRIDE)), is_there);

   gpuval_lvp_lane_pointers(gallivm, addresses, 0, LLVMVectorType(uint_bld->elem_type, 4),
                            pointers);
   gpuval_lvp_load_fours(gallivm, pointers, uint_bld->type.length, 4, words);
   for (unsigned i = 0; i < 4; i++)
      words[i] = LLVMBuildSelect(builder, is_there, words[i], uint_bld->zero, "");
}

/* The same in all lanes that run. @as_uniform (gpuval_nir_uniform_slot) has what its source has. */
bool
gpuval_lvp_is_one_slot(nir_scalar slot)
{
   const nir_instr *instr = nir_def_instr(slot.def);

   if (instr->type == nir_instr_type_intrinsic &&
       nir_instr_as_intrinsic((nir_instr *)instr)->intrinsic == nir_intrinsic_as_uniform)
      return true;
   return nir_src_is_always_uniform(nir_src_for_ssa(slot.def));
}

static LLVMValueRef
get_number(struct gpuval_lvp_soa *soa, nir_scalar scalar)
{
   struct gallivm_state *gallivm = soa->gallivm;

   if (nir_scalar_is_const(scalar))
      return lp_build_const_int32(gallivm, nir_scalar_as_uint(scalar));
   LLVMValueRef vector = LLVMBuildBitCast(
      gallivm->builder, soa->get_value(soa, scalar.def, scalar.comp), soa->uint_bld.vec_type, "");
   LLVMValueRef lane = gpuval_lvp_find_lane(soa, gpuval_lvp_get_mask(soa, false));
   return LLVMBuildExtractElement(gallivm->builder, vector, lane, "");
}

bool
gpuval_lvp_load_descriptor(struct gpuval_lvp_soa *soa, LLVMValueRef buffer, nir_scalar slot,
                           unsigned offset, LLVMValueRef words[4])
{
   struct table table = get_set(soa, buffer);

   slot = nir_scalar_chase_movs(slot);
   if (gpuval_lvp_is_one_slot(slot)) {
      load_one(soa, &table, get_number(soa, slot), offset, words);
      return true;
   }
   LLVMValueRef slots = LLVMBuildBitCast(
      soa->gallivm->builder, soa->get_value(soa, slot.def, slot.comp), soa->uint_bld.vec_type, "");
   load_each(soa, &table, slots, offset, words);
   return false;
}

static nir_scalar
get_word(const nir_intrinsic_instr *load, unsigned word)
{
   return nir_scalar_chase_movs(nir_get_scalar(load->src[0].ssa, word));
}

bool
gpuval_lvp_loads_constant(const nir_intrinsic_instr *load)
{
   return nir_scalar_is_const(get_word(load, GPUVAL_LVP_LOAD_SLOT));
}

bool
gpuval_lvp_loads_one(const nir_intrinsic_instr *load)
{
   return gpuval_lvp_is_one_slot(get_word(load, GPUVAL_LVP_LOAD_SLOT));
}

void
gpuval_lvp_visit_load(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *load,
                      LLVMValueRef result[4])
{
   const bool is_one = gpuval_lvp_load_descriptor(
      soa, get_number(soa, get_word(load, GPUVAL_LVP_LOAD_BUFFER)),
      get_word(load, GPUVAL_LVP_LOAD_SLOT),
      nir_scalar_as_uint(get_word(load, GPUVAL_LVP_LOAD_OFFSET)), result);

   for (unsigned i = 0; is_one && i < 4; i++) {
      if (!soa->has_bits || load->def.divergent)
         result[i] = lp_build_broadcast_scalar(&soa->uint_bld, result[i]);
   }
}
