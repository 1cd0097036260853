/* SPDX-License-Identifier: MIT */

/* What the JSON reader takes and what it refuses. */

#include "json.h"

#include <stdio.h>
#include <string.h>

static const char *const good[] = {
   "null",
   " [ ] ",
   "{}",
   "{\"a\":{\"b\":[1,-2,3.5,0,1e3,-0.25E-2]},\"c\":true,\"d\":false,\"e\":null}\n",
   "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"",
   "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
   "9223372036854775807",
};

static const char *const bad[] = {
   "",
   "nul",
   "[1,]",
   "[1 2]",
   "{\"a\":1,}",
   "{\"a\" 1}",
   "{a:1}",
   "{\"a\":1,\"a\":2}",
   "{\"a\":1} x",
   "01",
   "+1",
   "1.",
   ".5",
   "1e",
   "-",
   "NaN",
   "\"",
   "\"\t\"",
   "\"\\x\"",
   "\"\\u12g4\"",
   "\"\\u0000\"",
   "\"\\ud800\"",
   "\"\\udc00\"",
   "\"\xc3\"",
   "\"\xc0\xaf\"",
   "\"\xed\xa0\x80\"",
   "\"\xf5\x80\x80\x80\"",
   "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
};

static unsigned
check_values(void)
{
   static const char text[] =
      "{\"a\":{\"b\":42,\"s\":\"\\u00e9\\ud83d\\ude00\"},\"n\":[1,2.5],\"big\":1e400}";
   char error[128];
   struct json *json = json_parse(text, strlen(text), error, sizeof(error));
   const struct json *list = json_get(json, "n");

   const bool right =
      json_get_integer(json, "a.b", 0) == 42 && json_get_integer(json, "a.x", 7) == 7 &&
      strcmp(json_get_string(json, "a.s", ""), "\xc3\xa9\xf0\x9f\x98\x80") == 0 &&
      !json_get(json, "a.b.c") && list && list->count == 2 && list->first->is_integer &&
      !list->first->next->is_integer && list->first->next->number == 2.5;
   json_free(json);
   if (!right)
      printf("values are not as they were written\n");
   return !right;
}

int
main(void)
{
   char error[128];
   unsigned failures = check_values();

   for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
      struct json *json = json_parse(good[i], strlen(good[i]), error, sizeof(error));
      if (!json) {
         printf("refused: %s: %s\n", good[i], error);
         failures++;
      }
      json_free(json);
   }
   for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
      struct json *json = json_parse(bad[i], strlen(bad[i]), error, sizeof(error));
      if (json) {
         printf("taken: %s\n", bad[i]);
         failures++;
      }
      json_free(json);
   }
   return failures ? 1 : 0;
}
