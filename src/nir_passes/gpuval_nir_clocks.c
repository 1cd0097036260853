/* SPDX-License-Identifier: MIT */

/* The exact engine: order inside a command by atomics and memory barriers (a flag, a
 * ticket, a lock, the last block). base/gpuval_shadow.h says what is kept.
 */

#include "gpuval_nir_shadow.h"

nir_def *
gpuval_shadow_load_layout(nir_builder *b, nir_def *layout, unsigned bit_size, unsigned offset)
{
   return nir_build_load_global(b, 1, bit_size, nir_iadd_imm(b, layout, offset),
                                .align_mul = bit_size / 8, .access = ACCESS_COHERENT);
}

static nir_def *
load_time(nir_builder *b, nir_def *address, unsigned offset, nir_def *tag)
{
   nir_def *words = nir_build_load_global(b, 2, 32, nir_iadd_imm(b, address, offset),
                                          .align_mul = 8, .access = ACCESS_COHERENT);

   return nir_bcsel(b, nir_ieq(b, nir_channel(b, words, 1), tag), nir_channel(b, words, 0),
                    nir_imm_int(b, 0));
}

/* Times and, above them, tags only grow. */
static void
raise_time(nir_builder *b, nir_def *address, unsigned offset, nir_def *tag, nir_def *time)
{
   nir_global_atomic(b, 64, nir_iadd_imm(b, address, offset), nir_pack_64_2x32_split(b, time, tag),
                     .atomic_op = nir_atomic_op_umax);
}

static nir_def *
find_clock(nir_builder *b, nir_def *layout, nir_def *workgroup)
{
   nir_def *clocks =
      gpuval_shadow_load_layout(b, layout, 64, offsetof(struct gpuval_shadow_layout, clocks));
   nir_def *index = nir_iand(
      b, workgroup,
      gpuval_shadow_load_layout(b, layout, 32, offsetof(struct gpuval_shadow_layout, clocks_mask)));

   return nir_iadd(b, clocks,
                   nir_u2u64(b, nir_imul_imm(b, index, sizeof(struct gpuval_shadow_clock))));
}

#define CLOCK(field) offsetof(struct gpuval_shadow_clock, field)

void
gpuval_shadow_build_order(nir_builder *b, nir_def *layout, nir_def *op, nir_def *address,
                          nir_def *tag, nir_def *workgroup)
{
   nir_def *times =
      gpuval_shadow_load_layout(b, layout, 64, offsetof(struct gpuval_shadow_layout, times));
   nir_def *mask =
      gpuval_shadow_load_layout(b, layout, 64, offsetof(struct gpuval_shadow_layout, times_mask));
   address = nir_iand_imm(b, nir_iand(b, address, mask), ~(uint64_t)(GPUVAL_SHADOW_WORD - 1));
   nir_def *word = nir_iadd(b, times, nir_imul_imm(b, address, GPUVAL_SHADOW_TIMES_SCALE));
   nir_def *clock = find_clock(b, layout, workgroup);

   nir_push_if(b, nir_ieq_imm(b, op, GPUVAL_SYNC_RELEASE));
   {
      nir_def *now = nir_global_atomic(
         b, 32, nir_iadd_imm(b, layout, offsetof(struct gpuval_shadow_layout, now)),
         nir_imm_int(b, 1), .atomic_op = nir_atomic_op_iadd);
      now = nir_iadd_imm(b, now, 1);
      nir_push_if(b, nir_ieq_imm(b, load_time(b, clock, CLOCK(first_release), tag), 0));
      raise_time(b, clock, CLOCK(first_release), tag, now);
      nir_pop_if(b, NULL);
      raise_time(b, word, 0, tag, now);
   }
   nir_pop_if(b, NULL);

   nir_push_if(b, nir_ior(b, nir_ieq_imm(b, op, GPUVAL_SYNC_RELEASE_INSIDE),
                          nir_ieq_imm(b, op, GPUVAL_SYNC_RELEASE)));
   {
      nir_def *layout_now = nir_iadd_imm(b, layout, offsetof(struct gpuval_shadow_layout, now));
      nir_global_atomic(b, 32, layout_now, nir_imm_int(b, 1), .atomic_op = nir_atomic_op_umax);
      raise_time(b, clock, CLOCK(inside), tag, nir_imm_int(b, 1));
   }
   nir_pop_if(b, NULL);

   nir_def *acquires = nir_ior(b, nir_ieq_imm(b, op, GPUVAL_SYNC_ACQUIRE_INSIDE),
                               nir_ieq_imm(b, op, GPUVAL_SYNC_ACQUIRE));
   nir_push_if(b,
               nir_iand(b, acquires, nir_ine_imm(b, load_time(b, clock, CLOCK(inside), tag), 0)));
   raise_time(b, clock, CLOCK(inside), tag, nir_imm_int(b, 2));
   nir_pop_if(b, NULL);

   nir_push_if(b, nir_ieq_imm(b, op, GPUVAL_SYNC_FIND));
   raise_time(b, clock, CLOCK(found), tag, load_time(b, word, 0, tag));
   nir_pop_if(b, NULL);

   nir_push_if(b, nir_ieq_imm(b, op, GPUVAL_SYNC_ACQUIRE));
   raise_time(b, clock, CLOCK(acquired), tag, load_time(b, clock, CLOCK(found), tag));
   nir_pop_if(b, NULL);
}

nir_def *
gpuval_shadow_may_be_acquired(nir_builder *b, nir_def *layout, nir_def *tag, nir_def *workgroup,
                              nir_def *party_workgroup, nir_def *party_is_known)
{
   nir_variable *var = nir_local_variable_create(b->impl, glsl_bool_type(), "acquired");
   nir_store_var(b, var, nir_imm_false(b), 0x1);

   nir_def *now =
      gpuval_shadow_load_layout(b, layout, 32, offsetof(struct gpuval_shadow_layout, now));
   nir_push_if(b, nir_ine_imm(b, now, 0));
   {
      nir_def *acquired = load_time(b, find_clock(b, layout, workgroup), CLOCK(acquired), tag);
      nir_def *released =
         load_time(b, find_clock(b, layout, party_workgroup), CLOCK(first_release), tag);
      nir_def *is_released =
         nir_iand(b, nir_ine_imm(b, released, 0), nir_uge(b, acquired, released));
      nir_def *outside = nir_iand(b, nir_ine_imm(b, acquired, 0),
                                  nir_ior(b, nir_inot(b, party_is_known), is_released));
      nir_def *is_inside = nir_iand(b, party_is_known, nir_ieq(b, workgroup, party_workgroup));
      nir_def *state = load_time(b, find_clock(b, layout, workgroup), CLOCK(inside), tag);
      nir_store_var(b, var, nir_ior(b, outside, nir_iand(b, is_inside, nir_ieq_imm(b, state, 2))),
                    0x1);
   }
   nir_pop_if(b, NULL);
   return nir_load_var(b, var);
}
