/* SPDX-License-Identifier: MIT */

/* Phases: what barriers order inside a workgroup.
 *
 * A barrier() whose semantics cover the memory in question begins a phase of the
 * workgroup; one alone that does not is no such thing, but together with a memory barrier
 * beside it that does it is. Barriers of a subgroup begin one of the subgroup.
 */

#include "gpuval_nir_private.h"

bool
gpuval_nir_covers(const nir_intrinsic_instr *barrier, nir_variable_mode modes)
{
   return nir_intrinsic_memory_modes(barrier) & modes &&
          nir_intrinsic_memory_semantics(barrier) & (NIR_MEMORY_ACQUIRE | NIR_MEMORY_RELEASE);
}

/* What of a pair of barriers stands since the last access: its scope, or SCOPE_NONE */
struct barriers {
   mesa_scope execution, memory;
   mesa_scope begun; /* the phase that they make */
};

/* Which invocations do the barriers that stand together order? */
static mesa_scope
add_barrier(struct barriers *seen, const nir_intrinsic_instr *barrier, nir_variable_mode modes)
{
   seen->execution = MAX2(seen->execution, nir_intrinsic_execution_scope(barrier));
   if (gpuval_nir_covers(barrier, modes))
      seen->memory = MAX2(seen->memory, nir_intrinsic_memory_scope(barrier));

   mesa_scope scope = MIN2(seen->execution, seen->memory);
   if (scope <= seen->begun)
      return SCOPE_NONE;
   seen->begun = scope;
   return scope;
}

/* Calls @begin, if not NULL, behind whatever begins a phase. Returns the scopes of
 * all of them.
 */
static uint32_t
find_phases(struct gpuval_nir_state *state, struct gpuval_nir_phases *phases,
            void (*begin)(struct gpuval_nir_state *state, struct gpuval_nir_phases *phases,
                          nir_instr *instr, mesa_scope scope))
{
   struct barriers seen = {0};
   const nir_block *block = NULL;
   uint32_t scopes = 0;

   gpuval_nir_foreach_access(state, access)
   {
      if (access->block != block || phases->types & BITFIELD_BIT(access->type))
         seen = (struct barriers){0};
      block = access->block;
      if (access->type != GPUVAL_ACCESS_BARRIER)
         continue;

      mesa_scope scope = add_barrier(&seen, nir_instr_as_intrinsic(access->instr), phases->modes);
      if (scope < SCOPE_SUBGROUP)
         continue;
      scopes |= BITFIELD_BIT(scope);
      if (begin)
         begin(state, phases, access->instr, scope);
   }

   return scopes;
}

/* Whoever passes a memory barrier and then waits for the others has no time to use what
 * it may have acquired.
 */
static bool
is_before_phase(const struct gpuval_nir_state *state, const struct gpuval_access *fence)
{
   const struct gpuval_access *end = util_dynarray_end(&state->accesses);

   for (const struct gpuval_access *access = fence + 1;
        access < end && access->block == fence->block; access++) {
      if (access->type != GPUVAL_ACCESS_BARRIER)
         return false;
      if (nir_intrinsic_execution_scope(nir_instr_as_intrinsic(access->instr)) >= SCOPE_WORKGROUP)
         return true;
   }
   return false;
}

bool
gpuval_nir_is_fence(const struct gpuval_nir_state *state, const struct gpuval_access *access,
                    nir_variable_mode modes, mesa_scope scope)
{
   if (access->type != GPUVAL_ACCESS_BARRIER)
      return false;

   const nir_intrinsic_instr *barrier = nir_instr_as_intrinsic(access->instr);
   return gpuval_nir_covers(barrier, modes) && nir_intrinsic_memory_scope(barrier) >= scope &&
          nir_intrinsic_execution_scope(barrier) < SCOPE_WORKGROUP &&
          !is_before_phase(state, access);
}

static nir_def *
count_lanes(nir_builder *b)
{
   return nir_reduce(b, nir_imm_int(b, 1), .reduction_op = nir_op_iadd);
}

/* Barriers of a subgroup that not all of it has come to leave each invocation with a count
 * of its own. Those that have met at one do not know any more.
 */
static nir_def *
next_of_subgroup(nir_builder *b, const struct gpuval_nir_phases *phases, const nir_block *block,
                 nir_def *phase)
{
   nir_def *unknown = nir_ior_imm(b, phase, GPUVAL_NIR_SUB_UNKNOWN);
   nir_def *keep = nir_uge_imm(b, phase, GPUVAL_NIR_SUB_UNKNOWN);
   nir_def *next = nir_bcsel(b, keep, phase, nir_iadd_imm(b, phase, GPUVAL_NIR_SUB_ONE));

   if (block->cf_node.parent->type == nir_cf_node_function)
      return next;
   return nir_bcsel(b, nir_ieq(b, count_lanes(b), phases->lanes), next, unknown);
}

static void
begin_phase(struct gpuval_nir_state *state, struct gpuval_nir_phases *phases, nir_instr *instr,
            mesa_scope scope)
{
   nir_builder *b = &state->b;
   b->cursor = nir_after_instr(instr);
   nir_def *phase = nir_load_var(b, phases->var);
   nir_def *next;

   if (phases->is_plain) {
      next = nir_iadd_imm(b, phase, 1);
   } else if (scope == SCOPE_SUBGROUP) {
      next = next_of_subgroup(b, phases, instr->block, phase);
   } else {
      next = nir_iadd_imm(b, nir_iand_imm(b, phase, GPUVAL_NIR_PHASE_MASK), 1);
      next = nir_umin(b, next, nir_imm_int(b, GPUVAL_NIR_PHASE_MASK));
   }
   nir_store_var(b, phases->var, next, 0x1);
   if (scope > SCOPE_SUBGROUP && phases->ended)
      nir_store_var(b, phases->ended, nir_imm_int(b, 0), 0x1);
}

void
gpuval_nir_count_phases(struct gpuval_nir_state *state, struct gpuval_nir_phases *phases)
{
   phases->scopes = find_phases(state, phases, NULL);
   if (!phases->scopes)
      return;

   nir_builder at_top = nir_builder_at(nir_before_impl(state->b.impl));
   phases->var = nir_local_variable_create(state->b.impl, glsl_uint_type(), "gpuval phase");
   nir_store_var(&at_top, phases->var, nir_imm_int(&at_top, 0), 0x1);
   if (!phases->is_plain && phases->scopes & BITFIELD_BIT(SCOPE_SUBGROUP))
      phases->lanes = count_lanes(&at_top);
   find_phases(state, phases, begin_phase);
}
