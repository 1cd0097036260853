/* SPDX-License-Identifier: MIT */

/* What the passes leave in RADV's shaders becomes code when there are arguments. ACO inlines
 * everything.
 */

#include "gpuval_radv_nir.h"

#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval/src/base/gpuval_options.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"
#include "gpuval/src/nir_passes/gpuval_nir_inline.h"

/* Queries */

static nir_def *
add_64(nir_builder *b, nir_def *address, nir_def *offset)
{
   return nir_iadd(b, address, nir_u2u64(b, offset));
}

static nir_def *
extend_pointer(nir_builder *b, const struct gpuval_radv_nir_args *args, nir_def *pointer)
{
   return nir_pack_64_2x32_split(b, pointer, nir_imm_int(b, args->address32_hi));
}

static nir_def *
load_pointer(nir_builder *b, const struct gpuval_radv_nir_args *args, unsigned arg)
{
   return extend_pointer(b, args, nir_load_scalar_arg_amd(b, 1, .base = arg));
}

/* Of struct gpuval_radv_command_data */
static nir_def *
load_data_pointer(nir_builder *b, const struct gpuval_radv_nir_args *args)
{
   nir_def *table = nir_load_scalar_arg_amd(b, 1, .base = args->sets);
   return extend_pointer(b, args, nir_iadd_imm(b, table, -(int64_t)args->data_size));
}

/* As RADV loads it for the access itself, so that this is done once. An index
 * that is not constant may differ between lanes.
 */
static nir_def *
build_descriptor(nir_builder *b, const struct gpuval_radv_nir_args *args, nir_def *index)
{
   nir_def *offset = nir_channel(b, index, 1);
   nir_def *set = extend_pointer(b, args, nir_channel(b, index, 0));

   if (nir_scalar_is_const(nir_scalar_resolved(offset, 0)))
      return gpuval_load_smem(b, 4, set, offset, 16);
   return nir_build_load_global(b, 4, 32, add_64(b, set, offset),
                                .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER,
                                .align_mul = 16);
}

nir_def *
gpuval_radv_nir_constant(nir_builder *b, const struct gpuval_radv_nir_args *args, unsigned base)
{
   switch (base) {
   case GPUVAL_RADV_OBJECTS_LO:
      return nir_imm_int(b, args->objects_address);
   case GPUVAL_RADV_OBJECTS_HI:
      return nir_imm_int(b, args->objects_address >> 32);
   case GPUVAL_RADV_STAND_IN:
      return nir_imm_int(b, args->stand_in);
   default:
      return NULL;
   }
}

/* What is asked for most are three loads: the root and what follows; what is bad, which is all that
 * most shaders need where nothing fails; and shadows and tables.
 */
#define NUM_WORDS 8
#define BASE      offsetof(struct gpuval_radv_command_data, base)
#define USES      offsetof(struct gpuval_radv_command_data, bad_uses)
#define SHADOWS   (offsetof(struct gpuval_radv_command_data, dynamic_shadow) - 2 * sizeof(uint32_t))
static const unsigned loads[] = {BASE, USES, SHADOWS};
static_assert(USES + NUM_WORDS * sizeof(uint32_t) >= BASE, "all of them");
static_assert(SHADOWS + NUM_WORDS * sizeof(uint32_t) >= USES, "all tables");

/* The load that has the words, or UINT_MAX */
static unsigned
find_words(unsigned components, unsigned offset)
{
   for (unsigned i = 0; i < ARRAY_SIZE(loads); i++) {
      if (offset >= loads[i] &&
          offset + components * sizeof(uint32_t) <= loads[i] + NUM_WORDS * sizeof(uint32_t))
         return loads[i];
   }
   return UINT_MAX;
}

/* @offset: in struct gpuval_radv_command_data */
static nir_def *
build_data_word(nir_builder *b, const struct gpuval_radv_nir_args *args, unsigned components,
                unsigned offset)
{
   const unsigned load = find_words(components, offset);
   bool is_alone = load == UINT_MAX;
   const unsigned first = is_alone ? offset : load;
   nir_def *words = gpuval_load_smem(b, is_alone ? components : NUM_WORDS,
                                     load_data_pointer(b, args), nir_imm_int(b, first), 4);

   assert(offset + components * 4 <= args->data_size);
   return is_alone ? words
                   : nir_channels(b, words, BITFIELD_RANGE((offset - first) / 4, components));
}

/* @offset: in struct gpuval_command_data */
static nir_def *
build_command_word(nir_builder *b, const struct gpuval_radv_nir_args *args, unsigned components,
                   unsigned offset)
{
   return build_data_word(b, args, components,
                          offsetof(struct gpuval_radv_command_data, base) + offset);
}

static nir_def *
number(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   nir_def *root = nir_pack_64_2x32(
      b,
      build_command_word(b, driver->data, 2, offsetof(struct gpuval_command_data, root_address)));

   return nir_global_atomic(b, 32, nir_iadd_imm(b, root, offsetof(struct gpuval_root, invocations)),
                            nir_imm_int(b, GPUVAL_BLOOM_INVOCATION_STEP),
                            .atomic_op = nir_atomic_op_iadd);
}

/* The descriptor itself. A report that is not about a buffer reads one, too: where
 * no set is bound, the table leads to itself.
 */
static nir_def *
load_descriptor(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   const struct gpuval_radv_nir_args *args = driver->data;
   nir_def *table = load_pointer(b, args, args->sets);
   nir_def *pointer =
      nir_build_load_global(b, 1, 32, add_64(b, table, nir_imul_imm(b, set, sizeof(uint32_t))),
                            .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER, .align_mul = 4);
   nir_def *address = extend_pointer(b, args, pointer);

   if (args->push_constants >= 0) {
      nir_def *is_dynamic = nir_ine_imm(b, nir_iand_imm(b, slot, GPUVAL_RADV_DYNAMIC), 0);
      address = nir_bcsel(b, is_dynamic, load_pointer(b, args, args->push_constants), address);
      slot = nir_iand_imm(b, slot, ~GPUVAL_RADV_DYNAMIC);
   }

   return nir_build_load_global(b, 4, 32, add_64(b, address, slot),
                                .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER,
                                .align_mul = 16);
}

static nir_def *
buffer_size(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   return gpuval_radv_nir_exact_size(b, load_descriptor(driver, b, set, slot));
}

static nir_def *
buffer_address(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   return gpuval_radv_nir_base_address(b, load_descriptor(driver, b, set, slot));
}

/* A null descriptor has no address. */
static nir_def *
is_past_end(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   return nir_ine_imm(b, buffer_address(driver, b, set, slot), 0);
}

static nir_def *
root_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return nir_pack_64_2x32(
      b,
      build_command_word(b, driver->data, 2, offsetof(struct gpuval_command_data, root_address)));
}

static nir_def *
command_id(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return build_command_word(b, driver->data, 1, offsetof(struct gpuval_command_data, command_id));
}

static nir_def *
epoch(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return build_command_word(b, driver->data, 1, offsetof(struct gpuval_command_data, epoch));
}

static nir_def *
sync_flags(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return build_command_word(b, driver->data, 1, offsetof(struct gpuval_command_data, sync_flags));
}

static nir_def *
epoch_command(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return build_command_word(b, driver->data, 1,
                             offsetof(struct gpuval_command_data, epoch_command));
}

static nir_def *
used_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   const struct gpuval_radv_nir_args *args = driver->data;

   return nir_iadd_imm(b, load_data_pointer(b, args),
                       offsetof(struct gpuval_radv_command_data, race_used));
}

static nir_def *
command_data(const struct gpuval_nir_driver *driver, nir_builder *b, unsigned bit_size,
             unsigned offset)
{
   nir_def *words = build_command_word(b, driver->data, bit_size / 32, offset);
   return bit_size == 64 ? nir_pack_64_2x32(b, words) : words;
}

/* Of the shader itself */
static nir_def *
entry_base(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *stage)
{
   return nir_entry_base_gpuval(b);
}

/* Without its data, struct gpuval_radv_nir_args */
static const struct gpuval_nir_driver late_driver = {
   .buffer_size = buffer_size,
   .buffer_address = buffer_address,
   .is_past_end = is_past_end,
   .subresource = gpuval_radv_nir_subresource,
   .levels = gpuval_radv_nir_levels,
   .descriptors = &gpuval_radv_nir_late_descriptors,
   .used_address = used_address,
   .has_marks = true,
   .has_table = true,
   .has_quads = true,
   .root_address = root_address,
   .command_id = command_id,
   .number = number,
   .epoch = epoch,
   .sync_flags = sync_flags,
   .epoch_command = epoch_command,
   .command_data = command_data,
};

static struct gpuval_nir_driver
get_driver(const struct gpuval_radv_nir_args *args)
{
   struct gpuval_nir_driver driver = late_driver;
   driver.data = args;
   driver.entry_base = args->is_relocated ? entry_base : NULL;
   driver.hashes = args->hashes;
   driver.swaps = args->swaps;
   driver.records_first = args->records_first;
   driver.num_lanes = 64; /* at most */
   driver.merged_lanes = 64;
   return driver;
}

static nir_def *
build_call(nir_builder *b, const struct gpuval_radv_nir_args *args, nir_intrinsic_instr *call)
{
   const struct gpuval_nir_driver driver = get_driver(args);

   /* After a thousand rounds only */
   if (gpuval_options()->marks_failures && nir_intrinsic_base(call) == GPUVAL_FUNCTION_LOOP)
      nir_sleep_amd(b, .base = GPUVAL_NIR_FAILURE_MARK);
   return gpuval_nir_inline_call(b, &driver, call);
}

static bool
lower_query(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   const struct gpuval_radv_nir_args *args = data;
   nir_def *result;

   b->cursor = nir_before_instr(&intrin->instr);
   switch (intrin->intrinsic) {
   case nir_intrinsic_load_descriptor_gpuval:
      result = build_descriptor(b, args, intrin->src[0].ssa);
      break;
   case nir_intrinsic_load_command_gpuval:
      result = gpuval_radv_nir_constant(b, args, nir_intrinsic_base(intrin));
      if (!result)
         result = build_data_word(b, args, 1, nir_intrinsic_base(intrin));
      break;
   case nir_intrinsic_call_gpuval:
      result = build_call(b, args, intrin);
      break;
   case nir_intrinsic_pick_gpuval: /* what gpuval_radv_nir_stand_in() has not taken */
      result = nir_bcsel(b, gpuval_radv_nir_has_bits(b, intrin),
                         nir_imm_int(b, nir_intrinsic_flags(intrin)), intrin->src[1].ssa);
      break;
   default:
      return false;
   }

   nir_def_replace(&intrin->def, result);
   return true;
}

bool
gpuval_radv_nir_lower_queries(nir_shader *nir, const struct gpuval_radv_nir_args *args)
{
   /* Which offsets are constant? */
   nir_opt_constant_folding(nir);
   bool progress = nir_shader_intrinsics_pass(nir, lower_query, nir_metadata_none, (void *)args);
   /* Those of functions */
   NIR_PASS(progress, nir, nir_lower_vars_to_ssa);
   return progress;
}

static bool
lower_rest(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   nir_def *result;

   b->cursor = nir_before_instr(&intrin->instr);
   switch (intrin->intrinsic) {
   case nir_intrinsic_has_bits_gpuval:
      result = gpuval_radv_nir_has_bits(b, intrin);
      break;
   case nir_intrinsic_invocation_gpuval:
      result = nir_def_is_unused(&intrin->def) ? nir_undef(b, 1, 32) : number(data, b);
      break;
   default:
      return false;
   }
   nir_def_replace(&intrin->def, result);
   return true;
}

bool
gpuval_radv_nir_lower_reports(nir_shader *nir, const struct gpuval_radv_nir_args *args)
{
   const struct gpuval_nir_driver driver = get_driver(args);

   bool progress =
      gpuval_nir_inline_checks(nir, &(struct gpuval_nir_inline_options){
                                       .driver = &driver,
                                       .has_shadow = args->has_shadow,
                                       .sync_off = GPUVAL_RADV_SYNC_OFF,
                                       .marks_failures = gpuval_options()->marks_failures,
                                    });
   /* Until here reports that ask for bits of a word ask once. */
   progress |=
      nir_shader_intrinsics_pass(nir, lower_rest, nir_metadata_control_flow, (void *)&driver);
   return progress;
}
