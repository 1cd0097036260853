/* SPDX-License-Identifier: MIT */

/*
 * Which checks a run has, and which reports it has to have therefore.
 */

#include "scenario.h"

#include <stdlib.h>
#include <string.h>

#include "base/gpuval_checks.h"

/* As GPUVAL is read, but a name that is not known is nothing here. */
uint32_t
scenario_checks(const struct scenario *scenario)
{
   char *text = scenario_format("%s", scenario->checks);
   char *rest = text;
   char *name;
   uint32_t checks = 0;

   while ((name = strsep(&rest, ","))) {
      const bool off = *name == '-';
      const uint32_t bits = gpuval_checks_from_name(name + off, (unsigned)strlen(name + off));
      checks = off ? checks & ~bits : checks | bits;
   }
   free(text);
   return checks & gpuval_checks_available();
}

/* `sync` is `sync-compute` and more. */
uint32_t
scenario_combined_checks(void)
{
   return gpuval_checks_from_name("all", strlen("all")) & ~(1u << GPUVAL_CHECK_SYNC_COMPUTE);
}

char *
scenario_checks_text(uint32_t checks)
{
   char *text = scenario_format("%s", "");

   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      if (checks & (1u << i)) {
         char *longer =
            scenario_format("%s%s%s", text, *text ? "," : "", gpuval_check_infos[i].name);
         free(text);
         text = longer;
      }
   }
   return text;
}

bool
scenario_expect_applies(const struct scenario_expect *expect, uint32_t checks)
{
   return (expect->checks & checks) && (expect->with & checks) == expect->with &&
          !(expect->without & checks);
}

uint32_t
scenario_allowed(const struct scenario *scenario, uint32_t checks)
{
   return scenario->allowed & checks & ~scenario_checks(scenario);
}
