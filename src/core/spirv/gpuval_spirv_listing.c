/* SPDX-License-Identifier: MIT */

/* A module as text, for what has no source: an instruction a line, with its operands as numbers. */

#include <stdio.h>
#include <stdlib.h>

#include "compiler/spirv/spirv_info.h"
#include "util/ralloc.h"
#include "gpuval_spirv_blocks.h"
#include "gpuval_spirv_private.h"

/* Of one instruction: what goes on is not needed to find it again. */
#define MAX_OPERANDS 24

/* Which operand is a string; 0: none */
static unsigned
string_at(SpvOp opcode)
{
   switch (opcode) {
   case SpvOpExtension:
   case SpvOpSourceExtension:
   case SpvOpModuleProcessed:
      return 1;
   case SpvOpExtInstImport:
   case SpvOpName:
   case SpvOpString:
      return 2;
   case SpvOpMemberName:
   case SpvOpEntryPoint:
      return 3;
   default:
      return 0;
   }
}

static void
write_string(FILE *f, const char *string)
{
   fputs(" \"", f);
   for (; *string; string++)
      fputc((unsigned char)*string < ' ' ? ' ' : *string, f);
   fputc('"', f);
}

static void
write_instruction(FILE *f, const struct gpuval_spirv *spirv, uint32_t word)
{
   const SpvOp opcode = opcode_at(spirv, word);
   const unsigned count = count_at(spirv, word), string = string_at(opcode);
   const char *name = spirv_op_to_string(opcode);

   fputs(name && !strncmp(name, "SpvOp", 5) ? name + 3 : "Op?", f);
   for (unsigned i = 1; i < count && i <= MAX_OPERANDS; i++) {
      const char *text = i == string ? string_operand(spirv, word, i) : NULL;
      if (text) {
         write_string(f, text);
         break;
      }
      fprintf(f, " %u", operand(spirv, word, i));
   }
   fputs(count > MAX_OPERANDS + 1 && !string ? " ...\n" : "\n", f);
}

char *
gpuval_spirv_list(void *mem_ctx, const struct gpuval_spirv *spirv)
{
   char *text = NULL, *copy = NULL;
   size_t size;
   FILE *f = open_memstream(&text, &size);
   if (!f)
      return NULL;

   util_dynarray_foreach (&spirv->instructions, uint32_t, word)
      write_instruction(f, spirv, *word);
   fclose(f);
   copy = ralloc_strdup(mem_ctx, text);
   free(text);
   return copy;
}
