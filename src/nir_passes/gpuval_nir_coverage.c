/* SPDX-License-Identifier: MIT */

/* Counts the invocations that execute each block of the SPIR-V: the option --coverage.
 *
 * vtn's callback emit_block leaves @early_report_gpuval at the beginning of each block. It has an
 * effect, so that optimizations neither move nor merge what it stands in; copies that inlining and
 * unrolling make of it share the site, whose place in the module is the block's OpLabel. What
 * optimizations remove was never executed.
 *
 * At the hook it becomes @report_gpuval of GPUVAL_REPORT_COVERED, which adds a number to the counter
 * of its entry and reports nothing (gpuval_root::coverage_address):
 *
 *    counters[entry] += sum of detail[0] over the invocations that are there
 *
 * A block that is in a loop counts in a variable, which is added behind the outermost loop: the
 * number of atomics does not depend on rounds. Where invocations end or become helpers within the
 * loop, or leave the shader for another one, that would lose what they have counted, and each round
 * adds.
 */

#include "gpuval_nir_early.h"

#include "util/hash_table.h"

void
gpuval_nir_emit_block(nir_builder *b, size_t spirv_offset)
{
   const struct gpuval_nir_early_report mark = {
      .kind = GPUVAL_KIND_COVERED,
      .spirv_offset = spirv_offset,
      .set = -1,
      .binding = -1,
      .failed = nir_imm_true(b),
   };
   gpuval_nir_report_early(b, &mark);
}

struct pass {
   struct gpuval_nir_state *state;
   nir_loop *outermost;           /* around the block that is looked at, or NULL */
   bool adds_each_round;          /* of that loop */
   bool has_variables;
   struct hash_table *in_loop;    /* SPIR-V offset -> nir_variable, of that loop */
   struct hash_table *of_offsets; /* SPIR-V offset -> entry + 1 */
};

static bool
ends_invocations(const nir_instr *instr)
{
   if (instr->type == nir_instr_type_jump)
      return nir_instr_as_jump((nir_instr *)instr)->type == nir_jump_halt ||
             nir_instr_as_jump((nir_instr *)instr)->type == nir_jump_return;
   if (instr->type == nir_instr_type_call)
      return true;
   if (instr->type != nir_instr_type_intrinsic)
      return false;

   switch (nir_instr_as_intrinsic((nir_instr *)instr)->intrinsic) {
   case nir_intrinsic_terminate:
   case nir_intrinsic_terminate_if:
   case nir_intrinsic_demote:
   case nir_intrinsic_demote_if:
   case nir_intrinsic_trace_ray:
   case nir_intrinsic_execute_callable:
   case nir_intrinsic_report_ray_intersection:
   case nir_intrinsic_ignore_ray_intersection:
   case nir_intrinsic_terminate_ray:
   case nir_intrinsic_launch_mesh_workgroups:
      return true;
   default:
      return false;
   }
}

static bool
loses_counts(nir_loop *loop)
{
   nir_block *after = nir_cf_node_as_block(nir_cf_node_next(&loop->cf_node));

   for (nir_block *block = nir_loop_first_block(loop); block && block != after;
        block = nir_block_cf_tree_next(block)) {
      nir_foreach_instr (instr, block) {
         if (ends_invocations(instr))
            return true;
      }
   }
   return false;
}

static uint32_t
get_entry(struct pass *pass, uint32_t spirv_offset)
{
   void *key = (void *)(uintptr_t)spirv_offset;
   struct hash_entry *known = _mesa_hash_table_search(pass->of_offsets, key);
   if (known)
      return (uintptr_t)known->data - 1;

   const struct gpuval_site site = {
      .kind = GPUVAL_KIND_COVERED,
      .spirv_offset = spirv_offset,
      .set = -1,
      .binding = -1,
   };
   const struct gpuval_nir_entry entry = {.site = gpuval_nir_add_site(pass->state, &site)};
   uint32_t number = gpuval_nir_add_entry(pass->state, &entry);
   _mesa_hash_table_insert(pass->of_offsets, key, (void *)(uintptr_t)(number + 1));
   return number;
}

static void
add(struct pass *pass, uint32_t spirv_offset, nir_def *count)
{
   nir_builder *b = &pass->state->b;
   nir_def *zero = nir_imm_int(b, 0);

   nir_report_gpuval(b, nir_imm_true(b), nir_vec4(b, count, zero, zero, zero), zero,
                     nir_imm_zero(b, 3, 32), .base = get_entry(pass, spirv_offset), .range = 1,
                     .desc_set = GPUVAL_REPORT_COVERED);
}

static nir_variable *
get_variable(struct pass *pass, uint32_t spirv_offset)
{
   void *key = (void *)(uintptr_t)spirv_offset;
   struct hash_entry *known = _mesa_hash_table_search(pass->in_loop, key);
   if (known)
      return known->data;

   nir_builder *b = &pass->state->b;
   const nir_cursor here = b->cursor;
   nir_variable *var = nir_local_variable_create(b->impl, glsl_uint_type(), "gpuval covered");
   b->cursor = nir_before_cf_node(&pass->outermost->cf_node);
   nir_store_var(b, var, nir_imm_int(b, 0), 0x1);
   b->cursor = nir_after_cf_node_and_phis(&pass->outermost->cf_node);
   add(pass, spirv_offset, nir_load_var(b, var));
   b->cursor = here;
   _mesa_hash_table_insert(pass->in_loop, key, var);
   pass->has_variables = true;
   return var;
}

static void
instrument(struct pass *pass, nir_intrinsic_instr *mark)
{
   nir_builder *b = &pass->state->b;
   uint32_t spirv_offset = nir_intrinsic_base(mark);

   b->cursor = nir_before_instr(&mark->instr);
   if (pass->outermost && !pass->adds_each_round) {
      nir_variable *var = get_variable(pass, spirv_offset);
      b->cursor = nir_before_instr(&mark->instr);
      nir_store_var(b, var, nir_iadd_imm(b, nir_load_var(b, var), 1), 0x1);
   } else {
      add(pass, spirv_offset, nir_imm_int(b, 1));
   }
   nir_instr_remove(&mark->instr);
}

static bool
instrument_list(struct pass *pass, struct exec_list *list)
{
   bool progress = false;

   foreach_list_typed (nir_cf_node, node, node, list) {
      switch (node->type) {
      case nir_cf_node_block:
         nir_foreach_instr_safe (instr, nir_cf_node_as_block(node)) {
            const nir_intrinsic_instr *mark =
               gpuval_nir_as_early_report(instr, GPUVAL_CHECK_COVERAGE);
            if (mark) {
               instrument(pass, (nir_intrinsic_instr *)mark);
               progress = true;
            }
         }
         break;
      case nir_cf_node_if:
         progress |= instrument_list(pass, &nir_cf_node_as_if(node)->then_list);
         progress |= instrument_list(pass, &nir_cf_node_as_if(node)->else_list);
         break;
      case nir_cf_node_loop: {
         nir_loop *loop = nir_cf_node_as_loop(node);
         const bool is_outermost = !pass->outermost;
         if (is_outermost) {
            pass->outermost = loop;
            pass->adds_each_round = loses_counts(loop);
            _mesa_hash_table_clear(pass->in_loop, NULL);
         }
         progress |= instrument_list(pass, &loop->body);
         if (is_outermost)
            pass->outermost = NULL;
         break;
      }
      default:
         break;
      }
   }
   return progress;
}

void
gpuval_nir_count_blocks(struct gpuval_nir_state *state)
{
   struct pass pass = {.state = state};

   if (!(state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_COVERAGE)))
      return;

   pass.in_loop = _mesa_pointer_hash_table_create(NULL);
   pass.of_offsets = _mesa_pointer_hash_table_create(NULL);
   bool progress = instrument_list(&pass, &state->b.impl->body);
   _mesa_hash_table_destroy(pass.in_loop, NULL);
   _mesa_hash_table_destroy(pass.of_offsets, NULL);
   nir_metadata_preserve(state->b.impl, progress ? nir_metadata_control_flow : nir_metadata_all);
   if (pass.has_variables)
      nir_lower_vars_to_ssa(state->b.shader);
}

/* All lanes have the same entry: one of them adds for all. */
static nir_def *
sum_up(nir_builder *b, nir_def *count, unsigned num_lanes)
{
   const nir_scalar scalar = nir_scalar_resolved(count, 0);

   if (nir_scalar_is_const(scalar)) {
      nir_def *lanes = nir_ballot(b, 1, num_lanes, nir_imm_true(b));
      return nir_imul_imm(b, nir_u2u64(b, nir_bit_count(b, lanes)), nir_scalar_as_uint(scalar));
   }
   return nir_u2u64(b, nir_reduce(b, count, .reduction_op = nir_op_iadd));
}

void
gpuval_nir_build_covered(nir_builder *b, const struct gpuval_nir_driver *driver,
                         const struct gpuval_nir_report_params *params)
{
   bool is_fragment = b->shader->info.stage == MESA_SHADER_FRAGMENT;

   /* Helper lanes do not count. */
   if (is_fragment)
      nir_push_if(b, nir_inot(b, nir_is_helper_invocation(b, 1)));
   nir_def *count = driver->merged_lanes ? sum_up(b, params->detail[0], driver->merged_lanes)
                                         : nir_u2u64(b, params->detail[0]);
   if (driver->merged_lanes)
      nir_push_if(b, nir_elect(b, 1));
   nir_def *counters =
      gpuval_nir_load_address(b, driver->merged_lanes, driver->root_address(driver, b),
                              offsetof(struct gpuval_root, coverage_address));
   nir_global_atomic(
      b, 64, gpuval_nir_element_address(b, counters, params->first_entry, sizeof(uint64_t)), count,
      .atomic_op = nir_atomic_op_iadd);
   if (driver->merged_lanes)
      nir_pop_if(b, NULL);
   if (is_fragment)
      nir_pop_if(b, NULL);
}
