/* SPDX-License-Identifier: MIT */

#include "gpuval_report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/gpuval_layout.h"
#include "base/gpuval_log.h"
#include "base/gpuval_options.h"
#include "base/gpuval_text.h"
#include "util/os_time.h"
#include "util/ralloc.h"
#include "util/set.h"
#include "util/simple_mtx.h"
#include "util/u_dynarray.h"
#include "util/u_process.h"
#include "gpuval_suppressions.h"

/* Distinct texts in the report files: docs/printf.rst */
#define MAX_MESSAGE_EVENTS 10000

static simple_mtx_t mutex = SIMPLE_MTX_INITIALIZER;
static struct util_dynarray events; /* struct gpuval_event * */
static uint64_t lost;
static uint64_t messages, lost_messages;
static unsigned num_message_events;
static bool finished;
static bool marked_error;
static struct gpuval_run run;
static struct set *shaders;        /* see gpuval_report_add_shader() */
static struct util_dynarray files; /* const char *: names */

void
gpuval_report_lock(void)
{
   simple_mtx_lock(&mutex);
}

void
gpuval_report_unlock(void)
{
   simple_mtx_unlock(&mutex);
}

void
gpuval_report_mark(const char *line)
{
   FILE *f = gpuval_options()->mark ? fopen(gpuval_options()->mark, "ae") : NULL;
   if (f) {
      fprintf(f, "%s\n", line);
      fclose(f);
   }
}

static void
write_suppression(const struct gpuval_event *event)
{
   char *text = NULL;
   size_t size;
   FILE *f = open_memstream(&text, &size);
   if (f) {
      gpuval_suppressions_generate(f, event);
      fclose(f);
      gpuval_log_write(text, size);
   }
   free(text);
}

static bool
is_suppressed(const struct gpuval_event *event)
{
   gpuval_report_lock();
   bool suppressed = gpuval_suppressions_take(event);
   gpuval_report_unlock();
   return suppressed;
}

void
gpuval_report_event(struct gpuval_event *event, struct gpuval_notices *notices)
{
   char *text = NULL;
   size_t size;

   if (is_suppressed(event))
      return;
   notices->reported = true;
   FILE *f = open_memstream(&text, &size);
   if (f) {
      locale_t locale = gpuval_begin_c_locale();
      gpuval_text_write_event(f, event);
      fclose(f);
      gpuval_end_c_locale(locale);
   }

   gpuval_report_lock();
   if (!marked_error)
      gpuval_report_mark("error");
   marked_error = true;
   util_dynarray_append(&events, struct gpuval_event *, event);
   if (text)
      gpuval_log_write(text, size);
   if (gpuval_options()->gen_suppressions)
      write_suppression(event);
   gpuval_report_unlock();

   if (text)
      gpuval_notices_add(notices, event, text);
   free(text);
}

void
gpuval_report_add_shader(uint64_t hash, gl_shader_stage stage)
{
   gpuval_report_lock();
   if (!shaders)
      shaders = _mesa_pointer_set_create(NULL);
   /* The hash is one of BLAKE3, of which fewer bits do; NULL is no key. */
   uintptr_t key = hash * GPUVAL_STAGE_COUNT + stage;
   _mesa_set_add(shaders, (void *)MAX2(key, 1));
   gpuval_report_unlock();
}

void
gpuval_report_add_lost(uint64_t count)
{
   gpuval_report_lock();
   lost += count;
   gpuval_report_unlock();
}

void
gpuval_report_messages(const struct gpuval_message *list, unsigned count,
                       struct gpuval_notices *notices)
{
   /* All at once: the log may be a stream without a buffer. */
   char *text = NULL;
   size_t size;
   FILE *f = open_memstream(&text, &size);
   for (unsigned i = 0; f && i < count; i++) {
      fputs("printf: ", f);
      gpuval_write_escaped(f, list[i].text);
      fputc('\n', f);
   }
   if (f)
      fclose(f);

   gpuval_report_lock();
   if (text)
      gpuval_log_write(text, size);
   for (unsigned i = 0; i < count; i++) {
      if (list[i].event)
         list[i].event->count++;
   }
   messages += count;
   gpuval_report_unlock();
   free(text);

   for (unsigned i = 0; i < count; i++)
      gpuval_notices_add(notices, NULL, list[i].text);
}

bool
gpuval_report_add_message_event(struct gpuval_event *event)
{
   gpuval_report_lock();
   bool has_room = num_message_events < MAX_MESSAGE_EVENTS;
   if (has_room) {
      util_dynarray_append(&events, struct gpuval_event *, event);
      num_message_events++;
   }
   gpuval_report_unlock();
   return has_room;
}

bool
gpuval_report_wants_messages(void)
{
   return files.size > 0;
}

void
gpuval_report_add_lost_messages(uint64_t count)
{
   gpuval_report_lock();
   lost_messages += count;
   gpuval_report_unlock();
}

static struct gpuval_event *const *
get_events(unsigned *num_events)
{
   *num_events = util_dynarray_num_elements(&events, struct gpuval_event *);
   return util_dynarray_begin(&events);
}

/* What tells this process from others, on other machines too. */
static void
describe_run(void)
{
   static char host[256], begin[32];
   time_t now = time(NULL);
   struct tm date;

   if (!gethostname(host, sizeof(host) - 1) && *host)
      run.host = host;
   if (gmtime_r(&now, &date) && strftime(begin, sizeof(begin), "%Y-%m-%dT%H:%M:%SZ", &date))
      run.time = begin;
   run.program = util_get_process_name();
   run.pid = getpid();
}

static struct gpuval_summary
summarize(void)
{
   struct gpuval_summary summary = {
      .runs = &run,
      .num_runs = run.pid > 0,
      .lost = lost,
      .messages = messages,
      .lost_messages = lost_messages,
      .shaders = shaders ? shaders->entries : 0,
   };

   util_dynarray_foreach (&events, struct gpuval_event *, event) {
      if (gpuval_event_is_message(*event))
         continue;
      summary.errors++;
      summary.occurrences += (*event)->count;
   }
   gpuval_suppressions_count(&summary.suppressed, &summary.suppressed_occurrences);
   return summary;
}

/* A file beside @name, of this process alone: others may write the same report, and
 * in containers even have the same id. *beside is the caller's. NULL: see errno.
 */
static FILE *
open_beside(const char *name, char **beside)
{
   int fd = -1;

   *beside = NULL;
   for (unsigned i = 0; i < 100 && fd < 0; i++) {
      ralloc_free(*beside);
      *beside =
         ralloc_asprintf(NULL, "%s.%d-%08x.new", name, (int)getpid(), (uint32_t)os_time_get_nano());
      fd = open(*beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd < 0 && errno != EEXIST)
         break;
   }

   FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
   if (fd >= 0 && !f)
      close(fd);
   return f;
}

/* To a file beside, which then takes the name: who reads it meanwhile sees
 * the old one whole.
 */
static bool
write_file(const char *name, const struct gpuval_summary *summary)
{
   unsigned num_events;
   struct gpuval_event *const *list = get_events(&num_events);
   char *beside;

   FILE *f = open_beside(name, &beside);
   bool written = f != NULL;
   if (f) {
      gpuval_report_write(gpuval_report_format(name), f, list, num_events, summary);
      written = !ferror(f);
      written &= fclose(f) == 0;
      written = written && !rename(beside, name);
   }
   if (!written) {
      gpuval_log_error("GPUVAL_REPORT: %s: %s", name, strerror(errno));
      unlink(beside);
   }
   ralloc_free(beside);
   return written;
}

static bool
try_file(const char *name)
{
   char *beside;
   FILE *f = open_beside(name, &beside);

   if (f) {
      fclose(f);
      unlink(beside);
   } else {
      gpuval_log_error("GPUVAL_REPORT: %s: %s; it is not written", name, strerror(errno));
   }
   ralloc_free(beside);
   return f != NULL;
}

void
gpuval_report_init(void)
{
   const char **names = gpuval_options()->reports;

   describe_run();
   for (unsigned i = 0; names && names[i]; i++) {
      if (!gpuval_report_format(names[i]))
         gpuval_log_error("GPUVAL_REPORT: \"%s\" does not end in " GPUVAL_REPORT_ENDINGS
                          "; it is not written",
                          names[i]);
      else if (try_file(names[i]))
         util_dynarray_append(&files, const char *, names[i]);
   }
   gpuval_suppressions_init(gpuval_options()->suppressions);
}

static void
write_files_locked(void)
{
   struct gpuval_summary summary = summarize();

   /* One that cannot be written is not tried again: it is said once. */
   util_dynarray_foreach (&files, const char *, name) {
      if (*name && !write_file(*name, &summary))
         *name = NULL;
   }
}

void
gpuval_report_write_files(void)
{
   gpuval_report_lock();
   write_files_locked();
   gpuval_report_unlock();
}

void
gpuval_report_finish(void)
{
   gpuval_report_lock();
   if (!finished) {
      finished = true;

      unsigned num_events;
      struct gpuval_event *const *list = get_events(&num_events);
      struct gpuval_summary summary = summarize();
      char *text = NULL;
      size_t size;
      FILE *f = open_memstream(&text, &size);
      if (f) {
         locale_t locale = gpuval_begin_c_locale();
         gpuval_text_write_counts(f, list, num_events);
         gpuval_suppressions_write(f);
         gpuval_text_write_summary(f, &summary);
         fclose(f);
         gpuval_end_c_locale(locale);
         gpuval_log_write(text, size);
         free(text);
      }
      write_files_locked();
   }
   gpuval_report_unlock();
}
