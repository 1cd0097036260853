/* SPDX-License-Identifier: MIT */

/* Tables of shaders in binaries that the application keeps: what is read from one is what was
 * written, or is refused, or at least names nothing that is not there.
 */

#include "nir_passes/gpuval_nir.h"
#include "drain_test.h"

#include <random>
#include <string>

#include "core/race/gpuval_race.h"

namespace {

const uint32_t num_sets = 4, num_sites = 11;

class binaries_test : public drain_test {
 protected:
   void SetUp() override
   {
      device = create(false);
      blob_init(&blob);
   }

   void TearDown() override
   {
      blob_finish(&blob);
      drain_test::TearDown();
   }

   static struct gpuval_device *create(bool has_objects)
   {
      struct gpuval_device_info info = {};
      info.winsys = gpuval_winsys_host;
      info.max_sets = num_sets;
      info.max_sites = info.max_entries = 1024;
      info.object_bits = has_objects ? 8 : 0;
      return gpuval_device_create(&info);
   }

   static struct gpuval_nir_use make_use(uint32_t required, uint32_t num_slots, uint8_t flags)
   {
      return {required, 4, num_slots, 1, (uint8_t)(flags | GPUVAL_USE_CONSTANT)};
   }

   /* One of everything that a table may have */
   void fill_table()
   {
      const enum gpuval_kind kinds[] = {
         GPUVAL_KIND_BUFFER_OOB,      GPUVAL_KIND_IMAGE_OOB,     GPUVAL_KIND_UNWRITTEN,
         GPUVAL_KIND_WRONG_TYPE,      GPUVAL_KIND_RESOURCE_RACE, GPUVAL_KIND_UNINITIALIZED_READ,
         GPUVAL_KIND_INVALID_ADDRESS, GPUVAL_KIND_EXPORT_NAN,    GPUVAL_KIND_MESSAGE,
      };
      for (enum gpuval_kind kind : kinds)
         add_site(kind, false);
      add_site(GPUVAL_KIND_WRITE_AFTER_ACCESS, false);
      add_site(GPUVAL_KIND_WRITE_AFTER_ACCESS, true);

      /* The last site is that of the one before. */
      for (uint32_t i = 0; i < num_sites - 1; i++) {
         struct gpuval_nir_entry entry = {};
         entry.first_slot = 4;
         entry.site = entry.instance = i;
         entry.set = i % 2 ? 1 : GPUVAL_REPORT_PLAIN;
         if (i == 2) {
            entry.set = 1;
            entry.flags = GPUVAL_USE_CONSTANT;
         }
         util_dynarray_append_typed(&table.entries, struct gpuval_nir_entry, entry);
      }

      const struct gpuval_nir_use uses[] = {
         make_use(GPUVAL_OFFERS_STORAGE_IMAGE | GPUVAL_OFFERS_2D, 1, 0),
         make_use(GPUVAL_OFFERS_STORAGE_IMAGE, 1, GPUVAL_USE_WRITTEN),
         make_use(GPUVAL_OFFERS_STORAGE_IMAGE,
                  4 | GPUVAL_RACE_USE_IS_WRITE | GPUVAL_OP_STORE << GPUVAL_RACE_USE_OP_SHIFT,
                  GPUVAL_USE_RACE),
      };
      for (const struct gpuval_nir_use &use : uses)
         util_dynarray_append_typed(&table.uses, struct gpuval_nir_use, use);

      static const struct gpuval_nir_argument argument = {GPUVAL_ARGUMENT_INT, 16, 3};
      const struct gpuval_nir_format format = {0x123456789abc, "format %v3d", 1, &argument, 8,
                                               false};
      util_dynarray_append_typed(&table.formats, struct gpuval_nir_format, format);
   }

   void add_site(enum gpuval_kind kind, bool same_value)
   {
      enum gpuval_op op = kind == GPUVAL_KIND_MESSAGE ? GPUVAL_OP_NONE : GPUVAL_OP_STORE;
      struct gpuval_site site = make_site(kind, op, kind);
      site.same_value = same_value;
      site.num_kinds = 1 + (kind == GPUVAL_KIND_WRITE_AFTER_ACCESS);
      util_dynarray_append_typed(&table.sites, struct gpuval_site, site);
   }

   struct gpuval_site *get_site(unsigned i)
   {
      return util_dynarray_element(&table.sites, struct gpuval_site, i);
   }

   struct gpuval_nir_entry *get_entry(unsigned i)
   {
      return util_dynarray_element(&table.entries, struct gpuval_nir_entry, i);
   }

   struct gpuval_nir_use *get_use(unsigned i)
   {
      return util_dynarray_element(&table.uses, struct gpuval_nir_use, i);
   }

   /* The binary of a shader that has what @change has made of the table */
   template <typename Function> void write(Function change)
   {
      const uint32_t spirv[] = {0x07230203, 0x00010300, 0, 1, 0, salt++};
      const struct gpuval_binding binding = {
         1, 1, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 4, 3, 1, 0, false,
      };
      struct gpuval_shader_info info = {};
      void *mem_ctx = ralloc_context(NULL);

      gpuval_nir_table_init(&table, mem_ctx);
      fill_table();
      change();
      info.spirv = spirv;
      info.spirv_size = sizeof(spirv);
      info.hash = gpuval_shader_hash(spirv, sizeof(spirv));
      info.stage = MESA_SHADER_FRAGMENT;
      info.entry = "main";
      info.bindings = &binding;
      info.num_bindings = 1;
      shader = gpuval_device_add_shader(device, &info, &table, key);
      blob_finish(&blob);
      blob_init(&blob);
      gpuval_device_write_shader(device, shader, false, &blob);
      gpuval_shader_release(shader);
      ralloc_free(mem_ctx);
   }

   /* NULL: it is refused. */
   struct gpuval_shader *read(struct gpuval_device *other, const std::vector<uint8_t> &bytes)
   {
      struct blob_reader reader;
      struct gpuval_shader *read;

      blob_reader_init(&reader, bytes.data(), bytes.size());
      bool is_good = gpuval_device_read_shader(other, &reader, &read);
      EXPECT_TRUE(!read == !is_good || (bytes.size() > 4 && !bytes[4]));
      return read;
   }

   std::vector<uint8_t> bytes() const
   {
      return std::vector<uint8_t>(blob.data, blob.data + blob.size);
   }

   template <typename Function> bool is_read(Function change)
   {
      write(change);
      struct gpuval_shader *read = this->read(device, bytes());
      if (read)
         gpuval_shader_release(read);
      return read != NULL;
   }

   /* What a driver does with the shader, and all that it may report */
   void use(struct gpuval_device *other, struct gpuval_shader *shader, std::mt19937 &random)
   {
      uint32_t num_uses;
      const struct gpuval_nir_use *uses = gpuval_shader_uses(shader, &num_uses);
      for (uint32_t i = 0; i < num_uses; i++) {
         ASSERT_LT(uses[i].set, num_sets);
         if (!(uses[i].flags & GPUVAL_USE_RACE))
            continue;
         struct gpuval_race_use race = {};
         race.op = (enum gpuval_op)(uses[i].num_slots >> GPUVAL_RACE_USE_OP_SHIFT);
         ASSERT_LT(race.op, GPUVAL_OP_COUNT);
         race.site = gpuval_shader_site(shader, uses[i].num_slots & GPUVAL_RACE_USE_SITE_MASK);
         race.shader_serial = gpuval_shader_serial(shader);
         gpuval_device_report_race(other, &race, &race);
      }

      const struct gpuval_entry *entries = (const struct gpuval_entry *)other->entries.map;
      for (unsigned i = 0; i < shader->num_entries; i++) {
         const struct gpuval_entry *entry = &entries[shader->entry_base + i];
         ASSERT_TRUE(entry->set < num_sets || entry->set == GPUVAL_REPORT_PLAIN);
         const struct gpuval_site *site = &shader->sites[shader->entries[i].site];
         ASSERT_LE(shader->entries[i].site + site->num_kinds, shader->num_sites);
      }

      shader_side side(other);
      for (unsigned i = 0; i < shader->num_sites; i++) {
         struct gpuval_record record;
         uint32_t *words = (uint32_t *)&record;
         unsigned work = gpuval_device_begin_work(other);

         for (unsigned j = 0; j < sizeof(record) / sizeof(*words); j++)
            words[j] = random();
         record.shader_hash[0] = (uint32_t)shader->module->hash;
         record.shader_hash[1] = (uint32_t)(shader->module->hash >> 32);
         record.site = shader->first_site + i;
         record.stage = gpuval_stage_to_spirv(shader->stage);
         side.count(record.site);
         if (random() % 4)
            side.record(record);
         gpuval_device_end_work(other, work);
      }
   }

   struct blob blob;
   struct gpuval_nir_table table;
   uint32_t salt = 0;
};

TEST_F(binaries_test, all_of_the_table)
{
   write([&] { get_site(9)->by_filter = get_site(10)->by_filter = true; });
   struct gpuval_device *other = create(false);
   struct gpuval_shader *read = this->read(other, bytes());

   ASSERT_NE(read, nullptr);
   EXPECT_EQ(memcmp(read->key, key, sizeof(key)), 0);
   ASSERT_EQ(read->num_sites, num_sites);
   for (unsigned i = 0; i < read->num_sites; i++) {
      EXPECT_EQ(read->sites[i].by_filter, i >= 9) << i;
      EXPECT_EQ(read->sites[i].same_value, i == 10) << i;
   }
   gpuval_shader_release(read);
   gpuval_device_destroy(other);
}

TEST_F(binaries_test, sites_of_stores_that_change_nothing)
{
   EXPECT_TRUE(is_read([&] {}));
   EXPECT_FALSE(is_read([&] { get_site(0)->same_value = true; }));
   EXPECT_FALSE(is_read([&] { get_site(5)->same_value = true; }));
   EXPECT_FALSE(is_read([&] { get_site(9)->same_value = true; }));
   EXPECT_FALSE(is_read([&] { get_site(10)->kind = GPUVAL_KIND_READ_AFTER_WRITE; }));
}

TEST_F(binaries_test, entries)
{
   EXPECT_TRUE(is_read([&] { get_entry(0)->set = num_sets - 1; }));
   EXPECT_FALSE(is_read([&] { get_entry(0)->set = num_sets; }));
   EXPECT_FALSE(is_read([&] { get_entry(0)->set = GPUVAL_REPORT_INLINE; }));
   EXPECT_FALSE(is_read([&] { get_entry(0)->site = num_sites; }));
   /* All the sites of an access are in the table, */
   EXPECT_TRUE(is_read([&] { get_site(3)->num_kinds = 8; }));
   EXPECT_FALSE(is_read([&] { get_site(3)->num_kinds = 9; }));
   EXPECT_FALSE(is_read([&] { get_site(3)->num_kinds = UINT32_MAX; }));
   /* and the descriptor that one names is in the layout. */
   EXPECT_TRUE(is_read([&] { get_entry(2)->first_slot = 6; }));
   EXPECT_FALSE(is_read([&] { get_entry(2)->first_slot = 7; }));
   EXPECT_FALSE(is_read([&] { get_entry(2)->set = 0; }));
}

TEST_F(binaries_test, uses)
{
   for (unsigned i = 0; i < 3; i++) {
      EXPECT_TRUE(is_read([&] { get_use(i)->first_slot = 6; })) << i;
      EXPECT_FALSE(is_read([&] { get_use(i)->first_slot = 7; })) << i;
      EXPECT_FALSE(is_read([&] { get_use(i)->first_slot = UINT32_MAX; })) << i;
      EXPECT_FALSE(is_read([&] { get_use(i)->set = num_sets; })) << i;
      EXPECT_FALSE(is_read([&] { get_use(i)->set = 200; })) << i;
      EXPECT_FALSE(is_read([&] {
         get_use(i)->required = GPUVAL_OFFERS_STORAGE_BUFFER;
         get_use(i)->flags &= ~GPUVAL_USE_CONSTANT;
      })) << i;
      /* Of init it may be a whole array, unless that is of buffers. */
      EXPECT_EQ(is_read([&] {
                   get_use(i)->required = GPUVAL_OFFERS_STORAGE_IMAGE;
                   get_use(i)->flags &= ~GPUVAL_USE_CONSTANT;
                }),
                i == 1)
         << i;
   }
   /* Two types at once, of which the descriptor has one */
   EXPECT_FALSE(is_read([&] { get_use(1)->required |= GPUVAL_OFFERS_UNIFORM_BUFFER; }));
   EXPECT_FALSE(is_read([&] { get_use(2)->required = 0; }));
   EXPECT_FALSE(is_read([&] { get_use(2)->num_slots |= 15u << GPUVAL_RACE_USE_OP_SHIFT; }));
   EXPECT_FALSE(is_read([&] { get_use(2)->num_slots |= 0xff; }));
   EXPECT_FALSE(is_read([&] { get_use(2)->num_slots++; })); /* not a site of races */
}

TEST_F(binaries_test, arguments_of_messages)
{
   static const struct gpuval_nir_argument bad[] = {
      {GPUVAL_ARGUMENT_INT, 0, 1},         {GPUVAL_ARGUMENT_INT, 65, 1},
      {GPUVAL_ARGUMENT_INT, 128, 1},       {GPUVAL_ARGUMENT_INT, 32, 17},
      {GPUVAL_ARGUMENT_TYPE_COUNT, 32, 1},
   };
   for (const struct gpuval_nir_argument &argument : bad)
      EXPECT_FALSE(is_read([&] {
         util_dynarray_element(&table.formats, struct gpuval_nir_format, 0)->arguments = &argument;
      }));
}

/* Any bytes anywhere: refused or used, never a crash. */
TEST_F(binaries_test, damaged)
{
   write([&] {});
   const std::vector<uint8_t> whole = bytes();
   std::mt19937 random(5);

   for (bool has_objects : {false, true}) {
      struct gpuval_device *other = create(has_objects);
      unsigned num_read = 0;

      for (unsigned i = 0; i < 4000; i++) {
         std::vector<uint8_t> damaged = whole;
         for (unsigned j = 0; j < 1 + i % 3; j++) {
            size_t at = random() % damaged.size();
            uint8_t values[] = {0,
                                1,
                                0xff,
                                (uint8_t)random(),
                                (uint8_t)(damaged[at] + 1),
                                (uint8_t)(damaged[at] ^ 1u << random() % 8)};
            damaged[at] = values[random() % sizeof(values)];
         }
         if (i % 16 == 0)
            damaged.resize(random() % damaged.size());

         struct gpuval_shader *read = this->read(other, damaged);
         if (!read)
            continue;
         num_read++;
         use(other, read, random);
         gpuval_shader_release(read);
      }
      EXPECT_GT(num_read, 500u);
      gpuval_device_destroy(other);
   }
}

} /* namespace */
