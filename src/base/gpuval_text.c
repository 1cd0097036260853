/* SPDX-License-Identifier: MIT */

#include "gpuval_text.h"

#include <stdbool.h>
#include <stdint.h>

#include "c11/threads.h"

unsigned
gpuval_utf8_length(const char *text)
{
   const unsigned char *s = (const unsigned char *)text;
   unsigned length;

   if (*s < 0x80)
      return 1;
   else if (*s < 0xc2 || *s > 0xf4)
      return 0;
   else
      length = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;

   for (unsigned i = 1; i < length; i++) {
      if ((s[i] & 0xc0) != 0x80)
         return 0;
   }
   /* Overlong forms, surrogates, beyond U+10FFFF */
   if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
       (*s == 0xf4 && s[1] > 0x8f))
      return 0;
   return length;
}

static uint32_t
decode(const unsigned char *s, unsigned length)
{
   uint32_t character = length == 1 ? *s : *s & (0x7f >> length);
   for (unsigned i = 1; i < length; i++)
      character = character << 6 | (s[i] & 0x3f);
   return character;
}

uint32_t
gpuval_utf8_harmful(const char *text, unsigned length)
{
   if (length < 2)
      return 0;

   uint32_t character = decode((const unsigned char *)text, length);
   bool is_harmful = (character >= 0x80 && character <= 0x9f) ||
                     (character >= 0x2028 && character <= 0x202e) ||
                     (character >= 0x2066 && character <= 0x2069);
   return is_harmful ? character : 0;
}

void
gpuval_write_escaped(FILE *f, const char *text)
{
   const char *plain = text; /* from here on nothing was written yet */

   while (*text) {
      unsigned char byte = *text;
      if ((byte >= 0x20 && byte < 0x7f) || byte == '\t') {
         text++;
         continue;
      }

      unsigned length = gpuval_utf8_length(text);
      uint32_t character = gpuval_utf8_harmful(text, length);
      if (length > 1 && !character) {
         text += length;
         continue;
      }

      fwrite(plain, 1, text - plain, f);
      if (byte == '\n')
         fputs("\\n", f);
      else if (character)
         fprintf(f, "\\u%04x", character);
      else
         fprintf(f, "\\x%02x", byte);
      text += length ? length : 1;
      plain = text;
   }
   fwrite(plain, 1, text - plain, f);
}

char *
gpuval_escape(const char *text)
{
   char *escaped = NULL;
   size_t size;
   FILE *memory = open_memstream(&escaped, &size);

   if (!memory)
      return NULL;
   gpuval_write_escaped(memory, text);
   fclose(memory);
   return escaped;
}

static locale_t c_locale;

static void
create_c_locale(void)
{
   c_locale = newlocale(LC_ALL_MASK, "C", NULL);
}

locale_t
gpuval_begin_c_locale(void)
{
   static once_flag once = ONCE_FLAG_INIT;
   call_once(&once, create_c_locale);
   return uselocale(c_locale); /* 0, if there was no memory for it: asks only */
}

void
gpuval_end_c_locale(locale_t before)
{
   uselocale(before);
}
