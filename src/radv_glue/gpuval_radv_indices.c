/* SPDX-License-Identifier: MIT */

/* vertex: indices of direct draws, which a shader of ours looks at: one dispatch for all draws of
 * a pass, behind the pass. It reads them where they are, compares them with the indices that all
 * attributes have, and writes nothing where all are inside. So there is no copy, nothing that the
 * command processor waits for, and one word that the host reads, from memory that it has cached.
 *
 * Nothing is remembered of an index buffer from one look to the next: what is in its memory may
 * change in ways that nobody sees (mapped memory, addresses, aliases), and looking again costs
 * the GPU less than the draw, which reads the same indices and shades their vertices. Draws of a
 * pass that use the same range share a look.
 *
 * What a pass reads does not change until it has ended, since nothing within it orders a write
 * before a read of indices. Behind it, whoever writes the indices waits for those that read them:
 * the program's next barrier waits for the shader, too.
 */

#include "gpuval_radv_inputs.h"
#include "gpuval_radv_meta.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/compat/gpuval_radv_driver.h"

#include "radv_cmd_buffer.h"
#include "radv_device.h"

#include "util/hash_table.h"
#include "util/u_atomic.h"
#include "util/u_dynarray.h"

/* Of the pipeline: none of RADV's */
#define KEY 0x67707577

/* Indices that a workgroup looks at */
#define CHUNK 4096

/* Of a dispatch: at most so many chunks, which the uploaded table has 32 bytes of each for. More
 * are another dispatch.
 */
#define MAX_CHUNKS 16384

/* What a workgroup is told */
struct chunk {
   uint64_t address;
   uint32_t count;
   uint32_t index_size;
   uint32_t first, last; /* indices that are good */
   uint32_t restart;     /* the index that is none, where @has_restart */
   uint32_t has_restart;
};
static_assert(sizeof(struct chunk) == 32, "the shader knows the offsets");

/* What it says if an index is bad; 0 else */
struct result {
   uint32_t count;
   uint32_t first; /* the first bad index */
   uint32_t reserved[2];
};

/* A draw and one number of vertices */
struct look {
   uint32_t command_id;
   uint64_t bound;
   const struct gpuval_vertex_input *input;
   struct gpuval_draw draw;
   uint64_t limit;
   uint32_t first_chunk;
   uint32_t num_chunks;
};

struct gpuval_radv_batch {
   struct util_dynarray looks; /* struct look */
   struct gpuval_radv_results *results;
};

/* What is recorded for the next dispatch, in a command buffer */
struct gpuval_radv_indices {
   struct gpuval_radv_batch *batch; /* NULL: nothing */
   struct util_dynarray chunks;     /* struct chunk */
   struct hash_table *known;        /* struct chunk of a whole draw -> its first chunk, plus 1 */
   const struct gpuval_vertex_input *input; /* of the last draw */
   const struct gpuval_radv_look *last;     /* gpuval_radv_last_indices() */
};

/* The shader */

/* Shared memory of a workgroup */
enum {
   SHARED_POSITION, /* of the first bad index */
   SHARED_COUNT,
   NUM_SHARED,
};

static nir_def *
load_as_word(nir_builder *b, nir_def *address, unsigned size)
{
   nir_def *value =
      nir_build_load_global(b, 1, size * 8, address, .align_mul = size, .access = ACCESS_COHERENT);
   return nir_u2u32(b, value);
}

/* Past the caches that the pass may have left something old in */
static nir_def *
load_index(nir_builder *b, nir_def *base, nir_def *size, nir_def *position)
{
   nir_def *address = nir_iadd(b, base, nir_u2u64(b, nir_imul(b, position, size)));
   nir_def *words[3];

   nir_push_if(b, nir_ieq_imm(b, size, 4));
   words[0] = load_as_word(b, address, 4);
   nir_push_else(b, NULL);
   {
      nir_push_if(b, nir_ieq_imm(b, size, 2));
      words[1] = load_as_word(b, address, 2);
      nir_push_else(b, NULL);
      words[2] = load_as_word(b, address, 1);
      nir_pop_if(b, NULL);
      words[1] = nir_if_phi(b, words[1], words[2]);
   }
   nir_pop_if(b, NULL);
   return nir_if_phi(b, words[0], words[1]);
}

static nir_def *
is_bad(nir_builder *b, nir_def *chunk, nir_def *index)
{
   nir_def *is_outside = nir_ior(b, nir_ult(b, index, nir_channel(b, chunk, 4)),
                                 nir_ult(b, nir_channel(b, chunk, 5), index));
   nir_def *is_none = nir_iand(b, nir_ine_imm(b, nir_channel(b, chunk, 7), 0),
                               nir_ieq(b, index, nir_channel(b, chunk, 6)));

   return nir_iand(b, is_outside, nir_inot(b, is_none));
}

static void
store_shared(nir_builder *b, unsigned word, uint32_t value)
{
   nir_store_shared(b, nir_imm_int(b, value), nir_imm_int(b, word * 4), .write_mask = 0x1,
                    .align_mul = 4);
}

static nir_def *
load_shared(nir_builder *b, unsigned word)
{
   return nir_load_shared(b, 1, 32, nir_imm_int(b, word * 4), .align_mul = 4);
}

/* Each lane looks at every 64th index. */
static void
build_loop(nir_builder *b, nir_def *chunk, nir_def *base, nir_def *lane, nir_variable *position,
           nir_variable *count)
{
   nir_variable *at = nir_local_variable_create(b->impl, glsl_uint_type(), "at");

   nir_store_var(b, position, nir_imm_int(b, UINT32_MAX), 0x1);
   nir_store_var(b, count, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, at, lane, 0x1);
   nir_push_loop(b);
   {
      nir_def *now = nir_load_var(b, at);
      nir_break_if(b, nir_uge(b, now, nir_channel(b, chunk, 2)));
      nir_def *bad = is_bad(b, chunk, load_index(b, base, nir_channel(b, chunk, 3), now));
      nir_def *first = nir_load_var(b, position);

      nir_store_var(b, position, nir_bcsel(b, bad, nir_umin(b, first, now), first), 0x1);
      nir_store_var(b, count, nir_iadd(b, nir_load_var(b, count), nir_b2i32(b, bad)), 0x1);
      nir_store_var(b, at, nir_iadd_imm(b, now, GPUVAL_RADV_LOOK_SIZE), 0x1);
   }
   nir_pop_loop(b, NULL);
}

static nir_shader *
build_shader(struct radv_device *device, const void *key)
{
   nir_builder builder = gpuval_radv_init_shader(device, "gpuval_indices");
   nir_builder *b = &builder;

   b->shader->info.workgroup_size[0] = GPUVAL_RADV_LOOK_SIZE;
   b->shader->info.shared_memory_explicit_layout = true;
   b->shader->info.shared_size = NUM_SHARED * 4;

   nir_def *group = nir_channel(b, nir_load_workgroup_id(b), 0);
   nir_def *lane = nir_load_local_invocation_index(b);
   nir_def *is_first = nir_ieq_imm(b, lane, 0);
   nir_def *at = nir_iadd(b, gpuval_radv_load_look_constant(b, GPUVAL_RADV_LOOK_CHUNKS),
                          nir_u2u64(b, nir_imul_imm(b, group, sizeof(struct chunk))));
   nir_def *chunk = nir_build_load_global(b, 8, 32, at, .align_mul = 16,
                                          .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER);
   nir_def *base = nir_pack_64_2x32(b, nir_channels(b, chunk, 0x3));
   nir_variable *position = nir_local_variable_create(b->impl, glsl_uint_type(), "position");
   nir_variable *count = nir_local_variable_create(b->impl, glsl_uint_type(), "count");

   nir_push_if(b, is_first);
   store_shared(b, SHARED_POSITION, UINT32_MAX);
   store_shared(b, SHARED_COUNT, 0);
   nir_pop_if(b, NULL);
   build_loop(b, chunk, base, lane, position, count);

   gpuval_radv_build_look_barrier(b);
   nir_def *bad = nir_load_var(b, count);
   nir_push_if(b, nir_ine_imm(b, bad, 0));
   nir_shared_atomic(b, 32, nir_imm_int(b, SHARED_POSITION * 4), nir_load_var(b, position),
                     .atomic_op = nir_atomic_op_umin);
   nir_shared_atomic(b, 32, nir_imm_int(b, SHARED_COUNT * 4), bad, .atomic_op = nir_atomic_op_iadd);
   nir_pop_if(b, NULL);
   gpuval_radv_build_look_barrier(b);

   nir_def *total = load_shared(b, SHARED_COUNT);
   nir_push_if(b, nir_iand(b, is_first, nir_ine_imm(b, total, 0)));
   {
      nir_def *results = gpuval_radv_load_look_constant(b, GPUVAL_RADV_LOOK_RESULTS);
      nir_def *result = nir_iadd_imm(
         b, nir_iadd(b, results, nir_u2u64(b, nir_imul_imm(b, group, sizeof(struct result)))),
         sizeof(struct gpuval_radv_results));
      nir_def *index =
         load_index(b, base, nir_channel(b, chunk, 3), load_shared(b, SHARED_POSITION));

      nir_build_store_global(b, nir_vec2(b, total, index), result, .align_mul = 8);
      nir_build_store_global(b, nir_imm_int(b, GPUVAL_RADV_FAILED), results, .align_mul = 4);
   }
   nir_pop_if(b, NULL);
   return b->shader;
}

/* Recording */

static uint32_t
hash_chunk(const void *key)
{
   return _mesa_hash_data(key, sizeof(struct chunk));
}

static bool
chunks_equal(const void *a, const void *b)
{
   return !memcmp(a, b, sizeof(struct chunk));
}

static struct gpuval_radv_indices *
get_indices(struct radv_cmd_buffer *cmd_buffer)
{
   void *mem_ctx;
   struct gpuval_radv_indices **indices = gpuval_radv_indices(cmd_buffer, &mem_ctx);

   if (!*indices) {
      *indices = rzalloc(mem_ctx, struct gpuval_radv_indices);
      (*indices)->known = _mesa_hash_table_create(*indices, hash_chunk, chunks_equal);
      util_dynarray_init(&(*indices)->chunks, *indices);
   }
   return *indices;
}

static struct gpuval_radv_batch *
get_batch(struct gpuval_radv_indices *indices)
{
   if (!indices->batch) {
      indices->batch = rzalloc(indices, struct gpuval_radv_batch);
      util_dynarray_init(&indices->batch->looks, indices->batch);
   }
   return indices->batch;
}

/* Appends the indices of @all, which a draw of the pass may have been looked at for already.
 * Returns the number of their first chunk.
 */
static uint32_t
add_chunks(struct gpuval_radv_indices *indices, const struct chunk *all)
{
   struct hash_entry *entry = _mesa_hash_table_search(indices->known, all);
   if (entry)
      return (uintptr_t)entry->data - 1;

   uint32_t first = util_dynarray_num_elements(&indices->chunks, struct chunk);
   for (uint64_t done = 0; done < all->count; done += CHUNK) {
      struct chunk chunk = *all;
      chunk.address += done * all->index_size;
      chunk.count = MIN2(all->count - done, CHUNK);
      util_dynarray_append_typed(&indices->chunks, struct chunk, chunk);
   }
   void *key = ralloc_memdup(get_batch(indices), all, sizeof(*all));
   _mesa_hash_table_insert(indices->known, key, (void *)(uintptr_t)(first + 1));
   return first;
}

/* Draws that follow one another mostly have the same input. */
static const struct gpuval_vertex_input *
keep_input(struct gpuval_radv_indices *indices, const struct gpuval_vertex_input *input)
{
   if (!indices->input || memcmp(indices->input, input, sizeof(*input)))
      indices->input = ralloc_memdup(indices, input, sizeof(*input));
   return indices->input;
}

void
gpuval_radv_look_at_indices(struct gpuval_radv_recording *recording,
                            const struct gpuval_vertex_input *input, const struct gpuval_draw *draw,
                            uint32_t count)
{
   struct gpuval_radv_indices *indices = get_indices(recording->cmd_buffer);
   const struct gpuval_index_buffer *buffer = &input->indices;
   uint64_t limits[GPUVAL_MAX_ATTRIBUTES];
   unsigned num_limits = gpuval_draw_limits(input, draw, limits);
   struct chunk all = {
      .address = buffer->range.address + (uint64_t)draw->first * buffer->index_size,
      .count = count,
      .index_size = buffer->index_size,
      .restart = buffer->restart ? BITFIELD_MASK(buffer->index_size * 8) : 0,
      .has_restart = buffer->restart,
   };

   if (util_dynarray_num_elements(&indices->chunks, struct chunk) > MAX_CHUNKS)
      gpuval_radv_flush_indices(recording->cmd_buffer);
   for (unsigned i = 0; i < num_limits; i++) {
      gpuval_draw_good_indices(draw, limits[i], &all.first, &all.last);
      const struct look look = {
         .command_id = gpuval_radv_get_id(recording),
         .bound = gpuval_radv_what_is_bound(recording->cmd_buffer, recording->bind_point),
         .input = keep_input(indices, input),
         .draw = *draw,
         .limit = limits[i],
         .first_chunk = add_chunks(indices, &all),
         .num_chunks = DIV_ROUND_UP(count, CHUNK),
      };
      util_dynarray_append_typed(&get_batch(indices)->looks, struct look, look);
   }
}

const struct gpuval_radv_look **
gpuval_radv_last_indices(struct radv_cmd_buffer *cmd_buffer)
{
   return &get_indices(cmd_buffer)->last;
}

static void
warn_of_memory(void)
{
   static uint32_t warned;

   if (!p_atomic_xchg(&warned, 1))
      gpuval_log_warning("vertex: out of memory: indices of some draws are not looked at");
}

void
gpuval_radv_flush_indices(struct radv_cmd_buffer *cmd_buffer)
{
   void *mem_ctx;
   struct gpuval_radv_indices *indices = *gpuval_radv_indices(cmd_buffer, &mem_ctx);
   struct gpuval_radv_batch *batch = indices ? indices->batch : NULL;

   if (indices)
      indices->last = NULL;
   if (!batch)
      return;
   indices->batch = NULL;
   batch->results = gpuval_radv_dispatch_look(cmd_buffer, KEY, build_shader, &indices->chunks,
                                              sizeof(struct chunk), sizeof(struct result));
   if (batch->results) {
      struct gpuval_radv_look *look = rzalloc(mem_ctx, struct gpuval_radv_look);
      look->batch = batch;
      util_dynarray_append_typed(gpuval_radv_looks(cmd_buffer), struct gpuval_radv_look *, look);
      gpuval_radv_looks_run(cmd_buffer);
   } else {
      warn_of_memory();
   }
   _mesa_hash_table_clear(indices->known, NULL);
   util_dynarray_clear(&indices->chunks);
}

/* The host's part */

static void
check_look(const struct look *look, const struct result *results, struct util_dynarray *found)
{
   struct gpuval_command_failure failures[GPUVAL_DRAW_MAX_FAILURES];
   struct gpuval_outside outside = {.limit = look->limit};

   for (uint32_t i = 0; i < look->num_chunks; i++) {
      const struct result *result = &results[look->first_chunk + i];
      if (result->count && !outside.count)
         outside.first = result->first;
      outside.count += MIN2(result->count, CHUNK);
   }

   unsigned count = gpuval_check_outside(look->input, &look->draw, &outside, failures);
   gpuval_radv_add_failures(found, look->command_id, look->bound, failures, count);
}

void
gpuval_radv_check_batch(const struct gpuval_radv_batch *batch, struct util_dynarray *found)
{
   struct result *results = (struct result *)(batch->results + 1);

   if (p_atomic_read(&batch->results->failed) != GPUVAL_RADV_FAILED)
      return;
   util_dynarray_foreach (&batch->looks, struct look, look)
      check_look(look, results, found);

   /* Looks may share chunks. */
   util_dynarray_foreach (&batch->looks, struct look, look)
      memset(&results[look->first_chunk], 0, look->num_chunks * sizeof(*results));
   batch->results->failed = 0;
}
