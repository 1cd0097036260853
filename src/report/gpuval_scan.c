/* SPDX-License-Identifier: MIT */

#include "gpuval_scan.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32 /* of what is skipped */

bool
gpuval_scan_fail(struct gpuval_scan *r, const char *error)
{
   if (!r->error)
      r->error = error;
   return false;
}

void
gpuval_scan_skip_space(struct gpuval_scan *r)
{
   while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n')
      r->at++;
}

/* The text ends in a NUL, which never is next. */
bool
gpuval_scan_accept(struct gpuval_scan *r, char byte)
{
   gpuval_scan_skip_space(r);
   if (*r->at != byte)
      return false;
   r->at++;
   gpuval_scan_skip_space(r);
   return true;
}

bool
gpuval_scan_expect(struct gpuval_scan *r, char byte)
{
   if (gpuval_scan_accept(r, byte))
      return true;
   return gpuval_scan_fail(r, r->at >= r->end ? "it is cut off" : "it is no JSON");
}

static bool
read_hex(struct gpuval_scan *r, uint32_t *unit)
{
   *unit = 0;
   for (unsigned i = 0; i < 4; i++, r->at++) {
      char c = *r->at;
      if (c >= '0' && c <= '9')
         *unit = *unit << 4 | (c - '0');
      else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
         *unit = *unit << 4 | ((c | 0x20) - 'a' + 10);
      else
         return gpuval_scan_fail(r, "it is no JSON");
   }
   return true;
}

static char *
write_utf8(char *out, uint32_t c)
{
   if (c < 0x80) {
      *out++ = c;
   } else if (c < 0x800) {
      *out++ = 0xc0 | c >> 6;
      *out++ = 0x80 | (c & 0x3f);
   } else if (c < 0x10000) {
      *out++ = 0xe0 | c >> 12;
      *out++ = 0x80 | (c >> 6 & 0x3f);
      *out++ = 0x80 | (c & 0x3f);
   } else {
      *out++ = 0xf0 | c >> 18;
      *out++ = 0x80 | (c >> 12 & 0x3f);
      *out++ = 0x80 | (c >> 6 & 0x3f);
      *out++ = 0x80 | (c & 0x3f);
   }
   return out;
}

/* Behind "\u". A NUL would end our strings: it becomes U+FFFD, as half a pair does. */
static bool
read_unicode(struct gpuval_scan *r, char **out)
{
   uint32_t unit, low;

   if (!read_hex(r, &unit))
      return false;
   if ((unit & 0xfc00) == 0xd800 && r->at[0] == '\\' && r->at[1] == 'u') {
      r->at += 2;
      if (!read_hex(r, &low))
         return false;
      if ((low & 0xfc00) == 0xdc00)
         unit = 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
      else
         r->at -= 6; /* the next one */
   }
   if (!unit || (unit & 0xfffff800) == 0xd800)
      unit = 0xfffd;
   *out = write_utf8(*out, unit);
   return true;
}

char *
gpuval_scan_string(struct gpuval_scan *r)
{
   static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";

   if (*r->at != '"') {
      gpuval_scan_expect(r, '"');
      return NULL;
   }
   char *start = ++r->at, *out = start;
   for (;;) {
      unsigned char byte = *r->at++;
      if (byte == '"') {
         break;
      } else if (byte < 0x20) {
         r->at--;
         gpuval_scan_fail(r, r->at >= r->end ? "it is cut off" : "it is no JSON");
         return NULL;
      } else if (byte != '\\') {
         *out++ = byte;
         continue;
      }

      char escape = *r->at++;
      if (escape == 'u') {
         if (!read_unicode(r, &out))
            return NULL;
         continue;
      }
      unsigned i = 0;
      while (escapes[i] && escapes[i] != escape)
         i += 2;
      if (!escape || !escapes[i]) {
         gpuval_scan_fail(r, r->at > r->end ? "it is cut off" : "it is no JSON");
         return NULL;
      }
      *out++ = escapes[i + 1];
   }
   *out = '\0';
   gpuval_scan_skip_space(r);
   return start;
}

bool
gpuval_scan_word(struct gpuval_scan *r, const char *word)
{
   size_t length = strlen(word);

   if (strncmp(r->at, word, length))
      return gpuval_scan_fail(r, strlen(r->at) < length ? "it is cut off" : "it is no JSON");
   r->at += length;
   gpuval_scan_skip_space(r);
   return true;
}

bool
gpuval_scan_number(struct gpuval_scan *r, double *number, int64_t *integer, bool *is_integer)
{
   char *at = r->at + (*r->at == '-');
   uint64_t digits = 0;
   char *first = at;

   while (*at >= '0' && *at <= '9' && at - first < 18)
      digits = digits * 10 + (*at++ - '0');
   *is_integer = at > first && *at != '.' && (*at | 0x20) != 'e' && !(*at >= '0' && *at <= '9');
   if (at == first)
      return gpuval_scan_fail(r, at >= r->end ? "it is cut off" : "it is no JSON");
   *integer = *r->at == '-' ? -(int64_t)digits : (int64_t)digits;
   *number = *integer;
   if (!*is_integer)
      *number = strtod(r->at, &at);
   r->at = at;
   gpuval_scan_skip_space(r);
   return true;
}

static bool
skip_members(struct gpuval_scan *r, char close, unsigned depth)
{
   r->at++;
   if (gpuval_scan_accept(r, close))
      return true;
   do {
      if (close == '}' && (!gpuval_scan_string(r) || !gpuval_scan_expect(r, ':')))
         return false;
      if (!gpuval_scan_skip(r, depth + 1))
         return false;
   } while (gpuval_scan_accept(r, ','));
   return gpuval_scan_expect(r, close);
}

bool
gpuval_scan_skip(struct gpuval_scan *r, unsigned depth)
{
   double number;
   int64_t integer;
   bool is_integer;

   if (depth > MAX_DEPTH)
      return gpuval_scan_fail(r, "it is too deep");
   gpuval_scan_skip_space(r);
   switch (*r->at) {
   case '"':
      return gpuval_scan_string(r) != NULL;
   case '{':
      return skip_members(r, '}', depth);
   case '[':
      return skip_members(r, ']', depth);
   case 't':
      return gpuval_scan_word(r, "true");
   case 'f':
      return gpuval_scan_word(r, "false");
   case 'n':
      return gpuval_scan_word(r, "null");
   default:
      return gpuval_scan_number(r, &number, &integer, &is_integer);
   }
}
