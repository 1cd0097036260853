/* SPDX-License-Identifier: MIT */

/* What `shared` makes of a shader: where its cells are, and what is said of each access. What
 * the cells then tell is in test_cells.cpp.
 */

#include "nir_passes_test.h"

#include "base/gpuval_bloom.h"
#include "base/gpuval_shadow.h"

namespace {

const unsigned shared_size = 100;
const unsigned order_begin = 112;
const unsigned cells_begin = order_begin + GPUVAL_SHARED_ORDER_SIZE;

uint32_t
max_shared_size(const struct gpuval_nir_driver *driver, mesa_shader_stage stage)
{
   return 1024;
}

class nir_shared_test : public nir_passes_test {
 protected:
   nir_shared_test()
   {
      driver.max_shared_size = max_shared_size;
      options.driver = &driver;
      options.checks = BITFIELD_BIT(GPUVAL_CHECK_SHARED);
      b->shader->info.shared_size = shared_size;
      b->shader->info.workgroup_size[0] = 64;
      b->shader->info.workgroup_size[1] = b->shader->info.workgroup_size[2] = 1;
   }

   nir_def *load(unsigned offset = 4, unsigned bit_size = 32)
   {
      return nir_load_shared(b, 1, bit_size, nir_imm_int(b, offset), .align_mul = bit_size / 8);
   }

   void store(unsigned offset = 4, unsigned components = 1, unsigned mask = 0x1)
   {
      nir_def *value = nir_imm_ivec4(b, 1, 2, 3, 4);
      nir_store_shared(b, nir_trim_vector(b, value, components), nir_imm_int(b, offset),
                       .write_mask = mask, .align_mul = 4);
   }

   void store_byte(unsigned offset)
   {
      nir_store_shared(b, nir_imm_intN_t(b, 1, 8), nir_imm_int(b, offset), .write_mask = 0x1,
                       .align_mul = 1);
   }

   void atomic(unsigned offset = 8)
   {
      nir_shared_atomic(b, 32, nir_imm_int(b, offset), nir_imm_int(b, 1),
                        .atomic_op = nir_atomic_op_iadd);
   }

   void barrier(mesa_scope execution, nir_variable_mode modes = nir_var_mem_shared)
   {
      nir_barrier(b, .execution_scope = execution, .memory_scope = SCOPE_WORKGROUP,
                  .memory_semantics = NIR_MEMORY_ACQ_REL, .memory_modes = modes);
   }

   /* What is said in the end; of a shader without control flow, all of it is constant. */
   std::vector<nir_intrinsic_instr *> said()
   {
      run();
      fold();
      NIR_PASS(_, b->shader, nir_opt_dce);
      return find(nir_intrinsic_sync_gpuval);
   }

   static unsigned number(const nir_intrinsic_instr *sync, unsigned src, unsigned component = 0)
   {
      nir_scalar scalar = nir_scalar_resolved(sync->src[src].ssa, component);
      EXPECT_TRUE(nir_scalar_is_const(scalar)) << "source " << src;
      return nir_scalar_is_const(scalar) ? nir_scalar_as_uint(scalar) : ~0u;
   }

   static unsigned address(const nir_intrinsic_instr *sync)
   {
      return number(sync, 1);
   }

   /* Of a store, it has a bit beside it that says whether it stores what is there. */
   static unsigned size(const nir_intrinsic_instr *sync)
   {
      nir_scalar scalar = nir_scalar_resolved(sync->src[2].ssa, 0);
      for (unsigned i = 0; i < 2 && nir_scalar_is_alu(scalar); i++) {
         EXPECT_EQ(nir_scalar_alu_op(scalar), nir_op_ior);
         nir_scalar src = nir_scalar_chase_alu_src(scalar, i);
         if (nir_scalar_is_const(src))
            scalar = src;
      }
      EXPECT_TRUE(nir_scalar_is_const(scalar));
      return nir_scalar_is_const(scalar) ? nir_scalar_as_uint(scalar) : ~0u;
   }

   static unsigned token(const nir_intrinsic_instr *sync)
   {
      return number(sync, 5, 1);
   }

   static unsigned phase(const nir_intrinsic_instr *sync)
   {
      return number(sync, 5, 2);
   }

   static unsigned flags(const nir_intrinsic_instr *sync)
   {
      return nir_intrinsic_flags(sync);
   }

   struct gpuval_nir_driver driver = test_driver;
};

TEST_F(nir_shared_test, who_only_loads_meets_nobody)
{
   load();
   load(8);
   EXPECT_TRUE(said().empty());
   EXPECT_EQ(b->shader->info.shared_size, shared_size);
   EXPECT_TRUE(find(nir_intrinsic_barrier).empty());
}

TEST_F(nir_shared_test, off_is_off)
{
   options.checks = BITFIELD_BIT(GPUVAL_CHECK_BOUNDS);
   store();
   EXPECT_TRUE(said().empty());
   EXPECT_EQ(b->shader->info.shared_size, shared_size);
}

TEST_F(nir_shared_test, a_cell_for_each_word)
{
   load(4);
   store(96);
   auto list = said();

   ASSERT_EQ(list.size(), 2u);
   EXPECT_EQ(flags(list[0]), GPUVAL_SYNC_SHARED | GPUVAL_BLOOM_LOAD);
   EXPECT_EQ(flags(list[1]), GPUVAL_SYNC_SHARED | GPUVAL_BLOOM_STORE | GPUVAL_SYNC_HAS_VALUE);
   EXPECT_EQ(address(list[0]), cells_begin + 1 * GPUVAL_SHARED_CELL_SIZE);
   EXPECT_EQ(address(list[1]), cells_begin + 24 * GPUVAL_SHARED_CELL_SIZE);
   EXPECT_EQ(size(list[0]), 4u);
   EXPECT_EQ(number(list[1], 3), 96u);
   EXPECT_EQ(number(list[1], 4), (unsigned)GPUVAL_SHARED_ORDER_SIZE);
   EXPECT_EQ(token(list[0]), GPUVAL_SHADOW_CONTEXT(2, 0, GPUVAL_SHARED_BY_PHASES, 1));
   EXPECT_EQ(token(list[1]), GPUVAL_SHADOW_CONTEXT(2, 0, GPUVAL_SHARED_BY_PHASES, 2));
   EXPECT_EQ(number(list[1], 5, 3), 1u);
   EXPECT_EQ(b->shader->info.shared_size, align(cells_begin + 25 * GPUVAL_SHARED_CELL_SIZE, 16));

   EXPECT_EQ(site(0).kind, GPUVAL_KIND_SHARED_READ_AFTER_WRITE);
   EXPECT_EQ(site(1).kind, GPUVAL_KIND_SHARED_WRITE_AFTER_ACCESS);
   EXPECT_EQ(num_sites(), 3u); /* a store has one more, where it changes nothing */
}

TEST_F(nir_shared_test, the_narrowest_access_says_what_has_a_cell)
{
   load(4);
   store_byte(9);
   auto list = said();

   ASSERT_EQ(list.size(), 2u);
   EXPECT_EQ(address(list[0]), cells_begin + 4 * GPUVAL_SHARED_CELL_SIZE);
   EXPECT_EQ(size(list[0]), 4u);
   EXPECT_EQ(address(list[1]), cells_begin + 9 * GPUVAL_SHARED_CELL_SIZE);
   EXPECT_EQ(size(list[1]), 1u);
   EXPECT_EQ(token(list[0]) & 0xff, 0u);
   EXPECT_EQ(b->shader->info.shared_size,
             align(cells_begin + shared_size * GPUVAL_SHARED_CELL_SIZE, 16));
}

TEST_F(nir_shared_test, cells_are_cleared_before_anybody_looks)
{
   store();
   auto list = said();

   ASSERT_EQ(list.size(), 1u);
   auto barriers = find(nir_intrinsic_barrier);
   ASSERT_EQ(barriers.size(), 1u);
   nir_index_instrs(b->impl);
   EXPECT_EQ(nir_intrinsic_execution_scope(barriers[0]), SCOPE_WORKGROUP);
   EXPECT_LT(barriers[0]->instr.index, list[0]->instr.index);
   EXPECT_EQ(find(nir_intrinsic_store_shared).size(), 2u);
}

TEST_F(nir_shared_test, components_that_are_not_stored)
{
   at_spirv_offset(100);
   store(16, 4, 0xb);
   auto list = said();

   ASSERT_EQ(list.size(), 2u);
   EXPECT_EQ(address(list[0]), cells_begin + 4 * GPUVAL_SHARED_CELL_SIZE);
   EXPECT_EQ(size(list[0]), 8u);
   EXPECT_EQ(address(list[1]), cells_begin + 7 * GPUVAL_SHARED_CELL_SIZE);
   EXPECT_EQ(size(list[1]), 4u);
   EXPECT_EQ(num_sites(), 2u); /* one instruction */
}

TEST_F(nir_shared_test, what_is_outside_is_not_looked_at)
{
   store(96);
   store(100);
   store(UINT32_MAX - 3);
   load(98); /* its last two bytes are */
   auto list = said();

   ASSERT_EQ(list.size(), 4u);
   EXPECT_EQ(number(list[0], 0), 1u);
   for (unsigned i = 1; i < 4; i++)
      EXPECT_EQ(number(list[i], 0), 0u) << i;
}

TEST_F(nir_shared_test, no_room)
{
   b->shader->info.shared_size = 400;
   store();
   EXPECT_TRUE(said().empty());
   EXPECT_TRUE(table.shared_is_full);
   EXPECT_EQ(b->shader->info.shared_size, 400u);
}

TEST_F(nir_shared_test, just_enough_room)
{
   b->shader->info.shared_size = 336; /* and 16, and 84 cells, are 1,024 */
   store();
   EXPECT_EQ(said().size(), 1u);
   EXPECT_FALSE(table.shared_is_full);
   EXPECT_EQ(b->shader->info.shared_size, 1024u);
}

TEST_F(nir_shared_test, barriers_of_the_workgroup_begin_phases)
{
   store(4);
   barrier(SCOPE_WORKGROUP);
   load(4);
   barrier(SCOPE_WORKGROUP, nir_var_mem_ssbo);
   load(8);
   barrier(SCOPE_WORKGROUP);
   load(12);
   auto list = said();

   ASSERT_EQ(list.size(), 4u);
   EXPECT_EQ(phase(list[0]), 0u);
   EXPECT_EQ(phase(list[1]), 1u);
   EXPECT_EQ(phase(list[2]), 1u); /* that one was for buffers */
   EXPECT_EQ(phase(list[3]), 2u);
}

TEST_F(nir_shared_test, atomics)
{
   atomic(8);
   load(8);
   auto list = said();

   ASSERT_EQ(list.size(), 2u);
   EXPECT_EQ(flags(list[0]), GPUVAL_SYNC_SHARED | GPUVAL_BLOOM_ATOMIC);
   EXPECT_EQ(site(0).kind, GPUVAL_KIND_SHARED_ATOMIC_CONFLICT);
}

/* A flag: what was before the barrier is released by the atomic, and acquired by the next
 * barrier.
 */
TEST_F(nir_shared_test, atomics_and_memory_barriers_order)
{
   store(4);
   barrier(SCOPE_NONE);
   atomic(8);
   barrier(SCOPE_NONE);
   load(4);
   auto list = said();

   const unsigned orders = GPUVAL_SYNC_SHARED | GPUVAL_SYNC_ORDERS;
   std::vector<unsigned> order;
   for (nir_intrinsic_instr *sync : list) {
      if (flags(sync) != orders) {
         order.push_back(0);
         continue;
      }
      EXPECT_EQ(address(sync), order_begin);
      /* Who has passed no barrier releases nothing, nor acquires one who has found nothing. */
      if (number(sync, 0))
         order.push_back(size(sync));
   }
   const std::vector<unsigned> expected = {0, GPUVAL_SYNC_RELEASE, 0, GPUVAL_SYNC_ACQUIRE, 0};
   const std::vector<unsigned> other = {0, 0, GPUVAL_SYNC_RELEASE, GPUVAL_SYNC_ACQUIRE, 0};
   EXPECT_TRUE(order == expected || order == other);
}

TEST_F(nir_shared_test, atomics_alone_order_nothing)
{
   store(4);
   atomic(8);
   load(4);
   for (nir_intrinsic_instr *sync : said())
      EXPECT_FALSE(flags(sync) & GPUVAL_SYNC_ORDERS);
}

TEST_F(nir_shared_test, the_payload_of_task_shaders_comes_behind)
{
   b->shader->info.stage = MESA_SHADER_TASK;
   b->shader->info.task_payload_size = 32;
   store(4);
   nir_store_task_payload(b, nir_imm_int(b, 1), nir_imm_int(b, 8), .write_mask = 0x1,
                          .align_mul = 4);
   auto list = said();

   const unsigned payload = cells_begin + shared_size / 4 * GPUVAL_SHARED_CELL_SIZE;
   ASSERT_EQ(list.size(), 2u);
   EXPECT_EQ(address(list[0]), cells_begin + 1 * GPUVAL_SHARED_CELL_SIZE);
   EXPECT_EQ(address(list[1]), payload + 2 * GPUVAL_SHARED_CELL_SIZE);
   EXPECT_EQ(number(list[1], 4), (payload - order_begin) | GPUVAL_SHARED_IS_PAYLOAD);
   EXPECT_EQ(b->shader->info.shared_size, align(payload + 8 * GPUVAL_SHARED_CELL_SIZE, 16));
}

} /* namespace */
