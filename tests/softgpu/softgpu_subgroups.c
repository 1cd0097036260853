/* SPDX-License-Identifier: MIT */

/*
 * Intrinsics by which the lanes of a wave hear of each other.
 */

#include "softgpu_wave.h"

#include <string.h>

#include "util/u_math.h"
#include "nir_constant_expressions.h"

#include "gpuval/src/compat/gpuval_mesa.h"

/* Components of a mask of lanes. */
static void
set_mask(struct softgpu_wave *wave, nir_intrinsic_instr *instr, uint64_t mask)
{
   for (unsigned i = 0; i < instr->def.num_components; i++) {
      const unsigned shift = i * instr->def.bit_size;
      softgpu_set_all(wave, instr, i,
                      shift < 64 ? mask >> shift & u_uintN_max(instr->def.bit_size) : 0);
   }
}

static uint64_t
mask_of_true(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr)
{
   uint64_t mask = 0;
   softgpu_foreach_lane(lane, wave->exec)
   {
      if (softgpu_uint(wave, &instr->src[0], 0, lane))
         mask |= UINT64_C(1) << lane;
   }
   return mask;
}

static unsigned
vote(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr, unsigned lane)
{
   const bool quad = instr->intrinsic == nir_intrinsic_quad_vote_all ||
                     instr->intrinsic == nir_intrinsic_quad_vote_any;
   const bool all =
      instr->intrinsic == nir_intrinsic_vote_all || instr->intrinsic == nir_intrinsic_quad_vote_all;
   const uint64_t group = wave->exec & (quad ? UINT64_C(15) << (lane & ~3u) : UINT64_MAX);
   const uint64_t mask = mask_of_true(wave, instr) & group;
   return all ? mask == group : mask != 0;
}

/* Lanes from which a value is moved; ~0: none, the result is 0. */
static unsigned
source_lane(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr, unsigned lane)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_read_first_invocation:
   case nir_intrinsic_as_uniform:
      return softgpu_first_lane(wave);
   case nir_intrinsic_read_invocation:
      return (unsigned)softgpu_uniform_source(wave, instr, 1, 0) % wave->size;
   case nir_intrinsic_shuffle:
      return (unsigned)softgpu_uint(wave, &instr->src[1], 0, lane) % wave->size;
   case nir_intrinsic_rotate: {
      const unsigned cluster = nir_intrinsic_cluster_size(instr);
      const unsigned size = cluster ? MIN2(cluster, wave->size) : wave->size;
      const unsigned delta = (unsigned)softgpu_uint(wave, &instr->src[1], 0, lane);
      return (lane & ~(size - 1)) | ((lane + delta) & (size - 1));
   }
   case nir_intrinsic_quad_broadcast:
      return (lane & ~3u) | (softgpu_uint(wave, &instr->src[1], 0, lane) & 3);
   case nir_intrinsic_quad_swap_horizontal:
      return lane ^ 1;
   case nir_intrinsic_quad_swap_vertical:
      return lane ^ 2;
   case nir_intrinsic_quad_swap_diagonal:
      return lane ^ 3;
   case nir_intrinsic_quad_swizzle_amd:
      return (lane & ~3u) | (nir_intrinsic_swizzle_mask(instr) >> (lane & 3) * 2 & 3);
   case nir_intrinsic_masked_swizzle_amd: {
      const unsigned mask = nir_intrinsic_swizzle_mask(instr);
      return (lane & ~31u) | ((((lane & 31) & mask) | (mask >> 5 & 31)) ^ (mask >> 10 & 31));
   }
   case nir_intrinsic_dpp16_shift_amd: {
      const int at = (int)(lane & 15) + nir_intrinsic_base(instr);
      return at < 0 || at > 15 ? ~0u : (lane & ~15u) | (unsigned)at;
   }
   case nir_intrinsic_lane_permute_16_amd: {
      const uint64_t select = softgpu_uniform_source(wave, instr, lane & 8 ? 2 : 1, 0);
      return (lane & ~15u) | (select >> (lane & 7) * 4 & 15);
   }
   default:
      UNREACHABLE("no move between lanes");
   }
}

/* Where other lanes that are not active give 0, not whatever they have. */
static bool
zero_if_inactive(const nir_intrinsic_instr *instr)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_dpp16_shift_amd:
      return true;
   case nir_intrinsic_quad_swizzle_amd:
   case nir_intrinsic_masked_swizzle_amd:
      return !nir_intrinsic_fetch_inactive(instr);
   default:
      return false;
   }
}

/* All are read before the first is written. */
static void
move_lanes(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const bool zero = zero_if_inactive(instr);
   const unsigned count = instr->def.num_components;
   nir_const_value values[SOFTGPU_MAX_LANES][NIR_MAX_VEC_COMPONENTS];

   softgpu_foreach_lane(lane, wave->exec)
   {
      const unsigned from = source_lane(wave, instr, lane);
      memset(values[lane], 0, sizeof(values[lane]));
      if (from < wave->size && !(zero && !(wave->exec >> from & 1)))
         memcpy(values[lane], softgpu_value(wave, instr->src[0].ssa, from),
                count * sizeof(nir_const_value));
   }
   softgpu_foreach_lane(lane, wave->exec)
      memcpy(softgpu_value(wave, &instr->def, lane), values[lane], count * sizeof(nir_const_value));
}

static void
reduce(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const nir_op op = nir_intrinsic_reduction_op(instr);
   const unsigned bits = instr->def.bit_size;
   const unsigned cluster =
      instr->intrinsic == nir_intrinsic_reduce ? nir_intrinsic_cluster_size(instr) : 0;
   const unsigned size = cluster ? MIN2(cluster, wave->size) : wave->size;

   for (unsigned c = 0; c < instr->def.num_components; c++) {
      nir_const_value results[SOFTGPU_MAX_LANES];
      for (unsigned first = 0; first < wave->size; first += size) {
         const uint64_t group = wave->exec & (u_uintN_max(size) << first);
         nir_const_value sum = nir_alu_binop_identity(op, bits);
         softgpu_foreach_lane(lane, group)
         {
            nir_const_value value = softgpu_value(wave, instr->src[0].ssa, lane)[c];
            nir_const_value next = {0};
            nir_eval_const_opcode(op, &next, 1, bits, (nir_const_value *[]){&sum, &value}, 0);
            results[lane] = instr->intrinsic == nir_intrinsic_exclusive_scan ? sum : next;
            sum = next;
         }
         if (instr->intrinsic == nir_intrinsic_reduce) {
            softgpu_foreach_lane(lane, group) results[lane] = sum;
         }
      }
      softgpu_foreach_lane(lane, wave->exec) softgpu_value(wave, &instr->def, lane)[c] =
         results[lane];
   }
}

static unsigned
count_lanes_below(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr, unsigned lane)
{
   const uint64_t mask = softgpu_uint(wave, &instr->src[0], 0, lane);
   return util_bitcount64(mask & BITFIELD64_MASK(lane)) +
          (unsigned)softgpu_uint(wave, &instr->src[1], 0, lane);
}

bool
softgpu_execute_subgroup(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_ballot:
   case nir_intrinsic_ballot_relaxed:
      set_mask(wave, instr, mask_of_true(wave, instr));
      break;
   case nir_intrinsic_inverse_ballot:
      softgpu_foreach_lane(lane, wave->exec)
      {
         const unsigned bits = instr->src[0].ssa->bit_size;
         softgpu_set_uint(wave, instr, lane, 0,
                          softgpu_uint(wave, &instr->src[0], lane / bits, lane) >> lane % bits & 1);
      }
      break;
   case nir_intrinsic_elect:
      softgpu_foreach_lane(lane, wave->exec)
         softgpu_set_uint(wave, instr, lane, 0, lane == softgpu_first_lane(wave));
      break;
   case nir_intrinsic_first_invocation:
      softgpu_set_all(wave, instr, 0, softgpu_first_lane(wave));
      break;
   case nir_intrinsic_last_invocation:
      softgpu_set_all(wave, instr, 0, util_last_bit64(wave->exec) - 1);
      break;
   case nir_intrinsic_vote_all:
   case nir_intrinsic_vote_any:
   case nir_intrinsic_quad_vote_all:
   case nir_intrinsic_quad_vote_any:
      softgpu_foreach_lane(lane, wave->exec)
         softgpu_set_uint(wave, instr, lane, 0, vote(wave, instr, lane));
      break;
   case nir_intrinsic_read_first_invocation:
   case nir_intrinsic_as_uniform:
   case nir_intrinsic_read_invocation:
   case nir_intrinsic_shuffle:
   case nir_intrinsic_rotate:
   case nir_intrinsic_quad_broadcast:
   case nir_intrinsic_quad_swap_horizontal:
   case nir_intrinsic_quad_swap_vertical:
   case nir_intrinsic_quad_swap_diagonal:
   case nir_intrinsic_quad_swizzle_amd:
   case nir_intrinsic_masked_swizzle_amd:
   case nir_intrinsic_dpp16_shift_amd:
   case nir_intrinsic_lane_permute_16_amd:
      move_lanes(wave, instr);
      break;
   case nir_intrinsic_write_invocation_amd: {
      const unsigned to = (unsigned)softgpu_uniform_source(wave, instr, 2, 0);
      softgpu_foreach_lane(lane, wave->exec)
         memcpy(softgpu_value(wave, &instr->def, lane),
                softgpu_value(wave, instr->src[lane == to].ssa, lane),
                instr->def.num_components * sizeof(nir_const_value));
      break;
   }
   case nir_intrinsic_reduce:
   case nir_intrinsic_inclusive_scan:
   case nir_intrinsic_exclusive_scan:
      reduce(wave, instr);
      break;
   case nir_intrinsic_mbcnt_amd:
      softgpu_foreach_lane(lane, wave->exec)
         softgpu_set_uint(wave, instr, lane, 0, count_lanes_below(wave, instr, lane));
      break;
   case nir_intrinsic_is_subgroup_invocation_lt_amd: {
      const unsigned count =
         (unsigned)softgpu_uniform_source(wave, instr, 0, 0) >> nir_intrinsic_base(instr) & 0xff;
      softgpu_foreach_lane(lane, wave->exec) softgpu_set_uint(wave, instr, lane, 0, lane < count);
      break;
   }
   default:
      return false;
   }
   return true;
}
