/* SPDX-License-Identifier: MIT */

#include "gpuval_dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/gpuval_log.h"
#include "base/gpuval_options.h"
#include "report/gpuval_report.h"
#include "util/ralloc.h"
#include "util/u_atomic.h"
#include "gpuval_printf.h"

uint32_t
gpuval_dump_begin(void)
{
   static uint32_t count;

   return p_atomic_inc_return(&count);
}

static FILE *
open_file(const nir_shader *nir, uint64_t hash, uint32_t number, const char *ending)
{
   const char *folder = gpuval_options()->dump;
   static uint32_t warned;

   if (!folder)
      return NULL;

   char *name = ralloc_asprintf(NULL, "%s/%016" PRIx64 ".%s.%" PRIu32 ".%s", folder, hash,
                                gpuval_stage_name(nir->info.stage), number, ending);
   FILE *f = fopen(name, "we");
   if (!f && !p_atomic_xchg(&warned, 1))
      gpuval_log_error("GPUVAL_DUMP: %s: %s", name, strerror(errno));
   ralloc_free(name);
   return f;
}

void
gpuval_dump_shader(nir_shader *nir, uint64_t hash, uint32_t number, const char *when)
{
   char ending[32];
   snprintf(ending, sizeof(ending), "%s.nir", when);

   FILE *f = open_file(nir, hash, number, ending);
   if (f) {
      nir_print_shader(nir, f);
      fclose(f);
   }
}

/* Seed 001, "ELF extension", in its "JSON-ified form" */
void
gpuval_dump_formats(nir_shader *nir, uint64_t hash, uint32_t number,
                    const struct gpuval_nir_table *table)
{
   if (!table->formats.size)
      return;

   FILE *f = open_file(nir, hash, number, "format_strings.json");
   if (!f)
      return;

   fprintf(f, "{\"amdpal.format_strings\":{\".version\":1,\".strings\":[");
   util_dynarray_foreach (&table->formats, struct gpuval_nir_format, format) {
      if (format != util_dynarray_begin((struct util_dynarray *)&table->formats))
         fputc(',', f);
      fprintf(f, "\n{\".index\":%" PRIu64 ",\".string\":", format->id);
      gpuval_jsonl_write_string(f, format->string);
      fprintf(f, ",\".argument_count\":%" PRIu32 ",\".64bit_arguments\":[", format->num_arguments);
      for (unsigned i = 0; i < MAX2(format->num_arguments, 1); i += 64)
         fprintf(f, "%s%" PRIu64, i ? "," : "", gpuval_printf_64bit_arguments(format, i));
      fprintf(f, "]}");
   }
   fprintf(f, "]}}\n");
   fclose(f);
}
