/* SPDX-License-Identifier: MIT */

/* ray: what is known of acceleration structures, and the table of it that shaders read. */

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/gpuval_layout.h"
#include "core/structures/gpuval_structures.h"
#include "vk_object.h"

namespace {

class structures : public ::testing::Test {
 protected:
   structures()
       : table(GPUVAL_STRUCTURE_SLOTS), bottom_table(GPUVAL_STRUCTURE_SLOTS + 1),
         objects(GPUVAL_STRUCTURE_SLOTS)
   {
      gpuval_structures_init(&known, table.data(), bottom_table.data());
   }

   ~structures()
   {
      gpuval_structures_finish(&known);
   }

   const struct vk_object_base *object(unsigned i)
   {
      return &objects[i];
   }

   void add(unsigned i, uint64_t address)
   {
      gpuval_structures_add(&known, object(i), address);
   }

   void remove(unsigned i)
   {
      gpuval_structures_remove(&known, object(i));
   }

   bool build(unsigned i, enum gpuval_structure_state state,
              const std::vector<uint64_t> &references = {})
   {
      return gpuval_structures_built(&known, object(i), state, references.data(),
                                     references.size());
   }

   enum gpuval_structure_state find(uint64_t address)
   {
      const struct vk_object_base *found;
      return gpuval_structures_find(&known, address, &found);
   }

   /* What a shader does */
   static bool is_in(const std::vector<uint64_t> &table, uint64_t address)
   {
      for (unsigned i = 0; i < GPUVAL_STRUCTURE_PLACES; i++) {
         const uint64_t *place = &table[gpuval_structure_slot(address, i)];
         if (__atomic_load_n(place, __ATOMIC_RELAXED) == address)
            return true;
      }
      return false;
   }

   bool is_traceable(uint64_t address)
   {
      return is_in(table, address);
   }

   bool is_bottom(uint64_t address)
   {
      return is_in(bottom_table, address);
   }

   struct gpuval_structures known;
   std::vector<uint64_t> table, bottom_table;
   std::vector<struct vk_object_base> objects;
};

constexpr uint64_t base = 0x7f1200001000;

TEST_F(structures, life)
{
   EXPECT_EQ(find(base), GPUVAL_STRUCTURE_NONE);
   add(0, base);
   EXPECT_EQ(find(base), GPUVAL_STRUCTURE_NOT_BUILT);
   EXPECT_FALSE(is_traceable(base));
   EXPECT_TRUE(build(0, GPUVAL_STRUCTURE_TOP_LEVEL));
   EXPECT_EQ(find(base), GPUVAL_STRUCTURE_TOP_LEVEL);
   EXPECT_TRUE(is_traceable(base));
   EXPECT_FALSE(is_bottom(base));
   build(0, GPUVAL_STRUCTURE_BOTTOM_LEVEL);
   EXPECT_FALSE(is_traceable(base));
   EXPECT_TRUE(is_bottom(base));
   build(0, GPUVAL_STRUCTURE_ANY_LEVEL);
   EXPECT_TRUE(is_traceable(base));
   EXPECT_TRUE(is_bottom(base));
   remove(0);
   EXPECT_EQ(find(base), GPUVAL_STRUCTURE_DESTROYED);
   EXPECT_FALSE(is_traceable(base));
   EXPECT_FALSE(is_bottom(base));

   add(1, base);
   EXPECT_EQ(find(base), GPUVAL_STRUCTURE_NOT_BUILT);
   EXPECT_FALSE(is_traceable(base));
   remove(1);
   remove(1);
}

TEST_F(structures, created_before_its_memory)
{
   add(0, 0);
   EXPECT_EQ(find(0), GPUVAL_STRUCTURE_NONE);
   gpuval_structures_place(&known, object(0), base);
   EXPECT_EQ(find(base), GPUVAL_STRUCTURE_NOT_BUILT);
   build(0, GPUVAL_STRUCTURE_TOP_LEVEL);
   EXPECT_TRUE(is_traceable(base));
   gpuval_structures_place(&known, object(0), base + 0x1000);
   EXPECT_EQ(find(base + 0x1000), GPUVAL_STRUCTURE_NONE);
   remove(0);
   EXPECT_EQ(find(base), GPUVAL_STRUCTURE_DESTROYED);

   add(1, 0);
   remove(1);
   EXPECT_EQ(find(0), GPUVAL_STRUCTURE_NONE);
}

TEST_F(structures, unknown_objects)
{
   EXPECT_TRUE(build(0, GPUVAL_STRUCTURE_TOP_LEVEL));
   EXPECT_TRUE(gpuval_structures_copied(&known, object(0), object(1)));
   remove(0);
}

TEST_F(structures, copies)
{
   add(0, base);
   add(1, base + 0x1000);
   add(2, base + 0x2000);
   build(0, GPUVAL_STRUCTURE_BOTTOM_LEVEL);
   build(1, GPUVAL_STRUCTURE_TOP_LEVEL, {base, base});
   gpuval_structures_copied(&known, object(2), object(1));
   EXPECT_TRUE(is_traceable(base + 0x2000));

   /* The copy has the same instances. */
   remove(0);
   EXPECT_EQ(find(base + 0x1000), GPUVAL_STRUCTURE_STALE);
   EXPECT_EQ(find(base + 0x2000), GPUVAL_STRUCTURE_STALE);
   EXPECT_FALSE(is_traceable(base + 0x2000));

   add(3, base);
   build(3, GPUVAL_STRUCTURE_BOTTOM_LEVEL);
   EXPECT_FALSE(is_traceable(base + 0x1000));
   build(1, GPUVAL_STRUCTURE_TOP_LEVEL, {base});
   EXPECT_TRUE(is_traceable(base + 0x1000));
}

TEST_F(structures, instances_of_others_stay)
{
   std::vector<uint64_t> references;
   add(0, base);
   for (unsigned i = 1; i < 100; i++) {
      add(i, base + i * 0x1000);
      build(i, GPUVAL_STRUCTURE_BOTTOM_LEVEL);
      if (i != 50)
         references.push_back(base + (100 - i) * 0x1000);
   }
   build(0, GPUVAL_STRUCTURE_TOP_LEVEL, references);
   remove(50);
   EXPECT_TRUE(is_traceable(base));
   remove(99);
   EXPECT_FALSE(is_traceable(base));
}

TEST_F(structures, shared_memory)
{
   add(0, base);
   build(0, GPUVAL_STRUCTURE_TOP_LEVEL);
   add(1, base);
   EXPECT_TRUE(is_traceable(base));
   EXPECT_EQ(find(base), GPUVAL_STRUCTURE_TOP_LEVEL);
   add(2, base);
   remove(1);
   EXPECT_TRUE(is_traceable(base));
   remove(2);
   EXPECT_TRUE(is_traceable(base));
   build(0, GPUVAL_STRUCTURE_BOTTOM_LEVEL);
   EXPECT_FALSE(is_traceable(base));
   remove(0);
   EXPECT_EQ(find(base), GPUVAL_STRUCTURE_DESTROYED);
}

TEST_F(structures, many)
{
   unsigned count = 500;
   for (unsigned i = 0; i < count; i++) {
      add(i, base + i * 0x700);
      ASSERT_TRUE(build(i, GPUVAL_STRUCTURE_TOP_LEVEL)) << i;
   }
   for (unsigned i = 0; i < count; i++)
      ASSERT_TRUE(is_traceable(base + i * 0x700)) << i;
   for (unsigned i = 0; i < count; i += 2)
      remove(i);
   for (unsigned i = 0; i < count; i++)
      ASSERT_EQ(is_traceable(base + i * 0x700), i % 2 == 1) << i;
}

TEST_F(structures, full)
{
   bool has_room = true;
   unsigned i;
   for (i = 0; has_room && i < GPUVAL_STRUCTURE_SLOTS; i++) {
      add(i, base + i * 0x100);
      has_room = build(i, GPUVAL_STRUCTURE_TOP_LEVEL);
   }
   EXPECT_FALSE(has_room);
   EXPECT_GT(i, 500u);
   /* Those before are there all the same. */
   for (unsigned j = 0; j < i - 1; j++)
      ASSERT_TRUE(is_traceable(base + j * 0x100)) << j;
}

TEST_F(structures, addresses_of_what_is_gone_are_not_kept_for_ever)
{
   for (unsigned i = 0; i < 100000; i++) {
      add(0, base + i * 0x100);
      remove(0);
   }
   EXPECT_LT(known.num_destroyed, 20000u);
   EXPECT_EQ(find(base + 99999 * 0x100), GPUVAL_STRUCTURE_DESTROYED);
}

/* Who is there is never missing. */
TEST_F(structures, shaders_read_meanwhile)
{
   unsigned count = 500;
   std::atomic<unsigned> built(0);
   std::atomic<bool> missing(false);
   std::thread shader([&] {
      for (unsigned known_count = 0; known_count < count && !missing;) {
         known_count = built;
         for (unsigned i = 0; i < known_count; i++)
            missing = missing | !is_traceable(base + i * 0x100);
      }
   });
   for (unsigned i = 0; i < count; i++) {
      add(i, base + i * 0x100);
      ASSERT_TRUE(build(i, GPUVAL_STRUCTURE_TOP_LEVEL));
      built = i + 1;
   }
   shader.join();
   EXPECT_FALSE(missing);
}

} // namespace
