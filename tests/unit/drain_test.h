/* SPDX-License-Identifier: MIT */

/* A device without a driver, and threads in the place of shaders. */

#ifndef DRAIN_TEST_H
#define DRAIN_TEST_H

#include "core/events/gpuval_drain.h"
#include "core/shaders/gpuval_shader.h"
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <vector>

#include "core/device/gpuval_device.h"

/* docs/protocols.rst, "Control block": what the shaders do. */
class shader_side {
 public:
   shader_side(struct gpuval_device *device): root(device->root)
   {
   }

   void count(uint32_t site)
   {
      if (!counters()[site].fetch_add(1)) {
         uint32_t number = __atomic_fetch_add(&root->num_failing, 1, __ATOMIC_RELAXED);
         if (number < root->max_failing)
            __atomic_store_n((uint32_t *)root->failing_address + number, site, __ATOMIC_RELAXED);
      }
      __atomic_store_n(&root->poll.failed, 1, __ATOMIC_RELAXED);
   }

   /* Returns whether a slot was free, and there was none of that record. */
   bool record(const struct gpuval_record &record)
   {
      for (unsigned attempt = 0; attempt < GPUVAL_SLOT_TRIES; attempt++) {
         uint32_t slot = gpuval_slot(record.site, record.shader_hash[0], record.shader_hash[1],
                                     record.command_id, attempt);
         uint32_t bit = 1u << (slot & 15);

         if (!(control()[slot >> 4].fetch_or(bit) & bit)) {
            store(&slots()->records[slot], record);
            control()[slot >> 4].fetch_or(bit << 16);
            __atomic_store_n(&root->poll.failed, 1, __ATOMIC_RELEASE);
            return true;
         }
         const struct gpuval_record &old = slots()->records[slot];
         if (control()[slot >> 4] & bit << 16 &&
             __atomic_load_n(&old.site, __ATOMIC_RELAXED) == record.site &&
             __atomic_load_n(&old.command_id, __ATOMIC_RELAXED) == record.command_id)
            return false;
      }
      return false;
   }

   /* Shaders look at records while others write them. */
   static void store(struct gpuval_record *to, const struct gpuval_record &record)
   {
      const uint32_t *words = (const uint32_t *)&record;
      for (unsigned i = 0; i < sizeof(record) / sizeof(*words); i++)
         __atomic_store_n((uint32_t *)to + i, words[i], __ATOMIC_RELAXED);
   }

   struct gpuval_slots *slots()
   {
      return (struct gpuval_slots *)__atomic_load_n(&root->slots_address, __ATOMIC_ACQUIRE);
   }

   std::atomic<uint32_t> *control()
   {
      return (std::atomic<uint32_t> *)slots()->control;
   }

   std::atomic<uint64_t> *counters()
   {
      return (std::atomic<uint64_t> *)root->counters_address;
   }

   struct gpuval_root *root;
};

class drain_test : public ::testing::Test {
 protected:
   static void SetUpTestSuite()
   {
      setenv("GPUVAL", "bounds,assume,sync,printf", 1);
      setenv("GPUVAL_LOG", "/dev/null", 1);
      gpuval_init(false);
   }

   void SetUp() override
   {
      create_device(0);
   }

   std::vector<const struct gpuval_event *> events()
   {
      std::vector<const struct gpuval_event *> events;
      if (!device->failures->events)
         return events;
      hash_table_foreach (device->failures->events, entry)
         events.push_back((const struct gpuval_event *)entry->data);
      return events;
   }

   /* @max_numbers: of sites and of entries; 0: as many as there can be. */
   void create_device(uint32_t max_numbers, bool has_shadow = false, bool clear_when_idle = false)
   {
      struct gpuval_device_info info = {};
      info.winsys = gpuval_winsys_host;
      info.has_shadow = has_shadow;
      info.clear_when_idle = clear_when_idle;
      info.max_sites = info.max_entries = max_numbers;
      info.describe_command = describe_command;
      info.data = this;
      device = gpuval_device_create(&info);
      ASSERT_NE(device, nullptr);
   }

   void TearDown() override
   {
      gpuval_device_destroy(device);
   }

   static bool describe_command(void *data, uint32_t id, mesa_shader_stage stage,
                                struct gpuval_command *command)
   {
      drain_test *test = (drain_test *)data;
      if (!test->commands.count(id))
         return false;
      command->op = "dispatch";
      command->index = id;
      command->has_draws = test->has_draws;
      return true;
   }

   static struct gpuval_site make_site(enum gpuval_kind kind, enum gpuval_op op, unsigned number)
   {
      struct gpuval_site site = {};
      site.kind = kind;
      site.op = op;
      site.spirv_offset = 20 + 4 * number;
      site.set = 0;
      site.binding = 1;
      return site;
   }

   /* A shader with @count sites, each of another SPIR-V offset. @salt makes
    * another module.
    */
   uint32_t add_shader(unsigned count, uint32_t salt)
   {
      std::vector<struct gpuval_site> sites;
      for (unsigned i = 0; i < count; i++)
         sites.push_back(make_site(GPUVAL_KIND_BUFFER_OOB, GPUVAL_OP_LOAD, i));
      return add_shader(sites, salt);
   }

   uint32_t add_shader(const std::vector<struct gpuval_site> &sites, uint32_t salt)
   {
      /* Sites are told apart by where they are in it. */
      const uint32_t spirv[64] = {0x07230203, 0x00010300, 0, 1, 0, salt};
      struct gpuval_nir_table table;
      void *mem_ctx = ralloc_context(NULL);
      gpuval_nir_table_init(&table, mem_ctx);
      for (unsigned i = 0; i < sites.size(); i++) {
         util_dynarray_append_typed(&table.sites, struct gpuval_site, sites[i]);
         struct gpuval_nir_entry entry = {4 * i, 4, i, i};
         util_dynarray_append_typed(&table.entries, struct gpuval_nir_entry, entry);
      }

      static const struct gpuval_nir_argument argument = {GPUVAL_ARGUMENT_INT, 16, 3};
      struct gpuval_nir_format format = {0x123456789abc, "format %v3d", 1, &argument, 0, false};
      util_dynarray_append_typed(&table.formats, struct gpuval_nir_format, format);

      struct gpuval_shader_info info = {};
      info.spirv = spirv;
      info.spirv_size = sizeof(spirv);
      info.hash = gpuval_shader_hash(spirv, sizeof(spirv));
      info.stage = stage;
      info.entry = "main";
      shader = gpuval_device_add_shader(device, &info, &table, key);
      hash = gpuval_shader_hash(spirv, sizeof(spirv));
      ralloc_free(mem_ctx);
      if (!shader)
         return ~0u;

      base = gpuval_shader_entry_base(shader);
      const struct gpuval_entry *entries =
         (const struct gpuval_entry *)device->root->entries_address;
      return entries[base].site;
   }

   struct gpuval_record make_record(uint32_t site, uint32_t command_id)
   {
      struct gpuval_record record = {};
      record.shader_hash[0] = (uint32_t)hash;
      record.shader_hash[1] = (uint32_t)(hash >> 32);
      record.site = site;
      record.command_id = command_id;
      record.stage = gpuval_stage_to_spirv(stage);
      record.invocation[0] = site * 3;
      record.offset = site * 5;
      record.access_size = 4;
      record.bound = 16;
      return record;
   }

   struct gpuval_event *&event(uint32_t site)
   {
      const struct gpuval_shader *shader = gpuval_device_site_shader(device, site);
      return shader->states[site - shader->first_site].event;
   }

   struct gpuval_device *device = NULL;
   struct gpuval_shader *shader = NULL; /* the last one */
   uint8_t key[GPUVAL_SHADER_KEY_SIZE];
   uint32_t base = 0;
   uint64_t hash = 0;
   std::set<uint32_t> commands; /* that are known */
   bool has_draws = false;
   mesa_shader_stage stage = MESA_SHADER_COMPUTE;
};

#endif
