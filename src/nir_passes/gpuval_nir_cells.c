/* SPDX-License-Identifier: MIT */

/* Cells: what it means that an access meets those whom a cell names, and what becomes of
 * it. Of memory of any kind; base/gpuval_shadow.h has the layout.
 */

#include "gpuval/src/base/gpuval_order.h"
#include "gpuval_nir_shadow.h"

#define party gpuval_shadow_half

static nir_def *
share_of(nir_builder *b, struct party party)
{
   return nir_ushr_imm(b, party.lo, GPUVAL_SHADOW_SHARE_SHIFT);
}

static nir_def *
has_atomic(nir_builder *b, struct party party)
{
   return nir_ine_imm(b, nir_iand_imm(b, party.hi, GPUVAL_SHADOW_ATOMIC), 0);
}

static nir_def *
is_somebody(nir_builder *b, struct party party)
{
   return nir_ine_imm(b, party.hi, 0);
}

/* Of this command and class? */
static nir_def *
is_of_command(nir_builder *b, const struct gpuval_shadow_self *self, struct party party)
{
   return nir_ult_imm(b, nir_ixor(b, party.hi, self->mark.hi), 1u << GPUVAL_SHADOW_CLASS_SHIFT);
}

nir_def *
gpuval_shadow_is_self(nir_builder *b, const struct gpuval_shadow_self *self, struct party party)
{
   return nir_iand(
      b, nir_ieq(b, party.hi, self->mark.hi),
      nir_ult_imm(b, nir_ixor(b, party.lo, self->mark.lo), 1u << GPUVAL_SHADOW_INVOCATION_SHIFT));
}

nir_def *
gpuval_shadow_is_everybody(nir_builder *b, const struct gpuval_shadow_self *self,
                           struct party party)
{
   nir_def *alike = nir_ult_imm(b, nir_ixor(b, party.hi, self->mark.hi), GPUVAL_SHADOW_ATOMIC);
   return nir_iand(
      b, alike,
      nir_uge_imm(b, party.lo, (uint32_t)GPUVAL_SHADOW_WORKGROUPS << GPUVAL_SHADOW_SHARE_SHIFT));
}

/* An atomic leaves what its invocation has stored before. */
nir_def *
gpuval_shadow_is_own(nir_builder *b, const struct gpuval_shadow_self *self, struct party party)
{
   nir_def *alike = nir_ult_imm(b, nir_ixor(b, party.hi, self->mark.hi), GPUVAL_SHADOW_ATOMIC);
   nir_def *same =
      nir_ult_imm(b, nir_ixor(b, party.lo, self->mark.lo), 1u << GPUVAL_SHADOW_INVOCATION_SHIFT);
   return nir_iand(b, nir_iand(b, alike, same), nir_inot(b, self->is_atomic));
}

struct distance {
   nir_def *same_workgroup, *same_subgroup;
};

static struct distance
distance_to(nir_builder *b, const struct gpuval_shadow_self *self, struct party party)
{
   nir_def *differs = nir_iand_imm(b, nir_ushr_imm(b, nir_ixor(b, party.lo, self->mark.lo), 8),
                                   GPUVAL_SHADOW_INVOCATION_MASK);

   return (struct distance){
      nir_ieq_imm(b, nir_ushr(b, differs, self->workgroup_shift), 0),
      nir_ieq_imm(b, nir_ushr(b, differs, self->subgroup_shift), 0),
   };
}

/* Is a party of this command and class ordered before? What is not known counts as
 * ordered.
 */
static nir_def *
is_before_in_command(nir_builder *b, const struct gpuval_shadow_self *self, struct party party)
{
   nir_def *share = share_of(b, party);
   struct distance distance = distance_to(b, self, party);
   nir_def *phase = gpuval_shadow_bits(b, party.hi, GPUVAL_SHADOW_PHASE_SHIFT, 8);
   nir_def *sub = nir_iand_imm(b, party.hi, GPUVAL_SHADOW_SUB_UNKNOWN);
   nir_def *differs = nir_ixor(b, party.lo, self->mark.lo);

   nir_def *same =
      nir_iand(b, nir_ieq_imm(b, share, GPUVAL_SHADOW_ONE),
               nir_ult_imm(b, nir_ishl_imm(b, nir_ushr_imm(b, differs, 8), 10), 1u << 10));
   nir_def *phase_before =
      nir_ior(b, nir_ult(b, phase, self->ordered_phase),
              nir_ior(b, nir_ieq_imm(b, phase, GPUVAL_SHADOW_PHASE_UNKNOWN),
                      nir_ieq_imm(b, self->phase, GPUVAL_SHADOW_PHASE_UNKNOWN)));
   phase_before = nir_iand(b, phase_before, distance.same_workgroup);
   nir_def *sub_before = nir_ior(b, nir_ult(b, sub, self->sub),
                                 nir_ior(b, nir_ieq_imm(b, sub, GPUVAL_SHADOW_SUB_UNKNOWN),
                                         nir_ieq_imm(b, self->sub, GPUVAL_SHADOW_SUB_UNKNOWN)));
   sub_before = nir_iand(
      b, nir_iand(b, sub_before, distance.same_subgroup),
      nir_iand(b, nir_uge(b, self->phase, phase), nir_ult_imm(b, share, GPUVAL_SHADOW_WORKGROUP)));

   nir_def *others = nir_iand(b, nir_ior(b, phase_before, sub_before),
                              nir_ult_imm(b, share, GPUVAL_SHADOW_WORKGROUPS));
   return nir_ior(b, same, others);
}

/* Is @hi of another command ordered before, for which the threshold does not say it? What
 * base/gpuval_order.h says.
 */
static nir_def *
is_before_by_table(nir_builder *b, const struct gpuval_shadow_self *self, nir_def *hi,
                   nir_def *is_reader)
{
   nir_def *command = nir_ushr_imm(b, hi, GPUVAL_SHADOW_COMMAND_SHIFT);
   nir_def *class_ = gpuval_shadow_bits(b, hi, GPUVAL_SHADOW_CLASS_SHIFT, 4);
   nir_def *serial = gpuval_load_global(
      b, nir_iadd(b, self->serials, nir_u2u64(b, nir_ishl_imm(b, command, 2))), 4, 1, 32);

   nir_def *kind = nir_iand_imm(b, nir_iadd_imm(b, self->access, 1), GPUVAL_ORDER_ACQUIRED_READ);
   nir_def *rest = nir_imul_imm(b, kind, GPUVAL_ORDER_CLASSES);
   nir_def *word = nir_iadd(b, class_, nir_bcsel(b, is_reader, nir_imm_int(b, 0), rest));
   nir_def *watermark = gpuval_load_global(
      b, nir_iadd(b, self->row, nir_u2u64(b, nir_ishl_imm(b, word, 2))), 4, 1, 32);
   return nir_uge(b, watermark, serial);
}

nir_def *
gpuval_shadow_is_past(nir_builder *b, const struct gpuval_shadow_self *self, nir_def *hi)
{
   nir_def *past = nir_ult(b, hi, self->ordered);

   nir_push_if(b, nir_iand(b, nir_ine_imm(b, self->order, 0), nir_inot(b, past)));
   nir_def *in_table = is_before_by_table(b, self, hi, nir_imm_false(b));
   nir_pop_if(b, NULL);
   return nir_if_phi(b, in_table, past);
}

static nir_def *
is_before(nir_builder *b, const struct gpuval_shadow_self *self, struct party party,
          nir_def *is_reader)
{
   nir_variable *var = nir_local_variable_create(b->impl, glsl_bool_type(), "before");
   nir_def *same = is_of_command(b, self, party);
   nir_def *past = nir_ult(b, party.hi, self->ordered);

   nir_store_var(b, var, nir_bcsel(b, same, is_before_in_command(b, self, party), past), 0x1);
   if (!self->layout)
      return nir_load_var(b, var);

   nir_push_if(b, nir_iand(b, nir_ine_imm(b, self->order, 0), nir_inot(b, nir_ior(b, same, past))));
   nir_store_var(b, var, is_before_by_table(b, self, party.hi, is_reader), 0x1);
   nir_pop_if(b, NULL);

   nir_push_if(b, nir_inot(b, nir_load_var(b, var)));
   struct distance distance = distance_to(b, self, party);
   nir_store_var(b, var,
                 gpuval_shadow_may_be_acquired(b, self, party, same, distance.same_workgroup,
                                               distance.same_subgroup),
                 0x1);
   nir_pop_if(b, NULL);
   return nir_load_var(b, var);
}

/* Is @party nobody, or ordered before? */
static nir_def *
is_after(nir_builder *b, const struct gpuval_shadow_self *self, struct party party,
         nir_def *is_reader)
{
   return nir_ior(b, nir_inot(b, is_somebody(b, party)), is_before(b, self, party, is_reader));
}

/* The same of both halves of a cell. A loop has the code, which is most of what a function with
 * this in it takes to compile, only once.
 */
static void
find_after(nir_builder *b, const struct gpuval_shadow_self *self, struct party writer,
           struct party readers, nir_def **after_writer, nir_def **after_readers)
{
   if (!self->layout) {
      *after_writer = is_after(b, self, writer, nir_imm_false(b));
      *after_readers = is_after(b, self, readers, nir_imm_true(b));
      return;
   }

   nir_variable *half_var = nir_local_variable_create(b->impl, glsl_uint_type(), "half");
   nir_variable *vars[2];
   for (unsigned i = 0; i < ARRAY_SIZE(vars); i++) {
      vars[i] = nir_local_variable_create(b->impl, glsl_bool_type(), "after");
      nir_store_var(b, vars[i], nir_imm_false(b), 0x1);
   }
   nir_store_var(b, half_var, nir_imm_int(b, 0), 0x1);
   nir_loop *loop = nir_push_loop(b);
   loop->control = nir_loop_control_dont_unroll;
   {
      nir_def *half = nir_load_var(b, half_var);
      nir_break_if(b, nir_uge_imm(b, half, ARRAY_SIZE(vars)));
      nir_store_var(b, half_var, nir_iadd_imm(b, half, 1), 0x1);

      nir_def *is_reader = nir_ine_imm(b, half, 0);
      nir_def *after =
         is_after(b, self, gpuval_shadow_select(b, is_reader, readers, writer), is_reader);
      /* The last round has the readers. */
      nir_store_var(b, vars[0], nir_bcsel(b, is_reader, nir_load_var(b, vars[0]), after), 0x1);
      nir_store_var(b, vars[1], after, 0x1);
   }
   nir_pop_loop(b, loop);
   *after_writer = nir_load_var(b, vars[0]);
   *after_readers = nir_load_var(b, vars[1]);
}

/* Those of this command that are not ordered before, and this one among them: alike */
static struct party
join(nir_builder *b, const struct gpuval_shadow_self *self, struct party party)
{
   struct distance distance = distance_to(b, self, party);
   nir_def *far = nir_bcsel(b, distance.same_subgroup, nir_imm_int(b, GPUVAL_SHADOW_SUBGROUP),
                            nir_imm_int(b, GPUVAL_SHADOW_WORKGROUP));
   far = nir_bcsel(b, distance.same_workgroup, far, nir_imm_int(b, GPUVAL_SHADOW_WORKGROUPS));
   nir_def *share = nir_umax(b, share_of(b, party), far);
   nir_def *lo = self->mark.lo;
   if (self->share) {
      share = nir_umax(b, share, self->share);
      lo = nir_iand_imm(b, lo, BITFIELD_MASK(GPUVAL_SHADOW_SHARE_SHIFT));
   }

   return (struct party){
      nir_ior(b, lo, nir_ishl_imm(b, share, GPUVAL_SHADOW_SHARE_SHIFT)),
      self->mark.hi,
   };
}

/* Not ordered before are those of other workgroups, and those of this very phase. */
nir_def *
gpuval_shadow_joins(nir_builder *b, const struct gpuval_shadow_self *self, struct party party,
                    nir_def *is_own, struct party *joined)
{
   struct distance distance = distance_to(b, self, party);
   nir_def *alike = nir_ult_imm(b, nir_ixor(b, party.hi, self->mark.hi), GPUVAL_SHADOW_ATOMIC);
   nir_def *is_known = nir_iand(b, nir_ine_imm(b, self->phase, GPUVAL_SHADOW_PHASE_UNKNOWN),
                                nir_ine_imm(b, self->sub, GPUVAL_SHADOW_SUB_UNKNOWN));
   nir_def *same_phase = nir_iand(b, nir_ieq(b, party.hi, self->mark.hi), is_known);
   nir_def *apart = nir_ior(b, same_phase, nir_inot(b, distance.same_workgroup));

   *joined = join(b, self, party);
   return nir_iand(b, nir_iand(b, alike, apart), nir_inot(b, is_own));
}

nir_def *
gpuval_shadow_is_as_far(nir_builder *b, struct party a, struct party other)
{
   return nir_iand(b, nir_ieq(b, a.hi, other.hi), nir_ieq(b, share_of(b, a), share_of(b, other)));
}

struct party
gpuval_shadow_select(nir_builder *b, nir_def *condition, struct party a, struct party otherwise)
{
   return (struct party){nir_bcsel(b, condition, a.lo, otherwise.lo),
                         nir_bcsel(b, condition, a.hi, otherwise.hi)};
}

nir_def *
gpuval_shadow_meet(nir_builder *b, const struct gpuval_shadow_self *self, struct party *writer,
                   struct party *readers, struct party *other, struct party *stored)
{
   struct party nobody = {nir_imm_int(b, 0), nir_imm_int(b, 0)};
   nir_def *is_write = nir_inot(b, self->is_read);

   nir_def *after_writer, *after_readers;
   find_after(b, self, *writer, *readers, &after_writer, &after_readers);
   nir_def *atomic_writer = nir_iand(b, self->is_atomic, has_atomic(b, *writer));
   nir_def *atomic_readers = nir_iand(b, self->is_atomic, has_atomic(b, *readers));

   nir_def *writer_hazard = nir_inot(b, nir_ior(b, after_writer, atomic_writer));
   nir_def *readers_hazard =
      nir_iand(b, is_write, nir_inot(b, nir_ior(b, after_readers, atomic_readers)));
   *stored = gpuval_shadow_select(b, writer_hazard, *writer, *readers);
   /* Readers have come behind the writer, but for atomics, which leave them. */
   nir_def *is_last =
      nir_ior(b, nir_inot(b, has_atomic(b, *writer)),
              nir_ult(b, nir_ior_imm(b, writer->hi, BITFIELD_MASK(GPUVAL_SHADOW_CLASS_SHIFT)),
                      readers->hi));
   *other = gpuval_shadow_select(b, nir_iand(b, readers_hazard, is_last), *readers, *stored);

   /* Readers: replaced by a later one, joined by one of the same command, unless they stand for all
    * of it already, and gone when somebody has stored after them.
    */
   nir_def *joins = nir_iand(b, is_of_command(b, self, *readers), nir_inot(b, after_readers));
   nir_def *stays =
      nir_iand(b, joins, nir_iand(b, self->is_atomic, nir_inot(b, has_atomic(b, *readers))));
   nir_def *alike = nir_ieq(b, self->is_atomic, has_atomic(b, *readers));
   struct party read =
      gpuval_shadow_select(b, nir_iand(b, joins, alike), join(b, self, *readers), self->mark);
   /* Those of an earlier command that are not ordered before: from now on this command
    * stands for them, too, and whoever writes in it meets them. Without a shader nobody does.
    */
   struct party several = self->mark;
   if (!self->is_command)
      several.lo = nir_ior_imm(b, self->mark.lo,
                               GPUVAL_SHADOW_SITE_UNKNOWN | (uint32_t)GPUVAL_SHADOW_WORKGROUPS
                                                               << GPUVAL_SHADOW_SHARE_SHIFT);
   nir_def *is_older =
      nir_iand(b, nir_inot(b, is_of_command(b, self, *readers)), nir_inot(b, after_readers));
   read = gpuval_shadow_select(b, is_older, several, read);
   stays = nir_ior(b, stays, gpuval_shadow_is_everybody(b, self, *readers));
   read = gpuval_shadow_select(b, stays, *readers, read);
   /* An atomic does not stand for those it comes after: others that come do not meet it. */
   nir_def *gone =
      nir_ior(b, nir_iand(b, after_readers, nir_inot(b, self->is_atomic)), readers_hazard);
   struct party kept = gpuval_shadow_select(b, gone, nobody, *readers);

   /* The writer: atomics join each other. One's own plain store stays, as it meets
    * more.
    */
   joins = nir_iand(b, nir_iand(b, is_of_command(b, self, *writer), atomic_writer),
                    nir_inot(b, after_writer));
   struct party plain = {self->mark.lo, nir_iand_imm(b, self->mark.hi, ~GPUVAL_SHADOW_ATOMIC)};
   stays = nir_iand(b, self->is_atomic,
                    nir_iand(b, nir_ieq(b, writer->hi, plain.hi),
                             nir_ult_imm(b, nir_ixor(b, writer->lo, plain.lo),
                                         1u << GPUVAL_SHADOW_INVOCATION_SHIFT)));
   struct party written = gpuval_shadow_select(b, joins, join(b, self, *writer), self->mark);
   written = gpuval_shadow_select(b, stays, *writer, written);

   *writer = gpuval_shadow_select(b, is_write, written, *writer);
   *readers = gpuval_shadow_select(b, is_write, kept, read);
   return nir_ior(b, writer_hazard, readers_hazard);
}

/* Is @other one of this very access, in the same command? */
static nir_def *
is_same_access(nir_builder *b, const struct gpuval_shadow_self *self, struct party other)
{
   nir_def *site = nir_iand_imm(b, self->mark.lo, GPUVAL_SHADOW_SITE_UNKNOWN);
   nir_def *is_same_site = nir_ieq(b, nir_iand_imm(b, other.lo, GPUVAL_SHADOW_SITE_UNKNOWN), site);

   return nir_iand(b, nir_iand(b, is_same_site, nir_ine_imm(b, site, GPUVAL_SHADOW_SITE_UNKNOWN)),
                   nir_ult_imm(b, nir_ixor(b, other.hi, self->mark.hi), GPUVAL_SHADOW_ATOMIC));
}

/* What another lane stores at the same moment is not there yet, nor what another thread does. */
nir_def *
gpuval_shadow_is_same(nir_builder *b, const struct gpuval_nir_driver *driver,
                      const struct gpuval_nir_access_params *params,
                      const struct gpuval_shadow_self *self, struct party other, nir_def *is_lane,
                      nir_def *there)
{
   nir_def *mark[2] = {self->mark.lo, self->mark.hi}, *others[2] = {other.lo, other.hi};
   nir_variable *same_var = nir_local_variable_create(b->impl, glsl_bool_type(), "is_same");
   nir_store_var(b, same_var, there, 0x1);

   nir_push_if(b, nir_iand(b, is_lane, params->has_value));
   nir_store_var(b, same_var,
                 gpuval_nir_is_lanes_value(b, driver->num_lanes, mark, others, params->value), 0x1);
   nir_pop_if(b, NULL);
   nir_def *same = nir_load_var(b, same_var);
   if (params->is_constant)
      same = nir_ior(b, same, nir_iand(b, params->is_constant, is_same_access(b, self, other)));
   return nir_iand(b, same, params->has_value);
}

struct gpuval_shadow_found
gpuval_shadow_create_found(nir_builder *b)
{
   struct gpuval_shadow_found found = {
      .hazard = nir_local_variable_create(b->impl, glsl_bool_type(), "hazard"),
      .lo = nir_local_variable_create(b->impl, glsl_uint_type(), "other_lo"),
      .hi = nir_local_variable_create(b->impl, glsl_uint_type(), "other_hi"),
      .stored_lo = nir_local_variable_create(b->impl, glsl_uint_type(), "stored_lo"),
      .stored_hi = nir_local_variable_create(b->impl, glsl_uint_type(), "stored_hi"),
      .is_lane = nir_local_variable_create(b->impl, glsl_bool_type(), "other_is_lane"),
   };
   nir_store_var(b, found.hazard, nir_imm_false(b), 0x1);
   nir_store_var(b, found.is_lane, nir_imm_false(b), 0x1);
   nir_store_var(b, found.lo, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, found.hi, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, found.stored_lo, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, found.stored_hi, nir_imm_int(b, 0), 0x1);
   return found;
}

void
gpuval_shadow_remember(nir_builder *b, const struct gpuval_shadow_found *found, nir_def *hazard,
                       struct gpuval_shadow_half other, struct gpuval_shadow_half stored,
                       nir_def *is_lane)
{
   nir_push_if(b, nir_iand(b, hazard, nir_inot(b, nir_load_var(b, found->hazard))));
   {
      nir_store_var(b, found->hazard, nir_imm_true(b), 0x1);
      nir_store_var(b, found->lo, other.lo, 0x1);
      nir_store_var(b, found->hi, other.hi, 0x1);
      nir_store_var(b, found->stored_lo, stored.lo, 0x1);
      nir_store_var(b, found->stored_hi, stored.hi, 0x1);
      nir_store_var(b, found->is_lane, is_lane, 0x1);
      if (found->byte)
         nir_store_var(b, found->byte, nir_load_var(b, found->now), 0x1);
   }
   nir_pop_if(b, NULL);
}
