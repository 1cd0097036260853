/* SPDX-License-Identifier: MIT */

/* sync: bytes of buffers that commands access without a shader. The host cannot look at cells of
 * shadow memory here when a command is executed, so a shader of ours does: one dispatch in front of
 * a copy, a fill or an update, one behind a pass for all that its draws fetch. It writes into
 * memory of the host's whom a command is not ordered after.
 *
 * It runs where the command runs, in the same order, so cells hold what they should: those whom
 * the program's barriers order before the command have left their marks, and barriers behind the
 * command wait for the dispatch, too (gpuval_radv_wait_for_looks()).
 *
 * Not looked at are transform feedback, and what queues without compute shaders do.
 */

#include "gpuval_radv_bytes.h"
#include "gpuval_radv_inputs.h"
#include "gpuval_radv_layer.h"
#include "gpuval_radv_meta.h"
#include "gpuval_radv_walk.h"

#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/compat/gpuval_radv_driver.h"

#include "radv_buffer.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"

#include "gpuval/src/core/checks/gpuval_sync_commands.h"
#include "gpuval/src/core/checks/gpuval_sync_events.h"
#include "gpuval/src/core/commands/gpuval_command_fetch.h"
#include "gpuval/src/core/memory/gpuval_cells.h"
#include "gpuval/src/core/structures/gpuval_instances.h"
#include "gpuval/src/core/structures/gpuval_structure_commands.h"
#include "util/u_atomic.h"

#define chunk  gpuval_radv_bytes_chunk
#define result gpuval_radv_bytes_result

/* Of the pipeline: none of RADV's */
#define KEY 0x67707578

/* Blocks that a workgroup looks at, at most, but for the parts of blocks at both ends of a row */
#define CHUNK 4096

/* Of a dispatch: at most so many chunks; more are another dispatch. */
#define MAX_CHUNKS 16384

/* One access of a command */
struct look {
   struct gpuval_command_access access; /* by its address */
   struct gpuval_sync_kind kind;
   const struct gpuval_radv_bytes_part *part;
   uint32_t first_chunk, num_chunks;
   bool has_references; /* what is accessed is where instances refer to */
};

struct gpuval_radv_bytes_batch {
   struct util_dynarray looks; /* struct look */
   struct gpuval_radv_results *results;
};

/* What is recorded for the next dispatch, in a command buffer */
struct gpuval_radv_bytes {
   struct radv_cmd_buffer *cmd_buffer;
   struct gpuval_radv_bytes_batch *batch; /* NULL: nothing */
   struct util_dynarray chunks;           /* struct chunk */

   /* The command that is being recorded */
   struct gpuval_radv_walk *visited; /* which has its id; NULL: an action, with this one: */
   uint32_t command_id;
   uint64_t predicate; /* of conditional rendering; 0: it is executed, whatever is there */
   bool is_inverted;
   struct gpuval_radv_bytes_part *parts[GPUVAL_ORDER_CLASSES];
};

/* Recording */

static void
warn_of_memory(void)
{
   static uint32_t warned;

   if (!p_atomic_xchg(&warned, 1))
      gpuval_log_warning("sync: out of memory: some commands are not looked at");
}

static bool
may_look(const struct radv_cmd_buffer *cmd_buffer)
{
   return radv_cmd_buffer_device(cmd_buffer)->gpuval->shadow &&
          (cmd_buffer->qf == RADV_QUEUE_GENERAL || cmd_buffer->qf == RADV_QUEUE_COMPUTE);
}

bool
gpuval_radv_looks_at_bytes(const struct radv_cmd_buffer *cmd_buffer)
{
   return may_look(cmd_buffer) && gpuval_options_may_check(GPUVAL_CHECK_SYNC);
}

static struct gpuval_radv_bytes *
begin_command(struct radv_cmd_buffer *cmd_buffer)
{
   void *mem_ctx;
   struct gpuval_radv_bytes **bytes = gpuval_radv_bytes(cmd_buffer, &mem_ctx);

   if (!*bytes) {
      *bytes = rzalloc(mem_ctx, struct gpuval_radv_bytes);
      (*bytes)->cmd_buffer = cmd_buffer;
      util_dynarray_init(&(*bytes)->chunks, *bytes);
   }
   memset((*bytes)->parts, 0, sizeof((*bytes)->parts));
   (*bytes)->visited = NULL;
   (*bytes)->predicate = 0;
   return *bytes;
}

/* A draw or a dispatch. RADV may have copied the predicate to where the GPU takes it from. */
static struct gpuval_radv_bytes *
begin_action(struct radv_cmd_buffer *cmd_buffer, uint32_t command_id)
{
   const struct radv_cmd_state *state = &cmd_buffer->state;
   struct gpuval_radv_bytes *bytes = begin_command(cmd_buffer);

   bytes->command_id = command_id;
   if (state->predicating) {
      bytes->predicate = state->emulated_predication_va ? state->emulated_predication_va
                                                        : state->user_predication_va;
      bytes->is_inverted = !state->predication_type;
   }
   return bytes;
}

/* What the accesses of a class have in common */
static struct gpuval_radv_bytes_part *
get_part(struct gpuval_radv_bytes *bytes, enum gpuval_order_class class_)
{
   struct radv_cmd_buffer *cmd_buffer = bytes->cmd_buffer;
   struct gpuval_device *device = radv_cmd_buffer_device(cmd_buffer)->gpuval->device;
   struct gpuval_radv_bytes_part **part = &bytes->parts[class_];
   uint32_t offset;
   void *map;

   if (!*part) {
      if (bytes->visited)
         bytes->command_id = gpuval_radv_visited_id(bytes->visited);
      if (!radv_cmd_buffer_upload_alloc_aligned(cmd_buffer, sizeof(struct gpuval_command_data), 64,
                                                &offset, &map)) {
         warn_of_memory();
         return NULL;
      }
      *part = ralloc(bytes, struct gpuval_radv_bytes_part);
      **part = (struct gpuval_radv_bytes_part){
         .class_ = class_,
         .command_id = bytes->command_id,
         .data = map,
         .address = radv_buffer_get_va(cmd_buffer->upload.upload_bo) + offset,
      };
      *(*part)->data = (struct gpuval_command_data){
         .root_address = gpuval_device_root_address(device),
         .command_id = bytes->command_id,
         .shadow_words = gpuval_cells_no_table(device),
      };
      gpuval_radv_note_bytes(cmd_buffer, *part);
   }
   return *part;
}

/* Rows that are failures of their own, up to so many */
#define MAX_SINGLE_ROWS 64

/* Adds so many rows, as chunks. */
static void
add_chunks(struct gpuval_radv_bytes *bytes, struct chunk chunk, uint64_t row_size,
           uint64_t num_rows)
{
   const uint64_t max_size = CHUNK * GPUVAL_SHADOW_BLOCK;
   const uint64_t begin = chunk.address, indices = chunk.indices;
   const uint32_t first_row = chunk.first_row;

   for (uint64_t done = 0; done < row_size; done += max_size) {
      uint64_t rest = num_rows;

      chunk.row_size = MIN2(row_size - done, max_size);
      chunk.num_pieces = DIV_ROUND_UP(chunk.row_size, GPUVAL_SHADOW_BLOCK) + 1;
      chunk.address = begin + done;
      chunk.indices = indices;
      while (rest) {
         chunk.num_rows = MIN2(rest, MAX2(CHUNK / chunk.num_pieces, 1));
         chunk.first_row = first_row + num_rows - rest;
         util_dynarray_append_typed(&bytes->chunks, struct chunk, chunk);
         if (chunk.index_size)
            chunk.indices += (uint64_t)chunk.num_rows * chunk.index_size;
         else
            chunk.address += (uint64_t)chunk.num_rows * chunk.row_stride;
         rest -= chunk.num_rows;
      }
   }
}

static struct gpuval_radv_bytes_batch *
get_batch(struct gpuval_radv_bytes *bytes)
{
   if (!bytes->batch) {
      bytes->batch = rzalloc(bytes, struct gpuval_radv_bytes_batch);
      util_dynarray_init(&bytes->batch->looks, bytes->batch);
   }
   return bytes->batch;
}

/* @rows: what is special of their chunks */
static void
add_rows(struct gpuval_radv_bytes *bytes, const struct gpuval_sync_kind *kind,
         const struct gpuval_command_access *access, const struct chunk *rows)
{
   struct look look = {
      .access = *access,
      .kind = *kind,
      .part = get_part(bytes, kind->class_),
      .has_references = rows->index_size >= GPUVAL_RADV_POINTER_SIZE,
   };
   bool is_write = kind->read == GPUVAL_ORDER_WRITE;
   uint32_t site = kind->op | (is_write ? GPUVAL_SHADOW_COMMAND_WRITES : 0);
   struct chunk chunk = *rows;
   if (!look.part)
      return;

   chunk.address = access->address;
   chunk.data = look.part->address;
   chunk.row_stride = access->row_stride;
   chunk.token = GPUVAL_SHADOW_CONTEXT(0, 0, kind->class_, site);
   chunk.type = is_write ? GPUVAL_BLOOM_STORE : GPUVAL_BLOOM_LOAD;
   chunk.access = kind->read;
   chunk.predicate = bytes->predicate;
   chunk.is_inverted = bytes->is_inverted;

   if (util_dynarray_num_elements(&bytes->chunks, struct chunk) > MAX_CHUNKS)
      gpuval_radv_flush_bytes(bytes->cmd_buffer);
   look.first_chunk = util_dynarray_num_elements(&bytes->chunks, struct chunk);
   add_chunks(bytes, chunk, access->row_size ? access->row_size : access->size,
              access->row_size ? access->num_rows : 1);
   look.num_chunks = util_dynarray_num_elements(&bytes->chunks, struct chunk) - look.first_chunk;
   util_dynarray_append_typed(&get_batch(bytes)->looks, struct look, look);
}

static void
add_bytes(void *data, const struct gpuval_command_access *access)
{
   static const struct chunk rows;
   struct gpuval_radv_bytes *bytes = data;
   const struct gpuval_sync_kind *kind = gpuval_sync_find_kind(access);
   struct gpuval_command_access there = *access;

   if (!kind)
      return;
   if (access->buffer) {
      const struct radv_buffer *buffer = container_of(access->buffer, const struct radv_buffer, vk);
      uint64_t begin = gpuval_radv_buffer_address(buffer);

      there.address = begin ? begin + access->offset : 0;
      there.buffer = NULL; /* It may be gone when something is reported. */
   }
   if (there.address)
      add_rows(bytes, kind, &there, &rows);
}

/* As gpuval_sync_commands.c reads them on lavapipe */
static void
add_references(struct gpuval_radv_bytes *bytes, const struct gpuval_instances *instances)
{
   const struct gpuval_command_access access = {
      .stages = VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR,
      .access = VK_ACCESS_2_ACCELERATION_STRUCTURE_READ_BIT_KHR,
      .size = GPUVAL_SHADOW_STRUCTURE_BEGIN,
      .has_gaps = true,
      .row_size = GPUVAL_SHADOW_STRUCTURE_BEGIN,
      .num_rows = instances->num_there,
   };
   bool has_pointers = instances->array_of_pointers;
   const struct chunk rows = {
      .index_size = has_pointers ? GPUVAL_RADV_POINTER_SIZE : GPUVAL_RADV_INSTANCE_SIZE,
      .indices = instances->address + (has_pointers ? 0
                                                    : offsetof(VkAccelerationStructureInstanceKHR,
                                                               accelerationStructureReference)),
   };

   if (access.num_rows)
      add_rows(bytes, gpuval_sync_find_kind(&access), &access, &rows);
}

static void
add_all_references(struct gpuval_radv_bytes *bytes,
                   const struct vk_cmd_build_acceleration_structures_khr *build)
{
   struct gpuval_device *device = radv_cmd_buffer_device(bytes->cmd_buffer)->gpuval->device;

   for (uint32_t i = 0; i < build->info_count; i++) {
      const VkAccelerationStructureBuildGeometryInfoKHR *info = &build->infos[i];
      struct gpuval_instances instances;

      for (uint32_t j = 0; j < info->geometryCount; j++)
         if (gpuval_build_instances(device, gpuval_build_geometry(info, j),
                                    &build->pp_build_range_infos[i][j], &instances))
            add_references(bytes, &instances);
   }
}

/* Commands that are no actions */

static void
begin_visit(void *data, const struct vk_cmd_queue_entry *command)
{
   struct gpuval_radv_walk *walk = data;
   struct gpuval_radv_bytes *bytes = begin_command(walk->cmd_buffer);

   bytes->visited = walk;
   if (command->type == VK_CMD_BUILD_ACCELERATION_STRUCTURES_KHR)
      add_all_references(bytes, &command->u.build_acceleration_structures_khr);
}

/* Within a pass what is found is looked at behind it. That of counters and markers is not: they
 * come one after the other there.
 */
static void
visit_access(void *data, const struct gpuval_command_access *access)
{
   const VkPipelineStageFlags2 left_out =
      VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
   const struct gpuval_radv_walk *walk = data;
   void *mem_ctx;

   if (!(access->stages & left_out))
      add_bytes(*gpuval_radv_bytes(walk->cmd_buffer, &mem_ctx), access);
}

static void
end_visit(void *data, const struct vk_cmd_queue_entry *command)
{
   const struct gpuval_radv_walk *walk = data;

   if (!walk->cmd_buffer->state.render.active)
      gpuval_radv_flush_bytes(walk->cmd_buffer);
}

void
gpuval_radv_observe_bytes(struct gpuval_radv_walk *walk)
{
   static const struct gpuval_command_observer observer = {
      .begin = begin_visit,
      .access = visit_access,
      .end = end_visit,
   };

   if (gpuval_radv_looks_at_bytes(walk->cmd_buffer))
      gpuval_commands_add_observer(walk->commands, &observer, walk);
}

/* All elements of an attribute that are in the buffer; false: there are none. */
static bool
describe_elements(const struct gpuval_vertex_binding *binding,
                  const struct gpuval_vertex_attribute *attribute,
                  struct gpuval_command_access *access, uint32_t *num_elements)
{
   const struct gpuval_command_range *range = &binding->range;
   uint64_t needed = (uint64_t)attribute->offset + attribute->size;

   if (!range->address || !attribute->size || range->size < needed)
      return false;
   *access = (struct gpuval_command_access){
      .stages = VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT,
      .access = VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT,
      .address = range->address + attribute->offset,
      .size = range->size - attribute->offset,
      .has_gaps = true,
      .row_size = attribute->size,
      .row_stride = binding->stride,
      .num_rows = 1,
   };
   *num_elements =
      binding->stride ? MIN2((range->size - needed) / binding->stride + 1, UINT32_MAX) : UINT32_MAX;
   return true;
}

/* Attributes of vertices that indices choose */
static void
add_vertices(struct gpuval_radv_bytes *bytes, const struct gpuval_vertex_input *input,
             const struct gpuval_draw *draw, const struct gpuval_vertex_attribute *attribute)
{
   const struct gpuval_index_buffer *indices = &input->indices;
   uint64_t first = (uint64_t)draw->first * indices->index_size;
   struct gpuval_command_access access;
   struct chunk rows = {
      .index_size = indices->index_size,
      .indices = indices->range.address + first,
      .vertex_offset = draw->vertex_offset,
      .restart = BITFIELD_MASK(indices->index_size * 8),
      .has_restart = indices->restart,
   };
   if (!indices->range.address || indices->range.size < first ||
       !describe_elements(&input->bindings[attribute->binding], attribute, &access,
                          &rows.num_elements))
      return;

   access.num_rows = MIN2(draw->count, (indices->range.size - first) / indices->index_size);
   add_rows(bytes, gpuval_sync_find_kind(&access), &access, &rows);
}

/* Rows as the draws have them whose structs are in a buffer */

#define OFFSET(type, field)                                                                        \
   ((type) == GPUVAL_ARGUMENTS_DRAW_INDEXED ? offsetof(VkDrawIndexedIndirectCommand, field)        \
                                            : offsetof(VkDrawIndirectCommand, field))

/* More draws of one command are not looked at. */
#define MAX_FETCHED_DRAWS 256

static void
warn_of_draws(void)
{
   static uint32_t warned;

   if (!p_atomic_xchg(&warned, 1))
      gpuval_log_warning("sync: on this driver it is looked at what the first %u draws of an "
                         "indirect command fetch",
                         MAX_FETCHED_DRAWS);
}

static void
add_drawn_indices(struct gpuval_radv_bytes *bytes, const struct gpuval_index_buffer *indices,
                  struct chunk rows)
{
   const struct gpuval_command_access access = {
      .stages = VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT,
      .access = VK_ACCESS_2_INDEX_READ_BIT,
      .address = indices->range.address,
      .size = indices->range.size,
      .has_gaps = true,
      .row_size = indices->index_size,
      .row_stride = indices->index_size,
      .num_rows = 1,
   };

   rows.count_offset = offsetof(VkDrawIndexedIndirectCommand, indexCount);
   rows.first_offset = offsetof(VkDrawIndexedIndirectCommand, firstIndex);
   rows.max_rows = MIN2(indices->range.size / indices->index_size, UINT32_MAX);
   if (indices->range.address)
      add_rows(bytes, gpuval_sync_find_kind(&access), &access, &rows);
}

static void
add_drawn_attribute(struct gpuval_radv_bytes *bytes, const struct gpuval_vertex_input *input,
                    const struct gpuval_vertex_attribute *attribute,
                    enum gpuval_arguments_type type, struct chunk rows)
{
   const struct gpuval_vertex_binding *binding = &input->bindings[attribute->binding];
   const struct gpuval_index_buffer *indices = &input->indices;
   struct gpuval_command_access access;
   bool is_indexed = type == GPUVAL_ARGUMENTS_DRAW_INDEXED && !binding->per_instance;

   if (!describe_elements(binding, attribute, &access, &rows.num_elements) ||
       (is_indexed && !indices->range.address))
      return;
   rows.max_rows = rows.num_elements;
   if (is_indexed) {
      rows.index_size = indices->index_size;
      rows.indices = indices->range.address;
      rows.restart = BITFIELD_MASK(indices->index_size * 8);
      rows.has_restart = indices->restart;
      rows.max_rows = MIN2(indices->range.size / indices->index_size, UINT32_MAX);
      rows.count_offset = offsetof(VkDrawIndexedIndirectCommand, indexCount);
      rows.first_offset = offsetof(VkDrawIndexedIndirectCommand, firstIndex);
      rows.vertex_offset_offset = offsetof(VkDrawIndexedIndirectCommand, vertexOffset);
   } else if (binding->per_instance) {
      rows.is_per_instance = true;
      rows.divisor = binding->divisor;
      rows.count_offset = OFFSET(type, instanceCount);
      rows.first_offset = OFFSET(type, firstInstance);
   } else {
      rows.count_offset = offsetof(VkDrawIndirectCommand, vertexCount);
      rows.first_offset = offsetof(VkDrawIndirectCommand, firstVertex);
   }
   add_rows(bytes, gpuval_sync_find_kind(&access), &access, &rows);
}

void
gpuval_radv_add_indirect_fetch(struct gpuval_radv_recording *recording,
                               const struct gpuval_vertex_input *input,
                               const struct gpuval_arguments *arguments, uint64_t count_address)
{
   struct radv_cmd_buffer *cmd_buffer = recording->cmd_buffer;
   uint32_t count = gpuval_arguments_inside(arguments);
   if (!gpuval_radv_looks_at_bytes(cmd_buffer))
      return;

   struct gpuval_radv_bytes *bytes = begin_action(cmd_buffer, gpuval_radv_get_id(recording));
   if (count > MAX_FETCHED_DRAWS)
      warn_of_draws();
   for (uint32_t i = 0; i < MIN2(count, MAX_FETCHED_DRAWS); i++) {
      const struct chunk rows = {
         .count_address = count_address,
         .first_row = i,
         .draw = arguments->range.address + arguments->offset + i * arguments->stride,
      };
      if (arguments->type == GPUVAL_ARGUMENTS_DRAW_INDEXED)
         add_drawn_indices(bytes, &input->indices, rows);
      for (unsigned j = 0; j < input->num_attributes; j++)
         add_drawn_attribute(bytes, input, &input->attributes[j], arguments->type, rows);
   }
}

void
gpuval_radv_add_fetch(struct radv_cmd_buffer *cmd_buffer, uint32_t command_id,
                      const struct gpuval_vertex_input *input, const struct gpuval_draw *draw)
{
   if (!gpuval_radv_looks_at_bytes(cmd_buffer))
      return;

   struct gpuval_radv_bytes *bytes = begin_action(cmd_buffer, command_id);
   gpuval_visit_fetch(input, draw, add_bytes, bytes);
   for (unsigned i = 0; draw->indexed && draw->num_instances && i < input->num_attributes; i++) {
      if (!input->bindings[input->attributes[i].binding].per_instance)
         add_vertices(bytes, input, draw, &input->attributes[i]);
   }
}

void
gpuval_radv_add_arguments(struct gpuval_radv_recording *recording,
                          const struct gpuval_arguments *arguments, uint64_t count_address)
{
   static const struct gpuval_sync_kind kind = {
      .class_ = GPUVAL_ORDER_INDIRECT,
      .read = GPUVAL_ORDER_STORAGE_READ,
      .op = GPUVAL_OP_INDIRECT,
   };
   static const struct chunk no_rows;
   struct radv_cmd_buffer *cmd_buffer = recording->cmd_buffer;
   const uint64_t begin = arguments->range.address + arguments->offset;
   uint32_t count = gpuval_arguments_inside(arguments);
   uint32_t num_singles = MIN2(count, MAX_SINGLE_ROWS);
   struct gpuval_command_access access = {.address = count_address, .size = 4};
   bool is_dispatch = arguments->type == GPUVAL_ARGUMENTS_DISPATCH;
   if (!may_look(cmd_buffer) || !arguments->range.address ||
       !(gpuval_options_may_check(GPUVAL_CHECK_SYNC) || is_dispatch)) /* sync-compute */
      return;

   struct gpuval_radv_bytes *bytes = begin_action(cmd_buffer, gpuval_radv_get_id(recording));
   if (count_address)
      add_rows(bytes, &kind, &access, &no_rows);

   access.has_gaps = true;
   access.row_size = gpuval_arguments_size(arguments->type);
   access.row_stride = arguments->stride;
   for (uint32_t i = 0; i < count; i += access.num_rows) {
      const struct chunk rows = {.count_address = count_address, .first_row = i};

      access.num_rows = i < num_singles ? 1 : count - i;
      access.address = begin + i * arguments->stride;
      access.size = (access.num_rows - 1) * arguments->stride + access.row_size;
      add_rows(bytes, &kind, &access, &rows);
   }
   if (recording->bind_point != VK_PIPELINE_BIND_POINT_GRAPHICS) /* else it is in a pass */
      gpuval_radv_flush_bytes(cmd_buffer);
}

void
gpuval_radv_flush_bytes(struct radv_cmd_buffer *cmd_buffer)
{
   if (!may_look(cmd_buffer))
      return;

   void *mem_ctx;
   struct gpuval_radv_bytes *bytes = *gpuval_radv_bytes(cmd_buffer, &mem_ctx);
   struct gpuval_radv_bytes_batch *batch = bytes ? bytes->batch : NULL;
   if (!batch)
      return;

   bytes->batch = NULL;
   batch->results =
      gpuval_radv_dispatch_look(cmd_buffer, KEY, gpuval_radv_build_bytes, &bytes->chunks,
                                sizeof(struct chunk), sizeof(struct result));
   if (batch->results) {
      struct gpuval_radv_look *look = rzalloc(mem_ctx, struct gpuval_radv_look);
      look->bytes = batch;
      util_dynarray_append_typed(gpuval_radv_looks(cmd_buffer), struct gpuval_radv_look *, look);
      gpuval_radv_looks_run(cmd_buffer);
   } else {
      warn_of_memory();
   }
   util_dynarray_clear(&bytes->chunks);
}

/* The host's part */

/* A command is not ordered after itself, and needs not be. */
static bool
is_own(struct gpuval_device *device, const struct look *look, const struct result *result)
{
   struct gpuval_shadow_party party;

   return gpuval_device_shadow_party(device, result->other[0], result->other[1], &party) &&
          party.command_id == look->part->command_id;
}

/* The one with the lowest address; NULL: none. A range counts as one access. */
static const struct result *
find_result(struct gpuval_device *device, const struct look *look, const struct result *results)
{
   const struct result *found = NULL;

   for (uint32_t i = 0; i < look->num_chunks; i++) {
      const struct result *result = &results[look->first_chunk + i];
      if (result->other[1] && (!found || result->address < found->address) &&
          !is_own(device, look, result))
         found = result;
   }
   return found;
}

static void
check_look(struct gpuval_device *device, const struct look *look, const struct result *results,
           struct util_dynarray *found)
{
   const struct result *result = find_result(device, look, results);
   struct gpuval_radv_failure failure = {.command_id = look->part->command_id};

   if (!result || !(failure.conflict = calloc(1, sizeof(*failure.conflict))))
      return;
   const uint64_t reference = result->address & ~(uint64_t)(GPUVAL_SHADOW_BLOCK - 1);
   *failure.conflict = (struct gpuval_sync_conflict){
      .what = look->access,
      .class_ = look->kind.class_,
      .read = look->kind.read,
      .op = look->kind.op,
      .command_id = look->part->command_id,
      .serial = look->part->serial,
      .begin = look->has_references ? reference : look->access.address,
      .address = result->address,
      .other = result->other[0] | (uint64_t)result->other[1] << 32,
   };
   util_dynarray_append_typed(found, struct gpuval_radv_failure, failure);
}

void
gpuval_radv_check_bytes(struct gpuval_radv *gpuval, const struct gpuval_radv_bytes_batch *batch,
                        struct util_dynarray *found)
{
   struct result *results = (struct result *)(batch->results + 1);

   if (p_atomic_read(&batch->results->failed) != GPUVAL_RADV_FAILED)
      return;
   util_dynarray_foreach (&batch->looks, struct look, look) {
      check_look(gpuval->device, look, results, found);
      memset(&results[look->first_chunk], 0, look->num_chunks * sizeof(*results));
   }
   batch->results->failed = 0;
}
