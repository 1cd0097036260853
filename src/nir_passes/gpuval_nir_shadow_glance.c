/* SPDX-License-Identifier: MIT */

/* The exact engine on GPUs, before its first look: most loads of what is loaded often find that
 * several workgroups of this command have loaded all of it before, and have nothing to add. One
 * load of the block's cell, which may be an old one, says so. Where a block is split, the half that
 * has its readers says which of its words that is true of.
 */

#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval_nir_shadow.h"

#define NUM_WORDS (GPUVAL_SHADOW_BLOCK / GPUVAL_SHADOW_WORD)

/* The words of its block that @size bytes at @address are, as bits; more bits than a block has
 * words where they are not all in one, or not whole.
 */
static nir_def *
get_words(nir_builder *b, nir_def *address, nir_def *size)
{
   nir_def *lo = nir_unpack_64_2x32_split_x(b, address);
   nir_def *first = gpuval_shadow_bits(b, lo, 2, 2);
   nir_def *count = nir_ushr_imm(b, size, 2);
   nir_def *words = nir_iadd_imm(b, nir_ishl(b, nir_imm_int(b, 1), count), -1);
   nir_def *parts = nir_iand_imm(b, nir_ior(b, lo, size), GPUVAL_SHADOW_WORD - 1);

   return nir_bcsel(b, nir_ieq_imm(b, parts, 0), nir_ishl(b, words, first), nir_imm_int(b, -1));
}

static nir_def *
is_of_several_groups(nir_builder *b, const struct gpuval_shadow_self *self,
                     struct gpuval_shadow_half readers)
{
   nir_def *alike =
      nir_ult_imm(b, nir_ixor(b, readers.hi, self->tag), 1u << GPUVAL_SHADOW_CLASS_SHIFT);

   return nir_iand(
      b, alike,
      nir_uge_imm(b, readers.lo, (uint32_t)GPUVAL_SHADOW_WORKGROUPS << GPUVAL_SHADOW_SHARE_SHIFT));
}

void
gpuval_nir_create_near(nir_builder *at_top, struct gpuval_nir_near *near)
{
   near->begin = nir_local_variable_create(at_top->impl, glsl_uint64_t_type(), "near_begin");
   near->size = nir_local_variable_create(at_top->impl, glsl_uint_type(), "near_size");
   near->blocks = nir_local_variable_create(at_top->impl, glsl_uint64_t_type(), "near_blocks");
   nir_store_var(at_top, near->begin, nir_imm_int64(at_top, 0), 0x1);
   nir_store_var(at_top, near->size, nir_imm_int(at_top, 0), 0x1);
   nir_store_var(at_top, near->blocks, nir_imm_int64(at_top, 0), 0x1);
}

static void
set_near(nir_builder *b, nir_def *area, const struct gpuval_nir_near *near)
{
   nir_def *begin_size = gpuval_load_fixed(b, area, 8, 2, 64);
   nir_def *blocks = gpuval_load_fixed(
      b, nir_iadd_imm(b, area, offsetof(struct gpuval_shadow_area, blocks)), 8, 1, 64);
   nir_def *size = nir_channel(b, begin_size, 1);
   nir_def *is_large = nir_ine_imm(b, nir_unpack_64_2x32_split_y(b, size), 0);

   nir_store_var(b, near->begin, nir_channel(b, begin_size, 0), 0x1);
   nir_store_var(b, near->size,
                 nir_bcsel(b, is_large, nir_imm_int(b, -1), nir_unpack_64_2x32_split_x(b, size)),
                 0x1);
   nir_store_var(b, near->blocks, blocks, 0x1);
}

/* Areas are of whole blocks: what begins in one and is in one block is all in it. */
static nir_def *
is_near(nir_builder *b, const struct gpuval_nir_near *near, nir_def *address)
{
   nir_def *distance = nir_isub(b, address, nir_load_var(b, near->begin));
   nir_def *lo = nir_unpack_64_2x32_split_x(b, distance);
   nir_def *hi = nir_unpack_64_2x32_split_y(b, distance);

   return nir_iand(b, nir_ieq_imm(b, hi, 0), nir_ult(b, lo, nir_load_var(b, near->size)));
}

void
gpuval_nir_come_near(nir_builder *b, const struct gpuval_nir_shadow_command *command,
                     nir_def *address, nir_variable *last_area, const struct gpuval_nir_near *near)
{
   nir_push_if(b, nir_inot(b, is_near(b, near, address)));
   {
      nir_def *area = gpuval_shadow_find_area(b, command->words, address);

      nir_store_var(b, last_area, area, 0x1);
      set_near(b, area, near);
   }
   nir_pop_if(b, NULL);
}

nir_def *
gpuval_nir_glance(nir_builder *b, const struct gpuval_nir_driver *driver,
                  const struct gpuval_nir_access_params *params, const struct gpuval_nir_near *near,
                  nir_def *active)
{
   struct gpuval_shadow_self self = gpuval_shadow_make_self(b, driver, params->command, params);
   const struct gpuval_shadow_cells cells = {.blocks = nir_load_var(b, near->blocks)};
   nir_def *has_cell = is_near(b, near, params->address);
   nir_def *cell = nir_bcsel(b, has_cell, gpuval_shadow_block_cell(b, &cells, params->address),
                             params->command->layout);
   nir_def *words = nir_build_load_global(b, 4, 32, cell, .align_mul = GPUVAL_SHADOW_CELL_SIZE);
   struct gpuval_shadow_half writer = {nir_channel(b, words, 0), nir_channel(b, words, 1)};
   struct gpuval_shadow_half readers = {nir_channel(b, words, 2), nir_channel(b, words, 3)};

   nir_def *wanted = get_words(b, params->address, params->size);
   nir_def *is_split = nir_ieq_imm(b, writer.hi, GPUVAL_SHADOW_BYTES);
   nir_def *missing = nir_iand(b, wanted, nir_inot(b, readers.lo));
   nir_def *covered =
      nir_bcsel(b, is_split, nir_ieq_imm(b, missing, 0), nir_ult(b, writer.hi, self.ordered));

   covered = nir_iand(b, covered, is_of_several_groups(b, &self, readers));
   covered = nir_iand(b, covered, nir_ult_imm(b, wanted, 1u << NUM_WORDS));
   return nir_ior(b, nir_iand(b, covered, has_cell), nir_inot(b, active));
}

static nir_def *
load_loads(nir_builder *b, nir_def *address, unsigned access)
{
   return nir_build_load_global(b, 2, 32, address, .align_mul = sizeof(struct gpuval_shadow_loads),
                                .access = (enum gl_access_qualifier)(ACCESS_COHERENT | access));
}

/* Bits of groups, or 0 where @words are not about this command and this shader */
static nir_def *
get_groups(nir_builder *b, const struct gpuval_nir_loads *loads, nir_def *words)
{
   nir_def *groups = nir_ixor(b, nir_channel(b, words, 0), loads->command);
   nir_def *is_mine = nir_iand(b, nir_ult_imm(b, groups, 1u << GPUVAL_SHADOW_LOAD_GROUPS),
                               nir_ieq(b, nir_channel(b, words, 1), loads->entry));

   return nir_bcsel(b, is_mine, groups, nir_imm_int(b, 0));
}

struct gpuval_nir_loads
gpuval_nir_find_loads(nir_builder *b, const struct gpuval_nir_shadow_command *command,
                      nir_def *entry)
{
   const unsigned stride = sizeof(struct gpuval_shadow_loads) * GPUVAL_SHADOW_LOAD_STAGES;
   const unsigned shift = GPUVAL_SHADOW_COMMAND_SHIFT - util_logbase2(stride);
   const unsigned first = offsetof(struct gpuval_shadow_layout, loads) +
                          sizeof(struct gpuval_shadow_loads) * b->shader->info.stage;
   static_assert(GPUVAL_SHADOW_LOAD_GROUPS == GPUVAL_SHADOW_COMMAND_SHIFT, "one word has both");

   assert(b->shader->info.stage < GPUVAL_SHADOW_LOAD_STAGES);
   nir_def *offset = nir_iand_imm(b, nir_ushr_imm(b, command->command, shift),
                                  (GPUVAL_SHADOW_LOAD_COMMANDS - 1) * stride);
   struct gpuval_nir_loads loads = {
      .address = nir_iadd_imm(b, nir_iadd(b, command->layout, nir_u2u64(b, offset)), first),
      .command = command->command,
      .entry = entry,
   };
   loads.groups = get_groups(b, &loads, load_loads(b, loads.address, ACCESS_CAN_REORDER));
   return loads;
}

/* Of those that do so at once, one has its way. */
void
gpuval_nir_note_loads(nir_builder *b, const struct gpuval_nir_loads *loads, unsigned group)
{
   nir_push_if(b, gpuval_shadow_is_first_s(b, nir_load_subgroup_invocation(b)));
   {
      nir_def *words = load_loads(b, loads->address, 0);
      nir_def *groups = get_groups(b, loads, words);
      nir_def *wanted = nir_ior_imm(b, groups, BITFIELD_BIT(group));

      nir_push_if(b, nir_ine(b, groups, wanted));
      nir_def *noted = nir_pack_64_2x32_split(b, nir_ior(b, wanted, loads->command), loads->entry);
      nir_global_atomic_swap(b, 64, loads->address, nir_pack_64_2x32(b, words), noted,
                             .atomic_op = nir_atomic_op_cmpxchg);
      nir_pop_if(b, NULL);
   }
   nir_pop_if(b, NULL);
}

void
gpuval_shadow_note_loaded(nir_builder *b, const struct gpuval_shadow_self *self,
                          const struct gpuval_shadow_cells *cells, nir_def *address,
                          struct gpuval_shadow_half writer, struct gpuval_shadow_half readers,
                          nir_def *is_able, struct gpuval_shadow_half said)
{
   nir_def *is_past = nir_ult(b, writer.hi, self->ordered);
   nir_def *notes = nir_iand(b, nir_iand(b, is_able, self->is_read),
                             nir_iand(b, is_past, gpuval_shadow_is_everybody(b, self, readers)));
   nir_def *lo = nir_unpack_64_2x32_split_x(b, address);
   nir_def *word = nir_ishl(b, nir_imm_int(b, 1), gpuval_shadow_bits(b, lo, 2, 2));
   nir_def *says = is_of_several_groups(b, self, said);
   nir_def *has = nir_iand(b, says, nir_ine_imm(b, nir_iand(b, said.lo, word), 0));

   nir_push_if(b, nir_iand(b, notes, nir_inot(b, has)));
   {
      nir_def *half =
         nir_iadd_imm(b, gpuval_shadow_block_cell(b, cells, address), GPUVAL_SHADOW_READERS);

      nir_push_if(b, says);
      {
         nir_global_atomic(b, 32, half, word, .atomic_op = nir_atomic_op_ior);
      }
      nir_push_else(b, NULL);
      {
         nir_def *share =
            nir_ior_imm(b, word, (uint32_t)GPUVAL_SHADOW_WORKGROUPS << GPUVAL_SHADOW_SHARE_SHIFT);
         gpuval_shadow_store_half(b, half, 0, (struct gpuval_shadow_half){share, self->tag});
      }
      nir_pop_if(b, NULL);
   }
   nir_pop_if(b, NULL);
}

void
gpuval_shadow_forget_loaded(nir_builder *b, const struct gpuval_shadow_self *self,
                            const struct gpuval_shadow_cells *cells, nir_def *address)
{
   struct gpuval_shadow_half nobody = {nir_imm_int(b, 0), nir_imm_int(b, 0)};

   nir_push_if(b, nir_inot(b, self->is_read));
   gpuval_shadow_store_half(b, gpuval_shadow_block_cell(b, cells, address), GPUVAL_SHADOW_READERS,
                            nobody);
   nir_pop_if(b, NULL);
}

/* Operations that are looked at for one load. Their results may be used often, as those of hash
 * functions, so that ways to what they depend on are many more than operations.
 */
#define MAX_OPERATIONS 64

static unsigned
get_dependences(nir_scalar value, unsigned *budget)
{
   unsigned found = 0;

   value = nir_scalar_chase_movs(value);
   if (nir_scalar_is_const(value))
      return 0;
   if (!*budget)
      return GPUVAL_NIR_DEPENDS_ON_OTHERS;
   if (nir_scalar_is_alu(value)) {
      const nir_op op = nir_scalar_alu_op(value);
      const unsigned num_inputs = nir_op_infos[op].num_inputs;

      (*budget)--;
      if (op != nir_op_iadd && op != nir_op_imul && op != nir_op_ishl && op != nir_op_u2u64 &&
          op != nir_op_imad)
         found |= GPUVAL_NIR_IS_FOLDED;
      for (unsigned i = 0; i < num_inputs; i++) {
         /* A component of a vector cannot be told from the others of it. */
         found |= nir_op_infos[op].input_sizes[i] > 1
                     ? GPUVAL_NIR_DEPENDS_ON_OTHERS
                     : get_dependences(nir_scalar_chase_alu_src(value, i), budget);
      }
      return found;
   }
   if (nir_def_instr(value.def)->type == nir_instr_type_phi)
      return GPUVAL_NIR_DEPENDS_ON_TURN;
   if (!nir_scalar_is_intrinsic(value))
      return GPUVAL_NIR_DEPENDS_ON_OTHERS;
   switch (nir_scalar_intrinsic_op(value)) {
   case nir_intrinsic_load_global_invocation_id:
   case nir_intrinsic_load_global_invocation_index:
   case nir_intrinsic_load_local_invocation_id:
   case nir_intrinsic_load_local_invocation_index:
      return GPUVAL_NIR_DEPENDS_ON_INVOCATION;
   case nir_intrinsic_load_vulkan_descriptor:
   case nir_intrinsic_load_workgroup_id:
   case nir_intrinsic_load_workgroup_size:
   case nir_intrinsic_load_num_workgroups:
   case nir_intrinsic_load_push_constant:
      return 0;
   default:
      return GPUVAL_NIR_DEPENDS_ON_OTHERS;
   }
}

unsigned
gpuval_nir_find_dependences(nir_scalar value)
{
   unsigned budget = MAX_OPERATIONS;
   return get_dependences(value, &budget);
}
