/* SPDX-License-Identifier: MIT */

#include "gpuval_radv_race.h"
#include "gpuval_radv_layer.h"
#include "gpuval_radv_walk.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_cmd_buffer.h"
#include "radv_descriptor_set.h"
#include "radv_device.h"
#include "radv_device_memory.h"
#include "radv_image.h"
#include "radv_shader.h"

#include "gpuval/src/base/gpuval_command.h"
#include "gpuval/src/base/gpuval_descriptor.h"
#include "gpuval/src/core/descriptors/gpuval_objects.h"
#include "gpuval/src/core/race/gpuval_race_commands.h"
#include "gpuval/src/core/race/gpuval_race_queue.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"
#include "util/ralloc.h"

/* Descriptors that a submit has read before: their memory is slow to read. */
#define MAX_KNOWN 1024

struct known_descriptor {
   const struct gpuval_descriptor *from;
   uint64_t submit;
   struct gpuval_descriptor descriptor;
};

struct gpuval_radv_race {
   struct gpuval_race *race;
   struct gpuval_race_queue *queues[GPUVAL_MAX_QUEUES];
   unsigned num_queues;
   uint64_t submit; /* number of the one that is gone through */
   struct known_descriptor known[MAX_KNOWN];
   struct util_dynarray retired; /* struct gpuval_race_segment *, in order; submit_mutex */
   simple_mtx_t mutex;           /* of who looks at them */
};

/* What a shader may use */
struct shader_use {
   const struct gpuval_shader *shader;
   const struct gpuval_nir_use *use;
   const struct gpuval_descriptor *descriptor; /* in its set, or a copy */
   unsigned class_;
   unsigned flag; /* index and bit of the mark */
   uint32_t bit;
};

/* What the shaders of a command may use */
struct gpuval_radv_race_note {
   uint32_t command_id;
   struct util_dynarray uses; /* struct shader_use */
   uint32_t *marks;           /* where the GPU writes: the first that is of interest, */
   unsigned first, num_marks; /* its number, and how many */
};

/* Where things are */

/* No layer is as small as that, and a texel's address is not known. What others share may be
 * in an order that nobody knows.
 */
static uint64_t
find_subresource(const struct vk_image *vk_image, uint32_t level, uint32_t layer)
{
   const struct radv_image *image = container_of(vk_image, const struct radv_image, vk);

   if (!image->bindings[0].bo || gpuval_radv_is_shared(image))
      return 0;
   return gpuval_radv_image_address(image) + 2ull * (layer * vk_image->mip_levels + level);
}

static uint64_t
find_buffer(const struct vk_buffer *vk_buffer)
{
   const struct radv_buffer *buffer = container_of(vk_buffer, const struct radv_buffer, vk);
   return gpuval_radv_buffer_address(buffer);
}

static const struct gpuval_race_driver race_driver = {
   .find_subresource = find_subresource,
   .find_buffer = find_buffer,
};

/* Recording */

static struct gpuval_radv *
get_gpuval(const struct radv_cmd_buffer *cmd_buffer)
{
   return radv_cmd_buffer_device(cmd_buffer)->gpuval;
}

/* What was visited */
static void
note_step(void *data, const struct gpuval_race_step *step)
{
   const struct gpuval_radv_walk *walk = data;
   struct radv_cmd_buffer *cmd_buffer = walk->cmd_buffer;

   switch (step->type) {
   case GPUVAL_RACE_OTHER:
      return;
   case GPUVAL_RACE_BEGIN_PASS:
   case GPUVAL_RACE_DRAW: /* attachments are cleared */
   case GPUVAL_RACE_END_PASS:
      *gpuval_radv_race_draws(cmd_buffer) = NULL;
      break;
   default:
      break;
   }
   gpuval_radv_note_race(cmd_buffer,
                         gpuval_race_step_copy(gpuval_radv_notes(cmd_buffer)->mem_ctx, step));
}

void
gpuval_radv_observe_race(struct gpuval_radv_walk *walk)
{
   const struct gpuval_race_sink sink = {gpuval_radv_visited_id, note_step, walk};

   if (get_gpuval(walk->cmd_buffer)->race)
      gpuval_commands_add_observer(
         walk->commands, &gpuval_race_observer,
         gpuval_race_commands_create(walk, !gpuval_radv_looks_at_bytes(walk->cmd_buffer), &sink));
}

static bool
is_draw(const char *op)
{
   enum gpuval_command_pipelines pipelines = gpuval_command_pipelines(op);
   return pipelines == GPUVAL_COMMAND_DRAWS || pipelines == GPUVAL_COMMAND_DRAWS_MESHES;
}

/* One note of all draws */
void
gpuval_radv_race_draw(struct radv_cmd_buffer *cmd_buffer, const char *op)
{
   struct gpuval_radv *gpuval = get_gpuval(cmd_buffer);
   struct gpuval_race_step **draws = gpuval_radv_race_draws(cmd_buffer);
   if (!gpuval->race || !is_draw(op))
      return;

   uint32_t command_id = gpuval_radv_add_command(
      gpuval, cmd_buffer, &cmd_buffer->descriptors[VK_PIPELINE_BIND_POINT_GRAPHICS]);
   if (!*draws) {
      const struct gpuval_race_step step = {
         .type = GPUVAL_RACE_DRAW,
         .command_id = command_id,
         .attachments = ~0u,
      };
      *draws = gpuval_race_step_copy(gpuval_radv_notes(cmd_buffer)->mem_ctx, &step);
      gpuval_radv_note_race(cmd_buffer, *draws);
   }
   (*draws)->last_id = command_id;
}

/* Shaders */

/* A pushed descriptor may be another one for the next command. */
static const struct gpuval_descriptor *
find_descriptor(const struct gpuval_radv_race_note *note,
                const struct radv_descriptor_state *descriptors, const struct gpuval_nir_use *use)
{
   const struct radv_descriptor_set *set =
      descriptors->valid & BITFIELD_BIT(use->set) ? descriptors->sets[use->set] : NULL;
   bool is_pushed = set == (const struct radv_descriptor_set *)&descriptors->push_set.set;

   if (!set || !set->header.gpuval_shadow || use->first_slot >= set->header.size)
      return NULL;
   const struct gpuval_descriptor *found =
      &set->header.gpuval_shadow[use->first_slot / sizeof(*set->header.gpuval_shadow)];
   return is_pushed ? ralloc_memdup(note, found, sizeof(*found)) : found;
}

static void
add_uses(struct gpuval_radv_race_note *note, const struct radv_descriptor_state *descriptors,
         const struct gpuval_shader *shader)
{
   mesa_shader_stage stage = gpuval_shader_stage(shader);
   uint32_t num_uses, bit = 1;
   const struct gpuval_nir_use *uses = gpuval_shader_uses(shader, &num_uses);

   for (uint32_t i = 0; i < num_uses; i++) {
      if (!(uses[i].flags & GPUVAL_USE_RACE))
         continue;

      const struct shader_use use = {
         .shader = shader,
         .use = &uses[i],
         .descriptor = find_descriptor(note, descriptors, &uses[i]),
         .class_ = gpuval_order_stage_class(stage),
         .flag = stage,
         .bit = bit,
      };
      if (use.descriptor)
         util_dynarray_append_typed(&note->uses, struct shader_use, use);
      bit <<= 1;
   }
}

static void
set_marks(struct gpuval_radv_race_note *note, struct gpuval_radv_command_data *data)
{
   unsigned first = UINT32_MAX, last = 0;

   util_dynarray_foreach (&note->uses, struct shader_use, use) {
      first = MIN2(first, use->flag);
      last = MAX2(last, use->flag);
   }
   note->marks = &data->race_used[first];
   note->first = first;
   note->num_marks = last - first + 1;
}

struct gpuval_radv_race_note *
gpuval_radv_race_shaders(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer,
                         const struct radv_cmd_buffer *owner, unsigned bind_point,
                         struct gpuval_radv_command_data *data, uint32_t command_id)
{
   bool is_graphics = bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS;
   const uint32_t of_graphics =
      BITFIELD_MASK(MESA_SHADER_MESH + 1) & ~BITFIELD_BIT(MESA_SHADER_COMPUTE);
   uint32_t stages = is_graphics ? of_graphics
                     : bind_point == VK_PIPELINE_BIND_POINT_COMPUTE
                        ? BITFIELD_BIT(MESA_SHADER_COMPUTE)
                        : 0;
   if (!gpuval->race)
      return NULL;

   struct gpuval_radv_race_note *note = NULL;
   u_foreach_bit (stage, stages) {
      const struct radv_shader *shader = owner->state.shaders[stage];
      for (unsigned i = 0; shader && i < ARRAY_SIZE(shader->gpuval); i++) {
         if (!shader->gpuval[i])
            continue;
         if (!note) {
            note = rzalloc(gpuval_radv_notes(cmd_buffer)->mem_ctx, struct gpuval_radv_race_note);
            util_dynarray_init(&note->uses, note);
         }
         add_uses(note, &owner->descriptors[bind_point], shader->gpuval[i]);
      }
   }
   if (!note || !note->uses.size) {
      ralloc_free(note);
      return NULL;
   }
   note->command_id = command_id;
   set_marks(note, data);
   return note;
}

/* Submitting */

void
gpuval_radv_race_begin(struct gpuval_radv *gpuval, unsigned queue)
{
   if (!gpuval->race)
      return;
   gpuval->race->submit++;
   gpuval_race_queue_renew(gpuval->race->queues[queue]);
}

void
gpuval_radv_race_begin_primary(struct gpuval_radv *gpuval, unsigned queue)
{
   if (gpuval->race)
      gpuval_race_queue_begin(gpuval->race->queues[queue]);
}

static const struct gpuval_descriptor *
read_descriptor(struct gpuval_radv_race *state, const struct gpuval_descriptor *from)
{
   struct known_descriptor *known =
      &state->known[(uintptr_t)from / sizeof(*from) % ARRAY_SIZE(state->known)];

   if (known->from != from || known->submit != state->submit)
      *known = (struct known_descriptor){from, state->submit, *from};
   return &known->descriptor;
}

static void
execute_shaders(struct gpuval_radv_race *state, struct gpuval_race_queue *queue,
                struct radv_cmd_buffer *cmd_buffer, const struct gpuval_radv_race_note *note)
{
   const uint32_t *flags = gpuval_race_watch(state->race, cmd_buffer, note->marks, note->num_marks);

   memset(note->marks, 0, note->num_marks * sizeof(*note->marks));
   util_dynarray_foreach (&note->uses, struct shader_use, use)
      gpuval_race_queue_shader(queue, note->command_id, use->class_, use->shader, use->use,
                               read_descriptor(state, use->descriptor),
                               &flags[use->flag - note->first], use->bit);
}

void
gpuval_radv_race_execute(struct gpuval_radv *gpuval, unsigned number,
                         struct radv_cmd_buffer *cmd_buffer,
                         const struct gpuval_radv_race_note *note, bool again)
{
   struct gpuval_radv_race *state = gpuval->race;
   if (!state)
      return;

   gpuval_race_queue_other(state->queues[number]);
   if (note && !again)
      execute_shaders(state, state->queues[number], cmd_buffer, note);
}

void
gpuval_radv_race_step(struct gpuval_radv *gpuval, unsigned queue,
                      const struct gpuval_race_step *step)
{
   gpuval_race_queue_execute(gpuval->race->queues[queue], step);
}

struct gpuval_race_segment *
gpuval_radv_race_end(struct gpuval_radv *gpuval)
{
   return gpuval->race ? gpuval_race_take(gpuval->race->race) : NULL;
}

uint32_t
gpuval_radv_race_serial(const struct gpuval_radv *gpuval)
{
   uint32_t serial = 0;

   for (unsigned i = 0; gpuval->race && i < gpuval->race->num_queues; i++)
      serial = MAX2(serial, gpuval_race_queue_serial(gpuval->race->queues[i]));
   return serial;
}

/* Ends of submits */

void
gpuval_radv_race_retire(struct gpuval_radv *gpuval, struct gpuval_race_segment *segment)
{
   if (!segment)
      return;
   gpuval_race_fetch(segment, NULL);
   util_dynarray_append_typed(&gpuval->race->retired, struct gpuval_race_segment *, segment);
}

void
gpuval_radv_race_forget(struct gpuval_race_segment *segment,
                        const struct radv_cmd_buffer *cmd_buffer)
{
   if (segment)
      gpuval_race_fetch(segment, cmd_buffer);
}

void
gpuval_radv_race_drop(struct gpuval_race_segment *segment)
{
   if (segment)
      gpuval_race_drop(segment);
}

/* Whoever comes second waits for the first one: what has retired before is in the log then. */
void
gpuval_radv_race_look(struct gpuval_radv *gpuval)
{
   struct gpuval_radv_race *state = gpuval->race;
   struct util_dynarray segments;
   if (!state)
      return;

   simple_mtx_lock(&state->mutex);
   simple_mtx_lock(&gpuval->submit_mutex);
   segments = state->retired;
   util_dynarray_init(&state->retired, NULL);
   simple_mtx_unlock(&gpuval->submit_mutex);

   util_dynarray_foreach (&segments, struct gpuval_race_segment *, segment)
      gpuval_race_judge(state->race, *segment);
   simple_mtx_unlock(&state->mutex);
   util_dynarray_fini(&segments);
}

static void
report(void *data, const struct gpuval_race_use *use, const struct gpuval_race_use *other)
{
   const struct gpuval_radv *gpuval = data;

   gpuval_device_report_race(gpuval->device, use, other);
}

/* Device */

void
gpuval_radv_race_remove_memory(struct gpuval_radv *gpuval, const struct radv_device_memory *memory)
{
   if (gpuval->race && memory->bo)
      gpuval_race_forget(gpuval->race->race, radv_buffer_get_va(memory->bo), memory->alloc_size);
}

void
gpuval_radv_init_race(struct gpuval_radv *gpuval)
{
   struct gpuval_objects *objects = gpuval_device_objects(gpuval->device);
   if (!gpuval_options_race() || !gpuval->hooks.submits || !objects)
      return;

   struct gpuval_radv_race *state = gpuval->race = rzalloc(gpuval, struct gpuval_radv_race);
   state->race = gpuval_race_create(report, gpuval);
   state->num_queues = gpuval->hooks.num_queues;
   for (unsigned i = 0; i < state->num_queues; i++)
      state->queues[i] = gpuval_race_queue_create(state, state->race, &race_driver,
                                                  gpuval->hooks.submits, objects, i);
   util_dynarray_init(&state->retired, NULL);
   simple_mtx_init(&state->mutex, mtx_plain);
}

void
gpuval_radv_finish_race(struct gpuval_radv *gpuval)
{
   struct gpuval_radv_race *state = gpuval->race;
   if (!state)
      return;

   util_dynarray_foreach (&state->retired, struct gpuval_race_segment *, segment)
      gpuval_race_drop(*segment);
   util_dynarray_fini(&state->retired);
   gpuval_race_destroy(state->race);
   simple_mtx_destroy(&state->mutex);
}
