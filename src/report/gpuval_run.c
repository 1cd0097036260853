/* SPDX-License-Identifier: MIT */

#include "gpuval_run.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/gpuval_checks.h"
#include "base/gpuval_options.h"
#include "base/gpuval_text.h"
#include "util/bitscan.h"
#include "util/macros.h"
#include "util/u_process.h"

void
gpuval_run_describe(struct gpuval_run *run)
{
   static char host[256], begin[32];
   time_t now = time(NULL);
   struct tm date;

   if (!gethostname(host, sizeof(host) - 1) && *host)
      run->host = host;
   if (gmtime_r(&now, &date) && strftime(begin, sizeof(begin), "%Y-%m-%dT%H:%M:%SZ", &date))
      run->time = begin;
   run->program = util_get_process_name();
   run->pid = getpid();
   run->checks = 0;
   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++)
      run->checks |= gpuval_options_may_check(i) ? BITFIELD_BIT(i) : 0;
   run->checks &= gpuval_checks_available(); /* not what --coverage asks for */
}

struct gpuval_scope
gpuval_summary_scope(const struct gpuval_summary *summary)
{
   struct gpuval_scope scope = {0};
   bool has_time = true;

   for (unsigned i = 0; i < summary->num_runs; i++) {
      const struct gpuval_run *run = gpuval_summary_run(summary, i);
      bool is_same = run->driver && scope.driver && !strcmp(run->driver, scope.driver);

      scope.checks = i ? scope.checks & run->checks : run->checks;
      scope.driver = i && !is_same ? NULL : run->driver;
      scope.seconds += run->seconds;
      has_time &= run->seconds > 0;
   }
   if (!has_time)
      scope.seconds = 0;
   return scope;
}

void
gpuval_checks_write_json(FILE *f, uint32_t checks)
{
   const char *separator = "[";

   u_foreach_bit (check, checks) {
      fprintf(f, "%s\"%s\"", separator, gpuval_check_infos[check].name);
      separator = ",";
   }
   fputs(*separator == '[' ? "[]" : "]", f);
}

static void
write_count(FILE *f, const char *separator, uint64_t count, const char *noun)
{
   fprintf(f, "%s%" PRIu64 " %s%s", separator, count, noun, gpuval_plural(count));
}

static void
write_names(FILE *f, uint32_t checks)
{
   const char *separator = "";

   u_foreach_bit (check, checks) {
      fprintf(f, "%s%s", separator, gpuval_check_infos[check].name);
      separator = ", ";
   }
}

void
gpuval_scope_write(FILE *f, const struct gpuval_summary *summary)
{
   const struct gpuval_scope scope = gpuval_summary_scope(summary);
   if (!scope.checks)
      return;

   write_count(f, ": ", summary->shaders, "shader");
   write_count(f, ", ", summary->commands, "command");
   fprintf(f, "; check%s: ", gpuval_plural(util_bitcount(scope.checks)));
   write_names(f, scope.checks);
   if (scope.driver) {
      fputs("; ", f);
      gpuval_write_escaped(f, scope.driver);
   }
   if (scope.seconds > 0)
      fprintf(f, "; %.1f s", scope.seconds);
}

/* What checks look for that belong together. `printf` looks for nothing, `nan` is for a search,
 * and `sync-compute` is a part of `sync`.
 */
static const struct {
   const char *name; /* NULL: the checks' own names */
   uint32_t checks;
} subjects[] = {
   {"missing barriers", BITFIELD_BIT(GPUVAL_CHECK_SYNC) | BITFIELD_BIT(GPUVAL_CHECK_SHARED) |
                           BITFIELD_BIT(GPUVAL_CHECK_RACE)},
   {"unwritten memory", BITFIELD_BIT(GPUVAL_CHECK_INIT)},
   {NULL, ~(BITFIELD_BIT(GPUVAL_CHECK_SYNC) | BITFIELD_BIT(GPUVAL_CHECK_SHARED) |
            BITFIELD_BIT(GPUVAL_CHECK_RACE) | BITFIELD_BIT(GPUVAL_CHECK_INIT))},
};

void
gpuval_scope_write_missing(FILE *f, const struct gpuval_summary *summary)
{
   const uint32_t no_subject = BITFIELD_BIT(GPUVAL_CHECK_PRINTF) | BITFIELD_BIT(GPUVAL_CHECK_NAN) |
                               BITFIELD_BIT(GPUVAL_CHECK_SYNC_COMPUTE);
   uint32_t checks = gpuval_summary_scope(summary).checks;
   uint32_t missing = gpuval_checks_available() & ~checks & ~no_subject;
   const char *separator = "gpuval: not looked for: ";
   if (!checks || !missing)
      return;

   for (unsigned i = 0; i < ARRAY_SIZE(subjects); i++) {
      if (!(missing & subjects[i].checks))
         continue;
      fputs(separator, f);
      if (subjects[i].name)
         fprintf(f, "%s (", subjects[i].name);
      write_names(f, missing & subjects[i].checks);
      fputs(subjects[i].name ? ")" : "", f);
      separator = ", ";
   }
   fputs("; for these, once: --checks all or GPUVAL=all\n", f);
}
