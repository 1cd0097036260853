/* SPDX-License-Identifier: MIT */

/* address: is what is accessed through an address inside a live buffer, and is the address
 * as aligned as the pointer says?
 *
 * Drivers make code of @check_address_gpuval, in their own way. Each invocation remembers the
 * buffer that its last access went to: while the next ones go there, too, a subtraction and a
 * comparison are all. Otherwise it looks for the buffer in the host's table, which is sorted
 * (gpuval_address_table.h).
 *
 * What a SPIR-V instruction accesses in pieces (a struct) is one access. Those that are
 * none are found by their addresses being a constant distance apart.
 *
 * With GPUVAL_SAFE an address outside of every buffer is replaced by that of memory of ours:
 * loads see zeros, and what stores and atomics write nobody reads. What is only misaligned is
 * reported and performed.
 */

#include "gpuval/src/base/gpuval_address_table.h"
#include "gpuval/src/compat/gpuval_uniform.h"
#include "gpuval_nir_functions.h"
#include "gpuval_nir_private.h"

/* Accesses [first, end) of the list */
struct group {
   struct gpuval_access *first, *end;
   nir_intrinsic_instr *intrin; /* the one with the strictest alignment */
   nir_def *base;
   int64_t lowest, highest; /* bytes behind @base */
};

struct pass {
   struct gpuval_nir_state *state;
   nir_def *safe[2]; /* addresses for loads, and for everything else; once they are asked for */
   bool found;
};

static nir_intrinsic_instr *
get_intrin(const struct gpuval_access *access)
{
   return nir_instr_as_intrinsic(access->instr);
}

static nir_def *
get_address(const struct gpuval_access *access)
{
   return nir_get_io_offset_src(get_intrin(access))->ssa;
}

/* Nothing has been folded yet where checks look: offsets of constant indices are products. */
static bool
get_constant(nir_scalar scalar, unsigned depth, int64_t *value)
{
   int64_t a, b = 0;

   scalar = nir_scalar_chase_movs(scalar);
   if (nir_scalar_is_const(scalar)) {
      *value = nir_scalar_as_int(scalar);
      return true;
   }
   if (!depth || !nir_scalar_is_alu(scalar))
      return false;

   const nir_op op = nir_scalar_alu_op(scalar);
   if ((op != nir_op_iadd && op != nir_op_imul && op != nir_op_amul && op != nir_op_ishl) ||
       !get_constant(nir_scalar_chase_alu_src(scalar, 0), depth - 1, &a) ||
       !get_constant(nir_scalar_chase_alu_src(scalar, 1), depth - 1, &b))
      return false;
   *value = op == nir_op_iadd   ? (uint64_t)a + b
            : op == nir_op_ishl ? (uint64_t)a << (b & (scalar.def->bit_size - 1))
                                : (uint64_t)a * b;
   return true;
}

nir_def *
gpuval_nir_split_offset(nir_def *address, int64_t *offset)
{
   nir_scalar scalar = nir_scalar_chase_movs(nir_get_scalar(address, 0));

   *offset = 0;
   while (nir_scalar_is_alu(scalar) && nir_scalar_alu_op(scalar) == nir_op_iadd) {
      nir_scalar a = nir_scalar_chase_alu_src(scalar, 0);
      nir_scalar b = nir_scalar_chase_alu_src(scalar, 1);
      int64_t constant;

      if (get_constant(b, 2, &constant))
         scalar = nir_scalar_chase_movs(a);
      else if (get_constant(a, 2, &constant))
         scalar = nir_scalar_chase_movs(b);
      else
         break;
      *offset += constant;
   }
   return scalar.comp == 0 ? scalar.def : address;
}

static bool
belongs(const struct group *group, const struct gpuval_access *access, const nir_def *base)
{
   return access->type == GPUVAL_ACCESS_ADDRESS && access->instance == group->first->instance &&
          access->op == group->first->op && access->block == group->first->block &&
          base == group->base;
}

static unsigned
get_alignment(const nir_intrinsic_instr *intrin)
{
   return nir_intrinsic_has_align_mul(intrin) ? nir_intrinsic_align_mul(intrin)
                                              : intrin->def.bit_size / 8;
}

static void
collect(struct group *group, struct gpuval_access *first, struct gpuval_access *end)
{
   int64_t offset;

   *group = (struct group){
      .first = first,
      .end = first,
      .base = gpuval_nir_split_offset(get_address(first), &offset),
      .lowest = INT64_MAX,
      .highest = INT64_MIN,
   };
   for (; group->end < end; group->end++) {
      nir_def *base = group->end->type == GPUVAL_ACCESS_ADDRESS
                         ? gpuval_nir_split_offset(get_address(group->end), &offset)
                         : NULL;
      if (!belongs(group, group->end, base))
         break;

      offset += gpuval_nir_access_skipped(group->end);
      group->lowest = MIN2(group->lowest, offset);
      group->highest = MAX2(group->highest, offset + gpuval_nir_access_bytes(group->end));
      nir_intrinsic_instr *intrin = get_intrin(group->end);
      if (!group->intrin || get_alignment(intrin) > get_alignment(group->intrin))
         group->intrin = intrin;
   }
}

static unsigned
get_align_offset(const nir_intrinsic_instr *intrin)
{
   return nir_intrinsic_has_align_offset(intrin) ? nir_intrinsic_align_offset(intrin) : 0;
}

static uint32_t
add_entry(struct pass *pass, const struct group *group, enum gpuval_kind kind, unsigned alignment)
{
   const struct gpuval_site site = {
      .kind = kind,
      .op = group->first->spirv_op,
      .spirv_offset = gpuval_nir_spirv_offset(pass->state, group->first->instance),
      .set = -1,
      .binding = -1,
      .alignment = alignment,
   };
   const struct gpuval_nir_entry entry = {
      .size = group->highest - group->lowest,
      .site = gpuval_nir_add_site(pass->state, &site),
   };

   return gpuval_nir_add_entry(pass->state, &entry);
}

/* Operations that are looked at for one address */
#define MAX_OPERATIONS 64

static bool
is_uniform(nir_def *def, unsigned *budget)
{
   nir_instr *instr = nir_def_instr(def);

   if (instr->type == nir_instr_type_load_const)
      return true;
   if (!*budget)
      return false;
   (*budget)--;

   if (instr->type == nir_instr_type_alu) {
      const nir_alu_instr *alu = nir_instr_as_alu(instr);
      for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++) {
         if (!is_uniform(alu->src[i].src.ssa, budget))
            return false;
      }
      return true;
   }
   if (instr->type != nir_instr_type_intrinsic)
      return false;

   const nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
   switch (intrin->intrinsic) {
   case nir_intrinsic_vulkan_resource_index:
   case nir_intrinsic_load_vulkan_descriptor:
   case nir_intrinsic_load_push_constant:
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_load_ssbo:
   case nir_intrinsic_load_global:
   case nir_intrinsic_load_global_constant:
      for (unsigned i = 0; i < nir_intrinsic_infos[intrin->intrinsic].num_srcs; i++) {
         if (!is_uniform(intrin->src[i].ssa, budget))
            return false;
      }
      return true;
   case nir_intrinsic_load_workgroup_id:
   case nir_intrinsic_load_num_workgroups:
      return true;
   case nir_intrinsic_read_first_invocation:
      return gpuval_is_uniform_choice(intrin); /* of keep_uniform() */
   default:
      return false;
   }
}

/* LLVM makes a load by one lane of a load at an address that all lanes have, and eight with a
 * branch each of what it does not know to be one; a selection by lanes hides that. Where the first
 * lane is active, reading its value costs nothing: outside of control flow, but for fragment
 * shaders (invocation_0_must_be_active() in lp_bld_nir_soa.c).
 */
static nir_def *
keep_uniform(struct gpuval_nir_state *state, const struct gpuval_access *access, nir_def *chosen)
{
   nir_builder *b = &state->b;
   const bool is_outside = access->instr->block->cf_node.parent->type == nir_cf_node_function;
   unsigned budget = MAX_OPERATIONS;

   if (!state->options->driver->broadcasts || !is_outside ||
       b->shader->info.stage == MESA_SHADER_FRAGMENT || !is_uniform(access->address, &budget))
      return chosen;
   return nir_read_first_invocation(b, chosen);
}

/* Zeros for loads, and what others may write to */
static void
make_safe(struct pass *pass, struct gpuval_access *access, nir_def *bad)
{
   struct gpuval_nir_state *state = pass->state;
   const struct gpuval_nir_driver *driver = state->options->driver;
   nir_builder *b = &state->b;
   nir_intrinsic_instr *intrin = get_intrin(access);
   nir_src *address = nir_get_io_offset_src(intrin);

   const bool is_load = access->op == GPUVAL_OP_LOAD;
   nir_def **safe = &pass->safe[!is_load];
   if (!*safe) {
      nir_builder at_top = nir_builder_at(nir_before_impl(b->impl));
      *safe = nir_iadd_imm(&at_top, driver->root_address(driver, &at_top),
                           is_load ? GPUVAL_ROOT_ZEROS : GPUVAL_ROOT_SCRATCH);
   }
   access->address = address->ssa;
   nir_def *chosen = nir_bcsel(b, bad, *safe, address->ssa);
   nir_src_rewrite(address, keep_uniform(state, access, chosen));

   if (access->op == GPUVAL_OP_ATOMIC) {
      b->cursor = nir_after_instr(access->instr);
      nir_def *zero = nir_imm_zero(b, intrin->def.num_components, intrin->def.bit_size);
      nir_def *result = nir_bcsel(b, bad, zero, &intrin->def);
      gpuval_rewrite_uses_after(&intrin->def, result);
   }
}

/* With nothing that optimizations look at. 1 bit: it is in no buffer. */
static nir_def *
add_check(struct pass *pass, const struct group *group, nir_def *address)
{
   const nir_intrinsic_instr *intrin = group->intrin;
   const unsigned alignment = get_alignment(intrin);
   const uint32_t first_entry = add_entry(pass, group, GPUVAL_KIND_INVALID_ADDRESS, 0);
   int64_t offset;

   if (alignment > 1)
      add_entry(pass, group, GPUVAL_KIND_MISALIGNED, alignment);
   gpuval_nir_split_offset(nir_get_io_offset_src((nir_intrinsic_instr *)intrin)->ssa, &offset);
   offset = get_align_offset(intrin) - (offset - group->lowest);
   return nir_check_address_gpuval(&pass->state->b, 1, address, gpuval_nir_invocation(pass->state),
                                   .base = first_entry, .range = 1, .desc_set = GPUVAL_REPORT_PLAIN,
                                   .flags = group->highest - group->lowest, .align_mul = alignment,
                                   .align_offset = offset & (alignment - 1));
}

static void
instrument(struct pass *pass, const struct group *group)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;
   int64_t first_offset;

   b->cursor = nir_before_instr(group->first->instr);
   gpuval_nir_split_offset(get_address(group->first), &first_offset);
   nir_def *address = nir_iadd_imm(b, get_address(group->first), group->lowest - first_offset);

   nir_def *bad = add_check(pass, group, address);

   for (struct gpuval_access *access = group->first; access < group->end; access++) {
      access->bad = bad;
      if (state->options->safe) {
         b->cursor = nir_before_instr(access->instr);
         make_safe(pass, access, bad);
      }
   }
}

bool
gpuval_nir_instrument_address(struct gpuval_nir_state *state)
{
   struct pass pass = {.state = state};

   if (!(state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_ADDRESS)))
      return false;

   struct gpuval_access *access = util_dynarray_begin(&state->accesses);
   struct gpuval_access *end = util_dynarray_end(&state->accesses);
   while (access < end) {
      struct group group;

      if (access->type != GPUVAL_ACCESS_ADDRESS) {
         access++;
         continue;
      }
      collect(&group, access, end);
      instrument(&pass, &group);
      pass.found = true;
      access = group.end;
   }
   return pass.found;
}

nir_def *
gpuval_nir_count_ranges(nir_builder *b, nir_def *table, nir_def *ranges, unsigned stride,
                        nir_def *address, bool is_fixed)
{
   nir_def *(*const load)(nir_builder *, nir_def *, unsigned, unsigned, unsigned) =
      is_fixed ? gpuval_load_fixed : gpuval_load_global;

   /* low: as many begin at or before the address; high: those from there on do not. */
   nir_variable *low_var = nir_local_variable_create(b->impl, glsl_uint_type(), "low");
   nir_variable *high_var = nir_local_variable_create(b->impl, glsl_uint_type(), "high");
   nir_store_var(b, low_var, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, high_var, load(b, table, 4, 1, 32), 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *low = nir_load_var(b, low_var), *high = nir_load_var(b, high_var);
      nir_break_if(b, nir_uge(b, low, high));

      nir_def *middle = nir_ushr_imm(b, nir_iadd(b, low, high), 1);
      nir_def *begin =
         load(b, nir_iadd(b, ranges, nir_imul_imm(b, nir_u2u64(b, middle), stride)), 8, 1, 64);
      nir_def *is_before = nir_uge(b, address, begin);
      nir_store_var(b, low_var, nir_bcsel(b, is_before, nir_iadd_imm(b, middle, 1), low), 0x1);
      nir_store_var(b, high_var, nir_bcsel(b, is_before, high, middle), 0x1);
   }
   nir_pop_loop(b, loop);
   return nir_load_var(b, low_var);
}

/* The function. @words: low and high word of the address, and bytes from there on. Returns of
 * the live buffer that has all of them, in the low word: bytes before the address; in the high
 * one: GPUVAL_ADDRESS_FOUND, and how far from there is certain (GPUVAL_ADDRESS_ROOM). Both are cut
 * off for buffers that are larger. 0: there is none.
 */
nir_def *
gpuval_nir_build_address(nir_builder *b, const struct gpuval_nir_driver *driver,
                         nir_def *const *words)
{
   nir_def *address = nir_pack_64_2x32_split(b, words[0], words[1]);
   nir_def *root = driver->root_address(driver, b);
   nir_def *table =
      gpuval_nir_load_root(b, root, 64, offsetof(struct gpuval_root, addresses_address));
   nir_def *ranges = nir_iadd_imm(b, table, offsetof(struct gpuval_address_table, ranges));
   const unsigned stride = sizeof(struct gpuval_address_range);
   nir_def *count = gpuval_nir_count_ranges(b, table, ranges, stride, address, false);

   /* Before the first range there is an empty one. */
   nir_def *range = nir_iadd(b, table, nir_imul_imm(b, nir_u2u64(b, count), stride));
   nir_def *begin = gpuval_load_global(b, range, 8, 1, 64);
   nir_def *size = gpuval_load_global(b, nir_iadd_imm(b, range, 8), 8, 1, 64);
   nir_def *distance = nir_isub(b, address, begin);
   nir_def *fits = nir_iand(b, nir_ult(b, distance, size),
                            nir_uge(b, nir_isub(b, size, distance), nir_u2u64(b, words[2])));

   /* From a place that is at most MAX before the address */
   const uint64_t max = GPUVAL_ADDRESS_FOUND / 2;
   nir_def *before = nir_umin(b, distance, nir_imm_int64(b, max));
   nir_def *rest = nir_iadd(b, nir_isub(b, size, distance), before);
   nir_def *limit =
      nir_iadd_imm(b, nir_umin(b, rest, nir_imm_int64(b, 2 * max - 1)), 1 - GPUVAL_ADDRESS_ROOM);
   limit = nir_bcsel(b, nir_ult_imm(b, rest, GPUVAL_ADDRESS_ROOM), nir_imm_int64(b, 0), limit);
   nir_def *result = nir_pack_64_2x32_split(
      b, nir_u2u32(b, before), nir_ior_imm(b, nir_u2u32(b, limit), GPUVAL_ADDRESS_FOUND));
   return nir_bcsel(b, fits, result, nir_imm_int64(b, 0));
}
