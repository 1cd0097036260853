/* SPDX-License-Identifier: MIT */

/* The text log: its blocks are printed from rows, so that JUnit XML and ./gpuval report have them,
 * too.
 */

#include "gpuval_report.h"

#include <inttypes.h>
#include <string.h>

#include "base/gpuval_text.h"
#include "util/macros.h"
#include "gpuval_row.h"
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
write_title(FILE *f, const struct gpuval_row *row)
{
   fprintf(f, "%s/%s", gpuval_row_string(row, false, "", "check"),
           gpuval_row_string(row, false, "", "kind"));
}

/* Returns whether @object has @key: of the event, or of the other access. */
static bool
is_known(const struct gpuval_row *row, bool other, const char *object, const char *key)
{
   return gpuval_row_get(row, other, object, key)->type != GPUVAL_VALUE_UNKNOWN;
}

/* Writes @before and then a value, if it is known. */
static void
write_known(FILE *f, const char *before, const struct gpuval_row *row, bool other,
            const char *object, const char *key)
{
   const struct gpuval_value *value = gpuval_row_get(row, other, object, key);

   if (value->type)
      fputs(before, f);
   gpuval_value_write(f, value, gpuval_write_escaped);
}

static void
write_position(FILE *f, const struct gpuval_row *row, bool other)
{
   const char *file = gpuval_row_string(row, other, "source", "file");

   gpuval_write_escaped(f, file ? file : "?");
   write_known(f, ":", row, other, "source", "line");
   write_known(f, ":", row, other, "source", "column");
}

static void
write_source(FILE *f, const struct gpuval_row *row, bool other)
{
   fputs("at ", f);
   write_position(f, row, other);
   write_known(f, " in ", row, other, "source", "function");
   fputs(is_known(row, other, "source", "function") ? "()" : "", f);
   write_known(f, ": ", row, other, "source", "text");
   fputc('\n', f);
}

static void
write_stack(FILE *f, const struct gpuval_row *row, bool other)
{
   const struct gpuval_value *stack = gpuval_row_get(row, other, "", "stack");

   for (unsigned i = 0; stack->type == GPUVAL_VALUE_FRAMES && i < stack->count; i++) {
      const struct gpuval_frame *frame = &stack->frames[i];

      fputs("gpuval:    called from ", f);
      gpuval_write_escaped(f, frame->function ? frame->function : "?");
      if (frame->line) {
         fputs(" at ", f);
         gpuval_write_escaped(f, frame->file ? frame->file : "?");
         fprintf(f, ":%" PRIu32, frame->line);
         if (frame->column)
            fprintf(f, ":%" PRIu32, frame->column);
      }
      fputc('\n', f);
   }
}

static void
write_word(FILE *f, const struct gpuval_value *value)
{
   if (value->type == GPUVAL_VALUE_FLOAT)
      fprintf(f, "%g", value->real);
   else
      gpuval_value_write(f, value, gpuval_write_escaped);
}

static void
write_invocation(FILE *f, const struct gpuval_row *row)
{
   const struct gpuval_invocation_fact *fact = gpuval_row_invocation_facts(row);
   const struct gpuval_value *words = &row->values[0][gpuval_field_of_invocation()];

   for (; fact && fact->key; fact++) {
      fprintf(f, ", %s %s", fact->text, fact->count > 1 ? "(" : "");
      for (unsigned i = 0; i < fact->count; i++) {
         fputs(i ? ", " : "", f);
         write_word(f, &words[fact->word + i]);
      }
      fputs(fact->count > 1 ? ")" : "", f);
   }
}

/* As Mesa calls a stage in messages: "tessellation control", not "tess_ctrl" */
static const char *
get_stage_title(const struct gpuval_row *row, bool other)
{
   const char *name = gpuval_row_string(row, other, "shader", "stage");

   for (unsigned stage = 0; name && stage < MESA_ALL_SHADER_STAGES; stage++) {
      if (!strcmp(gpuval_stage_name(stage), name))
         return _mesa_shader_stage_to_string(stage);
   }
   return "unknown";
}

static void
write_name(FILE *f, const struct gpuval_row *row, bool other, const char *object, const char *key)
{
   const char *name = gpuval_row_string(row, other, object, key);

   if (name)
      write_quoted(f, " ", name);
}

static void
write_shader(FILE *f, const struct gpuval_row *row, bool other)
{
   fprintf(f, "%s shader ", get_stage_title(row, other));
   write_known(f, "", row, other, "shader", "hash");
   write_name(f, row, other, "shader", "name");
   write_known(f, ", instruction ", row, other, "spirv", "instruction");
   if (is_known(row, other, "spirv", "offset") && !is_known(row, other, "source", "line")) {
      write_known(f, " (SPIR-V offset ", row, other, "spirv", "offset");
      fputc(')', f);
   }
}

void
gpuval_text_write_shader(FILE *f, const struct gpuval_event *event)
{
   struct gpuval_row row;

   gpuval_row_from_event(&row, event);
   write_shader(f, &row, false);
   write_invocation(f, &row);
}

/* Writes a handle and the name that the program gave it, if the handle is known. */
static void
write_object(FILE *f, const char *what, const struct gpuval_row *row, bool other,
             const char *object, const char *key)
{
   char name[64];

   if (!is_known(row, other, object, key))
      return;
   write_known(f, what, row, other, object, key);
   snprintf(name, sizeof(name), "%s_name", key);
   write_name(f, row, other, object, name);
}

/* Host calls that a line of the log has; files have all. */
#define MAX_CALLS 4

static void
write_calls(FILE *f, const char *before, const struct gpuval_value *calls)
{
   if (calls->type != GPUVAL_VALUE_FRAMES)
      return;
   for (unsigned i = 0; i < MIN2(calls->count, MAX_CALLS); i++) {
      fputs(i ? ", from " : before, f);
      gpuval_frame_write(f, &calls->frames[i], gpuval_write_escaped);
   }
   fputs(calls->count > MAX_CALLS ? ", …\n" : "\n", f);
}

static void
write_command_line(FILE *f, const struct gpuval_row *row, bool other)
{
   const struct gpuval_value *labels = gpuval_row_get(row, other, "command", "labels");

   write_known(f, "", row, other, "command", "op");
   write_known(f, " ", row, other, "command", "index");
   write_known(f, ", draw ", row, other, "command", "draw");
   write_object(f, " of command buffer ", row, other, "command", "command_buffer");
   write_object(f, ", executed by ", row, other, "command", "primary");
   write_object(f, ", pipeline ", row, other, "command", "pipeline");
   write_known(f, ", shader object ", row, other, "command", "shader");
   for (unsigned i = 0; labels->type == GPUVAL_VALUE_STRINGS && i < labels->count; i++)
      write_quoted(f, i ? " > " : ", labels ", labels->strings[i]);
}

static void
write_command(FILE *f, const struct gpuval_row *row, bool other)
{
   write_command_line(f, row, other);
   fputc('\n', f);
   write_calls(f, "gpuval:    recorded by ", gpuval_row_get(row, other, "command", "recorded"));
}

char *
gpuval_text_of_command(const struct gpuval_event *event)
{
   struct gpuval_row row;
   char *text = NULL;
   size_t size;

   FILE *f = open_memstream(&text, &size);
   if (!f)
      return NULL;
   gpuval_row_from_event(&row, event);
   write_command_line(f, &row, false);
   fclose(f);
   return text;
}

/* The command of the row is one of them. */
static void
write_in_flight(FILE *f, const struct gpuval_row *row)
{
   const struct gpuval_value *lines = gpuval_row_get(row, false, "", "in_flight");

   for (unsigned i = 0; lines->type == GPUVAL_VALUE_STRINGS && i < lines->count; i++) {
      fputs("gpuval:    in flight: ", f);
      gpuval_write_escaped(f, lines->strings[i]);
      fputc('\n', f);
   }
   write_calls(f, "gpuval:    recorded by ", gpuval_row_get(row, false, "command", "recorded"));
}

/* Offset and allocation: what the message does not say of an address */
static void
write_memory(FILE *f, const struct gpuval_row *row)
{
   bool has_buffer = is_known(row, false, "resource", "object_offset");
   bool has_memory = is_known(row, false, "resource", "memory");

   if (!has_buffer && !has_memory)
      return;
   write_known(f, "gpuval:    address ", row, false, "access", "address");
   fputc(':', f);
   if (has_buffer) {
      write_known(f, " offset ", row, false, "resource", "object_offset");
      write_object(f, " of buffer ", row, false, "resource", "object");
   }
   if (has_memory) {
      write_known(f, has_buffer ? ", offset " : " offset ", row, false, "resource",
                  "memory_offset");
      write_object(f, " of memory ", row, false, "resource", "memory");
   }
   fputc('\n', f);
}

/* What was bound; write_memory() has it where an address says more */
static void
write_resource(FILE *f, const struct gpuval_row *row)
{
   const char *type = gpuval_row_string(row, false, "resource", "object_type");
   bool is_image_view = type && !strcmp(type, "image view");

   if (!is_known(row, false, "resource", "object") ||
       is_known(row, false, "resource", "object_offset"))
      return;

   fputs("gpuval:    resource ", f);
   gpuval_write_escaped(f, type ? type : "object");
   write_object(f, " ", row, false, "resource", "object");
   write_known(f, ", bound at offset ", row, false, "resource", "offset");
   write_object(f, is_image_view ? " of image " : " of buffer ", row, false, "resource", "parent");
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
   case GPUVAL_OP_ATTACHMENT_READ:
      return "the read";
   case GPUVAL_OP_STORE:
   case GPUVAL_OP_TRANSFER_WRITE:
   case GPUVAL_OP_ATTACHMENT_WRITE:
      return "the write";
   case GPUVAL_OP_CLEAR:
      return "the clear";
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

static enum gpuval_op
find_op(const char *name)
{
   for (unsigned op = 1; name && op < GPUVAL_OP_COUNT; op++) {
      if (gpuval_op_infos[op].name && !strcmp(gpuval_op_infos[op].name, name))
         return op;
   }
   return 0;
}

static bool
is_export(const struct gpuval_row *row)
{
   return !strcmp(gpuval_row_string(row, false, "", "check"), "export");
}

/* What the shader knows of the conflicting access is what was written down last. */
static void
write_other(FILE *f, const struct gpuval_row *row)
{
   const char *op = gpuval_row_string(row, true, "access", "op");
   const char *likely = is_known(row, true, "", "certain") ? "" : "likely ";
   bool has_command = is_known(row, true, "command", "op");

   if (!is_known(row, true, "shader", "hash")) {
      fprintf(f, "gpuval:    %safter %s%s", likely, get_access_words(find_op(op)),
              has_command ? " of " : "\n");
      if (has_command)
         write_command(f, row, true);
      return;
   }

   if (is_export(row)) {
      if (is_known(row, true, "source", "line")) {
         fputs("gpuval:    came up ", f);
         write_source(f, row, true);
      }
      return;
   }
   fprintf(f, "gpuval:    %safter the ", likely);
   gpuval_write_escaped(f, op ? op : "access");
   fputc(' ', f);
   if (is_known(row, true, "source", "line")) {
      write_source(f, row, true);
      write_stack(f, row, true);
      fprintf(f, "gpuval:    %s", likely);
   }
   fputs("in ", f);
   write_shader(f, row, true);
   fputc('\n', f);
   if (!is_known(row, true, "source", "line"))
      write_stack(f, row, true);
   if (has_command) {
      fprintf(f, "gpuval:    %sin ", likely);
      write_command(f, row, true);
   }
}

static const char *
get_severity(const struct gpuval_row *row)
{
   bool is_note = gpuval_row_is_message(row) &&
                  strcmp(gpuval_row_string(row, false, "", "check"), "printf") != 0;

   return is_note ? "note" : gpuval_row_string(row, false, "", "severity");
}

void
gpuval_text_write_row(FILE *f, const struct gpuval_row *row)
{
   fprintf(f, "gpuval: %s: ", get_severity(row));
   write_title(f, row);
   write_known(f, ": ", row, false, "", "message");
   fputc('\n', f);
   if (is_known(row, false, "source", "line")) {
      fputs("gpuval:    ", f);
      write_source(f, row, false);
   }
   write_stack(f, row, false);
   if (is_known(row, false, "", "values")) {
      write_known(f, "gpuval:    where ", row, false, "", "values");
      fputc('\n', f);
   }
   if (is_known(row, false, "shader", "hash")) {
      fputs("gpuval:    ", f);
      write_shader(f, row, false);
      write_invocation(f, row);
      fputc('\n', f);
   }
   if (is_known(row, false, "", "in_flight")) {
      write_in_flight(f, row);
   } else if (is_known(row, false, "command", "op")) {
      fputs("gpuval:    ", f);
      write_command(f, row, false);
   }
   write_resource(f, row);
   write_memory(f, row);
   write_calls(f, "gpuval:    created by ", gpuval_row_get(row, false, "resource", "created"));
   if (row->has_other)
      write_other(f, row);
}

void
gpuval_text_write_event(FILE *f, const struct gpuval_event *event)
{
   struct gpuval_row row;

   gpuval_row_from_event(&row, event);
   gpuval_text_write_row(f, &row);
   if (event->was_warning)
      fputs("gpuval:    was a warning so far: no store had changed a value\n", f);
}

static void
write_counts(FILE *f, const struct gpuval_row *row)
{
   int64_t count = gpuval_row_number(row, false, "", "count", 0);

   fprintf(f, "gpuval: %" PRId64 " %s: ", count, count == 1 ? "time" : "times");
   write_title(f, row);
   if (is_known(row, false, "source", "line")) {
      fputs(" at ", f);
      write_position(f, row, false);
   } else if (!is_known(row, false, "shader", "hash")) {
      fputs(" in ", f);
      fputs(is_known(row, false, "command", "op") ? "" : "a command", f);
      write_known(f, "", row, false, "command", "op");
   } else {
      write_known(f, " in shader ", row, false, "shader", "hash");
      write_known(f, ", instruction ", row, false, "spirv", "instruction");
   }
   if (is_known(row, false, "", "same_value"))
      fputs(", never changing a value", f);
   write_known(f, ", fingerprint ", row, false, "", "fingerprint");
   fputc('\n', f);
}

void
gpuval_text_write_counts(FILE *f, struct gpuval_event *const *events, unsigned num_events)
{
   struct gpuval_row row;

   for (unsigned i = 0; i < num_events; i++) {
      if (gpuval_event_is_message(events[i]) || gpuval_event_is_note(events[i]))
         continue;
      gpuval_row_from_event(&row, events[i]);
      write_counts(f, &row);
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
