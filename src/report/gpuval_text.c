/* SPDX-License-Identifier: MIT */

/* The text log. */

#include "gpuval_report.h"

#include <inttypes.h>

#include <vulkan/vulkan_core.h>

#include "base/gpuval_text.h"
#include "util/u_math.h"
#include "gpuval_fields.h"
#include "gpuval_run.h"

/* Everything that comes from the application is escaped: it would end a line, forge
 * others, or do something to the terminal.
 */
static void
write_quoted(FILE *f, const char *before, const char *text)
{
   fprintf(f, "%s\"", before);
   gpuval_write_escaped(f, text);
   fputc('"', f);
}

static void
write_title(FILE *f, const struct gpuval_event *event)
{
   fprintf(f, "%s/%s", gpuval_kind_check_name(event->kind), gpuval_kind_infos[event->kind].name);
}

static void
write_position(FILE *f, const struct gpuval_place *place)
{
   gpuval_write_escaped(f, place->source.file ? place->source.file : "?");
   fprintf(f, ":%" PRIu32, place->source.line);
   if (place->source.column)
      fprintf(f, ":%" PRIu32, place->source.column);
}

static void
write_source(FILE *f, const struct gpuval_place *place)
{
   fprintf(f, "at ");
   write_position(f, place);
   if (place->source.function) {
      fputs(" in ", f);
      gpuval_write_escaped(f, place->source.function);
      fputs("()", f);
   }
   if (place->source.text) {
      fputs(": ", f);
      gpuval_write_escaped(f, place->source.text);
   }
   fputc('\n', f);
}

static void
write_invocation(FILE *f, const struct gpuval_event *event)
{
   const struct gpuval_invocation_fact *fact = gpuval_invocation_facts(event->place.shader.stage);

   for (; fact->key; fact++) {
      fprintf(f, ", %s %s", fact->text, fact->count > 1 ? "(" : "");
      for (unsigned i = 0; i < fact->count; i++) {
         uint32_t word = event->invocation[fact->word + i];
         if (fact->is_float)
            fprintf(f, "%s%g", i ? ", " : "", uif(word));
         else
            fprintf(f, "%s%" PRIu32, i ? ", " : "", word);
      }
      fputs(fact->count > 1 ? ")" : "", f);
   }
}

static void
write_shader(FILE *f, const struct gpuval_place *place)
{
   fprintf(f, "%s shader %016" PRIx64, _mesa_shader_stage_to_string(place->shader.stage),
           place->shader.hash);
   if (place->shader.name)
      write_quoted(f, " ", place->shader.name);
   if (place->spirv.instruction >= 0)
      fprintf(f, ", instruction %" PRId64, place->spirv.instruction);
   if (place->spirv.offset && !place->source.line)
      fprintf(f, " (SPIR-V offset %" PRIu32 ")", place->spirv.offset);
}

void
gpuval_text_write_shader(FILE *f, const struct gpuval_event *event)
{
   write_shader(f, &event->place);
   if (event->has_record)
      write_invocation(f, event);
}

static void
write_object(FILE *f, const char *what, uint64_t handle, const char *name)
{
   fprintf(f, "%s0x%" PRIx64, what, handle);
   if (name)
      write_quoted(f, " ", name);
}

static void
write_command(FILE *f, const struct gpuval_command *command)
{
   fprintf(f, "%s", command->op);
   if (command->index >= 0)
      fprintf(f, " %" PRId64, command->index);
   if (command->has_draw)
      fprintf(f, ", draw %" PRIu32, command->draw);
   if (command->command_buffer)
      write_object(f, " of command buffer ", command->command_buffer, command->command_buffer_name);
   if (command->primary)
      write_object(f, ", executed by ", command->primary, command->primary_name);
   if (command->pipeline)
      write_object(f, ", pipeline ", command->pipeline, command->pipeline_name);
   if (command->shader)
      write_object(f, ", shader object ", command->shader, NULL);
   for (unsigned i = 0; i < command->num_labels; i++)
      write_quoted(f, i ? " > " : ", labels ", command->labels[i]);
   fputc('\n', f);
}

/* Offset and allocation: what the message does not say of an address */
static void
write_memory(FILE *f, const struct gpuval_event *event)
{
   bool has_buffer = event->resource.object_offset >= 0;

   if (!has_buffer && !event->resource.memory)
      return;
   fprintf(f, "gpuval:    address 0x%" PRIx64 ":", event->place.access.address);
   if (has_buffer) {
      fprintf(f, " offset %" PRId64, event->resource.object_offset);
      write_object(f, " of buffer ", event->resource.object, event->resource.object_name);
   }
   if (event->resource.memory) {
      fprintf(f, "%s offset %" PRId64, has_buffer ? "," : "", event->resource.memory_offset);
      write_object(f, " of memory ", event->resource.memory, event->resource.memory_name);
   }
   fputc('\n', f);
}

/* What was bound; write_memory() has it where an address says more */
static void
write_resource(FILE *f, const struct gpuval_event *event)
{
   if (!event->resource.object || event->resource.object_offset >= 0)
      return;

   fprintf(f, "gpuval:    resource %s", gpuval_object_type_name(event->resource.object_type));
   write_object(f, " ", event->resource.object, event->resource.object_name);
   if (event->resource.offset >= 0)
      fprintf(f, ", bound at offset %" PRId64, event->resource.offset);
   if (event->resource.parent) {
      fprintf(f, " of %s",
              event->resource.object_type == VK_OBJECT_TYPE_IMAGE_VIEW ? "image" : "buffer");
      write_object(f, " ", event->resource.parent, event->resource.parent_name);
   }
   fputc('\n', f);
}

/* An access of a command without a shader */
static const char *
get_access_words(enum gpuval_op op)
{
   switch (op) {
   case GPUVAL_OP_INDIRECT:
      return "the read of the arguments";
   case GPUVAL_OP_LOAD:
   case GPUVAL_OP_TRANSFER_READ:
      return "the read";
   case GPUVAL_OP_STORE:
   case GPUVAL_OP_TRANSFER_WRITE:
      return "the write";
   case GPUVAL_OP_INDEX:
      return "the fetch of an index";
   case GPUVAL_OP_ATTRIBUTE:
      return "the fetch of an attribute";
   case GPUVAL_OP_COUNTER:
      return "the access to the counter or predicate";
   default:
      return "another access";
   }
}

/* What the shader knows of the other party is what was written down last. */
static void
write_other(FILE *f, const struct gpuval_event *event)
{
   const struct gpuval_place *other = &event->other;

   const char *likely = event->other_is_certain ? "" : "likely ";

   if (!other->has_shader) {
      fprintf(f, "gpuval:    %safter %s", likely, get_access_words(other->access.op));
      fputs(other->has_command ? " of " : "\n", f);
      if (other->has_command)
         write_command(f, &other->command);
      return;
   }

   fprintf(f, "gpuval:    %safter the %s ", likely, gpuval_op_infos[other->access.op].name);
   if (other->source.line) {
      write_source(f, other);
      fprintf(f, "gpuval:    %sin ", likely);
   } else {
      fprintf(f, "in ");
   }
   write_shader(f, other);
   fputc('\n', f);
   if (other->has_command) {
      fprintf(f, "gpuval:    %sin ", likely);
      write_command(f, &other->command);
   }
}

void
gpuval_text_write_event(FILE *f, const struct gpuval_event *event)
{
   const struct gpuval_place *place = &event->place;

   fprintf(f, "gpuval: %s: ", gpuval_event_severity(event));
   write_title(f, event);
   fputs(": ", f);
   gpuval_write_escaped(f, event->message);
   fputc('\n', f);
   if (place->source.line) {
      fprintf(f, "gpuval:    ");
      write_source(f, place);
   }
   if (place->has_shader) {
      fprintf(f, "gpuval:    ");
      write_shader(f, place);
      if (event->has_record)
         write_invocation(f, event);
      fputc('\n', f);
   }
   if (place->has_command) {
      fprintf(f, "gpuval:    ");
      write_command(f, &place->command);
   }
   write_resource(f, event);
   write_memory(f, event);
   if (event->has_other)
      write_other(f, event);
   if (event->was_warning)
      fputs("gpuval:    was a warning so far: no store had changed a value\n", f);
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
      const struct gpuval_place *place = &events[i]->place;
      if (place->source.line) {
         fprintf(f, " at ");
         write_position(f, place);
      } else if (!place->has_shader) {
         fprintf(f, " in %s", place->has_command ? place->command.op : "a command");
      } else {
         fprintf(f, " in shader %016" PRIx64, place->shader.hash);
         if (place->spirv.instruction >= 0)
            fprintf(f, ", instruction %" PRId64, place->spirv.instruction);
      }
      if (events[i]->same_value)
         fputs(", never changing a value", f);
      if (*events[i]->fingerprint)
         fprintf(f, ", fingerprint %s", events[i]->fingerprint);
      fputc('\n', f);
   }
}

void
gpuval_text_write_summary(FILE *f, const struct gpuval_summary *summary)
{
   if (summary->lost_messages)
      fprintf(f, "gpuval: %" PRIu64 " %s of shaders printed, %" PRIu64 " lost\n", summary->messages,
              summary->messages == 1 ? "message" : "messages", summary->lost_messages);

   bool is_clean = !summary->errors && !summary->warnings && !summary->lost;
   if (is_clean) {
      if (!summary->session)
         gpuval_scope_write_missing(f, summary);
      fprintf(f, "gpuval: no errors");
   } else {
      fprintf(f, "gpuval: %" PRIu64 " %s (%" PRIu64 " %s)", summary->errors,
              summary->errors == 1 ? "error" : "errors", summary->occurrences,
              summary->occurrences == 1 ? "occurrence" : "occurrences");
      if (summary->warnings)
         fprintf(f, ", %" PRIu64 " %s", summary->warnings,
                 summary->warnings == 1 ? "warning" : "warnings");
      fprintf(f, ", %" PRIu64 " %s lost", summary->lost, summary->lost == 1 ? "record" : "records");
   }
   if (summary->suppressed)
      fprintf(f, ", %" PRIu64 " suppressed (%" PRIu64 " %s)", summary->suppressed,
              summary->suppressed_occurrences,
              summary->suppressed_occurrences == 1 ? "occurrence" : "occurrences");
   if (summary->outside)
      fprintf(f, ", %" PRIu64 " outside of sessions (%" PRIu64 " %s)", summary->outside,
              summary->outside_occurrences,
              summary->outside_occurrences == 1 ? "occurrence" : "occurrences");
   if (is_clean)
      gpuval_scope_write(f, summary);
   fputc('\n', f);
}
