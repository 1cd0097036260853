/* SPDX-License-Identifier: MIT */

/*
 * gpuval-soak: random programs under the sync check, and whether each access is
 * reported that has to be, exactly as often, and no other.
 *
 *    gpuval-soak [--engine NAME] [--features NAME,...] [--threads] [--checks LIST]
 *                [--with-each] [--programs N] [--first SEED] [--print]
 *
 * What an engine of sync promises is in the table of engines below: one that is exact
 * has to agree with the model both ways; another must never report what is right, and
 * find a part of what is wrong. --features: what programs consist of beside what they
 * always do, all by default but for `commands`, `draws` and `transfers`; with `shared`
 * the check of that name is on as well.
 * --threads: lavapipe has its threads. Who comes second is open then, so that only
 * programs run that are right in any order, and nothing must be reported. --checks: with
 * other checks on as well, which have nothing to say; --with-each: the same with each
 * other check in turn, and with all. --print prints the program of --first.
 *
 * Programs run in processes of their own, many in each, since a report is written
 * at the end of a process. Where one differs from the answer, halves of it are run
 * again until one program is left whose seed can be printed.
 */

#include "soak.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "json.h"
#include "vk_headless.h"

#define CHUNK 1000 /* programs a process; flags are for so many */

struct engine {
   const char *name; /* of GPUVAL_SYNC */
   bool exact;
   unsigned finds; /* at least so many percent */
};

/* Most of what the filter misses here are stores of parts of words, and what comes after
 * atomics and memory barriers (docs/sync.rst, "The filter").
 */
static const struct engine engines[] = {
   {"shadow", true, 100},
   {"bloom", false, 25},
   /* Another GPU by cells, where a mark may be lost to one of the same moment */
   {"gpu", false, 97},
};

static const struct {
   const char *name;
   unsigned features;
} feature_names[] = {
   {"none", 0},
   {"widths", SOAK_WIDTHS},
   {"straddling", SOAK_STRADDLING},
   {"phases", SOAK_PHASES},
   {"subgroups", SOAK_SUBGROUPS},
   {"release", SOAK_RELEASE},
   {"scopes", SOAK_SCOPES},
   {"several", SOAK_SEVERAL},
   {"shared", SOAK_SHARED},
   {"images", SOAK_IMAGES},
   {"more", SOAK_MORE},
   {"commands", SOAK_COMMANDS},
   {"draws", SOAK_DRAWS},
   {"transfers", SOAK_TRANSFERS},
   {"all", SOAK_ALL_FEATURES},
};

static struct {
   const struct engine *engine;
   unsigned features;
   unsigned subgroup;
   bool threads;   /* clean programs, which are in any order */
   bool any_order; /* those that race as well, if each race is with a step before */
   const char *checks;
   char folder[32];
} run = {
   .engine = &engines[0],
   .features = SOAK_ALL_FEATURES,
   .checks = "sync",
   .folder = "/tmp/gpuval-soak-XXXXXX",
};

/* --- Counts --------------------------------------------------------------- */

/* By the shader, and the site in it */
struct counts {
   uint64_t by_site[SOAK_SHADERS][SOAK_VARIANTS][SOAK_MAX_SITES];
   uint64_t elsewhere; /* reports that are of no site */
   uint64_t lost;
};

static const char *const kinds[] = {
   [SOAK_LOAD] = "read-after-write",
   [SOAK_STORE] = "write-after-access",
   [SOAK_ATOMIC] = "atomic-conflict",
};

static enum soak_type
site_type(unsigned site)
{
   const enum soak_type type = soak_ops[site / 2].type;

   if (type == SOAK_LOAD_STORE)
      return site % 2 ? SOAK_STORE : SOAK_LOAD;
   if (type == SOAK_STORE_LOAD)
      return site % 2 ? SOAK_LOAD : SOAK_STORE;
   return type;
}

static const char *
get_check(unsigned site)
{
   return soak_ops[site / 2].memory == SOAK_BUFFER ? "sync" : "shared";
}

/* Of a command, whose op is all that a report says of it: whichever program's it is */
static uint64_t *
find_command_count(struct counts *counts, const struct json *report, const char *kind)
{
   static const struct {
      const char *op, *access;
      enum soak_command command;
   } commands[] = {
      {"fill_buffer", "transfer_write", SOAK_FILL},
      {"update_buffer", "transfer_write", SOAK_UPDATE},
      {"copy_buffer", "transfer_write", SOAK_COPY_TO},
      {"copy_query_pool_results", "transfer_write", SOAK_COPY_RESULTS},
      {"copy_buffer", "transfer_read", SOAK_COPY_FROM},
      {"draw_indexed", "index", SOAK_FETCH_INDICES},
      {"draw", "attribute", SOAK_FETCH_ATTRIBUTES},
      {"draw_indirect_count", "indirect", SOAK_FETCH_COUNT},
      {"draw_indirect", "indirect", SOAK_FETCH_ARGUMENTS},
      {"end_transform_feedback_ext", "transfer_write", SOAK_CAPTURE},
      {"clear_color_image", "clear", SOAK_IMAGE_CLEAR},
      {"begin_rendering", "attachment_write", SOAK_IMAGE_RENDER},
      {"begin_rendering", "attachment_read", SOAK_IMAGE_RENDER_LOAD},
      {"pipeline_barrier", "store", SOAK_IMAGE_LAYOUT},
      {"copy_buffer_to_image", "transfer_write", SOAK_IMAGE_COPY_TO},
      {"blit_image", "transfer_write", SOAK_IMAGE_BLIT_TO},
      {"copy_image_to_buffer", "transfer_read", SOAK_IMAGE_COPY_FROM},
   };

   for (unsigned i = 0; i < VKH_COUNT(commands); i++) {
      const bool writes = strcmp(commands[i].access, "transfer_write") == 0 ||
                          strcmp(commands[i].access, "attachment_write") == 0 ||
                          strcmp(commands[i].access, "store") == 0 ||
                          strcmp(commands[i].access, "clear") == 0;
      if (strcmp(json_get_string(report, "command.op", ""), commands[i].op) == 0 &&
          strcmp(json_get_string(report, "access.op", ""), commands[i].access) == 0 &&
          strcmp(kind, strcmp(commands[i].access, "indirect") == 0
                          ? "indirect-after-write"
                          : kinds[writes ? SOAK_STORE : SOAK_LOAD]) == 0)
         return &counts->by_site[0][0][SOAK_COMMAND_SITE(commands[i].command)];
   }
   /* The same command for two of ours: the kind tells. */
   if (strcmp(json_get_string(report, "access.op", ""), "counter") == 0 &&
       strcmp(json_get_string(report, "command.op", ""), "begin_transform_feedback_ext") == 0 &&
       strcmp(kind, kinds[SOAK_LOAD]) == 0)
      return &counts->by_site[0][0][SOAK_COMMAND_SITE(SOAK_COUNTER_LOAD)];
   if (strcmp(json_get_string(report, "access.op", ""), "counter") == 0 &&
       strcmp(json_get_string(report, "command.op", ""), "end_transform_feedback_ext") == 0 &&
       strcmp(kind, kinds[SOAK_STORE]) == 0)
      return &counts->by_site[0][0][SOAK_COMMAND_SITE(SOAK_COUNTER_STORE)];
   return &counts->elsewhere;
}

/* Of a dispatch that is one of enum soak_command; NULL: of another one */
static uint64_t *
find_texel_count(struct counts *counts, const char *name, const char *kind)
{
   if (strcmp(name, "image_load") == 0 && strcmp(kind, kinds[SOAK_LOAD]) == 0)
      return &counts->by_site[0][0][SOAK_COMMAND_SITE(SOAK_IMAGE_LOAD)];
   if (strcmp(name, "image_store") == 0 && strcmp(kind, kinds[SOAK_STORE]) == 0)
      return &counts->by_site[0][0][SOAK_COMMAND_SITE(SOAK_IMAGE_STORE)];
   return NULL;
}

/* `name`: of the shader, or NULL: the report says it */
static uint64_t *
find_count(struct counts *counts, const struct json *report, const char *name)
{
   const int64_t line = json_get_integer(report, "source.line", 0) - SOAK_FIRST_LINE;
   const int64_t site = line / SOAK_OP_LINES * 2 + line % SOAK_OP_LINES;

   if (!json_get(report, "shader"))
      return find_command_count(counts, report, json_get_string(report, "kind", ""));
   if (!name)
      name = json_get_string(report, "shader.name", "");
   uint64_t *texel = find_texel_count(counts, name, json_get_string(report, "kind", ""));
   if (texel)
      return texel;
   if (line < 0 || line % SOAK_OP_LINES > 1 || site >= 2 * soak_op_count ||
       strcmp(json_get_string(report, "check", ""), get_check((unsigned)site)) ||
       strcmp(json_get_string(report, "kind", ""), kinds[site_type((unsigned)site)]))
      return &counts->elsewhere;
   for (unsigned i = 0; i < SOAK_SHADERS * SOAK_VARIANTS; i++) {
      const unsigned shader = i / SOAK_VARIANTS, variant = i % SOAK_VARIANTS;
      if (soak_shader_name(shader, variant) && !strcmp(name, soak_shader_name(shader, variant)))
         return &counts->by_site[shader][variant][site];
   }
   return &counts->elsewhere;
}

static void
read_report(const char *path, const char *shader, struct counts *counts)
{
   char *text = vkh_read_file(path, NULL), *rest = text, *line, error[160];
   bool has_summary = false;

   *counts = (struct counts){0};
   while ((line = strsep(&rest, "\n")) && *line) {
      struct json *report = json_parse(line, strlen(line), error, sizeof(error));
      if (!report)
         vkh_die("%s: %s", path, error);
      if (!json_get(report, "summary"))
         *find_count(counts, report, shader) += (uint64_t)json_get_integer(report, "count", 0);
      else
         counts->lost = (uint64_t)json_get_integer(report, "summary.lost", -1);
      has_summary |= json_get(report, "summary") != NULL;
      json_free(report);
   }
   free(text);
   if (!has_summary)
      vkh_die("%s has no summary", path);
}

static void
get_answer(const struct soak_program *programs, uint64_t count, struct counts *expected)
{
   struct soak_model *model = soak_model_create(run.features, run.subgroup);

   *expected = (struct counts){0};
   for (uint64_t i = 0; i < count; i++) {
      const struct soak_program *program = &programs[i];
      uint64_t counts[SOAK_SHADERS][SOAK_MAX_SITES] = {0};
      bool any_order = false; /* is known */
      for (unsigned j = 0; j < program->step_count; j++) {
         soak_model_step(model, program, &program->steps[j], counts, &any_order);
         soak_model_separate(model, &program->steps[j], counts);
      }
      for (unsigned j = 0; j < SOAK_SHADERS * SOAK_MAX_SITES; j++) {
         const unsigned shader = j / SOAK_MAX_SITES, site = j % SOAK_MAX_SITES;
         /* Reports of commands name no shader. */
         const unsigned variant = site < SOAK_COMMAND_SITE(0) ? soak_variant(program, shader) : 0;
         expected->by_site[shader][variant][site] += counts[shader][site];
      }
   }
   soak_model_destroy(model);
}

/* --- Processes ------------------------------------------------------------ */

static void
write_programs(const struct soak_program *programs, uint64_t count, const char *path)
{
   FILE *file = fopen(path, "wb");
   if (!file || fwrite(programs, sizeof(*programs), count, file) != count || fclose(file) != 0)
      vkh_die("cannot write %s", path);
}

static void
exec_child(const char *programs, const char *report, const char *log)
{
   char checks[64];

   snprintf(checks, sizeof(checks), "%s%s", run.checks,
            run.features & SOAK_SHARED ? ",shared" : "");
   setenv("GPUVAL", checks, 1);
   setenv("GPUVAL_SYNC", run.engine->name, 1);
   setenv("GPUVAL_REPORT", report, 1);
   setenv("GPUVAL_LOG", log, 1);
   unsetenv("GPUVAL_BLOOM_SIZE_LOG2");
   unsetenv("GPUVAL_BLOOM_HASHES");
   if (run.threads)
      unsetenv("LP_NUM_THREADS");
   else
      setenv("LP_NUM_THREADS", "0", 1);
   execl("/proc/self/exe", "gpuval-soak", "--child", programs, NULL);
   _exit(VKH_EXIT_ERROR);
}

/* What a process reports that runs these programs */
static void
run_child(const struct soak_program *programs, uint64_t count, struct counts *counts)
{
   char program_path[64], report[64], log[64];
   int status;

   snprintf(program_path, sizeof(program_path), "%s/programs", run.folder);
   snprintf(report, sizeof(report), "%s/report.jsonl", run.folder);
   snprintf(log, sizeof(log), "%s/log", run.folder);
   unlink(report);
   write_programs(programs, count, program_path);

   const pid_t child = fork();
   if (child == 0)
      exec_child(program_path, report, log);
   if (child < 0 || waitpid(child, &status, 0) != child)
      vkh_die("cannot start a process: %s", strerror(errno));
   if (!WIFEXITED(status) || WEXITSTATUS(status)) {
      printf("seeds %" PRIu64 " to %" PRIu64 ": the process %s %d\n", programs[0].seed,
             programs[count - 1].seed, WIFEXITED(status) ? "exited with" : "was ended by signal",
             WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
      exit(WIFEXITED(status) ? WEXITSTATUS(status) : VKH_EXIT_ERROR);
   }
   read_report(report, NULL, counts);
}

static int
run_in_child(const char *path)
{
   size_t size;
   struct soak_program *programs = vkh_read_file(path, &size);
   soak_run(programs, size / sizeof(*programs));
   free(programs);
   return 0;
}

/* --- Verdicts ------------------------------------------------------------- */

/* The engine has done what it promises; *@missed becomes what it did not report. */
static bool
is_right(const struct counts *expected, const struct counts *got, uint64_t *missed)
{
   const uint64_t *expected_counts = &expected->by_site[0][0][0];
   const uint64_t *got_counts = &got->by_site[0][0][0];
   bool right = !got->elsewhere && !got->lost;

   *missed = 0;
   for (unsigned i = 0; i < SOAK_SHADERS * SOAK_VARIANTS * SOAK_MAX_SITES; i++) {
      right &= got_counts[i] <= expected_counts[i];
      right &= got_counts[i] == expected_counts[i] || !run.engine->exact;
      if (got_counts[i] < expected_counts[i])
         *missed += expected_counts[i] - got_counts[i];
   }
   return right;
}

static bool
check(const struct soak_program *programs, uint64_t count, struct counts *expected,
      struct counts *got, uint64_t *missed)
{
   get_answer(programs, count, expected);
   run_child(programs, count, got);
   return is_right(expected, got, missed);
}

static void
print_difference(const struct soak_program *programs, uint64_t count, const struct counts *expected,
                 const struct counts *got)
{
   if (count == 1) {
      printf("seed %" PRIu64 ":\n", programs[0].seed);
      soak_print(&programs[0]);
   } else {
      printf("seeds %" PRIu64 " to %" PRIu64 " together:\n", programs[0].seed,
             programs[count - 1].seed);
   }
   for (unsigned i = 0; i < SOAK_SHADERS * SOAK_VARIANTS * SOAK_MAX_SITES; i++) {
      const unsigned shader = i / SOAK_MAX_SITES, site = i % SOAK_MAX_SITES;
      const uint64_t a = (&expected->by_site[0][0][0])[i], b = (&got->by_site[0][0][0])[i];
      if (a != b && site >= SOAK_COMMAND_SITE(0))
         printf("   command %u: expected %" PRIu64 " times, reported %" PRIu64 " times\n",
                site - SOAK_COMMAND_SITE(0), a, b);
      else if (a != b)
         printf("   %s of \"%s\" in %s: expected %" PRIu64 " times, reported %" PRIu64 " times\n",
                kinds[site_type(site)], soak_ops[site / 2].name,
                soak_shader_name(shader / SOAK_VARIANTS, shader % SOAK_VARIANTS), a, b);
   }
   if (got->elsewhere)
      printf("   reported elsewhere: %" PRIu64 " times\n", got->elsewhere);
   if (got->lost)
      printf("   records lost: %" PRIu64 "\n", got->lost);
}

/* These programs are wrong: prints one of them, or the fewest that are. */
static void
print_wrong(const struct soak_program *programs, uint64_t count, struct counts *expected,
            struct counts *got)
{
   struct counts half_expected, half_got;
   uint64_t missed;

   while (count > 1) {
      const uint64_t half = count / 2;

      if (!check(programs, half, &half_expected, &half_got, &missed)) {
         count = half;
      } else if (!check(programs + half, count - half, &half_expected, &half_got, &missed)) {
         programs += half;
         count -= half;
      } else {
         break;
      }
      *expected = half_expected;
      *got = half_got;
   }
   print_difference(programs, count, expected, got);
}

static uint64_t
sum(const struct counts *counts)
{
   uint64_t total = 0;
   for (unsigned i = 0; i < SOAK_SHADERS * SOAK_VARIANTS * SOAK_MAX_SITES; i++)
      total += (&counts->by_site[0][0][0])[i];
   return total;
}

/* Fills in programs of the seeds from *@seed on that suit this run. */
static void
generate(uint64_t *seed, struct soak_program *programs, uint64_t count)
{
   for (uint64_t i = 0; i < count; (*seed)++) {
      soak_generate(*seed, run.features, run.subgroup, &programs[i]);
      i += (!run.threads && !run.any_order) ||
           (programs[i].any_order && (programs[i].clean || !run.threads));
   }
}

static int
print_result(uint64_t count, uint64_t occurrences, uint64_t missed)
{
   int wrong = 0;

   printf("%s, %s: %" PRIu64 " programs, %" PRIu64 " accesses that had to be reported, %" PRIu64
          " missed\n",
          run.engine->name, run.checks, count, occurrences, missed);
   if (100 * (occurrences - missed) < run.engine->finds * occurrences) {
      printf("less than %u %% are found\n", run.engine->finds);
      wrong++;
   }
   if (!run.threads && !occurrences) {
      printf("nothing had to be reported\n");
      wrong++;
   }
   return wrong;
}

static int
run_all(uint64_t seed, uint64_t count)
{
   static struct soak_program programs[CHUNK];
   struct counts expected, got;
   uint64_t occurrences = 0, missed = 0;
   unsigned wrong = 0;

   for (uint64_t done = 0; done < count; done += CHUNK) {
      const uint64_t chunk = count - done < CHUNK ? count - done : CHUNK;
      uint64_t missed_here;

      generate(&seed, programs, chunk);
      const bool right = check(programs, chunk, &expected, &got, &missed_here);
      occurrences += sum(&expected);
      missed += missed_here;
      if (!right) {
         wrong++;
         print_wrong(programs, chunk, &expected, &got);
      }
   }
   wrong += print_result(count, occurrences, missed);
   return wrong != 0;
}

/* --- What anygpu runs ----------------------------------------------------- */

static struct soak_program *
generate_all(uint64_t seed, uint64_t count)
{
   struct soak_program *programs = vkh_calloc(count, sizeof(*programs));
   generate(&seed, programs, count);
   return programs;
}

static int
write_sequences(const char *folder, uint64_t seed, uint64_t count)
{
   /* anygpu binds buffers, and nothing else, and has one kind of barrier. */
   if (run.features &
       (SOAK_SCOPES | SOAK_IMAGES | SOAK_MORE | SOAK_COMMANDS | SOAK_DRAWS | SOAK_TRANSFERS))
      vkh_die("anygpu runs no programs with the features \"scopes\", \"images\", \"more\", "
              "\"commands\", \"draws\", \"transfers\"");

   struct soak_program *programs = generate_all(seed, count);

   soak_write_sequences(programs, count, folder);
   free(programs);
   return 0;
}

static void
add_counts(struct counts *to, const struct counts *from)
{
   for (unsigned i = 0; i < SOAK_SHADERS * SOAK_VARIANTS * SOAK_MAX_SITES; i++)
      (&to->by_site[0][0][0])[i] += (&from->by_site[0][0][0])[i];
   to->elsewhere += from->elsewhere;
   to->lost += from->lost;
}

/* Of a shader there are two only: of programs that are clean, and of others. */
static void
join_variants(struct counts *counts)
{
   for (unsigned barriers = 0; barriers < 2; barriers++) {
      for (unsigned variant = 0; variant < SOAK_VARIANTS; variant++) {
         const unsigned first = variant / (SOAK_VARIANTS / 2) * (SOAK_VARIANTS / 2);
         for (unsigned site = 0; variant != first && site < SOAK_MAX_SITES; site++) {
            uint64_t *from = &counts->by_site[barriers][variant][site];
            counts->by_site[barriers][first][site] += *from;
            *from = 0;
         }
      }
   }
}

/* Shaders have no names there: each has run in a process of its own. */
static void
read_reports(const char *folder, struct counts *all)
{
   *all = (struct counts){0};
   for (unsigned i = 0; i < SOAK_SHADERS * SOAK_VARIANTS; i++) {
      const enum soak_shader shader = i / SOAK_VARIANTS;
      const char *name = soak_shader_name(shader, i % SOAK_VARIANTS);
      struct counts counts;
      char path[256];
      if (!name)
         continue;
      snprintf(path, sizeof(path), "%s/%s.jsonl", folder, name);
      if (access(path, F_OK) != 0)
         continue;
      read_report(path, name, &counts);
      add_counts(all, &counts);
   }
}

static int
judge(const char *folder, uint64_t seed, uint64_t count)
{
   struct soak_program *programs = generate_all(seed, count);
   struct counts expected, got;
   uint64_t missed;

   get_answer(programs, count, &expected);
   join_variants(&expected);
   read_reports(folder, &got);
   int wrong = !is_right(&expected, &got, &missed);
   if (wrong || missed)
      print_difference(programs, count, &expected, &got);
   wrong += print_result(count, sum(&expected), missed);
   free(programs);
   return wrong != 0;
}

/* Beside sync each check that there is, and all of them */
static int
run_with_each(uint64_t seed, uint64_t count)
{
   static const char *const others[] = {
      "assume", "printf", "bounds", "descriptor", "address", "indirect", "vertex",
      "ray",    "export", "shared", "race",       "init",    "all",
   };
   int result = 0;

   for (unsigned i = 0; i < VKH_COUNT(others); i++) {
      char checks[32];
      snprintf(checks, sizeof(checks), "sync,%s", others[i]);
      run.checks = checks;
      result |= run_all(seed + i * count, count);
   }
   return result;
}

static void
create_folder(void)
{
   if (!mkdtemp(run.folder))
      vkh_die("%s: %s", run.folder, strerror(errno));
}

static void
remove_folder(void)
{
   static const char *const names[] = {"programs", "report.jsonl", "log"};

   for (unsigned i = 0; i < VKH_COUNT(names); i++) {
      char path[64];
      snprintf(path, sizeof(path), "%s/%s", run.folder, names[i]);
      unlink(path);
   }
   rmdir(run.folder);
}

/* --- Options -------------------------------------------------------------- */

static const struct option long_options[] = {
   {"engine", required_argument, NULL, 'e'},
   {"features", required_argument, NULL, 'F'},
   {"threads", no_argument, NULL, 't'},
   {"checks", required_argument, NULL, 'k'},
   {"programs", required_argument, NULL, 'n'},
   {"first", required_argument, NULL, 'f'},
   {"print", no_argument, NULL, 'p'},
   {"with-each", no_argument, NULL, 'w'},
   {"any-order", no_argument, NULL, 'a'},
   {"subgroup", required_argument, NULL, 's'},
   {"write-sequences", required_argument, NULL, 'W'},
   {"judge", required_argument, NULL, 'j'},
   {"child", required_argument, NULL, 'c'}, /* between parent and child */
   {0},
};

static const struct engine *
find_engine(const char *name)
{
   for (unsigned i = 0; i < VKH_COUNT(engines); i++) {
      if (strcmp(engines[i].name, name) == 0)
         return &engines[i];
   }
   vkh_die("%s is no engine", name);
}

static unsigned
read_features(char *names)
{
   unsigned features = 0;
   char *name;

   while ((name = strsep(&names, ","))) {
      unsigned i = 0;
      while (i < VKH_COUNT(feature_names) && strcmp(feature_names[i].name, name) != 0)
         i++;
      if (i == VKH_COUNT(feature_names))
         vkh_die("%s is no feature", name);
      features |= feature_names[i].features;
   }
   return features;
}

int
main(int argc, char **argv)
{
   uint64_t first = 1, count = 10000;
   bool print = false, with_each = false;
   const char *sequences = NULL, *reports = NULL;
   int option;

   while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
      switch (option) {
      case 'e':
         run.engine = find_engine(optarg);
         break;
      case 'F':
         run.features = read_features(optarg);
         break;
      case 't':
         run.threads = true;
         break;
      case 'k':
         run.checks = optarg;
         break;
      case 'n':
         count = strtoull(optarg, NULL, 0);
         break;
      case 'f':
         first = strtoull(optarg, NULL, 0);
         break;
      case 'p':
         print = true;
         break;
      case 'w':
         with_each = true;
         break;
      case 'a':
         run.any_order = true;
         break;
      case 's':
         run.subgroup = (unsigned)strtoul(optarg, NULL, 0);
         break;
      case 'W':
         sequences = optarg;
         break;
      case 'j':
         reports = optarg;
         break;
      case 'c':
         return run_in_child(optarg);
      default:
         return VKH_EXIT_ERROR;
      }
   }

   if (!run.subgroup)
      run.subgroup = soak_subgroup_size();
   if (print) {
      struct soak_program program;
      soak_generate(first, run.features, run.subgroup, &program);
      soak_print(&program);
      return 0;
   }
   if (sequences)
      return write_sequences(sequences, first, count);
   if (reports)
      return judge(reports, first, count);
   create_folder();
   const int result = with_each ? run_with_each(first, count) : run_all(first, count);
   remove_folder();
   return result;
}
