/* SPDX-License-Identifier: MIT */

/* What the passes leave in RADV's shaders becomes code when there are arguments.
 *
 * ACO inlines everything, so the failing path is kept small: the reports of a
 * block that follow one another share a branch, and behind it a loop with one
 * report in it.
 */

#include "gpuval_radv_nir.h"
#include "gpuval_radv_nir_address.h"
#include "gpuval_radv_nir_turns.h"

#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"

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

/* As RADV loads it for the access itself, so that this is done once. An index
 * that is not constant may differ between lanes.
 */
static nir_def *
build_descriptor(nir_builder *b, const struct gpuval_radv_nir_args *args, nir_def *index)
{
   nir_def *offset = nir_channel(b, index, 1);
   nir_def *set = extend_pointer(b, args, nir_channel(b, index, 0));

   if (nir_scalar_is_const(nir_scalar_resolved(offset, 0)))
      return nir_load_smem_amd(b, 4, set, offset, .align_mul = 16);
   return nir_build_load_global(b, 4, 32, add_64(b, set, offset),
                                .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER,
                                .align_mul = 16);
}

/* All that comes first is one load. */
#define FIRST_WORDS 8

static nir_def *
build_command_word(nir_builder *b, const struct gpuval_radv_nir_args *args, unsigned components,
                   unsigned offset)
{
   unsigned word = offset / sizeof(uint32_t);
   bool is_first = word + components <= FIRST_WORDS;
   nir_def *words = nir_load_smem_amd(
      b, is_first ? FIRST_WORDS : components, load_pointer(b, args, args->sets),
      nir_imm_int(b, args->command_offset + (is_first ? 0 : offset)), .align_mul = 4);

   return is_first ? nir_channels(b, words, BITFIELD_RANGE(word, components)) : words;
}

static nir_def *
build_invocation_number(nir_builder *b, const struct gpuval_radv_nir_args *args)
{
   nir_def *root = nir_pack_64_2x32(
      b, build_command_word(b, args, 2, offsetof(struct gpuval_command_data, root_address)));

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

   return nir_iadd_imm(b, load_pointer(b, args, args->sets),
                       args->command_offset + offsetof(struct gpuval_radv_command_data, race_used));
}

static nir_def *
command_data(const struct gpuval_nir_driver *driver, nir_builder *b, unsigned bit_size,
             unsigned offset)
{
   nir_def *words = build_command_word(b, driver->data, bit_size / 32, offset);
   return bit_size == 64 ? nir_pack_64_2x32(b, words) : words;
}

/* Without its data, struct gpuval_radv_nir_args */
static const struct gpuval_nir_driver late_driver = {
   .buffer_size = buffer_size,
   .buffer_address = buffer_address,
   .has_marks = true,
   .has_table = true,
   .root_address = root_address,
   .command_id = command_id,
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
   driver.hashes = args->hashes;
   driver.swaps = args->swaps;
   driver.records_first = args->records_first;
   driver.num_lanes = 64; /* at most */
   driver.merged_lanes = 64;
   return driver;
}

/* ACO would inline the function anyway. */
static nir_def *
build_call(nir_builder *b, const struct gpuval_radv_nir_args *args, nir_intrinsic_instr *call)
{
   const struct gpuval_nir_function *function = &gpuval_nir_functions[nir_intrinsic_base(call)];
   struct gpuval_nir_driver driver = get_driver(args);
   driver.descriptors = &gpuval_radv_nir_late_descriptors;
   nir_def *words[GPUVAL_FUNCTION_MAX_WORDS];

   for (unsigned i = 0; i < function->num_words; i++)
      words[i] = nir_channel(b, call->src[1].ssa, i);

   nir_def *zero = nir_imm_intN_t(b, 0, call->def.bit_size);
   nir_push_if(b, call->src[0].ssa);
   nir_def *result = function->build(b, &driver, words);
   nir_pop_if(b, NULL);
   return nir_if_phi(b, result, zero);
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
      result = build_command_word(b, args, 1, nir_intrinsic_base(intrin));
      break;
   case nir_intrinsic_invocation_gpuval:
      result = build_invocation_number(b, args);
      break;
   case nir_intrinsic_call_gpuval:
      result = build_call(b, args, intrin);
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

/* Reports */

struct late_state {
   nir_builder b;
   struct gpuval_nir_driver driver;
   struct gpuval_radv_nir_met met;
};

static uint32_t
get_base(const nir_intrinsic_instr *intrin)
{
   return nir_intrinsic_base(intrin);
}

static uint32_t
get_num_entries(const nir_intrinsic_instr *report)
{
   return nir_intrinsic_range(report);
}

static uint32_t
get_set(const nir_intrinsic_instr *report)
{
   return nir_intrinsic_desc_set(report);
}

static void
build_report(struct late_state *state, const struct group *group, const struct turn *turn,
             bool is_suspected)
{
   nir_builder *b = &state->b;

   gpuval_nir_build_report(
      b, &state->driver,
      &(struct gpuval_nir_report_params){
         .first_entry = gpuval_radv_nir_select_constant(b, group, turn, get_base),
         .num_entries = gpuval_radv_nir_select_constant(b, group, turn, get_num_entries),
         .set = gpuval_radv_nir_select_constant(b, group, turn, get_set),
         .detail = {gpuval_radv_nir_select_src(b, group, turn, 1, 0),
                    gpuval_radv_nir_select_src(b, group, turn, 1, 1),
                    gpuval_radv_nir_select_src(b, group, turn, 1, 2),
                    gpuval_radv_nir_select_src(b, group, turn, 1, 3)},
         .slot = gpuval_radv_nir_select_src(b, group, turn, 2, 0),
         .invocation = {gpuval_radv_nir_select_invocation(b, group, turn, 3, 0),
                        gpuval_radv_nir_select_invocation(b, group, turn, 3, 1),
                        gpuval_radv_nir_select_invocation(b, group, turn, 3, 2)},
         .is_suspected = is_suspected,
      });
}

static bool
has_reports(const struct group *group, unsigned set)
{
   for (unsigned i = 0; i < group->count; i++) {
      if (nir_intrinsic_desc_set(group->intrins[i]) == set)
         return true;
   }
   return false;
}

/* One branch for all, and a loop over them. In each turn it is about the same report in all
 * lanes, of which those take part that have it to make: most of it is then computed once, in
 * scalar registers. Comparisons are made again: their results would be two registers each until
 * then.
 */
static void
lower_reports(struct late_state *state, const struct group *group)
{
   nir_builder *b = &state->b;
   nir_def *failed = gpuval_radv_nir_build_any(b, group);

   /* No code for what none of them is about */
   bool has_descriptors = has_reports(group, GPUVAL_REPORT_DESCRIPTOR);
   bool has_images = has_reports(group, GPUVAL_REPORT_UNWRITTEN_IMAGE);
   state->driver.reports_unwritten = has_images || has_reports(group, GPUVAL_REPORT_UNWRITTEN);
   state->driver.subresource = has_images ? gpuval_radv_nir_subresource : NULL;
   state->driver.levels = has_images ? gpuval_radv_nir_levels : NULL;
   state->driver.reports_descriptors = has_descriptors;
   state->driver.used_address = has_reports(group, GPUVAL_REPORT_USED) ? used_address : NULL;
   state->driver.descriptors =
      has_descriptors || has_images || has_reports(group, GPUVAL_REPORT_EXACT)
         ? &gpuval_radv_nir_late_descriptors
         : NULL;

   nir_push_if(b, failed);
   if (group->count == 1) {
      build_report(state, group, NULL, false);
   } else {
      nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
      nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);

      nir_loop *loop = nir_push_loop(b);
      {
         nir_def *i = nir_load_var(b, i_var);
         const struct turn turn = gpuval_radv_nir_begin_turn(b, i);
         if (gpuval_radv_nir_are_comparisons(group)) {
            build_report(state, group, &turn, true);
         } else {
            nir_push_if(b, gpuval_radv_nir_select_src(b, group, &turn, 0, 0));
            build_report(state, group, &turn, false);
            nir_pop_if(b, NULL);
         }

         nir_break_if(b, nir_uge_imm(b, i, group->count - 1));
         nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);
      }
      nir_pop_loop(b, loop);
   }
   nir_pop_if(b, NULL);
}

/* flags | set << 16 */
static uint32_t
get_access_word(const nir_intrinsic_instr *access)
{
   return nir_intrinsic_flags(access) | nir_intrinsic_desc_set(access) << 16;
}

/* Sources of @sync_gpuval */
enum {
   ACCESS_ACTIVE,
   ACCESS_ADDRESS,
   ACCESS_SIZE,
   ACCESS_OFFSET,
   ACCESS_SLOT,
   ACCESS_CONTEXT,
   ACCESS_INVOCATION,
};

static void
build_access(struct late_state *state, const struct group *group, const struct turn *turn)
{
   nir_builder *b = &state->b;
   const struct gpuval_radv_nir_args *args = state->driver.data;
   bool shared = is_shared(group->intrins[0]);
   nir_def *on = nir_imm_true(b);
   if (!shared)
      on = nir_ieq_imm(b, nir_iand_imm(b, sync_flags(&state->driver, b), GPUVAL_RADV_SYNC_OFF), 0);

   nir_push_if(b, nir_iand(b, on, gpuval_radv_nir_select_src(b, group, turn, ACCESS_ACTIVE, 0)));
   {
      nir_def *word = gpuval_radv_nir_select_constant(b, group, turn, get_access_word);
      nir_def *flags = nir_iand_imm(b, word, 0xffff);
      const struct gpuval_nir_access_params access = {
         .address = gpuval_radv_nir_select_src(b, group, turn, ACCESS_ADDRESS, 0),
         .size = gpuval_radv_nir_select_src(b, group, turn, ACCESS_SIZE, 0),
         .type = nir_iand_imm(b, flags, GPUVAL_SYNC_TYPE_MASK),
         .access = nir_iand_imm(b, nir_ushr_imm(b, flags, GPUVAL_SYNC_ACCESS_SHIFT), 7),
         .orders = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_ORDERS), 0),
         .entry = gpuval_radv_nir_select_constant(b, group, turn, get_base),
         .invocation_id = gpuval_radv_nir_select_src(b, group, turn, ACCESS_CONTEXT, 0),
         .has_phases = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_HAS_PHASES), 0),
         .token = gpuval_radv_nir_select_src(b, group, turn, ACCESS_CONTEXT, 1),
         .phase = gpuval_radv_nir_select_src(b, group, turn, ACCESS_CONTEXT, 2),
         .value = gpuval_radv_nir_select_src(b, group, turn, ACCESS_CONTEXT, 3),
         .has_value = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_HAS_VALUE), 0),
         .set = nir_ushr_imm(b, word, 16),
         .offset = gpuval_radv_nir_select_src(b, group, turn, ACCESS_OFFSET, 0),
         .slot = gpuval_radv_nir_select_src(b, group, turn, ACCESS_SLOT, 0),
         .invocation = {gpuval_radv_nir_select_invocation(b, group, turn, ACCESS_INVOCATION, 0),
                        gpuval_radv_nir_select_invocation(b, group, turn, ACCESS_INVOCATION, 1),
                        gpuval_radv_nir_select_invocation(b, group, turn, ACCESS_INVOCATION, 2)},
      };

      if (shared) {
         gpuval_nir_build_shared(b, &state->driver, &access);
      } else if (is_for_filter(group->intrins[0])) {
         nir_push_if(b, gpuval_nir_has_no_cells(b, &state->driver, access.address, access.size));
         gpuval_nir_build_access(b, &state->driver, state->driver.hashes, &access);
         nir_pop_if(b, NULL);
      } else if (args->has_shadow) {
         gpuval_nir_build_shadow(b, &state->driver, &access);
      } else {
         gpuval_nir_build_access(b, &state->driver, state->driver.hashes, &access);
      }
   }
   nir_pop_if(b, NULL);
}

/* A loop over all: the code for one of them is long. */
static void
lower_accesses(struct late_state *state, const struct group *group)
{
   nir_builder *b = &state->b;

   if (group->count == 1) {
      build_access(state, group, NULL);
      return;
   }

   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      nir_break_if(b, nir_uge_imm(b, i, group->count));
      nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);
      const struct turn turn = gpuval_radv_nir_begin_turn(b, i);
      build_access(state, group, &turn);
   }
   nir_pop_loop(b, loop);
}

/* At the last one, where all sources are known; but what is bad has to be known at the first. */
static void
lower_group(struct late_state *state, const struct group *group)
{
   nir_intrinsic_instr *last = group->intrins[group->count - 1];

   if (last->intrinsic == nir_intrinsic_check_address_gpuval) {
      struct gpuval_nir_driver driver = get_driver(state->driver.data);
      gpuval_radv_nir_lower_addresses(&state->b, &driver, &state->met, group);
      return;
   }

   state->b.cursor = nir_before_instr(&last->instr);
   if (last->intrinsic == nir_intrinsic_report_gpuval)
      lower_reports(state, group);
   else
      lower_accesses(state, group);

   for (unsigned i = 0; i < group->count; i++)
      nir_instr_remove(&group->intrins[i]->instr);
}

static bool
lower_messages(struct late_state *state)
{
   bool progress = false;

   nir_foreach_block_safe (block, state->b.impl) {
      nir_foreach_instr_safe (instr, block) {
         if (instr->type == nir_instr_type_intrinsic &&
             nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_printf_gpuval) {
            gpuval_nir_lower_message(&state->b, &state->driver, nir_instr_as_intrinsic(instr));
            progress = true;
         }
      }
   }
   return progress;
}

bool
gpuval_radv_nir_lower_reports(nir_shader *nir, const struct gpuval_radv_nir_args *args)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   struct late_state state = {.b = nir_builder_create(impl), .driver = get_driver(args)};
   struct util_dynarray groups;

   util_dynarray_init(&groups, NULL);
   bool progress = lower_messages(&state);
   gpuval_radv_nir_collect_groups(impl, args->has_shadow, &groups);
   progress |= groups.size > 0;
   util_dynarray_foreach (&groups, struct group, group)
      lower_group(&state, group);
   util_dynarray_fini(&groups);
   if (!progress) {
      nir_metadata_preserve(impl, nir_metadata_all);
      return false;
   }

   nir_metadata_preserve(impl, nir_metadata_none);
   nir_lower_vars_to_ssa(nir);
   nir_remove_dead_variables(nir, nir_var_function_temp, NULL);
   nir_validate_shader(nir, "after gpuval_radv_nir_lower_reports");
   return true;
}
