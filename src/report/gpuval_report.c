/* SPDX-License-Identifier: MIT */

#include "gpuval_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan_core.h>

#include "base/gpuval_files.h"
#include "base/gpuval_layout.h"
#include "base/gpuval_log.h"
#include "base/gpuval_options.h"
#include "base/gpuval_text.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/os_time.h"
#include "util/ralloc.h"
#include "util/set.h"
#include "util/simple_mtx.h"
#include "util/u_atomic.h"
#include "util/u_math.h"
#include "gpuval_journal.h"
#include "gpuval_lcov.h"
#include "gpuval_paths.h"
#include "gpuval_report_files.h"
#include "gpuval_run.h"
#include "gpuval_suppressions.h"

#define PROGRESS_INTERVAL_NS 200000000

/* Distinct texts in the report files: docs/printf.rst */
#define MAX_MESSAGE_EVENTS 10000

static simple_mtx_t mutex = SIMPLE_MTX_INITIALIZER;
/* Of the session, if there are any */
static struct util_dynarray events; /* struct gpuval_event * */
static uint64_t lost;
static uint64_t messages, lost_messages;
static unsigned num_message_events;
static uint64_t suppressed_before, suppressed_occurrences_before;

static uint32_t period = 1;          /* odd: what happens is reported */
static struct util_dynarray outside; /* struct gpuval_event *: the others */
static struct gpuval_summary total;  /* of the sessions that have ended */
static bool finished;
static bool progress; /* is shown */
static bool marked_error;
static bool annotates; /* gpuval_github_is_wanted() */
static struct gpuval_run run;
static int64_t begin;       /* of the process or of the session */
static uint64_t commands;   /* since then */
static struct set *shaders; /* see gpuval_report_add_shader() */

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
   FILE *f = gpuval_options()->mark ? gpuval_files_open(gpuval_options()->mark, true) : NULL;
   if (f) {
      fprintf(f, "%s\n", line);
      fclose(f);
   }
}

/* All at once, as processes share stderr. An empty line is behind each block. */
static void
write_block(const struct gpuval_event *event, const char *block)
{
   bool with_suppression = gpuval_options()->gen_suppressions && !event->is_reported;
   char *text = NULL;
   size_t size;
   FILE *f = open_memstream(&text, &size);

   if (!f)
      return;
   fputs(block, f);
   if (with_suppression)
      gpuval_suppressions_generate(f, event);
   fputc('\n', f);
   fclose(f);
   gpuval_log_write(text, size);
   free(text);
}

/* Says once what would make reports better. */
static void
hint_at_debug_information(const struct gpuval_event *event)
{
   static bool is_said;

   if (is_said || !event->place.has_shader || event->place.source.line)
      return;
   is_said = true;
   gpuval_log_note("compiled with debug information, shaders are reported with their lines of "
                   "source: glslang -gVS, glslc -g, dxc -Zi, slangc -g");
}

static bool
is_recording(void)
{
   return period & 1;
}

uint32_t
gpuval_report_period(void)
{
   return p_atomic_read(&period);
}

static bool
is_left_out(struct gpuval_event *event)
{
   gpuval_report_lock();
   event->period = period;
   bool left_out = !is_recording() || gpuval_suppressions_take(event);
   if (!is_recording())
      util_dynarray_append_typed(&outside, struct gpuval_event *, event);
   gpuval_report_unlock();
   return left_out;
}

/* Where it makes an annotation. To stderr, where the log may not be, and at once: what
 * comes later may be the program's end.
 */
static void
annotate(const struct gpuval_event *event)
{
   struct gpuval_row row;
   char *text = NULL;
   size_t size;
   FILE *f = annotates ? open_memstream(&text, &size) : NULL;

   if (!f)
      return;
   gpuval_row_from_event(&row, event);
   gpuval_github_write_row(f, &row);
   fclose(f);
   fputs(text, stderr);
   fflush(stderr);
   free(text);
}

static void
mark_error(void)
{
   if (!marked_error)
      gpuval_report_mark("error");
   marked_error = true;
}

static void add_count(struct gpuval_event *event, uint64_t count);
static void append_to_files(struct gpuval_event *event);

/* Work that takes long is no finding, unless somebody has said what is too long. */
static bool
is_for_files(const struct gpuval_event *event)
{
   return !gpuval_event_is_note(event) || gpuval_options()->reports_slow;
}

/* Writes the block of @event to the log, and tells @notices. */
static void
tell(struct gpuval_event *event, struct gpuval_notices *notices)
{
   bool is_note = gpuval_event_is_note(event);
   bool is_error = !is_note && !gpuval_event_is_warning(event);
   char *text = NULL;
   size_t size;

   notices->reported |= is_error;
   FILE *f = open_memstream(&text, &size);
   if (f) {
      locale_t locale = gpuval_begin_c_locale();
      gpuval_text_write_event(f, event);
      fclose(f);
      gpuval_end_c_locale(locale);
   }

   gpuval_report_lock();
   if (is_error)
      mark_error();
   bool in_files = is_for_files(event);
   if (!event->is_reported && in_files)
      util_dynarray_append_typed(&events, struct gpuval_event *, event);
   if (text)
      write_block(event, text);
   hint_at_debug_information(event);
   if (!is_note)
      annotate(event);
   event->is_reported = true;
   if (in_files)
      append_to_files(event);
   gpuval_report_unlock();

   if (text)
      gpuval_notices_add(notices, event, text);
   free(text);
}

void
gpuval_report_event(struct gpuval_event *event, struct gpuval_notices *notices)
{
   if (!is_left_out(event))
      tell(event, notices);
}

/* Messengers, suppressions and devices have pointers to @event: it stays where it is. */
static void
replace_facts(struct gpuval_event *event, struct gpuval_event *conflict)
{
   const struct gpuval_event before = *event;

   *event = *conflict;
   event->count = before.count;
   event->period = before.period;
   event->is_reported = before.is_reported;
   event->was_warning = true;
   event->kept_count = before.kept_count;
   ralloc_steal(event, conflict); /* owns the strings */
}

void
gpuval_report_raise(struct gpuval_event *event, struct gpuval_event *conflict,
                    struct gpuval_notices *notices)
{
   bool was_warning = gpuval_event_is_warning(event);

   gpuval_report_lock();
   if (was_warning) {
      replace_facts(event, conflict);
   } else {
      event->same_value = false;
      ralloc_free(conflict);
   }
   gpuval_report_unlock();
   if (was_warning && event->is_reported)
      tell(event, notices);
}

static void keep_summary(void);

/* For --error-exitcode: something is looked at, a shader or a command. */
static void
mark_checked(void)
{
   static bool is_marked;

   if (p_atomic_read(&is_marked) || !is_recording() || (!run.checks && !gpuval_options()->coverage))
      return;
   if (!p_atomic_xchg(&is_marked, true))
      gpuval_report_mark("checked");
}

/* Numbers go to the journal when they have doubled, as counts do. */
static bool
has_doubled(uint64_t now, uint64_t added)
{
   return util_logbase2_64(now) != util_logbase2_64(MAX2(now - added, 1)) || now == added;
}

void
gpuval_report_add_shader(uint64_t hash, mesa_shader_stage stage)
{
   gpuval_report_lock();
   if (!shaders)
      shaders = _mesa_pointer_set_create(NULL);
   /* The hash is one of BLAKE3, of which fewer bits do; NULL is no key. */
   uintptr_t key = hash * GPUVAL_STAGE_COUNT + stage;
   _mesa_set_add(shaders, (void *)MAX2(key, 1));
   mark_checked();
   keep_summary();
   gpuval_report_unlock();
}

void
gpuval_report_add_lost(uint64_t count)
{
   gpuval_report_lock();
   lost += count;
   gpuval_report_unlock();
}

uint64_t
gpuval_report_num_lost(void)
{
   gpuval_report_lock();
   uint64_t count = lost;
   gpuval_report_unlock();
   return count;
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
   bool told = is_recording();
   if (text && told)
      gpuval_log_write(text, size);
   for (unsigned i = 0; i < count; i++) {
      if (list[i].event)
         add_count(list[i].event, 1);
   }
   messages += count;
   if (count && has_doubled(messages, count))
      keep_summary();
   gpuval_report_unlock();
   free(text);

   for (unsigned i = 0; i < count && told; i++)
      gpuval_notices_add(notices, NULL, list[i].text);
}

bool
gpuval_report_add_message_event(struct gpuval_event *event)
{
   gpuval_report_lock();
   bool has_room = is_recording() && num_message_events < MAX_MESSAGE_EVENTS;
   event->period = period;
   if (has_room) {
      util_dynarray_append_typed(&events, struct gpuval_event *, event);
      num_message_events++;
      append_to_files(event);
   }
   gpuval_report_unlock();
   return has_room;
}

bool
gpuval_report_wants_messages(void)
{
   return gpuval_report_files_exist();
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

/* All but what the events say */
static struct gpuval_summary
summarize_run(void)
{
   run.seconds = (os_time_get_nano() - begin) * 1e-9;

   struct gpuval_summary summary = {
      .runs = &run,
      .num_runs = run.pid > 0,
      .lost = lost,
      .messages = messages,
      .lost_messages = lost_messages,
      .shaders = shaders ? shaders->entries : 0,
      .commands = p_atomic_read(&commands),
      .coverage = &gpuval_options()->coverage,
      .num_coverage = gpuval_options()->coverage ? 1 : 0,
   };

   gpuval_suppressions_count(&summary.suppressed, &summary.suppressed_occurrences);
   summary.suppressed -= suppressed_before;
   summary.suppressed_occurrences -= suppressed_occurrences_before;
   if (gpuval_options()->record == GPUVAL_RECORD_MANUAL)
      summary.session = (period + 1) / 2;
   return summary;
}

static struct gpuval_summary
summarize(void)
{
   struct gpuval_summary summary = summarize_run();

   util_dynarray_foreach (&events, struct gpuval_event *, event) {
      if (gpuval_event_is_message(*event) || gpuval_event_is_note(*event))
         continue;
      if (gpuval_event_is_warning(*event)) {
         summary.warnings++;
         continue;
      }
      summary.errors++;
      summary.occurrences += (*event)->count;
   }
   return summary;
}

/* Who reads a journal counts its events. */
static void
keep_summary(void)
{
   if (!gpuval_options()->mark)
      return;
   struct gpuval_summary summary = summarize_run();
   gpuval_journal_add_summary(&summary);
}

/* Appends @event to the JSON Lines that are asked for, where it stays until they are written anew
 * with final counts: a program that is killed leaves what was found.
 */
static void
append_to_files(struct gpuval_event *event)
{
   struct gpuval_summary summary = summarize_run();

   gpuval_journal_add(event);
   event->kept_count = MAX2(event->count, 1);
   gpuval_journal_add_summary(&summary);
   gpuval_report_files_append(event, &summary);
}

void
gpuval_report_add_commands(uint64_t count)
{
   if (!count)
      return;
   const uint64_t now = p_atomic_add_return(&commands, count);

   mark_checked();
   if (!has_doubled(now, count))
      return;
   gpuval_report_lock();
   keep_summary();
   gpuval_report_unlock();
}

void
gpuval_report_add_device(const char *driver)
{
   static char name[VK_MAX_DRIVER_NAME_SIZE + VK_MAX_DRIVER_INFO_SIZE + 2];

   gpuval_report_lock();
   if (driver && !run.driver) {
      snprintf(name, sizeof(name), "%s", driver);
      run.driver = name;
   }
   gpuval_report_mark("device");
   gpuval_journal_begin();
   gpuval_report_unlock();
}

/* A count goes to the journal again when it has doubled, so that a journal does not grow with it.
 */
static void
add_count(struct gpuval_event *event, uint64_t count)
{
   event->count += count;
   if (event->kept_count && event->count >= 2 * event->kept_count) {
      gpuval_journal_add(event);
      event->kept_count = event->count;
   }
}

void
gpuval_report_count(struct gpuval_event *event, uint64_t count)
{
   gpuval_report_lock();
   add_count(event, count);
   gpuval_report_unlock();
}

static void
add_source_maps(void)
{
   const char **list = gpuval_options()->source_maps;

   for (unsigned i = 0; list && list[i]; i++) {
      if (!gpuval_paths_add_map(list[i]))
         gpuval_log_error("GPUVAL_SOURCE_MAP=\"%s\": FROM=TO is accepted; it is ignored", list[i]);
   }
}

void
gpuval_report_init(void)
{
   gpuval_run_describe(&run);
   begin = os_time_get_nano();
   annotates = gpuval_github_is_wanted();
   add_source_maps();
   gpuval_paths_root(); /* the folder now, whatever the program makes of it */
   gpuval_report_files_init();
   gpuval_lcov_init();
   gpuval_suppressions_init(gpuval_options()->suppressions);
   period = gpuval_options()->record == GPUVAL_RECORD_AUTO;
   progress = gpuval_options()->progress && gpuval_log_has_terminal();
   if (gpuval_log_num_errors()) /* of the environment: less is checked than was asked for */
      gpuval_report_mark("error");
}

/* The parent's threads, of which one may hold the mutex, are not there. */
void
gpuval_report_begin_process(void)
{
   gpuval_report_files_begin_process();
   gpuval_lcov_begin_process();
   simple_mtx_init(&mutex, mtx_plain);
   /* Events stay, as devices may still look at them. */
   events.size = outside.size = 0;
   lost = messages = lost_messages = num_message_events = commands = 0;
   memset(&total, 0, sizeof(total));
   finished = marked_error = false;
   if (shaders)
      _mesa_set_clear(shaders, NULL);
   gpuval_suppressions_begin_process();
   suppressed_before = suppressed_occurrences_before = 0;
   period = gpuval_options()->record == GPUVAL_RECORD_AUTO;
   gpuval_run_describe(&run);
   begin = os_time_get_nano();
}

/* Appends a table to the page of the job. */
static void
write_step_summary(const struct gpuval_summary *summary)
{
   unsigned num_events;
   struct gpuval_event *const *list = get_events(&num_events);
   FILE *f = gpuval_github_open_step_summary();

   if (!f)
      return;
   gpuval_report_write(&gpuval_report_step_summary, f, list, num_events, summary);
   fclose(f);
}

static void
write_files_locked(void)
{
   struct gpuval_summary summary = summarize();

   unsigned num_events;
   struct gpuval_event *const *list = get_events(&num_events);

   gpuval_report_files_write(list, num_events, &summary);
}

/* The journal has counts that are final now, however the program ends. */
static void
keep_counts(void)
{
   if (!gpuval_options()->mark)
      return;
   util_dynarray_foreach (&events, struct gpuval_event *, event) {
      if ((*event)->kept_count && (*event)->kept_count != (*event)->count) {
         gpuval_journal_add(*event);
         (*event)->kept_count = (*event)->count;
      }
   }
   keep_summary();
}

void
gpuval_report_write_files(void)
{
   gpuval_report_lock();
   gpuval_lcov_write(); /* of all that was executed, in a session or not */
   if (is_recording())
      write_files_locked();
   keep_counts();
   gpuval_report_unlock();
}

/* The end of the log, or of a session in it; @by is NULL at the end of all. */
static void
write_end(const struct gpuval_summary *summary, const char *by)
{
   unsigned num_events;
   struct gpuval_event *const *list = get_events(&num_events);
   char *text = NULL;
   size_t size;

   FILE *f = open_memstream(&text, &size);
   if (!f)
      return;
   locale_t locale = gpuval_begin_c_locale();
   if (summary->session || gpuval_options()->record == GPUVAL_RECORD_AUTO)
      gpuval_text_write_counts(f, list, num_events);
   if (by)
      fprintf(f, "gpuval: session %u ends: %s\n", summary->session, by);
   else
      gpuval_suppressions_write(f);
   gpuval_text_write_summary(f, summary);
   fclose(f);
   gpuval_end_c_locale(locale);
   gpuval_log_write(text, size);
   free(text);
}

static void
begin_session(const char *by)
{
   char text[64];

   p_atomic_set(&period, period + 1);
   events.size = 0; /* They stay, as devices may still look at them. */
   lost = messages = lost_messages = num_message_events = 0;
   p_atomic_set(&commands, 0);
   begin = os_time_get_nano();
   gpuval_suppressions_count(&suppressed_before, &suppressed_occurrences_before);
   gpuval_journal_add_session((period + 1) / 2);
   keep_summary();
   snprintf(text, sizeof(text), "gpuval: session %u begins: %s\n", (period + 1) / 2, by);
   gpuval_log_write(text, strlen(text));
}

static void
end_session(const char *by)
{
   struct gpuval_summary summary = summarize();

   write_end(&summary, by);
   write_step_summary(&summary);
   write_files_locked();
   keep_counts();
   gpuval_journal_add_session(0);
   gpuval_summary_add(&total, &summary);
   total.shaders = summary.shaders; /* which no session has to itself */
   p_atomic_set(&period, period + 1);
   keep_summary();
}

void
gpuval_report_session(enum gpuval_session_action action, const char *by)
{
   gpuval_report_lock();
   bool begins = action == GPUVAL_SESSION_TOGGLE ? !is_recording() : action == GPUVAL_SESSION_BEGIN;
   if (finished)
      ; /* It is too late. */
   else if (begins == is_recording())
      gpuval_log_warning("%s: %s", by,
                         begins ? "a session has begun already" : "there is no session to end");
   else if (begins)
      begin_session(by);
   else
      end_session(by);
   gpuval_report_unlock();
}

static void
show_progress(int64_t seconds)
{
   struct gpuval_summary now = summarize();
   char text[256], session[32] = "", warnings[32] = "";

   if (gpuval_options()->record == GPUVAL_RECORD_MANUAL)
      snprintf(session, sizeof(session), is_recording() ? "session %u, " : "no session, ",
               (period + 1) / 2);
   if (now.warnings)
      snprintf(warnings, sizeof(warnings), ", %" PRIu64 " warning%s", now.warnings,
               gpuval_plural(now.warnings));
   snprintf(text, sizeof(text),
            "gpuval: %d:%02d, %s%" PRIu64 " shader%s, %" PRIu64 " error%s (%" PRIu64
            " occurrence%s)%s, %" PRIu64 " lost",
            (int)(seconds / 60), (int)(seconds % 60), session, now.shaders,
            gpuval_plural(now.shaders), now.errors, gpuval_plural(now.errors), now.occurrences,
            gpuval_plural(now.occurrences), warnings, now.lost);
   gpuval_log_show_status(text);
}

void
gpuval_report_progress(bool last)
{
   static int64_t first, next;

   if (!progress || (!last && os_time_get_nano() < p_atomic_read(&next)))
      return;

   gpuval_report_lock();
   int64_t now = os_time_get_nano();
   first = first ? first : now;
   if (!finished && (last || now >= next)) {
      p_atomic_set(&next, now + PROGRESS_INTERVAL_NS);
      show_progress((now - first) / 1000000000);
   }
   gpuval_report_unlock();
}

/* All sessions, and what was outside of them */
static void
finish_sessions(void)
{
   if (is_recording())
      end_session("exit");
   total.outside = util_dynarray_num_elements(&outside, struct gpuval_event *);
   util_dynarray_foreach (&outside, struct gpuval_event *, event)
      total.outside_occurrences += (*event)->count;
   total.runs = &run;
   total.num_runs = 1;
   write_end(&total, NULL);
}

void
gpuval_report_finish(void)
{
   gpuval_report_lock();
   if (!finished) {
      finished = true;
      if (progress)
         gpuval_log_show_status(NULL);
      gpuval_lcov_write(); /* reports have what is in it */
      if (gpuval_options()->record == GPUVAL_RECORD_MANUAL) {
         finish_sessions();
      } else {
         struct gpuval_summary summary = summarize();
         write_end(&summary, NULL);
         write_step_summary(&summary);
         write_files_locked();
      }
      gpuval_journal_end();
   }
   gpuval_report_unlock();
}
