/* SPDX-License-Identifier: MIT */

/* Phases: what barriers order inside a workgroup.
 *
 * A barrier() whose semantics cover the memory in question begins a phase of the
 * workgroup; one alone that does not is no such thing, but together with a memory barrier
 * beside it that does it is. Barriers of a subgroup begin one of the subgroup.
 *
 * Memory barriers may also stand apart from the barrier(), behind branches that not all take. In
 * a shader that has both, each barrier() begins a phase, and what counts as ordered is what an
 * invocation knows when it passes its next memory barrier, or has passed one on the way to the
 * barrier(). Whether others have passed one is not known: they count as if they had.
 */

#include "gpuval_nir_private.h"

bool
gpuval_nir_covers(const nir_intrinsic_instr *barrier, nir_variable_mode modes)
{
   return nir_intrinsic_memory_modes(barrier) & modes &&
          nir_intrinsic_memory_semantics(barrier) & (NIR_MEMORY_ACQUIRE | NIR_MEMORY_RELEASE);
}

/* What of a pair of barriers stands since the last access: its scope, or SCOPE_NONE. Memory
 * barriers have to release and to acquire, one of them or several.
 */
struct barriers {
   mesa_scope execution, release, acquire;
   mesa_scope begun; /* the phase that they make */
};

/* The scope of @barrier if it covers @modes with @semantics, else SCOPE_NONE */
static mesa_scope
get_scope(const nir_intrinsic_instr *barrier, nir_variable_mode modes,
          nir_memory_semantics semantics)
{
   return gpuval_nir_covers(barrier, modes) &&
                (nir_intrinsic_memory_semantics(barrier) & semantics) == semantics
             ? nir_intrinsic_memory_scope(barrier)
             : SCOPE_NONE;
}

/* Which invocations do the barriers that stand together order? */
static mesa_scope
add_barrier(struct barriers *seen, const nir_intrinsic_instr *barrier, nir_variable_mode modes)
{
   seen->execution = MAX2(seen->execution, nir_intrinsic_execution_scope(barrier));
   seen->release = MAX2(seen->release, get_scope(barrier, modes, NIR_MEMORY_RELEASE));
   seen->acquire = MAX2(seen->acquire, get_scope(barrier, modes, NIR_MEMORY_ACQUIRE));

   mesa_scope scope = MIN3(seen->execution, seen->release, seen->acquire);
   if (scope <= seen->begun)
      return SCOPE_NONE;
   seen->begun = scope;
   return scope;
}

/* Whether all of a workgroup have to come to @barrier, which orders no memory, or in one direction
 */
static bool
waits_only(const nir_intrinsic_instr *barrier, nir_variable_mode modes)
{
   return nir_intrinsic_execution_scope(barrier) >= SCOPE_WORKGROUP &&
          get_scope(barrier, modes, NIR_MEMORY_ACQUIRE | NIR_MEMORY_RELEASE) < SCOPE_WORKGROUP;
}

static bool
orders_memory(const nir_intrinsic_instr *barrier, nir_variable_mode modes)
{
   return gpuval_nir_covers(barrier, modes) &&
          nir_intrinsic_memory_scope(barrier) >= SCOPE_WORKGROUP;
}

typedef void (*begin_callback)(struct gpuval_nir_state *state, struct gpuval_nir_phases *phases,
                               nir_instr *instr, mesa_scope scope);

/* What find_phases() found: the scopes of phases, and of barriers that begin none */
struct found_phases {
   uint32_t scopes;
   bool has_waits, has_fences;
};

/* Do the barriers of a block that stand together leave out one of the two parts? */
static void
add_lone(struct found_phases *found, const struct barriers *seen)
{
   if (seen->begun >= SCOPE_WORKGROUP)
      return;
   found->has_waits |= seen->execution >= SCOPE_WORKGROUP;
   found->has_fences |= MAX2(seen->release, seen->acquire) >= SCOPE_WORKGROUP;
}

/* Calls @begin, if not NULL, behind whatever begins a phase. */
static struct found_phases
find_phases(struct gpuval_nir_state *state, struct gpuval_nir_phases *phases, begin_callback begin)
{
   struct barriers seen = {0};
   const nir_block *block = NULL;
   struct found_phases found = {0};

   gpuval_nir_foreach_access(state, access)
   {
      if (access->block != block || phases->types & BITFIELD_BIT(access->type)) {
         add_lone(&found, &seen);
         seen = (struct barriers){0};
      }
      block = access->block;
      if (access->type != GPUVAL_ACCESS_BARRIER)
         continue;

      mesa_scope scope = add_barrier(&seen, nir_instr_as_intrinsic(access->instr), phases->modes);
      if (scope < SCOPE_SUBGROUP)
         continue;
      found.scopes |= BITFIELD_BIT(scope);
      if (begin)
         begin(state, phases, access->instr, scope);
   }
   add_lone(&found, &seen);

   return found;
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
   mesa_scope waits_for = nir_intrinsic_execution_scope(barrier);
   return gpuval_nir_covers(barrier, modes) && nir_intrinsic_memory_scope(barrier) >= scope &&
          waits_for < SCOPE_WORKGROUP && waits_for < nir_intrinsic_memory_scope(barrier) &&
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

/* The count behind a barrier() that orders memory, or not */
static nir_def *
next_of_workgroup(nir_builder *b, nir_def *phase)
{
   nir_def *next = nir_iadd_imm(b, gpuval_nir_phase(b, phase), 1);
   return nir_umin(b, next, nir_imm_int(b, GPUVAL_NIR_PHASE_MASK));
}

static void
begin_phase(struct gpuval_nir_state *state, struct gpuval_nir_phases *phases, nir_instr *instr,
            mesa_scope scope)
{
   nir_builder *b = &state->b;
   b->cursor = nir_after_instr(instr);
   nir_def *phase = nir_load_var(b, phases->var);
   nir_def *next;

   if (phases->is_plain)
      next = nir_iadd_imm(b, phase, 1);
   else if (scope == SCOPE_SUBGROUP)
      next = next_of_subgroup(b, phases, instr->block, phase);
   else
      next = next_of_workgroup(b, phase);
   nir_store_var(b, phases->var, next, 0x1);
   if (scope > SCOPE_SUBGROUP && phases->ended)
      nir_store_var(b, phases->ended, nir_imm_int(b, 0), 0x1);
}

/* Phases of subgroups are found as if there was nothing else. */
static void
begin_subgroup_phase(struct gpuval_nir_state *state, struct gpuval_nir_phases *phases,
                     nir_instr *instr, mesa_scope scope)
{
   if (scope == SCOPE_SUBGROUP)
      begin_phase(state, phases, instr, scope);
}

/* The count behind a barrier() that orders no memory, but for those who have passed a memory
 * barrier on the way to it. Barriers of subgroups count on, which others may know by them.
 */
static nir_def *
wait_apart(nir_builder *b, struct gpuval_nir_phases *phases, nir_def *phase)
{
   nir_def *behind = nir_iand_imm(b, phase, GPUVAL_NIR_BEHIND_MASK);
   nir_def *one_more = nir_umin(b, nir_iadd_imm(b, behind, 1u << GPUVAL_NIR_BEHIND_SHIFT),
                                nir_imm_int(b, GPUVAL_NIR_BEHIND_MASK));

   behind = nir_bcsel(b, nir_load_var(b, phases->fenced), nir_imm_int(b, 0), one_more);
   return nir_ior(b, nir_iand_imm(b, phase, GPUVAL_NIR_SUB_UNKNOWN),
                  nir_ior(b, behind, next_of_workgroup(b, phase)));
}

/* In shaders whose barriers and memory barriers stand apart */
static void
count_apart(struct gpuval_nir_state *state, struct gpuval_nir_phases *phases)
{
   nir_builder *b = &state->b;

   gpuval_nir_foreach_access(state, access)
   {
      b->cursor = nir_after_instr(access->instr);
      if (phases->types & BITFIELD_BIT(access->type))
         nir_store_var(b, phases->fenced, nir_imm_false(b), 0x1);
      if (access->type != GPUVAL_ACCESS_BARRIER)
         continue;

      const nir_intrinsic_instr *barrier = nir_instr_as_intrinsic(access->instr);
      nir_def *phase = nir_load_var(b, phases->var);
      if (waits_only(barrier, phases->modes)) {
         nir_store_var(b, phases->var, wait_apart(b, phases, phase), 0x1);
         nir_store_var(b, phases->fenced, nir_imm_false(b), 0x1);
      } else if (nir_intrinsic_execution_scope(barrier) >= SCOPE_WORKGROUP) {
         begin_phase(state, phases, access->instr, SCOPE_WORKGROUP);
         nir_store_var(b, phases->fenced, nir_imm_false(b), 0x1);
      } else if (orders_memory(barrier, phases->modes)) {
         nir_store_var(b, phases->var, nir_iand_imm(b, phase, ~GPUVAL_NIR_BEHIND_MASK), 0x1);
         nir_store_var(b, phases->fenced, nir_imm_true(b), 0x1);
      }
   }
}

/* The filter cannot tell what is behind: each barrier() counts. */
static void
count_all(struct gpuval_nir_state *state, struct gpuval_nir_phases *phases)
{
   gpuval_nir_foreach_access(state, access)
   {
      if (access->type == GPUVAL_ACCESS_BARRIER &&
          nir_intrinsic_execution_scope(nir_instr_as_intrinsic(access->instr)) >= SCOPE_WORKGROUP)
         begin_phase(state, phases, access->instr, SCOPE_WORKGROUP);
   }
}

void
gpuval_nir_count_phases(struct gpuval_nir_state *state, struct gpuval_nir_phases *phases)
{
   const struct found_phases found = find_phases(state, phases, NULL);
   bool is_apart = found.has_waits && found.has_fences;

   phases->scopes = found.scopes | (is_apart ? BITFIELD_BIT(SCOPE_WORKGROUP) : 0);
   if (!phases->scopes)
      return;

   nir_builder at_top = nir_builder_at(nir_before_impl(state->b.impl));
   phases->var = nir_local_variable_create(state->b.impl, glsl_uint_type(), "gpuval phase");
   nir_store_var(&at_top, phases->var, nir_imm_int(&at_top, 0), 0x1);
   if (!phases->is_plain && phases->scopes & BITFIELD_BIT(SCOPE_SUBGROUP))
      phases->lanes = count_lanes(&at_top);
   if (!is_apart) {
      find_phases(state, phases, begin_phase);
      return;
   }

   find_phases(state, phases, begin_subgroup_phase);
   if (phases->is_plain) {
      count_all(state, phases);
      return;
   }
   phases->fenced = nir_local_variable_create(state->b.impl, glsl_bool_type(), "gpuval fenced");
   nir_store_var(&at_top, phases->fenced, nir_imm_false(&at_top), 0x1);
   count_apart(state, phases);
}
