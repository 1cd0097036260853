/* SPDX-License-Identifier: MIT */

/* Reports: @report_gpuval, and the function that it becomes a call of.
 *
 * The failing path is a call because code size decides compile time on
 * llvmpipe: inline reports made a shader with 100 accesses compile five times
 * slower. The function goes through the table entries of the group, counts
 * each access that fails at its site, and tries to claim a record for it:
 *
 *    for each entry:
 *       if not (offset + entry.size <= bound): continue
 *       counters[site] += 1                       (64-bit atomic)
 *       root.failed = 1
 *       slot = hash(site, shader hash, command id)
 *       if control[slot / 16] has bit slot % 16: continue
 *       if atomic_or(control[slot / 16], bit) had it: continue
 *       records[slot] = ...
 *       release
 *       atomic_or(control[slot / 16], bit << 16)
 */

#include "gpuval_nir.h"
#include "gpuval/src/core/gpuval_layout.h"

enum {
   PARAM_FIRST_ENTRY, /* shader-local */
   PARAM_COUNT_SET,   /* number of entries | gpuval_nir_report::set << 16 */
   PARAM_OFFSET,      /* of the group's lowest entry */
   PARAM_SLOT,        /* gpuval_nir_report::slot */
   PARAM_INVOCATION,
   PARAM_NUM = PARAM_INVOCATION + 3,
};

uint32_t
gpuval_stage_to_spirv(gl_shader_stage stage)
{
   /* Values of seed 002, "Record Format", which are SPIR-V's */
   switch (stage) {
   case MESA_SHADER_VERTEX: return 0;
   case MESA_SHADER_TESS_CTRL: return 1;
   case MESA_SHADER_TESS_EVAL: return 2;
   case MESA_SHADER_GEOMETRY: return 3;
   case MESA_SHADER_FRAGMENT: return 4;
   case MESA_SHADER_COMPUTE: return 5;
   case MESA_SHADER_TASK: return 5267;
   case MESA_SHADER_MESH: return 5268;
   case MESA_SHADER_RAYGEN: return 5313;
   case MESA_SHADER_INTERSECTION: return 5314;
   case MESA_SHADER_ANY_HIT: return 5315;
   case MESA_SHADER_CLOSEST_HIT: return 5316;
   case MESA_SHADER_MISS: return 5317;
   case MESA_SHADER_CALLABLE: return 5318;
   default: return UINT32_MAX;
   }
}

/* The words that identify the invocation are taken first thing: they are
 * cheap, and so no report repeats them.
 */
static nir_def *
get_invocation(struct gpuval_nir_state *state)
{
   if (!state->invocation) {
      nir_builder at_top = nir_builder_at(nir_before_impl(state->b.impl));
      state->invocation = state->options->driver->invocation(&at_top);
   }
   return state->invocation;
}

void
gpuval_nir_report(struct gpuval_nir_state *state, const struct gpuval_nir_report *report)
{
   nir_builder *b = &state->b;
   nir_def *zero = report->offset && report->slot ? NULL : nir_imm_int(b, 0);

   nir_report_gpuval(b, report->failed, report->offset ? report->offset : zero,
                     report->slot ? report->slot : zero, get_invocation(state),
                     .base = report->first_entry, .range = report->num_entries,
                     .desc_set = report->set);
}

static nir_def *
load_root(nir_builder *b, nir_def *root, unsigned offset)
{
   return nir_load_global(b, nir_iadd_imm(b, root, offset), 8, 1, 64);
}

static nir_def *
element_address(nir_builder *b, nir_def *array, nir_def *index, unsigned stride)
{
   return nir_iadd(b, array, nir_imul_imm(b, nir_u2u64(b, index), stride));
}

static nir_def *
load_entry(nir_builder *b, nir_def *entry, unsigned offset, unsigned components)
{
   return nir_load_global(b, nir_iadd_imm(b, entry, offset), 4, components, 32);
}

static nir_def *
param(nir_builder *b, unsigned index)
{
   return nir_load_param(b, index);
}

struct failure {
   nir_def *root;
   nir_def *site;
   nir_def *stage;
   nir_def *hash_lo, *hash_hi;
   nir_def *command_id;
   nir_def *offset;
   nir_def *access_size;
   nir_def *bound; /* NULL: not about a buffer */
   nir_def *set, *slot;
   nir_def *address; /* 64 bit */
};

/* Two words with one instruction: masked stores are long on llvmpipe. */
static void
store_words(nir_builder *b, nir_def *record, unsigned word, nir_def *lo, nir_def *hi)
{
   nir_store_global(b, nir_iadd_imm(b, record, word * 4), 8, nir_pack_64_2x32_split(b, lo, hi),
                    0x1);
}

static void
write_record(nir_builder *b, nir_def *record, const struct failure *f)
{
   nir_def *zero = nir_imm_int(b, 0);

   store_words(b, record, 0, f->hash_lo, f->hash_hi);
   store_words(b, record, 2, f->site, f->command_id);
   store_words(b, record, 4, f->stage, param(b, PARAM_INVOCATION));
   store_words(b, record, 6, param(b, PARAM_INVOCATION + 1), param(b, PARAM_INVOCATION + 2));
   if (f->bound) {
      store_words(b, record, 8, f->offset, f->access_size);
      store_words(b, record, 10, f->bound, f->slot);
      store_words(b, record, 12, nir_unpack_64_2x32_split_x(b, f->address),
                  nir_unpack_64_2x32_split_y(b, f->address));
      store_words(b, record, 14, f->set, zero);
   } else {
      store_words(b, record, 8, zero, zero);
   }
}

static void
report_failure(nir_builder *b, const struct failure *f)
{
   nir_def *counters = load_root(b, f->root, offsetof(struct gpuval_root, counters_address));
   nir_global_atomic(b, 64, element_address(b, counters, f->site, sizeof(uint64_t)),
                     nir_imm_int64(b, 1), .atomic_op = nir_atomic_op_iadd);
   nir_store_global(b, nir_iadd_imm(b, f->root, offsetof(struct gpuval_root, failed)), 4,
                    nir_imm_int(b, 1), 0x1);

   nir_def *hash = nir_ixor(b, nir_imul_imm(b, f->site, GPUVAL_SLOT_SITE_FACTOR),
                            nir_ixor(b, f->hash_lo, f->hash_hi));
   hash = nir_ixor(b, hash, nir_imul_imm(b, f->command_id, GPUVAL_SLOT_COMMAND_FACTOR));
   nir_def *slot = nir_iand_imm(b, hash, GPUVAL_SLOT_COUNT - 1);

   nir_def *control = load_root(b, f->root, offsetof(struct gpuval_root, control_address));
   nir_def *word = element_address(b, control, nir_ushr_imm(b, slot, 4), sizeof(uint32_t));
   nir_def *bit = nir_ishl(b, nir_imm_int(b, 1), nir_iand_imm(b, slot, 15));

   /* Only a hint, but it spares all the later failures the atomic. */
   nir_def *taken =
      nir_iand(b, nir_build_load_global(b, 1, 32, word, .access = ACCESS_COHERENT), bit);
   nir_push_if(b, nir_ieq_imm(b, taken, 0));
   {
      nir_def *before = nir_global_atomic(b, 32, word, bit, .atomic_op = nir_atomic_op_ior);
      nir_push_if(b, nir_ieq_imm(b, nir_iand(b, before, bit), 0));
      {
         nir_def *records = load_root(b, f->root, offsetof(struct gpuval_root, records_address));
         write_record(b, element_address(b, records, slot, sizeof(struct gpuval_record)), f);
         nir_barrier(b, .memory_scope = SCOPE_DEVICE, .memory_semantics = NIR_MEMORY_RELEASE,
                     .memory_modes = nir_var_mem_global);
         nir_global_atomic(b, 32, word, nir_ishl_imm(b, bit, 16), .atomic_op = nir_atomic_op_ior);
      }
      nir_pop_if(b, NULL);
   }
   nir_pop_if(b, NULL);
}

/* Which entries of the group are out of range? */
static void
build_buffer_report(nir_builder *b, const struct gpuval_nir_driver *driver, bool is_inline)
{
   nir_def *root = driver->root_address(b);
   nir_def *count_set = param(b, PARAM_COUNT_SET);
   nir_def *set = nir_ushr_imm(b, count_set, 16);
   nir_def *slot = param(b, PARAM_SLOT);
   nir_def *bound = is_inline ? slot : driver->buffer_size(b, set, slot);

   /* No descriptor there: not this check's business. */
   nir_push_if(b, nir_ine_imm(b, bound, 0));
   {
      nir_def *entries = load_root(b, root, offsetof(struct gpuval_root, entries_address));
      nir_def *first = nir_iadd(b, param(b, PARAM_FIRST_ENTRY),
                                driver->entry_base(b, b->shader->info.stage));
      nir_def *address = is_inline ? nir_imm_int64(b, 0) : driver->buffer_address(b, set, slot);
      nir_def *command_id = driver->command_id(b);
      nir_def *count = nir_iand_imm(b, count_set, 0xffff);

      nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
      nir_variable *last_var = nir_local_variable_create(b->impl, glsl_uint_type(), "last");
      nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
      nir_store_var(b, last_var, nir_imm_int(b, ~0), 0x1);

      nir_loop *loop = nir_push_loop(b);
      {
         nir_def *i = nir_load_var(b, i_var);
         nir_break_if(b, nir_uge(b, i, count));
         nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);

         nir_def *entry = element_address(b, entries, nir_iadd(b, first, i),
                                          sizeof(struct gpuval_entry));
         nir_def *words = load_entry(b, entry, 0, 4);
         nir_def *offset = nir_iadd(b, param(b, PARAM_OFFSET), nir_channel(b, words, 0));
         nir_def *size = nir_channel(b, words, 1);
         nir_def *site = nir_channel(b, words, 2);

         nir_def *failed = nir_ior(b, nir_ult(b, bound, size),
                                   nir_ult(b, nir_isub(b, bound, size), offset));
         /* An instruction that became several accesses fails once. */
         failed = nir_iand(b, failed, nir_ine(b, site, nir_load_var(b, last_var)));

         nir_push_if(b, failed);
         {
            nir_store_var(b, last_var, site, 0x1);
            nir_def *hash = load_entry(b, entry, offsetof(struct gpuval_entry, shader_hash), 2);
            report_failure(b, &(struct failure){
               .root = root,
               .site = site,
               .stage = nir_channel(b, words, 3),
               .hash_lo = nir_channel(b, hash, 0),
               .hash_hi = nir_channel(b, hash, 1),
               .command_id = command_id,
               .offset = offset,
               .access_size = size,
               .bound = bound,
               .set = set,
               .slot = is_inline ? nir_imm_int(b, 0) : slot,
               .address = address,
            });
         }
         nir_pop_if(b, NULL);
      }
      nir_pop_loop(b, loop);
   }
   nir_pop_if(b, NULL);
}

static void
build_plain_report(nir_builder *b, const struct gpuval_nir_driver *driver)
{
   nir_def *root = driver->root_address(b);
   nir_def *entries = load_root(b, root, offsetof(struct gpuval_root, entries_address));
   nir_def *index = nir_iadd(b, param(b, PARAM_FIRST_ENTRY),
                             driver->entry_base(b, b->shader->info.stage));
   nir_def *entry = element_address(b, entries, index, sizeof(struct gpuval_entry));
   nir_def *words = load_entry(b, entry, 8, 4);

   report_failure(b, &(struct failure){
      .root = root,
      .site = nir_channel(b, words, 0),
      .stage = nir_channel(b, words, 1),
      .hash_lo = nir_channel(b, words, 2),
      .hash_hi = nir_channel(b, words, 3),
      .command_id = driver->command_id(b),
   });
}

static nir_function *
get_function(nir_shader *nir, const struct gpuval_nir_driver *driver, unsigned set)
{
   const char *name = set == GPUVAL_REPORT_PLAIN    ? "gpuval_report_plain"
                      : set == GPUVAL_REPORT_INLINE ? "gpuval_report_inline"
                                                    : "gpuval_report_buffer";
   nir_foreach_function(function, nir) {
      if (function->name && !strcmp(function->name, name))
         return function;
   }

   nir_function *function = nir_function_create(nir, name);
   function->num_params = PARAM_NUM;
   function->params = rzalloc_array(nir, nir_parameter, PARAM_NUM);
   for (unsigned i = 0; i < PARAM_NUM; i++) {
      function->params[i].num_components = 1;
      function->params[i].bit_size = 32;
   }

   nir_function_impl *impl = nir_function_impl_create(function);
   nir_builder b = nir_builder_at(nir_before_impl(impl));
   if (set == GPUVAL_REPORT_PLAIN)
      build_plain_report(&b, driver);
   else
      build_buffer_report(&b, driver, set == GPUVAL_REPORT_INLINE);

   return function;
}

static bool
lower_report(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   if (intrin->intrinsic != nir_intrinsic_report_gpuval)
      return false;

   const struct gpuval_nir_driver *driver = data;
   unsigned set = nir_intrinsic_desc_set(intrin);
   nir_function *function = get_function(b->shader, driver, set);

   b->cursor = nir_before_instr(&intrin->instr);
   nir_push_if(b, intrin->src[0].ssa);
   {
      /* The moves cost nothing and keep the block longer than the 8
       * instructions up to which llvmpipe runs both sides of an if
       * (lp_should_flatten_cf_list): the call would always be made.
       */
      nir_def *args[PARAM_NUM] = {
         [PARAM_FIRST_ENTRY] = nir_mov(b, nir_imm_int(b, nir_intrinsic_base(intrin))),
         [PARAM_COUNT_SET] = nir_mov(b, nir_imm_int(b, nir_intrinsic_range(intrin) | set << 16)),
         [PARAM_OFFSET] = nir_mov(b, intrin->src[1].ssa),
         [PARAM_SLOT] = nir_mov(b, intrin->src[2].ssa),
      };
      for (unsigned i = 0; i < 3; i++)
         args[PARAM_INVOCATION + i] = nir_mov(b, nir_channel(b, intrin->src[3].ssa, i));

      nir_build_call(b, function, PARAM_NUM, args);
   }
   nir_pop_if(b, NULL);
   nir_instr_remove(&intrin->instr);

   return true;
}

static bool
rebase_report(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   if (intrin->intrinsic != nir_intrinsic_report_gpuval)
      return false;

   nir_intrinsic_set_base(intrin, nir_intrinsic_base(intrin) + *(uint32_t *)data);
   return true;
}

void
gpuval_nir_rebase(nir_shader *nir, uint32_t base)
{
   nir_shader_intrinsics_pass(nir, rebase_report, nir_metadata_all, &base);
}

bool
gpuval_nir_lower_reports(nir_shader *nir, const struct gpuval_nir_driver *driver)
{
   return nir_shader_intrinsics_pass(nir, lower_report, nir_metadata_none, (void *)driver);
}
