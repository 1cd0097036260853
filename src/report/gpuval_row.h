/* SPDX-License-Identifier: MIT */

/* One failure as the table of fields sees it: what files print. It is made of an event
 * of this process, or read from a report, and printers do not know which.
 */

#ifndef GPUVAL_ROW_H
#define GPUVAL_ROW_H

#include "gpuval_fields.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One process, or what is known of it. NULL, -1: not known. */
struct gpuval_run {
   const char *file; /* the report that it was read from */
   const char *host;
   const char *program;
   const char *time; /* when it began: 2026-01-31T23:59:59Z */
   int64_t pid;
   const char *ended; /* how, if not by itself: a signal's name, "exit" or "killed" */
   bool incomplete;   /* its report has no summary, or lines that cannot be read */

   /* What was checked */
   uint32_t checks;    /* BITFIELD_BIT(enum gpuval_check); 0: not known */
   const char *driver; /* and Mesa's version */
   double seconds;     /* 0: not known */
};

/** Is gpuval_run::time one? It may be read from anywhere. */
bool gpuval_run_has_time(const struct gpuval_run *run);

/** How often a failure was in a run. */
struct gpuval_seen {
   uint32_t run; /* of gpuval_summary::runs */
   uint64_t count;
};

/** The same of all runs of a machine. */
struct gpuval_seen_machine {
   const char *host;
   uint32_t runs;
   uint64_t count;
};

/** Strings are those of the event, or of the line that was read. */
struct gpuval_row {
   bool has_other;
   struct gpuval_value values[2][GPUVAL_MAX_FIELDS]; /* of the event, of the conflicting access */

   /* Of a report that was made of others: */
   const char *baseline; /* "new" or "unchanged"; NULL: there is none */
   const struct gpuval_seen *seen;
   unsigned num_seen;
   const struct gpuval_seen_machine *machines;
   unsigned num_machines;
};

void gpuval_row_from_event(struct gpuval_row *row, const struct gpuval_event *event);

/** Never NULL; @object is "" for what is in none. */
const struct gpuval_value *gpuval_row_get(const struct gpuval_row *row, bool other,
                                          const char *object, const char *key);
/** NULL: not known */
const char *gpuval_row_string(const struct gpuval_row *row, bool other, const char *object,
                              const char *key);
/** @missing: not known */
int64_t gpuval_row_number(const struct gpuval_row *row, bool other, const char *object,
                          const char *key, int64_t missing);

/** @value as text, without quotes; strings by @write_string. */
void gpuval_value_write(FILE *f, const struct gpuval_value *value,
                        void (*write_string)(FILE *f, const char *string));

/** @frame as text: main.c:42 in draw_frame() */
void gpuval_frame_write(FILE *f, const struct gpuval_frame *frame,
                        void (*write_string)(FILE *f, const char *string));

/** A message that a shader has printed, and no failure. */
bool gpuval_row_is_message(const struct gpuval_row *row);
/** A failure that is no error: gpuval_event_is_warning(). */
bool gpuval_row_is_warning(const struct gpuval_row *row);

/** What the invocation is known by, of the shader's stage; NULL: it is not known. */
const struct gpuval_invocation_fact *gpuval_row_invocation_facts(const struct gpuval_row *row);

/** The row of gpuval_fields[] of the invocation's word 0; 1 and 2 follow. */
unsigned gpuval_field_of_invocation(void);

#ifdef __cplusplus
}
#endif

#endif
