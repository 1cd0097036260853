/* SPDX-License-Identifier: MIT */

/*
 * Runs a scenario file: compiles its shaders, runs its program in processes of
 * their own with checks off and on, and compares reports, logs and memory.
 *
 *    gpuval-scenario [--child-only] [--keep] [--kind KIND] [--preload LIBRARY]
 *                    [--beside ICD] FILE.scn
 *
 * --child-only runs the program only, in the environment as it is, and says
 * nothing about reports; --keep leaves the temporary folder; --kind runs one
 * kind of pipeline instead of those the file names. --preload preloads a library
 * (LD_PRELOAD) for the program. --beside runs the program without checks on this
 * driver, and on the one of another ICD file without the library, and compares
 * the memory that both leave. Exits with 0, with 1 for differences, with
 * VKH_EXIT_SKIP or with VKH_EXIT_ERROR.
 */

#include "scenario.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "vk_headless.h"

struct options {
   const char *file;
   bool child_only;
   bool keep;
   enum scenario_kind only_kind; /* SCENARIO_KIND_COUNT: all of the file's */
   const char *preload;          /* or NULL */
   const char *beside;           /* ICD file of another driver, or NULL */

   /* How this program calls itself. */
   const char *child_folder;
   const char *child_name;
   bool child_checks;
};

/* One process. */
struct child {
   const char *name; /* of its files in the folder */
   enum scenario_kind kind;
   bool checks;
   bool inherit;        /* the environment, as it is */
   const char *preload; /* a library, or NULL */
   const char *icd;     /* ICD file instead of the environment's, or NULL */
};

/* --- Files ---------------------------------------------------------------- */

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

static void
write_text(const char *path, const char *text)
{
   FILE *file = fopen(path, "w");
   if (!file || fputs(text, file) < 0 || fclose(file) != 0)
      vkh_die("cannot write %s", path);
}

static void
print_file(const char *folder, const char *name, const char *ending)
{
   char *path = scenario_format("%s/%s.%s", folder, name, ending);
   FILE *file = fopen(path, "r");
   int c;
   while (file && (c = fgetc(file)) != EOF)
      putchar(c);
   if (file)
      fclose(file);
   free(path);
}

/* --- Compilers ------------------------------------------------------------ */

static const char *
tool(const char *variable, const char *fallback)
{
   const char *value = getenv(variable);
   return value && *value ? value : fallback;
}

/* Where the result of @command for @text is kept for other runs, or NULL. Most of the
 * time of the tests would go into compiling the same shaders.
 */
static char *
cache_path(const char *command, const char *text)
{
   const char *folder = getenv("GPUVAL_TEST_SPIRV_CACHE");
   if (!folder || (mkdir(folder, 0777) != 0 && errno != EEXIST))
      return NULL;

   uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
   for (const char *c = command; *c; c++)
      hash = (hash ^ (uint8_t)*c) * 0x100000001b3u;
   for (const char *c = text; *c; c++)
      hash = (hash ^ (uint8_t)*c) * 0x100000001b3u;
   return scenario_format("%s/%016" PRIx64 ".spv", folder, hash);
}

static bool
run_command(const char *format, ...)
{
   va_list args;
   char command[4096];

   va_start(args, format);
   int length = vsnprintf(command, sizeof(command), format, args);
   va_end(args);
   return length < (int)sizeof(command) && system(command) == 0;
}

/* In the folder, so that debug info has the bare file name. */
static void
compile_section(const struct scenario *scenario, const char *folder,
                const struct scenario_section *section)
{
   char *path = scenario_format("%s/%s", folder, section->file);
   write_text(path, section->text);
   free(path);

   char *command =
      section->assembly
         ? scenario_format("%s --target-env vulkan1.3 --preserve-numeric-ids -o '%s.spv' '%s'",
                           tool("SPIRV_AS", "spirv-as"), section->name, section->file)
         : scenario_format("%s -V %s --target-env vulkan1.3 -o '%s.spv' '%s'",
                           tool("GLSLANG_VALIDATOR", "glslangValidator"), scenario->glslang_flags,
                           section->name, section->file);
   char *cached = cache_path(command, section->text);

   if (!cached || access(cached, R_OK) != 0 ||
       !run_command("cp '%s' '%s/%s.spv'", cached, folder, section->name)) {
      if (!run_command("cd '%s' && %s >compiler.out 2>&1", folder, command)) {
         print_file(folder, "compiler", "out");
         vkh_die("%s: the shader %s does not compile", scenario->path, section->name);
      }
      /* Others may be at it, too. */
      if (cached)
         run_command("cp '%s/%s.spv' '%s.%d' && mv '%s.%d' '%s'", folder, section->name, cached,
                     (int)getpid(), cached, (int)getpid(), cached);
   }
   free(cached);
   free(command);
}

/* The ready-made vertex shader only where a pipeline asks for it. */
static bool
section_is_used(const struct scenario *scenario, const struct scenario_section *section)
{
   if (strcmp(section->name, "full_screen") != 0)
      return true;
   for (unsigned i = 0; i < scenario->statement_count; i++) {
      for (unsigned j = 1; j < scenario->statements[i].word_count; j++) {
         if (strcmp(scenario->statements[i].words[j], section->name) == 0)
            return true;
      }
   }
   return false;
}

/* --- Children ------------------------------------------------------------- */

static void
clear_environment(void)
{
   extern char **environ;
   for (unsigned i = 0; environ[i];) {
      if (strncmp(environ[i], "GPUVAL", 6) == 0) {
         char *name = scenario_format("%.*s", (int)strcspn(environ[i], "="), environ[i]);
         unsetenv(name);
         free(name);
      } else {
         i++;
      }
   }
}

static void
set_environment(const struct scenario *scenario, const char *folder, const struct child *child)
{
   clear_environment();

   /* One cache for all runs of a scenario: what was compiled without checks
    * must not be taken with checks on, nor the other way round.
    */
   char *path = scenario_format("%s/cache", folder);
   setenv("MESA_SHADER_CACHE_DIR", path, 1);
   free(path);
   if (!child->checks)
      return;

   setenv("GPUVAL", scenario->checks, 1);
   path = scenario_format("%s/%s.jsonl", folder, child->name);
   setenv("GPUVAL_REPORT", path, 1);
   free(path);
   path = scenario_format("%s/%s.log", folder, child->name);
   setenv("GPUVAL_LOG", path, 1);
   free(path);
   for (unsigned i = 0; i < scenario->env_count; i++)
      setenv(scenario->env[i].key, scenario->env[i].value, 1);
}

static void
exec_child(const struct scenario *scenario, const char *folder, const struct child *child)
{
   char *output = scenario_format("%s/%s.out", folder, child->name);
   const char *arguments[] = {
      "gpuval-scenario",
      "--child-folder",
      folder,
      "--child-name",
      child->name,
      "--kind",
      scenario_kind_name(child->kind),
      child->checks ? "--child-checks" : scenario->path,
      child->checks ? scenario->path : NULL,
      NULL,
   };

   if (!child->inherit) {
      set_environment(scenario, folder, child);
      if (!freopen(output, "w", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
         _exit(VKH_EXIT_ERROR);
   }
   if (child->preload)
      setenv("LD_PRELOAD", child->preload, 1);
   if (child->icd) {
      setenv("VK_DRIVER_FILES", child->icd, 1);
      setenv("VK_ICD_FILENAMES", child->icd, 1);
   }
   /* abort() is what some scenarios are about. */
   setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
   execv("/proc/self/exe", (char *const *)arguments);
   _exit(VKH_EXIT_ERROR);
}

/* Returns the status of waitpid(). */
static int
run_child(const struct scenario *scenario, const char *folder, const struct child *child)
{
   int status;

   fflush(stdout);
   const pid_t pid = fork();
   if (pid < 0)
      vkh_die("fork: %s", strerror(errno));
   if (pid == 0)
      exec_child(scenario, folder, child);
   while (waitpid(pid, &status, 0) < 0) {
      if (errno != EINTR)
         vkh_die("waitpid: %s", strerror(errno));
   }
   return status;
}

/* Returns false, after saying why, when the program did not end as it should. */
static bool
check_status(const struct scenario *scenario, const char *folder, const struct child *child,
             int status)
{
   const bool aborts =
      scenario->finish == SCENARIO_FINISH_ABORT || scenario->finish == SCENARIO_FINISH_ABORT_FENCE;
   if (aborts ? WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT
              : WIFEXITED(status) && WEXITSTATUS(status) == 0)
      return true;

   print_file(folder, child->name, "out");
   print_file(folder, child->name, "log");
   if (WIFSIGNALED(status))
      printf("%s: the program was killed by signal %d (%s)\n", scenario->path, WTERMSIG(status),
             child->name);
   else
      printf("%s: the program exited with %d (%s)\n", scenario->path, WEXITSTATUS(status),
             child->name);
   return false;
}

/* --- Results -------------------------------------------------------------- */

/* Finds the resource and the byte that differ; both dumps have the same
 * resources in the same order.
 */
static unsigned
compare_dumps(const struct scenario *scenario, const char *folder, const char *first,
              const char *second)
{
   char *path[] = {
      scenario_format("%s/%s.dump", folder, first),
      scenario_format("%s/%s.dump", folder, second),
   };
   size_t size[2];
   char *data[2];
   for (unsigned i = 0; i < 2; i++)
      data[i] = vkh_read_file(path[i], &size[i]);

   unsigned differences = size[0] != size[1];
   for (size_t at = 0; at < size[0] && !differences;) {
      char name[64];
      size_t bytes;
      int header = 0;
      if (sscanf(data[0] + at, "%63s %zu%n", name, &bytes, &header) != 2)
         vkh_die("%s is damaged", path[0]);
      at += (size_t)header + 1;
      for (size_t i = 0; i < bytes && !differences; i++) {
         if (data[0][at + i] != data[1][at + i]) {
            printf("%s: %s differs at byte %zu: 0x%02x (%s), 0x%02x (%s)\n", scenario->path, name,
                   i, (uint8_t)data[0][at + i], first, (uint8_t)data[1][at + i], second);
            differences = 1;
         }
      }
      at += bytes;
   }
   for (unsigned i = 0; i < 2; i++) {
      free(data[i]);
      free(path[i]);
   }
   return differences;
}

static bool
dumps_are_comparable(const struct scenario *scenario)
{
   return scenario->expect_count == 0 && !scenario->any_results &&
          scenario->finish == SCENARIO_FINISH_DESTROY;
}

/* Off, on, and on once more, when the shader caches are warm. Returns the
 * number of differences; skips when the first run does.
 */
static unsigned
run_kind(struct scenario *scenario, const char *folder, enum scenario_kind kind,
         const struct options *options, bool *skipped)
{
   const char *kind_name = scenario_kind_name(kind);
   struct child children[] = {
      {scenario_format("%s-off", kind_name), kind, false, .preload = options->preload},
      {scenario_format("%s-on", kind_name), kind, true, .preload = options->preload},
      {scenario_format("%s-again", kind_name), kind, true, .preload = options->preload},
   };
   unsigned differences = 0;

   for (unsigned i = scenario->once ? 1 : 0; i < (scenario->once ? 2 : 3); i++) {
      const int status = run_child(scenario, folder, &children[i]);
      if (WIFEXITED(status) && WEXITSTATUS(status) == VKH_EXIT_SKIP) {
         print_file(folder, children[i].name, "out");
         *skipped = true;
         return differences;
      }
      if (!check_status(scenario, folder, &children[i], status))
         return differences + 1;
      if (!children[i].checks)
         continue;

      const unsigned found = scenario_compare(scenario, folder, children[i].name, kind);
      if (found)
         printf("%s: %u differences (%s)\n", scenario->path, found, children[i].name);
      differences += found;
      if (!scenario->once && dumps_are_comparable(scenario))
         differences += compare_dumps(scenario, folder, children[0].name, children[i].name);
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
   struct child children[] = {
      {scenario_format("%s-here", kind_name), kind, .preload = options->preload},
      {scenario_format("%s-there", kind_name), kind, .icd = options->beside},
   };
   unsigned differences = 0;

   for (unsigned i = 0; i < VKH_COUNT(children) && !*skipped && !differences; i++) {
      const int status = run_child(scenario, folder, &children[i]);
      if (WIFEXITED(status) && WEXITSTATUS(status) == VKH_EXIT_SKIP) {
         print_file(folder, children[i].name, "out");
         *skipped = true;
      } else if (!check_status(scenario, folder, &children[i], status)) {
         differences = 1;
      }
   }
   if (!*skipped && !differences && dumps_are_comparable(scenario))
      differences = compare_dumps(scenario, folder, children[0].name, children[1].name);
   for (unsigned i = 0; i < VKH_COUNT(children); i++)
      free((char *)children[i].name);
   return differences;
}

/* --- Program -------------------------------------------------------------- */

static int
run_parent(struct scenario *scenario, const struct options *options)
{
   char *folder = make_folder();
   unsigned differences = 0, ran = 0;

   for (unsigned i = 0; i < scenario->section_count; i++) {
      if (section_is_used(scenario, &scenario->sections[i]))
         compile_section(scenario, folder, &scenario->sections[i]);
   }
   for (unsigned kind = 0; kind < SCENARIO_KIND_COUNT; kind++) {
      bool skipped = false;
      if (options->only_kind == SCENARIO_KIND_COUNT ? !scenario->kinds[kind]
                                                    : options->only_kind != kind)
         continue;
      if (options->child_only) {
         const struct child child = {"child", kind, getenv("GPUVAL") != NULL, true,
                                     .preload = options->preload};
         const int status = run_child(scenario, folder, &child);
         skipped = WIFEXITED(status) && WEXITSTATUS(status) == VKH_EXIT_SKIP;
         if (!skipped)
            differences += !check_status(scenario, folder, &child, status);
      } else if (options->beside) {
         differences += run_beside(scenario, folder, kind, options, &skipped);
      } else {
         differences += run_kind(scenario, folder, kind, options, &skipped);
      }
      ran += !skipped;
   }

   if (options->keep)
      printf("kept %s\n", folder);
   else
      nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
   free(folder);
   if (differences)
      return 1;
   return ran ? 0 : VKH_EXIT_SKIP;
}

static void
usage(void)
{
   fprintf(stderr, "usage: gpuval-scenario [--child-only] [--keep] [--kind KIND] "
                   "[--preload LIBRARY] [--beside ICD] FILE.scn\n");
   exit(VKH_EXIT_ERROR);
}

static struct options
parse_options(int count, char **arguments)
{
   struct options options = {.only_kind = SCENARIO_KIND_COUNT};

   for (int i = 1; i < count; i++) {
      const char *argument = arguments[i];
      const bool has_value = i + 1 < count;
      if (strcmp(argument, "--child-only") == 0) {
         options.child_only = true;
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
   if (!options.file || !options.child_folder != !options.child_name)
      usage();
   return options;
}

int
main(int count, char **arguments)
{
   const struct options options = parse_options(count, arguments);
   struct scenario *scenario = scenario_read(options.file);

   if (options.child_folder)
      return scenario_run(scenario, options.child_folder, options.child_name, options.only_kind,
                          options.child_checks);
   return run_parent(scenario, &options);
}
