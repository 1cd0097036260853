/* SPDX-License-Identifier: MIT */

/* The facts of an event, one row each: what JSON Lines and CSV print. A new fact is
 * a new row.
 */

#ifndef GPUVAL_FIELDS_H
#define GPUVAL_FIELDS_H

#include "base/gpuval_frame.h"
#include "gpuval_event.h"

#ifdef __cplusplus
extern "C" {
#endif

enum gpuval_value_type {
   GPUVAL_VALUE_UNKNOWN, /* no key, an empty column */
   GPUVAL_VALUE_STRING,
   GPUVAL_VALUE_WORD, /* a string of letters and hyphens, which is ours */
   GPUVAL_VALUE_NUMBER,
   GPUVAL_VALUE_FLOAT,
   GPUVAL_VALUE_HANDLE, /* "0x55d0c0" */
   GPUVAL_VALUE_HASH,   /* "0123456789abcdef" */
   GPUVAL_VALUE_TRUE,
   GPUVAL_VALUE_STRINGS,
   GPUVAL_VALUE_NUMBERS,
   GPUVAL_VALUE_FRAMES, /* calls, innermost first */
   GPUVAL_VALUE_NAMED,  /* values of variables */
};

struct gpuval_value {
   enum gpuval_value_type type;
   union {
      const char *string;
      int64_t number;
      uint64_t bits; /* handles, hashes */
      float real;
      const char *const *strings;
      int64_t numbers[3];
      const struct gpuval_frame *frames;
      const struct gpuval_named_value *named;
   };
   unsigned count; /* of arrays */
};

/* Columns stay where they once were, so those that came later are the last ones. */
enum gpuval_columns {
   GPUVAL_COLUMNS_HEAD = 1,
   GPUVAL_COLUMNS_MESSAGE,
   GPUVAL_COLUMNS_FIRST,
   GPUVAL_COLUMNS_SECOND, /* then those of the conflicting access, but for the next */
   GPUVAL_COLUMNS_THIRD,  /* then those of the conflicting access again */
   GPUVAL_COLUMNS_FOURTH,
   GPUVAL_COLUMNS_FIFTH,
   GPUVAL_COLUMNS_SIXTH,
   GPUVAL_COLUMNS_SEVENTH,
   GPUVAL_COLUMNS_EIGHTH,
   GPUVAL_COLUMNS_END,
   GPUVAL_COLUMNS_NONE, /* JSON alone has it */
};

/* Of gpuval_fields[], at most */
#define GPUVAL_MAX_FIELDS 80

struct gpuval_field {
   const char *object;          /* "" for those that are in none */
   const char *key;             /* NULL: one of the invocation's, see gpuval_invocation_facts() */
   const char *column;          /* NULL: object_key */
   enum gpuval_columns columns; /* 0: only the conflicting access has it */

   /* Of a place: there once for the event's, and once for the conflicting access's. */
   void (*get_of_place)(const struct gpuval_place *place, struct gpuval_value *value);
   /* Of the event, or of the conflicting access alone; NULL where that above is not. */
   void (*get)(const struct gpuval_event *event, struct gpuval_value *value);

   enum gpuval_columns other_columns; /* 0: those of get_of_place, SECOND or later */
   const char *parent; /* what the object is in, whose fields stand right before; NULL: nothing */
};

extern const struct gpuval_field gpuval_fields[];
extern const unsigned gpuval_num_fields;

/** Where the columns of @field stand; 0: it has none. */
unsigned gpuval_field_columns(const struct gpuval_field *field, bool other);

/** The number of a field, or -1. @hint: where to look first. */
int gpuval_field_find(const char *object, const char *key, unsigned hint);

/** The value of @field; of the conflicting access's place, @other. */
struct gpuval_value gpuval_field_value(const struct gpuval_field *field,
                                       const struct gpuval_event *event, bool other);

/** One fact of an invocation, by stage: docs/protocols.rst, "Invocations". */
struct gpuval_invocation_fact {
   const char *key;      /* in JSON; NULL behind the last */
   const char *text;     /* in the log */
   unsigned word, count; /* of gpuval_event::invocation; more than one: a vector */
   bool is_float;
};

/** All of a stage's. */
const struct gpuval_invocation_fact *gpuval_invocation_facts(mesa_shader_stage stage);

#ifdef __cplusplus
}
#endif

#endif
