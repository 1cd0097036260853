/* SPDX-License-Identifier: MIT */

/* The shader that looks at bytes of buffers: what shaders do at their accesses
 * (gpuval_nir_build_command_access()), for all pieces of a chunk. Each lane looks at every 64th of
 * them; the lane that has found a hazard at the lowest address writes it.
 */

#include "gpuval_radv_bytes.h"
#include "gpuval_radv_meta.h"
#include "gpuval_radv_nir.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "gpuval/src/nir_passes/gpuval_nir_sync.h"
#include "nir/nir_builder.h"

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
find_vertex(nir_builder *b, nir_def *chunk, nir_def *index_size, nir_def *vertex_offset,
            nir_def *number)
{
   nir_def *indices = load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, indices));
   nir_def *restarts = load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, restart));
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
   nir_def *vertex = nir_iadd(b, index, vertex_offset);

   is_none = nir_ior(b, is_none, nir_uge(b, vertex, nir_channel(b, indices, 3)));
   return nir_bcsel(b, is_none, nir_imm_int(b, UINT32_MAX), vertex);
}

static nir_def *
load_address(nir_builder *b, nir_def *from)
{
   return nir_build_load_global(b, 1, 64, from, .align_mul = 8, .access = ACCESS_COHERENT);
}

/* What the instance at @number refers to; 0: nothing */
static nir_def *
find_reference(nir_builder *b, nir_def *chunk, nir_def *index_size, nir_def *number)
{
   const unsigned offset =
      offsetof(VkAccelerationStructureInstanceKHR, accelerationStructureReference);
   nir_def *words = load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, indices));
   nir_def *address = nir_iadd(b, nir_pack_64_2x32(b, nir_channels(b, words, 0x3)),
                               nir_umul_2x32_64(b, number, index_size));

   nir_push_if(b, nir_ieq_imm(b, index_size, GPUVAL_RADV_POINTER_SIZE));
   nir_def *pointed = nir_iadd_imm(b, load_address(b, address), offset);
   nir_pop_if(b, NULL);
   address = nir_if_phi(b, pointed, address);

   nir_def *zero = nir_imm_int64(b, 0);
   nir_push_if(b, nir_ine_imm(b, address, offset));
   nir_def *reference = load_address(b, address);
   nir_pop_if(b, NULL);
   return nir_if_phi(b, reference, zero);
}

/* Of @num_rows, those that the word says that there are */
static nir_def *
count_rows(nir_builder *b, nir_def *chunk, nir_def *num_rows)
{
   nir_def *restarts = load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, restart));
   nir_def *counts = load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, first_row));
   nir_def *address = nir_pack_64_2x32(b, nir_channels(b, restarts, 0xc));

   nir_push_if(b, nir_ine_imm(b, address, 0));
   nir_def *count = nir_usub_sat(b, load_word(b, address, 4), nir_channel(b, counts, 0));
   nir_def *fewer = nir_umin(b, num_rows, count);
   nir_pop_if(b, NULL);
   return nir_if_phi(b, fewer, num_rows);
}

/* Does the predicate of conditional rendering, if there is one, let the command be executed? */
static nir_def *
is_executed(nir_builder *b, nir_def *chunk)
{
   nir_def *words = load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, divisor));
   nir_def *address = nir_pack_64_2x32(b, nir_channels(b, words, 0xc));
   nir_def *always = nir_imm_true(b);

   nir_push_if(b, nir_ine_imm(b, address, 0));
   nir_def *is_set = nir_ine_imm(b, load_word(b, address, 4), 0);
   nir_def *executed = nir_ixor(b, is_set, nir_ine_imm(b, nir_channel(b, words, 1), 0));
   nir_pop_if(b, NULL);
   return nir_if_phi(b, executed, always);
}

/* Which rows there are, and what is added to their indices */
struct rows {
   nir_def *address; /* of the first, 64 bit */
   nir_def *first, *count;
   nir_def *size, *stride, *num_pieces;
   nir_def *vertex_offset;
};

static nir_def *
load_argument(nir_builder *b, nir_def *draw, nir_def *offset)
{
   return load_word(b, nir_iadd(b, draw, nir_u2u64(b, offset)), 4);
}

/* Of an indirect draw that is executed, unless it draws nothing */
static void
find_drawn(nir_builder *b, nir_def *chunk, nir_def *draw, struct rows *rows)
{
   nir_def *places = load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, first_row));
   nir_def *offsets = load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, count_offset));
   nir_def *divisor =
      nir_channel(b, load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, divisor)), 0);
   nir_def *is_per_instance = nir_ine_imm(b, nir_channel(b, offsets, 3), 0);
   nir_def *zero = nir_imm_int(b, 0);
   nir_def *num_vertices = load_argument(b, draw, zero);
   nir_def *num_instances = load_argument(b, draw, nir_imm_int(b, 4));
   nir_def *is_empty =
      nir_ior(b, nir_ieq_imm(b, num_vertices, 0), nir_ieq_imm(b, num_instances, 0));

   nir_def *count = load_argument(b, draw, nir_channel(b, offsets, 0));
   nir_def *steps =
      nir_udiv(b, nir_iadd_imm(b, count, -1), nir_umax(b, divisor, nir_imm_int(b, 1)));
   steps = nir_bcsel(b, nir_ieq_imm(b, divisor, 0), zero, steps);
   count = nir_bcsel(b, is_per_instance, nir_iadd_imm(b, steps, 1), count);

   rows->first = load_argument(b, draw, nir_channel(b, offsets, 1));
   count = nir_umin(b, count, nir_usub_sat(b, nir_channel(b, places, 1), rows->first));
   rows->count = nir_bcsel(b, nir_ior(b, is_empty, nir_ieq_imm(b, rows->count, 0)), zero, count);
   nir_def *offset_offset = nir_channel(b, offsets, 2);
   rows->vertex_offset =
      nir_bcsel(b, nir_ieq_imm(b, offset_offset, 0), zero, load_argument(b, draw, offset_offset));
}

/* Rows without gaps are one. */
static void
join_rows(nir_builder *b, struct rows *rows)
{
   nir_def *is_one = nir_ieq(b, rows->size, rows->stride);
   nir_def *size = nir_imul(b, rows->count, rows->size);
   nir_def *begin = nir_iadd(b, rows->address, nir_umul_2x32_64(b, rows->first, rows->stride));

   rows->address = nir_bcsel(b, is_one, begin, rows->address);
   rows->first = nir_bcsel(b, is_one, nir_imm_int(b, 0), rows->first);
   rows->count = nir_bcsel(b, is_one, nir_umin(b, rows->count, nir_imm_int(b, 1)), rows->count);
   rows->num_pieces =
      nir_bcsel(b, is_one, nir_iadd_imm(b, nir_ushr_imm(b, size, 4), 2), rows->num_pieces);
   rows->size = nir_bcsel(b, is_one, size, rows->size);
}

static struct rows
find_rows(nir_builder *b, nir_def *chunk, nir_def *address, nir_def *index_size)
{
   nir_def *words = load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, row_size));
   nir_def *indices = load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, indices));
   nir_def *places = load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, first_row));
   nir_def *draw = nir_pack_64_2x32(b, nir_channels(b, places, 0xc));
   const struct rows direct = {
      .address = address,
      .first = nir_imm_int(b, 0),
      .count = count_rows(b, chunk, nir_channel(b, words, 2)),
      .size = nir_channel(b, words, 0),
      .stride = nir_channel(b, words, 1),
      .num_pieces = nir_channel(b, words, 3),
      .vertex_offset = nir_channel(b, indices, 2),
   };
   struct rows drawn = direct;

   nir_push_if(b, nir_ine_imm(b, draw, 0));
   {
      find_drawn(b, chunk, draw, &drawn);
      nir_push_if(b, nir_ieq_imm(b, index_size, 0));
      struct rows joined = drawn;
      join_rows(b, &joined);
      nir_pop_if(b, NULL);
      drawn.address = nir_if_phi(b, joined.address, drawn.address);
      drawn.first = nir_if_phi(b, joined.first, drawn.first);
      drawn.count = nir_if_phi(b, joined.count, drawn.count);
      drawn.size = nir_if_phi(b, joined.size, drawn.size);
      drawn.num_pieces = nir_if_phi(b, joined.num_pieces, drawn.num_pieces);
   }
   nir_pop_if(b, NULL);
   return (struct rows){
      .address = nir_if_phi(b, drawn.address, direct.address),
      .first = nir_if_phi(b, drawn.first, direct.first),
      .count = nir_if_phi(b, drawn.count, direct.count),
      .size = nir_if_phi(b, drawn.size, direct.size),
      .stride = direct.stride,
      .num_pieces = nir_if_phi(b, drawn.num_pieces, direct.num_pieces),
      .vertex_offset = nir_if_phi(b, drawn.vertex_offset, direct.vertex_offset),
   };
}

/* Each lane looks at every 64th piece. */
static void
build_loop(nir_builder *b, nir_def *chunk, nir_def *lane, const struct found *found)
{
   nir_def *places = load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, address));
   nir_def *kind = load_words(b, chunk, offsetof(struct gpuval_radv_bytes_chunk, token));
   nir_def *address = nir_pack_64_2x32(b, nir_channels(b, places, 0x3));
   nir_def *index_size = nir_channel(b, kind, 3);
   const struct gpuval_nir_driver driver = {
      .root_address = root_address,
      .command_data = command_data,
      .has_table = true,
      .data = nir_pack_64_2x32(b, nir_channels(b, places, 0xc)),
   };
   struct gpuval_nir_shadow_command command = gpuval_nir_load_shadow_command(b, &driver);
   nir_def *flags = command_data(&driver, b, 32, offsetof(struct gpuval_command_data, sync_flags));
   nir_def *is_off = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_RADV_SYNC_OFF), 0);
   const struct rows rows = find_rows(b, chunk, address, index_size);
   nir_def *count = nir_imul(b, rows.num_pieces, rows.count);
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
   is_off = nir_ior(b, is_off, nir_inot(b, is_executed(b, chunk)));
   count = nir_bcsel(b, is_off, nir_imm_int(b, 0), count);
   nir_store_var(b, area, nir_imm_int64(b, 0), 0x1);
   nir_store_var(b, at, lane, 0x1);
   nir_push_loop(b);
   {
      nir_def *now = nir_load_var(b, at);
      nir_break_if(b, nir_uge(b, now, count));
      nir_store_var(b, at, nir_iadd_imm(b, now, GPUVAL_RADV_LOOK_SIZE), 0x1);

      nir_def *number = nir_udiv(b, now, rows.num_pieces);
      nir_def *piece = nir_isub(b, now, nir_imul(b, number, rows.num_pieces));
      nir_def *from = nir_iadd(b, rows.first, number);
      nir_def *has_references = nir_uge_imm(b, index_size, GPUVAL_RADV_POINTER_SIZE);
      nir_push_if(b, nir_iand(b, nir_ine_imm(b, index_size, 0), nir_inot(b, has_references)));
      nir_def *vertex = find_vertex(b, chunk, index_size, rows.vertex_offset, from);
      nir_pop_if(b, NULL);
      nir_def *row = nir_if_phi(b, vertex, from);
      nir_def *size = nir_bcsel(b, nir_ieq_imm(b, row, UINT32_MAX), nir_imm_int(b, 0), rows.size);
      nir_def *begin = nir_iadd(b, rows.address, nir_umul_2x32_64(b, row, rows.stride));

      nir_push_if(b, has_references);
      nir_def *reference = find_reference(b, chunk, index_size, from);
      nir_def *referred_size = nir_bcsel(b, nir_ieq_imm(b, reference, 0), nir_imm_int(b, 0), size);
      nir_pop_if(b, NULL);
      begin = nir_if_phi(b, reference, begin);
      size = nir_if_phi(b, referred_size, size);
      look_at_piece(b, &driver, &params, address, begin, size, piece, found);
   }
   nir_pop_loop(b, NULL);
}

nir_shader *
gpuval_radv_build_bytes(struct radv_device *device, const void *key)
{
   nir_builder builder = gpuval_radv_init_shader(device, "gpuval_bytes");
   nir_builder *b = &builder;

   b->shader->info.workgroup_size[0] = GPUVAL_RADV_LOOK_SIZE;
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
   nir_def *chunk =
      nir_iadd(b, gpuval_radv_load_look_constant(b, GPUVAL_RADV_LOOK_CHUNKS),
               nir_u2u64(b, nir_imul_imm(b, group, sizeof(struct gpuval_radv_bytes_chunk))));
   nir_def *shared = nir_imm_int(b, 0);

   nir_push_if(b, nir_ieq_imm(b, lane, 0));
   nir_store_shared(b, nir_imm_int(b, UINT32_MAX), shared, .write_mask = 0x1, .align_mul = 4);
   nir_pop_if(b, NULL);
   nir_store_var(b, found.position, nir_imm_int(b, UINT32_MAX), 0x1);
   nir_store_var(b, found.address, nir_imm_int64(b, 0), 0x1);
   nir_store_var(b, found.other[0], nir_imm_int(b, 0), 0x1);
   nir_store_var(b, found.other[1], nir_imm_int(b, 0), 0x1);
   build_loop(b, chunk, lane, &found);

   gpuval_radv_build_look_barrier(b);
   nir_def *position = nir_load_var(b, found.position);
   nir_def *has_any = nir_ine_imm(b, position, UINT32_MAX);
   nir_push_if(b, has_any);
   nir_shared_atomic(b, 32, shared, position, .atomic_op = nir_atomic_op_umin);
   nir_pop_if(b, NULL);
   gpuval_radv_build_look_barrier(b);

   nir_def *first = nir_load_shared(b, 1, 32, shared, .align_mul = 4);
   nir_push_if(b, nir_iand(b, has_any, nir_ieq(b, first, position)));
   {
      nir_def *results = gpuval_radv_load_look_constant(b, GPUVAL_RADV_LOOK_RESULTS);
      nir_def *result = nir_iadd_imm(
         b,
         nir_iadd(b, results,
                  nir_u2u64(b, nir_imul_imm(b, group, sizeof(struct gpuval_radv_bytes_result)))),
         sizeof(struct gpuval_radv_results));
      nir_def *address = nir_load_var(b, found.address);

      nir_build_store_global(
         b,
         nir_vec4(b, nir_unpack_64_2x32_split_x(b, address), nir_unpack_64_2x32_split_y(b, address),
                  nir_load_var(b, found.other[0]), nir_load_var(b, found.other[1])),
         result, .align_mul = 16);
      nir_build_store_global(b, nir_imm_int(b, GPUVAL_RADV_FAILED), results, .align_mul = 4);
   }
   nir_pop_if(b, NULL);
   return b->shader;
}
