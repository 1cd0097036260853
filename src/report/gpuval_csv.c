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
   bool is_fragment = event->shader.stage == MESA_SHADER_FRAGMENT;
   bool is_tess_eval = event->shader.stage == MESA_SHADER_TESS_EVAL;

   for (unsigned i = 0; i < 3; i++) {
      if ((is_fragment && i < 2) || (is_tess_eval && i > 0))
         real(f, event->has_record, event->invocation[i]);
      else
         number(f, event->has_record && !is_fragment, event->invocation[i]);
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
write_event(FILE *f, const struct gpuval_event *event)
{
   const struct gpuval_command *command = &event->command;
   bool has_access = event->access.op && event->has_record;

   fprintf(f, "%s,%s,%" PRIu64, gpuval_check_infos[gpuval_kind_infos[event->kind].check].name,
           gpuval_kind_infos[event->kind].name, event->count);
   string(f, event->message);
   string(f, gpuval_event_severity(event));
   fprintf(f, ",%016" PRIx64, event->shader.hash);
   string(f, gpuval_stage_name(event->shader.stage));
   string(f, event->shader.entry);
   string(f, event->shader.name);
   string(f, event->source.file);
   number(f, event->source.line, event->source.line);
   number(f, event->source.column, event->source.column);
   string(f, event->source.text);
   string(f, event->source.function);
   number(f, event->spirv.offset, event->spirv.offset);
   number(f, event->spirv.instruction >= 0, event->spirv.instruction);
   invocation(f, event);
   string(f, gpuval_op_names[event->access.op]);
   number(f, has_access, event->access.size);
   number(f, has_access, event->access.offset);
   handle(f, event->access.address);
   number(f, event->resource.set >= 0, event->resource.set);
   number(f, event->resource.binding >= 0, event->resource.binding);
   number(f, event->resource.index >= 0, event->resource.index);
   string(f, event->resource.type);
   string(f, event->resource.name);
   string(f, event->resource.object_name);
   number(f, event->resource.size >= 0, event->resource.size);
   string(f, command->op);
   number(f, event->has_command && command->index >= 0, command->index);
   handle(f, command->command_buffer);
   string(f, command->command_buffer_name);
   handle(f, command->primary);
   string(f, command->primary_name);
   handle(f, command->pipeline);
   string(f, command->pipeline_name);
   labels(f, command);
   number(f, event->has_command && command->submission >= 0, command->submission);
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
         "pipeline_name,labels,submission\r\n",
         f);

   for (unsigned i = 0; i < num_events; i++)
      write_event(f, events[i]);
}

const struct gpuval_report_format gpuval_report_csv = {
   .ending = ".csv",
   .write = write_csv,
};
