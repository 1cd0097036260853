/* SPDX-License-Identifier: MIT */

/* Bounds of uniform and storage buffers: is each access inside the range that
 * the descriptor was written with?
 *
 * Offsets are split into linear terms and a constant. Accesses of one block
 * that go through one descriptor and whose offsets differ by a constant only
 * make a group: one comparison before the first of them checks the range from
 * the lowest to the highest byte. When it fails, the report's function looks
 * at each. The reports of several groups wait for each other, so that one
 * branch will do for them; but nothing waits for a terminate (later lanes are not
 * there any more), for a barrier or for the end of a block.
 *
 * The comparison: with span = highest - lowest byte, and all modulo 2^32,
 *
 *    offset + span <= size   <=>   offset < (size < span ? 0 : size - (span - 1))
 *
 * Buffers are bounded by the hardware (and by llvmpipe), so GPUVAL_SAFE needs
 * nothing here but for inline uniform blocks, which lie between other things.
 */

#include "gpuval_nir.h"

#define MAX_TERMS 6

/* coefficient * def[component], modulo 2^32 */
struct term {
   nir_scalar scalar;
   uint32_t coefficient;
};

struct linear {
   struct term terms[MAX_TERMS];
   unsigned num_terms;
   uint32_t constant;
};

struct access {
   nir_intrinsic_instr *intrin;
   struct gpuval_nir_buffer buffer;
   nir_binding binding;
   struct linear offset; /* constant: of the first byte that is accessed */
   int32_t skipped;      /* bytes of components that a store leaves out first */
   uint32_t size;        /* bytes */
   enum gpuval_op op;
   uint32_t instance;
   bool in_group;
};

static void
add_term(struct linear *linear, nir_scalar scalar, uint32_t coefficient)
{
   for (unsigned i = 0; i < linear->num_terms; i++) {
      if (nir_scalar_equal(linear->terms[i].scalar, scalar)) {
         linear->terms[i].coefficient += coefficient;
         return;
      }
   }

   linear->terms[linear->num_terms++] = (struct term){scalar, coefficient};
}

/* Adds coefficient * scalar. Leaves room for @reserve terms that are still to
 * come, so that it never runs out.
 */
static void
add_linear(struct linear *linear, nir_scalar scalar, uint32_t coefficient, unsigned reserve)
{
   scalar = nir_scalar_chase_movs(scalar);

   if (nir_scalar_is_const(scalar)) {
      linear->constant += coefficient * nir_scalar_as_uint(scalar);
      return;
   }

   if (nir_scalar_is_alu(scalar)) {
      nir_scalar a = {0}, b = {0};
      if (nir_op_infos[nir_scalar_alu_op(scalar)].num_inputs >= 2) {
         a = nir_scalar_chase_alu_src(scalar, 0);
         b = nir_scalar_chase_alu_src(scalar, 1);
      }

      switch (nir_scalar_alu_op(scalar)) {
      case nir_op_iadd:
         if (linear->num_terms + reserve + 2 <= MAX_TERMS) {
            add_linear(linear, a, coefficient, reserve + 1);
            add_linear(linear, b, coefficient, reserve);
            return;
         }
         break;
      case nir_op_imul:
      case nir_op_amul:
         if (nir_scalar_is_const(a)) {
            add_linear(linear, b, coefficient * nir_scalar_as_uint(a), reserve);
            return;
         }
         if (nir_scalar_is_const(b)) {
            add_linear(linear, a, coefficient * nir_scalar_as_uint(b), reserve);
            return;
         }
         break;
      case nir_op_ishl:
         if (nir_scalar_is_const(b)) {
            add_linear(linear, a, coefficient << (nir_scalar_as_uint(b) & 31), reserve);
            return;
         }
         break;
      default:
         break;
      }
   }

   add_term(linear, scalar, coefficient);
}

static bool
linear_same_terms(const struct linear *a, const struct linear *b)
{
   if (a->num_terms != b->num_terms)
      return false;

   for (unsigned i = 0; i < a->num_terms; i++) {
      if (!nir_scalar_equal(a->terms[i].scalar, b->terms[i].scalar) ||
          a->terms[i].coefficient != b->terms[i].coefficient)
         return false;
   }
   return true;
}

static bool
same_descriptor(const struct access *a, const struct access *b)
{
   if (nir_srcs_equal(*gpuval_nir_index_src(a->intrin), *gpuval_nir_index_src(b->intrin)))
      return true;
   if (!a->binding.success || !b->binding.success || a->binding.desc_set != b->binding.desc_set ||
       a->binding.binding != b->binding.binding || a->binding.num_indices != b->binding.num_indices)
      return false;

   for (unsigned i = 0; i < a->binding.num_indices; i++) {
      if (!nir_scalar_equal(nir_get_scalar(a->binding.indices[i].ssa, 0),
                            nir_get_scalar(b->binding.indices[i].ssa, 0)) &&
          !(nir_src_is_const(a->binding.indices[i]) && nir_src_is_const(b->binding.indices[i]) &&
            nir_src_as_uint(a->binding.indices[i]) == nir_src_as_uint(b->binding.indices[i])))
         return false;
   }
   return true;
}

/* Every intrinsic that is checked, and its bytes: @first is where they begin
 * behind the offset.
 */
static bool
classify(nir_intrinsic_instr *intrin, struct access *access, unsigned *first)
{
   *first = 0;

   switch (intrin->intrinsic) {
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_load_ssbo:
      access->op = GPUVAL_OP_LOAD;
      access->size = intrin->def.num_components * intrin->def.bit_size / 8;
      break;
   case nir_intrinsic_store_ssbo: {
      unsigned bytes = nir_src_bit_size(intrin->src[0]) / 8;
      unsigned write_mask = nir_intrinsic_write_mask(intrin);
      if (!write_mask)
         return false;
      access->op = GPUVAL_OP_STORE;
      *first = (ffs(write_mask) - 1) * bytes;
      access->size = util_last_bit(write_mask) * bytes - *first;
      break;
   }
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
      access->op = GPUVAL_OP_ATOMIC;
      access->size = intrin->def.bit_size / 8;
      break;
   default:
      return false;
   }

   access->intrin = intrin;
   return true;
}

/* An access of which nothing is known is an instance of its own. */
static uint32_t
get_instance(struct gpuval_nir_state *state, const nir_instr *instr)
{
   if (instr->index)
      return instr->index;

   util_dynarray_append(&state->instances, uint32_t, 0);
   return util_dynarray_num_elements(&state->instances, uint32_t) - 1;
}

static bool
describe(struct gpuval_nir_state *state, nir_intrinsic_instr *intrin, struct access *access)
{
   unsigned first;
   memset(access, 0, sizeof(*access));
   if (!classify(intrin, access, &first))
      return false;

   bool is_uniform = intrin->intrinsic == nir_intrinsic_load_ubo;
   if (is_uniform ? state->options->robust_uniform : state->options->robust_storage)
      return false;

   if (!state->options->driver->describe(intrin, state->options->data, &access->buffer))
      return false;

   access->binding = nir_chase_binding(*gpuval_nir_index_src(intrin));
   add_linear(&access->offset, nir_get_scalar(nir_get_io_offset_src(intrin)->ssa, 0), 1, 0);
   access->offset.constant += first;
   access->skipped = first;
   access->instance = get_instance(state, &intrin->instr);
   return true;
}

/* Is the access inside a block whose size the layout says? */
static bool
is_proven(const struct access *access)
{
   return access->buffer.size && !access->offset.num_terms &&
          access->offset.constant <= access->buffer.size &&
          access->size <= access->buffer.size - access->offset.constant;
}

static nir_def *
is_outside(nir_builder *b, nir_def *offset, nir_def *size, uint32_t span)
{
   /* usub_sat, as far as backends have it */
   nir_def *starts = nir_bcsel(b, nir_ult_imm(b, size, span), nir_imm_int(b, 0),
                               nir_iadd_imm(b, size, -(int64_t)(span - 1)));

   return nir_uge(b, offset, starts);
}

static uint32_t
add_entries(struct gpuval_nir_state *state, struct access *first, struct access *end,
            uint32_t lowest)
{
   struct util_dynarray *entries = &state->table->entries;
   uint32_t count = 0;

   for (struct access *access = first; access < end; access++) {
      if (!access->in_group)
         continue;

      const struct gpuval_site site = {
         .kind = GPUVAL_KIND_BUFFER_OOB,
         .op = access->op,
         .spirv_offset = gpuval_nir_spirv_offset(state, access->instance),
         .set = access->buffer.set,
         .binding = access->buffer.binding,
      };
      const struct gpuval_nir_entry entry = {
         .offset = access->offset.constant - lowest,
         .size = access->size,
         .site = gpuval_nir_add_site(state, &site),
         .instance = access->instance,
      };
      util_dynarray_append(entries, struct gpuval_nir_entry, entry);
      count++;
   }

   return count;
}

/* Inline uniform blocks: an access outside gets an offset outside of
 * everything, for which the load gives 0.
 */
static void
make_safe(struct gpuval_nir_state *state, struct access *access)
{
   nir_builder *b = &state->b;
   nir_src *offset = nir_get_io_offset_src(access->intrin);

   b->cursor = nir_before_instr(&access->intrin->instr);
   nir_def *outside = is_outside(b, offset->ssa, nir_imm_int(b, access->buffer.size), access->size);
   nir_src_rewrite(offset, nir_bcsel(b, outside, nir_imm_int(b, 0x7fffff00), offset->ssa));
}

/* Reports that wait. The offsets stay alive meanwhile, so not too many. */
#define MAX_PENDING 8

struct pending {
   struct gpuval_nir_report reports[MAX_PENDING];
   unsigned count;
};

/* At b->cursor */
static void
flush(struct gpuval_nir_state *state, struct pending *pending)
{
   for (unsigned i = 0; i < pending->count; i++)
      gpuval_nir_report(state, &pending->reports[i]);
   pending->count = 0;
}

static void
add_pending(struct gpuval_nir_state *state, struct pending *pending,
            const struct gpuval_nir_report *report)
{
   if (pending->count == MAX_PENDING)
      flush(state, pending);
   pending->reports[pending->count++] = *report;
}

/* The accesses from @first to @end with in_group set share descriptor and
 * terms.
 */
static void
instrument_group(struct gpuval_nir_state *state, struct pending *pending, struct access *first,
                 struct access *end)
{
   nir_builder *b = &state->b;

   /* Lowest and highest byte as distances from the first access: offsets wrap,
    * so there is no other order. */
   int32_t lowest = 0, highest = first->size;
   for (struct access *access = first; access < end; access++) {
      if (!access->in_group)
         continue;
      int32_t distance = access->offset.constant - first->offset.constant;
      lowest = MIN2(lowest, distance);
      highest = MAX2(highest, distance + (int32_t)access->size);
   }
   uint32_t span = highest - lowest;

   struct gpuval_nir_report report = {
      .first_entry = util_dynarray_num_elements(&state->table->entries, struct gpuval_nir_entry),
   };
   report.num_entries = add_entries(state, first, end, first->offset.constant + lowest);

   b->cursor = nir_before_instr(&first->intrin->instr);
   report.offset =
      nir_iadd_imm(b, nir_get_io_offset_src(first->intrin)->ssa, first->skipped + lowest);

   const struct gpuval_nir_driver *driver = state->options->driver;
   if (first->buffer.size) {
      report.slot = nir_imm_int(b, first->buffer.size);
      report.failed = is_outside(b, report.offset, report.slot, span);
      report.set = GPUVAL_REPORT_INLINE;
      add_pending(state, pending, &report);
   } else {
      /* A variable pointer may lead to any set that has buffers. */
      uint32_t sets = first->buffer.set >= 0 ? BITFIELD_BIT(first->buffer.set)
                                             : gpuval_nir_buffer_sets(b->shader);
      report.slot = driver->slot(b, first->intrin);

      u_foreach_bit (set, sets) {
         nir_def *size = driver->buffer_size(b, nir_imm_int(b, set), report.slot);
         report.failed = is_outside(b, report.offset, size, span);
         if (first->buffer.set < 0)
            report.failed =
               nir_iand(b, report.failed, nir_ieq_imm(b, driver->set(b, first->intrin), set));
         report.set = set;
         add_pending(state, pending, &report);
      }
   }

   if (first->buffer.size && state->options->safe) {
      for (struct access *access = first; access < end; access++) {
         if (access->in_group)
            make_safe(state, access);
      }
   }
}

/* Entries a report may have, and bytes that its group may span */
#define MAX_GROUP 1024
#define MAX_SPAN  (1 << 20)

static bool
belongs(const struct access *first, const struct access *access)
{
   int32_t distance = access->offset.constant - first->offset.constant;

   return linear_same_terms(&first->offset, &access->offset) && distance > -MAX_SPAN &&
          distance < MAX_SPAN && same_descriptor(first, access);
}

/* The accesses of a block up to what reports must not wait for, which is at
 * @until
 */
static bool
instrument_run(struct gpuval_nir_state *state, struct util_dynarray *accesses, nir_cursor until)
{
   struct access *end = util_dynarray_end(accesses);
   struct pending pending = {0};
   bool progress = false;

   util_dynarray_foreach (accesses, struct access, first) {
      if (!first->intrin || is_proven(first))
         continue;

      unsigned count = 0;
      struct access *stop = first;
      for (; stop < end && count < MAX_GROUP; stop++) {
         stop->in_group = stop->intrin && !is_proven(stop) && belongs(first, stop);
         count += stop->in_group;
      }

      instrument_group(state, &pending, first, stop);
      progress = true;

      for (struct access *access = first; access < stop; access++) {
         if (access->in_group)
            access->intrin = NULL;
         access->in_group = false;
      }
   }

   state->b.cursor = until;
   flush(state, &pending);
   util_dynarray_clear(accesses);
   return progress;
}

/* Must reports not wait for this? Whatever ends invocations, lets others run,
 * or is not known here; loads and writes to memory may be waited for.
 */
static bool
ends_run(const nir_intrinsic_instr *intrin)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_store_deref:
   case nir_intrinsic_copy_deref:
   case nir_intrinsic_deref_atomic:
   case nir_intrinsic_deref_atomic_swap:
   case nir_intrinsic_store_ssbo:
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
   case nir_intrinsic_store_global:
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
   case nir_intrinsic_image_deref_store:
   case nir_intrinsic_image_deref_atomic:
   case nir_intrinsic_image_deref_atomic_swap:
   case nir_intrinsic_report_gpuval:
      return false;
   default:
      return !(nir_intrinsic_infos[intrin->intrinsic].flags & NIR_INTRINSIC_CAN_ELIMINATE);
   }
}

bool
gpuval_nir_instrument_bounds(struct gpuval_nir_state *state)
{
   if (!(state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_BOUNDS)))
      return false;

   struct util_dynarray accesses;
   util_dynarray_init(&accesses, NULL);
   bool progress = false;

   nir_foreach_block (block, state->b.impl) {
      nir_foreach_instr_safe (instr, block) {
         if (instr->type != nir_instr_type_intrinsic)
            continue;

         nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
         struct access access;
         if (ends_run(intrin))
            progress |= instrument_run(state, &accesses, nir_before_instr(instr));
         else if (describe(state, intrin, &access))
            util_dynarray_append(&accesses, struct access, access);
      }
      progress |= instrument_run(state, &accesses, nir_after_block_before_jump(block));
   }

   util_dynarray_fini(&accesses);
   return progress;
}
