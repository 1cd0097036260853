/* SPDX-License-Identifier: MIT */

#include "gpuval_options.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "c11/threads.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/bitset.h"
#include "util/log.h"
#include "util/mesa-blake3.h"
#include "util/os_misc.h"
#include "util/ralloc.h"
#include "gpuval_files.h"
#include "gpuval_glob.h"
#include "gpuval_log.h"
#include "gpuval_suggest.h"
#include "gpuval_text.h"

/* Part of the key of everything that is cached: change it whenever the same
 * options make other code.
 */
#define GPUVAL_CODE_VERSION 129

static struct gpuval_options options;
static bool driver_flag;

const struct gpuval_options *
gpuval_options(void)
{
   return &options;
}

/* Every variable that is read here; docs/usage.rst describes them. */
static const char *const variables[] = {
   "GPUVAL",
   "GPUVAL_BACKTRACE",
   "GPUVAL_BLOOM_HASHES",
   "GPUVAL_BLOOM_SIZE_LOG2",
   "GPUVAL_BREADCRUMBS",
   "GPUVAL_COVERAGE",
   "GPUVAL_DUMP",
   "GPUVAL_GEN_SUPPRESSIONS",
   "GPUVAL_HANG_TIME",
   "GPUVAL_LOG",
   "GPUVAL_LOOP_LIMIT",
   "GPUVAL_MARK",
   "GPUVAL_ON_ERROR",
   "GPUVAL_POISON",
   "GPUVAL_PRINTF_PREFIX",
   "GPUVAL_PRINTF_SIZE",
   "GPUVAL_PROGRESS",
   "GPUVAL_RECORD",
   "GPUVAL_REPORT",
   "GPUVAL_ROBUST",
   "GPUVAL_SAFE",
   "GPUVAL_SELF_TEST",
   "GPUVAL_SHADERS",
   "GPUVAL_SHADOW_SIZE",
   "GPUVAL_SOURCE_MAP",
   "GPUVAL_STRICT",
   "GPUVAL_SUPPRESSIONS",
   "GPUVAL_SYNC",
};

static bool
is_variable(const char *name, size_t length)
{
   for (unsigned i = 0; i < ARRAY_SIZE(variables); i++) {
      if (!strncmp(variables[i], name, length) && !variables[i][length])
         return true;
   }
   return false;
}

static const char *
nearest_variable(const char *name, size_t length)
{
   /* The option --checks is GPUVAL as a variable. */
   static const char checks[] = "GPUVAL_CHECKS";
   const char *nearest = "GPUVAL";
   unsigned distance = gpuval_suggest_distance(name, length, checks, strlen(checks));

   for (unsigned i = 0; i < ARRAY_SIZE(variables); i++) {
      unsigned other = gpuval_suggest_distance(name, length, variables[i], strlen(variables[i]));
      if (other < distance) {
         distance = other;
         nearest = variables[i];
      }
   }
   return nearest;
}

extern char **environ;

/* GPUVAL_TEST_… */
static bool
belongs_to_tests(const char *name)
{
   return !strncmp(name, "GPUVAL_TEST_", 12);
}

/* A variable GPUVAL_… that does not exist is an error: what was meant by it is not done. */
static void
name_unknown_variables(void)
{
   for (char **variable = environ; variable && *variable; variable++) {
      size_t length = strcspn(*variable, "=");

      if (strncmp(*variable, "GPUVAL_", 7) || belongs_to_tests(*variable) ||
          is_variable(*variable, length))
         continue;
      gpuval_log_error("%.*s is no variable of gpuval; the nearest one is %s", (int)length,
                       *variable, nearest_variable(*variable, length));
   }
}

static const char *
get_variable(const char *name)
{
   assert(is_variable(name, strlen(name)) || belongs_to_tests(name));
   const char *value = os_get_option(name);
   return value && *value ? value : NULL;
}

static bool has_no_files; /* gpuval_files_are_forbidden() */

/* The same of one that names files or a folder */
static const char *
get_file_variable(const char *name)
{
   return has_no_files ? NULL : get_variable(name);
}

/* %p: process id */
static char *
expand_pid(const char *name)
{
   char *expanded = NULL;
   size_t size;
   FILE *f = open_memstream(&expanded, &size);
   if (!f)
      return NULL;

   for (; *name; name++) {
      if (name[0] == '%' && name[1] == 'p') {
         fprintf(f, "%d", (int)getpid());
         name++;
      } else {
         fputc(*name, f);
      }
   }
   fclose(f);
   return expanded;
}

/* Absolute: programs change their folder. */
static char *
make_absolute(const char *name, size_t length)
{
   char *absolute = NULL;
   char folder[PATH_MAX];

   if (*name == '/' || !getcwd(folder, sizeof(folder)))
      return strndup(name, length);
   return asprintf(&absolute, "%s/%.*s", folder, (int)length, name) < 0 ? NULL : absolute;
}

static char *
expand_file_name(const char *name, size_t length)
{
   char *absolute = make_absolute(name, length);
   char *expanded = absolute ? expand_pid(absolute) : NULL;

   free(absolute);
   return expanded;
}

/* With %p, for gpuval_options_begin_process(); NULL: there are none. */
static char *log_pattern, *coverage_pattern;
static const char **report_patterns;

/* isspace() and tolower() mind the locale. */
static bool
is_space(char c)
{
   return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool
is_digit(char c)
{
   return c >= '0' && c <= '9';
}

static void
say_unknown_check(const char *where, const char *name, size_t length, bool has_internal)
{
   size_t nearest_length = 0;
   const char *nearest = gpuval_suggest(name, length, gpuval_checks_names(), &nearest_length);

   gpuval_log_error("%s: no check or set is called \"%.*s\"%s%.*s%s (there are %s%s)", where,
                    (int)length, name, nearest ? "; did you mean \"" : "", (int)nearest_length,
                    nearest ? nearest : "", nearest ? "\"?" : "", gpuval_checks_names(),
                    has_internal ? "; internal" : "");
}

uint32_t
gpuval_options_parse_checks(const char *list, const char *where, bool *internal)
{
   uint32_t checks = 0;

   while (*list) {
      size_t length = strcspn(list, ",");
      const char *name = list;
      size_t name_length = length;
      while (name_length && is_space(*name))
         name++, name_length--;
      while (name_length && is_space(name[name_length - 1]))
         name_length--;

      bool minus = name_length && *name == '-';
      if (minus)
         name++, name_length--;

      list += length + (list[length] == ',');
      if (internal && name_length == strlen("internal") &&
          !strncmp(name, "internal", name_length)) {
         *internal = !minus;
         continue;
      }

      if (!minus && name_length == strlen("none") && !strncmp(name, "none", name_length)) {
         checks = 0;
         continue;
      }

      uint32_t named = gpuval_checks_from_name(name, name_length);
      if (minus)
         checks &= ~named;
      else
         checks |= named;

      if (!named && name_length)
         say_unknown_check(where, name, name_length, internal);
   }

   return checks;
}

/* What has been said to be missing */
static uint32_t warned;

static uint32_t
drop_unavailable(uint32_t checks)
{
   uint32_t missing = checks & ~gpuval_checks_available();
   char names[256] = "";

   u_foreach_bit (i, missing) {
      if (*names)
         strcat(names, ", ");
      strcat(names, gpuval_check_infos[i].name);
   }
   if (missing)
      gpuval_log_warning("this version does not check %s yet", names);
   warned |= missing;

   return checks & ~missing;
}

static bool
get_bool(const char *name, bool fallback)
{
   const char *value = get_variable(name);
   if (!value)
      return fallback;
   if (!strcmp(value, "0"))
      return false;
   if (!strcmp(value, "1"))
      return true;

   gpuval_log_error("%s=\"%s\": 0 or 1 is accepted, %d is used", name, value, fallback);
   return fallback;
}

static uint64_t
get_number(const char *name, uint64_t min, uint64_t max, uint64_t fallback)
{
   const char *value = get_variable(name);
   if (!value)
      return fallback;

   char *end;
   errno = 0;
   unsigned long long number = strtoull(value, &end, 10);
   if (!errno && !*end && is_digit(*value) && number >= min && number <= max)
      return number;

   char used[32] = "the default";
   if (fallback)
      snprintf(used, sizeof(used), "%" PRIu64, fallback);
   gpuval_log_error("%s=\"%s\": a number from %" PRIu64 " to %" PRIu64 " is accepted, %s is used",
                    name, value, min, max, used);
   return fallback;
}

/* One of @names; the first is the default. */
static unsigned
get_choice(const char *name, const char *const *names, unsigned num_names)
{
   const char *value = get_variable(name);
   char accepted[128] = "";

   for (unsigned i = 0; value && i < num_names; i++) {
      if (*names[i] && !strcmp(value, names[i]))
         return i;
      if (*names[i]) {
         strcat(accepted, *accepted ? ", " : "");
         strcat(accepted, names[i]);
      }
   }

   if (value)
      gpuval_log_error("%s=\"%s\": one of %s is accepted, %s is used", name, value, accepted,
                       *names[0] ? names[0] : "the default");
   return 0;
}

/* Files, comma-separated; NULL behind the last. @make_name: of the name and its length */
static const char **
get_files(const char *name, char *(*make_name)(const char *name, size_t length))
{
   const char *list = get_file_variable(name);
   struct util_dynarray files;
   util_dynarray_init(&files, NULL);

   while (list && *list) {
      size_t length = strcspn(list, ",");
      char *file = length ? make_name(list, length) : NULL;
      if (file)
         util_dynarray_append_typed(&files, const char *, file);
      list += length + (list[length] == ',');
   }

   util_dynarray_append_typed(&files, const char *, NULL);
   return util_dynarray_begin(&files);
}

static void
open_log(void)
{
   const char *log = get_variable("GPUVAL_LOG");
   if (!log || !strcmp(log, "stderr") || (has_no_files && strcmp(log, "stdout")))
      return;

   bool to_stdout = !strcmp(log, "stdout");
   char *file = to_stdout ? NULL : expand_file_name(log, strlen(log));
   gpuval_log_open(file, to_stdout);
   free(file);
   log_pattern = to_stdout ? NULL : make_absolute(log, strlen(log));
}

static bool
parse_hash(char **p, uint64_t *hash)
{
   *hash = 0;
   for (unsigned i = 0; i < 16; i++) {
      char c = (*p)[i], letter = c | 0x20;
      if (!is_digit(c) && (letter < 'a' || letter > 'f'))
         return false;
      *hash = *hash << 4 | (is_digit(c) ? c - '0' : letter - 'a' + 10);
   }
   *p += 16;
   return true;
}

/* name:GLOB, with quotes around the glob if there are spaces in it */
static bool
parse_name(char **p, const char **name)
{
   if (strncmp(*p, "name:", 5))
      return false;

   bool quoted = (*p)[5] == '"';
   char *begin = *p + 5 + quoted, *end = begin;
   while (*end && (quoted ? *end != '"' : !is_space(*end)))
      end += end[0] == '\\' && end[1] ? 2 : 1;
   if (!*end || end == begin)
      return false;
   *p = end + quoted;
   *name = strndup(begin, end - begin);
   return *name != NULL;
}

static bool
parse_range(char **p, struct gpuval_shader_rule *rule)
{
   return parse_hash(p, &rule->first) && *(*p)++ == '-' && parse_hash(p, &rule->last) &&
          rule->first <= rule->last;
}

/* LO-HI MODE[,MODE...]   docs/protocols.rst, "Files of shaders"
 * name:GLOB MODE[,MODE...]
 */
static void
parse_rule(char *line, const char *file, unsigned number, struct util_dynarray *rules)
{
   line[strcspn(line, "#\r\n")] = 0;
   char *p = line + strspn(line, " \t");
   if (!*p)
      return;

   struct gpuval_shader_rule rule = {0};
   char *where = ralloc_asprintf(NULL, "GPUVAL_SHADERS, line %u of %s", number, file);

   if ((!parse_name(&p, &rule.name) && !parse_range(&p, &rule)) || !strspn(p, " \t") ||
       !p[strspn(p, " \t")]) {
      gpuval_log_error("%s: \"LO-HI MODE[,MODE...]\" with hashes of 16 hex digits, LO not "
                       "above HI, and \"name:PATTERN MODE[,MODE...]\" are accepted; the line is "
                       "ignored",
                       where);
      ralloc_free(where);
      return;
   }

   rule.checks = gpuval_options_parse_checks(p + strspn(p, " \t"), where, NULL);
   ralloc_free(where);
   util_dynarray_append_typed(rules, struct gpuval_shader_rule, rule);
}

static void
parse_rules(void)
{
   const char *file = get_file_variable("GPUVAL_SHADERS");
   if (!file)
      return;

   struct util_dynarray rules;
   util_dynarray_init(&rules, NULL);
   char *line = NULL;
   size_t size = 0;
   unsigned number = 0;

   FILE *f = fopen(file, "re");
   while (f && getline(&line, &size, f) >= 0) {
      char *text = number ? line : gpuval_skip_byte_order_mark(line);
      parse_rule(text, file, ++number, &rules);
   }
   free(line);

   /* A folder can be opened, but not read. */
   if (!f || ferror(f)) {
      gpuval_log_error("GPUVAL_SHADERS: %s: %s; all shaders are checked", file, strerror(errno));
      if (f)
         fclose(f);
      return;
   }
   fclose(f);

   uint32_t named = 0;
   util_dynarray_foreach (&rules, struct gpuval_shader_rule, rule)
      named |= rule->checks;
   drop_unavailable(named & ~options.checks & ~warned);

   options.has_rules = true;
   options.num_rules = util_dynarray_num_elements(&rules, struct gpuval_shader_rule);
   options.rules = util_dynarray_begin(&rules);
}

static void
read_choices(void)
{
   static const char *const engines[] = {"", "shadow", "bloom"};
   static const char *const reactions[] = {"continue", "break", "abort", "device-lost"};
   static const char *const modes[] = {"auto", "manual"};

   options.sync_engine = get_choice("GPUVAL_SYNC", engines, ARRAY_SIZE(engines));
   options.on_error = get_choice("GPUVAL_ON_ERROR", reactions, ARRAY_SIZE(reactions));
   options.record = get_choice("GPUVAL_RECORD", modes, ARRAY_SIZE(modes));
}

/* All shaders count, whichever of them GPUVAL_SHADERS selects. */
static void
read_coverage(void)
{
   const char *file = get_file_variable("GPUVAL_COVERAGE");
   if (!file)
      return;
   options.coverage = expand_file_name(file, strlen(file));
   coverage_pattern = make_absolute(file, strlen(file));
   options.checks |= BITFIELD_BIT(GPUVAL_CHECK_COVERAGE);
}

static void
read_environment(void)
{
   const char *checks = get_variable("GPUVAL");
   if (!checks && !driver_flag)
      return;

   has_no_files = gpuval_files_are_forbidden();
   if (has_no_files)
      gpuval_log_warning(
         "this program has rights that its user has not: files that the environment "
         "names are neither read nor written");
   open_log();
   name_unknown_variables();
   options.checks = drop_unavailable(
      gpuval_options_parse_checks(checks ? checks : "basic", "GPUVAL", &options.internal));
   read_coverage();
   options.safe = get_bool("GPUVAL_SAFE", true);
   options.strict = get_bool("GPUVAL_STRICT", false);
   options.robust = get_bool("GPUVAL_ROBUST", false);
   options.self_test = get_bool("GPUVAL_SELF_TEST", true);
   options.marks_failures = get_bool("GPUVAL_TEST_MARK_FAILURES", false);
   options.poison = get_bool("GPUVAL_POISON", false);
   /* addr2line is looked for where the environment says. */
   options.backtrace = get_bool("GPUVAL_BACKTRACE", false) && !has_no_files;
   options.breadcrumbs = get_bool("GPUVAL_BREADCRUMBS", false);
   options.reports_slow = get_variable("GPUVAL_HANG_TIME") != NULL;
   options.hang_time = get_number("GPUVAL_HANG_TIME", 0, 86400, 5);
   const char *dump = get_file_variable("GPUVAL_DUMP");
   options.dump = dump ? expand_file_name(dump, strlen(dump)) : NULL;
   options.shadow_size = get_number("GPUVAL_SHADOW_SIZE", 1 << 16, 1ull << 40, 0);
   options.bloom_size_log2 = get_number("GPUVAL_BLOOM_SIZE_LOG2", 16, 32, 26);
   options.bloom_hashes = get_number("GPUVAL_BLOOM_HASHES", 1, 16, 0);
   options.loop_limit = get_number("GPUVAL_LOOP_LIMIT", 0, UINT32_MAX, 1 << 24);
   options.printf_size = get_number("GPUVAL_PRINTF_SIZE", 16, 1ull << 31, 1 << 20);
   options.printf_prefix = get_bool("GPUVAL_PRINTF_PREFIX", false);
   const char *mark = get_file_variable("GPUVAL_MARK");
   options.mark = mark ? strdup(mark) : NULL;
   options.reports = get_files("GPUVAL_REPORT", expand_file_name);
   report_patterns = get_files("GPUVAL_REPORT", make_absolute);
   options.source_maps = get_files("GPUVAL_SOURCE_MAP", strndup);
   options.suppressions = get_files("GPUVAL_SUPPRESSIONS", expand_file_name);
   options.gen_suppressions = get_bool("GPUVAL_GEN_SUPPRESSIONS", false);
   options.progress = get_bool("GPUVAL_PROGRESS", false);
   read_choices();
   parse_rules();
}

void
gpuval_options_init(bool by_driver)
{
   static once_flag once = ONCE_FLAG_INIT;
   driver_flag = by_driver;
   call_once(&once, read_environment);
}

void
gpuval_options_begin_process(void)
{
   if (log_pattern && strstr(log_pattern, "%p")) {
      char *file = expand_pid(log_pattern);
      gpuval_log_open(file, false);
      free(file);
   }
   if (coverage_pattern)
      options.coverage = expand_pid(coverage_pattern);
   for (unsigned i = 0; options.reports && options.reports[i]; i++)
      options.reports[i] = expand_pid(report_patterns[i]);
}

uint32_t
gpuval_options_shader_checks(const struct gpuval_options *o, uint64_t hash, const char *name)
{
   const uint32_t always = o->checks & BITFIELD_BIT(GPUVAL_CHECK_COVERAGE);
   if (!o->has_rules)
      return o->checks;

   /* A rule may name checks that GPUVAL does not. */
   for (unsigned i = o->num_rules; i-- > 0;) {
      const struct gpuval_shader_rule *rule = &o->rules[i];
      if (rule->name ? name && gpuval_glob_matches(rule->name, name)
                     : rule->first <= hash && hash <= rule->last)
         return always | (rule->checks & gpuval_checks_available());
   }
   return always;
}

static uint32_t
all_checks(void)
{
   uint32_t checks =
      options.checks & (options.has_rules ? BITFIELD_BIT(GPUVAL_CHECK_COVERAGE) : ~0u);

   for (unsigned i = 0; i < options.num_rules; i++)
      checks |= options.rules[i].checks;
   return checks;
}

bool
gpuval_options_may_check(enum gpuval_check check)
{
   return all_checks() & BITFIELD_BIT(check);
}

bool
gpuval_options_need(uint32_t needs)
{
   return all_checks() & gpuval_checks_with_needs(needs);
}

bool
gpuval_options_race(void)
{
   return gpuval_options_may_check(GPUVAL_CHECK_RACE) ||
          gpuval_options_may_check(GPUVAL_CHECK_SYNC);
}

uint32_t
gpuval_options_sync(void)
{
   return all_checks() &
          (BITFIELD_BIT(GPUVAL_CHECK_SYNC) | BITFIELD_BIT(GPUVAL_CHECK_SYNC_COMPUTE));
}

unsigned
gpuval_options_hashes(unsigned of_driver)
{
   return options.bloom_hashes ? options.bloom_hashes : of_driver;
}

void
gpuval_options_mix_uuid(uint8_t uuid[16])
{
   if (!options.checks)
      return;

   const uint32_t words[] = {GPUVAL_CODE_VERSION, options.checks,       options.safe,
                             options.robust,      options.bloom_hashes, options.printf_prefix,
                             options.internal,    options.sync_engine,  options.loop_limit};
   struct mesa_blake3 ctx;
   blake3_hash hash;

   _mesa_blake3_init(&ctx);
   _mesa_blake3_update(&ctx, uuid, 16);
   _mesa_blake3_update(&ctx, words, sizeof(words));
   for (unsigned i = 0; i < options.num_rules; i++) {
      /* By value: a struct has gaps. */
      const uint64_t rule[] = {options.rules[i].first, options.rules[i].last,
                               options.rules[i].checks};
      const char *name = options.rules[i].name;
      _mesa_blake3_update(&ctx, rule, sizeof(rule));
      if (name)
         _mesa_blake3_update(&ctx, name, strlen(name) + 1);
   }
   _mesa_blake3_final(&ctx, hash);
   memcpy(uuid, hash, 16);
}
