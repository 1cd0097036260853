/* SPDX-License-Identifier: MIT */

/* What @sync_gpuval with GPUVAL_SYNC_SHARED means: looks at the cells of an access to
 * memory of its workgroup, reports it if it is a hazard, and leaves its own mark. As in
 * gpuval_nir_shadow.c, and by the same rules (gpuval_nir_cells.c), but
 *
 * - a cell is 8 bytes, the writer's 32 bits and the readers', 0 being nobody:
 *
 *      0..7    which access of the shader, from 1; 255: one beyond the 254th
 *      8..17   invocation in the workgroup
 *      18..19  enum gpuval_shadow_share
 *      20..22  barriers of the subgroup in this phase; 7: not known
 *      23..30  phase; 255: not known
 *      31      by an atomic
 *
 *   which is what a half in base/gpuval_shadow.h has, without command and class;
 * - all are of one workgroup of one command;
 * - no access is to a part of a granule.
 */

#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval_nir_shadow.h"

#define party gpuval_shadow_half

#define ONLY_COMMAND (1u << GPUVAL_SHADOW_COMMAND_SHIFT)
#define LO_BITS      18 /* access and invocation */

/* Where cells are: at 64-bit addresses, or at offsets in shared memory */

static nir_def *
add(nir_builder *b, nir_def *address, nir_def *bytes)
{
   return nir_iadd(b, address, address->bit_size == 64 ? nir_i2i64(b, bytes) : bytes);
}

static nir_def *
load_words(nir_builder *b, nir_def *address)
{
   if (address->bit_size == 32)
      return nir_load_shared(b, 2, 32, address, .align_mul = 8);
   return nir_build_load_global(b, 2, 32, address, .align_mul = 8, .access = ACCESS_COHERENT);
}

/* One word, or both */
static void
store_words(nir_builder *b, nir_def *address, nir_def *words)
{
   const unsigned count = words->num_components;

   if (address->bit_size == 32)
      nir_store_shared(b, words, address, .align_mul = 4 * count,
                       .write_mask = BITFIELD_MASK(count));
   else
      nir_build_store_global(b, words, address, .align_mul = 4 * count, .access = ACCESS_COHERENT);
}

static void
raise_word(nir_builder *b, nir_def *address, unsigned offset, nir_def *value)
{
   address = nir_iadd_imm(b, address, offset);
   if (address->bit_size == 32)
      nir_shared_atomic(b, 32, address, value, .atomic_op = nir_atomic_op_umax);
   else
      nir_global_atomic(b, 32, address, value, .atomic_op = nir_atomic_op_umax);
}

/* Between a word of a cell and a half as all rules have it */

static struct party
expand(nir_builder *b, nir_def *word)
{
   nir_def *share = gpuval_shadow_bits(b, word, LO_BITS, 2);
   nir_def *hi = nir_ior_imm(b, nir_ushr_imm(b, word, LO_BITS + 2), ONLY_COMMAND);

   return (struct party){
      nir_ior(b, nir_iand_imm(b, word, BITFIELD_MASK(LO_BITS)),
              nir_ishl_imm(b, share, GPUVAL_SHADOW_SHARE_SHIFT)),
      nir_bcsel(b, nir_ieq_imm(b, word, 0), nir_imm_int(b, 0), hi),
   };
}

static nir_def *
compress(nir_builder *b, struct party party)
{
   nir_def *share = nir_ushr_imm(b, party.lo, GPUVAL_SHADOW_SHARE_SHIFT);
   nir_def *word = nir_ior(b, nir_iand_imm(b, party.lo, BITFIELD_MASK(LO_BITS)),
                           nir_ishl_imm(b, share, LO_BITS));
   word = nir_ior(b, word, nir_ishl_imm(b, party.hi, LO_BITS + 2));
   return nir_bcsel(b, nir_ieq_imm(b, party.hi, 0), nir_imm_int(b, 0), word);
}

struct cell {
   struct party writer, readers;
};

static struct cell
load_cell(nir_builder *b, nir_def *address)
{
   nir_def *words = load_words(b, address);
   return (struct cell){expand(b, nir_channel(b, words, 0)), expand(b, nir_channel(b, words, 1))};
}

static void
store_cell(nir_builder *b, nir_def *address, const struct cell *cell)
{
   store_words(b, address, nir_vec2(b, compress(b, cell->writer), compress(b, cell->readers)));
}

static struct gpuval_shadow_self
make_self(nir_builder *b, const struct gpuval_nir_access_params *params)
{
   nir_def *type = params->type;
   struct gpuval_shadow_self self = {
      .is_read = nir_ior(b, nir_ieq_imm(b, type, GPUVAL_BLOOM_LOAD),
                         nir_ieq_imm(b, type, GPUVAL_SYNC_ATOMIC_LOAD)),
      .is_atomic = nir_uge_imm(b, type, GPUVAL_BLOOM_ATOMIC),
      .ordered = nir_imm_int(b, ONLY_COMMAND),
      .phase = gpuval_nir_phase(b, params->phase),
      .ordered_phase = gpuval_nir_ordered_phase(b, params->phase),
      .sub =
         nir_umin(b, nir_ushr_imm(b, params->phase, 16), nir_imm_int(b, GPUVAL_SHADOW_SUB_UNKNOWN)),
      .workgroup_shift = nir_imm_int(b, 31), /* there is one */
      .subgroup_shift = gpuval_shadow_bits(b, params->token, 8, 8),
   };

   self.mark.lo = nir_ior(b, nir_ushr_imm(b, params->token, 24),
                          nir_ishl_imm(b, params->invocation_id, GPUVAL_SHADOW_INVOCATION_SHIFT));
   self.mark.hi = nir_ior(b, nir_ishl_imm(b, self.phase, GPUVAL_SHADOW_PHASE_SHIFT), self.sub);
   self.mark.hi = nir_ior_imm(b, self.mark.hi, ONLY_COMMAND);
   self.mark.hi = nir_ior(
      b, self.mark.hi,
      nir_bcsel(b, self.is_atomic, nir_imm_int(b, GPUVAL_SHADOW_ATOMIC), nir_imm_int(b, 0)));
   return self;
}

/* What most accesses are decided by, on words of cells as they are: few instructions, since code
 * that uses shared memory has little else.
 */
struct quick {
   nir_def *by_phases;   /* GPUVAL_SHARED_BY_PHASES, 1 bit */
   nir_def *mark;        /* this invocation's, alone */
   nir_def *mark_of_all; /* of the workgroup in this phase, as loads and atomics are */
   nir_def *past;        /* words of nobody and of earlier phases are below it */
};

#define SHARE_OF_ALL ((uint32_t)GPUVAL_SHADOW_WORKGROUP << LO_BITS)
/* Two words whose difference, by exclusive or, is below the first are of several invocations of one
 * phase, both; below the second, of one phase.
 */
#define BELOW_SHARE (1u << (LO_BITS + 1))
#define ONE_PHASE   (1u << (LO_BITS + 2))
#define ATOMIC      (1u << 31)

static struct quick
make_quick(nir_builder *b, const struct gpuval_shadow_self *self, nir_def *by_phases)
{
   nir_def *mark = compress(b, self->mark);
   nir_def *past = nir_ishl_imm(b, self->ordered_phase, LO_BITS + 2 + GPUVAL_SHADOW_PHASE_SHIFT);

   static_assert(GPUVAL_SHADOW_WORKGROUP == 2 && GPUVAL_SHADOW_WORKGROUPS == 3,
                 "one bit says that it is several of a workgroup");
   return (struct quick){
      .by_phases = by_phases,
      .mark = mark,
      .mark_of_all = nir_ior_imm(b, mark, SHARE_OF_ALL),
      .past = nir_umax(b, past, nir_imm_int(b, 1)),
   };
}

/* Nobody, or one of an earlier phase; what is not known is neither. */
static nir_def *
is_past(nir_builder *b, const struct quick *quick, nir_def *word)
{
   return nir_ult(b, nir_iand_imm(b, word, ~ATOMIC), quick->past);
}

/* Most accesses: nobody else is there in this phase, or others that do the same harmless
 * thing. Returns, 1 bit, whether that was all there is to do. If not, *was_taken says that
 * somebody has taken the mark away a moment later.
 */
static nir_def *
look(nir_builder *b, const struct gpuval_shadow_self *self, const struct quick *quick,
     nir_def *address, nir_def **was_taken)
{
   nir_def *words = load_words(b, address);
   nir_def *writer = nir_channel(b, words, 0), *readers = nir_channel(b, words, 1);
   nir_def *mine = nir_bcsel(b, self->is_read, readers, writer);
   nir_def *theirs_past = is_past(b, quick, nir_bcsel(b, self->is_read, writer, readers));
   nir_def *joins = nir_ior(b, self->is_read, self->is_atomic);

   /* This invocation alone, whatever it did; or all of them, alike */
   nir_def *difference = nir_ixor(b, mine, quick->mark);
   nir_def *is_somebody = nir_ine_imm(b, mine, 0); /* not invocation 0 in phase 0 */
   nir_def *is_self =
      nir_iand(b, is_somebody, nir_ult_imm(b, difference, 1u << GPUVAL_SHADOW_INVOCATION_SHIFT));
   nir_def *is_all = nir_ult_imm(b, nir_ixor(b, mine, quick->mark_of_all), BELOW_SHARE);
   nir_def *covered = nir_ior(b, is_self, nir_iand(b, joins, is_all));
   nir_def *easy = nir_iand(b, theirs_past, nir_ior(b, covered, is_past(b, quick, mine)));

   /* Not by atomics, which is a part of what does not differ */
   nir_def *may_join = nir_iand(b, quick->by_phases, nir_iand(b, self->is_read, theirs_past));
   nir_def *met = nir_iand(b, nir_iand(b, is_somebody, nir_ult_imm(b, difference, ONE_PHASE)),
                           nir_inot(b, covered));

   nir_variable *done_var = nir_local_variable_create(b->impl, glsl_bool_type(), "done");
   nir_variable *met_var = nir_local_variable_create(b->impl, glsl_bool_type(), "met");
   nir_store_var(b, done_var, easy, 0x1);
   nir_store_var(b, met_var, nir_iand(b, may_join, met), 0x1);
   nir_push_if(b, nir_iand(b, easy, nir_inot(b, covered)));
   {
      store_words(b, address,
                  nir_vec2(b, nir_bcsel(b, self->is_read, writer, quick->mark),
                           nir_bcsel(b, self->is_read, quick->mark, readers)));
      nir_def *now = load_words(b, address);
      nir_def *left = nir_bcsel(b, self->is_read, nir_channel(b, now, 1), nir_channel(b, now, 0));
      nir_def *is_mine = nir_ieq(b, left, quick->mark);
      nir_def *of_phase = nir_ult_imm(b, nir_ixor(b, left, quick->mark), ONE_PHASE);
      nir_def *is_other = nir_iand(b, of_phase, nir_inot(b, is_mine));
      nir_store_var(b, done_var, is_mine, 0x1);
      nir_store_var(
         b, met_var,
         nir_iand(b, nir_iand(b, may_join, is_other), is_past(b, quick, nir_channel(b, now, 0))),
         0x1);
   }
   nir_pop_if(b, NULL);
   /* A load where others of this phase have loaded stands for all of the workgroup: those are in
    * its half already, or have taken its mark away. The writer's half stays whoever's it is.
    */
   nir_push_if(b, nir_load_var(b, met_var));
   store_words(b, nir_iadd_imm(b, address, 4), quick->mark_of_all);
   nir_store_var(b, done_var, nir_imm_true(b), 0x1);
   nir_pop_if(b, NULL);
   nir_def *done = nir_load_var(b, done_var);
   *was_taken = nir_iand(b, easy, nir_inot(b, done));
   return done;
}

/* Those that run in lockstep have all left their marks: whose mark is not there meets
 * whoever has taken it away.
 */
static void
look_closely(nir_builder *b, const struct gpuval_shadow_self *self,
             const struct gpuval_shadow_found *found, nir_def *address, nir_def *was_taken)
{
   struct cell cell = load_cell(b, address);
   struct party other, stored;
   nir_def *hazard = gpuval_shadow_meet(b, self, &cell.writer, &cell.readers, &other, &stored);
   store_cell(b, address, &cell);
   gpuval_shadow_remember(b, found, hazard, other, stored, was_taken);

   struct cell now = load_cell(b, address);
   struct party left = gpuval_shadow_select(b, self->is_read, cell.readers, cell.writer);
   struct party there = gpuval_shadow_select(b, self->is_read, now.readers, now.writer);
   nir_def *gone = nir_ior(b, nir_ine(b, left.lo, there.lo), nir_ine(b, left.hi, there.hi));
   hazard = gpuval_shadow_meet(b, self, &now.writer, &now.readers, &other, &stored);
   nir_push_if(b, gone);
   store_cell(b, address, &now);
   nir_pop_if(b, NULL);
   gpuval_shadow_remember(b, found, nir_iand(b, hazard, gone), other, stored, nir_imm_true(b));
}

/* The address of the words of order */
static nir_def *
find_order(nir_builder *b, const struct gpuval_nir_access_params *params)
{
   nir_def *granule = nir_ushr(b, params->offset, nir_iand_imm(b, params->token, 0xff));
   nir_def *distance = nir_iand_imm(b, params->slot, GPUVAL_SHARED_DISTANCE_MASK);

   distance = nir_iadd(b, distance, nir_imul_imm(b, granule, GPUVAL_SHARED_CELL_SIZE));
   return add(b, params->address, nir_ineg(b, distance));
}

/* Is what a store of @size bytes stores there already? 1 bit */
static nir_def *
is_there(nir_builder *b, const struct gpuval_nir_access_params *params, nir_def *size)
{
   nir_def *said = nir_ine_imm(b, nir_iand_imm(b, params->size, GPUVAL_SHARED_SAME), 0);
   if (params->address->bit_size == 32)
      return said;

   nir_def *begin = nir_ushr_imm(b, params->slot, GPUVAL_SHARED_BEGIN_SHIFT);
   nir_def *is_payload = nir_ine_imm(b, nir_iand_imm(b, params->slot, GPUVAL_SHARED_IS_PAYLOAD), 0);
   nir_def *looks = nir_iand(b, nir_ine_imm(b, begin, 0), nir_inot(b, is_payload));
   nir_def *offset = nir_isub(b, params->offset, nir_imul_imm(b, begin, 16));
   nir_def *looked = gpuval_nir_has_value_at(b, params, add(b, find_order(b, params), offset),
                                             nir_bcsel(b, looks, size, nir_imm_int(b, 0)));
   return nir_bcsel(b, looks, looked, said);
}

/* Has somebody released, and somebody acquired, in this phase? */
static nir_def *
may_be_acquired(nir_builder *b, const struct gpuval_nir_access_params *params)
{
   nir_def *order = find_order(b, params);
   nir_def *now = nir_iadd_imm(b, gpuval_nir_ordered_phase(b, params->phase), 1);
   nir_def *words = load_words(b, order);

   return nir_iand(b, nir_ieq(b, nir_channel(b, words, 0), now),
                   nir_ieq(b, nir_channel(b, words, 1), now));
}

static void
build_order(nir_builder *b, const struct gpuval_nir_access_params *params)
{
   nir_def *now = nir_iadd_imm(b, gpuval_nir_ordered_phase(b, params->phase), 1);

   nir_push_if(b, nir_ieq_imm(b, params->size, GPUVAL_SYNC_RELEASE));
   raise_word(b, params->address, 0, now);
   nir_push_else(b, NULL);
   raise_word(b, params->address, 4, now);
   nir_pop_if(b, NULL);
}

static void
build_access(nir_builder *b, const struct gpuval_nir_driver *driver,
             const struct gpuval_nir_access_params *params)
{
   struct gpuval_shadow_self self = make_self(b, params);
   struct gpuval_shadow_found found = gpuval_shadow_create_found(b);

   nir_def *by_phases =
      nir_ine_imm(b, nir_iand_imm(b, params->token, GPUVAL_SHARED_BY_PHASES << 16), 0);
   const struct quick quick = make_quick(b, &self, by_phases);
   nir_def *size = nir_iand_imm(b, params->size, ~GPUVAL_SHARED_SAME);
   nir_def *count = nir_ushr(b, size, nir_iand_imm(b, params->token, 0xff));
   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "granule");
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      nir_break_if(b, nir_uge(b, i, count));
      nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);

      nir_def *address = add(b, params->address, nir_imul_imm(b, i, GPUVAL_SHARED_CELL_SIZE));
      nir_def *was_taken;
      nir_def *done = look(b, &self, &quick, address, &was_taken);
      if (params->was_taken)
         was_taken = nir_ior(b, was_taken, params->was_taken);
      nir_push_if(b, nir_inot(b, done));
      look_closely(b, &self, &found, address, was_taken);
      nir_pop_if(b, NULL);
   }
   nir_pop_loop(b, loop);

   nir_push_if(b, nir_load_var(b, found.hazard));
   nir_push_if(b, nir_inot(b, may_be_acquired(b, params)));
   {
      struct party other = {nir_load_var(b, found.lo), nir_load_var(b, found.hi)};
      nir_def *there = is_there(b, params, size);
      struct party stored = {nir_load_var(b, found.stored_lo), nir_load_var(b, found.stored_hi)};
      nir_def *same = gpuval_shadow_is_same(b, driver, params, &self, stored,
                                            nir_load_var(b, found.is_lane), there);
      struct gpuval_nir_access_params sized = *params;
      sized.size = size;
      gpuval_nir_build_shadow_hazard(b, driver, &sized, driver->root_address(driver, b), other.lo,
                                     other.hi, same);
   }
   nir_pop_if(b, NULL);
   nir_pop_if(b, NULL);
}

void
gpuval_nir_build_shared(nir_builder *b, const struct gpuval_nir_driver *driver,
                        const struct gpuval_nir_access_params *params)
{
   nir_push_if(b, params->orders);
   build_order(b, params);
   nir_push_else(b, NULL);
   build_access(b, driver, params);
   nir_pop_if(b, NULL);
}
