/* SPDX-License-Identifier: MIT */

#include "gpuval_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>

#include "util/macros.h"
#include "util/ralloc.h"
#include "util/simple_mtx.h"
#include "util/u_atomic.h"
#include "gpuval_files.h"
#include "gpuval_log_colors.h"
#include "gpuval_text.h"

static simple_mtx_t mutex = SIMPLE_MTX_INITIALIZER;
static FILE *stream; /* NULL: stderr */
static bool has_failed;
static bool has_status;
static unsigned num_errors;

void
gpuval_log_open(const char *file, bool to_stdout)
{
   simple_mtx_lock(&mutex);
   stream = to_stdout ? stdout : stderr;
   if (file) {
      FILE *f = gpuval_files_open(file, false);
      if (f)
         stream = f;
      else
         fprintf(stderr, "gpuval: error: GPUVAL_LOG: %s: %s; stderr is used\n", file,
                 strerror(errno));
      p_atomic_add(&num_errors, !f);
   }
   simple_mtx_unlock(&mutex);
}

bool
gpuval_log_has_terminal(void)
{
   return isatty(STDERR_FILENO);
}

/* At once: others write to the terminal, too. */
static void
write_status(const char *text, int length)
{
   char line[256];

   int size = snprintf(line, sizeof(line), "\r%.*s\033[K", length, text);
   (void)!write(STDERR_FILENO, line, MIN2(size, (int)sizeof(line) - 1));
   has_status = length > 0;
}

void
gpuval_log_show_status(const char *text)
{
   struct winsize window;
   int width = 80;

   if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &window) && window.ws_col)
      width = window.ws_col;
   simple_mtx_lock(&mutex);
   if (text)
      write_status(text, CLAMP(width - 1, 0, 200));
   else if (has_status)
      write_status("", 0);
   simple_mtx_unlock(&mutex);
}

void
gpuval_log_write(const char *text, size_t size)
{
   simple_mtx_lock(&mutex);
   FILE *f = stream ? stream : stderr;
   if (has_status && isatty(fileno(f)))
      write_status("", 0);
   bool is_written = gpuval_log_wants_colors(f) ? gpuval_log_write_colored(f, text, size)
                                                : fwrite(text, 1, size, f) == size;
   if ((fflush(f) || !is_written) && f != stderr && !has_failed) {
      has_failed = true;
      fprintf(stderr, "gpuval: error: GPUVAL_LOG: %s; the log is not complete\n", strerror(errno));
   }
   simple_mtx_unlock(&mutex);
}

static void
write_line(const char *severity, const char *format, va_list args)
{
   char *text = NULL;
   size_t size;
   FILE *f = open_memstream(&text, &size);
   if (!f)
      return;

   locale_t locale = gpuval_begin_c_locale();
   char *message = ralloc_vasprintf(NULL, format, args);
   fprintf(f, "gpuval: %s: ", severity);
   gpuval_write_escaped(f, message);
   fputc('\n', f);
   fclose(f);
   gpuval_end_c_locale(locale);

   /* The whole line at once: threads and processes share stderr. */
   gpuval_log_write(text, size);
   ralloc_free(message);
   free(text);
}

void
gpuval_log_error(const char *format, ...)
{
   va_list args;
   va_start(args, format);
   write_line("error", format, args);
   va_end(args);
   p_atomic_inc(&num_errors);
}

unsigned
gpuval_log_num_errors(void)
{
   return p_atomic_read(&num_errors);
}

void
gpuval_log_warning(const char *format, ...)
{
   va_list args;
   va_start(args, format);
   write_line("warning", format, args);
   va_end(args);
}

void
gpuval_log_note(const char *format, ...)
{
   va_list args;
   va_start(args, format);
   write_line("note", format, args);
   va_end(args);
}
