/* SPDX-License-Identifier: MIT */

/* CSV (RFC 4180): the facts of the JSON Lines report, one column each. */

#include "gpuval_report.h"

#include <inttypes.h>

#include "base/gpuval_text.h"
#include "gpuval_fields.h"

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

static void
write_value(FILE *f, const struct gpuval_value *value)
{
   switch (value->type) {
   case GPUVAL_VALUE_WORD:
      fputs(value->string, f);
      break;
   case GPUVAL_VALUE_STRING:
      fputc('"', f);
      write_chars(f, value->string);
      fputc('"', f);
      break;
   case GPUVAL_VALUE_NUMBER:
      fprintf(f, "%" PRId64, value->number);
      break;
   case GPUVAL_VALUE_FLOAT:
      fprintf(f, "%.9g", value->real);
      break;
   case GPUVAL_VALUE_HANDLE:
      fprintf(f, "0x%" PRIx64, value->bits);
      break;
   case GPUVAL_VALUE_HASH:
      fprintf(f, "%016" PRIx64, value->bits);
      break;
   case GPUVAL_VALUE_TRUE:
      fputs("true", f);
      break;
   case GPUVAL_VALUE_STRINGS:
      fputc('"', f);
      for (unsigned i = 0; i < value->count; i++) {
         fputs(i ? " > " : "", f);
         write_chars(f, value->strings[i]);
      }
      fputc('"', f);
      break;
   case GPUVAL_VALUE_NUMBERS:
      for (unsigned i = 0; i < value->count; i++)
         fprintf(f, "%s%" PRId64, i ? " " : "", value->numbers[i]);
      break;
   case GPUVAL_VALUE_UNKNOWN:
      break;
   }
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

/* One line; of the columns' names if there is no event. */
static void
write_line(FILE *f, const struct gpuval_event *event)
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
            if (event) {
               struct gpuval_value value = gpuval_field_value(field, event, other);
               write_value(f, &value);
            } else {
               write_name(f, field, other);
            }
         }
      }
   }
   fputs("\r\n", f);
}

static void
write_csv(FILE *f, struct gpuval_event *const *events, unsigned num_events,
          const struct gpuval_summary *summary)
{
   write_line(f, NULL);
   for (unsigned i = 0; i < num_events; i++)
      write_line(f, events[i]);
}

const struct gpuval_report_format gpuval_report_csv = {
   .ending = ".csv",
   .write = write_csv,
};
