/* SPDX-License-Identifier: MIT */

#include "gpuval_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/gpuval_log.h"
#include "base/gpuval_options.h"
#include "base/gpuval_text.h"
#include "util/macros.h"
#include "util/ralloc.h"
#include "gpuval_formats.h"

static char *file; /* NULL: there is no journal */
static int fd = -1;
static pid_t owner; /* a child that was forked begins one of its own */

static int
open_to_append(const char *name)
{
   return open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
}

/* A line is written whole or not at all, as far as the kernel can: what a write() leaves of a line
 * when the disk is full is taken back.
 */
static bool
append(int to, const char *line, size_t size)
{
   ssize_t written = write(to, line, size);
   if (written == (ssize_t)size)
      return true;

   int error = written < 0 ? errno : ENOSPC;
   off_t end = lseek(to, 0, SEEK_END);
   if (written > 0 && end >= written)
      (void)!ftruncate(to, end - written);
   errno = error;
   return false;
}

static bool
append_row(int to, const struct gpuval_event *event)
{
   struct gpuval_row row;
   char *line = NULL;
   size_t size;
   FILE *f = open_memstream(&line, &size);
   if (!f)
      return false;

   locale_t locale = gpuval_begin_c_locale();
   gpuval_row_from_event(&row, event);
   /* The failure has been seen, its counter not yet. */
   struct gpuval_value *count = &row.values[0][gpuval_field_find("", "count", 0)];
   count->number = MAX2(count->number, 1);
   gpuval_jsonl_write_row(f, &row);
   fclose(f);
   gpuval_end_c_locale(locale);
   bool is_written = line && append(to, line, size);
   free(line);
   return is_written;
}

bool
gpuval_journal_append_row(const char *name, const struct gpuval_event *event)
{
   int to = open_to_append(name);
   if (to < 0)
      return false;

   bool is_written = append_row(to, event);
   int error = errno;
   close(to);
   errno = error;
   return is_written;
}

static void
give_up(void)
{
   gpuval_log_error("%s: %s; if the program is killed, its reports lack what is found from now on",
                    file, strerror(errno));
   close(fd);
   fd = -1;
}

void
gpuval_journal_begin(void)
{
   const char *mark = gpuval_options()->mark;
   if (!mark || (file && owner == getpid()))
      return;

   if (fd >= 0)
      close(fd);
   owner = getpid();
   ralloc_free(file);
   file = ralloc_asprintf(NULL, "%s.%d.jsonl", mark, (int)getpid());
   fd = open_to_append(file);
   if (fd < 0)
      give_up();
   if (gpuval_options()->record == GPUVAL_RECORD_MANUAL)
      gpuval_journal_add_session(0);
}

void
gpuval_journal_add_session(unsigned session)
{
   char line[32];

   snprintf(line, sizeof(line), "{\"session\":%u}\n", session);
   if (fd >= 0 && !append(fd, line, strlen(line)))
      give_up();
}

void
gpuval_journal_add(const struct gpuval_event *event)
{
   if (fd >= 0 && !append_row(fd, event))
      give_up();
}

void
gpuval_journal_add_summary(const struct gpuval_summary *summary)
{
   char *line = NULL;
   size_t size;
   FILE *f = fd < 0 ? NULL : open_memstream(&line, &size);
   if (!f)
      return;

   locale_t locale = gpuval_begin_c_locale();
   gpuval_jsonl_write_summary(f, summary);
   fclose(f);
   gpuval_end_c_locale(locale);
   if (line && !append(fd, line, size))
      give_up();
   free(line);
}

void
gpuval_journal_end(void)
{
   if (!file || owner != getpid())
      return;
   if (fd >= 0)
      close(fd);
   fd = -1;
   unlink(file);
   ralloc_free(file);
   file = NULL;
}
