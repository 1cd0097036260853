/* SPDX-License-Identifier: MIT */

/*
 * What is known of a run while it is compared; private to scenario_compare*.c.
 */

#ifndef SCENARIO_COMPARE_H
#define SCENARIO_COMPARE_H

#include "json.h"
#include "scenario.h"
#include "vk_headless.h"

struct report {
   struct json *json;
   char *text; /* the line it came from */
   bool used;
};

struct compare {
   struct scenario *scenario;
   uint32_t checks; /* of the run */
   const char *folder;
   enum scenario_kind kind;
   struct report *reports;
   unsigned report_count;
   struct json *summary;
   unsigned differences;
};

/* Whether messages are printed in this run. */
bool compare_has_printf(const struct compare *compare);
/* Prints what differs, and counts it. `expect` may be NULL. */
void compare_difference(struct compare *compare, const struct scenario_expect *expect,
                        const char *what);
void compare_print_expect(const struct compare *compare, const struct scenario_expect *expect);
/* NULL for what fails in no shader. */
const struct scenario_section *compare_section(const struct compare *compare,
                                               const struct scenario_expect *expect);
bool compare_ends_with_path(const char *path, const char *file);

/* The SPIR-V of a section, to be freed by the caller. */
uint32_t *compare_read_module(const struct compare *compare, const struct scenario_section *section,
                              size_t *words);
/* Number of the instruction at a byte offset of a module, or -1. */
int64_t compare_instruction_at(const uint32_t *code, size_t words, int64_t offset);

/* scenario_compare_report.c */
void compare_read_report(struct compare *compare, const char *path);
void compare_summary(struct compare *compare);
bool compare_is_warning(const struct report *report);
/* Each failure has one of its own, and had it in the runs before. */
void compare_fingerprints(struct compare *compare);
/* The instruction that a report names must be one that does such an access. */
void compare_instruction(struct compare *compare, const struct report *report);

/* scenario_compare_log.c */
/* Each report has the head line of a block in the log. */
void compare_log(struct compare *compare, const char *path);
/* After abort() there is the log only: each EXPECT must have its block there. */
void compare_log_only(struct compare *compare, const char *path);
/* Each report is one message, which says what the block of the log says and names its objects. */
void compare_messages(struct compare *compare, const char *path, const char *log_path);

/* The calls of a report's stack, innermost first: function:NUMBER>function:NUMBER, where NUMBER is
 * what each has as @key, if it has that. To be freed. */
char *compare_stack(const struct json *json, const char *key);

#endif /* SCENARIO_COMPARE_H */
