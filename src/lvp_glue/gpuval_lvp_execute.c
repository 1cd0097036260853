/* SPDX-License-Identifier: MIT */

/* Submits, on the queue's thread: each command before lavapipe executes it, and what its shaders
 * find in the command data.
 */

#include "gpuval_lvp_builds.h"
#include "gpuval_lvp_device.h"
#include "gpuval_lvp_draws.h"
#include "gpuval_lvp_executions.h"
#include "gpuval_lvp_inputs.h"
#include "gpuval_lvp_jit.h"
#include "gpuval_lvp_order.h"
#include "gpuval_lvp_race.h"
#include "gpuval_lvp_sets.h"
#include "gpuval_lvp_structures.h"
#include "gpuval_lvp_written.h"

#include "c11/threads.h"

static thread_local bool executes;

bool
gpuval_lvp_executes(void)
{
   return executes;
}

void
gpuval_lvp_begin_submit(struct gpuval_lvp *gpuval)
{
   executes = true;
   gpuval->work = gpuval_device_begin_work(gpuval->device);
   gpuval_lvp_progress_begin(&gpuval->progress, gpuval->submission);
}

void
gpuval_lvp_end_submit(struct gpuval_lvp *gpuval)
{
   gpuval_lvp_progress_end(&gpuval->progress);
   if (gpuval->race)
      gpuval_lvp_race_idle(gpuval->race, false);
   gpuval_device_end_work(gpuval->device, gpuval->work);
   if (gpuval->order)
      gpuval_lvp_order_end(gpuval->order);

   if (gpuval->written)
      gpuval_lvp_written_flush(gpuval->written);
   gpuval_lvp_commands_end_submit(gpuval->commands);
   gpuval_lvp_executions_end_submit(gpuval->executions);
   gpuval_queue_labels_end_submit(gpuval->queue_labels);
   gpuval->submission++;
   executes = false;
}

void
gpuval_lvp_begin_command_buffer(struct gpuval_lvp *gpuval, struct lvp_cmd_buffer *cmd_buffer)
{
   gpuval_lvp_executions_begin(gpuval->executions, cmd_buffer,
                               gpuval_queue_labels_execute(gpuval->queue_labels));
   memset(gpuval->pipelines, 0, sizeof(gpuval->pipelines));
   memset(gpuval->descriptor_buffers, 0, sizeof(gpuval->descriptor_buffers));
   memset(gpuval->moved_sets, 0, sizeof(gpuval->moved_sets));
   memset(gpuval->shaders, 0, sizeof(gpuval->shaders));
   gpuval->emitted_sets = 0;
   gpuval->has_constants = false; /* lavapipe unbinds all behind a command buffer */

   gpuval->arguments = NULL;
   gpuval->condition = NULL;
   if (gpuval->race)
      gpuval_lvp_race_idle(gpuval->race, true);
   if (gpuval->order)
      gpuval_lvp_order_begin(gpuval->order, cmd_buffer);
   if (gpuval->inputs)
      gpuval_lvp_inputs_begin(gpuval->inputs);
   if (gpuval->written)
      gpuval_lvp_written_flush(gpuval->written);
   gpuval_commands_begin(gpuval->walk);
   gpuval->waits = false;
}

/* With sync-compute alone only dispatches count. */
static bool
reads_arguments(const struct gpuval_lvp *gpuval, enum vk_cmd_type type, unsigned kind)
{
   if (!gpuval_options_sync() || !(kind & GPUVAL_LVP_INDIRECT))
      return false;
   return type == VK_CMD_DISPATCH_INDIRECT ||
          gpuval_options_sync() & BITFIELD_BIT(GPUVAL_CHECK_SYNC);
}

/* Returns whether it has been recorded, and not generated. */
static bool
note_command(struct gpuval_lvp *gpuval, const struct list_head *commands,
             const struct vk_cmd_queue_entry *command, unsigned kind)
{
   struct gpuval_lvp_execution *execution =
      gpuval_lvp_executions_find(gpuval->executions, commands, command);
   if (!execution)
      return false;

   if (command->type == VK_CMD_BEGIN_CONDITIONAL_RENDERING_EXT)
      gpuval->condition = command->u.begin_conditional_rendering_ext.conditional_rendering_begin;
   else if (command->type == VK_CMD_END_CONDITIONAL_RENDERING_EXT)
      gpuval->condition = NULL;

   switch ((unsigned)command->type) {
   case VK_CMD_BIND_PIPELINE: {
      VK_FROM_HANDLE(lvp_pipeline, pipeline, command->u.bind_pipeline.pipeline);
      gpuval->pipelines[lvp_pipeline_type_from_bind_point(
         command->u.bind_pipeline.pipeline_bind_point)] = pipeline;
      return true;
   }
   case VK_CMD_BIND_SHADERS_EXT:
      for (uint32_t i = 0; i < command->u.bind_shaders_ext.stage_count; i++) {
         bool is_compute = command->u.bind_shaders_ext.stages[i] == VK_SHADER_STAGE_COMPUTE_BIT;
         gpuval->pipelines[is_compute ? LVP_PIPELINE_COMPUTE : LVP_PIPELINE_GRAPHICS] = NULL;
         gpuval->shaders[vk_to_mesa_shader_stage(command->u.bind_shaders_ext.stages[i])] =
            command->u.bind_shaders_ext.shaders ? command->u.bind_shaders_ext.shaders[i]
                                                : VK_NULL_HANDLE;
      }
      return true;
   case VK_CMD_SET_RAY_TRACING_PIPELINE_STACK_SIZE_KHR:
      if (command->driver_data)
         gpuval_lvp_executions_label(gpuval->executions, execution, command->driver_data);
      return true;
   }

   if (!(kind & (GPUVAL_LVP_ACTION | GPUVAL_LVP_OTHER)))
      return true;

   gpuval->arguments = reads_arguments(gpuval, command->type, kind) ? command : NULL;
   gpuval->has_id = false;

   struct gpuval_lvp_command *current = &gpuval->current;
   current->type = command->type;
   current->calls = command->gpuval_calls;
   gpuval->changes_pipelines =
      command->type == VK_CMD_EXECUTE_GENERATED_COMMANDS_NV ||
      (command->type == VK_CMD_EXECUTE_GENERATED_COMMANDS_EXT &&
       command->u.execute_generated_commands_ext.generated_commands_info->indirectExecutionSet);
   current->index = kind & GPUVAL_LVP_ACTION ? execution->next_index++ : -1;
   current->cmd_buffer = execution->cmd_buffer;
   current->primary = gpuval_lvp_executions_primary(gpuval->executions);
   current->labels[0] = execution->outer;
   current->labels[1] = execution->labels ? &execution->labels->open : NULL;
   current->submission = gpuval->submission;
   return true;
}

static enum lvp_pipeline_type
command_pipeline_type(enum vk_cmd_type type)
{
   const char *name = vk_cmd_queue_type_names[type];

   return !strncmp(name, "VK_CMD_DISPATCH", 15)     ? LVP_PIPELINE_COMPUTE
          : !strncmp(name, "VK_CMD_TRACE_RAYS", 17) ? LVP_PIPELINE_RAY_TRACING
                                                    : LVP_PIPELINE_GRAPHICS;
}

/* lavapipe waits at barriers and for events, after our hook but before the command that follows. */
static void
finish_wait(struct gpuval_lvp *gpuval, enum vk_cmd_type next)
{
   if (gpuval->waits && gpuval->race)
      gpuval_lvp_race_flush(gpuval->race);
   if (gpuval->waits && gpuval->written)
      gpuval_lvp_written_flush(gpuval->written);
   gpuval->waits = next == VK_CMD_PIPELINE_BARRIER2 || next == VK_CMD_WAIT_EVENTS2;
   if (gpuval->waits && gpuval->order)
      gpuval_lvp_order_waits(gpuval->order);
}

/* lavapipe puts generated commands one behind the other into the preprocess buffer, at multiples of
 * 4 (lvp_device_generated_commands.c): core reads them aligned.
 */
static void
visit_command(struct gpuval_lvp *gpuval, const struct vk_cmd_queue_entry *command)
{
   struct vk_cmd_queue_entry aligned;

   if ((uintptr_t)command % alignof(struct vk_cmd_queue_entry)) {
      memcpy(&aligned, command, vk_cmd_queue_type_sizes[command->type]);
      command = &aligned;
   }
   gpuval_commands_visit(gpuval->walk, command);
}

/* Dispatches that follow do what a build is. */
static struct vk_cmd_queue_entry *
skip_recorded(const struct gpuval_lvp *gpuval, struct vk_cmd_queue_entry *command)
{
   return gpuval->builds && command->type == VK_CMD_BUILD_ACCELERATION_STRUCTURES_KHR
             ? gpuval_lvp_builds_skip(gpuval->builds, command)
             : command;
}

struct vk_cmd_queue_entry *
gpuval_lvp_next_command(struct gpuval_lvp *gpuval, const struct list_head *commands,
                        struct vk_cmd_queue_entry *command)
{
   gpuval_lvp_progress_next(&gpuval->progress, command->type);
   gpuval->begins_query =
      command->type == VK_CMD_BEGIN_QUERY || command->type == VK_CMD_BEGIN_QUERY_INDEXED_EXT;
   if (gpuval_lvp_builds_contain(gpuval->builds, command->type))
      return command;

   unsigned kind = gpuval_lvp_command_kind(gpuval->commands, command->type);
   bool looks_at_all = gpuval->order || gpuval->written || gpuval->structures || gpuval->inputs;

   /* The first command of a secondary tells that it is executed once more. */
   if (!(kind & ~GPUVAL_LVP_OTHER) && !looks_at_all && commands->next != &command->cmd_link)
      return skip_recorded(gpuval, command);

   if (kind & GPUVAL_LVP_BINDS) {
      gpuval->emitted_sets = 0;
      gpuval_lvp_note_sets(command, gpuval->descriptor_buffers, gpuval->moved_sets);
   }
   gpuval->is_generated = !note_command(gpuval, commands, command, kind);
   finish_wait(gpuval, command->type);
   visit_command(gpuval, command);
   if (gpuval->structures)
      command = gpuval_lvp_structures_replace(gpuval->structures, command);
   if (gpuval->inputs)
      command = gpuval_lvp_inputs_replace(gpuval->inputs, command);
   return skip_recorded(gpuval, command);
}

/* Their commands bind what they need themselves. */
static bool
is_generated(enum vk_cmd_type type)
{
   return type == VK_CMD_EXECUTE_GENERATED_COMMANDS_EXT ||
          type == VK_CMD_EXECUTE_GENERATED_COMMANDS_NV;
}

/* NULL: shaders are, or there is none. */
static const struct lvp_pipeline *
get_pipeline(const struct gpuval_lvp *gpuval)
{
   const struct gpuval_lvp_command *command = &gpuval->current;
   bool uses_pipeline = command->index >= 0 && !is_generated(command->type);

   return uses_pipeline ? gpuval->pipelines[command_pipeline_type(command->type)] : NULL;
}

bool
gpuval_lvp_is_generated(const struct gpuval_lvp *gpuval)
{
   return gpuval->is_generated;
}

uint32_t
gpuval_lvp_command_id(struct gpuval_lvp *gpuval)
{
   struct gpuval_lvp_command command = gpuval->current;

   command.pipeline = get_pipeline(gpuval);
   memset(command.shaders, 0, sizeof(command.shaders));
   if (!gpuval->has_id)
      gpuval->id = gpuval_lvp_commands_add(gpuval->commands, &command);
   gpuval->has_id = true;
   return gpuval->id;
}

void
gpuval_lvp_report(struct gpuval_lvp *gpuval, const struct gpuval_command_failure *failure)
{
   const struct lvp_pipeline *pipeline = get_pipeline(gpuval);
   bool has_shaders = gpuval->current.index >= 0 && !is_generated(gpuval->current.type);
   uint64_t bound = has_shaders ? _mesa_hash_data(gpuval->shaders, sizeof(gpuval->shaders)) : 0;

   gpuval_device_report_command(gpuval->device, gpuval_lvp_command_id(gpuval),
                                pipeline ? (uintptr_t)pipeline : bound, failure);
}

static enum lvp_pipeline_type
pipeline_type(uint32_t stages)
{
   return stages & BITFIELD_BIT(MESA_SHADER_COMPUTE)  ? LVP_PIPELINE_COMPUTE
          : stages & BITFIELD_BIT(MESA_SHADER_RAYGEN) ? LVP_PIPELINE_RAY_TRACING
                                                      : LVP_PIPELINE_GRAPHICS;
}

static void
read_structs(struct gpuval_lvp *gpuval, struct gpuval_indirect_read *read, uint64_t address,
             uint32_t size, uint64_t stride, uint32_t count)
{
   read->size = size;
   read->table = gpuval->order->table.table;
   for (uint32_t i = 0; i < count; i++) {
      read->address = address + stride * i;
      gpuval_device_indirect_read(gpuval->device, read);
   }
}

static void
read_arguments(struct gpuval_lvp *gpuval, uint32_t command_id)
{
   struct gpuval_indirect_read read = {.command.command_id = command_id};
   struct gpuval_indirect indirect;
   bool reads = gpuval_get_indirect(&gpuval->memory, gpuval->arguments, &indirect);

   gpuval->arguments = NULL;
   if (!reads || gpuval_is_discarded(&gpuval->memory, gpuval->condition))
      return;

   gpuval_lvp_order_work(gpuval->order, 0, &read.command);
   read.num_other_epochs = gpuval_submits_other_epochs(gpuval->order->hooks.submits,
                                                       read.command.epoch, read.other_epochs);
   if (indirect.count)
      read_structs(gpuval, &read, (uintptr_t)indirect.count, sizeof(*indirect.count), 0, 1);
   if (indirect.arguments.data)
      read_structs(gpuval, &read, (uintptr_t)indirect.arguments.data + indirect.arguments.offset,
                   gpuval_arguments_size(indirect.arguments.type), indirect.arguments.stride,
                   gpuval_arguments_inside(&indirect.arguments));
}

/* The pipeline of the current command, or its shaders where there is none. Generated
 * commands may change pipelines themselves.
 */
static void
note_pipeline(struct gpuval_lvp *gpuval, uint32_t stages, struct lvp_shader *const *shaders)
{
   struct gpuval_lvp_command *current = &gpuval->current;
   bool had_pipeline = current->pipeline != NULL;

   current->pipeline = gpuval->changes_pipelines ? NULL : gpuval->pipelines[pipeline_type(stages)];
   if (had_pipeline && current->pipeline)
      return;

   memset(current->shaders, 0, sizeof(current->shaders));
   if (!current->pipeline) {
      u_foreach_bit (stage, stages)
         current->shaders[stage] = shaders[stage];
   }
}

/* What was found out of them holds until something else is bound, but what has been
 * written changes with each command.
 */
static void
emit_sets(struct gpuval_lvp *gpuval, uint32_t stages, struct lvp_shader *const *shaders,
          struct lvp_descriptor_set *const *sets, enum lvp_pipeline_type type,
          struct gpuval_lvp_command_data *data)
{
   if (gpuval->emitted_sets == BITFIELD_BIT(type) && !gpuval->written)
      return;

   gpuval_lvp_trim_sets(gpuval_lvp_objects(gpuval), sets, gpuval->moved_sets[type]);
   gpuval->moved_sets[type] = 0;
   gpuval_lvp_emit_sets(gpuval, stages, shaders, sets, gpuval->descriptor_buffers[type], data);
   if (type == LVP_PIPELINE_RAY_TRACING && gpuval->pipelines[type] && gpuval->constants)
      gpuval_lvp_emit_ray_sets(gpuval, gpuval->pipelines[type], sets,
                               gpuval->descriptor_buffers[type],
                               (void *)(gpuval->constants_map + GPUVAL_LVP_CONSTANTS_SIZE));
   gpuval->emitted_sets = BITFIELD_BIT(type);
}

static void
note_progress(struct gpuval_lvp *gpuval, uint32_t stages, uint32_t id)
{
   gpuval_lvp_progress_emit(&gpuval->progress, pipeline_type(stages) == LVP_PIPELINE_GRAPHICS, id);
}

void
gpuval_lvp_emit(struct gpuval_lvp *gpuval, uint32_t stages, struct lvp_shader *const *shaders,
                struct lvp_descriptor_set *const sets[][GPUVAL_LVP_MAX_SETS],
                uint8_t *push_constants, bool *dirty)
{
   enum lvp_pipeline_type type = pipeline_type(stages);
   bool is_compute = type != LVP_PIPELINE_GRAPHICS;
   uint8_t *constants = is_compute && gpuval->constants ? gpuval->constants_map : push_constants;
   struct gpuval_command_data *data = (void *)(constants + GPUVAL_LVP_COMMAND_DATA_OFFSET);
   uint32_t instrumented = 0;

   /* The command noted last may be one of a submit whose command buffer is gone. */
   if (gpuval->begins_query)
      return;

   u_foreach_bit (stage, stages) {
      if (!shaders[stage] || !shaders[stage]->pipeline_nir)
         continue;

      /* A ray-tracing pipeline is one compute shader whose stages are rebased. */
      const struct gpuval_shader *shader = shaders[stage]->pipeline_nir->gpuval;
      if (stage == MESA_SHADER_RAYGEN)
         data->entry_base[MESA_SHADER_COMPUTE] = 0;
      else if (shader)
         data->entry_base[stage] = gpuval_shader_entry_base(shader);
      else
         continue;
      dirty[stage] = true;
      instrumented |= BITFIELD_BIT(stage);
   }
   note_pipeline(gpuval, stages, shaders);
   if (!instrumented && !gpuval->arguments) {
      uint32_t id = gpuval_lvp_commands_add(gpuval->commands, &gpuval->current);
      note_progress(gpuval, stages, id);
      if (gpuval->race && !is_compute)
         gpuval_lvp_race_draw(gpuval->race, id);
      return;
   }

   data->root_address = gpuval_device_root_address(gpuval->device);
   data->functions = gpuval_lvp_jit_functions(gpuval->jit);
   if (gpuval_lvp_objects(gpuval))
      emit_sets(gpuval, instrumented, shaders, sets[type], type, (void *)data);
   data->command_id = gpuval_lvp_commands_add(gpuval->commands, &gpuval->current);
   note_progress(gpuval, stages, data->command_id);
   gpuval_device_add_commands(gpuval->device, 1);
   if (gpuval->race && !is_compute)
      gpuval_lvp_race_draw(gpuval->race, data->command_id);
   if (gpuval->race)
      gpuval_lvp_race_shaders(gpuval->race, data->command_id, instrumented, shaders, sets[type],
                              gpuval->descriptor_buffers[type], (void *)data);
   if (!is_compute)
      gpuval_lvp_draws_emit(gpuval->draws, &gpuval->current, instrumented, push_constants);
   if (gpuval->arguments)
      read_arguments(gpuval, data->command_id);
   if (gpuval_options_sync() && instrumented)
      gpuval_lvp_order_work(gpuval->order, instrumented, data);
}

bool
gpuval_lvp_set_constants(struct gpuval_lvp *gpuval, struct pipe_context *context,
                         mesa_shader_stage stage, const uint8_t *push_constants, unsigned size)
{
   if (stage != MESA_SHADER_COMPUTE || !gpuval->constants)
      return false;

   memcpy(gpuval->constants_map, push_constants, MIN2(size, GPUVAL_LVP_COMMAND_DATA_OFFSET));
   if (!gpuval->has_constants) {
      const struct pipe_constant_buffer buffer = {
         .buffer = gpuval->constants,
         .buffer_size = GPUVAL_LVP_RAY_CONSTANTS_SIZE,
      };
      gpuval_lvp_set_constant_buffer(context, stage, &buffer);
      gpuval->has_constants = true;
   }
   return true;
}
