/* SPDX-License-Identifier: MIT */

/*
 * Programs as what gpuval-anygpu takes: a shader, and a sequence of dispatches. Its buffers
 * are --buffer 16384 --uniform @0 --buffer 128 --buffer 65536:1, as soak.comp has them.
 */

#include "soak.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vk_headless.h"

#include "soak_few_barriers0.h"
#include "soak_few_barriers2.h"
#include "soak_few_plain0.h"
#include "soak_few_plain2.h"

#define SHADER(name)                                                                               \
   {                                                                                               \
      name, sizeof(name)                                                                           \
   }

static const struct {
   const uint32_t *code;
   size_t size; /* bytes */
} shaders[2][2] = {
   {SHADER(soak_few_plain0), SHADER(soak_few_plain2)},
   {SHADER(soak_few_barriers0), SHADER(soak_few_barriers2)},
};

#define MAX_BATCH 1000 /* dispatches between two waits: anygpu takes 1,024 */

struct sequence {
   FILE *file;
   unsigned dispatches; /* since the last wait */
};

static FILE *
create(const char *folder, const char *name, const char *ending)
{
   char path[256];

   snprintf(path, sizeof(path), "%s/%s.%s", folder, name, ending);
   FILE *file = fopen(path, "wb");
   if (!file)
      vkh_die("cannot write %s", path);
   return file;
}

static void
finish(FILE *file)
{
   if (ferror(file) || fclose(file) != 0)
      vkh_die("cannot write a file");
}

static void
write_words(FILE *file, const uint32_t *words, unsigned count)
{
   for (unsigned i = 0; i < count; i++) {
      for (unsigned byte = 0; byte < 4; byte++)
         fprintf(file, "%02x", words[i] >> 8 * byte & 0xff);
   }
}

/* struct constants of soak_machine.c */
static void
write_step(struct sequence *sequence, const struct soak_step *step)
{
   const uint32_t head[2] = {step->code_count, SOAK_NEVER};

   fprintf(sequence->file, "dispatch %u,1,1 @0,", step->groups);
   write_words(sequence->file, head, 2);
   for (unsigned i = 0; i < step->code_count; i++) {
      uint32_t words[4];
      soak_encode(&step->code[i], words);
      write_words(sequence->file, words, 4);
   }
   fprintf(sequence->file, "\n");
   sequence->dispatches++;
}

static void
write_separator(struct sequence *sequence, enum soak_separator separator)
{
   switch (separator) {
   case SOAK_NOTHING:
   case SOAK_SUBMIT:
   case SOAK_BARRIER_ELSEWHERE:
      fprintf(sequence->file, "hidden-barrier\n");
      break;
   case SOAK_BARRIER:
   case SOAK_BARRIER_BUFFER:
   case SOAK_BARRIER_ALL:
      fprintf(sequence->file, "barrier\n");
      break;
   case SOAK_WAIT:
      fprintf(sequence->file, "wait\n");
      sequence->dispatches = 0;
      break;
   default:
      vkh_die("anygpu has no such barriers");
   }
}

/* Programs end with a barrier, since each wait costs a submission. */
static void
write_program(struct sequence *sequence, const struct soak_program *program)
{
   fprintf(sequence->file, "# seed %" PRIu64 "\n", program->seed);
   if (sequence->dispatches + program->step_count > MAX_BATCH)
      write_separator(sequence, SOAK_WAIT);
   for (unsigned i = 0; i < program->step_count; i++) {
      const bool is_last = i + 1 == program->step_count;
      write_step(sequence, &program->steps[i]);
      write_separator(sequence, is_last ? SOAK_BARRIER_ALL : program->steps[i].separator);
   }
}

void
soak_write_sequences(const struct soak_program *programs, uint64_t count, const char *folder)
{
   struct sequence sequences[2][2] = {0};

   for (uint64_t i = 0; i < count; i++) {
      const bool barriers = soak_has_barriers(&programs[i]);
      const bool races = !programs[i].clean;
      struct sequence *sequence = &sequences[barriers][races];
      if (!sequence->file) {
         const char *name = soak_shader_name(barriers, races ? SOAK_VARIANTS / 2 : 0);
         FILE *shader = create(folder, name, "spv");
         fwrite(shaders[barriers][races].code, shaders[barriers][races].size, 1, shader);
         finish(shader);
         sequence->file = create(folder, name, "seq");
      }
      write_program(sequence, &programs[i]);
   }
   for (unsigned i = 0; i < 4; i++) {
      if (sequences[i / 2][i % 2].file)
         finish(sequences[i / 2][i % 2].file);
   }
}
