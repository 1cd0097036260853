/* SPDX-License-Identifier: MIT */

/* The bloom filter of the sync check: docs/protocols.rst, "Bloom filter".
 *
 * A granule is 16 bytes of memory. For each of GPUVAL_BLOOM_HASHES hash
 * functions there is one bucket, 64 bits, that stands for it:
 *
 *     0..15  byte N of the granule is invalid to load
 *    16..31  byte N is invalid to store
 *    32..35  word N is invalid for atomics
 *    36..39  word N is invalid as an indirect argument
 *    40..63  lock set: who claimed bytes of it first
 *
 * An access marks what it makes invalid for others, and is a hazard if all
 * buckets have a mark against it, unless all lock sets contain its invocation.
 *
 * What differs from vkd3d-proton's filter. The 8 granules of 128 bytes have their buckets in
 * one line of 64 bytes: the hash chooses the line and a permutation in it. So
 * neighbours share cache lines, and the rate of false positives is the same,
 * fill ^ hashes, since granules of different lines are still independent of
 * each other. And the hash takes in the epoch: after a barrier the filter's
 * marks are about other granules, and it has to be cleared only when it gets full.
 *
 * Filters err, and the more the fuller they are. So beside this one lies a table
 * of claims, 16 bytes for a granule, direct-mapped by its bucket in the first
 * hash function: who has marked it last, and for each of its words who has
 * accessed it and how. A hazard stands if the claim does not speak against it:
 *
 *    first 64 bits    0..21  entry (device-wide) of the strongest access, the last
 *                            of these
 *                    22..39  low 18 bits of its command id
 *                    40..63  tag of granule and epoch
 *    second 64 bits   0..47  12 for each word: 0..1 strongest access so far, 2..11 hash
 *                            of the invocation, or that there were several
 *                    48..63  another tag, as the halves are not written at once: where two
 *                            granules share a place, one may have the one half, and the
 *                            other the other
 *
 * A claim with the right tag says no if all words were accessed by this invocation, or
 * in a way that does not conflict. A claim of a command before the epoch says no,
 * too: whoever marks our granule leaves one. If another granule's claim of this
 * epoch has taken the place, or a word got lost between two that claimed at once,
 * the filter is believed if a sample of it says that it is nearly empty.
 */

#ifndef GPUVAL_BLOOM_H
#define GPUVAL_BLOOM_H

#include <stdbool.h>
#include <stdint.h>

#include "gpuval_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPUVAL_BLOOM_MAX_HASHES 16

/* docs/protocols.rst, "Hash functions": one prime for each. */
#define GPUVAL_BLOOM_PRIMES                                                                        \
   {                                                                                               \
      1103515245u, 1103518333u, 1103539331u, 1103633207u, 10006121u, 4004951u, 5005159u, 6004811u, \
         383u, 821u, 661u, 1091u, 1117u, 3947u, 4253u, 7691u                                       \
   }

/* docs/protocols.rst, "Lock sets": numbers of invocations are multiples of this prime, modulo
 * 2^32.
 */
#define GPUVAL_BLOOM_INVOCATION_STEP 1103633207u

#define GPUVAL_BLOOM_GRANULE    16
#define GPUVAL_BLOOM_LINE_LOG2  3 /* buckets a line */
#define GPUVAL_BLOOM_MAX_CLAIMS (1u << 22)

/* Epochs are this long different in hashes. */
#define GPUVAL_BLOOM_EPOCH_BITS 23

#define GPUVAL_CLAIM_SIZE_LOG2     4
#define GPUVAL_CLAIM_COMMAND_SHIFT 22
#define GPUVAL_CLAIM_COMMAND_BITS  18
#define GPUVAL_CLAIM_TAG_SHIFT     40
static_assert(GPUVAL_MAX_ENTRIES == 1u << GPUVAL_CLAIM_COMMAND_SHIFT, "a claim's entry");

/* The second half */
#define GPUVAL_CLAIM_WORD_BITS       12
#define GPUVAL_CLAIM_WORD_MASK       0xfffu
#define GPUVAL_CLAIM_OWNER_MASK      0xffcu
#define GPUVAL_CLAIM_WORDS_TAG_SHIFT 48

/* Its tag: of the first hash function what neither the place nor the other tag has in full, and of
 * line and epoch, as the hash does not tell all of them apart: with 2^24 accesses that is seen.
 */
#define GPUVAL_CLAIM_EPOCH_STEP 0x85ebca6bu
#define GPUVAL_CLAIM_LINE_STEP  0x9e3779b1u
static inline uint32_t
gpuval_claim_words_tag(const uint32_t hash[2], uint64_t address, uint32_t epoch)
{
   uint32_t line = (uint32_t)(address >> (4 + GPUVAL_BLOOM_LINE_LOG2));
   uint32_t mixed = (line ^ epoch * GPUVAL_CLAIM_EPOCH_STEP) * GPUVAL_CLAIM_LINE_STEP;

   return (hash[0] >> 16 ^ (hash[1] & 0xff) * 0x101 ^ mixed >> 16) & 0xffff;
}

enum gpuval_bloom_type {
   GPUVAL_BLOOM_LOAD,
   GPUVAL_BLOOM_STORE,
   GPUVAL_BLOOM_ATOMIC,
   GPUVAL_BLOOM_INDIRECT,
};

/* In a claim's word: the stronger the larger */
enum gpuval_claim_access {
   GPUVAL_CLAIM_NONE,
   GPUVAL_CLAIM_LOAD,
   GPUVAL_CLAIM_ATOMIC,
   GPUVAL_CLAIM_STORE,
};

/* In the place of the invocation: several have accessed the word in this way. */
#define GPUVAL_CLAIM_SEVERAL 0xffc

/* Of so many buckets */
#define GPUVAL_BLOOM_SAMPLES 512

/** so many may be used: a filter of which that is a sample errs less than once in 10^9
 * accesses, down to 4 hashes.
 */
static inline unsigned
gpuval_bloom_max_samples(unsigned hashes)
{
   static const uint8_t max[GPUVAL_BLOOM_MAX_HASHES + 1] = {0, 0,  0,  0,  0,  0,  2,  3, 5,
                                                            9, 14, 19, 25, 31, 38, 44, 51};
   return max[hashes];
}

/* Workgroups that exchange data across barriers: an access in phase p, which
 * begins with the p-th barrier, may meet those of its own workgroup in earlier
 * phases. Later phases than these are told apart no more: they may meet all.
 */
#define GPUVAL_BLOOM_PHASES 8

struct gpuval_bloom {
   uint64_t *buckets; /* (line_mask + 1) * 8 */
   uint64_t *claims;  /* (claims_mask + 1) * 2 */
   uint32_t line_mask;
   uint32_t claims_mask;
   unsigned hashes; /* 1 to 16 */
};

/**
 * The hash of docs/protocols.rst over line and epoch: out[0] picks the line, out[1] is 32 more
 * bits.
 */
void gpuval_bloom_hash(uint64_t address, uint32_t epoch, unsigned index, uint32_t out[2]);

/** Bucket of @address's granule for one hash function. */
uint32_t gpuval_bloom_bucket(const struct gpuval_bloom *bloom, uint64_t address, uint32_t epoch,
                             unsigned index);

struct gpuval_bloom_access {
   uint64_t address;
   uint32_t size; /* bytes; those in the next granule are left out */
   enum gpuval_bloom_type type;
   uint32_t epoch;
   uint32_t flags; /* GPUVAL_SYNC_* */
   uint32_t invocation;
   uint32_t entry; /* device-wide, for the claim */
   uint32_t command_id;
   uint32_t epoch_command; /* as in struct gpuval_command_data */
};

/**
 * What the filter alone says of an access, which it marks: is it a hazard? Errs
 * at a rate of fill ^ hashes. Safe beside shaders that run.
 */
bool gpuval_bloom_mark(const struct gpuval_bloom *bloom, const struct gpuval_bloom_access *access);

/**
 * All that a shader does for an access: gpuval_bloom_mark(), and the claim must
 * not speak against it. *other is the claim's first half, and 0 if it is another
 * granule's.
 */
bool gpuval_bloom_access(const struct gpuval_bloom *bloom, const struct gpuval_bloom_access *access,
                         uint64_t *other);

/**
 * Fraction of buckets that are not 0, estimated from @samples of them: others
 * for each @seed.
 */
double gpuval_bloom_fill(const struct gpuval_bloom *bloom, uint32_t seed, unsigned samples);

#ifdef __cplusplus
}
#endif

#endif
