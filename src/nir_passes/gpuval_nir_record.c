/* SPDX-License-Identifier: MIT */

/* A failure: it is counted at its site, and tries to claim a record.
 *
 *    counters[site] += 1                       (64-bit atomic; see record_merged())
 *    if it was 0: failing[num_failing++] = site
 *    poll.failed = 1
 *    for each slot of gpuval_slot(site, shader hash, command id):
 *       if control[slot / 16] has not bit slot % 16:
 *          if atomic_or(control[slot / 16], bit) had not:
 *             records[slot] = ...
 *             release
 *             atomic_or(control[slot / 16], bit << 16)
 *             poll.failed = 1
 *             return
 *       if control[slot / 16] has bit << 16, and the record is of this site and command: return
 *
 * A slot that is claimed and not published counts as somebody else's: another invocation is
 * writing it, and may be of the same site. Then the site has two records, of which the host keeps
 * one. Lanes of llvmpipe that have tried one slot together find the record of the one that got it.
 *
 * Where the code is part of each shader, it is shorter: all that the host keeps of a site is its
 * first record, so whoever counts first writes it, and its number is that of the slot. Sessions
 * (GPUVAL_RECORD) want a first record each, so there it is as above.
 */

#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval_nir_private.h"

nir_def *
gpuval_nir_load_address(nir_builder *b, bool scalar, nir_def *root, unsigned offset)
{
   if (!scalar)
      return gpuval_nir_load_root(b, root, 64, offset);
   return nir_build_load_global(b, 1, 64, nir_iadd_imm(b, root, offset), .align_mul = 8,
                                .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER);
}

/* None of the arrays has 4 GiB. On a GPU, an offset of 32 bits is part of the access. */
nir_def *
gpuval_nir_element_address(nir_builder *b, nir_def *array, nir_def *index, unsigned stride)
{
   return nir_iadd(b, array, nir_u2u64(b, nir_imul_imm(b, index, stride)));
}

/* Two words with one instruction: masked stores are long on llvmpipe. */
static void
store_words(nir_builder *b, nir_def *record, unsigned word, nir_def *lo, nir_def *hi)
{
   gpuval_store_global(b, nir_iadd_imm(b, record, word * 4), 8, nir_pack_64_2x32_split(b, lo, hi),
                       0x1);
}

/* Where one lane reports for all, nothing differs between lanes. That spares masks of lanes
 * and arithmetic for each of them, which is half of the code.
 */
static nir_def *
uniform(nir_builder *b, const struct gpuval_nir_failure *f, nir_def *value)
{
   return f->merged_lanes ? nir_read_first_invocation(b, value) : value;
}

static void
store_vec4(nir_builder *b, nir_def *record, unsigned word, nir_def *words)
{
   gpuval_store_global(b, nir_iadd_imm(b, record, word * 4), 16, words, 0xf);
}

/* Keeps stores apart: one clause of them all is one of 16 registers, in code that hardly runs. */
static void
separate(nir_builder *b)
{
   nir_barrier(b, .memory_scope = SCOPE_SUBGROUP, .memory_semantics = NIR_MEMORY_RELEASE,
               .memory_modes = nir_var_mem_global);
}

static void
write_record(nir_builder *b, nir_def *record, const struct gpuval_nir_failure *f)
{
   if (f->merged_lanes) { /* no llvmpipe */
      store_vec4(b, record, 0, nir_vec4(b, f->hash_lo, f->hash_hi, f->site, f->command_id));
      separate(b);
      store_vec4(b, record, 4,
                 nir_vec4(b, f->stage, f->invocation[0], f->invocation[1], f->invocation[2]));
      separate(b);
      store_vec4(b, record, 8, nir_vec4(b, f->offset, f->access_size, f->bound, f->slot));
      separate(b);
      store_vec4(b, record, 12,
                 nir_vec4(b, nir_unpack_64_2x32_split_x(b, f->address),
                          nir_unpack_64_2x32_split_y(b, f->address), f->set, f->other));
      return;
   }

   store_words(b, record, 0, f->hash_lo, f->hash_hi);
   store_words(b, record, 2, f->site, f->command_id);
   store_words(b, record, 4, f->stage, f->invocation[0]);
   store_words(b, record, 6, f->invocation[1], f->invocation[2]);
   store_words(b, record, 8, f->offset, f->access_size);
   store_words(b, record, 10, f->bound, f->slot);
   gpuval_store_global(b, nir_iadd_imm(b, record, 48), 8, f->address, 0x1);
   store_words(b, record, 14, f->set, f->other);
}

static nir_def *
slot_word(nir_builder *b, nir_def *control, nir_def *slot)
{
   return gpuval_nir_element_address(b, control, nir_ushr_imm(b, slot, 4), sizeof(uint32_t));
}

/* Bit 0: the slot is claimed, SLOTS_PER_WORD: its record is published. */
static nir_def *
load_slot_bits(nir_builder *b, const struct gpuval_nir_failure *f, nir_def *control, nir_def *slot)
{
   nir_def *word =
      nir_build_load_global(b, 1, 32, slot_word(b, control, slot), .access = ACCESS_COHERENT);
   return nir_ushr(b, uniform(b, f, word), nir_iand_imm(b, slot, 15));
}

/* Returns whether the slot, which has these bits, has a published record of the failure's site
 * and command.
 */
static nir_def *
has_own_record(nir_builder *b, const struct gpuval_nir_failure *f, nir_def *bits, nir_def *records,
               nir_def *slot)
{
   nir_def *pair = nir_build_load_global(
      b, 2, 32,
      nir_iadd_imm(b, gpuval_nir_element_address(b, records, slot, sizeof(struct gpuval_record)),
                   offsetof(struct gpuval_record, site)),
      .align_mul = 8, .access = ACCESS_COHERENT);
   nir_def *published = nir_ine_imm(b, nir_iand_imm(b, bits, 1u << GPUVAL_SLOTS_PER_WORD), 0);
   nir_def *other = nir_ior(b, nir_ixor(b, uniform(b, f, nir_channel(b, pair, 0)), f->site),
                            nir_ixor(b, uniform(b, f, nir_channel(b, pair, 1)), f->command_id));

   return nir_iand(b, published, nir_ieq_imm(b, other, 0));
}

/* Sets bits of a word, and returns what it was. Behind a bus there may be no atomic OR, but
 * compare-and-swap.
 */
static nir_def *
set_bits(nir_builder *b, const struct gpuval_nir_failure *f, nir_def *word, nir_def *bits)
{
   if (!f->swaps)
      return uniform(b, f, nir_global_atomic(b, 32, word, bits, .atomic_op = nir_atomic_op_ior));

   nir_variable *before = nir_local_variable_create(b->impl, glsl_uint_type(), "before");
   nir_store_var(b, before, nir_imm_int(b, 0), 0x1);
   nir_push_loop(b);
   {
      nir_def *expected = nir_load_var(b, before);
      nir_def *found =
         uniform(b, f,
                 nir_global_atomic_swap(b, 32, word, expected, nir_ior(b, expected, bits),
                                        .atomic_op = nir_atomic_op_cmpxchg));
      nir_def *were_set = nir_ieq(b, nir_iand(b, found, bits), bits);
      nir_store_var(b, before, found, 0x1);
      nir_break_if(b, nir_ior(b, nir_ieq(b, found, expected), were_set));
   }
   nir_pop_loop(b, NULL);
   return nir_load_var(b, before);
}

/* Returns what the counter was. */
static nir_def *
add_count(nir_builder *b, const struct gpuval_nir_failure *f, nir_def *count)
{
   nir_def *counters = gpuval_nir_load_address(b, f->merged_lanes, f->root,
                                               offsetof(struct gpuval_root, counters_address));
   return nir_global_atomic(b, 64,
                            gpuval_nir_element_address(b, counters, f->site, sizeof(uint64_t)),
                            count, .atomic_op = nir_atomic_op_iadd);
}

/* Of the sites that have failed */
static nir_def *
take_number(nir_builder *b, const struct gpuval_nir_failure *f)
{
   return uniform(
      b, f,
      nir_global_atomic(b, 32, nir_iadd_imm(b, f->root, offsetof(struct gpuval_root, num_failing)),
                        nir_imm_int(b, 1), .atomic_op = nir_atomic_op_iadd));
}

/* The host reads the counters of the sites in that list only. */
static void
count_failure(nir_builder *b, const struct gpuval_nir_failure *f, nir_def *count)
{
   nir_def *before = add_count(b, f, count);

   nir_push_if(b, nir_ieq_imm(b, uniform(b, f, before), 0));
   {
      nir_def *max_failing =
         gpuval_nir_load_root(b, f->root, 32, offsetof(struct gpuval_root, max_failing));
      nir_def *number = take_number(b, f);

      nir_push_if(b, nir_ult(b, number, max_failing));
      {
         nir_def *failing = gpuval_nir_load_address(b, f->merged_lanes, f->root,
                                                    offsetof(struct gpuval_root, failing_address));
         gpuval_store_global(b, gpuval_nir_element_address(b, failing, number, sizeof(uint32_t)), 4,
                             f->site, 0x1);
      }
      nir_pop_if(b, NULL);
   }
   nir_pop_if(b, NULL);
}

static void
tell_host(nir_builder *b, const struct gpuval_nir_failure *f)
{
   nir_def *poll = gpuval_nir_load_address(b, f->merged_lanes, f->root,
                                           offsetof(struct gpuval_root, poll_address));

   gpuval_store_global(b, nir_iadd_imm(b, poll, offsetof(struct gpuval_poll, failed)), 4,
                       nir_imm_int(b, 1), 0x1);
}

/* Writes the record into its slot, unless that is taken. Ends the loop over slots, if there is
 * one, where it has written.
 */
static void
fill_slot(nir_builder *b, const struct gpuval_nir_failure *f, nir_def *control, nir_def *records,
          nir_def *slot)
{
   nir_def *word = slot_word(b, control, slot);
   nir_def *bit = nir_ishl(b, nir_imm_int(b, 1), nir_iand_imm(b, slot, 15));
   nir_def *before = set_bits(b, f, word, bit);

   nir_push_if(b, nir_ieq_imm(b, nir_iand(b, before, bit), 0));
   {
      write_record(b, gpuval_nir_element_address(b, records, slot, sizeof(struct gpuval_record)),
                   f);
      nir_barrier(b, .memory_scope = SCOPE_DEVICE, .memory_semantics = NIR_MEMORY_RELEASE,
                  .memory_modes = nir_var_mem_global);
      set_bits(b, f, word, nir_ishl_imm(b, bit, 16));
      /* The host may have looked since the failure was counted. */
      nir_barrier(b, .memory_scope = SCOPE_DEVICE, .memory_semantics = NIR_MEMORY_RELEASE,
                  .memory_modes = nir_var_mem_global);
      if (!f->is_first_only) {
         tell_host(b, f);
         nir_jump(b, nir_jump_break);
      }
   }
   nir_pop_if(b, NULL);
}

static nir_def *
load_slots(nir_builder *b, const struct gpuval_nir_failure *f)
{
   return gpuval_nir_load_address(b, f->merged_lanes, f->root,
                                  offsetof(struct gpuval_root, slots_address));
}

static void
record_each(nir_builder *b, const struct gpuval_nir_failure *f, nir_def *count)
{
   count_failure(b, f, count);
   tell_host(b, f);

   nir_def *control = load_slots(b, f);
   nir_def *records = nir_iadd_imm(b, control, offsetof(struct gpuval_slots, records));
   nir_def *first = nir_ixor(b, nir_imul_imm(b, f->site, GPUVAL_SLOT_SITE_FACTOR),
                             nir_ixor(b, f->hash_lo, f->hash_hi));
   first = nir_ixor(b, first, nir_imul_imm(b, f->command_id, GPUVAL_SLOT_COMMAND_FACTOR));
   nir_def *step = nir_iadd(b, nir_imul_imm(b, f->site, GPUVAL_STEP_SITE_FACTOR),
                            nir_imul_imm(b, f->command_id, GPUVAL_STEP_COMMAND_FACTOR));
   step = nir_ior_imm(b, nir_ushr_imm(b, step, 32 - GPUVAL_SLOT_COUNT_LOG2), 1);

   nir_variable *attempt_var = nir_local_variable_create(b->impl, glsl_uint_type(), "attempt");
   nir_store_var(b, attempt_var, nir_imm_int(b, 0), 0x1);
   nir_push_loop(b);
   {
      nir_def *attempt = nir_load_var(b, attempt_var);
      nir_break_if(b, nir_uge_imm(b, attempt, GPUVAL_SLOT_TRIES));
      nir_store_var(b, attempt_var, nir_iadd_imm(b, attempt, 1), 0x1);
      nir_def *slot =
         nir_iand_imm(b, nir_iadd(b, first, nir_imul(b, step, attempt)), GPUVAL_SLOT_COUNT - 1);

      /* Only a hint, but it spares all the later failures the atomic. */
      nir_def *bits = load_slot_bits(b, f, control, slot);
      nir_push_if(b, nir_ieq_imm(b, nir_iand_imm(b, bits, 1), 0));
      fill_slot(b, f, control, records, slot);
      nir_def *bits_now = load_slot_bits(b, f, control, slot);
      nir_pop_if(b, NULL);
      bits = nir_if_phi(b, bits_now, bits);
      nir_break_if(b, has_own_record(b, f, bits, records, slot));
   }
   nir_pop_loop(b, NULL);
}

/* The list has room for all sites; what is beyond tells the host to look at all of them. */
static void
record_first(nir_builder *b, const struct gpuval_nir_failure *f, nir_def *count)
{
   nir_def *before = add_count(b, f, count);

   nir_push_if(b, nir_ieq_imm(b, before, 0));
   {
      static_assert(offsetof(struct gpuval_root, max_failing) ==
                       offsetof(struct gpuval_root, failing_address) + sizeof(uint64_t),
                    "one load");
      nir_def *list = nir_build_load_global(
         b, 4, 32, nir_iadd_imm(b, f->root, offsetof(struct gpuval_root, failing_address)),
         .align_mul = 8, .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER);
      nir_def *number = take_number(b, f);
      nir_def *place = nir_umin(b, number, nir_iadd_imm(b, nir_channel(b, list, 2), -1));
      nir_def *failing = nir_pack_64_2x32(b, nir_trim_vector(b, list, 2));
      gpuval_store_global(b, gpuval_nir_element_address(b, failing, place, sizeof(uint32_t)), 4,
                          f->site, 0x1);

      nir_def *control = load_slots(b, f);
      fill_slot(b, f, control, nir_iadd_imm(b, control, offsetof(struct gpuval_slots, records)),
                nir_iand_imm(b, number, GPUVAL_SLOT_COUNT - 1));
   }
   nir_pop_if(b, NULL);
   tell_host(b, f);
}

static void
record_one(nir_builder *b, const struct gpuval_nir_failure *f, nir_def *count)
{
   if (f->is_first_only)
      record_first(b, f, count);
   else
      record_each(b, f, count);
}

/* All lanes have the same site: one of them does it. */
static void
record_by_one(nir_builder *b, const struct gpuval_nir_failure *f)
{
   nir_def *lanes = nir_ballot(b, 1, f->merged_lanes, nir_imm_true(b));
   nir_def *count = nir_u2u64(b, nir_bit_count(b, lanes));

   nir_push_if(b, nir_elect(b, 1));
   {
      struct gpuval_nir_failure one = *f;
      one.site = uniform(b, f, f->site);
      one.hash_lo = uniform(b, f, f->hash_lo);
      one.hash_hi = uniform(b, f, f->hash_hi);
      record_one(b, &one, count);
   }
   nir_pop_if(b, NULL);
}

/* Atomics of many lanes at one address are done one after the other, millions of them where
 * all of a screen fails. So one lane of those with the same site does it for all. Helper
 * lanes do not count, and would do nothing.
 */
static void
record_merged(nir_builder *b, const struct gpuval_nir_failure *f)
{
   if (b->shader->info.stage == MESA_SHADER_FRAGMENT)
      nir_push_if(b, nir_inot(b, nir_is_helper_invocation(b, 1)));

   if (f->is_one_site) {
      record_by_one(b, f);
   } else {
      nir_push_loop(b);
      {
         nir_push_if(b, nir_ieq(b, f->site, nir_read_first_invocation(b, f->site)));
         {
            record_by_one(b, f);
            nir_jump(b, nir_jump_break);
         }
         nir_pop_if(b, NULL);
      }
      nir_pop_loop(b, NULL);
   }

   if (b->shader->info.stage == MESA_SHADER_FRAGMENT)
      nir_pop_if(b, NULL);
}

void
gpuval_nir_record_failure(nir_builder *b, const struct gpuval_nir_failure *f)
{
   if (f->merged_lanes)
      record_merged(b, f);
   else
      record_one(b, f, nir_imm_int64(b, 1));
}
