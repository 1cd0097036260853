/* SPDX-License-Identifier: MIT */

#include "gpuval_location.h"

#include <inttypes.h>

#include "util/ralloc.h"
#include "gpuval_paths.h"

/* The lines that spirv-dis prints before the first instruction */
#define DISASSEMBLY_HEADER_LINES 5

/* NULL: there is no shader. A row that was read from a report has hashes as strings. */
static char *
get_disassembly(void *mem_ctx, const struct gpuval_row *row, bool other)
{
   const struct gpuval_value *hash = gpuval_row_get(row, other, "shader", "hash");
   const char *text = gpuval_row_string(row, other, "shader", "hash");

   if (hash->type == GPUVAL_VALUE_HASH)
      return ralloc_asprintf(mem_ctx, "%016" PRIx64 ".spvasm", hash->bits);
   return text && *text ? ralloc_asprintf(mem_ctx, "%s.spvasm", text) : NULL;
}

struct gpuval_location
gpuval_row_location(void *mem_ctx, const struct gpuval_row *row, bool other)
{
   const char *file = gpuval_row_string(row, other, "source", "file");
   const char *op = gpuval_row_string(row, other, "command", "op");
   char *disassembly = get_disassembly(mem_ctx, row, other);
   int64_t line = gpuval_row_number(row, other, "source", "line", 0);
   struct gpuval_location location = {.line = 1};

   if (file && *file && line > 0) {
      ralloc_free(disassembly);
      location.path = gpuval_paths_relative(mem_ctx, file);
      location.line = line;
      location.column = MAX2(gpuval_row_number(row, other, "source", "column", 0), 0);
      location.is_source = true;
   } else if (disassembly) {
      int64_t instruction = gpuval_row_number(row, other, "spirv", "instruction", -1);

      location.path = disassembly;
      location.line = instruction >= 0 ? DISASSEMBLY_HEADER_LINES + 1 + instruction : 1;
   } else {
      location.path = ralloc_strdup(mem_ctx, op && *op ? op : "command");
   }
   return location;
}
