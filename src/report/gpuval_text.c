/* SPDX-License-Identifier: MIT */

/* The text log. */

#include "gpuval_report.h"

#include <inttypes.h>

static const char *
check_name(const struct gpuval_event *event)
{
   return gpuval_check_infos[gpuval_kind_infos[event->kind].check].name;
}

static void
write_title(FILE *f, const struct gpuval_event *event)
{
   fprintf(f, "%s/%s", check_name(event), gpuval_kind_infos[event->kind].name);
}

static void
write_position(FILE *f, const struct gpuval_event *event)
{
   fprintf(f, "%s:%" PRIu32, event->source.file ? event->source.file : "?", event->source.line);
   if (event->source.column)
      fprintf(f, ":%" PRIu32, event->source.column);
}

static void
write_source(FILE *f, const struct gpuval_event *event)
{
   if (!event->source.line)
      return;

   fprintf(f, "gpuval:    at ");
   write_position(f, event);
   if (event->source.function)
      fprintf(f, " in %s()", event->source.function);
   if (event->source.text)
      fprintf(f, ": %s", event->source.text);
   fputc('\n', f);
}

static float
as_float(uint32_t bits)
{
   float value;
   memcpy(&value, &bits, sizeof(value));
   return value;
}

static void
write_invocation(FILE *f, const struct gpuval_event *event)
{
   const uint32_t *words = event->invocation;

   switch (event->shader.stage) {
   case MESA_SHADER_VERTEX:
      fprintf(f, ", vertex %" PRIu32 ", instance %" PRIu32, words[0], words[1]);
      break;
   case MESA_SHADER_TESS_CTRL:
      fprintf(f, ", primitive %" PRIu32 ", invocation %" PRIu32, words[1], words[0]);
      break;
   case MESA_SHADER_TESS_EVAL:
      fprintf(f, ", primitive %" PRIu32 ", coordinate (%g, %g)", words[0], as_float(words[1]),
              as_float(words[2]));
      break;
   case MESA_SHADER_GEOMETRY:
      fprintf(f, ", primitive %" PRIu32 ", invocation %" PRIu32, words[0], words[1]);
      break;
   case MESA_SHADER_FRAGMENT:
      fprintf(f, ", fragment (%g, %g)", as_float(words[0]), as_float(words[1]));
      break;
   default:
      fprintf(f, ", invocation (%" PRIu32 ", %" PRIu32 ", %" PRIu32 ")", words[0], words[1],
              words[2]);
      break;
   }
}

void
gpuval_text_write_shader(FILE *f, const struct gpuval_event *event)
{
   fprintf(f, "%s shader %016" PRIx64, _mesa_shader_stage_to_string(event->shader.stage),
           event->shader.hash);
   if (event->shader.name)
      fprintf(f, " \"%s\"", event->shader.name);
   if (event->spirv.instruction >= 0)
      fprintf(f, ", instruction %" PRId64, event->spirv.instruction);
   if (event->spirv.offset && !event->source.line)
      fprintf(f, " (SPIR-V offset %" PRIu32 ")", event->spirv.offset);
   if (event->has_record)
      write_invocation(f, event);
}

static void
write_shader(FILE *f, const struct gpuval_event *event)
{
   fprintf(f, "gpuval:    ");
   gpuval_text_write_shader(f, event);
   fputc('\n', f);
}

static void
write_object(FILE *f, const char *what, uint64_t handle, const char *name)
{
   fprintf(f, "%s0x%" PRIx64, what, handle);
   if (name)
      fprintf(f, " \"%s\"", name);
}

static void
write_command(FILE *f, const struct gpuval_event *event)
{
   const struct gpuval_command *command = &event->command;
   if (!event->has_command)
      return;

   fprintf(f, "gpuval:    %s", command->op);
   if (command->index >= 0)
      fprintf(f, " %" PRId64, command->index);
   if (command->command_buffer)
      write_object(f, " of command buffer ", command->command_buffer, command->command_buffer_name);
   if (command->primary)
      write_object(f, ", executed by ", command->primary, command->primary_name);
   if (command->pipeline)
      write_object(f, ", pipeline ", command->pipeline, command->pipeline_name);
   for (unsigned i = 0; i < command->num_labels; i++)
      fprintf(f, "%s\"%s\"", i ? " > " : ", labels ", command->labels[i]);
   fputc('\n', f);
}

void
gpuval_text_write_event(FILE *f, const struct gpuval_event *event)
{
   fprintf(f, "gpuval: error: ");
   write_title(f, event);
   fprintf(f, ": %s\n", event->message);
   write_source(f, event);
   write_shader(f, event);
   write_command(f, event);
}

void
gpuval_text_write_counts(FILE *f, struct gpuval_event *const *events, unsigned num_events)
{
   for (unsigned i = 0; i < num_events; i++) {
      if (gpuval_event_is_message(events[i]))
         continue;
      fprintf(f, "gpuval: %" PRIu64 " %s: ", events[i]->count,
              events[i]->count == 1 ? "time" : "times");
      write_title(f, events[i]);
      if (events[i]->source.line) {
         fprintf(f, " at ");
         write_position(f, events[i]);
      } else {
         fprintf(f, " in shader %016" PRIx64, events[i]->shader.hash);
         if (events[i]->spirv.instruction >= 0)
            fprintf(f, ", instruction %" PRId64, events[i]->spirv.instruction);
      }
      fputc('\n', f);
   }
}

void
gpuval_text_write_summary(FILE *f, const struct gpuval_summary *summary)
{
   if (summary->lost_messages)
      fprintf(f, "gpuval: %" PRIu64 " %s of shaders printed, %" PRIu64 " lost\n", summary->messages,
              summary->messages == 1 ? "message" : "messages", summary->lost_messages);

   if (!summary->errors && !summary->lost) {
      fprintf(f, "gpuval: no errors\n");
      return;
   }

   fprintf(f, "gpuval: %" PRIu64 " %s (%" PRIu64 " %s), %" PRIu64 " %s lost\n", summary->errors,
           summary->errors == 1 ? "error" : "errors", summary->occurrences,
           summary->occurrences == 1 ? "occurrence" : "occurrences", summary->lost,
           summary->lost == 1 ? "record" : "records");
}
