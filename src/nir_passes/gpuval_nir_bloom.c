/* SPDX-License-Identifier: MIT */

/* What @sync_gpuval means: marks an access in the bloom filter and reports it
 * if it is a hazard. base/gpuval_bloom.h has the layout, base/gpuval_bloom.c
 * the same for the host.
 *
 *    load all buckets
 *    if a bucket lacks a mark of ours, or all have one against us:
 *       atomic_or the marks into the first bucket
 *       seen = what all buckets had, or what has just appeared in the first
 *       lock = ours, if nobody has claimed these bytes as far as seen
 *       atomic_or marks and lock into the others, and the lock into the first
 *       if hazard, and not (our lock, or one of our workgroup's before the last
 *       barrier, in all of them), and the claim does not say no: report
 *       update the claim
 *
 * So an access that has been marked before costs loads only. vkd3d-proton takes what
 * was in all the buckets from its atomics, one after the other; here those who mark
 * a granule at the same time meet at the first bucket, and one of them is second
 * there. The others need no answer, which makes them cheaper.
 *
 * Four invocations of a quad that access the words of one granule, as in most
 * shaders they do, send one of them with the marks of all.
 */

#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval_nir_private.h"

static const uint32_t primes[GPUVAL_BLOOM_MAX_HASHES] = GPUVAL_BLOOM_PRIMES;

struct bucket {
   nir_def *address; /* 64 bit */
   nir_def *lo, *hi; /* before our marks */
};

/* docs/protocols.rst, "Hash functions" */
static void
build_hash(nir_builder *b, nir_def *x, nir_def *y, uint32_t prime, nir_def *hash[2])
{
   for (unsigned i = 0; i < 6; i++) {
      nir_def *next_x = nir_imul_imm(b, nir_ixor(b, nir_ushr_imm(b, x, 8), y), prime);
      nir_def *next_y = nir_imul_imm(b, nir_ixor(b, nir_ushr_imm(b, y, 8), x), prime);
      x = next_x;
      y = next_y;
   }

   hash[0] = x;
   hash[1] = y;
}

static nir_def *
build_bucket_index(nir_builder *b, nir_def *address_lo, nir_def *hash, nir_def *line_mask)
{
   nir_def *in_line =
      nir_iand_imm(b, nir_ixor(b, nir_ushr_imm(b, address_lo, 4), nir_ushr_imm(b, hash, 29)), 7);

   return nir_ior(b, nir_ishl_imm(b, nir_iand(b, hash, line_mask), GPUVAL_BLOOM_LINE_LOG2),
                  in_line);
}

/* One bit in each of the upper three bytes of a bucket. @mixed: of this id. */
static nir_def *
build_lock(nir_builder *b, nir_def *mixed, unsigned index)
{
   unsigned shift = index % 3 * 9;
   nir_def *lock = NULL;

   for (unsigned i = 0; i < 3; i++) {
      nir_def *bit = nir_ishl(b, nir_imm_int(b, 256u << (8 * i)),
                              nir_iand_imm(b, nir_ushr_imm(b, mixed, shift + 3 * i), 7));
      lock = lock ? nir_ior(b, lock, bit) : bit;
   }
   return lock;
}

/* 9 bits of the id a bucket; it is mixed again after three of them. */
static nir_def *
mix_id(nir_builder *b, nir_def *id, unsigned index)
{
   if (!index || index % 3)
      return id;

   return nir_imul_imm(b, nir_ixor(b, id, nir_ushr_imm(b, id, 15)), 0x2c1b3c6d);
}

/* Do all buckets have the locks of @id? */
static nir_def *
is_locked(nir_builder *b, const struct bucket *buckets, unsigned hashes, nir_def *id)
{
   nir_def *missing = NULL;

   for (unsigned i = 0; i < hashes; i++) {
      id = mix_id(b, id, i);
      nir_def *lock = build_lock(b, id, i);
      nir_def *bits = nir_iand(b, lock, nir_inot(b, buckets[i].hi));
      missing = missing ? nir_ior(b, missing, bits) : bits;
   }
   return nir_ieq_imm(b, missing, 0);
}

static nir_def *
phase_id(nir_builder *b, nir_def *token, nir_def *phase)
{
   nir_def *id = nir_iadd(b, token, nir_imul_imm(b, phase, 0x9e3779b1));
   return nir_imul_imm(b, nir_ixor(b, id, nir_ushr_imm(b, id, 16)), 0x7feb352d);
}

/* Is there, in all buckets, a lock of the workgroup from before a barrier? */
static nir_def *
is_exchanged(nir_builder *b, const struct bucket *buckets, unsigned hashes, nir_def *token,
             nir_def *phase)
{
   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "phase");
   nir_variable *found_var = nir_local_variable_create(b->impl, glsl_bool_type(), "exchanged");
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, found_var, nir_imm_false(b), 0x1);

   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      nir_break_if(b, nir_uge(b, i, nir_umin(b, phase, nir_imm_int(b, GPUVAL_BLOOM_PHASES))));
      nir_def *locked = is_locked(b, buckets, hashes, phase_id(b, token, i));
      nir_store_var(b, found_var, nir_ior(b, nir_load_var(b, found_var), locked), 0x1);
      nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);
   }
   nir_pop_loop(b, loop);

   return nir_load_var(b, found_var);
}

struct masks {
   nir_def *byte, *word;
   nir_def *lo, *hi; /* what the access invalidates */
};

static struct masks
build_masks(nir_builder *b, nir_def *address_lo, nir_def *size, nir_def *type)
{
   nir_def *in_granule = nir_iand_imm(b, address_lo, GPUVAL_BLOOM_GRANULE - 1);
   nir_def *one = nir_imm_int(b, 1);
   nir_def *bytes = nir_iadd_imm(b, nir_ishl(b, one, size), -1);
   nir_def *in_word = nir_iand_imm(b, address_lo, 3);
   nir_def *num_words = nir_ushr_imm(b, nir_iadd_imm(b, nir_iadd(b, in_word, size), 3), 2);
   nir_def *words = nir_iadd_imm(b, nir_ishl(b, one, num_words), -1);

   struct masks masks = {
      .byte = nir_iand_imm(b, nir_ishl(b, bytes, in_granule), 0xffff),
      .word = nir_iand_imm(b, nir_ishl(b, words, nir_ushr_imm(b, in_granule, 2)), 0xf),
   };

   /* Loads invalidate stores and atomics; stores everything; atomics everything
    * but atomics.
    */
   nir_def *is_load = nir_ieq_imm(b, type, GPUVAL_BLOOM_LOAD);
   nir_def *is_store = nir_ieq_imm(b, type, GPUVAL_BLOOM_STORE);
   nir_def *stores = nir_ishl_imm(b, masks.byte, 16);
   masks.lo = nir_bcsel(b, is_load, stores, nir_ior(b, stores, masks.byte));
   nir_def *indirect = nir_ishl_imm(b, masks.word, 4);
   masks.hi = nir_bcsel(b, is_load, masks.word,
                        nir_bcsel(b, is_store, nir_ior(b, indirect, masks.word), indirect));
   return masks;
}

static nir_def *
is_hazard(nir_builder *b, const struct masks *masks, nir_def *lo, nir_def *hi, nir_def *type,
          nir_def *flags)
{
   nir_def *bad_load = nir_iand(b, lo, masks->byte);
   nir_def *bad_store = nir_iand(b, nir_ushr_imm(b, lo, 16), masks->byte);
   nir_def *bad_atomic = nir_iand(b, hi, masks->word);

   /* What only loads have made invalid may be in order. */
   nir_def *keep = nir_iand_imm(b, flags, GPUVAL_SYNC_WRITE_AFTER_READ_OK);
   nir_def *all = nir_imm_int(b, ~0);
   nir_def *zero = nir_imm_int(b, 0);
   bad_store = nir_iand(b, bad_store, nir_bcsel(b, nir_ine_imm(b, keep, 0), bad_load, all));
   nir_def *any = nir_iand_imm(b, flags, GPUVAL_SYNC_WRITE_AFTER_WRITE_OK);
   bad_store = nir_bcsel(b, nir_ine_imm(b, any, 0), zero, bad_store);
   bad_atomic = nir_bcsel(b, nir_iand(b, nir_ine_imm(b, keep, 0), nir_ieq_imm(b, bad_load, 0)),
                          zero, bad_atomic);

   nir_def *bad =
      nir_bcsel(b, nir_ieq_imm(b, type, GPUVAL_BLOOM_LOAD), bad_load,
                nir_bcsel(b, nir_ieq_imm(b, type, GPUVAL_BLOOM_STORE), bad_store, bad_atomic));
   return nir_ine_imm(b, bad, 0);
}

/* 1 bit: has nobody claimed any of the bytes, as far as @lo knows? */
static nir_def *
is_unclaimed(nir_builder *b, const struct masks *masks, nir_def *lo)
{
   return nir_ieq_imm(b, nir_iand(b, nir_ushr_imm(b, lo, 16), masks->byte), 0);
}

static nir_def *
swap_horizontal(nir_builder *b, nir_def *def)
{
   return nir_quad_swap_horizontal(b, def);
}

static nir_def *
swap_vertical(nir_builder *b, nir_def *def)
{
   return nir_quad_swap_vertical(b, def);
}

/* Bits of all invocations of a quad */
static nir_def *
quad_or(nir_builder *b, nir_def *bits)
{
   bits = nir_ior(b, bits, swap_horizontal(b, bits));
   return nir_ior(b, bits, swap_vertical(b, bits));
}

struct quad {
   nir_def *here;   /* ~0 for invocations that are, 0 for others; NULL: not known */
   nir_def *merged; /* 1 bit, the same in all of a quad: one acts for all */
   nir_def *acts;   /* 1 bit: for itself, or for its quad */
};

static nir_def *
quad_bits(nir_builder *b, const struct quad *quad, nir_def *bits)
{
   if (!quad->here)
      return bits;
   return nir_bcsel(b, quad->merged, quad_or(b, nir_iand(b, bits, quad->here)), bits);
}

/* One can act for all if all that are here access one granule, in words of
 * their own.
 */
static struct quad
build_quad(nir_builder *b, nir_def *here, nir_def *granule, nir_def *word_mask)
{
   if (!here)
      return (struct quad){.acts = nir_imm_true(b)};

   nir_def *granules[4] = {granule}, *words[4] = {word_mask}, *present[4] = {here};
   nir_def *conflict = nir_imm_int(b, 0), *before = nir_imm_int(b, 0);
   nir_def *lane = nir_load_subgroup_invocation(b);
   for (unsigned i = 1; i < 4; i++) {
      unsigned from = i == 3 ? 1 : 0;
      nir_def *(*swap)(nir_builder *, nir_def *) = i == 1 ? swap_horizontal : swap_vertical;
      granules[i] = swap(b, granules[from]);
      words[i] = swap(b, words[from]);
      present[i] = swap(b, present[from]);
      nir_def *differs =
         nir_ior(b, nir_ixor(b, granules[i], granule), nir_iand(b, words[i], word_mask));
      conflict = nir_ior(b, conflict, nir_iand(b, present[i], differs));

      /* Lane ^ i is before this one if it has a 0 where this one has a 1. */
      nir_def *is_before = nir_ine_imm(b, nir_iand_imm(b, lane, i == 3 ? 2 : i), 0);
      before = nir_ior(b, before, nir_bcsel(b, is_before, present[i], nir_imm_int(b, 0)));
   }

   struct quad quad = {.here = here};
   quad.merged = nir_ieq_imm(b, quad_or(b, nir_iand(b, conflict, here)), 0);
   quad.acts = nir_ior(b, nir_inot(b, quad.merged), nir_ieq_imm(b, before, 0));
   return quad;
}

/* 1 bit: does the bucket lack any of these marks? */
static nir_def *
build_missing(nir_builder *b, const struct bucket *bucket, nir_def *lo, nir_def *hi)
{
   return nir_ine_imm(b,
                      nir_ior(b, nir_iand(b, lo, nir_inot(b, bucket->lo)),
                              nir_iand(b, hi, nir_inot(b, bucket->hi))),
                      0);
}

/* Marks the first bucket. @lo, @hi: bits that were not there a moment ago */
static void
mark_first(nir_builder *b, const struct bucket *bucket, const struct quad *quad, nir_def *mark_lo,
           nir_def *mark_hi, nir_def **lo, nir_def **hi)
{
   nir_def *zero = nir_imm_int(b, 0);

   nir_push_if(b, nir_iand(b, quad->acts, build_missing(b, bucket, mark_lo, mark_hi)));
   nir_def *before =
      nir_global_atomic(b, 64, bucket->address, nir_pack_64_2x32_split(b, mark_lo, mark_hi),
                        .atomic_op = nir_atomic_op_ior);
   nir_def *new_lo = nir_iand(b, nir_unpack_64_2x32_split_x(b, before), nir_inot(b, bucket->lo));
   nir_def *new_hi = nir_iand(b, nir_unpack_64_2x32_split_y(b, before), nir_inot(b, bucket->hi));
   nir_pop_if(b, NULL);

   new_lo = nir_if_phi(b, new_lo, zero);
   new_hi = nir_if_phi(b, new_hi, zero);
   *lo = quad_bits(b, quad, new_lo);
   *hi = quad_bits(b, quad, new_hi);
}

static void
mark_more(nir_builder *b, const struct bucket *bucket, const struct quad *quad, nir_def *mark_lo,
          nir_def *mark_hi)
{
   nir_push_if(b, nir_iand(b, quad->acts, build_missing(b, bucket, mark_lo, mark_hi)));
   nir_global_atomic(b, 64, bucket->address, nir_pack_64_2x32_split(b, mark_lo, mark_hi),
                     .atomic_op = nir_atomic_op_ior);
   nir_pop_if(b, NULL);
}

/* Claims: what a granule's says, and what we make of it. */

struct claim {
   nir_def *address; /* 64 bit */
   struct claim_tags {
      nir_def *who;   /* of our granule, where it stands in the upper half */
      nir_def *words; /* the same */
   } tags;
   nir_def *known;    /* 1 bit: it is our granule's */
   nir_def *who;      /* 64 bit */
   nir_def *there;    /* 64 bit: the second half as it is */
   nir_def *words[2]; /* the halves of that, without the tag; 0 if not known */
   nir_def *owner;    /* our 12 bits */
   nir_def *access;   /* ours of them */
};

#define WORDS_TAG_IN_HI (GPUVAL_CLAIM_WORDS_TAG_SHIFT - 32)

/* gpuval_claim_words_tag() */
static struct claim_tags
get_claim_tags(nir_builder *b, nir_def *const hash[2], nir_def *line, nir_def *epoch)
{
   nir_def *mixed = nir_ixor(b, line, nir_imul_imm(b, epoch, GPUVAL_CLAIM_EPOCH_STEP));
   mixed = nir_imul_imm(b, mixed, GPUVAL_CLAIM_LINE_STEP);
   nir_def *low = nir_imul_imm(b, nir_iand_imm(b, hash[1], 0xff), 0x101);
   nir_def *words =
      nir_ixor(b, nir_ixor(b, nir_ushr_imm(b, hash[0], 16), low), nir_ushr_imm(b, mixed, 16));

   return (struct claim_tags){
      .who = nir_ishl_imm(b, nir_ushr_imm(b, hash[1], 8), GPUVAL_CLAIM_TAG_SHIFT - 32),
      .words = nir_ishl_imm(b, words, WORDS_TAG_IN_HI),
   };
}

/* The halves of the second half @there, without the tag; 0 if they are another granule's. Returns
 * whether they are ours.
 */
static nir_def *
get_claim_words(nir_builder *b, const struct claim_tags *tags, nir_def *there, nir_def *words[2])
{
   nir_def *hi = nir_unpack_64_2x32_split_y(b, there), *zero = nir_imm_int(b, 0);
   nir_def *ours = nir_ult_imm(b, nir_ixor(b, hi, tags->words), 1u << WORDS_TAG_IN_HI);

   words[0] = nir_bcsel(b, ours, nir_unpack_64_2x32_split_x(b, there), zero);
   words[1] = nir_bcsel(b, ours, nir_iand_imm(b, hi, BITFIELD_MASK(WORDS_TAG_IN_HI)), zero);
   return ours;
}

static struct claim
load_claim(nir_builder *b, nir_def *root, nir_def *index, const struct claim_tags *tags,
           const struct gpuval_nir_access_params *params)
{
   nir_def *claims =
      gpuval_nir_load_root(b, root, 64, offsetof(struct gpuval_root, claims_address));
   nir_def *mask = gpuval_nir_load_root(b, root, 32, offsetof(struct gpuval_root, claims_mask));
   nir_def *offset =
      nir_ishl_imm(b, nir_u2u64(b, nir_iand(b, index, mask)), GPUVAL_CLAIM_SIZE_LOG2);

   struct claim claim = {
      .address = nir_iadd(b, claims, offset),
      .tags = *tags,
   };
   claim.who =
      nir_build_load_global(b, 1, 64, claim.address, .access = ACCESS_COHERENT, .align_mul = 8);
   nir_def *who_hi = nir_unpack_64_2x32_split_y(b, claim.who);
   nir_def *is_who =
      nir_ult_imm(b, nir_ixor(b, who_hi, tags->who), 1u << (GPUVAL_CLAIM_TAG_SHIFT - 32));

   claim.there = nir_build_load_global(b, 1, 64, nir_iadd_imm(b, claim.address, 8),
                                       .access = ACCESS_COHERENT, .align_mul = 8);
   claim.known = nir_iand(b, is_who, get_claim_words(b, tags, claim.there, claim.words));
   for (unsigned i = 0; i < ARRAY_SIZE(claim.words); i++)
      claim.words[i] = nir_bcsel(b, claim.known, claim.words[i], nir_imm_int(b, 0));

   claim.access = nir_bcsel(
      b, nir_ieq_imm(b, params->type, GPUVAL_BLOOM_STORE), nir_imm_int(b, GPUVAL_CLAIM_STORE),
      nir_bcsel(b, nir_ieq_imm(b, params->type, GPUVAL_BLOOM_ATOMIC),
                nir_imm_int(b, GPUVAL_CLAIM_ATOMIC), nir_imm_int(b, GPUVAL_CLAIM_LOAD)));
   nir_def *id = nir_imul_imm(b, params->invocation_id, 0x9e3779b1);
   nir_def *hash = nir_umin(b, nir_iand_imm(b, nir_ushr_imm(b, id, 20), GPUVAL_CLAIM_OWNER_MASK),
                            nir_imm_int(b, GPUVAL_CLAIM_SEVERAL - 4));
   claim.owner = nir_ior(b, hash, claim.access);
   return claim;
}

/* Whoever marks a granule leaves its claim a moment later. Where @expected, this
 * waits for it, but not for long.
 */
static void
await_claim(nir_builder *b, nir_def *root, nir_def *index, const struct claim_tags *tags,
            const struct gpuval_nir_access_params *params, nir_def *expected)
{
   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "wait");
   nir_store_var(b, i_var, nir_bcsel(b, expected, nir_imm_int(b, 0), nir_imm_int(b, 256)), 0x1);

   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      nir_break_if(b, nir_uge_imm(b, i, 256));
      nir_def *known = load_claim(b, root, index, tags, params).known;
      nir_store_var(b, i_var, nir_bcsel(b, known, nir_imm_int(b, 256), nir_iadd_imm(b, i, 1)), 0x1);
   }
   nir_pop_loop(b, loop);
}

static nir_def *
claim_word(nir_builder *b, const struct claim *claim, unsigned i)
{
   unsigned shift = GPUVAL_CLAIM_WORD_BITS * i;
   nir_def *lo = claim->words[0], *hi = claim->words[1], *word;

   if (shift >= 32)
      word = nir_ushr_imm(b, hi, shift - 32);
   else if (shift + GPUVAL_CLAIM_WORD_BITS > 32)
      word = nir_ior(b, nir_ushr_imm(b, lo, shift), nir_ishl_imm(b, hi, 32 - shift));
   else
      word = nir_ushr_imm(b, lo, shift);
   return nir_iand_imm(b, word, GPUVAL_CLAIM_WORD_MASK);
}

/* Adds @value of a word to the halves @words; @value may have 12 bits. */
static void
add_word(nir_builder *b, unsigned i, nir_def *value, nir_def *words[2])
{
   unsigned shift = GPUVAL_CLAIM_WORD_BITS * i;

   if (shift < 32)
      words[0] = nir_ior(b, words[0], nir_ishl_imm(b, value, shift));
   if (shift >= 32)
      words[1] = nir_ior(b, words[1], nir_ishl_imm(b, value, shift - 32));
   else if (shift + GPUVAL_CLAIM_WORD_BITS > 32)
      words[1] = nir_ior(b, words[1], nir_ushr_imm(b, value, 32 - shift));
}

static nir_def *
has_word(nir_builder *b, const struct masks *masks, unsigned i)
{
   return nir_ine_imm(b, nir_iand_imm(b, masks->word, 1u << i), 0);
}

/* 1 bit: does some word's claim conflict? An invocation is known by one of 2^10
 * hashes. @marks: of the granule, the lower half. A claim that got lost says nothing; nor
 * does that of a word to a store of a part of it, whose own load of all may have found no
 * room for a lock.
 */
static nir_def *
claim_conflicts(nir_builder *b, const struct claim *claim, const struct masks *masks,
                nir_def *flags, nir_def *marks)
{
   nir_def *conflicts = nir_imm_false(b);
   nir_def *own = nir_iand_imm(b, claim->owner, GPUVAL_CLAIM_OWNER_MASK);
   nir_def *is_store = nir_ieq_imm(b, claim->access, GPUVAL_CLAIM_STORE);
   nir_def *loads_count =
      nir_ieq_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_WRITE_AFTER_READ_OK), 0);

   for (unsigned i = 0; i < 4; i++) {
      /* Of words that nobody has marked there is no claim. */
      nir_def *is_marked = nir_ine_imm(b, nir_iand_imm(b, marks, 0xf0000u << (4 * i)), 0);
      nir_def *bytes = nir_iand_imm(b, masks->byte, 0xfu << (4 * i));
      nir_def *is_whole = nir_ieq_imm(b, bytes, 0xfu << (4 * i));
      nir_def *can_tell = nir_ior(b, is_whole, nir_ieq_imm(b, claim->access, GPUVAL_CLAIM_LOAD));
      nir_def *has = nir_iand(b, has_word(b, masks, i), nir_iand(b, can_tell, is_marked));
      nir_def *word = claim_word(b, claim, i);
      nir_def *theirs = nir_iand_imm(b, word, 3);
      nir_def *differs = nir_ior(b, nir_ine_imm(b, theirs, GPUVAL_CLAIM_LOAD), loads_count);
      nir_def *bad = nir_bcsel(b, nir_ieq(b, theirs, claim->access), is_store, differs);
      bad = nir_iand(b, bad, nir_ine(b, nir_iand_imm(b, word, GPUVAL_CLAIM_OWNER_MASK), own));
      bad = nir_iand(b, bad, nir_ine_imm(b, theirs, GPUVAL_CLAIM_NONE));
      conflicts = nir_ior(b, conflicts, nir_iand(b, has, bad));
   }
   return conflicts;
}

/* How often the second half is tried to be written where others do so at once: as many as have
 * words in it. A claim that gets lost nevertheless says nothing.
 */
#define MAX_TRIES 4

/* Writes the bits @mine in the place of the bits @changed, if others have the rest of the granule,
 * and in the place of another granule's.
 */
static void
store_words(nir_builder *b, const struct claim *claim, nir_def *const changed[2],
            nir_def *const mine[2])
{
   nir_def *address = nir_iadd_imm(b, claim->address, 8);
   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "tries");
   nir_variable *var = nir_local_variable_create(b->impl, glsl_uint64_t_type(), "there");

   nir_variable *word_vars[2];
   for (unsigned i = 0; i < ARRAY_SIZE(word_vars); i++) {
      word_vars[i] = nir_local_variable_create(b->impl, glsl_uint_type(), "words");
      nir_store_var(b, word_vars[i], claim->words[i], 0x1);
   }
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, var, claim->there, 0x1);
   nir_loop *loop = nir_push_loop(b);
   loop->control = nir_loop_control_dont_unroll;
   {
      nir_def *i = nir_load_var(b, i_var), *there = nir_load_var(b, var), *words[2];
      nir_break_if(b, nir_uge_imm(b, i, MAX_TRIES));

      for (unsigned j = 0; j < 2; j++)
         words[j] = nir_ior(b, nir_iand(b, nir_load_var(b, word_vars[j]), nir_inot(b, changed[j])),
                            mine[j]);
      nir_def *after = nir_pack_64_2x32_split(b, words[0], nir_ior(b, words[1], claim->tags.words));
      nir_def *found =
         nir_global_atomic_swap(b, 64, address, there, after, .atomic_op = nir_atomic_op_cmpxchg);

      /* Who has come first may be another one of our granule. */
      get_claim_words(b, &claim->tags, found, words);
      for (unsigned j = 0; j < 2; j++)
         nir_store_var(b, word_vars[j], words[j], 0x1);
      nir_store_var(b, var, found, 0x1);
      nir_store_var(
         b, i_var,
         nir_bcsel(b, nir_ieq(b, found, there), nir_imm_int(b, MAX_TRIES), nir_iadd_imm(b, i, 1)),
         0x1);
   }
   nir_pop_loop(b, loop);
}

/* Stronger accesses replace weaker ones, and others those that are no hazard. But a
 * hazard with what is not known must not become all that is known. A store that comes
 * after others in order has the word to itself: it may be loaded by whoever has stored.
 */
static void
store_claim(nir_builder *b, const struct claim *claim, const struct masks *masks,
            const struct quad *quad, nir_def *flags, nir_def *wanted, nir_def *bad, nir_def *entry,
            nir_def *command_id)
{
   nir_def *zero = nir_imm_int(b, 0);
   nir_def *in_order =
      nir_iand(b, nir_ieq_imm(b, claim->access, GPUVAL_CLAIM_STORE),
               nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_WRITE_AFTER_WRITE_OK), 0));
   nir_def *changed[2] = {zero, zero}, *mine[2] = {zero, zero}, *strongest = zero;

   for (unsigned i = 0; i < 4; i++) {
      nir_def *word = claim_word(b, claim, i);
      nir_def *theirs = nir_iand_imm(b, word, 3);
      strongest = nir_umax(b, strongest, theirs);
      nir_def *replaces = nir_bcsel(
         b, bad,
         nir_iand(b, nir_ult(b, theirs, claim->access), nir_ine_imm(b, theirs, GPUVAL_CLAIM_NONE)),
         nir_uge(b, claim->access, theirs));
      replaces = nir_iand(b, nir_iand(b, replaces, wanted), has_word(b, masks, i));
      add_word(b, i, nir_bcsel(b, replaces, nir_imm_int(b, GPUVAL_CLAIM_WORD_MASK), zero), changed);

      nir_def *owner = claim->owner;
      nir_def *is_another = nir_iand(b, nir_ieq(b, theirs, claim->access), nir_ine(b, word, owner));
      is_another = nir_iand(b, is_another, nir_inot(b, in_order));
      nir_def *value = nir_bcsel(b, is_another, nir_ior_imm(b, owner, GPUVAL_CLAIM_SEVERAL), owner);
      add_word(b, i, nir_bcsel(b, replaces, value, zero), mine);
   }
   for (unsigned i = 0; i < 2; i++) {
      changed[i] = quad_bits(b, quad, changed[i]);
      mine[i] = quad_bits(b, quad, mine[i]);
   }

   nir_def *is_changed = nir_ine_imm(b, nir_ior(b, changed[0], changed[1]), 0);
   nir_push_if(b, nir_iand(b, quad->acts, is_changed));
   {
      nir_def *lo = nir_ior(b, entry, nir_ishl_imm(b, command_id, GPUVAL_CLAIM_COMMAND_SHIFT));
      nir_def *hi = nir_iand_imm(b, nir_ushr_imm(b, command_id, 32 - GPUVAL_CLAIM_COMMAND_SHIFT),
                                 BITFIELD_MASK(GPUVAL_CLAIM_TAG_SHIFT - 32));
      /* Who has only read a word does not hide who has written its neighbour. */
      nir_def *who = nir_pack_64_2x32_split(b, lo, nir_ior(b, hi, claim->tags.who));
      who = nir_bcsel(b, nir_uge(b, claim->access, strongest), who, claim->who);
      gpuval_store_global(b, claim->address, 8, who, 0x1);
      store_words(b, claim, changed, mine);
   }
   nir_pop_if(b, NULL);
}

void
gpuval_nir_build_access(nir_builder *b, const struct gpuval_nir_driver *driver, unsigned hashes,
                        const struct gpuval_nir_access_params *params)
{
   nir_def *root = driver->root_address(driver, b);
   nir_def *filter = gpuval_nir_load_root(b, root, 64, offsetof(struct gpuval_root, bloom_address));
   nir_def *line_mask =
      gpuval_nir_load_root(b, root, 32, offsetof(struct gpuval_root, bloom_line_mask));
   nir_def *epoch = driver->epoch(driver, b);
   nir_def *type = params->type;

   nir_def *address_lo = nir_unpack_64_2x32_split_x(b, params->address);
   nir_def *address_hi = nir_unpack_64_2x32_split_y(b, params->address);
   struct masks masks = build_masks(b, address_lo, params->size, type);

   nir_def *x =
      nir_ior(b, nir_ushr_imm(b, address_lo, 7), nir_ishl_imm(b, nir_ushr_imm(b, epoch, 16), 25));
   nir_def *y = nir_ior(b, nir_iand_imm(b, address_hi, 0xffff), nir_ishl_imm(b, epoch, 16));

   struct bucket buckets[GPUVAL_BLOOM_MAX_HASHES];
   nir_def *first_index = NULL, *first_hash[2];
   nir_def *all_lo = NULL, *all_hi = NULL;
   for (unsigned i = 0; i < hashes; i++) {
      struct bucket *bucket = &buckets[i];
      nir_def *hash[2];
      build_hash(b, x, y, primes[i], hash);
      nir_def *index = build_bucket_index(b, address_lo, hash[0], line_mask);
      if (i == 0) {
         first_index = index;
         memcpy(first_hash, hash, sizeof(hash));
      }

      bucket->address = nir_iadd(b, filter, nir_ishl_imm(b, nir_u2u64(b, index), 3));
      nir_def *before = nir_build_load_global(b, 1, 64, bucket->address, .access = ACCESS_COHERENT,
                                              .align_mul = 8);
      bucket->lo = nir_unpack_64_2x32_split_x(b, before);
      bucket->hi = nir_unpack_64_2x32_split_y(b, before);

      all_lo = all_lo ? nir_iand(b, all_lo, bucket->lo) : bucket->lo;
      all_hi = all_hi ? nir_iand(b, all_hi, bucket->hi) : bucket->hi;
   }
   /* What is not in all buckets is missing in one. */
   nir_def *missing = nir_ior(b, nir_iand(b, masks.lo, nir_inot(b, all_lo)),
                              nir_iand(b, masks.hi, nir_inot(b, all_hi)));

   struct quad quad = build_quad(
      b, params->here,
      nir_ixor(b, nir_iand_imm(b, address_lo, ~15u), nir_imul_imm(b, address_hi, 0x9e3779b1)),
      masks.word);

   nir_def *flags = driver->sync_flags(driver, b);
   nir_def *acts =
      nir_ior(b, nir_ine_imm(b, missing, 0), is_hazard(b, &masks, all_lo, all_hi, type, flags));
   /* The marks may be there, but of another one whom this store comes after. */
   nir_def *in_order = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_WRITE_AFTER_WRITE_OK), 0);
   acts = nir_ior(b, acts, nir_iand(b, in_order, nir_ieq_imm(b, type, GPUVAL_BLOOM_STORE)));
   if (quad.here)
      acts = nir_ine_imm(b, quad_bits(b, &quad, nir_b2i32(b, acts)), 0);
   nir_push_if(b, acts);
   {
      nir_def *mark_lo = quad_bits(b, &quad, masks.lo);
      nir_def *mark_hi = quad_bits(b, &quad, masks.hi);
      nir_def *new_lo, *new_hi;
      mark_first(b, &buckets[0], &quad, mark_lo, mark_hi, &new_lo, &new_hi);
      nir_def *seen_lo = nir_ior(b, all_lo, new_lo), *seen_hi = nir_ior(b, all_hi, new_hi);

      nir_def *id = params->invocation_id;
      nir_def *phase = nir_umin(b, params->phase, nir_imm_int(b, GPUVAL_BLOOM_PHASES - 1));
      nir_def *group_id = phase_id(b, params->token, phase);
      nir_def *unclaimed = is_unclaimed(b, &masks, seen_lo);
      nir_def *zero = nir_imm_int(b, 0);
      for (unsigned i = 0; i < hashes; i++) {
         id = mix_id(b, id, i);
         group_id = mix_id(b, group_id, i);
         nir_def *lock =
            nir_ior(b, build_lock(b, id, i),
                    nir_bcsel(b, params->has_phases, build_lock(b, group_id, i), zero));
         lock = quad_bits(b, &quad, nir_bcsel(b, unclaimed, lock, zero));
         if (i == 0)
            mark_more(b, &buckets[i], &quad, zero, lock);
         else
            mark_more(b, &buckets[i], &quad, mark_lo, nir_ior(b, mark_hi, lock));
      }

      nir_variable *maybe_var = nir_local_variable_create(b->impl, glsl_bool_type(), "maybe");
      nir_store_var(b, maybe_var, nir_imm_false(b), 0x1);
      nir_push_if(b, is_hazard(b, &masks, seen_lo, seen_hi, type, flags));
      {
         nir_def *locked = is_locked(b, buckets, hashes, params->invocation_id);
         nir_def *exchanged = is_exchanged(b, buckets, hashes, params->token,
                                           nir_bcsel(b, locked, zero, params->phase));
         nir_store_var(b, maybe_var, nir_inot(b, nir_ior(b, locked, exchanged)), 0x1);
      }
      nir_pop_if(b, NULL);
      nir_def *maybe = nir_load_var(b, maybe_var);

      /* Those that are in order come first, so that others which run in lockstep
       * with them can name them.
       */
      nir_def *command_id = driver->command_id(driver, b);
      nir_def *line = nir_ior(b, nir_ushr_imm(b, address_lo, 7), nir_ishl_imm(b, address_hi, 25));
      struct claim_tags tags = get_claim_tags(b, first_hash, line, epoch);
      struct claim claim = load_claim(b, root, first_index, &tags, params);
      store_claim(b, &claim, &masks, &quad, flags, nir_inot(b, maybe), nir_imm_false(b),
                  params->entry, command_id);

      nir_push_if(b, maybe);
      {
         /* Not all buckets had a mark, but one has just appeared in the first. */
         nir_def *sure = is_hazard(b, &masks, all_lo, all_hi, type, flags);
         await_claim(b, root, first_index, &tags, params,
                     nir_iand(b, nir_inot(b, claim.known), nir_inot(b, sure)));
         claim = load_claim(b, root, first_index, &tags, params);
         /* A claim that is another granule's says nothing. */
         nir_def *bad =
            nir_iand(b, claim.known, claim_conflicts(b, &claim, &masks, flags, seen_lo));
         const struct quad alone = {.acts = nir_imm_true(b)};
         store_claim(b, &claim, &masks, &alone, flags, nir_imm_true(b), bad, params->entry,
                     command_id);

         nir_push_if(b, bad);
         gpuval_nir_build_hazard(b, driver, params, root, claim.who, claim.known,
                                 gpuval_nir_has_value_at(b, params, params->address, params->size));
         nir_pop_if(b, NULL);
      }
      nir_pop_if(b, NULL);
   }
   nir_pop_if(b, NULL);
}
