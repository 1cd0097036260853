/* SPDX-License-Identifier: MIT */

#include "gpuval_dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/gpuval_report.h"
#include "util/ralloc.h"
#include "util/u_atomic.h"
#include "gpuval.h"

uint32_t
gpuval_dump_begin(void)
{
   static uint32_t count;

   return p_atomic_inc_return(&count);
}

void
gpuval_dump_shader(nir_shader *nir, uint64_t hash, uint32_t number, const char *when)
{
   const char *folder = gpuval_options()->dump;
   static uint32_t warned;

   if (!folder)
      return;

   char *name = ralloc_asprintf(NULL, "%s/%016" PRIx64 ".%s.%" PRIu32 ".%s.nir", folder, hash,
                                gpuval_stage_name(nir->info.stage), number, when);
   FILE *f = fopen(name, "we");
   if (f) {
      nir_print_shader(nir, f);
      fclose(f);
   } else if (!p_atomic_xchg(&warned, 1)) {
      gpuval_log_error("GPUVAL_DUMP: %s: %s", name, strerror(errno));
   }
   ralloc_free(name);
}
