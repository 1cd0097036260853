/* SPDX-License-Identifier: MIT */

/* What the user asked for, from the environment. docs/usage.rst is the manual. */

#ifndef GPUVAL_OPTIONS_H
#define GPUVAL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "gpuval_checks.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_shader_rule {
   const char *name;     /* a glob; NULL: by hash */
   uint64_t first, last; /* inclusive */
   uint32_t checks;
};

enum gpuval_sync_engine {
   GPUVAL_SYNC_ENGINE_DEFAULT, /* whatever fits */
   GPUVAL_SYNC_ENGINE_SHADOW,
   GPUVAL_SYNC_ENGINE_BLOOM,
};

enum gpuval_on_error {
   GPUVAL_ON_ERROR_CONTINUE,
   GPUVAL_ON_ERROR_BREAK,
   GPUVAL_ON_ERROR_ABORT,
   GPUVAL_ON_ERROR_DEVICE_LOST,
};

enum gpuval_record_mode {
   GPUVAL_RECORD_AUTO,
   GPUVAL_RECORD_MANUAL,
};

struct gpuval_options {
   uint32_t checks; /* BITFIELD_BIT(enum gpuval_check); 0: off */
   bool internal;   /* of shaders that the driver brings along, too */

   const char **reports;      /* files, NULL-terminated */
   const char *coverage;      /* file, or NULL: the check `coverage` is off */
   const char **suppressions; /* files, NULL-terminated */
   const char **source_maps;  /* FROM=TO */
   bool gen_suppressions;     /* say how to suppress each failure */
   bool progress;             /* a line on the terminal that changes */
   const char *mark;          /* gpuval_report_mark() */

   bool has_rules;
   const struct gpuval_shader_rule *rules;
   unsigned num_rules;

   bool safe;
   bool strict;         /* warnings are errors */
   bool self_test;      /* of what only a GPU can tell */
   bool marks_failures; /* GPUVAL_TEST_MARK_FAILURES: gpuval_nir_inline_options */
   bool robust;         /* report what robustness makes defined, too */
   bool poison;         /* memory is allocated filled */
   bool backtrace;      /* call stacks of commands and objects */
   bool breadcrumbs;    /* the GPU writes down which commands it is at */
   bool reports_slow;   /* hang_time is the user's: what takes longer is in report files, too */
   uint32_t hang_time;  /* seconds after which a submit is said to take long; 0: never */
   enum gpuval_on_error on_error;
   enum gpuval_record_mode record;
   const char *dump;

   enum gpuval_sync_engine sync_engine;
   uint64_t shadow_size;     /* bytes of cells where they are taken from video memory; 0: the
                              * driver's business */
   unsigned bloom_size_log2; /* bytes, 16 to 32 */
   unsigned bloom_hashes;    /* 1 to 16; 0: the driver's, see gpuval_options_hashes() */

   uint32_t loop_limit;  /* rounds of a loop that are not reported yet; 0: any number */
   uint64_t printf_size; /* bytes, with the header */
   bool printf_prefix;   /* messages begin with shader and invocation */
};

/**
 * Reads the environment, once a process, and opens the log. @by_driver: the
 * driver's own flag asked for `basic`. Drivers call gpuval_init().
 *
 * Errors go to the log, one line each.
 */
void gpuval_options_init(bool by_driver);

/**
 * The same options for a child that was forked: names of files have its process id, and a log whose
 * name has is another one. No thread looks at options meanwhile.
 */
void gpuval_options_begin_process(void);

/**
 * Returns the checks that a comma-separated list of checks and sets names, of which `-name` takes
 * one away and `none` all, as BITFIELD_BIT(enum gpuval_check). A name that is not known is an error
 * in the log that begins with @where. @internal becomes true where the list has the token
 * `internal`, and is NULL where that makes no sense.
 */
uint32_t gpuval_options_parse_checks(const char *list, const char *where, bool *internal);

/** Never NULL; all zero before gpuval_options_init(). */
const struct gpuval_options *gpuval_options(void);

/** Hash functions of sync's filter: what the user says, or @of_driver. */
unsigned gpuval_options_hashes(unsigned of_driver);

/** Checks that a shader with this hash and this debug_utils name, or NULL, gets. */
uint32_t gpuval_options_shader_checks(const struct gpuval_options *options, uint64_t hash,
                                      const char *name);

/** Is there a shader that may get @check? */
bool gpuval_options_may_check(enum gpuval_check check);

/** Is there a shader that may get a check which needs one of @needs, enum gpuval_needs? */
bool gpuval_options_need(uint32_t needs);

/** Of the checks `sync` and `sync-compute`, those that any shader may get. */
uint32_t gpuval_options_sync(void);
/** Is it looked at who uses images? By `race`, and of storage images by `sync`. */
bool gpuval_options_race(void);

/** Everything that changes the code of instrumented shaders, for cache keys. */
void gpuval_options_mix_uuid(uint8_t uuid[16]);

#ifdef __cplusplus
}
#endif

#endif
