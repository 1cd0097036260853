/* SPDX-License-Identifier: MIT */

/* sync: bytes of buffers that commands access without a shader. The host cannot look at cells of
 * shadow memory here when a command is executed, so a shader of ours does: one dispatch in front of
 * a copy, a fill or an update, one behind a pass for all that its draws fetch. It does with cells
 * what shaders do at their accesses (gpuval_nir_build_command_access()), and writes into memory of
 * the host's whom a command is not ordered after.
 *
 * It runs where the command runs, in the same order, so cells hold what they should: those whom
 * the program's barriers order before the command have left their marks, and barriers behind the
 * command wait for the dispatch, too (gpuval_radv_wait_for_looks()).
 *
 * Not looked at are vertices that indices choose, draws under conditional rendering, and what
 * queues without compute shaders do.
 */

#include "gpuval_radv_inputs.h"
#include "gpuval_radv_nir.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/compat/gpuval_radv_driver.h"

#include "meta/radv_meta.h"
#include "nir/nir_builder.h"
#include "radv_buffer.h"
#include "radv_cmd_buffer.h"
#include "radv_cs.h"
#include "radv_device.h"

#include "gpuval/src/core/checks/gpuval_sync_commands.h"
#include "gpuval/src/core/checks/gpuval_sync_events.h"
#include "gpuval/src/core/commands/gpuval_command_fetch.h"
#include "gpuval/src/core/memory/gpuval_cells.h"
#include "gpuval/src/nir_passes/gpuval_nir_sync.h"
#include "util/u_atomic.h"
#include "vk_common_entrypoints.h"

#define WORKGROUP_SIZE 64

/* Blocks that a workgroup looks at, at most, but for the parts of blocks at both ends of a row */
#define CHUNK 4096

/* Of a dispatch: at most so many chunks; more are another dispatch. */
#define MAX_CHUNKS 16384

/* What a workgroup is told: rows of bytes, and who accesses them. The shader loads it as vectors of
 * four words.
 */
struct chunk {
   uint64_t address; /* of the first row */
   uint64_t data;    /* of struct gpuval_command_data */
   uint32_t row_size, row_stride, num_rows;
   uint32_t num_pieces; /* blocks that a row may be in */
   uint32_t token;      /* GPUVAL_SHADOW_CONTEXT() */
   uint32_t type;       /* enum gpuval_bloom_type */
   uint32_t access;     /* enum gpuval_order_access */
   uint32_t index_size; /* 0: one row after the other; else indices and an offset choose them, */
   uint64_t indices;
   int32_t vertex_offset;
   uint32_t num_elements; /* as far as there are so many, */
   uint32_t restart;      /* and @has_restart, but for this index */
   uint32_t has_restart;
   uint64_t count_address; /* of a word: there are no more rows than that; 0: all */
   uint32_t first_row;     /* of these, the first one here */
   uint32_t reserved[3];
};
static_assert(sizeof(struct chunk) == 96, "the shader knows the offsets");

/* What it says if there is a hazard; 0 else */
struct result {
   uint64_t address;
   uint32_t other[2]; /* the half of a cell */
};

/* In memory for reading back: this, then a result for each chunk. No other value is believed, where
 * the device is lost and memory with it.
 */
#define FAILED 0x74796273

struct results {
   uint32_t failed; /* FAILED: some chunk has a hazard */
   uint32_t reserved[3];
};

/* One access of a command */
struct look {
   struct gpuval_command_access access; /* by its address */
   struct gpuval_sync_kind kind;
   const struct gpuval_radv_bytes_part *part;
   uint32_t first_chunk, num_chunks;
};

struct gpuval_radv_bytes_batch {
   struct util_dynarray looks; /* struct look */
   struct results *results;
};

/* What is recorded for the next dispatch, in a command buffer */
struct gpuval_radv_bytes {
   struct radv_cmd_buffer *cmd_buffer;
   struct gpuval_radv_bytes_batch *batch; /* NULL: nothing */
   struct util_dynarray chunks;           /* struct chunk */

   /* The command that is being recorded */
   const char *op;
   bool has_id;
   uint32_t command_id;
   struct gpuval_radv_bytes_part *parts[GPUVAL_ORDER_CLASSES];
};

/* The shader */

struct constants {
   uint64_t chunks;
   uint64_t results;
};

/* gpuval_nir_driver::data: where the command's data is, a nir_def */
static nir_def *
command_data(const struct gpuval_nir_driver *driver, nir_builder *b, unsigned bit_size,
             unsigned offset)
{
   nir_def *address = nir_iadd_imm(b, (nir_def *)driver->data, offset);
   return nir_build_load_global(b, 1, bit_size, address, .align_mul = bit_size / 8,
                                .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER);
}

static nir_def *
root_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return command_data(driver, b, 64, offsetof(struct gpuval_command_data, root_address));
}

static nir_def *
load_constant(nir_builder *b, unsigned offset)
{
   nir_def *words =
      nir_load_push_constant(b, 4, 32, nir_imm_int(b, 0), .range = sizeof(struct constants));
   return nir_pack_64_2x32(b, nir_channels(b, words, 0x3 << (offset / 4)));
}

static nir_def *
load_words(nir_builder *b, nir_def *chunk, unsigned offset)
{
   return nir_build_load_global(b, 4, 32, nir_iadd_imm(b, chunk, offset), .align_mul = 16,
                                .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER);
}

/* What an invocation has found */
struct found {
   nir_variable *position; /* in bytes, behind the address of the chunk; UINT32_MAX: nothing */
   nir_variable *address;  /* 64 bit */
   nir_variable *other[2];
};

/* A piece of the row at @begin, all in one block, or nothing */
static void
look_at_piece(nir_builder *b, const struct gpuval_nir_driver *driver,
              const struct gpuval_nir_access_params *template, nir_def *chunk_address,
              nir_def *begin, nir_def *row_size, nir_def *piece, const struct found *found)
{
   nir_def *skipped =
      nir_iand_imm(b, nir_unpack_64_2x32_split_x(b, begin), GPUVAL_SHADOW_BLOCK - 1);
   /* Bytes of the row, from the beginning of the block that it begins in */
   nir_def *first = nir_umax(b, nir_imul_imm(b, piece, GPUVAL_SHADOW_BLOCK), skipped);
   nir_def *end = nir_umin(b, nir_imul_imm(b, nir_iadd_imm(b, piece, 1), GPUVAL_SHADOW_BLOCK),
                           nir_iadd(b, skipped, row_size));
   struct gpuval_nir_access_params params = *template;

   nir_push_if(b, nir_ult(b, first, end));
   {
      nir_def *other[2], *byte;
      params.address = nir_iadd(b, begin, nir_u2u64(b, nir_isub(b, first, skipped)));
      params.size = nir_isub(b, end, first);
      nir_def *hazard = gpuval_nir_build_command_access(b, driver, &params, other, &byte);

      nir_def *address = nir_iadd(b, params.address, nir_u2u64(b, byte));
      nir_def *position = nir_u2u32(b, nir_isub(b, address, chunk_address));
      nir_push_if(b, nir_iand(b, hazard, nir_ult(b, position, nir_load_var(b, found->position))));
      {
         nir_store_var(b, found->position, position, 0x1);
         nir_store_var(b, found->address, address, 0x1);
         for (unsigned i = 0; i < 2; i++)
            nir_store_var(b, found->other[i], other[i], 0x1);
      }
      nir_pop_if(b, NULL);
   }
   nir_pop_if(b, NULL);
}

static nir_def *
load_word(nir_builder *b, nir_def *address, unsigned size)
{
   return nir_u2u32(b, nir_build_load_global(b, 1, size * 8, address, .align_mul = size,
                                             .access = ACCESS_COHERENT));
}

/* The row that the index at @number chooses, or UINT32_MAX */
static nir_def *
find_vertex(nir_builder *b, nir_def *chunk, nir_def *index_size, nir_def *number)
{
   nir_def *indices = load_words(b, chunk, offsetof(struct chunk, indices));
   nir_def *restarts = load_words(b, chunk, offsetof(struct chunk, restart));
   nir_def *address = nir_iadd(b, nir_pack_64_2x32(b, nir_channels(b, indices, 0x3)),
                               nir_umul_2x32_64(b, number, index_size));
   nir_variable *var = nir_local_variable_create(b->impl, glsl_uint_type(), "index");

   for (unsigned size = 1; size <= 4; size *= 2) {
      nir_push_if(b, nir_ieq_imm(b, index_size, size));
      nir_store_var(b, var, load_word(b, address, size), 0x1);
      nir_pop_if(b, NULL);
   }
   nir_def *index = nir_load_var(b, var);
   nir_def *is_none = nir_iand(b, nir_ine_imm(b, nir_channel(b, restarts, 1), 0),
                               nir_ieq(b, index, nir_channel(b, restarts, 0)));
   nir_def *vertex = nir_iadd(b, index, nir_channel(b, indices, 2));

   is_none = nir_ior(b, is_none, nir_uge(b, vertex, nir_channel(b, indices, 3)));
   return nir_bcsel(b, is_none, nir_imm_int(b, UINT32_MAX), vertex);
}

/* Of @num_rows, those that the word says that there are */
static nir_def *
count_rows(nir_builder *b, nir_def *chunk, nir_def *num_rows)
{
   nir_def *restarts = load_words(b, chunk, offsetof(struct chunk, restart));
   nir_def *counts = load_words(b, chunk, offsetof(struct chunk, first_row));
   nir_def *address = nir_pack_64_2x32(b, nir_channels(b, restarts, 0xc));

   nir_push_if(b, nir_ine_imm(b, address, 0));
   nir_def *count = nir_usub_sat(b, load_word(b, address, 4), nir_channel(b, counts, 0));
   nir_def *fewer = nir_umin(b, num_rows, count);
   nir_pop_if(b, NULL);
   return nir_if_phi(b, fewer, num_rows);
}

/* Each lane looks at every 64th piece. */
static void
build_loop(nir_builder *b, nir_def *chunk, nir_def *lane, const struct found *found)
{
   nir_def *places = load_words(b, chunk, offsetof(struct chunk, address));
   nir_def *rows = load_words(b, chunk, offsetof(struct chunk, row_size));
   nir_def *kind = load_words(b, chunk, offsetof(struct chunk, token));
   nir_def *address = nir_pack_64_2x32(b, nir_channels(b, places, 0x3));
   nir_def *num_pieces = nir_channel(b, rows, 3), *index_size = nir_channel(b, kind, 3);
   const struct gpuval_nir_driver driver = {
      .root_address = root_address,
      .command_data = command_data,
      .has_table = true,
      .data = nir_pack_64_2x32(b, nir_channels(b, places, 0xc)),
   };
   struct gpuval_nir_shadow_command command = gpuval_nir_load_shadow_command(b, &driver);
   nir_def *flags = command_data(&driver, b, 32, offsetof(struct gpuval_command_data, sync_flags));
   nir_def *is_off = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_RADV_SYNC_OFF), 0);
   nir_def *count = nir_imul(b, num_pieces, count_rows(b, chunk, nir_channel(b, rows, 2)));
   nir_variable *at = nir_local_variable_create(b->impl, glsl_uint_type(), "at");
   nir_variable *area = nir_local_variable_create(b->impl, glsl_uint64_t_type(), "area");
   const struct gpuval_nir_access_params params = {
      .type = nir_channel(b, kind, 1),
      .access = nir_channel(b, kind, 2),
      .invocation_id = nir_imm_int(b, 0),
      .token = nir_channel(b, kind, 0),
      .phase = nir_imm_int(b, 0),
      .command = &command,
      .notes = true,
      .last_area = area,
   };

   is_off = nir_ior(b, is_off, nir_ieq_imm(b, command.command, 0));
   count = nir_bcsel(b, is_off, nir_imm_int(b, 0), count);
   nir_store_var(b, area, nir_imm_int64(b, 0), 0x1);
   nir_store_var(b, at, lane, 0x1);
   nir_push_loop(b);
   {
      nir_def *now = nir_load_var(b, at);
      nir_break_if(b, nir_uge(b, now, count));
      nir_store_var(b, at, nir_iadd_imm(b, now, WORKGROUP_SIZE), 0x1);

      nir_def *number = nir_udiv(b, now, num_pieces);
      nir_def *piece = nir_isub(b, now, nir_imul(b, number, num_pieces));
      nir_push_if(b, nir_ine_imm(b, index_size, 0));
      nir_def *vertex = find_vertex(b, chunk, index_size, number);
      nir_pop_if(b, NULL);
      nir_def *row = nir_if_phi(b, vertex, number);
      nir_def *size =
         nir_bcsel(b, nir_ieq_imm(b, row, UINT32_MAX), nir_imm_int(b, 0), nir_channel(b, rows, 0));
      nir_def *begin = nir_iadd(b, address, nir_umul_2x32_64(b, row, nir_channel(b, rows, 1)));

      look_at_piece(b, &driver, &params, address, begin, size, piece, found);
   }
   nir_pop_loop(b, NULL);
}

static void
build_barrier(nir_builder *b)
{
   nir_barrier(b, .execution_scope = SCOPE_WORKGROUP, .memory_scope = SCOPE_WORKGROUP,
               .memory_semantics = NIR_MEMORY_ACQ_REL, .memory_modes = nir_var_mem_shared);
}

static nir_shader *
build_shader(struct radv_device *device, const void *key)
{
   nir_builder builder = gpuval_radv_init_shader(device, "gpuval_bytes");
   nir_builder *b = &builder;

   b->shader->info.workgroup_size[0] = WORKGROUP_SIZE;
   b->shader->info.shared_memory_explicit_layout = true;
   b->shader->info.shared_size = 4; /* the first position where something was found */

   const struct found found = {
      .position = nir_local_variable_create(b->impl, glsl_uint_type(), "position"),
      .address = nir_local_variable_create(b->impl, glsl_uint64_t_type(), "address"),
      .other = {nir_local_variable_create(b->impl, glsl_uint_type(), "lo"),
                nir_local_variable_create(b->impl, glsl_uint_type(), "hi")},
   };
   nir_def *group = nir_channel(b, nir_load_workgroup_id(b), 0);
   nir_def *lane = nir_load_local_invocation_index(b);
   nir_def *chunk = nir_iadd(b, load_constant(b, offsetof(struct constants, chunks)),
                             nir_u2u64(b, nir_imul_imm(b, group, sizeof(struct chunk))));
   nir_def *shared = nir_imm_int(b, 0);

   nir_push_if(b, nir_ieq_imm(b, lane, 0));
   nir_store_shared(b, nir_imm_int(b, UINT32_MAX), shared, .write_mask = 0x1, .align_mul = 4);
   nir_pop_if(b, NULL);
   nir_store_var(b, found.position, nir_imm_int(b, UINT32_MAX), 0x1);
   nir_store_var(b, found.address, nir_imm_int64(b, 0), 0x1);
   nir_store_var(b, found.other[0], nir_imm_int(b, 0), 0x1);
   nir_store_var(b, found.other[1], nir_imm_int(b, 0), 0x1);
   build_loop(b, chunk, lane, &found);

   build_barrier(b);
   nir_def *position = nir_load_var(b, found.position);
   nir_def *has_any = nir_ine_imm(b, position, UINT32_MAX);
   nir_push_if(b, has_any);
   nir_shared_atomic(b, 32, shared, position, .atomic_op = nir_atomic_op_umin);
   nir_pop_if(b, NULL);
   build_barrier(b);

   nir_def *first = nir_load_shared(b, 1, 32, shared, .align_mul = 4);
   nir_push_if(b, nir_iand(b, has_any, nir_ieq(b, first, position)));
   {
      nir_def *results = load_constant(b, offsetof(struct constants, results));
      nir_def *result = nir_iadd_imm(
         b, nir_iadd(b, results, nir_u2u64(b, nir_imul_imm(b, group, sizeof(struct result)))),
         sizeof(struct results));
      nir_def *address = nir_load_var(b, found.address);

      nir_build_store_global(
         b,
         nir_vec4(b, nir_unpack_64_2x32_split_x(b, address), nir_unpack_64_2x32_split_y(b, address),
                  nir_load_var(b, found.other[0]), nir_load_var(b, found.other[1])),
         result, .align_mul = 16);
      nir_build_store_global(b, nir_imm_int(b, FAILED), results, .align_mul = 4);
   }
   nir_pop_if(b, NULL);
   return b->shader;
}

static VkResult
get_pipeline(struct radv_device *device, VkPipeline *pipeline, VkPipelineLayout *layout)
{
   const enum radv_meta_object_key_type key = 0x67707578; /* none of RADV's */

   return gpuval_radv_get_meta_pipeline(device, &key, sizeof(key), sizeof(struct constants),
                                        build_shader, pipeline, layout);
}

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
   return *bytes;
}

struct gpuval_radv_bytes *
gpuval_radv_begin_bytes(struct radv_cmd_buffer *cmd_buffer, const char *op)
{
   if (!gpuval_radv_looks_at_bytes(cmd_buffer))
      return NULL;

   struct gpuval_radv_bytes *bytes = begin_command(cmd_buffer);
   bytes->op = op;
   bytes->has_id = false;
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
      if (!bytes->has_id &&
          !gpuval_radv_identify_command(cmd_buffer, bytes->op, &bytes->command_id))
         return NULL;
      bytes->has_id = true;
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

   if (util_dynarray_num_elements(&bytes->chunks, struct chunk) > MAX_CHUNKS)
      gpuval_radv_flush_bytes(bytes->cmd_buffer);
   look.first_chunk = util_dynarray_num_elements(&bytes->chunks, struct chunk);
   add_chunks(bytes, chunk, access->row_size ? access->row_size : access->size,
              access->row_size ? access->num_rows : 1);
   look.num_chunks = util_dynarray_num_elements(&bytes->chunks, struct chunk) - look.first_chunk;
   util_dynarray_append_typed(&get_batch(bytes)->looks, struct look, look);
}

void
gpuval_radv_add_bytes(void *data, const struct gpuval_command_access *access)
{
   static const struct chunk rows;
   struct gpuval_radv_bytes *bytes = data;
   const struct gpuval_sync_kind *kind = bytes ? gpuval_sync_find_kind(access) : NULL;
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

/* Attributes of vertices that indices choose: of those that are in the buffer */
static void
add_vertices(struct gpuval_radv_bytes *bytes, const struct gpuval_vertex_input *input,
             const struct gpuval_draw *draw, const struct gpuval_vertex_attribute *attribute)
{
   const struct gpuval_vertex_binding *binding = &input->bindings[attribute->binding];
   const struct gpuval_index_buffer *indices = &input->indices;
   const struct gpuval_command_range *range = &binding->range;
   uint64_t first = (uint64_t)draw->first * indices->index_size;
   uint64_t needed = (uint64_t)attribute->offset + attribute->size;
   if (!indices->range.address || indices->range.size < first || !range->address ||
       !attribute->size || range->size < needed)
      return;

   const struct gpuval_command_access access = {
      .stages = VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT,
      .access = VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT,
      .address = range->address + attribute->offset,
      .size = range->size - attribute->offset,
      .has_gaps = true,
      .row_size = attribute->size,
      .row_stride = binding->stride,
      .num_rows = MIN2(draw->count, (indices->range.size - first) / indices->index_size),
   };
   uint64_t num_elements =
      binding->stride ? (range->size - needed) / binding->stride + 1 : UINT32_MAX;
   const struct chunk rows = {
      .index_size = indices->index_size,
      .indices = indices->range.address + first,
      .vertex_offset = draw->vertex_offset,
      .num_elements = MIN2(num_elements, UINT32_MAX),
      .restart = BITFIELD_MASK(indices->index_size * 8),
      .has_restart = indices->restart,
   };
   add_rows(bytes, gpuval_sync_find_kind(&access), &access, &rows);
}

void
gpuval_radv_add_fetch(struct radv_cmd_buffer *cmd_buffer, uint32_t command_id,
                      const struct gpuval_vertex_input *input, const struct gpuval_draw *draw)
{
   if (!gpuval_radv_looks_at_bytes(cmd_buffer))
      return;

   struct gpuval_radv_bytes *bytes = begin_command(cmd_buffer);
   bytes->has_id = true;
   bytes->command_id = command_id;
   gpuval_visit_fetch(input, draw, gpuval_radv_add_bytes, bytes);
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
   if (!may_look(cmd_buffer) || cmd_buffer->state.predicating || !arguments->range.address ||
       !(gpuval_options_may_check(GPUVAL_CHECK_SYNC) || is_dispatch)) /* sync-compute */
      return;

   struct gpuval_radv_bytes *bytes = begin_command(cmd_buffer);
   bytes->has_id = true;
   bytes->command_id = gpuval_radv_get_id(recording);
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

static bool
dispatch(struct radv_cmd_buffer *cmd_buffer, const struct util_dynarray *chunks,
         struct results **results)
{
   VkCommandBuffer handle = radv_cmd_buffer_to_handle(cmd_buffer);
   uint32_t count = util_dynarray_num_elements(chunks, struct chunk), offset;
   struct radv_meta_saved_state saved;
   struct constants constants;
   VkPipelineLayout layout;
   VkPipeline pipeline;
   void *map;

   *results = gpuval_radv_add_readback(
      cmd_buffer, sizeof(struct results) + count * sizeof(struct result), &constants.results);
   if (!*results ||
       get_pipeline(radv_cmd_buffer_device(cmd_buffer), &pipeline, &layout) != VK_SUCCESS ||
       !radv_cmd_buffer_upload_alloc_aligned(cmd_buffer, chunks->size, 64, &offset, &map))
      return false;
   memcpy(map, chunks->data, chunks->size);
   constants.chunks = radv_buffer_get_va(cmd_buffer->upload.upload_bo) + offset;

   gpuval_radv_begin_meta(&saved, cmd_buffer);
   radv_CmdBindPipeline(handle, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vk_common_CmdPushConstants(handle, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(constants),
                              &constants);
   radv_unaligned_dispatch(cmd_buffer, count * WORKGROUP_SIZE, 1, 1);
   gpuval_radv_end_meta(&saved, cmd_buffer);
   return true;
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
   if (dispatch(cmd_buffer, &bytes->chunks, &batch->results)) {
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
   *failure.conflict = (struct gpuval_sync_conflict){
      .what = look->access,
      .class_ = look->kind.class_,
      .read = look->kind.read,
      .op = look->kind.op,
      .command_id = look->part->command_id,
      .serial = look->part->serial,
      .begin = look->access.address,
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

   if (p_atomic_read(&batch->results->failed) != FAILED)
      return;
   util_dynarray_foreach (&batch->looks, struct look, look) {
      check_look(gpuval->device, look, results, found);
      memset(&results[look->first_chunk], 0, look->num_chunks * sizeof(*results));
   }
   batch->results->failed = 0;
}
