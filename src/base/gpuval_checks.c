/* SPDX-License-Identifier: MIT */

#include "gpuval_checks.h"

#include <string.h>

#include "c11/threads.h"
#include "util/bitset.h"
#include "util/macros.h"

#define CHECK(id, name_, sets_, needs_, early, pass, host, summary_)                               \
   [GPUVAL_CHECK_##id] = {.name = name_, .sets = sets_, .needs = needs_, .summary = summary_},
#define KIND(id, check, name, words, sentence, text)
const struct gpuval_check_info gpuval_check_infos[GPUVAL_CHECK_COUNT] = {
#include "gpuval_check_table.h"
};

#define CHECK(id, name, sets, needs, early, pass, host, summary)
#define KIND(id, check_, name_, words, sentence, text)                                             \
   [GPUVAL_KIND_##id] = {.check = GPUVAL_CHECK_##check_, .name = name_},
const struct gpuval_kind_info gpuval_kind_infos[GPUVAL_KIND_COUNT] = {
#include "gpuval_check_table.h"
};

const struct gpuval_op_info gpuval_op_infos[GPUVAL_OP_COUNT] = {
   [GPUVAL_OP_NONE] = {NULL, true},
   [GPUVAL_OP_LOAD] = {"load", true},
   [GPUVAL_OP_STORE] = {"store", true},
   [GPUVAL_OP_ATOMIC] = {"atomic", true},
   [GPUVAL_OP_SAMPLE] = {"sample", true},
   [GPUVAL_OP_FETCH] = {"fetch", true},
   [GPUVAL_OP_QUERY] = {"query", true},
   [GPUVAL_OP_INDIRECT] = {"indirect", false},
   [GPUVAL_OP_TRANSFER_READ] = {"transfer_read", false},
   [GPUVAL_OP_TRANSFER_WRITE] = {"transfer_write", false},
   [GPUVAL_OP_INDEX] = {"index", false},
   [GPUVAL_OP_ATTRIBUTE] = {"attribute", false},
   [GPUVAL_OP_COUNTER] = {"counter", false},
   [GPUVAL_OP_BUILD] = {"build", false},
   [GPUVAL_OP_CLEAR] = {"clear", false},
   [GPUVAL_OP_ATTACHMENT_READ] = {"attachment_read", false},
   [GPUVAL_OP_ATTACHMENT_WRITE] = {"attachment_write", false},
};

static const struct {
   const char *name;
   uint32_t set; /* 0: all checks but those that somebody has to name */
} gpuval_sets[] = {
   {"basic", GPUVAL_SET_BASIC},
   {"shader", GPUVAL_SET_SHADER},
   {"concurrency", GPUVAL_SET_CONCURRENCY},
   {"residency", GPUVAL_SET_RESIDENCY},
   {"all", 0},
};

static bool
is_available(enum gpuval_check check)
{
   return !(gpuval_check_infos[check].sets &
            (GPUVAL_SET_COMING | GPUVAL_SET_HIDDEN | GPUVAL_SET_ALWAYS));
}

static uint32_t
get_checks_of_set(uint32_t set)
{
   uint32_t checks = 0;

   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      bool is_in_set =
         set ? gpuval_check_infos[i].sets & set : !(gpuval_check_infos[i].sets & GPUVAL_SET_SEARCH);
      if (is_available(i) && is_in_set)
         checks |= BITFIELD_BIT(i);
   }
   return checks;
}

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
      if (!(gpuval_check_infos[i].sets & (GPUVAL_SET_HIDDEN | GPUVAL_SET_ALWAYS)) &&
          equals(gpuval_check_infos[i].name, name, length))
         return BITFIELD_BIT(i);
   }

   for (unsigned i = 0; i < ARRAY_SIZE(gpuval_sets); i++) {
      if (equals(gpuval_sets[i].name, name, length))
         return get_checks_of_set(gpuval_sets[i].set);
   }

   return 0;
}

static char all_names[512];

static void
collect_names(void)
{
   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      if (is_available(i)) {
         strcat(all_names, *all_names ? ", " : "");
         strcat(all_names, gpuval_check_infos[i].name);
      }
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
   return get_checks_of_set(0) | get_checks_of_set(GPUVAL_SET_SEARCH);
}

uint32_t
gpuval_checks_with_needs(uint32_t needs)
{
   uint32_t checks = 0;

   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      if (gpuval_check_infos[i].needs & needs)
         checks |= BITFIELD_BIT(i);
   }
   return checks;
}
