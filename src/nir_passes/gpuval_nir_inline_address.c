/* SPDX-License-Identifier: MIT */

/* Addresses that are known at one place are looked at together, there. Those that are a constant
 * apart are one range, and each range has to be in the buffer that the invocation met last: then
 * the highest of their distances from where that begins tells of all. Otherwise each address is
 * looked at, in a turn of the loop behind the branch, which has one search and one report.
 */

#include "gpuval_nir_inline_address.h"

#include "gpuval/src/base/gpuval_address_table.h"
#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"
#include "nir_builder.h"

/* Sources */
enum {
   CHECK_ADDRESS,
   CHECK_INVOCATION,
};

/* Where they are made */

/* Instructions that are looked at, for each check that may join */
#define MAX_MOVED 32

static bool may_move(nir_instr *instr, const nir_instr *first, unsigned *budget);

struct move {
   const nir_instr *first;
   unsigned *budget;
};

static bool
may_move_src(nir_src *src, void *data)
{
   const struct move *move = data;
   return may_move(nir_def_instr(src->ssa), move->first, move->budget);
}

/* Is it in front of @first, or can it be? */
static bool
may_move(nir_instr *instr, const nir_instr *first, unsigned *budget)
{
   if (instr->block != first->block || instr->index < first->index)
      return true;
   if (!*budget)
      return false;
   (*budget)--;

   switch (instr->type) {
   case nir_instr_type_alu:
   case nir_instr_type_load_const:
   case nir_instr_type_undef:
      break;
   case nir_instr_type_intrinsic:
      if (!nir_intrinsic_can_reorder(nir_instr_as_intrinsic(instr)))
         return false;
      break;
   default:
      return false;
   }
   return nir_foreach_src(instr, may_move_src, &(struct move){first, budget});
}

/* Takes a constant out of the sum that @scalar is. */
static nir_scalar
split(nir_scalar scalar, uint32_t *offset)
{
   int64_t sum = 0;
   nir_scalar base = scalar;

   *offset = 0;
   while (nir_scalar_is_alu(scalar) && nir_scalar_alu_op(scalar) == nir_op_iadd) {
      nir_scalar a = nir_scalar_chase_movs(nir_scalar_chase_alu_src(scalar, 0));
      nir_scalar b = nir_scalar_chase_movs(nir_scalar_chase_alu_src(scalar, 1));
      bool is_first = nir_scalar_is_const(a);

      if (!is_first && !nir_scalar_is_const(b))
         break;
      sum += nir_scalar_as_int(is_first ? a : b);
      scalar = is_first ? b : a;
      if (sum == (int32_t)sum) {
         base = scalar;
         *offset = sum;
      }
   }
   return base;
}

static nir_scalar
get_base_address(const nir_intrinsic_instr *check, uint32_t *offset)
{
   return split(nir_scalar_chase_movs(nir_get_scalar(check->src[CHECK_ADDRESS].ssa, 0)), offset);
}

/* Addresses of a group that are no constant apart: they are in registers until the last of them
 * is accessed.
 */
#define MAX_BASES 8

static bool
has_room(const struct group *group, const nir_intrinsic_instr *check)
{
   nir_scalar bases[MAX_BASES];
   unsigned count = 0;
   uint32_t offset;

   for (unsigned i = 0; i <= group->count; i++) {
      nir_scalar base = get_base_address(i < group->count ? group->intrins[i] : check, &offset);
      unsigned j = 0;

      while (j < count && !nir_scalar_equal(bases[j], base))
         j++;
      if (j == MAX_BASES)
         return false;
      bases[j] = base;
      count = MAX2(count, j + 1);
   }
   return true;
}

/* gpuval_nir_silence_report() */
static bool
is_silent(const nir_intrinsic_instr *check)
{
   return nir_intrinsic_range(check) == 0;
}

bool
gpuval_nir_may_join_addresses(const struct group *group, const nir_intrinsic_instr *check)
{
   unsigned budget = MAX_MOVED;

   if (is_silent(group->intrins[0]) != is_silent(check) || !has_room(group, check))
      return false;
   for (unsigned i = 0; i < 2; i++) {
      if (!may_move(nir_def_instr(check->src[i].ssa), &group->intrins[0]->instr, &budget))
         return false;
   }
   return true;
}

static bool
move_src(nir_src *src, void *data)
{
   nir_instr *first = data;
   nir_instr *instr = nir_def_instr(src->ssa);

   if (instr->block == first->block && instr->index >= first->index) {
      nir_foreach_src(instr, move_src, first);
      nir_instr_move(nir_before_instr(first), instr);
      instr->index = 0; /* it is there */
   }
   return true;
}

/* What they are about */

struct addresses {
   unsigned count;
   bool has_alignment;          /* any of them */
   nir_scalar base[MAX_GROUP];  /* 64 bit; to which is added: */
   uint32_t offset[MAX_GROUP];  /* signed */
   uint32_t span[MAX_GROUP];    /* bytes */
   uint32_t mask[MAX_GROUP];    /* of low bits that are to be ... */
   uint32_t residue[MAX_GROUP]; /* ... this */
};

static void
collect(const struct group *group, struct addresses *addresses)
{
   *addresses = (struct addresses){.count = group->count};
   for (unsigned i = 0; i < group->count; i++) {
      const nir_intrinsic_instr *check = group->intrins[i];

      addresses->base[i] = get_base_address(check, &addresses->offset[i]);
      addresses->span[i] = nir_intrinsic_flags(check);
      addresses->mask[i] = nir_intrinsic_align_mul(check) - 1;
      addresses->residue[i] = nir_intrinsic_align_offset(check);
      addresses->has_alignment |= addresses->mask[i] != 0;
   }
}

/* Of several with one base */
struct range {
   nir_scalar base;
   int64_t lowest, highest; /* bytes behind that */
};

/* Bytes of a range */
#define MAX_SPAN (1 << 20)

/* Where the base is in the buffer, too, it need not be added to. */
#define MAX_LOWEST 4096

static unsigned
collect_ranges(const struct addresses *addresses, struct range *ranges)
{
   unsigned count = 0;

   for (unsigned i = 0; i < addresses->count; i++) {
      int64_t lowest = (int32_t)addresses->offset[i], highest = lowest + addresses->span[i];
      unsigned j = 0;

      if (lowest > 0 && lowest <= MAX_LOWEST)
         lowest = 0;
      while (j < count &&
             (!nir_scalar_equal(ranges[j].base, addresses->base[i]) ||
              MAX2(highest, ranges[j].highest) - MIN2(lowest, ranges[j].lowest) > MAX_SPAN))
         j++;
      if (j == count)
         ranges[count++] = (struct range){addresses->base[i], lowest, highest};
      ranges[j].lowest = MIN2(lowest, ranges[j].lowest);
      ranges[j].highest = MAX2(highest, ranges[j].highest);
   }
   return count;
}

/* Low bits of a base that have to be something */
struct alignment {
   nir_scalar base;
   uint32_t mask, residue;
};

/* The strictest of a base says it for all that do not contradict. */
static unsigned
collect_alignments(const struct addresses *addresses, struct alignment *alignments)
{
   unsigned count = 0;

   for (unsigned i = 0; i < addresses->count; i++) {
      uint32_t mask = addresses->mask[i];
      uint32_t residue = (addresses->residue[i] - addresses->offset[i]) & mask;
      unsigned j = 0;

      if (!mask)
         continue;
      while (j < count && (!nir_scalar_equal(alignments[j].base, addresses->base[i]) ||
                           (alignments[j].residue ^ residue) & alignments[j].mask & mask))
         j++;
      if (j == count)
         alignments[count++] = (struct alignment){addresses->base[i], mask, residue};
      else if (mask > alignments[j].mask)
         alignments[j] = (struct alignment){addresses->base[i], mask, residue};
   }
   return count;
}

/* The branch */

static nir_def *
or_32(nir_builder *b, nir_def *first, nir_def *second)
{
   return first ? nir_ior(b, first, second) : second;
}

/* 32 bit: not 0 where any is misaligned; NULL: none has to be aligned. */
static nir_def *
build_misaligned(nir_builder *b, const struct addresses *addresses)
{
   struct alignment alignments[MAX_GROUP];
   unsigned count = collect_alignments(addresses, alignments);
   nir_def *misaligned = NULL;

   for (unsigned i = 0; i < count; i++) {
      const uint32_t mask = alignments[i].mask;
      nir_def *bits = NULL;

      for (unsigned j = i; mask && j < count; j++) {
         if (alignments[j].mask != mask)
            continue;
         nir_scalar base = alignments[j].base;
         nir_def *low = nir_unpack_64_2x32_split_x(b, nir_channel(b, base.def, base.comp));
         if (alignments[j].residue)
            low = nir_ixor(b, low, nir_imm_int(b, alignments[j].residue));
         bits = or_32(b, bits, low);
         alignments[j].mask = 0;
      }
      if (bits)
         misaligned = or_32(b, misaligned, nir_iand_imm(b, bits, mask));
   }
   return misaligned;
}

static nir_variable *
add_variable(nir_builder *b, const struct glsl_type *type, const char *name)
{
   nir_builder at_top = nir_builder_at(nir_before_impl(b->impl));
   nir_variable *var = nir_local_variable_create(b->impl, type, name);

   nir_store_var(&at_top, var, nir_imm_zero(&at_top, 1, glsl_get_bit_size(type)), 0x1);
   return var;
}

/* 1 bit: there may be one that is bad. */
static nir_def *
build_suspected(nir_builder *b, const struct gpuval_nir_last_buffer *met,
                const struct addresses *addresses)
{
   struct range ranges[MAX_GROUP];
   unsigned count = collect_ranges(addresses, ranges);
   nir_def *not_zero = build_misaligned(b, addresses);
   nir_def *begin = nir_load_var(b, met->begin), *farthest = NULL;

   for (unsigned i = 0; i < count; i++) {
      const struct range *range = &ranges[i];
      const int64_t span = range->highest - range->lowest;
      nir_def *base = nir_channel(b, range->base.def, range->base.comp);
      nir_def *distance = nir_isub(b, nir_iadd_imm(b, base, range->lowest), begin);
      nir_def *low = nir_unpack_64_2x32_split_x(b, distance);

      if (span > GPUVAL_ADDRESS_ROOM)
         low = nir_uadd_sat(b, low, nir_imm_int(b, span - GPUVAL_ADDRESS_ROOM));
      farthest = farthest ? nir_umax(b, farthest, low) : low;
      not_zero = or_32(b, not_zero, nir_unpack_64_2x32_split_y(b, distance));
   }
   return nir_ior(b, nir_ine_imm(b, not_zero, 0),
                  nir_uge(b, farthest, nir_load_var(b, met->limit)));
}

/* Behind it */

static nir_def *
load_words(nir_builder *b, nir_def *address, unsigned count)
{
   return nir_build_load_global(b, count, 32, address, .align_mul = count * sizeof(uint32_t),
                                .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER);
}

/* In front of the first one, which is number 1, is the empty one. */
static nir_def *
load_range(nir_builder *b, nir_def *table, nir_def *number, unsigned num_words)
{
   nir_def *offset = nir_imul_imm(b, number, sizeof(struct gpuval_address_range));
   return load_words(b, nir_iadd(b, table, nir_u2u64(b, offset)), num_words);
}

/* Words of the last range of the table that begins at @address or before; without one, of the
 * empty one. All lanes take the same steps, however far they get.
 */
static nir_def *
find_range(nir_builder *b, nir_def *table, nir_def *address)
{
   nir_def *count = load_words(b, table, 1);
   nir_variable *number_var = nir_local_variable_create(b->impl, glsl_uint_type(), "number");
   nir_variable *step_var = nir_local_variable_create(b->impl, glsl_uint_type(), "step");
   nir_store_var(b, number_var, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, step_var, count, 0x1);

   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *step = nir_load_var(b, step_var), *number = nir_load_var(b, number_var);
      nir_def *next = nir_umin(b, nir_iadd(b, number, step), count);
      nir_def *begin = nir_pack_64_2x32(b, load_range(b, table, next, 2));
      nir_def *is_before = nir_uge(b, address, begin);
      nir_store_var(b, number_var, nir_bcsel(b, is_before, next, number), 0x1);

      nir_break_if(b, nir_ult_imm(b, step, 2));
      nir_store_var(b, step_var, nir_ushr_imm(b, nir_iadd_imm(b, step, 1), 1), 0x1);
   }
   nir_pop_loop(b, loop);
   return load_range(b, table, nir_load_var(b, number_var), 4);
}

/* Looks for the buffer, and remembers it. 1 bit: there is none. */
static nir_def *
look(nir_builder *b, const struct gpuval_nir_driver *driver,
     const struct gpuval_nir_last_buffer *met, nir_def *address, nir_def *span)
{
   nir_def *root = driver->root_address(driver, b);
   nir_def *table =
      load_words(b, nir_iadd_imm(b, root, offsetof(struct gpuval_root, addresses_address)), 2);
   nir_def *range = find_range(b, nir_pack_64_2x32(b, table), address);
   nir_def *begin = nir_pack_64_2x32(b, nir_channels(b, range, 0x3));
   nir_def *low = nir_channel(b, range, 2), *high = nir_channel(b, range, 3);

   nir_def *limit = nir_bcsel(b, nir_ine_imm(b, high, 0), nir_imm_int(b, ~0), low);
   limit = nir_usub_sat(b, limit, nir_imm_int(b, GPUVAL_ADDRESS_ROOM - 1));
   nir_store_var(b, met->begin, begin, 0x1);
   nir_store_var(b, met->limit, limit, 0x1);

   /* The last byte */
   nir_def *last =
      nir_iadd(b, nir_isub(b, address, begin), nir_u2u64(b, nir_iadd_imm(b, span, -1)));
   return nir_uge(b, last, nir_pack_64_2x32_split(b, low, high));
}

/* 1 bit: all is in the buffer that was met last. */
static nir_def *
is_near(nir_builder *b, const struct gpuval_nir_last_buffer *met, nir_def *address, nir_def *span)
{
   nir_def *more = nir_usub_sat(b, span, nir_imm_int(b, GPUVAL_ADDRESS_ROOM));
   nir_def *limit = nir_usub_sat(b, nir_load_var(b, met->limit), more);

   return nir_ult(b, nir_isub(b, address, nir_load_var(b, met->begin)), nir_u2u64(b, limit));
}

static nir_def *
build_is_misaligned(nir_builder *b, const struct turn *turn, const struct addresses *addresses,
                    nir_def *address)
{
   nir_def *mask = gpuval_nir_select_value(b, turn, addresses->mask, addresses->count);
   nir_def *residue = gpuval_nir_select_value(b, turn, addresses->residue, addresses->count);
   nir_def *low = nir_unpack_64_2x32_split_x(b, address);

   return nir_ine(b, nir_iand(b, low, mask), residue);
}

static void
build_report(nir_builder *b, const struct gpuval_nir_driver *driver, const struct group *group,
             const struct turn *turn, nir_def *is_second, nir_def *address)
{
   nir_def *zero = nir_imm_int(b, 0);
   nir_def *entry = gpuval_nir_select_entry(b, driver, group, turn);

   gpuval_nir_build_report(
      b, driver,
      &(struct gpuval_nir_report_params){
         .first_entry = is_second ? nir_iadd(b, entry, nir_b2i32(b, is_second)) : entry,
         .num_entries = nir_imm_int(b, 1),
         .set = nir_imm_int(b, GPUVAL_REPORT_PLAIN),
         .detail = {nir_unpack_64_2x32_split_x(b, address), zero, zero, zero},
         .slot = nir_unpack_64_2x32_split_y(b, address),
         .invocation =
            {
               gpuval_nir_select_invocation(b, group, turn, CHECK_INVOCATION, 0),
               gpuval_nir_select_invocation(b, group, turn, CHECK_INVOCATION, 1),
               gpuval_nir_select_invocation(b, group, turn, CHECK_INVOCATION, 2),
            },
      });
}

/* @is_second: 1 bit, of two turns for each of them: is one that is in a buffer misaligned? That
 * way the site is the same in all lanes. NULL: none has to be aligned.
 */
static void
build_turn(nir_builder *b, const struct gpuval_nir_driver *driver,
           const struct gpuval_nir_last_buffer *met, const struct group *group,
           const struct addresses *addresses, const struct turn *turn, nir_def *is_second,
           nir_variable *is_outside)
{
   nir_def *base = gpuval_nir_select(b, turn, addresses->base, addresses->count);
   nir_def *offset = gpuval_nir_select_value(b, turn, addresses->offset, addresses->count);
   nir_def *address = nir_iadd(b, base, nir_i2i64(b, offset));
   nir_def *span = gpuval_nir_select_value(b, turn, addresses->span, addresses->count);

   nir_def *far = nir_inot(b, is_near(b, met, address, span));
   nir_def *misaligned = NULL;
   if (is_second) {
      misaligned = nir_iand(b, is_second, build_is_misaligned(b, turn, addresses, address));
      far = nir_iand(b, far, nir_ior(b, nir_inot(b, is_second), misaligned));
   }

   nir_def *never = nir_imm_false(b);
   nir_push_if(b, far);
   nir_def *outside = look(b, driver, met, address, span);
   nir_pop_if(b, NULL);
   nir_def *failed = nir_if_phi(b, outside, never);

   if (is_second) /* what is outside is not also misaligned */
      failed = nir_bcsel(b, is_second, nir_iand(b, misaligned, nir_inot(b, failed)), failed);
   nir_push_if(b, failed);
   {
      nir_def *bit = nir_ishl(b, nir_imm_int(b, 1), turn ? turn->i : nir_imm_int(b, 0));
      if (is_second)
         bit = nir_bcsel(b, is_second, nir_imm_int(b, 0), bit);
      nir_store_var(b, is_outside, nir_ior(b, nir_load_var(b, is_outside), bit), 0x1);
      if (!is_silent(group->intrins[0]))
         build_report(b, driver, group, turn, is_second, address);
   }
   nir_pop_if(b, NULL);
}

static void
build_turns(nir_builder *b, const struct gpuval_nir_driver *driver,
            const struct gpuval_nir_last_buffer *met, const struct group *group,
            const struct addresses *addresses, nir_variable *is_outside)
{
   const unsigned each = addresses->has_alignment ? 2 : 1;
   const unsigned count = group->count * each;
   if (count == 1) {
      build_turn(b, driver, met, group, addresses, NULL, NULL, is_outside);
      return;
   }

   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      nir_def *is_second = each == 2 ? nir_ine_imm(b, nir_iand_imm(b, i, 1), 0) : NULL;
      const struct turn turn = gpuval_nir_begin_turn(b, each == 2 ? nir_ushr_imm(b, i, 1) : i);
      build_turn(b, driver, met, group, addresses, &turn, is_second, is_outside);

      nir_break_if(b, nir_uge_imm(b, i, count - 1));
      nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);
   }
   nir_pop_loop(b, loop);
}

void
gpuval_nir_inline_addresses(nir_builder *b, const struct gpuval_nir_driver *driver,
                            struct gpuval_nir_last_buffer *met, const struct group *group)
{
   nir_instr *first = &group->intrins[0]->instr;
   struct addresses addresses;

   for (unsigned i = 1; i < group->count; i++)
      nir_foreach_src(&group->intrins[i]->instr, move_src, first);
   b->cursor = nir_before_instr(first);
   collect(group, &addresses);
   if (!met->begin) {
      met->begin = add_variable(b, glsl_uint64_t_type(), "met_begin");
      met->limit = add_variable(b, glsl_uint_type(), "met_limit");
   }

   nir_variable *is_outside = nir_local_variable_create(b->impl, glsl_uint_type(), "is_outside");
   nir_store_var(b, is_outside, nir_imm_int(b, 0), 0x1);
   nir_push_if(b, build_suspected(b, met, &addresses));
   build_turns(b, driver, met, group, &addresses, is_outside);
   nir_pop_if(b, NULL);
   nir_def *bits = nir_load_var(b, is_outside);

   for (unsigned i = 0; i < group->count; i++) {
      nir_intrinsic_instr *check = group->intrins[i];
      if (!nir_def_is_unused(&check->def)) {
         nir_def *bit = nir_iand_imm(b, bits, 1u << i);
         nir_def_rewrite_uses(&check->def, nir_ine_imm(b, bit, 0));
      }
      nir_instr_remove(&check->instr);
   }
}
