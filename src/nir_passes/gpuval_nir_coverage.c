/* SPDX-License-Identifier: MIT */

/* Counts the invocations that execute each block of the SPIR-V: the option --coverage.
 *
 * vtn's callback emit_block leaves @early_report_gpuval at the beginning of each block. It has an
 * effect, so that optimizations neither move nor merge what it stands in; copies that inlining and
 * unrolling make of it share the site, whose place in the module is the block's OpLabel. What
 * optimizations remove was never executed.
 *
 * At the hook it becomes @report_gpuval of GPUVAL_REPORT_COVERED, which adds a number to the
 * counter of its entry and reports nothing (gpuval_root::coverage_address):
 *
 *    counters[entry] += sum of detail[0] over the invocations that are there
 *
 * Blocks that the same invocations come to share a counter. Those are a region: what stands in one
 * list of control flow, whatever is nested between, until invocations may leave the list or end.
 * Each block of it has an entry of its own that names the counter (gpuval_nir_entry::offset) and
 * how often it is there (size), as it is several times in a loop that was unrolled.
 *
 * A region that is in a loop counts in a variable, which is added behind the outermost loop: the
 * number of atomics does not depend on rounds. Variables are global ones, which no pass lowers:
 * they become SSA values when all have run, as the check loop adds ways out of loops. Where
 * invocations end or become helpers within the loop, or leave the shader for another one, that
 * would lose what they have counted, and each round adds.
 */

#include "gpuval_nir_early.h"

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
   nir_loop *outermost;  /* around what is looked at, or NULL */
   bool adds_each_round; /* of that loop */
};

/* Blocks that the same invocations come to */
struct region {
   bool has_counter;
   uint32_t counter;            /* the entry whose counter it is */
   struct util_dynarray blocks; /* uint32_t: entries, one a block of the SPIR-V */
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

/* May invocations that come to @list not come to its end? @with_jumps: nor those that leave the
 * loop around it or begin its next round.
 */
static bool
loses_invocations(struct exec_list *list, bool with_jumps)
{
   foreach_list_typed (nir_cf_node, node, node, list) {
      switch (node->type) {
      case nir_cf_node_block:
         nir_foreach_instr (instr, nir_cf_node_as_block(node)) {
            if (ends_invocations(instr) || (with_jumps && instr->type == nir_instr_type_jump))
               return true;
         }
         break;
      case nir_cf_node_if:
         if (loses_invocations(&nir_cf_node_as_if(node)->then_list, with_jumps) ||
             loses_invocations(&nir_cf_node_as_if(node)->else_list, with_jumps))
            return true;
         break;
      case nir_cf_node_loop:
         if (loses_invocations(&nir_cf_node_as_loop(node)->body, false))
            return true;
         break;
      default:
         break;
      }
   }
   return false;
}

static void
begin_region(struct region *region)
{
   region->has_counter = false;
   util_dynarray_clear(&region->blocks);
}

static struct gpuval_nir_entry *
get_entry(const struct pass *pass, uint32_t number)
{
   return util_dynarray_element(&pass->state->table->entries, struct gpuval_nir_entry, number);
}

static void
add(struct pass *pass, uint32_t counter, nir_def *count)
{
   nir_builder *b = &pass->state->b;
   nir_def *zero = nir_imm_int(b, 0);

   nir_report_gpuval(b, nir_imm_true(b), nir_vec4(b, count, zero, zero, zero), zero,
                     nir_imm_zero(b, 3, 32), .base = counter, .range = 1,
                     .desc_set = GPUVAL_REPORT_COVERED);
}

/* Counts those that come to @mark. */
static void
count(struct pass *pass, const nir_intrinsic_instr *mark, uint32_t counter)
{
   nir_builder *b = &pass->state->b;

   if (pass->outermost && !pass->adds_each_round) {
      nir_variable *var =
         nir_variable_create(b->shader, nir_var_shader_temp, glsl_uint_type(), "gpuval covered");
      b->cursor = nir_before_cf_node(&pass->outermost->cf_node);
      nir_store_var(b, var, nir_imm_int(b, 0), 0x1);
      b->cursor = nir_after_cf_node_and_phis(&pass->outermost->cf_node);
      add(pass, counter, nir_load_var(b, var));
      b->cursor = nir_before_instr((nir_instr *)&mark->instr);
      nir_store_var(b, var, nir_iadd_imm(b, nir_load_var(b, var), 1), 0x1);
      pass->state->has_globals = true;
   } else {
      b->cursor = nir_before_instr((nir_instr *)&mark->instr);
      add(pass, counter, nir_imm_int(b, 1));
   }
}

static void
add_block(struct pass *pass, struct region *region, const nir_intrinsic_instr *mark)
{
   const struct gpuval_site site = {
      .kind = GPUVAL_KIND_COVERED,
      .spirv_offset = nir_intrinsic_base(mark),
      .set = -1,
      .binding = -1,
   };
   const uint32_t number = gpuval_nir_add_site(pass->state, &site);

   util_dynarray_foreach (&region->blocks, uint32_t, known) {
      if (get_entry(pass, *known)->site == number) {
         get_entry(pass, *known)->size++;
         return;
      }
   }

   struct gpuval_nir_entry entry = {.site = number, .size = 1, .offset = region->counter};
   uint32_t index = gpuval_nir_add_entry(pass->state, &entry);
   util_dynarray_append_typed(&region->blocks, uint32_t, index);
   if (region->has_counter)
      return;
   region->has_counter = true;
   region->counter = get_entry(pass, index)->offset = index;
   count(pass, mark, index);
}

static bool instrument_list(struct pass *pass, struct exec_list *list);

static bool
instrument_block(struct pass *pass, struct region *region, nir_block *block)
{
   bool progress = false;

   nir_foreach_instr_safe (instr, block) {
      const nir_intrinsic_instr *mark = gpuval_nir_as_early_report(instr, GPUVAL_CHECK_COVERAGE);
      if (mark) {
         add_block(pass, region, mark);
         nir_instr_remove(instr);
         progress = true;
      } else if (ends_invocations(instr)) {
         begin_region(region);
      }
   }
   return progress;
}

static bool
instrument_loop(struct pass *pass, nir_loop *loop)
{
   const bool is_outermost = !pass->outermost;

   if (is_outermost) {
      pass->outermost = loop;
      pass->adds_each_round = loses_invocations(&loop->body, false);
   }
   bool progress = instrument_list(pass, &loop->body);
   if (is_outermost)
      pass->outermost = NULL;
   return progress;
}

static bool
instrument_list(struct pass *pass, struct exec_list *list)
{
   struct region region = {0};
   bool progress = false;

   util_dynarray_init(&region.blocks, NULL);
   foreach_list_typed (nir_cf_node, node, node, list) {
      switch (node->type) {
      case nir_cf_node_block:
         progress |= instrument_block(pass, &region, nir_cf_node_as_block(node));
         break;
      case nir_cf_node_if: {
         nir_if *nif = nir_cf_node_as_if(node);
         bool loses =
            loses_invocations(&nif->then_list, true) || loses_invocations(&nif->else_list, true);
         progress |= instrument_list(pass, &nif->then_list);
         progress |= instrument_list(pass, &nif->else_list);
         if (loses)
            begin_region(&region);
         break;
      }
      case nir_cf_node_loop:
         progress |= instrument_loop(pass, nir_cf_node_as_loop(node));
         if (loses_invocations(&nir_cf_node_as_loop(node)->body, false))
            begin_region(&region);
         break;
      default:
         break;
      }
   }
   util_dynarray_fini(&region.blocks);
   return progress;
}

void
gpuval_nir_count_blocks(struct gpuval_nir_state *state)
{
   struct pass pass = {.state = state};

   if (!(state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_COVERAGE)))
      return;

   bool progress = instrument_list(&pass, &state->b.impl->body);
   nir_progress(progress, state->b.impl, nir_metadata_control_flow);
   state->counts_blocks = progress;
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
   nir_global_atomic(b, 64,
                     gpuval_nir_element_address(b, counters, params->first_entry, sizeof(uint64_t)),
                     count, .atomic_op = nir_atomic_op_iadd);
   if (driver->merged_lanes)
      nir_pop_if(b, NULL);
   if (is_fragment)
      nir_pop_if(b, NULL);
}
