/* SPDX-License-Identifier: MIT */

/* Missing barriers: what atomics and memory barriers of a shader order. In shadow memory they
 * release and acquire, gpuval_nir_clocks.c; the filter does not know, and is silent from there on.
 */

#include "gpuval/src/base/gpuval_order.h"
#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval_nir_sync_pass.h"

/* What atomics order is not told apart by kinds of memory. */
static nir_variable_mode
get_modes(const struct gpuval_sync_pass *pass)
{
   return pass->has_texels ? BUFFER_MODES | nir_var_image : BUFFER_MODES;
}

/* What atomics and memory barriers do to the order: shadow memory only. A barrier of device
 * scope, or of the queue family's, counts; one of a smaller scope for the invocations of that, if
 * it stands alone.
 */
static bool
orders_buffers(const struct gpuval_sync_pass *pass, const struct gpuval_access *access)
{
   if (access->type != GPUVAL_ACCESS_BARRIER)
      return false;

   const nir_intrinsic_instr *barrier = nir_instr_as_intrinsic(access->instr);
   return (gpuval_nir_covers(barrier, get_modes(pass)) &&
           nir_intrinsic_memory_scope(barrier) >= SCOPE_QUEUE_FAMILY) ||
          gpuval_nir_is_fence(pass->state, access, get_modes(pass), SCOPE_SUBGROUP);
}

/* GPUVAL_SYNC_RELEASE and so on. Where numbers of invocations say nothing of workgroups, one
 * scope is as good as another.
 */
static enum gpuval_sync_order
get_release(const struct gpuval_sync_pass *pass, const struct gpuval_access *access)
{
   mesa_scope scope = nir_intrinsic_memory_scope(nir_instr_as_intrinsic(access->instr));

   if (scope >= SCOPE_QUEUE_FAMILY ||
       !gpuval_sync_has_workgroups(pass->state->b.shader->info.stage))
      return GPUVAL_SYNC_RELEASE;
   return scope >= SCOPE_WORKGROUP ? GPUVAL_SYNC_RELEASE_WORKGROUP : GPUVAL_SYNC_RELEASE_SUBGROUP;
}

static void
emit_order(struct gpuval_sync_pass *pass, nir_def *op, nir_def *address)
{
   nir_builder *b = &pass->state->b;
   nir_def *zero = nir_imm_int(b, 0);
   uint32_t token = pass->shifts |
                    GPUVAL_SHADOW_CONTEXT(0, 0, gpuval_order_stage_class(b->shader->info.stage), 0);

   nir_sync_gpuval(
      b, nir_ine_imm(b, op, GPUVAL_SYNC_NOTHING), address, op, zero, zero,
      nir_vec4(b, nir_channel(b, gpuval_sync_context(pass), 0), nir_imm_int(b, token), zero, zero),
      gpuval_nir_invocation(pass->state), .desc_set = GPUVAL_REPORT_PLAIN,
      .flags = GPUVAL_SYNC_ORDERS);
}

/* Texels are where their coordinates are, whatever the view: a number of a word, which is not an
 * address. Layers are not told apart, and so it does not matter how views count them.
 */
static nir_def *
texel_number(nir_builder *b, const nir_intrinsic_instr *intrin)
{
   nir_def *coord = intrin->src[1].ssa;
   nir_def *number = nir_channel(b, coord, 0);

   if (nir_intrinsic_image_dim(intrin) != GLSL_SAMPLER_DIM_1D &&
       nir_intrinsic_image_dim(intrin) != GLSL_SAMPLER_DIM_BUF)
      number = nir_iadd(b, number, nir_imul_imm(b, nir_channel(b, coord, 1), 9));
   number = nir_iand_imm(b, number, GPUVAL_SHADOW_OTHER_TIMES - 1);
   return nir_u2u64(b, nir_imul_imm(b, number, GPUVAL_SHADOW_WORD));
}

static nir_def *
texel_address(struct gpuval_sync_pass *pass, const struct gpuval_access *access)
{
   nir_builder *b = &pass->state->b;
   const struct gpuval_nir_driver *driver = pass->state->options->driver;
   struct gpuval_nir_texels texels;

   if (access->type == GPUVAL_ACCESS_IMAGE || !driver->texels ||
       !driver->texels(driver, b, access->instr, access->resource, &texels))
      return texel_number(b, nir_instr_as_intrinsic(access->instr));
   nir_def *offset = nir_imul(b, gpuval_nir_texel_index(b, access->instr), texels.size);
   return nir_iadd(b, texels.address, nir_u2u64(b, offset));
}

static nir_def *
atomic_address(struct gpuval_sync_pass *pass, const struct gpuval_access *access)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);

   if (access->type == GPUVAL_ACCESS_IMAGE || access->type == GPUVAL_ACCESS_TEXEL_BUFFER)
      return texel_address(pass, access);

   nir_def *offset = nir_get_io_offset_src(intrin)->ssa, *address, *size;
   if (access->type == GPUVAL_ACCESS_ADDRESS)
      return offset;
   const struct gpuval_nir_driver *driver = state->options->driver;
   nir_def *slot =
      gpuval_nir_uniform_slot(b, driver, access->instr, driver->slot(driver, b, intrin));
   gpuval_sync_range(state, intrin, access->buffer.set, slot, &address, &size);
   return nir_iadd(b, address, nir_u2u64(b, offset));
}

/* Memory that only the workgroup has: whatever the barrier's scope is, nobody else can tell. */
static bool
is_of_workgroup(const struct gpuval_access *access)
{
   return access->type == GPUVAL_ACCESS_SHARED || access->type == GPUVAL_ACCESS_TASK_PAYLOAD;
}

/* What the barriers before make of an atomic: variables, for they may be anywhere. */
struct releases {
   nir_variable *released; /* GPUVAL_SYNC_NOTHING, or one that releases */
   nir_variable *noted;    /* what the workgroup knows of that already, by atomics of its own */

   /* What there is to release, 0 or 1, by this invocation or those that it is in order with:
    * anything so far, anything before the last barrier that releases, a store behind that. Which
    * atomics alone there were: the low word of their address and 1, 0: none.
    * NULL: whatever there was, it counts as released.
    */
   nir_variable *accessed, *has_own, *stored;
   nir_variable *word, *own_word;
};

/* What releases::word is of an atomic at @address */
static nir_def *
get_word(nir_builder *b, nir_def *address)
{
   return nir_ior_imm(b, nir_unpack_64_2x32_split_x(b, address), 1);
}

/* A lock is taken, a barrier comes behind that, the holder stores something and gives the lock
 * back without a barrier: nothing of the holder's own came before the barrier but what was done to
 * the lock. What it has acquired of others it hands on all the same.
 */
static nir_def *
hand_on(nir_builder *b, const struct releases *releases, nir_def *released, nir_def *address)
{
   if (!releases->accessed)
      return released;

   nir_def *word = get_word(b, address);
   nir_def *own_word = nir_load_var(b, releases->own_word);
   nir_def *is_none = nir_ior(b, nir_ieq_imm(b, own_word, 0), nir_ieq(b, own_word, word));
   nir_def *is_late = nir_iand(b, nir_ine_imm(b, nir_load_var(b, releases->stored), 0),
                               nir_ieq_imm(b, nir_load_var(b, releases->has_own), 0));
   nir_def *hands_on =
      nir_iand(b, nir_iand(b, is_none, is_late), nir_ieq_imm(b, released, GPUVAL_SYNC_RELEASE));
   return nir_bcsel(b, hands_on, nir_imm_int(b, GPUVAL_SYNC_HAND_ON), released);
}

static void
set(nir_builder *b, nir_variable *var, uint32_t value)
{
   nir_store_var(b, var, nir_imm_int(b, value), 0x1);
}

static void
add(nir_builder *b, nir_variable *var, nir_def *value)
{
   nir_store_var(b, var, nir_ior(b, nir_load_var(b, var), value), 0x1);
}

/* At the barrier that releases */
static void
take_own(nir_builder *b, const struct releases *releases)
{
   if (!releases->accessed)
      return;
   add(b, releases->has_own, nir_load_var(b, releases->accessed));
   nir_store_var(b, releases->own_word, nir_load_var(b, releases->word), 0x1);
   set(b, releases->stored, 0);
}

/* Those of one word are told apart from all other accesses. */
static void
note_atomic(nir_builder *b, const struct releases *releases, nir_def *address)
{
   if (!releases->accessed)
      return;
   nir_def *word = get_word(b, address);
   nir_def *before = nir_load_var(b, releases->word);
   nir_def *is_other = nir_iand(b, nir_ine_imm(b, before, 0), nir_ine(b, before, word));
   add(b, releases->accessed, nir_b2i32(b, is_other));
   nir_store_var(b, releases->word, word, 0x1);
}

/* Behind what orders invocations of a workgroup, what others did is released with this one. */
static void
note_others(nir_builder *b, const struct releases *releases)
{
   set(b, releases->accessed, 1);
   set(b, releases->has_own, 1);
}

static void
note_access(nir_builder *b, const struct releases *releases, const struct gpuval_access *access)
{
   switch (access->type) {
   case GPUVAL_ACCESS_BUFFER:
   case GPUVAL_ACCESS_TEXEL_BUFFER:
   case GPUVAL_ACCESS_IMAGE:
   case GPUVAL_ACCESS_TEXTURE:
   case GPUVAL_ACCESS_ADDRESS:
   case GPUVAL_ACCESS_RAYS:
      set(b, releases->accessed, 1);
      if (access->op == GPUVAL_OP_STORE)
         set(b, releases->stored, 1);
      break;
   default:
      break;
   }
}

static void
order_own_atomic(struct gpuval_sync_pass *pass, const struct gpuval_access *access,
                 const struct releases *releases)
{
   nir_builder *b = &pass->state->b;

   if (access->op == GPUVAL_OP_LOAD)
      return;
   b->cursor = nir_before_instr(access->instr);
   nir_def *op = nir_umin(b, nir_load_var(b, releases->released),
                          nir_imm_int(b, GPUVAL_SYNC_RELEASE_WORKGROUP));
   nir_def *is_new = nir_ult(b, nir_load_var(b, releases->noted), op);
   nir_store_var(b, releases->noted, op, 0x1);
   emit_order(pass, nir_bcsel(b, is_new, op, nir_imm_int(b, GPUVAL_SYNC_NOTHING)),
              nir_imm_int64(b, 0));
}

static void
order_atomic(struct gpuval_sync_pass *pass, const struct gpuval_access *access,
             const struct releases *releases)
{
   nir_builder *b = &pass->state->b;

   b->cursor = nir_before_instr(access->instr);
   nir_def *address = atomic_address(pass, access);
   if (access->op != GPUVAL_OP_LOAD) {
      nir_def *released = nir_load_var(b, releases->released);
      emit_order(pass, hand_on(b, releases, released, address), address);
   }
   note_atomic(b, releases, address);
   if (access->op != GPUVAL_OP_STORE) {
      b->cursor = nir_after_instr(access->instr);
      emit_order(pass, nir_imm_int(b, GPUVAL_SYNC_FIND), address);
   }
}

static bool
has_semantics(const struct gpuval_access *barrier, nir_memory_semantics semantics)
{
   return nir_intrinsic_memory_semantics(nir_instr_as_intrinsic(barrier->instr)) & semantics;
}

static void
order_barrier(struct gpuval_sync_pass *pass, const struct gpuval_access *access,
              const struct releases *releases)
{
   nir_builder *b = &pass->state->b;
   const enum gpuval_sync_order op = get_release(pass, access);

   b->cursor = nir_after_instr(access->instr);
   if (has_semantics(access, NIR_MEMORY_RELEASE)) {
      nir_def *before = nir_load_var(b, releases->released);
      nir_store_var(b, releases->released, nir_umax(b, before, nir_imm_int(b, op)), 0x1);
      take_own(b, releases);
   }
   if (has_semantics(access, NIR_MEMORY_ACQUIRE))
      emit_order(pass, nir_imm_int(b, op - GPUVAL_SYNC_RELEASE + GPUVAL_SYNC_ACQUIRE),
                 nir_imm_int64(b, 0));
}

/* Any atomic may be the flag, the ticket, or the lock. */
static bool
may_order(const struct gpuval_access *access)
{
   if (!access->is_atomic || access->op == GPUVAL_OP_NONE)
      return false;

   switch (access->type) {
   case GPUVAL_ACCESS_BUFFER:
      return access->is_described && !access->buffer.size;
   case GPUVAL_ACCESS_ADDRESS:
   case GPUVAL_ACCESS_TEXEL_BUFFER:
   case GPUVAL_ACCESS_IMAGE:
   case GPUVAL_ACCESS_SHARED:
   case GPUVAL_ACCESS_TASK_PAYLOAD:
      return true;
   default:
      return false;
   }
}

static nir_variable *
create_op(struct gpuval_sync_pass *pass, const char *name)
{
   nir_builder at_top = nir_builder_at(nir_before_impl(pass->state->b.impl));
   nir_variable *var = nir_local_variable_create(pass->state->b.impl, glsl_uint_type(), name);

   nir_store_var(&at_top, var, nir_imm_int(&at_top, GPUVAL_SYNC_NOTHING), 0x1);
   return var;
}

static void
find_order(struct gpuval_sync_pass *pass)
{
   bool has_barriers = false, has_atomics = false, has_subgroups = false;

   gpuval_nir_foreach_access(pass->state, access)
   {
      has_atomics |= may_order(access);
      if (!orders_buffers(pass, access))
         continue;
      has_barriers = true;
      has_subgroups |= get_release(pass, access) == GPUVAL_SYNC_RELEASE_SUBGROUP;
   }
   pass->has_order = has_barriers && has_atomics;
   pass->has_subgroups |= pass->has_order && has_subgroups;
}

/* Texels of several images may have one number, and atomics on shared memory order others of the
 * workgroup that there is no telling of.
 */
static bool
knows_own(const struct gpuval_sync_pass *pass)
{
   gpuval_nir_foreach_access(pass->state, access)
   {
      if (may_order(access) && access->type != GPUVAL_ACCESS_BUFFER &&
          access->type != GPUVAL_ACCESS_ADDRESS)
         return false;
   }
   return true;
}

static void
note_own(struct gpuval_sync_pass *pass, const struct gpuval_access *access,
         const struct releases *releases)
{
   nir_builder *b = &pass->state->b;

   b->cursor = nir_before_instr(access->instr);
   if (access->type == GPUVAL_ACCESS_BARRIER) {
      const nir_intrinsic_instr *barrier = nir_instr_as_intrinsic(access->instr);
      if (nir_intrinsic_execution_scope(barrier) >= SCOPE_SUBGROUP ||
          (has_semantics(access, NIR_MEMORY_ACQUIRE) &&
           get_release(pass, access) != GPUVAL_SYNC_RELEASE))
         note_others(b, releases);
   } else if (!may_order(access)) {
      note_access(b, releases, access);
   }
}

void
gpuval_sync_instrument_order(struct gpuval_sync_pass *pass)
{
   struct gpuval_nir_state *state = pass->state;

   gpuval_sync_context(pass);
   struct releases releases = {
      create_op(pass, "gpuval released"),
      create_op(pass, "gpuval noted"),
   };
   if (knows_own(pass)) {
      releases.accessed = create_op(pass, "gpuval accessed");
      releases.has_own = create_op(pass, "gpuval has own");
      releases.stored = create_op(pass, "gpuval stored");
      releases.word = create_op(pass, "gpuval word");
      releases.own_word = create_op(pass, "gpuval own word");
   }
   gpuval_nir_foreach_access(state, access)
   {
      if (releases.accessed)
         note_own(pass, access, &releases);
      if (orders_buffers(pass, access)) {
         order_barrier(pass, access, &releases);
      } else if (may_order(access)) {
         if (is_of_workgroup(access))
            order_own_atomic(pass, access, &releases);
         else
            order_atomic(pass, access, &releases);
      }
   }
}

static bool
is_acquire(const struct gpuval_sync_pass *pass, const struct gpuval_access *access)
{
   return gpuval_nir_is_fence(pass->state, access, get_modes(pass), SCOPE_SUBGROUP) &&
          has_semantics(access, NIR_MEMORY_ACQUIRE);
}

static bool
lets_others_in(const struct gpuval_access *access)
{
   return access->type == GPUVAL_ACCESS_BARRIER &&
          nir_intrinsic_execution_scope(nir_instr_as_intrinsic(access->instr)) >= SCOPE_SUBGROUP;
}

/* The filter does not know what atomics order (a flag, a ticket, a lock, the last block).
 * Who has accessed something by an atomic that reads, and then passed a memory barrier, may
 * come after anything of its command; so may those who have met it at a barrier since. What
 * they access from then on is not looked at.
 */
static void
find_acquired(struct gpuval_sync_pass *pass)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;
   bool has_fences = false, has_atomics = false;

   gpuval_nir_foreach_access(state, access)
   {
      has_fences |= is_acquire(pass, access);
      has_atomics |= access->is_atomic;
   }
   if (!has_fences || !has_atomics)
      return;

   nir_variable *found = nir_local_variable_create(b->impl, glsl_bool_type(), "gpuval found");
   pass->acquired = nir_local_variable_create(b->impl, glsl_bool_type(), "gpuval acquired");
   nir_builder at_top = nir_builder_at(nir_before_impl(b->impl));
   nir_store_var(&at_top, found, nir_imm_false(&at_top), 0x1);
   nir_store_var(&at_top, pass->acquired, nir_imm_false(&at_top), 0x1);
   gpuval_nir_foreach_access(state, access)
   {
      b->cursor = nir_after_instr(access->instr);
      /* Barriers are of the atomic's instruction where it has an order. */
      if (lets_others_in(access))
         nir_store_var(b, pass->acquired, nir_imm_true(b), 0x1);
      else if (is_acquire(pass, access))
         nir_store_var(b, pass->acquired,
                       nir_ior(b, nir_load_var(b, pass->acquired), nir_load_var(b, found)), 0x1);
      else if (access->is_atomic && access->op != GPUVAL_OP_NONE && access->op != GPUVAL_OP_STORE)
         nir_store_var(b, found, nir_imm_true(b), 0x1);
   }
}

/* Memory barriers of the device are visibility operations: what has been made available, by one in
 * the shader that has stored, and executed before, may be read behind it. To the filter it does not
 * matter what was executed before, so that one beside which a barrier() stands is taken for a part
 * of that.
 */
static nir_variable_mode
makes_visible(const struct gpuval_sync_pass *pass, const struct gpuval_access *access)
{
   if (access->type != GPUVAL_ACCESS_BARRIER)
      return 0;

   const nir_intrinsic_instr *barrier = nir_instr_as_intrinsic(access->instr);
   const nir_variable_mode modes = nir_intrinsic_memory_modes(barrier);
   if (nir_intrinsic_memory_scope(barrier) < SCOPE_QUEUE_FAMILY ||
       !(nir_intrinsic_memory_semantics(barrier) & NIR_MEMORY_ACQUIRE) ||
       (!pass->shadow && !gpuval_nir_is_fence(pass->state, access, modes, SCOPE_QUEUE_FAMILY)))
      return 0;
   return modes & (BUFFER_MODES | nir_var_image);
}

static bool
is_passed_by_all(const struct gpuval_access *barrier)
{
   return barrier->instr->block->cf_node.parent->type == nir_cf_node_function;
}

void
gpuval_sync_note_barrier(struct gpuval_sync_pass *pass, const struct gpuval_access *access)
{
   if (is_passed_by_all(access))
      pass->visible |= makes_visible(pass, access);
}

static void
set_visible(nir_builder *b, nir_variable **visible)
{
   if (!*visible) {
      nir_builder at_top = nir_builder_at(nir_before_impl(b->impl));
      *visible = nir_local_variable_create(b->impl, glsl_bool_type(), "gpuval visible");
      nir_store_var(&at_top, *visible, nir_imm_false(&at_top), 0x1);
   }
   nir_store_var(b, *visible, nir_imm_true(b), 0x1);
}

/* Barriers that only some invocations come past: variables say which. */
static void
find_visible(struct gpuval_sync_pass *pass)
{
   nir_builder *b = &pass->state->b;

   gpuval_nir_foreach_access(pass->state, access)
   {
      const nir_variable_mode modes = makes_visible(pass, access);
      if (!modes || is_passed_by_all(access))
         continue;
      b->cursor = nir_after_instr(access->instr);
      if (modes & BUFFER_MODES)
         set_visible(b, &pass->visible_buffers);
      if (modes & nir_var_image)
         set_visible(b, &pass->visible_images);
   }
}

/* The kinds of memory that @access is to: a barrier for any of them is for it. Barriers of shaders
 * are for no structures.
 */
static nir_variable_mode
get_access_modes(const struct gpuval_access *access)
{
   switch (access->type) {
   case GPUVAL_ACCESS_IMAGE:
      return nir_var_image;
   case GPUVAL_ACCESS_TEXEL_BUFFER:
      return BUFFER_MODES | nir_var_image;
   case GPUVAL_ACCESS_RAYS:
      return 0;
   default:
      return BUFFER_MODES;
   }
}

bool
gpuval_sync_is_visible(const struct gpuval_sync_pass *pass, const struct gpuval_access *access,
                       nir_def **dynamic)
{
   nir_builder *b = &pass->state->b;
   const nir_variable_mode modes = get_access_modes(access);

   if (pass->visible & modes)
      return true;
   if (modes & BUFFER_MODES && pass->visible_buffers)
      *dynamic = nir_load_var(b, pass->visible_buffers);
   if (modes & nir_var_image && pass->visible_images) {
      nir_def *visible = nir_load_var(b, pass->visible_images);
      *dynamic = *dynamic ? nir_ior(b, *dynamic, visible) : visible;
   }
   return false;
}

void
gpuval_sync_find_order(struct gpuval_sync_pass *pass)
{
   find_visible(pass);
   if (pass->shadow)
      find_order(pass);
   else
      find_acquired(pass);
}
