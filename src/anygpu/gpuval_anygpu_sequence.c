/* SPDX-License-Identifier: MIT */

/* --push, --groups, and the file of --sequence: a step a line. */

#include "gpuval_anygpu.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/macros.h"
#include "util/os_file.h"

bool
gpuval_anygpu_parse_push(struct gpuval_anygpu_push *push, const char *text)
{
   *push = (struct gpuval_anygpu_push){0};
   while (*text) {
      if (*text == ',') {
         text++;
      } else if (*text == '@' && isdigit((unsigned char)text[1]) &&
                 push->size + 8 <= GPUVAL_ANYGPU_MAX_PUSH &&
                 push->num_addresses < ARRAY_SIZE(push->addresses)) {
         char *end;
         const unsigned long buffer = strtoul(text + 1, &end, 10);
         push->addresses[push->num_addresses].buffer = MIN2(buffer, UINT8_MAX);
         push->addresses[push->num_addresses++].offset = push->size;
         push->size += 8;
         text = end;
      } else if (isxdigit((unsigned char)text[0]) && isxdigit((unsigned char)text[1]) &&
                 push->size < GPUVAL_ANYGPU_MAX_PUSH) {
         const char digits[] = {text[0], text[1], 0};
         push->bytes[push->size++] = strtoul(digits, NULL, 16);
         text += 2;
      } else {
         return false;
      }
   }
   return true;
}

bool
gpuval_anygpu_parse_groups(uint32_t groups[3], const char *text)
{
   char rest;

   return sscanf(text, "%u,%u,%u%c", &groups[0], &groups[1], &groups[2], &rest) == 3 && groups[0] &&
          groups[1] && groups[2];
}

static bool
parse_dispatch(struct gpuval_anygpu_step *step, const char *groups, const char *push)
{
   return groups && gpuval_anygpu_parse_groups(step->groups, groups) &&
          gpuval_anygpu_parse_push(&step->push, push ? push : "");
}

/* Returns what is wrong with the line, or NULL. */
static const char *
parse_line(struct gpuval_anygpu_step *step, char *line)
{
   static const char *const names[] = {
      [GPUVAL_ANYGPU_DISPATCH] = "dispatch",
      [GPUVAL_ANYGPU_BARRIER] = "barrier",
      [GPUVAL_ANYGPU_HIDDEN_BARRIER] = "hidden-barrier",
      [GPUVAL_ANYGPU_WAIT] = "wait",
   };
   static const char space[] = " \t\r";
   char *rest;
   const char *name = strtok_r(line, space, &rest);
   const char *groups = strtok_r(NULL, space, &rest);
   const char *push = strtok_r(NULL, space, &rest);
   const bool has_more = strtok_r(NULL, space, &rest) != NULL;
   unsigned type = 0;

   while (type < ARRAY_SIZE(names) && strcmp(name, names[type]))
      type++;
   if (type == ARRAY_SIZE(names))
      return "a line is \"dispatch X,Y,Z [PUSH]\", \"barrier\", \"hidden-barrier\" or \"wait\"";
   *step = (struct gpuval_anygpu_step){.type = type};
   if (type == GPUVAL_ANYGPU_DISPATCH)
      return !has_more && parse_dispatch(step, groups, push)
                ? NULL
                : "\"dispatch\" takes three numbers above 0, X,Y,Z, and what --push takes";
   return groups ? "only \"dispatch\" takes anything" : NULL;
}

bool
gpuval_anygpu_read_sequence(const char *path, struct gpuval_anygpu_sequence *sequence)
{
   char *text = os_read_file(path, NULL), *rest = text, *line;
   struct util_dynarray steps;
   unsigned number = 0, dispatches = 0;
   const char *wrong = NULL;

   if (!text) {
      fprintf(stderr, "gpuval: error: anygpu: --sequence %s: cannot be read\n", path);
      return false;
   }
   util_dynarray_init(&steps, NULL);
   while (!wrong && (line = strsep(&rest, "\n"))) {
      struct gpuval_anygpu_step step;
      number++;
      line[strcspn(line, "#")] = 0;
      if (!line[strspn(line, " \t\r")])
         continue;
      wrong = parse_line(&step, line);
      if (!wrong)
         util_dynarray_append_typed(&steps, struct gpuval_anygpu_step, step);
      if (!wrong && step.type == GPUVAL_ANYGPU_DISPATCH)
         dispatches++;
      else if (!wrong && step.type == GPUVAL_ANYGPU_WAIT)
         dispatches = 0;
      if (dispatches > GPUVAL_ANYGPU_MAX_BATCH)
         wrong = "more than 1,024 dispatches without a \"wait\"";
   }
   free(text);
   if (!wrong && !steps.size)
      wrong = "there is nothing to run";
   if (wrong) {
      fprintf(stderr, "gpuval: error: anygpu: --sequence %s:%u: %s\n", path, number, wrong);
      util_dynarray_fini(&steps);
      return false;
   }
   free(sequence->steps);
   sequence->count = util_dynarray_num_elements(&steps, struct gpuval_anygpu_step);
   sequence->steps = steps.data;
   return true;
}
