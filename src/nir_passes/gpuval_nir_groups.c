/* SPDX-License-Identifier: MIT */

/* Which of our intrinsics share a branch or a loop. */

#include "gpuval_nir_groups.h"

#include <math.h>

#include "gpuval_nir_inline_address.h"
#include "nir_builder.h"

bool
gpuval_nir_ends_group(nir_instr *instr, bool before_writes)
{
   if (instr->type == nir_instr_type_jump || instr->type == nir_instr_type_call)
      return true;
   if (instr->type != nir_instr_type_intrinsic)
      return false;

   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
   switch (intrin->intrinsic) {
   case nir_intrinsic_store_ssbo:
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
   case nir_intrinsic_store_global:
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
   case nir_intrinsic_bindless_image_store:
   case nir_intrinsic_bindless_image_atomic:
   case nir_intrinsic_bindless_image_atomic_swap:
      return before_writes;
   case nir_intrinsic_report_gpuval:
   case nir_intrinsic_check_address_gpuval:
   case nir_intrinsic_sync_gpuval:
   /* What leaves for the next stage */
   case nir_intrinsic_store_output:
   case nir_intrinsic_export_amd:
      return false;
   default:
      return !(nir_intrinsic_infos[intrin->intrinsic].flags & NIR_INTRINSIC_CAN_ELIMINATE);
   }
}

/* Addresses are looked at where they are known, which may be long before they are accessed, as
 * buffers neither come nor go meanwhile; if only the invocation gets there.
 */
static bool
ends_addresses(nir_instr *instr)
{
   if (instr->type == nir_instr_type_intrinsic) {
      switch (nir_instr_as_intrinsic(instr)->intrinsic) {
      case nir_intrinsic_barrier:
      case nir_intrinsic_store_shared:
      case nir_intrinsic_shared_atomic:
      case nir_intrinsic_shared_atomic_swap:
      case nir_intrinsic_store_scratch:
      case nir_intrinsic_store_output:
      case nir_intrinsic_printf_gpuval:
         return false;
      default:
         break;
      }
   }
   return gpuval_nir_ends_group(instr, false);
}

static bool
is_covered(const nir_intrinsic_instr *intrin)
{
   return intrin->intrinsic == nir_intrinsic_report_gpuval &&
          nir_intrinsic_desc_set(intrin) == GPUVAL_REPORT_COVERED;
}

/* Accesses to shared memory and others are not of one kind. Addresses have to be known at the
 * first of them.
 */
static bool
may_join(const struct group *group, const nir_intrinsic_instr *intrin)
{
   if (!group->count)
      return true;
   if (group->count == MAX_GROUP)
      return false;
   if (is_covered(group->intrins[0]) || is_covered(intrin))
      return false; /* it always adds: it has nothing to share */
   if (intrin->intrinsic == nir_intrinsic_sync_gpuval)
      return is_shared(group->intrins[0]) == is_shared(intrin);
   return intrin->intrinsic != nir_intrinsic_check_address_gpuval ||
          gpuval_nir_may_join_addresses(group, intrin);
}

/* Does one of them look at what its store replaces? */
static bool
reads_memory(const struct group *group)
{
   for (unsigned i = 0; i < group->count; i++) {
      if (group->intrins[i]->intrinsic == nir_intrinsic_sync_gpuval &&
          nir_intrinsic_flags(group->intrins[i]) & GPUVAL_SYNC_HAS_VALUE)
         return true;
   }
   return false;
}

static void
add_group(struct util_dynarray *groups, struct group *group)
{
   if (group->count)
      util_dynarray_append_typed(groups, struct group, *group);
   group->count = 0;
}

/* Of accesses, those that are for the filter beside shadow memory, or the others. @exact: a
 * release has to be known before others see it.
 */
static void
collect_groups(nir_function_impl *impl, nir_intrinsic_op op, bool is_beside, bool exact,
               struct util_dynarray *groups)
{
   nir_foreach_block (block, impl) {
      struct group group = {.count = 0};

      nir_foreach_instr (instr, block) {
         if (instr->type == nir_instr_type_intrinsic &&
             nir_instr_as_intrinsic(instr)->intrinsic == op &&
             (op != nir_intrinsic_sync_gpuval ||
              is_for_filter(nir_instr_as_intrinsic(instr)) == is_beside)) {
            if (!may_join(&group, nir_instr_as_intrinsic(instr)))
               add_group(groups, &group);
            group.intrins[group.count++] = nir_instr_as_intrinsic(instr);
         } else if (op == nir_intrinsic_check_address_gpuval
                       ? ends_addresses(instr)
                       : gpuval_nir_ends_group(instr, exact || reads_memory(&group))) {
            add_group(groups, &group);
         }
      }
      add_group(groups, &group);
   }
}

void
gpuval_nir_collect_groups(nir_function_impl *impl, bool has_shadow, struct util_dynarray *groups)
{
   nir_index_instrs(impl);
   collect_groups(impl, nir_intrinsic_check_address_gpuval, false, false, groups);
   collect_groups(impl, nir_intrinsic_report_gpuval, false, false, groups);
   collect_groups(impl, nir_intrinsic_sync_gpuval, false, has_shadow, groups);
   if (has_shadow)
      collect_groups(impl, nir_intrinsic_sync_gpuval, true, false, groups);
}

static nir_intrinsic_instr *
as_has_bits(nir_scalar scalar)
{
   return nir_scalar_is_intrinsic(scalar) &&
                nir_scalar_intrinsic_op(scalar) == nir_intrinsic_has_bits_gpuval
             ? nir_instr_as_intrinsic(nir_def_instr(scalar.def))
             : NULL;
}

static bool
is_infinity(nir_scalar scalar)
{
   return nir_scalar_is_const(scalar) && scalar.def->bit_size == 32 &&
          nir_scalar_as_float(scalar) == INFINITY;
}

/* The sum that gpuval_nir_export.c asks for first: not (sum < infinity). Optimizations make sum >=
 * infinity of that where there can be no NaN. It has no def if @scalar is something else.
 */
static nir_scalar
get_sum(nir_scalar scalar)
{
   bool is_not = nir_scalar_is_alu(scalar) && nir_scalar_alu_op(scalar) == nir_op_inot;
   if (is_not)
      scalar = nir_scalar_chase_movs(nir_scalar_chase_alu_src(scalar, 0));

   if (!nir_scalar_is_alu(scalar) ||
       nir_scalar_alu_op(scalar) != (is_not ? nir_op_flt : nir_op_fge) ||
       !is_infinity(nir_scalar_chase_movs(nir_scalar_chase_alu_src(scalar, 1))))
      return (nir_scalar){NULL};
   return nir_scalar_chase_movs(nir_scalar_chase_alu_src(scalar, 0));
}

/* What has to be true, and is cheap to ask for, where a report fails */
struct suspicion {
   nir_intrinsic_instr *bits; /* of a word, one of which is set, or */
   nir_scalar sum;            /* that is not finite; none of both: there is no such thing */
};

/* The condition of a report, which may be less than all there. */
static nir_scalar
get_condition(const struct group *group, unsigned i, struct suspicion *suspicion)
{
   nir_scalar failed = get_src(group, i, 0, 0);

   *suspicion = (struct suspicion){as_has_bits(failed)};
   if (suspicion->bits || !nir_scalar_is_alu(failed) || nir_scalar_alu_op(failed) != nir_op_iand)
      return failed;
   for (unsigned j = 0; j < 2; j++) {
      nir_scalar one = nir_scalar_chase_movs(nir_scalar_chase_alu_src(failed, j));
      suspicion->bits = as_has_bits(one);
      suspicion->sum = get_sum(one);
      if (suspicion->bits || suspicion->sum.def)
         return nir_scalar_chase_movs(nir_scalar_chase_alu_src(failed, !j));
   }
   return failed;
}

/* Is its condition but a comparison of what it hands over, which can be made once more? An index
 * of descriptors may have been kept inside its array.
 */
static bool
is_comparison(const struct group *group, unsigned i)
{
   unsigned set = nir_intrinsic_desc_set(group->intrins[i]);
   struct suspicion suspicion;
   nir_scalar failed = get_condition(group, i, &suspicion), offset = get_src(group, i, 1, 0);

   if ((set >= GPUVAL_REPORT_UNWRITTEN_IMAGE && set != GPUVAL_REPORT_INLINE) ||
       !nir_scalar_is_const(get_src(group, i, 2, 0)) || !nir_scalar_is_alu(failed) ||
       nir_scalar_alu_op(failed) != nir_op_uge)
      return false;

   nir_scalar compared = nir_scalar_chase_movs(nir_scalar_chase_alu_src(failed, 0));
   return nir_scalar_equal(compared, offset) ||
          (nir_scalar_is_const(compared) && nir_scalar_is_const(offset));
}

bool
gpuval_nir_are_comparisons(const struct group *group)
{
   for (unsigned i = 0; i < group->count; i++) {
      if (!is_comparison(group, i))
         return false;
   }
   return true;
}

static nir_def *
or_1(nir_builder *b, nir_def *any, nir_def *other)
{
   return any && other ? nir_ior(b, any, other) : any ? any : other;
}

/* Of magnitudes: that of several outputs is finite if all are, or there is a closer look. */
static nir_def *
add_sum(nir_builder *b, nir_def *sum, nir_scalar other)
{
   nir_def *value = nir_channel(b, other.def, other.comp);
   bool exact = b->exact;

   b->exact = true;
   value = sum ? nir_fadd(b, sum, value) : value;
   b->exact = exact;
   return value;
}

/* True of NaNs, too */
static nir_def *
is_not_below(nir_builder *b, nir_def *sum, nir_def *limit)
{
   bool exact = b->exact;

   b->exact = true;
   nir_def *is_below = nir_flt(b, sum, limit);
   b->exact = exact;
   return nir_inot(b, is_below);
}

/* A bit is one of the scalar unit, and a comparison of lanes has room for it: where it is set,
 * everything is above the limit.
 */
static nir_def *
take_bits(nir_builder *b, nir_def *limit, nir_def **has_bits)
{
   if (*has_bits)
      limit = nir_bcsel(b, *has_bits, nir_imm_int(b, 0), limit);
   *has_bits = NULL;
   return limit;
}

nir_def *
gpuval_nir_build_any(nir_builder *b, const struct group *group)
{
   nir_scalar limits[MAX_GROUP];
   nir_def *highest[MAX_GROUP];
   bool is_of_lanes[MAX_GROUP] = {false};
   unsigned num_limits = 0;
   nir_def *any = NULL, *word = NULL, *sum = NULL;
   uint32_t mask = 0;

   for (unsigned i = 0; i < group->count; i++) {
      struct suspicion suspicion;
      nir_scalar failed = get_condition(group, i, &suspicion);
      nir_intrinsic_instr *bits = suspicion.bits;
      if (suspicion.sum.def) {
         sum = add_sum(b, sum, suspicion.sum);
         continue;
      }
      if (bits && (!word || word == bits->src[0].ssa)) {
         word = bits->src[0].ssa;
         mask |= nir_intrinsic_base(bits);
         continue;
      }
      if (!is_comparison(group, i)) {
         any = or_1(b, any, group->intrins[i]->src[0].ssa);
         continue;
      }

      nir_scalar limit = nir_scalar_chase_movs(nir_scalar_chase_alu_src(failed, 1));
      nir_scalar compared = nir_scalar_chase_alu_src(failed, 0);
      nir_def *offset = nir_channel(b, compared.def, compared.comp);
      unsigned j = 0;
      while (j < num_limits && !nir_scalar_equal(limits[j], limit))
         j++;
      highest[j] = j < num_limits ? nir_umax(b, highest[j], offset) : offset;
      limits[j] = limit;
      is_of_lanes[j] |= compared.def->divergent;
      num_limits = MAX2(num_limits, j + 1);
   }

   nir_def *has_bits = word ? nir_ine_imm(b, nir_iand_imm(b, word, mask), 0) : NULL;
   for (unsigned j = 0; j < num_limits; j++) {
      nir_def *limit = nir_channel(b, limits[j].def, limits[j].comp);
      if (is_of_lanes[j] && !limits[j].def->divergent)
         limit = take_bits(b, limit, &has_bits);
      any = or_1(b, any, nir_uge(b, highest[j], limit));
   }
   if (sum)
      any = or_1(b, any, is_not_below(b, sum, take_bits(b, nir_imm_float(b, INFINITY), &has_bits)));
   return has_bits ? or_1(b, any, has_bits) : any;
}

bool
gpuval_nir_is_any_exact(const struct group *group)
{
   struct suspicion suspicion;
   nir_scalar failed = get_condition(group, 0, &suspicion);

   return group->count == 1 && !suspicion.sum.def &&
          (!suspicion.bits || &suspicion.bits->instr == nir_def_instr(failed.def));
}

/* What each invocation loads for itself nobody has loaded before. */
static bool
is_for_others_too(const struct group *group, unsigned i)
{
   return gpuval_nir_find_dependences(get_src(group, i, ACCESS_OFFSET, 0)) !=
          GPUVAL_NIR_DEPENDS_ON_INVOCATION;
}

bool
gpuval_nir_are_worth_a_glance(const struct group *loads)
{
   if (loads->count != 1)
      return loads->count > 1;
   return (gpuval_nir_find_dependences(get_src(loads, 0, ACCESS_OFFSET, 0)) &
           ~GPUVAL_NIR_IS_FOLDED) ==
          (GPUVAL_NIR_DEPENDS_ON_INVOCATION | GPUVAL_NIR_DEPENDS_ON_TURN);
}

void
gpuval_nir_part_loads(const struct group *group, struct group *loads, struct group *others)
{
   loads->count = others->count = 0;
   for (unsigned i = 0; i < group->count; i++) {
      bool is_common = is_load(group->intrins[i]) && is_for_others_too(group, i);
      struct group *part = is_common ? loads : others;
      part->intrins[part->count++] = group->intrins[i];
   }
}
