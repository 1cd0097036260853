/* SPDX-License-Identifier: MIT */

/* What a turn of a group's loop is about. */

#include "gpuval_nir_turns.h"

#include "nir_builder.h"

struct turn
gpuval_nir_begin_turn(nir_builder *b, nir_def *i)
{
   struct turn turn = {.i = i};

   for (unsigned bit = 0; bit < MAX_GROUP_LOG2; bit++)
      turn.bits[bit] = nir_ine_imm(b, nir_iand_imm(b, i, 1u << bit), 0);
   return turn;
}

static bool
is_same(nir_scalar first, nir_scalar second)
{
   return nir_scalar_equal(first, second) ||
          (nir_scalar_is_const(first) && nir_scalar_is_const(second) &&
           nir_scalar_as_uint(first) == nir_scalar_as_uint(second));
}

/* Of the @num that there are, 1 << @level or fewer */
static nir_scalar
select_scalar(nir_builder *b, const struct turn *turn, const nir_scalar *scalars, unsigned num,
              unsigned level)
{
   if (num == 1)
      return scalars[0];

   unsigned half = 1u << --level;
   if (num <= half)
      return select_scalar(b, turn, scalars, num, level);

   nir_scalar first = select_scalar(b, turn, scalars, half, level);
   nir_scalar second = select_scalar(b, turn, scalars + half, num - half, level);
   if (is_same(first, second))
      return first;
   return nir_get_scalar(nir_bcsel(b, turn->bits[level], nir_channel(b, second.def, second.comp),
                                   nir_channel(b, first.def, first.comp)),
                         0);
}

nir_def *
gpuval_nir_select(nir_builder *b, const struct turn *turn, const nir_scalar *scalars,
                  unsigned count)
{
   nir_scalar selected = select_scalar(b, turn, scalars, count, MAX_GROUP_LOG2);
   return nir_channel(b, selected.def, selected.comp);
}

/* Most are the same for all, or one more each. */
nir_def *
gpuval_nir_select_value(nir_builder *b, const struct turn *turn, const uint32_t *values,
                        unsigned count)
{
   uint32_t step = count > 1 ? values[1] - values[0] : 0;
   bool has_step = true;

   for (unsigned j = 1; j < count; j++)
      has_step &= values[j] == values[0] + j * step;
   if (has_step)
      return step ? nir_iadd_imm(b, nir_imul_imm(b, turn->i, step), values[0])
                  : nir_imm_int(b, values[0]);

   nir_scalar scalars[MAX_GROUP];
   for (unsigned j = 0; j < count; j++)
      scalars[j] = nir_get_scalar(nir_imm_int(b, values[j]), 0);
   return gpuval_nir_select(b, turn, scalars, count);
}

/* Instructions that a condition may take to be computed once more */
#define MAX_REPEATED 16

/* Returns what is the same as @def, but has to be computed where it is used: a turn's number is
 * below MAX_GROUP, which optimizations do not know, so that they do not take what there is already.
 */
static nir_def *
repeat(nir_builder *b, const struct turn *turn, nir_def *def, unsigned *left)
{
   nir_instr *instr = nir_def_instr(def);

   if (instr->type == nir_instr_type_load_const)
      return def;
   if (instr->type == nir_instr_type_intrinsic &&
       nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_has_bits_gpuval) {
      nir_intrinsic_instr *bits = nir_instr_as_intrinsic(instr);
      nir_def *word = repeat(b, turn, bits->src[0].ssa, left);
      return nir_has_bits_gpuval(b, 1, word, .base = nir_intrinsic_base(bits));
   }
   if (instr->type != nir_instr_type_alu || !*left) {
      if (def->bit_size != 32)
         return def;
      nir_def *nothing = nir_ushr_imm(b, turn->i, MAX_GROUP_LOG2);
      return nir_ior(b, def, nir_replicate(b, nothing, def->num_components));
   }

   (*left)--;
   nir_def *srcs[NIR_ALU_MAX_INPUTS];
   for (unsigned i = 0; i < nir_op_infos[nir_instr_as_alu(instr)->op].num_inputs; i++)
      srcs[i] = repeat(b, turn, nir_instr_as_alu(instr)->src[i].src.ssa, left);
   nir_alu_instr *copy = nir_instr_as_alu(nir_instr_clone(b->shader, instr));
   for (unsigned i = 0; i < nir_op_infos[copy->op].num_inputs; i++)
      copy->src[i].src = nir_src_for_ssa(srcs[i]);
   nir_builder_instr_insert(b, &copy->instr);
   return &copy->def;
}

/* Where a bit is the same in all lanes, and only a branch asks for it, it is one of the scalar unit;
 * but what is behind the branch would have it in registers, one a lane. So that is made once more.
 */
static nir_scalar
repeat_bit(nir_builder *b, const struct turn *turn, nir_scalar scalar)
{
   unsigned left = MAX_REPEATED;

   if (scalar.def->divergent || nir_scalar_is_const(scalar))
      return scalar;
   return nir_get_scalar(repeat(b, turn, scalar.def, &left), scalar.comp);
}

static nir_scalar
repeat_bits(nir_builder *b, const struct turn *turn, nir_scalar scalar)
{
   bool is_bit = scalar.def->bit_size == 1;
   bool is_of_bit = nir_scalar_is_alu(scalar) && nir_scalar_alu_op(scalar) == nir_op_b2i32;

   return turn && turn->is_failure && (is_bit || is_of_bit) ? repeat_bit(b, turn, scalar) : scalar;
}

nir_def *
gpuval_nir_select_src(nir_builder *b, const struct group *group, const struct turn *turn,
                      unsigned src, unsigned component)
{
   nir_scalar scalars[MAX_GROUP];

   for (unsigned j = 0; j < group->count; j++)
      scalars[j] = repeat_bits(b, turn, get_src(group, j, src, component));
   return gpuval_nir_select(b, turn, scalars, group->count);
}

nir_def *
gpuval_nir_select_constant(nir_builder *b, const struct group *group, const struct turn *turn,
                           uint32_t (*get)(const nir_intrinsic_instr *intrin))
{
   uint32_t values[MAX_GROUP];

   for (unsigned j = 0; j < group->count; j++)
      values[j] = get(group->intrins[j]);
   return gpuval_nir_select_value(b, turn, values, group->count);
}

static uint32_t
get_first_entry(const nir_intrinsic_instr *report)
{
   return nir_intrinsic_base(report);
}

nir_def *
gpuval_nir_select_entry(nir_builder *b, const struct gpuval_nir_driver *driver,
                        const struct group *group, const struct turn *turn)
{
   nir_def *entry = gpuval_nir_select_constant(b, group, turn, get_first_entry);

   if (!driver->entry_base)
      return entry;
   return nir_iadd(b, driver->entry_base(driver, b, nir_imm_int(b, b->shader->info.stage)), entry);
}

#define MAX_DEPTH 6

/* Is it made of nothing but arguments of the shader, which are there anyway? */
static bool
is_of_arguments(nir_def *def, unsigned depth)
{
   nir_instr *instr = nir_def_instr(def);

   switch (instr->type) {
   case nir_instr_type_load_const:
      return true;
   case nir_instr_type_intrinsic: {
      nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
      return nir_intrinsic_infos[intrin->intrinsic].num_srcs == 0 &&
             nir_intrinsic_can_reorder(intrin);
   }
   case nir_instr_type_alu: {
      nir_alu_instr *alu = nir_instr_as_alu(instr);
      for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++) {
         if (depth == MAX_DEPTH || !is_of_arguments(alu->src[i].src.ssa, depth + 1))
            return false;
      }
      return true;
   }
   default:
      return false;
   }
}

static nir_def *
copy_here(nir_builder *b, nir_def *def)
{
   nir_instr *instr = nir_def_instr(def);

   if (instr->type == nir_instr_type_load_const)
      return def;

   nir_instr *copy = nir_instr_clone(b->shader, instr);
   if (copy->type == nir_instr_type_alu) {
      nir_alu_instr *alu = nir_instr_as_alu(copy);
      for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++)
         alu->src[i].src = nir_src_for_ssa(copy_here(b, alu->src[i].src.ssa));
   }
   nir_builder_instr_insert(b, copy);
   return nir_instr_def(copy);
}

/* It is taken at the top, for what comes there is to know it; where that is all the same, it
 * is made once more, instead of keeping registers.
 */
nir_def *
gpuval_nir_select_invocation(nir_builder *b, const struct group *group, const struct turn *turn,
                             unsigned src, unsigned component)
{
   nir_def *word = gpuval_nir_select_src(b, group, turn, src, component);
   return is_of_arguments(word, 0) ? copy_here(b, word) : word;
}
