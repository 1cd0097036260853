/* SPDX-License-Identifier: MIT */

/* The exact engine on GPUs: the first look at an access, without a loop and with one load of a
 * cell, or two at once. What it does not decide is left as it was.
 */

#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval_nir_shadow.h"

#define party gpuval_shadow_half

struct gpuval_shadow_quick {
   struct gpuval_nir_access_params params;
   struct gpuval_shadow_self self;
   struct gpuval_shadow_block block;
   nir_def *may_join;
   nir_def *can_word; /* 1 bit: where the block is split, it looks at a word */
   nir_def *for_all;  /* 1 bit: loads for all of the subgroup; NULL: never */
   struct gpuval_shadow_cells cells;
   nir_def *address;          /* 64 bit: of what it looks at */
   nir_def *cell, *word_cell; /* 64 bit; NULL: never at words */
   nir_def *words, *word;     /* 4 x 32 bit: what is in these */
};

static bool
may_be_load(const struct gpuval_nir_access_params *params)
{
   nir_scalar type = nir_scalar_chase_movs(nir_get_scalar(params->type, 0));
   return !nir_scalar_is_const(type) || nir_scalar_as_uint(type) == GPUVAL_BLOOM_LOAD;
}

/* Which of the active invocations of the subgroup this one is, and *count: how many there are */
static nir_def *
get_rank(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def **count)
{
   const unsigned num_bits = driver->num_lanes > 32 ? 64 : 32;
   nir_def *lanes = nir_ballot(b, 1, num_bits, nir_imm_true(b));
   nir_def *bit = nir_ishl(b, nir_imm_intN_t(b, 1, num_bits), nir_load_subgroup_invocation(b));
   nir_def *below = nir_iand(b, lanes, nir_iadd_imm(b, bit, -1));

   if (num_bits == 32) {
      *count = nir_bit_count(b, lanes);
      return nir_bit_count(b, below);
   }
   *count = nir_iadd(b, nir_bit_count(b, nir_unpack_64_2x32_split_x(b, lanes)),
                     nir_bit_count(b, nir_unpack_64_2x32_split_y(b, lanes)));
   return nir_iadd(b, nir_bit_count(b, nir_unpack_64_2x32_split_x(b, below)),
                   nir_bit_count(b, nir_unpack_64_2x32_split_y(b, below)));
}

/* The first of @count invocations of the subgroup, whose mark stands for all that are active */
static struct gpuval_shadow_self
stand_for_all(nir_builder *b, const struct gpuval_shadow_self *self, nir_def *invocation,
              nir_def *count)
{
   struct gpuval_shadow_self all = *self;
   nir_def *first =
      nir_iand_imm(b, nir_read_first_invocation(b, invocation), GPUVAL_SHADOW_INVOCATION_MASK);
   nir_def *site = nir_iand_imm(b, self->mark.lo, BITFIELD_MASK(GPUVAL_SHADOW_INVOCATION_SHIFT));

   all.share = nir_bcsel(b, nir_ieq_imm(b, count, 1), nir_imm_int(b, GPUVAL_SHADOW_ONE),
                         nir_imm_int(b, GPUVAL_SHADOW_SUBGROUP));
   all.mark.lo = nir_ior(b, site, nir_ishl_imm(b, first, GPUVAL_SHADOW_INVOCATION_SHIFT));
   all.mark.lo = nir_ior(b, all.mark.lo, nir_ishl_imm(b, all.share, GPUVAL_SHADOW_SHARE_SHIFT));
   return all;
}

/* All invocations of the subgroup load the same: each looks at one word of it, where these have
 * cells, or the first one at the block.
 */
static void
find_one_load(nir_builder *b, const struct gpuval_nir_driver *driver,
              const struct gpuval_nir_access_params *params, nir_def *is_able,
              struct gpuval_shadow_quick *quick, nir_def **skipped)
{
   struct gpuval_shadow_self *self = &quick->self;
   nir_def *lo = nir_unpack_64_2x32_split_x(b, params->address);
   nir_def *hi = nir_unpack_64_2x32_split_y(b, params->address);
   nir_def *count, *rank = get_rank(b, driver, &count);

   nir_def *parts = nir_iand_imm(b, nir_ior(b, lo, params->size), GPUVAL_SHADOW_WORD - 1);
   nir_def *is_one = nir_iand(b, gpuval_shadow_is_first_s(b, lo), gpuval_shadow_is_first_s(b, hi));
   is_one = nir_iand(b, is_one, gpuval_shadow_is_first_s(b, params->size));
   is_one = nir_iand(b, is_one, nir_iand(b, is_able, self->is_read));
   if (params->is_visible)
      is_one = nir_iand(b, is_one, nir_inot(b, params->is_visible));
   is_one = nir_iand(b, is_one, nir_ieq_imm(b, parts, 0));
   is_one = nir_iand(b, is_one, nir_uge(b, nir_ishl_imm(b, count, 2), params->size));
   quick->for_all = nir_vote_all(b, 1, is_one);

   struct gpuval_shadow_self all = stand_for_all(b, self, params->invocation_id, count);
   self->mark = gpuval_shadow_select(b, quick->for_all, all.mark, self->mark);
   self->share = nir_bcsel(b, quick->for_all, all.share, nir_imm_int(b, GPUVAL_SHADOW_ONE));

   nir_def *offset = nir_ishl_imm(b, rank, 2);
   quick->can_word =
      nir_bcsel(b, quick->for_all, nir_ult(b, offset, params->size), quick->can_word);
   quick->block.leads = nir_iand(b, quick->block.leads,
                                 nir_ior(b, nir_inot(b, quick->for_all), nir_ieq_imm(b, rank, 0)));
   *skipped = nir_bcsel(b, quick->for_all, offset, *skipped);
}

void
gpuval_nir_begin_quick(nir_builder *b, const struct gpuval_nir_driver *driver,
                       const struct gpuval_nir_access_params *params, nir_def *active,
                       struct gpuval_nir_quick *out)
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

   struct gpuval_shadow_quick *quick = rzalloc(b->shader, struct gpuval_shadow_quick);
   *out = (struct gpuval_nir_quick){.active = active, .look = quick};
   quick->params = *params;
   quick->self = self;
   quick->block = block;
   quick->cells = cells;
   quick->can_word = nir_iand(b, is_able, nir_iand(b, is_word, nir_inot(b, block.in_quad)));
   nir_def *skipped = nir_imm_int(b, 0);
   if (may_be_load(params))
      find_one_load(b, driver, params, is_able, quick, &skipped);

   /* Who does not look at a cell loads something that is there. */
   nir_def *word = nir_iadd(b, params->address, nir_u2u64(b, skipped));
   nir_def *looks = nir_ior(b, quick->block.leads, quick->can_word);
   quick->address = word;
   quick->cell = nir_bcsel(b, looks, gpuval_shadow_block_cell(b, &cells, word), command->layout);
   quick->words =
      nir_build_load_global(b, 4, 32, quick->cell, .align_mul = 16, .access = ACCESS_COHERENT);
   if (quick->for_all || gpuval_shadow_may_be_word(params)) {
      quick->word_cell = nir_bcsel(
         b, quick->can_word,
         nir_iadd(b, cells.words, nir_imul_imm(b, word, GPUVAL_SHADOW_WORDS_SCALE)), quick->cell);
      quick->word = nir_build_load_global(b, 4, 32, quick->word_cell, .align_mul = 16,
                                          .access = ACCESS_COHERENT);
   }

   nir_def *now = command->now;
   if (!now)
      now = gpuval_shadow_load_layout(b, command->layout, 32,
                                      offsetof(struct gpuval_shadow_layout, now));
   quick->may_join = nir_iand(b, self.is_read, nir_ieq_imm(b, now, 0));
}

/* Those of a subgroup that run in lockstep look whether their mark is still there, unless it is
 * plain that each has another cell.
 */
static nir_def *
may_meet(nir_builder *b, const struct gpuval_shadow_quick *quick)
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

/* What one has found out for all of the subgroup, or for a quad */
static nir_def *
share_done(nir_builder *b, const struct gpuval_shadow_quick *quick, nir_def *is_split,
           nir_def *done)
{
   nir_def *shared = gpuval_shadow_share_quad(b, &quick->block, done);

   if (!quick->for_all)
      return shared;
   nir_def *as_block =
      nir_iand(b, quick->block.fits, nir_ior(b, nir_inot(b, quick->block.leads), done));
   nir_def *as_words = nir_ior(b, nir_inot(b, quick->can_word), done);
   nir_def *looks = nir_ior(b, quick->block.leads, quick->can_word);
   nir_def *all = nir_vote_all(
      b, 1, nir_ior(b, nir_inot(b, looks), nir_bcsel(b, is_split, as_words, as_block)));
   return nir_bcsel(b, quick->for_all, all, shared);
}

void
gpuval_nir_end_quick(nir_builder *b, struct gpuval_nir_quick *out)
{
   struct gpuval_shadow_quick *quick = out->look;
   nir_def *words = quick->words, *cell = quick->cell;
   nir_def *is_split = nir_ieq_imm(b, nir_channel(b, words, 1), GPUVAL_SHADOW_BYTES);
   nir_def *looks = nir_iand(b, quick->block.leads, nir_inot(b, is_split));
   if (quick->word) {
      words = nir_bcsel(b, is_split, quick->word, words);
      cell = nir_bcsel(b, is_split, quick->word_cell, cell);
      looks = nir_ior(b, looks, nir_iand(b, quick->can_word, is_split));
   }

   const struct gpuval_shadow_look look = {
      .is_whole = looks,
      .may_join = quick->may_join,
      .is_block = nir_inot(b, is_split),
      .in_quad = quick->block.in_quad,
   };
   struct party writer = {nir_channel(b, words, 0), nir_channel(b, words, 1)};
   struct party readers = {nir_channel(b, words, 2), nir_channel(b, words, 3)};
   const struct gpuval_shadow_decision decision =
      gpuval_shadow_decide(b, &quick->self, &look, writer, readers);
   nir_def *taken;
   nir_def *done = gpuval_shadow_do(b, &quick->self, cell, &decision, may_meet(b, quick), &taken);

   if (quick->word && quick->params.notes) {
      struct party said = {nir_channel(b, quick->words, 2), nir_channel(b, quick->words, 3)};
      gpuval_shadow_note_loaded(b, &quick->self, &quick->cells, quick->address, writer, readers,
                                nir_iand(b, quick->can_word, is_split), said);
   }

   out->was_taken = gpuval_shadow_share_quad(b, &quick->block, taken);
   done = share_done(b, quick, is_split, done);
   /* Those whose mark was taken ask the others what they store: gpuval_shadow_is_same(). */
   nir_def *asks = nir_vote_any(b, 1, nir_iand(b, taken, nir_inot(b, quick->self.is_read)));
   out->done = nir_iand(b, done, nir_inot(b, asks));
   ralloc_free(quick);
   out->look = NULL;
}
