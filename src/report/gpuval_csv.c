/* SPDX-License-Identifier: MIT */

/* CSV (RFC 4180): the facts of the JSON Lines report, one column each. */

#include "gpuval_report.h"

#include <inttypes.h>

#include "util/ralloc.h"
#include "util/u_math.h"

static void
string(FILE *f, const char *value)
{
   fputc(',', f);
   if (!value)
      return;

   fputc('"', f);
   for (; *value; value++) {
      if (*value == '"')
         fputc('"', f);
      fputc(*value, f);
   }
   fputc('"', f);
}

static void
number(FILE *f, bool known, uint64_t value)
{
   fputc(',', f);
   if (known)
      fprintf(f, "%" PRIu64, value);
}

static void
handle(FILE *f, uint64_t value)
{
   fputc(',', f);
   if (value)
      fprintf(f, "0x%" PRIx64, value);
}

static void
real(FILE *f, bool known, uint32_t bits)
{
   fputc(',', f);
   if (known)
      fprintf(f, "%.9g", uif(bits));
}

/* Three columns, by stage as in docs/reports.rst */
static void
invocation(FILE *f, const struct gpuval_event *event)
{
   bool known = event->has_record && event->place.has_shader;
   bool is_fragment = event->place.shader.stage == MESA_SHADER_FRAGMENT;
   bool is_tess_eval = event->place.shader.stage == MESA_SHADER_TESS_EVAL;

   for (unsigned i = 0; i < 3; i++) {
      if ((is_fragment && i < 2) || (is_tess_eval && i > 0))
         real(f, known, event->invocation[i]);
      else
         number(f, known && !is_fragment, event->invocation[i]);
   }
}

static void
labels(FILE *f, const struct gpuval_command *command)
{
   char *joined = ralloc_strdup(NULL, "");
   for (unsigned i = 0; i < command->num_labels; i++)
      ralloc_asprintf_append(&joined, "%s%s", i ? " > " : "", command->labels[i]);
   string(f, *joined ? joined : NULL);
   ralloc_free(joined);
}

static void
shader(FILE *f, const struct gpuval_place *place)
{
   bool known = place->has_shader;

   fputc(',', f);
   if (known)
      fprintf(f, "%016" PRIx64, place->shader.hash);
   string(f, known ? gpuval_stage_name(place->shader.stage) : NULL);
   string(f, place->shader.entry);
   string(f, place->shader.name);
   string(f, place->source.file);
   number(f, place->source.line, place->source.line);
   number(f, place->source.column, place->source.column);
   string(f, place->source.text);
   string(f, place->source.function);
   number(f, place->spirv.offset, place->spirv.offset);
   number(f, known && place->spirv.instruction >= 0, place->spirv.instruction);
}

static void
command(FILE *f, const struct gpuval_place *place)
{
   const struct gpuval_command *command = &place->command;

   string(f, command->op);
   number(f, place->has_command && command->index >= 0, command->index);
   handle(f, command->command_buffer);
   string(f, command->command_buffer_name);
   handle(f, command->primary);
   string(f, command->primary_name);
   handle(f, command->pipeline);
   string(f, command->pipeline_name);
   labels(f, command);
   number(f, place->has_command && command->submission >= 0, command->submission);
}

static void
write_event(FILE *f, const struct gpuval_event *event)
{
   const struct gpuval_place *place = &event->place;

   fprintf(f, "%s,%s,%" PRIu64, gpuval_kind_check_name(event->kind),
           gpuval_kind_infos[event->kind].name, event->count);
   string(f, event->message);
   string(f, gpuval_event_severity(event));
   shader(f, place);
   invocation(f, event);
   string(f, gpuval_op_infos[place->access.op].name);
   number(f, place->access.size >= 0, place->access.size);
   number(f, place->access.offset >= 0, place->access.offset);
   handle(f, place->access.address);
   number(f, event->resource.set >= 0, event->resource.set);
   number(f, event->resource.binding >= 0, event->resource.binding);
   number(f, event->resource.index >= 0, event->resource.index);
   string(f, event->resource.type);
   string(f, event->resource.name);
   string(f, event->resource.object_name);
   number(f, event->resource.size >= 0, event->resource.size);
   command(f, place);
   number(f, event->resource.object_offset >= 0, event->resource.object_offset);
   handle(f, event->resource.memory);
   string(f, event->resource.memory_name);
   number(f, event->resource.memory_offset >= 0, event->resource.memory_offset);
   shader(f, &event->other);
   string(f, gpuval_op_infos[event->other.access.op].name);
   command(f, &event->other);
   fputs("\r\n", f);
}

static void
write_csv(FILE *f, struct gpuval_event *const *events, unsigned num_events,
          const struct gpuval_summary *summary)
{
   fputs("check,kind,count,message,severity,shader_hash,shader_stage,shader_entry,shader_name,"
         "source_file,source_line,source_column,source_text,source_function,spirv_offset,"
         "spirv_instruction,invocation_0,invocation_1,invocation_2,access_op,access_size,"
         "access_offset,access_address,resource_set,resource_binding,resource_index,"
         "resource_type,resource_name,resource_object_name,resource_size,command_op,"
         "command_index,command_buffer,command_buffer_name,primary,primary_name,pipeline,"
         "pipeline_name,labels,submission,resource_object_offset,resource_memory,"
         "resource_memory_name,resource_memory_offset,other_shader_hash,other_shader_stage,"
         "other_shader_entry,other_shader_name,other_source_file,other_source_line,"
         "other_source_column,other_source_text,other_source_function,other_spirv_offset,"
         "other_spirv_instruction,other_access_op,other_command_op,other_command_index,"
         "other_command_buffer,other_command_buffer_name,other_primary,other_primary_name,"
         "other_pipeline,other_pipeline_name,other_labels,other_submission\r\n",
         f);

   for (unsigned i = 0; i < num_events; i++)
      write_event(f, events[i]);
}

const struct gpuval_report_format gpuval_report_csv = {
   .ending = ".csv",
   .write = write_csv,
};
