/* SPDX-License-Identifier: MIT */

/* indirect, vertex: what is known of a command when it is recorded. That is where arguments
 * are, how many vertices and instances a direct draw has, and what is bound
 * (gpuval_radv_vertices.c). A failure belongs to a recorded command; each submit that executes
 * it reports it.
 *
 * Arguments, counts and indices themselves are looked at when they have been read
 * (gpuval_radv_looks.c).
 */

#include "gpuval_radv_inputs.h"

#include "radv_buffer.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_shader.h"

#include "gpuval/src/core/gpuval_arguments.h"
#include "gpuval/src/core/gpuval_image_marks.h"
#include "gpuval/src/core/gpuval_instrument.h"

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

static const struct vk_device_dispatch_table *
driver_of(VkCommandBuffer handle)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   return &radv_cmd_buffer_device(cmd_buffer)->gpuval->driver;
}

/* Handles of shader objects stand for a pipeline. */
static uint64_t
what_is_bound(const struct radv_cmd_buffer *cmd_buffer, VkPipelineBindPoint bind_point)
{
   const struct radv_cmd_state *state = &cmd_buffer->state;
   const void *pipeline =
      bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS  ? (void *)state->graphics_pipeline
      : bind_point == VK_PIPELINE_BIND_POINT_COMPUTE ? (void *)state->compute_pipeline
                                                     : (void *)state->rt_pipeline;

   return pipeline ? (uintptr_t)pipeline
                   : _mesa_hash_data(state->shader_objs, sizeof(state->shader_objs));
}

static uint32_t
get_id(struct gpuval_radv_recording *recording)
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
      .command_id = get_id(recording),
      .bound = what_is_bound(recording->cmd_buffer, recording->bind_point),
      .is_conditional = true,
   };

   if (!recording->condition)
      recording->condition = gpuval_radv_add_look(recording->cmd_buffer, &look);
   if (recording->condition)
      util_dynarray_append(&recording->condition->failures, struct gpuval_command_failure,
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
      .command_id = get_id(recording),
      .bound = what_is_bound(cmd_buffer, recording->bind_point),
      .failure = *failure,
   };
   util_dynarray_append(gpuval_radv_failures(cmd_buffer), struct gpuval_radv_failure, note);
}

void
gpuval_radv_report_failure(struct gpuval_radv *gpuval, const struct gpuval_radv_failure *note)
{
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

static struct gpuval_command_range
get_range(VkBuffer handle, const char *type)
{
   VK_FROM_HANDLE(radv_buffer, buffer, handle);

   return (struct gpuval_command_range){
      .type = type,
      .binding = -1,
      .object = &buffer->vk.base,
      .address = buffer->bo ? radv_buffer_get_va(buffer->bo) + buffer->offset : 0,
      .size = buffer->vk.size,
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

static struct gpuval_arguments
get_structs(enum gpuval_arguments_type type, VkBuffer buffer, VkDeviceSize offset, uint32_t count,
            uint32_t stride)
{
   return (struct gpuval_arguments){
      .type = type,
      .range = get_range(buffer, "indirect_buffer"),
      .offset = offset,
      .stride = stride,
      .count = count,
   };
}

static struct gpuval_arguments
get_structs_at(struct gpuval_radv_recording *recording, enum gpuval_arguments_type type,
               VkDeviceAddress address)
{
   struct gpuval_arguments arguments = {
      .type = type,
      .range = {.binding = -1, .address = address},
      .count = 1,
   };

   if (gpuval_device_find_buffer(recording->gpuval->device, address, gpuval_arguments_size(type),
                                 &arguments.range))
      arguments.offset = address - arguments.range.address;
   arguments.range.type = "address";
   return arguments;
}

static bool
check_bytes(struct gpuval_radv_recording *recording, VkBuffer buffer, VkDeviceSize offset,
            const char *what)
{
   const struct gpuval_command_range range = get_range(buffer, "indirect_buffer");
   struct gpuval_command_failure failure;

   if (!gpuval_check_argument_bytes(&range, offset, 4, what, &failure))
      return true;
   if (checks_arguments())
      gpuval_radv_note(recording, &failure);
   return false;
}

struct gpuval_radv_look *
gpuval_radv_look_before(struct gpuval_radv_recording *recording, struct gpuval_radv_look *at)
{
   at->command_id = get_id(recording);
   at->bound = what_is_bound(recording->cmd_buffer, recording->bind_point);
   at->checks_arguments = checks_arguments();
   return gpuval_radv_add_look(recording->cmd_buffer, at);
}

static struct gpuval_radv_look *
look_at_structs(struct gpuval_radv_recording *recording, const struct gpuval_arguments *arguments)
{
   return gpuval_radv_look_before(recording, &(struct gpuval_radv_look){.arguments = *arguments});
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

static bool
make_safe_draws(struct gpuval_radv_recording *recording, struct gpuval_arguments arguments,
                uint32_t count, struct radv_buffer *copy, VkBuffer *buffer, VkDeviceSize *offset,
                uint32_t *stride)
{
   arguments.count = count;
   if (!make_safe(recording, &arguments, copy))
      return false;
   *buffer = radv_buffer_to_handle(copy);
   *offset = 0;
   *stride = gpuval_arguments_size(arguments.type);
   return true;
}

/* Entry points, below those that give a command its name. Draws are looked at when RADV has
 * bound their shaders, which it does last.
 */

static VKAPI_ATTR void VKAPI_CALL
hook_CmdDraw(VkCommandBuffer handle, uint32_t count, uint32_t instances, uint32_t first,
             uint32_t first_instance)
{
   struct gpuval_radv_recording recording =
      gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_GRAPHICS);
   const struct gpuval_draw draw = {
      .first = first,
      .count = count,
      .first_instance = first_instance,
      .num_instances = instances,
   };

   driver_of(handle)->CmdDraw(handle, count, instances, first, first_instance);
   gpuval_radv_check_draws(&recording, &draw, 1);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdDrawIndexed(VkCommandBuffer handle, uint32_t count, uint32_t instances, uint32_t first,
                    int32_t vertex_offset, uint32_t first_instance)
{
   struct gpuval_radv_recording recording =
      gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_GRAPHICS);
   const struct gpuval_draw draw = {
      .indexed = true,
      .first = first,
      .count = count,
      .vertex_offset = vertex_offset,
      .first_instance = first_instance,
      .num_instances = instances,
   };

   driver_of(handle)->CmdDrawIndexed(handle, count, instances, first, vertex_offset,
                                     first_instance);
   gpuval_radv_check_draws(&recording, &draw, 1);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdDrawMultiEXT(VkCommandBuffer handle, uint32_t count, const VkMultiDrawInfoEXT *infos,
                     uint32_t instances, uint32_t first_instance, uint32_t stride)
{
   struct gpuval_radv_recording recording =
      gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_GRAPHICS);
   struct gpuval_draw *draws = rzalloc_array(NULL, struct gpuval_draw, count);
   uint32_t i = 0;

   vk_foreach_multi_draw (info, i, infos, count, stride)
      draws[i] = (struct gpuval_draw){
         .first = info->firstVertex,
         .count = info->vertexCount,
         .first_instance = first_instance,
         .num_instances = instances,
      };
   driver_of(handle)->CmdDrawMultiEXT(handle, count, infos, instances, first_instance, stride);
   gpuval_radv_check_draws(&recording, draws, count);
   ralloc_free(draws);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdDrawMultiIndexedEXT(VkCommandBuffer handle, uint32_t count,
                            const VkMultiDrawIndexedInfoEXT *infos, uint32_t instances,
                            uint32_t first_instance, uint32_t stride, const int32_t *vertex_offset)
{
   struct gpuval_radv_recording recording =
      gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_GRAPHICS);
   struct gpuval_draw *draws = rzalloc_array(NULL, struct gpuval_draw, count);
   uint32_t i = 0;

   vk_foreach_multi_draw_indexed (info, i, infos, count, stride)
      draws[i] = (struct gpuval_draw){
         .indexed = true,
         .first = info->firstIndex,
         .count = info->indexCount,
         .vertex_offset = vertex_offset ? *vertex_offset : info->vertexOffset,
         .first_instance = first_instance,
         .num_instances = instances,
      };
   driver_of(handle)->CmdDrawMultiIndexedEXT(handle, count, infos, instances, first_instance,
                                             stride, vertex_offset);
   gpuval_radv_check_draws(&recording, draws, count);
   ralloc_free(draws);
}

#define DEFINE_DRAW(name, type)                                                                    \
   static VKAPI_ATTR void VKAPI_CALL hook_##name(VkCommandBuffer handle, VkBuffer buffer,          \
                                                 VkDeviceSize offset, uint32_t count,              \
                                                 uint32_t stride)                                  \
   {                                                                                               \
      struct gpuval_radv_recording recording =                                                     \
         gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_GRAPHICS);                               \
      const struct gpuval_arguments arguments = get_structs(type, buffer, offset, count, stride);  \
      count = gpuval_radv_check_structs(&recording, &arguments);                                   \
      struct gpuval_radv_look *at = look_at_structs(&recording, &arguments);                       \
      struct radv_buffer copy;                                                                     \
      make_safe_draws(&recording, arguments, count, &copy, &buffer, &offset, &stride);             \
      driver_of(handle)->name(handle, buffer, offset, count, stride);                              \
      gpuval_radv_finish_look(&recording, at);                                                     \
   }
DEFINE_DRAW(CmdDrawIndirect, GPUVAL_ARGUMENTS_DRAW)
DEFINE_DRAW(CmdDrawIndexedIndirect, GPUVAL_ARGUMENTS_DRAW_INDEXED)
DEFINE_DRAW(CmdDrawMeshTasksIndirectEXT, GPUVAL_ARGUMENTS_DRAW_MESH_TASKS)

/* NULL as well where the count is outside */
static struct gpuval_radv_look *
look_at_counted(struct gpuval_radv_recording *recording, const struct gpuval_arguments *arguments,
                VkBuffer buffer, VkDeviceSize offset, bool *inside)
{
   struct gpuval_radv_look at = {
      .arguments = *arguments,
      .count_address = get_range(buffer, NULL).address + offset,
      .max_count = arguments->count,
   };

   *inside = check_bytes(recording, buffer, offset, "the count");
   return *inside ? gpuval_radv_look_before(recording, &at) : NULL;
}

#define DEFINE_COUNTED_DRAW(name, type)                                                            \
   static VKAPI_ATTR void VKAPI_CALL hook_##name(                                                  \
      VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset, VkBuffer count_buffer,         \
      VkDeviceSize count_offset, uint32_t max_count, uint32_t stride)                              \
   {                                                                                               \
      struct gpuval_radv_recording recording =                                                     \
         gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_GRAPHICS);                               \
      const struct gpuval_arguments arguments =                                                    \
         get_structs(type, buffer, offset, max_count, stride);                                     \
      bool inside;                                                                                 \
      struct gpuval_radv_look *at =                                                                \
         look_at_counted(&recording, &arguments, count_buffer, count_offset, &inside);             \
      struct radv_buffer copy;                                                                     \
      if (gpuval_options()->safe && checks_arguments())                                            \
         max_count = gpuval_arguments_inside(&arguments);                                          \
      make_safe_draws(&recording, arguments, max_count, &copy, &buffer, &offset, &stride);         \
      if (inside || !gpuval_radv_skips(&recording))                                                \
         driver_of(handle)->name(handle, buffer, offset, count_buffer, count_offset, max_count,    \
                                 stride);                                                          \
      gpuval_radv_finish_look(&recording, at);                                                     \
   }
DEFINE_COUNTED_DRAW(CmdDrawIndirectCount, GPUVAL_ARGUMENTS_DRAW)
DEFINE_COUNTED_DRAW(CmdDrawIndexedIndirectCount, GPUVAL_ARGUMENTS_DRAW_INDEXED)
DEFINE_COUNTED_DRAW(CmdDrawMeshTasksIndirectCountEXT, GPUVAL_ARGUMENTS_DRAW_MESH_TASKS)

static VKAPI_ATTR void VKAPI_CALL
hook_CmdDrawIndirectByteCountEXT(VkCommandBuffer handle, uint32_t instances,
                                 uint32_t first_instance, VkBuffer buffer, VkDeviceSize offset,
                                 uint32_t counter_offset, uint32_t stride)
{
   struct gpuval_radv_recording recording =
      gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_GRAPHICS);
   struct gpuval_radv_look at = {
      .count_address = get_range(buffer, NULL).address + offset,
      .is_counter = true,
      .counter_offset = counter_offset,
      .counter_stride = stride,
      .draw = {.first_instance = first_instance, .num_instances = instances},
   };
   bool inside = check_bytes(&recording, buffer, offset, "the counter");
   struct gpuval_radv_look *counted = inside && gpuval_options_may_check(GPUVAL_CHECK_VERTEX)
                                         ? gpuval_radv_look_before(&recording, &at)
                                         : NULL;

   if (inside || !gpuval_radv_skips(&recording))
      driver_of(handle)->CmdDrawIndirectByteCountEXT(handle, instances, first_instance, buffer,
                                                     offset, counter_offset, stride);
   gpuval_radv_finish_look(&recording, counted);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdDispatchIndirect(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset)
{
   struct gpuval_radv_recording recording =
      gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_COMPUTE);
   const struct gpuval_arguments arguments =
      get_structs(GPUVAL_ARGUMENTS_DISPATCH, buffer, offset, 1, 0);
   uint32_t count = gpuval_radv_check_structs(&recording, &arguments);
   struct gpuval_radv_look *at = look_at_structs(&recording, &arguments);
   struct radv_buffer copy;

   if (count && make_safe(&recording, &arguments, &copy))
      driver_of(handle)->CmdDispatchIndirect(handle, radv_buffer_to_handle(&copy), 0);
   else if (count)
      driver_of(handle)->CmdDispatchIndirect(handle, buffer, offset);
   gpuval_radv_finish_look(&recording, at);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdTraceRaysIndirectKHR(VkCommandBuffer handle, const VkStridedDeviceAddressRegionKHR *raygen,
                             const VkStridedDeviceAddressRegionKHR *miss,
                             const VkStridedDeviceAddressRegionKHR *hit,
                             const VkStridedDeviceAddressRegionKHR *callable,
                             VkDeviceAddress address)
{
   struct gpuval_radv_recording recording =
      gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR);
   const struct gpuval_arguments arguments =
      get_structs_at(&recording, GPUVAL_ARGUMENTS_TRACE_RAYS, address);
   uint32_t count = gpuval_radv_check_structs(&recording, &arguments);
   struct gpuval_radv_look *at = look_at_structs(&recording, &arguments);
   struct radv_buffer copy;

   if (count && make_safe(&recording, &arguments, &copy))
      address = radv_buffer_get_va(copy.bo) + copy.offset;
   if (count)
      driver_of(handle)->CmdTraceRaysIndirectKHR(handle, raygen, miss, hit, callable, address);
   gpuval_radv_finish_look(&recording, at);
}

static VKAPI_ATTR void VKAPI_CALL
hook_CmdTraceRaysIndirect2KHR(VkCommandBuffer handle, VkDeviceAddress address)
{
   struct gpuval_radv_recording recording =
      gpuval_radv_begin(handle, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR);
   const struct gpuval_arguments arguments =
      get_structs_at(&recording, GPUVAL_ARGUMENTS_TRACE_RAYS2, address);
   uint32_t count = gpuval_radv_check_structs(&recording, &arguments);
   struct gpuval_radv_look *at = look_at_structs(&recording, &arguments);
   struct radv_buffer copy;

   if (count && make_safe(&recording, &arguments, &copy))
      address = radv_buffer_get_va(copy.bo) + copy.offset;
   if (count)
      driver_of(handle)->CmdTraceRaysIndirect2KHR(handle, address);
   gpuval_radv_finish_look(&recording, at);
}

void
gpuval_radv_hook_inputs(struct gpuval_radv *gpuval)
{
   struct vk_device_dispatch_table *table = &gpuval->next;
   gpuval->driver = *table;

#define HOOK(name)                                                                                 \
   if (table->name)                                                                                \
      table->name = hook_##name;

   if (gpuval_options_may_check(GPUVAL_CHECK_VERTEX)) {
      HOOK(CmdDraw)
      HOOK(CmdDrawIndexed)
      HOOK(CmdDrawMultiEXT)
      HOOK(CmdDrawMultiIndexedEXT)
   }
   if (gpuval_options_may_check(GPUVAL_CHECK_VERTEX) || checks_arguments()) {
      HOOK(CmdDrawIndirect)
      HOOK(CmdDrawIndexedIndirect)
      HOOK(CmdDrawIndirectCount)
      HOOK(CmdDrawIndexedIndirectCount)
      HOOK(CmdDrawIndirectByteCountEXT)
   }
   if (checks_arguments()) {
      HOOK(CmdDrawMeshTasksIndirectEXT)
      HOOK(CmdDrawMeshTasksIndirectCountEXT)
      HOOK(CmdDispatchIndirect)
      HOOK(CmdTraceRaysIndirectKHR)
      HOOK(CmdTraceRaysIndirect2KHR)
      gpuval_radv_hook_generated(gpuval);
   }
}
