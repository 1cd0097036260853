/* SPDX-License-Identifier: MIT */

/* The bloom filter: what is a hazard, and how often the filter is wrong. What it
 * must say of accesses that it has seen is exact; what it says of others is a
 * matter of chance, and the chance is known.
 */

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/gpuval_bloom.h"

namespace {

class filter {
 public:
   filter(unsigned size_log2, unsigned hashes)
       : buckets((1ull << size_log2) / sizeof(uint64_t)), claims(2 * buckets.size())
   {
      bloom.buckets = buckets.data();
      bloom.claims = claims.data();
      bloom.line_mask = (buckets.size() >> GPUVAL_BLOOM_LINE_LOG2) - 1;
      bloom.claims_mask = claims.size() / 2 - 1;
      bloom.hashes = hashes;
   }

   static struct gpuval_bloom_access make_access(enum gpuval_bloom_type type, uint64_t address,
                                                 uint32_t size, uint32_t invocation)
   {
      struct gpuval_bloom_access access = {};
      access.address = address;
      access.size = size;
      access.type = type;
      access.invocation = invocation * GPUVAL_BLOOM_INVOCATION_STEP;
      access.entry = 7;
      access.command_id = 9;
      access.epoch_command = 9;
      return access;
   }

   bool access(enum gpuval_bloom_type type, uint64_t address, uint32_t size, uint32_t invocation,
               uint32_t epoch = 0, uint32_t flags = 0)
   {
      struct gpuval_bloom_access access = make_access(type, address, size, invocation);
      access.epoch = epoch;
      access.flags = flags;
      return gpuval_bloom_access(&bloom, &access, &other);
   }

   /* Leaves no claim. */
   bool mark_store(uint64_t address, uint32_t invocation)
   {
      struct gpuval_bloom_access access =
         make_access(GPUVAL_BLOOM_STORE, address, GPUVAL_BLOOM_GRANULE, invocation);
      return gpuval_bloom_mark(&bloom, &access);
   }

   bool load(uint64_t address, uint32_t size, uint32_t invocation, uint32_t epoch = 0)
   {
      return access(GPUVAL_BLOOM_LOAD, address, size, invocation, epoch);
   }

   bool store(uint64_t address, uint32_t size, uint32_t invocation, uint32_t epoch = 0)
   {
      return access(GPUVAL_BLOOM_STORE, address, size, invocation, epoch);
   }

   bool atomic(uint64_t address, uint32_t size, uint32_t invocation, uint32_t epoch = 0)
   {
      return access(GPUVAL_BLOOM_ATOMIC, address, size, invocation, epoch);
   }

   /* What a load gets, without a trace of it. @alone: of the filter */
   bool would_fail(uint64_t address, uint32_t invocation, bool alone)
   {
      uint32_t index[GPUVAL_BLOOM_MAX_HASHES];
      uint64_t before[GPUVAL_BLOOM_MAX_HASHES];
      for (unsigned i = 0; i < bloom.hashes; i++) {
         index[i] = gpuval_bloom_bucket(&bloom, address, 0, i);
         before[i] = buckets[index[i]];
      }
      uint64_t *claim = &claims[2 * (index[0] & bloom.claims_mask)];
      uint64_t claim_before[2] = {claim[0], claim[1]};

      struct gpuval_bloom_access access =
         make_access(GPUVAL_BLOOM_LOAD, address, GPUVAL_BLOOM_GRANULE, invocation);
      bool failed =
         alone ? gpuval_bloom_mark(&bloom, &access) : gpuval_bloom_access(&bloom, &access, &other);
      for (unsigned i = 0; i < bloom.hashes; i++)
         buckets[index[i]] = before[i];
      claim[0] = claim_before[0];
      claim[1] = claim_before[1];
      return failed;
   }

   double fill() const
   {
      size_t used = 0;
      for (uint64_t bucket : buckets)
         used += bucket != 0;
      return (double)used / buckets.size();
   }

   /* How likely an invocation chosen at random has its lock in a bucket */
   static double lock_chance(uint64_t bucket)
   {
      double chance = 1;
      for (unsigned byte = 5; byte < 8; byte++)
         chance *= __builtin_popcount(bucket >> (8 * byte) & 0xff) / 8.0;
      return chance;
   }

   /* The same, in the mean over those that are not empty */
   double mean_lock_chance() const
   {
      double sum = 0;
      size_t used = 0;
      for (uint64_t bucket : buckets) {
         used += bucket != 0;
         sum += lock_chance(bucket);
      }
      return used ? sum / used : 0;
   }

   struct gpuval_bloom bloom = {};
   std::vector<uint64_t> buckets, claims;
   uint64_t other = 0;
};

/* The smallest or largest number of successes that is not less likely than this
 * to be undercut or exceeded.
 */
const double tail = 1e-6;

double
log_binomial(double trials, double successes, double chance)
{
   return lgamma(trials + 1) - lgamma(successes + 1) - lgamma(trials - successes + 1) +
          successes * log(chance) + (trials - successes) * log1p(-chance);
}

struct range {
   double low, high;
};

struct range
likely(double trials, double chance)
{
   struct range range = {0, trials};
   if (chance <= 0)
      return {0, 0};

   /* What is 40 standard deviations away adds nothing. */
   double mean = trials * chance, width = 40 * sqrt(mean) + 40;
   double low = std::max(0.0, floor(mean - width)), high = std::min(trials, ceil(mean + width));
   double sum = 0;
   for (double k = low; k <= high && sum <= tail; k++) {
      range.low = k;
      sum += exp(log_binomial(trials, k, chance));
   }
   sum = 0;
   for (double k = high; k >= low && sum <= tail; k--) {
      range.high = k;
      sum += exp(log_binomial(trials, k, chance));
   }
   return range;
}

/* Hazards */

class bloom_test : public ::testing::TestWithParam<unsigned> {
 protected:
   bloom_test(): f(20, GetParam())
   {
   }

   filter f;
   const uint64_t a = 0x7f0012345670;
};

TEST_P(bloom_test, load_after_store)
{
   EXPECT_FALSE(f.store(a, 4, 1));
   EXPECT_TRUE(f.load(a, 4, 2));
   EXPECT_EQ(f.other & (GPUVAL_MAX_ENTRIES - 1), 7u);
   EXPECT_EQ(f.other >> GPUVAL_CLAIM_COMMAND_SHIFT & 0x3ffff, 9u);
}

TEST_P(bloom_test, store_after_load_and_after_store)
{
   f.load(a, 4, 1);
   EXPECT_TRUE(f.store(a, 4, 2));
   f.store(a + 4, 4, 1);
   EXPECT_TRUE(f.store(a + 4, 4, 2));
}

TEST_P(bloom_test, loads_share)
{
   for (uint32_t i = 1; i < 100; i++)
      EXPECT_FALSE(f.load(a, 16, i));
}

TEST_P(bloom_test, atomics_share)
{
   for (uint32_t i = 1; i < 100; i++)
      EXPECT_FALSE(f.atomic(a, 4, i));
   EXPECT_TRUE(f.load(a, 4, 1000));
}

TEST_P(bloom_test, atomic_after_others)
{
   f.load(a, 4, 1);
   EXPECT_TRUE(f.atomic(a, 4, 2));
   f.store(a + 4, 4, 1);
   EXPECT_TRUE(f.atomic(a + 4, 4, 2));
   EXPECT_FALSE(f.atomic(a + 8, 4, 2));
}

TEST_P(bloom_test, own_accesses)
{
   EXPECT_FALSE(f.load(a, 4, 1));
   EXPECT_FALSE(f.store(a, 4, 1));
   EXPECT_FALSE(f.atomic(a, 4, 1));
   EXPECT_FALSE(f.load(a, 4, 1));
}

TEST_P(bloom_test, bytes_of_a_granule)
{
   for (uint32_t i = 0; i < 16; i++)
      EXPECT_FALSE(f.store(a + i, 1, 1 + i));
   for (uint32_t i = 0; i < 16; i++)
      EXPECT_TRUE(f.load(a + i, 1, 100 + i)) << i;
}

/* C loads the last byte, B all of them, so that it gets no lock; then it stores the first. */
TEST_P(bloom_test, parts_of_a_word)
{
   EXPECT_FALSE(f.load(a + 3, 1, 1));
   EXPECT_FALSE(f.load(a, 4, 2));
   EXPECT_FALSE(f.store(a, 1, 2));
}

/* There is no lock for B, and its claim is gone. */
TEST_P(bloom_test, foreign_claim)
{
   EXPECT_FALSE(f.load(a, 16, 1));
   EXPECT_FALSE(f.load(a, 16, 2));
   for (size_t i = 0; i < f.claims.size(); i += 2)
      f.claims[i] = 0x123456ull << GPUVAL_CLAIM_TAG_SHIFT | 9ull << GPUVAL_CLAIM_COMMAND_SHIFT | 7;
   EXPECT_FALSE(f.store(a, 16, 2));
}

TEST_P(bloom_test, words_of_atomics)
{
   EXPECT_FALSE(f.store(a, 4, 1));
   EXPECT_FALSE(f.atomic(a + 4, 8, 2));
   EXPECT_TRUE(f.load(a + 8, 2, 3));
   EXPECT_FALSE(f.load(a + 12, 4, 4));
}

TEST_P(bloom_test, what_straddles_is_cut_off)
{
   EXPECT_FALSE(f.store(a + 12, 8, 1));
   EXPECT_TRUE(f.load(a + 12, 4, 2));
   EXPECT_FALSE(f.load(a + 16, 4, 2));
}

TEST_P(bloom_test, an_epoch_later)
{
   f.store(a, 4, 1, 5);
   EXPECT_FALSE(f.load(a, 4, 2, 6));
   EXPECT_TRUE(f.load(a, 4, 2, 5));
}

TEST_P(bloom_test, writes_after_reads_in_order)
{
   f.load(a, 4, 1);
   EXPECT_FALSE(f.access(GPUVAL_BLOOM_STORE, a, 4, 2, 0, GPUVAL_SYNC_WRITE_AFTER_READ_OK));
   EXPECT_TRUE(f.access(GPUVAL_BLOOM_STORE, a, 4, 3, 0, GPUVAL_SYNC_WRITE_AFTER_READ_OK));
   EXPECT_TRUE(f.access(GPUVAL_BLOOM_LOAD, a, 4, 3, 0, GPUVAL_SYNC_WRITE_AFTER_READ_OK));
}

TEST_P(bloom_test, own_write_after_others_have_read)
{
   for (uint32_t flags : {0u, GPUVAL_SYNC_WRITE_AFTER_READ_OK}) {
      uint64_t b = a + 128 * flags;
      f.access(GPUVAL_BLOOM_LOAD, b, 4, 1, 0, flags);
      EXPECT_EQ(f.access(GPUVAL_BLOOM_STORE, b, 4, 2, 0, flags), !flags);
      EXPECT_FALSE(f.access(GPUVAL_BLOOM_LOAD, b, 4, 2, 0, flags));
      EXPECT_FALSE(f.access(GPUVAL_BLOOM_STORE, b, 4, 2, 0, flags));
      EXPECT_TRUE(f.access(GPUVAL_BLOOM_LOAD, b, 4, 3, 0, flags));
   }
}

TEST_P(bloom_test, atomics_behind_reads_in_order)
{
   const uint32_t flags = GPUVAL_SYNC_WRITE_AFTER_READ_OK;
   f.load(a, 4, 1);
   EXPECT_FALSE(f.access(GPUVAL_BLOOM_ATOMIC, a, 4, 2, 0, flags));
   EXPECT_FALSE(f.access(GPUVAL_BLOOM_ATOMIC, a, 4, 3, 0, flags));
   EXPECT_TRUE(f.access(GPUVAL_BLOOM_STORE, a, 4, 4, 0, flags));
   EXPECT_TRUE(f.access(GPUVAL_BLOOM_ATOMIC, a, 4, 5, 0, flags));
}

TEST_P(bloom_test, indirect_arguments)
{
   EXPECT_FALSE(f.access(GPUVAL_BLOOM_INDIRECT, a, 12, 1));
   EXPECT_FALSE(f.load(a, 4, 2));
   EXPECT_TRUE(f.store(a + 4, 4, 2));
   f.store(a + 16, 4, 1);
   EXPECT_TRUE(f.access(GPUVAL_BLOOM_INDIRECT, a + 16, 12, 2));
}

TEST_P(bloom_test, neighbours_share_a_line)
{
   for (unsigned i = 0; i < GetParam(); i++) {
      uint32_t seen = 0, line = gpuval_bloom_bucket(&f.bloom, a & ~127ull, 3, i) >> 3;
      for (unsigned j = 0; j < 8; j++) {
         uint32_t bucket = gpuval_bloom_bucket(&f.bloom, (a & ~127ull) + 16 * j, 3, i);
         EXPECT_EQ(bucket >> 3, line);
         seen |= 1 << (bucket & 7);
      }
      EXPECT_EQ(seen, 0xffu);
   }
}

INSTANTIATE_TEST_SUITE_P(hashes, bloom_test, ::testing::Values(4, 8, 16));

/* Chances. Filled with stores to addresses below 2^44, asked about others. */

enum pattern {
   SCATTERED,  /* granules anywhere */
   CONTIGUOUS, /* 128 bytes each time, which have a line for themselves */
};

typedef std::tuple<unsigned, double, enum pattern> parameters;

class rate_test : public ::testing::TestWithParam<parameters> {
 protected:
   rate_test(): f(20, std::get<0>(GetParam()))
   {
   }

   uint64_t next_granule()
   {
      uint64_t address = random() & 0xffffffffff0;
      return std::get<2>(GetParam()) == CONTIGUOUS ? address & ~127ull : address;
   }

   void store_until(double fill)
   {
      unsigned step = std::max(1.0, f.buckets.size() * 0.001 / f.bloom.hashes);
      while (f.fill() < fill) {
         for (unsigned i = 0; i < step; i++) {
            uint64_t address = next_granule();
            unsigned count = std::get<2>(GetParam()) == CONTIGUOUS ? 8 : 1;
            for (unsigned j = 0; j < count; j++) {
               f.mark_store(address + 16 * j, random());
               stored.push_back(address + 16 * j);
            }
         }
      }
   }

   filter f;
   std::vector<uint64_t> stored;
   std::mt19937_64 random{1};
};

TEST_P(rate_test, false_positives_of_the_filter)
{
   const unsigned hashes = f.bloom.hashes;
   const double trials = 300000;
   store_until(std::get<1>(GetParam()));

   double failed = 0;
   for (double i = 0; i < trials; i++)
      failed += f.would_fail((random() & 0xffffffffff0) | 1ull << 44, random(), true);

   /* All buckets have a mark, and not all have the lock of this invocation. */
   double fill = f.fill(), locked = fill * f.mean_lock_chance();
   double theory = pow(fill, hashes) - pow(locked, hashes);
   struct range range = likely(trials, theory);
   printf("%2u hashes, %4.1f %% full: %g of %g, theory %.3g (%g to %g of %g)\n", hashes, fill * 100,
          failed, trials, theory, range.low, range.high, trials);
   EXPECT_GE(failed, range.low);
   EXPECT_LE(failed, range.high);
}

/* Other granules' claims are in all places: only one whose tag is the same by chance is
 * believed.
 */
TEST_P(rate_test, false_positives_with_claims)
{
   const unsigned hashes = f.bloom.hashes;
   const double trials = 50000;
   store_until(std::get<1>(GetParam()));
   for (size_t i = 0; i < f.claims.size(); i += 2)
      f.claims[i] = random() << GPUVAL_CLAIM_TAG_SHIFT | 9ull << GPUVAL_CLAIM_COMMAND_SHIFT | 7;

   double failed = 0;
   for (double i = 0; i < trials; i++)
      failed += f.would_fail((random() & 0xffffffffff0) | 1ull << 44, random(), false);

   double fill = f.fill();
   double theory = pow(fill, hashes) * pow(2, -24);
   struct range range = likely(trials, theory);
   printf("%2u hashes, %4.1f %% full, with claims: %g of %g, theory %.3g (to %g of %g)\n", hashes,
          fill * 100, failed, trials, theory, range.high, trials);
   EXPECT_LE(failed, range.high);
}

TEST_P(rate_test, false_negatives)
{
   store_until(std::get<1>(GetParam()));

   /* Only who has all the locks of those who were there before gets away. */
   double missed = 0, expected = 0, variance = 0;
   for (uint64_t address : stored) {
      double chance = 1;
      for (unsigned i = 0; i < f.bloom.hashes; i++)
         chance *= filter::lock_chance(f.buckets[gpuval_bloom_bucket(&f.bloom, address, 0, i)]);
      expected += chance;
      variance += chance * (1 - chance);
      missed += !f.would_fail(address, random(), true);
   }
   EXPECT_NEAR(missed, expected, 6 * sqrt(variance) + 3);
}

INSTANTIATE_TEST_SUITE_P(hashes_fill, rate_test,
                         ::testing::Combine(::testing::Values(1, 4, 8, 16),
                                            ::testing::Values(0.1, 0.25, 0.5),
                                            ::testing::Values(SCATTERED, CONTIGUOUS)));

TEST(bloom_fill, estimate)
{
   filter f(20, 8);
   std::mt19937_64 random(3);
   EXPECT_EQ(gpuval_bloom_fill(&f.bloom, 0, 1000), 0);
   for (unsigned i = 0; i < 5000; i++)
      f.mark_store(random() & 0xffffffffff0, i);

   const unsigned samples = 20000;
   for (uint32_t seed = 0; seed < 5; seed++) {
      struct range range = likely(samples, f.fill());
      double used = gpuval_bloom_fill(&f.bloom, seed, samples) * samples;
      EXPECT_GE(used, range.low - 0.5);
      EXPECT_LE(used, range.high + 0.5);
   }
}

} /* namespace */
