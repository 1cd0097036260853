/* SPDX-License-Identifier: MIT */

/* Lets reports wait for others, behind the ends of branches. What a report does where it fails is
 * long, and backends that inline it have it once for each group (gpuval_nir_groups.c): so a shader
 * of many branches would be mostly that. A group is of one block, so reports are moved to where
 * several can be of one.
 *
 * They wait for nothing that gpuval_nir_ends_group(), and neither leave loops nor cross them, so an
 * invocation that gets stuck, or ends, has reported before. A report behind an `if` has the values
 * from in there as phis; its condition is false for who was not there.
 */

#include "gpuval_nir_delay.h"

#include "gpuval_nir_groups.h"
#include "nir_builder.h"

/* Values that are kept for reports that wait: registers of each lane, and conditions, masks of
 * lanes.
 */
#define MAX_VALUES     6
#define MAX_CONDITIONS 12

/* Blocks with reports that are too many for each to have code of its own */
#define MANY_BLOCKS 8

#define MAX_QUEUE (4 * MAX_GROUP)

/* Reports that wait, in their order */
struct queue {
   nir_intrinsic_instr *reports[MAX_QUEUE];
   unsigned count;
};

struct delay {
   nir_function_impl *impl;
   bool is_large; /* MANY_BLOCKS */
   bool progress;
};

static bool
may_wait(nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic ||
       nir_instr_as_intrinsic(instr)->intrinsic != nir_intrinsic_report_gpuval)
      return false;

   /* Others are no failures, or look at memory that may change. */
   switch (nir_intrinsic_desc_set(nir_instr_as_intrinsic(instr))) {
   case GPUVAL_REPORT_VALUES:
   case GPUVAL_REPORT_COVERED:
   case GPUVAL_REPORT_RANGE:
   case GPUVAL_REPORT_UNWRITTEN_IMAGE:
   case GPUVAL_REPORT_ASSIGNED:
   case GPUVAL_REPORT_USED:
   case GPUVAL_REPORT_UNWRITTEN:
      return false;
   default:
      return true;
   }
}

static bool
is_end(nir_instr *instr)
{
   return gpuval_nir_ends_group(instr, false);
}

/* Is there an instruction in @list, or in its branches, that @is_it? @loops: what it is for a loop */
static bool
has_instr(struct exec_list *list, bool (*is_it)(nir_instr *instr), bool loops)
{
   foreach_list_typed (nir_cf_node, node, node, list) {
      switch (node->type) {
      case nir_cf_node_block:
         nir_foreach_instr (instr, nir_cf_node_as_block(node)) {
            if (is_it(instr))
               return true;
         }
         break;
      case nir_cf_node_if:
         if (has_instr(&nir_cf_node_as_if(node)->then_list, is_it, loops) ||
             has_instr(&nir_cf_node_as_if(node)->else_list, is_it, loops))
            return true;
         break;
      default:
         if (loops)
            return true;
         break;
      }
   }
   return false;
}

/* Is there anything in a branch of @nif that reports must not wait for? */
static bool
has_end(nir_if *nif)
{
   return has_instr(&nif->then_list, is_end, true) || has_instr(&nif->else_list, is_end, true);
}

/* What is kept for reports that wait */
struct kept {
   nir_scalar values[MAX_VALUES + 1], conditions[MAX_CONDITIONS + 1];
   unsigned num_values, num_conditions;
};

static void
keep(nir_scalar *scalars, unsigned *count, unsigned max, nir_scalar scalar)
{
   for (unsigned i = 0; i < *count; i++) {
      if (nir_scalar_equal(scalars[i], scalar))
         return;
   }
   if (*count <= max)
      scalars[(*count)++] = scalar;
}

/* Arguments of the shader are kept anyway, and what is the same in all lanes is cheap. */
static bool
is_costly(nir_scalar scalar)
{
   nir_instr *instr = nir_def_instr(scalar.def);

   return scalar.def->divergent &&
          !(instr->type == nir_instr_type_intrinsic &&
            nir_intrinsic_infos[nir_instr_as_intrinsic(instr)->intrinsic].num_srcs == 0);
}

static bool
is_bits(nir_scalar scalar)
{
   return nir_scalar_is_intrinsic(scalar) &&
          nir_scalar_intrinsic_op(scalar) == nir_intrinsic_has_bits_gpuval;
}

/* It asks for bits of a word, and at most for who was there. A comparison beside that would be made
 * only where the word has bits.
 */
static bool
asks_for_bits(nir_scalar condition)
{
   if (is_bits(condition))
      return true;
   if (!nir_scalar_is_alu(condition) || nir_scalar_alu_op(condition) != nir_op_iand)
      return false;

   nir_scalar first = nir_scalar_chase_movs(nir_scalar_chase_alu_src(condition, 0));
   nir_scalar second = nir_scalar_chase_movs(nir_scalar_chase_alu_src(condition, 1));
   return (is_bits(first) && nir_def_instr(second.def)->type == nir_instr_type_phi) ||
          (is_bits(second) && nir_def_instr(first.def)->type == nir_instr_type_phi);
}

static void
keep_condition(struct kept *kept, nir_scalar condition)
{
   if (nir_scalar_is_alu(condition) && nir_scalar_alu_op(condition) == nir_op_iand) {
      keep_condition(kept, nir_scalar_chase_movs(nir_scalar_chase_alu_src(condition, 0)));
      keep_condition(kept, nir_scalar_chase_movs(nir_scalar_chase_alu_src(condition, 1)));
   } else if (!nir_scalar_is_const(condition) && !is_bits(condition)) {
      keep(kept->conditions, &kept->num_conditions, MAX_CONDITIONS, condition);
   }
}

static nir_scalar
get_word(const nir_intrinsic_instr *report, unsigned src, unsigned component)
{
   return nir_scalar_chase_movs(nir_get_scalar(report->src[src].ssa, component));
}

/* What identifies the invocation, the last source, all of them have in common. */
static void
keep_sources(struct kept *kept, const nir_intrinsic_instr *report)
{
   keep_condition(kept, get_word(report, 0, 0));
   for (unsigned src = 1; src + 1 < nir_intrinsic_infos[report->intrinsic].num_srcs; src++) {
      for (unsigned i = 0; i < nir_src_num_components(report->src[src]); i++) {
         const nir_scalar word = get_word(report, src, i);
         if (!nir_scalar_is_const(word) && is_costly(word))
            keep(kept->values, &kept->num_values, MAX_VALUES, word);
      }
   }
}

/* Conditions that are results of comparisons have to be kept, which is executed: it is worth it
 * where much code is saved. What asks for bits does so once for a block, with those that are not
 * moved.
 */
static bool
is_worth_it(const struct delay *delay, nir_block *block)
{
   if (delay->is_large)
      return true;
   nir_foreach_instr (instr, block) {
      if (may_wait(instr) && !asks_for_bits(get_word(nir_instr_as_intrinsic(instr), 0, 0)))
         return false;
   }
   return true;
}

/* They wait no longer: they become one group where the last one is. */
static void
gather(struct delay *delay, struct queue *queue)
{
   for (unsigned i = 0; i + 1 < queue->count; i++) {
      nir_instr *last = &queue->reports[queue->count - 1]->instr;
      if (queue->reports[i]->instr.block != last->block)
         delay->progress |= nir_instr_move(nir_before_instr(last), &queue->reports[i]->instr);
   }
   queue->count = 0;
}

/* The same of those that need values of each lane */
static void
gather_costly(struct delay *delay, struct queue *queue)
{
   struct queue costly = {.count = 0};
   unsigned count = 0;

   for (unsigned i = 0; i < queue->count; i++) {
      struct kept kept = {.num_values = 0};
      keep_sources(&kept, queue->reports[i]);
      if (kept.num_values)
         costly.reports[costly.count++] = queue->reports[i];
      else
         queue->reports[count++] = queue->reports[i];
   }
   queue->count = count;
   gather(delay, &costly);
}

static struct kept
find_kept(const struct queue *queue)
{
   struct kept kept = {.num_values = 0};

   for (unsigned i = 0; i < queue->count; i++)
      keep_sources(&kept, queue->reports[i]);
   return kept;
}

/* Behind a block: not too much is kept. */
static void
bound(struct delay *delay, struct queue *queue)
{
   struct kept kept = find_kept(queue);

   if (kept.num_values > MAX_VALUES || kept.num_conditions > MAX_CONDITIONS) {
      gather_costly(delay, queue);
      kept = find_kept(queue);
   }
   if (kept.num_conditions > MAX_CONDITIONS)
      gather(delay, queue);
}

static void
add(struct delay *delay, struct queue *queue, nir_intrinsic_instr *report)
{
   if (queue->count == MAX_QUEUE)
      gather(delay, queue);
   queue->reports[queue->count++] = report;
}

static void
walk_block(struct delay *delay, nir_block *block, struct queue *queue)
{
   const bool waits = is_worth_it(delay, block);

   nir_foreach_instr (instr, block) {
      if (is_end(instr))
         gather(delay, queue);
      else if (waits && may_wait(instr))
         add(delay, queue, nir_instr_as_intrinsic(instr));
   }
   bound(delay, queue);
}

/* Behind `if`s */

#define MAX_PHIS 64

/* A branch whose reports come out of it */
struct exit {
   nir_builder b;
   nir_block *last; /* of the branch */
   nir_block *behind;
   bool is_divergent;
   nir_def *was_there; /* 1 bit, or NULL */
   nir_scalar inside[MAX_PHIS];
   nir_def *outside[MAX_PHIS]; /* phis of these */
   unsigned num_phis;
};

static bool
is_known(const struct exit *exit, nir_def *def)
{
   return nir_block_dominates(nir_def_instr(def)->block, exit->behind);
}

/* @value at the end of the branch; behind it, for who was not there, false if it is a condition, or
 * anything.
 */
static nir_def *
build_phi(struct exit *exit, nir_def *value)
{
   nir_builder *b = &exit->b;
   nir_phi_instr *phi = nir_phi_instr_create(b->shader);

   nir_def_init(&phi->instr, &phi->def, 1, value->bit_size);
   b->cursor = nir_before_impl(b->impl);
   nir_def *otherwise = value->bit_size == 1 ? nir_imm_false(b) : nir_undef(b, 1, value->bit_size);
   set_foreach (gpuval_predecessors(exit->behind), entry) {
      nir_block *block = (nir_block *)entry->key;
      nir_phi_instr_add_src(phi, block, block == exit->last ? value : otherwise);
   }
   phi->def.divergent = exit->is_divergent || value->divergent;
   nir_instr_insert_before_block(exit->behind, &phi->instr);
   return &phi->def;
}

static nir_def *
find_outside(const struct exit *exit, nir_scalar scalar)
{
   for (unsigned i = 0; i < exit->num_phis; i++) {
      if (nir_scalar_equal(exit->inside[i], scalar))
         return exit->outside[i];
   }
   return NULL;
}

/* Returns whether there is, or can be, a phi of it. */
static bool
take_out(struct exit *exit, nir_scalar scalar)
{
   if (find_outside(exit, scalar))
      return true;
   if (exit->num_phis == MAX_PHIS)
      return false;

   exit->b.cursor = nir_after_block(exit->last);
   nir_def *value = nir_channel(&exit->b, scalar.def, scalar.comp);
   value->divergent = scalar.def->divergent;
   exit->inside[exit->num_phis] = scalar;
   exit->outside[exit->num_phis++] = build_phi(exit, value);
   return true;
}

/* A report's condition: has a word bits, which can be asked for anywhere, and is something true?
 * Each of these may be missing.
 */
struct condition {
   const nir_intrinsic_instr *bits;
   nir_scalar rest;
};

static const nir_intrinsic_instr *
as_known_bits(const struct exit *exit, nir_scalar scalar)
{
   if (!is_bits(scalar))
      return NULL;

   const nir_intrinsic_instr *bits = nir_instr_as_intrinsic(nir_def_instr(scalar.def));
   return is_known(exit, bits->src[0].ssa) ? bits : NULL;
}

static struct condition
split_condition(const struct exit *exit, const nir_intrinsic_instr *report)
{
   struct condition condition = {.rest = get_word(report, 0, 0)};

   condition.bits = as_known_bits(exit, condition.rest);
   if (condition.bits) {
      condition.rest.def = NULL;
   } else if (nir_scalar_is_alu(condition.rest) &&
              nir_scalar_alu_op(condition.rest) == nir_op_iand) {
      for (unsigned i = 0; i < 2 && !condition.bits; i++) {
         nir_scalar one = nir_scalar_chase_movs(nir_scalar_chase_alu_src(condition.rest, i));
         condition.bits = as_known_bits(exit, one);
         if (condition.bits)
            condition.rest = nir_scalar_chase_movs(nir_scalar_chase_alu_src(condition.rest, !i));
      }
   }
   if (condition.rest.def && nir_scalar_is_const(condition.rest) &&
       nir_scalar_as_bool(condition.rest))
      condition.rest.def = NULL;
   return condition;
}

/* Makes the phis that @report needs. Returns false if these are too many. */
static bool
take_sources_out(struct exit *exit, const nir_intrinsic_instr *report)
{
   const struct condition condition = split_condition(exit, report);

   if (condition.rest.def) {
      if (!take_out(exit, condition.rest))
         return false;
   } else if (!exit->was_there) {
      exit->b.cursor = nir_before_impl(exit->b.impl);
      exit->was_there = build_phi(exit, nir_imm_true(&exit->b));
   }

   for (unsigned src = 1; src < nir_intrinsic_infos[report->intrinsic].num_srcs; src++) {
      for (unsigned i = 0; i < nir_src_num_components(report->src[src]); i++) {
         const nir_scalar word = get_word(report, src, i);
         if (!nir_scalar_is_const(word) && !is_known(exit, word.def) && !take_out(exit, word))
            return false;
      }
   }
   return true;
}

static nir_def *
get_outside(struct exit *exit, nir_scalar word)
{
   if (nir_scalar_is_const(word))
      return nir_imm_intN_t(&exit->b, nir_scalar_as_uint(word), word.def->bit_size);
   if (is_known(exit, word.def))
      return nir_channel(&exit->b, word.def, word.comp);
   return find_outside(exit, word);
}

/* At exit->b.cursor, behind all phis. Leaves the cursor behind it. */
static void
move_out(struct exit *exit, nir_intrinsic_instr *report)
{
   nir_builder *b = &exit->b;
   const struct condition condition = split_condition(exit, report);

   nir_def *failed = condition.rest.def ? find_outside(exit, condition.rest) : exit->was_there;
   if (condition.bits) {
      nir_def *bits = nir_has_bits_gpuval(b, 1, condition.bits->src[0].ssa,
                                          .base = nir_intrinsic_base(condition.bits));
      failed = nir_iand(b, bits, failed);
   }
   nir_src_rewrite(&report->src[0], failed);

   for (unsigned src = 1; src < nir_intrinsic_infos[report->intrinsic].num_srcs; src++) {
      nir_def *words[NIR_MAX_VEC_COMPONENTS];
      unsigned count = nir_src_num_components(report->src[src]);
      for (unsigned i = 0; i < count; i++)
         words[i] = get_outside(exit, get_word(report, src, i));
      nir_def *vector = nir_vec(b, words, count);
      vector->divergent = true;
      nir_src_rewrite(&report->src[src], vector);
   }
   nir_instr_move(b->cursor, &report->instr);
   b->cursor = nir_after_instr(&report->instr);
}

/* Those of @inner, which wait at the end of a branch, go on waiting behind the `if`, where walk()
 * comes next.
 */
static void
leave(struct delay *delay, nir_if *nif, nir_block *last, struct queue *inner)
{
   struct exit exit = {
      .b = nir_builder_create(delay->impl),
      .last = last,
      .behind = nir_cf_node_as_block(nir_cf_node_next(&nif->cf_node)),
      .is_divergent = nif->condition.ssa->divergent,
   };
   unsigned count = 0;

   /* All phis come first. */
   while (count < inner->count && take_sources_out(&exit, inner->reports[count]))
      count++;
   exit.b.cursor = nir_after_phis(exit.behind);
   for (unsigned i = 0; i < count; i++) {
      move_out(&exit, inner->reports[i]);
      delay->progress = true;
   }

   inner->count -= count;
   memmove(inner->reports, inner->reports + count, inner->count * sizeof(*inner->reports));
   gather(delay, inner);
}

/* Is there a report in @list, but not in its loops, that may wait? */
static bool
has_reports(struct exec_list *list)
{
   return has_instr(list, may_wait, false);
}

/* Is there one behind @node which those that come out of it can join? */
static bool
has_later_reports(nir_cf_node *node)
{
   while ((node = nir_cf_node_next(node))) {
      switch (node->type) {
      case nir_cf_node_block:
         nir_foreach_instr (instr, nir_cf_node_as_block(node)) {
            if (may_wait(instr))
               return true;
            if (is_end(instr))
               return false;
         }
         break;
      case nir_cf_node_if: {
         nir_if *nif = nir_cf_node_as_if(node);
         if (has_reports(&nif->then_list) || has_reports(&nif->else_list))
            return true;
         if (has_end(nif))
            return false;
         break;
      }
      default:
         return false;
      }
   }
   return false;
}

static void walk(struct delay *delay, struct exec_list *list, bool has_company,
                 struct queue *queue);

static void
walk_branch(struct delay *delay, nir_if *nif, struct exec_list *list, bool has_company)
{
   nir_block *last =
      list == &nif->then_list ? nir_if_last_then_block(nif) : nir_if_last_else_block(nif);
   struct queue inner = {.count = 0};

   walk(delay, list, has_company, &inner);
   if (has_company && inner.count)
      leave(delay, nif, last, &inner);
   else
      gather(delay, &inner);
}

static void
walk_if(struct delay *delay, nir_if *nif, bool has_company, struct queue *queue)
{
   if (has_end(nif))
      gather(delay, queue);

   has_company |= queue->count || has_later_reports(&nif->cf_node) ||
                  (has_reports(&nif->then_list) && has_reports(&nif->else_list));
   walk_branch(delay, nif, &nif->then_list, has_company);
   walk_branch(delay, nif, &nif->else_list, has_company);
}

/* @has_company: those that come out of @list can join others. */
static void
walk(struct delay *delay, struct exec_list *list, bool has_company, struct queue *queue)
{
   foreach_list_typed (nir_cf_node, node, node, list) {
      switch (node->type) {
      case nir_cf_node_block:
         walk_block(delay, nir_cf_node_as_block(node), queue);
         break;
      case nir_cf_node_if:
         walk_if(delay, nir_cf_node_as_if(node), has_company, queue);
         break;
      case nir_cf_node_loop: {
         struct queue inner = {.count = 0};
         gather(delay, queue);
         walk(delay, &nir_cf_node_as_loop(node)->body, false, &inner);
         gather(delay, &inner);
         break;
      }
      default:
         UNREACHABLE("functions are inlined");
      }
   }
}

static bool
has_many_blocks(nir_function_impl *impl)
{
   unsigned count = 0;

   nir_foreach_block (block, impl) {
      bool has_report = false;
      nir_foreach_instr (instr, block)
         has_report |= may_wait(instr);
      count += has_report;
   }
   return count > MANY_BLOCKS;
}

bool
gpuval_nir_delay_reports(nir_function_impl *impl)
{
   struct delay delay = {.impl = impl, .is_large = has_many_blocks(impl)};
   struct queue queue = {.count = 0};

   nir_metadata_require(impl, nir_metadata_block_index | nir_metadata_dominance);
   nir_divergence_analysis(impl->function->shader);
   walk(&delay, &impl->body, false, &queue);
   gather(&delay, &queue);
   return nir_progress(delay.progress, impl, nir_metadata_control_flow);
}
