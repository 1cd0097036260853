/* SPDX-License-Identifier: MIT */

/* Makes code of what the passes leave in a shader, for drivers whose backends inline all
 * functions: RADV, and anygpu.
 *
 * The failing path is kept small: the reports of a block that follow one another share a branch,
 * and behind it a loop with one report in it.
 */

#include "gpuval_nir_inline.h"
#include "gpuval_nir_delay.h"

#include "gpuval/src/base/gpuval_order.h"
#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval_nir_functions.h"
#include "gpuval_nir_inline_address.h"
#include "gpuval_nir_sink.h"
#include "gpuval_nir_turns.h"

/* Where accesses to one buffer, of a binding that is known, have been last */
struct last_area {
   uint32_t set, slot;
   nir_variable *var;
   struct gpuval_nir_near near;
};
#define MAX_LAST_AREAS 8 /* the last one of all others */

struct inline_state {
   nir_builder b;
   const struct gpuval_nir_inline_options *options;
   struct gpuval_nir_driver driver; /* what a group needs of that of @options */
   struct gpuval_nir_last_buffer last_buffer;
   struct gpuval_nir_shadow_command command; /* at the shader's beginning, when it is needed */
   struct last_area last_areas[MAX_LAST_AREAS];
   unsigned num_last_areas;
   unsigned num_accesses;    /* of all groups */
   bool has_orders;          /* something is released or acquired */
   struct group first_fixed; /* the first load at a fixed place, if there is one */
   unsigned num_fixed;       /* groups of them */
   struct gpuval_nir_loads loads;
   nir_variable *number, *has_number; /* gpuval_nir_driver::number, where it was asked for */
   bool glances;                      /* at some of them */
   struct set *ifs;      /* nir_if *: what is behind their branches need not be in front of them, */
   struct set *failures; /* and those of which it is executed only where something fails */
};

/* More accesses of a group, or of a shader, are looked at in turns, one piece of code for all. */
#define MAX_QUICK_GROUP    10
#define MAX_QUICK_ACCESSES 256

static uint32_t
get_num_entries(const nir_intrinsic_instr *report)
{
   return nir_intrinsic_range(report);
}

static uint32_t
get_set(const nir_intrinsic_instr *report)
{
   return nir_intrinsic_desc_set(report);
}

static void
build_report(struct inline_state *state, const struct group *group, const struct turn *turn,
             bool is_suspected)
{
   nir_builder *b = &state->b;

   gpuval_nir_build_report(
      b, &state->driver,
      &(struct gpuval_nir_report_params){
         .first_entry = gpuval_nir_select_entry(b, &state->driver, group, turn),
         .num_entries = gpuval_nir_select_constant(b, group, turn, get_num_entries),
         .set = gpuval_nir_select_constant(b, group, turn, get_set),
         .detail = {gpuval_nir_select_src(b, group, turn, 1, 0),
                    gpuval_nir_select_src(b, group, turn, 1, 1),
                    gpuval_nir_select_src(b, group, turn, 1, 2),
                    gpuval_nir_select_src(b, group, turn, 1, 3)},
         .slot = gpuval_nir_select_src(b, group, turn, 2, 0),
         .invocation = {gpuval_nir_select_invocation(b, group, turn, 3, 0),
                        gpuval_nir_select_invocation(b, group, turn, 3, 1),
                        gpuval_nir_select_invocation(b, group, turn, 3, 2)},
         .is_suspected = is_suspected,
      });
}

static bool
has_reports(const struct group *group, unsigned set)
{
   for (unsigned i = 0; i < group->count; i++) {
      if (nir_intrinsic_desc_set(group->intrins[i]) == set)
         return true;
   }
   return false;
}

/* A group of reports needs no code for what none of them is about. */
static struct gpuval_nir_driver
choose_driver(const struct gpuval_nir_driver *driver, const struct group *group)
{
   struct gpuval_nir_driver chosen = *driver;
   bool has_descriptors = has_reports(group, GPUVAL_REPORT_DESCRIPTOR);
   bool has_images = has_reports(group, GPUVAL_REPORT_UNWRITTEN_IMAGE);

   chosen.reports_unwritten = has_images || has_reports(group, GPUVAL_REPORT_UNWRITTEN);
   chosen.reports_descriptors = has_descriptors;
   if (!has_images) {
      chosen.subresource = NULL;
      chosen.levels = NULL;
   }
   if (!has_reports(group, GPUVAL_REPORT_USED))
      chosen.used_address = NULL;
   if (!has_descriptors && !has_images && !has_reports(group, GPUVAL_REPORT_EXACT))
      chosen.descriptors = NULL;
   return chosen;
}

/* Do all of them stand for failures? Others are executed always. */
static bool
is_failure(const struct group *group)
{
   return !has_reports(group, GPUVAL_REPORT_COVERED) && !has_reports(group, GPUVAL_REPORT_USED) &&
          !has_reports(group, GPUVAL_REPORT_UNWRITTEN) &&
          !has_reports(group, GPUVAL_REPORT_UNWRITTEN_IMAGE);
}

static void
mark_rare(struct inline_state *state)
{
   if (state->options->marks_failures)
      nir_sleep_amd(&state->b, .base = GPUVAL_NIR_FAILURE_MARK);
}

/* A branch that is hardly ever taken: what only it needs goes behind it. */
static nir_if *
begin_rare(struct inline_state *state, nir_def *condition)
{
   nir_if *nif = nir_push_if(&state->b, condition);

   _mesa_set_add(state->ifs, nif);
   _mesa_set_add(state->failures, nif);
   mark_rare(state);
   return nif;
}

static void
mark(struct inline_state *state, const struct group *group)
{
   if (is_failure(group))
      mark_rare(state);
}

static bool
is_same_in_all_lanes(const struct group *group)
{
   for (unsigned i = 0; i < group->count; i++) {
      if (group->intrins[i]->src[0].ssa->divergent)
         return false;
   }
   return true;
}

/* Where lanes fail each by itself, all of a wave go behind the branch: then it is one of the scalar
 * unit, which has no mask of lanes to keep and to restore. Returns NULL where they need not.
 */
static nir_def *
build_any_lane(struct inline_state *state, const struct group *group, nir_def *failed)
{
   bool has_waves = state->options->driver->merged_lanes;

   return has_waves && is_failure(group) && !is_same_in_all_lanes(group)
             ? nir_vote_any(&state->b, 1, failed)
             : NULL;
}

/* In each turn it is about the same report in all lanes, of which those take part that have it to
 * make: most of it is then computed once, in scalar registers. Comparisons are made again: their
 * results would be two registers each until then.
 */
static void
build_reports(struct inline_state *state, const struct group *group)
{
   nir_builder *b = &state->b;
   bool are_comparisons = gpuval_nir_are_comparisons(group);

   if (group->count == 1) {
      if (!are_comparisons)
         nir_push_if(b, group->intrins[0]->src[0].ssa);
      build_report(state, group, NULL, are_comparisons);
      if (!are_comparisons)
         nir_pop_if(b, NULL);
      return;
   }

   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      struct turn turn = gpuval_nir_begin_turn(b, i);
      turn.is_failure = is_failure(group);
      if (!are_comparisons)
         nir_push_if(b, gpuval_nir_select_src(b, group, &turn, 0, 0));
      build_report(state, group, &turn, are_comparisons);
      if (!are_comparisons)
         nir_pop_if(b, NULL);

      nir_break_if(b, nir_uge_imm(b, i, group->count - 1));
      nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);
   }
   nir_pop_loop(b, loop);
}

/* One branch for all, and a loop over them */
static void
lower_reports(struct inline_state *state, const struct group *group)
{
   nir_builder *b = &state->b;
   nir_def *failed = gpuval_nir_build_any(b, group);
   nir_def *any_lane = build_any_lane(state, group, failed);

   state->driver = choose_driver(state->options->driver, group);
   nir_if *nif = nir_push_if(b, any_lane ? any_lane : failed);
   _mesa_set_add(state->ifs, nif);
   if (is_failure(group))
      _mesa_set_add(state->failures, nif);
   mark(state, group);
   if (gpuval_nir_is_any_exact(group) && !any_lane)
      build_report(state, group, NULL, false);
   else
      build_reports(state, group);
   nir_pop_if(b, NULL);
}

/* flags | set << 16 */
static uint32_t
get_access_word(const nir_intrinsic_instr *access)
{
   return nir_intrinsic_flags(access) | nir_intrinsic_desc_set(access) << 16;
}

static const struct gpuval_nir_shadow_command *
get_command(struct inline_state *state)
{
   if (!state->command.root) {
      nir_builder at_top = nir_builder_at(nir_before_impl(state->b.impl));
      state->command = gpuval_nir_load_shadow_command(&at_top, state->options->driver);
      /* Who acquires nothing by itself has what was there when it began. */
      if (state->driver.has_table && state->options->has_shadow && !state->has_orders)
         state->command.now = nir_build_load_global(
            &at_top, 1, 32,
            nir_iadd_imm(&at_top, state->command.layout,
                         offsetof(struct gpuval_shadow_layout, now)),
            .align_mul = 4,
            .access = (enum gl_access_qualifier)(ACCESS_COHERENT | ACCESS_CAN_REORDER));
      if (state->first_fixed.count)
         state->loads = gpuval_nir_find_loads(
            &at_top, &state->command,
            gpuval_nir_select_entry(&at_top, &state->driver, &state->first_fixed, NULL));
   }
   return &state->command;
}

/* Of accesses that find their buffer like this one */
static struct last_area *
get_last_area(struct inline_state *state, const struct group *group, unsigned i)
{
   nir_scalar slot = get_src(group, i, ACCESS_SLOT, 0);
   struct last_area wanted = {UINT32_MAX, 0};
   if (nir_scalar_is_const(slot)) {
      wanted.set = nir_intrinsic_desc_set(group->intrins[i]);
      wanted.slot = nir_scalar_as_uint(slot);
   }

   struct last_area *last = state->last_areas;
   for (unsigned j = 0; j < state->num_last_areas; j++, last++) {
      if (last->set == wanted.set && last->slot == wanted.slot)
         return last;
   }
   if (state->num_last_areas == MAX_LAST_AREAS)
      return &state->last_areas[MAX_LAST_AREAS - 1];

   nir_builder at_top = nir_builder_at(nir_before_impl(state->b.impl));
   *last = wanted;
   last->var = nir_local_variable_create(state->b.impl, glsl_uint64_t_type(), "last_area");
   nir_store_var(&at_top, last->var, nir_imm_int64(&at_top, 0), 0x1);
   if (state->glances)
      gpuval_nir_create_near(&at_top, &last->near);
   state->num_last_areas++;
   return last;
}

/* Which of a group's accesses a turn is about, by where they have been */
struct turn_area {
   nir_variable *var;
   nir_def *number; /* in inline_state::last_areas; NULL: there is only one */
};

static struct turn_area
begin_turn_area(struct inline_state *state, const struct group *group, const struct turn *turn)
{
   nir_builder *b = &state->b;
   uint32_t numbers[MAX_GROUP];
   nir_scalar values[MAX_GROUP];
   bool is_one = true;

   for (unsigned i = 0; i < group->count; i++) {
      const struct last_area *last = get_last_area(state, group, i);
      numbers[i] = last - state->last_areas;
      values[i] = nir_get_scalar(nir_load_var(b, last->var), 0);
      is_one &= numbers[i] == numbers[0];
   }
   if (is_one)
      return (struct turn_area){state->last_areas[numbers[0]].var, NULL};

   struct turn_area area = {
      .var = nir_local_variable_create(b->impl, glsl_uint64_t_type(), "area_of_turn"),
      .number = gpuval_nir_select_value(b, turn, numbers, group->count),
   };
   nir_store_var(b, area.var, gpuval_nir_select(b, turn, values, group->count), 0x1);
   return area;
}

static void
end_turn_area(struct inline_state *state, const struct turn_area *area)
{
   nir_builder *b = &state->b;

   for (unsigned i = 0; area->number && i < state->num_last_areas; i++) {
      nir_variable *var = state->last_areas[i].var;
      nir_def *is_this = nir_ieq_imm(b, area->number, i);
      nir_store_var(b, var, nir_bcsel(b, is_this, nir_load_var(b, area->var), nir_load_var(b, var)),
                    0x1);
   }
}

/* What a quick look at each access of a group has left */
struct left {
   nir_scalar active[MAX_GROUP]; /* is still to be looked at, */
   nir_scalar taken[MAX_GROUP];  /* gpuval_nir_access_params::was_taken */
};

static bool
is_number(const struct group *group, unsigned i)
{
   nir_scalar id = get_src(group, i, ACCESS_CONTEXT, 0);

   return nir_scalar_is_intrinsic(id) &&
          nir_scalar_intrinsic_op(id) == nir_intrinsic_invocation_gpuval;
}

/* The number of an invocation is taken from a counter, by whoever needs one: late where no access
 * makes anything else of it.
 */
static void
create_number(struct inline_state *state, const struct util_dynarray *groups)
{
   bool is_late = state->driver.number && groups->size;

   util_dynarray_foreach (groups, struct group, group) {
      for (unsigned i = 0; i < group->count; i++) {
         is_late &=
            group->intrins[i]->intrinsic != nir_intrinsic_sync_gpuval || is_number(group, i);
      }
   }
   if (!is_late)
      return;

   nir_builder at_top = nir_builder_at(nir_before_impl(state->b.impl));
   state->number = nir_local_variable_create(state->b.impl, glsl_uint_type(), "number");
   state->has_number = nir_local_variable_create(state->b.impl, glsl_bool_type(), "has_number");
   nir_store_var(&at_top, state->number, nir_imm_int(&at_top, 0), 0x1);
   nir_store_var(&at_top, state->has_number, nir_imm_false(&at_top), 0x1);
}

static void
ensure_number(struct inline_state *state)
{
   nir_builder *b = &state->b;

   if (!state->number)
      return;
   nir_push_if(b, nir_inot(b, nir_load_var(b, state->has_number)));
   nir_store_var(b, state->number, state->driver.number(&state->driver, b), 0x1);
   nir_store_var(b, state->has_number, nir_imm_true(b), 0x1);
   nir_pop_if(b, NULL);
}

static nir_def *
get_number(struct inline_state *state, const struct group *group, const struct turn *turn)
{
   if (state->number)
      return nir_load_var(&state->b, state->number);
   return gpuval_nir_select_src(&state->b, group, turn, ACCESS_CONTEXT, 0);
}

static struct gpuval_nir_access_params
get_params(struct inline_state *state, const struct group *group, const struct turn *turn)
{
   nir_builder *b = &state->b;
   nir_def *word = gpuval_nir_select_constant(b, group, turn, get_access_word);
   nir_def *flags = nir_iand_imm(b, word, 0xffff);
   nir_def *id = get_number(state, group, turn);

   return (struct gpuval_nir_access_params){
      .address = gpuval_nir_select_src(b, group, turn, ACCESS_ADDRESS, 0),
      .size = gpuval_nir_select_src(b, group, turn, ACCESS_SIZE, 0),
      .type = nir_iand_imm(b, flags, GPUVAL_SYNC_TYPE_MASK),
      .access = nir_iand_imm(b, nir_ushr_imm(b, flags, GPUVAL_SYNC_ACCESS_SHIFT), 7),
      .notes = state->glances && !state->has_orders,
      .orders = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_ORDERS), 0),
      .entry = gpuval_nir_select_entry(b, &state->driver, group, turn),
      .invocation_id = id,
      .is_visible = gpuval_nir_is_visible(b, flags, id),
      .has_phases = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_HAS_PHASES), 0),
      .token = gpuval_nir_select_src(b, group, turn, ACCESS_CONTEXT, 1),
      .phase = gpuval_nir_select_src(b, group, turn, ACCESS_CONTEXT, 2),
      .value = gpuval_nir_select_src(b, group, turn, ACCESS_CONTEXT, 3),
      .has_value = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_HAS_VALUE), 0),
      .is_constant = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_CONSTANT), 0),
      .set = nir_ushr_imm(b, word, 16),
      .offset = gpuval_nir_select_src(b, group, turn, ACCESS_OFFSET, 0),
      .slot = gpuval_nir_select_src(b, group, turn, ACCESS_SLOT, 0),
      .invocation = {gpuval_nir_select_invocation(b, group, turn, ACCESS_INVOCATION, 0),
                     gpuval_nir_select_invocation(b, group, turn, ACCESS_INVOCATION, 1),
                     gpuval_nir_select_invocation(b, group, turn, ACCESS_INVOCATION, 2)},
   };
}

static nir_def *
is_on(struct inline_state *state, const struct group *group)
{
   nir_builder *b = &state->b;
   const uint32_t off = state->options->sync_off;

   if (!off || is_shared(group->intrins[0]))
      return nir_imm_true(b);
   return nir_ieq_imm(b, nir_iand_imm(b, state->driver.sync_flags(&state->driver, b), off), 0);
}

static bool
has_order(const struct group *group)
{
   for (unsigned i = 0; i < group->count; i++) {
      if (nir_intrinsic_flags(group->intrins[i]) & GPUVAL_SYNC_ORDERS)
         return true;
   }
   return false;
}

static bool
has_quick_looks(const struct inline_state *state, const struct group *group)
{
   return state->driver.has_table && state->options->has_shadow && !is_shared(group->intrins[0]) &&
          !is_for_filter(group->intrins[0]);
}

static void
build_shadow(struct inline_state *state, const struct group *group, const struct turn *turn,
             struct gpuval_nir_access_params *access, bool has_been_looked_at)
{
   nir_builder *b = &state->b;
   struct turn_area area = {NULL};

   access->command = get_command(state);
   if (!state->driver.has_table) {
      gpuval_nir_build_shadow(b, &state->driver, access);
      return;
   }

   area = begin_turn_area(state, group, turn);
   access->last_area = area.var;
   if (has_been_looked_at) {
      gpuval_nir_build_shadow(b, &state->driver, access);
   } else {
      struct gpuval_nir_quick quick;
      gpuval_nir_begin_quick(b, &state->driver, access, nir_imm_true(b), &quick);
      gpuval_nir_end_quick(b, &quick);
      access->was_taken = quick.was_taken;
      nir_push_if(b, nir_inot(b, quick.done));
      mark_rare(state);
      gpuval_nir_build_shadow(b, &state->driver, access);
      nir_pop_if(b, NULL);
   }
   end_turn_area(state, &area);
}

static void
build_access(struct inline_state *state, const struct group *group, const struct turn *turn,
             const struct left *left)
{
   nir_builder *b = &state->b;
   const struct gpuval_nir_driver *driver = &state->driver;
   nir_def *active = left ? gpuval_nir_select(b, turn, left->active, group->count)
                          : nir_iand(b, is_on(state, group),
                                     gpuval_nir_select_src(b, group, turn, ACCESS_ACTIVE, 0));

   nir_push_if(b, active);
   {
      struct gpuval_nir_access_params access = get_params(state, group, turn);
      if (left)
         access.was_taken = gpuval_nir_select(b, turn, left->taken, group->count);

      if (is_shared(group->intrins[0])) {
         gpuval_nir_build_shared(b, driver, &access);
      } else if (is_for_filter(group->intrins[0])) {
         nir_push_if(b, gpuval_nir_has_no_cells(b, driver, access.address, access.size));
         gpuval_nir_build_access(b, driver, driver->hashes, &access);
         nir_pop_if(b, NULL);
      } else if (state->options->has_shadow) {
         build_shadow(state, group, turn, &access, left);
      } else {
         gpuval_nir_build_access(b, driver, driver->hashes, &access);
      }
   }
   nir_pop_if(b, NULL);
}

/* A loop over all: the code for one of them is long. */
static void
build_accesses(struct inline_state *state, const struct group *group, const struct left *left)
{
   nir_builder *b = &state->b;

   if (group->count == 1) {
      build_access(state, group, NULL, left);
      return;
   }

   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      nir_break_if(b, nir_uge_imm(b, i, group->count));
      nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);
      const struct turn turn = gpuval_nir_begin_turn(b, i);
      build_access(state, group, &turn, left);
   }
   nir_pop_loop(b, loop);
}

/* Quick looks at the same time: each takes registers. */
#define MAX_QUICK_LOOKS 4

/* Behind the last of those that are looked at together with the one at @first: all loads or none,
 * for stores look once more.
 */
static unsigned
find_end(const struct group *group, unsigned first)
{
   unsigned end = first + 1;

   while (end < group->count && end < first + MAX_QUICK_LOOKS &&
          is_load(group->intrins[end]) == is_load(group->intrins[first]))
      end++;
   return end;
}

/* At those of @group from @first to before @end. Returns, 1 bit, whether any of them is still to be
 * looked at.
 */
static nir_def *
build_quick_looks(struct inline_state *state, const struct group *group, unsigned first,
                  unsigned end, struct left *left)
{
   nir_builder *b = &state->b;
   struct gpuval_nir_quick looks[MAX_QUICK_LOOKS];
   nir_def *on = is_on(state, group), *any = nir_imm_false(b);

   for (unsigned i = first; i < end; i++) {
      const struct group one = {{group->intrins[i]}, 1};
      struct gpuval_nir_access_params access = get_params(state, &one, NULL);
      nir_def *active = gpuval_nir_select_src(b, &one, NULL, ACCESS_ACTIVE, 0);

      access.command = get_command(state);
      access.last_area = get_last_area(state, &one, 0)->var;
      gpuval_nir_begin_quick(b, &state->driver, &access, nir_iand(b, on, active),
                             &looks[i - first]);
   }
   for (unsigned i = first; i < end; i++) {
      struct gpuval_nir_quick *look = &looks[i - first];
      gpuval_nir_end_quick(b, look);
      nir_def *active = nir_iand(b, look->active, nir_inot(b, look->done));
      any = nir_ior(b, any, active);
      left->active[i] = nir_get_scalar(active, 0);
      left->taken[i] = nir_get_scalar(look->was_taken, 0);
   }
   return any;
}

/* Finds where the accesses of @group are, unless that is where the last ones have been. */
static void
approach_areas(struct inline_state *state, const struct group *group)
{
   nir_builder *b = &state->b;

   for (unsigned i = 0; i < group->count; i++) {
      const struct last_area *last = get_last_area(state, group, i);
      bool is_known = false;

      for (unsigned j = 0; j < i; j++)
         is_known |= get_last_area(state, group, j) == last;
      if (is_known)
         continue;
      const struct group one = {{group->intrins[i]}, 1};
      gpuval_nir_come_near(b, get_command(state),
                           gpuval_nir_select_src(b, &one, NULL, ACCESS_ADDRESS, 0), last->var,
                           &last->near);
   }
}

static void
look_at(struct inline_state *state, const struct group *group)
{
   nir_builder *b = &state->b;
   struct left left;
   nir_def *any = nir_imm_false(b);

   ensure_number(state);
   if (group->count > MAX_QUICK_GROUP || state->num_accesses > MAX_QUICK_ACCESSES) {
      build_accesses(state, group, NULL);
      return;
   }
   for (unsigned i = 0, end; i < group->count; i = end) {
      end = find_end(group, i);
      any = nir_ior(b, any, build_quick_looks(state, group, i, end, &left));
   }
   nir_push_if(b, any);
   mark_rare(state);
   build_accesses(state, group, &left);
   nir_pop_if(b, NULL);
}

/* Returns, 1 bit, whether there is nothing to look at for any invocation of the subgroup. */
static nir_def *
glance_at(struct inline_state *state, const struct group *loads)
{
   nir_builder *b = &state->b;
   nir_def *on = is_on(state, loads), *covered = nir_imm_true(b);

   for (unsigned i = 0; i < loads->count; i++) {
      const struct group one = {{loads->intrins[i]}, 1};
      struct gpuval_nir_access_params access = get_params(state, &one, NULL);
      nir_def *active = gpuval_nir_select_src(b, &one, NULL, ACCESS_ACTIVE, 0);
      const struct last_area *last = get_last_area(state, &one, 0);

      access.command = get_command(state);
      covered = nir_iand(
         b, covered,
         gpuval_nir_glance(b, &state->driver, &access, &last->near, nir_iand(b, on, active)));
   }
   return nir_vote_all(b, 1, covered);
}

/* Is it one, or a sum of some that nobody has added up yet? */
static bool
is_constant(nir_scalar value)
{
   value = nir_scalar_chase_movs(value);
   if (!nir_scalar_is_alu(value))
      return nir_scalar_is_const(value);
   return nir_scalar_alu_op(value) == nir_op_iadd &&
          is_constant(nir_scalar_chase_alu_src(value, 0)) &&
          is_constant(nir_scalar_chase_alu_src(value, 1));
}

/* Uniform buffers are loaded at constant places by most shaders, and all invocations of a command
 * load the same there. Once several workgroups have, a bit says so, and that is all that others ask
 * for.
 */
static bool
is_fixed(const nir_shader *nir, const struct group *group, unsigned i)
{
   const unsigned flags = nir_intrinsic_flags(group->intrins[i]);

   return nir->info.stage < GPUVAL_SHADOW_LOAD_STAGES && is_load(group->intrins[i]) &&
          !is_shared(group->intrins[i]) && !is_for_filter(group->intrins[i]) &&
          nir_intrinsic_desc_set(group->intrins[i]) != GPUVAL_REPORT_PLAIN &&
          (flags >> GPUVAL_SYNC_ACCESS_SHIFT & 7) == GPUVAL_ORDER_UNIFORM_READ &&
          !(flags & GPUVAL_SYNC_MAY_BE_VISIBLE) && is_constant(get_src(group, i, ACCESS_SLOT, 0)) &&
          is_constant(get_src(group, i, ACCESS_OFFSET, 0));
}

/* Those of @loads, and the rest of them, which stays there */
static void
take_fixed(const nir_shader *nir, struct group *loads, struct group *fixed)
{
   unsigned count = 0;

   fixed->count = 0;
   for (unsigned i = 0; i < loads->count; i++) {
      if (is_fixed(nir, loads, i))
         fixed->intrins[fixed->count++] = loads->intrins[i];
      else
         loads->intrins[count++] = loads->intrins[i];
   }
   loads->count = count;
}

static void
look_at_fixed(struct inline_state *state, const struct group *fixed)
{
   nir_builder *b = &state->b;
   const unsigned number = state->num_fixed++;

   get_command(state);
   nir_def *is_done = nir_ine_imm(b, nir_iand_imm(b, state->loads.groups, BITFIELD_BIT(number)), 0);
   begin_rare(state, nir_inot(b, is_done));
   approach_areas(state, fixed);
   nir_push_if(b, glance_at(state, fixed));
   gpuval_nir_note_loads(b, &state->loads, number);
   nir_push_else(b, NULL);
   look_at(state, fixed);
   nir_pop_if(b, NULL);
   nir_pop_if(b, NULL);
}

/* Loads first: most of what is loaded often has been loaded by others, and to see that is little
 * code.
 */
static void
look_quickly(struct inline_state *state, const struct group *group)
{
   nir_builder *b = &state->b;
   struct group loads, others, fixed, rest = *group;

   if (!state->has_orders && state->num_fixed < GPUVAL_SHADOW_LOAD_GROUPS) {
      take_fixed(b->shader, &rest, &fixed);
      if (fixed.count)
         look_at_fixed(state, &fixed);
   }
   if (!rest.count)
      return;
   gpuval_nir_part_loads(&rest, &loads, &others);
   if (state->has_orders || !gpuval_nir_are_worth_a_glance(&loads)) {
      look_at(state, &rest);
      return;
   }
   approach_areas(state, &loads);
   nir_push_if(b, nir_inot(b, glance_at(state, &loads)));
   look_at(state, &loads);
   nir_pop_if(b, NULL);
   if (others.count)
      look_at(state, &others);
}

static void
count_accesses(struct inline_state *state, const struct group *group)
{
   struct group loads, others, fixed;

   state->has_orders |= has_order(group);
   if (!has_quick_looks(state, group))
      return;
   state->num_accesses += group->count;
   gpuval_nir_part_loads(group, &loads, &others);
   state->glances |= gpuval_nir_are_worth_a_glance(&loads);
   take_fixed(state->b.shader, &loads, &fixed);
   state->glances |= fixed.count > 0;
   if (fixed.count && !state->first_fixed.count)
      state->first_fixed = (struct group){{fixed.intrins[0]}, 1};
}

/* Looked at where some memory has no cells, which is seldom so. */
static void
look_by_filter(struct inline_state *state, const struct group *group)
{
   nir_builder *b = &state->b;

   begin_rare(state, gpuval_nir_may_have_no_cells(b, &state->driver));
   ensure_number(state);
   build_accesses(state, group, NULL);
   nir_pop_if(b, NULL);
}

static void
lower_accesses(struct inline_state *state, const struct group *group)
{
   if (is_for_filter(group->intrins[0]))
      look_by_filter(state, group);
   else if (has_quick_looks(state, group) && !has_order(group))
      look_quickly(state, group);
   else {
      ensure_number(state);
      build_accesses(state, group, NULL);
   }
}

/* At the last one, where all sources are known; but what is bad has to be known at the first. */
static void
lower_group(struct inline_state *state, const struct group *group)
{
   nir_intrinsic_instr *last = group->intrins[group->count - 1];

   state->driver = choose_driver(state->options->driver, &(struct group){.count = 0});
   if (last->intrinsic == nir_intrinsic_check_address_gpuval) {
      gpuval_nir_inline_addresses(&state->b, &state->driver, &state->last_buffer, group);
      return;
   }

   state->b.cursor = nir_before_instr(&last->instr);
   if (last->intrinsic == nir_intrinsic_report_gpuval)
      lower_reports(state, group);
   else
      lower_accesses(state, group);

   for (unsigned i = 0; i < group->count; i++)
      nir_instr_remove(&group->intrins[i]->instr);
}

static bool
lower_messages(struct inline_state *state)
{
   bool progress = false;

   nir_foreach_block_safe (block, state->b.impl) {
      nir_foreach_instr_safe (instr, block) {
         if (instr->type == nir_instr_type_intrinsic &&
             nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_printf_gpuval) {
            gpuval_nir_lower_message(&state->b, &state->driver, nir_instr_as_intrinsic(instr));
            progress = true;
         }
      }
   }
   return progress;
}

bool
gpuval_nir_inline_checks(nir_shader *nir, const struct gpuval_nir_inline_options *options)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   struct inline_state state = {
      .b = nir_builder_create(impl),
      .options = options,
      .driver = *options->driver,
   };
   struct util_dynarray groups;

   bool progress = gpuval_nir_delay_reports(impl);
   nir_divergence_analysis(nir); /* gpuval_nir_turns.c */
   util_dynarray_init(&groups, NULL);
   state.ifs = _mesa_pointer_set_create(NULL);
   state.failures = _mesa_pointer_set_create(state.ifs);
   progress |= lower_messages(&state);
   gpuval_nir_collect_groups(impl, options->has_shadow, &groups);
   progress |= groups.size > 0;
   util_dynarray_foreach (&groups, struct group, group) {
      if (group->intrins[0]->intrinsic == nir_intrinsic_sync_gpuval)
         count_accesses(&state, group);
   }
   create_number(&state, &groups);
   util_dynarray_foreach (&groups, struct group, group)
      lower_group(&state, group);
   util_dynarray_fini(&groups);
   if (!progress) {
      _mesa_set_destroy(state.ifs, NULL);
      nir_progress(false, impl, nir_metadata_all);
      return false;
   }

   nir_progress(true, impl, nir_metadata_none);
   nir_lower_vars_to_ssa(nir);
   nir_opt_dce(nir); /* the reports' vectors, which use what is to be sunk */
   gpuval_nir_sink(impl, state.ifs, state.failures);
   _mesa_set_destroy(state.ifs, NULL);
   nir_remove_dead_variables(nir, nir_var_function_temp, NULL);
   nir_validate_shader(nir, "after gpuval_nir_inline_checks");
   return true;
}

static bool
is_true(nir_def *condition)
{
   nir_scalar scalar = nir_scalar_resolved(condition, 0);
   return nir_scalar_is_const(scalar) && nir_scalar_as_bool(scalar);
}

/* Emits a called function in place of the call. Without a condition there is no branch, so that the
 * block stays one: its reports share a branch, and what it loads stays together.
 */
nir_def *
gpuval_nir_inline_call(nir_builder *b, const struct gpuval_nir_driver *driver,
                       nir_intrinsic_instr *call)
{
   const struct gpuval_nir_function *function = &gpuval_nir_functions[nir_intrinsic_base(call)];
   nir_def *words[GPUVAL_FUNCTION_MAX_WORDS];

   for (unsigned i = 0; i < function->num_words; i++)
      words[i] = nir_channel(b, call->src[1].ssa, i);

   if (is_true(call->src[0].ssa))
      return function->build(b, driver, words);

   nir_def *zero = nir_imm_intN_t(b, 0, call->def.bit_size);
   nir_push_if(b, call->src[0].ssa);
   nir_def *result = function->build(b, driver, words);
   nir_pop_if(b, NULL);
   return nir_if_phi(b, result, zero);
}
