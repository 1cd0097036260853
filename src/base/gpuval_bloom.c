/* SPDX-License-Identifier: MIT */

/* The host's version of what gpuval_nir_bloom.c emits for shaders. */

#include "gpuval_bloom.h"

#include "util/bitscan.h"
#include "util/macros.h"
#include "util/u_atomic.h"

static const uint32_t primes[GPUVAL_BLOOM_MAX_HASHES] = GPUVAL_BLOOM_PRIMES;

void
gpuval_bloom_hash(uint64_t address, uint32_t epoch, unsigned index, uint32_t out[2])
{
   /* 48 bits of address and 23 of the epoch, none of which meet */
   uint32_t x = ((uint32_t)address >> 7) | (epoch >> 16) << 25;
   uint32_t y = ((uint32_t)(address >> 32) & 0xffff) | epoch << 16;

   for (unsigned i = 0; i < 6; i++) {
      uint32_t next_x = ((x >> 8) ^ y) * primes[index];
      uint32_t next_y = ((y >> 8) ^ x) * primes[index];
      x = next_x;
      y = next_y;
   }

   out[0] = x;
   out[1] = y;
}

static uint32_t
bucket_of_hash(const struct gpuval_bloom *bloom, uint64_t address, uint32_t hash)
{
   uint32_t in_line = ((uint32_t)(address >> 4) ^ hash >> 29) & 7;

   return (hash & bloom->line_mask) << GPUVAL_BLOOM_LINE_LOG2 | in_line;
}

uint32_t
gpuval_bloom_bucket(const struct gpuval_bloom *bloom, uint64_t address, uint32_t epoch,
                    unsigned index)
{
   uint32_t hash[2];
   gpuval_bloom_hash(address, epoch, index, hash);
   return bucket_of_hash(bloom, address, hash[0]);
}

/* docs/protocols.rst, "Lock sets": 9 bits of the number for each hash function. From the fourth
 * on, they come from the number mixed again.
 */
static uint32_t
lock_mask(uint32_t invocation, unsigned index)
{
   for (unsigned i = 0; i < index / 3; i++)
      invocation = (invocation ^ invocation >> 15) * 0x2c1b3c6d;

   uint32_t bits = invocation >> (index % 3 * 9);
   return 1u << (8 + (bits & 7)) | 1u << (16 + (bits >> 3 & 7)) | 1u << (24 + (bits >> 6 & 7));
}

static uint64_t
fetch_or(uint64_t *bucket, uint64_t bits)
{
   uint64_t before = p_atomic_read(bucket);
   return (before & bits) == bits ? before : __atomic_fetch_or(bucket, bits, __ATOMIC_ACQ_REL);
}

struct masks {
   uint32_t byte, word;
   uint64_t invalid; /* what the access makes so for others */
};

static struct masks
get_masks(const struct gpuval_bloom_access *access)
{
   static const uint64_t invalidates[] = {
      [GPUVAL_BLOOM_LOAD] = 68719411200ull,
      [GPUVAL_BLOOM_STORE] = 1099511627775ull,
      [GPUVAL_BLOOM_ATOMIC] = 1035087118335ull,
      [GPUVAL_BLOOM_INDIRECT] = 68719411200ull,
   };
   uint32_t in_granule = access->address & (GPUVAL_BLOOM_GRANULE - 1);
   uint32_t size = MIN2(access->size, GPUVAL_BLOOM_GRANULE - in_granule);
   uint32_t first_word = in_granule / 4, end_word = DIV_ROUND_UP(in_granule + size, 4);

   struct masks masks = {
      .byte = ((1u << size) - 1) << in_granule,
      .word = (1u << end_word) - (1u << first_word),
   };
   masks.invalid = invalidates[access->type] & ((masks.byte | masks.byte << 16) |
                                                (uint64_t)(masks.word | masks.word << 4) << 32);
   return masks;
}

static bool
is_hazard(const struct gpuval_bloom_access *access, const struct masks *masks, uint64_t marks)
{
   uint32_t bad_load = marks & masks->byte, bad_store = (marks >> 16) & masks->byte;
   uint32_t bad_atomic = (marks >> 32) & masks->word, bad_indirect = (marks >> 36) & masks->word;
   bool after_load_ok = access->flags & GPUVAL_SYNC_WRITE_AFTER_READ_OK;

   switch (access->type) {
   case GPUVAL_BLOOM_LOAD:
      return bad_load;
   case GPUVAL_BLOOM_STORE:
      if (access->flags & GPUVAL_SYNC_WRITE_AFTER_WRITE_OK)
         return false;
      return after_load_ok ? bad_store & bad_load : bad_store;
   case GPUVAL_BLOOM_ATOMIC:
      return bad_atomic && (!after_load_ok || bad_load);
   default:
      return bad_indirect;
   }
}

/* *seen: what all buckets have had before */
static bool
mark(const struct gpuval_bloom *bloom, const struct gpuval_bloom_access *access, uint64_t *seen)
{
   struct masks masks = get_masks(access);
   uint64_t *buckets[GPUVAL_BLOOM_MAX_HASHES];
   uint64_t marks = ~0ull;
   bool locked = true;

   for (unsigned i = 0; i < bloom->hashes; i++) {
      buckets[i] = &bloom->buckets[gpuval_bloom_bucket(bloom, access->address, access->epoch, i)];
      uint64_t before = fetch_or(buckets[i], masks.invalid);
      uint32_t lock = lock_mask(access->invocation, i);
      marks &= before;
      locked &= ((before >> 32) & lock) == lock;
   }

   /* Nobody has claimed these bytes. */
   if (!((marks >> 16) & masks.byte)) {
      for (unsigned i = 0; i < bloom->hashes; i++)
         fetch_or(buckets[i], (uint64_t)lock_mask(access->invocation, i) << 32);
   }

   *seen = marks;
   return !locked && is_hazard(access, &masks, marks);
}

bool
gpuval_bloom_mark(const struct gpuval_bloom *bloom, const struct gpuval_bloom_access *access)
{
   uint64_t seen;
   return mark(bloom, access, &seen);
}

static uint32_t
claim_owner(uint32_t invocation)
{
   return (invocation * 0x9e3779b1) >> 20 & GPUVAL_CLAIM_OWNER_MASK;
}

static uint32_t
get_word(uint64_t words, unsigned i)
{
   return words >> (GPUVAL_CLAIM_WORD_BITS * i) & GPUVAL_CLAIM_WORD_MASK;
}

static enum gpuval_claim_access
claim_access(enum gpuval_bloom_type type)
{
   return type == GPUVAL_BLOOM_STORE    ? GPUVAL_CLAIM_STORE
          : type == GPUVAL_BLOOM_ATOMIC ? GPUVAL_CLAIM_ATOMIC
                                        : GPUVAL_CLAIM_LOAD;
}

/* Does another invocation's access to a word, as its claim has it, conflict? An
 * invocation is known by one of 2^10 hashes.
 */
static bool
conflicts(const struct gpuval_bloom_access *access, uint32_t word)
{
   enum gpuval_claim_access theirs = word & 3, mine = claim_access(access->type);

   if (theirs == GPUVAL_CLAIM_NONE ||
       (word & GPUVAL_CLAIM_OWNER_MASK) == claim_owner(access->invocation))
      return false;
   if (theirs == mine)
      return mine == GPUVAL_CLAIM_STORE;
   return theirs != GPUVAL_CLAIM_LOAD || !(access->flags & GPUVAL_SYNC_WRITE_AFTER_READ_OK);
}

bool
gpuval_bloom_access(const struct gpuval_bloom *bloom, const struct gpuval_bloom_access *access,
                    uint64_t *other)
{
   struct masks masks = get_masks(access);
   uint64_t marks;
   bool bad = mark(bloom, access, &marks);

   uint32_t hash[2];
   gpuval_bloom_hash(access->address, access->epoch, 0, hash);
   uint32_t index = bucket_of_hash(bloom, access->address, hash[0]) & bloom->claims_mask;
   uint64_t *claim = &bloom->claims[index * 2], tag = hash[1] >> 8;
   uint64_t who = p_atomic_read(&claim[0]), words = p_atomic_read(&claim[1]);
   uint64_t words_tag = (uint64_t)gpuval_claim_words_tag(hash, access->address, access->epoch)
                        << GPUVAL_CLAIM_WORDS_TAG_SHIFT;
   bool known = who >> GPUVAL_CLAIM_TAG_SHIFT == tag &&
                !((words ^ words_tag) >> GPUVAL_CLAIM_WORDS_TAG_SHIFT);
   *other = known ? who : 0;

   /* A claim that is another granule's, or got lost, says nothing; nor does that of a word
    * to a store of a part of it: its own load of all may have found no room for a lock.
    */
   if (bad) {
      bad = false;
      u_foreach_bit (i, known ? masks.word : 0) {
         bool is_whole = (masks.byte >> (4 * i) & 0xf) == 0xf;
         bool is_marked = marks & 0xf0000u << (4 * i);
         if ((is_whole || access->type == GPUVAL_BLOOM_LOAD) && is_marked)
            bad |= conflicts(access, get_word(words, i));
      }
   }

   if (!known)
      words = words_tag;
   uint32_t strength = claim_access(access->type), strongest = 0;
   uint32_t mine = strength | claim_owner(access->invocation);
   uint64_t after = words;
   bool in_order =
      access->type == GPUVAL_BLOOM_STORE && access->flags & GPUVAL_SYNC_WRITE_AFTER_WRITE_OK;
   for (unsigned i = 0; i < 4; i++) {
      uint32_t word = get_word(words, i), theirs = word & 3;
      strongest = MAX2(strongest, theirs);
      if (!(masks.word & BITFIELD_BIT(i)) ||
          (bad ? strength <= theirs || theirs == GPUVAL_CLAIM_NONE : strength < theirs))
         continue;

      bool several = theirs == strength && word != mine && !in_order;
      after &= ~((uint64_t)GPUVAL_CLAIM_WORD_MASK << (GPUVAL_CLAIM_WORD_BITS * i));
      after |= (uint64_t)(several ? strength | GPUVAL_CLAIM_SEVERAL : mine)
               << (GPUVAL_CLAIM_WORD_BITS * i);
   }
   if (after != words) {
      uint64_t command = access->command_id & BITFIELD_MASK(GPUVAL_CLAIM_COMMAND_BITS);
      p_atomic_set(&claim[1], after);
      if (strength >= strongest)
         p_atomic_set(&claim[0], tag << GPUVAL_CLAIM_TAG_SHIFT |
                                    command << GPUVAL_CLAIM_COMMAND_SHIFT | access->entry);
   }

   return bad;
}

double
gpuval_bloom_fill(const struct gpuval_bloom *bloom, uint32_t seed, unsigned samples)
{
   uint32_t mask = (bloom->line_mask + 1) * 8 - 1, used = 0;

   for (uint32_t i = 0; i < samples; i++)
      used += p_atomic_read(&bloom->buckets[((seed * samples + i) * 2654435769u) & mask]) != 0;
   return (double)used / samples;
}
