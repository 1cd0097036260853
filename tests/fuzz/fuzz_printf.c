/* SPDX-License-Identifier: MIT */

/*
 * The decoder of messages, fed with anything: formats, and what the host finds in
 * the printf buffers, changed between its looks as a shader might.
 *
 * The input is read from front to end, zeros behind it:
 *
 *    number of formats; each: string with its NUL, flags, number of arguments, and
 *    for each argument type, size and components
 *    words in a buffer; number of looks; each: buffer, offset, words to write, and
 *    these
 *
 * A format's id is its number, so that entries find one now and then.
 */

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_log.h"
#include "core/printf/gpuval_printf.h"
#include "util/ralloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The decoder's warnings; their text is part of what is looked at. */
void
gpuval_log_warning(const char *format, ...)
{
   char *text = NULL;
   va_list args;

   va_start(args, format);
   int length = vasprintf(&text, format, args);
   va_end(args);
   if (length < 0 || strlen(text) != (size_t)length)
      abort();
   free(text);
}

struct input {
   const uint8_t *data;
   size_t size;
};

static uint8_t
read_byte(struct input *input)
{
   if (!input->size)
      return 0;
   input->size--;
   return *input->data++;
}

static uint32_t
read_word(struct input *input)
{
   uint32_t word = 0;
   for (unsigned i = 0; i < 4; i++)
      word |= (uint32_t)read_byte(input) << (8 * i);
   return word;
}

static struct gpuval_nir_format *
read_format(struct input *input, void *mem_ctx, unsigned id)
{
   static const uint8_t sizes[] = {8, 16, 32, 64};
   struct gpuval_nir_format *format = rzalloc(mem_ctx, struct gpuval_nir_format);
   char *string = rzalloc_array(format, char, input->size + 1);

   for (char *c = string; (*c = read_byte(input)); c++)
      ;
   format->id = id;
   format->string = string;
   format->has_invocation = read_byte(input) & 1;
   format->num_arguments = read_byte(input);

   struct gpuval_nir_argument *arguments =
      rzalloc_array(format, struct gpuval_nir_argument, format->num_arguments + 1);
   for (unsigned i = 0; i < format->num_arguments; i++) {
      arguments[i].type = read_byte(input) % GPUVAL_ARGUMENT_TYPE_COUNT;
      arguments[i].bit_size = sizes[read_byte(input) % 4];
      arguments[i].components = read_byte(input);
   }
   format->arguments = arguments;
   return format;
}

static void
take_message(void *data, const struct gpuval_printf_message *message)
{
   size_t *total = data;
   *total += strlen(message->text);
   if (message->invocation)
      *total += message->invocation[0] ^ message->invocation[1] ^ message->invocation[2];
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
   struct input input = {data, size};
   void *mem_ctx = ralloc_context(NULL);
   struct gpuval_printf printf = {0};
   size_t total = 0;

   unsigned num_formats = read_byte(&input) % 8;
   struct gpuval_nir_format *formats[8];
   for (unsigned i = 0; i < num_formats; i++)
      formats[i] = read_format(&input, mem_ctx, i);

   /* Of the exact size, so that one word too far is seen. */
   unsigned num_words = read_byte(&input);
   size_t bytes = sizeof(struct gpuval_printf_header) + num_words * sizeof(uint32_t);
   void *maps[2] = {calloc(1, bytes), calloc(1, bytes)};
   uint64_t root = 0;
   gpuval_printf_init(&printf, mem_ctx, maps, (uint64_t[]){1, 2}, bytes, &root);
   printf.message = take_message;
   printf.data = &total;
   for (unsigned i = 0; i < num_formats; i++)
      gpuval_printf_add_format(&printf, formats[i], NULL, i);

   unsigned looks = read_byte(&input) % 16;
   for (unsigned i = 0; i < looks; i++) {
      struct gpuval_printf_header *header = maps[read_byte(&input) & 1];
      header->offset = (int32_t)read_word(&input);
      unsigned first = read_byte(&input), count = read_byte(&input);
      for (unsigned j = first; j < first + count && j < num_words; j++)
         ((uint32_t *)(header + 1))[j] = read_word(&input);
      gpuval_printf_drain(&printf, (i & 3) == 3);
   }
   gpuval_printf_drain(&printf, true);

   gpuval_printf_finish(&printf);
   free(maps[0]);
   free(maps[1]);
   ralloc_free(mem_ctx);
   return 0;
}
