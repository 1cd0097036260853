/* SPDX-License-Identifier: MIT */

#include "gpuval_row.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "util/macros.h"

void
gpuval_row_from_event(struct gpuval_row *row, const struct gpuval_event *event)
{
   assert(gpuval_num_fields <= GPUVAL_MAX_FIELDS);
   *row = (struct gpuval_row){.has_other = event->has_other};
   for (unsigned i = 0; i < gpuval_num_fields; i++) {
      row->values[0][i] = gpuval_field_value(&gpuval_fields[i], event, false);
      if (event->has_other)
         row->values[1][i] = gpuval_field_value(&gpuval_fields[i], event, true);
   }
}

const struct gpuval_value *
gpuval_row_get(const struct gpuval_row *row, bool other, const char *object, const char *key)
{
   int field = gpuval_field_find(object, key, 0);

   assert(field >= 0);
   return &row->values[other][field];
}

const char *
gpuval_row_string(const struct gpuval_row *row, bool other, const char *object, const char *key)
{
   const struct gpuval_value *value = gpuval_row_get(row, other, object, key);
   bool is_string = value->type == GPUVAL_VALUE_STRING || value->type == GPUVAL_VALUE_WORD;
   return is_string ? value->string : NULL;
}

int64_t
gpuval_row_number(const struct gpuval_row *row, bool other, const char *object, const char *key,
                  int64_t missing)
{
   const struct gpuval_value *value = gpuval_row_get(row, other, object, key);
   return value->type == GPUVAL_VALUE_NUMBER ? value->number : missing;
}

void
gpuval_frame_write(FILE *f, const struct gpuval_frame *frame,
                   void (*write_string)(FILE *f, const char *string))
{
   if (frame->file) {
      write_string(f, frame->file);
      fprintf(f, ":%" PRIu32, frame->line);
      if (frame->column)
         fprintf(f, ":%" PRIu32, frame->column);
   } else if (frame->module) {
      write_string(f, frame->module);
      if (frame->offset)
         fprintf(f, "+0x%" PRIx64, frame->offset);
   }
   if (frame->function) {
      fputs(frame->file || frame->module ? " in " : "", f);
      write_string(f, frame->function);
      fputs(strchr(frame->function, '(') ? "" : "()", f);
   }
}

void
gpuval_value_write(FILE *f, const struct gpuval_value *value,
                   void (*write_string)(FILE *f, const char *string))
{
   switch (value->type) {
   case GPUVAL_VALUE_WORD:
   case GPUVAL_VALUE_STRING:
      write_string(f, value->string);
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
      for (unsigned i = 0; i < value->count; i++) {
         write_string(f, i ? " > " : "");
         write_string(f, value->strings[i]);
      }
      break;
   case GPUVAL_VALUE_NUMBERS:
      for (unsigned i = 0; i < value->count; i++)
         fprintf(f, "%s%" PRId64, i ? " " : "", value->numbers[i]);
      break;
   case GPUVAL_VALUE_FRAMES:
      for (unsigned i = 0; i < value->count; i++) {
         write_string(f, i ? " < " : "");
         gpuval_frame_write(f, &value->frames[i], write_string);
      }
      break;
   case GPUVAL_VALUE_NAMED:
      for (unsigned i = 0; i < value->count; i++) {
         write_string(f, i ? "; " : "");
         write_string(f, value->named[i].name);
         write_string(f, " = ");
         write_string(f, value->named[i].value);
      }
      break;
   case GPUVAL_VALUE_UNKNOWN:
      break;
   }
}

bool
gpuval_run_has_time(const struct gpuval_run *run)
{
   static const char form[] = "0000-00-00T00:00:00Z";

   for (unsigned i = 0; run->time && i < sizeof(form); i++) {
      bool is_digit = run->time[i] >= '0' && run->time[i] <= '9';
      if (form[i] == '0' ? !is_digit : run->time[i] != form[i])
         return false;
   }
   return run->time != NULL;
}

static bool
has_severity(const struct gpuval_row *row, const char *wanted)
{
   const char *severity = gpuval_row_string(row, false, "", "severity");
   return severity && !strcmp(severity, wanted);
}

bool
gpuval_row_is_message(const struct gpuval_row *row)
{
   return has_severity(row, "info");
}

bool
gpuval_row_is_warning(const struct gpuval_row *row)
{
   return has_severity(row, "warning");
}

unsigned
gpuval_field_of_invocation(void)
{
   unsigned field = 0;

   while (gpuval_fields[field].key)
      field++;
   return field;
}

const struct gpuval_invocation_fact *
gpuval_row_invocation_facts(const struct gpuval_row *row)
{
   const struct gpuval_value *words = &row->values[0][gpuval_field_of_invocation()];
   const char *name = gpuval_row_string(row, false, "shader", "stage");

   if (!name || !(words[0].type || words[1].type || words[2].type))
      return NULL;
   for (unsigned stage = 0; stage < MESA_ALL_SHADER_STAGES; stage++) {
      if (!strcmp(gpuval_stage_name(stage), name))
         return gpuval_invocation_facts(stage);
   }
   return NULL;
}
