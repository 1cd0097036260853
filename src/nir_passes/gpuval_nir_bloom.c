/* SPDX-License-Identifier: MIT */

/* What @sync_gpuval means: marks an access in the bloom filter and reports it
 * if it is a hazard. core/gpuval_bloom.h has the layout, core/gpuval_bloom.c
 * the same for the host.
 *
 *    load all buckets
 *    if a bucket lacks a mark of ours, or all have one against us:
 *       atomic_or the marks into the buckets that lack some
 *       if nobody has claimed these bytes: atomic_or our lock into all of them
 *       if hazard and not (our lock, or one of our workgroup's before the last
 *       barrier, in all of them): report
 *       claim = entry, command id
 *
 * So an access that has been marked before costs loads only. The seed knows only
 * after all buckets whether these bytes are still unclaimed, and then goes over
 * them again for the locks. Here the lock goes along with the marks as soon as one
 * bucket has said so, which is the first unless another granule's mark is there.
 */

#include "gpuval/src/core/gpuval_bloom.h"
#include "gpuval_nir.h"

static const uint32_t primes[GPUVAL_BLOOM_MAX_HASHES] = GPUVAL_BLOOM_PRIMES;

struct bucket {
   nir_def *address;           /* 64 bit */
   nir_def *lo, *hi;           /* before our marks */
   nir_def *lock;              /* our bits of hi */
   nir_def *unclaimed_by_then; /* by the buckets before it */
};

static nir_def *
load_root(nir_builder *b, nir_def *root, unsigned bit_size, unsigned offset)
{
   return nir_load_global(b, nir_iadd_imm(b, root, offset), bit_size / 8, 1, bit_size);
}

/* Seed 000, AddrHash() */
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
bits_unless(nir_builder *b, nir_def *condition, nir_def *bits)
{
   return nir_bcsel(b, condition, nir_imm_int(b, 0), bits);
}

/* The marks, and the lock where it is known that it is due. */
static void
mark(nir_builder *b, struct bucket *buckets, unsigned hashes, const struct masks *masks)
{
   nir_def *lo = NULL;

   for (unsigned i = 0; i < hashes; i++) {
      struct bucket *bucket = &buckets[i];
      bucket->unclaimed_by_then = lo ? is_unclaimed(b, masks, lo) : nir_imm_false(b);
      nir_def *mark_hi = nir_ior(
         b, masks->hi, nir_bcsel(b, bucket->unclaimed_by_then, bucket->lock, nir_imm_int(b, 0)));
      nir_def *missing = nir_ior(b, nir_iand(b, masks->lo, nir_inot(b, bucket->lo)),
                                 nir_iand(b, mark_hi, nir_inot(b, bucket->hi)));

      nir_push_if(b, nir_ine_imm(b, missing, 0));
      nir_def *before =
         nir_global_atomic(b, 64, bucket->address, nir_pack_64_2x32_split(b, masks->lo, mark_hi),
                           .atomic_op = nir_atomic_op_ior);
      nir_def *before_lo = nir_unpack_64_2x32_split_x(b, before);
      nir_def *before_hi = nir_unpack_64_2x32_split_y(b, before);
      nir_pop_if(b, NULL);

      bucket->lo = nir_if_phi(b, before_lo, bucket->lo);
      bucket->hi = nir_if_phi(b, before_hi, bucket->hi);
      lo = lo ? nir_iand(b, lo, bucket->lo) : bucket->lo;
   }
}

/* The locks that mark() did not know about yet, which are few behind the first. */
static void
lock_bucket(nir_builder *b, const struct bucket *bucket, nir_def *unclaimed)
{
   nir_def *due = nir_iand(b, unclaimed, nir_inot(b, bucket->unclaimed_by_then));
   nir_def *missing = nir_iand(b, bucket->lock, nir_inot(b, bucket->hi));

   nir_push_if(b, nir_iand(b, due, nir_ine_imm(b, missing, 0)));
   nir_global_atomic(b, 32, nir_iadd_imm(b, bucket->address, 4), bucket->lock,
                     .atomic_op = nir_atomic_op_ior);
   nir_pop_if(b, NULL);
}

void
gpuval_nir_build_access(nir_builder *b, const struct gpuval_nir_driver *driver, unsigned hashes,
                        const struct gpuval_nir_access_params *params)
{
   nir_def *root = driver->root_address(b);
   nir_def *filter = load_root(b, root, 64, offsetof(struct gpuval_root, bloom_address));
   nir_def *line_mask = load_root(b, root, 32, offsetof(struct gpuval_root, bloom_line_mask));
   nir_def *epoch = driver->epoch(b);
   nir_def *type = params->type;

   nir_def *address_lo = nir_unpack_64_2x32_split_x(b, params->address);
   nir_def *address_hi = nir_unpack_64_2x32_split_y(b, params->address);
   struct masks masks = build_masks(b, address_lo, params->size, type);

   nir_def *x =
      nir_ior(b, nir_ushr_imm(b, address_lo, 7), nir_ishl_imm(b, nir_ushr_imm(b, epoch, 16), 25));
   nir_def *y = nir_ior(b, nir_iand_imm(b, address_hi, 0xffff), nir_ishl_imm(b, epoch, 16));

   struct bucket buckets[GPUVAL_BLOOM_MAX_HASHES];
   nir_def *claim_index = NULL, *tag = NULL;
   nir_def *missing = NULL, *all_lo = NULL, *all_hi = NULL;
   for (unsigned i = 0; i < hashes; i++) {
      struct bucket *bucket = &buckets[i];
      nir_def *hash[2];
      build_hash(b, x, y, primes[i], hash);
      nir_def *index = build_bucket_index(b, address_lo, hash[0], line_mask);
      if (i == 0) {
         claim_index = index;
         tag = nir_ushr_imm(b, hash[1], 8);
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
   missing = nir_ior(b, nir_iand(b, masks.lo, nir_inot(b, all_lo)),
                     nir_iand(b, masks.hi, nir_inot(b, all_hi)));

   nir_def *flags = driver->sync_flags(b);
   nir_def *lacks = nir_ine_imm(b, missing, 0);
   nir_push_if(b, nir_ior(b, lacks, is_hazard(b, &masks, all_lo, all_hi, type, flags)));
   {
      nir_def *id = params->invocation_id;
      nir_def *group_id = phase_id(
         b, params->token, nir_umin(b, params->phase, nir_imm_int(b, GPUVAL_BLOOM_PHASES - 1)));
      for (unsigned i = 0; i < hashes; i++) {
         id = mix_id(b, id, i);
         group_id = mix_id(b, group_id, i);
         buckets[i].lock = nir_ior(
            b, build_lock(b, id, i),
            nir_bcsel(b, params->has_phases, build_lock(b, group_id, i), nir_imm_int(b, 0)));
      }

      mark(b, buckets, hashes, &masks);

      all_lo = buckets[0].lo;
      all_hi = buckets[0].hi;
      for (unsigned i = 1; i < hashes; i++) {
         all_lo = nir_iand(b, all_lo, buckets[i].lo);
         all_hi = nir_iand(b, all_hi, buckets[i].hi);
      }
      nir_def *unclaimed = is_unclaimed(b, &masks, all_lo);

      lock_bucket(b, &buckets[0], unclaimed);
      if (hashes > 1) {
         nir_push_if(b, nir_iand(b, unclaimed, nir_inot(b, buckets[1].unclaimed_by_then)));
         for (unsigned i = 1; i < hashes; i++)
            lock_bucket(b, &buckets[i], unclaimed);
         nir_pop_if(b, NULL);
      }

      nir_def *command_id = driver->command_id(b);
      nir_def *claim = nir_pack_64_2x32_split(
         b, nir_ior(b, params->entry, nir_ishl_imm(b, command_id, GPUVAL_CLAIM_COMMAND_SHIFT)),
         nir_ior(b, nir_ishl_imm(b, tag, GPUVAL_CLAIM_TAG_SHIFT - 32),
                 nir_iand_imm(b, nir_ushr_imm(b, command_id, 32 - GPUVAL_CLAIM_COMMAND_SHIFT),
                              BITFIELD_MASK(GPUVAL_CLAIM_TAG_SHIFT - 32))));
      nir_def *claims = load_root(b, root, 64, offsetof(struct gpuval_root, claims_address));
      nir_def *claims_mask = load_root(b, root, 32, offsetof(struct gpuval_root, claims_mask));
      nir_def *claim_address = nir_iadd(
         b, claims, nir_ishl_imm(b, nir_u2u64(b, nir_iand(b, claim_index, claims_mask)), 3));

      nir_def *maybe = is_hazard(b, &masks, all_lo, all_hi, type, flags);
      nir_variable *bad_var = nir_local_variable_create(b->impl, glsl_bool_type(), "bad");
      nir_store_var(b, bad_var, nir_imm_false(b), 0x1);
      nir_push_if(b, maybe);
      {
         nir_def *locked = is_locked(b, buckets, hashes, params->invocation_id);
         nir_def *exchanged = is_exchanged(b, buckets, hashes, params->token,
                                           nir_bcsel(b, locked, nir_imm_int(b, 0), params->phase));
         nir_store_var(b, bad_var, nir_inot(b, nir_ior(b, locked, exchanged)), 0x1);
      }
      nir_pop_if(b, NULL);
      nir_def *bad = nir_load_var(b, bad_var);

      /* Those who claim come first, so that others of the wave can name them. */
      nir_push_if(b, nir_iand(b, lacks, nir_inot(b, bad)));
      nir_store_global(b, claim_address, 8, claim, 0x1);
      nir_pop_if(b, NULL);

      nir_push_if(b, bad);
      {
         gpuval_nir_build_hazard(b, driver, params, root, claim_address, tag);
         nir_store_global(b, claim_address, 8, claim, 0x1);
      }
      nir_pop_if(b, NULL);
   }
   nir_pop_if(b, NULL);
}
