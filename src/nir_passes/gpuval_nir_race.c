/* SPDX-License-Identifier: MIT */

/* The check of races has to know what a command uses, and only that: an image that a shader
 * could have used, and has not, is in no race. So each access to an image sets a bit, one for
 * each use of a descriptor whose index is a constant, in memory that the driver reads when the
 * command has run (core/race/gpuval_race.h). The driver says which bits it wants.
 *
 * Buffers are the business of the check sync, which knows their bytes, and so are texels of storage
 * images where the driver says where these are. Of what else uses a storage image sync asks this.
 */

#include "gpuval_nir_private.h"

struct pass {
   struct gpuval_nir_state *state;
   const struct gpuval_nir_driver *driver;
   nir_def *race_uses; /* once it is asked for */
   const nir_block *block;
   uint32_t marked; /* bits that an access in @block before has marked */

   /* Memory barriers of the device, for images */
   bool has_acquired;
   unsigned num_releases; /* those that are still to come */
};

/* So many uses have their own site; what comes then shares that of the last such use. */
#define MAX_EXACT_USES 24

/* The bit of a use, or -1 */
static int
find_bit(struct pass *pass, const struct gpuval_nir_use *wanted)
{
   const struct gpuval_nir_descriptors *descriptors = pass->driver->descriptors;
   struct util_dynarray *uses = &pass->state->table->uses;
   const uint32_t kind = ~GPUVAL_RACE_USE_SITE_MASK;
   int bit = 0, similar = -1;

   util_dynarray_foreach (uses, struct gpuval_nir_use, known) {
      if (!(known->flags & GPUVAL_USE_RACE))
         continue;
      if (known->required == wanted->required && known->first_slot == wanted->first_slot &&
          known->set == wanted->set) {
         if (known->num_slots == wanted->num_slots)
            return bit;
         if ((known->num_slots & kind) == (wanted->num_slots & kind))
            similar = bit;
      }
      bit++;
   }
   if (bit >= MAX_EXACT_USES && similar >= 0)
      return similar;
   if (bit == (int)descriptors->max_uses)
      return -1;
   util_dynarray_append_typed(uses, struct gpuval_nir_use, *wanted);
   return bit;
}

/* Formats of stencil are read as integers, those of depth as numbers. */
static uint32_t
get_required(const struct gpuval_nir_use *use)
{
   return use->required &
          (GPUVAL_OFFERS_RESOURCES | GPUVAL_OFFERS_FLOAT | GPUVAL_OFFERS_SINT | GPUVAL_OFFERS_UINT);
}

static bool
is_fence(const struct gpuval_access *access, nir_memory_semantics semantics)
{
   if (access->type != GPUVAL_ACCESS_BARRIER)
      return false;

   const nir_intrinsic_instr *barrier = nir_instr_as_intrinsic(access->instr);
   return nir_intrinsic_memory_scope(barrier) >= SCOPE_QUEUE_FAMILY &&
          nir_intrinsic_memory_modes(barrier) & nir_var_image &&
          nir_intrinsic_memory_semantics(barrier) & semantics;
}

static bool
instrument(struct pass *pass, const struct gpuval_access *access)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;
   struct gpuval_access_use use;

   if ((access->type != GPUVAL_ACCESS_IMAGE && access->type != GPUVAL_ACCESS_TEXTURE) ||
       access->op == GPUVAL_OP_QUERY || access->is_interlocked ||
       !gpuval_nir_find_use(state, access, false, &use) || !(use.nir.flags & GPUVAL_USE_CONSTANT) ||
       use.nir.flags & GPUVAL_USE_VARIABLE)
      return false;

   /* Input attachments are loaded, and drivers make fetches of that. */
   bool is_input = use.nir.required & GPUVAL_OFFERS_INPUT_ATTACHMENT;
   enum gpuval_op op = is_input ? GPUVAL_OP_LOAD : access->spirv_op;
   const struct gpuval_site site = {
      .kind = GPUVAL_KIND_RESOURCE_RACE,
      .op = op,
      .spirv_offset = gpuval_nir_spirv_offset(state, access->instance),
      .set = use.set,
      .binding = use.binding,
   };
   const uint32_t number = gpuval_nir_add_site(state, &site);
   bool is_write = access->op == GPUVAL_OP_STORE || access->op == GPUVAL_OP_ATOMIC;
   bool has_texels = access->type == GPUVAL_ACCESS_IMAGE && !is_input &&
                     state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_SYNC);
   const struct gpuval_nir_use wanted = {
      .required = get_required(&use.nir),
      .first_slot = use.nir.first_slot,
      .num_slots = number | (is_write ? GPUVAL_RACE_USE_IS_WRITE : 0) |
                   (has_texels ? GPUVAL_RACE_USE_HAS_TEXELS : 0) |
                   (access->is_atomic ? GPUVAL_RACE_USE_IS_ATOMIC : 0) |
                   (pass->has_acquired ? GPUVAL_RACE_USE_ACQUIRES : 0) |
                   (pass->num_releases ? GPUVAL_RACE_USE_RELEASES : 0) |
                   op << GPUVAL_RACE_USE_OP_SHIFT,
      .set = use.nir.set,
      .flags = GPUVAL_USE_RACE | GPUVAL_USE_CONSTANT,
   };
   int bit = find_bit(pass, &wanted);
   if (bit < 0)
      return false;

   if (pass->block != access->block)
      pass->marked = 0;
   pass->block = access->block;
   if (pass->marked & BITFIELD_BIT(bit))
      return false;
   if (!access->bad)
      pass->marked |= BITFIELD_BIT(bit);

   if (!pass->race_uses) {
      nir_builder at_top = nir_builder_at(nir_before_impl(b->impl));
      pass->race_uses = pass->driver->descriptors->race_uses(pass->driver, &at_top);
   }
   b->cursor = nir_before_instr(access->instr);
   nir_def *condition = nir_ine_imm(b, nir_iand_imm(b, pass->race_uses, BITFIELD_BIT(bit)), 0);
   if (access->bad)
      condition = nir_iand(b, condition, nir_inot(b, access->bad));

   const struct gpuval_nir_entry entry = {
      .set = use.set,
      .site = number,
      .instance = access->instance,
   };
   gpuval_nir_report(state, &(struct gpuval_nir_report){
                               .failed = condition,
                               .detail = nir_imm_ivec4(b, b->shader->info.stage * sizeof(uint32_t),
                                                       BITFIELD_BIT(bit), 0, 0),
                               .set = GPUVAL_REPORT_USED,
                               .first_entry = gpuval_nir_add_entry(state, &entry),
                               .num_entries = 1,
                            });
   return true;
}

bool
gpuval_nir_instrument_race(struct gpuval_nir_state *state)
{
   const struct gpuval_nir_driver *driver = state->options->driver;
   struct pass pass = {.state = state, .driver = driver};
   bool progress = false;

   const uint32_t checks = BITFIELD_BIT(GPUVAL_CHECK_RACE) | BITFIELD_BIT(GPUVAL_CHECK_SYNC);
   if (!(state->options->checks & checks) || !driver->descriptors ||
       !driver->descriptors->race_uses || mesa_shader_stage_is_rt(state->b.shader->info.stage))
      return false;

   gpuval_nir_foreach_access(state, access) pass.num_releases +=
      is_fence(access, NIR_MEMORY_RELEASE);
   gpuval_nir_foreach_access(state, access)
   {
      pass.has_acquired |= is_fence(access, NIR_MEMORY_ACQUIRE);
      pass.num_releases -= is_fence(access, NIR_MEMORY_RELEASE);
      progress |= instrument(&pass, access);
   }
   return progress;
}

void
gpuval_nir_build_used(nir_builder *b, const struct gpuval_nir_driver *driver,
                      const struct gpuval_nir_report_params *params)
{
   nir_def *address = nir_iadd(b, driver->used_address(driver, b), nir_u2u64(b, params->detail[0]));
   nir_def *bit = params->detail[1];

   /* Mostly it has been marked, and an atomic costs. */
   nir_push_if(b, nir_ieq_imm(b, nir_iand(b, gpuval_load_global(b, address, 4, 1, 32), bit), 0));
   nir_global_atomic(b, 32, address, bit, .atomic_op = nir_atomic_op_ior);
   nir_pop_if(b, NULL);
}
