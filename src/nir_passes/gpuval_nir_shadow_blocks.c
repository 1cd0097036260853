/* SPDX-License-Identifier: MIT */

/* The exact engine on GPUs: blocks of four words, which have one cell where all four are accessed
 * alike. base/gpuval_shadow.h says what is in it.
 */

#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval_nir_shadow.h"

#define party gpuval_shadow_half

#define QUAD 4

/* Of the lanes for which @value is true, those of this one's quad: 4 bits of 32 */
static nir_def *
ballot_quad(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *value)
{
   const unsigned num_bits = driver->num_lanes > 32 ? 64 : 32;
   nir_def *first = nir_iand_imm(b, nir_load_subgroup_invocation(b), ~(uint64_t)(QUAD - 1));
   nir_def *lanes = nir_ushr(b, nir_ballot(b, 1, num_bits, value), first);

   return nir_iand_imm(b, nir_u2u32(b, lanes), BITFIELD_MASK(QUAD));
}

/* Its first invocation's */
static nir_def *
get_first_s(nir_builder *b, nir_def *value)
{
   return nir_quad_broadcast(b, value, nir_imm_int(b, 0));
}

/* Do the four invocations of the quad access the four words of a block, in this order? Numbers of
 * invocations are such that those of a quad differ in their lowest bits only.
 */
static nir_def *
is_in_quad(nir_builder *b, const struct gpuval_nir_driver *driver,
           const struct gpuval_nir_access_params *params, nir_def *is_able)
{
   nir_def *lo = nir_unpack_64_2x32_split_x(b, params->address);
   nir_def *hi = nir_unpack_64_2x32_split_y(b, params->address);
   nir_def *word = nir_iand_imm(b, nir_load_subgroup_invocation(b), QUAD - 1);
   nir_def *begin = nir_isub(b, lo, nir_ishl_imm(b, word, 2));
   nir_def *number = nir_isub(b, params->invocation_id, word);

   nir_def *fits = nir_ieq_imm(b, params->size, GPUVAL_SHADOW_WORD);
   fits = nir_iand(b, fits, nir_ieq_imm(b, nir_iand_imm(b, begin, GPUVAL_SHADOW_BLOCK - 1), 0));
   fits = nir_iand(b, fits, nir_ieq_imm(b, nir_iand_imm(b, number, QUAD - 1), 0));
   fits = nir_iand(b, fits, nir_ieq(b, begin, get_first_s(b, begin)));
   fits = nir_iand(b, fits, nir_ieq(b, hi, get_first_s(b, hi)));
   fits = nir_iand(b, fits, nir_ieq(b, number, get_first_s(b, number)));
   fits = nir_iand(b, fits, nir_ieq(b, params->phase, get_first_s(b, params->phase)));
   return nir_ieq_imm(b, ballot_quad(b, driver, nir_iand(b, fits, is_able)), BITFIELD_MASK(QUAD));
}

struct gpuval_shadow_block
gpuval_shadow_find_block(nir_builder *b, const struct gpuval_nir_driver *driver,
                         const struct gpuval_nir_access_params *params, nir_def *is_able)
{
   nir_def *lo = nir_unpack_64_2x32_split_x(b, params->address);
   nir_def *is_block = nir_iand(b, nir_ieq_imm(b, params->size, GPUVAL_SHADOW_BLOCK),
                                nir_ieq_imm(b, nir_iand_imm(b, lo, GPUVAL_SHADOW_BLOCK - 1), 0));
   struct gpuval_shadow_block block = {
      .fits = nir_iand(b, is_block, is_able),
      .in_quad = nir_imm_false(b),
   };
   block.leads = block.fits;

   if (driver->has_quads && gpuval_shadow_may_be_word(params) &&
       mesa_shader_stage_uses_workgroup(b->shader->info.stage)) {
      nir_def *word = nir_iand_imm(b, nir_load_subgroup_invocation(b), QUAD - 1);
      block.in_quad = is_in_quad(b, driver, params, is_able);
      block.leads = nir_ior(b, block.fits, nir_iand(b, block.in_quad, nir_ieq_imm(b, word, 0)));
      block.fits = nir_ior(b, block.fits, block.in_quad);
   }
   return block;
}

nir_def *
gpuval_shadow_share_quad(nir_builder *b, const struct gpuval_shadow_block *block, nir_def *value)
{
   if (gpuval_shadow_is_always(block->in_quad, false))
      return value;

   nir_def *first_s = nir_ine_imm(b, get_first_s(b, nir_b2i32(b, value)), 0);
   return nir_bcsel(b, block->in_quad, first_s, value);
}

/* Is @value, 1 bit, true of all of the quad? */
static nir_def *
all_of_quad(nir_builder *b, const struct gpuval_nir_driver *driver,
            const struct gpuval_shadow_block *block, nir_def *value)
{
   if (gpuval_shadow_is_always(block->in_quad, false))
      return value;

   nir_def *all = nir_ieq_imm(b, ballot_quad(b, driver, value), BITFIELD_MASK(QUAD));
   return nir_bcsel(b, block->in_quad, all, value);
}

/* What a half of a block's cell says of the word at @i */
static struct gpuval_shadow_half
get_word_s(nir_builder *b, struct gpuval_shadow_half half, unsigned i)
{
   nir_def *in_quad = nir_ine_imm(b, nir_iand_imm(b, half.hi, GPUVAL_SHADOW_QUAD), 0);
   nir_def *number = nir_iadd_imm(b, half.lo, i << GPUVAL_SHADOW_INVOCATION_SHIFT);

   return (struct gpuval_shadow_half){
      nir_bcsel(b, in_quad, number, half.lo),
      nir_iand_imm(b, half.hi, ~(uint64_t)GPUVAL_SHADOW_QUAD),
   };
}

/* What words say first and the block afterwards: whoever finds it split finds that. */
void
gpuval_shadow_split_block(nir_builder *b, const struct gpuval_shadow_cells *cells, nir_def *address)
{
   nir_def *cell = gpuval_shadow_block_cell(b, cells, address);
   struct gpuval_shadow_half writer = gpuval_shadow_load_half(b, cell, 0);

   nir_push_if(b, nir_ine_imm(b, writer.hi, GPUVAL_SHADOW_BYTES));
   {
      struct gpuval_shadow_half readers = gpuval_shadow_load_half(b, cell, GPUVAL_SHADOW_READERS);
      nir_def *begin = nir_iand_imm(b, address, ~(uint64_t)(GPUVAL_SHADOW_BLOCK - 1));
      nir_def *words = nir_iadd(b, cells->words, nir_imul_imm(b, begin, GPUVAL_SHADOW_WORDS_SCALE));

      for (unsigned i = 0; i < GPUVAL_SHADOW_BLOCK / GPUVAL_SHADOW_WORD; i++) {
         nir_def *word = nir_iadd_imm(b, words, i * GPUVAL_SHADOW_CELL_SIZE);
         gpuval_shadow_store_half(b, word, 0, get_word_s(b, writer, i));
         gpuval_shadow_store_half(b, word, GPUVAL_SHADOW_READERS, get_word_s(b, readers, i));
      }
      gpuval_shadow_store_half(b, cell, GPUVAL_SHADOW_READERS,
                               (struct gpuval_shadow_half){nir_imm_int(b, 0), nir_imm_int(b, 0)});
      gpuval_shadow_store_half(
         b, cell, 0,
         (struct gpuval_shadow_half){nir_imm_int(b, 0), nir_imm_int(b, GPUVAL_SHADOW_BYTES)});
   }
   nir_pop_if(b, NULL);
}

nir_def *
gpuval_shadow_take_form(nir_builder *b, const struct gpuval_shadow_look *look, struct party *half)
{
   if (!look->is_block)
      return nir_imm_true(b);

   nir_def *in_quad = nir_ine_imm(b, nir_iand_imm(b, half->hi, GPUVAL_SHADOW_QUAD), 0);
   nir_def *stripped = nir_iand_imm(b, half->hi, ~(uint64_t)GPUVAL_SHADOW_QUAD);
   half->hi = nir_bcsel(b, look->is_block, stripped, half->hi);
   return nir_ior(b, nir_inot(b, look->is_block), nir_ieq(b, in_quad, look->in_quad));
}

struct party
gpuval_shadow_give_form(nir_builder *b, const struct gpuval_shadow_look *look, struct party mark)
{
   if (!look->is_block)
      return mark;

   nir_def *quad = nir_iand(b, look->is_block, look->in_quad);
   nir_def *bit = nir_bcsel(b, quad, nir_imm_int(b, GPUVAL_SHADOW_QUAD), nir_imm_int(b, 0));
   return (struct party){mark.lo, nir_ior(b, mark.hi, bit)};
}

/* All of a block at once. Returns, 1 bit, whether that was all there is to do. */
static nir_def *
look_closely_at_block(nir_builder *b, const struct gpuval_shadow_self *self,
                      const struct gpuval_shadow_cells *cells,
                      const struct gpuval_shadow_block *block, nir_def *may_join,
                      nir_def **was_taken)
{
   const struct gpuval_shadow_look look = {
      .is_whole = nir_imm_true(b),
      .may_join = may_join,
      .is_block = nir_imm_true(b),
      .in_quad = block->in_quad,
   };
   nir_def *never = nir_imm_false(b), *taken;

   nir_push_if(b, block->leads);
   nir_def *done = gpuval_shadow_look_some_times(
      b, self, gpuval_shadow_block_cell(b, cells, cells->address), &look, &taken);
   nir_pop_if(b, NULL);
   done = nir_if_phi(b, done, never);
   taken = nir_if_phi(b, taken, never);

   *was_taken = nir_iand(b, block->fits, gpuval_shadow_share_quad(b, block, taken));
   return nir_iand(b, block->fits, gpuval_shadow_share_quad(b, block, done));
}

void
gpuval_shadow_make_whole(nir_builder *b, const struct gpuval_nir_driver *driver,
                         const struct gpuval_shadow_self *self,
                         const struct gpuval_shadow_cells *cells,
                         const struct gpuval_shadow_block *block, nir_def *is_clean)
{
   const struct gpuval_shadow_look look = {.is_block = nir_imm_true(b), .in_quad = block->in_quad};
   struct party nobody = {nir_imm_int(b, 0), nir_imm_int(b, 0)};

   is_clean = nir_iand(b, is_clean, nir_inot(b, self->is_read));
   is_clean = all_of_quad(b, driver, block, is_clean);
   nir_push_if(b, nir_iand(b, block->leads, is_clean));
   {
      nir_def *cell = gpuval_shadow_block_cell(b, cells, cells->address);
      gpuval_shadow_store_half(b, cell, GPUVAL_SHADOW_READERS, nobody);
      gpuval_shadow_store_half(b, cell, 0, gpuval_shadow_give_form(b, &look, self->mark));
   }
   nir_pop_if(b, NULL);
}

nir_def *
gpuval_shadow_look_at_block(nir_builder *b, const struct gpuval_nir_driver *driver,
                            const struct gpuval_shadow_self *self,
                            const struct gpuval_nir_access_params *params,
                            const struct gpuval_shadow_cells *cells, nir_def *may_join,
                            struct gpuval_shadow_block *block, nir_def **was_taken)
{
   nir_variable *done_var = nir_local_variable_create(b->impl, glsl_bool_type(), "block_done");
   nir_variable *taken_var = nir_local_variable_create(b->impl, glsl_bool_type(), "block_taken");
   nir_def *has_cells = nir_ine_imm(b, cells->address, 0);

   *block = gpuval_shadow_find_block(b, driver, params,
                                     nir_iand(b, has_cells, nir_inot(b, self->is_atomic)));
   nir_store_var(b, done_var, nir_imm_false(b), 0x1);
   nir_store_var(b, taken_var, nir_imm_false(b), 0x1);
   nir_push_if(b, block->fits);
   {
      nir_def *taken;
      nir_store_var(b, done_var, look_closely_at_block(b, self, cells, block, may_join, &taken),
                    0x1);
      nir_store_var(b, taken_var, taken, 0x1);
   }
   nir_pop_if(b, NULL);
   *was_taken = nir_load_var(b, taken_var);
   return nir_load_var(b, done_var);
}
