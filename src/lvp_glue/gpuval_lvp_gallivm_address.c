/* SPDX-License-Identifier: MIT */

/* @check_address_gpuval: what gpuval_nir_address.c compares.
 *
 * Checks of one block whose addresses are a constant apart share a comparison of their range with
 * the buffer that was met last, before the first of them, where all of these addresses are known.
 * Everything else is behind one branch, in a function of the device (gpuval_lvp_addresses.c): it
 * looks for the buffer of the range and, if there is none, at each access. It begins with the same
 * comparison, which is left to it behind the first groups of a shader.
 *
 * The buffer that was met last is in memory: in registers it would be in the way wherever something
 * is called, and LLVM takes long to find out that it had better not be.
 */

#include "gpuval_lvp_gallivm_private.h"

#include "gallivm/lp_bld_const.h"
#include "gallivm/lp_bld_flow.h"
#include "gallivm/lp_bld_init.h"
#include "gallivm/lp_bld_type.h"

#include "gpuval/src/base/gpuval_address_table.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"

/* Sources */
enum {
   CHECK_ADDRESS,
   CHECK_INVOCATION,
};

/* Checks of a group: one bit each */
#define MAX_GROUP 32

/* Bytes that it may span */
#define MAX_SPAN (1 << 20)

/* Groups of a shader whose comparison is in the shader. The others are calls of
 * GPUVAL_FUNCTION_ADDRESSES without a branch, which take more time to execute, and half as much
 * to compile.
 */
#define MAX_INLINE 8

LLVMTypeRef
gpuval_lvp_met_type(struct gallivm_state *gallivm)
{
   const unsigned num_lanes = gpuval_lvp_num_lanes();
   LLVMTypeRef fields[GPUVAL_LVP_MET_COUNT];

   for (unsigned i = 0; i < GPUVAL_LVP_MET_COUNT; i++) {
      LLVMTypeRef type = i < GPUVAL_LVP_MET_INVOCATION ? LLVMInt64TypeInContext(gallivm->context)
                                                       : LLVMInt32TypeInContext(gallivm->context);
      fields[i] = LLVMVectorType(type, num_lanes);
   }
   return LLVMStructTypeInContext(gallivm->context, fields, GPUVAL_LVP_MET_COUNT, 0);
}

LLVMTypeRef
gpuval_lvp_addresses_type(struct gallivm_state *gallivm, LLVMTypeRef resources_ptr_type)
{
   LLVMTypeRef word = LLVMInt32TypeInContext(gallivm->context);
   LLVMTypeRef vec_type = LLVMVectorType(word, gpuval_lvp_num_lanes());
   LLVMTypeRef args[GPUVAL_LVP_ADDRESSES_COUNT] = {
      [GPUVAL_LVP_ADDRESSES_MASK] = vec_type,
      [GPUVAL_LVP_ADDRESSES_RESOURCES] = resources_ptr_type,
      [GPUVAL_LVP_ADDRESSES_REPORTING] = vec_type,
      [GPUVAL_LVP_ADDRESSES_LOW] = vec_type,
      [GPUVAL_LVP_ADDRESSES_HIGH] = vec_type,
      [GPUVAL_LVP_ADDRESSES_MET] = LLVMPointerType(gpuval_lvp_met_type(gallivm), 0),
      [GPUVAL_LVP_ADDRESSES_TABLE] = LLVMPointerType(word, 0),
   };
   return LLVMFunctionType(vec_type, args, GPUVAL_LVP_ADDRESSES_COUNT, 0);
}

struct member {
   const nir_intrinsic_instr *check;
   int64_t offset; /* of its address behind the base */
};

struct group {
   nir_scalar base;
   struct member members[MAX_GROUP];
   unsigned count;
   int64_t lowest, highest; /* bytes behind the base */
   unsigned strictest;      /* the member whose alignment tells of all */
};
static_assert(MAX_GROUP == ARRAY_SIZE(((struct gpuval_lvp_address_group *)NULL)->checks), "");

static nir_scalar
split_address(const nir_intrinsic_instr *check, int64_t *offset)
{
   nir_scalar scalar = nir_scalar_chase_movs(nir_get_scalar(check->src[CHECK_ADDRESS].ssa, 0));

   *offset = 0;
   while (nir_scalar_is_alu(scalar) && nir_scalar_alu_op(scalar) == nir_op_iadd) {
      nir_scalar a = nir_scalar_chase_movs(nir_scalar_chase_alu_src(scalar, 0));
      nir_scalar b = nir_scalar_chase_movs(nir_scalar_chase_alu_src(scalar, 1));

      if (!nir_scalar_is_const(a) && !nir_scalar_is_const(b))
         break;
      *offset += nir_scalar_as_int(nir_scalar_is_const(a) ? a : b);
      scalar = nir_scalar_is_const(a) ? b : a;
   }
   return scalar;
}

static uint32_t
get_alignment(const nir_intrinsic_instr *check)
{
   return MAX2(nir_intrinsic_align_mul(check), 1);
}

/* Where the base of @member has to be, modulo its alignment */
static uint32_t
get_residue(const struct member *member)
{
   return (nir_intrinsic_align_offset(member->check) - member->offset) &
          (get_alignment(member->check) - 1);
}

static bool
join(struct group *group, const nir_intrinsic_instr *check)
{
   struct member member = {.check = check};
   nir_scalar base = split_address(check, &member.offset);
   if (group->count && (group->count == MAX_GROUP || !nir_scalar_equal(base, group->base) ||
                        nir_intrinsic_range(check) != nir_intrinsic_range(group->members[0].check)))
      return false;

   const int64_t end = member.offset + (int64_t)nir_intrinsic_flags(check);
   const int64_t lowest = group->count ? MIN2(group->lowest, member.offset) : member.offset;
   const int64_t highest = group->count ? MAX2(group->highest, end) : end;
   if (group->count && highest - lowest > MAX_SPAN)
      return false;

   /* The strictest alignment has to say the others. */
   const struct member *strictest = &group->members[group->strictest];
   unsigned index = group->strictest;
   if (!group->count || get_alignment(check) > get_alignment(strictest->check)) {
      if (group->count &&
          (get_residue(&member) & (get_alignment(strictest->check) - 1)) != get_residue(strictest))
         return false;
      index = group->count;
   } else if ((get_residue(strictest) & (get_alignment(check) - 1)) != get_residue(&member)) {
      return false;
   }

   group->base = base;
   group->lowest = lowest;
   group->highest = highest;
   group->strictest = index;
   group->members[group->count++] = member;
   return true;
}

/* Buffers neither come nor go while a shader runs, so that checks may be made early; if only the
 * invocation gets there.
 */
static bool
ends_group(const nir_instr *instr)
{
   if (instr->type == nir_instr_type_jump || instr->type == nir_instr_type_call)
      return true;
   if (instr->type != nir_instr_type_intrinsic)
      return false;

   switch (nir_instr_as_intrinsic((nir_instr *)instr)->intrinsic) {
   case nir_intrinsic_demote:
   case nir_intrinsic_demote_if:
   case nir_intrinsic_terminate:
   case nir_intrinsic_terminate_if:
   case nir_intrinsic_emit_vertex:
   case nir_intrinsic_end_primitive:
   case nir_intrinsic_launch_mesh_workgroups:
   case nir_intrinsic_barrier:
      return true;
   default:
      return false;
   }
}

/* Has it been made with those of a group? Returns its number there, or -1. */
static int
find_check(const struct gpuval_lvp_address_group *group, const nir_intrinsic_instr *check)
{
   for (unsigned i = 0; i < group->count; i++) {
      if (group->checks[i] == check)
         return i;
   }
   return -1;
}

static bool
is_made(const struct gpuval_lvp_calls *state, const nir_intrinsic_instr *check)
{
   for (unsigned i = 0; i < ARRAY_SIZE(state->addresses); i++) {
      if (find_check(&state->addresses[i], check) >= 0)
         return true;
   }
   return false;
}

static void
collect(struct group *group, const struct gpuval_lvp_calls *state, const nir_intrinsic_instr *first)
{
   for (nir_instr *instr = nir_instr_next((nir_instr *)&first->instr);
        instr && !ends_group(instr) && group->count < MAX_GROUP; instr = nir_instr_next(instr)) {
      if (instr->type != nir_instr_type_intrinsic)
         continue;
      const nir_intrinsic_instr *check = nir_instr_as_intrinsic(instr);
      if (check->intrinsic == nir_intrinsic_check_address_gpuval && !is_made(state, check))
         join(group, check);
   }
}

/* Returns enum gpuval_lvp_address_word, a constant of the shader. */
static LLVMValueRef
build_table(struct gpuval_lvp_soa *soa, const struct group *group)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMTypeRef type = LLVMInt32TypeInContext(gallivm->context);
   LLVMValueRef words[GPUVAL_LVP_ADDRESSES_HEADER + (1 + MAX_GROUP) * GPUVAL_LVP_ADDRESS_WORDS];
   const nir_intrinsic_instr *first = group->members[0].check;
   unsigned count = 0;

   words[count++] = lp_build_const_int32(gallivm, group->count);
   words[count++] = lp_build_const_int32(gallivm, gpuval_nir_function_word(first, soa->stage));
   for (unsigned i = 0; i <= group->count; i++) {
      /* The range comes first. */
      const struct member *member = &group->members[i ? i - 1 : group->strictest];
      const int64_t lowest = i ? member->offset : group->lowest;
      const int64_t span =
         i ? (int64_t)nir_intrinsic_flags(member->check) : group->highest - group->lowest;
      const uint32_t row[] = {
         [GPUVAL_LVP_ADDRESS_OFFSET] = lowest - group->lowest,
         [GPUVAL_LVP_ADDRESS_SPAN] = span,
         [GPUVAL_LVP_ADDRESS_ENTRY] = nir_intrinsic_base(member->check),
         [GPUVAL_LVP_ADDRESS_MASK] = get_alignment(member->check) - 1,
         [GPUVAL_LVP_ADDRESS_RESIDUE] =
            (get_residue(member) + (uint32_t)lowest) & (get_alignment(member->check) - 1),
      };
      for (unsigned j = 0; j < ARRAY_SIZE(row); j++)
         words[count++] = lp_build_const_int32(gallivm, row[j]);
   }

   LLVMTypeRef array_type = LLVMArrayType(type, count);
   LLVMValueRef table = LLVMAddGlobal(gallivm->module, array_type, "addresses");
   LLVMSetInitializer(table, LLVMConstArray(type, words, count));
   LLVMSetLinkage(table, LLVMInternalLinkage);
   LLVMSetGlobalConstant(table, 1);
   return LLVMBuildBitCast(gallivm->builder, table, LLVMPointerType(type, 0), "");
}

/* Memory for what the function gets and changes, in which no buffer has been met when the shader
 * begins
 */
static LLVMValueRef
get_memory(struct gpuval_lvp_soa *soa)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMValueRef *memory = &soa->calls->met;
   LLVMTypeRef type = gpuval_lvp_met_type(gallivm);

   if (!*memory) {
      *memory = lp_build_alloca_undef(gallivm, type, "");
      LLVMBuilderRef builder = LLVMCreateBuilderInContext(gallivm->context);
      LLVMValueRef next = LLVMGetNextInstruction(*memory);
      if (next)
         LLVMPositionBuilderBefore(builder, next);
      else
         LLVMPositionBuilderAtEnd(builder, LLVMGetInstructionParent(*memory));
      LLVMBuildStore(builder, LLVMConstNull(type), *memory);
      LLVMDisposeBuilder(builder);
   }
   return *memory;
}

static LLVMValueRef
constant_64(struct gpuval_lvp_soa *soa, uint64_t value)
{
   return lp_build_const_int_vec(soa->gallivm, soa->uint64_bld.type, value);
}

/* One of the vectors, as long as those of the shader */
static LLVMValueRef
load_met(struct gpuval_lvp_soa *soa, LLVMValueRef memory, enum gpuval_lvp_met field)
{
   LLVMBuilderRef builder = soa->gallivm->builder;
   LLVMTypeRef type = gpuval_lvp_met_type(soa->gallivm);
   LLVMValueRef pointer = LLVMBuildStructGEP2(builder, type, memory, field, "");
   LLVMValueRef value = LLVMBuildLoad2(builder, LLVMStructGetTypeAtIndex(type, field), pointer, "");

   return gpuval_lvp_resize(soa, value, soa->uint64_bld.type.length);
}

/* ~0 or 0: the range is not in the buffer that was met last, or is not aligned. */
static LLVMValueRef
is_suspect(struct gpuval_lvp_soa *soa, const struct group *group, LLVMValueRef memory,
           LLVMValueRef address)
{
   LLVMBuilderRef builder = soa->gallivm->builder;
   const struct member *strictest = &group->members[group->strictest];
   const uint32_t alignment = get_alignment(strictest->check);
   const int64_t span = group->highest - group->lowest;

   LLVMValueRef distance =
      LLVMBuildSub(builder, address, load_met(soa, memory, GPUVAL_LVP_MET_BEGIN), "");
   LLVMValueRef limit = load_met(soa, memory, GPUVAL_LVP_MET_LIMIT);
   LLVMValueRef suspect = LLVMBuildICmp(builder, LLVMIntUGE, distance, limit, "");
   if (span > GPUVAL_ADDRESS_ROOM) {
      LLVMValueRef last =
         LLVMBuildAdd(builder, distance, constant_64(soa, span - GPUVAL_ADDRESS_ROOM), "");
      suspect =
         LLVMBuildOr(builder, suspect, LLVMBuildICmp(builder, LLVMIntUGE, last, limit, ""), "");
   }
   if (alignment > 1) {
      const uint32_t residue = (get_residue(strictest) + (uint32_t)group->lowest) & (alignment - 1);
      LLVMValueRef low = LLVMBuildAnd(builder, address, constant_64(soa, alignment - 1), "");
      suspect =
         LLVMBuildOr(builder, suspect,
                     LLVMBuildICmp(builder, LLVMIntNE, low, constant_64(soa, residue), ""), "");
   }
   return LLVMBuildSExt(builder, suspect, soa->uint_bld.vec_type, "");
}

/* Returns a bit for each member that is in no buffer; what is misaligned is reported only. */
static LLVMValueRef
find_bad(struct gpuval_lvp_soa *soa, const struct group *group, LLVMValueRef memory,
         LLVMValueRef address, LLVMValueRef mask)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   LLVMTypeRef met_type = gpuval_lvp_met_type(gallivm);
   const nir_intrinsic_instr *first = group->members[0].check;
   LLVMValueRef halves[2];

   for (unsigned i = 0; i < 3; i++) {
      LLVMValueRef pointer =
         LLVMBuildStructGEP2(builder, met_type, memory, GPUVAL_LVP_MET_INVOCATION + i, "");
      LLVMBuildStore(
         builder,
         gpuval_lvp_argument(soa, gpuval_lvp_get_component(soa, &first->src[CHECK_INVOCATION], i)),
         pointer);
   }
   gpuval_lvp_split_64(gallivm, address, constant_64(soa, 32), soa->uint_bld.vec_type, halves);

   LLVMValueRef args[GPUVAL_LVP_ADDRESSES_COUNT] = {
      [GPUVAL_LVP_ADDRESSES_MASK] = gpuval_lvp_argument(soa, mask),
      [GPUVAL_LVP_ADDRESSES_RESOURCES] = soa->resources_ptr,
      [GPUVAL_LVP_ADDRESSES_REPORTING] = gpuval_lvp_argument(soa, gpuval_lvp_get_mask(soa, false)),
      [GPUVAL_LVP_ADDRESSES_LOW] = gpuval_lvp_argument(soa, halves[0]),
      [GPUVAL_LVP_ADDRESSES_HIGH] = gpuval_lvp_argument(soa, halves[1]),
      [GPUVAL_LVP_ADDRESSES_MET] = memory,
      [GPUVAL_LVP_ADDRESSES_TABLE] = build_table(soa, group),
   };
   LLVMTypeRef type = gpuval_lvp_addresses_type(gallivm, LLVMTypeOf(soa->resources_ptr));
   LLVMValueRef bad =
      LLVMBuildCall2(builder, type, gpuval_lvp_load_function(soa, GPUVAL_FUNCTION_ADDRESSES, type),
                     args, ARRAY_SIZE(args), "");
   return gpuval_lvp_resize(soa, bad, soa->uint_bld.type.length);
}

/* Returns ~0 where the bit is set, else 0. */
static LLVMValueRef
has_bit(struct gpuval_lvp_soa *soa, LLVMValueRef bits, unsigned bit)
{
   struct gallivm_state *gallivm = soa->gallivm;
   const struct lp_type type = soa->uint_bld.type;

   bits =
      LLVMBuildAnd(gallivm->builder, bits, lp_build_const_int_vec(gallivm, type, 1u << bit), "");
   return LLVMBuildSExt(gallivm->builder,
                        LLVMBuildICmp(gallivm->builder, LLVMIntNE, bits, soa->uint_bld.zero, ""),
                        soa->uint_bld.vec_type, "");
}

/* Returns a bit for each member that is in no buffer; what is misaligned is reported only. */
static LLVMValueRef
emit_group(struct gpuval_lvp_soa *soa, const struct group *group)
{
   struct gallivm_state *gallivm = soa->gallivm;
   LLVMBuilderRef builder = gallivm->builder;
   const struct member *first = &group->members[0];
   LLVMValueRef memory = get_memory(soa);
   struct lp_build_if_state ifthen;

   LLVMValueRef address =
      LLVMBuildBitCast(builder, gpuval_lvp_get_component(soa, &first->check->src[CHECK_ADDRESS], 0),
                       soa->uint64_bld.vec_type, "");
   if (group->lowest != first->offset)
      address = LLVMBuildAdd(builder, address, constant_64(soa, group->lowest - first->offset), "");

   LLVMValueRef mask = gpuval_lvp_get_mask(soa, true);
   if (soa->calls->num_groups++ >= MAX_INLINE)
      return find_bad(soa, group, memory, address, mask);

   LLVMValueRef suspects = gpuval_lvp_where(soa, is_suspect(soa, group, memory, address), mask);
   LLVMValueRef bad = lp_build_alloca(gallivm, soa->uint_bld.vec_type, "");
   lp_build_if(&ifthen, gallivm, gpuval_lvp_any_lane(soa, suspects));
   LLVMBuildStore(builder, find_bad(soa, group, memory, address, mask), bad);
   lp_build_endif(&ifthen);
   return LLVMBuildLoad2(builder, soa->uint_bld.vec_type, bad, "");
}

LLVMValueRef
gpuval_lvp_check_address(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *check)
{
   struct gpuval_lvp_calls *state = soa->calls;
   struct gpuval_lvp_address_group *place = NULL;

   for (unsigned i = 0; i < ARRAY_SIZE(state->addresses); i++) {
      struct gpuval_lvp_address_group *known = &state->addresses[i];
      int index = find_check(known, check);

      if (index >= 0) {
         LLVMValueRef bad = known->bad;
         if (index == (int)known->count - 1)
            known->count = 0;
         return gpuval_lvp_bool_result(soa, has_bit(soa, bad, index));
      }
      if (!known->count)
         place = known;
   }

   struct group group = {0};
   join(&group, check);
   if (place)
      collect(&group, state, check);
   LLVMValueRef bad = emit_group(soa, &group);
   if (group.count > 1) {
      place->count = group.count;
      place->bad = bad;
      for (unsigned i = 0; i < group.count; i++)
         place->checks[i] = group.members[i].check;
   }
   return gpuval_lvp_bool_result(soa, has_bit(soa, bad, 0));
}
