/* SPDX-License-Identifier: MIT */

/* loop: loops that go round more often than GPUVAL_LOOP_LIMIT.
 *
 * A loop whose number of rounds is known to stay within the limit gets nothing, so that drivers
 * unroll what they would have unrolled. A loop that counts up to a bound is looked at when it is
 * entered (gpuval_nir_loop_rounds.c). Each other one counts its rounds:
 *
 *    n = FIRST - 1;
 *    loop {
 *       n++;
 *       ended = n % 65536 == 0 ? @call_gpuval(n, FIRST + limit + 1) : 0;
 *       @report_gpuval(ended != 0);
 *       if (ended != 0) break;      with GPUVAL_SAFE
 *       …
 *    }
 *
 * FIRST is chosen such that round limit + 1 is one of those at which the function is called. That
 * looks at the same time whether the host wants all loops to end (gpuval_root::end_loops), so a
 * round that is fine costs an addition and a comparison of the low bits.
 *
 * Where functions are inlined, what is not asked for in most rounds is behind one branch, and the
 * first rounds do not ask at all: most loops end before they load anything.
 *
 *    left = -DISTANCE; n = FIRST - 1 + DISTANCE;
 *    loop {
 *       left++;
 *       if (left == 0) {
 *          ended = @call_gpuval(n, FIRST + limit + 1);
 *          @report_gpuval(ended != 0);
 *          if (ended != 0) break;      with GPUVAL_SAFE
 *          left = -4096; n += 4096;
 *       }
 *       …
 *    }
 *
 * A round is one execution of the continue target. What runs first in a loop has been run once more
 * than that, but in loops that end with their condition: those count right before it. These are
 * do-while loops, and what nir_opt_loop has made of others (opt_loop_peel_initial_break()).
 *
 * vtn keeps nothing of OpLoopMerge, whose line is that of the loop. The pass finds it in the
 * SPIR-V, by the instructions that are in the loop.
 */

#include "gpuval_nir_loop.h"
#include "gpuval_nir_functions.h"

#include "gpuval/src/compat/gpuval_locations.h"
#include "spirv/spirv.h"

#include "util/ralloc.h"

#define ROUNDS_LOG2 16
#define ROUNDS_MASK BITFIELD_MASK(ROUNDS_LOG2)

/* Where functions are inlined: rounds from one time to the next, and before the first time, unless
 * the limit is below that
 */
#define INLINE_ROUNDS 4096
#define MIN_ROUNDS    1024
static_assert((1u << ROUNDS_LOG2) % INLINE_ROUNDS == 0, "round limit + 1 is among them, too");

/* A loop of the module; places are bytes from its start */
struct spirv_loop {
   uint32_t function; /* which one of the module */
   uint32_t begin;    /* OpLabel of the header */
   uint32_t merge;    /* OpLoopMerge */
   uint32_t end;      /* OpLabel of the merge block */
   uint32_t header_id, merge_id;
   bool ends_with_condition; /* the branch back to the header has one */
   bool is_taken;            /* a loop of NIR is known to be this one */
};

/* A loop of NIR that has a branch back */
struct loop {
   nir_loop *nir;
   const struct spirv_loop *origin; /* NULL: not known */
   uint32_t first, last; /* SPIR-V offsets: the first location of its first block, and the last one
                          * of all; 0: none */
   uint32_t called;      /* what those have beyond their place in the module: gpuval_call_tree.h */
   bool counts;
};

struct pass {
   struct gpuval_nir_state *state;
   struct util_dynarray spirv_loops; /* struct spirv_loop, in the module's order */
   struct util_dynarray loops;       /* struct loop *, outer ones first */
   void *mem_ctx;
};

static void
add_spirv_instruction(struct pass *pass, const uint32_t *w, unsigned count, uint32_t offset,
                      uint32_t *function, const uint32_t label[2])
{
   struct util_dynarray *loops = &pass->spirv_loops;

   switch (w[0] & SpvOpCodeMask) {
   case SpvOpFunction:
      (*function)++;
      break;
   case SpvOpLoopMerge:
      if (count >= 3) {
         const struct spirv_loop loop = {
            .function = *function,
            .begin = label[1],
            .merge = offset,
            .header_id = label[0],
            .merge_id = w[1],
         };
         util_dynarray_append_typed(loops, struct spirv_loop, loop);
      }
      break;
   case SpvOpLabel:
      util_dynarray_foreach (loops, struct spirv_loop, loop) {
         if (count >= 2 && loop->function == *function && loop->merge_id == w[1])
            loop->end = offset;
      }
      break;
   case SpvOpBranchConditional:
      util_dynarray_foreach (loops, struct spirv_loop, loop) {
         if (count >= 4 && (w[2] == loop->header_id || w[3] == loop->header_id))
            loop->ends_with_condition |= loop->function == *function && loop->begin <= label[1];
      }
      break;
   default:
      break;
   }
}

static void
find_spirv_loops(struct pass *pass)
{
   const struct gpuval_nir_options *options = pass->state->options;
   uint32_t num_words = options->spirv ? options->spirv_size / 4 : 0;
   uint32_t function = 0, label[2] = {0}; /* id and offset */

   for (uint32_t i = 5; i < num_words;) {
      const uint32_t *w = &options->spirv[i];
      unsigned count = w[0] >> SpvWordCountShift;
      if (!count || count > num_words - i)
         break;

      if ((w[0] & SpvOpCodeMask) == SpvOpLabel && count >= 2) {
         label[0] = w[1];
         label[1] = i * 4;
      }
      add_spirv_instruction(pass, w, count, i * 4, &function, label);
      i += count;
   }
}

static bool
contains(const struct spirv_loop *loop, uint32_t offset)
{
   return loop->begin <= offset && offset < loop->end;
}

/* The innermost one around @inside, which is NULL or one that the result has to enclose. */
static struct spirv_loop *
find_innermost(const struct pass *pass, uint32_t offset, const struct spirv_loop *inside)
{
   struct spirv_loop *found = NULL;

   util_dynarray_foreach (&pass->spirv_loops, struct spirv_loop, loop) {
      if (contains(loop, offset) && (!inside || contains(loop, inside->merge)) &&
          (!found || loop->begin > found->begin))
         found = loop;
   }
   return found;
}

/* Narrows down which loop of the module the locations of a block are in: the innermost that has
 * them all. What other functions bring along that were inlined does not count, once it is known
 * which function the loop is in.
 */
static void
add_locations(const struct pass *pass, const nir_block *block, struct loop *loop,
              struct spirv_loop **origin)
{
   nir_foreach_instr (instr, block) {
      if (!gpuval_has_location(instr))
         continue;

      uint32_t offset = gpuval_nir_place(pass->state, instr->index);
      struct spirv_loop *around = offset ? find_innermost(pass, offset, *origin) : NULL;
      struct spirv_loop *own = offset ? find_innermost(pass, offset, NULL) : NULL;
      if (!own || (*origin && own->function != (*origin)->function))
         continue;

      if (!loop->first && block == nir_loop_first_block(loop->nir))
         loop->first = offset;
      loop->last = offset;
      loop->called = gpuval_nir_spirv_offset(pass->state, instr->index) - offset;
      if (around)
         *origin = around;
   }
}

static void
find_origin(const struct pass *pass, const struct exec_list *list, struct loop *loop,
            struct spirv_loop **origin)
{
   foreach_list_typed (nir_cf_node, node, node, list) {
      if (node->type == nir_cf_node_block) {
         add_locations(pass, nir_cf_node_as_block(node), loop, origin);
      } else if (node->type == nir_cf_node_if) {
         find_origin(pass, &nir_cf_node_as_if(node)->then_list, loop, origin);
         find_origin(pass, &nir_cf_node_as_if(node)->else_list, loop, origin);
      }
   }
}

/* Without a branch back it only serves jumps. */
static bool
goes_round(nir_loop *loop)
{
   return gpuval_predecessors(nir_loop_first_block(loop))->entries > 1;
}

static bool
is_within_limit(const struct pass *pass, const nir_loop *loop)
{
   uint32_t limit = pass->state->options->loop_limit;
   unsigned max = loop->info ? loop->info->max_trip_count : 0;

   return max && (!limit || max < limit);
}

static void
add_loops(struct pass *pass, const struct exec_list *list)
{
   foreach_list_typed (nir_cf_node, node, node, list) {
      if (node->type == nir_cf_node_if) {
         add_loops(pass, &nir_cf_node_as_if(node)->then_list);
         add_loops(pass, &nir_cf_node_as_if(node)->else_list);
      } else if (node->type == nir_cf_node_loop) {
         nir_loop *nir = nir_cf_node_as_loop(node);

         if (goes_round(nir)) {
            struct loop *loop = rzalloc(pass->mem_ctx, struct loop);
            loop->nir = nir;
            loop->counts = !is_within_limit(pass, nir);
            util_dynarray_append_typed(&pass->loops, struct loop *, loop);
         }
         add_loops(pass, &nir->body);
      }
   }
}

static void
find_origins(struct pass *pass)
{
   struct loop *unknown = NULL;
   struct spirv_loop *left = NULL;
   unsigned num_unknown = 0, num_left = 0;

   util_dynarray_foreach (&pass->loops, struct loop *, loop) {
      struct spirv_loop *origin = NULL;
      find_origin(pass, &(*loop)->nir->body, *loop, &origin);
      (*loop)->origin = origin;
      if (origin) {
         origin->is_taken = true;
      } else {
         unknown = *loop;
         num_unknown++;
      }
   }

   /* A loop that has nothing with a location, if it can be one only */
   util_dynarray_foreach (&pass->spirv_loops, struct spirv_loop, loop) {
      if (!loop->is_taken) {
         left = loop;
         num_left++;
      }
   }
   if (num_unknown == 1 && num_left == 1)
      unknown->origin = left;
}

/* Returns the if at the end of a loop that leaves it, where what runs before that is one round:
 * NULL where there is none.
 */
static nir_if *
find_last_condition(const struct loop *loop)
{
   nir_block *last = nir_loop_last_block(loop->nir);
   nir_cf_node *before = nir_cf_node_prev(&last->cf_node);
   bool is_peeled = loop->last < loop->first;

   if (gpuval_predecessors(nir_loop_first_block(loop->nir))->entries != 2 ||
       !exec_list_is_empty(&last->instr_list) || !before || before->type != nir_cf_node_if ||
       !loop->origin || !(loop->origin->ends_with_condition || is_peeled))
      return NULL;

   nir_if *nif = nir_cf_node_as_if(before);
   return nir_block_ends_in_break(nir_if_last_then_block(nif)) ||
                nir_block_ends_in_break(nir_if_last_else_block(nif))
             ? nif
             : NULL;
}

/* The condition at the start of a loop that does nothing but leave it, or NULL */
static nir_if *
find_first_condition(const struct loop *loop)
{
   nir_cf_node *node = nir_cf_node_next(&nir_loop_first_block(loop->nir)->cf_node);
   nir_if *nif = node && node->type == nir_cf_node_if ? nir_cf_node_as_if(node) : NULL;

   if (!nif || nir_if_first_then_block(nif) != nir_if_last_then_block(nif) ||
       !exec_list_is_singular(&nir_if_first_then_block(nif)->instr_list) ||
       !nir_block_ends_in_break(nir_if_first_then_block(nif)) ||
       nir_if_first_else_block(nif) != nir_if_last_else_block(nif) ||
       !exec_list_is_empty(&nir_if_first_else_block(nif)->instr_list))
      return NULL;
   return nif;
}

/* The components of a vector that are known in @block, and 0 for the others. NULL: none is. An
 * address is such a vector: it begins with its descriptor, which is known (prepare_way_out()).
 */
static nir_def *
find_known_components(nir_builder *b, nir_def *vector, nir_block *block)
{
   nir_instr *instr = nir_def_instr(vector);
   if (instr->type != nir_instr_type_alu || !nir_op_is_vec(nir_instr_as_alu(instr)->op))
      return NULL;

   nir_builder at_end = nir_builder_at(nir_after_block_before_jump(block));
   nir_def *components[NIR_MAX_VEC_COMPONENTS];
   bool is_any_known = false;
   for (unsigned i = 0; i < vector->num_components; i++) {
      nir_scalar scalar = nir_scalar_chase_movs(nir_get_scalar(vector, i));
      bool is_known = nir_block_dominates(nir_def_instr(scalar.def)->block, block);
      components[i] = is_known ? nir_channel(&at_end, scalar.def, scalar.comp)
                               : nir_imm_intN_t(&at_end, 0, vector->bit_size);
      is_any_known |= is_known;
   }
   return is_any_known ? nir_vec(&at_end, components, vector->num_components) : NULL;
}

/* A value of @phi that is known in @block, or 0 */
static nir_def *
get_known_value(nir_builder *b, nir_phi_instr *phi, nir_block *block)
{
   nir_foreach_phi_src (src, phi) {
      if (nir_block_dominates(nir_def_instr(src->src.ssa)->block, block))
         return src->src.ssa;
   }
   nir_foreach_phi_src (src, phi) {
      nir_def *value = find_known_components(b, src->src.ssa, block);
      if (value)
         return value;
   }

   nir_builder at_top = nir_builder_at(nir_before_impl(b->impl));
   return nir_imm_zero(&at_top, phi->def.num_components, phi->def.bit_size);
}

static bool
is_src_outside(nir_src *src, void *data)
{
   return !gpuval_nir_is_inside(data, nir_def_instr(src->ssa)->block);
}

/* Is it the same in front of the loop, where it costs nothing? */
static bool
may_stand_before(nir_instr *instr, nir_loop *loop)
{
   if (instr->type == nir_instr_type_load_const)
      return true;
   if (instr->type == nir_instr_type_alu)
      return nir_foreach_src(instr, is_src_outside, loop);
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   switch (nir_instr_as_intrinsic(instr)->intrinsic) {
   case nir_intrinsic_vulkan_resource_index:
   case nir_intrinsic_vulkan_resource_reindex:
   case nir_intrinsic_load_vulkan_descriptor:
      return nir_foreach_src(instr, is_src_outside, loop);
   default:
      return false;
   }
}

/* Makes a loop ready for a way out. Behind it, constants stay what they are for optimizations that
 * look for them, and what does not change in the loop, as resources, is the same however it was
 * left.
 */
static void
prepare_way_out(nir_loop *loop)
{
   nir_foreach_block_in_cf_node_safe(block, &loop->cf_node)
   {
      nir_foreach_instr_safe (instr, block) {
         if (may_stand_before(instr, loop))
            nir_instr_move(nir_before_cf_node(&loop->cf_node), instr);
      }
   }
   nir_convert_loop_to_lcssa(loop);
}

/* Adds a way out of the loop, whose values come through phis where they are used behind it
 * (prepare_way_out(), before any block of ours is added).
 */
static void
add_way_out(nir_builder *b, nir_loop *loop, nir_def *ended)
{
   nir_block *behind = nir_cf_node_as_block(nir_cf_node_next(&loop->cf_node));
   nir_if *nif = nir_push_if(b, ended);
   nir_jump(b, nir_jump_break);
   nir_pop_if(b, NULL);

   nir_block *from = nir_if_last_then_block(nif);
   nir_progress(true, b->impl, nir_metadata_none);
   nir_metadata_require(b->impl, nir_metadata_dominance);
   nir_foreach_phi (phi, behind) {
      nir_def *value = get_known_value(b, phi, from);
      nir_phi_src *src = nir_phi_instr_add_src(phi, from, value);
      list_addtail(&src->src.use_link, &value->uses); /* the phi is in the shader already */
   }
}

/* Leaves the loop where its own condition does that, if there is one */
static void
leave(nir_builder *b, const struct loop *loop, nir_if *last, nir_def *ended)
{
   nir_if *nif = last ? NULL : find_first_condition(loop);

   if (!nif) {
      prepare_way_out(loop->nir);
      add_way_out(b, loop->nir, ended);
      return;
   }
   b->cursor = nir_before_src(&nif->condition);
   nir_src_rewrite(&nif->condition, nir_ior(b, nif->condition.ssa, ended));
}

/* How the rounds of a loop are counted: 32 bits, modulo 2^32 */
struct count {
   uint32_t first;    /* of the first round */
   uint32_t before;   /* before anything is counted */
   uint32_t too_many; /* of the first round that is not allowed; 0 modulo 1 << ROUNDS_LOG2 */
   nir_if *last;      /* find_last_condition() */
};

static nir_variable *
add_counter(nir_builder *b, const struct loop *loop, const char *name, uint32_t value)
{
   nir_variable *var = nir_local_variable_create(b->impl, glsl_uint_type(), name);

   b->cursor = nir_before_cf_node(&loop->nir->cf_node);
   nir_store_var(b, var, nir_imm_int(b, value), 0x1);
   return var;
}

/* Returns its new value. */
static nir_def *
add_one(nir_builder *b, nir_variable *var)
{
   nir_def *sum = nir_iadd_imm(b, nir_load_var(b, var), 1);
   nir_store_var(b, var, sum, 0x1);
   return sum;
}

static nir_def *
report_rounds(struct gpuval_nir_state *state, const struct gpuval_site *site,
              const struct count *count, nir_def *asks, nir_def *n)
{
   nir_builder *b = &state->b;
   nir_def *answer = nir_call_gpuval(b, 32, asks, nir_vec2(b, n, nir_imm_int(b, count->too_many)),
                                     .base = GPUVAL_FUNCTION_LOOP);
   nir_def *ended = nir_ine_imm(b, answer, 0);

   gpuval_nir_report_plain(state, site, 0, ended, nir_iadd_imm(b, n, -count->first), answer);
   return ended;
}

static void
go_where_rounds_are_counted(nir_builder *b, const struct loop *loop, const struct count *count)
{
   b->cursor = count->last ? nir_before_cf_node(&count->last->cf_node)
                           : nir_after_phis(nir_loop_first_block(loop->nir));
}

static void
count_rounds(struct gpuval_nir_state *state, const struct loop *loop,
             const struct gpuval_site *site, const struct count *count)
{
   nir_builder *b = &state->b;
   nir_variable *var = add_counter(b, loop, "gpuval rounds", count->before);

   go_where_rounds_are_counted(b, loop, count);
   nir_def *n = add_one(b, var);
   nir_def *asks = nir_ieq_imm(b, nir_iand_imm(b, n, ROUNDS_MASK), 0);
   nir_def *ended = report_rounds(state, site, count, asks, n);
   if (state->options->safe)
      leave(b, loop, count->last, ended);
}

static void
count_rounds_inline(struct gpuval_nir_state *state, const struct loop *loop,
                    const struct gpuval_site *site, const struct count *count)
{
   nir_builder *b = &state->b;
   uint32_t distance = (-(count->before + 1) & (INLINE_ROUNDS - 1)) + 1;
   bool is_limit = count->before + distance == count->too_many;
   if (distance < MIN_ROUNDS && !is_limit)
      distance += INLINE_ROUNDS;

   if (state->options->safe)
      prepare_way_out(loop->nir);
   nir_variable *left_var = add_counter(b, loop, "gpuval rounds left", -distance);
   nir_variable *var = add_counter(b, loop, "gpuval rounds", count->before + distance);

   /* Values that the loop's own condition leaves behind are known there, too. */
   nir_if *first = count->last ? NULL : find_first_condition(loop);
   go_where_rounds_are_counted(b, loop, count);
   if (first)
      b->cursor = nir_before_cf_node(&first->cf_node);
   /* The carry of an addition costs no comparison on GPUs. */
   nir_def *is_asked =
      state->options->driver->has_carry
         ? nir_ine_imm(b, nir_uadd_carry(b, nir_load_var(b, left_var), nir_imm_int(b, 1)), 0)
         : NULL;
   nir_def *left = add_one(b, left_var);
   nir_if *asks = nir_push_if(b, is_asked ? is_asked : nir_ieq_imm(b, left, 0));
   {
      nir_def *n = nir_load_var(b, var);
      nir_store_var(b, left_var, nir_imm_int(b, -INLINE_ROUNDS), 0x1);
      nir_store_var(b, var, nir_iadd_imm(b, n, INLINE_ROUNDS), 0x1);
      nir_def *ended = report_rounds(state, site, count, nir_imm_true(b), n);
      if (state->options->safe)
         add_way_out(b, loop->nir, ended);
   }
   nir_pop_if(b, asks);
}

static void
instrument(struct pass *pass, const struct loop *loop)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;
   uint32_t limit = state->options->loop_limit;
   struct count count = {
      /* No round is the first too many where there is no limit. */
      .first = limit ? -(limit + 1) & ROUNDS_MASK : 0,
      .last = find_last_condition(loop),
   };
   count.before = count.first - (count.last ? 0 : 1);
   count.too_many = limit ? count.first + limit + 1 : 1;
   const struct gpuval_site site = {
      .kind = GPUVAL_KIND_ENDLESS,
      .spirv_offset = loop->origin ? loop->origin->merge + loop->called : 0,
      .set = -1,
      .binding = -1,
   };

   nir_def *is_long = gpuval_nir_find_rounds(state, loop->nir, limit);
   if (is_long)
      gpuval_nir_report_plain(state, &site, 0, is_long, nir_imm_int(b, limit + 1),
                              nir_imm_int(b, GPUVAL_LOOP_LIMIT_REACHED));
   else if (state->options->driver->inlines_functions)
      count_rounds_inline(state, loop, &site, &count);
   else
      count_rounds(state, loop, &site, &count);
}

nir_def *
gpuval_nir_build_loop(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   nir_def *root = driver->root_address(driver, b);
   nir_def *end_loops = nir_build_load_global(
      b, 1, 32, nir_iadd_imm(b, root, offsetof(struct gpuval_root, end_loops)), .align_mul = 4,
      .access = ACCESS_VOLATILE | ACCESS_COHERENT);
   nir_def *is_too_many = nir_ieq(b, words[0], words[1]);

   return nir_bcsel(b, is_too_many, nir_imm_int(b, GPUVAL_LOOP_LIMIT_REACHED),
                    nir_bcsel(b, nir_ine_imm(b, end_loops, 0), nir_imm_int(b, GPUVAL_LOOP_BY_HOST),
                              nir_imm_int(b, 0)));
}

bool
gpuval_nir_instrument_loop(struct gpuval_nir_state *state)
{
   struct pass pass = {.state = state};
   bool progress = false;

   if (!(state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_LOOP)))
      return false;

   pass.mem_ctx = ralloc_context(NULL);
   util_dynarray_init(&pass.spirv_loops, pass.mem_ctx);
   util_dynarray_init(&pass.loops, pass.mem_ctx);
   nir_metadata_require(state->b.impl, nir_metadata_loop_analysis, nir_var_all, false);
   add_loops(&pass, &state->b.impl->body);
   util_dynarray_foreach (&pass.loops, struct loop *, loop)
      progress |= (*loop)->counts;

   if (progress) {
      find_spirv_loops(&pass);
      find_origins(&pass);
      gpuval_nir_invocation(state);
      util_dynarray_foreach (&pass.loops, struct loop *, loop) {
         if ((*loop)->counts)
            instrument(&pass, *loop);
      }
      nir_progress(true, state->b.impl, nir_metadata_none);
      nir_lower_vars_to_ssa(state->b.shader);
   }

   ralloc_free(pass.mem_ctx);
   return progress;
}
