/* SPDX-License-Identifier: MIT */

/*
 * A small strict JSON reader (RFC 8259), so that reading a report is also a
 * check that it is well-formed: no trailing commas, no raw control characters,
 * valid UTF-8 and surrogate pairs, no key twice, nothing behind the value.
 */

#ifndef GPUVAL_TEST_JSON_H
#define GPUVAL_TEST_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type {
   JSON_NULL,
   JSON_BOOL,
   JSON_NUMBER,
   JSON_STRING,
   JSON_ARRAY,
   JSON_OBJECT,
};

struct json {
   enum json_type type;
   bool boolean;
   bool is_integer; /* `integer` holds the number exactly */
   int64_t integer;
   double number;
   char *string; /* UTF-8, 0-terminated; a \u0000 inside is an error */
   char *key;    /* of a member of an object */
   unsigned count;
   struct json *first; /* elements of an array, members of an object */
   struct json *next;
};

/* The value in `text`, to be freed with json_free(), or NULL; then `error`
 * says what is wrong and at which byte. */
struct json *json_parse(const char *text, size_t length, char *error, size_t error_size);

void json_free(struct json *value);

/* The member named by a path such as "access.offset"; NULL when a part of it
 * is not there. `value` may be NULL. */
const struct json *json_get(const struct json *value, const char *path);

/* Convenience: the string or integer at `path`, or the fallback. */
const char *json_get_string(const struct json *value, const char *path, const char *fallback);
int64_t json_get_integer(const struct json *value, const char *path, int64_t fallback);

#endif /* GPUVAL_TEST_JSON_H */
