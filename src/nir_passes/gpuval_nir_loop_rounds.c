/* SPDX-License-Identifier: MIT */

/* loop: the rounds of loops that count up or down to a bound, as `for (i = first; i < end; i++)`.
 *
 * How often such a loop goes round is known when it is entered, where a condition on the variable
 * is its only exit. So it is compared with the limit there, and the rounds cost nothing. The bound
 * may be computed in the loop, as that of a uniform buffer is, as long as it is the same in all
 * rounds: it is computed once more in front of the loop.
 *
 * With v the variable when the condition is evaluated first, s its step, and all modulo 2^32, the
 * loop goes round more often than the limit:
 *
 *    v < end     v < end and end - 1 - v >= limit * s
 *    v <= end    v <= end and end - v >= limit * s
 *    v != end    (end - v) / s > limit, for steps of 1
 *
 * and the same backwards where s is negative.
 */

#include "gpuval_nir_loop.h"

#define MAX_DEPTH 8

enum relation { LESS, LESS_EQUAL, NOT_EQUAL };

/* The condition under which a loop goes on: left RELATION right */
struct condition {
   enum relation relation;
   bool is_signed;
   nir_scalar left, right;
};

/* Does the loop have a loop in it, or end invocations on its way? */
static bool
is_simple(const struct exec_list *list)
{
   foreach_list_typed (nir_cf_node, node, node, list) {
      if (node->type == nir_cf_node_loop)
         return false;
      if (node->type == nir_cf_node_if) {
         nir_if *nif = nir_cf_node_as_if(node);
         if (!is_simple(&nif->then_list) || !is_simple(&nif->else_list))
            return false;
         continue;
      }
      nir_foreach_instr (instr, nir_cf_node_as_block(node)) {
         if (instr->type == nir_instr_type_jump && nir_instr_as_jump(instr)->type != nir_jump_break)
            return false;
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         nir_intrinsic_op op = nir_instr_as_intrinsic(instr)->intrinsic;
         if (op == nir_intrinsic_terminate || op == nir_intrinsic_terminate_if ||
             op == nir_intrinsic_terminate_ray || op == nir_intrinsic_ignore_ray_intersection)
            return false;
      }
   }
   return true;
}

/* The if that alone leaves the loop, and that each round comes to; NULL: there is none */
static nir_if *
find_exit(nir_loop *loop)
{
   const nir_block *behind = nir_cf_node_as_block(nir_cf_node_next(&loop->cf_node));
   if (gpuval_predecessors(behind)->entries != 1 ||
       gpuval_predecessors(nir_loop_first_block(loop))->entries != 2 || !is_simple(&loop->body))
      return NULL;

   foreach_list_typed (nir_cf_node, node, node, &loop->body) {
      if (node->type != nir_cf_node_if)
         continue;
      nir_if *nif = nir_cf_node_as_if(node);
      if (nir_block_ends_in_break(nir_if_last_then_block(nif)) !=
          nir_block_ends_in_break(nir_if_last_else_block(nif)))
         return nif;
   }
   return NULL;
}

static bool
read_condition(nir_if *nif, struct condition *condition)
{
   bool goes_on = !nir_block_ends_in_break(nir_if_last_then_block(nif));
   nir_scalar scalar = nir_scalar_chase_movs(nir_get_scalar(nif->condition.ssa, 0));

   while (nir_scalar_is_alu(scalar) && nir_scalar_alu_op(scalar) == nir_op_inot) {
      scalar = nir_scalar_chase_alu_src(scalar, 0);
      goes_on = !goes_on;
   }
   if (!nir_scalar_is_alu(scalar) || nir_op_infos[nir_scalar_alu_op(scalar)].num_inputs != 2)
      return false;

   nir_scalar a = nir_scalar_chase_alu_src(scalar, 0), b = nir_scalar_chase_alu_src(scalar, 1);
   nir_op op = nir_scalar_alu_op(scalar);
   bool is_less = (op == nir_op_ilt || op == nir_op_ult) == goes_on;
   switch (op) {
   case nir_op_ilt:
   case nir_op_ult:
   case nir_op_ige:
   case nir_op_uge:
      /* a < b, or b <= a */
      condition->relation = is_less ? LESS : LESS_EQUAL;
      condition->is_signed = op == nir_op_ilt || op == nir_op_ige;
      condition->left = is_less ? a : b;
      condition->right = is_less ? b : a;
      break;
   case nir_op_ine:
   case nir_op_ieq:
      if ((op == nir_op_ine) != goes_on)
         return false;
      condition->relation = NOT_EQUAL;
      condition->left = a;
      condition->right = b;
      break;
   default:
      return false;
   }
   return a.def->bit_size == 32;
}

/* The variable of a loop */
struct variable {
   nir_def *init; /* before the loop */
   int64_t step;
   bool is_updated; /* it is looked at behind its update */
};

static bool
read_variable(nir_loop *loop, nir_scalar scalar, struct variable *variable)
{
   if (scalar.comp || scalar.def->num_components != 1)
      return false;

   nir_foreach_phi (phi, nir_loop_first_block(loop)) {
      nir_def *init = NULL;
      nir_scalar update = {0};
      nir_foreach_phi_src (src, phi) {
         if (gpuval_nir_is_inside(loop, src->pred))
            update = nir_scalar_chase_movs(nir_get_scalar(src->src.ssa, 0));
         else
            init = src->src.ssa;
      }
      if (phi->def.num_components != 1 || !init || !update.def || !nir_scalar_is_alu(update) ||
          nir_scalar_alu_op(update) != nir_op_iadd)
         continue;

      nir_scalar a = nir_scalar_chase_alu_src(update, 0), b = nir_scalar_chase_alu_src(update, 1);
      nir_scalar by = a.def == &phi->def ? b : a;
      if ((a.def != &phi->def && b.def != &phi->def) || !nir_scalar_is_const(by) ||
          !nir_scalar_as_int(by) || (scalar.def != &phi->def && scalar.def != update.def))
         continue;
      *variable = (struct variable){
         .init = init,
         .step = nir_scalar_as_int(by),
         .is_updated = scalar.def != &phi->def,
      };
      return true;
   }
   return false;
}

/* What is computed once more in front of a loop */
struct hoisting {
   struct gpuval_nir_state *state;
   nir_loop *loop;
   struct hash_table *copies; /* nir_def * to that in front of the loop */
   unsigned depth;
};

static nir_def *hoist(struct hoisting *hoisting, nir_def *def);

static bool
hoist_source(nir_src *src, void *data)
{
   nir_def *def = hoist(data, src->ssa);
   if (!def)
      return false;
   _mesa_hash_table_insert(((struct hoisting *)data)->copies, src->ssa, def);
   return true;
}

/* What is bad is replaced in the copy, too: what says so has to stand before it. */
static bool
hoist_replacements(struct hoisting *hoisting, const nir_instr *instr)
{
   struct util_dynarray *replacements = &hoisting->state->replacements;

   /* There may be more of them then. */
   for (unsigned i = 0; i < util_dynarray_num_elements(replacements, struct gpuval_nir_replacement);
        i++) {
      const struct gpuval_nir_replacement replacement =
         *util_dynarray_element(replacements, struct gpuval_nir_replacement, i);
      if (replacement.instr == instr && (!hoist(hoisting, replacement.bad) ||
                                         (replacement.slot && !hoist(hoisting, replacement.slot))))
         return false;
   }
   return true;
}

/* Behind hoist_replacements() */
static void
copy_replacements(struct hoisting *hoisting, const nir_instr *instr, nir_instr *copy)
{
   struct util_dynarray *replacements = &hoisting->state->replacements;
   unsigned count = util_dynarray_num_elements(replacements, struct gpuval_nir_replacement);

   for (unsigned i = 0; i < count; i++) {
      struct gpuval_nir_replacement replacement =
         *util_dynarray_element(replacements, struct gpuval_nir_replacement, i);
      if (replacement.instr != instr)
         continue;
      replacement.instr = copy;
      replacement.bad = hoist(hoisting, replacement.bad);
      if (replacement.slot)
         replacement.slot = hoist(hoisting, replacement.slot);
      util_dynarray_append_typed(replacements, struct gpuval_nir_replacement, replacement);
   }
}

static bool
is_same_in_all_rounds(nir_instr *instr)
{
   return instr->type == nir_instr_type_load_const || instr->type == nir_instr_type_alu ||
          (instr->type == nir_instr_type_intrinsic &&
           nir_intrinsic_can_reorder(nir_instr_as_intrinsic(instr)));
}

/* Returns @def in front of the loop, or NULL: it may differ from round to round. */
static nir_def *
hoist(struct hoisting *hoisting, nir_def *def)
{
   nir_instr *instr = nir_def_instr(def);
   struct hash_entry *known = _mesa_hash_table_search(hoisting->copies, def);
   if (known)
      return known->data;
   if (!gpuval_nir_is_inside(hoisting->loop, instr->block))
      return def;
   if (!hoisting->depth || !is_same_in_all_rounds(instr))
      return NULL;

   hoisting->depth--;
   bool can_hoist =
      nir_foreach_src(instr, hoist_source, hoisting) && hoist_replacements(hoisting, instr);
   hoisting->depth++;
   if (!can_hoist)
      return NULL;
   nir_instr *copy = nir_instr_clone_deep(hoisting->state->b.shader, instr, hoisting->copies);
   nir_builder_instr_insert(&hoisting->state->b, copy);
   copy_replacements(hoisting, instr, copy);
   return nir_instr_def(copy);
}

/* From where a loop begins to its bound */
struct span {
   nir_def *low, *high;
   uint64_t way; /* what is too long */
   enum relation relation;
   bool is_signed;
};

/* Where @def is a constant: @distance from there, if that is a value of the type */
static bool
get_far_end(const struct span *span, nir_def *def, int64_t distance, int64_t *result)
{
   nir_scalar scalar = nir_get_scalar(def, 0);
   if (span->relation == NOT_EQUAL || !nir_scalar_is_const(scalar))
      return false;

   *result = distance +
             (span->is_signed ? nir_scalar_as_int(scalar) : (int64_t)nir_scalar_as_uint(scalar));
   return span->is_signed ? *result >= INT32_MIN && *result <= INT32_MAX
                          : *result >= 0 && *result <= UINT32_MAX;
}

static nir_def *
is_below(nir_builder *b, const struct span *span, nir_def *left, nir_def *right)
{
   if (span->relation == LESS)
      return span->is_signed ? nir_ilt(b, left, right) : nir_ult(b, left, right);
   return span->is_signed ? nir_ige(b, right, left) : nir_uge(b, right, left);
}

/* 1 bit. With one end that is a constant it is one comparison. */
static nir_def *
build_is_long(nir_builder *b, const struct span *span)
{
   int64_t far;

   if (get_far_end(span, span->low, span->way, &far))
      return is_below(b, span, nir_imm_int(b, (int)far), span->high);
   if (get_far_end(span, span->high, -(int64_t)span->way, &far))
      return is_below(b, span, span->low, nir_imm_int(b, (int)far));

   nir_def *distance = nir_isub(b, span->high, span->low);
   if (span->relation == NOT_EQUAL)
      return nir_ugt_imm(b, distance, span->way);
   return nir_iand(b, is_below(b, span, span->low, span->high),
                   span->relation == LESS ? nir_ugt_imm(b, distance, span->way)
                                          : nir_uge_imm(b, distance, span->way));
}

/* The bound @end, or @last behind @first where that is less far */
static nir_def *
build_cut(nir_builder *b, const struct span *span, nir_def *first, nir_def *end, int64_t last,
          nir_def *is_long)
{
   int64_t far;

   if (!get_far_end(span, first, last, &far))
      return nir_bcsel(b, is_long, nir_iadd_imm(b, first, last), end);
   if (last > 0)
      return span->is_signed ? nir_imin(b, end, nir_imm_int(b, (int)far))
                             : nir_umin(b, end, nir_imm_int(b, (int)far));
   return span->is_signed ? nir_imax(b, end, nir_imm_int(b, (int)far))
                          : nir_umax(b, end, nir_imm_int(b, (int)far));
}

nir_def *
gpuval_nir_find_rounds(struct gpuval_nir_state *state, nir_loop *loop, uint32_t limit)
{
   nir_builder *b = &state->b;
   struct condition condition = {0};
   struct variable variable;
   nir_if *nif = limit ? find_exit(loop) : NULL;
   if (!nif || !read_condition(nif, &condition))
      return NULL;

   bool is_left = read_variable(loop, condition.left, &variable);
   if (!is_left && !read_variable(loop, condition.right, &variable))
      return NULL;
   bool is_up = variable.step > 0;
   uint64_t step = llabs(variable.step), way = limit * step;
   if (condition.relation == NOT_EQUAL ? step != 1 : is_left != is_up)
      return NULL; /* it goes away from the bound */
   if (step > UINT32_MAX || way + step > UINT32_MAX)
      return NULL;

   nir_scalar bound = is_left ? condition.right : condition.left;
   b->cursor = nir_before_cf_node(&loop->cf_node);
   struct hoisting hoisting = {state, loop, _mesa_pointer_hash_table_create(NULL), MAX_DEPTH};
   nir_def *vector = hoist(&hoisting, bound.def);
   _mesa_hash_table_destroy(hoisting.copies, NULL);
   if (!vector)
      return NULL;
   nir_def *end = nir_channel(b, vector, bound.comp);
   nir_def *first =
      variable.is_updated ? nir_iadd_imm(b, variable.init, variable.step) : variable.init;
   const struct span span = {
      .low = is_up ? first : end,
      .high = is_up ? end : first,
      .way = way,
      .relation = condition.relation,
      .is_signed = condition.is_signed,
   };
   nir_def *is_long = build_is_long(b, &span);

   if (state->options->safe) {
      /* One round is too many until it has ended. */
      int64_t last = condition.relation == LESS_EQUAL ? way : way + step;
      nir_def *cut = build_cut(b, &span, first, end, is_up ? last : -last, is_long);
      nir_def *value = is_left ? condition.left.def : condition.right.def;
      b->cursor = nir_before_src(&nif->condition);
      nir_def *left = is_left ? value : cut, *right = is_left ? cut : value;
      nir_def *goes_on = condition.relation == NOT_EQUAL ? nir_ine(b, left, right)
                                                         : is_below(b, &span, left, right);
      bool leaves = nir_block_ends_in_break(nir_if_last_then_block(nif));
      nir_src_rewrite(&nif->condition, leaves ? nir_inot(b, goes_on) : goes_on);
      b->cursor = nir_before_cf_node(&loop->cf_node);
   }
   return is_long;
}
