/* SPDX-License-Identifier: MIT */

/* gpuval-check-names WHERE LIST: exits with 2 where LIST names a check or a set that does not
 * exist, and says so on stderr, in a line that begins with WHERE.
 */

#include <stdio.h>

#include "gpuval_log.h"
#include "gpuval_options.h"

int
main(int argc, char **argv)
{
   bool internal;

   if (argc != 3) {
      fprintf(stderr, "usage: %s WHERE LIST\n", argv[0]);
      return 2;
   }
   gpuval_options_parse_checks(argv[2], argv[1], &internal);
   return gpuval_log_num_errors() ? 2 : 0;
}
