/* SPDX-License-Identifier: MIT */

/* Calls of the functions of sync that are called most often: gpuval_lvp_cells.h.
 *
 * Loads at constant offsets of constant descriptors are the same in all lanes and in all
 * invocations of a command, so that nearly all of them find that several workgroups have loaded
 * the same before. A group of them shares a branch, and calls only where that is not so.
 */

#include "gpuval_lvp_gallivm_private.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_flow.h"
#include "gallivm/lp_bld_init.h"
#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_limits.h"

#include "gpuval/src/base/gpuval_order.h"
#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"
#include "gpuval_lvp_nir.h"

const unsigned gpuval_lvp_sync_array[] = {
   GPUVAL_SYNC_WORD_OFFSET,         GPUVAL_SYNC_WORD_SLOT,
   GPUVAL_SYNC_WORD_INVOCATION,     GPUVAL_SYNC_WORD_INVOCATION + 1,
   GPUVAL_SYNC_WORD_INVOCATION + 2, GPUVAL_SYNC_WORD_VALUE, /* the last one: not of a load */
};
static_assert(ARRAY_SIZE(gpuval_lvp_sync_array) == GPUVAL_LVP_SYNC_ARRAY_SIZE, "");

LLVMTypeRef
gpuval_lvp_sync_array_type(struct gallivm_state *gallivm)
{
   return LLVMArrayType(
      LLVMVectorType(LLVMInt32TypeInContext(gallivm->context), gpuval_lvp_num_lanes()),
      GPUVAL_LVP_SYNC_ARRAY_SIZE);
}

LLVMTypeRef
gpuval_lvp_sync_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type)
{
   LLVMTypeRef number = LLVMInt32TypeInContext(gallivm->context);
   LLVMTypeRef vec_type = LLVMVectorType(number, gpuval_lvp_num_lanes());
   LLVMTypeRef args[GPUVAL_LVP_SYNC_COUNT] = {vec_type, resources_ptr_type, number, number, number};

   args[GPUVAL_LVP_SYNC_BASE] = LLVMInt64TypeInContext(gallivm->context);
   for (unsigned i = GPUVAL_LVP_SYNC_ADDRESS; i < GPUVAL_LVP_SYNC_ARRAY; i++)
      args[i] = vec_type;
   args[GPUVAL_LVP_SYNC_ARRAY] = LLVMPointerType(gpuval_lvp_sync_array_type(gallivm), 0);
   return LLVMFunctionType(LLVMVoidTypeInContext(gallivm->context), args, GPUVAL_LVP_SYNC_COUNT, 0);
}

bool
gpuval_lvp_is_plain_sync(unsigned function)
{
   return function == GPUVAL_FUNCTION_SYNC_LOAD || function == GPUVAL_FUNCTION_SYNC_STORE ||
          function == GPUVAL_FUNCTION_SHARED_LOAD || function == GPUVAL_FUNCTION_SHARED_STORE;
}

/* Sources of @sync_gpuval */
enum {
   SYNC_ADDRESS = 1,
   SYNC_SIZE,
   SYNC_OFFSET,
   SYNC_SLOT,
   SYNC_NUMBERS,
   SYNC_INVOCATION,
   NUMBERS_TOKEN = 1,
   NUMBERS_VALUE = 3,
};

/* The load that @scalar is an address of, if it is the same in all lanes */
static const nir_intrinsic_instr *
find_load(nir_scalar scalar)
{
   if (!nir_scalar_is_alu(scalar) || nir_scalar_alu_op(scalar) != nir_op_pack_64_2x32_split)
      return NULL;
   const nir_instr *instr =
      nir_def_instr(nir_scalar_chase_movs(nir_scalar_chase_alu_src(scalar, 0)).def);
   if (instr->type != nir_instr_type_intrinsic)
      return NULL;

   const nir_intrinsic_instr *load = nir_instr_as_intrinsic((nir_instr *)instr);
   return load->intrinsic == nir_intrinsic_load_descriptor_gpuval && gpuval_lvp_loads_one(load)
             ? load
             : NULL;
}

/* Is the address where the buffer, or the structure, of such a descriptor begins, and the offset?
 * Returns where it begins in *@base.
 */
static bool
find_descriptor(const nir_intrinsic_instr *instr, nir_scalar *base)
{
   nir_scalar offset = nir_scalar_chase_movs(nir_get_scalar(instr->src[SYNC_OFFSET].ssa, 0));
   nir_scalar sum = nir_scalar_chase_movs(nir_get_scalar(instr->src[SYNC_ADDRESS].ssa, 0));
   if (find_load(sum)) {
      *base = sum;
      return nir_scalar_is_const(offset) && !nir_scalar_as_uint(offset);
   }
   if (!nir_scalar_is_alu(sum) || nir_scalar_alu_op(sum) != nir_op_iadd)
      return false;

   for (unsigned i = 0; i < 2; i++) {
      nir_scalar rest = nir_scalar_chase_movs(nir_scalar_chase_alu_src(sum, 1 - i));

      *base = nir_scalar_chase_movs(nir_scalar_chase_alu_src(sum, i));
      if (!find_load(*base))
         continue;
      if (nir_scalar_is_const(rest))
         return nir_scalar_is_const(offset) &&
                nir_scalar_as_uint(rest) == nir_scalar_as_uint(offset);
      if (nir_scalar_is_alu(rest) && nir_scalar_alu_op(rest) == nir_op_u2u64 &&
          nir_scalar_equal(nir_scalar_chase_movs(nir_scalar_chase_alu_src(rest, 0)), offset))
         return true;
   }
   return false;
}

static LLVMValueRef
load_base(struct gpuval_lvp_soa *soa, nir_scalar base)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMValueRef value = LLVMBuildBitCast(gallivm->builder, soa->get_value(soa, base.def, 0),
                                         soa->uint64_bld.vec_type, "");

   return LLVMBuildExtractElement(gallivm->builder, value, lp_build_const_int32(gallivm, 0), "");
}

/* An address as the sum of a number and what each lane has, if that need not be computed then */
struct sum {
   LLVMValueRef base; /* 64 bits */
   LLVMValueRef halves[2];
};

/* Members of one struct behind an address are a constant apart: what they share is taken apart
 * once. */
static bool
find_constant(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr, struct sum *sum)
{
   struct gallivm_state *gallivm = soa->gallivm;
   nir_scalar address = nir_scalar_chase_movs(nir_get_scalar(instr->src[SYNC_ADDRESS].ssa, 0));
   if (!nir_scalar_is_alu(address) || nir_scalar_alu_op(address) != nir_op_iadd)
      return false;

   for (unsigned i = 0; i < 2; i++) {
      nir_scalar constant = nir_scalar_chase_movs(nir_scalar_chase_alu_src(address, i));
      nir_scalar rest = nir_scalar_chase_movs(nir_scalar_chase_alu_src(address, 1 - i));
      if (!nir_scalar_is_const(constant))
         continue;

      LLVMValueRef value = LLVMBuildBitCast(
         gallivm->builder, soa->get_value(soa, rest.def, rest.comp), soa->uint64_bld.vec_type, "");
      sum->base = lp_build_const_int64(gallivm, nir_scalar_as_uint(constant));
      gpuval_lvp_split_64(gallivm, value, lp_build_const_int_vec(gallivm, soa->uint64_bld.type, 32),
                          soa->uint_bld.vec_type, sum->halves);
      for (unsigned j = 0; j < 2; j++)
         sum->halves[j] = gpuval_lvp_argument(soa, sum->halves[j]);
      return true;
   }
   return false;
}

/* @words: of the call. */
static struct sum
find_sum(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr, const LLVMValueRef *words)
{
   struct sum sum = {
      .base = lp_build_const_int64(soa->gallivm, 0),
      .halves = {words[GPUVAL_SYNC_WORD_ADDRESS], words[GPUVAL_SYNC_WORD_ADDRESS + 1]},
   };
   nir_scalar base;

   if (find_descriptor(instr, &base))
      sum = (struct sum){
         .base = load_base(soa, base),
         .halves = {words[GPUVAL_SYNC_WORD_OFFSET], gpuval_lvp_constant(soa, 0)},
      };
   else
      find_constant(soa, instr, &sum);
   return sum;
}

/* --- Uniform loads -------------------------------------------------------- */

static nir_scalar
get_token(const nir_intrinsic_instr *instr)
{
   return nir_scalar_chase_movs(nir_get_scalar(instr->src[SYNC_NUMBERS].ssa, NUMBERS_TOKEN));
}

bool
gpuval_lvp_is_uniform_load(const nir_intrinsic_instr *instr)
{
   nir_scalar base;

   if (instr->intrinsic != nir_intrinsic_sync_gpuval ||
       gpuval_nir_sync_function(nir_intrinsic_flags(instr)) != GPUVAL_FUNCTION_SYNC_LOAD ||
       !nir_src_is_const(instr->src[SYNC_OFFSET]) || !nir_src_is_const(instr->src[SYNC_SIZE]) ||
       !nir_scalar_is_const(get_token(instr)))
      return false;

   const uint64_t offset = nir_src_as_uint(instr->src[SYNC_OFFSET]);
   const uint64_t size = nir_src_as_uint(instr->src[SYNC_SIZE]);
   return offset % GPUVAL_SHADOW_WORD == 0 && size % GPUVAL_SHADOW_WORD == 0 && size &&
          offset + size <= GPUVAL_SHADOW_WINDOW_MARGIN && find_descriptor(instr, &base) &&
          gpuval_lvp_loads_constant(find_load(base));
}

/* What uniform loads of a group are compared with */
struct uniform {
   struct gallivm_state *gallivm;
   LLVMTypeRef cell_type;
   LLVMValueRef data; /* struct gpuval_command_data */
   LLVMValueRef expected, window, words;
   nir_scalar base; /* of the last load */
   LLVMValueRef cells, is_inside;

   /* By whether they are uniform or sampled reads: NULL, or how cells differ from what is expected,
    * at most
    */
   LLVMValueRef distance[2];
};

static LLVMValueRef
load_data(const struct uniform *u, unsigned offset, bool is_64_bit)
{
   LLVMBuilderRef builder = u->gallivm->builder;
   LLVMContextRef context = u->gallivm->context;
   LLVMTypeRef type = is_64_bit ? LLVMInt64TypeInContext(context) : LLVMInt32TypeInContext(context);
   LLVMValueRef address =
      LLVMBuildAdd(builder, u->data, lp_build_const_int64(u->gallivm, offset), "");

   return LLVMBuildLoad2(builder, type,
                         LLVMBuildIntToPtr(builder, address, LLVMPointerType(type, 0), ""), "");
}

static LLVMValueRef
make_cell(const struct uniform *u, const LLVMValueRef words[4])
{
   LLVMValueRef cell = LLVMGetUndef(u->cell_type);

   for (unsigned i = 0; i < 4; i++)
      cell = LLVMBuildInsertElement(u->gallivm->builder, cell, words[i],
                                    lp_build_const_int32(u->gallivm, i), "");
   return cell;
}

static void
begin_uniform(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *first, struct uniform *u)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   LLVMValueRef zero = lp_build_const_int32(gallivm, 0);
   const uint32_t class_ = nir_scalar_as_uint(get_token(first)) >> 16 & 0xff;

   *u = (struct uniform){
      .gallivm = gallivm,
      .cell_type = LLVMVectorType(LLVMInt32TypeInContext(gallivm->context), 4),
   };
   LLVMValueRef constants =
      lp_llvm_buffer_base(gallivm, soa->consts_ptr, zero, LP_MAX_TGSI_CONST_BUFFERS);
   u->data = LLVMBuildAdd(
      builder, LLVMBuildPtrToInt(builder, constants, LLVMInt64TypeInContext(gallivm->context), ""),
      lp_build_const_int64(gallivm, GPUVAL_LVP_COMMAND_DATA_OFFSET), "");
   u->window = load_data(u, offsetof(struct gpuval_command_data, shadow_window), true);
   u->words = load_data(u, offsetof(struct gpuval_command_data, shadow_words), true);

   LLVMValueRef command = load_data(u, offsetof(struct gpuval_command_data, shadow_command), false);
   const LLVMValueRef expected[4] = {
      zero,
      zero,
      lp_build_const_int32(gallivm, UINT32_MAX),
      LLVMBuildOr(builder, command,
                  lp_build_const_int32(gallivm, class_ << GPUVAL_SHADOW_CLASS_SHIFT), ""),
   };
   u->expected = make_cell(u, expected);
}

/* Sets where the cells of the buffer begin. A buffer that may be outside of the window, or reach
 * out of it, is not known; it has the cells of the window's first words instead.
 */
static void
find_cells(struct gpuval_lvp_soa *soa, struct uniform *u, nir_scalar base)
{
   LLVMBuilderRef builder = u->gallivm->builder;
   LLVMValueRef scale = lp_build_const_int64(u->gallivm, util_logbase2(GPUVAL_SHADOW_WORDS_SCALE));
   LLVMValueRef last = lp_build_const_int64(
      u->gallivm, (1ull << GPUVAL_SHADOW_WINDOW_LOG2) - GPUVAL_SHADOW_WINDOW_MARGIN);

   if (u->cells && nir_scalar_equal(u->base, base))
      return;
   LLVMValueRef address = load_base(soa, base);
   LLVMValueRef is_inside =
      LLVMBuildICmp(builder, LLVMIntULE, LLVMBuildSub(builder, address, u->window, ""), last, "");
   address = LLVMBuildSelect(builder, is_inside, address, u->window, "");
   u->base = base;
   u->cells = LLVMBuildAdd(builder, u->words, LLVMBuildShl(builder, address, scale, ""), "");
   u->is_inside = u->is_inside ? LLVMBuildAnd(builder, u->is_inside, is_inside, "") : is_inside;
}

static void
add_uniform(struct gpuval_lvp_soa *soa, struct uniform *u, const nir_intrinsic_instr *instr)
{
   LLVMBuilderRef builder = u->gallivm->builder;
   const unsigned access = nir_intrinsic_flags(instr) >> GPUVAL_SYNC_ACCESS_SHIFT & 7;
   LLVMValueRef *distance = &u->distance[access >= GPUVAL_ORDER_UNIFORM_READ];
   const uint64_t offset = nir_src_as_uint(instr->src[SYNC_OFFSET]) * GPUVAL_SHADOW_WORDS_SCALE;
   const unsigned count = nir_src_as_uint(instr->src[SYNC_SIZE]) / GPUVAL_SHADOW_WORD;
   nir_scalar base;

   find_descriptor(instr, &base);
   find_cells(soa, u, base);
   for (unsigned i = 0; i < count; i++) {
      LLVMValueRef address =
         LLVMBuildAdd(builder, u->cells,
                      lp_build_const_int64(u->gallivm, offset + i * GPUVAL_SHADOW_CELL_SIZE), "");
      LLVMValueRef cell = LLVMBuildLoad2(
         builder, u->cell_type,
         LLVMBuildIntToPtr(builder, address, LLVMPointerType(u->cell_type, 0), ""), "");
      LLVMSetAlignment(cell, GPUVAL_SHADOW_WORD); /* a descriptor may be wrong */
      LLVMValueRef is = LLVMBuildXor(builder, cell, u->expected, "");
      *distance =
         *distance ? LLVMBuildSelect(builder, LLVMBuildICmp(builder, LLVMIntUGT, *distance, is, ""),
                                     *distance, is, "")
                   : is;
   }
}

/* As gpuval_lvp_cells_rows.c has it: the writers are past, and the readers are several workgroups'
 * of this command.
 */
static LLVMValueRef
is_known(const struct uniform *u, unsigned others)
{
   const struct gallivm_state *gallivm = u->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   const unsigned offset = others ? offsetof(struct gpuval_command_data, shadow_others)
                                  : offsetof(struct gpuval_command_data, shadow_ordered);
   const uint32_t everybody = (uint32_t)GPUVAL_SHADOW_WORKGROUPS << GPUVAL_SHADOW_SHARE_SHIFT;
   const LLVMValueRef limits[4] = {
      lp_build_const_int32(u->gallivm, UINT32_MAX),
      load_data(u, offset, false),
      lp_build_const_int32(u->gallivm, ~everybody + 1),
      lp_build_const_int32(u->gallivm, GPUVAL_SHADOW_ATOMIC),
   };
   LLVMValueRef is_below =
      LLVMBuildICmp(builder, LLVMIntULT, u->distance[others], make_cell(u, limits), "");
   LLVMTypeRef type = LLVMIntTypeInContext(gallivm->context, 4);
   LLVMValueRef all = LLVMConstInt(type, 0xe, 0); /* but the writers' lower words */

   return LLVMBuildICmp(
      builder, LLVMIntEQ,
      LLVMBuildAnd(builder, LLVMBuildBitCast(builder, is_below, type, ""), all, ""), all, "");
}

LLVMValueRef
gpuval_lvp_are_known_loads(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *const *instrs,
                           unsigned count)
{
   struct uniform u;

   begin_uniform(soa, instrs[0], &u);
   for (unsigned i = 0; i < count; i++)
      add_uniform(soa, &u, instrs[i]);
   LLVMValueRef known = u.is_inside;
   for (unsigned i = 0; i < ARRAY_SIZE(u.distance); i++) {
      if (u.distance[i])
         known = LLVMBuildAnd(u.gallivm->builder, known, is_known(&u, i), "");
   }
   return known;
}

/* --- Calls ---------------------------------------------------------------- */

/* What element @index of the array is in NIR */
static nir_scalar
get_stored(const nir_intrinsic_instr *instr, unsigned index)
{
   const unsigned word = gpuval_lvp_sync_array[index];

   switch (word) {
   case GPUVAL_SYNC_WORD_OFFSET:
      return nir_scalar_chase_movs(nir_get_scalar(instr->src[SYNC_OFFSET].ssa, 0));
   case GPUVAL_SYNC_WORD_SLOT:
      return nir_scalar_chase_movs(nir_get_scalar(instr->src[SYNC_SLOT].ssa, 0));
   case GPUVAL_SYNC_WORD_VALUE:
      return nir_scalar_chase_movs(nir_get_scalar(instr->src[SYNC_NUMBERS].ssa, NUMBERS_VALUE));
   default:
      return nir_scalar_chase_movs(
         nir_get_scalar(instr->src[SYNC_INVOCATION].ssa, word - GPUVAL_SYNC_WORD_INVOCATION));
   }
}

static bool
is_same(nir_scalar a, nir_scalar b)
{
   if (nir_scalar_is_const(a) && nir_scalar_is_const(b))
      return nir_scalar_as_uint(a) == nir_scalar_as_uint(b);
   return nir_scalar_equal(a, b);
}

/* Stores what the array has not from a call before, in the same block. Functions only read it. */
static LLVMValueRef
fill_array(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr, unsigned count,
           const LLVMValueRef *words)
{
   struct gallivm_state *gallivm = soa->gallivm;
   struct gpuval_lvp_calls *state = soa->calls;
   LLVMTypeRef array_type = gpuval_lvp_sync_array_type(gallivm);

   if (!state->sync_words)
      state->sync_words = lp_build_alloca_undef(gallivm, array_type, "");
   if (state->sync_block != instr->instr.block)
      memset(state->sync_stored, 0, sizeof(state->sync_stored));
   state->sync_block = instr->instr.block;
   for (unsigned i = 0; i < count; i++) {
      const nir_scalar scalar = get_stored(instr, i);
      if (state->sync_stored[i].def && is_same(state->sync_stored[i], scalar))
         continue;
      state->sync_stored[i] = scalar;
      LLVMValueRef indices[2] = {lp_build_const_int32(gallivm, 0),
                                 lp_build_const_int32(gallivm, i)};
      LLVMBuildStore(
         gallivm->builder, words[gpuval_lvp_sync_array[i]],
         LLVMBuildGEP2(gallivm->builder, array_type, state->sync_words, indices, 2, ""));
   }
   return state->sync_words;
}

void
gpuval_lvp_call_sync(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr,
                     unsigned function, LLVMValueRef mask, const LLVMValueRef *words)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   LLVMValueRef zero = lp_build_const_int32(gallivm, 0);
   const bool is_load =
      function == GPUVAL_FUNCTION_SYNC_LOAD || function == GPUVAL_FUNCTION_SHARED_LOAD;
   LLVMValueRef array = fill_array(soa, instr, GPUVAL_LVP_SYNC_ARRAY_SIZE - is_load, words);
   const struct sum sum = find_sum(soa, instr, words);
   LLVMValueRef args[GPUVAL_LVP_SYNC_COUNT] = {
      [GPUVAL_LVP_SYNC_MASK] = mask,
      [GPUVAL_LVP_SYNC_RESOURCES] = soa->resources_ptr,
      [GPUVAL_LVP_SYNC_ENTRY] = LLVMBuildExtractElement(builder, words[0], zero, ""),
      [GPUVAL_LVP_SYNC_WORD] =
         LLVMBuildExtractElement(builder, words[GPUVAL_FUNCTION_WORD], zero, ""),
      [GPUVAL_LVP_SYNC_TOKEN] =
         LLVMBuildExtractElement(builder, words[GPUVAL_SYNC_WORD_TOKEN], zero, ""),
      [GPUVAL_LVP_SYNC_BASE] = sum.base,
      [GPUVAL_LVP_SYNC_ADDRESS] = sum.halves[0],
      [GPUVAL_LVP_SYNC_ADDRESS + 1] = sum.halves[1],
      [GPUVAL_LVP_SYNC_SIZE] = words[GPUVAL_SYNC_WORD_SIZE],
      [GPUVAL_LVP_SYNC_ID] = words[GPUVAL_SYNC_WORD_ID],
      [GPUVAL_LVP_SYNC_PHASE] = words[GPUVAL_SYNC_WORD_PHASE],
      [GPUVAL_LVP_SYNC_ARRAY] = array,
   };
   LLVMTypeRef type = gpuval_lvp_sync_type(gallivm, LLVMTypeOf(soa->resources_ptr));
   LLVMBuildCall2(builder, type, gpuval_lvp_load_function(soa, function, type), args,
                  ARRAY_SIZE(args), "");
}
