/* SPDX-License-Identifier: MIT */

/* Checks of the shader as SPIR-V has it. vtn's callbacks and the early passes leave
 * @early_report_gpuval with all that is known there; the driver's lowering and optimizations
 * carry them along, as they do with other intrinsics that have an effect, and what they prove to be
 * false goes away. At the hook they become reports as those of the other checks.
 *
 * In between, the shader is brought into SSA form: a check of an index that is a loop's variable
 * could prove nothing of a variable in memory.
 */

#include "gpuval_nir_early.h"
#include "gpuval_nir_groups.h"

#include "gpuval/src/compat/gpuval_locations.h"
#include "spirv/nir_spirv.h"
#include "spirv/spirv.h"

void
gpuval_nir_report_early(nir_builder *b, const struct gpuval_nir_early_report *report)
{
   nir_def *zero = nir_imm_int(b, 0);
   nir_def *words = nir_vec2(b, report->words[0] ? report->words[0] : zero,
                             report->words[1] ? report->words[1] : zero);

   nir_def *name = report->name ? gpuval_build_name(b, report->name) : zero;

   nir_intrinsic_instr *intrin = nir_early_report_gpuval(
      b, report->failed, words, name, report->result ? report->result : zero,
      report->instead ? report->instead : zero, .base = report->spirv_offset, .range = report->kind,
      .flags = report->op, .align_mul = report->size, .desc_set = report->set,
      .binding = report->binding, .component = report->array);
   gpuval_set_name(b->shader, &intrin->instr, report->name);
}

void
gpuval_nir_emit_operation(nir_builder *b, unsigned opcode, nir_def **srcs, unsigned num_srcs,
                          nir_def *result, size_t spirv_offset)
{
   switch (opcode) {
   case SpvOpVectorExtractDynamic:
      gpuval_nir_emit_index(b, srcs[0], srcs[1], result, NULL, GPUVAL_OP_LOAD, spirv_offset);
      break;
   case SpvOpVectorInsertDynamic:
      gpuval_nir_emit_index(b, srcs[0], srcs[2], result, srcs[0], GPUVAL_OP_STORE, spirv_offset);
      break;
   default:
      gpuval_nir_keep_operation(b, opcode, srcs, num_srcs, result, spirv_offset);
      break;
   }
}

uint32_t
gpuval_nir_early_offset(const struct gpuval_nir_early *early, const nir_instr *instr)
{
   return *util_dynarray_element(&early->instances, uint32_t, instr->index);
}

static bool
is_on(const struct gpuval_nir_options *options, const nir_intrinsic_instr *report)
{
   enum gpuval_kind kind = nir_intrinsic_range(report);
   return options->checks & BITFIELD_BIT(gpuval_kind_infos[kind].check);
}

/* Removes what no check of this shader wants, and makes a failed instruction give what is harmless.
 */
static bool
settle_report(nir_builder *b, nir_intrinsic_instr *report, void *data)
{
   const struct gpuval_nir_options *options = data;
   if (gpuval_nir_is_operation(&report->instr) && !gpuval_nir_is_wanted(options, report)) {
      nir_instr_remove(&report->instr);
      return true;
   }
   if (report->intrinsic != nir_intrinsic_early_report_gpuval)
      return false;

   nir_def *result = report->src[3].ssa, *instead = report->src[4].ssa;
   b->cursor = nir_before_instr(&report->instr);
   nir_def *zero = nir_imm_int(b, 0);
   nir_src_rewrite(&report->src[3], zero);
   nir_src_rewrite(&report->src[4], zero);
   if (!is_on(options, report)) {
      nir_instr_remove(&report->instr);
      return true;
   }
   if (options->safe && result != instead && instead->num_components == result->num_components &&
       instead->bit_size == result->bit_size) {
      b->cursor = nir_after_instr(&report->instr);
      nir_def *safe = nir_bcsel(b, report->src[0].ssa, instead, result);
      gpuval_rewrite_uses_after(result, safe);
   }
   return true;
}

static void
begin(struct gpuval_nir_early *early)
{
   early->b = nir_builder_create(nir_shader_get_entrypoint(early->b.shader));
   util_dynarray_clear(&early->instances);
   gpuval_nir_index_by_instance(early->b.impl, &early->instances);
}

/* Nothing that a later pass of the driver would not do. */
static void
to_ssa(nir_shader *nir)
{
   NIR_PASS(_, nir, nir_lower_global_vars_to_local);
   NIR_PASS(_, nir, nir_lower_vars_to_ssa);
   NIR_PASS(_, nir, nir_opt_copy_prop);
   NIR_PASS(_, nir, nir_opt_dce);
}

#define gpuval_nir_early_none NULL
#define CHECK(id, name, sets, needs, early, pass, host, summary)                                   \
   [GPUVAL_CHECK_##id] = gpuval_nir_early_##early,
#define KIND(id, check, name, words, sentence, text)
static bool (*const passes[GPUVAL_CHECK_COUNT])(struct gpuval_nir_early *early) = {
#include "gpuval/src/base/gpuval_check_table.h"
};

void
gpuval_nir_instrument_early(nir_shader *nir, const struct gpuval_nir_options *options)
{
   struct gpuval_nir_early early = {.b.shader = nir, .options = options};
   uint32_t wanted = 0;

   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++)
      wanted |= passes[i] ? options->checks & BITFIELD_BIT(i) : 0;
   NIR_PASS(_, nir, nir_shader_intrinsics_pass, settle_report, nir_metadata_control_flow,
            (void *)options);
   if (!gpuval_nir_indexes_arrays(nir_shader_get_entrypoint(nir)))
      wanted &= ~BITFIELD_BIT(GPUVAL_CHECK_ARRAY);
   /* One pass is for both checks of operations. What it leaves is there when undefined looks. */
   if (wanted & BITFIELD_BIT(GPUVAL_CHECK_NAN))
      wanted |= BITFIELD_BIT(GPUVAL_CHECK_ARITHMETIC);
   if (!wanted)
      return;

   util_dynarray_init(&early.instances, NULL);
   begin(&early);
   gpuval_nir_early_constant_indices(&early);
   to_ssa(nir);
   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      if (!(wanted & BITFIELD_BIT(i)))
         continue;
      begin(&early);
      passes[i](&early);
   }
   util_dynarray_fini(&early.instances);
   nir_validate_shader(nir, "after gpuval_nir_instrument_early");
}

static bool
is_early_report(const nir_instr *instr)
{
   return instr->type == nir_instr_type_intrinsic &&
          nir_instr_as_intrinsic((nir_instr *)instr)->intrinsic ==
             nir_intrinsic_early_report_gpuval;
}

const nir_intrinsic_instr *
gpuval_nir_as_early_report(const nir_instr *instr, enum gpuval_check check)
{
   if (!is_early_report(instr))
      return NULL;

   const nir_intrinsic_instr *report = nir_instr_as_intrinsic((nir_instr *)instr);
   return gpuval_kind_infos[nir_intrinsic_range(report)].check == check ? report : NULL;
}

/* Behind @instr, invocations may be gone, or others may have run. */
static bool
ends_run(nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return instr->type == nir_instr_type_jump || instr->type == nir_instr_type_call;

   const nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
   switch (intrin->intrinsic) {
   case nir_intrinsic_early_report_gpuval:
   case nir_intrinsic_store_output:
   case nir_intrinsic_store_ssbo:
   case nir_intrinsic_store_global:
   case nir_intrinsic_store_shared:
   case nir_intrinsic_store_scratch:
      return false;
   default:
      return !(nir_intrinsic_infos[intrin->intrinsic].flags & NIR_INTRINSIC_CAN_ELIMINATE);
   }
}

static bool
is_same(nir_scalar a, nir_scalar b)
{
   a = nir_scalar_chase_movs(a);
   b = nir_scalar_chase_movs(b);
   return nir_scalar_equal(a, b) || (nir_scalar_is_const(a) && nir_scalar_is_const(b) &&
                                     nir_scalar_as_uint(a) == nir_scalar_as_uint(b));
}

/* Do both fail together, with the same words? What an array in a block is in its range is another
 * matter for each access.
 */
static bool
fail_alike(const nir_intrinsic_instr *a, const nir_intrinsic_instr *b)
{
   return a->src[0].ssa == b->src[0].ssa && nir_intrinsic_component(b) != GPUVAL_ARRAY_BLOCK &&
          is_same(nir_get_scalar(a->src[1].ssa, 0), nir_get_scalar(b->src[1].ssa, 0)) &&
          is_same(nir_get_scalar(a->src[1].ssa, 1), nir_get_scalar(b->src[1].ssa, 1));
}

static struct gpuval_site
get_site(struct gpuval_nir_state *state, const nir_intrinsic_instr *report)
{
   const char *name = gpuval_get_name(&report->instr, &report->src[2]);

   return (struct gpuval_site){
      .kind = nir_intrinsic_range(report),
      .op = nir_intrinsic_flags(report),
      .spirv_offset = nir_intrinsic_base(report),
      .set = (int)nir_intrinsic_desc_set(report),
      .binding = (int)nir_intrinsic_binding(report),
      .name = name ? gpuval_nir_add_name(state->table, name) : 0,
      .length = nir_intrinsic_align_mul(report),
      .array = nir_intrinsic_component(report),
   };
}

/* @instance: of the entry, which tells copies of one site apart */
static uint32_t
add_entry(struct gpuval_nir_state *state, const nir_intrinsic_instr *report,
          const struct gpuval_site *site, uint32_t instance)
{
   const struct gpuval_nir_entry entry = {
      .size = nir_intrinsic_align_mul(report),
      .site = gpuval_nir_add_site(state, site),
      .instance = instance,
   };
   return gpuval_nir_add_entry(state, &entry);
}

/* A shader that reads several members of the element at an index has a report for each of them. One
 * has the entries of those that follow in its block. They are looked for that far.
 */
#define MAX_RUN 1000

/* Returns how many there are. They become reports that do not fail. */
static uint32_t
add_alike(struct gpuval_nir_state *state, nir_intrinsic_instr *report)
{
   nir_def *never = NULL;
   uint32_t count = 0, distance = 0;

   for (nir_instr *instr = nir_instr_next(&report->instr);
        instr && distance < MAX_RUN && !ends_run(instr);
        instr = nir_instr_next(instr), distance++) {
      if (!is_early_report(instr))
         continue;
      nir_intrinsic_instr *other = nir_instr_as_intrinsic(instr);
      if (!is_on(state->options, other) || !fail_alike(report, other))
         continue;

      const struct gpuval_site site = get_site(state, other);
      add_entry(state, other, &site, ++count);
      if (!never)
         never = nir_imm_false(&state->b);
      nir_src_rewrite(&other->src[0], never);
   }
   return count;
}

/* Reports that wait for others of the block, so that a backend which calls a function has one
 * branch for all of them: with loads in between, each would be behind one of its own. Their words
 * stay alive meanwhile, so not too many. They wait for nothing that gpuval_nir_ends_group(), and,
 * where failing accesses are performed, for nothing at all: one of these may end the process.
 */
#define MAX_WAITING 8

struct waiting {
   struct gpuval_nir_report reports[MAX_WAITING];
   unsigned count;
};

static void
flush(struct gpuval_nir_state *state, struct waiting *waiting, nir_cursor cursor)
{
   nir_builder *b = &state->b;

   b->cursor = cursor;
   nir_def *zero = waiting->count ? nir_imm_int(b, 0) : NULL;
   for (unsigned i = 0; i < waiting->count; i++) /* nothing but constants between two reports */
      waiting->reports[i].detail = nir_vec4(b, waiting->reports[i].offset, zero, zero, zero);
   for (unsigned i = 0; i < waiting->count; i++)
      gpuval_nir_report(state, &waiting->reports[i]);
   waiting->count = 0;
}

static void
take_over(struct gpuval_nir_state *state, struct waiting *waiting, nir_intrinsic_instr *report)
{
   nir_builder *b = &state->b;
   if (!is_on(state->options, report) ||
       (nir_src_is_const(report->src[0]) && !nir_src_as_bool(report->src[0])))
      return;

   const struct gpuval_site site = get_site(state, report);
   nir_def *words = report->src[1].ssa;
   b->cursor = nir_before_instr(&report->instr);
   if (gpuval_nir_report_block_array(state, &site, report))
      return;

   const uint32_t first = add_entry(state, report, &site, 0);
   const uint32_t num_alike = add_alike(state, report);
   if (waiting->count == MAX_WAITING)
      flush(state, waiting, b->cursor);
   waiting->reports[waiting->count++] = (struct gpuval_nir_report){
      .failed = report->src[0].ssa,
      .offset = nir_channel(b, words, 0),
      .slot = nir_channel(b, words, 1),
      .set = GPUVAL_REPORT_PLAIN,
      .first_entry = first,
      .num_entries = 1 + num_alike,
   };
   if (!state->options->safe)
      flush(state, waiting, b->cursor);
}

bool
gpuval_nir_instrument_early_reports(struct gpuval_nir_state *state)
{
   struct waiting waiting = {.count = 0};
   bool progress = false;

   nir_foreach_block (block, state->b.impl) {
      nir_foreach_instr_safe (instr, block) {
         if (!is_early_report(instr)) {
            if (waiting.count && gpuval_nir_ends_group(instr, false))
               flush(state, &waiting, nir_before_instr(instr));
            continue;
         }

         take_over(state, &waiting, nir_instr_as_intrinsic(instr));
         nir_instr_remove(instr);
         progress = true;
      }
      flush(state, &waiting, nir_after_block_before_jump(block));
   }
   return progress;
}
