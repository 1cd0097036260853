/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_inputs.h"
#include "gpuval_lvp.h"
#include "gpuval_lvp_generated.h"
#include "gpuval_lvp_indirect.h"
#include "gpuval_lvp_private.h"

#include "lvp_private.h"

#include "gpuval/src/core/gpuval_instrument.h"
#include "gpuval/src/core/gpuval_vertex.h"
#include "util/u_inlines.h"
#include "vk_format.h"
#include "vk_pipeline.h"

struct gpuval_lvp_inputs {
   struct lvp_device *device;
   struct gpuval_lvp *gpuval;
   bool robust_device; /* and so are shader objects */

   /* Shaders that are bound: those of draws, and what the others are checked for */
   const struct lvp_pipeline_nir *stages[LVP_SHADER_STAGES];
   bool has_pipeline;
   uint32_t draw_checks, dispatch_checks, trace_checks; /* BITFIELD_BIT(enum gpuval_check) */

   /* By location, those that are described */
   uint32_t described;
   struct gpuval_vertex_attribute attributes[GPUVAL_MAX_ATTRIBUTES];
   struct gpuval_vertex_input input;
   bool input_changed;

   const VkConditionalRenderingBeginInfoEXT *condition; /* NULL: none */

   struct vk_cmd_queue_entry stand_in;
   struct lvp_buffer stand_in_buffer; /* of its arguments */
};

struct gpuval_lvp_inputs *
gpuval_lvp_inputs_create(void *mem_ctx, struct lvp_device *device, struct gpuval_lvp *gpuval)
{
   struct gpuval_lvp_inputs *inputs = rzalloc(mem_ctx, struct gpuval_lvp_inputs);
   struct vk_pipeline_robustness_state robustness;

   vk_pipeline_robustness_state_fill(&device->vk, &robustness, NULL, NULL);
   inputs->robust_device = gpuval_is_robust(robustness.vertex_inputs);
   inputs->device = device;
   inputs->gpuval = gpuval;
   return inputs;
}

static void
release_stand_in(struct gpuval_lvp_inputs *inputs)
{
   pipe_resource_reference(&inputs->stand_in_buffer.bo, NULL);
}

void
gpuval_lvp_inputs_destroy(struct gpuval_lvp_inputs *inputs)
{
   release_stand_in(inputs);
   ralloc_free(inputs);
}

void
gpuval_lvp_inputs_begin(struct gpuval_lvp_inputs *inputs)
{
   release_stand_in(inputs);
   memset(inputs->stages, 0, sizeof(inputs->stages));
   inputs->has_pipeline = false;
   inputs->dispatch_checks = inputs->trace_checks = 0;
   inputs->described = 0;
   inputs->condition = NULL;

   inputs->input = (struct gpuval_vertex_input){0};
   for (unsigned i = 0; i < GPUVAL_MAX_BINDINGS; i++) {
      inputs->input.bindings[i].range.type = "vertex_buffer";
      inputs->input.bindings[i].range.binding = i;
   }
   inputs->input.indices.range =
      gpuval_lvp_get_range(VK_NULL_HANDLE, 0, VK_WHOLE_SIZE, "index_buffer");
   inputs->input_changed = true;
}

/* What is bound */

static void
bind_vertex_buffers(struct gpuval_lvp_inputs *inputs,
                    const struct vk_cmd_bind_vertex_buffers2 *bind)
{
   for (uint32_t i = 0; i < bind->binding_count; i++) {
      uint32_t number = bind->first_binding + i;
      if (number >= GPUVAL_MAX_BINDINGS)
         return;

      struct gpuval_vertex_binding *binding = &inputs->input.bindings[number];
      binding->range =
         gpuval_lvp_get_range(bind->buffers[i], bind->offsets[i],
                              bind->sizes ? bind->sizes[i] : VK_WHOLE_SIZE, "vertex_buffer");
      binding->range.binding = number;
      binding->is_null = !bind->buffers[i] && inputs->device->vk.enabled_features.nullDescriptor;
      if (bind->strides)
         binding->stride = bind->strides[i];
   }
   inputs->input_changed = true;
}

static void
bind_index_buffer(struct gpuval_lvp_inputs *inputs, VkBuffer buffer, uint64_t offset, uint64_t size,
                  VkIndexType type)
{
   struct gpuval_index_buffer *indices = &inputs->input.indices;

   indices->range = gpuval_lvp_get_range(buffer, offset, size, "index_buffer");
   indices->index_size = vk_index_type_to_bytes(type);
   indices->data = (const void *)(uintptr_t)indices->range.address;
   indices->is_null = !buffer && inputs->device->vk.enabled_features.nullDescriptor;
}

static void
describe_attribute(struct gpuval_lvp_inputs *inputs, uint32_t location, uint32_t binding,
                   uint32_t offset, VkFormat format)
{
   if (location >= GPUVAL_MAX_ATTRIBUTES || binding >= GPUVAL_MAX_BINDINGS)
      return;

   inputs->described |= BITFIELD_BIT(location);
   inputs->attributes[location] = (struct gpuval_vertex_attribute){
      .location = location,
      .binding = binding,
      .offset = offset,
      .size = vk_format_get_blocksize(format),
   };
}

static void
set_vertex_input(struct gpuval_lvp_inputs *inputs, const struct vk_cmd_set_vertex_input_ext *set)
{
   for (uint32_t i = 0; i < set->vertex_binding_description_count; i++) {
      const VkVertexInputBindingDescription2EXT *description = &set->vertex_binding_descriptions[i];
      if (description->binding >= GPUVAL_MAX_BINDINGS)
         continue;

      struct gpuval_vertex_binding *binding = &inputs->input.bindings[description->binding];
      binding->stride = description->stride;
      binding->per_instance = description->inputRate == VK_VERTEX_INPUT_RATE_INSTANCE;
      binding->divisor = description->divisor;
   }

   inputs->described = 0;
   for (uint32_t i = 0; i < set->vertex_attribute_description_count; i++) {
      const VkVertexInputAttributeDescription2EXT *attribute =
         &set->vertex_attribute_descriptions[i];
      describe_attribute(inputs, attribute->location, attribute->binding, attribute->offset,
                         attribute->format);
   }
   inputs->input_changed = true;
}

static void
bind_vertex_input(struct gpuval_lvp_inputs *inputs, const struct vk_graphics_pipeline_state *state)
{
   const struct vk_vertex_input_state *vi = state->vi;
   if (!vi || BITSET_TEST(state->dynamic, MESA_VK_DYNAMIC_VI))
      return;

   u_foreach_bit (i, vi->bindings_valid) {
      struct gpuval_vertex_binding *binding = &inputs->input.bindings[i];

      if (!BITSET_TEST(state->dynamic, MESA_VK_DYNAMIC_VI_BINDING_STRIDES))
         binding->stride = vi->bindings[i].stride;
      binding->per_instance = vi->bindings[i].input_rate == VK_VERTEX_INPUT_RATE_INSTANCE;
      binding->divisor = vi->bindings[i].divisor;
   }
   inputs->described = 0;
   u_foreach_bit (i, vi->attributes_valid)
      describe_attribute(inputs, i, vi->attributes[i].binding, vi->attributes[i].offset,
                         vi->attributes[i].format);
}

/* Checks are selected by shader; a command is checked if one of its shaders is. */
static uint32_t
get_checks(const struct lvp_pipeline_nir *pipeline_nir)
{
   return gpuval_lvp_get_selection(pipeline_nir).checks;
}

static void
bind_graphics_pipeline(struct gpuval_lvp_inputs *inputs, const struct lvp_pipeline *pipeline)
{
   const struct vk_graphics_pipeline_state *state = &pipeline->graphics_state;

   memset(inputs->stages, 0, sizeof(inputs->stages));
   lvp_forall_gfx_stage(stage) inputs->stages[stage] = pipeline->shaders[stage].pipeline_nir;
   inputs->has_pipeline = true;
   bind_vertex_input(inputs, state);
   if (state->ia && !BITSET_TEST(state->dynamic, MESA_VK_DYNAMIC_IA_PRIMITIVE_RESTART_ENABLE))
      inputs->input.indices.restart = state->ia->primitive_restart_enable;
   inputs->input_changed = true;
}

static void
bind_pipeline(struct gpuval_lvp_inputs *inputs, const struct lvp_pipeline *pipeline)
{
   if (pipeline->type == LVP_PIPELINE_GRAPHICS) {
      bind_graphics_pipeline(inputs, pipeline);
   } else if (pipeline->type == LVP_PIPELINE_COMPUTE) {
      inputs->dispatch_checks = get_checks(pipeline->shaders[MESA_SHADER_COMPUTE].pipeline_nir);
   } else if (pipeline->type == LVP_PIPELINE_RAY_TRACING) {
      inputs->trace_checks = 0;
      for (unsigned i = 0; i < pipeline->rt.stage_count; i++)
         inputs->trace_checks |= get_checks(pipeline->rt.stages[i]);
   }
}

static void
bind_shaders(struct gpuval_lvp_inputs *inputs, const struct vk_cmd_bind_shaders_ext *bind)
{
   for (uint32_t i = 0; i < bind->stage_count; i++) {
      LVP_FROM_HANDLE(lvp_shader, shader, bind->shaders ? bind->shaders[i] : VK_NULL_HANDLE);
      gl_shader_stage stage = vk_to_mesa_shader_stage(bind->stages[i]);
      const struct lvp_pipeline_nir *pipeline_nir = shader ? shader->pipeline_nir : NULL;

      if (stage == MESA_SHADER_COMPUTE) {
         inputs->dispatch_checks = get_checks(pipeline_nir);
      } else {
         inputs->stages[stage] = pipeline_nir;
         inputs->has_pipeline = false;
         inputs->input_changed = true;
      }
   }
}

/* Returns whether the command changes what others read. */
static bool
note_state(struct gpuval_lvp_inputs *inputs, const struct vk_cmd_queue_entry *command)
{
   switch ((unsigned)command->type) {
   case VK_CMD_BIND_PIPELINE:
      bind_pipeline(inputs, lvp_pipeline_from_handle(command->u.bind_pipeline.pipeline));
      return true;
   case VK_CMD_BIND_SHADERS_EXT:
      bind_shaders(inputs, &command->u.bind_shaders_ext);
      return true;
   case VK_CMD_BIND_VERTEX_BUFFERS2:
      bind_vertex_buffers(inputs, &command->u.bind_vertex_buffers2);
      return true;
   case VK_CMD_BIND_INDEX_BUFFER:
      bind_index_buffer(inputs, command->u.bind_index_buffer.buffer,
                        command->u.bind_index_buffer.offset, VK_WHOLE_SIZE,
                        command->u.bind_index_buffer.index_type);
      return true;
   case VK_CMD_BIND_INDEX_BUFFER2:
      bind_index_buffer(inputs, command->u.bind_index_buffer2.buffer,
                        command->u.bind_index_buffer2.offset, command->u.bind_index_buffer2.size,
                        command->u.bind_index_buffer2.index_type);
      return true;
   case VK_CMD_SET_VERTEX_INPUT_EXT:
      set_vertex_input(inputs, &command->u.set_vertex_input_ext);
      return true;
   case VK_CMD_SET_PRIMITIVE_RESTART_ENABLE:
      inputs->input.indices.restart =
         command->u.set_primitive_restart_enable.primitive_restart_enable;
      return true;
   case VK_CMD_BEGIN_CONDITIONAL_RENDERING_EXT:
      inputs->condition = command->u.begin_conditional_rendering_ext.conditional_rendering_begin;
      return true;
   case VK_CMD_END_CONDITIONAL_RENDERING_EXT:
      inputs->condition = NULL;
      return true;
   default:
      return false;
   }
}

/* llvmpipe_check_render_cond() */
static bool
is_discarded(const struct gpuval_lvp_inputs *inputs)
{
   const VkConditionalRenderingBeginInfoEXT *condition = inputs->condition;
   LVP_FROM_HANDLE(lvp_buffer, buffer, condition ? condition->buffer : VK_NULL_HANDLE);
   uint32_t value;

   if (!buffer || !buffer->map)
      return false;
   memcpy(&value, (const char *)buffer->map + condition->offset, sizeof(value));
   return (value == 0) != !!(condition->flags & VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT);
}

/* Draws */

static void
update_input(struct gpuval_lvp_inputs *inputs)
{
   const struct lvp_pipeline_nir *vertex = inputs->stages[MESA_SHADER_VERTEX];
   struct gpuval_vertex_input *input = &inputs->input;

   inputs->draw_checks = 0;
   lvp_forall_gfx_stage(stage) inputs->draw_checks |= get_checks(inputs->stages[stage]);

   /* vertex goes by the vertex shader alone. */
   inputs->draw_checks &= ~BITFIELD_BIT(GPUVAL_CHECK_VERTEX);
   inputs->draw_checks |= get_checks(vertex) & BITFIELD_BIT(GPUVAL_CHECK_VERTEX);
   inputs->input_changed = false;
   if (!(inputs->draw_checks & BITFIELD_BIT(GPUVAL_CHECK_VERTEX)))
      return;

   input->robust_attributes =
      inputs->has_pipeline ? gpuval_lvp_get_selection(vertex).robust_vertex : inputs->robust_device;
   input->robust_indices =
      inputs->device->vk.enabled_features.robustBufferAccess2 && !gpuval_options()->robust;
   input->num_attributes = 0;
   u_foreach_bit (
      i, inputs->described & (uint32_t)(vertex->nir->info.inputs_read >> VERT_ATTRIB_GENERIC0))
      input->attributes[input->num_attributes++] = inputs->attributes[i];
   gpuval_vertex_input_update(input);
}

static void
check_draw(struct gpuval_lvp_inputs *inputs, const struct gpuval_draw *draw)
{
   struct gpuval_command_failure failures[GPUVAL_DRAW_MAX_FAILURES];
   unsigned count = gpuval_check_draw(&inputs->input, draw, failures);

   for (unsigned i = 0; i < count; i++)
      gpuval_lvp_report(inputs->gpuval, &failures[i]);
}

static void
check_vertices(struct gpuval_lvp_inputs *inputs, uint32_t first, uint32_t count,
               uint32_t first_instance, uint32_t num_instances)
{
   check_draw(inputs, &(struct gpuval_draw){
                         .first = first,
                         .count = count,
                         .first_instance = first_instance,
                         .num_instances = num_instances,
                      });
}

static void
check_indices(struct gpuval_lvp_inputs *inputs, uint32_t first, uint32_t count,
              int32_t vertex_offset, uint32_t first_instance, uint32_t num_instances)
{
   check_draw(inputs, &(struct gpuval_draw){
                         .indexed = true,
                         .first = first,
                         .count = count,
                         .vertex_offset = vertex_offset,
                         .first_instance = first_instance,
                         .num_instances = num_instances,
                      });
}

static void
check_indirect_draws(struct gpuval_lvp_inputs *inputs, const struct gpuval_arguments *arguments)
{
   uint32_t count = arguments->data ? gpuval_arguments_inside(arguments) : 0;

   for (uint32_t i = 0; i < count; i++) {
      const struct gpuval_draw draw = gpuval_arguments_get_draw(arguments, i);
      check_draw(inputs, &draw);
   }
}

static void
check_multi_draw(struct gpuval_lvp_inputs *inputs, const struct vk_cmd_draw_multi_ext *multi)
{
   for (uint32_t i = 0; i < multi->draw_count; i++)
      check_vertices(inputs, multi->vertex_info[i].firstVertex, multi->vertex_info[i].vertexCount,
                     multi->first_instance, multi->instance_count);
}

static void
check_multi_draw_indexed(struct gpuval_lvp_inputs *inputs,
                         const struct vk_cmd_draw_multi_indexed_ext *multi)
{
   for (uint32_t i = 0; i < multi->draw_count; i++) {
      const VkMultiDrawIndexedInfoEXT *info = &multi->index_info[i];
      check_indices(inputs, info->firstIndex, info->indexCount,
                    multi->vertex_offset ? *multi->vertex_offset : info->vertexOffset,
                    multi->first_instance, multi->instance_count);
   }
}

/* As many vertices as have been captured */
static void
check_captured_draw(struct gpuval_lvp_inputs *inputs, const void *counter,
                    const struct vk_cmd_draw_indirect_byte_count_ext *draw)
{
   uint32_t bytes;

   memcpy(&bytes, counter, sizeof(bytes));
   if (draw->vertex_stride)
      check_vertices(inputs, 0, (bytes - draw->counter_offset) / draw->vertex_stride,
                     draw->first_instance, draw->instance_count);
}

/* A draw whose arguments are in the command */
static void
check_direct_draw(struct gpuval_lvp_inputs *inputs, const struct vk_cmd_queue_entry *command)
{
   const struct vk_cmd_draw *draw = &command->u.draw;
   const struct vk_cmd_draw_indexed *indexed = &command->u.draw_indexed;

   switch ((unsigned)command->type) {
   case VK_CMD_DRAW:
      check_vertices(inputs, draw->first_vertex, draw->vertex_count, draw->first_instance,
                     draw->instance_count);
      break;
   case VK_CMD_DRAW_MULTI_EXT:
      check_multi_draw(inputs, &command->u.draw_multi_ext);
      break;
   case VK_CMD_DRAW_INDEXED:
      check_indices(inputs, indexed->first_index, indexed->index_count, indexed->vertex_offset,
                    indexed->first_instance, indexed->instance_count);
      break;
   case VK_CMD_DRAW_MULTI_INDEXED_EXT:
      check_multi_draw_indexed(inputs, &command->u.draw_multi_indexed_ext);
      break;
   }
}

/* What is executed instead */

static struct vk_cmd_queue_entry *
stand_in_for(struct gpuval_lvp_inputs *inputs, const struct vk_cmd_queue_entry *command,
             enum vk_cmd_type type)
{
   inputs->stand_in = (struct vk_cmd_queue_entry){
      .cmd_link = command->cmd_link, /* the list goes on behind it */
      .type = type,
   };
   return &inputs->stand_in;
}

/* lavapipe executes this command as nothing. */
static struct vk_cmd_queue_entry *
skip(struct gpuval_lvp_inputs *inputs, const struct vk_cmd_queue_entry *command)
{
   return stand_in_for(inputs, command, VK_CMD_SET_RAY_TRACING_PIPELINE_STACK_SIZE_KHR);
}

static enum vk_cmd_type
uncounted_type(enum gpuval_arguments_type type)
{
   return type == GPUVAL_ARGUMENTS_DRAW           ? VK_CMD_DRAW_INDIRECT
          : type == GPUVAL_ARGUMENTS_DRAW_INDEXED ? VK_CMD_DRAW_INDEXED_INDIRECT
                                                  : VK_CMD_DRAW_MESH_TASKS_INDIRECT_EXT;
}

/* The draws of it that are good: the others draw nothing, so that those behind them
 * keep their gl_DrawID.
 */
static struct vk_cmd_queue_entry *
skip_bad_draws(struct gpuval_lvp_inputs *inputs, const struct vk_cmd_queue_entry *command,
               const struct gpuval_arguments *arguments,
               const struct gpuval_arguments_limits *limits)
{
   struct pipe_context *ctx = inputs->device->queue.ctx;
   uint32_t size = gpuval_arguments_size(arguments->type);
   uint32_t count = arguments->data ? gpuval_arguments_inside(arguments) : 0;
   char *good = count ? calloc(count, size) : NULL;
   if (!good)
      return skip(inputs, command);

   for (uint32_t i = 0; i < count; i++) {
      if (gpuval_arguments_are_valid(arguments, limits, i))
         memcpy(good + (size_t)size * i,
                (const char *)arguments->data + arguments->offset + arguments->stride * i, size);
   }
   inputs->stand_in_buffer.vk.base.type = VK_OBJECT_TYPE_BUFFER;
   inputs->stand_in_buffer.bo = pipe_buffer_create_with_data(
      ctx, PIPE_BIND_COMMAND_ARGS_BUFFER, PIPE_USAGE_STREAM, (size_t)size * count, good);
   free(good);

   struct vk_cmd_queue_entry *stand_in =
      stand_in_for(inputs, command, uncounted_type(arguments->type));
   stand_in->u.draw_indirect = (struct vk_cmd_draw_indirect){
      .buffer = lvp_buffer_to_handle(&inputs->stand_in_buffer),
      .draw_count = count,
      .stride = size,
   };
   return stand_in;
}

/* Commands */

static bool
check_bytes(struct gpuval_lvp_inputs *inputs, const struct gpuval_command_range *range,
            uint64_t offset, const char *what)
{
   struct gpuval_command_failure failure;

   if (!gpuval_check_argument_bytes(range, offset, 4, what, &failure))
      return true;
   gpuval_lvp_report(inputs->gpuval, &failure);
   return false;
}

static struct vk_cmd_queue_entry *
check_indirect(struct gpuval_lvp_inputs *inputs, struct vk_cmd_queue_entry *command,
               const struct gpuval_lvp_indirect *indirect)
{
   const struct gpuval_arguments *arguments = &indirect->arguments;
   const struct gpuval_arguments_limits limits = gpuval_arguments_get_limits(
      &inputs->device->vk, arguments->type, inputs->stages[MESA_SHADER_TASK]);
   struct gpuval_command_failure failures[GPUVAL_ARGUMENTS_MAX_FAILURES];
   unsigned count = gpuval_check_arguments(arguments, &limits, failures);
   bool good = !indirect->has_count ||
               check_bytes(inputs, &indirect->count_range, indirect->count_offset, "the count");

   for (unsigned i = 0; i < count; i++)
      gpuval_lvp_report(inputs->gpuval, &failures[i]);
   if ((good && !count) || !gpuval_options()->safe)
      return command;

   bool is_draw = arguments->type == GPUVAL_ARGUMENTS_DRAW ||
                  arguments->type == GPUVAL_ARGUMENTS_DRAW_INDEXED ||
                  arguments->type == GPUVAL_ARGUMENTS_DRAW_MESH_TASKS;
   return is_draw ? skip_bad_draws(inputs, command, arguments, &limits) : skip(inputs, command);
}

static struct vk_cmd_queue_entry *
check_byte_count(struct gpuval_lvp_inputs *inputs, struct vk_cmd_queue_entry *command,
                 uint32_t checks)
{
   const struct vk_cmd_draw_indirect_byte_count_ext *draw =
      &command->u.draw_indirect_byte_count_ext;
   struct gpuval_command_range range =
      gpuval_lvp_get_range(draw->counter_buffer, 0, VK_WHOLE_SIZE, "indirect_buffer");
   bool inside = range.size >= 4 && draw->counter_buffer_offset <= range.size - 4;

   if (inside && checks & BITFIELD_BIT(GPUVAL_CHECK_VERTEX))
      check_captured_draw(
         inputs, (const char *)(uintptr_t)range.address + draw->counter_buffer_offset, draw);
   if (inside || !(checks & BITFIELD_BIT(GPUVAL_CHECK_INDIRECT)))
      return command;

   check_bytes(inputs, &range, draw->counter_buffer_offset, "the counter");
   return gpuval_options()->safe ? skip(inputs, command) : command;
}

/* lavapipe divides by the size of an index, which it does not know then. */
static bool
lacks_indices(const struct gpuval_lvp_inputs *inputs, const struct vk_cmd_queue_entry *command)
{
   switch ((unsigned)command->type) {
   case VK_CMD_DRAW_INDEXED:
   case VK_CMD_DRAW_MULTI_INDEXED_EXT:
   case VK_CMD_DRAW_INDEXED_INDIRECT:
   case VK_CMD_DRAW_INDEXED_INDIRECT_COUNT:
      return !inputs->input.indices.index_size;
   default:
      return false;
   }
}

static struct vk_cmd_queue_entry *
check_draw_command(struct gpuval_lvp_inputs *inputs, struct vk_cmd_queue_entry *command,
                   uint32_t checks)
{
   struct gpuval_lvp_indirect indirect;
   bool is_indirect = gpuval_lvp_get_indirect(inputs->device, gpuval_lvp_device(inputs->gpuval),
                                              command, &indirect);

   if (command->type == VK_CMD_DRAW_INDIRECT_BYTE_COUNT_EXT)
      return check_byte_count(inputs, command, checks);
   if (checks & BITFIELD_BIT(GPUVAL_CHECK_VERTEX)) {
      if (is_indirect)
         check_indirect_draws(inputs, &indirect.arguments);
      else
         check_direct_draw(inputs, command);
      if (gpuval_options()->safe && lacks_indices(inputs, command))
         command = skip(inputs, command);
   }
   if (is_indirect && checks & BITFIELD_BIT(GPUVAL_CHECK_INDIRECT))
      command = check_indirect(inputs, command, &indirect);
   return command;
}

static uint32_t
get_draw_checks(struct gpuval_lvp_inputs *inputs)
{
   if (inputs->input_changed)
      update_input(inputs);
   return inputs->draw_checks;
}

/* Those for which a command of this type reads anything */
static uint32_t
get_command_checks(struct gpuval_lvp_inputs *inputs, enum vk_cmd_type type)
{
   switch ((unsigned)type) {
   case VK_CMD_DRAW:
   case VK_CMD_DRAW_MULTI_EXT:
   case VK_CMD_DRAW_INDEXED:
   case VK_CMD_DRAW_MULTI_INDEXED_EXT:
      return get_draw_checks(inputs) & BITFIELD_BIT(GPUVAL_CHECK_VERTEX);
   case VK_CMD_DRAW_INDIRECT:
   case VK_CMD_DRAW_INDEXED_INDIRECT:
   case VK_CMD_DRAW_INDIRECT_COUNT:
   case VK_CMD_DRAW_INDEXED_INDIRECT_COUNT:
   case VK_CMD_DRAW_INDIRECT_BYTE_COUNT_EXT:
      return get_draw_checks(inputs) &
             (BITFIELD_BIT(GPUVAL_CHECK_VERTEX) | BITFIELD_BIT(GPUVAL_CHECK_INDIRECT));
   case VK_CMD_DRAW_MESH_TASKS_INDIRECT_EXT:
   case VK_CMD_DRAW_MESH_TASKS_INDIRECT_COUNT_EXT:
      return get_draw_checks(inputs) & BITFIELD_BIT(GPUVAL_CHECK_INDIRECT);
   case VK_CMD_DISPATCH_INDIRECT:
      return inputs->dispatch_checks & BITFIELD_BIT(GPUVAL_CHECK_INDIRECT);
   case VK_CMD_TRACE_RAYS_INDIRECT_KHR:
   case VK_CMD_TRACE_RAYS_INDIRECT2_KHR:
      return inputs->trace_checks & BITFIELD_BIT(GPUVAL_CHECK_INDIRECT);
   default:
      return 0;
   }
}

/* What lavapipe is about to make commands of; NULL if it is not. */
static const VkGeneratedCommandsInfoEXT *
get_generated(const struct vk_cmd_queue_entry *command)
{
   switch ((unsigned)command->type) {
   case VK_CMD_PREPROCESS_GENERATED_COMMANDS_EXT:
      return command->u.preprocess_generated_commands_ext.generated_commands_info;
   case VK_CMD_EXECUTE_GENERATED_COMMANDS_EXT:
      return command->u.execute_generated_commands_ext.is_preprocessed
                ? NULL
                : command->u.execute_generated_commands_ext.generated_commands_info;
   default:
      return NULL;
   }
}

struct vk_cmd_queue_entry *
gpuval_lvp_inputs_check(struct gpuval_lvp_inputs *inputs, struct vk_cmd_queue_entry *command,
                        bool is_generated)
{
   release_stand_in(inputs);
   if (note_state(inputs, command))
      return command;

   const VkGeneratedCommandsInfoEXT *generated = get_generated(command);
   uint32_t checks = get_command_checks(inputs, command->type);
   if (is_generated)
      checks &= ~BITFIELD_BIT(GPUVAL_CHECK_INDIRECT);
   if ((!checks && !generated) || is_discarded(inputs))
      return command;
   if (!generated)
      return check_draw_command(inputs, command, checks);

   bool good = !gpuval_options_may_check(GPUVAL_CHECK_INDIRECT) ||
               gpuval_lvp_check_generated(inputs->gpuval, &inputs->device->vk, generated,
                                          inputs->stages[MESA_SHADER_TASK]);
   return good || !gpuval_options()->safe ? command : skip(inputs, command);
}
