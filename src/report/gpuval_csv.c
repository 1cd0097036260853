/* SPDX-License-Identifier: MIT */

/* CSV (RFC 4180): the facts of the JSON Lines report, one column each. */

#include "gpuval_report.h"

#include <string.h>

#include "base/gpuval_text.h"

static void
write_chars(FILE *f, const char *string)
{
   for (; *string; string++) {
      unsigned length = gpuval_utf8_length(string);
      if (*string == '"')
         fputc('"', f);
      if (length)
         fwrite(string, 1, length, f);
      else
         fputs("\xef\xbf\xbd", f); /* U+FFFD, as in JSON */
      string += length ? length - 1 : 0;
   }
}

/* Spreadsheets take what begins so for a formula, in quotes, too, and names come from the program:
 * an apostrophe in front says that it is text.
 */
static void
begin_text(FILE *f, const char *string)
{
   fputs(string && *string && strchr("=+-@\t\r", *string) ? "\"'" : "\"", f);
}

/* What the text of @value begins with; NULL: nothing */
static const char *
get_begin(const struct gpuval_value *value)
{
   if (value->type == GPUVAL_VALUE_STRING)
      return value->string;
   if (!value->count)
      return NULL;
   if (value->type == GPUVAL_VALUE_STRINGS)
      return value->strings[0];
   if (value->type == GPUVAL_VALUE_NAMED)
      return value->named->name;
   const struct gpuval_frame *frame = value->frames;
   return frame->file ? frame->file : frame->module ? frame->module : frame->function;
}

static void
write_value(FILE *f, const struct gpuval_value *value)
{
   bool is_text = value->type == GPUVAL_VALUE_STRING || value->type == GPUVAL_VALUE_STRINGS ||
                  value->type == GPUVAL_VALUE_FRAMES || value->type == GPUVAL_VALUE_NAMED;

   if (is_text)
      begin_text(f, get_begin(value));
   gpuval_value_write(f, value, write_chars);
   fputs(is_text ? "\"" : "", f);
}

static void
write_name(FILE *f, const struct gpuval_field *field, bool other)
{
   fputs(other ? "other_" : "", f);
   if (field->column)
      fputs(field->column, f);
   else
      fprintf(f, "%s%s%s", field->object, *field->object ? "_" : "", field->key);
}

/* One line; of the columns' names if there is no row. */
static void
write_line(FILE *f, const struct gpuval_row *row)
{
   const char *separator = "";

   for (unsigned columns = GPUVAL_COLUMNS_HEAD; columns < GPUVAL_COLUMNS_END; columns++) {
      for (unsigned other = 0; other < 2; other++) {
         for (unsigned i = 0; i < gpuval_num_fields; i++) {
            const struct gpuval_field *field = &gpuval_fields[i];
            if (gpuval_field_columns(field, other) != columns)
               continue;
            fputs(separator, f);
            separator = ",";
            if (row)
               write_value(f, &row->values[other][i]);
            else
               write_name(f, field, other);
         }
      }
   }
}

/* What a report of many runs has beyond. */
static void
write_seen(FILE *f, const struct gpuval_row *row)
{
   fprintf(f, ",%s,", row->baseline ? row->baseline : "");
   if (row->num_seen)
      fprintf(f, "%u", row->num_seen);
   fputc(',', f);
   for (unsigned i = 0; i < row->num_machines; i++) {
      if (i)
         fputc(' ', f);
      else
         begin_text(f, row->machines[i].host);
      write_chars(f, row->machines[i].host);
   }
   fputs(row->num_machines ? "\"\r\n" : "\r\n", f);
}

static void
write_header(FILE *f, const struct gpuval_summary *summary)
{
   write_line(f, NULL);
   fputs(",baseline,runs,machines\r\n", f);
}

static void
write_row(FILE *f, const struct gpuval_row *row, const struct gpuval_summary *summary,
          unsigned index)
{
   write_line(f, row);
   write_seen(f, row);
}

const struct gpuval_report_format gpuval_report_csv = {
   .ending = ".csv",
   .begin = write_header,
   .row = write_row,
};
