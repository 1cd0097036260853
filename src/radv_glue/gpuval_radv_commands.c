/* SPDX-License-Identifier: MIT */

/* Which command is it? RADV records commands once and the hardware runs them
 * whenever they are submitted, so an id belongs to a recorded command. What is
 * known of it stays until its command buffer is reset or destroyed.
 *
 * The name of a command is known where the application calls it (gpuval_radv_layer_actions.c),
 * its id is given where its descriptors are flushed.
 */

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval_radv_crumbs.h"
#include "gpuval_radv_private.h"

#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_pipeline_compute.h"
#include "radv_pipeline_graphics.h"
#include "radv_pipeline_rt.h"
#include "radv_shader_object.h"

#include "gpuval/src/base/gpuval_backtrace.h"
#include "gpuval/src/base/gpuval_names.h"
#include "gpuval/src/core/gpuval_queue_labels.h"
#include "util/ralloc.h"
#include "util/u_atomic.h"

/* Ids are given to command buffers in chunks. */
#define CHUNK_SIZE 64

struct command {
   const char *op;
   int64_t index;
   bool has_draws;
   uint32_t calls; /* gpuval_backtrace_capture(), when it was recorded */
   uint64_t pipeline;
   const char *pipeline_name;
   const struct gpuval_labels *labels; /* of the command buffer's own; NULL: none */
   uint32_t num_ended;                 /* regions of earlier ones that it has ended by then */
   uint64_t shaders[MESA_VULKAN_SHADER_STAGES]; /* shader objects */
   const char *shader_names[MESA_VULKAN_SHADER_STAGES];
};

struct chunk {
   struct list_head link; /* in its command buffer */
   uint32_t first_id;
   const struct gpuval_radv_commands *owner;
   uint32_t count; /* what of it may be read by others */
   struct command commands[CHUNK_SIZE];
};

/* One that a command buffer executes */
struct secondary {
   struct radv_cmd_buffer *cmd_buffer;
   const struct gpuval_labels *labels; /* of those that are open there, the command buffer's own */
   uint32_t num_ended;                 /* as of a command */
};

struct gpuval_radv_commands {
   struct radv_cmd_buffer *cmd_buffer;
   struct list_head chunks;
   struct chunk *chunk; /* the last one */

   const char *op; /* of the command that is being recorded, or NULL */
   int64_t index;
   int64_t next_index;
   bool has_draws;
   uint32_t calls;
   bool changes_pipelines;

   /* Strings of the last command, mostly those of the next */
   uint64_t pipeline;
   const char *pipeline_name;
   const struct gpuval_labels *labels;
   uint32_t num_ended; /* regions of labels that have begun in earlier command buffers */

   /* The mutex of gpuval_radv */
   const char *name;
   uint64_t primary;
   const char *primary_name;
   int64_t last_submission;          /* or -1 */
   int64_t submission;               /* -1: it was submitted again while it was in flight */
   struct gpuval_labels *outer;      /* open around it; of a primary one, the last are those */
   uint32_t num_left;                /* that earlier command buffers have left open */
   struct util_dynarray secondaries; /* struct secondary */

   struct util_dynarray failures;   /* gpuval_radv_inputs.c */
   struct util_dynarray looks;      /* gpuval_radv_looks.c */
   struct util_dynarray built;      /* gpuval_radv_structures.c */
   unsigned in_flight;              /* gpuval_radv_submit.c: submits */
   struct gpuval_radv_bound *bound; /* gpuval_radv_sets.c */
   struct gpuval_radv_uses *uses;   /* gpuval_radv_uses.c */
   struct gpuval_radv_walk *walk;   /* gpuval_radv_walk.c */
   struct list_head readbacks;      /* gpuval_radv_readback.c */
   struct gpuval_radv_indices *indices;
   struct gpuval_radv_bytes *bytes;
   bool has_waited; /* for looks of earlier command buffers, */
   bool looks_run;  /* and since then some have begun */

   /* gpuval_radv_sync.c */
   struct util_dynarray notes;
   uint64_t visit;
   struct gpuval_radv_told told;

   struct gpuval_race_step *draws; /* gpuval_radv_race.c */

   struct gpuval_radv_crumbs *crumbs; /* gpuval_radv_crumbs.c */
   unsigned num_flights;              /* gpuval_radv_hang.c: submits */
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

/* How many are open around it when it has ended so many */
static uint32_t
num_outer(const struct gpuval_labels *outer, uint32_t num_left, uint32_t num_ended)
{
   return gpuval_labels_count(outer) - MIN2(num_ended, num_left);
}

/* Those outside of its command buffer, then its own */
static void
describe_labels(const struct gpuval_radv_commands *owner, const struct command *command,
                void *mem_ctx, struct gpuval_command *out)
{
   const struct {
      const struct gpuval_labels *labels;
      uint32_t count;
   } parts[] = {
      {owner->outer, num_outer(owner->outer, owner->num_left, command->num_ended)},
      {command->labels, gpuval_labels_count(command->labels)},
   };

   for (unsigned i = 0; i < ARRAY_SIZE(parts); i++) {
      const char *name = parts[i].labels ? parts[i].labels->names : NULL;
      for (uint32_t j = 0; j < parts[i].count && out->num_labels < GPUVAL_MAX_LABELS; j++) {
         out->labels[out->num_labels++] = copy_name(mem_ctx, name);
         name += strlen(name) + 1;
      }
   }
}

bool
gpuval_radv_describe_command(void *data, uint32_t command_id, mesa_shader_stage stage,
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
      out->has_draws = command->has_draws;
      out->calls = command->calls;
      if (stage < ARRAY_SIZE(command->shaders)) {
         out->shader = command->shaders[stage];
         out->shader_name = copy_name(mem_ctx, command->shader_names[stage]);
      }
      describe_labels(owner, command, mem_ctx, out);
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
      cmd_buffer->gpuval->submission = cmd_buffer->gpuval->last_submission = -1;
      list_inithead(&cmd_buffer->gpuval->chunks);
      list_inithead(&cmd_buffer->gpuval->readbacks);
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

struct list_head *
gpuval_radv_readbacks(struct radv_cmd_buffer *cmd_buffer)
{
   return &get_commands(cmd_buffer)->readbacks;
}

struct gpuval_radv_indices **
gpuval_radv_indices(struct radv_cmd_buffer *cmd_buffer, void **mem_ctx)
{
   struct gpuval_radv_commands *commands = get_commands(cmd_buffer);

   *mem_ctx = commands;
   return &commands->indices;
}

struct gpuval_radv_bytes **
gpuval_radv_bytes(struct radv_cmd_buffer *cmd_buffer, void **mem_ctx)
{
   struct gpuval_radv_commands *commands = get_commands(cmd_buffer);

   *mem_ctx = commands;
   return &commands->bytes;
}

void
gpuval_radv_looks_run(struct radv_cmd_buffer *cmd_buffer)
{
   get_commands(cmd_buffer)->looks_run = true;
   p_atomic_set(&radv_cmd_buffer_device(cmd_buffer)->gpuval->looks_run, true);
}

/* Looks of another command buffer may run, too: of an earlier one, or of a secondary one. */
void
gpuval_radv_wait_for_looks(struct radv_cmd_buffer *cmd_buffer)
{
   if (!p_atomic_read(&radv_cmd_buffer_device(cmd_buffer)->gpuval->looks_run) ||
       (cmd_buffer->qf != RADV_QUEUE_GENERAL && cmd_buffer->qf != RADV_QUEUE_COMPUTE))
      return;

   struct gpuval_radv_commands *commands = get_commands(cmd_buffer);
   if (commands->looks_run || !commands->has_waited)
      cmd_buffer->state.flush_bits |= RADV_CMD_FLAG_CS_PARTIAL_FLUSH;
   commands->has_waited = true;
   commands->looks_run = false;
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

struct gpuval_radv_uses **
gpuval_radv_uses(struct radv_cmd_buffer *cmd_buffer, void **mem_ctx)
{
   struct gpuval_radv_commands *commands = get_commands(cmd_buffer);

   if (mem_ctx)
      *mem_ctx = commands;
   return &commands->uses;
}

struct gpuval_radv_walk **
gpuval_radv_walk(struct radv_cmd_buffer *cmd_buffer, void **mem_ctx)
{
   struct gpuval_radv_commands *commands = get_commands(cmd_buffer);

   *mem_ctx = commands;
   return &commands->walk;
}

struct gpuval_radv_crumbs **
gpuval_radv_crumbs(const struct radv_cmd_buffer *cmd_buffer, void **mem_ctx)
{
   struct gpuval_radv_commands *commands = get_commands((struct radv_cmd_buffer *)cmd_buffer);

   if (mem_ctx)
      *mem_ctx = commands;
   return &commands->crumbs;
}

unsigned *
gpuval_radv_num_flights(const struct radv_cmd_buffer *cmd_buffer)
{
   return &get_commands((struct radv_cmd_buffer *)cmd_buffer)->num_flights;
}

uint64_t *
gpuval_radv_visit(struct radv_cmd_buffer *cmd_buffer)
{
   return &get_commands(cmd_buffer)->visit;
}

struct gpuval_radv_told *
gpuval_radv_told(struct radv_cmd_buffer *cmd_buffer)
{
   return &get_commands(cmd_buffer)->told;
}

struct gpuval_race_step **
gpuval_radv_race_draws(struct radv_cmd_buffer *cmd_buffer)
{
   return &get_commands(cmd_buffer)->draws;
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
   gpuval_radv_remove_readbacks(gpuval, &commands->readbacks);
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

const struct radv_cmd_buffer *
gpuval_radv_owner(const struct radv_cmd_buffer *cmd_buffer,
                  const struct radv_descriptor_state *descriptors, unsigned *bind_point)
{
   for (*bind_point = 0; *bind_point < ARRAY_SIZE(cmd_buffer->descriptors); (*bind_point)++) {
      if (descriptors == &cmd_buffer->descriptors[*bind_point])
         return cmd_buffer;
   }
   *bind_point = VK_PIPELINE_BIND_POINT_COMPUTE; /* radv_prepare_dgc() */
   return container_of(descriptors, const struct radv_cmd_buffer,
                       descriptors[VK_PIPELINE_BIND_POINT_COMPUTE]);
}

static void
note_pipeline(struct gpuval_radv_commands *commands, struct command *command,
              const struct radv_descriptor_state *descriptors)
{
   unsigned bind_point;
   const struct radv_cmd_buffer *cmd_buffer =
      gpuval_radv_owner(commands->cmd_buffer, descriptors, &bind_point);
   struct radv_pipeline *pipeline = NULL;
   struct radv_graphics_pipeline *graphics = cmd_buffer->state.graphics_pipeline;
   struct radv_compute_pipeline *compute = cmd_buffer->state.compute_pipeline;
   struct radv_ray_tracing_pipeline *rt = cmd_buffer->state.rt_pipeline;

   switch (bind_point) {
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
      for (unsigned i = 0; i < ARRAY_SIZE(command->shaders); i++) {
         struct radv_shader_object *shader = cmd_buffer->state.shader_objs[i];
         if (shader) {
            command->shaders[i] = (uintptr_t)radv_shader_object_to_handle(shader);
            command->shader_names[i] = gpuval_object_name(commands, &shader->base);
         }
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

static const struct gpuval_labels *
note_labels(struct gpuval_radv_commands *commands)
{
   const struct util_dynarray *open = &commands->cmd_buffer->vk.labels;

   if (!gpuval_labels_are(commands->labels, open)) {
      struct gpuval_labels *copy = ralloc_size(commands, gpuval_labels_size(open));
      gpuval_labels_write(copy, open);
      commands->labels = copy;
   }
   return commands->labels;
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
   command->has_draws = commands->op && commands->has_draws;
   command->calls = commands->op ? commands->calls : 0;
   command->labels = note_labels(commands);
   command->num_ended = commands->num_ended;
   if (descriptors && !commands->changes_pipelines)
      note_pipeline(commands, command, descriptors);
   p_atomic_set(&chunk->count, chunk->count + 1);
   return chunk->first_id + chunk->count - 1;
}

static const struct radv_descriptor_state *
descriptors_of(struct radv_cmd_buffer *cmd_buffer, const char *op)
{
   switch (gpuval_command_pipelines(op)) {
   case GPUVAL_COMMAND_DRAWS:
   case GPUVAL_COMMAND_DRAWS_MESHES:
      return &cmd_buffer->descriptors[VK_PIPELINE_BIND_POINT_GRAPHICS];
   case GPUVAL_COMMAND_DISPATCHES:
      return &cmd_buffer->descriptors[VK_PIPELINE_BIND_POINT_COMPUTE];
   case GPUVAL_COMMAND_TRACES:
      return &cmd_buffer->descriptors[vk_to_bind_point(VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR)];
   default:
      return NULL;
   }
}

uint32_t
gpuval_radv_name_command(struct radv_cmd_buffer *cmd_buffer, const char *op)
{
   struct gpuval_radv *gpuval = radv_cmd_buffer_device(cmd_buffer)->gpuval;
   struct gpuval_radv_commands *commands = get_commands(cmd_buffer);
   const char *action = commands->op;

   if (!op)
      return gpuval_radv_add_command(gpuval, cmd_buffer, descriptors_of(cmd_buffer, action));
   commands->op = op;
   commands->index = -1;
   commands->has_draws = false;
   commands->calls = gpuval_backtrace_capture();
   uint32_t id = gpuval_radv_add_command(gpuval, cmd_buffer, NULL);
   commands->op = action;
   return id;
}

/* As often as they are executed */
static void
note_execution(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer)
{
   if (!cmd_buffer->gpuval)
      return;

   gpuval_device_add_commands(gpuval->device, cmd_buffer->gpuval->next_index);
   gpuval_radv_renew_uses(gpuval, cmd_buffer);
   gpuval_radv_report_failures(gpuval, cmd_buffer);
   gpuval_radv_note_built(gpuval, cmd_buffer);
   util_dynarray_foreach (&cmd_buffer->gpuval->secondaries, struct secondary, secondary)
      note_execution(gpuval, secondary->cmd_buffer);
}

void
gpuval_radv_collect(struct radv_cmd_buffer *cmd_buffer, struct util_dynarray *cmd_buffers)
{
   struct gpuval_radv_commands *commands = cmd_buffer->gpuval;

   util_dynarray_append_typed(cmd_buffers, struct radv_cmd_buffer *, cmd_buffer);
   if (!commands)
      return;
   util_dynarray_foreach (&commands->secondaries, struct secondary, secondary)
      gpuval_radv_collect(secondary->cmd_buffer, cmd_buffers);
}

void
gpuval_radv_collect_looks(struct radv_cmd_buffer *cmd_buffer, struct util_dynarray *buffers)
{
   struct gpuval_radv_commands *commands = cmd_buffer->gpuval;

   if (!commands)
      return;
   if (commands->looks.size)
      util_dynarray_append_typed(buffers, struct radv_cmd_buffer *, cmd_buffer);
   util_dynarray_foreach (&commands->secondaries, struct secondary, secondary)
      gpuval_radv_collect_looks(secondary->cmd_buffer, buffers);
}

/* What is true of one submit only, of one that is in flight nobody can tell it of a record.
 * @outer: what is open around @commands; the first time counts.
 */
static void
note_submission(struct gpuval_radv *gpuval, struct gpuval_radv_commands *commands,
                const struct radv_cmd_buffer *primary, const struct gpuval_labels *outer,
                uint32_t num_left)
{
   if (!commands || commands->last_submission == gpuval->next_submission)
      return;

   bool is_in_flight =
      commands->last_submission >= 0 && gpuval_radv_is_in_flight(gpuval, commands->last_submission);
   uint64_t handle = primary ? cmd_buffer_handle(primary) : 0;
   commands->last_submission = gpuval->next_submission;
   commands->submission = is_in_flight ? -1 : gpuval->next_submission;
   set_name(commands, &commands->name, &commands->cmd_buffer->vk.base);
   if (primary && (!is_in_flight || commands->primary == handle)) {
      commands->primary = handle;
      set_name(commands, &commands->primary_name, &primary->vk.base);
   } else if (primary) {
      commands->primary = 0;
      commands->primary_name = NULL;
   }
   if (!gpuval_labels_equal(commands->outer, outer) || commands->num_left != num_left) {
      ralloc_free(commands->outer);
      commands->outer =
         is_in_flight ? NULL
                      : gpuval_labels_join(commands, outer, gpuval_labels_count(outer), NULL, 0);
      commands->num_left = commands->outer ? num_left : 0;
   }

   util_dynarray_foreach (&commands->secondaries, struct secondary, secondary) {
      struct gpuval_labels *inside =
         gpuval_labels_join(NULL, outer, num_outer(outer, num_left, secondary->num_ended),
                            secondary->labels, gpuval_labels_count(secondary->labels));
      note_submission(gpuval, secondary->cmd_buffer->gpuval,
                      primary ? primary : commands->cmd_buffer, inside, 0);
      ralloc_free(inside);
   }
}

/* What it has ended of those that were left open, and what it leaves open itself */
static struct gpuval_labels *
leave_labels(struct gpuval_radv *gpuval, struct gpuval_labels *left,
             const struct radv_cmd_buffer *cmd_buffer)
{
   const struct gpuval_radv_commands *commands = cmd_buffer->gpuval;
   uint32_t regions = gpuval_labels_regions(&cmd_buffer->vk), count = gpuval_labels_count(left);

   if (commands && commands->num_ended && count) {
      struct gpuval_labels *fewer =
         gpuval_labels_join(gpuval, left, count - MIN2(commands->num_ended, count), NULL, 0);
      ralloc_free(left);
      left = fewer;
   }
   if (!regions)
      return left;

   struct gpuval_labels *open = ralloc_size(NULL, gpuval_labels_size(&cmd_buffer->vk.labels));
   gpuval_labels_write(open, &cmd_buffer->vk.labels);
   left = gpuval_labels_leave(gpuval, left, open, regions);
   ralloc_free(open);
   return left;
}

int64_t
gpuval_radv_submitted(struct gpuval_radv *gpuval, unsigned queue,
                      struct vk_command_buffer *const *buffers, uint32_t count)
{
   struct gpuval_queue_labels *queue_labels = gpuval->hooks.labels[queue];

   simple_mtx_lock(&gpuval->mutex);
   for (uint32_t i = 0; i < count; i++) {
      const struct radv_cmd_buffer *cmd_buffer =
         container_of(buffers[i], const struct radv_cmd_buffer, vk);
      const struct gpuval_labels *labels = gpuval_queue_labels_execute(queue_labels);
      struct gpuval_labels **left = &gpuval->left_labels[queue];
      uint32_t num_left = gpuval_labels_count(*left);
      struct gpuval_labels *outer =
         gpuval_labels_join(NULL, labels, gpuval_labels_count(labels), *left, num_left);
      note_submission(gpuval, cmd_buffer->gpuval, NULL, outer, num_left);
      ralloc_free(outer);
      *left = leave_labels(gpuval, *left, cmd_buffer);
   }
   gpuval_queue_labels_end_submit(queue_labels);
   int64_t number = gpuval->next_submission++;
   simple_mtx_unlock(&gpuval->mutex);

   for (uint32_t i = 0; i < count; i++)
      note_execution(gpuval, container_of(buffers[i], struct radv_cmd_buffer, vk));
   return number;
}

bool
gpuval_radv_begin_action(struct radv_cmd_buffer *cmd_buffer, const char *op, bool has_draws,
                         bool is_counted)
{
   struct gpuval_radv_commands *commands = get_commands(cmd_buffer);

   /* Mesa makes some of these commands out of others. */
   if (commands->op)
      return false;
   commands->op = op;
   commands->has_draws = has_draws;
   commands->calls = gpuval_backtrace_capture();
   commands->index = is_counted ? commands->next_index++ : -1;
   gpuval_radv_begin_crumb(cmd_buffer, NULL);
   return true;
}

bool
gpuval_radv_is_in_action(const struct radv_cmd_buffer *cmd_buffer)
{
   return cmd_buffer->gpuval && cmd_buffer->gpuval->op;
}

bool
gpuval_radv_identify_command(struct radv_cmd_buffer *cmd_buffer, const char *op,
                             uint32_t *command_id)
{
   if (!gpuval_radv_begin_action(cmd_buffer, op, false, false))
      return false;
   *command_id =
      gpuval_radv_add_command(radv_cmd_buffer_device(cmd_buffer)->gpuval, cmd_buffer, NULL);
   gpuval_radv_end_action(cmd_buffer, true);
   return true;
}

void
gpuval_radv_change_pipelines(struct radv_cmd_buffer *cmd_buffer, bool changes)
{
   cmd_buffer->gpuval->changes_pipelines = changes;
}

bool
gpuval_radv_changes_pipelines(const struct radv_cmd_buffer *cmd_buffer)
{
   return cmd_buffer->gpuval->changes_pipelines;
}

void
gpuval_radv_end_action(struct radv_cmd_buffer *cmd_buffer, bool is_ours)
{
   if (!is_ours)
      return;
   gpuval_radv_end_crumb(cmd_buffer);
   cmd_buffer->gpuval->op = NULL;
}

void
gpuval_radv_add_secondary(struct gpuval_radv *gpuval, struct radv_cmd_buffer *primary,
                          struct radv_cmd_buffer *cmd_buffer)
{
   struct gpuval_radv_commands *commands = get_commands(primary);
   const struct secondary secondary = {
      .cmd_buffer = cmd_buffer,
      .labels = note_labels(commands),
      .num_ended = commands->num_ended,
   };

   get_commands(cmd_buffer);
   commands->has_waited = false;
   simple_mtx_lock(&gpuval->mutex);
   util_dynarray_append_typed(&commands->secondaries, struct secondary, secondary);
   simple_mtx_unlock(&gpuval->mutex);
}

void
gpuval_radv_end_earlier_label(struct radv_cmd_buffer *cmd_buffer)
{
   get_commands(cmd_buffer)->num_ended++;
}
