/* SPDX-License-Identifier: MIT */

#include "gpuval_glob.h"

#include <stddef.h>

bool
gpuval_glob_matches(const char *glob, const char *text)
{
   /* Behind the last star, and what it has not yet eaten: where to go on when the rest
    * does not fit. An earlier star never has to give anything back.
    */
   const char *star = NULL, *left = NULL;

   while (*text) {
      if (*glob == '*') {
         star = ++glob;
         left = text;
         continue;
      }

      const char *literal = glob[0] == '\\' && glob[1] ? glob + 1 : glob;
      if (*glob && (*glob == '?' || *literal == *text)) {
         glob = literal + 1;
         text++;
      } else if (star) {
         glob = star;
         text = ++left;
      } else {
         return false;
      }
   }

   while (*glob == '*')
      glob++;
   return !*glob;
}

bool
gpuval_glob_matches_file(const char *glob, const char *path)
{
   for (const char *s = path; *s; s++) {
      if ((s == path || s[-1] == '/' || s[-1] == '\\') && gpuval_glob_matches(glob, s))
         return true;
   }
   return false;
}
