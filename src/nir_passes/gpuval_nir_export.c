/* SPDX-License-Identifier: MIT */

/* export: NaN and infinity in what leaves a shader: colours and depth of fragments, and
 * positions.
 *
 * Both drivers have run nir_lower_io_to_temporaries: whatever the shader assigns in
 * between, one store at its end (before each EmitVertex(), in geometry shaders) is what
 * leaves. A fragment that was discarded before does not get there. Only mesh shaders
 * store each time they assign.
 *
 * That store stands for no instruction of the application. So before the temporaries
 * become SSA values, each assignment notes in a variable which instruction it is, and the
 * report says which was the last one: a phi at most, and nothing where there is but one.
 * RADV makes them SSA values before the hook: there a note stands before the store from
 * gpuval_nir_note_assignments() on.
 *
 * With the check nan on, the report says where the NaN or the infinity came up as well.
 *
 * What was never assigned is not looked at, component by component: undefined values are
 * what a backend likes them to be. Nor is what is certainly finite (gpuval_nir_finite.c).
 */

#include "gpuval_nir_float.h"
#include "gpuval_nir_private.h"

#include <math.h>

#include "util/hash_table.h"
#include "util/ralloc.h"

/* Where the output is, as sites have it; -1: not checked */
static int
get_output(const nir_shader *nir, const nir_variable *var, const nir_deref_instr *deref)
{
   unsigned location = var->data.location;

   if (nir->info.stage != MESA_SHADER_FRAGMENT)
      return location == VARYING_SLOT_POS ? GPUVAL_OUTPUT_POSITION : -1;
   if (location == FRAG_RESULT_DEPTH)
      return GPUVAL_OUTPUT_DEPTH;

   unsigned element = 0;
   if (deref->deref_type == nir_deref_type_array && nir_src_is_const(deref->arr.index))
      element = nir_src_as_uint(deref->arr.index);
   if (location == FRAG_RESULT_COLOR)
      return element;
   if (location < FRAG_RESULT_DATA0)
      return -1;
   return location - FRAG_RESULT_DATA0 + element + var->data.index * GPUVAL_OUTPUT_SECOND_SOURCE;
}

static bool
is_checked(const struct gpuval_nir_state *state, const struct gpuval_access *access)
{
   const nir_variable *var =
      access->type == GPUVAL_ACCESS_OUTPUT ? gpuval_nir_find_variable(access->resource) : NULL;

   return var && glsl_type_is_float_16_32_64(glsl_without_array(access->resource->type)) &&
          get_output(state->b.shader, var, access->resource) >= 0;
}

static nir_intrinsic_instr *
get_store(const struct gpuval_access *access)
{
   return nir_instr_as_intrinsic(access->instr);
}

/* The temporary that an output is copied from; NULL: none */
static nir_variable *
get_temporary(const struct gpuval_access *access)
{
   nir_instr *value = nir_def_instr(get_store(access)->src[1].ssa);

   if (value->type != nir_instr_type_intrinsic ||
       nir_instr_as_intrinsic(value)->intrinsic != nir_intrinsic_load_deref)
      return NULL;

   nir_variable *var = nir_intrinsic_get_var(nir_instr_as_intrinsic(value), 0);
   return var && var->data.mode == nir_var_function_temp ? var : NULL;
}

/* Which instruction has assigned last: SPIR-V offset, 32 bit. By output's temporary */
struct assignments {
   uint32_t only;     /* offset of the only one, 0: there are others */
   unsigned count;    /* of different ones */
   nir_variable *var; /* NULL: @only is all */
};

static void
count_assignment(const struct gpuval_nir_state *state, const nir_instr *instr,
                 struct assignments *assignments)
{
   uint32_t offset = gpuval_nir_spirv_offset(state, instr->index);

   if (assignments->count && assignments->only == offset)
      return;
   assignments->only = assignments->count ? 0 : offset;
   assignments->count++;
}

static struct assignments *
find_assignments(struct hash_table *table, nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return NULL;

   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
   if (intrin->intrinsic != nir_intrinsic_store_deref &&
       intrin->intrinsic != nir_intrinsic_copy_deref)
      return NULL;

   nir_variable *var = nir_intrinsic_get_var(intrin, 0);
   struct hash_entry *entry = var ? _mesa_hash_table_search(table, var) : NULL;
   return entry ? entry->data : NULL;
}

static void
note_assignments(struct gpuval_nir_state *state, struct hash_table *table)
{
   nir_builder *b = &state->b;

   nir_foreach_block (block, b->impl) {
      nir_foreach_instr (instr, block) {
         struct assignments *assignments = find_assignments(table, instr);
         if (assignments)
            count_assignment(state, instr, assignments);
      }
   }
   hash_table_foreach (table, entry) {
      struct assignments *assignments = entry->data;
      if (assignments->count > 1) {
         assignments->var = nir_local_variable_create(b->impl, glsl_uint_type(), "assigned");
         b->cursor = nir_before_impl(b->impl);
         nir_store_var(b, assignments->var, nir_imm_int(b, 0), 0x1);
      }
   }
   nir_foreach_block (block, b->impl) {
      nir_foreach_instr_safe (instr, block) {
         struct assignments *assignments = find_assignments(table, instr);
         if (assignments && assignments->var) {
            b->cursor = nir_after_instr(instr);
            nir_store_var(b, assignments->var,
                          nir_imm_int(b, gpuval_nir_spirv_offset(state, instr->index)), 0x1);
         }
      }
   }
}

bool
gpuval_nir_has_exports(const struct gpuval_nir_state *state)
{
   if (!(state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_EXPORT)))
      return false;

   nir_foreach_shader_out_variable (var, state->b.shader)
      return true;
   return false;
}

static void
find_assigned(struct gpuval_nir_state *state)
{
   nir_builder *b = &state->b;
   struct hash_table *table = _mesa_pointer_hash_table_create(NULL);

   gpuval_nir_foreach_access(state, access)
   {
      nir_variable *var = is_checked(state, access) ? get_temporary(access) : NULL;
      if (var && !_mesa_hash_table_search(table, var))
         _mesa_hash_table_insert(table, var, rzalloc(table, struct assignments));
   }
   if (table->entries)
      note_assignments(state, table);

   gpuval_nir_foreach_access(state, access)
   {
      nir_variable *var = is_checked(state, access) ? get_temporary(access) : NULL;
      if (!var)
         continue;

      const struct assignments *assignments = _mesa_hash_table_search(table, var)->data;
      b->cursor = nir_before_instr(access->instr);
      /* The load itself will be gone. */
      access->assigned = assignments->var ? nir_mov(b, nir_load_var(b, assignments->var))
                                          : nir_imm_int(b, assignments->only);
   }
   ralloc_free(table);
}

/* Which output a note is about */
static uint32_t
get_note_key(const struct gpuval_access *access)
{
   const nir_variable *var = gpuval_nir_find_variable(access->resource);
   return var->data.location | var->data.location_frac << 8 | var->data.index << 16;
}

/* A report of nothing: passes leave it where it is. */
static void
emit_note(struct gpuval_nir_state *state, const struct gpuval_access *access)
{
   nir_builder *b = &state->b;
   nir_def *zero = nir_imm_int(b, 0);

   nir_report_gpuval(b, nir_imm_false(b), nir_vec4(b, access->assigned, zero, zero, zero), zero,
                     nir_vec3(b, zero, zero, zero), .base = get_note_key(access),
                     .desc_set = GPUVAL_REPORT_ASSIGNED);
}

static bool
is_note(const nir_instr *instr)
{
   return instr->type == nir_instr_type_intrinsic &&
          nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_report_gpuval &&
          nir_intrinsic_desc_set(nir_instr_as_intrinsic(instr)) == GPUVAL_REPORT_ASSIGNED;
}

static nir_def *
find_note(nir_builder *b, const struct gpuval_access *access)
{
   for (nir_instr *instr = nir_instr_prev(access->instr); instr; instr = nir_instr_prev(instr)) {
      if (is_note(instr) &&
          nir_intrinsic_base(nir_instr_as_intrinsic(instr)) == get_note_key(access)) {
         b->cursor = nir_before_instr(access->instr);
         return nir_channel(b, nir_instr_as_intrinsic(instr)->src[1].ssa, 0);
      }
   }
   return NULL;
}

static void
take_notes(struct gpuval_nir_state *state)
{
   gpuval_nir_foreach_access(state, access)
   {
      if (!access->assigned && is_checked(state, access))
         access->assigned = find_note(&state->b, access);
   }
   nir_foreach_block (block, state->b.impl) {
      nir_foreach_instr_safe (instr, block) {
         if (is_note(instr))
            nir_instr_remove(instr);
      }
   }
}

static nir_variable *
add_word(nir_builder *b, const char *name)
{
   nir_variable *var = nir_local_variable_create(b->impl, glsl_uint_type(), name);

   b->cursor = nir_before_impl(b->impl);
   nir_store_var(b, var, nir_imm_int(b, 0), 0x1);
   return var;
}

/* Keeps what there was where @condition is false. */
static void
set_word_if(nir_builder *b, nir_variable *var, nir_def *condition, nir_def *word)
{
   nir_store_var(b, var, nir_bcsel(b, condition, word, nir_load_var(b, var)), 0x1);
}

/* gpuval_nir_origin.c has left where what is stored in an output comes from. Where that is not
 * known, what has come up last in this invocation is the best guess.
 */
static void
note_births(struct gpuval_nir_state *state)
{
   nir_builder *b = &state->b;
   nir_variable *last = add_word(b, "born");
   nir_variable *origins[NUM_TOTAL_VARYING_SLOTS] = {NULL}; /* by location */

   nir_foreach_block (block, b->impl) {
      nir_foreach_instr_safe (instr, block) {
         const nir_intrinsic_instr *birth = gpuval_nir_as_early_report(instr, GPUVAL_CHECK_NAN);
         const nir_intrinsic_instr *note = gpuval_nir_as_early_report(instr, GPUVAL_CHECK_EXPORT);
         if (birth) {
            b->cursor = nir_after_instr(instr);
            set_word_if(b, last, birth->src[0].ssa, nir_imm_int(b, nir_intrinsic_base(birth)));
         } else if (note) {
            nir_variable **origin = &origins[nir_intrinsic_binding(note)];
            *origin = *origin ? *origin : add_word(b, "origin");
            b->cursor = nir_after_instr(instr);
            nir_def *word = nir_channel(b, note->src[1].ssa, 0);
            set_word_if(b, *origin, nir_ine_imm(b, word, 0), word);
         }
      }
   }
   gpuval_nir_foreach_access(state, access)
   {
      if (!is_checked(state, access))
         continue;
      nir_variable *origin = origins[gpuval_nir_find_variable(access->resource)->data.location];
      b->cursor = nir_before_instr(access->instr);
      access->born = nir_mov(b, nir_load_var(b, last));
      if (origin) {
         nir_def *word = nir_mov(b, nir_load_var(b, origin));
         access->born = nir_bcsel(b, nir_ine_imm(b, word, 0), word, access->born);
      }
   }
}

void
gpuval_nir_prepare_export(struct gpuval_nir_state *state)
{
   if (!gpuval_nir_has_exports(state))
      return;

   find_assigned(state);
   take_notes(state);
   if (state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_NAN))
      note_births(state);
   NIR_PASS(_, state->b.shader, nir_lower_vars_to_ssa);
}

void
gpuval_nir_note_exports(struct gpuval_nir_state *state)
{
   find_assigned(state);
   gpuval_nir_foreach_access(state, access)
   {
      if (access->assigned) {
         state->b.cursor = nir_before_instr(access->instr);
         emit_note(state, access);
      }
   }
}

static bool
is_undefined(nir_scalar scalar)
{
   return nir_def_instr(scalar.def)->type == nir_instr_type_undef;
}

/* Components of an output, and what they have of NaN and of infinity: 32 bit each, where the report
 * is made
 */
struct finding {
   nir_def *any;     /* 1 bit: either */
   nir_def *highest; /* magnitude */
   nir_def *sum;     /* of magnitudes, as floats of 32 bits; NULL: there are others */
   nir_def *nan, *inf;
};

/* What is not finite leaves a sum that is not, and magnitudes cost an addition nothing. A sum of
 * what is finite may be too large: so it is looked at more closely then.
 */
static void
add_to_sum(nir_builder *b, struct finding *finding, nir_def *value)
{
   bool is_first = !finding->any;

   if (value->bit_size != 32 || (!is_first && !finding->sum)) {
      finding->sum = NULL;
      return;
   }
   bool exact = b->exact;
   b->exact = true;
   nir_def *magnitude = nir_fabs(b, value);
   finding->sum = is_first ? magnitude : nir_fadd(b, finding->sum, magnitude);
   b->exact = exact;
}

/* 1 bit: whether @finding has to be looked at, as gpuval_nir_groups.c knows it */
static nir_def *
may_be_any(nir_builder *b, const struct finding *finding)
{
   bool exact = b->exact;

   b->exact = true;
   nir_def *is_finite = nir_flt(b, finding->sum, nir_imm_float(b, INFINITY));
   b->exact = exact;
   return nir_inot(b, is_finite);
}

/* A NaN and infinity have the highest magnitudes, so that one comparison does. */
static void
add_magnitude(nir_builder *b, struct finding *finding, nir_def *value)
{
   nir_def *magnitude = gpuval_nir_magnitude(b, value);

   if (value->bit_size == 64) {
      nir_def *found = nir_uge(b, magnitude, gpuval_nir_infinity(b, 64));
      finding->any = finding->any ? nir_ior(b, finding->any, found) : found;
   } else {
      finding->highest = finding->highest ? nir_umax(b, finding->highest, magnitude) : magnitude;
      finding->any = nir_uge(b, finding->highest, gpuval_nir_infinity(b, value->bit_size));
   }
}

static nir_def *
add_bit(nir_builder *b, nir_def *bits, nir_def *found, unsigned bit)
{
   nir_def *mask = nir_bcsel(b, found, nir_imm_int(b, 1u << bit), nir_imm_int(b, 0));
   return bits ? nir_ior(b, bits, mask) : mask;
}

static void
add_component(nir_builder *b, struct finding *finding, nir_def *value, unsigned bit,
              bool is_repeated)
{
   if (!is_repeated) {
      add_to_sum(b, finding, value);
      add_magnitude(b, finding, value);
   }
   finding->nan = add_bit(b, finding->nan, gpuval_nir_is_nan(b, value), bit);
   finding->inf =
      add_bit(b, finding->inf, gpuval_nir_is_infinite(b, value), bit + GPUVAL_EXPORT_INF_SHIFT);
}

/* 0: not known, or not always the same */
static uint32_t
get_only_assignment(const struct gpuval_nir_state *state, const struct gpuval_access *access)
{
   if (state->b.shader->info.stage == MESA_SHADER_MESH)
      return gpuval_nir_spirv_offset(state, access->instance);
   if (!access->assigned)
      return 0;

   nir_scalar scalar = nir_get_scalar(access->assigned, 0);
   return nir_scalar_is_const(scalar) ? nir_scalar_as_uint(scalar) : 0;
}

/* An entry for each of what it can be, which stand side by side */
static uint32_t
add_entries(struct gpuval_nir_state *state, const struct gpuval_access *access, int output)
{
   const enum gpuval_kind kinds[] = {GPUVAL_KIND_EXPORT_NAN, GPUVAL_KIND_EXPORT_INF,
                                     GPUVAL_KIND_EXPORT_NAN_INF};
   uint32_t first = 0;

   for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
      const struct gpuval_site site = {
         .kind = kinds[i],
         .spirv_offset = get_only_assignment(state, access),
         .set = -1,
         .binding = output,
      };
      const struct gpuval_nir_entry entry = {
         .offset = output << GPUVAL_EXPORT_OUTPUT_SHIFT, /* of a record: beside the mask */
         .site = gpuval_nir_add_site(state, &site),
      };
      uint32_t number = gpuval_nir_add_entry(state, &entry);
      first = i ? first : number;
   }
   return first;
}

/* Which of add_entries() it is */
static nir_def *
get_number(nir_builder *b, const struct finding *finding)
{
   nir_def *both =
      nir_bcsel(b, nir_ieq_imm(b, finding->inf, 0), nir_imm_int(b, 0), nir_imm_int(b, 2));

   return nir_bcsel(b, nir_ieq_imm(b, finding->nan, 0), nir_imm_int(b, 1), both);
}

static void
report(struct gpuval_nir_state *state, const struct gpuval_access *access, int output,
       const struct finding *finding)
{
   nir_builder *b = &state->b;
   nir_def *zero = nir_imm_int(b, 0);
   bool asks_first = finding->sum && state->options->driver->inlines_functions;
   nir_def *mask = nir_ior(b, finding->nan, finding->inf);
   nir_def *which = get_number(b, finding);

   gpuval_nir_report(
      state,
      &(struct gpuval_nir_report){
         .failed = asks_first ? nir_iand(b, may_be_any(b, finding), finding->any) : finding->any,
         .detail = nir_vec4(b, mask, which, zero, access->born ? access->born : zero),
         .slot = access->assigned,
         .set = GPUVAL_REPORT_PLAIN,
         .first_entry = add_entries(state, access, output),
         .num_entries = 1,
      });
}

/* Is the same scalar among the components before? */
static bool
is_repeated(const nir_intrinsic_instr *store, unsigned component)
{
   nir_scalar scalar = nir_scalar_chase_movs(nir_get_scalar(store->src[1].ssa, component));

   u_foreach_bit (i, nir_intrinsic_write_mask(store) & BITFIELD_MASK(component)) {
      if (nir_scalar_equal(nir_scalar_chase_movs(nir_get_scalar(store->src[1].ssa, i)), scalar))
         return true;
   }
   return false;
}

/* Leaves it to the driver to look at components of 32 bits. Those that are not looked at are 0. */
static bool
report_values(struct gpuval_nir_state *state, const struct gpuval_access *access, int output)
{
   nir_builder *b = &state->b;
   nir_intrinsic_instr *store = get_store(access);
   unsigned first = gpuval_nir_find_variable(access->resource)->data.location_frac;
   nir_def *values[4] = {NULL};
   bool has_any = false;

   u_foreach_bit (i, nir_intrinsic_write_mask(store)) {
      nir_scalar scalar = nir_scalar_chase_movs(nir_get_scalar(store->src[1].ssa, i));
      if (is_undefined(scalar) || gpuval_nir_is_finite(scalar))
         continue;
      values[first + i] = nir_channel(b, scalar.def, scalar.comp);
      has_any = true;
   }
   if (!has_any)
      return false;

   for (unsigned i = 0; i < ARRAY_SIZE(values); i++)
      values[i] = values[i] ? values[i] : nir_imm_int(b, 0);
   gpuval_nir_report(state, &(struct gpuval_nir_report){
                               .failed = nir_imm_true(b),
                               .detail = nir_vec(b, values, ARRAY_SIZE(values)),
                               .slot = access->assigned,
                               .set = GPUVAL_REPORT_VALUES,
                               .first_entry = add_entries(state, access, output),
                               .num_entries = 1,
                            });
   return true;
}

void
gpuval_nir_find_in_values(nir_builder *b, nir_def *const values[4], nir_def **mask,
                          nir_def **number)
{
   struct finding finding = {0};

   for (unsigned i = 0; i < 4; i++)
      add_component(b, &finding, values[i], i, false);
   *mask = nir_ior(b, finding.nan, finding.inf);
   *number = get_number(b, &finding);
}

static bool
instrument(struct gpuval_nir_state *state, const struct gpuval_access *access)
{
   nir_builder *b = &state->b;
   nir_intrinsic_instr *store = get_store(access);
   nir_variable *var = gpuval_nir_find_variable(access->resource);
   int output = get_output(b->shader, var, access->resource);
   struct finding finding = {0};

   b->cursor = nir_before_instr(access->instr);
   if (state->options->driver->checks_values && !access->born && store->src[1].ssa->bit_size == 32)
      return report_values(state, access, output);

   u_foreach_bit (i, nir_intrinsic_write_mask(store)) {
      nir_scalar scalar = nir_scalar_chase_movs(nir_get_scalar(store->src[1].ssa, i));
      if (!is_undefined(scalar) && !gpuval_nir_is_finite(scalar))
         add_component(b, &finding, nir_channel(b, scalar.def, scalar.comp),
                       var->data.location_frac + i, is_repeated(store, i));
   }
   if (!finding.any)
      return false;

   report(state, access, output, &finding);
   return true;
}

bool
gpuval_nir_instrument_export(struct gpuval_nir_state *state)
{
   bool progress = false;

   if (!gpuval_nir_has_exports(state))
      return false;

   gpuval_nir_foreach_access(state, access)
   {
      if (is_checked(state, access))
         progress |= instrument(state, access);
   }
   return progress;
}
