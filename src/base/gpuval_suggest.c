/* SPDX-License-Identifier: MIT */

#include "gpuval_suggest.h"

#include <stdbool.h>
#include <string.h>

#include "util/macros.h"

#define MAX_LENGTH 63

/* The optimal string alignment distance, row by row: rows[i % 3][j] is the distance between the
 * first i bytes of @word and the first j of @known. A swap looks two rows back.
 */
unsigned
gpuval_suggest_distance(const char *word, size_t length, const char *known, size_t known_length)
{
   unsigned rows[3][MAX_LENGTH + 1];
   unsigned num_word = MIN2(length, MAX_LENGTH), num_known = MIN2(known_length, MAX_LENGTH);

   for (unsigned j = 0; j <= num_known; j++)
      rows[0][j] = j;
   for (unsigned i = 1; i <= num_word; i++) {
      unsigned *row = rows[i % 3];
      const unsigned *above = rows[(i - 1) % 3], *above_that = rows[(i + 1) % 3];

      row[0] = i;
      for (unsigned j = 1; j <= num_known; j++) {
         bool differs = word[i - 1] != known[j - 1];
         row[j] = MIN3(above[j] + 1, row[j - 1] + 1, above[j - 1] + differs);
         if (i > 1 && j > 1 && word[i - 1] == known[j - 2] && word[i - 2] == known[j - 1])
            row[j] = MIN2(row[j], above_that[j - 2] + 1);
      }
   }
   return rows[num_word % 3][num_known];
}

const char *
gpuval_suggest(const char *word, size_t length, const char *names, size_t *found_length)
{
   const char *found = NULL;
   unsigned limit = MAX2(length / 3, 1);

   while (*(names += strspn(names, " ,;"))) {
      size_t name_length = strcspn(names, " ,;");
      unsigned distance = gpuval_suggest_distance(word, length, names, name_length);

      if (!found ? distance <= limit : distance < limit) {
         limit = distance;
         found = names;
         *found_length = name_length;
      }
      names += name_length;
   }
   return found;
}
