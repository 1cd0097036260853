/* SPDX-License-Identifier: MIT */

#include "gpuval_dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/gpuval_files.h"
#include "base/gpuval_log.h"
#include "base/gpuval_options.h"
#include "core/printf/gpuval_printf.h"
#include "report/gpuval_report.h"
#include "util/ralloc.h"
#include "util/u_atomic.h"

uint32_t
gpuval_dump_begin(void)
{
   static uint32_t count;

   return p_atomic_inc_return(&count);
}

/* Frees @name. @is_new: not if it is there already, which is no error. */
static FILE *
open_named(char *name, bool is_new)
{
   static uint32_t warned;

   FILE *f = is_new ? fopen(name, "wxe") : gpuval_files_open(name, false);
   if (!f && errno != EEXIST && !p_atomic_xchg(&warned, 1))
      gpuval_log_error("GPUVAL_DUMP: %s: %s", name, strerror(errno));
   ralloc_free(name);
   return f;
}

static FILE *
open_file(const nir_shader *nir, uint64_t hash, uint32_t number, const char *ending)
{
   const char *folder = gpuval_options()->dump;

   return folder
             ? open_named(ralloc_asprintf(NULL, "%s/%016" PRIx64 ".%s.%" PRIu32 ".%s", folder, hash,
                                          gpuval_stage_name(nir->info.stage), number, ending),
                          false)
             : NULL;
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

void
gpuval_dump_spirv(const void *spirv, size_t size, uint64_t hash)
{
   const char *folder = gpuval_options()->dump;

   /* One that is there is the same one. */
   FILE *f = folder ? open_named(ralloc_asprintf(NULL, "%s/%016" PRIx64 ".spv", folder, hash), true)
                    : NULL;
   if (f) {
      fwrite(spirv, 1, size, f);
      fclose(f);
   }
}

/* A line of a node, in quotes: ends with \l, which is a new line to the left. */
static void
write_dot_line(FILE *f, const char *text)
{
   for (; *text; text++) {
      if (strchr("\"\\", *text))
         fputc('\\', f);
      fputc((unsigned char)*text < 0x20 ? ' ' : *text, f);
   }
   fputs("\\l", f);
}

static void
write_block(FILE *f, const nir_block *block, unsigned function)
{
   const nir_if *following = nir_block_get_following_if((nir_block *)block);

   fprintf(f, "      f%u_b%u [label=\"", function, block->index);
   char title[32];
   snprintf(title, sizeof(title), "block b%u:", block->index);
   write_dot_line(f, title);
   nir_foreach_instr (instr, block) {
      char *text = nir_instr_as_str(instr, NULL);
      write_dot_line(f, text);
      ralloc_free(text);
   }
   fputs("\"];\n", f);

   for (unsigned i = 0; i < 2; i++) {
      if (block->successors[i])
         fprintf(f, "      f%u_b%u -> f%u_b%u%s;\n", function, block->index, function,
                 block->successors[i]->index,
                 !following ? ""
                 : i        ? " [label=\"else\"]"
                            : " [label=\"then\"]");
   }
}

void
gpuval_dump_graph(nir_shader *nir, uint64_t hash, uint32_t number, const char *when)
{
   char ending[32];
   unsigned function = 0;
   snprintf(ending, sizeof(ending), "%s.dot", when);

   FILE *f = open_file(nir, hash, number, ending);
   if (!f)
      return;
   fputs("digraph shader {\n   node [shape=box, fontname=monospace];\n", f);
   nir_foreach_function_impl (impl, nir) {
      nir_index_blocks(impl);
      fprintf(f, "   subgraph cluster_%u {\n      label=\"", function);
      for (const char *s = impl->function->name; s && *s; s++)
         fputc((unsigned char)*s < 0x20 || strchr("\"\\", *s) ? '?' : *s, f);
      fputs("\";\n", f);
      nir_foreach_block_unstructured (block, impl)
         write_block(f, block, function);
      write_block(f, impl->end_block, function);
      fputs("   }\n", f);
      function++;
   }
   fputs("}\n", f);
   fclose(f);
}

/* As JSON, what LLPC keeps of format strings in its ELF files: docs/printf.rst, "Protocol" */
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
