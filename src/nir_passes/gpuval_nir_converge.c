/* SPDX-License-Identifier: MIT */

/* converge: what all invocations of a group have to come to together.
 *
 * Operations outside of all control flow, or inside of what is the same for a whole workgroup or
 * draw (constants, push constants, uniform buffers, ids of workgroups), get nothing. Where that is
 * not known, the invocations that come are compared with those that have to:
 *
 * Derivatives: all four of the quad are active, helper invocations included. An invocation that
 * was terminated is not there any more, whatever the driver does with it; a demoted one is.
 *
 * Subgroup operations: the invocation that is read is active.
 *
 * Barriers: those of the subgroup that have started come all at once, else it is reported right
 * before the barrier. Whether the other subgroups of the workgroup come, their first invocations
 * leave in shared memory, behind all that the shader has:
 *
 *    B        latest[2]: how many barriers were passed before << SITE_BITS | which barrier comes
 * now, the maximum of the workgroup, for even and odd numbers of barriers B + 8    earliest[2]: the
 * same with SITE_MASK - which barrier B + 16   ended: END - how many barriers were passed before,
 * the maximum of those that ended B + 20   reported[]: one bit a barrier
 *
 * A maximum of 0 is none, so these words are cleared first thing. Behind the n-th barrier all that
 * have passed it have left their n there, and nobody can have left n + 2: if latest and earliest
 * are not both of this barrier, others were at another one, and if `ended` has END - n or more,
 * others will never come. No driver hangs where some do not come: hardware and llvmpipe let those
 * go on that wait once all others have ended or wait.
 */

#include "gpuval_nir_early.h"
#include "gpuval_nir_functions.h"
#include "gpuval_nir_local.h"
#include "gpuval_nir_private.h"

#include "spirv/spirv.h"
#include "util/ralloc.h"
#include "util/set.h"

#define SITE_BITS 10
#define SITE_MASK BITFIELD_MASK(SITE_BITS)
#define END       BITFIELD_MASK(32 - SITE_BITS) /* barriers beyond are not looked at */

enum {
   LATEST = 0,
   EARLIEST = 8,
   ENDED = 16,
   REPORTED = 20,
};

struct pass {
   struct gpuval_nir_state *state;
   nir_variable *gone; /* bool: the invocation was terminated; NULL: none is */

   /* Barriers */
   nir_def *lanes;          /* active ones when the shader begins */
   nir_variable *passed;    /* uint: how many barriers; NULL: subgroups are looked at alone */
   unsigned number;         /* barriers so far */
   uint32_t begin, end;     /* bytes of shared memory */
   struct set *visited;     /* nir_def: is_uniform() */
   struct hash_table *seen; /* instances of subgroup operations and derivatives */
};

/* Uniformity: of a workgroup, or a draw */

static bool is_uniform(struct pass *pass, nir_def *def);

static bool
is_uniform_src(nir_src *src, void *data)
{
   return is_uniform(data, src->ssa);
}

static bool
has_jump(const struct exec_list *list)
{
   foreach_list_typed (nir_cf_node, node, node, list) {
      if (node->type == nir_cf_node_block && nir_block_ends_in_jump(nir_cf_node_as_block(node)))
         return true;
      if (node->type == nir_cf_node_if && (has_jump(&nir_cf_node_as_if(node)->then_list) ||
                                           has_jump(&nir_cf_node_as_if(node)->else_list)))
         return true;
   }
   return false;
}

/* Do all invocations leave the loop around @list in the same round? */
static bool
has_uniform_jumps(struct pass *pass, const struct exec_list *list)
{
   foreach_list_typed (nir_cf_node, node, node, list) {
      if (node->type != nir_cf_node_if)
         continue;
      nir_if *nif = nir_cf_node_as_if(node);
      if ((has_jump(&nif->then_list) || has_jump(&nif->else_list)) &&
          (!is_uniform(pass, nif->condition.ssa) || !has_uniform_jumps(pass, &nif->then_list) ||
           !has_uniform_jumps(pass, &nif->else_list)))
         return false;
   }
   return true;
}

static bool
is_uniform_phi(struct pass *pass, nir_phi_instr *phi)
{
   nir_block *block = phi->instr.block;
   nir_cf_node *before = nir_cf_node_prev(&block->cf_node);
   nir_cf_node *parent = block->cf_node.parent;

   if (before && before->type == nir_cf_node_if) {
      if (!is_uniform(pass, nir_cf_node_as_if(before)->condition.ssa))
         return false;
   } else if (before && before->type == nir_cf_node_loop) {
      if (!has_uniform_jumps(pass, &nir_cf_node_as_loop(before)->body))
         return false;
   } else if (parent->type == nir_cf_node_loop) {
      if (!has_uniform_jumps(pass, &nir_cf_node_as_loop(parent)->body))
         return false;
   } else {
      return false;
   }
   nir_foreach_phi_src (src, phi) {
      if (!is_uniform(pass, src->src.ssa))
         return false;
   }
   return true;
}

static bool
is_uniform_intrinsic(struct pass *pass, nir_intrinsic_instr *intrin)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_load_workgroup_id:
   case nir_intrinsic_load_num_workgroups:
   case nir_intrinsic_load_workgroup_size:
   case nir_intrinsic_load_base_workgroup_id:
   case nir_intrinsic_load_num_subgroups:
   case nir_intrinsic_load_subgroup_size:
      return true;
   case nir_intrinsic_call_gpuval:
      if (nir_intrinsic_base(intrin) != GPUVAL_FUNCTION_LOOP)
         return false;
      FALLTHROUGH;
   case nir_intrinsic_load_push_constant:
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_load_constant:
   case nir_intrinsic_vulkan_resource_index:
   case nir_intrinsic_vulkan_resource_reindex:
   case nir_intrinsic_load_vulkan_descriptor:
      return nir_foreach_src(&intrin->instr, is_uniform_src, pass);
   default:
      return false;
   }
}

/* Nothing is divergent that leads to no divergent source: what is being visited, in a loop, counts
 * as uniform. So the answer is only good for the first caller, who empties pass->visited.
 */
static bool
is_uniform(struct pass *pass, nir_def *def)
{
   nir_instr *instr = nir_def_instr(def);
   bool found;

   _mesa_set_search_or_add(pass->visited, def, &found);
   if (found)
      return true;

   switch (instr->type) {
   case nir_instr_type_load_const:
   case nir_instr_type_undef:
      return true;
   case nir_instr_type_alu:
      return nir_foreach_src(instr, is_uniform_src, pass);
   case nir_instr_type_intrinsic:
      return is_uniform_intrinsic(pass, nir_instr_as_intrinsic(instr));
   case nir_instr_type_phi:
      return is_uniform_phi(pass, nir_instr_as_phi(instr));
   default:
      return false;
   }
}

/* Do all invocations that start come to a block at the same time? */
static bool
is_reached_by_all(struct pass *pass, nir_block *block)
{
   bool all = true;

   for (nir_cf_node *node = block->cf_node.parent; all && node->type != nir_cf_node_function;
        node = node->parent) {
      _mesa_set_clear(pass->visited, NULL);
      all = node->type == nir_cf_node_if
               ? is_uniform(pass, nir_cf_node_as_if(node)->condition.ssa)
               : has_uniform_jumps(pass, &nir_cf_node_as_loop(node)->body);
   }
   return all;
}

/* Invocations that were terminated */

/* Has the module an instruction that ends invocations, and none that demotes them? Where it has
 * both, they are not told apart, and none counts as gone.
 */
static bool
terminates(const struct gpuval_nir_options *options)
{
   uint32_t num_words = options->spirv ? options->spirv_size / 4 : 0;
   bool has_terminate = false;

   for (uint32_t i = 5; i < num_words;) {
      uint32_t word = options->spirv[i];
      if (!(word >> SpvWordCountShift))
         break;
      switch (word & SpvOpCodeMask) {
      case SpvOpKill:
      case SpvOpTerminateInvocation:
         has_terminate = true;
         break;
      case SpvOpDemoteToHelperInvocation:
         return false;
      default:
         break;
      }
      i += word >> SpvWordCountShift;
   }
   return has_terminate;
}

static void
note_gone(struct pass *pass, nir_instr *instr)
{
   nir_builder *b = &pass->state->b;
   nir_intrinsic_instr *intrin =
      instr->type == nir_instr_type_intrinsic ? nir_instr_as_intrinsic(instr) : NULL;
   nir_def *gone;

   switch (intrin ? intrin->intrinsic : nir_num_intrinsics) {
   case nir_intrinsic_terminate:
   case nir_intrinsic_demote:
      b->cursor = nir_before_instr(instr);
      gone = nir_imm_true(b);
      break;
   case nir_intrinsic_terminate_if:
   case nir_intrinsic_demote_if:
      b->cursor = nir_before_instr(instr);
      gone = nir_ior(b, nir_load_var(b, pass->gone), intrin->src[0].ssa);
      break;
   default:
      return;
   }
   nir_store_var(b, pass->gone, gone, 0x1);
}

static void
find_gone(struct pass *pass)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder at_top = nir_builder_at(nir_before_impl(state->b.impl));

   if (state->b.shader->info.stage != MESA_SHADER_FRAGMENT || !terminates(state->options))
      return;
   pass->gone = nir_local_variable_create(state->b.impl, glsl_bool_type(), "gpuval gone");
   nir_store_var(&at_top, pass->gone, nir_imm_false(&at_top), 0x1);
   gpuval_nir_foreach_access(state, access) note_gone(pass, access->instr);
}

/* Bits of the invocations of the subgroup that are there */
static nir_def *
build_lanes(struct pass *pass)
{
   const struct gpuval_nir_driver *driver = pass->state->options->driver;
   nir_builder *b = &pass->state->b;

   return driver->active_lanes(
      driver, b, pass->gone ? nir_inot(b, nir_load_var(b, pass->gone)) : nir_imm_true(b));
}

static struct gpuval_site
get_site(const struct gpuval_nir_state *state, const struct gpuval_access *access,
         enum gpuval_kind kind)
{
   return (struct gpuval_site){
      .kind = kind,
      .spirv_offset = gpuval_nir_spirv_offset(state, access->instance),
      .set = -1,
      .binding = -1,
   };
}

/* Drivers make several of one SPIR-V instruction: one for each component. */
static bool
is_first_of_instance(struct pass *pass, const struct gpuval_access *access)
{
   const void *key = (const void *)(uintptr_t)(access->instance + 1);

   if (gpuval_nir_spirv_offset(pass->state, access->instance) &&
       _mesa_hash_table_search(pass->seen, key))
      return false;
   _mesa_hash_table_insert(pass->seen, key, NULL);
   return true;
}

/* Derivatives */

static bool
takes_derivative(const struct gpuval_access *access)
{
   if (access->instr->type == nir_instr_type_tex)
      return nir_tex_instr_has_implicit_derivative(nir_instr_as_tex(access->instr));
   return access->type == GPUVAL_ACCESS_DERIVATIVE;
}

static bool
has_derivatives(const shader_info *info)
{
   return info->stage == MESA_SHADER_FRAGMENT || info->derivative_group == DERIVATIVE_GROUP_LINEAR;
}

static bool
check_derivative(struct pass *pass, const struct gpuval_access *access)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;

   if (!has_derivatives(&b->shader->info) || !takes_derivative(access) ||
       (!pass->gone && is_reached_by_all(pass, access->instr->block)) ||
       !is_first_of_instance(pass, access))
      return false;

   b->cursor = nir_before_instr(access->instr);
   nir_def *lanes = build_lanes(pass);
   nir_def *first = nir_iand_imm(b, nir_load_subgroup_invocation(b), ~3u);
   nir_def *quad = nir_iand_imm(b, nir_u2u32(b, nir_ushr(b, lanes, first)), 0xf);
   const struct gpuval_site site = get_site(state, access, GPUVAL_KIND_CONVERGE_DERIVATIVE);
   nir_def *failed = nir_ine_imm(b, quad, 0xf);

   gpuval_nir_report_plain(state, &site, 0, failed, NULL, NULL);
   return true;
}

/* Subgroup operations */

/* The number of the invocation that @intrin reads, 32 bit */
static nir_def *
build_source_lane(nir_builder *b, nir_intrinsic_instr *intrin, nir_def *lane)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_shuffle:
   case nir_intrinsic_read_invocation:
      return nir_u2u32(b, intrin->src[1].ssa);
   case nir_intrinsic_shuffle_xor:
      return nir_ixor(b, lane, nir_u2u32(b, intrin->src[1].ssa));
   case nir_intrinsic_shuffle_up:
      return nir_isub(b, lane, nir_u2u32(b, intrin->src[1].ssa));
   case nir_intrinsic_shuffle_down:
      return nir_iadd(b, lane, nir_u2u32(b, intrin->src[1].ssa));
   case nir_intrinsic_quad_broadcast:
      return nir_iadd(b, nir_iand_imm(b, lane, ~3u), nir_u2u32(b, intrin->src[1].ssa));
   case nir_intrinsic_quad_swap_horizontal:
      return nir_ixor(b, lane, nir_imm_int(b, 1));
   case nir_intrinsic_quad_swap_vertical:
      return nir_ixor(b, lane, nir_imm_int(b, 2));
   case nir_intrinsic_quad_swap_diagonal:
      return nir_ixor(b, lane, nir_imm_int(b, 3));
   case nir_intrinsic_quad_swizzle_amd: {
      nir_def *shift = nir_ishl_imm(b, nir_iand_imm(b, lane, 3), 1);
      nir_def *mask = nir_imm_int(b, nir_intrinsic_swizzle_mask(intrin));
      return nir_iadd(b, nir_iand_imm(b, lane, ~3u), nir_iand_imm(b, nir_ushr(b, mask, shift), 3));
   }
   case nir_intrinsic_masked_swizzle_amd: {
      uint32_t mask = nir_intrinsic_swizzle_mask(intrin);
      nir_def *kept = nir_iand_imm(b, lane, (mask & 0x1f) | ~0x1fu);
      return nir_ixor(b, nir_ior_imm(b, kept, mask >> 5 & 0x1f), nir_imm_int(b, mask >> 10 & 0x1f));
   }
   default:
      UNREACHABLE("classify_lanes() knows no more");
   }
}

/* Some of NIR's operations are made by the driver, of those that may read anything. */
static bool
may_fail(const struct gpuval_nir_state *state, const struct gpuval_access *access)
{
   const struct gpuval_nir_options *options = state->options;
   uint32_t offset = gpuval_nir_place(state, access->instance);

   if (!offset || !options->spirv || offset + 4 > options->spirv_size)
      return false;
   switch (options->spirv[offset / 4] & SpvOpCodeMask) {
   case SpvOpGroupNonUniformBroadcast:
   case SpvOpGroupNonUniformShuffle:
   case SpvOpGroupNonUniformShuffleXor:
   case SpvOpGroupNonUniformShuffleUp:
   case SpvOpGroupNonUniformShuffleDown:
   case SpvOpGroupNonUniformQuadBroadcast:
   case SpvOpGroupNonUniformQuadSwap:
   case SpvOpGroupNonUniformRotateKHR:
   case SpvOpSubgroupReadInvocationKHR:
      return true;
   default:
      return false;
   }
}

static bool
check_lanes(struct pass *pass, const struct gpuval_access *access)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;

   if (access->type != GPUVAL_ACCESS_LANES || !may_fail(state, access) ||
       !is_first_of_instance(pass, access))
      return false;

   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   b->cursor = nir_before_instr(access->instr);
   nir_def *lanes = build_lanes(pass);
   nir_def *lane = nir_load_subgroup_invocation(b);
   nir_def *source = build_source_lane(b, intrin, lane);
   nir_def *is_lane = nir_ult_imm(b, source, lanes->bit_size);
   nir_def *bit = nir_ushr(b, lanes, nir_iand_imm(b, source, lanes->bit_size - 1));
   nir_def *is_active = nir_ine_imm(b, nir_iand_imm(b, nir_u2u32(b, bit), 1), 0);
   const struct gpuval_site site = get_site(state, access, GPUVAL_KIND_CONVERGE_SUBGROUP);

   gpuval_nir_report_plain(state, &site, 0, nir_inot(b, nir_iand(b, is_lane, is_active)), source,
                           lane);
   return true;
}

/* Barriers */

static bool
is_barrier(const struct gpuval_access *access)
{
   return access->type == GPUVAL_ACCESS_BARRIER &&
          nir_intrinsic_execution_scope(nir_instr_as_intrinsic(access->instr)) >= SCOPE_WORKGROUP;
}

/* Returns how many barriers there are, if some may not be reached by all. */
static unsigned
count_barriers(struct pass *pass)
{
   unsigned count = 0;
   bool is_divergent = false;

   gpuval_nir_foreach_access(pass->state, access)
   {
      if (is_barrier(access)) {
         count++;
         is_divergent |= !is_reached_by_all(pass, access->instr->block);
      }
   }
   return is_divergent ? count : 0;
}

/* False: there is no room for the words. */
static bool
place_words(struct pass *pass, unsigned count)
{
   const struct gpuval_nir_driver *driver = pass->state->options->driver;
   shader_info *info = &pass->state->b.shader->info;
   uint32_t begin = align(info->shared_size, 16);
   uint32_t end = align(begin + REPORTED + DIV_ROUND_UP(count, 32) * sizeof(uint32_t), 16);

   if (count > SITE_MASK ||
       (driver->max_shared_size && end > driver->max_shared_size(driver, info->stage)))
      return false;
   pass->begin = begin;
   pass->end = info->shared_size = end;
   return true;
}

static void
order_words(nir_builder *b)
{
   nir_barrier(b, .execution_scope = SCOPE_NONE, .memory_scope = SCOPE_WORKGROUP,
               .memory_semantics = NIR_MEMORY_ACQ_REL, .memory_modes = nir_var_mem_shared);
}

/* First thing, by the first invocation */
static void
clear_words(struct pass *pass, nir_builder *b)
{
   nir_push_if(b, nir_ieq_imm(b, gpuval_nir_local_index(pass->state->options->driver, b), 0));
   for (uint32_t offset = pass->begin; offset < pass->end; offset += 16)
      nir_store_shared(b, nir_imm_zero(b, 4, 32), nir_imm_int(b, offset), .align_mul = 16,
                       .write_mask = 0xf);
   nir_pop_if(b, NULL);
   nir_barrier(b, .execution_scope = SCOPE_WORKGROUP, .memory_scope = SCOPE_WORKGROUP,
               .memory_semantics = NIR_MEMORY_ACQ_REL, .memory_modes = nir_var_mem_shared);
   b->shader->info.uses_control_barrier = true;
}

static nir_def *
build_maximum(nir_builder *b, nir_def *offset, nir_def *value)
{
   return nir_shared_atomic(b, 32, offset, value, .atomic_op = nir_atomic_op_umax);
}

/* Reports @failed, unless the workgroup has done so for this barrier. */
static void
report_barrier(struct pass *pass, const struct gpuval_access *access, nir_def *failed)
{
   nir_builder *b = &pass->state->b;
   const struct gpuval_site site = get_site(pass->state, access, GPUVAL_KIND_CONVERGE_BARRIER);

   failed = nir_iand(b, failed, nir_elect(b, 1));
   if (pass->passed) {
      uint32_t bit = BITFIELD_BIT(pass->number % 32);
      nir_def *word = nir_imm_int(b, pass->begin + REPORTED + pass->number / 32 * sizeof(uint32_t));

      nir_def *no = nir_imm_false(b);
      nir_push_if(b, failed);
      nir_def *old =
         nir_shared_atomic(b, 32, word, nir_imm_int(b, bit), .atomic_op = nir_atomic_op_ior);
      nir_def *is_first = nir_ieq_imm(b, nir_iand_imm(b, old, bit), 0);
      nir_pop_if(b, NULL);
      failed = nir_if_phi(b, is_first, no);
   }
   gpuval_nir_report_plain(pass->state, &site, 0, failed, NULL, NULL);
}

/* Where the words of an even or an odd number of barriers are */
static nir_def *
get_word(nir_builder *b, const struct pass *pass, unsigned word, nir_def *passed)
{
   return nir_iadd_imm(b, nir_ishl_imm(b, nir_iand_imm(b, passed, 1), 2), pass->begin + word);
}

static nir_def *
is_elsewhere(nir_builder *b, nir_def *word, nir_def *passed, uint32_t number)
{
   nir_def *is_of_now = nir_ieq(b, nir_ushr_imm(b, word, SITE_BITS), passed);
   return nir_iand(b, is_of_now, nir_ine_imm(b, nir_iand_imm(b, word, SITE_MASK), number));
}

static void
check_barrier(struct pass *pass, const struct gpuval_access *access)
{
   const struct gpuval_nir_driver *driver = pass->state->options->driver;
   nir_builder *b = &pass->state->b;
   uint32_t number = pass->number;

   b->cursor = nir_before_instr(access->instr);
   nir_def *lanes = driver->active_lanes(driver, b, nir_imm_true(b));
   report_barrier(pass, access, nir_ine(b, lanes, pass->lanes));
   if (!pass->passed)
      return;

   nir_def *passed = nir_load_var(b, pass->passed);
   nir_def *shifted = nir_ishl_imm(b, passed, SITE_BITS);
   nir_push_if(b, nir_elect(b, 1));
   build_maximum(b, get_word(b, pass, LATEST, passed), nir_ior_imm(b, shifted, number));
   build_maximum(b, get_word(b, pass, EARLIEST, passed),
                 nir_ior_imm(b, shifted, SITE_MASK - number));
   nir_pop_if(b, NULL);
   order_words(b);

   b->cursor = nir_after_instr(access->instr);
   order_words(b);
   nir_def *latest = nir_load_shared(b, 1, 32, get_word(b, pass, LATEST, passed), .align_mul = 4);
   nir_def *earliest =
      nir_load_shared(b, 1, 32, get_word(b, pass, EARLIEST, passed), .align_mul = 4);
   nir_def *ended = nir_load_shared(b, 1, 32, nir_imm_int(b, pass->begin + ENDED), .align_mul = 4);
   nir_def *failed = nir_ior(b, is_elsewhere(b, latest, passed, number),
                             is_elsewhere(b, earliest, passed, SITE_MASK - number));
   failed = nir_ior(b, failed, nir_uge(b, ended, nir_isub_imm(b, END, passed)));
   failed = nir_iand(b, failed, nir_ult_imm(b, passed, END - 1));
   report_barrier(pass, access, failed);
   nir_store_var(b, pass->passed, nir_umin(b, nir_iadd_imm(b, passed, 1), nir_imm_int(b, END - 1)),
                 0x1);
}

/* An invocation ends: at the end of the shader, and where a task launches its mesh workgroups */
static void
note_end(struct pass *pass)
{
   nir_builder *b = &pass->state->b;

   nir_push_if(b, nir_elect(b, 1));
   build_maximum(b, nir_imm_int(b, pass->begin + ENDED),
                 nir_isub_imm(b, END, nir_load_var(b, pass->passed)));
   nir_pop_if(b, NULL);
}

static bool
is_launch(const struct gpuval_access *access)
{
   if (access->instr->type != nir_instr_type_intrinsic)
      return false;
   nir_intrinsic_op op = nir_instr_as_intrinsic(access->instr)->intrinsic;
   return op == nir_intrinsic_launch_mesh_workgroups ||
          op == nir_intrinsic_launch_mesh_workgroups_with_payload_deref;
}

static bool
check_barriers(struct pass *pass)
{
   struct gpuval_nir_state *state = pass->state;
   const struct gpuval_nir_driver *driver = state->options->driver;
   nir_builder *b = &state->b;
   unsigned count =
      mesa_shader_stage_uses_workgroup(b->shader->info.stage) ? count_barriers(pass) : 0;

   if (!count)
      return false;

   gpuval_nir_invocation(state);
   nir_builder at_top = nir_builder_at(nir_before_impl(b->impl));
   if (place_words(pass, count)) {
      pass->passed = nir_local_variable_create(b->impl, glsl_uint_type(), "gpuval barriers");
      nir_store_var(&at_top, pass->passed, nir_imm_int(&at_top, 0), 0x1);
      clear_words(pass, &at_top);
   }
   pass->lanes = driver->active_lanes(driver, &at_top, nir_imm_true(&at_top));

   gpuval_nir_foreach_access(state, access)
   {
      if (is_barrier(access)) {
         check_barrier(pass, access);
         pass->number++;
      } else if (pass->passed && is_launch(access)) {
         b->cursor = nir_before_instr(access->instr);
         note_end(pass);
      }
   }
   if (pass->passed && b->shader->info.stage != MESA_SHADER_TASK) {
      b->cursor = nir_after_impl(b->impl);
      note_end(pass);
   }
   return true;
}

bool
gpuval_nir_instrument_converge(struct gpuval_nir_state *state)
{
   struct pass pass = {.state = state};
   bool progress = false;

   if (!(state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_CONVERGE)) ||
       !state->options->driver->active_lanes)
      return false;

   pass.visited = _mesa_pointer_set_create(NULL);
   pass.seen = _mesa_pointer_hash_table_create(NULL);
   find_gone(&pass);
   gpuval_nir_foreach_access(state, access)
   {
      progress |= check_derivative(&pass, access);
      progress |= check_lanes(&pass, access);
   }
   if (progress)
      nir_lower_vars_to_ssa(state->b.shader);
   if (check_barriers(&pass)) {
      nir_progress(true, state->b.impl, nir_metadata_none);
      nir_lower_vars_to_ssa(state->b.shader);
      progress = true;
   }
   _mesa_hash_table_destroy(pass.seen, NULL);
   _mesa_set_destroy(pass.visited, NULL);
   return progress;
}

/* Which invocations are there is for the control flow of SPIR-V to say: with a report beside an
 * operation, though it never fails, no driver makes a selection of the branch that it is in.
 */
bool
gpuval_nir_early_converge(struct gpuval_nir_early *early)
{
   nir_builder *b = &early->b;
   bool progress = false;

   nir_foreach_block (block, b->impl) {
      if (block->cf_node.parent->type == nir_cf_node_function)
         continue;
      nir_foreach_instr (instr, block) {
         if (!gpuval_nir_reads_lanes(instr))
            continue;
         b->cursor = nir_before_instr(instr);
         gpuval_nir_report_early(b, &(struct gpuval_nir_early_report){
                                       .kind = GPUVAL_KIND_CONVERGE_SUBGROUP,
                                       .set = -1,
                                       .binding = -1,
                                       .failed = nir_imm_false(b),
                                    });
         progress = true;
      }
   }
   nir_progress(progress, b->impl, nir_metadata_control_flow);
   return progress;
}
