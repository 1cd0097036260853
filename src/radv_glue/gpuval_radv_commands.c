/* SPDX-License-Identifier: MIT */

/* Which command is it? RADV records commands once and the hardware runs them
 * whenever they are submitted, so an id belongs to a recorded command. What is
 * known of it stays until its command buffer is reset or destroyed.
 *
 * The name of a command is known where the application calls it, its id is
 * given where its descriptors are flushed. So the entry points are ours, and note
 * the name. RADV's own draws and dispatches do not come through them.
 */

#include "gpuval_radv_private.h"

#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_pipeline_compute.h"
#include "radv_pipeline_graphics.h"
#include "radv_pipeline_rt.h"
#include "radv_shader_object.h"

#include "gpuval/src/base/gpuval_names.h"
#include "util/ralloc.h"
#include "util/u_atomic.h"

/* Ids are given to command buffers in chunks. */
#define CHUNK_SIZE 64

struct command {
   const char *op;
   int64_t index;
   uint64_t pipeline;
   const char *pipeline_name;
   const struct labels *labels;
   const char *shader_names[MESA_VULKAN_SHADER_STAGES]; /* of shader objects */
};

/* The labels that are open, outermost first */
struct labels {
   unsigned count;
   const char *names[GPUVAL_MAX_LABELS];
};

struct chunk {
   struct list_head link; /* in its command buffer */
   uint32_t first_id;
   const struct gpuval_radv_commands *owner;
   uint32_t count; /* what of it may be read by others */
   struct command commands[CHUNK_SIZE];
};

struct gpuval_radv_commands {
   struct radv_cmd_buffer *cmd_buffer;
   struct list_head chunks;
   struct chunk *chunk; /* the last one */

   const char *op; /* of the command that is being recorded, or NULL */
   int64_t index;
   int64_t next_index;

   /* Strings of the last command, mostly those of the next */
   uint64_t pipeline;
   const char *pipeline_name;
   const struct labels *labels;

   /* The mutex of gpuval_radv */
   const char *name;
   uint64_t primary;
   const char *primary_name;
   int64_t submission;
   struct util_dynarray secondaries; /* struct radv_cmd_buffer * */

   struct util_dynarray failures;   /* gpuval_radv_inputs.c */
   struct util_dynarray looks;      /* gpuval_radv_looks.c */
   struct util_dynarray built;      /* gpuval_radv_structures.c */
   unsigned in_flight;              /* gpuval_radv_submit.c: submits */
   struct gpuval_radv_bound *bound; /* gpuval_radv_sets.c */

   /* gpuval_radv_sync.c */
   struct util_dynarray notes;
   uint64_t visit;
   bool is_quiet;
};

void
gpuval_radv_init_commands(struct gpuval_radv *gpuval)
{
   gpuval->commands = _mesa_hash_table_u64_create(gpuval);
}

void
gpuval_radv_finish_commands(struct gpuval_radv *gpuval)
{
   ralloc_free(gpuval->description);
}

static uint64_t
cmd_buffer_handle(const struct radv_cmd_buffer *cmd_buffer)
{
   return (uintptr_t)radv_cmd_buffer_to_handle((struct radv_cmd_buffer *)cmd_buffer);
}

static const char *
copy_name(void *mem_ctx, const char *name)
{
   return name ? ralloc_strdup(mem_ctx, name) : NULL;
}

/* Most of the time it is as it was. */
static void
set_name(void *mem_ctx, const char **copy, const struct vk_object_base *object)
{
   gpuval_names_lock();
   const char *name = object->object_name;
   if (!*copy || !name || strcmp(*copy, name)) {
      ralloc_free((char *)*copy);
      *copy = copy_name(mem_ctx, name);
   }
   gpuval_names_unlock();
}

bool
gpuval_radv_describe_command(void *data, uint32_t command_id, gl_shader_stage stage,
                             struct gpuval_command *out)
{
   struct gpuval_radv *gpuval = data;
   bool found = false;

   ralloc_free(gpuval->description);
   void *mem_ctx = gpuval->description = ralloc_context(NULL);

   simple_mtx_lock(&gpuval->mutex);
   const struct chunk *chunk =
      _mesa_hash_table_u64_search(gpuval->commands, command_id / CHUNK_SIZE + 1);
   if (chunk && command_id % CHUNK_SIZE < p_atomic_read(&chunk->count)) {
      const struct command *command = &chunk->commands[command_id % CHUNK_SIZE];
      const struct gpuval_radv_commands *owner = chunk->owner;

      found = true;
      out->op = command->op;
      out->index = command->index;
      out->submission = owner->submission;
      out->command_buffer = cmd_buffer_handle(owner->cmd_buffer);
      out->command_buffer_name = copy_name(mem_ctx, owner->name);
      out->primary = owner->primary;
      out->primary_name = copy_name(mem_ctx, owner->primary_name);
      out->pipeline = command->pipeline;
      out->pipeline_name = copy_name(mem_ctx, command->pipeline_name);
      if (stage < ARRAY_SIZE(command->shader_names))
         out->shader_name = copy_name(mem_ctx, command->shader_names[stage]);
      for (unsigned i = 0; command->labels && i < command->labels->count; i++)
         out->labels[out->num_labels++] = copy_name(mem_ctx, command->labels->names[i]);
   }
   simple_mtx_unlock(&gpuval->mutex);

   return found;
}

static struct gpuval_radv_commands *
get_commands(struct radv_cmd_buffer *cmd_buffer)
{
   if (!cmd_buffer->gpuval) {
      cmd_buffer->gpuval = rzalloc(NULL, struct gpuval_radv_commands);
      cmd_buffer->gpuval->cmd_buffer = cmd_buffer;
      cmd_buffer->gpuval->submission = -1;
      list_inithead(&cmd_buffer->gpuval->chunks);
      util_dynarray_init(&cmd_buffer->gpuval->secondaries, cmd_buffer->gpuval);
      util_dynarray_init(&cmd_buffer->gpuval->failures, cmd_buffer->gpuval);
      util_dynarray_init(&cmd_buffer->gpuval->looks, cmd_buffer->gpuval);
      util_dynarray_init(&cmd_buffer->gpuval->built, cmd_buffer->gpuval);
      util_dynarray_init(&cmd_buffer->gpuval->notes, cmd_buffer->gpuval);
   }
   return cmd_buffer->gpuval;
}

struct util_dynarray *
gpuval_radv_notes(struct radv_cmd_buffer *cmd_buffer)
{
   return &get_commands(cmd_buffer)->notes;
}

struct util_dynarray *
gpuval_radv_failures(struct radv_cmd_buffer *cmd_buffer)
{
   return &get_commands(cmd_buffer)->failures;
}

struct util_dynarray *
gpuval_radv_looks(struct radv_cmd_buffer *cmd_buffer)
{
   return &get_commands(cmd_buffer)->looks;
}

struct util_dynarray *
gpuval_radv_built(struct radv_cmd_buffer *cmd_buffer)
{
   return &get_commands(cmd_buffer)->built;
}

unsigned *
gpuval_radv_in_flight(struct radv_cmd_buffer *cmd_buffer)
{
   return &get_commands(cmd_buffer)->in_flight;
}

struct gpuval_radv_bound **
gpuval_radv_bound(struct radv_cmd_buffer *cmd_buffer, void **mem_ctx)
{
   struct gpuval_radv_commands *commands = get_commands(cmd_buffer);

   if (mem_ctx)
      *mem_ctx = commands;
   return &commands->bound;
}

uint64_t *
gpuval_radv_visit(struct radv_cmd_buffer *cmd_buffer)
{
   return &get_commands(cmd_buffer)->visit;
}

bool *
gpuval_radv_quiet(struct radv_cmd_buffer *cmd_buffer)
{
   return &get_commands(cmd_buffer)->is_quiet;
}

void
gpuval_radv_forget_commands(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer)
{
   struct gpuval_radv_commands *commands = cmd_buffer->gpuval;
   if (!commands)
      return;

   gpuval_radv_forget_looks(gpuval, cmd_buffer);
   simple_mtx_lock(&gpuval->mutex);
   list_for_each_entry (struct chunk, chunk, &commands->chunks, link)
      _mesa_hash_table_u64_remove(gpuval->commands, chunk->first_id / CHUNK_SIZE + 1);
   cmd_buffer->gpuval = NULL;
   simple_mtx_unlock(&gpuval->mutex);
   ralloc_free(commands);
}

/* Numbers wrap one day; those that are still in use are left out. */
static struct chunk *
add_chunk(struct gpuval_radv *gpuval, struct gpuval_radv_commands *commands)
{
   struct chunk *chunk = rzalloc(commands, struct chunk);
   uint32_t number;

   chunk->owner = commands;
   simple_mtx_lock(&gpuval->mutex);
   do {
      number = gpuval->next_chunk++ % (UINT32_MAX / CHUNK_SIZE);
   } while (_mesa_hash_table_u64_search(gpuval->commands, number + 1));
   chunk->first_id = number * CHUNK_SIZE;
   _mesa_hash_table_u64_insert(gpuval->commands, number + 1, chunk);
   list_addtail(&chunk->link, &commands->chunks);
   simple_mtx_unlock(&gpuval->mutex);

   commands->chunk = chunk;
   return chunk;
}

static void
note_pipeline(struct gpuval_radv_commands *commands, struct command *command,
              const struct radv_descriptor_state *descriptors)
{
   const struct radv_cmd_buffer *cmd_buffer = commands->cmd_buffer;
   struct radv_pipeline *pipeline = NULL;
   struct radv_graphics_pipeline *graphics = cmd_buffer->state.graphics_pipeline;
   struct radv_compute_pipeline *compute = cmd_buffer->state.compute_pipeline;
   struct radv_ray_tracing_pipeline *rt = cmd_buffer->state.rt_pipeline;

   switch (descriptors - cmd_buffer->descriptors) {
   case 0:
      pipeline = graphics ? &graphics->base : NULL;
      break;
   case 1:
      pipeline = compute ? &compute->base : NULL;
      break;
   default:
      pipeline = rt ? &rt->base.base : NULL;
      break;
   }

   if (!pipeline) {
      for (unsigned i = 0; i < ARRAY_SIZE(command->shader_names); i++) {
         const struct radv_shader_object *shader = cmd_buffer->state.shader_objs[i];
         if (shader)
            command->shader_names[i] = gpuval_object_name(commands, &shader->base);
      }
      return;
   }

   uint64_t handle = (uintptr_t)radv_pipeline_to_handle(pipeline);
   gpuval_names_lock();
   const char *name = pipeline->base.object_name;
   if (handle != commands->pipeline || !commands->pipeline_name != !name ||
       (name && strcmp(name, commands->pipeline_name))) {
      commands->pipeline = handle;
      commands->pipeline_name = copy_name(commands, name);
   }
   gpuval_names_unlock();
   command->pipeline = commands->pipeline;
   command->pipeline_name = commands->pipeline_name;
}

static const struct labels *
note_labels(struct gpuval_radv_commands *commands)
{
   const struct util_dynarray *open = &commands->cmd_buffer->vk.labels;
   const struct labels *last = commands->labels;
   unsigned count = MIN2(util_dynarray_num_elements(open, VkDebugUtilsLabelEXT), GPUVAL_MAX_LABELS);
   const VkDebugUtilsLabelEXT *labels = open->data;

   bool same = last ? count == last->count : !count;
   for (unsigned i = 0; same && i < count; i++)
      same = !strcmp(labels[i].pLabelName, last->names[i]);
   if (same)
      return last;

   struct labels *copy = rzalloc(commands, struct labels);
   copy->count = count;
   for (unsigned i = 0; i < count; i++)
      copy->names[i] = ralloc_strdup(copy, labels[i].pLabelName);
   commands->labels = copy;
   return copy;
}

uint32_t
gpuval_radv_add_command(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer,
                        const struct radv_descriptor_state *descriptors)
{
   struct gpuval_radv_commands *commands = get_commands(cmd_buffer);
   struct chunk *chunk = commands->chunk;
   if (!chunk || chunk->count == CHUNK_SIZE)
      chunk = add_chunk(gpuval, commands);

   struct command *command = &chunk->commands[chunk->count];
   command->op = commands->op;
   command->index = commands->op ? commands->index : -1;
   command->labels = note_labels(commands);
   if (descriptors)
      note_pipeline(commands, command, descriptors);
   p_atomic_set(&chunk->count, chunk->count + 1);
   return chunk->first_id + chunk->count - 1;
}

uint32_t
gpuval_radv_command_size(const struct gpuval_radv *gpuval)
{
   return gpuval_device_objects(gpuval->device) ? sizeof(struct gpuval_radv_command_data)
                                                : sizeof(struct gpuval_command_data);
}

void
gpuval_radv_record(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer,
                   const struct radv_descriptor_state *descriptors, void *data)
{
   struct gpuval_radv_command_data command_data;

   command_data.base = (struct gpuval_command_data){
      .root_address = gpuval_device_root_address(gpuval->device),
      .command_id = gpuval_radv_add_command(gpuval, cmd_buffer, descriptors),
   };
   if (gpuval_device_objects(gpuval->device))
      gpuval_radv_record_sets(gpuval, cmd_buffer, descriptors, &command_data);
   memcpy(data, &command_data, gpuval_radv_command_size(gpuval));
   if (gpuval->hooks.submits)
      gpuval_radv_note_work(gpuval, gpuval_radv_notes(cmd_buffer), cmd_buffer,
                            descriptors - cmd_buffer->descriptors, data,
                            command_data.base.command_id);
}

/* As often as they are executed */
static void
note_execution(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer)
{
   if (!cmd_buffer->gpuval)
      return;

   gpuval_radv_report_failures(gpuval, cmd_buffer);
   gpuval_radv_note_built(gpuval, cmd_buffer);
   util_dynarray_foreach (&cmd_buffer->gpuval->secondaries, struct radv_cmd_buffer *, secondary)
      note_execution(gpuval, *secondary);
}

void
gpuval_radv_collect_looks(struct radv_cmd_buffer *cmd_buffer, struct util_dynarray *buffers)
{
   struct gpuval_radv_commands *commands = cmd_buffer->gpuval;

   if (!commands)
      return;
   if (commands->looks.size)
      util_dynarray_append(buffers, struct radv_cmd_buffer *, cmd_buffer);
   util_dynarray_foreach (&commands->secondaries, struct radv_cmd_buffer *, secondary)
      gpuval_radv_collect_looks(*secondary, buffers);
}

void
gpuval_radv_submitted(struct gpuval_radv *gpuval, struct vk_command_buffer *const *buffers,
                      uint32_t count)
{
   simple_mtx_lock(&gpuval->mutex);
   for (uint32_t i = 0; i < count; i++) {
      const struct radv_cmd_buffer *cmd_buffer =
         container_of(buffers[i], const struct radv_cmd_buffer, vk);
      struct gpuval_radv_commands *commands = cmd_buffer->gpuval;
      if (!commands)
         continue;

      commands->submission = gpuval->next_submission;
      set_name(commands, &commands->name, &cmd_buffer->vk.base);
      util_dynarray_foreach (&commands->secondaries, struct radv_cmd_buffer *, secondary) {
         if ((*secondary)->gpuval)
            (*secondary)->gpuval->submission = gpuval->next_submission;
      }
   }
   gpuval->next_submission++;
   simple_mtx_unlock(&gpuval->mutex);

   for (uint32_t i = 0; i < count; i++)
      note_execution(gpuval, container_of(buffers[i], struct radv_cmd_buffer, vk));
}

/* Entry points */

static const struct vk_device_dispatch_table *
begin_action(VkCommandBuffer handle, const char *op, bool is_counted, bool *is_ours)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);
   struct gpuval_radv_commands *commands = get_commands(cmd_buffer);

   /* Mesa makes some of these commands out of others. */
   *is_ours = !commands->op;
   if (*is_ours) {
      commands->op = op;
      commands->index = is_counted ? commands->next_index++ : -1;
   }
   return &radv_cmd_buffer_device(cmd_buffer)->gpuval->next;
}

static void
end_action(VkCommandBuffer handle, bool is_ours)
{
   VK_FROM_HANDLE(radv_cmd_buffer, cmd_buffer, handle);

   if (is_ours)
      cmd_buffer->gpuval->op = NULL;
}

/* Name, the command in snake case, parameters and arguments behind the first */
#define ACTIONS(X)                                                                                 \
   X(CmdDraw, "draw", (VkCommandBuffer c, uint32_t n, uint32_t i, uint32_t f, uint32_t fi),        \
     (c, n, i, f, fi))                                                                             \
   X(CmdDrawIndexed, "draw_indexed",                                                               \
     (VkCommandBuffer c, uint32_t n, uint32_t i, uint32_t f, int32_t v, uint32_t fi),              \
     (c, n, i, f, v, fi))                                                                          \
   X(CmdDrawIndirect, "draw_indirect",                                                             \
     (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, uint32_t n, uint32_t s), (c, b, o, n, s))     \
   X(CmdDrawIndexedIndirect, "draw_indexed_indirect",                                              \
     (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, uint32_t n, uint32_t s), (c, b, o, n, s))     \
   X(CmdDrawIndirectCount, "draw_indirect_count",                                                  \
     (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, VkBuffer cb, VkDeviceSize co, uint32_t n,     \
      uint32_t s),                                                                                 \
     (c, b, o, cb, co, n, s))                                                                      \
   X(CmdDrawIndexedIndirectCount, "draw_indexed_indirect_count",                                   \
     (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, VkBuffer cb, VkDeviceSize co, uint32_t n,     \
      uint32_t s),                                                                                 \
     (c, b, o, cb, co, n, s))                                                                      \
   X(CmdDrawIndirectByteCountEXT, "draw_indirect_byte_count_ext",                                  \
     (VkCommandBuffer c, uint32_t i, uint32_t f, VkBuffer b, VkDeviceSize o, uint32_t co,          \
      uint32_t s),                                                                                 \
     (c, i, f, b, o, co, s))                                                                       \
   X(CmdDrawMultiEXT, "draw_multi_ext",                                                            \
     (VkCommandBuffer c, uint32_t n, const VkMultiDrawInfoEXT *d, uint32_t i, uint32_t f,          \
      uint32_t s),                                                                                 \
     (c, n, d, i, f, s))                                                                           \
   X(CmdDrawMultiIndexedEXT, "draw_multi_indexed_ext",                                             \
     (VkCommandBuffer c, uint32_t n, const VkMultiDrawIndexedInfoEXT *d, uint32_t i, uint32_t f,   \
      uint32_t s, const int32_t *v),                                                               \
     (c, n, d, i, f, s, v))                                                                        \
   X(CmdDrawMeshTasksEXT, "draw_mesh_tasks_ext",                                                   \
     (VkCommandBuffer c, uint32_t x, uint32_t y, uint32_t z), (c, x, y, z))                        \
   X(CmdDrawMeshTasksIndirectEXT, "draw_mesh_tasks_indirect_ext",                                  \
     (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, uint32_t n, uint32_t s), (c, b, o, n, s))     \
   X(CmdDrawMeshTasksIndirectCountEXT, "draw_mesh_tasks_indirect_count_ext",                       \
     (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, VkBuffer cb, VkDeviceSize co, uint32_t n,     \
      uint32_t s),                                                                                 \
     (c, b, o, cb, co, n, s))                                                                      \
   X(CmdDispatch, "dispatch", (VkCommandBuffer c, uint32_t x, uint32_t y, uint32_t z),             \
     (c, x, y, z))                                                                                 \
   X(CmdDispatchBase, "dispatch_base",                                                             \
     (VkCommandBuffer c, uint32_t bx, uint32_t by, uint32_t bz, uint32_t x, uint32_t y,            \
      uint32_t z),                                                                                 \
     (c, bx, by, bz, x, y, z))                                                                     \
   X(CmdDispatchIndirect, "dispatch_indirect", (VkCommandBuffer c, VkBuffer b, VkDeviceSize o),    \
     (c, b, o))                                                                                    \
   X(CmdTraceRaysKHR, "trace_rays_khr",                                                            \
     (VkCommandBuffer c, const VkStridedDeviceAddressRegionKHR *g,                                 \
      const VkStridedDeviceAddressRegionKHR *m, const VkStridedDeviceAddressRegionKHR *h,          \
      const VkStridedDeviceAddressRegionKHR *a, uint32_t x, uint32_t y, uint32_t z),               \
     (c, g, m, h, a, x, y, z))                                                                     \
   X(CmdTraceRaysIndirectKHR, "trace_rays_indirect_khr",                                           \
     (VkCommandBuffer c, const VkStridedDeviceAddressRegionKHR *g,                                 \
      const VkStridedDeviceAddressRegionKHR *m, const VkStridedDeviceAddressRegionKHR *h,          \
      const VkStridedDeviceAddressRegionKHR *a, VkDeviceAddress d),                                \
     (c, g, m, h, a, d))                                                                           \
   X(CmdTraceRaysIndirect2KHR, "trace_rays_indirect2_khr", (VkCommandBuffer c, VkDeviceAddress d), \
     (c, d))                                                                                       \
   X(CmdExecuteGeneratedCommandsEXT, "execute_generated_commands_ext",                             \
     (VkCommandBuffer c, VkBool32 p, const VkGeneratedCommandsInfoEXT *i), (c, p, i))

/* What RADV makes dispatches of, which have no number among the application's */
#define OTHERS(X)                                                                                  \
   X(CmdBuildAccelerationStructuresKHR, "build_acceleration_structures_khr",                       \
     (VkCommandBuffer c, uint32_t n, const VkAccelerationStructureBuildGeometryInfoKHR *i,         \
      const VkAccelerationStructureBuildRangeInfoKHR *const *r),                                   \
     (c, n, i, r))                                                                                 \
   X(CmdCopyAccelerationStructureKHR, "copy_acceleration_structure_khr",                           \
     (VkCommandBuffer c, const VkCopyAccelerationStructureInfoKHR *i), (c, i))                     \
   X(CmdCopyAccelerationStructureToMemoryKHR, "copy_acceleration_structure_to_memory_khr",         \
     (VkCommandBuffer c, const VkCopyAccelerationStructureToMemoryInfoKHR *i), (c, i))             \
   X(CmdCopyMemoryToAccelerationStructureKHR, "copy_memory_to_acceleration_structure_khr",         \
     (VkCommandBuffer c, const VkCopyMemoryToAccelerationStructureInfoKHR *i), (c, i))

#define DEFINE(name, op, parameters, arguments, is_counted)                                        \
   static VKAPI_ATTR void VKAPI_CALL hook_##name parameters                                        \
   {                                                                                               \
      bool is_ours;                                                                                \
      const struct vk_device_dispatch_table *next = begin_action(c, op, is_counted, &is_ours);     \
      next->name arguments;                                                                        \
      end_action(c, is_ours);                                                                      \
   }
#define DEFINE_ACTION(name, op, parameters, arguments) DEFINE(name, op, parameters, arguments, true)
#define DEFINE_OTHER(name, op, parameters, arguments)  DEFINE(name, op, parameters, arguments, false)
ACTIONS(DEFINE_ACTION)
OTHERS(DEFINE_OTHER)

static VKAPI_ATTR void VKAPI_CALL
hook_CmdExecuteCommands(VkCommandBuffer handle, uint32_t count, const VkCommandBuffer *secondaries)
{
   VK_FROM_HANDLE(radv_cmd_buffer, primary, handle);
   struct gpuval_radv *gpuval = radv_cmd_buffer_device(primary)->gpuval;

   for (uint32_t i = 0; i < count; i++) {
      VK_FROM_HANDLE(radv_cmd_buffer, secondary, secondaries[i]);
      struct gpuval_radv_commands *commands = get_commands(secondary);

      simple_mtx_lock(&gpuval->mutex);
      commands->primary = cmd_buffer_handle(primary);
      set_name(commands, &commands->primary_name, &primary->vk.base);
      set_name(commands, &commands->name, &secondary->vk.base);
      util_dynarray_append(&get_commands(primary)->secondaries, struct radv_cmd_buffer *,
                           secondary);
      simple_mtx_unlock(&gpuval->mutex);
      if (gpuval->hooks.submits)
         gpuval_radv_note_execute(gpuval_radv_notes(primary), secondary);
   }
   gpuval->next.CmdExecuteCommands(handle, count, secondaries);
}

void
gpuval_radv_hook_commands(struct gpuval_radv *gpuval, struct vk_device_dispatch_table *table)
{
#define HOOK_ACTION(name, op, parameters, arguments)                                               \
   if (table->name)                                                                                \
      table->name = hook_##name;
   ACTIONS(HOOK_ACTION)
   OTHERS(HOOK_ACTION)
   table->CmdExecuteCommands = hook_CmdExecuteCommands;
}
