/* SPDX-License-Identifier: MIT */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_run.h"
#include "vk_headless.h"

#define DEFAULT_ROUNDS 5
#define QUICK_ROUNDS   2

/* What docs/sync.rst recommends where time is short */
#define FEW_HASHES "4"

static void
print_help(void)
{
   printf("usage: gpuval-bench [options]\n"
          "\n"
          "Measures what checks cost, in wall-clock time: each workload with checks off\n"
          "and on, in turn, with shaders on one thread and on all. The driver is the one in\n"
          "GPUVAL_BENCH_ICD (an ICD's JSON file), else the loader's first.\n"
          "\n"
          "  --checks LIST  value of GPUVAL on the side with checks (%s; in the\n"
          "                 section shader: %s, in sync: %s)\n"
          "  --section NAME checks, shader or sync alone\n"
          "  --threads N    one or all alone\n"
          "  --only LIST    workloads to run, separated by commas\n"
          "  --list         lists the workloads\n"
          "  --rounds N     rounds to take medians of, at least (%d; up to %d where\n"
          "                 they are fast, %d where they take minutes)\n"
          "  --quick        %d rounds, hardly more: for a look, not for a verdict\n"
          "  --noise        checks off on both sides: how far from 1 is chance?\n"
          "  --gpu-av, --no-gpu-av\n"
          "                 whether the GPU-assisted validation of " BENCH_LAYER " is run, too\n"
          "                 (where it is installed, but for --quick and --noise)\n"
          "  --bloom-size-log2 N, --bloom-hashes N\n"
          "                 for the column bloom of the section sync\n"
          "  --json FILE    writes the results to a file, too\n",
          bench_default_checks[BENCH_SECTION_CHECKS], bench_default_checks[BENCH_SECTION_SHADER],
          bench_default_checks[BENCH_SECTION_SYNC], DEFAULT_ROUNDS, BENCH_MAX_ROUNDS,
          BENCH_FEW_ROUNDS, QUICK_ROUNDS);
}

static void
print_list(void)
{
   for (unsigned i = 0; i < bench_workload_count; i++)
      printf("%-15s %s\n", bench_workloads[i].name, bench_workloads[i].description);
}

const struct bench_workload *
bench_find_workload(const char *name)
{
   for (unsigned i = 0; i < bench_workload_count; i++) {
      if (!strcmp(bench_workloads[i].name, name))
         return &bench_workloads[i];
   }
   return NULL;
}

bool
bench_is_listed(const char *list, const char *name)
{
   const size_t length = strlen(name);

   while (*list) {
      const size_t item = strcspn(list, ",");

      if (item == length && !strncmp(list, name, length))
         return true;
      list += item + (list[item] == ',');
   }
   return false;
}

/* Every name in `--only` must be one. */
static bool
valid_only(const char *list)
{
   char name[64];

   while (*list) {
      const size_t item = strcspn(list, ",");

      snprintf(name, sizeof(name), "%.*s", (int)item, list);
      if (!bench_find_workload(name)) {
         fprintf(stderr, "error: no workload is called \"%s\"; --list lists them\n", name);
         return false;
      }
      list += item + (list[item] == ',');
   }
   return true;
}

static bool
parse_rounds(const char *text, unsigned *rounds)
{
   char *end;
   const unsigned long number = strtoul(text, &end, 10);

   *rounds = number;
   if (end != text && !*end && number && number <= BENCH_MAX_ROUNDS)
      return true;
   fprintf(stderr, "error: --rounds takes a number from 1 to %d\n", BENCH_MAX_ROUNDS);
   return false;
}

/* Sets the place of one of @count names. */
static bool
parse_name(const char *option, const char *text, const char *const *names, unsigned count,
           unsigned *number)
{
   for (*number = 0; *number < count; (*number)++) {
      if (!strcmp(text, names[*number]))
         return true;
   }
   fprintf(stderr, "error: --%s takes one of:", option);
   for (unsigned i = 0; i < count; i++)
      fprintf(stderr, " %s", names[i]);
   fprintf(stderr, "\n");
   return false;
}

enum option_value {
   OPTION_HELP = 'h',
   OPTION_CHECKS = 256,
   OPTION_ROUNDS,
   OPTION_QUICK,
   OPTION_ONLY,
   OPTION_SECTION,
   OPTION_THREADS,
   OPTION_BLOOM_SIZE_LOG2,
   OPTION_BLOOM_HASHES,
   OPTION_LIST,
   OPTION_JSON,
   OPTION_GPU_AV,
   OPTION_NO_GPU_AV,
   OPTION_NOISE,
   OPTION_WORKER,
   OPTION_TIME_LIMIT,
   OPTION_BY_HAND,
};

static const struct option long_options[] = {
   {"help", no_argument, NULL, OPTION_HELP},
   {"checks", required_argument, NULL, OPTION_CHECKS},
   {"rounds", required_argument, NULL, OPTION_ROUNDS},
   {"quick", no_argument, NULL, OPTION_QUICK},
   {"only", required_argument, NULL, OPTION_ONLY},
   {"section", required_argument, NULL, OPTION_SECTION},
   {"threads", required_argument, NULL, OPTION_THREADS},
   {"bloom-size-log2", required_argument, NULL, OPTION_BLOOM_SIZE_LOG2},
   {"bloom-hashes", required_argument, NULL, OPTION_BLOOM_HASHES},
   {"list", no_argument, NULL, OPTION_LIST},
   {"json", required_argument, NULL, OPTION_JSON},
   {"gpu-av", no_argument, NULL, OPTION_GPU_AV},
   {"no-gpu-av", no_argument, NULL, OPTION_NO_GPU_AV},
   {"noise", no_argument, NULL, OPTION_NOISE},
   /* Between parent and worker */
   {"worker", required_argument, NULL, OPTION_WORKER},
   {"time-limit", required_argument, NULL, OPTION_TIME_LIMIT},
   {"by-hand", no_argument, NULL, OPTION_BY_HAND},
   {0},
};

int
bench_parse_options(int argc, char **argv, struct bench_options *options)
{
   int option;

   *options = (struct bench_options){
      .section = BENCH_SECTION_COUNT,
      .threads = BENCH_THREADS_COUNT,
      .bloom_hashes = FEW_HASHES,
   };
   while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
      bool good = true;

      switch (option) {
      case OPTION_HELP:
         print_help();
         return 0;
      case OPTION_LIST:
         print_list();
         return 0;
      case OPTION_CHECKS:
         options->checks = optarg;
         break;
      case OPTION_ROUNDS:
         good = parse_rounds(optarg, &options->rounds);
         break;
      case OPTION_QUICK:
         options->quick = true;
         break;
      case OPTION_ONLY:
         options->only = optarg;
         break;
      case OPTION_SECTION:
         good = parse_name("section", optarg, bench_section_names, BENCH_SECTION_COUNT,
                           &options->section);
         break;
      case OPTION_THREADS:
         good = parse_name("threads", optarg, bench_threads_names, BENCH_THREADS_COUNT,
                           &options->threads);
         break;
      case OPTION_BLOOM_SIZE_LOG2:
         options->bloom_size_log2 = optarg;
         break;
      case OPTION_BLOOM_HASHES:
         options->bloom_hashes = optarg;
         break;
      case OPTION_JSON:
         options->json = optarg;
         break;
      case OPTION_GPU_AV:
         options->gpu_av = true;
         break;
      case OPTION_NO_GPU_AV:
         options->no_gpu_av = true;
         break;
      case OPTION_NOISE:
         options->noise = true;
         break;
      case OPTION_WORKER:
         options->worker = optarg;
         break;
      case OPTION_TIME_LIMIT:
         options->time_limit = atoi(optarg);
         break;
      case OPTION_BY_HAND:
         options->by_hand = true;
         break;
      default:
         good = false;
      }
      if (!good)
         return 2;
   }
   if (optind < argc) {
      fprintf(stderr, "error: unexpected argument \"%s\"; --help lists the options\n",
              argv[optind]);
      return 2;
   }
   if (!options->rounds)
      options->rounds = options->quick ? QUICK_ROUNDS : DEFAULT_ROUNDS;
   return options->only && !valid_only(options->only) ? 2 : -1;
}
