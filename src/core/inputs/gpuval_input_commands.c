/* SPDX-License-Identifier: MIT */

#include "gpuval_input_commands.h"

#include "core/commands/gpuval_vertex.h"
#include "gpuval.h"

#include "util/bitset.h"
#include "util/compiler.h"
#include "util/ralloc.h"
#include "vk_buffer.h"
#include "vk_device.h"
#include "vk_format.h"
#include "vk_graphics_state.h"
#include "vk_util.h"

struct gpuval_input_commands {
   const struct gpuval_input_driver *driver;

   struct gpuval_bound_shaders shaders;
   bool input_changed;

   /* By location, those that are described */
   uint32_t described;
   struct gpuval_vertex_attribute attributes[GPUVAL_MAX_ATTRIBUTES];
   struct gpuval_vertex_input input;

   const VkConditionalRenderingBeginInfoEXT *condition; /* NULL: none */

   struct gpuval_input_result result; /* of the command that was visited last */
};

struct gpuval_input_commands *
gpuval_input_commands_create(void *mem_ctx, const struct gpuval_input_driver *driver)
{
   struct gpuval_input_commands *inputs = rzalloc(mem_ctx, struct gpuval_input_commands);

   inputs->driver = driver;
   return inputs;
}

static struct gpuval_command_range
get_range(const struct gpuval_input_commands *inputs, VkBuffer buffer, uint64_t offset,
          uint64_t size, const char *type)
{
   return gpuval_get_buffer_range(&inputs->driver->memory, buffer, offset, size, type);
}

static void
reset(void *data)
{
   struct gpuval_input_commands *inputs = data;

   inputs->described = 0;
   inputs->condition = NULL;

   inputs->input = (struct gpuval_vertex_input){0};
   for (unsigned i = 0; i < GPUVAL_MAX_BINDINGS; i++) {
      inputs->input.bindings[i].range.type = "vertex_buffer";
      inputs->input.bindings[i].range.binding = i;
   }
   inputs->input.indices.range =
      get_range(inputs, VK_NULL_HANDLE, 0, VK_WHOLE_SIZE, "index_buffer");
   inputs->input_changed = true;
}

/* What is bound */

static void
bind_vertex_buffers(struct gpuval_input_commands *inputs,
                    const struct vk_cmd_bind_vertex_buffers2 *bind)
{
   for (uint32_t i = 0; i < bind->binding_count; i++) {
      uint32_t number = bind->first_binding + i;
      if (number >= GPUVAL_MAX_BINDINGS)
         return;

      struct gpuval_vertex_binding *binding = &inputs->input.bindings[number];
      binding->range = get_range(inputs, bind->buffers[i], bind->offsets[i],
                                 bind->sizes ? bind->sizes[i] : VK_WHOLE_SIZE, "vertex_buffer");
      binding->range.binding = number;
      binding->is_null = !bind->buffers[i] && inputs->driver->vk->enabled_features.nullDescriptor;
      if (bind->strides)
         binding->stride = bind->strides[i];
   }
   inputs->input_changed = true;
}

static void
bind_index_buffer(struct gpuval_input_commands *inputs, VkBuffer buffer, uint64_t offset,
                  uint64_t size, VkIndexType type)
{
   struct gpuval_index_buffer *indices = &inputs->input.indices;

   indices->range = get_range(inputs, buffer, offset, size, "index_buffer");
   indices->index_size = vk_index_type_to_bytes(type);
   indices->data = (const void *)(uintptr_t)indices->range.address;
   indices->is_null = !buffer && inputs->driver->vk->enabled_features.nullDescriptor;
}

static void
describe_attribute(struct gpuval_input_commands *inputs, uint32_t location, uint32_t binding,
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
set_vertex_input(struct gpuval_input_commands *inputs,
                 const struct vk_cmd_set_vertex_input_ext *set)
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
bind_vertex_input(struct gpuval_input_commands *inputs,
                  const struct vk_graphics_pipeline_state *state)
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

static void
bind_pipeline(struct gpuval_input_commands *inputs, VkPipeline pipeline)
{
   const struct vk_graphics_pipeline_state *state =
      inputs->driver->get_state(inputs->driver->data, pipeline);
   if (!state)
      return;

   bind_vertex_input(inputs, state);
   if (state->ia && !BITSET_TEST(state->dynamic, MESA_VK_DYNAMIC_IA_PRIMITIVE_RESTART_ENABLE))
      inputs->input.indices.restart = state->ia->primitive_restart_enable;
}

/* Returns whether the command changes what others read. */
static bool
note_state(struct gpuval_input_commands *inputs, const struct vk_cmd_queue_entry *command)
{
   switch ((unsigned)command->type) {
   case VK_CMD_BIND_PIPELINE:
      bind_pipeline(inputs, command->u.bind_pipeline.pipeline);
      FALLTHROUGH;
   case VK_CMD_BIND_SHADERS_EXT:
      inputs->driver->bind(inputs->driver->data, command);
      inputs->input_changed = true;
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

/* Draws */

/* For which what draws fetch is looked at */
#define FETCH_CHECKS (BITFIELD_BIT(GPUVAL_CHECK_VERTEX) | BITFIELD_BIT(GPUVAL_CHECK_SYNC))

static void
update_input(struct gpuval_input_commands *inputs)
{
   struct gpuval_vertex_input *input = &inputs->input;

   inputs->driver->get_shaders(inputs->driver->data, &inputs->shaders);
   inputs->input_changed = false;
   if (!(inputs->shaders.draw_checks & FETCH_CHECKS))
      return;

   input->robust_attributes = inputs->shaders.robust_vertex;
   input->robust_indices =
      inputs->driver->vk->enabled_features.robustBufferAccess2 && !gpuval_options()->robust;
   input->num_attributes = 0;
   u_foreach_bit (i, inputs->described & inputs->shaders.inputs_read)
      input->attributes[input->num_attributes++] = inputs->attributes[i];
   gpuval_vertex_input_update(input);
}

static const struct gpuval_bound_shaders *
get_shaders(struct gpuval_input_commands *inputs)
{
   if (inputs->input_changed)
      update_input(inputs);
   return &inputs->shaders;
}

static void
report(const struct gpuval_input_commands *inputs, const struct gpuval_command_failure *failures,
       unsigned count)
{
   for (unsigned i = 0; i < count; i++)
      inputs->driver->report(inputs->driver->data, &failures[i]);
}

static void
check_draw(struct gpuval_input_commands *inputs, const struct gpuval_draw *draw)
{
   struct gpuval_command_failure failures[GPUVAL_DRAW_MAX_FAILURES];
   uint32_t checks = inputs->shaders.draw_checks;

   if (checks & BITFIELD_BIT(GPUVAL_CHECK_VERTEX))
      report(inputs, failures, gpuval_check_draw(&inputs->input, draw, failures));
   if (checks & BITFIELD_BIT(GPUVAL_CHECK_SYNC) && inputs->driver->fetch)
      inputs->driver->fetch(inputs->driver->data, &inputs->input, draw);
}

static void
check_vertices(struct gpuval_input_commands *inputs, uint32_t first, uint32_t count,
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
check_indices(struct gpuval_input_commands *inputs, uint32_t first, uint32_t count,
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
check_indirect_draws(struct gpuval_input_commands *inputs, const struct gpuval_arguments *arguments)
{
   uint32_t count = arguments->data ? gpuval_arguments_inside(arguments) : 0;

   for (uint32_t i = 0; i < count; i++) {
      const struct gpuval_draw draw = gpuval_arguments_get_draw(arguments, i);
      check_draw(inputs, &draw);
   }
}

static void
check_multi_draw(struct gpuval_input_commands *inputs, const struct vk_cmd_draw_multi_ext *multi)
{
   for (uint32_t i = 0; i < multi->draw_count; i++)
      check_vertices(inputs, multi->vertex_info[i].firstVertex, multi->vertex_info[i].vertexCount,
                     multi->first_instance, multi->instance_count);
}

static void
check_multi_draw_indexed(struct gpuval_input_commands *inputs,
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
check_captured_draw(struct gpuval_input_commands *inputs, const void *counter,
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
check_direct_draw(struct gpuval_input_commands *inputs, const struct vk_cmd_queue_entry *command)
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

/* Commands */

static bool
check_bytes(struct gpuval_input_commands *inputs, const struct gpuval_command_range *range,
            uint64_t offset, const char *what)
{
   struct gpuval_command_failure failure;
   bool has_failed = gpuval_check_argument_bytes(range, offset, 4, what, &failure);

   report(inputs, &failure, has_failed);
   return !has_failed;
}

static void
check_indirect(struct gpuval_input_commands *inputs, const struct gpuval_indirect *indirect,
               struct gpuval_input_result *result)
{
   const struct gpuval_arguments *arguments = &indirect->arguments;
   struct gpuval_command_failure failures[GPUVAL_ARGUMENTS_MAX_FAILURES];

   result->arguments = *arguments;
   result->limits = gpuval_arguments_get_limits(inputs->driver->vk, arguments->type,
                                                get_shaders(inputs)->has_task);
   unsigned count = gpuval_check_arguments(arguments, &result->limits, failures);
   bool good = !indirect->has_count ||
               check_bytes(inputs, &indirect->count_range, indirect->count_offset, "the count");

   report(inputs, failures, count);
   if (good && !count)
      return;
   bool is_draw = arguments->type == GPUVAL_ARGUMENTS_DRAW ||
                  arguments->type == GPUVAL_ARGUMENTS_DRAW_INDEXED ||
                  arguments->type == GPUVAL_ARGUMENTS_DRAW_MESH_TASKS;
   result->verdict = is_draw ? GPUVAL_INPUT_SKIP_BAD : GPUVAL_INPUT_SKIP;
}

static void
check_byte_count(struct gpuval_input_commands *inputs,
                 const struct vk_cmd_draw_indirect_byte_count_ext *draw, uint32_t checks,
                 struct gpuval_input_result *result)
{
   struct gpuval_command_range range =
      get_range(inputs, draw->counter_buffer, 0, VK_WHOLE_SIZE, "indirect_buffer");
   bool inside = range.size >= 4 && draw->counter_buffer_offset <= range.size - 4;

   if (inside && checks & FETCH_CHECKS)
      check_captured_draw(
         inputs, (const char *)(uintptr_t)range.address + draw->counter_buffer_offset, draw);
   if (inside || !(checks & BITFIELD_BIT(GPUVAL_CHECK_INDIRECT)))
      return;
   check_bytes(inputs, &range, draw->counter_buffer_offset, "the counter");
   result->verdict = GPUVAL_INPUT_SKIP;
}

/* A driver may divide by the size of an index, which it does not know then. */
static bool
lacks_indices(const struct gpuval_input_commands *inputs, const struct vk_cmd_queue_entry *command)
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

static void
check_command(struct gpuval_input_commands *inputs, const struct vk_cmd_queue_entry *command,
              uint32_t checks, struct gpuval_input_result *result)
{
   struct gpuval_indirect indirect;
   bool is_indirect = gpuval_get_indirect(&inputs->driver->memory, command, &indirect);

   if (command->type == VK_CMD_DRAW_INDIRECT_BYTE_COUNT_EXT) {
      check_byte_count(inputs, &command->u.draw_indirect_byte_count_ext, checks, result);
      return;
   }
   if (checks & FETCH_CHECKS) {
      if (is_indirect)
         check_indirect_draws(inputs, &indirect.arguments);
      else
         check_direct_draw(inputs, command);
      if (checks & BITFIELD_BIT(GPUVAL_CHECK_VERTEX) && lacks_indices(inputs, command))
         result->verdict = GPUVAL_INPUT_SKIP;
   }
   if (is_indirect && checks & BITFIELD_BIT(GPUVAL_CHECK_INDIRECT))
      check_indirect(inputs, &indirect, result);
}

/* Those for which a command of this type reads anything */
static uint32_t
get_command_checks(struct gpuval_input_commands *inputs, enum vk_cmd_type type)
{
   switch ((unsigned)type) {
   case VK_CMD_DRAW:
   case VK_CMD_DRAW_MULTI_EXT:
   case VK_CMD_DRAW_INDEXED:
   case VK_CMD_DRAW_MULTI_INDEXED_EXT:
      return get_shaders(inputs)->draw_checks & FETCH_CHECKS;
   case VK_CMD_DRAW_INDIRECT:
   case VK_CMD_DRAW_INDEXED_INDIRECT:
   case VK_CMD_DRAW_INDIRECT_COUNT:
   case VK_CMD_DRAW_INDEXED_INDIRECT_COUNT:
   case VK_CMD_DRAW_INDIRECT_BYTE_COUNT_EXT:
      return get_shaders(inputs)->draw_checks &
             (FETCH_CHECKS | BITFIELD_BIT(GPUVAL_CHECK_INDIRECT));
   case VK_CMD_DRAW_MESH_TASKS_INDIRECT_EXT:
   case VK_CMD_DRAW_MESH_TASKS_INDIRECT_COUNT_EXT:
      return get_shaders(inputs)->draw_checks & BITFIELD_BIT(GPUVAL_CHECK_INDIRECT);
   case VK_CMD_DISPATCH_INDIRECT:
      return get_shaders(inputs)->dispatch_checks & BITFIELD_BIT(GPUVAL_CHECK_INDIRECT);
   case VK_CMD_TRACE_RAYS_INDIRECT_KHR:
   case VK_CMD_TRACE_RAYS_INDIRECT2_KHR:
      return get_shaders(inputs)->trace_checks & BITFIELD_BIT(GPUVAL_CHECK_INDIRECT);
   default:
      return 0;
   }
}

/* What commands are about to be made of; NULL if none are. */
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

static void
check_generated(struct gpuval_input_commands *inputs, const VkGeneratedCommandsInfoEXT *info,
                struct gpuval_input_result *result)
{
   const struct gpuval_input_driver *driver = inputs->driver;
   const struct gpuval_generated_layout layout = driver->get_layout(info->indirectCommandsLayout);

   if (gpuval_options_may_check(GPUVAL_CHECK_INDIRECT) &&
       !gpuval_check_generated(driver->memory.device, driver->vk, info, &layout,
                               get_shaders(inputs)->has_task, driver->report, driver->data))
      result->verdict = GPUVAL_INPUT_SKIP;
}

static void
begin(void *data, const struct vk_cmd_queue_entry *command)
{
   struct gpuval_input_commands *inputs = data;

   inputs->result.verdict = GPUVAL_INPUT_GOOD;
   if (note_state(inputs, command))
      return;

   const VkGeneratedCommandsInfoEXT *generated = get_generated(command);
   uint32_t checks = get_command_checks(inputs, command->type);
   if (checks && inputs->driver->is_generated(inputs->driver->data))
      checks &= ~BITFIELD_BIT(GPUVAL_CHECK_INDIRECT);
   if ((!checks && !generated) || gpuval_is_discarded(&inputs->driver->memory, inputs->condition))
      return;
   if (generated)
      check_generated(inputs, generated, &inputs->result);
   else
      check_command(inputs, command, checks, &inputs->result);
}

const struct gpuval_input_result *
gpuval_input_commands_result(const struct gpuval_input_commands *inputs)
{
   return &inputs->result;
}

const struct gpuval_command_observer gpuval_input_observer = {
   .reset = reset,
   .begin = begin,
};
