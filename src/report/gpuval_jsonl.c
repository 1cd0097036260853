/* SPDX-License-Identifier: MIT */

/* JSON Lines: one object a distinct failure, the summary last. */

#include "gpuval_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/gpuval_text.h"
#include "util/macros.h"
#include "gpuval_run.h"

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
         uint32_t harmful = gpuval_utf8_harmful(s, length);
         if (harmful) {
            fprintf(f, "\\u%04x", harmful);
            s += length - 1;
         } else if (length) {
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
write_frame(FILE *f, const struct gpuval_frame *frame)
{
   const struct {
      const char *key, *string;
      uint32_t number;
   } facts[] = {
      {"function", frame->function}, {"file", frame->file},
      {"line", NULL, frame->line},   {"column", NULL, frame->column},
      {"text", frame->text},         {"instruction", NULL, frame->instruction},
      {"module", frame->module},
   };
   const char *separator = "";

   fputc('{', f);
   for (unsigned i = 0; i < ARRAY_SIZE(facts); i++) {
      if (!facts[i].string && !facts[i].number)
         continue;
      fprintf(f, "%s\"%s\":", separator, facts[i].key);
      separator = ",";
      if (facts[i].string)
         write_string(f, facts[i].string);
      else
         fprintf(f, "%" PRIu32, facts[i].number);
   }
   if (frame->offset)
      fprintf(f, "%s\"offset\":\"0x%" PRIx64 "\"", separator, frame->offset);
   fputc('}', f);
}

static void
write_value(FILE *f, const struct gpuval_value *value)
{
   switch (value->type) {
   case GPUVAL_VALUE_FLOAT:
      write_float(f, value->real);
      break;
   case GPUVAL_VALUE_HANDLE:
   case GPUVAL_VALUE_HASH:
      fputc('"', f);
      gpuval_value_write(f, value, write_string);
      fputc('"', f);
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
   case GPUVAL_VALUE_FRAMES:
      for (unsigned i = 0; i < value->count; i++) {
         fputc(i ? ',' : '[', f);
         write_frame(f, &value->frames[i]);
      }
      fputc(']', f);
      break;
   case GPUVAL_VALUE_NAMED:
      for (unsigned i = 0; i < value->count; i++) {
         fputs(i ? ",{\"name\":" : "[{\"name\":", f);
         write_string(f, value->named[i].name);
         fputs(",\"value\":", f);
         write_string(f, value->named[i].value);
         fputc('}', f);
      }
      fputc(']', f);
      break;
   default:
      gpuval_value_write(f, value, write_string);
      break;
   }
}

/* The vertex_index, frag_coord and so on of a stage */
static void
write_invocation(FILE *f, const struct gpuval_row *row)
{
   const struct gpuval_invocation_fact *fact = gpuval_row_invocation_facts(row);
   const struct gpuval_value *words = &row->values[0][gpuval_field_of_invocation()];

   if (!fact)
      return;

   fputs(",\"invocation\":{", f);
   for (unsigned i = 0; fact[i].key; i++) {
      fprintf(f, "%s\"%s\":%s", i ? "," : "", fact[i].key, fact[i].count > 1 ? "[" : "");
      for (unsigned j = 0; j < fact[i].count; j++) {
         if (j)
            fputc(',', f);
         write_value(f, &words[fact[i].word + j]);
      }
      fputs(fact[i].count > 1 ? "]" : "", f);
   }
   fputc('}', f);
}

/* What stands between two braces: of the event, or of the conflicting access. An object may be in
 * the one before it.
 */
static void
write_facts(FILE *f, const struct gpuval_row *row, bool other)
{
   const char *object = "";
   unsigned depth = 0; /* of objects that are open */
   bool is_first = true;

   for (unsigned i = 0; i < gpuval_num_fields; i++) {
      const struct gpuval_field *field = &gpuval_fields[i];
      const struct gpuval_value *value = &row->values[other][i];
      if (strcmp(field->object, object)) {
         bool stays = field->parent && !strcmp(field->parent, object);
         for (; depth && !stays; depth--)
            fputc('}', f);
         object = field->object;
         if (!field->key && !other)
            write_invocation(f, row);
      }

      if (!field->key || !value->type)
         continue;
      for (unsigned wanted = !*object ? 0 : field->parent ? 2 : 1; depth < wanted; depth++) {
         const char *name = depth || !field->parent ? object : field->parent;
         fprintf(f, "%s\"%s\":{", is_first ? "" : ",", name);
         is_first = true;
      }
      fprintf(f, "%s\"%s\":", is_first ? "" : ",", field->key);
      write_value(f, value);
      is_first = false;
   }
   for (; depth; depth--)
      fputc('}', f);
}

/* Of a report of many runs: which of them, and of which machines. */
static void
write_seen(FILE *f, const struct gpuval_row *row)
{
   if (row->baseline)
      fprintf(f, ",\"baseline\":\"%s\"", row->baseline);
   for (unsigned i = 0; i < row->num_seen; i++) {
      fputs(i ? "," : ",\"runs\":[", f);
      fprintf(f, "{\"run\":%" PRIu32 ",\"count\":%" PRIu64 "}", row->seen[i].run,
              row->seen[i].count);
   }
   fputs(row->num_seen ? "]" : "", f);

   for (unsigned i = 0; i < row->num_machines; i++) {
      fputs(i ? "," : ",\"machines\":[", f);
      fputs("{\"host\":", f);
      write_string(f, row->machines[i].host);
      fprintf(f, ",\"runs\":%" PRIu32 ",\"count\":%" PRIu64 "}", row->machines[i].runs,
              row->machines[i].count);
   }
   fputs(row->num_machines ? "]" : "", f);
}

void
gpuval_jsonl_write_row(FILE *f, const struct gpuval_row *row)
{
   fputc('{', f);
   write_facts(f, row, false);
   if (row->has_other) {
      fputs(",\"other\":{", f);
      write_facts(f, row, true);
      fputc('}', f);
   }
   write_seen(f, row);
   fputs("}\n", f);
}

/* Returns what stands before the next member. */
static const char *
write_checked(FILE *f, const char *separator, uint32_t checks, const char *driver, double seconds)
{
   if (checks) {
      fprintf(f, "%s\"checks\":", separator);
      gpuval_checks_write_json(f, checks);
      separator = ",";
   }
   if (driver) {
      fprintf(f, "%s\"driver\":", separator);
      write_string(f, driver);
      separator = ",";
   }
   if (seconds > 0) {
      fprintf(f, "%s\"seconds\":%.3f", separator, seconds);
      separator = ",";
   }
   return separator;
}

/* @in_list: among those of a merged report; alone, what ended the run is the summary's. */
static void
write_run(FILE *f, const struct gpuval_run *run, bool in_list)
{
   const struct {
      const char *key, *value;
   } facts[] = {
      {"host", run->host},
      {"program", run->program},
      {"time", run->time},
      {"file", run->file},
      {"ended", in_list ? run->ended : NULL},
   };
   const char *separator = "{";

   for (unsigned i = 0; i < ARRAY_SIZE(facts); i++) {
      if (!facts[i].value)
         continue;
      fprintf(f, "%s\"%s\":", separator, facts[i].key);
      write_string(f, facts[i].value);
      separator = ",";
   }
   if (run->pid >= 0) {
      fprintf(f, "%s\"pid\":%" PRId64, separator, run->pid);
      separator = ",";
   }
   if (run->incomplete) {
      fprintf(f, "%s\"incomplete\":true", separator);
      separator = ",";
   }
   if (in_list)
      separator = write_checked(f, separator, run->checks, run->driver, run->seconds);
   fputs(*separator == '{' ? "{}" : "}", f);
}

void
gpuval_jsonl_write_summary(FILE *f, const struct gpuval_summary *summary)
{
   fputs("{\"summary\":{", f);
   for (unsigned i = 0; i < gpuval_num_summary_counts; i++) {
      const struct gpuval_summary_count *count = &gpuval_summary_counts[i];
      uint64_t number = *gpuval_summary_count(summary, count);
      if (number || count->always)
         fprintf(f, "%s\"%s\":%" PRIu64, i ? "," : "", count->key, number);
   }
   const struct gpuval_scope scope = gpuval_summary_scope(summary);
   write_checked(f, ",", scope.checks, scope.driver, scope.seconds);
   if (summary->has_baseline)
      fprintf(
         f, ",\"baseline\":{\"new\":%" PRIu64 ",\"unchanged\":%" PRIu64 ",\"absent\":%" PRIu64 "}",
         summary->baseline_new, summary->baseline_unchanged, summary->baseline_absent);
   if (summary->is_merged) {
      fputs(",\"runs\":[", f);
      for (unsigned i = 0; i < summary->num_runs; i++) {
         fputs(i ? "," : "", f);
         write_run(f, gpuval_summary_run(summary, i), true);
      }
      fputc(']', f);
   } else if (summary->num_runs) {
      fputs(",\"run\":", f);
      const struct gpuval_run *run = gpuval_summary_run(summary, 0);
      write_run(f, run, false);
      if (run->ended) {
         fputs(",\"ended\":", f);
         write_string(f, run->ended);
      }
   }
   if (summary->session)
      fprintf(f, ",\"session\":%u", summary->session);
   fputs("}}\n", f);
}

static void
write_row(FILE *f, const struct gpuval_row *row, const struct gpuval_summary *summary,
          unsigned index)
{
   gpuval_jsonl_write_row(f, row);
}

const struct gpuval_report_format gpuval_report_jsonl = {
   .ending = ".jsonl",
   .row = write_row,
   .end = gpuval_jsonl_write_summary,
};
