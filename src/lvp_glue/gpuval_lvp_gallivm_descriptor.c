/* SPDX-License-Identifier: MIT */

/* In front of a call of GPUVAL_FUNCTION_DESCRIPTOR: is that the same descriptor in all lanes, and
 * good? Then there is nothing to call. An index may differ between lanes and yet mostly does not,
 * and what is the same in all lanes is looked up by a dozen scalar instructions.
 *
 * The function looks again and decides. Here anything that could be wrong is not good, as in
 * gpuval_nir_build_constant_use().
 */

#include "gpuval_lvp_gallivm_private.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_init.h"
#include "gallivm/lp_bld_intr.h"
#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_limits.h"

#include "gpuval/src/lvp_glue/gpuval_lvp_nir.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"

/* Sources of @call_gpuval */
enum {
   CALL_CONDITION,
   CALL_WORDS,
};

struct look {
   struct gpuval_lvp_soa *soa;
   const nir_def *words;
   LLVMTypeRef i32, i64;
   LLVMValueRef data;    /* struct gpuval_lvp_command_data, its address */
   LLVMValueRef lane;    /* one that runs */
   LLVMValueRef bad;     /* a word: not 0 where anything is wrong */
   LLVMValueRef differs; /* NULL, or the same in each lane: where slot or index is not that lane's */
};

static nir_scalar
get_word(const struct look *look, unsigned word)
{
   return nir_scalar_chase_movs(nir_get_scalar((nir_def *)look->words, word));
}

static uint32_t
get_constant(const struct look *look, unsigned word)
{
   return nir_scalar_as_uint(get_word(look, word));
}

static LLVMValueRef
constant(const struct look *look, uint32_t value)
{
   return lp_build_const_int32(look->soa->gallivm, value);
}

static LLVMValueRef
load(const struct look *look, LLVMTypeRef type, LLVMValueRef address, int offset)
{
   LLVMBuilderRef builder = look->soa->gallivm->builder;

   address = LLVMBuildAdd(builder, address, lp_build_const_int64(look->soa->gallivm, offset), "");
   return LLVMBuildLoad2(builder, type,
                         LLVMBuildIntToPtr(builder, address, LLVMPointerType(type, 0), ""), "");
}

/* @index * @size bytes behind @address */
static LLVMValueRef
element(const struct look *look, LLVMValueRef address, LLVMValueRef index, unsigned size)
{
   LLVMBuilderRef builder = look->soa->gallivm->builder;
   LLVMValueRef offset = LLVMBuildMul(builder, LLVMBuildZExt(builder, index, look->i64, ""),
                                      lp_build_const_int64(look->soa->gallivm, size), "");

   return LLVMBuildAdd(builder, address, offset, "");
}

static void
add_bad(struct look *look, LLVMValueRef word)
{
   look->bad = look->bad ? LLVMBuildOr(look->soa->gallivm->builder, look->bad, word, "") : word;
}

/* Of the lane; where others have another one is added to what differs. */
static LLVMValueRef
pick_word(struct look *look, unsigned word)
{
   struct gpuval_lvp_soa *soa = look->soa;
   LLVMBuilderRef builder = soa->gallivm->builder;
   const nir_scalar scalar = get_word(look, word);

   if (nir_scalar_is_const(scalar))
      return constant(look, nir_scalar_as_uint(scalar));
   LLVMValueRef vector = LLVMBuildBitCast(builder, soa->get_value(soa, scalar.def, scalar.comp),
                                          soa->uint_bld.vec_type, "");
   LLVMValueRef picked = LLVMBuildExtractElement(builder, vector, look->lane, "");
   if (nir_src_is_always_uniform(nir_src_for_ssa(scalar.def)))
      return picked;

   LLVMValueRef differs = LLVMBuildXor(
      builder, vector, lp_build_broadcast(soa->gallivm, soa->uint_bld.vec_type, picked), "");
   look->differs = look->differs ? LLVMBuildOr(builder, look->differs, differs, "") : differs;
   return picked;
}

/* Not 0 where the object that @id was given to is not alive */
static LLVMValueRef
find_other_id(const struct look *look, LLVMValueRef objects, LLVMValueRef id)
{
   LLVMBuilderRef builder = look->soa->gallivm->builder;
   LLVMValueRef index =
      LLVMBuildAnd(builder, id, constant(look, BITFIELD_MASK(GPUVAL_OBJECT_INDEX_BITS)), "");
   LLVMValueRef object = element(look, objects, index, sizeof(struct gpuval_object));

   return LLVMBuildXor(builder, load(look, look->i32, object, offsetof(struct gpuval_object, id)),
                       id, "");
}

/* Bits of @required that are not in a word of the descriptor */
static void
require(struct look *look, LLVMValueRef descriptor, unsigned offset, uint32_t required)
{
   LLVMBuilderRef builder = look->soa->gallivm->builder;
   LLVMValueRef word = load(look, look->i32, descriptor, offset);

   add_bad(look,
           LLVMBuildAnd(builder, LLVMBuildNot(builder, word, ""), constant(look, required), ""));
}

static void
look_at_descriptor(struct look *look, LLVMValueRef objects, LLVMValueRef descriptor)
{
   const uint32_t required = get_constant(look, GPUVAL_USE_WORD_REQUIRED);
   const uint32_t format = required >> GPUVAL_USE_FORMAT_SHIFT;

   require(look, descriptor, offsetof(struct gpuval_descriptor, offers),
           required & (GPUVAL_OFFERS_TYPES | GPUVAL_OFFERS_VIEWS));
   if (format)
      require(look, descriptor, offsetof(struct gpuval_descriptor, format),
              gpuval_format_bits(format));

   const struct {
      uint32_t types;
      unsigned offset;
   } ids[] = {
      {GPUVAL_OFFERS_RESOURCES, offsetof(struct gpuval_descriptor, object)},
      {GPUVAL_OFFERS_SAMPLER, offsetof(struct gpuval_descriptor, sampler)},
   };
   for (unsigned i = 0; i < ARRAY_SIZE(ids); i++) {
      if (required & ids[i].types)
         add_bad(look,
                 find_other_id(look, objects, load(look, look->i32, descriptor, ids[i].offset)));
   }
}

/* Slots behind the first one. *@relative: what is to be below that */
static LLVMValueRef
find_limit(const struct look *look, LLVMValueRef shadow, LLVMValueRef has_shadow, LLVMValueRef slot,
           LLVMValueRef *relative)
{
   LLVMBuilderRef builder = look->soa->gallivm->builder;
   const uint32_t flags = get_constant(look, GPUVAL_USE_WORD_FLAGS) >> 8;
   LLVMValueRef num_slots = constant(look, get_constant(look, GPUVAL_USE_WORD_NUM_SLOTS));
   const bool is_constant = flags & GPUVAL_USE_CONSTANT;

   *relative = LLVMBuildSub(builder, slot,
                            constant(look, get_constant(look, GPUVAL_USE_WORD_FIRST_SLOT)), "");
   if (!(flags & GPUVAL_USE_VARIABLE))
      return num_slots;

   /* struct gpuval_lvp_set_header; in front of the table of objects is nothing. */
   LLVMValueRef header = LLVMBuildSelect(
      builder, has_shadow,
      LLVMBuildSub(builder, shadow,
                   lp_build_const_int64(look->soa->gallivm, sizeof(struct gpuval_lvp_set_header)),
                   ""),
      shadow, "");
   LLVMValueRef count =
      load(look, look->i32, header, offsetof(struct gpuval_lvp_set_header, variable_count));
   if (is_constant)
      *relative = num_slots; /* that is the element */
   return is_constant ? count : LLVMBuildMul(builder, count, num_slots, "");
}

static LLVMValueRef
begin(struct look *look)
{
   struct gallivm_state *gallivm = look->soa->gallivm;
   LLVMValueRef constants = lp_llvm_buffer_base(gallivm, look->soa->consts_ptr, constant(look, 0),
                                                LP_MAX_TGSI_CONST_BUFFERS);

   look->data =
      LLVMBuildAdd(gallivm->builder, LLVMBuildPtrToInt(gallivm->builder, constants, look->i64, ""),
                   lp_build_const_int64(gallivm, GPUVAL_LVP_COMMAND_DATA_OFFSET), "");
   return load(look, look->i64, look->data,
               offsetof(struct gpuval_lvp_command_data, objects_address));
}

LLVMValueRef
gpuval_lvp_is_good_use(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *call,
                       LLVMValueRef mask)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   struct look look = {
      .soa = soa,
      .words = call->src[CALL_WORDS].ssa,
      .i32 = LLVMInt32TypeInContext(gallivm->context),
      .i64 = LLVMInt64TypeInContext(gallivm->context),
   };
   LLVMValueRef objects = begin(&look);
   const uint32_t word = get_constant(&look, GPUVAL_USE_WORD_FLAGS);

   look.lane = gpuval_lvp_find_lane(soa, mask);
   LLVMValueRef slot = pick_word(&look, GPUVAL_USE_WORD_SLOT);
   if (word & GPUVAL_USE_HAS_INDEX)
      pick_word(&look, GPUVAL_USE_WORD_INDEX);

   /* Where there is no shadow or no such slot, it looks at something else. */
   LLVMValueRef shadow =
      load(&look, look.i64, look.data,
           offsetof(struct gpuval_lvp_command_data, shadows) + (word & 0xff) * sizeof(uint64_t));
   LLVMValueRef has_shadow =
      LLVMBuildICmp(builder, LLVMIntNE, shadow, lp_build_const_int64(gallivm, 0), "");
   shadow = LLVMBuildSelect(builder, has_shadow, shadow, objects, "");

   LLVMValueRef relative;
   LLVMValueRef limit = find_limit(&look, shadow, has_shadow, slot, &relative);
   LLVMValueRef is_inside = LLVMBuildICmp(builder, LLVMIntULT, relative, limit, "");
   LLVMValueRef is_there = LLVMBuildAnd(builder, has_shadow, is_inside, "");
   slot = LLVMBuildSelect(builder, is_there, slot, constant(&look, 0), "");
   look_at_descriptor(&look, objects,
                      element(&look, shadow, slot, sizeof(struct gpuval_descriptor)));

   LLVMValueRef is_good = LLVMBuildAnd(
      builder, is_inside, LLVMBuildICmp(builder, LLVMIntEQ, look.bad, constant(&look, 0), ""), "");
   is_good = LLVMBuildOr(builder, is_good, LLVMBuildNot(builder, has_shadow, ""), "");
   if (!look.differs)
      return is_good;
   LLVMValueRef others = gpuval_lvp_any_lane(soa, gpuval_lvp_where(soa, look.differs, mask));
   return LLVMBuildAnd(builder, is_good, LLVMBuildNot(builder, others, ""), "");
}
