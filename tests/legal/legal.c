/* SPDX-License-Identifier: MIT */

/*
 * gpuval-legal: random legal programs, with and without checks. A program that ends the
 * process, about which anything is reported, or whose results are not those without checks,
 * fails.
 *
 *    gpuval-legal [--seed N] [--programs N] [--checks SET] [--features LIST] [--chunk N]
 *                 [--only-create LIST] [--no-validate] [--keep FOLDER] [--print]
 *
 * --seed: the first one; --programs: how many, 100 by default. --checks: a set of checks of the
 * table below (`each`: all of them in turn; `rotate`, the default: basic, all, and two others,
 * which change from chunk to chunk), or what GPUVAL may be. May be given more than once.
 * --features: what programs consist of, by the names below, or with `no-` in front of a name.
 * --only-create: programs with these features make their pipelines and do not run.
 * --chunk: programs of a process. --no-validate: spirv-val does not look at the modules.
 * --keep: modules and reports stay in that folder. --print prints the programs.
 *
 * Programs run in processes of their own, many in each. What ends a process is known by its
 * seed, since results are written as they come; the programs behind it run in another one.
 * Reports are known by names: whatever a program makes is called "seed N".
 */

#include "legal.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "gpuval_checks.h"
#include "json.h"

#define MAX_CHUNK 1000
#define MAX_SETS  64
#define HANGS_S   120 /* of one program: no timing, but the end of waiting */

/* A way to run programs */
struct check_set {
   const char *name;
   const char *checks;       /* GPUVAL; NULL: no checks */
   const char *variables[2]; /* NAME=VALUE */
};

static const struct check_set no_checks = {"none", NULL, {NULL}};

/* Beside each check alone */
static const struct check_set special_sets[] = {
   {"basic", "basic", {NULL}},
   {"all", "all", {NULL}},
   {"all-unsafe", "all", {"GPUVAL_SAFE=0"}},
   {"all-bloom", "all", {"GPUVAL_SYNC=bloom"}},
   {"all-poison", "all", {"GPUVAL_POISON=1"}},
   {"all-serial", "all", {"LP_NUM_THREADS=0"}},
   {"sync-bloom", "sync", {"GPUVAL_SYNC=bloom"}},
};
#define FIRST_ROTATING 2

static const struct {
   const char *name;
   uint32_t features;
} feature_names[] = {
   {"libraries", LEGAL_LIBRARIES},
   {"objects", LEGAL_SHADER_OBJECTS},
   {"binaries", LEGAL_PIPELINE_BINARIES},
   {"descriptor-buffers", LEGAL_DESCRIPTOR_BUFFERS},
   {"push-descriptors", LEGAL_PUSH_DESCRIPTORS},
   {"mesh", LEGAL_MESH_SHADERS},
   {"graphics", LEGAL_GRAPHICS},
   {"tessellation", LEGAL_TESSELLATION},
   {"mutable", LEGAL_MUTABLE},
   {"interlock", LEGAL_INTERLOCK},
   {"input-attachments", LEGAL_INPUT_ATTACHMENTS},
   {"ray-pipelines", LEGAL_RAY_PIPELINES},
   {"ray-queries", LEGAL_RAY_QUERIES},
};

static struct {
   struct check_set sets[MAX_SETS];
   unsigned set_count;
   bool rotate;
   uint32_t features, only_create;
   bool validate;
   char folder[256];
   uint64_t programs, executions, validated;
   unsigned failures;
} run = {
   .features = LEGAL_ALL,
   .validate = true,
   .folder = "/tmp/gpuval-legal-XXXXXX",
};

/* What became of a program */
struct result {
   bool done;
   uint64_t hash;
};

/* --- In a process --------------------------------------------------------- */

static void
run_in_child(uint64_t first, uint64_t count, const char *path, const char *dump)
{
   struct legal_device *device = legal_device_create(run.features);
   FILE *file = fopen(path, "a");

   if (!file)
      vkh_die("cannot write %s", path);
   for (uint64_t seed = first; seed < first + count; seed++) {
      struct legal_program program;
      alarm(HANGS_S);
      legal_generate(seed, device->features, &program);
      fprintf(file, "%" PRIu64 " %016" PRIx64 "\n", seed,
              legal_run(device, &program, run.only_create, dump));
      fflush(file);
   }
   fclose(file);
   legal_device_destroy(device);
}

static void
set_environment(const struct check_set *set, const char *report, const char *log)
{
   static const char *const names[] = {
      "GPUVAL_SAFE",     "GPUVAL_SYNC",    "GPUVAL_POISON",       "GPUVAL_STRICT",
      "GPUVAL_ON_ERROR", "GPUVAL_SHADERS", "GPUVAL_SUPPRESSIONS",
   };

   for (unsigned i = 0; i < VKH_COUNT(names); i++)
      unsetenv(names[i]);
   /* What lies on disk is another test's business. */
   setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
   if (!set->checks) {
      unsetenv("GPUVAL");
      return;
   }
   setenv("GPUVAL", set->checks, 1);
   setenv("GPUVAL_REPORT", report, 1);
   setenv("GPUVAL_LOG", log, 1);
   for (unsigned i = 0; i < VKH_COUNT(set->variables) && set->variables[i]; i++)
      putenv((char *)set->variables[i]);
}

/* --- Processes ------------------------------------------------------------ */

static void
fail(const char *format, ...)
{
   va_list args;

   va_start(args, format);
   vprintf(format, args);
   va_end(args);
   printf("\n");
   fflush(stdout);
   run.failures++;
}

static void
read_results(const char *path, uint64_t first, uint64_t count, struct result *results)
{
   FILE *file = fopen(path, "r");
   uint64_t seed, hash;

   while (file && fscanf(file, "%" SCNu64 " %" SCNx64, &seed, &hash) == 2) {
      if (seed >= first && seed < first + count)
         results[seed - first] = (struct result){true, hash};
   }
   if (file)
      fclose(file);
}

/* Returns the exit status of a process that runs these programs. */
static int
start_child(const struct check_set *set, uint64_t first, uint64_t count, const char *results,
            const char *report, const char *dump)
{
   char first_text[32], count_text[32], features[32], created[32], log[300];
   int status;

   snprintf(first_text, sizeof(first_text), "%" PRIu64, first);
   snprintf(count_text, sizeof(count_text), "%" PRIu64, count);
   snprintf(features, sizeof(features), "%u", run.features);
   snprintf(created, sizeof(created), "%u", run.only_create);
   snprintf(log, sizeof(log), "%s/log", run.folder);
   fflush(stdout);
   const pid_t child = fork();
   if (child == 0) {
      set_environment(set, report, log);
      execl("/proc/self/exe", "gpuval-legal", "--child", features, created, first_text, count_text,
            results, dump ? dump : "", NULL);
      _exit(VKH_EXIT_ERROR);
   }
   if (child < 0 || waitpid(child, &status, 0) != child)
      vkh_die("cannot start a process: %s", strerror(errno));
   return status;
}

/* The seed in the name of whatever a report is about; 0 if there is none */
static uint64_t
find_seed(const char *line)
{
   const char *name = strstr(line, "\"seed ");
   return name ? strtoull(name + 6, NULL, 10) : 0;
}

/* Whatever is reported, is wrong. */
static void
read_report(const struct check_set *set, const char *path, bool ended, uint64_t first,
            uint64_t count)
{
   FILE *file = fopen(path, "r");
   char *line = NULL, error[160];
   size_t capacity = 0;
   bool has_summary = false;

   while (file && getline(&line, &capacity, file) > 0) {
      struct json *report = json_parse(line, strlen(line), error, sizeof(error));
      if (!report) {
         fail("seeds %" PRIu64 " to %" PRIu64 ", %s: a line of the report: %s", first,
              first + count - 1, set->name, error);
         continue;
      }
      if (!json_get(report, "summary"))
         fail("seed %" PRIu64 ", %s: reported %s/%s: %s", find_seed(line), set->name,
              json_get_string(report, "check", "?"), json_get_string(report, "kind", "?"),
              json_get_string(report, "message", "?"));
      else if (json_get_integer(report, "summary.lost", -1) != 0)
         fail("seeds %" PRIu64 " to %" PRIu64 ", %s: records were lost", first, first + count - 1,
              set->name);
      has_summary |= json_get(report, "summary") != NULL;
      json_free(report);
   }
   free(line);
   if (file)
      fclose(file);
   if (!has_summary && ended)
      fail("seeds %" PRIu64 " to %" PRIu64 ", %s: the report has no summary", first,
           first + count - 1, set->name);
}

static void
say_how_it_ended(const struct check_set *set, uint64_t seed, int status)
{
   if (WIFSIGNALED(status))
      fail("seed %" PRIu64 ", %s: the process was ended by signal %d (%s)", seed, set->name,
           WTERMSIG(status), strsignal(WTERMSIG(status)));
   else
      fail("seed %" PRIu64 ", %s: the process exited with %d", seed, set->name,
           WEXITSTATUS(status));
}

/* Runs programs, in another process behind each one that ends a process. */
static void
run_programs(const struct check_set *set, uint64_t first, uint64_t count, struct result *results,
             const char *dump)
{
   char path[300], report[300];
   uint64_t done = 0;

   snprintf(path, sizeof(path), "%s/results", run.folder);
   snprintf(report, sizeof(report), "%s/report.jsonl", run.folder);
   memset(results, 0, count * sizeof(*results));
   while (done < count) {
      const uint64_t begin = done;
      unlink(path);
      unlink(report);
      const int status = start_child(set, first + begin, count - begin, path, report, dump);
      read_results(path, first, count, results);
      while (done < count && results[done].done)
         done++;
      const bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      if (WIFEXITED(status) && WEXITSTATUS(status) == VKH_EXIT_SKIP && done == 0)
         exit(VKH_EXIT_SKIP);
      if (set->checks)
         read_report(set, report, ended, first + begin, done - begin);
      run.executions += done - begin;
      if (ended)
         return;
      if (done == count) {
         fail("seeds %" PRIu64 " to %" PRIu64 ", %s: at the end of the process:", first,
              first + count - 1, set->name);
         say_how_it_ended(set, first + count - 1, status);
         return;
      }
      say_how_it_ended(set, first + done, status);
      done++;
   }
}

/* --- spirv-val ------------------------------------------------------------ */

/* That of Debian 13 asks all entry points of a module for the modes that a mesh shader among them
 * has for its own outputs.
 */
static bool
is_its_error(const char *line)
{
   return strstr(line, "IndicesEXT decoration must be used with the Output");
}

static void
validate(const char *path, const char *name)
{
   char command[800], line[1000];
   bool is_known = false;

   snprintf(command, sizeof(command),
            "spirv-val --target-env vulkan1.3 --uniform-buffer-standard-layout '%s' 2>&1", path);
   fflush(stdout);
   FILE *output = popen(command, "r");
   if (!output)
      vkh_die("cannot start a process: %s", strerror(errno));
   while (fgets(line, sizeof(line), output)) {
      is_known |= is_its_error(line);
      if (!is_known)
         fputs(line, stdout);
   }
   const int status = pclose(output);
   if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
      vkh_skip("there is no spirv-val");
   if (status && !is_known)
      fail("%s: spirv-val does not like it", name);
   run.validated++;
}

/* Validates the modules that are in the folder, and removes them unless they shall stay. */
static void
validate_all(const char *folder, bool keep)
{
   DIR *dir = opendir(folder);
   struct dirent *entry;
   char path[600];

   while (dir && (entry = readdir(dir))) {
      if (!strstr(entry->d_name, ".spv"))
         continue;
      snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
      if (run.validate)
         validate(path, entry->d_name);
      if (!keep)
         unlink(path);
   }
   if (dir)
      closedir(dir);
}

/* --- Chunks --------------------------------------------------------------- */

static void
compare(const struct check_set *set, uint64_t first, uint64_t count, const struct result *expected,
        const struct result *got)
{
   for (uint64_t i = 0; i < count; i++) {
      if (expected[i].done && got[i].done && expected[i].hash != got[i].hash)
         fail("seed %" PRIu64 ", %s: other results than without checks", first + i, set->name);
   }
}

static void
run_chunk(uint64_t first, uint64_t count, unsigned number, bool keep)
{
   static struct result expected[MAX_CHUNK], got[MAX_CHUNK];

   run_programs(&no_checks, first, count, expected, run.folder);
   validate_all(run.folder, keep);
   const unsigned rotating = run.set_count - FIRST_ROTATING;
   for (unsigned i = 0; i < run.set_count; i++) {
      const bool turn = i < FIRST_ROTATING || i - FIRST_ROTATING == 2 * number % rotating ||
                        i - FIRST_ROTATING == (2 * number + 1) % rotating;
      if (run.rotate && !turn)
         continue;
      run_programs(&run.sets[i], first, count, got, NULL);
      compare(&run.sets[i], first, count, expected, got);
   }
   run.programs += count;
}

static void
remove_folder(void)
{
   static const char *const names[] = {"results", "report.jsonl", "log"};

   for (unsigned i = 0; i < VKH_COUNT(names); i++) {
      char path[300];
      snprintf(path, sizeof(path), "%s/%s", run.folder, names[i]);
      unlink(path);
   }
   rmdir(run.folder);
}

/* --- Options -------------------------------------------------------------- */

static void
add_set(struct check_set set)
{
   if (run.set_count == MAX_SETS)
      vkh_die("too many sets of checks");
   run.sets[run.set_count++] = set;
}

static void
add_all_sets(void)
{
   const uint32_t all = gpuval_checks_from_name("all", strlen("all"));

   for (unsigned i = 0; i < VKH_COUNT(special_sets); i++)
      add_set(special_sets[i]);
   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      const struct gpuval_check_info *info = &gpuval_check_infos[i];
      if (all & 1u << i)
         add_set((struct check_set){info->name, info->name, {NULL}});
   }
}

static void
add_checks(const char *name)
{
   if (strcmp(name, "each") == 0) {
      add_all_sets();
      return;
   }
   for (unsigned i = 0; i < VKH_COUNT(special_sets); i++) {
      if (strcmp(special_sets[i].name, name) == 0) {
         add_set(special_sets[i]);
         return;
      }
   }
   add_set((struct check_set){name, name, {NULL}});
}

static uint32_t
read_features(char *names)
{
   uint32_t with = 0, without = 0;
   char *name;

   while ((name = strsep(&names, ","))) {
      const bool no = strncmp(name, "no-", 3) == 0;
      unsigned i = 0;
      while (i < VKH_COUNT(feature_names) &&
             strcmp(feature_names[i].name, name + (no ? 3 : 0)) != 0)
         i++;
      if (i == VKH_COUNT(feature_names) && strcmp(name, "none") != 0)
         vkh_die("%s is no feature", name);
      if (i < VKH_COUNT(feature_names))
         *(no ? &without : &with) |= feature_names[i].features;
   }
   return (without && !with ? LEGAL_ALL : with) & ~without;
}

static const struct option long_options[] = {
   {"seed", required_argument, NULL, 's'},   {"programs", required_argument, NULL, 'n'},
   {"checks", required_argument, NULL, 'k'}, {"features", required_argument, NULL, 'F'},
   {"chunk", required_argument, NULL, 'c'},  {"only-create", required_argument, NULL, 'o'},
   {"no-validate", no_argument, NULL, 'v'},  {"keep", required_argument, NULL, 'K'},
   {"print", no_argument, NULL, 'p'},        {0},
};

static void
print_programs(uint64_t first, uint64_t count)
{
   struct legal_device *device = legal_device_create(run.features);
   for (uint64_t seed = first; seed < first + count; seed++) {
      struct legal_program program;
      legal_generate(seed, device->features, &program);
      printf("seed %" PRIu64 ":\n", seed);
      legal_print(&program);
   }
   legal_device_destroy(device);
}

int
main(int argc, char **argv)
{
   uint64_t first = 1, count = 100, chunk = 25;
   bool print = false, keep = false;
   int option;

   if (argc == 8 && strcmp(argv[1], "--child") == 0) {
      run.features = (uint32_t)strtoul(argv[2], NULL, 10);
      run.only_create = (uint32_t)strtoul(argv[3], NULL, 10);
      run_in_child(strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10), argv[6],
                   *argv[7] ? argv[7] : NULL);
      return 0;
   }
   while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
      switch (option) {
      case 's':
         first = strtoull(optarg, NULL, 10);
         break;
      case 'n':
         count = strtoull(optarg, NULL, 10);
         break;
      case 'c':
         chunk = strtoull(optarg, NULL, 10);
         break;
      case 'k':
         if (strcmp(optarg, "rotate") != 0)
            add_checks(optarg);
         break;
      case 'F':
         run.features = read_features(optarg);
         break;
      case 'o':
         run.only_create = read_features(optarg);
         break;
      case 'v':
         run.validate = false;
         break;
      case 'K':
         keep = true;
         snprintf(run.folder, sizeof(run.folder), "%s", optarg);
         break;
      case 'p':
         print = true;
         break;
      default:
         return VKH_EXIT_ERROR;
      }
   }
   if (chunk < 1 || chunk > MAX_CHUNK)
      vkh_die("a chunk has 1 to %u programs", MAX_CHUNK);
   if (print) {
      print_programs(first, count);
      return 0;
   }
   if (!run.set_count) {
      run.rotate = true;
      add_all_sets();
   }
   if (keep ? mkdir(run.folder, 0777) != 0 && errno != EEXIST : !mkdtemp(run.folder))
      vkh_die("%s: %s", run.folder, strerror(errno));
   for (uint64_t done = 0; done < count; done += chunk)
      run_chunk(first + done, count - done < chunk ? count - done : chunk, (unsigned)(done / chunk),
                keep);
   if (!keep)
      remove_folder();
   printf("%" PRIu64 " programs, %" PRIu64 " executions, %" PRIu64
          " modules validated: %u failures\n",
          run.programs, run.executions, run.validated, run.failures);
   return run.failures != 0;
}
