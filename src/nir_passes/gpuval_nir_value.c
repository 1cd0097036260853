/* SPDX-License-Identifier: MIT */

/* What a store stores, as one word: itself where it has up to 4 bytes, else a hash of its
 * words. So that a hazard can say that nothing has changed by it: gpuval_site::same_value.
 */

#include "gpuval_nir_private.h"

/* @words: so many have been put in */
static nir_def *
mix(nir_builder *b, nir_def *value, nir_def *word)
{
   value = nir_imul_imm(b, nir_ixor(b, value, nir_ushr_imm(b, value, 15)), 0x2c1b3c6d);
   value = nir_ixor(b, value, nir_ushr_imm(b, value, 12));
   return nir_iadd(b, nir_imul_imm(b, value, 0x297a2d39), word);
}

nir_def *
gpuval_nir_value(nir_builder *b, nir_def *data, unsigned first, unsigned count)
{
   nir_def *words[NIR_MAX_VEC_COMPONENTS * 2] = {NULL};
   unsigned bit = 0;

   for (unsigned i = first; i < first + count; i++, bit += data->bit_size) {
      nir_def *component = nir_channel(b, data, i);
      nir_def *halves[2] = {component, NULL};
      if (data->bit_size == 64) {
         halves[0] = nir_unpack_64_2x32_split_x(b, component);
         halves[1] = nir_unpack_64_2x32_split_y(b, component);
      } else if (data->bit_size < 32) {
         halves[0] = nir_ishl_imm(b, nir_u2u32(b, component), bit % 32);
      }
      for (unsigned j = 0; j < 2 && halves[j]; j++) {
         nir_def **word = &words[bit / 32 + j];
         *word = *word ? nir_ior(b, *word, halves[j]) : halves[j];
      }
   }

   nir_def *value = words[0];
   for (unsigned i = 1; i < DIV_ROUND_UP(bit, 32); i++)
      value = mix(b, value, words[i]);
   return value;
}

/* What gpuval_nir_value() is of @size bytes of memory. Byte by byte, by words that are aligned:
 * none is on a page that has nothing of it.
 */
static nir_def *
load_value(nir_builder *b, nir_def *address, nir_def *size)
{
   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "byte");
   nir_variable *word_var = nir_local_variable_create(b->impl, glsl_uint_type(), "word");
   nir_variable *value_var = nir_local_variable_create(b->impl, glsl_uint_type(), "value");
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, word_var, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, value_var, nir_imm_int(b, 0), 0x1);

   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      nir_break_if(b, nir_uge(b, i, size));
      nir_def *next = nir_iadd_imm(b, i, 1);
      nir_store_var(b, i_var, next, 0x1);

      nir_def *at = nir_iadd(b, address, nir_u2u64(b, i));
      nir_def *loaded = nir_build_load_global(b, 1, 32, nir_iand_imm(b, at, ~(uint64_t)3),
                                              .align_mul = 4, .access = ACCESS_COHERENT);
      nir_def *in_word = nir_ishl_imm(b, nir_iand_imm(b, nir_unpack_64_2x32_split_x(b, at), 3), 3);
      nir_def *byte = nir_iand_imm(b, nir_ushr(b, loaded, in_word), 0xff);
      nir_def *word = nir_ior(b, nir_load_var(b, word_var),
                              nir_ishl(b, byte, nir_ishl_imm(b, nir_iand_imm(b, i, 3), 3)));
      nir_def *is_whole =
         nir_ior(b, nir_ieq_imm(b, nir_iand_imm(b, next, 3), 0), nir_ieq(b, next, size));
      nir_def *value = nir_load_var(b, value_var);
      nir_def *mixed = nir_bcsel(b, nir_ult_imm(b, i, 4), word, mix(b, value, word));
      nir_store_var(b, value_var, nir_bcsel(b, is_whole, mixed, value), 0x1);
      nir_store_var(b, word_var, nir_bcsel(b, is_whole, nir_imm_int(b, 0), word), 0x1);
   }
   nir_pop_loop(b, loop);
   return nir_load_var(b, value_var);
}

/* Of what is no store nothing is loaded: texels may have numbers, where nothing is
 * (core/memory/gpuval_texels.h).
 */
nir_def *
gpuval_nir_has_value_at(nir_builder *b, const struct gpuval_nir_access_params *params,
                        nir_def *address, nir_def *size)
{
   nir_def *there =
      load_value(b, address, nir_bcsel(b, params->has_value, size, nir_imm_int(b, 0)));
   return nir_iand(b, params->has_value, nir_ieq(b, there, params->value));
}

/* Lanes that run for nobody may have the mark of one that does, but not what that one loads: draw
 * has the last vertex in all that are left over. So one such lane is enough.
 */
nir_def *
gpuval_nir_is_lanes_value(nir_builder *b, unsigned num_lanes, nir_def *const *mark,
                          nir_def *const *other, nir_def *value)
{
   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "lane");
   nir_variable *same_var = nir_local_variable_create(b->impl, glsl_bool_type(), "same");
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, same_var, nir_imm_false(b), 0x1);

   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      nir_break_if(b, nir_uge_imm(b, i, num_lanes));
      nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);
      nir_def *is_same = nir_ieq(b, nir_read_invocation(b, value, i), value);
      for (unsigned j = 0; j < 2; j++)
         is_same = nir_iand(b, is_same, nir_ieq(b, nir_read_invocation(b, mark[j], i), other[j]));
      nir_store_var(b, same_var, nir_ior(b, nir_load_var(b, same_var), is_same), 0x1);
   }
   nir_pop_loop(b, loop);
   return nir_load_var(b, same_var);
}
