/* SPDX-License-Identifier: MIT */

#include "scenario.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_checks.h"
#include "vk_headless.h"

static const struct scenario_stage stages[] = {
   {"vertex", "vert", VK_SHADER_STAGE_VERTEX_BIT},
   {"tess_control", "tesc", VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT},
   {"tess_eval", "tese", VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT},
   {"geometry", "geom", VK_SHADER_STAGE_GEOMETRY_BIT},
   {"fragment", "frag", VK_SHADER_STAGE_FRAGMENT_BIT},
   {"compute", "comp", VK_SHADER_STAGE_COMPUTE_BIT},
   {"task", "task", VK_SHADER_STAGE_TASK_BIT_EXT},
   {"mesh", "mesh", VK_SHADER_STAGE_MESH_BIT_EXT},
   {"raygen", "rgen", VK_SHADER_STAGE_RAYGEN_BIT_KHR},
   {"any_hit", "rahit", VK_SHADER_STAGE_ANY_HIT_BIT_KHR},
   {"closest_hit", "rchit", VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR},
   {"miss", "rmiss", VK_SHADER_STAGE_MISS_BIT_KHR},
   {"intersection", "rint", VK_SHADER_STAGE_INTERSECTION_BIT_KHR},
   {"callable", "rcall", VK_SHADER_STAGE_CALLABLE_BIT_KHR},
};

static const char *const kind_names[SCENARIO_KIND_COUNT] = {
   [SCENARIO_MONOLITHIC] = "monolithic",
   [SCENARIO_LIBRARY] = "library",
   [SCENARIO_LIBRARY_LTO] = "library_lto",
   [SCENARIO_CACHE] = "cache",
   [SCENARIO_SHADER_OBJECT] = "shader_object",
   [SCENARIO_SHADER_OBJECT_BINARY] = "shader_object_binary",
};

static const char *const finish_names[] = {
   [SCENARIO_FINISH_DESTROY] = "destroy",  [SCENARIO_FINISH_DESTROY_BUSY] = "destroy_busy",
   [SCENARIO_FINISH_EXIT] = "exit",        [SCENARIO_FINISH_EXIT_BUSY] = "exit_busy",
   [SCENARIO_FINISH_ABORT] = "abort",      [SCENARIO_FINISH_ABORT_FENCE] = "abort_fence",
   [SCENARIO_FINISH_QUICK_EXIT] = "_exit", [SCENARIO_FINISH_SIGINT] = "SIGINT",
   [SCENARIO_FINISH_SIGTERM] = "SIGTERM",  [SCENARIO_FINISH_SIGSEGV] = "SIGSEGV",
   [SCENARIO_FINISH_SIGKILL] = "SIGKILL",
};

/* What most fragment scenarios draw with: one triangle over the whole target,
 * at depth 0.5.
 */
static const char full_screen_text[] =
   "#version 450\n"
   "void main()\n"
   "{\n"
   "   vec2 corner = vec2((gl_VertexIndex << 1) & 2, gl_VertexIndex & 2);\n"
   "   gl_Position = vec4(corner * 2.0 - 1.0, 0.5, 1.0);\n"
   "}\n";

/* --- Small helpers -------------------------------------------------------- */

void
scenario_error(const struct scenario *scenario, unsigned line, const char *format, ...)
{
   va_list args;

   fprintf(stderr, "%s:%u: error: ", scenario->path, line);
   va_start(args, format);
   vfprintf(stderr, format, args);
   va_end(args);
   fprintf(stderr, "\n");
   exit(VKH_EXIT_ERROR);
}

char *
scenario_format(const char *format, ...)
{
   va_list args;
   char *text;

   va_start(args, format);
   if (vasprintf(&text, format, args) < 0)
      vkh_die("out of memory");
   va_end(args);
   return text;
}

void *
scenario_grow(void *array, unsigned *count, size_t element_size)
{
   char *grown = array;

   /* Sizes are powers of two, so that growing stays cheap. */
   if ((*count & (*count - 1)) == 0) {
      grown = realloc(array, (*count ? *count * 2 : 1) * element_size);
      if (!grown)
         vkh_die("out of memory");
   }
   memset(grown + *count * element_size, 0, element_size);
   (*count)++;
   return grown;
}

const char *
scenario_kind_name(enum scenario_kind kind)
{
   return kind_names[kind];
}

enum scenario_kind
scenario_find_kind(const char *name)
{
   unsigned kind = 0;
   while (kind < SCENARIO_KIND_COUNT && strcmp(kind_names[kind], name) != 0)
      kind++;
   return kind;
}

const struct scenario_section *
scenario_find_section(const struct scenario *scenario, const char *name)
{
   for (unsigned i = 0; i < scenario->section_count; i++) {
      if (strcmp(scenario->sections[i].name, name) == 0)
         return &scenario->sections[i];
   }
   return NULL;
}

/* Splits at white space; "…" keeps it, and a '#' at a word's start ends the
 * line. The words are part of one allocation.
 */
static char **
split(const char *line, unsigned *count)
{
   char *copy = scenario_format("%s", line);
   char *out = copy;
   char **words = NULL;
   const char *at = line;

   *count = 0;
   while (true) {
      while (isspace((unsigned char)*at))
         at++;
      if (!*at || *at == '#')
         return words;

      words = scenario_grow(words, count, sizeof(*words));
      words[*count - 1] = out;
      bool quoted = false;
      for (; *at && (quoted || !isspace((unsigned char)*at)); at++) {
         if (at[0] == '\\' && at[1] == '"')
            *out++ = *++at;
         else if (*at == '"')
            quoted = !quoted;
         else
            *out++ = *at;
      }
      *out++ = 0;
      if (*at)
         at++;
   }
}

static char *
replace(const char *text, const char *mark, const char *with)
{
   char *result = scenario_format("%s", "");
   const char *found;

   while ((found = strstr(text, mark))) {
      char *longer = scenario_format("%s%.*s%s", result, (int)(found - text), text, with);
      free(result);
      result = longer;
      text = found + strlen(mark);
   }
   char *whole = scenario_format("%s%s", result, text);
   free(result);
   return whole;
}

/* --- Shader sections ------------------------------------------------------ */

static struct scenario_section *
add_section(struct scenario *scenario, const struct scenario_stage *stage, const char *name,
            bool assembly, unsigned line)
{
   if (scenario_find_section(scenario, name))
      scenario_error(scenario, line, "two sections are named %s", name);

   scenario->sections =
      scenario_grow(scenario->sections, &scenario->section_count, sizeof(*scenario->sections));
   struct scenario_section *section = &scenario->sections[scenario->section_count - 1];
   section->stage = stage;
   section->name = scenario_format("%s", name);
   section->file = scenario_format("%s.%s", name, stage->extension);
   section->assembly = assembly;
   section->line = line + 1;

   /* Empty lines in front, so that line numbers are those of this file. */
   section->text = calloc(line + 1, 1);
   if (!section->text)
      vkh_die("out of memory");
   memset(section->text, '\n', line);
   return section;
}

static const struct scenario_stage *
find_stage(struct scenario *scenario, const char *name, unsigned line)
{
   for (unsigned i = 0; i < VKH_COUNT(stages); i++) {
      if (strcmp(stages[i].name, name) == 0)
         return &stages[i];
   }
   scenario_error(scenario, line, "%s is no shader stage", name);
}

/* NAME,NAME…: checks, whether this version has them or not */
static uint32_t
read_check_names(struct scenario *scenario, const char *names, unsigned line)
{
   uint32_t checks = 0;

   while (*names) {
      const unsigned length = (unsigned)strcspn(names, ",");
      const uint32_t bits = gpuval_checks_from_name(names, length);
      if (!bits)
         scenario_error(scenario, line, "there is no check %.*s", (int)length, names);
      checks |= bits;
      names += length + (names[length] == ',');
   }
   return checks;
}

/* The checks that make a report CHECK/KIND. A check that this version does not have
 * may have no kinds yet.
 */
static uint32_t
read_kind(struct scenario *scenario, const char *text, unsigned line)
{
   const char *kind = strchr(text, '/') + 1;
   const unsigned length = (unsigned)(kind - 1 - text);
   const uint32_t bit = gpuval_checks_from_name(text, length);

   for (unsigned i = 0; i < GPUVAL_KIND_COUNT; i++) {
      if (strcmp(gpuval_kind_infos[i].name, kind) == 0 && bit == 1u << gpuval_kind_infos[i].check)
         return bit == 1u << GPUVAL_CHECK_SYNC ? bit | 1u << GPUVAL_CHECK_SYNC_COMPUTE : bit;
   }
   if (!bit || (bit & gpuval_checks_available()))
      scenario_error(scenario, line, "no check makes reports of %s", text);
   return bit;
}

/* Reads the EXPECTs of a shader's line: `EXPECT CHECK/KIND key=value …`, any
 * number of them behind one comment mark.
 */
static void
read_expects(struct scenario *scenario, unsigned section, const char *text, unsigned line,
             unsigned file_line)
{
   const char *found = strstr(text, "EXPECT ");
   if (!found)
      return;

   unsigned count;
   char **words = split(found, &count);
   struct scenario_expect *expect = NULL;
   for (unsigned i = 0; i < count; i++) {
      char *equals = strchr(words[i], '=');

      if (strcmp(words[i], "EXPECT") == 0) {
         if (++i == count || !strchr(words[i], '/'))
            scenario_error(scenario, file_line, "CHECK/KIND must follow EXPECT");
         scenario->expects =
            scenario_grow(scenario->expects, &scenario->expect_count, sizeof(*scenario->expects));
         expect = &scenario->expects[scenario->expect_count - 1];
         expect->check = words[i];
         expect->checks = read_kind(scenario, words[i], file_line);
         expect->section = section;
         expect->line = line;
         expect->statement = file_line;
      } else if (equals && expect && strncmp(words[i], "with=", 5) == 0) {
         expect->with |= read_check_names(scenario, equals + 1, file_line);
      } else if (equals && expect && strncmp(words[i], "without=", 8) == 0) {
         expect->without |= read_check_names(scenario, equals + 1, file_line);
      } else if (equals && expect) {
         *equals = 0;
         expect->pairs = scenario_grow(expect->pairs, &expect->pair_count, sizeof(*expect->pairs));
         expect->pairs[expect->pair_count - 1] = (struct scenario_pair){
            .key = words[i],
            .value = equals + 1,
         };
      } else {
         scenario_error(scenario, file_line, "'%s' is not key=value", words[i]);
      }
   }
   free(words);
}

static void
append_line(struct scenario *scenario, struct scenario_section *section, const char *text,
            unsigned file_line)
{
   const size_t old = strlen(section->text);
   const size_t added = strlen(text);

   section->text = realloc(section->text, old + added + 2);
   if (!section->text)
      vkh_die("out of memory");
   memcpy(section->text + old, text, added);
   memcpy(section->text + old + added, "\n", 2);
   read_expects(scenario, (unsigned)(section - scenario->sections), text, section->line, file_line);
   section->line++;
}

/* `@repeat N LINE`: N lines, with the number in place of each '@'. */
static void
append_repeated(struct scenario *scenario, struct scenario_section *section, const char *text,
                unsigned file_line)
{
   char *end;
   const unsigned long count = strtoul(text, &end, 0);
   if (end == text || count == 0 || count > 100000)
      scenario_error(scenario, file_line, "@repeat needs a number of lines");

   for (unsigned long i = 0; i < count; i++) {
      char number[16];
      snprintf(number, sizeof(number), "%lu", i);
      char *line = replace(end, "@", number);
      append_line(scenario, section, line, file_line);
      free(line);
   }
}

/* --- [run] ---------------------------------------------------------------- */

static void
need_words(struct scenario *scenario, const struct scenario_statement *statement, unsigned count)
{
   if (statement->word_count < count)
      scenario_error(scenario, statement->line, "%s needs %u words more", statement->words[0],
                     count - statement->word_count);
}

static void
read_kinds(struct scenario *scenario, const struct scenario_statement *statement)
{
   for (unsigned i = 1; i < statement->word_count; i++) {
      const enum scenario_kind kind = scenario_find_kind(statement->words[i]);
      if (kind == SCENARIO_KIND_COUNT)
         scenario_error(scenario, statement->line, "%s is no kind of pipeline",
                        statement->words[i]);
      scenario->kinds[kind] = true;
   }
}

static void
read_finish(struct scenario *scenario, const struct scenario_statement *statement)
{
   for (unsigned i = 0; i < VKH_COUNT(finish_names); i++) {
      if (strcmp(finish_names[i], statement->words[1]) == 0) {
         scenario->finish = i;
         return;
      }
   }
   scenario_error(scenario, statement->line, "%s is no way to finish", statement->words[1]);
}

static void
read_env(struct scenario *scenario, const struct scenario_statement *statement)
{
   for (unsigned i = 1; i < statement->word_count; i++) {
      char *equals = strchr(statement->words[i], '=');
      if (!equals)
         scenario_error(scenario, statement->line, "env needs NAME=VALUE");
      *equals = 0;
      scenario->env = scenario_grow(scenario->env, &scenario->env_count, sizeof(*scenario->env));
      scenario->env[scenario->env_count - 1] = (struct scenario_pair){
         .key = statement->words[i],
         .value = equals + 1,
      };
   }
}

static char *
join_words(const struct scenario_statement *statement)
{
   char *joined = scenario_format("%s", "");
   for (unsigned i = 1; i < statement->word_count; i++) {
      char *longer = scenario_format("%s %s", joined, statement->words[i]);
      free(joined);
      joined = longer;
   }
   return joined;
}

/* Takes the statements that are about the run as a whole; returns false for
 * those that the program executes.
 */
static bool
read_setting(struct scenario *scenario, const struct scenario_statement *statement)
{
   const char *word = statement->words[0];

   if (strcmp(word, "once") == 0) {
      scenario->once = true;
      return true;
   }
   if (strcmp(word, "any_results") == 0) {
      scenario->any_results = true;
      return true;
   }

   if (strcmp(word, "alone") == 0) {
      for (unsigned i = 1; i < statement->word_count; i++)
         scenario->alone |= read_check_names(scenario, statement->words[i], statement->line);
   } else if (strcmp(word, "allow") == 0) {
      need_words(scenario, statement, 2);
      for (unsigned i = 1; i < statement->word_count; i++)
         scenario->allowed |= read_check_names(scenario, statement->words[i], statement->line);
   } else if (strcmp(word, "kinds") == 0) {
      read_kinds(scenario, statement);
   } else if (strcmp(word, "glslang") == 0) {
      scenario->glslang_flags = join_words(statement);
   } else if (strcmp(word, "checks") == 0) {
      need_words(scenario, statement, 2);
      scenario->checks = statement->words[1];
   } else if (strcmp(word, "lost") == 0) {
      need_words(scenario, statement, 2);
      scenario->lost =
         strcmp(statement->words[1], "any") == 0 ? -1 : strtoll(statement->words[1], NULL, 0);
   } else if (strcmp(word, "devices") == 0) {
      need_words(scenario, statement, 2);
      scenario->devices = (unsigned)strtoul(statement->words[1], NULL, 0);
   } else if (strcmp(word, "finish") == 0) {
      need_words(scenario, statement, 2);
      read_finish(scenario, statement);
   } else if (strcmp(word, "env") == 0) {
      read_env(scenario, statement);
   } else {
      return false;
   }
   return true;
}

static void
add_statement(struct scenario *scenario, const char *text, unsigned line)
{
   struct scenario_statement statement = {.line = line};
   statement.words = split(text, &statement.word_count);
   if (statement.word_count == 0 || read_setting(scenario, &statement) ||
       scenario_printf_read_setting(scenario, &statement))
      return;

   scenario->statements = scenario_grow(scenario->statements, &scenario->statement_count,
                                        sizeof(*scenario->statements));
   scenario->statements[scenario->statement_count - 1] = statement;
}

/* In place of `@{+N}` stands the number plus N. */
static char *
replace_sums(const char *text, unsigned number)
{
   char *result = scenario_format("%s", text);
   char *found;
   unsigned summand;
   int length = 0;

   while ((found = strstr(result, "@{+")) && sscanf(found, "@{+%u}%n", &summand, &length) == 1 &&
          length) {
      char *longer = scenario_format("%.*s%u%s", (int)(found - result), result, number + summand,
                                     found + length);
      free(result);
      result = longer;
      length = 0;
   }
   return result;
}

/* `for N STATEMENT ; STATEMENT …`: N times, with the number in place of '@'. */
static void
read_run_line(struct scenario *scenario, const char *text, unsigned line)
{
   unsigned count;
   int length = 0;
   const char *at = text + strspn(text, " \t");
   if (sscanf(at, "for %u%n", &count, &length) != 1) {
      add_statement(scenario, text, line);
      return;
   }

   for (unsigned i = 0; i < count; i++) {
      char number[16];
      snprintf(number, sizeof(number), "%u", i);
      char *sums = replace_sums(at + length, i);
      char *statements = replace(sums, "@", number);
      free(sums);
      char *rest = statements;
      char *statement;
      while ((statement = strsep(&rest, ";")))
         add_statement(scenario, statement, line);
      free(statements);
   }
}

/* --- The file ------------------------------------------------------------- */

/* Where lines go to: the sections from `first` on, [run] or [printf]. */
struct reader {
   struct scenario *scenario;
   unsigned first;
   bool run;
   bool printf;
};

/* `[STAGE NAME]`, `[spirv STAGE NAME]`, `[STAGE NAME*N]`, `[run]` or `[printf]`. The third
 * makes N sections NAME0, NAME1, … of the same lines, each with its number in
 * place of '$'.
 */
static void
read_header(struct reader *reader, const char *line, unsigned number)
{
   struct scenario *scenario = reader->scenario;
   char words[3][64];
   const int count =
      sscanf(line, "[%63[a-z_] %63[A-Za-z0-9_*] %63[A-Za-z0-9_*]]", words[0], words[1], words[2]);

   reader->first = scenario->section_count;
   reader->printf = count == 1 && strcmp(words[0], "printf") == 0;
   if (reader->printf)
      return;
   reader->run = count == 1 && strcmp(words[0], "run") == 0;
   if (reader->run)
      return;
   const bool assembly = count == 3 && strcmp(words[0], "spirv") == 0;
   if (count < 2 || (count == 3 && !assembly))
      scenario_error(scenario, number, "not a section: %s", line);

   const struct scenario_stage *stage = find_stage(scenario, words[assembly ? 1 : 0], number);
   char *name = words[assembly ? 2 : 1];
   char *star = strchr(name, '*');
   if (!star) {
      add_section(scenario, stage, name, assembly, number);
      return;
   }
   *star = 0;
   for (int i = 0; i < atoi(star + 1); i++) {
      char *numbered = scenario_format("%s%d", name, i);
      add_section(scenario, stage, numbered, assembly, number);
      free(numbered);
   }
}

static void
read_shader_line(struct reader *reader, const char *line, unsigned number)
{
   struct scenario *scenario = reader->scenario;

   for (unsigned i = reader->first; i < scenario->section_count; i++) {
      char index[16];
      snprintf(index, sizeof(index), "%u", i - reader->first);
      char *text = replace(line, "$", index);
      if (strncmp(text, "@repeat ", 8) == 0)
         append_repeated(scenario, &scenario->sections[i], text + 8, number);
      else
         append_line(scenario, &scenario->sections[i], text, number);
      free(text);
   }
}

static void
read_line(struct reader *reader, const char *line, unsigned number)
{
   struct scenario *scenario = reader->scenario;

   if (line[0] == '[') {
      read_header(reader, line, number);
   } else if (reader->printf) {
      scenario_printf_read_line(scenario, line, number);
   } else if (reader->run) {
      read_run_line(scenario, line, number);
      read_expects(scenario, SCENARIO_NO_SECTION, line, 0, number);
   } else if (reader->first < scenario->section_count) {
      read_shader_line(reader, line, number);
   } else if (line[0] && line[0] != '#') {
      scenario_error(scenario, number, "text in front of the first section");
   }
}

static void
finish_reading(struct scenario *scenario)
{
   bool any_kind = false;
   for (unsigned i = 0; i < SCENARIO_KIND_COUNT; i++)
      any_kind |= scenario->kinds[i];
   if (!any_kind)
      scenario->kinds[SCENARIO_MONOLITHIC] = true;

   if (!scenario_find_section(scenario, "full_screen")) {
      struct scenario_section *section = add_section(scenario, &stages[0], "full_screen", false, 0);
      free(section->text);
      section->text = scenario_format("%s", full_screen_text);
   }
}

struct scenario *
scenario_read(const char *path)
{
   struct scenario *scenario = calloc(1, sizeof(*scenario));
   if (!scenario)
      vkh_die("out of memory");
   scenario->path = path;
   scenario->checks = "bounds,assume";
   scenario->glslang_flags = "-g";
   scenario->devices = 1;

   struct reader reader = {.scenario = scenario};
   char *text = vkh_read_file(path, NULL);
   char *rest = text;
   char *line;
   unsigned number = 0;
   while ((line = strsep(&rest, "\n")))
      read_line(&reader, line, ++number);
   free(text);
   finish_reading(scenario);
   return scenario;
}
