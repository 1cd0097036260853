/* SPDX-License-Identifier: MIT */

#include "gpuval_event.h"

#include <inttypes.h>
#include <string.h>

#include <vulkan/vulkan_core.h>

#include "base/gpuval_options.h"
#include "util/mesa-blake3.h"
#include "util/ralloc.h"

static void
init_place(struct gpuval_place *place)
{
   place->spirv.instruction = place->spirv.code_instruction = -1;
   place->access.size = place->access.offset = -1;
   place->command.index = place->command.submission = -1;
}

struct gpuval_event *
gpuval_event_create(enum gpuval_kind kind)
{
   /* Events outlive devices. */
   struct gpuval_event *event = rzalloc(NULL, struct gpuval_event);

   event->kind = kind;
   init_place(&event->place);
   init_place(&event->other);
   event->resource.object_type = VK_OBJECT_TYPE_BUFFER;
   event->resource.set = event->resource.binding = -1;
   event->resource.offset = -1;
   event->resource.object_offset = event->resource.memory_offset = event->resource.size = -1;
   return event;
}

const char *
gpuval_object_type_name(uint32_t type)
{
   switch (type) {
   case VK_OBJECT_TYPE_BUFFER:
      return "buffer";
   case VK_OBJECT_TYPE_BUFFER_VIEW:
      return "buffer view";
   case VK_OBJECT_TYPE_IMAGE:
      return "image";
   case VK_OBJECT_TYPE_IMAGE_VIEW:
      return "image view";
   case VK_OBJECT_TYPE_SAMPLER:
      return "sampler";
   case VK_OBJECT_TYPE_ACCELERATION_STRUCTURE_KHR:
      return "acceleration structure";
   default:
      return "object";
   }
}

const char *
gpuval_event_severity(const struct gpuval_event *event)
{
   if (gpuval_event_is_message(event) || gpuval_event_is_note(event))
      return "info";
   return gpuval_event_is_warning(event) ? "warning" : "error";
}

bool
gpuval_event_is_message(const struct gpuval_event *event)
{
   return event->kind == GPUVAL_KIND_MESSAGE;
}

bool
gpuval_event_is_note(const struct gpuval_event *event)
{
   return event->kind == GPUVAL_KIND_HANG_SLOW_SUBMIT;
}

bool
gpuval_event_is_warning(const struct gpuval_event *event)
{
   return event->same_value && !gpuval_options()->strict;
}

const char *
gpuval_stage_name(mesa_shader_stage stage)
{
   switch (stage) {
   case MESA_SHADER_TESS_CTRL:
      return "tess_ctrl";
   case MESA_SHADER_TESS_EVAL:
      return "tess_eval";
   case MESA_SHADER_ANY_HIT:
      return "any_hit";
   case MESA_SHADER_CLOSEST_HIT:
      return "closest_hit";
   default:
      return _mesa_shader_stage_to_string(stage);
   }
}

static void
mix_string(struct mesa_blake3 *ctx, const char *string)
{
   if (string)
      _mesa_blake3_update(ctx, string, strlen(string));
   _mesa_blake3_update(ctx, "", 1); /* the NUL: where it ends */
}

static void
mix_number(struct mesa_blake3 *ctx, int64_t number)
{
   char text[32];
   snprintf(text, sizeof(text), "%" PRId64, number);
   mix_string(ctx, text);
}

/* The same of a name whose numbers count frames, or what is in flight. */
static void
mix_numbered_string(struct mesa_blake3 *ctx, const char *string)
{
   static const char digits[] = "0123456789";

   while (string && *string) {
      size_t length = strcspn(string, digits);
      _mesa_blake3_update(ctx, string, length);
      string += length;
      length = strspn(string, digits);
      _mesa_blake3_update(ctx, "#", length != 0);
      string += length;
   }
   _mesa_blake3_update(ctx, "", 1);
}

/* A command has no code, but names that the program gives. */
static void
mix_command(struct mesa_blake3 *ctx, const struct gpuval_event *event)
{
   const struct gpuval_command *command = &event->place.command;

   mix_string(ctx, command->op);
   mix_numbered_string(ctx, command->command_buffer_name);
   mix_string(ctx, command->pipeline_name);
   for (unsigned i = 0; i < command->num_labels; i++)
      mix_numbered_string(ctx, command->labels[i]);
   mix_string(ctx, event->resource.object_name);
}

void
gpuval_event_set_fingerprint(struct gpuval_event *event, int32_t set, int32_t binding,
                             uint32_t site)
{
   const struct gpuval_place *place = &event->place;
   struct mesa_blake3 ctx;
   blake3_hash hash;

   _mesa_blake3_init(&ctx);
   mix_string(&ctx, gpuval_kind_check_name(event->kind));
   mix_string(&ctx, gpuval_kind_infos[event->kind].name);
   mix_string(&ctx, gpuval_op_infos[place->access.op].name);
   mix_number(&ctx, set);
   mix_number(&ctx, binding);
   if (place->has_shader) {
      mix_number(&ctx, place->shader.code_hash ? place->shader.code_hash : place->shader.hash);
      mix_string(&ctx, gpuval_stage_name(place->shader.stage));
      mix_number(&ctx, site ? -1 : place->spirv.code_instruction);
      mix_number(&ctx, site);
      if (place->spirv.way)
         mix_string(&ctx, place->spirv.way);
   } else {
      mix_command(&ctx, event);
   }
   if (gpuval_event_is_message(event))
      mix_string(&ctx, event->message);
   _mesa_blake3_final(&ctx, hash);
   for (unsigned i = 0; i < 8; i++)
      sprintf(event->fingerprint + 2 * i, "%02x", hash[i]);
}
