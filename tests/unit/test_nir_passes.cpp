/* SPDX-License-Identifier: MIT */

/* The passes, on shaders of a few instructions. */

#include "nir_passes_test.h"

#include "util/blob.h"
#include "nir_serialize.h"

namespace {

struct range_case {
   uint32_t offset;
   unsigned components;
   unsigned bit_size;
   bool outside;
};

class nir_range_test : public nir_passes_test,
                       public ::testing::WithParamInterface<struct range_case> {};

TEST_P(nir_range_test, load)
{
   load(ssbo(), nir_imm_int(b, GetParam().offset), GetParam().components, GetParam().bit_size);
   EXPECT_EQ(fails(), GetParam().outside);
}

INSTANTIATE_TEST_SUITE_P(
   ranges, nir_range_test,
   ::testing::Values(range_case{0, 1, 32, false}, range_case{252, 1, 32, false},
                     range_case{253, 1, 32, true}, range_case{256, 1, 32, true},
                     range_case{0xfffffffc, 1, 32, true}, range_case{240, 4, 32, false},
                     range_case{244, 4, 32, true}, range_case{255, 1, 8, false},
                     range_case{256, 1, 8, true}, range_case{254, 1, 16, false},
                     range_case{255, 1, 16, true}, range_case{248, 1, 64, false},
                     range_case{252, 1, 64, true}, range_case{224, 4, 64, false},
                     range_case{0xfffffff8, 4, 64, true}));

TEST_F(nir_passes_test, nothing_to_check)
{
   any_offset();
   EXPECT_FALSE(run());
   EXPECT_TRUE(reports().empty());
   EXPECT_EQ(num_sites(), 0u);
}

TEST_F(nir_passes_test, reports_wait_for_each_other_but_for_no_barrier)
{
   nir_def *offset = any_offset();
   load(ssbo(0), offset);
   load(ssbo(1), offset);
   nir_barrier(b, .execution_scope = SCOPE_WORKGROUP);
   load(ssbo(2), offset);
   EXPECT_TRUE(run());

   std::vector<nir_intrinsic_op> order;
   nir_foreach_instr (instr, nir_start_block(b->impl)) {
      if (instr->type == nir_instr_type_intrinsic &&
          (nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_report_gpuval ||
           nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_barrier ||
           nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_load_ssbo))
         order.push_back(nir_instr_as_intrinsic(instr)->intrinsic);
   }
   EXPECT_EQ(order,
             (std::vector<nir_intrinsic_op>{nir_intrinsic_load_ssbo, nir_intrinsic_load_ssbo,
                                            nir_intrinsic_report_gpuval,
                                            nir_intrinsic_report_gpuval, nir_intrinsic_barrier,
                                            nir_intrinsic_load_ssbo, nir_intrinsic_report_gpuval}));
   EXPECT_EQ(site(0).kind, GPUVAL_KIND_BUFFER_OOB);
   EXPECT_EQ(site(0).op, GPUVAL_OP_LOAD);
   EXPECT_EQ(site(0).set, 1);
   EXPECT_EQ(site(0).binding, 0);
}

TEST_F(nir_passes_test, accesses_of_one_base_are_one_check)
{
   nir_def *offset = any_offset();
   load(ssbo(), nir_iadd_imm(b, offset, 8));
   load(ssbo(), nir_iadd_imm(b, offset, 4), 2);
   load(ssbo(), offset);
   run();

   auto list = reports();
   ASSERT_EQ(list.size(), 1u);
   EXPECT_EQ(nir_intrinsic_range(list[0]), 3);
   ASSERT_EQ(num_entries(), 3u);
   EXPECT_EQ(entry(0).offset, 8u);
   EXPECT_EQ(entry(1).offset, 4u);
   EXPECT_EQ(entry(1).size, 8u);
   EXPECT_EQ(entry(2).offset, 0u);
}

TEST_F(nir_passes_test, scaled_indices_are_linear)
{
   nir_def *index = any_offset();
   load(ssbo(), nir_imul_imm(b, nir_iadd_imm(b, index, 1), 12));
   load(ssbo(), nir_iadd_imm(b, nir_imul_imm(b, index, 12), 4));
   run();

   ASSERT_EQ(reports().size(), 1u);
   EXPECT_EQ(entry(0).offset, 8u);
   EXPECT_EQ(entry(1).offset, 0u);
}

TEST_F(nir_passes_test, other_bases_and_other_buffers_are_other_checks)
{
   nir_def *offset = any_offset();
   load(ssbo(0), offset);
   load(ssbo(1), offset);
   load(ssbo(0), nir_imul_imm(b, offset, 2));
   load(ssbo(0, any_offset()), offset);
   run();
   EXPECT_EQ(reports().size(), 4u);
}

TEST_F(nir_passes_test, terminate_ends_a_group)
{
   nir_def *offset = any_offset();
   load(ssbo(), offset);
   nir_terminate_if(b, nir_ieq_imm(b, offset, 3));
   load(ssbo(), nir_iadd_imm(b, offset, 4));
   run();
   EXPECT_EQ(reports().size(), 2u);
}

TEST_F(nir_passes_test, blocks_are_checked_apart)
{
   nir_def *offset = any_offset();
   load(ssbo(), offset);
   nir_push_if(b, nir_ieq_imm(b, offset, 3));
   load(ssbo(), nir_iadd_imm(b, offset, 4));
   nir_pop_if(b, NULL);
   run();
   EXPECT_EQ(reports().size(), 2u);
}

TEST_F(nir_passes_test, store_counts_the_bytes_it_writes)
{
   nir_store_ssbo(b, nir_imm_ivec4(b, 1, 2, 3, 4), ssbo(), nir_imm_int(b, 244), .write_mask = 0x6,
                  .align_mul = 4);
   EXPECT_FALSE(fails());
   EXPECT_EQ(entry(0).size, 8u);
   EXPECT_EQ(site(0).op, GPUVAL_OP_STORE);
}

TEST_F(nir_passes_test, store_past_the_end)
{
   nir_store_ssbo(b, nir_imm_ivec4(b, 1, 2, 3, 4), ssbo(), nir_imm_int(b, 244), .write_mask = 0x8,
                  .align_mul = 4);
   EXPECT_TRUE(fails());
   EXPECT_EQ(entry(0).size, 4u);
}

TEST_F(nir_passes_test, atomics)
{
   nir_ssbo_atomic(b, 32, ssbo(), nir_imm_int(b, 256), nir_imm_int(b, 1),
                   .atomic_op = nir_atomic_op_iadd);
   EXPECT_TRUE(fails());
   EXPECT_EQ(site(0).op, GPUVAL_OP_ATOMIC);
}

TEST_F(nir_passes_test, robustness_by_kind_of_buffer)
{
   options.robust_storage = true;
   load(ssbo(), nir_imm_int(b, 256));
   nir_load_ubo(b, 1, 32, buffer(1, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER), nir_imm_int(b, 256),
                .align_mul = 4, .range = ~0u);
   run();
   ASSERT_EQ(reports().size(), 1u);
   EXPECT_EQ(site(0).binding, 1);
}

TEST_F(nir_passes_test, inline_block_proven_by_its_layout)
{
   nir_load_ubo(b, 1, 32, buffer(9, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER), nir_imm_int(b, 60),
                .align_mul = 4, .range = ~0u);
   EXPECT_FALSE(run());
   EXPECT_TRUE(reports().empty());
}

TEST_F(nir_passes_test, inline_block_outside_is_reported_and_made_safe)
{
   nir_load_ubo(b, 1, 32, buffer(9, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER), nir_imm_int(b, 64),
                .align_mul = 4, .range = ~0u);
   EXPECT_TRUE(fails());
   auto loads = find(nir_intrinsic_load_ubo);
   ASSERT_EQ(loads.size(), 1u);
   ASSERT_TRUE(nir_src_is_const(loads[0]->src[1]));
   EXPECT_GT(nir_src_as_uint(loads[0]->src[1]), 0x10000000u);
}

TEST_F(nir_passes_test, inline_block_is_left_alone_when_not_safe)
{
   options.safe = false;
   nir_load_ubo(b, 1, 32, buffer(9, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER), nir_imm_int(b, 64),
                .align_mul = 4, .range = ~0u);
   EXPECT_TRUE(fails());
   EXPECT_EQ(nir_src_as_uint(find(nir_intrinsic_load_ubo)[0]->src[1]), 64u);
}

TEST_F(nir_passes_test, copies_and_pieces)
{
   nir_def *offset = any_offset();
   for (unsigned i = 0; i < 2; i++) {
      at_spirv_offset(420);
      load(ssbo(), nir_iadd_imm(b, offset, 64 * i));
      load(ssbo(), nir_iadd_imm(b, offset, 64 * i + 8));
   }
   run();
   ASSERT_EQ(num_entries(), 4u);
   EXPECT_EQ(num_sites(), 1u);
   EXPECT_EQ(entry(0).instance, entry(1).instance);
   EXPECT_NE(entry(1).instance, entry(2).instance);
   EXPECT_EQ(entry(2).instance, entry(3).instance);
}

TEST_F(nir_passes_test, accesses_of_unknown_origin_stand_alone)
{
   nir_def *offset = any_offset();
   load(ssbo(), offset);
   load(ssbo(), nir_iadd_imm(b, offset, 8));
   run();
   EXPECT_EQ(num_sites(), 2u);
   EXPECT_NE(entry(0).instance, entry(1).instance);
}

TEST_F(nir_passes_test, unrolled_copies_are_one_site)
{
   for (unsigned i = 0; i < 3; i++) {
      at_spirv_offset(420);
      load(ssbo(), nir_imul_imm(b, any_offset(), 4 + i));
   }
   run();
   EXPECT_EQ(reports().size(), 3u);
   ASSERT_EQ(num_sites(), 1u);
   EXPECT_EQ(site(0).spirv_offset, 420u);

   nir_foreach_instr (instr, nir_start_block(b->impl))
      EXPECT_FALSE(gpuval_is_marker(instr));
}

TEST_F(nir_passes_test, assume)
{
   gpuval_nir_emit_assume(b, nir_ieq_imm(b, any_offset(), 3), 100);
   run();
   EXPECT_TRUE(find(nir_intrinsic_assume_gpuval).empty());
   ASSERT_EQ(reports().size(), 1u);
   EXPECT_EQ(site(0).kind, GPUVAL_KIND_ASSUMPTION_FAILED);
   EXPECT_EQ(site(0).spirv_offset, 100u);
}

TEST_F(nir_passes_test, assumption_known_to_be_true)
{
   gpuval_nir_emit_assume(b, nir_imm_true(b), 100);
   run();
   EXPECT_TRUE(find(nir_intrinsic_assume_gpuval).empty());
   EXPECT_TRUE(reports().empty());
}

TEST_F(nir_passes_test, checks_that_are_off_leave_nothing)
{
   options.checks = 0;
   load(ssbo(), nir_imm_int(b, 256));
   gpuval_nir_emit_assume(b, nir_imm_false(b), 100);
   run();
   EXPECT_TRUE(reports().empty());
   EXPECT_TRUE(find(nir_intrinsic_assume_gpuval).empty());
}

/* What a report does can be seen in the scenarios; here, that it is valid NIR
 * and that it counts before it claims, and claims before it publishes.
 */
/* As lavapipe does: a size is a load, too */
nir_def *
loaded_size(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   return nir_load_ubo(b, 1, 32, set, slot, .align_mul = 4, .range = ~0u);
}

nir_def *
zero(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return nir_imm_int(b, 0);
}

TEST_F(nir_passes_test, what_a_check_emits_is_no_access_for_others)
{
   struct gpuval_nir_driver driver = test_driver;
   driver.buffer_size = loaded_size;
   driver.epoch = driver.sync_flags = driver.epoch_command = zero;
   options.driver = &driver;
   options.checks |= BITFIELD_BIT(GPUVAL_CHECK_SYNC);

   load(ssbo(), any_offset());
   EXPECT_TRUE(run());
   EXPECT_GT(find(nir_intrinsic_load_ubo).size(), 0u);
   EXPECT_EQ(reports().size(), 1u);
   EXPECT_EQ(find(nir_intrinsic_sync_gpuval).size(), 1u);
}

nir_def *
slot_of_index(const struct gpuval_nir_driver *driver, nir_builder *b, nir_intrinsic_instr *intrin)
{
   return nir_chase_binding(*gpuval_nir_index_src(intrin)).indices[0].ssa;
}

/* As drivers have it: the first invocation's, unless something says that they may differ. */
TEST_F(nir_passes_test, slots_are_taken_as_uniform)
{
   struct gpuval_nir_driver driver = test_driver;
   driver.epoch = driver.sync_flags = driver.epoch_command = zero;
   driver.slot = slot_of_index;
   driver.broadcasts = true;
   options.driver = &driver;
   options.checks = BITFIELD_BIT(GPUVAL_CHECK_SYNC);

   load(ssbo(), any_offset());
   load(ssbo(1, any_offset()), any_offset());
   nir_load_ssbo(b, 1, 32, ssbo(2, any_offset()), any_offset(), .access = ACCESS_NON_UNIFORM,
                 .align_mul = 4);
   /* vtn forgets what is said of an atomic's pointer. */
   nir_ssbo_atomic(b, 32, ssbo(3, any_offset()), any_offset(), nir_imm_int(b, 1),
                   .atomic_op = nir_atomic_op_iadd);
   EXPECT_TRUE(run());
   EXPECT_EQ(find(nir_intrinsic_sync_gpuval).size(), 4u);
   auto uniform = find(nir_intrinsic_as_uniform);
   ASSERT_EQ(uniform.size(), 1u);
   auto resources = find(nir_intrinsic_vulkan_resource_index);
   EXPECT_EQ(uniform[0]->src[0].ssa, resources[1]->src[0].ssa);
}

TEST_F(nir_passes_test, what_differs_on_a_driver_stays)
{
   struct gpuval_nir_driver driver = test_driver;
   driver.epoch = driver.sync_flags = driver.epoch_command = zero;
   driver.slot = slot_of_index;
   options.driver = &driver;
   options.checks = BITFIELD_BIT(GPUVAL_CHECK_SYNC);

   load(ssbo(1, any_offset()), any_offset());
   EXPECT_TRUE(run());
   EXPECT_EQ(find(nir_intrinsic_sync_gpuval).size(), 1u);
   EXPECT_TRUE(find(nir_intrinsic_as_uniform).empty());
}

TEST_F(nir_passes_test, groups_of_many_accesses_are_found_without_comparing_all)
{
   std::vector<nir_def *> offsets;
   for (unsigned i = 0; i < 100; i++)
      offsets.push_back(nir_iadd_imm(b, nir_imul_imm(b, any_offset(), 4 + i), 4));
   for (unsigned round = 0; round < 3; round++) {
      for (nir_def *offset : offsets)
         load(ssbo(), nir_iadd_imm(b, offset, round * 4));
   }
   EXPECT_TRUE(run());
   EXPECT_EQ(reports().size(), 100u);
   for (nir_intrinsic_instr *report : reports())
      EXPECT_EQ(nir_intrinsic_range(report), 3u);
}

TEST_F(nir_passes_test, report)
{
   nir_def *any = any_offset();
   struct gpuval_nir_report_params params = {
      any, any, any, {any, any, any, any}, any, {any, any, any}};
   gpuval_nir_build_report(b, &test_driver, &params);
   nir_validate_shader(b->shader, "report");

   auto atomics = find(nir_intrinsic_global_atomic);
   /* The site's counter, the length of the list, the claim, the publication */
   ASSERT_EQ(atomics.size(), 4u);
   EXPECT_EQ(nir_intrinsic_atomic_op(atomics[0]), nir_atomic_op_iadd);
   EXPECT_EQ(atomics[0]->def.bit_size, 64);
   EXPECT_EQ(nir_intrinsic_atomic_op(atomics[1]), nir_atomic_op_iadd);
   EXPECT_EQ(nir_intrinsic_atomic_op(atomics[2]), nir_atomic_op_ior);
   EXPECT_EQ(nir_intrinsic_atomic_op(atomics[3]), nir_atomic_op_ior);
   /* The record's 64 bytes, in the block of the publication, before it */
   unsigned stores = 0;
   bool released = false;
   nir_foreach_instr (instr, atomics[3]->instr.block) {
      if (instr == &atomics[3]->instr)
         break;
      if (instr->type != nir_instr_type_intrinsic)
         continue;
      nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
      if (intrin->intrinsic == nir_intrinsic_store_global) {
         stores += nir_src_bit_size(intrin->src[0]) / 8;
         EXPECT_FALSE(released);
      }
      released |= intrin->intrinsic == nir_intrinsic_barrier;
   }
   EXPECT_EQ(stores, sizeof(struct gpuval_record));
   EXPECT_TRUE(released);
}

/* Memory as in a root at 0x2000 */
bool
load_root(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   if (intrin->intrinsic != nir_intrinsic_load_global || !nir_src_is_const(intrin->src[0]))
      return false;

   const struct gpuval_root *root = (const struct gpuval_root *)data;
   uint64_t address = nir_src_as_uint(intrin->src[0]);
   b->cursor = nir_before_instr(&intrin->instr);
   if (address == 0x2000 + offsetof(struct gpuval_root, entries_address))
      nir_def_replace(&intrin->def, nir_imm_int64(b, root->entries_address));
   else if (address == 0x2000 + offsetof(struct gpuval_root, max_entry))
      nir_def_replace(&intrin->def, nir_imm_int(b, root->max_entry));
   else
      return false;
   return true;
}

/* Whatever a claim says, what is read is an entry. */
TEST_F(nir_passes_test, claims_lead_to_entries_only)
{
   struct gpuval_root root = {};
   root.entries_address = 0x100000;
   root.max_entry = 99;

   for (uint64_t claim : {uint64_t(0), uint64_t(99), uint64_t(100), UINT64_MAX}) {
      b->cursor = nir_after_impl(b->impl);
      nir_def *any = any_offset();
      struct gpuval_nir_access_params params = {};
      params.address = nir_imm_int64(b, 0);
      params.size = params.offset = params.slot = params.set = any;
      params.entry = nir_imm_int(b, 50);
      for (nir_def *&word : params.invocation)
         word = any;
      gpuval_nir_build_hazard(b, &test_driver, &params, root_address(NULL, b),
                              nir_imm_int64(b, claim), nir_imm_true(b), nir_imm_false(b));
   }
   nir_validate_shader(b->shader, "hazards");
   nir_opt_constant_folding(b->shader);
   nir_shader_intrinsics_pass(b->shader, load_root, nir_metadata_none, &root);
   nir_opt_constant_folding(b->shader);

   std::vector<uint64_t> read;
   for (nir_intrinsic_instr *intrin : find(nir_intrinsic_load_global)) {
      if (intrin->num_components != 4)
         continue;
      ASSERT_TRUE(nir_src_is_const(intrin->src[0]));
      uint64_t offset = nir_src_as_uint(intrin->src[0]) - root.entries_address;
      if (offset % sizeof(struct gpuval_entry) == 0) /* else its second half */
         read.push_back(offset / sizeof(struct gpuval_entry));
   }
   EXPECT_EQ(read, (std::vector<uint64_t>{0, 50, 99, 50, 99, 50, 99, 50}));
}

TEST_F(nir_passes_test, rebase)
{
   load(ssbo(), any_offset());
   run();
   gpuval_nir_rebase(b->shader, 1000);
   EXPECT_EQ(nir_intrinsic_base(reports()[0]), 1000);
}

/* --- printf --------------------------------------------------------------- */

class nir_printf_test : public nir_passes_test {
 protected:
   nir_printf_test()
   {
      options.checks = BITFIELD_BIT(GPUVAL_CHECK_PRINTF);
      options.shader_hash = 0x123456789abcdef0;
   }

   /* Constants, so that the payload can be read off */
   nir_intrinsic_instr *print(const char *format, std::vector<nir_def *> args,
                              std::vector<const struct glsl_type *> types, size_t offset = 100)
   {
      gpuval_nir_emit_printf(b, format, args.data(), types.data(), args.size(), offset);
      return find(nir_intrinsic_printf_gpuval).back();
   }

   std::vector<uint32_t> payload(nir_intrinsic_instr *printf)
   {
      std::vector<uint32_t> words;
      nir_opt_constant_folding(b->shader);
      for (unsigned i = 0; i < gpuval_nir_printf_num_words(printf); i++) {
         unsigned channel, src = gpuval_nir_printf_word(printf, i, &channel);
         nir_scalar scalar = nir_scalar_resolved(printf->src[src].ssa, channel);
         words.push_back(nir_scalar_as_uint(scalar));
      }
      return words;
   }

   const struct gpuval_nir_format *formats()
   {
      return (const struct gpuval_nir_format *)util_dynarray_begin(&table.formats);
   }

   unsigned num_formats()
   {
      return util_dynarray_num_elements(&table.formats, struct gpuval_nir_format);
   }

   uint64_t header(nir_intrinsic_instr *printf)
   {
      return nir_src_comp_as_uint(printf->src[0], 0) |
             (uint64_t)nir_src_comp_as_uint(printf->src[0], 1) << 32;
   }
};

/* docs/printf.rst, "Protocol" */
TEST_F(nir_printf_test, payload)
{
   nir_intrinsic_instr *printf = print(
      "format",
      {nir_imm_true(b), nir_imm_intN_t(b, -1, 8), nir_imm_intN_t(b, -2, 16), nir_imm_int(b, -3),
       nir_imm_int64(b, -4), nir_imm_float16(b, 0.5), nir_imm_float(b, 0.25), nir_imm_double(b, 2),
       nir_imm_ivec3(b, 7, 8, 9), nir_imm_int64(b, 0x123456789a), NULL},
      {glsl_bool_type(), glsl_int8_t_type(), glsl_uint16_t_type(), glsl_int_type(),
       glsl_int64_t_type(), glsl_float16_t_type(), glsl_float_type(), glsl_double_type(),
       glsl_ivec_type(3), NULL, NULL});
   run();
   EXPECT_EQ(payload(printf),
             std::vector<uint32_t>({1, 0xff, 0xfffe, 0xfffffffd, 0xfffffffc, 0xffffffff, 0x3f000000,
                                    0x3e800000, 0, 0x40000000, 7, 8, 9, 0x3456789a, 0x12}));

   ASSERT_EQ(num_formats(), 1u);
   const struct gpuval_nir_format *format = formats();
   EXPECT_EQ(header(printf), 17 | format->id << 16);
   EXPECT_STREQ(format->string, "format");
   ASSERT_EQ(format->num_arguments, 11u);
   EXPECT_EQ(format->arguments[0].type, GPUVAL_ARGUMENT_BOOL);
   EXPECT_EQ(format->arguments[1].type, GPUVAL_ARGUMENT_INT);
   EXPECT_EQ(format->arguments[1].bit_size, 8);
   EXPECT_EQ(format->arguments[2].type, GPUVAL_ARGUMENT_UINT);
   EXPECT_EQ(format->arguments[5].type, GPUVAL_ARGUMENT_FLOAT);
   EXPECT_EQ(format->arguments[8].components, 3);
   EXPECT_EQ(format->arguments[9].type, GPUVAL_ARGUMENT_ADDRESS);
   EXPECT_EQ(format->arguments[10].type, GPUVAL_ARGUMENT_NONE);
   EXPECT_FALSE(format->has_invocation);
   EXPECT_EQ(num_sites(), 1u);
   EXPECT_EQ(site(0).kind, GPUVAL_KIND_MESSAGE);
   EXPECT_EQ(site(0).spirv_offset, 100u);
}

TEST_F(nir_printf_test, with_the_invocation)
{
   options.printf_invocation = true;
   nir_intrinsic_instr *printf = print("%u", {nir_imm_int(b, 9)}, {glsl_uint_type()});
   run();
   EXPECT_EQ(payload(printf), std::vector<uint32_t>({9, 1, 2, 3}));
   EXPECT_EQ(header(printf) & 0xffff, 6u);
   EXPECT_TRUE(formats()[0].has_invocation);
}

TEST_F(nir_printf_test, arguments_beyond_the_room)
{
   std::vector<nir_def *> args;
   std::vector<const struct glsl_type *> types;
   for (unsigned i = 0; i < 130; i++) {
      args.push_back(nir_imm_int(b, i));
      types.push_back(glsl_int_type());
   }
   nir_intrinsic_instr *printf = print("many", args, types);
   run();
   EXPECT_EQ(payload(printf).size(), (unsigned)GPUVAL_PRINTF_MAX_ARGUMENT_WORDS);
   EXPECT_EQ(payload(printf)[127], 127u);
   EXPECT_EQ(formats()[0].num_arguments, 130u);
   EXPECT_EQ(formats()[0].arguments[127].type, GPUVAL_ARGUMENT_INT);
   EXPECT_EQ(formats()[0].arguments[128].type, GPUVAL_ARGUMENT_NONE);
}

TEST_F(nir_printf_test, ids)
{
   print("same", {}, {}, 100);
   print("same", {}, {}, 200);
   print("other", {}, {}, 100);
   print("same", {}, {}, 100); /* as of a loop that was unrolled */
   run();
   ASSERT_EQ(num_formats(), 3u);
   uint64_t id = formats()[0].id;
   for (unsigned i = 0; i < 3; i++) {
      EXPECT_EQ(formats()[i].id >> GPUVAL_PRINTF_ID_BITS, 0u);
      EXPECT_TRUE(i == 0 || formats()[i].id != id);
   }
   EXPECT_EQ(num_sites(), 2u);
}

TEST_F(nir_printf_test, nothing_is_left_when_it_is_off)
{
   options.checks = BITFIELD_BIT(GPUVAL_CHECK_ASSUME) | BITFIELD_BIT(GPUVAL_CHECK_BOUNDS);
   print("%u", {nir_imm_int(b, 9)}, {glsl_uint_type()});
   run();
   EXPECT_EQ(find(nir_intrinsic_printf_gpuval).size(), 0u);
   EXPECT_EQ(num_formats(), 0u);
   EXPECT_EQ(num_sites(), 0u);
   EXPECT_EQ(b->shader->printf_info_count, 0u);
   EXPECT_FALSE(b->shader->info.uses_printf);
}

/* Drivers may keep shaders between vtn and the hook. */
TEST_F(nir_printf_test, format_survives_serialization)
{
   print("kept %d", {nir_imm_int(b, 9)}, {glsl_int_type()}, 444);

   struct blob blob;
   struct blob_reader reader;
   blob_init(&blob);
   nir_serialize(&blob, b->shader, false);
   blob_reader_init(&reader, blob.data, blob.size);
   nir_shader *copy = nir_deserialize(b->shader, b->shader->options, &reader);
   nir_shader *clone = nir_shader_clone(b->shader, copy);
   blob_finish(&blob);

   gpuval_nir_instrument(clone, &options, &table);
   ASSERT_EQ(num_formats(), 1u);
   EXPECT_STREQ(formats()[0].string, "kept %d");
   EXPECT_EQ(formats()[0].arguments[0].type, GPUVAL_ARGUMENT_INT);
   EXPECT_EQ(site(0).spirv_offset, 444u);
}

/* What a driver without functions gets: claim, payload, release, and the size last */
TEST_F(nir_printf_test, lowered)
{
   print("%u %u", {any_offset(), any_offset()}, {glsl_uint_type(), glsl_uint_type()});
   run();
   EXPECT_TRUE(gpuval_nir_lower_printf(b->shader, &test_driver));
   nir_validate_shader(b->shader, "lowered");
   EXPECT_EQ(find(nir_intrinsic_printf_gpuval).size(), 0u);

   auto atomics = find(nir_intrinsic_global_atomic);
   ASSERT_EQ(atomics.size(), 2u);
   for (nir_intrinsic_instr *atomic : atomics) {
      EXPECT_EQ(nir_intrinsic_atomic_op(atomic), nir_atomic_op_iadd);
      EXPECT_EQ(atomic->def.bit_size, 64);
   }
   /* Two words, the high half of the header; behind the barrier that something was printed, and the
    * low half
    */
   EXPECT_EQ(find(nir_intrinsic_barrier).size(), 1u);
   auto stores = find(nir_intrinsic_store_global);
   ASSERT_EQ(stores.size(), 5u);
   EXPECT_EQ(nir_scalar_as_uint(nir_scalar_resolved(stores[2]->src[0].ssa, 0)),
             formats()[0].id >> 16);
   EXPECT_EQ(nir_scalar_as_uint(nir_scalar_resolved(stores[4]->src[0].ssa, 0)),
             4 | (uint32_t)(formats()[0].id << 16));
   nir_block *barrier = find(nir_intrinsic_barrier)[0]->instr.block;
   EXPECT_EQ(stores[2]->instr.block, barrier);
   EXPECT_NE(stores[4]->instr.block, barrier);
}

} /* namespace */
