/* SPDX-License-Identifier: MIT */

/* The sentence that says what is wrong, by kind. */

#include "gpuval_event.h"

#include <inttypes.h>
#include <string.h>

#include "util/ralloc.h"

struct description {
   /* Appends to @message. NULL: the text is all. */
   void (*append)(const struct gpuval_event *event, const char *text, char **message);
   const char *text;
};

static void
append_numbers(char **message, const char *separator, const int64_t *numbers, unsigned count)
{
   for (unsigned i = 0; i < count; i++)
      ralloc_asprintf_append(message, "%s%" PRId64, i ? separator : "", numbers[i]);
}

/* "store of 4 bytes at offset 16", "load at (3, 5), level 2" */
static void
append_access(const struct gpuval_event *event, char **message)
{
   const struct gpuval_event_access *access = &event->place.access;
   bool is_indirect = access->op == GPUVAL_OP_INDIRECT;
   const char *op = gpuval_op_infos[access->op].name;

   ralloc_strcat(message, is_indirect ? "read of the command's arguments," : op ? op : "access");
   if (access->size >= 0)
      ralloc_asprintf_append(message, "%s %" PRId64 " %s", is_indirect ? "" : " of", access->size,
                             access->size == 1 ? "byte" : "bytes");
   if (access->offset >= 0)
      ralloc_asprintf_append(message, " at offset %" PRId64, access->offset);
   if (access->num_coords) {
      const int64_t coord[3] = {access->coord[0], access->coord[1], access->coord[2]};
      ralloc_strcat(message, " at (");
      append_numbers(message, ", ", coord, access->num_coords);
      ralloc_strcat(message, ")");
   }
   if (access->has_level)
      ralloc_asprintf_append(message, ", level %" PRId32, access->level);
   if (access->has_sample)
      ralloc_asprintf_append(message, ", sample %" PRId32, access->sample);
}

static bool
is_shared(const struct gpuval_event *event)
{
   return gpuval_kind_infos[event->kind].check == GPUVAL_CHECK_SHARED;
}

/* "set 0, binding 1[2] "name" (64 bytes)" */
static void
append_resource(const struct gpuval_event *event, char **message)
{
   if (is_shared(event))
      ralloc_strcat(message, event->resource.type && !strcmp(event->resource.type, "task_payload")
                                ? "the task payload"
                                : "shared memory");
   else if (event->resource.set >= 0)
      ralloc_asprintf_append(message, "set %" PRId64, event->resource.set);
   else
      ralloc_strcat(message, "a buffer");
   if (event->resource.binding >= 0)
      ralloc_asprintf_append(message, ", binding %" PRId64, event->resource.binding);
   if (event->resource.has_index && event->resource.is_array)
      ralloc_asprintf_append(message, "[%" PRId64 "]", event->resource.index);
   if (event->resource.name)
      ralloc_asprintf_append(message, " \"%s\"", event->resource.name);
   if (event->resource.size >= 0)
      ralloc_asprintf_append(message, " (%" PRId64 " bytes)", event->resource.size);
   if (event->resource.num_extents) {
      const int64_t extent[3] = {event->resource.extent[0], event->resource.extent[1],
                                 event->resource.extent[2]};
      ralloc_strcat(message, " (");
      append_numbers(message, " x ", extent, event->resource.num_extents);
      ralloc_strcat(message, ")");
   }
}

/* "ACCESS is outside RESOURCE" */
static void
sentence_outside(const struct gpuval_event *event, const char *text, char **message)
{
   append_access(event, message);
   ralloc_strcat(message, " is outside ");
   append_resource(event, message);
}

/* "ACCESS of RESOURCE: TEXT", or at an address where there is no resource */
static void
sentence_access_of(const struct gpuval_event *event, const char *text, char **message)
{
   uint64_t address = event->place.access.address;

   append_access(event, message);
   if (event->resource.set < 0 && address) {
      ralloc_asprintf_append(message, " at address 0x%" PRIx64, address);
   } else {
      ralloc_strcat(message, " of ");
      append_resource(event, message);
   }
   ralloc_asprintf_append(message, ": %s", event->detail ? event->detail : text);
}

/* "load of element 12 of "tile" (shared_memory), which has 8" */
static void
sentence_array(const struct gpuval_event *event, const char *text, char **message)
{
   const struct gpuval_event_access *access = &event->place.access;
   const char *op = gpuval_op_infos[access->op].name;

   ralloc_strcat(message, op ? op : "access");
   if (!access->has_index) {
      ralloc_strcat(message, " past the end of an array");
      return;
   }
   ralloc_asprintf_append(message, " of element %" PRId64 " of ", access->index);
   if (event->resource.name)
      ralloc_asprintf_append(message, "\"%s\"", event->resource.name);
   else
      ralloc_strcat(message, "an array");
   if (event->resource.type)
      ralloc_asprintf_append(message, " (%s)", event->resource.type);
   ralloc_asprintf_append(message, ", which has %" PRId64, access->length);
}

/* What a command without a shader does to bytes of a buffer */
static const char *
get_verb(const struct gpuval_event *event)
{
   switch (event->place.access.op) {
   case GPUVAL_OP_INDEX:
      return "fetches an index,";
   case GPUVAL_OP_ATTRIBUTE:
      return "fetches an attribute,";
   case GPUVAL_OP_COUNTER:
      return event->kind == GPUVAL_KIND_READ_AFTER_WRITE ? "reads a counter or predicate,"
                                                         : "writes a counter,";
   default:
      return event->kind == GPUVAL_KIND_READ_AFTER_WRITE ? "reads" : "writes";
   }
}

static bool
reads(enum gpuval_op op)
{
   return op == GPUVAL_OP_LOAD || op == GPUVAL_OP_TRANSFER_READ || op == GPUVAL_OP_ATTACHMENT_READ;
}

/* "ACCESS of RESOURCE: DETAIL", or of a command "COMMAND reads the image "name": DETAIL" */
static void
sentence_race(const struct gpuval_event *event, const char *text, char **message)
{
   if (event->place.has_shader) {
      sentence_access_of(event, text, message);
      return;
   }
   ralloc_asprintf_append(message, "%s %s the %s",
                          event->place.has_command ? event->place.command.op : "a command",
                          reads(event->place.access.op) ? "reads" : "writes", event->resource.type);
   if (event->resource.object_name)
      ralloc_asprintf_append(message, " \"%s\"", event->resource.object_name);
   ralloc_asprintf_append(message, ": %s", event->detail ? event->detail : text);
}

/* "ACCESS of RESOURCE: TEXT" of a shader and of arguments, or "copy_buffer reads 16 bytes at offset
 * 0 of buffer "name": TEXT"
 */
static void
sentence_hazard(const struct gpuval_event *event, const char *text, char **message)
{
   const struct gpuval_place *place = &event->place;

   if (place->has_shader || place->access.op == GPUVAL_OP_INDIRECT || !place->access.op) {
      sentence_access_of(event, text, message);
      return;
   }
   if (event->resource.type && !strcmp(event->resource.type, "image")) {
      sentence_race(event, text, message);
      return;
   }
   ralloc_asprintf_append(message, "%s %s %" PRId64 " %s",
                          place->has_command ? place->command.op : "a command", get_verb(event),
                          place->access.size, place->access.size == 1 ? "byte" : "bytes");
   if (event->resource.object)
      ralloc_asprintf_append(message, " at offset %" PRId64 " of buffer", place->access.offset);
   else
      ralloc_asprintf_append(message, " at address 0x%" PRIx64, place->access.address);
   if (event->resource.object_name)
      ralloc_asprintf_append(message, " \"%s\"", event->resource.object_name);
   ralloc_asprintf_append(message, ": %s", event->detail ? event->detail : text);
}

/* "vertex buffer 0 "positions" (64 bytes)": no descriptor, but what a command has bound
 * or names
 */
static void
append_range(const struct gpuval_event *event, char **message)
{
   const char *type = event->resource.type ? event->resource.type : "address";
   bool is_address = !strcmp(type, "address");

   if (is_address && !event->resource.object) {
      ralloc_asprintf_append(message, "every buffer: address 0x%" PRIx64,
                             event->place.access.address);
      return;
   }
   ralloc_strcat(message, is_address                       ? "the buffer"
                          : !strcmp(type, "vertex_buffer") ? "vertex buffer"
                          : !strcmp(type, "index_buffer")  ? "the index buffer"
                                                           : "the indirect buffer");
   if (event->resource.binding >= 0)
      ralloc_asprintf_append(message, " %" PRId64, event->resource.binding);
   if (event->resource.object_name)
      ralloc_asprintf_append(message, " \"%s\"", event->resource.object_name);
   ralloc_asprintf_append(message, " (%" PRId64 " bytes)", event->resource.size);
}

static void
append_detail(const struct gpuval_event *event, char **message)
{
   if (event->detail)
      ralloc_asprintf_append(message, "%s: ", event->detail);
   append_access(event, message);
}

/* "DETAIL", or "TEXT" where it is not known */
static void
sentence_detail_or(const struct gpuval_event *event, const char *text, char **message)
{
   ralloc_strcat(message, event->detail ? event->detail : text);
}

/* Of a shader, or of an attachment that a command loads */
static void
sentence_unwritten(const struct gpuval_event *event, const char *text, char **message)
{
   if (event->place.has_shader) {
      sentence_access_of(event, text, message);
      return;
   }
   sentence_detail_or(event, text, message);
   if (event->resource.object_name)
      ralloc_asprintf_append(message, ": \"%s\"", event->resource.object_name);
}

/* "ACCESS at address 0x10 TEXT (16 bytes): DETAIL" */
static void
sentence_bad_address(const struct gpuval_event *event, const char *text, char **message)
{
   append_access(event, message);
   if (event->place.access.address)
      ralloc_asprintf_append(message, " at address 0x%" PRIx64, event->place.access.address);
   ralloc_asprintf_append(message, " %s", text);
   if (event->place.access.alignment)
      ralloc_asprintf_append(message, " (%" PRIu32 " bytes)", event->place.access.alignment);
   if (event->detail)
      ralloc_asprintf_append(message, ": %s", event->detail);
}

/* "DETAIL: ACCESS is outside RANGE" */
static void
sentence_outside_range(const struct gpuval_event *event, const char *text, char **message)
{
   append_detail(event, message);
   ralloc_strcat(message, " is outside ");
   append_range(event, message);
}

/* "DETAIL: ACCESS of RANGE" */
static void
sentence_of_range(const struct gpuval_event *event, const char *text, char **message)
{
   append_detail(event, message);
   ralloc_strcat(message, " of ");
   append_range(event, message);
}

/* In a shader, or of an instance that a build reads */
static void
sentence_bad_structure(const struct gpuval_event *event, const char *text, char **message)
{
   if (event->place.access.op)
      sentence_of_range(event, text, message);
   else
      sentence_detail_or(event, text, message);
}

#define sentence_none NULL
#define CHECK(id, name, sets, needs, early, pass, host, summary)
#define KIND(id, check, name, words, sentence, text)                                               \
   [GPUVAL_KIND_##id] = {sentence_##sentence, text},
static const struct description descriptions[GPUVAL_KIND_COUNT] = {
#include "base/gpuval_check_table.h"
};

void
gpuval_event_describe(struct gpuval_event *event)
{
   const struct description *description = &descriptions[event->kind];

   if (gpuval_event_is_message(event))
      return;

   event->message = ralloc_strdup(event, "");
   if (description->append)
      description->append(event, description->text, &event->message);
   else
      ralloc_strcat(&event->message, description->text);
}
