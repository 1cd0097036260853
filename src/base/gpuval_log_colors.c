/* SPDX-License-Identifier: MIT */

#include "gpuval_log_colors.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/macros.h"

#define BOLD   "\033[1m"
#define RED    "\033[1;31m"
#define GREEN  "\033[1;32m"
#define YELLOW "\033[1;33m"
#define CYAN   "\033[36m"
#define PLAIN  "\033[0m"

/* A line that begins so has a color from the end of @before to the next @end. */
static const struct {
   const char *before, *word, *color;
   const char *then_color, *then_end; /* what stands behind the word, up to then_end */
} rules[] = {
   {"gpuval: ", "error: ", RED, BOLD, ": "}, {"gpuval: ", "warning: ", YELLOW, BOLD, ": "},
   {"gpuval: ", "note: ", CYAN, NULL, NULL}, {"gpuval: ", "no errors", GREEN, NULL, NULL},
   {"gpuval:    ", "at ", "", CYAN, " in "},
};

bool
gpuval_log_wants_colors(FILE *f)
{
   const char *no_color = getenv("NO_COLOR");
   const char *terminal = getenv("TERM");

   return !(no_color && *no_color) && terminal && *terminal && strcmp(terminal, "dumb") &&
          isatty(fileno(f));
}

/* Where @end begins in @text; its end where there is none. */
static size_t
find(const char *text, size_t size, const char *end)
{
   const char *found = memmem(text, size, end, strlen(end));

   return found ? (size_t)(found - text) : size;
}

static bool
begins(const char *text, size_t size, const char *with)
{
   return size >= strlen(with) && !memcmp(text, with, strlen(with));
}

static void
write_colored(FILE *f, const char *color, const char *text, size_t size)
{
   fputs(color, f);
   fwrite(text, 1, size, f);
   fputs(*color ? PLAIN : "", f);
}

/* "gpuval: 3 errors (1420 occurrences), ...": the summary's numbers */
static size_t
count_summary(const char *text, size_t size)
{
   size_t digits = 0;

   if (!begins(text, size, "gpuval: "))
      return 0;
   text += strlen("gpuval: ");
   size -= strlen("gpuval: ");
   while (digits < size && text[digits] >= '0' && text[digits] <= '9')
      digits++;
   if (!digits || (digits == 1 && *text == '0') || !begins(text + digits, size - digits, " error"))
      return 0;
   return find(text, size, " (");
}

static void
write_line(FILE *f, const char *line, size_t size)
{
   size_t summary = count_summary(line, size);

   if (summary) {
      fputs("gpuval: ", f);
      line += strlen("gpuval: ");
      size -= strlen("gpuval: ");
      write_colored(f, RED, line, summary);
      fwrite(line + summary, 1, size - summary, f);
      return;
   }
   for (unsigned i = 0; i < ARRAY_SIZE(rules); i++) {
      size_t before = strlen(rules[i].before), word = strlen(rules[i].word);

      if (!begins(line, size, rules[i].before) ||
          !begins(line + before, size - before, rules[i].word))
         continue;
      fwrite(line, 1, before, f);
      line += before;
      size -= before;
      write_colored(f, rules[i].color, line, word);
      line += word;
      size -= word;
      if (rules[i].then_end) {
         size_t then = find(line, size, rules[i].then_end);
         write_colored(f, rules[i].then_color, line, then);
         line += then;
         size -= then;
      }
      break;
   }
   fwrite(line, 1, size, f);
}

bool
gpuval_log_write_colored(FILE *f, const char *text, size_t size)
{
   /* At once, as others write to the terminal, too. */
   char *colored = NULL;
   size_t colored_size;
   FILE *memory = open_memstream(&colored, &colored_size);
   if (!memory)
      return fwrite(text, 1, size, f) == size;

   while (size) {
      size_t length = find(text, size, "\n");
      write_line(memory, text, length);
      if (length < size)
         fputc('\n', memory);
      length += length < size;
      text += length;
      size -= length;
   }
   fclose(memory);
   bool is_written = fwrite(colored, 1, colored_size, f) == colored_size;
   free(colored);
   return is_written;
}
