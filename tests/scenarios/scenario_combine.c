/* SPDX-License-Identifier: MIT */

/*
 * A scenario under several checks at once. What a check reports must not depend on
 * which other checks are on: each run has the reports that the scenario EXPECTs of
 * the checks of this run, and no other.
 *
 * Each combination is a process, and each is compiled anew the first time, so the
 * number of combinations is what this costs. README.rst says which ones there are.
 */

#include "scenario_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "vk_headless.h"

struct combine {
   struct scenario *scenario;
   const char *folder;
   const struct scenario_child *child;
   bool *skipped;
   bool has_off; /* the program has run without checks */
   unsigned runs, differences;
};

static bool
run_one(struct combine *combine, const struct scenario_child *child)
{
   const int status = scenario_run_child(combine->scenario, combine->folder, child);
   if (WIFEXITED(status) && WEXITSTATUS(status) == VKH_EXIT_SKIP) {
      scenario_print_file(combine->folder, child->name, "out");
      *combine->skipped = true;
      return false;
   }
   if (scenario_check_status(combine->scenario, combine->folder, child, status))
      return true;
   combine->differences++;
   return false;
}

/* Compares memory with that of a run without checks, which is made when it is needed first. */
static unsigned
compare_memory(struct combine *combine, const char *name)
{
   if (!combine->has_off) {
      struct scenario_child off = *combine->child;
      off.name = "off";
      if (!run_one(combine, &off))
         return 0; /* it has been counted */
      combine->has_off = true;
   }
   return scenario_compare_dumps(combine->scenario, combine->folder, "off", name);
}

static void
run_checks(struct combine *combine, uint32_t checks)
{
   struct scenario *scenario = combine->scenario;
   struct scenario_child child = *combine->child;

   if (*combine->skipped || !checks)
      return;
   char *text = scenario_checks_text(checks);
   char *name = scenario_format("%s", text);
   for (char *comma = name; (comma = strchr(comma, ','));)
      *comma = '+'; /* as lists of files are separated by commas */
   child.name = name;
   child.checks = text;
   combine->runs++;
   if (run_one(combine, &child)) {
      unsigned found = scenario_compare(scenario, combine->folder, child.name, child.kind, checks);
      if (!scenario->once && scenario_dumps_are_comparable(scenario, checks))
         found += compare_memory(combine, child.name);
      if (found)
         printf("%s: %u differences with %s\n", scenario->path, found, text);
      combine->differences += found;
   }
   free(name);
   free(text);
}

/* Where to begin, so that another scenario has other pairs. */
static unsigned
hash_name(const char *path)
{
   const char *slash = strrchr(path, '/');
   uint32_t hash = 0x811c9dc5u; /* FNV-1a */
   for (const char *c = slash ? slash + 1 : path; *c; c++)
      hash = (hash ^ (uint8_t)*c) * 0x01000193u;
   return hash;
}

/* The scenario's own checks with each other one, at most `limit` of them. The only
 * other one makes them all, which come next.
 */
static void
run_with_others(struct combine *combine, uint32_t own, uint32_t others, unsigned limit)
{
   uint32_t bits[32];
   unsigned count = 0;

   for (unsigned i = 0; i < 32; i++) {
      if (others & (1u << i))
         bits[count++] = 1u << i;
   }
   const unsigned first = count ? hash_name(combine->scenario->path) % count : 0;
   for (unsigned i = 0; i < count && i < limit && count > 1; i++)
      run_checks(combine, own | bits[(first + i) % count]);
}

/* @half: 1: those whose numbers have an even sum, 2: the others; 0: all */
static void
run_pairs(struct combine *combine, uint32_t checks, unsigned half)
{
   for (unsigned i = 0; i < 32; i++) {
      for (unsigned j = i; j < 32; j++) {
         const uint32_t pair = (1u << i) | (1u << j);
         if ((pair & checks) == pair && (!half || (i + j) % 2 == half - 1))
            run_checks(combine, pair);
      }
   }
}

unsigned
scenario_combine(struct scenario *scenario, const char *folder, const struct scenario_child *child,
                 enum scenario_combinations combinations, unsigned limit, bool *skipped)
{
   struct combine combine = {
      .scenario = scenario,
      .folder = folder,
      .child = child,
      .skipped = skipped,
   };
   const uint32_t all = scenario_combined_checks() & ~scenario->alone;
   const uint32_t own = scenario_checks(scenario);

   if (combinations == SCENARIO_PAIRS)
      run_pairs(&combine, all, limit);
   else
      run_with_others(&combine, own, all & ~own, limit);
   run_checks(&combine, all | own);
   if (!*skipped)
      printf("%u combinations\n", combine.runs);
   return combine.differences;
}
