/* SPDX-License-Identifier: MIT */

/*
 * A driver for what libFuzzer would drive, where there is none: so many inputs,
 * always the same ones, without any feedback.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIZE 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const tokens[] = {
   "%d", "%u",    "%x",    "%f",   "%5.2f", "%v3f", "%4v2d", "%lu",  "%ul",   "%lx",
   "%c", "%p",    "%%",    "%",    "%-+ #", "%e",   "%a",    "%g",   "%999d", "%.99999f",
   "\n", "%v2ul", "%v4lx", "%hhd", "%s",    "%n",   "%*d",   "%1$d",
};

static uint64_t state = 1;

static uint32_t
next(uint32_t range)
{
   state = state * 6364136223846793005u + 1442695040888963407u;
   return (uint32_t)(state >> 33) % range;
}

struct output {
   uint8_t data[MAX_SIZE];
   size_t size;
};

static void
byte(struct output *out, uint8_t value)
{
   if (out->size < MAX_SIZE)
      out->data[out->size++] = value;
}

/* Something that makes sense, as fuzz_printf.c reads it */
static void
generate(struct output *out)
{
   const uint32_t num_formats = 1 + next(4);

   byte(out, num_formats);
   for (uint32_t i = 0; i < num_formats; i++) {
      const uint32_t count = next(6);
      for (uint32_t j = 0; j < count; j++) {
         const char *token = tokens[next(sizeof(tokens) / sizeof(*tokens))];
         for (; *token; token++)
            byte(out, *token);
      }
      byte(out, 0);
      byte(out, next(2));
      byte(out, count);
      for (uint32_t j = 0; j < count; j++) {
         byte(out, next(6));
         byte(out, next(4));
         byte(out, 1 + next(4));
      }
   }
   byte(out, next(64));
   const uint32_t looks = next(16);
   byte(out, looks);
   for (uint32_t i = 0; i < looks; i++) {
      const uint32_t words = next(24);
      byte(out, next(2));
      byte(out, words);
      byte(out, next(8) == 0);
      byte(out, 0);
      byte(out, next(8) == 0 ? 0xff : 0);
      byte(out, 0);
      byte(out, words);
      for (uint32_t j = 0; j < words; j++) {
         /* An entry's header every now and then */
         byte(out, next(3) ? next(8) : next(256));
         byte(out, 0);
         byte(out, next(3) ? next(num_formats) : next(256));
         byte(out, next(4) ? 0 : next(256));
      }
   }
}

int
main(int count, char **arguments)
{
   const unsigned runs = count > 1 ? (unsigned)atoi(arguments[1]) : 20000;

   for (unsigned i = 0; i < runs; i++) {
      struct output out = {.size = 0};
      generate(&out);
      for (uint32_t changes = next(8); out.size && changes; changes--)
         out.data[next((uint32_t)out.size)] = (uint8_t)next(256);
      /* On the heap and of its exact size: nobody may read behind it. */
      uint8_t *data = malloc(out.size);
      if (!data)
         return 1;
      memcpy(data, out.data, out.size);
      LLVMFuzzerTestOneInput(data, out.size);
      free(data);
   }
   printf("%u inputs\n", runs);
   return 0;
}
