/* SPDX-License-Identifier: MIT */

/* The host's side of the buffers */

#include "core/memory/gpuval_filter.h"
#include "core/shaders/gpuval_shader.h"
#include "drain_test.h"

#include <random>
#include <string>
#include <thread>

#include "core/gpuval_hooks.h"

namespace {

/* A shader with a load, a store, an atomic, and a site that has nothing
 * to do with sync.
 */
class sync_test : public drain_test {
 protected:
   void SetUp() override
   {
      drain_test::SetUp();
      load = add_shader(
         {
            make_site(GPUVAL_KIND_READ_AFTER_WRITE, GPUVAL_OP_LOAD, 0),
            make_site(GPUVAL_KIND_WRITE_AFTER_ACCESS, GPUVAL_OP_STORE, 1),
            make_site(GPUVAL_KIND_ATOMIC_CONFLICT, GPUVAL_OP_ATOMIC, 2),
            make_site(GPUVAL_KIND_BUFFER_OOB, GPUVAL_OP_LOAD, 3),
         },
         1000);
      store = load + 1;
      atomic = load + 2;
      bounds = load + 3;
   }

   struct gpuval_record make_sync_record(uint32_t site, uint32_t other, uint32_t command_id,
                                         uint32_t other_command_id)
   {
      struct gpuval_record record = make_record(site, command_id);
      record.address[0] = 0x2040;
      record.address[1] = 0x7;
      record.bound = other_command_id & 0x3ffff;
      record.other = other | 1u << 31;
      return record;
   }

   /* A store, and behind it the site of those that change nothing */
   uint32_t add_store()
   {
      struct gpuval_site site = make_site(GPUVAL_KIND_WRITE_AFTER_ACCESS, GPUVAL_OP_STORE, 1);
      struct gpuval_site same = site;
      same.same_value = true;
      return add_shader({site, same}, 1001);
   }

   struct gpuval_event *report(const struct gpuval_record &record)
   {
      shader_side shader(device);
      unsigned work = gpuval_device_begin_work(device);
      shader.count(record.site);
      EXPECT_TRUE(shader.record(record));
      gpuval_device_end_work(device, work);
      return event(record.site);
   }

   std::string text(const struct gpuval_event *event)
   {
      char *text = NULL;
      size_t size;
      FILE *f = open_memstream(&text, &size);
      gpuval_text_write_event(f, event);
      fclose(f);
      std::string copy(text, size);
      free(text);
      return copy;
   }

   uint32_t load, store, atomic, bounds;
};

TEST_F(drain_test, record_and_count)
{
   uint32_t site = add_shader(1, 1);
   shader_side shader(device);

   unsigned work = gpuval_device_begin_work(device);
   for (unsigned i = 0; i < 5; i++)
      shader.count(site);
   EXPECT_TRUE(shader.record(make_record(site, 3)));
   EXPECT_FALSE(shader.record(make_record(site, 3)));
   gpuval_device_end_work(device, work);

   ASSERT_NE(event(site), nullptr);
   EXPECT_EQ(event(site)->count, 5u);
   EXPECT_TRUE(event(site)->has_record);
   EXPECT_EQ(event(site)->place.access.offset, site * 5);
   EXPECT_EQ(device->root->poll.failed, 0u);

   /* Both bits were given back. */
   EXPECT_TRUE(shader.record(make_record(site, 3)));
}

/* Vertices know the draw where the command does not. */
TEST_F(drain_test, draws)
{
   stage = MESA_SHADER_VERTEX;
   commands = {1, 2, 3};
   unsigned salt = 1;
   for (bool several : {true, false}) {
      for (uint32_t draw : {0, 3}) {
         has_draws = several;
         uint32_t site = add_shader(1, salt++);
         struct gpuval_record record = make_record(site, 1);
         record.invocation[1] = 7;
         record.invocation[2] = draw;
         unsigned work = gpuval_device_begin_work(device);
         shader_side shader(device);
         shader.count(site);
         shader.record(record);
         gpuval_device_end_work(device, work);

         ASSERT_NE(event(site), nullptr);
         EXPECT_EQ(event(site)->place.command.has_draw, several && draw);
         if (several && draw) {
            EXPECT_EQ(event(site)->place.command.draw, draw - 1);
         }
         EXPECT_EQ(event(site)->invocation[1], 7u);
         EXPECT_EQ(event(site)->invocation[2], 0u);
      }
   }
}

TEST_F(drain_test, words_of_an_image)
{
   struct gpuval_site image = make_site(GPUVAL_KIND_IMAGE_OOB, GPUVAL_OP_FETCH, 0);
   uint32_t site = add_shader({image}, 10);
   shader_side shader(device);

   struct gpuval_record record = make_record(site, 3);
   struct gpuval_record_image words = {};
   words.coord[0] = -1;
   words.coord[1] = 64;
   words.slot = 0;
   words.flags = 2 | GPUVAL_IMAGE_HAS_LEVEL;
   words.last = -2;
   memcpy(&record.offset, &words, sizeof(words));

   unsigned work = gpuval_device_begin_work(device);
   shader.count(site);
   EXPECT_TRUE(shader.record(record));
   gpuval_device_end_work(device, work);

   ASSERT_NE(event(site), nullptr);
   const struct gpuval_event_access *access = &event(site)->place.access;
   EXPECT_EQ(access->num_coords, 2u);
   EXPECT_EQ(access->coord[0], -1);
   EXPECT_EQ(access->coord[1], 64);
   EXPECT_TRUE(access->has_level && !access->has_sample);
   EXPECT_EQ(access->level, -2);
   EXPECT_EQ(access->size, -1);
   EXPECT_EQ(access->offset, -1);
   EXPECT_EQ(event(site)->resource.set, 0);
   EXPECT_EQ(event(site)->resource.size, -1);
}

TEST_F(drain_test, claimed_but_unpublished_is_left_alone)
{
   uint32_t site = add_shader(1, 2);
   shader_side shader(device);

   unsigned work = gpuval_device_begin_work(device);
   shader.count(site);
   shader.control()[5] = 0x0001;
   gpuval_device_end_work(device, work);
   EXPECT_EQ(shader.control()[5], 0x0001u);
   EXPECT_FALSE(event(site)->has_record);
   EXPECT_EQ(event(site)->count, 1u);
}

TEST_F(drain_test, every_site_is_reported_whatever_happens_to_records)
{
   const unsigned count = 10000;
   uint32_t first = add_shader(count, 3);
   shader_side shader(device);

   unsigned work = gpuval_device_begin_work(device);
   for (unsigned i = 0; i < count; i++) {
      shader.count(first + i);
      shader.record(make_record(first + i, 1));
   }
   gpuval_device_end_work(device, work);

   for (unsigned i = 0; i < count; i++) {
      ASSERT_NE(event(first + i), nullptr) << i;
      EXPECT_EQ(event(first + i)->count, 1u);
      if (event(first + i)->has_record) {
         EXPECT_EQ(event(first + i)->invocation[0], (first + i) * 3);
      }
   }
}

TEST_F(drain_test, threads_and_poll_thread)
{
   const unsigned num_threads = 8, num_sites = 500, rounds = 200;
   uint32_t first = add_shader(num_sites, 4);
   shader_side shader(device);

   unsigned work = gpuval_device_begin_work(device);
   std::vector<std::thread> threads;
   for (unsigned t = 0; t < num_threads; t++) {
      threads.emplace_back([&, t] {
         shader_side mine(device);
         for (unsigned r = 0; r < rounds; r++) {
            for (unsigned i = 0; i < num_sites; i++) {
               mine.count(first + i);
               mine.record(make_record(first + i, t * rounds + r));
            }
         }
      });
   }
   for (auto &thread : threads)
      thread.join();
   gpuval_device_end_work(device, work);

   for (unsigned i = 0; i < num_sites; i++) {
      ASSERT_NE(event(first + i), nullptr);
      EXPECT_EQ(event(first + i)->count, num_threads * rounds);
      ASSERT_TRUE(event(first + i)->has_record);
      /* No record was seen half-written or under another's site. */
      EXPECT_EQ(event(first + i)->invocation[0], (first + i) * 3);
      EXPECT_EQ(event(first + i)->place.access.offset, (first + i) * 5);
   }
   for (unsigned word = 0; word < GPUVAL_CONTROL_WORDS; word++)
      EXPECT_EQ(shader.control()[word], 0u);
}

/* As Mesa's runtime does it */
static VkResult
set_name(VkDevice, const VkDebugUtilsObjectNameInfoEXT *info)
{
   struct vk_object_base *object = (struct vk_object_base *)info->objectHandle;
   free(object->object_name);
   object->object_name = strdup(info->pObjectName);
   return VK_SUCCESS;
}

TEST_F(sync_test, names_change_while_they_are_copied)
{
   struct vk_device vk = {};
   struct gpuval_hooks hooks = {};
   vk.base.type = VK_OBJECT_TYPE_DEVICE;
   list_inithead(&vk.queues);
   vk.dispatch_table.SetDebugUtilsObjectNameEXT = set_name;
   gpuval_hooks_init(&hooks, &vk, false);
   gpuval_hooks_install(&hooks, &vk, NULL);

   struct vk_object_base buffer = {};
   const std::string names[2] = {std::string(3000, 'a'), std::string(3000, 'b')};
   buffer.object_name = strdup(names[0].c_str());
   gpuval_device_add_buffer(device, &buffer, 0x700002000, 0x100);

   std::atomic<bool> stop{false};
   std::thread application([&]() {
      for (unsigned i = 0; !stop; i++) {
         VkDebugUtilsObjectNameInfoEXT info = {};
         info.objectHandle = (uintptr_t)&buffer;
         info.pObjectName = names[i & 1].c_str();
         vk.dispatch_table.SetDebugUtilsObjectNameEXT(vk_device_to_handle(&vk), &info);
      }
   });
   for (unsigned i = 0; i < 3000; i++) {
      event(load) = NULL;
      if (device->failures->events)
         _mesa_hash_table_clear(device->failures->events, NULL);
      const std::string name = report(make_sync_record(load, store, i, 3))->resource.object_name;
      ASSERT_TRUE(name == names[0] || name == names[1]);
   }
   stop = true;
   application.join();
   gpuval_device_remove_buffer(device, &buffer);
   free(buffer.object_name);
   gpuval_hooks_finish(&hooks);
}

TEST_F(drain_test, same_shader_twice_is_one_registration)
{
   uint32_t site = add_shader(2, 5);
   EXPECT_EQ(add_shader(2, 5), site);
   EXPECT_NE(add_shader(2, 6), site);
}

TEST_F(drain_test, garbage)
{
   add_shader(3, 7);
   shader_side shader(device);
   std::mt19937 random(1);

   for (unsigned round = 0; round < 50; round++) {
      unsigned work = gpuval_device_begin_work(device);
      uint32_t *words = (uint32_t *)shader.slots()->records;
      for (size_t i = 0; i < GPUVAL_SLOT_COUNT * sizeof(struct gpuval_record) / 4; i++)
         __atomic_store_n(&words[i], random(), __ATOMIC_RELAXED);
      for (unsigned i = 0; i < GPUVAL_CONTROL_WORDS; i++)
         shader.control()[i] = random();
      __atomic_store_n(&device->root->poll.failed, random(), __ATOMIC_RELAXED);
      device->root->counters_address = random();
      gpuval_device_end_work(device, work);
   }
   /* Random words hit neither a hash nor a stage. */
   for (unsigned i = 0; i < 3; i++)
      EXPECT_EQ(event(i), nullptr);
}

TEST_F(drain_test, shaders_know_how_many_entries_there_are)
{
   EXPECT_EQ(device->root->max_entry, GPUVAL_MAX_ENTRIES - 1);

   struct gpuval_device_info info = {};
   info.winsys = gpuval_winsys_host;
   info.max_entries = 1u << 10;
   struct gpuval_device *small = gpuval_device_create(&info);
   EXPECT_EQ(small->root->max_entry, info.max_entries - 1);
   gpuval_device_destroy(small);
}

TEST_F(drain_test, binaries_keep_their_table)
{
   add_shader({make_site(GPUVAL_KIND_MESSAGE, GPUVAL_OP_NONE, 0),
               make_site(GPUVAL_KIND_BUFFER_OOB, GPUVAL_OP_LOAD, 1)},
              8);
   struct blob blob;
   blob_init(&blob);
   gpuval_device_write_shader(device, shader, false, &blob);

   struct gpuval_device_info info = {};
   info.winsys = gpuval_winsys_host;
   struct gpuval_device *other = gpuval_device_create(&info);
   struct blob_reader reader;
   blob_reader_init(&reader, blob.data, blob.size);
   struct gpuval_shader *read;
   EXPECT_TRUE(gpuval_device_read_shader(other, &reader, &read));
   ASSERT_NE(read, nullptr);
   EXPECT_EQ(memcmp(read->key, key, sizeof(key)), 0);

   /* Made for another engine of sync */
   std::vector<uint8_t> foreign(blob.data, blob.data + blob.size);
   foreign[0] ^= 1;
   blob_reader_init(&reader, foreign.data(), foreign.size());
   EXPECT_FALSE(gpuval_device_read_shader(other, &reader, &read));
   EXPECT_EQ(read, nullptr);

   /* Truncated and flipped anywhere: refused or read, never a crash. */
   for (size_t size = 0; size < blob.size; size++) {
      blob_reader_init(&reader, blob.data, size);
      EXPECT_FALSE(gpuval_device_read_shader(other, &reader, &read)) << size;
   }
   for (size_t i = 0; i < blob.size; i++) {
      std::vector<uint8_t> copy(blob.data, blob.data + blob.size);
      copy[i] ^= 0xff;
      blob_reader_init(&reader, copy.data(), copy.size());
      gpuval_device_read_shader(other, &reader, &read);
   }
   gpuval_device_destroy(other);
   blob_finish(&blob);
}

static int64_t
other_index(const struct gpuval_event *event)
{
   return event->has_other && event->other.has_command ? event->other.command.index : -1;
}

TEST_F(sync_test, both_parties)
{
   commands = {3, 7};
   const struct gpuval_event *event = report(make_sync_record(load, store, 7, 3));

   EXPECT_EQ(event->kind, GPUVAL_KIND_READ_AFTER_WRITE);
   EXPECT_EQ(event->place.access.op, GPUVAL_OP_LOAD);
   EXPECT_EQ(event->place.command.index, 7);
   ASSERT_TRUE(event->has_other);
   EXPECT_EQ(event->other.access.op, GPUVAL_OP_STORE);
   EXPECT_EQ(event->other.shader.hash, hash);
   EXPECT_EQ(event->other.spirv.offset, 24u);
   EXPECT_EQ(other_index(event), 3);
   EXPECT_EQ(event->place.access.address, 0x700002040u);
   EXPECT_EQ(event->place.access.offset, load * 5);
   /* The bound is something else here. */
   EXPECT_EQ(event->resource.size, -1);
   EXPECT_NE(text(event).find("likely after the store in compute shader"), std::string::npos);
   EXPECT_NE(text(event).find("likely in dispatch 3"), std::string::npos);
}

/* Whatever the order of the slots, a store that changes a value makes an error of the failure. */
TEST_F(sync_test, a_store_that_changes_nothing)
{
   uint32_t site = add_store();
   struct gpuval_event *failure = report(make_sync_record(site + 1, load, 3, 2));
   EXPECT_TRUE(failure->same_value);
   EXPECT_STREQ(gpuval_event_severity(failure), "warning");
   uint64_t address = failure->place.access.address;

   struct gpuval_record record = make_sync_record(site, store, 4, 2);
   record.address[0] += 64;
   EXPECT_EQ(report(record), failure);
   EXPECT_FALSE(failure->same_value);
   EXPECT_STREQ(gpuval_event_severity(failure), "error");
   EXPECT_EQ(failure->count, 2u);
   EXPECT_EQ(failure->place.access.address, address + 64);
   EXPECT_NE(text(failure).find("was a warning so far"), std::string::npos) << text(failure);

   EXPECT_EQ(report(make_sync_record(site + 1, load, 5, 2)), failure);
   EXPECT_FALSE(failure->same_value);
   EXPECT_EQ(failure->count, 3u);
}

TEST_F(sync_test, a_store_that_changes_something_is_read_first)
{
   uint32_t site = add_store();
   shader_side shader(device);
   unsigned work = gpuval_device_begin_work(device);
   for (unsigned i = 0; i < 8; i++) {
      shader.count(site + i % 2);
      EXPECT_TRUE(shader.record(make_sync_record(site + i % 2, load, 8 - i, 2)));
   }
   gpuval_device_end_work(device, work);
   EXPECT_FALSE(event(site)->same_value);
   EXPECT_FALSE(event(site)->was_warning);
   EXPECT_EQ(event(site)->count, 8u);
}

/* Its record was lost: what is known of the other one is not said of it. */
TEST_F(sync_test, a_store_that_changes_something_without_a_record)
{
   uint32_t site = add_store();
   struct gpuval_event *failure = report(make_sync_record(site + 1, load, 3, 2));
   EXPECT_TRUE(failure->has_other);

   unsigned work = gpuval_device_begin_work(device);
   shader_side(device).count(site);
   gpuval_device_end_work(device, work);
   EXPECT_FALSE(failure->same_value);
   EXPECT_FALSE(failure->has_other);
   EXPECT_EQ(failure->count, 2u);
}

TEST_F(sync_test, nobody_known)
{
   struct gpuval_record record = make_sync_record(load, store, 7, 3);
   record.other &= ~(1u << 31);
   const struct gpuval_event *event = report(record);

   EXPECT_FALSE(event->has_other);
   EXPECT_EQ(text(event).find("likely"), std::string::npos);
}

TEST_F(sync_test, other_that_is_no_site)
{
   EXPECT_FALSE(report(make_sync_record(load, load + 4, 7, 3))->has_other);
   EXPECT_FALSE(report(make_sync_record(store, GPUVAL_MAX_SITES - 2, 7, 3))->has_other);
   EXPECT_FALSE(report(make_sync_record(atomic, bounds, 7, 3))->has_other);
}

TEST_F(sync_test, a_load_cannot_be_what_a_load_comes_after)
{
   EXPECT_FALSE(report(make_sync_record(load, load, 7, 3))->has_other);
   EXPECT_FALSE(report(make_sync_record(atomic, atomic, 7, 3))->has_other);
   EXPECT_TRUE(report(make_sync_record(store, load, 7, 3))->has_other);
}

TEST_F(sync_test, other_command_by_its_low_bits)
{
   const uint32_t wrap = 1u << 18;

   /* Before the low bits began anew */
   commands = {wrap - 2, wrap + 5};
   EXPECT_EQ(other_index(report(make_sync_record(load, store, wrap + 5, wrap - 2))), wrap - 2);

   /* Fragments of an earlier draw run late. */
   commands = {5 * wrap - 1, 5 * wrap + 1};
   EXPECT_EQ(other_index(report(make_sync_record(store, store, 5 * wrap - 1, 5 * wrap + 1))),
             5 * wrap + 1);

   /* Too old to be known */
   commands = {9};
   const struct gpuval_event *event = report(make_sync_record(atomic, store, 9, 4));
   EXPECT_TRUE(event->has_other);
   EXPECT_FALSE(event->other.has_command);
}

TEST_F(sync_test, other_command_at_the_first_commands)
{
   commands = {0, 1};
   EXPECT_EQ(other_index(report(make_sync_record(load, store, 0, 0))), 0);
   EXPECT_EQ(other_index(report(make_sync_record(store, load, 1, 0))), 0);
   /* Garbage that would lie before the first one */
   EXPECT_EQ(other_index(report(make_sync_record(atomic, store, 1, 0x3ffff))), -1);
}

TEST_F(sync_test, an_address_is_no_binding)
{
   add_shader({[] {
                 struct gpuval_site site =
                    make_site(GPUVAL_KIND_READ_AFTER_WRITE, GPUVAL_OP_LOAD, 0);
                 site.set = site.binding = -1;
                 return site;
              }()},
              1001);
   uint32_t site = bounds + 1;
   struct gpuval_record record = make_sync_record(site, store, 7, 3);
   record.set = GPUVAL_REPORT_PLAIN;
   const struct gpuval_event *event = report(record);

   EXPECT_STREQ(event->resource.type, "address");
   EXPECT_EQ(event->resource.set, -1);
   EXPECT_EQ(event->place.access.offset, -1);
   EXPECT_NE(text(event).find("load of 4 bytes at address 0x700002040: another invocation"),
             std::string::npos);
}

TEST_F(sync_test, memory_by_address)
{
   struct vk_object_base buffer = {}, memory = {};
   buffer.object_name = (char *)"pool";
   memory.object_name = (char *)"heap";
   gpuval_device_add_memory(device, &memory, 0x700000000, 0x10000);
   gpuval_device_add_buffer(device, &buffer, 0x700002000, 0x100);
   const struct gpuval_event *event = report(make_sync_record(load, store, 7, 3));

   EXPECT_STREQ(event->resource.object_name, "pool");
   EXPECT_EQ(event->resource.object_offset, 0x40);
   EXPECT_STREQ(event->resource.memory_name, "heap");
   EXPECT_EQ(event->resource.memory_offset, 0x2040);

   /* Gone: not named */
   gpuval_device_remove_buffer(device, &buffer);
   event = report(make_sync_record(store, store, 7, 3));
   EXPECT_EQ(event->resource.object, 0u);
   EXPECT_EQ(event->resource.memory_offset, 0x2040);
   gpuval_device_remove_memory(device, &memory);
   event = report(make_sync_record(atomic, store, 7, 3));
   EXPECT_EQ(event->resource.memory, 0u);
}

TEST_F(sync_test, other_that_is_an_indirect_command)
{
   commands = {3};
   const struct gpuval_event *event = report(make_sync_record(store, GPUVAL_INDIRECT_SITE, 7, 3));
   ASSERT_TRUE(event->has_other);
   EXPECT_FALSE(event->other.has_shader);
   EXPECT_EQ(event->other.access.op, GPUVAL_OP_INDIRECT);
   EXPECT_EQ(event->other.command.index, 3);
   EXPECT_NE(text(event).find("likely after the read of the arguments of dispatch 3"),
             std::string::npos);

   /* Reads do not conflict. */
   EXPECT_FALSE(report(make_sync_record(load, GPUVAL_INDIRECT_SITE, 7, 3))->has_other);
}

/* Arguments of commands, and a shader's accesses in the form that the host has */
class indirect_test : public sync_test {
 protected:
   static constexpr uint64_t ADDRESS = 0x700002040;

   bool access(enum gpuval_bloom_type type, uint64_t address, uint32_t epoch, uint64_t *other)
   {
      struct gpuval_bloom_access access = {};
      access.address = address;
      access.size = 4;
      access.type = type;
      access.epoch = epoch;
      access.invocation = 12345;
      access.entry = base + 1;
      access.command_id = 3;
      return gpuval_bloom_access(&device->filter->bloom, &access, other);
   }

   void write(uint64_t address, uint32_t epoch)
   {
      uint64_t other;
      EXPECT_FALSE(access(GPUVAL_BLOOM_STORE, address, epoch, &other));
   }

   void read(uint64_t address, uint32_t epoch, uint32_t size = 12)
   {
      struct gpuval_indirect_read read = {};
      read.address = address;
      read.size = size;
      read.command.command_id = 7;
      read.command.epoch = epoch;
      read.other_epochs[0] = 90;
      read.num_other_epochs = 1;
      gpuval_device_indirect_read(device, &read);
   }
};

TEST_F(indirect_test, after_a_write)
{
   struct vk_object_base buffer = {};
   buffer.object_name = (char *)"arguments";
   gpuval_device_add_buffer(device, &buffer, ADDRESS - 0x40, 0x100);
   commands = {3, 7};
   write(ADDRESS + 8, 1);
   read(ADDRESS, 1);
   read(ADDRESS, 1);
   gpuval_device_remove_buffer(device, &buffer);

   ASSERT_EQ(events().size(), 1u);
   const struct gpuval_event *event = events()[0];
   EXPECT_EQ(event->kind, GPUVAL_KIND_INDIRECT_AFTER_WRITE);
   EXPECT_EQ(event->count, 2u);
   EXPECT_FALSE(event->place.has_shader);
   EXPECT_EQ(event->place.command.index, 7);
   EXPECT_EQ(event->place.access.address, ADDRESS);
   EXPECT_EQ(event->place.access.size, 12);
   EXPECT_STREQ(event->resource.object_name, "arguments");
   EXPECT_EQ(event->resource.object_offset, 0x40);
   ASSERT_TRUE(event->has_other);
   EXPECT_EQ(event->other.access.op, GPUVAL_OP_STORE);
   EXPECT_EQ(event->other.command.index, 3);
   EXPECT_NE(text(event).find("read of the command's arguments, 12 bytes"), std::string::npos);
}

TEST_F(indirect_test, beside_a_write)
{
   write(ADDRESS - 4, 1);
   write(ADDRESS + 12, 1);
   read(ADDRESS, 1);
   write(ADDRESS + 0x100, 1);
   read(ADDRESS + 0x100, 2);
   EXPECT_TRUE(events().empty());
}

/* The last 4 of 20 bytes are in another granule. */
TEST_F(indirect_test, across_granules)
{
   write(ADDRESS + 16, 1);
   read(ADDRESS, 1, 16);
   EXPECT_TRUE(events().empty());
   read(ADDRESS, 1, 20);
   EXPECT_EQ(events().size(), 1u);
}

TEST_F(indirect_test, written_later_in_a_shaders_epoch)
{
   uint64_t other;
   read(ADDRESS, 1);
   EXPECT_TRUE(access(GPUVAL_BLOOM_STORE, ADDRESS, 90, &other));
   EXPECT_EQ(other & (GPUVAL_MAX_ENTRIES - 1), GPUVAL_INDIRECT_ENTRY);
   EXPECT_FALSE(access(GPUVAL_BLOOM_STORE, ADDRESS + 12, 90, &other));
   EXPECT_FALSE(access(GPUVAL_BLOOM_LOAD, ADDRESS + 4, 90, &other));
}

TEST_F(indirect_test, garbage_in_claims)
{
   std::mt19937 random(3);

   for (unsigned i = 0; i < 2000; i++) {
      uint64_t address = ADDRESS + i * 64, *words = (uint64_t *)device->filter->claims.map;
      write(address, 1);
      uint32_t claim = gpuval_bloom_bucket(&device->filter->bloom, address, 1, 0) &
                       device->filter->bloom.claims_mask;
      words[2 * claim] = (words[2 * claim] & ~0xffffffffffull) | random();
      device->root->invocations = random();
      read(address, 1);
   }
   for (const struct gpuval_event *event : events())
      EXPECT_FALSE(text(event).empty());
   EXPECT_FALSE(events().empty());
}

TEST_F(sync_test, garbage_in_a_valid_record)
{
   std::mt19937 random(2);

   for (unsigned i = 0; i < 20000; i++) {
      uint32_t site =
         add_shader({make_site(GPUVAL_KIND_WRITE_AFTER_ACCESS, GPUVAL_OP_STORE, 0)}, 2000 + i % 50);
      struct gpuval_record record = make_record(site, random());
      for (uint32_t *word = &record.offset; word <= &record.other; word++)
         *word = random();
      /* Only the first one of a site makes an event. */
      event(site) = NULL;
      _mesa_hash_table_clear(device->failures->events, NULL);
      EXPECT_FALSE(text(report(record)).empty());
   }
}

} /* namespace */
