/* SPDX-License-Identifier: MIT */

#include "gpuval_checks.h"

#include <string.h>

#include "util/bitset.h"
#include "util/macros.h"

const struct gpuval_check_info gpuval_check_infos[GPUVAL_CHECK_COUNT] = {
   [GPUVAL_CHECK_ASSUME] = {"assume", true},
   [GPUVAL_CHECK_PRINTF] = {"printf", true},
   [GPUVAL_CHECK_BOUNDS] = {"bounds", true},
   [GPUVAL_CHECK_DESCRIPTOR] = {"descriptor", false},
   [GPUVAL_CHECK_ADDRESS] = {"address", false},
   [GPUVAL_CHECK_EXPORT] = {"export", false},
   [GPUVAL_CHECK_SYNC] = {"sync", true},
   [GPUVAL_CHECK_SYNC_COMPUTE] = {"sync-compute", true},
   [GPUVAL_CHECK_RACE] = {"race", false},
   [GPUVAL_CHECK_INIT] = {"init", false},
};

const struct gpuval_kind_info gpuval_kind_infos[GPUVAL_KIND_COUNT] = {
   [GPUVAL_KIND_ASSUMPTION_FAILED] = {GPUVAL_CHECK_ASSUME, "assumption-failed"},
   [GPUVAL_KIND_MESSAGE] = {GPUVAL_CHECK_PRINTF, "message"},
   [GPUVAL_KIND_BUFFER_OOB] = {GPUVAL_CHECK_BOUNDS, "buffer-oob"},
   /* Whichever of the two checks was asked for */
   [GPUVAL_KIND_READ_AFTER_WRITE] = {GPUVAL_CHECK_SYNC, "read-after-write"},
   [GPUVAL_KIND_WRITE_AFTER_ACCESS] = {GPUVAL_CHECK_SYNC, "write-after-access"},
   [GPUVAL_KIND_ATOMIC_CONFLICT] = {GPUVAL_CHECK_SYNC, "atomic-conflict"},
   [GPUVAL_KIND_INDIRECT_AFTER_WRITE] = {GPUVAL_CHECK_SYNC, "indirect-after-write"},
};

static const struct {
   const char *name;
   uint32_t checks;
} gpuval_sets[] = {
   {"basic", BITFIELD_BIT(GPUVAL_CHECK_ASSUME) | BITFIELD_BIT(GPUVAL_CHECK_PRINTF) |
                BITFIELD_BIT(GPUVAL_CHECK_BOUNDS) | BITFIELD_BIT(GPUVAL_CHECK_DESCRIPTOR) |
                BITFIELD_BIT(GPUVAL_CHECK_ADDRESS) | BITFIELD_BIT(GPUVAL_CHECK_EXPORT)},
   {"concurrency", BITFIELD_BIT(GPUVAL_CHECK_RACE)},
   {"residency", BITFIELD_BIT(GPUVAL_CHECK_INIT)},
   {"all", BITFIELD_MASK(GPUVAL_CHECK_COUNT)},
};

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
