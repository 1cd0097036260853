/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp_inputs.h"
#include "gpuval_lvp.h"
#include "gpuval_lvp_order.h"
#include "gpuval_lvp_private.h"

#include "gpuval/src/compat/gpuval_lvp_driver.h"

#include "gpuval/src/core/checks/gpuval_sync_commands.h"
#include "gpuval/src/core/inputs/gpuval_input_commands.h"
#include "gpuval/src/core/shaders/gpuval_instrument.h"
#include "util/u_inlines.h"
#include "vk_pipeline.h"

struct gpuval_lvp_inputs {
   struct lvp_device *device;
   struct gpuval_input_driver driver;
   struct gpuval_input_commands *observer;
   bool robust_device; /* and so are shader objects */
   bool robust_inputs; /* of the pipeline */

   /* Shaders that are bound: those of draws, and what the others are checked for */
   const struct lvp_pipeline_nir *stages[LVP_SHADER_STAGES];
   bool has_pipeline;
   uint32_t dispatch_checks, trace_checks; /* BITFIELD_BIT(enum gpuval_check) */

   struct vk_cmd_queue_entry stand_in;
   struct lvp_buffer stand_in_buffer; /* of its arguments */
};

/* Shaders */

/* Checks are selected by shader; a command is checked if one of its shaders is. */
static uint32_t
get_checks(const struct lvp_pipeline_nir *pipeline_nir)
{
   return gpuval_lvp_get_selection(pipeline_nir).checks;
}

static const struct vk_graphics_pipeline_state *
get_state(void *data, VkPipeline handle)
{
   VK_FROM_HANDLE(lvp_pipeline, pipeline, handle);
   return pipeline->type == LVP_PIPELINE_GRAPHICS ? &pipeline->graphics_state : NULL;
}

/* Where vertex inputs are a library of their own, that says how robust they are, and not the one
 * of the vertex shader.
 */
void
gpuval_lvp_note_inputs(struct lvp_pipeline *pipeline, struct lvp_device *device,
                       const VkGraphicsPipelineCreateInfo *info)
{
   const VkGraphicsPipelineLibraryCreateInfoEXT *library =
      vk_find_struct_const(info->pNext, GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
   const VkPipelineLibraryCreateInfoKHR *parts =
      vk_find_struct_const(info->pNext, PIPELINE_LIBRARY_CREATE_INFO_KHR);

   if (library && library->flags & VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT &&
       vk_find_struct_const(info->pNext, PIPELINE_ROBUSTNESS_CREATE_INFO)) {
      struct vk_pipeline_robustness_state robustness;
      vk_pipeline_robustness_state_fill(&device->vk, &robustness, info->pNext, NULL);
      pipeline->gpuval_robust_inputs = gpuval_is_robust(robustness.vertex_inputs);
   }
   for (uint32_t i = 0; parts && i < parts->libraryCount; i++) {
      VK_FROM_HANDLE(lvp_pipeline, part, parts->pLibraries[i]);
      pipeline->gpuval_robust_inputs |= part->gpuval_robust_inputs;
   }
}

static void
bind_pipeline(struct gpuval_lvp_inputs *inputs, const struct lvp_pipeline *pipeline)
{
   if (pipeline->type == LVP_PIPELINE_GRAPHICS) {
      memset(inputs->stages, 0, sizeof(inputs->stages));
      lvp_forall_gfx_stage(stage) inputs->stages[stage] = pipeline->shaders[stage].pipeline_nir;
      inputs->has_pipeline = true;
      inputs->robust_inputs = pipeline->gpuval_robust_inputs;
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
      VK_FROM_HANDLE(lvp_shader, shader, bind->shaders ? bind->shaders[i] : VK_NULL_HANDLE);
      mesa_shader_stage stage = vk_to_mesa_shader_stage(bind->stages[i]);
      const struct lvp_pipeline_nir *pipeline_nir = shader ? shader->pipeline_nir : NULL;

      if (stage == MESA_SHADER_COMPUTE) {
         inputs->dispatch_checks = get_checks(pipeline_nir);
      } else {
         inputs->stages[stage] = pipeline_nir;
         inputs->has_pipeline = false;
      }
   }
}

static void
bind(void *data, const struct vk_cmd_queue_entry *command)
{
   if (command->type == VK_CMD_BIND_PIPELINE)
      bind_pipeline(data, lvp_pipeline_from_handle(command->u.bind_pipeline.pipeline));
   else
      bind_shaders(data, &command->u.bind_shaders_ext);
}

/* vertex goes by the vertex shader alone. */
static void
get_shaders(void *data, struct gpuval_bound_shaders *shaders)
{
   const struct gpuval_lvp_inputs *inputs = data;
   const struct lvp_pipeline_nir *vertex = inputs->stages[MESA_SHADER_VERTEX];

   *shaders = (struct gpuval_bound_shaders){
      .dispatch_checks = inputs->dispatch_checks,
      .trace_checks = inputs->trace_checks,
      .inputs_read = vertex ? vertex->nir->info.inputs_read >> VERT_ATTRIB_GENERIC0 : 0,
      .robust_vertex = inputs->has_pipeline
                          ? gpuval_lvp_get_selection(vertex).robust_vertex || inputs->robust_inputs
                          : inputs->robust_device,
      .has_task = inputs->stages[MESA_SHADER_TASK],
   };
   lvp_forall_gfx_stage(stage) shaders->draw_checks |= get_checks(inputs->stages[stage]);
   shaders->draw_checks &= ~BITFIELD_BIT(GPUVAL_CHECK_VERTEX);
   shaders->draw_checks |= get_checks(vertex) & BITFIELD_BIT(GPUVAL_CHECK_VERTEX);
}

static struct gpuval_generated_layout
get_layout(VkIndirectCommandsLayoutEXT handle)
{
   VK_FROM_HANDLE(lvp_indirect_command_layout_ext, layout, handle);

   return (struct gpuval_generated_layout){
      .tokens = layout->tokens,
      .num_tokens = layout->vk.token_count,
      .stride = layout->vk.stride,
   };
}

static bool
is_generated(void *data)
{
   const struct gpuval_lvp_inputs *inputs = data;
   return gpuval_lvp_is_generated(inputs->device->gpuval);
}

static void
report(void *data, const struct gpuval_command_failure *failure)
{
   const struct gpuval_lvp_inputs *inputs = data;
   gpuval_lvp_report(inputs->device->gpuval, failure);
}

static void
fetch(void *data, const struct gpuval_vertex_input *input, const struct gpuval_draw *draw)
{
   const struct gpuval_lvp_inputs *inputs = data;
   const struct gpuval_lvp_order *order = gpuval_lvp_get_order(inputs->device->gpuval);

   if (order && order->sync)
      gpuval_sync_commands_fetch(order->sync, input, draw);
}

/* What is executed instead */

static void
release_stand_in(struct gpuval_lvp_inputs *inputs)
{
   pipe_resource_reference(&inputs->stand_in_buffer.bo, NULL);
}

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

struct vk_cmd_queue_entry *
gpuval_lvp_inputs_replace(struct gpuval_lvp_inputs *inputs, struct vk_cmd_queue_entry *command)
{
   const struct gpuval_input_result *result = gpuval_input_commands_result(inputs->observer);

   release_stand_in(inputs);
   if (result->verdict == GPUVAL_INPUT_GOOD || !gpuval_options()->safe)
      return command;
   return result->verdict == GPUVAL_INPUT_SKIP
             ? skip(inputs, command)
             : skip_bad_draws(inputs, command, &result->arguments, &result->limits);
}

/* Device */

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
}

struct gpuval_lvp_inputs *
gpuval_lvp_inputs_create(void *mem_ctx, struct lvp_device *device,
                         const struct gpuval_host_memory *memory, struct gpuval_commands *commands)
{
   struct gpuval_lvp_inputs *inputs = rzalloc(mem_ctx, struct gpuval_lvp_inputs);
   struct vk_pipeline_robustness_state robustness;

   vk_pipeline_robustness_state_fill(&device->vk, &robustness, NULL, NULL);
   inputs->robust_device = gpuval_is_robust(robustness.vertex_inputs);
   inputs->device = device;
   inputs->driver = (struct gpuval_input_driver){
      .vk = &device->vk,
      .memory = *memory,
      .get_state = get_state,
      .bind = bind,
      .get_shaders = get_shaders,
      .is_generated = is_generated,
      .get_layout = get_layout,
      .fetch = fetch,
      .report = report,
      .data = inputs,
   };
   inputs->observer = gpuval_input_commands_create(inputs, &inputs->driver);
   gpuval_commands_add_observer(commands, &gpuval_input_observer, inputs->observer);
   return inputs;
}
