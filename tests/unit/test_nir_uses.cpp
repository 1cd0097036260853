/* SPDX-License-Identifier: MIT */

/* What is wrong with a descriptor is found out in three ways, which have to agree: by the look-up
 * in a shader, by the short one for constant slots, and by the host when a command is recorded.
 */

#include "nir_passes_test.h"

#include <random>

#include "core/descriptors/gpuval_objects.h"
#include "core/descriptors/gpuval_use.h"
#include "nir_run.h"

namespace {

constexpr unsigned index_bits = 13;

struct gpuval_descriptor descriptor;
std::vector<struct gpuval_object> objects_table(1u << index_bits);
uint32_t results[4];

nir_def *
load_descriptor(nir_builder *b)
{
   return nir_build_load_global(b, 4, 32, nir_imm_int64(b, (uintptr_t)&descriptor),
                                .align_mul = 16);
}

struct gpuval_nir_descriptors
make_descriptors()
{
   struct gpuval_nir_descriptors descriptors = {};
   descriptors.object_index_bits = index_bits;
   descriptors.load = [](const struct gpuval_nir_driver *, nir_builder *b, nir_def *, nir_def *) {
      return load_descriptor(b);
   };
   descriptors.load_constant = [](const struct gpuval_nir_driver *, nir_builder *b, uint32_t,
                                  uint32_t) { return load_descriptor(b); };
   descriptors.variable_count = [](const struct gpuval_nir_driver *, nir_builder *b, nir_def *) {
      return nir_imm_int(b, 1);
   };
   descriptors.objects_address = [](const struct gpuval_nir_driver *, nir_builder *b) {
      return nir_imm_int64(b, (uintptr_t)objects_table.data());
   };
   descriptors.load_id = [](const struct gpuval_nir_driver *, nir_builder *b, nir_def *id) {
      nir_def *index = nir_u2u64(b, nir_iand_imm(b, id, BITFIELD_MASK(index_bits)));
      nir_def *offset = nir_imul_imm(b, index, sizeof(struct gpuval_object));
      nir_def *table = nir_imm_int64(b, (uintptr_t)objects_table.data());
      return nir_build_load_global(b, 1, 32, nir_iadd(b, table, offset), .align_mul = 4);
   };
   return descriptors;
}

class nir_uses_test : public nir_passes_test {
 protected:
   nir_uses_test()
   {
      descriptors = make_descriptors();
      driver = test_driver;
      driver.descriptors = &descriptors;
      for (struct gpuval_object &object : objects_table)
         object = {};
      objects = gpuval_objects_create(objects_table.data(), 0x1000, index_bits, false);
      for (struct vk_object_base *base : {&alive, &dead}) {
         *base = {};
         base->type = VK_OBJECT_TYPE_IMAGE;
         gpuval_objects_add(objects, base, NULL, NULL);
      }
      ids = {gpuval_objects_unknown(objects), alive.gpuval_id, dead.gpuval_id};
      gpuval_objects_remove(objects, &dead);
   }

   ~nir_uses_test()
   {
      gpuval_objects_destroy(objects);
   }

   unsigned any(unsigned count)
   {
      return random() % count;
   }

   uint32_t any_of(uint32_t bits)
   {
      for (unsigned i = any(util_bitcount(bits)); i > 0; i--)
         bits &= bits - 1;
      return bits & -bits;
   }

   enum pipe_format any_format()
   {
      static const enum pipe_format formats[] = {
         PIPE_FORMAT_R8_UNORM,  PIPE_FORMAT_R16_UINT,           PIPE_FORMAT_R32_UINT,
         PIPE_FORMAT_R32_SINT,  PIPE_FORMAT_R8G8B8A8_UNORM,     PIPE_FORMAT_R32G32_UINT,
         PIPE_FORMAT_R32_FLOAT, PIPE_FORMAT_R16G16B16A16_FLOAT, PIPE_FORMAT_R32G32B32A32_SINT,
      };
      return formats[any(ARRAY_SIZE(formats))];
   }

   uint32_t any_view()
   {
      return any_of(GPUVAL_OFFERS_DIMENSIONS) |
             any_of(GPUVAL_OFFERS_NO_ARRAY | GPUVAL_OFFERS_ARRAY) |
             any_of(GPUVAL_OFFERS_ONE_SAMPLE | GPUVAL_OFFERS_MULTISAMPLED) |
             any_of(GPUVAL_OFFERS_CLASSES) | any_of(GPUVAL_OFFERS_32_BIT | GPUVAL_OFFERS_64_BIT);
   }

   /* What an access may want */
   struct gpuval_nir_use any_use()
   {
      struct gpuval_nir_use use = {};
      use.num_slots = 1;
      use.flags = GPUVAL_USE_CONSTANT;
      use.required = any_of(GPUVAL_OFFERS_TYPES);
      if (use.required & (GPUVAL_OFFERS_SAMPLED_IMAGE | GPUVAL_OFFERS_STORAGE_IMAGE |
                          GPUVAL_OFFERS_INPUT_ATTACHMENT))
         use.required |= any_view() & (any(4) ? ~0u : ~GPUVAL_OFFERS_CLASSES);
      if (use.required & GPUVAL_OFFERS_SAMPLED_IMAGE && any(2))
         use.required |= GPUVAL_OFFERS_SAMPLER;
      if (use.required & GPUVAL_OFFERS_STORAGE_IMAGE && any(2))
         use.required |= (uint32_t)any_format() << GPUVAL_USE_FORMAT_SHIFT;
      if (use.required & GPUVAL_OFFERS_STORAGE_IMAGE && !any(3))
         use.required |= GPUVAL_OFFERS_ATOMICS;
      return use;
   }

   uint32_t any_id()
   {
      return ids[any(ids.size())];
   }

   /* Near to what @use wants, for most of what is random is wrong in many ways */
   struct gpuval_descriptor any_descriptor(const struct gpuval_nir_use *use)
   {
      struct gpuval_descriptor d = {};
      if (!any(10))
         return d;
      d.object = any_id();
      d.sampler = any_id();
      if (!any(10)) { /* null */
         d.offers = ~0u;
         d.format = ~0u;
         return d;
      }
      const uint32_t wanted = use->required >> GPUVAL_USE_FORMAT_SHIFT;
      const enum pipe_format format = wanted && any(3) ? (enum pipe_format)wanted : any_format();
      d.offers = any(4) ? use->required & (GPUVAL_OFFERS_TYPES | GPUVAL_OFFERS_VIEWS)
                        : any_of(GPUVAL_OFFERS_TYPES) | any_view();
      if (!any(3))
         d.offers = (d.offers & ~GPUVAL_OFFERS_CLASSES) | any_of(GPUVAL_OFFERS_CLASSES);
      if (!any(4))
         d.offers &= ~any_of(GPUVAL_OFFERS_TYPES | GPUVAL_OFFERS_VIEWS);
      d.offers |= gpuval_offers_of_texel(util_format_get_blocksize(format));
      d.format = gpuval_format_bits(format);
      return d;
   }

   void store(unsigned index, nir_def *value)
   {
      nir_build_store_global(b, value, nir_imm_int64(b, (uintptr_t)&results[index]),
                             .align_mul = 4);
   }

   void build(const struct gpuval_nir_use *use)
   {
      b->cursor = nir_after_impl(b->impl);
      const struct gpuval_nir_use_params params = {
         .set = nir_imm_int(b, 0),
         .slot = nir_imm_int(b, 0),
         .required = nir_imm_int(b, use->required),
         .first_slot = nir_imm_int(b, 0),
         .num_slots = nir_imm_int(b, 1),
         .is_constant = nir_imm_true(b),
         .is_variable = nir_imm_false(b),
         .texel = nir_imm_int(b, gpuval_nir_texel_of_use(use->required)),
         .may_require = use->required,
      };
      struct gpuval_nir_verdict verdict = gpuval_nir_build_use(b, &driver, &params);
      store(0, nir_b2i32(b, gpuval_nir_is_bad(b, &verdict)));
      store(1, nir_b2i32(b, verdict.harmful));

      struct gpuval_nir_constant_use constant = {};
      ASSERT_TRUE(gpuval_nir_build_constant_use(b, &driver, use, &constant));
      store(2, nir_b2i32(b, nir_ine_imm(b, constant.bad, 0)));
      store(3, nir_b2i32(b, nir_ine_imm(b, constant.harmful, 0)));
      nir_index_ssa_defs(b->impl);
      nir_validate_shader(b->shader, "uses");
   }

   void start_again()
   {
      ralloc_free(b->shader);
      static const nir_shader_compiler_options compiler_options = {};
      bld = nir_builder_init_simple_shader(MESA_SHADER_COMPUTE, &compiler_options, "test");
   }

   std::mt19937 random{1};
   struct gpuval_nir_descriptors descriptors;
   struct gpuval_nir_driver driver;
   struct gpuval_objects *objects;
   struct vk_object_base alive, dead;
   std::vector<uint32_t> ids;
};

TEST_F(nir_uses_test, all_ways_find_the_same)
{
   unsigned num_bad = 0, num_harmful = 0, num_good = 0;

   for (unsigned i = 0; i < 600; i++) {
      start_again();
      const struct gpuval_nir_use use = any_use();
      build(&use);
      for (unsigned j = 0; j < 50; j++) {
         descriptor = any_descriptor(&use);
         SCOPED_TRACE(testing::Message()
                      << std::hex << "required " << use.required << ", object " << descriptor.object
                      << ", offers " << descriptor.offers << ", sampler " << descriptor.sampler
                      << ", format " << descriptor.format);
         nir_run run(b->impl);

         bool harmful = false;
         const bool bad = gpuval_use_is_bad(objects, &use, &descriptor, &harmful);
         ASSERT_EQ(bad, results[0] != 0);
         ASSERT_EQ(bad, results[2] != 0);
         ASSERT_EQ(harmful, results[1] != 0);
         ASSERT_EQ(harmful, results[3] != 0);
         num_good += !bad;
         num_bad += bad && !harmful;
         num_harmful += harmful;
      }
   }
   EXPECT_GT(num_good, 500u);
   EXPECT_GT(num_bad, 500u);
   EXPECT_GT(num_harmful, 500u);
}

/* A slot that the set does not have has no descriptor. */
TEST_F(nir_uses_test, none)
{
   const struct gpuval_nir_use use = any_use();
   bool harmful = false;

   EXPECT_TRUE(gpuval_use_is_bad(objects, &use, NULL, &harmful));
   EXPECT_TRUE(harmful);
}

} // namespace
