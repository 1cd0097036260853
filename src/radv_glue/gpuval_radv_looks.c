/* SPDX-License-Identifier: MIT */

/* indirect, vertex, ray: what commands read from buffers; init: the marks of attachments that are
 * loaded. The GPU copies it to memory of the
 * command buffer's right before the command, and when that has run, the host looks at the
 * copy by the same functions as on lavapipe.
 *
 * A copy belongs to a recorded command, and each execution writes it anew. The host looks
 * when a submit has ended that was the last one in flight with that command buffer. So of
 * executions that overlap (SIMULTANEOUS_USE), and of several within one submit, the last is
 * looked at.
 */

#include "gpuval_radv_private.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "radv_cp_dma.h"
#include "radv_cs.h"
#include "radv_device.h"
#include "sid.h"

#include "gpuval/src/base/gpuval_log.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/core/structures/gpuval_instances.h"
#include "gpuval/src/core/structures/gpuval_structures.h"
#include "util/u_atomic.h"

/* Of one command: more is not copied. A draw's arguments are 16 to 20 bytes; draws of
 * indices are many.
 */
#define MAX_COPIED    (64 * 1024)
#define MAX_INDICES   (16 * 1024)
#define MAX_INSTANCES (1024 * 1024)

/* What the GPU writes behind the rest */
#define DONE 0x646f6e65

struct gpuval_radv_copy {
   uint32_t done;
   uint32_t count; /* or counter */
   alignas(8) char data[];
};

/* Bytes */
static uint32_t
get_room(const struct gpuval_radv_look *look)
{
   return look->top_level ? MAX_INSTANCES : look->is_indexed ? MAX_INDICES : MAX_COPIED;
}

/* How many structs, indices or instances there are to be copied */
static uint32_t
count_there(const struct gpuval_radv_look *look)
{
   return look->top_level || look->is_indexed ? look->arguments.count
                                              : gpuval_arguments_inside(&look->arguments);
}

/* Bytes that the command processor copies by itself. Where its DMA copies more, RADV has it wait
 * until that has ended.
 */
#define MAX_WORDS_SIZE 256

static void
copy_words(struct radv_cmd_buffer *cmd_buffer, uint64_t from, uint64_t to, uint64_t size)
{
   radv_emit_cache_flush(cmd_buffer); /* as its DMA does: what a barrier waits for */
   gpuval_radv_copy_words(cmd_buffer, from, to, size);
}

static void
copy_bytes(struct radv_cmd_buffer *cmd_buffer, uint64_t from, uint64_t to, uint64_t size)
{
   if (size <= MAX_WORDS_SIZE && !((size | from) & 3))
      copy_words(cmd_buffer, from, to, size);
   else if (size)
      gpuval_radv_copy_bytes(cmd_buffer, from, to, size);
}

/* Indices or instances, as many as there is room for */
static uint64_t
get_packed_size(const struct gpuval_radv_look *look, uint32_t *count)
{
   uint32_t size = look->arguments.stride;

   *count = MIN2(look->arguments.count, get_room(look) / size);
   if (look->is_whole && *count < look->arguments.count)
      *count = 0;
   return (uint64_t)*count * size;
}

/* As much of the structs as there is room for */
static uint64_t
get_size(const struct gpuval_radv_look *look, uint32_t *count)
{
   const struct gpuval_arguments *arguments = &look->arguments;
   uint32_t size = gpuval_arguments_size(arguments->type);

   if (look->is_indexed || look->top_level)
      return get_packed_size(look, count);
   if (look->load) {
      *count = MIN2(arguments->count, MAX_COPIED / arguments->stride);
      return arguments->stride * (*count - 1) + sizeof(uint32_t);
   }

   *count = gpuval_arguments_inside(arguments);
   if (!*count)
      return 0;
   if (arguments->stride)
      *count = MIN2(*count, (MAX_COPIED - size) / arguments->stride + 1);
   return arguments->stride * (*count - 1) + size;
}

static void
warn_of_size(const struct gpuval_radv_look *look)
{
   static uint32_t warned_arguments, warned_indices, warned_instances;
   uint32_t *warned = look->top_level    ? &warned_instances
                      : look->is_indexed ? &warned_indices
                                         : &warned_arguments;
   const char *checks = look->top_level ? "ray" : look->is_indexed ? "vertex" : "indirect, vertex";
   const char *what = look->top_level ? "instances" : look->is_indexed ? "indices" : "arguments";

   if (!p_atomic_xchg(warned, 1))
      gpuval_log_warning("%s: on this driver the first %u KiB of a command's %s are looked at",
                         checks, get_room(look) / 1024, what);
}

/* The hardware of compute queues has no predication: RADV jumps over what it leaves out. */
static bool
is_left_out(const struct radv_cmd_buffer *cmd_buffer)
{
   return cmd_buffer->state.predicating && cmd_buffer->qf != RADV_QUEUE_GENERAL;
}

struct gpuval_radv_look *
gpuval_radv_add_look(struct radv_cmd_buffer *cmd_buffer, const struct gpuval_radv_look *original)
{
   struct radv_device *device = radv_cmd_buffer_device(cmd_buffer);
   const struct gpuval_arguments *arguments = &original->arguments;
   uint32_t num_copied = 0;
   uint64_t address;
   uint64_t size = arguments->count ? get_size(original, &num_copied) : 0;
   struct gpuval_radv_copy *copy;

   if (!original->load && num_copied < count_there(original))
      warn_of_size(original);
   if ((!num_copied && !original->count_address && !original->is_conditional) ||
       is_left_out(cmd_buffer) ||
       !(copy = gpuval_radv_add_readback(cmd_buffer, sizeof(*copy) + size, &address)))
      return NULL;

   if (original->count_address)
      copy_bytes(cmd_buffer, original->count_address,
                 address + offsetof(struct gpuval_radv_copy, count), 4);
   copy_bytes(cmd_buffer, arguments->range.address + arguments->offset,
              address + offsetof(struct gpuval_radv_copy, data), size);
   radv_cp_dma_wait_for_idle(cmd_buffer);
   gpuval_radv_write_words(cmd_buffer, address + offsetof(struct gpuval_radv_copy, done), 1,
                           &(uint32_t){DONE}, cmd_buffer->state.predicating);

   struct util_dynarray *looks = gpuval_radv_looks(cmd_buffer);
   struct gpuval_radv_look *look = ralloc(looks->mem_ctx, struct gpuval_radv_look);
   *look = *original;
   look->copy = copy;
   look->num_copied = num_copied;
   util_dynarray_init(&look->failures, look);
   util_dynarray_append_typed(looks, struct gpuval_radv_look *, look);
   return look;
}

void
gpuval_radv_look_at_vertices(struct radv_cmd_buffer *cmd_buffer, struct gpuval_radv_look *look,
                             const struct gpuval_vertex_input *input)
{
   const struct util_dynarray *looks = gpuval_radv_looks(cmd_buffer);
   unsigned count = util_dynarray_num_elements(looks, struct gpuval_radv_look *);
   const struct gpuval_radv_look *before =
      count > 1 ? *util_dynarray_element(looks, struct gpuval_radv_look *, count - 2) : NULL;

   if (before && before->input && !memcmp(before->input, input, sizeof(*input)))
      look->input = before->input;
   else
      look->input = ralloc_memdup(look, input, sizeof(*input));
}

/* The host's part */

void
gpuval_radv_add_failures(struct util_dynarray *found, uint32_t command_id, uint64_t bound,
                         const struct gpuval_command_failure *failures, unsigned count)
{
   for (unsigned i = 0; i < count; i++) {
      const struct gpuval_radv_failure failure = {
         .command_id = command_id,
         .bound = bound,
         .failure = failures[i],
      };
      util_dynarray_append_typed(found, struct gpuval_radv_failure, failure);
   }
}

static void
add(struct util_dynarray *found, const struct gpuval_radv_look *look,
    const struct gpuval_command_failure *failures, unsigned count)
{
   gpuval_radv_add_failures(found, look->command_id, look->bound, failures, count);
}

static void
check_draw(const struct gpuval_radv_look *look, const struct gpuval_vertex_input *input,
           const struct gpuval_draw *draw, struct util_dynarray *found)
{
   struct gpuval_command_failure failures[GPUVAL_DRAW_MAX_FAILURES];

   add(found, look, failures, gpuval_check_draw(input, draw, failures));
}

static void
check_draws(const struct gpuval_radv_look *look, const struct gpuval_arguments *arguments,
            struct util_dynarray *found)
{
   struct gpuval_vertex_input input = *look->input;
   uint32_t count = MIN2(arguments->count, look->num_copied);

   if (look->indices)
      input.indices.data = look->indices->copy->data;
   for (uint32_t i = 0; i < count; i++) {
      const struct gpuval_draw draw = gpuval_arguments_get_draw(arguments, i);
      check_draw(look, &input, &draw, found);
   }
}

static void
check_structs(const struct gpuval_radv_look *look, uint32_t count, struct util_dynarray *found)
{
   struct gpuval_command_failure failures[GPUVAL_ARGUMENTS_MAX_FAILURES];
   struct gpuval_arguments arguments = look->arguments;

   /* What is outside has been reported by those that record, where they know how many
    * there are.
    */
   arguments.count = look->count_address ? count : gpuval_arguments_inside(&arguments);
   arguments.counted = look->count_address != 0;
   arguments.data = (const char *)look->copy->data - arguments.offset;
   arguments.num_known = look->num_copied;

   if (look->checks_arguments)
      add(found, look, failures, gpuval_check_arguments(&arguments, &look->limits, failures));
   if (look->input)
      check_draws(look, &arguments, found);
}

/* As many vertices as have been captured */
static void
check_counter(const struct gpuval_radv_look *look, struct util_dynarray *found)
{
   struct gpuval_draw draw = look->draw;

   if (!look->input || !look->counter_stride)
      return;
   draw.count = (look->copy->count - look->counter_offset) / look->counter_stride;
   check_draw(look, look->input, &draw, found);
}

/* Attributes that go by instances, and indices outside, are known when it is recorded. */
static void
check_indices(const struct gpuval_radv_look *look, struct util_dynarray *found)
{
   struct gpuval_vertex_input input = *look->input;
   struct gpuval_draw draw = look->draw;

   input.num_attributes = 0;
   for (unsigned i = 0; i < look->input->num_attributes; i++) {
      const struct gpuval_vertex_attribute *attribute = &look->input->attributes[i];
      if (!input.bindings[attribute->binding].per_instance)
         input.attributes[input.num_attributes++] = *attribute;
   }
   gpuval_vertex_input_update(&input);
   input.indices.data = look->copy->data - (uint64_t)draw.first * input.indices.index_size;
   draw.count = look->num_copied;
   check_draw(look, &input, &draw, found);
}

static void
check_instances(struct gpuval_device *device, const struct gpuval_radv_look *look,
                struct util_dynarray *found)
{
   struct gpuval_command_failure failure = {0};
   struct util_dynarray references;
   struct gpuval_instances instances = {
      .data = look->copy->data,
      .address = look->is_gathered ? 0 : look->arguments.range.address,
      .count = look->num_copied,
   };

   util_dynarray_init(&references, NULL);
   gpuval_instances_check(device, &instances, &failure, &references);
   add(found, look, &failure, failure.count > 0);
   gpuval_device_structure_built(device, look->top_level, GPUVAL_STRUCTURE_TOP_LEVEL,
                                 util_dynarray_begin(&references),
                                 util_dynarray_num_elements(&references, uint64_t));
   util_dynarray_fini(&references);
}

static void
check_load(const struct gpuval_radv_look *look, struct util_dynarray *found)
{
   struct gpuval_command_failure failure = *look->load;
   size_t length = strlen(failure.detail);

   for (uint32_t i = 0; i < look->num_copied; i++) {
      uint32_t mark;
      memcpy(&mark, look->copy->data + i * look->arguments.stride, sizeof(mark));
      if (mark)
         continue;
      snprintf(failure.detail + length, sizeof(failure.detail) - length,
               ", layer %u, where nothing was ever written", look->first_layer + i);
      add(found, look, &failure, 1);
      return;
   }
}

void
gpuval_radv_check_looks(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer,
                        struct util_dynarray *found)
{
   util_dynarray_foreach (gpuval_radv_looks(cmd_buffer), struct gpuval_radv_look *, each) {
      struct gpuval_radv_look *look = *each;

      if (look->batch) {
         gpuval_radv_check_batch(look->batch, found);
         continue;
      }
      if (look->bytes) {
         gpuval_radv_check_bytes(gpuval, look->bytes, found);
         continue;
      }
      if (p_atomic_read(&look->copy->done) != DONE)
         continue;
      add(found, look, look->failures.data,
          util_dynarray_num_elements(&look->failures, struct gpuval_command_failure));
      if (look->top_level)
         check_instances(gpuval->device, look, found);
      else if (look->load)
         check_load(look, found);
      else if (look->is_counter)
         check_counter(look, found);
      else if (look->is_indexed && look->input)
         check_indices(look, found);
      else if (!look->is_indexed && look->arguments.count)
         check_structs(look, MIN2(look->copy->count, look->max_count), found);
      look->copy->done = 0;
   }
}
