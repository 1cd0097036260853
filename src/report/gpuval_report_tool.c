/* SPDX-License-Identifier: MIT */

/* `./gpuval report`: one report of many. Exits with 0, with 1 where there is something
 * new, with 2 where something could not be read or written.
 */

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "base/gpuval_text.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/macros.h"
#include "util/ralloc.h"
#include "gpuval_beside.h"
#include "gpuval_formats.h"
#include "gpuval_merge.h"
#include "gpuval_merge_runs.h"
#include "gpuval_paths.h"
#include "gpuval_report.h"
#include "gpuval_run.h"
#include "gpuval_tracefile.h"
#include "gpuval_zstd.h"

enum {
   EXIT_NEW = 1,
   EXIT_TROUBLE = 2,
};

struct output {
   const char *name;
   const struct gpuval_report_format *format;
   FILE *f;
   char *beside;
};

static struct util_dynarray inputs;    /* const char * */
static struct util_dynarray baselines; /* const char * */
static struct util_dynarray outputs;   /* struct output */
static struct util_dynarray coverage;  /* const char *: tracefiles */
static int error_status = -1;          /* --error-exitcode */
static const char *ended;              /* --ended */
static unsigned session;               /* of the journal, the one that was open; 0: none */

static void __attribute__((format(printf, 1, 2))) __attribute__((noreturn))
fail(const char *format, ...)
{
   va_list args;

   va_start(args, format);
   fputs("gpuval: ", stderr);
   vfprintf(stderr, format, args);
   fputc('\n', stderr);
   va_end(args);
   exit(EXIT_TROUBLE);
}

/* Options */

static void
add_output(const char *name)
{
   struct output output = {name, gpuval_report_format(name)};

   if (!output.format)
      fail("\"%s\" does not end in " GPUVAL_REPORT_ENDINGS, name);
   util_dynarray_append_typed(&outputs, struct output, output);
}

static bool
is_option(const char *name)
{
   static const char *const names[] = {
      "-o",      "--output",     "--baseline", "--coverage",
      "--ended", "--source-map", "--root",     "--error-exitcode",
   };

   for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
      if (!strcmp(names[i], name))
         return true;
   }
   return false;
}

static void
set_option(const char *option, const char *value)
{
   if (!is_option(option))
      fail("unknown option '%s' (see ./gpuval report --help)", option);
   if (!value)
      fail("%s needs a value (see ./gpuval report --help)", option);
   if (!strcmp(option, "-o") || !strcmp(option, "--output")) {
      add_output(value);
   } else if (!strcmp(option, "--baseline")) {
      util_dynarray_append_typed(&baselines, const char *, value);
   } else if (!strcmp(option, "--coverage")) {
      util_dynarray_append_typed(&coverage, const char *, value);
   } else if (!strcmp(option, "--ended")) {
      ended = value;
   } else if (!strcmp(option, "--source-map")) {
      if (!gpuval_paths_add_map(value))
         fail("--source-map is FROM=TO, not '%s'", value);
   } else if (!strcmp(option, "--root")) {
      gpuval_paths_add_root(value);
   } else {
      char *end;
      error_status = strtol(value, &end, 10);
      if (end == value || *end || error_status < 0 || error_status > 255)
         fail("--error-exitcode is a number from 0 to 255, not '%s'", value);
   }
}

static void
parse_options(char **arguments)
{
   for (; *arguments; arguments++) {
      char *argument = *arguments;
      char *equals = strchr(argument, '=');

      if (!strcmp(argument, "--")) {
         while (*++arguments)
            util_dynarray_append_typed(&inputs, const char *, *arguments);
         break;
      } else if (argument[0] != '-' || !argument[1]) {
         util_dynarray_append_typed(&inputs, const char *, argument);
      } else if (!strncmp(argument, "--", 2) && equals) {
         *equals = '\0';
         set_option(argument, equals + 1);
      } else {
         set_option(argument, arguments[1]);
         arguments++;
      }
   }
   if (!inputs.size)
      fail("no report given (see ./gpuval report --help)");
}

/* Reading */

static struct util_dynarray *found; /* char *: of the folder that is looked through */

static bool
ends_in(const char *name, const char *ending)
{
   size_t length = strlen(name), end = strlen(ending);
   return length > end && !strcmp(name + length - end, ending);
}

static bool
is_output(const struct stat *file)
{
   struct stat status;

   util_dynarray_foreach (&outputs, struct output, output) {
      if (!stat(output->name, &status) && status.st_dev == file->st_dev &&
          status.st_ino == file->st_ino)
         return true;
   }
   return false;
}

static int
visit(const char *name, const struct stat *status, int type, struct FTW *ftw)
{
   bool is_report = ends_in(name, ".jsonl") || ends_in(name, ".jsonl.zst");

   if (type == FTW_F && is_report && !is_output(status))
      util_dynarray_append_typed(found, char *, strdup(name));
   else if (type == FTW_DNR || type == FTW_NS)
      fail("%s: %s", name, strerror(EACCES));
   return 0;
}

static int
compare_names(const void *a, const void *b)
{
   return strcmp(*(char *const *)a, *(char *const *)b);
}

static FILE *
open_zstd(FILE *f, const char *name)
{
   FILE *stream = gpuval_open_zstd(f);

   if (!stream)
      fail("%s: %s", name, strerror(ENOMEM));
   return stream;
}

/* A report that is made anew is none of its own sources. */
static void
read_input(struct gpuval_merge *merge, const char *name)
{
   struct stat status;
   FILE *f = strcmp(name, "-") ? fopen(name, "re") : stdin;

   if (!f || fstat(fileno(f), &status)) {
      gpuval_merge_unreadable(merge, name);
      return;
   }
   if (is_output(&status))
      fail("%s is read and written", name);
   bool is_stdin = f == stdin;
   f = open_zstd(f, name);
   gpuval_merge_read(merge, f, is_stdin ? "stdin" : name);
   if (f != stdin)
      fclose(f);
}

static void
read_folder(struct gpuval_merge *merge, const char *folder)
{
   struct util_dynarray names = {0};

   found = &names;
   if (nftw(folder, visit, 32, FTW_PHYS))
      fail("%s: %s", folder, strerror(errno));
   if (!names.size)
      fail("%s: there is no .jsonl or .jsonl.zst file in it or in a folder below", folder);
   qsort(util_dynarray_begin(&names), util_dynarray_num_elements(&names, char *), sizeof(char *),
         compare_names);
   util_dynarray_foreach (&names, char *, name) {
      read_input(merge, *name);
      free(*name);
   }
   util_dynarray_fini(&names);
}

static void
read_all(struct gpuval_merge *merge)
{
   util_dynarray_foreach (&baselines, const char *, name) {
      FILE *f = fopen(*name, "re");
      if (!f)
         fail("%s: %s", *name, strerror(errno));
      f = open_zstd(f, *name);
      gpuval_merge_read_baseline(merge, f, *name);
      fclose(f);
   }
   util_dynarray_foreach (&inputs, const char *, name) {
      struct stat status;
      if (strcmp(*name, "-") && !stat(*name, &status) && S_ISDIR(status.st_mode))
         read_folder(merge, *name);
      else
         read_input(merge, *name);
   }
   if (!gpuval_merge_finish(merge))
      fail("the reports do not fit into TMPDIR: %s", strerror(errno));
}

/* Writing */

static void
open_output(struct output *output)
{
   output->f = gpuval_open_beside(output->name, &output->beside);
   if (!output->f)
      fail("%s: %s", output->name, strerror(errno));
}

struct writing {
   const struct gpuval_summary *summary;
   unsigned num_rows; /* so far */
};

static void
write_row(void *data, const struct gpuval_row *row, unsigned index)
{
   struct writing *writing = data;

   util_dynarray_foreach (&outputs, struct output, output)
      output->format->row(output->f, row, writing->summary, index);
   writing->num_rows = index + 1;
}

static void
write_gone_row(void *data, const struct gpuval_row *row, unsigned index)
{
   const struct writing *writing = data;

   util_dynarray_foreach (&outputs, struct output, output) {
      if (output->format->gone)
         output->format->gone(output->f, row, writing->summary, writing->num_rows + index);
   }
}

static void
close_output(struct output *output)
{
   if (!gpuval_close_beside(output->f, output->name, output->beside))
      fail("%s: %s", output->name, strerror(errno));
}

struct step_summary {
   FILE *f;
   const struct gpuval_summary *summary;
};

static void
write_step_row(void *data, const struct gpuval_row *row, unsigned index)
{
   struct step_summary *step = data;

   gpuval_report_step_summary.row(step->f, row, step->summary, index);
}

static void
write_step_summary(struct gpuval_merge *merge)
{
   struct step_summary step = {gpuval_github_open_step_summary(), gpuval_merge_summary(merge)};

   if (!step.f)
      return;
   gpuval_report_step_summary.begin(step.f, step.summary);
   if (!gpuval_merge_for_each(merge, write_step_row, &step))
      fail("the reports do not fit into TMPDIR");
   gpuval_report_step_summary.end(step.f, step.summary);
   fclose(step.f);
}

/* What --coverage names; a program that was killed at its beginning has written none. */
static void
check_coverage(void)
{
   util_dynarray_foreach (&coverage, const char *, name) {
      struct gpuval_tracefile trace;

      gpuval_tracefile_init(&trace);
      const char *wrong = gpuval_tracefile_read_named(&trace, *name);
      ralloc_free(trace.mem_ctx);
      if (!wrong && !ended && access(*name, R_OK))
         wrong = strerror(errno);
      if (wrong)
         fail("--coverage %s: %s", *name, wrong);
   }
}

static void
write_outputs(struct gpuval_merge *merge)
{
   struct gpuval_summary with_coverage = *gpuval_merge_summary(merge);
   const struct gpuval_summary *summary = &with_coverage;

   with_coverage.coverage = util_dynarray_begin(&coverage);
   with_coverage.num_coverage = util_dynarray_num_elements(&coverage, const char *);
   with_coverage.session = session;

   util_dynarray_foreach (&outputs, struct output, output) {
      open_output(output);
      if (output->format->begin)
         output->format->begin(output->f, summary);
   }
   struct writing writing = {.summary = summary};
   if (outputs.size && (!gpuval_merge_for_each(merge, write_row, &writing) ||
                        !gpuval_merge_for_each_gone(merge, write_gone_row, &writing)))
      fail("the reports do not fit into TMPDIR");
   util_dynarray_foreach (&outputs, struct output, output) {
      if (output->format->end)
         output->format->end(output->f, summary);
      close_output(output);
   }
}

/* What is printed */

static void
print_count(uint64_t count, const char *one, const char *many)
{
   printf("%" PRIu64 " %s", count, count == 1 ? one : many);
}

static void
print_string(const char *before, const char *string)
{
   fputs(before, stdout);
   gpuval_write_escaped(stdout, string);
}

static void
print_place(const struct gpuval_row *row)
{
   const char *file = gpuval_row_string(row, false, "source", "file");
   const char *hash = gpuval_row_string(row, false, "shader", "hash");
   const char *command = gpuval_row_string(row, false, "command", "op");
   int64_t line = gpuval_row_number(row, false, "source", "line", 0);

   if (line) {
      print_string(" at ", file ? file : "?");
      printf(":%" PRId64, line);
   } else if (hash || command) {
      print_string(hash ? " in shader " : " in ", hash ? hash : command);
   }
}

static void
print_row(void *data, const struct gpuval_row *row, unsigned index)
{
   bool is_new = row->baseline && !strcmp(row->baseline, "new");
   const char *fingerprint = gpuval_row_string(row, false, "", "fingerprint");

   if (gpuval_row_is_message(row) || (row->baseline && !is_new))
      return;
   printf("gpuval: %s%s", is_new ? "new: " : "",
          gpuval_row_is_warning(row) ? "warning: "
          : is_new                   ? ""
                                     : "error: ");
   print_string("", gpuval_row_string(row, false, "", "check"));
   print_string("/", gpuval_row_string(row, false, "", "kind"));
   print_place(row);
   print_string(": ", gpuval_row_string(row, false, "", "message"));
   fputs("\ngpuval:    ", stdout);
   print_count(gpuval_row_number(row, false, "", "count", 0), "time", "times");
   fputs(" in ", stdout);
   print_count(row->num_seen, "run", "runs");
   if (row->num_machines) {
      fputs(" on ", stdout);
      print_count(row->num_machines, "machine", "machines");
   }
   if (fingerprint)
      print_string(", fingerprint ", fingerprint);
   putchar('\n');
}

static void
print_gone(void *data, const struct gpuval_row *row, unsigned index)
{
   const char *fingerprint = gpuval_row_string(row, false, "", "fingerprint");

   print_string("gpuval: gone: ", gpuval_row_string(row, false, "", "check"));
   print_string("/", gpuval_row_string(row, false, "", "kind"));
   print_place(row);
   print_string(": ", gpuval_row_string(row, false, "", "message"));
   if (fingerprint)
      print_string(", fingerprint ", fingerprint);
   putchar('\n');
}

static void
print_summary(const struct gpuval_summary *summary)
{
   fputs("gpuval: ", stdout);
   print_count(summary->errors, "error", "errors");
   fputs(" (", stdout);
   print_count(summary->occurrences, "occurrence", "occurrences");
   fputs(")", stdout);
   if (summary->warnings) {
      fputs(", ", stdout);
      print_count(summary->warnings, "warning", "warnings");
   }
   fputs(" in ", stdout);
   print_count(summary->num_runs, "run", "runs");
   fputs(", ", stdout);
   print_count(summary->lost, "record", "records");
   fputs(" lost", stdout);
   if (summary->lost_messages) {
      fputs(", ", stdout);
      print_count(summary->lost_messages, "message", "messages");
      fputs(" lost", stdout);
   }
   if (summary->lost_lines) {
      fputs(", ", stdout);
      print_count(summary->lost_lines, "line", "lines");
      fputs(" not readable", stdout);
   }
   putchar('\n');
   if (!summary->errors && !summary->warnings && gpuval_summary_scope(summary).checks) {
      gpuval_scope_write_missing(stdout, summary);
      fputs("gpuval: no errors", stdout);
      gpuval_scope_write(stdout, summary);
      putchar('\n');
   }
   if (summary->has_baseline)
      printf("gpuval: %" PRIu64 " new, %" PRIu64 " still there, %" PRIu64 " gone\n",
             summary->baseline_new, summary->baseline_unchanged, summary->baseline_absent);
}

/* What the log says of --ended */
static void
print_end(void)
{
   fputs("gpuval: warning: the program ", stdout);
   if (!strcmp(ended, "killed"))
      fputs("was killed (SIGKILL)", stdout);
   else if (!strcmp(ended, "exit"))
      fputs("has called _exit()", stdout);
   else if (!strcmp(ended, "unknown"))
      fputs("has not come to its end, and nobody knows why", stdout);
   else
      printf("was ended by %s", ended);
   puts("; this is what was known until then");
}

/* Of a session, as gpuval_report_files.c names them */
static void
number_outputs(void)
{
   util_dynarray_foreach (&outputs, struct output, output) {
      const char *ending = output->format->ending;
      output->name =
         ralloc_asprintf(NULL, "%.*s.%u%s", (int)(strlen(output->name) - strlen(ending)),
                         output->name, session, ending);
   }
}

static struct gpuval_merge *
create_merge(void)
{
   struct gpuval_merge *merge = gpuval_merge_create();

   if (!merge)
      fail("TMPDIR: %s", strerror(errno));
   return merge;
}

/* Reads a journal up to where a session begins or ends, which is put into @next. Returns false in
 * *@more at the end of the file.
 */
static struct gpuval_merge *
read_session(FILE *f, const char *name, unsigned *next, bool *more)
{
   struct gpuval_merge *merge = create_merge();
   FILE *lines = gpuval_open_nameless();
   char *line = NULL;
   size_t size = 0;
   ssize_t length;

   *more = false;
   while (lines && !*more && (length = getline(&line, &size, f)) >= 0) {
      *more = sscanf(line, "{\"session\":%u}", next) == 1;
      if (!*more)
         fwrite(line, 1, length, lines);
   }
   free(line);
   if (!lines || fflush(lines))
      fail("the reports do not fit into TMPDIR: %s", strerror(errno));
   rewind(lines);
   gpuval_merge_read_journal(merge, lines, name, ended);
   fclose(lines);
   if (!gpuval_merge_finish(merge))
      fail("the reports do not fit into TMPDIR: %s", strerror(errno));
   return merge;
}

/* Of --ended, which `gpuval run` uses: the reports of a process that has not come to its end, of
 * its journal, and what its log lacks, on stdout. Of sessions, those that have ended have their
 * reports, and what is outside of them has none.
 */
static int
finish_journal(void)
{
   const char *name = *(const char **)util_dynarray_begin(&inputs);
   struct gpuval_summary before = {0};
   bool has_sessions = false, more;
   struct gpuval_merge *merge;
   unsigned next = 0;
   FILE *f = fopen(name, "re");

   if (!f)
      fail("%s: %s", name, strerror(errno));
   while (merge = read_session(f, name, &next, &more), more) {
      if (session)
         gpuval_summary_add(&before, gpuval_merge_summary(merge));
      gpuval_merge_destroy(merge);
      has_sessions = true;
      session = next;
   }
   fclose(f);
   if (session)
      number_outputs();
   if (session || !has_sessions) {
      write_outputs(merge);
      write_step_summary(merge);
   }
   print_end();

   struct gpuval_summary summary = *gpuval_merge_summary(merge);
   const uint64_t shaders = summary.shaders; /* which no session has to itself */
   gpuval_summary_add(&summary, &before);
   summary.shaders = shaders;
   gpuval_text_write_summary(stdout, &summary);
   gpuval_merge_destroy(merge);
   return fflush(stdout) ? EXIT_TROUBLE : 0;
}

static void
annotate(void *data, const struct gpuval_row *row, unsigned index)
{
   if (!gpuval_row_is_message(row) && !(row->baseline && !strcmp(row->baseline, "unchanged")))
      gpuval_github_write_row(stdout, row);
}

int
main(int argc, char **argv)
{
   parse_options(argv + 1);
   check_coverage();

   if (ended)
      return finish_journal();

   struct gpuval_merge *merge = create_merge();
   read_all(merge);
   write_outputs(merge);
   write_step_summary(merge);

   const struct gpuval_summary *summary = gpuval_merge_summary(merge);
   if ((!outputs.size || summary->has_baseline) && !gpuval_merge_for_each(merge, print_row, NULL))
      fail("the reports do not fit into TMPDIR");
   if (!gpuval_merge_for_each_gone(merge, print_gone, NULL))
      fail("the reports do not fit into TMPDIR");
   if (gpuval_github_is_wanted() && !gpuval_merge_for_each(merge, annotate, NULL))
      fail("the reports do not fit into TMPDIR");
   print_summary(summary);

   bool has_complaints = gpuval_merge_has_complaints(merge);
   uint64_t errors = summary->has_baseline ? summary->baseline_new : summary->errors;
   bool has_baseline = summary->has_baseline;
   gpuval_merge_destroy(merge);
   if (fflush(stdout) || has_complaints)
      return EXIT_TROUBLE;
   if (errors && error_status >= 0)
      return error_status;
   return errors && has_baseline ? EXIT_NEW : 0;
}
