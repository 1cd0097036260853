/* SPDX-License-Identifier: MIT */

/* The exact engine: where cells are. base/gpuval_shadow.h says how they lie. */

#include "gpuval_nir_shadow.h"

struct gpuval_shadow_half
gpuval_shadow_load_half(nir_builder *b, nir_def *cell, unsigned offset)
{
   nir_def *half = nir_build_load_global(b, 2, 32, nir_iadd_imm(b, cell, offset), .align_mul = 8,
                                         .access = ACCESS_COHERENT);

   return (struct gpuval_shadow_half){nir_channel(b, half, 0), nir_channel(b, half, 1)};
}

void
gpuval_shadow_load_cell(nir_builder *b, nir_def *cell, struct gpuval_shadow_half *writer,
                        struct gpuval_shadow_half *readers)
{
   nir_def *words = nir_build_load_global(b, 4, 32, cell, .align_mul = GPUVAL_SHADOW_CELL_SIZE,
                                          .access = ACCESS_COHERENT);

   *writer = (struct gpuval_shadow_half){nir_channel(b, words, 0), nir_channel(b, words, 1)};
   *readers = (struct gpuval_shadow_half){nir_channel(b, words, 2), nir_channel(b, words, 3)};
}

void
gpuval_shadow_store_half(nir_builder *b, nir_def *cell, unsigned offset,
                         struct gpuval_shadow_half half)
{
   nir_build_store_global(b, nir_vec2(b, half.lo, half.hi), nir_iadd_imm(b, cell, offset),
                          .align_mul = 8, .access = ACCESS_COHERENT);
}

/* @address in the window: itself, or by a range outside that has its cells there; 0 if
 * it has none.
 */
static nir_def *
find_in_window(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *layout,
               nir_def *address)
{
   nir_variable *found_var = nir_local_variable_create(b->impl, glsl_uint64_t_type(), "found");
   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "range");
   nir_def *distance = nir_isub(
      b, address,
      driver->command_data(driver, b, 64, offsetof(struct gpuval_command_data, shadow_window)));
   nir_def *is_inside = nir_ieq_imm(b, nir_ushr_imm(b, distance, GPUVAL_SHADOW_WINDOW_LOG2), 0);

   nir_store_var(b, found_var, nir_bcsel(b, is_inside, address, nir_imm_int64(b, 0)), 0x1);
   nir_push_if(b, nir_inot(b, is_inside));
   {
      nir_def *count = gpuval_load_global(
         b, nir_iadd_imm(b, layout, offsetof(struct gpuval_shadow_layout, num_ranges)), 4, 1, 32);
      nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
      nir_loop *loop = nir_push_loop(b);
      {
         nir_def *i = nir_load_var(b, i_var);
         nir_break_if(b,
                      nir_uge(b, i, nir_umin(b, count, nir_imm_int(b, GPUVAL_SHADOW_MAX_RANGES))));
         nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);

         nir_def *range = nir_iadd_imm(
            b,
            nir_iadd(b, layout,
                     nir_u2u64(b, nir_imul_imm(b, i, sizeof(struct gpuval_shadow_range)))),
            offsetof(struct gpuval_shadow_layout, ranges));
         nir_def *begin_size = gpuval_load_global(b, range, 8, 2, 64);
         nir_def *offset = nir_isub(b, address, nir_channel(b, begin_size, 0));
         nir_push_if(b, nir_ult(b, offset, nir_channel(b, begin_size, 1)));
         nir_def *alias = gpuval_load_global(
            b, nir_iadd_imm(b, range, offsetof(struct gpuval_shadow_range, alias)), 8, 1, 64);
         nir_store_var(b, found_var, nir_iadd(b, alias, offset), 0x1);
         nir_pop_if(b, NULL);
      }
      nir_pop_loop(b, loop);
   }
   nir_pop_if(b, NULL);
   return nir_load_var(b, found_var);
}

nir_def *
gpuval_shadow_find_area(nir_builder *b, nir_def *table, nir_def *address)
{
   const unsigned stride = sizeof(struct gpuval_shadow_area);
   nir_def *areas = nir_iadd_imm(b, table, offsetof(struct gpuval_shadow_table, areas));
   nir_def *count = gpuval_nir_count_ranges(b, table, areas, stride, address, true);

   /* Before the first area there is an empty one. */
   return gpuval_nir_element_address(b, table, count, stride);
}

static nir_def *
is_in_area(nir_builder *b, nir_def *area, nir_def *address, nir_def *size)
{
   nir_def *begin_size = gpuval_load_fixed(b, area, 8, 2, 64);
   nir_def *distance = nir_isub(b, address, nir_channel(b, begin_size, 0));
   nir_def *bound = nir_channel(b, begin_size, 1);

   return nir_iand(b, nir_ult(b, distance, bound),
                   nir_uge(b, nir_isub(b, bound, distance), nir_u2u64(b, size)));
}

/* Most accesses are where the last one has been. An access that is in no area, or not all of it,
 * has no cells.
 */
static struct gpuval_shadow_cells
find_in_table(nir_builder *b, nir_def *table, const struct gpuval_nir_access_params *params)
{
   nir_def *address = params->address, *size = params->size, *area, *is_inside;

   if (params->last_area) {
      nir_def *last = nir_load_var(b, params->last_area);
      /* The first area is an empty one. */
      last = nir_bcsel(b, nir_ieq_imm(b, last, 0), table, last);
      nir_def *is_there = is_in_area(b, last, address, size);

      nir_push_if(b, nir_inot(b, is_there));
      nir_def *found = gpuval_shadow_find_area(b, table, address);
      nir_def *is_found = is_in_area(b, found, address, size);
      nir_store_var(b, params->last_area, found, 0x1);
      nir_pop_if(b, NULL);
      area = nir_if_phi(b, found, last);
      is_inside = nir_if_phi(b, is_found, is_there);
   } else {
      area = gpuval_shadow_find_area(b, table, address);
      is_inside = is_in_area(b, area, address, size);
   }

   nir_def *cells = gpuval_load_fixed(
      b, nir_iadd_imm(b, area, offsetof(struct gpuval_shadow_area, words)), 8, 2, 64);
   return (struct gpuval_shadow_cells){
      .address = nir_bcsel(b, is_inside, address, nir_imm_int64(b, 0)),
      .words = nir_channel(b, cells, 0),
      .blocks = nir_channel(b, cells, 1),
   };
}

struct gpuval_shadow_cells
gpuval_shadow_find_cells(nir_builder *b, const struct gpuval_nir_driver *driver,
                         const struct gpuval_nir_shadow_command *command,
                         const struct gpuval_nir_access_params *params)
{
   if (driver->has_table)
      return find_in_table(b, command->words, params);
   return (struct gpuval_shadow_cells){
      .address = find_in_window(b, driver, command->layout, params->address),
      .words = command->words,
   };
}

static nir_def *
load_table(nir_builder *b, const struct gpuval_nir_driver *driver)
{
   return driver->command_data(driver, b, 64, offsetof(struct gpuval_command_data, shadow_words));
}

nir_def *
gpuval_nir_may_have_no_cells(nir_builder *b, const struct gpuval_nir_driver *driver)
{
   nir_def *has_others = gpuval_load_fixed(
      b, nir_iadd_imm(b, load_table(b, driver), offsetof(struct gpuval_shadow_table, has_others)),
      4, 1, 32);

   return nir_ine_imm(b, has_others, 0);
}

nir_def *
gpuval_nir_has_no_cells(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *address,
                        nir_def *size)
{
   nir_def *area = gpuval_shadow_find_area(b, load_table(b, driver), address);

   return nir_inot(b, is_in_area(b, area, address, size));
}

/* What the bytes of a word begin with */
static void
copy_to_bytes(nir_builder *b, nir_def *cell, nir_def *bytes, struct gpuval_shadow_half writer)
{
   struct gpuval_shadow_half readers = gpuval_shadow_load_half(b, cell, GPUVAL_SHADOW_READERS);

   for (unsigned i = 0; i < GPUVAL_SHADOW_WORD; i++) {
      nir_def *byte = nir_iadd_imm(b, bytes, i * GPUVAL_SHADOW_CELL_SIZE);
      gpuval_shadow_store_half(b, byte, 0, writer);
      gpuval_shadow_store_half(b, byte, GPUVAL_SHADOW_READERS, readers);
   }
}

/* One of those that want it at once takes cells for the word. Those that run in lockstep find
 * them afterwards; others may come too early, and find none.
 */
static void
take_bytes(nir_builder *b, nir_def *layout, nir_def *cell, struct gpuval_shadow_half writer)
{
   nir_def *before = nir_pack_64_2x32_split(b, writer.lo, writer.hi);
   nir_def *none = nir_imm_int64(b, (uint64_t)GPUVAL_SHADOW_BYTES << 32);
   nir_def *there =
      nir_global_atomic_swap(b, 64, cell, before, none, .atomic_op = nir_atomic_op_cmpxchg);

   nir_push_if(b, nir_ieq(b, there, before));
   {
      nir_def *number = nir_global_atomic(
         b, 32, nir_iadd_imm(b, layout, offsetof(struct gpuval_shadow_layout, num_splits)),
         nir_imm_int(b, 1), .atomic_op = nir_atomic_op_iadd);
      nir_def *max = gpuval_shadow_load_layout(b, layout, 32,
                                               offsetof(struct gpuval_shadow_layout, max_splits));
      nir_push_if(b, nir_ult(b, number, max));
      {
         nir_def *pool =
            gpuval_shadow_load_layout(b, layout, 64, offsetof(struct gpuval_shadow_layout, bytes));
         nir_def *bytes = gpuval_nir_element_address(b, pool, number, GPUVAL_SHADOW_SPLIT_SIZE);
         copy_to_bytes(b, cell, bytes, writer);
         gpuval_shadow_store_half(b, cell, 0,
                                  (struct gpuval_shadow_half){
                                     nir_iadd_imm(b, number, 1),
                                     nir_imm_int(b, GPUVAL_SHADOW_BYTES),
                                  });
      }
      nir_pop_if(b, NULL);
   }
   nir_pop_if(b, NULL);
}

static nir_def *
find_in_pool(nir_builder *b, nir_def *layout, nir_def *cell, nir_def *is_whole, nir_def **has_bytes)
{
   struct gpuval_shadow_half writer = gpuval_shadow_load_half(b, cell, 0);
   nir_def *is_split = nir_ieq_imm(b, writer.hi, GPUVAL_SHADOW_BYTES);

   nir_push_if(b, nir_inot(b, nir_ior(b, is_split, is_whole)));
   take_bytes(b, layout, cell, writer);
   nir_pop_if(b, NULL);

   writer = gpuval_shadow_load_half(b, cell, 0);
   is_split = nir_ieq_imm(b, writer.hi, GPUVAL_SHADOW_BYTES);
   nir_def *pool =
      gpuval_shadow_load_layout(b, layout, 64, offsetof(struct gpuval_shadow_layout, bytes));
   nir_def *bytes =
      gpuval_nir_element_address(b, pool, nir_iadd_imm(b, writer.lo, -1), GPUVAL_SHADOW_SPLIT_SIZE);
   nir_def *is_there = nir_iand(b, is_split, nir_ine_imm(b, writer.lo, 0));
   *has_bytes = nir_ior(b, is_split, nir_inot(b, is_whole));
   return nir_bcsel(b, is_there, bytes, nir_imm_int64(b, 0));
}

nir_def *
gpuval_shadow_find_bytes(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *layout,
                         nir_def *cell, nir_def *word, nir_def *is_whole, nir_def **has_bytes)
{
   if (driver->has_table)
      return find_in_pool(b, layout, cell, is_whole, has_bytes);

   struct gpuval_shadow_half writer = gpuval_shadow_load_half(b, cell, 0);
   nir_def *is_split = nir_ieq_imm(b, writer.hi, GPUVAL_SHADOW_BYTES);
   nir_def *bytes = nir_iadd(
      b, gpuval_shadow_load_layout(b, layout, 64, offsetof(struct gpuval_shadow_layout, bytes)),
      nir_imul_imm(b, word, GPUVAL_SHADOW_BYTES_SCALE));

   nir_push_if(b, nir_inot(b, nir_ior(b, is_split, is_whole)));
   copy_to_bytes(b, cell, bytes, writer);
   gpuval_shadow_store_half(
      b, cell, 0,
      (struct gpuval_shadow_half){nir_imm_int(b, 0), nir_imm_int(b, GPUVAL_SHADOW_BYTES)});
   nir_pop_if(b, NULL);

   *has_bytes = nir_ior(b, is_split, nir_inot(b, is_whole));
   return bytes;
}
