/* SPDX-License-Identifier: MIT */

/* The exact engine: order by atomics and memory barriers (a flag, a ticket, a lock, the last
 * block), inside a command and between commands. base/gpuval_shadow.h says what is kept.
 *
 * Invocations do all of this at once, and so none of it needs more than 64 bits to be read or
 * written in one go: a time and whose it is.
 */

#include "gpuval_nir_shadow.h"

#define LAYOUT(field) offsetof(struct gpuval_shadow_layout, field)
#define CLOCK(field)  offsetof(struct gpuval_shadow_clock, field)

/* A time that another command's has taken the place of */
#define UNKNOWN_TIME UINT32_MAX

nir_def *
gpuval_shadow_load_layout(nir_builder *b, nir_def *layout, unsigned bit_size, unsigned offset)
{
   return nir_build_load_global(b, 1, bit_size, nir_iadd_imm(b, layout, offset),
                                .align_mul = bit_size / 8, .access = ACCESS_COHERENT);
}

struct clock {
   nir_def *address; /* 64 bit */
   nir_def *owner;
};

static struct clock
find_clock(nir_builder *b, nir_def *layout, nir_def *tag, enum gpuval_shadow_clock_kind kind,
           nir_def *number)
{
   nir_def *owner = nir_ior_imm(b, tag, kind);
   nir_def *first = nir_ushr_imm(b, nir_imul_imm(b, owner, 0x9e3779b1), 8);
   nir_def *index = nir_iand(b, nir_iadd(b, first, number),
                             gpuval_shadow_load_layout(b, layout, 32, LAYOUT(clocks_mask)));
   nir_def *clocks = gpuval_shadow_load_layout(b, layout, 64, LAYOUT(clocks));

   return (struct clock){
      gpuval_nir_element_address(b, clocks, index, sizeof(struct gpuval_shadow_clock)),
      owner,
   };
}

/* 0: there is none */
static nir_def *
load_time(nir_builder *b, const struct clock *clock, unsigned offset)
{
   nir_def *word = gpuval_shadow_load_layout(b, clock->address, 64, offset);
   nir_def *owner = nir_unpack_64_2x32_split_y(b, word);
   nir_def *lost = nir_bcsel(b, nir_ult(b, clock->owner, owner), nir_imm_int(b, UNKNOWN_TIME),
                             nir_imm_int(b, 0));

   return nir_bcsel(b, nir_ieq(b, owner, clock->owner), nir_unpack_64_2x32_split_x(b, word), lost);
}

/* Owners and, below them, times only grow. */
static void
raise_time(nir_builder *b, const struct clock *clock, unsigned offset, nir_def *time)
{
   nir_push_if(b, nir_ult(b, load_time(b, clock, offset), time));
   nir_global_atomic(b, 64, nir_iadd_imm(b, clock->address, offset),
                     nir_pack_64_2x32_split(b, time, clock->owner),
                     .atomic_op = nir_atomic_op_umax);
   nir_pop_if(b, NULL);
}

/* Of the first release, which is kept as its complement. One that got lost was early. */
static nir_def *
load_first_release(nir_builder *b, const struct clock *clock)
{
   nir_def *stored = load_time(b, clock, CLOCK(first_release));
   nir_def *lost = nir_ieq_imm(b, stored, UNKNOWN_TIME);
   nir_def *time = nir_bcsel(b, lost, nir_imm_int(b, 1), nir_inot(b, stored));

   return nir_bcsel(b, nir_ieq_imm(b, stored, 0), nir_imm_int(b, 0), time);
}

/* Where the time of the word at @address is; @is_found: it has cells, or is in a table. */
static nir_def *
find_word(nir_builder *b, nir_def *layout, nir_def *address, nir_def *is_found)
{
   nir_def *times = gpuval_shadow_load_layout(b, layout, 64, LAYOUT(times));
   nir_def *mask = gpuval_shadow_load_layout(b, layout, 64, LAYOUT(times_mask));
   nir_def *distance =
      nir_iand_imm(b, nir_iand(b, address, mask), ~(uint64_t)(GPUVAL_SHADOW_WORD - 1));
   nir_def *word = nir_iadd(b, times, nir_imul_imm(b, distance, GPUVAL_SHADOW_TIMES_SCALE));

   nir_def *number = nir_iand_imm(
      b, nir_ushr_imm(b, nir_unpack_64_2x32_split_x(b, address), util_logbase2(GPUVAL_SHADOW_WORD)),
      GPUVAL_SHADOW_OTHER_TIMES - 1);
   nir_def *other = gpuval_nir_element_address(b, nir_iadd_imm(b, layout, LAYOUT(other_times)),
                                               number, sizeof(struct gpuval_shadow_release));
   return nir_bcsel(b, is_found, word, other);
}

/* On a GPU, nobody must see what the application's atomic writes before what is noted here,
 * and nothing may be read here before what that atomic reads.
 */
static void
wait_for_memory(nir_builder *b, const struct gpuval_nir_driver *driver)
{
   if (driver->has_table)
      nir_barrier(b, .memory_scope = SCOPE_DEVICE, .memory_semantics = NIR_MEMORY_ACQ_REL,
                  .memory_modes = nir_var_mem_ssbo | nir_var_mem_global);
}

static struct clock
find_own_clock(nir_builder *b, const struct gpuval_shadow_self *self)
{
   return find_clock(b, self->layout, self->tag, GPUVAL_SHADOW_CLOCK_WORKGROUP, self->workgroup);
}

static struct clock
find_subgroup_clock(nir_builder *b, const struct gpuval_shadow_self *self)
{
   return find_clock(b, self->layout, self->tag, GPUVAL_SHADOW_CLOCK_SUBGROUP, self->subgroup);
}

/* @has_own: 1 bit, else it is only what others have released. */
static void
release_to_all(nir_builder *b, const struct gpuval_shadow_self *self, nir_def *has_own,
               nir_def *word)
{
   struct clock clock = find_own_clock(b, self);
   struct clock command =
      find_clock(b, self->layout, self->tag, GPUVAL_SHADOW_CLOCK_COMMAND, nir_imm_int(b, 0));
   nir_def *now = nir_global_atomic(b, 32, nir_iadd_imm(b, self->layout, LAYOUT(now)),
                                    nir_imm_int(b, 1), .atomic_op = nir_atomic_op_iadd);
   now = nir_iadd_imm(b, now, 1);

   nir_push_if(b, has_own);
   raise_time(b, &clock, CLOCK(first_release), nir_inot(b, now));
   raise_time(b, &command, CLOCK(first_release), nir_inot(b, now));
   raise_time(b, &command, CLOCK(inside), nir_iadd_imm(b, self->workgroup_shift, 1));
   raise_time(b, &command, CLOCK(found), nir_isub_imm(b, 32, self->workgroup_shift));
   nir_pop_if(b, NULL);
   nir_global_atomic(b, 64, word, nir_pack_64_2x32_split(b, self->tag, now),
                     .atomic_op = nir_atomic_op_umax);
}

static void
raise_inside(nir_builder *b, const struct clock *clock, unsigned from, unsigned to)
{
   nir_push_if(b, nir_uge_imm(b, load_time(b, clock, CLOCK(inside)), from));
   raise_time(b, clock, CLOCK(inside), nir_imm_int(b, to));
   nir_pop_if(b, NULL);
}

/* Of those of one workgroup and one subgroup: from 0 or 1 to the next number */
static void
advance_inside(nir_builder *b, const struct gpuval_shadow_self *self, nir_def *in_workgroup,
               unsigned from)
{
   nir_push_if(b, in_workgroup);
   struct clock workgroup = find_own_clock(b, self);
   raise_inside(b, &workgroup, from, from + 1);
   nir_pop_if(b, NULL);

   nir_push_if(b, nir_ine_imm(b, self->subgroup_shift, 0));
   struct clock subgroup = find_subgroup_clock(b, self);
   raise_inside(b, &subgroup, from, from + 1);
   nir_pop_if(b, NULL);
}

static void
release(nir_builder *b, const struct gpuval_nir_driver *driver,
        const struct gpuval_shadow_self *self, nir_def *op, nir_def *word)
{
   nir_def *has_own = nir_ine_imm(b, op, GPUVAL_SYNC_HAND_ON);

   nir_push_if(b, nir_uge_imm(b, op, GPUVAL_SYNC_RELEASE));
   {
      release_to_all(b, self, has_own, word);
   }
   nir_push_else(b, NULL);
   {
      nir_global_atomic(b, 32, nir_iadd_imm(b, self->layout, LAYOUT(now)), nir_imm_int(b, 1),
                        .atomic_op = nir_atomic_op_umax);
   }
   nir_pop_if(b, NULL);
   nir_push_if(b, has_own);
   advance_inside(b, self, nir_uge_imm(b, op, GPUVAL_SYNC_RELEASE_WORKGROUP), 0);
   nir_pop_if(b, NULL);
   wait_for_memory(b, driver);
}

static void
find(nir_builder *b, const struct gpuval_nir_driver *driver, struct gpuval_shadow_self *self,
     nir_def *word, nir_def *address)
{
   wait_for_memory(b, driver);
   nir_def *found = gpuval_shadow_load_layout(b, word, 64, 0);
   nir_def *tag = nir_unpack_64_2x32_split_x(b, found);
   nir_def *time = nir_unpack_64_2x32_split_y(b, found);

   nir_push_if(b, nir_ine_imm(b, time, 0));
   {
      struct clock clock = find_own_clock(b, self);
      raise_time(b, &clock, CLOCK(found), time);

      nir_push_if(b, nir_ine(b, tag, self->tag));
      gpuval_shadow_find_order(b, self, address);
      nir_push_if(b, nir_inot(b, gpuval_shadow_is_past(b, self, tag)));
      raise_time(b, &clock, CLOCK(found_elsewhere), time);
      nir_pop_if(b, NULL);
      nir_pop_if(b, NULL);
   }
   nir_pop_if(b, NULL);
}

static void
acquire(nir_builder *b, const struct gpuval_shadow_self *self, nir_def *op)
{
   advance_inside(b, self, nir_uge_imm(b, op, GPUVAL_SYNC_ACQUIRE_WORKGROUP), 1);

   nir_push_if(b, nir_ieq_imm(b, op, GPUVAL_SYNC_ACQUIRE));
   {
      struct clock clock = find_own_clock(b, self);
      nir_def *now = gpuval_shadow_load_layout(b, self->layout, 32, LAYOUT(now));
      nir_def *time = nir_umin(b, load_time(b, &clock, CLOCK(found)), now);
      nir_def *elsewhere = nir_umin(b, load_time(b, &clock, CLOCK(found_elsewhere)), now);
      raise_time(b, &clock, CLOCK(acquired), time);

      nir_def *before = gpuval_shadow_load_layout(b, self->layout, 32, LAYOUT(handed_on));
      nir_push_if(b, nir_ult(b, before, elsewhere));
      nir_global_atomic(b, 32, nir_iadd_imm(b, self->layout, LAYOUT(handed_on)), elsewhere,
                        .atomic_op = nir_atomic_op_umax);
      nir_pop_if(b, NULL);
   }
   nir_pop_if(b, NULL);
}

void
gpuval_shadow_build_order(nir_builder *b, const struct gpuval_nir_driver *driver,
                          struct gpuval_shadow_self *self, nir_def *op, nir_def *address,
                          nir_def *is_found)
{
   nir_def *word = find_word(b, self->layout, address, is_found);

   nir_push_if(b, nir_uge_imm(b, op, GPUVAL_SYNC_ACQUIRE_SUBGROUP));
   acquire(b, self, op);
   nir_push_else(b, NULL);
   {
      nir_push_if(b, nir_ieq_imm(b, op, GPUVAL_SYNC_FIND));
      find(b, driver, self, word, address);
      nir_push_else(b, NULL);
      release(b, driver, self, op, word);
      nir_pop_if(b, NULL);
   }
   nir_pop_if(b, NULL);
}

/* 1 bit. @same: 1 bit, the party is of this command. Those of several workgroups of it, and of an
 * access that is not known, may be of an earlier command that nothing is known of any more.
 */
static nir_def *
is_acquired(nir_builder *b, const struct gpuval_shadow_self *self, struct gpuval_shadow_half party,
            nir_def *same, nir_def *is_known)
{
   nir_def *tag = nir_iand_imm(b, party.hi, UINT32_MAX << GPUVAL_SHADOW_CLASS_SHIFT);
   nir_def *number = gpuval_shadow_bits(b, party.lo, GPUVAL_SHADOW_INVOCATION_SHIFT,
                                        GPUVAL_SHADOW_INVOCATION_BITS);
   struct clock own = find_own_clock(b, self);
   nir_def *acquired = load_time(b, &own, CLOCK(acquired));
   nir_def *handed_on = gpuval_shadow_load_layout(b, self->layout, 32, LAYOUT(handed_on));
   acquired = nir_bcsel(b, same, acquired, nir_umax(b, acquired, handed_on));

   struct clock command =
      find_clock(b, self->layout, tag, GPUVAL_SHADOW_CLOCK_COMMAND, nir_imm_int(b, 0));
   nir_def *shift = nir_iadd_imm(b, load_time(b, &command, CLOCK(inside)), -1);
   nir_def *has_shift =
      nir_ieq(b, nir_isub_imm(b, 32, shift), load_time(b, &command, CLOCK(found)));
   nir_def *has_number = nir_iand(b, is_known, nir_ior(b, same, has_shift));
   shift = nir_bcsel(b, same, self->workgroup_shift, shift);

   struct clock workgroup = find_clock(b, self->layout, tag, GPUVAL_SHADOW_CLOCK_WORKGROUP,
                                       nir_ushr(b, number, nir_iand_imm(b, shift, 31)));
   nir_def *released =
      nir_bcsel(b, has_number, load_first_release(b, &workgroup), load_first_release(b, &command));
   nir_def *is_released = nir_iand(b, nir_ine_imm(b, released, 0), nir_uge(b, acquired, released));
   nir_def *has_site = nir_ine_imm(b, nir_iand_imm(b, party.lo, GPUVAL_SHADOW_SITE_UNKNOWN),
                                   GPUVAL_SHADOW_SITE_UNKNOWN);
   nir_def *may_be_older = nir_iand(b, same, nir_inot(b, nir_ior(b, is_known, has_site)));
   return nir_iand(b, nir_ine_imm(b, acquired, 0), nir_ior(b, is_released, may_be_older));
}

nir_def *
gpuval_shadow_may_be_acquired(nir_builder *b, const struct gpuval_shadow_self *self,
                              struct gpuval_shadow_half party, nir_def *same,
                              nir_def *same_workgroup, nir_def *same_subgroup)
{
   nir_variable *var = nir_local_variable_create(b->impl, glsl_bool_type(), "acquired");
   nir_store_var(b, var, nir_imm_false(b), 0x1);

   nir_def *share = nir_ushr_imm(b, party.lo, GPUVAL_SHADOW_SHARE_SHIFT);
   nir_def *is_known = nir_ult_imm(b, share, GPUVAL_SHADOW_WORKGROUPS);
   nir_def *now = gpuval_shadow_load_layout(b, self->layout, 32, LAYOUT(now));
   nir_push_if(b, nir_ine_imm(b, now, 0));
   {
      struct clock workgroup = find_own_clock(b, self);
      struct clock subgroup = find_subgroup_clock(b, self);
      nir_def *in_workgroup = nir_iand(b, nir_iand(b, is_known, same_workgroup),
                                       nir_uge_imm(b, load_time(b, &workgroup, CLOCK(inside)), 2));
      nir_def *in_subgroup =
         nir_iand(b, nir_iand(b, nir_ult_imm(b, share, GPUVAL_SHADOW_WORKGROUP), same_subgroup),
                  nir_uge_imm(b, load_time(b, &subgroup, CLOCK(inside)), 2));
      nir_def *inside = nir_iand(b, same, nir_ior(b, in_workgroup, in_subgroup));
      nir_store_var(b, var, nir_ior(b, inside, is_acquired(b, self, party, same, is_known)), 0x1);
   }
   nir_pop_if(b, NULL);
   return nir_load_var(b, var);
}
