/* SPDX-License-Identifier: MIT */

#include "json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deeper nesting is an error: the parser recurses. */
#define MAX_DEPTH 64

struct parser {
   const char *start;
   const char *at;
   const char *end;
   const char *error; /* the first one */
   unsigned depth;
};

static struct json *parse_value(struct parser *parser);

static bool
fail(struct parser *parser, const char *error)
{
   if (!parser->error)
      parser->error = error;
   return false;
}

static void *
allocate(size_t size)
{
   void *memory = calloc(1, size);
   if (!memory)
      abort();
   return memory;
}

static int
peek(const struct parser *parser)
{
   return parser->at < parser->end ? (unsigned char)*parser->at : -1;
}

static void
skip_space(struct parser *parser)
{
   while (parser->at < parser->end && *parser->at && strchr(" \t\r\n", *parser->at))
      parser->at++;
}

static bool
take(struct parser *parser, char wanted)
{
   skip_space(parser);
   if (peek(parser) != (unsigned char)wanted)
      return false;
   parser->at++;
   return true;
}

/* --- Strings -------------------------------------------------------------- */

static unsigned
put_utf8(char *out, uint32_t code)
{
   if (code < 0x80) {
      out[0] = (char)code;
      return 1;
   }
   if (code < 0x800) {
      out[0] = (char)(0xc0 | code >> 6);
      out[1] = (char)(0x80 | (code & 0x3f));
      return 2;
   }
   if (code < 0x10000) {
      out[0] = (char)(0xe0 | code >> 12);
      out[1] = (char)(0x80 | (code >> 6 & 0x3f));
      out[2] = (char)(0x80 | (code & 0x3f));
      return 3;
   }
   out[0] = (char)(0xf0 | code >> 18);
   out[1] = (char)(0x80 | (code >> 12 & 0x3f));
   out[2] = (char)(0x80 | (code >> 6 & 0x3f));
   out[3] = (char)(0x80 | (code & 0x3f));
   return 4;
}

static bool
parse_hex4(struct parser *parser, uint32_t *code)
{
   *code = 0;
   for (unsigned i = 0; i < 4; i++) {
      const int c = peek(parser);
      uint32_t digit;
      if (c >= '0' && c <= '9')
         digit = (uint32_t)c - '0';
      else if (c >= 'a' && c <= 'f')
         digit = (uint32_t)c - 'a' + 10;
      else if (c >= 'A' && c <= 'F')
         digit = (uint32_t)c - 'A' + 10;
      else
         return fail(parser, "\\u needs four hex digits");
      *code = *code << 4 | digit;
      parser->at++;
   }
   return true;
}

static bool
parse_unicode_escape(struct parser *parser, uint32_t *code)
{
   if (!parse_hex4(parser, code))
      return false;
   if (*code == 0)
      return fail(parser, "\\u0000 in a string");
   if (*code >= 0xdc00 && *code <= 0xdfff)
      return fail(parser, "low surrogate without a high one");
   if (*code < 0xd800 || *code > 0xdbff)
      return true;

   uint32_t low;
   if (parser->end - parser->at < 2 || parser->at[0] != '\\' || parser->at[1] != 'u')
      return fail(parser, "high surrogate without a low one");
   parser->at += 2;
   if (!parse_hex4(parser, &low))
      return false;
   if (low < 0xdc00 || low > 0xdfff)
      return fail(parser, "high surrogate without a low one");
   *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
   return true;
}

static bool
parse_escape(struct parser *parser, char *out, size_t *used)
{
   static const char from[] = "\"\\/bfnrt";
   static const char to[] = "\"\\/\b\f\n\r\t";
   const int c = peek(parser);
   const char *found = c > 0 ? strchr(from, c) : NULL;

   if (c == 'u') {
      uint32_t code;
      parser->at++;
      if (!parse_unicode_escape(parser, &code))
         return false;
      *used += put_utf8(out + *used, code);
      return true;
   }
   if (!found)
      return fail(parser, "unknown escape in a string");
   out[(*used)++] = to[found - from];
   parser->at++;
   return true;
}

/* Copies one character of one to four bytes, refusing overlong forms and
 * surrogates. */
static bool
parse_utf8(struct parser *parser, char *out, size_t *used)
{
   const unsigned char *s = (const unsigned char *)parser->at;
   const size_t left = (size_t)(parser->end - parser->at);
   const unsigned length = s[0] < 0x80             ? 1
                           : (s[0] & 0xe0) == 0xc0 ? 2
                           : (s[0] & 0xf0) == 0xe0 ? 3
                           : (s[0] & 0xf8) == 0xf0 ? 4
                                                   : 0;
   static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};

   if (length == 0 || length > left)
      return fail(parser, "invalid UTF-8");
   uint32_t code = length == 1 ? s[0] : s[0] & (0x7fu >> length);
   for (unsigned i = 1; i < length; i++) {
      if ((s[i] & 0xc0) != 0x80)
         return fail(parser, "invalid UTF-8");
      code = code << 6 | (s[i] & 0x3f);
   }
   if (code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
      return fail(parser, "invalid UTF-8");

   memcpy(out + *used, parser->at, length);
   *used += length;
   parser->at += length;
   return true;
}

static char *
parse_string(struct parser *parser)
{
   if (!take(parser, '"')) {
      fail(parser, "a string was expected");
      return NULL;
   }

   /* No escape makes a string longer than it was. */
   char *out = allocate((size_t)(parser->end - parser->at) + 1);
   size_t used = 0;
   while (true) {
      const int c = peek(parser);
      if (c == '"')
         break;
      if (c < 0x20) {
         fail(parser, c < 0 ? "string without an end" : "control character in a string");
         break;
      }
      if (c == '\\') {
         parser->at++;
         if (!parse_escape(parser, out, &used))
            break;
      } else if (!parse_utf8(parser, out, &used)) {
         break;
      }
   }
   if (parser->error) {
      free(out);
      return NULL;
   }
   parser->at++;

   char *shrunk = realloc(out, used + 1);
   return shrunk ? shrunk : out;
}

/* --- Other values --------------------------------------------------------- */

static unsigned
skip_digits(struct parser *parser)
{
   unsigned count = 0;
   while (peek(parser) >= '0' && peek(parser) <= '9') {
      parser->at++;
      count++;
   }
   return count;
}

static bool
parse_number(struct parser *parser, struct json *value)
{
   const char *start = parser->at;
   bool integer = true;

   if (peek(parser) == '-')
      parser->at++;
   if (peek(parser) == '0')
      parser->at++;
   else if (skip_digits(parser) == 0)
      return fail(parser, "a value was expected");
   if (peek(parser) == '.') {
      integer = false;
      parser->at++;
      if (skip_digits(parser) == 0)
         return fail(parser, "digits were expected behind the point");
   }
   if (peek(parser) == 'e' || peek(parser) == 'E') {
      integer = false;
      parser->at++;
      if (peek(parser) == '+' || peek(parser) == '-')
         parser->at++;
      if (skip_digits(parser) == 0)
         return fail(parser, "digits were expected in the exponent");
   }

   char digits[64];
   const size_t length = (size_t)(parser->at - start);
   if (length >= sizeof(digits))
      return fail(parser, "a number of too many digits");
   memcpy(digits, start, length);
   digits[length] = 0;

   value->type = JSON_NUMBER;
   value->number = strtod(digits, NULL);
   errno = 0;
   value->integer = integer ? strtoll(digits, NULL, 10) : 0;
   value->is_integer = integer && errno == 0;
   return true;
}

static bool
parse_word(struct parser *parser, struct json *value)
{
   static const struct {
      const char *word;
      enum json_type type;
      bool boolean;
   } words[] = {
      {"null", JSON_NULL, false},
      {"true", JSON_BOOL, true},
      {"false", JSON_BOOL, false},
   };

   for (unsigned i = 0; i < 3; i++) {
      const size_t length = strlen(words[i].word);
      if ((size_t)(parser->end - parser->at) >= length &&
          memcmp(parser->at, words[i].word, length) == 0) {
         parser->at += length;
         value->type = words[i].type;
         value->boolean = words[i].boolean;
         return true;
      }
   }
   return fail(parser, "a value was expected");
}

static bool
parse_member(struct parser *parser, struct json *object, struct json ***tail)
{
   char *key = NULL;
   if (object->type == JSON_OBJECT) {
      key = parse_string(parser);
      if (!key)
         return false;
      for (const struct json *other = object->first; other; other = other->next) {
         if (strcmp(other->key, key) == 0) {
            free(key);
            return fail(parser, "the same key twice in one object");
         }
      }
      if (!take(parser, ':')) {
         free(key);
         return fail(parser, "':' was expected");
      }
   }

   struct json *member = parse_value(parser);
   if (!member) {
      free(key);
      return false;
   }
   member->key = key;
   **tail = member;
   *tail = &member->next;
   object->count++;
   return true;
}

static bool
parse_container(struct parser *parser, struct json *value)
{
   const bool object = *parser->at++ == '{';
   const char close = object ? '}' : ']';
   struct json **tail = &value->first;

   value->type = object ? JSON_OBJECT : JSON_ARRAY;
   if (++parser->depth > MAX_DEPTH)
      return fail(parser, "nested too deeply");
   if (!take(parser, close)) {
      do {
         if (!parse_member(parser, value, &tail))
            return false;
      } while (take(parser, ','));
      if (!take(parser, close))
         return fail(parser, object ? "',' or '}' was expected" : "',' or ']' was expected");
   }
   parser->depth--;
   return true;
}

static struct json *
parse_value(struct parser *parser)
{
   struct json *value = allocate(sizeof(*value));
   bool good;

   skip_space(parser);
   switch (peek(parser)) {
   case '{':
   case '[':
      good = parse_container(parser, value);
      break;
   case '"':
      value->type = JSON_STRING;
      value->string = parse_string(parser);
      good = value->string != NULL;
      break;
   case 'n':
   case 't':
   case 'f':
      good = parse_word(parser, value);
      break;
   default:
      good = parse_number(parser, value);
      break;
   }
   if (good)
      return value;
   json_free(value);
   return NULL;
}

/* --- Public --------------------------------------------------------------- */

struct json *
json_parse(const char *text, size_t length, char *error, size_t error_size)
{
   struct parser parser = {.start = text, .at = text, .end = text + length};

   struct json *value = parse_value(&parser);
   skip_space(&parser);
   if (value && parser.at != parser.end) {
      fail(&parser, "something follows the value");
      json_free(value);
      value = NULL;
   }
   if (!value && error_size)
      snprintf(error, error_size, "%s at byte %zu", parser.error,
               (size_t)(parser.at - parser.start));
   return value;
}

void
json_free(struct json *value)
{
   while (value) {
      struct json *next = value->next;
      json_free(value->first);
      free(value->string);
      free(value->key);
      free(value);
      value = next;
   }
}

const struct json *
json_get(const struct json *value, const char *path)
{
   while (value && *path) {
      const size_t length = strcspn(path, ".");
      const struct json *member = value->type == JSON_OBJECT ? value->first : NULL;
      while (member && (strlen(member->key) != length || memcmp(member->key, path, length) != 0))
         member = member->next;
      value = member;
      path += length;
      path += *path == '.';
   }
   return value;
}

const char *
json_get_string(const struct json *value, const char *path, const char *fallback)
{
   const struct json *found = json_get(value, path);
   return found && found->type == JSON_STRING ? found->string : fallback;
}

int64_t
json_get_integer(const struct json *value, const char *path, int64_t fallback)
{
   const struct json *found = json_get(value, path);
   return found && found->type == JSON_NUMBER && found->is_integer ? found->integer : fallback;
}
