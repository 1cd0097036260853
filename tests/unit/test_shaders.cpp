/* SPDX-License-Identifier: MIT */

/* How long shaders live, and what becomes of their numbers */

#include "core/printf/gpuval_printf.h"
#include "core/shaders/gpuval_shader.h"
#include "drain_test.h"

#include <malloc.h>
#include <memory>
#include <random>
#include <string>

#include "base/gpuval_order.h"
#include "base/gpuval_shadow.h"
#include "core/shaders/gpuval_numbers.h"

namespace {

class numbers_test : public ::testing::Test {
 protected:
   void SetUp() override
   {
      gpuval_numbers_init(&numbers, NULL, 80, 80);
   }

   void TearDown() override
   {
      gpuval_numbers_finish(&numbers);
      util_dynarray_fini(&numbers.resting);
   }

   struct gpuval_number_range alloc(uint32_t num_sites, uint32_t num_entries)
   {
      struct gpuval_number_range range = {};
      range.num_sites = num_sites;
      range.num_entries = num_entries;
      if (!gpuval_numbers_alloc(&numbers, &range))
         range.first_site = range.first_entry = ~0u;
      return range;
   }

   struct gpuval_numbers numbers;
};

TEST_F(numbers_test, from_0_to_the_last)
{
   EXPECT_EQ(alloc(1, 0).first_site, 0u);
   EXPECT_EQ(alloc(78, 40).first_site, 1u);
   EXPECT_EQ(alloc(1, 40).first_entry, 40u);
   EXPECT_EQ(alloc(1, 0).first_site, ~0u);
   EXPECT_EQ(alloc(0, 1).first_site, ~0u);
   EXPECT_EQ(alloc(0, 0).num_sites, 0u);
}

TEST_F(numbers_test, what_is_given_back_rests_first)
{
   struct gpuval_number_range first = alloc(4, 4), second = alloc(4, 4);

   /* Up to an eighth of 80 + 80 rests. */
   gpuval_numbers_free(&numbers, &first);
   EXPECT_EQ(alloc(4, 4).first_site, 8u);
   gpuval_numbers_free(&numbers, &second);
   EXPECT_EQ(alloc(4, 4).first_site, 12u);
   struct gpuval_number_range third = alloc(3, 3);
   gpuval_numbers_free(&numbers, &third);
   EXPECT_EQ(alloc(4, 4).first_site, 0u);
}

TEST_F(numbers_test, what_rests_is_used_when_nothing_else_is_left)
{
   struct gpuval_number_range range = alloc(5, 1);
   EXPECT_EQ(alloc(75, 1).first_site, 5u);
   EXPECT_EQ(alloc(5, 1).first_site, ~0u);
   gpuval_numbers_free(&numbers, &range);
   EXPECT_EQ(alloc(5, 1).first_site, 0u);
}

TEST_F(numbers_test, no_entries_left_takes_no_sites)
{
   alloc(1, 80);
   EXPECT_EQ(alloc(10, 1).first_site, ~0u);
   EXPECT_EQ(alloc(79, 0).first_site, 1u);
}

class shaders_test : public drain_test {
 protected:
   unsigned num_shaders() const
   {
      return _mesa_hash_table_num_entries(device->shaders->by_key);
   }

   unsigned num_modules() const
   {
      return _mesa_hash_table_num_entries(device->shaders->modules);
   }
};

TEST_F(shaders_test, the_last_user_takes_it_along)
{
   uint32_t site = add_shader(3, 1);
   EXPECT_EQ(add_shader(3, 1), site);
   EXPECT_EQ(num_shaders(), 1u);

   gpuval_shader_release(shader);
   EXPECT_EQ(num_shaders(), 1u);
   EXPECT_EQ(gpuval_device_site_shader(device, site), shader);
   gpuval_shader_release(shader);
   EXPECT_EQ(num_shaders(), 0u);
   EXPECT_EQ(num_modules(), 0u);
   EXPECT_EQ(gpuval_device_site_shader(device, site), nullptr);
}

TEST_F(shaders_test, shaders_of_a_module_share_it)
{
   add_shader(1, 1);
   struct gpuval_shader *one = shader;
   add_shader(2, 1);
   EXPECT_EQ(num_shaders(), 2u);
   EXPECT_EQ(num_modules(), 1u);
   EXPECT_EQ(one->module, shader->module);

   gpuval_shader_release(one);
   EXPECT_EQ(num_modules(), 1u);
   gpuval_shader_release(shader);
   EXPECT_EQ(num_modules(), 0u);
}

TEST_F(shaders_test, what_is_in_flight_is_reported_first)
{
   uint32_t site = add_shader(2, 1);
   shader_side side(device);
   unsigned work = gpuval_device_begin_work(device);
   gpuval_shader_release(shader);
   EXPECT_EQ(num_shaders(), 1u);

   side.count(site);
   side.count(site + 1);
   side.count(site + 1);
   side.record(make_record(site, 3));
   gpuval_device_end_work(device, work);

   EXPECT_EQ(num_shaders(), 0u);
   ASSERT_EQ(events().size(), 2u);
   for (const struct gpuval_event *event : events()) {
      EXPECT_EQ(event->count, event->has_record ? 1u : 2u);
      EXPECT_EQ(event->place.shader.hash, hash);
   }
}

/* There is always something in flight, and nothing waits for that. */
TEST_F(shaders_test, without_ever_being_idle)
{
   shader_side side(device);
   unsigned works[3];
   for (unsigned i = 0; i < 3; i++)
      works[i] = gpuval_device_begin_work(device);

   for (unsigned i = 0; i < 1000; i++) {
      uint32_t site = add_shader(1, i);
      side.count(site);
      if (i % 2)
         side.record(make_record(site, i));
      gpuval_shader_release(shader);

      gpuval_device_end_work(device, works[i % 3]);
      works[i % 3] = gpuval_device_begin_work(device);
      /* One that was retired is gone when what was in flight then has ended. */
      EXPECT_LE(num_shaders(), 8u);
      EXPECT_LE(device->root->num_failing, i + 1);
   }
   EXPECT_GE(events().size(), 992u);
   for (const struct gpuval_event *event : events())
      EXPECT_LE(event->count, 1u);

   for (unsigned work : works)
      gpuval_device_end_work(device, work);
   EXPECT_EQ(num_shaders(), 0u);
   ASSERT_EQ(events().size(), 1000u);
   for (const struct gpuval_event *event : events())
      EXPECT_EQ(event->count, 1u);
}

TEST_F(shaders_test, work_that_began_later_does_not_count)
{
   add_shader(1, 1);
   unsigned before = gpuval_device_begin_work(device);
   gpuval_shader_release(shader);
   unsigned after = gpuval_device_begin_work(device);
   EXPECT_EQ(num_shaders(), 1u);
   gpuval_device_end_work(device, before);
   EXPECT_EQ(num_shaders(), 0u);
   gpuval_device_end_work(device, after);
}

TEST_F(shaders_test, work_that_ends_out_of_order)
{
   add_shader(1, 1);
   unsigned before = gpuval_device_begin_work(device);
   gpuval_shader_release(shader);
   for (unsigned i = 0; i < 10; i++) {
      unsigned after = gpuval_device_begin_work(device);
      gpuval_device_end_work(device, after);
      EXPECT_EQ(num_shaders(), 1u);
   }
   gpuval_device_end_work(device, before);
   EXPECT_EQ(num_shaders(), 0u);
}

TEST_F(shaders_test, created_again_while_it_ends)
{
   uint32_t site = add_shader(1, 1);
   const struct gpuval_shader *first = shader;
   unsigned work = gpuval_device_begin_work(device);
   gpuval_shader_release(shader);
   EXPECT_EQ(add_shader(1, 1), site);
   EXPECT_EQ(shader, first);

   shader_side(device).count(site);
   gpuval_device_end_work(device, work);
   EXPECT_EQ(num_shaders(), 1u);
   EXPECT_EQ(event(site)->count, 1u);

   gpuval_shader_release(shader);
   EXPECT_EQ(num_shaders(), 0u);
}

TEST_F(shaders_test, created_again_its_failures_are_the_same)
{
   for (unsigned i = 0; i < 5; i++) {
      uint32_t site = add_shader(2, 1);
      unsigned work = gpuval_device_begin_work(device);
      shader_side(device).count(site + 1);
      gpuval_device_end_work(device, work);
      gpuval_shader_release(shader);
   }
   ASSERT_EQ(events().size(), 1u);
   EXPECT_EQ(events()[0]->count, 5u);
}

TEST_F(shaders_test, numbers_of_the_dead_are_not_those_of_the_living)
{
   TearDown();
   create_device(64);
   shader_side side(device);

   uint32_t site = add_shader(30, 1);
   struct gpuval_record stale = make_record(site, 1);
   unsigned work = gpuval_device_begin_work(device);
   side.count(site);
   gpuval_device_end_work(device, work);
   gpuval_shader_release(shader);

   /* More than may rest */
   EXPECT_EQ(add_shader(30, 2), site);
   EXPECT_EQ(event(site), nullptr);

   work = gpuval_device_begin_work(device);
   EXPECT_TRUE(side.record(stale));
   side.count(site);
   side.count(site);
   gpuval_device_end_work(device, work);
   ASSERT_NE(event(site), nullptr);
   EXPECT_EQ(event(site)->place.shader.hash, hash);
   EXPECT_FALSE(event(site)->has_record);
   EXPECT_EQ(event(site)->count, 2u);
   EXPECT_EQ(events().size(), 2u);
}

TEST_F(shaders_test, a_party_that_is_gone_is_not_named)
{
   uint32_t store = add_shader({make_site(GPUVAL_KIND_WRITE_AFTER_ACCESS, GPUVAL_OP_STORE, 0)}, 1);
   struct gpuval_shader *writer = shader;
   uint32_t load = add_shader({make_site(GPUVAL_KIND_READ_AFTER_WRITE, GPUVAL_OP_LOAD, 0)}, 2);
   gpuval_shader_release(writer);

   /* Not its numbers either */
   EXPECT_NE(add_shader({make_site(GPUVAL_KIND_WRITE_AFTER_ACCESS, GPUVAL_OP_STORE, 0)}, 3), store);

   add_shader({make_site(GPUVAL_KIND_READ_AFTER_WRITE, GPUVAL_OP_LOAD, 0)}, 2);
   struct gpuval_record record = make_record(load, 7);
   record.other = store | GPUVAL_OTHER_KNOWN;
   unsigned work = gpuval_device_begin_work(device);
   shader_side(device).count(load);
   shader_side(device).record(record);
   gpuval_device_end_work(device, work);
   ASSERT_TRUE(event(load)->has_record);
   EXPECT_FALSE(event(load)->has_other);
}

/* Cells outlive shaders by far, and there are few numbers here. */
TEST_F(shaders_test, a_cell_names_no_shader_that_came_later)
{
   const struct gpuval_site write = make_site(GPUVAL_KIND_WRITE_AFTER_ACCESS, GPUVAL_OP_STORE, 0);
   const struct gpuval_site read = make_site(GPUVAL_KIND_READ_AFTER_WRITE, GPUVAL_OP_LOAD, 1);
   TearDown();
   create_device(64, true);
   ASSERT_NE(gpuval_device_shadow(device), nullptr);
   commands = {1, 2};

   uint32_t loads[3];
   struct gpuval_record records[3];
   for (unsigned i = 0; i < 3; i++) {
      loads[i] = add_shader({read}, 2 + i);
      records[i] = make_record(loads[i], 2);
   }

   std::vector<struct gpuval_site> sites(30, write);
   add_shader(sites, 1);
   struct gpuval_shader *writer = shader;
   uint64_t writer_hash = hash;
   uint32_t writer_base = base;
   struct gpuval_command_data data = {};
   data.command_id = data.serial = 1;
   data.entry_base[MESA_SHADER_COMPUTE] = base;
   gpuval_device_shadow_command(device, gpuval_order_threshold(), true, &data);
   uint32_t cell = data.shadow_command | gpuval_order_stage_class(MESA_SHADER_COMPUTE)
                                            << GPUVAL_SHADOW_CLASS_SHIFT;

   for (unsigned i = 0; i < 3; i++) {
      records[i].bound = 3;
      records[i].other = cell;
      unsigned work = gpuval_device_begin_work(device);
      shader_side(device).count(loads[i]);
      shader_side(device).record(records[i]);
      gpuval_device_end_work(device, work);

      /* While it lives; no more; and when others have its numbers. Which command it was
       * is known all the same. */
      const struct gpuval_event *failure = event(loads[i]);
      ASSERT_TRUE(failure->has_record && failure->has_other) << i;
      EXPECT_EQ(failure->other.has_shader, i == 0);
      EXPECT_EQ(failure->other.shader.hash, i == 0 ? writer_hash : 0);
      EXPECT_TRUE(failure->other.has_command);
      EXPECT_EQ(failure->other.command.index, 1);

      if (i == 0)
         gpuval_shader_release(writer);
      if (i == 1) {
         add_shader(sites, 9);
         EXPECT_EQ(base, writer_base);
      }
   }
}

TEST_F(shaders_test, failures_without_a_place_in_the_module)
{
   struct gpuval_site unknown = make_site(GPUVAL_KIND_BUFFER_OOB, GPUVAL_OP_LOAD, 0);
   unknown.spirv_offset = 0;

   /* Two of a shader, and the first of another one that has their numbers */
   for (unsigned count = 2; count; count--) {
      uint32_t site = add_shader(std::vector<struct gpuval_site>(count, unknown), 1);
      unsigned work = gpuval_device_begin_work(device);
      for (unsigned i = 0; i < count; i++)
         shader_side(device).count(site + i);
      gpuval_device_end_work(device, work);
      gpuval_shader_release(shader);
   }
   EXPECT_EQ(events().size(), 3u);
}

TEST_F(shaders_test, any_number_in_a_small_table)
{
   const unsigned count = 50000;
   TearDown();
   create_device(1024);
   shader_side side(device);
   std::mt19937 random(1);
   struct gpuval_shader *living[16] = {};
   unsigned failures = 0;

   for (unsigned i = 0; i < count; i++) {
      struct gpuval_shader **slot = &living[random() % 16];
      if (*slot)
         gpuval_shader_release(*slot);

      uint32_t site = add_shader(1 + random() % 32, i);
      ASSERT_NE(shader, nullptr) << i;
      *slot = shader;
      if (i % 50 && i != count - 1)
         continue;

      failures++;
      unsigned work = gpuval_device_begin_work(device);
      side.count(site);
      gpuval_device_end_work(device, work);
      ASSERT_NE(event(site), nullptr) << i;
      EXPECT_EQ(event(site)->place.shader.hash, hash);
   }
   EXPECT_EQ(events().size(), failures);
   EXPECT_LE(device->shaders->by_site.size, 1024 * sizeof(void *));
}

TEST_F(shaders_test, there_is_room_again)
{
   TearDown();
   create_device(64);
   add_shader(60, 1);
   struct gpuval_shader *first = shader;
   add_shader(4, 2);
   EXPECT_EQ(shader, nullptr);
   gpuval_shader_release(first);
   add_shader(4, 2);
   EXPECT_NE(shader, nullptr);
}

TEST_F(shaders_test, nothing_is_left)
{
   size_t before = 0;

   for (unsigned i = 0; i < 20000; i++) {
      add_shader(1 + i % 100, i);
      gpuval_shader_release(shader);
      if (i == 10000)
         before = mallinfo2().uordblks;
   }
   EXPECT_LE(mallinfo2().uordblks, before + 65536);
}

/* Sites are looked at that are in the list, and no others. */
TEST_F(shaders_test, only_what_has_failed_is_read)
{
   uint32_t site = add_shader(1000, 1);
   shader_side side(device);

   unsigned work = gpuval_device_begin_work(device);
   side.count(site + 7);
   side.count(site + 7);
   side.counters()[site + 8] = 1;
   gpuval_device_end_work(device, work);
   EXPECT_EQ(event(site + 7)->count, 2u);
   EXPECT_EQ(event(site + 8), nullptr);
   EXPECT_EQ(device->root->num_failing, 0u);
   EXPECT_EQ(side.counters()[site + 7], 0u);

   work = gpuval_device_begin_work(device);
   side.count(site + 7);
   gpuval_device_end_work(device, work);
   EXPECT_EQ(event(site + 7)->count, 3u);
}

TEST_F(shaders_test, garbage_in_the_list)
{
   uint32_t site = add_shader(10, 1);
   shader_side side(device);
   std::mt19937 random(4);

   for (unsigned round = 0; round < 100; round++) {
      unsigned work = gpuval_device_begin_work(device);
      side.count(site);
      uint32_t *failing = (uint32_t *)device->root->failing_address;
      /* Its length is garbage, its content is, or both. */
      if (round % 3)
         device->root->num_failing = GPUVAL_MAX_SITES + 1 + random() % 1000;
      for (unsigned i = 0; round % 3 != 1 && i < 100; i++)
         failing[1 + i] = random();
      if (!(round % 3))
         device->root->num_failing = 101;
      gpuval_device_end_work(device, work);
   }
   EXPECT_EQ(event(site)->count, 100u);
   for (unsigned i = 1; i < 10; i++)
      EXPECT_EQ(event(site + i), nullptr);
}

/* DebugPrintf, which shaders have in common */
class messages_test : public shaders_test {
 protected:
   static void collect(void *data, const struct gpuval_printf_message *message)
   {
      ((messages_test *)data)->owners.push_back(message->format->owner);
   }

   void print()
   {
      device->printf->message = collect;
      device->printf->data = this;
      unsigned work = gpuval_device_begin_work(device);
      struct gpuval_printf_header *header =
         (struct gpuval_printf_header *)device->root->printf_address;
      uint32_t *words = (uint32_t *)(header + 1) + header->offset;
      const uint64_t id = 0x123456789abc;
      words[1] = id >> 16;
      words[2] = words[3] = words[4] = 1;
      words[0] = (uint32_t)(id << 16) | 5;
      header->offset += 5;
      device->poll->printed = 1;
      gpuval_device_end_work(device, work);
   }

   std::vector<const void *> owners;
};

TEST_F(messages_test, a_format_lives_as_long_as_one_that_has_it)
{
   add_shader(2, 1);
   struct gpuval_shader *first = shader;
   add_shader(2, 2);
   struct gpuval_shader *second = shader;

   print();
   ASSERT_EQ(owners.size(), 1u);
   EXPECT_EQ(owners[0], first);
   gpuval_shader_release(first);
   print();
   ASSERT_EQ(owners.size(), 2u);
   EXPECT_EQ(owners[1], second);
   gpuval_shader_release(second);
   print();
   EXPECT_EQ(owners.size(), 2u);
   EXPECT_EQ(device->printf->lost, 1u);

   add_shader(2, 1);
   print();
   EXPECT_EQ(owners.size(), 3u);
}

TEST_F(messages_test, what_was_printed_is_read_first)
{
   add_shader(2, 1);
   unsigned other = gpuval_device_begin_work(device);
   gpuval_shader_release(shader);
   print();
   gpuval_device_end_work(device, other);
   EXPECT_EQ(owners.size(), 1u);
   EXPECT_EQ(device->printf->lost, 0u);
   EXPECT_EQ(num_shaders(), 0u);
}

} /* namespace */
