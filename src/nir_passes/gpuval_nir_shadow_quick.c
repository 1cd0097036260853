/* SPDX-License-Identifier: MIT */

/* The exact engine on GPUs: the first look at an access, without a loop and with one load of a
 * cell, or two at once. What it does not decide is left as it was.
 */

#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval_nir_shadow.h"

#define party gpuval_shadow_half

static bool
may_be_load(const struct gpuval_nir_access_params *params)
{
   nir_scalar type = nir_scalar_chase_movs(nir_get_scalar(params->type, 0));
   return !nir_scalar_is_const(type) || nir_scalar_as_uint(type) == GPUVAL_BLOOM_LOAD;
}

static bool
may_be_word(const struct gpuval_nir_access_params *params)
{
   nir_scalar size = nir_scalar_chase_movs(nir_get_scalar(params->size, 0));
   return !nir_scalar_is_const(size) || nir_scalar_as_uint(size) == GPUVAL_SHADOW_WORD;
}

/* All invocations of the subgroup load the same: each looks at one word of it, where these have
 * cells, or the first one at the block.
 */
static void
find_one_load(nir_builder *b, const struct gpuval_nir_driver *driver,
              const struct gpuval_nir_access_params *params, nir_def *is_able,
              struct gpuval_shadow_self *self, struct gpuval_nir_quick *quick, nir_def **skipped)
{
   nir_def *lo = nir_unpack_64_2x32_split_x(b, params->address);
   nir_def *hi = nir_unpack_64_2x32_split_y(b, params->address);
   nir_def *count, *rank = gpuval_shadow_get_rank(b, driver, &count);

   nir_def *parts = nir_iand_imm(b, nir_ior(b, lo, params->size), GPUVAL_SHADOW_WORD - 1);
   nir_def *is_one = nir_iand(b, gpuval_shadow_is_first_s(b, lo), gpuval_shadow_is_first_s(b, hi));
   is_one = nir_iand(b, is_one, gpuval_shadow_is_first_s(b, params->size));
   is_one = nir_iand(b, is_one, nir_iand(b, is_able, self->is_read));
   is_one = nir_iand(b, is_one, nir_ieq_imm(b, parts, 0));
   is_one = nir_iand(b, is_one, nir_uge(b, nir_ishl_imm(b, count, 2), params->size));
   quick->for_all = nir_vote_all(b, 1, is_one);

   struct gpuval_shadow_self all =
      gpuval_shadow_stand_for_all(b, self, params->invocation_id, count);
   self->mark = gpuval_shadow_select(b, quick->for_all, all.mark, self->mark);
   quick->share = nir_bcsel(b, quick->for_all, all.share, nir_imm_int(b, GPUVAL_SHADOW_ONE));

   nir_def *offset = nir_ishl_imm(b, rank, 2);
   quick->can_word =
      nir_bcsel(b, quick->for_all, nir_ult(b, offset, params->size), quick->can_word);
   quick->leads =
      nir_iand(b, quick->leads, nir_ior(b, nir_inot(b, quick->for_all), nir_ieq_imm(b, rank, 0)));
   *skipped = nir_bcsel(b, quick->for_all, offset, *skipped);
}

void
gpuval_nir_begin_quick(nir_builder *b, const struct gpuval_nir_driver *driver,
                       const struct gpuval_nir_access_params *params, nir_def *active,
                       struct gpuval_nir_quick *quick)
{
   const struct gpuval_nir_shadow_command *command = params->command;
   struct gpuval_shadow_self self = gpuval_shadow_make_self(b, driver, command, params);
   struct gpuval_shadow_cells cells = gpuval_shadow_find_cells(b, driver, command, params);
   nir_def *lo = nir_unpack_64_2x32_split_x(b, params->address);

   nir_def *is_able = nir_iand(b, active, nir_ine_imm(b, command->command, 0));
   is_able = nir_iand(b, is_able, nir_ine_imm(b, cells.address, 0));
   is_able = nir_iand(b, is_able, nir_inot(b, nir_ior(b, self.is_atomic, params->orders)));
   struct gpuval_shadow_block block = gpuval_shadow_find_block(b, driver, params, is_able);
   nir_def *is_word = nir_iand(b, nir_ieq_imm(b, params->size, GPUVAL_SHADOW_WORD),
                               nir_ieq_imm(b, nir_iand_imm(b, lo, GPUVAL_SHADOW_WORD - 1), 0));

   *quick = (struct gpuval_nir_quick){
      .params = *params,
      .active = active,
      .fits = block.fits,
      .in_quad = block.in_quad,
      .leads = block.leads,
      .can_word = nir_iand(b, is_able, nir_iand(b, is_word, nir_inot(b, block.in_quad))),
      .share = nir_imm_int(b, GPUVAL_SHADOW_ONE),
   };
   nir_def *skipped = nir_imm_int(b, 0);
   if (may_be_load(params))
      find_one_load(b, driver, params, is_able, &self, quick, &skipped);

   /* Who does not look at a cell loads something that is there. */
   nir_def *word = nir_iadd(b, params->address, nir_u2u64(b, skipped));
   nir_def *looks = nir_ior(b, quick->leads, quick->can_word);
   quick->cell = nir_bcsel(b, looks, gpuval_shadow_block_cell(b, &cells, word), command->layout);
   quick->block =
      nir_build_load_global(b, 4, 32, quick->cell, .align_mul = 16, .access = ACCESS_COHERENT);
   if (quick->for_all || may_be_word(params)) {
      quick->word_cell = nir_bcsel(
         b, quick->can_word,
         nir_iadd(b, cells.words, nir_imul_imm(b, word, GPUVAL_SHADOW_WORDS_SCALE)), quick->cell);
      quick->word = nir_build_load_global(b, 4, 32, quick->word_cell, .align_mul = 16,
                                          .access = ACCESS_COHERENT);
   }

   nir_def *now =
      gpuval_shadow_load_layout(b, command->layout, 32, offsetof(struct gpuval_shadow_layout, now));
   quick->may_join = nir_iand(b, self.is_read, nir_ieq_imm(b, now, 0));
   quick->mark.lo = self.mark.lo;
   quick->mark.hi = self.mark.hi;
   quick->is_read = self.is_read;
   quick->ordered = self.ordered;
   quick->workgroup_shift = self.workgroup_shift;
   quick->subgroup_shift = self.subgroup_shift;
}

/* Does @mine, who does the same, stand for this access already? */
static nir_def *
is_covered(nir_builder *b, const struct gpuval_nir_quick *quick, struct party mark,
           struct party mine)
{
   nir_def *share = nir_ushr_imm(b, mine.lo, GPUVAL_SHADOW_SHARE_SHIFT);
   nir_def *shift =
      nir_bcsel(b, nir_ieq_imm(b, share, GPUVAL_SHADOW_SUBGROUP), quick->subgroup_shift,
                nir_bcsel(b, nir_ieq_imm(b, share, GPUVAL_SHADOW_WORKGROUP), quick->workgroup_shift,
                          nir_imm_int(b, 0)));
   nir_def *differs =
      gpuval_shadow_bits(b, nir_ixor(b, mine.lo, mark.lo), GPUVAL_SHADOW_INVOCATION_SHIFT,
                         GPUVAL_SHADOW_INVOCATION_BITS);
   nir_def *near =
      nir_iand(b, nir_ieq(b, mine.hi, mark.hi), nir_ieq_imm(b, nir_ushr(b, differs, shift), 0));

   nir_def *alike = nir_ult_imm(b, nir_ixor(b, mine.hi, mark.hi), GPUVAL_SHADOW_ATOMIC);
   nir_def *everybody = nir_iand(b, alike, nir_uge_imm(b, share, GPUVAL_SHADOW_WORKGROUPS));
   nir_def *several = nir_iand(b, quick->may_join, nir_uge(b, share, quick->share));
   nir_def *alone = nir_iand(b, nir_ieq_imm(b, share, GPUVAL_SHADOW_ONE),
                             nir_ieq_imm(b, quick->share, GPUVAL_SHADOW_ONE));
   return nir_ior(b, nir_iand(b, near, nir_ior(b, several, alone)),
                  nir_iand(b, everybody, quick->may_join));
}

/* Those of a subgroup that run in lockstep look whether their mark is still there, unless it is
 * plain that each has another cell.
 */
static nir_def *
may_meet(nir_builder *b, const struct gpuval_nir_quick *quick)
{
   nir_def *lo = nir_unpack_64_2x32_split_x(b, quick->params.address);
   nir_def *lane = nir_load_subgroup_invocation(b);
   nir_def *begin = nir_isub(b, lo, nir_imul(b, lane, quick->params.size));
   nir_def *in_a_row = nir_vote_all(b, 1, gpuval_shadow_is_first_s(b, begin));
   nir_def *apart = in_a_row;

   if (quick->for_all)
      apart = nir_ior(b, apart, quick->for_all);
   return nir_inot(b, apart);
}

static nir_def *
leave_mark(nir_builder *b, nir_def *may_meet, nir_def *half, struct party mark)
{
   nir_def *always = nir_imm_true(b);

   gpuval_shadow_store_half(b, half, 0, mark);
   nir_push_if(b, may_meet);
   struct party now = gpuval_shadow_load_half(b, half, 0);
   nir_def *is_left = nir_iand(b, nir_ieq(b, now.hi, mark.hi), nir_ieq(b, now.lo, mark.lo));
   nir_pop_if(b, NULL);
   return nir_if_phi(b, is_left, always);
}

/* What one has found out for all of the subgroup, or for a quad */
static nir_def *
share_done(nir_builder *b, const struct gpuval_nir_quick *quick, nir_def *is_split, nir_def *done)
{
   const struct gpuval_shadow_block block = {.in_quad = quick->in_quad};
   nir_def *shared = gpuval_shadow_share_quad(b, &block, done);

   if (!quick->for_all)
      return shared;
   nir_def *as_block = nir_iand(b, quick->fits, nir_ior(b, nir_inot(b, quick->leads), done));
   nir_def *as_words = nir_ior(b, nir_inot(b, quick->can_word), done);
   nir_def *looks = nir_ior(b, quick->leads, quick->can_word);
   nir_def *all = nir_vote_all(
      b, 1, nir_ior(b, nir_inot(b, looks), nir_bcsel(b, is_split, as_words, as_block)));
   return nir_bcsel(b, quick->for_all, all, shared);
}

void
gpuval_nir_end_quick(nir_builder *b, const struct gpuval_nir_driver *driver,
                     struct gpuval_nir_quick *quick)
{
   nir_def *words = quick->block, *cell = quick->cell;
   nir_def *is_split = nir_ieq_imm(b, nir_channel(b, words, 1), GPUVAL_SHADOW_BYTES);
   nir_def *looks = nir_iand(b, quick->leads, nir_inot(b, is_split));
   if (quick->word) {
      words = nir_bcsel(b, is_split, quick->word, words);
      cell = nir_bcsel(b, is_split, quick->word_cell, cell);
      looks = nir_ior(b, looks, nir_iand(b, quick->can_word, is_split));
   }

   const struct gpuval_shadow_look look = {
      .is_block = nir_inot(b, is_split),
      .in_quad = quick->in_quad,
   };
   struct party mark =
      gpuval_shadow_give_form(b, &look, (struct party){quick->mark.lo, quick->mark.hi});
   struct party writer = {nir_channel(b, words, 0), nir_channel(b, words, 1)};
   struct party readers = {nir_channel(b, words, 2), nir_channel(b, words, 3)};
   struct party mine = gpuval_shadow_select(b, quick->is_read, readers, writer);
   struct party other = gpuval_shadow_select(b, quick->is_read, writer, readers);

   nir_def *own = nir_iand(
      b, nir_ult_imm(b, nir_ixor(b, other.hi, mark.hi), GPUVAL_SHADOW_ATOMIC),
      nir_ult_imm(b, nir_ixor(b, other.lo, mark.lo), 1u << GPUVAL_SHADOW_INVOCATION_SHIFT));
   nir_def *other_past = nir_ior(b, nir_ult(b, other.hi, quick->ordered), own);
   nir_def *mine_past = nir_ult(b, mine.hi, quick->ordered);
   nir_def *covered = is_covered(b, quick, mark, mine);
   nir_def *easy = nir_iand(b, nir_iand(b, looks, other_past), nir_ior(b, mine_past, covered));

   nir_def *meets = may_meet(b, quick), *always = nir_imm_true(b);
   nir_push_if(b, nir_iand(b, easy, nir_inot(b, covered)));
   nir_def *is_left;
   {
      /* A store replaces what its own invocation has loaded. */
      nir_push_if(b, nir_iand(b, own, nir_inot(b, quick->is_read)));
      gpuval_shadow_store_half(b, cell, GPUVAL_SHADOW_READERS,
                               (struct party){nir_imm_int(b, 0), nir_imm_int(b, 0)});
      nir_pop_if(b, NULL);

      nir_def *readers_offset = nir_imm_int64(b, GPUVAL_SHADOW_READERS);
      nir_def *half =
         nir_iadd(b, cell, nir_bcsel(b, quick->is_read, readers_offset, nir_imm_int64(b, 0)));
      is_left = leave_mark(b, meets, half, mark);
   }
   nir_pop_if(b, NULL);
   is_left = nir_if_phi(b, is_left, always);

   const struct gpuval_shadow_block block = {.in_quad = quick->in_quad};
   nir_def *taken = nir_iand(b, easy, nir_inot(b, is_left));
   quick->was_taken = gpuval_shadow_share_quad(b, &block, taken);
   nir_def *done = share_done(b, quick, is_split, nir_iand(b, easy, is_left));
   /* Those whose mark was taken ask the others what they store: gpuval_shadow_is_same(). */
   nir_def *asks = nir_vote_any(b, 1, nir_iand(b, taken, nir_inot(b, quick->is_read)));
   quick->done = nir_iand(b, done, nir_inot(b, asks));
}
