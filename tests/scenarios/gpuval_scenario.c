/* SPDX-License-Identifier: MIT */

/*
 * Runs a scenario file: compiles its shaders, runs its program in processes of
 * their own with checks off and on, and compares reports, logs and memory.
 *
 *    gpuval-scenario [--brief] [--child-only] [--keep] [--kind KIND] [--checks LIST]
 *                    [--preload LIBRARY] [--beside ICD]
 *                    [--combinations N|pairs|even-pairs|odd-pairs] FILE.scn
 *    gpuval-scenario [--brief] --each FILE.scn...
 *
 * --brief, and GPUVAL_TEST_BRIEF in the environment without GPUVAL_TEST_ALL_KINDS, leaves out the
 * run with warm caches and all kinds of pipelines but the first. GPUVAL_TEST_SANITIZED leaves out
 * runs that do what others do as far as sanitizers see: with warm caches for all kinds but the
 * first, and without checks where nothing is compared.
 *
 * --child-only runs the program only, in the environment as it is, and says
 * nothing about reports; --keep leaves the temporary folder; --kind runs one
 * kind of pipeline instead of those the file names; --checks switches on other
 * checks than the file says. --preload preloads a library
 * (LD_PRELOAD) for the program, and so does GPUVAL_TEST_PRELOAD. --beside runs the
 * program without checks on this driver, and on the one of another ICD file without the
 * library, and compares the memory that both leave. --list-checks prints the checks that are
 * combined, a line each. --combinations runs it under several checks at once: the scenario's with N
 * others, one at a time, and all; or each check, each pair of checks, or one half of these, and
 * all. Exits with 0, with 1 for differences, with VKH_EXIT_SKIP or with VKH_EXIT_ERROR.
 *
 * --each is --child-only for many files. What a file's program says is followed by
 * "gpuval-scenario: FILE STATUS". Exits with 0.
 *
 * Where GPUVAL_TEST_DRIVER is the driver of the environment's ICD file, it is loaded once, and each
 * process begins as a copy of this one, but for --child-only of one file, which has one anyway.
 */

#include "scenario_process.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "vk_headless.h"

struct options {
   const char *file;
   bool brief;
   bool child_only;
   bool keep;
   bool list_checks;
   enum scenario_kind only_kind; /* SCENARIO_KIND_COUNT: all of the file's */
   const char *checks;           /* instead of the file's, or NULL */
   const char *preload;          /* or NULL */
   const char *beside;           /* ICD file of another driver, or NULL */
   enum scenario_combinations combinations;
   unsigned pair_limit;

   /* How this program calls itself. */
   const char *child_folder;
   const char *child_name;
   bool child_checks;

   char **each; /* the files of --each, as many as */
   int each_count;
};

/* --- Runs ----------------------------------------------------------------- */

/* Off, on, and on once more, when the shader caches are warm. Off where the memory that is left
 * then is compared, or for the first kind, which others share their caches with. Returns the
 * number of differences; skips when the first run does.
 */
static unsigned
run_kind(struct scenario *scenario, const char *folder, enum scenario_kind kind, bool is_first,
         const struct options *options, bool *skipped)
{
   const char *kind_name = scenario_kind_name(kind);
   const char *checks = scenario->checks;
   struct scenario_child children[] = {
      {scenario_format("%s-off", kind_name), kind, .preload = options->preload},
      {scenario_format("%s-on", kind_name), kind, checks, .preload = options->preload},
      {scenario_format("%s-again", kind_name), kind, checks, .preload = options->preload},
   };
   const uint32_t mask = scenario_checks(scenario);
   unsigned differences = 0;

   const bool compares = !scenario->once && scenario_dumps_are_comparable(scenario, mask);
   const bool sanitized = getenv("GPUVAL_TEST_SANITIZED");
   const bool has_off = compares || (is_first && !scenario->once && !sanitized);
   const bool has_again = !scenario->once && !options->brief && (is_first || !sanitized);
   for (unsigned i = has_off ? 0 : 1; i < (has_again ? 3u : 2u); i++) {
      const int status = scenario_run_child(scenario, folder, &children[i]);
      if (WIFEXITED(status) && WEXITSTATUS(status) == VKH_EXIT_SKIP) {
         scenario_print_file(folder, children[i].name, "out");
         *skipped = true;
         return differences;
      }
      if (!scenario_check_status(scenario, folder, &children[i], status))
         return differences + 1;
      if (!children[i].checks)
         continue;

      const unsigned found = scenario_compare(scenario, folder, children[i].name, kind, mask);
      if (found)
         printf("%s: %u differences (%s)\n", scenario->path, found, children[i].name);
      differences += found;
      if (compares)
         differences +=
            scenario_compare_dumps(scenario, folder, children[0].name, children[i].name);
   }
   for (unsigned i = 0; i < VKH_COUNT(children); i++)
      free((char *)children[i].name);
   return differences;
}

/* Without checks, on this driver and on another one. */
static unsigned
run_beside(struct scenario *scenario, const char *folder, enum scenario_kind kind,
           const struct options *options, bool *skipped)
{
   const char *kind_name = scenario_kind_name(kind);
   struct scenario_child children[] = {
      {scenario_format("%s-here", kind_name), kind, .preload = options->preload},
      {scenario_format("%s-there", kind_name), kind, .icd = options->beside},
   };
   unsigned differences = 0;

   for (unsigned i = 0; i < VKH_COUNT(children) && !*skipped && !differences; i++) {
      const int status = scenario_run_child(scenario, folder, &children[i]);
      if (WIFEXITED(status) && WEXITSTATUS(status) == VKH_EXIT_SKIP) {
         scenario_print_file(folder, children[i].name, "out");
         *skipped = true;
      } else if (!scenario_check_status(scenario, folder, &children[i], status)) {
         differences = 1;
      }
   }
   if (!*skipped && !differences && scenario_dumps_are_comparable(scenario, UINT32_MAX))
      differences = scenario_compare_dumps(scenario, folder, children[0].name, children[1].name);
   for (unsigned i = 0; i < VKH_COUNT(children); i++)
      free((char *)children[i].name);
   return differences;
}

/* --- Program -------------------------------------------------------------- */

static char *
make_folder(void)
{
   const char *parent = getenv("TMPDIR");
   char *folder = scenario_format("%s/gpuval-scenario-XXXXXX", parent ? parent : "/tmp");
   if (!mkdtemp(folder))
      vkh_die("cannot make a folder in %s: %s", parent ? parent : "/tmp", strerror(errno));
   return folder;
}

static int
remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
   return remove(path);
}

static int
run_parent(struct scenario *scenario, const struct options *options)
{
   char *folder = make_folder();
   unsigned differences = 0, ran = 0;
   int ended_by = 0;

   scenario_compile(scenario, folder);
   for (unsigned kind = 0; kind < SCENARIO_KIND_COUNT; kind++) {
      bool skipped = false;
      if (options->only_kind == SCENARIO_KIND_COUNT ? !scenario->kinds[kind]
                                                    : options->only_kind != kind)
         continue;
      if (options->child_only) {
         const struct scenario_child child = {"child", kind, getenv("GPUVAL"), true,
                                              .preload = options->preload};
         const int status = scenario_run_child(scenario, folder, &child);
         if (WIFSIGNALED(status) && scenario->finish >= SCENARIO_FINISH_ABORT)
            ended_by = WTERMSIG(status);
         skipped = WIFEXITED(status) && WEXITSTATUS(status) == VKH_EXIT_SKIP;
         if (!skipped)
            differences += !scenario_check_status(scenario, folder, &child, status);
      } else if (options->beside) {
         differences += run_beside(scenario, folder, kind, options, &skipped);
      } else if (options->combinations) {
         const struct scenario_child child = {
            .kind = kind,
            .shared_cache = true,
            .in_order = true,
            .preload = options->preload,
         };
         differences += scenario_combine(scenario, folder, &child, options->combinations,
                                         options->pair_limit, &skipped);
      } else {
         differences += run_kind(scenario, folder, kind, ran == 0, options, &skipped);
      }
      ran += !skipped;
      /* How pipelines are made has nothing to do with which checks are on. */
      if (options->combinations || options->brief)
         break;
   }

   if (options->keep)
      printf("kept %s\n", folder);
   else
      nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
   free(folder);
   if (ended_by)
      raise(ended_by); /* Whoever has started this sees how the program ended. */
   if (differences)
      return 1;
   return ran ? 0 : VKH_EXIT_SKIP;
}

/* Returns what this program would exit with for this file. */
static int
run_file(const char *file, const struct options *options)
{
   struct scenario *scenario = scenario_read(file);
   char *folder = make_folder();
   unsigned differences = 0, ran = 0;

   scenario_compile(scenario, folder);
   for (unsigned kind = 0; kind < SCENARIO_KIND_COUNT; kind++) {
      if (!scenario->kinds[kind])
         continue;
      const struct scenario_child child = {"child", kind, getenv("GPUVAL"), true};
      const int status = scenario_run_child(scenario, folder, &child);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != VKH_EXIT_SKIP) {
         differences += !scenario_check_status(scenario, folder, &child, status);
         ran++;
      }
      if (options->brief)
         break;
   }
   nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
   free(folder);
   return differences ? 1 : ran ? 0 : VKH_EXIT_SKIP;
}

static int
run_each(const struct options *options)
{
   scenario_load_driver(NULL, NULL);
   for (int i = 0; i < options->each_count; i++) {
      const int status = run_file(options->each[i], options);
      printf("\ngpuval-scenario: %s %d\n", options->each[i], status);
   }
   return 0;
}

static void
usage(void)
{
   fprintf(
      stderr,
      "usage: gpuval-scenario [--brief] [--child-only] [--keep] [--kind KIND] [--checks LIST] "
      "[--preload LIBRARY] [--beside ICD] [--combinations N|pairs|even-pairs|odd-pairs] FILE.scn | "
      "--each FILE.scn... | --list-checks\n");
   exit(VKH_EXIT_ERROR);
}

static struct options
parse_options(int count, char **arguments)
{
   struct options options = {
      .only_kind = SCENARIO_KIND_COUNT,
      .preload = getenv("GPUVAL_TEST_PRELOAD"),
      .brief = getenv("GPUVAL_TEST_BRIEF") && !getenv("GPUVAL_TEST_ALL_KINDS"),
   };

   for (int i = 1; i < count; i++) {
      const char *argument = arguments[i];
      const bool has_value = i + 1 < count;
      if (strcmp(argument, "--brief") == 0) {
         options.brief = true;
      } else if (strcmp(argument, "--child-only") == 0) {
         options.child_only = true;
      } else if (strcmp(argument, "--each") == 0 && has_value) {
         options.each = arguments + i + 1;
         options.each_count = count - i - 1;
         return options;
      } else if (strcmp(argument, "--keep") == 0) {
         options.keep = true;
      } else if (strcmp(argument, "--child-checks") == 0) {
         options.child_checks = true;
      } else if (strcmp(argument, "--child-folder") == 0 && has_value) {
         options.child_folder = arguments[++i];
      } else if (strcmp(argument, "--child-name") == 0 && has_value) {
         options.child_name = arguments[++i];
      } else if (strcmp(argument, "--preload") == 0 && has_value) {
         options.preload = arguments[++i];
      } else if (strcmp(argument, "--beside") == 0 && has_value) {
         options.beside = arguments[++i];
      } else if (strcmp(argument, "--list-checks") == 0) {
         options.list_checks = true;
      } else if (strcmp(argument, "--checks") == 0 && has_value) {
         options.checks = arguments[++i];
      } else if (strcmp(argument, "--combinations") == 0 && has_value) {
         static const char *const pairs[] = {"pairs", "even-pairs", "odd-pairs"};

         options.combinations = SCENARIO_COMBINED;
         options.pair_limit = (unsigned)strtoul(arguments[++i], NULL, 0);
         for (unsigned half = 0; half < sizeof(pairs) / sizeof(pairs[0]); half++) {
            if (strcmp(arguments[i], pairs[half]) == 0) {
               options.combinations = SCENARIO_PAIRS;
               options.pair_limit = half;
            }
         }
      } else if (strcmp(argument, "--kind") == 0 && has_value) {
         options.only_kind = scenario_find_kind(arguments[++i]);
         if (options.only_kind == SCENARIO_KIND_COUNT)
            usage();
      } else if (argument[0] == '-' || options.file) {
         usage();
      } else {
         options.file = argument;
      }
   }
   if (options.list_checks)
      return options;
   if (!options.file || !options.child_folder != !options.child_name)
      usage();
   return options;
}

int
main(int count, char **arguments)
{
   const struct options options = parse_options(count, arguments);
   if (options.list_checks) {
      char *checks = scenario_checks_text(scenario_combined_checks());
      for (char *comma = checks; (comma = strchr(comma, ','));)
         *comma = '\n';
      puts(checks);
      return 0;
   }
   if (options.each)
      return run_each(&options);
   struct scenario *scenario = scenario_read(options.file);

   if (options.checks)
      scenario->checks = options.checks;
   if (options.child_folder) {
      scenario_begin_process();
      return scenario_run(scenario, options.child_folder, options.child_name, options.only_kind,
                          options.child_checks);
   }
   if (!options.child_only)
      scenario_load_driver(options.preload, arguments);
   return run_parent(scenario, &options);
}
