/* SPDX-License-Identifier: MIT */

/*
 * A scenario file as the runner reads it; README.rst beside this file
 * describes the format.
 */

#ifndef SCENARIO_H
#define SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <vulkan/vulkan.h>

struct scenario_stage {
   const char *name;      /* as a section header has it */
   const char *extension; /* that glslang takes for this stage */
   VkShaderStageFlagBits bit;
};

/* One shader. Its lines have the numbers they have in the scenario file, so
 * that what the driver says about `file` can be looked up there. */
struct scenario_section {
   const struct scenario_stage *stage;
   char *name;
   char *file; /* NAME.EXTENSION, the name that the compiler sees */
   char *text;
   bool assembly; /* SPIR-V assembly instead of GLSL */
   unsigned line; /* of the next line of text; used while reading */
};

struct scenario_pair {
   char *key;
   char *value;
};

/* Of an EXPECT in [run]: what fails is a command, and no shader. */
#define SCENARIO_NO_SECTION ~0u

/* One EXPECT: a report that has to be there, once, where its check is on. */
struct scenario_expect {
   char *check;        /* CHECK/KIND */
   uint32_t checks;    /* any of these, BITFIELD_BIT(enum gpuval_check) */
   uint32_t with;      /* and all of these have to be on */
   uint32_t without;   /* and none of these */
   unsigned section;   /* index, or SCENARIO_NO_SECTION */
   unsigned line;      /* in the section's file */
   unsigned statement; /* line of the scenario file, for messages */
   struct scenario_pair *pairs;
   unsigned pair_count;
};

/* One line of [run], split into words. */
struct scenario_statement {
   unsigned line;
   char **words;
   unsigned word_count;
};

enum scenario_finish {
   SCENARIO_FINISH_DESTROY,      /* wait, destroy everything */
   SCENARIO_FINISH_DESTROY_BUSY, /* destroy the device without a wait */
   SCENARIO_FINISH_EXIT,         /* wait, exit() without destroying */
   SCENARIO_FINISH_EXIT_BUSY,    /* exit() right after the submit */
   SCENARIO_FINISH_ABORT,        /* abort() right after vkQueueWaitIdle() */
   SCENARIO_FINISH_ABORT_FENCE,  /* abort() right after vkWaitForFences() */
   /* After vkQueueWaitIdle(); for --child-only */
   SCENARIO_FINISH_QUICK_EXIT, /* _exit() */
   SCENARIO_FINISH_SIGINT,
   SCENARIO_FINISH_SIGTERM,
   SCENARIO_FINISH_SIGSEGV,
   SCENARIO_FINISH_SIGKILL,
};

/* How pipelines are made. */
enum scenario_kind {
   SCENARIO_MONOLITHIC,
   SCENARIO_LIBRARY,     /* pipeline libraries, linked */
   SCENARIO_LIBRARY_LTO, /* the same with link-time optimization */
   SCENARIO_CACHE,       /* made twice, through a VkPipelineCache's data */
   SCENARIO_SHADER_OBJECT,
   SCENARIO_SHADER_OBJECT_BINARY, /* re-created from vkGetShaderBinaryDataEXT */
   SCENARIO_KIND_COUNT,
};

struct scenario {
   const char *path;
   struct scenario_section *sections;
   unsigned section_count;
   struct scenario_expect *expects;
   unsigned expect_count;
   struct scenario_statement *statements;
   unsigned statement_count;

   const char *checks; /* GPUVAL */
   uint32_t alone;     /* checks that it is not combined with */
   uint32_t allowed;   /* checks that may report anything unless they are its own */
   const char *glslang_flags;
   struct scenario_pair *env;
   unsigned env_count;
   bool kinds[SCENARIO_KIND_COUNT];
   enum scenario_finish finish;
   unsigned devices; /* how often the program runs, in one process */
   bool once;        /* no runs but the one with checks on */
   bool any_results; /* do not compare memory with the run without checks */
   int64_t lost;     /* records lost, as the summary has to say; -1: any */

   struct scenario_printf *printf; /* NULL: no shader prints */

   /* Of all runs: a failure's is always the same. */
   struct scenario_fingerprint *fingerprints;
   unsigned fingerprint_count;
};

/* Exits with VKH_EXIT_ERROR and the place of an error in the file. */
struct scenario *scenario_read(const char *path);

const struct scenario_section *scenario_find_section(const struct scenario *scenario,
                                                     const char *name);

/* The scenario's own checks, as BITFIELD_BIT(enum gpuval_check), and the text that
 * GPUVAL takes for such; that is the caller's to free. */
uint32_t scenario_checks(const struct scenario *scenario);
/* What this version has, and what can be on at once. */
uint32_t scenario_combined_checks(void);
char *scenario_checks_text(uint32_t checks);

/* Checks whose reports are not compared in a run with these checks. */
uint32_t scenario_allowed(const struct scenario *scenario, uint32_t checks);

/* Whether the report has to be there in a run with these checks. */
bool scenario_expect_applies(const struct scenario_expect *expect, uint32_t checks);

const char *scenario_kind_name(enum scenario_kind kind);
/* Returns SCENARIO_KIND_COUNT for a name that is none. */
enum scenario_kind scenario_find_kind(const char *name);

void scenario_error(const struct scenario *scenario, unsigned line, const char *format, ...)
   __attribute__((format(printf, 3, 4), noreturn));

/* The program itself: runs the calls on the device, with the compiled shaders
 * in `folder`. Writes the memory of all resources to `folder`/`name`.dump and
 * what its debug_utils messenger hears of gpuval to `folder`/`name`.messages, a
 * line each. Returns an exit status, or does not return, as `finish` says. */
int scenario_run(const struct scenario *scenario, const char *folder, const char *name,
                 enum scenario_kind kind, bool checks_on);

/* Compares the report, the log and the messages of the run `name` with what is
 * expected where these checks are on, and prints the differences; returns their
 * number. */
unsigned scenario_compare(struct scenario *scenario, const char *folder, const char *name,
                          enum scenario_kind kind, uint32_t checks);

/* --- What shaders print: scenario_printf.c -------------------------------- */

/* A line of [printf], and a statement of [run] about it (false: it is another). */
void scenario_printf_read_line(struct scenario *scenario, const char *line, unsigned number);
bool scenario_printf_read_setting(struct scenario *scenario,
                                  const struct scenario_statement *statement);

/* What the program's messenger hears, one line a message. */
void scenario_printf_write_message(FILE *file, const char *text);

struct json;

/* The report of a message; is not taken over. */
void scenario_printf_add_report(struct scenario *scenario, const struct json *json);

/* The same as scenario_compare(). */
unsigned scenario_printf_compare(struct scenario *scenario, const struct json *summary,
                                 const char *log, const char *messages);

/* asprintf() that exits instead of failing. */
char *scenario_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* realloc() for one more element of an array, zeroed; `array` is updated. */
void *scenario_grow(void *array, unsigned *count, size_t element_size);

#endif /* SCENARIO_H */
