/* SPDX-License-Identifier: MIT */

/*
 * Compiles the shaders of a scenario, with a cache of what was compiled before.
 */

#include "scenario_process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "vk_headless.h"

static void
write_text(const char *path, const char *text)
{
   FILE *file = fopen(path, "w");
   if (!file || fputs(text, file) < 0 || fclose(file) != 0)
      vkh_die("cannot write %s", path);
}

/* In this process: most of what runs here would be copying, otherwise. Returns false when there is
 * no @from.
 */
static bool
copy_file(const char *from, const char *to)
{
   if (access(from, R_OK) != 0)
      return false;

   size_t size;
   char *data = vkh_read_file(from, &size);
   FILE *file = fopen(to, "wb");
   if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
      vkh_die("cannot write %s", to);
   free(data);
   return true;
}

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
   char *output = scenario_format("%s/%s.spv", folder, section->name);

   if (!cached || !copy_file(cached, output)) {
      if (!run_command("cd '%s' && %s >compiler.out 2>&1", folder, command)) {
         scenario_print_file(folder, "compiler", "out");
         vkh_die("%s: the shader %s does not compile", scenario->path, section->name);
      }
      /* Others may be at it, too. */
      char *own = scenario_format("%s.%d", cached ? cached : "", (int)getpid());
      if (cached && (!copy_file(output, own) || rename(own, cached) != 0))
         vkh_die("cannot write %s", cached);
      free(own);
   }
   free(output);
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

void
scenario_compile(const struct scenario *scenario, const char *folder)
{
   for (unsigned i = 0; i < scenario->section_count; i++) {
      if (section_is_used(scenario, &scenario->sections[i]))
         compile_section(scenario, folder, &scenario->sections[i]);
   }
}
