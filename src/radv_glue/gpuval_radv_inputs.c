/* SPDX-License-Identifier: MIT */

/* indirect, vertex: what is known of a command when it is recorded. That is where arguments
 * are, how many vertices and instances a direct draw has, and what is bound
 * (gpuval_radv_vertices.c). A failure belongs to a recorded command; each submit that executes
 * it reports it.
 *
 * Arguments, counts and indices themselves are looked at when they have been read
 * (gpuval_radv_looks.c).
 */

#include "gpuval_radv_layer.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_shader.h"

#include "gpuval/src/core/checks/gpuval_sync_events.h"
#include "gpuval/src/core/inputs/gpuval_arguments.h"
#include "gpuval/src/core/inputs/gpuval_indirect.h"
#include "gpuval/src/core/memory/gpuval_image_marks.h"
#include "gpuval/src/core/shaders/gpuval_instrument.h"

struct gpuval_radv_recording
gpuval_radv_begin(VkCommandBuffer handle, VkPipelineBindPoint bind_point)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   return (struct gpuval_radv_recording){
      .gpuval = radv_cmd_buffer_device(cmd_buffer)->gpuval,
      .cmd_buffer = cmd_buffer,
      .bind_point = bind_point,
   };
}

uint64_t
gpuval_radv_what_is_bound(const struct radv_cmd_buffer *cmd_buffer, VkPipelineBindPoint bind_point)
{
   const struct radv_cmd_state *state = &cmd_buffer->state;
   const void *pipeline =
      bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS  ? (void *)state->graphics_pipeline
      : bind_point == VK_PIPELINE_BIND_POINT_COMPUTE ? (void *)state->compute_pipeline
                                                     : (void *)state->rt_pipeline;

   return pipeline ? (uintptr_t)pipeline
                   : _mesa_hash_data(state->shader_objs, sizeof(state->shader_objs));
}

uint32_t
gpuval_radv_get_id(struct gpuval_radv_recording *recording)
{
   if (!recording->has_id)
      recording->command_id = gpuval_radv_add_command(
         recording->gpuval, recording->cmd_buffer,
         radv_get_descriptors_state(recording->cmd_buffer, recording->bind_point));
   recording->has_id = true;
   return recording->command_id;
}

/* A command that is executed on a condition */
static void
note_conditional(struct gpuval_radv_recording *recording,
                 const struct gpuval_command_failure *failure)
{
   const struct gpuval_radv_look look = {
      .command_id = gpuval_radv_get_id(recording),
      .bound = gpuval_radv_what_is_bound(recording->cmd_buffer, recording->bind_point),
      .is_conditional = true,
   };

   if (!recording->condition)
      recording->condition = gpuval_radv_add_look(recording->cmd_buffer, &look);
   if (recording->condition)
      util_dynarray_append_typed(&recording->condition->failures, struct gpuval_command_failure,
                                 *failure);
}

void
gpuval_radv_note(struct gpuval_radv_recording *recording,
                 const struct gpuval_command_failure *failure)
{
   struct radv_cmd_buffer *cmd_buffer = recording->cmd_buffer;

   recording->failed = true;
   if (cmd_buffer->state.predicating) {
      note_conditional(recording, failure);
      return;
   }

   const struct gpuval_radv_failure note = {
      .command_id = gpuval_radv_get_id(recording),
      .bound = gpuval_radv_what_is_bound(cmd_buffer, recording->bind_point),
      .failure = *failure,
   };
   util_dynarray_append_typed(gpuval_radv_failures(cmd_buffer), struct gpuval_radv_failure, note);
}

void
gpuval_radv_report_failure(struct gpuval_radv *gpuval, const struct gpuval_radv_failure *note)
{
   if (note->conflict) {
      gpuval_sync_report_conflict(gpuval->device, note->conflict);
      free(note->conflict);
      return;
   }

   struct gpuval_command_failure failure = note->failure;
   struct gpuval_command_range *range = &failure.range, there = {0};

   /* It may have been destroyed by now, and who an address belongs to takes a search. */
   if (range->address)
      gpuval_device_find_buffer(gpuval->device, range->address, 1, &there);
   if (!range->object && there.object) {
      range->object = there.object;
      range->object_offset = range->address - there.address;
   }
   gpuval_device_report_command(gpuval->device, note->command_id, note->bound, &failure);
}

void
gpuval_radv_report_failures(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer)
{
   util_dynarray_foreach (gpuval_radv_failures(cmd_buffer), struct gpuval_radv_failure, note)
      gpuval_radv_report_failure(gpuval, note);
}

/* Where arguments are */

bool
gpuval_radv_skips(const struct gpuval_radv_recording *recording)
{
   return recording->failed && gpuval_options()->safe;
}

static uint64_t
find_buffer(const struct vk_buffer *buffer)
{
   return gpuval_radv_buffer_address(container_of(buffer, const struct radv_buffer, vk));
}

/* The host does not read what it describes. */
static struct gpuval_host_memory
get_memory(const struct gpuval_radv_recording *recording)
{
   return (struct gpuval_host_memory){
      .device = recording->gpuval->device,
      .find_buffer = find_buffer,
   };
}

static bool
checks_arguments(void)
{
   return gpuval_options_may_check(GPUVAL_CHECK_INDIRECT);
}

uint32_t
gpuval_radv_check_structs(struct gpuval_radv_recording *recording,
                          const struct gpuval_arguments *arguments)
{
   const struct gpuval_arguments_limits limits = {0}; /* @arguments have no data */
   struct gpuval_command_failure failures[GPUVAL_ARGUMENTS_MAX_FAILURES];
   unsigned count = checks_arguments() ? gpuval_check_arguments(arguments, &limits, failures) : 0;

   for (unsigned i = 0; i < count; i++)
      gpuval_radv_note(recording, &failures[i]);
   return gpuval_radv_skips(recording) ? gpuval_arguments_inside(arguments) : arguments->count;
}

static bool
check_bytes(struct gpuval_radv_recording *recording, const struct gpuval_command_range *range,
            VkDeviceSize offset, const char *what)
{
   struct gpuval_command_failure failure;

   if (!gpuval_check_argument_bytes(range, offset, 4, what, &failure))
      return true;
   if (checks_arguments())
      gpuval_radv_note(recording, &failure);
   return false;
}

struct gpuval_radv_look *
gpuval_radv_look_before(struct gpuval_radv_recording *recording, struct gpuval_radv_look *at)
{
   at->command_id = gpuval_radv_get_id(recording);
   at->bound = gpuval_radv_what_is_bound(recording->cmd_buffer, recording->bind_point);
   at->checks_arguments = checks_arguments();
   return gpuval_radv_add_look(recording->cmd_buffer, at);
}

/* What a draw will have bound; state.shaders has shader objects only when it is recorded. */
static bool
has_task_shader(const struct radv_cmd_buffer *cmd_buffer)
{
   const struct radv_cmd_state *state = &cmd_buffer->state;

   return state->graphics_pipeline ? state->shaders[MESA_SHADER_TASK] != NULL
                                   : state->shader_objs[MESA_SHADER_TASK] != NULL;
}

/* Returns whether *copy is to be read instead. What task shaders draw, another queue reads. */
static bool
make_safe(struct gpuval_radv_recording *recording, const struct gpuval_arguments *arguments,
          struct radv_buffer *copy)
{
   struct radv_cmd_buffer *cmd_buffer = recording->cmd_buffer;
   bool is_mesh = arguments->type == GPUVAL_ARGUMENTS_DRAW_MESH_TASKS;

   if (!gpuval_options()->safe || !checks_arguments() || (is_mesh && has_task_shader(cmd_buffer)))
      return false;

   const struct gpuval_arguments_limits limits =
      gpuval_arguments_get_limits(&recording->gpuval->radv->vk, arguments->type, false);
   return gpuval_radv_make_safe(cmd_buffer, arguments, &limits, copy);
}

/* What entry points of gpuval_radv_layer_actions.c call. Draws are looked at when RADV has bound
 * their shaders, which it does last.
 */

void
gpuval_radv_check_draw(VkCommandBuffer handle, const struct gpuval_draw *draw)
{
   struct gpuval_radv_recording recording =
      gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_GRAPHICS);

   gpuval_radv_check_draws(&recording, draw, 1);
}

void
gpuval_radv_check_multi_draw(VkCommandBuffer handle, uint32_t count,
                             const VkMultiDrawInfoEXT *infos, uint32_t instances,
                             uint32_t first_instance, uint32_t stride)
{
   struct gpuval_radv_recording recording =
      gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_GRAPHICS);
   uint32_t i = 0;

   if (!gpuval_radv_looks_at_draws(recording.gpuval))
      return;

   struct gpuval_draw *draws = rzalloc_array(NULL, struct gpuval_draw, count);
   vk_foreach_multi_draw (info, i, infos, count, stride)
      draws[i] = (struct gpuval_draw){
         .first = info->firstVertex,
         .count = info->vertexCount,
         .first_instance = first_instance,
         .num_instances = instances,
      };
   gpuval_radv_check_draws(&recording, draws, count);
   ralloc_free(draws);
}

void
gpuval_radv_check_multi_draw_indexed(VkCommandBuffer handle, uint32_t count,
                                     const VkMultiDrawIndexedInfoEXT *infos, uint32_t instances,
                                     uint32_t first_instance, uint32_t stride,
                                     const int32_t *vertex_offset)
{
   struct gpuval_radv_recording recording =
      gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_GRAPHICS);
   uint32_t i = 0;

   if (!gpuval_radv_looks_at_draws(recording.gpuval))
      return;

   struct gpuval_draw *draws = rzalloc_array(NULL, struct gpuval_draw, count);
   vk_foreach_multi_draw_indexed (info, i, infos, count, stride)
      draws[i] = (struct gpuval_draw){
         .indexed = true,
         .first = info->firstIndex,
         .count = info->indexCount,
         .vertex_offset = vertex_offset ? *vertex_offset : info->vertexOffset,
         .first_instance = first_instance,
         .num_instances = instances,
      };
   gpuval_radv_check_draws(&recording, draws, count);
   ralloc_free(draws);
}

static VkPipelineBindPoint
get_bind_point(enum gpuval_arguments_type type)
{
   switch (type) {
   case GPUVAL_ARGUMENTS_DISPATCH:
      return VK_PIPELINE_BIND_POINT_COMPUTE;
   case GPUVAL_ARGUMENTS_TRACE_RAYS:
   case GPUVAL_ARGUMENTS_TRACE_RAYS2:
      return VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR;
   default:
      return VK_PIPELINE_BIND_POINT_GRAPHICS;
   }
}

static bool
looks_at(enum gpuval_arguments_type type)
{
   bool has_vertices = type == GPUVAL_ARGUMENTS_DRAW || type == GPUVAL_ARGUMENTS_DRAW_INDEXED;
   return checks_arguments() || (has_vertices && gpuval_options_may_check(GPUVAL_CHECK_VERTEX));
}

/* What is to be read may be a copy. */
static void
read_safe(struct gpuval_radv_indirect *indirect, struct gpuval_arguments arguments)
{
   struct radv_buffer *copy = &indirect->copy;

   arguments.count = indirect->count;
   if (!indirect->count || !make_safe(&indirect->recording, &arguments, copy))
      return;
   indirect->buffer = radv_buffer_to_handle(copy);
   indirect->address = gpuval_radv_buffer_address(copy);
   indirect->offset = 0;
   indirect->stride = gpuval_arguments_size(arguments.type);
}

static void
look_at_indirect(struct gpuval_radv_indirect *indirect, const struct gpuval_indirect *described,
                 bool has_count)
{
   const struct gpuval_arguments *arguments = &described->arguments;
   struct gpuval_radv_recording *recording = &indirect->recording;
   struct gpuval_radv_look at = {.arguments = *arguments};

   if (described->has_count) {
      at.count_address = indirect->count_address;
      at.max_count = arguments->count;
      if (gpuval_options()->safe && checks_arguments())
         indirect->count = gpuval_arguments_inside(arguments);
   } else {
      indirect->count = gpuval_radv_check_structs(recording, arguments);
   }
   indirect->look = has_count ? gpuval_radv_look_before(recording, &at) : NULL;
   indirect->is_skipped = !has_count && gpuval_radv_skips(recording);
   read_safe(indirect, *arguments);
}

void
gpuval_radv_begin_indirect(struct gpuval_radv_indirect *indirect, VkCommandBuffer handle,
                           const struct vk_cmd_queue_entry *command)
{
   struct gpuval_radv_recording *recording = &indirect->recording;
   struct gpuval_indirect described;

   *recording = gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_GRAPHICS);
   if (!checks_arguments() && !gpuval_radv_looks_at_draws(recording->gpuval))
      return;

   const struct gpuval_host_memory memory = get_memory(recording);
   gpuval_get_indirect(&memory, command, &described);
   recording->bind_point = get_bind_point(described.arguments.type);
   indirect->is_checked = looks_at(described.arguments.type);
   if (!indirect->is_checked && !recording->gpuval->shadow)
      return;

   const struct gpuval_command_range *count = &described.count_range;
   bool has_count =
      !described.has_count || check_bytes(recording, count, described.count_offset, "the count");
   if (has_count) {
      indirect->arguments = described.arguments;
      indirect->count_address = described.has_count ? count->address + described.count_offset : 0;
      gpuval_radv_add_arguments(recording, &indirect->arguments, indirect->count_address);
   }
   if (indirect->is_checked)
      look_at_indirect(indirect, &described, has_count);
}

void
gpuval_radv_begin_byte_count(struct gpuval_radv_indirect *indirect, VkCommandBuffer handle,
                             uint32_t instances, uint32_t first_instance, VkBuffer buffer,
                             VkDeviceSize offset, uint32_t counter_offset, uint32_t stride)
{
   struct gpuval_radv_look at = {
      .is_counter = true,
      .counter_offset = counter_offset,
      .counter_stride = stride,
      .draw = {.first_instance = first_instance, .num_instances = instances},
   };

   *indirect = (struct gpuval_radv_indirect){
      .recording = gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_GRAPHICS),
      .is_checked = looks_at(GPUVAL_ARGUMENTS_DRAW),
   };
   if (!indirect->is_checked)
      return;

   const struct gpuval_host_memory memory = get_memory(&indirect->recording);
   const struct gpuval_command_range range =
      gpuval_get_buffer_range(&memory, buffer, 0, VK_WHOLE_SIZE, "indirect_buffer");
   bool inside = check_bytes(&indirect->recording, &range, offset, "the counter");
   at.count_address = range.address + offset;
   indirect->look = inside && gpuval_options_may_check(GPUVAL_CHECK_VERTEX)
                       ? gpuval_radv_look_before(&indirect->recording, &at)
                       : NULL;
   indirect->is_skipped = !inside && gpuval_radv_skips(&indirect->recording);
}

void
gpuval_radv_end_indirect(struct gpuval_radv_indirect *indirect)
{
   gpuval_radv_look_at_fetch(&indirect->recording, &indirect->arguments, indirect->count_address);
   if (indirect->is_checked)
      gpuval_radv_finish_look(&indirect->recording, indirect->look);
}