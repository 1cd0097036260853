/* SPDX-License-Identifier: MIT */

#include "gpuval_report_files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "base/gpuval_log.h"
#include "base/gpuval_options.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/ralloc.h"
#include "gpuval_beside.h"
#include "gpuval_formats.h"
#include "gpuval_journal.h"

static struct util_dynarray files; /* const char *: names of those that can be written */

/* NAME.2.jsonl of a second session */
static char *
get_name(const char *name, const struct gpuval_summary *summary)
{
   const char *ending = gpuval_report_format(name)->ending;
   int length = strlen(name) - strlen(ending);

   return summary->session
             ? ralloc_asprintf(NULL, "%.*s.%u%s", length, name, summary->session, ending)
             : ralloc_strdup(NULL, name);
}

/* Whether the report can be written. One of an earlier run, which would be taken for this one's
 * should the program not come to its end, goes.
 */
static bool
try_file(const char *name)
{
   struct stat status;
   char *beside;
   FILE *f = gpuval_open_beside(name, &beside);

   if (!f) {
      gpuval_log_error("GPUVAL_REPORT: %s: %s; it is not written", name, strerror(errno));
      return false;
   }
   fclose(f);
   unlink(beside);
   ralloc_free(beside);
   if (!stat(name, &status) && S_ISREG(status.st_mode))
      unlink(name);
   return true;
}

void
gpuval_report_files_init(void)
{
   const char **names = gpuval_options()->reports;

   for (unsigned i = 0; names && names[i]; i++) {
      if (!gpuval_report_format(names[i]))
         gpuval_log_error("GPUVAL_REPORT: \"%s\" does not end in " GPUVAL_REPORT_ENDINGS
                          "; it is not written",
                          names[i]);
      else if (try_file(names[i]))
         util_dynarray_append_typed(&files, const char *, names[i]);
   }
}

/* NAME.4711.jsonl */
static char *
add_pid(const char *name)
{
   const struct gpuval_report_format *format = gpuval_report_format(name);
   int length = strlen(name) - (format ? strlen(format->ending) : 0);

   return ralloc_asprintf(NULL, "%.*s.%d%s", length, name, (int)getpid(), name + length);
}

void
gpuval_report_files_begin_process(void)
{
   const char **names = gpuval_options()->reports;
   const char **before = NULL;
   unsigned count = 0;

   for (; names && names[count]; count++)
      ;
   before = ralloc_memdup(NULL, names, count * sizeof(*names));
   gpuval_options_begin_process();
   for (unsigned i = 0; i < count; i++) {
      if (!strcmp(names[i], before[i]))
         names[i] = add_pid(names[i]);
   }
   ralloc_free(before);
   files.size = 0;
   gpuval_report_files_init();
}

bool
gpuval_report_files_exist(void)
{
   return files.size > 0;
}

void
gpuval_report_files_append(const struct gpuval_event *event, const struct gpuval_summary *summary)
{
   util_dynarray_foreach (&files, const char *, name) {
      if (!*name || gpuval_report_format(*name) != &gpuval_report_jsonl)
         continue;
      char *file = get_name(*name, summary);
      if (!gpuval_journal_append_row(file, event)) {
         gpuval_log_error("GPUVAL_REPORT: %s: %s", file, strerror(errno));
         *name = NULL;
      }
      ralloc_free(file);
   }
}

/* To a file beside, which then takes the name: who reads it meanwhile sees
 * the old one whole.
 */
static bool
write_file(const char *option, struct gpuval_event *const *list, unsigned num_events,
           const struct gpuval_summary *summary)
{
   char *beside, *name = get_name(option, summary);

   FILE *f = gpuval_open_beside(name, &beside);
   bool written = false;
   if (f) {
      gpuval_report_write(gpuval_report_format(option), f, list, num_events, summary);
      written = gpuval_close_beside(f, name, beside);
   }
   if (!written)
      gpuval_log_error("GPUVAL_REPORT: %s: %s", name, strerror(errno));
   ralloc_free(name);
   return written;
}

/* One that cannot be written is not tried again: it is said once. */
void
gpuval_report_files_write(struct gpuval_event *const *list, unsigned num_events,
                          const struct gpuval_summary *summary)
{
   util_dynarray_foreach (&files, const char *, name) {
      if (*name && !write_file(*name, list, num_events, summary))
         *name = NULL;
   }
}
