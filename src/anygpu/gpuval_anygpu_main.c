/* SPDX-License-Identifier: MIT */

/* The command line of `./gpuval anygpu`. */

#include "gpuval_anygpu.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_log.h"
#include "base/gpuval_options.h"
#include "util/macros.h"

static const char help[] =
   "usage: gpuval-anygpu [options] SHADER.spv\n"
   "\n"
   "Runs a compute shader with gpuval's checks on the Vulkan driver that the loader finds.\n"
   "\n"
   "   --checks LIST       checks, as in `./gpuval run`; default: basic. none: the shader\n"
   "                       goes through NIR, nothing is checked\n"
   "   --report FILE       reports (repeated; the ending says the format)\n"
   "   --log FILE          the text log; default: stderr\n"
   "   --buffer BYTES      a storage buffer for the next binding of set 0, from 0 on; its\n"
   "                       contents are random, and the same each time. BYTES:N: words are\n"
   "                       below N; BYTES:nodes: each 16 bytes begin with the address of some\n"
   "                       @N: the same memory as buffer N\n"
   "   --uniform BYTES     a uniform buffer for the next binding\n"
   "   --push HEX          push constants, bytes in order; in between, @N is the address of\n"
   "                       buffer N, 8 bytes; commas may stand anywhere between bytes\n"
   "   --groups X,Y,Z      workgroups of a dispatch; default: 1,1,1\n"
   "   --dispatches N      how many times; default: 1. 1,024 are a submission\n"
   "   --barriers 0|1      a full barrier between them; default: 1\n"
   "   --sequence FILE     dispatches with push constants of their own, barriers and waits, in\n"
   "                       place of those three\n"
   "   --time              GPU time of the shader as it is and with checks, in turns\n"
   "   --rounds N          of --time; default: 9\n"
   "   --as-is             the shader as it is, for a driver that checks by itself\n"
   "   --entry NAME        entry point; default: main\n"
   "   --device TEXT       a device whose name has it; default: the first\n"
   "   --statistics        what the driver says of the pipelines it makes, if it does\n"
   "   --write-spv FILE    writes the SPIR-V that runs, with its checks\n";

enum option_value {
   OPTION_CHECKS = 256,
   OPTION_REPORT,
   OPTION_LOG,
   OPTION_BUFFER,
   OPTION_UNIFORM,
   OPTION_PUSH,
   OPTION_GROUPS,
   OPTION_DISPATCHES,
   OPTION_BARRIERS,
   OPTION_SEQUENCE,
   OPTION_TIME,
   OPTION_ROUNDS,
   OPTION_AS_IS,
   OPTION_ENTRY,
   OPTION_DEVICE,
   OPTION_STATISTICS,
   OPTION_WRITE_SPV,
   OPTION_HELP,
};

static const struct option long_options[] = {
   {"checks", required_argument, NULL, OPTION_CHECKS},
   {"report", required_argument, NULL, OPTION_REPORT},
   {"log", required_argument, NULL, OPTION_LOG},
   {"buffer", required_argument, NULL, OPTION_BUFFER},
   {"uniform", required_argument, NULL, OPTION_UNIFORM},
   {"push", required_argument, NULL, OPTION_PUSH},
   {"groups", required_argument, NULL, OPTION_GROUPS},
   {"dispatches", required_argument, NULL, OPTION_DISPATCHES},
   {"barriers", required_argument, NULL, OPTION_BARRIERS},
   {"sequence", required_argument, NULL, OPTION_SEQUENCE},
   {"time", no_argument, NULL, OPTION_TIME},
   {"rounds", required_argument, NULL, OPTION_ROUNDS},
   {"as-is", no_argument, NULL, OPTION_AS_IS},
   {"entry", required_argument, NULL, OPTION_ENTRY},
   {"device", required_argument, NULL, OPTION_DEVICE},
   {"statistics", no_argument, NULL, OPTION_STATISTICS},
   {"write-spv", required_argument, NULL, OPTION_WRITE_SPV},
   {"help", no_argument, NULL, OPTION_HELP},
   {0},
};

static bool
refuse(const char *name, const char *value, const char *accepted)
{
   fprintf(stderr, "gpuval: error: anygpu: --%s %s: not %s\n", name, value, accepted);
   return false;
}

static bool
parse_number(const char *name, const char *text, uint64_t max, uint64_t *value)
{
   char *end;

   errno = 0;
   *value = strtoull(text, &end, 0);
   return *text >= '0' && *text <= '9' && !*end && !errno && *value && *value <= max
             ? true
             : refuse(name, text, "a number above 0 that is possible");
}

/* @N: the memory of one before */
static bool
share_buffer(struct gpuval_anygpu_options *options, const char *name, const char *text)
{
   struct gpuval_anygpu_buffer_info *info = &options->buffers[options->num_buffers];
   char rest;

   if (sscanf(text, "@%d%c", &info->shares, &rest) != 1 || info->shares < 0 ||
       (unsigned)info->shares >= options->num_buffers || options->buffers[info->shares].shares >= 0)
      return refuse(name, text, "a buffer before this one that has memory of its own");
   info->size = options->buffers[info->shares].size;
   options->num_buffers++;
   return true;
}

/* BYTES, BYTES:LIMIT, BYTES:nodes, or @N */
static bool
parse_buffer(struct gpuval_anygpu_options *options, const char *name, const char *text,
             bool is_uniform)
{
   struct gpuval_anygpu_buffer_info *info = &options->buffers[options->num_buffers];
   const char *colon = strchr(text, ':');
   char size[32];
   uint64_t limit = 0;

   if (options->num_buffers == GPUVAL_ANYGPU_MAX_SLOTS - 1)
      return refuse(name, text, "possible: there are 63 buffers already");
   snprintf(size, sizeof(size), "%.*s", colon ? (int)(colon - text) : (int)strlen(text), text);
   *info = (struct gpuval_anygpu_buffer_info){.is_uniform = is_uniform, .shares = -1};
   if (*text == '@')
      return share_buffer(options, name, text);
   if (!parse_number(name, size, 1ull << 40, &info->size))
      return false;
   if (colon && !strcmp(colon, ":nodes"))
      info->has_nodes = true;
   else if (colon && !parse_number(name, colon + 1, UINT32_MAX, &limit))
      return false;
   info->limit = limit;
   options->num_buffers++;
   return true;
}

static bool
parse_barriers(struct gpuval_anygpu_options *options, const char *text)
{
   if (strcmp(text, "0") && strcmp(text, "1"))
      return refuse("barriers", text, "0 or 1");
   options->barriers = *text == '1';
   return true;
}

/* To a list in the environment */
static bool
add_to_list(const char *name, const char *value)
{
   const char *before = getenv(name);
   size_t size = (before ? strlen(before) + 1 : 0) + strlen(value) + 1;
   char *list = malloc(size);

   if (!list)
      return false;
   snprintf(list, size, "%s%s%s", before ? before : "", before && *before ? "," : "", value);
   setenv(name, list, 1);
   free(list);
   return true;
}

static bool names_files; /* --report or --log */

static bool
parse_checks(const char *list)
{
   bool internal;

   if (!strcmp(list, "none"))
      return add_to_list("GPUVAL", "");
   gpuval_options_parse_checks(list, "--checks", &internal);
   return !gpuval_log_num_errors() && add_to_list("GPUVAL", list);
}

static bool
parse_option(struct gpuval_anygpu_options *options, enum option_value option, const char *value)
{
   uint64_t number = 0;

   switch (option) {
   case OPTION_CHECKS:
      return parse_checks(value);
   case OPTION_REPORT:
      names_files = true;
      return add_to_list("GPUVAL_REPORT", value);
   case OPTION_LOG:
      names_files = true;
      return !setenv("GPUVAL_LOG", value, 1);
   case OPTION_BUFFER:
      return parse_buffer(options, "buffer", value, false);
   case OPTION_UNIFORM:
      return parse_buffer(options, "uniform", value, true);
   case OPTION_PUSH:
      return gpuval_anygpu_parse_push(&options->push, value)
                ? true
                : refuse("push", value,
                         "up to 240 bytes of two hexadecimal digits each, or @N for a buffer's "
                         "address");
   case OPTION_GROUPS:
      return gpuval_anygpu_parse_groups(options->groups, value)
                ? true
                : refuse("groups", value, "three numbers above 0, X,Y,Z");
   case OPTION_DISPATCHES:
      if (!parse_number("dispatches", value, 1u << 30, &number))
         return false;
      options->dispatches = number;
      return true;
   case OPTION_BARRIERS:
      return parse_barriers(options, value);
   case OPTION_SEQUENCE:
      return gpuval_anygpu_read_sequence(value, &options->sequence);
   case OPTION_TIME:
      options->time = true;
      return true;
   case OPTION_ROUNDS:
      if (!parse_number("rounds", value, 64, &number))
         return false;
      options->rounds = number;
      return true;
   case OPTION_AS_IS:
      options->as_is = true;
      return true;
   case OPTION_ENTRY:
      options->entry = value;
      return true;
   case OPTION_DEVICE:
      options->device = value;
      return true;
   case OPTION_STATISTICS:
      options->statistics = true;
      return true;
   case OPTION_WRITE_SPV:
      options->write_spv = value;
      return true;
   default:
      return false;
   }
}

static bool
has_buffers(const struct gpuval_anygpu_options *options, const struct gpuval_anygpu_push *push,
            const char *from)
{
   for (unsigned i = 0; i < push->num_addresses; i++) {
      if (push->addresses[i].buffer >= options->num_buffers) {
         fprintf(stderr, "gpuval: error: anygpu: %s: @%u: there is no such buffer\n", from,
                 push->addresses[i].buffer);
         return false;
      }
   }
   return true;
}

int
main(int argc, char **argv)
{
   struct gpuval_anygpu_options options = {
      .entry = "main",
      .groups = {1, 1, 1},
      .dispatches = 1,
      .barriers = true,
      .rounds = 9,
   };
   int option;

   while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
      if (option == OPTION_HELP) {
         fputs(help, stdout);
         return 0;
      }
      if (option == '?' || !parse_option(&options, option, optarg))
         return 2;
   }
   if (optind + 1 != argc) {
      fputs("gpuval: error: anygpu: one shader is wanted, a file of SPIR-V (--help)\n", stderr);
      return 2;
   }
   options.shader = argv[optind];
   if (!has_buffers(&options, &options.push, "--push"))
      return 2;
   for (unsigned i = 0; i < options.sequence.count; i++) {
      if (!has_buffers(&options, &options.sequence.steps[i].push, "--sequence"))
         return 2;
   }
   if (options.time && options.as_is) {
      fputs("gpuval: error: anygpu: --time runs the shader as it is anyway: not with --as-is\n",
            stderr);
      return 2;
   }
   if (!getenv("GPUVAL"))
      setenv("GPUVAL", "basic", 1);
   /* The filter costs a GPU 20 to 50 times what cells cost (docs/anygpu.rst). */
   setenv("GPUVAL_SYNC", "shadow", 0);
   if (!options.as_is) {
      gpuval_init(false);
      if (names_files && gpuval_log_num_errors())
         return 2; /* The log has said which file cannot be written. */
      /* If the loader finds a driver of ours, that does not check once more. */
      unsetenv("GPUVAL");
   }
   int status = gpuval_anygpu_run(&options);
   free(options.sequence.steps);
   return status;
}
