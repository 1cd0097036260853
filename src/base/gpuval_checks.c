/* SPDX-License-Identifier: MIT */

#include "gpuval_checks.h"

#include <string.h>

#include "c11/threads.h"
#include "util/bitset.h"
#include "util/macros.h"

const struct gpuval_check_info gpuval_check_infos[GPUVAL_CHECK_COUNT] = {
   [GPUVAL_CHECK_ASSUME] = {"assume", true},
   [GPUVAL_CHECK_PRINTF] = {"printf", true},
   [GPUVAL_CHECK_BOUNDS] = {"bounds", true},
   [GPUVAL_CHECK_DESCRIPTOR] = {"descriptor", true},
   [GPUVAL_CHECK_ADDRESS] = {"address", true},
   [GPUVAL_CHECK_INDIRECT] = {"indirect", true},
   [GPUVAL_CHECK_VERTEX] = {"vertex", true},
   [GPUVAL_CHECK_RAY] = {"ray", true},
   [GPUVAL_CHECK_EXPORT] = {"export", true},
   [GPUVAL_CHECK_SYNC] = {"sync", true},
   [GPUVAL_CHECK_SYNC_COMPUTE] = {"sync-compute", true},
   [GPUVAL_CHECK_SHARED] = {"shared", true},
   [GPUVAL_CHECK_RACE] = {"race", true},
   [GPUVAL_CHECK_INIT] = {"init", true},
};

const struct gpuval_kind_info gpuval_kind_infos[GPUVAL_KIND_COUNT] = {
   [GPUVAL_KIND_ASSUMPTION_FAILED] = {GPUVAL_CHECK_ASSUME, "assumption-failed"},
   [GPUVAL_KIND_MESSAGE] = {GPUVAL_CHECK_PRINTF, "message"},
   [GPUVAL_KIND_BUFFER_OOB] = {GPUVAL_CHECK_BOUNDS, "buffer-oob", GPUVAL_WORDS_RANGE},
   [GPUVAL_KIND_TEXEL_BUFFER_OOB] = {GPUVAL_CHECK_BOUNDS, "texel-buffer-oob", GPUVAL_WORDS_TEXELS},
   [GPUVAL_KIND_IMAGE_OOB] = {GPUVAL_CHECK_BOUNDS, "image-oob", GPUVAL_WORDS_IMAGE},
   [GPUVAL_KIND_INDEX_OOB] = {GPUVAL_CHECK_DESCRIPTOR, "index-oob", GPUVAL_WORDS_DESCRIPTOR},
   [GPUVAL_KIND_UNWRITTEN] = {GPUVAL_CHECK_DESCRIPTOR, "unwritten", GPUVAL_WORDS_DESCRIPTOR},
   [GPUVAL_KIND_WRONG_TYPE] = {GPUVAL_CHECK_DESCRIPTOR, "wrong-type", GPUVAL_WORDS_DESCRIPTOR},
   [GPUVAL_KIND_DESTROYED] = {GPUVAL_CHECK_DESCRIPTOR, "destroyed", GPUVAL_WORDS_DESCRIPTOR},
   [GPUVAL_KIND_NOT_UNIFORM] = {GPUVAL_CHECK_DESCRIPTOR, "not-uniform", GPUVAL_WORDS_DESCRIPTOR},
   [GPUVAL_KIND_WRONG_VIEW] = {GPUVAL_CHECK_DESCRIPTOR, "wrong-view", GPUVAL_WORDS_DESCRIPTOR},
   [GPUVAL_KIND_INVALID_ADDRESS] = {GPUVAL_CHECK_ADDRESS, "invalid-address", GPUVAL_WORDS_ADDRESS},
   [GPUVAL_KIND_MISALIGNED] = {GPUVAL_CHECK_ADDRESS, "misaligned", GPUVAL_WORDS_ADDRESS},
   [GPUVAL_KIND_INDIRECT_ARGUMENT_OOB] = {GPUVAL_CHECK_INDIRECT, "argument-oob"},
   [GPUVAL_KIND_INDIRECT_COUNT] = {GPUVAL_CHECK_INDIRECT, "count"},
   [GPUVAL_KIND_INDIRECT_LIMIT] = {GPUVAL_CHECK_INDIRECT, "limit"},
   [GPUVAL_KIND_INDIRECT_FIRST_INSTANCE] = {GPUVAL_CHECK_INDIRECT, "first-instance"},
   [GPUVAL_KIND_INDEX_BUFFER_OOB] = {GPUVAL_CHECK_VERTEX, "index-buffer-oob"},
   [GPUVAL_KIND_ATTRIBUTE_OOB] = {GPUVAL_CHECK_VERTEX, "attribute-oob"},
   [GPUVAL_KIND_RAY_NAN] = {GPUVAL_CHECK_RAY, "nan", GPUVAL_WORDS_RAY},
   [GPUVAL_KIND_RAY_RANGE] = {GPUVAL_CHECK_RAY, "range", GPUVAL_WORDS_RAY},
   [GPUVAL_KIND_RAY_FLAGS] = {GPUVAL_CHECK_RAY, "flags", GPUVAL_WORDS_RAY},
   [GPUVAL_KIND_RAY_UNINITIALIZED_QUERY] = {GPUVAL_CHECK_RAY, "uninitialized-query"},
   [GPUVAL_KIND_RAY_BAD_STRUCTURE] = {GPUVAL_CHECK_RAY, "bad-structure", GPUVAL_WORDS_STRUCTURE},
   [GPUVAL_KIND_EXPORT_NAN] = {GPUVAL_CHECK_EXPORT, "nan", GPUVAL_WORDS_EXPORT},
   [GPUVAL_KIND_EXPORT_INF] = {GPUVAL_CHECK_EXPORT, "inf", GPUVAL_WORDS_EXPORT},
   [GPUVAL_KIND_EXPORT_NAN_INF] = {GPUVAL_CHECK_EXPORT, "nan-inf", GPUVAL_WORDS_EXPORT},
   /* Whichever of the two checks was asked for */
   [GPUVAL_KIND_READ_AFTER_WRITE] = {GPUVAL_CHECK_SYNC, "read-after-write", GPUVAL_WORDS_HAZARD},
   [GPUVAL_KIND_WRITE_AFTER_ACCESS] = {GPUVAL_CHECK_SYNC, "write-after-access",
                                       GPUVAL_WORDS_HAZARD},
   [GPUVAL_KIND_ATOMIC_CONFLICT] = {GPUVAL_CHECK_SYNC, "atomic-conflict", GPUVAL_WORDS_HAZARD},
   [GPUVAL_KIND_INDIRECT_AFTER_WRITE] = {GPUVAL_CHECK_SYNC, "indirect-after-write",
                                         GPUVAL_WORDS_HAZARD},
   [GPUVAL_KIND_SHARED_READ_AFTER_WRITE] = {GPUVAL_CHECK_SHARED, "read-after-write",
                                            GPUVAL_WORDS_SHARED},
   [GPUVAL_KIND_SHARED_WRITE_AFTER_ACCESS] = {GPUVAL_CHECK_SHARED, "write-after-access",
                                              GPUVAL_WORDS_SHARED},
   [GPUVAL_KIND_SHARED_ATOMIC_CONFLICT] = {GPUVAL_CHECK_SHARED, "atomic-conflict",
                                           GPUVAL_WORDS_SHARED},
   [GPUVAL_KIND_RESOURCE_RACE] = {GPUVAL_CHECK_RACE, "resource-race"},
   [GPUVAL_KIND_UNINITIALIZED_READ] = {GPUVAL_CHECK_INIT, "uninitialized-read",
                                       GPUVAL_WORDS_UNWRITTEN},
};

const struct gpuval_op_info gpuval_op_infos[GPUVAL_OP_COUNT] = {
   [GPUVAL_OP_NONE] = {NULL, true},       [GPUVAL_OP_LOAD] = {"load", true},
   [GPUVAL_OP_STORE] = {"store", true},   [GPUVAL_OP_ATOMIC] = {"atomic", true},
   [GPUVAL_OP_SAMPLE] = {"sample", true}, [GPUVAL_OP_FETCH] = {"fetch", true},
   [GPUVAL_OP_QUERY] = {"query", true},   [GPUVAL_OP_INDIRECT] = {"indirect", false},
};

#define CHECK(name) BITFIELD_BIT(GPUVAL_CHECK_##name)

static const struct {
   const char *name;
   uint32_t checks;
} gpuval_sets[] = {
   {"basic", CHECK(ASSUME) | CHECK(PRINTF) | CHECK(BOUNDS) | CHECK(DESCRIPTOR) | CHECK(ADDRESS) |
                CHECK(EXPORT) | CHECK(INDIRECT) | CHECK(VERTEX) | CHECK(RAY)},
   {"concurrency", CHECK(RACE) | CHECK(SHARED)},
   {"residency", CHECK(INIT)},
   {"all", BITFIELD_MASK(GPUVAL_CHECK_COUNT)},
};

const char *
gpuval_kind_check_name(enum gpuval_kind kind)
{
   return gpuval_check_infos[gpuval_kind_infos[kind].check].name;
}

static bool
equals(const char *known, const char *name, unsigned length)
{
   return strlen(known) == length && !memcmp(known, name, length);
}

uint32_t
gpuval_checks_from_name(const char *name, unsigned length)
{
   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      if (equals(gpuval_check_infos[i].name, name, length))
         return BITFIELD_BIT(i);
   }

   for (unsigned i = 0; i < ARRAY_SIZE(gpuval_sets); i++) {
      if (equals(gpuval_sets[i].name, name, length))
         return gpuval_sets[i].checks;
   }

   return 0;
}

static char all_names[256];

static void
collect_names(void)
{
   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      strcat(all_names, i ? ", " : "");
      strcat(all_names, gpuval_check_infos[i].name);
   }
   for (unsigned i = 0; i < ARRAY_SIZE(gpuval_sets); i++) {
      strcat(all_names, i ? ", " : "; ");
      strcat(all_names, gpuval_sets[i].name);
   }
}

const char *
gpuval_checks_names(void)
{
   static once_flag once = ONCE_FLAG_INIT;
   call_once(&once, collect_names);
   return all_names;
}

uint32_t
gpuval_checks_available(void)
{
   uint32_t checks = 0;

   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      if (gpuval_check_infos[i].available)
         checks |= BITFIELD_BIT(i);
   }

   return checks;
}
