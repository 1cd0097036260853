/* SPDX-License-Identifier: MIT */

/* Intervals of signed integers: of constants, masks, clamps, sums, and variables of loops whose
 * rounds are known, and of what comparisons with constants leave of them. Whatever else it is can
 * have any value. Nothing is said of what may wrap.
 */

#include "gpuval_nir_range.h"

/* Values that are looked at for one index: they may be shared in ways that have no end. */
#define MAX_VISITS 128

struct interval {
   int64_t min, max; /* both in it */
};

static const struct interval anything = {INT32_MIN, INT32_MAX};

static struct interval find_interval(nir_scalar scalar, const nir_block *block,
                                     unsigned *num_visits);

void
gpuval_nir_require_ranges(nir_function_impl *impl)
{
   nir_metadata_require(
      impl, nir_metadata_dominance | nir_metadata_block_index | nir_metadata_loop_analysis,
      nir_var_function_temp, false);
}

static struct interval
fit(struct interval interval)
{
   bool fits =
      interval.min <= interval.max && interval.min >= INT32_MIN && interval.max <= INT32_MAX;
   return fits ? interval : anything;
}

static struct interval
join(struct interval a, struct interval b)
{
   return (struct interval){MIN2(a.min, b.min), MAX2(a.max, b.max)};
}

/* An unsigned integer of fewer bits than these */
static struct interval
of_bits(unsigned bits)
{
   return bits < 31 ? (struct interval){0, (1 << bits) - 1} : anything;
}

static bool
is_anything(struct interval interval)
{
   return interval.min == INT32_MIN && interval.max == INT32_MAX;
}

/* A variable that a loop counts up from a constant, in rounds of a number that is known */
static struct interval
find_counter(const nir_phi_instr *phi, const nir_block *block)
{
   const nir_cf_node *parent = phi->instr.block->cf_node.parent;
   if (parent->type != nir_cf_node_loop)
      return anything;

   const nir_loop *loop = nir_cf_node_as_loop((nir_cf_node *)parent);
   const nir_loop_info *info = loop->info;
   if (nir_loop_first_block((nir_loop *)loop) != phi->instr.block || !info ||
       !info->induction_vars || info->complex_loop || !info->limiting_terminator ||
       !info->max_trip_count)
      return anything;

   struct hash_entry *entry = _mesa_hash_table_search(info->induction_vars, (void *)&phi->def);
   const nir_loop_induction_variable *variable = entry ? entry->data : NULL;
   if (!variable || variable->basis != &phi->def || !nir_src_is_const(*variable->init_src) ||
       !variable->update_src || !nir_src_is_const(variable->update_src->src) ||
       nir_def_instr(variable->def)->type != nir_instr_type_alu ||
       nir_instr_as_alu(nir_def_instr(variable->def))->op != nir_op_iadd)
      return anything;

   int64_t init = nir_src_as_int(*variable->init_src);
   int64_t step = nir_src_comp_as_int(variable->update_src->src, variable->update_src->swizzle[0]);
   /* The round that leaves the loop sees the variable once more, before the condition. */
   bool is_behind =
      nir_block_dominates(info->limiting_terminator->continue_from_block, (nir_block *)block);
   int64_t rounds = (int64_t)info->max_trip_count - is_behind;
   int64_t last = init + step * rounds;
   if (rounds < 0)
      return anything;
   return fit((struct interval){MIN2(init, last), MAX2(init, last)});
}

static struct interval
find_phi(nir_scalar scalar, const nir_block *block, unsigned *num_visits)
{
   const nir_phi_instr *phi = nir_instr_as_phi(nir_def_instr(scalar.def));
   struct interval counter = scalar.def->num_components == 1 ? find_counter(phi, block) : anything;
   if (!is_anything(counter))
      return counter;

   struct interval all = {INT64_MAX, INT64_MIN};
   nir_foreach_phi_src (src, phi) {
      /* Of a loop nothing else is known. */
      if (nir_block_dominates(phi->instr.block, src->pred))
         return anything;
      all =
         join(all, find_interval(nir_get_scalar(src->src.ssa, scalar.comp), src->pred, num_visits));
   }
   return fit(all);
}

/* A built-in variable, as long as it is one */
static struct interval
find_builtin(nir_scalar scalar)
{
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(nir_def_instr(scalar.def));
   if (intrin->intrinsic != nir_intrinsic_load_deref)
      return anything;

   const nir_deref_instr *deref = nir_src_as_deref(intrin->src[0]);
   nir_variable *var = nir_deref_instr_get_variable((nir_deref_instr *)deref);
   if (!var || var->data.mode != nir_var_system_value)
      return anything;

   const nir_shader *nir =
      nir_cf_node_get_function(&intrin->instr.block->cf_node)->function->shader;
   const uint16_t *size = nir->info.workgroup_size;
   bool has_size = mesa_shader_stage_uses_workgroup(nir->info.stage) &&
                   !nir->info.workgroup_size_variable && size[0] && size[1] && size[2];
   switch (var->data.location) {
   case SYSTEM_VALUE_LOCAL_INVOCATION_INDEX:
      return has_size ? (struct interval){0, (int64_t)size[0] * size[1] * size[2] - 1} : anything;
   case SYSTEM_VALUE_LOCAL_INVOCATION_ID:
      return has_size && scalar.comp < 3 ? (struct interval){0, size[scalar.comp] - 1} : anything;
   case SYSTEM_VALUE_INVOCATION_ID:
      if (nir->info.stage == MESA_SHADER_TESS_CTRL)
         return (struct interval){0, MAX2(nir->info.tess.tcs_vertices_out, 1) - 1};
      return (struct interval){0, 127};
   case SYSTEM_VALUE_SUBGROUP_INVOCATION:
      return (struct interval){0, 127};
   default:
      return anything;
   }
}

/* Conditions within one that are looked at */
#define MAX_DEPTH 4

/* What @scalar can be where @condition @is_true, of 32 bits */
static void
narrow(struct interval *interval, nir_scalar scalar, nir_scalar condition, bool is_true,
       unsigned depth)
{
   condition = nir_scalar_chase_movs(condition);
   if (depth == MAX_DEPTH || scalar.def->bit_size != 32 || !nir_scalar_is_alu(condition))
      return;

   nir_op op = nir_scalar_alu_op(condition);
   if (op == nir_op_inot) {
      narrow(interval, scalar, nir_scalar_chase_alu_src(condition, 0), !is_true, depth + 1);
      return;
   }
   if (op == (is_true ? nir_op_iand : nir_op_ior)) {
      for (unsigned i = 0; i < 2; i++)
         narrow(interval, scalar, nir_scalar_chase_alu_src(condition, i), is_true, depth + 1);
      return;
   }
   if (op != nir_op_ilt && op != nir_op_ige && op != nir_op_ult && op != nir_op_uge)
      return;

   nir_scalar left = nir_scalar_chase_movs(nir_scalar_chase_alu_src(condition, 0));
   nir_scalar right = nir_scalar_chase_movs(nir_scalar_chase_alu_src(condition, 1));
   bool is_left = nir_scalar_equal(left, scalar) && nir_scalar_is_const(right);
   if (!is_left && !(nir_scalar_equal(right, scalar) && nir_scalar_is_const(left)))
      return;

   int64_t bound = nir_scalar_as_int(is_left ? right : left);
   bool is_less = is_true == (op == nir_op_ilt || op == nir_op_ult); /* left < right, or not */
   bool is_unsigned = op == nir_op_ult || op == nir_op_uge;
   if (is_unsigned && (is_less != is_left || bound < 0))
      return; /* it is above something */
   if (is_unsigned)
      interval->min = MAX2(interval->min, 0);
   if (is_left && is_less)
      interval->max = MIN2(interval->max, bound - 1);
   else if (is_left)
      interval->min = MAX2(interval->min, bound);
   else if (is_less)
      interval->min = MAX2(interval->min, bound + 1);
   else
      interval->max = MIN2(interval->max, bound);
}

/* The same where one of two is chosen, and in @block, by the branches that lead there */
static struct interval
find_choice(nir_scalar choice, struct interval first, struct interval second)
{
   nir_scalar condition = nir_scalar_chase_alu_src(choice, 0);

   narrow(&first, nir_scalar_chase_movs(nir_scalar_chase_alu_src(choice, 1)), condition, true, 0);
   narrow(&second, nir_scalar_chase_movs(nir_scalar_chase_alu_src(choice, 2)), condition, false, 0);
   return join(first, second);
}

static bool
is_then(nir_if *nif, nir_cf_node *node)
{
   while (nir_cf_node_prev(node))
      node = nir_cf_node_prev(node);
   return node == &nir_if_first_then_block(nif)->cf_node;
}

static void
narrow_by_branches(struct interval *interval, nir_scalar scalar, const nir_block *block)
{
   for (nir_cf_node *node = (nir_cf_node *)&block->cf_node; node->parent; node = node->parent) {
      /* Who has not left by a branch before, */
      for (nir_cf_node *before = nir_cf_node_prev(node); before;
           before = nir_cf_node_prev(before)) {
         if (before->type != nir_cf_node_if)
            continue;
         nir_if *nif = nir_cf_node_as_if(before);
         nir_scalar condition = nir_get_scalar(nif->condition.ssa, 0);
         if (nir_block_ends_in_jump(nir_if_last_then_block(nif)))
            narrow(interval, scalar, condition, false, 0);
         else if (nir_block_ends_in_jump(nir_if_last_else_block(nif)))
            narrow(interval, scalar, condition, true, 0);
      }
      /* and who is behind one. */
      if (node->parent->type == nir_cf_node_if) {
         nir_if *nif = nir_cf_node_as_if(node->parent);
         narrow(interval, scalar, nir_get_scalar(nif->condition.ssa, 0), is_then(nif, node), 0);
      }
   }
}

static struct interval
find_alu(nir_scalar scalar, const nir_block *block, unsigned *num_visits)
{
   struct interval sources[3] = {anything, anything, anything};
   nir_op op = nir_scalar_alu_op(scalar);
   unsigned num_sources = nir_op_infos[op].num_inputs;
   if (num_sources > 3 || nir_op_infos[op].output_size || nir_op_infos[op].input_sizes[0])
      return anything;
   for (unsigned i = 0; i < num_sources; i++) {
      if (nir_alu_type_get_base_type(nir_op_infos[op].input_types[i]) != nir_type_float)
         sources[i] = find_interval(nir_scalar_chase_alu_src(scalar, i), block, num_visits);
   }

   struct interval a = sources[0], b = sources[1];
   switch (op) {
   case nir_op_mov:
   case nir_op_i2i32:
   case nir_op_i2i64:
      return a;
   case nir_op_u2u32:
   case nir_op_u2u64:
      return a.min >= 0 ? a : of_bits(nir_scalar_chase_alu_src(scalar, 0).def->bit_size);
   default:
      if (scalar.def->bit_size < 32 || (scalar.def->bit_size > 32 && op == nir_op_ushr))
         return anything; /* may wrap */
   }
   switch (op) {
   case nir_op_b2i32:
      return (struct interval){0, 1};
   case nir_op_iadd:
      return fit((struct interval){a.min + b.min, a.max + b.max});
   case nir_op_isub:
      return fit((struct interval){a.min - b.max, a.max - b.min});
   case nir_op_imul:
      if (a.min < 0 || b.min < 0)
         return anything;
      return fit((struct interval){a.min * b.min, a.max * b.max});
   case nir_op_ishl:
      if (a.min < 0 || b.min < 0 || b.max > 31)
         return anything;
      return fit((struct interval){a.min << b.min, a.max << b.max});
   case nir_op_ushr:
      if (b.min < 0 || b.max > 31)
         return anything;
      if (a.min < 0)
         return fit((struct interval){0, UINT32_MAX >> b.min});
      return (struct interval){a.min >> b.max, a.max >> b.min};
   case nir_op_ishr:
      if (a.min < 0 || b.min < 0 || b.max > 31)
         return anything;
      return (struct interval){a.min >> b.max, a.max >> b.min};
   case nir_op_iand:
      if (a.min < 0 && b.min < 0)
         return anything;
      return (struct interval){0, a.min < 0 ? b.max : b.min < 0 ? a.max : MIN2(a.max, b.max)};
   case nir_op_umin:
      if (a.min < 0 && b.min < 0)
         return anything;
      if (a.min < 0 || b.min < 0)
         return (struct interval){0, a.min < 0 ? b.max : a.max};
      return (struct interval){MIN2(a.min, b.min), MIN2(a.max, b.max)};
   case nir_op_umax:
      if (a.min < 0 || b.min < 0)
         return anything;
      return (struct interval){MAX2(a.min, b.min), MAX2(a.max, b.max)};
   case nir_op_imin:
      return (struct interval){MIN2(a.min, b.min), MIN2(a.max, b.max)};
   case nir_op_imax:
      return (struct interval){MAX2(a.min, b.min), MAX2(a.max, b.max)};
   case nir_op_udiv:
      if (a.min < 0 || b.min <= 0)
         return anything;
      return (struct interval){a.min / b.max, a.max / b.min};
   case nir_op_idiv:
      if (a.min < 0 || b.min <= 0)
         return anything;
      return (struct interval){a.min / b.max, a.max / b.min};
   case nir_op_umod:
      return b.min > 0 ? (struct interval){0, b.max - 1} : anything;
   case nir_op_imod:
      return b.min > 0 ? (struct interval){0, b.max - 1} : anything;
   case nir_op_irem:
      if (b.min <= 0)
         return anything;
      return (struct interval){a.min < 0 ? 1 - b.max : 0, b.max - 1};
   case nir_op_bcsel:
      return find_choice(scalar, sources[1], sources[2]);
   default:
      return anything;
   }
}

static struct interval
find_interval(nir_scalar scalar, const nir_block *block, unsigned *num_visits)
{
   scalar = nir_scalar_chase_movs(scalar);
   if (nir_scalar_is_const(scalar) && scalar.def->bit_size > 1)
      return fit((struct interval){nir_scalar_as_int(scalar), nir_scalar_as_int(scalar)});
   if (++*num_visits > MAX_VISITS || scalar.def->bit_size < 8)
      return anything;

   switch (nir_def_instr(scalar.def)->type) {
   case nir_instr_type_alu:
      return find_alu(scalar, block, num_visits);
   case nir_instr_type_phi:
      return find_phi(scalar, block, num_visits);
   case nir_instr_type_intrinsic:
      return find_builtin(scalar);
   default:
      return anything;
   }
}

bool
gpuval_nir_is_below(nir_scalar scalar, uint32_t count, const nir_block *block)
{
   unsigned num_visits = 0;
   struct interval interval = find_interval(scalar, block, &num_visits);

   narrow_by_branches(&interval, nir_scalar_chase_movs(scalar), block);
   return interval.min >= 0 && interval.max < count;
}
