/* SPDX-License-Identifier: MIT */

/*
 * Processes that run the program of a scenario, and what they leave.
 */

#include "scenario_process.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "vk_headless.h"

void
scenario_print_file(const char *folder, const char *name, const char *ending)
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

/* What a test says of all its runs, and what it is for the driver, with checks on */
static const struct {
   const char *name;
   const char *to; /* NULL: for the program */
} kept_variables[] = {
   {"GPUVAL_TEST_NO_RESULTS", NULL},
   {"GPUVAL_TEST_BREADCRUMBS", "GPUVAL_BREADCRUMBS"},
   {"GPUVAL_TEST_SYNC", "GPUVAL_SYNC"},
   {"GPUVAL_TEST_SHADOW_SIZE", "GPUVAL_SHADOW_SIZE"},
};

#define KEPT_COUNT (sizeof(kept_variables) / sizeof(kept_variables[0]))

static bool
is_kept(const char *variable)
{
   for (unsigned i = 0; i < KEPT_COUNT; i++) {
      const size_t length = strlen(kept_variables[i].name);
      if (strncmp(variable, kept_variables[i].name, length) == 0 && variable[length] == '=')
         return true;
   }
   return false;
}

static void
clear_environment(void)
{
   extern char **environ;
   for (unsigned i = 0; environ[i];) {
      if (strncmp(environ[i], "GPUVAL", 6) == 0 && !is_kept(environ[i])) {
         char *name = scenario_format("%.*s", (int)strcspn(environ[i], "="), environ[i]);
         unsetenv(name);
         free(name);
      } else {
         i++;
      }
   }
   unsetenv("GITHUB_ACTIONS"); /* would make annotations */
}

static void
set_environment(const struct scenario *scenario, const char *folder,
                const struct scenario_child *child)
{
   clear_environment();

   /* One cache for all runs of a scenario: what was compiled without checks
    * must not be taken with checks on, nor the other way round.
    */
   char *path = scenario_format("%s/cache", folder);
   if (!child->shared_cache)
      setenv("MESA_SHADER_CACHE_DIR", path, 1);
   free(path);
   if (child->in_order)
      setenv("LP_NUM_THREADS", "0", 1);
   if (!child->checks)
      return;

   setenv("GPUVAL", child->checks, 1);
   setenv("GPUVAL_HANG_TIME", "0", 1); /* a machine may be busy */
   path = scenario_format("%s/%s.jsonl", folder, child->name);
   setenv("GPUVAL_REPORT", path, 1);
   free(path);
   path = scenario_format("%s/%s.log", folder, child->name);
   setenv("GPUVAL_LOG", path, 1);
   free(path);
   for (unsigned i = 0; i < KEPT_COUNT; i++) {
      const char *value = kept_variables[i].to ? getenv(kept_variables[i].name) : NULL;
      if (value)
         setenv(kept_variables[i].to, value, 1);
   }
   for (unsigned i = 0; i < scenario->env_count; i++)
      setenv(scenario->env[i].key, scenario->env[i].value, 1);
}

/* What a copy of this process has from the beginning: the driver, and a library that was preloaded */
static struct {
   bool driver;
   const char *library;
} loaded;

static bool
is_text(const char *text, const char *other)
{
   return text && other ? strcmp(text, other) == 0 : text == other;
}

void
scenario_load_driver(const char *preload, char **arguments)
{
   const char *driver = getenv("GPUVAL_TEST_DRIVER");
   const char *preloaded = getenv("GPUVAL_TEST_PRELOADED");

   if (!driver || !*driver)
      return;
   if (preload && !is_text(preload, preloaded)) {
      setenv("GPUVAL_TEST_PRELOADED", preload, 1);
      setenv("LD_PRELOAD", preload, 1);
      execv("/proc/self/exe", arguments);
      vkh_die("execv: %s", strerror(errno));
   }
   if (preload)
      unsetenv("LD_PRELOAD"); /* not for the compiler of shaders */
   if (!dlopen(driver, RTLD_NOW | RTLD_LOCAL))
      vkh_die("%s", dlerror());
   loaded.driver = true;
   loaded.library = preload;
}

/* An application's own handler */
static void
say_signal(int number)
{
   static const char text[] = "the application has a signal\n";
   (void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
}

void
scenario_begin_process(void)
{
   /* As many applications do, but scenarios have numbers with a point. */
   if (getenv("GPUVAL_TEST_LOCALE"))
      setlocale(LC_ALL, "");
   if (getenv("GPUVAL_TEST_SIGNALS"))
      signal(SIGUSR1, say_signal);
}

/* A copy of this process does not have to load the driver, which takes longer than most programs. */
static bool
is_copied(const struct scenario_child *child)
{
   return loaded.driver && !child->icd && is_text(child->preload, loaded.library);
}

/* What has been loaded before there was this copy cleans up after itself, LLVM for the most part,
 * which takes up to a quarter of a process's time. Programs that are no copies do so.
 */
static void
leave(int status, void *data)
{
   fflush(NULL);
   _exit(status);
}

static void
begin_child(const struct scenario *scenario, const char *folder, const struct scenario_child *child)
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
   /* abort() is what some scenarios are about. */
   setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
   if (is_copied(child)) {
      on_exit(leave, NULL);
      scenario_begin_process();
      exit(scenario_run(scenario, folder, child->name, child->kind, child->checks));
   }

   if (child->preload)
      setenv("LD_PRELOAD", child->preload, 1);
   if (child->icd) {
      setenv("VK_DRIVER_FILES", child->icd, 1);
      setenv("VK_ICD_FILENAMES", child->icd, 1);
   }
   execv("/proc/self/exe", (char *const *)arguments);
   _exit(VKH_EXIT_ERROR);
}

int
scenario_run_child(const struct scenario *scenario, const char *folder,
                   const struct scenario_child *child)
{
   int status;

   fflush(stdout);
   const pid_t pid = fork();
   if (pid < 0)
      vkh_die("fork: %s", strerror(errno));
   if (pid == 0)
      begin_child(scenario, folder, child);
   while (waitpid(pid, &status, 0) < 0) {
      if (errno != EINTR)
         vkh_die("waitpid: %s", strerror(errno));
   }
   return status;
}

/* What gallivm says of instructions that it does not know: it leaves them out and goes on. */
static bool
has_unsupported(const char *folder, const struct scenario_child *child)
{
   if (child->inherit)
      return false;

   char *path = scenario_format("%s/%s.out", folder, child->name);
   FILE *file = fopen(path, "r");
   char *line = NULL;
   size_t size = 0;
   bool found = false;
   while (file && !found && getline(&line, &size, file) >= 0)
      found = strstr(line, "Unsupported intrinsic");
   free(line);
   if (file)
      fclose(file);
   free(path);
   return found;
}

bool
scenario_check_status(const struct scenario *scenario, const char *folder,
                      const struct scenario_child *child, int status)
{
   const bool aborts =
      scenario->finish == SCENARIO_FINISH_ABORT || scenario->finish == SCENARIO_FINISH_ABORT_FENCE;
   if ((aborts ? WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT
               : WIFEXITED(status) && WEXITSTATUS(status) == 0) &&
       !has_unsupported(folder, child))
      return true;

   scenario_print_file(folder, child->name, "out");
   scenario_print_file(folder, child->name, "log");
   if (WIFSIGNALED(status))
      printf("%s: the program was killed by signal %d (%s)\n", scenario->path, WTERMSIG(status),
             child->name);
   else
      printf("%s: the program exited with %d (%s)\n", scenario->path, WEXITSTATUS(status),
             child->name);
   return false;
}

/* Both dumps have the same resources in the same order. */
unsigned
scenario_compare_dumps(const struct scenario *scenario, const char *folder, const char *first,
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

/* What a failing program leaves is open, and so is what races leave. */
bool
scenario_dumps_are_comparable(const struct scenario *scenario, uint32_t checks)
{
   for (unsigned i = 0; i < scenario->expect_count; i++) {
      if (scenario_expect_applies(&scenario->expects[i], checks))
         return false;
   }
   return !scenario->any_results && !scenario_allowed(scenario, checks) &&
          scenario->finish == SCENARIO_FINISH_DESTROY;
}
