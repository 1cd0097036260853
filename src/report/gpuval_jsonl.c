/* SPDX-License-Identifier: MIT */

/* JSON Lines: one object a distinct failure, the summary last. */

#include "gpuval_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/gpuval_text.h"
#include "util/u_math.h"
#include "gpuval_fields.h"

static void
write_string(FILE *f, const char *string)
{
   fputc('"', f);
   for (const char *s = string; *s; s++) {
      unsigned char byte = *s;
      if (byte == '"' || byte == '\\') {
         fprintf(f, "\\%c", byte);
      } else if (byte < 0x20 || byte == 0x7f) {
         fprintf(f, "\\u%04x", byte);
      } else {
         unsigned length = gpuval_utf8_length(s);
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
write_float(FILE *f, float value)
{
   /* JSON knows no NaN; GPU memory may. */
   if (isfinite(value))
      fprintf(f, "%.9g", value);
   else
      fputs("null", f);
}

static void
write_value(FILE *f, const struct gpuval_value *value)
{
   switch (value->type) {
   case GPUVAL_VALUE_STRING:
   case GPUVAL_VALUE_WORD:
      write_string(f, value->string);
      break;
   case GPUVAL_VALUE_NUMBER:
      fprintf(f, "%" PRId64, value->number);
      break;
   case GPUVAL_VALUE_FLOAT:
      write_float(f, value->real);
      break;
   case GPUVAL_VALUE_HANDLE:
      fprintf(f, "\"0x%" PRIx64 "\"", value->bits);
      break;
   case GPUVAL_VALUE_HASH:
      fprintf(f, "\"%016" PRIx64 "\"", value->bits);
      break;
   case GPUVAL_VALUE_TRUE:
      fputs("true", f);
      break;
   case GPUVAL_VALUE_STRINGS:
   case GPUVAL_VALUE_NUMBERS:
      fputc('[', f);
      for (unsigned i = 0; i < value->count; i++) {
         if (i)
            fputc(',', f);
         if (value->type == GPUVAL_VALUE_STRINGS)
            write_string(f, value->strings[i]);
         else
            fprintf(f, "%" PRId64, value->numbers[i]);
      }
      fputc(']', f);
      break;
   case GPUVAL_VALUE_UNKNOWN:
      break;
   }
}

/* The vertex_index, frag_coord and so on of a stage */
static void
write_invocation(FILE *f, const struct gpuval_event *event)
{
   const struct gpuval_invocation_fact *fact = gpuval_invocation_facts(event->place.shader.stage);

   if (!event->has_record || !event->place.has_shader)
      return;

   fputs(",\"invocation\":{", f);
   for (unsigned i = 0; fact[i].key; i++) {
      fprintf(f, "%s\"%s\":%s", i ? "," : "", fact[i].key, fact[i].count > 1 ? "[" : "");
      for (unsigned j = 0; j < fact[i].count; j++) {
         uint32_t word = event->invocation[fact[i].word + j];
         if (j)
            fputc(',', f);
         if (fact[i].is_float)
            write_float(f, uif(word));
         else
            fprintf(f, "%" PRIu32, word);
      }
      fputs(fact[i].count > 1 ? "]" : "", f);
   }
   fputc('}', f);
}

/* What stands between two braces: of the event, or of the other party. */
static void
write_facts(FILE *f, const struct gpuval_event *event, bool other)
{
   const char *object = "";
   bool is_open = false; /* the object */
   bool is_first = true;

   for (unsigned i = 0; i < gpuval_num_fields; i++) {
      const struct gpuval_field *field = &gpuval_fields[i];
      if (strcmp(field->object, object)) {
         fputs(is_open ? "}" : "", f);
         is_open = false;
         object = field->object;
         if (!field->key && !other)
            write_invocation(f, event);
      }

      struct gpuval_value value = gpuval_field_value(field, event, other);
      if (!field->key || !value.type)
         continue;
      bool opens = *object && !is_open;
      if (opens)
         fprintf(f, "%s\"%s\":{", is_first ? "" : ",", object);
      fprintf(f, "%s\"%s\":", opens || is_first ? "" : ",", field->key);
      write_value(f, &value);
      is_open |= opens;
      is_first = false;
   }
   fputs(is_open ? "}" : "", f);
}

static void
write_event(FILE *f, const struct gpuval_event *event)
{
   fputc('{', f);
   write_facts(f, event, false);
   if (event->has_other) {
      fputs(",\"other\":{", f);
      write_facts(f, event, true);
      fputc('}', f);
   }
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
           ",\"messages\":%" PRIu64 ",\"lost_messages\":%" PRIu64 ",\"shaders\":%" PRIu64,
           summary->errors, summary->occurrences, summary->lost, summary->messages,
           summary->lost_messages, summary->shaders);
   if (summary->suppressed)
      fprintf(f, ",\"suppressed\":%" PRIu64 ",\"suppressed_occurrences\":%" PRIu64,
              summary->suppressed, summary->suppressed_occurrences);
   fputs("}}\n", f);
}

const struct gpuval_report_format gpuval_report_jsonl = {
   .ending = ".jsonl",
   .write = write_jsonl,
};
