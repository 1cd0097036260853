/* SPDX-License-Identifier: MIT */

/* JSON Lines: one object a distinct failure, the summary last. */

#include "gpuval_report.h"

#include <inttypes.h>
#include <math.h>

#include "util/u_math.h"

/* Writes what stands between two braces, and where commas go. */
struct writer {
   FILE *f;
   bool first;
};

/* Length of the UTF-8 sequence at @s, or 0 if there is none. */
static unsigned
utf8_length(const unsigned char *s)
{
   unsigned length = *s >= 0xf0 && *s < 0xf5 ? 4 : *s >= 0xe0 ? 3 : *s >= 0xc2 ? 2 : 0;
   if (*s >= 0xf5)
      return 0;

   for (unsigned i = 1; i < length; i++) {
      if ((s[i] & 0xc0) != 0x80)
         return 0;
   }
   /* Overlong forms, surrogates, beyond U+10FFFF */
   if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
       (*s == 0xf4 && s[1] > 0x8f))
      return 0;
   return length;
}

static void
write_string(FILE *f, const char *string)
{
   fputc('"', f);
   for (const unsigned char *s = (const unsigned char *)string; *s; s++) {
      if (*s == '"' || *s == '\\') {
         fprintf(f, "\\%c", *s);
      } else if (*s < 0x20 || *s == 0x7f) {
         fprintf(f, "\\u%04x", *s);
      } else if (*s < 0x80) {
         fputc(*s, f);
      } else {
         unsigned length = utf8_length(s);
         if (length) {
            fwrite(s, 1, length, f);
            s += length - 1;
         } else {
            fputs("\\ufffd", f);
         }
      }
   }
   fputc('"', f);
}

void
gpuval_jsonl_write_string(FILE *f, const char *string)
{
   write_string(f, string);
}

static void
key(struct writer *w, const char *name)
{
   fprintf(w->f, "%s\"%s\":", w->first ? "" : ",", name);
   w->first = false;
}

static struct writer
begin(struct writer *parent, const char *name)
{
   key(parent, name);
   fputc('{', parent->f);
   return (struct writer){parent->f, true};
}

static void
end(struct writer *w)
{
   fputc('}', w->f);
}

static void
string(struct writer *w, const char *name, const char *value)
{
   if (value) {
      key(w, name);
      write_string(w->f, value);
   }
}

static void
number(struct writer *w, const char *name, uint64_t value)
{
   key(w, name);
   fprintf(w->f, "%" PRIu64, value);
}

static void
number_if_known(struct writer *w, const char *name, int64_t value)
{
   if (value >= 0)
      number(w, name, value);
}

static void
handle(struct writer *w, const char *name, uint64_t value)
{
   if (value) {
      key(w, name);
      fprintf(w->f, "\"0x%" PRIx64 "\"", value);
   }
}

static void
write_float(FILE *f, uint32_t bits)
{
   float value = uif(bits);

   /* JSON knows no NaN; GPU memory may. */
   if (isfinite(value))
      fprintf(f, "%.9g", value);
   else
      fputs("null", f);
}

static void
write_invocation(struct writer *w, const struct gpuval_event *event)
{
   const uint32_t *words = event->invocation;

   switch (event->place.shader.stage) {
   case MESA_SHADER_VERTEX:
      number(w, "vertex_index", words[0]);
      number(w, "instance_index", words[1]);
      break;
   case MESA_SHADER_TESS_CTRL:
      number(w, "primitive_id", words[1]);
      number(w, "invocation_id", words[0]);
      break;
   case MESA_SHADER_TESS_EVAL:
      number(w, "primitive_id", words[0]);
      key(w, "tess_coord");
      fputc('[', w->f);
      write_float(w->f, words[1]);
      fputc(',', w->f);
      write_float(w->f, words[2]);
      fputc(']', w->f);
      break;
   case MESA_SHADER_GEOMETRY:
      number(w, "primitive_id", words[0]);
      number(w, "invocation_id", words[1]);
      break;
   case MESA_SHADER_FRAGMENT:
      key(w, "frag_coord");
      fputc('[', w->f);
      write_float(w->f, words[0]);
      fputc(',', w->f);
      write_float(w->f, words[1]);
      fputc(']', w->f);
      break;
   default:
      key(w, gl_shader_stage_is_rt(event->place.shader.stage) ? "launch_id" : "global_id");
      fprintf(w->f, "[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", words[0], words[1], words[2]);
      break;
   }
}

static void
write_shader(struct writer *w, const struct gpuval_place *place)
{
   if (!place->has_shader)
      return;

   struct writer sub = begin(w, "shader");
   key(&sub, "hash");
   fprintf(w->f, "\"%016" PRIx64 "\"", place->shader.hash);
   string(&sub, "stage", gpuval_stage_name(place->shader.stage));
   string(&sub, "entry", place->shader.entry);
   string(&sub, "name", place->shader.name);
   end(&sub);

   if (place->source.line) {
      sub = begin(w, "source");
      string(&sub, "file", place->source.file);
      number(&sub, "line", place->source.line);
      if (place->source.column)
         number(&sub, "column", place->source.column);
      string(&sub, "text", place->source.text);
      string(&sub, "function", place->source.function);
      end(&sub);
   }

   if (place->spirv.offset) {
      sub = begin(w, "spirv");
      number(&sub, "offset", place->spirv.offset);
      number_if_known(&sub, "instruction", place->spirv.instruction);
      end(&sub);
   }
}

static void
write_resource(struct writer *w, const struct gpuval_event *event)
{
   struct writer sub = begin(w, "resource");
   number_if_known(&sub, "set", event->resource.set);
   number_if_known(&sub, "binding", event->resource.binding);
   number_if_known(&sub, "index", event->resource.index);
   string(&sub, "type", event->resource.type);
   string(&sub, "name", event->resource.name);
   string(&sub, "object_name", event->resource.object_name);
   number_if_known(&sub, "object_offset", event->resource.object_offset);
   handle(&sub, "memory", event->resource.memory);
   string(&sub, "memory_name", event->resource.memory_name);
   number_if_known(&sub, "memory_offset", event->resource.memory_offset);
   number_if_known(&sub, "size", event->resource.size);
   end(&sub);
}

static void
write_command(struct writer *w, const struct gpuval_command *command)
{
   struct writer sub = begin(w, "command");
   string(&sub, "op", command->op);
   number_if_known(&sub, "index", command->index);
   handle(&sub, "command_buffer", command->command_buffer);
   string(&sub, "command_buffer_name", command->command_buffer_name);
   handle(&sub, "primary", command->primary);
   string(&sub, "primary_name", command->primary_name);
   handle(&sub, "pipeline", command->pipeline);
   string(&sub, "pipeline_name", command->pipeline_name);
   if (command->num_labels) {
      key(&sub, "labels");
      for (unsigned i = 0; i < command->num_labels; i++) {
         fputc(i ? ',' : '[', w->f);
         write_string(w->f, command->labels[i]);
      }
      fputc(']', w->f);
   }
   number_if_known(&sub, "submission", command->submission);
   end(&sub);
}

static void
write_other(struct writer *w, const struct gpuval_place *other)
{
   struct writer sub = begin(w, "other"), access;
   write_shader(&sub, other);
   access = begin(&sub, "access");
   string(&access, "op", gpuval_op_infos[other->access.op].name);
   end(&access);
   if (other->has_command)
      write_command(&sub, &other->command);
   end(&sub);
}

static void
write_event(FILE *f, const struct gpuval_event *event)
{
   const struct gpuval_place *place = &event->place;
   struct writer w = {f, true}, sub;

   fputc('{', f);
   string(&w, "check", gpuval_kind_check_name(event->kind));
   string(&w, "kind", gpuval_kind_infos[event->kind].name);
   string(&w, "severity", gpuval_event_severity(event));
   string(&w, "message", event->message);
   number(&w, "count", event->count);
   write_shader(&w, place);

   if (event->has_record && place->has_shader) {
      sub = begin(&w, "invocation");
      write_invocation(&sub, event);
      end(&sub);
   }

   if (place->access.op) {
      sub = begin(&w, "access");
      string(&sub, "op", gpuval_op_infos[place->access.op].name);
      number_if_known(&sub, "size", place->access.size);
      number_if_known(&sub, "offset", place->access.offset);
      handle(&sub, "address", place->access.address);
      end(&sub);
   }

   if (event->resource.type || event->resource.set >= 0 || event->resource.object)
      write_resource(&w, event);
   if (place->has_command)
      write_command(&w, &place->command);
   if (event->has_other)
      write_other(&w, &event->other);

   fputs("}\n", f);
}

static void
write_jsonl(FILE *f, struct gpuval_event *const *events, unsigned num_events,
            const struct gpuval_summary *summary)
{
   for (unsigned i = 0; i < num_events; i++)
      write_event(f, events[i]);

   fprintf(f,
           "{\"summary\":{\"errors\":%" PRIu64 ",\"occurrences\":%" PRIu64 ",\"lost\":%" PRIu64
           ",\"messages\":%" PRIu64,
           summary->errors, summary->occurrences, summary->lost, summary->messages);
   if (summary->lost_messages)
      fprintf(f, ",\"lost_messages\":%" PRIu64, summary->lost_messages);
   fputs("}}\n", f);
}

const struct gpuval_report_format gpuval_report_jsonl = {
   .ending = ".jsonl",
   .write = write_jsonl,
};
