/* SPDX-License-Identifier: MIT */

/* gpuval-check-names WHERE LIST: exits with 2 where LIST names a check or a set that does not
 * exist, and says so on stderr, in a line that begins with WHERE.
 *
 * gpuval-check-names --explain [CHECK|CHECK/KIND]: prints what failures mean and how to mend them;
 * without a name, what there is.
 */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "gpuval_kind_help.h"
#include "gpuval_log.h"
#include "gpuval_options.h"
#include "gpuval_suggest.h"

#define MAX_COLUMNS 80

static void
write_name(FILE *f, enum gpuval_kind kind)
{
   fprintf(f, "%s/%s", gpuval_kind_check_name(kind), gpuval_kind_infos[kind].name);
}

/* Writes @text in lines of MAX_COLUMNS at most. */
static void
write_paragraph(const char *text)
{
   unsigned column = 0;

   while (*(text += strspn(text, " "))) {
      unsigned length = strcspn(text, " ");

      if (column && column + 1 + length > MAX_COLUMNS) {
         putchar('\n');
         column = 0;
      }
      printf("%s%.*s", column ? " " : "", (int)length, text);
      column += length + (column ? 1 : 0);
      text += length;
   }
   putchar('\n');
}

static void
explain(enum gpuval_kind kind)
{
   const struct gpuval_kind_help *help = &gpuval_kind_helps[kind];

   write_name(stdout, kind);
   printf(": %s\n\n", gpuval_check_infos[gpuval_kind_infos[kind].check].summary);
   write_paragraph(help->meaning);
   putchar('\n');
   write_paragraph(help->mending);
   printf("\n%s\n", help->uri);
}

static void
list(void)
{
   for (unsigned i = 0; i < GPUVAL_KIND_COUNT; i++) {
      if (gpuval_kind_is_hidden(i))
         continue;
      write_name(stdout, i);
      putchar('\n');
   }
}

/* Is @name, or its beginning up to a slash, the check of @kind? sync-compute has those of sync. */
static bool
is_of_check(enum gpuval_kind kind, const char *name, unsigned length)
{
   const char *check = gpuval_kind_check_name(kind);
   bool is_sync = gpuval_kind_infos[kind].check == GPUVAL_CHECK_SYNC;

   if (is_sync && length == strlen("sync-compute") && !strncmp(name, "sync-compute", length))
      return true;
   return strlen(check) == length && !strncmp(check, name, length);
}

static void
say_unknown(const char *name)
{
   char names[8192];
   size_t size = 0, length = 0;

   for (unsigned i = 0; i < GPUVAL_KIND_COUNT; i++) {
      if (gpuval_kind_is_hidden(i))
         continue;
      size += snprintf(names + size, sizeof(names) - size, "%s/%s ", gpuval_kind_check_name(i),
                       gpuval_kind_infos[i].name);
   }
   const char *nearest = gpuval_suggest(name, strlen(name), names, &length);
   fprintf(stderr, "gpuval: explain: there is no failure \"%s\"", name);
   if (nearest)
      fprintf(stderr, "; did you mean \"%.*s\"?\n", (int)length, nearest);
   else
      fputs(": ./gpuval explain lists them\n", stderr);
}

/* Returns the status to exit with. */
static int
explain_name(const char *name)
{
   const char *slash = strchr(name, '/');
   unsigned length = slash ? (unsigned)(slash - name) : strlen(name);
   unsigned num_found = 0;

   for (unsigned i = 0; i < GPUVAL_KIND_COUNT; i++) {
      if (gpuval_kind_is_hidden(i) || !is_of_check(i, name, length) ||
          (slash && strcmp(slash + 1, gpuval_kind_infos[i].name)))
         continue;
      fputs(num_found++ ? "\n" : "", stdout);
      explain(i);
   }
   if (!num_found)
      say_unknown(name);
   return num_found ? 0 : 2;
}

int
main(int argc, char **argv)
{
   bool internal;

   if (argc == 2 && !strcmp(argv[1], "--explain")) {
      list();
      return 0;
   }
   if (argc != 3) {
      fprintf(stderr, "usage: %s WHERE LIST\n       %s --explain [CHECK|CHECK/KIND]\n", argv[0],
              argv[0]);
      return 2;
   }
   if (!strcmp(argv[1], "--explain"))
      return explain_name(argv[2]);
   gpuval_options_parse_checks(argv[2], argv[1], &internal);
   return gpuval_log_num_errors() ? 2 : 0;
}
