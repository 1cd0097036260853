/* SPDX-License-Identifier: MIT */

/* Races inside a workgroup: on shared memory and on task payloads.
 *
 * Each granule of that memory has a cell in more shared memory behind the shader's own,
 * which the workgroup clears first thing. Loads, stores and atomics become @sync_gpuval
 * with GPUVAL_SYNC_SHARED right before them, which gpuval_nir_shared_cells.c explains.
 *
 *    C        the latest phase in which somebody has released, and has acquired; 0: none
 *    C + 16   cells of shared memory, GPUVAL_SHARED_CELL_SIZE bytes each
 *             cells of the task payload
 *
 * C is what shared memory the shader has, aligned to 16. A granule is what the narrowest
 * access of the shader covers, 1 to 4 bytes: so no access is to a part of one.
 *
 * Barriers that order shared memory begin phases. Atomics and memory barriers order, too
 * (a flag, a lock), but with fewer words than in buffers: in a phase in which somebody has
 * released, and somebody has acquired, nothing is reported any more.
 */

#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval_nir_local.h"
#include "gpuval_nir_private.h"

enum {
   SHARED,
   PAYLOAD,
   NUM_MEMORIES,
};

#define MODES (nir_var_mem_shared | nir_var_mem_task_payload)

struct pass {
   struct gpuval_nir_state *state;
   struct gpuval_nir_phases phases;
   unsigned granule_log2;
   uint32_t order_begin;               /* C */
   uint32_t cells_begin[NUM_MEMORIES]; /* the same in bytes of shared memory */
   uint32_t end;
   uint32_t size[NUM_MEMORIES];
   nir_def *number; /* of the invocation in its workgroup */
   unsigned subgroup_shift;
   unsigned num_sites;

   /* Of this invocation, in this phase: has it passed a memory barrier since it began, and
    * has it accessed something by an atomic that reads? NULL: nothing orders but phases.
    */
   nir_variable *order;
};

enum {
   PASSED_BARRIER = 0x1,
   HAS_FOUND = 0x2,
};

static int
get_memory(const struct gpuval_access *access)
{
   return access->type == GPUVAL_ACCESS_SHARED         ? SHARED
          : access->type == GPUVAL_ACCESS_TASK_PAYLOAD ? PAYLOAD
                                                       : -1;
}

/* Is there anything to look at? Finds the granule, too. */
static bool
look_at_accesses(struct pass *pass)
{
   unsigned bytes = GPUVAL_SHADOW_WORD;
   bool writes = false;

   gpuval_nir_foreach_access(pass->state, access)
   {
      if (get_memory(access) < 0)
         continue;
      bytes = MIN2(bytes, access->component_bytes);
      writes |= access->op != GPUVAL_OP_LOAD;
   }
   pass->granule_log2 = util_logbase2(bytes);
   return writes;
}

/* False: there is no room for cells. */
static bool
place_cells(struct pass *pass)
{
   const struct gpuval_nir_driver *driver = pass->state->options->driver;
   shader_info *info = &pass->state->b.shader->info;

   pass->size[SHARED] = info->shared_size;
   pass->size[PAYLOAD] = info->stage == MESA_SHADER_TASK ? info->task_payload_size : 0;
   pass->order_begin = align(info->shared_size, 16);
   uint64_t end = pass->order_begin + (uint64_t)GPUVAL_SHARED_ORDER_SIZE;
   for (unsigned i = 0; i < NUM_MEMORIES; i++) {
      pass->cells_begin[i] = end;
      end +=
         (uint64_t)DIV_ROUND_UP(pass->size[i], 1u << pass->granule_log2) * GPUVAL_SHARED_CELL_SIZE;
   }
   end = align64(end, 16);

   if (driver->max_shared_size && end > driver->max_shared_size(driver, info->stage))
      return false;
   pass->end = end;
   info->shared_size = end;
   return true;
}

/* Where @offset of shared memory is: 64 bits where drivers can tell, else the offset */
static nir_def *
get_address(const struct pass *pass, nir_builder *b, nir_def *offset)
{
   const struct gpuval_nir_driver *driver = pass->state->options->driver;

   if (!driver->shared_address)
      return offset;
   return nir_iadd(b, driver->shared_address(driver, b), nir_u2u64(b, offset));
}

static nir_def *
workgroup_size(nir_builder *b)
{
   const shader_info *info = &b->shader->info;

   if (!info->workgroup_size_variable)
      return nir_imm_int(
         b, info->workgroup_size[0] * info->workgroup_size[1] * info->workgroup_size[2]);
   nir_def *size = nir_load_workgroup_size(b);
   return nir_imul(b, nir_imul(b, nir_channel(b, size, 0), nir_channel(b, size, 1)),
                   nir_channel(b, size, 2));
}

/* First thing, by all of the workgroup: 16 bytes at a time */
static void
clear_cells(const struct pass *pass, nir_builder *b)
{
   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "gpuval cell");
   nir_def *step = nir_imul_imm(b, workgroup_size(b), 16);
   nir_def *zero = nir_imm_zero(b, 4, 32);
   nir_def *index = gpuval_nir_local_index(pass->state->options->driver, b);

   nir_store_var(b, i_var, nir_iadd_imm(b, nir_imul_imm(b, index, 16), pass->order_begin), 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *offset = nir_load_var(b, i_var);
      nir_break_if(b, nir_uge_imm(b, offset, pass->end));
      nir_def *address = get_address(pass, b, offset);
      if (address->bit_size == 64)
         gpuval_store_global(b, address, 16, zero, 0xf);
      else
         nir_store_shared(b, zero, address, .align_mul = 16, .write_mask = 0xf);
      nir_store_var(b, i_var, nir_iadd(b, offset, step), 0x1);
   }
   nir_pop_loop(b, loop);
   nir_barrier(b, .execution_scope = SCOPE_WORKGROUP, .memory_scope = SCOPE_WORKGROUP,
               .memory_semantics = NIR_MEMORY_ACQ_REL,
               .memory_modes = nir_var_mem_shared | nir_var_mem_global);
   b->shader->info.uses_control_barrier = true; /* llvmpipe 26.0 can suspend what says so */
}

static nir_def *
build_number(struct pass *pass, nir_builder *b)
{
   nir_def *number = gpuval_nir_local_index(pass->state->options->driver, b);

   if (pass->phases.scopes & BITFIELD_BIT(SCOPE_SUBGROUP)) {
      /* Where subgroups are is the driver's business. */
      pass->subgroup_shift = pass->state->options->driver->subgroup_bits;
      number = nir_ior(b, nir_ishl_imm(b, nir_load_subgroup_id(b), pass->subgroup_shift),
                       nir_load_subgroup_invocation(b));
   }
   return nir_iand_imm(b, number, GPUVAL_SHARED_INVOCATION_MASK);
}

static void
emit_sync(struct pass *pass, nir_def *active, nir_def *address, nir_def *size, nir_def *offset,
          nir_def *slot, nir_def *value, uint32_t base, uint32_t site, unsigned flags)
{
   nir_builder *b = &pass->state->b;
   nir_def *phase = pass->phases.scopes ? nir_load_var(b, pass->phases.var) : nir_imm_int(b, 0);
   const bool by_phases = !pass->order && !(pass->phases.scopes & BITFIELD_BIT(SCOPE_SUBGROUP));
   nir_def *token =
      nir_imm_int(b, GPUVAL_SHADOW_CONTEXT(pass->granule_log2, pass->subgroup_shift,
                                           by_phases ? GPUVAL_SHARED_BY_PHASES : 0, site));

   nir_sync_gpuval(b, active, address, size, offset, slot,
                   nir_vec4(b, pass->number, token, phase, value),
                   gpuval_nir_invocation(pass->state), .base = base,
                   .desc_set = GPUVAL_REPORT_PLAIN, .flags = flags | GPUVAL_SYNC_SHARED);
}

static nir_def *
load(nir_builder *b, int memory, nir_def *offset, unsigned components, unsigned bit_size)
{
   if (memory == PAYLOAD)
      return nir_load_task_payload(b, components, bit_size, offset, .align_mul = bit_size / 8);
   return nir_load_shared(b, components, bit_size, offset, .align_mul = bit_size / 8);
}

/* For GPUVAL_SHARED_BEGIN_SHIFT; 0: drivers cannot tell where shared memory is */
static uint32_t
get_begin(const struct pass *pass)
{
   const uint32_t units = pass->order_begin / 16;

   static_assert(GPUVAL_SHARED_BEGIN_SHIFT + 12 == 32, "64 KiB are 4,096 units");
   if (!pass->state->options->driver->shared_address || units >= 1u << 12 ||
       pass->end - pass->order_begin > GPUVAL_SHARED_DISTANCE_MASK)
      return 0;
   return units << GPUVAL_SHARED_BEGIN_SHIFT;
}

/* Components from @first on, side by side */
static void
emit_run(struct pass *pass, const struct gpuval_access *access, unsigned first, unsigned count)
{
   static const enum gpuval_kind kinds[] = {
      [GPUVAL_BLOOM_LOAD] = GPUVAL_KIND_SHARED_READ_AFTER_WRITE,
      [GPUVAL_BLOOM_STORE] = GPUVAL_KIND_SHARED_WRITE_AFTER_ACCESS,
      [GPUVAL_BLOOM_ATOMIC] = GPUVAL_KIND_SHARED_ATOMIC_CONFLICT,
   };
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   int memory = get_memory(access);
   unsigned size = count * access->component_bytes;
   bool is_load = access->op == GPUVAL_OP_LOAD, has_value = access->op == GPUVAL_OP_STORE;
   enum gpuval_bloom_type type = access->is_atomic ? GPUVAL_BLOOM_ATOMIC
                                 : is_load         ? GPUVAL_BLOOM_LOAD
                                                   : GPUVAL_BLOOM_STORE;

   const struct gpuval_site site = {
      .kind = kinds[type],
      .op = access->spirv_op,
      .spirv_offset = gpuval_nir_spirv_offset(state, access->instance),
      .set = -1,
      .binding = -1,
   };
   const struct gpuval_nir_entry entry = {
      .size = size,
      .site =
         has_value ? gpuval_nir_add_store_sites(state, &site) : gpuval_nir_add_site(state, &site),
      .instance = access->instance,
   };
   uint32_t base = gpuval_nir_add_entry(state, &entry);

   nir_def *offset = nir_iadd_imm(b, nir_get_io_offset_src(intrin)->ssa,
                                  nir_intrinsic_base(intrin) + first * access->component_bytes);
   nir_def *active = size <= pass->size[memory]
                        ? nir_uge(b, nir_imm_int(b, pass->size[memory] - size), offset)
                        : nir_imm_false(b);
   nir_def *cell =
      nir_imul_imm(b, nir_ushr_imm(b, offset, pass->granule_log2), GPUVAL_SHARED_CELL_SIZE);
   cell = get_address(pass, b, nir_iadd_imm(b, cell, pass->cells_begin[memory]));

   nir_def *slot =
      nir_imm_int(b, (pass->cells_begin[memory] - pass->order_begin) |
                        (memory == PAYLOAD ? GPUVAL_SHARED_IS_PAYLOAD : 0) | get_begin(pass));
   nir_def *bytes = nir_imm_int(b, size), *value = nir_imm_int(b, 0);
   if (has_value)
      value = gpuval_nir_value(b, intrin->src[0].ssa, first, count);
   if (has_value && (memory == PAYLOAD || !get_begin(pass))) {
      /* What is outside is not even read. */
      nir_def *at = nir_bcsel(b, active, offset, nir_imm_int(b, 0));
      nir_def *there = load(b, memory, at, count, access->component_bytes * 8);
      nir_def *same = nir_ieq(b, gpuval_nir_value(b, there, 0, count), value);
      bytes = nir_ior(b, bytes,
                      nir_bcsel(b, same, nir_imm_int(b, GPUVAL_SHARED_SAME), nir_imm_int(b, 0)));
   }

   unsigned flags = type == GPUVAL_BLOOM_ATOMIC && is_load ? GPUVAL_SYNC_ATOMIC_LOAD : type;
   uint32_t number = MIN2(pass->num_sites + 1, GPUVAL_SHADOW_SITE_UNKNOWN);
   pass->num_sites++;
   emit_sync(pass, active, cell, bytes, offset, slot, value, base, number,
             flags | (has_value ? GPUVAL_SYNC_HAS_VALUE : 0));
}

static void
instrument(struct pass *pass, const struct gpuval_access *access)
{
   pass->state->b.cursor = nir_before_instr(access->instr);

   u_foreach_bit (i, access->components) {
      if (!i || !(access->components & BITFIELD_BIT(i - 1)))
         emit_run(pass, access, i, ffs(~(access->components >> i)) - 1);
   }
}

static bool
is_fence(const struct pass *pass, const struct gpuval_access *access)
{
   return gpuval_nir_is_fence(pass->state, access, MODES, SCOPE_SUBGROUP);
}

/* @op: enum of GPUVAL_SYNC_ORDERS */
static void
emit_order(struct pass *pass, nir_def *active, unsigned op)
{
   nir_builder *b = &pass->state->b;
   nir_def *zero = nir_imm_int(b, 0);

   emit_sync(pass, active, get_address(pass, b, nir_imm_int(b, pass->order_begin)),
             nir_imm_int(b, op), zero, zero, zero, 0, 0, GPUVAL_SYNC_ORDERS);
}

static void
order_atomic(struct pass *pass, const struct gpuval_access *access)
{
   nir_builder *b = &pass->state->b;

   if (access->op != GPUVAL_OP_LOAD) {
      b->cursor = nir_before_instr(access->instr);
      nir_def *passed = nir_iand_imm(b, nir_load_var(b, pass->order), PASSED_BARRIER);
      emit_order(pass, nir_ine_imm(b, passed, 0), GPUVAL_SYNC_RELEASE);
   }
   if (access->op != GPUVAL_OP_STORE) {
      b->cursor = nir_after_instr(access->instr);
      nir_store_var(b, pass->order, nir_ior_imm(b, nir_load_var(b, pass->order), HAS_FOUND), 0x1);
   }
}

static void
order_fence(struct pass *pass, const struct gpuval_access *access)
{
   nir_builder *b = &pass->state->b;

   const nir_memory_semantics semantics =
      nir_intrinsic_memory_semantics(nir_instr_as_intrinsic(access->instr));

   b->cursor = nir_after_instr(access->instr);
   nir_def *order = nir_load_var(b, pass->order);
   if (semantics & NIR_MEMORY_ACQUIRE)
      emit_order(pass, nir_ine_imm(b, nir_iand_imm(b, order, HAS_FOUND), 0), GPUVAL_SYNC_ACQUIRE);
   if (semantics & NIR_MEMORY_RELEASE)
      nir_store_var(b, pass->order, nir_ior_imm(b, order, PASSED_BARRIER), 0x1);
}

/* Any atomic may be the flag, or the lock. */
static bool
may_order(const struct gpuval_access *access)
{
   return access->is_atomic && access->op != GPUVAL_OP_NONE;
}

static bool
needs_order(const struct pass *pass)
{
   bool has_fences = false, has_atomics = false;

   gpuval_nir_foreach_access(pass->state, access)
   {
      has_fences |= is_fence(pass, access);
      has_atomics |= may_order(access);
   }
   return has_fences && has_atomics;
}

bool
gpuval_nir_instrument_shared(struct gpuval_nir_state *state)
{
   nir_builder *b = &state->b;
   const shader_info *info = &b->shader->info;
   struct pass pass = {
      .state = state,
      .phases =
         {
            .modes = MODES,
            .types = BITFIELD_BIT(GPUVAL_ACCESS_SHARED) | BITFIELD_BIT(GPUVAL_ACCESS_TASK_PAYLOAD),
         },
   };

   if (!(state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_SHARED)) ||
       !mesa_shader_stage_uses_workgroup(info->stage) || !look_at_accesses(&pass))
      return false;
   if (!place_cells(&pass)) {
      state->table->shared_is_full = true;
      return false;
   }

   nir_builder at_top = nir_builder_at(nir_before_impl(b->impl));
   if (needs_order(&pass)) {
      pass.order = nir_local_variable_create(b->impl, glsl_uint_type(), "gpuval order");
      pass.phases.ended = pass.order;
      nir_store_var(&at_top, pass.order, nir_imm_int(&at_top, 0), 0x1);
   }
   gpuval_nir_count_phases(state, &pass.phases);

   gpuval_nir_invocation(state);
   at_top.cursor = nir_before_impl(b->impl);
   pass.number = build_number(&pass, &at_top);
   clear_cells(&pass, &at_top);

   gpuval_nir_foreach_access(state, access)
   {
      if (get_memory(access) >= 0)
         instrument(&pass, access);
   }
   gpuval_nir_foreach_access(state, access)
   {
      if (pass.order && is_fence(&pass, access))
         order_fence(&pass, access);
      else if (pass.order && may_order(access))
         order_atomic(&pass, access);
   }

   nir_progress(true, b->impl, nir_metadata_none); /* a loop */
   nir_lower_vars_to_ssa(b->shader);
   return true;
}
