/* SPDX-License-Identifier: MIT */

/* What @sync_gpuval means to the exact engine: looks at the cells of an access,
 * reports it if it is a hazard, and leaves its own mark. base/gpuval_shadow.h has
 * the layout.
 *
 *    for each word of the access:
 *       if nobody has touched it since what everything is ordered after, or the
 *       cell says already what this access would write:
 *          write it if need be, and see whether it is still there
 *       else or if not: the long way
 *
 * The long way decides for each half of the cell whether it is ordered before this
 * access, and works on the cells of the bytes where the word has these.
 *
 * Cells are read and written without atomics. Invocations that run at once may take
 * a mark from each other, and then a hazard is missed; but what a cell says was true,
 * so none is invented. Those of one instruction that run in lockstep meet when they
 * look whether their mark is still there.
 *
 * On GPUs an access to all of a block looks at the block's cell first, the same way:
 * gpuval_nir_shadow_blocks.c.
 */

#include "gpuval_nir_shadow.h"
#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval/src/base/gpuval_order.h"

#define party gpuval_shadow_half

static nir_def *
command_word(nir_builder *b, const struct gpuval_nir_driver *driver, unsigned bit_size,
             unsigned offset)
{
   return driver->command_data(driver, b, bit_size, offset);
}

void
gpuval_shadow_find_order(nir_builder *b, struct gpuval_shadow_self *self, nir_def *address)
{
   nir_variable *range_var = nir_local_variable_create(b->impl, glsl_uint_type(), "range");
   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
   nir_store_var(b, range_var, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);

   nir_push_if(b, nir_ine_imm(b, self->order, 0));
   {
      nir_def *count = gpuval_load_global(b, self->order, 4, 1, 32);
      nir_loop *loop = nir_push_loop(b);
      {
         nir_def *i = nir_load_var(b, i_var);
         nir_break_if(b,
                      nir_uge(b, i, nir_umin(b, count, nir_imm_int(b, GPUVAL_ORDER_MAX_RANGES))));
         nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);
         nir_def *range = nir_iadd_imm(
            b,
            nir_iadd(b, self->order,
                     nir_u2u64(b, nir_imul_imm(b, i, sizeof(struct gpuval_order_range)))),
            offsetof(struct gpuval_order_table, ranges));
         nir_def *ends = gpuval_load_global(b, range, 8, 2, 64);
         nir_def *is_inside = nir_iand(b, nir_uge(b, address, nir_channel(b, ends, 0)),
                                       nir_ult(b, address, nir_channel(b, ends, 1)));
         nir_push_if(b, is_inside);
         nir_store_var(b, range_var, nir_iadd_imm(b, i, 1), 0x1);
         nir_pop_if(b, NULL);
      }
      nir_pop_loop(b, loop);
   }
   nir_pop_if(b, NULL);

   nir_def *index = nir_iadd(b, nir_imul_imm(b, self->class_, 1 + GPUVAL_ORDER_MAX_RANGES),
                             nir_load_var(b, range_var));
   self->row =
      nir_iadd_imm(b,
                   nir_iadd(b, self->order,
                            nir_u2u64(b, nir_imul_imm(b, index, sizeof(struct gpuval_order_row)))),
                   offsetof(struct gpuval_order_table, rows));
   self->serials = gpuval_shadow_load_layout(b, self->layout, 64,
                                             offsetof(struct gpuval_shadow_layout, serials));
}

/* One cell, and once more: those of the same instruction that run in lockstep have left their marks
 * at the same moment, and whose mark is not there any more meets whoever has taken it away. Sets
 * the variable @clean to false if there is a hazard.
 */
static void
look_twice(nir_builder *b, const struct gpuval_shadow_self *self,
           const struct gpuval_shadow_found *found, nir_def *address, nir_def *was_taken,
           nir_variable *clean)
{
   nir_variable *again_var = nir_local_variable_create(b->impl, glsl_bool_type(), "again");
   nir_variable *lo_var = nir_local_variable_create(b->impl, glsl_uint_type(), "left_lo");
   nir_variable *hi_var = nir_local_variable_create(b->impl, glsl_uint_type(), "left_hi");
   nir_store_var(b, again_var, nir_imm_false(b), 0x1);
   nir_store_var(b, lo_var, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, hi_var, nir_imm_int(b, 0), 0x1);

   nir_loop *loop = nir_push_loop(b);
   loop->control = nir_loop_control_dont_unroll;
   {
      nir_def *again = nir_load_var(b, again_var);
      struct party writer, readers;
      gpuval_shadow_load_cell(b, address, &writer, &readers);
      struct party now = gpuval_shadow_select(b, self->is_read, readers, writer);
      nir_def *is_left = nir_iand(b, nir_ieq(b, now.lo, nir_load_var(b, lo_var)),
                                  nir_ieq(b, now.hi, nir_load_var(b, hi_var)));
      nir_break_if(b, nir_iand(b, again, is_left));

      struct party other, stored;
      nir_def *hazard = gpuval_shadow_meet(b, self, &writer, &readers, &other, &stored);
      gpuval_shadow_store_half(b, address, 0, writer);
      gpuval_shadow_store_half(b, address, GPUVAL_SHADOW_READERS, readers);
      gpuval_shadow_remember(b, found, hazard, other, stored, nir_ior(b, was_taken, again));
      nir_store_var(b, clean, nir_iand(b, nir_load_var(b, clean), nir_inot(b, hazard)), 0x1);

      struct party left = gpuval_shadow_select(b, self->is_read, readers, writer);
      nir_store_var(b, lo_var, left.lo, 0x1);
      nir_store_var(b, hi_var, left.hi, 0x1);
      nir_store_var(b, again_var, nir_imm_true(b), 0x1);
      nir_break_if(b, again);
   }
   nir_pop_loop(b, loop);
}

/* One word, any way: @mask says which of its bytes; it begins @skipped bytes behind the access. */
static void
look_closely(nir_builder *b, const struct gpuval_nir_driver *driver,
             const struct gpuval_shadow_self *self, const struct gpuval_shadow_found *found,
             nir_def *cell, nir_def *word, nir_def *mask, nir_def *skipped, nir_def *was_taken)
{
   nir_def *is_whole = nir_ieq_imm(b, mask, BITFIELD_MASK(GPUVAL_SHADOW_WORD));
   nir_def *has_bytes;
   nir_def *bytes =
      gpuval_shadow_find_bytes(b, driver, self->layout, cell, word, is_whole, &has_bytes);

   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "byte");
   nir_variable *clean_var = nir_local_variable_create(b->impl, glsl_bool_type(), "clean");
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, clean_var, nir_imm_true(b), 0x1);
   nir_def *count = nir_bcsel(b, has_bytes, nir_imm_int(b, GPUVAL_SHADOW_WORD), nir_imm_int(b, 1));
   nir_def *has_room = nir_ior(b, nir_inot(b, has_bytes), nir_ine_imm(b, bytes, 0));
   count = nir_bcsel(b, has_room, count, nir_imm_int(b, 0));

   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      nir_break_if(b, nir_uge(b, i, count));
      nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);

      nir_push_if(b, nir_ine_imm(b, nir_iand_imm(b, nir_ushr(b, mask, i), 1), 0));
      {
         nir_def *byte =
            nir_iadd(b, bytes, nir_u2u64(b, nir_imul_imm(b, i, GPUVAL_SHADOW_CELL_SIZE)));
         nir_def *address = nir_bcsel(b, has_bytes, byte, cell);
         if (found->now)
            nir_store_var(b, found->now, nir_iadd(b, skipped, i), 0x1);
         look_twice(b, self, found, address, was_taken, clean_var);
      }
      nir_pop_if(b, NULL);
   }
   nir_pop_loop(b, loop);

   /* Whoever stores all of a word, after all others, has it to itself. */
   nir_def *whole_again =
      nir_iand(b, nir_iand(b, nir_iand(b, has_bytes, has_room), is_whole),
               nir_iand(b, nir_load_var(b, clean_var),
                        nir_inot(b, nir_ior(b, self->is_read, self->is_atomic))));
   nir_push_if(b, whole_again);
   {
      struct party nobody = {nir_imm_int(b, 0), nir_imm_int(b, 0)};
      gpuval_shadow_store_half(b, cell, GPUVAL_SHADOW_READERS, nobody);
      gpuval_shadow_store_half(b, cell, 0, self->mark);
   }
   nir_pop_if(b, NULL);
}

struct gpuval_shadow_decision
gpuval_shadow_decide(nir_builder *b, const struct gpuval_shadow_self *self,
                     const struct gpuval_shadow_look *look, struct party writer,
                     struct party readers)
{
   struct party other = gpuval_shadow_select(b, self->is_read, writer, readers);
   nir_def *knows_writer = gpuval_shadow_take_form(b, look, &writer);
   nir_def *knows_readers = gpuval_shadow_take_form(b, look, &readers);

   nir_def *own_writer = nir_iand(b, knows_writer, gpuval_shadow_is_own(b, self, writer));
   nir_def *own_readers = nir_iand(b, knows_readers, gpuval_shadow_is_own(b, self, readers));
   nir_def *writer_past = nir_ior(b, nir_ult(b, writer.hi, self->ordered), own_writer);
   nir_def *readers_past = nir_ior(b, nir_ult(b, readers.hi, self->ordered), own_readers);

   /* The half that this access is about */
   struct party mine = gpuval_shadow_select(b, self->is_read, readers, writer);
   nir_def *knows_mine = nir_bcsel(b, self->is_read, knows_readers, knows_writer);
   struct party joined;
   nir_def *joins =
      nir_iand(b, nir_iand(b, look->may_join, knows_mine),
               gpuval_shadow_joins(b, self, mine,
                                   nir_bcsel(b, self->is_read, own_readers, own_writer), &joined));
   nir_def *covered = nir_ior(b, nir_iand(b, knows_mine, gpuval_shadow_is_self(b, self, mine)),
                              nir_iand(b, nir_ior(b, self->is_read, self->is_atomic),
                                       gpuval_shadow_is_everybody(b, self, mine)));
   covered = nir_ior(b, covered, nir_iand(b, joins, gpuval_shadow_is_as_far(b, joined, mine)));

   nir_def *other_past = nir_bcsel(b, self->is_read, writer_past, readers_past);
   nir_def *mine_past = nir_bcsel(b, self->is_read, readers_past, writer_past);
   nir_def *easy = nir_iand(b, other_past, nir_ior(b, nir_ior(b, covered, mine_past), joins));
   /* The first atomic of this command has met readers of an earlier one, and left them if they are
    * ordered before.
    */
   easy = nir_ior(
      b, easy,
      nir_iand(b, nir_iand(b, self->is_atomic, covered), nir_ult(b, readers.hi, self->tag)));
   easy = nir_iand(b, easy, look->is_whole);

   struct party mark =
      gpuval_shadow_select(b, nir_iand(b, joins, nir_inot(b, mine_past)), joined, self->mark);
   return (struct gpuval_shadow_decision){
      .is_easy = easy,
      .is_covered = covered,
      .forgets = nir_iand(b, nir_iand(b, easy, nir_inot(b, self->is_read)), own_readers),
      .mark = gpuval_shadow_give_form(b, look, mark),
      .other = other,
   };
}

nir_def *
gpuval_shadow_do(nir_builder *b, const struct gpuval_shadow_self *self, nir_def *cell,
                 const struct gpuval_shadow_decision *decision, nir_def *may_meet,
                 nir_def **was_taken)
{
   struct party mark = decision->mark, nobody = {nir_imm_int(b, 0), nir_imm_int(b, 0)};
   nir_variable *done_var = nir_local_variable_create(b->impl, glsl_bool_type(), "done");
   nir_variable *taken_var = nir_local_variable_create(b->impl, glsl_bool_type(), "taken");

   nir_push_if(b, decision->forgets);
   gpuval_shadow_store_half(b, cell, GPUVAL_SHADOW_READERS, nobody);
   nir_pop_if(b, NULL);

   nir_store_var(b, done_var, decision->is_easy, 0x1);
   nir_store_var(b, taken_var, nir_imm_false(b), 0x1);
   nir_push_if(b, nir_iand(b, decision->is_easy, nir_inot(b, decision->is_covered)));
   {
      nir_def *half = nir_iadd(
         b, cell,
         nir_bcsel(b, self->is_read, nir_imm_int64(b, GPUVAL_SHADOW_READERS), nir_imm_int64(b, 0)));
      gpuval_shadow_store_half(b, half, 0, mark);

      /* Of two that look at the same moment, one finds the other now; it takes a store to meet. */
      nir_push_if(b, nir_ior(b, may_meet, nir_inot(b, self->is_read)));
      struct party writer, readers;
      gpuval_shadow_load_cell(b, cell, &writer, &readers);
      struct party mine = gpuval_shadow_select(b, self->is_read, readers, writer);
      struct party other = gpuval_shadow_select(b, self->is_read, writer, readers);
      struct party before = gpuval_shadow_select(b, decision->forgets, nobody, decision->other);
      nir_def *is_left = nir_iand(b, nir_ieq(b, mine.hi, mark.hi), nir_ieq(b, mine.lo, mark.lo));
      nir_def *is_same =
         nir_iand(b, nir_ieq(b, other.hi, before.hi), nir_ieq(b, other.lo, before.lo));
      nir_store_var(b, done_var, nir_iand(b, is_left, is_same), 0x1);
      nir_store_var(b, taken_var, nir_inot(b, is_left), 0x1);
      nir_pop_if(b, NULL);
   }
   nir_pop_if(b, NULL);
   *was_taken = nir_load_var(b, taken_var);
   return nir_load_var(b, done_var);
}

nir_def *
gpuval_shadow_look_once(nir_builder *b, const struct gpuval_shadow_self *self, nir_def *cell,
                        const struct gpuval_shadow_look *look, nir_def **was_taken)
{
   struct party writer, readers;
   gpuval_shadow_load_cell(b, cell, &writer, &readers);

   const struct gpuval_shadow_decision decision =
      gpuval_shadow_decide(b, self, look, writer, readers);
   return gpuval_shadow_do(b, self, cell, &decision, nir_imm_true(b), was_taken);
}

nir_def *
gpuval_shadow_look_some_times(nir_builder *b, const struct gpuval_shadow_self *self, nir_def *cell,
                              const struct gpuval_shadow_look *look, nir_def **was_taken)
{
   nir_variable *done_var = nir_local_variable_create(b->impl, glsl_bool_type(), "is_done");
   nir_variable *taken_var = nir_local_variable_create(b->impl, glsl_bool_type(), "taken");
   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "try");

   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *taken;
      nir_def *done = gpuval_shadow_look_once(b, self, cell, look, &taken);
      nir_def *i = nir_load_var(b, i_var);

      nir_store_var(b, done_var, done, 0x1);
      nir_store_var(b, taken_var, taken, 0x1);
      nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);
      nir_break_if(b, nir_inot(b, nir_iand(b, nir_iand(b, taken, look->may_join),
                                           nir_ult_imm(b, i, GPUVAL_SHADOW_MAX_JOINS))));
   }
   nir_pop_loop(b, loop);
   *was_taken = nir_load_var(b, taken_var);
   return nir_load_var(b, done_var);
}

struct gpuval_nir_shadow_command
gpuval_nir_load_shadow_command(nir_builder *b, const struct gpuval_nir_driver *driver)
{
   nir_def *root = driver->root_address(driver, b);

   return (struct gpuval_nir_shadow_command){
      .root = root,
      .layout = gpuval_load_fixed(
         b, nir_iadd_imm(b, root, offsetof(struct gpuval_root, shadow_address)), 8, 1, 64),
      .words = command_word(b, driver, 64, offsetof(struct gpuval_command_data, shadow_words)),
      .order = command_word(b, driver, 64, offsetof(struct gpuval_command_data, order_address)),
      .command = command_word(b, driver, 32, offsetof(struct gpuval_command_data, shadow_command)),
      .ordered = command_word(b, driver, 32, offsetof(struct gpuval_command_data, shadow_ordered)),
      .others = command_word(b, driver, 32, offsetof(struct gpuval_command_data, shadow_others)),
      .order_class = command_word(b, driver, 32, offsetof(struct gpuval_command_data, order_class)),
   };
}

struct gpuval_shadow_self
gpuval_shadow_make_self(nir_builder *b, const struct gpuval_nir_driver *driver,
                        const struct gpuval_nir_shadow_command *command,
                        const struct gpuval_nir_access_params *params)
{
   nir_def *access = params->access;
   if (params->is_visible)
      access = nir_bcsel(b, params->is_visible, nir_imm_int(b, GPUVAL_ORDER_ACQUIRED_READ), access);
   nir_def *ordered = nir_bcsel(b, nir_uge_imm(b, access, GPUVAL_ORDER_UNIFORM_READ),
                                command->others, command->ordered);
   nir_def *type = params->type;
   struct gpuval_shadow_self self = {
      .is_read = nir_ior(b, nir_ieq_imm(b, type, GPUVAL_BLOOM_LOAD),
                         nir_ieq_imm(b, type, GPUVAL_SYNC_ATOMIC_LOAD)),
      .is_atomic = nir_uge_imm(b, type, GPUVAL_BLOOM_ATOMIC),
      .ordered = ordered,
      .layout = command->layout,
      .order = command->order,
      .access = access,
      .phase = gpuval_nir_phase(b, params->phase),
      .ordered_phase = gpuval_nir_ordered_phase(b, params->phase),
      .sub =
         nir_umin(b, nir_ushr_imm(b, params->phase, 16), nir_imm_int(b, GPUVAL_SHADOW_SUB_UNKNOWN)),
      .workgroup_shift = nir_iand_imm(b, params->token, 0xff),
      .subgroup_shift = gpuval_shadow_bits(b, params->token, 8, 8),
      .class_ = gpuval_shadow_bits(b, params->token, 16, 8),
   };
   nir_def *invocation = nir_iand_imm(b, params->invocation_id, GPUVAL_SHADOW_INVOCATION_MASK);

   self.mark.lo = nir_ior(b, nir_ushr_imm(b, params->token, 24),
                          nir_ishl_imm(b, invocation, GPUVAL_SHADOW_INVOCATION_SHIFT));
   nir_def *class_ = self.class_;
   if (driver->has_table) /* several queues */
      class_ = nir_bcsel(b, nir_ine_imm(b, command->order_class, 0), command->order_class, class_);
   self.mark.hi = nir_ior(b, command->command, nir_ishl_imm(b, class_, GPUVAL_SHADOW_CLASS_SHIFT));
   self.tag = self.mark.hi;
   self.workgroup = nir_ushr(b, invocation, self.workgroup_shift);
   self.subgroup = nir_ushr(b, invocation, self.subgroup_shift);
   self.mark.hi = nir_ior(b, self.mark.hi, nir_ishl_imm(b, self.phase, GPUVAL_SHADOW_PHASE_SHIFT));
   self.mark.hi = nir_ior(b, self.mark.hi, self.sub);
   self.mark.hi = nir_ior(
      b, self.mark.hi,
      nir_bcsel(b, self.is_atomic, nir_imm_int(b, GPUVAL_SHADOW_ATOMIC), nir_imm_int(b, 0)));
   return self;
}

/* Looks at all cells of the access, and leaves its marks. */
static struct gpuval_shadow_found
look_at_cells(nir_builder *b, const struct gpuval_nir_driver *driver,
              const struct gpuval_nir_access_params *params, struct gpuval_shadow_cells cells,
              struct gpuval_shadow_self self)
{
   nir_def *layout = self.layout;
   nir_def *address = cells.address;

   struct gpuval_shadow_found found = gpuval_shadow_create_found(b);
   if (self.is_command) {
      found.now = nir_local_variable_create(b->impl, glsl_uint_type(), "now");
      found.byte = nir_local_variable_create(b->impl, glsl_uint_type(), "byte");
      nir_store_var(b, found.byte, nir_imm_int(b, 0), 0x1);
   }

   nir_def *first = nir_iand_imm(b, nir_unpack_64_2x32_split_x(b, address), GPUVAL_SHADOW_WORD - 1);
   nir_def *end = nir_iadd(b, first, params->size);
   nir_def *count = nir_ushr_imm(b, nir_iadd_imm(b, end, GPUVAL_SHADOW_WORD - 1), 2);
   count = nir_bcsel(b, nir_ine_imm(b, address, 0), count, nir_imm_int(b, 0));
   address = nir_iand_imm(b, address, ~(uint64_t)(GPUVAL_SHADOW_WORD - 1));

   /* Who has acquired something may be ordered after other loads. */
   nir_def *now =
      gpuval_shadow_load_layout(b, layout, 32, offsetof(struct gpuval_shadow_layout, now));
   nir_def *may_join =
      nir_iand(b, nir_iand(b, self.is_read, nir_inot(b, self.is_atomic)), nir_ieq_imm(b, now, 0));

   struct gpuval_shadow_block block;
   nir_def *block_taken = NULL;
   if (driver->has_table) { /* on GPUs */
      nir_def *done = gpuval_shadow_look_at_block(b, driver, &self, params, &cells, may_join,
                                                  &block, &block_taken);
      count = nir_bcsel(b, done, nir_imm_int(b, 0), count);
   }

   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "word");
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      nir_break_if(b, nir_uge(b, i, count));
      nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);

      nir_def *skipped = nir_ishl_imm(b, i, 2);
      nir_def *word = nir_iadd(b, address, nir_u2u64(b, skipped));
      nir_def *cell = nir_iadd(b, cells.words, nir_imul_imm(b, word, GPUVAL_SHADOW_WORDS_SCALE));
      /* Bytes from the first to behind the last */
      nir_def *begin = nir_bcsel(b, nir_ieq_imm(b, i, 0), first, nir_imm_int(b, 0));
      nir_def *until = nir_umin(b, nir_isub(b, end, skipped), nir_imm_int(b, GPUVAL_SHADOW_WORD));
      nir_def *mask =
         nir_isub(b, nir_ishl(b, nir_imm_int(b, 1), until), nir_ishl(b, nir_imm_int(b, 1), begin));

      if (driver->has_table) {
         nir_def *is_next = nir_ieq_imm(
            b, nir_iand_imm(b, nir_unpack_64_2x32_split_x(b, word), GPUVAL_SHADOW_BLOCK - 1), 0);
         nir_push_if(b, nir_ior(b, nir_ieq_imm(b, i, 0), is_next));
         gpuval_shadow_split_block(b, &cells, word);
         nir_pop_if(b, NULL);
      }

      const struct gpuval_shadow_look look = {
         .is_whole = nir_ieq_imm(b, mask, 0xf),
         .may_join = may_join,
      };
      nir_def *was_taken;
      nir_def *done = gpuval_shadow_look_some_times(b, &self, cell, &look, &was_taken);
      if (block_taken)
         was_taken = nir_ior(b, was_taken, block_taken);
      if (params->was_taken)
         was_taken = nir_ior(b, was_taken, params->was_taken);
      if (params->notes) {
         struct party writer, readers;
         gpuval_shadow_load_cell(b, cell, &writer, &readers);
         gpuval_shadow_note_loaded(
            b, &self, &cells, word, writer, readers, nir_iand(b, done, look.is_whole),
            gpuval_shadow_load_half(b, gpuval_shadow_block_cell(b, &cells, word),
                                    GPUVAL_SHADOW_READERS));
      }
      nir_push_if(b, nir_inot(b, done));
      {
         nir_def *where = nir_iadd(b, params->address, nir_u2u64(b, nir_iadd(b, skipped, begin)));
         gpuval_shadow_find_order(b, &self, nir_isub(b, where, nir_u2u64(b, first)));
         look_closely(b, driver, &self, &found, cell, word, mask, nir_isub(b, skipped, first),
                      was_taken);
         if (params->notes)
            gpuval_shadow_forget_loaded(b, &self, &cells, word);
      }
      nir_pop_if(b, NULL);
   }
   nir_pop_loop(b, loop);

   if (driver->has_table)
      gpuval_shadow_make_whole(
         b, driver, &self, &cells, &block,
         nir_iand(b, nir_ine_imm(b, count, 0), nir_inot(b, nir_load_var(b, found.hazard))));
   return found;
}

static void
build_access(nir_builder *b, const struct gpuval_nir_driver *driver,
             const struct gpuval_nir_shadow_command *command,
             const struct gpuval_nir_access_params *params, struct gpuval_shadow_cells cells)
{
   struct gpuval_shadow_self self = gpuval_shadow_make_self(b, driver, command, params);
   struct gpuval_shadow_found found = look_at_cells(b, driver, params, cells, self);

   nir_push_if(b, nir_load_var(b, found.hazard));
   {
      struct party other = {nir_load_var(b, found.lo), nir_load_var(b, found.hi)};
      struct party stored = {nir_load_var(b, found.stored_lo), nir_load_var(b, found.stored_hi)};
      nir_def *same =
         gpuval_shadow_is_same(b, driver, params, &self, stored, nir_load_var(b, found.is_lane),
                               gpuval_nir_has_value_at(b, params, params->address, params->size));
      gpuval_nir_build_shadow_hazard(b, driver, params, command->root, other.lo, other.hi, same);
   }
   nir_pop_if(b, NULL);
}

static void
build_order(nir_builder *b, const struct gpuval_nir_driver *driver,
            const struct gpuval_nir_shadow_command *command,
            const struct gpuval_nir_access_params *params, struct gpuval_shadow_cells cells)
{
   struct gpuval_shadow_self self = gpuval_shadow_make_self(b, driver, command, params);
   nir_def *address = driver->has_table ? params->address : cells.address;
   nir_def *is_found = driver->has_table ? nir_imm_true(b) : nir_ine_imm(b, cells.address, 0);

   gpuval_shadow_build_order(b, driver, &self, params->size,
                             nir_bcsel(b, is_found, address, params->address), is_found);
}

void
gpuval_nir_build_shadow(nir_builder *b, const struct gpuval_nir_driver *driver,
                        const struct gpuval_nir_access_params *params)
{
   const struct gpuval_nir_shadow_command *command = params->command;
   struct gpuval_nir_shadow_command loaded;
   if (!command) {
      loaded = gpuval_nir_load_shadow_command(b, driver);
      command = &loaded;
   }
   struct gpuval_shadow_cells cells = gpuval_shadow_find_cells(b, driver, command, params);
   nir_def *is_looked_at = nir_ine_imm(b, command->command, 0);

   if (!gpuval_shadow_is_always(params->orders, true)) {
      nir_push_if(b, nir_iand(b, is_looked_at, nir_inot(b, params->orders)));
      build_access(b, driver, command, params, cells);
      nir_pop_if(b, NULL);
   }
   if (!gpuval_shadow_is_always(params->orders, false)) {
      nir_push_if(b, nir_iand(b, is_looked_at, params->orders));
      build_order(b, driver, command, params, cells);
      nir_pop_if(b, NULL);
   }
}

nir_def *
gpuval_nir_build_command_access(nir_builder *b, const struct gpuval_nir_driver *driver,
                                const struct gpuval_nir_access_params *params, nir_def *other[2],
                                nir_def **byte)
{
   struct gpuval_shadow_self self = gpuval_shadow_make_self(b, driver, params->command, params);
   struct gpuval_shadow_cells cells = gpuval_shadow_find_cells(b, driver, params->command, params);

   self.is_command = true;
   struct gpuval_shadow_found found = look_at_cells(b, driver, params, cells, self);
   other[0] = nir_load_var(b, found.lo);
   other[1] = nir_load_var(b, found.hi);
   *byte = nir_load_var(b, found.byte);
   return nir_load_var(b, found.hazard);
}
