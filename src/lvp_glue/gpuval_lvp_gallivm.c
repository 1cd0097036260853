/* SPDX-License-Identifier: MIT */

/* Calls of functions that are compiled once for a device: in each shader they
 * would take longer to compile than most shaders do. A shader finds them by
 * their number in a table, and that in constant buffer 0, so nothing of a device
 * is in its code.
 *
 *    if (any lane of condition & mask)
 *       functions[number](condition & mask, resources, words…)
 *
 * What each intrinsic becomes is in the table calls[].
 */

#include "gpuval_lvp_gallivm_private.h"
#include "gpuval_lvp_translation.h"

#include "gallivm/lp_bld_arit.h"
#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_flow.h"
#include "gallivm/lp_bld_init.h"
#include "gallivm/lp_bld_intr.h"
#include "gallivm/lp_bld_ir_common.h"
#include "gallivm/lp_bld_jit_types.h"
#include "gallivm/lp_bld_logic.h"
#include "gallivm/lp_bld_nir.h"
#include "gallivm/lp_bld_struct.h"
#include "gallivm/lp_bld_swizzle.h"
#include "gallivm/lp_bld_type.h"

#include "gpuval/src/lvp_glue/gpuval_lvp_nir.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"
#include "util/os_time.h"
#include "util/u_atomic.h"

/* An intrinsic that becomes a call. Its arguments are the words of its sources
 * in order, 64 bits being two words, the low one first.
 */
struct call {
   nir_intrinsic_op op;
   enum gpuval_function function; /* GPUVAL_FUNCTION_COUNT: BASE says which */
   bool has_condition;            /* the first source, no argument; else every lane calls */
   bool has_entry;                /* two words come first: BASE and gpuval_nir_function_word() */
   bool shares_branch;            /* hardly ever called */
   bool has_payload;              /* @printf_gpuval: only the address of that is an argument */
};

static const struct call calls[] = {
   {
      .op = nir_intrinsic_report_gpuval,
      .function = GPUVAL_FUNCTION_REPORT,
      .has_condition = true,
      .has_entry = true,
      .shares_branch = true,
   },
   {
      .op = nir_intrinsic_check_buffer_gpuval,
      .function = GPUVAL_FUNCTION_REPORT,
      .has_condition = true,
      .has_entry = true,
      .shares_branch = true,
   },
   {
      .op = nir_intrinsic_sync_gpuval,
      .function = GPUVAL_FUNCTION_SYNC,
      .has_condition = true,
      .has_entry = true,
   },
   {
      .op = nir_intrinsic_printf_gpuval,
      .function = GPUVAL_FUNCTION_PRINTF,
      .has_payload = true,
   },
   {
      .op = nir_intrinsic_invocation_gpuval,
      .function = GPUVAL_FUNCTION_INVOCATION,
   },
   {
      .op = nir_intrinsic_call_gpuval,
      .function = GPUVAL_FUNCTION_COUNT,
      .has_condition = true,
   },
};

static const struct call *
find_call(const nir_intrinsic_instr *instr)
{
   for (unsigned i = 0; i < ARRAY_SIZE(calls); i++) {
      if (calls[i].op == instr->intrinsic)
         return &calls[i];
   }
   return NULL;
}

static unsigned
num_results(const nir_intrinsic_instr *instr)
{
   return nir_intrinsic_infos[instr->intrinsic].has_dest ? instr->def.bit_size / 32 : 0;
}

unsigned
gpuval_lvp_num_lanes(void)
{
   return MIN2(lp_native_vector_width / 32, 16);
}

LLVMTypeRef
gpuval_lvp_function_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type,
                         unsigned num_words, unsigned num_results)
{
   LLVMTypeRef vec_type =
      LLVMVectorType(LLVMInt32TypeInContext(gallivm->context), gpuval_lvp_num_lanes());
   LLVMTypeRef args[LP_RESV_FUNC_ARGS + GPUVAL_FUNCTION_MAX_WORDS] = {vec_type, resources_ptr_type};
   LLVMTypeRef results[2] = {vec_type, vec_type};

   assert(num_words <= GPUVAL_FUNCTION_MAX_WORDS && num_results <= ARRAY_SIZE(results));
   for (unsigned i = 0; i < num_words; i++)
      args[LP_RESV_FUNC_ARGS + i] = vec_type;
   LLVMTypeRef result = num_results
                           ? LLVMStructTypeInContext(gallivm->context, results, num_results, 0)
                           : LLVMVoidTypeInContext(gallivm->context);
   return LLVMFunctionType(result, args, LP_RESV_FUNC_ARGS + num_words, 0);
}

LLVMValueRef
gpuval_lvp_get_mask(struct gpuval_lvp_soa *soa, bool with_helpers)
{
   LLVMValueRef exec_mask = soa->exec_mask->has_mask ? soa->exec_mask->exec_mask : NULL;
   bool is_fragment = soa->stage == MESA_SHADER_FRAGMENT;
   LLVMValueRef mask =
      soa->mask && !(is_fragment && with_helpers) ? lp_build_mask_value(soa->mask) : NULL;

   if (mask && exec_mask)
      return LLVMBuildAnd(soa->gallivm->builder, mask, exec_mask, "");
   if (mask || exec_mask)
      return mask ? mask : exec_mask;
   return lp_build_const_int_vec(soa->gallivm, soa->uint_bld.type, -1);
}

LLVMValueRef
gpuval_lvp_where(struct gpuval_lvp_soa *soa, LLVMValueRef condition, LLVMValueRef value)
{
   LLVMBuilderRef builder = soa->gallivm->builder;

   if (LLVMIsConstant(value) || condition == LLVMConstAllOnes(LLVMTypeOf(condition)))
      return LLVMBuildAnd(builder, condition, value, ""); /* which is folded */
   LLVMValueRef is_set =
      LLVMBuildICmp(builder, LLVMIntNE, condition, LLVMConstNull(LLVMTypeOf(condition)), "");
   return LLVMBuildSelect(builder, is_set, value, LLVMConstNull(LLVMTypeOf(value)), "");
}

LLVMValueRef
gpuval_lvp_any_bit(struct gallivm_state *gallivm, LLVMValueRef vector)
{
   LLVMTypeRef type = LLVMIntTypeInContext(gallivm->context, LLVMGetVectorSize(LLVMTypeOf(vector)));
   LLVMValueRef number = LLVMBuildBitCast(gallivm->builder, vector, type, "");
   return LLVMBuildICmp(gallivm->builder, LLVMIntNE, number, LLVMConstNull(type), "");
}

LLVMValueRef
gpuval_lvp_any_lane(struct gpuval_lvp_soa *soa, LLVMValueRef mask)
{
   struct gallivm_state *gallivm = soa->gallivm;

   return gpuval_lvp_any_bit(
      gallivm, LLVMBuildICmp(gallivm->builder, LLVMIntNE, mask, soa->uint_bld.zero, ""));
}

LLVMValueRef
gpuval_lvp_first_bit(struct gallivm_state *gallivm, LLVMValueRef vector)
{
   const unsigned length = LLVMGetVectorSize(LLVMTypeOf(vector));
   LLVMTypeRef i32 = LLVMInt32TypeInContext(gallivm->context);
   LLVMTypeRef type = LLVMIntTypeInContext(gallivm->context, length);
   LLVMValueRef bits = LLVMBuildZExt(gallivm->builder,
                                     LLVMBuildBitCast(gallivm->builder, vector, type, ""), i32, "");
   LLVMValueRef arguments[] = {
      LLVMBuildOr(gallivm->builder, bits, lp_build_const_int32(gallivm, 1u << (length - 1)), ""),
      LLVMConstInt(LLVMInt1TypeInContext(gallivm->context), 1, 0),
   };

   return lp_build_intrinsic(gallivm->builder, "llvm.cttz.i32", i32, arguments,
                             ARRAY_SIZE(arguments), 0);
}

LLVMValueRef
gpuval_lvp_find_lane(struct gpuval_lvp_soa *soa, LLVMValueRef mask)
{
   struct gallivm_state *gallivm = soa->gallivm;

   if (LLVMIsConstant(mask))
      return lp_build_const_int32(gallivm, 0);
   return gpuval_lvp_first_bit(gallivm, LLVMBuildICmp(gallivm->builder, LLVMIntNE, mask,
                                                      LLVMConstNull(LLVMTypeOf(mask)), ""));
}

LLVMValueRef
gpuval_lvp_resize(struct gpuval_lvp_soa *soa, LLVMValueRef value, unsigned length)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMTypeRef type = LLVMTypeOf(value);
   unsigned old_length = LLVMGetVectorSize(type);
   LLVMValueRef lanes[LP_MAX_VECTOR_LENGTH];

   if (length == old_length)
      return value;

   for (unsigned i = 0; i < length; i++)
      lanes[i] = lp_build_const_int32(gallivm, MIN2(i, old_length));
   return LLVMBuildShuffleVector(gallivm->builder, value, LLVMConstNull(type),
                                 LLVMConstVector(lanes, length), "");
}

LLVMValueRef
gpuval_lvp_argument(struct gpuval_lvp_soa *soa, LLVMValueRef word)
{
   word = LLVMBuildBitCast(soa->gallivm->builder, word, soa->uint_bld.vec_type, "");
   return gpuval_lvp_resize(soa, word, gpuval_lvp_num_lanes());
}

LLVMValueRef
gpuval_lvp_constant(struct gpuval_lvp_soa *soa, uint32_t word)
{
   return gpuval_lvp_argument(soa, lp_build_const_int_vec(soa->gallivm, soa->uint_bld.type, word));
}

void
gpuval_lvp_split_64(struct gallivm_state *gallivm, LLVMValueRef value, LLVMValueRef shift,
                    LLVMTypeRef half_type, LLVMValueRef halves[2])
{
   halves[0] = LLVMBuildTrunc(gallivm->builder, value, half_type, "");
   value = LLVMBuildLShr(gallivm->builder, value, shift, "");
   halves[1] = LLVMBuildTrunc(gallivm->builder, value, half_type, "");
}

LLVMValueRef
gpuval_lvp_get_component(struct gpuval_lvp_soa *soa, const nir_src *src, unsigned component)
{
   return soa->get_value(soa, src->ssa, component);
}

LLVMValueRef
gpuval_lvp_get_bool(struct gpuval_lvp_soa *soa, const nir_src *src)
{
   LLVMBuilderRef builder = soa->gallivm->builder;
   LLVMValueRef value = gpuval_lvp_get_component(soa, src, 0);

   return soa->has_bits ? LLVMBuildSExt(builder, value, soa->uint_bld.vec_type, "")
                        : LLVMBuildBitCast(builder, value, soa->uint_bld.vec_type, "");
}

LLVMValueRef
gpuval_lvp_bool_result(struct gpuval_lvp_soa *soa, LLVMValueRef mask)
{
   return soa->has_bits
             ? LLVMBuildICmp(soa->gallivm->builder, LLVMIntNE, mask, soa->uint_bld.zero, "")
             : mask;
}

static unsigned
add_source(struct gpuval_lvp_soa *soa, const nir_src *src, LLVMValueRef *args, unsigned num_args)
{
   struct gallivm_state *gallivm = soa->gallivm;

   for (unsigned i = 0; i < nir_src_num_components(*src); i++) {
      LLVMValueRef value = gpuval_lvp_get_component(soa, src, i);

      if (nir_src_bit_size(*src) == 64) {
         LLVMValueRef halves[2];
         value = LLVMBuildBitCast(gallivm->builder, value, soa->uint64_bld.vec_type, "");
         gpuval_lvp_split_64(gallivm, value,
                             lp_build_const_int_vec(gallivm, soa->uint64_bld.type, 32),
                             soa->uint_bld.vec_type, halves);
         args[num_args++] = gpuval_lvp_argument(soa, halves[0]);
         args[num_args++] = gpuval_lvp_argument(soa, halves[1]);
      } else {
         args[num_args++] = gpuval_lvp_argument(soa, value);
      }
   }
   return num_args;
}

/* The payload goes through an array on the stack. */
static unsigned
add_payload(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *printf, LLVMValueRef *args,
            unsigned num_args)
{
   struct gallivm_state *gallivm = soa->gallivm;
   struct lp_build_context *uint_bld = &soa->uint_bld;
   LLVMValueRef *array = &soa->calls->printf_words;
   LLVMTypeRef array_type = LLVMArrayType(
      LLVMVectorType(uint_bld->elem_type, gpuval_lvp_num_lanes()), GPUVAL_PRINTF_MAX_WORDS);

   if (!*array)
      *array = lp_build_alloca_undef(gallivm, array_type, "");
   for (unsigned i = 0; i < gpuval_nir_printf_num_words(printf); i++) {
      unsigned channel, src = gpuval_nir_printf_word(printf, i, &channel);
      LLVMValueRef indices[2] = {lp_build_const_int32(gallivm, 0),
                                 lp_build_const_int32(gallivm, i)};
      LLVMBuildStore(
         gallivm->builder,
         gpuval_lvp_argument(soa, gpuval_lvp_get_component(soa, &printf->src[src], channel)),
         LLVMBuildGEP2(gallivm->builder, array_type, *array, indices, 2, ""));
   }

   LLVMValueRef halves[2];
   LLVMValueRef address =
      LLVMBuildPtrToInt(gallivm->builder, *array, soa->uint64_bld.elem_type, "");
   gpuval_lvp_split_64(gallivm, address, lp_build_const_int64(gallivm, 32), uint_bld->elem_type,
                       halves);
   for (unsigned i = 0; i < 2; i++)
      args[num_args++] = gpuval_lvp_argument(soa, lp_build_broadcast_scalar(uint_bld, halves[i]));
   return num_args;
}

/* All but the first two, which every call has */
static unsigned
get_words(struct gpuval_lvp_soa *soa, const struct call *call, const nir_intrinsic_instr *instr,
          LLVMValueRef *words)
{
   unsigned num_srcs = nir_intrinsic_infos[instr->intrinsic].num_srcs;
   unsigned count = 0;

   if (call->has_entry) {
      words[count++] = gpuval_lvp_constant(soa, nir_intrinsic_base(instr));
      words[count++] = gpuval_lvp_constant(soa, gpuval_nir_function_word(instr, soa->stage));
   }
   if (call->has_payload) {
      count = add_source(soa, &instr->src[GPUVAL_PRINTF_HEADER_SRC], words, count);
      return add_payload(soa, instr, words, count);
   }
   if (instr->intrinsic == nir_intrinsic_check_buffer_gpuval) {
      /* As of a report: detail, slot, invocation */
      count = add_source(soa, &instr->src[GPUVAL_LVP_CHECK_BUFFER_OFFSET], words, count);
      for (unsigned i = 0; i < 3; i++)
         words[count++] = gpuval_lvp_constant(soa, 0);
      words[count++] = gpuval_lvp_argument(
         soa, gpuval_lvp_get_component(soa, &instr->src[GPUVAL_LVP_CHECK_BUFFER_INDEX], 1));
      return add_source(soa, &instr->src[GPUVAL_LVP_CHECK_BUFFER_INVOCATION], words, count);
   }
   for (unsigned i = call->has_condition; i < num_srcs; i++)
      count = add_source(soa, &instr->src[i], words, count);
   return count;
}

static LLVMValueRef
load_pointer(struct gallivm_state *gallivm, LLVMValueRef array, unsigned index, LLVMTypeRef type)
{
   array = LLVMBuildBitCast(gallivm->builder, array, LLVMPointerType(type, 0), "");
   return lp_build_pointer_get2(gallivm->builder, type, array,
                                lp_build_const_int32(gallivm, index));
}

/* The table of functions */
static LLVMValueRef
load_functions(struct gallivm_state *gallivm, LLVMValueRef constants)
{
   LLVMTypeRef pointer_type = LLVMPointerType(LLVMInt8TypeInContext(gallivm->context), 0);

   constants = lp_llvm_buffer_base(gallivm, constants, lp_build_const_int32(gallivm, 0),
                                   LP_MAX_TGSI_CONST_BUFFERS);
   return load_pointer(gallivm, constants, GPUVAL_LVP_FUNCTIONS_INDEX,
                       LLVMPointerType(pointer_type, 0));
}

/* The same once for a function, where that begins: its resources are an argument. */
static LLVMValueRef
get_functions(struct gpuval_lvp_soa *soa)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMValueRef *functions = &soa->calls->functions;

   if (!LLVMIsAArgument(soa->resources_ptr))
      return load_functions(gallivm, soa->consts_ptr);
   if (!*functions) {
      LLVMBasicBlockRef here = LLVMGetInsertBlock(gallivm->builder);
      LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(here));
      LLVMPositionBuilderBefore(gallivm->builder, LLVMGetFirstInstruction(entry));
      *functions = load_functions(
         gallivm, lp_jit_resources_constants(gallivm, soa->resources_type, soa->resources_ptr));
      LLVMPositionBuilderAtEnd(gallivm->builder, here);
   }
   return *functions;
}

LLVMValueRef
gpuval_lvp_load_function(struct gpuval_lvp_soa *soa, unsigned function, LLVMTypeRef type)
{
   return load_pointer(soa->gallivm, get_functions(soa), function, LLVMPointerType(type, 0));
}

LLVMValueRef
gpuval_lvp_load_called(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                       LLVMValueRef resources, unsigned function, LLVMTypeRef type)
{
   LLVMValueRef constants = lp_jit_resources_constants(gallivm, resources_type, resources);

   return load_pointer(gallivm, load_functions(gallivm, constants), function,
                       LLVMPointerType(type, 0));
}

LLVMValueRef
gpuval_lvp_add_table(struct gpuval_lvp_soa *soa, const uint32_t *words, unsigned count)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMTypeRef type = LLVMInt32TypeInContext(gallivm->context);
   LLVMValueRef values[GPUVAL_LVP_MAX_TABLE];

   assert(count <= ARRAY_SIZE(values));
   for (unsigned i = 0; i < count; i++)
      values[i] = lp_build_const_int32(gallivm, words[i]);
   LLVMValueRef table = LLVMAddGlobal(gallivm->module, LLVMArrayType(type, count), "table");
   LLVMSetInitializer(table, LLVMConstArray(type, values, count));
   LLVMSetLinkage(table, LLVMInternalLinkage);
   LLVMSetGlobalConstant(table, 1);
   return LLVMBuildBitCast(gallivm->builder, table, LLVMPointerType(type, 0), "");
}

LLVMValueRef
gpuval_lvp_call(struct gpuval_lvp_soa *soa, unsigned function, LLVMValueRef mask,
                const LLVMValueRef *words, unsigned num_words, unsigned num_results)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMValueRef args[LP_RESV_FUNC_ARGS + GPUVAL_FUNCTION_MAX_WORDS] = {
      gpuval_lvp_argument(soa, mask), soa->resources_ptr};
   LLVMTypeRef type =
      gpuval_lvp_function_type(gallivm, LLVMTypeOf(soa->resources_ptr), num_words, num_results);

   memcpy(&args[LP_RESV_FUNC_ARGS], words, num_words * sizeof(*words));
   return LLVMBuildCall2(gallivm->builder, type, gpuval_lvp_load_function(soa, function, type),
                         args, LP_RESV_FUNC_ARGS + num_words, "");
}

/* For the lanes in @mask */
static LLVMValueRef
emit_call(struct gpuval_lvp_soa *soa, const struct call *call, const nir_intrinsic_instr *instr,
          LLVMValueRef mask)
{
   LLVMValueRef words[GPUVAL_FUNCTION_MAX_WORDS];
   unsigned num_words = get_words(soa, call, instr, words);
   unsigned function =
      call->function < GPUVAL_FUNCTION_COUNT ? call->function : nir_intrinsic_base(instr);

   if (instr->intrinsic == nir_intrinsic_sync_gpuval)
      function = gpuval_nir_sync_function(nir_intrinsic_flags(instr));
   if (gpuval_lvp_is_plain_sync(function)) {
      gpuval_lvp_call_sync(soa, instr, function, gpuval_lvp_argument(soa, mask), words);
      return NULL;
   }
   return gpuval_lvp_call(soa, function, mask, words, num_words, num_results(instr));
}

/* What the lanes that have not called get is 0. */
static LLVMValueRef
join_results(struct gpuval_lvp_soa *soa, const LLVMValueRef *pointers, unsigned count)
{
   LLVMBuilderRef builder = soa->gallivm->builder;
   LLVMValueRef lo = LLVMBuildLoad2(builder, soa->uint_bld.vec_type, pointers[0], "");
   if (count == 1)
      return lo;

   LLVMValueRef hi = LLVMBuildLoad2(builder, soa->uint_bld.vec_type, pointers[1], "");
   lo = LLVMBuildZExt(builder, lo, soa->uint64_bld.vec_type, "");
   hi = LLVMBuildZExt(builder, hi, soa->uint64_bld.vec_type, "");
   LLVMValueRef shift = lp_build_const_int_vec(soa->gallivm, soa->uint64_bld.type, 32);
   return LLVMBuildOr(builder, lo, LLVMBuildShl(builder, hi, shift, ""), "");
}

/* Most loads and stores have a lane that calls, and the functions see if there is none: a branch
 * for each would be most of what large shaders are compiled for.
 */
static bool
calls_always(const nir_intrinsic_instr *instr)
{
   if (instr->intrinsic != nir_intrinsic_sync_gpuval)
      return false;
   return gpuval_lvp_is_plain_sync(gpuval_nir_sync_function(nir_intrinsic_flags(instr)));
}

/* Calls that share a branch; a single one may have a result. */
static LLVMValueRef
emit_calls(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *const *instrs, unsigned count)
{
   struct gallivm_state *gallivm = soa->gallivm;
   const struct call *call = find_call(instrs[0]);
   unsigned results = num_results(instrs[0]);
   LLVMValueRef pointers[2];

   LLVMValueRef mask = gpuval_lvp_get_mask(soa, results > 0);
   LLVMValueRef calling = mask, masks[ARRAY_SIZE(soa->calls->pending)] = {mask};
   if (call->has_condition) {
      LLVMValueRef any = NULL;
      for (unsigned i = 0; i < count; i++) {
         LLVMValueRef condition = gpuval_lvp_get_condition(soa, instrs[i]);
         masks[i] = gpuval_lvp_where(soa, condition, mask);
         any = any ? LLVMBuildOr(gallivm->builder, any, condition, "") : condition;
      }
      calling = count > 1 ? gpuval_lvp_where(soa, any, mask) : masks[0];
   }
   for (unsigned i = 0; i < results; i++)
      pointers[i] = lp_build_alloca(gallivm, soa->uint_bld.vec_type, "");

   struct lp_build_if_state ifthen;
   const bool has_branch = !calls_always(instrs[0]);
   if (has_branch)
      lp_build_if(&ifthen, gallivm, gpuval_lvp_any_lane(soa, calling));
   for (unsigned i = 0; i < count; i++) {
      if (call->function == GPUVAL_FUNCTION_REPORT)
         i += gpuval_lvp_call_reports(soa, &instrs[i], &masks[i], count - i);
      if (i == count)
         break;
      LLVMValueRef result = emit_call(soa, call, instrs[i], masks[i]);
      for (unsigned j = 0; j < results; j++) {
         LLVMValueRef word = LLVMBuildExtractValue(gallivm->builder, result, j, "");
         word = gpuval_lvp_resize(soa, word, soa->uint_bld.type.length);
         /* What the others get is anything. */
         LLVMBuildStore(gallivm->builder, gpuval_lvp_where(soa, calling, word), pointers[j]);
      }
   }
   if (has_branch)
      lp_build_endif(&ifthen);

   return results ? join_results(soa, pointers, results) : NULL;
}

/* Exchanges lanes that are so far apart. Only our functions have these left: those of
 * shaders are lowered.
 */
static LLVMValueRef
emit_quad_swap(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr, unsigned distance)
{
   struct gallivm_state *gallivm = soa->gallivm;
   unsigned length = soa->uint_bld.type.length;
   LLVMValueRef value = gpuval_lvp_get_component(soa, &instr->src[0], 0);
   LLVMValueRef lanes[LP_MAX_VECTOR_LENGTH];

   for (unsigned i = 0; i < length; i++)
      lanes[i] = lp_build_const_int32(gallivm, i ^ distance);
   return LLVMBuildShuffleVector(gallivm->builder, value, value, LLVMConstVector(lanes, length),
                                 "");
}

/* 1 bit. The word is the same in all lanes, so one tells. */
static LLVMValueRef
has_bits(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMValueRef word =
      LLVMBuildBitCast(gallivm->builder, gpuval_lvp_get_component(soa, &instr->src[0], 0),
                       soa->uint_bld.vec_type, "");
   word = LLVMBuildExtractElement(gallivm->builder, word, lp_build_const_int32(gallivm, 0), "");
   LLVMValueRef bits =
      LLVMBuildAnd(gallivm->builder, word,
                   lp_build_const_int32(gallivm, (uint32_t)nir_intrinsic_base(instr)), "");

   return LLVMBuildICmp(gallivm->builder, LLVMIntNE, bits, lp_build_const_int32(gallivm, 0), "");
}

/* ~0 or 0 */
static LLVMValueRef
emit_has_bits(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr)
{
   struct lp_build_context *uint_bld = &soa->uint_bld;
   LLVMValueRef bit = has_bits(soa, instr);

   if (soa->has_bits)
      return bit;
   return lp_build_broadcast_scalar(
      uint_bld, LLVMBuildSExt(soa->gallivm->builder, bit, uint_bld->elem_type, ""));
}

/* LLVM is to see where a result is the same in all lanes: loads of descriptors are, then. */
static LLVMValueRef
emit_pick(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr)
{
   struct gallivm_state *gallivm = soa->gallivm;
   struct lp_build_context *uint_bld = &soa->uint_bld;
   LLVMValueRef picks = has_bits(soa, instr);

   if (nir_src_is_const(instr->src[1])) {
      LLVMValueRef one = lp_build_const_int32(gallivm, nir_intrinsic_flags(instr));
      LLVMValueRef other = lp_build_const_int32(gallivm, nir_src_as_uint(instr->src[1]));
      LLVMValueRef picked = LLVMBuildSelect(gallivm->builder, picks, one, other, "");
      return soa->has_bits ? picked : lp_build_broadcast_scalar(uint_bld, picked);
   }
   LLVMValueRef other = LLVMBuildBitCast(
      gallivm->builder, gpuval_lvp_get_component(soa, &instr->src[1], 0), uint_bld->vec_type, "");
   return LLVMBuildSelect(
      gallivm->builder, picks,
      lp_build_const_int_vec(gallivm, uint_bld->type, nir_intrinsic_flags(instr)), other, "");
}

/* Where the workgroup's memory is, in each lane */
static LLVMValueRef
emit_shared_address(struct gpuval_lvp_soa *soa)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMValueRef address =
      LLVMBuildPtrToInt(gallivm->builder, soa->shared_ptr, soa->uint64_bld.elem_type, "");

   return soa->has_bits ? address : lp_build_broadcast_scalar(&soa->uint64_bld, address);
}

/* Those of a shader that compares more than these are left to a function: code of its own for each
 * takes less time to execute, and more to compile.
 */
#define MAX_DYNAMIC 8

static bool
is_left_to_function(struct gpuval_lvp_calls *state, const nir_intrinsic_instr *instr)
{
   if (instr->intrinsic != nir_intrinsic_check_buffer_gpuval)
      return false;
   const nir_scalar slot = nir_get_scalar(instr->src[GPUVAL_LVP_CHECK_BUFFER_INDEX].ssa, 1);
   return !nir_scalar_is_const(nir_scalar_chase_movs(slot)) && state->num_dynamic++ >= MAX_DYNAMIC;
}

static bool
is_look(const nir_intrinsic_instr *instr)
{
   return instr->intrinsic == nir_intrinsic_look_gpuval ||
          (instr->intrinsic == nir_intrinsic_call_gpuval &&
           nir_intrinsic_base(instr) == GPUVAL_FUNCTION_DESCRIPTOR);
}

bool
gpuval_lvp_visit_intrinsic(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr,
                           LLVMValueRef *result)
{
   struct gpuval_lvp_calls *state = soa->calls;
   const struct call *call = find_call(instr);

   if (gpuval_lvp_is_of_set(instr, GPUVAL_REPORT_COVERED))
      gpuval_lvp_add_covered(soa, instr);
   else if (is_left_to_function(state, instr))
      gpuval_lvp_call_outside(soa, instr);
   else if (call && call->shares_branch)
      state->pending[state->num_pending++] = instr;
   else if (gpuval_lvp_is_uniform_load(instr))
      state->loads[state->num_loads++] = instr;
   else if (is_look(instr))
      result[0] = gpuval_lvp_look(soa, instr);
   else if (call)
      result[0] = emit_calls(soa, &instr, 1);
   else if (instr->intrinsic == nir_intrinsic_quad_swap_horizontal)
      result[0] = emit_quad_swap(soa, instr, 1);
   else if (instr->intrinsic == nir_intrinsic_quad_swap_vertical)
      result[0] = emit_quad_swap(soa, instr, 2);
   else if (instr->intrinsic == nir_intrinsic_has_bits_gpuval)
      result[0] = emit_has_bits(soa, instr);
   else if (instr->intrinsic == nir_intrinsic_pick_gpuval)
      result[0] = emit_pick(soa, instr);
   else if (instr->intrinsic == nir_intrinsic_load_descriptor_gpuval)
      gpuval_lvp_visit_load(soa, instr, result);
   else if (instr->intrinsic == nir_intrinsic_as_uniform)
      result[0] = gpuval_lvp_get_component(soa, &instr->src[0], 0);
   else if (instr->intrinsic == nir_intrinsic_check_address_gpuval)
      result[0] = gpuval_lvp_check_address(soa, instr);
   else if (instr->intrinsic == nir_intrinsic_load_shared_base_ptr)
      result[0] = emit_shared_address(soa);
   else
      return gpuval_lvp_visit_lanes(soa, instr, result);

   return true;
}

static bool
is_range(const nir_intrinsic_instr *instr)
{
   return gpuval_lvp_is_of_set(instr, GPUVAL_REPORT_RANGE);
}

/* Mesa 26.0 makes several scalars and an instruction of a vector. */
static bool
is_constant(const nir_instr *instr)
{
   if (instr->type == nir_instr_type_load_const)
      return true;
   if (instr->type != nir_instr_type_alu)
      return false;

   nir_alu_instr *alu = nir_instr_as_alu((nir_instr *)instr);
   bool is_constant = nir_op_is_vec_or_mov(alu->op);
   for (unsigned i = 0; is_constant && i < nir_op_infos[alu->op].num_inputs; i++)
      is_constant = nir_src_is_const(alu->src[i].src);
   return is_constant;
}

/* Constants do not keep calls apart. */
static bool
may_join(const struct gpuval_lvp_calls *state, const nir_instr *instr)
{
   if (!instr)
      return false;
   if (is_constant(instr))
      return true;
   if (instr->type != nir_instr_type_intrinsic)
      return false;

   const nir_intrinsic_instr *intrin = nir_instr_as_intrinsic((nir_instr *)instr);
   const struct call *call = find_call(intrin);
   if (gpuval_lvp_is_of_set(intrin, GPUVAL_REPORT_COVERED))
      return true; /* it calls nothing */
   return call && call->shares_branch && state->num_pending < ARRAY_SIZE(state->pending) &&
          is_range(intrin) == is_range(state->pending[0]);
}

/* May loads be looked at behind it? */
static bool
keeps_loads(const struct gpuval_lvp_calls *state, const nir_instr *next)
{
   if (!next || state->num_loads == ARRAY_SIZE(state->loads))
      return false;
   if (next->type == nir_instr_type_load_const || next->type == nir_instr_type_alu)
      return true;
   if (next->type != nir_instr_type_intrinsic)
      return false;

   const nir_intrinsic_instr *intrin = nir_instr_as_intrinsic((nir_instr *)next);
   switch (intrin->intrinsic) {
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_load_ssbo:
   case nir_intrinsic_report_gpuval:
   case nir_intrinsic_has_bits_gpuval:
   case nir_intrinsic_load_descriptor_gpuval:
   case nir_intrinsic_as_uniform:
   case nir_intrinsic_pick_gpuval:
      return true;
   default:
      return gpuval_lvp_is_uniform_load(intrin);
   }
}

static void
flush_loads(struct gpuval_lvp_soa *soa, struct gpuval_lvp_calls *state)
{
   struct gallivm_state *gallivm = soa->gallivm;
   const unsigned count = state->num_loads;
   struct lp_build_if_state ifthen;

   LLVMValueRef known = gpuval_lvp_are_known_loads(soa, state->loads, count);
   lp_build_if(&ifthen, gallivm, LLVMBuildNot(gallivm->builder, known, ""));
   emit_calls(soa, state->loads, count);
   lp_build_endif(&ifthen);
   state->num_loads = 0;
   state->sync_block = NULL;
}

_Thread_local struct gpuval_lvp_translation *gpuval_lvp_translation;

void
gpuval_lvp_note_translation(void)
{
   struct gpuval_lvp_translation *translation = gpuval_lvp_translation;

   if (!translation)
      return;
   p_atomic_set(&translation->time, os_time_get_nano());
   p_atomic_set(&translation->has_begun, true);
}

void
gpuval_lvp_flush_calls(struct gpuval_lvp_soa *soa, const nir_instr *next)
{
   struct gpuval_lvp_calls *state = soa->calls;

   if (state && state->num_loads && !keeps_loads(state, next))
      flush_loads(soa, state);
   if (!state || !state->num_pending || may_join(state, next))
      return;

   if (is_range(state->pending[0]))
      gpuval_lvp_call_ranges(soa, state->pending, state->num_pending);
   else
      emit_calls(soa, state->pending, state->num_pending);
   state->num_pending = 0;
}
