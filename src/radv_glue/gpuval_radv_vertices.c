/* SPDX-License-Identifier: MIT */

/* vertex: what a draw has bound, which RADV keeps as its own state, and the draws themselves. */

#include "gpuval_radv_inputs.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_pipeline_graphics.h"
#include "radv_shader.h"
#include "sid.h"

#include "gpuval/src/core/commands/gpuval_vertex.h"
#include "gpuval/src/core/inputs/gpuval_arguments.h"
#include "gpuval/src/core/shaders/gpuval_instrument.h"
#include "vk_format.h"
#include "vk_pipeline.h"

static void
describe_binding(const struct radv_cmd_buffer *cmd_buffer, uint32_t number,
                 struct gpuval_vertex_binding *binding)
{
   binding->range = (struct gpuval_command_range){
      .type = "vertex_buffer",
      .binding = number,
   };
   gpuval_radv_describe_bound(cmd_buffer, number, binding);
}

/* As the pipeline has it; RADV's own state may have lost it. */
static uint32_t
describe_static(const struct vk_vertex_input_state *vi, struct gpuval_vertex_input *input,
                struct gpuval_vertex_attribute attributes[GPUVAL_MAX_ATTRIBUTES])
{
   u_foreach_bit (i, vi->attributes_valid) {
      uint32_t binding = vi->attributes[i].binding;

      attributes[i] = (struct gpuval_vertex_attribute){
         .binding = binding,
         .offset = vi->attributes[i].offset,
         .size = vk_format_get_blocksize(vi->attributes[i].format),
      };
      input->bindings[binding].per_instance =
         vi->bindings[binding].input_rate == VK_VERTEX_INPUT_RATE_INSTANCE;
      input->bindings[binding].divisor = vi->bindings[binding].divisor;
   }
   return vi->attributes_valid;
}

static uint32_t
describe_dynamic(const struct radv_vertex_input_state *vi, struct gpuval_vertex_input *input,
                 struct gpuval_vertex_attribute attributes[GPUVAL_MAX_ATTRIBUTES])
{
   u_foreach_bit (i, vi->attribute_mask) {
      uint32_t binding = vi->bindings[i];

      attributes[i] = (struct gpuval_vertex_attribute){
         .binding = binding,
         .offset = vi->offsets[i],
         .size = vi->format_sizes[i],
      };
      input->bindings[binding].per_instance = vi->instance_rate_inputs & BITFIELD_BIT(i);
      input->bindings[binding].divisor = vi->divisors[i];
   }
   return vi->attribute_mask;
}

/* Those that @vertex reads */
static void
describe_attributes(const struct radv_cmd_buffer *cmd_buffer, const struct radv_shader *vertex,
                    struct gpuval_vertex_input *input)
{
   const struct vk_vertex_input_state *vi = gpuval_radv_static_input(cmd_buffer);
   struct gpuval_vertex_attribute attributes[GPUVAL_MAX_ATTRIBUTES];
   uint32_t described =
      vi ? describe_static(vi, input, attributes)
         : describe_dynamic(gpuval_radv_dynamic_input(cmd_buffer), input, attributes);

   u_foreach_bit (location, described & vertex->info.vs.input_slot_usage_mask) {
      attributes[location].location = location;
      input->attributes[input->num_attributes++] = attributes[location];
      describe_binding(cmd_buffer, attributes[location].binding,
                       &input->bindings[attributes[location].binding]);
   }
}

static void
describe_indices(struct gpuval_radv_recording *recording, struct gpuval_index_buffer *indices)
{
   const struct radv_cmd_state *state = &recording->cmd_buffer->state;
   const struct radv_device *device = recording->gpuval->radv;
   uint32_t size = state->index_type == V_028A7C_VGT_INDEX_8    ? 1
                   : state->index_type == V_028A7C_VGT_INDEX_16 ? 2
                                                                : 4;
   bool is_null = !state->max_index_count;

   *indices = (struct gpuval_index_buffer){
      .range =
         {
            .type = "index_buffer",
            .binding = -1,
            .address = is_null ? 0 : state->index_va,
            .size = (uint64_t)state->max_index_count * size,
         },
      .is_null = is_null && device->vk.enabled_features.nullDescriptor,
      .index_size = size,
      .restart = state->dynamic.vk.ia.primitive_restart_enable,
   };
}

/* Pipelines with robustness of their own look like any others here. */
static void
describe_input(struct gpuval_radv_recording *recording, const struct radv_shader *vertex,
               bool indexed, struct gpuval_vertex_input *input)
{
   const struct vk_device *device = &recording->gpuval->radv->vk;
   struct vk_pipeline_robustness_state robustness;

   vk_pipeline_robustness_state_fill(device, &robustness, NULL, NULL);
   input->robust_attributes =
      gpuval_is_robust(robustness.vertex_inputs) ||
      (device->enabled_features.pipelineRobustness && !gpuval_options()->robust);
   input->robust_indices =
      device->enabled_features.robustBufferAccess2 && !gpuval_options()->robust;

   describe_attributes(recording->cmd_buffer, vertex, input);
   if (indexed)
      describe_indices(recording, &input->indices);
   gpuval_vertex_input_update(input);
}

static const struct radv_shader *
get_vertex_shader(const struct gpuval_radv_recording *recording)
{
   return radv_get_shader(recording->cmd_buffer->state.shaders, MESA_SHADER_VERTEX);
}

static struct gpuval_radv_look *
look_at_indices(struct gpuval_radv_recording *recording, const struct gpuval_index_buffer *indices,
                const struct gpuval_draw *draw, uint32_t count, bool is_whole)
{
   return gpuval_radv_look_before(recording,
                                  &(struct gpuval_radv_look){
                                     .is_indexed = true,
                                     .is_whole = is_whole,
                                     .draw = *draw,
                                     .arguments =
                                        {
                                           .range = indices->range,
                                           .offset = (uint64_t)draw->first * indices->index_size,
                                           .stride = indices->index_size,
                                           .count = count,
                                        },
                                  });
}

/* Of a direct draw. Whether one is executed that is predicated, a copy in front of it tells. */
static void
look_at_draw(struct gpuval_radv_recording *recording, const struct gpuval_vertex_input *input,
             const struct gpuval_draw *draw)
{
   uint32_t count;

   if (!gpuval_draw_needs_indices(input, draw, &count))
      return;
   if (!recording->cmd_buffer->state.predicating) {
      gpuval_radv_look_at_indices(recording, input, draw, count);
      return;
   }
   struct gpuval_radv_look *at = look_at_indices(recording, &input->indices, draw, count, false);
   if (at)
      gpuval_radv_look_at_vertices(recording->cmd_buffer, at, input);
}

/* Of indirect ones: what they will draw of it is not known. */
static const struct gpuval_radv_look *
look_at_all_indices(struct gpuval_radv_recording *recording,
                    const struct gpuval_vertex_input *input)
{
   const struct gpuval_draw all = {
      .indexed = true,
      .count = input->indices.range.size / input->indices.index_size,
      .vertex_offset = -1,
      .num_instances = 1,
   };
   const struct gpuval_radv_look **last = gpuval_radv_last_indices(recording->cmd_buffer);
   const struct gpuval_command_range *range = &input->indices.range;
   bool is_conditional = recording->cmd_buffer->state.predicating;
   uint32_t count;

   if (!gpuval_draw_needs_indices(input, &all, &count))
      return NULL;
   /* Within a pass nothing may write there. A copy may not be made where that is conditional. */
   if (*last && !is_conditional && (*last)->arguments.range.address == range->address &&
       (*last)->arguments.range.size == range->size &&
       (*last)->arguments.stride == input->indices.index_size)
      return *last;

   const struct gpuval_radv_look *look =
      look_at_indices(recording, &input->indices, &all, count, true);
   if (!is_conditional)
      *last = look;
   return look;
}

static void
check_draw(struct gpuval_radv_recording *recording, const struct gpuval_vertex_input *input,
           const struct gpuval_draw *draw)
{
   struct gpuval_command_failure failures[GPUVAL_DRAW_MAX_FAILURES];
   unsigned num_failures = gpuval_check_draw(input, draw, failures);

   for (unsigned i = 0; i < num_failures; i++)
      gpuval_radv_note(recording, &failures[i]);
   look_at_draw(recording, input, draw);
}

void
gpuval_radv_check_draws(struct gpuval_radv_recording *recording, const struct gpuval_draw *draws,
                        uint32_t count)
{
   struct radv_cmd_buffer *cmd_buffer = recording->cmd_buffer;
   const struct radv_shader *vertex = get_vertex_shader(recording);
   struct gpuval_vertex_input input = {0};

   if (!vertex || !count || !gpuval_radv_looks_at_draws(recording->gpuval))
      return;

   describe_input(recording, vertex, draws[0].indexed, &input);
   for (uint32_t i = 0; i < count; i++) {
      if (gpuval_options_may_check(GPUVAL_CHECK_VERTEX))
         check_draw(recording, &input, &draws[i]);
      if (recording->gpuval->shadow)
         gpuval_radv_add_fetch(cmd_buffer, gpuval_radv_get_id(recording), &input, &draws[i]);
   }
}

void
gpuval_radv_look_at_fetch(struct gpuval_radv_recording *recording,
                          const struct gpuval_arguments *arguments, uint64_t count_address)
{
   const struct radv_shader *vertex = get_vertex_shader(recording);
   bool indexed = arguments->type == GPUVAL_ARGUMENTS_DRAW_INDEXED;
   struct gpuval_vertex_input input = {0};

   if (!vertex || !recording->gpuval->shadow || !arguments->range.address ||
       (arguments->type != GPUVAL_ARGUMENTS_DRAW && !indexed))
      return;
   describe_input(recording, vertex, indexed, &input);
   gpuval_radv_add_indirect_fetch(recording, &input, arguments, count_address);
}

/* Behind the command; @at: NULL, or what look() returned */
void
gpuval_radv_finish_look(struct gpuval_radv_recording *recording, struct gpuval_radv_look *at)
{
   struct radv_cmd_buffer *cmd_buffer = recording->cmd_buffer;
   const struct radv_shader *vertex = get_vertex_shader(recording);
   struct gpuval_vertex_input input = {0};

   if (!at)
      return;

   bool is_draw = recording->bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS;
   at->limits = gpuval_arguments_get_limits(
      &recording->gpuval->radv->vk, at->arguments.type,
      is_draw && radv_get_shader(cmd_buffer->state.shaders, MESA_SHADER_TASK));
   if (!vertex || !is_draw || !gpuval_options_may_check(GPUVAL_CHECK_VERTEX))
      return;

   bool indexed = at->arguments.type == GPUVAL_ARGUMENTS_DRAW_INDEXED;
   describe_input(recording, vertex, indexed, &input);
   gpuval_radv_look_at_vertices(cmd_buffer, at, &input);
   if (indexed)
      at->indices = look_at_all_indices(recording, &input);
}
