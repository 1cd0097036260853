/* SPDX-License-Identifier: MIT */

/* Reports: @report_gpuval and @check_buffer_gpuval, and what a driver makes of them where
 * their condition is true: it goes through the table entries of the group, and each access that
 * fails is counted and recorded (gpuval_nir_record.c):
 *
 *    for each entry:
 *       if not (offset + entry.size <= bound): continue
 *       gpuval_nir_record_failure(entry.site)
 */

#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval_nir_private.h"

uint32_t
gpuval_stage_to_spirv(mesa_shader_stage stage)
{
   /* SPIR-V's ExecutionModel */
   switch (stage) {
   case MESA_SHADER_VERTEX:
      return 0;
   case MESA_SHADER_TESS_CTRL:
      return 1;
   case MESA_SHADER_TESS_EVAL:
      return 2;
   case MESA_SHADER_GEOMETRY:
      return 3;
   case MESA_SHADER_FRAGMENT:
      return 4;
   case MESA_SHADER_COMPUTE:
      return 5;
   case MESA_SHADER_TASK:
      return 5267;
   case MESA_SHADER_MESH:
      return 5268;
   case MESA_SHADER_RAYGEN:
      return 5313;
   case MESA_SHADER_INTERSECTION:
      return 5314;
   case MESA_SHADER_ANY_HIT:
      return 5315;
   case MESA_SHADER_CLOSEST_HIT:
      return 5316;
   case MESA_SHADER_MISS:
      return 5317;
   case MESA_SHADER_CALLABLE:
      return 5318;
   default:
      return UINT32_MAX;
   }
}

/* The words that identify the invocation are taken first thing: they are
 * cheap, and so no report repeats them.
 */
nir_def *
gpuval_nir_invocation(struct gpuval_nir_state *state)
{
   if (!state->invocation) {
      const struct gpuval_nir_driver *driver = state->options->driver;
      nir_builder at_top = nir_builder_at(nir_before_impl(state->b.impl));
      state->invocation = driver->invocation(driver, &at_top);
   }
   return state->invocation;
}

void
gpuval_nir_report(struct gpuval_nir_state *state, const struct gpuval_nir_report *report)
{
   nir_builder *b = &state->b;
   if (report->index) {
      nir_check_buffer_gpuval(
         b, report->index, report->offset, report->excluded ? report->excluded : nir_imm_false(b),
         gpuval_nir_invocation(state), .base = report->first_entry, .range = report->num_entries,
         .desc_set = report->set, .flags = report->span);
      return;
   }

   nir_def *zero = nir_imm_int(b, 0);
   nir_def *detail = report->detail
                        ? report->detail
                        : nir_vec4(b, report->offset ? report->offset : zero, zero, zero, zero);

   nir_report_gpuval(b, report->failed, detail, report->slot ? report->slot : zero,
                     gpuval_nir_invocation(state), .base = report->first_entry,
                     .range = report->num_entries, .desc_set = report->set);
}

uint32_t
gpuval_nir_add_entry(struct gpuval_nir_state *state, const struct gpuval_nir_entry *entry)
{
   struct util_dynarray *entries = &state->table->entries;

   util_dynarray_append_typed(entries, struct gpuval_nir_entry, *entry);
   return util_dynarray_num_elements(entries, struct gpuval_nir_entry) - 1;
}

void
gpuval_nir_report_plain(struct gpuval_nir_state *state, const struct gpuval_site *site,
                        uint32_t size, nir_def *failed, nir_def *offset, nir_def *slot)
{
   const struct gpuval_nir_entry entry = {
      .size = size,
      .site = gpuval_nir_add_site(state, site),
   };

   gpuval_nir_report(state, &(struct gpuval_nir_report){
                               .failed = failed,
                               .offset = offset,
                               .slot = slot,
                               .set = GPUVAL_REPORT_PLAIN,
                               .first_entry = gpuval_nir_add_entry(state, &entry),
                               .num_entries = 1,
                            });
}

nir_def *
gpuval_nir_load_root(nir_builder *b, nir_def *root, unsigned bit_size, unsigned offset)
{
   return gpuval_load_global(b, nir_iadd_imm(b, root, offset), bit_size / 8, 1, bit_size);
}

/* Four words */
static nir_def *
load_entry(nir_builder *b, nir_def *entry, unsigned offset)
{
   return gpuval_load_global(b, nir_iadd_imm(b, entry, offset), 4, 4, 32);
}

/* An entry of the table, as far as it is the same for all of them */
struct entry {
   nir_def *offset, *size, *site; /* by the kind of report */
   nir_def *bits;                 /* stage, set, flags */
   nir_def *stage;
   nir_def *hash_lo, *hash_hi;
   nir_def *instance;
   nir_def *num_slots;
};

static struct entry
load_whole_entry(nir_builder *b, bool scalar, nir_def *entries, nir_def *index)
{
   nir_def *entry = gpuval_nir_element_address(b, entries, index, sizeof(struct gpuval_entry));
   nir_def *words, *more_words;

   if (scalar) { /* on a GPU a load of both */
      nir_def *both = nir_build_load_global(b, 8, 32, entry, .align_mul = 32,
                                            .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER);
      words = nir_channels(b, both, 0xf);
      more_words = nir_channels(b, both, 0xf0);
   } else {
      words = load_entry(b, entry, 0);
      more_words = load_entry(b, entry, 16);
   }

   return (struct entry){
      .offset = nir_channel(b, words, 0),
      .size = nir_channel(b, words, 1),
      .site = nir_channel(b, words, 2),
      .bits = nir_channel(b, words, 3),
      .stage = nir_iand_imm(b, nir_channel(b, words, 3), 0xffff),
      .hash_lo = nir_channel(b, more_words, 0),
      .hash_hi = nir_channel(b, more_words, 1),
      .instance = nir_channel(b, more_words, 2),
      .num_slots = nir_channel(b, more_words, 3),
   };
}

/* What is wrong with an entry's access */
struct finding {
   nir_def *failed; /* 1 bit */
   nir_def *site;
   nir_def *offset, *access_size, *bound, *slot, *set;
   nir_def *address[2]; /* lo, hi: gallivm has no phis of 64 bits */
};

static nir_def *
has_flag(nir_builder *b, nir_def *bits, unsigned flag)
{
   return nir_ine_imm(b, nir_iand_imm(b, bits, flag << 24), 0);
}

/* What an entry says of a failure of its access */
static struct gpuval_nir_failure
begin_failure(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *root,
              nir_def *entry_index, nir_def *const *invocation)
{
   nir_def *entries =
      gpuval_nir_load_root(b, root, 64, offsetof(struct gpuval_root, entries_address));
   struct entry entry = load_whole_entry(b, driver->merged_lanes, entries, entry_index);

   return (struct gpuval_nir_failure){
      .merged_lanes = driver->merged_lanes,
      .swaps = driver->swaps,
      .is_first_only = driver->records_first,
      .invocation = invocation,
      .root = root,
      .site = entry.site,
      .stage = entry.stage,
      .hash_lo = entry.hash_lo,
      .hash_hi = entry.hash_hi,
      .command_id = driver->command_id(driver, b),
   };
}

void
gpuval_nir_build_failure(nir_builder *b, const struct gpuval_nir_driver *driver,
                         nir_def *entry_index, nir_def *const *invocation,
                         const struct gpuval_nir_finding *finding)
{
   struct gpuval_nir_failure failure =
      begin_failure(b, driver, driver->root_address(driver, b), entry_index, invocation);

   failure.offset = finding->offset;
   failure.access_size = finding->access_size;
   failure.bound = finding->bound;
   failure.slot = finding->slot;
   failure.set = finding->set;
   failure.address = nir_pack_64_2x32_split(b, finding->address[0], finding->address[1]);
   failure.other = finding->other;
   gpuval_nir_record_failure(b, &failure);
}

/* Which of the entry's sites it is: gpuval_nir_descriptor.c, add_sites() */
static nir_def *
site_of_verdict(nir_builder *b, const struct entry *entry, const struct gpuval_nir_verdict *verdict)
{
   nir_def *kind = nir_imm_int(b, 3); /* GPUVAL_USE_MAY_BE_WRONG_VIEW */
   nir_def *outside =
      nir_iadd_imm(b, nir_b2i32(b, has_flag(b, entry->bits, GPUVAL_USE_MAY_BE_WRONG_VIEW)), 3);

   kind = nir_bcsel(b, verdict->destroyed, nir_imm_int(b, 2), kind);
   kind = nir_bcsel(b, verdict->wrong_type, nir_imm_int(b, 1), kind);
   kind = nir_bcsel(b, verdict->unwritten, nir_imm_int(b, 0), kind);
   kind = nir_bcsel(b, verdict->index_oob, outside, kind);
   return nir_iadd(b, entry->site, kind);
}

static struct finding
find_descriptor(nir_builder *b, const struct gpuval_nir_driver *driver, const struct entry *entry,
                const struct gpuval_nir_report_params *params)
{
   /* Whoever asks for one set of all lanes gets the first active one's. */
   nir_def *set =
      nir_read_first_invocation(b, nir_iand_imm(b, nir_ushr_imm(b, entry->bits, 16), 0xff));
   const struct gpuval_nir_use_params use = {
      .set = set,
      .slot = params->slot,
      .required = entry->offset,
      .first_slot = entry->size,
      .num_slots = entry->num_slots,
      .is_constant = has_flag(b, entry->bits, GPUVAL_USE_CONSTANT),
      .is_variable = has_flag(b, entry->bits, GPUVAL_USE_VARIABLE),
      .may_require = ~0u,
   };
   struct gpuval_nir_verdict verdict = gpuval_nir_build_use(b, driver, &use);
   nir_def *not_uniform = has_flag(b, entry->bits, GPUVAL_USE_NOT_UNIFORM);

   return (struct finding){
      .failed = nir_ior(b, not_uniform, gpuval_nir_is_bad(b, &verdict)),
      .site = nir_bcsel(b, not_uniform, entry->site, site_of_verdict(b, entry, &verdict)),
      .offset = entry->offset,
      .access_size = nir_channel(b, verdict.descriptor, 1),
      .bound = verdict.num_elements,
      .slot = nir_bcsel(b, use.is_constant, use.first_slot, use.slot),
      .set = set,
      .address = {nir_channel(b, verdict.descriptor, 0), nir_channel(b, verdict.descriptor, 2)},
   };
}

/* What entries of one report have in common: the range behind the descriptor */
struct range {
   nir_def *is_plain, *slot, *bound, *address, *object;
};

static struct finding
find_outside(nir_builder *b, const struct entry *entry, const struct range *range,
             const struct gpuval_nir_report_params *params)
{
   nir_def *offset = nir_iadd(b, params->detail[0], entry->offset);
   /* The range is not empty. */
   nir_def *outside =
      nir_uge(b, offset, nir_usub_sat(b, range->bound, nir_iadd_imm(b, entry->size, -1)));
   nir_def *is_inside = nir_ine_imm(b, params->detail[2], 0);

   return (struct finding){
      .failed = nir_ior(b, range->is_plain, nir_ixor(b, outside, is_inside)),
      .site = entry->site,
      .offset = offset,
      .access_size = entry->size,
      .bound = nir_bcsel(b, is_inside, params->detail[1], range->bound),
      /* What is not about a buffer may have a second and a third word of its own. */
      .slot = nir_bcsel(b, range->is_plain, params->slot, range->slot),
      .set = params->set,
      .address = {nir_bcsel(b, range->is_plain, params->detail[3],
                            nir_unpack_64_2x32_split_x(b, range->address)),
                  nir_unpack_64_2x32_split_y(b, range->address)},
   };
}

/* The shader has found all out; what a view is called the shadow may know. */
static struct finding
find_exact(nir_builder *b, const struct gpuval_nir_driver *driver, const struct entry *entry,
           const struct gpuval_nir_report_params *params)
{
   nir_def *set =
      nir_read_first_invocation(b, nir_iand_imm(b, nir_ushr_imm(b, entry->bits, 16), 0xff));
   nir_def *object = nir_imm_int(b, 0);
   if (driver->descriptors)
      object = gpuval_nir_load_object(b, driver, set, params->slot);

   return (struct finding){
      .failed = nir_imm_true(b),
      .site = entry->site,
      .offset = params->detail[0],
      .access_size = params->detail[1],
      .bound = params->detail[2],
      .slot = params->slot,
      .set = set,
      .address = {params->detail[3], object},
   };
}

/* Behind an if: of what its branches have found. */
static struct finding
join(nir_builder *b, const struct finding *then, const struct finding *otherwise)
{
   return (struct finding){
      .failed = nir_if_phi(b, then->failed, otherwise->failed),
      .site = nir_if_phi(b, then->site, otherwise->site),
      .offset = nir_if_phi(b, then->offset, otherwise->offset),
      .access_size = nir_if_phi(b, then->access_size, otherwise->access_size),
      .bound = nir_if_phi(b, then->bound, otherwise->bound),
      .slot = nir_if_phi(b, then->slot, otherwise->slot),
      .set = nir_if_phi(b, then->set, otherwise->set),
      .address = {nir_if_phi(b, then->address[0], otherwise->address[0]),
                  nir_if_phi(b, then->address[1], otherwise->address[1])},
   };
}

/* Id of the buffer, which others may share the memory with */
static nir_def *
load_bound(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *no_buffer,
           const struct gpuval_nir_report_params *params)
{
   nir_def *zero = nir_imm_int(b, 0);

   if (!driver->descriptors || !driver->names_buffers)
      return zero;
   nir_push_if(b, nir_inot(b, no_buffer));
   nir_def *object = gpuval_nir_load_object(b, driver, params->set, params->slot);
   nir_pop_if(b, NULL);
   return nir_if_phi(b, object, zero);
}

static bool
is_const(nir_def *def)
{
   return nir_scalar_is_const(nir_get_scalar(def, 0));
}

static uint32_t
get_const(nir_def *def)
{
   return nir_scalar_as_uint(nir_get_scalar(def, 0));
}

/* Are the entries the same in all lanes? */
static bool
has_same_entries(const struct gpuval_nir_driver *driver,
                 const struct gpuval_nir_report_params *params)
{
   bool may_be_plain = !is_const(params->set) || get_const(params->set) == GPUVAL_REPORT_PLAIN;

   return driver->merged_lanes && (!may_be_plain || is_const(params->detail[1]));
}

static void
build_failures(nir_builder *b, const struct gpuval_nir_driver *driver,
               const struct gpuval_nir_report_params *params)
{
   nir_def *is_inline = nir_ieq_imm(b, params->set, GPUVAL_REPORT_INLINE);
   nir_def *is_descriptor = nir_ieq_imm(b, params->set, GPUVAL_REPORT_DESCRIPTOR);
   nir_def *zero = nir_imm_int(b, 0);
   nir_def *is_exact = nir_ieq_imm(b, params->set, GPUVAL_REPORT_EXACT);
   nir_def *no_buffer = nir_uge_imm(b, params->set, GPUVAL_REPORT_EXACT);
   nir_def *set = nir_bcsel(b, no_buffer, zero, params->set);
   struct range range = {
      .is_plain = nir_ieq_imm(b, params->set, GPUVAL_REPORT_PLAIN),
      .slot = nir_bcsel(b, no_buffer, zero, params->slot),
   };
   range.bound =
      nir_bcsel(b, is_inline, params->slot, driver->buffer_size(driver, b, set, range.slot));

   /* A range of 0 bytes: no descriptor there, which is not this check's
    * business, or no byte of the buffer is left.
    */
   nir_def *needs_no_buffer = nir_ior(b, range.is_plain, nir_ior(b, is_descriptor, is_exact));
   nir_def *has_range = nir_ine_imm(b, range.bound, 0);
   if (driver->is_past_end)
      has_range = nir_ior(b, has_range, driver->is_past_end(driver, b, set, range.slot));
   nir_def *has_buffer = nir_iand(b, has_range, nir_ieq_imm(b, params->detail[3], 0));
   nir_push_if(b, nir_ior(b, needs_no_buffer, has_buffer));
   {
      nir_def *root = driver->root_address(driver, b);
      nir_def *entries = gpuval_nir_load_address(b, driver->merged_lanes, root,
                                                 offsetof(struct gpuval_root, entries_address));
      range.address = nir_bcsel(b, no_buffer, nir_imm_int64(b, 0),
                                driver->buffer_address(driver, b, set, range.slot));
      nir_def *command_id = driver->command_id(driver, b);
      range.object = load_bound(b, driver, no_buffer, params);

      nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
      nir_variable *instance_var =
         nir_local_variable_create(b->impl, glsl_uint_type(), "last_instance");
      nir_variable *site_var = nir_local_variable_create(b->impl, glsl_uint_type(), "last_site");
      nir_store_var(b, i_var, zero, 0x1);
      nir_store_var(b, instance_var, nir_imm_int(b, ~0), 0x1);
      nir_store_var(b, site_var, nir_imm_int(b, ~0), 0x1);

      nir_def *number = nir_bcsel(b, range.is_plain, params->detail[1], zero);
      bool is_one = is_const(params->num_entries) && get_const(params->num_entries) == 1;
      /* Where the code is in the shader, its condition is the entry's own. */
      bool is_certain = is_one && !driver->reports_descriptors && !params->is_suspected &&
                        is_const(params->detail[2]) && !get_const(params->detail[2]);
      nir_loop *loop = is_one ? NULL : nir_push_loop(b);
      {
         nir_def *i = zero;
         if (loop) {
            i = nir_load_var(b, i_var);
            nir_break_if(b, nir_uge(b, i, params->num_entries));
            nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);
         }

         struct entry entry =
            load_whole_entry(b, driver->merged_lanes, entries,
                             nir_iadd(b, params->first_entry, nir_iadd(b, i, number)));
         struct finding found;
         if (driver->descriptors) {
            nir_push_if(b, is_exact);
            struct finding exact = find_exact(b, driver, &entry, params);
            nir_push_else(b, NULL);
            struct finding outside = find_outside(b, &entry, &range, params);
            nir_pop_if(b, NULL);
            found = join(b, &exact, &outside);
         } else {
            found = find_outside(b, &entry, &range, params);
         }
         if (driver->reports_descriptors) {
            nir_push_if(b, is_descriptor);
            struct finding descriptor = find_descriptor(b, driver, &entry, params);
            nir_pop_if(b, NULL);
            found = join(b, &descriptor, &found);
         }

         /* An instruction that became several accesses fails once, but for one
          * that both loads and stores: that is two sites. With texture and sampler it
          * fails once, too.
          */
         nir_def *is_sampler =
            nir_iand(b, is_descriptor, has_flag(b, entry.bits, GPUVAL_USE_SAMPLER));
         nir_def *is_other_site =
            nir_iand(b, nir_ine(b, found.site, nir_load_var(b, site_var)), nir_inot(b, is_sampler));
         nir_def *is_new =
            nir_ior(b, nir_ine(b, entry.instance, nir_load_var(b, instance_var)), is_other_site);

         if (!is_certain)
            nir_push_if(b, loop ? nir_iand(b, found.failed, is_new) : found.failed);
         {
            nir_store_var(b, instance_var, entry.instance, 0x1);
            nir_store_var(b, site_var, found.site, 0x1);
            gpuval_nir_record_failure(
               b,
               &(struct gpuval_nir_failure){
                  .merged_lanes = driver->merged_lanes,
                  .swaps = driver->swaps,
                  .is_first_only = driver->records_first,
                  .is_one_site = !driver->reports_descriptors && has_same_entries(driver, params),
                  .invocation = params->invocation,
                  .root = root,
                  .site = found.site,
                  .stage = entry.stage,
                  .hash_lo = entry.hash_lo,
                  .hash_hi = entry.hash_hi,
                  .command_id = command_id,
                  .offset = found.offset,
                  .access_size = found.access_size,
                  .bound = found.bound,
                  .slot = found.slot,
                  .set = found.set,
                  .address = nir_pack_64_2x32_split(b, found.address[0], found.address[1]),
                  .other = nir_bcsel(b, is_exact, entry.num_slots, range.object),
               });
         }
         if (!is_certain)
            nir_pop_if(b, NULL);
      }
      if (loop)
         nir_pop_loop(b, loop);
   }
   nir_pop_if(b, NULL);
}

/* A report of GPUVAL_REPORT_VALUES as one that knows what it has found */
static struct gpuval_nir_report_params
take_values(nir_builder *b, const struct gpuval_nir_report_params *params)
{
   struct gpuval_nir_report_params taken = *params;
   nir_def *is_values = nir_ieq_imm(b, params->set, GPUVAL_REPORT_VALUES);
   nir_def *zero = nir_imm_int(b, 0), *mask, *number;

   gpuval_nir_find_in_values(b, params->detail, &mask, &number);
   nir_def *const detail[4] = {mask, number, zero, zero};
   for (unsigned i = 0; i < ARRAY_SIZE(detail); i++)
      taken.detail[i] = nir_bcsel(b, is_values, detail[i], params->detail[i]);
   taken.set = nir_bcsel(b, is_values, nir_imm_int(b, GPUVAL_REPORT_PLAIN), params->set);
   return taken;
}

void
gpuval_nir_build_report(nir_builder *b, const struct gpuval_nir_driver *driver,
                        const struct gpuval_nir_report_params *params)
{
   const nir_scalar set = nir_get_scalar(params->set, 0);
   struct gpuval_nir_report_params taken;

   if (driver->checks_values) {
      taken = take_values(b, params);
      params = &taken;
   }

   if (nir_scalar_is_const(set) && nir_scalar_as_uint(set) == GPUVAL_REPORT_COVERED) {
      gpuval_nir_build_covered(b, driver, params);
      return;
   }
   if (driver->used_address && nir_scalar_is_const(set) &&
       nir_scalar_as_uint(set) == GPUVAL_REPORT_USED) {
      gpuval_nir_build_used(b, driver, params);
      return;
   }
   if (driver->used_address) {
      nir_push_if(b, nir_ieq_imm(b, params->set, GPUVAL_REPORT_USED));
      gpuval_nir_build_used(b, driver, params);
      nir_push_else(b, NULL);
   }
   if (driver->reports_unwritten) {
      nir_def *is_image = nir_ieq_imm(b, params->set, GPUVAL_REPORT_UNWRITTEN_IMAGE);
      nir_def *is_buffer = nir_ieq_imm(b, params->set, GPUVAL_REPORT_UNWRITTEN);
      nir_push_if(b, driver->has_marks ? nir_ior(b, is_image, is_buffer) : is_buffer);
      gpuval_nir_build_init(b, driver, params);
      nir_push_else(b, NULL);
   }
   build_failures(b, driver, params);
   if (driver->reports_unwritten)
      nir_pop_if(b, NULL);
   if (driver->used_address)
      nir_pop_if(b, NULL);
}

nir_def *
gpuval_nir_claim_command(nir_builder *b, nir_def *claim)
{
   nir_def *lo = nir_unpack_64_2x32_split_x(b, claim);
   nir_def *hi = nir_unpack_64_2x32_split_y(b, claim);

   return nir_iand_imm(b,
                       nir_ior(b, nir_ushr_imm(b, lo, GPUVAL_CLAIM_COMMAND_SHIFT),
                               nir_ishl_imm(b, hi, 32 - GPUVAL_CLAIM_COMMAND_SHIFT)),
                       BITFIELD_MASK(GPUVAL_CLAIM_COMMAND_BITS));
}

/* @bound and @other: see struct gpuval_record. */
static void
report_hazard(nir_builder *b, const struct gpuval_nir_driver *driver,
              const struct gpuval_nir_access_params *params, nir_def *root, nir_def *bound,
              nir_def *other, nir_def *same)
{
   struct gpuval_nir_failure failure =
      begin_failure(b, driver, root, params->entry, params->invocation);

   failure.site = nir_iadd(b, failure.site, nir_b2i32(b, same));
   failure.offset = params->offset;
   failure.access_size = params->size;
   failure.bound = bound;
   failure.slot = params->slot;
   failure.set = params->set;
   failure.address = params->address;
   failure.other = other;
   gpuval_nir_record_failure(b, &failure);
}

/* The record of a hazard; the claim of the granule names the other party. */
void
gpuval_nir_build_hazard(nir_builder *b, const struct gpuval_nir_driver *driver,
                        const struct gpuval_nir_access_params *params, nir_def *root,
                        nir_def *claim, nir_def *known, nir_def *same)
{
   nir_def *entries =
      gpuval_nir_load_root(b, root, 64, offsetof(struct gpuval_root, entries_address));
   nir_def *claim_lo = nir_unpack_64_2x32_split_x(b, claim);
   /* Claims may have been overwritten, and this is read. */
   nir_def *max_entry = gpuval_nir_load_root(b, root, 32, offsetof(struct gpuval_root, max_entry));
   nir_def *other_entry = nir_umin(b, nir_iand_imm(b, claim_lo, GPUVAL_MAX_ENTRIES - 1), max_entry);
   nir_def *other_site = nir_channel(
      b,
      load_entry(
         b, gpuval_nir_element_address(b, entries, other_entry, sizeof(struct gpuval_entry)), 0),
      2);
   nir_def *other_command = gpuval_nir_claim_command(b, claim);
   nir_def *zero = nir_imm_int(b, 0);

   report_hazard(b, driver, params, root, nir_bcsel(b, known, other_command, zero),
                 nir_bcsel(b, known, nir_ior_imm(b, other_site, 0x80000000), zero), same);
}

/* The same; a half of the cell names the other party. */
void
gpuval_nir_build_shadow_hazard(nir_builder *b, const struct gpuval_nir_driver *driver,
                               const struct gpuval_nir_access_params *params, nir_def *root,
                               nir_def *other_lo, nir_def *other_hi, nir_def *same)
{
   report_hazard(b, driver, params, root, other_lo, other_hi, same);
}
