/* SPDX-License-Identifier: MIT */

#include "gpuval_fields.h"

#include <assert.h>
#include <string.h>

#include "base/gpuval_backtrace.h"
#include "util/macros.h"
#include "util/u_math.h"

/* What an invocation is known by */

static const struct gpuval_invocation_fact vertex_facts[] = {
   {"vertex_index", "vertex", 0, 1},
   {"instance_index", "instance", 1, 1},
   {NULL},
};
static const struct gpuval_invocation_fact tess_ctrl_facts[] = {
   {"primitive_id", "primitive", 1, 1},
   {"invocation_id", "invocation", 0, 1},
   {NULL},
};
static const struct gpuval_invocation_fact tess_eval_facts[] = {
   {"primitive_id", "primitive", 0, 1},
   {"tess_coord", "coordinate", 1, 2, .is_float = true},
   {NULL},
};
static const struct gpuval_invocation_fact geometry_facts[] = {
   {"primitive_id", "primitive", 0, 1},
   {"invocation_id", "invocation", 1, 1},
   {NULL},
};
static const struct gpuval_invocation_fact fragment_facts[] = {
   {"frag_coord", "fragment", 0, 2, .is_float = true},
   {NULL},
};
static const struct gpuval_invocation_fact global_facts[] = {
   {"global_id", "invocation", 0, 3},
   {NULL},
};
static const struct gpuval_invocation_fact launch_facts[] = {
   {"launch_id", "invocation", 0, 3},
   {NULL},
};

const struct gpuval_invocation_fact *
gpuval_invocation_facts(mesa_shader_stage stage)
{
   switch (stage) {
   case MESA_SHADER_VERTEX:
      return vertex_facts;
   case MESA_SHADER_TESS_CTRL:
      return tess_ctrl_facts;
   case MESA_SHADER_TESS_EVAL:
      return tess_eval_facts;
   case MESA_SHADER_GEOMETRY:
      return geometry_facts;
   case MESA_SHADER_FRAGMENT:
      return fragment_facts;
   default:
      return mesa_shader_stage_is_rt(stage) ? launch_facts : global_facts;
   }
}

/* Values */

static void
set_string(struct gpuval_value *value, const char *string)
{
   if (string)
      *value = (struct gpuval_value){GPUVAL_VALUE_STRING, .string = string};
}

static void
set_word(struct gpuval_value *value, const char *word)
{
   *value = (struct gpuval_value){GPUVAL_VALUE_WORD, .string = word};
}

static void
set_number(struct gpuval_value *value, bool known, int64_t number)
{
   if (known)
      *value = (struct gpuval_value){GPUVAL_VALUE_NUMBER, .number = number};
}

static void
set_handle(struct gpuval_value *value, uint64_t handle)
{
   if (handle)
      *value = (struct gpuval_value){GPUVAL_VALUE_HANDLE, .bits = handle};
}

static void
set_strings(struct gpuval_value *value, const char *const *strings, uint32_t count)
{
   if (count)
      *value = (struct gpuval_value){GPUVAL_VALUE_STRINGS, .strings = strings, .count = count};
}

/* @name: a getter that sets @value from @place or @event by one expression. */
#define PLACE(name, expression)                                                                    \
   static void name(const struct gpuval_place *place, struct gpuval_value *value)                  \
   {                                                                                               \
      expression;                                                                                  \
   }
#define EVENT(name, expression)                                                                    \
   static void name(const struct gpuval_event *event, struct gpuval_value *value)                  \
   {                                                                                               \
      expression;                                                                                  \
   }

EVENT(check, set_word(value, gpuval_kind_check_name(event->kind)))
EVENT(kind, set_word(value, gpuval_kind_infos[event->kind].name))
EVENT(severity, set_string(value, gpuval_event_severity(event)))
EVENT(count, set_number(value, true, event->count))
EVENT(message, set_string(value, event->message))
EVENT(detail, set_string(value, event->detail))
EVENT(fingerprint, set_string(value, *event->fingerprint ? event->fingerprint : NULL))

static void
same_value(const struct gpuval_event *event, struct gpuval_value *value)
{
   if (event->same_value)
      value->type = GPUVAL_VALUE_TRUE;
}

static void
certain(const struct gpuval_event *event, struct gpuval_value *value)
{
   if (event->other_is_certain)
      value->type = GPUVAL_VALUE_TRUE;
}

static void
shader_hash(const struct gpuval_place *place, struct gpuval_value *value)
{
   if (place->has_shader)
      *value = (struct gpuval_value){GPUVAL_VALUE_HASH, .bits = place->shader.hash};
}

static void
shader_stage(const struct gpuval_place *place, struct gpuval_value *value)
{
   if (place->has_shader)
      set_string(value, gpuval_stage_name(place->shader.stage));
}

PLACE(shader_entry, set_string(value, place->shader.entry))
PLACE(shader_name, set_string(value, place->shader.name))
/* Without a line, there is none of it. */
PLACE(source_file, set_string(value, place->source.line ? place->source.file : NULL))
PLACE(source_line, set_number(value, place->source.line, place->source.line))
PLACE(source_column, set_number(value, place->source.column, place->source.column))
PLACE(source_text, set_string(value, place->source.line ? place->source.text : NULL))
PLACE(source_function, set_string(value, place->source.line ? place->source.function : NULL))
PLACE(source_extract_line,
      set_number(value, place->source.extract_count, place->source.extract_line))

PLACE(source_extract, set_strings(value, place->source.extract, place->source.extract_count))

PLACE(spirv_offset, set_number(value, place->spirv.offset, place->spirv.offset))
PLACE(spirv_instruction, set_number(value, place->spirv.instruction >= 0, place->spirv.instruction))

/* Of a CSV: one of the invocation's three words */
static void
invocation_word(const struct gpuval_event *event, unsigned word, struct gpuval_value *value)
{
   const struct gpuval_invocation_fact *fact = gpuval_invocation_facts(event->place.shader.stage);

   if (!event->has_record || !event->place.has_shader)
      return;
   while (fact->key && (word < fact->word || word - fact->word >= fact->count))
      fact++;

   if (fact->key && fact->is_float)
      *value = (struct gpuval_value){GPUVAL_VALUE_FLOAT, .real = uif(event->invocation[word])};
   else if (fact->key || event->place.shader.stage != MESA_SHADER_FRAGMENT)
      set_number(value, true, event->invocation[word]);
}

EVENT(invocation_0, invocation_word(event, 0, value))
EVENT(invocation_1, invocation_word(event, 1, value))
EVENT(invocation_2, invocation_word(event, 2, value))

PLACE(access_op, set_string(value, gpuval_op_infos[place->access.op].name))
PLACE(access_size, set_number(value, place->access.size >= 0, place->access.size))
PLACE(access_offset, set_number(value, place->access.offset >= 0, place->access.offset))
PLACE(access_index, set_number(value, place->access.has_index, place->access.index))
PLACE(access_alignment, set_number(value, place->access.alignment, place->access.alignment))
PLACE(access_length, set_number(value, place->access.has_index, place->access.length))
PLACE(access_level, set_number(value, place->access.has_level, place->access.level))
PLACE(access_sample, set_number(value, place->access.has_sample, place->access.sample))

static void
access_address(const struct gpuval_place *place, struct gpuval_value *value)
{
   if (place->access.address || place->access.is_null)
      *value = (struct gpuval_value){GPUVAL_VALUE_HANDLE, .bits = place->access.address};
}

static void
access_coord(const struct gpuval_place *place, struct gpuval_value *value)
{
   if (!place->access.num_coords)
      return;
   value->type = GPUVAL_VALUE_NUMBERS;
   value->count = place->access.num_coords;
   for (unsigned i = 0; i < value->count; i++)
      value->numbers[i] = place->access.coord[i];
}

EVENT(resource_set, set_number(value, event->resource.set >= 0, event->resource.set))
EVENT(resource_binding, set_number(value, event->resource.binding >= 0, event->resource.binding))
EVENT(resource_index, set_number(value, event->resource.has_index, event->resource.index))
EVENT(resource_type, set_string(value, event->resource.type))
EVENT(resource_name, set_string(value, event->resource.name))
EVENT(resource_object, set_handle(value, event->resource.object))
EVENT(resource_object_type,
      set_string(value, event->resource.object
                           ? gpuval_object_type_name(event->resource.object_type)
                           : NULL))
EVENT(resource_object_name, set_string(value, event->resource.object_name))
EVENT(resource_parent, set_handle(value, event->resource.parent))
EVENT(resource_parent_name, set_string(value, event->resource.parent_name))
EVENT(resource_offset, set_number(value, event->resource.offset >= 0, event->resource.offset))
EVENT(resource_size, set_number(value, event->resource.size >= 0, event->resource.size))
EVENT(resource_object_offset,
      set_number(value, event->resource.object_offset >= 0, event->resource.object_offset))
EVENT(resource_memory, set_handle(value, event->resource.memory))
EVENT(resource_memory_name, set_string(value, event->resource.memory_name))
EVENT(resource_memory_offset,
      set_number(value, event->resource.memory_offset >= 0, event->resource.memory_offset))

static void
resource_extent(const struct gpuval_event *event, struct gpuval_value *value)
{
   if (!event->resource.num_extents)
      return;
   value->type = GPUVAL_VALUE_NUMBERS;
   value->count = event->resource.num_extents;
   for (unsigned i = 0; i < value->count; i++)
      value->numbers[i] = event->resource.extent[i];
}

EVENT(barrier_missing, set_string(value, event->barrier.missing))
EVENT(barrier_there, set_string(value, event->barrier.there))
EVENT(needs_src_stage, set_string(value, event->barrier.needs.src_stage))
EVENT(needs_src_access, set_string(value, event->barrier.needs.src_access))
EVENT(needs_dst_stage, set_string(value, event->barrier.needs.dst_stage))
EVENT(needs_dst_access, set_string(value, event->barrier.needs.dst_access))

PLACE(command_op, set_string(value, place->command.op))
PLACE(command_index, set_number(value, place->command.index >= 0, place->command.index))
PLACE(command_draw, set_number(value, place->command.has_draw, place->command.draw))
PLACE(command_buffer, set_handle(value, place->command.command_buffer))
PLACE(command_buffer_name, set_string(value, place->command.command_buffer_name))
PLACE(command_primary, set_handle(value, place->command.primary))
PLACE(command_primary_name, set_string(value, place->command.primary_name))
PLACE(command_pipeline, set_handle(value, place->command.pipeline))
PLACE(command_pipeline_name, set_string(value, place->command.pipeline_name))
PLACE(command_shader, set_handle(value, place->command.shader))
PLACE(command_submission,
      set_number(value, place->command.submission >= 0, place->command.submission))

static void
set_calls(struct gpuval_value *value, uint32_t calls)
{
   unsigned count;
   const struct gpuval_frame *frames = gpuval_backtrace_frames(calls, &count);

   if (count)
      *value = (struct gpuval_value){GPUVAL_VALUE_FRAMES, .frames = frames, .count = count};
}

static void
stack(const struct gpuval_place *place, struct gpuval_value *value)
{
   if (place->stack_count)
      *value = (struct gpuval_value){
         GPUVAL_VALUE_FRAMES,
         .frames = place->stack,
         .count = place->stack_count,
      };
}

PLACE(command_recorded, set_calls(value, place->command.calls))
static void
values(const struct gpuval_event *event, struct gpuval_value *value)
{
   if (event->num_values)
      *value = (struct gpuval_value){
         GPUVAL_VALUE_NAMED,
         .named = event->values,
         .count = event->num_values,
      };
}
EVENT(in_flight, set_strings(value, event->in_flight, event->num_in_flight))
EVENT(resource_created, set_calls(value, event->resource.calls))

PLACE(command_labels, set_strings(value, place->command.labels, place->command.num_labels))

#define OF_PLACE .get_of_place =
#define OF_EVENT .get =
#define HEAD     GPUVAL_COLUMNS_HEAD
#define FIRST    GPUVAL_COLUMNS_FIRST
#define SECOND   GPUVAL_COLUMNS_SECOND
#define THIRD    GPUVAL_COLUMNS_THIRD
#define FOURTH   GPUVAL_COLUMNS_FOURTH
#define FIFTH    GPUVAL_COLUMNS_FIFTH
#define SIXTH    GPUVAL_COLUMNS_SIXTH
#define SEVENTH  GPUVAL_COLUMNS_SEVENTH
#define EIGHTH   GPUVAL_COLUMNS_EIGHTH
#define NONE     GPUVAL_COLUMNS_NONE

const struct gpuval_field gpuval_fields[] = {
   {"", "check", NULL, HEAD, OF_EVENT check},
   {"", "kind", NULL, HEAD, OF_EVENT kind},
   {"", "severity", NULL, FIRST, OF_EVENT severity},
   {"", "message", NULL, GPUVAL_COLUMNS_MESSAGE, OF_EVENT message},
   {"", "count", NULL, HEAD, OF_EVENT count},
   {"", "fingerprint", NULL, THIRD, OF_EVENT fingerprint},
   {"", "same_value", NULL, THIRD, OF_EVENT same_value},
   {"", "detail", NULL, THIRD, OF_EVENT detail},
   {"", "stack", NULL, EIGHTH, OF_PLACE stack},
   {"", "values", NULL, EIGHTH, OF_EVENT values},
   {"", "certain", NULL, 0, OF_EVENT certain, .other_columns = THIRD},
   {"shader", "hash", NULL, FIRST, OF_PLACE shader_hash},
   {"shader", "stage", NULL, FIRST, OF_PLACE shader_stage},
   {"shader", "entry", NULL, FIRST, OF_PLACE shader_entry},
   {"shader", "name", NULL, FIRST, OF_PLACE shader_name},
   {"source", "file", NULL, FIRST, OF_PLACE source_file},
   {"source", "line", NULL, FIRST, OF_PLACE source_line},
   {"source", "column", NULL, FIRST, OF_PLACE source_column},
   {"source", "text", NULL, FIRST, OF_PLACE source_text},
   {"source", "function", NULL, FIRST, OF_PLACE source_function},
   {"source", "extract_line", NULL, NONE, OF_PLACE source_extract_line},
   {"source", "extract", NULL, NONE, OF_PLACE source_extract},
   {"spirv", "offset", NULL, FIRST, OF_PLACE spirv_offset},
   {"spirv", "instruction", NULL, FIRST, OF_PLACE spirv_instruction},
   {"invocation", NULL, "invocation_0", FIRST,
    OF_EVENT invocation_0}, /* JSON has the stage's facts */
   {"invocation", NULL, "invocation_1", FIRST, OF_EVENT invocation_1},
   {"invocation", NULL, "invocation_2", FIRST, OF_EVENT invocation_2},
   {"access", "op", NULL, FIRST, OF_PLACE access_op},
   {"access", "size", NULL, FIRST, OF_PLACE access_size, .other_columns = THIRD},
   {"access", "offset", NULL, FIRST, OF_PLACE access_offset, .other_columns = THIRD},
   {"access", "address", NULL, FIRST, OF_PLACE access_address, .other_columns = THIRD},
   {"access", "index", NULL, SEVENTH, OF_PLACE access_index},
   {"access", "length", NULL, SEVENTH, OF_PLACE access_length},
   {"access", "alignment", NULL, NONE, OF_PLACE access_alignment},
   {"access", "coord", NULL, THIRD, OF_PLACE access_coord},
   {"access", "level", NULL, THIRD, OF_PLACE access_level},
   {"access", "sample", NULL, THIRD, OF_PLACE access_sample},
   {"resource", "set", NULL, FIRST, OF_EVENT resource_set},
   {"resource", "binding", NULL, FIRST, OF_EVENT resource_binding},
   {"resource", "index", NULL, FIRST, OF_EVENT resource_index},
   {"resource", "type", NULL, FIRST, OF_EVENT resource_type},
   {"resource", "name", NULL, FIRST, OF_EVENT resource_name},
   {"resource", "object", NULL, FIFTH, OF_EVENT resource_object},
   {"resource", "object_type", NULL, NONE, OF_EVENT resource_object_type},
   {"resource", "object_name", NULL, FIRST, OF_EVENT resource_object_name},
   {"resource", "object_offset", NULL, SECOND, OF_EVENT resource_object_offset},
   {"resource", "parent", NULL, FIFTH, OF_EVENT resource_parent},
   {"resource", "parent_name", NULL, FIFTH, OF_EVENT resource_parent_name},
   {"resource", "memory", NULL, SECOND, OF_EVENT resource_memory},
   {"resource", "memory_name", NULL, SECOND, OF_EVENT resource_memory_name},
   {"resource", "memory_offset", NULL, SECOND, OF_EVENT resource_memory_offset},
   {"resource", "offset", NULL, FIFTH, OF_EVENT resource_offset},
   {"resource", "size", NULL, FIRST, OF_EVENT resource_size},
   {"resource", "extent", NULL, THIRD, OF_EVENT resource_extent},
   {"resource", "created", NULL, EIGHTH, OF_EVENT resource_created},
   {"command", "op", NULL, FIRST, OF_PLACE command_op},
   {"command", "index", NULL, FIRST, OF_PLACE command_index},
   {"command", "draw", NULL, FOURTH, OF_PLACE command_draw},
   {"command", "command_buffer", "command_buffer", FIRST, OF_PLACE command_buffer},
   {"command", "command_buffer_name", "command_buffer_name", FIRST, OF_PLACE command_buffer_name},
   {"command", "primary", "primary", FIRST, OF_PLACE command_primary},
   {"command", "primary_name", "primary_name", FIRST, OF_PLACE command_primary_name},
   {"command", "pipeline", "pipeline", FIRST, OF_PLACE command_pipeline},
   {"command", "pipeline_name", "pipeline_name", FIRST, OF_PLACE command_pipeline_name},
   {"command", "shader", NULL, SIXTH, OF_PLACE command_shader},
   {"command", "labels", "labels", FIRST, OF_PLACE command_labels},
   {"command", "submission", "submission", FIRST, OF_PLACE command_submission},
   {"command", "recorded", NULL, EIGHTH, OF_PLACE command_recorded},
   {"barrier", "missing", NULL, EIGHTH, OF_EVENT barrier_missing},
   {"barrier", "there", NULL, EIGHTH, OF_EVENT barrier_there},
   {"needs", "src_stage", "barrier_needs_src_stage", EIGHTH, OF_EVENT needs_src_stage,
    .parent = "barrier"},
   {"needs", "src_access", "barrier_needs_src_access", EIGHTH, OF_EVENT needs_src_access,
    .parent = "barrier"},
   {"needs", "dst_stage", "barrier_needs_dst_stage", EIGHTH, OF_EVENT needs_dst_stage,
    .parent = "barrier"},
   {"needs", "dst_access", "barrier_needs_dst_access", EIGHTH, OF_EVENT needs_dst_access,
    .parent = "barrier"},
   {"", "in_flight", NULL, EIGHTH, OF_EVENT in_flight},
};
const unsigned gpuval_num_fields = ARRAY_SIZE(gpuval_fields);
static_assert(ARRAY_SIZE(gpuval_fields) <= GPUVAL_MAX_FIELDS, "gpuval_row has room for them");

int
gpuval_field_find(const char *object, const char *key, unsigned hint)
{
   for (unsigned i = 0; i < gpuval_num_fields; i++) {
      unsigned field = (hint + i) % gpuval_num_fields;
      if (gpuval_fields[field].key && *gpuval_fields[field].key == *key &&
          !strcmp(gpuval_fields[field].key, key) && !strcmp(gpuval_fields[field].object, object))
         return field;
   }
   return -1;
}

unsigned
gpuval_field_columns(const struct gpuval_field *field, bool other)
{
   if (!other)
      return field->columns;
   if (!field->get_of_place)
      return field->other_columns;
   return MAX3(field->columns, field->other_columns, GPUVAL_COLUMNS_SECOND);
}

struct gpuval_value
gpuval_field_value(const struct gpuval_field *field, const struct gpuval_event *event, bool other)
{
   struct gpuval_value value = {GPUVAL_VALUE_UNKNOWN};

   if (field->get_of_place)
      field->get_of_place(other ? &event->other : &event->place, &value);
   else if (other == !field->columns)
      field->get(event, &value);
   return value;
}
