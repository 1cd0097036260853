/* SPDX-License-Identifier: MIT */

/* The host's version of what gpuval_nir_bloom.c emits for shaders. */

#include "gpuval_bloom.h"

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

/* Seed 000 takes 9 bits of the id for each hash function. From the fourth on,
 * they come from the id mixed again.
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

bool
gpuval_bloom_access(const struct gpuval_bloom *bloom, const struct gpuval_bloom_access *access,
                    uint64_t *other)
{
   static const uint64_t invalidates[] = {
      [GPUVAL_BLOOM_LOAD] = 68719411200ull,
      [GPUVAL_BLOOM_STORE] = 1099511627775ull,
      [GPUVAL_BLOOM_ATOMIC] = 1035087118335ull,
      [GPUVAL_BLOOM_INDIRECT] = 68719411200ull,
   };
   uint32_t in_granule = access->address & (GPUVAL_BLOOM_GRANULE - 1);
   uint32_t size = MIN2(access->size, GPUVAL_BLOOM_GRANULE - in_granule);
   uint32_t byte_mask = ((1u << size) - 1) << in_granule;
   uint32_t first_word = in_granule / 4, end_word = DIV_ROUND_UP(in_granule + size, 4);
   uint32_t word_mask = (1u << end_word) - (1u << first_word);
   uint64_t bits = invalidates[access->type] &
                   ((byte_mask | byte_mask << 16) | (uint64_t)(word_mask | word_mask << 4) << 32);

   uint32_t buckets[GPUVAL_BLOOM_MAX_HASHES];
   uint64_t hazard = ~0ull;
   bool locked = true;
   uint32_t hash[2], tag = 0, claim = 0;
   for (unsigned i = 0; i < bloom->hashes; i++) {
      gpuval_bloom_hash(access->address, access->epoch, i, hash);
      buckets[i] = bucket_of_hash(bloom, access->address, hash[0]);
      if (i == 0) {
         tag = hash[1] >> 8;
         claim = buckets[i] & bloom->claims_mask;
      }
   }
   for (unsigned i = 0; i < bloom->hashes; i++) {
      uint64_t before = fetch_or(&bloom->buckets[buckets[i]], bits);
      uint32_t lock = lock_mask(access->invocation, i);
      hazard &= before;
      locked &= ((before >> 32) & lock) == lock;
   }

   uint32_t bad_load = hazard & byte_mask, bad_store = (hazard >> 16) & byte_mask;
   uint32_t bad_atomic = (hazard >> 32) & word_mask, bad_indirect = (hazard >> 36) & word_mask;
   bool after_load_ok = access->flags & GPUVAL_SYNC_WRITE_AFTER_READ_OK;
   bool bad = false;
   switch (access->type) {
   case GPUVAL_BLOOM_LOAD:
      bad = bad_load;
      break;
   case GPUVAL_BLOOM_STORE:
      bad = after_load_ok ? bad_store & bad_load : bad_store;
      break;
   case GPUVAL_BLOOM_ATOMIC:
      bad = bad_atomic && (!after_load_ok || bad_load);
      break;
   case GPUVAL_BLOOM_INDIRECT:
      bad = bad_indirect;
      break;
   }
   bad &= !locked;

   if (!bad_store) {
      for (unsigned i = 0; i < bloom->hashes; i++)
         fetch_or(&bloom->buckets[buckets[i]], (uint64_t)lock_mask(access->invocation, i) << 32);
   }

   uint64_t before = p_atomic_read(&bloom->claims[claim]);
   *other = before >> GPUVAL_CLAIM_TAG_SHIFT == tag ? before : 0;
   uint32_t command = access->command_id & BITFIELD_MASK(GPUVAL_CLAIM_COMMAND_BITS);
   p_atomic_set(&bloom->claims[claim], (uint64_t)tag << GPUVAL_CLAIM_TAG_SHIFT |
                                          (uint64_t)command << GPUVAL_CLAIM_COMMAND_SHIFT |
                                          access->entry);
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
