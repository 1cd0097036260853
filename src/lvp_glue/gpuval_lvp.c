/* SPDX-License-Identifier: MIT */

#include "gpuval_lvp.h"
#include "gpuval_lvp_builds.h"
#include "gpuval_lvp_commands.h"
#include "gpuval_lvp_draws.h"
#include "gpuval_lvp_executions.h"
#include "gpuval_lvp_facts.h"
#include "gpuval_lvp_gallivm.h"
#include "gpuval_lvp_images.h"
#include "gpuval_lvp_inputs.h"
#include "gpuval_lvp_jit.h"
#include "gpuval_lvp_order.h"
#include "gpuval_lvp_private.h"
#include "gpuval_lvp_progress.h"
#include "gpuval_lvp_race.h"
#include "gpuval_lvp_recording.h"
#include "gpuval_lvp_sets.h"
#include "gpuval_lvp_structures.h"
#include "gpuval_lvp_written.h"

#include "gallium/drivers/llvmpipe/lp_texture.h"
#include "gpuval/src/compat/gpuval_lvp_driver.h"

#include "c11/threads.h"
#include "gpuval/src/base/gpuval_names.h"
#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval/src/compat/gpuval_lvp_texture.h"
#include "gpuval/src/core/descriptors/gpuval_objects.h"
#include "gpuval/src/core/memory/gpuval_written.h"
#include "gpuval/src/core/structures/gpuval_structures.h"
#include "util/os_time.h"
#include "util/u_inlines.h"
#include "util/u_memory.h"
#include "util/u_memset.h"

#define WAIT_AT_EXIT_NS 2000000000

/* What gpuval_lvp_nir.c takes for granted */
static_assert(sizeof(struct lp_descriptor) == GPUVAL_LVP_DESCRIPTOR_STRIDE,
              "stride of descriptors");
static_assert(offsetof(struct lp_descriptor, functions) == GPUVAL_LVP_DESCRIPTOR_FUNCTIONS,
              "functions of a descriptor");
static_assert(offsetof(struct lp_descriptor, buffer.u) == 0, "address of a buffer");
static_assert(offsetof(struct lp_descriptor, buffer.size) == 12, "size of a buffer");
static_assert(offsetof(struct lp_descriptor, accel_struct) == 0, "address of a structure");
static_assert(GPUVAL_LVP_TEXTURE(width) == 8, "count of texels");
static_assert(offsetof(struct lp_descriptor, image.width) == 8, "count of texels");
static_assert(GPUVAL_LVP_TEXTURE(texel_size) == 146, "size of a texel");
static_assert(GPUVAL_LVP_TEXTURE(img_stride) == 80, "layers of a level");
static_assert(GPUVAL_LVP_TEXTURE(mip_offsets) == 148, "place of a level");
static_assert(PIPE_MAX_TEXTURE_LEVELS == 16, "levels in a descriptor");
static_assert(offsetof(struct lp_descriptor, image.sample_stride) == 20, "samples of an image");
static_assert(offsetof(struct lp_descriptor, image.row_stride) == 24, "rows of an image");
static_assert(offsetof(struct lp_descriptor, image.img_stride) == 28, "layers of an image");
static_assert(offsetof(struct lp_descriptor, image.residency) == 32, "whether it is sparse");
static_assert(offsetof(struct lp_descriptor, sampler.min_lod) == GPUVAL_LVP_DESCRIPTOR_SAMPLER_LOD,
              "limits of a sampler");
static_assert(offsetof(struct lp_descriptor, image.texel_size) == 18, "size of a texel");
static_assert(MAX_PUSH_CONSTANTS_SIZE == GPUVAL_LVP_COMMAND_DATA_OFFSET, "push constants");
static_assert(LVP_SHADER_STAGES <= GPUVAL_STAGE_COUNT, "a base for each stage");

struct gpuval_lvp {
   struct gpuval_lvp_below_recording below_recording;
   struct gpuval_device *device;
   struct lvp_device *lvp;
   const struct gpuval_lvp_jit *jit;
   struct gpuval_lvp_order *order; /* NULL: nobody asks for it */
   struct gpuval_hooks hooks;      /* where order has none */
   struct gpuval_shadow *shadow;   /* NULL: without, or with its bloom filter */
   struct gpuval_shadow *window;   /* where memory is put; NULL: it stays where it is */
   bool warned_memory, warned_sparse;
   struct gpuval_lvp_pending *pending; /* shaders that are being created */

   struct gpuval_lvp_commands *commands;
   struct gpuval_lvp_draws *draws;
   struct gpuval_queue_labels *queue_labels;
   struct gpuval_lvp_progress progress;

   /* On the queue's thread only */
   unsigned work;
   int64_t submission;
   struct gpuval_lvp_executions *executions;
   const struct lvp_pipeline *pipelines[LVP_PIPELINE_TYPE_COUNT];
   uint32_t descriptor_buffers[LVP_PIPELINE_TYPE_COUNT]; /* in the place of sets */
   uint32_t emitted_sets; /* types of pipelines whose sets command data still has */
   struct gpuval_lvp_command current;
   struct pipe_resource *constants; /* constant buffer 0 of compute shaders, or NULL */
   uint8_t *constants_map;
   bool has_constants;                     /* it is bound */
   VkShaderEXT shaders[LVP_SHADER_STAGES]; /* where there are no pipelines */
   uint32_t id; /* of the current command, where the host has asked for one */
   bool has_id;
   struct gpuval_lvp_inputs *inputs;         /* NULL: nobody looks at what commands read */
   struct gpuval_lvp_structures *structures; /* NULL: without the ray check */
   struct gpuval_lvp_builds *builds;         /* NULL: lavapipe executes builds */
   struct gpuval_lvp_written *written;       /* NULL: without init */
   struct gpuval_lvp_race *race;             /* NULL: without race */
   struct gpuval_command_driver command_driver;
   struct gpuval_commands *walk; /* tells these and others of commands */
   struct gpuval_host_memory memory;
   bool waits;        /* the last command: what comes behind it finds nothing that runs */
   bool is_generated; /* the command that comes next */
   bool begins_query; /* it: lavapipe emits the state, but nothing that shaders do */

   bool changes_pipelines;                     /* what is generated does */
   const struct vk_cmd_queue_entry *arguments; /* an indirect command that has not read them yet */
};

static_assert(offsetof(struct gpuval_lvp, below_recording) == 0, "where its entry points look");

static bool
describe_command(void *data, uint32_t command_id, mesa_shader_stage stage,
                 struct gpuval_command *out)
{
   struct gpuval_lvp *gpuval = data;
   return gpuval_lvp_commands_describe(gpuval->commands, command_id, stage, out);
}

/* Submits run on a thread of the queue's, which exit() does not wait for. */
static void
wait_for_work(void *data, bool at_exit)
{
   struct gpuval_lvp *gpuval = data;
   struct vk_queue *queue = &gpuval->lvp->queue.vk;
   int64_t end = os_time_get_nano() + WAIT_AT_EXIT_NS;
   bool busy;

   do {
      mtx_lock(&queue->submit.mutex);
      busy = !list_is_empty(&queue->submit.submits);
      mtx_unlock(&queue->submit.mutex);
      if (busy)
         os_time_sleep(1000);
   } while (busy && os_time_get_nano() < end);
}

static void
look_for_hang(void *data, int64_t limit)
{
   struct gpuval_lvp *gpuval = data;
   gpuval_lvp_progress_look(&gpuval->progress, gpuval->device, gpuval->commands, limit);
}

/* A buffer from llvmpipe for each dispatch would be memory that has to be cleared and
 * is in no cache, which is most of what a small dispatch costs more. One does: a
 * dispatch has run when the next one comes. NULL: do without it.
 */
static void
create_constants(struct gpuval_lvp *gpuval, struct pipe_screen *screen)
{
   const struct pipe_resource templ = {
      .screen = screen,
      .target = PIPE_BUFFER,
      .format = PIPE_FORMAT_R8_UNORM,
      .width0 = GPUVAL_LVP_CONSTANTS_SIZE,
      .height0 = 1,
      .depth0 = 1,
      .array_size = 1,
      .bind = PIPE_BIND_CONSTANT_BUFFER,
      .flags = PIPE_RESOURCE_FLAG_DONT_OVER_ALLOCATE,
   };
   uint64_t size;

   gpuval->constants_map = align_calloc(align(GPUVAL_LVP_CONSTANTS_SIZE, 64), 64);
   if (gpuval->constants_map)
      gpuval->constants = screen->resource_create_unbacked(screen, &templ, &size);
   if (gpuval->constants) {
      struct llvmpipe_memory_allocation memory = {.cpu_addr = gpuval->constants_map};
      screen->resource_bind_backing(screen, gpuval->constants, (void *)&memory, 0, 0, 0);
   }
}

struct gpuval_lvp *
gpuval_lvp_create(struct lvp_device *device)
{
   struct gpuval_lvp *gpuval = rzalloc(NULL, struct gpuval_lvp);

   gpuval->lvp = device;
   gpuval->commands = gpuval_lvp_commands_create(gpuval);
   gpuval->device = gpuval_device_create(&(struct gpuval_device_info){
      .vk = &device->vk,
      .winsys = gpuval_winsys_host,
      .max_sets = GPUVAL_LVP_MAX_SETS,
      .object_bits = GPUVAL_OBJECT_INDEX_BITS,
      .has_shadow = true,
      .describe_command = describe_command,
      .find_texel = gpuval_lvp_find_texel,
      .wait_for_work = wait_for_work,
      .look_for_hang = look_for_hang,
      .data = gpuval,
   });
   if (!gpuval->device) {
      gpuval_lvp_commands_destroy(gpuval->commands);
      ralloc_free(gpuval);
      return NULL;
   }

   gpuval->shadow = gpuval_device_shadow(gpuval->device);
   gpuval->window = gpuval_device_window(gpuval->device);
   struct pipe_screen *screen = device->pscreen;
   gpuval->jit = gpuval_lvp_jit_get(gpuval_nir_functions, gpuval_lvp_compiler_options(screen),
                                    gpuval->shadow != NULL);
   gpuval_live_renew();
   create_constants(gpuval, screen);
   gpuval->pending = gpuval_lvp_pending_create(gpuval, device);

   gpuval->executions = gpuval_lvp_executions_create(gpuval);
   gpuval->command_driver = gpuval_lvp_command_driver(device);
   gpuval->walk = gpuval_commands_create(gpuval, &gpuval->command_driver);
   gpuval->memory = gpuval_lvp_host_memory(device, gpuval->device);
   bool has_race = gpuval_options_race();
   if (gpuval_options_sync() || has_race) {
      gpuval->order = rzalloc(gpuval, struct gpuval_lvp_order);
      gpuval_lvp_order_init(gpuval->order, device, gpuval->device);
   } else {
      gpuval->hooks.objects = gpuval_device_objects(gpuval->device);
      gpuval_hooks_init(&gpuval->hooks, &device->vk, false);
      gpuval_hooks_install(&gpuval->hooks, &device->vk, NULL);
   }
   gpuval->queue_labels = device->vk.gpuval->labels[0];
   gpuval->draws = gpuval_lvp_draws_create(gpuval, device, gpuval->commands, gpuval->device);
   if (gpuval_device_written(gpuval->device)) {
      gpuval->written = gpuval_lvp_written_create(
         gpuval, device, gpuval, gpuval_device_written(gpuval->device), gpuval->walk);
      gpuval_lvp_order_hook_events(&device->vk.dispatch_table);
   }
   if (has_race && gpuval_lvp_objects(gpuval))
      gpuval->race = gpuval_lvp_race_create(gpuval, gpuval, &device->vk.dispatch_table,
                                            gpuval->order->hooks.submits, gpuval->walk);
   if (gpuval->order)
      gpuval_lvp_order_observe(gpuval->order, gpuval, gpuval->walk);
   if (gpuval_device_structures(gpuval->device))
      gpuval->structures = gpuval_lvp_structures_create(gpuval, gpuval, gpuval->walk);
   if (gpuval_options_may_check(GPUVAL_CHECK_INDIRECT) ||
       gpuval_options_may_check(GPUVAL_CHECK_VERTEX) || gpuval_lvp_looks_at_bytes(gpuval))
      gpuval->inputs = gpuval_lvp_inputs_create(gpuval, device, &gpuval->memory, gpuval->walk);
   if (GPUVAL_LVP_RECORDS_BUILDS)
      gpuval->builds = gpuval_lvp_builds_create(gpuval, device);
   if (gpuval_options()->backtrace) {
      gpuval->below_recording.next = device->vk.dispatch_table;
      gpuval_lvp_install_recording(&device->vk.dispatch_table);
   }
   return gpuval;
}

void
gpuval_lvp_retire(struct gpuval_lvp *gpuval)
{
   gpuval_device_retire(gpuval->device);
}

void
gpuval_lvp_destroy(struct gpuval_lvp *gpuval)
{
   gpuval_device_destroy(gpuval->device);
   pipe_resource_reference(&gpuval->constants, NULL);
   align_free(gpuval->constants_map);
   gpuval_lvp_commands_destroy(gpuval->commands);
   if (gpuval->order)
      gpuval_lvp_order_finish(gpuval->order);
   else
      gpuval_hooks_finish(&gpuval->hooks);
   if (gpuval->inputs)
      gpuval_lvp_inputs_destroy(gpuval->inputs);
   if (gpuval->race)
      gpuval_lvp_race_destroy(gpuval->race);
   gpuval_lvp_pending_destroy(gpuval->pending);
   ralloc_free(gpuval);
}

bool
gpuval_lvp_looks_at_bytes(const struct gpuval_lvp *gpuval)
{
   return gpuval->shadow && gpuval_options_may_check(GPUVAL_CHECK_SYNC);
}

struct gpuval_lvp_order *
gpuval_lvp_get_order(struct gpuval_lvp *gpuval)
{
   return gpuval->order;
}

struct gpuval_lvp_race_host *
gpuval_lvp_get_race_host(struct gpuval_lvp *gpuval)
{
   return gpuval_lvp_race_host(gpuval->race);
}

struct gpuval_lvp_builds *
gpuval_lvp_get_builds(struct gpuval_lvp *gpuval)
{
   return gpuval->builds;
}

struct gpuval_lvp_pending *
gpuval_lvp_pending(struct gpuval_lvp *gpuval)
{
   return gpuval->pending;
}

struct gpuval_device *
gpuval_lvp_device(struct gpuval_lvp *gpuval)
{
   return gpuval->device;
}

struct gpuval_lvp_written *
gpuval_lvp_get_written(struct gpuval_lvp *gpuval)
{
   return gpuval->written;
}

struct gpuval_objects *
gpuval_lvp_objects(struct gpuval_lvp *gpuval)
{
   return gpuval_device_objects(gpuval->device);
}

/* Memory of the driver's own goes into the window of shadow memory before anybody
 * knows its address; what others have brought along gets its cells there.
 */
static void
place_memory(struct gpuval_lvp *gpuval, struct lvp_device_memory *memory)
{
   if (memory->memory_type == LVP_DEVICE_MEMORY_TYPE_DEFAULT) {
      struct llvmpipe_memory_allocation *allocation = (void *)memory->pmem;
      void *place = gpuval_shadow_place(gpuval->window, allocation->cpu_addr, allocation->size);
      if (place) {
         memory->map = allocation->cpu_addr = place;
         return;
      }
   }
   if (gpuval->shadow &&
       !gpuval_shadow_add_range(gpuval->shadow, (uintptr_t)memory->map,
                                gpuval_lvp_memory_size(memory)) &&
       !gpuval->warned_memory) {
      gpuval->warned_memory = true;
      gpuval_log_warning("sync: no room for shadow memory of all imported memory: it is not "
                         "looked at");
   }
}

/* Not what has been imported, or is shared with others, who may have written it, or is cleared */
static void
poison_memory(const struct lvp_device_memory *memory)
{
   if (memory->memory_type == LVP_DEVICE_MEMORY_TYPE_DEFAULT &&
       !gpuval_lvp_memory_is_zeroed(memory))
      util_memset32(memory->map, GPUVAL_POISON_WORD,
                    gpuval_lvp_memory_size(memory) / sizeof(uint32_t));
}

void
gpuval_lvp_add_memory(struct gpuval_lvp *gpuval, struct lvp_device_memory *memory)
{
   if (gpuval->window)
      place_memory(gpuval, memory);
   if (gpuval_options()->poison)
      poison_memory(memory);
   gpuval_device_add_memory(gpuval->device, gpuval_lvp_memory_object(memory),
                            (uintptr_t)memory->map, gpuval_lvp_memory_size(memory));
   if (gpuval->written && gpuval_lvp_memory_is_zeroed(memory))
      gpuval_written_mark(gpuval_device_written(gpuval->device), (uintptr_t)memory->map,
                          gpuval_lvp_memory_size(memory));
}

void
gpuval_lvp_remove_memory(struct gpuval_lvp *gpuval, struct lvp_device_memory *memory)
{
   gpuval_device_remove_memory(gpuval->device, gpuval_lvp_memory_object(memory));
   if (gpuval->race)
      gpuval_lvp_race_forget(gpuval->race, (uintptr_t)memory->map, gpuval_lvp_memory_size(memory));
   if (!gpuval->window)
      return;

   if (gpuval_device_written(gpuval->device))
      gpuval_written_forget(gpuval_device_written(gpuval->device));
   gpuval_shadow_remove_range(gpuval->window, (uintptr_t)memory->map);
   if (memory->memory_type == LVP_DEVICE_MEMORY_TYPE_DEFAULT) {
      struct llvmpipe_memory_allocation *allocation = (void *)memory->pmem;
      void *map = gpuval_shadow_take(gpuval->window, allocation->cpu_addr, allocation->size);
      if (map)
         allocation->cpu_addr = map;
   }
}

void
gpuval_lvp_add_buffer(struct gpuval_lvp *gpuval, struct lvp_buffer *buffer)
{
   bool is_sparse = buffer->vk.create_flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT;

   gpuval_device_add_buffer(gpuval->device, &buffer->vk.base, (uintptr_t)buffer->map,
                            buffer->vk.size);
   if (is_sparse && gpuval->window && !gpuval->warned_sparse) {
      gpuval->warned_sparse = true;
      gpuval_log_warning("sync and init do not look at buffers with sparse binding");
   }
}

void
gpuval_lvp_remove_buffer(struct gpuval_lvp *gpuval, struct lvp_buffer *buffer)
{
   gpuval_device_remove_buffer(gpuval->device, &buffer->vk.base);
}

/* Execution */

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
   memset(gpuval->shaders, 0, sizeof(gpuval->shaders));
   gpuval->emitted_sets = 0;
   gpuval->has_constants = false; /* lavapipe unbinds all behind a command buffer */

   gpuval->arguments = NULL;
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
      gpuval_lvp_note_sets(command, gpuval->descriptor_buffers);
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
   for (uint32_t i = 0; i < count; i++) {
      read->address = address + stride * i;
      read->row =
         gpuval_order_find_row(gpuval->order->table.table, GPUVAL_ORDER_INDIRECT, read->address);
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
   if (!reads)
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

   gpuval_lvp_emit_sets(gpuval, stages, shaders, sets, gpuval->descriptor_buffers[type], data);
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
      note_progress(gpuval, stages, gpuval_lvp_commands_add(gpuval->commands, &gpuval->current));
      return;
   }

   data->root_address = gpuval_device_root_address(gpuval->device);
   data->functions = gpuval_lvp_jit_functions(gpuval->jit);
   if (gpuval_lvp_objects(gpuval))
      emit_sets(gpuval, instrumented, shaders, sets[type], type, (void *)data);
   data->command_id = gpuval_lvp_commands_add(gpuval->commands, &gpuval->current);
   note_progress(gpuval, stages, data->command_id);
   gpuval_device_add_commands(gpuval->device, 1);
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
         .buffer_size = GPUVAL_LVP_CONSTANTS_SIZE,
      };
      gpuval_lvp_set_constant_buffer(context, stage, &buffer);
      gpuval->has_constants = true;
   }
   return true;
}
